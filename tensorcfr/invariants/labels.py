"""Invariants L: the labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .reader import Reader, first


def find_count(reader: Reader) -> str | None:
    """One label and one tuple of actions per infoset."""
    infosets = reader.form.n_infosets
    for name, given in (("labels", reader.labels), ("action tuples", reader.actions)):
        if len(given) != infosets:
            return f"there are {len(given)} {name} for {infosets} infosets"
    return None


def repeated(labels: Sequence[object]) -> str | None:
    """What is no string, or is there twice."""
    if not set(map(type, labels)) <= {str}:
        bad = next(label for label in labels if type(label) is not str)
        return f"{bad!r} is of type {type(bad).__name__}, not str"
    if len(set(labels)) != len(labels):
        seen: dict[object, int] = {}
        for index, label in enumerate(labels):
            if seen.setdefault(label, index) != index:
                return f"{label!r} is number {seen[label]} and number {index}"
    return None


def find_label(reader: Reader) -> str | None:
    """Infoset labels are strings, no two alike."""
    return repeated(reader.labels)


def find_actions(reader: Reader) -> str | None:
    """As many action labels as actions, no two alike."""
    if not set(map(type, reader.actions)) <= {tuple}:
        bad = next(i for i, given in enumerate(reader.actions) if type(given) is not tuple)
        wrong = type(reader.actions[bad]).__name__
        return f"the actions of {reader.infoset(bad)} are of type {wrong}, not tuple"
    given = np.fromiter(map(len, reader.actions), dtype=np.int64, count=len(reader.actions))
    actions = reader.form.bucket_actions[reader.infoset_bucket]
    if (infoset := first(given != actions)) is not None:
        return (
            f"{reader.infoset(infoset)} has {actions[infoset]} actions, but the labels "
            f"{list(reader.actions[infoset])}"
        )
    for labels in dict.fromkeys(reader.actions):
        if twice := repeated(labels):
            return f"{twice} at {reader.infoset(list(reader.actions).index(labels))}"
    return None


def find_outcome_label(reader: Reader) -> str | None:
    """Outcome labels are strings, no two alike."""
    return repeated(reader.game.outcome_labels)
