"""Write the headlines of README.md from the results that other scripts measured.

    python -m scripts.headlines

A line for each kind of reader: Leduc poker next to OpenSpiel (``benchmarks/compare.py``), Rhode
Island hold'em (a record in ``docs/figures``), a flop next to postflop-solver
(``scripts/preset.py``), and an endgame next to a published time (``benchmarks/field.py``).
"""

from __future__ import annotations

from benchmarks import field
from benchmarks._common import table

from ._pages import FIGURES, RESULTS, ROOT, read_json, read_rows, write_parts

README = ROOT / "README.md"
ISLAND = 0.01
"""Exploitability in chips up to which Rhode Island hold'em is timed."""


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


def rhode_island() -> list[str]:
    """Return the row of the seconds of iterating to a small exploitability."""
    rows = read_rows(FIGURES / "rhode_island.csv")
    reached = next(row for row in rows if float(row["exploitability"]) < ISLAND)
    return [
        "[Rhode Island hold'em](docs/results/large-games.md), to an exploitability of "
        f"{ISLAND:g} chips, one core",
        f"{float(reached['seconds']):.0f} s",
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
    write_parts(README, "headlines", {"headlines": headlines()})


if __name__ == "__main__":
    main()
