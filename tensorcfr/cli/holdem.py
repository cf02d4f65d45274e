"""The command ``holdem``: solve a spot, and look at its lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .._util.signals import put_off
from ..abstraction import abstract_hands, buckets_by_future, buckets_by_strength, lift
from ..analysis import SolvedSpot
from ..analysis.hands import SHARES, UNITS
from ..compilers import Size, compile_game, game_size
from ..errors import format_bytes, suggest
from ..formats import save_spot
from ..formats.other_spots import ENDINGS
from ..games.holdem import Holdem
from ..model.game import CompiledGame
from ..solvers.driver import run
from ..solvers.request import SolveRequest
from ..solvers.solution import Solution
from . import arguments, holdem_report
from .console import plain_console, solve_bar, takes
from .report import print_line
from .spots import GivenSpot, SpotOptions, spot_options

PRECISION = "float32"
"""What the arrays are kept in if nothing else is said."""
DEFAULT_TARGET = 0.5
"""Per cent of the pot at which a solve stops if nothing says when."""
UNIT_NAMES = {"chips": "chips", "pot": "% of the pot", "mbb": "mbb"}
"""What values are counted in."""

BUCKETS: dict[str, Callable[..., Any]] = {
    "strength": buckets_by_strength,
    "width": partial(buckets_by_strength, spacing="width"),
    "board": partial(buckets_by_strength, by_board=True),
    "future": buckets_by_future,
}
"""What hands can be put into buckets by."""

Algorithm = Annotated[
    str | None,
    typer.Option(help=f"See: tensorcfr algorithms; by default {arguments.ON_SPOTS}."),
]
Precision = Annotated[
    str, typer.Option(help="'float32', 'float64', or 'int16' for half the memory.")
]
Threads = Annotated[int, typer.Option(min=1, help="Threads; the same bits.")]


@dataclass(frozen=True)
class HoldemOptions:
    """What ``holdem`` takes, the options of the spot apart."""

    spot: Annotated[
        Path | None,
        typer.Argument(
            help=f"A file with a spot ({', '.join(ENDINGS)}), or a solution (.npz) to look at."
        ),
    ] = None
    locks: Annotated[
        list[str] | None,
        typer.Option(
            "--lock",
            metavar="HANDS LINE:ACTION=P,...",
            help="Fix what hands do at a line, 'AA-TT,AKs check bet66:call=1', with * for all "
            "hands or any card, and solve the rest; repeatable.",
        ),
    ] = None
    buckets: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Solve with so many buckets of each player's hands in place of the hands, and "
            "evaluate the strategies among all hands.",
        ),
    ] = None
    buckets_by: Annotated[
        str, typer.Option(help=f"What hands of a bucket share: {', '.join(BUCKETS)}.")
    ] = "strength"
    size: Annotated[
        bool, typer.Option("--size", help="Say how large the spot is, and do no more.")
    ] = False
    algorithm: Algorithm = None
    target: Annotated[
        float | None,
        typer.Option(
            help="Stop at an exploitability of so many per cent of the pot; "
            f"{DEFAULT_TARGET:g} if nothing says when."
        ),
    ] = None
    iters: Annotated[int | None, typer.Option(help="Stop after so many iterations.")] = None
    time_limit: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None
    threads: Threads = 1
    precision: Precision = PRECISION
    memory_limit: arguments.MemoryLimit = None
    line: Annotated[
        list[str] | None,
        typer.Option(
            help="Show the hands at a line, 'check bet60 call 7s', or with * for any card all "
            "runouts, 'check check *'; repeatable.  By default the start."
        ),
    ] = None
    unit: Annotated[str, typer.Option(help=f"Of values: {', '.join(UNITS)}.")] = "chips"
    big_blind: Annotated[float, typer.Option(help="Chips of the big blind, for mbb.")] = 1.0
    of: Annotated[
        str,
        typer.Option(help="Values of hands: 'net', or 'pot', the share of the pot at the line."),
    ] = "net"
    hands: Annotated[
        int, typer.Option(min=0, help="Hands to print at a line; 0 prints them all.")
    ] = 20
    export: Annotated[
        Path | None,
        typer.Option(help="Write the last --line to a file (.csv, .json, .parquet)."),
    ] = None
    picture: Annotated[
        Path | None, typer.Option(help="Draw the last --line to a file (.png, .svg ...).")
    ] = None
    save_spot_as: Annotated[
        Path | None, typer.Option("--save-spot", help="Write the spot to a file (.toml, .txt).")
    ] = None
    save: Annotated[Path | None, typer.Option(help="Save the solution (.npz).")] = None
    force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False


@takes(SpotOptions, HoldemOptions)
def holdem(spot: SpotOptions, asked: HoldemOptions) -> None:
    """Solve a spot of hold'em after the flop, and show hands and runouts."""
    given = spot.given
    _check(asked)
    console = plain_console()
    if asked.spot is not None and asked.spot.suffix == ".npz":
        _check_look(asked, given)
        solution = Solution.load(asked.spot)
        shown = SolvedSpot(solution, of=asked.of)
    else:
        options = spot_options(asked.spot, given)
        rules = Holdem(**options)
        print_line(console, _size_line(rules, game_size("holdem", **options)))
        if asked.save_spot_as:
            save_spot(rules, asked.save_spot_as)
        if asked.size:
            return
        limit = arguments.read_memory_limit(asked.memory_limit)
        game = compile_game("holdem", memory_limit=limit, **options)
        with put_off(), solve_bar(0, asked.time_limit) as show:
            solution = run(_request(asked, game, rules), show.solving)
        if asked.save:
            solution.save(asked.save)
        if asked.buckets is not None:
            print_line(console, _buckets_line(solution, rules))
            solution = replace(solution, game=game, policy=lift(solution), state=None)
        shown = SolvedSpot(solution, of=asked.of)
        if asked.buckets is not None:
            solution = replace(solution, evaluation=shown.evaluation)
    _show(console, shown, solution, asked)


def _show(console: Console, shown: SolvedSpot, solution: Solution, asked: HoldemOptions) -> None:
    """Print the whole spot, and the hands or the runouts at each line; write the last one."""
    rules = shown.rules
    if not isinstance(rules, Holdem):
        raise ValueError(f"{shown.game.name} is no spot of hold'em: tensorcfr show prints it")
    units, unit = partial(shown.units, unit=asked.unit, big_blind=asked.big_blind), asked.unit
    holdem_report.print_spot(console, rules, solution, units, UNIT_NAMES[unit])
    last: Any = None
    for text in asked.line or [""]:
        if "*" in text.split():
            last = shown.runouts(text, equity=True)
            holdem_report.print_runouts(console, last, units)
        else:
            last = shown.table(text)
            holdem_report.print_hands(console, last, units, UNIT_NAMES[unit], asked.hands)
    if asked.export:
        last.save(asked.export)
    if asked.picture:
        from ..plots import draw_line

        draw_line(last, path=asked.picture)


def _check(asked: HoldemOptions) -> None:
    """Refuse options that make no sense, before anything is solved."""
    arguments.check_save("--save", asked.save, force=asked.force)
    arguments.check_plot("--picture", asked.picture, force=asked.force)
    arguments.check_target("--export", asked.export, force=asked.force)
    arguments.check_target("--save-spot", asked.save_spot_as, force=asked.force)
    if asked.size and (asked.save or asked.export or asked.picture or asked.line):
        raise ValueError("--size solves nothing: there is nothing to save, export or show")
    if asked.unit not in UNITS:
        raise ValueError(f"--unit {asked.unit}: {suggest(asked.unit, UNITS)}")
    if asked.of not in SHARES:
        raise ValueError(f"--of {asked.of}: {suggest(asked.of, SHARES)}")
    if asked.buckets_by not in BUCKETS:
        raise ValueError(f"--buckets-by {asked.buckets_by}: {suggest(asked.buckets_by, BUCKETS)}")
    if asked.buckets is not None and (asked.save or asked.locks):
        raise ValueError(
            f"--buckets: {'--save' if asked.save else '--lock'} takes a solve of hands"
        )


SHOWS = {"spot", "line", "unit", "big_blind", "of", "hands", "export", "picture", "force"}
"""Options for a spot that is solved already."""


def _check_look(asked: HoldemOptions, given: GivenSpot) -> None:
    """Refuse what solves, where a solution is looked at."""
    solves = any(
        getattr(asked, one.name) != one.default
        for one in fields(asked)
        if one.name not in SHOWS | {"buckets_by"}
    )
    if given or solves:
        raise ValueError(f"{asked.spot} is a solution: it takes --line and what shows lines")


def _request(asked: HoldemOptions, game: CompiledGame, rules: Holdem) -> SolveRequest:
    """What to solve, and when to stop."""
    target = asked.target
    if target is None and asked.iters is None and asked.time_limit is None:
        target = DEFAULT_TARGET
    solved = game
    if asked.buckets is not None:
        solved = abstract_hands(game, BUCKETS[asked.buckets_by](game, asked.buckets))
    # Locks name hands, which buckets do not have; the two exclude each other.
    return arguments.read_request(
        asked,
        solved,
        algorithm=asked.algorithm and arguments.read_algorithm(asked.algorithm),
        target=None if target is None else target / 100.0 * rules.pot,
    )


def _buckets_line(solution: Solution, rules: Holdem) -> str:
    """What the solve of buckets says of itself."""
    exploitability = solution.exploitability
    return (
        f"{solution.game.name}, {solution.game.n_infosets:,} infosets: among buckets the "
        f"exploitability is {exploitability:.4g} chips, {100 * exploitability / rules.pot:.3g} % "
        "of the pot; from here on all hands are told apart"
    )


def _size_line(rules: Holdem, size: Size) -> str:
    """How large a spot is."""
    hands = " x ".join(str(len(own)) for own in rules.hands)
    whole = {
        floats: format_bytes(int(size.bytes_in_all(floats)[1])) for floats in ("float32", "int16")
    }
    return (
        f"{rules.name}: {hands} hands, {size.public_nodes:,} public nodes, "
        f"{int(size.infosets):,} infosets; {whole['float32']} in float32, {whole['int16']} in int16"
    )
