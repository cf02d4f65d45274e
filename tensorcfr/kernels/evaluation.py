"""Evaluating strategies: probabilities from weights, own reaches, values, best responses."""

from __future__ import annotations

from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from .._util.jit import borrowed, inlined, kernel, kernel_with
from ..model.arrays import LockedLanes, SequenceForm
from ..model.chunks import ChunkedForm, ChunkLocks
from ..payoff.lanes import dot
from ..payoff.multiply import add_share, payoff_product, payoff_scratch, scratch_size
from ..payoff.shares import Share
from . import packing
from .chunks import (
    branches,
    collect,
    enter,
    in_room,
    leave,
    lock_table,
    locks_of,
    most_scratch,
    own_numbers,
    visited,
    workplace,
)
from .descent import descend, follow, like, strategies
from .locks import free_share, locked_best, of_lock, share_out
from .pass_arrays import ChunkScratch, Numbers, TrunkScratch, Work
from .shapes import shape_form
from .tiles import LONGEST, TILE, TILE_ROWS, run_length, scatter, tile_length


def _work(locks: ChunkLocks | None) -> Work:
    """Scratch where payoffs are not worked out."""
    return Work(np.empty((0, 0)), np.empty(LONGEST), np.empty(0), lock_table(locks), None)


def _of_bare(found: Any) -> Any:
    """A kernel whose first argument is a game without its payoffs, which Python calls with the
    game."""

    @wraps(found, updated=())
    def call(game: SequenceForm | ChunkedForm, *others: Any) -> None:
        found(game.bare, *others)

    call.py_func = getattr(found, "py_func", found)  # type: ignore[attr-defined]
    return call


def normalise(form: SequenceForm, weight: np.ndarray) -> np.ndarray:
    """Behaviour strategy from non-negative weights; uniform at infosets with total weight 0.

    Args:
        form: The game.
        weight: float (sequences,).

    Returns:
        float64 (sequences,): 1 for the empty sequences.
    """
    strategy = np.empty(form.n_sequences)
    match_weights(form, weight, 0.0, strategy, None)
    return strategy


@_of_bare
@kernel_with(_work)
def match_weights(
    form: SequenceForm,
    weight: np.ndarray,
    floor: float,
    strategy: np.ndarray,
    locks: ChunkLocks | None,
    work: Work,
) -> None:
    """Everybody's behaviour strategies in a game in one piece, by regret matching; arguments as for
    :func:`strategies_of_parts`."""
    strategy[:] = 1.0
    strategies(form, weight, floor, strategy, 0, locks_of(locks, 0, form, work.table), work.own)


@_of_bare
@kernel
def impose(form: SequenceForm, locks: ChunkLocks, strategy: np.ndarray) -> None:
    """Overwrite a behaviour strategy at locked infosets with their locked probabilities.

    Free actions share the rest in proportion to their probabilities, equally if all are 0.

    Args:
        form: The game, in one piece or the trunk.
        locks: The locks.
        strategy: float (sequences,): modified in place.
    """
    for lock in range(locks.part[1]):
        b = locks.bucket[lock]
        probability = of_lock(locks, lock, form.bucket_actions[b])
        first = form.bucket_sequence[b] + locks.lane[lock]
        share_out(strategy[first:], form.bucket_lanes[b], probability, 0.0)


@_of_bare
@kernel_with(lambda: np.empty(TILE))
def realization_plan(
    form: SequenceForm, strategy: np.ndarray, reach: np.ndarray, above: np.ndarray
) -> None:
    """Own reach of every sequence under a behaviour strategy.

    Args:
        form: The game.
        strategy: float (sequences,).
        reach: float (sequences,): modified in place; 1 for the empty sequences.
        above: Scratch.
    """
    for player in range(form.player_sequences.shape[0] - 1):
        follow(form, player, strategy, reach, above)


def _work_of_parts(game: ChunkedForm, weight: Numbers, locks: ChunkLocks | None) -> Work:
    numbers = np.empty(most_numbers(game, weight.scale), weight.trunk.dtype)
    return Work(numbers, np.empty(TILE), np.empty(0), lock_table(locks), None)


@_of_bare
@kernel_with(_work_of_parts)
def strategies_of_parts(
    game: ChunkedForm,
    first: int,
    last: int,
    weight: Numbers,
    floor: float,
    found: np.ndarray,
    locks: ChunkLocks | None,
    work: Work,
) -> None:
    """Everybody's behaviour strategies, by regret matching.

    Args:
        game: The game.
        first: The first part; the trunk is part 0, and chunk ``c`` part ``c + 1``.
        last: The part after the last one.
        weight: What they are made from.
        floor: Share of every strategy that is uniform.
        found: float: the numbers of these parts; modified in place.
        locks: Locked infosets, or None.
        work: Modified.
    """
    at = game.first[first - 1] if first > 0 else 0
    found[:] = 1.0
    for part in range(first, last):
        base = 0
        if part > 0:
            form, base = shape_form(game.shapes, game.shape[part - 1]), game.base[part - 1]
            own = workplace(game, part - 1, weight, work.tile)
            for player in range(2):
                packing.unpack(own_numbers(game, part - 1, form, player, weight), own)
        else:
            form, own = borrowed(game.trunk), borrowed(weight.trunk)
        locked = locks_of(locks, part, form, work.table)
        strategies(form, own, floor, found, base - at, locked, work.own)


@_of_bare
@kernel
def unpack_parts(game: ChunkedForm, numbers: Numbers, found: np.ndarray) -> None:
    """All numbers of an array in 16 bits; ``found``, float32 (numbers,), is modified in place."""
    for s in range(game.trunk.player_sequences[-1]):
        found[s] = numbers.trunk[s]
    for c in range(game.shape.shape[0]):
        form = shape_form(game.shapes, game.shape[c])
        for player in range(2):
            packing.unpack(own_numbers(game, c, form, player, numbers), found[game.base[c] :])


@_of_bare
@kernel
def pack_parts(game: ChunkedForm, found: np.ndarray, numbers: Numbers) -> None:
    """Set an array in 16 bits, which is modified in place, to numbers, float32 (numbers,)."""
    for s in range(game.trunk.player_sequences[-1]):
        numbers.trunk[s] = found[s]
    for c in range(game.shape.shape[0]):
        form = shape_form(game.shapes, game.shape[c])
        for player in range(2):
            packing.pack(found[game.base[c] :], own_numbers(game, c, form, player, numbers))


@inlined
def most_numbers(game: ChunkedForm, scale: np.ndarray | None) -> int:
    """Numbers of the largest chunk, where arrays are in 16 bits; otherwise none."""
    most = 0
    if scale is not None:
        for c in range(game.shape.shape[0]):
            most = max(most, game.first[c + 1] - game.base[c])
    return most


@kernel_with(lambda form: np.empty(max(scratch_size(form.operator), 1)))
def add_payoffs(
    form: SequenceForm, player: int, reach: np.ndarray, g: np.ndarray, scratch: np.ndarray
) -> float:
    """Add the payoffs of a player's sequences; arguments as for
    :func:`tensorcfr.payoff.multiply.payoff_product`.

    Returns:
        What the player's own reaches earn with the sums.
    """
    share = Share(form.hand_rank, player, 0, 1, reach, g, scratch, None)
    for k in range(len(form.operator)):
        add_share(form.operator, k, share)
    first = form.player_sequences[player]
    dot(reach, g, first, form.player_sequences[player + 1] - first, scratch, 0)
    return scratch[0]


def judge_whole(
    form: SequenceForm,
    reach: np.ndarray,
    value: np.ndarray,
    expected: np.ndarray,
    best: np.ndarray,
    locks: ChunkLocks | None,
) -> None:
    """What :func:`judge` does for a game in one piece, from own reaches.

    Args:
        form: The game.
        reach: float (sequences,): own reaches of all players.
        value: float (sequences,): modified in place: counterfactual values if the player goes on
            with a best response.
        expected: float64 (players,): modified in place.
        best: float64 (players,): modified in place.
        locks: Locked infosets, which best responses play as they are locked; or None.
    """
    value[:] = 0.0
    for player in range(form.n_players):
        expected[player] = add_payoffs(form, player, reach, value)
    best_total(form, value, best, locks)


class Looks(NamedTuple):
    """Strategies, and values under them, action by action; in the floats of the state, (sequences
    of the trunk, or most sequences of a branch,) unless said."""

    trunk_strategy: np.ndarray
    trunk_value: np.ndarray
    entry_value: np.ndarray
    """(entries,)."""
    chunk_strategy: np.ndarray
    chunk_value: np.ndarray


def _work_of_judge(game: ChunkedForm, trunk: TrunkScratch, locks: ChunkLocks | None) -> Work:
    tile = np.empty((TILE_ROWS, LONGEST), trunk.reach.dtype)
    return Work(tile, np.empty(TILE), np.empty(most_scratch(game)[0]), lock_table(locks), None)


@kernel_with(_work_of_judge)
def judge(
    game: ChunkedForm,
    stage: int,
    part: int,
    parts: int,
    weight: Numbers,
    floor: float,
    trunk: TrunkScratch,
    scratch: ChunkScratch,
    expected: np.ndarray,
    best: np.ndarray,
    looks: Looks | None,
    locks: ChunkLocks | None,
    work: Work,
) -> None:
    """Expected values, and what each player's best response to the others earns.

    Args:
        game: The game.
        stage: As for :func:`tensorcfr.kernels.chunks.run_pass`, like the next two.
        part: Likewise.
        parts: Likewise.
        weight: What the strategies are made from by regret matching.
        floor: Share of every strategy that is uniform.
        trunk: Modified; values are those of best responses.
        scratch: Modified; likewise.
        expected: float64 (chunks + 1, players): expected values from the terminals of each chunk,
            in the last row from those of the trunk; modified in place.
        best: float64 (players,): modified in place.
        looks: Modified in place, and best responses are free of locks; None if only the sums are
            of interest.
        locks: Locked infosets, which best responses play as they are locked; or None.
        work: Modified.
    """
    players = best.shape[0]
    first, last, step = branches(game, stage, part, parts)
    for b in range(first, last, step):
        for at in range(game.branch[b], game.branch[b + 1]):
            c, is_down, is_up = visited(game, at)
            is_chunk = c >= 0
            if is_chunk:
                form = shape_form(game.shapes, game.shape[c])
                own = workplace(game, c, weight, in_room(game, c, scratch.regret))
                reach = in_room(game, c, scratch.reach)
                value = in_room(game, c, scratch.value)
                for player in range(players if is_down else 0):
                    packing.unpack(own_numbers(game, c, form, player, weight), own)
            else:
                form, own, reach, value = game.trunk, weight.trunk, trunk.reach, trunk.value
            locked = locks_of(locks, c + 1, form, work.table)
            bounds = form.player_sequences
            if looks is not None:
                own_strategy, own_value = looks.trunk_strategy, looks.trunk_value
                if is_chunk:
                    own_strategy = in_room(game, c, looks.chunk_strategy)
                    own_value = in_room(game, c, looks.chunk_value)
                if is_down:
                    own_strategy[: bounds[players]] = 1.0
                    strategies(form, own, floor, own_strategy, 0, locked, work.own)
            for player in range(players if is_down else 0):
                if is_chunk:
                    enter(game, c, player, trunk.reach, scratch.reach, reach)
                else:
                    reach[bounds[player]] = 1.0
                descend(form, player, own, floor, reach, None, 0.0, work.tile, locked)
            for player in range(players):
                if is_down:
                    payoff_product(form, player, reach, value, work.payoff, None)
                    # The trunk has the last row.
                    count = bounds[player + 1] - bounds[player]
                    dot(reach, value, bounds[player], count, expected[c], player)
                    if looks is not None:
                        for s in range(bounds[player], bounds[player + 1]):
                            own_value[s] = value[s]
                if not is_up:
                    continue
                if looks is not None:
                    if not is_chunk:
                        collect(game, player, looks.entry_value, own_value)
                    average_up(form, player, own_strategy, own_value, work.tile[0])
                    if is_chunk:
                        leave(game, c, player, own_value, looks.entry_value, looks.chunk_value)
                if not is_chunk:
                    collect(game, player, trunk.entry_value, value)
                if looks is not None:
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
    """The backward pass: the mean of an infoset's actions is added to the sequence before it;
    ``value`` is modified in place, and ``mean``, float (at least LONGEST,), is scratch."""
    parent, zero = form.infoset_parent, like(mean[0], 0.0)
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        begin, alike = 0, 0
        while begin < lanes:
            infoset, first = form.bucket_infoset[b] + begin, form.bucket_sequence[b] + begin
            alike = run_length(parent, infoset, min(LONGEST, lanes - begin), alike)
            length = tile_length(alike, lanes - begin)
            begin += length
            mean[:length] = zero
            for a in range(actions):
                at = np.uint64(first + a * lanes)
                for lane in range(np.uint64(length)):
                    mean[lane] += strategy[at + lane] * value[at + lane]
            scatter(mean, parent, infoset, length, alike, value)


@inlined
def maximise(
    form: SequenceForm,
    player: int,
    value: np.ndarray,
    locks: LockedLanes | None,
    best: np.ndarray,
) -> None:
    """The backward pass with the maximum over actions in place of the mean under a strategy;
    ``value`` is modified in place, and ``best``, float (at least LONGEST,), is scratch."""
    parent = form.infoset_parent
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        if locks is not None:
            lock, last_lock = locks.bucket[b], locks.bucket[b + 1]
        begin, alike = 0, 0
        while begin < lanes:
            infoset, first = form.bucket_infoset[b] + begin, form.bucket_sequence[b] + begin
            alike = run_length(parent, infoset, min(LONGEST, lanes - begin), alike)
            length = tile_length(alike, lanes - begin)
            at = np.uint64(first)
            for lane in range(np.uint64(length)):
                best[lane] = value[at + lane]
            for a in range(1, actions):
                at = np.uint64(first + a * lanes)
                for lane in range(np.uint64(length)):
                    best[lane] = max(best[lane], value[at + lane])
            if locks is not None:
                while lock < last_lock and locks.lane[lock] < begin + length:
                    lane = locks.lane[lock] - begin
                    probability = of_lock(locks, lock, actions)
                    best[lane] = locked_best(value[first + lane :], lanes, probability)
                    lock += 1
            scatter(best, parent, infoset, length, alike, value)
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
    """Add the counterfactual regrets of one player in one iteration, independently of those that a
    local rule keeps.

    Args:
        form: The game.
        player: The player.
        strategy: float64 (sequences,): the player's strategy in this iteration.
        reach: float64 (sequences,): own reaches of the other players.
        value: float64 (sequences,): scratch; the player's entries are modified in place.
        gradient: float64 (sequences,): the counterfactual payoff of each sequence of the player
            is added in place.
        regret: float64 (sequences,): the player's entries are modified in place.
        locks: Locked infosets, or None; locked actions have no regret, and free actions have
            regret against the mean of the free actions.

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
    """Add regrets of the free actions of a locked infoset, against the mean of the free actions;
    action ``a`` is at ``a * lanes``, and the lock has the probabilities, float64 (actions,)."""
    share, mean = free_share(probability), 0.0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            mean += strategy[a * lanes] * q[a * lanes] / share
    for a in range(len(probability)):
        if probability[a] < 0.0:
            regret[a * lanes] += q[a * lanes] - mean


@_of_bare
@kernel_with(_work)
def best_total(
    form: SequenceForm,
    gradient: np.ndarray,
    best: np.ndarray,
    locks: ChunkLocks | None,
    work: Work,
) -> None:
    """Total value of the best fixed strategy of each player.

    Args:
        form: The game.
        gradient: float (sequences,): counterfactual payoffs, or sums of them; modified in place, to
            the values if the player goes on with the best strategy.
        best: float64 (players,): modified in place.
        locks: Locked infosets, or None; every strategy keeps locked probabilities.
        work: Modified.
    """
    locked = locks_of(locks, 0, form, work.table)
    for player in range(best.shape[0]):
        maximise(form, player, gradient, locked, work.own)
        best[player] = gradient[form.player_sequences[player]]
