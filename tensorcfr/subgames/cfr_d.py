"""Solver of CFR-D: it stores the trunk, and solves and forgets its subgames one at a time.

Solutions by other algorithms can take this form, too: :func:`forget_subgames`.

Source: N. Burch, M. Johanson, M. Bowling, "Solving imperfect information games using
decomposition", AAAI 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import EXACT, Kind, Limit, Whole, checked
from .._util.memory_budget import require
from .._util.one_line import arrays_in_line
from ..algorithms import CFR_D, Decomposition
from ..compilers.cut.cut_compiler import cut_compiled
from ..evaluation.metrics import Evaluation
from ..evaluation.profile import REACH, evaluate_weights, evaluation_bytes, profile_of
from ..kernels import evaluation
from ..kernels import iteration as kernels
from ..kernels.parts import Part
from ..model.arrays import SequenceForm
from ..model.chunked_form import as_trunk
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled, require_flat
from ..model.policy import KnownValues, Policy, PolicyByParts
from ..model.solvable_game import SolvableGame
from ..solvers.loop import RunnableSolver
from ..solvers.problem import Problem
from ..solvers.solution import Solution
from ..solvers.solver_arguments import Iterations, Named
from ..solvers.state_file import Expected, copy_arrays, wrong_state
from .copied_strategies import same_strategies
from .one_chunk import SubgameSolver, bytes_of_one
from .roots import PLAYERS, find_roots, subgame_roots
from .subgame_rules import check_constant_sum

Weigh = Callable[[int, np.ndarray], np.ndarray]
"""Function from a chunk and the own reaches in the trunk to strategy weights in the chunk."""


TOGETHER = 1 << 14
"""Largest number of sequences of neighbouring subtrees that are solved as one subgame. For small
subtrees, the overhead of a kernel call each would exceed the work on them."""

ITERATIONS = 1000
"""Default number of iterations on a forgotten subgame for each player."""
NO_VALUES = np.zeros(0)
NO_VALUES.flags.writeable = False
FORGOTTEN = ("cumulative", "root_values", "touched", "trunk_values")
"""Arrays that the file of a solution stores if its chunks were forgotten."""


class DecomposedState(NamedTuple):
    """Data that CFR-D carries from one iteration to the next.

    Arrays are float64 (sequences of the trunk,) unless noted.
    """

    def __repr__(self) -> str:
        return arrays_in_line(self)

    regret: np.ndarray
    """Same meaning as in :class:`tensorcfr.solvers.solver_state.State`, like the next three."""
    strategy: np.ndarray
    reach: np.ndarray
    cumulative: np.ndarray
    root_values: np.ndarray
    """float64 (entries,): sum over iterations of averaging weight times counterfactual value of
    each entry of the chunks."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""
    trunk_values: np.ndarray = NO_VALUES
    """float64 (sequences of the trunk,): counterfactual values of a solution whose chunks were
    forgotten; (0,) for other states.

    If present, the solution comes from another algorithm. The averages then have weight 1, and
    ``root_values`` are the entries' values for best responses to the forgotten strategies.
    """


@lru_cache(maxsize=1)
def cut_game_of(game: CompiledGame, cut: str | int | tuple[str, ...]) -> CompiledGame:
    """Cut a game into trunk and subgames; the last result is cached.

    Args:
        game: A zero-sum game of private hands between two players.
        cut: Position of the cut, as for :func:`tensorcfr.subgames.subgame_roots`; ``"auto"`` for a
            game in chunks, whose chunks are the subgames.

    Raises:
        ValueError: The game is not of this type, or is already cut elsewhere.
    """
    if game.n_players != 2:
        raise ValueError(f"CFR-D is for two players, and {game.name} has {game.n_players}")
    if game.chunks.n_chunks:
        if cut != "auto":
            raise ValueError(
                f"{game.name} is cut already, and its chunks are the subgames of CFR-D: leave out "
                f"cut={cut!r}, or give it when the game is compiled"
            )
        if game.chunks.parent_part.any():
            raise ValueError(
                f"{game.name} has chunks below chunks, which CFR-D does not support: compile it "
                "with one cut, cut=True"
            )
        return game
    flat = require_flat(game, "CFR-D where no chunk is below the trunk")
    cut_game = cut_compiled(flat, find_roots(flat, subgame_roots(flat, cut)).roots, TOGETHER)
    if not cut_game.chunks.n_chunks:
        raise ValueError(f"{game.name}: nobody acts below the cut {cut!r}")
    return cut_game


class DecomposedSolver(RunnableSolver):
    """Solver of :data:`tensorcfr.algorithms.CFR_D`.

    The average strategy consists of the trunk's average and of every subgame, resolved from the
    average root values. It is computed when it is requested, which takes time. An evaluation
    resolves one subgame after the other, and keeps none.

    Args:
        game: The game; if it is in chunks, these are the subgames.
        algorithm: A record, or its name.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Number of iterations that led to ``state``.
        memory_limit: Memory limit of the trunk and one subgame in bytes; by default the free
            memory.

    Raises:
        ValueError: The game has no public tree, is not zero-sum, or cannot be cut there.
        MemoryLimitError: The solver's arrays would not fit.
    """

    records = Decomposition
    state_kind = DecomposedState
    keeps = "regrets of the trunk alone"

    @checked()
    def __init__(
        self,
        game: Compiled,
        algorithm: Named = "cfr-d",
        *,
        state: Annotated[
            DecomposedState | None, Kind((DecomposedState,), "a solver's state")
        ] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
    ) -> None:
        record = self._checked(game, algorithm)
        if state is None:
            check_constant_sum(game)
        self.game, self.algorithm, self.iteration = game, record, iteration
        self._cut = cut_game_of(game, record.cut)
        self._form = self._cut.chunks
        require(decomposed_bytes(game, record), f"solving {game.name}", memory_limit)
        self._chunks = SubgameSolver(self._form, record.inner)
        self._value_bound = self._chunks.bounds.bucket[0]
        if state is None:
            expected = self.expected(self.problem, {})
            zeros = {name: np.zeros(*of) for name, of in expected.items()}
            strategy, reach = _plan(self._form.trunk, zeros["cumulative"])
            self._state = DecomposedState(**{**zeros, "strategy": strategy, "reach": reach})
        else:
            self._state = self.restore(self.problem, self.stored_arrays(state))

    def _run(self, iterations: int) -> None:
        record, first = self.algorithm, self.iteration + 1
        if self._state.trunk_values.size:
            raise ValueError(
                f"the subgames of this solution of {self.game.name} were forgotten, and its "
                "regrets with them: it cannot be resumed"
            )
        schedule = record.variant.schedule(first, iterations)
        floors = record.variant.floors(first, iterations)
        turns = record.variant.turns(first, iterations, len(PLAYERS)).tolist()
        for row, floor, turns_of_iteration in zip(schedule, floors, turns, strict=True):
            self._iterate(row, float(floor), turns_of_iteration)
            self.iteration += 1

    def _iterate(self, row: np.ndarray, floor: float, turns: list[list[int]]) -> None:
        """Run one iteration: in each turn, solve the subgames from the ranges of the trunk, then
        update the trunk."""
        state, record, form = self._state, self.algorithm, self._form.trunk
        value = np.zeros(form.n_sequences)
        part = Part(
            form,
            state.regret,
            state.cumulative,
            state.strategy,
            np.zeros((0, len(value))),
            state.reach,
            value,
            self._value_bound,
        )
        for nth, movers in enumerate(turns):
            # Average values must belong to the strategies that enter the average, which are the
            # strategies before the first update.
            self._solve_subgames(row[0] if nth == 0 else 0.0, value)
            for player in movers:
                evaluation.add_payoffs(form, player, state.reach, value)
            for player in movers:
                kernels.update(part, record.variant.rule, player, row, floor)

    def _solve_subgames(self, weight: float, value: np.ndarray) -> None:
        """Solve every subgame from the ranges of the trunk.

        Args:
            weight: Averaging weight of the values of the entries.
            value: float64 (sequences of the trunk,): set to the counterfactual values of the
                subgames at the last sequences before them.
        """
        state, form, iterations = self._state, self._form, self.algorithm.subgame_iterations
        value[:] = 0.0
        for c in range(form.n_chunks):
            self._chunks.solve(c, state.reach, iterations)
            values = self._chunks.values(c)
            entered = np.concatenate([form.entries(c, player) for player in PLAYERS])
            np.add.at(value, entered, values)
            state.root_values[self._entries(c)] += weight * values
        passed = np.array([self._cut.n_histories, self._cut.n_decision_nodes])
        state.touched[:] += 2 * iterations * passed

    def _entries(self, c: int) -> slice:
        """Return the slice of a chunk's entries."""
        begin, _, end = self._form.entry_offset[c].tolist()
        return slice(begin, end)

    def _scale_average(self, factor: float) -> None:
        self._state.cumulative[:] *= factor
        self._state.root_values[:] *= factor

    @classmethod
    def policy_is_in_state(cls, game: SolvableGame) -> bool:  # noqa: D102
        return True

    @classmethod
    def expected(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> Expected:  # noqa: D102
        form = cut_game_of(problem.game, problem.algorithm.cut).chunks
        names = FORGOTTEN if "trunk_values" in stored else DecomposedState._fields[:-1]
        arrays = dict.fromkeys(names, ((form.trunk.n_sequences,), np.float64))
        floats = np.float32 if "trunk_values" in stored else np.float64
        return arrays | {"root_values": ((form.n_entries,), floats), "touched": ((2,), np.int64)}

    @classmethod
    def stored_arrays(cls, state: DecomposedState) -> Mapping[str, np.ndarray]:
        """Return the arrays to store, as :meth:`IterativeSolver.stored_arrays` does.

        If subgames were forgotten, only the arrays that cannot be recomputed are stored, with
        ``root_values`` in single precision, which is exact enough for resolving.
        """
        names = FORGOTTEN if state.trunk_values.size else state._fields[:-1]
        arrays = {name: getattr(state, name) for name in names}
        if state.trunk_values.size:
            arrays["root_values"] = arrays["root_values"].astype(np.float32)
        return arrays

    @classmethod
    def restore(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> DecomposedState:  # noqa: D102
        owner = f"{problem.game.name} and {problem.algorithm.name}"
        arrays = copy_arrays(stored, cls.expected(problem, stored), owner)
        if "trunk_values" in arrays:
            trunk = cut_game_of(problem.game, problem.algorithm.cut).chunks.trunk
            strategy, reach = _plan(trunk, arrays["cumulative"])
            arrays |= {"regret": np.zeros_like(reach), "strategy": strategy, "reach": reach}
            arrays["root_values"] = arrays["root_values"].astype(np.float64)
        return DecomposedState(**arrays)

    @classmethod
    def wrong_state(cls, problem: Problem, state: Any) -> str | None:  # noqa: D102
        cut = cut_game_of(problem.game, problem.algorithm.cut)
        return wrong_state(as_trunk(cut.chunks.trunk), state)

    @classmethod
    def policy_of(cls, problem: Problem, state: Any) -> Policy:  # noqa: D102
        return _ResolvedPolicy(cls(problem.game, problem.algorithm, state=state))

    @classmethod
    def last_probabilities(cls, problem: Problem, state: Any) -> np.ndarray:  # noqa: D102
        solver = cls(problem.game, problem.algorithm, state=state)
        return solver._probabilities(state.strategy, solver._solved)

    @classmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """Return the histories visited, and the decision nodes among them.

        Every pass over the subgames counts all histories of the game, so histories of the trunk
        count as often as histories below it.
        """
        return int(state.touched[0]), int(state.touched[1])

    @classmethod
    def has_average(cls, state: DecomposedState) -> bool:  # noqa: D102
        return bool(state.cumulative.any())

    def _shown(self) -> tuple[np.ndarray, Weigh]:
        """Return the strategy sums of the trunk's average, and the function that solves a chunk.

        Without an average, both are those of the last iterate.
        """
        if self.has_average(self._state):
            return self._state.cumulative, self._resolved
        return self._state.strategy, self._solved

    def average_probabilities(self) -> np.ndarray:  # noqa: D102
        return self._probabilities(*self._shown())

    def average_part(self, part: int) -> np.ndarray:
        """Return the average strategy in one part of the game; a chunk is resolved.

        Args:
            part: 0 for the trunk, otherwise the number of the chunk plus 1.

        Returns:
            float64 (numbers of that part,).
        """
        if self._cut is not self.game:
            return self.average_probabilities()
        sums, solved = self._shown()
        strategy, reach = _plan(self._form.trunk, sums)
        if part == 0:
            return np.append(strategy, np.ones(int(self._form.number_offset[0]) - len(strategy)))
        return self._chunks.strategies(part - 1, solved(part - 1, reach)).copy()

    def average_policy(self) -> Policy:
        """Return the average strategy; subgames are resolved when they are first read."""
        return self.policy_of(self.problem, self._state)

    def evaluate(self) -> Evaluation:  # noqa: D102
        return self._evaluate(*self._shown())

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return self._evaluate(self._state.strategy, self._solved)

    def _solved(self, c: int, reach: np.ndarray) -> np.ndarray:
        """Return the strategies of a chunk that is solved from the ranges of the trunk."""
        return self._chunks.solve(c, reach, self.algorithm.subgame_iterations)

    def _resolved(self, c: int, reach: np.ndarray) -> np.ndarray:
        """Return the strategies of a chunk that is resolved from the average values of its
        entries."""
        form, total = self._form, self._state.cumulative[0]
        assert form.shapes is not None
        values = self._state.root_values[self._entries(c)]
        alternative = values / total if total > 0 else values
        first = int(form.number_offset[c])
        base = int(form.sequence_offset[c])
        end = int(form.number_offset[c + 1])
        middle = base + int(form.shapes.array(int(form.shape[c]), "player_sequences")[1]) - first
        bounds = (0, middle, end - first)
        chunk_weights = np.zeros(end - first)
        # Each player's strategies come from the gadget in which the other player decides.
        for player in PLAYERS:
            weight = self._chunks.resolve(
                c, player, reach, alternative, self.algorithm.resolve_iterations
            )
            of_player = slice(bounds[player], bounds[player + 1])
            chunk_weights[of_player] = weight[of_player]
        return chunk_weights

    def _evaluate(self, weight: np.ndarray, weigh: Weigh) -> Evaluation:
        """Evaluate values and best-response values, one chunk after the other.

        Args:
            weight: float64 (sequences of the trunk,): weights of the trunk's strategies.
            weigh: Computes the weights of a chunk's strategies.
        """
        strategy, reach = _plan(self._form.trunk, weight)

        def weights(first: int, last: int) -> np.ndarray:
            if first == 0:
                return strategy
            return weigh(first - 1, reach)

        values, best = evaluate_weights(self._form, weights, None, together=0)
        return Evaluation(tuple(values.tolist()), tuple(best.tolist()))

    def _probabilities(self, weight: np.ndarray, weigh: Weigh) -> np.ndarray:
        """Return the strategies of the whole game, float64 (numbers,); arguments as for
        :meth:`_evaluate`."""
        form, (strategy, reach) = self._form, _plan(self._form.trunk, weight)
        probabilities = np.ones(form.n_numbers)
        probabilities[: len(strategy)] = strategy
        for c in range(form.n_chunks):
            strategies = self._chunks.strategies(c, weigh(c, reach))
            probabilities[form.number_offset[c] : form.number_offset[c + 1]] = strategies
        if self._cut is self.game:
            return probabilities
        return same_strategies(Policy(self._cut, probabilities), self.game).probabilities


def _plan(trunk: SequenceForm, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return strategies and own reaches of the trunk made from weights, float64 (sequences of the
    trunk,)."""
    strategy, reach = evaluation.normalise(trunk, weight), np.empty(len(weight))
    evaluation.realization_plan(trunk, strategy, reach)
    return strategy, reach


class _ResolvedPolicy(PolicyByParts):
    """An average strategy whose subgames are resolved when they are first read.

    In a game in chunks this is the chunk of the infoset, otherwise all subgames. The solver is
    private to the policy, so its state does not change.
    """

    def __init__(self, solver: DecomposedSolver) -> None:
        self.game = solver.game
        self._solver = solver
        state: DecomposedState = solver.state
        if state.trunk_values.size:
            self.known = KnownValues(state.trunk_values, state.root_values)
        self.forget()

    def parts(self, first: int, last: int) -> np.ndarray:
        return np.concatenate([self._solver.average_part(part) for part in range(first, last)])

    @cached_property
    def probabilities(self) -> np.ndarray:  # type: ignore[override]
        """float64 (numbers,): probabilities of the whole game."""
        strategies = self._solver.average_probabilities()
        strategies.flags.writeable = False
        return strategies


def decomposed_bytes(game: CompiledGame, record: Decomposition) -> int:
    """Return the bytes that CFR-D takes in addition to the compiled game.

    They are for the trunk and one subgame at a time; and for the trunk and the shapes of the
    subgames, if the game was not compiled in chunks.
    """
    cut = cut_game_of(game, record.cut)
    form = cut.chunks
    # State and values of an iteration.
    state_bytes = 8 * (9 * form.trunk.n_sequences + form.n_entries) + bytes_of_one(form)
    return state_bytes + evaluation_bytes(form, together=0) + (0 if cut is game else cut.nbytes)


@checked()
def forget_subgames(
    solution: Solution, *, iters: Annotated[int, Whole(1, EXACT)] = ITERATIONS
) -> Solution:
    """Remove the strategies in the chunks from a solution: of a turn or a flop, the rivers.

    The result keeps the strategies and values of the trunk, so the trunk looks as before. It also
    keeps the best-response value of every entry of a chunk. A chunk is solved again when it is
    read, from the ranges that enter it. This uses, for each player, the gadget of Burch,
    Johanson and Bowling (2014). With each hand the opponent may take the value of a best response
    to the forgotten strategies. :meth:`tensorcfr.analysis.SolvedSpot.exactness` reports how much
    more a best response may then earn. In a game that is not zero-sum, such as a spot with rake,
    there is no guarantee before that is known.

    The algorithm of the result is CFR-D, whose solutions have this form. The result can be saved,
    loaded and read, but not resumed.

    Args:
        solution: The solution, by an algorithm that stores only regrets.
        iters: Number of iterations on a chunk, for each player, when it is read.

    Raises:
        ValueError: The game has no chunks, or chunks below chunks; some infosets are locked; or the
            algorithm stores more than regrets.
    """
    game = solution.game
    if not game.chunks.n_chunks:
        raise ValueError(f"{game.name} is not in chunks: there are no chunks to forget")
    if solution.locks:
        raise ValueError("a solution with locks cannot forget subgames: they may have locks, too")
    record = CFR_D(variant=solution.algorithm, resolve_iterations=iters)
    cut_game_of(game, record.cut)
    profile = profile_of(solution.policy)
    known = profile.known
    trunk = solution.policy.part(0)[: game.chunks.trunk.n_sequences].copy()
    trunk[game.chunks.trunk.player_sequences[:-1]] = 1.0
    state = DecomposedState(
        regret=np.zeros_like(trunk),
        strategy=trunk,
        reach=profile.of_part(0)[REACH],
        # The strategy itself, not own reaches: a reach of 0 would lose the strategies below it.
        cumulative=trunk,
        root_values=known.best,
        touched=np.array([solution.nodes_touched, solution.decision_nodes_touched]),
        trunk_values=known.trunk,
    )
    problem = Problem(game, record)
    state = DecomposedSolver.restore(problem, DecomposedSolver.stored_arrays(state))
    return replace(
        solution,
        algorithm=record,
        policy=DecomposedSolver.policy_of(problem, state),
        evaluation_is_checked=False,
        state=state,
        best=None,
        exact=None,
    )
