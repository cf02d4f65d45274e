"""A solver of a game in chunks: only regrets and averages are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import index
from queue import SimpleQueue

import numpy as np

from .._util.memory import free_memory
from ..algorithms import Algorithm, find_algorithm
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation
from ..kernels import chunks as kernels
from ..kernels.chunks import ChunkScratch, Kept, TrunkScratch, Turn
from ..kernels.local_rule import LocalRule
from ..model.chunks import ALIGNMENT, ChunkedForm
from ..model.cut_game import CutGame
from ..model.policy import Policy

PRECISIONS = ("float64", "float32")
"""Floats that the arrays may be kept in."""
PARTS_PER_THREAD = 4
"""Parts that the chunks are shared out to: several, so that a thread that is held up hands work
over; each costs a call of a kernel, some 50 microseconds."""


class ChunkedSolver:
    """A solver of a game in chunks, with the methods of :class:`tensorcfr.Solver`.

    >>> from tensorcfr import compile_game
    >>> solver = ChunkedSolver(compile_game("kuhn", cut=1), "cfr")
    >>> solver.step(10)
    >>> round(solver.evaluate().exploitability, 6)
    0.068699

    Args:
        game: A game that was compiled with ``cut``.
        algorithm: A name or a record; see :mod:`tensorcfr.algorithms`.
        precision: In which floats the arrays are kept, ``"float64"`` or ``"float32"``.
        threads: Threads that work on chunks; the result has the same bits for any number.
        state: Arrays to go on from, after ``iteration`` iterations; copied.
        iteration: Iterations that ``state`` has behind it.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm or precision, or the algorithm cannot sweep a game
            in chunks.
        MemoryLimitError: The arrays would not fit; said before they are allocated.
    """

    def __init__(
        self,
        game: CutGame,
        algorithm: str | Algorithm = "cfr+",
        *,
        precision: str = "float64",
        threads: int = 1,
        state: Kept | None = None,
        iteration: int = 0,
        memory_limit: int | None = None,
    ) -> None:
        if not isinstance(game, CutGame):
            raise TypeError(f"{game!r} is not cut: compile_game(..., cut=True) cuts a game")
        record = find_algorithm(algorithm)
        if not isinstance(record, Algorithm):
            raise ValueError(f"{record.name} does not sweep a game, in chunks or whole")
        if record.rule.exponential and game.merges_hands:
            raise ValueError(
                f"{record.name} minds the size of regrets: compile {game.name} with symmetry=False"
            )
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {PRECISIONS}, not {precision!r}")
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads must be a number from 1, not {threads!r}")
        limit = free_memory() if memory_limit is None else memory_limit
        if (needed := bytes_needed(game.chunks, record, precision, threads)) > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, limit)
        self.game = game
        self.algorithm = record
        self.iteration = iteration
        self.seconds = 0.0
        """Time spent in :meth:`step`, compiling excluded."""
        dtype = np.dtype(precision)
        self.state = _first_state(game.chunks, record.rule, dtype)
        """The arrays that are kept between iterations."""
        if state is not None:
            _copy_state(game, state, self.state)
        forecast, averaged = record.rule.forecast, record.against == "average"
        self._trunk = _trunk_scratch(game.chunks, dtype, forecast=forecast, averaged=averaged)
        self._scratch: SimpleQueue[ChunkScratch] = SimpleQueue()
        for _ in range(threads):
            self._scratch.put(_chunk_scratch(game.chunks, dtype, forecast=forecast))
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tensorcfr")
        self._parts = min(
            1 if threads == 1 else threads * PARTS_PER_THREAD, max(game.chunks.n_chunks, 1)
        )
        self._warm_up()

    def step(self, iterations: int = 1) -> None:
        """Run some iterations; each updates every player once.

        Raises:
            TypeError: ``iterations`` is no whole number.
            ValueError: It is negative.
        """
        if index(iterations) < 0:
            raise ValueError(f"iterations must not be negative, not {iterations!r}")
        started = time.perf_counter()
        for restarts, count in self.algorithm.runs(self.iteration + 1, index(iterations)):
            if restarts:
                self.state.cumulative[:] = 0.0
            for row, turn in self._turns(count):
                self._pass(row, turn)
            self.iteration += count
        self.seconds += time.perf_counter() - started

    def _turns(self, count: int) -> Iterator[tuple[np.ndarray, Turn]]:
        """The passes of the next iterations, each with its row of the schedule.

        Where the players are updated one after the other, the strategy that player 0 plays in an
        iteration is made in the pass of player 1 before it, and enters the average there; in the
        first of these iterations, in a way down of its own.
        """
        first, record = self.iteration + 1, self.algorithm
        schedule, floors = record.schedule(first, count), record.floors(first, count)
        following = record.weights(np.array([first + count], dtype=np.float64))[0]
        weights = np.append(schedule[:, 0], following)
        played = self._played_floor
        for t, row in enumerate(schedule):
            now, later, floor = weights[t], weights[t + 1], floors[t]
            before, after = (played, floor) if record.rule.matches_regret else (0.0, 0.0)
            begins, ends = t == 0, t == count - 1
            if record.alternating:
                yield (
                    row,
                    self._turn(
                        descends=(begins, True),
                        share=(now if begins else 0.0, now),
                        played_floor=(before, before),
                        updates=(True, False),
                        floor=floor,
                    ),
                )
                yield (
                    row,
                    self._turn(
                        descends=(True, False),
                        share=(0.0 if ends else later, 0.0),
                        played_floor=(after, before),
                        updates=(False, True),
                        floor=floor,
                        pending=later if ends else 0.0,
                    ),
                )
            else:
                yield (
                    row,
                    self._turn(
                        descends=(True, True),
                        share=(now, now),
                        played_floor=(before, before),
                        updates=(True, True),
                        floor=floor,
                    ),
                )
            played = floor

    def _turn(
        self,
        *,
        descends: tuple[bool, bool],
        share: tuple[float, float],
        played_floor: tuple[float, float],
        updates: tuple[bool, bool],
        floor: float,
        pending: float = 0.0,
    ) -> Turn:
        """A pass through the game; ``pending`` is that of player 0."""
        return Turn(
            descends=np.array(descends),
            share=np.array(share),
            played_floor=np.array(played_floor),
            updates=np.array(updates),
            floor=float(floor),
            against_average=self.algorithm.against == "average",
            pending=np.array([pending, 0.0]),
        )

    @property
    def _played_floor(self) -> float:
        """Share of the strategies that the next iteration plays that is uniform."""
        return float(self.algorithm.floors(self.iteration, 1)[0]) if self.iteration else 0.0

    def _pass(self, row: np.ndarray, turn: Turn) -> None:
        """One pass: down the trunk, through all chunks, up the trunk."""
        game, rule, state, trunk = self.game.chunks, self.algorithm.rule, self.state, self._trunk
        self._stages(
            lambda stage, part, parts, scratch: kernels.run_pass(
                game, stage, part, parts, rule, row, turn, state, trunk, scratch
            )
        )

    def _stages(self, run: Callable[[int, int, int, ChunkScratch], object]) -> None:
        """All stages of a pass: those of the trunk once, that of the chunks in parts, each with a
        scratch that no other has meanwhile."""

        def one(stage: int, part: int) -> None:
            scratch = self._scratch.get()
            try:
                run(stage, part, self._parts, scratch)
            finally:
                self._scratch.put(scratch)

        if self._parts == 1:
            one(kernels.ALL, 0)
            return
        one(kernels.DOWN, 0)
        parts = range(self._parts)
        for done in [self._pool.submit(one, kernels.CHUNKS, part) for part in parts]:
            done.result()
        one(kernels.UP, 0)

    def _warm_up(self) -> None:
        """Compile the kernels of an iteration, or load them."""
        nobody = (False, False)
        row = np.zeros(1 + self.algorithm.rule.n_parameters)
        turn = self._turn(
            descends=nobody, share=(0.0, 0.0), played_floor=(0.0, 0.0), updates=nobody, floor=0.0
        )
        self._pass(row, turn)

    @property
    def nodes_touched(self) -> int:
        """Histories visited: every player's update sweeps the whole game once."""
        return self.iteration * self.game.n_players * self.game.n_histories

    @property
    def decision_nodes_touched(self) -> int:
        """Decision nodes among them."""
        return self.iteration * self.game.n_players * self.game.n_decision_nodes

    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average strategy."""
        return self._judge(self.state.cumulative, 0.0)

    def evaluate_current(self) -> Evaluation:
        """Values and best-response values of the last iterate."""
        return self._judge(*self._current())

    def _current(self) -> tuple[np.ndarray, float]:
        """What the strategies of the next iteration are made from, and their floor."""
        if self.state.strategy is not None:
            return self.state.strategy, 0.0
        return self.state.regret, self._played_floor

    def _judge(self, weight: np.ndarray, floor: float) -> Evaluation:
        """Values and best-response values of the strategies that some weights make."""
        game, trunk = self.game.chunks, self._trunk
        expected, best = np.zeros((game.n_chunks + 1, 2)), np.empty(2)
        self._stages(
            lambda stage, part, parts, scratch: kernels.judge(
                game, stage, part, parts, weight, floor, trunk, scratch, expected, best
            )
        )
        values = tuple(sum(own) for own in expected.T.tolist())
        return Evaluation(values, tuple(best.tolist()))

    def average_probabilities(self) -> np.ndarray:
        """The average strategy over the flat game, float64 (sequences,); uniform where nothing
        was reached."""
        return self._flat_strategies(self.state.cumulative, 0.0)

    def average_policy(self) -> Policy:
        """The average strategy; makes the flat game."""
        return Policy(self.game.flat, self.average_probabilities())

    def current_policy(self) -> Policy:
        """The last iterate: the strategy that the next iteration will use; makes the flat game."""
        return Policy(self.game.flat, self._flat_strategies(*self._current()))

    def _flat_strategies(self, weight: np.ndarray, floor: float) -> np.ndarray:
        found = np.empty(self.game.chunks.n_numbers)
        kernels.all_strategies(self.game.chunks, weight, floor, found)
        return found[self.game.numbers]


def bytes_needed(
    game: ChunkedForm, algorithm: Algorithm, precision: str = "float64", threads: int = 1
) -> int:
    """Bytes that a solver takes beside the compiled game; what an evaluation needs is among them,
    a policy of the whole game is not."""
    rule = algorithm.rule
    kept = 2 + (not rule.matches_regret) + len(rule.memory)
    scratch = 2 + rule.forecast
    numbers = kept * game.n_numbers + threads * scratch * game.most_sequences
    numbers += (scratch + (algorithm.against == "average")) * game.trunk.n_sequences
    numbers += (1 + rule.forecast) * len(game.entry)
    return numbers * np.dtype(precision).itemsize


def aligned(shape: tuple[int, ...] | int, dtype: np.dtype) -> np.ndarray:
    """Zeros that begin at a multiple of :data:`ALIGNMENT` bytes."""
    size = int(np.prod(shape)) * dtype.itemsize
    room = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    begin = -room.ctypes.data % ALIGNMENT
    return room[begin : begin + size].view(dtype).reshape(shape)


def _first_state(game: ChunkedForm, rule: LocalRule, dtype: np.dtype) -> Kept:
    """No regrets, no average, uniform strategies."""
    numbers = game.n_numbers
    regret, strategy = aligned(numbers, dtype), None
    if not rule.matches_regret:
        strategy = aligned(numbers, dtype)
        kernels.all_strategies(game, regret, 0.0, strategy)
    return Kept(
        regret=regret,
        cumulative=aligned(numbers, dtype),
        strategy=strategy,
        memory=aligned((len(rule.memory), numbers), dtype),
    )


def _copy_state(game: CutGame, given: Kept, state: Kept) -> None:
    """Copy the arrays of another solver.

    Raises:
        ValueError: An array has another shape or dtype, or holds a value that is not finite.
    """
    for name, own in state._asdict().items():
        array = getattr(given, name)
        if own is None and array is None:
            continue
        if own is None or array is None or array.shape != own.shape or array.dtype != own.dtype:
            said = "nothing" if array is None else f"{array.dtype} {array.shape}"
            wanted = "nothing" if own is None else f"{own.dtype} {own.shape}"
            raise ValueError(f"{name} is {said}; for {game.name} cut like this it is {wanted}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds a value that is not finite")
        own[:] = array


def _trunk_scratch(
    game: ChunkedForm, dtype: np.dtype, *, forecast: bool, averaged: bool
) -> TrunkScratch:
    sequences, entries = game.trunk.n_sequences, len(game.entry)
    reach = aligned(sequences, dtype)
    return TrunkScratch(
        reach=reach,
        faced=aligned(sequences, dtype) if averaged else reach,
        value=aligned(sequences, dtype),
        forecast=aligned(sequences if forecast else 0, dtype),
        entry_value=aligned(entries, dtype),
        entry_forecast=aligned(entries if forecast else 0, dtype),
    )


def _chunk_scratch(game: ChunkedForm, dtype: np.dtype, *, forecast: bool) -> ChunkScratch:
    most = game.most_sequences
    return ChunkScratch(
        aligned(most, dtype), aligned(most, dtype), aligned(most if forecast else 0, dtype)
    )
