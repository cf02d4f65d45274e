"""Cost of an iteration of Monte Carlo CFR, and of OpenSpiel's C++ solvers in the same run.

``pytest benchmarks/test_sampling.py --benchmark-only``; the clock counts CPU seconds.  An iteration
traverses once for every player, here and there.  :func:`test_ratio` runs both in turn, round after
round, and is the one to quote: ``pytest benchmarks/test_sampling.py -k ratio -s --benchmark-only``.
"""

from __future__ import annotations

import time

import pytest

from tensorcfr import SampledSolver, compile_game

from ._common import CONTESTS, available, duration, interleaved, ratio

pytestmark = pytest.mark.benchmark(timer=time.process_time)

GAMES = ("kuhn", "leduc", "liars_dice")
GOALS = {"external_sampling": 15.0, "outcome_sampling": 10.0}
"""Goal: the factor by which an iteration is faster than OpenSpiel's."""
PEERS = {
    "external_sampling": "ExternalSamplingMCCFRSolver",
    "outcome_sampling": "OutcomeSamplingMCCFRSolver",
}
ITERATIONS = {"kuhn": 10_000, "leduc": 2_000, "liars_dice": 600}
"""Iterations per call of the benchmark."""
FEWER = {"whole_traversal": 200, "chance_sampling": 10, "public_chance_sampling": 100}
"""Divisors of the numbers of iterations for algorithms that traverse more."""


class Peer:
    """A Monte Carlo solver of OpenSpiel."""

    def __init__(self, game: str, algorithm: str) -> None:
        import pyspiel

        self.solver = getattr(pyspiel, PEERS[algorithm])(
            pyspiel.load_game(CONTESTS[game].openspiel)
        )

    def iterate(self, iterations: int) -> None:
        """Run some iterations."""
        for _ in range(iterations):
            self.solver.run_iteration()


@pytest.mark.parametrize(
    "algorithm",
    [
        "whole_traversal",
        "chance_sampling",
        "public_chance_sampling",
        "external_sampling",
        "outcome_sampling",
    ],
)
@pytest.mark.parametrize("game", GAMES)
def test_iteration(benchmark, game, algorithm):
    """Time iterations after a warm-up, with averaging."""
    iterations = max(1, ITERATIONS[game] // FEWER.get(algorithm, 1))
    benchmark.group = f"{game}: {algorithm}"
    solver = SampledSolver(compile_game(CONTESTS[game].spec), algorithm)
    benchmark.pedantic(solver.iterate, args=(iterations,), rounds=5, warmup_rounds=1)
    if not benchmark.disabled:
        seconds = benchmark.stats["median"] / iterations
        per_iteration = solver.nodes_touched / solver.iteration
        benchmark.extra_info["seconds_per_iteration"] = seconds
        benchmark.extra_info["nodes_touched_per_iteration"] = per_iteration
        benchmark.extra_info["seconds_per_node"] = seconds / per_iteration


@pytest.mark.parametrize("algorithm", PEERS)
@pytest.mark.parametrize("game", GAMES)
def test_peer(benchmark, game, algorithm):
    """Time the same iterations of OpenSpiel."""
    if not available("OpenSpiel"):
        pytest.skip("OpenSpiel is not installed")
    benchmark.group = f"{game}: {algorithm}"
    peer = Peer(game, algorithm)
    iterations = ITERATIONS[game]
    benchmark.pedantic(peer.iterate, args=(iterations,), rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("algorithm", PEERS)
@pytest.mark.parametrize("game", GAMES)
def test_ratio(benchmark, game, algorithm):
    """Time both in turn, so that a disturbance affects both."""
    if not available("OpenSpiel"):
        pytest.skip("OpenSpiel is not installed")
    solver = SampledSolver(compile_game(CONTESTS[game].spec), algorithm)
    peer = Peer(game, algorithm)
    timings = {}

    def contest():
        timings.update(interleaved({"ours": solver.iterate, "theirs": peer.iterate}, rounds=5))

    benchmark.pedantic(contest, rounds=1)
    times = ratio(timings["theirs"], timings["ours"])
    ours, theirs = (duration(timings[name].seconds) for name in ("ours", "theirs"))
    benchmark.extra_info["ratio"] = times
    print(f"\n{game}, {algorithm}: {ours} against {theirs}, {times:.1f} times")
    assert times >= GOALS[algorithm]
