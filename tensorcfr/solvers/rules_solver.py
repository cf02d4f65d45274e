"""The solver of games that are not compiled: Monte Carlo CFR straight on the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import numpy as np

from .._util.arguments import Kind, Limit, checked
from .._util.jit import entry_point
from .._util.memory import free_memory, no_garbage_collection, taken
from ..algorithms import ALGORITHMS, Record, Sampling, find_algorithm
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation
from ..kernels.local_rule import rule_errors
from ..kernels.random import Seed, seeded
from ..kernels.sampling_external import external_sampling
from ..kernels.sampling_outcome import outcome_sampling
from ..kernels.traversal import (
    CLOCK,
    DECISIONS,
    HEADER,
    HISTORIES,
    ITERATION,
    NOTED,
    PAUSED,
    TraversalState,
)
from ..model.game import CompiledGame
from ..model.locks import Locks
from ..model.policy import Policy
from ..uncompiled.game import UncompiledGame
from ..uncompiled.histories import Histories
from ..uncompiled.infosets import (
    BASELINE,
    CUMULATIVE,
    REGRETS,
    STRATEGY,
    InfosetsFullError,
    InfosetTable,
)
from ..uncompiled.policy import TablePolicy
from ..uncompiled.tree import GrowingTree
from .arguments import Iterations, Named
from .base import IterativeSolver
from .kept import check_arrays
from .sampled_solver import AVERAGING_CODES, check_seed, refuse_seed_beside

SHARE_OF_HISTORIES = 0.25
"""Share of the memory limit that is for histories."""
NOISE = 4 << 20
"""Growth of the process in bytes that is not held against the table: buffers that come and go."""


class RulesState(NamedTuple):
    """The state of a solver on rules between iterations.

    Infosets are in the order in which they were entered; a sequence is an action of one of them.
    """

    regret: np.ndarray
    """float64 (sequences,): cumulative regret, as the local rule keeps it."""
    strategy: np.ndarray
    """float64 (sequences,): behaviour strategy."""
    cumulative: np.ndarray
    """float64 (sequences,): cumulative strategy."""
    last: np.ndarray
    """float64 (infosets,): sum of the averaging weights at the last visit (optimistic
    averaging)."""
    baseline: np.ndarray
    """float64 (players, sequences): the baselines of each player; (0, sequences) without any."""
    clock: np.ndarray
    """float64 (1,): the sum of the averaging weights."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""
    generator: np.ndarray
    """uint64 (4,): the random number generator; see :mod:`tensorcfr.kernels.random`."""
    player: np.ndarray
    """int8 (infosets,): who acts."""
    own: np.ndarray
    """int64 (infosets,): the player's last sequence before; -1 without one."""
    kind: np.ndarray
    """int32 (infosets,): which of the tuples of actions the infoset has."""
    labels: np.ndarray
    """uint8: the labels in UTF-8, one after the other."""
    label_ends: np.ndarray
    """int64 (infosets,): where each label ends."""
    actions: np.ndarray
    """uint8: the labels of the actions of all tuples, likewise."""
    action_ends: np.ndarray
    """int64: where each action ends."""
    kind_ends: np.ndarray
    """int64 (tuples,): where each tuple ends among the actions."""


class RulesSolver(IterativeSolver):
    """A solver of a game by its rules; :func:`tensorcfr.solve` is this with stop rules.

    Nothing is compiled: infosets enter a table, and histories a tree, when a traversal first
    reaches them.  The kernels are those of :class:`tensorcfr.SampledSolver`, draw for draw: the
    same seed visits the same histories.  Among histories that the tree has, they are as fast as
    on the compiled game; each new one asks the rules.

    >>> solver = RulesSolver("kuhn", "external_sampling", seed=7)
    >>> solver.step(1000)
    >>> solver.infosets_held
    12
    >>> round(solver.average_policy()["Q"]["bet"], 1)
    0.0

    Args:
        game: What :func:`tensorcfr.compile_game` takes: a name, a game of your own, a file, a game
            of OpenSpiel.
        algorithm: A name or a record of a scheme that follows plays: external, robust, average
            strategy or outcome sampling; see :class:`tensorcfr.algorithms.Sampling`.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        seed: A whole number from 0; or several, ``(seed, 0), (seed, 1), ...`` for independent
            streams.  ``state`` brings its own generator.
        memory_limit: Bytes that the table may take, with the histories and the states of the rules
            that are kept; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm or seed, or the scheme needs a compiled game.
        GameError: There is no such game.

    :meth:`step` raises MemoryLimitError when the table is full, and GameError where the rules break
    their contract.  The iteration during which that happens is undone: the solver can be
    evaluated, saved, and stepped again with a larger ``memory_limit``.
    """

    records = Sampling
    games: ClassVar[type[Any]] = UncompiledGame
    undoes_errors = True
    policy_is_in_state = True

    @checked()
    def __init__(
        self,
        game: Any,
        algorithm: Named,
        *,
        state: Annotated[RulesState | None, Kind((RulesState,), "a solver's state")] = None,
        iteration: Iterations = 0,
        seed: Seed | None = None,
        memory_limit: Limit = None,
    ) -> None:
        played = UncompiledGame(game)
        record = self._checked(cast(CompiledGame, played), algorithm)
        refuse_seed_beside(state, seed)
        self.game = cast(CompiledGame, played)
        self.algorithm = record
        self.iteration = iteration
        self.locks = cast(Locks, {})
        self.memory_limit = free_memory() if memory_limit is None else memory_limit
        """Bytes that the table may take; may be changed between two steps."""
        self._grown = 0
        if state is None:
            table = _empty_table(record, played.n_players)
            generator = seeded(check_seed(0 if seed is None else seed))
            clock, touched = np.zeros(1), np.zeros(2, np.int64)
        else:
            table = _filled_table(record, played.n_players, state)
            generator, clock = state.generator.copy(), state.clock.copy()
            touched = state.touched.copy()
        self._table, self._generator = table, generator
        self._tally = TraversalState(table.numbers, clock, touched)
        self._players = np.arange(played.n_players, dtype=np.uint64)
        self._tree: GrowingTree | None = None
        with telling_limit(self):
            self._kernel = self._compiled(self._roomy_tree())

    @classmethod
    def _checked(cls, game: CompiledGame, algorithm: str | Record) -> Any:
        record = find_algorithm(algorithm)
        refuse_uncompiled(record, game.name)
        return record

    # ------------------------------------------------------------------------------ iterating

    def _compiled(self, tree: GrowingTree) -> Callable[..., bool]:
        """The kernel, as machine code: it is called for every history that is new."""
        record = self.algorithm
        kernel = outcome_sampling if record.scheme == "outcome" else external_sampling
        schedule = record.variant.schedule(1, 0)
        with rule_errors(record.variant.rule):
            return entry_point(kernel, *self._arguments(tree, schedule))

    def _arguments(self, tree: GrowingTree, schedule: np.ndarray) -> tuple[Any, ...]:
        record = self.algorithm
        averaging = AVERAGING_CODES[record.averaging_among(self.game.n_players)]
        begin = (tree.arrays, record.variant.rule, schedule, self._players, averaging)
        end = (self._tally, self._generator, tree.frames, None)
        if record.scheme == "outcome":
            return (*begin, record.epsilon, record.baseline, *end)
        return (*begin, *end, record.own_draws)

    def _run(self, iterations: int) -> None:
        if not iterations:
            return
        before = taken()
        # The generator's sums wrap around by design; numpy warns about that with the JIT off.
        with no_garbage_collection(), telling_limit(self), np.errstate(over="ignore"):
            try:
                tree = self._roomy_tree()
                if self.bytes_held > self.memory_limit:
                    raise InfosetsFullError
                schedule = self.algorithm.variant.schedule(self.iteration + 1, iterations)
                self._traverse(tree, schedule)
            finally:
                self._grown += taken() - before

    def _roomy_tree(self) -> GrowingTree:
        """The tree, within the limit as it is now."""
        share = SHARE_OF_HISTORIES * self.memory_limit
        self._table.limit = self.memory_limit - share
        if self._tree is None:
            histories = Histories(cast(UncompiledGame, self.game), self._table)
            self._tree = GrowingTree(
                histories,
                groups=self._table.groups,
                tries=self.algorithm.own_draws is not None,
                returns=self.algorithm.scheme != "outcome",
            )
        self._tree.limit, self._tree.most = share, self.memory_limit
        self._tree.forget()
        return self._tree

    def _traverse(self, tree: GrowingTree, schedule: np.ndarray) -> None:
        """Run the iterations of a schedule; an error undoes the one under way."""
        begun = self.iteration
        tree.frames.cursor[:] = 0
        try:
            tree.run(self._kernel, lambda: self._arguments(tree, schedule))
        except BaseException:
            self._undo(tree)
            raise
        finally:
            self.iteration = begun + int(tree.frames.cursor[ITERATION])

    def _undo(self, tree: GrowingTree) -> None:
        """Take back the iteration under way, and the tree, in which an entry may be half made."""
        frames, tally = tree.frames, self._tally
        self._tree = None
        if not frames.cursor[PAUSED]:
            return
        places, at = [], 0
        while at < frames.cursor[NOTED]:
            places.append(at)
            at += HEADER + int(frames.log[at + 1])
        for at in reversed(places):
            block, size = frames.log[at : at + HEADER].astype(np.int64)
            numbers = frames.log[at + HEADER : at + HEADER + size]
            tally.table[block - HEADER : block - HEADER + size] = numbers
        tally.clock[0] = frames.scalar[CLOCK]
        tally.touched[:] = frames.cursor[[HISTORIES, DECISIONS]]
        self._generator[:] = frames.generator

    def _restart_average(self) -> None:
        self._table.set_group(CUMULATIVE, np.zeros(self._table.n_sequences))
        self._table.set_last(np.zeros(len(self._table)))
        self._tally.clock[0] = 0.0

    @property
    def infosets_held(self) -> int:
        """Infosets in the table."""
        return len(self._table)

    @property
    def bytes_held(self) -> int:
        """Bytes of the table and the tree; or those by which the process grew while the solver
        ran, which are more where rules keep much."""
        tree = 0 if self._tree is None else self._tree.bytes_held
        return max(self._table.bytes_held + tree, self._grown - NOISE)

    @property
    def nodes_touched(self) -> int:  # noqa: D102
        return int(self._tally.touched[0])

    @property
    def decision_nodes_touched(self) -> int:  # noqa: D102
        return int(self._tally.touched[1])

    @classmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """The nodes that the traversals counted."""
        return int(state.touched[0]), int(state.touched[1])

    # ------------------------------------------------------------------------------ the state

    @property
    def state(self) -> RulesState:
        """A copy of the table, as arrays."""
        table, tally = self._table, self._tally
        players = range(self.game.n_players if self.algorithm.baseline > 0.0 else 0)
        baseline = [table.group(BASELINE + player) for player in players]
        return RulesState(
            regret=table.group(REGRETS),
            strategy=table.group(STRATEGY),
            cumulative=table.group(CUMULATIVE),
            last=table.last(),
            baseline=np.array(baseline).reshape(len(baseline), table.n_sequences),
            clock=tally.clock.copy(),
            touched=tally.touched.copy(),
            generator=self._generator.copy(),
            **table.described,
        )

    @classmethod
    def restore(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        kept: Mapping[str, np.ndarray],
        locks: Locks | None = None,
    ) -> RulesState:
        state = RulesState(**{name: kept[name] for name in RulesState._fields})
        table = _empty_table(algorithm, game.n_players)
        table.describe(state._asdict(), n_players=game.n_players)
        players = game.n_players if algorithm.baseline > 0.0 else 0
        expected: dict[str, tuple[tuple[int, ...], type]] = {
            **dict.fromkeys(("regret", "strategy", "cumulative"), ((table.n_sequences,), float)),
            "last": ((len(table),), float),
            "baseline": ((players, table.n_sequences), float),
            "clock": ((1,), float),
            "touched": ((2,), np.int64),
            "generator": ((4,), np.uint64),
        }
        check_arrays(state._asdict(), expected, f"these infosets and {algorithm.name}")
        return state

    @classmethod
    def wrong_state(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> str | None:
        table = _empty_table(algorithm, game.n_players)
        table.describe(state._asdict(), n_players=game.n_players)
        if (state.cumulative < 0.0).any():
            return "cumulative strategy is negative at an infoset"
        return wrong_strategy_of(table, state.strategy)

    # --------------------------------------------------------------------------- its policies

    @classmethod
    def policy_of(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> Policy:
        return _policy(game, _labels_of(game, state), state.cumulative, normalise=True)

    @classmethod
    def last_policy_of(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> Policy:
        return _policy(game, _labels_of(game, state), state.strategy.copy(), normalise=False)

    @classmethod
    def last_probabilities(
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        """The strategy of the next iteration, float64 (sequences of the table,)."""
        strategy: np.ndarray = state.strategy
        return strategy

    def average_probabilities(self) -> np.ndarray:
        """The average strategy, float64 (sequences of the table,); uniform where nothing was
        added."""
        return _normalised(self._table, self._table.group(CUMULATIVE))

    def average_policy(self) -> Policy:  # noqa: D102
        return _policy(self.game, self._table, self._table.group(CUMULATIVE), normalise=True)

    def current_policy(self) -> Policy:  # noqa: D102
        return _policy(self.game, self._table, self._table.group(STRATEGY), normalise=False)

    def evaluate(self) -> Evaluation:
        """Nothing that is known: exact values take a compiled game.  See
        :func:`tensorcfr.uncompiled.sampled_values` and
        :func:`tensorcfr.uncompiled.local_best_response`."""
        return unknown_values(self.game.n_players)

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return self.evaluate()


@contextmanager
def telling_limit(solver: Any) -> Iterator[None]:
    """Say in full that the table of a solver on rules is full.

    Raises:
        MemoryLimitError: It is.
    """
    try:
        yield
    except InfosetsFullError:
        raise MemoryLimitError(
            f"solving {solver.game.name} by {solver.algorithm.name} beyond {solver.iteration:,} "
            f"iterations, with {solver.infosets_held:,} infosets held,",
            max(solver.bytes_held, int(solver.memory_limit) + 1),
            int(solver.memory_limit),
        ) from None


def unknown_values(n_players: int) -> Evaluation:
    """Values that nobody knows."""
    unknown = (np.nan,) * n_players
    return Evaluation(unknown, unknown)


def wrong_strategy_of(table: InfosetTable, strategy: np.ndarray) -> str | None:
    """What is wrong with the strategies of a table, or nothing."""
    sums = np.add.reduceat(strategy, table.first[:-1]) if len(table) else np.empty(0)
    if (strategy < 0.0).any() or (abs(sums - 1.0) > 1e-9).any():
        return "strategy is no distribution at an infoset"
    return None


def refuse_uncompiled(record: Record, name: str) -> None:
    """Make sure that an algorithm needs no compiled game.

    Raises:
        ValueError: It needs one; says what to do.
    """
    if not record.samples_rules:
        able = ", ".join(known for known, other in ALGORITHMS.items() if other.samples_rules)
        raise ValueError(
            f"{record.name} takes a compiled game: compile_game makes one of {name}; straight from "
            f"the rules learn {able}"
        )


def _empty_table(record: Sampling, n_players: int) -> InfosetTable:
    return InfosetTable(BASELINE + (n_players if record.baseline > 0.0 else 0))


def _filled_table(record: Sampling, n_players: int, state: RulesState) -> InfosetTable:
    """The table that a state came from."""
    table = _empty_table(record, n_players)
    table.describe(state._asdict(), n_players=n_players)
    table.set_group(REGRETS, state.regret)
    table.set_group(STRATEGY, state.strategy)
    table.set_group(CUMULATIVE, state.cumulative)
    table.set_last(state.last)
    for player, baseline in enumerate(state.baseline):
        table.set_group(BASELINE + player, baseline)
    return table


def _labels_of(game: CompiledGame, state: RulesState) -> InfosetTable:
    """The infosets of a state, without their numbers."""
    table = InfosetTable(groups=0)
    table.describe(state._asdict(), n_players=game.n_players)
    return table


def _policy(
    game: CompiledGame, table: InfosetTable, numbers: np.ndarray, *, normalise: bool
) -> Policy:
    """Strategies over a table; typed as those of compiled games, which they are read like."""
    if normalise:
        numbers = _normalised(table, numbers)
    return cast(Policy, TablePolicy(cast(Any, game), table, numbers))


def _normalised(table: InfosetTable, sums: np.ndarray) -> np.ndarray:
    """float64 (sequences,): numbers divided by their sum at each infoset; uniform where it is 0."""
    first = np.array(table.first, np.int64)
    counts = np.diff(first)
    if not len(counts):
        return sums
    totals = np.repeat(np.add.reduceat(sums, first[:-1]), counts)
    with np.errstate(invalid="ignore"):
        return np.where(totals > 0.0, sums / totals, 1.0 / np.repeat(counts, counts))
