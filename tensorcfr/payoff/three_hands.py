"""Payoffs of three hands that are sets of one or two cards: folds, and showdowns by strength."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from .._util.declared import check_declared, declared
from .._util.violations import fail, first_true, named_after, outside
from .payoff_form import PayoffForm
from .payoff_kind import FormReader

LANES = 8
"""Number of terminals that are processed together: one cache line of float64."""
PLAYERS = 3
"""Number of players."""
RELATIONS = 9
"""Pairs of relations of an own hand to both opponents' hands.  A relation is 0 if the own hand is
stronger, 1 for a tie, 2 if it is weaker; relations ``r`` and ``s`` have the number ``3 * r + s``.
"""


class PayoffThreeHands(NamedTuple):
    """Part of the payoff operator for three players with hands of one or two cards.

    Three hands without a common card have a probability proportional to the product of their
    weights.  The amount of a player at a terminal depends on the relations of the own hand to the
    two others.  It does not depend on the order of these two, as it would if payoffs were places in
    a tournament.

    Hands that are equivalent on a board form a *class*, with one sequence; the kind of a board
    determines its classes.  A *group* is up to :data:`LANES` public terminals on one board with
    different last sequences.  At terminal ``t`` it adds

        g[c, t] += own_weight[h] * sum_{j, k} weight[j] * weight[k] * amount * x[j, t] * x[k, t]

    where ``h`` is the first hand of class ``c``.  The sum is over the hands ``j`` and ``k`` of the
    other players that share no card with the board, with ``h`` or with each other.
    """

    cards: Annotated[np.ndarray, np.int64, 1]
    """int64 (1,): number of cards in the deck."""
    hand_begin: Annotated[np.ndarray, np.int64, 4]
    """int64 (4,): player ``i`` has the hands ``[i]`` to ``[i + 1] - 1`` in arrays over hands.  All
    other arrays count hands from the first one of their player."""
    hand: Annotated[np.ndarray, np.int64, "hands", 2]
    """int64 (hands, 2): cards of each hand.  A hand of one card ends with the number of cards in
    the deck."""
    weight: Annotated[np.ndarray, np.float64, "hands"]
    """float64 (hands,): weight of each hand."""
    with_cards: Annotated[np.ndarray, np.int64, 3, "deck", "deck"]
    """int64 (3, cards + 1, cards + 1): hand of each player with two given cards, in both orders.
    The number of the player's hands marks pairs without a hand.  Hands of one card are not
    here."""
    class_of: Annotated[np.ndarray, np.int64, "kinds", "hands"]
    """int64 (kinds, hands): class of each hand on boards of each kind."""
    own_weight: Annotated[np.ndarray, np.float64, "kinds", "hands"]
    """float64 (kinds, hands): total weight of a class at its first hand, 0 at its other hands."""
    board_kind: Annotated[np.ndarray, np.int64, "boards"]
    """int64 (boards,): kind of each board."""
    level: Annotated[np.ndarray, np.int64, "boards", "hands + 1"]
    """int64 (boards, hands + 1): rank of the strength of each hand, from the weakest, the same for
    all players; -1 for hands that share a card with the board.  The last column is not used."""
    order: Annotated[np.ndarray, np.int64, "boards", "hands"]
    """int64 (boards, hands): hands of each player by ascending level."""
    group: Annotated[np.ndarray, np.int64, "groups", 3]
    """int64 (groups, 3): number of terminals; board; sum of ``1 << i`` over the players ``i`` whose
    hands are compared, 0 for folds."""
    sequence: Annotated[np.ndarray, np.int64, 3, "groups", LANES]
    """int64 (3, groups, LANES): last sequence of the first class of player ``i`` at each terminal;
    the sequences of the other classes follow it.  Lanes without a terminal repeat the first
    terminal."""
    amount: Annotated[np.ndarray, np.float64, 3, "groups", RELATIONS, LANES]
    """float64 (3, groups, 9, LANES): payoff of player ``i`` for each pair of relations to the other
    players in ascending order, times the number of boards that are solved as one, and the
    probability of a deal of weight 1."""

    @property
    def kind(self) -> str:
        """Name of the kind; see :attr:`tensorcfr.payoff.PayoffPart.kind`."""
        return "three_hands"

    @property
    def is_empty(self) -> bool:
        """True if there are no groups."""
        return not len(self.group)

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
        return int(self.group[:, 0].sum()) * int(np.prod(np.diff(self.hand_begin)))

    def magnitudes(self) -> PayoffThreeHands:
        """Return the part with the largest absolute amount in place of all amounts."""
        amount = np.broadcast_to(np.abs(self.amount).max(axis=2, keepdims=True), self.amount.shape)
        group = self.group.copy()
        group[:, 2] = 0
        return self._replace(amount=np.ascontiguousarray(amount), group=group)

    def describe(self) -> str:
        """Return the numbers of terminals, hands and boards, as text."""
        hands = " x ".join(f"{n:,}" for n in np.diff(self.hand_begin).tolist())
        return (
            f"{int(self.group[:, 0].sum()):,} public terminals of {hands} hands on "
            f"{len(self.level):,} boards"
        )

    def of_player(self, player: int) -> slice:
        """Return the range of a player's hands in arrays over hands."""
        return slice(*self.hand_begin[player : player + 2].tolist())

    @property
    def width(self) -> int:
        """Number of cards of a hand."""
        return 2 if (self.hand[:, 1] < self.cards[0]).any() else 1

    @property
    def codes(self) -> np.ndarray:
        """Number that identifies the cards of each hand, int64 (hands,)."""
        return np.sort(self.hand, axis=1) @ np.array([1, int(self.cards[0]) + 1])

    def _disjoint(self, first: slice, second: slice) -> np.ndarray:
        """Return whether two hands share no card, bool (first hands, second hands)."""
        cards = self.hand[:, : self.width]
        shared: np.ndarray = cards[first][:, None, :, None] == cards[second][None, :, None, :]
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
        for k, (count, board, _) in enumerate(self.group.tolist()):
            kind = int(self.board_kind[board])
            level = self.level[board, :-1]
            weights = [self.weight[others] * (level[others] >= 0) for others in (first, second)]
            for h in np.flatnonzero(
                (self.own_weight[kind, own_range] > 0) & (level[own_range] >= 0)
            ).tolist():
                possible = apart * np.outer(
                    *(w * mask[h] for w, mask in zip(weights, apart_from_own, strict=True))
                )
                own_level = level[own_range][h]
                relation = [1 + np.sign(level[others] - own_level) for others in (first, second)]
                pair = 3 * relation[0][:, None] + relation[1]
                own_weight = self.own_weight[kind, own_range][h]
                for lane in range(count):
                    rows, *columns = (
                        self.sequence[p, k, lane] + self.class_of[kind, self.of_player(p)]
                        for p in (player, *opponents)
                    )
                    payoff = self.amount[player, k, pair, lane]
                    yield int(rows[h]), (columns[0], columns[1]), own_weight * possible * payoff


def check_shapes(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check dtypes and shapes."""
    with named_after("three_hands."):
        check_declared(part._asdict(), declared(PayoffThreeHands), {})
        if part.with_cards.shape[1] != part.cards[0] + 1:
            fail(f"with_cards has {part.with_cards.shape[1]} rows for {part.cards[0]} cards")
    if reader.form.n_players != PLAYERS:
        fail(f"there are {reader.form.n_players} players")
    if part.hand_begin[0] or part.hand_begin[-1] != len(part.hand):
        fail(f"the hands go from {part.hand_begin[0]} to {part.hand_begin[-1]}")
    if (player := first_true(np.diff(part.hand_begin) < 1)) is not None:
        fail(f"player {player} has no hands")


def check_hands(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check cards and weights of hands, and that ``with_cards`` finds exactly the hands of two
    cards."""
    deck = int(part.cards[0])
    wrong = (part.hand < 0) | (part.hand >= deck + np.array([0, 2 - part.width]))
    wrong[:, 1] |= part.hand[:, 0] == part.hand[:, 1]
    if (hand := first_true(np.any(wrong, axis=1))) is not None:
        fail(f"hand {hand} has the cards {part.hand[hand].tolist()}")
    if (hand := first_true(~(np.isfinite(part.weight) & (part.weight > 0)))) is not None:
        fail(f"hand {hand} has weight {part.weight[hand]}")
    for player in range(PLAYERS):
        codes = part.codes[part.of_player(player)]
        if len(np.unique(codes)) != len(codes):
            fail(f"player {player} has a hand twice")
    for player, with_cards in enumerate(part.with_cards):
        hands = part.hand[part.of_player(player)]
        expected = np.full(with_cards.shape, len(hands))
        if part.width == 2:
            expected[hands[:, 0], hands[:, 1]] = expected[hands[:, 1], hands[:, 0]] = np.arange(
                len(hands)
            )
        if (card := first_true(np.any(with_cards != expected, axis=1))) is not None:
            fail(f"with_cards does not find the hands of player {player} with card {card}")


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
    if (board := first_true(np.any(part.level[:, :-1] < -1, axis=1))) is not None:
        fail(f"a hand on board {board} has a level below -1")
    for player in range(PLAYERS):
        hands = part.of_player(player)
        order, level = part.order[:, hands], part.level[:, :-1][:, hands]
        wrong = np.any(np.sort(order) != np.arange(order.shape[1]), axis=1)
        if (board := first_true(wrong)) is not None:
            fail(f"the order of player {player} on board {board} has not every hand once")
        falls = np.any(np.diff(np.take_along_axis(level, order, axis=1)) < 0, axis=1)
        if (board := first_true(falls)) is not None:
            fail(f"the order of player {player} on board {board} is not by level")
    _, first, same = np.unique(part.codes, return_index=True, return_inverse=True)
    unequal = np.any(part.level[:, :-1] != part.level[:, first[same]], axis=1)
    if (board := first_true(unequal)) is not None:
        fail(f"hands with the same cards have different levels on board {board}")


def check_groups(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check the terminals of groups, and that their sequences are disjoint and belong to their
    player."""
    count, board, compared = part.group.T
    for name, numbers, low, high in (
        ("terminals", count, 1, LANES + 1),
        ("board", board, 0, len(part.board_kind)),
        ("compared players", compared, 0, 1 << PLAYERS),
    ):
        if (group := outside(numbers, low, high)) is not None:
            fail(f"group {group} has {name} {numbers[group]}")
    for player in range(PLAYERS):
        low, high = reader.form.player_sequences[player : player + 2].tolist()
        widths = 1 + part.class_of[part.board_kind, part.of_player(player)].max(axis=1)
        for k, sequences in enumerate(part.sequence[player]):
            width = int(widths[board[k]])
            if (i := outside(sequences, low, high - width + 1)) is not None:
                fail(f"terminal {i} of group {k} ends sequence {sequences[i]} of player {player}")
            if (np.diff(np.sort(sequences[: count[k]])) < width).any():
                fail(f"two terminals of group {k} end one sequence of player {player}")


def check_amounts(part: PayoffThreeHands, reader: FormReader) -> None:
    """Check that amounts are finite, and depend only on relations to compared hands."""
    if (group := first_true(~np.isfinite(part.amount).all(axis=(0, 2, 3)))) is not None:
        fail(f"an amount of group {group} is not finite")
    compared = part.group[:, 2, None] >> np.arange(PLAYERS) & 1
    for player in range(PLAYERS):
        by_relation = part.amount[player].reshape(-1, 3, 3, LANES)
        for axis, opponent in enumerate(p for p in range(PLAYERS) if p != player):
            is_ignored = (compared[:, player] & compared[:, opponent]) == 0
            varies = (np.ptp(by_relation, axis=1 + axis) != 0).any(axis=(1, 2))
            if (group := first_true(is_ignored & varies)) is not None:
                fail(
                    f"an amount of player {player} in group {group} depends on the hand of player "
                    f"{opponent}, with whom it is not compared"
                )
