"""A tree of histories that grows: a history enters it when a traversal first comes to it.

The arrays are those of a compiled game, :class:`~tensorcfr.kernels.traversal.TraversalTree`, and so
the kernels are those of compiled games.  They return where they meet a history that is missing;
:meth:`GrowingTree.enter` asks the rules about it, and they go on.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import repeat
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from .._util.limits import INDEX_LIMIT
from ..kernels.traversal import (
    AT,
    CHANCE_NODE,
    FOR_HISTORY,
    HISTORY_NODE,
    NO_BLOCK,
    PAUSED,
    STOPS,
    TERMINAL_NODE,
    Frames,
    TraversalTree,
    new_frames,
)
from ..model.arrays import CHANCE, TERMINAL
from .histories import Histories, Node
from .infosets import InfosetsFullError, make_room

RECORD = Struct("=6I")
"""The fields of :data:`~tensorcfr.kernels.traversal.HISTORY_NODE`."""
BYTES_PER_SLOT = 40
"""Of a history, entered or not: its node and its place in the list of parents."""
BYTES_PER_OUTCOME = 20
"""Of an outcome of chance besides."""
BYTES_PER_OPEN = 2000
"""Of a history some of whose children are missing: the state of its rules above all."""
SHARE_OF_KEPT = 0.75
"""Share of its limit up to which a tree keeps histories for good."""
MOST_PAYOFFS = 10_000
"""Tuples of utilities that are looked up, so that equal ones are one row."""


class Sizes(NamedTuple):
    """How much of the arrays is in use."""

    histories: int
    """Nodes."""
    chance: int
    """Chance nodes among them."""
    outcomes: int
    """Outcomes of these."""
    rows: int
    """Rows of utilities."""


class GrowingTree:
    """The histories that traversals came to, in flat arrays.

    Beyond three quarters of its limit a tree keeps a history only until it is full: then the next
    iteration begins with those that came before.  So it holds the histories that are met first,
    which are those that are met often.

    Args:
        histories: Makes histories from the rules.
        groups: Groups of numbers of an infoset.
    """

    limit: float = np.inf
    """Bytes that the tree should take; one iteration may take more."""
    most: float = np.inf
    """Bytes beyond which an iteration is given up."""

    def __init__(self, histories: Histories, *, groups: int) -> None:
        self.histories = histories
        self.arrays = TraversalTree(
            node=np.zeros(64, HISTORY_NODE),
            utility=np.zeros((16, histories.n_players)),
            depth=0,
            width=0,
            blocks=0,
            entries=0,
            visits_once=False,
            dealt=0,
            hands=0,
            probability=np.empty(0),
            joined=np.zeros(16, np.uint32),
            first_outcome=np.zeros(17, np.uint32),
            outcome=np.zeros((64, 2), np.uint32),
            threshold=np.zeros(64),
        )
        """The tree; its arrays grow in place."""
        self.frames: Frames = new_frames(16, 4, histories.n_players, log=1024, groups=groups)
        """The path of the traversal under way."""
        self._histories, self._chance, self._outcomes, self._rows = Sizes(1, 0, 0, 0)
        self._parents = array("I", [0])
        """The parent of each history."""
        self._open: dict[int, Node] = {}
        """The histories some of whose children are missing."""
        self._payoffs: dict[tuple[float, ...], int] = {}
        self._kept: Sizes | None = None
        """The sizes from which on histories are forgotten again."""
        self._border: list[int] = []
        """The histories that were kept when they were missing, and have been entered since."""
        self._records = self._look()
        root = histories.root
        self._put(0, root)
        if root.actor == CHANCE and root.passed:
            for slot, child in enumerate(root.children, root.slot):
                assert child is not None
                self._put(slot, child)
            del self._open[0]

    @property
    def bytes_held(self) -> int:
        """Bytes that the tree takes, about."""
        return (
            BYTES_PER_SLOT * self._histories
            + BYTES_PER_OUTCOME * self._outcomes
            + 8 * self.histories.n_players * self._rows
            + BYTES_PER_OPEN * len(self._open)
        )

    def run(
        self,
        kernel: Callable[..., bool],
        arguments: Callable[[], tuple[Any, ...]],
    ) -> None:
        """Call a kernel until all of its iterations are done, and enter what it waits for.

        Args:
            kernel: The kernel, as machine code.
            arguments: What it takes; asked again whenever the frames are others.

        Raises:
            GameError: As :meth:`go_on`, like the others.
            ImperfectRecallError: Likewise.
            InfosetsFullError: Likewise.
        """
        frames, given = self.frames, arguments()
        while not kernel(*given):
            if self.frames.cursor[PAUSED]:
                self.go_on()
            else:
                self.forget()
            if self.frames is not frames:  # The path has become longer, or wider.
                frames, given = self.frames, arguments()

    def go_on(self) -> None:
        """Make it possible that a traversal goes on, which waits: enter its history, or make room.

        Raises:
            GameError: The rules break their contract; names the history.
            ImperfectRecallError: The player who acts there forgets an own action.
            InfosetsFullError: There is no room for the infoset, or for more histories.
        """
        frames = self.frames
        if frames.cursor[PAUSED] == FOR_HISTORY:
            self._enter(int(frames.cursor[AT]))
        else:
            make_room(frames.log, 2 * len(frames.log))

    def _enter(self, slot: int) -> None:
        parent_slot = self._parents[slot]
        parent = self._open[parent_slot]
        child = self.histories.step(parent, slot - parent.slot)
        held = self.bytes_held
        if self._kept is None and held > SHARE_OF_KEPT * self.limit:
            self._kept = Sizes(self._histories, self._chance, self._outcomes, self._rows)
        if held > self.limit:
            self.frames.cursor[STOPS] = 1
            if held > self.most:
                raise InfosetsFullError
        kept = 0 if self._kept is None else self._kept.histories
        if slot < kept:
            self._border.append(slot)
        if parent_slot >= kept:
            parent.missing -= 1
            if not parent.missing:
                del self._open[parent_slot]
                parent.state = None
        self._put(slot, child)

    def forget(self) -> None:
        """Drop the histories that are not kept for good, if the tree is full."""
        self.frames.cursor[STOPS] = 0
        if self._kept is None or self.bytes_held <= self.limit:
            return
        kept = self._kept.histories
        node = self.arrays.node
        node[self._border] = 0
        node[kept : self._histories] = 0
        border = set(self._border)
        self._open = {
            slot: open_node
            for slot, open_node in self._open.items()
            if slot < kept and slot not in border
        }
        del self._parents[kept:]
        self._border.clear()
        self._histories, self._chance, self._outcomes, self._rows = self._kept

    def _put(self, slot: int, node: Node) -> None:
        """Write a history where it belongs, and make places for its children."""
        actor = node.actor
        if actor == TERMINAL:
            self._record(slot, int(TERMINAL_NODE), 0, 0, 0, self._payoff(node.utilities), 0)
            return
        count, first = node.count, self._histories
        if first + count > INDEX_LIMIT or len(self.histories.table.numbers) > INDEX_LIMIT:
            raise InfosetsFullError  # Indices have 32 bits.
        self._make_frames(node)
        if first + count > len(self.arrays.node):
            del self._records
            make_room(self.arrays.node, first + count)
            self._records = self._look()
        self._parents.extend(repeat(slot, count))
        self._histories = first + count
        node.slot, node.missing = first, count
        self._open[slot] = node
        if actor == CHANCE:
            chance = self._draw(node, first)
            self._record(slot, int(CHANCE_NODE), first, count, 0, 0, chance)
        else:
            block = int(NO_BLOCK) if count == 1 else self.histories.table.block(node.row)
            self._record(slot, actor, first, count, block, 0, 0)

    def _look(self) -> memoryview:
        """The bytes of the nodes; to be given up before they move."""
        return self.arrays.node.view(np.uint8).data

    def _record(self, slot: int, *fields: int) -> None:
        RECORD.pack_into(self._records, RECORD.size * slot, *fields)

    def _payoff(self, utilities: tuple[float, ...]) -> int:
        """The row of a terminal's utilities."""
        row = self._payoffs.get(utilities)
        if row is None:
            row = self._rows
            make_room(self.arrays.utility, row + 1)
            self.arrays.utility[row] = utilities
            self._rows = row + 1
            if self._kept is None and row < MOST_PAYOFFS:
                self._payoffs[utilities] = row
        return row

    def _draw(self, node: Node, first: int) -> int:
        """The number of a chance node, whose outcomes lead to the nodes from ``first`` on."""
        tree, count, chance = self.arrays, node.count, self._chance
        begin, end = self._outcomes, self._outcomes + count
        assert tree.joined is not None
        assert tree.first_outcome is not None
        assert tree.outcome is not None
        assert tree.threshold is not None
        for numbers, size in (
            (tree.joined, chance + 1),
            (tree.first_outcome, chance + 2),
            (tree.outcome, end),
            (tree.threshold, end),
        ):
            make_room(numbers, size)
        tree.joined[chance] = node.passed
        tree.first_outcome[chance + 1] = end
        alias: Sequence[int] = range(count) if node.threshold is None else node.alias
        tree.outcome[begin:end, 0] = range(first, first + count)
        tree.outcome[begin:end, 1] = [first + index for index in alias]
        tree.threshold[begin:end] = 1.0 if node.threshold is None else node.threshold
        self._chance, self._outcomes = chance + 1, end
        return chance

    def _make_frames(self, node: Node) -> None:
        """Make frames for the path to a history, and for its actions."""
        frames = self.frames
        depth, width = len(frames.place), frames.width
        if node.depth + 1 < depth and (node.actor == CHANCE or node.count <= width):
            return
        more = new_frames(
            max(depth, 2 * node.depth), max(width, node.count), self.histories.n_players
        )
        more.place[:depth], more.first[:depth], more.second[:depth] = frames[2:5]
        more.q.reshape(-1, more.width)[:depth, :width] = frames.q.reshape(-1, width)
        more.reach[: len(frames.reach)] = frames.reach
        self.frames = more._replace(
            cursor=frames.cursor,
            scalar=frames.scalar,
            generator=frames.generator,
            log=frames.log,
            groups=frames.groups,
        )
