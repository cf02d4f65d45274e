"""A tree of histories that grows: a history enters it when a traversal first comes to it.

The arrays are those of a compiled game, :class:`~tensorcfr.kernels.traversal.TraversalTree`, and so
the kernels are those of compiled games.  They return where they meet a history that is missing;
:meth:`GrowingTree.enter` asks the rules about it, and they go on.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from .._util.limits import INDEX_LIMIT
from ..kernels.traversal import (
    AT,
    CHANCE_NODE,
    FOR_HISTORY,
    FOR_LOG,
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
AT_CHANCE, AT_TERMINAL, WITHOUT_BLOCK = map(int, (CHANCE_NODE, TERMINAL_NODE, NO_BLOCK))
"""Values of its fields, as Python's numbers."""
SLOT = Struct("=I")
"""An element of the list of parents."""
BYTES_PER_SLOT = 40
"""Of a history, entered or not: its node and its place in the list of parents."""
BYTES_PER_OUTCOME = 20
"""Of an outcome of chance besides."""
BYTES_PER_OPEN = 300
"""Of a history some of whose children are missing."""
BYTES_PER_STATE = 1700
"""Of the state of its rules, where it has one."""
SHARE_OF_KEPT = 0.75
"""Share of its limit up to which a tree keeps histories for good."""
BETWEEN_LOOKS = 64
"""Histories that are entered between two looks at memory and clock."""
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
        tries: Whether traversals draw which own actions they try.
        returns: Whether a traversal may come to a history several times.  If not, and the rules can
            ``advance`` a state (those of OpenSpiel), a history has one from its second visit on.
    """

    limit: float = np.inf
    """Bytes that the tree should take; one iteration may take more."""
    most: float = np.inf
    """Bytes beyond which an iteration is given up."""

    def __init__(
        self, histories: Histories, *, groups: int, tries: bool = False, returns: bool = True
    ) -> None:
        self.histories, self.returns = histories, returns
        joined, first_outcome = np.zeros(16, np.uint32), np.zeros(17, np.uint32)
        outcome, threshold = np.zeros((64, 2), np.uint32), np.zeros(64)
        utility = np.zeros((16, histories.n_players))
        # For kernels; those of compiled trees are read-only, too, and one kernel serves both.
        utility.flags.writeable = False
        self._chances: tuple[np.ndarray, ...] = joined, first_outcome, outcome, threshold
        """The arrays over chance nodes, and those over their outcomes."""
        self.arrays = TraversalTree(
            node=np.zeros(64, HISTORY_NODE),
            utility=utility,
            depth=0,
            width=0,
            blocks=0,
            entries=0,
            visits_once=False,
            dealt=0,
            hands=0,
            probability=np.empty(0),
            joined=joined,
            first_outcome=first_outcome,
            outcome=outcome,
            threshold=threshold,
        )
        """The tree; its arrays grow in place."""
        self.frames: Frames = new_frames(
            16, 4, histories.n_players, log=1024, groups=groups, tries=tries
        )
        """The path of the traversal under way."""
        self._histories, self._chance, self._outcomes, self._rows = Sizes(1, 0, 0, 0)
        self._deepest = len(self.frames.path) - 1
        """The deepest history that the frames have room for, and one more."""
        self._parents = array("I", [0])
        """The parent of each history."""
        self._open: dict[int, Node] = {}
        """The histories some of whose children are missing."""
        self._states = 0
        """How many of them have a state."""
        self._payoffs: dict[tuple[float, ...], int] = {}
        self._kept: Sizes | None = None
        """The sizes from which on histories are forgotten again."""
        self._border: list[int] = []
        """The histories that were kept when they were missing, and have been entered since."""
        self._look()
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
            + BYTES_PER_STATE * self._states
        )

    def run(
        self,
        kernel: Callable[..., bool],
        arguments: Callable[[], tuple[Any, ...]],
        look: Callable[[], None],
    ) -> None:
        """Call a kernel until all of its iterations are done.  Whenever it waits, enter the history
        for which it does, make room for its log, or forget histories if there is no room.

        Args:
            kernel: The kernel, as machine code.
            arguments: What it takes; asked again whenever the frames are others.
            look: Called now and then, to give up by an error.

        Raises:
            GameError: The rules break their contract; names the history.
            ImperfectRecallError: The player who acts at a history forgets an own action.
            InfosetsFullError: There is no room for an infoset, or for more histories.
        """
        frames, given, entered = self.frames, arguments(), 0
        while not kernel(*given):
            waits = frames.cursor.item(PAUSED)
            if waits == FOR_HISTORY:
                self._enter(frames.cursor.item(AT))
            elif waits == FOR_LOG:
                make_room(frames.log, 2 * len(frames.log))
            else:
                self.forget()
            entered += 1
            if entered % BETWEEN_LOOKS == 0:
                look()
            if self.frames is not frames:  # The path has become longer, or wider.
                frames, given = self.frames, arguments()

    def _enter(self, slot: int) -> None:
        """Ask the rules about a missing history, and put it into its place."""
        parent_slot = self._parents[slot]
        parent = self._open[parent_slot]
        kept = 0 if self._kept is None else self._kept.histories
        missing = parent.missing
        first = not self.returns and missing == parent.count
        leaves = parent_slot >= kept and (first or missing == 1)
        self._states -= parent.state is not None
        child = self.histories.follow(parent, slot - parent.slot, leaves=leaves)
        self._states += parent.state is not None
        held = self.bytes_held
        if held > SHARE_OF_KEPT * self.limit:
            if self._kept is None:
                self._kept = Sizes(self._histories, self._chance, self._outcomes, self._rows)
                kept = self._histories
            if held > self.limit:
                self.frames.cursor[STOPS] = 1
                if held > self.most:
                    raise InfosetsFullError
        if slot < kept:
            self._border.append(slot)
        if parent_slot >= kept:
            parent.missing = missing - 1
            if missing == 1:
                del self._open[parent_slot]
                self._states -= parent.state is not None
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
        self._states = sum(node.state is not None for node in self._open.values())
        del self._parents[kept:]
        self._border.clear()
        self._histories, self._chance, self._outcomes, self._rows = self._kept

    def _put(self, slot: int, node: Node) -> None:
        """Write a history where it belongs, and make places for its children."""
        actor, at = node.actor, RECORD.size * slot
        if actor == TERMINAL:
            payoff = self._payoff(node.utilities)
            RECORD.pack_into(self._nodes, at, AT_TERMINAL, 0, 0, 0, payoff, 0)
            return
        count, first = node.count, self._histories
        after = self._histories = first + count
        if after > self._room:
            self._make_places(after)
        if node.depth >= self._deepest or (count > self.frames.width and actor != CHANCE):
            self._make_frames(node)
        self._parents.frombytes(SLOT.pack(slot) * count)
        node.slot = first
        node.missing = count
        self._open[slot] = node
        self._states += node.state is not None
        if actor == CHANCE:
            chance = self._draw(node, first)
            RECORD.pack_into(self._nodes, at, AT_CHANCE, first, count, 0, 0, chance)
        else:
            block = WITHOUT_BLOCK if count == 1 else self.histories.table.block(node.row)
            RECORD.pack_into(self._nodes, at, actor, first, count, block, 0, 0)

    def _make_places(self, histories: int) -> None:
        """Make the array of nodes at least so long."""
        if histories > INDEX_LIMIT:
            raise InfosetsFullError  # Indices have 32 bits.
        self._nodes = memoryview(b"")
        make_room(self.arrays.node, histories)
        self._look()

    def _look(self) -> None:
        """Look at the bytes of the nodes, which must not move from now on."""
        self._nodes = self.arrays.node.view(np.uint8).data
        self._room = len(self.arrays.node)

    def _payoff(self, utilities: tuple[float, ...]) -> int:
        """The row of a terminal's utilities."""
        row = self._payoffs.get(utilities)
        if row is None:
            row, array = self._rows, self.arrays.utility
            make_room(array, row + 1)
            array.flags.writeable = True
            array[row] = utilities
            array.flags.writeable = False
            self._rows = row + 1
            if self._kept is None and row < MOST_PAYOFFS:
                self._payoffs[utilities] = row
        return row

    def _draw(self, node: Node, first: int) -> int:
        """The number of a chance node, whose outcomes lead to the nodes from ``first`` on."""
        count, chance = node.count, self._chance
        begin, end = self._outcomes, self._outcomes + count
        sizes = (chance + 1, chance + 2, end, end)
        for numbers, size in zip(self._chances, sizes, strict=True):
            make_room(numbers, size)
        joined, first_outcome, outcome, threshold = self._chances
        joined[chance] = node.passed
        first_outcome[chance + 1] = end
        alias: Sequence[int] = range(count) if node.threshold is None else node.alias
        outcome[begin:end, 0] = range(first, first + count)
        outcome[begin:end, 1] = [first + index for index in alias]
        threshold[begin:end] = 1.0 if node.threshold is None else node.threshold
        self._chance, self._outcomes = chance + 1, end
        return chance

    def _make_frames(self, node: Node) -> None:
        """Make frames for the path to a history, and for its actions."""
        frames = self.frames
        depth, width = len(frames.path), frames.width
        more = new_frames(
            max(depth, 2 * node.depth),
            max(width, node.count),
            self.histories.n_players,
            tries=len(frames.tried) > 0,
        )
        more.path[:depth] = frames.path
        for name in ("q", "tried"):
            if len(numbers := getattr(frames, name)):
                rows = getattr(more, name).reshape(-1, more.width)
                rows[:depth, :width] = numbers.reshape(-1, width)
        more.reach[: len(frames.reach)] = frames.reach
        self.frames = more._replace(
            cursor=frames.cursor,
            scalar=frames.scalar,
            generator=frames.generator,
            log=frames.log,
            groups=frames.groups,
        )
        self._deepest = len(more.path) - 1
