"""How much a blueprint can be exploited after its subgames were solved again: by gadget, and by the
equilibrium of the gadget that an algorithm finds; the table of docs/subgames.md.

    python -m scripts.gadgets measure      docs/figures/gadgets.csv, in some minutes
    python -m scripts.gadgets page         the table, from that
"""

from __future__ import annotations

import argparse
import csv
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks._common import progress, table
from tensorcfr import compile_game, evaluate, solve
from tensorcfr._util.hardware import versions
from tensorcfr.solvers.choose import DEFAULT_ALGORITHM
from tensorcfr.subgames import resolve, subgame_roots

from ._pages import page_with

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, ROWS = DOCS / "subgames.md", DOCS / "figures" / "gadgets.csv"
GAMES = ("leduc", "leduc(ranks=5)")
BLUEPRINTS = {"cfr, 20": ("cfr", 20), "cfr, 100": ("cfr", 100), "cfr+, 20": ("cfr+", 20)}
METHODS = ("unsafe", "resolve", "maxmargin", "reach-maxmargin")
ALGORITHMS: dict[str, Any] = {
    "linear program": "lp",
    "default": DEFAULT_ALGORITHM,
    "floor 0.1 / t": DEFAULT_ALGORITHM(floor=0.1, floor_fall=1),
    "floor 0.1 / sqrt(t)": DEFAULT_ALGORITHM(floor=0.1, floor_fall=0.5),
    "floor 0.01": DEFAULT_ALGORITHM(floor=0.01),
}
ITERATIONS = 1000


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "page"))
    if parser.parse_args().what == "page":
        PAGE.write_text(page_with(PAGE.read_text(), "gadgets", {"gadgets": gadgets_table()}))
        return
    rows = [row for name in GAMES for row in measure(name)]
    with ROWS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def measure(name: str) -> list[dict[str, Any]]:
    """The rows of a game."""
    game = compile_game(name)
    roots, rows = subgame_roots(game), []
    given = {what: solve(game, by, iters=n) for what, (by, n) in BLUEPRINTS.items()}
    for what, blueprint in (given | {"equilibrium": solve(game, "lp")}).items():
        for method in METHODS:
            row = {"game": name, "blueprint": what, "before": blueprint.exploitability}
            row["method"] = method
            for how, algorithm in ALGORITHMS.items():
                options = {} if algorithm == "lp" else {"iters": ITERATIONS}
                found = resolve(
                    game, blueprint, roots, method=method, algorithm=algorithm, **options
                )
                row[how] = evaluate(game, found.policy).exploitability
            rows.append(row | {"versions": versions(), "date": date.today()})
            progress(" ".join(map(str, rows[-1].values())))
    return rows


def gadgets_table() -> str:
    """The table of the page."""
    with ROWS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    body, by_floor = [], list(ALGORITHMS)[1:-1]
    for k in range(0, len(rows), len(METHODS)):
        of_methods = {row["method"]: row for row in rows[k : k + len(METHODS)]}
        own = of_methods["resolve"]
        numbers = [own["before"], *(own[how] for how in by_floor)]
        numbers += [of_methods[method]["default"] for method in METHODS if method != "resolve"]
        shown = (f"{0.0 if float(n) < 1e-9 else float(n):.2g}" for n in numbers)
        body.append([f"{own['game']}: {own['blueprint']}", *shown])
    columns = ["blueprint", "before", "`resolve`", *by_floor[1:]]
    columns += [f"`{method}`" for method in METHODS if method != "resolve"]
    return f"{table(columns, body)}\n\n{rows[-1]['versions']}; {rows[-1]['date']}."


if __name__ == "__main__":
    main()
