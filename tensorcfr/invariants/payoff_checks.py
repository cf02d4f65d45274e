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
        if (i := first_true(column < 1)) is not None:
            fail(f"payoff.{name}[{i}] is {column[i]}")
    check_ranges("payoff.slices", payoff.slices, len(payoff.row))


def check_slice_tiles(reader: Reader) -> None:
    """Check that the slices tile the entries in order."""
    payoff = reader.entries
    # Longer slices could overflow in the sum.
    if (i := first_true(payoff.rows > len(payoff.value) // payoff.entries)) is not None:
        fail(
            f"slice {i} has {payoff.rows[i]} rows of {payoff.entries[i]} entries, but there are "
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
    if (i := first_true(~inside)) is not None:
        fail(
            f"slice {i} of player {owner[i]} has rows {begin[i]} to {end[i] - 1}, "
            "which are not all sequences of that player"
        )
    if (i := first_true((begin[1:] < end[:-1]) & (owner[1:] == owner[:-1]))) is not None:
        fail(
            f"slice {i + 1} begins at {reader.sequence(int(begin[i + 1]))}, which does not come "
            f"after the rows of slice {i}"
        )


def check_column(reader: Reader) -> None:
    """Check that the columns are sequences of the other players."""
    form, payoff = reader.form, reader.entries
    for player in range(form.n_players):
        entries = payoff.of_player(player)
        others = [opponent for opponent in range(form.n_players) if opponent != player]
        for column, opponent in zip(payoff.column[:, entries], others, strict=True):
            low, high = form.player_sequences[opponent], form.player_sequences[opponent + 1]
            if (index := first_true((column < low) | (column >= high))) is not None:
                row = int(reader.entry_row[entries.start + index])
                fail(
                    f"entry {entries.start + index}, of {reader.sequence(row)}, has column "
                    f"{column[index]}, which is not a sequence of player {opponent}"
                )


def check_entry_order(reader: Reader) -> None:
    """Check that the entries of a row are distinct and sorted by column."""
    payoff = reader.entries
    ends = payoff.offset + payoff.rows * (payoff.entries - 1)
    for begin in range(0, len(payoff.value), TOGETHER):
        entries = np.arange(begin, min(begin + TOGETHER, len(payoff.value)))
        slices = np.searchsorted(payoff.offset, entries, side="right") - 1
        before_last = entries < ends[slices]
        entries, slices = entries[before_last], slices[before_last]
        # Entries are laid out [entry, row], so the next entry of a row is ``rows`` further on.
        next_entries = entries + payoff.rows[slices]
        rises = np.zeros(len(entries), dtype=bool)
        for column in payoff.column[::-1]:
            rises = (column[entries] < column[next_entries]) | (
                (column[entries] == column[next_entries]) & rises
            )
        if (index := first_true(~rises)) is not None:
            fail(
                f"the columns of {reader.sequence(int(reader.entry_row[entries[index]]))} go from "
                f"{payoff.column[:, entries[index]].tolist()} to "
                f"{payoff.column[:, next_entries[index]].tolist()}"
            )


def check_value(reader: Reader) -> None:
    """Check that payoff values are finite."""
    value = reader.entries.value
    if (entry := first_true(~np.isfinite(value))) is not None:
        row = int(reader.entry_row[entry])
        fail(f"entry {entry}, of {reader.sequence(row)}, has value {value[entry]}")


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
        own_range = form.of_player(player)
        size = own_range.stop - own_range.start
        others = np.delete(weights, player, axis=0).prod(axis=0)
        term = reach * tree.utility[:, player] * others
        row = last[player] - own_range.start
        in_tree = np.bincount(row, term, size)
        in_form = product(form, player, weight)
        residual = np.abs(in_tree - in_form)
        if (residual <= PAYOFF_TOLERANCE * np.abs(in_tree)).all():
            continue
        # Compare the residual with the sum of absolute terms, not with the cancelled sum.
        scale = np.bincount(row, np.abs(term), size)
        if (i := first_true(residual > PAYOFF_TOLERANCE * scale)) is not None:
            fail(
                f"the payoffs of {reader.sequence(own_range.start + i)} differ: under one and the "
                f"same weights the tree gives {in_tree[i]:.12g}, the operator {in_form[i]:.12g}"
            )
