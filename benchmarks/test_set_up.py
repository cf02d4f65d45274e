"""Costs before the first iteration: compiling, memory, and the first contact."""

from __future__ import annotations

import time

import pytest

import tensorcfr

from ._common import CONTESTS, available
from .first_contact import IMPORT, SOLVE, _fresh
from .footprint import footprint


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("source", ["built-in", "OpenSpiel"])
@pytest.mark.parametrize("contest", CONTESTS)
def test_compile(benchmark, contest, source):
    """Time from rules to flat arrays; histories per second are in the extra info."""
    benchmark.group = f"{contest}: compile"
    rules: object = CONTESTS[contest].spec
    if source == "OpenSpiel":
        if not available("OpenSpiel"):
            pytest.skip("OpenSpiel is not installed")
        import pyspiel

        rules = pyspiel.load_game(CONTESTS[contest].openspiel)
    game = benchmark.pedantic(tensorcfr.compile_game, args=(rules,), rounds=3, warmup_rounds=1)
    if not benchmark.disabled:
        rate = game.n_histories / benchmark.stats["median"]
        benchmark.extra_info["histories_per_second"] = rate


@pytest.mark.parametrize("tool", ["tensorcfr", "OpenSpiel", "LiteEFG"])
@pytest.mark.parametrize("contest", CONTESTS)
def test_footprint(benchmark, contest, tool):
    """Time a fresh process that sets a solver up; memory is in the extra info."""
    if not available(tool):
        pytest.skip(f"{tool} is not installed")
    benchmark.group = f"{contest}: a process that sets up and runs 3 iterations"
    benchmark.extra_info |= benchmark.pedantic(footprint, args=(contest, tool), rounds=1)


@pytest.mark.parametrize("what", ["interpreter", "import", "leduc"])
def test_first_contact(benchmark, what, tmp_path):
    """Time a fresh process with a warm JIT cache."""
    benchmark.group = "a fresh process"
    code = {"interpreter": "print()", "import": IMPORT, "leduc": SOLVE}[what]
    benchmark.pedantic(_fresh, args=(code, str(tmp_path)), rounds=3, warmup_rounds=1)


def test_jit(benchmark, tmp_path):
    """Time a fresh process with an empty JIT cache."""
    benchmark.group = "a fresh process"
    benchmark.pedantic(_fresh, args=(SOLVE, str(tmp_path)), rounds=1)
