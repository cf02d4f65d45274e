"""Tiles of lanes, beside indexing by numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcfr._util.jit import kernel
from tensorcfr.kernels.tiles import LONGEST, RUN, TILE, gather, run_length, scatter


@kernel
def by_tiles(
    parent: np.ndarray, array: np.ndarray, found: np.ndarray, sums: np.ndarray, tiles: np.ndarray
) -> int:
    """What the passes do: all lanes, tile by tile; returns how many tiles there are."""
    v = np.empty(LONGEST)
    begin, alike, count = 0, 0, 0
    while begin < len(parent):
        alike = run_length(parent, begin, min(LONGEST, len(parent) - begin), alike)
        length = alike if alike >= RUN else min(TILE, len(parent) - begin)
        gather(array, parent, begin, length, alike >= RUN, v)
        found[begin : begin + length] = v[:length]
        scatter(v, parent, begin, length, alike >= RUN, sums)
        tiles[count] = length
        begin += length
        count += 1
    return count


@pytest.mark.compiled
@pytest.mark.parametrize(
    "runs",
    [[1], [RUN - 1] * 9, [RUN] * 3, [167] * 20 + [250] * 3, [2 * LONGEST + 300, 5, 1128, 1128]],
)
def test_tiles_take_every_lane(runs: list[int]) -> None:
    rng = np.random.default_rng(len(runs))
    starts = rng.permutation(len(runs)) * (max(runs) + 2)
    parent = np.concatenate(
        [start + np.arange(length) for start, length in zip(starts, runs, strict=True)]
    ).astype(np.uint32)
    array = rng.random(int(parent.max()) + 1)
    found, tiles = np.full(len(parent), np.nan), np.zeros(len(parent), dtype=np.int64)
    sums = np.zeros(len(array))
    count = by_tiles(parent, array, found, sums, tiles)
    np.testing.assert_array_equal(found, array[parent])
    expected = np.zeros(len(array))
    np.add.at(expected, parent, found)
    np.testing.assert_array_equal(sums, expected)
    if min(runs) >= RUN and max(runs) <= LONGEST:
        assert tiles[:count].tolist() == runs
