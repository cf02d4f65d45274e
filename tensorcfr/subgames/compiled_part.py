"""What games of both kinds have in common where a subgame of them is solved again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..model.game import CompiledGame
from ..model.policy import Policy
from .part import FOLLOW
from .roots import At, Steps, nodes_of
from .strategies import best_values, copy_by_label, copy_strategies

Kept = tuple[np.ndarray, np.ndarray]
"""For each player int64 (hands,): the hands of the whole game that a game has, in order."""


class Spot(NamedTuple):
    """A public node of the whole game."""

    name: str
    steps: Steps


class Gadget(NamedTuple):
    """A game to solve in place of a subgame."""

    game: CompiledGame
    steps: Steps
    """The steps in it that lead to the subgame."""
    kept: Kept
    by_label: bool = False
    """Whether it has no public nodes, so that strategies are told by the labels of infosets."""


class CompiledPart(ABC):
    """A subgame, compiled, maybe with an entry before it at which the opponent can follow.

    Args:
        game: The subgame, with its entry.
        kept: Its hands.
        all_hands: How many hands the opponent has in the whole game.
        player: Whose strategy is solved again.
        entry: Whether there is an entry.
    """

    def __init__(
        self, game: CompiledGame, kept: Kept, all_hands: int, player: int, *, entry: bool
    ) -> None:
        self.game, self.kept, self.player, self.opponent = game, kept, player, 1 - player
        self.all_hands = all_hands
        self.nodes = nodes_of(game)
        self.steps: Steps = (FOLLOW,) if entry else ()
        self.root = self.nodes.find_node(self.steps) or 0

    def plain(self) -> Gadget:
        """No gadget: the subgame itself."""
        return Gadget(self.game, self.steps, self.kept)

    @abstractmethod
    def resolve_gadget(self, alternative: np.ndarray) -> Gadget:
        """The gadget of CFR-D: with every hand the opponent follows or takes the alternative value.

        Source: N. Burch, M. Johanson, M. Bowling, "Solving imperfect information games using
        decomposition", AAAI 2014.

        Args:
            alternative: float64 (hands of the opponent in the whole game,): the alternative values,
                in the unit of the game.
        """

    @abstractmethod
    def maxmargin_gadget(self, alternative: np.ndarray) -> Gadget:
        """The maxmargin gadget: the opponent chooses the hand with which to play, and pays for it.

        The opponent gets the value of the hand minus its alternative value, and the other player
        loses that, so that the value of the gadget to them is the largest possible least margin.
        Arguments are those of :meth:`resolve_gadget`.

        Source: M. Moravčík, M. Schmid, K. Ha, M. Hladík, S. Gaukrodger, "Refining subgames in large
        imperfect information games", AAAI 2016.
        """

    def best_values(self, probabilities: np.ndarray) -> np.ndarray:
        """What the opponent can expect with each hand of the whole game who follows at the entry
        and then answers some strategies, float64 (numbers of the subgame,), optimally; float64
        (hands,), NaN for hands that are never dealt."""
        found = np.full(self.all_hands, np.nan)
        found[self.kept[self.opponent]] = best_values(self.game, probabilities, self.opponent)
        return found

    def strategies(self, policy: Policy, at: int | None) -> np.ndarray:
        """Strategies of the whole game in the subgame, float64 (numbers of the subgame,).  The
        subgame begins at a public node of their game; if that has no such node, the strategies are
        uniform."""
        found = np.array(Policy.uniform(self.game).probabilities)
        if at is not None:
            hands = [(own, np.arange(len(own))) for own in self.kept]
            copy_strategies(policy, at, self.nodes, self.root, hands, found)
        return found

    def replace(self, found: np.ndarray, gadget: Gadget, policy: Policy) -> None:
        """Put the player's strategies in a gadget, or in the same game laid out, into those of the
        subgame, float64 (numbers of the subgame,), which are modified in place."""
        if gadget.by_label:
            copy_by_label(policy, self.game, found, self.player)
            return
        pairs = zip(gadget.kept, self.kept, strict=True)
        hands = [(np.arange(len(own)), np.searchsorted(mine, own)) for own, mine in pairs]
        at = nodes_of(policy.game).find_node(gadget.steps) or 0
        copy_strategies(policy, at, self.nodes, self.root, hands, found, self.player)


class Subgames(ABC):
    """The subgames of a game."""

    name: str
    """What the game is called."""
    game: CompiledGame | None
    """The game; None if nothing but its rules is given."""
    hands: tuple[tuple[str, ...], tuple[str, ...]]
    """Labels of each player's hands."""

    @abstractmethod
    def find(self, at: At) -> Sequence[Spot]:
        """Public nodes by name, none of them below another one.

        Raises:
            ValueError: There is no such node, the game is over there, or one is below another.
        """

    @abstractmethod
    def player(self, steps: Steps) -> int:
        """Who acts at a public node; ``CHANCE`` or ``TERMINAL`` otherwise."""

    @abstractmethod
    def part(
        self,
        steps: Steps,
        reach: Sequence[np.ndarray],
        player: int,
        constant: float,
        *,
        entry: bool = True,
    ) -> CompiledPart | None:
        """Compile the subgame below a public node.

        Args:
            steps: The steps that lead there.
            reach: For each player float64 (hands,): the probability with which the player's actions
                lead there, or 1 to leave them out.
            player: Whose strategy is solved again.
            constant: The sum of the utilities at every terminal.
            entry: Whether the opponent decides at an entry before the subgame.

        Returns:
            The subgame; None if no deal is left.
        """

    @abstractmethod
    def is_of(self, other: CompiledGame) -> bool:
        """Whether this is the same game."""

    @abstractmethod
    def deals_like(self, other: CompiledGame) -> bool:
        """Whether another game deals the same hands and boards."""

    @abstractmethod
    def like(self, other: CompiledGame) -> Subgames:
        """The subgames of another game, made in the same way."""

    @abstractmethod
    def difference(self, other: CompiledGame, steps: Steps) -> tuple[str, str] | None:
        """A line on or below a public node where another game is no coarser form of this one, and
        how it differs; None if there is none."""
