"""Invariant P7: the payoff operator agrees with the tree."""

from __future__ import annotations

import numpy as np

from ..._util.limits import PAYOFF_TOLERANCE
from ..._util.violations import fail, first_true
from ...payoff import product
from .reader import Reader


def check_payoff(reader: Reader) -> None:
    """Check that the operator and the tree have the same payoffs.

    Both sides are multiplied by one fixed random vector over the sequences.  Two different
    operators give different products for almost every such vector, so entries need not be matched.
    """
    tree, form = reader.tree, reader.form
    weight = np.random.default_rng(0).uniform(0.5, 1.5, form.n_sequences)
    last, reach = reader.last_and_reach
    last, reach = last[:, tree.terminal], reach[tree.terminal]
    weights = weight[last]
    for player in range(form.n_players):
        own_range = form.of_player(player)
        size = own_range.stop - own_range.start
        others = np.delete(weights, player, axis=0).prod(axis=0)
        term = reach * tree.utility[:, player] * others
        row = last[player] - own_range.start
        in_tree = np.bincount(row, term, size)
        in_form = product(form, player, weight)
        residual = np.abs(in_tree - in_form)
        if (residual <= PAYOFF_TOLERANCE * np.abs(in_tree)).all():
            continue
        # Compare the residual with the sum of absolute terms, not with the cancelled sum.
        scale = np.bincount(row, np.abs(term), size)
        if (i := first_true(residual > PAYOFF_TOLERANCE * scale)) is not None:
            fail(
                f"the payoffs of {reader.sequence(own_range.start + i)} differ: under one and the "
                f"same weights the tree gives {in_tree[i]:.12g}, the operator {in_form[i]:.12g}"
            )
