"""Measure abstractions for docs/results/abstraction.md: ``python -m scripts.abstraction``.

Writes the tables of the page, docs/figures/abstraction_holdem.csv and .png.  With ``--quick`` the
same on a small spot and small Leduc, printed and drawn into the folder that ``--out`` names.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensorcfr import CompiledGame, compile_game, exploitability, solve
from tensorcfr.abstraction import (
    AbstractGame,
    abstract,
    abstract_hands,
    buckets_by_strength,
    lift,
)
from tensorcfr.plots.style import (
    COLOURS,
    TITLE_SIZE,
    draw_line,
    line_style,
    log_axes,
    new_figure,
    save_picture,
)
from tensorcfr.solvers.request import SolveRequest, make_solver

from ._pages import page_with

DOCS = Path(__file__).resolve().parent.parent / "docs"
FIGURES, PAGE = DOCS / "figures", DOCS / "results" / "abstraction.md"
MIB = 2**20

EVERYTHING = ",".join(
    ["22+", *(f"{high}2{kind}+" for high in "AKQJT9876543" for kind in "so")]
).replace("32s+,32o+", "32s,32o")
"""All 1,326 hands."""
RIVER = {
    "board": "5c3cQcKh4h",
    "ranges": (EVERYTHING, EVERYTHING),
    "pot": 100,
    "stacks": 300,
    "bets": "50%,100%,a",
    "raises": "60%,a",
}
COUNTS = (2, 3, 5, 10, 20, 50, 100, 200)
SMALL_RIVER = {
    **RIVER,
    "board": "Td9d6hQc2s",
    "ranges": ("77+,ATs+,KQo", "55-QQ,AJs"),
    "bets": "100%",
}
ITERATIONS = 2000
NL_LEDUC = {
    "6 hands": None,
    "3 of 6: J, Q, K": "JJQQKK",
    "2 of 6: J or Q, K": "JJJJKK",
    "2 of 6: J, Q or K": "JJQQQQ",
    "1 of 6": "JJJJJJ",
}


class Point(NamedTuple):
    """A solve of the river in buckets."""

    spacing: str
    buckets: int
    """Asked for."""
    hands: int
    """Buckets that have hands, of player 0."""
    exploitability: float
    """In the full game, per cent of the pot."""
    own: float
    """In the abstraction, likewise."""
    milliseconds: float
    """Of an iteration: median of some runs, in turn with those of the other rows."""
    mebibytes: float
    """Arrays of the solver."""


def river(spot: dict[str, Any], counts: Sequence[int], iterations: int) -> list[Point]:
    """A river, exactly and in buckets of strength."""
    game = compile_game("holdem", **spot)
    pot = spot["pot"] / 100
    asked = [("exact", len(game.nodes.hands[0]))]
    asked += [(spacing, count) for spacing in ("quantiles", "width") for count in counts]
    games = [game] + [
        abstract_hands(game, buckets_by_strength(game, count, spacing=spacing))
        for spacing, count in asked[1:]
    ]
    solutions = [solve(one, "dcfr", iters=iterations) for one in games]
    times = milliseconds(games)
    found = []
    for (spacing, count), solution, time in zip(asked, solutions, times, strict=True):
        policy = solution.policy if solution.game is game else lift(solution)
        kept = [array for array in solution.state if isinstance(array, np.ndarray)]
        assert solution.game.nodes is not None
        found.append(
            Point(
                *(spacing, count, len(solution.game.nodes.hands[0])),
                *(exploitability(game, policy) / pot, solution.exploitability / pot),
                *(time, sum(array.nbytes for array in kept) / MIB),
            )
        )
        print(found[-1], file=sys.stderr)
    return found


def milliseconds(
    games: Sequence[CompiledGame], rounds: int = 7, iterations: int = 50
) -> list[float]:
    """Time of an iteration of DCFR: medians, the games in turn."""
    requests = [SolveRequest(game=game, algorithm="dcfr", iters=1) for game in games]
    solvers = [make_solver(request) for request in requests]
    times = np.empty((rounds, len(games)))
    for solver in solvers:
        solver.iterate()
    for turn in range(rounds):
        for number, solver in enumerate(solvers):
            before = solver.seconds
            solver.iterate(iterations)
            times[turn, number] = solver.seconds - before
    medians: list[float] = (1000 * np.median(times, axis=0) / iterations).tolist()
    return medians


def draw(points: Sequence[Point], path: Path) -> None:
    """Exploitability by number of buckets."""
    figure = new_figure(7.2, 4.0)
    ax = figure.subplots()
    log_axes(ax)
    labels = {"quantiles": "equal weight", "width": "equal width"}
    ends = []
    for number, (spacing, label) in enumerate(labels.items()):
        own = [point for point in points if point.spacing == spacing]
        where = [point.buckets for point in own]
        solid, dotted = line_style(number), line_style(number) | {"linestyle": (0, (1.2, 1.2))}
        found, inside = [p.exploitability for p in own], [p.own for p in own]
        ends.append(draw_line(ax, f"buckets of\n{label}", where, found, solid))
        ends.append(draw_line(ax, f"{label},\nin the abstraction", where, inside, dotted))
    exact = points[0]
    ax.axhline(exact.exploitability, color=COLOURS[-1], linestyle="--", linewidth=1.2)
    label = f"{exact.buckets:,} hands,\nas many iterations"
    ends.append((label, COLOURS[-1], max(end[2] for end in ends), exact.exploitability))
    ax.set_xlabel("buckets of each player")
    ax.set_ylabel("exploitability in the full game\n(% of the pot)")
    ax.set_title("A river of hold'em in buckets of strength", loc="left", fontsize=TITLE_SIZE)
    save_picture(figure, path, {ax: ends})


def river_table(points: Sequence[Point]) -> str:
    """The table of the river."""
    head = (
        "| hands of each player | exploitability, % of the pot | in the abstraction | "
        "iteration, ms | solver's arrays, MiB |\n| --- | ---: | ---: | ---: | ---: |\n"
    )
    return head + "\n".join(
        f"| {_name(p)} | {p.exploitability:.3g} | {p.own:.2g} | {p.milliseconds:.2g} | "
        f"{p.mebibytes:.2g} |"
        for p in points
    )


def _name(point: Point) -> str:
    if point.spacing == "exact":
        return f"{point.buckets:,}, exact"
    kind = "equal weight" if point.spacing == "quantiles" else "equal width"
    return f"{point.buckets} buckets of {kind} ({point.hands} in use)"


def nl_leduc(iterations: int, **parameters: int) -> str:
    """The table of no-limit Leduc."""
    game = compile_game("nl_leduc", **parameters)
    rows = []
    for name, hands in NL_LEDUC.items():
        buckets = None if hands is None else np.array(list(hands))
        small = game if buckets is None else abstract_hands(game, [buckets, buckets])
        solution = solve(small, "dcfr", iters=iterations)
        policy = solution.policy if buckets is None else lift(solution)
        size = small.chunked_form(merged=True).n_numbers
        rows.append(
            f"| {name} | {1000 * exploitability(game, policy):,.1f} | "
            f"{1000 * solution.exploitability:,.1f} | {size:,} | {solution.seconds:.1f} |"
        )
        print(rows[-1], file=sys.stderr)
    head = (
        "| hands | exploitability, mbb per game | in the abstraction | sequences solved | seconds "
        "|\n| --- | ---: | ---: | ---: | ---: |\n"
    )
    return head + "\n".join(rows)


# ------------------------------------------------------------------------------------ pathologies

BEFORE: dict[str, Callable[[str], str]] = {
    "JQK": lambda hand: "JQK",
    "JQ.K": lambda hand: "K" if hand == "K" else "JQ",
    "J.QK": lambda hand: "J" if hand == "J" else "QK",
    "J.Q.K": lambda hand: hand,
}
"""What is seen before the board: ranks between dots are told apart."""
AFTER: dict[str, Callable[[str, str, str], str]] = {
    "nothing": lambda seen, hand, board: seen,
    "pair or not": lambda seen, hand, board: f"{seen} {hand == board}",
    "the board": lambda seen, hand, board: f"{seen} {board}",
    "the board, pair or not": lambda seen, hand, board: f"{seen} {board} {hand == board}",
    "everything": lambda seen, hand, board: f"{seen} {hand} {board}",
}
"""What is seen in addition after it."""


def seen(before: str, after: str) -> Callable[[str], str]:
    """The bucket of an infoset of Leduc, ``"Js crrc/Kh c"``."""

    def bucket(label: str) -> str:
        hand, _, line = label.partition(" ")
        first, dealt, second = line.partition("/")
        known = BEFORE[before](hand[0])
        if not dealt:
            return f"{known} {first}"
        return f"{AFTER[after](known, hand[0], second[0])} {first}/{second[2:]}"

    return bucket


def pathologies(iterations: int) -> tuple[str, str]:
    """The table of abstractions of Leduc, and of those that a finer one is worse than."""
    game = compile_game("leduc")
    small: dict[tuple[str, str], AbstractGame] = {}
    worst: dict[tuple[str, str], tuple[float, float]] = {}
    for key in [(before, after) for before in BEFORE for after in AFTER]:
        small[key] = abstract(game, infosets=seen(*key))
        solutions = solve(small[key], "lp"), solve(small[key], "cfr+", iters=iterations)
        first, second = (exploitability(game, lift(solution)) for solution in solutions)
        worst[key] = first, second
    rows = [
        f"| {before} | " + " | ".join(f"{worst[before, after][1]:.3f}" for after in AFTER) + " |"
        for before in BEFORE
    ]
    table = f"| before the board | {' | '.join(AFTER)} |\n|---|{'---:|' * len(AFTER)}\n"
    pairs = [
        f"| {_said(one)} | {_count(small[one])} | {_both(worst[one])} | {_said(other)} | "
        f"{_count(small[other])} | {_both(worst[other])} |"
        for one, other in permutations(small, 2)
        if refines(small[one], small[other])
        and all(a > 1.02 * b for a, b in zip(worst[one], worst[other], strict=True))
    ]
    head = (
        "| finer | infosets | exploitability | coarser | infosets | exploitability |\n"
        "| --- | ---: | ---: | --- | ---: | ---: |\n"
    )
    return table + "\n".join(rows), head + "\n".join(pairs)


def refines(one: AbstractGame, other: AbstractGame) -> bool:
    """Whether an abstraction tells more apart than another, and all that the other does."""
    both = len(np.unique(np.stack([one.infoset, other.infoset]), axis=1).T)
    return both == one.n_infosets > other.n_infosets


def _said(key: tuple[str, str]) -> str:
    return f"{key[0]}, then {key[1]}"


def _count(game: CompiledGame) -> str:
    return f"{game.n_infosets:,}"


def _both(worst: tuple[float, float]) -> str:
    return f"{worst[0]:.3f}, {worst[1]:.3f}"


def main(words: list[str] | None = None) -> int:
    """Measure, write the tables, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small games; tables are printed")
    parser.add_argument("--out", type=Path, default=FIGURES, help="folder of figure and CSV")
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], help="what to measure; by default everything"
    )
    given = parser.parse_args(words)
    found: dict[str, str] = {}
    for part in given.parts or PARTS:
        found |= PARTS[part](given.quick, given.out)
    if given.quick:
        print("\n\n".join(found.values()))
    else:
        PAGE.write_text(page_with(PAGE.read_text("utf-8"), "abstraction", found), "utf-8")
    return 0


def _river(quick: bool, folder: Path) -> dict[str, str]:
    points = river(*((SMALL_RIVER, (2, 5), 100) if quick else (RIVER, COUNTS, ITERATIONS)))
    with (folder / "abstraction_holdem.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(Point._fields)
        rows.writerows(points)
    draw(points, folder / "abstraction_holdem.png")
    return {"river": river_table(points)}


def _nl_leduc(quick: bool, folder: Path) -> dict[str, str]:
    return {"nl-leduc": nl_leduc(50, stack=6) if quick else nl_leduc(1000)}


def _leduc(quick: bool, folder: Path) -> dict[str, str]:
    table, pairs = pathologies(50 if quick else 3000)
    return {"leduc": table, "pathologies": pairs}


PARTS = {"river": _river, "nl-leduc": _nl_leduc, "leduc": _leduc}
"""What is measured, by name."""


if __name__ == "__main__":
    sys.exit(main())
