"""Growing tree of histories: a history enters it when a traversal first reaches it.

The arrays have the layout of a compiled game, :class:`~tensorcfr.kernels.traversal.TraversalTree`,
so the same kernels traverse both.  A kernel returns when it reaches a missing history.
:meth:`GrowingTree.run` then makes the history from the rules and calls the kernel again, which
continues.
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
from .infoset_table import InfosetsFullError, make_room
from .lazy_histories import Histories, Node

RECORD = Struct("=6I")
"""Packed form of a :data:`~tensorcfr.kernels.traversal.HISTORY_NODE`."""
AT_CHANCE, AT_TERMINAL, WITHOUT_BLOCK = map(int, (CHANCE_NODE, TERMINAL_NODE, NO_BLOCK))
"""Special numbers of its fields, as Python integers."""
SLOT = Struct("=I")
"""Packed form of an element of the list of parents."""
BYTES_PER_SLOT = 40
"""Estimated bytes per history, entered or not, for its node and its parent's number."""
BYTES_PER_OUTCOME = 20
"""Estimated additional bytes per chance outcome."""
BYTES_PER_OPEN = 300
"""Estimated additional bytes per history with missing children."""
BYTES_PER_STATE = 1700
"""Estimated bytes per game state of the rules that a history stores."""
SHARE_OF_KEPT = 0.75
"""Share of the memory limit that is filled with permanent histories."""
BETWEEN_LOOKS = 64
"""Number of pauses of the kernel between two checks of memory and clock."""
MAX_PAYOFFS = 10_000
"""Maximum number of tuples of utilities that are deduplicated."""


class TreeSizes(NamedTuple):
    """Numbers of used elements of the arrays."""

    histories: int
    """Number of nodes, including the slots of missing children."""
    chance: int
    """Number of chance nodes."""
    outcomes: int
    """Number of chance outcomes."""
    rows: int
    """Number of rows of utilities."""


class GrowingTree:
    """Histories that traversals have reached, in flat arrays.

    Once the tree has filled three quarters of its memory limit, new histories are temporary.  When
    it is full, the next iteration starts without the temporary ones.  The permanent histories are
    therefore those reached first, and these are visited most often.

    Args:
        histories: Makes histories from the rules.
        groups: Groups of numbers of an infoset.
        tries: True if traversals draw the own actions to try.
        returns: True if one traversal may visit a history several times.  If not, and the rules can
            ``advance`` a state in place (those of OpenSpiel), a history stores its state only from
            its second visit on.
    """

    limit: float = np.inf
    """Memory limit in bytes; a single iteration may exceed it."""
    most: float = np.inf
    """Number of bytes beyond which an iteration is aborted."""

    def __init__(
        self, histories: Histories, *, groups: int, tries: bool = False, returns: bool = True
    ) -> None:
        self.histories, self.returns = histories, returns
        joined, first_outcome = np.zeros(16, np.uint32), np.zeros(17, np.uint32)
        outcome, threshold = np.zeros((64, 2), np.uint32), np.zeros(64)
        utility = np.zeros((16, histories.n_players))
        # In compiled trees this array is read-only, which numba makes part of its type: with the
        # same type, one compiled kernel serves both.
        utility.flags.writeable = False
        self._chances: tuple[np.ndarray, ...] = joined, first_outcome, outcome, threshold
        """Arrays over chance nodes and over chance outcomes."""
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
            drawn=0,
            probability=np.empty(0),
            joined=joined,
            first_outcome=first_outcome,
            outcome=outcome,
            threshold=threshold,
        )
        """Arrays of the tree; they grow in place."""
        self.frames: Frames = new_frames(
            16, 4, histories.n_players, log=1024, groups=groups, tries=tries
        )
        """Path of the current traversal."""
        self._histories, self._chance, self._outcomes, self._rows = TreeSizes(1, 0, 0, 0)
        self._deepest = len(self.frames.path) - 1
        """Smallest depth of a history for which the frames are too short."""
        self._parents = array("I", [0])
        """Slot of the parent of each history."""
        self._open: dict[int, Node] = {}
        """Histories with missing children, by slot."""
        self._states = 0
        """Number of histories in ``_open`` that store a game state."""
        self._payoffs: dict[tuple[float, ...], int] = {}
        self._permanent: TreeSizes | None = None
        """Sizes of the permanent part of the arrays; None while all histories are permanent."""
        self._late_slots: list[int] = []
        """Slots of the permanent part that were filled after it was closed.  Their histories are
        temporary."""
        self._view_nodes()
        root = histories.root
        self._write(0, root)
        if root.actor == CHANCE and root.passed:
            for slot, child in enumerate(root.children, root.slot):
                assert child is not None
                self._write(slot, child)
            del self._open[0]

    @property
    def bytes_held(self) -> int:
        """Estimated memory of the tree in bytes."""
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
        """Call a kernel until all of its iterations are done.

        Whenever the kernel pauses, enter the history that it needs, enlarge its log, or drop the
        temporary histories.

        Args:
            kernel: Compiled kernel; returns True when it is done.
            arguments: Returns the arguments of the kernel; called again after the frames change.
            look: Called every :data:`BETWEEN_LOOKS` pauses; raises an error to abort.

        Raises:
            GameError: The rules break their contract; names the history.
            ImperfectRecallError: The player who acts at a history forgets one of their own actions.
            InfosetsFullError: The memory limit leaves no room for an infoset or a history.
        """
        frames, kernel_arguments, entered = self.frames, arguments(), 0
        while not kernel(*kernel_arguments):
            pause = frames.cursor.item(PAUSED)
            if pause == FOR_HISTORY:
                self._enter(frames.cursor.item(AT))
            elif pause == FOR_LOG:
                make_room(frames.log, 2 * len(frames.log))
            else:
                self.forget()
            entered += 1
            if entered % BETWEEN_LOOKS == 0:
                look()
            if self.frames is not frames:  # The frames were enlarged for a longer or wider path.
                frames, kernel_arguments = self.frames, arguments()

    def _enter(self, slot: int) -> None:
        """Make a missing history from the rules, and fill its slot."""
        parent_slot = self._parents[slot]
        parent = self._open[parent_slot]
        # Permanent histories stay open after the permanent part is closed: their temporary
        # children must be made again after they are dropped.
        n_permanent = 0 if self._permanent is None else self._permanent.histories
        missing = parent.missing
        # The parent may give up its state if it has no other missing child, or if the traversal
        # does not come back to it: it can be recomputed on a later visit.
        first = not self.returns and missing == parent.count
        leaves = parent_slot >= n_permanent and (first or missing == 1)
        # `follow` may store or remove the parent's state.
        self._states -= parent.state is not None
        child = self.histories.follow(parent, slot - parent.slot, leaves=leaves)
        self._states += parent.state is not None
        bytes_held = self.bytes_held
        if bytes_held > SHARE_OF_KEPT * self.limit:
            if self._permanent is None:
                self._permanent = TreeSizes(
                    self._histories, self._chance, self._outcomes, self._rows
                )
                n_permanent = self._histories
            if bytes_held > self.limit:
                # Pause the kernel after this iteration, so that temporary histories are dropped.
                self.frames.cursor[STOPS] = 1
                if bytes_held > self.most:
                    raise InfosetsFullError
        if slot < n_permanent:
            self._late_slots.append(slot)
        if parent_slot >= n_permanent:
            parent.missing = missing - 1
            if missing == 1:
                del self._open[parent_slot]
                self._states -= parent.state is not None
                parent.state = None
        self._write(slot, child)

    def forget(self) -> None:
        """Drop the temporary histories if the tree is full."""
        self.frames.cursor[STOPS] = 0
        if self._permanent is None or self.bytes_held <= self.limit:
            return
        n_permanent = self._permanent.histories
        node = self.arrays.node
        node[self._late_slots] = 0
        node[n_permanent : self._histories] = 0
        late_slots = set(self._late_slots)
        self._open = {
            slot: open_node
            for slot, open_node in self._open.items()
            if slot < n_permanent and slot not in late_slots
        }
        self._states = sum(node.state is not None for node in self._open.values())
        del self._parents[n_permanent:]
        self._late_slots.clear()
        self._histories, self._chance, self._outcomes, self._rows = self._permanent

    def _write(self, slot: int, node: Node) -> None:
        """Write a history to its slot, and reserve consecutive slots for its children."""
        actor, offset = node.actor, RECORD.size * slot
        if actor == TERMINAL:
            payoff = self._payoff(node.utilities)
            RECORD.pack_into(self._nodes, offset, AT_TERMINAL, 0, 0, 0, payoff, 0)
            return
        count, first = node.count, self._histories
        end = self._histories = first + count
        if end > self._room:
            self._enlarge_nodes(end)
        if node.depth >= self._deepest or (count > self.frames.width and actor != CHANCE):
            self._make_frames(node)
        self._parents.frombytes(SLOT.pack(slot) * count)
        node.slot = first
        node.missing = count
        self._open[slot] = node
        self._states += node.state is not None
        if actor == CHANCE:
            chance = self._add_chance(node, first)
            RECORD.pack_into(self._nodes, offset, AT_CHANCE, first, count, 0, 0, chance)
        else:
            block = WITHOUT_BLOCK if count == 1 else self.histories.table.block(node.row)
            RECORD.pack_into(self._nodes, offset, actor, first, count, block, 0, 0)

    def _enlarge_nodes(self, histories: int) -> None:
        """Enlarge the array of nodes to at least ``histories`` elements."""
        if histories > INDEX_LIMIT:
            raise InfosetsFullError  # Indices have 32 bits.
        # Release the view: numpy cannot safely resize an array whose memory is in use.
        self._nodes = memoryview(b"")
        make_room(self.arrays.node, histories)
        self._view_nodes()

    def _view_nodes(self) -> None:
        """Make a view of the bytes of the nodes; their array must not be resized while it lives."""
        self._nodes = self.arrays.node.view(np.uint8).data
        self._room = len(self.arrays.node)

    def _payoff(self, utilities: tuple[float, ...]) -> int:
        """Return the row of a terminal's utilities in ``arrays.utility``."""
        row = self._payoffs.get(utilities)
        if row is None:
            row, array = self._rows, self.arrays.utility
            make_room(array, row + 1)
            array.flags.writeable = True
            array[row] = utilities
            array.flags.writeable = False
            self._rows = row + 1
            # Rows of temporary histories are dropped with them, so they are not shared.
            if self._permanent is None and row < MAX_PAYOFFS:
                self._payoffs[utilities] = row
        return row

    def _add_chance(self, node: Node, first: int) -> int:
        """Add the outcomes of a chance node, and return the number of the chance node."""
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
        """Replace the frames by larger ones that fit the path to a history and its actions."""
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
