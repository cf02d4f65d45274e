"""Solutions whose subgames are forgotten: the trunk as before, the rest solved again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import LeducOfCards, RandomCards
from support.layouts import ways_to_cards
from support.slow_subgames import Spot, entry_of, resolve_groups
from support.tiers import tiered
from tensorcfr import CompiledGame, Policy, Solution, compile_game, evaluate, solve
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.analysis import SolvedSpot
from tensorcfr.compilers.cards.card_public_nodes import CardNodes
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.evaluation.profile import profile_of
from tensorcfr.rules import CardGame
from tensorcfr.subgames import belief, forget_subgames, subgame

GAMES: dict[str, Callable[[], CardGame]] = {
    "leduc": LeducOfCards,
    "one card": lambda: RandomCards(61, cards=4, width=1, rounds=1, public=0, zero_sum=True),
    "raked": lambda: RandomCards(5, cards=4, width=1, rounds=1, public=0, zero_sum=False),
}
ITERATIONS = 4
"""Iterations on a subgame."""
TURN = {
    "board": "Td9d6hQc",
    "ranges": ("AA,KK,76s", "QJs,88,AQs"),
    "pot": 100,
    "stacks": 100,
    "bets": "60%",
}


@cache
def solved(name: str) -> Solution:
    game = compile_game(GAMES[name](), symmetry=False, cut=True)
    return solve(game, "cfr", iters=3, checkpoints=())


@cache
def forgotten(name: str) -> Solution:
    return forget_subgames(solved(name), iters=ITERATIONS)


def groups_of(game: CompiledGame) -> list[list[Spot]]:
    """The public nodes with which the subgames begin, in the order of chunks."""
    rules = HandByHand(CardNodes.of(game).rules)
    return [[Spot(rules, way) for way in ways] for ways in ways_to_cards(game)]


def best_at_entries(group: list[Spot], policy: Any, player: int) -> dict[Any, np.ndarray]:
    """The value of each entry of a subgame to a player who answers a policy optimally."""
    found: dict[Any, np.ndarray] = defaultdict(float)  # type: ignore[arg-type]
    for spot in group:
        found[entry_of(spot, player)] = found[entry_of(spot, player)] + spot.best(policy, player)
    return found


@pytest.mark.parametrize("name", tiered(GAMES, fast=["one card"]))
def test_the_trunk_is_as_before_and_subgames_equal_the_slow_reference(name: str) -> None:
    solution, small = solved(name), forgotten(name)
    before, after = profile_of(solution.policy), profile_of(small.policy)
    # In order of STRATEGY, REACH, VALUE, BEST; the last is made of numbers in single precision.
    np.testing.assert_allclose(after.of_part(0)[:3], before.of_part(0)[:3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(after.of_part(0)[3], before.of_part(0)[3], rtol=0, atol=1e-6)
    policy = dict(solution.policy)
    slow = resolve_groups(
        groups_of(solution.game),
        lambda spot: [spot.reach(policy, player) for player in range(2)],
        lambda spot, player: spot.best(policy, player),
        ITERATIONS,
    )
    nodes, differences = CardNodes.of(small.game), []
    for label, row in small.policy.items():
        found = nodes.found(label)
        if found.layout.chunk >= 0:
            hand = nodes.hands[found.layout.player][found.hand]
            strategy = slow[label.removeprefix(hand)][:, found.hand]
            differences.append(np.abs(list(row.values()) - strategy).max())
    assert differences
    # Values in single precision decide between some actions that are worth the same.
    assert np.quantile(differences, 0.9) < 1e-7


@pytest.mark.parametrize("name", tiered(GAMES, fast=["one card", "raked"]))
def test_exactness_equals_slow_references(name: str) -> None:
    """Gains are those of the flat subgame.  What the best responses to the whole may earn more is,
    entry by entry, what the slow best response to the new strategies earns beyond the old one, and
    it bounds what they do earn more."""
    solution, small = solved(name), forgotten(name)
    shown, old, new = SolvedSpot(small), dict(solution.policy), dict(small.policy)
    total = np.zeros(2)
    for group in groups_of(small.game):
        expected = np.zeros(2)
        for player in range(2):
            before, after = (best_at_entries(group, policy, player) for policy in (old, new))
            for entry, values in after.items():
                expected[player] += np.maximum(values - before[entry], 0.0).sum()
        for spot in group[:2]:
            line = spot.path.strip()
            found = shown.exactness(line)
            np.testing.assert_allclose(found.raised, expected, rtol=0, atol=1e-5)
            flat = small.game.flat()
            lifted = Policy.from_mapping(flat, new)
            part = subgame(flat, line, ranges=belief(flat, lifted, line))
            own = {label: new[label] for label in part.infoset_labels}
            said = evaluate(part, Policy.from_mapping(part, own))
            gains = np.subtract(said.best_responses, said.values)
            np.testing.assert_allclose(found.gains, gains, rtol=0, atol=1e-9)
            assert found.exploitability == pytest.approx(gains.mean(), abs=1e-9)
        total += expected
    assert (total > 0).any()  # So that the comparison says something.
    whole = evaluate(small.game, Policy.from_mapping(small.game, new))
    raised = np.subtract(whole.best_responses, solution.evaluation.best_responses)
    assert (raised <= total + 1e-6).all()


def test_a_full_solution_has_lost_nothing() -> None:
    found = SolvedSpot(solved("one card")).exactness("")
    evaluation = solved("one card").evaluation
    gains = np.subtract(evaluation.best_responses, evaluation.values)
    assert found.gains == pytest.approx(gains, abs=1e-12)
    assert found.raised == (0.0, 0.0)


def test_a_file_is_small_and_reads_as_what_was_saved(tmp_path: Path) -> None:
    solution = solve(compile_game("holdem", **TURN, rake=0.05), iters=30, precision="float32")
    small = forget_subgames(solution, iters=50)
    whole, part = solution.save(tmp_path / "whole.npz"), small.save(tmp_path / "part.npz")
    assert part.stat().st_size < whole.stat().st_size / 4
    read = Solution.load(part)
    assert read.algorithm == small.algorithm
    assert read.evaluation == solution.evaluation
    tables = [SolvedSpot(one).table("check check 2c") for one in (small, read)]
    assert np.array_equal(tables[0].strategy, tables[1].strategy)
    assert np.array_equal(tables[0].values, tables[1].values, equal_nan=True)
    start = [SolvedSpot(one).table("") for one in (solution, read)]
    assert np.array_equal(start[0].values, start[1].values, equal_nan=True)
    # More iterations on the rivers, a better answer; the bound of the whole tells.
    exact = [
        SolvedSpot(forget_subgames(solution, iters=n)).exactness("check check 2c")
        for n in (50, 400)
    ]
    assert sum(exact[1].raised) < sum(exact[0].raised) / 4


def test_refusals(interpreted: None) -> None:
    small = forgotten("one card")
    with pytest.raises(ValueError, match="cannot be resumed"):
        solve(small.game, start=small, iters=1)
    with pytest.raises(ValueError, match="no chunks to forget"):
        forget_subgames(solve(compile_game("kuhn"), "cfr", iters=1))
    with pytest.raises(ValueError, match="must store only regrets"):
        forget_subgames(solve(small.game, "paced-cfr+", iters=0))
    label = next(iter(small.policy))
    action = next(iter(small.policy[label]))
    with pytest.raises(ValueError, match="with locks"):
        forget_subgames(solve(small.game, CFR_PLUS, iters=0, locks={label: {action: 1.0}}))
    two_deals = RandomCards(58, cards=6, width=1, rounds=2, public=1, zero_sum=True)
    twice = compile_game(two_deals, cut=1)
    with pytest.raises(ValueError, match="compile it with one cut"):
        forget_subgames(solve(twice, iters=0))
