"""Names of made hands and draws, against a slow count of cards written from the rules of poker."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcfr.games.holdem import HANDS, hand_label, read_cards
from tensorcfr.games.poker.groups import DRAWS, MADE, draws, made_hands

Cards = tuple[int, ...]
WHEEL = {12, 0, 1, 2, 3}


def is_straight(ranks: set[int]) -> bool:
    return ranks >= WHEEL or any(set(range(low, low + 5)) <= ranks for low in range(9))


def best_five(cards: Cards) -> str:
    """The category of the best five of some cards, "" below a straight."""
    suits = [{card // 4 for card in cards if card % 4 == suit} for suit in range(4)]
    count = sorted((sum(card // 4 == rank for card in cards) for rank in range(13)), reverse=True)
    if any(is_straight(own) for own in suits):
        return "straight flush"
    if count[0] == 4:
        return "four of a kind"
    if count[0] == 3 and count[1] >= 2:
        return "full house"
    if any(len(own) >= 5 for own in suits):
        return "flush"
    return "straight" if is_straight({card // 4 for card in cards}) else ""


def made_of(board: Cards, hand: Cards) -> str:
    if found := best_five((*board, *hand)):
        return found
    high, low = sorted((card // 4 for card in hand), reverse=True)
    on_board = sorted({card // 4 for card in board}, reverse=True)
    times = [sum(card // 4 == rank for card in board) for rank in (high, low)]
    if high == low:
        return "set" if times[0] else "overpair" if high > on_board[0] else "underpair"
    if max(times) >= 2:
        return "trips"
    if min(times) >= 1:
        return "two pair"
    if max(times) == 1:
        place = on_board.index(high if times[0] else low)
        return ["top pair", "second pair", "low pair"][min(place, 2)]
    return {12: "ace high", 11: "king high"}.get(high, "nothing")


def draw_of(board: Cards, hand: Cards) -> str:
    """By all next cards: which make a flush or a straight that the board alone does not make."""
    made = best_five((*board, *hand))
    left = [card for card in range(52) if card not in (*board, *hand)]
    better = {"flush", "straight flush"}
    flush = made in ("", "straight") and any(
        best_five((*board, *hand, card)) in better and best_five((*board, card)) not in better
        for card in left
    )
    straight = {"straight", "straight flush"}
    ranks = set()
    if made == "":
        ranks = {
            card // 4
            for card in left
            if best_five((*board, *hand, card)) in straight
            and best_five((*board, card)) not in straight
        }
    name = {0: "", 1: "gutshot"}.get(len(ranks), "open-ended")
    return " and ".join(part for part in ("flush draw" if flush else "", name) if part)


@pytest.mark.parametrize("cards", [3, 4, 5])
def test_random_hands(cards: int) -> None:
    rng = np.random.default_rng(cards)
    seen = set()
    for _ in range(15):
        board = tuple(rng.choice(52, cards, replace=False).tolist())
        free = HANDS[~np.isin(HANDS, board).any(axis=1)]
        hands = free[rng.choice(len(free), 12, replace=False)]
        expected = [made_of(board, tuple(hand)) for hand in hands.tolist()]
        assert made_hands(board, hands) == expected
        named = draws(board, hands)
        assert named == (
            [draw_of(board, tuple(hand)) for hand in hands.tolist()] if cards < 5 else [""] * 12
        )
        seen |= set(expected) | set(named) - {""}
    assert seen <= {*MADE, *DRAWS}


@pytest.mark.parametrize(
    ("board", "hand", "made", "draw"),
    [
        ("Td9d6h", "JdQd", "nothing", "flush draw and open-ended"),
        ("Td9d6h", "8s7s", "straight", ""),
        ("Td9d6h", "8d7c", "straight", ""),
        ("Td9d6h", "JcQc", "nothing", "open-ended"),
        ("Td9d6h", "Jc8c", "nothing", "open-ended"),
        ("Td9d6h", "AdAc", "overpair", ""),
        ("Td9d6h", "8c8s", "underpair", "gutshot"),
        ("TdTh6h", "Tc9c", "trips", ""),
        ("Td9d6h", "6c6s", "set", ""),
        ("Td9d6h", "Ac6s", "low pair", ""),
        ("7d8d9dTs", "AhKh", "ace high", ""),
        ("7d8d9dTd", "AdKh", "flush", ""),
    ],
)
def test_hands_that_players_know(board: str, hand: str, made: str, draw: str) -> None:
    cards, hands = read_cards(board, "board"), np.array([read_cards(hand, "hand")])
    assert made_hands(cards, hands) == [made], hand_label(hands[0])
    assert draws(cards, hands) == [draw]
