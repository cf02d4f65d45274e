"""Play by continual resolving: one player's strategy is solved again at each of their decisions.

Source: M. Moravčík, M. Schmid, N. Burch, V. Lisý, D. Morrill, N. Bard, T. Davis, K. Waugh, M.
Johanson, M. Bowling, "DeepStack: Expert-level artificial intelligence in heads-up no-limit poker",
Science 356, 2017; here with exact values at the end of the game instead of a network.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import EXACT, OneOf, Text, Whole, brief, checked
from ..analysis.hand_tables import LONGEST_LINE
from ..analysis.luck import Luck
from ..analysis.simulation import deal
from ..evaluation.profile import own_reach_of
from ..model.arrays import CHANCE, TERMINAL
from ..model.game_arguments import Compiled
from ..model.policy import Policy
from ..model.public_nodes import steps_of
from ..solvers.solver_arguments import Iterations, Named
from .blueprints import find_blueprint, subgames_of
from .positions import NO_HANDS, Position
from .resolving import METHODS, PartPolicy
from .roots import PLAYERS, nodes_of_two


class Match:
    """Plays of a game against a player who resolves; the caller chooses the opponent's moves.

    >>> from tensorcfr import Policy, compile_game
    >>> game = compile_game("kuhn")
    >>> match = Match(game, Policy.uniform(game), seat=1, seed=3)
    >>> match.deal()
    >>> match.to_act, match.actions
    (0, ('pass', 'bet'))
    >>> match.act("bet")
    >>> match.to_act
    1
    >>> match.resolve_and_act() in ("pass", "bet")
    True

    Args:
        game: A zero-sum game of private hands between two players; or a game of cards.
        blueprint: The blueprint for resolving, as for :func:`tensorcfr.subgames.resolve`.
        seat: The player who resolves.
        resolve_after: Number of public outcomes (such as cards of the board) after which the player
            resolves. Before that, and always if None, they follow the blueprint.
        method: As for :func:`tensorcfr.subgames.resolve`, like the next two.
        algorithm: A name or a record.
        iters: Number of iterations on each subgame.
        seed: The same seed gives the same hands, public outcomes and, against the same actions, the
            same actions.
    """

    @checked()
    def __init__(
        self,
        game: Compiled,
        blueprint: Any,
        *,
        seat: Annotated[int, OneOf(PLAYERS)] = 1,
        resolve_after: Annotated[int | None, Whole(0, EXACT)] = 0,
        method: Annotated[str, OneOf(METHODS)] = "resolve",
        algorithm: Named | None = None,
        iters: Iterations | None = None,
        seed: Annotated[int, Whole(0)] = 0,
    ) -> None:
        self.game, self.seat, self.resolve_after = game, seat, resolve_after
        self._options: dict[str, Any] = {"method": method, "algorithm": algorithm, "iters": iters}
        nodes = nodes_of_two(game)
        self._blueprint = find_blueprint(subgames_of(game), blueprint)
        policy = self._blueprint.policy
        first, second = (np.arange(len(hands)) for hands in nodes.hands)
        known = PartPolicy(policy, (), (first, second))
        self._start = Position(nodes, seat, policy, known, game)
        self._rng = np.random.default_rng(seed)
        self.position = self._start
        """Current position of the play."""
        self._outcomes, self._begin = 0, ""
        self._path: list[int] = []
        self._played: dict[int, np.ndarray] = {}

    def __repr__(self) -> str:
        return f"<Match: {self.game.name}, {self.position.line or 'at the start'}>"

    @checked()
    def deal(self, line: Annotated[str, Text(LONGEST_LINE)] = "") -> None:
        """Begin a play: deal the hands.

        Args:
            line: Public steps after which the play begins, ``"check bet50"``. The hands are drawn
                given that both players follow the blueprint to it.

        Raises:
            ValueError: There is no such line, or the blueprint never goes there.
        """
        nodes = self._start.nodes
        if (node := nodes.find_node(" ".join(steps_of(line)))) is None:
            raise ValueError(f"{self.game.name} has no line {brief(line)}")
        steps, reaches = [edge.label for edge in nodes.path(node)], None
        if steps:
            whole = self._blueprint.lifted
            reaches = [own_reach_of(whole, nodes, node, player) for player in PLAYERS]
            if not nodes.counterfactual_reach(node, 0, reaches) @ reaches[0] > 0.0:
                raise ValueError(f"the blueprint never goes to {brief(line)}")
        first, second = deal(nodes, self._rng, 1, node, reaches)[0].tolist()
        self._outcomes, self._path, self._played = 0, [0], {}
        self.position, self._begin = self._start.holding((first, second)), " ".join(steps)
        for step in steps:
            self._outcomes += self.position.player == CHANCE
            self._move(step)
        self._draw()

    def _drawn(self, weights: np.ndarray) -> int:
        return int(self._rng.choice(len(weights), p=weights / weights.sum()))

    @property
    def policy(self) -> Policy:
        """Policy that the resolving player follows: for the whole game at first, for the last
        subgame once they have resolved."""
        return self.position.known.policy

    @property
    def steps(self) -> list[str]:
        """Public steps so far."""
        return list(self.position.steps)

    @property
    def hands(self) -> tuple[int, int]:
        """Dealt hands, by number.

        Raises:
            ValueError: No hands are dealt yet.
        """
        self._check_dealt()
        return self.position.hands

    def _check_dealt(self) -> None:
        if self.position.hands == NO_HANDS:
            raise ValueError("no hands are dealt yet: call deal()")

    def hand(self, player: int) -> str:
        """Return the private hand of a player.

        Raises:
            ValueError: No hands are dealt yet.
        """
        self._check_dealt()
        return self.position.hand(player)

    @property
    def is_over(self) -> bool:
        """True if the play has ended."""
        return self.position.player == TERMINAL

    @property
    def to_act(self) -> int:
        """Player who acts."""
        return self.position.player

    @property
    def actions(self) -> tuple[str, ...]:
        """Labels of the actions of the player who acts."""
        return self.position.actions

    @property
    def resolves(self) -> bool:
        """True if the resolving player would solve the rest of the game again here."""
        return self.resolve_after is not None and self._outcomes >= self.resolve_after

    def probabilities(self) -> dict[str, float]:
        """Return the probability of each action of the player who acts, with the hand that they
        hold.

        Raises:
            ValueError: No hands are dealt yet.
        """
        self._check_dealt()
        return self.position.probabilities()

    def act(self, action: str) -> None:
        """Take an action for the player who acts, and then the steps of chance.

        Raises:
            ValueError: There is no such action, or no hands are dealt.
        """
        self._check_dealt()
        if self.is_over or action not in self.actions:
            raise ValueError(f"there is no action {action!r}: {', '.join(self.actions)}")
        if self.to_act == self.seat:
            self._played[self.position.node] = self.position.strategies()
        self._move(action)
        self._draw()

    def resolve_and_act(self) -> str:
        """Solve the rest of the game again for the resolving player, who acts, and draw an action.

        Returns:
            The action.

        Raises:
            ValueError: The other player acts, or nobody. Or, with ``"unsafe"``, the blueprint never
                goes here, so that no ranges are known.
        """
        if self.is_over or self.to_act != self.seat:
            raise ValueError(f"player {self.seat} does not act here")
        if self.resolves:
            self.position = self.position.resolved(self._options)
        chances = self.probabilities()
        action = list(chances)[self._drawn(np.array(list(chances.values())))]
        self.act(action)
        return action

    def utilities(self) -> tuple[float, float]:
        """Return the payoffs of the play for both players, in the unit of the game.

        Raises:
            ValueError: The play has not ended, or no hands are dealt.
        """
        self._check_over()
        return self.position.utilities()

    def adjusted_utilities(self) -> tuple[float, float]:
        """Return the payoffs of the play less its luck, in the unit of the game.

        The luck of the deal, of public chance and of the resolving player's draws is subtracted.
        See :func:`tensorcfr.analysis.aivat`; the values of the blueprint are the baseline. The
        resolving player's actions must have been drawn by :meth:`resolve_and_act`.

        Raises:
            ValueError: The play has not ended, began after a line, or no hands are dealt; or the
                blueprint is of a coarser game, and the game merges hands.
        """
        self._check_over()
        if self._begin:
            raise ValueError(
                f"the play began at {brief(self._begin)}: luck is subtracted from whole plays only"
            )
        path, hands = np.array([self._path]), np.array([self.hands])
        paid = self._luck.adjusted(path, hands, (self.seat,), self._played.__getitem__)
        first, second = paid[0].tolist()
        return first, second

    @cached_property
    def _luck(self) -> Luck:
        return Luck(self._blueprint.lifted, 1 - self.seat)

    def _check_over(self) -> None:
        self._check_dealt()
        if not self.is_over:
            raise ValueError("the play has not ended")

    def _draw(self) -> None:
        """Draw public outcomes until a player acts or the play ends."""
        while self.position.player == CHANCE:
            outcomes = self.position.outcomes()
            drawn = self._drawn(np.array(list(outcomes.values())))
            self._move(list(outcomes)[drawn])
            self._outcomes += 1

    def _move(self, step: str) -> None:
        self.position = self.position.after(step)
        self._path.append(self.position.node)
