"""Models of an opponent on the page, and responses to them at a stated risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._util.argument_checks import Number, OneOf, Several, Text, Whole
from ..analysis.comparison import seated
from ..analysis.other_utilities import IncentivePrice, incentive_prices
from ..analysis.responses import robust_responses
from ..evaluation.metrics import evaluate_probabilities
from ..evaluation.player_models import check_constant_sum
from ..hands import habit_prices
from ..hands.models import HabitPrice
from ..model.layout import Layout
from ..model.locks import DATA_BIASED, RESTRICTED
from ..model.policy import Policy
from ..solvers.solution import Solution, Status

HABITS, INCENTIVES, LOCKS, SECOND = "habits", "incentives", "locks", "B"
"""Sources of a model: habits or incentives in words, the locks of the page, the second solution."""
IN_WORDS = (HABITS, INCENTIVES)
SOURCE = OneOf((*IN_WORDS, LOCKS, SECOND))
PLAYER = Whole(0, 1)
WORDS = Several(Text(200))
PER_CENT = Number(least=0, most=100)
LOSS = Number(above=0, finite=True)


class Opponent:
    """Model of a player, to whom the other player responds.

    Args:
        request: Mapping with ``player``, who has the model, and ``model``, its source (one of
            :data:`SOURCE`). The sources ``habits`` and ``incentives`` need a list of texts with
            the same name, and ``locks`` needs ``locks``. ``max_loss`` is the largest risk in per
            cent of the pot, or in the unit of a game without a pot. ``trust`` is the trust in the
            model in per cent.
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
        self.model: Any = solutions[1:] if self.source == SECOND else request.get(self.source)
        if self.source in IN_WORDS:
            self.model = [text for text in WORDS(self.source, self.model) if text.strip()]
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

    @property
    def solves_for_prices(self) -> int:
        """Number of games with payments that are solved for prices, before the responses."""
        if self.source != INCENTIVES:
            return 0
        return len(self.model) + (len(self.model) > 1)

    def respond(self, options: Mapping[str, Any]) -> tuple[Solution, dict[str, Any]]:
        """Compute a response.

        Args:
            options: Options of :func:`tensorcfr.solve` for games in chunks and games with payments;
                other flat games are solved by linear programs.

        Returns:
            The response against the model as a solution, and a report: the players, the price of
            each habit or incentive and of all, and all responses with their gain and risk.

        Raises:
            ValueError: A habit, an incentive or a lock does not fit the game; names it.
            MissingExtraError: scipy is not installed; names the extra to install.
        """
        game, model = self.game, self.model
        prices: list[dict[str, Any]] = []
        if self.source == HABITS:
            for habit in habit_prices(self.solution, self.player, model):
                prices.append(_row(habit.habits, habit))
                model = habit.policy
        elif self.source == INCENTIVES:
            for incentive in incentive_prices(self.solution, self.player, model, **options):
                row = _row(incentive.incentives, incentive)
                prices.append(row | {"before": incentive.paid_before, "paid": incentive.paid})
                model = incentive.policy
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
            "prices": prices,
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


def _row(texts: Sequence[str], price: HabitPrice | IncentivePrice) -> dict[str, Any]:
    """Return the row of a price in the report."""
    costs = {"solution": price.against_solution, "best": price.against_best}
    return {"name": "; ".join(texts), **costs}
