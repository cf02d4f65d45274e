"""Sampled algorithms as records: options, names, what is refused, and the command line."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from support.sampled_solves import EVERYTHING, KUHN, same
from tensorcfr import (
    ALGORITHMS,
    Algorithm,
    LocalRule,
    MemoryLimitError,
    SampledSolver,
    Solution,
    Solver,
    register,
    solve,
)
from tensorcfr.algorithms import (
    AVERAGE_STRATEGY_SAMPLING,
    CFR,
    CFR_PLUS,
    CHANCE_SAMPLING,
    DCFR,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    PUBLIC_CHANCE_SAMPLING,
    ROBUST_SAMPLING,
    Sampling,
    find_algorithm,
    from_dict,
)
from tensorcfr.cli import app as commands


@pytest.mark.parametrize("record", EVERYTHING, ids=str)
def test_records_come_back(record: Any) -> None:
    record = find_algorithm(record)
    assert from_dict(record.to_dict()) == record
    assert pickle.loads(pickle.dumps(record)) == record
    assert record() == record


def test_options_reach_the_variant() -> None:
    record = EXTERNAL_SAMPLING(average_power=2, averaging="optimistic")
    assert record.variant == CFR(average_power=2)
    assert str(record) == (
        "external_sampling(variant=cfr, averaging=optimistic, average_power=2, alternating)"
    )
    assert CHANCE_SAMPLING(variant="cfr+", alternating=False).variant == CFR_PLUS(alternating=False)


def fading(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = 0.9 * regret + instant
    return regret, regret


def capped(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = min(max(regret + instant, -1.0), 1e6)
    return regret, regret


def of_ones_own(name: str, step: Any, **options: Any) -> Algorithm:
    rule = LocalRule(name, step, **options)
    return Algorithm(name, rule, formula="...", source="this test")


def test_a_rule_of_ones_own() -> None:
    record = EXTERNAL_SAMPLING(variant=of_ones_own("capped", capped))
    solution = solve(KUHN, record, iters=500)
    assert solution.state.regret.min() == -1.0


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        ("dcfr", "changes all regrets in every iteration"),
        ("dcfr+", "changes all regrets in every iteration"),
        ("pdcfr+", "in every iteration"),
        ("pcfr+", "depends on the last instantaneous regret"),
        ("hedge", "exponential weights"),
        ("lp", "the variant must be a variant of CFR, not lp"),
        ("external_sampling", "the variant must be a variant of CFR, not external_sampling"),
        ("cfr++", "no algorithm 'cfr\\+\\+'"),
        (of_ones_own("fading", fading), "changes all regrets in every iteration"),
    ],
    ids=str,
)
def test_what_cannot_be_sampled(variant: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        EXTERNAL_SAMPLING(variant=variant)


@pytest.mark.parametrize(
    ("record", "options", "message"),
    [
        (OUTCOME_SAMPLING, {"epsilon": 0}, "epsilon must be above 0 and at most 1, not 0"),
        (OUTCOME_SAMPLING, {"epsilon": 1.5}, "epsilon must be above 0"),
        (OUTCOME_SAMPLING, {"epsilon": float("nan")}, "epsilon must be above 0"),
        (OUTCOME_SAMPLING, {"baseline": -0.1}, "baseline must be a number from 0 to 1, not -0.1"),
        (OUTCOME_SAMPLING, {"averaging": "linear"}, "averaging must be one of simple, stoch"),
        (CHANCE_SAMPLING, {"averaging": "simple"}, "one of stochastic, optimistic, not 'simple'"),
        (CHANCE_SAMPLING, {"prune": 1}, "prune must be True or False, not 1"),
        (CHANCE_SAMPLING, {"draws": "sobol"}, "draws must be one of independent, golden, not"),
        (CHANCE_SAMPLING, {"draws": "golden", "alternating": False}, "needs alternating updates"),
        (PUBLIC_CHANCE_SAMPLING, {"averaging": "simple"}, "one of stochastic, optimistic, not 's"),
        (PUBLIC_CHANCE_SAMPLING, {"variant": "dcfr"}, "cannot sample dcfr: it changes all"),
        (EXTERNAL_SAMPLING, {"alternating": False}, "alternating=False is possible only"),
        (ROBUST_SAMPLING, {"alternating": False}, "alternating=False is possible only"),
        (ROBUST_SAMPLING, {"tries": 0}, "tries must be a whole number >= 1, not 0"),
        (AVERAGE_STRATEGY_SAMPLING, {"bonus": -1}, "bonus must be a number >= 0, not -1"),
    ],
)
def test_bad_options(record: Sampling, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        record(**options)


@pytest.mark.parametrize(
    ("record", "option"),
    [
        *((EXTERNAL_SAMPLING, "epsilon"), (EXTERNAL_SAMPLING, "draws")),
        *((OUTCOME_SAMPLING, "prune"), (CHANCE_SAMPLING, "alpha")),
    ],
)
def test_options_that_are_not_there(record: Sampling, option: str) -> None:
    with pytest.raises(TypeError, match=f"{record.name} has no option '{option}'"):
        record(**{option: 1})


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7", (), (1, -2), [0.5]])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(ValueError, match="a seed is a whole number from 0"):
        solve(KUHN, "external_sampling", iters=1, seed=seed)


def test_refusals() -> None:
    part = solve(KUHN, "external_sampling", iters=1)
    with pytest.raises(ValueError, match="brings its own random numbers"):
        solve(KUHN, start=part, iters=1, seed=1)
    with pytest.raises(ValueError, match="start was solved by external_sampling"):
        solve(KUHN, "outcome_sampling", start=part, iters=1)
    with pytest.raises(ValueError, match="cfr does not sample; use Solver"):
        SampledSolver(KUHN, "cfr")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="external_sampling samples; use SampledSolver"):
        Solver(KUHN, "external_sampling")
    with pytest.raises(MemoryLimitError, match="solving kuhn needs"):
        solve(KUHN, "external_sampling", iters=1, memory_limit=10)
    with pytest.raises(ValueError, match="no algorithm 'external sampling'; did you mean"):
        solve(KUHN, "external sampling", iters=1)
    with pytest.raises(ValueError, match="there is no scheme 'spinning'"):
        Sampling("spinning", "spinning", DCFR, formula="", source="", averaging="simple")


def test_a_name_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = replace(EXTERNAL_SAMPLING(averaging="optimistic"), name="lazy_sampling")
    # Registered by hand first, so that the name goes away with the test.
    monkeypatch.setitem(ALGORITHMS, mine.name, mine)
    register(mine)
    solution = solve(KUHN, "lazy_sampling", iters=5)
    assert Solution.load(solution.save(tmp_path / "lazy")).algorithm == mine
    with pytest.raises(ValueError, match="belongs to a published algorithm"):
        register(replace(mine, name="external_sampling"))
    written = mine.to_dict() | {"scheme": "outcome"}
    with pytest.raises(ValueError, match="was written with the scheme 'outcome'"):
        from_dict(written)


def test_on_the_command_line(tmp_path: Path) -> None:
    def run(*words: str) -> Any:
        return CliRunner().invoke(commands.app, ["solve", *words, "--no-strategy"])

    path = tmp_path / "solution.npz"
    options = ("--algorithm", "outcome_sampling(epsilon=0.5, variant='cfr+')", "--iters", "300")
    result = run("kuhn", *options, "--seed", "4", "--save", str(path))
    assert result.exit_code == 0, result.output
    record = OUTCOME_SAMPLING(epsilon=0.5, variant="cfr+")
    expected = solve(KUHN, record, iters=300, seed=4)
    assert same(Solution.load(path), expected)
    text = " ".join(result.stdout.split())
    assert str(record) in text
    assert f"nodes touched {expected.nodes_touched:,} histories visited" in text
    assert f"{expected.decision_nodes_touched:,} decision nodes among them" in text
    assert run("kuhn", "--seed", "1").stderr.splitlines()[-1] == (
        "tensorcfr: paced-cfr+ draws no random numbers: it takes no seed"
    )
    assert run("kuhn", "--algorithm", "external_sampling", "--simultaneous").exit_code == 2
    assert run("--resume", str(path), "--iters", "1").exit_code == 0


def test_a_damaged_state() -> None:
    solver = SampledSolver(KUHN, "external_sampling")
    state = solver.state
    for damaged, message in (
        (state._replace(regret=state.regret[1:]), "regret is float64"),
        (state._replace(touched=state.touched * 1.0), "touched is float64"),
        (state._replace(strategy=state.strategy * np.nan), "strategy holds a number that is not"),
        (state._replace(generator=state.generator * 0), "generator holds only zeros"),
    ):
        with pytest.raises(ValueError, match=message):
            SampledSolver(KUHN, "external_sampling", state=damaged)
