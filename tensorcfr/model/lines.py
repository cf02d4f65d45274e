"""The public nodes of a game in chunks, found one by one without laying the game out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .labels import follow


@dataclass(frozen=True, eq=False)
class Place:
    """Where the infosets of a public node lie in a solver's arrays: action ``a`` of hand ``h`` at
    ``first + a * stride + lane[h]``."""

    player: int
    actions: tuple[str, ...]
    chunk: int
    """The chunk that the node is in; -1 for the trunk."""
    first: int
    stride: int
    """0 where the decision has one action and is left out."""
    lane: np.ndarray
    """int64 (hands,); -1 may be that of a hand that the player cannot have."""
    stands_for: np.ndarray
    """int64 or float64 (hands,): for how many pairs of a public node and a hand, all of the same
    probability, the infoset of each hand is solved.  Its numbers are their sums."""

    def numbers(self, hand: int) -> slice:
        """Where the actions of a hand lie."""
        begin = self.first + int(self.lane[hand])
        return slice(begin, begin + len(self.actions) * self.stride, self.stride)


class Found(NamedTuple):
    """An infoset that was found by its label."""

    label: str
    """The label in its usual spelling."""
    node: int
    """Its public node, by the number that it has in :class:`Lines`."""
    place: Place
    """The infosets of its public node."""
    hand: int


class NodeInfosets(NamedTuple):
    """The infosets of one public node."""

    node: int
    place: Place
    hands: list[int]
    """The hands that the player can have there."""
    labels: list[str]
    """The label of the infoset of each of them."""


class Step(NamedTuple):
    """A step of the public tree."""

    node: int
    """The node that it leads to."""
    label: str


class Lines(ABC):
    """The public nodes of a game of private hands, by number; the root is 0."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Public nodes.  Their numbers may have gaps."""

    @abstractmethod
    def player(self, node: int) -> int:
        """Who acts there; ``CHANCE`` or ``TERMINAL`` otherwise.

        Raises:
            ValueError: There is no such node.
        """

    @abstractmethod
    def children(self, node: int) -> list[Step]:
        """The steps from a node."""

    @abstractmethod
    def path(self, node: int) -> list[Step]:
        """The steps from the root to a node."""

    @abstractmethod
    def place(self, node: int) -> Place:
        """Where the infosets of a decision lie."""

    @abstractmethod
    def label(self, node: int) -> str:
        """The public part of a decision's name."""

    @abstractmethod
    def labels(self, node: int, hands: Iterable[int]) -> list[str]:
        """The labels of the infosets of some hands at a decision."""

    def decisions(self, player: int) -> Iterator[int]:
        """The nodes where a player acts, each before those below it."""
        left = [0]
        while left:
            node = left.pop()
            if self.player(node) == player:
                yield node
            left += [step.node for step in reversed(self.children(node))]

    def infosets(self, player: int) -> Iterator[NodeInfosets]:
        """The infosets of a player, node by node in the order of :meth:`decisions`."""
        for node in self.decisions(player):
            if hands := np.flatnonzero(self.held(node, player)).tolist():
                yield NodeInfosets(node, self.place(node), hands, self.labels(node, hands))

    @abstractmethod
    def held(self, node: int, player: int) -> np.ndarray:
        """Whether a player can have each hand there, bool (hands,)."""

    @abstractmethod
    def met(self, node: int, player: int, other: np.ndarray) -> np.ndarray:
        """The probability with which chance and the other player lead to a node.

        Args:
            node: The node.
            player: Whose hands.
            other: float64 (hands,): the other player's own reach of the node.

        Returns:
            float64 (hands,): the probability of each hand and of getting there with it, if the
            player does all for it.
        """

    @abstractmethod
    def paid(self, node: int, player: int, other: np.ndarray) -> np.ndarray | None:
        """What a terminal pays to each hand, times the probability :meth:`met`; float64 (hands,).
        None where only a whole chunk is evaluated."""

    @abstractmethod
    def find(self, label: str) -> Found | None:
        """The infoset of a label, with or without a blank at its end; None if there is none."""

    def find_node(self, name: str) -> int | None:
        """The node that some steps, each after a blank, lead to from the root; None if there is
        none."""
        way = follow("".join(f" {word}" for word in name.split()), 0, self._steps_of)
        return None if way is None else way[0][-1]

    def _steps_of(self, node: int) -> tuple[list[str], list[int]]:
        children = self.children(node)
        return [step.label for step in children], [step.node for step in children]
