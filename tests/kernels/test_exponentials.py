"""The vectorised exponential and logarithm, compiled, against the C library's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorcfr._util.jit import kernel
from tensorcfr.kernels import exponentials
from tensorcfr.kernels.exponentials import LEAST, exponential, logarithm

UNIT = 2.0**-52


@kernel
def both(x: np.ndarray, powers: np.ndarray, logarithms: np.ndarray) -> None:
    for i in range(x.shape[0]):
        powers[i] = exponential(-x[i])
        logarithms[i] = logarithm(1.0 + x[i])


@pytest.mark.compiled
def test_they_are_those_of_the_c_library() -> None:
    """To two units in the last place; of a logarithm near 0, which is that of 1 + x, of x."""
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            [0.0, 5e-324, UNIT, 0.5 * math.log(2), math.log(2), math.sqrt(2) - 1, 1.0, 3.0, 707.9],
            rng.exponential(1.0, 3000),
            rng.uniform(0.0, -LEAST, 3000),
            10.0 ** rng.uniform(-17, 0, 3000),
        ]
    )
    powers, logarithms = np.empty_like(x), np.empty_like(x)
    both(x, powers, logarithms)
    for i, value in enumerate(x.tolist()):
        assert powers[i] == pytest.approx(math.exp(-value), rel=2 * UNIT, abs=0)
        assert logarithms[i] == pytest.approx(math.log(1.0 + value), rel=2 * UNIT, abs=0)
    assert powers[0] == 1.0
    assert logarithms[0] == 0.0
    # Smaller exponents are cut off, and do not wrap around.
    x = np.array([709.0, 1e9, np.inf])
    both(x, powers[:3], logarithms[:3])
    assert powers[:3].tolist() == pytest.approx([math.exp(LEAST)] * 3, rel=2 * UNIT, abs=0)


def test_from_python_they_are_the_c_library() -> None:
    assert exponentials.exponential(-1.5) == math.exp(-1.5)
    assert exponentials.exponential(-1e9) == math.exp(LEAST)
    assert exponentials.logarithm(1.5) == math.log(1.5)
