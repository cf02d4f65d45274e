"""Writes the order of hands of Omaha by which ranges in per cent go: ``games/poker/order.npy``.

A class of hands that differ in suits alone stands where its equity against any other hand stands.
On each of some random boards the equity of every hand is exact, over all hands of the other player.

    python -m scripts.omaha_order --boards 2500
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tensorcfr.compilers.cards.subsets import BoardHands, all_sets, compare, signs_of, sums_of
from tensorcfr.games.poker.omaha_ranges import ORDER, every_hand, suit_classes
from tensorcfr.games.poker.omaha_strength import omaha_strengths

SEED = 2026


def equities(boards: int, seed: int) -> np.ndarray:
    """Return the mean equity of every class over random boards, float64 (classes,)."""
    hands, (of_hand, size) = every_hand(), suit_classes()
    sets, signs, sums = all_sets(hands, 52), signs_of(4), sums_of(52, 4)
    weight = np.ones(len(hands))
    won, met = np.zeros((2, len(size)))
    rng = np.random.default_rng(seed)
    for _ in range(boards):
        board = rng.choice(52, 5, replace=False)
        live = np.flatnonzero(~np.isin(hands, board).any(axis=1))
        strength = omaha_strengths(board, hands)
        side = BoardHands(live[np.argsort(strength[live], kind="stable")], strength, sets, weight)
        found = np.zeros((len(hands), 3))
        compare(side, side, signs, sums, found)
        won += np.bincount(of_hand, 0.5 * (found[:, 0] + found[:, 1]), len(size))
        met += np.bincount(of_hand, found[:, 2], len(size))
    return won / met


def main() -> None:
    """Count, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=2500)
    parser.add_argument("--to", type=Path, default=ORDER)
    given = parser.parse_args()
    order = np.argsort(-equities(given.boards, SEED), kind="stable")
    np.save(given.to, order.astype(np.uint16), allow_pickle=False)


if __name__ == "__main__":
    main()
