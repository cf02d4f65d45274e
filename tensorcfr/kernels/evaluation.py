"""Evaluation of strategies: behaviour strategies from weights, own reaches, values, best responses.

A best response is the backward value pass with a maximum over actions (:func:`maximise`); expected
values need the mean under a strategy instead (:func:`average_up`).
"""

from __future__ import annotations

import math
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from .._util.jit import borrowed, inlined, kernel, kernel_with, light
from ..model.arrays import LockedLanes, SequenceForm, frozen_array
from ..model.chunked_form import ChunkedForm, ChunkLocks
from ..payoff.lanes import dot
from ..payoff.multiply import add_share, payoff_product, payoff_scratch, scratch_size
from ..payoff.product_share import ProductShare
from .chunk_passes import (
    base_of,
    branches,
    chunk_view,
    collect,
    enter,
    leave,
    lock_table,
    locks_of,
    mix_part_payoffs,
    most_scratch,
    pack_own,
    unpack_own,
    visited,
    workplace,
)
from .forward_pass import as_precision_of, follow, forward_from_regrets, strategies
from .locked_lanes import (
    apply_lock,
    free_probability,
    has_least,
    locked_best,
    mix_values,
    of_lock,
)
from .parts import Lanes
from .pass_arrays import ChunkScratch, Numbers, TrunkScratch, Work
from .shapes import shape_form
from .tiles import LONGEST, TILE, TILE_ROWS, run_length, scatter, share_values, tile_length


def _work(locks: ChunkLocks | None) -> Work:
    """Allocate scratch of kernels that compute no payoffs."""
    return Work(np.empty((0, 0)), np.empty(LONGEST), np.empty(0), lock_table(locks), None)


def _takes_bare_form(wrapped: Any) -> Any:
    """Wrap a kernel that takes a game without payoffs, so that Python may pass the whole game.

    The kernel is then compiled once, not once per kind of payoffs.
    """

    @wraps(wrapped, updated=())
    def call(game: SequenceForm | ChunkedForm, *arguments: Any) -> None:
        wrapped(game.bare, *arguments)

    call.py_func = getattr(wrapped, "py_func", wrapped)  # type: ignore[attr-defined]
    return call


def normalise(form: SequenceForm, weight: np.ndarray) -> np.ndarray:
    """Compute the behaviour strategy of non-negative weights; uniform where the total weight is 0.

    Args:
        form: The game.
        weight: float (sequences,).

    Returns:
        float64 (sequences,): 1 for the empty sequences.
    """
    strategy = np.empty(form.n_sequences)
    # Solvers pass read-only weights, too: the kernel is then compiled once.
    match_weights(form, frozen_array(weight), 0.0, strategy, None)
    return strategy


def _steps_without_locks(form: SequenceForm, *others: Any) -> float:
    """Estimate the steps of a kernel whose last argument are the locks."""
    return form.n_sequences if others[-1] is None else math.inf


@_takes_bare_form
# With a floor, products are rounded before it is added.
@light(lambda *arguments: _steps_without_locks(*arguments) if arguments[2] == 0.0 else math.inf)
@kernel_with(_work)
def match_weights(
    form: SequenceForm,
    weight: np.ndarray,
    floor: float,
    strategy: np.ndarray,
    locks: ChunkLocks | None,
    work: Work,
) -> None:
    """Compute the behaviour strategies of all players in a flat game by regret matching.

    The arguments are those of :func:`strategies_of_parts`.
    """
    strategy[:] = 1.0
    strategies(
        form, weight, floor, strategy, 0, locks_of(locks, 0, 0, form, work.table), work.whole_rule
    )


@_takes_bare_form
@kernel
def impose(form: SequenceForm, locks: ChunkLocks, strategy: np.ndarray) -> None:
    """Overwrite a behaviour strategy at locked infosets with their locked probabilities.

    Free actions share the rest in proportion to their probabilities, equally if all are 0.

    Args:
        form: The flat game, or the trunk.
        locks: The locks.
        strategy: float (sequences,): modified in place.
    """
    for lock in range(locks.part[1]):
        b = locks.bucket[lock]
        probability = of_lock(locks, lock, form.bucket_actions[b])
        first = form.bucket_sequence[b] + locks.lane[lock]
        apply_lock(strategy[first:], form.bucket_lanes[b], probability, 0.0)


@_takes_bare_form
@light(lambda form, *others: form.n_sequences)
@kernel_with(lambda: np.empty(TILE))
def realization_plan(
    form: SequenceForm, strategy: np.ndarray, reach: np.ndarray, parent_reach: np.ndarray
) -> None:
    """Compute own reach of every sequence under a behaviour strategy.

    Args:
        form: The game.
        strategy: float (sequences,).
        reach: float (sequences,): modified in place; 1 for the empty sequences.
        parent_reach: Scratch.
    """
    for player in range(form.player_sequences.shape[0] - 1):
        follow(form, player, strategy, reach, parent_reach)


def _work_of_parts(game: ChunkedForm, weight: Numbers, locks: ChunkLocks | None) -> Work:
    numbers = np.empty(most_numbers(game, weight.scale), weight.trunk.dtype)
    return Work(numbers, np.empty(TILE), np.empty(0), lock_table(locks), None)


@_takes_bare_form
@kernel_with(_work_of_parts)
def strategies_of_parts(
    game: ChunkedForm,
    first: int,
    last: int,
    weight: Numbers,
    floor: float,
    strategy: np.ndarray,
    locks: ChunkLocks | None,
    work: Work,
) -> None:
    """Compute the behaviour strategies of all players in some parts of a game by regret matching.

    Args:
        game: The game.
        first: First part; the trunk is part 0, and chunk ``c`` part ``c + 1``.
        last: Part after the last one.
        weight: Regrets, or other weights.
        floor: Share of every strategy that is uniform.
        strategy: float (numbers of these parts,): modified in place.
        locks: Locked infosets, or None.
        work: Scratch.
    """
    # `strategy` begins with the first part: `offset` is the number that its index 0 has.
    offset = game.number_offset[first - 1] if first > 0 else 0
    strategy[:] = 1.0
    for part in range(first, last):
        base = 0
        if part > 0:
            form = shape_form(game.shapes, game.shape[part - 1])
            base = game.sequence_offset[part - 1]
            part_weight = workplace(game, part - 1, weight, work.tile)
            for player in range(form.player_sequences.shape[0] - 1):
                unpack_own(game, part - 1, form, player, weight, part_weight)
        else:
            form, part_weight = borrowed(game.trunk), borrowed(weight.trunk)
        locked = locks_of(locks, part, base, form, work.table)
        strategies(form, part_weight, floor, strategy, base - offset, locked, work.whole_rule)


@_takes_bare_form
@kernel
def unpack_parts(game: ChunkedForm, numbers: Numbers, floats: np.ndarray) -> None:
    """Unpack an array in 16 bits to ``floats``, float32 (numbers,), which is modified in place."""
    # Only chunks are packed; the trunk stays in floats.
    for s in range(game.trunk.player_sequences[-1]):
        floats[s] = numbers.trunk[s]
    for c in range(game.shape.shape[0]):
        form = shape_form(game.shapes, game.shape[c])
        for player in range(form.player_sequences.shape[0] - 1):
            unpack_own(game, c, form, player, numbers, floats[game.sequence_offset[c] :])


@_takes_bare_form
@kernel
def pack_parts(game: ChunkedForm, floats: np.ndarray, numbers: Numbers) -> None:
    """Pack ``floats``, float32 (numbers,), into an array in 16 bits, which is modified in place."""
    # Only chunks are packed; the trunk stays in floats.
    for s in range(game.trunk.player_sequences[-1]):
        numbers.trunk[s] = floats[s]
    for c in range(game.shape.shape[0]):
        form = shape_form(game.shapes, game.shape[c])
        for player in range(form.player_sequences.shape[0] - 1):
            pack_own(game, c, form, player, numbers, floats[game.sequence_offset[c] :])


@inlined
def most_numbers(game: ChunkedForm, scale: np.ndarray | None) -> int:
    """Return the length of the largest chunk if arrays are in 16 bits; otherwise 0."""
    most = 0
    if scale is not None:
        for c in range(game.shape.shape[0]):
            most = max(most, game.number_offset[c + 1] - game.sequence_offset[c])
    return most


@kernel_with(lambda form: np.empty(max(scratch_size(form.operator), 1)))
def add_payoffs(
    form: SequenceForm, player: int, reach: np.ndarray, g: np.ndarray, scratch: np.ndarray
) -> float:
    """Add the payoffs of a player's sequences, and return the player's expected payoff.

    Args:
        form: The game.
        player: The player.
        reach: float (sequences,): own reaches of all players.
        g: float (sequences,): modified in place at the player's sequences.
        scratch: Scratch of the payoff product.

    Returns:
        Scalar product of the player's own reaches and the sums in ``g``.
    """
    share = ProductShare(form.hand_rank, player, 0, 1, reach, g, scratch, None)
    for k in range(len(form.operator)):
        add_share(form.operator, k, share)
    first = form.player_sequences[player]
    dot(reach, g, first, form.player_sequences[player + 1] - first, scratch, 0)
    return scratch[0]


def evaluate_flat(
    form: SequenceForm,
    reach: np.ndarray,
    value: np.ndarray,
    expected: np.ndarray,
    best: np.ndarray,
    locks: ChunkLocks | None,
) -> None:
    """Compute expected values and best-response values in a flat game, from own reaches.

    Args:
        form: The game.
        reach: float (sequences,): own reaches of all players.
        value: float (sequences,): modified in place to the counterfactual values under a best
            response.
        expected: float64 (players,): modified in place.
        best: float64 (players,): modified in place.
        locks: Locked infosets, where best responses keep the locked probabilities; or None.
    """
    value[:] = 0.0
    for player in range(form.n_players):
        expected[player] = add_payoffs(form, player, reach, value)
        if locks is not None and len(locks.payoff) and locks.modelled[0] != player:
            sequences = form.of_player(player)
            value[sequences] = locks.share * value[sequences] + locks.payoff[sequences]
            expected[player] = np.dot(reach[sequences], value[sequences])
    best_total(form, value, best, locks)


class ProfileArrays(NamedTuple):
    """Strategies, and values under them, for each sequence.

    Arrays are float64, and have the length of the trunk or of the largest branch, except where
    noted.
    """

    trunk_strategy: np.ndarray
    trunk_value: np.ndarray
    entry_value: np.ndarray
    """(entries,)."""
    chunk_strategy: np.ndarray
    chunk_value: np.ndarray


NO_LOOKS = ProfileArrays(*np.empty((5, 0)))
"""Empty arrays, for an evaluation that computes the sums only.  It runs the kernel that looks at a
profile need, too, so that the kernel is compiled once."""


def _work_of_evaluate_chunked(
    game: ChunkedForm, trunk: TrunkScratch, locks: ChunkLocks | None
) -> Work:
    tile = np.empty((TILE_ROWS, LONGEST), trunk.reach.dtype)
    return Work(tile, np.empty(TILE), np.empty(most_scratch(game)[0]), lock_table(locks), None)


@kernel_with(_work_of_evaluate_chunked)
def evaluate_chunked(
    game: ChunkedForm,
    stage: int,
    group: int,
    groups: int,
    weight: Numbers,
    floor: float,
    trunk: TrunkScratch,
    scratch: ChunkScratch,
    expected: np.ndarray,
    best: np.ndarray,
    looks: ProfileArrays,
    locks: ChunkLocks | None,
    work: Work,
) -> None:
    """Compute expected values, and each player's best-response value against the others.

    Args:
        game: The game.
        stage: Stage of the pass, as for :func:`tensorcfr.kernels.chunk_passes.run_pass`.
        group: Group of branches, as for :func:`tensorcfr.kernels.chunk_passes.run_pass`.
        groups: Number of groups into which the branches are divided.
        weight: Weights from which regret matching computes the strategies.
        floor: Share of every strategy that is uniform.
        trunk: Scratch, float64; ``value`` holds the values under best responses on return.
        scratch: Scratch of the chunks, float64; ``value`` is used in the same way.
        expected: float64 (chunks + 1, players): modified in place: expected values from the
            terminals of each chunk, and in the last row from those of the trunk.
        best: float64 (players,): modified in place.
        looks: Strategies and values to write, modified in place; best responses then ignore locks.
            :data:`NO_LOOKS` if only the sums are needed.
        locks: Locked infosets, where best responses keep the locked probabilities; or None.
        work: Scratch.
    """
    players, is_looking = best.shape[0], looks.trunk_strategy.shape[0] > 0
    first, last, step = branches(game, stage, group, groups)
    for b in range(first, last, step):
        for visit in range(game.branch_offset[b], game.branch_offset[b + 1]):
            c, is_down, is_up = visited(game, visit)
            is_chunk = c >= 0
            if is_chunk:
                form = shape_form(game.shapes, game.shape[c])
                part_weight = workplace(game, c, weight, chunk_view(game, c, scratch.regret))
                reach = chunk_view(game, c, scratch.reach)
                value = chunk_view(game, c, scratch.value)
                for player in range(players if is_down else 0):
                    unpack_own(game, c, form, player, weight, part_weight)
            else:
                form, part_weight, reach, value = game.trunk, weight.trunk, trunk.reach, trunk.value
            locked = locks_of(locks, c + 1, base_of(game, c), form, work.table)
            bounds = form.player_sequences
            part_strategy, part_value = looks.trunk_strategy, looks.trunk_value
            if is_chunk:
                part_strategy = chunk_view(game, c, looks.chunk_strategy)
                part_value = chunk_view(game, c, looks.chunk_value)
            if is_looking and is_down:
                part_strategy[: bounds[players]] = 1.0
                strategies(form, part_weight, floor, part_strategy, 0, locked, work.whole_rule)
            for player in range(players if is_down else 0):
                if is_chunk:
                    enter(game, c, player, trunk.reach, scratch.reach, reach)
                else:
                    reach[bounds[player]] = 1.0
                forward_from_regrets(
                    form, player, part_weight, floor, reach, None, 0.0, work.tile, locked
                )
            for player in range(players):
                if is_down:
                    # Reaches of all players in this part are ready, so payoffs can be computed.
                    payoff_product(form, player, reach, value, work.payoff, None)
                    # Values at every action are those of the strategies, without payoffs of a
                    # model.
                    if locks is not None:  # noqa: SIM102
                        if not is_looking:
                            mix_part_payoffs(game, c, form, player, locked, value)
                    # The trunk is c = -1, the last row.
                    count = bounds[player + 1] - bounds[player]
                    dot(reach, value, bounds[player], count, expected[c], player)
                    if is_looking:
                        for s in range(bounds[player], bounds[player + 1]):
                            part_value[s] = value[s]
                if not is_up:
                    continue
                if is_looking:
                    if not is_chunk:
                        collect(game, player, looks.entry_value, part_value)
                    # Backward pass for the values under the strategies; `maximise` is another one.
                    average_up(form, player, part_strategy, part_value, work.tile[0])
                    if is_chunk:
                        leave(game, c, player, part_value, looks.entry_value, looks.chunk_value)
                if not is_chunk:
                    collect(game, player, trunk.entry_value, value)
                if locks is None or is_looking:
                    maximise(form, player, value, None, work.tile[0])
                else:
                    maximise(form, player, value, locked, work.tile[0])
                if is_chunk:
                    leave(game, c, player, value, trunk.entry_value, scratch.value)
                else:
                    best[player] = value[bounds[player]]


@inlined
def average_up(
    form: SequenceForm, player: int, strategy: np.ndarray, value: np.ndarray, mean: np.ndarray
) -> None:
    """Run the backward value pass under a strategy: add each infoset's mean value to its parent.

    Args:
        form: The game, or a part of it.
        player: Player whose infosets are processed.
        strategy: float (sequences,).
        value: float (sequences,): modified in place.
        mean: float (at least LONGEST,): scratch.
    """
    parent, zero = form.infoset_parent, as_precision_of(mean[0], 0.0)
    # Deepest level first: an infoset's value is complete before the level above reads it.
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        share_values(form.copies, b, value)
        begin, n_consecutive = 0, 0
        while begin < lanes:
            infoset, first = form.bucket_infoset[b] + begin, form.bucket_sequence[b] + begin
            n_consecutive = run_length(parent, infoset, min(LONGEST, lanes - begin), n_consecutive)
            length = tile_length(n_consecutive, lanes - begin)
            begin += length
            mean[:length] = zero
            for a in range(actions):
                offset = np.uint64(first + a * lanes)
                for lane in range(np.uint64(length)):
                    mean[lane] += strategy[offset + lane] * value[offset + lane]
            scatter(mean, parent, infoset, length, n_consecutive, value)


@inlined
def maximise(
    form: SequenceForm,
    player: int,
    value: np.ndarray,
    locks: LockedLanes | None,
    best: np.ndarray,
) -> None:
    """Run the backward value pass of a best response: add each infoset's maximum to its parent.

    Args:
        form: The game, or a part of it.
        player: Player whose infosets are processed.
        value: float (sequences,): modified in place.
        locks: Locked infosets, or None.
        best: float (at least LONGEST,): scratch.
    """
    parent = form.infoset_parent
    if locks is not None:
        free_share = np.empty(LONGEST)
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        share_values(form.copies, b, value)
        if locks is not None:
            lock, last_lock = locks.bucket[b], locks.bucket[b + 1]
        begin, n_consecutive = 0, 0
        while begin < lanes:
            infoset, first = form.bucket_infoset[b] + begin, form.bucket_sequence[b] + begin
            n_consecutive = run_length(parent, infoset, min(LONGEST, lanes - begin), n_consecutive)
            length = tile_length(n_consecutive, lanes - begin)
            offset = np.uint64(first)
            for lane in range(np.uint64(length)):
                best[lane] = value[offset + lane]
            for a in range(1, actions):
                offset = np.uint64(first + a * lanes)
                for lane in range(np.uint64(length)):
                    best[lane] = max(best[lane], value[offset + lane])
            if locks is not None:
                if has_least(locks, player):
                    mixed = Lanes(actions, lanes, first, length)
                    mix_values(locks.least, mixed, value, best, free_share)
                # A best response keeps locked probabilities: replace the maximum there.
                while lock < last_lock and locks.lane[lock] < begin + length:
                    lane = locks.lane[lock] - begin
                    probability = of_lock(locks, lock, actions)
                    best[lane] = locked_best(value[first + lane :], lanes, probability)
                    lock += 1
            scatter(best, parent, infoset, length, n_consecutive, value)
            begin += length


@kernel
def add_regrets(
    form: SequenceForm,
    player: int,
    strategy: np.ndarray,
    reach: np.ndarray,
    value: np.ndarray,
    gradient: np.ndarray,
    regret: np.ndarray,
    locks: ChunkLocks | None,
) -> float:
    """Add the counterfactual regrets of one player in one iteration.

    These are true regrets, which do not depend on the local rule.

    Args:
        form: The game.
        player: The player.
        strategy: float64 (sequences,): the player's strategy in this iteration.
        reach: float64 (sequences,): own reaches of the other players.
        value: float64 (sequences,): scratch, used at the player's sequences.
        gradient: float64 (sequences,): modified in place: the counterfactual payoff of each of the
            player's sequences is added.
        regret: float64 (sequences,): modified in place at the player's sequences.
        locks: Locked infosets, or None.  Locked actions have no regret, and the regret of free
            actions is measured from the mean of the free actions.

    Returns:
        The expected value of the player's strategy.
    """
    payoff_product(form, player, reach, value, payoff_scratch(form), None)
    for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
        gradient[s] += value[s]
    average_up(form, player, strategy, value, np.empty(LONGEST))
    last_lock = 0
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        first = form.bucket_sequence[b]
        # Locks are sorted by bucket and lane, so one pass over them suffices.
        if locks is not None:
            lock = last_lock
            while lock < locks.part[1] and locks.bucket[lock] < b:
                lock += 1
            last_lock = lock
            while last_lock < locks.part[1] and locks.bucket[last_lock] == b:
                last_lock += 1
        for lane in range(first, first + lanes):
            if locks is not None and lock < last_lock and locks.lane[lock] == lane - first:
                probability = of_lock(locks, lock, actions)
                _add_free(strategy[lane:], value[lane:], lanes, probability, regret[lane:])
                lock += 1
                continue
            v = 0.0
            for a in range(actions):
                v += strategy[lane + a * lanes] * value[lane + a * lanes]
            for a in range(actions):
                regret[lane + a * lanes] += value[lane + a * lanes] - v
    return value[form.player_sequences[player]]


@inlined
def _add_free(
    strategy: np.ndarray, q: np.ndarray, lanes: int, probability: np.ndarray, regret: np.ndarray
) -> None:
    """Add regrets of the free actions of a locked infoset, measured from their mean value.

    Args:
        strategy: float64: probability of action ``a`` at ``a * lanes``.
        q: float64: value of action ``a`` at ``a * lanes``.
        lanes: Distance between consecutive actions.
        probability: float64 (actions,): probabilities of the lock; negative for free actions.
        regret: float64: regret of action ``a`` at ``a * lanes``, modified in place.
    """
    free_total, mean = free_probability(probability), 0.0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            mean += strategy[a * lanes] * q[a * lanes] / free_total
    for a in range(len(probability)):
        if probability[a] < 0.0:
            regret[a * lanes] += q[a * lanes] - mean


@_takes_bare_form
@light(_steps_without_locks)
@kernel_with(_work)
def best_total(
    form: SequenceForm,
    gradient: np.ndarray,
    best: np.ndarray,
    locks: ChunkLocks | None,
    work: Work,
) -> None:
    """Compute the total value of the best fixed strategy of each player.

    Args:
        form: The game.
        gradient: float (sequences,): counterfactual payoffs, or sums of them; modified in place to
            the values under the best strategy.
        best: float64 (players,): modified in place.
        locks: Locked infosets, where every strategy keeps the locked probabilities; or None.
        work: Scratch.
    """
    locked = locks_of(locks, 0, 0, form, work.table)
    for player in range(best.shape[0]):
        maximise(form, player, gradient, locked, work.whole_rule)
        best[player] = gradient[form.player_sequences[player]]
