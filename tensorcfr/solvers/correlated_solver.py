"""The solver of dynamics that converge to extensive-form correlated equilibria."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Limit, checked
from .._util.memory_budget import free_memory
from .._util.one_line import arrays_in_line
from ..algorithms import Correlated
from ..errors import MemoryLimitError
from ..evaluation.correlation import gap_of, plan_payoffs
from ..evaluation.metrics import Evaluation
from ..kernels import evaluation, triggers
from ..kernels.triggers import Triggers
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from .loop import RunnableSolver
from .problem import Problem
from .solver_arguments import Iterations, Named
from .state_file import Expected


class CorrelatedState(NamedTuple):
    """State that the solver keeps between iterations."""

    def __repr__(self) -> str:
        return arrays_in_line(self)

    regret: np.ndarray
    """float64 (regrets,): regrets of all triggers; see
    :class:`tensorcfr.kernels.triggers.Triggers`."""
    strategy: np.ndarray
    """float64 (sequences,): strategies of the next iteration."""
    cumulative: np.ndarray
    """float64 (sequences,): sum of own reaches over iterations."""
    played: np.ndarray
    """float64 (iterations, sequences): strategies of every iteration."""


BLOCK = 64
"""Number of iterations whose strategies are evaluated together."""


class CorrelatedSolver(RunnableSolver):
    """Extensive-form regret minimization with triggers, all players at once.

    Values and deviations refer to the joint play: the correlated plan that draws one of the
    iterations.  For small games: the regrets grow with the number of infosets on a path times their
    actions, and each iteration adds one strategy to the state.

    Args:
        game: The game.
        algorithm: ``"efce"`` or ``"efcce"``.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm, or the state is of another iteration.
        MemoryLimitError: The arrays would not fit; :meth:`iterate` raises it, too.
    """

    records = Correlated
    state_kind = CorrelatedState
    keeps = "regrets of triggers, not of single actions"

    @checked()
    def __init__(
        self,
        game: Flat,
        algorithm: Named,
        *,
        state: Annotated[CorrelatedState | None, Kind((CorrelatedState,), "a state")] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
    ) -> None:
        self.game, self.algorithm = game, self._checked(game, algorithm)
        self.iteration = iteration
        self.memory_limit = free_memory() if memory_limit is None else memory_limit
        counts, regrets = count_triggers(game, self.algorithm)
        n, sizes = game.n_sequences, np.diff(game.form.player_sequences)
        # Bytes of regrets, triggers, arrays over sequences, and the sums of each player.
        self._held = 8 * (regrets + int(counts.sum()) + 4 * n + int((sizes**2).sum()))
        self._check_memory(0)
        self._triggers = triggers_of(game, self.algorithm)
        if state is None:
            strategy = evaluation.normalise(game.form, zeros := np.zeros(n))
            state = CorrelatedState(np.zeros(regrets), strategy, zeros, np.empty((0, n)))
        else:
            state = self.restore(self.problem, self.stored_arrays(state))
            if wrong := self.wrong_iteration(state, iteration):
                raise ValueError(f"the state's {wrong}")
        self._state, self._played = state._replace(played=np.empty((0, n))), state.played
        self._reach, self._value = np.empty(n), np.zeros(n)
        evaluation.realization_plan(game.form, state.strategy, self._reach)
        self._sums, self._summed = [np.zeros((size, size)) for size in sizes.tolist()], 0

    def _check_memory(self, more: int) -> None:
        """Check that the strategies of ``more`` further iterations fit in memory.

        Raises:
            MemoryLimitError: They do not fit.
        """
        needed = self._held + 8 * (self.iteration + more) * self.game.n_sequences
        if needed > self.memory_limit:
            work = (
                f"{self.algorithm.name} on {self.game.name} ({self.game.n_sequences:,} sequences)"
            )
            if count := self.iteration + more:
                work += f" for {count:,} iterations"
            raise MemoryLimitError(work, needed, self.memory_limit)

    @property
    def state(self) -> CorrelatedState:  # noqa: D102
        return self._state._replace(played=self._played[: self.iteration])

    @classmethod
    def expected(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> Expected:  # noqa: D102
        n, played = problem.game.n_sequences, stored["played"]
        _, regrets = count_triggers(problem.game, problem.algorithm)
        return {
            **super().expected(problem, stored),
            "regret": ((regrets,), np.float64),
            "played": ((len(played) if played.ndim else 0, n), np.float64),
        }

    @classmethod
    def wrong_state(cls, problem: Problem, state: Any) -> str | None:  # noqa: D102
        if state.played.min(initial=0.0) < 0.0 or state.played.max(initial=0.0) > 1.0 + 1e-9:
            return "played holds a number that is not a probability"
        return super().wrong_state(problem, state)

    @classmethod
    def wrong_iteration(cls, state: Any, iteration: int) -> str | None:  # noqa: D102
        if (count := len(state.played)) == iteration:
            return None
        return f"played has the strategies of {count:,} iterations, not of {iteration:,}"

    def _run(self, iterations: int) -> None:
        form, state = self.game.form, self._state
        if len(self._played) < self.iteration + iterations:
            self._check_memory(iterations)
            # Double the space, so that single iterations do not copy the array each time.
            rows = max(self.iteration + iterations, 2 * self.iteration)
            played = np.empty((rows, len(state.strategy)))
            played[: self.iteration] = self._played[: self.iteration]
            self._played = played
        players = range(self.game.n_players)
        for _ in range(iterations):
            self._played[self.iteration] = state.strategy
            state.cumulative[:] += self._reach
            for player in players:
                triggers.add_trigger_regrets(
                    form,
                    self._triggers,
                    player,
                    state.strategy,
                    self._reach,
                    self._value,
                    state.regret,
                )
            # All regrets are updated before any strategy changes, because the updates are
            # simultaneous.
            for player in players:
                triggers.follow_triggers(
                    form, self._triggers, player, state.regret, state.strategy, self._reach
                )
            self.iteration += 1

    def evaluate(self) -> Evaluation:
        """Return the values of the joint play, and of the players' best deviations from it."""
        if self.iteration == 0:
            return self.evaluate_current()
        # Blocks begin at fixed iterations, so the rounding errors do not depend on when this is
        # called.
        while self._summed + BLOCK <= self.iteration:
            for total, added in zip(
                self._sums, self._sum_payoffs(self._summed + BLOCK), strict=True
            ):
                total += added
            self._summed += BLOCK
        totals = zip(self._sums, self._sum_payoffs(self.iteration), strict=True)
        return self._gap([(total + rest) / self.iteration for total, rest in totals])

    def _sum_payoffs(self, end: int) -> list[np.ndarray]:
        """Return own reaches times counterfactual payoffs, summed over the iterations from the last
        block up to ``end``: for each player float64 (own sequences, own sequences)."""
        rows = self._played[self._summed : end]
        players, ones = range(self.game.n_players), np.ones(len(rows))
        return [plan_payoffs(self.game, player, ones, rows) for player in players]

    def evaluate_current(self) -> Evaluation:
        """Return the values and deviations of the next iteration's strategies."""
        players, weight = range(self.game.n_players), np.ones(1)
        return self._gap(
            [plan_payoffs(self.game, p, weight, self._state.strategy[None]) for p in players]
        )

    def _gap(self, payoffs: list[np.ndarray]) -> Evaluation:
        gap = gap_of(self.game, payoffs, self.algorithm.kind)
        return Evaluation(gap.values, gap.deviations)


def count_triggers(game: FlatGame, algorithm: Correlated) -> tuple[np.ndarray, int]:
    """Count the triggers of each infoset, int64 (infosets,), and the regrets of all triggers.

    This is fast, and gives the size of :func:`triggers_of` before its arrays are made.
    """
    # A parent infoset comes before its children, so ``counts`` has it already.
    form, is_efce = game.form, algorithm.kind == "efce"
    infoset_at, _ = form.owners
    n_actions = form.infoset_actions
    previous_infosets = infoset_at[form.infoset_parent]
    added = (
        np.where(previous_infosets < 0, 0, n_actions[previous_infosets] - 1)
        if is_efce
        else np.ones_like(previous_infosets)
    )
    counts: list[int] = []
    for previous_infoset, more in zip(previous_infosets.tolist(), added.tolist(), strict=True):
        counts.append(more if previous_infoset < 0 else more + counts[previous_infoset])
    n_triggers = np.array(counts, dtype=np.int64)
    return n_triggers, int(n_triggers @ n_actions) + (int((n_actions**2).sum()) if is_efce else 0)


def triggers_of(game: FlatGame, algorithm: Correlated) -> Triggers:
    """Return the triggers at every infoset.

    In ``"efce"`` a trigger is a sequence that leaves the path to the infoset: another action at one
    of the player's earlier infosets.  (A player who follows a recommendation and then ignores all
    later ones is covered too: they can wait for the next recommendation and deviate from it.)  In
    ``"efcce"`` the triggers are the infosets on the path, including the last one, each with the
    sequence before it.
    """
    form = game.form
    begin = form.player_sequences[:-1].tolist()
    infoset_at, _ = form.owners
    is_efce = algorithm.kind == "efce"
    n_actions = form.infoset_actions
    by_infoset: list[list[int]] = []
    for infoset in range(game.n_infosets):
        parent = int(form.infoset_parent[infoset])
        inherited = [] if parent in begin else by_infoset[int(infoset_at[parent])]
        if not is_efce:
            by_infoset.append([*inherited, parent])
        elif parent in begin:
            by_infoset.append([])
        else:
            span = game.sequences(int(infoset_at[parent]))
            alternatives = np.arange(span.start, span.stop, span.step)
            by_infoset.append([*inherited, *alternatives[alternatives != parent].tolist()])
    counts = np.array([len(sequences) for sequences in by_infoset], dtype=np.int64)
    of_triggers = np.concatenate([[0], np.cumsum(np.repeat(n_actions, counts))])
    swaps = n_actions**2 if is_efce else np.zeros(len(n_actions), dtype=np.int64)
    return Triggers(
        first=np.concatenate([[0], np.cumsum(counts)]),
        sequence=np.array(
            [trigger for sequences in by_infoset for trigger in sequences], dtype=np.int64
        ),
        regret=of_triggers,
        swap=of_triggers[-1] + np.concatenate([[0], np.cumsum(swaps)]),
    )
