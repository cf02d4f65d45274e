"""Invariants R: infosets that share one strategy, in games with imperfect recall."""

from __future__ import annotations

import numpy as np

from .reader import Reader, first_true


def check_shared(reader: Reader) -> str | None:
    """Infosets that share a strategy have one player and equally many actions."""
    game, form = reader.game, reader.form
    assert game.tied_to is not None
    if len(game.tied_to) != form.n_infosets:
        return f"tied_to has {len(game.tied_to)} entries for {form.n_infosets} infosets"
    infosets, first = np.arange(form.n_infosets), game.tied_to.astype(np.int64)
    if (at := first_true(first > infosets)) is not None:
        return f"{reader.infoset(at)} is tied to {int(first[at])}, which comes after it"
    if (at := first_true(first[first] != first)) is not None:
        return f"{reader.infoset(at)} is tied to {int(first[at])}, which is tied to another"
    actions = np.repeat(form.bucket_actions, form.bucket_lanes)
    for name, array in (("player", game.infoset_player), ("number of actions", actions)):
        if (at := first_true(array[first] != array)) is not None:
            return f"{reader.infoset(at)} is tied to {int(first[at])} of another {name}"
    return None


def check_absent_minded(reader: Reader) -> str | None:
    """No infoset shares a strategy with one that its player passes before it."""
    game, form = reader.game, reader.form
    assert game.tied_to is not None
    owner = np.full(form.n_sequences, -1, dtype=np.int64)
    buckets = (form.bucket_sequence, form.bucket_actions, form.bucket_lanes, form.bucket_infoset)
    for begin, actions, lanes, infoset in zip(*(b.tolist() for b in buckets), strict=True):
        owner[begin : begin + actions * lanes] = np.tile(infoset + np.arange(lanes), actions)
    before = owner[form.infoset_parent]
    passed = before
    while (passed >= 0).any():
        if (at := first_true((passed >= 0) & (game.tied_to[passed] == game.tied_to))) is not None:
            return f"{reader.infoset(at)} is tied to infoset {int(passed[at])}, passed before it"
        passed = np.where(passed >= 0, before[passed], -1)
    return None
