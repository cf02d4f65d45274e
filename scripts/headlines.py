"""Write the headlines of README.md from the results that other scripts measured.

    python -m scripts.headlines

A line for each kind of reader: Leduc poker next to OpenSpiel (``benchmarks/compare.py``), Rhode
Island hold'em (``scripts/large_games.py``), and a flop next to postflop-solver
(``scripts/preset.py``).
"""

from __future__ import annotations

import csv
import json

from benchmarks._common import RESULTS, ROOT, table

from ._pages import page_with

README = ROOT / "README.md"
ISLAND = 0.01
"""Chips: the exploitability to which the time on Rhode Island hold'em is told."""


def leduc() -> list[str]:
    """An iteration of CFR, in one run with OpenSpiel."""
    found = json.loads((RESULTS / "speed.json").read_text("utf-8"))
    tools = found["games"]["leduc"]["tools"]
    here, there = tools["tensorcfr"]["seconds"], tools["OpenSpiel"]["seconds"]
    ratio = float(f"{tools['OpenSpiel']['ratio']:.3g}")  # As on the page, which has three digits.
    return [
        "[Leduc poker](docs/results/speed.md), an iteration of CFR, one core",
        f"{here * 1e6:.1f} µs",
        f"OpenSpiel (C++): {there * 1e3:.1f} ms, {ratio:,.0f} times as long",
    ]


def rhode_island() -> list[str]:
    """Seconds of iterating to a small exploitability."""
    with (ROOT / "docs" / "figures" / "rhode_island.csv").open(encoding="utf-8") as file:
        reached = next(row for row in csv.DictReader(file) if float(row["exploitability"]) < ISLAND)
    return [
        "[Rhode Island hold'em](docs/results/large-games.md), to an exploitability of "
        f"{ISLAND:g} chips, one core",
        f"{float(reached['seconds']):.0f} s",
        "",
    ]


def preset() -> list[str]:
    """The flop that solvers are compared on, processes from start to end."""
    runs = json.loads((RESULTS / "preset.json").read_text("utf-8"))["runs"]
    here, there = (
        runs[f"{name}; float32; 2"]["in all"] for name in ("tensorcfr", "postflop-solver")
    )
    return [
        "[PioSOLVER's free preset](docs/results/spots.md#the-preset-that-solvers-are-compared-on), "
        "a flop, to 0.1 % of the pot, two cores",
        f"{here:.0f} s",
        f"postflop-solver (Rust): {there:.0f} s",
    ]


def headlines() -> str:
    """The table."""
    return table(["", "tensorcfr", "another program"], [leduc(), rhode_island(), preset()])


def main() -> None:
    """Write README.md."""
    page = README.read_text("utf-8")
    README.write_text(page_with(page, "headlines", {"headlines": headlines()}), "utf-8")


if __name__ == "__main__":
    main()
