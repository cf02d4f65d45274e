"""Strategies with a floor: the twin mixes what the paper's rule says with the uniform strategy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.equality import GAMES, check_last_iterate, check_random
from support.tiers import tiered
from support.variants import VARIANTS, YOUNGER, Floor, fading, floored
from tensorcfr import ALGORITHMS, Algorithm, Solution, Solver, compile_game, register, solve
from tensorcfr.algorithms import CFR, HEDGE, find_algorithm, from_dict

OTHER = ("one-card poker, perturbed", "goofspiel, 4 cards, perturbed")
SOME = ("cfr", "cfr+", *YOUNGER, "dcfr simultaneous", "pcfr+ simultaneous")


@pytest.mark.parametrize("floor", [0.05, fading], ids=["number", "function"])
@pytest.mark.parametrize("variant", SOME)
@pytest.mark.parametrize(
    "name", ["kuhn, 4 cards", pytest.param("kuhn, 3 players, perturbed", marks=pytest.mark.full)]
)
def test_equal_to_the_twin(name: str, variant: str, floor: Floor) -> None:
    check_random(GAMES[name](), floored(VARIANTS[variant], floor))


@pytest.mark.parametrize("variant", ["cfr", "pdcfr+"])
@pytest.mark.parametrize("name", tiered(OTHER, fast=OTHER[:1]))
def test_other_games(name: str, variant: str) -> None:
    check_random(GAMES[name](), floored(VARIANTS[variant], 0.1))


@pytest.mark.parametrize("variant", ["dcfr", "pcfr+"])
def test_a_floor_that_falls(variant: str) -> None:
    """Iteration t plays with the floor e / t^f."""
    algorithm, options = floored(VARIANTS[variant], lambda t: 0.3 / t**1.5)
    check_random(GAMES["kuhn, 4 cards"](), (algorithm(floor=0.3, floor_fall=1.5), options))


def test_last_iterate() -> None:
    check_last_iterate(floored(VARIANTS["cfr"], fading))


@pytest.mark.parametrize("record", [CFR, HEDGE(eta=50)])
def test_every_action_has_its_share(record: Algorithm) -> None:
    game = compile_game("nl_leduc(stack=3)") if record is CFR else compile_game("kuhn")
    solver = Solver(game, record(floor=0.2))
    for _ in range(5):
        solver.iterate()
        current = solver.current_policy()
        for probabilities in current.values():
            assert min(probabilities.values()) >= 0.2 / len(probabilities) - 1e-15
            assert sum(probabilities.values()) == pytest.approx(1, abs=1e-12)


def test_no_floor_is_the_same_bits() -> None:
    game = compile_game("kuhn")
    plain, zero = solve(game, "dcfr", iters=50), solve(game, ALGORITHMS["dcfr"](floor=0), iters=50)
    np.testing.assert_array_equal(plain.policy.probabilities, zero.policy.probabilities)


def test_free_actions_of_a_lock_have_a_floor_of_their_own() -> None:
    game = compile_game("nl_leduc(stack=4)")
    label, actions = next(
        (label, actions)
        for label, actions in zip(game.infoset_labels, game.infoset_actions, strict=True)
        if len(actions) > 2
    )
    solver = Solver(game, CFR(floor=0.5), locks={label: {actions[0]: 0.6}})
    solver.iterate(5)
    played = solver.current_policy()[label]
    assert played.pop(actions[0]) == 0.6
    assert min(played.values()) >= 0.5 * 0.4 / len(played) - 1e-15
    assert sum(played.values()) == pytest.approx(0.4, abs=1e-12)


def test_threads() -> None:
    game = compile_game("leduc")
    record = CFR(floor=fading)
    one, two = solve(game, record, iters=9), solve(game, record, iters=9, threads=2)
    np.testing.assert_array_equal(one.policy.probabilities, two.policy.probabilities)


def test_round_trip(registry: None, tmp_path: Any) -> None:
    game = compile_game("kuhn")
    record = CFR(floor=0.125)
    assert from_dict(record.to_dict()) == record
    assert str(record) == "cfr(average_power=0, alternating, floor=0.125)"
    whole = solve(game, record, iters=20)
    part = Solution.load(solve(game, record, iters=5).save(tmp_path / "part"))
    rest = solve(part.game, start=part, iters=15)
    np.testing.assert_array_equal(whole.policy.probabilities, rest.policy.probabilities)
    falling = CFR(floor=0.125, floor_fall=0.5)
    assert from_dict(falling.to_dict()) == falling
    assert str(falling) == "cfr(average_power=0, alternating, floor=0.125, floor_fall=0.5)"
    with pytest.raises(ValueError, match="floor of cfr is a function"):
        CFR(floor=fading).to_dict()
    mine = Algorithm("fading floor", CFR.rule, "", "", floor=fading)
    register(mine)
    assert from_dict(mine.to_dict()) == mine


def test_refusals() -> None:
    with pytest.raises(ValueError, match="floor_fall needs a floor that is a number"):
        CFR(floor=fading, floor_fall=1)
    with pytest.raises(ValueError, match="floor_fall must be a number >= 0, not -1"):
        CFR(floor=0.1, floor_fall=-1)
    assert "no theorem" in CFR(floor=0.1, floor_fall=1).guarantee(zero_sum=True).lower()
    with pytest.raises(ValueError, match="floor must be a probability from 0 to 1, not 2"):
        CFR(floor=2)
    with pytest.raises(ValueError, match="floor is not always from 0 to 1"):
        solve(compile_game("kuhn"), CFR(floor=lambda t: t), iters=2)
    with pytest.raises(ValueError, match="its strategy has a floor"):
        find_algorithm("external_sampling")(variant=CFR(floor=0.1))
