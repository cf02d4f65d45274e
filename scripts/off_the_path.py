"""Regrets given that an infoset is reached, with and without a falling floor, and of mirror descent
at every infoset: the table of docs/results/off-the-path.md.

python -m scripts.off_the_path      some minutes
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks._common import progress, table
from tensorcfr import compile_game, solve
from tensorcfr.algorithms import DCFR, MMD_AGENT, Record
from tensorcfr.analysis import conditional_regrets
from tensorcfr.games.holdem import Holdem
from tensorcfr.solvers.choose import CARDS_ALGORITHM

from ._pages import page_with
from .spots import SPOTS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "results" / "off-the-path.md"
FALLING = {"floor": 0.1, "floor_fall": 0.5, "average_power": 4}
GAMES: dict[str, tuple[Any, float, Record, tuple[int, ...]]] = {
    "Leduc": ("leduc", 2.0, DCFR, (250, 1000, 5000)),
    "liar's dice": ("liars_dice", 2.0, DCFR, (140, 1000, 5000)),
    "river": (SPOTS["choose"]["river"], 200.0, CARDS_ALGORITHM, (140, 1000, 5000)),
    "turn": (SPOTS["choose"]["turn"], 200.0, CARDS_ALGORITHM, (140, 500, 2000)),
}
"""Rules, pot (in liar's dice what is won and lost), algorithm, iterations.  The first number of
iterations is about 1.3 times those in which the algorithm takes exploitability to 0.1 % of the
pot."""


def main() -> None:
    """Measure, and write the page."""
    rows = []
    for name, (rules, pot, record, marks) in GAMES.items():
        game = compile_game(Holdem(**rules) if isinstance(rules, dict) else rules)
        ways = {"none": record, "falls": record(**FALLING), "`mmd-agent`": MMD_AGENT}
        for way, algorithm in ways.items():
            whole, done, solution = game.flat() if algorithm is MMD_AGENT else game, 0, None
            for mark in marks:
                begun = {"algorithm": algorithm} if solution is None else {"start": solution}
                solution = solve(whole, iters=mark - done, **begun)
                done = mark
                found = conditional_regrets(whole, solution.policy)
                led_to, every = found.by_mistakes, found.everywhere
                figures = solution.exploitability, led_to.largest, every.largest, every.mean
                shares = [f"{100 * figure / pot:.3g}" for figure in figures]
                rows.append([name, way, f"{mark:,}", *shares])
                progress(" ".join(rows[-1]))
    header = ["game", "floor", "iterations", "exploitability", "largest, own reach from 0.01"]
    text = table([*header, "largest", "mean"], rows)
    PAGE.write_text(page_with(PAGE.read_text(), "off_the_path", {"regrets": text}))


if __name__ == "__main__":
    main()
