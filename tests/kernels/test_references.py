"""References to arrays are counted where a kernel makes or returns one, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError
from numba.core.runtime import _nrt_python, rtsys

from support.random_games import random_public_tree_game
from tensorcfr import Solver, compile_game
from tensorcfr._util import jit
from tensorcfr._util.jit import borrowed as lent
from tensorcfr._util.jit import inlined, kernel, lends
from tensorcfr.kernels import chunk_passes

pytestmark = pytest.mark.compiled


@pytest.fixture
def counted() -> Iterator[None]:
    """Numba counts the arrays that it makes and frees."""
    was = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield
    if not was:
        _nrt_python.memsys_disable_stats()


def arrays_left() -> int:
    """Arrays that numba has made and not freed."""
    stats = rtsys.get_allocation_stats()
    return int(stats.mi_alloc - stats.mi_free)


@inlined
def a_view(array: np.ndarray, first: int) -> np.ndarray:
    """Returns what the kernel counts."""
    return array[first:]


@inlined
def a_new_one(array: np.ndarray) -> np.ndarray:
    """Makes an array."""
    return array + 1.0


@inlined
def a_sum(array: np.ndarray) -> float:
    """Makes an array, and returns none."""
    found: float = (array[1:] * array[:-1]).sum() + np.median(array)
    return found


@inlined
def a_shift(array: np.ndarray) -> None:
    """Assigns a slice to one that it overlaps with."""
    array[1:] = array[:-1]


@inlined
def borrowed(array: np.ndarray, pair: tuple[np.ndarray, np.ndarray]) -> float:
    """Makes none: takes a tuple apart, takes views, and calls a piece that returns one."""
    one, other = pair
    total = 0.0
    for first in range(3):
        part = array[first:]
        for i in range(len(part) - 1):
            total += part[i] * one[i] + other[i]
    return total


@lends
@inlined
def a_part(pair: tuple[np.ndarray, np.ndarray], which: int) -> tuple[np.ndarray, int]:
    """Lends a view of what it was given."""
    return lent((pair[0][which:], which))


@inlined
def reader(pair: tuple[np.ndarray, np.ndarray]) -> float:
    """Makes none: reads what is lent."""
    part, which = a_part(pair, 2)
    found: float = part[0] + which
    return found


@kernel
def all_of_them(array: np.ndarray, rounds: int) -> float:
    """Calls each piece again and again."""
    total = 0.0
    for _ in range(rounds):
        total += a_view(array, 2)[0] + a_new_one(array)[1] + a_sum(array)
        total += borrowed(array, (array, array[1:])) + reader((array, array))
        total += a_part((array, array), 3)[0][1]
        a_shift(array)
    return total


def test_pieces_of_every_kind(counted: None) -> None:
    """They compute what Python computes, and every array is freed, once."""
    expected, array = np.arange(1.0, 9.0), np.arange(1.0, 9.0)
    want = all_of_them.py_func(expected, 5)
    all_of_them(array.copy(), 1)
    before = arrays_left()
    assert all_of_them(array, 5) == want
    np.testing.assert_array_equal(array, expected)
    assert arrays_left() == before


@pytest.mark.full
def test_solvers_free_what_they_make(counted: None) -> None:
    """Iterations and evaluations leave no array behind, flat and in chunks."""
    game = random_public_tree_game(3)
    solvers = (
        Solver(compile_game("kuhn"), "cfr+"),
        Solver(compile_game(game, cut=2), "cfr+"),
    )
    for solver in solvers:
        solver.iterate(2)
        solver.evaluate()
        before = arrays_left()
        solver.iterate(20)
        solver.evaluate()
        assert arrays_left() == before


@pytest.mark.full
def test_a_pass_over_chunks_counts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    # Compiled anew: code from the cache cannot be looked at.
    kernel = numba.njit(**jit._KERNEL)(chunk_passes.run_passes.py_func)
    monkeypatch.setattr(chunk_passes, "run_passes", kernel)
    Solver(compile_game("kuhn", cut=1), "cfr+").iterate(1)
    (code,) = kernel.inspect_llvm().values()
    passes = re.search(r"\ndefine [^\n]*10run_passes\d.*?\n}", code, re.DOTALL)
    # The kernel frees its scratch at the end, and that is all.
    assert "NRT_incref" not in passes[0]
    assert passes[0].count("NRT_decref") <= 4


@kernel
def lends_what_it_makes(array: np.ndarray) -> float:
    """Wrong: the new array would be freed before it is used."""
    new = array + 1.0
    (found,) = lent((new[1:],))
    total: float = found.sum()
    return total


@kernel
def lends_what_it_is_given(array: np.ndarray) -> float:
    first, second = lent((array[1:], array))
    total: float = first.sum() + second.sum()
    return total


def test_an_array_that_is_made_in_a_piece_cannot_be_lent_there() -> None:
    assert lends_what_it_is_given(np.arange(3.0)) == 6.0
    with pytest.raises(TypingError, match="an array that lends_what_it_makes makes"):
        lends_what_it_makes(np.arange(3.0))
