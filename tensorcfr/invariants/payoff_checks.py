"""Invariants P: the payoff operator, and its agreement with the tree."""

from __future__ import annotations

import numpy as np

from .._util.limits import PAYOFF_TOLERANCE
from ..payoff import product
from .reader import Reader, check_follow, check_ranges, fail, first_true

TOGETHER = 1 << 16
"""Number of entries whose order is checked at a time; all at once would take more memory than the
game."""


def check_slice_ranges(reader: Reader) -> None:
    """Check the ranges of the players' slices, and that no slice is empty."""
    payoff = reader.entries
    for name in ("rows", "entries"):
        column = getattr(payoff, name)
        if (at := first_true(column < 1)) is not None:
            fail(f"payoff.{name}[{at}] is {column[at]}")
    check_ranges("payoff.slices", payoff.slices, len(payoff.row))


def check_slice_tiles(reader: Reader) -> None:
    """Check that the slices tile the entries in order."""
    payoff = reader.entries
    # Longer slices could overflow in the sum.
    if (at := first_true(payoff.rows > len(payoff.value) // payoff.entries)) is not None:
        fail(
            f"slice {at} has {payoff.rows[at]} rows of {payoff.entries[at]} entries, but there are "
            f"{len(payoff.value)}"
        )
    entries = payoff.rows * payoff.entries
    check_follow("slice", "entry", payoff.offset, entries, len(payoff.value))


def check_row_order(reader: Reader) -> None:
    """Check that the rows of a player are distinct sequences of the player, ascending."""
    form, payoff = reader.form, reader.entries
    owner = np.repeat(np.arange(form.n_players), np.diff(payoff.slices))
    begin, end = payoff.row, payoff.row + payoff.rows
    inside = (begin >= form.player_sequences[owner]) & (end <= form.player_sequences[owner + 1])
    if (at := first_true(~inside)) is not None:
        fail(
            f"slice {at} of player {owner[at]} has rows {begin[at]} to {end[at] - 1}, "
            "which are not all sequences of that player"
        )
    if (at := first_true((begin[1:] < end[:-1]) & (owner[1:] == owner[:-1]))) is not None:
        fail(
            f"slice {at + 1} begins at {reader.sequence(int(begin[at + 1]))}, which does not come "
            f"after the rows of slice {at}"
        )


def check_column(reader: Reader) -> None:
    """Check that the columns are sequences of the other players."""
    form, payoff = reader.form, reader.entries
    for player in range(form.n_players):
        entries = payoff.of_player(player)
        others = [other for other in range(form.n_players) if other != player]
        for column, other in zip(payoff.column[:, entries], others, strict=True):
            low, high = form.player_sequences[other], form.player_sequences[other + 1]
            if (at := first_true((column < low) | (column >= high))) is not None:
                row = int(reader.entry_row[entries.start + at])
                fail(
                    f"entry {entries.start + at}, of {reader.sequence(row)}, has column "
                    f"{column[at]}, which is not a sequence of player {other}"
                )


def check_entry_order(reader: Reader) -> None:
    """Check that the entries of a row are distinct and sorted by column."""
    payoff = reader.entries
    ends = payoff.offset + payoff.rows * (payoff.entries - 1)
    for begin in range(0, len(payoff.value), TOGETHER):
        here = np.arange(begin, min(begin + TOGETHER, len(payoff.value)))
        of = np.searchsorted(payoff.offset, here, side="right") - 1
        before_last = here < ends[of]
        here, of = here[before_last], of[before_last]
        # Entries are laid out [entry, row], so the next entry of a row is ``rows`` further on.
        below = here + payoff.rows[of]
        rises = np.zeros(len(here), dtype=bool)
        for column in payoff.column[::-1]:
            rises = (column[here] < column[below]) | ((column[here] == column[below]) & rises)
        if (at := first_true(~rises)) is not None:
            fail(
                f"the columns of {reader.sequence(int(reader.entry_row[here[at]]))} go from "
                f"{payoff.column[:, here[at]].tolist()} to "
                f"{payoff.column[:, below[at]].tolist()}"
            )


def check_value(reader: Reader) -> None:
    """Check that payoff values are finite."""
    value = reader.entries.value
    if (at := first_true(~np.isfinite(value))) is not None:
        row = int(reader.entry_row[at])
        fail(f"entry {at}, of {reader.sequence(row)}, has value {value[at]}")


def check_payoff(reader: Reader) -> None:
    """Check that the operator and the tree have the same payoffs.

    Both sides are multiplied by one fixed random vector over the sequences.  Two different
    operators give different products for almost every such vector, so entries need not be matched.
    """
    tree, form = reader.tree, reader.form
    weight = np.random.default_rng(0).uniform(0.5, 1.5, form.n_sequences)
    last, reach = reader.last_and_reach
    last, reach = last[:, tree.terminal], reach[tree.terminal]
    weights = weight[last]
    for player in range(form.n_players):
        own = form.of_player(player)
        size = own.stop - own.start
        others = np.delete(weights, player, axis=0).prod(axis=0)
        term = reach * tree.utility[:, player] * others
        row = last[player] - own.start
        in_tree = np.bincount(row, term, size)
        in_form = product(form, player, weight)
        off = np.abs(in_tree - in_form)
        if (off <= PAYOFF_TOLERANCE * np.abs(in_tree)).all():
            continue
        # Compare the residual with the sum of absolute terms, not with the cancelled sum.
        scale = np.bincount(row, np.abs(term), size)
        if (at := first_true(off > PAYOFF_TOLERANCE * scale)) is not None:
            fail(
                f"the payoffs of {reader.sequence(own.start + at)} differ: under one and the "
                f"same weights the tree gives {in_tree[at]:.12g}, the operator {in_form[at]:.12g}"
            )
