"""Invariants M: the merged form, and which of its sequences stands for what."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._util.limits import PAYOFF_TOLERANCE
from ..model.game import Merged
from ..payoff import magnitudes, product
from .reader import Reader, first_true


def merged_of(reader: Reader) -> tuple[Merged, Reader]:
    """The merged form of a game that has one, and how to look at it."""
    assert reader.game.merged is not None
    return reader.game.merged, Reader(reader.game, reader.game.merged.form)


def omitted_buckets(reader: Reader) -> np.ndarray:
    """Buckets of infosets with one action that the merged form leaves out, ascending."""
    merged, small = merged_of(reader)
    form = reader.form
    empty = small.form.player_sequences[reader.bucket_player]
    return np.flatnonzero(merged.sequence[form.bucket_sequence] == empty)


def merged_with_same_reach(reader: Reader) -> np.ndarray:
    """For every sequence the merged one that has its reach, int64 (sequences,): that of the
    sequence before where it is left out."""
    merged, _ = merged_of(reader)
    form = reader.form
    found = merged.sequence.astype(np.int64)
    for bucket in omitted_buckets(reader).tolist():
        begin, infoset = int(form.bucket_sequence[bucket]), int(form.bucket_infoset[bucket])
        lanes = int(form.bucket_lanes[bucket])
        found[begin : begin + lanes] = found[form.infoset_parent[infoset : infoset + lanes]]
    return found


def check_sequence_map(reader: Reader) -> str | None:
    """A sequence of the same player for every sequence; the empty one for the empty one, and for
    those of infosets with one action that are left out."""
    merged, small = merged_of(reader)
    sequence, form = merged.sequence, reader.form
    if len(sequence) != form.n_sequences:
        return f"there are {len(sequence)} for {form.n_sequences} sequences"
    sure = np.zeros(form.n_sequences, dtype=bool)
    sure[form.player_sequences[:-1]] = True
    for bucket in np.flatnonzero(form.bucket_actions == 1).tolist():
        begin = int(form.bucket_sequence[bucket])
        sure[begin : begin + int(form.bucket_lanes[bucket])] = True
    for player in range(form.n_players):
        begin, end = form.player_sequences[player : player + 2].tolist()
        low, high = small.form.player_sequences[player : player + 2].tolist()
        own = sequence[begin:end]
        wrong = (own < low) | (own >= high) | ((own == low) & ~sure[begin:end])
        wrong[0] |= own[0] != low
        if (at := first_true(wrong)) is not None:
            return f"{own[at]} stands for {reader.sequence(begin + at)} of player {player}"
    return None


def _buckets(reader: Reader) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Every bucket that is not left out: its number; int64 (actions, lanes): what stands for its
    sequences; int64 (lanes,): the merged bucket of the first action."""
    merged, small = merged_of(reader)
    form = reader.form
    kept = np.setdiff1d(np.arange(len(form.bucket_lanes)), omitted_buckets(reader))
    for bucket in kept.tolist():
        begin = int(form.bucket_sequence[bucket])
        lanes, actions = int(form.bucket_lanes[bucket]), int(form.bucket_actions[bucket])
        to = merged.sequence[begin : begin + actions * lanes].reshape(actions, lanes)
        yield bucket, to.astype(np.int64), small.sequence_bucket(to[0])


def check_action(reader: Reader) -> str | None:
    """The actions of an infoset become those of one infoset, in order."""
    small = merged_of(reader)[1].form
    for bucket, to, of in _buckets(reader):
        actions = len(to)
        wrong = small.bucket_actions[of] != actions
        wrong |= to[0] - small.bucket_sequence[of] >= small.bucket_lanes[of]
        steps = np.arange(actions)[:, None] * small.bucket_lanes[of]
        wrong |= (to != to[0] + steps).any(axis=0)
        if (lane := first_true(wrong)) is not None:
            infoset = int(reader.form.bucket_infoset[bucket]) + lane
            return f"{to[:, lane].tolist()} stand for the actions of {reader.infoset(infoset)}"
    return None


def check_parent(reader: Reader) -> str | None:
    """What stands for an infoset's parent is the parent of what stands for the infoset."""
    _, small = merged_of(reader)
    carrier = merged_with_same_reach(reader)
    for bucket, to, of in _buckets(reader):
        begin, lanes = int(reader.form.bucket_infoset[bucket]), to.shape[1]
        infoset = small.form.bucket_infoset[of] + to[0] - small.form.bucket_sequence[of]
        parent = carrier[reader.form.infoset_parent[begin : begin + lanes]]
        wanted = small.form.infoset_parent[infoset]
        if (lane := first_true(parent != wanted)) is not None:
            return (
                f"infoset {infoset[lane]}, of parent {wanted[lane]}, stands for "
                f"{reader.infoset(begin + lane)}, and {parent[lane]} for its parent"
            )
    return None


def check_merged_use(reader: Reader) -> str | None:
    """Every merged sequence stands for one."""
    merged, small = merged_of(reader)
    used = np.zeros(small.form.n_sequences, dtype=bool)
    used[merged.sequence] = True
    if (sequence := first_true(~used)) is not None:
        return f"merged {small.sequence(sequence)} stands for none"
    return None


def check_payoff(reader: Reader) -> str | None:
    """Against opponents who play alike in what is merged, each sequence has an equal share of
    the payoff of the one that stands for it.

    Opponents play alike under a random weight per merged sequence, as in P7.
    """
    merged, small = merged_of(reader)
    small_weight = np.random.default_rng(0).uniform(0.5, 1.5, small.form.n_sequences)
    weight = small_weight[merged_with_same_reach(reader)]
    stood_for = np.ones(reader.form.n_sequences, dtype=bool)
    for bucket in omitted_buckets(reader).tolist():
        begin = int(reader.form.bucket_sequence[bucket])
        stood_for[begin : begin + int(reader.form.bucket_lanes[bucket])] = False
    members = np.bincount(merged.sequence[stood_for], minlength=small.form.n_sequences)
    for player in range(reader.form.n_players):
        begin, end = reader.form.player_sequences[player : player + 2].tolist()
        low, high = small.form.player_sequences[player : player + 2].tolist()
        given = _passed_up(reader, player, product(reader.form, player, weight))
        share = product(small.form, player, small_weight) / members[low:high]
        to = merged.sequence[begin:end].astype(np.int64)
        off = np.where(stood_for[begin:end], np.abs(given - share[to - low]), 0.0)
        if (off <= PAYOFF_TOLERANCE * np.abs(given)).all():
            continue
        # What is left of a sum that cancels is compared with what was summed.
        scale = _passed_up(reader, player, product(magnitudes(reader.form), player, weight))
        if (at := first_true(off > PAYOFF_TOLERANCE * scale)) is not None:
            return (
                f"the payoffs of {reader.sequence(begin + at)} and of merged sequence {to[at]} "
                f"differ: under one and the same weights {given[at]:.12g} and "
                f"{share[to[at] - low]:.12g}"
            )
    return None


def _passed_up(reader: Reader, player: int, payoff: np.ndarray) -> np.ndarray:
    """A player's payoffs, those of sequences that are left out added to the sequence before."""
    form = reader.form
    start = int(form.player_sequences[player])
    for bucket in omitted_buckets(reader)[::-1].tolist():
        if reader.bucket_player[bucket] != player:
            continue
        begin, infoset = int(form.bucket_sequence[bucket]), int(form.bucket_infoset[bucket])
        lanes = int(form.bucket_lanes[bucket])
        above = form.infoset_parent[infoset : infoset + lanes].astype(np.int64) - start
        np.add.at(payoff, above, payoff[begin - start : begin - start + lanes])
    return payoff
