"""Deep CFR, Single Deep CFR and DREAM on Leduc beside tables, and networks beside tables of their
size.

python -m scripts.deep_cfr --out build/deep            (nine minutes on sixteen cores)
python -m scripts.deep_cfr --out build/deep --quick    (a minute on two)
python -m scripts.deep_cfr --out build/deep --only deep-cfr --seeds 0 --seconds 2300 --processes 1

Runs that the folder has from before stay, unless they are done anew.

Writes ``runs.csv``, one line for every checkpoint of every run, ``summary.json``, ``tables.md``
and the pictures ``leduc.png`` and ``memory.png``.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import statistics
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorcfr import CompiledGame, compile_game, solve
from tensorcfr.algorithms import DEEP_CFR, DREAM, EXTERNAL_SAMPLING, SD_CFR, Record
from tensorcfr.deep import DeepSolver
from tensorcfr.deep.features import make_features
from tensorcfr.deep.inputs import make_inputs
from tensorcfr.plots.style import (
    TITLE_SIZE,
    End,
    caption,
    draw_line,
    line_style,
    line_styles,
    log_axes,
    new_figure,
    save_picture,
)
from tensorcfr.plots.titles import game_title
from tensorcfr.solvers import Progress, TracePoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHECKPOINTS = (5, 10, 20, 30, 60, 120, 200, 300, 510, 700, 1020, 1500, 2010, 3000, 4980)
"""Iterations of networks at which strategies are evaluated: those of the published curves, and some
between them."""
NODES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
"""Nodes of tables at which strategies are evaluated."""
AT = (30, 60, 120, 300, 510, 1020, 2010, 3000, 4980)
PUBLISHED = {
    "sd-cfr": dict(zip(AT, (381, 227, 154, 112, 95, 89, 69, 67, 59), strict=True)),
    "deep-cfr": dict(zip(AT, (401, 230, 170, 143, 115, 110, 93, 86, 80), strict=True)),
}
"""Exploitability in milli-antes by iterations: E. Steinberger, 'Single deep counterfactual regret
minimization', arXiv:1901.07621, 2019, figure 1a, read off the picture."""
PUBLISHED_BY_NODES = {
    "sd-cfr": {1.0e6: 123, 1.84e6: 85, 3.5e6: 57, 6.7e6: 49, 1e7: 46},
    "dream": {1.84e6: 88, 3.5e6: 67, 6.7e6: 62, 1e7: 57, 1.28e7: 56},
}
"""The same by nodes touched (decision nodes and terminals): E. Steinberger, A. Lerer, N. Brown,
'DREAM', arXiv:2006.10410, 2020, figure 2, read off the picture."""
MILLI = 1000.0
DREAM_OPTIONS = {"traversals": 900}
"""A play touches fewer nodes than a traversal of external sampling, and its regrets vary more."""
LARGE = "leduc(ranks=13)"
"""The game of the networks and tables of equal size."""
SMALL_LAYERS = (32, 32)
"""Hidden layers of the network there."""
QUICK_LARGE, QUICK_LAYERS = "leduc(ranks=4)", (8, 8)
"""The same where runs are short."""
BUFFER_OF_TABLES = 20_000_000
"""Samples that tables are made from: more than there will be, so that nothing is left out."""


@dataclass(frozen=True)
class Job:
    """A run."""

    label: str
    game: str
    kind: str
    """Which record; see :func:`record_of`."""
    seed: int
    seconds: float
    """How long it may run."""
    iterations: int
    quick: bool
    largest: float
    """What utilities are scaled to, as the option of the algorithms says it."""


@dataclass(frozen=True)
class Row:
    """A checkpoint of a run."""

    game: str
    label: str
    seed: int
    numbers: int
    """Numbers that the function of infosets has, per player: parameters, or entries of a table."""
    iteration: int
    nodes_touched: int
    decision_nodes_touched: int
    seconds: float
    exploitability: float
    """In milli-antes."""


@cache
def compiled(spec: str) -> CompiledGame:
    """A game, compiled once in a process."""
    return compile_game(spec)


def bucketed(game: CompiledGame, buckets: int) -> np.ndarray:
    """The number of an abstract infoset of Leduc as a feature, float32 (infosets, 1): ranks in
    buckets of neighbours; whether the card pairs the board is known."""
    names = list(dict.fromkeys(label[0] for label in game.infoset_labels))
    bucket = {name: place * buckets // len(names) for place, name in enumerate(names)}
    number: dict[tuple[Any, ...], int] = {}
    rows = []
    for label in game.infoset_labels:
        hand, _, rest = label.partition(" ")
        betting, dealt, after = rest.partition("/")
        board = (bucket[after[0]], after[0] == hand[0], after[2:]) if dealt else None
        rows.append(number.setdefault((bucket[hand[0]], betting, board), len(number)))
    return np.array(rows, np.float32)[:, None]


def hashed(game: CompiledGame, rows: int, seed: int) -> np.ndarray:
    """A number below ``rows`` as a feature, float32 (infosets, 1), drawn for every infoset that no
    symmetry maps to another: what a table without knowledge of the game does when it is full."""
    inputs = make_inputs(game, make_features(game))
    drawn = np.random.default_rng(seed).integers(rows, size=len(inputs.features))
    # Infosets with other actions, and those of the other player, have other entries.
    n_actions = (inputs.sequence >= 0).sum(axis=1)
    return (drawn[inputs.row] * 8 + n_actions).astype(np.float32)[:, None]


def entries(game: CompiledGame, features: np.ndarray) -> int:
    """Entries of a table over features, for the player who has more."""
    inputs = make_inputs(game, features)
    spans = pairwise(inputs.player_rows.tolist())
    return max(int(inputs.legal[first:end].sum()) for first, end in spans)


def parameters_of(record: Any, game: CompiledGame) -> int:
    """Parameters of a network."""
    from tensorcfr.deep.networks import make_network

    inputs = make_inputs(game, make_features(game))
    return make_network(record, inputs.features.shape[1], inputs.n_outputs).size


def hashed_to_fit(game: CompiledGame, numbers: int, seed: int) -> np.ndarray:
    """Hashed features whose table has as many entries as a network has parameters, or a few more;
    as many as the game has, if it has fewer."""
    least, most = 1, game.n_infosets
    while least < most:
        middle = (least + most) // 2
        if entries(game, hashed(game, middle, seed)) < numbers:
            least = middle + 1
        else:
            most = middle
    return hashed(game, least, seed)


def bucketed_to_fit(game: CompiledGame, numbers: int) -> np.ndarray:
    """The same of buckets of ranks."""
    for buckets in range(1, 14):
        if entries(game, features := bucketed(game, buckets)) >= numbers:
            break
    return features


def record_of(job: Job) -> tuple[Record | str, int]:
    """The algorithm of a run, and the numbers of its function."""
    game = compiled(job.game)
    less: dict[str, Any] = {"traversals": 100, "updates": 50, "batch": 512} if job.quick else {}
    less["largest"] = job.largest
    if job.kind in ("deep-cfr", "dream"):
        record = {"deep-cfr": DEEP_CFR, "dream": DREAM}[job.kind](**less)
        if job.quick and job.kind == "deep-cfr":
            record = record(strategy_updates=200)
        if job.kind == "dream":
            record = record(**{"baseline_updates": 50} if job.quick else DREAM_OPTIONS)
        return record, parameters_of(record, game)
    if job.kind == "table":
        return EXTERNAL_SAMPLING(variant="lcfr"), game.n_sequences // 2
    if job.kind == "cfr+":
        return "cfr+", game.n_sequences // 2
    small = SD_CFR(layers=QUICK_LAYERS if job.quick else SMALL_LAYERS, **less)
    numbers = parameters_of(small, game)
    if job.kind == "small network":
        return small, numbers
    if job.kind == "hashed table":
        features = hashed_to_fit(game, numbers, job.seed)
    elif job.kind == "bucketed table":
        features = bucketed_to_fit(game, numbers)
    else:
        features = np.arange(game.n_infosets, dtype=np.float32)[:, None]
    traversals = {"traversals": less["traversals"]} if job.quick else {}
    table = SD_CFR(
        learner="table",
        features=features,
        buffer=BUFFER_OF_TABLES,
        unplayed="uniform",
        **traversals,
    )
    return table, entries(game, features)


def run(job: Job) -> list[Row]:
    """Do a run; that of ``deep-cfr`` has the rows of ``sd-cfr``, too: the same networks, and the
    other average."""
    # A run is a process, which has a core: JAX needs no more threads.
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    game = compiled(job.game)
    record, numbers = record_of(job)
    options: dict[str, Any] = {"iters": job.iterations, "checkpoints": CHECKPOINTS}
    if job.kind in ("table", "cfr+"):
        options |= {"checkpoints": "geometric", "nodes": NODES[2 if job.quick else -1]}
    if job.kind != "cfr+":
        options["seed"] = job.seed

    begun = time.monotonic()
    exact: dict[int, float] = {}

    def look(progress: Progress) -> bool:
        latest, solver = progress.latest, progress.solver
        is_late = time.monotonic() > begun + job.seconds
        is_recorded = latest is not None and latest.iteration == progress.iteration
        if job.kind == "deep-cfr" and (is_recorded or is_late):
            assert isinstance(solver, DeepSolver)
            exact[progress.iteration] = solver.evaluate_exact_average().exploitability
        return is_late

    solution = solve(game, record, progress=look, memory_limit=1 << 34, **options)

    def row(label: str, point: TracePoint, exploitability: float) -> Row:
        return Row(
            game=job.game,
            label=label,
            seed=job.seed,
            numbers=numbers,
            iteration=point.iteration,
            nodes_touched=point.nodes_touched,
            decision_nodes_touched=point.decision_nodes_touched,
            seconds=round(point.seconds, 3),
            exploitability=round(MILLI * exploitability, 3),
        )

    averages: dict[str, Callable[[TracePoint], float]] = {
        job.label: lambda point: point.exploitability,
    }
    if exact:
        averages["sd-cfr"] = lambda point: exact[point.iteration]
    return [
        row(name, at, average(at)) for name, average in averages.items() for at in solution.trace
    ]


def jobs(*, quick: bool, seconds: float, largest: float) -> list[Job]:
    """All runs, the long ones first."""
    seeds = range(1 if quick else 3)
    found = []

    def add(label: str, game: str, kind: str, seeds: Iterable[int], iterations: int) -> None:
        found.extend(
            Job(label, game, kind, seed, seconds, iterations, quick, largest) for seed in seeds
        )

    most = 5 if quick else CHECKPOINTS[-1]
    for kind in ("deep-cfr", "dream"):
        add(kind, "leduc", kind, seeds, most)
    two = range(1 if quick else 2)
    large = QUICK_LARGE if quick else LARGE
    add("network", large, "small network", two, most)
    add("table of the network's size, hashed", large, "hashed table", two, most)
    add("table of the network's size, buckets made by hand", large, "bucketed table", [0], most)
    add("whole table", large, "whole table", [0], most)
    add("external sampling, table", "leduc", "table", seeds, 1 << 40)
    add("cfr+", "leduc", "cfr+", [0], 1 << 40)
    return found


def warm_up(quick: bool) -> None:
    """Compile the kernels, once for all processes."""
    game = compiled("leduc")
    for record in (SD_CFR, DREAM):
        solve(game, record(learner="table", traversals=2), iters=1, memory_limit=1 << 34)
    solve(game, EXTERNAL_SAMPLING(variant="lcfr"), iters=1)
    solve(game, "cfr+", iters=1)
    compiled(QUICK_LARGE if quick else LARGE)


Curve = dict[int, list[Row]]
"""The rows of all seeds at an iteration."""


def curves(rows: Iterable[Row]) -> dict[tuple[str, str], Curve]:
    """The rows by game and label."""
    found: dict[tuple[str, str], Curve] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row.game, row.label][row.iteration].append(row)
    # Seeds that stopped at other iterations are no points of a mean.
    seeds = {key: max(map(len, curve.values())) for key, curve in found.items()}
    return {
        key: {at: here for at, here in sorted(curve.items()) if len(here) == seeds[key]}
        for key, curve in found.items()
    }


def mean(rows: list[Row], field: str) -> float:
    """The mean of a field over seeds."""
    return statistics.fmean(getattr(row, field) for row in rows)


LEAST = 1.0
"""Milli-antes at the lower edge of the picture."""


def _draw_curve(
    axes: Axes, name: str, rows: list[list[Row]], field: str, style: dict[str, Any]
) -> End:
    """The mean over seeds, and a band from the least to the most."""
    values = [[row.exploitability for row in seeds] for seeds in rows]
    return draw_line(
        axes,
        name,
        [mean(seeds, field) for seeds in rows],
        [statistics.fmean(each) for each in values],
        style,
        band=([min(each) for each in values], [max(each) for each in values]),
    )


def draw_leduc(found: dict[tuple[str, str], Curve], path: Path) -> None:
    """Exploitability by iterations and by nodes, with what was published."""
    figure = new_figure(13.0, 4.8)
    left, right = figure.subplots(1, 2, sharey=True)
    names = sorted(label for game, label in found if game == "leduc")
    styles = line_styles(
        name.replace("external sampling, table", "external_sampling") for name in names
    )
    ends: dict[Axes, list[End]] = {left: [], right: []}
    for label, style in zip(names, styles.values(), strict=True):
        rows = list(found["leduc", label].values())
        rows = [seeds for seeds in rows if mean(seeds, "exploitability") >= LEAST]
        for axes, field, known in (
            (left, "iteration", PUBLISHED),
            (right, "nodes_touched", PUBLISHED_BY_NODES),
        ):
            if axes is right or label in PUBLISHED or label == "dream":
                name = label.replace(", ", ",\n")
                ends[axes].append(_draw_curve(axes, name, rows, field, style))
            if label in known:
                x, y = zip(*known[label].items(), strict=True)
                axes.plot(x, y, "o", color=style["color"], mfc="none")
    for axes, text in ((left, "iterations"), (right, "nodes touched")):
        log_axes(axes)
        axes.set_xlabel(text)
    left.set_ylabel("exploitability (milli-antes)")
    right.set(xlim=(3e4, None), ylim=(LEAST, 2000.0))
    caption(figure, "Line: mean of the seeds; band: least to most.  Circles: as published.")
    save_picture(figure, path, ends)


def draw_memory(found: dict[tuple[str, str], Curve], path: Path) -> None:
    """Networks and tables of equal size."""
    figure = new_figure(8.4, 4.8)
    axes = figure.subplots()
    log_axes(axes)
    ends = []
    names = [(game, label) for game, label in found if game != "leduc"]
    if not names:
        return
    for number, key in enumerate(names):
        rows = list(found[key].values())
        name = f"{key[1]} ({rows[0][0].numbers:,} numbers)"
        name = "\n".join(textwrap.wrap(name, 24))
        ends.append(_draw_curve(axes, name, rows, "nodes_touched", line_style(number)))
    axes.set(xlabel="nodes touched", ylabel="exploitability (milli-antes)")
    axes.set_title(game_title(names[0][0]), loc="left", fontsize=TITLE_SIZE)
    save_picture(figure, path, {axes: ends})


def tables(found: dict[tuple[str, str], Curve]) -> str:
    """What was measured, as tables: the mean of the seeds, the least and the most."""
    text = []
    for (game, label), curve in sorted(found.items()):
        numbers = next(iter(curve.values()))[0].numbers
        text += [f"{label} on {game}, {numbers:,} numbers a player", ""]
        text += ["| iterations | nodes touched | seconds | exploitability | seeds | published |"]
        text += ["| ---: | ---: | ---: | ---: | :---: | ---: |"]
        for at, rows in curve.items():
            each = sorted(row.exploitability for row in rows)
            said = PUBLISHED.get(label, {}).get(at, "") if game == "leduc" else ""
            text += [
                f"| {at:,} | {mean(rows, 'nodes_touched'):.3g} | {mean(rows, 'seconds'):.0f} | "
                f"{statistics.fmean(each):.1f} | {each[0]:.1f} to {each[-1]:.1f} | {said} |"
            ]
        text += [""]
    return "\n".join(text)


def read(path: Path) -> list[Row]:
    """The rows of a file that :func:`write` wrote; none if there is no file."""
    if not path.exists():
        return []
    kinds = {"game": str, "label": str, "seconds": float, "exploitability": float}
    with open(path, newline="") as file:
        return [
            Row(**{key: kinds.get(key, int)(text) for key, text in line.items()})
            for line in csv.DictReader(file)
        ]


def write(rows: list[Row], folder: Path, said: dict[str, Any]) -> None:
    """All files; also from what there is so far."""
    rows = sorted(rows, key=lambda row: (row.game, row.label, row.seed, row.iteration))
    with open(folder / "runs.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, [*Row.__dataclass_fields__])
        writer.writeheader()
        writer.writerows(map(asdict, rows))
    (folder / "summary.json").write_text(json.dumps(said, indent=1))
    found = curves(rows)
    (folder / "tables.md").write_text(tables(found))
    draw_leduc(found, folder / "leduc.png")
    draw_memory(found, folder / "memory.png")


def main() -> None:
    """Run, and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="few short runs, to try the script")
    parser.add_argument("--seconds", type=float, default=470.0, help="for each run")
    parser.add_argument("--only", help="the runs of this name, such as sd-cfr")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--largest", type=float, default=16.0, help="what utilities are scaled to")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    begun = time.time()
    warm_up(given.quick)
    print(f"kernels and games compiled in {time.time() - begun:.0f} s", flush=True)
    todo = [
        job
        for job in jobs(quick=given.quick, seconds=given.seconds, largest=given.largest)
        if job.seed in given.seeds and given.only in (None, job.label)
    ]
    rows = read(given.out / "runs.csv")
    with ProcessPoolExecutor(
        given.processes, mp_context=get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        running = {pool.submit(run, job): job for job in todo}
        for done in as_completed(running):
            job = running[done]
            if error := done.exception():
                print(f"{job.label}, seed {job.seed}: {error!r}", flush=True)
                continue
            anew = {(row.game, row.label, row.seed) for row in done.result()}
            rows = [row for row in rows if (row.game, row.label, row.seed) not in anew]
            rows += done.result()
            last = done.result()[-1]
            print(
                f"{time.time() - begun:.0f} s: {job.label} on {job.game}, seed {job.seed}: "
                f"{last.iteration:,} iterations, {last.exploitability:.1f} milli-antes",
                flush=True,
            )
            (given.out / "rows.json").write_text(json.dumps([asdict(row) for row in rows]))
    said = {
        "seconds": time.time() - begun,
        "processes": given.processes,
        "cores": os.cpu_count(),
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "quick": given.quick,
        "largest": given.largest,
    }
    write(rows, given.out, said)
    (given.out / "rows.json").unlink()


if __name__ == "__main__":
    main()
