"""Charts of push or fold by the depth of the stacks, for chips or for prizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Number, Several, Where, Whole, checked
from ..compilers import compile_game
from ..games.holdem import grid_label
from ..games.poker.deck import RANKS
from ..solvers.driver import solve
from .hand_tables import SolvedSpot
from .table_files import save_rows

OFTEN = 0.5
"""Share of all-ins or calls from which a hand counts as one that goes all-in or calls."""
ITERATIONS = 100
"""Iterations of each solve, unless the caller gives a number."""

MOST_ITERATIONS = 100_000
"""Largest number of iterations of each solve."""


class DepthChart(NamedTuple):
    """Strategies of push or fold at several depths of the stacks."""

    depths: tuple[float, ...]
    """Big blinds of both players before the hand, ascending."""
    pushes: np.ndarray
    """float64 (depths, 13, 13): share of all-ins of the small blind, as in the usual grid."""
    calls: np.ndarray
    """float64 (depths, 13, 13): share of calls of the big blind."""
    gains: np.ndarray
    """float64 (depths, 2): gain of the best response of the big blind and of the small blind."""

    def deepest(self, shares: np.ndarray) -> np.ndarray:
        """Return the largest depth at which each hand has a share of at least one half.

        Args:
            shares: :attr:`pushes` or :attr:`calls`.

        Returns:
            float64 (13, 13); 0 if there is no such depth.
        """
        depths = np.array(self.depths)[:, None, None]
        largest: np.ndarray = np.where(shares >= OFTEN, depths, 0.0).max(axis=0)
        return largest

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each of the 169 groups of hands: the largest depth at which it pushes and
        calls, and its shares at each depth."""
        push_depth, call_depth = self.deepest(self.pushes), self.deepest(self.calls)
        for row, column in np.ndindex(len(RANKS), len(RANKS)):
            cell = row, column
            entry: dict[str, Any] = {"hand": grid_label(row, column)}
            entry |= {"push to": float(push_depth[cell]), "call to": float(call_depth[cell])}
            for depth, pushed, called in zip(self.depths, self.pushes, self.calls, strict=True):
                entry[f"push at {depth:g}"] = float(pushed[cell])
                entry[f"call at {depth:g}"] = float(called[cell])
            yield entry

    @checked()
    def save(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write :meth:`rows` to a file (.csv, .json, .parquet), and return its path."""
        return save_rows(list(self.rows()), Path(path))


@checked()
def depth_chart(
    depths: Annotated[Sequence[float], Several(Number(above=1, most=1000))] = tuple(range(2, 26)),
    *,
    iters: Annotated[int, Whole(1, MOST_ITERATIONS)] = ITERATIONS,
    **options: Any,
) -> DepthChart:
    """Solve heads-up push or fold for stacks of several depths.

    Args:
        depths: Big blinds of both players before the hand.
        iters: Iterations of each solve.
        options: Parameters of ``push_or_fold`` other than stacks and blinds, in big blinds:
            ``ante``, ``payouts``, ``others``, ``bounties``, ``utility``.

    Raises:
        ValueError: A depth or an option is wrong.
    """
    ascending = tuple(sorted(set(depths)))
    if not ascending:
        raise ValueError("depths must contain a number of big blinds")
    pushes, calls, gains = list[np.ndarray](), list[np.ndarray](), list[tuple[float, ...]]()
    for depth in ascending:
        game = compile_game("push_or_fold", stacks=depth, **options)
        solution = solve(game, iters=iters, checkpoints=())
        solved = SolvedSpot(solution)
        for line, action, shares in (("", "allin", pushes), ("allin", "call", calls)):
            table = solved.table(line)
            shares.append(table.grid(table.strategy[:, table.actions.index(action)]))
        gains.append(solved.evaluation.gains)
    return DepthChart(ascending, np.array(pushes), np.array(calls), np.array(gains))
