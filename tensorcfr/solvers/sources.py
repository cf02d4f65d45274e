"""Where samplers find histories and infosets: a compiled game has all of them, rules show them as
plays come to them.

Both sources have the same methods.  Their infosets have blocks of numbers in a table, in groups of
one number per action, and their histories a tree, over which the same kernels traverse.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import numpy as np

from .._util.jit import entry_point
from .._util.memory import no_garbage_collection, taken
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..invariants.strategies import wrong_state
from ..kernels import evaluation
from ..kernels.sampling_public import AllHandsTree
from ..kernels.traversal import (
    CLOCK,
    DECISIONS,
    HEADER,
    HISTORIES,
    ITERATION,
    NOTED,
    PAUSED,
    Frames,
    TraversalState,
    TraversalTree,
    new_frames,
)
from ..model.flat_game import FlatGame
from ..model.policy import Policy
from ..uncompiled.game import UncompiledGame
from ..uncompiled.histories import Entered, Histories
from ..uncompiled.infosets import (
    STRATEGY,
    InfosetsFullError,
    InfosetTable,
    OutOfTimeError,
)
from ..uncompiled.policy import TablePolicy
from ..uncompiled.tree import GrowingTree
from .traversal import TableLayout

NOTHING = np.empty(0, bool)
"""In a state: an array that only states of the other source have."""
SHARE_OF_HISTORIES = 0.25
"""Share of the memory limit that is for the histories of a growing source."""
NOISE = 4 << 20
"""Growth of the process in bytes that is not held against a growing source: buffers that come and
go."""


class CompiledInfosets:
    """All infosets of a compiled game; a sequence is one of the game's."""

    grows: ClassVar[bool] = False
    """Whether infosets and histories are added as plays come to them."""
    clock: ClassVar[Mapping[str, Any]] = {}
    """Shape and dtype of the array that a state has for the sum of the averaging weights; a
    compiled game's state has the sum at the empty sequences."""
    described: ClassVar[Mapping[str, np.ndarray]] = {}
    """The arrays by which a state says what its infosets are."""

    def __init__(self, game: FlatGame) -> None:
        self.game = game
        self.n_sequences, self.n_infosets = game.n_sequences, game.n_infosets

    def normalised(self, sums: np.ndarray) -> np.ndarray:
        """float64 (sequences,): strategies in proportion to some sums; uniform where these are
        0."""
        return evaluation.normalise(self.game.form, sums)

    def policy(self, probabilities: np.ndarray) -> Policy:
        """Strategies by label."""
        return Policy(self.game, probabilities)

    def evaluate(self, probabilities: Callable[[], np.ndarray]) -> Evaluation:
        """Values and best-response values of strategies, which are asked for if these are known."""
        return evaluate_probabilities(self.game, probabilities())

    def wrong_state(self, state: Any) -> str | None:
        """What is wrong with a restored state, or nothing."""
        return wrong_state(self.game.form, state)


class TableInfosets:
    """The infosets in a table, in the order in which they were entered; as
    :class:`CompiledInfosets`."""

    grows: ClassVar[bool] = True
    clock: ClassVar[Mapping[str, Any]] = {"clock": ((1,), np.float64)}

    def __init__(self, game: UncompiledGame, table: InfosetTable) -> None:
        self.game, self.table = game, table

    @property
    def n_sequences(self) -> int:
        """Sequences so far."""
        return self.table.n_sequences

    @property
    def n_infosets(self) -> int:
        """Infosets so far."""
        return len(self.table)

    @property
    def described(self) -> Mapping[str, np.ndarray]:
        """The arrays by which a state says what its infosets are."""
        return self.table.described

    def normalised(self, sums: np.ndarray) -> np.ndarray:  # noqa: D102
        first = np.array(self.table.first, np.int64)
        counts = np.diff(first)
        if not len(counts):
            return sums
        totals = np.repeat(np.add.reduceat(sums, first[:-1]), counts)
        with np.errstate(invalid="ignore"):
            return np.where(totals > 0.0, sums / totals, 1.0 / np.repeat(counts, counts))

    def policy(self, probabilities: np.ndarray) -> Policy:
        """Strategies by label; typed as those of compiled games, which they are read like."""
        return cast(Policy, TablePolicy(self.game, self.table, probabilities))

    def evaluate(self, probabilities: Callable[[], np.ndarray]) -> Evaluation:
        """Nothing that is known: exact values take a compiled game."""
        unknown = (np.nan,) * self.game.n_players
        return Evaluation(unknown, unknown)

    def wrong_state(self, state: Any) -> str | None:  # noqa: D102
        sums = getattr(state, "cumulative", None)
        if sums is not None and (sums < 0.0).any():
            return "cumulative strategy is negative at an infoset"
        strategy, first = state.strategy, self.table.first[:-1]
        sums = np.add.reduceat(strategy, first) if len(self.table) else np.empty(0)
        if (strategy < 0.0).any() or (abs(sums - 1.0) > 1e-9).any():
            return "strategy is no distribution at an infoset"
        return None


def infosets_of(game: Any, arrays: Mapping[str, np.ndarray]) -> CompiledInfosets | TableInfosets:
    """The infosets that the arrays of a state are about, without numbers.

    Raises:
        ValueError: The arrays describe no infosets; names one.
    """
    if game.is_compiled:
        return CompiledInfosets(game)
    return TableInfosets(game, InfosetTable.of(arrays, game.n_players, groups=0))


class CompiledSource(CompiledInfosets):
    """The histories and infosets of a compiled game; ``table`` holds the numbers of the infosets.

    Args:
        layout: Where the numbers of the infosets lie.
        tree: The tree that is traversed.
        tries: Whether traversals draw which own actions they try.
    """

    infosets_held: ClassVar[None] = None
    bytes_held: ClassVar[None] = None
    """Nothing is counted: all was there from the start."""

    def __init__(
        self, layout: TableLayout, tree: TraversalTree | AllHandsTree, *, tries: bool = False
    ) -> None:
        super().__init__(layout.game)
        self.table, self.tree = layout, tree
        self.frames: Frames = new_frames(tree.depth, tree.width, self.game.n_players, tries=tries)
        self.done = 0
        """Iterations of the last schedule that are done."""
        layout.set_group(STRATEGY, np.array(Policy.uniform(self.game).probabilities))

    @property
    def arrays(self) -> Any:
        """The tree that kernels traverse."""
        return self.tree

    def described_with(self, cumulative: np.ndarray, clock: np.ndarray) -> dict[str, np.ndarray]:
        """What a state has in addition: nothing; ``cumulative`` gets the clock."""
        cumulative[self.game.form.player_sequences[:-1]] = clock[0]
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
        """Run the iterations of a schedule, or without any compile the kernel; :attr:`done` counts
        them.

        Args:
            kernel: The kernel.
            arguments: What it takes; asked for again when the frames are others.
            state: What it modifies in place, so that an iteration can be undone.
            generator: Likewise.
            limit: Bytes that numbers and histories may take.
            most: Bytes by which the process may grow while traversals run.
            deadline: When to give up an iteration, by :func:`time.perf_counter`.
        """
        self.frames.cursor[:] = 0
        kernel(*arguments())
        self.done = int(self.frames.cursor[ITERATION])


class GrowingSource(TableInfosets):
    """The histories and infosets that traversals of rules come to.

    Args:
        game: The game.
        table: The table that infosets enter.
        tries: Whether traversals draw which own actions they try.
        returns: Whether a traversal may come to a history several times.
        entered: Called with each new infoset; see :class:`~tensorcfr.uncompiled.histories
            .Histories`.
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
        """The histories; None after an error, until they are made anew."""
        self.done = self._grown = 0
        self._code: Callable[..., bool] | None = None

    @property
    def arrays(self) -> TraversalTree:
        """As :class:`CompiledSource`, like the methods below."""
        assert self.tree is not None
        return self.tree.arrays

    @property
    def frames(self) -> Frames:  # noqa: D102
        assert self.tree is not None
        return self.tree.frames

    def described_with(self, cumulative: np.ndarray, clock: np.ndarray) -> dict[str, np.ndarray]:
        """What a state has in addition: the clock, and what its infosets are."""
        return {"clock": clock.copy(), **self.described}

    @property
    def infosets_held(self) -> int:
        """Infosets in the table."""
        return len(self.table)

    @property
    def bytes_held(self) -> int:
        """Bytes of the table and the tree; or those by which the process grew while traversals ran,
        which are more where rules keep much."""
        return max(self.bytes_counted, self._grown - NOISE)

    @property
    def bytes_counted(self) -> int:
        """Bytes of the table and the tree."""
        return self.table.bytes_held + (0 if self.tree is None else self.tree.bytes_held)

    def make_tree(self, limit: float) -> GrowingTree:
        """The tree, with room for histories within a limit in bytes."""
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
        """Run the iterations of a schedule; an error undoes the one under way, except for the
        infosets that entered the table.

        Raises:
            GameError: The rules break their contract; names the history.
            ImperfectRecallError: A player forgets an own action.
            InfosetsFullError: There is no room for another infoset, or for more histories.
            OutOfTimeError: The time is over.
        """
        tree = self.make_tree(limit)
        if self._code is None:
            self._code = entry_point(kernel, *arguments())
        self.done, before = 0, taken()

        def look() -> None:
            # The state that is handed over in the end takes memory, too.
            if self._grown + taken() - before - NOISE + self.table.bytes_in_state > most:
                raise InfosetsFullError
            if time.perf_counter() > deadline:
                raise OutOfTimeError

        with no_garbage_collection():
            try:
                cursor = tree.frames.cursor
                cursor[:] = 0
                try:
                    tree.run(self._code, arguments, look)
                except BaseException:
                    _undo(tree.frames, state, generator)
                    self.tree = None  # An entry may be half made.
                    raise
                finally:
                    self.done = int(cursor[ITERATION])
            finally:
                self._grown += taken() - before


def _undo(frames: Frames, state: TraversalState, generator: np.ndarray) -> None:
    """Take back the iteration under way."""
    if not frames.cursor[PAUSED]:
        return
    places, at = [], 0
    while at < frames.cursor[NOTED]:
        places.append(at)
        at += HEADER + int(frames.log[at + 1])
    for at in reversed(places):
        block, size = frames.log[at : at + HEADER].astype(np.int64)
        numbers = frames.log[at + HEADER : at + HEADER + size]
        state.table[block - HEADER : block - HEADER + size] = numbers
    state.clock[0] = frames.scalar[CLOCK]
    state.touched[:] = frames.cursor[[HISTORIES, DECISIONS]]
    generator[:] = frames.generator
