"""Cost of each variant's iteration, as a multiple of an iteration of CFR+.

``python -m benchmarks.tax``: all variants take turns, many times over, and the clock counts CPU
seconds, so that other programs on the machine slow all of them equally.  The printed number is
the median over the turns of the ratio to the CFR+ of the same turn.
"""

from __future__ import annotations

import argparse
import statistics
import time

from tensorcfr import ALGORITHMS, Algorithm, LocalRule, Solver, compile_game
from tensorcfr.algorithms import CFR

GAMES = {"kuhn": 4000, "leduc": 500, "goofspiel(cards=5)": 100, "liars_dice": 12}
"""Games, and iterations per turn."""


def fading(regret, instant, parameters):
    regret = max(parameters[0] * regret + instant, 0.0)
    return regret, regret


OWN = Algorithm(
    "a rule of one's own",
    LocalRule("fading", fading, at=lambda t: (1 - 1 / (4 * t),)),
    formula="R <- [(1 - 1/(4 t)) R + r]+; average weighted by t^2",
    source="docs/your-own-algorithm.md",
    average_power=2.0,
)


def variants() -> dict[str, Algorithm]:
    """Return the variants that pass over the whole game, CFR+ first."""
    found = {name: record for name, record in ALGORITHMS.items() if isinstance(record, Algorithm)}
    own = {OWN.name: OWN, "cfr(floor=0.1)": CFR(floor=0.1)}
    return {"cfr+": found.pop("cfr+")} | found | own


def multiples(
    game: str, iterations: int, turns: int, *, same_arrays: bool
) -> tuple[float, dict[str, float]]:
    """Return the seconds of a CFR+ iteration, and every variant as a multiple of it."""
    compiled = compile_game(game)
    if same_arrays:
        compiled = compiled.without_merging()
    solvers = {name: Solver(compiled, record) for name, record in variants().items()}
    for solver in solvers.values():
        solver.iterate(iterations)
    taken: dict[str, list[float]] = {name: [] for name in solvers}
    for _ in range(turns):
        for name, solver in solvers.items():
            started = time.process_time()
            solver.iterate(iterations)
            taken[name].append(time.process_time() - started)
    ratios = {
        name: statistics.median(s / c for s, c in zip(own, taken["cfr+"], strict=True))
        for name, own in taken.items()
    }
    return min(taken["cfr+"]) / iterations, ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument(
        "--same-arrays",
        action="store_true",
        help="merge no symmetric infosets, also for the variants that could",
    )
    options = parser.parse_args()
    table = {
        game: multiples(game, count, options.turns, same_arrays=options.same_arrays)
        for game, count in GAMES.items()
    }
    print(f"| variant | {' | '.join(table)} |")
    print(f"| --- |{' ---: |' * len(table)}")
    for name in variants():
        row = {game: ratios[name] for game, (_, ratios) in table.items()}
        print(f"| {name} | {' | '.join(f'{ratio:.2f}' for ratio in row.values())} |")
    each = " | ".join(f"{seconds * 1e6:.3g}" for seconds, _ in table.values())
    print(f"| cfr+, microseconds | {each} |")


if __name__ == "__main__":
    main()
