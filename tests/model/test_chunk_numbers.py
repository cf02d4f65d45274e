"""Where the numbers of chunks begin in a solver's arrays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tensorcfr.model.chunked_form import ROW, Entered, chunked


def test_no_chunk_begins_before_the_arrays() -> None:
    """Chunks with more entries than the trunk has sequences: a random game seldom has them."""
    shapes: Any = SimpleNamespace(
        spans=np.array([[5 * ROW, 7 * ROW], [2 * ROW, 3 * ROW]]),
        sequences=np.array([9 * ROW, 4 * ROW]),
    )
    trunk: Any = SimpleNamespace(n_sequences=3)
    none = np.zeros(0, dtype=np.int64)
    entered = Entered(np.zeros(3, dtype=np.int64), none, none, none, none)
    form = chunked(trunk, shapes, np.array([1, 0, 1]), entered)
    # Two rows of shape 0 and one of shape 1 are no entries; five rows before them are.
    assert form.number_offset.tolist() == [5 * ROW, 6 * ROW, 8 * ROW, 9 * ROW]
    assert form.sequence_offset.tolist() == [3 * ROW, ROW, 6 * ROW]
