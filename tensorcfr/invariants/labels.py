"""Invariants L: the labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ..model.labels import InfosetLabels
from .reader import Reader, first_true


def check_count(reader: Reader) -> str | None:
    """One label and one tuple of actions per infoset."""
    infosets = reader.form.n_infosets
    game = reader.game
    for name, given in (("labels", game.infoset_labels), ("action tuples", game.infoset_actions)):
        if len(given) != infosets:
            return f"there are {len(given)} {name} for {infosets} infosets"
    return None


def label_error(labels: Sequence[object]) -> str | None:
    """The label that is not a string or occurs twice, as an error; or None."""
    if not set(map(type, labels)) <= {str}:
        bad = next(label for label in labels if type(label) is not str)
        return f"{bad!r} is of type {type(bad).__name__}, not str"
    if len(set(labels)) != len(labels):
        seen: dict[object, int] = {}
        for index, label in enumerate(labels):
            if seen.setdefault(label, index) != index:
                return f"{label!r} is number {seen[label]} and number {index}"
    return None


def check_label(reader: Reader) -> str | None:
    """Infoset labels are distinct strings."""
    return label_error(reader.game.infoset_labels)


def check_actions(reader: Reader) -> str | None:
    """Each infoset has one distinct label per action."""
    all_actions = tuple(reader.game.infoset_actions)
    if not set(map(type, all_actions)) <= {tuple}:
        bad = next(i for i, given in enumerate(all_actions) if type(given) is not tuple)
        wrong = type(all_actions[bad]).__name__
        return f"the actions of {reader.infoset(bad)} are of type {wrong}, not tuple"
    given = np.fromiter(map(len, all_actions), dtype=np.int64, count=len(all_actions))
    actions = reader.form.bucket_actions[reader.infoset_bucket]
    if (infoset := first_true(given != actions)) is not None:
        return (
            f"{reader.infoset(infoset)} has {actions[infoset]} actions, but the labels "
            f"{list(all_actions[infoset])}"
        )
    for labels in dict.fromkeys(all_actions):
        if twice := label_error(labels):
            return f"{twice} at {reader.infoset(all_actions.index(labels))}"
    return None


def check_outcome_label(reader: Reader) -> str | None:
    """Outcome labels are distinct strings."""
    return label_error(reader.game.outcome_labels)


def check_public_label(reader: Reader) -> str | None:
    """Labels of hands, public steps and public nodes are distinct; so are infoset labels made of
    them."""
    game = reader.game.public
    assert game is not None
    if tuple(map(len, game.hands)) != game.tree.prior.shape:
        return f"there are {list(map(len, game.hands))} hands, not {list(game.tree.prior.shape)}"
    for labels in (*game.hands, game.edges):
        if wrong := label_error(labels):
            return wrong
    if game.node_labels is not None:
        if len(game.node_labels) != game.tree.n_nodes:
            return f"there are {len(game.node_labels)} labels for {game.tree.n_nodes} public nodes"
        if wrong := label_error([label for label in game.node_labels if label is not None]):
            return wrong
    if isinstance(reader.game.infoset_labels, InfosetLabels) and (doubt := game.ambiguity()):
        return f"infoset labels may be alike: {doubt}"
    return None


def check_outcome(reader: Reader) -> str | None:
    """Labels of hands and public chance are outcome labels, which expanding the game needs."""
    public, game = reader.game.public, reader.game
    assert public is not None
    if game.histories is not None:
        return None
    known = set(game.outcome_labels)
    drawn = np.unique(public.tree.edge[public.tree.chance >= 0]).tolist()
    for label in (*chain(*public.hands), *(public.edges[edge] for edge in drawn)):
        if label not in known:
            return f"{label!r} is none of the outcome labels"
    return None
