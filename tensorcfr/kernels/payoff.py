"""The payoff operator ``g = A x``: counterfactual payoffs of a player's sequences."""

from __future__ import annotations

import numpy as np

from ..compiled import SequenceForm
from .jit import inlined

NARROW = 4
"""Slices with fewer rows are summed row by row."""

TILE = 512
"""Rows whose sums are held in the first cache level while their entries stream by."""


@inlined
def payoff_product(form: SequenceForm, player: int, reach: np.ndarray, g: np.ndarray) -> None:
    """``g[s]`` = sum over the terminals whose last own sequence is ``s`` of chance probability
    times utility times the other players' reaches.

    Args:
        form: The game.
        player: Whose payoffs.
        reach: float64 (sequences,): own reach of every player's sequences.
        g: float64 (sequences,): the player's part is modified in place.
    """
    g[form.player_sequences[player] : form.player_sequences[player + 1]] = 0.0
    opponents = form.payoff_column.shape[0]
    for s in range(form.payoff_slices[player], form.payoff_slices[player + 1]):
        if opponents != 1:
            _any_opponents(form, s, reach, g)
        elif form.payoff_rows[s] < NARROW:
            _narrow(form, s, reach, g)
        else:
            _wide(form, s, reach, g)


@inlined
def _wide(form: SequenceForm, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Entry by entry, with rows as lanes; four entries at a time, which spares the sums."""
    rows, entries, column = form.payoff_rows[s], form.payoff_entries[s], form.payoff_column[0]
    for begin in range(0, rows, TILE):
        length = min(TILE, rows - begin)
        first = form.payoff_row[s] + begin
        out = g[first : first + length]
        at = form.payoff_offset[s] + begin
        e = 0
        while e + 4 <= entries:
            value0, other0 = form.payoff_value[at:], column[at:]
            value1, other1 = form.payoff_value[at + rows :], column[at + rows :]
            value2, other2 = form.payoff_value[at + 2 * rows :], column[at + 2 * rows :]
            value3, other3 = form.payoff_value[at + 3 * rows :], column[at + 3 * rows :]
            for r in range(length):
                out[r] += (value0[r] * reach[other0[r]] + value1[r] * reach[other1[r]]) + (
                    value2[r] * reach[other2[r]] + value3[r] * reach[other3[r]]
                )
            e += 4
            at += 4 * rows
        while e < entries:
            value, other = form.payoff_value[at:], column[at:]
            for r in range(length):
                out[r] += value[r] * reach[other[r]]
            e += 1
            at += rows


@inlined
def _narrow(form: SequenceForm, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Row by row, with four sums at a time: additions that wait for each other are slow."""
    rows, entries, column = form.payoff_rows[s], form.payoff_entries[s], form.payoff_column[0]
    for r in range(rows):
        a = b = c = d = 0.0
        at = form.payoff_offset[s] + r
        e = 0
        while e + 4 <= entries:
            a += form.payoff_value[at] * reach[column[at]]
            b += form.payoff_value[at + rows] * reach[column[at + rows]]
            c += form.payoff_value[at + 2 * rows] * reach[column[at + 2 * rows]]
            d += form.payoff_value[at + 3 * rows] * reach[column[at + 3 * rows]]
            e += 4
            at += 4 * rows
        while e < entries:
            a += form.payoff_value[at] * reach[column[at]]
            e += 1
            at += rows
        g[form.payoff_row[s] + r] = (a + b) + (c + d)


@inlined
def _any_opponents(form: SequenceForm, s: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Entry by entry, with the product of any number of players' reaches."""
    rows = form.payoff_rows[s]
    for e in range(form.payoff_entries[s]):
        at = form.payoff_offset[s] + e * rows
        for r in range(rows):
            weight = form.payoff_value[at + r]
            for j in range(form.payoff_column.shape[0]):
                weight *= reach[form.payoff_column[j, at + r]]
            g[form.payoff_row[s] + r] += weight
