"""Public chance sampling: all hands at once, on public outcomes that are drawn."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from support.equality import PerturbedHands
from support.random_games import MATRIX_KINDS, random_game, random_public_tree_game
from support.reference import DealtGame, Tree, build_tree, regret_matching
from support.sampled_choices import all_hands, samples
from support.sampled_games import BUILT_IN, RANDOM, SHAPE, rules_of, small
from support.sampled_increments import expect_increments, some_regrets
from support.tiers import tiered
from tensorcfr import Algorithm, CompiledGame, SampledSolver, Solver, compile_game, solve
from tensorcfr.algorithms import CFR, CFR_PLUS, LCFR, PUBLIC_CHANCE_SAMPLING, Sampling
from tensorcfr.analysis import regrets, walkthrough
from tensorcfr.cli import app as commands
from tensorcfr.games import make_game

LEDUC = compile_game("leduc")
MORE: dict[str, dict[str, Any]] = {
    "random, given the deal": {"seed": 61, "max_hands": 3, "matrices": MATRIX_KINDS},
    "random, chance often": {"seed": 84, "max_hands": 3, "chance": 0.6},
}


@cache
def given(name: str) -> tuple[Any, CompiledGame, Tree]:
    """Rules, the game, its histories."""
    if name in MORE:
        rules = random_public_tree_game(**SHAPE | MORE[name])
        return rules, compile_game(rules), build_tree(DealtGame(rules))
    return rules_of(name), *small(name)


NAMES = (*BUILT_IN, *RANDOM, *MORE)
CASES: dict[str, Sampling] = {
    "every node": PUBLIC_CHANCE_SAMPLING(prune=False),
    "pruned": PUBLIC_CHANCE_SAMPLING,
    "together": PUBLIC_CHANCE_SAMPLING(alternating=False),
}


def strategies(tree: Tree, seed: int) -> dict[str, list[float]]:
    """Some of them, in which not every action is played."""
    found = some_regrets(tree, seed, negative=True)
    return {label: regret_matching(row, row, 0) for label, row in found.items()}


# -------------------------------------------------------------------------------------- unbiased


@pytest.mark.compiled
@pytest.mark.parametrize("negative", [False, True], ids=["all played", "some not played"])
@pytest.mark.parametrize("name", tiered(NAMES, ("kuhn", "random, chance first")))
@pytest.mark.parametrize("case", CASES)
def test_expected_increments(case: str, name: str, negative: bool) -> None:
    """The mean over all public outcomes is what CFR adds."""
    record = CASES[case]
    rules, game, tree = given(name)
    traversal = all_hands(rules, prune=record.prune)
    expect_increments(game, tree, record, traversal, negative=negative)


def test_expected_increments_with_the_jit_off() -> None:
    """The smallest game of those above in which chance depends on the hands."""
    rules, game, tree = given("random, chance first")
    traversal = all_hands(rules, prune=True)
    expect_increments(game, tree, PUBLIC_CHANCE_SAMPLING, traversal, negative=True)


@pytest.mark.compiled
def test_the_games_above_cover_what_they_are_for() -> None:
    """Public chance that depends on one hand, on the deal, with outcomes that some deals exclude;
    several outcomes to sample; nodes that are pruned."""
    trees = {name: given(name)[1].public.tree for name in NAMES}
    tables = [tree.chance_table for tree in trees.values()]
    assert any((np.ptp(table, axis=(1, 2)) > 0).any() for table in tables)
    assert any(((tree.weight_table == 0) & (tree.prior > 0)).any() for tree in trees.values())
    several = 0
    pruned = False
    for name in NAMES:
        rules, _, tree = given(name)
        whole, cut = (
            list(samples(all_hands(rules, prune=prune), tree, strategies(tree, 3), 0))
            for prune in (False, True)
        )
        several += len(whole) > 2
        pruned |= sum(s.histories for s in cut) < sum(s.histories for s in whole)
    assert several >= 4
    assert pruned


def test_an_infoset_weighs_the_same_whatever_is_played() -> None:
    """Which makes the average right."""
    rules, _, tree = given("random, chance")
    found = []
    for seed in (1, 2):
        strategy = strategies(tree, seed)
        met = dict.fromkeys(tree.infosets, 0.0)
        for sample in samples(all_hands(rules, prune=False), tree, strategy, 0):
            for label in sample.met:
                met[label] += sample.probability
        found.append(met)
    assert found[0] == pytest.approx(found[1], abs=1e-12)


# ----------------------------------------------------------------- nothing to sample: it is CFR


WITHOUT_CHANCE = ("kuhn", "kuhn(cards=5)", "liars_dice(faces=3)")


@pytest.mark.compiled
@pytest.mark.parametrize(
    "variant",
    [CFR, CFR_PLUS, LCFR, CFR(alternating=False), CFR_PLUS(alternating=False, delay=3)],
    ids=str,
)
@pytest.mark.parametrize("spec", WITHOUT_CHANCE)
def test_without_public_chance_it_is_a_sweep(spec: str, variant: Algorithm) -> None:
    """Payoffs are perturbed: exact ties would be decided by the order of sums."""
    game = compile_game(PerturbedHands(make_game(spec)), symmetry=False)
    sweep = Solver(game, variant)
    walk = SampledSolver(game, PUBLIC_CHANCE_SAMPLING(variant=variant, prune=False))
    for solver in (sweep, walk):
        solver.iterate(20)
    assert walk.nodes_touched == sweep.nodes_touched
    assert walk.decision_nodes_touched == sweep.decision_nodes_touched
    for array in ("regret", "strategy", "cumulative"):
        expected, found = (getattr(solver.state, array) for solver in (sweep, walk))
        several = walk.source.table.sequence
        np.testing.assert_allclose(found[several], expected[several], rtol=0, atol=1e-10)


@pytest.mark.compiled
def test_what_is_cut_changes_nothing() -> None:
    game = compile_game("liars_dice(faces=3)")
    cut, whole = (
        SampledSolver(game, PUBLIC_CHANCE_SAMPLING(prune=prune)) for prune in (True, False)
    )
    for solver in (cut, whole):
        solver.iterate(200)
    assert cut.nodes_touched < whole.nodes_touched == 400 * game.n_histories
    for array in ("regret", "strategy", "cumulative"):
        np.testing.assert_array_equal(getattr(cut.state, array), getattr(whole.state, array))


# ---------------------------------------------------------------------------------- convergence


@pytest.mark.full
@pytest.mark.compiled
def test_regrets_of_what_is_played() -> None:
    """The true average regret falls as it does in CFR."""
    early, late = regrets(LEDUC, PUBLIC_CHANCE_SAMPLING, checkpoints=[30, 1000])
    assert sum(late.average) < 0.5 * sum(early.average)


# ----------------------------------------------------------------------- which games, which rules


@pytest.mark.compiled
def test_histories_with_private_hands_in_them() -> None:
    """Recognised, they are walked as what they are."""
    found = compile_game(DealtGame(rules_of("leduc, 1 suit")))
    assert found.histories is not None
    assert found.public is not None
    solution = solve(found, PUBLIC_CHANCE_SAMPLING, iters=20_000, checkpoints=[20_000])
    assert solution.value[0] == pytest.approx(solve(found, "lp").value[0], abs=0.03)
    assert solution.exploitability < 0.05


def test_games_without_a_public_tree() -> None:
    histories = compile_game(random_game(seed=11, max_histories=40))
    assert histories.public is None
    reason = "has none: it was given as histories, which are not private hands on one public tree"
    with pytest.raises(ValueError, match=reason):
        solve(histories, PUBLIC_CHANCE_SAMPLING, iters=1)
    with pytest.raises(ValueError, match=r"kuhn\(players=3\) has none: it has 3 players"):
        SampledSolver(compile_game("kuhn(players=3)"), "public_chance_sampling")
    result = CliRunner().invoke(
        commands.app, ["solve", "kuhn(players=3)", "--algorithm", "public_chance_sampling"]
    )
    assert result.exit_code == 2
    assert "kuhn(players=3) has none: it has 3 players" in result.stderr


def test_a_deal_cannot_be_given() -> None:
    with pytest.raises(ValueError, match="plays all hands at once: it takes no deal"):
        walkthrough(compile_game("kuhn"), PUBLIC_CHANCE_SAMPLING, iters=1, deal=("Q", "K"))
    walked = walkthrough(compile_game("kuhn"), PUBLIC_CHANCE_SAMPLING, iters=1)
    expected = walkthrough(compile_game("kuhn"), "cfr", iters=1)
    assert walked.iterations[0]["Q"].new_regret == pytest.approx(
        expected.iterations[0]["Q"].new_regret, abs=1e-15
    )
