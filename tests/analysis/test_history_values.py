"""Values and reaches by history, against their definitions: sums over the plays that go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_games import games, public_tree_games
from tensorcfr import Policy, compile_game
from tensorcfr.analysis import history_values, values
from tensorcfr.kernels.evaluation import normalise
from tensorcfr.model.arrays import CHANCE
from tensorcfr.model.flat_game import FlatGame

TOLERANCE = 1e-12


def random_policy(game: FlatGame, seed: int) -> Policy:
    """Random strategies."""
    return Policy(game, normalise(game.form, np.random.default_rng(seed).random(game.n_sequences)))


def way(game: FlatGame, policy: Policy, node: int) -> list[tuple[int, int, float]]:
    """The steps to a history, the first one first: the node before, who moves, how probable."""
    found, tree = [], game.tree
    while node:
        above = int(tree.parent[node])
        mover = int(tree.player[above])
        if mover == CHANCE:
            probability = float(tree.probability[node])
        else:
            row = policy.probabilities[game.sequences(int(tree.infoset[above]))]
            probability = float(row[node - int(tree.first_child[above])])
        found.insert(0, (above, mover, probability))
        node = above
    return found


def check(game: FlatGame, policy: Policy) -> None:
    """``v_i(sigma, h)`` is the sum over the ends z after h of pi_-i(h) pi(h, z) u_i(z)."""
    found = history_values(game, policy)
    players, nodes = game.n_players, game.tree.n_nodes
    value, reach = np.zeros((nodes, players)), np.ones((nodes, players + 1))
    for node in range(nodes):
        for _, mover, probability in way(game, policy, node):
            reach[node, mover if mover >= 0 else players] *= probability
    for end, paid in zip(game.tree.terminal.tolist(), game.tree.utility, strict=True):
        value[end] += paid * game.unit
        onward = 1.0
        for node, _, probability in reversed(way(game, policy, end)):
            onward *= probability
            value[node] += onward * paid * game.unit
    scale = max(1.0, float(np.abs(value).max()))
    others = [np.delete(reach, player, axis=1).prod(axis=1) for player in range(players)]
    np.testing.assert_allclose(found.reach, reach, atol=TOLERANCE)
    np.testing.assert_allclose(found.counterfactual_reach, np.transpose(others), atol=TOLERANCE)
    np.testing.assert_allclose(found.value, value, atol=TOLERANCE * scale)
    np.testing.assert_allclose(
        found.counterfactual, value * np.transpose(others), atol=TOLERANCE * scale
    )
    by_infoset = values(game, policy)
    for infoset in range(game.n_infosets):
        player = int(game.infoset_player[infoset])
        for action, sequence in enumerate(np.arange(game.n_sequences)[game.sequences(infoset)]):
            below = game.tree.first_child[:-1][game.tree.infoset == infoset] + action
            summed = found.counterfactual[below, player].sum()
            assert by_infoset.counterfactual[sequence] == pytest.approx(
                summed, abs=TOLERANCE * scale
            )


@pytest.mark.parametrize(
    "name", ["kuhn", "kuhn(players=3)", "leduc(ranks=2)", "goofspiel(cards=3)", "stag_hunt"]
)
def test_games(name: str) -> None:
    game = compile_game(name)
    check(game, random_policy(game, 1))


@given(game=st.one_of(games(max_histories=60), public_tree_games()), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_random_games(game: Any, seed: int) -> None:
    compiled = compile_game(game)
    check(compiled, random_policy(compiled, seed))


def test_a_history_is_found_by_its_steps() -> None:
    game = compile_game("kuhn")
    found = history_values(game, Policy.uniform(game))
    node = found.node("Q", "K", "bet", "bet")
    assert found.value[node].tolist() == [-2.0, 2.0]
    assert found.node() == 0
    with pytest.raises(KeyError, match="there is no step 'Q'; there are: J, K"):
        found.node("Q", "Q")
    with pytest.raises(KeyError, match="there is no step 'fold'; there are: bet, pass"):
        found.node("Q", "K", "fold")
