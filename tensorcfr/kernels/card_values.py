"""Expected values of every action under given strategies, in a game of cards."""

from __future__ import annotations

import numpy as np

from .._util.jit import called, kernel
from ..model.arrays import SequenceForm
from ..model.chunks import ChunkedForm
from .chunks import _collect, _enter, _leave, descend, payoffs, shape_form, strategies
from .tiles import LONGEST, TILE_ROWS


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


@kernel
def expected_values(
    game: ChunkedForm,
    weight: np.ndarray,
    entry_value: np.ndarray,
    reach: np.ndarray,
    value: np.ndarray,
) -> None:
    """Own reaches and counterfactual values under the strategies that some weights make.

    Args:
        game: The game.
        weight: float64 (numbers,): what the strategies are made from by regret matching.
        entry_value: float64 (entries,): modified.
        reach: float64 (numbers,): modified in place.
        value: float64 (numbers,): likewise.
    """
    tile = np.empty((TILE_ROWS, LONGEST))
    form, end = game.trunk, game.trunk.player_sequences[2]
    trunk_reach, trunk_value = reach[:end], value[:end]
    for player in range(2):
        trunk_reach[form.player_sequences[player]] = 1.0
        descend(form, player, weight, 0.0, trunk_reach, trunk_value, 0.0, tile, None)
    most = end
    for c in range(game.shape.shape[0]):
        most = max(most, game.first[c + 1] - game.first[c])
    sigma = np.empty(most)
    for c in range(game.shape.shape[0]):
        chunk = shape_form(game.shapes, game.shape[c])
        begin, until = game.first[c], game.first[c + 1]
        own, own_reach, own_value = weight[begin:until], reach[begin:until], value[begin:until]
        strategies(chunk, own, 0.0, sigma, tile, None)
        for player in range(2):
            _enter(game, c, player, chunk, trunk_reach, own_reach)
            descend(chunk, player, own, 0.0, own_reach, own_value, 0.0, tile, None)
        for player in range(2):
            payoffs(chunk, player, own_reach, own_value)
            _expect(chunk, player, sigma, own_value)
            _leave(game, c, player, chunk, own_value, entry_value)
    strategies(form, weight[:end], 0.0, sigma, tile, None)
    for player in range(2):
        payoffs(form, player, trunk_reach, trunk_value)
        _collect(game, player, entry_value, trunk_value)
        _expect(form, player, sigma, trunk_value)
