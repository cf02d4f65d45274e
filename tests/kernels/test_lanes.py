"""The loops written in vectors, against the sums they stand for, lane by lane.

Every count from 0 to 200 takes every way through a step: none, all vectors, and a tail in each of
them.  What lies beside the lanes is NaN, which would show if it were read into a sum, and must
still be there afterwards, but for the rest of a sum's last step, which may hold anything.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from tensorcfr.payoff.lanes import VECTORS, WIDTH, dot, spread, weighted_sum


@numba.njit
def call_sum(code, weight, at, x, first, stride, rank, out, to, add, count):  # type: ignore[no-untyped-def]
    weighted_sum(code, weight, at, x, first, stride, rank, out, to, add, count)


@numba.njit
def call_spread(code, weight, at, out, first, stride, rank, scale, scale_at, z, z_at, count):  # type: ignore[no-untyped-def]
    spread(code, weight, at, out, first, stride, rank, scale, scale_at, z, z_at, count)


@numba.njit
def call_dot(x, y, first, count, out, to):  # type: ignore[no-untyped-def]
    dot(x, y, first, count, out, to)


STEP = WIDTH * VECTORS
COUNTS = range(201)
DTYPES = (np.float64, np.float32)
AT = 2
"""Where the terms are listed; what comes before belongs to another program."""


def whole_steps(count: int) -> int:
    """Lanes of all steps that so many lanes take."""
    return -(-count // STEP) * STEP


class Case:
    """Terms over hands, a rank for each hand, and room for the lanes of each."""

    def __init__(self, count: int, seed: int, *, hands: int = 6) -> None:
        self.rng = rng = np.random.default_rng([count, seed])
        self.count = count
        self.terms = rng.permutation(hands)[: rng.integers(0, hands + 1)]
        # Hands that are not possible share the rank of the next one, and are no terms.
        self.rank = np.arange(hands + 1)
        self.stride = count + int(rng.integers(0, 9))
        self.first = int(rng.integers(0, 40))
        self.size = self.first + hands * self.stride + count + 7
        self.weights = rng.normal(size=len(self.terms))
        self.code = np.array([99, 98, len(self.terms), *self.terms, 97])
        self.weight = np.array([np.nan, np.nan, np.nan, *self.weights, np.nan])

    def lanes(self, hand: int) -> slice:
        begin = self.first + int(self.rank[hand]) * self.stride
        return slice(begin, begin + self.count)

    def room(self, dtype: type) -> np.ndarray:
        """NaN but for the lanes of the terms."""
        x = np.full(self.size, np.nan, dtype=dtype)
        for hand in self.terms:
            x[self.lanes(hand)] = self.rng.normal(size=self.count)
        return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("add", [False, True])
def test_weighted_sum(add: bool, dtype: type) -> None:
    for count in COUNTS:
        case = Case(count, 2 * add)
        x = case.room(dtype)
        before = x.copy()
        to = int(case.rng.integers(0, 30))
        out = np.full(to + count + 50, np.nan)
        expected = out.copy()
        if add:
            out[to : to + count] = case.rng.normal(size=count)
            expected[to : to + count] = out[to : to + count]
        else:
            expected[to : to + count] = 0.0
        for hand, weight in zip(case.terms, case.weights, strict=True):
            for lane in range(count):
                expected[to + lane] += weight * float(x[case.lanes(hand)][lane])
        call_sum(
            case.code, case.weight, AT, x, case.first, case.stride, case.rank, out, to, add, count
        )
        out[to + count : to + whole_steps(count)] = np.nan
        np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14, err_msg=str(count))
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_spread(dtype: type) -> None:
    for count in COUNTS:
        case = Case(count, 5)
        out = case.room(dtype)
        scale_at, z_at = (int(place) for place in case.rng.integers(0, 30, size=2))
        scale, z = np.full(scale_at + count + 40, np.nan), np.full(z_at + count + 40, np.nan)
        scale[scale_at : scale_at + count] = case.rng.normal(size=count)
        z[z_at : z_at + count] = case.rng.normal(size=count)
        expected = out.astype(np.float64)
        for hand, weight in zip(case.terms, case.weights, strict=True):
            for lane in range(count):
                expected[case.lanes(hand).start + lane] += (
                    weight * scale[scale_at + lane] * z[z_at + lane]
                )
        call_spread(
            *(case.code, case.weight, AT, out, case.first, case.stride, case.rank),
            *(scale, scale_at, z, z_at, count),
        )
        assert out.dtype == dtype
        rtol, atol = (1e-12, 1e-14) if dtype is np.float64 else (1e-6, 1e-6)
        np.testing.assert_allclose(out, expected, rtol=rtol, atol=atol, err_msg=str(count))


def test_strides_of_nothing() -> None:
    """The empty sequence is one for all hands: a stride of 0 reads one place, and adds to one."""
    code, weight = np.array([3, 0, 1, 2]), np.array([0.0, 2.0, 3.0, 5.0])
    rank = np.arange(4)
    x, out = np.array([7.0, np.nan]), np.full(2 + STEP, np.nan)
    call_sum(code, weight, 0, x, 0, 0, rank, out, 1, False, 1)
    np.testing.assert_array_equal(out[:2], [np.nan, 70.0])
    assert np.isnan(out[1 + STEP])
    one = np.array([0.5, np.nan])
    call_spread(code, weight, 0, x, 0, 0, rank, one, 0, one, 0, 1)
    np.testing.assert_array_equal(x, [7.0 + 10 * 0.25, np.nan])


def test_hands_by_rank() -> None:
    """Only possible hands have lanes: ranks skip the others."""
    rank = np.array([0, 1, 1, 2, 2])
    code, weight = np.array([2, 0, 2]), np.array([0.0, 1.0, 10.0])
    x, out = np.arange(8.0), np.full(STEP, np.nan)
    call_sum(code, weight, 0, x, 0, 4, rank, out, 0, False, 4)
    np.testing.assert_array_equal(out[:4], x[:4] + 10 * x[4:])


def test_chained_in_place() -> None:
    """A class that begins with the one before adds to it where it lies, beside its own pools."""
    for count in (1, 7, 8, 31, 32, 33, 100, 128):
        scratch = np.random.default_rng(count).normal(size=3 * 128)
        pools, z = scratch[: 2 * 128].copy().reshape(2, 128), scratch[2 * 128 :].copy()
        code, weight = np.array([2, 0, 1]), np.array([0.0, -1.5, 0.25])
        call_sum(code, weight, 0, scratch, 0, 128, np.arange(3), scratch, 256, True, count)
        expected = z.copy()
        expected[:count] += -1.5 * pools[0, :count] + 0.25 * pools[1, :count]
        np.testing.assert_allclose(
            scratch[256 : 256 + count], expected[:count], rtol=1e-14, atol=1e-15
        )
        np.testing.assert_array_equal(scratch[:256], pools.ravel())


def test_no_terms() -> None:
    """A sum of nothing is 0, or what was there; nothing is spread to no hand."""
    code, weight, rank = np.array([0]), np.array([np.nan]), np.arange(2)
    x, out = np.full(9, np.nan), np.full(2 + STEP, np.nan)
    for add in (False, True):
        call_sum(code, weight, 0, x, 0, 1, rank, out, 2, add, 5)
        np.testing.assert_array_equal(out[:7], [np.nan] * 2 + [0.0] * 5)
    call_spread(code, weight, 0, out, 0, 1, rank, x, 0, x, 0, 5)
    np.testing.assert_array_equal(out[:7], [np.nan] * 2 + [0.0] * 5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_sum_of_products_is_that_of_exact_numbers(dtype: type) -> None:
    """Of every count of numbers, in float64; no other number is read into it or changed."""
    for count in COUNTS:
        rng = np.random.default_rng(count)
        first = int(rng.integers(0, 20))
        x, y = np.full((2, first + count + 9), np.nan, dtype)
        inside, out = slice(first, first + count), np.full(3, 7.0)
        x[inside], y[inside] = rng.normal(size=(2, count))
        call_dot(x, y, first, count, out, 1)
        products = x[inside].astype(np.float64) * y[inside]
        bound = 1e-15 * max(float(abs(products).sum()), 1e-300)
        assert out[1] == pytest.approx(math.fsum(products), rel=0, abs=8 * bound)
        assert out[0] == out[2] == 7.0
