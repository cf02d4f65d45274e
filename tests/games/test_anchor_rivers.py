"""Rivers that postflop-solver has solved: its strategies are worth here what they are worth there.

The answers are recorded, by ``scripts/agreement.py`` of commit b5ab28bb: no Rust is needed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorcfr import compile_game, solve
from tensorcfr.analysis.policy_values import Values
from tensorcfr.compilers.cards.card_public_nodes import CardNodes
from tensorcfr.compilers.cards.equity import equities
from tensorcfr.formats import ByLine, find_policy
from tensorcfr.model.function_policies import Situation

# From postflop-solver, commit 9d1509f: three rivers drawn at random, one with rake.
RIVERS = json.loads((Path(__file__).parents[1] / "data/anchor_rivers.json").read_text("utf-8"))[
    "rivers"
]
SINGLE = 1e-6
"""Of the pot, and of equities: the other program computes in single precision."""


def strategies(river: dict[str, Any]) -> ByLine:
    """The other program's strategies."""
    known = {line: (actions, np.float32(table)) for _, line, actions, table in river["decisions"]}

    def asked(situation: Situation) -> np.ndarray:
        actions, table = known[" ".join(situation.line)]
        assert tuple(actions.split()) == situation.actions
        return table[order(river, situation.player, situation.hands)]

    return ByLine(asked)


def order(river: dict[str, Any], player: int, hands: tuple[str, ...]) -> list[int]:
    """Where hands are in what is recorded."""
    known = [{hand[:2], hand[2:]} for hand in river["hands"][player]]
    return [known.index({hand[:2], hand[2:]}) for hand in hands]


@pytest.mark.parametrize("river", RIVERS)
def test_a_strategy_is_worth_the_same(river: dict[str, Any]) -> None:
    """Exploitability, and values and equities of all hands."""
    pot = river["spot"]["pot"]
    game = compile_game("holdem", **river["spot"], symmetry=False)
    policy = find_policy(game, strategies(river))
    shown, nodes = Values(policy), CardNodes.of(game)
    assert game.n_sequences == 2 + sum(
        len(actions.split()) * len(table) for _, _, actions, table in river["decisions"]
    )
    found = shown.evaluation.exploitability
    assert found == pytest.approx(river["exploitability"], abs=SINGLE * pot)
    first, second = nodes.rules.weights
    even = equities(nodes.rules, nodes.rules.board, (first, second), 0)
    for player, values in enumerate(shown.of_players(0)):
        at = order(river, player, nodes.hands[player])
        recorded = np.array(river["values"][player])[at]
        np.testing.assert_allclose(values + pot / 2, recorded, atol=SINGLE * pot, rtol=0)
        recorded = np.array(river["equities"][player])[at]
        np.testing.assert_allclose(even[player], recorded, atol=SINGLE, rtol=0)


@pytest.mark.parametrize("river", [one for one in RIVERS if "rake" not in one["spot"]])
def test_values_of_two_solves_are_near(river: dict[str, Any]) -> None:
    """Without rake, two strategies' values are no further apart than best responses allow."""
    game = compile_game("holdem", **river["spot"])
    mine = solve(game, target="0.05%")
    whole = compile_game("holdem", **river["spot"], symmetry=False)
    theirs = Values(find_policy(whole, strategies(river))).evaluation
    gains, others = mine.evaluation.gains, theirs.gains
    difference = mine.value[0] - theirs.values[0]
    assert -gains[0] - others[1] - 1e-9 <= difference <= gains[1] + others[0] + 1e-9
