"""Sources of histories and infosets for samplers: a compiled game, or the rules of a game.

A compiled game has all of them; rules provide them as plays reach them.  Both sources have the same
methods.  Their infosets have blocks of numbers in a table, in groups of one number per action.
Their histories form a tree, over which the same kernels traverse.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import numpy as np

from .._util.jit import entry_point
from .._util.memory_budget import no_garbage_collection, taken
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..kernels.pass_arrays import plain_numbers
from ..kernels.sampling_public import AllHandsTree
from ..kernels.traversal import (
    CLOCK,
    DECISIONS,
    HEADER,
    HISTORIES,
    ITERATION,
    NOTED,
    PAUSED,
    CardTree,
    Frames,
    TraversalState,
    TraversalTree,
    new_frames,
)
from ..model.chunked_form import count_lanes
from ..model.compiled_game import CompiledGame
from ..model.layout import Layout
from ..model.policy import Policy
from ..uncompiled.growing_tree import GrowingTree
from ..uncompiled.infoset_table import (
    InfosetsFullError,
    InfosetTable,
    OutOfTimeError,
)
from ..uncompiled.lazy_histories import Entered, Histories
from ..uncompiled.table_policy import TablePolicy
from ..uncompiled.uncompiled_game import UncompiledGame
from .solver_state import strategies_from_weights
from .state_file import wrong_state
from .traversal import TableLayout

NO_ARRAY = np.empty(0, bool)
"""Marker in a state of an array that only states of the other source have."""
SHARE_OF_HISTORIES = 0.25
"""Share of the memory limit for the histories of a growing source."""
NOISE = 4 << 20
"""Process growth to ignore, in bytes (transient buffers)."""


class CompiledInfosets:
    """All infosets of a compiled game; their sequences are the numbers of its policies."""

    grows: ClassVar[bool] = False
    """True if infosets and histories are added when plays reach them."""
    has_all: ClassVar[bool] = True
    """True if the table has numbers of all infosets of the game."""
    clock: ClassVar[Mapping[str, Any]] = {}
    """Shape and dtype of the array for the sum of the averaging weights in a state; a compiled
    game's state has the sum at the empty sequences."""
    described: ClassVar[Mapping[str, np.ndarray]] = {}
    """Arrays by which a state describes its infosets."""

    def __init__(self, game: CompiledGame) -> None:
        self.game: Any = game
        self.n_sequences, self.n_infosets = game.n_numbers, count_lanes(game.chunks)

    def normalised(self, sums: np.ndarray) -> np.ndarray:
        """Normalise sums to strategies, float64 (sequences,); uniform where the sums are 0."""
        return strategies_from_weights(self.game.chunks, plain_numbers(sums), 0.0, None)

    def policy(self, probabilities: np.ndarray) -> Policy:
        """Create the policy of some probabilities."""
        return Policy(self.game, probabilities)

    def evaluate(self, probabilities: Callable[[], np.ndarray]) -> Evaluation:
        """Compute values and best-response values of strategies.

        ``probabilities`` is called only if the source can evaluate strategies.
        """
        return evaluate_probabilities(self.game, probabilities())

    def wrong_state(self, state: Any) -> str | None:
        """Return a description of the first error in a restored state, or None."""
        return wrong_state(self.game.chunks, state)


class TableInfosets:
    """Infosets in a table, in the order of their entry; see :class:`CompiledInfosets`."""

    grows: ClassVar[bool] = True
    has_all: ClassVar[bool] = False
    clock: ClassVar[Mapping[str, Any]] = {"clock": ((1,), np.float64)}

    def __init__(self, game: UncompiledGame, table: InfosetTable) -> None:
        self.game, self.table = game, table

    @property
    def n_sequences(self) -> int:
        """Number of sequences so far."""
        return self.table.n_sequences

    @property
    def n_infosets(self) -> int:
        """Number of infosets so far."""
        return len(self.table)

    @property
    def described(self) -> Mapping[str, np.ndarray]:
        """Arrays by which a state describes its infosets."""
        return self.table.described

    def normalised(self, sums: np.ndarray) -> np.ndarray:  # noqa: D102
        first = np.array(self.table.first, np.int64)
        counts = np.diff(first)
        # reduceat needs at least one segment.
        if not len(counts):
            return sums
        totals = np.repeat(np.add.reduceat(sums, first[:-1]), counts)
        with np.errstate(invalid="ignore"):
            return np.where(totals > 0.0, sums / totals, 1.0 / np.repeat(counts, counts))

    def policy(self, probabilities: np.ndarray) -> Policy:
        """Create the policy of some probabilities, which has the interface of a compiled game's
        policy."""
        return cast(Policy, TablePolicy(self.game, self.table, probabilities))

    def evaluate(self, probabilities: Callable[[], np.ndarray]) -> Evaluation:
        """Return NaN for all values, because exact values need a compiled game."""
        unknown = (np.nan,) * self.game.n_players
        return Evaluation(unknown, unknown)

    def wrong_state(self, state: Any) -> str | None:  # noqa: D102
        sums = getattr(state, "cumulative", None)
        if sums is not None and (sums < 0.0).any():
            return "cumulative strategy is negative at an infoset"
        strategy, first = state.strategy, self.table.first[:-1]
        sums = np.add.reduceat(strategy, first) if len(self.table) else np.empty(0)
        if (strategy < 0.0).any() or (abs(sums - 1.0) > 1e-9).any():
            return "strategy is not a distribution at an infoset"
        return None


def infosets_of(game: Any, arrays: Mapping[str, np.ndarray]) -> CompiledInfosets | TableInfosets:
    """Return the infosets that the arrays of a state are over, without their numbers.

    Raises:
        ValueError: The arrays do not describe infosets; names an array.
    """
    if game.layout != Layout.RULES:
        return CompiledInfosets(game)
    return TableInfosets(game, InfosetTable.of(arrays, game.n_players, groups=0))


class CompiledSource(CompiledInfosets):
    """Histories and infosets of a compiled game; ``table`` holds the numbers of the infosets.

    Args:
        layout: Layout of the numbers of the infosets.
        tree: The tree that is traversed.
        tries: True if traversals draw which own actions they try.
    """

    infosets_held: ClassVar[None] = None
    bytes_held: ClassVar[None] = None
    """Not counted, because all infosets exist from the start."""

    def __init__(
        self,
        layout: TableLayout,
        tree: TraversalTree | CardTree | AllHandsTree,
        *,
        tries: bool = False,
    ) -> None:
        super().__init__(layout.game)
        self.table, self.tree, players = layout, tree, layout.game.n_players
        size = tree.depth, tree.width, players
        self.frames: Frames = new_frames(*size, drawn=tree.drawn, tries=tries)
        self.done = 0
        """Number of iterations done of the last schedule."""
        layout.play_uniformly()

    @property
    def arrays(self) -> Any:
        """The tree that kernels traverse."""
        return self.tree

    def described_with(self, cumulative: np.ndarray, clock: np.ndarray) -> dict[str, np.ndarray]:
        """Write the sum of the averaging weights to ``cumulative``; return no further arrays."""
        cumulative[self.game.chunks.trunk.player_sequences[:-1]] = clock[0]
        return {}

    def run(
        self,
        kernel: Callable[..., bool],
        arguments: Callable[[], Any],
        state: TraversalState,
        generator: Any,
        limit: float,
        most: float,
        deadline: float,
    ) -> None:
        """Run the iterations of a schedule, and count them in :attr:`done`.

        Without iterations, only compile the kernel.

        Args:
            kernel: The kernel.
            arguments: Function that returns the kernel's arguments; called again when the frames
                are replaced.
            state: Numbers that the kernel modifies in place, so that an iteration can be undone.
            generator: Random numbers, which are restored with an undone iteration.
            limit: Bytes that numbers and histories may take.
            most: Bytes by which the process may grow while traversals run.
            deadline: Time of :func:`time.perf_counter` at which to abandon an iteration.
        """
        self.frames.cursor[:] = 0
        kernel(*arguments())
        self.done = int(self.frames.cursor[ITERATION])


class GrowingSource(TableInfosets):
    """Histories and infosets that traversals of rules have reached.

    Args:
        game: The game.
        table: The table that infosets enter.
        tries: True if traversals draw which own actions they try.
        returns: True if a traversal may reach a history several times.
        entered: Called with each new infoset; see
            :class:`~tensorcfr.uncompiled.lazy_histories.Histories`.
    """

    def __init__(
        self,
        game: UncompiledGame,
        table: InfosetTable,
        *,
        tries: bool = False,
        returns: bool = True,
        entered: Entered | None = None,
    ) -> None:
        super().__init__(game, table)
        self._entered, self._options = entered, {"tries": tries, "returns": returns}
        self.tree: GrowingTree | None = None
        """The histories; None after an error, until they are rebuilt."""
        self.done = self._grown = 0
        self._code: Callable[..., bool] | None = None

    @property
    def arrays(self) -> TraversalTree:
        """The tree that kernels traverse."""
        assert self.tree is not None
        return self.tree.arrays

    @property
    def frames(self) -> Frames:  # noqa: D102
        assert self.tree is not None
        return self.tree.frames

    def described_with(self, cumulative: np.ndarray, clock: np.ndarray) -> dict[str, np.ndarray]:
        """Return the further arrays of a state: the sum of the averaging weights and the
        infosets."""
        return {"clock": clock.copy(), **self.described}

    @property
    def infosets_held(self) -> int:
        """Number of infosets in the table."""
        return len(self.table)

    @property
    def bytes_held(self) -> int:
        """Bytes of table and tree, or the growth of the process during traversals if it is larger.

        It is larger if the rules keep much memory.
        """
        return max(self.bytes_counted, self._grown - NOISE)

    @property
    def bytes_counted(self) -> int:
        """Bytes of the table and the tree."""
        return self.table.bytes_held + (0 if self.tree is None else self.tree.bytes_held)

    def make_tree(self, limit: float) -> GrowingTree:
        """Return the tree, with space for histories up to a limit in bytes; create it if
        necessary."""
        share = SHARE_OF_HISTORIES * limit
        self.table.limit = limit - share
        if self.tree is None:
            histories = Histories(self.game, self.table, entered=self._entered)
            self.tree = GrowingTree(histories, groups=self.table.groups, **self._options)
        self.tree.limit, self.tree.most = share, limit
        self.tree.forget()
        return self.tree

    def run(
        self,
        kernel: Callable[..., bool],
        arguments: Callable[[], Any],
        state: TraversalState,
        generator: np.ndarray,
        limit: float,
        most: float,
        deadline: float,
    ) -> None:
        """Run the iterations of a schedule.

        An error undoes the current iteration, except for the infosets that entered the table.

        Raises:
            GameError: The rules break their contract; names the history.
            ImperfectRecallError: A player forgets an own action.
            InfosetsFullError: There is no space for another infoset, or for more histories.
            OutOfTimeError: The deadline has passed.
        """
        tree = self.make_tree(limit)
        if self._code is None:
            self._code = entry_point(kernel, *arguments())
        self.done, before = 0, taken()

        def check_limits() -> None:
            # The caller then copies the state, whose memory must fit as well.
            if self._grown + taken() - before - NOISE + self.table.bytes_in_state > most:
                raise InfosetsFullError
            if time.perf_counter() > deadline:
                raise OutOfTimeError

        with no_garbage_collection():
            try:
                cursor = tree.frames.cursor
                cursor[:] = 0
                try:
                    tree.run(self._code, arguments, check_limits)
                except BaseException:
                    _undo(tree.frames, state, generator)
                    self.tree = None  # The error may have interrupted an entry.
                    raise
                finally:
                    self.done = int(cursor[ITERATION])
            finally:
                self._grown += taken() - before


def _undo(frames: Frames, state: TraversalState, generator: np.ndarray) -> None:
    """Restore the table, the counts and the generator to the start of the current iteration."""
    if not frames.cursor[PAUSED]:
        return
    # The log is a sequence of blocks, each with its header; it can only be parsed forwards.  A
    # block may occur more than once: its first copy, restored last, is the number from before the
    # iteration.
    offsets, offset = [], 0
    while offset < frames.cursor[NOTED]:
        offsets.append(offset)
        offset += HEADER + int(frames.log[offset + 1])
    for offset in reversed(offsets):
        block, size = frames.log[offset : offset + HEADER].astype(np.int64)
        numbers = frames.log[offset + HEADER : offset + HEADER + size]
        state.table[block - HEADER : block - HEADER + size] = numbers
    state.clock[0] = frames.scalar[CLOCK]
    state.touched[:] = frames.cursor[[HISTORIES, DECISIONS]]
    generator[:] = frames.generator
