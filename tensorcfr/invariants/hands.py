"""Invariants H: the hands of the lanes of a bucket."""

from __future__ import annotations

import numpy as np

from .reader import Reader, first_true


def check_hand_rank(reader: Reader) -> str | None:
    """Every row of ``hand_rank`` counts hands."""
    rank = reader.form.hand_rank
    steps = np.diff(rank, axis=1)
    wrong = (rank[:, 0] != 0) | ((steps != 0) & (steps != 1)).any(axis=1)
    if (mask := first_true(wrong)) is not None:
        return f"hand_rank[{mask}] is {rank[mask].tolist()}, which does not count from 0"
    return None


def check_mask(reader: Reader) -> str | None:
    """Masks exist."""
    form = reader.form
    masks = len(form.hand_rank)
    if (bucket := first_true((form.bucket_mask < 0) | (form.bucket_mask >= masks))) is not None:
        return f"bucket_mask[{bucket}] is {form.bucket_mask[bucket]}, not 0 to {masks - 1}"
    return None


def check_lanes(reader: Reader) -> str | None:
    """The lanes are hands x public nodes."""
    form = reader.form
    hands = form.hand_rank[form.bucket_mask, -1]
    # A stride beyond the lanes could overflow in the product.
    wrong = (form.bucket_stride * hands != form.bucket_lanes) | (
        form.bucket_stride > form.bucket_lanes
    )
    if (bucket := first_true(wrong)) is not None:
        return (
            f"bucket {bucket} has {form.bucket_lanes[bucket]} lanes for {hands[bucket]} hands "
            f"with {form.bucket_stride[bucket]} public nodes each"
        )
    return None
