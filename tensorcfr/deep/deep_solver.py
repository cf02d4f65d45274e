"""Solver of Deep CFR, Single Deep CFR and DREAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Kind, Limit, checked
from ..algorithms import Deep
from ..errors import TrainingError
from ..evaluation.metrics import Evaluation
from ..kernels import evaluation
from ..kernels.random import Script, Seed
from ..kernels.reservoir import Reservoir, Samples
from ..kernels.sampling_steps import SIMPLE
from ..kernels.traversal import Orders, TraversalState
from ..model.layout import Layout
from ..model.policy import Policy
from ..rules import Decision
from ..solvers.history_sources import NO_ARRAY
from ..solvers.problem import Problem
from ..solvers.sampling_base import Playable, SamplingSolver, naming_memory_limit
from ..solvers.solver_arguments import Iterations, Named
from ..solvers.traversal import BASELINE, REGRETS, STRATEGY
from ..uncompiled.infoset_table import InfosetsFullError
from .buffers import (
    BYTES_PER_SAMPLE,
    bytes_of_buffers,
    filled,
    keep_buffers,
    new_reservoir,
    put_buffers,
    reservoirs_of,
    wider,
)
from .deep_state import DeepState, DeepStateFile
from .learners import (
    Learner,
    first_generators,
    make_learner,
    probabilities,
    scale_for,
    train_average,
)
from .network_infosets import GameInfosets, RuleInfosets, check_game, keeps_networks
from .network_policy import Fits, policy_on_rules

EVERYTHING = 1 << 62
"""Memory limit in bytes that is never reached."""


class DeepSolver(DeepStateFile, SamplingSolver):
    """Solver with networks that predict regrets; :func:`tensorcfr.solve` adds stop rules.

    Traversals use external or outcome sampling.  Strategies do not change while a player's
    traversals run.  The traversals store samples, to which the player's networks are then fitted.
    After training, the networks are evaluated for all infosets at once, so traversals never wait
    for a network.

    If the game is given by its rules, nothing is compiled.  Infosets enter a table with their
    features, and histories enter a tree, when a traversal first reaches them, as in
    :class:`tensorcfr.SampledSolver`.  The networks are evaluated once for a new infoset.

    Args:
        game: A flat compiled game, or a game by its rules, as for :class:`tensorcfr.SampledSolver`,
            with at least two players.  Card games in chunks have a solver of their own, which
            :func:`tensorcfr.solve` chooses.
        algorithm: A record, or its name; see :class:`tensorcfr.algorithms.Deep`.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Number of iterations that led to ``state``.
        seed: See :class:`tensorcfr.SampledSolver`.
        memory_limit: Memory limit in bytes; by default the machine's free memory.  On rules,
            histories are dropped when their share is full; infosets and features are not.

    Raises:
        ValueError: The algorithm is unknown, the seed is invalid, or the features are not for this
            game.  Also if the game has one player, if networks are to be stored for more than two
            players, or if features or baselines need a compiled game.
        GameError: There is no such game, or its rules break their contract.
        MemoryLimitError: The arrays would not fit; raised before they are allocated.
        MissingExtraError: JAX, optax or equinox is not installed; says how to install them.

    On rules, :meth:`iterate` raises MemoryLimitError if there is no room for another infoset.  An
    iteration that raises an error is undone.
    """

    records = Deep
    keeps = "networks that predict regrets, and no sums"
    source: GameInfosets | RuleInfosets

    @checked()
    def __init__(
        self,
        game: Playable,
        algorithm: Named = "deep-cfr",
        *,
        state: Annotated[DeepState | None, Kind((DeepState,), "a solver's state")] = None,
        iteration: Iterations = 0,
        seed: Seed | None = None,
        memory_limit: Limit = None,
    ) -> None:
        initial = self._begin(game, algorithm, state, iteration, seed, memory_limit)
        record, players = self.algorithm, game.n_players
        check_game(game, record)
        self._generator, self._training_generator = first_generators(seed)
        self._touched, self._turn_of = np.zeros(2, np.int64), np.zeros(1, np.uint64)
        self._networks: list[list[np.ndarray]] = []
        """Fits behind the strategies of each iteration, if they are stored."""
        self._cached_average: tuple[int, Policy] | None = None
        arrays = None if initial is None else initial._asdict()
        self.source = self._make_source(arrays)
        self._cumulative = np.zeros(game.n_sequences if self.source.has_all else 0)
        self._inputs = self.source.inputs
        self._advantages: Learner = self._make_learner(softmax=False)
        """Learner that predicts advantages and baselines."""
        self._averages: Learner = self._make_learner(softmax=True)
        """Learner that predicts average strategies."""
        baselines = players * record.has_baseline_network
        self._parameters: list[np.ndarray]
        self._baseline_parameters: list[np.ndarray]
        self._parameters, self._baseline_parameters = (
            [np.zeros(self._advantages.size, self._kind_of_fits) for _ in range(count)]
            for count in (players, baselines)
        )
        # On rules no utilities are known before the first traversal.
        knows_utilities = not self.source.grows
        self._set_scale(scale_for(record, self.source.largest) if knows_utilities else 0.0)
        self._samples: list[Samples]
        """Reservoirs of each player."""
        if initial is None:
            self._samples = self._new_samples(self._inputs.most_actions)
        else:
            self._load_state(initial)
        # A schedule without traversals compiles the kernels now.
        with naming_memory_limit(self):
            self._sample(np.empty((0, 1)), 0)
        self._refresh_inputs()

    def _make_source(self, arrays: Mapping[str, np.ndarray] | None) -> Any:
        """Make the source of histories and infosets, with those of a state if there is one."""
        if self.game.layout != Layout.RULES:
            return GameInfosets(self.game, self.algorithm, arrays, self.memory_limit)
        return RuleInfosets(self.game, self.algorithm, arrays, entered=self._entered)

    def _make_learner(self, *, softmax: bool) -> Learner:
        return make_learner(self.algorithm, self._inputs, 1.0, softmax=softmax)

    def _new_samples(self, width: int) -> list[Samples]:
        """Make empty reservoirs of all players; they share the generator and the infosets."""
        record = self.algorithm
        return [
            Samples(
                advantages=new_reservoir(record.buffer, width),
                strategies=new_reservoir(record.buffer * record.has_strategy_network, width),
                baselines=new_reservoir(record.buffer * record.has_baseline_network, width),
                infoset=self.source.block,
                generator=self._training_generator,
                history=self.source.history_values.reshape(-1),
                step=record.baseline_step,
            )
            for _ in range(self.game.n_players)
        ]

    @property
    def _width(self) -> int:
        """Maximum number of actions of a sample in the reservoirs."""
        return self._samples[0].advantages.values.shape[1]

    @property
    def _kind_of_fits(self) -> type:
        is_table = self.algorithm.learner == "table" and self.source.grows
        return np.float64 if is_table else np.float32

    def _set_scale(self, scale: float) -> None:
        """Set the factor of utilities before training; 0 if it is not known yet."""
        self._scale = self._advantages.scale = scale

    def _refresh_inputs(self) -> None:
        """Pass the current infosets to the learners; they change on rules only."""
        if self.source.grows:
            self._inputs = self.source.inputs
            self._advantages.inputs = self._averages.inputs = self._inputs

    # ------------------------------------------------------------------------------ iterating

    def _run(self, iterations: int) -> None:
        schedule = self.algorithm.variant.schedule(self.iteration + 1, iterations)
        with naming_memory_limit(self):
            for row in schedule:
                previous, infosets = self._numbers([]), self.source.n_infosets
                try:
                    for player in range(self.game.n_players):
                        self._turn(player, row)
                except BaseException:
                    self._undo(previous, infosets)
                    raise
                self.iteration += 1

    def _turn(self, player: int, row: np.ndarray) -> None:
        """Sample traversals for a player with fixed strategies, and fit the networks to them.

        Args:
            player: The player to update.
            row: float64 (1 + parameters,): schedule row of the iteration.
        """
        record = self.algorithm
        self._add_to_average(player, float(row[0]))
        self._sample(np.repeat(row[None], record.traversals, axis=0), player)
        self._refresh_inputs()
        samples = self._samples[player]
        where = f"{record.name} on {self.game.name}, iteration {self.iteration + 1}"
        if not filled(samples.advantages):
            if not (self._has_choices(player) and self._advantages.needs_samples):
                return
            raise TrainingError(
                f"{where}: the advantage buffer of player {player} is empty, because no "
                "traversal reached an infoset of theirs; increase traversals"
            )
        predicted = self._fit(
            self._parameters,
            player,
            samples.advantages,
            player,
            record.updates,
            f"{where}, advantage network of player {player}",
        )
        self._play(player, predicted)
        if filled(samples.baselines):
            predicted = self._fit(
                self._baseline_parameters,
                player,
                samples.baselines,
                None,
                record.baseline_updates,
                f"{where}, baseline network of player {player}",
            )
            self._set_baselines(player, predicted)

    def _play(self, player: int, predicted: np.ndarray) -> None:
        """Set the next strategies of a player by regret matching.

        Args:
            player: The player.
            predicted: float64 (infosets, most actions): predicted advantages.
        """
        rows = self._rows(player)
        self._set(REGRETS, rows, predicted / self._scale)
        played = probabilities(predicted, self._inputs.is_action, self.algorithm.unplayed)
        self._set(STRATEGY, rows, played)

    def _fit(
        self,
        fits: list[np.ndarray],
        player: int,
        samples: Reservoir,
        infosets_of: int | None,
        updates: int,
        what: str,
    ) -> np.ndarray:
        """Fit a network to samples, store the fit, and return its predictions.

        Args:
            fits: Fits of all players; the player's fit is replaced.
            player: The player.
            samples: The samples.
            infosets_of: The player whose infosets are predicted; None for all players.
            updates: Number of updates.
            what: Description of the fit, for errors.

        Returns:
            float64 (infosets, most actions).
        """
        learner = self._advantages
        fits[player] = learner.fit(
            samples, infosets_of, fits[player], updates, self._training_generator, what
        )
        predicted = learner.predict(samples, infosets_of, fits[player])
        if self.source.grows:
            fits[player] = learner.fitted(fits[player], predicted)
        return predicted

    def _sample(
        self, schedule: np.ndarray, player: int, generator: np.ndarray | Script | None = None
    ) -> None:
        """Run a traversal for each row of the schedule, with fixed strategies."""
        self._turn_of[0] = player
        state = TraversalState(self.source.table.numbers, np.zeros(1), self._touched)
        generator = self._generator if generator is None else generator
        orders = Orders(schedule, self._turn_of, SIMPLE, alternating=True)
        self._follow(orders, state, generator, self._samples_of_turn)
        if not self._scale and len(schedule):
            self._set_scale(scale_for(self.algorithm, self.source.largest))

    def _samples_of_turn(self) -> Samples:
        """Return the reservoirs of the updated player, widened if an infoset has more actions."""
        width = self.source.frames.width
        if self.source.grows and self._width < width:
            self._samples = [wider(samples, width) for samples in self._samples]
        return self._samples[int(self._turn_of[0])]

    def _entered(self, infosets: RuleInfosets, row: int, decision: Decision, state: object) -> None:
        """Set features, strategy and baselines of a new infoset, as the networks predict them."""
        player, label, actions = decision
        assert label is not None
        output = np.array(infosets.features_of.outputs(label, actions), np.int32)
        infosets.enter(row, infosets.features_of.of(player, label, state), output)
        table, infoset, count = infosets.table, infosets.at(row), len(actions)
        block = table.block(row)

        def write(group: int, numbers: np.ndarray) -> None:
            table.numbers[block + group * count : block + (group + 1) * count] = numbers

        # Parameters are zeros before the first fit.
        if self._parameters[player].any():
            predicted = self._advantages.predict_at(self._parameters[player][None], infoset)
            is_action = np.ones(predicted.shape, bool)
            write(STRATEGY, probabilities(predicted, is_action, self.algorithm.unplayed)[0])
        for owner, fitted in enumerate(self._baseline_parameters):
            if fitted.any():
                predicted = self._advantages.predict_at(fitted[None], infoset)
                write(BASELINE + owner, predicted[0] / self._scale)

    def _add_to_average(self, player: int, weight: float) -> None:
        """Add the current strategies of the other players to the average, or store their fits."""
        record = self.algorithm
        # The fit that the opponent plays in the player's turn is the opponent's strategy of the
        # iteration.  With two players, each one's fit is thus stored once per iteration.
        if record.keep_networks or (self.source.grows and keeps_networks(record)):
            if player == 0:
                self._networks.append(list(self._parameters))
            self._networks[-1][1 - player] = self._parameters[1 - player]
        if self.source.has_all:
            form, reach = self.game.form, np.empty(self.game.n_sequences)
            evaluation.realization_plan(form, self.source.table.group(STRATEGY), reach)
            for opponent in range(self.game.n_players):
                if opponent != player:
                    of_opponent = form.of_player(opponent)
                    self._cumulative[of_opponent] += weight * reach[of_opponent]

    def _rows(self, player: int) -> np.ndarray:
        """Return the infosets of a player, int64 (infosets of the player,)."""
        rows: np.ndarray = np.flatnonzero(self.source.player == player)
        return rows

    def _has_choices(self, player: int) -> bool:
        """Return whether a player has an infoset of several actions.

        On rules, the answer is True if no infoset of the player has been visited.
        """
        rows = self._rows(player)
        unknown = self.source.grows and not len(rows)
        return unknown or bool((self._inputs.sequence[rows, 1:] >= 0).any())

    def _set(self, group: int, rows: Any, values: np.ndarray) -> None:
        """Write numbers by infoset and action to the table that the traversals read.

        Args:
            group: Group of the table.
            rows: Infosets to write, as an index.
            values: float64 (infosets, most actions).
        """
        numbers, is_action = self.source.table.group(group), self._inputs.is_action[rows]
        numbers[self._inputs.sequence[rows][is_action]] = values[rows][is_action]
        self.source.table.set_group(group, numbers)

    def _set_baselines(self, player: int, predicted: np.ndarray) -> None:
        self._set(BASELINE + player, slice(None), predicted / self._scale)

    # ------------------------------------------------------------------------------ the state

    @property
    def state(self) -> DeepState:
        """Copy of the solver state."""
        return self._numbers(self._networks)._replace(**self.source.described)

    def _numbers(self, stored_fits: list[list[np.ndarray]]) -> DeepState:
        """Copy the solver state without the description of its infosets."""
        source, players = self.source, self.game.n_players
        size = 0 if source.grows else self._advantages.size
        networks = self._stacked([fit for each in stored_fits for fit in each], size)
        arrays: dict[str, np.ndarray] = {}
        if source.grows:
            baselines = range(len(self._baseline_parameters))
            values = [source.table.group(BASELINE + player) for player in baselines]
            arrays["baseline"] = np.array(values).reshape(len(values), source.n_sequences)
            arrays["factor"] = np.array([self._scale])
        elif source.has_all:
            arrays["regret"] = source.table.group(REGRETS)
            arrays["cumulative"] = self._cumulative.copy()
            if source.history_values.size:
                arrays["history_values"] = source.history_values.copy()
        return DeepState(
            features=NO_ARRAY,
            strategy=source.table.group(STRATEGY),
            parameters=self._stacked(self._parameters, size),
            baseline_parameters=self._stacked(
                self._baseline_parameters, size * self.algorithm.has_baseline_network
            ),
            networks=networks.reshape(len(stored_fits), players, networks.shape[-1]),
            touched=self._touched.copy(),
            generator=self._generator.copy(),
            training_generator=self._training_generator.copy(),
            **keep_buffers(self._samples, self._width),
            **arrays,
        )

    def _stacked(self, fits: list[np.ndarray], min_width: int = 0) -> np.ndarray:
        """Stack fits as rows padded with zeros; (fits, largest size, at least ``min_width``)."""
        width = max(map(len, fits), default=min_width)
        stacked: np.ndarray = np.zeros((len(fits), width), self._kind_of_fits)
        for row, fit in zip(stacked, fits, strict=True):
            row[: len(fit)] = fit
        return stacked

    def _load_state(self, state: DeepState) -> None:
        """Copy the arrays of a state into the solver, whose infosets must already exist."""
        source = self.source
        self._samples = self._new_samples(state.advantage_values.shape[1])
        put_buffers(state, self._samples)
        source.table.set_group(STRATEGY, state.strategy)
        self._parameters = list(state.parameters.copy())
        self._baseline_parameters = list(state.baseline_parameters.copy())
        self._networks = [list(each) for each in state.networks.copy()]
        if source.grows:
            for player, baseline in enumerate(state.baseline):
                source.table.set_group(BASELINE + player, baseline)
            self._set_scale(float(state.factor[0]))
        elif source.has_all:
            source.table.set_group(REGRETS, state.regret)
            self._cumulative[:] = state.cumulative
            if state.history_values.size:
                source.history_values[:] = state.history_values
            for player, samples in enumerate(self._samples):
                if filled(samples.baselines):
                    parameters = self._baseline_parameters[player]
                    predicted = self._advantages.predict(samples.baselines, None, parameters)
                    self._set_baselines(player, predicted)
        self._touched[:] = state.touched
        self._generator[:] = state.generator
        self._training_generator[:] = state.training_generator

    def _undo(self, previous: DeepState, infosets: int) -> None:
        """Undo an iteration, including the infosets that it entered."""
        if self.source.grows:
            arguments = self.game, self.algorithm, self.source.described, infosets
            self.source = RuleInfosets(*arguments, entered=self._entered)
        networks = self._networks[: self.iteration]
        self._load_state(previous)
        self._networks = networks
        self._refresh_inputs()

    # --------------------------------------------------------------------------- its policies

    @classmethod
    def policy_of(cls, problem: Problem, state: Any) -> Policy:
        """Make the average policy of a state on rules.

        If the average is a network, it is trained when the policy is first queried.
        """
        game, algorithm = problem.game, problem.algorithm
        if algorithm.has_strategy_network:

            def trained() -> tuple[Learner, Sequence[Fits]]:
                solver = cls(game, algorithm, state=state, memory_limit=EVERYTHING)
                return solver._averages, solver._average_fits()

            return policy_on_rules(
                game, algorithm, state, trained, is_mixture=False, unplayed="uniform"
            )
        weights = algorithm.variant.schedule(1, len(state.networks))[:, 0]
        fits = [Fits(state.networks[:, p], weights) for p in range(game.n_players)]
        return policy_on_rules(game, algorithm, state, fits, is_mixture=True)

    @classmethod
    def last_policy_of(cls, problem: Problem, state: Any) -> Policy:  # noqa: D102
        game, algorithm = problem.game, problem.algorithm
        if game.layout != Layout.RULES:
            return super().last_policy_of(problem, state)
        fits = [Fits(parameters[None], np.ones(1)) for parameters in state.parameters]
        return policy_on_rules(game, algorithm, state, fits, is_mixture=False)

    def current_policy(self) -> Policy:  # noqa: D102
        if self.source.grows:
            return self.last_policy_of(self.problem, self.state)
        return super().current_policy()

    def average_policy(self) -> Policy:
        """Return the average strategy.

        If the average is a network, it is trained from scratch after each call of :meth:`iterate`,
        with random numbers from the solver state.
        """
        if self._cached_average is None or self._cached_average[0] != self.iteration:
            if self.source.grows:
                policy = self.policy_of(self.problem, self.state)
            elif self.algorithm.has_strategy_network and self._cumulative[0] > 0.0:
                policy = Policy(self.game, self._network_average())
            else:
                policy = Policy(self.game, self._exact_average())
            self._cached_average = self.iteration, policy
        return self._cached_average[1]

    def average_probabilities(self) -> np.ndarray:
        """Return the average strategy, float64 (sequences,)."""
        return self.average_policy().probabilities

    def evaluate_exact_average(self) -> Evaluation:
        """Evaluate the exact average strategy, which Single Deep CFR plays.

        The result does not depend on the kind of average of the algorithm.  Values are unknown on
        rules.
        """
        return self.source.evaluate(self._exact_average)

    def _exact_average(self) -> np.ndarray:
        return self.source.normalised(self._cumulative)

    def _network_average(self) -> np.ndarray:
        strategy = np.array(Policy.uniform(self.game).probabilities)
        for player, fit in enumerate(self._trained()):
            if fit is not None:
                rows, is_action = self._rows(player), self._inputs.is_action
                played = probabilities(fit[1], is_action, "uniform")[rows]
                strategy[self._inputs.sequence[rows][is_action[rows]]] = played[is_action[rows]]
        return strategy

    def _average_fits(self) -> list[Fits]:
        """Train a network of each player's average strategy; a player without samples has none."""
        fits = []
        for fit in self._trained():
            fitted = [] if fit is None else [self._averages.fitted(*fit)]
            fits.append(Fits(self._stacked(fitted), np.ones(len(fitted))))
        return fits

    def _trained(self) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """Train the average strategies by :func:`train_average`.

        A player's strategies are sampled in the other players' traversals.

        Returns:
            For each player the parameters and predictions, or None without samples.
        """
        # Training draws from a copy, so that asking for the average does not change later
        # iterations.
        generator = self._training_generator.copy()
        return [
            train_average(
                self._averages,
                self.algorithm,
                [s.strategies for owner, s in enumerate(self._samples) if owner != player],
                self.source.player == player,
                player,
                generator,
                f"{self.algorithm.name} on {self.game.name}, iteration {self.iteration}",
            )
            for player in range(self.game.n_players)
        ]

    # ------------------------------------------------------------------------------ its memory

    def _room(self) -> float:
        buffers = bytes_of_buffers(self.algorithm, self.game.n_players, self._width)
        rest = self.memory_limit - buffers - self._bytes_of_networks
        if rest <= 0:
            raise InfosetsFullError
        return rest

    @property
    def bytes_held(self) -> int | None:
        """Estimated bytes of infosets, features, histories, networks and samples on rules; None on
        a compiled game."""
        if not isinstance(self.source, RuleInfosets):
            return None
        samples = sum(
            filled(reservoir)
            for player_samples in self._samples
            for reservoir in reservoirs_of(player_samples)
        )
        buffers = 2 * samples * (BYTES_PER_SAMPLE + 8 * self._width)
        return self.source.bytes_counted + self._bytes_of_networks + buffers

    @property
    def _bytes_of_networks(self) -> int:
        return sum(fit.nbytes for each in self._networks for fit in each)
