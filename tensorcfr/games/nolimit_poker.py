"""No-limit poker between two players from the first card on: push or fold, preflop raises."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Flag, Kind, Number, Several, Text, Whole, brief, checked
from ..rules import Deal, Decision, Defaults, Fold, Runout, Showdown
from .limit_poker import DeckOfPoker
from .poker.betting import TO_DEAL, TO_SHOW, RoundedBetting, StreetState
from .poker.deck import RANKS, SUITS
from .poker.flops import N_CLASSES, flops
from .poker.runouts import BOARD, count_runouts, holdem_runouts
from .poker.sizes import BetSize, read_sizes
from .poker.strength import SIX, short_strengths
from .three_handed import ThreeHandedPush

LONGEST = 2_000
"""Largest number of characters in a text of sizes."""
SIZES = Several(Text(LONGEST), alone=True)
CHIPS = Number(0, 1e9)
WEIGHT = Number(above=0, finite=True)
DECIMALS = 9
"""Decimal places to which amounts are rounded; smaller differences are rounding errors."""


class NoLimitPoker(DeckOfPoker):
    """No-limit poker of two players: rounds of betting, with cards dealt to the board between them.

    Player 0 posts the big blind and player 1 the small blind.  Player 1 opens the first round and
    player 0 all later ones, as in heads-up hold'em.  The best five cards of hand and board win, and
    equal hands share the pot.

    An all-in before the first deal is evaluated over all boards, even if ``flops`` restricts them.
    A later all-in is followed by the same deals as any other line.  Actions are ``fold``,
    ``check``, ``call``, ``bet3``, ``raise7.5`` (to 7.5 chips in this round) and ``allin``.
    Utilities are chips.

    Args:
        stacks: Chips of each player before blinds and antes; the smaller stack counts.
        raises: Sizes of raises in the notation of :func:`tensorcfr.games.holdem.read_sizes`: one
            text for all rounds, or one per round.  Blinds count as bets.
        bets: Sizes of the first bet of a round, in the same notation.
        deals: Number of cards dealt to the board after the first round, the second, ...; the
            showdown follows the round after the last deal.
        flops: Boards that the first deal may show.  A number lets
            :func:`tensorcfr.games.poker.flops.flops` choose so many; a list holds boards as texts,
            or :class:`~tensorcfr.games.poker.flops.Flop` with weights.  Each board represents all
            boards that differ from it only in suits.  None allows all boards.
        blinds: Chips of the small and of the big blind.
        ante: Chips that each player pays before the cards are dealt.
        limps: True if the small blind may call the big blind.
        most_raises: Largest number of bets and raises in a round; blinds do not count.
        runout: Number of board cards at an all-in before the first deal; by default the number of
            cards in all deals, or 5 without deals.
        chip: Chips to whose multiples bets are rounded.
        ranks: Ranks of the deck, the lowest first.
        suits: Number of suits, up to 4.
        hand: Number of cards that each player gets.
        short: True if hands rank as in short-deck hold'em: a flush beats a full house, and the ace
            also counts below the six.  The default deck is then the 36 cards from the six up.
    """

    @checked("nolimit_poker")
    def __init__(
        self,
        *,
        stacks: Annotated[Any, Several(Number(above=0, most=1e9), alone=True)] = (10,),
        raises: Annotated[Any, SIZES] = ("a",),
        bets: Annotated[Any, SIZES] = ("",),
        deals: Annotated[tuple[int, ...], Several(Whole(1, BOARD))] = (),
        flops: Annotated[Any, Kind((int, list, tuple, type(None)), "a number, or boards")] = None,
        blinds: Annotated[tuple[float, float], Several(CHIPS, length=2)] = (0.5, 1),
        ante: Annotated[float, CHIPS] = 0,
        limps: Annotated[bool, Flag()] = True,
        most_raises: Annotated[int, Whole(0, 100)] = 100,
        runout: Annotated[int | None, Whole(0, BOARD)] = None,
        chip: Annotated[float, Number(least=10.0**-DECIMALS, most=1e9)] = 0.01,
        ranks: Annotated[str | None, Text(len(RANKS))] = None,
        suits: Annotated[int, Whole(1, len(SUITS))] = len(SUITS),
        hand: Annotated[int, Whole(1, 2)] = 2,
        short: Annotated[bool, Flag()] = False,
    ) -> None:
        lowest = SIX if short else 0
        self._set_deck("nolimit_poker", RANKS[lowest:] if ranks is None else ranks, suits, hand)
        self.short = short
        if self._full_deck_cards.min() < 4 * lowest:
            raise ValueError("nolimit_poker: a short deck has no rank below the six")
        self.deals, rounds = tuple(deals), len(deals) + 1
        if len(stacks) not in (1, 2):
            raise ValueError(f"nolimit_poker: stacks must be one number or two, not {len(stacks)}")
        self.stack = round(float(min(stacks)) - ante, DECIMALS)
        self.ante = float(ante)
        if blinds[0] > blinds[1]:
            raise ValueError("nolimit_poker: the small blind must not be above the big one")
        if sum(blinds) + ante <= 0:
            raise ValueError("nolimit_poker: there must be blinds or an ante")
        if self.stack <= blinds[1]:
            raise ValueError("nolimit_poker: stacks must be above the big blind and the ante")
        raises, bets = _by_round("raises", raises, rounds), _by_round("bets", bets, rounds)
        self.runout = (sum(deals) or BOARD) if runout is None else runout
        if hand + max(sum(deals), self.runout) > 7:
            raise ValueError("nolimit_poker: hand and board have at most 7 cards")
        least = float(blinds[1] or ante)
        self.defaults = Defaults(units={"chips": 1.0, "mbb": least / 1000.0})
        smallest = Decimal(1).scaleb(-DECIMALS)
        small_blind, big_blind, stack, least_raise, pot = (
            round(Decimal(str(float(amount))) / smallest)
            for amount in (*blinds, self.stack, least, 2 * ante)
        )
        self.betting = RoundedBetting(
            game="nolimit_poker",
            chip=smallest,
            step=float(chip),
            openers=(int(blinds[1] > 0), *[0] * len(deals)),
            posted=(big_blind, small_blind),
            stack=stack,
            ante=self.ante,
            pot=pot,
            bets=tuple((sizes, sizes) for sizes in bets),
            raises=tuple((sizes, sizes) for sizes in raises),
            donks=(None,) * rounds,
            least=least_raise,
            limps=limps,
            max_raises=most_raises,
        )
        if blinds[1] > 0:
            self.player_names = "big blind", "small blind"
        self.boards = None if flops is None else self._read_boards(flops)
        self._runouts: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def _read_boards(self, boards: Any) -> dict[tuple[int, ...], float]:
        """Return the weight of each board of the first deal: the given boards in all suits."""
        if not self.deals:
            raise ValueError("nolimit_poker: flops needs a game with deals")
        if isinstance(boards, int) and not 1 <= boards <= N_CLASSES:
            raise ValueError(
                f"nolimit_poker: flops must be a number up to {N_CLASSES:,} or boards, not {boards}"
            )
        entries = flops(boards) if isinstance(boards, int) else boards
        weights: dict[tuple[int, ...], float] = {}
        for entry in entries:
            text, weight = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, 1.0)
            WEIGHT(f"nolimit_poker: flops: the weight of {brief(text)}", weight)
            cards = self._read_board(text)
            rank, suit = np.divmod(cards, self.suits)
            orders = np.array(list(permutations(range(self.suits))))
            # All permutations of the suits of this board; they share its weight equally.
            suit_images = {
                tuple(sorted(images)) for images in (rank * self.suits + orders[:, suit]).tolist()
            }
            if suit_images & weights.keys():
                raise ValueError(
                    f"nolimit_poker: flops: {text!r} differs from another only in suits"
                )
            weights |= dict.fromkeys(suit_images, float(weight) / len(suit_images))
        if not weights:
            raise ValueError("nolimit_poker: flops must contain a board")
        return weights

    def _read_board(self, text: Any) -> np.ndarray:
        """Return the indices of the cards of a board of the first deal, int64 (cards,)."""
        labels = [text[k : k + 2] for k in range(0, len(text), 2)] if isinstance(text, str) else []
        is_board = len(labels) == self.deals[0] == len(set(labels))
        if not is_board or not set(labels) <= set(self.cards):
            raise ValueError(
                f"nolimit_poker: flops: {brief(text)} must be {self.deals[0]} cards of the deck"
            )
        return np.array([self.cards.index(label) for label in labels])

    def stake(self, state: StreetState) -> float:
        """Return the chips that the loser has put in if the game ends here."""
        in_chips = self.betting.in_chips
        return self.ante + in_chips(state.put) + in_chips(min(state.street_put))

    def node(self, state: StreetState) -> Decision | Deal | Fold | Showdown | Runout:
        """Return the decision, the next deal, or the payoffs at the end."""
        is_over = not self.deals or min(self.betting.paid(state)) == self.betting.stack
        if state.street or not is_over or state.player not in (TO_DEAL, TO_SHOW):
            return super().node(state)
        stake = self.stake(state)
        return Runout((stake, -stake), (0.0, 0.0), (-stake, stake), self.runout)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """Return the strength of the best five cards of each hand and the board, int64 (hands,)."""
        if not self.short:
            return super().strength(board, hands)
        return short_strengths(
            self._full_deck_cards[np.array(board, dtype=np.int64)], self._full_deck_cards[hands]
        )

    def runouts(self, cards: int) -> tuple[np.ndarray, np.ndarray]:
        """Count the boards on which each hand wins and ties against each other hand.

        The counts are computed once per number of cards; for hold'em they are read from a file.
        """
        if self.rankings > 1:
            return super().runouts(cards)
        if cards not in self._runouts:
            if len(self.cards) == 52 and self.hands[0].shape[1] == 2 and cards == BOARD:
                return holdem_runouts()
            counts = count_runouts(self.strength, self.hands[0], self.symmetries(), cards)
            self._runouts[cards] = counts
        return self._runouts[cards]


def push_or_fold(
    *,
    stacks: Any = 10,
    blinds: tuple[float, float] = (0.5, 1),
    ante: float = 0,
    players: int = 2,
) -> DeckOfPoker:
    """Return hold'em of two or three players in which each goes all-in or folds.

    Of two players, the small blind (player 1) acts first, and the big blind calls or folds.  Three
    players are :class:`~tensorcfr.games.three_handed.ThreeHandedPush`.  An all-in is evaluated over
    all boards.  By default one chip is one big blind.

    Args:
        stacks: Chips of each player before the blinds, as one number, or as three for the button,
            the small blind and the big blind.  Of two players, the smaller stack counts.
        blinds: Chips of the small and of the big blind.
        ante: Chips that each player pays before the cards are dealt.
        players: Number of players, 2 or 3; three stacks are always those of three players.

    Raises:
        ValueError: An argument is wrong.

    Source: W. Chen, J. Ankenman, "The mathematics of poker", 2006, chapter 12.
    """
    Whole(2, 3)("push_or_fold: players", players)
    if players == 3 or (isinstance(stacks, (tuple, list)) and len(stacks) == 3):
        return ThreeHandedPush(stacks=stacks, blinds=blinds, ante=ante)
    return NoLimitPoker(stacks=stacks, blinds=blinds, ante=ante, limps=False)


def _by_round(parameter: str, sizes: list[str], rounds: int) -> tuple[tuple[BetSize, ...], ...]:
    """Return the sizes of each round."""
    if len(sizes) not in (1, rounds):
        raise ValueError(f"nolimit_poker: {parameter} has {len(sizes)} texts for {rounds} rounds")
    texts = [*sizes] * rounds if len(sizes) == 1 else sizes
    return tuple(
        read_sizes(text, f"nolimit_poker: {parameter}", raises=parameter == "raises")
        for text in texts
    )
