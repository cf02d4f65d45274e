"""Every row of the tables of refusals: an option without the capability that it needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorcfr import compile_game, solve
from tensorcfr.errors import CutError
from tensorcfr.solvers.request import REFUSALS, UNCOMPILED_REFUSALS, SolveRequest
from tensorcfr.uncompiled.uncompiled_game import UncompiledGame

KUHN, RULES = compile_game("kuhn"), UncompiledGame("kuhn")
TIED = replace(KUHN, strategy_class=np.arange(12, dtype=np.uint32))
BLUFF = {"K": {"bet": 1.0}}
EXAMPLES: dict[tuple[str, str], tuple[Any, str | None, dict[str, Any]]] = {
    ("named algorithm", "seed"): (KUHN, "auto", {"seed": 1}),
    ("samples", "seed"): (KUHN, "cfr", {"seed": 1}),
    ("whole passes", "locks"): (KUHN, "external_sampling", {"locks": BLUFF}),
    ("whole passes", "imperfect recall"): (TIED, "external_sampling", {}),
    ("perfect recall", "warm_start"): (TIED, "cfr", {"warm_start": BLUFF}),
    ("new solve", "warm_start"): (KUHN, "cfr", {"start": "cfr", "warm_start": BLUFF}),
    ("whole passes", "warm_start"): (KUHN, "egt", {"warm_start": BLUFF}),
    ("iterates", "keep_best"): (KUHN, "lp", {"keep_best": True}),
    ("precisions", "precision or threads"): (KUHN, "egt", {"threads": 2}),
    ("separate play", "keep_best"): (KUHN, "efce", {"keep_best": True}),
    ("no samples", "precision or threads"): (KUHN, "external_sampling", {"precision": "float32"}),
    ("chunks", "state_dir"): (KUHN, "cfr", {"state_dir": "arrays"}),
    ("chunks", "cluster"): (KUHN, "cfr", {"cluster": "tcp://host:8786"}),
    ("file", "checkpoint_iterations"): (KUHN, "cfr", {"checkpoint_iterations": 5}),
    ("exactness", "proof"): (compile_game("kuhn(players=3)"), None, {"target": 0}),
    ("iterates", "stop rule"): (KUHN, "lp", {"iters": 5}),
    ("evaluation", "target"): (RULES, "external_sampling", {"target": 0.1}),
    ("evaluation", "keep_best"): (RULES, "external_sampling", {"keep_best": True}),
    ("evaluation", "a curve"): (RULES, "external_sampling", {"needs_curve": True}),
}
"""Game, algorithm and options of a request, of which this row refuses the last."""


@pytest.mark.parametrize("row", [*REFUSALS, *UNCOMPILED_REFUSALS], ids=": ".join)
def test_every_row(row: tuple[str, str]) -> None:
    game, algorithm, options = EXAMPLES[row]
    if "start" in options:
        options = options | {"start": solve(game, options["start"], iters=1)}
    request = SolveRequest(game=game, algorithm=algorithm, **options)
    reason = (REFUSALS | UNCOMPILED_REFUSALS)[row]
    expected = reason.format(algorithm=request.record.name, game=game.name)
    with pytest.raises(CutError if row[0] == "chunks" else ValueError) as raised:
        request.check()
    # A CutError adds its advice to the reason.
    assert str(raised.value).startswith(expected)
    if row != ("whole passes", "imperfect recall"):
        SolveRequest(game=game, algorithm=algorithm, **dict([*options.items()][:-1])).check()
