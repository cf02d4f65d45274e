"""No-limit betting between two players, street by street: the legal actions, in chips.

The rules of sizes are those of the common solvers, so that equal spots have equal trees.  An amount
is the total *to* which a player bets or raises on a street, as a multiple of the smallest chip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from .sizes import BetSize

STREETS = ("flop", "turn", "river")
FOLD, CHECK, CALL, ALL_IN = "fold", "check", "call", "allin"
DEAL = "deal"
"""Transition from a street to the next one, in place of an action."""
Lines = tuple[tuple[str, ...], ...]
"""Lines of actions."""


class StreetState(NamedTuple):
    """Public state of the betting; amounts are multiples of the smallest chip."""

    street: int
    """Index into :data:`STREETS`."""
    put: tuple[int, int]
    """Amount that each player has put in on earlier streets of the spot."""
    street_put: tuple[int, int]
    """Amount that each player has put in on this street."""
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


@dataclass(frozen=True)
class SpotBetting:
    """Betting rules of a spot.

    Tuples by street have an entry for the flop, the turn and the river; entries of streets before
    the spot are None.
    """

    chip: Decimal
    """Smallest chip; all amounts are multiples of it, and labels of actions show chips."""
    pot: int
    """Amount in the pot at the start of the spot."""
    stack: int
    """Amount that each player has left at the start of the spot."""
    first_street: int
    """Index into :data:`STREETS` of the street on which the spot begins."""
    bets: tuple[tuple[tuple[BetSize, ...], tuple[BetSize, ...]], ...]
    """Sizes of opening bets, by street and player."""
    raises: tuple[tuple[tuple[BetSize, ...], tuple[BetSize, ...]], ...]
    """Sizes of raises, by street and player."""
    donks: tuple[tuple[BetSize, ...] | None, ...]
    """Sizes of donk bets, by street; None if they are the sizes of other bets."""
    add_allin: float
    """Multiple of the pot: all-in is added as a size if it is at most that large."""
    force_allin: float
    """Share of the pot after a call: a size becomes all-in if at most that share would be left."""
    merging: float
    """Threshold below which a size is dropped next to a larger one; 0 keeps all sizes."""
    added: Lines = ()
    """Lines to add by hand, from the start of the spot."""
    removed: Lines = ()
    """Lines to remove by hand, from the start of the spot."""
    game: str = "holdem"
    """Name of the game in errors."""
    pot_limit: bool = False
    """True if bets and raises are limited to the pot after a call."""

    def root(self) -> StreetState:
        """Return the state at the start of the spot; player 0 acts."""
        return StreetState(
            self.first_street, (0, 0), (0, 0), 0, added=self.added, removed=self.removed
        )

    def actions(self, table: StreetState) -> tuple[str, ...]:
        """Return the labels of the legal actions, with bets and raises in ascending order.

        Labels are ``"fold"``, ``"check"``, ``"call"``, ``"bet120"``, ``"raise300"`` and
        ``"allin"``.

        Raises:
            ValueError: A line cannot be added or removed at this state.
        """
        player, round_bets = table.player, table.street_put
        current_bet = max(round_bets)
        all_in = self.stack - table.put[player]
        top = self._top(table, current_bet, all_in)
        facing = round_bets[player] < current_bet
        labels = [FOLD, CALL] if facing else [CHECK]
        removed = {line[0] for line in table.removed if len(line) == 1}
        # An all-in cannot be raised.
        if current_bet < all_in:
            amounts = self._amounts(table, current_bet, all_in)
            for line in table.added:
                if len(line) == 1:
                    amounts.add(self._added_amount(line[0], facing, current_bet, top, all_in))
            labels += [self._label(amount, facing, all_in) for amount in sorted(amounts)]
        elif any(len(line) == 1 for line in table.added):
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
        for line in (*table.added, *table.removed):
            if len(line) > 1 and line[0] not in labels:
                raise ValueError(
                    f"{self.game}: lines to add or remove: there is no {line[0]!r} before "
                    f"{' '.join(line[1:])!r}, only {', '.join(labels)}"
                )
        return tuple(labels)

    def _label(self, amount: int, facing: bool, all_in: int) -> str:
        if amount == all_in:
            return ALL_IN
        return f"{'raise' if facing else 'bet'}{self.format_chips(amount)}"

    def format_chips(self, amount: int) -> str:
        """Format an amount in chips: ``"120"``, ``"2.5"``."""
        return f"{(amount * self.chip).normalize():f}"

    def amount_of(self, label: str) -> int:
        """Return the amount in the label of a bet or raise, but not of :data:`ALL_IN`."""
        return self._read(label.removeprefix("bet").removeprefix("raise"))

    def _read(self, digits: str) -> int:
        """Return the amount that the digits give in chips.

        Return -1 for any other text, and for amounts that are not multiples of the smallest chip.
        """
        try:
            amount = Decimal(digits) / self.chip
        except InvalidOperation:
            return -1
        return int(amount) if amount.is_finite() and amount == int(amount) else -1

    def _pot(self, table: StreetState, current_bet: int) -> int:
        """Return the pot after a call."""
        return self.pot + 2 * (table.put[table.player] + current_bet)

    def _top(self, table: StreetState, current_bet: int, all_in: int) -> int:
        """Return the highest amount that the stack and the pot limit allow."""
        return (
            min(all_in, current_bet + self._pot(table, current_bet)) if self.pot_limit else all_in
        )

    def _added_amount(
        self, label: str, facing: bool, current_bet: int, top: int, all_in: int
    ) -> int:
        """Return the amount of an action that is added by hand.

        Raises:
            ValueError: The label is not a bet or raise with a legal amount.
        """
        kind = "raise" if facing else "bet"
        if label == ALL_IN and top == all_in:
            return all_in
        amount = self._read(label.removeprefix(kind)) if label.startswith(kind) else -1
        if not current_bet < amount <= top:
            all_in_label = f"{ALL_IN!r} or " if top == all_in else ""
            raise ValueError(
                f"{self.game}: add: {label!r} must be {all_in_label}{kind!r} and an amount from "
                f"{self.format_chips(current_bet + 1)} to {self.format_chips(top)}"
            )
        return amount

    def _amounts(self, table: StreetState, current_bet: int, all_in: int) -> set[int]:
        """Return the amounts of bets or raises that follow from the sizes."""
        player, street = table.player, table.street
        pot, top = self._pot(table, current_bet), self._top(table, current_bet, all_in)
        facing = current_bet > 0
        if facing:
            sizes = self.raises[street][player]
        else:
            donks = self.donks[street] if table.leads and player == 0 else None
            sizes = self.bets[street][player] if donks is None else donks
        amounts = [self._amount(size, table, current_bet, all_in, pot) for size in sizes]
        wanted = {amount for amount in amounts if amount is not None}
        if all_in <= current_bet + _round(self.add_allin * pot) and top == all_in:
            wanted.add(all_in)
        # A raise is at least as large as the last one, unless the limit or the stack is smaller.
        smallest_raise = max(current_bet + current_bet - min(table.street_put), 1)
        amounts_in_limits = set()
        for amount in wanted:
            amount = max(min(amount, top), min(smallest_raise, top))
            pot_after_call = pot + 2 * (amount - current_bet)
            forced = all_in <= amount + _round(self.force_allin * pot_after_call) and top == all_in
            amounts_in_limits.add(all_in if forced else amount)
        return self._drop_close(amounts_in_limits, current_bet, pot)

    def _amount(
        self, size: BetSize, table: StreetState, current_bet: int, all_in: int, pot: int
    ) -> int | None:
        """Return the amount of one size, before limits; None if its cap on raises forbids it."""
        kind, number, limit, bets = size
        if table.bets > bets:
            return None
        if kind == "all-in":
            return all_in
        if kind == "times":
            return _round(current_bet * number)
        if kind == "least":
            return current_bet
        if kind == "chips":
            return current_bet + _round(number / float(self.chip))
        share = number
        if kind == "geometric":
            streets = number or len(STREETS) - table.street
            if current_bet:
                streets = max(streets - table.bets + 1, 1)
            # A bet of `share` pots multiplies the pot by 1 + 2 * share when it is called; after
            # all `streets` such bets the pot has grown by the factor 1 + 2 * ratio.
            ratio = (all_in - current_bet) / pot
            share = min(((2.0 * ratio + 1.0) ** (1.0 / streets) - 1.0) / 2.0, limit)
        return current_bet + _round(pot * share)

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

    def next(self, table: StreetState, action: str) -> StreetState:
        """Return the state after an action, or after the next card is dealt (:data:`DEAL`)."""
        if table.player == TO_DEAL:
            return self._open_street(table)
        player, opponent = table.player, 1 - table.player
        acted = table._replace(
            added=after(table.added, action), removed=after(table.removed, action)
        )
        current_bet = max(table.street_put)
        if action == FOLD:
            return acted._replace(player=WON - opponent)
        if action == CHECK:
            if player == 0:
                return acted._replace(player=1)
            return self._close_street(acted, leads=False)
        if action == CALL:
            acted = acted._replace(street_put=(current_bet, current_bet))
            return self._close_street(acted, leads=player == 0)
        amount = self.stack - table.put[player] if action == ALL_IN else self.amount_of(action)
        round_bets = (amount, table.street_put[1]) if player == 0 else (table.street_put[0], amount)
        return acted._replace(street_put=round_bets, player=opponent, bets=table.bets + 1)

    def _close_street(self, table: StreetState, *, leads: bool) -> StreetState:
        """Return the state at the end of a street."""
        last = table.street == len(STREETS) - 1
        return table._replace(player=TO_SHOW if last else TO_DEAL, leads=leads)

    def _open_street(self, table: StreetState) -> StreetState:
        """Return the first state of the next street, which is over at once after an all-in."""
        put = (table.put[0] + table.street_put[0], table.put[1] + table.street_put[1])
        opened = table._replace(street=table.street + 1, put=put, street_put=(0, 0), bets=0)
        if put[0] < self.stack:
            return opened._replace(player=0)
        return self._close_street(opened, leads=False)

    def paid(self, table: StreetState) -> tuple[int, int]:
        """Return the amount that each player has put in since the start of the spot."""
        return table.put[0] + table.street_put[0], table.put[1] + table.street_put[1]


def after(lines: Lines, action: str) -> Lines:
    """Return the rests of the lines that begin with an action."""
    return tuple(line[1:] for line in lines if len(line) > 1 and line[0] == action)


def _round(amount: float) -> int:
    """Return the nearest whole number, with halves rounded up."""
    return math.floor(amount + 0.5)
