"""Session of the viewer: its solutions, and a solve with locks in the background."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from .._util.argument_checks import Whole
from .._util.compiles import Compiles, compiles_seen
from ..algorithms import CFR_PLUS
from ..analysis.iteration_events import iteration_events
from ..analysis.other_utilities import restate
from ..analysis.regret_bounds import regrets
from ..compilers.cards.card_public_nodes import CardNodes
from ..games.poker.spot import Spot
from ..games.tournaments import POT
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import require_flat
from ..model.locks import Locks
from ..solvers.driver import solve
from ..solvers.loop import Progress
from ..solvers.solution import Solution
from ..solvers.solver_arguments import AUTO
from .busy import BusyError
from .card_nodes import CardHandNodes
from .opponents import Opponent
from .reports import EXPLOITABILITY, Reports
from .rounding import rounded
from .shown_nodes import HandNodes, InfosetNodes, Nodes, SolutionValues, describe
from .snapshots import Snapshots
from .trainer import Trainer

NAMES = ("A", "B")
PRICES = "prices"
"""Work of a running request that computes the prices of a model."""
LONGEST_TITLE = 40
"""Largest number of characters of a game's name that the page shows with its parameters."""
MAX_ITERATIONS = 10_000_000
JOINT = Whole(1, 10_000)
"""Check of the iterations of a joint play, which cannot be stopped."""
TIGHTER = 0.25
"""Target of a response, as a share of the first solution's exploitability: gains and risks are
differences, which the errors of both sides blur."""
WATCHED_SECONDS = 5.0
"""Seconds after a request for the progress in which solutions so far are made for the page."""


def nodes_of(game: CompiledGame) -> Nodes:
    """Return the nodes of a game: public nodes, or infosets if there is no public tree."""
    if isinstance(game.nodes, CardNodes):
        return CardHandNodes(game, game.nodes)
    if game.nodes is not None:
        return HandNodes(game, game.nodes)
    return InfosetNodes(require_flat(game, "a list of infosets"))


@dataclass
class Running:
    """State of a solve in the background."""

    iterations: int
    """Number of requested iterations."""
    work: str = ""
    """Name of the work if it is not a single solve."""
    iteration: int = 0
    exploitability: float | None = None
    trace: list[list[float]] = field(default_factory=list)
    compiles: Compiles = field(default_factory=Compiles)
    """Counts of the kernels that are compiled for the solve."""
    is_stopped: bool = False
    error: str | None = None
    is_over: bool = False
    last_request: float = field(default_factory=time.monotonic)
    """Time of the latest request for the progress."""

    def show(self, progress: Progress) -> None:
        """Store the numbers of a solve for the page."""
        self.iteration = progress.iteration
        self.trace = [[point.iteration, point.exploitability] for point in progress.trace]
        if progress.latest is not None:
            self.exploitability = progress.latest.exploitability

    @property
    def is_watched(self) -> bool:
        """True if a page shows the progress."""
        return time.monotonic() - self.last_request < WATCHED_SECONDS


class Session:
    """Session of the viewer with one or two solutions of a game.

    Args:
        first: The solution.
        second: Another solution of the same game, or of a game that differs in utilities only, for
            comparison. Its strategies are shown with the values of the first game.
        precision: Precision of the solvers' arrays, as for :func:`tensorcfr.solve`.
        threads: Threads of the solvers, likewise.

    Raises:
        ValueError: The solutions are of games with different infosets.
    """

    def __init__(
        self,
        first: Solution,
        second: Solution | None = None,
        *,
        precision: str | None = None,
        threads: int | str = AUTO,
    ) -> None:
        self.precision, self.threads, self.version = precision, threads, 0
        self.folder: Path | None = None
        """Folder of the user's data; None if nothing is saved."""
        self.running: Running | None = None
        self.planned: int | None = None
        """Number of iterations that the page proposes for a first solve; None for its default."""
        self.target: float | None = None
        """Target of a first solve."""
        self.so_far: SolutionValues | None = None
        """Solution of a running solve, which is among the solutions; None if there is none."""
        self.trainer, self.reports = Trainer(self), Reports(self)
        self._lock = Lock()
        self._thread: Thread | None = None
        self.show(first, second)
        self.version = 0

    def show(self, first: Solution, second: Solution | None = None) -> None:
        """Show one or two solutions, in place of those shown before; the arguments are those of
        the class."""
        self.game: CompiledGame = first.game
        self.nodes: Nodes = nodes_of(self.game)
        self.solutions = [
            self._values_of(solution) for solution in (first, second) if solution is not None
        ]
        self.version += 1

    @property
    def rules(self) -> Any:
        """Rules of a card game; None for other games."""
        return self.nodes.rules

    @property
    def is_spot(self) -> bool:
        """True if the game begins with a pot."""
        return isinstance(self.rules, Spot)

    @property
    def _is_solved(self) -> bool:
        """True if the first solution has iterations or is exact."""
        first = self.solutions[0].solution
        return bool(first.iterations or first.algorithm.is_exact)

    @property
    def is_running(self) -> bool:
        """True if a solve is running."""
        return self.running is not None and not self.running.is_over

    def compare(self, second: Solution) -> None:
        """Show another solution next to the first one.

        Raises:
            BusyError: A solve is running.
            ValueError: The solutions are of games with different infosets.
        """
        values = self._values_of(second)
        with self._lock:
            if self.is_running:
                raise BusyError("a solve is running already")
            self.solutions[1:] = [values]
            self.version += 1

    def _values_of(self, solution: Solution) -> SolutionValues:
        """Return the values of a solution in the session's game."""
        values = self.nodes.values_of(restate(solution, self.game))
        if solution.game.digest != self.game.digest:
            units = [nodes.facts["unit"] for nodes in (nodes_of(solution.game), self.nodes)]
            values.solved_for = units[0] if units[0] != units[1] else "other utilities"
        return values

    def about(self, patience: float | None = None) -> dict[str, Any]:
        """Return a summary of the game and its solutions.

        It lacks gains that are not known after ``patience`` seconds.
        """
        game, name = self.game, self.game.name
        first, facts = self.solutions[0].solution, self.nodes.facts
        per_cent = game.defaults.units.get(POT, game.defaults.units.get("%"))
        if facts["cards"]:  # The page shows the board, so the title does not repeat it.
            name = name.partition(" ")[0]
        return {
            "game": game.name,
            "title": name if len(name) <= LONGEST_TITLE else name.partition("(")[0],
            "players": game.n_players,
            "zero_sum": game.zero_sum,
            "contestants": game.n_contestants,
            "has_joint_play": not game.chunks.n_chunks,
            "infosets": game.n_infosets,
            "kind": self.nodes.kind,
            "root": self.nodes.root,
            **facts,
            "nodes": self.nodes.count,
            "per_cent": per_cent if self.is_spot else None,
            "version": self.version,
            "names": list(NAMES[: len(self.solutions)]),
            "solutions": [
                describe(values.solution)
                | {
                    "gains": self.nodes.gains(values, patience),
                    "solved_for": values.solved_for,
                    "response": values.response,
                    "so_far": values is self.so_far,
                }
                for values in self.solutions
            ],
            "iterations": max(100, first.iterations or self.planned or 0),
        }

    def node(self, number: int, solution: int, patience: float | None = None) -> dict[str, Any]:
        """Return a node of a solution; expected values are missing if they take more than
        ``patience`` s.

        Raises:
            ValueError: There is no such node or solution.
        """
        of = self._solution(solution)
        data = self.nodes.node(number, of, patience)
        return data | {"values": of.get(0.0) is not None, "note": of.error}

    def whole_node(self, number: int, solution: int) -> dict[str, Any]:
        """Return a node with its expected values and all its extras by name.

        Raises:
            ValueError: There is no such node or solution.
        """
        names = self.nodes.extras(number)
        extras = {name: self.extra(name, number, solution) for name in names}
        return self.node(number, solution) | {"extras": extras}

    def extra(self, name: str, number: int, solution: int) -> dict[str, Any]:
        """Return an extra of a node, ``"equity"`` or ``"runouts"`` in card games.

        Raises:
            ValueError: There is no such node, solution or extra.
        """
        return self.nodes.extra(name, number, self._solution(solution))

    def iterations(self, line: str) -> dict[str, Any]:
        """Return the events of the first solution's first iterations.

        Args:
            line: Steps to the first history to show, separated by commas; empty for the start.

        Raises:
            ValueError: The algorithm or the game cannot be shown, or there are too many histories.
            KeyError: The line does not exist.
        """
        game = require_flat(self.game, "the histories of single iterations")
        steps = [step.strip() for step in line.split(",") if step.strip()]
        record = self.solutions[0].solution.algorithm
        return rounded(iteration_events(game, record, line=steps).to_dict())

    def _solution(self, number: int) -> SolutionValues:
        if not 0 <= number < len(self.solutions):
            raise ValueError(f"there is no solution {number}")
        return self.solutions[number]

    # ------------------------------------------------------------------------- solving again

    def solve(
        self, locks: Any, iterations: Any, target: Any = None, *, for_chips: Any = False
    ) -> None:
        """Start to solve the game with locks; the result becomes the second solution.

        Args:
            locks: Probabilities by infoset and action.
            iterations: Number of iterations.
            target: Exploitability at which the solve ends earlier; by default :attr:`target` in a
                first solve, but not for chips.
            for_chips: True to solve a hand of a tournament for chips.

        Raises:
            BusyError: Another solve is running.
            TypeError: The locks are not a mapping of mappings, or the game is not a hand of a
                tournament.
            ValueError: A lock does not fit the game, or the iterations or the target are out of
                range.
        """
        if target is not None:
            target = EXPLOITABILITY("target", target)
        elif not self._is_solved and not for_chips:
            target = self.target
        game = self.nodes.chip_game() if for_chips else self.game
        checked = Locks(game, locks)
        self._start(iterations, lambda running: self._solve(game, checked, target, running))

    def respond(self, request: Mapping[str, Any], iterations: Any) -> None:
        """Start to compute a response to a model of a player, which becomes the second solution.

        Args:
            request: The arguments of :class:`~tensorcfr.viewer.opponents.Opponent`.
            iterations: Largest number of iterations of each solve. It ends earlier at a fraction of
                the exploitability of the first solution, :data:`TIGHTER`.

        Raises:
            BusyError: A solve is running.
            TypeError: A value has a wrong type.
            ValueError: The request does not fit the game or its solutions.
        """
        solutions = [values.solution for values in self.solutions]
        # Values of a tournament are prizes, which have no pot.
        has_pot = self.is_spot and self.nodes.facts["tournament"] is None
        opponent = Opponent(request, solutions, has_pot=has_pot)

        def work(running: Running) -> None:
            def hook(progress: Progress) -> bool:
                begins = progress.iteration < running.iteration
                number[0] += begins
                running.work = f"response {number[0]}" if number[0] > 0 else PRICES
                running.show(progress)
                return running.is_stopped

            number, running.work = [1 - opponent.solves_for_prices], PRICES
            options: dict[str, Any] = {"iters": running.iterations, "threads": self.threads}
            # The exploitability of an exact solution is a rounding error, which may be negative.
            target = TIGHTER * max(0.0, opponent.solution.exploitability)
            options |= {"target": target or None}
            options |= {"precision": self.precision, "progress": hook}
            solution, report = opponent.respond(options)
            if running.is_stopped:  # A solve that was stopped is not a response.
                raise ValueError("stopped before the response was known")
            values = self._values_of(solution)
            values.response = report
            with self._lock:
                self.solutions[1:] = [values]
                self.version += 1

        self._start(iterations, work)

    def joint_play(self, iterations: Any) -> dict[str, Any]:
        """Return how far the joint play of CFR+ is from a coarse correlated equilibrium.

        The time is in proportion to the iterations, after the first request on a machine, which
        compiles kernels.

        Args:
            iterations: Number of iterations, with simultaneous updates and the locks of the first
                solution.

        Raises:
            ValueError: The number is out of range, or the game is in chunks.
        """
        JOINT("iterations", iterations)
        record = CFR_PLUS(alternating=False)
        first = self.solutions[0].solution
        (point,) = regrets(first.game, record, checkpoints=[iterations], locks=first.locks)
        gaps = {"average": max(point.average), "weighted": max(point.weighted)}
        return {"iterations": iterations, **gaps}

    def _start(self, iterations: Any, work: Callable[[Running], None]) -> None:
        """Start work in the background."""
        if type(iterations) is not int or not 1 <= iterations <= MAX_ITERATIONS:
            raise ValueError(
                f"iterations must be a whole number from 1 to {MAX_ITERATIONS:,}, not "
                f"{iterations!r}"
            )

        def run() -> None:
            try:
                with compiles_seen() as running.compiles:
                    work(running)
            except Exception as error:
                running.error = str(error) or type(error).__name__
            finally:
                running.is_over = True

        with self._lock:
            if self.is_running:
                raise BusyError("a solve is running already")
            running = self.running = Running(iterations)
            self._thread = Thread(target=run, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the running solve and keep its solution."""
        if self.running is not None:
            self.running.is_stopped = True

    def finish(self) -> None:
        """Stop the running solve, and wait for its solution."""
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def _solve(
        self, game: CompiledGame, locks: Locks, target: float | None, running: Running
    ) -> None:
        def hook(progress: Progress) -> bool:
            running.show(progress)
            # Its values would never be known if a snapshot came before those of the last one.
            if running.is_watched and not shown[0].is_computing:
                with suppress(MemoryError):
                    if (solution := snapshots.take(progress)) is not None:
                        shown[0] = show(solution, is_last=False)
            return running.is_stopped

        def show(solution: Solution, *, is_last: bool) -> SolutionValues:
            """Show a solution in place of the one that the solve has shown before."""
            values = self._values_of(solution)
            with self._lock:
                self.solutions[index:] = [values]
                self.so_far = None if is_last else values
                self.version += 1
            return values

        first = self.solutions[0].solution
        # Replace a first solution without iterations: it is only a placeholder.
        index = int(self._is_solved or game is not self.game)
        snapshots, shown = Snapshots(locks), [self.solutions[-1]]
        record = first.algorithm if first.algorithm.passes_whole_game else None
        options: dict[str, Any] = {"target": target, "precision": self.precision}
        options |= {"iters": running.iterations, "locks": locks, "progress": hook}
        solution = solve(game, record, threads=self.threads, **options)
        show(solution, is_last=True).is_new = True

    def status(self) -> dict[str, Any]:
        """Return the progress of the solve; the version increases with each finished solve."""
        running = self.running
        report: dict[str, Any] = {"version": self.version, "running": None, "error": None}
        if running is not None and not running.is_over:
            running.last_request = time.monotonic()
            shown = ("work", "iteration", "iterations", "exploitability", "trace")
            report["running"] = {name: getattr(running, name) for name in shown}
            # Kernels are compiled after the first iteration, too: the evaluation needs others.
            report["running"]["compiles"] = running.compiles.shown
        elif running is not None:
            report["error"] = running.error
        return report
