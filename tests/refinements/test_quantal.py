"""Agent quantal response equilibria: pygambit's numbers, the definition, and mirror descent."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.equality import as_game
from support.random_games import random_game
from support.reference import Tree, build_tree
from support.slow_descent import SlowDescent
from support.tiers import tiered
from tensorcfr import compile_game, solve
from tensorcfr.algorithms import MMD_AGENT
from tensorcfr.refinements import quantal_responses

ANSWERS = json.loads((Path(__file__).parents[1] / "data" / "quantal_answers.json").read_text())
"""Of pygambit 16.7.0's ``qre.logit_solve_lambda``, by ``scripts/gambit_answers.py``."""


@pytest.mark.parametrize("name", tiered(ANSWERS["responses"], ["kuhn", "chicken"]))
def test_pygambit_says_the_same(name: str) -> None:
    """To the tolerance of pygambit's corrector."""
    found = quantal_responses(compile_game(name), ANSWERS["rationality"])
    for one, expected in zip(found, ANSWERS["responses"][name], strict=True):
        for label, probabilities in expected.items():
            ours = list(one.policy[label].values())
            np.testing.assert_allclose(ours, probabilities, atol=2e-6, err_msg=label)


def furthest(tree: Tree, policy: Any, rationality: float) -> float:
    """By how much odds differ from what the definition says, by recursion over histories."""
    slow, worst = SlowDescent(tree, MMD_AGENT.options), 0.0
    slow.strategy = {label: list(policy[label].values()) for label in tree.infosets}
    for label, played in slow.strategy.items():
        values = slow.expected(label)
        weights = [math.exp(rationality * (q - max(values))) for q in values]
        worst = max(
            worst,
            *(abs(p - w / math.fsum(weights)) for p, w in zip(played, weights, strict=True)),
        )
    return worst


@pytest.mark.parametrize("seed", tiered(range(6), [0, 1]))
def test_equilibria_by_definition(seed: int) -> None:
    rules = random_game(seed, max_histories=60)
    game, tree = compile_game(rules), build_tree(as_game(rules))
    for one in quantal_responses(game, [0.3, 1.0, 4.0]):
        assert furthest(tree, one.policy, one.rationality) < 1e-10


def test_mirror_descent_settles_there() -> None:
    """The last iterate of ``mmd-agent`` without a floor, at the temperature 1 / 10."""
    game = compile_game("kuhn")
    (traced,) = quantal_responses(game, [10.0])
    last = solve(game, MMD_AGENT(alpha=0.1, heat=0.0, floor=0.0), iters=3000).last_policy
    np.testing.assert_allclose(last.probabilities, traced.policy.probabilities, atol=1e-9)


def test_order_and_refusals() -> None:
    game = compile_game("kuhn")
    many, none, same = quantal_responses(game, [3.0, 0.0, 3.0])
    assert (many.rationality, none.rationality) == (3.0, 0.0)
    np.testing.assert_array_equal(many.policy.probabilities, same.policy.probabilities)
    assert set(none.policy["K"].values()) == {0.5}
    with pytest.raises(ValueError, match="at most 500 sequences more than infosets; leduc has"):
        quantal_responses(compile_game("leduc"), [1.0])
    with pytest.raises(ValueError, match="rationality"):
        quantal_responses(game, [-1.0])
