"""Solvers whose values pass by a way of their own, and whose local rule works on a flat form.

A *flat* form is a sequence form in which every infoset comes right after the empty sequence: the
kernels of the local rule then change regrets, strategies and averages infoset by infoset, and pass
nothing on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.arguments import Kind, Limit, checked
from .._util.memory import require
from ..algorithms import Algorithm
from ..invariants.strategies import wrong_state
from ..kernels import evaluation, iteration
from ..kernels.local_rule import rule_errors
from ..kernels.parts import Part
from ..model.arguments import LOCKS, Played
from ..model.arrays import SequenceForm
from ..model.locks import LocksLike
from .arguments import FLOAT, THREADS, Iterations, Named, refuse
from .base import IterativeSolver, Setting
from .choose import asked_algorithm
from .kept import Expected
from .scales import put_scales

SCRATCH = 6
"""Arrays over the sequences of the game: strategy, reach, the reach that others face, values and
two more of the kernel."""


class FlatState(NamedTuple):
    """What the solver carries from one iteration to the next; float64 (sequences of the flat form,)
    unless said."""

    regret: np.ndarray
    """As in :class:`tensorcfr.solvers.state.State`: the rule's."""
    strategy: np.ndarray
    """The strategy of the next iteration."""
    cumulative: np.ndarray
    """Sum over iterations of averaging weight times own reach."""
    memory: np.ndarray
    """float64 (kept, sequences): what the rule keeps beside the regret."""


KNOWN_OPTIONS = ("delay", "restart_base", "floor", "against", "passes_up")
"""Options of variants that :class:`FlatSolver` follows, or has words of its own to refuse."""


class FlatSolver(IterativeSolver):
    """CFR with passes over the game that a subclass defines.

    Args:
        game: The game.
        algorithm: A name or a record.
        precision: ``"float64"``.
        locks: None.
        threads: 1.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Raises:
        ValueError: The algorithm or an argument does not apply to such games.
        MemoryLimitError: The arrays would not fit.
    """

    records = Algorithm
    state_kind = FlatState
    is_what: str
    """What its games are, for errors: ``"has imperfect recall"``."""
    lacks: str
    """What they lack: ``"perfect recall"``."""

    @checked()
    def __init__(
        self,
        game: Played,
        algorithm: Named | None = None,
        *,
        precision: Annotated[str, FLOAT] = "float64",
        locks: Annotated[LocksLike | None, LOCKS] = None,
        threads: Annotated[int, THREADS] = 1,
        state: Annotated[FlatState | None, Kind((FlatState,), "a solver's state")] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
    ) -> None:
        record = self._checked(game, asked_algorithm(algorithm, game))
        what, needs, name = f"{game.name} {self.is_what}:", self.lacks, record.name
        refuse(record.rule.forecast, f"{what} {name} forecasts regrets, which needs {needs}")
        refuse(
            record.rule.payoff is not None, f"{what} {name} changes payoffs, which needs {needs}"
        )
        refuse(record.rule.passes_new, f"{what} {name} passes up values that need {needs}")
        refuse(record.against == "average", f"{what} {name} against averages is not available")
        beyond = record.beyond(KNOWN_OPTIONS)
        refuse(bool(beyond), f"{what} {name} with {', '.join(beyond)} is not available")
        refuse(precision != "float64", f"{what} its arrays are float64")
        refuse(threads != 1, f"{what} it is solved on one thread")
        refuse(bool(locks), f"{what} it takes no locks")
        flat = self.flat(game)
        arrays = (3 + len(record.rule.memory)) * flat.n_sequences
        needed = 8 * (arrays + SCRATCH * game.n_sequences)
        require(needed, f"solving {game.name}", memory_limit)
        self.game, self.algorithm, self.iteration = game, record, iteration
        if state is None:
            regret, cumulative = np.zeros((2, flat.n_sequences))
            memory = np.zeros((len(record.rule.memory), flat.n_sequences))
            strategy = evaluation.normalise(flat, cumulative)
            self._state = FlatState(regret, strategy, cumulative, memory)
        else:
            self._state = self.restore(self.setting, self.kept(state))
        self._flat = flat
        self._scale = np.zeros(len(flat.bucket_lanes))
        put_scales(flat, self._bounds(), self._scale)
        self._reach = np.zeros(game.n_sequences)
        self._play()

    @classmethod
    @abstractmethod
    def flat(cls, game: Any) -> SequenceForm:
        """The flat form of a game."""

    @abstractmethod
    def _play(self) -> None:
        """Work out the own reaches of the strategies in the state."""

    @abstractmethod
    def _values(self, player: int, faced: np.ndarray) -> np.ndarray:
        """The counterfactual values of a player, float64 (sequences of the flat form,).

        Args:
            player: The player.
            faced: float64 (sequences of the game,): own reaches of the other players.
        """

    @abstractmethod
    def _bounds(self) -> np.ndarray:
        """What the sizes of counterfactual values are at most, float64 (sequences of the flat
        form,); see :mod:`tensorcfr.solvers.scales`."""

    @abstractmethod
    def _reached(self, player: int) -> np.ndarray:
        """The own reaches of a player, float64 (sequences of the flat form,); 0 elsewhere."""

    @classmethod
    def expected(cls, setting: Setting, kept: Mapping[str, np.ndarray]) -> Expected:  # noqa: D102
        n, kept_by_rule = cls.flat(setting.game).n_sequences, len(setting.algorithm.rule.memory)
        arrays = dict.fromkeys(FlatState._fields, ((n,), np.float64))
        return arrays | {"memory": ((kept_by_rule, n), np.float64)}

    @classmethod
    def wrong_state(cls, setting: Setting, state: Any) -> str | None:  # noqa: D102
        return wrong_state(cls.flat(setting.game), state)

    def _run(self, iterations: int) -> None:
        record, first = self.algorithm, self.iteration + 1
        schedule = record.schedule(first, iterations)
        floors = record.floors(first, iterations)
        players = range(self.game.n_players)
        together = [[player] for player in players] if record.alternating else [list(players)]
        with rule_errors(record.rule):
            for row, floor in zip(schedule, floors, strict=True):
                for movers in together:
                    faced = self._reach if len(movers) == 1 else self._reach.copy()
                    for player in movers:
                        self._update(player, faced, row, float(floor))
                self.iteration += 1

    def _update(self, player: int, faced: np.ndarray, row: np.ndarray, floor: float) -> None:
        """One iteration of one player.

        Args:
            player: The player.
            faced: float64 (sequences of the game,): own reaches of the other players.
            row: float64 (1 + parameters,): averaging weight, then the parameters of the rule.
            floor: Share of the next strategy that is uniform.
        """
        flat, state = self._flat, self._state
        value = self._values(player, faced)
        state.cumulative[:] += row[0] * self._reached(player)
        reach, average = np.ones(flat.n_sequences), np.zeros(flat.n_sequences)
        part = Part(
            flat,
            state.regret,
            average,
            state.strategy,
            state.memory,
            reach,
            reach,
            value,
            np.zeros(0),
            self._scale,
        )
        iteration.update(part, self.algorithm.rule, player, row, floor)
        self._play()

    def _restart_average(self) -> None:
        self._state.cumulative[:] = 0.0

    def _own(self, player: int) -> slice:
        """The sequences of a player."""
        return slice(*self.game.form.player_sequences[player : player + 2].tolist())
