"""Payoffs of hands that are sets of cards: folds, and showdowns by strength."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..model.arrays import SequenceForm

LANES = 16
"""Terminals that are worked on together: the lanes of a vector of float32."""
FOLD, SHOWDOWN, TIES_PAY = 0, 1, 2
"""Kinds of groups: the strengths do not matter; they do, and ties pay nothing; ties pay, too."""
HAND_BITS, CARD_BITS = 16, 8
"""A hand in a walk is ``hand | card << 16 | other card << 24``."""
MOST_CARDS = (1 << CARD_BITS) - 2
"""Cards of a deck, at most."""

ARRAYS: Mapping[str, tuple[type, tuple[str | int, ...]]] = {
    "sizes": (np.int64, (3,)),
    "weight": (np.float64, ("hands",)),
    "same": (np.uint32, ("hands",)),
    "board": (np.int64, ("boards", 2)),
    "walk": (np.uint32, ("walk",)),
    "group": (np.int64, ("groups", 3)),
    "sequence": (np.int64, (2, "groups", LANES)),
    "amount": (np.float64, (2, "groups", 3, LANES)),
}
"""Dtype and shape of the arrays of a part; equal names of sizes are equal."""


class PayoffCards(NamedTuple):
    """The part of the payoff operator in which hands are sets of one or two cards.

    A pair of hands without a common card has a probability that is proportional to the product of
    their weights.  A *group* is up to :data:`LANES` public terminals on one board that end
    different sequences: at terminal ``t`` it adds ``g[h, t] += weight[h] * sum_o weight[o] *
    amount * x[o, t]`` over the hands ``o`` of the other player that share no card with ``h`` or the
    board, where the amount is the one for a win, a tie or a loss.  Only games of two players have
    such parts.

    A *walk* lists the hands that are possible on a board, weakest first, for one player: the
    numbers of strengths, of own hands and of the other player's hands; for each strength how many
    own and how many other hands have it; the own hands; the other player's hands.
    """

    sizes: np.ndarray
    """int64 (3,): hands of player 0, hands of player 1, cards of the deck."""
    weight: np.ndarray
    """float64 (hands of player 0 + hands of player 1,): weights of the hands."""
    same: np.ndarray
    """uint32 (hands of player 0 + hands of player 1,): for hands of two cards, the hand of the
    other player that has the same cards; otherwise, and where there is none, the number of the
    other player's hands."""
    board: np.ndarray
    """int64 (boards, 2): where the walk of each player begins."""
    walk: np.ndarray
    """uint32: the walks.  The second card of a hand of one card is a number beyond the deck: the
    number of cards for own hands, and one more for the other player's."""
    group: np.ndarray
    """int64 (groups, 3): number of terminals, board, kind (:data:`FOLD`, ...)."""
    sequence: np.ndarray
    """int64 (2, groups, LANES): the sequence of the first hand of player ``i`` that each terminal
    ends; those of the other hands come after it.  Lanes without a terminal repeat the first."""
    amount: np.ndarray
    """float64 (2, groups, 3, LANES): what a win, a tie and a loss pays player ``i``, times the
    probability of the board and of a deal of weight 1.  A win pays not as much as a loss, except
    in groups of folds, where all three are the same."""

    @property
    def kind(self) -> str:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        return "cards"

    @property
    def is_empty(self) -> bool:
        """Whether there are no groups."""
        return not len(self.group)

    def hands(self, player: int) -> slice:
        """The hands of a player, in the arrays over hands."""
        return slice(0, int(self.sizes[0])) if player == 0 else slice(int(self.sizes[0]), None)

    def product(self, form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
        """See :class:`tensorcfr.payoff.PayoffPart`; hand by hand, for tests."""
        begin, end = form.player_sequences[player : player + 2].tolist()
        g = np.zeros(end - begin)
        for own, other, matrix in self._matrices(player):
            g[own - begin] += matrix @ x[other]
        return g

    def triples(self, form: SequenceForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        none = np.empty(0, dtype=np.int64)
        rows, columns, values = [none], [none], [np.empty(0)]
        for own, other, matrix in self._matrices(player):
            first, second = np.nonzero(matrix)
            rows.append(own[first])
            columns.append(other[second])
            values.append(matrix[first, second])
        return np.concatenate(rows), np.concatenate(columns)[None], np.concatenate(values)

    def count_entries(self, form: SequenceForm, player: int) -> int:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        return int(self.group[:, 0].sum() * self.sizes[0] * self.sizes[1])

    def magnitudes(self) -> PayoffCards:
        """See :class:`tensorcfr.payoff.PayoffPart`; the largest of the three amounts for all."""
        amount = np.broadcast_to(np.abs(self.amount).max(axis=2, keepdims=True), self.amount.shape)
        group = self.group.copy()
        group[:, 2] = FOLD
        return self._replace(amount=np.ascontiguousarray(amount), group=group)

    def describe(self) -> str:
        """See :class:`tensorcfr.payoff.PayoffPart`."""
        hands = " x ".join(f"{n:,}" for n in self.sizes[:2].tolist())
        return (
            f"{int(self.group[:, 0].sum()):,} public terminals of {hands} hands on "
            f"{len(self.board):,} boards"
        )

    def read_walk(self, board: int, player: int) -> tuple[np.ndarray, np.ndarray]:
        """For the hands of the player and of the other player their places among the strengths on
        a board, -1 where a hand is not possible; int64 (hands,)."""
        at = int(self.board[board, player])
        levels, *counts = self.walk[at : at + 3].tolist()
        at += 3
        at_level = self.walk[at : at + 2 * levels].reshape(levels, 2).astype(np.int64)
        at += 2 * levels
        found = []
        for side, (count, who) in enumerate(zip(counts, (player, 1 - player), strict=True)):
            hand = self.walk[at : at + count] & ((1 << HAND_BITS) - 1)
            place = np.full(int(self.sizes[who]), -1)
            place[hand] = np.repeat(np.arange(levels), at_level[:, side])
            found.append(place)
            at += count
        return found[0], found[1]

    def read_cards(self, board: int, player: int) -> tuple[np.ndarray, np.ndarray]:
        """The cards of the player's and of the other player's hands that are possible on a board;
        int64 (hands, 2), with numbers beyond the deck for no card."""
        at = int(self.board[board, player])
        levels, *counts = self.walk[at : at + 3].tolist()
        at += 3 + 2 * levels
        found = []
        for count, who in zip(counts, (player, 1 - player), strict=True):
            code = self.walk[at : at + count].astype(np.int64)
            cards = np.full((int(self.sizes[who]), 2), -1)
            hand = code & ((1 << HAND_BITS) - 1)
            cards[hand, 0] = (code >> HAND_BITS) & ((1 << CARD_BITS) - 1)
            cards[hand, 1] = code >> (HAND_BITS + CARD_BITS)
            found.append(cards)
            at += count
        return found[0], found[1]

    def _matrices(self, player: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For every terminal, the sequences of the player's hands, those of the other player's, and
        what the ones get for the others."""
        own_weight = self.weight[self.hands(player)]
        other_weight = self.weight[self.hands(1 - player)]
        for k, (count, board, kind) in enumerate(self.group.tolist()):
            place, other_place = self.read_walk(board, player)
            cards, other_cards = self.read_cards(board, player)
            shared = (cards[:, None, :, None] == other_cards[None, :, None, :]).any(axis=(2, 3))
            alive = (place[:, None] >= 0) & (other_place >= 0) & ~shared
            ahead = np.sign(place[:, None] - other_place)
            for lane in range(count):
                win, tie, lose = self.amount[player, k, :, lane]
                if kind == SHOWDOWN:
                    assert tie == 0.0
                paid = np.where(ahead > 0, win, np.where(ahead < 0, lose, tie))
                matrix = np.where(alive, paid * own_weight[:, None] * other_weight, 0.0)
                own = self.sequence[player, k, lane] + np.arange(len(own_weight))
                other = self.sequence[1 - player, k, lane] + np.arange(len(other_weight))
                yield own, other, matrix
