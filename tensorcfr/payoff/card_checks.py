"""Kinds of payoffs of hands that are sets of cards, with their invariants C."""

from __future__ import annotations

import numpy as np

from .._util.declared import check_declared, declared
from .._util.violations import fail, first_true, named_after, outside
from .card_lanes import add_cards, cards_scratch
from .card_payoffs import (
    FOLD,
    LANES,
    MOST_CARDS,
    SHOWDOWN,
    TIES_PAY,
    PayoffCards,
    PayoffFiveCards,
    PayoffSubsets,
)
from .card_subsets import add_subsets, subsets_scratch
from .payoff_kind import FormReader, PayoffKind


def classes_of(part: PayoffCards, board: int, player: int) -> int:
    """Return the number of classes of hands that a player has on a board."""
    return int(np.diff(part.lanes[part.board[board, 2]])[player])


def check_shapes(part: PayoffCards, reader: FormReader) -> None:
    """Check dtypes and shapes."""
    with named_after("cards."):
        check_declared(part._asdict(), declared(PayoffCards), {})


def check_classes(part: PayoffCards, reader: FormReader) -> None:
    """Check that the classes of both players, kind by kind, tile the arrays over classes."""
    if reader.form.n_players != 2:
        fail(f"there are {reader.form.n_players} players")
    if not 0 < part.sizes[2] <= MOST_CARDS:
        fail(f"the deck has {part.sizes[2]} cards")
    # A kind begins where the kind before it ends.
    begin = np.append(0, part.lanes[:-1, 2])
    if (kind := first_true(part.lanes[:, 0] != begin)) is not None:
        fail(f"kind {kind} begins at class {part.lanes[kind, 0]}, not {begin[kind]}")
    counts = np.diff(part.lanes, axis=1)
    if (kind := first_true(counts.min(axis=1) < 1)) is not None:
        fail(f"kind {kind} has {counts[kind].tolist()} classes")
    if part.lanes[-1, 2] != part.weight.shape[1]:
        fail(f"the kinds end at class {part.lanes[-1, 2]}, not {part.weight.shape[1]}")
    most = counts.max(axis=0)
    if not np.array_equal(part.sizes[:2], most):
        fail(f"cards.sizes says {part.sizes[:2].tolist()} classes, not {most.tolist()}")


def check_weights(part: PayoffCards, reader: FormReader) -> None:
    """Check that weights are finite and positive, and that the weight of a class is a whole
    multiple of the weight of a hand."""
    hand_weight, class_weight = part.weight
    if (i := first_true(~(np.isfinite(hand_weight) & (hand_weight > 0)))) is not None:
        fail(f"a hand of class {i} has weight {hand_weight[i]}")
    # The quotient is the number of hands of the class.
    hands = class_weight / hand_weight
    if (i := first_true(~(np.abs(hands - np.rint(hands)) <= 1e-9) | (hands < 0.5))) is not None:
        fail(f"class {i} has weight {class_weight[i]}, and each of its hands {hand_weight[i]}")


def check_same(part: PayoffCards, reader: FormReader) -> None:
    """Check that ``same`` is a class of the other player whose ``same`` is this class, or the
    number of the other player's classes."""
    for kind, (begin, middle, end) in enumerate(part.lanes.tolist()):
        same0, same1 = part.same[begin:middle], part.same[middle:end]
        for player, (same, other_same) in enumerate(((same0, same1), (same1, same0))):
            if (i := outside(same, 0, len(other_same) + 1)) is not None:
                fail(f"class {i} of player {player}, kind {kind}, is the same as {same[i]}")
            # ``len(other_same)`` means that no class has the same cards; the number for it is not
            # compared.
            back = np.append(other_same, 0)[same]
            wrong = (same < len(other_same)) & (back != np.arange(len(same)))
            if (i := first_true(wrong)) is not None:
                fail(
                    f"class {i} of player {player}, kind {kind}, is the same as {same[i]}, "
                    f"which is the same as {back[i]}"
                )


def check_hand_list_ranges(part: PayoffCards, reader: FormReader) -> None:
    """Check that boards have a kind, and that their hand lists (``walk``) end within the array and
    have as many hands as their strengths."""
    if (board := outside(part.board[:, 2], 0, len(part.lanes))) is not None:
        fail(f"board {board} has kind {part.board[board, 2]}")
    for board, begins in enumerate(part.board[:, :2].tolist()):
        for player, offset in enumerate(begins):
            where = f"the hand list of player {player} on board {board}"
            if not 0 <= offset <= len(part.hand_list) - 3:
                fail(f"{where} begins at {offset}")
            n_levels, *counts = part.hand_list[offset : offset + 3].tolist()
            # The list has a header of three numbers, two counts per strength, and then the hands.
            end = offset + 3 + 2 * n_levels + part.numbers * sum(counts)
            if end > len(part.hand_list):
                fail(f"{where} ends at {end}, beyond {len(part.hand_list)}")
            per_level = (
                part.hand_list[offset + 3 : offset + 3 + 2 * n_levels]
                .reshape(n_levels, 2)
                .astype(np.int64)
            )
            if per_level.sum(axis=0).tolist() != counts:
                fail(f"{where} has {counts} hands and {per_level.sum(axis=0).tolist()} by level")


def check_hand_list_hands(part: PayoffCards, reader: FormReader) -> None:
    """Check that a hand list has each own class at most once, and each hand of the other player at
    most once, and that the cards of hands are in the deck.  A class of the other player occurs at
    most once per hand."""
    deck = int(part.sizes[2])
    hands_of = np.rint(part.weight[1] / part.weight[0]).astype(np.int64)
    for board in range(len(part.board)):
        for player in range(2):
            where = f"the hand list of player {player} on board {board}"
            for who, hands in zip(
                (player, 1 - player), part.read_hand_list(board, player), strict=True
            ):
                if (i := outside(hands[:, 0], 0, classes_of(part, board, who))) is not None:
                    fail(f"{where} has class {hands[i, 0]} of player {who}")
                # A hand of one or three cards is padded with a number beyond the deck as its last
                # card.
                beyond = deck + (who != player)
                cards = np.sort(hands[:, 1:-1], axis=1)
                wrong = (hands[:, 1:-2] >= deck).any(axis=1)
                wrong |= (hands[:, -2] >= deck) & (hands[:, -2] != beyond)
                wrong |= (np.diff(cards, axis=1) == 0).any(axis=1)
                if (i := first_true(wrong)) is not None:
                    fail(f"{where} has a hand of the cards {hands[i, 1:-1].tolist()}")
                most = hands_of[part.classes(board, who)] if who != player else 1
                times = np.bincount(hands[:, 0], minlength=classes_of(part, board, who))
                if (i := first_true(times > most)) is not None:
                    fail(f"{where} has class {i} of player {who} {times[i]} times")
                # Sorted cards as digits of one number identify the hand.
                if len(np.unique(cards @ (beyond + 1) ** np.arange(cards.shape[1]))) != len(hands):
                    fail(f"{where} has a hand twice")


def check_groups(part: PayoffCards, reader: FormReader) -> None:
    """Check that groups have 1 to :data:`LANES` terminals, a board, and a kind, and ascend by
    board."""
    count, board, kind = part.group.T
    if (group := outside(count, 1, LANES + 1)) is not None:
        fail(f"group {group} has {count[group]} terminals")
    if (group := outside(board, 0, len(part.board))) is not None:
        fail(f"group {group} is on board {board[group]}")
    if (group := first_true(np.diff(board) < 0)) is not None:
        fail(f"group {group + 1} is on board {board[group + 1]}, after one on {board[group]}")
    if (group := outside(kind, FOLD, TIES_PAY + 1)) is not None:
        fail(f"group {group} is of kind {kind[group]}")


def check_sequences(part: PayoffCards, reader: FormReader) -> None:
    """Check that the terminals of a group end disjoint sequences of their player, and that lanes
    without a terminal repeat the first."""
    form = reader.form
    for k, (count, board, _) in enumerate(part.group.tolist()):
        for player in range(2):
            sequences = part.sequence[player, k]
            low, high = form.player_sequences[player : player + 2].tolist()
            width = classes_of(part, board, player)
            if (i := outside(sequences[:count], low, high - width + 1)) is not None:
                fail(f"terminal {i} of group {k} ends sequence {sequences[i]} of player {player}")
            if (sequences[count:] != sequences[0]).any():
                fail(f"a lane of group {k} without a terminal is not the first")
            ends = np.sort(sequences[:count])
            if (i := first_true(np.diff(ends) < width)) is not None:
                fail(f"two terminals of group {k} end sequence {ends[i + 1]} of player {player}")


def check_amounts(part: PayoffCards, reader: FormReader) -> None:
    """Check that amounts are finite, and fit the kind of their group.

    A fold pays the same for all strengths.  In other groups a win and a loss pay different amounts,
    and a tie pays nothing unless the kind says so.
    """
    for k, (_, _, kind) in enumerate(part.group.tolist()):
        win, tie, lose = part.amount[:, k].swapaxes(0, 1)
        if not np.isfinite(part.amount[:, k]).all():
            fail(f"an amount of group {k} is not finite")
        if kind == FOLD and not ((win == tie) & (tie == lose)).all():
            fail(f"group {k} is of folds, but its amounts differ")
        if kind != FOLD and (win == lose).any():
            fail(f"group {k} is of showdowns, but a win pays like a loss")
        if kind == SHOWDOWN and tie.any():
            fail(f"ties of group {k} pay, but its kind has no payoffs of ties")


CARDS = PayoffKind(
    "cards",
    PayoffCards,
    add_cards,
    cards_scratch,
    (
        ("C1", "arrays of cards", check_shapes),
        ("C2", "classes tile the kinds", check_classes),
        ("C3", "weights of hands", check_weights),
        ("C4", "the same cards", check_same),
        ("C5", "hand lists can be read", check_hand_list_ranges),
        ("C6", "hands of hand lists", check_hand_list_hands),
        ("C7", "groups of terminals", check_groups),
        ("C8", "sequences of terminals", check_sequences),
        ("C9", "amounts", check_amounts),
    ),
    by_board=("hand_list", "board", "amount", "weight"),
    one_thread=True,
)
"""Kind of payoffs of hands of one or two cards."""
SUBSETS = CARDS._replace(part=PayoffSubsets, add=add_subsets, scratch=subsets_scratch)
"""Kind of payoffs of hands of three or four cards."""
FIVE_CARDS = SUBSETS._replace(part=PayoffFiveCards)
"""Kind of payoffs of hands of five cards."""
