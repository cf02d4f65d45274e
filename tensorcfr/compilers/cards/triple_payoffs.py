"""Payoffs of all-ins of three players before the first deal, in tables over classes of hands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import GameError
from ...model.card_structure import RUNOUT, BettingTree, Symmetry, orders_of
from ...payoff.hand_triples import PayoffTriples
from ...payoff.three_hands import PLAYERS
from ...rules import CardGame
from .card_sums import Dealing
from .form import CardForm, Last

ROUNDING = 1e-12
"""Largest difference between payoffs, relative to the largest, that counts as rounding."""


def triple_payoffs(
    rules: CardGame,
    name: str,
    form: CardForm,
    betting: BettingTree,
    last: list[list[Last]],
    symmetry: Symmetry,
    dealing: Dealing,
) -> tuple[PayoffTriples, ...]:
    """Build the payoffs by which an all-in differs from a tie of all hands.

    Args:
        rules: The rules.
        name: The name of the game.
        form: The whole game.
        betting: The betting.
        last: Each player's last action before every node.
        symmetry: The classes of hands.
        dealing: The probabilities of the deal.

    Returns:
        The part; empty if no cards are run out.

    Raises:
        GameError: The rules have other classes of hands than the symmetries that were found.
    """
    ends = np.flatnonzero(betting.kind == RUNOUT).tolist()
    if not ends:
        return ()
    shares = {
        cards: _by_order(_probabilities(rules, name, cards, symmetry, dealing))
        for cards in {int(betting.runs[node]) for node in ends}
    }
    tables, amounts, sequences = list[np.ndarray](), list[np.ndarray](), []
    for node in ends:
        utilities = betting.amounts[node]
        basis, factors = _basis(utilities - utilities[ALL_TIE])
        before = len(tables)
        tables += [_table(column, shares[int(betting.runs[node])]) for column in basis]
        amounts.append(np.zeros((PLAYERS, PLAYERS * len(ends))))
        amounts[-1][:, before : len(tables)] = factors
        sequences.append([int(form.ended(p, acts[node], 0)[0]) for p, acts in enumerate(last)])
    part = PayoffTriples(
        table=np.array(tables).reshape(len(tables), *map(len, _first_hands(symmetry))),
        sequence=np.array(sequences, dtype=np.int64).T.copy(),
        amount=np.stack(amounts, axis=1)[:, :, : len(tables)].copy(),
    )
    return (part,)


def runout_payoffs(
    rules: CardGame,
    name: str,
    cards: int,
    symmetry: Symmetry,
    dealing: Dealing,
    utilities: np.ndarray,
    player: int,
    own_reach: Sequence[np.ndarray],
) -> np.ndarray:
    """Return a player's payoffs at an all-in, less those of a tie of all hands.

    Args:
        rules: The rules.
        name: The name of the game.
        cards: Number of cards that are run out.
        symmetry: The classes of hands.
        dealing: The probabilities of the deal.
        utilities: float64 (orders,): the player's utility for each order of the hands.
        player: The player.
        own_reach: For each player float64 (hands,): their own reach.

    Returns:
        float64 (hands,): for each hand, the sum over the hands of the others.

    Raises:
        GameError: Hands of a class, which differ only in suits, have different reaches.
    """
    shares = _by_order(_probabilities(rules, name, cards, symmetry, dealing))
    table = np.moveaxis(_table(utilities - utilities[ALL_TIE], shares), player, 0)
    others = [p for p in range(PLAYERS) if p != player]
    for opponent in reversed(others):
        classes = symmetry.classes[0][opponent]
        reach = own_reach[opponent][classes.first]
        if not np.array_equal(reach[classes.of_hand], own_reach[opponent]):
            raise GameError(f"{name}: hands that differ only in suits must have the same reach")
        table = table @ reach
    own_classes = symmetry.classes[0][player]
    by_hand: np.ndarray = (table / own_classes.size)[own_classes.of_hand]
    return by_hand


ALL_TIE = int(np.flatnonzero(orders_of(PLAYERS).max(axis=1) == 0)[0])
"""Index of the tie of all hands among the orders."""


def _first_hands(symmetry: Symmetry) -> list[np.ndarray]:
    """Return the first hand of each class of each player."""
    return [classes.first for classes in symmetry.classes[0]]


def _probabilities(
    rules: CardGame, name: str, cards: int, symmetry: Symmetry, dealing: Dealing
) -> np.ndarray:
    """Return the shares of :meth:`~tensorcfr.CardGame.order_shares` as probabilities."""
    shares = rules.order_shares(cards)
    for classes in symmetry.classes[0]:
        if shares.shape != (4, *[classes.n_classes] * PLAYERS):
            raise GameError(
                f"{name} has all-ins of three players, which need symmetry: {classes.n_classes} "
                f"classes of hands differ from the {shares.shape[1]} of all suits"
            )
    weights = [
        of_player[first]
        for of_player, first in zip(rules.weights, _first_hands(symmetry), strict=True)
    ]
    if any((of_player != weights[0][0]).any() for of_player in weights):
        raise GameError(f"{name} has all-ins of three players, which need hands of equal weights")
    factor = dealing.share(0) * float(weights[0][0]) ** PLAYERS
    probabilities: np.ndarray = shares * factor
    return probabilities


def _by_order(shares: np.ndarray) -> list[np.ndarray]:
    """Return the probability of each order of :func:`~tensorcfr.model.card_structure.orders_of`,
    float64 (classes of player 0, 1, 2) each."""
    strict, low_tie, high_tie, all_tie = shares
    arrays = []
    for order in orders_of(PLAYERS):
        # Players from the weakest up; equal ones can be in any sequence.
        low, middle, high = np.argsort(order, kind="stable").tolist()
        axes, array = (middle, low, high), strict
        if order[low] == order[middle]:
            array = all_tie if order[middle] == order[high] else low_tie
        elif order[middle] == order[high]:
            axes, array = (middle, high, low), high_tie
        arrays.append(array.transpose(np.argsort(axes)))
    return arrays


def _table(column: np.ndarray, shares: list[np.ndarray]) -> np.ndarray:
    """Return the expected payoffs of each triple of classes for payoffs by order."""
    table = np.zeros(shares[0].shape)
    for payoff, share in zip(column.tolist(), shares, strict=True):
        if payoff:
            table += payoff * share
    return table


def _basis(utilities: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Express the players' utilities by few columns.

    Args:
        utilities: float64 (orders, players).

    Returns:
        The columns, float64 (orders,) each, and float64 (players, columns): the factors.
    """
    basis, factors = list[np.ndarray](), list[np.ndarray]()
    least = ROUNDING * max(float(np.abs(utilities).max()), np.finfo(np.float64).tiny)
    for column in utilities.T:
        columns: Any = np.array(basis).reshape(-1, len(column)).T
        factor = np.linalg.lstsq(columns, column, rcond=None)[0] if basis else np.empty(0)
        if np.abs(columns @ factor - column).max() > least:
            basis.append(column)
            factor = np.append(np.zeros(len(basis) - 1), 1.0)
        factors.append(np.where(np.abs(factor) < ROUNDING, 0.0, factor))
    table = np.zeros((utilities.shape[1], len(basis)))
    for row, factor in zip(table, factors, strict=True):
        row[: len(factor)] = factor
    return basis, table
