"""Interface of subgames that are solved again, common to games of cards and public trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from .copied_strategies import best_values, copy_by_label, copy_strategies
from .entrance import FOLLOW
from .roots import At, Steps, nodes_of

PartHands = tuple[np.ndarray, ...]
"""Hands of the whole game that are in a part: for each player int64 (hands,), ascending."""


class NamedNode(NamedTuple):
    """Public node of the whole game."""

    name: str
    steps: Steps


class Gadget(NamedTuple):
    """Game that is solved in place of a subgame."""

    game: CompiledGame
    steps: Steps
    """Steps in it that lead to the subgame."""
    part_hands: PartHands
    by_label: bool = False
    """True if the game has no public nodes, so that strategies are found by infoset labels."""


class CompiledPart(ABC):
    """A compiled subgame, optionally with an entry at which the opponent may follow or terminate.

    Args:
        game: The subgame, with its entry.
        part_hands: Its hands.
        all_hands: Number of hands of the opponent in the whole game.
        player: The player whose strategy is solved again.
        entry: Whether there is an entry.
    """

    def __init__(
        self, game: CompiledGame, part_hands: PartHands, all_hands: int, player: int, *, entry: bool
    ) -> None:
        self.game, self.part_hands, self.all_hands = game, part_hands, all_hands
        self.player, self.opponent = player, 1 - player
        self.nodes = nodes_of(game)
        self.steps: Steps = (FOLLOW,) if entry else ()
        self.root = self.nodes.find_node(self.steps) or 0

    def plain(self) -> Gadget:
        """Return the subgame itself, without a gadget."""
        return Gadget(self.game, self.steps, self.part_hands)

    @abstractmethod
    def resolve_gadget(self, alternative: np.ndarray) -> Gadget:
        """Make the gadget of CFR-D: with every hand the opponent follows or takes the alternative
        value.

        Source: N. Burch, M. Johanson, M. Bowling, "Solving imperfect information games using
        decomposition", AAAI 2014.

        Args:
            alternative: float64 (hands of the opponent in the whole game,): the alternative values,
                in the unit of the game.
        """

    @abstractmethod
    def maxmargin_gadget(self, alternative: np.ndarray) -> Gadget:
        """Make the maxmargin gadget: the opponent chooses a hand to play, and pays its alternative
        value.

        The opponent gets the value of the hand minus its alternative value, and the other player
        loses this amount. The value of the gadget to the other player is therefore the largest
        possible least margin. Arguments are those of :meth:`resolve_gadget`.

        Source: M. Moravčík, M. Schmid, K. Ha, M. Hladík, S. Gaukrodger, "Refining subgames in large
        imperfect information games", AAAI 2016.
        """

    def best_values(self, probabilities: np.ndarray) -> np.ndarray:
        """Compute the opponent's best-response values in the subgame, after following at the entry.

        Args:
            probabilities: float64 (numbers of the subgame,): the strategies to answer.

        Returns:
            float64 (hands of the opponent in the whole game,); NaN for hands that are never dealt.
        """
        values = np.full(self.all_hands, np.nan)
        values[self.part_hands[self.opponent]] = best_values(
            self.game, probabilities, self.opponent
        )
        return values

    def strategies(self, policy: Policy, node: int | None) -> np.ndarray:
        """Return strategies of the whole game in the subgame, float64 (numbers of the subgame,).

        Args:
            policy: The strategies.
            node: The public node of their game at which the subgame begins; None if there is no
                such node, for uniform strategies.
        """
        probabilities = np.array(Policy.uniform(self.game).probabilities)
        if node is not None:
            hands = [(numbers, np.arange(len(numbers))) for numbers in self.part_hands]
            copy_strategies(policy, node, self.nodes, self.root, hands, probabilities)
        return probabilities

    def replace(self, strategies: np.ndarray, gadget: Gadget, policy: Policy) -> None:
        """Replace the player's strategies in the subgame by their strategies in a gadget.

        Args:
            strategies: float64 (numbers of the subgame,): strategies in the subgame; modified in
                place.
            gadget: The gadget.
            policy: The strategies in the gadget, or in the same game as a flat game.
        """
        if gadget.by_label:
            copy_by_label(policy, self.game, strategies, self.player)
            return
        pairs = zip(gadget.part_hands, self.part_hands, strict=True)
        hands = [
            (np.arange(len(from_hands)), np.searchsorted(to_hands, from_hands))
            for from_hands, to_hands in pairs
        ]
        node = nodes_of(policy.game).find_node(gadget.steps) or 0
        copy_strategies(policy, node, self.nodes, self.root, hands, strategies, self.player)


class Subgames(ABC):
    """Subgames of a game."""

    name: str
    """Name of the game."""
    game: CompiledGame | None
    """The game; None if only its rules are given."""
    hands: tuple[tuple[str, ...], ...]
    """Labels of each player's hands."""

    @abstractmethod
    def find(self, names: At) -> Sequence[NamedNode]:
        """Find public nodes by name, none of them below another.

        Raises:
            ValueError: There is no such node, the game is over there, or one is below another.
        """

    @abstractmethod
    def player(self, steps: Steps) -> int:
        """Return the player who acts at a public node; ``CHANCE`` or ``TERMINAL`` otherwise."""

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
            player: The player whose strategy is solved again.
            constant: The sum of the utilities at every terminal.
            entry: Whether the opponent decides at an entry before the subgame.

        Returns:
            The subgame; None if no deal is left.
        """

    @abstractmethod
    def is_of(self, other_game: CompiledGame) -> bool:
        """Return whether the subgames are of a game."""

    @abstractmethod
    def deals_like(self, other_game: CompiledGame) -> bool:
        """Return whether another game deals the same hands and boards."""

    @abstractmethod
    def like(self, other_game: CompiledGame) -> Subgames:
        """Return the subgames of another game, made in the same way."""

    @abstractmethod
    def difference(self, other_game: CompiledGame, steps: Steps) -> tuple[str, str] | None:
        """Find a line at which another game is not a coarser form of this one, on or below a public
        node.

        Returns:
            The line, and a description of the difference; None if there is none.
        """
