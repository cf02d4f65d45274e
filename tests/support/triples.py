"""Sums over triples of hands: payoffs and equities of three players, one triple at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

import numpy as np

from tensorcfr.compilers.cards.card_public_nodes import CardNodes
from tensorcfr.rules import CardGame, Fold, SidePots


def triples(
    rules: CardGame, board: tuple[int, ...], weights: Sequence[np.ndarray]
) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Yield three hands that share no card with each other or the board, and their weights."""
    for hands in product(*(range(len(own)) for own in rules.hands)):
        cards = [*board]
        for player, hand in enumerate(hands):
            cards += rules.hands[player][hand].tolist()
        if len(set(cards)) == len(cards):
            yield hands, tuple(float(weights[p][h]) for p, h in enumerate(hands))


def strengths_of(
    rules: CardGame, board: tuple[int, ...], hands: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """Return the strengths of three hands, ranking by ranking."""
    of_players = [
        rules.strength(board, rules.hands[player][hand][None]).ravel().tolist()
        for player, hand in enumerate(hands)
    ]
    return list(zip(*of_players, strict=True))


def shares(rankings: Sequence[Sequence[int]], competing: Sequence[int]) -> list[float]:
    """Return each player's share of a pot, of which each ranking decides an equal part."""
    won = [0.0] * 3
    for strength in rankings:
        best = max(strength[player] for player in competing)
        winners = [player for player in competing if strength[player] == best]
        for player in winners:
            won[player] += 1 / len(winners) / len(rankings)
    return won


def paid(
    rules: CardGame, end: Fold | SidePots, board: tuple[int, ...], hands: tuple[int, ...]
) -> list[float]:
    """Return each player's utility at a terminal."""
    if isinstance(end, Fold):
        return list(end.utilities)
    utilities = [-amount for amount in end.paid]
    strength = strengths_of(rules, board, hands)
    for amount, competing in end.pots:
        for player, share in enumerate(shares(strength, competing)):
            utilities[player] += amount * share
    return utilities


def sums_over_triples(
    rules: CardGame,
    board: tuple[int, ...],
    weights: Sequence[np.ndarray],
    player: int,
    number: Callable[[tuple[int, ...]], float],
) -> np.ndarray:
    """Return for each hand of a player the sum of a number of the triples with it, times the
    weights of the others' hands."""
    sums = np.zeros(len(rules.hands[player]))
    for hands, weight in triples(rules, board, weights):
        others = np.prod([weight[p] for p in range(3) if p != player])
        sums[hands[player]] += others * number(hands)
    return sums


def check_single_terminals(
    nodes: CardNodes, terminals: Sequence[int], rng: np.random.Generator
) -> None:
    """Compare the payoffs of terminals, for random reaches, with sums over triples."""
    rules = nodes.rules
    for node in terminals:
        reaches = [rng.random(len(hands)) for hands in rules.hands]
        weights = [w * r for w, r in zip(rules.weights, reaches, strict=True)]
        end, board = rules.node(nodes.state(node)), nodes.cards(node)
        for player in range(3):
            each = lambda hands: paid(rules, end, board, hands)[player]  # noqa: B023, E731
            sums = sums_over_triples(rules, board, weights, player, each)
            expected = sums * rules.weights[player] * nodes.share(node)
            found = nodes.payoffs(node, player, reaches)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def equities_by_triples(
    rules: CardGame,
    board: tuple[int, ...],
    weights: Sequence[np.ndarray],
    dealt: int,
    competing: Sequence[int],
) -> list[np.ndarray]:
    """Return each player's equities; NaN without a triple, and for players who have folded."""
    free = sorted(set(rules.free.tolist()) - set(board))
    found = []
    for player in range(3):
        won, met = np.zeros((2, len(rules.hands[player])))
        for cards in combinations(free, dealt):
            whole = (*board, *cards)

            def share(
                hands: tuple[int, ...], whole: tuple[int, ...] = whole, player: int = player
            ) -> float:
                return shares(strengths_of(rules, whole, hands), competing)[player]

            won += sums_over_triples(rules, whole, weights, player, share)
            met += sums_over_triples(rules, whole, weights, player, lambda hands: 1.0)
        impossible = (met <= 0) | (player not in competing)
        found.append(np.where(impossible, np.nan, won / np.where(met > 0, met, 1.0)))
    return found
