"""Equivalent boards, and equivalent hands on them, under permutations of the cards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import GameError
from ...model.card_structure import HandClasses, RoundBoards, SolvedBoards, Symmetry
from ...rules import CardGame
from .card_sums import numbers_of, without

SAME = 1e-9
"""Largest relative difference between weights that count as equal."""


def permutations_of(rules: CardGame, name: str, *, symmetric: bool) -> np.ndarray:
    """Return the permutations of cards that preserve the board and all ranges, the identity first.

    Returns:
        int64 (permutations, cards): image of each card.

    Raises:
        GameError: An item of ``symmetries()`` is not a permutation, or a product of two is missing.
    """
    cards = len(rules.cards)
    identity = np.arange(cards)
    permutations = np.asarray(rules.symmetries() if symmetric else identity[None])
    if permutations.ndim != 2 or permutations.shape[1] != cards or permutations.dtype.kind != "i":
        raise GameError(f"{name}: symmetries() must be int64 (permutations, {cards})")
    wrong = np.flatnonzero((np.sort(permutations, axis=1) != identity).any(axis=1))
    if len(wrong):
        raise GameError(f"{name}: symmetries()[{wrong[0]}] is not a permutation of the cards")
    preserving = [identity]
    for permutation in np.unique(permutations, axis=0):
        if (permutation == identity).all() or any(
            {*permutation[list(cards)]} != {*cards} for cards in (rules.board, rules.dead)
        ):
            continue
        moved = [_image_of_hands(rules, permutation, p) for p in range(rules.n_players)]
        boards = rules.boards or {}
        turned = {
            tuple(np.sort(permutation[list(cards)]).tolist()): w for cards, w in boards.items()
        }
        if turned == boards and all(
            (to < len(to)).all()
            and np.array_equal(rules.weights[player][to], rules.weights[player])
            for player, to in enumerate(moved)
        ):
            preserving.append(permutation)
    group = np.array(preserving, dtype=np.int64)
    if len(group) > 1:
        # Classes of hands are orbits, so the permutations must form a group.  In a finite set of
        # permutations, closure under products suffices.
        known = {row.tobytes() for row in group}
        if any(permutation[q].tobytes() not in known for permutation in group for q in group):
            raise GameError(f"{name}: symmetries() must contain the products of its permutations")
    return group


def symmetry_of(
    rules: CardGame, name: str, boards: tuple[RoundBoards, ...], *, symmetric: bool = True
) -> Symmetry:
    """Find one representative of all equivalent boards, and the classes of hands on it.

    Args:
        rules: The rules.
        name: The name of the game.
        boards: All boards of each round.
        symmetric: Whether to look for symmetries; otherwise every board and every hand differs.

    Raises:
        GameError: The rules give wrong permutations.
    """
    cards = permutations_of(rules, name, symmetric=symmetric)
    moved = moved_hands(rules, cards)
    number = {row.tobytes(): k for k, row in enumerate(cards)}
    product = np.array([[number[outer[inner].tobytes()] for inner in cards] for outer in cards])
    groups: dict[tuple[int, ...], int] = {tuple(range(len(cards))): 0}
    zero = np.zeros(1, dtype=np.int64)
    rounds = [SolvedBoards(zero, zero, zero + 1, zero, zero, zero, zero)]
    for of_round in boards[1:]:
        previous = rounds[-1]
        members = list(groups)
        parent = previous.of_board[of_round.parent]
        turned = previous.permutation[of_round.parent]
        card = cards[turned[:, None], of_round.last]
        group = previous.classes[parent]
        # Each board is mapped to the smallest image of its last cards, under the permutations that
        # preserve the board before.  ``best`` is that image as one number, and ``minimizer`` the
        # permutation.
        digits = len(rules.cards) ** np.arange(of_round.dealt)[::-1]
        best, minimizer = np.empty_like(parent), np.empty_like(parent)
        for g in np.unique(group).tolist():
            in_group, subgroup = np.flatnonzero(group == g), np.array(members[g])
            images = np.sort(cards[subgroup][:, card[in_group]], axis=2) @ digits
            best[in_group], minimizer[in_group] = (
                images.min(axis=0),
                subgroup[images.argmin(axis=0)],
            )
        boards_of_one = len(rules.cards) ** of_round.dealt
        wanted = parent * boards_of_one + best
        permutation = product[minimizer, turned]
        keys, of_board, count = np.unique(wanted, return_inverse=True, return_counts=True)
        own_key = parent * boards_of_one + of_round.last @ digits
        board = np.flatnonzero((permutation == 0) & (own_key == wanted))
        # Solved boards are numbered in the order of all boards.
        number_of = np.empty(len(keys), dtype=np.int64)
        number_of[of_board[board]] = np.arange(len(board))
        classes = np.empty(len(board), dtype=np.int64)
        for k, b in enumerate(board.tolist()):
            # The stabilizer is the subgroup that also preserves the last cards.  Boards with one
            # subgroup have the same classes of hands.
            last = of_round.last[b]
            stabilizer = tuple(
                g for g in members[group[b]] if np.array_equal(np.sort(cards[g, last]), last)
            )
            classes[k] = groups.setdefault(stabilizer, len(groups))
        rounds.append(
            SolvedBoards(
                board=board,
                parent=parent[board],
                orbit_size=count[of_board[board]],
                classes=classes,
                played=classes,
                of_board=number_of[of_board],
                permutation=permutation,
            )
        )
    classes_of_hands = tuple(
        tuple(_orbits(images[list(subgroup)]) for images in moved) for subgroup in groups
    )
    symmetry = Symmetry(cards, tuple(moved), classes_of_hands, classes_of_hands, tuple(rounds))
    _check(rules, name, boards, symmetry)
    return symmetry


def count_orbits(
    cards: np.ndarray, moved: np.ndarray, free: np.ndarray, deals: Sequence[int]
) -> int:
    """Count pairs of a board and a hand, with equivalent pairs counted once.

    By the lemma of Cauchy and Frobenius, this is the mean over all permutations of the number of
    pairs that each one preserves.

    Args:
        cards: int64 (permutations, cards): image of each card, as in
            :class:`~tensorcfr.model.card_structure.Symmetry`.
        moved: int64 (permutations, hands): image of each hand, or of any other objects.
        free: int64 (free,): the cards that can be dealt.
        deals: Number of cards of each deal, in order.
    """
    total = 0
    for permutation, images in zip(cards, moved, strict=True):
        # A permutation preserves exactly the sets of cards that are unions of its cycles.  ``sets``
        # counts the partial deals by the number of cards that each deal still needs.
        sets = {tuple(deals): 1}
        for length in _cycles(permutation, free):
            for remaining, count in list(sets.items()):
                for k in range(len(remaining)):
                    if remaining[k] >= length:
                        fewer = (*remaining[:k], remaining[k] - length, *remaining[k + 1 :])
                        sets[fewer] = sets.get(fewer, 0) + count
        total += sets.get((0,) * len(deals), 0) * int((images == np.arange(len(images))).sum())
    return total // len(cards)


def _cycles(permutation: np.ndarray, free: np.ndarray) -> list[int]:
    """Return the lengths of a permutation's cycles on the free cards."""
    remaining, lengths = set(free.tolist()), []
    while remaining:
        card, length = remaining.pop(), 1
        while (after := int(permutation[card])) in remaining:
            remaining.remove(after)
            card, length = after, length + 1
        lengths.append(length)
    return lengths


def moved_hands(rules: CardGame, cards: np.ndarray) -> list[np.ndarray]:
    """Return the images of each player's hands, int64 (permutations, hands) for each player."""
    return [
        np.array([_image_of_hands(rules, permutation, player) for permutation in cards])
        for player in range(rules.n_players)
    ]


def _image_of_hands(rules: CardGame, permutation: np.ndarray, player: int) -> np.ndarray:
    """Return the image of each hand of a player under a permutation of cards, int64 (hands,).

    The number of hands marks images that are not among the player's hands.
    """
    hands = rules.hands[player]
    return numbers_of(hands, permutation[hands], len(rules.cards))


def _orbits(moved: np.ndarray) -> HandClasses:
    """Return the orbits of hands under a group of permutations."""
    least = moved.min(axis=0)
    first, of_hand, size = np.unique(least, return_inverse=True, return_counts=True)
    return HandClasses(of_hand, first, size)


def _check(rules: CardGame, name: str, boards: tuple[RoundBoards, ...], symmetry: Symmetry) -> None:
    """Check on a few boards that permutations preserve the order of strengths and the weights of
    hands.

    Raises:
        GameError: A permutation changes one of them.
    """
    last = boards[-1].cards
    for number, permutation in enumerate(symmetry.cards[1:], start=1):
        # A large prime spreads the checked boards over all boards.
        dealt = last[(number * 7919) % len(last)]
        before = (*rules.board, *dealt.tolist())
        after = (*rules.board, *permutation[dealt].tolist())
        for player in range(rules.n_players):
            live = np.flatnonzero(without(rules.hands[player], dealt))
            hands = rules.hands[player][live]
            unmoved = rules.strengths(before, hands)
            turned = rules.strengths(after, permutation[hands])
            for first, second in zip(unmoved, turned, strict=True):
                if not np.array_equal(_rank_strengths(first), _rank_strengths(second)):
                    raise GameError(
                        f"{name}: symmetries() changes strengths: "
                        f"{_describe_moves(rules, permutation)}"
                    )
            if not rules.weights_vary:
                continue
            unmoved = rules.weights_on(player, before)[live]
            turned = rules.weights_on(player, after)[symmetry.hands[player][number, live]]
            if not np.allclose(unmoved, turned, rtol=SAME, atol=0.0):
                raise GameError(
                    f"{name}: symmetries() changes weights: {_describe_moves(rules, permutation)}"
                )


def _describe_moves(rules: CardGame, permutation: np.ndarray) -> str:
    """Return a text with the image of each card that a permutation moves."""
    return ", ".join(
        f"{rules.cards[card]} to {rules.cards[to]}"
        for card, to in enumerate(permutation.tolist())
        if card != to
    )


def _rank_strengths(strength: np.ndarray) -> np.ndarray:
    """Return the rank of each strength, from the weakest; equal strengths have one rank."""
    return np.unique(strength, return_inverse=True)[1]
