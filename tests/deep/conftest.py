"""Networks in NumPy, for tests of what is around networks: the fast environment has no JAX."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorcfr.algorithms import Deep


class LinearNetwork:
    """A linear model with the functions of ``tensorcfr.deep.networks.Network``.

    It is trained by gradient descent, with steps that become smaller.
    """

    def __init__(self, algorithm: Deep, width: int, outputs: int, *, softmax: bool) -> None:
        self.size, self._shape, self._softmax = width * outputs, (width, outputs), softmax

    def fresh(self, number: int) -> np.ndarray:
        """New parameters by a random number."""
        drawn = np.random.default_rng(number).normal(size=self.size)
        return (0.1 * drawn).astype(np.float32)

    def predict(
        self, parameters: np.ndarray, features: np.ndarray, legal: np.ndarray
    ) -> np.ndarray:
        """The outputs of rows."""
        found, used = np.zeros(legal.shape), legal.any(axis=0)
        weights = parameters.reshape(self._shape)[:, used].astype(float)
        found[:, used] = features.astype(float) @ weights
        if self._softmax:
            powers = np.exp(found - found.max(axis=1, keepdims=True)) * legal
            return powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)
        return np.where(legal, found, 0.0)

    def predict_each(
        self, parameters: np.ndarray, features: np.ndarray, legal: np.ndarray
    ) -> np.ndarray:
        """The outputs of several networks for one row."""
        each = [self.predict(one, features[None], legal[None])[0] for one in parameters]
        return np.array(each).reshape(len(parameters), -1)

    def begin(self, parameters: np.ndarray) -> tuple[np.ndarray, int]:
        """What a training begins with."""
        return parameters.astype(float), 0

    def train(
        self,
        begun: tuple[np.ndarray, int],
        features: np.ndarray,
        legal: np.ndarray,
        row: np.ndarray,
        weight: np.ndarray,
        total: np.ndarray,
        square: np.ndarray,
    ) -> tuple[tuple[np.ndarray, int], np.ndarray]:
        """Some updates; losses that are not finite are for others to find."""
        with np.errstate(all="ignore"):
            return self._train(begun, features.astype(float), legal, (row, weight, total, square))

    def _train(
        self, begun: tuple[np.ndarray, int], features: np.ndarray, legal: np.ndarray, batches: Any
    ) -> tuple[tuple[np.ndarray, int], np.ndarray]:
        (parameters, done), losses = begun, []
        # Steps as long as the slope of the steepest row allows.
        steepest = max(1.0, float((features**2).sum(axis=1).max()))
        for rows, weight, total, square in zip(*batches, strict=True):
            some = weight.any(axis=1)  # Most rows of a batch have no sample.
            rows, w, t = rows[some], weight[some].astype(float), total[some].astype(float)
            found = self.predict(parameters, features[rows], legal[rows])
            losses.append((found * (w * found - 2.0 * t)).sum() + square)
            slope = 2.0 * (w * found - t)
            if self._softmax:
                slope = found * (slope - (found * slope).sum(axis=1, keepdims=True))
            step = 10.0 / (1.0 + done / 200.0) if self._softmax else 0.5 / (1.0 + done / 20.0)
            used = legal[rows].any(axis=0)
            parameters = parameters.reshape(self._shape).copy()
            slope = np.where(legal[rows], slope, 0.0)[:, used]
            parameters[:, used] -= step / steepest * (features[rows].T @ slope)
            parameters, done = parameters.ravel(), done + 1
        return (parameters, done), np.array(losses)


@pytest.fixture(params=["numpy", pytest.param("jax", marks=pytest.mark.full)])
def networks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What networks are computed with."""
    if request.param == "jax":
        pytest.importorskip("equinox")
    else:
        module: Any = ModuleType("tensorcfr.deep.networks")
        module.make_network = LinearNetwork
        monkeypatch.setitem(sys.modules, "tensorcfr.deep.networks", module)
    return str(request.param)
