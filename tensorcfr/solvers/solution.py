"""What :func:`tensorcfr.solve` returns."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import Algorithm, Record, Sampling, from_dict
from ..evaluation import Evaluation
from ..kernels.iteration import State
from ..model.arrays import SequenceForm
from ..model.game import CompiledGame
from ..model.locks import Locks
from ..model.policy import Policy
from ..storage import npz as storage
from .sampled_solver import SampledState, sampled_state_of
from .solver import STATE_KEPT, form_for, last_iterate, state_of

KINDS = ("average", "last")
"""Strategies that may be the best: the average, the last iterate."""


class Status(enum.Enum):
    """Why a solve ended."""

    ITERATIONS = "ran the iterations asked for"
    TARGET = "reached the target exploitability"
    TIME_LIMIT = "reached the time limit"
    NODES = "touched the nodes asked for"
    INTERRUPTED = "interrupted"
    EXACT = "solved exactly"


@dataclass(frozen=True)
class TracePoint:
    """One line of the record that a solve keeps."""

    iteration: int
    """Iterations done."""
    nodes_touched: int
    """Histories visited so far, chance nodes and terminals included: those that a traversal came
    to; a sweep, which every player's update is in the full-tree variants, comes to them all."""
    seconds: float
    """Time spent iterating; evaluations are not charged."""
    nash_conv: float
    """Sum over players of best-response value minus value, of the average strategy."""
    exploitability: float
    """``nash_conv`` divided by the number of players."""
    decision_nodes_touched: int = 0
    """Decision nodes among the histories visited."""
    last_nash_conv: float | None = None
    """``nash_conv`` of the last iterate, the strategy that the next iteration would use; None
    unless it was asked for."""
    last_exploitability: float | None = None
    """``last_nash_conv`` divided by the number of players."""


@dataclass(frozen=True, eq=False)
class BestIterate:
    """The least exploitable of the strategies that a solve looked at."""

    policy: Policy
    """The strategies of all players."""
    evaluation: Evaluation
    """Values and best-response values of ``policy``."""
    iteration: int
    """Iterations after which it was found."""
    kind: str
    """``"average"`` or ``"last"``: the average strategy then, or the strategy that the next
    iteration would use."""

    @property
    def nash_conv(self) -> float:
        """Sum over players of best-response value minus value."""
        return self.evaluation.nash_conv

    @property
    def exploitability(self) -> float:
        """``nash_conv`` divided by the number of players."""
        return self.evaluation.exploitability

    def __repr__(self) -> str:
        return f"<BestIterate: {self}, exploitability {self.exploitability:.6g}>"

    def __str__(self) -> str:
        which = "average strategy" if self.kind == "average" else "last iterate"
        return f"{which} of iteration {self.iteration:,}"


@dataclass(frozen=True, eq=False)
class Solution:
    """The outcome of a solve: strategies, what they are worth, and how they were found."""

    game: CompiledGame
    """The game that was solved."""
    algorithm: Record
    """The algorithm, as data."""
    status: Status
    """Why the solve ended."""
    policy: Policy
    """The average strategy, the one that converges; read ``policy[label][action]``."""
    evaluation: Evaluation
    """Values and best-response values of ``policy``."""
    iterations: int
    """Iterations done, those of the solution it went on from included."""
    seconds: float
    """Time spent iterating, evaluations not charged, in seconds."""
    trace: tuple[TracePoint, ...] = ()
    """The record at the checkpoints, oldest first."""
    state: State | SampledState | None = field(default=None, repr=False)
    """The solver's arrays, read-only, from which ``solve(game, start=solution)`` goes on; none
    after the linear program."""
    locks: Locks | None = None
    """The infosets that were not solved for; the evaluation's best responses play them, too."""
    best: BestIterate | None = None
    """The least exploitable strategy among the average strategies and the last iterates at the
    checkpoints; None unless ``solve`` was told to keep it."""

    def __post_init__(self) -> None:
        for array in self.state or ():
            array.flags.writeable = False

    @property
    def form(self) -> SequenceForm:
        """The sequence form of the game that the arrays of :attr:`state` are over."""
        return form_for(self.game, self.algorithm, self.locks)

    @property
    def value(self) -> tuple[float, ...]:
        """Expected value of each player under ``policy``, in the game's own unit."""
        return self.evaluation.values

    @property
    def nash_conv(self) -> float:
        """Sum over players of best-response value minus value."""
        return self.evaluation.nash_conv

    @property
    def exploitability(self) -> float:
        """``nash_conv`` divided by the number of players."""
        return self.evaluation.exploitability

    @property
    def nodes_touched(self) -> int:
        """Histories visited; see :class:`TracePoint`."""
        if isinstance(self.state, SampledState):
            return int(self.state.touched[0])
        return self.iterations * self.game.n_players * self.game.n_histories

    @property
    def decision_nodes_touched(self) -> int:
        """Decision nodes among them."""
        if isinstance(self.state, SampledState):
            return int(self.state.touched[1])
        return self.iterations * self.game.n_players * self.game.n_decision_nodes

    @cached_property
    def last_policy(self) -> Policy:
        """The last iterate: the strategy that the next iteration would use."""
        if self.state is None:
            return self.policy
        return Policy(self.game, last_iterate(self.game, self.form, self.state.strategy))

    def save(self, path: str | Path) -> Path:
        """Write the solution, its game included, to an ``.npz`` file (plain arrays, no pickle).

        A file that was there is replaced at the very end, or not at all.

        Returns:
            The path of the file; ``.npz`` is added if it has no suffix.
        """
        header = {
            "kind": "solution",
            "algorithm": self.algorithm.to_dict(),
            "status": self.status.name,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "values": self.evaluation.values,
            "best_responses": self.evaluation.best_responses,
            "trace": [asdict(point) for point in self.trace],
        }
        if self.locks:
            header["locks"] = {label: self.locks[label] for label in self.locks}
        arrays = storage.pack_game(self.game)
        arrays["solution/policy"] = self.policy.probabilities
        if self.best is not None:
            header["best"] = {
                "kind": self.best.kind,
                "iteration": self.best.iteration,
                "values": self.best.evaluation.values,
                "best_responses": self.best.evaluation.best_responses,
            }
            arrays["solution/best"] = self.best.policy.probabilities
        if self.state is not None:
            kept = STATE_KEPT if isinstance(self.state, State) else SampledState._fields
            arrays |= {f"solution/{name}": getattr(self.state, name) for name in kept}
        return storage.write_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Solution:
        """Read a solution that :meth:`save` wrote; it can be gone on from, to the same bits.

        Raises:
            ValueError: The file is no solution, of a newer version, or damaged; says which.
        """
        header, arrays = storage.read_arrays(path, "solution")
        try:
            return cls._unpack(header, arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"cannot read {storage.with_suffix(path)}: {error}") from error

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Solution:
        game = storage.unpack_game(arrays, header["version"])
        algorithm = from_dict(header["algorithm"])
        locks = Locks(game, header.get("locks", {}))
        best = None
        if (of_best := header.get("best")) is not None:
            best = BestIterate(
                policy=Policy(game, arrays["solution/best"]),
                evaluation=_evaluation(of_best),
                iteration=index(of_best["iteration"]),
                kind=KINDS[KINDS.index(of_best["kind"])],
            )
        state: State | SampledState | None = None
        if isinstance(algorithm, Sampling):
            kept = {name: arrays[f"solution/{name}"] for name in SampledState._fields}
            state = sampled_state_of(game, algorithm, kept)
        elif isinstance(algorithm, Algorithm):
            kept = {name: arrays[f"solution/{name}"] for name in STATE_KEPT}
            state = state_of(game, algorithm, kept, locks)
        return cls(
            game=game,
            algorithm=algorithm,
            status=Status[header["status"]],
            policy=Policy(game, arrays["solution/policy"]),
            evaluation=_evaluation(header),
            iterations=index(header["iterations"]),
            seconds=float(header["seconds"]),
            trace=tuple(TracePoint(**point) for point in header["trace"]),
            state=state,
            locks=locks or None,
            best=best,
        )

    def summary(self) -> str:
        """A short text: game, algorithm, why it ended, value, exploitability."""
        settled = self.game.settled
        values = ", ".join(f"{settled(value) + 0.0:+.9g}" for value in self.value)
        best = f"\n  best {settled(self.best.exploitability):.6g}, {self.best}" if self.best else ""
        locked = f", {len(self.locks):,} infosets locked" if self.locks else ""
        return (
            f"{self.game.name} by {self.algorithm}{locked}\n"
            f"  {self.status.value} ({self.iterations:,} iterations, "
            f"{self.nodes_touched:,} nodes touched, {self.seconds:.3f} s)\n"
            f"  value {values}\n"
            f"  exploitability {settled(self.exploitability):.6g} "
            f"(nash_conv {settled(self.nash_conv):.6g}){best}"
        )

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<Solution of {self.game.name} by {self.algorithm}: {self.iterations:,} iterations, "
            f"exploitability {self.game.settled(self.exploitability):.6g}>"
        )


def _evaluation(header: Mapping[str, Any]) -> Evaluation:
    """The one that a file's header has."""
    return Evaluation(tuple(header["values"]), tuple(header["best_responses"]))
