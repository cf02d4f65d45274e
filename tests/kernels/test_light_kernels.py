"""Kernels that run in Python while they have little to do compute the bits of machine code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorcfr import compile_game
from tensorcfr._util import jit_ahead
from tensorcfr.compilers.cards import subsets
from tensorcfr.games.poker.strength import strengths
from tensorcfr.kernels import evaluation

pytestmark = pytest.mark.compiled

GAME = compile_game("leduc").form


def sequences(seed: int, dtype: Any, *, least: float = 0.0) -> np.ndarray:
    """Return random numbers, a fifth of which are 0."""
    numbers = np.random.default_rng(seed)
    drawn = np.maximum(numbers.uniform(least, 1.0, GAME.n_sequences), least)
    return np.where(numbers.random(GAME.n_sequences) < 0.2, 0.0, drawn).astype(dtype)


def match_weights(dtype: Any) -> tuple[Any, ...]:
    weight = sequences(1, dtype, least=-0.5)
    return evaluation.match_weights, (GAME, weight, 0.0, np.empty_like(weight), None)


def realization_plan(dtype: Any) -> tuple[Any, ...]:
    strategy = sequences(2, dtype)
    return evaluation.realization_plan, (GAME, strategy, np.empty_like(strategy))


def best_total(dtype: Any) -> tuple[Any, ...]:
    return evaluation.best_total, (GAME, sequences(3, dtype, least=-1.0), np.zeros(2), None)


def compare(dtype: Any) -> tuple[Any, ...]:
    numbers = np.random.default_rng(4)
    hands = np.array([(i, j) for i in range(9) for j in range(i)])
    sets = subsets.all_sets(hands, 9)
    sides = []
    for _ in range(2):
        level = numbers.integers(0, 6, len(hands))
        order = np.argsort(level, kind="stable")
        sides.append(subsets.BoardHands(order, level, sets, numbers.random(len(hands))))
    return subsets.compare, (
        *sides,
        subsets.signs_of(2),
        subsets.sums_of(9, 2),
        np.zeros((len(hands), 3)),
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("call", [match_weights, realization_plan, best_total, compare])
def test_bits_in_python(
    call: Callable[[Any], tuple[Any, ...]], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, arguments = call(dtype)
    kernel(*arguments)
    compiled = _written(arguments)
    dispatcher, (_, arguments) = _dispatcher(kernel), call(dtype)
    monkeypatch.setattr(dispatcher, "steps_done", 0.0)
    monkeypatch.setattr(jit_ahead.KernelDispatcher, "is_missing", lambda self, sig: True)
    monkeypatch.setenv(jit_ahead.PYTHON_STEPS, "1000000")
    chosen = dispatcher._compile_for_args(*_bare(arguments))
    assert chosen == dispatcher._run_in_python
    assert dispatcher.steps_done > 0.0
    chosen(*_bare(arguments))
    assert _written(arguments) == compiled


def test_strengths_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = np.array([(i, j) for i in range(52) for j in range(i)])
    board = np.array([1, 5, 9, 30, 44])
    assert np.array_equal(strengths(board, hands), strengths._run_in_python(board, hands))


def _written(arguments: tuple[Any, ...]) -> list[bytes]:
    """Return the bits of the arrays that a kernel writes, which are the last arguments."""
    return [array.tobytes() for array in arguments[2:] if isinstance(array, np.ndarray)]


def _dispatcher(kernel: Any) -> Any:
    """Return the dispatcher of a kernel, which may be wrapped."""
    return kernel if hasattr(kernel, "steps") else kernel.__wrapped__


def _bare(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments that the wrapper of a kernel passes on."""
    first, *others = arguments
    return (getattr(first, "bare", first), *others)


def test_much_work_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """So are calls whose bits would differ, and calls after the work that is allowed."""
    dispatcher = _dispatcher(evaluation.match_weights)
    monkeypatch.setenv(jit_ahead.PYTHON_STEPS, "300")
    monkeypatch.setattr(dispatcher, "steps_done", 0.0)
    assert dispatcher._is_light(10)
    assert not dispatcher._is_light(11), "30 calls would be more than 300"
    dispatcher.steps_done = 295.0
    assert not dispatcher._is_light(10)
    weight = np.zeros(GAME.n_sequences)
    assert dispatcher.steps(GAME.bare, weight, 0.1, weight, None) == math.inf
    assert dispatcher.steps(GAME.bare, weight, 0.0, weight, "locks") == math.inf
    monkeypatch.setenv(jit_ahead.PYTHON_STEPS, "many")
    with pytest.raises(ValueError, match=r"TENSORCFR_PYTHON_STEPS must be .* not 'many'"):
        dispatcher._is_light(1)
