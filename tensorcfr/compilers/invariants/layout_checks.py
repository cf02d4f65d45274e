"""Invariants S, H and R: the layout of infosets and sequences, the hands of a bucket's lanes, and
infosets that share one strategy; also their agreement with the tree."""

from __future__ import annotations

import numpy as np

from ..._util.violations import check_ranges, fail, first_true, outside
from .reader import Reader


def check_player_ranges(reader: Reader) -> None:
    """Check the ranges of the players."""
    form = reader.form
    check_ranges("player_infosets", form.player_infosets, form.n_infosets)
    check_ranges("player_sequences", form.player_sequences, None, least=1)
    check_ranges("player_buckets", form.player_buckets, len(form.bucket_level))


def check_empty_bucket(reader: Reader) -> None:
    """Check that no bucket is empty."""
    form = reader.form
    for name, least, most in (
        ("level", 0, len(form.bucket_level)),
        ("actions", 1, form.n_sequences),
        ("lanes", 1, form.n_infosets),
    ):
        column = getattr(form, f"bucket_{name}")
        if (bucket := outside(column, least, most + 1)) is not None:
            fail(f"bucket_{name}[{bucket}] is {column[bucket]}")


def check_bucket_order(reader: Reader) -> None:
    """Check that buckets of a player are sorted by level, number of actions and mask, and that no
    level is missing."""
    form = reader.form
    key = np.stack([form.bucket_level, form.bucket_actions, form.bucket_mask])
    rises = np.zeros(key.shape[1] - 1 if key.shape[1] else 0, dtype=bool)
    # Lexicographic order: start with the least significant column.
    for column in key[::-1]:
        step = np.diff(column)
        rises = (step > 0) | ((step == 0) & rises)
    if (i := first_true(~rises & (np.diff(reader.bucket_player) == 0))) is not None:
        first, second = (tuple(key[:, b].tolist()) for b in (i, i + 1))
        fail(f"bucket {i} has (level, actions, mask) {first}, but bucket {i + 1} has {second}")
    # The levels of a player begin at 0 and have no gaps.
    previous_level = np.append(-1, form.bucket_level[:-1])
    previous_level[form.player_buckets[:-1][np.diff(form.player_buckets) > 0]] = -1
    if (bucket := first_true(form.bucket_level > previous_level + 1)) is not None:
        fail(
            f"bucket {bucket} is at level {form.bucket_level[bucket]}, but player "
            f"{reader.bucket_player[bucket]} has none at level {form.bucket_level[bucket] - 1}"
        )


def check_tiles(what: str, reader: Reader) -> None:
    """Check that the buckets tile the infosets, or the sequences; a player's sequences begin with
    the empty one."""
    form = reader.form
    empty = int(what == "sequence")
    sizes = form.bucket_lanes * (form.bucket_actions if empty else 1)
    starts, players = getattr(form, f"bucket_{what}"), getattr(form, f"player_{what}s")
    ends = np.append(0, np.cumsum(sizes))
    begins = ends[:-1] + empty * (reader.bucket_player + 1)
    if (bucket := first_true(starts != begins)) is not None:
        fail(f"bucket {bucket} begins at {what} {starts[bucket]}, not {begins[bucket]}")
    covered = ends[form.player_buckets] + empty * np.arange(form.n_players + 1)
    if (player := first_true(covered != players)) is not None:
        fail(
            f"the buckets before player {player} end at {what} {covered[player]}, "
            f"but player_{what}s[{player}] is {players[player]}"
        )


def check_parent_owner(reader: Reader) -> None:
    """Check that an infoset's parent is a sequence of the same player."""
    form = reader.form
    for player in range(form.n_players):
        begin, end = form.player_infosets[player : player + 2].tolist()
        low, high = form.player_sequences[player : player + 2].tolist()
        if (index := outside(form.infoset_parent[begin:end], low, high)) is not None:
            fail(
                f"{reader.infoset(begin + index)} of player {player} has the parent "
                f"{form.infoset_parent[begin + index]}, which is none of this player's sequences"
            )


def check_parent_level(reader: Reader) -> None:
    """Check that the level of an infoset is larger than the level of its parent, unless the parent
    is empty."""
    form = reader.form
    for bucket, player in enumerate(reader.bucket_player.tolist()):
        level, begin = int(form.bucket_level[bucket]), int(form.bucket_infoset[bucket])
        # Valid parents: the empty sequence, the buckets before those of this level, and entries.
        same = (form.bucket_level == level) & (reader.bucket_player == player)
        low, high = int(form.player_sequences[player]), int(form.bucket_sequence[same][0])
        parents = form.infoset_parent[begin : begin + form.bucket_lanes[bucket]]
        last = form.player_buckets[player + 1] - 1
        end = form.bucket_sequence[last] + form.bucket_actions[last] * form.bucket_lanes[last]
        if (
            lane := first_true((parents < low) | ((parents >= high) & (parents < end)))
        ) is not None:
            parent = int(parents[lane])
            parent_bucket = int(reader.sequence_bucket(np.array(parent)))
            fail(
                f"{reader.infoset(begin + lane)} is at level {level}, but its parent, "
                f"{reader.sequence(parent)}, is at level {form.bucket_level[parent_bucket]}"
            )


def check_owner(reader: Reader) -> None:
    """Check that the acting player at a history owns its infoset."""
    tree, deciding = reader.tree, reader.deciding
    owner = reader.form.infoset_player[tree.infoset[deciding]]
    if (index := first_true(tree.player[deciding] != owner)) is not None:
        node = int(deciding[index])
        fail(
            f"player {tree.player[node]} acts at {reader.node(node)}, but "
            f"{reader.infoset(int(tree.infoset[node]))} is player {owner[index]}'s"
        )


def check_infoset_use(reader: Reader) -> None:
    """Check that every infoset has a history."""
    used = np.zeros(reader.form.n_infosets, dtype=bool)
    used[reader.tree.infoset[reader.deciding]] = True
    if (infoset := first_true(~used)) is not None:
        fail(f"{reader.infoset(infoset)} has none")


def check_child_count(reader: Reader) -> None:
    """Check that a history has as many children as its infoset has actions."""
    tree, deciding = reader.tree, reader.deciding
    actions = reader.form.infoset_actions[tree.infoset[deciding]]
    if (index := first_true(reader.children[deciding] != actions)) is not None:
        node = int(deciding[index])
        fail(
            f"{reader.node(node)} has {reader.children[node]} children, but "
            f"{reader.infoset(int(tree.infoset[node]))} has {actions[index]} actions"
        )


def check_recall(reader: Reader) -> None:
    """Check that the last own sequence of the acting player is the parent of the infoset."""
    tree, deciding = reader.tree, reader.deciding
    last, _ = reader.last_and_reach
    last_sequence = last[tree.player[deciding], deciding]
    parent = reader.form.infoset_parent[tree.infoset[deciding]]
    if (index := first_true(last_sequence != parent)) is not None:
        node = int(deciding[index])
        fail(
            f"player {tree.player[node]} reaches {reader.node(node)} by "
            f"{reader.sequence(int(last_sequence[index]))}, but the parent of "
            f"{reader.infoset(int(tree.infoset[node]))} is {reader.sequence(int(parent[index]))}"
        )


def check_hand_rank(reader: Reader) -> None:
    """Check that every row of ``hand_rank`` counts hands."""
    rank = reader.form.hand_rank
    steps = np.diff(rank, axis=1)
    wrong = (rank[:, 0] != 0) | ((steps != 0) & (steps != 1)).any(axis=1)
    if (mask := first_true(wrong)) is not None:
        fail(f"hand_rank[{mask}] is {rank[mask].tolist()}, which does not count from 0")


def check_mask(reader: Reader) -> None:
    """Check that masks exist."""
    mask, masks = reader.form.bucket_mask, len(reader.form.hand_rank)
    if (bucket := outside(mask, 0, masks)) is not None:
        fail(f"bucket_mask[{bucket}] is {mask[bucket]}, not 0 to {masks - 1}")


def check_lanes(reader: Reader) -> None:
    """Check that the lanes are hands x public nodes."""
    form = reader.form
    hands = form.hand_rank[form.bucket_mask, -1]
    # A stride beyond the lanes could overflow in the product.
    wrong = (form.bucket_stride * hands != form.bucket_lanes) | (
        form.bucket_stride > form.bucket_lanes
    )
    if (bucket := first_true(wrong)) is not None:
        fail(
            f"bucket {bucket} has {form.bucket_lanes[bucket]} lanes for {hands[bucket]} hands "
            f"with {form.bucket_stride[bucket]} public nodes each"
        )


def check_shared(reader: Reader) -> None:
    """Check that infosets that share a strategy have one player and equally many actions."""
    game, form = reader.game, reader.form
    if len(game.strategy_class) != form.n_infosets:
        fail(f"tied_to has {len(game.strategy_class)} entries for {form.n_infosets} infosets")
    infosets, first = np.arange(form.n_infosets), game.strategy_class.astype(np.int64)
    if (i := first_true(first > infosets)) is not None:
        fail(f"{reader.infoset(i)} shares the strategy of {int(first[i])}, which comes after it")
    if (i := first_true(first[first] != first)) is not None:
        fail(
            f"{reader.infoset(i)} shares the strategy of {int(first[i])}, which shares that "
            "of another infoset"
        )
    shared = {"player": form.infoset_player, "number of actions": form.infoset_actions}
    for name, array in shared.items():
        if (i := first_true(array[first] != array)) is not None:
            fail(f"{reader.infoset(i)} shares the strategy of {int(first[i])} of another {name}")


def check_absent_minded(reader: Reader) -> None:
    """Check that no infoset shares a strategy with an earlier infoset of its player on the same
    path."""
    tied_to, form = reader.game.strategy_class, reader.form
    passed = before = form.owners[0][form.infoset_parent]
    # Go up one own infoset at a time, for all infosets together.
    while (passed >= 0).any():
        if (i := first_true((passed >= 0) & (tied_to[passed] == tied_to))) is not None:
            fail(
                f"{reader.infoset(i)} shares the strategy of infoset {int(passed[i])}, which "
                "is before it on a path"
            )
        passed = np.where(passed >= 0, before[passed], -1)
