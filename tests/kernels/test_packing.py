"""Numbers in 16 bits: the vector instructions equal the NumPy beside them, and both the meaning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from tensorcfr._util.jit import kernel
from tensorcfr.kernels import packing
from tensorcfr.kernels.packing import StoredRange
from tensorcfr.model.chunked_form import ROW


@kernel
def compiled_unpack(own: StoredRange, found: np.ndarray) -> None:
    packing.unpack(own, found)


@kernel
def compiled_pack(found: np.ndarray, own: StoredRange) -> None:
    packing.pack(found, own)


@kernel
def compiled_add(reach: np.ndarray, share: float, own: StoredRange) -> None:
    packing.add(reach, share, own)


class Way(NamedTuple):
    """The pieces as Python has them, or as kernels have them."""

    unpack: Any
    pack: Any
    add: Any


PYTHON = Way(packing.unpack, packing.pack, packing.add)
COMPILED = Way(compiled_unpack, compiled_pack, compiled_add)
WAYS = pytest.mark.parametrize("way", [PYTHON, COMPILED], ids=["python", "compiled"])
SIZE = 5 * ROW + 3
BOTH = (0, 2 * ROW + 7), (2 * ROW + 7, SIZE)
"""The numbers of the players, who share the row in the middle."""


def drawn(seed: int, size: int = SIZE) -> np.ndarray:
    """Numbers of all sizes; a row of zeros, and one of numbers that are too small for a scale."""
    draw = np.random.default_rng(seed)
    numbers = (draw.normal(size=size) * 10.0 ** draw.integers(-9, 9, size)).astype(np.float32)
    numbers[ROW : 2 * ROW] = 0.0
    numbers[3 * ROW : 4 * ROW] *= np.float32(1e-38) / max(abs(numbers[3 * ROW : 4 * ROW]))
    return numbers


def nothing(size: int = SIZE) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in 16 bits, with room beyond them that nobody may touch, and their scales."""
    return np.full(size + ROW, 99, np.int16), np.full((-(-size // ROW), 2), -1.0, np.float32)


@WAYS
def test_the_largest_is_kept_and_the_others_are_the_nearest(way: Way) -> None:
    """To pack again changes nothing, nor does a player's packing the other's numbers."""
    numbers, (packed, scale) = drawn(1), nothing()
    found = np.empty_like(numbers)
    for player, own in enumerate(BOTH):
        way.pack(numbers, StoredRange(packed, scale, player, *own))
        way.unpack(StoredRange(packed, scale, player, *own), found)
    assert (packed[SIZE:] == 99).all()
    rows = [(row, 0) for row in range(3)] + [(row, 1) for row in range(2, 6)]
    for row, player in rows:
        first, last = BOTH[player]
        own = slice(max(row * ROW, first), min((row + 1) * ROW, last))
        most = np.abs(numbers[own]).max()
        if most < packing.LEAST:
            assert not packed[own].any()
            assert not found[own].any()
            continue
        assert np.abs(found[own] - numbers[own]).max() <= most / (2 * 32767) * (1 + 1e-6)
        assert np.abs(found[own]).max() == pytest.approx(most, rel=2.0**-22)
    again, scales = packed.copy(), scale.copy()
    for player, own in enumerate(BOTH):
        way.pack(found, StoredRange(again, scales, player, *own))
    np.testing.assert_array_equal(again, packed)
    way.pack(np.zeros_like(numbers), StoredRange(again, scales, 1, *BOTH[1]))
    middle = BOTH[1][0]
    assert not again[middle:SIZE].any()
    np.testing.assert_array_equal(again[:middle], packed[:middle])
    np.testing.assert_array_equal(scales[:, 0], scale[:, 0])


@WAYS
def test_halves_are_rounded_to_even_numbers(way: Way) -> None:
    """The nearest whole number, and of two that are equally near the even one."""
    numbers, (packed, scale) = np.zeros(ROW, np.float32), nothing(ROW)
    numbers[:5], numbers[-1] = (0.5, 1.5, -2.5, 100.49, -100.51), -32767.0
    way.pack(numbers, StoredRange(packed, scale, 0, 0, ROW))
    assert packed[:5].tolist() == [0, 2, -2, 100, -101]
    assert packed[ROW - 1] == -32767
    assert scale[0].tolist() == [1.0, -1.0]


@WAYS
@pytest.mark.parametrize("seed", range(4))
def test_what_is_added_to_an_average(way: Way, seed: int) -> None:
    """Unpacked, added to in floats and packed again; other numbers stay as they are."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(4 * ROW, 9 * ROW))
    begin = int(draw.integers(0, 3 * ROW))
    end = int(draw.integers(begin, size + 1))
    numbers, (packed, scale) = abs(drawn(seed, size)), nothing(size)
    reach, share = draw.random(size).astype(np.float32), float(draw.random() * 1e4)
    way.pack(numbers, StoredRange(packed, scale, 1, 0, size))
    before, scales, own = packed.copy(), scale.copy(), StoredRange(packed, scale, 1, begin, end)
    expected = np.zeros(size, np.float32)
    way.unpack(own, expected)
    # Exact in float64: rounded once, as where multiplication and addition are fused.
    sums = reach.astype(np.float64) * np.float32(share) + expected
    expected[begin:end] = sums[begin:end]
    way.add(reach, share, own)
    found = np.zeros(size, np.float32)
    way.unpack(own, found)
    for row in range(begin // ROW, -(-end // ROW)):
        inside = slice(max(begin, row * ROW), min(end, (row + 1) * ROW))
        most = expected[inside].max()
        assert np.abs(found[inside] - expected[inside]).max() <= most * 2.0**-16
    outside = np.ones(len(packed), dtype=bool)
    outside[begin:end] = False
    np.testing.assert_array_equal(packed[outside], before[outside])
    rows = slice(begin // ROW, -(-end // ROW))
    scale[rows, 1] = scales[rows, 1]
    np.testing.assert_array_equal(scale, scales)


@pytest.mark.parametrize("seed", range(6))
def test_instructions_equal_numpy(seed: int) -> None:
    """Bit for bit, for any part of a chunk."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(4 * ROW, 9 * ROW))
    begin = int(draw.integers(0, size))
    end = int(draw.integers(begin, size + 1))
    numbers, seen = drawn(seed, size), []
    for way in (PYTHON, COMPILED):
        packed, scale = nothing(size)
        found = np.zeros_like(numbers)
        own = StoredRange(packed, scale, seed % 2, begin, end)
        way.pack(numbers, own)
        way.unpack(own, found)
        seen.append((packed, scale, found))
    for one, other in zip(*seen, strict=True):
        assert one.tobytes() == other.tobytes()


@WAYS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_are_worked_on_in_place(way: Way, dtype: Any) -> None:
    """Numbers without a scale stay where they are; reaches are added there."""
    draw = np.random.default_rng(3)
    numbers, reach = draw.random((2, 100)).astype(dtype)
    before, own = numbers.copy(), StoredRange(numbers, None, 0, 7, 90)
    found = np.zeros_like(numbers)
    way.unpack(own, found)
    way.pack(found, own)
    assert not found.any()
    np.testing.assert_array_equal(numbers, before)
    way.add(reach, 3.0, own)
    before[7:90] += dtype(3.0) * reach[7:90]
    np.testing.assert_allclose(numbers, before, rtol=4 * np.finfo(dtype).eps)
