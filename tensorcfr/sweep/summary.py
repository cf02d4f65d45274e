"""Summary of a sweep: the effort to reach given exploitabilities."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from .._util.argument_checks import Number, Several, checked
from .sweep_table import ROWS, SweepRow, curves

LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)
"""Default exploitabilities to reach."""


@dataclass(frozen=True)
class Reached:
    """Effort of an algorithm to reach an exploitability on a game.

    Each figure is the median over runs, of seeds and repeats (the larger of two middle ones), at
    the first checkpoint at or below the exploitability. It is None if at least half of the runs did
    not reach the exploitability.
    """

    game: str
    """Name of the game in the table."""
    algorithm: str
    """Name of the algorithm in the table."""
    level: float
    """Exploitability (nash_conv / players), in the game's own unit."""
    seeds: int
    """Number of runs: seeds times repeats."""
    iteration: int | None
    """Iterations done."""
    nodes_touched: int | None
    """Histories visited."""
    decision_nodes_touched: int | None
    """Decision nodes visited; None also if the rows lack this number."""
    seconds: float | None
    """Time spent iterating; evaluations do not count."""


@checked()
def reached(
    rows: Annotated[Iterable[SweepRow], ROWS],
    levels: Annotated[
        Sequence[float], Several(Number(above=0, counts="an exploitability", finite=True))
    ] = LEVELS,
) -> list[Reached]:
    """Return the effort to reach each level, per game and algorithm.

    Only checkpoints are known, so each figure is too large by at most the distance between two
    checkpoints.

    Raises:
        ValueError: A level is not a positive number.
    """
    return [
        _reached(game, algorithm, level, runs)
        for (game, algorithm), runs in curves(rows).items()
        for level in levels
    ]


def _reached(
    game: str, algorithm: str, level: float, runs: Sequence[Sequence[SweepRow]]
) -> Reached:
    firsts = [next((row for row in rows if row.exploitability <= level), None) for rows in runs]

    def median(field: str, kind: Callable[[float], Any]) -> Any:
        efforts = [math.inf if row is None else getattr(row, field) for row in firsts]
        # Runs that did not reach the level count as infinite efforts, so the median is infinite
        # if they are at least half. None is a number that the rows of old tables lack.
        middle = None if None in efforts else statistics.median_high(efforts)
        return None if middle in (None, math.inf) else kind(middle)

    return Reached(
        game=game,
        algorithm=algorithm,
        level=level,
        seeds=len(runs),
        iteration=median("iteration", int),
        nodes_touched=median("nodes_touched", int),
        decision_nodes_touched=median("decision_nodes_touched", int),
        seconds=median("seconds", float),
    )
