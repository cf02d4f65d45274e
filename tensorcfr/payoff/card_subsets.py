"""Product with :class:`PayoffSubsets`, in a time proportional to the number of hands.

This is the algorithm of :mod:`tensorcfr.payoff.card_lanes` with sums over sets of cards.  The reach
that an own hand plays against follows by inclusion and exclusion, from the sums of the opponent's
hands with each set of its cards.  For four cards it is the sum of all hands, minus the sums for
single cards, plus those for pairs, minus those for sets of three, plus the hand itself.  A deck of
47 cards has 17,343 sets of up to three cards, whose sums stay in the second-level cache.  It has
195,708 sets of up to four, for hands of five cards.  A hand of three cards gets a fourth one
outside the deck, which the opponent's hands do not have.

This is a kernel of its own for two reasons.  A hand of two cards needs only two sums, which a loop
over sets would find more slowly.  And a showdown is computed differently: hands are added once, and
the value against all hands is computed from the final sums.  With fifteen sums per hand or more,
this costs less than a separate pass before the showdown.  A kernel is generated for each number of
cards.

In single precision the sums are int32, which may overflow on the way.  They are exact modulo
``2^32``, and the final results are smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types

from .._util.aligned import ALIGNMENT
from .._util.jit import by_types, inlined, overload_piece
from .card_lanes import add_cards
from .card_payoffs import (
    CARD_BITS,
    CARDS_OF_A_NUMBER,
    CARDS_OF_CODES,
    FOLD,
    LANES,
    SHOWDOWN,
    PayoffSubsets,
    numbers_of_code,
)
from .card_tiles import Tiles, add_rows, clear, find_scale, read_rows
from .product_share import ProductShare
from .vectors import INDEX, piece


@by_types
def subsets_scratch(part):  # type: ignore[no-untyped-def]
    """Return the scratch numbers for the sums, the scales and the tiles; 0 without terminals."""
    width = _cards_of(part)

    def size(part):  # type: ignore[no-untyped-def]
        if not len(part.group):
            return 0
        hands = part.sizes[0] + part.sizes[1]
        return LANES * (n_sets(part.sizes[2] + 2, width) + 2 + hands + 1) + ALIGNMENT

    return size


def _cards_of(part: Any) -> int:
    """Return the number of cards in the code of a hand, from a part or its type in kernels."""
    return CARDS_OF_CODES[getattr(part, "instance_class", type(part))]


@inlined
def n_sets(cards: int, width: int) -> int:
    """Return the number of sets of fewer than ``width`` cards."""
    of_size = total = 1
    for size in range(1, width):
        of_size = of_size * (cards - size + 1) // size
        total += of_size
    return total


def add_subsets(part: PayoffSubsets, share: ProductShare) -> None:
    """Add the products of all groups; the first share has all of them."""
    add_cards(part, share)


class _SubsetScratch(NamedTuple):
    """Layout of the scratch of a part, as addresses."""

    scale: np.int64
    """Address of each lane's factor of reaches, and of its inverse, in single precision."""
    sums: np.int64
    """Address of the sums of hands: all, with each card, with each pair, ..."""
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
    width = _cards_of(part)
    numbers, clear_sums, pay = numbers_of_code(width), CLEAR_SUMS[width], PAY[width]
    sums_per_hand = 2**width - 1

    def add(part, share):  # type: ignore[no-untyped-def]
        player, reach, g = share.player, share.reach, share.g
        weights, sames, boards, hand_lists = part.weight, part.same, part.board, part.hand_list
        groups, sequences, amounts = part.group, part.sequence, part.amount
        lanes, cards, opponent = part.lanes, part.sizes[2] + 2, 1 - player
        begin = np.int64(share.scratch.ctypes.data)
        # The inverse of the scales is in float64: two rows of single precision.
        scale = begin + (-begin) % ALIGNMENT
        sums, n_sums = scale + LANES * 16, n_sets(cards, width)
        opponent_tile = sums + n_sums * bytes_per_row
        payoff_tile = opponent_tile + (part.sizes[opponent] + 1) * bytes_per_row
        layout = _SubsetScratch(scale, sums, opponent_tile, payoff_tile, cards)
        for k in range(groups.shape[0] if share.number == 0 else 0):
            count, board, kind = groups[k, 0], groups[k, 1], groups[k, 2]
            kind_of_board = boards[board, 2]
            own_first = lanes[kind_of_board, player]
            other_first = lanes[kind_of_board, opponent]
            own_hands = lanes[kind_of_board, player + 1] - own_first
            other_hands = lanes[kind_of_board, opponent + 1] - other_first
            same = sames[own_first:]
            list_offset = boards[board, player]
            n_levels = np.int64(hand_lists[list_offset])
            n_own = np.int64(hand_lists[list_offset + 1])
            level_counts = hand_lists[list_offset + 3 :]
            own_codes = hand_lists[list_offset + 3 + 2 * n_levels :]
            other_codes = hand_lists[list_offset + 3 + 2 * n_levels + numbers * n_own :]
            amount = amounts[player, k]
            if n_own != own_hands:
                # The board makes some own hands impossible: no loop writes their rows.
                clear(payoff_tile, own_hands * bytes_per_row)
            # Row of zeros for own hands without an opponent's hand of the same cards.
            clear(opponent_tile + other_hands * bytes_per_row, bytes_per_row)
            # With few hands, clearing all sums would be most of the work.
            if n_own * sums_per_hand < n_sums:
                clear_sums(reach, own_codes, n_own, layout)
            else:
                clear(sums, n_sums * bytes_per_row)
            hand_weights, class_weights = weights[0, other_first:], weights[1, other_first:]
            from_rows = sequences[opponent, k]
            find_scale(reach, from_rows, other_hands, class_weights, layout)
            read_rows(reach, from_rows, other_hands, hand_weights, layout)
            three_amounts = kind != SHOWDOWN
            for lane in range(LANES):
                three_amounts |= amount[0, lane] != -amount[2, lane]
            fold = kind == FOLD
            pay(
                reach,
                level_counts,
                n_levels,
                own_codes,
                n_own,
                other_codes,
                same,
                amount,
                fold,
                three_amounts,
                layout,
            )
            add_rows(g, sequences[player, k], count, own_hands, weights[1, own_first:], layout)

    return add


# ------------------------------------------------------------------------- pieces, as vectors


class _Sets(Tiles):
    """Code generator of these functions, for codes of hands with ``n_cards`` cards."""

    def __init__(self, n_cards: int, builder: Any, args: SimpleNamespace) -> None:
        super().__init__(builder, args)
        self.n_cards = n_cards

    def wide_hand(self, codes: Any, index: Any) -> tuple[Any, list[Any]]:
        """Generate the decoding of a hand: its class, and its cards in ascending order."""
        builder, numbers = self.builder, numbers_of_code(self.n_cards)
        first = builder.mul(index, ir.Constant(INDEX, numbers))
        hand, *packed = (
            builder.zext(self.number(codes, builder.add(first, ir.Constant(INDEX, k))), INDEX)
            for k in range(numbers)
        )
        mask = ir.Constant(INDEX, (1 << CARD_BITS) - 1)
        cards = []
        for k in range(self.n_cards):
            number, place = divmod(k, CARDS_OF_A_NUMBER)
            shifted = builder.lshr(packed[number], ir.Constant(INDEX, CARD_BITS * place))
            cards.append(builder.and_(shifted, mask))
        return hand, cards

    def binomials(self, card: Any) -> list[Any]:
        """Generate the numbers of sets of one, two, ... of the cards below a card."""
        builder, counts = self.builder, [card]
        for size in range(2, self.n_cards):
            # A negative factor is multiplied by a count that is 0 already.
            factor = builder.sub(card, ir.Constant(INDEX, size - 1))
            product = builder.mul(counts[-1], factor)
            counts.append(builder.udiv(product, ir.Constant(INDEX, size)))
        return counts

    def sets(self, cards: list[Any]) -> list[tuple[bool, Any]]:
        """Return the sign and the address of the sum, for each set of some but not all cards.

        The sign is True for a set that inclusion and exclusion subtracts.  Small sets come first,
        and sets of one size are ordered by the combinatorial number system: ``a < b < c`` has the
        number ``C(c, 3) + C(b, 2) + a`` among the sets of three cards.
        """
        builder, signed_addresses = self.builder, []
        below = [self.binomials(card) for card in cards]
        first: Any = ir.Constant(INDEX, 1)
        for size, n_sets_of_size in enumerate(self.binomials(self.at.cards), 1):
            # The number of the largest card includes the sets of smaller sizes.
            largest = [builder.add(first, counts[size - 1]) for counts in below]
            for chosen in combinations(range(self.n_cards), size):
                row = largest[chosen[-1]]
                for k, card in enumerate(chosen[:-1]):
                    row = builder.add(row, below[card][k])
                signed_addresses.append((size % 2 == 1, self.row(self.at.sums, row)))
            first = builder.add(first, n_sets_of_size)
        return signed_addresses

    def disjoint_sum(self, cards: list[Any]) -> Any:
        """Generate the sum of the opponent's hands that share no card with a hand.

        If the hand with the same cards is in the sums, :meth:`opponent_sum` corrects for it.
        """
        total = self.load(self.row(self.at.sums, ir.Constant(INDEX, 0)))
        for minus, address in self.sets(cards):
            total = (self.subtract if minus else self.add)(total, self.load(address))
        return total

    def opponent_sum(self, cards: list[Any], hand: Any) -> Any:
        """Generate the sum that a hand faces, if the hand with the same cards is in the sums.

        :meth:`disjoint_sum` counts that hand once if hands have an odd number of cards, and minus
        once otherwise.
        """
        combine = self.subtract if self.n_cards % 2 else self.add
        return combine(self.disjoint_sum(cards), self.same(hand))

    def add_hand(self, codes: Any, index: Any) -> None:
        """Generate the addition of an opponent's hand to the sums."""
        hand, cards = self.wide_hand(codes, index)
        lanes = self.load(self.row(self.at.opponent_tile, hand))
        total = self.row(self.at.sums, ir.Constant(INDEX, 0))
        for address in (total, *(address for _, address in self.sets(cards))):
            self.store(self.add(self.load(address), lanes), address)

    def variable(self, value: Any) -> Any:
        """Allocate a variable with an initial value."""
        return cgutils.alloca_once_value(self.builder, value)

    def no_floats(self) -> Any:
        """Return a row of zeros of a tile."""
        return ir.Constant(self.floats_of_tiles, [0.0] * LANES)

    def payoff_address(self, hand: Any, *, of_floats: bool) -> Any:
        """Return the address of the row of a hand's payoffs."""
        return self.row(self.at.payoff_tile, hand, of_floats=of_floats)


def _write_clear_sums(code: _Sets) -> None:
    """Generate the clearing of all sums that own hands read, in place of all sums."""
    total = code.row(code.at.sums, ir.Constant(INDEX, 0))
    code.store(code.zeros(), total)

    def clear_hand(index: Any) -> None:
        _, cards = code.wide_hand(code.at.own_codes, index)
        for _, address in code.sets(cards):
            code.store(code.zeros(), address)

    code.loop(code.at.n_own, clear_hand)


def _write_pay(code: _Sets) -> None:
    """Generate the payoffs of own hands, strength by strength.

    The sums that a hand faces are ``weaker`` before its strength is added, ``not stronger`` after
    it, and ``all`` at the end.  If ties pay nothing and a loss pays minus a win, the hand's payoff
    is ``win * (weaker + not stronger - all)``.  With ``three_amounts``, it is ``(win - tie) *
    weaker + (tie - lose) * not stronger + lose * all``.  A fold has only the last term.
    """
    builder, args = code.builder, code.at
    zero, unit = ir.Constant(INDEX, 0), ir.Constant(INDEX, 1)
    next_own, next_other = code.variable(zero), code.variable(zero)
    win, tie, lose = (code.amount(row) for row in range(3))
    weaker_factor, not_stronger_factor = builder.fsub(win, tie), builder.fsub(tie, lose)

    def strength(index: Any) -> None:
        pair = builder.shl(index, unit)
        n_own = builder.zext(code.number(args.level_counts, pair), INDEX)
        n_others = builder.zext(code.number(args.level_counts, builder.add(pair, unit)), INDEX)
        # In a fold strengths do not matter: only the final sums are read.
        n_own = builder.select(args.fold, zero, n_own)
        own_begin, other_begin = builder.load(next_own), builder.load(next_other)

        def store_weaker(k: Any) -> None:
            hand, cards = code.wide_hand(args.own_codes, builder.add(own_begin, k))
            # Leave out the hand with the same cards: it has the same strength, so it is not weaker.
            code.store(code.disjoint_sum(cards), code.payoff_address(hand, of_floats=False))

        def store_payoff(k: Any) -> None:
            hand, cards = code.wide_hand(args.own_codes, builder.add(own_begin, k))
            address = code.payoff_address(hand, of_floats=True)
            before = code.load(code.payoff_address(hand, of_floats=False))
            after = code.opponent_sum(cards, hand)
            with builder.if_else(args.three_amounts) as (with_three, with_opposite):
                with with_three:
                    payoff = builder.fmul(code.floats(before), weaker_factor)
                    code.store(code.fma(code.floats(after), not_stronger_factor, payoff), address)
                with with_opposite:
                    code.store(code.add(before, after), code.payoff_address(hand, of_floats=False))

        code.loop(n_own, store_weaker)
        code.loop(n_others, lambda k: code.add_hand(args.other_codes, builder.add(other_begin, k)))
        code.loop(n_own, store_payoff)
        builder.store(builder.add(own_begin, n_own), next_own)
        builder.store(builder.add(other_begin, n_others), next_other)

    def finish(index: Any) -> None:
        hand, cards = code.wide_hand(args.own_codes, index)
        address = code.payoff_address(hand, of_floats=True)
        final_sum = code.opponent_sum(cards, hand)
        with builder.if_else(args.three_amounts) as (with_three, with_opposite):
            with with_three:
                payoff = builder.select(args.fold, code.no_floats(), code.load(address))
                code.store(code.fma(code.floats(final_sum), lose, payoff), address)
            with with_opposite:
                difference = code.subtract(
                    code.load(code.payoff_address(hand, of_floats=False)), final_sum
                )
                code.store(builder.fmul(code.floats(difference), win), address)

    code.loop(args.n_levels, strength)
    code.loop(args.n_own, finish)


def _pieces(names: str, write: Callable[[_Sets], None]) -> dict[int, Any]:
    """Return a piece for each number of cards of a hand."""
    return {
        n_cards: piece(partial(_Sets, n_cards), names)(write)
        for part, n_cards in CARDS_OF_CODES.items()
        if issubclass(part, PayoffSubsets)
    }


CLEAR_SUMS = _pieces("x own_codes n_own layout", _write_clear_sums)
PAY = _pieces(
    "x level_counts n_levels own_codes n_own other_codes same amount fold three_amounts layout",
    _write_pay,
)
