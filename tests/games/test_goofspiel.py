"""Goofspiel: its rules, play by play; ``formats/test_openspiel.py`` compares every history."""

from __future__ import annotations

import pickle
from collections import defaultdict
from typing import Any

import pytest

from support.walks import histories, play
from tensorcfr.games.goofspiel import Goofspiel
from tensorcfr.rules import Chance, Decision, Terminal


@pytest.mark.parametrize(
    ("parameters", "bids", "node"),
    [
        # 3 goes to player 1 (1 < 2), 2 to player 0 (3 > 1), 1 to player 1 (2 < 3).
        ({"cards": 3, "payoff": "total_points"}, (1, 2, 3, 1), Terminal((2.0, 4.0))),
        # A tied prize goes to nobody, and the last cards play themselves.
        ({"cards": 3, "payoff": "total_points"}, (1, 1, 3, 3), Terminal((0.0, 0.0))),
        ({"cards": 3, "payoff": "total_points"}, (1, 1, 3, 2), Terminal((2.0, 1.0))),
        # 1 goes to player 1, 2 to player 0, 3 to player 1.
        (
            {"cards": 3, "prizes": "ascending", "payoff": "total_points"},
            *((1, 2, 3, 1), Terminal((2.0, 4.0))),
        ),
        ({"cards": 3}, (1, 2, 3, 1), Terminal((-1.0, 1.0))),
        ({"cards": 3}, (1, 1, 2, 2), Terminal((0.0, 0.0))),
        # 2 and 4, minus their mean.
        ({"cards": 3, "payoff": "point_difference"}, (1, 2, 3, 1), Terminal((-1.0, 1.0))),
        # 2 goes to player 2 alone; the 1 is tied between 0 and 1.
        ({"cards": 2, "players": 3}, (1, 1, 2), Terminal((-0.5, -0.5, 1.0))),
        ({"cards": 3, "prizes": "random"}, (), Chance(dict.fromkeys((1, 2, 3), 1 / 3))),
        ({"cards": 3, "prizes": "random"}, (2, 1, 3), Chance({1: 1 / 2, 3: 1 / 2})),
        # 2 goes to player 1 (1 < 3), 3 to player 0 (3 > 1), and the 1 is tied.
        ({"cards": 3, "prizes": "random"}, (2, 1, 3, 3, 3, 1), Terminal((1.0, -1.0))),
        ({}, (1, 3, 2, 2), Decision(0, "P0 4:1- 3:2= 2?", (3, 4))),
        ({}, (1, 3, 2, 2, 3), Decision(1, "P1 4:3+ 3:2= 2?", (1, 4))),
    ],
)
def test_plays(parameters: dict[str, Any], bids: tuple[int, ...], node: Any) -> None:
    assert play(Goofspiel(**parameters), *bids) == node


@pytest.mark.parametrize(
    ("parameters", "bids", "label"),
    [
        ({}, (), "P0 4?"),
        ({}, (1,), "P1 4?"),
        ({"imperfect_information": False}, (1, 3, 2, 2), "P0 4:1,3 3:2,2 2?"),
        ({"imperfect_information": False}, (1, 3, 2, 2, 3), "P1 4:1,3 3:2,2 2?"),
        # Those of three players name the winner.
        ({"cards": 3, "players": 3}, (1, 2, 3), "P0 3:1-2 2?"),
        ({"cards": 3, "players": 3}, (1, 2, 3, 2), "P1 3:2-2 2?"),
        ({"cards": 3, "players": 3}, (1, 2, 3, 2, 1), "P2 3:3+ 2?"),
    ],
)
def test_labels(parameters: dict[str, Any], bids: tuple[int, ...], label: str) -> None:
    assert play(Goofspiel(**parameters), *bids).infoset == label


def test_one_decision_per_infoset() -> None:
    decisions = defaultdict(set)
    for _, node in histories(Goofspiel(cards=4)):
        if isinstance(node, Decision):
            decisions[node.infoset].add(id(node))
    assert all(len(same) == 1 for same in decisions.values())


def test_a_walked_game_can_be_pickled() -> None:
    game = Goofspiel(cards=3)
    before = [node for _, node in histories(game)]
    assert [node for _, node in histories(pickle.loads(pickle.dumps(game)))] == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cards": 1}, "cards must be a whole number from 2 to 100, not 1"),
        ({"cards": 2.5}, "cards must be a whole number from 2 to 100, not 2.5"),
        ({"players": 1}, "players must be a whole number from 2 to 10, not 1"),
        ({"prizes": "shuffled"}, "prizes must be one of .*random, not 'shuffled'"),
        ({"payoff": "points"}, "payoff must be one of .*total_points, not 'points'"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Goofspiel(**parameters)
