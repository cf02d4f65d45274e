"""Payoffs of three hands that depend on the order of all of them, as those of prizes do.

An own hand is stronger than another one, equal, or weaker.  The nine pairs of these relations to
both other hands are forms as in :mod:`~tensorcfr.payoff.three_hand_sums`, of tables with the
weaker, the equal and the stronger hands.  If both others are weaker, or both stronger, the payoff
may also depend on which of them is the stronger.

Own hands are processed by ascending strength.  Let a hand with the cards ``c`` and ``d`` and the
weight ``w`` be the stronger one of two hands that are weaker than the own hand.  The total weight
of the other one is ``D = Y - Y_c - Y_d``, where ``Y`` is over the hands that came before.  The sum
of ``w D`` over all such hands is the weight ``S`` of these pairs.  Pairs with an own card are left
out by inclusion and exclusion: ``S - S_a - S_b + S_ab``.  No pair has both own cards in one hand,
because that hand would be as strong as the own one.  Pairs of stronger hands are summed in the same
way by descending strength.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined, overload_piece
from .product_share import ProductShare
from .three_hand_sums import ALL_CLASSES, THREE_HANDS, add_three_hands, three_hands_scratch
from .three_hands import POTS, RELATIONS, PayoffThreeOrders

PASSED, EQUAL, ALL = range(3)
"""Tables of hands: those that came before the own hand, those as strong as it, and all."""


class _OrderTables(NamedTuple):
    """Sums over the hands of the two opponents; the last axis of sums is cards, then all cards."""

    cells: np.ndarray
    """float64 (3, 2, cards, cards): weight of each hand, by table and opponent."""
    sums: np.ndarray
    """float64 (3, 2, cards + 1): sums over the hands with each card, and over all."""
    products: np.ndarray
    """float64 (3, cards + 1): the same of the products of the weights that both opponents
    give the same hand."""
    pairs: np.ndarray
    """float64 (2, cards, cards): weight of the disjoint pairs in which the later hand has a card
    and the earlier one another card.  In the first table the first opponent has the later hand."""
    pair_sums: np.ndarray
    """float64 (2, cards + 1): weight of the pairs with each card, and of all."""
    dots: np.ndarray
    """float64 (3, 3): scratch."""


class _OpponentHands(NamedTuple):
    """Hands of an opponent at a terminal."""

    order: np.ndarray
    """int64 (hands,): hands by ascending strength."""
    ends: np.ndarray
    """int64 (levels + 1,): number of hands up to each level, from -1."""
    cards: np.ndarray
    """int64 (hands, 2): cards."""
    values: np.ndarray
    """float64 (hands,): products of weights and reaches."""


def add_three_orders(part: PayoffThreeOrders, share: ProductShare) -> None:
    """Add the products of the own hands of a share, by pots and by order."""
    add_three_hands(part, share)


@overload_piece(add_three_orders)
def _add_three_orders(part, share):  # type: ignore[no-untyped-def]
    def add(part, share):  # type: ignore[no-untyped-def]
        add_three_hands(part, share)
        _add_orders(part, share)

    return add


@inlined
def three_orders_scratch(part: PayoffThreeOrders) -> int:
    """Return the scratch numbers of a part."""
    cards = part.cards[0]
    numbers = 8 * cards * cards + 11 * (cards + 1) + 9 + part.hand_begin[3]
    return max(numbers, three_hands_scratch(part))


@inlined
def _add_orders(part: PayoffThreeOrders, share: ProductShare) -> None:
    """Add the payoffs by order to the products of a share of the own classes."""
    player, number, of = share.player, share.number, share.of
    reach, g, scratch = share.reach, share.g, share.scratch
    first = 1 if player == 0 else 0
    second = 1 if player == 2 else 2
    begins, cards = part.hand_begin, part.cards[0]
    square, row = cards * cards, cards + 1
    tables = _OrderTables(
        scratch[: 6 * square].reshape(3, 2, cards, cards),
        scratch[6 * square : 6 * square + 6 * row].reshape(3, 2, row),
        scratch[6 * square + 6 * row : 6 * square + 9 * row].reshape(3, row),
        scratch[6 * square + 9 * row : 8 * square + 9 * row].reshape(2, cards, cards),
        scratch[8 * square + 9 * row : 8 * square + 11 * row].reshape(2, row),
        scratch[8 * square + 11 * row : 8 * square + 11 * row + 9].reshape(3, 3),
    )
    values = scratch[8 * square + 11 * row + 9 :]
    own_begin, own_end = begins[player], begins[player + 1]
    own_cards = part.hand[own_begin:own_end]
    for k in range(part.terminal_board.shape[0]):
        amount = part.amount[player, k, POTS:]
        if not np.any(amount):
            continue
        board = part.terminal_board[k]
        kind = part.board_kind[board]
        own_weight = part.own_weight[kind, own_begin:own_end]
        own_class = part.class_of[kind, own_begin:own_end]
        class_begin, class_end = 0, ALL_CLASSES
        if of > 1:
            n_classes = own_class.max() + 1
            class_begin = (number * n_classes + of - 1) // of
            class_end = ((number + 1) * n_classes + of - 1) // of
        hands = (
            _hands_of(part, first, board, kind, reach[part.sequence[first, k] :], values),
            _hands_of(
                part,
                second,
                board,
                kind,
                reach[part.sequence[second, k] :],
                values[begins[first + 1] - begins[first] :],
            ),
        )
        own_order = part.order[board, own_begin:own_end]
        own_ends = part.level_end[board, player]
        g_own = g[part.sequence[player, k] :]
        levels = own_ends.shape[0] - 1
        for is_descending in range(2):
            # The last two amounts are those of pairs of stronger hands.
            extras = amount[RELATIONS + 2 * is_descending :]
            if is_descending and extras[0] == 0.0 and extras[1] == 0.0:
                continue
            _clear(tables)
            if not is_descending:
                for opponent in range(2):
                    _enter(tables, ALL, opponent, hands[opponent], hands[opponent].ends[0], -1)
                _multiply(tables, ALL, hands[0], hands[0].ends[0], len(hands[0].order))
            for step in range(levels):
                level = levels - 1 - step if is_descending else step
                if not is_descending:
                    for opponent in range(2):
                        ends = hands[opponent].ends
                        _enter(
                            tables, EQUAL, opponent, hands[opponent], ends[level], ends[level + 1]
                        )
                    ends = hands[0].ends
                    _multiply(tables, EQUAL, hands[0], ends[level], ends[level + 1])
                for index in range(own_ends[level], own_ends[level + 1]):
                    h = own_order[index]
                    if own_weight[h] == 0.0 or not class_begin <= own_class[h] < class_end:
                        continue
                    a, b = own_cards[h, 0], own_cards[h, 1]
                    payoff = 0.0 if is_descending else _by_relations(tables, amount, a, b)
                    # Later hands are nearer to the own hand: the stronger of two weaker ones.
                    payoff += extras[is_descending] * _without(tables, 0, a, b)
                    payoff += extras[1 - is_descending] * _without(tables, 1, a, b)
                    g_own[own_class[h]] += own_weight[h] * payoff
                for opponent in range(2):
                    _pair(tables, opponent, hands[opponent], level)
                for opponent in range(2):
                    ends = hands[opponent].ends
                    _enter(tables, PASSED, opponent, hands[opponent], ends[level], ends[level + 1])
                if not is_descending:
                    ends = hands[0].ends
                    _multiply(tables, PASSED, hands[0], ends[level], ends[level + 1])
                    _leave_equal(tables, hands, level)


@inlined
def _hands_of(
    part: PayoffThreeOrders,
    opponent: int,
    board: int,
    kind: int,
    reach: np.ndarray,
    values: np.ndarray,
) -> _OpponentHands:
    """Return the hands of an opponent at a terminal, with their weights in ``values``."""
    begin, end = part.hand_begin[opponent], part.hand_begin[opponent + 1]
    for h in range(begin, end):
        is_live = part.level[board, h] >= 0
        values[h - begin] = part.weight[h] * reach[part.class_of[kind, h]] if is_live else 0.0
    return _OpponentHands(
        part.order[board, begin:end], part.level_end[board, opponent], part.hand[begin:end], values
    )


@inlined
def _clear(tables: _OrderTables) -> None:
    """Set all tables to 0."""
    tables.cells[:] = 0.0
    tables.sums[:] = 0.0
    tables.products[:] = 0.0
    tables.pairs[:] = 0.0
    tables.pair_sums[:] = 0.0


@inlined
def _enter(
    tables: _OrderTables, table: int, opponent: int, hands: _OpponentHands, begin: int, end: int
) -> None:
    """Add some hands of an opponent to a table, by their places in the order; -1 for the rest."""
    cells, sums = tables.cells[table, opponent], tables.sums[table, opponent]
    for index in range(begin, len(hands.order) if end < 0 else end):
        h = hands.order[index]
        c, d, value = hands.cards[h, 0], hands.cards[h, 1], hands.values[h]
        cells[c, d] += value
        cells[d, c] += value
        sums[c] += value
        sums[d] += value
        sums[-1] += value


@inlined
def _multiply(
    tables: _OrderTables, table: int, hands: _OpponentHands, begin: int, end: int
) -> None:
    """Add the products of both opponents' weights of the first opponent's hands in a table."""
    seconds, products = tables.cells[table, 1], tables.products[table]
    for index in range(begin, end):
        h = hands.order[index]
        c, d = hands.cards[h, 0], hands.cards[h, 1]
        product = hands.values[h] * seconds[c, d]
        products[c] += product
        products[d] += product
        products[-1] += product


@inlined
def _leave_equal(
    tables: _OrderTables, hands: tuple[_OpponentHands, _OpponentHands], level: int
) -> None:
    """Set the table of equal hands to 0."""
    for opponent in range(2):
        of_opponent = hands[opponent]
        for index in range(of_opponent.ends[level], of_opponent.ends[level + 1]):
            h = of_opponent.order[index]
            c, d = of_opponent.cards[h, 0], of_opponent.cards[h, 1]
            tables.cells[EQUAL, opponent, c, d] = 0.0
            tables.cells[EQUAL, opponent, d, c] = 0.0
    tables.sums[EQUAL] = 0.0
    tables.products[EQUAL] = 0.0


@inlined
def _pair(tables: _OrderTables, opponent: int, hands: _OpponentHands, level: int) -> None:
    """Add the pairs of an opponent's hands of a level with the other's hands before them."""
    cells, sums = tables.cells[PASSED, 1 - opponent], tables.sums[PASSED, 1 - opponent]
    pairs, pair_sums = tables.pairs[opponent], tables.pair_sums[opponent]
    cards = cells.shape[0]
    for index in range(hands.ends[level], hands.ends[level + 1]):
        h = hands.order[index]
        c, d, value = hands.cards[h, 0], hands.cards[h, 1], hands.values[h]
        if value == 0.0:
            continue
        disjoint = value * (sums[-1] - sums[c] - sums[d] + cells[c, d])
        pair_sums[c] += disjoint
        pair_sums[d] += disjoint
        pair_sums[-1] += disjoint
        for a in range(cards):
            if a != c and a != d:
                with_card = value * (sums[a] - cells[a, c] - cells[a, d])
                pair_sums[a] += with_card
                pairs[c, a] += with_card
                pairs[d, a] += with_card


@inlined
def _without(tables: _OrderTables, table: int, a: int, b: int) -> float:
    """Return the weight of the pairs of a table that have neither of two cards."""
    sums, pairs = tables.pair_sums[table], tables.pairs[table]
    weight: float = sums[-1] - sums[a] - sums[b] + pairs[a, b] + pairs[b, a]
    return weight


@inlined
def _by_relations(tables: _OrderTables, amount: np.ndarray, a: int, b: int) -> float:
    """Return the payoff of an own hand with two cards by its relations to both other hands."""
    cells, sums, dots = tables.cells, tables.sums, tables.dots
    dots[:] = 0.0
    for c in range(cells.shape[2]):
        if c != a and c != b:
            first_passed, first_equal, first_later = _relations(cells, sums, 0, c, a, b)
            passed, equal, later = _relations(cells, sums, 1, c, a, b)
            dots[0, 0] += first_passed * passed
            dots[0, 1] += first_passed * equal
            dots[0, 2] += first_passed * later
            dots[1, 0] += first_equal * passed
            dots[1, 1] += first_equal * equal
            dots[1, 2] += first_equal * later
            dots[2, 0] += first_later * passed
            dots[2, 1] += first_later * equal
            dots[2, 2] += first_later * later
    firsts, seconds = _totals(cells, sums, 0, a, b), _totals(cells, sums, 1, a, b)
    products = tables.products
    shared = (
        _shared(products[PASSED], cells[PASSED], a, b),
        _shared(products[EQUAL], cells[EQUAL], a, b),
        _shared(products[ALL], cells[ALL], a, b),
    )
    same = (shared[0], shared[1], shared[2] - shared[0] - shared[1])
    payoff = 0.0
    for i in range(3):
        for j in range(3):
            weight = firsts[i] * seconds[j] - dots[i, j]
            if i == j:
                weight += same[i]
            payoff += amount[3 * i + j] * weight
    return payoff


@inlined
def _relations(
    cells: np.ndarray, sums: np.ndarray, opponent: int, c: int, a: int, b: int
) -> tuple[float, float, float]:
    """Return the weights of an opponent's hands with card ``c`` and neither of two others that came
    before, are equal, and come later."""
    passed = (
        sums[PASSED, opponent, c] - cells[PASSED, opponent, a, c] - cells[PASSED, opponent, b, c]
    )
    equal = sums[EQUAL, opponent, c] - cells[EQUAL, opponent, a, c] - cells[EQUAL, opponent, b, c]
    every = sums[ALL, opponent, c] - cells[ALL, opponent, a, c] - cells[ALL, opponent, b, c]
    return passed, equal, every - passed - equal


@inlined
def _totals(
    cells: np.ndarray, sums: np.ndarray, opponent: int, a: int, b: int
) -> tuple[float, float, float]:
    """Return the weights of an opponent's hands without two cards that came before, are equal, and
    come later."""
    passed = sums[PASSED, opponent, -1] - sums[PASSED, opponent, a] - sums[PASSED, opponent, b]
    passed += cells[PASSED, opponent, a, b]
    equal = sums[EQUAL, opponent, -1] - sums[EQUAL, opponent, a] - sums[EQUAL, opponent, b]
    equal += cells[EQUAL, opponent, a, b]
    every = sums[ALL, opponent, -1] - sums[ALL, opponent, a] - sums[ALL, opponent, b]
    every += cells[ALL, opponent, a, b]
    return passed, equal, every - passed - equal


@inlined
def _shared(products: np.ndarray, cells: np.ndarray, a: int, b: int) -> float:
    """Return the products of both weights, summed over the hands without two cards."""
    weight: float = products[-1] - products[a] - products[b] + cells[0, a, b] * cells[1, a, b]
    return weight


THREE_ORDERS = THREE_HANDS._replace(
    part=PayoffThreeOrders, add=add_three_orders, scratch=three_orders_scratch
)
"""Kind of payoffs of three hands that depend on the order of all of them."""
