"""Slices of arrays in kernels, which are translated by a step of our own, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcfr._util.jit import kernel

pytestmark = pytest.mark.fast

BOUNDS = (-9, -8, -7, -3, -1, 0, 1, 3, 6, 7, 8, 9, 2**62, -(2**62))


@kernel
def between(array: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return array[start:stop], array[start:], array[:stop]


def test_slices_are_numpys() -> None:
    array = np.arange(8.0)
    for start in BOUNDS:
        for stop in BOUNDS:
            wanted = array[start:stop], array[start:], array[:stop]
            for found, own in zip(between(array, start, stop), wanted, strict=True):
                assert np.array_equal(found, own)
                assert found.strides == own.strides
                assert not found.size or found.ctypes.data == own.ctypes.data


def test_a_slice_keeps_its_array() -> None:
    found, *_ = between(np.arange(1e6), 5, 10)
    np.ones(10**6)  # Would be written to what was freed.
    assert found.tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]


def test_slices_of_read_only_arrays_are_read_only() -> None:
    array = np.arange(8.0)
    array.flags.writeable = False
    assert not any(found.flags.writeable for found in between(array, 2, 5))
