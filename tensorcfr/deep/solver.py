"""The solver of Deep CFR, Single Deep CFR and DREAM."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.arguments import Kind, Limit, checked
from .._util.memory import free_memory
from ..algorithms import Deep
from ..algorithms.deep import Features
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..kernels import evaluation
from ..kernels.local_rule import rule_errors
from ..kernels.random import Script, Seed
from ..kernels.sampling import SIMPLE
from ..kernels.sampling_external import external_sampling
from ..kernels.sampling_outcome import outcome_sampling
from ..kernels.traversal import TraversalState, new_frames
from ..model.arguments import Compiled
from ..model.game import CompiledGame
from ..model.locks import Locks
from ..model.policy import Policy
from ..solvers import kinds
from ..solvers.arguments import Iterations, Named
from ..solvers.kept import check_arrays
from ..solvers.sampled_solver import refuse_seed_beside
from ..solvers.traversal import (
    BASELINE,
    STRATEGY,
    TableLayout,
    bytes_of,
    history_traversal,
    public_traversal,
)
from .buffers import (
    bytes_of_buffers,
    filled,
    keep_buffers,
    no_samples,
    put_buffers,
    restored_buffers,
)
from .features import make_features
from .inputs import make_inputs
from .iterations import DeepIterations, first_generators, scale_for, train_average
from .learners import make_learner, probabilities


class DeepState(NamedTuple):
    """The state of a solver with networks between iterations."""

    regret: np.ndarray
    """float64 (sequences,): predicted advantages, from which the next strategy is made."""
    strategy: np.ndarray
    """float64 (sequences,): behaviour strategy; 1 for the empty sequences."""
    cumulative: np.ndarray
    """float64 (sequences,): sum over iterations of weight times own reach; for the empty sequences
    the sum of the weights."""
    parameters: np.ndarray
    """float32 (players, parameters): the advantage networks; zeros before the first fit."""
    baseline_parameters: np.ndarray
    """float32 (players, parameters): the baseline networks; (0, 0) without any."""
    history_values: np.ndarray
    """float64 (players, histories): the baselines of the step into each history; (0, 0) without
    any."""
    networks: np.ndarray
    """float32 (iterations, players, parameters): the networks that each iteration's strategies come
    from; (0, players, parameters) unless they are kept."""
    features: np.ndarray
    """float32 (infosets, width)."""
    advantage_infoset: np.ndarray
    """int32 (samples,): the infoset of each sample of advantages, the reservoirs of the players one
    after the other."""
    advantage_weight: np.ndarray
    """float64 (samples,): its weight."""
    advantage_values: np.ndarray
    """float64 (samples, most actions): a number for each action; nan where there is none."""
    advantage_seen: np.ndarray
    """int64 (players,): samples that were added to each reservoir."""
    average_infoset: np.ndarray
    """The same of the strategies that a network of the average is trained on; empty without it."""
    average_weight: np.ndarray
    """As ``advantage_weight``."""
    average_values: np.ndarray
    """As ``advantage_values``."""
    average_seen: np.ndarray
    """As ``advantage_seen``."""
    baseline_infoset: np.ndarray
    """The same of the values that networks of the baselines are trained on; empty without them."""
    baseline_weight: np.ndarray
    """As ``advantage_weight``."""
    baseline_values: np.ndarray
    """As ``advantage_values``."""
    baseline_seen: np.ndarray
    """As ``advantage_seen``."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""
    generator: np.ndarray
    """uint64 (4,): random numbers of the traversals."""
    training_generator: np.ndarray
    """uint64 (4,): random numbers of reservoirs, batches and fresh networks."""


class DeepSolver(DeepIterations):
    """A solver whose regrets are predicted by networks; :func:`tensorcfr.solve` is this with stop
    rules.

    Traversals are those of external or outcome sampling, with strategies that stay as they are
    during an iteration.  The networks are evaluated for all infosets at once, after they have been
    trained; no traversal waits for one.

    Args:
        game: The game, of two players or more.
        algorithm: A record, or its name; see :class:`tensorcfr.algorithms.Deep`.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        seed: As for :class:`tensorcfr.SampledSolver`.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm; the seed is no seed; the features are not for this
            game; the game has one player, or networks are to be kept for more than two.
        MemoryLimitError: The arrays would not fit; raised before they are allocated.
        MissingExtraError: JAX, optax or equinox is not installed; says what installs them.
    """

    @checked()
    def __init__(
        self,
        game: Compiled,
        algorithm: Named = "deep-cfr",
        *,
        state: Annotated[DeepState | None, Kind((DeepState,), "a solver's state")] = None,
        iteration: Iterations = 0,
        seed: Seed | None = None,
        memory_limit: Limit = None,
    ) -> None:
        record: Deep = self._checked(game, algorithm)
        refuse_seed_beside(state, seed)
        if game.n_players == 1:
            raise ValueError(f"{record.name} samples opponents, and {game.name} has one player")
        if record.keep_networks and game.n_players > 2:
            raise ValueError(
                f"{record.name}: keep_networks is for two players: of more, an iteration has "
                "several strategies of one"
            )
        limit = free_memory() if memory_limit is None else memory_limit
        if (needed := bytes_needed(game, record)) > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, limit)
        self.game, self.algorithm, self.iteration = game, record, iteration
        self.locks = Locks(game, {})
        self._layout = TableLayout(game, game.n_players, has_header=False)
        traversal = public_traversal if _has_public_walk(game, record) else history_traversal
        self._tree = traversal(game, self._layout)
        self._history_values = np.zeros(_history_baselines(game, record))
        self._frames = new_frames(self._tree.depth, self._tree.width, game.n_players)
        given = None if state is None else self.restore(game, record, self.kept(state))
        features = make_features(game, record.features) if given is None else given.features
        features.flags.writeable = False
        self._inputs = make_inputs(game, features)
        largest = float(np.abs(game.utilities).max(initial=0.0)) / game.unit
        self._scale = scale_for(record, largest)
        self._make_learners(self._scale)
        self._generator, self._training_generator = np.zeros((2, 4), np.uint64)
        self._table = np.zeros(max(self._layout.size, 1))
        infoset = np.full(len(self._table), -1, np.int32)
        block = self._layout.block
        infoset[block[block >= 0]] = np.flatnonzero(block >= 0)
        width, history = self._inputs.sequence.shape[1], self._history_values.reshape(-1)
        self._samples, self._samples_before = (
            [self._new_samples(infoset, history, width) for _ in range(game.n_players)]
            for _ in range(2)
        )
        self._networks: list[np.ndarray] = []
        self._made: tuple[int, np.ndarray] | None = None
        if given is None:
            given = _first_state(game, record, features, self._advantages.size)
            given = given._replace(**first_generators(seed))
        self._take(given)
        self._sample(np.empty((0, 1)), 0)

    def _sample(
        self,
        schedule: np.ndarray,
        player: int,
        generator: np.ndarray | Script | None = None,
    ) -> None:
        """Traverse as often as the schedule has rows."""
        record, layout = self.algorithm, self._layout
        layout.set_group(self._table, STRATEGY, self._strategy)
        state = TraversalState(self._table, np.zeros(1), self._touched)
        rule = record.variant.rule
        players = np.array([player], np.uint64)
        before = (self._tree, rule, schedule, players, SIMPLE)
        generator = self._generator if generator is None else generator
        self._frames.cursor[:] = 0
        after = (state, generator, self._frames, self._samples[player])
        # The generators' sums wrap around by design; numpy warns about that with the JIT off.
        with np.errstate(over="ignore"), rule_errors(rule):
            if record.scheme == "external":
                external_sampling(*before, *after, None)
            else:
                outcome_sampling(*before, record.epsilon, float(record.has_baseline), *after)

    def _add_to_average(self, player: int, weight: float) -> None:
        """Add the strategies that the player's traversals meet, those of the others, weighted with
        their reaches, and keep their networks."""
        form, reach = self.game.form, np.empty(self.game.n_sequences)
        evaluation.realization_plan(form, self._strategy, reach)
        for other in range(self.game.n_players):
            if other != player:
                own = slice(*form.player_sequences[other : other + 2].tolist())
                self._cumulative[own] += weight * reach[own]
        if self.algorithm.keep_networks:
            if player == 0:
                self._networks.append(np.zeros_like(self._parameters))
            self._networks[-1][1 - player] = self._parameters[1 - player]

    def _has_choices(self, player: int) -> bool:
        own = self._infosets(player)
        return bool((self._inputs.sequence[own, 1:] >= 0).any())

    def _play(self, player: int, predicted: np.ndarray) -> None:
        own, is_action = self._infosets(player), self._inputs.is_action
        self._set(self._regret, own, predicted / self._scale)
        played = probabilities(predicted, is_action, self.algorithm.unplayed)
        self._set(self._strategy, own, played)

    def _infosets(self, player: int) -> slice:
        return slice(*self.game.form.player_infosets[player : player + 2].tolist())

    def _set(self, target: np.ndarray, infosets: slice, values: np.ndarray) -> None:
        """Write values by infoset and action into an array over the sequences."""
        sequence = self._inputs.sequence[infosets]
        is_action = sequence >= 0
        target[sequence[is_action]] = values[infosets][is_action]

    def _set_baselines(self, player: int) -> None:
        """Write a player's baselines into the table of the traversals."""
        predicted = self._advantages.predict(
            self._samples[player].baselines, None, self._baseline_parameters[player]
        )
        values = np.zeros(self.game.n_sequences)
        self._set(values, slice(None), predicted / self._scale)
        self._layout.set_group(self._table, BASELINE + player, values)

    def _restart_average(self) -> None:
        self._cumulative[:] = 0.0

    def average_probabilities(self) -> np.ndarray:
        """The average strategy, float64 (sequences,); a network of it is trained anew, by random
        numbers of the state, whenever the solver has gone on."""
        if self._made is None or self._made[0] != self.iteration:
            made = self._exact_average() if self._is_exact else self._network_average()
            self._made = self.iteration, made
        return self._made[1].copy()

    @property
    def _is_exact(self) -> bool:
        return not self.algorithm.has_strategy_network or not self._cumulative[0] > 0.0

    def _exact_average(self) -> np.ndarray:
        strategy = np.empty(self.game.n_sequences)
        evaluation.normalise(self.game.form, self._cumulative, strategy)
        return strategy

    def _network_average(self) -> np.ndarray:
        record = self.algorithm
        strategy = np.array(Policy.uniform(self.game).probabilities)
        generator = self._training_generator.copy()
        for player in range(self.game.n_players):
            # The others' traversals come to this player's infosets.
            found = train_average(
                self._averages,
                record,
                [s.strategies for other, s in enumerate(self._samples) if other != player],
                self.game.infoset_player == player,
                player,
                generator,
                f"{record.name} on {self.game.name}, iteration {self.iteration}",
            )
            if found is not None:
                played = probabilities(found[1], self._inputs.is_action, "uniform")
                self._set(strategy, self._infosets(player), played)
        return strategy

    @property
    def state(self) -> DeepState:
        """A copy of what the solver keeps."""
        width = self._inputs.sequence.shape[1]
        kept = keep_buffers(self._samples, width)
        shape = (len(self._networks), *self._parameters.shape)
        networks = np.array(self._networks, np.float32).reshape(shape)
        return self._copy_without_buffers()._replace(networks=networks, **kept)

    def _copy_without_buffers(self) -> DeepState:
        """The same without samples and networks that were kept, which are many."""
        empty = _no_samples(self.game)
        return DeepState(
            regret=self._regret.copy(),
            strategy=self._strategy.copy(),
            cumulative=self._cumulative.copy(),
            parameters=self._parameters.copy(),
            baseline_parameters=self._baseline_parameters.copy(),
            history_values=self._history_values.copy(),
            networks=np.zeros((0, *self._parameters.shape), np.float32),
            features=self._features,
            touched=self._touched.copy(),
            generator=self._generator.copy(),
            training_generator=self._training_generator.copy(),
            **empty,
        )

    def _take(self, state: DeepState) -> None:
        """The reverse of :attr:`state`, whose arrays are copied."""
        self._networks = list(state.networks.copy())
        put_buffers(state, self._samples)
        self._take_without_buffers(state)

    def _take_without_buffers(self, state: DeepState) -> None:
        self._regret, self._strategy = state.regret.copy(), state.strategy.copy()
        self._cumulative = state.cumulative.copy()
        self._parameters = state.parameters.copy()
        self._baseline_parameters = state.baseline_parameters.copy()
        self._history_values[:] = state.history_values
        self._features = state.features
        self._touched = state.touched.copy()
        self._generator[:] = state.generator
        self._training_generator[:] = state.training_generator
        self._set_all_baselines()

    def _set_all_baselines(self) -> None:
        for player, samples in enumerate(self._samples):
            if filled(samples.baselines):
                self._set_baselines(player)

    @classmethod
    def kept(cls, state: Any) -> Mapping[str, np.ndarray]:
        """All arrays; without baselines of histories where there are none, as in version 0.3."""
        arrays: dict[str, np.ndarray] = state._asdict()
        if not arrays["history_values"].size:
            del arrays["history_values"]
        return arrays

    @classmethod
    def restore(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        kept: Mapping[str, np.ndarray],
        locks: Locks | None = None,
    ) -> DeepState:
        features = kept["features"]
        if features.ndim != 2 or len(features) != game.n_infosets:
            raise ValueError(
                f"features is {features.shape}; {game.name} has {game.n_infosets:,} infosets"
            )
        given = algorithm.features
        if isinstance(given, Features) and Features(features).digest != given.digest:
            raise ValueError(f"features are not those that {algorithm.name} names")
        inputs = make_inputs(game, features)
        size = make_learner(algorithm, inputs, 1.0).size
        players, baselines = game.n_players, game.n_players * algorithm.has_baseline_network
        networks = len(kept["networks"]) if algorithm.keep_networks else 0
        expected: dict[str, tuple[tuple[int, ...], type]] = {
            "regret": ((game.n_sequences,), np.float64),
            "strategy": ((game.n_sequences,), np.float64),
            "cumulative": ((game.n_sequences,), np.float64),
            "parameters": ((players, size), np.float32),
            "baseline_parameters": ((baselines, size if baselines else 0), np.float32),
            "networks": ((networks, players, size), np.float32),
            "features": (features.shape, np.float32),
            "touched": ((2,), np.int64),
            "generator": ((4,), np.uint64),
            "training_generator": ((4,), np.uint64),
        }
        if algorithm.has_history_baseline:
            expected["history_values"] = _history_baselines(game, algorithm), np.float64
        check_arrays(kept, expected, f"{game.name} and {algorithm.name}")
        found = {name: np.ascontiguousarray(kept[name]) for name in expected}
        found |= restored_buffers(kept, algorithm, players, inputs.sequence.shape)
        return DeepState(**{"history_values": np.zeros((0, 0)), **found})

    @classmethod
    def last_probabilities(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: DeepState, locks: Locks | None = None
    ) -> np.ndarray:
        return state.strategy

    def current_policy(self) -> Policy:  # noqa: D102
        return Policy(self.game, self._strategy.copy())

    def evaluate(self) -> Evaluation:  # noqa: D102
        return evaluate_probabilities(self.game, self.average_probabilities())

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return evaluate_probabilities(self.game, self._strategy)

    def evaluate_exact_average(self) -> Evaluation:
        """Values and best-response values of the average that Single Deep CFR plays, whatever the
        algorithm's own average is."""
        return evaluate_probabilities(self.game, self._exact_average())


def _has_public_walk(game: CompiledGame, record: Deep) -> bool:
    """Whether traversals go through the public tree, with hands drawn first."""
    return game.histories is None and not record.has_history_baseline


def _history_baselines(game: CompiledGame, record: Deep) -> tuple[int, int]:
    """The shape of the baselines of histories."""
    return (game.n_players, game.n_histories) if record.has_history_baseline else (0, 0)


def _first_state(game: CompiledGame, record: Deep, features: np.ndarray, size: int) -> DeepState:
    """The state before the first iteration, without random numbers."""
    players, n = game.n_players, game.n_sequences
    baselines = players * record.has_baseline_network
    return DeepState(
        regret=np.zeros(n),
        strategy=np.array(Policy.uniform(game).probabilities),
        cumulative=np.zeros(n),
        parameters=np.zeros((players, size), np.float32),
        baseline_parameters=np.zeros((baselines, size if baselines else 0), np.float32),
        history_values=np.zeros(_history_baselines(game, record)),
        networks=np.zeros((0, players, size), np.float32),
        features=features,
        touched=np.zeros(2, np.int64),
        generator=np.zeros(4, np.uint64),
        training_generator=np.zeros(4, np.uint64),
        **_no_samples(game),
    )


def _no_samples(game: CompiledGame) -> dict[str, np.ndarray]:
    """The arrays of empty buffers, by name."""
    return no_samples(game.n_players, int(game.form.bucket_actions.max(initial=1)))


def bytes_needed(game: CompiledGame, record: Deep) -> int:
    """Bytes that a solver takes in addition to the compiled game when its buffers are full:
    buffers, a copy of them, table and tree of the traversals."""
    width = int(game.form.bucket_actions.max(initial=1))
    layout = TableLayout(game, game.n_players, has_header=False)
    walked = bytes_of(layout, queue=False, public=_has_public_walk(game, record))
    walked += 2 * 8 * math.prod(_history_baselines(game, record))
    tables = game.n_players * 4 * layout.size
    dense = 5 * 8 * width * game.n_infosets
    return bytes_of_buffers(record, game.n_players, width) + walked + tables + dense


kinds.SOLVERS.append(DeepSolver)
