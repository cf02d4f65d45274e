"""Invariants L: the labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ..._util.violations import fail, first_true
from .reader import Reader


def check_count(reader: Reader) -> None:
    """Check that there are one label and one tuple of actions per infoset."""
    infosets = reader.form.n_infosets
    game = reader.game
    for name, entries in (("labels", game.infoset_labels), ("action tuples", game.infoset_actions)):
        if len(entries) != infosets:
            fail(f"there are {len(entries)} {name} for {infosets} infosets")


def check_labels(labels: Sequence[object], where: str = "") -> None:
    """Check that labels are distinct strings; errors end with ``where``."""
    if not set(map(type, labels)) <= {str}:
        bad = next(label for label in labels if type(label) is not str)
        fail(f"{bad!r} is of type {type(bad).__name__}, not str{where}")
    if len(set(labels)) != len(labels):
        seen: dict[object, int] = {}
        for index, label in enumerate(labels):
            if seen.setdefault(label, index) != index:
                fail(f"{label!r} is number {seen[label]} and number {index}{where}")


def check_labels_of(what: str, reader: Reader) -> None:
    """Check that the labels of infosets, or of outcomes, are distinct strings."""
    check_labels(getattr(reader.game, what))


def check_actions(reader: Reader) -> None:
    """Check that each infoset has one distinct label per action."""
    all_actions = tuple(reader.game.infoset_actions)
    if not set(map(type, all_actions)) <= {tuple}:
        bad = next(i for i, labels in enumerate(all_actions) if type(labels) is not tuple)
        wrong = type(all_actions[bad]).__name__
        fail(f"the actions of {reader.infoset(bad)} are of type {wrong}, not tuple")
    n_labels = np.fromiter(map(len, all_actions), dtype=np.int64, count=len(all_actions))
    actions = reader.form.infoset_actions
    if (infoset := first_true(n_labels != actions)) is not None:
        fail(
            f"{reader.infoset(infoset)} has {actions[infoset]} actions, but the labels "
            f"{list(all_actions[infoset])}"
        )
    for labels in dict.fromkeys(all_actions):
        check_labels(labels, f" at {reader.infoset(all_actions.index(labels))}")


def check_public_label(reader: Reader) -> None:
    """Check that labels of hands, public steps and public nodes are distinct, and infoset labels
    made of them too."""
    game = reader.game.public
    if tuple(map(len, game.hands)) != game.tree.prior.shape:
        fail(f"there are {list(map(len, game.hands))} hands, not {list(game.tree.prior.shape)}")
    for labels in (*game.hands, game.edges):
        check_labels(labels)
    if game.node_labels is not None:
        if len(game.node_labels) != game.tree.n_nodes:
            fail(f"there are {len(game.node_labels)} labels for {game.tree.n_nodes} public nodes")
        check_labels([label for label in game.node_labels if label is not None])
    if reader.game.joins_labels and (doubt := game.ambiguity()):
        fail(f"two infosets may have the same label: {doubt}")


def check_outcome(reader: Reader) -> None:
    """Check that labels of hands and public chance are outcome labels, which expanding the game
    needs."""
    public, game = reader.game.public, reader.game
    if game.by_histories:
        return
    known = set(game.outcome_labels)
    drawn = np.unique(public.tree.edge[public.tree.chance >= 0]).tolist()
    for label in (*chain(*public.hands), *(public.edges[edge] for edge in drawn)):
        if label not in known:
            fail(f"{label!r} is none of the outcome labels")
