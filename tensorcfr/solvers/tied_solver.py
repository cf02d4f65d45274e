"""The solver for games with imperfect recall, in which infosets share strategies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.arguments import Kind, Limit, checked
from .._util.memory import free_memory
from ..algorithms import Algorithm
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..invariants.strategies import wrong_state
from ..kernels import evaluation
from ..kernels import iteration as kernels
from ..kernels.local_rule import rule_errors
from ..kernels.regrets import add_regrets
from ..model.arguments import LOCKS, Compiled
from ..model.game import CompiledGame
from ..model.locks import Locks, LocksLike, locks_for
from ..model.ties import Tied
from .arguments import FLOAT, THREADS, Iterations, Named
from .base import IterativeSolver
from .choose import DEFAULT_ALGORITHM
from .kept import check_arrays
from .solver import Solver

SCRATCH = 6
"""Arrays over the sequences of the game: strategy, reach, the reach that others face, values and
two more of the kernel."""


class TiedState(NamedTuple):
    """What the solver carries from one iteration to the next; float64 (sequences of
    :attr:`CompiledGame.tied`,) unless said."""

    regret: np.ndarray
    """As in :class:`tensorcfr.kernels.iteration.State`: the rule's, for all infosets that share a
    strategy together."""
    strategy: np.ndarray
    """The strategy that they share."""
    cumulative: np.ndarray
    """Sum over iterations and over the infosets that share a strategy of averaging weight times own
    reach."""
    memory: np.ndarray
    """float64 (kept, sequences): what the rule keeps beside the regret."""


class TiedSolver(IterativeSolver):
    """CFR where several infosets of a player share one strategy.

    Values pass up the game infoset by infoset.  Those of infosets that share a strategy are added
    up, and the local rule works on the sums.  Their averages are added up, too, each with the own
    reach of its infoset.

    Source: M. Lanctot, R. Gibson, N. Burch, M. Zinkevich, M. Bowling, "No-regret learning in
    extensive-form games with imperfect recall", ICML 2012.

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
        ValueError: The algorithm or an argument does not apply to games with imperfect recall.
        MemoryLimitError: The arrays would not fit.
    """

    records = Algorithm
    ties_infosets = True

    @checked()
    def __init__(
        self,
        game: Compiled,
        algorithm: Named = DEFAULT_ALGORITHM,
        *,
        precision: Annotated[str, FLOAT] = "float64",
        locks: Annotated[LocksLike | None, LOCKS] = None,
        threads: Annotated[int, THREADS] = 1,
        state: Annotated[TiedState | None, Kind((TiedState,), "a solver's state")] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
    ) -> None:
        record = self._checked(game, algorithm)
        for refused, reason in _refusals(record, precision, threads, locks):
            if refused:
                raise ValueError(f"{game.name} has imperfect recall: {reason}")
        limit = free_memory() if memory_limit is None else memory_limit
        tied = tied_of(game)
        arrays = (3 + len(record.rule.memory)) * tied.form.n_sequences
        if (needed := 8 * (arrays + SCRATCH * game.n_sequences)) > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, limit)
        self.game, self.algorithm, self.iteration = game, record, iteration
        self.locks = locks_for(game, None)
        self._tied = tied
        if state is None:
            strategy, *zeros = np.zeros((3, tied.form.n_sequences))
            evaluation.normalise(tied.form, zeros[0], strategy)
            memory = np.zeros((len(record.rule.memory), tied.form.n_sequences))
            self._state = TiedState(zeros[0], strategy, zeros[1], memory)
        else:
            self._state = self.restore(game, record, self.kept(state))
        self._strategy = self._state.strategy[tied.sequence]
        self._reach, self._value = np.zeros((2, game.n_sequences))
        evaluation.realization_plan(game.form, self._strategy, self._reach)

    @property
    def state(self) -> TiedState:  # noqa: D102
        return self._state

    @classmethod
    def restore(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        kept: Mapping[str, np.ndarray],
        locks: Locks | None = None,
    ) -> TiedState:
        n = tied_of(game).form.n_sequences
        rule = algorithm.rule
        expected: dict[str, tuple[tuple[int, ...], type]] = {
            **dict.fromkeys(TiedState._fields, ((n,), np.float64)),
            "memory": ((len(rule.memory), n), np.float64),
        }
        check_arrays(kept, expected, f"{game.name} and the rule {rule.name}")
        return TiedState(**{name: np.array(kept[name], order="C") for name in expected})

    @classmethod
    def wrong_state(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> str | None:
        return wrong_state(tied_of(game).form, state)

    @classmethod
    def whole_regrets(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        tied = tied_of(game)
        regret: np.ndarray = (state.regret / np.bincount(tied.sequence))[tied.sequence]
        return regret

    @classmethod
    def last_probabilities(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        strategy: np.ndarray = state.strategy[tied_of(game).sequence]
        return strategy

    @classmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """As :meth:`Solver.count_nodes`."""
        return Solver.count_nodes(game, state, iterations)

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
            faced: float64 (sequences,): own reaches of the other players.
            row: float64 (1 + parameters,): averaging weight, then the parameters of the rule.
            floor: Share of the next strategy that is uniform.
        """
        form, tied, state = self.game.form, self._tied, self._state
        own = slice(*form.player_sequences[player : player + 2].tolist())
        gradient, regret = np.zeros((2, len(faced)))
        add_regrets(form, player, self._strategy, faced, self._value, gradient, regret, None)
        state.cumulative[:] += row[0] * tied.added(self._reach, own)
        whole = kernels.State(
            regret=state.regret,
            strategy=state.strategy,
            reach=np.ones(tied.form.n_sequences),
            cumulative=np.zeros(tied.form.n_sequences),
            memory=state.memory,
            value=tied.added(self._value, own),
            forecast=np.zeros(0),
        )
        kernels.update(tied.form, player, 0, 1, self.algorithm.rule, row, floor, whole, None)
        self._strategy[own] = state.strategy[tied.sequence[own]]
        evaluation.realization_plan(form, self._strategy, self._reach)

    def _restart_average(self) -> None:
        self._state.cumulative[:] = 0.0

    def average_probabilities(self) -> np.ndarray:  # noqa: D102
        strategy = np.empty(self._tied.form.n_sequences)
        evaluation.normalise(self._tied.form, self._state.cumulative, strategy)
        average: np.ndarray = strategy[self._tied.sequence]
        return average

    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average strategy; best responses remember."""
        return evaluate_probabilities(self.game, self.average_probabilities())

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return evaluate_probabilities(self.game, self._strategy)


def tied_of(game: CompiledGame) -> Tied:
    """The infosets that share strategies, in a game with imperfect recall."""
    assert game.tied is not None
    return game.tied


def _refusals(
    record: Algorithm, precision: str, threads: int, locks: LocksLike | None
) -> list[tuple[bool, str]]:
    """Arguments that do not apply, each with the reason."""
    return [
        (record.rule.forecast, f"{record.name} forecasts regrets, which needs perfect recall"),
        (record.rule.passes_new, f"{record.name} passes up values that need perfect recall"),
        (record.against == "average", f"{record.name} against averages is not available"),
        (precision != "float64", "its arrays are float64"),
        (threads != 1, "it is solved on one thread"),
        (bool(locks), "it takes no locks"),
    ]
