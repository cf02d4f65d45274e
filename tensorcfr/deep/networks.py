"""The networks, in JAX: plain perceptrons whose parameters are one vector.

This is the only module that imports JAX, optax and equinox; :func:`load` imports it.
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
"""Added to the standard deviation by which the last hidden layer is divided."""


class Perceptron(eqx.Module):
    """Layers with rectifiers, then a linear one.

    Args:
        sizes: Features, units of each hidden layer, outputs.
        skip: Whether a layer adds its input to its output, where both have the same width.
        normalise: Whether the last hidden layer gets mean 0 and standard deviation 1.
        key: Random numbers.
    """

    layers: list[eqx.nn.Linear]
    skip: bool = eqx.field(static=True)
    normalise: bool = eqx.field(static=True)

    def __init__(self, sizes: tuple[int, ...], *, skip: bool, normalise: bool, key: Any) -> None:
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = [
            eqx.nn.Linear(size, following, key=one)
            for size, following, one in zip(sizes[:-1], sizes[1:], keys, strict=True)
        ]
        self.skip, self.normalise = skip, normalise

    def __call__(self, x: Any) -> Any:
        """Outputs of one row of features."""
        for layer in self.layers[:-1]:
            y = jax.nn.relu(layer(x))
            x = x + y if self.skip and x.shape == y.shape else y
        if self.normalise and len(self.layers) > 1:
            x = (x - x.mean()) / (x.std() + EPSILON)
        return self.layers[-1](x)


class Network:
    """A network of a given shape: fresh parameters, predictions, training.

    Args:
        algorithm: Says layers, learning rate and clipping.
        width: Features.
        outputs: Outputs.
        softmax: Whether the outputs are made probabilities.
    """

    def __init__(self, algorithm: Deep, width: int, outputs: int, *, softmax: bool) -> None:
        sizes = (width, *algorithm.layers, outputs)
        make = partial(Perceptron, sizes, skip=algorithm.skip, normalise=algorithm.normalise)
        flatten: Any = flatten_util.ravel_pytree
        parameters, self._unravel = flatten(make(key=jax.random.key(0)))
        self.size = len(parameters)
        """Parameters."""
        self._make = jax.jit(lambda key: flatten(make(key=key))[0])
        self._softmax = softmax
        self._optimizer = optax.chain(
            optax.clip_by_global_norm(algorithm.clip), optax.adam(algorithm.learning_rate)
        )
        self._predict = jax.jit(self._outputs)
        self._predict_each = jax.jit(jax.vmap(self._outputs, in_axes=(0, None, None)))
        self._span = jax.jit(self._train_span)

    def fresh(self, number: int) -> np.ndarray:
        """New parameters, float32 (size,), by a random number of 32 bits."""
        return np.array(self._make(jax.random.key(number)), dtype=np.float32)

    def predict(
        self, parameters: np.ndarray, features: np.ndarray, legal: np.ndarray
    ) -> np.ndarray:
        """The outputs, float64 (rows, outputs).

        Args:
            parameters: float32 (size,).
            features: float32 (rows, width).
            legal: bool (rows, outputs): which outputs are actions.
        """
        return np.array(self._predict(parameters, features, legal), dtype=np.float64)

    def predict_each(
        self, parameters: np.ndarray, features: np.ndarray, legal: np.ndarray
    ) -> np.ndarray:
        """The outputs of several networks for one row, float64 (networks, outputs).

        Args:
            parameters: float32 (networks, size).
            features: float32 (width,).
            legal: bool (outputs,).
        """
        found = self._predict_each(parameters, features[None], legal[None])
        return np.array(found, dtype=np.float64)[:, 0]

    def begin(self, parameters: np.ndarray) -> Any:
        """Parameters and the optimizer's memory, for :meth:`train`."""
        vector = jnp.asarray(parameters)
        return vector, self._optimizer.init(vector)

    def train(
        self, begun: Any, features: Any, legal: Any, row: Any, weight: Any, total: Any, square: Any
    ) -> tuple[Any, Any]:
        """Some updates; they may still be under way when this returns.

        Args:
            begun: What :meth:`begin` or this function returned.
            features: float32 (rows, width).
            legal: bool (rows, outputs).
            row: As in :class:`tensorcfr.kernels.reservoir.Batches`, like the next three.
            weight: Likewise.
            total: Likewise.
            square: Likewise.

        Returns:
            The same after the updates; and float32 (updates,): the mean squared error, weighted,
            before each.
        """
        found: tuple[Any, Any] = self._span(begun, features, legal, (row, weight, total, square))
        return found

    def _outputs(self, parameters: Any, features: Any, legal: Any) -> Any:
        found = jax.vmap(self._unravel(parameters))(features)
        if self._softmax:
            return jax.nn.softmax(found, axis=-1, where=legal)
        return jnp.where(legal, found, 0.0)

    def _train_span(self, begun: Any, features: Any, legal: Any, batches: Any) -> Any:
        def loss(parameters: Any, row: Any, weight: Any, total: Any, square: Any) -> Any:
            # The weighted squared error of all samples, which are added up by row.
            found = self._outputs(parameters, features[row], legal[row])
            return (found * (weight * found - 2.0 * total)).sum() + square

        def update(carried: Any, batch: Any) -> Any:
            parameters, memory = carried
            found, gradient = jax.value_and_grad(loss)(parameters, *batch)
            change, memory = self._optimizer.update(gradient, memory, parameters)
            return (optax.apply_updates(parameters, change), memory), found

        return jax.lax.scan(update, begun, batches)


@lru_cache(maxsize=32)
def make_network(algorithm: Deep, width: int, outputs: int, *, softmax: bool = False) -> Network:
    """The network of a shape; compiled once for solvers that are alike."""
    return Network(algorithm, width, outputs, softmax=softmax)
