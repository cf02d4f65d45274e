"""The arrays of a sequence form that the payoff operator reads."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np


class PayoffForm(Protocol):
    """Fields of a :class:`tensorcfr.model.arrays.SequenceForm` that the payoff operator reads.

    Packages import only from packages below them, and the model is above the payoff operator.
    """

    @property
    def n_players(self) -> int:
        """Number of players."""

    @property
    def player_sequences(self) -> np.ndarray:
        """int64 (players + 1,): player ``i`` owns sequences ``[i]`` to ``[i + 1] - 1``."""

    @property
    def hand_rank(self) -> np.ndarray:
        """int64 (masks, most hands + 1): number of possible hands before each hand."""

    @property
    def operator(self) -> tuple[Any, ...]:
        """Parts of the operator."""

    def _replace(self, *, operator: tuple[Any, ...] = ...) -> Self: ...
