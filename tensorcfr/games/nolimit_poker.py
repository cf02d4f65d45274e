"""No-limit poker between two players from the first card on: push or fold, preflop raises."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Flag, Kind, Number, Several, Text, Whole, brief, checked
from ..rules import Chips, Deal, Decision, Defaults, Fold, Runout, Showdown
from .holdem.deck import RANKS, SUITS
from .holdem.flops import N_CLASSES, flops
from .holdem.runouts import BOARD, count_runouts, holdem_runouts
from .holdem.sizes import BetSize, read_sizes
from .holdem.strength import SIX, short_strengths
from .limit_poker import BET, CALL, CHECK, FOLD, RAISE, DeckOfPoker

ALL_IN = "allin"
LONGEST = 2_000
"""Largest number of characters in a text of sizes."""
SIZES = Several(Text(LONGEST), alone=True)
CHIPS = Number(0, 1e9)
WEIGHT = Number(above=0, finite=True)
DECIMALS = 9
"""Decimal places to which amounts are rounded; smaller differences are rounding errors."""


class NoLimitState(NamedTuple):
    """Public state of the betting."""

    round: int
    """Index of the betting round."""
    before: float
    """Chips that each player put in before this round, without the ante."""
    street_put: tuple[float, float]
    """Chips that each player has put in in this round, blinds included."""
    player: int
    """Player who acts; -1 when the round is over."""
    least: float
    """Smallest difference in chips between a raise and the bet before it."""
    raises: int = 0
    """Number of bets and raises in this round."""
    acted: bool = False
    """True if a player has acted in this round."""
    winner: int = -1
    """Player who has won because the other one folded; -1 if nobody folded."""


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
            :func:`tensorcfr.games.holdem.flops.flops` choose so many; a list holds boards as texts,
            or :class:`~tensorcfr.games.holdem.flops.Flop` with weights.  Each board represents all
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
        self.ante, self.posted = float(ante), (float(blinds[1]), float(blinds[0]))
        if blinds[0] > blinds[1]:
            raise ValueError("nolimit_poker: the small blind must not be above the big one")
        if sum(blinds) + ante <= 0:
            raise ValueError("nolimit_poker: there must be blinds or an ante")
        if self.stack <= self.posted[0]:
            raise ValueError("nolimit_poker: stacks must be above the big blind and the ante")
        self.raises = _by_round("raises", raises, rounds)
        self.bets = _by_round("bets", bets, rounds)
        self.limps, self.most_raises, self.chip = limps, most_raises, float(chip)
        self.runout = (sum(deals) or BOARD) if runout is None else runout
        if hand + max(sum(deals), self.runout) > 7:
            raise ValueError("nolimit_poker: hand and board have at most 7 cards")
        self.least = float(max(blinds[1], 0) or ante)
        self.defaults = Defaults(units={"chips": 1.0, "mbb": self.least / 1000.0})
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

    def chips(self, state: NoLimitState) -> Chips:
        """Return the pot with antes, the chips to call, and the chips that each player has left."""
        paid = state.before + state.street_put[0], state.before + state.street_put[1]
        call = max(state.street_put) - state.street_put[state.player] if state.player >= 0 else 0.0
        return Chips(2 * self.ante + sum(paid), call, (self.stack - paid[0], self.stack - paid[1]))

    def root(self) -> NoLimitState:
        """Return the state after the blinds."""
        opener = int(self.posted[0] > 0)
        return NoLimitState(0, 0.0, self.posted, opener, self.least)

    def node(self, state: NoLimitState) -> Decision | Deal | Fold | Showdown | Runout:
        """Return the decision, the next deal, or the payoffs at the end."""
        if state.winner >= 0:
            lost = self.ante + state.before + state.street_put[1 - state.winner]
            return Fold((lost, -lost) if state.winner == 0 else (-lost, lost))
        if state.player >= 0:
            return Decision(state.player, None, self._actions(state))
        won = self.ante + state.before + state.street_put[0]
        pays = (won, -won), (0.0, 0.0), (-won, won)
        is_all_in = round(state.before + state.street_put[0], DECIMALS) == self.stack
        if state.round == 0 and (is_all_in or not self.deals):
            return Runout(*pays, self.runout)
        return Deal(self.deals[state.round]) if state.round < len(self.deals) else Showdown(*pays)

    def _actions(self, state: NoLimitState) -> tuple[str, ...]:
        """Return the actions of the player who acts, with bets and raises in ascending order."""
        current_bet = max(state.street_put)
        faces_bet = state.street_put[state.player] < current_bet
        actions = [FOLD, CALL] if faces_bet else [CHECK]
        # Only the first call before the flop is a limp; a call of a raise stays legal.
        if (
            faces_bet
            and not self.limps
            and state.round == 0
            and not state.raises
            and not state.acted
        ):
            actions.remove(CALL)
        all_in = round(self.stack - state.before, DECIMALS)
        if current_bet >= all_in or state.raises >= self.most_raises:
            return tuple(actions)
        # A blind counts as a bet, so the big blind raises after the small blind has called.
        sizes = self.raises if current_bet > 0.0 else self.bets
        word = RAISE if current_bet > 0.0 else BET
        amounts = {self._amount(size, state, all_in) for size in sizes[state.round]}
        for amount in sorted(amount for amount in amounts if amount is not None):
            actions.append(ALL_IN if amount == all_in else f"{word}{_format_chips(amount)}")
        return tuple(actions)

    def _amount(self, size: BetSize, state: NoLimitState, all_in: float) -> float | None:
        """Return the amount to which a size bets or raises in this round.

        Args:
            size: The size.
            state: State in which the player bets or raises.
            all_in: Amount in this round that is all-in.

        Returns:
            Chips, at least the smallest legal raise and at most ``all_in``; None if the size's cap
            on raises forbids it.
        """
        current_bet = max(state.street_put)
        pot = 2.0 * (self.ante + state.before + current_bet)
        if state.raises > size.bets:
            return None
        if size.kind == "all-in":
            return all_in
        amount = current_bet
        if size.kind == "times":
            amount = current_bet * size.number
        elif size.kind == "chips":
            amount = current_bet + size.number
        elif size.kind == "pot":
            amount = current_bet + size.number * pot
        elif size.kind == "geometric":
            streets_left = len(self.deals) + 1 - state.round
            streets = max((size.number or streets_left) - (state.raises if current_bet else 0), 1)
            ratio = (all_in - current_bet) / pot
            # A bet of `share` pots multiplies the pot by 1 + 2 * share when it is called; after
            # all `streets` such bets the pot has grown by the factor 1 + 2 * ratio.
            share = ((2.0 * ratio + 1.0) ** (1.0 / streets) - 1.0) / 2.0
            amount = current_bet + pot * min(share, size.limit)
        amount = round(math.floor(amount / self.chip + 0.5) * self.chip, DECIMALS)
        return min(max(amount, round(current_bet + state.least, DECIMALS)), all_in)

    def next(self, state: NoLimitState, action: str | None) -> NoLimitState:
        """Return the state after an action, or after cards are dealt (None)."""
        if action is None:
            before = round(state.before + state.street_put[0], DECIMALS)
            opener = -1 if before == self.stack else 0
            return NoLimitState(state.round + 1, before, (0.0, 0.0), opener, self.least)
        player, current_bet = state.player, max(state.street_put)
        if action == FOLD:
            return state._replace(player=-1, winner=1 - player)
        if action in (CHECK, CALL):
            bets = (current_bet, current_bet)
            if state.acted or round(state.before + current_bet, DECIMALS) == self.stack:
                return state._replace(street_put=bets, player=-1)
            return state._replace(street_put=bets, player=1 - player, acted=True)
        amount = round(self.stack - state.before, DECIMALS)
        if action != ALL_IN:
            amount = float(action.removeprefix(BET).removeprefix(RAISE))
        bets = (amount, state.street_put[1]) if player == 0 else (state.street_put[0], amount)
        least = max(state.least, round(amount - current_bet, DECIMALS))
        return NoLimitState(
            state.round, state.before, bets, 1 - player, least, state.raises + 1, acted=True
        )

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
        if cards not in self._runouts:
            if len(self.cards) == 52 and self.hands[0].shape[1] == 2 and cards == BOARD:
                return holdem_runouts()
            counts = count_runouts(self.strength, self.hands[0], self.symmetries(), cards)
            self._runouts[cards] = counts
        return self._runouts[cards]


def push_or_fold(
    *,
    stacks: float = 10,
    blinds: tuple[float, float] = (0.5, 1),
    ante: float = 0,
) -> NoLimitPoker:
    """Return heads-up hold'em in which the small blind goes all-in or folds.

    The big blind then calls or folds.  An all-in is evaluated over all boards.  By default one chip
    is one big blind.

    Args:
        stacks: Chips of each player before the blinds; the smaller stack counts.
        blinds: Chips of the small and of the big blind.
        ante: Chips that each player pays before the cards are dealt.

    Source: W. Chen, J. Ankenman, "The mathematics of poker", 2006, chapter 12.
    """
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


def _format_chips(amount: float) -> str:
    """Format an amount of chips: ``"120"``, ``"2.5"``."""
    return f"{round(amount, DECIMALS):.9f}".rstrip("0").rstrip(".")
