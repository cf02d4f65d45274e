"""Deep CFR on card games in chunks, evaluated exactly: a part of docs/results/deep-cfr.md.

python -m scripts.deep_cards six_ranks         flop hold'em with six ranks: networks and tables
python -m scripts.deep_cards flop_holdem       flop hold'em: networks, 103 million infosets
python -m scripts.deep_cards page              the tables of both

Each of the first two writes docs/figures/deep_cards_<name>.csv (or one in ``--out``), a row per
evaluation.  Seconds are processor time without evaluations.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks._common import table
from tensorcfr import compile_game
from tensorcfr.algorithms import DEEP_CFR, EXTERNAL_SAMPLING, Record
from tensorcfr.solvers.driver import make_solver
from tensorcfr.solvers.request import SolveRequest

from ._pages import (
    DOCS,
    FIGURES,
    arguments,
    origin,
    origin_of,
    read_rows,
    write_parts,
    write_rows,
)

PAGE = DOCS / "results" / "deep-cfr.md"
BIG_BLIND = {"six_ranks": 10.0, "flop_holdem": 100.0}
GAMES = {"six_ranks": "limit_holdem(rounds=2, ranks='9TJQKA')", "flop_holdem": "flop_holdem"}
DEEP = DEEP_CFR(traversals=1000, updates=200, strategy_updates=1000)
LARGE = DEEP_CFR(traversals=2000, updates=200, buffer=2_000_000, strategy_updates=1000)
Runs = dict[str, tuple[Record | str, tuple[int, ...]]]
"""Name of an algorithm to its record and the iterations at which it is evaluated."""
RUNS: dict[str, Runs] = {
    "six_ranks": {
        "dcfr": ("dcfr", (1, 10, 100)),
        "external sampling": (EXTERNAL_SAMPLING, (10_000, 100_000, 1_000_000, 10_000_000)),
        "deep-cfr": (DEEP, (1, 5, 15)),
    },
    "flop_holdem": {"deep-cfr": (LARGE, (20, 100))},
}
COLUMNS = {
    "iterations": "iterations",
    "nodes_touched": "nodes touched",
    "seconds": "processor seconds",
    "exploitability": "exploitability",
}
"""Columns of a file, and their headings."""


def measure(name: str, path: Path) -> None:
    """Solve a game by each algorithm, and write a row per evaluation as it goes."""
    game, rows = compile_game(GAMES[name]), list[dict[str, Any]]()
    milliblinds = 1000.0 / BIG_BLIND[name]
    for algorithm, (record, marks) in RUNS[name].items():
        request = SolveRequest(game=game, algorithm=record, seed=1 if record != "dcfr" else None)
        solver, spent = make_solver(request), 0.0
        for mark in marks:
            begun = time.process_time()
            solver.iterate(mark - solver.iteration)
            spent += time.process_time() - begun
            exploitability = solver.evaluate().exploitability
            rows.append(
                {
                    "algorithm": algorithm,
                    "iterations": mark,
                    "nodes_touched": solver.nodes_touched,
                    "seconds": round(spent, 1),
                    "exploitability": float(f"{exploitability * milliblinds:.4g}"),
                    **origin(),
                }
            )
            write_rows(path, rows)


def main() -> None:
    """Measure, or write the page."""
    parser = arguments(__doc__)
    parser.add_argument("what", choices=[*RUNS, "page"])
    parser.add_argument("--out", type=Path, help="file in place of the one in docs/figures")
    given = parser.parse_args()
    if given.what != "page":
        measure(given.what, given.out or FIGURES / f"deep_cards_{given.what}.csv")
        return
    write_parts(PAGE, "deep_cards", {name: _table(name) for name in RUNS})


def _table(name: str) -> str:
    """Return the table of a game, in Markdown."""
    rows = read_rows(FIGURES / f"deep_cards_{name}.csv")
    cells = [[row["algorithm"], *(_rounded(float(row[c])) for c in COLUMNS)] for row in rows]
    return f"{table(['', *COLUMNS.values()], cells)}\n\n{origin_of(rows[-1])}."


def _rounded(number: float) -> str:
    """Format a number with three digits, or without decimals if it has more before the point."""
    return f"{number:,.0f}" if number >= 100.0 else f"{number:.3g}"


if __name__ == "__main__":
    main()
