"""Leak reports against tables of solved spots; hands that are written and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pokerkit")

from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import SolvedSpot, simulate
from tensorcfr.analysis.policy_values import Values
from tensorcfr.hands import (
    find_leaks,
    hands_of_plays,
    parse_hands,
    phh_text,
    ranges_of_hands,
    save_hands,
    stars_text,
)
from tensorcfr.hands.pricing import luck_of_board
from tensorcfr.hands.spots_of_hands import pooled_stack, suits_of

RANGES = ("AA,KK,QQ,JJ,T9s,87s,54s", "AA,KK,QQ,T9s,87s,A5s")
SIZES: dict[str, Any] = {"bets": "50%,a", "raises": "a"}
SPOT: dict[str, Any] = {
    "board": "Ts9d6h2c3s",
    "ranges": RANGES,
    "pot": 100,
    "stacks": 150,
    "big_blind": 10,
    "chip": 0.1,
    **SIZES,
}
BY_SIDE = dict(zip(("oop", "ip"), RANGES, strict=True))
HAND = """variant = 'NT'
antes = [40, 40]
blinds_or_straddles = [5, 10]
min_bet = 10
starting_stacks = [200, 200]
actions = ['d dh p1 {0}', 'd dh p2 {1}', 'p2 cc', 'p1 cc', 'd db {2}', 'p1 cc', 'p2 cc', 'd db {3}',
  'p1 cc', 'p2 cc', 'd db {4}', {5}]
players = ['x', 'y']
currency = 'USD'
"""
OPTIONS: dict[str, Any] = {
    "street": "river",
    "tolerance": 0,
    "target": "0.1%",
    "options": {**SIZES, "big_blind": 10},
}


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(compile_game("holdem", **SPOT), target="0.1%")


def hand(cards: str, other: str, board: tuple[str, str, str], *river: str) -> str:
    return HAND.format(cards, other, *board, ", ".join(map(repr, river)))


BOARD = ("Ts9d6h", "2c", "3s")
CHECK_FOLD = ("p1 cc", "p2 cbr 150", "p1 f")


def test_costs_are_those_of_the_table(solution: Solution) -> None:
    """Queens that fold to an all-in, in chips, big blinds and money."""
    found = parse_hands(hand("QsQd", "KhKc", BOARD, *CHECK_FOLD))
    report = find_leaks(found.hands, ["x"], BY_SIDE, **OPTIONS)
    table = SolvedSpot(solution).table("check allin")
    row = table.values[table.hands.index("QsQd")]
    cost = row.max() - row[list(table.actions).index("fold")]
    priced = [decision for decision in report.decisions if decision.action == "fold"]
    assert len(report.decisions) == 2
    assert priced[0].cost == pytest.approx(max(cost, 0.0), abs=1e-6)
    leak = next(leak for leak in report.leaks if leak.action == "fold")
    assert leak.cost.mean == pytest.approx(priced[0].cost / 10)
    assert leak.money == {"USD": pytest.approx(priced[0].cost)}
    assert leak.situation[:3] == ("river", "oop", "check, allin")
    assert report.unpriced == {"before the flop": 1}


def test_hands_that_differ_in_suits_share_a_spot(tmp_path: Path) -> None:
    """Suits move together with the hole cards; a store keeps the spot."""
    moved = ("Td9h6s", "2c", "3d")
    text = "\n".join(
        [
            f"[1]\n{hand('Th9h', 'KhKc', BOARD, *CHECK_FOLD)}",
            f"[2]\n{hand('Ts9s', 'KsKc', moved, *CHECK_FOLD)}",
            f"[3]\n{hand('????', 'KsKc', moved, *CHECK_FOLD)}",
            f"[4]\n{hand('2s2h', 'KsKc', moved, *CHECK_FOLD)}",
        ]
    )
    hands = parse_hands(text).hands
    none = find_leaks(hands, ["x"], BY_SIDE, store=tmp_path, most=0, **OPTIONS)
    assert (none.spots, none.solved) == (1, 0)
    assert none.unpriced["hand: its spot is not solved yet"] == 4
    report = find_leaks(hands, ["x"], BY_SIDE, store=tmp_path, **OPTIONS)
    assert (report.spots, report.solved) == (1, 1)
    first, second = [decision for decision in report.decisions if decision.action == "fold"]
    assert first.cost == pytest.approx(second.cost)
    assert report.unpriced["hand: the hole cards are unknown"] == 1
    assert report.unpriced["hand: the hole cards are not in the range"] == 1
    again = find_leaks(hands, ["x"], BY_SIDE, store=tmp_path, most=0, **OPTIONS)
    assert again.decisions == report.decisions
    # The opponent is priced anew, with the stored solution.
    other = find_leaks(hands, ["y"], BY_SIDE, store=tmp_path, most=0, **OPTIONS)
    assert {decision.player for decision in other.decisions} == {"y"}
    assert sum(leak.decisions for leak in other.leaks) == 4
    # A range that names suits keeps them apart.
    assert suits_of("holdem", ("AA", "AhKh"), ("Ts", "9d", "6h"))[2] == 2


def test_reasons_without_a_price() -> None:
    """Hands that end early or have no range are counted."""
    early = hand("QsQd", "KhKc", BOARD, *CHECK_FOLD).replace(
        "'p1 cc', 'p2 cc', 'd db 2c'", "'p1 f'"
    )
    early = early[: early.index("'p1 f'")] + "'p1 cbr 20', 'p2 f']\nplayers = ['x', 'y']\n"
    found = parse_hands(early)
    assert not found.reasons
    report = find_leaks(found.hands, None, BY_SIDE, **OPTIONS)
    assert report.unpriced["hand: the hand ends before the river"] == 1
    good = parse_hands(hand("QsQd", "KhKc", BOARD, *CHECK_FOLD)).hands
    missing = find_leaks(good, None, {"BTN": "AA"}, **OPTIONS)
    assert missing.unpriced["hand: there is no range for 'BB limped'"] == 1


def test_stacks_of_a_class_are_equal() -> None:
    assert pooled_stack(150.0, 0.0) == 150.0
    assert pooled_stack(150.0, 0.1) == pooled_stack(152.0, 0.1)
    assert abs(pooled_stack(700.0, 0.05) / 700 - 1) < 0.026


def test_luck_of_the_board_has_mean_0() -> None:
    """Over all rivers, with the chances of both hands; and it explains a check down."""
    options = {**SPOT, "board": "Ts9d6h2c", "bets": "", "raises": ""}
    solution = solve(compile_game("holdem", **options), iters=1)
    nodes, values = SolvedSpot(solution).nodes, Values(solution.policy)
    first, second = nodes.hands[0].index("KsKd"), nodes.hands[1].index("AsAd")
    lucks, equity = [], []
    for edge in nodes.children(nodes.find_line("check check")):
        if (edge.label[0] == "K" and edge.label[1] in "sd") or edge.label in ("As", "Ad"):
            continue
        path = [0, nodes.find_line("check"), nodes.find_line("check check"), edge.node]
        lucks.append(luck_of_board(values, path, 0, first, second))
        equity.append(edge.label in ("Kh", "Kc"))
    assert len(lucks) == 44
    assert np.mean(lucks) == pytest.approx(0.0, abs=1e-9)
    # A king is the only help of kings against aces, but the range of the opponent is wider.
    assert np.mean([lucks[k] for k in np.flatnonzero(equity)]) > 0.0


def test_ranges_of_hands_count_hole_cards() -> None:
    """The hand that was held has the largest weight, and each hand has some."""
    found = parse_hands(hand("QsQd", "KhKc", BOARD, *CHECK_FOLD))
    ranges = ranges_of_hands(found.hands, strength=1)
    assert set(ranges) == {"BB limped", "BTN limped", "*"}
    assert "QQ" in ranges["BB limped"].split(",")
    assert "KK" in ranges["BTN limped"].split(",")
    with pytest.raises(ValueError, match="hands: no hand has known cards"):
        ranges_of_hands([])


GAMES: dict[str, dict[str, Any]] = {
    "holdem": {**SPOT, "board": "Ts9d6h2c"},
    "short_deck": {
        **SPOT,
        "board": "Ts9d6hJc8s",
        "ranges": ("TT+,A9s", "TT+,A8s"),
        "chip": 1,
    },
    "omaha": {
        **SPOT,
        "board": "Ts9d6hJc8s",
        "ranges": ("AsAdKsKd,QsQdTh9h", "AhAcKhKc,JsJd7c7d"),
        "bets": "50%",
        "raises": "",
        "chip": 1,
    },
}


@pytest.mark.parametrize("game", GAMES)
def test_plays_are_written_and_read_again(game: str, tmp_path: Path) -> None:
    """As PHH and as PokerStars: the same hands, and the payoffs of the spot."""
    compiled = compile_game(game, **GAMES[game])
    plays = simulate(compiled, solve(compiled, iters=5).policy, 25, seed=3)
    hands = hands_of_plays(plays, ("a: b", "c"))
    assert np.array([hand.won for hand in hands]) == pytest.approx(plays.utilities)
    for text in (phh_text(hands), stars_text(hands)):
        found = parse_hands(text)
        assert not found.reasons
        assert [hand.rules for hand in found.hands] == [hand.rules for hand in hands]
    hero = parse_hands(stars_text(hands, hero="c")).hands
    assert all(hand.cards[1] for hand in hero)
    folded = [hand for hand in hero if any(d.action == "fold" for d in hand.decisions)]
    assert not any(hand.cards[0] for hand in folded)
    assert save_hands(hands, tmp_path / "hands.txt").read_text() == stars_text(hands)
    with pytest.raises(ValueError, match=r"path must end in \.phh, \.phhs, \.txt, not"):
        save_hands(hands, tmp_path / "hands.csv")


BIG_BLIND_ANTE = """variant = 'NT'
antes = {0}
blinds_or_straddles = {1}
min_bet = 2
starting_stacks = [100, 100{2}]
actions = ['d dh p1 AsAh', 'd dh p2 KsKh',{3} 'd db Ts9d6h', {4}]
players = ['x', 'y'{5}]
"""


@pytest.mark.parametrize("players", [2, 3])
def test_an_ante_of_the_big_blind_alone(players: int) -> None:
    """By hand: with two players PHH lists antes and blinds in reverse; player 1, or 0 of two, is
    the big blind, who pays an ante of 2, and wins the pot after a bet of 6 that nobody calls."""
    if players == 2:
        before, after = " 'p2 cc', 'p1 cc',", "'p1 cbr 6', 'p2 f'"
        text = BIG_BLIND_ANTE.format("[0, 2]", "[1, 2]", "", before, after, "")
        won = {"x": 2.0, "y": -2.0}
    else:
        before = " 'd dh p3 QsQh', 'p3 f', 'p1 cc', 'p2 cc',"
        after = "'p1 cc', 'p2 cbr 6', 'p1 f'"
        text = BIG_BLIND_ANTE.format("[0, 2, 0]", "[1, 2, 0]", ", 100", before, after, ", 'z'")
        won = {"x": -2.0, "y": 2.0, "z": 0.0}
    (hand,) = parse_hands(text).hands
    assert dict(zip(hand.players, hand.won, strict=True)) == won
    # The bet is 6 into the blinds and the ante.
    (bet,) = (decision for decision in hand.decisions if decision.action == "bet")
    assert bet.pot == 6.0
    for copy in (*parse_hands(phh_text([hand])).hands, *parse_hands(stars_text([hand])).hands):
        assert copy.won == hand.won
        assert [d.pot for d in copy.decisions] == [d.pot for d in hand.decisions]


def test_a_pot_below_the_blinds_is_refused() -> None:
    game = compile_game("holdem", **{**SPOT, "big_blind": 60})
    plays = simulate(game, solve(game, iters=1).policy, 1)
    with pytest.raises(ValueError, match="a big blind of at most half of the pot, 50, not 60"):
        hands_of_plays(plays)
    kuhn = compile_game("kuhn")
    with pytest.raises(ValueError, match="game must be a spot of two players"):
        hands_of_plays(simulate(kuhn, solve(kuhn, iters=1).policy, 1))
