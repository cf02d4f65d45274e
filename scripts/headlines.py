"""Write the headlines of README.md.

    python -m scripts.headlines           write them again
    python -m scripts.headlines measure   measure Rhode Island hold'em first

A line for each kind of reader: Leduc poker next to OpenSpiel (``benchmarks/compare.py``), Rhode
Island hold'em, a flop next to postflop-solver (``scripts/preset.py``), and an endgame next to a
published time (``benchmarks/field.py``).
"""

from __future__ import annotations

from benchmarks import field
from benchmarks._common import table
from tensorcfr import compile_game, solve

from ._pages import RESULTS, ROOT, arguments, origin, read_json, write_json, write_parts

README = ROOT / "README.md"
ISLAND = 0.01
"""Exploitability in chips up to which Rhode Island hold'em is timed."""
MEASURED = RESULTS / "rhode_island.json"
REPEATS = 3


def leduc() -> list[str]:
    """Return the row of an iteration of CFR, measured in one run with OpenSpiel."""
    found = read_json(RESULTS / "speed.json")
    tools = found["games"]["leduc"]["tools"]
    here, there = tools["tensorcfr"]["seconds"], tools["OpenSpiel"]["seconds"]
    ratio = float(f"{tools['OpenSpiel']['ratio']:.3g}")  # As on the page, which has three digits.
    return [
        "[Leduc poker](docs/results/speed.md), an iteration of CFR, one core",
        f"{here * 1e6:.1f} µs",
        f"OpenSpiel (C++): {there * 1e3:.1f} ms, {ratio:,.0f} times as long",
    ]


def measure() -> None:
    """Solve Rhode Island hold'em several times, and store the median."""
    game = compile_game("rhode_island")
    options = {"precision": "float32", "threads": 1}
    # The first solve compiles the kernels.
    solve(game, iters=2, **options)
    found = [solve(game, target=ISLAND, **options) for _ in range(REPEATS)]
    median = sorted(found, key=lambda solution: solution.seconds)[REPEATS // 2]
    row = {"seconds": median.seconds, "iterations": median.iterations}
    write_json(MEASURED, row | options | {"algorithm": str(median.algorithm)} | origin())


def rhode_island() -> list[str]:
    """Return the row of the seconds of iterating to a small exploitability."""
    return [
        "[Rhode Island hold'em](docs/results/large-games.md), to an exploitability of "
        f"{ISLAND:g} chips, one core",
        f"{read_json(MEASURED)['seconds']:.1f} s",
        "",
    ]


def preset() -> list[str]:
    """Return the row of the flop that solvers are compared on; whole processes are timed."""
    runs = read_json(RESULTS / "preset.json")["runs"]
    here, there = (
        runs[f"{name}; float32; 2"]["in all"] for name in ("tensorcfr", "postflop-solver")
    )
    return [
        "[PioSOLVER's free preset](docs/results/spots.md#the-preset-that-solvers-are-compared-on), "
        "a flop, to 0.1 % of the pot, two cores",
        f"{here:.0f} s",
        f"postflop-solver (Rust): {there:.0f} s",
    ]


def endgame() -> list[str]:
    """Return the row of an iteration of a public endgame, next to a published number."""
    here = read_json(RESULTS / "field.json")["rows"]["endgame_4"]["one"]["cpu"]
    there = field.ROWS["endgame_4"].published[0].seconds
    return [
        "[Libratus' endgame 4](docs/results/field.md), a river of 36 million histories, an "
        "iteration, one core",
        f"{here * 1e3:.2g} ms",
        f"published, an A100: {there * 1e3:.3g} ms",
    ]


def headlines() -> str:
    """Return the table."""
    rows = [leduc(), rhode_island(), preset(), endgame()]
    return table(["", "tensorcfr", "another program"], rows)


def main() -> None:
    """Write README.md."""
    parser = arguments(__doc__)
    parser.add_argument("do", nargs="?", choices=["measure"])
    if parser.parse_args().do:
        measure()
    write_parts(README, "headlines", {"headlines": headlines()})


if __name__ == "__main__":
    main()
