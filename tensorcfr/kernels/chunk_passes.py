"""Passes over a game in chunks: down the trunk, through every chunk, and up the trunk.

:func:`run_pass` is one pass, with the forward reach pass
(:func:`~tensorcfr.kernels.forward_pass.forward_from_regrets`) and the backward value pass
(:func:`~tensorcfr.kernels.backward_pass.backward`) of each part.  :func:`run_passes` runs several,
and shares them among threads.

A *branch* is a chunk entered from the trunk with all chunks below it.  Branches depend only on the
trunk, so they can run in parallel.  Each branch writes the values for the trunk to memory of its
own, and they are added in the order of the branches.  So the result has the same bits for any
number of threads.  Within a branch, chunks are visited in order, and add their values to the chunk
above, which stays in the scratch arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.jit import (
    borrowed,
    by_types,
    compiled_here,
    if_given,
    inlined,
    kernel_with,
    lends,
    view,
)
from ..model.arrays import LockedLanes, SequenceForm
from ..model.chunked_form import FORM_FIELDS, ChunkedForm, ChunkLocks
from ..payoff.multiply import payoff_product, scratch_size
from . import packing
from .backward_pass import backward
from .barrier import count_up, wait_for
from .forward_pass import forward_from_regrets
from .local_rule import LocalRule, parameters_of
from .locked_lanes import has_payoffs, mix_payoffs
from .packing import StoredRange
from .parts import Part, Step
from .pass_arrays import ChunkScratch, Numbers, PassSchedule, StoredArrays, TrunkScratch, Work
from .shapes import shape_form
from .tiles import LONGEST, TILE_ROWS, gather, next_run, scatter
from .whole_rules import most_actions, whole_scratch

DOWN = 0
"""Stage of a pass: the trunk, downwards."""
CHUNKS = 1
"""Stage of a pass: branches, in any order and in parallel."""
UP = 2
"""Stage of a pass: the trunk, upwards."""
ALL = 3
"""All stages of a pass, one after the other."""
PLAYER_SEQUENCES = FORM_FIELDS.index("player_sequences")
BEFORE, DONE = -1, 4
"""Markers before the first stage and after the last one."""


@inlined
def most_scratch(game: ChunkedForm) -> tuple[int, int]:
    """Return the largest scratch of any part's payoffs, and the largest number of actions."""
    numbers, actions = scratch_size(game.trunk.operator), most_actions(game.trunk)
    for shape in range(game.shapes.place.shape[0]):  # type: ignore[union-attr]
        form = shape_form(game.shapes, shape)
        numbers = max(numbers, scratch_size(form.operator))
        actions = max(actions, most_actions(form))
    return numbers, actions


@if_given
def lock_table(locks: ChunkLocks) -> np.ndarray:
    """Allocate scratch for :func:`locks_of`, int64 (most buckets + 1,)."""
    return np.empty(locks.most_buckets[0] + 1, np.int64)


@lends
@if_given
def locks_of(
    locks: ChunkLocks, part: int, base: int, form: SequenceForm, table: np.ndarray
) -> LockedLanes:
    """Return the locks of a part in the layout of its form; None if the game has no locks.

    Args:
        locks: Locks of all parts.
        part: 0 for the trunk, ``c + 1`` for chunk ``c``.
        base: Number of the part's sequence 0; see :attr:`ChunkedForm.sequence_offset`.
        form: Sequence form of the part.
        table: int64 (at least buckets + 1,): modified in place; the result refers to it.
    """
    first, last = locks.part[part], locks.part[part + 1]
    lock = first
    for b in range(form.bucket_lanes.shape[0] + 1):
        while lock < last and locks.bucket[lock] < b:
            lock += 1
        # First lock of bucket `b` or of a later one, counted from this part's first lock.
        table[b] = lock - first
    locked = LockedLanes(
        table,
        locks.lane[first:],
        locks.offset[first:],
        locks.probability,
        locks.modelled,
        locks.least[base:],
        locks.share,
        locks.payoff[base:],
    )
    return borrowed(locked)


@inlined
def base_of(game: ChunkedForm, c: int) -> int:
    """Return the number of a chunk's sequence 0; 0 for the trunk, c = -1."""
    return game.sequence_offset[c] if c >= 0 else 0


@lends
@inlined
def _strategy_or(strategy: np.ndarray | None, regret: np.ndarray) -> np.ndarray:
    """Return the array from which strategies are computed: stored strategies, or else regrets."""
    if strategy is None:
        return borrowed(regret)
    return borrowed(strategy)


@lends
@if_given
def _slice(array: np.ndarray, begin: int, end: int) -> np.ndarray:
    """Return a slice of an array, or None for None."""
    return borrowed(array[begin:end])


@lends
@inlined
def workplace(game: ChunkedForm, c: int, numbers: Numbers, scratch: np.ndarray) -> np.ndarray:
    """Return the array in which a chunk's numbers are processed; see :func:`packing.workplace`."""
    chunk_numbers = numbers.chunks[game.sequence_offset[c] : game.number_offset[c + 1]]
    return packing.workplace(chunk_numbers, numbers.scale, scratch)


@inlined
def own_sequences(game: ChunkedForm, c: int, form: SequenceForm, player: int) -> tuple[int, int]:
    """Return the range of a player's sequences in a chunk, without its entries."""
    # Entries come last for the last player, and first for all others.
    bounds = form.player_sequences
    begin, end = bounds[player], bounds[player + 1]
    if player == 0:
        begin = game.number_offset[c] - game.sequence_offset[c]
    elif player == bounds.shape[0] - 2:
        end = game.number_offset[c + 1] - game.sequence_offset[c]
    elif form.player_buckets[player] < form.player_buckets[player + 1]:
        begin = form.bucket_sequence[form.player_buckets[player]]
    else:
        begin = end
    # The first player to act in a chunk need not be player 0.
    return min(begin, end), end


@inlined
def mix_part_payoffs(
    game: ChunkedForm,
    c: int,
    form: SequenceForm,
    player: int,
    locks: LockedLanes | None,
    value: np.ndarray,
) -> None:
    """Apply :func:`mix_payoffs` in a chunk, or in the trunk, c = -1, if a player has payoffs."""
    if has_payoffs(locks, player):
        first, last = form.player_sequences[player], form.player_sequences[player + 1]
        if c >= 0:
            first, last = own_sequences(game, c, form, player)
        mix_payoffs(locks, form, player, first, last, value)


@lends
@inlined
def own_numbers(
    game: ChunkedForm, c: int, form: SequenceForm, player: int, numbers: Numbers
) -> StoredRange:
    """Return a player's stored numbers of a chunk, without the entries."""
    begin, end = game.sequence_offset[c], game.number_offset[c + 1]
    scale = packing.scales_of(numbers.scale, begin, end)
    bounds = own_sequences(game, c, form, player)
    return borrowed(StoredRange(numbers.chunks[begin:end], scale, player, bounds[0], bounds[1]))


@by_types
def unpack_own(
    game: ChunkedForm, c: int, form: SequenceForm, player: int, numbers: Numbers, floats: np.ndarray
) -> Any:
    """Unpack :func:`own_numbers` from 16 bits into a chunk's ``floats``; do nothing for floats."""
    if not packing.is_packed(numbers):
        return lambda game, c, form, player, numbers, floats: None
    return lambda game, c, form, player, numbers, floats: packing.unpack(
        own_numbers(game, c, form, player, numbers), floats
    )


@by_types
def pack_own(
    game: ChunkedForm, c: int, form: SequenceForm, player: int, numbers: Numbers, floats: np.ndarray
) -> Any:
    """Pack a chunk's ``floats`` into :func:`own_numbers` in 16 bits; do nothing for floats."""
    if not packing.is_packed(numbers):
        return lambda game, c, form, player, numbers, floats: None
    return lambda game, c, form, player, numbers, floats: packing.pack(
        floats, own_numbers(game, c, form, player, numbers)
    )


@by_types
def add_to_stored_average(
    game: ChunkedForm,
    c: int,
    part: Part,
    player: int,
    averaging_weight: float,
    average: Numbers,
) -> Any:
    """Add a player's reaches, times a weight, to an average in 16 bits; do nothing for floats.

    Args:
        game: The game.
        c: The chunk; any other number for the trunk, whose average is in floats.
        part: Arrays of the same part; reaches between buckets are set to 0.
        player: The player.
        averaging_weight: Weight of the reaches in the average.
        average: Modified in place.
    """
    if not packing.is_packed(average):
        return lambda game, c, part, player, averaging_weight, average: None
    return _add_to_stored_average


@inlined
def _add_to_stored_average(
    game: ChunkedForm,
    c: int,
    part: Part,
    player: int,
    averaging_weight: float,
    average: Numbers,
) -> None:
    form, reach = part.form, part.reach
    begin, end = form.player_sequences[player], form.player_sequences[player + 1]
    if not 0 <= c < game.shape.shape[0]:
        packing.add(
            reach, averaging_weight, StoredRange(part.average, None, player, begin + 1, end)
        )
        return
    if averaging_weight == 0.0:
        return
    stored = own_numbers(game, c, form, player, average)
    # Rows are packed as a whole: clear the gaps between buckets, which still hold numbers of other
    # chunks.
    position = stored.begin
    for b in range(form.player_buckets[player], form.player_buckets[player + 1]):
        for s in range(position, form.bucket_sequence[b]):
            reach[s] = 0.0
        position = form.bucket_sequence[b] + form.bucket_actions[b] * form.bucket_lanes[b]
    for s in range(position, stored.end):
        reach[s] = 0.0
    packing.add(reach, averaging_weight, stored)


@lends
@inlined
def chunk_view(game: ChunkedForm, c: int, scratch: np.ndarray) -> np.ndarray:
    """Return the view of scratch in which a chunk's numbers are stored."""
    # A view takes less time than a slice.
    room = game.scratch_offset[c]
    return view(scratch, room, (max(scratch.shape[0] - room, 0),))


@lends
@inlined
def trunk_of(
    game: ChunkedForm, stored: StoredArrays, trunk: TrunkScratch, value_bound: np.ndarray
) -> Part:
    """Return the trunk with its arrays."""
    end = game.trunk.player_sequences[-1]
    return borrowed(
        Part(
            game.trunk,
            stored.regret.trunk,
            stored.cumulative.trunk,
            _slice(stored.strategy, 0, end),
            stored.memory[:, :end],
            trunk.reach,
            trunk.value,
            value_bound[0],
        )
    )


@lends
@inlined
def chunk_of(
    game: ChunkedForm, c: int, stored: StoredArrays, scratch: ChunkScratch, value_bound: np.ndarray
) -> Part:
    """Return a chunk with its arrays.

    Regrets in 16 bits are processed in scratch.  Averages in 16 bits are never unpacked
    (:func:`add_to_stored_average`): the array in their place is not read.
    """
    begin, end = game.sequence_offset[c], game.number_offset[c + 1]
    value = chunk_view(game, c, scratch.value)
    return borrowed(
        Part(
            shape_form(game.shapes, game.shape[c]),
            workplace(game, c, stored.regret, chunk_view(game, c, scratch.regret)),
            workplace(game, c, stored.cumulative, value),
            _slice(stored.strategy, begin, end),
            stored.memory[:, begin:end],
            chunk_view(game, c, scratch.reach),
            value,
            value_bound[1 + game.shape[c]],
        )
    )


@inlined
def branches(game: ChunkedForm, stage: int, group: int, groups: int) -> tuple[int, int, int]:
    """Return the range of ``game.branch_offset`` that a stage of a pass processes: first, last and
    step.

    Index 0 is the trunk downwards, then come the branches, and the last index is the trunk upwards.
    Trunk and chunks share one loop, so that forward pass, payoffs and backward pass are compiled
    once.  A function called from two loops would take half a microsecond per call to pass the
    arrays of a form.
    """
    up = game.branch_offset.shape[0] - 2
    if stage == DOWN:
        return 0, 1, 1
    if stage == UP:
        return up, up + 1, 1
    if stage == ALL:
        return 0, up + 1, 1
    return 1 + group, up, groups


@inlined
def visited(game: ChunkedForm, visit: int) -> tuple[int, bool, bool]:
    """Return the chunk of a visit (-1 for the trunk), and whether the visit goes down, and up."""
    part = game.pass_order[visit]
    # `~part` is a visit upwards only.  A chunk with none below it (scratch offset 0) has one visit
    # for both directions.
    if part < 0:
        return ~part - 1, False, True
    return part - 1, True, part > 0 and game.scratch_offset[part - 1] == 0


@compiled_here
@inlined
def run_pass(
    game: ChunkedForm,
    stage: int,
    group: int,
    groups: int,
    rule: LocalRule,
    schedule: PassSchedule,
    t: int,
    stored: StoredArrays,
    trunk: TrunkScratch,
    scratch: ChunkScratch,
    work: Work,
    value_bound: np.ndarray,
    locks: ChunkLocks | None,
) -> None:
    """Run pass ``t``, or a stage of it: down the trunk, through the chunks, up the trunk.

    Group ``group`` has the branches ``group``, ``group + groups``, ``group + 2 * groups``, ...  The
    remaining arguments are those of :func:`run_passes`.
    """
    parameters = parameters_of(rule, schedule.row[t, 1:], work.tile)
    players = schedule.computes_reach.shape[1]
    b, last, step = branches(game, stage, group, groups)
    visit = game.branch_offset[b]
    # One loop over the visits of all branches: nested loops take 0.3 microseconds more per visit.
    while b < last:
        c, is_down, is_up = visited(game, visit)
        is_chunk = c >= 0
        if is_chunk:
            current_part = chunk_of(game, c, stored, scratch, value_bound)
            for player in range(players):
                # The forward pass needs the regrets of these players now; the backward pass unpacks
                # those of the others later.
                if is_down and schedule.computes_reach[t, player]:
                    numbers = current_part.regret
                    unpack_own(game, c, current_part.form, player, stored.regret, numbers)
        else:
            current_part = trunk_of(game, stored, trunk, value_bound)
        form, value = current_part.form, current_part.value
        locked = locks_of(locks, c + 1, base_of(game, c), form, work.table)
        weight = _strategy_or(current_part.strategy, current_part.regret)
        bounds = form.player_sequences
        hands = form.hand_rank.shape[1] - 1
        for player in range(players):
            if not is_down or not schedule.computes_reach[t, player]:
                continue
            floor = schedule.played_floor[t, player]
            averaging_weight = schedule.averaging_weight[t, player]
            if is_chunk:
                # Reaches of the entries come from the part above, which was visited before.
                enter(game, c, player, trunk.reach, scratch.reach, current_part.reach)
            else:
                current_part.reach[bounds[player]] = 1.0
                current_part.average[bounds[player]] += averaging_weight
            # With weight 0, `value` serves as a dummy target, so that the average is not even read.
            average = packing.in_floats(
                current_part.average if averaging_weight != 0.0 else value, stored.cumulative.scale
            )
            forward_from_regrets(
                form,
                player,
                weight,
                floor,
                current_part.reach,
                average,
                averaging_weight,
                work.tile,
                locked,
            )
            add_to_stored_average(
                game, c, current_part, player, averaging_weight, stored.cumulative
            )
        for player in range(players):
            if not schedule.updates[t, player]:
                continue
            if is_down:
                prefetch_addresses(
                    game,
                    c,
                    player,
                    stored,
                    schedule.averaging_weight[t, (player + 1) % players] != 0.0,
                    work.prefetch,
                )
                payoff_product(form, player, current_part.reach, value, work.payoff, work.prefetch)
                if locks is not None:
                    mix_part_payoffs(game, c, form, player, locked, value)
            if not is_up:
                continue
            if not is_chunk:
                # `value` has the trunk's own payoffs; add the values that the branches passed up.
                collect(game, player, trunk.entry_value, value)
            if is_chunk:
                unpack_own(game, c, form, player, stored.regret, current_part.regret)
            rule_step = Step(rule, parameters, schedule.played_floor[t, player], schedule.floor[t])
            backward(current_part, player, rule_step, work.tile, work.whole_rule, 0, hands, locked)
            if is_chunk:
                pack_own(game, c, form, player, stored.regret, current_part.regret)
                leave(game, c, player, value, trunk.entry_value, scratch.value)
        visit += 1
        if visit == game.branch_offset[b + 1]:
            b += step
            visit = game.branch_offset[min(b, last)]


@inlined
def prefetch_addresses(
    game: ChunkedForm,
    c: int,
    player: int,
    stored: StoredArrays,
    averages: bool,
    prefetch: np.ndarray,
) -> None:
    """Write the addresses to prefetch while a chunk's payoffs are computed.

    They are the player's regrets in this chunk, for the backward pass, and the next player's
    regrets and averages in the next chunk, for its forward pass.

    Args:
        game: The game.
        c: The chunk; -1 for the trunk.
        player: Player whose payoffs are computed.
        stored: Solver state.
        averages: Whether averages are needed.
        prefetch: int64 (3, 2): modified in place; see
            :class:`tensorcfr.payoff.product_share.ProductShare`.
    """
    prefetch[:] = 0
    players = game.entry_offset.shape[1] - 1
    for row in range(2):
        chunk, owner = c + row, (player + row) % players
        if 0 <= chunk < game.shape.shape[0]:
            bounds = own_sequences(game, chunk, shape_form(game.shapes, game.shape[chunk]), owner)
            for k in range(2):
                s = game.sequence_offset[chunk] + bounds[k]
                prefetch[row, k] = address_of(stored.regret.chunks, s)
                if row == 1 and averages:
                    prefetch[2, k] = address_of(stored.cumulative.chunks, s)


@inlined
def address_of(array: np.ndarray, s: int) -> int:
    """Return the address of an element of an array."""
    return np.int64(array.ctypes.data) + np.int64(array.itemsize) * s  # type: ignore[return-value]


def _work_of_passes(
    game: ChunkedForm, rule: LocalRule, trunk: TrunkScratch, locks: ChunkLocks | None
) -> Work:
    tile = np.empty((TILE_ROWS, LONGEST), trunk.reach.dtype)
    numbers, actions = most_scratch(game)
    rule_scratch, prefetch = whole_scratch(rule, actions), np.zeros((3, 2), np.int64)
    return Work(tile, rule_scratch, np.empty(numbers), lock_table(locks), prefetch)


@kernel_with(_work_of_passes)
def run_passes(
    game: ChunkedForm,
    rule: LocalRule,
    schedule: PassSchedule,
    stored: StoredArrays,
    trunk: TrunkScratch,
    scratch: ChunkScratch,
    value_bound: np.ndarray,
    locks: ChunkLocks | None,
    thread: int,
    threads: int,
    groups: int,
    barrier: np.ndarray,
    work: Work,
) -> None:
    """Run several passes in one call; if several threads share them, do the work of one thread.

    The first thread processes the trunk.  Each free thread takes the next group of branches.
    Threads wait for each other inside the kernel, because a call from Python takes as long as a
    pass over a small game.

    Args:
        game: The game.
        rule: The local rule, to which this kernel is specialised.
        schedule: Schedule of the passes.
        stored: Solver state, modified in place.
        trunk: Scratch of the trunk.
        scratch: Scratch of this thread.
        value_bound: float64 (1 + shapes, buckets): upper bound of the counterfactual values of each
            bucket, for the trunk and for each shape; see :mod:`tensorcfr.solvers.value_bounds`.
        locks: Locked infosets, or None; the kernel is compiled with or without them.
        thread: Number of this thread, from 0.
        threads: Number of threads that call this at the same time.
        groups: Number of groups into which the branches are divided.
        barrier: int64 (passes, BARRIER_COUNTERS): progress counters, initially 0, shared and
            modified by all threads.
        work: Scratch.
    """
    for t in range(schedule.row.shape[0]):
        stage, group = _next_stage(BEFORE, thread, threads, groups, barrier, t)
        while stage != DONE:
            # The only call, because numba inlines a copy at every call site.
            run_pass(
                game,
                stage,
                group,
                groups,
                rule,
                schedule,
                t,
                stored,
                trunk,
                scratch,
                work,
                value_bound,
                locks,
            )
            stage, group = _next_stage(stage, thread, threads, groups, barrier, t)


@inlined
def _next_stage(
    stage: int, thread: int, threads: int, groups: int, barrier: np.ndarray, t: int
) -> tuple[int, int]:
    """Return the next stage of a thread and its group of branches, after waiting for its turn.

    The stage is :data:`DONE` if no work is left.  The arguments are those of :func:`run_passes`.
    """
    if threads == 1:
        return (ALL if stage == BEFORE else DONE), 0
    if stage == BEFORE and thread == 0:
        return DOWN, 0
    # Counters: 0 opens the branches, 1 hands out their groups, 2 counts threads that finished.
    if stage == DOWN:
        count_up(barrier, t, 0)
    if stage <= DOWN:
        wait_for(barrier, t, 0, 1)
    if stage <= CHUNKS:
        group = count_up(barrier, t, 1)
        if group < groups:
            return CHUNKS, group
        count_up(barrier, t, 2)
        if thread == 0:
            wait_for(barrier, t, 2, threads)
            return UP, 0
    return DONE, 0


@inlined
def first_entry(game: ChunkedForm, c: int, player: int) -> int:
    """Return the first of a player's entries among the sequences of a chunk."""
    if player == 0:
        return 0
    if player == game.entry_offset.shape[1] - 2:
        return game.number_offset[c + 1] - game.sequence_offset[c]
    # A form has dozens of views, which take long to compile.
    begin = game.shapes.place[game.shape[c], PLAYER_SEQUENCES, 0]  # type: ignore[union-attr]
    return game.shapes.integers[begin + player]  # type: ignore[union-attr]


@inlined
def entry_run(game: ChunkedForm, r: int) -> tuple[int, int, int]:
    """Return a row of entries as signed integers: unsigned ones would turn sums into floats."""
    count, after, begin = game.entry_runs[r, 0], game.entry_runs[r, 1], game.entry_runs[r, 2]
    return np.int64(count), np.int64(after), np.int64(begin)  # type: ignore[return-value]


@lends
@inlined
def parent_array(game: ChunkedForm, c: int, trunk: np.ndarray, scratch: np.ndarray) -> np.ndarray:
    """Return the array of the part that a chunk is entered from: the trunk's, or one in scratch."""
    parent_part = game.parent_part[c]
    if parent_part == 0:
        return borrowed(trunk)
    return borrowed(chunk_view(game, parent_part - 1, scratch))


@inlined
def enter(
    game: ChunkedForm,
    c: int,
    player: int,
    trunk: np.ndarray,
    scratch: np.ndarray,
    chunk: np.ndarray,
) -> None:
    """Copy a player's numbers of the sequences before a chunk to the chunk's entries.

    Args:
        game: The game.
        c: The chunk.
        player: The player.
        trunk: Numbers of the trunk.
        scratch: Numbers of chunks in scratch.
        chunk: Numbers of the chunk, modified in place.
    """
    source = parent_array(game, c, trunk, scratch)
    offset, n_consecutive = first_entry(game, c, player), 0
    for r in range(game.run_offset[c, player], game.run_offset[c, player + 1]):
        count, after, begin = entry_run(game, r)
        n_consecutive = next_run(game.entry_distances, begin, count, n_consecutive)
        gather(source[after:], game.entry_distances, begin, count, n_consecutive, chunk[offset:])
        offset += count


@inlined
def leave(
    game: ChunkedForm,
    c: int,
    player: int,
    chunk: np.ndarray,
    entry: np.ndarray,
    scratch: np.ndarray,
) -> None:
    """Pass the values of a player's entries to the part that the chunk is entered from.

    Values for the trunk are copied to ``entry``, and added later by :func:`collect`.  Values for
    another chunk are added to it in ``scratch``.
    """
    first, parent_part = first_entry(game, c, player), game.parent_part[c]
    if parent_part > 0:
        add_entries(game, c, player, chunk, first, 0, chunk_view(game, parent_part - 1, scratch))
        return
    begin = np.uint64(game.entry_offset[c, player])
    for k in range(np.uint64(game.entry_offset[c, player + 1]) - begin):
        entry[begin + k] = chunk[np.uint64(first) + k]


@inlined
def add_entries(
    game: ChunkedForm,
    c: int,
    player: int,
    value: np.ndarray,
    offset: int,
    n_consecutive: int,
    target: np.ndarray,
) -> int:
    """Add the values of a player's entries to the sequences before the chunk.

    Args:
        game: The game.
        c: The chunk.
        player: The player.
        value: Values; the first entry is at ``offset``.
        offset: Index of the first entry.
        n_consecutive: Guess of the run length, as for :func:`gather`.
        target: Values of the part that the chunk is entered from, modified in place.

    Returns:
        The guess for the next chunk.
    """
    for r in range(game.run_offset[c, player], game.run_offset[c, player + 1]):
        count, after, begin = entry_run(game, r)
        n_consecutive = next_run(game.entry_distances, begin, count, n_consecutive)
        scatter(value[offset:], game.entry_distances, begin, count, n_consecutive, target[after:])
        offset += count
    return n_consecutive


@inlined
def collect(game: ChunkedForm, player: int, value: np.ndarray, trunk: np.ndarray) -> None:
    """Add the values of a player's entries to the trunk's sequences, in the order of the chunks.

    The order is fixed, so that the sums do not depend on which thread computed a chunk.
    """
    n_consecutive = 0
    for c in range(game.shape.shape[0]):
        if game.parent_part[c] == 0:
            begin = game.entry_offset[c, player]
            n_consecutive = add_entries(game, c, player, value, begin, n_consecutive, trunk)
