"""Arrays that are appended to."""

from __future__ import annotations

import numpy as np

from tensorcfr._util.growing import GrowingArray


def test_numbers_come_in_order_and_are_not_there_twice() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.integers(0, 9, size=int(n)).astype(np.uint32) for n in rng.integers(0, 3000, 200)]
    own = GrowingArray(np.uint32)
    begins = [own.append(part) for part in parts]
    assert begins == [0, *np.cumsum([len(part) for part in parts])[:-1].tolist()]
    # A sixteenth of room ahead at most, and a thousand numbers while it is small.
    assert len(own._array) <= own.size * 17 / 16 + (1 << 10)
    np.testing.assert_array_equal(own.finish(), np.concatenate(parts))
    assert GrowingArray(float).finish().shape == (0,)
    square = GrowingArray(np.int64)
    square.append(np.arange(6).reshape(2, 3))
    assert square.finish().tolist() == [0, 1, 2, 3, 4, 5]
