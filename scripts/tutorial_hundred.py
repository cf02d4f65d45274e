"""A tutorial's own experiment, Kuhn poker with 100 cards: its loops, and the engine on one axis.

    python -m scripts.tutorial_hundred            missing rows of docs/figures/tutorial_hundred.csv,
                                              the picture, and the tables of results/tutorials.md
    python -m scripts.tutorial_hundred --far      the engine's sampling, too, to the tutorial's end
    python -m scripts.tutorial_hundred --quick    the same in seconds, into build/quick

That takes ten minutes of one core, and ten more with ``--far``; each run is kept as it ends.  A
node is a decision, and a traversal from which both players learn counts once, as the tutorial
counts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from benchmarks._common import progress, table
from tensorcfr import CompiledGame, Policy, SampledSolver, Solver, compile_game, evaluate, solve
from tensorcfr.abstraction import abstract, lift
from tensorcfr.algorithms import CFR, CFR_PLUS, CHANCE_SAMPLING, EXTERNAL_SAMPLING, Record
from tensorcfr.plots.style import (
    TITLE_SIZE,
    caption,
    draw_line,
    line_styles,
    log_axes,
    metric,
    new_figure,
    save_picture,
)

from ._pages import folder_of, publish, read_records, scaled_arguments, write_rows

CARDS = 100
STAGES = {"": 0, "p": 1, "b": 2, "pb": 3}
"""Betting at the four infosets of a card, by place in the arrays of the loops."""

# ---------------------------------------------------------------------------- the tutorial's loops


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def passing(regret: np.ndarray, stage: int, card: int) -> float:
    """Return the probability of a pass by regret matching."""
    good, rest = max(regret[stage, card, 0], 0.0), max(regret[stage, card, 1], 0.0)
    return good / (good + rest) if good + rest > 0.0 else 0.5


@numba.njit  # type: ignore[untyped-decorator]
def add_regrets(regret: np.ndarray, first: int, second: int, passes: np.ndarray) -> float:
    """Add the regrets of one deal, from which both players learn.

    Args:
        regret: float64 (4, cards, 2): regret sums of pass and bet, by stage; changed.
        first: Card of player 0.
        second: Card of player 1.
        passes: float64 (4,): probabilities of a pass, by stage.

    Returns:
        The utility of player 0.
    """
    win = 1.0 if first > second else -1.0
    x, y, z, w = passes[0], passes[1], passes[3], passes[2]
    answered = -z + (1 - z) * 2 * win
    regret[3, first, 0] += (1 - y) * (-1.0 - answered)
    regret[3, first, 1] += (1 - y) * (2 * win - answered)
    passed = y * -win + (1 - y) * -answered  # To player 1.
    regret[1, second, 0] += x * (-win - passed)
    regret[1, second, 1] += x * (-answered - passed)
    called = -w + (1 - w) * -2 * win  # To player 1.
    regret[2, second, 0] += (1 - x) * (-1.0 - called)
    regret[2, second, 1] += (1 - x) * (-2 * win - called)
    value = x * -passed + (1 - x) * -called
    regret[0, first, 0] += -passed - value
    regret[0, first, 1] += -called - value
    return value


@numba.njit  # type: ignore[untyped-decorator]
def learn(
    regret: np.ndarray,
    used: np.ndarray,
    sums: np.ndarray,
    first: int,
    second: int,
    floored: bool,
) -> float:
    """Play one deal; see :func:`add_regrets`.

    Args:
        regret: As there.
        used: The regrets that strategies are made of: ``regret`` itself where each history's
            regrets are used at once, a copy from the beginning of the iteration otherwise.
        sums: float64 (4, cards, 2): strategy sums; changed.
        first: As there.
        second: As there.
        floored: Whether regrets of the deal are put to 0 at once where they are negative.

    Returns:
        The utility of player 0.
    """
    passes = np.empty(4)
    for stage in range(4):
        card = second if stage in (1, 2) else first
        p = passes[stage] = passing(used, stage, card)
        reach = passes[0] if stage == 3 else 1.0
        sums[stage, card, 0] += reach * p
        sums[stage, card, 1] += reach * (1 - p)
    value = add_regrets(regret, first, second, passes)
    if floored:
        for stage in range(4):
            card = second if stage in (1, 2) else first
            for a in range(2):
                regret[stage, card, a] = max(regret[stage, card, a], 0.0)
    return value


@numba.njit  # type: ignore[untyped-decorator]
def all_deals(
    regret: np.ndarray, sums: np.ndarray, iterations: int, at_once: bool, floor: int
) -> float:
    """Play iterations over all deals; return the sum of their mean utilities.

    Args:
        regret: As for :func:`learn`.
        sums: As for :func:`learn`.
        iterations: How many.
        at_once: True if each deal uses the regrets after the deals before it.
        floor: 0 for none, 1 for a floor under the regrets after each iteration, 2 after each deal.
    """
    cards, total = regret.shape[1], 0.0
    used = regret if at_once else regret.copy()
    for _ in range(iterations):
        utility = 0.0
        for first in range(cards):
            for second in range(cards):
                if first != second:
                    utility += learn(regret, used, sums, first, second, floor == 2)
        if floor == 1:
            regret[:] = np.maximum(regret, 0.0)
        if not at_once:
            used[:] = regret
        total += utility / (cards * (cards - 1))
    return total


@numba.njit  # type: ignore[untyped-decorator]
def chance(regret: np.ndarray, sums: np.ndarray, iterations: int) -> float:
    """Iterate with one deal each; return the sum of their utilities."""
    cards, total = regret.shape[1], 0.0
    for _ in range(iterations):
        first, second = np.random.randint(cards), np.random.randint(cards - 1)
        if second >= first:
            second += 1
        total += learn(regret, regret, sums, first, second, False)
    return total


@numba.njit  # type: ignore[untyped-decorator]
def external(
    regret: np.ndarray, sums: np.ndarray, iterations: int, most: float
) -> tuple[float, int, int]:
    """Iterate with a deal and a traversal for each player, whose opponent's actions are drawn.

    Returns:
        The sum of player 0's utilities in their traversals, the decisions visited, and the
        iterations done: they end at ``most`` decisions.
    """
    cards, total, nodes, done = regret.shape[1], 0.0, 0, 0
    while done < iterations and nodes < most:
        done += 1
        for player in range(2):
            first, second = np.random.randint(cards), np.random.randint(cards - 1)
            if second >= first:
                second += 1
            win = 1.0 if first > second else -1.0
            x = passing(regret, 0, first)
            if player == 0:
                y = passing(regret, 1, second)
                sums[1, second, 0] += y
                sums[1, second, 1] += 1 - y
                nodes += 3
                if np.random.random() < y:
                    passed = win
                else:
                    nodes += 1
                    z = passing(regret, 3, first)
                    passed = -z + (1 - z) * 2 * win
                    regret[3, first, 0] += -1.0 - passed
                    regret[3, first, 1] += 2 * win - passed
                y = passing(regret, 2, second)
                sums[2, second, 0] += y
                sums[2, second, 1] += 1 - y
                bet = 1.0 if np.random.random() < y else 2 * win
                value = x * passed + (1 - x) * bet
                regret[0, first, 0] += passed - value
                regret[0, first, 1] += bet - value
                total += value
            else:
                sums[0, first, 0] += x
                sums[0, first, 1] += 1 - x
                nodes += 2
                if np.random.random() < x:
                    nodes += 1
                    y, z = passing(regret, 1, second), passing(regret, 3, first)
                    sums[3, first, 0] += z
                    sums[3, first, 1] += 1 - z
                    bet = 1.0 if np.random.random() < z else -2 * win
                    value = y * -win + (1 - y) * bet
                    regret[1, second, 0] += -win - value
                    regret[1, second, 1] += bet - value
                else:
                    y = passing(regret, 2, second)
                    value = -y + (1 - y) * -2 * win
                    regret[2, second, 0] += -1.0 - value
                    regret[2, second, 1] += -2 * win - value
    return total, nodes, done


@numba.njit  # type: ignore[untyped-decorator]
def set_seed(seed: int) -> None:
    """Seed the random numbers of the loops."""
    np.random.seed(seed)


@cache
def the_game(cards: int) -> tuple[CompiledGame, np.ndarray]:
    """Return the game, and for every sequence its place in the flattened arrays of the loops."""
    game = compile_game("kuhn", cards=cards)
    place = np.zeros(game.n_sequences, np.int64)
    labels = list(game.infoset_labels)
    hands = [label for label in labels if label in {name.rstrip("pb") for name in labels}]
    for infoset, label in enumerate(labels):
        card = label.rstrip("pb")
        at = (STAGES[label.removeprefix(card).strip()] * cards + hands.index(card)) * 2
        place[game.sequences(infoset)] = [at, at + 1]
    return game, place


def average(sums: np.ndarray) -> Policy:
    """Return the average strategy of strategy sums of the loops."""
    game, place = the_game(sums.shape[1])
    shares = np.where(sums.sum(axis=2, keepdims=True) > 0, sums, 0.5)
    shares = shares / shares.sum(axis=2, keepdims=True)
    probabilities = Policy.uniform(game).probabilities.copy()
    own = [game.sequences(infoset) for infoset in range(game.n_infosets)]
    for at in own:
        probabilities[at] = shares.ravel()[place[at]]
    return Policy(game, probabilities)


# --------------------------------------------------------------------------------------- the runs


class Mark(NamedTuple):
    """A look at a run."""

    way: str
    """Whose program: ``loops`` or ``engine``."""
    algorithm: str
    seed: int
    iteration: int
    nodes_touched: int
    exploitability: float
    value: float
    """Value of the average strategy to player 0."""
    printed: float
    """The mean of the utilities of the iterations, which the tutorial prints; 0 of the engine."""


ALGORITHMS: dict[str, tuple[Record, int]] = {
    "cfr": (CFR(alternating=False), 2),
    "cfr+": (CFR_PLUS(alternating=False, average_power=0), 2),
    "chance_sampling": (CHANCE_SAMPLING(alternating=False), 2),
    "external_sampling": (EXTERNAL_SAMPLING, 1),
}
"""The engine's records, and how often it counts a node where the tutorial counts it once."""
SAMPLED = ("chance_sampling", "external_sampling")
NODES = 4e9
"""Where the tutorial's picture ends."""
ITERATIONS = {"cfr": 100_000, "cfr+": 100_000}
"""Algorithms of the tutorial by name; of the sampled ones:"""
SAMPLED_ITERATIONS = 10**9


def marks(cards: int, most: float) -> list[float]:
    """Return numbers of nodes to stop at: three per factor of ten; from one iteration of CFR on,
    its 16."""
    one = 4 * cards * (cards - 1)
    return [found for k in range(-9, 16) if (found := one * 10 ** (k / 3)) < 0.9 * most] + [most]


def loops(algorithm: str, cards: int, seed: int, most: float, last: int) -> Iterator[Mark]:
    """Run the tutorial's loops, to a number of nodes or the last iteration."""
    regret, sums = np.zeros((4, cards, 2)), np.zeros((4, cards, 2))
    set_seed(seed)
    done, nodes, total = 0, 0, 0.0
    size = 4 * cards * (cards - 1) if algorithm in ITERATIONS else 4
    for mark in marks(cards, most):
        if algorithm == "external_sampling":
            # The last look is at the last iteration, which lies behind the picture's end.
            looks: list[tuple[int, float]] = [(last - done, mark - nodes)]
            if mark == most == NODES:
                looks.append((last, np.inf))
        else:
            looks = [(min(last, round(mark / size)) - done, 0.0)]
        for iterations, left in looks:
            if algorithm == "external_sampling":
                found, touched, went = external(regret, sums, min(iterations, last - done), left)
            elif iterations > 0:
                went, touched = iterations, size * iterations
                if algorithm == "chance_sampling":
                    found = chance(regret, sums, iterations)
                else:
                    found = all_deals(regret, sums, iterations, True, 2 * (algorithm == "cfr+"))
            else:
                continue
            done, nodes, total = done + went, nodes + touched, total + found
            got = evaluate(the_game(cards)[0], average(sums))
            yield Mark(
                *("loops", algorithm, seed, done, nodes, got.exploitability, got.values[0]),
                total / done,
            )


def engine(algorithm: str, cards: int, seed: int, most: float, last: int) -> Iterator[Mark]:
    """Run this library's solver in the same way."""
    game = the_game(cards)[0]
    record, twice = ALGORITHMS[algorithm]
    sampled = algorithm in SAMPLED
    solver = SampledSolver(game, record, seed=seed) if sampled else Solver(game, record)
    size = 4 * cards * (cards - 1)
    for mark in marks(cards, most):
        if not sampled:
            if (left := min(last, round(mark / size)) - solver.iteration) <= 0:
                continue
            solver.iterate(left)
        else:
            while (left := mark * twice - solver.decision_nodes_touched) > 0:
                solver.iterate(max(1, int(left / 8)))
        got = solver.evaluate()
        nodes = solver.decision_nodes_touched // twice
        yield Mark(
            *("engine", algorithm, seed, solver.iteration, nodes),
            *(got.exploitability, got.values[0], 0.0),
        )


WAYS: dict[str, Callable[[str, int, int, float, int], Iterator[Mark]]] = {
    "loops": loops,
    "engine": engine,
}


def run(path: Path, cards: int, most: float, seeds: int, far: Sequence[str]) -> list[Mark]:
    """Run missing rows of the table.  Of sampled algorithms, run the first seed of those in ``far``
    to
    the end, and the others to a tenth of it."""
    found = read_records(path, Mark)
    plan = [(way, name, 0, most) for name in ITERATIONS for way in WAYS]
    for seed in range(seeds):
        for way in WAYS:
            end = most if seed == 0 and way in far else most / 10
            plan += [(way, name, seed, end) for name in SAMPLED]
    for way, name, seed, end in plan:
        own = [mark for mark in found if (mark.way, mark.algorithm, mark.seed) == (way, name, seed)]
        if own and own[-1].nodes_touched >= 0.9 * end:
            continue
        progress(f"{way}: {name}, seed {seed}")
        last = ITERATIONS.get(name, SAMPLED_ITERATIONS)
        found = [mark for mark in found if mark not in own]
        found += WAYS[way](name, cards, seed, end, last)
        write_rows(path, [mark._asdict() for mark in found])
    return found


# ------------------------------------------------------------------------- the tables, the picture


def runs_of(found: Sequence[Mark], way: str, algorithm: str) -> list[list[Mark]]:
    """Return the runs of an algorithm, by seed."""
    own = [mark for mark in found if (mark.way, mark.algorithm) == (way, algorithm)]
    return [[m for m in own if m.seed == seed] for seed in sorted({m.seed for m in own})]


def at_nodes(runs: Sequence[Sequence[Any]], nodes: float) -> list[float]:
    """Return exploitabilities of the runs that are long enough, at the last stop up to a number of
    nodes.  The stop comes after the next iteration, so they agree within half a percent."""
    return [
        [mark.exploitability for mark in run if mark.nodes_touched <= 1.005 * nodes][-1]
        for run in runs
        if run[0].nodes_touched <= 1.005 * nodes and run[-1].nodes_touched >= 0.9 * nodes
    ]


def order_table(found: Sequence[Mark], powers: Sequence[float]) -> str:
    """Return exploitability at numbers of nodes, of the loops and of the engine."""
    body = []
    for way in WAYS:
        for name in ALGORITHMS:
            own = runs_of(found, way, name)
            cells = []
            for nodes in powers:
                values = sorted(at_nodes(own, nodes))
                cell = f"{statistics.median(values):.2g}" if values else ""
                if len(values) > 1:
                    cell += f" ({values[0]:.2g}\N{EN DASH}{values[-1]:.2g})"
                cells.append(cell)
            body.append([way, f"`{name}`", *cells])
    return table(["", "", *(f"{nodes:.0e}" for nodes in powers)], body)


def value_table(found: Sequence[Mark]) -> str:
    """Return the four values that the tutorial's loops print."""
    body = []
    for name in ALGORITHMS:
        last = next(runs[-1] for runs in runs_of(found, "loops", name))
        body.append(
            [
                f"`{name}`",
                f"{last.iteration:,}",
                f"{last.printed:.5f}",
                f"{last.value:.7f}",
            ]
        )
    return table(["", "iterations", "printed", "value of the average strategies"], body)


def departures_table(cards: int, looks: Sequence[int]) -> str:
    """Measure CFR and CFR+ by the loops, with each departure from the published algorithms
    alone."""
    body = []
    for title, at_once, floor in (
        ("CFR", False, 0),
        ("CFR, regrets used at once: the tutorial's", True, 0),
        ("CFR+", False, 1),
        ("CFR+, floor at every history", False, 2),
        ("CFR+, regrets used at once", True, 1),
        ("CFR+, both: the tutorial's", True, 2),
    ):
        progress(title)
        regret, sums = np.zeros((4, cards, 2)), np.zeros((4, cards, 2))
        done, cells = 0, []
        for look in looks:
            all_deals(regret, sums, look - done, at_once, floor)
            done = look
            gap = evaluate(the_game(cards)[0], average(sums)).exploitability
            cells.append(f"{gap:.2g}")
        body.append([title, *cells])
    return table(["", *(f"{look:,}" for look in looks)], body)


def buckets_table(cards: int, counts: Sequence[int], iterations: int) -> str:
    """Measure cards in buckets of equal size: exploitability in the abstraction and in the game."""
    game = the_game(cards)[0]
    body = []
    for count in counts:
        progress(f"{count} buckets")
        hands = [label for label in game.infoset_labels if label == label.rstrip("pb ")]
        bucket = {hand: str(at * count // cards) for at, hand in enumerate(hands)}

        def name(label: str, bucket: Mapping[str, str] = bucket) -> str:
            card = label.rstrip("pb ")
            return f"{bucket[card]}/{label.removeprefix(card)}"

        small = abstract(game, infosets=name)
        solution = solve(small, "cfr+", iters=iterations)
        whole = evaluate(game, lift(solution))
        body.append(
            [
                str(count),
                str(small.n_infosets),
                f"{solution.exploitability:.1e}",
                f"{whole.exploitability:.2g}",
                f"{whole.values[0]:.5f}",
            ]
        )
    head = ["buckets", "infosets", "exploitability in them", "in the game", "value"]
    return table(head, body)


def draw(found: Sequence[Mark], path: Path) -> None:
    """Draw the tutorial's loops and the engine on the same axes."""
    figure = new_figure(10.8, 4.1)
    panels = list(figure.subplots(1, 2, sharex=True, sharey=True))
    styles = line_styles(ALGORITHMS)
    ends = {}
    for panel, (way, title) in zip(
        panels, {"loops": "the tutorial's loops", "engine": "this library"}.items(), strict=True
    ):
        log_axes(panel)
        ends[panel] = []
        for name in ALGORITHMS:
            own = runs_of(found, way, name)
            first = [mark for mark in own[0] if mark.nodes_touched <= 1.01 * NODES]
            band = [
                sorted(at_nodes(own, mark.nodes_touched) or [mark.exploitability]) for mark in first
            ]
            ends[panel].append(
                draw_line(
                    panel,
                    name.replace("_", "\n"),
                    [mark.nodes_touched for mark in first],
                    [mark.exploitability for mark in first],
                    styles[name],
                    band=([b[0] for b in band], [b[-1] for b in band]) if len(own) > 1 else None,
                )
            )
        panel.set_title(f"Kuhn poker, {CARDS} cards: {title}", loc="left", fontsize=TITLE_SIZE)
        panel.set_xlabel("decision nodes touched")
    panels[0].set_ylabel(metric({2}))
    caption(
        figure,
        "A traversal from which both players learn counts once.  CFR, CFR+ and chance sampling "
        "teach both players at once.  Line: one seed; band: smallest to largest of three seeds, "
        "to a tenth of the end.",
    )
    save_picture(figure, path, ends)


def main() -> None:
    """Run, draw, write."""
    parser = scaled_arguments(__doc__)
    parser.add_argument("--far", action="store_true", help="the engine's sampling to the end")
    options = parser.parse_args()
    folder = folder_of(options)
    path = folder / "tutorial_hundred.csv"
    cards, most, seeds = (10, 1e5, 2) if options.quick else (CARDS, NODES, 3)
    far = list(WAYS) if options.far else ["loops"]
    found = run(path, cards, most, seeds, far)
    draw(found, path.with_suffix(".png"))
    exact = solve(the_game(cards)[0], "lp").value[0]
    parts = {
        "hundred": order_table(found, (1e4, 1e5) if options.quick else (1e5, 1e6, 1e7, 1e8, NODES)),
        "printed": value_table(found)
        + f"\n\nExact value: {Fraction(exact).limit_denominator(10**6)} = {exact:.7f}.",
        "departures": departures_table(cards, (1, 10) if options.quick else (100, 1_000, 10_000)),
        "buckets": buckets_table(cards, (3, 5) if options.quick else (3, 10, 25), 1_000),
    }
    publish("tutorial_hundred", parts, folder)


if __name__ == "__main__":
    main()
