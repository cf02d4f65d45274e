"""Trainer of the viewer: plays against a solution, with the cost of every decision."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from ..analysis.action_colours import action_colours
from ..model.arrays import TERMINAL
from ..model.compiled_game import CompiledGame
from ..solvers.solution import Solution
from ..subgames.play import Match
from ..subgames.positions import Coach, RatedDecision
from .shown_nodes import HandNodes, Nodes, SolutionValues
from .training_log import TrainingLog


class ShownSolutions(Protocol):
    """Part of a session that a trainer uses."""

    game: CompiledGame
    nodes: Nodes
    solutions: list[SolutionValues]
    folder: Path | None


class Trainer:
    """Plays of the user against a solution of a session.

    The opponent draws each action from the solution. A decision is *right* if its cost is at most
    the exploitability of the solution, whose values are not more exact than that.

    Args:
        session: The session, whose folder has the log of all plays.
    """

    def __init__(self, session: ShownSolutions) -> None:
        self._session, self._lock = session, Lock()
        self._log: TrainingLog | None = None
        self._solution: Solution | None = None
        self._matches: dict[int, Match] = {}
        self._coach: Coach | None = None
        self._seat = 0
        self._begin = 0
        self._rated: list[tuple[RatedDecision, dict[str, Any]]] = []
        self._plays = 0

    @property
    def log(self) -> TrainingLog:
        """Log of the plays, which is read when it is first needed."""
        if self._log is None:
            self._log = TrainingLog(self._session.folder)
        return self._log

    def deal(self, solution: Any, seat: Any, node: Any) -> dict[str, Any]:
        """Begin a play, and return :meth:`state`.

        Args:
            solution: Number of the solution to play against.
            seat: Player whose decisions the user makes; None for both in turn.
            node: Number of the public node at which the play begins.

        Raises:
            TypeError: An argument has a wrong type.
            ValueError: There is no such solution, player or node. Or the solution has no
                iterations, its strategies never go to the node, or the play is over there. Or the
                game does not have two players with private hands.
        """
        with self._lock:
            if any(type(number) is not int for number in (solution, node)):
                raise TypeError("solution and node must be whole numbers")
            if seat not in (None, 0, 1) or isinstance(seat, bool):
                raise ValueError(f"seat must be 0, 1 or null, not {seat!r}")
            if not 0 <= solution < len(self._session.solutions):
                raise ValueError(f"there is no solution {solution}")
            values, nodes = self._session.solutions[solution], self._session.nodes
            if not isinstance(nodes, HandNodes) or self._session.game.n_players != 2:
                raise ValueError(
                    f"{self._session.game.name}: training needs two players with private hands"
                )
            if not (values.solution.iterations or values.solution.algorithm.is_exact):
                raise ValueError("solve the game first: this solution has no iterations")
            if nodes.nodes.player(node) == TERMINAL:
                raise ValueError("the play is over at this node")
            line = " ".join(edge.label for edge in nodes.nodes.path(node))
            self._seat = self._plays % 2 if seat is None else seat
            if (computed := values.get()) is None:
                raise ValueError(values.error)
            if self._solution is not values.solution:
                self._solution, self._matches = values.solution, {}
            if self._seat not in self._matches:
                self._matches[self._seat] = Match(
                    self._session.game,
                    values.solution,
                    seat=1 - self._seat,
                    resolve_after=None,
                    seed=int(self.log.session, 16) + self._seat,
                )
            self._coach, self._rated = Coach(computed), []
            self._matches[self._seat].deal(line)
            self._begin, self._plays = len(nodes.nodes.path(node)), self._plays + 1
            self._advance()
            return self._state()

    def act(self, action: Any) -> dict[str, Any]:
        """Take an action of the user, then those of the opponent, and return :meth:`state`.

        Raises:
            ValueError: There is no such action, or no play that goes on.
        """
        with self._lock:
            match = self._playing()
            if match.is_over:
                raise ValueError("the play is over: deal the next one")
            rated = self._coach.rate(match.position, action)  # type: ignore[union-attr]
            self._rated.append((rated, self._session.nodes.at_table(match.position.node)))
            match.act(action)
            self._advance()
            return self._state()

    def state(self) -> dict[str, Any]:
        """Return the play on the table; ``None`` as ``play`` before the first one."""
        with self._lock:
            return self._state()

    def _playing(self) -> Match:
        match = self._matches.get(self._seat)
        if match is None or match.game is not self._session.game:
            raise ValueError("no play has begun: deal one")
        return match

    def _advance(self) -> None:
        """Take actions of the opponent until it is the user's turn or the play is over."""
        match = self._playing()
        while not match.is_over and match.to_act != self._seat:
            match.resolve_and_act()
        if match.is_over:
            self.log.add(self._play())

    def _play(self) -> dict[str, Any]:
        """Return the finished play for the log."""
        match, game = self._playing(), self._session.game
        return {
            "game": game.name,
            "digest": game.digest,
            "hand": match.hand(self._seat),
            "unit": match.position.nodes.unit_name.strip(),
            "won": match.utilities()[self._seat],
            "decisions": [
                {
                    "line": rated.line,
                    "hand": rated.hand,
                    "action": rated.action,
                    "best": rated.best,
                    "cost": rated.cost,
                    "share": self._share(rated.cost),
                    "right": self._is_right(rated),
                    "cards": len(table.get("board", ())),
                }
                for rated, table in self._rated
            ],
        }

    def _share(self, cost: float) -> float | None:
        """Return a cost as a share of the pot at the start; None in games without a pot."""
        pot = self._session.nodes.facts["pot"]
        return None if pot is None else cost / pot

    def _is_right(self, rated: RatedDecision) -> bool:
        return rated.cost <= self._solution.exploitability  # type: ignore[union-attr]

    def _state(self) -> dict[str, Any]:
        statistics = self.log.statistics(self._session.game.digest)
        try:
            match = self._playing()
        except ValueError:
            return {"play": None, "statistics": statistics}
        position, nodes = match.position, match.position.nodes
        steps, parent = list[dict[str, Any]](), 0
        for edge in nodes.path(position.node):
            player = nodes.player(parent)
            steps.append({"label": edge.label, "player": player if player >= 0 else None})
            parent = edge.node
        decisions = []
        for rated, table in self._rated:
            actions = list(rated.values)
            decisions.append(
                {
                    "line": rated.line,
                    "action": rated.action,
                    "best": rated.best,
                    "cost": rated.cost,
                    "share": self._share(rated.cost),
                    "right": self._is_right(rated),
                    "actions": actions,
                    "colours": action_colours(actions),
                    "p": list(rated.probabilities.values()),
                    "q": list(rated.values.values()),
                    "chips": table.get("chips"),
                }
            )
        return {
            "play": {
                "node": position.node,
                "seat": self._seat,
                "hand": match.hand(self._seat),
                "opponent": match.hand(1 - self._seat) if match.is_over else None,
                "steps": steps,
                "begin": self._begin,
                "actions": [] if match.is_over else list(match.actions),
                "colours": None if match.is_over else action_colours(match.actions),
                "over": match.is_over,
                "won": match.utilities()[self._seat] if match.is_over else None,
                "decisions": decisions,
                "number": self._plays,
                **self._session.nodes.at_table(position.node),
            },
            "statistics": statistics,
        }
