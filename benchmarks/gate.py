"""A gate against slow iterations: fails when one takes 30 % longer than the committed baseline.

    python -m benchmarks.gate              compare with benchmarks/results/gate.json
    python -m benchmarks.gate --write      measure the baseline anew

Machines differ, so the figures are ratios: the processor time of an iteration over that of a
calibration kernel, which passes over arrays of the first cache level.  Rounds of both alternate,
and the median of their ratios counts.  A machine of another kind, or a busy one, may shift single
ratios by a fifth; measure the baseline there before a change, and compare after it.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from scripts._pages import arguments, origin, read_json, write_json
from tensorcfr import SampledSolver, Solver, compile_game

from ._common import RESULTS

BASELINE = RESULTS / "gate.json"
MOST = 1.3
"""An iteration may take so many times as long as in the baseline."""
ROUNDS = 15
CASES: dict[str, tuple[str, str, int]] = {
    "kuhn, cfr+": ("kuhn", "cfr+", 20_000),
    "leduc, cfr+": ("leduc", "cfr+", 2_000),
    "leduc, pcfr+": ("leduc", "pcfr+", 2_000),
    "goofspiel 5, cfr+": ("goofspiel(cards=5)", "cfr+", 400),
    "liar's dice, dcfr": ("liars_dice", "dcfr", 80),
    "kuhn, external sampling": ("kuhn", "external_sampling", 20_000),
    "leduc, chance sampling": ("leduc", "chance_sampling", 2_000),
}
"""Game, algorithm, iterations of a round."""


@numba.njit  # type: ignore[untyped-decorator]
def _calibrate(a: np.ndarray, b: np.ndarray, passes: int) -> float:
    """Compute dependent additions, divisions and vector loops, in the first cache level."""
    total = 0.0
    for _ in range(passes):
        for k in range(len(a)):
            a[k] = a[k] * 0.999 + b[k]
        for k in range(0, len(a), 8):
            total += 1.0 / (1.0 + a[k] * a[k])
    return total


def _seconds(work: Callable[..., Any], *given: Any) -> float:
    begin = time.process_time()
    work(*given)
    return time.process_time() - begin


def measure() -> dict[str, float]:
    """Return each case as a ratio: an iteration over one pass of the calibration kernel."""
    a, b, passes = np.ones(1024), np.full(1024, 1e-3), 20_000
    _calibrate(a, b, 1)
    found = {}
    for name, (spec, algorithm, iterations) in CASES.items():
        game = compile_game(spec)
        sampled = algorithm.endswith("sampling")
        solver = SampledSolver(game, algorithm, seed=0) if sampled else Solver(game, algorithm)
        solver.iterate(iterations)
        ratios = []
        for _ in range(ROUNDS):
            unit = _seconds(_calibrate, a, b, passes) / passes
            ratios.append(_seconds(solver.iterate, iterations) / iterations / unit)
        found[name] = statistics.median(ratios)
    return found


def main() -> int:
    """Run the command line; the exit status is 1 if an iteration has become too slow."""
    parser = arguments(__doc__)
    parser.add_argument("--write", action="store_true", help="measure the baseline anew")
    options = parser.parse_args()
    found = measure()
    if options.write:
        write_json(BASELINE, origin() | {"ratios": found})
        print(f"wrote {BASELINE.name}")
        return 0
    baseline = read_json(BASELINE)["ratios"]
    slow = 0
    for name, ratio in found.items():
        times = ratio / baseline[name]
        slow += times > MOST
        mark = "  TOO SLOW" if times > MOST else ""
        print(f"{name:28}{ratio:10.3f}{baseline[name]:10.3f}{times:8.2f}{mark}")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
