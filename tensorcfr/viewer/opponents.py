"""Models of an opponent on the page, and responses to them at a stated risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._util.argument_checks import Number, OneOf, Several, Text, Whole
from ..analysis.comparison import seated
from ..analysis.responses import robust_responses
from ..evaluation.metrics import evaluate_probabilities
from ..evaluation.player_models import check_constant_sum
from ..hands import habit_prices
from ..model.layout import Layout
from ..model.locks import DATA_BIASED, RESTRICTED
from ..model.policy import Policy
from ..solvers.solution import Solution, Status

HABITS, LOCKS, SECOND = "habits", "locks", "B"
"""Sources of a model: habits in words, the locks of the page, the second solution."""
SOURCE = OneOf((HABITS, LOCKS, SECOND))
PLAYER = Whole(0, 1)
WORDS = Several(Text(200))
PER_CENT = Number(least=0, most=100)
LOSS = Number(above=0, finite=True)


class Opponent:
    """Model of a player, to whom the other player responds.

    Args:
        request: Mapping with ``player``, who has the model, and ``model``, its source (one of
            :data:`SOURCE`). The source ``habits`` needs ``habits``, a list of texts, and ``locks``
            needs ``locks``. ``max_loss`` is the largest risk in per cent of the pot, or in the unit
            of a game without a pot. ``trust`` is the trust in the model in per cent.
        solutions: The solutions on the page.
        has_pot: True if the game begins with a pot, and its values are chips.

    Raises:
        TypeError: A value has a wrong type.
        ValueError: A value is out of range, the model is missing, the first solution has no
            iterations, or the game does not have two players and a constant sum.
    """

    def __init__(
        self, request: Mapping[str, Any], solutions: list[Solution], *, has_pot: bool
    ) -> None:
        self.solution = solutions[0]
        """Solution from which the model deviates."""
        self.game = self.solution.game
        check_constant_sum(self.game)
        if not (self.solution.iterations or self.solution.algorithm.is_exact):
            raise ValueError("solve the game first: this solution has no iterations")
        self.player: int = PLAYER("player", request.get("player"))
        """Player who has the model."""
        self.source: str = SOURCE("model", request.get("model"))
        self.habits: list[str] = []
        if self.source == HABITS:
            self.habits = [text for text in WORDS("habits", request.get("habits")) if text.strip()]
        self.model: Any = {
            HABITS: self.habits,
            LOCKS: request.get("locks"),
            SECOND: solutions[1:],
        }[self.source]
        if not self.model:
            raise ValueError(f"there is no model: give {self.source}")
        if self.source == SECOND:
            self.model = solutions[1]
        loss, trust = request.get("max_loss"), request.get("trust")
        self.max_loss: float | str | None = None
        if loss is not None:
            self.max_loss = LOSS("max_loss", loss)
            self.max_loss = f"{self.max_loss}%" if has_pot else self.max_loss
        self.weights = [] if trust is None else [PER_CENT("trust", trust) / 100.0]
        if loss is None and trust is None:
            raise ValueError("give max_loss or trust")

    def respond(self, options: Mapping[str, Any]) -> tuple[Solution, dict[str, Any]]:
        """Compute a response.

        Args:
            options: Options of :func:`tensorcfr.solve` in games in chunks; flat games are solved by
                linear programs.

        Returns:
            The response against the model as a solution, and a report: the players, the price of
            each habit and of all, and all responses with their gain and risk.

        Raises:
            ValueError: A habit or a lock does not fit the game; names it.
            MissingExtraError: scipy is not installed; names the extra to install.
        """
        game, model = self.game, self.model
        prices = habit_prices(self.solution, self.player, self.habits) if self.habits else []
        if prices:
            model = prices[-1].policy
        responses = robust_responses(
            game,
            None,
            1 - self.player,
            model=model,
            # Without locks the model is uniform, so a response must not rely on it there.
            method=DATA_BIASED if self.source == LOCKS else RESTRICTED,
            weights=self.weights,
            max_loss=self.max_loss,
            **(options if game.layout == Layout.CHUNKS else {}),
        )
        chosen = responses.chosen
        shown = self._against(responses.policies[chosen], responses.model)
        columns = responses.weights, responses.gain, responses.risk
        rows = zip(*(column.tolist() for column in columns), strict=True)
        report = {
            "player": 1 - self.player,
            "model": self.source,
            "prices": [
                {"name": "; ".join(habits), "solution": against_solution, "best": against_best}
                for habits, _, against_solution, against_best in prices
            ],
            "responses": [dict(zip(("weight", "gain", "risk"), row, strict=True)) for row in rows],
            "chosen": chosen,
        }
        return shown, report

    def _against(self, response: Policy, model: Policy) -> Solution:
        """Return a profile of a response and the model in the form of a solution."""
        policies = [response, model] if self.player == 1 else [model, response]
        profile = seated(policies)
        evaluation = evaluate_probabilities(self.game, profile.probabilities)
        return replace(
            self.solution,
            status=Status.ITERATIONS,
            policy=profile,
            evaluation=evaluation,
            trace=(),
            state=None,
            locks=None,
            best=None,
            exact=None,
        )
