"""Compile a history tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..invariants import check
from ..model.game import CompiledGame
from ..model.labels import InfosetPlaces
from . import form_of_histories, form_of_public_tree, merging, recognition
from .histories import WalkedGame


def compile_walked(walked: WalkedGame, name: str, *, symmetry: bool = True) -> CompiledGame:
    """Compile a walked game, as private hands x public tree if it has that form.

    Args:
        walked: The history tree, infosets numbered in the order of the walk.
        name: The name of the game.
        symmetry: Whether to merge infosets with indistinguishable payoffs.
    """
    found = recognition.recognise(walked)
    if found is None:
        form, order = form_of_histories.build(walked)
        return _number_infosets(walked, name, order, form=form)
    form, tree = form_of_public_tree.build(found.game.tree)
    public = found.game._replace(tree=tree)
    place = InfosetPlaces(public, form).infosets(found.node, found.hand)
    order = np.empty(len(place), dtype=np.int64)
    order[place] = np.arange(len(place))
    merged = merging.merge(tree, form) if symmetry else None
    return _number_infosets(walked, name, order, form=form, public=public, merged=merged)


def _number_infosets(
    walked: WalkedGame, name: str, order: np.ndarray, **views: Any
) -> CompiledGame:
    """The compiled game, its infosets in their final order, checked and read-only.

    Args:
        walked: The history tree, infosets numbered in the order of the walk.
        name: The name of the game.
        order: int64 (infosets,): the infosets in their final order.
        views: The other views of the game, in the final order.
    """
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    infoset = walked.tree.infoset.copy()
    infoset[infoset >= 0] = place[infoset[infoset >= 0]]
    labels, actions = walked.infosets.labels, walked.infosets.actions
    named = {own: tuple(map(str, own)) for own in set(actions)}
    game = CompiledGame(
        name=name,
        histories=walked.tree._replace(infoset=infoset),
        infoset_labels=tuple(labels[i] for i in order.tolist()),
        infoset_actions=tuple(named[actions[i]] for i in order.tolist()),
        outcome_labels=tuple(walked.outcome_labels),
        unit=walked.unit,
        **views,
    )
    check(game)
    game.freeze()
    return game
