"""Compare every iterative variant, and every weight of the average, on a suite of games.

One part of the suite is to choose on, the other to judge on.

    python -m scripts.variants games            save the games that come from OpenSpiel
    python -m scripts.variants measure [PART]   iterations to ten decades; goes on where it stopped
    python -m scripts.variants write            tables and pictures of docs/results/variants.md

``measure`` counts iterations, which do not depend on the machine.  It needs no OpenSpiel, only the
games that ``games`` has saved, and takes some ten minutes for each part on one core.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._common import progress, table
from tensorcfr import CompiledGame, compile_game, load_game, save_game
from tensorcfr.plots.style import (
    TITLE_SIZE,
    End,
    caption,
    draw_line,
    light_grid,
    line_styles,
    log_axes,
    new_figure,
    save_picture,
)
from tensorcfr.solvers.base import IterativeSolver, solver_class
from tensorcfr.sweep import read_algorithm

from ._pages import (
    DOCS,
    FIGURES,
    ROOT,
    arguments,
    read_records,
    read_rows,
    write_parts,
    write_rows,
)

SAVED = ROOT / "build" / "variants"
"""The games that come from OpenSpiel, as files."""
PAGE = DOCS / "results" / "variants.md"


class Suited(NamedTuple):
    """A game of the suite."""

    most: int
    """Iterations after which a solve ends."""
    source: Any = None
    """Name in OpenSpiel, or a spot of hold'em, if the name is not that of a built-in game."""
    unit: float = 1.0
    """Unit of exploitabilities: in poker for chips, the pot or the blinds that are there first."""

    @property
    def is_of_cards(self) -> bool:
        """True if it is a spot, or another card game with a board."""
        return self.unit > 1.0


SIMULTANEOUS = "openspiel:turn_based_simultaneous_game(game={})"
SHIPS = (
    "openspiel:battleship(board_width={},board_height=2,ship_sizes=[{}],ship_values=[{}],"
    "num_shots=2,allow_repeated_shots=False)"
)
HEX = "openspiel:dark_hex(num_rows=2,num_cols={},gameversion={})"
NARROW = ("QQ-99,AKs,AQs,KQs,JTs", "JJ-77,AQs-ATs,KQs,KJs,QJs,T9s")
SPOT = {"ranges": NARROW, "pot": 100, "stacks": 200}

CHOOSE: dict[str, Suited] = {
    "kuhn": Suited(200_000),
    "kuhn(players=3)": Suited(20_000),
    "leduc": Suited(60_000),
    "nl_leduc(stack=4)": Suited(30_000),
    "goofspiel(cards=4)": Suited(100_000),
    "goofspiel(cards=4, prizes='random')": Suited(10_000),
    "liars_dice(faces=4)": Suited(30_000),
    "liars_dice(faces=5)": Suited(20_000),
    "blotto_6_4": Suited(30_000, SIMULTANEOUS.format("blotto(coins=6,fields=4,players=2)")),
    "battleship_2x2": Suited(10_000, SHIPS.format(2, "1;2", "1;2")),
    "oshi_zumo_4": Suited(3_000, SIMULTANEOUS.format("oshi_zumo(coins=4,size=1,horizon=6)")),
    "dark_hex_2x2": Suited(30_000, HEX.format(2, "cdh")),
    "river": Suited(
        20_000, SPOT | {"board": "QsJh2h8d3c", "bets": "50%,100%", "raises": "60%"}, 100.0
    ),
}
"""Games that the weights of the default were chosen on."""
JUDGE: dict[str, Suited] = {
    "kuhn(cards=20)": Suited(100_000),
    "kuhn(players=4)": Suited(20_000),
    "leduc(ranks=5)": Suited(60_000),
    "leduc(players=3)": Suited(200),
    "nl_leduc(stack=9)": Suited(15_000),
    "goofspiel(cards=5)": Suited(50_000),
    "liars_dice": Suited(40_000),
    "blotto_10_3": Suited(30_000, SIMULTANEOUS.format("blotto(coins=10,fields=3,players=2)")),
    "battleship_3x2": Suited(10_000, SHIPS.format(3, "2", "1")),
    "oshi_zumo_5": Suited(10_000, SIMULTANEOUS.format("oshi_zumo(coins=5,size=1,horizon=5)")),
    "dark_hex_2x3": Suited(20_000, HEX.format(3, "adh")),
    "limit_poker(ranks='TJQKA', suits=3)": Suited(600, None, 150.0),
    "rhode_island": Suited(150, None, 10.0),
    "river_other": Suited(
        20_000, SPOT | {"board": "KcKh8s5d2s", "bets": "33%,75%", "raises": "2.5x"}, 100.0
    ),
    "turn": Suited(1_000, SPOT | {"board": "Td9d6hQc", "bets": "60%", "raises": "a"}, 100.0),
}
"""Games that nothing was chosen on.  The split was written before it was measured.  It includes
that of VAD-CFR (arXiv 2602.16928).  Kuhn poker of three players, Leduc poker, goofspiel with four
cards and liar's dice with five faces are to choose on.  Kuhn of four players, Leduc of three,
goofspiel with five cards and liar's dice with six faces are to judge on."""
PARTS = {"choose": CHOOSE, "judge": JUDGE}
MANY_PLAYERS = frozenset(name for part in PARTS.values() for name in part if "players=" in name)
"""Games of three players or more: no algorithm is known to find their equilibria."""

FORMER = "sapcfr+"
"""The default up to version 0.7.0, which others are compared with."""
LONGER = 10
"""Factor by which solves on the games to judge on are longer, so that ratios up to it are known."""
BEFORE = "sapcfr+(alpha=1, average_power=7)"
"""The default from 0.8.0 to 0.13.0."""
DEFAULT = "paced-cfr+"
"""The default."""
SINGLE = "paced-cfr+(average_power=5)"
"""The default in single precision, in which games of cards are solved."""
CARDS = "dcfr(alpha=1.5, alpha_offset=2, beta=1, beta_offset=20, average_power=4)"
"""The default in games of cards; ``scripts/spots.py`` chose and judged it."""
MAIN = ("cfr", "cfr+", "dcfr", "dcfr+", "pcfr+", "pdcfr+", "idcfr+", FORMER, BEFORE, DEFAULT)
"""Algorithms in the pictures."""
BY_GAME = ("cfr+", "dcfr", "pdcfr+", FORMER, DEFAULT)
"""Algorithms in the tables game by game."""
JUDGED = ("lcfr", "icfr+", "rtcfr+", *MAIN)
"""All that are judged."""
ON_CARDS = (CARDS, "dcfr", "cfr+", FORMER, BEFORE, SINGLE)
"""Algorithms that are judged on card games."""
RULES = ("cfr+", "dcfr", "pcfr+", "pdcfr+", FORMER, "sapcfr+(alpha=1)", DEFAULT)
"""Rules whose averages are varied."""
WEIGHTS = (
    *(f"average_power={power}" for power in (0, 1, 2, 3, 5, 7, 10, 20)),
    *(f"average_power=2, average_growth={growth}" for growth in (1.001, 1.01)),
    "average_power=2, restart_base=2",
    "average_power=2, delay=100",
)
"""Weights of averages."""
KINDS = ("average", "last", "best")
"""Results of a solve: the average, the last iterate, the best of both so far."""

TARGETS = tuple(float(f"1e-{k}") for k in range(3, 13))
"""Ten decades of exploitability (nash_conv / players) to reach, in units of the game."""
SHOWN = (1e-3, 1e-6, 1e-9, 1e-12)
NOT_REACHED = "\N{EN DASH}"
MOST_RATIO = 1000.0
"""Right end of the profiles."""
RESULTS = FIGURES / "variants.csv"

PER_DECADE = 25
"""Evaluations per factor of ten in iterations."""


def with_weights(rule: str, weights: str) -> str:
    """Return the text of a rule with weights of its average."""
    return f"{rule[:-1]}, {weights})" if rule.endswith(")") else f"{rule}({weights})"


class Solved(NamedTuple):
    """A solve, by its average strategies, its last iterates, or the best of both."""

    game: str
    algorithm: str
    kind: str
    """One of :data:`KINDS`."""
    reached: str
    """Iterations to the targets, in their order, as far as these were reached."""
    iteration: int
    """The last iteration."""
    exploitability: float
    """Then, in units of the game."""


class Reached:
    """Iterations to the targets, by game and algorithm."""

    def __init__(self, solved: Sequence[Solved]) -> None:
        self.ends = {one[:3]: one for one in solved}
        self._at = {
            (*key, target): int(iteration)
            for key, one in self.ends.items()
            for target, iteration in zip(TARGETS, one.reached.split(), strict=False)
        }

    def iterations(self, game: str, algorithm: str, target: float, kind: str = "average") -> float:
        """Return the iterations, inf if the target is never reached, nan if it was not measured."""
        if (game, algorithm, kind) not in self.ends:
            return math.nan
        return self._at.get((game, algorithm, kind, target), math.inf)

    def ratio(
        self, game: str, algorithm: str, other: str, target: float, kind: str = "average"
    ) -> float:
        """Return the iterations over those of another algorithm's average.  If only the other does
        not reach the target, its last iteration counts, so the ratio is at most this; nan if
        neither does."""
        own = self.iterations(game, algorithm, target, kind)
        of = self.iterations(game, other, target)
        if math.isnan(own) or math.isnan(of) or own == of == math.inf:
            return math.nan
        return own / (self.ends[game, other, "average"].iteration if of == math.inf else of)

    def ratios(
        self, games: Sequence[str], algorithm: str, other: str, target: float, kind: str = "average"
    ) -> list[float]:
        """Return all known ratios, ascending."""
        found = (self.ratio(game, algorithm, other, target, kind) for game in games)
        return sorted(ratio for ratio in found if not math.isnan(ratio))


def two_player(part: str) -> list[str]:
    """Return the games of two players of a part."""
    return [name for name in PARTS[part] if name not in MANY_PLAYERS]


def default_of(game: str) -> str:
    """Return the default algorithm in a game."""
    suited = JUDGE.get(game) or CHOOSE[game]
    return CARDS if suited.is_of_cards else DEFAULT


def median(ratios: Sequence[float]) -> str:
    """Return the median of some ratios, the higher one of two."""
    middle = statistics.median_high(ratios) if ratios else math.inf
    return NOT_REACHED if middle == math.inf else f"{middle:.2g}"


def tables() -> dict[str, str]:
    """Return the generated parts of the page, by name."""
    reached = Reached(read_records(RESULTS, Solved))
    return {
        "goals": _goals(reached),
        "summary": _summary(reached),
        "games": _by_game(reached),
        "many players": _many(reached),
        "weights": _of_rules(reached, WEIGHTS, KINDS[:1]),
        "kinds": _of_rules(reached, ("",), KINDS),
    }


def _goals(reached: Reached) -> str:
    """Return the ratio of the default to the one before, game by game."""
    body = []
    games = two_player("judge")
    for game in games:
        cells, default = [], default_of(game)
        for target in SHOWN:
            own, of = (reached.iterations(game, name, target) for name in (default, FORMER))
            ratio = reached.ratio(game, default, FORMER, target)
            bound = "\N{LESS-THAN OR EQUAL TO} " if of == math.inf > own else ""
            cells.append(NOT_REACHED if not ratio < math.inf else f"{bound}{ratio:.2g}")
        far, near = (reached.iterations(game, default, target) for target in (1e-12, 1e-9))
        cells.append(f"{far / near:.2f}" if far < math.inf else NOT_REACHED)
        body.append([game, *cells])
    found = [
        sorted(r for g in games for r in reached.ratios([g], default_of(g), FORMER, target))
        for target in SHOWN
    ]
    body.append(["**median**", *(f"**{median(own)}**" for own in found), ""])
    return table(["", *(f"to {t:g}" for t in SHOWN), "1e-12 over 1e-9"], body)


def _summary(reached: Reached) -> str:
    """Return a row per algorithm: the median of its iterations over those of the former default."""
    body = []
    games = two_player("judge")
    for name in JUDGED:
        for kind in KINDS[: 2 if name in ("rtcfr+", DEFAULT) else 1]:
            cells = [f"`{name}`" + ("" if kind == "average" else f", {kind}")]
            for target in TARGETS:
                there = sum(
                    reached.iterations(game, name, target, kind) < math.inf for game in games
                )
                cells.append(
                    f"{median(reached.ratios(games, name, FORMER, target, kind))} ({there})"
                )
            body.append(cells)
    return table(["", *(f"{target:g}" for target in TARGETS)], body)


def _by_game(reached: Reached) -> str:
    """Return a row per game, a column per algorithm, and in each cell the iterations to all targets
    shown, the fewest in bold.  The default is that of the game."""

    def cell(game: str, name: str, target: float) -> str:
        own = reached.iterations(game, name, target)
        known = (reached.iterations(game, other, target) for other in (*MAIN, CARDS))
        least = min((one for one in known if not math.isnan(one)), default=math.inf)
        text = f"{own:,.0f}" if own < math.inf else NOT_REACHED
        return f"**{text}**" if own == least < math.inf else text

    body = []
    for game in two_player("judge"):
        names = [default_of(game) if name == DEFAULT else name for name in BY_GAME]
        body.append([game, *(", ".join(cell(game, name, t) for t in SHOWN) for name in names)])
    return table(["", *("default" if name == DEFAULT else f"`{name}`" for name in BY_GAME)], body)


def _many(reached: Reached) -> str:
    """Return the final exploitability in games of three players or more."""
    names = [game for part in PARTS.values() for game in part if game in MANY_PLAYERS]
    body = []
    for algorithm in JUDGED:
        ends = [reached.ends.get((game, algorithm, "average")) for game in names]
        cells = [f"{e.exploitability:.2g} ({e.iteration:,})" if e else NOT_REACHED for e in ends]
        body.append([f"`{algorithm}`", *cells])
    return table(["", *names], body)


def _of_rules(reached: Reached, weights: Sequence[str], kinds: Sequence[str]) -> str:
    """Return medians over the games to choose on: a row for each weight of the average, or, with
    weights as published, for the average, the last iterate and the best of both."""
    games, body = two_player("choose"), []
    for one, kind in product(weights, kinds):
        cells = []
        for rule in RULES:
            name = with_weights(rule, one) if one else rule
            found = [median(reached.ratios(games, name, FORMER, t, kind)) for t in SHOWN]
            cells.append(", ".join(found))
        body.append([f"`{one}`" if one else kind, *cells])
    return table(["", *(f"`{rule}`" for rule in RULES)], body)


def draw() -> None:
    """Draw profiles by decade, and curves by game, from the stored measurements."""
    reached = Reached(read_records(RESULTS, Solved))
    _draw_profiles(FIGURES / "variants_profiles.png", reached)
    _draw_games(FIGURES / "variants_games.png", reached)


def _shrink(path: Path) -> None:
    """Write a bitmap in a palette, in a third of the bytes."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def _draw_profiles(path: Path, reached: Reached) -> None:
    """Draw the share of games that an algorithm solves within a multiple of the first's iterations.

    Source of the form: E. Dolan, J. More, "Benchmarking optimization software with performance
    profiles", Mathematical Programming 91, 2002.
    """
    # Not all were measured on games of cards.
    games = [game for game in two_player("judge") if not JUDGE[game].is_of_cards]
    styles = line_styles(MAIN)
    figure = new_figure(10.0, 17.0)
    panels = figure.subplots(len(TARGETS) // 2, 2, squeeze=False).ravel()
    ends: dict[Any, list[End]] = {}
    for target, ax in zip(TARGETS, panels, strict=True):
        light_grid(ax)
        ax.set_xscale("log")
        ax.set_ylim(-0.02, 1.02)
        ends[ax] = []
        every = {g: [reached.iterations(g, name, target) for name in MAIN] for g in games}
        # A missing measurement is nan.
        least = {g: min(one for one in own if not math.isnan(one)) for g, own in every.items()}
        for name in MAIN:
            own = sorted(
                reached.iterations(game, name, target) / least[game]
                for game in games
                if least[game] < math.inf and not math.isnan(reached.iterations(game, name, target))
            )
            met = [ratio for ratio in own if ratio <= MOST_RATIO]
            x = [1.0, *met, MOST_RATIO]
            y = [0.0, *((k + 1) / len(games) for k in range(len(met))), len(met) / len(games)]
            ax.step(x, y, where="post", **styles[name])
            ends[ax].append((_short(name), str(styles[name]["color"]), x[-1], y[-1]))
        ax.set_xlim(1.0, MOST_RATIO)
        ax.set_title(f"to exploitability {target:g}", loc="left", fontsize=TITLE_SIZE)
        ax.set_xlabel("iterations, over those of the first algorithm")
    caption(
        figure,
        f"Share of {len(games)} games of two players that nothing was chosen on, games of cards "
        "apart.  A line that begins high is often first; a line that ends high is reliable.  "
        f"{FORMER} had {LONGER} times the iterations of the others.",
    )
    save_picture(figure, path, ends)
    _shrink(path)


def _short(name: str) -> str:
    return {DEFAULT: "default", CARDS: "default", BEFORE: "default before"}.get(name, name)


def _draw_games(path: Path, reached: Reached) -> None:
    """Draw a panel per game: exploitability against iterations."""
    styles = line_styles(MAIN)
    games = [
        game
        for game in two_player("judge")
        if any(reached.iterations(game, name, TARGETS[1]) < math.inf for name in MAIN)
    ]
    rows = math.ceil(len(games) / 2)
    figure = new_figure(10.0, 3.4 * rows)
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    ends: dict[Any, list[End]] = {}
    for game, ax in zip(games, panels, strict=False):
        log_axes(ax)
        ends[ax] = []
        for name in MAIN:
            ran = default_of(game) if name == DEFAULT else name
            own = [(reached.iterations(game, ran, target), target) for target in TARGETS]
            own = [point for point in own if point[0] < math.inf]
            if own:
                x, y = zip(*own, strict=True)
                ends[ax].append(draw_line(ax, _short(name), x, y, styles[name]))
        ax.set_title(game, loc="left", fontsize=TITLE_SIZE)
        ax.set_xlabel("iterations")
    for ax in panels[len(games) :]:
        ax.set_visible(False)
    caption(
        figure,
        "Exploitability of the average strategy, in units of the game; a point for every factor of "
        f"ten from {TARGETS[0]:g} to {TARGETS[-1]:g}.  No line: not there within the iterations.",
    )
    save_picture(figure, path, ends)
    _shrink(path)


def game_of(name: str, suited: Suited) -> CompiledGame:
    """Return a game of the suite; those of OpenSpiel from their files."""
    if isinstance(suited.source, str):
        return replace(load_game(SAVED / f"{name}.npz"), name=name)
    if suited.source is not None:
        return compile_game("holdem", **suited.source)
    return compile_game(name)


def save_games() -> None:
    """Compile the games of OpenSpiel, and save them."""
    SAVED.mkdir(parents=True, exist_ok=True)
    for part in PARTS.values():
        for name, suited in part.items():
            if isinstance(suited.source, str):
                path = save_game(compile_game(suited.source), SAVED / f"{name}.npz")
                progress(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")


def measure(part: str) -> None:
    """Measure iterations of all algorithms to the targets, on a part of the suite."""
    groups: list[tuple[str, ...]] = [(name,) for name in (CARDS, SINGLE, *reversed(JUDGED))]
    if part == "choose":
        groups = [(rule, *(with_weights(rule, one) for one in WEIGHTS)) for rule in reversed(RULES)]
    done = list[Mapping[str, Any]](read_rows(RESULTS))
    known = {(one["game"], one["algorithm"]) for one in done}
    for specs, (name, suited) in product(groups, PARTS[part].items()):
        missing = [spec for spec in specs if (name, spec) not in known]
        if part == "judge":
            own = ON_CARDS if suited.is_of_cards else JUDGED
            missing = [spec for spec in missing if spec in own]
        if not missing:
            continue
        game, begun = game_of(name, suited), time.process_time()
        for spec in missing:
            try:
                found = solved_of(name, suited, game, spec)
                # Weights change the average alone.
                kept = found if spec in (*RULES, *JUDGED) else found[:1]
                shown = ({"exploitability": f"{one.exploitability:.4g}"} for one in kept)
                done += [one._asdict() | end for one, end in zip(kept, shown, strict=True)]
                write_rows(RESULTS, done)
            except ValueError as refused:
                progress(f"{name}: {refused}")
        progress(f"{specs[0]} on {name}: {time.process_time() - begun:.0f} s")


def solved_of(name: str, suited: Suited, game: CompiledGame, spec: str) -> list[Solved]:
    """Solve to the smallest target, or to the largest number of iterations."""
    solver = solver_of(game, spec)
    reached: dict[str, list[int]] = {kind: [] for kind in KINDS}
    least, most = math.inf, suited.most
    if spec == FORMER and name in JUDGE and name not in MANY_PLAYERS and not suited.is_of_cards:
        most *= LONGER
    count = 1 + round(PER_DECADE * math.log10(most))
    for iteration in np.unique(np.geomspace(1, most, count).astype(int)).tolist():
        solver.iterate(iteration - solver.iteration)
        found = solver.evaluate(), solver.evaluate_current()
        average, last = (one.exploitability / suited.unit for one in found)
        least = min(least, average, last)
        here = dict(zip(KINDS, (average, last, least), strict=True))
        for kind, value in here.items():
            own = reached[kind]
            own += [iteration] * sum(value <= target for target in TARGETS[len(own) :])
        if all(len(own) == len(TARGETS) for own in reached.values()):
            break
    return [
        Solved(name, spec, kind, " ".join(map(str, reached[kind])), iteration, value)
        for kind, value in here.items()
    ]


def solver_of(game: CompiledGame, spec: str) -> IterativeSolver:
    """Return a solver for an algorithm.

    Raises:
        ValueError: The algorithm does not apply to the game.
    """
    record = read_algorithm(spec)
    kind = solver_class(record, game)
    assert kind is not None
    return kind(game, record, **({"seed": 0} if record.is_sampled else {}))


def write() -> None:
    """Draw and write the page from the stored measurements."""
    draw()
    write_parts(PAGE, "variants", tables())


COMMANDS = {"games": save_games, "write": write}
"""Commands without an argument."""


def main() -> None:
    """Measure, draw, write."""
    parser = arguments(__doc__)
    parser.add_argument("what", choices=("measure", *COMMANDS))
    parser.add_argument("part", nargs="?", choices=PARTS, help="to measure; by default both")
    options = parser.parse_args()
    if options.what == "measure":
        for part in [options.part] if options.part else PARTS:
            measure(part)
    else:
        COMMANDS[options.what]()


if __name__ == "__main__":
    main()
