"""States in files: their arrays are stored, and checked and restored before a solver uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from .._util.violations import first_true
from ..kernels import evaluation
from ..model.arrays import SequenceForm
from ..model.chunked_form import ChunkedForm, buckets_by_part
from ..model.solvable_game import SolvableGame
from .problem import Problem

Expected = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Shape and dtype of each array, by name."""
SUM_TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
"""Tolerance of the sum of an infoset's probabilities against 1, by dtype."""
REACH_TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
"""Tolerance of reaches against products of probabilities, by dtype."""
BLOCK = 1 << 20
"""Numbers that are checked together, so that temporary arrays stay small."""


def blocks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield an array in blocks in C order, each with the index of its first number."""
    flat = array.reshape(-1)
    return ((begin, flat[begin : begin + BLOCK]) for begin in range(0, len(flat), BLOCK))


def copy_arrays(
    stored: Mapping[str, np.ndarray], expected: Expected, owner: str
) -> dict[str, np.ndarray]:
    """Check the arrays of a state by :func:`check_arrays`, and copy them in C order."""
    check_arrays(stored, expected, owner)
    return {name: np.array(stored[name], order="C") for name in expected}


def check_arrays(stored: Mapping[str, np.ndarray], expected: Expected, owner: str) -> None:
    """Check that arrays are those of a state.

    Args:
        stored: Arrays by name.
        expected: Shape and dtype of the arrays of the state.
        owner: Game and algorithm of such arrays, for errors: ``"kuhn and cfr"``.

    Raises:
        ValueError: An array has another shape or dtype, holds a number that is not finite, or is
            the state of a random number generator that would produce only zeros; names the array.
    """
    for name, (shape, dtype) in expected.items():
        array = stored[name]
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(
                f"{name} is {array.dtype} {array.shape}; for {owner} it must be "
                f"{np.dtype(dtype)} {shape}"
            )
        if not all(np.isfinite(block).all() for _, block in blocks(array)):
            raise ValueError(f"{name} holds a number that is not finite")
        if "generator" in name and not array.any():
            raise ValueError(
                f"{name} holds only zeros, which is not a state of a random number generator"
            )


def wrong_strategy(form: ChunkedForm, strategy: np.ndarray) -> str | None:
    """Describe the error in a behaviour strategy; None if there is none.

    Args:
        form: The game, whose invariants hold.
        strategy: float64 or float32 (numbers,): probabilities, 1 for the empty sequences.
    """
    empty = form.trunk.player_sequences[:-1]
    if not (strategy[empty] == 1.0).all():
        return f"the empty sequences have the probabilities {strategy[empty].tolist()}, not 1"
    tolerance = SUM_TOLERANCE[str(strategy.dtype)]
    least, most = strategy.min(), strategy.max()
    # Negated, so that NaN is refused.
    if not (least >= 0.0 and most <= 1.0 + tolerance):
        return f"{float(least if not least >= 0.0 else most)!r} is not a probability"
    infoset = 0
    for base, buckets in buckets_by_part(form):
        for first, actions, lanes in zip(*buckets, strict=True):
            begin = base + first
            table = strategy[begin : begin + actions * lanes].reshape(actions, lanes)
            sums = table.sum(axis=0, dtype=np.float64)
            if (lane := first_true(~(np.abs(sums - 1.0) <= tolerance))) is not None:
                return f"the probabilities of infoset {infoset + lane} sum to {float(sums[lane])!r}"
            infoset += lanes
    return None


def wrong_state(form: ChunkedForm, state: Any) -> str | None:
    """Describe the error in the arrays of a solver; None if there is none.  Shapes and dtypes have
    been checked.

    Args:
        form: The game that the arrays are over.
        state: ``strategy`` and ``cumulative``; ``reach`` and ``last`` if the solver has them.
    """
    if wrong := wrong_strategy(form, state.strategy):
        return f"strategy: {wrong}"
    if (i := first_true(~(state.cumulative >= 0.0))) is not None:
        return f"cumulative[{i}] is {state.cumulative[i]}"
    last = getattr(state, "last", None)
    if last is not None and last.size and last.min() < 0:
        return f"last holds {last.min()}, but it is a count"
    reach = getattr(state, "reach", None)
    return None if reach is None else wrong_reach(form.trunk, state.strategy, reach)


def wrong_reach(form: SequenceForm, strategy: np.ndarray, reach: np.ndarray) -> str | None:
    """Describe the error in the own reaches of a strategy, float (sequences,); None if there is
    none."""
    plan = np.empty_like(reach)
    evaluation.realization_plan(form, strategy, plan)
    if (i := first_true(~(np.abs(plan - reach) <= REACH_TOLERANCE[str(reach.dtype)]))) is not None:
        return f"reach[{i}] is {reach[i]}, but the strategy reaches it with {plan[i]}"
    return None


class StateFile:
    """Conversion between the state of a solver and the arrays of a file."""

    state_kind: ClassVar[type[Any]]
    """Named tuple class of the solver's arrays."""

    @classmethod
    def stored_arrays(cls, state: Any) -> Mapping[str, np.ndarray]:
        """Return the arrays of a state that a file stores, by name; all of them by default."""
        arrays: Mapping[str, np.ndarray] = state._asdict()
        return arrays

    @classmethod
    def expected(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> Expected:
        """Return shape and dtype of each array of a state, by name; by default all are float64
        (sequences of the game,).

        Args:
            problem: Game, algorithm and locks of the state.
            stored: The stored arrays.
        """
        return dict.fromkeys(cls.state_kind._fields, ((problem.game.n_sequences,), np.float64))

    @classmethod
    def restore(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> Any:
        """Rebuild and check the state from the arrays that :meth:`stored_arrays` returned.

        Raises:
            ValueError: An array has another shape or dtype than this game and algorithm need, or
                holds a number that is not finite; names the array.
        """
        owner = f"{problem.game.name} and {problem.algorithm.name}"
        return cls.state_kind(**copy_arrays(stored, cls.expected(problem, stored), owner))

    @classmethod
    def wrong_state(cls, problem: Problem, state: Any) -> str | None:
        """Return a description of the first error in a restored state, or None."""
        return wrong_state(problem.form, state)

    @classmethod
    def wrong_iteration(cls, state: Any, iteration: int) -> str | None:
        """Return a description of the contradiction between a state and a number of iterations, or
        None.

        Most states do not determine the number of their iterations.
        """
        return None

    @classmethod
    def policy_is_in_state(cls, game: SolvableGame) -> bool:
        """Return whether the average policy is derived from the state.

        If so, files store only the state.
        """
        return False
