"""Invariants M: the merged form, and the map from sequences of the game to its sequences.

Only these invariants read every sequence of a large game, bucket by bucket and piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._util.limits import COMPILED_CHECK_FROM, PAYOFF_ROUNDING, PAYOFF_TOLERANCE
from ..._util.violations import fail, first_true, outside
from ...kernels.evaluation import add_payoffs
from ...model.arrays import SequenceForm, frozen_arrays
from ...payoff import magnitudes, product, triples
from .reader import Reader

ROUNDINGS = 16 * PAYOFF_ROUNDING
"""Largest rounding error of a regret, as a share of the largest utility: payoffs that cancel leave
it, and the two forms add them in different orders."""


def omitted_buckets(reader: Reader) -> np.ndarray:
    """Return the buckets of infosets with one action that the merged form omits, ascending."""
    form = reader.form
    empty = reader.merged.form.player_sequences[reader.bucket_player]
    return np.flatnonzero(reader.game.merged_numbers[form.bucket_sequence] == empty)


def _omitted(reader: Reader) -> Iterator[tuple[int, slice, np.ndarray]]:
    """Yield number, sequences, and parent sequences, uint32 (lanes,), of each omitted bucket."""
    form = reader.form
    buckets = form.buckets
    for number in omitted_buckets(reader).tolist():
        yield number, buckets[number].sequences, form.infoset_parent[buckets[number].infosets]


PIECE = 1 << 20
"""Number of sequences per look-up, because NumPy converts them to 64-bit indices."""


def _pieces(begin: int, end: int) -> Iterator[slice]:
    """Split a range into pieces of :data:`PIECE`."""
    for start in range(begin, end, PIECE):
        yield slice(start, min(start + PIECE, end))


def check_sequence_map(reader: Reader) -> None:
    """Check that sequences map to sequences of the same player, and that the empty sequence and
    omitted sequences map to the empty sequence."""
    sequence, form, small = reader.game.merged_numbers, reader.form, reader.merged.form
    if len(sequence) != form.n_sequences:
        fail(f"there are {len(sequence)} for {form.n_sequences} sequences")
    if small.n_sequences > form.n_sequences:
        fail(f"{form.n_sequences} sequences are merged into {small.n_sequences}")
    empty = form.player_sequences[:-1].tolist()
    parts = [(player, offset, offset + 1, True) for player, offset in enumerate(empty)]
    parts += [
        (player, bucket.sequences.start, bucket.sequences.stop, bucket.actions == 1)
        for player, bucket in zip(reader.bucket_player.tolist(), form.buckets, strict=True)
    ]
    for player, begin, end, sure in sorted(parts):
        low, high = small.player_sequences[player : player + 2].tolist()
        mapped = sequence[begin:end]
        # Only the empty sequence and the whole of an omitted bucket may map to the empty sequence.
        if begin == empty[player] or (sure and mapped[0] == low):
            high = low + 1
        else:
            low += 1
        if (offset := outside(mapped, low, high)) is not None:
            fail(f"{reader.sequence(begin + offset)} of player {player} maps to {mapped[offset]}")


def check_copies(reader: Reader) -> None:
    """Check that copies are actions of one infoset, and only the first has payoffs and infosets
    after it.

    Args:
        reader: The merged form.
    """
    form, copies = reader.form, reader.form.copies
    if copies is None:
        return
    bucket, sequence, first = copies.bucket, copies.sequence, copies.first
    if bucket[0] != 0 or bucket[-1] != len(sequence) or (np.diff(bucket) < 0).any():
        fail(f"copies.bucket does not divide {len(sequence)} copies")
    if max(sequence.max(initial=0), first.max(initial=0)) >= form.n_sequences:
        fail("copies has a number that is not a sequence")
    infoset, _ = form.owners
    of_bucket = np.repeat(np.arange(len(bucket) - 1), np.diff(bucket))
    wrong = (infoset[sequence] < 0) | (infoset[sequence] != infoset[first]) | (first > sequence)
    wrong |= reader.sequence_bucket(sequence.astype(np.int64)) != of_bucket
    wrong[1:] |= (np.diff(sequence.astype(np.int64)) >= 0) & (np.diff(of_bucket) == 0)
    members = np.bincount(first, minlength=form.n_sequences)
    # The first copy is listed, too: otherwise it would keep the whole value.
    wrong |= (form.first_copies[first] != first) | ~np.isin(first, sequence) | (members[first] < 2)
    # Negated, so that NaN is refused.
    wrong |= ~(np.abs(copies.share_of * members[first] - 1.0) <= PAYOFF_ROUNDING)
    used = _used(form)
    wrong |= used[sequence] & (sequence != first)
    if (i := first_true(wrong)) is not None:
        fail(f"{reader.sequence(int(sequence[i]))} breaks the copies of sequence {first[i]}")


def _used(form: SequenceForm) -> np.ndarray:
    """Return whether an infoset or a payoff follows each sequence, bool (sequences,)."""
    used = np.zeros(form.n_sequences, dtype=bool)
    used[form.infoset_parent] = True
    for player in range(form.n_players):
        rows, columns, values = triples(form, player)
        # Entries of payoff 0 only join slices.
        used[rows[values != 0.0]] = True
        used[columns[:, values != 0.0]] = True
    return used


def _buckets(reader: Reader) -> Iterator[tuple[int, np.ndarray]]:
    """Yield number and merged sequences, uint32 (actions, lanes), of buckets that are kept."""
    omitted = set(omitted_buckets(reader).tolist())
    for number, bucket in enumerate(reader.form.buckets):
        if number not in omitted:
            yield number, bucket.table(reader.game.merged_numbers)


def check_action(reader: Reader) -> None:
    """Check that the actions of an infoset map to the actions of one infoset, in order unless it
    has copies of actions."""
    small = reader.merged
    form = small.form
    for bucket, targets in _buckets(reader):
        if form.copies is not None:
            targets = np.sort(targets, axis=0)
        for piece in _pieces(0, targets.shape[1]):
            first = targets[0, piece].astype(np.int64)
            merged_bucket = small.sequence_bucket(first)
            # Without buckets, all sequences are empty sequences.
            wrong = merged_bucket < 0
            if len(form.bucket_lanes):
                lanes = form.bucket_lanes[merged_bucket]
                wrong |= first >= form.bucket_sequence[merged_bucket] + lanes
                wrong |= form.bucket_actions[merged_bucket] != len(targets)
                for action, sequences in enumerate(targets[1:, piece], start=1):
                    wrong |= sequences != first + action * lanes
            if (i := first_true(wrong)) is not None:
                lane = piece.start + i
                infoset = int(reader.form.bucket_infoset[bucket]) + lane
                fail(f"the actions of {reader.infoset(infoset)} map to {targets[:, lane].tolist()}")


def check_parent(reader: Reader) -> None:
    """Check that the parent of an infoset maps to the parent of the merged infoset.

    Infosets that map to an idle infoset may have any parent.
    """
    small, carrier = reader.merged, reader.form.carriers(reader.game.merged_numbers)
    if small.form.copies is not None:
        carrier = small.form.first_copies[carrier]
    for bucket, targets in _buckets(reader):
        begin = int(reader.form.bucket_infoset[bucket])
        if small.form.copies is not None:
            targets = np.sort(targets, axis=0)
        for piece in _pieces(0, targets.shape[1]):
            first = targets[0, piece].astype(np.int64)
            merged_bucket = small.sequence_bucket(first)
            merged = (
                small.form.bucket_infoset[merged_bucket]
                + first
                - small.form.bucket_sequence[merged_bucket]
            )
            mapped_parent = carrier[reader.form.infoset_parent[begin:][piece]]
            wanted = small.form.infoset_parent[merged]
            wrong = mapped_parent != wanted
            if wrong.any() and reader.game.public is None:
                wrong &= ~_is_idle(small.form)[merged]
            if (i := first_true(wrong)) is not None:
                fail(
                    f"{reader.infoset(begin + piece.start + i)} maps to infoset {merged[i]} of "
                    f"parent {wanted[i]}, but its parent maps to {mapped_parent[i]}"
                )


def _is_idle(form: SequenceForm) -> np.ndarray:
    """Return whether neither infosets nor payoffs follow an infoset, bool (infosets,)."""
    used, (infoset, _) = _used(form), form.owners
    busy = np.zeros(form.n_infosets, dtype=bool)
    busy[infoset[used & (infoset >= 0)]] = True
    return ~busy


def members_of(reader: Reader) -> np.ndarray:
    """Count the sequences that map to each merged sequence, without omitted sequences; uint32
    (merged sequences,)."""
    small = reader.merged.form
    members = np.zeros(small.n_sequences, dtype=np.uint32)
    members[small.player_sequences[:-1]] = 1
    for _, targets in _buckets(reader):
        # A bucket maps to a small range of merged sequences, so count from its first one.
        first = int(targets.min())
        count = np.bincount(targets.reshape(-1) - np.uint32(first))
        members[first : first + len(count)] += count.astype(np.uint32)
    return members


def check_merged_use(reader: Reader) -> None:
    """Check that every merged sequence has a sequence that maps to it."""
    if (sequence := first_true(members_of(reader) == 0)) is not None:
        fail(f"no sequence maps to merged {reader.merged.sequence(sequence)}")


def check_payoff(reader: Reader) -> None:
    """Check that sequences have equal shares of the payoff of their merged sequence.

    This holds against opponents with equal reaches at sequences that are merged.  The opponents'
    reaches here are a random number per merged sequence, as in P7.  Payoffs of games without a
    public tree move to other sequences; :func:`check_regrets` checks them.
    """
    if reader.game.public is None:
        return
    small, players = reader.merged.form, range(reader.form.n_players)
    small_weight = np.random.default_rng(0).uniform(0.5, 1.5, small.n_sequences)
    shares = np.empty(small.n_sequences)
    for player in players:
        multiply(small, player, small_weight, shares)
    shares /= members_of(reader)
    carrier = reader.form.carriers(reader.game.merged_numbers)
    for player in players:
        _check_payoff(reader, player, small_weight, carrier, shares)


def _check_payoff(
    reader: Reader, player: int, small_weight: np.ndarray, carrier: np.ndarray, shares: np.ndarray
) -> None:
    """Check the payoffs of one player; frees its arrays when it returns.

    Args:
        reader: The game.
        player: The player.
        small_weight: float64 (merged sequences,): weights of the opponents' merged sequences.
        carrier: uint32 (sequences,): result of :func:`carriers`.
        shares: float64 (merged sequences,): payoff expected of each sequence that maps there.
    """
    weight, payoffs = np.empty((2, reader.form.n_sequences))
    for piece in _pieces(0, len(weight)):
        np.take(small_weight, carrier[piece], out=weight[piece])
    multiply(reader.form, player, weight, payoffs)
    _add_to_parents(reader, player, payoffs)
    if _wrong_share(reader, player, payoffs, shares, payoffs) is None:
        return
    # Compare the residual with the sum of absolute terms, not with the cancelled sum.
    scale = np.empty(reader.form.n_sequences)
    multiply(magnitudes(reader.form), player, weight, scale)
    _add_to_parents(reader, player, scale)
    if (sequence := _wrong_share(reader, player, payoffs, shares, scale)) is None:
        return
    target = int(reader.game.merged_numbers[sequence])
    fail(
        f"the payoffs of {reader.sequence(sequence)} and of merged sequence {target} "
        f"differ: under one and the same weights {payoffs[sequence]:.12g} and {shares[target]:.12g}"
    )


def check_regrets(reader: Reader) -> None:
    """Check that merged infosets have the regrets of the infosets that map to them, and that the
    values of the players are equal.

    All infosets that map to one have equal regrets, whose sum is the regret of that one.  The check
    is under one fixed random strategy.  In games with a public tree it follows from equal payoffs.
    """
    if reader.game.public is not None:
        return
    form, small, sequence = reader.form, reader.merged.form, reader.game.merged_numbers
    weight = np.random.default_rng(0).uniform(0.5, 1.5, small.n_sequences)
    weight[small.player_sequences[:-1]] = 1.0
    infoset, _ = small.owners
    acts = infoset >= 0
    weight[acts] /= np.bincount(infoset[acts], weight[acts])[infoset[acts]]
    weight = small.with_equal_copies(weight)
    regret, _ = _regrets(small, weight)
    share = (regret / members_of(reader))[sequence]
    whole_regret, size = _regrets(form, weight[sequence])
    omitted = np.isin(sequence, small.player_sequences[:-1])
    omitted[form.player_sequences[:-1]] = False
    limit = PAYOFF_TOLERANCE * size + ROUNDINGS * np.abs(reader.game.histories.utility).max()
    wrong = (np.abs(whole_regret - share) > limit) & ~omitted
    if (i := first_true(wrong)) is not None:
        fail(
            f"the regrets of {reader.sequence(i)} and of merged sequence {sequence[i]} differ: "
            f"under one and the same weights {whole_regret[i]:.12g} and {share[i]:.12g}"
        )


def _regrets(form: SequenceForm, strategy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the instantaneous regrets of all sequences, and the sums of their absolute terms.

    The empty sequence of a player has the player's value in place of a regret.

    Args:
        form: The game.
        strategy: float64 (sequences,): probability of each action; 1 for empty sequences.
    """
    buckets, reach = form.buckets, strategy.copy()
    for bucket in buckets:
        table = bucket.table(reach)
        table *= reach[form.infoset_parent[bucket.infosets]]
    results = []
    for operand in (form, magnitudes(form)):
        value = np.empty(form.n_sequences)
        for player in range(form.n_players):
            multiply(operand, player, reach, value)
        for number, bucket in reversed(list(enumerate(buckets))):
            if form.copies is not None:
                form.copies.share(number, value)
            table = bucket.table(value)
            mean = (table * bucket.table(strategy)).sum(axis=0)
            np.add.at(value, form.infoset_parent[bucket.infosets], mean)
            # Sums of absolute terms add where values are subtracted.
            table += mean if operand is not form else -mean
        results.append(value)
    return results[0], results[1]


def multiply(form: SequenceForm, player: int, weight: np.ndarray, payoffs: np.ndarray) -> None:
    """Multiply by the payoff operator of a player.

    Args:
        form: The game.
        player: The player.
        weight: float64 (sequences,): a weight for every sequence of the other players.
        payoffs: float64 (sequences,): modified in place, at the player's sequences.
    """
    own_sequences = form.of_player(player)
    if form.n_sequences < COMPILED_CHECK_FROM:
        payoffs[own_sequences] = product(form, player, weight)
        return
    payoffs[own_sequences] = 0.0
    # Kernels are compiled for read-only arrays, like the arrays of games.
    add_payoffs(frozen_arrays(form), player, weight, payoffs)


def _add_to_parents(reader: Reader, player: int, payoff: np.ndarray) -> None:
    """Add payoffs, float64 (sequences,), of omitted sequences to their parents, in place."""
    # From the deepest bucket up, because the parent may be omitted too.
    for bucket, sequences, parents in reversed(list(_omitted(reader))):
        if reader.bucket_player[bucket] == player:
            np.add.at(payoff, parents, payoff[sequences])


def _wrong_share(
    reader: Reader,
    player: int,
    payoffs: np.ndarray,
    shares: np.ndarray,
    scale: np.ndarray,
) -> int | None:
    """Find a sequence of a player whose payoff differs from the share of its merged sequence.

    Args:
        reader: The game.
        player: The player.
        payoffs: float64 (sequences,): payoffs to check.
        shares: float64 (merged sequences,): expected payoffs.
        scale: float64 (sequences,): sums of absolute terms, to which rounding is relative.

    Returns:
        The first such sequence, or None.
    """
    form, sequence = reader.form, reader.game.merged_numbers
    empty = int(form.player_sequences[player])
    parts = [(empty, sequence[empty : empty + 1])]
    parts += [
        (int(form.bucket_sequence[bucket]), targets.reshape(-1))
        for bucket, targets in _buckets(reader)
        if reader.bucket_player[bucket] == player
    ]
    for begin, targets in parts:
        for piece in _pieces(begin, begin + len(targets)):
            residual = np.abs(
                payoffs[piece] - shares[targets[piece.start - begin : piece.stop - begin]]
            )
            wrong = ~(residual <= PAYOFF_TOLERANCE * np.abs(scale[piece]))
            if (offset := first_true(wrong)) is not None:
                return piece.start + offset
    return None
