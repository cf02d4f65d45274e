"""Names of cards, shared by the poker games."""

from __future__ import annotations

import numpy as np

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
    held = np.indices((cards,) * players).reshape(players, -1)
    distinct = np.ones(held.shape[1], dtype=bool)
    for player in range(1, players):
        distinct &= (held[:player] != held[player]).all(axis=0)
    return (distinct / distinct.sum()).reshape((cards,) * players)


def share_pot(
    strength: np.ndarray, contributions: tuple[int, ...], folded: frozenset[int] | tuple[()] = ()
) -> np.ndarray:
    """The chips that each player wins or loses if the best hand takes the pot and ties share it.

    ``strength`` holds, for each player and each deal, the rank of the player's hand (larger
    wins), shape (n_players, ...); players who ``folded`` cannot win.  The result has the same
    shape, in chips.
    """
    contesting = np.array(strength, dtype=np.float64)
    for player in folded:
        contesting[player] = -np.inf
    wins = contesting == contesting.max(axis=0)
    pot = sum(contributions)
    paid = np.reshape(contributions, (-1,) + (1,) * (contesting.ndim - 1))
    return pot * wins / wins.sum(axis=0) - paid
