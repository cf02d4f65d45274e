"""Product with :class:`PayoffSubsets`, in a time proportional to the number of hands.

This is the algorithm of :mod:`tensorcfr.payoff.card_lanes` with sums over sets of cards.  The reach
that an own hand plays against follows by inclusion and exclusion, from the sums of the opponent's
hands with each set of its cards.  It is the sum of all hands, minus the sums for single cards, plus
those for pairs, minus those for sets of three, plus the hand itself.  A deck of 47 cards has 17,343
sets of up to three cards, whose sums stay in the second-level cache.  A hand of three cards gets a
fourth one outside the deck, which the opponent's hands do not have.

This is a kernel of its own for two reasons.  A hand of two cards needs only two sums, which a loop
over sets would find more slowly.  And a showdown is computed differently: hands are added once, and
the value against all hands is computed from the final sums.  With fifteen sums per hand, this costs
less than a separate pass before the showdown.

In single precision the sums are int32, which may overflow on the way.  They are exact modulo
``2^32``, and the final results are smaller.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types

from .._util.aligned import ALIGNMENT
from .._util.jit import inlined, overload_piece
from .card_lanes import add_cards
from .card_payoffs import CARD_BITS, FOLD, LANES, MOST_PRIVATE, SHOWDOWN, PayoffSubsets
from .card_tiles import Tiles, add_rows, clear, find_scale, read_rows
from .product_share import ProductShare
from .vectors import INDEX, piece


@inlined
def subsets_scratch(part: PayoffSubsets) -> int:
    """Return the scratch numbers for the sums, the scales and the tiles; 0 without terminals."""
    if not len(part.group):
        return 0
    hands = part.sizes[0] + part.sizes[1]
    return LANES * (n_sets(part.sizes[2] + 2) + 2 + hands + 1) + ALIGNMENT


@inlined
def n_sets(cards: int) -> int:
    """Return the number of sets of up to three cards."""
    pairs = cards * (cards - 1) // 2
    return 1 + cards + pairs + pairs * (cards - 2) // 3


def add_subsets(part: PayoffSubsets, share: ProductShare) -> None:
    """Add the products of all groups; the first share has all of them."""
    add_cards(part, share)


class _SubsetScratch(NamedTuple):
    """Layout of the scratch of a part, as addresses."""

    scale: np.int64
    """Address of each lane's factor of reaches, and of its inverse, in single precision."""
    sums: np.int64
    """Address of the sums of hands: all, with each card, with each pair, with each set of three."""
    opponent_tile: np.int64
    """Address of the tile of the other player's hands."""
    payoff_tile: np.int64
    """Address of the tile of payoffs of own hands."""
    cards: np.int64
    """Number of cards in the deck, plus two (not an address)."""


@overload_piece(add_subsets)
def _add_subsets(part, share):  # type: ignore[no-untyped-def]
    reaches = share.types[share.fields.index("reach")]
    bytes_per_row = LANES * (4 if reaches.dtype == types.float32 else 8)

    def add(part, share):  # type: ignore[no-untyped-def]
        player, reach, g = share.player, share.reach, share.g
        weights, sames, boards, walks = part.weight, part.same, part.board, part.hand_list
        groups, sequences, amounts = part.group, part.sequence, part.amount
        lanes, cards, other = part.lanes, part.sizes[2] + 2, 1 - player
        begin = np.int64(share.scratch.ctypes.data)
        # The inverse of the scales is in float64: two rows of single precision.
        scale = begin + (-begin) % ALIGNMENT
        sums = scale + LANES * 16
        met = sums + n_sets(cards) * bytes_per_row
        given = met + (part.sizes[other] + 1) * bytes_per_row
        room = _SubsetScratch(scale, sums, met, given, cards)
        for k in range(groups.shape[0] if share.number == 0 else 0):
            count, board, kind = groups[k, 0], groups[k, 1], groups[k, 2]
            kind_of_board = boards[board, 2]
            own_first = lanes[kind_of_board, player]
            other_first = lanes[kind_of_board, other]
            own_hands = lanes[kind_of_board, player + 1] - own_first
            other_hands = lanes[kind_of_board, other + 1] - other_first
            same = sames[own_first:]
            at = boards[board, player]
            levels, own = np.int64(walks[at]), np.int64(walks[at + 1])
            level = walks[at + 3 :]
            first = walks[at + 3 + 2 * levels :]
            second = walks[at + 3 + 2 * levels + 2 * own :]
            amount = amounts[player, k]
            if own != own_hands:
                # The board makes some own hands impossible: no loop writes their rows.
                clear(given, own_hands * bytes_per_row)
            # Row of zeros for own hands without an opponent's hand of the same cards.
            clear(met + other_hands * bytes_per_row, bytes_per_row)
            clear(sums, n_sets(cards) * bytes_per_row)
            one, all_of_class = weights[0, other_first:], weights[1, other_first:]
            from_rows = sequences[other, k]
            find_scale(reach, from_rows, other_hands, all_of_class, room)
            read_rows(reach, from_rows, other_hands, one, room)
            apart = kind != SHOWDOWN
            for lane in range(LANES):
                apart |= amount[0, lane] != -amount[2, lane]
            fold = kind == FOLD
            _pay(reach, level, levels, first, own, second, same, amount, fold, apart, room)
            add_rows(g, sequences[player, k], count, own_hands, weights[1, own_first:], room)

    return add


# ------------------------------------------------------------------------- pieces, as vectors


class _Sets(Tiles):
    """Code generator of these functions."""

    def wide_hand(self, codes: Any, index: Any) -> tuple[Any, list[Any]]:
        """Generate the decoding of a hand: its class, and its four cards in ascending order."""
        builder = self.builder
        place = builder.shl(index, ir.Constant(INDEX, 1))
        hand = builder.zext(self.number(codes, place), INDEX)
        place = builder.add(place, ir.Constant(INDEX, 1))
        packed = builder.zext(self.number(codes, place), INDEX)
        mask = ir.Constant(INDEX, (1 << CARD_BITS) - 1)
        cards = []
        for k in range(MOST_PRIVATE):
            shifted = builder.lshr(packed, ir.Constant(INDEX, CARD_BITS * k))
            cards.append(builder.and_(shifted, mask))
        return hand, cards

    def sets(self, cards: list[Any]) -> list[tuple[bool, Any]]:
        """Return the sign and the address of the sum, for each set of one to three of four cards.

        The sign is True for a set that inclusion and exclusion subtracts.  Sets are ordered by the
        combinatorial number system: ``a < b < c`` has the number ``C(c, 3) + C(b, 2) + a`` among
        the sets of three cards.
        """
        builder, found = self.builder, []

        def number(value: int) -> Any:
            return ir.Constant(INDEX, value)

        def pairs(card: Any) -> Any:
            both = builder.mul(card, builder.sub(card, number(1)))
            return builder.lshr(both, number(1))

        def triples(card: Any) -> Any:
            three = builder.mul(pairs(card), builder.sub(card, number(2)))
            return builder.udiv(three, number(3))

        n_cards = self.at.cards
        singles = number(1)
        before_pairs = builder.add(singles, n_cards)
        before_triples = builder.add(before_pairs, pairs(n_cards))
        second = [builder.add(before_pairs, pairs(card)) for card in cards]
        second_of_three = [pairs(card) for card in cards]
        third = [builder.add(before_triples, triples(card)) for card in cards]
        for size in (1, 2, 3):
            for chosen in combinations(range(MOST_PRIVATE), size):
                row = cards[chosen[0]]
                if size == 1:
                    row = builder.add(row, singles)
                elif size == 2:
                    row = builder.add(row, second[chosen[1]])
                else:
                    row = builder.add(row, second_of_three[chosen[1]])
                    row = builder.add(row, third[chosen[2]])
                found.append((size % 2 == 1, self.row(self.at.sums, row)))
        return found

    def met_by(self, cards: list[Any]) -> Any:
        """Generate the sum of the opponent's hands that share no card with a hand.

        If the hand with the same cards is in the sums, the result contains it with a minus sign.
        """
        found = self.load(self.row(self.at.sums, ir.Constant(INDEX, 0)))
        for minus, place in self.sets(cards):
            found = (self.subtract if minus else self.add)(found, self.load(place))
        return found

    def put_in(self, codes: Any, index: Any) -> None:
        """Generate the addition of an opponent's hand to the sums."""
        hand, cards = self.wide_hand(codes, index)
        lanes = self.load(self.row(self.at.opponent_tile, hand))
        every = self.row(self.at.sums, ir.Constant(INDEX, 0))
        for place in (every, *(place for _, place in self.sets(cards))):
            self.store(self.add(self.load(place), lanes), place)

    def variable(self, value: Any) -> Any:
        """Allocate a variable with an initial value."""
        return cgutils.alloca_once_value(self.builder, value)

    def no_floats(self) -> Any:
        """Return a row of zeros of a tile."""
        return ir.Constant(self.floats_of_tiles, [0.0] * LANES)

    def given(self, hand: Any, *, of_floats: bool) -> Any:
        """Return the address of the row of a hand's payoffs."""
        return self.row(self.at.payoff_tile, hand, of_floats=of_floats)


@piece(_Sets, "x level levels first own second same amount fold apart room")
def _pay(code: _Sets) -> None:
    """Generate the payoffs of own hands, strength by strength.

    The sums that a hand faces are ``weaker`` before its strength is added, ``not stronger`` after
    it, and ``all`` at the end.  If ties pay nothing and a loss pays minus a win, the hand's payoff
    is ``win * (weaker + not stronger - all)``.  If amounts are ``apart``, it is ``(win - tie) *
    weaker + (tie - lose) * not stronger + lose * all``.  A fold has only the last term.
    """
    builder, at = code.builder, code.at
    zero, one = ir.Constant(INDEX, 0), ir.Constant(INDEX, 1)
    next_own, next_other = code.variable(zero), code.variable(zero)
    win, tie, lose = (code.amount(row) for row in range(3))
    more, less = builder.fsub(win, tie), builder.fsub(tie, lose)

    def met(cards: list[Any], hand: Any) -> Any:
        return code.add(code.met_by(cards), code.same(hand))

    def strength(index: Any) -> None:
        pair = builder.shl(index, one)
        n_own = builder.zext(code.number(at.level, pair), INDEX)
        n_others = builder.zext(code.number(at.level, builder.add(pair, one)), INDEX)
        # In a fold strengths do not matter: only the final sums are read.
        n_own = builder.select(at.fold, zero, n_own)
        own, other = builder.load(next_own), builder.load(next_other)

        def keep(k: Any) -> None:
            hand, cards = code.wide_hand(at.first, builder.add(own, k))
            # Leave out the hand with the same cards: it has the same strength, so it is not weaker.
            code.store(code.met_by(cards), code.given(hand, of_floats=False))

        def give(k: Any) -> None:
            hand, cards = code.wide_hand(at.first, builder.add(own, k))
            place = code.given(hand, of_floats=True)
            before, after = code.load(code.given(hand, of_floats=False)), met(cards, hand)
            with builder.if_else(at.apart) as (of_three, of_one):
                with of_three:
                    paid = builder.fmul(code.floats(before), more)
                    code.store(code.fma(code.floats(after), less, paid), place)
                with of_one:
                    code.store(code.add(before, after), code.given(hand, of_floats=False))

        code.loop(n_own, keep)
        code.loop(n_others, lambda k: code.put_in(at.second, builder.add(other, k)))
        code.loop(n_own, give)
        builder.store(builder.add(own, n_own), next_own)
        builder.store(builder.add(other, n_others), next_other)

    def finish(index: Any) -> None:
        hand, cards = code.wide_hand(at.first, index)
        place, every = code.given(hand, of_floats=True), met(cards, hand)
        with builder.if_else(at.apart) as (of_three, of_one):
            with of_three:
                paid = builder.select(at.fold, code.no_floats(), code.load(place))
                code.store(code.fma(code.floats(every), lose, paid), place)
            with of_one:
                both = code.subtract(code.load(code.given(hand, of_floats=False)), every)
                code.store(builder.fmul(code.floats(both), win), place)

    code.loop(at.levels, strength)
    code.loop(at.own, finish)
