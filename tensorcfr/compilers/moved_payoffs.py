"""Smaller form of a game of hidden moves: payoffs move to the sequences that decide them.

Where the deal makes the private information, terminals form blocks of hands
(:mod:`.payoff_blocks`).  Where hidden moves make it, every terminal is an entry of its own.  But
most of these payoffs do not depend on the last moves: a bid above all cards that the other player
has left wins the round against each of them.  If all actions of a player at an infoset have the
same payoff, it depends on the sequence before them, because the reaches after the actions add up to
the reach before.  So one entry takes the place of several.

Four changes leave every regret and every value as they are:

* The most frequent utility of a player is paid at the root, and subtracted at every terminal.
* The most frequent payoff of an infoset's actions moves to the sequence before the infoset, if that
  leaves fewer entries.  The differences to it stay.
* An infoset is *idle* if no payoff is left at or below its actions.  All its strategies have the
  same value, so the form has one infoset in place of all idle ones of a player with as many
  actions.
* Infosets and actions that the payoffs cannot tell apart become one (:mod:`.symmetric_choices`).

K. H. Zhang and T. Sandholm, "Sparsified Linear Programming for Zero-Sum Equilibrium Finding", ICML
2020, factor payoff matrices to the same end.
"""

from __future__ import annotations

import numpy as np

from .._util.limits import PAYOFF_ROUNDING
from .._util.memory_budget import reserve
from ..model.arrays import CHANCE, Copies, HistoryTree, SequenceForm
from ..model.flat_game import Merged
from ..payoff import count_entries
from ..payoff.entries import entries_of_players
from .form_of_histories import lay_out
from .symmetric_choices import ChoiceClasses, Entries, find_classes

BYTES_PER_TERMINAL = 150
"""Peak bytes per terminal while its payoff moves."""
ENTRIES_PER_SLICE = 12
"""Number of entries that a product processes in the time in which it begins a slice."""

ROOT_RATIO = 100.0
"""Largest ratio between the utility that is paid at the root and the mean absolute utility."""


def simplify(form: SequenceForm, tree: HistoryTree) -> Merged | None:
    """Return a form with the same regrets and fewer payoffs, or None if none are saved.

    Args:
        form: The sequence form of a game that is compiled from histories.
        tree: The histories.
    """
    reserve(BYTES_PER_TERMINAL * len(tree.terminal))
    last, reach = tree.traced(
        form.player_sequences[:-1], form.infoset_sequence, form.infoset_stride
    )
    last, reach = last[:, tree.terminal], reach[tree.terminal]
    paid_at_root = _most_frequent_utilities(tree, reach)
    moved = []
    for player, at_root in enumerate(paid_at_root.tolist()):
        entries = last, reach * (tree.utility[:, player] - at_root)
        if at_root:
            entries = _joined(entries, (form.player_sequences[:-1, None], np.array([at_root])))
        moved.append(_move(form, player, entries))
    before = sum(count_entries(form, player) for player in range(form.n_players))
    classes = find_classes(form, moved)
    if classes is None and sum(len(payoff) for _, payoff in moved) >= before:
        return None
    return _lay_out(form, moved, classes)


def _most_frequent_utilities(tree: HistoryTree, reach: np.ndarray) -> np.ndarray:
    """Return the most frequent utility of each player, float64 (players,).

    It is 0 unless the probabilities of every chance node sum to 1, apart from rounding: otherwise
    the probabilities of the terminals do not.  And it is 0 if it is not near the mean utility: of a
    large one, the rounding would be large next to regrets; a small one would be lost in sums.

    Args:
        tree: The histories.
        reach: float64 (terminals,): chance's reach of each terminal.
    """
    utilities = np.zeros(tree.utility.shape[1])
    chance = np.flatnonzero(tree.player == CHANCE)
    below = np.flatnonzero(tree.player[tree.parent[1:]] == CHANCE) + 1
    total = np.bincount(tree.parent[below], tree.probability[below], tree.n_nodes)[chance]
    outcomes = tree.first_child[chance + 1] - tree.first_child[chance]
    if (np.abs(total - 1.0) > PAYOFF_ROUNDING * outcomes).any():
        return utilities
    for player, utility in enumerate(tree.utility.T):
        values, count = np.unique(utility, return_counts=True)
        # One entry at the root takes the place of those that become 0.
        if count.max() <= np.count_nonzero(utility == 0.0) + 1:
            continue
        at_root, mean = values[count.argmax()], reach @ np.abs(utility) / reach.sum()
        if mean / ROOT_RATIO <= abs(at_root) <= mean * ROOT_RATIO:
            utilities[player] = at_root
    return utilities


def _joined(*parts: Entries) -> Entries:
    """Join entries."""
    last, payoff = zip(*parts, strict=True)
    return np.concatenate(last, axis=1), np.concatenate(payoff)


def _move(form: SequenceForm, player: int, entries: Entries) -> Entries:
    """Move the payoffs of a player up until no more entries are saved."""
    order = np.roll(np.arange(form.n_players), -1 - player).tolist()
    before = len(entries[1]) + 1
    while len(entries[1]) < before:
        before = len(entries[1])
        for mover in order:
            entries = _move_along(form, mover, entries)
    return entries


def _move_along(form: SequenceForm, mover: int, entries: Entries) -> Entries:
    """Move payoffs to earlier sequences of one player, and add entries with equal sequences."""
    first, end = form.player_buckets[mover : mover + 2].tolist()
    kept = []
    # From the deepest bucket up, because payoffs that move may move on.
    for bucket in range(end - 1, first - 1, -1):
        last, payoff = entries
        after = last[mover] >= form.bucket_sequence[bucket]
        stay, up = _split(form, mover, bucket, _added((last[:, after], payoff[after])))
        kept.append(stay)
        entries = _joined((last[:, ~after], payoff[~after]), up)
    return _joined(*kept, _added(entries))


def _added(entries: Entries) -> Entries:
    """Add entries with equal sequences, and drop those of payoff 0; the result is sorted."""
    last, payoff = entries
    order = np.lexsort(last[::-1])
    last, payoff = last[:, order], payoff[order]
    first = np.flatnonzero(_differs_from_previous(last))
    if len(first) < len(payoff):
        size = np.add.reduceat(np.abs(payoff), first)
        payoff = np.add.reduceat(payoff, first)
        # Payoffs that cancel leave a rounding error, which would decide ties.
        payoff[np.abs(payoff) <= PAYOFF_ROUNDING * size] = 0.0
        last = last[:, first]
    pays = payoff != 0.0
    return last[:, pays], payoff[pays]


def _differs_from_previous(columns: np.ndarray) -> np.ndarray:
    """Mark columns that differ from the one before, bool (columns,)."""
    new = np.ones(columns.shape[1], dtype=bool)
    new[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    return new


def _split(
    form: SequenceForm, mover: int, bucket: int, entries: Entries
) -> tuple[Entries, Entries]:
    """Split payoffs after the actions of a bucket into those that stay and those that move."""
    last, payoff = entries
    actions, lanes = int(form.bucket_actions[bucket]), int(form.bucket_lanes[bucket])
    action, lane = np.divmod(last[mover] - form.bucket_sequence[bucket], lanes)
    key = last.copy()
    key[mover] = lane
    order = np.lexsort(key)
    last, payoff, action, key = last[:, order], payoff[order], action[order], key[:, order]
    # A group has the payoffs of one infoset against one choice of the others' sequences.
    new = _differs_from_previous(key)
    group, first = np.cumsum(new) - 1, np.flatnonzero(new)
    paid = np.bincount(group, minlength=len(first))
    # With fewer payoffs, no number of equal ones saves an entry.
    candidates = np.flatnonzero((2 * paid > actions + 1) | (actions == 1))
    number = np.full(len(first), -1)
    number[candidates] = np.arange(len(candidates))
    inside = number[group] >= 0
    table = np.zeros((len(candidates), actions))
    table[number[group[inside]], action[inside]] = payoff[inside]
    common, count = _most_frequent(table)
    moves = (actions - count + 1 < paid[candidates]) | (actions == 1)
    number[candidates[~moves]] = -1
    stays = number[group] < 0
    table, common, example = table[moves], common[moves], first[candidates[moves]]
    rest = table - common[:, None]
    rest[np.abs(rest) <= PAYOFF_ROUNDING * np.abs(common)[:, None]] = 0.0
    row, left = np.nonzero(rest)
    lane, up = key[mover, example], last[:, example]
    differing = up[:, row]
    differing[mover] = form.bucket_sequence[bucket] + left * lanes + lane[row]
    up[mover] = form.infoset_parent[form.bucket_infoset[bucket] + lane]
    stay = _joined((last[:, stays], payoff[stays]), (differing, rest[row, left]))
    return stay, (up, common)


def _most_frequent(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the most frequent number of each row, and how often it occurs; numbers that differ by
    rounding are equal."""
    rows, width = table.shape
    ordered = np.sort(table, axis=1)
    new = np.ones((rows, width), dtype=bool)
    size = np.maximum(np.abs(ordered[:, 1:]), np.abs(ordered[:, :-1]))
    new[:, 1:] = np.diff(ordered, axis=1) > PAYOFF_ROUNDING * size
    begin = np.maximum.accumulate(np.where(new, np.arange(width), 0), axis=1)
    length = np.arange(width) - begin + 1
    row, best = np.arange(rows), length.argmax(axis=1)
    return ordered[row, begin[row, best]], length[row, best]


def _infosets_that_matter(form: SequenceForm, moved: list[Entries]) -> np.ndarray:
    """Return whether some payoff is left at or below the actions of each infoset, bool
    (infosets,)."""
    pays = np.zeros(form.n_sequences, dtype=bool)
    for last, _ in moved:
        pays[last] = True
    matters = np.zeros(form.n_infosets, dtype=bool)
    # The deepest buckets of a player come last; they mark sequences before them.
    for bucket in reversed(form.buckets):
        matters[bucket.infosets] = paid = bucket.table(pays).any(axis=0)
        pays[form.infoset_parent[bucket.infosets][paid]] = True
    return matters


def _lay_out(form: SequenceForm, moved: list[Entries], classes: ChoiceClasses | None) -> Merged:
    """Lay out the form of the payoffs that are left.

    It leaves out infosets with one action, as merged forms of private hands do, and has one infoset
    of each class.
    """
    n_players, owner, n_actions = form.n_players, form.infoset_player, form.infoset_actions
    merges = classes is not None
    if classes is None:
        same = np.arange(form.n_sequences)
        classes = ChoiceClasses(np.arange(form.n_infosets), same, same)
    forced = n_actions == 1
    # Other players may have payoffs against one member of a class, and none against another.
    weight = np.bincount(
        classes.infoset, _infosets_that_matter(form, moved), minlength=form.n_infosets
    )
    matters = weight[classes.infoset] > 0
    is_first = classes.infoset == np.arange(form.n_infosets)
    kept, idle = np.flatnonzero(matters & ~forced & is_first), np.flatnonzero(~matters & ~forced)
    kinds, kind = np.unique(np.stack([owner[idle], n_actions[idle]]), axis=1, return_inverse=True)
    owners = np.concatenate([owner[kept], kinds[0]])
    actions = np.concatenate([n_actions[kept], kinds[1]])
    first = n_players + np.cumsum(actions) - actions
    number = np.full(form.n_infosets, -1)
    number[kept], number[idle] = np.arange(len(kept)), len(kept) + kind
    number = number[classes.infoset]
    sequence = np.repeat(np.arange(n_players), np.diff(form.player_sequences))
    infoset, action = form.owners
    present = np.flatnonzero((infoset >= 0) & (number[infoset] >= 0))
    sequence[present] = first[number[infoset[present]]] + action[classes.sequence[present]]
    # Reaches and payoffs of copies are those of the first one.
    first_copy = np.arange(n_players + int(actions.sum()))
    followed = present[matters[infoset[present]]]
    first_copy[sequence[followed]] = sequence[classes.first[followed]]
    carrier = first_copy[form.carriers(sequence)]
    parent = np.concatenate([carrier[form.infoset_parent[kept]], kinds[0]])
    carried = [_added((carrier[last], payoff)) for last, payoff in moved]
    rows = np.concatenate([last[player] for player, (last, _) in enumerate(carried)])
    layout, _, place = lay_out(owners, actions, first, parent, rows, n_players)
    carried = [(place[last], payoff) for last, payoff in carried]
    if n_players == 2:
        bounds = layout["player_sequences"]
        carried = [_padded(entries, player, bounds) for player, entries in enumerate(carried)]
    entries = entries_of_players(carried)
    operator = () if entries.is_empty else (entries,)
    copies = _copies(first_copy, place, layout["bucket_sequence"]) if merges else None
    small = SequenceForm(**layout, operator=operator, copies=copies)
    return Merged(small, place[sequence].astype(np.uint32))


def _copies(first: np.ndarray, place: np.ndarray, bucket_sequence: np.ndarray) -> Copies:
    """Return the copies of a form.

    Args:
        first: int64 (sequences,): first copy of each sequence, before they are laid out.
        place: int64 (sequences,): final position of each sequence.
        bucket_sequence: int64 (buckets,): first sequence of each bucket.
    """
    count = np.bincount(first, minlength=len(first))[first]
    copies = np.flatnonzero(count > 1)
    bucket = np.searchsorted(bucket_sequence, place[copies], side="right") - 1
    order = np.lexsort((-place[copies], bucket))
    copies, bucket = copies[order], bucket[order]
    return Copies(
        bucket=np.searchsorted(bucket, np.arange(len(bucket_sequence) + 1)),
        sequence=place[copies].astype(np.uint32),
        first=place[first[copies]].astype(np.uint32),
        share_of=1.0 / count[copies],
    )


def _padded(entries: Entries, player: int, bounds: np.ndarray) -> Entries:
    """Add entries of payoff 0 if that joins slices of few rows into one.

    Args:
        entries: The entries of a player, of two.
        player: The player, whose sequences are the rows.
        bounds: int64 (players + 1,): first sequence of each player.
    """
    last, _ = entries
    order = np.lexsort((last[1 - player], last[player]))
    rows, columns = last[player][order] - bounds[player], last[1 - player][order]
    count = np.bincount(rows, minlength=bounds[player + 1] - bounds[player])
    missing = _joined_counts(count) - count
    to_pad = np.flatnonzero(missing)
    # As many columns as the padded row has entries include enough that it does not use yet.  They
    # are near those that it uses, so they are in the cache.
    width = (count + missing)[to_pad]
    low, high = bounds[1 - player], bounds[2 - player]
    begin = (np.cumsum(count) - count)[to_pad]
    nearest = np.append(columns, low)[np.where(count[to_pad] > 0, begin, len(columns))]
    start = np.minimum(nearest, high - width)
    padded = np.repeat(to_pad, width)
    offset = np.arange(len(padded)) - np.repeat(np.cumsum(width) - width, width)
    column = np.repeat(start, width) + offset
    free = ~np.isin(padded * high + column, rows * high + columns)
    # Of the free columns of a row, take the first ones.
    rank = np.cumsum(free)
    before: np.ndarray = (rank - free)[np.cumsum(width) - width]
    free &= rank - np.repeat(before, width) <= missing[padded]
    added = np.empty((2, np.count_nonzero(free)), dtype=np.int64)
    added[player], added[1 - player] = padded[free] + bounds[player], column[free]
    return _joined(entries, (added, np.zeros(added.shape[1])))


def _joined_counts(count: np.ndarray) -> np.ndarray:
    """Return the entries of each row after padding, int64 (rows,), from those before it.

    Runs of rows with equal counts are joined if that adds no more than :data:`ENTRIES_PER_SLICE`
    entries.
    """
    first = np.flatnonzero(np.diff(count, prepend=-1))
    length = np.diff(np.append(first, len(count)))
    joined = [[0, 0]]
    for rows, entries in zip(length.tolist(), count[first].tolist(), strict=True):
        before, most = joined[-1]
        common = max(most, entries)
        if before * (common - most) + rows * (common - entries) <= ENTRIES_PER_SLICE:
            joined[-1] = [before + rows, common]
        else:
            joined.append([rows, entries])
    rows, entries = np.array(joined).T
    return np.repeat(entries, rows)
