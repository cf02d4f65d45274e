"""Tables of docs/guarantees.md, with theorems and observations, and one of agreement.md.

python -m scripts.guarantees            all of them, some minutes
python -m scripts.guarantees promises   one table: promises, observed, restarts, magnets or chaos
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks._common import table
from tensorcfr import ALGORITHMS, CompiledGame, Solver, compile_game, exploitability, solve
from tensorcfr._util.hardware import versions
from tensorcfr.algorithms import CFR, CFR_PLUS, DCFR, MMD, Algorithm, Record
from tensorcfr.algorithms.registry import PUBLISHED
from tensorcfr.algorithms.theorems import FELL, LAST_ITERATES
from tensorcfr.errors import GameError
from tensorcfr.games.matrix import MatrixGame
from tensorcfr.rules import Chance, Decision, Game, Terminal
from tensorcfr.sweep import read_algorithm

from ._pages import DOCS, write_parts

PAGE = DOCS / "guarantees.md"
ELSEWHERE = {"chaos": DOCS / "results" / "agreement.md"}
GAMES = (
    "kuhn",
    "leduc",
    "goofspiel(cards=4)",
    "liars_dice(faces=4)",
    "biased_rock_paper_scissors",
)
MARKS = (100, 1_000, 10_000)
OF_LAST_ITERATES = ("mmd-moving(eta=2)", "domwu(eta=2)", "rtcfr+", "rtcfr+(mu=0.01, stay=20)")


def hide_and_seek() -> MatrixGame:
    """Hide and seek on a line of 60 points: neighbours have nearly equal payoffs."""
    at = np.linspace(0.0, 1.0, 60)
    return MatrixGame(np.exp(-8.0 * (at[:, None] - at) ** 2), title="hide and seek")


class Pennies(Game):
    """Matching pennies, worth half on tails, where chance deals either player one of some types
    that do not matter."""

    n_players = 2

    def __init__(self, types: int) -> None:
        self.types = types

    @property
    def name(self) -> str:
        """The name, with the number of types."""
        return f"pennies({self.types} types)"

    def node(self, history: tuple[str, ...]) -> Chance | Decision | Terminal:
        """Return the deal, a choice, or the end."""
        if len(history) < 2:
            return Chance({str(dealt): 1.0 / self.types for dealt in range(self.types)})
        if len(history) < 4:
            player = len(history) - 2
            return Decision(player, f"{player}:{history[player]}", ("heads", "tails"))
        won = -1.0 if history[2] != history[3] else 1.0 if history[2] == "heads" else 0.5
        return Terminal((won, -won))


def short(value: float) -> str:
    """Return a number in few characters; below 1e-12 it is rounding."""
    return f"{value:.1g}" if value > 1e-12 else "0"


# ------------------------------------------------------------------------------------- promises


def promises() -> str:
    """Return the theorem about every published algorithm in two-player zero-sum games."""
    alike: dict[str, list[str]] = {}
    for name, record in ALGORITHMS.items():
        if name in PUBLISHED:
            alike.setdefault(record.guarantee(zero_sum=True), []).append(f"`{name}`")
    rows = [(", ".join(names), text) for text, names in alike.items()]
    return table(["algorithm", "two players, constant sum"], rows, left=(0, 1))


# ------------------------------------------------------------------------------------- observed


def curve(game: CompiledGame, record: Record, last: bool) -> str:
    """Return exploitabilities after the marks, of the average or of the last iterate; empty for an
    algorithm that does not take the game."""
    try:
        if not last:
            seed = {"seed": 0} if record.is_sampled else {}
            trace = solve(game, record, iters=MARKS[-1], checkpoints=MARKS, **seed).trace
            return ", ".join(short(point.exploitability) for point in trace)
        ends = [solve(game, record, iters=mark).last_policy for mark in MARKS]
        return ", ".join(short(exploitability(game, end)) for end in ends)
    except (GameError, ValueError) as error:
        print(f"{record} on {game.name}: {error}", file=sys.stderr)
        return ""


def observed() -> str:
    """Return the observations about the algorithms whose guarantee refers to an observation."""
    games = [*map(compile_game, GAMES), compile_game(hide_and_seek())]
    chosen = [(f"`{n}`", r, False) for n, r in ALGORITHMS.items() if FELL in _said(r)]
    chosen += [(f"`{spec}`, last", read_algorithm(spec), True) for spec in OF_LAST_ITERATES]
    rows = [[name, *(curve(game, r, last) for game in games)] for name, r, last in chosen]
    return table(["", *(f"`{game.name}`" for game in games)], rows) + f"\n\n{versions()}."


def _said(record: Record) -> str:
    if isinstance(record, Algorithm) and record.rule in LAST_ITERATES:
        return ""
    return record.guarantee(zero_sum=True)


# ------------------------------------------------------------------------------------- restarts


def restarts() -> str:
    """Return averages that no theorem covers, on Kuhn poker and biased rock-paper-scissors."""
    marks = (1_000, 16_383, 16_384, 100_000)
    chosen = [
        ("kuhn", CFR),
        *(("kuhn", record(restart_base=2)) for record in (CFR, CFR_PLUS, DCFR)),
        ("biased_rock_paper_scissors", CFR),
        ("biased_rock_paper_scissors", CFR(average_power=50)),
        ("biased_rock_paper_scissors", CFR_PLUS(average_power=50)),
    ]
    rows = []
    for name, record in chosen:
        trace = solve(compile_game(name), record, iters=marks[-1], checkpoints=marks).trace
        rows.append([name, f"`{record}`", *(f"{point.exploitability:.1e}" for point in trace)])
    return table(["game", "algorithm", *(f"{mark:,}" for mark in marks)], rows)


# -------------------------------------------------------------------------------------- magnets


def still_moves(game: CompiledGame, record: Record, iterations: int = 20_000) -> str:
    """Return the largest change of a probability in the last iteration of some."""
    solver = Solver(game, record)
    solver.iterate(iterations)
    before = solver.current_policy().probabilities.copy()
    solver.iterate(1)
    return short(float(np.abs(solver.current_policy().probabilities - before).max()))


def magnets() -> str:
    """Return from which step size on the last iterate of ``mmd`` goes round."""
    rows = []
    for game, entry in (
        (compile_game("kuhn"), 2 / 6),
        (compile_game("kuhn(cards=13)"), 2 / (13 * 12)),
        (compile_game(Pennies(10)), 1 / 100),
    ):
        half = float(np.ptp(game.utilities[:, 0])) / 2
        for alpha in (0.1, 0.01):
            proven = alpha / half**2
            steps = (proven, 0.5, 10 * proven, 100 * proven, 1_000 * proven, alpha / entry**2)
            moved = [still_moves(game, MMD(alpha=alpha, eta=eta)) for eta in steps]
            rows.append([game.name, f"{alpha:g}", f"{proven:g}", *moved])
    head = ["game", "`alpha`", "`alpha / L**2`", "at that `eta`", "`eta=0.5`", "10 times", "100"]
    return table([*head, "1,000", "`alpha` / entry²"], rows)


# --------------------------------------------------------------------------------------- chaos


def chaos() -> str:
    """Return how far the curves of one game are apart whose sums have another order."""
    marks = (10, 100, 200, 300, 500, 700, 1_000)
    rows = []
    for name in ("cfr", "cfr+", "dcfr", "sapcfr+", "paced-cfr+"):
        merged, apart = (
            np.array([point.exploitability for point in found.trace])
            for found in (
                solve(
                    compile_game("leduc", symmetry=symmetry), name, iters=1_000, checkpoints=marks
                )
                for symmetry in (True, False)
            )
        )
        rows.append([f"`{name}`", *(f"{gap:.0e}" for gap in abs(merged / apart - 1.0))])
    return table(["", *(f"{mark:,}" for mark in marks)], rows)


PARTS: dict[str, Callable[[], str]] = {
    "promises": promises,
    "observed": observed,
    "restarts": restarts,
    "magnets": magnets,
    "chaos": chaos,
}


def main(names: Sequence[str]) -> None:
    """Write the tables of some names, or all."""
    for name in names or PARTS:
        write_parts(ELSEWHERE.get(name, PAGE), "guarantees", {name: PARTS[name]()})


if __name__ == "__main__":
    main(sys.argv[1:])
