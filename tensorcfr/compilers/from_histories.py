"""The last steps of compiling a game that was walked: its sequence form, in the final order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..invariants import check
from ..model.game import CompiledGame
from . import sequence_form
from .histories import WalkedGame


def compile_histories(walked: WalkedGame, name: str) -> CompiledGame:
    """The compiled game of a walked one, infosets in their final order, checked."""
    form, order = sequence_form.build(walked)
    return number_infosets(walked, name, order, form=form)


def number_infosets(walked: WalkedGame, name: str, order: np.ndarray, **views: Any) -> CompiledGame:
    """The compiled game with the infosets of a walked one in another order, checked.

    Args:
        walked: The history tree, infosets numbered as they were met.
        name: How the game was asked for.
        order: int64 (infosets,): the infosets in their final order.
        views: The other views of the game, in the final order.
    """
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    infoset = walked.tree.infoset.copy()
    infoset[infoset >= 0] = place[infoset[infoset >= 0]]
    labels, actions = walked.infosets.labels, walked.infosets.actions
    named = {kind: tuple(map(str, kind)) for kind in set(actions)}
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
