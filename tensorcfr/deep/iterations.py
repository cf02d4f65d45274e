"""The iterations of Deep CFR and its relatives, on compiled games and on rules."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from ..algorithms import Deep
from ..errors import TrainingError
from ..kernels.random import Seed, seeded
from ..kernels.reservoir import Reservoir, Samples
from ..model.game import CompiledGame
from ..solvers.base import IterativeSolver
from ..solvers.sampled_solver import check_seed
from .buffers import copy_into, filled, new_reservoir, reservoirs_of
from .inputs import Inputs
from .learners import Learner, make_learner

TRAINING_STREAM = 1
"""The stream of a seed from which networks and reservoirs draw; traversals draw from the seed
itself, as other samplers do."""


class DeepIterations(IterativeSolver):
    """A solver that samples, keeps the samples, and fits them, player by player.

    A subclass says where it samples, and what becomes of what is predicted.
    """

    records = Deep
    undoes_errors = True

    _inputs: Inputs
    """The infosets as networks see them."""
    _parameters: Any
    """The parameters of each player's advantages; their networks if learners are networks."""
    _baseline_parameters: Any
    """The same of the baselines."""
    _networks: list[Any]
    """What each iteration's strategies come from, if that is kept."""
    _samples: list[Samples]
    """The reservoirs of each player."""
    _samples_before: list[Samples]
    """What they held before the iteration under way."""
    _generator: np.ndarray
    """Random numbers of the traversals."""
    _training_generator: np.ndarray
    """Those of reservoirs, batches and fresh networks."""
    _touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""

    @abstractmethod
    def _sample(self, schedule: np.ndarray, player: int) -> None:
        """Traverse as often as the schedule has rows, with the strategies as they are."""

    @abstractmethod
    def _add_to_average(self, player: int, weight: float) -> None:
        """Add what the player's traversals are about to meet to the average strategy."""

    @abstractmethod
    def _has_choices(self, player: int) -> bool:
        """Whether a player has anything to learn, as far as is known."""

    @abstractmethod
    def _play(self, player: int, predicted: np.ndarray) -> None:
        """Play by predicted advantages from now on, float64 (infosets, most actions)."""

    @abstractmethod
    def _set_baselines(self, player: int) -> None:
        """Write a player's baselines into the table of the traversals."""

    @abstractmethod
    def _copy_without_buffers(self) -> Any:
        """The state without samples and networks that were kept, which are many."""

    @abstractmethod
    def _take_without_buffers(self, state: Any) -> None:
        """The reverse of :meth:`_copy_without_buffers`."""

    def _make_learners(self, scale: float) -> None:
        """Make what predicts advantages, baselines among them, and average strategies."""
        self._advantages: Learner = make_learner(self.algorithm, self._inputs, scale)
        self._averages: Learner = make_learner(self.algorithm, self._inputs, 1.0, softmax=True)

    def _new_samples(self, infoset: np.ndarray, history: np.ndarray, width: int) -> Samples:
        """Empty reservoirs of a player, which share the random numbers and the infosets."""
        record = self.algorithm
        return Samples(
            advantages=new_reservoir(record.buffer, width),
            strategies=new_reservoir(record.buffer * record.has_strategy_network, width),
            baselines=new_reservoir(record.buffer * record.has_baseline_network, width),
            infoset=infoset,
            generator=self._training_generator,
            history=history,
            step=record.baseline_step,
        )

    def _run(self, iterations: int) -> None:
        schedule = self.algorithm.variant.schedule(self.iteration + 1, iterations)
        for row in schedule:
            before, networks = self._copy_without_buffers(), self._networks[: self.iteration]
            self._copy_buffers(self._samples, self._samples_before)
            try:
                for player in range(self.game.n_players):
                    self._turn(player, row)
            except BaseException:
                self._copy_buffers(self._samples_before, self._samples)
                self._networks = networks
                self._take_without_buffers(before)
                raise
            self.iteration += 1

    def _turn(self, player: int, row: np.ndarray) -> None:
        """Sample for a player, with the strategies as they are, and fit what was sampled."""
        record = self.algorithm
        self._add_to_average(player, float(row[0]))
        self._sample(np.repeat(row[None], record.traversals, axis=0), player)
        samples = self._samples[player]
        where = f"{record.name} on {self.game.name}, iteration {self.iteration + 1}"
        if not filled(samples.advantages):
            if not (self._has_choices(player) and self._advantages.needs_samples):
                return
            raise TrainingError(
                f"{where}: the advantage buffer of player {player} is empty: no traversal came to "
                "an infoset of theirs; more traversals may"
            )
        self._parameters[player] = self._advantages.fit(
            samples.advantages,
            player,
            self._parameters[player],
            record.updates,
            self._training_generator,
            f"{where}, advantage network of player {player}",
        )
        self._play(
            player,
            self._advantages.predict(samples.advantages, player, self._parameters[player]),
        )
        if filled(samples.baselines):
            self._baseline_parameters[player] = self._advantages.fit(
                samples.baselines,
                None,
                self._baseline_parameters[player],
                record.baseline_updates,
                self._training_generator,
                f"{where}, baseline network of player {player}",
            )
            self._set_baselines(player)

    def _copy_buffers(self, source: list[Samples], target: list[Samples]) -> None:
        for ours, theirs in zip(source, target, strict=True):
            for held, copy in zip(reservoirs_of(ours), reservoirs_of(theirs), strict=True):
                copy_into(copy, held)

    @classmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """The nodes that the traversals counted."""
        return int(state.touched[0]), int(state.touched[1])

    @property
    def nodes_touched(self) -> int:  # noqa: D102
        return int(self._touched[0])

    @property
    def decision_nodes_touched(self) -> int:  # noqa: D102
        return int(self._touched[1])


def first_generators(seed: Seed | None) -> dict[str, np.ndarray]:
    """The random number generators of a state before the first iteration, by name.

    Raises:
        ValueError: The seed is no seed.
    """
    parts = check_seed(0 if seed is None else seed)
    several = [parts] if isinstance(parts, int) else list(parts)
    return {
        "generator": seeded(parts),
        "training_generator": seeded([*several, TRAINING_STREAM]),
    }


def scale_for(record: Deep, largest: float) -> float:
    """The factor of utilities before training, a power of two, by which nothing is rounded.

    Args:
        record: The algorithm.
        largest: The largest utility, as it is.
    """
    return 2.0 ** math.floor(math.log2(record.largest / largest)) if largest > 0.0 else 1.0


def train_average(
    learner: Learner,
    record: Deep,
    reservoirs: list[Reservoir],
    is_own: np.ndarray,
    player: int,
    generator: np.ndarray,
    where: str,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Fit a player's average strategy to the strategies that the others' traversals met.

    Args:
        learner: What is fitted.
        record: The algorithm.
        reservoirs: Those of the others.
        is_own: bool (infosets,): the player's infosets.
        player: The player.
        generator: uint64 (4,): random numbers; modified in place.
        where: Game and iteration, for errors.

    Returns:
        Parameters; and predictions, float64 (infosets, most actions).  None without samples.
    """
    reservoir = _joined(reservoirs, is_own)
    if not filled(reservoir):
        return None
    parameters = learner.fit(
        reservoir,
        player,
        np.zeros(learner.size, np.float32),
        record.strategy_updates,
        generator,
        f"{where}, network of the average strategy of player {player}",
    )
    return parameters, learner.predict(reservoir, player, parameters)


def _joined(reservoirs: list[Reservoir], is_own: np.ndarray) -> Reservoir:
    """The samples of some reservoirs at a player's infosets."""
    if len(reservoirs) == 1:
        return reservoirs[0]
    parts = []
    for one in reservoirs:
        here = np.flatnonzero(is_own[one.infoset[: filled(one)]])
        parts.append((one.infoset[here], one.weight[here], one.values[here]))
    infoset, weight, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Reservoir(infoset, weight, values, np.array([len(infoset)], np.int64))
