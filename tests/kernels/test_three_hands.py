"""Payoffs of three hands: the kernel equals sums over all triples of hands."""

from __future__ import annotations

from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

from support.products import pay
from tensorcfr.errors import InvariantError
from tensorcfr.model.arrays import SequenceForm, bucket_layout
from tensorcfr.payoff.product_share import ProductShare
from tensorcfr.payoff.three_hand_orders import _add_orders, three_orders_scratch
from tensorcfr.payoff.three_hand_sums import THREE_HANDS
from tensorcfr.payoff.three_hands import PayoffThreeHands, PayoffThreeOrders


def random_part(
    rng: np.random.Generator,
    deck: int,
    width: int,
    counts: tuple[int, int, int],
    terminals: int,
    *,
    orders: bool = False,
) -> SequenceForm:
    """Three random ranges on two boards; with ``orders``, every second terminal pays by order."""
    numbers = deck * (3 - width)
    # Few cards of a large deck, so that many hands share one.
    cards_dealt = range(deck) if deck <= 12 else [*range(6), *range(deck - 3, deck)]
    every = np.array(list(combinations(cards_dealt, width)), dtype=np.int64)
    hands = []
    for count in counts:
        chosen = rng.permutation(every)[:count]
        # A hand of one card is written as two cards that only hands of this card have.
        hands.append(chosen if width == 2 else np.column_stack([chosen, chosen + deck]))
    counts = tuple(map(len, hands))
    begin = np.append(0, np.cumsum(counts))
    cards, total = np.concatenate(hands), int(begin[-1])
    weight = rng.random(total) + 0.1
    class_of = np.concatenate([np.arange(n) for n in counts])[None]
    strength = rng.integers(0, max(2, len(every) // 4), (2, numbers, numbers))
    strength = np.maximum(strength, strength.transpose(0, 2, 1))
    level = strength[:, cards[:, 0], cards[:, 1]]
    for board in range(2):
        level[board][(cards == board).any(axis=1)] = -1
    order = np.concatenate(
        [np.argsort(level[:, b:e], axis=1, kind="stable") for b, e in pairwise(begin)],
        axis=1,
    )
    # A constant alone, then pots for the two first, for both, and all together.
    pots = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [1] * 4])
    level_end = np.stack(
        [
            [[(row[b:e] < n).sum() for n in range(level.max() + 2)] for b, e in pairwise(begin)]
            for row in level
        ]
    )
    amount = rng.normal(size=(3, terminals, 4)) * pots[np.arange(terminals) % 6]
    if orders:
        by_order = rng.normal(size=(3, terminals, 13)) * (np.arange(terminals) % 2)[:, None]
        amount = np.concatenate([amount, by_order], axis=2)
    sequences = np.zeros((3, terminals), dtype=np.int64)
    bounds = [0]
    for player, n in enumerate(counts):
        sequences[player] = bounds[-1] + 1 + n * np.arange(terminals)
        bounds.append(bounds[-1] + 1 + n * terminals)
    part = (PayoffThreeOrders if orders else PayoffThreeHands)(
        cards=np.array([numbers]),
        hand_begin=begin,
        hand=cards,
        weight=weight,
        class_of=class_of,
        own_weight=weight[None].copy(),
        board_kind=np.zeros(2, dtype=np.int64),
        level=level,
        order=order,
        level_end=level_end,
        terminal_board=np.arange(terminals) % 2,
        sequence=sequences,
        amount=amount,
    )
    players = np.arange(3)
    actions = np.diff(bounds) - 1
    layout = bucket_layout(players, 0 * players, actions, np.ones(3, np.int64), 3)
    return SequenceForm(**layout, infoset_parent=np.array(bounds[:-1], np.uint32), operator=(part,))


def by_order(payoffs: list[float], strengths: list[int]) -> float:
    """The payoff by the order of an own hand and two others; 0 without such payoffs."""
    if not payoffs:
        return 0.0
    own, first, second = strengths
    relations = [0 if own > other else 1 if own == other else 2 for other in (first, second)]
    payoff = payoffs[3 * relations[0] + relations[1]]
    if relations[0] == relations[1] != 1 and first != second:
        payoff += payoffs[9 + relations[0] + (first < second)]
    return payoff


def triples_of(form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
    """Payoffs by a sum over all triples of hands, from the definition."""
    part: Any = form.operator[0]
    first, second = (p for p in range(3) if p != player)
    g = np.zeros(form.n_sequences)
    begin = part.hand_begin

    def hands(p: int) -> list[tuple[int, set[int]]]:
        own = part.hand[begin[p] : begin[p + 1]].tolist()
        return [(h, {*cards}) for h, cards in enumerate(own)]

    for k, board in enumerate(part.terminal_board.tolist()):
        level = [part.level[board, begin[p] : begin[p + 1]] for p in range(3)]
        for h, own in hands(player):
            for i, cards in hands(first):
                for j, others in hands(second):
                    if own & cards or own & others or cards & others:
                        continue
                    if min(level[player][h], level[first][i], level[second][j]) < 0:
                        continue
                    weight = np.prod(
                        [
                            part.weight[begin[p] + n]
                            for p, n in ((player, h), (first, i), (second, j))
                        ]
                    )
                    strengths = [level[p][n] for p, n in ((player, h), (first, i), (second, j))]
                    constant, *pots = part.amount[player, k, :4].tolist()
                    payoff = constant + by_order(part.amount[player, k, 4:].tolist(), strengths)
                    for pot, rivals in zip(pots, ((1,), (2,), (1, 2)), strict=True):
                        best = max(strengths[0], *(strengths[n] for n in rivals))
                        winners = [strengths[n] == best for n in (0, *rivals)]
                        payoff += pot * winners[0] / sum(winners)
                    at = [
                        part.sequence[p, k] + n for p, n in ((player, h), (first, i), (second, j))
                    ]
                    g[at[0]] += weight * payoff * x[at[1]] * x[at[2]]
    return g


def assert_sums_over_triples(form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
    """Compare the product and the kernel in both precisions; returns the expected payoffs."""
    own = form.of_player(player)
    expected = triples_of(form, player, x)[own]
    product = form.operator[0].product(form, player, x)
    np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        g = np.zeros(form.n_sequences, dtype=dtype)
        pay(form, player, x.astype(dtype), g)
        np.testing.assert_allclose(
            g[own], expected, rtol=0, atol=tolerance * np.abs(expected).max()
        )
    return expected


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("deck", "width", "counts"), [(9, 2, (36, 20, 25)), (7, 1, (7, 7, 5)), (52, 2, (12, 14, 9))]
)
def test_payoffs_by_order_equal_a_sum_over_triples(
    deck: int, width: int, counts: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(deck)
    form = random_part(rng, deck, width, counts, terminals=8, orders=True)
    x = rng.random(form.n_sequences)
    for player in range(3):
        expected = assert_sums_over_triples(form, player, x)
        largest = form.operator[0].magnitudes().product(form, player, x)
        assert (largest >= np.abs(expected) * (1 - 1e-12)).all()


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("deck", "width", "counts"),
    [
        (9, 2, (36, 20, 25)),
        (12, 2, (15, 3, 40)),
        (7, 1, (7, 7, 5)),
        (4, 1, (4, 4, 4)),
        # Rows of six and of seven vectors.
        (48, 2, (12, 14, 9)),
        (52, 2, (12, 14, 9)),
    ],
)
def test_the_kernel_equals_a_sum_over_triples(
    deck: int, width: int, counts: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(deck)
    form = random_part(rng, deck, width, counts, terminals=12)
    x = rng.random(form.n_sequences)
    for player in range(3):
        assert_sums_over_triples(form, player, x)


SPOILT = [
    ("D1", "level", (), np.zeros((2, 3), dtype=np.int64), "level has shape"),
    ("D1", "hand_begin", 1, 0, "player 0 has no hands"),
    ("D2", "hand", (1, 1), 9, "hand 1 has the cards"),
    ("D2", "weight", 3, 0.0, "hand 3 has weight 0"),
    ("D3", "class_of", (0, 0), 1, "classes of player 0 on boards of kind 0"),
    ("D3", "own_weight", (0, 1), 0.0, "a class of player 0"),
    ("D3", "own_weight", (0, 1), 5.0, "class 1 of player 0 .* has another weight"),
    ("D4", "board_kind", 1, 1, "board 1 has kind 1"),
    ("D4", "level", (0, 2), -2, "a hand on board 0 has a level below -1"),
    ("D4", "order", (1, 0), 1, "the order of player 0 on board 1 has not every hand once"),
    ("D4", "level", (0, 5), 99, "the order of player 0 on board 0 is not by level"),
    ("D2", "hand", 1, [0, 1], "player 0 has a hand twice"),
    ("D4", "level_end", (1, 2, 1), 0, "level_end does not count the hands of player 2 on board 1"),
    ("D4", "level", (0, slice(36, 56)), 99, "hands with the same cards have different levels"),
    ("D5", "terminal_board", 2, 2, "terminal 2 has board 2"),
    ("D5", "sequence", (1, 0), 0, "terminal 0 ends sequence 0 of player 1"),
    ("D6", "amount", (0, 4, 0), np.nan, "an amount of terminal 4 is not finite"),
]


@pytest.mark.parametrize(("number", "name", "place", "value", "message"), SPOILT)
def test_a_broken_invariant_is_named(
    number: str, name: str, place: Any, value: Any, message: str
) -> None:
    form = random_part(np.random.default_rng(9), 9, 2, (36, 20, 25), terminals=12)
    part: Any = form.operator[0]
    for _, _, check in THREE_HANDS.invariants:
        check(part, SimpleNamespace(form=form))
    array = getattr(part, name).copy()
    if place == ():
        array = value
    else:
        array[place] = value
    part = part._replace(**{name: array})
    for listed, _, check in THREE_HANDS.invariants:
        if listed == number:
            with pytest.raises(InvariantError, match=message):
                check(part, SimpleNamespace(form=form))
            return
        check(part, SimpleNamespace(form=form))


@pytest.mark.parametrize("player", range(3))
def test_payoffs_by_order_alone(player: int) -> None:
    """The same without pots; with the JIT off, too, where the products by pots do not run."""
    rng = np.random.default_rng(player)
    form = random_part(rng, 7, 2, (12, 9, 10), terminals=4, orders=True)
    part: Any = form.operator[0]
    part.amount[:, :, :4] = 0.0
    x, g = rng.random(form.n_sequences), np.zeros(form.n_sequences)
    expected = triples_of(form, player, x)[form.of_player(player)]
    if numba.config.DISABLE_JIT:
        scratch = np.zeros(three_orders_scratch(part))
        for number in range(2):
            share = ProductShare(form.hand_rank, player, number, 2, x, g, scratch, None)
            _add_orders(part, share)
    else:
        pay(form, player, x, g)
    np.testing.assert_allclose(g[form.of_player(player)], expected, rtol=0, atol=1e-12)
