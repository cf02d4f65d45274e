"""Payoffs of three hands of two cards: folds, and showdowns by strength."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from .._util.declared import check_declared, declared
from .._util.violations import fail, first_true, named_after, outside
from .payoff_form import PayoffForm
from .payoff_kind import FormReader

PLAYERS = 3
"""Number of players."""
CONSTANT, FIRST, SECOND, BOTH = range(4)
"""Amounts of a player at a terminal.  The first is the payoff without the pots that hands compete
for.  The others are the pots that the player can win from the first of the other players, from the
second, and from both."""
POTS = BOTH + 1
"""Number of these amounts."""
RELATIONS, PAIRS = 9, 4
"""Numbers of the payoffs by order that may follow them: one for each pair of relations of an own
hand to both others, and differences by the order of the others.  A relation is 0 if the own hand is
stronger, 1 for a tie, 2 if it is weaker; the payoff is that of a tie of the others.  The
differences are those of the first hand above the second, and of the second above the first, if both
are weaker; then the same if both are stronger."""
BY_ORDER = POTS + RELATIONS + PAIRS
"""Number of amounts with payoffs by order."""
_ALONE = np.array([1.0, 0.5, 0.0])
SHARES = np.stack(
    [
        np.ones((3, 3)),
        np.repeat(_ALONE[:, None], 3, axis=1),
        np.repeat(_ALONE[None], 3, axis=0),
        np.array([[1.0, 1 / 2, 0.0], [1 / 2, 1 / 3, 0.0], [0.0, 0.0, 0.0]]),
    ]
)
"""Share of each amount by the relations of an own hand to both other hands, float64 (4, 3, 3).  A
relation is 0 if the own hand is stronger, 1 for a tie, 2 if it is weaker."""


class PayoffThreeHands(NamedTuple):
    """Part of the payoff operator for three players with hands of two cards.

    A hand of one card is written as two cards that no different hand has, so that two hands share
    both or none.

    Three hands without a common card have a probability proportional to the product of their
    weights.  At a terminal a player has a constant payoff, and shares of pots for two or three
    players; see :data:`SHARES`.

    Hands that are equivalent on a board form a *class*, with one sequence; the kind of a board
    determines its classes.  Terminal ``t`` adds

        g[c, t] += own_weight[h] * sum_{j, k} weight[j] * weight[k] * payoff * x[j, t] * x[k, t]

    where ``h`` is the first hand of class ``c``, and ``payoff`` is the sum of the amounts times
    their shares.  The hands ``j`` and ``k`` of the other players share no card with the board, with
    ``h`` or with each other.
    """

    cards: Annotated[np.ndarray, np.int64, 1]
    """int64 (1,): number of cards in the deck."""
    hand_begin: Annotated[np.ndarray, np.int64, 4]
    """int64 (4,): player ``i`` has the hands ``[i]`` to ``[i + 1] - 1`` in arrays over hands.  All
    other arrays count hands from the first one of their player."""
    hand: Annotated[np.ndarray, np.int64, "hands", 2]
    """int64 (hands, 2): cards of each hand."""
    weight: Annotated[np.ndarray, np.float64, "hands"]
    """float64 (hands,): weight of each hand."""
    class_of: Annotated[np.ndarray, np.int64, "kinds", "hands"]
    """int64 (kinds, hands): class of each hand on boards of each kind."""
    own_weight: Annotated[np.ndarray, np.float64, "kinds", "hands"]
    """float64 (kinds, hands): total weight of a class at its first hand, 0 at its other hands."""
    board_kind: Annotated[np.ndarray, np.int64, "boards"]
    """int64 (boards,): kind of each board."""
    level: Annotated[np.ndarray, np.int64, "boards", "hands"]
    """int64 (boards, hands): rank of the strength of each hand, from the weakest, the same for
    all players; -1 for hands that share a card with the board."""
    order: Annotated[np.ndarray, np.int64, "boards", "hands"]
    """int64 (boards, hands): hands of each player by ascending level."""
    level_end: Annotated[np.ndarray, np.int64, "boards", 3, "levels"]
    """int64 (boards, 3, levels): number of hands of each player up to each level, from -1."""
    terminal_board: Annotated[np.ndarray, np.int64, "terminals"]
    """int64 (terminals,): board of each public terminal."""
    sequence: Annotated[np.ndarray, np.int64, 3, "terminals"]
    """int64 (3, terminals): last sequence of the first class of player ``i`` at each terminal; the
    sequences of the other classes follow it."""
    amount: Annotated[np.ndarray, np.float64, 3, "terminals", "amounts"]
    """float64 (3, terminals, amounts): constant payoff of player ``i``, and the pots against the
    first of the other players in ascending order, the second, and both.  With prizes, payoffs by
    order follow, which are added; see :data:`RELATIONS`.  All are multiplied by the number of
    boards that are solved as one, and by the probability of a deal of weight 1."""

    @property
    def kind(self) -> str:
        """Name of the kind; see :attr:`tensorcfr.payoff.PayoffPart.kind`."""
        return "three_hands"

    @property
    def is_empty(self) -> bool:
        """True if there are no terminals."""
        return not len(self.terminal_board)

    def product(self, form: PayoffForm, player: int, x: np.ndarray) -> np.ndarray:
        """Compute the payoffs of a player's sequences hand by hand, for tests.

        See :meth:`tensorcfr.payoff.PayoffPart.product`.
        """
        begin, end = form.player_sequences[player : player + 2].tolist()
        g = np.zeros(end - begin)
        for row, (first, second), matrix in self._matrices(player):
            g[row - begin] += x[first] @ matrix @ x[second]
        return g

    def triples(self, form: PayoffForm, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the part entry by entry; see :meth:`tensorcfr.payoff.PayoffPart.triples`."""
        rows, columns, values = [np.empty(0, np.int64)], [np.empty((2, 0), np.int64)], [np.empty(0)]
        for row, (first, second), matrix in self._matrices(player):
            j, k = np.nonzero(matrix)
            rows.append(np.full(len(j), row))
            columns.append(np.stack([first[j], second[k]]))
            values.append(matrix[j, k])
        return np.concatenate(rows), np.concatenate(columns, axis=1), np.concatenate(values)

    def count_entries(self, form: PayoffForm, player: int) -> int:
        """Return an upper bound of the number of entries that :meth:`triples` returns."""
        return len(self.terminal_board) * int(np.prod(np.diff(self.hand_begin)))

    def magnitudes(self) -> PayoffThreeHands:
        """Return the part with the largest absolute payoff of every terminal as its constant."""
        amount = np.zeros(self.amount.shape)
        payoffs = payoffs_by_order(self.amount)
        amount[..., CONSTANT] = np.abs(payoffs).max(axis=(2, 3, 4))
        return self._replace(amount=amount)

    def describe(self) -> str:
        """Return the numbers of terminals, hands and boards, as text."""
        hands = " x ".join(f"{n:,}" for n in np.diff(self.hand_begin).tolist())
        return (
            f"{len(self.terminal_board):,} public terminals of {hands} hands on "
            f"{len(self.level):,} boards"
        )

    def of_player(self, player: int) -> slice:
        """Return the range of a player's hands in arrays over hands."""
        return slice(*self.hand_begin[player : player + 2].tolist())

    @property
    def codes(self) -> np.ndarray:
        """Number that identifies the cards of each hand, int64 (hands,)."""
        return np.sort(self.hand, axis=1) @ np.array([1, int(self.cards[0])])

    def _disjoint(self, first: slice, second: slice) -> np.ndarray:
        """Return whether two hands share no card, bool (first hands, second hands)."""
        cards = self.hand[first][:, None, :, None], self.hand[second][None, :, None, :]
        shared: np.ndarray = cards[0] == cards[1]
        return np.logical_not(np.any(shared, axis=(2, 3)))

    def _matrices(
        self, player: int
    ) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray], np.ndarray]]:
        """Yield each own sequence of every terminal, the other players' sequences and the payoffs.

        The last item has a row for each hand of the first opponent and a column for each hand of
        the second one; several hands may have one sequence.
        """
        opponents = [p for p in range(PLAYERS) if p != player]
        own_range, (first, second) = self.of_player(player), map(self.of_player, opponents)
        apart = self._disjoint(first, second)
        apart_from_own = [self._disjoint(own_range, others) for others in (first, second)]
        for k, board in enumerate(self.terminal_board.tolist()):
            kind = int(self.board_kind[board])
            level = self.level[board]
            weights = [self.weight[others] * (level[others] >= 0) for others in (first, second)]
            for h in np.flatnonzero(
                (self.own_weight[kind, own_range] > 0) & (level[own_range] >= 0)
            ).tolist():
                possible = apart * np.outer(
                    *(w * mask[h] for w, mask in zip(weights, apart_from_own, strict=True))
                )
                own_level = level[own_range][h]
                relation = [1 + np.sign(level[others] - own_level) for others in (first, second)]
                between = 1 + np.sign(level[second] - level[first][:, None])
                payoff = payoffs_by_order(self.amount[player, k])[
                    relation[0][:, None], relation[1], between
                ]
                own_weight = self.own_weight[kind, own_range][h]
                rows, *columns = (
                    self.sequence[p, k] + self.class_of[kind, self.of_player(p)]
                    for p in (player, *opponents)
                )
                yield int(rows[h]), (columns[0], columns[1]), own_weight * possible * payoff


class PayoffThreeOrders(PayoffThreeHands):
    """Part for payoffs that depend on the order of all hands; see :class:`PayoffThreeHands`.

    This is a class of its own, so that kernels of other games are compiled without their code.
    """

    __slots__ = ()


def payoffs_by_order(amount: np.ndarray) -> np.ndarray:
    """Return the payoffs by the order of three hands, float64 (..., 3, 3, 3).

    The axes are the relations of the own hand to the first and to the second other hand, and of the
    first other hand to the second.

    Args:
        amount: float64 (..., amounts): as in :attr:`PayoffThreeHands.amount`.
    """
    payoffs = np.tensordot(amount[..., :POTS], SHARES, axes=1)
    payoffs = np.repeat(payoffs[..., None], 3, axis=-1)
    if amount.shape[-1] > POTS:
        relations, pairs = np.split(amount[..., POTS:], [RELATIONS], axis=-1)
        payoffs += relations.reshape(*relations.shape[:-1], 3, 3, 1)
        for both, relation in enumerate((0, 2)):
            payoffs[..., relation, relation, 0] += pairs[..., 2 * both]
            payoffs[..., relation, relation, 2] += pairs[..., 2 * both + 1]
    return payoffs


def check_shapes(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check dtypes and shapes."""
    with named_after("three_hands."):
        check_declared(part._asdict(), declared(PayoffThreeHands), {})
    expected = BY_ORDER if isinstance(part, PayoffThreeOrders) else POTS
    if part.amount.shape[2] != expected:
        fail(f"three_hands.amount has {part.amount.shape[2]} amounts at a terminal, not {expected}")
    if reader.form.n_players != PLAYERS:
        fail(f"there are {reader.form.n_players} players")
    if part.hand_begin[0] or part.hand_begin[-1] != len(part.hand):
        fail(f"the hands go from {part.hand_begin[0]} to {part.hand_begin[-1]}")
    if (player := first_true(np.diff(part.hand_begin) < 1)) is not None:
        fail(f"player {player} has no hands")


def check_hands(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check cards and weights of hands."""
    deck = int(part.cards[0])
    wrong = (part.hand < 0) | (part.hand >= deck)
    wrong[:, 1] |= part.hand[:, 0] == part.hand[:, 1]
    if (hand := first_true(np.any(wrong, axis=1))) is not None:
        fail(f"hand {hand} has the cards {part.hand[hand].tolist()}")
    if (hand := first_true(~(np.isfinite(part.weight) & (part.weight > 0)))) is not None:
        fail(f"hand {hand} has weight {part.weight[hand]}")
    for player in range(PLAYERS):
        codes = part.codes[part.of_player(player)]
        if len(np.unique(codes)) != len(codes):
            fail(f"player {player} has a hand twice")


def check_classes(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check that each class has one hand with its total weight, which all its hands share."""
    for kind, (class_of, own_weight) in enumerate(zip(part.class_of, part.own_weight, strict=True)):
        for player in range(PLAYERS):
            hands = part.of_player(player)
            classes, weights = class_of[hands], part.weight[hands]
            count = int(classes.max()) + 1
            where = f"player {player} on boards of kind {kind}"
            if classes.min() < 0 or (np.bincount(classes, minlength=count) == 0).any():
                fail(f"the classes of {where} are not numbered from 0")
            firsts = np.flatnonzero(own_weight[hands])
            if not np.array_equal(np.sort(classes[firsts]), np.arange(count)):
                fail(f"a class of {where} has no hand, or several, with its weight")
            total = np.bincount(classes, weights)[classes[firsts]]
            wrong = ~(np.abs(own_weight[hands][firsts] - total) <= 1e-9 * total)
            if (i := first_true(wrong)) is not None:
                fail(f"class {classes[firsts[i]]} of {where} has another weight than its hands")


def check_boards(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check that boards have a kind, and that ``order`` has each hand once, by ascending level."""
    if (board := outside(part.board_kind, 0, len(part.class_of))) is not None:
        fail(f"board {board} has kind {part.board_kind[board]}")
    if (board := first_true(np.any(part.level < -1, axis=1))) is not None:
        fail(f"a hand on board {board} has a level below -1")
    for player in range(PLAYERS):
        hands = part.of_player(player)
        order, level = part.order[:, hands], part.level[:, hands]
        wrong = np.any(np.sort(order) != np.arange(order.shape[1]), axis=1)
        if (board := first_true(wrong)) is not None:
            fail(f"the order of player {player} on board {board} has not every hand once")
        falls = np.any(np.diff(np.take_along_axis(level, order, axis=1)) < 0, axis=1)
        if (board := first_true(falls)) is not None:
            fail(f"the order of player {player} on board {board} is not by level")
    _, first, same = np.unique(part.codes, return_index=True, return_inverse=True)
    unequal = np.any(part.level != part.level[:, first[same]], axis=1)
    if (board := first_true(unequal)) is not None:
        fail(f"hands with the same cards have different levels on board {board}")
    for player in range(PLAYERS):
        level = part.level[:, part.of_player(player)]
        ends = (level[:, None, :] < np.arange(part.level_end.shape[2])[:, None]).sum(axis=2)
        wrong = np.any(ends != part.level_end[:, player], axis=1) | (ends[:, -1] < level.shape[1])
        if (board := first_true(wrong)) is not None:
            fail(f"level_end does not count the hands of player {player} on board {board}")


def check_terminals(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check that terminals have a board and end sequences of their players."""
    board = part.terminal_board
    if (terminal := outside(board, 0, len(part.board_kind))) is not None:
        fail(f"terminal {terminal} has board {board[terminal]}")
    for player in range(PLAYERS):
        low, high = reader.form.player_sequences[player : player + 2].tolist()
        widths = 1 + part.class_of[part.board_kind, part.of_player(player)].max(axis=1)
        ends = part.sequence[player]
        wrong = (ends < low) | (ends + widths[board] > high)
        if (terminal := first_true(wrong)) is not None:
            fail(f"terminal {terminal} ends sequence {ends[terminal]} of player {player}")


def check_amounts(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check that amounts are finite."""
    if (terminal := first_true(~np.isfinite(part.amount).all(axis=(0, 2)))) is not None:
        fail(f"an amount of terminal {terminal} is not finite")
