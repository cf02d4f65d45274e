"""Command ``spot``, formerly ``holdem``: solve a spot, and show its lines."""

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
from ..compilers import GameSize, compile_game, game_size
from ..errors import format_bytes, suggest
from ..formats import save_spot
from ..formats.other_spots import ENDINGS
from ..games.holdem.spot import Spot
from ..model.compiled_game import CompiledGame
from ..model.public_nodes import START
from ..solvers.driver import run
from ..solvers.request import SolveRequest
from ..solvers.solution import Solution
from ..subgames import forget_subgames
from . import arguments, spot_report
from .console import plain_console, solve_bar, takes
from .report import print_line
from .spot_options import GivenSpot, SpotOptions, spot_of

UNIT_NAMES = {"chips": "chips", "pot": "% of the pot", "mbb": "mbb"}
"""Printed names of the units of values."""

BUCKETS: dict[str, Callable[..., Any]] = {
    "strength": buckets_by_strength,
    "width": partial(buckets_by_strength, spacing="width"),
    "board": partial(buckets_by_strength, by_board=True),
    "future": buckets_by_future,
}
"""Functions that put hands into buckets, by name."""

Algorithm = Annotated[
    str | None,
    typer.Option(
        help="Solve with this algorithm ('tensorcfr algorithms' lists them); by default "
        f"{arguments.ON_SPOTS}."
    ),
]
Node = typer.Option(
    metavar="LINE",
    help="Show the hands after a line, 'check bet60 call 7s', or with * for any card all "
    "runouts, 'check check *'; repeatable. By default 'start'.",
)


@dataclass(frozen=True)
class SpotSolveOptions:
    """Options of ``spot``, in addition to the options of a spot."""

    spot: Annotated[
        Path | None,
        typer.Argument(
            help=f"A file with a spot ({', '.join(ENDINGS)}), or a solution (.npz) to show."
        ),
    ] = None
    locks: Annotated[
        list[str] | None,
        typer.Option(
            "--lock",
            metavar="HANDS LINE:ACTION=P,...",
            help="Fix the actions of hands at a line, 'AA-TT,AKs check bet66:call=1', with * for "
            "all hands or any card, and solve the rest; repeatable.",
        ),
    ] = None
    buckets: Annotated[
        int | None,
        typer.Option(
            min=1,
            hidden=True,
            help="Solve with this many buckets of each player's hands in place of the hands, and "
            "evaluate the strategies with all hands.",
        ),
    ] = None
    buckets_by: Annotated[
        str,
        typer.Option(hidden=True, help=f"Put hands into buckets by one of {', '.join(BUCKETS)}."),
    ] = "strength"
    size: Annotated[
        bool, typer.Option("--size", help="Print the size of the spot, and do not solve it.")
    ] = False
    algorithm: Algorithm = None
    target: arguments.Target = None
    iters: arguments.Iterations = None
    time_limit: arguments.TimeLimit = None
    threads: arguments.Threads = 1
    precision: arguments.Precision = None
    memory_limit: arguments.MemoryLimit = None
    node: Annotated[list[str] | None, Node] = None
    unit: Annotated[str, typer.Option(help=f"Print values in one of {', '.join(UNITS)}.")] = "chips"
    rows: Annotated[
        int, typer.Option(min=0, help="Print this many hands at a node; 0 prints all.")
    ] = 20
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the last --node to this file (.csv, .json, .parquet)."
        ),
    ] = None
    of: Annotated[
        str,
        typer.Option(
            help="Count values of hands as 'net', or as 'pot', the share of the pot at the node."
        ),
    ] = "net"
    plot: Annotated[
        Path | None, typer.Option(help="Draw the last --node to this file (.png, .svg ...).")
    ] = None
    save_spot_as: Annotated[
        Path | None, typer.Option("--save-spot", help="Write the spot to this file (.toml, .txt).")
    ] = None
    save: Annotated[Path | None, typer.Option(help="Save the solution to this file (.npz).")] = None
    forget_rivers: Annotated[
        bool,
        typer.Option(
            "--forget-rivers",
            hidden=True,
            help="Make the file of --save far smaller by leaving out the last street, which is "
            "solved again when it is shown.",
        ),
    ] = False
    force: arguments.Force = False


@takes(SpotOptions, SpotSolveOptions)
def spot(options: SpotOptions, asked: SpotSolveOptions) -> None:
    """Solve a spot of hold'em or Omaha after the flop.

    Then print the hands or the runouts at the lines of --node.
    """
    given = options.given
    _check(asked)
    console = plain_console()
    if asked.spot is not None and asked.spot.suffix == ".npz":
        _check_look(asked, given)
        solution = Solution.load(asked.spot)
        shown = SolvedSpot(solution, of=asked.of)
    else:
        rules = spot_of(asked.spot, given)
        print_line(console, _size_line(rules, game_size(rules)))
        if asked.save_spot_as:
            save_spot(rules, asked.save_spot_as)
        if asked.size:
            return
        limit = arguments.read_memory_limit(asked.memory_limit)
        # Forgotten subgames must be whole chunks, which are not cut again.
        cut = True if asked.forget_rivers else "auto"
        game = compile_game(rules.game, cut=cut, memory_limit=limit, **rules.options)
        if asked.forget_rivers and not game.chunks.n_chunks:
            raise ValueError("--forget-rivers needs a spot before the river")
        with put_off(), solve_bar(0, asked.time_limit) as show:
            solution = run(_request(asked, game), show.solving)
        if asked.save:
            saved = forget_subgames(solution) if asked.forget_rivers else solution
            saved.save(asked.save, force=True)
        if asked.buckets is not None:
            print_line(console, _buckets_line(solution, rules))
            solution = replace(solution, game=game, policy=lift(solution), state=None)
        shown = SolvedSpot(solution, of=asked.of)
        if asked.buckets is not None:
            solution = replace(solution, evaluation=shown.evaluation)
    _show(console, shown, solution, asked, given.get("big_blind"))


def _show(
    console: Console,
    shown: SolvedSpot,
    solution: Solution,
    asked: SpotSolveOptions,
    big_blind: float | None,
) -> None:
    """Print the whole spot, and the hands or the runouts at each line; write the last line to
    files."""
    rules = shown.rules
    if not isinstance(rules, Spot):
        raise ValueError(f"{shown.game.name} is not a spot: tensorcfr show prints it")
    units, unit = partial(shown.units, unit=asked.unit, big_blind=big_blind), asked.unit
    spot_report.print_spot(console, rules, solution, units, UNIT_NAMES[unit])
    last: Any = None
    for text in asked.node or [START]:
        if "*" in text.split():
            last = shown.runouts(text, equity=True)
            spot_report.print_runouts(console, last, units)
        else:
            last = shown.table(text)
            spot_report.print_hands(console, last, units, UNIT_NAMES[unit], asked.rows)
            if solution.algorithm.forgets_subgames:
                exactness = shown.exactness(text)
                spot_report.print_exactness(console, exactness, units, UNIT_NAMES[unit])
    if asked.output:
        last.save(asked.output)
    if asked.plot:
        from ..plots import draw_line

        draw_line(last, path=asked.plot)


def _check(asked: SpotSolveOptions) -> None:
    """Check that options fit together and files are writable, before the spot is solved."""
    arguments.check_save("--save", asked.save, force=asked.force)
    arguments.check_plot("--plot", asked.plot)
    arguments.check_target("--output", asked.output)
    arguments.check_target("--save-spot", asked.save_spot_as)
    if asked.size and (asked.save or asked.output or asked.plot or asked.node):
        raise ValueError("--size solves nothing: there is nothing to save, write or show")
    if asked.forget_rivers and (asked.save is None or asked.locks):
        raise ValueError("--forget-rivers goes with --save, and not with --lock")
    if asked.unit not in UNITS:
        raise ValueError(f"--unit {asked.unit}: {suggest(asked.unit, UNITS)}")
    if asked.of not in SHARES:
        raise ValueError(f"--of {asked.of}: {suggest(asked.of, SHARES)}")
    if asked.buckets_by not in BUCKETS:
        raise ValueError(f"--buckets-by {asked.buckets_by}: {suggest(asked.buckets_by, BUCKETS)}")
    if asked.buckets is not None and (asked.save or asked.locks):
        raise ValueError(
            f"--buckets cannot be combined with {'--save' if asked.save else '--lock'}"
        )


SHOWS = {"spot", "node", "unit", "of", "rows", "output", "plot", "force"}
"""Options that are allowed with a solution."""


def _check_look(asked: SpotSolveOptions, given: GivenSpot) -> None:
    """Check that no option of a solve is given with a solution."""
    solves = any(
        getattr(asked, one.name) != one.default
        for one in fields(asked)
        if one.name not in SHOWS | {"buckets_by"}
    )
    if given.keys() - {"big_blind"} or solves:
        raise ValueError(
            f"{asked.spot} is a solution: it takes only --node and other options that show"
        )


def _request(asked: SpotSolveOptions, game: CompiledGame) -> SolveRequest:
    """Return the request of the solve."""
    solved = game
    if asked.buckets is not None:
        solved = abstract_hands(game, BUCKETS[asked.buckets_by](game, asked.buckets))
    # Locks name hands, which buckets do not have; the two exclude each other.
    return arguments.read_request(
        asked,
        solved,
        algorithm=asked.algorithm and arguments.read_algorithm(asked.algorithm),
        target=arguments.read_target(asked.target),
    )


def _buckets_line(solution: Solution, rules: Spot) -> str:
    """Return a line about the solve with buckets."""
    exploitability = solution.exploitability
    return (
        f"{solution.game.name}, {solution.game.n_infosets:,} infosets: among buckets the "
        f"exploitability is {exploitability:.4g} chips, {100 * exploitability / rules.pot:.3g} % "
        "of the pot; from here on all hands are told apart"
    )


def _size_line(rules: Spot, size: GameSize) -> str:
    """Return a line about the size of a spot."""
    hands = " x ".join(str(len(own)) for own in rules.hands)
    whole = {
        floats: format_bytes(int(size.bytes_in_all(floats)[1])) for floats in ("float32", "int16")
    }
    return (
        f"{rules.name}: {hands} hands, {size.public_nodes:,} public nodes, "
        f"{int(size.infosets):,} infosets; {whole['float32']} in float32, {whole['int16']} in int16"
    )
