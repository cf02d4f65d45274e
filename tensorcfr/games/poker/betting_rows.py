"""No-limit betting, many public states at a time, so that a spot is counted in milliseconds.

A public state is a row of whole numbers with the columns :data:`COLUMNS`.  The rules are those of
:class:`~tensorcfr.games.poker.betting.SizedBetting`, written for arrays.  Each operation rounds
exactly as the scalar code does, so that both produce the same amounts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...rules import Following
from .betting import (
    ALL_IN,
    CALL,
    CHECK,
    FOLD,
    STREETS,
    TO_DEAL,
    TO_SHOW,
    Lines,
    SizedBetting,
    StreetState,
)
from .betting import after as lines_after
from .sizes import BetSize

COLUMNS = ("street", "put", "here 0", "here 1", "player", "bets", "leads", "lines")
"""Fields of a :class:`~tensorcfr.games.poker.betting.StreetState`, by column.

``here 0`` and ``here 1`` are the amounts on this street.  ``lines`` is an index into the pairs of
lines still to add and remove.
"""
NONE = -1
"""Placeholder for a size that gives no amount."""


class _Decisions(NamedTuple):
    """Rows in which a player acts, by column; every field is int64 (rows,)."""

    put: np.ndarray
    """Amount that each player has put in on earlier streets."""
    current_bet: np.ndarray
    """Higher amount of both players on this street."""
    low: np.ndarray
    """Lower amount of both players on this street."""
    player: np.ndarray
    """Player who acts."""
    bets: np.ndarray
    """Number of bets and raises on this street."""
    leads: np.ndarray
    """1 if an opening bet of player 0 is a donk bet."""
    all_in: np.ndarray
    """Amount that is all-in."""
    pot: np.ndarray
    """Pot after a call."""
    top: np.ndarray
    """Highest amount that the stack and the pot limit allow."""


class BettingRows:
    """Betting of a spot as rows; see :class:`tensorcfr.rules.StateRows`.

    Args:
        betting: Betting rules of the spot.
    """

    def __init__(self, betting: SizedBetting) -> None:
        self.betting = betting
        self._lines: list[tuple[Lines, Lines]] = []
        self._numbers: dict[tuple[Lines, Lines], int] = {}
        self._number((), ())

    def root(self) -> np.ndarray:
        """Return the row of the first state, int64 (1, 8)."""
        root = self.betting.root()
        lines = self._number(root.added, root.removed)
        return np.array([[root.street, 0, 0, 0, 0, 0, 0, lines]], dtype=np.int64)

    def after(self, rows: np.ndarray) -> Following:
        """Count the nodes at some rows of one street, and list the rows that follow them."""
        counts = np.zeros((len(rows), 8), dtype=np.int64)
        counts[:, 0] = 1
        is_decision = rows[:, 4] >= 0
        counts[rows[:, 4] == TO_SHOW, 1] = 1
        runs_out = np.flatnonzero(rows[:, 4] == TO_DEAL)
        counts[runs_out, 6] = 1
        deciding = np.flatnonzero(is_decision)
        # After an all-in the remaining streets have no decisions, only cards.
        successors = [(runs_out, self._open_street(rows[runs_out]), True)]
        if len(deciding):
            successors += self._decide(rows, deciding, counts)
        return Following(
            counts,
            np.concatenate([parent for parent, _, _ in successors]),
            np.concatenate([following for _, following, _ in successors]),
            np.concatenate([np.full(len(parent), dealt) for parent, _, dealt in successors]),
            frozenset({1}),
        )

    def _decide(
        self, rows: np.ndarray, deciding: np.ndarray, counts: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray, bool]]:
        """Count the decisions at rows in which a player acts, and list the rows that follow them.

        Args:
            rows: int64 (rows, 8): all rows.
            deciding: int64 (decisions,): indices of the rows in which a player acts.
            counts: int64 (rows, 8): counts of each row; modified in place.

        Returns:
            Groups of successors: int64 (successors,), index of the parent row; int64 (successors,
            8), the row; and True if a card is dealt before it.
        """
        betting = self.betting
        street, put, first, second, player, bets, leads, lines = rows[deciding].T
        current_bet, low = np.maximum(first, second), np.minimum(first, second)
        all_in, pot = betting.stack - put, betting.pot + 2 * (put + current_bet)
        top = np.minimum(all_in, current_bet + pot) if betting.pot_limit else all_in
        decisions = _Decisions(put, current_bet, low, player, bets, leads, all_in, pot, top)
        facing = np.where(player == 0, first, second) < current_bet
        amounts = self._amounts(int(street[0]), decisions)
        folds, stays = facing.copy(), np.ones(len(deciding), dtype=bool)
        after_stay = np.zeros(len(deciding), dtype=np.int64)
        after_amount = np.zeros(amounts.shape, dtype=np.int64)
        # Only few rows have lines to add or remove, so the scalar rules compute their actions.
        for row in np.flatnonzero(lines).tolist():
            added, removed = self._lines[int(lines[row])]
            table = StreetState(
                int(street[0]),
                int(put[row]),
                (int(first[row]), int(second[row])),
                int(player[row]),
                int(bets[row]),
                bool(leads[row]),
                added,
                removed,
            )
            labels = betting.actions(table)
            folds[row], stays[row] = FOLD in labels, CHECK in labels or CALL in labels
            raised = [label for label in labels if label not in (FOLD, CHECK, CALL)]
            # Added lines may give a row more amounts than there are sizes.
            if len(raised) > amounts.shape[1]:
                padding = ((0, 0), (0, len(raised) - amounts.shape[1]))
                amounts = np.pad(amounts, padding, constant_values=NONE)
                after_amount = np.pad(after_amount, padding)
            amounts[row] = NONE
            for k, label in enumerate(raised):
                amounts[row, k] = all_in[row] if label == ALL_IN else betting.amount_of(label)
                after_amount[row, k] = self._after(added, removed, label)
            stay = CALL if facing[row] else CHECK
            after_stay[row] = self._after(added, removed, stay)
        bettor, size = np.nonzero(amounts != NONE)
        actions = folds + stays.astype(np.int64) + np.bincount(bettor, minlength=len(deciding))
        for seat in range(2):
            counts[deciding, 2 + seat] = player == seat
            counts[deciding, 4 + seat] = np.where(player == seat, actions, 0)
        # The state after a fold is a terminal without a row, so it is counted at its parent.
        counts[deciding, 0] += folds
        counts[deciding, 1] += folds
        # A check of player 0 leaves the street open; any other check and any call closes it.
        checks = np.flatnonzero(stays & ~facing & (player == 0))
        closes = np.flatnonzero(stays & (facing | (player == 1)))
        # Column 6 (leads) matters only for the opening bet of player 0.  Setting it to 0 in all
        # later rows makes more rows equal.
        checked = rows[deciding[checks]]
        checked[:, 4], checked[:, 6], checked[:, 7] = 1, 0, after_stay[checks]
        raised_to = rows[deciding[bettor]]
        raiser = player[bettor]
        raised_to[np.arange(len(bettor)), 2 + raiser] = amounts[bettor, size]
        raised_to[:, 4], raised_to[:, 6] = 1 - raiser, 0
        raised_to[:, 5] += 1
        raised_to[:, 7] = after_amount[bettor, size]
        successors = [(deciding[checks], checked, False), (deciding[bettor], raised_to, False)]
        # The node that closes the street (a showdown or a deal) has no row either.
        counts[deciding[closes], 0] += 1
        if street[0] == len(STREETS) - 1:
            counts[deciding[closes], 1] += 1
            return successors
        counts[deciding[closes], 6] += 1
        closed = rows[deciding[closes]]
        closed[:, 2] = closed[:, 3] = current_bet[closes]
        closed[:, 6] = facing[closes] & (player[closes] == 0)
        closed[:, 7] = after_stay[closes]
        return [*successors, (deciding[closes], self._open_street(closed), True)]

    def _open_street(self, rows: np.ndarray) -> np.ndarray:
        """Return the first rows of the next street, after its card."""
        opened = rows.copy()
        opened[:, 0] += 1
        opened[:, 1] += rows[:, 2]
        opened[:, [2, 3, 4, 5]] = 0
        if not len(rows):
            return opened
        street = int(opened[0, 0])
        if self.betting.donks[street] is None:
            opened[:, 6] = 0  # Only donk bets depend on it; without them, rows merge.
        all_in = opened[:, 1] >= self.betting.stack
        opened[all_in, 4] = TO_SHOW if street == len(STREETS) - 1 else TO_DEAL
        opened[all_in, 6] = 0
        return opened

    def _amounts(self, street: int, decisions: _Decisions) -> np.ndarray:
        """Return the amounts of bets and raises, int64 (rows, sizes), padded with :data:`NONE`."""
        betting = self.betting
        donks = betting.donks[street]
        groups: list[tuple[np.ndarray, tuple[BetSize, ...]]] = []
        for player in range(2):
            can_bet = (decisions.player == player) & (decisions.current_bet < decisions.all_in)
            bets = can_bet & (decisions.current_bet == 0)
            groups.append((can_bet & (decisions.current_bet > 0), betting.raises[street][player]))
            if player == 0 and donks is not None:
                groups.append((bets & (decisions.leads == 1), donks))
                bets &= decisions.leads == 0
            groups.append((bets, betting.bets[street][player]))
        width = 1 + max(len(sizes) for _, sizes in groups)
        amounts = np.full((len(decisions.put), width), NONE, dtype=np.int64)
        for chosen, sizes in groups:
            indices = np.flatnonzero(chosen)
            if len(indices):
                subset = _Decisions(*(column[indices] for column in decisions))
                amounts[indices, : 1 + len(sizes)] = self._amounts_of_sizes(street, sizes, subset)
        return amounts

    def _amounts_of_sizes(
        self, street: int, sizes: tuple[BetSize, ...], decisions: _Decisions
    ) -> np.ndarray:
        """Return the amounts for rows with the same sizes, as :meth:`SizedBetting._amounts` does.

        Returns:
            int64 (rows, 1 + sizes), padded with :data:`NONE`; the extra column is for an all-in
            that is added.
        """
        betting = self.betting
        can_go_all_in = decisions.top == decisions.all_in
        wanted = np.full((len(decisions.put), 1 + len(sizes)), NONE, dtype=np.int64)
        adds = can_go_all_in & (
            decisions.all_in - decisions.current_bet <= _rounded(betting.add_allin * decisions.pot)
        )
        wanted[adds, -1] = decisions.all_in[adds]
        for k, size in enumerate(sizes):
            allowed = decisions.bets <= size.max_raises
            wanted[allowed, k] = self._amounts_of_size(street, size, decisions)[allowed]
        # A raise is at least as large as the last one, unless the limit or the stack is smaller.
        smallest_raise = np.minimum(
            np.maximum(decisions.current_bet + decisions.current_bet - decisions.low, 1),
            decisions.top,
        )
        column = (slice(None), None)
        amount = np.maximum(np.minimum(wanted, decisions.top[column]), smallest_raise[column])
        pot_after_call = decisions.pot[column] + 2 * (amount - decisions.current_bet[column])
        forced = decisions.all_in[column] - amount <= _rounded(betting.force_allin * pot_after_call)
        amount = np.where(forced & can_go_all_in[column], decisions.all_in[column], amount)
        amount[wanted == NONE] = NONE
        # From the largest amount down, keep an amount if it differs enough from the last one kept.
        amount = -np.sort(-amount, axis=1)
        share = np.maximum(amount - decisions.current_bet[column], 0) / decisions.pot[column]
        bound, kept_share = 1.0 + betting.merging, np.full(len(amount), np.inf)
        kept_amount = np.full(len(amount), NONE)
        for k in range(amount.shape[1]):
            stays = (amount[:, k] != NONE) & (amount[:, k] != kept_amount)
            stays &= (1.0 + kept_share) / (1.0 + share[:, k]) >= bound
            kept_share = np.where(stays, share[:, k], kept_share)
            kept_amount = np.where(stays, amount[:, k], kept_amount)
            amount[~stays, k] = NONE
        return amount

    def _amounts_of_size(self, street: int, size: BetSize, decisions: _Decisions) -> np.ndarray:
        """Return the amounts of one size as :meth:`SizedBetting._amount`, without caps on raises.

        Amounts are at most twice the all-in amount, so that they fit into int64.
        """
        kind, number, limit, _ = size
        if kind == "all-in":
            return decisions.all_in
        if kind == "times":
            return _whole(decisions.current_bet * number, decisions.all_in)
        if kind == "least":
            return decisions.current_bet
        if kind == "chips":
            chips = np.full(len(decisions.put), number / float(self.betting.chip))
            return decisions.current_bet + _whole(chips, decisions.all_in)
        if kind == "pot":
            return decisions.current_bet + _whole(decisions.pot * number, decisions.all_in)
        streets = np.full(len(decisions.put), number or float(len(STREETS) - street))
        streets = np.where(
            decisions.current_bet > 0, np.maximum(streets - decisions.bets + 1, 1), streets
        )
        base = 2.0 * ((decisions.all_in - decisions.current_bet) / decisions.pot) + 1.0
        # Python's power, because NumPy's rounds differently on some machines.
        powers = zip(base.tolist(), (1.0 / streets).tolist(), strict=True)
        # The same formula as in Betting._amount, which explains it.
        root = np.array([factor**exponent for factor, exponent in powers])
        share = np.minimum((root - 1.0) / 2.0, limit)
        return decisions.current_bet + _whole(decisions.pot * share, decisions.all_in)

    def _after(self, added: Lines, removed: Lines, action: str) -> int:
        """Return the index of the lines that remain after an action."""
        return self._number(lines_after(added, action), lines_after(removed, action))

    def _number(self, added: Lines, removed: Lines) -> int:
        """Return the index of a pair of lines to add and remove; a new pair gets the next index."""
        if (added, removed) not in self._numbers:
            self._numbers[added, removed] = len(self._lines)
            self._lines.append((added, removed))
        return self._numbers[added, removed]


def _rounded(amount: np.ndarray) -> np.ndarray:
    """Return the nearest whole numbers as float64, with halves rounded up."""
    rounded: np.ndarray = np.floor(amount + 0.5)
    return rounded


def _whole(amount: np.ndarray, all_in: np.ndarray) -> np.ndarray:
    """Return the nearest whole numbers as int64, at most ``all_in``."""
    whole: np.ndarray = np.minimum(_rounded(amount), all_in).astype(np.int64)
    return whole
