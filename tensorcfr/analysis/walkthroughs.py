"""Walk-through of single iterations: all numbers of an algorithm at each infoset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Whole, checked
from .._util.one_line import OneLine
from ..algorithms import Record, find_algorithm
from ..errors import UnknownNameError, suggest
from ..kernels.random import Seed
from ..model.arrays import CHANCE, HistoryTree
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.public_nodes import START
from ..solvers.base import IterativeSolver, solver_class
from ..solvers.solver_arguments import Deal, Named
from ..solvers.traversal import fixed_chance
from .history_values import step_label, values_of_profiles

MAX_ITERATIONS = 1_000_000
"""Largest number of iterations to show."""
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
"""Columns of the table of infosets: a number before the iteration, and after it."""
MAX_HISTORIES = 100
"""Largest number of histories for which their table is shown."""


@dataclass(frozen=True)
class Row:
    """One infoset in one iteration; numbers are in the order of its actions."""

    infoset: str
    """Label of the infoset."""
    player: int
    """Player who acts."""
    actions: tuple[str, ...]
    """Labels of the actions."""
    regret: tuple[float, ...]
    """Cumulative regrets before the iteration, as the algorithm stores them."""
    new_regret: tuple[float, ...]
    """Cumulative regrets after the iteration."""
    strategy: tuple[float, ...]
    """Probabilities in this iteration."""
    new_strategy: tuple[float, ...]
    """Probabilities in the next iteration."""
    strategy_sum: tuple[float, ...]
    """Cumulative strategy before the iteration; normalised, it is the average strategy."""
    new_strategy_sum: tuple[float, ...]
    """Cumulative strategy after the iteration."""


@dataclass(frozen=True)
class HistoryRow:
    """One history with its values, under the strategies that each player's update uses.

    These are the strategies at the beginning of the iteration; with alternating updates, players
    who were already updated have their strategies at its end.
    """

    steps: tuple[str, ...]
    """Labels of the steps after the deal; without a deal, from the start."""
    infoset: str | None
    """Label of the infoset; None at terminals and chance nodes."""
    reach: tuple[float, ...]
    """Each player's own reach."""
    value: tuple[float, ...]
    """Expected utility of each player from here on."""
    counterfactual: tuple[float, ...]
    """Expected utility times the probability with which chance and the others lead here.

    The regret of an action is this number after the action minus this number before it, summed over
    the histories of the infoset.
    """


class Shown(NamedTuple):
    """A table as text."""

    headings: tuple[str, ...]
    texts: int
    """Number of leading columns with text; the others hold numbers."""
    cells: list[list[str]]


@dataclass(frozen=True)
class Iteration:
    """Changes of one iteration."""

    number: int
    """Number of the iteration, from 1."""
    deal: tuple[str, ...] | None
    """Chance outcomes that were fixed, or drawn before anybody acted; None if an iteration has
    several deals, or its deal is unknown."""
    rows: tuple[Row, ...]
    """The infosets, in the order of play."""
    histories: tuple[HistoryRow, ...]
    """Histories of the deal, parents first; all histories, if the iteration covers all deals. Empty
    if an iteration samples more than the deal, or covers all deals of a game with more than a
    hundred histories."""

    def __getitem__(self, infoset: str) -> Row:
        """Return the row of an infoset, by its label."""
        for row in self.rows:
            if row.infoset == infoset:
                return row
        near = suggest(infoset, [row.infoset for row in self.rows])
        raise UnknownNameError(f"iteration {self.number} does not show infoset {infoset!r}; {near}")

    def find(self, *steps: str) -> HistoryRow:
        """Return the row of a history, by the labels of its steps after the deal."""
        for row in self.histories:
            if row.steps == steps:
                return row
        wanted = " ".join(steps)
        near = suggest(wanted, [" ".join(row.steps) for row in self.histories])
        raise UnknownNameError(
            f"iteration {self.number} does not show the history {wanted!r}; {near}"
        )

    @property
    def title(self) -> str:
        """Number and deal of the iteration."""
        dealt = f", dealt {', '.join(self.deal)}" if self.deal else ""
        return f"iteration {self.number}{dealt}"

    @property
    def tables(self) -> list[Shown]:
        """Table of the infosets, one line for every action; and of the histories, unless there are
        too many."""
        shown = [Shown(HEADINGS, 3, self._cells)]
        if 0 < len(self.histories) <= MAX_HISTORIES:
            numbers = {"reach": "reach", "value": "value", "counterfactual": "cfv"}
            players = range(len(self.histories[0].reach))
            names = (f"{name} {player}" for name in numbers.values() for player in players)
            cells = [
                [
                    *(" ".join(row.steps) or START, row.infoset or ""),
                    *_texts(*(x for field in numbers for x in getattr(row, field))),
                ]
                for row in self.histories
            ]
            shown.append(Shown(("history", "infoset", *names), 2, cells))
        return shown

    @property
    def _cells(self) -> list[list[str]]:
        """Cells of the table of infosets, one line for every action."""
        lines = []
        for row in self.rows:
            pairs = (row.regret, row.new_regret, row.strategy, row.new_strategy)
            numbers = zip(*pairs, row.strategy_sum, row.new_strategy_sum, strict=True)
            for a, (action, action_numbers) in enumerate(zip(row.actions, numbers, strict=True)):
                leading = [row.infoset, str(row.player)] if a == 0 else ["", ""]
                lines.append([*leading, action, *_texts(*action_numbers)])
        return lines


def _texts(*numbers: float) -> list[str]:
    return [f"{number + 0.0:.6g}" for number in numbers]


@dataclass(frozen=True, eq=False, repr=False)
class Walkthrough(OneLine):
    """The first iterations of an algorithm, with all numbers."""

    game: FlatGame
    """The game."""
    algorithm: Record
    """The algorithm."""
    deal: tuple[str, ...] | None
    """Chance outcomes that were fixed, if any."""
    iterations: tuple[Iteration, ...]
    """The iterations, in order."""

    def __str__(self) -> str:
        widths: dict[tuple[str, ...], list[int]] = {}
        for table in (table for iteration in self.iterations for table in iteration.tables):
            columns = zip(table.headings, *table.cells, strict=True)
            column_widths = [max(map(len, column)) for column in columns]
            known_widths = widths.get(table.headings, column_widths)
            widths[table.headings] = list(map(max, known_widths, column_widths))

        def line(table: Shown, cells: Sequence[str]) -> str:
            # Text to the left, numbers to the right.
            aligned = [
                cell.ljust(width) if column < table.texts else cell.rjust(width)
                for column, (cell, width) in enumerate(
                    zip(cells, widths[table.headings], strict=True)
                )
            ]
            return "  ".join(aligned).rstrip()

        lines = []
        for iteration in self.iterations:
            lines.append(iteration.title)
            for table in iteration.tables:
                lines += [line(table, cells) for cells in (table.headings, *table.cells)]
                lines.append("")
        return "\n".join(lines).rstrip()


@checked()
def walkthrough(
    game: Flat,
    algorithm: Named,
    *,
    iters: Annotated[int, Whole(1, MAX_ITERATIONS)],
    deal: Deal | None = None,
    seed: Seed | None = None,
) -> Walkthrough:
    """Run a few iterations, and record all numbers before and after each.

    >>> from tensorcfr import compile_game
    >>> from tensorcfr.algorithms import CHANCE_SAMPLING
    >>> shown = walkthrough(
    ...     compile_game("kuhn"), CHANCE_SAMPLING(alternating=False), iters=1, deal=("Q", "K")
    ... )
    >>> shown.iterations[0]["Q"].new_regret
    (-0.375, 0.375)

    Args:
        game: The game.
        algorithm: A name or a record of an iterative algorithm.
        iters: Number of iterations to run.
        deal: Labels of chance outcomes that happen for certain, from the first chance node on:
            ``("Q", "K")`` deals a queen to player 0 and a king to player 1.
        seed: Seed of an algorithm that samples; see :func:`tensorcfr.solve`.

    Returns:
        The iterations. With a deal, they show the infosets that are possible in it; without one,
        the infosets that an iteration changed. Histories have the values and reaches that the
        iteration uses: the histories of the deal, or all of them in a game with few.

    Raises:
        ValueError: ``iters`` is not a positive integer; the deal is impossible; or there is a deal
            or a seed for an algorithm that does not sample. Or the algorithm is unknown, not
            iterative, or does not store regrets of single actions.
    """
    solver = solver_to_show(game, algorithm, deal=deal, seed=seed)
    record: Record = solver.algorithm
    live = np.ones(game.n_histories, bool) if deal is None else fixed_chance(game, deal)[1]
    fixed = None if deal is None else tuple(map(str, deal))
    # Sort infosets by their first histories, which is the order of play.
    visited = game.tree.infoset[live & (game.tree.player >= 0)]
    infosets, first = np.unique(visited, return_index=True)
    infosets = infosets[np.argsort(first)]
    iterations = []
    before = numbers_of(solver)
    for number in range(1, int(iters) + 1):
        solver.iterate()
        after = numbers_of(solver)
        rows = [
            _row(game, int(infoset), before, after)
            for infoset in infosets
            if deal is not None or _changed(game, int(infoset), before, after)
        ]
        one_deal = fixed is None and record.is_sampled and record.shares_traversals
        dealt = _dealt(game, rows) if one_deal else fixed
        histories: tuple[HistoryRow, ...] = ()
        if dealt is not None or not (record.is_sampled or game.n_histories > MAX_HISTORIES):
            profiles = update_profiles(solver, before[1], after[1])
            by_player = [profiles[player] for player in range(game.n_players)]
            histories = _histories(game, dealt, by_player)
        iterations.append(Iteration(number, dealt, tuple(rows), histories))
        before = after
    return Walkthrough(game, record, fixed, tuple(iterations))


Numbers = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Regrets, strategy and cumulative strategy, float64 (sequences,)."""


def solver_to_show(
    game: FlatGame, algorithm: str | Record, *, deal: Sequence[str] | None, seed: Seed | None
) -> IterativeSolver:
    """Create the solver whose iterations are shown, before its first one.

    Raises:
        ValueError: The algorithm is unknown, not iterative, or does not store regrets of single
            actions; or there is a deal or a seed for an algorithm that does not sample.
    """
    record = find_algorithm(algorithm)
    kind = solver_class(record, game)
    if kind is None:
        raise ValueError(f"{record.name} does not iterate: there is nothing to walk through")
    if record.forgets_subgames:
        raise ValueError(
            f"{record.name} forgets its subgames: there is no iteration to walk through"
        )
    if kind.keeps is not None:
        raise ValueError(f"{record.name} keeps {kind.keeps}: there are no regrets to show")
    sampled: dict[str, Any] = {}
    if record.is_sampled:
        sampled = {"seed": seed, "deal": deal}
    elif deal is not None or seed is not None:
        raise ValueError(f"{record.name} visits all deals: it takes no deal and no seed")
    return kind(game, record, **sampled)


def numbers_of(solver: IterativeSolver) -> Numbers:
    """Return the current numbers of a solver, over the sequences of its game."""
    regret, cumulative = solver.sums_of(solver.problem, solver.state)
    return regret, solver.current_policy().probabilities, cumulative


def _changed(game: FlatGame, infoset: int, before: Numbers, after: Numbers) -> bool:
    """Return whether an iteration changed any number at an infoset."""
    sequences = game.sequences(infoset)
    return any((b[sequences] != a[sequences]).any() for b, a in zip(before, after, strict=True))


def _dealt(game: FlatGame, rows: Sequence[Row]) -> tuple[str, ...] | None:
    """Return the chance outcomes before the first action below which all shown infosets lie.

    None if there are no such outcomes, or several.
    """
    tree = game.tree
    shown = {game.infoset_index[row.infoset] for row in rows}
    pending: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    candidates = []
    while pending and shown:
        node, outcomes = pending.pop()
        children = range(int(tree.first_child[node]), int(tree.first_child[node + 1]))
        if tree.player[node] == CHANCE:
            labels = game.outcome_labels
            pending += [(child, (*outcomes, labels[tree.outcome[child]])) for child in children]
        elif shown <= set(tree.infoset[_below(tree, node)].tolist()):
            candidates.append(outcomes)
    return candidates[0] if len(candidates) == 1 else None


def _below(tree: HistoryTree, node: int) -> list[int]:
    """Return a history and all histories after it, parents first."""
    pending, nodes = [node], []
    while pending:
        nodes.append(pending.pop())
        first, end = tree.first_child[nodes[-1] : nodes[-1] + 2].tolist()
        pending += range(end - 1, first - 1, -1)
    return nodes


def update_profiles(
    solver: IterativeSolver, before: np.ndarray, after: np.ndarray
) -> dict[int, np.ndarray]:
    """Return the strategies of all players that each player's update of the last iteration used.

    Players are in the order of their updates.
    """
    bounds = solver.game.form.player_sequences.tolist()
    turns = solver.algorithm.variant.turns(solver.iteration, 1, solver.game.n_players)
    profiles: dict[int, np.ndarray] = {}
    profile = before
    for movers in turns[0].tolist():
        profiles |= dict.fromkeys(movers, profile)
        profile = profile.copy()
        for player in movers:
            own_sequences = slice(*bounds[player : player + 2])
            profile[own_sequences] = after[own_sequences]
    return profiles


def _histories(
    game: FlatGame, deal: tuple[str, ...] | None, profiles: Sequence[np.ndarray]
) -> tuple[HistoryRow, ...]:
    """Return the histories of a deal from the first action on; without a deal, all histories."""
    tree = game.tree
    chance, live = fixed_chance(game, deal or ())
    values = values_of_profiles(game, profiles, chance)
    # Labels of the steps after the deal; histories that are part of it have none.
    steps: dict[int, tuple[str, ...]] = {} if deal else {0: ()}
    for node in filter(live.__getitem__, _below(tree, 0)):
        parent = int(tree.parent[node])
        if node and parent in steps:
            steps[node] = (*steps[parent], step_label(game, node))
        elif tree.player[node] != CHANCE:
            steps[node] = ()
    return tuple(
        HistoryRow(
            steps=history_steps,
            infoset=game.infoset_labels[tree.infoset[node]] if tree.infoset[node] >= 0 else None,
            reach=tuple(values.reach[node, :-1].tolist()),
            value=tuple(values.value[node].tolist()),
            counterfactual=tuple(values.counterfactual[node].tolist()),
        )
        for node, history_steps in steps.items()
    )


def _row(game: FlatGame, infoset: int, before: Numbers, after: Numbers) -> Row:
    sequences, label = game.sequences(infoset), game.infoset_labels[infoset]
    # Columns in the order of the fields: each number before and after the iteration.
    columns = [
        tuple((numbers[sequences] * unit).tolist())
        for *pair, unit in zip(before, after, (game.unit, 1.0, 1.0), strict=True)
        for numbers in pair
    ]
    return Row(label, int(game.infoset_player[infoset]), game.infoset_actions[infoset], *columns)
