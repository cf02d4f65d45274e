"""Histories made one step at a time from the rules; each is checked when it is made.

A play goes from node to node: ``node.children[k]``, or :meth:`Histories.step` where that is None.
Histories near the root are kept while there is room, so that the rules are asked about them once;
the others are made again whenever a play reaches them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._util.limits import DEEPEST
from ..compilers.histories import (
    FAULTS,
    check_actions,
    check_chance,
    check_depth,
    check_infoset,
    checked_outcomes,
    checked_utilities,
    name_history,
    raise_named,
)
from ..errors import GameError
from ..kernels.alias import make_alias_tables
from ..model.arrays import CHANCE, TERMINAL
from ..rules import Chance, Decision, Game, Terminal
from .game import UncompiledGame
from .infosets import NO_SEQUENCE, InfosetTable

MOST_JOINED = 10_000
"""Outcomes of the one draw for all chance nodes at the root, at most."""
MOST_ENDS = 10_000
"""Terminals that are kept, one for each tuple of utilities."""


Entered = Callable[[int, Decision, object], None]
"""What is called with a new infoset: its row, what the rules say there, and their state."""


@dataclass(slots=True, init=False, eq=False, repr=False)
class Node:
    """A history.  Which fields it has depends on who acts."""

    actor: int
    """Who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    parent: Node | None
    """The history before; None for the root."""
    index: int
    """Number of the step from there."""
    depth: int
    """Steps since the root."""
    utilities: tuple[float, ...]
    """Terminals: what each player gets."""
    state: Any
    """The state of the rules; None once all children are kept, and where it was given up."""
    edges: Sequence[Any]
    """The actions, or the outcomes."""
    count: int
    """How many."""
    children: Sequence[Node | None]
    """Those that are kept.  A history that is itself not kept keeps none: a tuple."""
    label: str
    """Decisions: the label of the infoset."""
    row: int
    """Decisions: its row in the table."""
    first: int
    """Decisions: the sequence of the first action."""
    passed: int
    """Chance: how many further chance nodes the draw passes."""
    threshold: Sequence[float] | None
    """Chance: probability with which a draw of an outcome's column stays with it; None where all
    outcomes are equally likely."""
    alias: Sequence[int]
    """Chance: the outcome to which a draw of the column goes otherwise."""
    slot: int
    """In a growing tree: where the first child is, or will be."""
    missing: int
    """In a growing tree: how many children it has not."""


class Histories:
    """The histories of a game, and the table that its infosets enter.

    Args:
        game: The game.
        table: The table.
        room: How many histories may be kept.
        entered: Called with each infoset that enters the table.
    """

    def __init__(
        self,
        game: UncompiledGame,
        table: InfosetTable,
        room: int = 0,
        *,
        entered: Entered | None = None,
    ) -> None:
        self.game, self.table, self.room, self._entered = game, table, room, entered
        rules: Game = game.rules
        self.n_players = rules.n_players
        self._node: Callable[[Any], Any] = rules.node
        self._next = rules.next
        # Of rules whose states are large: to do a step without a copy.
        self._advance: Callable[[Any, Any], Any] | None = getattr(rules, "advance", None)
        self._joins = getattr(rules, "joined_draws", None)
        self._ends: dict[tuple[float, ...], Node] = {}
        try:
            self.root = self._joined(self._make(rules.root(), None, 0))
        except FAULTS as error:
            raise_named(error, lambda: name_history([]))

    # --------------------------------------------------------------------------------- nodes

    def step(self, node: Node, index: int) -> Node:
        """The history after an action or an outcome, which is not among ``node.children``.

        Raises:
            GameError: The rules break their contract, or the history is too long; names it.
            ImperfectRecallError: The player who acts there forgets an own action.
            InfosetsFullError: There is no room for its infoset.
        """
        child = self.follow(node, index)
        keeps = self.room > 0 and type(node.children) is list
        if child.actor != TERMINAL:
            child.children = [None] * child.count if keeps else (None,) * child.count
        if keeps:
            self.room -= 1
            node.children[index] = child  # type: ignore[index]
            if None not in node.children:
                node.state = None
        return child

    def follow(self, node: Node, index: int, *, leaves: bool = False) -> Node:
        """As :meth:`step`; the history is not kept, and has no ``children``.

        If ``leaves``, ``node`` may give up its state; a node that has none gets it again.
        """
        state, edge = node.state, node.edges[index]
        try:
            if self._advance is not None:
                if state is None:
                    state = node.state = self._state_of(node, self._advance)
                elif leaves:
                    node.state = None
                    return self._make(self._advance(state, edge), node, index)
            return self._make(self._next(state, edge), node, index)
        except FAULTS as error:
            child = Node()
            child.parent, child.index = node, index
            raise_named(error, lambda: self.where(child))

    def _state_of(self, node: Node, advance: Callable[[Any, Any], Any]) -> Any:
        """The state of the rules at a history that gave it up, from the last one that has it."""
        edges: list[Any] = []
        while node.state is None and node.parent is not None:
            edges.extend(_steps_into(node))
            node = node.parent
        if node.state is None:
            state = self.game.rules.root()
        else:
            state = self._next(node.state, edges.pop())
        for edge in reversed(edges):
            state = advance(state, edge)
        return state

    def _make(self, state: Any, parent: Node | None, index: int) -> Node:
        """The node of a state."""
        said = self._node(state)
        kind = type(said)
        if kind is Terminal and (end := self._known_end(said[0])) is not None:
            return end
        node = Node()
        node.parent = parent
        node.index = index
        if kind is Terminal:
            return self._end(said[0], node)
        node.state = state
        depth = node.depth = 0 if parent is None else parent.depth + 1
        if depth > DEEPEST:
            check_depth(depth, lambda: self.where(node))
        if kind is Decision:
            table = self.table
            player, label, actions = said
            own = _own(node, player)
            row = table.rows.get(label) if type(label) is str else None
            if row is None:
                row = self._enter(said, node)
            elif (
                table.player[row] != player
                or table.own[row] != own
                or table.kinds[table.kind[row]] is not actions
            ):
                table.check_again(row, said, own, lambda: self.where(node))
            node.actor = player
            node.label = label
            node.row = row
            node.edges = actions
            node.first = table.first[row]
            node.count = len(actions)
        elif kind is Chance:
            node.actor, node.passed = CHANCE, 0
            self._set_outcomes(node, *self._outcomes(said[0], node))
        else:
            raise GameError(
                f"node() must return a Decision, a Chance or a Terminal, not {said!r}, "
                f"at {self.where(node)}"
            )
        return node

    def _enter(self, said: Decision, node: Node) -> int:
        """The row of a new infoset."""
        here = partial(self.where, node)
        player, label, actions = said
        check_infoset(said, self.n_players, here)
        if self.table.kind_of(actions) is None:
            check_actions(actions, f"infoset {label!r}", here)
        assert label is not None
        row = self.table.enter(player, label, actions, _own(node, player))
        if self._entered is not None:
            self._entered(row, said, node.state)
        return row

    def _known_end(self, given: Any) -> Node | None:
        """The terminal that pays this, if it was met: one for all histories, while there are
        few."""
        try:
            return self._ends.get(given)
        except TypeError:
            return None  # A list, say.

    def _end(self, given: Any, node: Node) -> Node:
        """The terminal that pays this, at a history."""
        end = Node()
        end.actor = TERMINAL
        end.utilities = checked_utilities(given, self.n_players, partial(self.where, node))
        if len(self._ends) < MOST_ENDS:
            self._ends[end.utilities] = end
        return end

    def _outcomes(self, given: Any, node: Node) -> tuple[tuple[Any, ...], list[float]]:
        """The outcomes of a chance node and their probabilities, checked."""
        here = partial(self.where, node)
        chances = check_chance(given, here)
        return tuple(chances), checked_outcomes(chances, here)

    def where(self, node: Node) -> str:
        """The name of a history in error messages."""
        labels: list[object] = []
        while node.parent is not None:
            labels.extend(_steps_into(node))
            node = node.parent
        return name_history(labels[::-1])

    # -------------------------------------------------------------------------------- chance

    def draw(self, node: Node, number: float) -> int:
        """The outcome of a chance node, from a number that is uniform in [0, 1); as
        :func:`tensorcfr.kernels.alias.draw_by_alias`."""
        threshold = node.threshold
        point = number * node.count
        column = int(point)
        if threshold is not None and point - column >= threshold[column]:
            return node.alias[column]
        return column

    def _set_outcomes(self, node: Node, edges: Sequence[Any], probabilities: list[float]) -> None:
        node.edges, node.count = edges, len(edges)
        if probabilities.count(probabilities[0]) == len(probabilities):
            node.threshold = None
        else:
            node.threshold, node.alias = alias_table(probabilities)

    def _joined(self, root: Node) -> Node:
        """The root, whose draw passes all chance nodes that follow each other there.

        Compiled games join chance nodes everywhere; here those below the root are drawn one by
        one, because to know what follows takes a look at all their outcomes.
        """
        if root.actor == TERMINAL:
            return root
        root.children = [None] * root.count
        if root.actor != CHANCE:
            return root
        ends: list[tuple[float, tuple[Any, ...], Node]] = [(1.0, (), root)]
        passed = -1
        while passed + 1 != self._joins and all(end.actor == CHANCE for _, _, end in ends):
            if sum(end.count for _, _, end in ends) > MOST_JOINED:
                break
            after = []
            for weight, labels, end in ends:
                _, probabilities = self._outcomes(self._node(end.state).outcomes, end)
                for index, probability in enumerate(probabilities):
                    child = self._make(self._next(end.state, end.edges[index]), end, index)
                    after.append((weight * probability, (*labels, end.edges[index]), child))
            ends, passed = after, passed + 1
        if passed < 1:
            return root
        root.passed = passed
        self._set_outcomes(root, [labels for _, labels, _ in ends], [w for w, _, _ in ends])
        root.children = [end for _, _, end in ends]
        for index, (_, _, end) in enumerate(ends):
            if end.actor != TERMINAL:
                end.parent, end.index = root, index
                end.children = [None] * end.count
        root.state = None
        self.room -= len(ends)
        return root


def _steps_into(node: Node) -> Sequence[Any]:
    """The actions or outcomes between a history and its parent, the last one first."""
    above = node.parent
    assert above is not None
    edge = above.edges[node.index]
    # The joined draw at the beginning has several outcomes in one.
    return edge[::-1] if above.actor == CHANCE and above.passed else (edge,)


def _own(node: Node, player: int) -> int:
    """A player's last sequence before a history, or ``NO_SEQUENCE``."""
    above = node.parent
    while above is not None:
        if above.actor == player:
            return above.first + node.index
        node, above = above, above.parent
    return NO_SEQUENCE


def alias_table(probabilities: Sequence[float]) -> tuple[list[float], list[int]]:
    """The table of :func:`tensorcfr.kernels.alias.make_alias_tables` for one draw."""
    count = len(probabilities)
    threshold, alias = np.empty(count), np.empty(count, np.uint32)
    make_alias_tables(np.array([0, count]), np.array(probabilities), threshold, alias)
    return threshold.tolist(), alias.tolist()
