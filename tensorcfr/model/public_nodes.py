"""The protocol of public nodes: by number, found one by one, without laying a game out.

A public node is all that every player knows after the deal.  The infosets of a node differ in the
private hand alone.  Three makers follow the protocol: games that are laid out
(:mod:`tensorcfr.model.laid_out_nodes`), public trees that are cut
(:mod:`tensorcfr.compilers.cut.nodes`) and games of cards (:mod:`tensorcfr.compilers.cards.nodes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..rules import Usual
from .arrays import CHANCE, PublicTree
from .game import InfosetRows
from .labels import PublicGame, follow

TRUNK = -1
"""In place of a chunk."""
START = "start"
"""Name of the public node at which nothing has been done yet."""


@dataclass(frozen=True, eq=False)
class NodeLayout:
    """Where the infosets of a public node lie in the arrays of a policy: action ``a`` of hand ``h``
    at ``first + a * stride + lane[h]``."""

    player: int
    actions: tuple[str, ...]
    chunk: int
    """The chunk that the node is in, or :data:`TRUNK`."""
    first: int
    stride: int
    """0 where the decision has one action and is left out."""
    lane: np.ndarray
    """int64 (hands,); -1 may be that of a hand that the player cannot have."""
    stands_for: np.ndarray
    """int64 or float64 (hands,): for how many pairs of a public node and a hand, all of the same
    probability, the infoset of each hand is solved.  Its numbers are their sums."""

    def of_hand(self, hand: int) -> slice:
        """Where the actions of a hand lie; those of a decision that is left out lie where the
        empty sequence does."""
        begin = self.first + int(self.lane[hand])
        return slice(begin, begin + len(self.actions) * max(self.stride, 1), max(self.stride, 1))

    def numbers(self, hands: Sequence[int] | np.ndarray) -> np.ndarray:
        """int64 (hands, actions): where the actions of some hands lie."""
        # A hand that the player cannot have may have no lane.
        begin = self.first + np.maximum(self.lane[np.asarray(hands, dtype=np.int64)], 0)
        return begin[:, None] + np.arange(len(self.actions)) * self.stride


class FoundInfoset(NamedTuple):
    """An infoset that was found by its label."""

    label: str
    """The label in its usual spelling."""
    node: int
    """Its public node."""
    layout: NodeLayout
    """The infosets of its public node."""
    hand: int


class Step(NamedTuple):
    """A step of the public tree."""

    node: int
    """The node that it leads to."""
    label: str


def steps_of(line: str | Sequence[str]) -> list[str]:
    """The steps of a line, a text or its words; none for ``"start"``."""
    steps = line.split() if isinstance(line, str) else list(line)
    return [] if steps == [START] else steps


class PublicNodes(ABC):
    """The public nodes of a game of private hands, by number; the root is 0."""

    hands: tuple[tuple[str, ...], ...]
    """Labels of each player's hands."""
    joins_labels: bool = True
    """Whether the label of an infoset is that of the hand, then the public label."""
    is_of_cards: bool = False
    """Whether this is a game of cards, which has no arrays over pairs of hands: :meth:`dealt`,
    :meth:`chances` and :meth:`matrix` make them, which takes memory where hands are many."""
    player_names: tuple[str, str] = ("player 0", "player 1")
    """What two players are called."""
    unit_name: str = ""
    """What utilities are counted in, after a space; "" where it has no name."""
    usual: Usual = Usual()
    """How the game is solved where nothing is said, and its units."""
    caveat: str = ""
    """What is not exact about the game; empty in most."""

    def described(self, node: int) -> str:
        """What else everybody sees at a node, in words: the board and the chips, say."""
        return ""

    @property
    @abstractmethod
    def has_chance(self) -> bool:
        """Whether chance acts after the deal."""

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
    def layout(self, node: int) -> NodeLayout:
        """Where the infosets of a decision lie.

        Raises:
            ValueError: Nobody acts there.
        """

    @abstractmethod
    def label(self, node: int) -> str:
        """The public part of a decision's name."""

    @abstractmethod
    def labels(self, node: int, hands: Iterable[int]) -> list[str]:
        """The labels of the infosets of some hands at a decision."""

    @abstractmethod
    def possible(self, node: int, player: int) -> np.ndarray:
        """Whether a player can have each hand there, bool (hands,)."""

    def left(self, node: int, player: int, own: Sequence[np.ndarray]) -> np.ndarray:
        """How much of each hand a player has left at a node, float64 (hands,): the own reach, in
        games of cards times the weight in the range.  Arguments are those of
        :meth:`others_reach`."""
        return own[player]

    @abstractmethod
    def others_reach(self, node: int, player: int, own: Sequence[np.ndarray]) -> np.ndarray:
        """The probability with which chance and the others lead to a node.

        Args:
            node: The node.
            player: Whose hands.
            own: For each player float64 (hands,): the own reach of the node; that of ``player`` is
                not looked at.

        Returns:
            float64 (hands,): the probability of each hand and of getting there with it, if the
            player does all for it.
        """

    @abstractmethod
    def payoffs(self, node: int, player: int, own: Sequence[np.ndarray]) -> np.ndarray:
        """What a terminal pays to each hand, in the game's own unit, times the probability
        :meth:`others_reach`; float64 (hands,)."""

    @abstractmethod
    def dealt(self, node: int) -> np.ndarray:
        """The probability that chance deals the hands and takes its part of the way to a node,
        float64 (hands of player 0, hands of player 1, ...)."""

    @abstractmethod
    def chances(self, node: int) -> list[np.ndarray]:
        """The probability of each step from a chance node, given the hands; float64, of a shape
        that broadcasts to that of :meth:`dealt`."""

    def outcomes(self, node: int, hands: np.ndarray) -> np.ndarray:
        """The probability of each step from a chance node, given hands that are dealt.

        Args:
            node: The node.
            hands: int64 (deals, players).

        Returns:
            float64 (deals, steps).
        """
        shape = tuple(map(len, self.hands))
        given = [np.broadcast_to(chance, shape)[tuple(hands.T)] for chance in self.chances(node)]
        return np.stack(given, axis=1)

    @abstractmethod
    def payoff(self, node: int) -> tuple[float, Hashable]:
        """What a terminal pays, in the game's own unit: a factor, and the key of a :meth:`matrix`
        that it multiplies."""

    @abstractmethod
    def matrix(self, key: Any) -> np.ndarray:
        """Utilities of every deal, float64 (players, hands of player 0, ...)."""

    @abstractmethod
    def find(self, label: str) -> FoundInfoset | None:
        """The infoset of a label, with or without a blank at its end; None if there is none."""

    def found(self, label: str) -> FoundInfoset:
        """The infoset of a label.

        Raises:
            KeyError: There is no such infoset.
        """
        found = self.find(label) if isinstance(label, str) else None
        if found is None:
            raise KeyError(label)
        return found

    @abstractmethod
    def wording(self) -> bytes:
        """The labels of all steps, for a fingerprint of the game."""

    def shown(self, player: int) -> tuple[tuple[str, ...], np.ndarray]:
        """The names under which a player's hands are shown; and int64 (hands,): the hands in the
        order in which they are shown."""
        return self.hands[player], np.arange(len(self.hands[player]))

    def name(self, node: int) -> str:
        """The public label of a decision, :data:`START` where it is empty; elsewhere the steps that
        lead to the node."""
        if self.player(node) >= 0:
            return self.label(node).strip() or START
        return " ".join(step.label for step in self.path(node)) or START

    def decides(self, node: int) -> bool:
        """Whether somebody acts at a node that some deal gets to."""
        player = self.player(node)
        return player >= 0 and bool(self.possible(node, player).any())

    def decisions(self, player: int) -> Iterator[int]:
        """The nodes where a player acts, each before those below it."""
        left = [0]
        while left:
            node = left.pop()
            if self.player(node) == player:
                yield node
            left += [step.node for step in reversed(self.children(node))]

    def deciding(self, player: int) -> Iterator[int]:
        """Those of :meth:`decisions` that some deal gets to."""
        return filter(self.decides, self.decisions(player))

    def of_part(self, part: int, *, alike: bool = True) -> Iterator[int]:
        """The decisions whose infosets lie in a part of the game: the trunk is part 0, and chunk
        ``c`` part ``c + 1``.

        Args:
            part: The part.
            alike: Whether all nodes are asked for that are solved as one; otherwise it is one of
                each, and of one with most actions another one, too.
        """
        return iter(self._by_part.get(part, ()))

    @cached_property
    def _by_part(self) -> dict[int, array[int]]:
        """The decisions of every part."""
        found: dict[int, array[int]] = {}
        for player in range(len(self.hands)):
            for node in self.decisions(player):
                chunk = self.layout(node).chunk
                found.setdefault(0 if chunk == TRUNK else chunk + 1, array("q")).append(node)
        return found

    def seen(self, node: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels of all that chance has shown on the way to a node, and of all actions."""
        found: tuple[list[str], list[str]] = ([], [])
        above = 0
        for step in self.path(node):
            found[int(self.player(above) >= 0)].append(step.label)
            above = step.node
        return tuple(found[0]), tuple(found[1])

    def rows(self, node: int, hands: np.ndarray | None = None) -> InfosetRows:
        """The infosets of some hands, by number, at a decision; of all that are possible there, if
        none are given."""
        layout = self.layout(node)
        hands = np.flatnonzero(self.possible(node, layout.player)) if hands is None else hands
        return InfosetRows(
            layout.player,
            self.labels(node, hands.tolist()),
            [layout.actions] * len(hands),
            layout.numbers(hands),
            np.asarray(layout.stands_for, dtype=np.float64)[hands],
        )

    def named(self, label: str) -> Iterable[tuple[int, np.ndarray]]:
        """The infosets that a lock of this label is for: public nodes, and at each of them the
        hands, bool (hands,) or int.

        Raises:
            KeyError: There is no such infoset.
        """
        found = self.found(label)
        return [(found.node, np.array([found.hand]))]

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:
        """What a label locks: its usual spelling, and the actions there.

        Raises:
            KeyError: There is no such infoset.
        """
        found = self.found(label)
        return found.label, found.layout.actions

    def find_node(self, name: str | Sequence[str]) -> int | None:
        """The node that some steps, or a text of them, each after a blank, lead to from the root;
        None if there is none."""
        steps = "".join(f" {word}" for word in name.split()) if isinstance(name, str) else name
        way = follow(steps, 0, self._steps_of)
        return None if way is None else way[0][-1]

    def _steps_of(self, node: int) -> tuple[list[str], list[int]]:
        children = self.children(node)
        return [step.label for step in children], [step.node for step in children]

    def way(self, node: int) -> Iterator[tuple[int, int, int]]:
        """The decisions on the way to a node, from the root on: the node, who acts, and the number
        of the action that was taken."""
        above = 0
        for step in self.path(node):
            if (player := self.player(above)) >= 0:
                yield above, player, [one.node for one in self.children(above)].index(step.node)
            above = step.node


class TabledNodes(PublicNodes):
    """Public nodes of two players whose deals and payoffs are in the tables of a public tree.

    Several nodes may have one *state*, a row of the arrays over nodes.
    """

    public: PublicGame
    """The labels of hands, steps and nodes."""
    tables: PublicTree
    """The tables; arrays over nodes are over states."""
    unit: float = 1.0
    """Factor from payoffs in the tables to those in the game's own unit."""

    @abstractmethod
    def _state(self, node: int) -> int:
        """The state of a node.

        Raises:
            ValueError: There is no such node.
        """

    def _node_of(self, state: int) -> int:
        """The node of a state that has a label of its own."""
        return state

    @cached_property
    def named_states(self) -> dict[str, int]:
        """The states with labels of their own, by label."""
        return self.public.named()

    def find_node(self, name: str | Sequence[str]) -> int | None:
        """The node of some steps, or of a public label."""
        for label in (name, f" {name}", f"{name} ") if isinstance(name, str) else ():
            if label in self.named_states:
                return self._node_of(self.named_states[label])
        return super().find_node(name)

    @property
    def has_chance(self) -> bool:  # noqa: D102
        return bool((self.tables.player == CHANCE).any())

    def player(self, node: int) -> int:  # noqa: D102
        return int(self.tables.player[self._state(node)])

    def dealt(self, node: int) -> np.ndarray:  # noqa: D102
        return self.tables.dealt(int(self.tables.weight[self._state(node)]))

    def others_reach(self, node: int, player: int, own: Sequence[np.ndarray]) -> np.ndarray:  # noqa: D102
        return np.moveaxis(self.dealt(node), player, 0) @ own[1 - player]

    def payoffs(self, node: int, player: int, own: Sequence[np.ndarray]) -> np.ndarray:  # noqa: D102
        factor, matrix = self.payoff(node)
        weight = int(self.tables.weight[self._state(node)])
        utility = self.tables.expected_utility(weight, matrix)[player]
        return factor * (np.moveaxis(utility, player, 0) @ own[1 - player])

    def payoff(self, node: int) -> tuple[float, int]:  # noqa: D102
        payoff = int(self.tables.payoff[self._state(node)])
        return float(self.tables.coefficient[payoff]) * self.unit, int(self.tables.matrix[payoff])

    def matrix(self, key: Any) -> np.ndarray:  # noqa: D102
        return self.tables.matrix_table[key]
