"""Limit poker between two players from the first card on: flop hold'em, Rhode Island and others."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations
from typing import Annotated

import numpy as np

from .._util.argument_checks import Number, Several, Text, Whole, checked
from ..rules import CardGame, Chips, Deal, Decision, Defaults, Fold, Runout, Showdown
from .poker import betting
from .poker.betting import DEAL, Betting, LimitBetting, StreetState
from .poker.deck import RANKS, SUITS, orders_of_suits
from .poker.strength import strengths


class DeckOfPoker(CardGame):
    """Deck of a poker game in which all hands are equally likely."""

    unit_name = " chips"
    suits: int
    """Number of suits."""
    deals: tuple[int, ...]
    """Number of cards dealt to the board after each round but the last."""
    betting: Betting
    """Rules of the betting."""

    def _set_deck(self, game: str, ranks: str, suits: int, hand: int) -> None:
        """Set the deck, and all hands of ``hand`` cards with equal weights."""
        if not ranks or ranks not in RANKS:
            raise ValueError(f"{game}: ranks must be adjacent ones of {RANKS!r}, not {ranks!r}")
        self.cards = [rank + suit for rank in ranks for suit in SUITS[:suits]]
        lowest = RANKS.index(ranks[0])
        # The hand evaluator knows the cards of the full deck, 4 * rank + suit.
        self._full_deck_cards = np.array(
            [4 * (lowest + rank) + suit for rank in range(len(ranks)) for suit in range(suits)]
        )
        combos = combinations(range(len(self.cards) - 1, -1, -1), hand)
        hands = np.array(sorted(combos, reverse=True), dtype=np.int64)
        self.suits, self.hands = suits, [hands, hands]
        self.weights = [np.ones(len(hands))] * 2

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strength of the best five cards of each hand and the board, int64 (hands,)."""
        cards = self._full_deck_cards
        hand_strengths: np.ndarray = strengths(cards[np.array(board, dtype=np.int64)], cards[hands])
        return hand_strengths

    def symmetries(self) -> np.ndarray:
        """Return all permutations of the suits, int64 (permutations, cards)."""
        return orders_of_suits(len(self.cards) // self.suits, self.suits)

    def root(self) -> StreetState:
        """Return the state after the blinds."""
        return self.betting.root()

    def next(self, state: StreetState, action: str | None) -> StreetState:
        """Return the state after an action, or after cards are dealt (None)."""
        return self.betting.next(state, DEAL if action is None else action)

    def chips(self, state: StreetState) -> Chips:
        """Return the pot, the chips to call, and the chips that each player has left."""
        return self.betting.chips(state)

    def stake(self, state: StreetState) -> float:
        """Return the chips that the loser has put in if the game ends here."""
        return self.betting.in_chips(min(self.betting.paid(state)))

    def node(self, state: StreetState) -> Decision | Deal | Fold | Showdown | Runout:
        """Return the decision, the next deal, or the payoffs at the end."""
        if state.player >= 0:
            return Decision(state.player, None, self.betting.actions(state))
        if state.player == betting.TO_DEAL:
            return Deal(self.deals[state.street])
        stake = self.stake(state)
        if state.player == betting.TO_SHOW:
            return Showdown((stake, -stake), (0.0, 0.0), (-stake, stake))
        return Fold((stake, -stake) if state.player == betting.WON else (-stake, stake))


class LimitPoker(DeckOfPoker):
    """Limit poker of two players: rounds of betting, with cards dealt to the board between them.

    With blinds, player 0 posts the big blind and player 1 the small blind.  Player 1 opens the
    first round and player 0 all later ones, as in heads-up hold'em with player 1 on the button.
    Without blinds, player 0 opens all rounds.  ``first`` overrides this.

    The best five cards of hand and board win, and equal hands share the pot.  Actions are ``fold``,
    ``check``, ``call``, ``bet`` and ``raise``.

    Args:
        ranks: Ranks of the deck, the lowest first.
        suits: Number of suits, up to 4.
        hand: Number of cards that each player gets.
        deals: Number of cards dealt to the board after the first round, the second, ...
        bets: Chips of a bet and of every raise, by round.
        raises: Largest number of bets and raises, by round; blinds do not count.
        blinds: Chips of the small blind (player 1) and of the big blind (player 0).
        ante: Chips that each player pays before the cards are dealt.
        first: Player who opens each round.  If given, the blind of player 1 may be the larger one.
    """

    @checked("limit_poker")
    def __init__(
        self,
        *,
        ranks: Annotated[str, Text(len(RANKS))] = RANKS,
        suits: Annotated[int, Whole(1, len(SUITS))] = len(SUITS),
        hand: Annotated[int, Whole(1, 2)] = 2,
        deals: Annotated[tuple[int, ...], Several(Whole(1, 5))] = (3,),
        bets: Annotated[tuple[float, ...], Several(Number(above=0, most=1e9))] = (100, 100),
        raises: Annotated[tuple[int, ...], Several(Whole(0, 100))] = (3, 4),
        blinds: Annotated[tuple[float, float], Several(Number(0, 1e9), length=2)] = (50, 100),
        ante: Annotated[float, Number(0, 1e9)] = 0,
        first: Annotated[tuple[int, ...] | None, Several(Whole(0, 1))] = None,
    ) -> None:
        self._set_deck("limit_poker", ranks, suits, hand)
        if not len(bets) == len(raises) == len(deals) + 1:
            raise ValueError(
                f"limit_poker: {len(deals)} deals mean {len(deals) + 1} rounds: give as many bets "
                f"and raises, not {len(bets)} and {len(raises)}"
            )
        if hand + sum(deals) > 7:
            raise ValueError("limit_poker: hand and board have at most 7 cards")
        if first is None and blinds[0] > blinds[1]:
            raise ValueError("limit_poker: the small blind must not be above the big one")
        if sum(blinds) + ante <= 0:
            raise ValueError("limit_poker: there must be blinds or an ante")
        openers = (int(blinds[1] > 0), *[0] * len(deals)) if first is None else tuple(first)
        if len(openers) != len(bets):
            raise ValueError(f"limit_poker: first must have {len(bets)} players, one per round")
        if blinds[1] > 0 and first is None:
            self.player_names = "big blind", "small blind"
        self.deals = tuple(deals)
        # The decimal place of the last digit of all amounts makes them whole numbers of chips.
        amounts = [Decimal(str(amount)) for amount in (*bets, *blinds, ante)]
        chip = Decimal(1).scaleb(min(0, *(int(a.as_tuple().exponent) for a in amounts)))
        *bets_in_chips, small_blind, big_blind, ante_in_chips = (int(a / chip) for a in amounts)
        self.betting = LimitBetting(
            chip=chip,
            openers=openers,
            posted=(ante_in_chips + big_blind, ante_in_chips + small_blind),
            bets=tuple(bets_in_chips),
            max_raises=tuple(raises),
        )
        mbb = {"mbb": max(blinds) / 1000.0} if max(blinds) > 0 else {}
        self.defaults = Defaults(units={"chips": 1.0} | mbb)


class FlopHoldem(LimitPoker):
    """Flop hold'em: limit hold'em that ends after the flop.

    Blinds are 50 and 100 chips, bets and raises 100.  By default each round has three raises after
    the big blind or the first bet, as in Deep CFR.  The game has 234,199,693 sequences with suits
    merged, and 5 * 10^12 histories.  OpenSpiel's ``universal_poker`` with ``maxRaises=3 3`` counts
    the first bet on the flop as one of the three raises: ``raises=(3, 3)``.

    Args:
        raises: Largest number of bets and raises in the first and in the second round.

    Source: N. Brown, A. Lerer, S. Gross, T. Sandholm, "Deep counterfactual regret minimization",
    ICML 2019.
    """

    @checked("flop_holdem")
    def __init__(
        self, *, raises: Annotated[tuple[int, ...], Several(Whole(0, 100), length=2)] = (3, 4)
    ) -> None:
        super().__init__(raises=raises)


@checked("limit_holdem")
def limit_holdem(
    *,
    rounds: Annotated[int, Whole(1, 4)] = 4,
    ranks: Annotated[str, Text(len(RANKS))] = RANKS,
    suits: Annotated[int, Whole(1, len(SUITS))] = len(SUITS),
) -> LimitPoker:
    """Return heads-up limit hold'em: flop, turn and river, four bets and raises a round.

    Blinds are 5 and 10 chips.  Bets and raises are 10 chips before and on the flop, and 20 later;
    before the flop there are at most three raises.  The game has 3.16 * 10^17 decision nodes and
    3.19 * 10^14 infosets, or 1.38 * 10^13 infosets with suits merged;
    :func:`tensorcfr.compilers.game_size` reports the memory that it needs.

    Args:
        rounds: Number of betting rounds: 2 end after the flop, 3 after the turn.
        ranks: Ranks of the deck, the lowest first.
        suits: Number of suits, up to 4.

    Source: M. Bowling, N. Burch, M. Johanson, O. Tammelin, "Heads-up limit hold'em poker is
    solved", Science 347, 2015.
    """
    return LimitPoker(
        ranks=ranks,
        suits=suits,
        deals=(3, 1, 1)[: rounds - 1],
        bets=(10, 10, 20, 20)[:rounds],
        raises=(3, 4, 4, 4)[:rounds],
        blinds=(5, 10),
    )


def turn_holdem() -> LimitPoker:
    """Return limit hold'em that ends after the turn.

    All other rules are those of ``limit_holdem``.  The game has 8 * 10^14 decision nodes and
    7.7 * 10^11 infosets.

    Source: as for ``limit_holdem``, without its last round.
    """
    return limit_holdem(rounds=3)


def royal_holdem() -> LimitPoker:
    """Return royal hold'em: limit hold'em to the flop with 20 cards, tens to aces.

    Blinds, bets and raises are those of the first two rounds of ``limit_holdem``.  The game has
    3 * 10^9 histories; in equilibrium player 0, the big blind, loses 0.315 chips per hand.

    Source: deck and rounds are those of the no-limit game in M. Johanson, "Measuring the size of
    large no-limit poker games", 2013, https://arxiv.org/abs/1302.7008.
    """
    return limit_holdem(rounds=2, ranks="TJQKA")


class RhodeIsland(LimitPoker):
    """Rhode Island hold'em: one private card, two board cards one by one, limit betting.

    The ante is 5 chips and the bets are 10, 20 and 20, with three bets and raises a round.  Hands
    of three cards rank: straight flush, three of a kind, straight, flush, pair, high card.  An ace
    is high and, in a straight, also low.  Player 0 acts first in every round.

    Args:
        raises: Largest number of bets and raises, by round.

    Source: J. Shi, M. Littman, "Abstraction methods for game theoretic poker", CG 2000; the rules
    are those of A. Gilpin and T. Sandholm, cs.cmu.edu/~gilpin/gsi.html.
    """

    @checked("rhode_island")
    def __init__(
        self, *, raises: Annotated[tuple[int, ...], Several(Whole(0, 100), length=3)] = (3, 3, 3)
    ) -> None:
        super().__init__(
            hand=1, deals=(1, 1), bets=(10, 20, 20), raises=raises, blinds=(0, 0), ante=5
        )

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strength of three cards, int64 (hands,).

        It is a number to base 13: the category, then the ranks that break ties.
        """
        three = np.column_stack([np.tile(board, (len(hands), 1)), hands]).astype(np.int64)
        low, middle, high = np.sort(three // self.suits, axis=1).T
        suit = three % self.suits
        flush = (suit == suit[:, :1]).all(axis=1)
        wheel = (low == 0) & (middle == 1) & (high == len(RANKS) - 1)
        straight = wheel | ((low + 1 == middle) & (middle + 1 == high))
        pair = (low == middle) | (middle == high)
        trips = low == high
        category = np.select([straight & flush, trips, straight, flush, pair], [5, 4, 3, 2, 1], 0)
        # In a pair the middle card always belongs to it, and `low + high` orders the third card.
        ranks = np.where(
            straight,
            np.where(wheel, 1, high),
            np.where(pair, 169 * middle + low + high, 169 * high + 13 * middle + low),
        )
        hand_strengths: np.ndarray = category * 13**3 + ranks
        return hand_strengths
