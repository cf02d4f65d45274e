"""Learners that are fitted to a reservoir: networks, or an exact table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import Deep
from ..errors import MissingExtraError, TrainingError
from ..kernels.random import Seed, draw, seeded
from ..kernels.reservoir import Batches, Reservoir, draw_batches
from ..solvers.sampling_base import check_seed
from .buffers import filled
from .inputs import Inputs

TRAINING_STREAM = 1
"""Random stream of a seed for networks and reservoirs.  Traversals use the seed itself, like other
sampling solvers."""
SPAN = 250
"""Number of updates whose batches are drawn together, if the features of all infosets are in
memory."""


class OneInfoset(NamedTuple):
    """Input of a learner for a single infoset."""

    features: np.ndarray
    """float32 (width,): features."""
    output: np.ndarray
    """int32 (actions,): network output of each action."""
    first: int
    """Sequence of the first action; -1 if the infoset is not in the table."""


class Learner(ABC):
    """Base of learners, which are fitted to the samples of a reservoir and predict for infosets.

    Args:
        algorithm: The algorithm.
        inputs: The game in the form that networks take.
        scale: Factor of the values before they are fitted.
    """

    size: int
    """Number of parameters, which are one vector."""
    needs_samples: bool
    """True if a fit requires samples."""

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
        """Fit parameters to the samples.

        Args:
            reservoir: At least one sample.
            player: The player who owns the infosets; None for infosets of all players.
            parameters: Initial parameters; zeros for new ones.
            updates: Number of updates of a network.
            generator: uint64 (4,): random numbers; modified in place.
            what: Description of the fit, for errors.

        Returns:
            The fitted parameters; ``parameters`` itself for a learner without parameters.

        Raises:
            TrainingError: The loss is not finite; names the update.
        """
        return parameters

    @abstractmethod
    def predict(
        self, reservoir: Reservoir, player: int | None, parameters: np.ndarray
    ) -> np.ndarray:
        """Predict for every action.

        Args:
            reservoir: The samples to which the parameters were fitted.
            player: The player whose infosets are predicted; None for all players.
            parameters: The fitted parameters.

        Returns:
            float64 (infosets, most actions); 0 at infosets of other players, and if there is no
            action.
        """

    @abstractmethod
    def predict_at(self, fitted: np.ndarray, infoset: OneInfoset) -> np.ndarray:
        """Predict for a single infoset by several fits.

        Args:
            fitted: (fits, numbers): result of :meth:`fitted` for each fit.
            infoset: The infoset.

        Returns:
            float64 (fits, actions).
        """

    def fitted(self, parameters: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return the numbers that :meth:`predict_at` needs of a fit: by default its parameters."""
        return parameters


class NetworkLearner(Learner):
    """Learner with a network for each player."""

    needs_samples = True
    span = SPAN
    """Number of updates whose batches are drawn together."""

    def __init__(
        self, algorithm: Deep, inputs: Inputs, scale: float, *, softmax: bool = False
    ) -> None:
        super().__init__(algorithm, inputs, scale)
        try:
            from .networks import make_network
        except ImportError as error:
            raise MissingExtraError(error.name or "jax", "deep") from error
        self._network = make_network(algorithm, inputs.width, inputs.n_outputs, softmax=softmax)
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
        network = self._network
        if not (self.algorithm.warm and parameters.any()):
            with np.errstate(over="ignore"):
                parameters = network.fresh(int(draw(generator) * 2.0**32))
        begun = network.begin(parameters)
        losses: list[Any] = []
        for done in range(0, updates, self.span):
            drawn = self._draw(reservoir, player, min(self.span, updates - done), generator)
            # JAX runs asynchronously: this span trains while the batches of the next one are drawn.
            # Reading the losses of the span before waits for its end, which frees its batches.
            begun, span_losses = network.train(begun, *drawn)
            losses[-1:] = [np.asarray(loss) for loss in losses[-1:]]
            losses.append(span_losses)
        _check_losses(np.concatenate(losses), what)
        trained = np.array(begun[0], dtype=np.float32)
        if not np.isfinite(trained).all():
            raise TrainingError(f"{what}: parameters are not finite after update {updates}")
        return trained

    def _draw(
        self, reservoir: Reservoir, player: int | None, updates: int, generator: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Draw the batches of some updates.

        Returns:
            Features, legal outputs and the arrays of :class:`~tensorcfr.kernels.reservoir.Batches`,
            as ``Network.train`` takes them.
        """
        inputs, batch = self.inputs, self.algorithm.batch
        first_row, rows = inputs.rows_of(player)
        # If there are no more rows than samples in a batch, samples are summed by row.
        sums_by_row = rows <= batch
        batches = empty_batches(updates, rows if sums_by_row else batch, inputs.n_outputs)
        rows_and_outputs = inputs.row, inputs.output, first_row, batch, sums_by_row
        draw_batches(reservoir, *rows_and_outputs, self.scale, generator, batches)
        return inputs.features, inputs.legal, *batches

    def predict(  # noqa: D102
        self, reservoir: Reservoir, player: int | None, parameters: np.ndarray
    ) -> np.ndarray:
        return self.predict_parameters(player, parameters)

    def predict_parameters(self, player: int | None, parameters: np.ndarray) -> np.ndarray:
        """Predict for every action without samples; see :meth:`predict`."""
        inputs = self.inputs
        first, rows = inputs.rows_of(player)
        of_player = slice(first, first + rows)
        outputs = np.zeros(inputs.legal.shape)
        outputs[of_player] = self._network.predict(
            parameters, inputs.features[of_player], inputs.legal[of_player]
        )
        return inputs.by_action(outputs)

    def predict_at(self, fitted: np.ndarray, infoset: OneInfoset) -> np.ndarray:  # noqa: D102
        legal = np.zeros(self.inputs.n_outputs, bool)
        legal[infoset.output] = True
        # All-zero parameters mean that there was no fit yet: predict 0.
        has_fit = np.any(fitted, axis=1).reshape(-1, 1)
        # Pad to a power of two, because JAX compiles separately for each number of networks.
        padded = np.zeros((1 << max(len(fitted) - 1, 0).bit_length(), self.size), np.float32)
        padded[: len(fitted)] = fitted
        outputs = self._network.predict_each(padded, infoset.features, legal)[: len(fitted)]
        return np.where(has_fit, outputs[:, infoset.output], 0.0)


class TableLearner(Learner):
    """Learner that predicts the weighted mean of the samples of each row: an exact fit.

    It has no parameters; predictions are computed from the samples.
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
        cell = inputs.row[infoset[sample]] * np.int64(outputs)
        cell += inputs.output[infoset[sample], action]
        # `bincount` adds in the order of the samples, as the traversals of a table add regrets, so
        # the sums have the same bits.
        n_cells, shares = inputs.legal.size, weight[sample]
        values = reservoir.values[sample, action]
        total = np.bincount(cell, weights=shares * values, minlength=n_cells)
        weights = np.bincount(cell, weights=shares, minlength=n_cells)
        mean = np.divide(total, weights, out=total, where=weights > 0.0)
        mean = mean.reshape(inputs.legal.shape)
        return inputs.by_action(self.scale * mean)

    def predict_at(self, fitted: np.ndarray, infoset: OneInfoset) -> np.ndarray:  # noqa: D102
        count = len(infoset.output)
        predicted = np.zeros((len(fitted), count))
        # Sequences that were entered after the fit have no samples.
        if 0 <= infoset.first < fitted.shape[1]:
            predicted[:] = fitted[:, infoset.first : infoset.first + count]
        return predicted

    def fitted(self, parameters: np.ndarray, predicted: np.ndarray) -> np.ndarray:  # noqa: D102
        by_sequence: np.ndarray = predicted[self.inputs.is_action]
        return by_sequence


def make_learner(
    algorithm: Deep, inputs: Inputs, scale: float, *, softmax: bool = False
) -> Learner:
    """Make the learner of an algorithm.

    Args:
        algorithm: The algorithm.
        inputs: The game in the form that networks take.
        scale: Factor of the values before they are fitted.
        softmax: True if the outputs of a network are probabilities.

    Raises:
        MissingExtraError: The learner is a network, and JAX, optax or equinox is not installed.
    """
    if algorithm.learner == "table":
        return TableLearner(algorithm, inputs, scale)
    return NetworkLearner(algorithm, inputs, scale, softmax=softmax)


def _check_losses(losses: np.ndarray, what: str) -> None:
    """Raise a TrainingError if a loss is not finite; it names the update."""
    if not (good := np.isfinite(losses)).all():
        index = int(np.argmin(good))
        raise TrainingError(
            f"{what}: the loss of update {index + 1} is {losses[index]}; a smaller learning_rate "
            "may help, or smaller features"
        )


def empty_batches(updates: int, rows: int, outputs: int) -> Batches:
    """Allocate the batches of some updates."""
    return Batches(
        np.empty((updates, rows), np.int32),
        np.empty((updates, rows, outputs), np.float32),
        np.empty((updates, rows, outputs), np.float32),
        np.empty(updates, np.float32),
    )


def probabilities(predicted: np.ndarray, is_action: np.ndarray, unplayed: str) -> Any:
    """Compute strategies by regret matching from predicted regrets.

    Args:
        predicted: float64 (infosets, most actions): predicted regrets.
        is_action: bool (infosets, most actions): True if there is an action.
        unplayed: See :attr:`tensorcfr.algorithms.Deep.unplayed`.

    Returns:
        float64 (infosets, most actions): probabilities.
    """
    positive = np.where(is_action, np.maximum(predicted, 0.0), 0.0)
    total = np.zeros(len(positive))
    for column in positive.T:  # Add in the order of the traversals, so that the bits are equal.
        total += column
    if unplayed == "best":
        largest = np.max(np.where(is_action, predicted, -np.inf), axis=1)
        fallback = is_action & (predicted == largest[:, None])
    else:
        fallback = is_action
    shares = fallback / fallback.sum(axis=1, keepdims=True)
    has_positive = total > 0.0
    return np.where(
        has_positive[:, None], positive / np.where(has_positive, total, 1.0)[:, None], shares
    )


def first_generators(seed: Seed | None) -> tuple[np.ndarray, np.ndarray]:
    """Make the generators of traversals and of training from a seed.

    Returns:
        uint64 (4,) each: state of the generator of traversals, and of training.

    Raises:
        ValueError: The seed is invalid.
    """
    parts = check_seed(0 if seed is None else seed)
    several = [parts] if isinstance(parts, int) else list(parts)
    return seeded(parts), seeded([*several, TRAINING_STREAM])


def scale_for(record: Deep, largest: float) -> float:
    """Compute the factor of utilities before training, a power of two.

    Multiplication by a power of two does not round.
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
    """Fit a player's average strategy to the strategies sampled in other players' traversals.

    Args:
        learner: The learner to fit.
        record: The algorithm.
        reservoirs: Reservoirs of strategies of the other players.
        is_own: bool (infosets,): True for the player's infosets.
        player: The player.
        generator: uint64 (4,): random numbers; modified in place.
        where: Game and iteration, for errors.

    Returns:
        Parameters and predictions, float64 (infosets, most actions); None without samples.
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
    """Concatenate the samples of some reservoirs at a player's infosets."""
    # With two players, the opponent's reservoir has samples of this player only.
    if len(reservoirs) == 1:
        return reservoirs[0]
    parts = []
    for reservoir in reservoirs:
        indices = np.flatnonzero(is_own[reservoir.infoset[: filled(reservoir)]])
        parts.append(
            (reservoir.infoset[indices], reservoir.weight[indices], reservoir.values[indices])
        )
    infoset, weight, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Reservoir(infoset, weight, values, np.array([len(infoset)], np.int64))
