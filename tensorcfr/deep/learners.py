"""What predicts from a reservoir: a network, or an exact table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import Deep
from ..errors import MissingExtraError, TrainingError
from ..kernels.random import Seed, draw, seeded
from ..kernels.reservoir import Batches, Reservoir, draw_batches
from ..solvers.sampling import check_seed
from .buffers import filled
from .inputs import Inputs

TRAINING_STREAM = 1
"""The stream of a seed from which networks and reservoirs draw; traversals draw from the seed
itself, as other samplers do."""
SPAN = 250
"""Updates whose batches are drawn at a time."""


class OneInfoset(NamedTuple):
    """An infoset that is asked about alone."""

    features: np.ndarray
    """float32 (width,)."""
    output: np.ndarray
    """int32 (actions,): the network's output of each action."""
    first: int
    """The sequence of the first action; -1 where the infoset has none yet."""


class Learner(ABC):
    """Fits the samples of a reservoir, and predicts for infosets.

    Args:
        algorithm: The algorithm.
        inputs: The game as networks see it.
        scale: Factor of the values before they are fitted.
    """

    size: int
    """Parameters, which are one vector."""
    needs_samples: bool
    """Whether nothing can be fitted to no samples."""

    def __init__(self, algorithm: Deep, inputs: Inputs, scale: float) -> None:
        self.algorithm, self.inputs, self.scale = algorithm, inputs, scale

    def fit(
        self,
        reservoir: Reservoir,
        player: int | None,
        parameters: np.ndarray,
        updates: int,
        generator: np.ndarray,
        what: str,
    ) -> np.ndarray:
        """Parameters after a fit to the samples; those given, if there are none to fit.

        Args:
            reservoir: The samples; one at least.
            player: Whose infosets they are of; None for all players'.
            parameters: Where to begin; zeros for parameters that are made anew.
            updates: Updates of a network.
            generator: uint64 (4,); modified in here.
            what: What is fitted and when, for errors.

        Raises:
            TrainingError: The loss is not finite; names the update.
        """
        return parameters

    @abstractmethod
    def predict(
        self, reservoir: Reservoir, player: int | None, parameters: np.ndarray
    ) -> np.ndarray:
        """Predictions for every action, float64 (infosets, most actions); 0 for the infosets of
        other players, and where there is no action."""

    @abstractmethod
    def predict_at(self, fitted: np.ndarray, here: OneInfoset) -> np.ndarray:
        """Predictions of several fits for one infoset, float64 (fits, actions).

        Args:
            fitted: What :meth:`fitted` returned for each of them, as rows.
            here: The infoset.
        """

    def fitted(self, parameters: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """All that one must keep of a fit to predict again: the parameters, unless said otherwise.

        Args:
            parameters: What :meth:`fit` returned.
            predicted: What :meth:`predict` made of it.
        """
        return parameters


class NetworkLearner(Learner):
    """A network for each player."""

    needs_samples = True

    def __init__(
        self, algorithm: Deep, inputs: Inputs, scale: float, *, softmax: bool = False
    ) -> None:
        super().__init__(algorithm, inputs, scale)
        try:
            from .networks import make_network
        except ImportError as error:
            raise MissingExtraError(error.name or "jax", "deep") from error
        self._network = make_network(
            algorithm, inputs.features.shape[1], inputs.n_outputs, softmax=softmax
        )
        self.size = self._network.size

    def fit(  # noqa: D102
        self,
        reservoir: Reservoir,
        player: int | None,
        parameters: np.ndarray,
        updates: int,
        generator: np.ndarray,
        what: str,
    ) -> np.ndarray:
        inputs, network = self.inputs, self._network
        if not (self.algorithm.warm and parameters.any()):
            with np.errstate(over="ignore"):
                parameters = network.fresh(int(draw(generator) * 2.0**32))
        begun = network.begin(parameters)
        first_row, rows = inputs.rows_of(player)
        together = rows <= self.algorithm.batch
        places = rows if together else self.algorithm.batch
        losses: list[Any] = []
        for done in range(0, updates, SPAN):
            batches = _empty_batches(min(SPAN, updates - done), places, inputs.n_outputs)
            draw_batches(
                reservoir,
                inputs.row,
                inputs.output,
                first_row,
                self.algorithm.batch,
                together,
                self.scale,
                generator,
                batches,
            )
            # JAX trains on while the next batches are drawn: what it returns is looked at later.
            begun, found = network.train(begun, inputs.features, inputs.legal, *batches)
            losses.append(found)
        _check_losses(np.concatenate(losses), what)
        trained = np.array(begun[0], dtype=np.float32)
        if not np.isfinite(trained).all():
            raise TrainingError(f"{what}: parameters are not finite after update {updates}")
        return trained

    def predict(  # noqa: D102
        self, reservoir: Reservoir, player: int | None, parameters: np.ndarray
    ) -> np.ndarray:
        return self.predict_parameters(player, parameters)

    def predict_parameters(self, player: int | None, parameters: np.ndarray) -> np.ndarray:
        """As :meth:`predict`; no samples are needed."""
        inputs = self.inputs
        first, rows = inputs.rows_of(player)
        here = slice(first, first + rows)
        found = np.zeros(inputs.legal.shape)
        found[here] = self._network.predict(parameters, inputs.features[here], inputs.legal[here])
        return inputs.by_action(found)

    def predict_at(self, fitted: np.ndarray, here: OneInfoset) -> np.ndarray:  # noqa: D102
        legal = np.zeros(self.inputs.n_outputs, bool)
        legal[here.output] = True
        # Zeros are parameters before the first fit.
        known = np.any(fitted, axis=1).reshape(-1, 1)
        # A power of two: each number of networks is compiled by itself.
        several = np.zeros((1 << max(len(fitted) - 1, 0).bit_length(), self.size), np.float32)
        several[: len(fitted)] = fitted
        found = self._network.predict_each(several, here.features, legal)[: len(fitted)]
        return np.where(known, found[:, here.output], 0.0)


class TableLearner(Learner):
    """The weighted mean of the samples of every row of features: an exact fit.

    The table has no parameters: it is made from the samples.
    """

    size = 0
    needs_samples = False

    def predict(  # noqa: D102
        self, reservoir: Reservoir, player: int | None, parameters: np.ndarray
    ) -> np.ndarray:
        inputs, count = self.inputs, filled(reservoir)
        infoset, weight = reservoir.infoset[:count], reservoir.weight[:count]
        sample, action = np.nonzero(~np.isnan(reservoir.values[:count]))
        outputs = inputs.n_outputs
        at = inputs.row[infoset[sample]] * np.int64(outputs)
        at += inputs.output[infoset[sample], action]
        # Sums in the order in which the samples came: so they have the bits of regrets.
        cells, shares = inputs.legal.size, weight[sample]
        values = reservoir.values[sample, action]
        total = np.bincount(at, weights=shares * values, minlength=cells)
        weights = np.bincount(at, weights=shares, minlength=cells)
        mean = np.divide(total, weights, out=total, where=weights > 0.0)
        mean = mean.reshape(inputs.legal.shape)
        return inputs.by_action(self.scale * mean)

    def predict_at(self, fitted: np.ndarray, here: OneInfoset) -> np.ndarray:  # noqa: D102
        count = len(here.output)
        found = np.zeros((len(fitted), count))
        # Sequences that were met later have no samples yet.
        if 0 <= here.first < fitted.shape[1]:
            found[:] = fitted[:, here.first : here.first + count]
        return found

    def fitted(self, parameters: np.ndarray, predicted: np.ndarray) -> np.ndarray:  # noqa: D102
        found: np.ndarray = predicted[self.inputs.is_action]
        return found


def make_learner(
    algorithm: Deep, inputs: Inputs, scale: float, *, softmax: bool = False
) -> Learner:
    """The learner that an algorithm asks for.

    Raises:
        MissingExtraError: It is a network, and JAX, optax or equinox is not installed.
    """
    if algorithm.learner == "table":
        return TableLearner(algorithm, inputs, scale)
    return NetworkLearner(algorithm, inputs, scale, softmax=softmax)


def _check_losses(losses: np.ndarray, what: str) -> None:
    """Raise a TrainingError that names the update where a loss is not finite."""
    if not (good := np.isfinite(losses)).all():
        at = int(np.argmin(good))
        raise TrainingError(
            f"{what}: the loss of update {at + 1} is {losses[at]}; a smaller learning_rate may "
            "help, or smaller features"
        )


def _empty_batches(updates: int, rows: int, outputs: int) -> Batches:
    return Batches(
        np.empty((updates, rows), np.int32),
        np.empty((updates, rows, outputs), np.float32),
        np.empty((updates, rows, outputs), np.float32),
        np.empty(updates, np.float32),
    )


def probabilities(predicted: np.ndarray, is_action: np.ndarray, unplayed: str) -> Any:
    """Strategies by regret matching from predicted regrets.

    Args:
        predicted: float64 (infosets, most actions).
        is_action: bool (infosets, most actions): which of them are actions.
        unplayed: As :attr:`tensorcfr.algorithms.Deep.unplayed`.

    Returns:
        float64 (infosets, most actions).
    """
    positive = np.where(is_action, np.maximum(predicted, 0.0), 0.0)
    total = np.zeros(len(positive))
    for column in positive.T:  # In the order of the actions, as in the traversals.
        total += column
    if unplayed == "best":
        most = np.max(np.where(is_action, predicted, -np.inf), axis=1)
        instead = is_action & (predicted == most[:, None])
    else:
        instead = is_action
    shares = instead / instead.sum(axis=1, keepdims=True)
    some = total > 0.0
    return np.where(some[:, None], positive / np.where(some, total, 1.0)[:, None], shares)


def first_generators(seed: Seed | None) -> tuple[np.ndarray, np.ndarray]:
    """The random numbers of traversals and of training before the first iteration.

    Raises:
        ValueError: The seed is no seed.
    """
    parts = check_seed(0 if seed is None else seed)
    several = [parts] if isinstance(parts, int) else list(parts)
    return seeded(parts), seeded([*several, TRAINING_STREAM])


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
