"""No-limit betting between two players, street by street: which actions there are, in chips.

The rules of sizes are those of the common solvers, so that equal spots have equal trees.  Amounts
on a street are amounts *to* which a player bets or raises, in whole numbers of the smallest chip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from .sizes import Size

STREETS = ("flop", "turn", "river")
FOLD, CHECK, CALL, ALL_IN = "fold", "check", "call", "allin"
DEAL = "deal"
"""The step from a street to the next one."""
Lines = tuple[tuple[str, ...], ...]
"""Lines of actions."""


class Table(NamedTuple):
    """The public state of the betting."""

    street: int
    """Index of :data:`STREETS`."""
    put: tuple[int, int]
    """What each player has put in on earlier streets of the spot."""
    here: tuple[int, int]
    """What each player has put in on this street."""
    player: int
    """Who acts; :data:`TO_DEAL`, :data:`TO_SHOW`, or who has won (:data:`WON`) by a fold."""
    bets: int = 0
    """Bets and raises on this street."""
    leads: bool = False
    """Whether the bet of player 1 was the last one on the street before, and player 0 called: what
    player 0 opens this street with is a donk bet."""
    added: Lines = ()
    """Lines to add from here on."""
    removed: Lines = ()
    """Lines to remove from here on."""


TO_DEAL, TO_SHOW = -1, -2
WON = -3
"""Player ``p`` has won by a fold: ``WON - p``."""


@dataclass(frozen=True)
class Betting:
    """The betting of a spot.

    Tuples by street are for the flop, the turn and the river, whichever of them there are.
    """

    chip: Decimal
    """The smallest chip; actions are named by amounts in chips."""
    pot: int
    stack: int
    first_street: int
    bets: tuple[tuple[tuple[Size, ...], tuple[Size, ...]], ...]
    """By street and player."""
    raises: tuple[tuple[tuple[Size, ...], tuple[Size, ...]], ...]
    donks: tuple[tuple[Size, ...] | None, ...]
    """By street; None for the same as other bets."""
    add_allin: float
    force_allin: float
    merging: float
    added: Lines = ()
    removed: Lines = ()
    game: str = "holdem"
    """The name of the game, as errors say it."""
    pot_limit: bool = False
    """Whether nobody may bet or raise by more than the pot after a call."""

    def root(self) -> Table:
        """Nobody has bet, player 0 acts."""
        return Table(self.first_street, (0, 0), (0, 0), 0, added=self.added, removed=self.removed)

    def actions(self, table: Table) -> tuple[str, ...]:
        """What the player who acts can do: ``"fold"``, ``"check"``, ``"call"``, ``"bet120"``,
        ``"raise300"``, ``"allin"``; amounts in order.

        Raises:
            ValueError: A line that is to be added or removed cannot be.
        """
        player, here = table.player, table.here
        faced = max(here)
        most = self.stack - table.put[player]
        top = self._top(table, faced, most)
        facing = here[player] < faced
        found = [FOLD, CALL] if facing else [CHECK]
        removed = {line[0] for line in table.removed if len(line) == 1}
        # Nobody raises an all-in.
        if faced < most:
            amounts = self._amounts(table, faced, most)
            for line in table.added:
                if len(line) == 1:
                    amounts.add(self._added(line[0], facing, faced, top, most))
            found += [self._label(amount, facing, most) for amount in sorted(amounts)]
        elif any(len(line) == 1 for line in table.added):
            raise ValueError(f"{self.game}: add: nobody can raise an all-in")
        for label in removed:
            if label not in found:
                raise ValueError(
                    f"{self.game}: remove: there is no {label!r} to remove, only {', '.join(found)}"
                )
        found = [label for label in found if label not in removed]
        if not found:
            raise ValueError("holdem: remove: a player would have no action left")
        for line in (*table.added, *table.removed):
            if len(line) > 1 and line[0] not in found:
                raise ValueError(
                    f"{self.game}: lines to add or remove: there is no {line[0]!r} before "
                    f"{' '.join(line[1:])!r}, only {', '.join(found)}"
                )
        return tuple(found)

    def _label(self, amount: int, facing: bool, most: int) -> str:
        if amount == most:
            return ALL_IN
        return f"{'raise' if facing else 'bet'}{self.said(amount)}"

    def said(self, amount: int) -> str:
        """An amount in chips: ``"120"``, ``"2.5"``."""
        return f"{(amount * self.chip).normalize():f}"

    def amount_of(self, label: str) -> int:
        """Return the amount of a bet or raise, but for :data:`ALL_IN`."""
        return self._read(label.removeprefix("bet").removeprefix("raise"))

    def _read(self, digits: str) -> int:
        """The amount that is said in chips; -1 if it is none, or no multiple of the smallest."""
        try:
            amount = Decimal(digits) / self.chip
        except InvalidOperation:
            return -1
        return int(amount) if amount.is_finite() and amount == int(amount) else -1

    def _pot(self, table: Table, faced: int) -> int:
        """The pot after a call."""
        return self.pot + 2 * (table.put[table.player] + faced)

    def _top(self, table: Table, faced: int, most: int) -> int:
        """The highest amount that the limit allows."""
        return min(most, faced + self._pot(table, faced)) if self.pot_limit else most

    def _added(self, label: str, facing: bool, faced: int, top: int, most: int) -> int:
        """The amount of an action that is added by hand."""
        kind = "raise" if facing else "bet"
        if label == ALL_IN and top == most:
            return most
        amount = self._read(label.removeprefix(kind)) if label.startswith(kind) else -1
        if not faced < amount <= top:
            all_in = f"{ALL_IN!r} or " if top == most else ""
            raise ValueError(
                f"{self.game}: add: {label!r} must be {all_in}{kind!r} and an amount from "
                f"{self.said(faced + 1)} to {self.said(top)}"
            )
        return amount

    def _amounts(self, table: Table, faced: int, most: int) -> set[int]:
        """The amounts of bets or raises that the sizes make."""
        player, street = table.player, table.street
        pot, top = self._pot(table, faced), self._top(table, faced, most)
        facing = faced > 0
        if facing:
            sizes = self.raises[street][player]
        else:
            donks = self.donks[street] if table.leads and player == 0 else None
            sizes = self.bets[street][player] if donks is None else donks
        amounts = [self._amount(size, table, faced, most, pot) for size in sizes]
        wanted = {amount for amount in amounts if amount is not None}
        if most <= faced + _round(self.add_allin * pot) and top == most:
            wanted.add(most)
        least = max(faced + faced - min(table.here), 1)
        found = set()
        for amount in wanted:
            amount = max(min(amount, top), min(least, top))
            left = pot + 2 * (amount - faced)
            forced = most <= amount + _round(self.force_allin * left) and top == most
            found.add(most if forced else amount)
        return self._merged(found, faced, pot)

    def _amount(self, size: Size, table: Table, faced: int, most: int, pot: int) -> int | None:
        """The amount of one size; None where a cap on raises forbids it."""
        kind, number, limit, bets = size
        if table.bets > bets:
            return None
        if kind == "all-in":
            return most
        if kind == "times":
            return _round(faced * number)
        if kind == "least":
            return faced
        if kind == "chips":
            return faced + _round(number / float(self.chip))
        share = number
        if kind == "geometric":
            streets = number or len(STREETS) - table.street
            if faced:
                streets = max(streets - table.bets + 1, 1)
            ratio = (most - faced) / pot
            share = min(((2.0 * ratio + 1.0) ** (1.0 / streets) - 1.0) / 2.0, limit)
        return faced + _round(pot * share)

    def _merged(self, amounts: set[int], faced: int, pot: int) -> set[int]:
        """Without the amounts that are close to a larger one."""
        kept: list[int] = []
        for amount in sorted(amounts, reverse=True):
            # The nearest larger one that is kept decides: the others are further away.
            if kept:
                ratio = (1.0 + (kept[-1] - faced) / pot) / (1.0 + (amount - faced) / pot)
            if not kept or ratio >= 1.0 + self.merging:
                kept.append(amount)
        return set(kept)

    def next(self, table: Table, action: str) -> Table:
        """The table after an action, or after the next card is dealt (:data:`DEAL`)."""
        if table.player == TO_DEAL:
            return self._opened(table)
        player, other = table.player, 1 - table.player
        acted = table._replace(
            added=after(table.added, action), removed=after(table.removed, action)
        )
        faced = max(table.here)
        if action == FOLD:
            return acted._replace(player=WON - other)
        if action == CHECK:
            if player == 0:
                return acted._replace(player=1)
            return self._closed(acted, leads=False)
        if action == CALL:
            acted = acted._replace(here=(faced, faced))
            return self._closed(acted, leads=player == 0)
        amount = self.stack - table.put[player] if action == ALL_IN else self.amount_of(action)
        here = (amount, table.here[1]) if player == 0 else (table.here[0], amount)
        return acted._replace(here=here, player=other, bets=table.bets + 1)

    def _closed(self, table: Table, *, leads: bool) -> Table:
        """The street is over."""
        last = table.street == len(STREETS) - 1
        return table._replace(player=TO_SHOW if last else TO_DEAL, leads=leads)

    def _opened(self, table: Table) -> Table:
        """The next street, after its card."""
        put = (table.put[0] + table.here[0], table.put[1] + table.here[1])
        opened = table._replace(street=table.street + 1, put=put, here=(0, 0), bets=0)
        if put[0] < self.stack:
            return opened._replace(player=0)
        return self._closed(opened, leads=False)

    def paid(self, table: Table) -> tuple[int, int]:
        """What each player has put in since the start of the spot."""
        return table.put[0] + table.here[0], table.put[1] + table.here[1]


def after(lines: Lines, action: str) -> Lines:
    """Return what is left of the lines that begin with an action."""
    return tuple(line[1:] for line in lines if len(line) > 1 and line[0] == action)


def _round(amount: float) -> int:
    """The nearest whole number, halves upwards."""
    return math.floor(amount + 0.5)
