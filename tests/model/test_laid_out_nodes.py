"""The public nodes of games that are laid out, against their histories."""

from __future__ import annotations

import numpy as np
import pytest

from support.equality import Multiplied, as_game
from tensorcfr import CompiledGame, compile_game
from tensorcfr.games import make_game
from tensorcfr.model.arrays import CHANCE, TERMINAL
from tensorcfr.model.labels import follow


def from_histories(spec: str, factor: float = 1.0) -> CompiledGame:
    """A game whose hands are found in its histories."""
    game = compile_game(Multiplied(as_game(make_game(spec)), factor))
    assert game.by_histories
    assert game.nodes is not None
    return game


@pytest.mark.parametrize("spec", ["kuhn", "leduc(ranks=2)"])
def test_hands_are_named_by_what_was_dealt(spec: str) -> None:
    """The first two outcomes of a history deal the hands; every infoset is found by its label."""
    game = from_histories(spec)
    nodes, rank = game.nodes, list(game.outcome_labels).index
    for player in range(2):
        names, order = nodes.shown(player)
        assert [names[hand] for hand in order] == sorted(names, key=rank)
        for node in nodes.decisions(player):
            hands = np.flatnonzero(nodes.possible(node, player)).tolist()
            for hand, label in zip(hands, nodes.labels(node, hands), strict=True):
                infoset = game.infoset_index[label]
                for history in np.flatnonzero(game.tree.infoset == infoset).tolist():
                    assert game.history(history)[player] == names[hand]
                found = nodes.find(label)
                assert (found.node, found.hand, found.label) == (node, hand, label)


@pytest.mark.parametrize("factor", [1.0, 2.0**50])
def test_terminals_pay_what_their_histories_pay(factor: float) -> None:
    """Summed over all terminals, with a random weight for every hand, in the game's own unit."""
    game = from_histories("kuhn", factor)
    nodes, tree = game.nodes, game.tree
    names, draw = [nodes.shown(player)[0] for player in range(2)], np.random.default_rng(1)
    own = [draw.random(len(hands)) for hands in nodes.hands]
    chance, expected = np.ones(tree.n_nodes), np.zeros(2)
    for node in range(1, tree.n_nodes):
        above = int(tree.parent[node])
        step = tree.probability[node] if tree.player[above] == CHANCE else 1.0
        chance[node] = chance[above] * step
    for node, paid in zip(tree.terminal.tolist(), tree.utility * game.unit, strict=True):
        dealt = game.history(node)
        weight = [own[player][names[player].index(dealt[player])] for player in range(2)]
        expected += chance[node] * np.prod(weight) * paid
    assert game.unit == 1.0 or game.unit > 2.0**40
    assert abs(expected[0]) > 0.01 * factor
    for player in range(2):
        found = sum(
            float(own[player] @ nodes.payoffs(node, player, own))
            for node in range(nodes.count)
            if nodes.player(node) == TERMINAL
        )
        assert found == pytest.approx(expected[player], rel=1e-12)


def test_steps_are_told_apart_whole() -> None:
    """In a text and one by one; a step may begin like another one, and may have a space."""

    def children(node: int) -> tuple[list[str], list[int]]:
        return (["bet", "bet 5", "b"], [1, 2, 3]) if node == 0 else ([], [])

    for label in (" b", ["b"]):
        assert follow(label, 0, children) == ([0, 3], [2])
    assert follow(["bet 5"], 0, children) == ([0, 2], [1])
    assert follow(["be"], 0, children) is None
    assert follow(" b b", 0, children) is None
