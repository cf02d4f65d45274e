"""What the command ``holdem`` prints: figures, grids, hands, made hands, runouts."""

from __future__ import annotations

import numpy as np
from rich.console import Console

from ..analysis import BoardReport, HandTable, Runouts, SolvedSpot
from ..games.holdem import Holdem, grid_label
from ..games.holdem.betting import CALL, CHECK, FOLD
from ..games.holdem.spot import PLAYERS
from ..solvers.solution import Solution
from .report import print_line

PASSIVE = (CHECK, CALL, FOLD)
"""Actions that put in no more than the other player has."""


def print_spot(
    console: Console, shown: SolvedSpot, solution: Solution, unit: str, bb: float
) -> None:
    """What the solve says of the whole spot."""
    rules = shown.rules
    if not isinstance(rules, Holdem):
        raise ValueError(f"{shown.game.name} is no spot of hold'em: tensorcfr show prints it")
    exploitability = solution.exploitability
    print_line(
        console,
        f"{solution.algorithm}: {solution.status.value} after {solution.iterations:,} iterations, "
        f"{solution.seconds:.1f} s; exploitability {exploitability:.4g} chips, "
        f"{100 * exploitability / rules.pot:.3g} % of the pot",
    )
    for player, name in enumerate(PLAYERS):
        value = float(shown.units(solution.value[player], unit, big_blind=bb))
        in_pot = float(shown.units(solution.value[player] + rules.pot / 2, unit, big_blind=bb))
        print_line(
            console,
            f"{name:<4} value {value:+.2f} {_name(unit)}; with its half of the pot {in_pot:.2f}",
        )


def print_hands(
    console: Console, shown: SolvedSpot, table: HandTable, unit: str, bb: float, rows: int
) -> None:
    """All hands at a line: frequencies, a grid, made hands, and the hands themselves."""
    where = table.line or "the start"
    print_line(console, "")
    print_line(console, f"{where}: {PLAYERS[table.player]} to act on {' '.join(table.board)}")
    print_line(console, "  " + _frequencies(table.frequencies))
    value = float(shown.units(table.mean(table.value), unit, big_blind=bb))
    print_line(
        console,
        f"  {table.weight.sum():.1f} combos, value {value:+.2f} {_name(unit)}, "
        f"equity {100 * table.mean(table.equity):.1f} %",
    )
    active = [k for k, action in enumerate(table.actions) if action not in PASSIVE]
    print_line(console, "")
    print_line(console, "  per cent of bets and raises:")
    _print_grid(console, 100.0 * table.grid(table.strategy[:, active].sum(axis=1)))
    print_line(console, "")
    width = max(map(len, table.actions))
    heads = [f"{action:>{max(width, 7)}}" for action in table.actions]
    print_line(
        console, f"  {'made hand':<16}{'share':>7} {' '.join(heads)}{'value':>9}{'equity':>8}"
    )
    for group in table.groups():
        numbers = " ".join(f"{100 * group[a]:{max(width, 7)}.1f}" for a in table.actions)
        worth = float(shown.units(group["value"], unit, big_blind=bb))
        print_line(
            console,
            f"  {group['made']:<16}{100 * group['share']:7.1f} {numbers}{worth:9.2f}"
            f"{100 * group['equity']:8.1f}",
        )
    print_line(console, "")
    print_line(console, f"  {'hand':<6}{'weight':>7} " + " ".join(heads) + "   values, likewise")
    values = shown.units(table.values, unit, big_blind=bb)
    order = np.argsort(-table.share, kind="stable")
    listed = order[: rows or None]
    for h in listed.tolist():
        numbers = " ".join(f"{100 * p:{max(width, 7)}.1f}" for p in table.strategy[h])
        worth_of = " ".join(f"{v:8.2f}" for v in values[h])
        print_line(console, f"  {table.hands[h]:<6}{table.weight[h]:7.3f} {numbers}   {worth_of}")
    if len(listed) < len(order):
        print_line(console, f"  and {len(order) - len(listed):,} more; --hands 0 prints them all")


def print_runouts(
    console: Console, shown: SolvedSpot, found: Runouts, unit: str, bb: float
) -> None:
    """A row for each runout."""
    print_line(console, "")
    print_line(console, f"{found.line}: {PLAYERS[found.player]} to act")
    print_line(console, "  " + _frequencies(found.frequencies))
    width = max(7, *map(len, found.actions))
    heads = " ".join(f"{action:>{width}}" for action in found.actions)
    print_line(console, f"  {'cards':<8}{heads}{'value':>9}{'equity':>8}")
    values = shown.units(found.value, unit, big_blind=bb)
    for k, cards in enumerate(found.cards):
        if found.probability[k] <= 0.0:
            continue
        numbers = " ".join(f"{100 * p:{width}.1f}" for p in found.frequency[k])
        print_line(
            console,
            f"  {' '.join(cards):<8}{numbers}{values[k]:9.2f}{100 * found.equity[k]:8.1f}",
        )


def _frequencies(frequencies: dict[str, float]) -> str:
    return ", ".join(f"{action} {100 * share:.1f} %" for action, share in frequencies.items())


def _name(unit: str) -> str:
    return {"chips": "chips", "pot": "% of the pot", "mbb": "mbb"}[unit]


def _print_grid(console: Console, grid: np.ndarray) -> None:
    """13 x 13 numbers with the names of the hands; blank where there is no hand."""
    for row in range(13):
        cells = []
        for column in range(13):
            number = grid[row, column]
            label = grid_label(row, column)
            cells.append(" " * 8 if np.isnan(number) else f"{label:<3}{number:4.0f} ")
        text = "".join(cells).rstrip()
        if text:
            print_line(console, "  " + text)


def print_boards(console: Console, report: BoardReport, line: str) -> None:
    """What is done at a line on each board, the equity, and their means."""
    width = max(7, *map(len, report.actions))
    heads = " ".join(f"{action:>{width}}" for action in report.actions)
    player = report.rows[0]["player"]
    print_line(console, f"{line or 'the start'}: {player} to act; per cent, values in chips")
    board_width = max(len(row["board"]) for row in report.rows)
    print_line(console, f"  {'board':<{board_width}} {heads} {'value':>8} {'equity':>7}")
    for row in (*report.rows, {"board": "mean", **report.means}):
        numbers = " ".join(f"{100 * row[action]:{width}.1f}" for action in report.actions)
        print_line(
            console,
            f"  {row['board']:<{board_width}} {numbers} {row['value']:8.2f} "
            f"{100 * row['equity']:7.1f}",
        )
