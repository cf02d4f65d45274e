"""Commands ``export`` and ``compare``, which read saved solutions."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path

from ..analysis import compare as compare_policies
from ..analysis import values as values_of
from ..errors import suggest
from ..formats import policy_table, save_efg, save_nfg, save_policy
from ..formats.policies import FORMATS, is_policy_file
from ..model.game_arguments import require_flat
from ..model.policy import Policy
from ..model.sequence_table import WRITERS
from ..solvers.solution import Solution
from . import argument_parsers, json_output, report
from .declared_options import FromZero, Json, Output, command

GAMES = {"efg": save_efg, "nfg": save_nfg}
"""Functions that write the game of a solution, by format."""


class Which(StrEnum):
    """Choice of a strategy of a solution."""

    AVERAGE = "average"
    LAST = "last"
    BEST = "best"


@command()
def export(
    file: Path,
    *,
    output: Output = None,
    format: str | None = None,
    strategy: Which = Which.AVERAGE,
    values: bool = False,
) -> None:
    """Write a solution's strategy or game for other programs.

    Options:
        file: A solution saved by 'tensorcfr solve --save'.
        output: Write to this file; without it, text is printed.
        strategy: Write the average strategy, the last iterate, or the best strategy kept.
        values: Add expected values, reaches, regrets and losses (csv, json, parquet).

    Settings:
        format: Write the strategy as 'csv', 'json', 'parquet' or 'npz', or the game as 'efg' or
            'nfg'; by default the suffix of --output, or csv.
    """
    name = format or (output.suffix.removeprefix(".").lower() if output else "csv")
    known = [*FORMATS, *GAMES]
    if name not in known:
        raise ValueError(f"cannot export to {name!r}; {suggest(name, known)}")
    if values and name not in WRITERS:
        raise ValueError(f"--values is for {', '.join(WRITERS)}, not for {name}")
    if output is None and name not in ("csv", "json"):
        raise ValueError(f"this format is not printed: give --output file.{name}")
    argument_parsers.check_target("--output", output)
    solution = Solution.load(file, registered=False)
    policy = _strategy(solution, strategy)
    table = values_of(solution.game, policy).table() if values else policy_table(policy)
    if output is None:
        sys.stdout.flush()
        table.write(sys.stdout.buffer, name)
    elif name in GAMES:
        GAMES[name](require_flat(solution.game, name), output)
    elif values:
        table.save(output, name)
    else:
        save_policy(policy, output, name)


@command()
def compare(
    first: Path,
    second: Path,
    *,
    rows: FromZero = 10,
    as_json: Json = False,
) -> None:
    """Show the infosets at which two strategies differ.

    The table has the utility of each change.

    Options:
        first: A solution saved by 'tensorcfr solve --save'.
        second: Another solution, or a strategy (csv, json, parquet), of the same game.
        rows: Print this many infosets; 0 prints all.
    """
    first_solution = Solution.load(first, registered=False)
    is_solution = second.suffix == ".npz" and not is_policy_file(second)
    second_strategy = Solution.load(second, registered=False) if is_solution else second
    compared = compare_policies(first_solution, second_strategy)
    if as_json:
        json_output.print_json(json_output.of_comparison(compared, rows))
    else:
        report.print_comparison(compared, rows)


def _strategy(solution: Solution, which: Which) -> Policy:
    if which is Which.LAST:
        return solution.last_policy
    if which is Which.BEST:
        if solution.best is None:
            raise ValueError("the solution kept no best strategy; solve with --keep-best")
        return solution.best.policy
    return solution.policy
