"""The referee: published tables of other solvers, and this library on the same trees.

    python -m benchmarks.field [--rows kuhn leduc ...] [--libratus FOLDER] [--seconds 20]
    python -m benchmarks.field --page

Every row is measured on one thread, and on all cores where threads help; peers that are installed
(OpenSpiel, LiteEFG) run next to it.  A row that was measured before is skipped unless ``--again``
is given, so that a run can be interrupted.  ``FOLDER`` holds the files ``subgame1.txt`` to
``subgame4.txt`` of https://github.com/Sandholm-Lab/LibratusEndgames; without it those rows are left
out.  ``--seconds`` limits the search for an exploitability.  Results go to
``benchmarks/results/field.json``, and from there to ``docs/results/field.md``.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from scripts._pages import arguments, read_json, write_json
from tensorcfr import CompiledGame, Solver, compile_game, solve
from tensorcfr.games.poker.deck import CARDS, HAND_NUMBER, HANDS, hand_label, read_cards
from tensorcfr.games.poker.ranges import range_text
from tensorcfr.model.arrays import not_none
from tensorcfr.model.chunked_form import ChunkedForm
from tensorcfr.payoff import PayoffBlocks, PayoffCards, PayoffEntries
from tensorcfr.payoff.blocks import COUNT, MATRIX
from tensorcfr.payoff.card_payoffs import FOLD
from tensorcfr.solvers.choose import resolve_algorithm, resolve_threads
from tensorcfr.solvers.solver import bytes_needed

from ._common import (
    RESULTS,
    ROOT,
    TOOLS,
    Contest,
    Timing,
    available,
    cache_level,
    duration,
    machine,
    machine_lines,
    megabytes,
    progress,
    significant,
    table,
)
from .bandwidth import peak_operations, triad_bandwidth

FILE = RESULTS / "field.json"
PAGE = ROOT / "docs" / "results" / "field.md"
SHARES = (1e-2, 1e-3, 1e-4)
"""Exploitabilities to reach, as shares of the pot or of the largest utility."""
ROUNDS = 7
ROUND_SECONDS = 0.15

GPU_CFR = "Li and Huang 2026, arXiv 2609.11923, table 3: GPU-CFR, NVIDIA A100"
KIM = "the same table: Kim and Sandholm's program, NVIDIA A100"
GPU_CFR_ENDGAME = "the same paper, table 7: GPU-CFR, NVIDIA A100"
CUDA = "JulienDanh/cuda-poker-solver, its page on the status, 2026: NVIDIA RTX 4070"


@dataclass(frozen=True)
class Published:
    """A number that somebody else has published; nothing of it runs here."""

    seconds: float
    """Seconds per iteration."""
    source: str
    """Program, hardware and paper."""


def random_hands(board: str, count: int, pairs: int) -> tuple[str, str]:
    """Draw hands of both players, of which so many pairs have no common card."""
    live = HANDS[~np.isin(HANDS, read_cards(board, "board")).any(axis=1)]
    for seed in range(10_000):
        rng = np.random.default_rng(seed)
        first, second = (live[rng.choice(len(live), count, replace=False)] for _ in range(2))
        shared = (first[:, None, :, None] == second[None, :, None, :]).any(axis=(2, 3))
        if (~shared).sum() == pairs:
            oop, ip = (",".join(map(hand_label, hands)) for hands in (first, second))
            return oop, ip
    raise AssertionError


SMALL_TREE = {"pot": 200, "stacks": 50_000, "bets": "50%", "raises": "100%1r"}
"""One size of bets, one raise on a street: fifteen public nodes on a river."""
OOP = "22+,A9s+,KTs+,QJs,JTs,T9s"
CUDA_TREE = {"ranges": (OOP, f"{OOP},AQo+"), "raises": "2.5x,3x"}
BATTLESHIP = (
    "openspiel:battleship(board_height=2,board_width=2,ship_sizes={sizes},ship_values={values},"
    "num_shots=3)"
)
GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=5,"
    "points_order=descending,returns_type=win_loss))"
)


@dataclass(frozen=True)
class Row:
    """A game of the table."""

    title: str
    source: Any
    """Name of the game for :func:`tensorcfr.compile_game`."""
    options: Callable[[], Mapping[str, Any]] = dict
    """Parameters of the game."""
    layout: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of :func:`tensorcfr.compile_game` for the layout."""
    histories: int | None = None
    """Number of histories that the page states."""
    published: tuple[Published, ...] = ()
    tree: str = "the same game"
    """Relation of the tree here to the published one."""
    peer: str = ""
    """Name of the game in OpenSpiel, for peers that run here."""
    peer_iterations: int = 4


def spot(board: str, ranges: tuple[str, str] | None = None, **options: Any) -> Callable[[], Any]:
    """Return the arguments of a spot."""
    return lambda: {"board": board, **({"ranges": ranges} if ranges else {}), **options}


def drawn(board: str, count: int, pairs: int) -> Callable[[], Any]:
    """Return the arguments of a spot with random hands."""
    return lambda: {"board": board, "ranges": random_hands(board, count, pairs), **SMALL_TREE}


def endgame(number: int, bets: str, raises: str) -> Callable[[], Any]:
    """Return the arguments of an endgame of Libratus; see :func:`read_endgame`."""
    return lambda: read_endgame(number) | {"bets": bets, "raises": raises}


COUNTED = (
    "hands and sizes are not published, and hands are random here. Their {states} states are "
    "exactly {pairs} pairs of hands times {nodes} nodes{which}, and so many there are with one bet "
    "and one raise on each street"
)
SIZES = (
    "sizes are not published. With bets of 33 %, 75 % and all-in, and raises of the pot and "
    "all-in, the tree has {count} million histories, as many as theirs"
)


def _cuda(nodes: int) -> str:
    return f"sizes and ranges as published; {nodes:,} public nodes here and there"


ROWS: dict[str, Row] = {
    "kuhn": Row(
        "Kuhn poker",
        "kuhn",
        histories=58,
        published=(Published(0.113e-3, GPU_CFR), Published(9.057e-3, KIM)),
        peer="kuhn_poker",
        peer_iterations=2000,
    ),
    "leduc": Row(
        "Leduc poker",
        "leduc",
        histories=9457,
        published=(Published(0.304e-3, GPU_CFR), Published(12.86e-3, KIM)),
        peer="leduc_poker",
        peer_iterations=30,
    ),
    "goofspiel": Row(
        "goofspiel, 5 cards",
        "goofspiel",
        lambda: {"cards": 5},
        published=(Published(0.245e-3, GPU_CFR), Published(13.18e-3, KIM)),
        peer=GOOFSPIEL,
        peer_iterations=8,
    ),
    "liars_dice": Row(
        "liar's dice, 1 die each",
        "liars_dice",
        histories=294_883,
        published=(Published(0.556e-3, GPU_CFR), Published(16.545e-3, KIM)),
        peer="liars_dice",
        peer_iterations=3,
    ),
    "dark_hex": Row(
        "dark hex, 2 x 2",
        "openspiel:dark_hex(board_size=2)",
        histories=441,
        published=(Published(0.174e-3, GPU_CFR), Published(11.7e-3, KIM)),
        peer="dark_hex(board_size=2)",
        peer_iterations=200,
    ),
    "battleship": Row(
        "battleship, 2 x 2, ships of 1 and 2, 3 shots",
        BATTLESHIP.format(sizes="[1;2]", values="[1;2]"),
        histories=324_981,
        published=(Published(0.380e-3, GPU_CFR), Published(14.4e-3, KIM)),
        tree="their size is not published; this game and the next one bracket it, if LiteEFG's "
        "time per history is that of liar's dice",
        peer=BATTLESHIP.format(sizes="[1;2]", values="[1;2]").removeprefix("openspiel:"),
        peer_iterations=2,
    ),
    "battleship_tiny": Row(
        "battleship, 2 x 2, a ship of 2, 3 shots",
        BATTLESHIP.format(sizes="[2]", values="[1]"),
        histories=58_709,
        published=(Published(0.380e-3, GPU_CFR), Published(14.4e-3, KIM)),
        tree="the game *tiny* of Kim's repository (uoftcprg/gpugt); see the row above",
        peer=BATTLESHIP.format(sizes="[2]", values="[1]").removeprefix("openspiel:"),
        peer_iterations=8,
    ),
    "river_100": Row(
        "river, 100 hands each",
        "holdem",
        drawn("QsJh2h8d3c", 100, 9161),
        histories=137_516,
        published=(Published(0.210e-3, GPU_CFR), Published(9.642e-3, KIM)),
        tree=COUNTED.format(states="137,415", pairs="9,161", nodes="15", which=""),
    ),
    "turn_12": Row(
        "turn, 12 hands each",
        "holdem",
        drawn("Td9d6hQc", 12, 131),
        {"cut": 2},
        histories=434_278,
        published=(Published(0.397e-3, GPU_CFR), Published(11.893e-3, KIM)),
        tree=COUNTED.format(
            states="433,610", pairs="131", nodes="3,310", which=", without those of chance"
        )
        + ". All boards lie side by side (`cut=2`)",
    ),
    "endgame_4": Row(
        "Libratus' endgame 4 (river)",
        "holdem",
        endgame(4, "33%,75%,a", "100%,a"),
        histories=36_099_490,
        published=(
            Published(2.374 / 200, KIM),
            Published(3.184 / 200, f"{GPU_CFR_ENDGAME}, after 291 s of loading and compiling"),
            Published(2771 / 200, "the same table: LiteEFG, Xeon"),
        ),
        tree=SIZES.format(count="36.1"),
    ),
    "endgame_4_large": Row(
        "the same, more sizes",
        "holdem",
        endgame(4, "50%,100%,200%,a", "50%,100%,200%,a"),
        histories=58_898_722,
        published=(Published(2.374 / 200, KIM),),
        tree="larger than theirs",
    ),
    "endgame_3": Row(
        "Libratus' endgame 3 (river)",
        "holdem",
        endgame(3, "33%,75%,a", "100%,a"),
        histories=93_169_643,
        tree=SIZES.format(count="93.2") + ", which GPU-CFR could not export",
    ),
    "endgame_2": Row(
        "Libratus' endgame 2 (turn)",
        "holdem",
        endgame(2, "50%,100%", "100%"),
        histories=2_107_001_653,
        tree="nothing is published",
    ),
    "endgame_1": Row(
        "Libratus' endgame 1 (turn)",
        "holdem",
        endgame(1, "50%,100%", "100%"),
        histories=16_495_414_465,
        tree="nothing is published",
    ),
    "cuda_short": Row(
        "turn, short stacks",
        "holdem",
        spot("Qs9h2d7c", pot=500, stacks=150, bets="50%,75%", **CUDA_TREE),
        published=(Published(89e-6, CUDA),),
        tree=_cuda(537),
    ),
    "cuda_standard": Row(
        "turn, two sizes",
        "holdem",
        spot("Qs9h2d7c", pot=200, stacks=500, bets="50%,75%", **CUDA_TREE),
        published=(Published(215e-6, CUDA),),
        tree=_cuda(5943),
    ),
    "cuda_wide": Row(
        "turn, four sizes",
        "holdem",
        spot("Qs9h2d7c", pot=300, stacks=1500, bets="25%,50%,75%,125%", **CUDA_TREE),
        published=(Published(1240e-6, CUDA),),
        tree=_cuda(51_903),
    ),
    "cuda_flop": Row(
        "flop, two sizes",
        "holdem",
        spot("Qs9h2d", pot=200, stacks=500, bets="50%,75%", **CUDA_TREE),
        published=(Published(18e-3, CUDA),),
        tree=_cuda(615_234),
    ),
    "preset": Row(
        "PioSOLVER's preset (flop)",
        "holdem",
        lambda: _preset(),
        tree="the tree of postflop-solver's test; published times are of whole programs, see "
        "[spots](spots.md)",
    ),
}
FOLDER: list[Path] = []
"""The folder of Libratus' endgames, if it was given."""


def _preset() -> dict[str, Any]:
    from scripts.preset import NO_THRESHOLDS, SPOT

    return SPOT | NO_THRESHOLDS


def read_endgame(number: int) -> dict[str, Any]:
    """Read the board, pot and ranges of an endgame; stacks were 20,000 before the hand.

    Raises:
        OSError: There is no such file.
    """
    text = (FOLDER[0] / f"subgame{number}.txt").read_text()
    fields = dict(line.lstrip("-").split(" ", 1) for line in text.splitlines() if line.strip())
    reach = np.array(fields["reach"].split(), dtype=np.float64).reshape(2, len(HANDS))
    # The files order cards by rank, and spades, hearts, diamonds, clubs within a rank.
    cards = [CARDS.index(rank + suit) for rank in "23456789TJQKA" for suit in "shdc"]
    ranges = []
    for weights in reach:
        ordered = np.zeros(len(HANDS))
        pairs = ((a, b) for k, a in enumerate(cards) for b in cards[k + 1 :])
        for (a, b), weight in zip(pairs, weights.tolist(), strict=True):
            ordered[HAND_NUMBER[max(a, b), min(a, b)]] = weight
        ranges.append(range_text(ordered))
    pot = int(fields["pot"])
    return {
        "board": fields["board"],
        "ranges": tuple(ranges),
        "pot": pot,
        "stacks": 20_000 - pot // 2,
    }


# ------------------------------------------------------------------------------- the bound


PASS_OPERATIONS = 16
"""Operations of both passes per sequence: value, size, regret, clipping, sum, division, average,
reach."""


@dataclass(frozen=True)
class Work:
    """Work of an iteration, counted from the arrays."""

    moved: int
    """Bytes of regrets and cumulative strategies, which are read and written once, and of payoffs,
    which are read once for each player."""
    working_set: int
    """Bytes of these arrays."""
    operations: int
    """Multiplications, additions and comparisons."""


def work_of(game: CompiledGame) -> Work:
    """Count the work of an iteration in single precision."""
    form = game.chunked_form(merged=True)
    payoff_bytes, read_once, operations = 0, 0, PASS_OPERATIONS * form.n_numbers
    for part in form.trunk.operator:
        n_bytes = sum(array.nbytes for array in part)
        payoff_bytes += n_bytes
        # Each entry belongs to one player; other payoffs are read for both.
        read_once += n_bytes if isinstance(part, PayoffEntries) else 0
        operations += operations_of(part)
    if form.n_chunks:
        operations += operations_in_chunks(form)
        shapes = not_none(form.shapes)
        payoff_bytes += shapes.indices.nbytes + shapes.reals.nbytes
    state = 2 * 4 * form.n_numbers
    return Work(2 * state + 2 * payoff_bytes - read_once, state + payoff_bytes, operations)


def operations_of(part: Any) -> int:
    """Count the operations of a part of the payoff operator, for both players."""
    if isinstance(part, PayoffEntries):
        return 2 * len(part.value)  # The entries of each player are listed.
    if isinstance(part, PayoffBlocks):
        listed = np.add.reduceat(part.weight != 0.0, part.program_offset[:-1])
        count, matrix = part.block[:, COUNT], part.block[:, MATRIX]
        return int(2 * (count * (listed[2 * matrix] + listed[2 * matrix + 1])).sum())
    assert isinstance(part, PayoffCards)
    return sum(
        count * _per_terminal(kind) * int(part.lanes[part.board[board, 2]][[0, 2]] @ (-1, 1))
        for count, board, kind in part.group.tolist()
    )


def _per_terminal(kind: int) -> int:
    """Return the operations of a hand at a terminal: additions to the sums of two cards and of all
    hands, and subtractions from them; twice if hands are compared."""
    return 3 + 4 if kind == FOLD else 6 + 6


def operations_in_chunks(form: ChunkedForm) -> int:
    """Count the operations of the payoffs of all chunks."""
    shapes = not_none(form.shapes)
    fields, total = shapes.fields, 0
    known: dict[tuple[int, int], int] = {}
    if "cards/group" not in fields:
        return 2 * 2 * len(shapes.reals)
    of_groups, of_lanes = fields.index("cards/group"), fields.index("cards/lanes")
    for shape in form.shape.tolist():
        begin, size, _ = shapes.place[shape, of_groups].tolist()
        first, count, _ = shapes.place[shape, of_lanes].tolist()
        if (begin, first) not in known:
            lanes = shapes.integers[first : first + count].reshape(-1, 3)
            hands = int((lanes[:, 2] - lanes[:, 0]).max())
            groups = shapes.integers[begin : begin + size].reshape(-1, 3)
            known[begin, first] = hands * sum(n * _per_terminal(k) for n, _, k in groups.tolist())
        total += known[begin, first]
    return total


# ------------------------------------------------------------------------------- measure


def measure(row: Row, threads: int, seconds: float) -> dict[str, Any]:
    """Measure a row on some threads.

    Args:
        row: The row.
        threads: Threads that pass over the game.
        seconds: Seconds after which the search for an exploitability ends.
    """
    started, cpu = time.perf_counter(), time.process_time()
    options = row.options()
    game = compile_game(row.source, **options, **row.layout)
    compiled = time.perf_counter() - started
    compiled_cpu = time.process_time() - cpu
    algorithm = resolve_algorithm(None, game, "float32")
    solver = Solver(game, precision="float32", threads=threads)
    solver.iterate(1)
    solver.evaluate()
    begin = time.perf_counter()
    solver.iterate(1)
    each = max(1, int(ROUND_SECONDS / max(time.perf_counter() - begin, 1e-7)))
    timing = Timing(each)
    for _ in range(ROUNDS):
        timing.run(solver.iterate)
        if sum(timing.wall) * each > seconds:
            break
    memory = game.nbytes + bytes_needed(game, algorithm, "float32", threads=threads)
    del solver
    scale = options.get("pot") or float(np.abs(game.utilities).max())
    reached, solution, spent = [], None, 0.0
    for share in SHARES:
        begin = time.perf_counter()
        solution = solve(
            game,
            target=share * scale,
            precision="float32",
            threads=threads,
            start=solution,
            time_limit=max(seconds - spent, 0.1),
        )
        spent += time.perf_counter() - begin
        if solution.exploitability > share * scale:
            break
        reached.append({"iterations": solution.iterations, "seconds": compiled + spent})
    work = work_of(game)
    return {
        "histories": game.n_histories,
        "infosets": game.n_infosets,
        "public nodes": None if game.nodes is None else game.nodes.count,
        "numbers": game.chunked_form(merged=True).n_numbers,
        "algorithm": algorithm.name,
        "compile seconds": compiled,
        "compile cpu": compiled_cpu,
        "seconds": statistics.median(timing.wall),
        "cpu": timing.seconds,
        "reached": reached,
        "useful threads": resolve_threads("auto", game, on_cluster=False),
        "exploitability": solution.exploitability / scale if solution else None,
        "bytes": int(memory),
        "moved": work.moved,
        "working set": work.working_set,
        "operations": work.operations,
    }


def measure_peers(row: Row, name: str) -> dict[str, float]:
    """Return seconds per iteration of CFR+ by the peers that are installed."""
    found = {}
    contest = Contest(name, row.title, "", row.peer)
    for tool in ("OpenSpiel", "LiteEFG"):
        # LiteEFG writes the game out as text first, which takes minutes for large games.
        if not (row.peer and available(tool)) or (tool == "LiteEFG" and row.peer_iterations < 8):
            continue
        try:
            runner = TOOLS[tool](contest, "cfr+")
        except Exception as error:
            progress(f"{name}: {tool} does not run: {error}")
            continue
        runner.iterate(1)
        rounds = []
        for _ in range(3):
            begin = time.process_time()
            runner.iterate(row.peer_iterations)
            rounds.append((time.process_time() - begin) / row.peer_iterations)
        found[tool] = statistics.median(rounds)
    return found


def bound_of(found: Mapping[str, Any], limits: Mapping[str, Any]) -> tuple[float, str]:
    """Return the seconds that an iteration takes at least on one core, and their reason."""
    level = cache_level(found["working set"])
    bandwidth = limits["bandwidth"].get(level) or min(limits["bandwidth"].values())
    moving = found["moved"] / bandwidth
    computing = found["operations"] / limits["operations"]
    return (moving, f"bytes, {level}") if moving > computing else (computing, "operations")


# ------------------------------------------------------------------------------- the page


def page(kept: Mapping[str, Any]) -> str:
    """Return the page from stored results."""
    rows: dict[str, Any] = {name: kept["rows"][name] for name in ROWS if name in kept["rows"]}
    return HEAD.format(
        summary="\n".join(_summary(rows)),
        published=table(
            [
                "game",
                "histories",
                "one core",
                "all cores",
                "published",
                "times faster, one core",
                "peers here",
            ],
            [_speed(name, found) for name, found in rows.items()],
        ),
        solved=table(
            [
                "game",
                "load and compile",
                "to 1 %",
                "to 0.1 %",
                "to 0.01 %",
                "on all cores",
                "memory",
            ],
            [_solved(name, found) for name, found in rows.items()],
        ),
        bounds=table(
            ["game", "ns per number", "bound, ns", "because of", "times the bound"],
            [_bound(name, found, kept["limits"]) for name, found in rows.items()],
        ),
        trees="\n".join(
            f"* **{ROWS[name].title}**: {ROWS[name].tree}." for name in rows if ROWS[name].tree
        ),
        sources="\n".join(f"* {source}." for source in _sources(rows)),
        machine=machine_lines(kept["machine"]),
        limit=kept["seconds"],
    )


def _summary(rows: Mapping[str, Any]) -> list[str]:
    """Return who is faster, as a list."""
    lines = []
    for source, program in (
        (GPU_CFR, "GPU-CFR on an A100"),
        (CUDA, "cuda-poker-solver on an RTX 4070"),
    ):
        times = {
            name: number.seconds / found["one"]["cpu"]
            for name, found in rows.items()
            for number in ROWS[name].published
            if number.source == source and name != "battleship_tiny"
        }
        if not times:
            continue
        slower = [name for name, ratio in times.items() if ratio < 1.0]
        lines.append(
            f"* Next to {program}, one core is faster on {len(times) - len(slower)} of "
            f"{len(times)} games. The factors go from {significant(min(times.values()))} to "
            f"{significant(max(times.values()))}."
        )
    return lines


def _sources(rows: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(p.source for name in rows for p in ROWS[name].published))


def _speed(name: str, found: Mapping[str, Any]) -> list[str]:
    one, published = found["one"], ROWS[name].published
    best = min(published, key=lambda number: number.seconds) if published else None
    peers = ", ".join(f"{tool} {duration(s)}" for tool, s in found["peers"].items())
    return [
        ROWS[name].title,
        f"{one['histories']:,}",
        duration(one["cpu"]),
        duration(found["all"]["seconds"]) if "all" in found else "the same",
        f"{duration(best.seconds)} ({_hardware(best.source)})" if best else "-",
        f"**{significant(best.seconds / one['cpu'])}**" if best else "-",
        peers or "-",
    ]


def _hardware(source: str) -> str:
    return next(gpu for gpu in ("A100", "RTX 4070", "Xeon") if gpu in source)


def _solved(name: str, found: Mapping[str, Any]) -> list[str]:
    one, both = found["one"], found.get("all")
    cells = [ROWS[name].title, duration(one["compile seconds"])]
    for k in range(len(SHARES)):
        reached = one["reached"]
        cells.append(
            f"{duration(reached[k]['seconds'])} ({reached[k]['iterations']:,})"
            if k < len(reached)
            else "not reached"
        )
    shares, last = ("1 %", "0.1 %", "0.01 %"), both["reached"][-1:] if both else []
    if not both:
        cells.append("the same")
    elif not last:
        cells.append("not reached")
    else:
        cells.append(f"{shares[len(both['reached']) - 1]} in {duration(last[0]['seconds'])}")
    return [*cells, megabytes(one["bytes"])]


def _bound(name: str, found: Mapping[str, Any], limits: Mapping[str, Any]) -> list[str]:
    one = found["one"]
    least, reason = bound_of(one, limits)
    each = 1e9 / one["numbers"]
    return [
        ROWS[name].title,
        significant(one["cpu"] * each),
        significant(least * each),
        reason,
        significant(one["cpu"] / least),
    ]


HEAD = """# The field: this library next to solvers on graphics cards

How long do the fast systems of 2026 take, and this library on one core? Their authors publish
tables; *published* numbers below are copied from them, with their hardware. All other numbers
were measured in one run of `python -m benchmarks.field`, in single precision and with the default
algorithm; the rows of battleship are from a later run, with symmetric choices merged. The published
systems run CFR+ or discounted CFR, so an iteration does the same work: one update of each player.

## Seconds per iteration

{summary}

{published}

*Times faster* compares one core, by its processor time, with the fastest published number. *All
cores* is *the same* if threads do not help. OpenSpiel (in C++) and LiteEFG run their CFR+ on one
core.

## Seconds to an exploitability

Seconds include loading, compiling and evaluating; the number of iterations is in brackets.
Percentages are of the pot, or of the largest utility. A share is *not reached* within the time
limit of the run, {limit:g} s.

{solved}

## The bound

An iteration reads and writes every regret and every cumulative strategy once, and reads the
payoffs once for each player. A terminal takes seven or twelve operations for each hand, and an
infoset sixteen for each action. The bound is the larger of two times: these bytes over the
bandwidth of the memory that holds them, and these operations over the peak of one core in single
precision. A *number* is one regret.

{bounds}

## Are the trees the same?

{trees}

## Sources

{sources}

Measured on: {machine}
"""


def main() -> None:
    """Run the missing measurements, store them, and write the page."""
    parser = arguments(__doc__)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--libratus", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--again", action="store_true", help="measure rows that are stored, too")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    FOLDER[:] = [options.libratus] if options.libratus else []
    kept: dict[str, Any] = {"rows": {}} | read_json(FILE)
    if not options.page:
        if "limits" not in kept or options.again:
            progress("bandwidth and peak")
            # The kernels compute in single precision, twice as many numbers at a time.
            kept["limits"] = {
                "bandwidth": triad_bandwidth(),
                "operations": 2.0 * peak_operations(),
            }
        for name in options.rows:
            row = ROWS[name]
            if name in kept["rows"] and not options.again:
                continue
            if name.startswith("endgame") and not FOLDER:
                progress(f"{name}: left out without --libratus")
                continue
            progress(name)
            found = {"one": measure(row, 1, options.seconds)}
            if (threads := found["one"]["useful threads"]) > 1:
                found["all"] = measure(row, threads, options.seconds)
            kept["rows"][name] = found | {"peers": measure_peers(row, name)}
            kept |= {"machine": machine(), "seconds": options.seconds}
            write_json(FILE, kept)
    PAGE.write_text(page(kept), "utf-8")


if __name__ == "__main__":
    main()
