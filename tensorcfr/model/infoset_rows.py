"""Infosets with their positions in the arrays of a policy, one at a time or many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Located(NamedTuple):
    """Infoset that was found by its label."""

    label: str
    """Canonical spelling of the label."""
    player: int
    actions: tuple[str, ...]
    numbers: slice
    """Positions of its actions in the arrays of a policy."""


class InfosetRows(NamedTuple):
    """Infosets of one player that have equally many actions."""

    player: int
    """Acting player."""
    labels: list[str]
    """Label of each infoset."""
    actions: list[tuple[str, ...]]
    """Action labels of each infoset."""
    numbers: np.ndarray
    """int64 (infosets, actions): positions in the arrays of a policy."""
    multiplicity: np.ndarray
    """float64 (infosets,): number of infosets that each entry is the sum of."""

    def select(self, which: np.ndarray) -> InfosetRows:
        """Return some of the infosets, by their indices here."""
        indices = which.tolist()
        labels, actions = [self.labels[k] for k in indices], [self.actions[k] for k in indices]
        return InfosetRows(
            self.player, labels, actions, self.numbers[indices], self.multiplicity[indices]
        )
