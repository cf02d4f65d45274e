"""Play by continual resolving: one player's strategy is solved again at each of their decisions.

Source: M. Moravčík, M. Schmid, N. Burch, V. Lisý, D. Morrill, N. Bard, T. Davis, K. Waugh,
M. Johanson, M. Bowling, "DeepStack: Expert-level artificial intelligence in heads-up no-limit
poker", Science 356, 2017; here with exact values at the end of the game in place of a network.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from .._util.arguments import OneOf, Whole, checked
from ..model.arguments import Compiled
from ..model.arrays import CHANCE, TERMINAL
from ..model.policy import Policy
from ..solvers.arguments import Iterations, Named
from .blueprints import find_blueprint
from .places import PLAYERS, PublicNodes, places_of
from .resolving import METHODS, resolve


class Match:
    """Plays of a game against a player who resolves; the moves of the opponent are given.

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
        game: A game of private hands between two players, zero-sum.
        blueprint: What the resolving begins with, as for :func:`tensorcfr.subgames.resolve`.
        seat: The player who resolves.
        method: As for :func:`tensorcfr.subgames.resolve`, like the next two.
        algorithm: A name or a record.
        iters: Iterations on each subgame.
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
        method: Annotated[str, OneOf(METHODS)] = "resolve",
        algorithm: Named = "cfr+",
        iters: Iterations | None = None,
        seed: Annotated[int, Whole(0)] = 0,
    ) -> None:
        self.game, self.seat = game, seat
        self._places = places_of(game)
        self._options: dict[str, Any] = {"method": method, "algorithm": algorithm, "iters": iters}
        self._blueprint = self._known = find_blueprint(game, blueprint)
        self._rng = np.random.default_rng(seed)
        self.policy: Policy = self._blueprint.lifted
        """The policy that the resolving player follows in this play."""
        self._hands: tuple[int, int] | None = None
        self.steps: list[str] = []
        """The public steps so far."""
        self._node = 0

    def deal(self) -> None:
        """Begin a play: deal the hands."""
        prior = self._places.tree.prior
        drawn = int(self._rng.choice(prior.size, p=prior.ravel() / prior.sum()))
        first, second = divmod(drawn, prior.shape[1])
        self._hands, self._known = (first, second), self._blueprint
        self.policy = self._blueprint.lifted
        self.steps, self._node = [], 0
        self._draw()

    @property
    def hands(self) -> tuple[int, int]:
        """The hands that are dealt, by number.

        Raises:
            ValueError: No hands are dealt yet.
        """
        if self._hands is None:
            raise ValueError("no hands are dealt yet: call deal()")
        return self._hands

    def hand(self, player: int) -> str:
        """The private hand of a player."""
        return self._places.hands[player][self.hands[player]]

    @property
    def is_over(self) -> bool:
        """Whether the play has ended."""
        return int(self._places.tree.player[self._node]) == TERMINAL

    @property
    def to_act(self) -> int:
        """The player who acts."""
        return int(self._places.tree.player[self._node])

    @property
    def actions(self) -> tuple[str, ...]:
        """Labels of the actions of the player who acts."""
        return self._places.public.actions(self._node)

    def probabilities(self) -> dict[str, float]:
        """The probability of each action of the player who acts, with the hand that they hold."""
        nodes = PublicNodes(self.game, (self._node,), self._places)
        first = int(self._places.tree.first_child[self._node])
        found = {}
        for index, action in enumerate(self.actions):
            held, sequences = nodes.sequences(self._node, first + index)
            at = int(np.searchsorted(held, self.hands[self.to_act]))
            found[action] = float(self.policy.probabilities[sequences[at]])
        return found

    def act(self, action: str) -> None:
        """Take an action for the player who acts; chance then draws what comes next.

        Raises:
            ValueError: There is no such action.
        """
        if self.is_over or action not in self.actions:
            raise ValueError(f"there is no action {action!r}: {', '.join(self.actions)}")
        self._go(int(self._places.tree.first_child[self._node]) + self.actions.index(action))
        self._draw()

    def resolve_and_act(self) -> str:
        """Solve the rest of the game again for the resolving player, who acts, and draw an action.

        Returns:
            The action.

        Raises:
            ValueError: The other player acts, or nobody; with ``"unsafe"``, the blueprint never
                goes here, so that no ranges are known.
        """
        if self.is_over or self.to_act != self.seat:
            raise ValueError(f"player {self.seat} does not act here")
        at = self._places.name(self._node)
        # From then on the policy has all actions of the game.
        found = resolve(self.game, self._known, at, player=self.seat, **self._options)
        self.policy = found.policy
        self._known = find_blueprint(self.game, found.policy)
        chances = self.probabilities()
        weights = np.array(list(chances.values()))
        action = list(chances)[int(self._rng.choice(len(weights), p=weights / weights.sum()))]
        self.act(action)
        return action

    def utilities(self) -> tuple[float, float]:
        """What the play pays each player, in the unit of the game.

        Raises:
            ValueError: It has not ended.
        """
        if not self.is_over:
            raise ValueError("the play has not ended")
        tree = self._places.tree
        payoff = int(tree.payoff[self._node])
        paid = tree.matrix_table[int(tree.matrix[payoff])][:, self.hands[0], self.hands[1]]
        first, second = (paid * float(tree.coefficient[payoff]) * self.game.unit).tolist()
        return first, second

    def _go(self, child: int) -> None:
        self.steps.append(self._places.public.edges[int(self._places.tree.edge[child])])
        self._node = child

    def _draw(self) -> None:
        """Public chance, for as long as it acts."""
        tree = self._places.tree
        while int(tree.player[self._node]) == CHANCE:
            first, last = tree.first_child[self._node : self._node + 2].tolist()
            given = tree.chance_table[tree.chance[first:last]][:, self.hands[0], self.hands[1]]
            self._go(first + int(self._rng.choice(last - first, p=given / given.sum())))
