"""Histories made one action at a time from the rules, and checked when they are made.

A play moves from node to node: to ``node.children[k]``, or to :meth:`Histories.step` if that is
None.  Histories near the root are stored while there is room, so the rules are queried once for
each.  Other histories are made again whenever a play reaches them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._util.limits import DEEPEST
from ..compilers.history_reader import (
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
from .infoset_table import NO_SEQUENCE, InfosetTable
from .uncompiled_game import UncompiledGame

MAX_JOINED = 10_000
"""Maximum number of outcomes of the joint draw for all chance nodes at the root."""
MAX_ENDS = 10_000
"""Maximum number of stored terminals; there is one for each tuple of utilities."""


Entered = Callable[[int, Decision, object], None]
"""Callback for a new infoset.  Arguments: its row, the decision that the rules returned, and the
game state of the rules."""


@dataclass(slots=True, init=False, eq=False, repr=False)
class Node:
    """History.  Only the fields that its actor needs are set."""

    actor: int
    """Acting player, or ``CHANCE`` or ``TERMINAL``."""
    parent: Node | None
    """Previous history; None for the root."""
    index: int
    """Index of the action or outcome from the parent to this history."""
    depth: int
    """Number of actions and outcomes since the root."""
    utilities: tuple[float, ...]
    """Terminals: utility of each player."""
    state: Any
    """Game state of the rules.  None once all children are stored, or after it was given up."""
    edges: Sequence[Any]
    """Actions of a decision, or outcomes of a chance node."""
    count: int
    """Number of edges."""
    children: Sequence[Node | None]
    """Stored children, None for others.  A tuple of None if this history is not stored itself."""
    label: str
    """Decisions: label of the infoset."""
    row: int
    """Decisions: row of the infoset in the table."""
    first: int
    """Decisions: sequence of the first action."""
    passed: int
    """Chance: number of further chance nodes that the draw covers."""
    threshold: Sequence[float] | None
    """Chance: probability with which a draw of an outcome's column selects this outcome; None if
    all outcomes are equally likely."""
    alias: Sequence[int]
    """Chance: outcome that a draw of the column selects otherwise."""
    slot: int
    """In a growing tree: slot of the first child."""
    missing: int
    """In a growing tree: number of missing children."""


class Histories:
    """Histories of a game, and the table of their infosets.

    Args:
        game: The game.
        table: The table.
        room: Maximum number of histories to store.
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
        # Rules with large game states may offer `advance`, which modifies a state in place.
        self._advance: Callable[[Any, Any], Any] | None = getattr(rules, "advance", None)
        self._joins = getattr(rules, "joined_draws", None)
        self._ends: dict[tuple[float, ...], Node] = {}
        try:
            self.root = self._join_root_draws(self._make(rules.root(), None, 0))
        except FAULTS as error:
            raise_named(error, lambda: name_history([]))

    # --------------------------------------------------------------------------------- nodes

    def step(self, node: Node, index: int) -> Node:
        """Make the history after an action or outcome that is not in ``node.children``.

        Raises:
            GameError: The rules break their contract, or the history is too long; names it.
            ImperfectRecallError: The player who acts at the new history forgets one of their own
                actions.
            InfosetsFullError: The table has no room for its infoset.
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
        """Make the history after an action or outcome without storing it; see :meth:`step`.

        The new node has no ``children``.

        Args:
            node: The history before.  If its game state was given up, it is recomputed.
            index: Index of the action or outcome.
            leaves: True if ``node`` may give up its game state, which is then modified in place.
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
        """Recompute a game state that was given up from the nearest ancestor that has one."""
        edges: list[Any] = []
        while node.state is None and node.parent is not None:
            edges.extend(_steps_into(node))
            node = node.parent
        if node.state is None:
            state = self.game.rules.root()
        else:
            # `_next` copies the ancestor's state, so the rest may be done in place.
            state = self._next(node.state, edges.pop())
        for edge in reversed(edges):
            state = advance(state, edge)
        return state

    def _make(self, state: Any, parent: Node | None, index: int) -> Node:
        """Make the node of a game state, and check it."""
        rules_node = self._node(state)
        kind = type(rules_node)
        if kind is Terminal and (end := self._known_end(rules_node[0])) is not None:
            return end
        node = Node()
        node.parent = parent
        node.index = index
        if kind is Terminal:
            return self._end(rules_node[0], node)
        node.state = state
        depth = node.depth = 0 if parent is None else parent.depth + 1
        if depth > DEEPEST:
            check_depth(depth, lambda: self.where(node))
        if kind is Decision:
            table = self.table
            player, label, actions = rules_node
            last_sequence = _last_own_sequence(node, player)
            row = table.rows.get(label) if type(label) is str else None
            # Fast path: identity of the tuple of actions implies that they were checked before.
            if row is None:
                row = self._enter(rules_node, node)
            elif (
                table.player[row] != player
                or table.own[row] != last_sequence
                or table.kinds[table.kind[row]] is not actions
            ):
                table.check_again(row, rules_node, last_sequence, lambda: self.where(node))
            node.actor = player
            node.label = label
            node.row = row
            node.edges = actions
            node.first = table.first[row]
            node.count = len(actions)
        elif kind is Chance:
            node.actor, node.passed = CHANCE, 0
            self._set_outcomes(node, *self._outcomes(rules_node[0], node))
        else:
            raise GameError(
                f"node() must return a Decision, a Chance or a Terminal, not {rules_node!r}, "
                f"at {self.where(node)}"
            )
        return node

    def _enter(self, decision: Decision, node: Node) -> int:
        """Check a new infoset, enter it into the table, and return its row."""
        where = partial(self.where, node)
        player, label, actions = decision
        check_infoset(decision, self.n_players, where)
        if self.table.kind_of(actions) is None:
            check_actions(actions, f"infoset {label!r}", where)
        assert label is not None
        row = self.table.enter(player, label, actions, _last_own_sequence(node, player))
        if self._entered is not None:
            self._entered(row, decision, node.state)
        return row

    def _known_end(self, utilities: Any) -> Node | None:
        """Return the stored terminal with these utilities; None if there is none."""
        try:
            return self._ends.get(utilities)
        except TypeError:
            return None  # Not hashable, such as a list.

    def _end(self, utilities: Any, node: Node) -> Node:
        """Make a terminal, check its utilities, and store it for other histories if there is
        room."""
        end = Node()
        end.actor = TERMINAL
        end.utilities = checked_utilities(utilities, self.n_players, partial(self.where, node))
        if len(self._ends) < MAX_ENDS:
            self._ends[end.utilities] = end
        return end

    def _outcomes(self, outcomes: Any, node: Node) -> tuple[tuple[Any, ...], list[float]]:
        """Check the outcomes of a chance node, and return them with their probabilities."""
        where = partial(self.where, node)
        chances = check_chance(outcomes, where)
        return tuple(chances), checked_outcomes(chances, where)

    def where(self, node: Node) -> str:
        """Return the name of a history for error messages."""
        labels: list[object] = []
        while node.parent is not None:
            labels.extend(_steps_into(node))
            node = node.parent
        return name_history(labels[::-1])

    # -------------------------------------------------------------------------------- chance

    def draw(self, node: Node, number: float) -> int:
        """Draw an outcome of a chance node; see :func:`tensorcfr.kernels.alias.draw_by_alias`.

        Returns:
            Index of the outcome.
        """
        # The integer part selects a column; the fractional part chooses between the column's
        # outcome and its alias.
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

    def _join_root_draws(self, root: Node) -> Node:
        """Join consecutive chance nodes at the root into a single draw, and return the root.

        Compiled games join chance nodes everywhere.  Here chance nodes below the root are drawn
        separately, because joining them requires the children of all their outcomes.
        """
        if root.actor == TERMINAL:
            return root
        root.children = [None] * root.count
        if root.actor != CHANCE:
            return root
        # Each entry of `ends` has a probability, the outcomes from the root on, and a history.
        ends: list[tuple[float, tuple[Any, ...], Node]] = [(1.0, (), root)]
        passed = -1
        while passed + 1 != self._joins and all(end.actor == CHANCE for _, _, end in ends):
            if sum(end.count for _, _, end in ends) > MAX_JOINED:
                break
            next_ends = []
            for weight, labels, end in ends:
                _, probabilities = self._outcomes(self._node(end.state).outcomes, end)
                for index, probability in enumerate(probabilities):
                    child = self._make(self._next(end.state, end.edges[index]), end, index)
                    next_ends.append((weight * probability, (*labels, end.edges[index]), child))
            ends, passed = next_ends, passed + 1
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
    """Return the actions or outcomes between a history and its parent, the last one first."""
    parent = node.parent
    assert parent is not None
    edge = parent.edges[node.index]
    # An edge of the joint draw at the root is a tuple of outcomes.
    return edge[::-1] if parent.actor == CHANCE and parent.passed else (edge,)


def _last_own_sequence(node: Node, player: int) -> int:
    """Return a player's last sequence before a history, or ``NO_SEQUENCE``."""
    parent = node.parent
    while parent is not None:
        if parent.actor == player:
            return parent.first + node.index
        node, parent = parent, parent.parent
    return NO_SEQUENCE


def alias_table(probabilities: Sequence[float]) -> tuple[list[float], list[int]]:
    """Make the table of :func:`tensorcfr.kernels.alias.make_alias_tables` for one draw.

    Returns:
        Threshold and alias of each outcome.
    """
    count = len(probabilities)
    threshold, alias = np.empty(count), np.empty(count, np.uint32)
    make_alias_tables(np.array([0, count]), np.array(probabilities), threshold, alias)
    return threshold.tolist(), alias.tolist()
