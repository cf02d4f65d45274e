"""Command ``diagnose``, which compares numbers of other programs with CFR."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..analysis.diagnosis import diagnose as find_mistakes
from ..compilers import compile_game
from . import report
from .declared_options import Json, command
from .json_output import print_json


@command()
def diagnose(
    file: Path,
    *,
    game: Annotated[str, typer.Option("--game", "-g")] = "kuhn",
    iteration: Annotated[int | None, typer.Option(min=1)] = None,
    numbers: str = "auto",
    actions: str | None = None,
    as_json: Json = False,
) -> None:
    """Compare the numbers of another CFR program with CFR, and name its mistake.

    For example 'tensorcfr diagnose printed.txt --game leduc --iteration 10'.  Settings are options.

    Options:
        file: A text with the numbers that a program prints, by infoset.

    Settings:
        as_json
        game: The game; 'tensorcfr games' lists them.
        iteration: The numbers are of this iteration, unless lines such as 'iteration 10' tell.
        numbers: The numbers are average 'strategies', the 'last' strategies, or 'regrets'; 'auto'
            decides by the numbers.
        actions (A,B,...): Actions in the order of the program's numbers.
    """
    result = find_mistakes(
        compile_game(game, cut=False),
        file.read_text("utf-8"),
        iteration=iteration,
        numbers_are=numbers,  # type: ignore[arg-type]
        actions=None if actions is None else actions.split(","),
    )
    if as_json:
        fields = ("kind", "iterations", "value", "exploitability", "missing", "algorithm")
        document = {field: getattr(result, field) for field in fields}
        document["mistakes"] = [mistake._asdict() for mistake in result.mistakes]
        document |= {"alternatives": result.alternatives, "note": result.note}
        document["departure"] = result.departure and asdict(result.departure)
        print_json(document)
        return
    report.print_lines(*str(result).splitlines())
