"""Games of private hands are sampled as they are: hands first, then the public tree, and never
expanded; what comes out is what comes out of the histories."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from sampling.test_sampling import CASES as EVERY_CASE
from support.equality import bits
from support.reference import regret_matching
from support.sampled_choices import HandsChooser, Sample, samples
from support.sampled_games import BUILT_IN, RANDOM, small
from support.sampled_increments import expect_increments, increments, prepared, some_regrets
from support.tiers import tiered
from tensorcfr import CompiledGame, MemoryLimitError, SampledSolver, Solution, compile_game, solve
from tensorcfr.algorithms import (
    CHANCE_SAMPLING,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    PUBLIC_CHANCE_SAMPLING,
    WHOLE_TRAVERSAL,
    Sampling,
)
from tensorcfr.solvers.sampled_solver import bytes_needed, layout_of
from tensorcfr.solvers.traversal import all_hands_traversal, public_traversal

SMALL = (*BUILT_IN, *RANDOM)


def as_histories(game: CompiledGame) -> CompiledGame:
    """The same game, with the same infosets, of which solvers walk the histories."""
    return replace(game, histories=replace(game).tree)


def never_expanded(game: CompiledGame) -> bool:
    return game.histories is None and "tree" not in game.__dict__


CASES = {name: case for name, case in EVERY_CASE.items() if name != "outcome, epsilon"}


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "negative"),
    tiered(product(SMALL, (True, False)), [(name, True) for name in SMALL]),
)
@pytest.mark.parametrize("case", CASES)
def test_expected_increments(case: str, name: str, negative: bool) -> None:
    """The mean over all samples is what CFR adds."""
    game, tree = small(name)
    expect_increments(game, tree, *CASES[case], negative=negative, chooser=HandsChooser)
    assert never_expanded(game)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("case", CASES)
def test_the_same_choices_add_the_same(case: str, name: str) -> None:
    """As a traversal of histories adds that goes the same way."""
    record, traversal = CASES[case]
    game, tree = small(name)
    regrets = some_regrets(tree, 7, negative=True)
    strategy = {k: regret_matching(row, row, 0) for k, row in regrets.items()}
    hands, histories = (prepared(g, record, regrets) for g in (game, as_histories(game)))
    before = hands.state
    for player in range(2):
        found = list(samples(traversal, tree, strategy, player, HandsChooser))
        for sample in Random(3).sample(found, min(40, len(found))):
            other = Sample(0.0, sample.of_histories, [], sample.histories, sample.decisions)
            one = increments(hands, before, sample, player)
            two = increments(histories, before, other, player)
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


def test_the_games_above_cover_what_they_are_for() -> None:
    """Chance at the root and below, given the hands; deals that cannot be; decisions with one
    action; payoffs that are not zero-sum."""
    trees = [small(name)[0].public for name in SMALL]
    found = [public.tree for public in trees if public is not None]
    assert any(tree.player[0] == -1 for tree in found)
    assert any((tree.player[1:] == -1).any() for tree in found)
    assert any((tree.prior == 0).any() for tree in found)
    assert any((np.ptp(tree.chance_table, axis=(1, 2)) > 0).any() for tree in found)
    assert any((np.diff(tree.first_child)[tree.player >= 0] == 1).any() for tree in found)
    assert any(not small(name)[0].zero_sum for name in SMALL)


EVERYTHING = [
    PUBLIC_CHANCE_SAMPLING,
    PUBLIC_CHANCE_SAMPLING(alternating=False, averaging="optimistic", variant="cfr+"),
    CHANCE_SAMPLING,
    CHANCE_SAMPLING(alternating=False, averaging="optimistic", average_power=1),
    EXTERNAL_SAMPLING,
    EXTERNAL_SAMPLING(variant="lcfr", averaging="stochastic"),
    EXTERNAL_SAMPLING(restart_base=2, delay=1, averaging="optimistic"),
    OUTCOME_SAMPLING,
    OUTCOME_SAMPLING(baseline=0.5, averaging="optimistic", variant="cfr+"),
]


@pytest.mark.compiled
@pytest.mark.parametrize("spec", tiered(["leduc", "liars_dice(faces=3)"], ["leduc"]))
@pytest.mark.parametrize("record", [r for r in EVERYTHING if r.scheme != "public"], ids=str)
def test_the_same_seed_gives_the_bits_of_the_histories(record: Sampling, spec: str) -> None:
    """Where chance is drawn alike: alias tables of the same deals, boards equally likely."""
    game = compile_game(spec)
    hands, histories = (SampledSolver(g, record, seed=6) for g in (game, as_histories(game)))
    for solver in (hands, histories):
        solver.iterate(300)
    assert bits(histories.state) == bits(hands.state)
    assert never_expanded(game)


@pytest.mark.parametrize("record", EVERYTHING, ids=str)
def test_going_on_gives_the_same_bits(record: Sampling, tmp_path: Path) -> None:
    game, _ = small("random, chance")
    whole, part = (solve(game, record, iters=n, seed=9) for n in (40, 13))
    rest = solve(game, start=part, iters=27)
    loaded = Solution.load(part.save(tmp_path / "part"))
    for other in (rest, solve(loaded.game, start=loaded, iters=27)):
        assert bits(whole.state) == bits(other.state)
        np.testing.assert_array_equal(whole.policy.probabilities, other.policy.probabilities)
        assert never_expanded(other.game)


def test_whole_traversals_and_given_deals_walk_histories() -> None:
    game, _ = small("kuhn")
    walked = SampledSolver(game, WHOLE_TRAVERSAL)
    assert len(walked.source.tree.node) == game.n_histories
    given = SampledSolver(game, EXTERNAL_SAMPLING, deal=["K", "Q"])
    assert len(given.source.tree.node) == game.n_histories


@pytest.mark.parametrize("record", EVERYTHING, ids=str)
def test_blocks_have_what_is_needed(record: Sampling) -> None:
    """And what a solver allocates is what it is said to need."""
    game, _ = small("leduc, 1 suit")
    layout = layout_of(game, record, public=True)
    assert layout.has_header == ("optimistic" in str(record) or "alternating=False" in str(record))
    layout.numbers[:] = np.arange(1.0, layout.size + 1)
    groups = [layout.group(index) for index in range(3 + layout.extra)]
    several = np.flatnonzero(groups[0])
    used = np.concatenate([group[several] for group in groups])
    assert len(np.unique(used)) == len(used)
    headers = layout.header * int((layout.block >= 0).sum())
    assert len(used) + headers == layout.size
    again = layout_of(game, record, public=True)
    for index, group in enumerate(groups):
        again.set_group(index, group)
    again.set_last(layout.last())
    for index, group in enumerate(groups):
        np.testing.assert_array_equal(again.group(index), group)
    np.testing.assert_array_equal(again.last(), layout.last())
    if record.scheme == "public":
        tree: Any = all_hands_traversal(game, layout)
    else:
        tree = public_traversal(game, layout)
    # Tables that belong to the compiled game are views of it.
    own = [a for a in tree if isinstance(a, np.ndarray) and a.base is None]
    assert 8 * layout.size + sum(a.nbytes for a in own) < bytes_needed(game, record)
    with pytest.raises(MemoryLimitError):
        SampledSolver(game, record, memory_limit=bytes_needed(game, record) - 1)
    SampledSolver(game, record, memory_limit=bytes_needed(game, record))


@pytest.mark.compiled
@pytest.mark.slow
def test_bluff_with_two_dice_each() -> None:
    """22 million infosets, a billion histories; in the memory that was said."""
    game = compile_game("bluff", dice=(2, 2)).flat()
    assert game.n_histories > 900_000_000
    needed = bytes_needed(game, EXTERNAL_SAMPLING)
    assert needed < 2.5 * 2**30
    tracemalloc.start()
    solver = SampledSolver(game, EXTERNAL_SAMPLING, seed=1)
    before = solver.evaluate().exploitability
    solver.iterate(5_000)
    assert solver.nodes_touched > 5_000 * 500
    after = solver.evaluate()
    assert after.exploitability < 0.85 * before
    assert np.isfinite(solver.state.regret).all()
    assert tracemalloc.get_traced_memory()[1] < needed
    tracemalloc.stop()
    assert never_expanded(game)
