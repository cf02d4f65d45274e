"""The command ``holdem``: solve a spot, and look at its lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from .._util.signals import put_off
from ..abstraction import abstract_hands, buckets_by_future, buckets_by_strength, lift
from ..analysis import SolvedSpot
from ..analysis.hands import UNITS
from ..compilers import Size, compile_game, game_size
from ..errors import format_bytes, suggest
from ..formats import save_spot
from ..formats.spots import ENDINGS
from ..games.holdem import Holdem
from ..solvers.driver import Progress, run
from ..solvers.request import SolveRequest
from ..solvers.solution import Solution
from . import arguments, holdem_report
from .console import errors_in_one_line, plain_console, progress_bar
from .report import print_line
from .spots import GivenSpot, spot_options, with_spot

ALGORITHM, PRECISION = "dcfr", "float32"
"""What solves if nothing else is said."""
DEFAULT_TARGET = 0.5
"""Per cent of the pot at which a solve stops if nothing says when."""

BUCKETS: dict[str, Callable[..., Any]] = {
    "strength": buckets_by_strength,
    "width": partial(buckets_by_strength, spacing="width"),
    "board": partial(buckets_by_strength, by_board=True),
    "future": buckets_by_future,
}
"""What hands can be put into buckets by."""

Algorithm = Annotated[str, typer.Option(help="See: tensorcfr algorithms.")]
Precision = Annotated[
    str, typer.Option(help="'float32', 'float64', or 'int16' for half the memory.")
]
Threads = Annotated[int, typer.Option(min=1, help="Threads; the same bits.")]


@with_spot
def holdem(
    spot: Annotated[
        Path | None,
        typer.Argument(
            help=f"A file with a spot ({', '.join(ENDINGS)}), or a solution (.npz) to look at."
        ),
    ] = None,
    locks: Annotated[
        list[str] | None,
        typer.Option(
            "--lock",
            metavar="HANDS LINE:ACTION=P,...",
            help="Fix what hands do at a line, 'AA-TT,AKs check bet66:call=1', with * for all "
            "hands or any card, and solve the rest; repeatable.",
        ),
    ] = None,
    buckets: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Solve with so many buckets of each player's hands in place of the hands, and "
            "evaluate the strategies among all hands.",
        ),
    ] = None,
    buckets_by: Annotated[
        str, typer.Option(help=f"What hands of a bucket share: {', '.join(BUCKETS)}.")
    ] = "strength",
    size: Annotated[
        bool, typer.Option("--size", help="Say how large the spot is, and do no more.")
    ] = False,
    algorithm: Algorithm = ALGORITHM,
    target: Annotated[
        float | None,
        typer.Option(
            help="Stop at an exploitability of so many per cent of the pot; "
            f"{DEFAULT_TARGET:g} if nothing says when."
        ),
    ] = None,
    iters: Annotated[int | None, typer.Option(help="Stop after so many iterations.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None,
    threads: Threads = 1,
    precision: Precision = PRECISION,
    memory_limit: arguments.MemoryLimit = None,
    line: Annotated[
        list[str] | None,
        typer.Option(
            help="Show the hands at a line, 'check bet60 call 7s', or with * for any card all "
            "runouts, 'check check *'; repeatable.  By default the start."
        ),
    ] = None,
    unit: Annotated[str, typer.Option(help=f"Of values: {', '.join(UNITS)}.")] = "chips",
    big_blind: Annotated[float, typer.Option(help="Chips of the big blind, for mbb.")] = 1.0,
    hands: Annotated[
        int, typer.Option(min=0, help="Hands to print at a line; 0 prints them all.")
    ] = 20,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the last --line to a file (.csv, .json, .parquet)."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the last --line to a file (.png, .svg ...).")
    ] = None,
    save_spot_as: Annotated[
        Path | None, typer.Option("--save-spot", help="Write the spot to a file (.toml, .txt).")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the solution (.npz).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False,
    *,
    given: GivenSpot,
) -> None:
    """Solve a spot of hold'em after the flop, and show hands and runouts."""
    with errors_in_one_line():
        if save:
            arguments.check_save(save, force=force)
        if picture:
            arguments.check_plot(picture, force=force, option="--picture")
        for option, path in (("--export", export), ("--save-spot", save_spot_as)):
            if path:
                arguments.check_target(option, path, force=force)
        if size and (save or export or picture or line):
            raise ValueError("--size solves nothing: there is nothing to save, export or show")
        if unit not in UNITS:
            raise ValueError(f"--unit {unit}: {suggest(unit, UNITS)}")
        if buckets_by not in BUCKETS:
            raise ValueError(f"--buckets-by {buckets_by}: {suggest(buckets_by, BUCKETS)}")
        if buckets is not None and (save or locks):
            raise ValueError(f"--buckets: {'--save' if save else '--lock'} takes a solve of hands")
        console = plain_console()
        limit = arguments.read_memory_limit(memory_limit)
        if spot is not None and spot.suffix == ".npz":
            asked = (target, iters, time_limit, save, save_spot_as, memory_limit, buckets)
            chosen = (algorithm, threads, precision) != (ALGORITHM, 1, PRECISION)
            if given or size or chosen or locks or any(one is not None for one in asked):
                raise ValueError(f"{spot} is a solution: it takes --line and what shows lines")
            solution = Solution.load(spot)
        else:
            options = spot_options(spot, given)
            rules = Holdem(**options)
            found = game_size("holdem", **options)
            print_line(console, _size_line(rules, found))
            if save_spot_as:
                save_spot(rules, save_spot_as)
            if size:
                return
            game = compile_game("holdem", memory_limit=limit, **options)
            if target is None and iters is None and time_limit is None:
                target = DEFAULT_TARGET
            solved = game
            if buckets is not None:
                solved = abstract_hands(game, BUCKETS[buckets_by](game, buckets))
            request = SolveRequest(
                game=solved,
                algorithm=arguments.read_algorithm(algorithm, simultaneous=False),
                iters=iters,
                target=None if target is None else target / 100.0 * rules.pot,
                time_limit=time_limit,
                threads=threads,
                precision=precision,
                locks=arguments.read_locks(game, locks or []),
                memory_limit=limit,
            )
            with put_off(), progress_bar() as move:

                def solving(progress: Progress) -> None:
                    figures = f"{progress.iteration:,} iterations"
                    if progress.latest:
                        figures += f", exploitability {progress.latest.exploitability:.3g}"
                    move(description="solving", figures=figures)

                solution = run(request, solving)
            if save:
                solution.save(save)
            if buckets is not None:
                print_line(console, _buckets_line(solution, rules))
                solution = replace(solution, game=game, policy=lift(solution), state=None)
        shown = SolvedSpot(solution)
        if buckets is not None:
            solution = replace(solution, evaluation=shown.evaluation)
        holdem_report.print_spot(console, shown, solution, unit, big_blind)
        last: Any = None
        for text in line or [""]:
            if "*" in text.split():
                last = shown.runouts(text, equity=True)
                holdem_report.print_runouts(console, shown, last, unit, big_blind)
            else:
                last = shown.table(text)
                holdem_report.print_hands(console, shown, last, unit, big_blind, hands)
        if export:
            last.save(export)
        if picture:
            from ..plots import draw_line

            draw_line(last, path=picture)


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
    numbers = getattr(size, "numbers", 0)
    hands = " x ".join(str(len(own)) for own in rules.hands)
    return (
        f"{rules.name}: {hands} hands, {size.public_nodes:,} public nodes, "
        f"{int(size.infosets):,} infosets; {format_bytes(8 * numbers)} in float32, "
        f"{format_bytes(4 * numbers)} in int16"
    )
