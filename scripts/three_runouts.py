"""Count the orders of three hands of hold'em, by classes of hands, over all boards.

python -m scripts.three_runouts [--batches N]: a quarter of an hour of processor time; writes
``tensorcfr/games/poker/three_runouts.npz``, from which all-ins of three players are paid.  With
``--batches``, only so many batches of 32 boards are counted, which are drawn at random.
"""

from __future__ import annotations

import argparse
import hashlib
import time

import numpy as np

from tensorcfr._util.files import replacing
from tensorcfr.games.poker.deck import HANDS, RANKS, SUITS, orders_of_suits
from tensorcfr.games.poker.runouts import BOARD
from tensorcfr.games.poker.strength import strengths
from tensorcfr.games.poker.three_runouts import FILE, count_orders, holdem_shares, pack


def standard_error(first: np.ndarray, counts: np.ndarray, share: float) -> float:
    """Estimate the standard error of shares from two halves of the counted boards.

    Args:
        first: uint32 (4, 169, 169, 169): counts of about half of the counted boards.
        counts: uint32 (4, 169, 169, 169): counts of all of them.
        share: Share of all boards that was counted.
    """
    difference = holdem_shares(first) - holdem_shares(counts - first)
    return float(np.sqrt((difference**2).mean() / 4.0 * (1.0 - share)))


def write(counts: np.ndarray, first: np.ndarray, counted: int, boards: int) -> None:
    """Write the file from counts, with its precision, and print its digest."""
    with replacing(FILE) as file:
        np.savez(
            file,
            packed=pack(holdem_shares(counts)),
            counted=np.array([counted, boards]),
            error=np.array(standard_error(first, counts, counted / boards)),
        )
    print(hashlib.sha256(FILE.read_bytes()).hexdigest(), f"{FILE.stat().st_size:,} bytes")


def main() -> None:
    """Count, and write the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, help="number of random batches; default: all boards")
    sample = parser.parse_args().batches
    halves, progress, begin = [], [0, 0], time.process_time()

    def strength(board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        found: np.ndarray = strengths(np.array(board, dtype=np.int64), hands)
        return found

    def report(counted: int, boards: int, counts: np.ndarray) -> None:
        progress[:] = counted, boards
        if not halves and counted >= 16 * (sample or boards // 32):
            halves.append(counts.copy())
        if counted % 3200 == 0:
            print(f"{counted:,} of {boards:,} boards, {time.process_time() - begin:.0f} s")

    orders = orders_of_suits(len(RANKS), len(SUITS))
    counts = count_orders(strength, HANDS, orders, BOARD, sample=sample, report=report)
    write(counts, halves[0], *progress)


if __name__ == "__main__":
    main()
