"""Costs of an iteration, an evaluation and a solve, next to other programs.

``pytest benchmarks --benchmark-only``; the clock counts CPU seconds.  All tools run the same
number of iterations per call, which the group names.
"""

from __future__ import annotations

import time

import pytest

from ._common import CONTESTS, TOOLS, TensorCFR, available

pytestmark = pytest.mark.benchmark(timer=time.process_time)
TARGETS = {"kuhn": 1e-3, "leduc": 1e-2}
"""Exploitabilities that every tool reaches within a second or two."""


def _need(tool: str) -> None:
    """Skip where a tool is not installed: before the clock starts, as a benchmark that is skipped
    during its rounds has no figures, and the report of all others fails."""
    if not available(tool):
        pytest.skip(f"{tool} is not installed")


def _make(tool: str, contest: str, algorithm: str):
    return TOOLS[tool](CONTESTS[contest], algorithm)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("contest", CONTESTS)
def test_iteration(benchmark, contest, tool):
    """Time CFR iterations with averaging, float64, one core, after compilation."""
    _need(tool)
    iterations = CONTESTS[contest].iterations
    benchmark.group = f"{contest}: {iterations} CFR iterations"
    runner = _make(tool, contest, "cfr")
    benchmark.pedantic(runner.iterate, args=(iterations,), rounds=5, warmup_rounds=1)
    if not benchmark.disabled:
        benchmark.extra_info["seconds_per_iteration"] = benchmark.stats["median"] / iterations


@pytest.mark.parametrize("contest", CONTESTS)
def test_evaluation(benchmark, contest):
    """Time the exploitability of the average strategy, which takes about one iteration."""
    benchmark.group = f"{contest}: one evaluation"
    runner = TensorCFR(CONTESTS[contest], "cfr")
    runner.iterate(10)
    assert benchmark(runner.exploitability) > 0


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool != "LiteEFG alternating"])
@pytest.mark.parametrize("contest", TARGETS)
def test_time_to_target(benchmark, contest, tool):
    """Time CFR+ until it reaches the target, evaluations at the same iterations included."""
    _need(tool)
    benchmark.group = f"{contest}: CFR+ to exploitability {TARGETS[contest]:g}"

    def set_up():
        return (_make(tool, contest, "cfr+"),), {}

    def run(runner):
        iterations = step = 1
        runner.iterate(step)
        while runner.exploitability() > TARGETS[contest]:
            step = max(1, iterations // 4)
            runner.iterate(step)
            iterations += step
        return iterations

    benchmark.extra_info["iterations"] = benchmark.pedantic(run, setup=set_up, rounds=3)
