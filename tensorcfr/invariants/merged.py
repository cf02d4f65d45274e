"""Invariants M: the merged form, and the map from sequences of the game to its sequences.

Only these invariants read every sequence of a large game, so kernels check them, bucket by bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._util.limits import COMPILED_CHECK_FROM, PAYOFF_TOLERANCE
from ..kernels import checks
from ..kernels.iteration import multiply_share
from ..model.arrays import SequenceForm
from ..model.game import Merged
from ..payoff import magnitudes, product
from .reader import Reader, first_true, outside


def merged_of(reader: Reader) -> tuple[Merged, Reader]:
    """The merged form of a game with one, and its reader."""
    assert reader.game.merged is not None
    return reader.game.merged, Reader(reader.game, reader.game.merged.form)


def omitted_buckets(reader: Reader) -> np.ndarray:
    """Buckets of infosets with one action that the merged form omits, ascending."""
    merged, small = merged_of(reader)
    form = reader.form
    empty = small.form.player_sequences[reader.bucket_player]
    return np.flatnonzero(merged.sequence[form.bucket_sequence] == empty)


def _omitted(reader: Reader) -> Iterator[tuple[int, slice, np.ndarray]]:
    """Each omitted bucket: number, sequences, and parent sequences, uint32 (lanes,)."""
    form = reader.form
    for bucket in omitted_buckets(reader).tolist():
        begin, infoset = int(form.bucket_sequence[bucket]), int(form.bucket_infoset[bucket])
        lanes = int(form.bucket_lanes[bucket])
        yield bucket, slice(begin, begin + lanes), form.infoset_parent[infoset : infoset + lanes]


PIECE = 1 << 20
"""Sequences per look-up: NumPy converts them to 64-bit indices."""


def carry(reader: Reader, array: np.ndarray, player: int, found: np.ndarray) -> None:
    """Look up the merged sequence of every sequence of a player in an array.

    An omitted sequence gets the entry of its parent sequence, which has the same reach.

    Args:
        reader: The game.
        array: (merged sequences,).
        player: The player.
        found: (sequences,): modified in place, at the player's sequences.
    """
    sequence, form = merged_of(reader)[0].sequence, reader.form
    begin, end = form.player_sequences[player : player + 2].tolist()
    for at in range(begin, end, PIECE):
        piece = slice(at, min(at + PIECE, end))
        np.take(array, sequence[piece], out=found[piece])
    for bucket, own, above in _omitted(reader):
        if reader.bucket_player[bucket] == player:
            found[own] = found[above]


def carriers(reader: Reader) -> np.ndarray:
    """The merged sequence with the same reach, for every sequence; uint32 (sequences,)."""
    found = merged_of(reader)[0].sequence.copy()
    for _, own, above in _omitted(reader):
        found[own] = found[above]
    return found


def check_sequence_map(reader: Reader) -> str | None:
    """Sequences map to sequences of the same player; the empty sequence and omitted sequences map
    to the empty sequence."""
    merged, small = merged_of(reader)
    sequence, form = merged.sequence, reader.form
    if len(sequence) != form.n_sequences:
        return f"there are {len(sequence)} for {form.n_sequences} sequences"
    if small.form.n_sequences > form.n_sequences:
        return f"{form.n_sequences} sequences are merged into {small.form.n_sequences}"
    empty = form.player_sequences[:-1].tolist()
    parts = [(player, at, at + 1, True) for player, at in enumerate(empty)]
    shapes = (form.bucket_sequence, form.bucket_lanes, form.bucket_actions, reader.bucket_player)
    parts += [
        (player, begin, begin + lanes * actions, actions == 1)
        for begin, lanes, actions, player in zip(*(s.tolist() for s in shapes), strict=True)
    ]
    for player, begin, end, sure in sorted(parts):
        low, high = small.form.player_sequences[player : player + 2].tolist()
        # Only the empty sequence and omitted sequences map to the empty sequence.
        least = low if sure else low + 1
        own = sequence[begin:end]
        if begin == empty[player]:
            high = low + 1
        if (at := outside(own, least, high)) is not None:
            return f"{own[at]} stands for {reader.sequence(begin + at)} of player {player}"
    return None


def _buckets(reader: Reader) -> Iterator[tuple[int, np.ndarray]]:
    """Every bucket that is not omitted: number, and merged sequences, uint32 (actions, lanes)."""
    merged, _ = merged_of(reader)
    form = reader.form
    kept = np.setdiff1d(np.arange(len(form.bucket_lanes)), omitted_buckets(reader))
    for bucket in kept.tolist():
        begin = int(form.bucket_sequence[bucket])
        lanes, actions = int(form.bucket_lanes[bucket]), int(form.bucket_actions[bucket])
        to = merged.sequence[begin : begin + actions * lanes].reshape(actions, lanes)
        yield bucket, read_only(to)


def check_action(reader: Reader) -> str | None:
    """The actions of an infoset map to the actions of one infoset, in order."""
    small = merged_of(reader)[1].form
    shapes = tuple(
        map(read_only, (small.bucket_sequence, small.bucket_lanes, small.bucket_actions))
    )
    for bucket, to in _buckets(reader):
        lane = checks.wrong_actions(to, *shapes) if len(shapes[0]) else 0
        if lane >= 0:
            infoset = int(reader.form.bucket_infoset[bucket]) + lane
            return f"{to[:, lane].tolist()} stand for the actions of {reader.infoset(infoset)}"
    return None


def check_parent(reader: Reader) -> str | None:
    """The parent of an infoset maps to the parent of the merged infoset."""
    _, small = merged_of(reader)
    carrier = read_only(carriers(reader))
    shapes = tuple(
        map(
            read_only,
            (small.form.bucket_sequence, small.form.bucket_infoset, small.form.infoset_parent),
        )
    )
    for bucket, to in _buckets(reader):
        begin, lanes = int(reader.form.bucket_infoset[bucket]), to.shape[1]
        parents = read_only(reader.form.infoset_parent[begin : begin + lanes])
        if (lane := checks.wrong_parents(to[0], parents, carrier, *shapes)) >= 0:
            of = int(small.sequence_bucket(to[0, lane : lane + 1])[0])
            at = int(to[0, lane]) - int(small.form.bucket_sequence[of])
            infoset = int(small.form.bucket_infoset[of]) + at
            return (
                f"infoset {infoset}, of parent {small.form.infoset_parent[infoset]}, stands for "
                f"{reader.infoset(begin + lane)}, and {carrier[parents[lane]]} for its parent"
            )
    return None


def members_of(reader: Reader) -> np.ndarray:
    """Number of sequences mapped to each merged sequence, omitted sequences apart; uint32."""
    _, small = merged_of(reader)
    members = np.zeros(small.form.n_sequences, dtype=np.uint32)
    members[small.form.player_sequences[:-1]] = 1
    for _, to in _buckets(reader):
        checks.count_members(to.reshape(-1), members)
    return members


def check_merged_use(reader: Reader) -> str | None:
    """Every merged sequence has a sequence that maps to it."""
    if (sequence := first_true(members_of(reader) == 0)) is not None:
        return f"merged {merged_of(reader)[1].sequence(sequence)} stands for none"
    return None


def check_payoff(reader: Reader) -> str | None:
    """Sequences have equal shares of the payoff of their merged sequence.

    This holds against opponents with equal reaches at merged sequences.  Their reaches here are a
    random number per merged sequence, as in P7.
    """
    _, small = merged_of(reader)
    players = range(reader.form.n_players)
    small_weight = np.random.default_rng(0).uniform(0.5, 1.5, small.form.n_sequences)
    shares = np.empty(small.form.n_sequences)
    for player in players:
        multiply(small.form, player, small_weight, shares)
    shares /= members_of(reader)
    for player in players:
        if wrong := _wrong_payoff(reader, player, small_weight, shares):
            return wrong
    return None


def _wrong_payoff(
    reader: Reader, player: int, small_weight: np.ndarray, shares: np.ndarray
) -> str | None:
    """The error in the payoffs of one player, or None; frees its arrays when it returns.

    Args:
        reader: The game.
        player: The player.
        small_weight: float64 (merged sequences,): the weights of the merged sequences.
        shares: float64 (merged sequences,): expected payoff of each sequence that maps there.
    """
    weight, given = np.empty((2, reader.form.n_sequences))
    for other in range(reader.form.n_players):
        if other != player:
            carry(reader, small_weight, other, weight)
    multiply(reader.form, player, weight, given)
    _pass_up(reader, player, given)
    if _wrong_share(reader, player, given, shares, given) is None:
        return None
    # Compare the residual with the sum of absolute terms, not with the cancelled sum.
    scale = np.empty(reader.form.n_sequences)
    multiply(magnitudes(reader.form), player, weight, scale)
    _pass_up(reader, player, scale)
    if (at := _wrong_share(reader, player, given, shares, scale)) is None:
        return None
    to = int(merged_of(reader)[0].sequence[at])
    return (
        f"the payoffs of {reader.sequence(at)} and of merged sequence {to} "
        f"differ: under one and the same weights {given[at]:.12g} and {shares[to]:.12g}"
    )


def multiply(form: SequenceForm, player: int, weight: np.ndarray, found: np.ndarray) -> None:
    """Multiply by the payoff operator of a player.

    Args:
        form: The game.
        player: The player.
        weight: float64 (sequences,): a weight for every sequence of the other players.
        found: float64 (sequences,): modified in place, at the player's sequences.
    """
    own = slice(int(form.player_sequences[player]), int(form.player_sequences[player + 1]))
    if form.n_sequences < COMPILED_CHECK_FROM:
        found[own] = product(form, player, weight)
        return
    found[own] = 0.0
    frozen = read_only_form(form)
    multiply_share(frozen.operator, frozen, player, 0, 1, weight, found)


def _pass_up(reader: Reader, player: int, payoff: np.ndarray) -> None:
    """Add payoffs of a player's omitted sequences to their parent sequences.

    Args:
        reader: The game.
        player: The player.
        payoff: float64 (sequences,): modified in place.
    """
    for bucket, own, above in reversed(list(_omitted(reader))):
        if reader.bucket_player[bucket] == player:
            checks.pass_up(payoff[own], read_only(above), payoff)


def _wrong_share(
    reader: Reader,
    player: int,
    given: np.ndarray,
    shares: np.ndarray,
    scale: np.ndarray,
) -> int | None:
    """The first sequence of a player whose payoff is not the expected share, or None.

    Args:
        reader: The game.
        player: The player.
        given: float64 (sequences,): their payoffs.
        shares: float64 (merged sequences,): expected payoff of each sequence that maps there.
        scale: float64 (sequences,): sums of absolute terms, which bound rounding errors.
    """
    form, sequence = reader.form, merged_of(reader)[0].sequence
    empty = int(form.player_sequences[player])
    parts = [(empty, read_only(sequence[empty : empty + 1]))]
    parts += [
        (int(form.bucket_sequence[bucket]), to.reshape(-1))
        for bucket, to in _buckets(reader)
        if reader.bucket_player[bucket] == player
    ]
    for begin, to in parts:
        own = slice(begin, begin + len(to))
        at = checks.wrong_shares(to, given[own], shares, PAYOFF_TOLERANCE, scale[own])
        if at >= 0:
            return begin + at
    return None


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view.

    Arrays of games are read-only; kernels would be compiled again for writable arrays.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def read_only_form(form: SequenceForm) -> SequenceForm:
    """A sequence form with read-only views of all arrays."""
    layout: dict[str, Any] = form._asdict()
    parts = [type(part)(*map(read_only, part)) for part in layout.pop("operator")]
    return SequenceForm(
        **{name: read_only(array) for name, array in layout.items()}, operator=tuple(parts)
    )
