"""Names of cards, shared by the poker games."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import combinations

import numpy as np

from .._util.memory import reserve

MOST_CARDS = 10_000
"""Cards in a deck, at most: the joint probability of two of them takes 0.8 GB."""
MOST_PLAYERS = 10
"""Players of a game of cards or dice, at most; as in OpenSpiel's poker."""
RANKS = "A23456789TJQK"
SUITS = "shdc"


def rank_names(count: int) -> list[str]:
    """The ``count`` highest ranks, lowest first, king high: J Q K for three.

    Beyond thirteen ranks, plain numbers from 0.
    """
    if count > len(RANKS):
        return [str(rank) for rank in range(count)]
    return list(RANKS[-count:])


def deal_without_replacement(cards: int, players: int) -> np.ndarray:
    """Joint probability of one card to each player, shape ``(cards,) * players``."""
    reserve(2 * 8 * cards**players)
    held = np.ogrid[(slice(cards),) * players]
    distinct = reduce(np.logical_and, (one != other for one, other in combinations(held, 2)))
    prior: np.ndarray = distinct / distinct.sum()
    return prior


def dealt_to_board(cards: int, players: int) -> Iterator[np.ndarray]:
    """Probability of each board card, given one card in the hand of each player.

    Yields:
        float64 ``(cards,) * players``, one for each card; 0 for deals in which somebody holds it.
    """
    # Whoever asks keeps all of them.
    reserve(8 * cards ** (players + 1) + 2 * cards**players)
    held = np.ogrid[(slice(cards),) * players]
    for card in range(cards):
        yield reduce(np.logical_and, (own != card for own in held)) / (cards - players)


def share_pot(
    strength: np.ndarray, contributions: tuple[int, ...], folded: frozenset[int] | tuple[()] = ()
) -> np.ndarray:
    """The chips that each player wins or loses if the best hand takes the pot and ties share it.

    ``strength`` holds, for each player and each deal, the rank of the player's hand (larger
    wins), shape (n_players, ...); players who ``folded`` cannot win.  The result has the same
    shape, in chips.
    """
    reserve(5 * strength.size * 8)
    contesting = np.array(strength, dtype=np.float64)
    for player in folded:
        contesting[player] = -np.inf
    wins = contesting == contesting.max(axis=0)
    pot = sum(contributions)
    paid = np.reshape(contributions, (-1,) + (1,) * (contesting.ndim - 1))
    return pot * wins / wins.sum(axis=0) - paid
