"""Push or fold between three players: button, small blind and big blind."""

from __future__ import annotations

from math import comb
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Number, Several, Text, Whole, checked
from ..rules import Chips, Decision, Defaults, Fold, SidePots
from .limit_poker import DeckOfPoker
from .poker.deck import RANKS, SUITS
from .poker.runouts import BOARD
from .poker.three_runouts import count_orders, holdem_order_shares, holdem_precision

CHIPS = Number(0, 1e9)
DECIMALS = 9
"""Decimal places to which amounts are rounded; smaller differences are rounding errors."""
PLAYERS = 3
"""Number of players."""


class ThreeHandedPush(DeckOfPoker):
    """Push or fold of three players: the button, the small blind and the big blind, in this order.

    Each player goes all-in (``allin``, or ``call`` after another all-in) or folds.  A call puts in
    all chips, too, so two players with more chips than the first also compete for a side pot.  If
    nobody goes all-in, the big blind wins the blinds.  All-ins are evaluated over all boards, the
    best five cards of hand and board win, and equal hands share the pot.  Utilities are chips.

    Args:
        stacks: Chips of each player before blinds and antes, as one number or three.
        blinds: Chips of the small and of the big blind.
        ante: Chips that each player pays before the cards are dealt.
        runout: Number of cards of a board.
        ranks: Ranks of the deck, the lowest first.
        suits: Number of suits, up to 4.
    """

    n_players = PLAYERS
    player_names = "button", "small blind", "big blind"

    @checked("push_or_fold")
    def __init__(
        self,
        *,
        stacks: Annotated[Any, Several(Number(above=0, most=1e9), alone=True)] = (10,),
        blinds: Annotated[tuple[float, float], Several(CHIPS, length=2)] = (0.5, 1),
        ante: Annotated[float, CHIPS] = 0,
        runout: Annotated[int, Whole(1, BOARD)] = BOARD,
        ranks: Annotated[str, Text(len(RANKS))] = RANKS,
        suits: Annotated[int, Whole(1, len(SUITS))] = len(SUITS),
    ) -> None:
        self._set_deck("push_or_fold", ranks, suits, 2)
        self.hands, self.weights = [self.hands[0]] * PLAYERS, [self.weights[0]] * PLAYERS
        if len(stacks) not in (1, PLAYERS):
            raise ValueError(f"push_or_fold: stacks must be one or three, not {len(stacks)}")
        if blinds[0] > blinds[1]:
            raise ValueError("push_or_fold: the small blind must not be above the big one")
        if sum(blinds) + ante <= 0:
            raise ValueError("push_or_fold: there must be blinds or an ante")
        if len(self.cards) < 2 * PLAYERS + runout:
            raise ValueError(
                f"push_or_fold: {len(self.cards)} cards are too few for three hands and {runout} "
                "on the board"
            )
        self.stacks = tuple(map(float, stacks if len(stacks) > 1 else stacks * PLAYERS))
        posted = (0.0, *map(float, blinds))
        self.posted = tuple(round(ante + blind, DECIMALS) for blind in posted)
        """Blind and ante of each player."""
        for player, (stack, amount) in enumerate(zip(self.stacks, self.posted, strict=True)):
            if stack <= amount:
                raise ValueError(
                    f"push_or_fold: the stack of the {self.player_names[player]}, {stack:g}, must "
                    f"be above blind and ante, {amount:g}"
                )
        self.runout = runout
        self.defaults = Defaults(units={"chips": 1.0, "mbb": float(blinds[1] or ante) / 1000.0})

    def root(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the state before the button acts: no actions."""
        return ()

    def next(self, state: tuple[str, ...], action: str | None) -> tuple[str, ...]:  # type: ignore[override]
        """Return the state after an action."""
        return (*state, str(action))

    def paid(self, state: tuple[str, ...]) -> tuple[float, ...]:
        """Return the chips that each player has put in."""
        is_in = [action != "fold" for action in state] + [False] * (PLAYERS - len(state))
        amounts = zip(is_in, self.stacks, self.posted, strict=True)
        return tuple(stack if all_in else posted for all_in, stack, posted in amounts)

    def chips(self, state: tuple[str, ...]) -> Chips:  # type: ignore[override]
        """Return the pot, the chips to call, and the chips that each player has left."""
        paid = self.paid(state)
        behind = tuple(stack - put for stack, put in zip(self.stacks, paid, strict=True))
        player = len(state)
        to_call = 0.0
        if player < PLAYERS:
            to_call = min(max(paid) - paid[player], behind[player])
        return Chips(sum(paid), to_call, behind)

    @property
    def betting_key(self) -> None:
        """None: bettings are small, so none is kept."""
        return None

    def rows(self) -> None:
        """Return None: the betting has no rows of numbers."""
        return None

    def node(self, state: tuple[str, ...]) -> Decision | Fold | SidePots:  # type: ignore[override]
        """Return the decision, or the payoffs at the end."""
        player, is_in = len(state), [action != "fold" for action in state]
        if player < PLAYERS - 1 or (player < PLAYERS and any(is_in)):
            return Decision(player, None, ("fold", "call" if any(is_in) else "allin"))
        # The big blind does not act if both others have folded.
        contenders = [p for p, all_in in enumerate(is_in) if all_in] or [PLAYERS - 1]
        paid = list(self.paid(state))
        if len(contenders) == 1:
            winner = contenders[0]
            paid[winner] = 0.0
            won = [-amount for amount in paid]
            won[winner] = sum(paid)
            return Fold(tuple(round(amount, DECIMALS) for amount in won))
        # Nobody calls chips above the second largest amount.
        called = sorted(paid)[-2]
        paid = [min(amount, called) for amount in paid]
        pots, before = [], 0.0
        for level in sorted({paid[p] for p in contenders}):
            amount = sum(min(put, level) - min(put, before) for put in paid)
            pots.append((amount, tuple(p for p in contenders if paid[p] >= level)))
            before = level
        return SidePots(tuple(pots), tuple(paid), self.runout)

    @property
    def _is_whole_deck(self) -> bool:
        return len(self.cards) == len(RANKS) * len(SUITS) and self.runout == BOARD

    @property
    def caveat(self) -> str:  # type: ignore[override]
        """Precision of the run-outs, if they are read from a file."""
        return str(holdem_precision()) if self._is_whole_deck else ""

    def order_shares(self, cards: int) -> np.ndarray:
        """Return the shares of boards by classes and orders; of hold'em, they are read from a
        file."""
        if self.rankings > 1:
            return super().order_shares(cards)
        if self._is_whole_deck and cards == BOARD:
            return holdem_order_shares()
        counts = count_orders(self.strength, self.hands[0], self.symmetries(), cards)
        shares: np.ndarray = counts / comb(len(self.cards) - 2 * PLAYERS, cards)
        return shares
