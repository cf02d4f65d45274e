"""Random numbers one at a time are those of the kernels; actions are drawn with them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcfr.kernels.random import fill, seeded
from tensorcfr.uncompiled.draws import draws, sample_action


@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_come_in_the_order_of_the_kernel() -> None:
    """However many are made ahead; and the state that is given stays."""
    state = seeded(7)
    before, numbers = state.copy(), draws(state)
    found = [next(numbers) for _ in range(1000)]
    assert np.array_equal(state, before)
    expected = np.empty(1000)
    fill(state, expected)
    assert found == expected.tolist()


@pytest.mark.parametrize(
    ("strategy", "number", "action"),
    [
        ((0.25, 0.75), 0.24, 0),
        ((0.25, 0.75), 0.25, 1),
        ((0.0, 1.0), 0.0, 1),
        ((0.2, 0.3, 0.5), 0.1, 0),
        ((0.2, 0.3, 0.5), 0.49, 1),
        ((0.2, 0.3, 0.5), 0.51, 2),
        ((0.0, 0.5, 0.5), 0.0, 1),
        # The probabilities sum to less than 1 by rounding; the last action is never played.
        ((0.1, 0.9 - 1e-9, 0.0), 1.0 - 1e-12, 1),
    ],
)
def test_an_action_is_drawn_by_its_share(
    strategy: tuple[float, ...], number: float, action: int
) -> None:
    assert sample_action(strategy, number) == action
