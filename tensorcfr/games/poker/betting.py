"""Betting between two players, street by street: the legal actions, in whole chips.

:class:`Betting` has the course of a street, which all games share; its subclasses have the amounts.
The rules of sizes are those of the common solvers, so that equal spots have equal trees.  An amount
is the total *to* which a player bets or raises on a street, as a multiple of the smallest chip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from ...rules import Chips
from .sizes import BetSize

STREETS = ("flop", "turn", "river")
"""Streets of a spot."""
FOLD, CHECK, CALL, BET, RAISE, ALL_IN = "fold", "check", "call", "bet", "raise", "allin"
DEAL = "deal"
"""Transition from a street to the next one, in place of an action."""
Lines = tuple[tuple[str, ...], ...]
"""Lines of actions."""


class StreetState(NamedTuple):
    """Public state of the betting; amounts are multiples of the smallest chip."""

    street: int
    """Index of the street."""
    put: int
    """Amount that each player has put in on earlier streets."""
    street_put: tuple[int, int]
    """Amount that each player has put in on this street, blinds included."""
    player: int
    """Player who acts; otherwise :data:`TO_DEAL`, :data:`TO_SHOW`, or ``WON - p`` after a fold that
    player ``p`` wins."""
    bets: int = 0
    """Number of bets and raises on this street."""
    leads: bool = False
    """True if player 1 made the last bet of the street before and player 0 called it, so that an
    opening bet of player 0 is a donk bet."""
    added: Lines = ()
    """Rest of the lines to add that begin at this state."""
    removed: Lines = ()
    """Rest of the lines to remove that begin at this state."""


TO_DEAL, TO_SHOW = -1, -2
"""Values of :attr:`StreetState.player` before a card is dealt, and at a showdown."""
WON = -3
"""Value of :attr:`StreetState.player` after a fold that player 0 wins; ``WON - 1`` for player 1."""


@dataclass(frozen=True, kw_only=True)
class Betting:
    """Course of the betting, the same in all games."""

    chip: Decimal
    """Smallest chip; all amounts are multiples of it."""
    openers: tuple[int, ...]
    """Player who acts first, by street."""
    first_street: int = 0
    """Index of the street on which the game begins."""
    posted: tuple[int, int] = (0, 0)
    """Blinds of the players."""
    stack: int | None = None
    """Amount that each player has at the start; None if stacks are unlimited."""
    pot: int = 0
    """Amount in the pot at the start, without blinds."""

    def root(self) -> StreetState:
        """Return the state at the start, after the blinds."""
        return StreetState(self.first_street, 0, self.posted, self.openers[self.first_street])

    def actions(self, state: StreetState) -> tuple[str, ...]:
        """Return the labels of the legal actions, with bets and raises in ascending order."""
        raise NotImplementedError

    def raised_to(self, state: StreetState, action: str) -> int:
        """Return the amount on this street of the player who bets or raises."""
        raise NotImplementedError

    def from_chips(self, chips: float) -> int:
        """Return the multiple of the smallest chip that is nearest to some chips."""
        return round(Decimal(str(chips)) / self.chip)

    def in_chips(self, amount: int) -> float:
        """Return an amount in chips, whole if the smallest chip is 1."""
        return amount if self.chip == 1 else float(amount * self.chip)

    def chips(self, state: StreetState) -> Chips:
        """Return the pot, the chips to call, and the chips that each player has left."""
        paid = self.paid(state)
        call = max(paid) - paid[state.player] if state.player >= 0 else 0
        pot = self.in_chips(self.pot + sum(paid))
        if self.stack is None:
            return Chips(pot, self.in_chips(call))
        behind = tuple(map(self.in_chips, self.left(state)))
        return Chips(pot, self.in_chips(call), behind)

    def left(self, state: StreetState) -> tuple[int, ...]:
        """Return the amount that each player has left, of a limited stack."""
        assert self.stack is not None
        return tuple(self.stack - amount for amount in self.paid(state))

    def next(self, state: StreetState, action: str) -> StreetState:
        """Return the state after an action, or after the next card is dealt (:data:`DEAL`)."""
        if state.player == TO_DEAL:
            return self._open_street(state)
        player, opponent = state.player, 1 - state.player
        acted = state._replace(
            added=after(state.added, action), removed=after(state.removed, action)
        )
        if action == FOLD:
            return acted._replace(player=WON - opponent)
        raised = action not in (CHECK, CALL)
        amount = self.raised_to(state, action) if raised else max(state.street_put)
        street_put = (amount, state.street_put[1]) if player == 0 else (state.street_put[0], amount)
        acted = acted._replace(street_put=street_put, player=opponent, bets=state.bets + raised)
        # After the call of a blind, as after the first check, the other player acts.
        if raised or (state.bets == 0 and player == self.openers[state.street]):
            return acted
        return self._close_street(acted, leads=action == CALL and player == 0)

    def _close_street(self, state: StreetState, *, leads: bool) -> StreetState:
        """Return the state at the end of a street."""
        last = state.street == len(self.openers) - 1
        return state._replace(player=TO_SHOW if last else TO_DEAL, leads=leads)

    def _open_street(self, state: StreetState) -> StreetState:
        """Return the first state of the next street, which is over at once after an all-in."""
        street, put = state.street + 1, state.put + state.street_put[0]
        opened = state._replace(street=street, put=put, street_put=(0, 0), bets=0)
        if put != self.stack:
            return opened._replace(player=self.openers[street])
        return self._close_street(opened, leads=False)

    def paid(self, state: StreetState) -> tuple[int, int]:
        """Return the amount that each player has put in since the start."""
        return state.put + state.street_put[0], state.put + state.street_put[1]


@dataclass(frozen=True, kw_only=True)
class LimitBetting(Betting):
    """Betting in which all bets and raises of a street are equal."""

    bets: tuple[int, ...]
    """Amount of a bet and of every raise, by street."""
    max_raises: tuple[int, ...]
    """Largest number of bets and raises, by street."""

    def actions(self, state: StreetState) -> tuple[str, ...]:
        """Return the legal actions; a player may fold only against a bet."""
        faces_bet = state.street_put[state.player] < max(state.street_put)
        actions = (FOLD, CALL) if faces_bet else (CHECK,)
        if state.bets >= self.max_raises[state.street]:
            return actions
        # A blind counts as a bet, so the big blind raises after the small blind has called.
        blind = state.street == 0 and self.posted[0] != self.posted[1]
        return (*actions, RAISE if faces_bet or blind else BET)

    def raised_to(self, state: StreetState, action: str) -> int:
        """Return the amount on this street of the player who bets or raises."""
        return max(state.street_put) + self.bets[state.street]


@dataclass(frozen=True, kw_only=True)
class SizedBetting(Betting):
    """Betting whose bets and raises follow from sizes.

    Tuples by street have None for streets before the first.
    """

    stack: int
    bets: tuple[tuple[tuple[BetSize, ...], tuple[BetSize, ...]], ...]
    """Sizes of opening bets, by street and player."""
    raises: tuple[tuple[tuple[BetSize, ...], tuple[BetSize, ...]], ...]
    """Sizes of raises, by street and player."""
    donks: tuple[tuple[BetSize, ...] | None, ...]
    """Sizes of donk bets, by street; None if they are the sizes of other bets."""
    add_allin: float = 0.0
    """Multiple of the pot: all-in is added as a size if it is at most that large."""
    force_allin: float = 0.0
    """Share of the pot after a call: a size becomes all-in if at most that share would be left."""
    merging: float = 0.0
    """Threshold below which a size is dropped next to a larger one; 0 keeps all sizes."""
    added: Lines = ()
    """Lines to add by hand, from the start."""
    removed: Lines = ()
    """Lines to remove by hand, from the start."""
    game: str = "holdem"
    """Name of the game in errors."""
    pot_limit: bool = False
    """True if bets and raises are limited to the pot after a call."""
    least: int = 1
    """Smallest difference between a raise and the bet before it."""
    limps: bool = True
    """True if a blind may be called."""
    max_raises: float = math.inf
    """Largest number of bets and raises on a street; blinds do not count."""

    def root(self) -> StreetState:
        """Return the state at the start, after the blinds."""
        return super().root()._replace(added=self.added, removed=self.removed)

    def actions(self, state: StreetState) -> tuple[str, ...]:
        """Return the labels of the legal actions, with bets and raises in ascending order.

        Labels are ``"fold"``, ``"check"``, ``"call"``, ``"bet120"``, ``"raise300"`` and
        ``"allin"``.

        Raises:
            ValueError: A line cannot be added or removed at this state.
        """
        player, street_put = state.player, state.street_put
        current_bet = max(street_put)
        all_in = self._all_in(state)
        top = self._top(state, current_bet, all_in)
        labels = [FOLD, CALL] if street_put[player] < current_bet else [CHECK]
        # Only the first call of a blind is a limp; a call of a raise stays legal.
        if not self.limps and state.bets == 0 and CALL in labels:
            labels.remove(CALL)
        # A blind counts as a bet, so the big blind raises after the small blind has called.
        word = RAISE if current_bet else BET
        removed = {line[0] for line in state.removed if len(line) == 1}
        # An all-in cannot be raised.
        if current_bet < all_in and self._may_raise(state):
            amounts = self._amounts(state, current_bet, all_in)
            for line in state.added:
                if len(line) == 1:
                    amounts.add(self._added_amount(line[0], word, current_bet, top, all_in))
            labels += [
                ALL_IN if amount == all_in else word + self.format_chips(amount)
                for amount in sorted(amounts)
            ]
        elif any(len(line) == 1 for line in state.added):
            raise ValueError(f"{self.game}: add: nobody can raise an all-in")
        for label in removed:
            if label not in labels:
                raise ValueError(
                    f"{self.game}: remove: there is no {label!r} to remove, only "
                    f"{', '.join(labels)}"
                )
        labels = [label for label in labels if label not in removed]
        if not labels:
            raise ValueError(f"{self.game}: remove: a player would have no action left")
        # Longer lines are applied at later states, so only their first action is checked here.
        for line in (*state.added, *state.removed):
            if len(line) > 1 and line[0] not in labels:
                raise ValueError(
                    f"{self.game}: lines to add or remove: there is no {line[0]!r} before "
                    f"{' '.join(line[1:])!r}, only {', '.join(labels)}"
                )
        return tuple(labels)

    def format_chips(self, amount: int) -> str:
        """Format an amount in chips: ``"120"``, ``"2.5"``."""
        return f"{(amount * self.chip).normalize():f}"

    def label_of(self, size: BetSize, state: StreetState) -> str:
        """Return the label of the bet or raise of a size, within the limits of stack and pot."""
        current_bet, all_in = max(state.street_put), self._all_in(state)
        pot, top = self._pot(state, current_bet), self._top(state, current_bet, all_in)
        is_all_in = size.kind == "all-in"
        amount = all_in if is_all_in else self._amount(size, state, current_bet, all_in, pot)
        amount = max(min(amount, top), min(self._smallest_raise(state, current_bet), top))
        word = RAISE if current_bet else BET
        return ALL_IN if amount == all_in else word + self.format_chips(amount)

    def amount_of(self, label: str) -> int:
        """Return the amount in the label of a bet or raise, but not of :data:`ALL_IN`."""
        return self._read(label.removeprefix("bet").removeprefix("raise"))

    def raised_to(self, state: StreetState, action: str) -> int:
        """Return the amount on this street of the player who bets or raises."""
        return self._all_in(state) if action == ALL_IN else self.amount_of(action)

    def _all_in(self, state: StreetState) -> int:
        """Return the amount on this street that is all-in."""
        return self.stack - state.put

    def _may_raise(self, state: StreetState) -> bool:
        """Return whether the betting is open to a raise."""
        return True

    def _smallest_raise(self, state: StreetState, current_bet: int) -> int:
        """Return the amount of the smallest raise, if the limit and the stack allow it."""
        return current_bet + max(current_bet - min(state.street_put), self.least)

    def _read(self, digits: str) -> int:
        """Return the amount that the digits give in chips.

        Return -1 for any other text, and for amounts that are not multiples of the smallest chip.
        """
        try:
            amount = Decimal(digits) / self.chip
        except InvalidOperation:
            return -1
        return int(amount) if amount.is_finite() and amount == int(amount) else -1

    def _pot(self, state: StreetState, current_bet: int) -> int:
        """Return the pot after a call."""
        return self.pot + 2 * (state.put + current_bet)

    def _top(self, state: StreetState, current_bet: int, all_in: int) -> int:
        """Return the highest amount that the stack and the pot limit allow."""
        return (
            min(all_in, current_bet + self._pot(state, current_bet)) if self.pot_limit else all_in
        )

    def _added_amount(self, label: str, word: str, current_bet: int, top: int, all_in: int) -> int:
        """Return the amount of an action that is added by hand."""
        if label == ALL_IN and top == all_in:
            return all_in
        amount = self._read(label.removeprefix(word)) if label.startswith(word) else -1
        if not current_bet < amount <= top:
            all_in_label = f"{ALL_IN!r} or " if top == all_in else ""
            raise ValueError(
                f"{self.game}: add: {label!r} must be {all_in_label}{word!r} and an amount from "
                f"{self.format_chips(current_bet + 1)} to {self.format_chips(top)}"
            )
        return amount

    def _amounts(self, state: StreetState, current_bet: int, all_in: int) -> set[int]:
        """Return the amounts of bets or raises that follow from the sizes."""
        player, street = state.player, state.street
        if state.bets >= self.max_raises:
            return set()
        pot, top = self._pot(state, current_bet), self._top(state, current_bet, all_in)
        if current_bet:
            sizes = self.raises[street][player]
        else:
            donks = self.donks[street] if state.leads and player == 0 else None
            sizes = self.bets[street][player] if donks is None else donks
        wanted = {
            all_in if size.kind == "all-in" else self._amount(size, state, current_bet, all_in, pot)
            for size in sizes
            if state.bets <= size.max_raises
        }
        if all_in <= current_bet + _round(self.add_allin * pot) and top == all_in:
            wanted.add(all_in)
        # A raise is at least as large as the last one, unless the limit or the stack is smaller.
        smallest_raise = self._smallest_raise(state, current_bet)
        amounts_in_limits = set()
        for amount in wanted:
            amount = max(min(amount, top), min(smallest_raise, top))
            pot_after_call = pot + 2 * (amount - current_bet)
            forced = all_in <= amount + _round(self.force_allin * pot_after_call) and top == all_in
            amounts_in_limits.add(all_in if forced else amount)
        return self._drop_close(amounts_in_limits, current_bet, pot)

    def _amount(
        self, size: BetSize, state: StreetState, current_bet: int, all_in: int, pot: int
    ) -> int:
        """Return the amount of one size, before limits."""
        if size.kind == "chips":
            return current_bet + _round(size.number / float(self.chip))
        streets = len(self.openers) - state.street
        base, more = amount_of_size(size, streets, state.bets, current_bet, all_in, pot)
        return int(base) + _round(more)

    def _drop_close(self, amounts: set[int], current_bet: int, pot: int) -> set[int]:
        """Return the amounts without those that are close to a larger amount that is kept."""
        distinct: list[int] = []
        for amount in sorted(amounts, reverse=True):
            # Amounts descend, so the last amount kept is the nearest; all others are further away.
            if distinct:
                ratio = (1.0 + (distinct[-1] - current_bet) / pot) / (
                    1.0 + (amount - current_bet) / pot
                )
            if not distinct or ratio >= 1.0 + self.merging:
                distinct.append(amount)
        return set(distinct)


@dataclass(frozen=True, kw_only=True)
class RoundedBetting(SizedBetting):
    """Betting whose sizes are rounded to other multiples than those of the smallest chip.

    Sizes are computed in chips, as floats.
    """

    ante: float
    """Chips that each player paid before the blinds."""
    step: float
    """Chips to whose multiples sizes are rounded."""

    def _amount(
        self, size: BetSize, state: StreetState, current_bet: int, all_in: int, pot: int
    ) -> int:
        """Return the amount of one size, before limits."""
        put, bet, top = map(self.in_chips, (state.put, current_bet, all_in))
        streets = len(self.openers) - state.street
        # A raise spreads a geometric size over one street less than in a spot.
        bets = state.bets + 1 if bet else 0
        base, more = amount_of_size(size, streets, bets, bet, top, 2.0 * (self.ante + put + bet))
        return self.from_chips(_round((base + more) / self.step) * self.step)


def amount_of_size(
    size: BetSize, streets: int, bets: int, current_bet: float, all_in: float, pot: float
) -> tuple[float, float]:
    """Return the amount of one size other than all-in, as two summands; the second is not rounded.

    Args:
        size: The size.
        streets: Number of streets that are left, this one included.
        bets: Number of bets and raises on this street.
        current_bet: Higher amount of both players on this street.
        all_in: Amount that is all-in.
        pot: Pot after a call.
    """
    kind, number, limit, _ = size
    if kind == "times":
        return 0, current_bet * number
    if kind == "least":
        return current_bet, 0
    if kind == "chips":
        return current_bet, number
    if kind == "geometric":
        geometric_streets = number or streets
        if current_bet:
            geometric_streets = max(geometric_streets - bets + 1, 1)
        # A bet of `share` pots multiplies the pot by 1 + 2 * share when it is called; after
        # all `streets` such bets the pot has grown by the factor 1 + 2 * ratio.
        ratio = (all_in - current_bet) / pot
        number = min(((2.0 * ratio + 1.0) ** (1.0 / geometric_streets) - 1.0) / 2.0, limit)
    return current_bet, pot * number


def after(lines: Lines, action: str) -> Lines:
    """Return the rests of the lines that begin with an action."""
    return tuple(line[1:] for line in lines if len(line) > 1 and line[0] == action)


def _round(amount: float) -> int:
    """Return the nearest whole number, with halves rounded up."""
    return math.floor(amount + 0.5)
