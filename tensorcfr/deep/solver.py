"""The solver of Deep CFR, Single Deep CFR and DREAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from .._util.arguments import Kind, Limit, checked
from ..algorithms import Deep
from ..errors import TrainingError
from ..evaluation.metrics import Evaluation
from ..kernels import evaluation
from ..kernels.random import Script, Seed
from ..kernels.reservoir import Reservoir, Samples
from ..kernels.sampling import SIMPLE
from ..kernels.traversal import Orders, TraversalState
from ..model.policy import Policy
from ..rules import Decision
from ..solvers.arguments import Iterations, Named
from ..solvers.base import Setting
from ..solvers.sampling import Playable, SamplingSolver, telling_limit
from ..solvers.sources import NOTHING
from ..solvers.traversal import BASELINE, REGRETS, STRATEGY
from ..uncompiled.infosets import InfosetsFullError
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
from .infosets import GameInfosets, RuleInfosets, check_game, keeps_networks
from .learners import (
    Learner,
    first_generators,
    make_learner,
    probabilities,
    scale_for,
    train_average,
)
from .policy import Fits, policy_on_rules
from .state import DeepState, restored

EVERYTHING = 1 << 62
"""A memory limit that nothing meets."""


class DeepSolver(SamplingSolver):
    """A solver whose regrets are predicted by networks; :func:`tensorcfr.solve` is this with stop
    rules.

    Traversals are those of external or outcome sampling, with strategies that stay as they are
    during an iteration.  They leave samples, to which the networks are fitted, player by player.
    The networks are evaluated for all infosets at once, after they have been trained; no traversal
    waits for one.

    Given the rules of a game, nothing is compiled: infosets enter a table with their features, and
    histories a tree, when a traversal first reaches them, as in :class:`tensorcfr.SampledSolver`.
    A new infoset asks the networks once.

    Args:
        game: A compiled game, or a game by its rules, as for :class:`tensorcfr.SampledSolver`; of
            two players or more.
        algorithm: A record, or its name; see :class:`tensorcfr.algorithms.Deep`.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        seed: As for :class:`tensorcfr.SampledSolver`.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.  On
            rules, histories are forgotten when their share is full, infosets and their features
            are not.

    Raises:
        ValueError: There is no such algorithm; the seed is no seed; the features are not for this
            game; the game has one player, or networks are to be kept for more than two; on rules,
            features or baselines take a compiled game.
        GameError: There is no such game, or its rules break their contract.
        MemoryLimitError: The arrays would not fit; raised before they are allocated.
        MissingExtraError: JAX, optax or equinox is not installed; says what installs them.

    On rules, :meth:`step` raises MemoryLimitError when there is no room for another infoset.  An
    iteration during which an error happens is undone.
    """

    records = Deep
    state_kind = DeepState
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
        given = self._begin(game, algorithm, state, iteration, seed, memory_limit)
        record, players = self.algorithm, game.n_players
        check_game(game, record)
        self._generator, self._training_generator = first_generators(seed)
        self._touched, self._turn_of = np.zeros(2, np.int64), np.zeros(1, np.uint64)
        self._networks: list[list[np.ndarray]] = []
        """The fits that each iteration's strategies come from, if they are kept."""
        self._made: tuple[int, Policy] | None = None
        arrays = None if given is None else given._asdict()
        if game.is_compiled:
            self.source = GameInfosets(game, record, arrays, self.memory_limit)
            self._cumulative = np.zeros(game.n_sequences)
        else:
            self.source = RuleInfosets(game, record, arrays, entered=self._entered)
            self._cumulative = np.zeros(0)
        self._inputs = self.source.inputs
        self._advantages: Learner = make_learner(record, self._inputs, 1.0)
        """Predicts advantages, and baselines."""
        self._averages: Learner = make_learner(record, self._inputs, 1.0, softmax=True)
        """Predicts average strategies."""
        baselines = players * record.has_baseline_network
        self._parameters: list[np.ndarray]
        self._baseline_parameters: list[np.ndarray]
        self._parameters, self._baseline_parameters = (
            [np.zeros(self._advantages.size, self._kind_of_fits) for _ in range(count)]
            for count in (players, baselines)
        )
        # On rules nothing is known of the utilities yet.
        known = not self.source.grows
        self._set_scale(scale_for(record, self.source.largest) if known else 0.0)
        self._samples: list[Samples]
        """The reservoirs of each player."""
        if given is None:
            self._samples = self._new_samples(self._inputs.sequence.shape[1])
        else:
            self._take(given)
        with telling_limit(self):
            self._sample(np.empty((0, 1)), 0)
        self._look()

    def _new_samples(self, width: int) -> list[Samples]:
        """Empty reservoirs of all players, which share the random numbers and the infosets."""
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
        """Actions for which the reservoirs have room."""
        return self._samples[0].advantages.values.shape[1]

    @property
    def _kind_of_fits(self) -> type:
        is_table = self.algorithm.learner == "table" and self.source.grows
        return np.float64 if is_table else np.float32

    def _set_scale(self, scale: float) -> None:
        """Set the factor of utilities before training; 0 where it is not known yet."""
        self._scale = self._advantages.scale = scale

    def _look(self) -> None:
        """Tell the learners which infosets there are."""
        if self.source.grows:
            self._inputs = self.source.inputs
            self._advantages.inputs = self._averages.inputs = self._inputs

    # ------------------------------------------------------------------------------ iterating

    def _run(self, iterations: int) -> None:
        schedule = self.algorithm.variant.schedule(self.iteration + 1, iterations)
        with telling_limit(self):
            for row in schedule:
                before, infosets = self._numbers([]), self.source.n_infosets
                try:
                    for player in range(self.game.n_players):
                        self._turn(player, row)
                except BaseException:
                    self._undo(before, infosets)
                    raise
                self.iteration += 1

    def _turn(self, player: int, row: np.ndarray) -> None:
        """Sample for a player, with the strategies as they are, and fit what was sampled."""
        record = self.algorithm
        self._add_to_average(player, float(row[0]))
        self._sample(np.repeat(row[None], record.traversals, axis=0), player)
        self._look()
        samples = self._samples[player]
        where = f"{record.name} on {self.game.name}, iteration {self.iteration + 1}"
        if not filled(samples.advantages):
            if not (self._has_choices(player) and self._advantages.needs_samples):
                return
            raise TrainingError(
                f"{where}: the advantage buffer of player {player} is empty: no traversal came to "
                "an infoset of theirs; more traversals may"
            )
        predicted = self._fit(
            self._parameters,
            player,
            samples.advantages,
            player,
            record.updates,
            f"{where}, advantage network of player {player}",
        )
        own = self._rows(player)
        self._set(REGRETS, own, predicted / self._scale)
        played = probabilities(predicted, self._inputs.is_action, record.unplayed)
        self._set(STRATEGY, own, played)
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

    def _fit(
        self,
        fits: list[np.ndarray],
        player: int,
        samples: Reservoir,
        infosets_of: int | None,
        updates: int,
        what: str,
    ) -> np.ndarray:
        """Fit to samples, and keep the fit; returns predictions, float64 (infosets, most
        actions)."""
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
        """Traverse as often as the schedule has rows, with the strategies as they are."""
        self._turn_of[0] = player
        state = TraversalState(self.source.table.numbers, np.zeros(1), self._touched)
        generator = self._generator if generator is None else generator
        orders = Orders(schedule, self._turn_of, SIMPLE, alternating=True)
        self._follow(orders, state, generator, self._samples_of_turn)
        if not self._scale and len(schedule):
            self._set_scale(scale_for(self.algorithm, self.source.largest))

    def _samples_of_turn(self) -> Samples:
        """Where the traversals leave samples, with room for as many actions as they may meet."""
        width = self.source.frames.width
        if self.source.grows and self._width < width:
            self._samples = [wider(own, width) for own in self._samples]
        return self._samples[int(self._turn_of[0])]

    def _entered(self, infosets: RuleInfosets, row: int, said: Decision, state: object) -> None:
        """Give a new infoset its features, and the strategy that its player's network plays."""
        player, label, actions = said
        assert label is not None
        output = np.array(infosets.features_of.outputs(label, actions), np.int32)
        infosets.enter(row, infosets.features_of.of(player, label, state), output)
        table, here, count = infosets.table, infosets.at(row), len(actions)
        block = table.block(row)

        def write(group: int, found: np.ndarray) -> None:
            table.numbers[block + group * count : block + (group + 1) * count] = found

        if self._parameters[player].any():
            predicted = self._advantages.predict_at(self._parameters[player][None], here)
            is_action = np.ones(predicted.shape, bool)
            write(STRATEGY, probabilities(predicted, is_action, self.algorithm.unplayed)[0])
        for other, fitted in enumerate(self._baseline_parameters):
            if fitted.any():
                predicted = self._advantages.predict_at(fitted[None], here)
                write(BASELINE + other, predicted[0] / self._scale)

    def _add_to_average(self, player: int, weight: float) -> None:
        """Add the strategies that the player's traversals meet, those of the others, weighted with
        their reaches; or keep what they come from."""
        record = self.algorithm
        if record.keep_networks or (self.source.grows and keeps_networks(record)):
            if player == 0:
                self._networks.append(list(self._parameters))
            self._networks[-1][1 - player] = self._parameters[1 - player]
        if not self.source.grows:
            form, reach = self.game.form, np.empty(self.game.n_sequences)
            evaluation.realization_plan(form, self.source.table.group(STRATEGY), reach)
            for other in range(self.game.n_players):
                if other != player:
                    own = form.of_player(other)
                    self._cumulative[own] += weight * reach[own]

    def _rows(self, player: int) -> np.ndarray:
        """int64: the infosets of a player."""
        found: np.ndarray = np.flatnonzero(self.source.player == player)
        return found

    def _has_choices(self, player: int) -> bool:
        """Whether a player has anything to learn; on rules, one who was never met may have."""
        own = self._rows(player)
        unknown = self.source.grows and not len(own)
        return unknown or bool((self._inputs.sequence[own, 1:] >= 0).any())

    def _set(self, group: int, rows: Any, values: np.ndarray) -> None:
        """Write values by infoset and action where the traversals read them."""
        numbers, is_action = self.source.table.group(group), self._inputs.is_action[rows]
        numbers[self._inputs.sequence[rows][is_action]] = values[rows][is_action]
        self.source.table.set_group(group, numbers)

    def _set_baselines(self, player: int, predicted: np.ndarray) -> None:
        self._set(BASELINE + player, slice(None), predicted / self._scale)

    # ------------------------------------------------------------------------------ the state

    @property
    def state(self) -> DeepState:
        """A copy of what the solver keeps."""
        return self._numbers(self._networks)._replace(**self.source.described)

    def _numbers(self, kept: list[list[np.ndarray]]) -> DeepState:
        """A copy of what the solver keeps, without what its infosets are.

        Args:
            kept: The fits of all iterations, or none of them.
        """
        source, players = self.source, self.game.n_players
        size = 0 if source.grows else self._advantages.size
        networks = self._stacked([fit for each in kept for fit in each], size)
        arrays: dict[str, np.ndarray] = {}
        if source.grows:
            baselines = range(len(self._baseline_parameters))
            found = [source.table.group(BASELINE + player) for player in baselines]
            arrays["baseline"] = np.array(found).reshape(len(found), source.n_sequences)
            arrays["factor"] = np.array([self._scale])
        else:
            arrays["regret"] = source.table.group(REGRETS)
            arrays["cumulative"] = self._cumulative.copy()
            if source.history_values.size:
                arrays["history_values"] = source.history_values.copy()
        return DeepState(
            features=NOTHING,
            strategy=source.table.group(STRATEGY),
            parameters=self._stacked(self._parameters, size),
            baseline_parameters=self._stacked(
                self._baseline_parameters, size * self.algorithm.has_baseline_network
            ),
            networks=networks.reshape(len(kept), players, networks.shape[-1]),
            touched=self._touched.copy(),
            generator=self._generator.copy(),
            training_generator=self._training_generator.copy(),
            **keep_buffers(self._samples, self._width),
            **arrays,
        )

    def _stacked(self, fits: list[np.ndarray], least: int = 0) -> np.ndarray:
        """(fits, most numbers): fits as rows, with zeros behind the shorter ones."""
        most = max(map(len, fits), default=least)
        found: np.ndarray = np.zeros((len(fits), most), self._kind_of_fits)
        for row, fit in zip(found, fits, strict=True):
            row[: len(fit)] = fit
        return found

    def _take(self, state: DeepState) -> None:
        """The reverse of :attr:`state`, whose arrays are copied; the infosets are there."""
        source = self.source
        self._samples = self._new_samples(state.advantage_values.shape[1])
        put_buffers(state, self._samples)
        source.table.set_group(STRATEGY, state.strategy)
        self._parameters = list(state.parameters.copy())
        self._baseline_parameters = list(state.baseline_parameters.copy())
        self._networks = [list(each) for each in state.networks.copy()]
        if source.grows:
            for player, own in enumerate(state.baseline):
                source.table.set_group(BASELINE + player, own)
            self._set_scale(float(state.factor[0]))
        else:
            source.table.set_group(REGRETS, state.regret)
            self._cumulative[:] = state.cumulative
            if state.history_values.size:
                source.history_values[:] = state.history_values
            for player, samples in enumerate(self._samples):
                if filled(samples.baselines):
                    found = self._baseline_parameters[player]
                    predicted = self._advantages.predict(samples.baselines, None, found)
                    self._set_baselines(player, predicted)
        self._touched[:] = state.touched
        self._generator[:] = state.generator
        self._training_generator[:] = state.training_generator

    def _undo(self, before: DeepState, infosets: int) -> None:
        """Take back an iteration, the infosets included that it has entered."""
        if self.source.grows:
            given = self.game, self.algorithm, self.source.described, infosets
            self.source = RuleInfosets(*given, entered=self._entered)
        networks = self._networks[: self.iteration]
        self._take(before)
        self._networks = networks
        self._look()

    @classmethod
    def restore(cls, setting: Setting, kept: Mapping[str, np.ndarray]) -> DeepState:  # noqa: D102
        return restored(setting.game, setting.algorithm, kept)

    # --------------------------------------------------------------------------- its policies

    @classmethod
    def policy_of(cls, setting: Setting, state: Any) -> Policy:
        """The average policy of a state on rules.  A network of it is trained when it is first
        asked."""
        game, algorithm = setting.game, setting.algorithm
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
    def last_policy_of(cls, setting: Setting, state: Any) -> Policy:  # noqa: D102
        game, algorithm = setting.game, setting.algorithm
        if game.is_compiled:
            return super().last_policy_of(setting, state)
        fits = [Fits(own[None], np.ones(1)) for own in state.parameters]
        return policy_on_rules(game, algorithm, state, fits, is_mixture=False)

    def current_policy(self) -> Policy:  # noqa: D102
        if self.source.grows:
            return self.last_policy_of(self.setting, self.state)
        return super().current_policy()

    def average_policy(self) -> Policy:
        """The average strategy; a network of it is trained anew, by random numbers of the state,
        whenever the solver has gone on."""
        if self._made is None or self._made[0] != self.iteration:
            if self.source.grows:
                made = self.policy_of(self.setting, self.state)
            elif self.algorithm.has_strategy_network and self._cumulative[0] > 0.0:
                made = Policy(self.game, self._network_average())
            else:
                made = Policy(self.game, self._exact_average())
            self._made = self.iteration, made
        return self._made[1]

    def average_probabilities(self) -> np.ndarray:
        """The average strategy, float64 (sequences,)."""
        return self.average_policy().probabilities

    def evaluate_exact_average(self) -> Evaluation:
        """Values and best-response values of the average that Single Deep CFR plays, whatever the
        algorithm's own average is; unknown on rules."""
        return self.source.evaluate(self._exact_average)

    def _exact_average(self) -> np.ndarray:
        return self.source.normalised(self._cumulative)

    def _network_average(self) -> np.ndarray:
        strategy = np.array(Policy.uniform(self.game).probabilities)
        for player, found in enumerate(self._trained()):
            if found is not None:
                own, is_action = self._rows(player), self._inputs.is_action
                played = probabilities(found[1], is_action, "uniform")[own]
                strategy[self._inputs.sequence[own][is_action[own]]] = played[is_action[own]]
        return strategy

    def _average_fits(self) -> list[Fits]:
        """A network of each player's average strategy; none where there are no samples."""
        fits = []
        for found in self._trained():
            kept = [] if found is None else [self._averages.fitted(*found)]
            fits.append(Fits(self._stacked(kept), np.ones(len(kept))))
        return fits

    def _trained(self) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """For each player, what :func:`train_average` finds in the samples of the others, whose
        traversals come to the player's infosets."""
        generator = self._training_generator.copy()
        return [
            train_average(
                self._averages,
                self.algorithm,
                [s.strategies for other, s in enumerate(self._samples) if other != player],
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
        """On rules, bytes of infosets, features, histories, networks, and what buffers hold."""
        if not isinstance(self.source, RuleInfosets):
            return None
        samples = sum(filled(one) for own in self._samples for one in reservoirs_of(own))
        buffers = 2 * samples * (BYTES_PER_SAMPLE + 8 * self._width)
        return self.source.bytes_counted + self._bytes_of_networks + buffers

    @property
    def _bytes_of_networks(self) -> int:
        return sum(fit.nbytes for each in self._networks for fit in each)
