"""Invariant P7: the payoff operator agrees with the tree; and the comparison for invariant V12."""

from __future__ import annotations

import numpy as np

from ..._util.limits import PAYOFF_TOLERANCE
from ..._util.violations import fail, first_true
from ...model.arrays import SequenceForm
from .merged_checks import multiply
from .reader import Reader


def check_payoff(reader: Reader) -> None:
    """Check that the operator and the tree have the same payoffs.

    Both sides are multiplied by one fixed random vector over the sequences.  Two different
    operators give different products for almost every such vector, so entries need not be matched.
    """
    tree, form = reader.tree, reader.form
    weight = random_weights(form)
    last, reach = reader.last_and_reach
    last, reach = last[:, tree.terminal], reach[tree.terminal]
    for player in range(form.n_players):
        others = np.delete(weight[last], player, axis=0).prod(axis=0)
        terms = reach * tree.utility[:, player] * others
        in_tree, scale = (
            np.bincount(last[player], numbers, form.n_sequences)
            for numbers in (terms, np.abs(terms))
        )
        compare_payoffs(reader, player, weight, in_tree, scale)


def random_weights(form: SequenceForm) -> np.ndarray:
    """Return the fixed random vector over the sequences, float64 (sequences,)."""
    return np.random.default_rng(0).uniform(0.5, 1.5, form.n_sequences)


def compare_payoffs(
    reader: Reader, player: int, weight: np.ndarray, in_tree: np.ndarray, scale: np.ndarray
) -> None:
    """Compare payoffs of a player's sequences with those of the operator.

    Args:
        reader: The game.
        player: The player.
        weight: float64 (sequences,): weights of the sequences.
        in_tree: float64 (sequences,): payoffs of the tree under these weights.
        scale: float64 (sequences,): sums of absolute terms, to which rounding is relative, because
            the terms may cancel.
    """
    in_form = np.zeros(reader.form.n_sequences)
    multiply(reader.form, player, weight, in_form)
    if (i := first_true(np.abs(in_tree - in_form) > PAYOFF_TOLERANCE * scale)) is not None:
        fail(
            f"the payoffs of {reader.sequence(i)} differ: under one and the same weights the tree "
            f"gives {in_tree[i]:.12g}, the operator {in_form[i]:.12g}"
        )
