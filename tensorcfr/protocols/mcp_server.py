"""Tools for AI assistants by the Model Context Protocol; ``tensorcfr mcp``.

Each answer has the unit of its amounts, the exploitability and the guarantee of the strategies, and
each solve has limits on time and memory.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from .._util.argument_checks import brief
from .._util.extras import needs
from .._util.version import __version__
from ..analysis import SolvedSpot
from ..compilers import compile_game
from ..errors import format_bytes
from ..games import SPOTS, make_spot
from ..games.poker.spot import PLAYERS
from ..games.tournaments import icm
from ..solvers.driver import solve
from ..solvers.solution import Solution

MAX_SECONDS, MAX_BYTES = 300.0, 4 << 30
"""Default limits of a solve: seconds, and bytes of the game and of the solver."""
USUAL_SECONDS = 60.0
"""Time limit of a call that gives none, in seconds."""
MAX_SOLUTIONS, MAX_HANDS = 4, 200
"""Largest number of solutions that are kept, and of hands in an answer."""
EXACT = "computed exactly; there are no strategies, and so no exploitability"


class Limits(NamedTuple):
    """Limits of each solve."""

    seconds: float = MAX_SECONDS
    memory: int = MAX_BYTES
    """Bytes of the compiled game, and of the solver."""


class Tools:
    """Tools with the solutions that they made.

    Args:
        limits: Limits of each solve.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits, self.count = limits, 0
        self._lock = Lock()
        self.solutions: OrderedDict[str, tuple[Solution, SolvedSpot]] = OrderedDict()

    def solve_spot(
        self,
        board: str,
        oop: str,
        ip: str,
        pot: float,
        stacks: float,
        bets: str = "50%,a",
        raises: str = "3x,a",
        game: str = "holdem",
        target: str = "0.5%",
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Solve a poker spot after the flop between two players.

        Args:
            board: Three to five cards, "Td9d6hQc".
            oop: Range of the player who acts first, "66+,A8s+,KQo:0.5".
            ip: Range of the player who acts last.
            pot: Chips in the pot.
            stacks: Chips that each player has behind.
            bets: Sizes of bets, "33%,75%,a"; a is all-in.
            raises: Sizes of raises, "3x,a".
            game: "holdem", "short_deck", "omaha" or another game with spots.
            target: Exploitability at which to stop, "0.5%" of the pot or "0.1 chips".
            seconds: Time limit of the solve; by default a minute.

        Returns:
            The name of the solution, for show_line and exploitability; values and quality.
        """
        if game not in SPOTS:
            raise ValueError(f"game must be one of {', '.join(SPOTS)}, not {brief(game)}")
        if seconds is None:
            seconds = min(USUAL_SECONDS, self.limits.seconds)
        if not 0.0 < seconds <= self.limits.seconds:
            raise ValueError(
                f"seconds must be above 0 and at most {self.limits.seconds:g}, not {seconds:g}"
            )
        options: dict[str, Any] = {"board": board, "ranges": (oop, ip), "pot": pot}
        options |= {"stacks": stacks, "bets": bets, "raises": raises}
        make_spot(**options, game=game)  # Checks the options before anything is compiled.
        memory = self.limits.memory
        with self._lock:  # Calls arrive in threads, and the limits are for all of them together.
            compiled = compile_game(game, memory_limit=memory, **options)
            solution = solve(compiled, target=target, time_limit=seconds, memory_limit=memory)
            self.count += 1
            name = f"spot{self.count}"
            self.solutions[name] = solution, SolvedSpot(solution)
            if len(self.solutions) > MAX_SOLUTIONS:
                self.solutions.popitem(last=False)
        return {"solution": name, **self.exploitability(name)}

    def exploitability(self, solution: str) -> dict[str, Any]:
        """Report the quality of a solution: exploitability, values and guarantee.

        Args:
            solution: Name that solve_spot returned.
        """
        solved, spot = self._of(solution)
        rules: Any = spot.rules
        evaluation, pot = solved.evaluation, rules.pot_value
        return {
            "game": solved.game.name,
            **_quality(solved),
            "exploitability_percent_of_pot": 100.0 * evaluation.exploitability / pot,
            "values": dict(zip(PLAYERS, evaluation.values, strict=True)),
            "best_responses": dict(zip(PLAYERS, evaluation.best_responses, strict=True)),
            "values_count": "chips won beyond half of the pot at the start",
            "iterations": solved.iterations,
            "seconds": solved.seconds,
            "status": solved.status.value,
            "limits": f"{self.limits.seconds:g} s, {format_bytes(self.limits.memory)}",
        }

    def show_line(self, solution: str, line: str = "", hands: int = 50) -> dict[str, Any]:
        """Show the strategy at a line of a solved spot, hand by hand.

        Args:
            solution: Name that solve_spot returned.
            line: Actions and dealt cards so far, "check bet60 call 7s"; empty for the start.
            hands: Largest number of hands to show; the hands that are most often left come first.
        """
        if not 0 <= hands <= MAX_HANDS:
            raise ValueError(f"hands must be from 0 to {MAX_HANDS}, not {hands}")
        solved, spot = self._of(solution)
        table = spot.table(line)
        order = np.argsort(-table.weight * table.opponent_weight, kind="stable")[:hands]
        rows = [*table.rows()]
        return {
            "line": table.line,
            "board": " ".join(table.board),
            "player": PLAYERS[table.player],
            "frequencies": _plain(table.frequencies),
            "mean_value": _number(table.mean(table.value)),
            "hands": [_plain(rows[row]) for row in order.tolist()],
            "hands_left_out": max(0, len(table.hands) - len(order)),
            "values_count": "chips won beyond half of the pot at the start",
            **_quality(solved),
        }

    def icm(self, stacks: Sequence[float], payouts: Sequence[float]) -> dict[str, Any]:
        """Compute the expected prizes of the stacks of a tournament by the independent chip model.

        Args:
            stacks: Chips of each player.
            payouts: Prizes that are still to be won, the first first.
        """
        return {
            "prizes": icm(tuple(stacks), tuple(payouts)).tolist(),
            "unit": "prize money, as in payouts",
            "exploitability": None,
            "guarantee": EXACT,
        }

    def _of(self, name: str) -> tuple[Solution, SolvedSpot]:
        """Return a solution and its lookups."""
        try:
            # Another call may drop the solution at any time.
            solution = self.solutions[name]
            self.solutions.move_to_end(name)
        except KeyError:
            known = ", ".join([*self.solutions]) or "none yet"
            raise ValueError(f"there is no solution {brief(name)}; there are: {known}") from None
        return solution


def mcp_server(limits: Limits | None = None) -> Any:
    """Return a server of the tools, of the official package ``mcp``; ``run()`` answers on standard
    input and output.

    Args:
        limits: Limits of each solve; by default five minutes and 4 GiB.

    Raises:
        MissingExtraError: The package is not installed; names the extra.
    """
    server = needs("mcp.server", "mcp").MCPServer(
        "tensorcfr",
        version=__version__,
        instructions="Solve poker spots by counterfactual regret minimization. solve_spot comes "
        "first; show_line and exploitability take the name that it returns.",
    )
    tools = Tools(limits or Limits())
    listed: tuple[Callable[..., dict[str, Any]], ...] = (
        tools.solve_spot,
        tools.show_line,
        tools.exploitability,
        tools.icm,
    )
    tool_error = needs("mcp.server.mcpserver.exceptions", "mcp").ToolError
    for tool in listed:
        server.tool()(_with_messages(tool, tool_error))
    return server


def _with_messages(
    tool: Callable[..., dict[str, Any]], tool_error: type[Exception]
) -> Callable[..., dict[str, Any]]:
    """Return a tool whose errors reach the client with their messages."""

    @wraps(tool)
    def call(**options: Any) -> dict[str, Any]:
        try:
            return tool(**options)
        except (ValueError, TypeError, MemoryError, OSError) as error:
            raise tool_error(str(error)) from None

    return call


def _quality(solution: Solution) -> dict[str, Any]:
    """Return the unit, the exploitability and the guarantee of a solution."""
    return {
        "unit": "chips",
        "exploitability": solution.exploitability,
        "guarantee": solution.guarantee,
    }


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for JSON, which has no NaN."""
    return {key: _number(x) if isinstance(x, float) else x for key, x in row.items()}


def _number(number: float) -> float | None:
    """Return a number with six digits; None for NaN."""
    return float(f"{number:.6g}") if math.isfinite(number) else None
