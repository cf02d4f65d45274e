"""The arrays that passes over a game in chunks work on: what is kept, scratch, and the turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Numbers(NamedTuple):
    """An array over the sequences of trunk and chunks."""

    chunks: np.ndarray
    """float or int16 (numbers,): what is before the first chunk belongs to the trunk."""
    scale: np.ndarray | None
    """float32 (rows, players): the scales of an array in 16 bits; see
    :mod:`tensorcfr.kernels.packing`."""
    trunk: np.ndarray
    """float (trunk sequences,): those of the trunk; a part of ``chunks`` unless this has a
    scale."""


def plain_numbers(array: np.ndarray) -> Numbers:
    """An array of floats over all numbers as kernels take it."""
    return Numbers(array, None, array)


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
    """(entries,): values of the entries of the chunks that are entered from the trunk."""
    entry_forecast: np.ndarray
    """(entries,): forecast values likewise; empty for rules without."""


class ChunkScratch(NamedTuple):
    """Scratch over the sequences of a chunk and of those above it; in the floats of the state."""

    reach: np.ndarray
    """(most sequences,): own reaches."""
    faced: np.ndarray
    """(most sequences,): as in :class:`TrunkScratch`."""
    value: np.ndarray
    """(most sequences,): counterfactual values."""
    forecast: np.ndarray
    """(most sequences,): forecast values; empty for rules without."""
    regret: np.ndarray
    """(most sequences,): regrets of arrays in 16 bits; otherwise empty."""


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
    soon: np.ndarray | None
    """int64 (3, 2): see :class:`tensorcfr.payoff.shares.Share`; None where chunks are not passed
    through one after the other."""


class Turns(NamedTuple):
    """Passes, one after the other: whose reaches are needed, and who is updated."""

    row: np.ndarray
    """float64 (passes, 1 + parameters): averaging weight, then the parameters of the rule."""
    descends: np.ndarray
    """bool (passes, players): whose reaches are worked out."""
    share: np.ndarray
    """float64 (passes, players): with which weight they are added to the average."""
    played_floor: np.ndarray
    """float64 (passes, players): share of the strategies played that is uniform; 0 where strategies
    are kept, which have it already."""
    updates: np.ndarray
    """bool (passes, players): whose values and regrets are worked out."""
    floor: np.ndarray
    """float64 (passes,): share of the next strategies that is uniform."""
    against_average: bool
    """Whether the players face averages instead of the strategies that are played."""
    pending: np.ndarray
    """float64 (passes, players): weight that the reaches have in the averages that others face
    beyond what is in them already."""
