"""Reports of spots as lines: figures, grids, hands, made hands, runouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..analysis import BoardReport, Exactness, HandTable, PrizeTable, Runouts
from ..analysis.hand_tables import Grid
from ..evaluation.metrics import meaning_of_exploitability
from ..games.poker.betting import CALL, CHECK, FOLD
from ..games.poker.deck import RANKS
from ..games.poker.spot import Spot
from ..games.tournaments import Tournament
from ..model.public_nodes import START
from ..solvers.solution import Solution

Units = Callable[[Any], Any]
"""Function that converts chips, a number or an array, to the printed unit."""
WIDTH = 16
"""Number of characters for the name of a group of hands."""
PASSIVE = (CHECK, CALL, FOLD)
"""Actions that put in at most as many chips as the other player has put in."""


def spot_lines(rules: Spot, solution: Solution, units: Units, unit: str) -> Iterator[str]:
    """Yield the result of the solve for the whole spot."""
    exploitability = solution.exploitability
    if rules.caveat:
        yield rules.caveat
    yield (
        f"{solution.algorithm}: {solution.status.value} after {solution.iterations:,} iterations, "
        f"{solution.seconds:.1f} s; exploitability {exploitability:.4g}{rules.unit_name}, "
        f"{100 * exploitability / rules.pot_value:.3g} % of the pot"
    )
    if isinstance(rules, Tournament):
        for player, name in enumerate(rules.player_names):
            value, before = solution.value[player], rules.utilities_before[player]
            yield (
                f"{name:<4} value {float(units(value)):+.2f} {unit}: prizes {before:.2f} before "
                f"the hand and {before + value:.2f} now; a best response gains "
                f"{solution.evaluation.gains[player]:.2g}"
            )
        return
    part, width = rules.pot / rules.n_betting, max(4, *map(len, rules.player_names))
    parts = "half" if rules.n_betting == 2 else "third"
    for player in range(rules.n_betting):
        chips = solution.value[player]
        value, in_pot = float(units(chips)), float(units(chips + part))
        line = f"{rules.player_names[player]:<{width}} value {value:+.2f} {unit}; "
        line += f"with its {parts} of the pot {in_pot:.2f}"
        if solution.game.n_contestants > 2:
            gain = float(units(solution.evaluation.gains[player]))
            line += f"; a best response gains {gain:.2g}"
        yield line
    if rules.n_players > 2:
        yield meaning_of_exploitability(solution.game) or ""


def hand_lines(table: HandTable, units: Units, unit: str, rows: int) -> Iterator[str]:
    """Yield all hands at a line: frequencies, a grid, made hands, and single hands."""
    yield ""
    yield f"{table.line or START}: {table.seat} to act on {' '.join(table.board)}"
    yield "  " + _frequencies(table.frequencies)
    value = float(units(table.mean(table.value)))
    yield (
        f"  {table.weight.sum():.1f} combos, value {value:+.2f} {unit}, "
        f"equity {100 * table.mean(table.equity):.1f} %"
    )
    active = [k for k, action in enumerate(table.actions) if action not in PASSIVE]
    yield ""
    yield "  per cent of bets and raises:"
    yield from _grid(table.places, 100.0 * table.grid(table.strategy[:, active].sum(axis=1)))
    heads, shares = _columns(table.actions)
    for grouping in table.grouped:
        yield from _groups(table, grouping, units)
    width = max(6, *map(len, table.hands[:1]))
    yield ""
    yield f"  {'hand':<{width}}{'weight':>7} {heads}   values, in the same order"
    values = units(table.values)
    order = _best_first(table)
    listed = order[: rows or None]
    for h in listed.tolist():
        value_text = " ".join(f"{v:8.2f}" for v in values[h])
        frequencies = shares(table.strategy[h])
        yield f"  {table.hands[h]:<{width}}{table.weight[h]:7.3f} {frequencies}   {value_text}"
    if len(listed) < len(order):
        yield f"  and {len(order) - len(listed):,} more; --rows 0 prints them all"


def _best_first(table: HandTable) -> np.ndarray:
    """Return the hands by their values, the best one first, int64 (hands,)."""
    return np.argsort(-np.nan_to_num(table.value, nan=-np.inf), kind="stable")


def _groups(table: HandTable, grouping: str, units: Units) -> Iterator[str]:
    """Yield the groups of hands of one kind."""
    heads, shares = _columns(table.actions)
    name = "made hand" if grouping == "made" else grouping
    yield ""
    yield f"  {name:<{WIDTH}}{'share':>7} {heads}{'value':>9}{'equity':>8}"
    for group in table.groups(grouping):
        yield (
            f"  {group[grouping]:<{WIDTH}}{100 * group['share']:7.1f} "
            f"{shares(group[action] for action in table.actions)}"
            f"{float(units(group['value'])):9.2f}{100 * group['equity']:8.1f}"
        )


def prize_lines(table: PrizeTable, rows: int) -> Iterator[str]:
    """Yield chips, equity and prizes of the hands at a line of a tournament."""
    hands = table.prizes
    heads, _ = _columns(hands.actions)
    width, column = max(6, *map(len, hands.hands[:1])), max(7, *map(len, hands.actions))
    yield ""
    yield f"  {'hand':<{width}}{'equity':>8} {heads}   chips; the same in prizes"
    for h in _best_first(hands)[: rows or None].tolist():
        chips, prizes = (
            " ".join(f"{number:{column}.{decimals}f}" for number in numbers[h])
            for numbers, decimals in ((table.chips, 1), (hands.values, 2))
        )
        yield f"  {hands.hands[h]:<{width}}{100 * hands.equity[h]:8.1f} {chips}   {prizes}"


def exactness_lines(rules: Spot, exactness: Exactness, units: Units, unit: str) -> Iterator[str]:
    """Yield the loss at a line whose street was forgotten and solved again."""
    gains = ", ".join(
        f"{name} {float(units(gain)):.3g}"
        for name, gain in zip(rules.player_names, exactness.gains, strict=True)
    )
    raised = float(units(sum(exactness.raised) / len(exactness.raised)))
    yield ""
    yield f"  a best response from here on earns more: {gains} {unit}"
    if raised > 0.0:
        yield f"  solved again: the exploitability of the whole is at most {raised:.2g} {unit} more"


def runout_lines(runouts: Runouts, units: Units) -> Iterator[str]:
    """Yield a row for each runout."""
    yield ""
    yield f"{runouts.line}: {runouts.seat} to act"
    yield "  " + _frequencies(runouts.frequencies)
    heads, shares = _columns(runouts.actions)
    yield f"  {'cards':<8}{heads}{'value':>9}{'equity':>8}"
    values = units(runouts.value)
    for k in np.flatnonzero(runouts.probability > 0.0).tolist():
        yield (
            f"  {' '.join(runouts.cards[k]):<8}{shares(runouts.frequency[k])}{values[k]:9.2f}"
            f"{100 * runouts.equity[k]:8.1f}"
        )


def _columns(actions: Sequence[str]) -> tuple[str, Callable[[Iterable[float]], str]]:
    """Return headings for the actions, and a function that formats a row of shares in per cent."""
    width = max(7, *map(len, actions))

    def shares(row: Iterable[float]) -> str:
        return " ".join(f"{100 * share:{width}.1f}" for share in row)

    return " ".join(f"{action:>{width}}" for action in actions), shares


def _frequencies(frequencies: dict[str, float]) -> str:
    return ", ".join(f"{action} {100 * share:.1f} %" for action, share in frequencies.items())


def _grid(places: Grid, grid: np.ndarray) -> Iterator[str]:
    """Yield 13 x 13 numbers with the names of the hands, or rows and columns with headings.

    Cells without a hand are blank.
    """
    rows, columns = places.heads or ((), ())
    if columns:
        yield "  " + " " * WIDTH + "".join(f"{name:>{WIDTH}}" for name in columns)
    for row, labels in enumerate(places.labels):
        cells = []
        for label, number in zip(labels, grid[row].tolist(), strict=True):
            text = f"{number:{WIDTH}.0f}" if columns else f"{label:<3}{number:4.0f} "
            cells.append(" " * len(text) if np.isnan(number) else text)
        if text := "".join(cells).rstrip():
            yield "  " + (f"{rows[row]:<{WIDTH}}" if rows else "") + text


def board_lines(report: BoardReport, line: str, unit: str) -> Iterator[str]:
    """Yield the strategy, value and equity at a line on each board, and their means.

    Tables of the means by the rank of each dealt card follow.
    """
    player = report.rows[0]["player"]
    yield f"{line or START}: {player} to act; per cent, values in {unit}"
    yield from _means(report, "board", report.group_by("board"))
    for street in report.dealt:
        rows = report.group_by(partial(_rank, street))
        rows.sort(key=lambda row: RANKS.index(row["group"]), reverse=True)
        yield from _means(report, street, [{street: row["group"], **row} for row in rows])


def _rank(street: str, row: dict[str, Any]) -> str:
    """Return the rank of the card of a street."""
    return str(row[street])[0]


def _means(report: BoardReport, column: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a row for each value of a column, and the means of all rows."""
    heads, shares = _columns(report.actions)
    width = max(len(column), *(len(row[column]) for row in rows))
    yield f"  {column:<{width}} {heads} {'value':>8} {'equity':>7}"
    for row in (*rows, {column: "mean", **report.means}):
        numbers = shares(row[action] for action in report.actions)
        value_text = f"{row['value']:8.2f} {100 * row['equity']:7.1f}"
        yield f"  {row[column]:<{width}} {numbers} {value_text}"
