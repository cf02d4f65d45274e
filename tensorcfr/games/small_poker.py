"""Ranks, deals and pots that the small poker games share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import combinations

import numpy as np

from .._util.memory_budget import reserve

MAX_CARDS = 10_000
"""Largest deck, in cards: the joint probabilities of two cards of it take 0.8 GB."""
MAX_PLAYERS = 10
"""Largest number of players in a game of cards or dice, as in OpenSpiel's poker."""
RANKS = "A23456789TJQK"
SUITS = "shdc"


def rank_names(count: int) -> list[str]:
    """Return the names of ``count`` ranks, lowest first; the king is the highest: J Q K for three.

    With more than thirteen ranks, the names are the numbers from 0.
    """
    if count > len(RANKS):
        return [str(rank) for rank in range(count)]
    return list(RANKS[-count:])


def deal_without_replacement(cards: int, players: int) -> np.ndarray:
    """Return the probability of each deal of one card per player.

    Returns:
        float64 ``(cards,) * players``, with sum 1; 0 where two players have the same card.
    """
    reserve(2 * 8 * cards**players)
    card_axes = np.ogrid[(slice(cards),) * players]
    distinct = reduce(
        np.logical_and, (card != other_card for card, other_card in combinations(card_axes, 2))
    )
    prior: np.ndarray = distinct / distinct.sum()
    return prior


def dealt_to_board(cards: int, players: int) -> Iterator[np.ndarray]:
    """Yield the probability of each board card, given one card in the hand of each player.

    Yields:
        float64 ``(cards,) * players`` for each card in turn, by deal; 0 for deals in which a
        player holds the card.
    """
    # Callers keep the arrays of all cards, so reserve memory for all of them.
    reserve(8 * cards ** (players + 1) + 2 * cards**players)
    card_axes = np.ogrid[(slice(cards),) * players]
    for card in range(cards):
        yield reduce(np.logical_and, (hand != card for hand in card_axes)) / (cards - players)


def share_pot(
    strength: np.ndarray, contributions: tuple[int, ...], folded: frozenset[int] | tuple[()] = ()
) -> np.ndarray:
    """Compute each player's net winnings if the best hand takes the pot and ties share it.

    Args:
        strength: Strength of each player's hand in each deal, shape (n_players, ...); larger wins.
        contributions: Chips that each player has put into the pot.
        folded: Players who have folded and so cannot win.

    Returns:
        float64, the shape of ``strength``: chips won, negative where the player loses.
    """
    reserve(5 * strength.size * 8)
    contesting = np.array(strength, dtype=np.float64)
    for player in folded:
        contesting[player] = -np.inf
    wins = contesting == contesting.max(axis=0)
    pot = sum(contributions)
    paid = np.reshape(contributions, (-1,) + (1,) * (contesting.ndim - 1))
    return pot * wins / wins.sum(axis=0) - paid
