"""Tables that nodes of a public tree share; each distinct table is stored once."""

from __future__ import annotations

import hashlib

import numpy as np

from .._util.memory_budget import reserve

BYTES_PER_DEAL = 80
"""Peak bytes per deal of each payoff table while symmetries are found: ten arrays of numbers."""


class ChanceProducts:
    """Products of chance probabilities on the paths to public nodes.

    Args:
        shape: Number of hands of each player.
        chance_table: float64 (outcomes, hands of player 0, ...): probability of each distinct
            chance outcome, given the hands.
    """

    def __init__(self, shape: tuple[int, ...], chance_table: np.ndarray) -> None:
        self.chance_table = chance_table
        self.table = [np.ones(shape)]
        """Distinct products, float64 (hands of player 0, ...) each; row 0 belongs to the root."""
        self._row_of = {fingerprint(self.table[0]): 0}
        self._after: dict[tuple[int, int], int] = {}

    def after(self, weight: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """Return the rows of :attr:`table` after one more edge.

        Args:
            weight: int64 (nodes,): row before the edge.
            chance: int (nodes,): row of ``chance_table``; negative after an action, which keeps the
                row.
        """
        by_chance = chance >= 0
        if not by_chance.any():
            return weight
        tables = len(self.chance_table)
        pairs, inverse = np.unique(
            weight[by_chance].astype(np.int64) * tables + chance[by_chance], return_inverse=True
        )
        rows = np.array([self._row(*divmod(pair, tables)) for pair in pairs.tolist()])
        weight = weight.copy()
        weight[by_chance] = rows[inverse]
        return weight

    def _row(self, weight: int, chance: int) -> int:
        """Return the row with the product of a row and a chance outcome."""
        if (weight, chance) not in self._after:
            # Deals that cannot reach the node may have any probability in the rules, even nan: use
            # 0.
            reserve(self.table[0].nbytes * (len(self.table) + 2))
            factor = np.where(self.table[weight] > 0, self.chance_table[chance], 0.0)
            product = self.table[weight] * factor
            row = self._row_of.setdefault(fingerprint(product), len(self.table))
            if row == len(self.table):
                self.table.append(product)
            self._after[weight, chance] = row
        return self._after[weight, chance]


def fingerprint(table: np.ndarray) -> bytes:
    """Return a digest that identifies a table, because keys with the bytes of all tables may take
    gigabytes."""
    return hashlib.blake2b(np.ascontiguousarray(table).data, digest_size=32).digest()
