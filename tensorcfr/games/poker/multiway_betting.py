"""Betting between three players with stacks of their own: order of action, all-ins, side pots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .betting import (
    CALL,
    CHECK,
    FOLD,
    TO_DEAL,
    TO_SHOW,
    WON,
    Lines,
    SizedBetting,
    after,
)

Amounts = tuple[int, ...]
"""An amount of each player."""
Flags = tuple[bool, ...]
"""A truth value for each player."""


class MultiwayState(NamedTuple):
    """Public state of the betting; amounts are multiples of the smallest chip."""

    street: int
    """Index of the street."""
    put: Amounts
    """Amount that each player has put in on earlier streets."""
    street_put: Amounts
    """Amount that each player has put in on this street."""
    player: int
    """Player who acts, or another number as in
    :attr:`~tensorcfr.games.poker.betting.StreetState.player`."""
    folded: Flags
    """True for each player who has folded."""
    waiting: Flags
    """True for each player who still acts before the street ends."""
    may_raise: Flags
    """True for each player who may raise."""
    full_raise: int = 0
    """Largest bet or raise on this street: the least amount of the next raise."""
    bets: int = 0
    """Number of bets and raises on this street."""
    added: Lines = ()
    """Rest of the lines to add that begin at this state."""
    removed: Lines = ()
    """Rest of the lines to remove that begin at this state."""
    leads: bool = False
    """False: there are no donk bets."""


@dataclass(frozen=True, kw_only=True)
class MultiwayBetting(SizedBetting):
    """Betting of several players, who act in their order on every street.

    Sizes are those of :class:`~tensorcfr.games.poker.betting.SizedBetting`, in shares of the pot
    after a call of the acting player.  Nobody bets more than another player can call.  An all-in
    that raises by less than the last raise does not open the betting again to players who have
    acted.
    """

    stacks: Amounts
    """Amount that each player has at the start."""

    def root(self) -> MultiwayState:  # type: ignore[override]
        """Return the state at the start; player 0 acts."""
        players = len(self.stacks)
        nothing, nobody = (0,) * players, (False,) * players
        start = MultiwayState(
            self.first_street - 1,
            nothing,
            nothing,
            TO_DEAL,
            nobody,
            nobody,
            nobody,
            added=self.added,
            removed=self.removed,
        )
        return self._open(start)

    def next(self, state: MultiwayState, action: str) -> MultiwayState:  # type: ignore[override]
        """Return the state after an action, or after the next card is dealt."""
        if state.player == TO_DEAL:
            return self._open(state)
        player, current_bet = state.player, max(state.street_put)
        acted = state._replace(
            added=after(state.added, action),
            removed=after(state.removed, action),
            waiting=_with(state.waiting, player, False),
            may_raise=_with(state.may_raise, player, False),
        )
        if action == FOLD:
            acted = acted._replace(folded=_with(state.folded, player, True))
            remaining = [p for p, folds in enumerate(acted.folded) if not folds]
            if len(remaining) == 1:
                return acted._replace(player=WON - remaining[0])
            return self._pass_on(acted, player)
        if action in (CHECK, CALL):
            amount = min(current_bet, self._left(state, player))
        else:
            amount = self.raised_to(state, action)  # type: ignore[arg-type]
        acted = acted._replace(street_put=_with(state.street_put, player, amount))
        if amount > current_bet:
            raised_by = amount - current_bet
            others = [
                p != player and not state.folded[p] and self._left(state, p) > state.street_put[p]
                for p in range(len(self.stacks))
            ]
            acted = acted._replace(waiting=tuple(others), bets=state.bets + 1)
            if raised_by >= state.full_raise:
                acted = acted._replace(may_raise=tuple(others), full_raise=raised_by)
        return self._pass_on(acted, player)

    def paid(self, state: MultiwayState) -> Amounts:  # type: ignore[override]
        """Return the amount that each player has put in since the start."""
        return tuple(map(sum, zip(state.put, state.street_put, strict=True)))

    def left(self, state: MultiwayState) -> Amounts:  # type: ignore[override]
        """Return the amount that each player has left."""
        paid = self.paid(state)
        return tuple(stack - amount for stack, amount in zip(self.stacks, paid, strict=True))

    def pots(self, state: MultiwayState) -> tuple[list[tuple[int, tuple[int, ...]]], int]:
        """Return the pots at the end of the game.

        Returns:
            The amount of each pot, with the players who compete for it; and the part of the largest
            bet that nobody called, which is in no pot.
        """
        paid, players = self.paid(state), range(len(self.stacks))
        most, called = sorted(paid)[-1], sorted(paid)[-2]
        pots: list[tuple[int, tuple[int, ...]]] = []
        level_before = 0
        for level in sorted({min(paid[p], called) for p in players if not state.folded[p]}):
            amount = sum(min(put, level) - min(put, level_before) for put in paid)
            competing = tuple(p for p in players if not state.folded[p] and paid[p] >= level)
            if not pots:
                amount += self.pot
            if amount:
                pots.append((amount, competing))
            level_before = level
        return pots, most - called

    def _open(self, state: MultiwayState) -> MultiwayState:
        """Return the first state of the next street, which is over at once if at most one player
        has chips left."""
        put, players = self.paid(state), range(len(self.stacks))
        can_act = tuple(not state.folded[p] and put[p] < self.stacks[p] for p in players)
        opened = state._replace(
            street=state.street + 1,
            put=put,
            street_put=(0,) * len(players),
            waiting=can_act if sum(can_act) > 1 else (False,) * len(players),
            may_raise=can_act,
            full_raise=0,
            bets=0,
        )
        return self._pass_on(opened, -1)

    def _pass_on(self, state: MultiwayState, player: int) -> MultiwayState:
        """Return the state in which the next player acts, or the street is over."""
        players = len(self.stacks)
        order = ((player + 1 + k) % players for k in range(players))
        acting = next((p for p in order if state.waiting[p]), None)
        if acting is not None:
            return state._replace(player=acting)
        last = state.street == len(self.openers) - 1
        return state._replace(player=TO_SHOW if last else TO_DEAL)

    def _left(self, state: MultiwayState, player: int) -> int:
        """Return the largest amount that a player can put in on this street."""
        return self.stacks[player] - state.put[player]

    def _all_in(self, state: MultiwayState) -> int:  # type: ignore[override]
        """Return the amount on this street that is all-in for the acting player, or for the last
        other player who can call it."""
        others = [
            self._left(state, p)
            for p, folds in enumerate(state.folded)
            if not folds and p != state.player
        ]
        return min(self._left(state, state.player), max(others))

    def _may_raise(self, state: MultiwayState) -> bool:  # type: ignore[override]
        """Return whether the betting is open to a raise of the acting player."""
        return state.may_raise[state.player]

    def _pot(self, state: MultiwayState, current_bet: int) -> int:  # type: ignore[override]
        """Return the pot after a call."""
        return self.pot + sum(self.paid(state)) + current_bet - state.street_put[state.player]

    def _smallest_raise(self, state: MultiwayState, current_bet: int) -> int:  # type: ignore[override]
        """Return the amount of the smallest raise, if the limit and the stack allow it."""
        return current_bet + max(state.full_raise, self.least)


def _with(values: tuple, player: int, value: int) -> tuple:  # type: ignore[type-arg]
    """Return the values with another one for a player."""
    return (*values[:player], value, *values[player + 1 :])
