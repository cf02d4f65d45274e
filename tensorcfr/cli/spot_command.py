"""Command ``spot``: solve a spot, and show its lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._util.jit import compiled_ahead
from .._util.signals import put_off
from ..abstraction import abstract_hands, buckets_by_future, buckets_by_strength, lift
from ..analysis import SolvedSpot, prize_table
from ..analysis.hand_tables import SHARES, UNITS, equities_at
from ..compilers import GameSize, compile_game, game_size
from ..compilers.cards.card_public_nodes import CardNodes
from ..errors import format_bytes, suggest
from ..formats import save_spot
from ..formats.other_spots import ENDINGS  # noqa: F401, named in the help
from ..games.poker.spot import Spot
from ..games.tournaments import Tournament
from ..model.compiled_game import CompiledGame
from ..model.public_nodes import START
from ..solvers.driver import run
from ..solvers.request import SolveRequest
from ..solvers.solution import Solution
from ..solvers.solver_arguments import AUTO
from ..subgames import forget_subgames
from . import argument_parsers, spot_report
from .console import solve_bar
from .declared_options import FromZero, LargeNumber, Locks, Output, Threads, command
from .report import print_lines
from .spot_options import GivenSpot, SpotOptions, spot_of

UNIT_NAMES = {"pot": "% of the pot", "mbb": "mbb"}
"""Printed names of the units of values other than that of the game."""

BUCKETS: dict[str, Callable[..., Any]] = {
    "strength": buckets_by_strength,
    "width": partial(buckets_by_strength, spacing="width"),
    "board": partial(buckets_by_strength, by_board=True),
    "future": buckets_by_future,
}
"""Functions that put hands into buckets, by name."""


@dataclass(frozen=True)
class SpotSolveOptions:
    """Options of ``spot``, in addition to the options of a spot.

    Options:
        spot: A file with a spot ({ENDINGS}), or a solution (.npz) to show.
        locks (HANDS LINE:ACTION=P,...): Fix the actions of hands at a line, 'AA-TT,AKs check
            bet66:call=1', with * for all hands or any card, and solve the rest; repeatable.
        size: Print the size of the spot, and do not solve it.
        algorithm: Solve with this algorithm ('tensorcfr algorithms' lists them); by default
            {ON_SPOTS}, and dcfr with prizes.
        node (LINE): Show the hands after a line, 'check bet60 call 7s', or with * for any card all
            runouts, 'check check *'; repeatable. By default 'start'.
        unit: Print values in one of {UNITS}.
        rows: Print this many hands at a node; 0 prints all.
        output: Write the last --node to this file (.csv, .json, .parquet).
        plot: Draw the last --node to this file (.png, .svg ...).
        save_spot_as: Write the spot to this file (.toml, .txt).
        save: Save the solution to this file (.npz).

    Settings:
        of: Count values of hands as 'net', or as 'pot', the share of the pot at the node.
        buckets: Solve with this many buckets of each player's hands in place of the hands, and
            evaluate the strategies with all hands.
        buckets_by: Put hands into buckets by one of {BUCKETS}.
        forget_rivers: Make the file of --save far smaller by leaving out the last
            street, which is solved again when it is shown.
    """

    spot: Path | None = None
    _: KW_ONLY
    locks: Locks = None
    buckets: Annotated[int | None, typer.Option(min=1)] = None
    buckets_by: str = "strength"
    size: bool = False
    algorithm: str | None = None
    target: str | None = None
    iters: LargeNumber = None
    time_limit: float | None = None
    threads: Threads = AUTO
    precision: str | None = None
    memory_limit: str | None = None
    node: list[str] | None = None
    unit: str = "chips"
    rows: FromZero = 20
    output: Output = None
    of: str = "net"
    plot: Path | None = None
    save_spot_as: Annotated[Path | None, typer.Option("--save-spot")] = None
    save: Path | None = None
    forget_rivers: bool = False
    force: bool = False


@command(SpotOptions, SpotSolveOptions)
def spot(spot_options: SpotOptions, options: SpotSolveOptions) -> None:
    """Solve a spot of hold'em or Omaha after the flop.

    Then print the hands or the runouts at the lines of --node.
    """
    spot_arguments = spot_options.given
    _check(options)
    if options.spot is not None and options.spot.suffix == ".npz":
        _check_look(options, spot_arguments)
        solution = Solution.load(options.spot)
        solved_spot = SolvedSpot(solution, of=options.of)
    else:
        rules = spot_of(options.spot, spot_arguments)
        if rules.n_players > 2 and options.buckets is not None:
            raise ValueError("--buckets needs a spot of two players")
        print_lines(_size_line(rules, game_size(rules)))
        if options.save_spot_as:
            save_spot(rules, options.save_spot_as)
        if options.size:
            return
        limit = argument_parsers.read_memory_limit(options.memory_limit)
        # Forgotten subgames must be whole chunks, which are not cut again.
        cut = True if options.forget_rivers else "auto"
        game = compile_game(rules.game, cut=cut, memory_limit=limit, **rules.options)
        if options.forget_rivers and not game.chunks.n_chunks:
            raise ValueError("--forget-rivers needs a spot before the river")
        with (
            put_off(),
            solve_bar(0, options.time_limit) as show,
            compiled_ahead(partial(_compare_hands, game)),
        ):
            solution = run(_request(options, game), show.solving, shows_values=True)
        if options.save:
            saved = forget_subgames(solution) if options.forget_rivers else solution
            saved.save(options.save, force=True)
        if options.buckets is not None:
            print_lines(_buckets_line(solution, rules))
            solution = replace(solution, game=game, policy=lift(solution), state=None)
        solved_spot = SolvedSpot(solution, of=options.of)
        if options.buckets is not None:
            solution = replace(solution, evaluation=solved_spot.evaluation)
    _show(solved_spot, solution, options, spot_arguments.get("big_blind"))


def _compare_hands(game: CompiledGame) -> None:
    """Call the kernels that compute the equities of :func:`_show`."""
    nodes = CardNodes.of(game)
    equities_at(nodes, 0, [np.ones(len(hands)) for hands in nodes.rules.hands])


def _show(
    solved_spot: SolvedSpot,
    solution: Solution,
    options: SpotSolveOptions,
    big_blind: float | None,
) -> None:
    """Print the whole spot, and hands or runouts at each line; write the last line to files."""
    rules = solved_spot.rules
    if not isinstance(rules, Spot):
        raise ValueError(f"{solved_spot.game.name} is not a spot: tensorcfr show prints it")
    units = partial(solved_spot.units, unit=options.unit, big_blind=big_blind)
    # The unit of values is not chips in tournaments.
    unit = UNIT_NAMES.get(options.unit, rules.unit_name.strip())
    print_lines(*spot_report.spot_lines(rules, solution, units, unit))
    last: Any = None
    for text in options.node or [START]:
        if "*" in text.split():
            last = solved_spot.runouts(text, equity=True)
            print_lines(*spot_report.runout_lines(last, units))
        else:
            last = solved_spot.table(text)
            print_lines(*spot_report.hand_lines(last, units, unit, options.rows))
            if isinstance(rules, Tournament):
                prizes = prize_table(solution, text)
                print_lines(*spot_report.prize_lines(prizes, options.rows))
            if solution.algorithm.forgets_subgames:
                exactness = solved_spot.exactness(text)
                print_lines(*spot_report.exactness_lines(rules, exactness, units, unit))
    if options.output:
        last.save(options.output)
    if options.plot:
        from ..plots import draw_line

        draw_line(last, path=options.plot)


def _check(options: SpotSolveOptions) -> None:
    """Check that options fit together and files are writable, before the spot is solved."""
    argument_parsers.read_target(options.target)
    argument_parsers.check_save("--save", options.save, force=options.force)
    argument_parsers.check_plot("--plot", options.plot)
    argument_parsers.check_target("--output", options.output)
    argument_parsers.check_target("--save-spot", options.save_spot_as)
    if options.size and (options.save or options.output or options.plot or options.node):
        raise ValueError("--size solves nothing: there is nothing to save, write or show")
    if options.forget_rivers and (options.save is None or options.locks):
        raise ValueError("--forget-rivers needs --save and cannot be combined with --lock")
    if options.unit not in UNITS:
        raise ValueError(f"--unit {options.unit}: {suggest(options.unit, UNITS)}")
    if options.of not in SHARES:
        raise ValueError(f"--of {options.of}: {suggest(options.of, SHARES)}")
    if options.buckets_by not in BUCKETS:
        raise ValueError(
            f"--buckets-by {options.buckets_by}: {suggest(options.buckets_by, BUCKETS)}"
        )
    if options.buckets is not None and (options.save or options.locks):
        raise ValueError(
            f"--buckets cannot be combined with {'--save' if options.save else '--lock'}"
        )


SHOWS = {"spot", "node", "unit", "of", "rows", "output", "plot", "force"}
"""Options that are allowed with a solution."""


def _check_look(options: SpotSolveOptions, spot_arguments: GivenSpot) -> None:
    """Check that no option of a solve is given with a solution."""
    solves = any(
        getattr(options, field.name) != field.default
        for field in fields(options)
        if field.name not in SHOWS | {"buckets_by"}
    )
    if spot_arguments.keys() - {"big_blind"} or solves:
        raise ValueError(
            f"{options.spot} is a solution: it takes only --node and the other options that "
            "print it"
        )


def _request(options: SpotSolveOptions, game: CompiledGame) -> SolveRequest:
    """Return the request of the solve."""
    solved = game
    if options.buckets is not None:
        solved = abstract_hands(game, BUCKETS[options.buckets_by](game, options.buckets))
    # Locks name hands, which buckets do not have; the two exclude each other.
    return argument_parsers.read_request(
        options,
        solved,
        algorithm=options.algorithm and argument_parsers.read_algorithm(options.algorithm),
        target=argument_parsers.read_target(options.target),
    )


def _buckets_line(solution: Solution, rules: Spot) -> str:
    """Return a line about the solve with buckets."""
    exploitability = solution.exploitability
    return (
        f"{solution.game.name}, {solution.game.n_infosets:,} infosets: with buckets the "
        f"exploitability is {exploitability:.4g}{rules.unit_name}, "
        f"{100 * exploitability / rules.pot_value:.3g} % of the pot; the rest of this report is "
        "for all hands"
    )


def _size_line(rules: Spot, size: GameSize) -> str:
    """Return a line about the size of a spot."""
    hands = " x ".join(str(len(player_hands)) for player_hands in rules.hands)
    whole = {
        floats: format_bytes(int(size.bytes_in_all(floats)[1])) for floats in ("float32", "int16")
    }
    return (
        f"{rules.name}: {hands} hands, {size.public_nodes:,} public nodes, "
        f"{int(size.infosets):,} infosets; {whole['float32']} in float32, {whole['int16']} in int16"
    )
