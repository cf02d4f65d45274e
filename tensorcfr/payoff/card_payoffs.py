"""Payoffs of hands that are sets of cards: folds, and showdowns by strength."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from .payoff_form import PayoffForm

LANES = 16
"""Number of terminals that are processed together: the lanes of a vector of float32."""
FOLD, SHOWDOWN, TIES_PAY = 0, 1, 2
"""Kinds of groups: folds, where strengths do not matter; showdowns in which ties pay nothing; and
showdowns in which ties pay."""
HAND_BITS, CARD_BITS = 16, 8
"""Bits of class and card in a code: a hand of one or two cards is ``class | card << 16 | other card
<< 24``."""
CARDS_OF_A_NUMBER = 4
"""Number of cards in a number of the code of a longer hand."""
MOST_CARDS = (1 << CARD_BITS) - 2
"""Largest number of cards of a deck."""
WIDE_FROM = 3
"""Number of cards of a hand from which on a code takes several numbers."""


class PayoffCards(NamedTuple):
    """Part of the payoff operator for hands of one or two cards.

    Two hands without a common card have a probability proportional to the product of their weights.
    Hands that are equivalent on a board form a *class*, with one sequence; the kind of a board
    determines its classes.  A *group* is up to :data:`LANES` public terminals on one board with
    different last sequences.  At terminal ``t`` it adds

        g[c, t] += weight[1, c] * sum_o weight[0, class of o] * amount * x[class of o, t]

    over the hands ``o`` of the other player that share no card with the board or with the first
    hand of class ``c``.  The amount is that of a win, a tie or a loss.  Only games of two players
    have such parts.

    A *hand list* (an entry of ``hand_list``) has the hands that are possible on a board, weakest
    first, for one player.  It consists of

    1. the numbers of strengths, of own classes and of the other player's hands;
    2. for each strength, the numbers of own classes and of the other player's hands;
    3. the first hand of each own class;
    4. the other player's hands.
    """

    sizes: Annotated[np.ndarray, np.int64, 3]
    """int64 (3,): largest number of classes of player 0 on any board, of player 1, and number of
    cards in the deck."""
    lanes: Annotated[np.ndarray, np.int64, "kinds", 3]
    """int64 (kinds, 3): on boards of each kind, the classes of player ``i`` are ``[k, i]`` to ``[k,
    i + 1] - 1`` in the arrays over classes."""
    weight: Annotated[np.ndarray, np.float64, 2, "classes"]
    """float64 (2, classes): weight of one hand of each class, and of all its hands together."""
    same: Annotated[np.ndarray, np.uint32, "classes"]
    """uint32 (classes,): class of the other player whose hands have the same cards, counted from
    the first class of the kind.  If there is no such class, or if codes of hands end with a number
    outside the deck, the number of the other player's classes."""
    board: Annotated[np.ndarray, np.int64, "boards", 3]
    """int64 (boards, 3): index in ``hand_list`` of each player's hand list, and kind of the
    board."""
    hand_list: Annotated[np.ndarray, np.uint32, "walk"]
    """uint32 (numbers,): hand lists, with the class and the cards of each hand.  A hand of one or
    three cards ends with a number outside the deck.  For own hands it is the number of cards, and
    for the other player's hands one more, so the two never agree."""
    group: Annotated[np.ndarray, np.int64, "groups", 3]
    """int64 (groups, 3): number of terminals, board, kind (:data:`FOLD`, ...)."""
    sequence: Annotated[np.ndarray, np.int64, 2, "groups", LANES]
    """int64 (2, groups, LANES): last sequence of the first class of player ``i`` at each terminal;
    the sequences of the other classes follow it.  Lanes without a terminal repeat the first
    terminal."""
    amount: Annotated[np.ndarray, np.float64, 2, "groups", 3, LANES]
    """float64 (2, groups, 3, LANES): payoff of player ``i`` for a win, a tie and a loss, times the
    total weight of the boards that are solved as one, and the probability of a deal of weight 1.  A
    win and a loss have different payoffs, except in groups of folds, where all three are equal."""

    @property
    def kind(self) -> str:
        """Name of the kind; see :attr:`tensorcfr.payoff.PayoffPart.kind`."""
        return "cards"

    @property
    def numbers(self) -> int:
        """Length of a hand's code in a hand list."""
        return numbers_of_code(CARDS_OF_CODES[type(self)])

    @property
    def is_empty(self) -> bool:
        """True if there are no groups."""
        return not len(self.group)

    def classes(self, board: int, player: int) -> slice:
        """Return the range of a player's classes on a board, in the arrays over classes."""
        begin, end = self.lanes[self.board[board, 2], player : player + 2].tolist()
        return slice(begin, end)

    def product(self, form: PayoffForm, player: int, x: np.ndarray) -> np.ndarray:
        """Compute the payoffs of a player's sequences hand by hand, for tests.

        See :meth:`tensorcfr.payoff.PayoffPart.product`.
        """
        begin, end = form.player_sequences[player : player + 2].tolist()
        g = np.zeros(end - begin)
        for rows, columns, matrix in self._matrices(player):
            g[rows - begin] += matrix @ x[columns]
        return g

    def triples(self, form: PayoffForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the part entry by entry; see :meth:`tensorcfr.payoff.PayoffPart.triples`."""
        empty = np.empty(0, dtype=np.int64)
        rows, columns, values = [empty], [empty], [np.empty(0)]
        for own_sequences, other_sequences, matrix in self._matrices(player):
            first, second = np.nonzero(matrix)
            rows.append(own_sequences[first])
            columns.append(other_sequences[second])
            values.append(matrix[first, second])
        return np.concatenate(rows), np.concatenate(columns)[None], np.concatenate(values)

    def count_entries(self, form: PayoffForm, player: int) -> int:
        """Return an upper bound of the number of entries that :meth:`triples` returns."""
        return int(self.group[:, 0].sum() * self.sizes[0] * self.sizes[1])

    def magnitudes(self) -> PayoffCards:
        """Return the part with the largest absolute amount in place of all three amounts."""
        amount = np.broadcast_to(np.abs(self.amount).max(axis=2, keepdims=True), self.amount.shape)
        group = self.group.copy()
        group[:, 2] = FOLD
        return self._replace(amount=np.ascontiguousarray(amount), group=group)

    def describe(self) -> str:
        """Return the numbers of terminals, hands and boards, as text."""
        hands = " x ".join(f"{n:,}" for n in self.sizes[:2].tolist())
        return (
            f"{int(self.group[:, 0].sum()):,} public terminals of {hands} hands on "
            f"{len(self.board):,} boards"
        )

    def read_hand_list(self, board: int, player: int) -> tuple[np.ndarray, np.ndarray]:
        """Decode the hand list of a player on a board.

        Returns:
            int64 (own classes, columns) and (other player's hands, columns): class, the cards, and
            the rank of the strength, from the weakest.
        """
        offset = int(self.board[board, player])
        levels, *counts = self.hand_list[offset : offset + 3].tolist()
        offset += 3
        per_level = self.hand_list[offset : offset + 2 * levels].reshape(levels, 2).astype(np.int64)
        offset += 2 * levels
        hands = []
        for side, count in enumerate(counts):
            end = offset + self.numbers * count
            codes = self.hand_list[offset:end].astype(np.int64).reshape(-1, self.numbers)
            strength = np.repeat(np.arange(levels), per_level[:, side])[:count]
            hands.append(np.column_stack([hands_of(codes, type(self)), strength]))
            offset = end
        return hands[0], hands[1]

    def _matrices(self, player: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield own sequences, opponent's sequences and payoff matrix of every terminal."""
        for k, (count, board, kind) in enumerate(self.group.tolist()):
            classes, other_classes = self.classes(board, player), self.classes(board, 1 - player)
            own_weights, other_weights = self.weight[1, classes], self.weight[0, other_classes]
            own_hands, other_hands = self.read_hand_list(board, player)
            # Hands that share a card cannot be dealt together.
            shared = (own_hands[:, None, 1:-1, None] == other_hands[None, :, None, 1:-1]).any(
                axis=(2, 3)
            )
            weight = own_weights[own_hands[:, 0], None] * other_weights[other_hands[:, 0]] * ~shared
            # 1 if the own hand is stronger, 0 for a tie, -1 if it is weaker.
            ahead = np.sign(own_hands[:, -1, None] - other_hands[:, -1])
            indices = (
                np.broadcast_to(own_hands[:, 0, None], weight.shape),
                np.broadcast_to(other_hands[:, 0], weight.shape),
            )
            for lane in range(count):
                win, tie, lose = self.amount[player, k, :, lane]
                if kind == SHOWDOWN:
                    assert tie == 0.0
                payoff = np.where(ahead > 0, win, np.where(ahead < 0, lose, tie))
                matrix = np.zeros((len(own_weights), len(other_weights)))
                np.add.at(matrix, indices, payoff * weight)
                first, second = self.sequence[player, k, lane], self.sequence[1 - player, k, lane]
                yield (
                    first + np.arange(len(own_weights)),
                    second + np.arange(len(other_weights)),
                    matrix,
                )


class PayoffSubsets(PayoffCards):
    """Part of the payoff operator for hands of three or four cards; see :class:`PayoffCards`.

    In a hand list, a hand has its class and one or more numbers ``card | card << 8 | ...``, of four
    cards each, with its cards in ascending order.  This is a class of its own, so that kernels of
    other games are compiled without the code for such hands.
    """

    __slots__ = ()


class PayoffFiveCards(PayoffSubsets):
    """Part of the payoff operator for hands of five cards; see :class:`PayoffSubsets`."""

    __slots__ = ()


CARDS_OF_CODES: dict[type[PayoffCards], int] = {
    PayoffCards: 2,
    PayoffSubsets: 4,
    PayoffFiveCards: 5,
}
"""Number of cards in the code of a hand, by class of payoffs, ascending.  A hand of fewer cards
has the class with the next larger number, and a number outside the deck as its last card."""
MOST_PRIVATE = max(CARDS_OF_CODES.values())
"""Largest number of cards of a hand."""


def part_for(width: int) -> type[PayoffCards]:
    """Return the class of payoffs for hands of ``width`` cards."""
    return next(part for part, n_cards in CARDS_OF_CODES.items() if n_cards >= width)


def numbers_of_code(width: int) -> int:
    """Return the length of the code of a hand of ``width`` cards."""
    return 1 if width < WIDE_FROM else 1 + -(-width // CARDS_OF_A_NUMBER)


def codes_of(classes: np.ndarray, cards: np.ndarray, beyond: int) -> np.ndarray:
    """Encode hands as the numbers of a hand list.

    Args:
        classes: int64 (hands,).
        cards: int64 (hands, 1 to 5).
        beyond: Last card of hands that have fewer cards than their code.

    Returns:
        int64 (hands, numbers).
    """
    if cards.shape[1] < CARDS_OF_CODES[part_for(cards.shape[1])]:
        cards = np.column_stack([cards, np.full(len(cards), beyond)])
    if cards.shape[1] < WIDE_FROM:
        shifts = HAND_BITS + CARD_BITS * np.arange(2)
        return (classes | (cards << shifts).sum(axis=1))[:, None]
    place = np.arange(cards.shape[1])
    shifted = np.sort(cards, axis=1) << CARD_BITS * (place % CARDS_OF_A_NUMBER)
    packed = np.add.reduceat(shifted, place[::CARDS_OF_A_NUMBER], axis=1)
    return np.column_stack([classes, packed])


def hands_of(codes: np.ndarray, part: type[PayoffCards]) -> np.ndarray:
    """Decode the result of :func:`codes_of` for a class of payoffs: class and cards, int64 (hands,
    3 or more)."""
    first, place = codes[:, 0], np.arange(CARDS_OF_CODES[part])
    if codes.shape[1] > 1:
        number, shifts = 1 + place // CARDS_OF_A_NUMBER, CARD_BITS * (place % CARDS_OF_A_NUMBER)
    else:
        number, shifts = 0 * place, HAND_BITS + CARD_BITS * place
        first = first & ((1 << HAND_BITS) - 1)
    return np.column_stack([first, codes[:, number] >> shifts & (1 << CARD_BITS) - 1])
