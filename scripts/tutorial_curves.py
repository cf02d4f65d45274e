"""A tutorial's claims on Kuhn poker with three cards, on loops and on Bluff, measured.

    python -m scripts.tutorial_curves            measure (minutes), draw, write results/tutorials.md
    python -m scripts.tutorial_curves --quick    the same in seconds, into build/quick
    python -m scripts.tutorial_curves figures    the table of the runs of scripts/figures.py

The tables of the page stand between comments with their names, and are written anew; the rest of
the page is written by hand.  Kuhn poker with 100 cards: ``scripts/tutorial_hundred.py``.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

from benchmarks._common import progress, table
from tensorcfr import (
    CompiledGame,
    Policy,
    Solver,
    compile_game,
    evaluate,
)
from tensorcfr._util.hardware import machine, versions
from tensorcfr.evaluation import team_exploitability
from tensorcfr.model.arrays import CHANCE, TERMINAL
from tensorcfr.plots import sweep_curves
from tensorcfr.plots.style import save_picture
from tensorcfr.plots.titles import game_title
from tensorcfr.sweep import SweepRow, curves, read_sweep, sweep

from ._pages import FIGURES, folder_of, publish, scaled_arguments
from .figures import COMPARISONS
from .tutorial_hundred import add_regrets, at_nodes, average, passing, the_game

NOT_MEASURED = "\N{EN DASH}"


@dataclass(frozen=True)
class Scale:
    """Extent of the measurements."""

    dealt_marks: tuple[int, ...]
    """Iterations of a deal each after which the printed value is looked at."""
    dealt_seeds: int
    iterations: int
    """Iterations of each curve on Kuhn."""
    seeds: int
    """Iterations of the sampled curves."""
    team_marks: tuple[int, ...]
    """Iterations of the loops over teams after which to look."""
    looped: dict[str, tuple[int, ...]]
    """Games of the loops over histories, and iterations after which to look."""


FULL = Scale(
    dealt_marks=(1_000, 100_000),
    dealt_seeds=100,
    iterations=1_000_000,
    seeds=5,
    team_marks=(10, 100),
    looped={"kuhn": (10_000,), "liars_dice(faces=3)": (1_000,)},
)
QUICK = Scale(
    dealt_marks=(100, 1_000),
    dealt_seeds=20,
    iterations=1_000,
    seeds=2,
    team_marks=(1,),
    looped={"kuhn": (10, 50), "liars_dice(faces=2)": (5,)},
)

# --------------------------------------------------------------- the value that a training prints

DEALS = ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))
"""Cards of the players, jack to king."""


@numba.njit  # type: ignore[untyped-decorator]
def train(dealt: np.ndarray, marks: np.ndarray, mixed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Run the training loop of T. Neller and M. Lanctot, 'An introduction to counterfactual
    regret minimization' (2013), for Kuhn poker.  Each iteration deals once, and both players learn
    from the deal.

    Args:
        dealt: int64 (iterations,): which of :data:`DEALS` each iteration draws.
        marks: int64 (marks,): iterations after which to look, ascending.
        mixed: Whether to run a notebook's CFR-AVG: every strategy is mixed with one vector, which
            all infosets share and change.

    Returns:
        float64 (marks,): the average utility so far, which the program prints at the end; float64
        (marks, 4, 3, 2): the strategy sums.
    """
    regret, sums = np.zeros((4, 3, 2)), np.zeros((4, 3, 2))
    printed, kept = np.empty(len(marks)), np.empty((len(marks), 4, 3, 2))
    shared, passes = 0.5, np.empty(4)
    total, mark = 0.0, 0
    for t in range(len(dealt)):
        first, second = DEALS[dealt[t]]
        # Strategies in the order of the recursion, which bets first; no infoset is met twice.
        for stage in (0, 2, 1, 3):
            card = second if stage in (1, 2) else first
            p = passing(regret, stage, card)
            reach = passes[0] if stage == 3 else 1.0
            sums[stage, card, 0] += reach * p
            sums[stage, card, 1] += reach * (1.0 - p)
            shared = (shared + p) / 2
            passes[stage] = shared if mixed else p
        total += add_regrets(regret, first, second, passes)
        if t + 1 == marks[mark]:
            printed[mark], kept[mark] = total / (t + 1), sums
            mark += 1
    return printed, kept


def dealt_table(scale: Scale) -> str:
    """Return the output of the notebook's two cells, and the exploitability of their strategies."""
    game = the_game(3)[0]
    marks = np.array(scale.dealt_marks)
    body = []
    for name, mixed in (("CFR", False), ("CFR-AVG", True)):
        printed, gap = (np.empty((scale.dealt_seeds, len(marks))) for _ in range(2))
        for seed in range(scale.dealt_seeds):
            dealt = np.random.default_rng(seed).integers(6, size=int(marks[-1]))
            printed[seed], sums = train(dealt, marks, mixed)
            for k in range(len(marks)):
                gap[seed, k] = evaluate(game, average(sums[k])).exploitability
        body += [
            [
                name,
                f"{mark:,}",
                f"{printed[:, k].mean():.3f} ± {printed[:, k].std(ddof=1):.3f}",
                f"{gap[:, k].min():.4f} to {gap[:, k].max():.4f}",
            ]
            for k, mark in enumerate(scale.dealt_marks)
        ]
    return (
        f"{table(['', 'iterations', 'printed', 'exploitability'], body)}\n\n"
        f"{scale.dealt_seeds} seeds; printed: mean ± standard deviation."
    )


# ---------------------------------------------------------------------------------- CFR and CFR+

SWEPT = ("cfr", "cfr(alternating=False)", "cfr+", "cfr+(alternating=False)")
SAMPLED = ("chance_sampling", "external_sampling", "external_sampling(variant='cfr+')")
PRUNED = ("whole_traversal", "whole_traversal(variant='cfr+')")
"""CFR and CFR+ as loops over histories, without those that nobody reaches."""
DRAWN = (
    "cfr",
    "cfr+",
    "cfr+(alternating=False)",
    "external_sampling",
    "external_sampling(variant='cfr+')",
)
"""Contents of the picture."""


def medians(rows: Sequence[SweepRow]) -> dict[str, dict[int, float]]:
    """Return by algorithm and iteration the median exploitability over the seeds."""
    found = {}
    for (_, algorithm), own in curves(rows).items():
        by_mark: dict[int, list[float]] = {}
        for row in (row for seed in own for row in seed):
            by_mark.setdefault(row.iteration, []).append(row.exploitability)
        found[algorithm] = {mark: statistics.median(values) for mark, values in by_mark.items()}
    return found


def powers(last: int) -> list[int]:
    """Return 100, 10,000, ... up to a number."""
    return [10**k for k in range(2, 10, 2) if 10**k <= last]


def plus_table(scale: Scale, rows: Sequence[SweepRow]) -> str:
    """Return exploitabilities of all settings."""
    found = medians(rows)
    marks = powers(scale.iterations)
    lines = [
        [f"`{name}`", *(f"{found[name][mark]:.2g}" for mark in marks)] for name in SWEPT + SAMPLED
    ]
    game = compile_game("kuhn")
    for name in ("cfr", "cfr+"):
        solver = Solver(game, name)
        cells = []
        for mark in marks:
            solver.iterate(mark - solver.iteration)
            cells.append(f"{evaluate(game, solver.current_policy()).exploitability:.2g}")
        lines.append([f"last iterate of `{name}`", *cells])
    header = ["", *(f"{mark:,}" for mark in marks)]
    return (
        f"{table(header, lines)}\n\nExploitability of the average strategy by number of "
        f"iterations; for sampling, the median of {scale.seeds} seeds."
    )


# --------------------------------------------------------------- a loop over histories, as printed


@dataclass(frozen=True)
class Loop:
    """A loop over the histories of a game, with its departures from CFR."""

    title: str
    floor: bool = False
    """Regret sums are not below 0."""
    floor_at_once: bool = False
    """The floor is put under them at every history of an infoset, before the others are added."""
    at_once: bool = False
    """The strategy is taken from the regret sums anew at every history, those of this iteration
    included."""
    late_average: bool = False
    """The average is summed only where the opponent does not come: in the second of the two phases
    of pruned CFR."""
    by_team: bool = False
    """Reaches are those of the teams: a teammate's is not among the others'."""


LOOPS = (
    Loop("CFR, history by history"),
    Loop("CFR, each history's regrets used at once", at_once=True),
    Loop("CFR+ (uniform average)", floor=True),
    Loop("CFR+, floor at every history", floor=True, floor_at_once=True),
    Loop("CFR+, floor and use at every history", floor=True, floor_at_once=True, at_once=True),
    Loop("CFR, average in the second phase only", late_average=True),
)


def loop_curve(
    game: CompiledGame,
    loop: Loop,
    marks: Sequence[int],
    gap: Callable[[Policy], float] = lambda policy: evaluate(policy.game, policy).exploitability,
) -> Iterator[float]:
    """Return the exploitability of the average strategy at the marks; players are updated in
    turn."""
    side = [player % 2 if loop.by_team else player for player in range(game.n_players)]
    tree = game.tree
    sequence = [
        list(range(at.start, at.stop, at.step))
        for at in (game.sequences(infoset) for infoset in range(game.n_infosets))
    ]
    regret, sums = [0.0] * game.n_sequences, [0.0] * game.n_sequences
    sigma = Policy.uniform(game).probabilities.tolist()
    actor, infoset = tree.player.tolist(), tree.infoset.tolist()
    first, probability = tree.first_child.tolist(), tree.probability.tolist()
    utility = {
        int(node): row.tolist() for node, row in zip(tree.terminal, tree.utility, strict=True)
    }

    def match(at: list[int]) -> None:
        total = sum(max(regret[s], 0.0) for s in at)
        for s in at:
            sigma[s] = max(regret[s], 0.0) / total if total > 0.0 else 1.0 / len(at)

    def walk(node: int, player: int, x: float, y: float, second: bool) -> float:
        who, children = actor[node], range(first[node], first[node + 1])
        if who == TERMINAL:
            return utility[node][player]
        if who == CHANCE:
            return sum(
                probability[c] * walk(c, player, x, y * probability[c], second) for c in children
            )
        at = sequence[infoset[node]]
        second = second or (who == player and y <= 0.0)
        if loop.at_once:
            match(at)
        played = [sigma[s] for s in at]
        values = [
            walk(c, player, x * p, y, second)
            if side[who] == side[player]
            else walk(c, player, x, y * p, second)
            for c, p in zip(children, played, strict=True)
        ]
        value = sum(p * v for p, v in zip(played, values, strict=True))
        if who == player:
            for s, p, v in zip(at, played, values, strict=True):
                regret[s] += y * (v - value)
                if loop.floor_at_once:
                    regret[s] = max(regret[s], 0.0)
                # As printed, without the probability of chance: a constant of a Kuhn infoset.
                if second or not loop.late_average:
                    sums[s] += x * p
        return value

    done = 0
    for mark in marks:
        for _ in range(mark - done):
            for player in range(game.n_players):
                walk(0, player, 1.0, 1.0, False)
                for at in sequence:
                    if loop.floor:
                        for s in at:
                            regret[s] = max(regret[s], 0.0)
                    match(at)
        done = mark
        average = Policy.uniform(game).probabilities.copy()
        for at in sequence:
            if (total := sum(sums[s] for s in at)) > 0.0:
                average[at] = [sums[s] / total for s in at]
        yield gap(Policy(game, average))


def loops_table(scale: Scale) -> str:
    """Measure the effect of each departure on the curve."""
    body = []
    for loop in LOOPS:
        found = [
            f"{gap:.2g}"
            for spec, marks in scale.looped.items()
            for gap in loop_curve(compile_game(spec), loop, marks)
        ]
        body.append([loop.title, *found])
    header = [f"{spec}, {mark:,}" for spec, marks in scale.looped.items() for mark in marks]
    return (
        f"{table(['', *header], body)}\n\nExploitability by number of iterations, players in turn."
    )


TEAMS = ((0, 2), (1, 3))


def teams_table(scale: Scale) -> str:
    """Compare reaches of single players with those of the listing, which are of teams."""
    game = compile_game("kuhn", players=4, cards=5, teams=TEAMS)

    def gap(policy: Policy) -> float:
        return team_exploitability(game, policy, TEAMS).exploitability

    body = []
    for loop in (Loop("all others' reach"), Loop("the other team's reach", by_team=True)):
        found = loop_curve(game, loop, scale.team_marks, gap)
        body.append([loop.title, *(f"{gap:.2g}" for gap in found)])
    return table(["regrets weighted by", *(f"{mark:,}" for mark in scale.team_marks)], body)


# ---------------------------------------------------------------- what scripts/figures.py has run

NODES = {"bluff_2_2_nodes": (1e9, 1.2e10, 2.5e10, 1e11, 1e12)}
"""Figures of which the page has a table, and the nodes touched that it looks at."""


def figure_table(name: str) -> str:
    """Return exploitabilities of a figure of scripts/figures.py, at numbers of nodes touched."""
    figure = COMPARISONS[name]
    axes = " and against ".join({"nodes": "nodes touched"}.get(x, x) for x in figure.x)
    rows = [
        row for one in (name, figure.beside) if one for row in read_sweep(FIGURES / f"{one}.csv")
    ]
    body = []
    for algorithm in dict.fromkeys(row.algorithm for row in rows):
        own = [row for row in rows if row.algorithm == algorithm]
        seeds = [[row for row in own if row.seed == s] for s in {row.seed for row in own}]
        last = [max(seed, key=lambda row: row.nodes_touched) for seed in seeds]
        cells = []
        for nodes in NODES[name]:
            reached = at_nodes(seeds, nodes)
            enough = len(reached) == len(seeds)
            cells.append(f"{statistics.median(reached):.2g}" if enough else NOT_MEASURED)
        end = statistics.median(row.exploitability for row in last)
        reach = statistics.median(row.nodes_touched for row in last)
        seconds = statistics.median(row.seconds for row in last)
        body.append([f"`{algorithm}`", *cells, f"{end:.2g} ({reach:.2g} nodes, {seconds:.0f} s)"])
    header = ["", *(f"{nodes:.2g}" for nodes in NODES[name]), "in the end"]
    drawn = len({row.seed for row in rows} - {None})
    seeds_said = f"the median of {drawn} seeds" if drawn > 1 else "one seed"
    return (
        f"{table(header, body)}\n\n"
        f"`{rows[0].game}`: exploitability, nash_conv / 2, at the last checkpoint up to the nodes "
        f"touched; sampling has {seeds_said}.  "
        f"{'; '.join(dict.fromkeys(f'{row.machine}, {row.date}' for row in rows))}.\n\n"
        f"![{game_title(rows[0].game)}: exploitability against {axes}](../figures/{name}.png)"
    )


# ------------------------------------------------------------------------------------------- all


def draw(folder: Path) -> None:
    """Draw the pictures of the measurements."""
    path = folder / "tutorial_kuhn.csv"
    drawn = [row for row in read_sweep(path) if row.algorithm in DRAWN]
    save_picture(sweep_curves(drawn, x=("iterations",)), path.with_suffix(".png"))
    path = folder / "tutorial_pruned.csv"
    pruned = sweep_curves(path, x=("nodes", "decision_nodes"))
    save_picture(pruned, path.with_suffix(".png"))


def measure(scale: Scale, folder: Path) -> dict[str, str]:
    """Run all experiments; return the tables by name, and write pictures and rows into a folder."""
    progress("the value that a training prints")
    parts = {"dealt": dealt_table(scale)}
    progress("CFR and CFR+")
    path, iters = folder / "tutorial_kuhn.csv", scale.iterations
    rows = sweep(path, ["kuhn"], SWEPT + SAMPLED, seeds=range(scale.seeds), iters=iters)
    parts["plus"] = plus_table(scale, rows)
    sweep(folder / "tutorial_pruned.csv", ["kuhn"], PRUNED, iters=iters)
    draw(folder)
    progress("loops over histories")
    parts["loops"] = loops_table(scale)
    progress("teams")
    parts["teams"] = teams_table(scale)
    parts["said"] = f"{machine()}; {versions()}; {max(row.date for row in rows)}."
    return parts


def main() -> None:
    """Measure, draw, write."""
    parser = scaled_arguments(__doc__)
    parser.add_argument("mode", nargs="?", choices=["measure", "figures"], default="measure")
    options = parser.parse_args()
    folder = folder_of(options)
    if options.mode == "figures":
        parts = {name: figure_table(name) for name in NODES}
    else:
        parts = measure(QUICK if options.quick else FULL, folder)
    publish("tutorial_curves", parts, folder)


if __name__ == "__main__":
    main()
