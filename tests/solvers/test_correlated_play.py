"""Joint play towards extensive-form correlated equilibria: the slow twin, gaps, files."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.test_correlation import Signalling, signals
from support.equality import as_game, bits, perturbed
from support.random_games import random_game
from support.reference import build_tree
from support.slow_triggers import SlowTriggers
from support.tiers import tiered
from tensorcfr import MemoryLimitError, Solution, compile_game, exploitability, solve
from tensorcfr.algorithms import EFCCE, EFCE, Correlated
from tensorcfr.evaluation import correlation_gap
from tensorcfr.solvers import correlated_solver

TWINS: dict[str, Any] = {
    "kuhn": lambda: perturbed("kuhn"),
    "kuhn, 3 players": lambda: perturbed("kuhn(players=3)", seed=3),
    "goofspiel": lambda: perturbed("goofspiel(cards=3)", seed=1),
    "signalling": Signalling,
    **{
        f"random {seed}": lambda seed=seed: random_game(
            seed, n_players=2 + seed % 2, max_actions=3, max_histories=120
        )
        for seed in range(12)
    },
}


@pytest.mark.parametrize("kind", ["efcce", "efce"])
@pytest.mark.parametrize("name", tiered(list(TWINS), ["random 3"]))
def test_equals_the_slow_one(name: str, kind: str) -> None:
    """The strategies of all of 30 iterations, to 1e-12."""
    rules = TWINS[name]()
    game, twin = compile_game(rules), SlowTriggers(build_tree(as_game(rules)), sees=kind == "efce")
    first = solve(game, kind, iters=10, checkpoints=())
    solution = solve(game, start=first, iters=20, checkpoints=())
    for _ in range(30):
        twin.iterate()
    for (_, played), expected in zip(solution.joint_play, twin.played, strict=True):
        for label in game.infoset_labels:
            own = list(played[label].values())
            np.testing.assert_allclose(own, expected[label], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["efcce", "efce"])
@pytest.mark.parametrize(
    "name", tiered(["kuhn(players=3)", "goofspiel(cards=3)", "leduc(ranks=2)"], ["kuhn(players=3)"])
)
def test_the_gap_falls(name: str, kind: str) -> None:
    """By 4 from 25 to 400 iterations, as 1 / sqrt(T) or faster; it is that of the joint play."""
    game = compile_game(name)
    solution = solve(game, kind, iters=400, checkpoints=[25, 400])
    early, late = (point.nash_conv for point in solution.trace)
    assert 0.0 <= late <= early / 4
    found = correlation_gap(game, solution.joint_play, kind)
    assert found.distance == pytest.approx(late, abs=1e-12)
    assert found.values == pytest.approx(solution.value, abs=1e-12)


@pytest.mark.full
def test_averages_of_correlated_play_are_equilibria_of_zero_sum_games() -> None:
    game = compile_game("kuhn")
    solution = solve(game, "efce", iters=3000)
    assert exploitability(game, solution.policy) <= solution.nash_conv / 2 + 1e-12
    assert "converges to a Nash equilibrium" in solution.guarantee
    other = solve(compile_game("kuhn(players=3)"), "efcce", iters=1)
    assert "need not come near any equilibrium" in other.guarantee
    assert "extensive-form coarse correlated equilibria" in other.guarantee


@pytest.mark.full
def test_signalling_by_a_linear_program() -> None:
    """Von Stengel and Forges 2008, section 2.3: 3.5 and 6.5, which is the most that the professor
    gets in an extensive-form correlated equilibrium; the dynamics end near that set."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    game = compile_game(Signalling())
    profiles = [
        signals(good, bad, accepted)
        for good, bad, accepted in product("XY", "XY", ["", "X", "Y", "XY"])
    ]
    rows, limits = [], []
    # A trigger of the student is a type and a signal; of the professor a signal and an answer.
    for label, actions in (("G", "XY"), ("B", "XY"), ("X", "lr"), ("Y", "lr")):
        for told, done in product(actions, actions):
            gain = []
            for profile in profiles:
                recommended = profile[label][told]
                away = {**profile, label: {a: float(a == done) for a in actions}}
                player = 0 if label in "GB" else 1
                gain.append(recommended * (utilities(away)[player] - utilities(profile)[player]))
            rows.append(gain)
            limits.append(0.0)
    values = np.array([utilities(profile) for profile in profiles])
    best = linprog(
        -values[:, 1], A_ub=rows, b_ub=limits, A_eq=np.ones((1, len(profiles))), b_eq=[1.0]
    )
    assert -best.fun == pytest.approx(6.5, abs=1e-9)
    assert best.x @ values == pytest.approx([3.5, 6.5], abs=1e-9)
    plan = [(p / best.x.sum(), one) for p, one in zip(best.x.clip(0), profiles, strict=True)]
    assert correlation_gap(game, plan, "efce").distance == pytest.approx(0.0, abs=1e-9)
    solution = solve(game, "efce", iters=400)
    assert solution.nash_conv <= 0.1
    assert solution.value[1] <= 6.5 + 10 * solution.nash_conv


def utilities(profile: Any) -> tuple[float, float]:
    """Both players' expected utilities in the signalling game."""
    total = [0.0, 0.0]
    for kind, paid in (("G", (4, 10)), ("B", (6, 0))):
        for signal, sent in profile[kind].items():
            for answer, said in profile[signal].items():
                for player, u in enumerate(paid if answer == "l" else (0, 6)):
                    total[player] += 0.5 * sent * said * u
    return total[0], total[1]


class TestKept:
    def test_resumes_to_the_same_bits(self, tmp_path: Path) -> None:
        game = compile_game("kuhn")
        whole = solve(game, "efce", iters=50)
        part = solve(game, "efce", iters=20)
        read = Solution.load(part.save(tmp_path / "part"))
        assert read.algorithm == EFCE
        for start in (part, read):
            again = solve(game, start=start, iters=30)
            assert bits(again.state) == bits(whole.state)
            assert again.evaluation.best_responses == pytest.approx(
                whole.evaluation.best_responses, abs=1e-15
            )
        weights = [weight for weight, _ in whole.joint_play]
        assert len(weights) == 50
        assert math.fsum(weights) == pytest.approx(1.0, abs=1e-15)

    def test_refusals(self) -> None:
        game = compile_game("kuhn")
        with pytest.raises(ValueError, match="lp keeps no strategies of single iterations"):
            _ = solve(game, "lp").joint_play
        with pytest.raises(MemoryLimitError, match=r"efce on kuhn \(\d+ sequences\) for [\d,]+"):
            solve(game, "efce", iters=1_000_000, memory_limit=10**6, checkpoints=10**6)
        with pytest.raises(ValueError, match="mine: kind must be one of"):
            Correlated("mine", "ce", "", "")


@pytest.mark.parametrize("kind", [EFCCE, EFCE], ids=str)
@pytest.mark.parametrize("name", list(TWINS))
def test_triggers_are_counted_before_they_are_listed(name: str, kind: Correlated) -> None:
    rules = as_game(TWINS[name]())
    slow = SlowTriggers(tree := build_tree(rules), sees=kind is EFCE)
    n_actions = {label: len(infoset.actions) for label, infoset in tree.infosets.items()}
    counts, regrets = correlated_solver.count_triggers(game := compile_game(rules), kind)
    slow_counts = {label: len(slow.triggers(label)) for label in n_actions}
    assert dict(zip(game.infoset_labels, counts.tolist(), strict=True)) == slow_counts
    swaps = sum(n**2 for n in n_actions.values()) if slow.sees else 0
    assert regrets == swaps + sum(n_actions[label] * n for label, n in slow_counts.items())
    triggers = correlated_solver.triggers_of(game, kind)
    assert np.diff(triggers.first).tolist() == counts.tolist()
    assert triggers.swap[-1] == regrets


def test_a_large_game_is_refused_before_triggers_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = compile_game("liars_dice")
    monkeypatch.setattr(correlated_solver, "triggers_of", None)
    said = r"efce on liars_dice \([\d,]+ sequences\) needs at least 9.0 GiB, the limit is 1.0 MiB"
    with pytest.raises(MemoryLimitError, match=said):
        solve(game, "efce", iters=2, memory_limit="1MiB")


@pytest.mark.parametrize("checkpoints", [[7, 150], "geometric", 1, 10], ids=str)
@pytest.mark.parametrize("name", ["efce", "efcce"])
def test_evaluations_in_between_change_no_bit(name: str, checkpoints: Any) -> None:
    """Nor does going on from a solution."""
    game = compile_game("kuhn")
    alone = solve(game, name, iters=150, checkpoints=[150])
    other = solve(game, name, iters=150, checkpoints=checkpoints)
    resumed = solve(game, start=solve(game, name, iters=37), iters=113)
    assert alone.evaluation == other.evaluation == resumed.evaluation
