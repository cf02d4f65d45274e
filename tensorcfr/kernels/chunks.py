"""The kernels of a game in chunks: a pass goes down the trunk, through every chunk, and up again.

Chunks depend on the trunk alone, so any of them may be worked on beside others.  What a chunk gives
back to the trunk is written to a place of its own, and added up in the order of the chunks: the
result has the same bits however the chunks are shared out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from .._util.jit import borrowed, called, if_given, inlined, kernel, lends, view
from ..model.arrays import LockedLanes, SequenceForm
from ..model.chunks import CardShapes, CardShapesBesideEntries, ChunkedForm, ChunkLocks, Shapes
from ..payoff import PayoffBlocks, PayoffCards, PayoffEntries
from ..payoff.cards import LANES
from ..payoff.multiply import payoff_product, scratch_size
from . import packing
from .ascent import ascend, most_actions, whole_scratch
from .descent import descend, strategies
from .evaluation import maximise
from .local_rule import LocalRule, has_forecast, parameters_of
from .meeting import count_up, wait_for
from .tiles import LONGEST, TILE_ROWS, gather, run_length, scatter

DOWN = 0
"""Stage of a pass: the way down the trunk."""
CHUNKS = 1
"""Stage of a pass: chunks, in any order and beside each other."""
UP = 2
"""Stage of a pass: the way up the trunk."""
ALL = 3
"""All stages of a pass, one after the other."""


class Numbers(NamedTuple):
    """An array over the sequences of trunk and chunks."""

    chunks: np.ndarray
    """float or int16 (numbers,): what is before the first chunk belongs to the trunk."""
    scale: np.ndarray | None
    """float32 (rows,): the scales of an array in 16 bits; see
    :mod:`tensorcfr.kernels.packing`."""
    trunk: np.ndarray
    """float (trunk sequences,): those of the trunk; a part of ``chunks`` unless this has a
    scale."""


class Kept(NamedTuple):
    """What a solver keeps from one iteration to the next; all of it float64, or float32, or what is
    in chunks int16 and the rest float32."""

    regret: Numbers
    """Cumulative regret, as the local rule keeps it."""
    cumulative: Numbers
    """Sum over iterations of averaging weight times own reach; for the empty sequences of the
    trunk the sum of the weights."""
    strategy: np.ndarray | None
    """(numbers,): the strategies that are played next, for rules that do not make them from the
    regret."""
    memory: np.ndarray
    """What the rule keeps beside the regret, (kept, numbers)."""


class TrunkScratch(NamedTuple):
    """Scratch over the sequences of the trunk, and over the entries of the chunks; in the floats
    of the state."""

    reach: np.ndarray
    """(trunk sequences,): own reaches."""
    faced: np.ndarray
    """(trunk sequences,): the reaches that others face where they play against averages; otherwise
    the same array as ``reach``."""
    value: np.ndarray
    """(trunk sequences,): counterfactual values."""
    forecast: np.ndarray
    """(trunk sequences,): forecast values; empty for rules without."""
    entry_value: np.ndarray
    """(entries,): values of the chunks' entries."""
    entry_forecast: np.ndarray
    """(entries,): forecast values likewise; empty for rules without."""


class ChunkScratch(NamedTuple):
    """Scratch over the sequences of one chunk; in the floats of the state."""

    reach: np.ndarray
    """(most sequences,): own reaches."""
    value: np.ndarray
    """(most sequences,): counterfactual values."""
    forecast: np.ndarray
    """(most sequences,): forecast values; empty for rules without."""
    regret: np.ndarray
    """(most sequences,): regrets of arrays in 16 bits; otherwise empty."""
    average: np.ndarray
    """(most sequences,): cumulative strategies likewise."""


class Work(NamedTuple):
    """Scratch of whatever the kernels work on, made by them."""

    tile: np.ndarray
    """(TILE_ROWS, LONGEST), in the floats of the state."""
    own: np.ndarray
    """float64: that of whole rules; see :func:`tensorcfr.kernels.ascent.whole_scratch`."""
    payoff: np.ndarray
    """float64: that of the payoff product."""
    table: np.ndarray | None
    """int64: that of :func:`locks_of`; None without locks."""


class Turn(NamedTuple):
    """One pass through the game: whose reaches are needed, and who is updated."""

    descends: np.ndarray
    """bool (players,): whose reaches are worked out."""
    share: np.ndarray
    """float64 (players,): with which weight they are added to the average."""
    played_floor: np.ndarray
    """float64 (players,): share of the strategies played that is uniform; 0 where strategies are
    kept, which have it already."""
    updates: np.ndarray
    """bool (players,): whose values and regrets are worked out."""
    floor: float
    """Share of the next strategies that is uniform."""
    against_average: bool
    """Whether the players face averages instead of the strategies that are played."""
    pending: np.ndarray
    """float64 (players,): weight that the reaches have in the averages that others face beyond
    what is in them already."""


@lends
@inlined
def _array(pool: np.ndarray, place: np.ndarray, field: int) -> np.ndarray:
    """An array of a shape, flat."""
    return view(pool, place[field, 0], (place[field, 1],))


@lends
@inlined
def _table(pool: np.ndarray, place: np.ndarray, field: int, shape: tuple[int, ...]) -> np.ndarray:
    """An array of a shape."""
    return view(pool, place[field, 0], shape)


@lends
def shape_form(shapes: Shapes, shape: int) -> SequenceForm:
    """The sequence form of a shape, as views."""
    return _FORMS[type(shapes)](shapes, shape)


@lends
@inlined
def _entries_and_blocks(shapes: Shapes, shape: int) -> SequenceForm:
    """A form whose fields are those of :data:`tensorcfr.model.chunks.FIELDS`."""
    place, whole, index, real = (
        shapes.place[shape],
        shapes.integers,
        shapes.indices,
        shapes.reals,
    )
    payoff = PayoffEntries(
        _array(whole, place, 12),
        _array(whole, place, 13),
        _array(whole, place, 14),
        _array(whole, place, 15),
        _array(whole, place, 16),
        _table(index, place, 17, (1, place[17, 1])),
        _array(real, place, 18),
    )
    blocks = PayoffBlocks(
        _table(whole, place, 19, (place[19, 1] // 9, 9)),
        _array(real, place, 20),
        _table(whole, place, 21, (2, place[21, 1] // 2)),
        _array(whole, place, 22),
        _array(whole, place, 23),
        _array(whole, place, 24),
        _array(whole, place, 25),
        _array(real, place, 26),
    )
    return _form(whole, index, place, (payoff, blocks))


@lends
@inlined
def _cards(shapes: CardShapes, shape: int) -> SequenceForm:
    """A form whose fields are those of :data:`tensorcfr.model.chunks.CARD_FIELDS`."""
    place = shapes.place[shape]
    return _form(shapes.integers, shapes.indices, place, (_cards_of(shapes, place),))


@lends
@inlined
def _entries_and_cards(shapes: CardShapesBesideEntries, shape: int) -> SequenceForm:
    """The same, beside entries that pay nothing."""
    place, whole, index, real = (
        shapes.place[shape],
        shapes.integers,
        shapes.indices,
        shapes.reals,
    )
    none = view(whole, 0, (0,))
    nothing = PayoffEntries(
        none,
        none,
        none,
        none,
        view(whole, whole.shape[0] - 3, (3,)),
        view(index, 0, (1, 0)),
        view(real, 0, (0,)),
    )
    return _form(whole, index, place, (nothing, _cards_of(shapes, place)))


@lends
@inlined
def _cards_of(shapes: CardShapes, place: np.ndarray) -> PayoffCards:
    """The operator of a shape of cards."""
    whole, index, real = shapes.integers, shapes.indices, shapes.reals
    groups = place[18, 1] // 3
    return PayoffCards(
        _array(whole, place, 12),
        _table(whole, place, 13, (place[13, 1] // 3, 3)),
        _table(real, place, 14, (2, place[14, 1] // 2)),
        _array(index, place, 15),
        _table(whole, place, 16, (place[16, 1] // 3, 3)),
        _array(index, place, 17),
        _table(whole, place, 18, (groups, 3)),
        _table(whole, place, 19, (2, groups, LANES)),
        _table(real, place, 20, (2, groups, 3, LANES)),
    )


@lends
@inlined
def _form(
    whole: np.ndarray, index: np.ndarray, place: np.ndarray, operator: tuple[Any, ...]
) -> SequenceForm:
    """A form with the given operator."""
    return SequenceForm(
        _array(whole, place, 0),
        _array(whole, place, 1),
        _array(whole, place, 2),
        _array(whole, place, 3),
        _array(whole, place, 4),
        _array(whole, place, 5),
        _array(whole, place, 6),
        _array(whole, place, 7),
        _array(whole, place, 8),
        _array(whole, place, 9),
        _table(whole, place, 10, (place[10, 1] // place[10, 2], place[10, 2])),
        _array(index, place, 11),
        operator,
    )


_FORMS: dict[type, Any] = {
    Shapes: _entries_and_blocks,
    CardShapes: _cards,
    CardShapesBesideEntries: _entries_and_cards,
}
"""What takes a form of each kind of shapes apart."""


@overload(shape_form)
def _shape_form(shapes, shape):  # type: ignore[no-untyped-def]
    form = _FORMS[shapes.instance_class]
    return lends(lambda shapes, shape: form(shapes, shape))


@inlined
def _most_scratch(game: ChunkedForm) -> tuple[int, int]:
    """Numbers of scratch that the payoffs of any part need, and the most actions of an infoset."""
    numbers, actions = scratch_size(game.trunk.operator), most_actions(game.trunk)
    for shape in range(game.shapes.place.shape[0]):
        form = shape_form(game.shapes, shape)
        numbers = max(numbers, scratch_size(form.operator))
        actions = max(actions, most_actions(form))
    return numbers, actions


@if_given
def lock_table(locks: ChunkLocks) -> np.ndarray:
    """Scratch for :func:`locks_of`."""
    return np.empty(locks.most_buckets[0] + 1, np.int64)


@lends
@if_given
def locks_of(locks: ChunkLocks, part: int, form: SequenceForm, table: np.ndarray) -> LockedLanes:
    """The locks of a part of the game as its form has them; None where none of any part is locked.

    Args:
        locks: Those of all parts.
        part: 0 for the trunk, then chunk by chunk from 1.
        form: The form of the part.
        table: Scratch, modified in place; the result refers to it.
    """
    first, last = locks.part[part], locks.part[part + 1]
    lock = first
    for b in range(form.bucket_lanes.shape[0] + 1):
        while lock < last and locks.bucket[lock] < b:
            lock += 1
        table[b] = lock - first
    found = LockedLanes(table, locks.lane[first:], locks.offset[first:], locks.probability)
    return borrowed(found)


@lends
@inlined
def _played(regret: np.ndarray, strategy: np.ndarray | None) -> np.ndarray:
    """What the strategies played are made from."""
    if strategy is None:
        return borrowed(regret)
    return borrowed(strategy)


@lends
@if_given
def _part(array: np.ndarray, begin: int, end: int) -> np.ndarray:
    """A part of an array."""
    return borrowed(array[begin:end])


@lends
@inlined
def _workplace(game: ChunkedForm, c: int, numbers: Numbers, scratch: np.ndarray) -> np.ndarray:
    """Where the numbers of a chunk are worked on; see :func:`packing.workplace`."""
    own = numbers.chunks[game.first[c] : game.first[c + 1]]
    return packing.workplace(own, numbers.scale, scratch)


@inlined
def _load(game: ChunkedForm, c: int, numbers: Numbers, found: np.ndarray) -> None:
    """Put the numbers of a chunk to their workplace."""
    begin, end = game.first[c], game.first[c + 1]
    scale = packing.scales_of(numbers.scale, begin, end)
    packing.load(numbers.chunks[begin:end], scale, found)


@inlined
def _store(
    game: ChunkedForm, c: int, numbers: Numbers, found: np.ndarray, first: int, last: int
) -> None:
    """Put the numbers ``first`` to ``last - 1`` of a chunk back from their workplace."""
    begin, end = game.first[c], game.first[c + 1]
    scale = packing.scales_of(numbers.scale, begin, end)
    packing.store(found, first, last, numbers.chunks[begin:end], scale)


@inlined
def _adds(turn: Turn) -> bool:
    """Whether a pass adds to an average."""
    return turn.share[0] != 0.0 or turn.share[1] != 0.0


@inlined
def _face(turn: Turn, player: int, total: float) -> tuple[float, float]:
    """How the average of a player counts where others face it.

    Args:
        turn: The pass.
        player: Whose average.
        total: Sum of the weights in the average.

    Returns:
        The weight of the strategies that are played now, beyond what is in the average, and the
        factor that makes it an average.
    """
    pending = turn.pending[player]
    if total + pending == 0.0:  # No average yet.
        return 1.0, 1.0
    return pending, 1.0 / (total + pending)


@inlined
def _average(
    first: int,
    last: int,
    average: np.ndarray,
    pending: float,
    share: float,
    reach: np.ndarray,
    faced: np.ndarray,
) -> None:
    """What averages reach, at some sequences; ``faced`` is modified in place."""
    for s in range(first, last):
        faced[s] = (average[s] + pending * reach[s]) * share


class Part(NamedTuple):
    """The trunk or a chunk, as it is worked on: its form, and its part of the arrays of
    :class:`Kept` and of the scratch."""

    form: SequenceForm
    regret: np.ndarray
    average: np.ndarray
    strategy: np.ndarray | None
    memory: np.ndarray
    reach: np.ndarray
    faced: np.ndarray
    value: np.ndarray
    forecast: np.ndarray


@lends
@inlined
def _trunk_of(game: ChunkedForm, kept: Kept, trunk: TrunkScratch) -> Part:
    """The trunk."""
    end = game.trunk.player_sequences[2]
    return borrowed(
        Part(
            game.trunk,
            kept.regret.trunk,
            kept.cumulative.trunk,
            _part(kept.strategy, 0, end),
            kept.memory[:, :end],
            trunk.reach,
            trunk.faced,
            trunk.value,
            trunk.forecast,
        )
    )


@lends
@inlined
def _chunk_of(game: ChunkedForm, c: int, kept: Kept, scratch: ChunkScratch) -> Part:
    """A chunk.  Arrays in 16 bits are worked on in scratch."""
    begin, end = game.first[c], game.first[c + 1]
    return borrowed(
        Part(
            shape_form(game.shapes, game.shape[c]),
            _workplace(game, c, kept.regret, scratch.regret),
            _workplace(game, c, kept.cumulative, scratch.average),
            _part(kept.strategy, begin, end),
            kept.memory[:, begin:end],
            scratch.reach,
            scratch.reach,
            scratch.value,
            scratch.forecast,
        )
    )


@inlined
def _visits(stage: int, part: int, parts: int, chunks: int) -> tuple[int, int, int]:
    """What a stage of a pass visits, as a range: -1 is the trunk on the way down, then all chunks
    or those of a part, and the number after the last chunk is the trunk on the way up.

    Trunk and chunks in one loop have one copy of the code for the way down, the payoffs and the way
    up; as a function with a call for either, it would take half a microsecond to hand over the
    arrays of a form.
    """
    if stage == DOWN:
        return -1, 0, 1
    if stage == UP:
        return chunks, chunks + 1, 1
    if stage == ALL:
        return -1, chunks + 1, 1
    return part, chunks, parts


@called
def run_pass(
    game: ChunkedForm,
    stage: int,
    part: int,
    parts: int,
    rule: LocalRule,
    row: np.ndarray,
    turn: Turn,
    kept: Kept,
    trunk: TrunkScratch,
    scratch: ChunkScratch,
    work: Work,
    locks: ChunkLocks | None,
) -> None:
    """A pass through the game, or a stage of it: down the trunk, through chunks, up the trunk.

    Args:
        game: The game.
        stage: :data:`DOWN`, :data:`CHUNKS`, :data:`UP`, or :data:`ALL` of them.
        part: Which part of the chunks.
        parts: Parts that the chunks are shared out to.
        rule: The local rule, to which this kernel is specialised.
        row: float64 (1 + parameters,): averaging weight, then the parameters of the rule.
        turn: The pass.
        kept: Modified in place.
        trunk: Modified.
        scratch: Modified.
        work: Modified.
        locks: Locked infosets, or None: the kernel is compiled with the locks or without.
    """
    parameters = parameters_of(rule, row[1:], work.tile)
    chunks = game.shape.shape[0]
    first, last, step = _visits(stage, part, parts, chunks)
    for c in range(first, last, step):
        is_chunk = 0 <= c < chunks
        if is_chunk:
            here = _chunk_of(game, c, kept, scratch)
            _load(game, c, kept.regret, here.regret)
            if turn.against_average or _adds(turn):
                _load(game, c, kept.cumulative, here.average)
        else:
            here = _trunk_of(game, kept, trunk)
        form, reach, value, forecast = here.form, here.reach, here.value, here.forecast
        locked = locks_of(locks, c + 1 if is_chunk else 0, form, work.table)
        weight, bounds = _played(here.regret, here.strategy), form.player_sequences
        hands = form.hand_rank.shape[1] - 1
        for player in range(2):
            if c == chunks or not turn.descends[player]:
                continue
            floor, share = turn.played_floor[player], turn.share[player]
            if is_chunk:
                _enter(game, c, player, form, trunk.reach, reach)
            else:
                reach[bounds[player]] = 1.0
                here.average[bounds[player]] += share
            # What has no share is added to scratch, and the average not even read.
            target = here.average if share != 0.0 else value
            descend(form, player, weight, floor, reach, target, share, work.tile, locked)
            if turn.against_average:
                total = kept.cumulative.trunk[game.trunk.player_sequences[player]]
                pending, factor = _face(turn, player, total)
                begin, end = bounds[player], bounds[player + 1]
                _average(begin, end, here.average, pending, factor, reach, here.faced)
                if is_chunk:
                    _enter(game, c, player, form, trunk.faced, here.faced)
            if is_chunk and share != 0.0:
                _store(game, c, kept.cumulative, here.average, bounds[player], bounds[player + 1])
        for player in range(2):
            if c < 0 or not turn.updates[player]:
                continue
            payoff_product(form, player, here.faced, value, work.payoff)
            if has_forecast(rule):
                for s in range(bounds[player], bounds[player + 1]):
                    forecast[s] = value[s]
            if not is_chunk:
                if has_forecast(rule):
                    _collect(game, player, trunk.entry_forecast, forecast)
                _collect(game, player, trunk.entry_value, value)
            ascend(
                form,
                player,
                rule,
                parameters,
                turn.played_floor[player],
                turn.floor,
                here.regret,
                here.strategy,
                here.memory,
                value,
                forecast,
                work.tile,
                work.own,
                0,
                hands,
                locked,
            )
            if is_chunk:
                _store(game, c, kept.regret, here.regret, bounds[player], bounds[player + 1])
                _leave(game, c, player, form, value, trunk.entry_value)
                if has_forecast(rule):
                    _leave(game, c, player, form, forecast, trunk.entry_forecast)


class Turns(NamedTuple):
    """Several passes, one after the other: the fields of :class:`Turn`, with one more axis."""

    descends: np.ndarray
    """bool (passes, players)."""
    share: np.ndarray
    """float64 (passes, players)."""
    played_floor: np.ndarray
    """float64 (passes, players)."""
    updates: np.ndarray
    """bool (passes, players)."""
    floor: np.ndarray
    """float64 (passes,)."""
    against_average: bool
    """The same for all."""
    pending: np.ndarray
    """float64 (passes, players)."""


@inlined
def _turn(turns: Turns, t: int) -> Turn:
    """One of several passes."""
    return Turn(
        turns.descends[t],
        turns.share[t],
        turns.played_floor[t],
        turns.updates[t],
        turns.floor[t],
        turns.against_average,
        turns.pending[t],
    )


@kernel
def run_passes(
    game: ChunkedForm,
    rule: LocalRule,
    rows: np.ndarray,
    turns: Turns,
    kept: Kept,
    trunk: TrunkScratch,
    scratch: ChunkScratch,
    locks: ChunkLocks | None,
    thread: int,
    threads: int,
    parts: int,
    meeting: np.ndarray,
) -> None:
    """Several passes in one call; where threads share them, what one of the threads does.

    The first thread does the trunk.  Parts of the chunks go to whoever is free.  Threads wait for
    each other in place, without Python: a call from Python takes as long as a small spot does.

    Args:
        game: As for :func:`run_pass`, which has what is not said here.
        rule: Likewise.
        rows: float64 (passes, 1 + parameters).
        turns: The passes.
        kept: Modified in place.
        trunk: Modified.
        scratch: Modified; that of this thread.
        locks: As for :func:`run_pass`.
        thread: Which thread this is, from 0.
        threads: How many call this at the same time.
        parts: Parts that the chunks are shared out to.
        meeting: int64 (passes, MEETING), zeros at first: how far the threads are; shared and
            modified by all of them.
    """
    # Of one type: numba would compile a pass for every constant that it is called with.
    every, down, chunks, up = np.int64(ALL), np.int64(DOWN), np.int64(CHUNKS), np.int64(UP)
    none, one = np.int64(0), np.int64(1)
    game, kept, trunk = borrowed(game), borrowed(kept), borrowed(trunk)
    turns, scratch, locks = borrowed(turns), borrowed(scratch), borrowed(locks)
    tile = np.empty((TILE_ROWS, LONGEST), trunk.reach.dtype)
    numbers, actions = _most_scratch(game)
    work = Work(tile, whole_scratch(rule, actions), np.empty(numbers), lock_table(locks))
    for t in range(rows.shape[0]):
        turn, row = _turn(turns, t), rows[t]
        if threads == 1:
            run_pass(game, every, none, one, rule, row, turn, kept, trunk, scratch, work, locks)
            continue
        if thread == 0:
            run_pass(game, down, none, one, rule, row, turn, kept, trunk, scratch, work, locks)
            count_up(meeting, t, 0)
        wait_for(meeting, t, 0, 1)
        part = count_up(meeting, t, 1)
        while part < parts:
            run_pass(game, chunks, part, parts, rule, row, turn, kept, trunk, scratch, work, locks)
            part = count_up(meeting, t, 1)
        count_up(meeting, t, 2)
        if thread == 0:
            wait_for(meeting, t, 2, threads)
            run_pass(game, up, none, one, rule, row, turn, kept, trunk, scratch, work, locks)


@inlined
def _enter(
    game: ChunkedForm,
    c: int,
    player: int,
    form: SequenceForm,
    trunk: np.ndarray,
    chunk: np.ndarray,
) -> None:
    """Copy what the trunk says of a player's entries to the chunk's sequences for them."""
    begin = game.entry_offset[c, player]
    entries = game.entry_offset[c, player + 1] - begin
    if entries > 0:
        alike = run_length(game.entry, begin, entries, 0)
        own = chunk[form.player_sequences[player] :]
        gather(trunk, game.entry, begin, entries, alike, own)


@inlined
def _leave(
    game: ChunkedForm,
    c: int,
    player: int,
    form: SequenceForm,
    chunk: np.ndarray,
    entry: np.ndarray,
) -> None:
    """Copy the values of a player's entries to where the trunk finds them."""
    first = np.uint64(form.player_sequences[player])
    begin = np.uint64(game.entry_offset[c, player])
    for k in range(np.uint64(game.entry_offset[c, player + 1]) - begin):
        entry[begin + k] = chunk[first + k]


@inlined
def _collect(game: ChunkedForm, player: int, value: np.ndarray, trunk: np.ndarray) -> None:
    """Add the values of a player's entries to the trunk's sequences, in the order of the chunks."""
    alike = 0
    for c in range(game.shape.shape[0]):
        begin = game.entry_offset[c, player]
        entries = game.entry_offset[c, player + 1] - begin
        if entries > 0:
            alike = run_length(game.entry, begin, entries, alike)
            scatter(value[begin:], game.entry, begin, entries, alike, trunk)


@kernel
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
    locks: ChunkLocks | None,
) -> None:
    """Expected values, and what each player's best response to the other earns.

    Args:
        game: The game.
        stage: As for :func:`run_pass`.
        part: Likewise.
        parts: Likewise.
        weight: What the strategies are made from by regret matching.
        floor: Share of every strategy that is uniform.
        trunk: Modified; values are those of best responses.
        scratch: Modified.
        expected: float64 (chunks + 1, players): expected values from the terminals of each chunk,
            in the last row from those of the trunk; modified in place.
        best: float64 (players,): modified in place.
        locks: Locked infosets, which best responses play as they are locked; or None.
    """
    tile = np.empty((TILE_ROWS, LONGEST), trunk.reach.dtype)
    payoff, table = np.empty(_most_scratch(game)[0]), lock_table(locks)
    chunks = game.shape.shape[0]
    first, last, step = _visits(stage, part, parts, chunks)
    for c in range(first, last, step):
        is_chunk = 0 <= c < chunks
        if is_chunk:
            form = shape_form(game.shapes, game.shape[c])
            own = _workplace(game, c, weight, scratch.regret)
            _load(game, c, weight, own)
            reach, value = borrowed(scratch.reach), borrowed(scratch.value)
        else:
            form, own = borrowed(game.trunk), borrowed(weight.trunk)
            reach, value = borrowed(trunk.reach), borrowed(trunk.value)
        locked = locks_of(locks, c + 1 if is_chunk else 0, form, table)
        bounds = form.player_sequences
        for player in range(2):
            if c == chunks:
                continue
            if is_chunk:
                _enter(game, c, player, form, trunk.reach, reach)
            else:
                reach[bounds[player]] = 1.0
            # With a share of 0 the average stays as it is, so any array will do.
            descend(form, player, own, floor, reach, value, 0.0, tile, locked)
        for player in range(2):
            if c < 0:
                continue
            payoff_product(form, player, reach, value, payoff)
            expected[c, player] = _dot(reach, value, bounds[player], bounds[player + 1])
            if not is_chunk:
                _collect(game, player, trunk.entry_value, value)
            maximise(form, player, value, locked)
            if is_chunk:
                _leave(game, c, player, form, value, trunk.entry_value)
            else:
                best[player] = value[bounds[player]]


@inlined
def _dot(reach: np.ndarray, value: np.ndarray, first: int, last: int) -> float:
    """Sum of reach times value."""
    # Four sums, which do not wait for each other.
    sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
    at, rest = np.uint64(first), np.uint64((last - first) % 4)
    for s in range(at, np.uint64(last) - rest, np.uint64(4)):
        s1, s2, s3 = s + np.uint64(1), s + np.uint64(2), s + np.uint64(3)
        sum0 += reach[s] * value[s]
        sum1 += reach[s1] * value[s1]
        sum2 += reach[s2] * value[s2]
        sum3 += reach[s3] * value[s3]
    for s in range(np.uint64(last) - rest, np.uint64(last)):
        sum0 += reach[s] * value[s]
    return (sum0 + sum1) + (sum2 + sum3)


@inlined
def _most_numbers(game: ChunkedForm, scale: np.ndarray | None) -> int:
    """Numbers of the largest chunk, where arrays are in 16 bits; otherwise none."""
    most = 0
    if scale is not None:
        for c in range(game.shape.shape[0]):
            most = max(most, game.first[c + 1] - game.first[c])
    return most


@kernel
def strategies_of_parts(
    game: ChunkedForm,
    first: int,
    last: int,
    weight: Numbers,
    floor: float,
    found: np.ndarray,
    locks: ChunkLocks | None,
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
    """
    tile, table = np.empty((TILE_ROWS, LONGEST)), lock_table(locks)
    scratch = np.empty(_most_numbers(game, weight.scale), weight.trunk.dtype)
    before = game.first[first - 1] if first > 0 else 0
    for part in range(first, last):
        if part > 0:
            form = shape_form(game.shapes, game.shape[part - 1])
            own = _workplace(game, part - 1, weight, scratch)
            _load(game, part - 1, weight, own)
        else:
            form, own = borrowed(game.trunk), borrowed(weight.trunk)
        begin, end = game.first[part - 1] if part > 0 else 0, game.first[part]
        locked = locks_of(locks, part, form, table)
        strategies(form, own, floor, found[begin - before : end - before], tile, locked)
