"""Regrets given that an infoset is reached, with and without a falling floor, and of mirror descent
at every infoset: the table of docs/results/off-the-path.md.

    python -m scripts.off_the_path measure [--games NAME ...]    docs/figures/off_the_path.csv
    python -m scripts.off_the_path page                          the table, from that
    python -m scripts.off_the_path settle [--games NAME ...]     from when on ``mmd-agent`` holds

All games take some twelve minutes, and as much to settle, most of it the turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._common import progress, table
from tensorcfr import CompiledGame, compile_game, solve
from tensorcfr.algorithms import DCFR, MMD_AGENT, PACED_CFR_PLUS, Record
from tensorcfr.analysis import Values, values
from tensorcfr.analysis.reached_regrets import regrets_of
from tensorcfr.games.holdem import Holdem
from tensorcfr.refinements.agent_descent import AgentSolver
from tensorcfr.solvers.choose import CARDS_ALGORITHM

from ._pages import DOCS, FIGURES, arguments, origin, read_rows, write_parts, write_rows
from .spots import SPOTS

PAGE, ROWS = DOCS / "results" / "off-the-path.md", FIGURES / "off_the_path.csv"
PACED = PACED_CFR_PLUS(floor=0.1, floor_fall=1)
FALLING = {"floor": 0.1, "floor_fall": 0.5, "average_power": 4}
GAMES: dict[str, tuple[Any, float, Record, tuple[int, ...]]] = {
    "Leduc": ("leduc", 2.0, DCFR, (250, 1000, 5000)),
    "liar's dice": ("liars_dice", 2.0, DCFR, (140, 1000, 5000)),
    "river": (SPOTS["choose"]["river"], 200.0, CARDS_ALGORITHM, (140, 1000, 5000)),
    "turn": (SPOTS["choose"]["turn"], 200.0, CARDS_ALGORITHM, (140, 500, 2000, 5000)),
}
"""Rules, pot (in liar's dice the stake), algorithm, iterations.  The first number of iterations is
about 1.3 times the number after which the exploitability is 0.1 % of the pot."""
ON_PATH = 0.3
"""Own reach from which an infoset is on the path, here, if the others' reach is at least this share
of the largest in the game."""
LINE = 0.001
"""Share of the pot that no conditional regret is to exceed."""
LOOKS = {"Leduc": (100, 6000), "liar's dice": (100, 6000), "river": (100, 6000)}
LOOKS |= {"turn": (500, 10_000)}
"""After how many iterations it is looked at the regrets of ``mmd-agent``, again and again, and the
last one."""
SHARES = {
    "exploitability": "exploitability",
    "on_path": "largest, on the path",
    "led_to": "largest, own reach from 0.01",
    "largest": "largest",
    "mean": "mean",
}
"""Percentages of the pot: columns of the file, and their names on the page."""


def main() -> None:
    """Measure, or write the page."""
    parser = arguments(__doc__)
    parser.add_argument("what", choices=("measure", "page", "settle"))
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES))
    given = parser.parse_args()
    if given.what == "page":
        write_parts(PAGE, "off_the_path", {"regrets": regrets_table()})
        return
    if given.what == "settle":
        for name in given.games:
            settle(name)
        return
    kept = [row for row in read_rows(ROWS) if row["game"] not in given.games]
    for name in given.games:
        kept += measure(name)
        kept.sort(key=lambda row: list(GAMES).index(row["game"]))
        write_rows(ROWS, kept)


def compiled(name: str) -> CompiledGame:
    """Return a game."""
    rules = GAMES[name][0]
    return compile_game(Holdem(**rules) if isinstance(rules, dict) else rules)


def settle(name: str) -> None:
    """Print from which iteration on no conditional regret of ``mmd-agent`` exceeds :data:`LINE`."""
    game, (every, last), most = compiled(name).flat(), LOOKS[name], LINE * GAMES[name][1]
    above: dict[str, int] = {}
    solver = AgentSolver(game, MMD_AGENT)
    for done in range(every, last + 1, every):
        solver.iterate(every)
        worth = values(game, solver.average_policy())
        found = regrets_of(worth)
        regrets = np.concatenate([rows.conditional_regret for rows in worth.all_rows()])
        count = int((regrets > most).sum())
        for which, largest in (
            ("own reach from 0.01", found.on_own_path.largest),
            ("everywhere", found.everywhere.largest),
        ):
            if largest > most:
                above[which] = done
        progress(f"{name}, {done:,}: {count:,} of {len(regrets):,} infosets above {LINE:.1%}")
    for which in ("own reach from 0.01", "everywhere"):
        progress(f"{name}, {which}: from {above.get(which, 0) + every:,} on")


def measure(name: str) -> list[dict[str, Any]]:
    """Return the rows of a game."""
    _, pot, record, marks = GAMES[name]
    game = compiled(name)
    ways = {"none": record, "falls": record(**FALLING)}
    ways |= {"falls, `paced-cfr+`": PACED, "`mmd-agent`": MMD_AGENT}
    rows = []
    for way, algorithm in ways.items():
        whole, done, solution = game.flat() if algorithm is MMD_AGENT else game, 0, None
        for mark in marks:
            begun = {"algorithm": algorithm} if solution is None else {"start": solution}
            # The weights of the paced average leave single precision.
            given = {"precision": "float64"} if algorithm is PACED else {}
            solution = solve(whole, iters=mark - done, **begun, **given)
            done = mark
            worth = values(whole, solution.policy)
            found = regrets_of(worth)
            led_to, every = found.on_own_path.largest, found.everywhere
            figures = solution.exploitability, on_path(worth), led_to, every.largest, every.mean
            shares = (f"{100 * figure / pot:.3g}" for figure in figures)
            row = {"game": name, "floor": way, "iterations": mark}
            row |= dict(zip(SHARES, shares, strict=True))
            rows.append(row | {key: origin()[key] for key in ("versions", "date")})
            progress(" ".join(map(str, rows[-1].values())))
    return rows


def on_path(worth: Values) -> float:
    """Return the largest conditional regret of an infoset on the path."""
    every = list(worth.all_rows())
    regret = np.concatenate([rows.conditional_regret for rows in every])
    own = np.concatenate([rows.own_reach for rows in every])
    others = np.concatenate([rows.counterfactual_reach for rows in every])
    here = (own >= ON_PATH) & (others >= ON_PATH * others.max())
    return float(regret[here].max())


def regrets_table() -> str:
    """Return the table of the page."""
    rows = read_rows(ROWS)
    body = [
        [row["game"], row["floor"], f"{int(row['iterations']):,}", *(row[key] for key in SHARES)]
        for row in rows
    ]
    found = table(["game", "floor", "iterations", *SHARES.values()], body)
    return f"{found}\n\n{rows[-1]['versions']}; {rows[-1]['date']}."


if __name__ == "__main__":
    main()
