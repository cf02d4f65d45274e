"""The kernels of a game in chunks: a pass goes down the trunk, through every chunk, and up again.

Chunks depend on the trunk alone, so any of them may be worked on beside others.  What a chunk gives
back to the trunk is written to a place of its own, and added up in the order of the chunks: the
result has the same bits however the chunks are shared out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.arrays import PayoffBlocks, PayoffEntries, SequenceForm
from ..model.chunks import ChunkedForm, Shapes
from .evaluation import maximise
from .jit import inlined, kernel
from .local_rule import LocalRule, has_forecast, parameters_of
from .passes import TILE, TILE_ROWS, ascend, descend, strategies
from .payoff import block_scratch, payoff_product


class Kept(NamedTuple):
    """What a solver keeps from one iteration to the next, (numbers,) unless said; all of it
    float64 or all float32."""

    regret: np.ndarray
    """Cumulative regret, as the local rule keeps it."""
    cumulative: np.ndarray
    """Sum over iterations of averaging weight times own reach; for the empty sequences of the
    trunk the sum of the weights."""
    strategy: np.ndarray | None
    """The strategies that are played next, for rules that do not make them from the regret."""
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


@inlined
def _array(pool: np.ndarray, place: np.ndarray, field: int) -> np.ndarray:
    """An array of a shape, flat."""
    return pool[place[field, 0] : place[field, 0] + place[field, 1]]


@inlined
def shape_form(shapes: Shapes, shape: int) -> SequenceForm:
    """The sequence form of a shape, as views; the fields are those of
    :data:`tensorcfr.model.chunks.FIELDS`."""
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
        _array(index, place, 17).reshape(1, place[17, 1]),
        _array(real, place, 18),
    )
    blocks = PayoffBlocks(
        _array(whole, place, 19).reshape(place[19, 1] // 9, 9),
        _array(real, place, 20),
        _array(whole, place, 21).reshape(2, place[21, 1] // 2),
        _array(whole, place, 22),
        _array(whole, place, 23),
        _array(whole, place, 24),
        _array(whole, place, 25),
        _array(real, place, 26),
    )
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
        _array(whole, place, 10).reshape(place[10, 1] // place[10, 2], place[10, 2]),
        _array(index, place, 11),
        payoff,
        blocks,
    )


@inlined
def _played(regret: np.ndarray, strategy: np.ndarray | None) -> np.ndarray:
    """What the strategies played are made from."""
    if strategy is None:
        return regret
    return strategy


@inlined
def _part(array: np.ndarray | None, begin: int, end: int) -> np.ndarray | None:
    """A part of an array, if there is one."""
    if array is None:
        return None
    return array[begin:end]


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
    first: int, last: int, average: np.ndarray, pending: float, share: float, reach: np.ndarray,
    faced: np.ndarray,
) -> None:
    """What averages reach, at some sequences; ``faced`` is modified in place."""
    for s in range(first, last):
        faced[s] = (average[s] + pending * reach[s]) * share


@kernel
def descend_trunk(trunk: SequenceForm, turn: Turn, kept: Kept, scratch: TrunkScratch) -> None:
    """The way down the trunk, with which a pass begins.

    Args:
        trunk: The trunk, whose sequences are the first in the arrays that are kept.
        turn: The pass.
        kept: ``cumulative`` is modified in place.
        scratch: ``reach`` and ``faced`` are modified in place.
    """
    tile = np.empty((TILE_ROWS, TILE))
    weight = _played(kept.regret, kept.strategy)
    for player in range(2):
        if not turn.descends[player]:
            continue
        first, last = trunk.player_sequences[player], trunk.player_sequences[player + 1]
        share = turn.share[player]
        scratch.reach[first] = 1.0
        if share != 0.0:
            kept.cumulative[first] += share
        floor = turn.played_floor[player]
        descend(trunk, player, weight, floor, scratch.reach, kept.cumulative, share, tile)
        if turn.against_average:
            pending, share = _face(turn, player, kept.cumulative[first])
            _average(first, last, kept.cumulative, pending, share, scratch.reach, scratch.faced)


@kernel
def pass_chunks(
    game: ChunkedForm,
    part: int,
    parts: int,
    rule: LocalRule,
    row: np.ndarray,
    turn: Turn,
    kept: Kept,
    trunk: TrunkScratch,
    scratch: ChunkScratch,
) -> None:
    """A pass through some of the chunks: reaches, payoffs, values and regrets.

    Args:
        game: The game.
        part: Which part of the chunks.
        parts: Parts that the chunks are shared out to.
        rule: The local rule, to which this kernel is specialised.
        row: float64 (1 + parameters,): averaging weight, then the parameters of the rule.
        turn: The pass.
        kept: Modified in place, at the chunks' sequences.
        trunk: The trunk's reaches; the values of the chunks' entries are modified in place.
        scratch: Modified.
    """
    tile = np.empty((TILE_ROWS, TILE))
    parameters = parameters_of(rule, row[1:])
    for c in range(part, game.shape.shape[0], parts):
        form = shape_form(game.shapes, game.shape[c])
        begin, end = game.first[c], game.first[c + 1]
        regret, average = kept.regret[begin:end], kept.cumulative[begin:end]
        strategy, memory = _part(kept.strategy, begin, end), kept.memory[:, begin:end]
        weight = _played(regret, strategy)
        for player in range(2):
            if not turn.descends[player]:
                continue
            _enter(game, c, player, form, trunk.reach, scratch.reach)
            floor, share = turn.played_floor[player], turn.share[player]
            descend(form, player, weight, floor, scratch.reach, average, share, tile)
            if turn.against_average:
                total = kept.cumulative[game.trunk.player_sequences[player]]
                pending, share = _face(turn, player, total)
                first, last = form.player_sequences[player], form.player_sequences[player + 1]
                _average(first, last, average, pending, share, scratch.reach, scratch.reach)
                _enter(game, c, player, form, trunk.faced, scratch.reach)
        room = block_scratch(form.blocks)
        for player in range(2):
            if not turn.updates[player]:
                continue
            payoff_product(form, player, scratch.reach, scratch.value, room)
            first, last = form.player_sequences[player], form.player_sequences[player + 1]
            if has_forecast(rule):
                for s in range(first, last):
                    scratch.forecast[s] = scratch.value[s]
            ascend(
                form,
                player,
                rule,
                parameters,
                turn.played_floor[player],
                turn.floor,
                regret,
                strategy,
                memory,
                scratch.value,
                scratch.forecast,
                tile,
            )
            _leave(game, c, player, form, scratch.value, trunk.entry_value)
            if has_forecast(rule):
                _leave(game, c, player, form, scratch.forecast, trunk.entry_forecast)


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
    first = form.player_sequences[player]
    begin = game.entry_offset[c, player]
    for k in range(game.entry_offset[c, player + 1] - begin):
        chunk[first + k] = trunk[game.entry[begin + k]]


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
    first = form.player_sequences[player]
    begin = game.entry_offset[c, player]
    for k in range(game.entry_offset[c, player + 1] - begin):
        entry[begin + k] = chunk[first + k]


@inlined
def _collect(game: ChunkedForm, player: int, entry: np.ndarray, value: np.ndarray) -> None:
    """Add the values of a player's entries to the trunk's sequences, in the order of the chunks."""
    for c in range(game.shape.shape[0]):
        for k in range(game.entry_offset[c, player], game.entry_offset[c, player + 1]):
            value[game.entry[k]] += entry[k]


@kernel
def ascend_trunk(
    game: ChunkedForm,
    rule: LocalRule,
    row: np.ndarray,
    turn: Turn,
    kept: Kept,
    scratch: TrunkScratch,
) -> None:
    """The way up the trunk, with which a pass ends; arguments as in :func:`pass_chunks`."""
    tile = np.empty((TILE_ROWS, TILE))
    parameters = parameters_of(rule, row[1:])
    trunk = game.trunk
    room = block_scratch(trunk.blocks)
    for player in range(2):
        if not turn.updates[player]:
            continue
        payoff_product(trunk, player, scratch.faced, scratch.value, room)
        first, last = trunk.player_sequences[player], trunk.player_sequences[player + 1]
        if has_forecast(rule):
            for s in range(first, last):
                scratch.forecast[s] = scratch.value[s]
            _collect(game, player, scratch.entry_forecast, scratch.forecast)
        _collect(game, player, scratch.entry_value, scratch.value)
        ascend(
            trunk,
            player,
            rule,
            parameters,
            turn.played_floor[player],
            turn.floor,
            kept.regret,
            kept.strategy,
            kept.memory,
            scratch.value,
            scratch.forecast,
            tile,
        )


@kernel
def judge_chunks(
    game: ChunkedForm,
    part: int,
    parts: int,
    weight: np.ndarray,
    floor: float,
    trunk: TrunkScratch,
    scratch: ChunkScratch,
    expected: np.ndarray,
) -> None:
    """Values and best responses in some of the chunks.

    Args:
        game: The game.
        part: Which part of the chunks.
        parts: Parts that the chunks are shared out to.
        weight: float (numbers,): what the strategies are made from by regret matching.
        floor: Share of every strategy that is uniform.
        trunk: The trunk's reaches; what best responses get from the chunks' entries on is put
            into ``entry_value``.
        scratch: Modified.
        expected: float64 (chunks, players): expected values from the terminals of each chunk;
            modified in place.
    """
    tile = np.empty((TILE_ROWS, TILE))
    for c in range(part, game.shape.shape[0], parts):
        form = shape_form(game.shapes, game.shape[c])
        own = weight[game.first[c] : game.first[c + 1]]
        for player in range(2):
            _enter(game, c, player, form, trunk.reach, scratch.reach)
            descend(form, player, own, floor, scratch.reach, scratch.reach, 0.0, tile)
        room = block_scratch(form.blocks)
        for player in range(2):
            payoff_product(form, player, scratch.reach, scratch.value, room)
            total = 0.0
            for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
                total += scratch.reach[s] * scratch.value[s]
            expected[c, player] = total
            maximise(form, player, scratch.value, None)
            _leave(game, c, player, form, scratch.value, trunk.entry_value)


@kernel
def judge_trunk(
    game: ChunkedForm,
    scratch: TrunkScratch,
    expected: np.ndarray,
    best: np.ndarray,
) -> None:
    """Values and best responses of the whole game, once all chunks are judged.

    Args:
        game: The game.
        scratch: From :func:`descend_trunk` and :func:`judge_chunks`; modified.
        expected: float64 (players,): comes in as what the chunks pay; modified in place.
        best: float64 (players,): modified in place.
    """
    trunk = game.trunk
    room = block_scratch(trunk.blocks)
    for player in range(2):
        payoff_product(trunk, player, scratch.reach, scratch.value, room)
        first, last = trunk.player_sequences[player], trunk.player_sequences[player + 1]
        for s in range(first, last):
            expected[player] += scratch.reach[s] * scratch.value[s]
        _collect(game, player, scratch.entry_value, scratch.value)
        maximise(trunk, player, scratch.value, None)
        best[player] = scratch.value[first]


@kernel
def all_strategies(
    game: ChunkedForm, weight: np.ndarray, floor: float, found: np.ndarray
) -> None:
    """Everybody's behaviour strategies, by regret matching.

    Args:
        game: The game.
        weight: float (numbers,): what they are made from.
        floor: Share of every strategy that is uniform.
        found: float64 (numbers,): modified in place.
    """
    tile = np.empty((TILE_ROWS, TILE))
    strategies(game.trunk, weight, floor, found, tile)
    for c in range(game.shape.shape[0]):
        begin, end = game.first[c], game.first[c + 1]
        form = shape_form(game.shapes, game.shape[c])
        strategies(form, weight[begin:end], floor, found[begin:end], tile)
