"""The solver of Deep CFR, Single Deep CFR and DREAM straight on rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import numpy as np

from .._util.arguments import Kind, Limit, checked
from .._util.jit import entry_point
from .._util.memory import free_memory, no_garbage_collection
from ..algorithms import Deep, Record, find_algorithm
from ..evaluation.metrics import Evaluation
from ..kernels.local_rule import rule_errors
from ..kernels.random import Seed
from ..kernels.reservoir import Reservoir
from ..kernels.sampling import SIMPLE
from ..kernels.sampling_external import external_sampling
from ..kernels.sampling_outcome import outcome_sampling
from ..kernels.traversal import HEADER, TraversalState
from ..model.game import CompiledGame
from ..model.locks import Locks
from ..model.policy import Policy
from ..rules import Decision
from ..solvers import kinds
from ..solvers.arguments import Iterations, Named
from ..solvers.kept import check_arrays
from ..solvers.rules_solver import (
    SHARE_OF_HISTORIES,
    refuse_uncompiled,
    telling_limit,
    unknown_values,
    wrong_strategy_of,
)
from ..solvers.sampled_solver import refuse_seed_beside
from ..uncompiled.game import UncompiledGame
from ..uncompiled.infosets import BASELINE, STRATEGY, InfosetsFullError, InfosetTable
from ..uncompiled.tree import GrowingTree
from .buffers import (
    BYTES_PER_SAMPLE,
    bytes_of_buffers,
    filled,
    keep_buffers,
    no_samples,
    put_buffers,
    reservoirs_of,
    restored_buffers,
)
from .features import RuleFeatures
from .iterations import DeepIterations, first_generators, scale_for, train_average
from .learners import Learner, make_learner, probabilities
from .met import MetHistories, MetInfosets
from .policy import Fits, NetworkPolicy


class RulesDeepState(NamedTuple):
    """The state of a solver with networks on rules between iterations.

    Infosets are in the order in which they were met; a sequence is an action of one of them.  A
    *fit* is the parameters of a network, float32; or the predictions of a table for all sequences,
    float64.
    """

    strategy: np.ndarray
    """float64 (sequences,): behaviour strategy."""
    baseline: np.ndarray
    """float64 (players, sequences): the baselines of each player; (0, sequences) without any."""
    parameters: np.ndarray
    """(players, numbers): the fits of the advantages; zeros before the first."""
    baseline_parameters: np.ndarray
    """(players, numbers): those of the baselines; (0, 0) without any."""
    networks: np.ndarray
    """(iterations, players, numbers): the fits that each iteration's strategies come from; (0,
    players, 0) unless they are kept."""
    factor: np.ndarray
    """float64 (1,): factor of utilities before training; 0 before the first traversals."""
    features: np.ndarray
    """float32 (infosets, width)."""
    output: np.ndarray
    """int32 (infosets, most actions): the network's output of each action; -1 where there is
    none."""
    advantage_infoset: np.ndarray
    """As in :class:`tensorcfr.deep.DeepState`, like all buffers."""
    advantage_weight: np.ndarray
    """Likewise."""
    advantage_values: np.ndarray
    """Likewise."""
    advantage_seen: np.ndarray
    """Likewise."""
    average_infoset: np.ndarray
    """Likewise."""
    average_weight: np.ndarray
    """Likewise."""
    average_values: np.ndarray
    """Likewise."""
    average_seen: np.ndarray
    """Likewise."""
    baseline_infoset: np.ndarray
    """Likewise."""
    baseline_weight: np.ndarray
    """Likewise."""
    baseline_values: np.ndarray
    """Likewise."""
    baseline_seen: np.ndarray
    """Likewise."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""
    generator: np.ndarray
    """uint64 (4,): random numbers of the traversals."""
    training_generator: np.ndarray
    """uint64 (4,): random numbers of reservoirs, batches and fresh networks."""
    player: np.ndarray
    """As in :class:`tensorcfr.solvers.rules_solver.RulesState`, like what follows."""
    own: np.ndarray
    """Likewise."""
    kind: np.ndarray
    """Likewise."""
    labels: np.ndarray
    """Likewise."""
    label_ends: np.ndarray
    """Likewise."""
    actions: np.ndarray
    """Likewise."""
    action_ends: np.ndarray
    """Likewise."""
    kind_ends: np.ndarray
    """Likewise."""


class _Before(NamedTuple):
    """What an iteration changes, beside the buffers."""

    infosets: int
    strategy: np.ndarray
    baseline: np.ndarray
    parameters: list[np.ndarray]
    baseline_parameters: list[np.ndarray]
    scale: float
    touched: np.ndarray
    generator: np.ndarray
    training_generator: np.ndarray


class DeepRulesSolver(DeepIterations):
    """A solver of a game by its rules, whose regrets are predicted by networks;
    :func:`tensorcfr.solve` is this with stop rules.

    Nothing is compiled: infosets enter a table with their features, and histories a tree, when a
    traversal first reaches them, as in :class:`tensorcfr.solvers.RulesSolver`.  A new infoset asks
    the networks once; after each fit they are evaluated for all infosets so far in one batch.

    Args:
        game: What :func:`tensorcfr.compile_game` takes; of two players or more.
        algorithm: A record, or its name; see :class:`tensorcfr.algorithms.Deep`.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        seed: As for :class:`tensorcfr.SampledSolver`.
        memory_limit: Bytes that buffers, networks, infosets and histories may take; by default the
            machine's free memory.  Histories are forgotten when their share is full, infosets and
            their features are not.

    Raises:
        ValueError: There is no such algorithm; the seed is no seed; the features or the baselines
            take a compiled game; the game has one player, or more than two where the average
            strategy takes the networks of all iterations.
        GameError: There is no such game, or the rules break their contract.
        MemoryLimitError: The buffers would not fit.
        MissingExtraError: JAX, optax or equinox is not installed; says what installs them.

    :meth:`step` raises MemoryLimitError when there is no room for another infoset.  The iteration
    during which that happens is undone.
    """

    games: ClassVar[type[Any]] = UncompiledGame
    policy_is_in_state = True

    @checked()
    def __init__(
        self,
        game: Any,
        algorithm: Named = "deep-cfr",
        *,
        state: Annotated[RulesDeepState | None, Kind((RulesDeepState,), "a solver's state")] = None,
        iteration: Iterations = 0,
        seed: Seed | None = None,
        memory_limit: Limit = None,
    ) -> None:
        played = UncompiledGame(game)
        self.game = cast(CompiledGame, played)
        self.algorithm: Deep = self._checked(self.game, algorithm)
        refuse_seed_beside(state, seed)
        _check_game(played, self.algorithm)
        self.iteration, self.locks = iteration, cast(Locks, {})
        self.memory_limit = free_memory() if memory_limit is None else memory_limit
        """Bytes that the solver may take; may be changed between two steps."""
        record, players = self.algorithm, played.n_players
        self._source = RuleFeatures(played, record.features)
        self._networks: list[list[np.ndarray]] = []
        self._scale = 0.0
        self._made: tuple[int, Policy] | None = None
        self._generator, self._training_generator = np.zeros((2, 4), np.uint64)
        self._touched = np.zeros(2, np.int64)
        self._tree: GrowingTree | None = None
        self._turns = np.zeros(1, np.uint64)
        if state is None:
            given = _first_state(record, players, self._source)
        else:
            given = self.restore(self.game, record, state._asdict())
        self._build(given._asdict(), len(given.player))
        self._inputs = self._met.inputs
        self._make_learners(1.0)
        if state is None:
            given = given._replace(**first_generators(seed))
            size, kind = self._advantages.size, _kind_of_fits(record)
            baselines = players * record.has_baseline_network
            given = given._replace(
                parameters=np.zeros((players, size), kind),
                baseline_parameters=np.zeros((baselines, size), kind),
            )
        width = given.advantage_values.shape[1]
        self._samples, self._samples_before = (
            [self._new_samples(self._met.block, np.zeros(0), width) for _ in range(players)]
            for _ in range(2)
        )
        self._take(given)
        with telling_limit(self):
            tree = self._roomy_tree()
            arguments = self._arguments(tree, np.empty((0, 1)))
            with rule_errors(record.variant.rule):
                self._kernel = entry_point(self._traversal, *arguments)
        self._look()

    @classmethod
    def _checked(cls, game: CompiledGame, algorithm: str | Record) -> Any:
        record = find_algorithm(algorithm)
        refuse_uncompiled(record, game.name)
        return record

    # ------------------------------------------------------------------------------ iterating

    def _run(self, iterations: int) -> None:
        with no_garbage_collection(), telling_limit(self):
            super()._run(iterations)

    @property
    def _traversal(self) -> Callable[..., bool]:
        return outcome_sampling if self.algorithm.scheme == "outcome" else external_sampling

    def _arguments(self, tree: GrowingTree, schedule: np.ndarray) -> tuple[Any, ...]:
        record, player = self.algorithm, int(self._turns[0])
        self._widen(tree.frames.width)
        state = TraversalState(self._table.numbers, np.zeros(1), self._touched)
        before = (tree.arrays, record.variant.rule, schedule, self._turns, SIMPLE)
        after = (state, self._generator, tree.frames, self._samples[player])
        if record.scheme == "outcome":
            return (*before, record.epsilon, float(record.has_baseline), *after)
        return (*before, *after, None)

    def _sample(self, schedule: np.ndarray, player: int) -> None:
        self._turns[0] = player
        tree = self._roomy_tree()
        if self.bytes_held > self.memory_limit:
            raise InfosetsFullError
        tree.frames.cursor[:] = 0
        # The generators' sums wrap around by design; numpy warns about that with the JIT off.
        with np.errstate(over="ignore"):
            tree.run(self._kernel, lambda: self._arguments(tree, schedule))
        if not self._scale:
            largest = float(np.abs(tree.arrays.utility).max(initial=0.0))
            self._scale = self._advantages.scale = scale_for(self.algorithm, largest)
        self._look()

    def _look(self) -> None:
        """Tell the learners which infosets there are."""
        self._inputs = self._met.inputs
        self._advantages.inputs = self._averages.inputs = self._inputs

    def _roomy_tree(self) -> GrowingTree:
        """The tree, within the limit as it is now."""
        width = self._samples[0].advantages.values.shape[1]
        buffers = bytes_of_buffers(self.algorithm, self.game.n_players, width)
        rest = self.memory_limit - buffers - self._bytes_of_networks
        if rest <= 0:
            raise InfosetsFullError
        share = SHARE_OF_HISTORIES * rest
        self._table.limit = rest - share
        if self._tree is None:
            histories = MetHistories(cast(Any, self.game), self._table, self._entered)
            self._tree = GrowingTree(
                histories, groups=self._table.groups, returns=self.algorithm.scheme != "outcome"
            )
        self._tree.limit, self._tree.most = share, rest
        self._tree.forget()
        return self._tree

    def _entered(self, row: int, said: Decision, state: object) -> None:
        """Give a new infoset its features, and the strategy that its player's network plays."""
        player, label, actions = said
        assert label is not None
        output = np.array(self._source.outputs(label, actions), np.int32)
        self._met.enter(row, self._source.of(player, label, state), output)
        table, place, count = self._table, self._met.at(row), len(actions)
        block = table.block(row)

        def write(group: int, found: np.ndarray) -> None:
            table.numbers[block + group * count : block + (group + 1) * count] = found

        if self._parameters[player].any():
            predicted = self._advantages.predict_at(self._parameters[player][None], place)
            is_action = np.ones(predicted.shape, bool)
            write(STRATEGY, probabilities(predicted, is_action, self.algorithm.unplayed)[0])
        for other, fitted in enumerate(self._baseline_parameters):
            if fitted.any():
                predicted = self._advantages.predict_at(fitted[None], place)
                write(BASELINE + other, predicted[0] / self._scale)

    def _widen(self, width: int) -> None:
        """Make room for as many actions in a sample."""
        if self._samples[0].advantages.values.shape[1] < width:
            self._samples, self._samples_before = (
                [
                    own._replace(
                        advantages=_wider(own.advantages, width),
                        strategies=_wider(own.strategies, width),
                        baselines=_wider(own.baselines, width),
                    )
                    for own in samples
                ]
                for samples in (self._samples, self._samples_before)
            )

    def _add_to_average(self, player: int, weight: float) -> None:
        """Keep what the strategies that the player's traversals meet come from."""
        if _keeps_networks(self.algorithm):
            if player == 0:
                self._networks.append(list(self._parameters))
            self._networks[-1][1 - player] = self._parameters[1 - player]

    def _infosets(self, player: int) -> np.ndarray:
        """int64: the rows of a player."""
        found: np.ndarray = np.flatnonzero(np.array(self._table.player) == player)
        return found

    def _has_choices(self, player: int) -> bool:
        own = self._infosets(player)
        # A player who was never met may have choices.
        return not len(own) or bool((self._inputs.sequence[own, 1:] >= 0).any())

    def _play(self, player: int, predicted: np.ndarray) -> None:
        played = probabilities(predicted, self._inputs.is_action, self.algorithm.unplayed)
        self._set(STRATEGY, self._infosets(player), played)
        self._parameters[player] = self._advantages.fitted(self._parameters[player], predicted)

    def _set_baselines(self, player: int) -> None:
        parameters = self._baseline_parameters[player]
        predicted = self._advantages.predict(self._samples[player].baselines, None, parameters)
        self._set(BASELINE + player, np.arange(len(self._table)), predicted / self._scale)
        self._baseline_parameters[player] = self._advantages.fitted(parameters, predicted)

    def _set(self, group: int, rows: np.ndarray, values: np.ndarray) -> None:
        """Write values by infoset and action where the traversals read them."""
        numbers, is_action = self._table.group(group), self._inputs.is_action[rows]
        numbers[self._inputs.sequence[rows][is_action]] = values[rows][is_action]
        self._table.set_group(group, numbers)

    def _restart_average(self) -> None:
        raise AssertionError("no algorithm with networks begins its average anew")

    # ------------------------------------------------------------------------------ the state

    def _build(self, state: Any, infosets: int) -> None:
        """Make table and features of the first infosets of a state."""
        self._tree = None
        self._table, self._met = _met_infosets(
            cast(Any, self.game), self.algorithm, self._source, state, infosets
        )

    def _set_numbers(self, strategy: np.ndarray, baseline: np.ndarray) -> None:
        self._table.set_group(STRATEGY, strategy)
        for player, own in enumerate(baseline):
            self._table.set_group(BASELINE + player, own)

    @property
    def state(self) -> RulesDeepState:
        """A copy of what the solver keeps."""
        held = len(self._table)
        buffers = keep_buffers(self._samples, self._samples[0].advantages.values.shape[1])
        before, kind = self._copy_without_buffers(), _kind_of_fits(self.algorithm)
        networks = _stacked([fit for each in self._networks for fit in each], kind)
        if not self._networks:
            networks = np.zeros((0, self.game.n_players, 0), kind)
        return RulesDeepState(
            strategy=before.strategy,
            baseline=before.baseline,
            parameters=_stacked(before.parameters, kind),
            baseline_parameters=_stacked(before.baseline_parameters, kind),
            networks=networks.reshape(len(self._networks), self.game.n_players, networks.shape[-1]),
            factor=np.array([self._scale]),
            features=self._met.features[:held].copy(),
            output=self._met.output[:held].copy(),
            touched=before.touched,
            generator=before.generator,
            training_generator=before.training_generator,
            **buffers,
            **self._table.described,
        )

    def _copy_without_buffers(self) -> _Before:
        players = range(len(self._baseline_parameters))
        baseline = [self._table.group(BASELINE + player) for player in players]
        return _Before(
            infosets=len(self._table),
            strategy=self._table.group(STRATEGY),
            baseline=np.array(baseline).reshape(len(baseline), self._table.n_sequences),
            parameters=list(self._parameters),
            baseline_parameters=list(self._baseline_parameters),
            scale=self._scale,
            touched=self._touched.copy(),
            generator=self._generator.copy(),
            training_generator=self._training_generator.copy(),
        )

    def _take_without_buffers(self, state: _Before) -> None:
        """Also forgets the infosets that were met since, and the tree, in which an entry may be
        half made."""
        described = self._table.described
        described |= {"features": self._met.features, "output": self._met.output}
        self._build(described, state.infosets)
        self._samples, self._samples_before = (
            [own._replace(infoset=self._met.block) for own in samples]
            for samples in (self._samples, self._samples_before)
        )
        self._set_numbers(state.strategy, state.baseline)
        self._parameters = state.parameters
        self._baseline_parameters = state.baseline_parameters
        self._scale = self._advantages.scale = state.scale
        self._touched[:] = state.touched
        self._generator[:] = state.generator
        self._training_generator[:] = state.training_generator
        self._look()

    def _take(self, state: RulesDeepState) -> None:
        """The reverse of :attr:`state`, whose arrays are copied; the infosets are there."""
        put_buffers(state, self._samples)
        self._set_numbers(state.strategy, state.baseline)
        self._parameters = list(state.parameters.copy())
        self._baseline_parameters = list(state.baseline_parameters.copy())
        self._networks = [list(each) for each in state.networks.copy()]
        self._scale = self._advantages.scale = float(state.factor[0])
        self._touched[:] = state.touched
        self._generator[:] = state.generator
        self._training_generator[:] = state.training_generator

    @classmethod
    def restore(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        kept: Mapping[str, np.ndarray],
        locks: Locks | None = None,
    ) -> RulesDeepState:
        state = RulesDeepState(**{name: kept[name] for name in RulesDeepState._fields})
        _check_game(cast(Any, game), algorithm)
        source, players = RuleFeatures(cast(Any, game), algorithm.features), game.n_players
        table = _empty_table(algorithm, players, source)
        table.describe(state._asdict(), n_players=players)
        infosets, sequences = len(table), table.n_sequences
        if state.output.ndim != 2 or state.advantage_values.ndim != 2:
            raise ValueError("output and advantage_values must be matrices")
        width = state.output.shape[1]
        fits = (state.parameters, state.baseline_parameters, state.networks)
        sizes = [min(fit.shape[-1] if fit.ndim else 0, sequences) for fit in fits]
        if algorithm.learner == "network":
            inputs = MetInfosets(InfosetTable(groups=0), source).inputs
            sizes = [make_learner(algorithm, inputs, 1.0).size if len(fit) else 0 for fit in fits]
        kind = _kind_of_fits(algorithm)
        baselines = players * algorithm.has_baseline_network
        networks = len(state.networks) if _keeps_networks(algorithm) else 0
        expected: dict[str, tuple[tuple[int, ...], type]] = {
            "strategy": ((sequences,), np.float64),
            "baseline": ((baselines, sequences), np.float64),
            "parameters": ((players, sizes[0]), kind),
            "baseline_parameters": ((baselines, sizes[1]), kind),
            "networks": ((networks, players, sizes[2]), kind),
            "factor": ((1,), np.float64),
            "features": ((infosets, source.width), np.float32),
            "output": ((infosets, width), np.int32),
            "touched": ((2,), np.int64),
            "generator": ((4,), np.uint64),
            "training_generator": ((4,), np.uint64),
        }
        check_arrays(state._asdict(), expected, f"these infosets and {algorithm.name}")
        counts = np.diff(np.array(table.first, np.int64))
        is_action = np.arange(width) < counts[:, None]
        wrong = (state.output >= 0) != is_action
        if wrong.any() or state.output.max(initial=-1) >= source.n_outputs:
            raise ValueError("output holds what no action has")
        restored_buffers(kept, algorithm, players, (infosets, state.advantage_values.shape[1]))
        return state

    @classmethod
    def wrong_state(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> str | None:
        table = InfosetTable(groups=0)
        table.describe(state._asdict(), n_players=game.n_players)
        return wrong_strategy_of(table, state.strategy)

    # --------------------------------------------------------------------------- its policies

    @classmethod
    def policy_of(
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> Policy:
        """The average policy of a state.  A network of it is trained when it is first asked."""
        if algorithm.has_strategy_network:

            def trained() -> tuple[Learner, Sequence[Fits]]:
                solver = cls(game, algorithm, state=state, memory_limit=EVERYTHING)
                return solver._averages, solver._trained()

            return _policy(game, algorithm, state, trained, is_mixture=False, unplayed="uniform")
        weights = algorithm.variant.schedule(1, len(state.networks))[:, 0]
        fits = [Fits(state.networks[:, p], weights) for p in range(game.n_players)]
        return _policy(game, algorithm, state, fits, is_mixture=True)

    @classmethod
    def last_policy_of(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> Policy:
        fits = [Fits(own[None], np.ones(1)) for own in state.parameters]
        return _policy(game, algorithm, state, fits, is_mixture=False)

    @classmethod
    def last_probabilities(
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        """The strategy of the next iteration, float64 (sequences of the table,)."""
        strategy: np.ndarray = state.strategy
        return strategy

    def average_policy(self) -> Policy:
        """The average strategy; a network of it is trained anew, by random numbers of the state,
        whenever the solver has gone on."""
        if self._made is None or self._made[0] != self.iteration:
            state = self.state
            made = self.policy_of(self.game, self.algorithm, state)
            self._made = self.iteration, made
        return self._made[1]

    def average_probabilities(self) -> np.ndarray:
        """The average strategy, float64 (sequences of the table,)."""
        return self.average_policy().probabilities

    def _trained(self) -> list[Fits]:
        """A network of each player's average strategy; none where there are no samples."""
        generator, fits = self._training_generator.copy(), []
        for player in range(self.game.n_players):
            found = train_average(
                self._averages,
                self.algorithm,
                [s.strategies for other, s in enumerate(self._samples) if other != player],
                np.array(self._table.player) == player,
                player,
                generator,
                f"{self.algorithm.name} on {self.game.name}",
            )
            kept = [] if found is None else [self._averages.fitted(*found)]
            numbers = _stacked(kept, _kind_of_fits(self.algorithm))
            fits.append(Fits(numbers, np.ones(len(kept))))
        return fits

    def evaluate(self) -> Evaluation:
        """As :meth:`tensorcfr.solvers.RulesSolver.evaluate`."""
        return unknown_values(self.game.n_players)

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return self.evaluate()

    # ------------------------------------------------------------------------------ its memory

    @property
    def infosets_held(self) -> int:
        """Infosets in the table."""
        return len(self._table)

    @property
    def bytes_held(self) -> int:
        """Bytes of infosets, features, histories, networks, and what buffers hold."""
        samples = sum(filled(one) for own in self._samples for one in reservoirs_of(own))
        width = self._samples[0].advantages.values.shape[1]
        tree = 0 if self._tree is None else self._tree.bytes_held
        return (
            self._table.bytes_held
            + tree
            + self._bytes_of_networks
            + 2 * samples * (BYTES_PER_SAMPLE + 8 * width)
        )

    @property
    def _bytes_of_networks(self) -> int:
        return sum(fit.nbytes for each in self._networks for fit in each)


EVERYTHING = 1 << 62
"""A memory limit that nothing meets."""


def _check_game(game: UncompiledGame, record: Deep) -> None:
    """Make sure that an algorithm runs on the rules of a game.

    Raises:
        ValueError: It does not; says why.
    """
    if game.n_players == 1:
        raise ValueError(f"{record.name} samples opponents, and {game.name} has one player")
    if record.has_history_baseline:
        raise ValueError(
            f"{record.name}: baselines of histories are a table over the histories of a compiled "
            f"game, and {game.name} is not compiled: baselines='infosets' makes them a network, "
            "baseline_updates=0 does without"
        )
    if _keeps_networks(record) and game.n_players > 2:
        raise ValueError(
            f"{record.name} keeps the networks of all iterations on rules, which is for two "
            f"players, and {game.name} has {game.n_players}; deep-cfr does without"
        )


def _keeps_networks(record: Deep) -> bool:
    """Whether the fits of all iterations are kept: the average strategy is made of them."""
    return record.keep_networks or not record.has_strategy_network


def _kind_of_fits(record: Deep) -> type:
    return np.float64 if record.learner == "table" else np.float32


def _stacked(fits: list[np.ndarray], kind: type) -> np.ndarray:
    """(fits, most numbers): fits as rows, with zeros behind the shorter ones."""
    found: np.ndarray = np.zeros((len(fits), max(map(len, fits), default=0)), kind)
    for row, fit in zip(found, fits, strict=True):
        row[: len(fit)] = fit
    return found


def _wider(reservoir: Reservoir, width: int) -> Reservoir:
    """The same samples, with room for more actions."""
    values = np.empty((len(reservoir.infoset), width))
    count, before = filled(reservoir), reservoir.values.shape[1]
    values[:count, :before], values[:count, before:] = reservoir.values[:count], np.nan
    return reservoir._replace(values=values)


def _empty_table(record: Deep, n_players: int, source: RuleFeatures) -> InfosetTable:
    groups = BASELINE + n_players * record.has_baseline_network
    # Features have up to twice the room that they need, and networks get a copy.
    beside = 3 * 4 * source.width + source.n_outputs + 4 * (HEADER + groups) + 16
    return InfosetTable(groups, beside=beside)


def _met_infosets(
    game: UncompiledGame, record: Deep, source: RuleFeatures, arrays: Any, infosets: int
) -> tuple[InfosetTable, MetInfosets]:
    """Table and features of the first infosets of some, from arrays by name."""
    table = _empty_table(record, game.n_players, source)
    first = {key: arrays[key][:infosets] for key in ("player", "own", "kind", "label_ends")}
    first["labels"] = arrays["labels"][: int(first["label_ends"][-1]) if infosets else 0]
    table.describe({**arrays, **first}, n_players=game.n_players)
    met = MetInfosets(table, source)
    for row in range(infosets):
        output = arrays["output"][row]
        met.enter(row, arrays["features"][row], output[output >= 0])
    return table, met


def _policy(
    game: CompiledGame,
    record: Deep,
    state: RulesDeepState,
    fits: Callable[[], tuple[Learner, Sequence[Fits]]] | Sequence[Fits],
    *,
    is_mixture: bool,
    unplayed: str | None = None,
) -> Policy:
    """Strategies over the infosets of a state; typed as those of compiled games, which they are
    read like."""
    played = cast(UncompiledGame, game)
    source = RuleFeatures(played, record.features)
    _, met = _met_infosets(played, record, source, state._asdict(), len(state.player))

    def made() -> tuple[Learner, Sequence[Fits]]:
        if callable(fits):
            return fits()
        return make_learner(record, met.inputs, 1.0), fits

    unplayed = record.unplayed if unplayed is None else unplayed
    found = NetworkPolicy(played, met, made, is_mixture=is_mixture, unplayed=unplayed)
    return cast(Policy, found)


def _first_state(record: Deep, n_players: int, source: RuleFeatures) -> RulesDeepState:
    """The state before the first iteration, without random numbers and fits."""
    table = _empty_table(record, n_players, source)
    return RulesDeepState(
        strategy=np.empty(0),
        baseline=np.empty((n_players * record.has_baseline_network, 0)),
        parameters=np.empty((0, 0)),
        baseline_parameters=np.empty((0, 0)),
        networks=np.zeros((0, n_players, 0), _kind_of_fits(record)),
        factor=np.zeros(1),
        features=np.empty((0, source.width), np.float32),
        output=np.empty((0, 1), np.int32),
        touched=np.zeros(2, np.int64),
        generator=np.zeros(4, np.uint64),
        training_generator=np.zeros(4, np.uint64),
        **no_samples(n_players, 1),
        **table.described,
    )


kinds.SOLVERS.append(DeepRulesSolver)
