"""A solver of a game in chunks: only regrets and averages are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .._util.arguments import brief
from .._util.mapped_files import MappedFiles
from .._util.memory import free_memory
from .._util.recent import Recent
from ..algorithms import Algorithm
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation
from ..invariants.reader import first_true
from ..invariants.strategies import SUM_TOLERANCE
from ..kernels import chunks as kernels
from ..kernels.chunks import ChunkScratch, Kept, Numbers, TrunkScratch, Turns
from ..kernels.local_rule import LocalRule
from ..kernels.meeting import MEETING
from ..kernels.packing import pack, unpack
from ..model.chunks import ALIGNMENT, ROW, ChunkedForm, ChunkLocks
from ..model.cut_game import CutGame
from ..model.game import CompiledGame
from ..model.lines import Place
from ..model.locks import Locks, LocksLike, chunk_locks, locks_for
from ..model.policy import NodeStrategies, Policy, suggest_label
from .arguments import PACKED, PRECISIONS
from .base import IterativeSolver
from .choose import DEFAULT_ALGORITHM
from .kept import BLOCK, blocks, check_arrays

PARTS_PER_THREAD = 16
"""Parts that the chunks are shared out to: many, so that a thread that is held up hands work over;
each costs a call within a kernel, some microseconds."""


class ChunkedState(NamedTuple):
    """What a solver of a game in chunks keeps; (numbers,) unless said, all of it but ``floor`` in
    the solver's precision."""

    regret: np.ndarray
    """Cumulative regret, as the local rule keeps it."""
    cumulative: np.ndarray
    """Sum over iterations of averaging weight times own reach; for the empty sequences of the
    trunk the sum of the weights."""
    strategy: np.ndarray
    """The strategies that are played next; empty for rules that make them from the regret."""
    memory: np.ndarray
    """What the rule keeps beside the regret, (kept, numbers)."""
    floor: np.ndarray
    """float64 (1,): share of the strategies that are played next that is uniform."""
    scale: np.ndarray
    """float32 (2, rows): in 16 bits, the scales of ``regret`` and ``cumulative``; see
    :mod:`tensorcfr.kernels.packing`.  Otherwise it has no rows."""
    trunk: np.ndarray
    """float32 (2, trunk sequences): in 16 bits, ``regret`` and ``cumulative`` of the trunk, which
    are zeros there.  Otherwise it has no sequences."""

    @property
    def regrets(self) -> Numbers:
        """Cumulative regrets as kernels take them."""
        return self._numbers(self.regret, 0)

    @property
    def averages(self) -> Numbers:
        """Cumulative strategies as kernels take them."""
        return self._numbers(self.cumulative, 1)

    @property
    def strategies(self) -> Numbers:
        """The strategies that are kept, as kernels take them."""
        return Numbers(self.strategy, None, self.strategy)

    def _numbers(self, chunks: np.ndarray, which: int) -> Numbers:
        if self.scale.size:
            return Numbers(chunks, self.scale[which], self.trunk[which])
        return Numbers(chunks, None, chunks)


class ChunkedSolver(IterativeSolver):
    """A solver of a game in chunks, with the methods of :class:`tensorcfr.Solver`.

    >>> from tensorcfr import compile_game
    >>> solver = ChunkedSolver(compile_game("kuhn", cut=1), "cfr")
    >>> solver.step(10)
    >>> round(solver.evaluate().exploitability, 6)
    0.068699

    Args:
        game: A game that was compiled with ``cut``.
        algorithm: A name or a record; see :mod:`tensorcfr.algorithms`.
        precision: In what the arrays are kept, ``"float64"``, ``"float32"``, or ``"int16"``: 16
            bits and a scale for every 64 numbers, worked on in float32; for rules that keep regrets
            alone.
        locks: Infosets whose probabilities are given; see :class:`tensorcfr.Solver`.
        threads: Threads that work on chunks; the result has the same bits for any number.
        state: Arrays to go on from, after ``iteration`` iterations; copied.
        iteration: Iterations that ``state`` has behind it.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.
        state_dir: A directory for the arrays that are kept.  They are then files mapped into
            memory, and may be larger than it.  The files are scratch of this solver and replace
            older ones of the same names; ``checkpoint`` of :func:`tensorcfr.solve` writes files to
            go on from.

    Raises:
        ValueError: There is no such algorithm or precision, or the algorithm cannot sweep a game
            in chunks.
        OSError: ``state_dir`` cannot be written, or has no room; said before the first iteration.
        MemoryLimitError: The arrays would not fit; said before they are allocated.
    """

    records = Algorithm
    games = CutGame
    game: CutGame
    policy_is_in_state = True

    def __init__(
        self,
        game: CutGame,
        algorithm: str | Algorithm = DEFAULT_ALGORITHM,
        *,
        precision: str = "float64",
        locks: LocksLike | None = None,
        threads: int = 1,
        state: ChunkedState | None = None,
        iteration: int = 0,
        memory_limit: int | None = None,
        state_dir: str | Path | None = None,
    ) -> None:
        if not isinstance(game, CutGame):
            raise TypeError(f"{game!r} is not cut: compile_game(..., cut=True) cuts a game")
        record: Algorithm = self._checked(game, algorithm)
        if record.rule.payoff is not None:
            raise ValueError(
                f"{record.name} changes payoffs by own reach, which games in chunks do not keep: "
                f"compile {game.name} without cut"
            )
        if record.rule.minds_scale and game.merges_hands:
            raise ValueError(
                f"{record.name} minds the size of regrets: compile {game.name} with symmetry=False"
            )
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {PRECISIONS}, not {precision!r}")
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads must be a number from 1, not {threads!r}")
        if precision == PACKED and (record.rule.memory or not record.rule.matches_regret):
            raise ValueError(
                f"{record.name} keeps more than regrets: it takes float64 or float32, not {PACKED}"
            )
        limit = free_memory() if memory_limit is None else memory_limit
        needed = bytes_needed(game.chunks, record, precision, threads)
        if state_dir is not None:
            needed -= bytes_kept(game.chunks, record, precision)
        if needed > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, limit)
        self.game = game
        self.locks = locks_for(game, locks)
        self._locks = chunk_locks(game, self.locks)
        self.algorithm = record
        self.iteration = iteration
        dtype = np.dtype(precision if state is None else state.regret.dtype)
        new = aligned if state_dir is None else MappedFiles(Path(state_dir)).new
        self._take_up(first_state(game.chunks, record.rule, dtype, self._locks, new))
        if state is not None:
            _check_state(game, record, self.kept(state), dtype)
            for own, given in zip(self._state, state, strict=True):
                own[:] = given
        self.precision = str(dtype)
        floats = floats_of(dtype)
        self._lent: list[ref[AveragePolicy]] = []
        forecast, averaged = record.rule.forecast, record.against == "average"
        self._trunk = trunk_scratch(game.chunks, floats, forecast=forecast, averaged=averaged)
        self._scratch: SimpleQueue[ChunkScratch] = SimpleQueue()
        for _ in range(threads):
            self._scratch.put(
                chunk_scratch(game.chunks, floats, forecast=forecast, packed=floats != dtype)
            )
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tensorcfr")
        self._parts = min(
            1 if threads == 1 else threads * PARTS_PER_THREAD, max(game.chunks.n_chunks, 1)
        )
        self._warm_up()

    @property
    def state(self) -> ChunkedState:  # noqa: D102
        return self._state

    def _take_up(self, state: ChunkedState) -> None:
        """Work on the arrays of a state from now on."""
        strategy = None if self.algorithm.rule.matches_regret else state.strategy
        self._state = state
        self._kept = Kept(state.regrets, state.averages, strategy, state.memory)

    def _run(self, iterations: int) -> None:
        if iterations:
            self._settle()
            played = float(self._state.floor[0])
            self._passes(*turns_of(self.algorithm, self.iteration + 1, iterations, played))
            self.iteration += iterations
            self._state.floor[0] = self.algorithm.floors(self.iteration, 1)[0]

    def _restart_average(self) -> None:
        self._settle()
        self._state.cumulative[:] = 0
        self._state.trunk[1] = 0.0

    def _settle(self) -> None:
        """Copy the averages behind strategies that were given away, before they change."""
        for lent in self._lent:
            if (policy := lent()) is not None:
                policy.settle()
        self._lent.clear()

    def _passes(self, rows: np.ndarray, turns: Turns) -> None:
        """Passes, one after the other: down the trunk, through all chunks, up the trunk."""
        game, rule, kept, trunk = self.game.chunks, self.algorithm.rule, self._kept, self._trunk
        locks, parts = self._locks, self._parts
        threads = min(self._threads, parts)
        meeting = aligned((len(rows), MEETING), np.dtype(np.int64))

        def share(thread: int) -> None:
            scratch = self._scratch.get()
            try:
                kernels.run_passes(
                    game,
                    rule,
                    rows,
                    turns,
                    kept,
                    trunk,
                    scratch,
                    locks,
                    thread,
                    threads,
                    parts,
                    meeting,
                )
            finally:
                self._scratch.put(scratch)

        # No pool: it may keep one share waiting behind another, which waits for that share.
        others = [Thread(target=share, args=(thread,)) for thread in range(1, threads)]
        for other in others:
            other.start()
        share(0)
        for other in others:
            other.join()

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
        row = np.zeros((1, 1 + self.algorithm.rule.n_parameters))
        turns = no_turns((1,), against_average=self.algorithm.against == "average")
        self._passes(row, turns)

    @classmethod
    def restore(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        kept: Mapping[str, np.ndarray],
        locks: Locks | None = None,
    ) -> ChunkedState:
        assert isinstance(game, CutGame)
        known = [name for name in PRECISIONS if kept["regret"].dtype == name]
        _check_state(game, algorithm, kept, np.dtype(known[0] if known else PRECISIONS[0]))
        return ChunkedState(**{name: kept[name] for name in ChunkedState._fields})

    @classmethod
    def wrong_state(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        state: ChunkedState,
        locks: Locks | None = None,
    ) -> str | None:
        assert isinstance(game, CutGame)
        for name, sums in (("cumulative", state.cumulative), ("trunk", state.trunk[1])):
            for begin, some in blocks(sums):
                if (at := first_true(~(some >= 0.0))) is not None:
                    return f"{name}[{begin + at}] is {some[at]}"
        if not (state.scale >= 0.0).all():
            return "scale is below 0"
        if state.strategy.size and (wrong := _wrong_strategy(game, state, locks)):
            return wrong
        if not 0.0 <= state.floor[0] <= 1.0:
            return f"floor is {state.floor[0]}"
        return None

    @classmethod
    def policy_of(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: ChunkedState, locks: Locks | None = None
    ) -> Policy:
        assert isinstance(game, CutGame)
        return AveragePolicy(game, state.averages, chunk_locks(game, locks))

    @classmethod
    def whole_regrets(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: ChunkedState, locks: Locks | None = None
    ) -> np.ndarray:
        assert isinstance(game, CutGame)
        # One that stands for several has the sum of their regrets.
        whole = _unpacked(state.regrets)
        counted = np.bincount(game.numbers, minlength=len(whole))
        regret = whole / np.maximum(counted, 1)
        regret[game.chunks.trunk.player_sequences[:-1]] = 0.0
        return regret[game.numbers]

    @classmethod
    def begin(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        regret: np.ndarray,
        strategy: np.ndarray,
        *,
        precision: str,
        locks: Locks,
    ) -> ChunkedState:
        assert isinstance(game, CutGame)
        state = first_state(
            game.chunks, algorithm.rule, np.dtype(precision), chunk_locks(game, locks)
        )
        _pack(game.summed(regret), state.regrets)
        if state.strategy.size:
            locked, found = chunk_locks(game, locks), game.summed(strategy)
            all_strategies(game.chunks, Numbers(found, None, found), 0.0, state.strategy, locked)
        return state

    @classmethod
    def last_probabilities(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: ChunkedState, locks: Locks | None = None
    ) -> np.ndarray:
        assert isinstance(game, CutGame)
        locked = chunk_locks(game, locks)
        return flat_strategies(game, *current_numbers(algorithm.rule, state), locked)

    @classmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """Every player's update passes over the whole game once."""
        updates = iterations * game.n_players
        return updates * game.n_histories, updates * game.n_decision_nodes

    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average strategy."""
        return self._judge(self._state.averages, 0.0)

    def evaluate_current(self) -> Evaluation:
        """Values and best-response values of the last iterate."""
        return self._judge(*current_numbers(self.algorithm.rule, self._state))

    def _judge(self, weight: Numbers, floor: float) -> Evaluation:
        """Values and best-response values of the strategies that some weights make."""
        game, trunk, locks = self.game.chunks, self._trunk, self._locks
        expected, best = np.zeros((game.n_chunks + 1, 2)), np.empty(2)
        self._stages(
            lambda stage, part, parts, scratch: kernels.judge(
                game, stage, part, parts, weight, floor, trunk, scratch, expected, best, locks
            )
        )
        return evaluation_of(expected, best)

    def average_probabilities(self) -> np.ndarray:
        """The average strategy over the flat game, which is made; float64 (sequences,)."""
        return flat_strategies(self.game, self.state.averages, 0.0, self._locks)

    def average_policy(self) -> Policy:
        """The average strategy, which is worked out where it is looked at."""
        policy = AveragePolicy(self.game, self.state.averages, self._locks)
        self._lent.append(ref(policy))
        return policy


def _wrong_strategy(game: CutGame, state: ChunkedState, locks: Locks | None) -> str | None:
    """What is wrong with the strategies that a state keeps, or nothing; some parts at a time."""
    form, locked = game.chunks, chunk_locks(game, locks)
    begins = np.append(0, form.first)
    part = 0
    while part <= form.n_chunks:
        begin = int(begins[part])
        last = max(part + 1, int(np.searchsorted(begins, begin + BLOCK, side="right")) - 1)
        given = state.strategy[begin : begins[last]]
        found = np.ones_like(given)
        kernels.strategies_of_parts(form, part, last, state.strategies, 0.0, found, locked)
        # Numbers of no infoset are 0.
        found[given == 0.0] = 0.0
        wrong = ~(np.abs(found - given) <= SUM_TOLERANCE[str(found.dtype)])
        if (at := first_true(wrong & (found != 1.0))) is not None:
            return f"strategy[{begin + at}] is {given[at]}, not {found[at]}"
        part = last
    return None


class AveragePolicy(Policy):
    """An average strategy.  One infoset is worked out with its chunk; all of them, over the flat
    game, when they are first asked for.

    A solver calls :meth:`settle` before it changes the array.
    """

    def __init__(self, game: CutGame, cumulative: Numbers, locks: ChunkLocks | None) -> None:
        self.game = game
        self._cumulative = cumulative
        self._locks = locks
        self._parts = Recent()

    def __getitem__(self, label: str) -> dict[str, float]:
        assert isinstance(self.game, CutGame)
        if not isinstance(label, str):
            return super().__getitem__(label)
        try:
            found = self.game.find_infoset(label)
        except KeyError:
            raise KeyError(
                f"{self.game.name} has no infoset {brief(label)}; {suggest_label(self.game, label)}"
            ) from None
        row = self._rows(found.place, [found.hand])[0].tolist()
        return dict(zip(found.place.actions, row, strict=True))

    def first_of(self, player: int, most: int | None = None) -> dict[str, dict[str, float]]:
        """As for any policy, in the order of public nodes."""
        assert isinstance(self.game, CutGame)
        rows = (
            (label, dict(zip(here.actions, row, strict=True)))
            for here in self.by_node(player)
            for label, row in zip(here.labels, here.probabilities.tolist(), strict=True)
        )
        return dict(islice(rows, most))

    def by_node(self, player: int) -> Iterator[NodeStrategies]:
        """The strategies of a player, node by node; a chunk is worked out for the nodes in it."""
        assert isinstance(self.game, CutGame)
        for here in self.game.lines.infosets(player):
            rows = self._rows(here.place, here.hands)
            yield NodeStrategies(player, here.labels, here.place.actions, rows)

    def _rows(self, place: Place, hands: list[int]) -> np.ndarray:
        """The strategies of hands at a public node, float64 (hands, actions)."""
        assert isinstance(self.game, CutGame)
        if not place.stride:  # A decision with one action, which is left out.
            return np.ones((len(hands), 1))
        begin = self.game.chunks.first[place.chunk] if place.chunk >= 0 else 0
        at = place.first - begin + place.lane[hands, None]
        part = self._parts.get(place.chunk, self.part)
        found: np.ndarray = part[at + place.stride * np.arange(len(place.actions))]
        return found

    def part(self, chunk: int) -> np.ndarray:
        """The strategies in a chunk, or in the trunk (-1), in a new array, float64 (numbers of that
        part,)."""
        assert isinstance(self.game, CutGame)
        form, part = self.game.chunks, chunk + 1
        begin = int(form.first[chunk]) if chunk >= 0 else 0
        found = np.zeros(int(form.first[chunk + 1]) - begin)
        kernels.strategies_of_parts(form, part, part + 1, self._cumulative, 0.0, found, self._locks)
        return found

    @cached_property
    def probabilities(self) -> np.ndarray:  # type: ignore[override]
        """float64 (sequences,)."""
        assert isinstance(self.game, CutGame)
        found = flat_strategies(self.game, self._cumulative, 0.0, self._locks)
        found.flags.writeable = False
        return found

    def settle(self) -> None:
        """Copy the array."""
        kept = self._cumulative
        chunks, scale = kept.chunks.copy(), None if kept.scale is None else kept.scale.copy()
        trunk = chunks if scale is None else kept.trunk.copy()
        self._cumulative = Numbers(chunks, scale, trunk)


def flat_strategies(
    game: CutGame, weight: Numbers, floor: float, locks: ChunkLocks | None
) -> np.ndarray:
    """The strategies that some weights make over the flat game, which is made; float64
    (sequences,)."""
    found = np.empty(game.chunks.n_numbers)
    all_strategies(game.chunks, weight, floor, found, locks)
    return found[game.numbers]


def all_strategies(
    game: ChunkedForm, weight: Numbers, floor: float, found: np.ndarray, locks: ChunkLocks | None
) -> None:
    """:func:`tensorcfr.kernels.chunks.strategies_of_parts`, of all parts."""
    kernels.strategies_of_parts(game, 0, game.n_chunks + 1, weight, floor, found, locks)


def evaluation_of(expected: np.ndarray, best: np.ndarray) -> Evaluation:
    """The results of :func:`tensorcfr.kernels.chunks.judge`, added up."""
    values = tuple(sum(own) for own in expected.T.tolist())
    return Evaluation(values, tuple(best.tolist()))


def turns_of(
    record: Algorithm, first: int, count: int, played_floor: float
) -> tuple[np.ndarray, Turns]:
    """Iterations as passes.

    Where the players are updated one after the other, the strategy that player 0 plays in an
    iteration is made in the pass of player 1 before it, and enters the average there; in the first
    of these iterations, in a way down of its own.

    Args:
        record: The variant of CFR.
        first: The first iteration.
        count: How many.
        played_floor: Share of the strategies played in the first iteration that is uniform.

    Returns:
        The rows of the schedule, one for each pass, and the passes.
    """
    schedule, floors = record.schedule(first, count), record.floors(first, count)
    following = record.weights(np.array([first + count], dtype=np.float64))[0]
    weights = np.append(schedule[:, 0], following)
    played = np.append(played_floor, floors[:-1])
    before, after = (played, floors) if record.rule.matches_regret else (0.0, 0.0)
    each = 2 if record.alternating else 1
    turns = no_turns((count, each), against_average=record.against == "average")
    turns.floor[:] = floors[:, None]
    turns.played_floor[:] = np.reshape(before, (-1, 1, 1))
    if record.alternating:
        turns.descends[0, 0, 0] = turns.descends[:, 0, 1] = turns.descends[:, 1, 0] = True
        turns.share[0, 0, 0] = weights[0]
        turns.share[:, 0, 1] = weights[:-1]
        turns.share[:-1, 1, 0] = weights[1:-1]
        turns.played_floor[:, 1, 0] = after
        turns.updates[:, 0, 0] = turns.updates[:, 1, 1] = True
        turns.pending[-1, 1, 0] = following
    else:
        turns.descends[:] = turns.updates[:] = True
        turns.share[:] = weights[:-1, None, None]
    rows = np.repeat(schedule, each, axis=0)
    return rows, Turns(*(_one_axis(field) for field in turns))


def no_turns(shape: tuple[int, ...], *, against_average: bool) -> Turns:
    """Passes in which nothing happens."""
    pair = (*shape, 2)
    return Turns(
        descends=np.zeros(pair, dtype=bool),
        share=np.zeros(pair),
        played_floor=np.zeros(pair),
        updates=np.zeros(pair, dtype=bool),
        floor=np.zeros(shape),
        against_average=against_average,
        pending=np.zeros(pair),
    )


def _one_axis(field: Any) -> Any:
    """The passes of several iterations one after the other."""
    return field.reshape(-1, *field.shape[2:]) if isinstance(field, np.ndarray) else field


def current_numbers(rule: LocalRule, state: ChunkedState) -> tuple[Numbers, float]:
    """What the strategies of the next iteration are made from, and their floor."""
    if rule.matches_regret:
        return state.regrets, float(state.floor[0])
    return state.strategies, 0.0


def bytes_needed(
    game: ChunkedForm, algorithm: Algorithm, precision: str = "float64", threads: int = 1
) -> int:
    """Bytes that a solver takes beside the compiled game; what an evaluation needs is among them,
    a policy of the whole game is not."""
    rule, dtype = algorithm.rule, np.dtype(precision)
    floats = floats_of(dtype)
    scratch = 2 + rule.forecast + (2 if floats != dtype else 0)
    numbers = threads * scratch * game.most_sequences
    numbers += (2 + rule.forecast + (algorithm.against == "average")) * game.trunk.n_sequences
    numbers += (1 + rule.forecast) * len(game.entry)
    return bytes_kept(game, algorithm, precision) + numbers * floats.itemsize


def bytes_kept(game: ChunkedForm, algorithm: Algorithm, precision: str = "float64") -> int:
    """Bytes of the arrays that a solver keeps from one iteration to the next."""
    rule, dtype = algorithm.rule, np.dtype(precision)
    arrays = 2 + (not rule.matches_regret) + len(rule.memory)
    kept = arrays * game.n_numbers * dtype.itemsize
    if (floats := floats_of(dtype)) != dtype:
        kept += 2 * (game.n_numbers // ROW + game.trunk.n_sequences) * floats.itemsize
    return kept


def floats_of(dtype: np.dtype) -> np.dtype:
    """The floats in which arrays of a precision are worked on."""
    return np.dtype(np.float32) if dtype == PACKED else dtype


def _unpacked(numbers: Numbers) -> np.ndarray:
    """All numbers of an array as floats, in a new array."""
    if numbers.scale is None:
        return numbers.chunks.astype(np.float64)
    found = np.empty(len(numbers.chunks), dtype=np.float32)
    unpack(numbers.chunks, numbers.scale, found)
    found[: len(numbers.trunk)] = numbers.trunk
    return found.astype(np.float64)


def _pack(found: np.ndarray, numbers: Numbers) -> None:
    """Put floats into an array, which is modified in place."""
    if numbers.scale is None:
        numbers.chunks[:] = found
        return
    numbers.trunk[:] = found[: len(numbers.trunk)]
    rest = found.astype(np.float32)
    rest[: len(numbers.trunk)] = 0.0
    pack(rest, 0, len(rest), numbers.chunks, numbers.scale)


def aligned(shape: tuple[int, ...] | int, dtype: np.dtype) -> np.ndarray:
    """Zeros that begin at a multiple of :data:`ALIGNMENT` bytes."""
    size = int(np.prod(shape)) * dtype.itemsize
    room = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    begin = -room.ctypes.data % ALIGNMENT
    return room[begin : begin + size].view(dtype).reshape(shape)


def _check_state(
    game: CutGame, algorithm: Any, kept: Mapping[str, np.ndarray], dtype: np.dtype
) -> None:
    """Make sure that arrays are those of a state.

    Raises:
        ValueError: An array has another shape or dtype, or holds a value that is not finite; names
            the array.
    """
    expected = _shapes(game.chunks, algorithm.rule, dtype)
    check_arrays(kept, expected, f"{game.name}, cut like this, and the rule {algorithm.rule.name}")


def _shapes(
    game: ChunkedForm, rule: LocalRule, dtype: np.dtype
) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and dtype of each array of a state."""
    numbers, single = game.n_numbers, np.dtype(np.float32)
    packed = floats_of(dtype) != dtype
    return {
        "regret": ((numbers,), dtype),
        "cumulative": ((numbers,), dtype),
        "strategy": ((0 if rule.matches_regret else numbers,), dtype),
        "memory": ((len(rule.memory), numbers), dtype),
        "floor": ((1,), np.dtype(np.float64)),
        "scale": ((2, numbers // ROW if packed else 0), single),
        "trunk": ((2, game.trunk.n_sequences if packed else 0), single),
    }


def first_state(
    game: ChunkedForm,
    rule: LocalRule,
    dtype: np.dtype,
    locks: ChunkLocks | None,
    new: Callable[[tuple[int, ...] | int, np.dtype], np.ndarray] = aligned,
) -> ChunkedState:
    """No regrets, no average, uniform strategies, in arrays that ``new`` makes."""
    shapes = _shapes(game, rule, dtype)
    large = {name: new(*own) for name, own in shapes.items() if name != "floor"}
    state = ChunkedState(floor=np.zeros(1), **large)
    if not rule.matches_regret:
        all_strategies(game, state.regrets, 0.0, state.strategy, locks)
    return state


def trunk_scratch(
    game: ChunkedForm, dtype: np.dtype, *, forecast: bool, averaged: bool
) -> TrunkScratch:
    """Scratch of the trunk.

    Args:
        game: The game.
        dtype: Its floats.
        forecast: Whether the rule forecasts.
        averaged: Whether the players face averages.
    """
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


def chunk_scratch(
    game: ChunkedForm, dtype: np.dtype, *, forecast: bool, packed: bool
) -> ChunkScratch:
    """Scratch of one chunk at a time.

    Args:
        game: The game.
        dtype: Its floats.
        forecast: Whether the rule forecasts.
        packed: Whether the state is in 16 bits.
    """
    most = game.most_sequences
    # Chunks end with a whole row.
    room = -(-most // ROW) * ROW
    return ChunkScratch(
        reach=aligned(most, dtype),
        value=aligned(most, dtype),
        forecast=aligned(most if forecast else 0, dtype),
        regret=aligned(room if packed else 0, dtype),
        average=aligned(room if packed else 0, dtype),
    )
