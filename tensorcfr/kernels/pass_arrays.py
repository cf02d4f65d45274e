"""Arrays of the passes over a game: solver state, scratch, and the schedule of the passes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Numbers(NamedTuple):
    """Array over the sequences of the trunk and of all chunks."""

    chunks: np.ndarray
    """float or int16 (numbers,): all numbers; those before the first chunk belong to the trunk."""
    scale: np.ndarray | None
    """float32 (rows, SCALES): scales of an array in 16 bits, or None; see
    :mod:`tensorcfr.kernels.packing`."""
    trunk: np.ndarray
    """float (trunk sequences,): numbers of the trunk; a view of ``chunks`` unless there is a scale.
    """


def plain_numbers(array: np.ndarray) -> Numbers:
    """Wrap an array of floats over all sequences as :class:`Numbers`."""
    return Numbers(array, None, array)


class StoredArrays(NamedTuple):
    """Solver state between iterations.

    All arrays are float64, or all are float32, or they are int16 in chunks and float32 elsewhere.
    """

    regret: Numbers
    """Cumulative regret of each sequence, as the local rule stores it."""
    cumulative: Numbers
    """Cumulative strategy of each sequence: the sum over iterations of averaging weight times own
    reach.  The empty sequences of the trunk have the sum of the averaging weights."""
    strategy: np.ndarray | None
    """(numbers,): strategies of the next iteration.  None in games in chunks if the rule matches
    regrets: regret matching then computes them where they are needed."""
    memory: np.ndarray
    """(stored, numbers): further numbers of the local rule per sequence, in addition to the regret.
    """


class TrunkScratch(NamedTuple):
    """Scratch of the trunk and of the entries of its chunks: for passes in the solver's precision,
    for evaluations in double precision."""

    reach: np.ndarray
    """(trunk sequences,): own reaches."""
    value: np.ndarray
    """(trunk sequences,): counterfactual values."""
    entry_value: np.ndarray
    """(entries,): counterfactual values that the chunks pass to the trunk."""


class ChunkScratch(NamedTuple):
    """Scratch of a chunk and of the chunks above it in its branch; precision as in
    :class:`TrunkScratch`."""

    reach: np.ndarray
    """(most sequences,): own reaches."""
    value: np.ndarray
    """(most sequences,): counterfactual values."""
    regret: np.ndarray
    """(most sequences,): unpacked regrets of arrays in 16 bits, float32; otherwise not read."""


class Work(NamedTuple):
    """Scratch that a kernel allocates for its passes."""

    tile: np.ndarray
    """(TILE_ROWS, LONGEST): scratch of a tile, in the precision of the reaches."""
    whole_rule: np.ndarray
    """float64: scratch of whole rules; see :func:`tensorcfr.kernels.whole_rules.whole_scratch`."""
    payoff: np.ndarray
    """float64: scratch of the payoff product."""
    table: np.ndarray | None
    """int64: scratch of :func:`tensorcfr.kernels.chunk_passes.locks_of`; None without locks."""
    prefetch: np.ndarray | None
    """int64 (3, 2): addresses to prefetch, see
    :class:`tensorcfr.payoff.product_share.ProductShare`;
    None unless chunks are processed one after the other."""


class PassSchedule(NamedTuple):
    """Schedule of consecutive passes: players whose reaches are computed, and players to update."""

    row: np.ndarray
    """float64 (passes, 1 + parameters): averaging weight, then the parameters of the rule."""
    computes_reach: np.ndarray
    """bool (passes, players): True if the pass computes the player's reaches."""
    averaging_weight: np.ndarray
    """float64 (passes, players): weight of these reaches in the average."""
    played_floor: np.ndarray
    """float64 (passes, players): uniform share of the strategies of this iteration; 0 if strategies
    are stored, because they include it already."""
    updates: np.ndarray
    """bool (passes, players): True if the pass computes the player's values and updates their
    regrets."""
    floor: np.ndarray
    """float64 (passes,): uniform share of the next strategies."""
