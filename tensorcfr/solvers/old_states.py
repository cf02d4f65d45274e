"""States that version 0.6 wrote, whose arrays have numbers for the entries of chunks, too."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import NamedTuple

import numpy as np

from ..kernels import evaluation
from ..kernels.pass_arrays import Numbers
from ..model.arrays import there
from ..model.chunks import ALIGNED, ROW, CardShapes, ChunkedForm, whole_rows
from .arguments import PACKED


class Run(NamedTuple):
    """Numbers that follow each other in old arrays and in those of today."""

    before: int
    now: int
    length: int


def runs_of(form: ChunkedForm) -> tuple[list[Run], int]:
    """Where the numbers of old arrays are today, and how many old numbers there were.

    Each player's numbers of a chunk began with the entries.
    """
    unit = 1 if isinstance(form.shapes, CardShapes) else ALIGNED
    found = [Run(0, 0, form.trunk.n_sequences)]
    at = whole_rows(form.trunk.n_sequences)
    counts = -(-np.diff(form.entry_offset, axis=1) // unit) * unit
    shapes = there(form.shapes)
    spans = -(-shapes.spans[form.shape] // unit) * unit
    for c, (entries, (first, end)) in enumerate(zip(counts.tolist(), spans.tolist(), strict=True)):
        middle = int(shapes.array(int(form.shape[c]), "player_sequences")[1])
        old, new = at, int(form.first[c])
        for before, count in zip(entries, (middle - first, end - middle), strict=True):
            found.append(Run(old + before, new, count))
            old, new = old + before + count, new + count
        at += whole_rows(old - at)
    return found, at


def leave_entries_out(form: ChunkedForm, kept: MutableMapping[str, np.ndarray]) -> None:
    """Take the numbers of entries out of the arrays of a state.

    In 16 bits rows are others than they were: numbers are packed again, each to the nearest.

    Args:
        form: The game.
        kept: The arrays as version 0.6 wrote them; modified in place.
    """
    runs, size = runs_of(form)
    is_packed = kept["regret"].dtype == PACKED
    scale = kept["scale"] if is_packed else np.zeros((0, 0))
    if is_packed:
        kept["scale"] = np.zeros((2, form.n_numbers // ROW, form.n_players), np.float32)
    for which, name in enumerate(("regret", "cumulative", "strategy", "memory")):
        if name not in kept or (array := kept[name]).shape[-1:] != (size,):
            continue
        if has_scale := which < len(scale):
            array = array * scale[which].repeat(ROW)
        kept[name] = found = np.zeros((*array.shape[:-1], form.n_numbers), array.dtype)
        for old, new, count in runs:
            found[..., new : new + count] = array[..., old : old + count]
        if has_scale:
            kept[name] = np.zeros(form.n_numbers, PACKED)
            numbers = Numbers(kept[name], kept["scale"][which], kept["trunk"][which].copy())
            evaluation.pack_parts(form, found, numbers)
