"""Expected values of every action under given strategies, in a game in chunks."""

from __future__ import annotations

import numpy as np

from .._util.jit import called, kernel
from ..model.arrays import LockedLanes, SequenceForm
from ..model.chunks import ChunkedForm, ChunkLocks
from ..payoff.multiply import payoff_product, payoff_scratch
from .chunks import (
    Numbers,
    _collect,
    _enter,
    _leave,
    _load,
    _most_numbers,
    _workplace,
    lock_table,
    locks_of,
    shape_form,
)
from .descent import descend, strategies
from .evaluation import maximise
from .tiles import LONGEST, TILE_ROWS

STRATEGY, REACH, VALUE, BEST = range(4)
"""Rows of the arrays that kernels fill: the strategies, own reaches, counterfactual values, and
counterfactual values if the player goes on with a best response, free of locks."""
ROWS = 4


@called
def _expect(form: SequenceForm, player: int, sigma: np.ndarray, value: np.ndarray) -> None:
    """From the deepest level up: the values of infosets are added to the sequences before them."""
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        lanes, at = form.bucket_lanes[b], form.bucket_sequence[b]
        for lane in range(lanes):
            total = 0.0
            for a in range(form.bucket_actions[b]):
                s = at + a * lanes + lane
                total += sigma[s] * value[s]
            value[form.infoset_parent[form.bucket_infoset[b] + lane]] += total


@called
def _play(
    form: SequenceForm, weight: np.ndarray, found: np.ndarray, locks: LockedLanes | None
) -> None:
    """The strategies that some weights make."""
    strategies(form, weight, 0.0, found, np.empty((TILE_ROWS, LONGEST)), locks)


@called
def _reach(form: SequenceForm, player: int, found: np.ndarray) -> None:
    """A player's reaches from those of the first sequences on."""
    # With a share of 0 no average is added to, so any array will do.
    tile = np.empty((TILE_ROWS, LONGEST))
    descend(form, player, found[STRATEGY], 0.0, found[REACH], found[VALUE], 0.0, tile, None)


@called
def _chunk(
    game: ChunkedForm,
    c: int,
    weight: Numbers,
    trunk: np.ndarray,
    scratch: np.ndarray,
    found: np.ndarray,
    locks: ChunkLocks | None,
    table: np.ndarray | None,
) -> None:
    """Strategies, own reaches and values in a chunk; ``table`` is scratch of :func:`locks_of`."""
    form = shape_form(game.shapes, game.shape[c])
    own = _workplace(game, c, weight, scratch)
    _load(game, c, weight, own)
    _play(form, own, found[STRATEGY], locks_of(locks, c + 1, form, table))
    for player in range(2):
        _enter(game, c, player, form, trunk[REACH], found[REACH])
        _reach(form, player, found)
    for player in range(2):
        _pay(form, player, found)
        _rise(form, player, found)


@called
def _pay(form: SequenceForm, player: int, found: np.ndarray) -> None:
    """The payoffs of a player's sequences, where values begin."""
    payoff_product(form, player, found[REACH], found[VALUE], payoff_scratch(form))
    for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
        found[BEST, s] = found[VALUE, s]


@called
def _rise(form: SequenceForm, player: int, found: np.ndarray) -> None:
    """The way up of the values, and of those with a best response."""
    _expect(form, player, found[STRATEGY], found[VALUE])
    maximise(form, player, found[BEST], None)


@kernel
def trunk_values(
    game: ChunkedForm,
    weight: Numbers,
    entry_value: np.ndarray,
    found: np.ndarray,
    locks: ChunkLocks | None,
) -> None:
    """Strategies, own reaches and values in the trunk, by a pass over all chunks.

    Args:
        game: The game.
        weight: What the strategies are made from by regret matching.
        entry_value: float64 (2, entries): values, and those with a best response; modified.
        found: float64 (ROWS, trunk sequences): modified in place.
        locks: Locked infosets, or None.
    """
    form, table = game.trunk, lock_table(locks)
    _play(form, weight.trunk, found[STRATEGY], locks_of(locks, 0, form, table))
    for player in range(2):
        found[REACH, form.player_sequences[player]] = 1.0
        _reach(form, player, found)
    most = 0
    for c in range(game.shape.shape[0]):
        most = max(most, game.first[c + 1] - game.first[c])
    below = np.empty((ROWS, most))
    scratch = np.empty(_most_numbers(game, weight.scale), weight.trunk.dtype)
    for c in range(game.shape.shape[0]):
        chunk = shape_form(game.shapes, game.shape[c])
        _chunk(game, c, weight, found, scratch, below, locks, table)
        for player in range(2):
            _leave(game, c, player, chunk, below[VALUE], entry_value[0])
            _leave(game, c, player, chunk, below[BEST], entry_value[1])
    for player in range(2):
        _pay(form, player, found)
        _collect(game, player, entry_value[0], found[VALUE])
        _collect(game, player, entry_value[1], found[BEST])
        _rise(form, player, found)


@kernel
def values_in_chunk(
    game: ChunkedForm,
    c: int,
    weight: Numbers,
    trunk: np.ndarray,
    found: np.ndarray,
    locks: ChunkLocks | None,
) -> None:
    """Strategies, own reaches and values in one chunk.

    Args:
        game: The game.
        c: The chunk.
        weight: What the strategies are made from by regret matching.
        trunk: float64 (ROWS, trunk sequences): from :func:`trunk_values`.
        found: float64 (ROWS, numbers of the chunk): modified in place.
        locks: Locked infosets, or None.
    """
    scratch = np.empty(_most_numbers(game, weight.scale), weight.trunk.dtype)
    _chunk(game, c, weight, trunk, scratch, found, locks, lock_table(locks))
