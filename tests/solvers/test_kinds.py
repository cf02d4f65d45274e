"""The one door to the solvers."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tensorcfr import compile_game, team_game
from tensorcfr.algorithms import ALGORITHMS, CFR, CFR_D, EFCE, EXTERNAL_SAMPLING, LP, Record
from tensorcfr.solvers.base import IterativeSolver, solver_class, solver_for
from tensorcfr.uncompiled.uncompiled_game import UncompiledGame

OUTER = (
    "cluster",
    "deep",
    "subgames",
    "viewer",
    "cli",
    "refinements",
    "solvers.correlated_solver",
    "solvers.gap_solver",
    "solvers.root_infoset_solver",
)
"""Packages and modules that a solve does without."""


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_named_solver_is_there(name: str) -> None:
    record = ALGORITHMS[name]
    assert record.is_exact != bool(record.solvers)
    for layout in record.solvers:
        kind = solver_for(record, layout)
        assert issubclass(kind, IterativeSolver)
        assert isinstance(record, kind.records)


@pytest.mark.parametrize(
    ("record", "layout", "expected"),
    [
        (CFR, "flat", "Solver"),
        (CFR, "tied", "ImperfectRecallSolver"),
        (CFR, "chunks", "Solver"),
        (CFR, "teams", "TeamSolver"),
        (CFR, "rules", None),
        (EXTERNAL_SAMPLING, "chunks", "SampledSolver"),
        (EXTERNAL_SAMPLING, "rules", "SampledSolver"),
        (EXTERNAL_SAMPLING, "teams", None),
        (CFR_D, "chunks", "DecomposedSolver"),
        (EFCE, "flat", "CorrelatedSolver"),
        (LP, "flat", None),
    ],
    ids=str,
)
def test_the_solver_of_a_layout(record: Record, layout: str, expected: str | None) -> None:
    game = {
        "flat": lambda: compile_game("kuhn"),
        "tied": lambda: replace(
            compile_game("kuhn"), strategy_class=np.arange(12, dtype=np.uint32)
        ),
        "chunks": lambda: compile_game("kuhn", cut=1),
        "teams": lambda: team_game(compile_game("kuhn(players=3)"), ((0, 1), (2,))),
        "rules": lambda: UncompiledGame("kuhn"),
    }[layout]()
    assert layout == game.layout  # type: ignore[attr-defined]
    assert game.is_flat == (layout in ("flat", "tied", "teams"))  # type: ignore[attr-defined]
    assert game.is_compiled == (layout != "rules")  # type: ignore[attr-defined]
    assert game.has_imperfect_recall == (layout == "tied")  # type: ignore[attr-defined]
    kind = solver_class(record, game)  # type: ignore[arg-type]
    assert (kind and kind.__name__) == expected


def test_a_solve_imports_no_other_solver() -> None:
    code = (
        "import sys, tensorcfr; tensorcfr.solve(tensorcfr.compile_game('kuhn'), iters=1); "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {f"tensorcfr.{name}" for name in OUTER} & {*done.stdout.split()}
