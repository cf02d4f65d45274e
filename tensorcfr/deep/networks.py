"""Networks in JAX: multilayer perceptrons with their parameters in one vector.

This is the only module that imports JAX, optax and equinox.
:class:`~tensorcfr.deep.learners.NetworkLearner` imports it when it is needed.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import flatten_util

from ..algorithms import Deep

EPSILON = 1e-6
"""Number added to the standard deviation by which the last hidden layer is divided."""


class Perceptron(eqx.Module):
    """Multilayer perceptron: hidden layers with rectifiers, then a linear layer.

    Args:
        sizes: Numbers of features, of units of each hidden layer, and of outputs.
        skip: True if a layer adds its input to its output, provided that their widths are equal.
        normalise: True if the last hidden layer is normalised to mean 0 and standard deviation 1.
        key: Random key of JAX for the initial parameters.
    """

    layers: list[eqx.nn.Linear]
    skip: bool = eqx.field(static=True)
    normalise: bool = eqx.field(static=True)

    def __init__(self, sizes: tuple[int, ...], *, skip: bool, normalise: bool, key: Any) -> None:
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = [
            eqx.nn.Linear(size, following, key=layer_key)
            for size, following, layer_key in zip(sizes[:-1], sizes[1:], keys, strict=True)
        ]
        self.skip, self.normalise = skip, normalise

    def __call__(self, x: Any) -> Any:
        """Compute the outputs of one row of features, float32 (outputs,)."""
        for layer in self.layers[:-1]:
            y = jax.nn.relu(layer(x))
            x = x + y if self.skip and x.shape == y.shape else y
        if self.normalise and len(self.layers) > 1:
            x = (x - x.mean()) / (x.std() + EPSILON)
        return self.layers[-1](x)


class Network:
    """Network of a given shape: initialisation, prediction and training.

    Args:
        algorithm: Record with the layers, the learning rate and the clipping.
        width: Number of features.
        outputs: Number of outputs.
        softmax: True if a softmax turns the outputs into probabilities.
    """

    def __init__(self, algorithm: Deep, width: int, outputs: int, *, softmax: bool) -> None:
        sizes = (width, *algorithm.layers, outputs)
        make = partial(Perceptron, sizes, skip=algorithm.skip, normalise=algorithm.normalise)
        flatten: Any = flatten_util.ravel_pytree
        parameters, self._unravel = flatten(make(key=jax.random.key(0)))
        self.size = len(parameters)
        """Number of parameters."""
        self._make = jax.jit(lambda key: flatten(make(key=key))[0])
        self._softmax = softmax
        self._optimizer = optax.chain(
            optax.clip_by_global_norm(algorithm.clip), optax.adam(algorithm.learning_rate)
        )
        self._predict = jax.jit(self._outputs)
        self._predict_each = jax.jit(jax.vmap(self._outputs, in_axes=(0, None, None)))
        self._span = jax.jit(self._train_span)

    def fresh(self, number: int) -> np.ndarray:
        """Make new parameters from a random 32-bit number; float32 (size,)."""
        return np.array(self._make(jax.random.key(number)), dtype=np.float32)

    def predict(
        self, parameters: np.ndarray, features: np.ndarray, legal: np.ndarray
    ) -> np.ndarray:
        """Compute the outputs of a network.

        Args:
            parameters: float32 (size,).
            features: float32 (rows, width).
            legal: bool (rows, outputs): True if the output is an action.

        Returns:
            float64 (rows, outputs).
        """
        return np.array(self._predict(parameters, features, legal), dtype=np.float64)

    def predict_each(
        self, parameters: np.ndarray, features: np.ndarray, legal: np.ndarray
    ) -> np.ndarray:
        """Compute the outputs of several networks for one row.

        Args:
            parameters: float32 (networks, size).
            features: float32 (width,).
            legal: bool (outputs,): True if the output is an action.

        Returns:
            float64 (networks, outputs).
        """
        outputs = self._predict_each(parameters, features[None], legal[None])
        return np.array(outputs, dtype=np.float64)[:, 0]

    def begin(self, parameters: np.ndarray) -> Any:
        """Return the parameters and the initial optimizer state, for :meth:`train`."""
        vector = jnp.asarray(parameters)
        return vector, self._optimizer.init(vector)

    def train(
        self, begun: Any, features: Any, legal: Any, row: Any, weight: Any, total: Any, square: Any
    ) -> tuple[Any, Any]:
        """Start some updates; they may still be running when this returns.

        Args:
            begun: Parameters and optimizer state from :meth:`begin` or an earlier call.
            features: float32 (rows, width).
            legal: bool (rows, outputs).
            row: See :class:`tensorcfr.kernels.reservoir.Batches`.
            weight: See :class:`tensorcfr.kernels.reservoir.Batches`.
            total: See :class:`tensorcfr.kernels.reservoir.Batches`.
            square: See :class:`tensorcfr.kernels.reservoir.Batches`.

        Returns:
            Parameters and optimizer state after the updates; and float32 (updates,): weighted mean
            squared error before each update.
        """
        trained: tuple[Any, Any] = self._span(begun, features, legal, (row, weight, total, square))
        return trained

    def _outputs(self, parameters: Any, features: Any, legal: Any) -> Any:
        outputs = jax.vmap(self._unravel(parameters))(features)
        if self._softmax:
            return jax.nn.softmax(outputs, axis=-1, where=legal)
        return jnp.where(legal, outputs, 0.0)

    def _train_span(self, begun: Any, features: Any, legal: Any, batches: Any) -> Any:
        def loss(parameters: Any, row: Any, weight: Any, total: Any, square: Any) -> Any:
            # The samples of a batch are summed by row: sum w (f - v)^2 = f (W f - 2 T) + S, with
            # W, T and S the sums of w, w v and w v^2.
            predicted = self._outputs(parameters, features[row], legal[row])
            return (predicted * (weight * predicted - 2.0 * total)).sum() + square

        def update(carried: Any, batch: Any) -> Any:
            parameters, memory = carried
            error, gradient = jax.value_and_grad(loss)(parameters, *batch)
            change, memory = self._optimizer.update(gradient, memory, parameters)
            return (optax.apply_updates(parameters, change), memory), error

        return jax.lax.scan(update, begun, batches)


@lru_cache(maxsize=32)
def make_network(algorithm: Deep, width: int, outputs: int, *, softmax: bool = False) -> Network:
    """Make the network of a shape; solvers with equal arguments share it and its compilation."""
    return Network(algorithm, width, outputs, softmax=softmax)
