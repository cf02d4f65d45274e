"""The protocol of public nodes: numbered, and explored one by one without laying a game out.

A public node is all that every player knows after the deal.  The infosets of a node differ only in
the private hand.  Three kinds of games implement the protocol: flat games
(:mod:`tensorcfr.model.flat_nodes`), public trees that are cut
(:mod:`tensorcfr.compilers.cut.tree_nodes`) and card games
(:mod:`tensorcfr.compilers.cards.card_public_nodes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..rules import Defaults
from .arrays import CHANCE, PublicTree
from .infoset_rows import InfosetRows
from .labels import PublicGame, follow

TRUNK = -1
"""Mark of the trunk in place of a chunk."""
START = "start"
"""Name of the root, before any action."""


@dataclass(frozen=True, eq=False)
class NodeLayout:
    """Positions of a public node's infosets in the arrays of a policy: action ``a`` of hand ``h``
    is at ``first + a * stride + lane[h]``."""

    player: int
    actions: tuple[str, ...]
    chunk: int
    """Chunk that the node is in, or :data:`TRUNK`."""
    first: int
    stride: int
    """Distance between consecutive actions; 0 if the decision has one action and is left out."""
    lane: np.ndarray
    """int64 (hands,): lane of each hand; it may be -1 for a hand that the player cannot have."""
    multiplicity: np.ndarray
    """int64 or float64 (hands,): number of pairs of a public node and a hand that the infoset of
    each hand is solved for, all with the same probability.  Its entries are the sums over the
    pairs."""

    def of_hand(self, hand: int) -> slice:
        """Return the positions of a hand's actions.  A decision that is left out has the position
        of the empty sequence."""
        begin = self.first + int(self.lane[hand])
        return slice(begin, begin + len(self.actions) * max(self.stride, 1), max(self.stride, 1))

    def numbers(self, hands: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the positions of the actions of some hands, int64 (hands, actions)."""
        # A hand that the player cannot have may have no lane.
        begin = self.first + np.maximum(self.lane[np.asarray(hands, dtype=np.int64)], 0)
        return begin[:, None] + np.arange(len(self.actions)) * self.stride


class FoundInfoset(NamedTuple):
    """Infoset that was found by its label."""

    label: str
    """Canonical spelling of the label."""
    node: int
    """Public node of the infoset."""
    layout: NodeLayout
    """Positions of the infosets of its public node."""
    hand: int


class Edge(NamedTuple):
    """Edge of the public tree: an action or an outcome."""

    node: int
    """Node that the edge leads to."""
    label: str


def steps_of(line: str | Sequence[str]) -> list[str]:
    """Return the steps of a line, a text or its words; an empty list for ``"start"``."""
    steps = line.split() if isinstance(line, str) else list(line)
    return [] if steps == [START] else steps


class PublicNodes(ABC):
    """Public nodes of a game of private hands, by number; the root is 0."""

    hands: tuple[tuple[str, ...], ...]
    """Labels of each player's hands."""
    joins_labels: bool = True
    """True if the label of an infoset is the label of the hand, then the public label."""
    is_of_cards: bool = False
    """True if this is a card game.  It stores no arrays over pairs of hands:
    :meth:`deal_probability`, :meth:`chances` and :meth:`matrix` compute them, which takes memory if
    hands are many."""
    player_names: tuple[str, ...] = ("player 0", "player 1")
    """Names of the players."""
    unit_name: str = ""
    """Name of the unit of utilities, after a space; "" if it has no name."""
    defaults: Defaults = Defaults()
    """Defaults for solving the game, and its units."""
    caveat: str = ""
    """Caveat about inexact parts of the game; usually empty."""

    def described(self, node: int) -> str:
        """Describe the rest of the public state at a node in words, such as the board and the
        chips."""
        return ""

    @property
    @abstractmethod
    def has_chance(self) -> bool:
        """True if chance acts after the deal."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of public nodes; their numbers may have gaps."""

    @abstractmethod
    def player(self, node: int) -> int:
        """Return the acting player; ``CHANCE`` or ``TERMINAL`` otherwise.

        Raises:
            ValueError: There is no such node.
        """

    @abstractmethod
    def children(self, node: int) -> list[Edge]:
        """Return the edges from a node."""

    @abstractmethod
    def path(self, node: int) -> list[Edge]:
        """Return the edges from the root to a node."""

    @abstractmethod
    def layout(self, node: int) -> NodeLayout:
        """Return the positions of the infosets of a decision.

        Raises:
            ValueError: Nobody acts there.
        """

    @abstractmethod
    def label(self, node: int) -> str:
        """Return the public part of a decision's name."""

    @abstractmethod
    def labels(self, node: int, hands: Iterable[int]) -> list[str]:
        """Return the labels of the infosets of some hands at a decision."""

    @abstractmethod
    def possible(self, node: int, player: int) -> np.ndarray:
        """Return a mask of the hands that a player can have at a node, bool (hands,)."""

    def remaining_weight(
        self, node: int, player: int, own_reaches: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return the weight of each hand that a player has left at a node.

        Args:
            node: The node.
            player: The player.
            own_reaches: As in :meth:`counterfactual_reach`.

        Returns:
            float64 (hands,): the own reach, in card games times the weight in the range.
        """
        return own_reaches[player]

    @abstractmethod
    def counterfactual_reach(
        self, node: int, player: int, own_reaches: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return the probability with which chance and the others lead to a node.

        Args:
            node: The node.
            player: The player whose hands are meant.
            own_reaches: For each player float64 (hands,): the own reach of the node; the entry of
                ``player`` is not read.

        Returns:
            float64 (hands,): the probability of each hand and of reaching the node with it, if the
            player takes every action towards it.
        """

    @abstractmethod
    def payoffs(self, node: int, player: int, own_reaches: Sequence[np.ndarray]) -> np.ndarray:
        """Return the payoff of a terminal to each hand, in the game's own unit, times the
        probability :meth:`counterfactual_reach`, float64 (hands,)."""

    @abstractmethod
    def deal_probability(self, node: int) -> np.ndarray:
        """Return the probability that chance deals the hands and its outcomes on the path to a
        node, float64 (hands of player 0, hands of player 1, ...)."""

    @abstractmethod
    def chances(self, node: int) -> list[np.ndarray]:
        """Return the probability of each outcome at a chance node, given the hands; float64, of a
        shape that broadcasts to the shape of :meth:`deal_probability`."""

    def outcomes(self, node: int, hands: np.ndarray) -> np.ndarray:
        """Return the probability of each outcome at a chance node, given hands that are dealt.

        Args:
            node: The node.
            hands: int64 (deals, players).

        Returns:
            float64 (deals, outcomes).
        """
        shape = tuple(map(len, self.hands))
        chances = [np.broadcast_to(chance, shape)[tuple(hands.T)] for chance in self.chances(node)]
        return np.stack(chances, axis=1)

    @abstractmethod
    def payoff(self, node: int) -> tuple[float, Hashable]:
        """Return the payoff of a terminal, in the game's own unit: a factor, and the key of the
        :meth:`matrix` that it multiplies."""

    @abstractmethod
    def matrix(self, key: Any) -> np.ndarray:
        """Return the utilities of every deal, float64 (players, hands of player 0, ...)."""

    @abstractmethod
    def find(self, label: str) -> FoundInfoset | None:
        """Return the infoset of a label, with or without a space at its end; None if there is
        none."""

    def found(self, label: str) -> FoundInfoset:
        """Return the infoset of a label.

        Raises:
            KeyError: There is no such infoset.
        """
        infoset = self.find(label) if isinstance(label, str) else None
        if infoset is None:
            raise KeyError(label)
        return infoset

    @abstractmethod
    def wording(self) -> bytes:
        """Return the labels of all edges, for a fingerprint of the game."""

    def numbering(self) -> list[Any] | None:
        """Return the arrays that determine the numbers of the infosets, and the weights of hands.

        None means that all arrays of whole numbers of the game determine them.
        """
        return None

    def shown(self, player: int) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the display names of a player's hands; and int64 (hands,): the hands in the order
        of display."""
        return self.hands[player], np.arange(len(self.hands[player]))

    def name(self, node: int) -> str:
        """Return the public label of a decision, :data:`START` if it is empty; for any other node
        the labels of the edges that lead to it."""
        if self.player(node) >= 0:
            return self.label(node).strip() or START
        return " ".join(step.label for step in self.path(node)) or START

    def decides(self, node: int) -> bool:
        """Return whether a player acts at a node and some deal reaches it."""
        player = self.player(node)
        return player >= 0 and bool(self.possible(node, player).any())

    def decisions(self, player: int) -> Iterator[int]:
        """Yield the nodes where a player acts, each before the nodes below it."""
        stack = [0]
        while stack:
            node = stack.pop()
            if self.player(node) == player:
                yield node
            # In reverse, because the stack is popped from its end.
            stack += [step.node for step in reversed(self.children(node))]

    def deciding(self, player: int) -> Iterator[int]:
        """Yield the nodes of :meth:`decisions` that some deal reaches."""
        return filter(self.decides, self.decisions(player))

    def of_part(self, part: int, *, alike: bool = True) -> Iterator[int]:
        """Yield the decisions whose infosets lie in a part of the game: the trunk is part 0, and
        chunk ``c`` part ``c + 1``.

        Args:
            part: The part.
            alike: True for all nodes, also those that are solved as one.  False for one
                representative per class of such nodes, plus a second one for the class with the
                most actions.
        """
        return iter(self._by_part.get(part, ()))

    @cached_property
    def _by_part(self) -> dict[int, array[int]]:
        """Decisions of every part."""
        decisions: dict[int, array[int]] = {}
        for player in range(len(self.hands)):
            for node in self.decisions(player):
                chunk = self.layout(node).chunk
                decisions.setdefault(0 if chunk == TRUNK else chunk + 1, array("q")).append(node)
        return decisions

    def seen(self, node: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of all chance outcomes on the path to a node, and the labels of all
        actions."""
        labels: tuple[list[str], list[str]] = ([], [])
        parent = 0
        for step in self.path(node):
            labels[int(self.player(parent) >= 0)].append(step.label)
            parent = step.node
        return tuple(labels[0]), tuple(labels[1])

    def rows(self, node: int, hands: np.ndarray | None = None) -> InfosetRows:
        """Return the infosets of some hands, by number, at a decision; by default of all hands that
        are possible there."""
        layout = self.layout(node)
        hands = np.flatnonzero(self.possible(node, layout.player)) if hands is None else hands
        return InfosetRows(
            layout.player,
            self.labels(node, hands.tolist()),
            [layout.actions] * len(hands),
            layout.numbers(hands),
            np.asarray(layout.multiplicity, dtype=np.float64)[hands],
        )

    def named(self, label: str) -> Iterable[tuple[int, np.ndarray]]:
        """Return the infosets that a lock with this label fixes: public nodes, and for each of them
        the hands, bool (hands,) or int.

        Raises:
            KeyError: There is no such infoset.
        """
        infoset = self.found(label)
        return [(infoset.node, np.array([infoset.hand]))]

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:
        """Return the canonical spelling and the actions of a label to lock.

        Raises:
            KeyError: There is no such infoset.
        """
        infoset = self.found(label)
        return infoset.label, infoset.layout.actions

    def find_node(self, name: str | Sequence[str]) -> int | None:
        """Return the node that some steps lead to from the root, given as a list or as one text;
        None if there is none."""
        # A step may contain spaces, so a text cannot be split into steps here.
        steps = "".join(f" {word}" for word in name.split()) if isinstance(name, str) else name
        path = follow(steps, 0, self._steps_of)
        return None if path is None else path[0][-1]

    def _steps_of(self, node: int) -> tuple[list[str], list[int]]:
        children = self.children(node)
        return [step.label for step in children], [step.node for step in children]

    def decisions_on_path(self, node: int) -> Iterator[tuple[int, int, int]]:
        """Yield the decisions on the path from the root to a node: the node, the acting player, and
        the index of the action that was taken."""
        parent = 0
        for step in self.path(node):
            if (player := self.player(parent)) >= 0:
                yield (
                    parent,
                    player,
                    [child.node for child in self.children(parent)].index(step.node),
                )
            parent = step.node


class TabledNodes(PublicNodes):
    """Public nodes of two players whose deals and payoffs are in the tables of a public tree.

    Several nodes may have one *state*, a row of the arrays over nodes.
    """

    public: PublicGame
    """Labels of hands, edges and nodes."""
    tables: PublicTree
    """Tables of deals and payoffs; its arrays over nodes are arrays over states here."""
    unit: float = 1.0
    """Factor from payoffs in the tables to payoffs in the game's own unit."""

    @abstractmethod
    def _state(self, node: int) -> int:
        """Return the state of a node.

        Raises:
            ValueError: There is no such node.
        """

    def _node_of(self, state: int) -> int:
        """Return the node of a state that has a label in :attr:`named_states`."""
        return state

    @cached_property
    def named_states(self) -> dict[str, int]:
        """States that have a label in ``node_labels``, by label."""
        return self.public.named()

    def find_node(self, name: str | Sequence[str]) -> int | None:
        """Return the node of some steps, or of a public label."""
        # The public label may begin or end with a space that the name lacks.
        for label in (name, f" {name}", f"{name} ") if isinstance(name, str) else ():
            if label in self.named_states:
                return self._node_of(self.named_states[label])
        return super().find_node(name)

    @property
    def has_chance(self) -> bool:  # noqa: D102
        return bool((self.tables.player == CHANCE).any())

    def player(self, node: int) -> int:  # noqa: D102
        return int(self.tables.player[self._state(node)])

    def deal_probability(self, node: int) -> np.ndarray:  # noqa: D102
        return self.tables.deal_probability(int(self.tables.weight[self._state(node)]))

    def counterfactual_reach(  # noqa: D102
        self, node: int, player: int, own_reaches: Sequence[np.ndarray]
    ) -> np.ndarray:
        return np.moveaxis(self.deal_probability(node), player, 0) @ own_reaches[1 - player]

    def payoffs(self, node: int, player: int, own_reaches: Sequence[np.ndarray]) -> np.ndarray:  # noqa: D102
        factor, matrix = self.payoff(node)
        weight = int(self.tables.weight[self._state(node)])
        utility = self.tables.expected_utility(weight, matrix)[player]
        return factor * (np.moveaxis(utility, player, 0) @ own_reaches[1 - player])

    def chances(self, node: int) -> list[np.ndarray]:  # noqa: D102
        tables, state = self.tables, self._state(node)
        begin, end = tables.first_child[state : state + 2].tolist()
        return list(tables.chance_table[tables.chance[begin:end]])

    def payoff(self, node: int) -> tuple[float, int]:  # noqa: D102
        payoff = int(self.tables.payoff[self._state(node)])
        return float(self.tables.coefficient[payoff]) * self.unit, int(self.tables.matrix[payoff])

    def matrix(self, key: Any) -> np.ndarray:  # noqa: D102
        return self.tables.matrix_table[key]
