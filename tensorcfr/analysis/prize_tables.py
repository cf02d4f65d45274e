"""Hands of a tournament: values in chips and in prizes, next to each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Text, Where, checked
from ..compilers import compile_game
from ..games.tournaments import Tournament
from ..model.compiled_game import CompiledGame
from ..solvers.solution import Solution
from .hand_tables import LONGEST_LINE, HandTable, SolvedSpot
from .other_utilities import policy_in
from .table_files import save_rows


class PrizeTable(NamedTuple):
    """Hands at a line under the strategies of a tournament's solution."""

    prizes: HandTable
    """Table of the tournament: strategies, equities, and values as changes of the prizes."""
    chips: np.ndarray
    """float64 (hands, actions): chips that each hand expects to win by each action, if all players
    play the strategies of the tournament."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each hand: its equity, and the frequency, chips and prizes by action."""
        table = self.prizes
        for k, hand in enumerate(table.hands):
            row: dict[str, Any] = {"hand": hand, "equity": float(table.equity[k])}
            for a, action in enumerate(table.actions):
                row[action] = float(table.strategy[k, a])
                row[f"{action} chips"] = float(self.chips[k, a])
                row[f"{action} prizes"] = float(table.values[k, a])
            yield row

    @checked()
    def save(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write :meth:`rows` to a file (.csv, .json, .parquet), and return its path."""
        return save_rows(list(self.rows()), Path(path))


@checked()
def prize_table(solution: Solution, line: Annotated[str, Text(LONGEST_LINE)] = "") -> PrizeTable:
    """Return the hands at a line of a tournament's hand, in chips and in prizes.

    Args:
        solution: A solution of a card game that :func:`~tensorcfr.games.tournaments.tournament`
            made.
        line: The actions and dealt cards so far, as for
            :func:`~tensorcfr.analysis.hand_table`.

    Raises:
        TypeError: The game is not a hand of a tournament.
        ValueError: There is no such line, or nobody acts there.
    """
    in_prizes = SolvedSpot(solution)
    game = chip_game(in_prizes.game)
    policy = policy_in(game, solution.policy)
    in_chips = SolvedSpot(replace(solution, game=game, policy=policy, state=None))
    return PrizeTable(in_prizes.table(line), in_chips.table(line).values)


def chip_game(game: CompiledGame) -> CompiledGame:
    """Return the game whose utilities are the chips of a hand of a tournament.

    Raises:
        TypeError: The game is not a hand of a tournament.
    """
    rules = getattr(game.nodes, "rules", None)
    if not isinstance(rules, Tournament):
        raise TypeError(f"{game.name} is not a hand of a tournament: give payouts= to compile_game")
    assert game.recipe is not None  # Only flat games have none, and their nodes have no rules.
    return compile_game(rules.chip_rules, cut=game.recipe.cut, symmetry=game.recipe.symmetry)
