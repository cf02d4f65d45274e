"""Single iterations with every number: what an algorithm does at each infoset, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .._util.arguments import Whole, checked
from ..algorithms import Record, find_algorithm
from ..kernels.random import Seed
from ..model.arguments import Compiled
from ..model.game import CompiledGame
from ..solvers.arguments import Deal, Named
from ..solvers.base import IterativeSolver
from ..solvers.kinds import solver_class
from ..solvers.traversal import fixed_chance

MOST_ITERATIONS = 1_000_000
"""Iterations to show, at most."""
HEADINGS = (
    "infoset",
    "player",
    "action",
    "regret sum",
    "->",
    "strategy",
    "->",
    "strategy sum",
    "->",
)
"""Columns of :attr:`Iteration.cells`: a number before the iteration, and after it."""


@dataclass(frozen=True)
class Row:
    """One infoset in one iteration; numbers are in the order of its actions."""

    infoset: str
    """Its label."""
    player: int
    """Who acts."""
    actions: tuple[str, ...]
    """Labels."""
    regret: tuple[float, ...]
    """Cumulative regrets before, as the algorithm keeps them."""
    new_regret: tuple[float, ...]
    """The same after the iteration."""
    strategy: tuple[float, ...]
    """Probabilities in this iteration."""
    new_strategy: tuple[float, ...]
    """Probabilities in the next one."""
    strategy_sum: tuple[float, ...]
    """Cumulative strategy before: the average strategy is this, normalised."""
    new_strategy_sum: tuple[float, ...]
    """The same after the iteration."""


@dataclass(frozen=True)
class Iteration:
    """What one iteration did."""

    number: int
    """Which one, from 1."""
    rows: tuple[Row, ...]
    """The infosets, in the order in which play comes to them."""

    def __getitem__(self, infoset: str) -> Row:
        """The row of an infoset, by its label."""
        for row in self.rows:
            if row.infoset == infoset:
                return row
        raise KeyError(f"iteration {self.number} does not show infoset {infoset!r}")

    @property
    def cells(self) -> list[list[str]]:
        """A line for every action, in the columns of :data:`HEADINGS`."""
        lines = []
        for row in self.rows:
            pairs = (row.regret, row.new_regret, row.strategy, row.new_strategy)
            numbers = zip(*pairs, row.strategy_sum, row.new_strategy_sum, strict=True)
            for a, (action, found) in enumerate(zip(row.actions, numbers, strict=True)):
                about = [row.infoset, str(row.player)] if a == 0 else ["", ""]
                lines.append([*about, action, *(f"{number + 0.0:.6g}" for number in found)])
        return lines


@dataclass(frozen=True, eq=False)
class Walkthrough:
    """Some iterations of an algorithm, the first ones, in every detail."""

    game: CompiledGame
    """The game."""
    algorithm: Record
    """The algorithm."""
    deal: tuple[str, ...] | None
    """The chance outcomes that were fixed, if any."""
    iterations: tuple[Iteration, ...]
    """One after the other."""

    def __str__(self) -> str:
        tables = [iteration.cells for iteration in self.iterations]
        widths = [
            max(len(line[column]) for line in [list(HEADINGS), *(row for t in tables for row in t)])
            for column in range(len(HEADINGS))
        ]

        def line(cells: Sequence[str]) -> str:
            # Text to the left, numbers to the right.
            aligned = [
                cell.ljust(width) if column < 3 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            return "  ".join(aligned).rstrip()

        lines = []
        for iteration, table in zip(self.iterations, tables, strict=True):
            lines += [f"iteration {iteration.number}", line(HEADINGS), *map(line, table), ""]
        return "\n".join(lines).rstrip()


@checked()
def walkthrough(
    game: Compiled,
    algorithm: Named,
    *,
    iters: Annotated[int, Whole(1, MOST_ITERATIONS)],
    deal: Deal | None = None,
    seed: Seed | None = None,
) -> Walkthrough:
    """Run a few iterations, and note every number before and after each.

    >>> from tensorcfr import compile_game
    >>> from tensorcfr.algorithms import CHANCE_SAMPLING
    >>> walked = walkthrough(
    ...     compile_game("kuhn"), CHANCE_SAMPLING(alternating=False), iters=1, deal=("Q", "K")
    ... )
    >>> walked.iterations[0]["Q"].new_regret
    (-0.375, 0.375)

    Args:
        game: The game.
        algorithm: A name or a record; any that iterates.
        iters: Iterations to run.
        deal: Labels of chance outcomes that happen for certain, the first chance node's first:
            ``("Q", "K")`` deals a queen to player 0 and a king to player 1.
        seed: Of an algorithm that samples; see :func:`tensorcfr.solve`.

    Returns:
        The iterations.  With a deal, they show the infosets that can happen in it; without one,
        those at which an iteration changed anything.

    Raises:
        ValueError: ``iters`` is no number of iterations; the deal cannot happen; a deal or a seed
            for what does not sample; an unknown algorithm, or one that does not iterate.
    """
    record = find_algorithm(algorithm)
    kind = solver_class(record, game)
    if kind is None:
        raise ValueError(f"{record.name} does not iterate: there is nothing to walk through")
    if record.forgets_subgames:
        raise ValueError(
            f"{record.name} forgets its subgames: there is no iteration to walk through"
        )
    sampled: dict[str, Any] = {}
    if record.is_sampled:
        sampled = {"seed": seed, "deal": deal}
    elif deal is not None or seed is not None:
        raise ValueError(f"{record.name} goes through all deals: it takes no deal and no seed")
    solver = kind(game, record, **sampled)
    live = np.ones(game.n_histories, bool) if deal is None else fixed_chance(game, deal)[1]
    # Infosets in the order of their first histories, which is that of play.
    met = game.tree.infoset[live & (game.tree.player >= 0)]
    infosets, first = np.unique(met, return_index=True)
    infosets = infosets[np.argsort(first)]
    iterations = []
    before = _numbers(solver)
    for number in range(1, int(iters) + 1):
        solver.step()
        after = _numbers(solver)
        rows = [
            _row(game, int(infoset), before, after)
            for infoset in infosets
            if deal is not None or _changed(game, int(infoset), before, after)
        ]
        iterations.append(Iteration(number, tuple(rows)))
        before = after
    fixed = None if deal is None else tuple(map(str, deal))
    return Walkthrough(game, record, fixed, tuple(iterations))


Numbers = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Regrets, strategy and cumulative strategy, float64 (sequences,)."""


def _numbers(solver: IterativeSolver) -> Numbers:
    """Copies of what a solver has now."""
    state = solver.state
    return state.regret.copy(), state.strategy.copy(), state.cumulative.copy()


def _changed(game: CompiledGame, infoset: int, before: Numbers, after: Numbers) -> bool:
    """Whether an iteration changed anything at an infoset."""
    at = game.sequences(infoset)
    return any((b[at] != a[at]).any() for b, a in zip(before, after, strict=True))


def _row(game: CompiledGame, infoset: int, before: Numbers, after: Numbers) -> Row:
    at = game.sequences(infoset)
    units = (game.unit, 1.0, 1.0)
    old = [tuple((n[at] * unit).tolist()) for n, unit in zip(before, units, strict=True)]
    new = [tuple((n[at] * unit).tolist()) for n, unit in zip(after, units, strict=True)]
    return Row(
        infoset=game.infoset_labels[infoset],
        player=int(game.infoset_player[infoset]),
        actions=game.infoset_actions[infoset],
        regret=old[0],
        new_regret=new[0],
        strategy=old[1],
        new_strategy=new[1],
        strategy_sum=old[2],
        new_strategy_sum=new[2],
    )
