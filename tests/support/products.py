"""Payoff products: the kernel, and its slow twin over the terminals of the tree."""

from __future__ import annotations

import numpy as np

from tensorcfr import CompiledGame
from tensorcfr.kernels import evaluation
from tensorcfr.model.arrays import NO_PARENT, SequenceForm, frozen_arrays


def pay(form: SequenceForm, player: int, reach: np.ndarray, g: np.ndarray) -> None:
    """The payoff product of a form, by a kernel that solves compile, too."""
    g[form.of_player(player)] = 0.0
    evaluation.add_payoffs(frozen_arrays(form), player, reach, g)


def check_product(form: SequenceForm) -> None:
    """Compare the kernel of a form's payoffs with the sums hand by hand, in double precision."""
    (part,), rng = form.operator, np.random.default_rng(5)
    x = rng.random(form.n_sequences)
    for player in range(2):
        g = np.full(form.n_sequences, np.nan)
        pay(form, player, x, g)
        expected = part.product(form, player, x)
        atol = 1e-12 * np.abs(expected).max()
        np.testing.assert_allclose(g[form.of_player(player)], expected, rtol=0, atol=atol)


def last_sequence(game: CompiledGame, node: int, player: int) -> int:
    """The player's last sequence on the way to a node, found by climbing the tree."""
    while (parent := int(game.tree.parent[node])) != NO_PARENT:
        if game.tree.player[parent] == player:
            infoset = int(game.tree.infoset[parent])
            action = node - int(game.tree.first_child[parent])
            return int(game.infoset_sequence[infoset] + action * game.infoset_stride[infoset])
        node = parent
    return int(game.form.player_sequences[player])


def chance_reach(game: CompiledGame, node: int) -> float:
    """Probability that chance plays to a node."""
    reach = 1.0
    while node != NO_PARENT:
        reach *= float(game.tree.probability[node])
        node = int(game.tree.parent[node])
    return reach


def naive_product(
    game: CompiledGame, player: int, reach: np.ndarray, *, sizes: bool = False
) -> np.ndarray:
    """``g`` from the terminals of the tree, one by one; with ``sizes`` of absolute utilities."""
    g = np.zeros(game.n_sequences)
    for node, utility in zip(game.tree.terminal.tolist(), game.tree.utility, strict=True):
        paid = abs(float(utility[player])) if sizes else float(utility[player])
        weight = chance_reach(game, node) * paid
        for other in range(game.n_players):
            if other != player:
                weight *= float(reach[last_sequence(game, node, other)])
        g[last_sequence(game, node, player)] += weight
    return g


def random_reach(game: CompiledGame, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(game.n_sequences)
