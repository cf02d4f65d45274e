"""State of a solver of the whole game, and the strategies that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from .._util.aligned import aligned
from .._util.one_line import arrays_in_line
from .._util.violations import first_true
from ..algorithms import Algorithm
from ..kernels import evaluation
from ..kernels.local_rule import LocalRule
from ..kernels.pass_arrays import Numbers, plain_numbers
from ..model.arrays import frozen_arrays
from ..model.chunked_form import ROW, SCALES, ChunkedForm, ChunkLocks
from ..model.layout import Layout
from ..model.solvable_game import SolvableGame
from .problem import Problem
from .solver_arguments import PACKED
from .state_file import (
    BLOCK,
    SUM_TOLERANCE,
    StateFile,
    blocks,
    check_arrays,
    wrong_reach,
    wrong_strategy,
)


class State(NamedTuple):
    """Arrays that a solver of the whole game keeps from one iteration to the next.

    The arrays have shape (numbers,) unless stated otherwise, and the solver's precision, except for
    ``floor``.

    **The numbers are those of the solver, not the sequences of the game.**  If infosets are merged
    (Leduc's suits, for example), ``state.regret[game.sequences(infoset)]`` is the regret of another
    infoset, or of several.  Read ``solution.sums[label]`` instead, which has the regrets and the
    cumulative strategies of every infoset of every game.

    Without chunks the numbers are the sequences of the game, or of its merged form.  Otherwise they
    are those of :class:`tensorcfr.model.chunked_form.ChunkedForm`, and strategies are kept only for
    rules that do not derive them from the regrets.
    """

    def __repr__(self) -> str:
        return arrays_in_line(self)

    regret: np.ndarray
    """Cumulative regret, as the local rule keeps it."""
    cumulative: np.ndarray
    """Sum over iterations of averaging weight times own reach; for the empty sequences the sum of
    the weights."""
    strategy: np.ndarray
    """Strategies that are played next.  Flat games always store them, games in chunks unless the
    rule matches regrets; otherwise empty."""
    reach: np.ndarray
    """Own reaches of these strategies; empty if there are chunks."""
    memory: np.ndarray
    """(kept, numbers): numbers that the rule keeps in addition to the regret."""
    floor: np.ndarray
    """float64 (1,): share of the next strategies that is uniform."""
    scale: np.ndarray
    """float32 (2, rows, SCALES): in 16 bits, the scales of ``regret`` and ``cumulative``; see
    :mod:`tensorcfr.kernels.packing`.  Otherwise it has no rows."""
    trunk: np.ndarray
    """float32 (2, trunk sequences): in 16 bits, ``regret`` and ``cumulative`` of the trunk, which
    are zeros in those arrays.  Otherwise it has no sequences."""

    @property
    def regrets(self) -> Numbers:
        """Cumulative regrets in the form that kernels take."""
        return self._numbers(self.regret, 0)

    @property
    def averages(self) -> Numbers:
        """Cumulative strategies in the form that kernels take."""
        return self._numbers(self.cumulative, 1)

    def scale_average(self, factor: float) -> None:
        """Multiply the cumulative strategies, in place."""
        if factor == 0.0:
            self.cumulative[:] = 0
        elif self.scale.size:
            self.scale[1] *= factor
        else:
            self.cumulative[:] *= factor
        self.trunk[1] *= factor

    def played(self, rule: LocalRule) -> tuple[Numbers, float]:
        """Return the weights from which the next strategies are made, and their floor."""
        if self.strategy.size:
            return plain_numbers(self.strategy), 0.0
        return self.regrets, float(self.floor[0])

    @property
    def has_average(self) -> bool:
        """True if any iteration has entered the average."""
        return bool(self.averages.trunk.any())

    def answer(self, rule: LocalRule) -> tuple[Numbers, float]:
        """Return the weights of the strategy that answers the game, and their floor.

        It is the average, or the strategy of the next iteration if no iteration has entered the
        average.
        """
        return (self.averages, 0.0) if self.has_average else self.played(rule)

    def _numbers(self, chunks: np.ndarray, which: int) -> Numbers:
        if self.scale.size:
            return Numbers(chunks, self.scale[which], self.trunk[which])
        return plain_numbers(chunks)


def floats_of(dtype: np.dtype) -> np.dtype:
    """Return the floating-point dtype in which arrays of a precision are processed."""
    return np.dtype(np.float32) if dtype == PACKED else dtype


def shapes_of(
    form: ChunkedForm, rule: LocalRule, dtype: np.dtype
) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Return shape and dtype of each array of a state."""
    numbers, single, is_flat = form.n_numbers, np.dtype(np.float32), not form.n_chunks
    packed = floats_of(dtype) != dtype
    return {
        "regret": ((numbers,), dtype),
        "cumulative": ((numbers,), dtype),
        "strategy": ((numbers if is_flat or not rule.matches_regret else 0,), dtype),
        "reach": ((numbers if is_flat else 0,), dtype),
        "memory": ((len(rule.memory), numbers), dtype),
        "floor": ((1,), np.dtype(np.float64)),
        "scale": ((2, numbers // ROW if packed else 0, SCALES), single),
        "trunk": ((2, form.trunk.n_sequences if packed else 0), single),
    }


def state_bytes(form: ChunkedForm, record: Algorithm, precision: str = "float64") -> int:
    """Compute the bytes of the arrays that a solver keeps, except for ``floor``."""
    shapes = shapes_of(form, record.rule, np.dtype(precision)).items()
    return sum(int(np.prod(s)) * dtype.itemsize for name, (s, dtype) in shapes if name != "floor")


def first_state(
    form: ChunkedForm,
    rule: LocalRule,
    dtype: np.dtype,
    locks: ChunkLocks | None,
    new: Callable[[tuple[int, ...] | int, np.dtype], np.ndarray] = aligned,
) -> State:
    """Create a state without regrets or average, with uniform strategies, in arrays of ``new``."""
    shapes = shapes_of(form, rule, dtype)
    large = {name: new(*arguments) for name, arguments in shapes.items() if name != "floor"}
    state = State(floor=np.zeros(1), **large)
    if state.strategy.size:
        set_strategies(form, state, state.regrets, 0.0, locks)
    return state


def set_strategies(
    form: ChunkedForm, state: State, weight: Numbers, floor: float, locks: ChunkLocks | None
) -> None:
    """Set a state's stored strategies, and their reaches, to those that some weights make."""
    compute_strategies(form, weight, floor, state.strategy, free_strategy_locks(locks))
    restore_reaches(form, state, locks)


def free_strategy_locks(locks: ChunkLocks | None) -> ChunkLocks | None:
    """Return the locks that stored strategies obey: all but the least probabilities of a model."""
    return None if locks is None else locks._replace(least=locks.least[:0])


def restore_reaches(form: ChunkedForm, state: State, locks: ChunkLocks | None) -> None:
    """Compute the reaches of a state's stored strategies, in place, if it stores reaches."""
    if not state.reach.size:
        return
    strategy = state.strategy
    if locks is not None and locks.least.size:
        mixed = strategies_from_weights(form, plain_numbers(strategy), 0.0, locks)
        strategy = mixed.astype(strategy.dtype)
    evaluation.realization_plan(form.trunk, strategy, state.reach)


def state_from_regrets(
    form: ChunkedForm,
    rule: LocalRule,
    locks: ChunkLocks | None,
    regret: np.ndarray,
    strategy: np.ndarray,
    dtype: np.dtype,
) -> State:
    """Create the state before the first iteration with given regrets and strategies.

    ``regret`` and ``strategy`` are float64 (numbers,).
    """
    state = first_state(form, rule, dtype, locks)
    regrets = state.regrets
    if regrets.scale is None:
        regrets.chunks[:] = regret
    else:
        evaluation.pack_parts(form, regret.astype(np.float32), regrets)
    if state.strategy.size:
        if locks is None:
            state.strategy[:] = strategy
            restore_reaches(form, state, None)
        else:
            set_strategies(form, state, plain_numbers(strategy), 0.0, locks)
    return state


class SolverStateFile(StateFile):
    """State of a solver of the whole game in files."""

    state_kind = State

    @classmethod
    def stored_arrays(cls, state: State) -> Mapping[str, np.ndarray]:
        """Return the arrays of a state that a file stores, by name: all that are not empty."""
        return {name: array for name, array in state._asdict().items() if array.size}

    @classmethod
    def policy_is_in_state(cls, game: SolvableGame) -> bool:  # noqa: D102
        return game.layout == Layout.CHUNKS

    @classmethod
    def restore(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> State:
        """Rebuild and check the state without copying; arrays without numbers may be missing."""
        rule, form = problem.algorithm.rule, problem.form
        cut = ", cut like this," if form.n_chunks else ""
        owner = f"{problem.game.name}{cut} and the rule {rule.name}"
        dtype = stored["regret"].dtype
        dtype = np.dtype(dtype.name if dtype.name in ("float32", PACKED) else "float64")
        expected = shapes_of(form, rule, dtype)
        arrays: dict[str, np.ndarray] = {}
        for name, (shape, kind) in expected.items():
            if name in stored:
                arrays[name] = stored[name]
            elif 0 in shape:
                arrays[name] = np.zeros(shape, kind)
            else:
                raise ValueError(f"array {name!r} is missing, which {owner} has")
        check_arrays(arrays, expected, owner)
        return State(**{name: np.ascontiguousarray(arrays[name]) for name in State._fields})

    @classmethod
    def wrong_state(cls, problem: Problem, state: State) -> str | None:  # noqa: D102
        form, locks = problem.form, problem.part_locks
        for name, sums in (("cumulative", state.cumulative), ("trunk", state.trunk[1])):
            # A negated comparison also catches NaN.
            for begin, block in blocks(sums):
                if (position := first_true(~(block >= 0.0))) is not None:
                    return f"{name}[{begin + position}] is {block[position]}"
        if not (state.scale >= 0.0).all():
            return "scale is below 0"
        if not 0.0 <= state.floor[0] <= 1.0:
            return f"floor is {state.floor[0]}"
        if form.n_chunks:
            free = free_strategy_locks(locks)
            return _wrong_strategies(form, state, free) if state.strategy.size else None
        count = form.trunk.n_sequences
        strategy, reach = state.strategy[:count], state.reach[:count]
        if wrong := wrong_strategy(form, strategy):
            return f"strategy: {wrong}"
        if locks is not None and locks.least.size:
            mixed = strategies_from_weights(form, plain_numbers(strategy), 0.0, locks)
            strategy = mixed.astype(strategy.dtype)
        return wrong_reach(form.trunk, strategy, reach)


def _wrong_strategies(form: ChunkedForm, state: State, locks: ChunkLocks | None) -> str | None:
    """Check the strategies that a state in chunks keeps, some parts at a time.

    Return a description of the first error, or None.
    """
    begins, part = np.append(0, form.number_offset), 0
    weights = frozen_arrays(plain_numbers(state.strategy))
    while part <= form.n_chunks:
        begin = int(begins[part])
        # Whole parts with BLOCK numbers together, but at least one part.
        last = max(part + 1, int(np.searchsorted(begins, begin + BLOCK, side="right")) - 1)
        strategy = state.strategy[begin : begins[last]]
        expected = np.ones_like(strategy)
        evaluation.strategies_of_parts(form, part, last, weights, 0.0, expected, locks)
        # Numbers that belong to no infoset are 0.
        expected[strategy == 0.0] = 0.0
        wrong = ~(np.abs(expected - strategy) <= SUM_TOLERANCE[str(expected.dtype)])
        if (position := first_true(wrong & (expected != 1.0))) is not None:
            return f"strategy[{begin + position}] is {strategy[position]}, not {expected[position]}"
        part = last
    return None


def unpack(form: ChunkedForm, numbers: Numbers) -> np.ndarray:
    """Unpack all numbers of an array to a new float64 (numbers,) array."""
    if numbers.scale is None:
        return numbers.chunks.astype(np.float64)
    floats = np.zeros(len(numbers.chunks), dtype=np.float32)
    evaluation.unpack_parts(form, numbers, floats)
    return floats.astype(np.float64)


def compute_strategies(
    form: ChunkedForm, weight: Numbers, floor: float, strategy: np.ndarray, locks: ChunkLocks | None
) -> None:
    """Compute :func:`tensorcfr.kernels.evaluation.strategies_of_parts` for all parts."""
    weight = frozen_arrays(weight)
    if not form.n_chunks:
        evaluation.match_weights(form.trunk, weight.trunk, floor, strategy, locks)
        return
    evaluation.strategies_of_parts(form, 0, form.n_chunks + 1, weight, floor, strategy, locks)


def strategies_from_weights(
    form: ChunkedForm, weight: Numbers, floor: float, locks: ChunkLocks | None
) -> np.ndarray:
    """Compute the strategies that weights make, float64 (numbers,); 1 for the empty sequences."""
    strategy = np.ones(form.n_numbers)
    compute_strategies(form, weight, floor, strategy, locks)
    strategy[form.trunk.player_sequences[:-1]] = 1.0
    return strategy


def copy_numbers(numbers: Numbers) -> Numbers:
    """Copy an array of numbers."""
    chunks, scale = numbers.chunks.copy(), None if numbers.scale is None else numbers.scale.copy()
    return Numbers(chunks, scale, chunks if scale is None else numbers.trunk.copy())
