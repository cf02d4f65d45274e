"""Which boards, and which hands on them, a game of cards cannot tell apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import GameError
from ...model.cards import Boards, HandClasses, SolvedBoards, Symmetry
from ...rules import CardGame
from .rules import numbers_of, without

SAME = 1e-9
"""Weights that differ by this share of themselves, at most, are the same."""


def permutations_of(rules: CardGame, name: str, *, symmetric: bool) -> np.ndarray:
    """The permutations of cards that leave the board and both ranges as they are, the identity
    first; int64 (permutations, cards).

    Raises:
        GameError: What the rules give as permutations is none, or does not contain all products.
    """
    cards = len(rules.cards)
    identity = np.arange(cards)
    given = np.asarray(rules.symmetries() if symmetric else identity[None])
    if given.ndim != 2 or given.shape[1] != cards or given.dtype.kind != "i":
        raise GameError(f"{name}: symmetries() must be int64 (permutations, {cards})")
    wrong = np.flatnonzero((np.sort(given, axis=1) != identity).any(axis=1))
    if len(wrong):
        raise GameError(f"{name}: symmetries()[{wrong[0]}] is no permutation of the cards")
    kept = [identity]
    for one in np.unique(given, axis=0):
        if (one == identity).all() or any(
            {*one[list(cards)]} != {*cards} for cards in (rules.board, rules.dead)
        ):
            continue
        moved = [_moved(rules, one, player) for player in range(2)]
        boards = rules.boards or {}
        turned = {tuple(np.sort(one[list(cards)]).tolist()): w for cards, w in boards.items()}
        if turned == boards and all(
            (to < len(to)).all()
            and np.array_equal(rules.weights[player][to], rules.weights[player])
            for player, to in enumerate(moved)
        ):
            kept.append(one)
    found = np.array(kept, dtype=np.int64)
    if len(found) > 1:
        known = {row.tobytes() for row in found}
        if any(one[other].tobytes() not in known for one in found for other in found):
            raise GameError(f"{name}: symmetries() must contain the products of its permutations")
    return found


def symmetry_of(
    rules: CardGame, name: str, boards: tuple[Boards, ...], *, symmetric: bool = True
) -> Symmetry:
    """The boards that are solved for all, and the classes of hands on them.

    Args:
        rules: The rules.
        name: What the game is called.
        boards: All boards of each round.
        symmetric: Whether to look for any that are alike.

    Raises:
        GameError: The rules give wrong permutations.
    """
    cards = permutations_of(rules, name, symmetric=symmetric)
    first, second = moved_hands(rules, cards)
    number = {row.tobytes(): k for k, row in enumerate(cards)}
    product = np.array([[number[one[other].tobytes()] for other in cards] for one in cards])
    groups: dict[tuple[int, ...], int] = {tuple(range(len(cards))): 0}
    zero = np.zeros(1, dtype=np.int64)
    rounds = [SolvedBoards(zero, zero, zero + 1, zero, zero, zero, zero)]
    for of_round in boards[1:]:
        before = rounds[-1]
        members = list(groups)
        above = before.of_board[of_round.parent]
        turned = before.permutation[of_round.parent]
        card = cards[turned[:, None], of_round.last]
        group = before.classes[above]
        # By the permutations that leave a board before: the first cards that those which are dealt
        # can be made, and by which of them.
        digits = len(rules.cards) ** np.arange(of_round.dealt)[::-1]
        best, by = np.empty_like(above), np.empty_like(above)
        for g in np.unique(group).tolist():
            here, own = np.flatnonzero(group == g), np.array(members[g])
            made = np.sort(cards[own][:, card[here]], axis=2) @ digits
            best[here], by[here] = made.min(axis=0), own[made.argmin(axis=0)]
        boards_of_one = len(rules.cards) ** of_round.dealt
        wanted = above * boards_of_one + best
        permutation = product[by, turned]
        keys, of_board, count = np.unique(wanted, return_inverse=True, return_counts=True)
        own = above * boards_of_one + of_round.last @ digits
        board = np.flatnonzero((permutation == 0) & (own == wanted))
        # Solved boards are numbered in the order of all boards.
        place = np.empty(len(keys), dtype=np.int64)
        place[of_board[board]] = np.arange(len(board))
        classes = np.empty(len(board), dtype=np.int64)
        for k, b in enumerate(board.tolist()):
            last = of_round.last[b]
            left = tuple(
                g for g in members[group[b]] if np.array_equal(np.sort(cards[g, last]), last)
            )
            classes[k] = groups.setdefault(left, len(groups))
        rounds.append(
            SolvedBoards(
                board=board,
                parent=above[board],
                alike=count[of_board[board]],
                classes=classes,
                played=classes,
                of_board=place[of_board],
                permutation=permutation,
            )
        )
    both = tuple((_classes(first[list(own)]), _classes(second[list(own)])) for own in groups)
    found = Symmetry(cards, (first, second), both, both, tuple(rounds))
    _check(rules, name, boards, found)
    return found


def count_alike(
    cards: np.ndarray, moved: np.ndarray, free: np.ndarray, deals: Sequence[int]
) -> int:
    """How many pairs of a board and a hand are left if those that are alike are counted once.

    The lemma of Cauchy and Frobenius: the mean over all permutations of how many they leave.

    Args:
        cards: int64 (permutations, cards): as in :class:`~tensorcfr.model.cards.Symmetry`.
        moved: int64 (permutations, hands): what they make of hands, or of anything else.
        free: int64: cards that can be dealt.
        deals: How many cards are dealt at once, one time after the other.
    """
    total = 0
    for one, to in zip(cards, moved, strict=True):
        # A permutation leaves the sets of cards that its cycles make up.  How many sets are left
        # for each time, by how many cards these have yet to get.
        sets = {tuple(deals): 1}
        for length in _cycles(one, free):
            for left, count in list(sets.items()):
                for k in range(len(left)):
                    if left[k] >= length:
                        less = (*left[:k], left[k] - length, *left[k + 1 :])
                        sets[less] = sets.get(less, 0) + count
        total += sets.get((0,) * len(deals), 0) * int((to == np.arange(len(to))).sum())
    return total // len(cards)


def _cycles(permutation: np.ndarray, free: np.ndarray) -> list[int]:
    """The lengths of the cycles that a permutation makes of free cards."""
    left, found = set(free.tolist()), []
    while left:
        card, length = left.pop(), 1
        while (after := int(permutation[card])) in left:
            left.remove(after)
            card, length = after, length + 1
        found.append(length)
    return found


def moved_hands(rules: CardGame, cards: np.ndarray) -> list[np.ndarray]:
    """For each player, what permutations make of hands; int64 (permutations, hands)."""
    return [np.array([_moved(rules, one, player) for one in cards]) for player in range(2)]


def _moved(rules: CardGame, permutation: np.ndarray, player: int) -> np.ndarray:
    """What a permutation of cards makes of a player's hands, their number for no hand; int64
    (hands,)."""
    hands = rules.hands[player]
    return numbers_of(hands, permutation[hands], len(rules.cards))


def _classes(moved: np.ndarray) -> HandClasses:
    """The classes of hands that a group of permutations makes of each other."""
    least = moved.min(axis=0)
    first, of_hand, size = np.unique(least, return_inverse=True, return_counts=True)
    return HandClasses(of_hand, first, size)


def _check(rules: CardGame, name: str, boards: tuple[Boards, ...], symmetry: Symmetry) -> None:
    """Check on a few boards that permutations leave the order of strengths as it is, and the
    weights of hands on the board.

    Raises:
        GameError: One does not.
    """
    last = boards[-1].cards
    for number, one in enumerate(symmetry.cards[1:], start=1):
        dealt = last[(number * 7919) % len(last)]
        before, after = (*rules.board, *dealt.tolist()), (*rules.board, *one[dealt].tolist())
        for player in range(2):
            live = np.flatnonzero(without(rules.hands[player], dealt))
            hands = rules.hands[player][live]
            own = np.asarray(rules.strength(before, hands))
            turned = np.asarray(rules.strength(after, one[hands]))
            if not np.array_equal(_order(own), _order(turned)):
                raise GameError(f"{name}: symmetries() changes strengths: {_moves(rules, one)}")
            if not rules.weights_vary:
                continue
            own = rules.weights_on(player, before)[live]
            turned = rules.weights_on(player, after)[symmetry.hands[player][number, live]]
            if not np.allclose(own, turned, rtol=SAME, atol=0.0):
                raise GameError(f"{name}: symmetries() changes weights: {_moves(rules, one)}")


def _moves(rules: CardGame, permutation: np.ndarray) -> str:
    """What a permutation makes of the cards that it moves."""
    return ", ".join(
        f"{rules.cards[card]} to {rules.cards[to]}"
        for card, to in enumerate(permutation.tolist())
        if card != to
    )


def _order(strength: np.ndarray) -> np.ndarray:
    """The places of strengths among them all, from the weakest."""
    return np.unique(strength, return_inverse=True)[1]
