"""Reports of the viewer: one line of a spot on many boards, solved in the background."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol

from .._util.argument_checks import Number, brief
from .._util.compiles import Compiles, compiles_seen
from .._util.memory_budget import free_memory
from ..analysis.action_colours import action_colours
from ..analysis.board_reports import actions_of, solve_each, weighted_boards
from ..compilers import compile_game
from ..compilers.cards.card_public_nodes import ANY_CARD
from ..games.poker.flops import N_CLASSES, Flop, texture
from ..games.poker.spot import Spot
from ..model.arrays import CHANCE
from ..model.compiled_game import CompiledGame
from ..model.public_nodes import PublicNodes
from ..solvers.driver import solve
from ..solvers.solution import Solution
from .busy import BusyError
from .card_nodes import CardHandNodes
from .shown_nodes import Nodes, SolutionValues

TARGET = 0.5
"""Default target of a solve, in per cent of the pot."""
EXPLOITABILITY = Number(above=0, finite=True)
"""Check of a target."""
ITERATIONS = 100_000
"""Largest number of iterations of a board that is opened; the target ends it earlier."""
SPARE = 4
"""Free memory, in sizes of a solution, that solutions kept for opening leave to the next solve."""

KEPT = 0.25
"""Share of the free memory at the beginning of a report that solutions kept for opening may take;
their measured bytes are without labels and other objects."""


class Solving(Protocol):
    """Part of a session that reports use."""

    game: CompiledGame
    nodes: Nodes
    solutions: list[SolutionValues]
    precision: str | None
    threads: int | str
    folder: Path | None

    def show(self, first: Solution) -> None:
        """Show a solution in place of those shown before."""

    def solve(self, locks: Any, iterations: Any, target: Any = None) -> None:
        """Start to solve the game."""

    def finish(self) -> None:
        """Stop the running solve, and wait for its solution."""


class _DroppedError(Exception):
    """End of a report whose spot is no longer shown."""


class Reports:
    """Report of a line on many boards, for the spot that a session shows.

    Rows are added board by board, and saved in a table in the user's folder, if there is one: the
    same report goes on from its finished boards. Solutions are kept for opening while there is
    memory for them, the latest ones: at most :data:`KEPT` of the memory that is free at the
    beginning.

    Args:
        session: The session.
    """

    def __init__(self, session: Solving) -> None:
        self._session, self._lock = session, Lock()
        self._spot: Spot | None = None
        self._line = ""
        self._target = TARGET
        self._chips: dict[str, Any] | None = None
        self._table: Path | None = None
        self._rows: list[dict[str, Any]] = []
        self._solutions: dict[str, tuple[Solution, int]] = {}
        self._most_kept = 0.0
        self._number = 0
        self._boards: list[Flop] = []
        self._done = 0
        self._began = 0.0
        self._error: str | None = None
        self._is_stopped = False
        self._is_dropped = False
        self._opening: str | None = None
        self._opened = 0
        self._compiles = Compiles()
        self._thread: Thread | None = None

    def begin(self, boards: Any, node: Any, target: Any) -> None:
        """Begin a report of the line to a node of the session.

        Args:
            boards: A number of flops, ``"25"``, or boards, ``"Td9d6h AsKd2c"``.
            node: Number of a public node where a player acts. The report covers all cards in place
                of the dealt cards on the way to it.
            target: Target of each solve in per cent of the pot; None for :data:`TARGET`.

        Raises:
            BusyError: A report is being made.
            TypeError: An argument has a wrong type.
            ValueError: The game is not a spot, a board is wrong, nobody acts at the node, or the
                target is not positive.
        """
        shown = self._card_nodes()
        rules: Any = shown.rules
        if type(node) is not int or not isinstance(boards, str):
            raise TypeError("node must be a whole number, and boards a text")
        line = _line(shown.nodes, node)
        percent = TARGET if target is None else EXPLOITABILITY("target", target)
        chosen = _boards(boards, rules)
        with self._lock:
            self._check_idle()
            self._spot, self._line, self._target, self._boards = rules, line, percent, chosen
            self._chips = shown.at_table(node)["chips"]
            self._table = self._path(rules, line, percent)
            self._rows, self._done, self._error, self._is_stopped = [], 0, None, False
            self.forget()
            self._most_kept, self._number = KEPT * free_memory(), self._number + 1
            self._began = time.monotonic()
            self._thread = Thread(target=self._work, args=(rules,), daemon=True)
            self._thread.start()

    def open(self, board: Any) -> None:
        """Show the spot of the report on a board in the session; solve it there unless its solution
        is kept.

        Raises:
            BusyError: A report is being made.
            ValueError: The report has no such board.
        """
        with self._lock:
            self._check_idle()
            if self._spot is None or board not in {row["board"] for row in self._rows}:
                raise ValueError(f"the report has no board {brief(board)}")
            self._opening, self._error = board, None
            self._thread = Thread(target=self._open, args=(self._spot, board), daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the report after the board that is being solved."""
        self._is_stopped = True

    def drop(self) -> None:
        """Stop the report at once, because its spot is no longer shown.

        The table keeps the boards that are finished.
        """
        self.stop()
        self._is_dropped = True

    def forget(self) -> None:
        """Drop the solutions that are kept for opening; a running report keeps no more."""
        self._solutions, self._most_kept = {}, 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of the solutions that are kept for opening."""
        return sum(n_bytes for _, n_bytes in [*self._solutions.values()])

    def status(self, number: int = 0, known: int = 0) -> dict[str, Any]:
        """Return the rows so far, and the progress.

        Args:
            number: Number of the report whose first ``known`` rows are left out.
            known: Number of these rows.
        """
        running = self._thread is not None and self._thread.is_alive()
        rows, first = self._rows, known if number == self._number else 0
        actions = actions_of(rows[0]) if rows else ()
        return {
            "spot": None if self._spot is None else self._spot.name.split()[0],
            "line": self._line,
            "target": self._target,
            "unit": "" if self._spot is None else self._spot.unit_name.strip(),
            "pot": None if self._spot is None else self._spot.pot_value,
            "player": rows[0]["player"] if rows else None,
            "chips": self._chips,
            "actions": actions,
            "colours": action_colours(actions),
            "number": self._number,
            "first": first,
            "rows": [row | texture(row["board"]) for row in rows[first:]],
            "kept": list(self._solutions),
            "done": self._done,
            "boards": len(self._boards),
            "seconds": time.monotonic() - self._began if running else 0.0,
            "running": running and self._opening is None,
            "opening": self._opening if running else None,
            "opened": self._opened,
            "compiles": self._compiles.shown if running else 0,
            "table": None if self._table is None else str(self._table),
            "error": self._error,
        }

    def _check_idle(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            raise BusyError("a report is being made already")

    def _card_nodes(self) -> CardHandNodes:
        nodes = self._session.nodes
        if not isinstance(nodes, CardHandNodes) or not isinstance(nodes.rules, Spot):
            raise ValueError(f"{self._session.game.name} is not a spot, so it has no report")
        if (n_players := nodes.rules.n_players) > 2:
            name = self._session.game.name
            raise ValueError(f"{name} has {n_players} players: a report needs two")
        return nodes

    def _path(self, rules: Spot, line: str, percent: float) -> Path | None:
        """Return the path of the table of a report; None if nothing is saved."""
        if (folder := self._session.folder) is None:
            return None
        options = rules.options | {"board": f"{len(rules.board)} cards"}
        solved = line, percent, self._session.precision
        key = hashlib.sha256(repr((sorted(options.items(), key=str), *solved)).encode())
        return folder / "reports" / f"{rules.game}-{key.hexdigest()[:16]}.csv"

    def _work(self, spot: Spot) -> None:
        try:
            if self._table is not None:
                self._table.parent.mkdir(parents=True, exist_ok=True)
            with compiles_seen() as self._compiles:
                for rows in solve_each(
                    spot,
                    self._boards,
                    line=self._line,
                    target=f"{self._target}%",
                    precision=self._session.precision,
                    threads=self._session.threads,
                    table=self._table,
                    solve_board=self._solve_board,
                ):
                    self._rows = [*self._rows, *rows]
                    self._done += 1
                    if self._is_stopped:
                        return
        except _DroppedError:
            pass
        except Exception as error:
            self._error = str(error) or type(error).__name__

    def _end_if_dropped(self, progress: object) -> None:
        if self._is_dropped:
            raise _DroppedError

    def _solve_board(self, rules: Spot, **options: Any) -> Solution:
        """Solve the spot of a board, and keep the solution while there is memory."""
        # By name, so that files of the solution can compile it.
        game = compile_game(rules.game, **rules.options)
        solution = solve(game, progress=self._end_if_dropped, **options)
        size = game.nbytes + sum(array.nbytes for array in solution.state or ())
        self._solutions["".join(str(rules.cards[card]) for card in rules.board)] = solution, size
        while self.nbytes > self._most_kept or free_memory() < SPARE * size:
            # The form may empty them at any time.
            if self._solutions.pop(next(iter(self._solutions), ""), None) is None:
                break
        return solution

    def _open(self, spot: Spot, board: str) -> None:
        try:
            session = self._session
            solution, _ = self._solutions.get(board, (None, 0))
            with compiles_seen() as self._compiles:
                shown = solution
                if shown is None:
                    game = compile_game(spot.game, **(spot.options | {"board": board}))
                    shown = solve(game, iters=0, precision=session.precision)
                session.finish()
                session.show(shown)
            session.solutions[0].is_new = solution is not None
            if solution is None:
                session.solve({}, ITERATIONS, self._target / 100.0 * spot.pot_value)
            self._opened += 1
        except Exception as error:
            self._error = str(error) or type(error).__name__
        finally:
            self._opening = None


def _line(nodes: PublicNodes, node: int) -> str:
    """Return the line to a node, with ``*`` for dealt cards."""
    if nodes.player(node) < 0:
        raise ValueError("a report is of a line after which a player acts")
    steps, parent = [], 0
    for edge in nodes.path(node):
        steps.append(ANY_CARD if nodes.player(parent) == CHANCE else edge.label)
        parent = edge.node
    return " ".join(steps)


def _boards(text: str, spot: Spot) -> list[Flop]:
    """Return the boards of a text."""
    n_cards = len(spot.board)
    words = text.replace(",", " ").split()
    if len(words) == 1 and words[0].isdecimal():
        if n_cards != 3:
            raise ValueError(f"this spot has {n_cards} cards on the board: give such boards")
        return weighted_boards(int(words[0][:9]), spot)
    if not 1 <= len(words) <= N_CLASSES:
        raise ValueError(f"give 1 to {N_CLASSES:,} boards, or a number of flops")
    for word in words:
        if len(word) != 2 * n_cards:
            raise ValueError(f"{brief(word)} is not a board of {n_cards} cards")
    return weighted_boards(words, spot)
