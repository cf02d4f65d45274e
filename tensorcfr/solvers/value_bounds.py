"""Value bounds: upper bounds of counterfactual values, from the payoffs alone, to decide ties.

The counterfactual value of an action is a sum, over terminals, of chance probability times utility
times the reaches of the opponents.  Where large payoffs cancel in it, the rounding error has the
size of the terms, not of the sum.  So a regret is compared with a constant: the sum of the absolute
terms if opponents reach everything, under the own strategy that makes it largest.  No strategies of
the opponents make the terms larger.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from ..kernels import evaluation
from ..kernels.chunk_passes import first_entry
from ..kernels.shapes import shape_form
from ..model.arrays import SequenceForm, frozen_arrays
from ..model.chunked_form import ChunkedForm, most_buckets
from ..payoff import magnitudes


class ValueBounds(NamedTuple):
    """Upper bounds of the absolute counterfactual values in a game, and of their terms."""

    bucket: np.ndarray
    """float64 (1 + shapes, most buckets): bound for the infosets of each bucket, in the trunk and
    in the chunks of each shape.  It is a power of two, so that the order of sums does not matter,
    and 0 if there is no bucket, or no chunk of the shape."""
    entry: np.ndarray
    """float64 (entries of all chunks,): bound for the value of each entry."""


def zero_bounds(form: ChunkedForm) -> ValueBounds:
    """Create bounds of 0, which single precision uses; see :mod:`tensorcfr.kernels.ties`."""
    shapes = 0 if form.shapes is None else form.shapes.n_shapes
    entries = int(form.entry_offset.max(initial=0))
    return ValueBounds(np.zeros((1 + shapes, most_buckets(form))), np.zeros(entries))


def bucket_bounds(form: ChunkedForm, dtype: np.dtype) -> np.ndarray:
    """Compute the bounds of the buckets for arrays of some dtype; they are 0 except for float64.

    They are computed before the solver allocates its arrays, which take more memory than this.

    Returns:
        float64 (1 + shapes, most buckets).
    """
    return (game_bounds if dtype == np.float64 else zero_bounds)(form).bucket


def game_bounds(form: ChunkedForm) -> ValueBounds:
    """Compute the bounds of a game.

    It takes about as long as an iteration of the trunk and of one chunk of each shape.
    """
    bounds = zero_bounds(form)
    by_shape = np.argsort(form.shape, kind="stable")
    is_leaf = form.scratch_offset[by_shape] == 0  # Leaves of the chunk tree.
    of_shape = -1
    # Leaves of the same shape have the same payoff structure, so that their bounds are computed
    # once.
    for c in by_shape[is_leaf].tolist():
        if form.shape[c] != of_shape:
            of_shape = int(form.shape[c])
            shape = shape_form(form.shapes, of_shape)
            bound = sequence_bounds(shape)
            put_bucket_bounds(shape, bound, bounds.bucket[1 + of_shape])
        _put_entries(form, c, bound, bounds.entry)
    # Chunks with children run from the last to the first, because their children come after them.
    for c in np.sort(by_shape[~is_leaf])[::-1].tolist():
        of_shape = int(form.shape[c])
        shape = shape_form(form.shapes, of_shape)
        bound = _bounds_above(form, shape, c + 1, bounds.entry)
        put_bucket_bounds(shape, bound, bounds.bucket[1 + of_shape])
        _put_entries(form, c, bound, bounds.entry)
    if len(form.trunk.bucket_lanes):
        # Otherwise nobody acts in the trunk, as in a cluster worker's share of a game, and it pays
        # nothing.
        put_bucket_bounds(
            form.trunk, _bounds_above(form, form.trunk, 0, bounds.entry), bounds.bucket[0]
        )
    return bounds


def _put_entries(form: ChunkedForm, c: int, bound: np.ndarray, entry: np.ndarray) -> None:
    """Copy the bounds of a chunk's entries to ``entry``, from the bounds of all its sequences."""
    for player, (begin, end) in enumerate(pairwise(form.entry_offset[c].tolist())):
        first = first_entry(form, c, player)
        entry[begin:end] = bound[first : first + end - begin]


def _bounds_above(
    form: ChunkedForm, part_form: SequenceForm, part: int, entry: np.ndarray
) -> np.ndarray:
    """Compute :func:`sequence_bounds` for a part with chunks below it, given the bounds of their
    entries."""
    bound = np.zeros(part_form.n_sequences)
    for c, player in product(
        np.flatnonzero(form.parent_part == part).tolist(), range(part_form.n_players)
    ):
        begin, end = form.entry_offset[c, player : player + 2].tolist()
        np.add.at(bound, form.entries(c, player), entry[begin:end])
    carry_up(part_form, bound)
    return sequence_bounds(part_form) + bound


def sequence_bounds(form: SequenceForm) -> np.ndarray:
    """Compute upper bounds of the absolute counterfactual values if opponents reach everything.

    Returns:
        float64 (sequences,).
    """
    bound, everywhere = np.zeros(form.n_sequences), np.ones(form.n_sequences)
    sizes = frozen_arrays(magnitudes(form))
    for player in range(form.n_players):
        evaluation.add_payoffs(sizes, player, everywhere, bound)
    carry_up(form, bound)
    return bound


def carry_up(form: SequenceForm, bound: np.ndarray) -> None:
    """Add the largest bound of each infoset to its parent sequence.

    ``bound``, float64 (sequences,), is modified in place.
    """
    # Buckets run from the deepest level up, because each adds to the sequences of earlier ones.
    for number, bucket in reversed(list(enumerate(form.buckets))):
        if form.copies is not None:
            form.copies.share(number, bound)
        best = bucket.table(bound).max(axis=0)
        np.add.at(bound, form.infoset_parent[bucket.infosets], best)


def put_bucket_bounds(form: SequenceForm, bound: np.ndarray, bucket: np.ndarray) -> None:
    """Compute the bounds of buckets.

    Args:
        form: The game, or a part of it.
        bound: float64 (sequences,): bounds of counterfactual values.
        bucket: float64 (most buckets,): bounds of the buckets, modified in place; larger numbers
            stay.
    """
    for b, of_bucket in enumerate(form.buckets):
        most = bound[of_bucket.sequences].max(initial=0.0)
        bucket[b] = max(bucket[b], np.ldexp(1.0, np.frexp(most)[1]) if most > 0.0 else 0.0)
