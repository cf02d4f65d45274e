"""Invariants M: the merged form, and which of its sequences stands for what."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..compiled import Merged
from ..payoffs import magnitudes, product
from .payoff import PAYOFF_TOLERANCE
from .reader import Reader, first


def merged_of(reader: Reader) -> tuple[Merged, Reader]:
    """The merged form of a game that has one, and how to look at it."""
    assert reader.game.merged is not None
    return reader.game.merged, Reader(reader.game, reader.game.merged.form)


def find_stand_in(reader: Reader) -> str | None:
    """A sequence of the same player for every sequence; empty for empty."""
    merged, small = merged_of(reader)
    sequence, form = merged.sequence, reader.form
    if len(sequence) != form.n_sequences:
        return f"there are {len(sequence)} for {form.n_sequences} sequences"
    for player in range(form.n_players):
        begin, end = form.player_sequences[player : player + 2].tolist()
        low, high = small.form.player_sequences[player : player + 2].tolist()
        own = sequence[begin:end]
        wrong = (own < low) | (own >= high)
        wrong |= (own == low) != (np.arange(len(own)) == 0)
        if (at := first(wrong)) is not None:
            return f"{own[at]} stands for {reader.sequence(begin + at)} of player {player}"
    return None


def _buckets(reader: Reader) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Every bucket: its number; int64 (actions, lanes): what stands for its sequences; int64
    (lanes,): the merged bucket of the first action."""
    merged, small = merged_of(reader)
    form = reader.form
    for bucket, begin in enumerate(form.bucket_sequence.tolist()):
        lanes, actions = int(form.bucket_lanes[bucket]), int(form.bucket_actions[bucket])
        to = merged.sequence[begin : begin + actions * lanes].reshape(actions, lanes)
        yield bucket, to.astype(np.int64), small.sequence_bucket(to[0])


def find_action(reader: Reader) -> str | None:
    """The actions of an infoset become those of one infoset, in order."""
    small = merged_of(reader)[1].form
    for bucket, to, of in _buckets(reader):
        actions = len(to)
        wrong = small.bucket_actions[of] != actions
        wrong |= to[0] - small.bucket_sequence[of] >= small.bucket_lanes[of]
        steps = np.arange(actions)[:, None] * small.bucket_lanes[of]
        wrong |= (to != to[0] + steps).any(axis=0)
        if (lane := first(wrong)) is not None:
            infoset = int(reader.form.bucket_infoset[bucket]) + lane
            return f"{to[:, lane].tolist()} stand for the actions of {reader.infoset(infoset)}"
    return None


def find_parent(reader: Reader) -> str | None:
    """What stands for an infoset's parent is the parent of what stands for the infoset."""
    merged, small = merged_of(reader)
    for bucket, to, of in _buckets(reader):
        begin, lanes = int(reader.form.bucket_infoset[bucket]), to.shape[1]
        infoset = small.form.bucket_infoset[of] + to[0] - small.form.bucket_sequence[of]
        parent = merged.sequence[reader.form.infoset_parent[begin : begin + lanes]]
        wanted = small.form.infoset_parent[infoset]
        if (lane := first(parent != wanted)) is not None:
            return (
                f"infoset {infoset[lane]}, of parent {wanted[lane]}, stands for "
                f"{reader.infoset(begin + lane)}, and {parent[lane]} for its parent"
            )
    return None


def find_unused(reader: Reader) -> str | None:
    """Every merged sequence stands for one."""
    merged, small = merged_of(reader)
    used = np.zeros(small.form.n_sequences, dtype=bool)
    used[merged.sequence] = True
    if (sequence := first(~used)) is not None:
        return f"merged {small.sequence(sequence)} stands for none"
    return None


def find_payoff(reader: Reader) -> str | None:
    """Against opponents who play alike in what is merged, each sequence has an equal share of
    the payoff of the one that stands for it.

    Opponents play alike under a random weight per merged sequence, as in P7.
    """
    merged, small = merged_of(reader)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, small.form.n_sequences)
    stands_for = np.bincount(merged.sequence, minlength=small.form.n_sequences)
    for player in range(reader.form.n_players):
        begin, end = reader.form.player_sequences[player : player + 2].tolist()
        low, high = small.form.player_sequences[player : player + 2].tolist()
        given = product(reader.form, player, weight[merged.sequence])
        share = product(small.form, player, weight) / stands_for[low:high]
        to = merged.sequence[begin:end].astype(np.int64)
        off = np.abs(given - share[to - low])
        if (off <= PAYOFF_TOLERANCE * np.abs(given)).all():
            continue
        # What is left of a sum that cancels is compared with what was summed.
        scale = product(magnitudes(reader.form), player, weight[merged.sequence])
        if (at := first(off > PAYOFF_TOLERANCE * scale)) is not None:
            return (
                f"the payoffs of {reader.sequence(begin + at)} and of merged sequence {to[at]} "
                f"differ: under one and the same weights {given[at]:.12g} and "
                f"{share[to[at] - low]:.12g}"
            )
    return None
