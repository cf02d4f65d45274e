"""Count how often each hand of hold'em wins against each other one, over all boards.

python -m scripts.runouts: some minutes; writes ``tensorcfr/games/poker/runouts.npz``, from which
all-ins before the flop are
paid.
"""

from __future__ import annotations

import numpy as np

from tensorcfr._util.files import replacing
from tensorcfr.games.poker.deck import HANDS, RANKS, SUITS, orders_of_suits
from tensorcfr.games.poker.runouts import BOARD, FILE, count_runouts, kinds_of_pairs, moved_hands
from tensorcfr.games.poker.strength import strengths


def main() -> None:
    """Count, and write one number for each kind of pairs."""

    def strength(board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        found: np.ndarray = strengths(np.array(board, dtype=np.int64), hands)
        return found

    orders = orders_of_suits(len(RANKS), len(SUITS))
    won, tied = count_runouts(strength, HANDS, orders, BOARD)
    number, turned = kinds_of_pairs(moved_hands(HANDS, orders))
    as_named = np.where(turned, -1, number)
    kinds, first = np.unique(as_named, return_index=True)
    assert np.array_equal(kinds[1:], np.unique(number))
    at = first[1:]
    with replacing(FILE) as file:
        np.savez_compressed(
            file, won=won.ravel()[at].astype(np.int32), tied=tied.ravel()[at].astype(np.int32)
        )


if __name__ == "__main__":
    main()
