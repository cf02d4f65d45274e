"""Hold'em: cards, ranges, sizes, betting, strengths, and solved spots."""

from __future__ import annotations

from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from tensorcfr import GameError, MemoryLimitError, compile_game, solve
from tensorcfr.analysis import hand_table
from tensorcfr.compilers import game_size
from tensorcfr.games import make_game
from tensorcfr.games.holdem import (
    CARDS,
    HANDS,
    Holdem,
    grid_label,
    grid_place,
    hand_label,
    read_cards,
    read_range,
    read_sizes,
)
from tensorcfr.games.poker.ranges import BY_EQUITY
from tensorcfr.games.poker.strength import CATEGORY_SHIFT, strength, strengths
from tensorcfr.model.chunked_game import ChunkedGame

# ------------------------------------------------------------------------------ cards and ranges


def test_cards() -> None:
    assert [CARDS[card] for card in read_cards("Td9d6h", "board")] == ["Td", "9d", "6h"]
    assert read_cards("td 9D,6H", "board") == read_cards("Td9d6h", "board")
    assert len(HANDS) == 1326
    assert hand_label(HANDS[0]) == "AsAh"
    for text, message in [
        ("Td1d", "'1d' at character 3 of 'Td1d' is not a card"),
        ("TdTd", "Td at character 3 of 'TdTd' occurs twice"),
        ("TdX", "'X' at character 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_cards(text, "board")


def labels(text: str) -> set[str]:
    """The places of the grid that a range has."""
    return {grid_label(*grid_place(HANDS[hand])) for hand in np.flatnonzero(read_range(text))}


@pytest.mark.parametrize(
    ("text", "hands", "groups"),
    [
        ("QQ+", 18, "QQ KK AA"),
        ("ATs+", 16, "ATs AJs AQs AKs"),
        ("KJo", 12, "KJo"),
        ("AK", 16, "AKs AKo"),
        ("A5s-A2s", 16, "A5s A4s A3s A2s"),
        ("A2s-A5s", 16, "A5s A4s A3s A2s"),
        ("QQ-TT", 18, "QQ JJ TT"),
        ("98o-65o", 48, "98o 87o 76o 65o"),
        ("T9o+", 12, "T9o"),
        ("AsKd", 1, "AKo"),
        (" aa , 76S ", 10, "AA 76s"),
        ("44-", 18, "44 33 22"),
        ("A4s-", 12, "A4s A3s A2s"),
        ("KK;QQ\nJJ,\n\nTT\n", 24, "KK QQ JJ TT"),
        ("JJ+,!KK,!AsAh", 17, "JJ QQ AA"),
        ("top 2.8%", 36, "AA KK QQ JJ TT 99"),
        ("2.7%", 30, "AA KK QQ JJ TT"),
        ("TT+ ATs+ K9s", 50, "TT JJ QQ KK AA ATs AJs AQs AKs K9s"),
        ("66- , top 0.5% 98s -65s\tAsKd", 53, "66 55 44 33 22 AA 98s 87s 76s 65s AKo"),
        ("{AA,KK}", 12, "AA KK"),
        (" { AA KK } ", 12, "AA KK"),
        ("AsKs-AsQs", 2, "AKs AQs"),
        ("QhTh-9h7h", 4, "QTs J9s T8s 97s"),
        ("KsQd+", 1, "KQo"),
        ("KsKd+", 2, "KK AA"),
    ],
)
def test_ranges(text: str, hands: int, groups: str) -> None:
    """6 hands of a pair, 4 suited ones, 12 of two suits."""
    assert np.count_nonzero(read_range(text)) == hands
    assert labels(text) == set(groups.split())


def test_weights_of_ranges() -> None:
    weights = read_range("AA:0.5,AKs:.25,AsAh:1")
    assert weights.sum() == pytest.approx(5 * 0.5 + 4 * 0.25 + 1.0)
    # A later group takes precedence, with a smaller weight, too.
    assert read_range("AA,AsAh:0.25").sum() == 5.25
    assert read_range("AA:50%").sum() == 3.0
    # As other programs write them.
    assert read_range("[50]QQ,JJ-TT[/50],AA,[12.5]AKs[/12.5]").sum() == 3 * 3 + 6 + 0.5
    assert read_range("[50] QQ JJ [/50] AA [12.5]AKs[/12.5] !AsAh").sum() == 3 * 2 + 5 + 0.5
    assert read_range("AA@50,KK @ 25%").sum() == 4.5
    assert read_range("2d2c: 0.285,2h2c: 0.285,AcKc: 1, JsTs:0.5").sum() == pytest.approx(2.07)
    assert read_range("AsTh: 1.8e-7,KcKd:1").sum() == pytest.approx(1 + 1.8e-7, abs=1e-12)
    assert read_range("random").sum() == read_range("100%").sum() == read_range("any").sum() == 1326


# PioSOLVER's show_hand_order begins 2d2c 2h2c 2h2d 2s2c 2s2d 2s2h 3c2c; card_pair_to_index of
# postflop-solver sorts by the lower card, then by the higher one: 2c2d 2c2h 2c2s 2c3c.
BY_HIGHER = [f"{CARDS[a]}{CARDS[b]}" for a in range(52) for b in range(a)]
BY_LOWER = [f"{CARDS[b]}{CARDS[a]}" for b, a in combinations(range(52), 2)]


@pytest.mark.parametrize("order", [BY_HIGHER, BY_LOWER])
@pytest.mark.parametrize("text", ["AA", "22", "A5s:0.5,KQo,77-55:0.25", "random"])
def test_ranges_as_numbers(order: list[str], text: str) -> None:
    weights = read_range(text)
    number = {
        frozenset((label[:2], label[2:])): k for k, label in enumerate(map(hand_label, HANDS))
    }
    of_hand = [weights[number[frozenset((label[:2], label[2:]))]] for label in order]
    for blank in (" ", ", ", "\n"):
        np.testing.assert_array_equal(read_range(blank.join(map(str, of_hand))), weights)


def test_numbers_whose_order_is_not_known_are_refused() -> None:
    numbers = ["0"] * 1326
    numbers[7] = "1"
    for text, message in [
        (" ".join(numbers), "do not tell which hand each is for: PioSOLVER .* neither order"),
        (" ".join(numbers[1:]), "range has 1,325 numbers; there are 1,326 hands"),
        (" ".join(["1.5", *numbers[1:]]), "from 0 to 1, not '1.5'"),
    ]:
        with pytest.raises(ValueError, match=message) as refused:
            read_range(text)
        assert len(str(refused.value)) < 300


@pytest.mark.slow
def test_the_best_hands_are_those_that_win_most() -> None:
    """What every hand wins against every other one, on all 134,459 boards that differ in more than
    suits."""
    boards, times = boards_of_five()
    won, met = np.zeros(169), np.zeros(169)
    place = np.array([13 * row + column for row, column in map(grid_place, HANDS)])
    for board, count in zip(boards, times, strict=True):
        live = ~np.isin(HANDS, board).any(axis=1)
        found = strengths(board, HANDS[live])
        add_wins(np.argsort(found, kind="stable"), found, HANDS[live], place[live], count, won)
        met += count * 990 * np.bincount(place[live], minlength=169)
    equity = won / met
    order = [grid_label(*divmod(int(k), 13)) for k in np.argsort(-equity)]
    assert order == BY_EQUITY.split()
    assert equity.max() == pytest.approx(0.85204, abs=5e-6)
    assert equity.min() == pytest.approx(0.32303, abs=5e-6)


def boards_of_five() -> tuple[np.ndarray, np.ndarray]:
    """Boards up to a change of suits, and how many boards each stands for."""
    cards = np.array(list(combinations(range(52), 5)))
    digits = 52 ** np.arange(5)
    codes = [
        np.sort(cards // 4 * 4 + np.array(suits)[cards % 4], axis=1) @ digits
        for suits in permutations(range(4))
    ]
    found, times = np.unique(np.min(codes, axis=0), return_counts=True)
    return found[:, None] // digits % 52, times


@numba.njit
def add_wins(
    order: np.ndarray,
    strength: np.ndarray,
    hands: np.ndarray,
    place: np.ndarray,
    count: int,
    won: np.ndarray,
) -> None:
    """Add the hands that each hand beats, and half of those that it ties, to its place."""
    weaker, of_card, first = 0, np.zeros(52), 0
    while first < len(order):
        last, ties = first, np.zeros(52)
        while last < len(order) and strength[order[last]] == strength[order[first]]:
            for card in hands[order[last]]:
                ties[card] += 1
            last += 1
        for hand in order[first:last]:
            one, other = hands[hand]
            beaten = weaker - of_card[one] - of_card[other]
            # The hand itself is among those with either card, and once among all.
            tied = last - first - ties[one] - ties[other] + 1
            won[place[hand]] += count * (beaten + tied / 2)
        of_card += ties
        weaker, first = last, last


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("QQ+,AX", "'AX' at character 5 is not a group of hands"),
        ("AA:1.5", "must be from 0 to 1, or to 100%, not '1.5'"),
        ("AA:150%", "not '150%'"),
        ("AA:x%", "not 'x%'"),
        ("top 101%", "a share must be at most 100% of the hands"),
        ("[50]QQ", r"\[50\] is not closed: write \[/50\]"),
        ("QQ[/50]", "character 1: .* closes nothing"),
        ("[50]QQ,[20]JJ[/20]", r"character 8: \[50\] is not closed before"),
        ("[50]QQ:0.3[/50]", "has two weights"),
        ("QQ,!QQ:0.3", "character 4 has two weights"),
        ("[500]QQ[/500]", "not '500%'"),
        ("AA,,KK", "at character 4: there is nothing before the comma"),
        ("AsAs", "has one card twice"),
        ("QQs", "neither suited nor offsuit"),
        ("A5s-A2o", "both ends must be suited"),
        ("A5s-K2s", "same first card or the same gap"),
        ("QQ-A2s", "both ends must be suited|same gap"),
        ("AsKs-AsQd", "of the same two"),
        ("AA@50:0.5", "has two weights|a weight must be"),
        ("AA@500", "not '500%'"),
        ("AsJh: 0.460.46,KcKd:1", "character 1: a weight must be"),
        ("KK AA 1", "'AA 1' at character 4 is not a group"),
        ("AA,{KK}", "'{KK}' at character 4 is not a group"),
        ("Q" * 3000, "'QQQ"),
    ],
)
def test_bad_ranges(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        read_range(text)
    assert len(str(refused.value)) < 300


# ------------------------------------------------------------------------------------- strengths


def test_order_of_strengths_against_eval7() -> None:
    """The order on random boards is that of eval7 (an evaluator by tables)."""
    eval7 = pytest.importorskip("eval7")
    rng = np.random.default_rng(7)
    for _ in range(30):
        cards = rng.permutation(52)
        board, hands = cards[:5], cards[5:].reshape(-1, 1)[:40].reshape(-1, 2)
        found = strengths(board, hands)
        table = [[eval7.Card(CARDS[c]) for c in (*board, *hand)] for hand in hands]
        expected = np.array([eval7.evaluate(seven) for seven in table])
        order = np.sign(found[:, None] - found)
        np.testing.assert_array_equal(order, np.sign(expected[:, None] - expected))


def test_order_of_strengths_against_phevaluator() -> None:
    """The order is that of phevaluator (perfect hashing; there, smaller wins)."""
    phevaluator = pytest.importorskip("phevaluator")
    rng = np.random.default_rng(8)
    sevens = np.array([rng.permutation(52)[:7] for _ in range(3000)])
    found = np.array([strengths(seven[:5], seven[None, 5:])[0] for seven in sevens])
    expected = np.array(
        [-phevaluator.evaluate_cards(*(CARDS[card] for card in seven)) for seven in sevens]
    )
    by_strength = np.argsort(found, kind="stable")
    assert (np.diff(expected[by_strength]) >= 0).all()
    assert len(np.unique(found)) == len(np.unique(expected))


ALIKE = [
    ("two sets of three", "AsAhAdKsKhKd2c", "AsAhAdKsKh4c3d"),
    ("four and a pair", "2s2h2d2cKsKh3c", "2s2h2d2cKs5h4c"),
    ("three pairs", "AsAhKsKhQsQh2c", "AsAhKsKhQs4h3c"),
    ("six cards of a suit", "AsKsQsJs9s2s3d", "AsKsQsJs9s4d3d"),
    ("the five best of a straight", "9s8h7d6c5s4h2d", "9s8h7d6c5sAhAd"),
]
"""Sevens that are worth the same, by the rules of poker: the best five count."""
LADDER = [
    "KsQhJd9c7s5h3d",
    "AsKhQd2c3s8h9d",  # No straight goes around the ace.
    "2s2hAdKcQs9h7d",
    "AsAhKsKhJs4h3c",
    "AsAhKsKhQsQh2c",
    "2s2h2dAcKsJh9d",
    "As2h3d4c5sKhKd",
    "2s3h4d5c6sAhAd",
    "AsKsQsJs9s4d3d",
    "3s3h3d2s2hAcKd",
    "AsAhAdKsKhKd2c",
    "2s2h2d2cQsQhJd",
    "2s2h2d2cKsKh3c",
    "AsAhAdAcKsKhKd",
    "As2s3s4s5sKsKd",
    "2s3s4s5s6sAsAd",
]
"""Sevens from the weakest to the strongest, by the rules of poker."""


def worth(seven: str) -> int:
    """The strength of seven cards."""
    cards = np.array(read_cards(seven, "cards"))
    return int(strengths(cards[:5], cards[None, 5:])[0])


def test_rare_hands() -> None:
    """What random sevens hardly ever hold."""
    for what, one, other in ALIKE:
        assert worth(one) == worth(other), what
    found = [worth(seven) for seven in LADDER]
    assert found == sorted(set(found))


@numba.njit
def count_all():  # type: ignore[no-untyped-def]
    """The categories of all sets of seven cards, and how many strengths differ."""
    counts = np.zeros(9, dtype=np.int64)
    seen = np.zeros(9 << (CATEGORY_SHIFT - 3), dtype=np.uint8)
    m = np.zeros(4, dtype=np.int64)
    chosen = np.arange(7)
    while True:
        m[:] = 0
        for card in chosen:
            m[card & 3] |= 1 << (card >> 2)
        found = strength(m[0], m[1], m[2], m[3])
        counts[found >> CATEGORY_SHIFT] += 1
        seen[found >> 3] |= 1 << (found & 7)
        at = 6
        while at >= 0 and chosen[at] == 45 + at:
            at -= 1
        if at < 0:
            break
        chosen[at] += 1
        for k in range(at + 1, 7):
            chosen[k] = chosen[k - 1] + 1
    distinct = 0
    for byte in seen:
        while byte:
            distinct += byte & 1
            byte >>= 1
    return counts, distinct


@pytest.mark.slow
@pytest.mark.compiled
def test_all_sets_of_seven_cards() -> None:
    """Counts and number of strengths: Wikipedia, "Poker probability", 7-card poker hands."""
    counts, distinct = count_all()
    assert counts.tolist() == [
        23294460,
        58627800,
        31433400,
        6461620,
        6180020,
        4047644,
        3473184,
        224848,
        41584,
    ]
    assert distinct == 4824


# ----------------------------------------------------------------------------------- the betting


def test_sizes() -> None:
    found = read_sizes("70%, 100c,2e,3e200%,a", "bets", raises=False)
    assert [size.kind for size in found] == ["pot", "chips", "geometric", "geometric", "all-in"]
    assert [size.number for size in found] == [0.7, 100.0, 2.0, 3.0, 0.0]
    assert read_sizes("-", "bets", raises=False) == ()
    assert read_sizes("2.5x,20c3r", "raises", raises=True)[1].max_raises == 3
    assert read_sizes("70,allin", "bets", raises=False) == read_sizes("70%,a", "", raises=False)
    capped = read_sizes("60%3r,min", "raises", raises=True)
    assert [(size.kind, size.max_raises) for size in capped] == [("pot", 3), ("least", np.inf)]
    for text, message in [
        ("70p", "'70p' at character 1 is not a size"),
        ("min", "'min' at character 1 is for raises only"),
        ("50%,2x", "'2x' at character 5 is for raises only"),
        ("0%", "must be above 0"),
        ("9" * 400 + "%", "at most 1,000,000,000"),
        ("5e" + "9" * 400 + "%", "at most 1,000,000,000"),
        ("1000000001c", "at most 1,000,000,000"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_sizes(text, "bets", raises=False)
    with pytest.raises(ValueError, match="more than 1x"):
        read_sizes("0.5x", "raises", raises=True)
    for text in ("9" * 400 + "x", "20c" + "9" * 400 + "r"):
        with pytest.raises(ValueError, match="a number in a size is at most"):
            read_sizes(text, "raises", raises=True)


def river(**options: Any) -> Holdem:
    """A river spot with a pot of 100 and 300 behind."""
    spot = {"board": "QsJh2h8d3c", "ranges": ("AA", "KK"), "pot": 100, "stacks": 300}
    spot["add_allin"] = 0
    return Holdem(**(spot | options))


def actions(spot: Holdem, *line: str | None) -> tuple[str, ...]:
    """The actions after a line; None deals a card."""
    state = spot.root()
    for step in line:
        state = spot.next(state, step)
    return tuple(spot.node(state).actions)  # type: ignore[union-attr]


def test_fractions_of_chips(interpreted: None) -> None:
    """A spot in big blinds is the same spot in tenths of them, but for the unit."""
    sizes = {"bets": "33%,70%", "raises": "2.5x,min", "merging": 0, "add": ("check bet1.3",)}
    spot = river(pot=5.5, stacks=12.5, chip=0.1, **sizes)
    tenths = river(pot=55, stacks=125, **(sizes | {"add": ("check bet13",)}))
    assert actions(spot) == ("check", "bet1.8", "bet3.9")
    assert actions(spot, "check") == ("check", "bet1.3", "bet1.8", "bet3.9")
    assert actions(spot, "bet1.8") == ("fold", "call", "raise3.6", "raise4.5")
    assert actions(river(pot=5.5, stacks=12.5, chip=0.1, bets="2c"))[1] == "bet2"
    assert spot.described(spot.next(spot.root(), "bet1.8")) == [
        "pot 7.3, 12.5 behind",
        "1.8 to call",
    ]
    first, second = (
        solve(compile_game(one), "cfr+", iters=10, precision="float64") for one in (spot, tenths)
    )
    assert 10.0 * first.value[0] == pytest.approx(second.value[0], rel=1e-12)
    assert Holdem(**(spot.options | {"pot": 5.0, "stacks": 10.0, "chip": 1.0})).options["pot"] == 5
    for options, message in [
        (
            {"pot": 5.5},
            "multiple of the smallest chip 1, not 5.5; pass a smaller one, for example chip=0",
        ),
        ({"pot": 1, "stacks": 2.25, "chip": 0.1}, "stacks must be a multiple of .* 0.1, not 2.25"),
        ({"pot": 1, "stacks": 2, "chip": 0.1, "add": ("bet0.15",)}, "from 0.1 to 2"),
        ({"pot": 1, "stacks": 2, "chip": 0.1, "add": ("betx",)}, "from 0.1 to 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            actions(river(**options))


def test_a_cap_on_raises() -> None:
    spot = river(bets="20c", raises="20c2r", force_allin=0)
    line = ["bet20", "raise40", "raise60"]
    assert actions(spot, *line[:2]) == ("fold", "call", "raise60")
    assert actions(spot, *line) == ("fold", "call")


def test_actions() -> None:
    """Worked out by hand from the rules of sizes."""
    spot = river(bets="50%,100%", raises="2.5x,60%", add_allin=1.5)
    assert actions(spot) == ("check", "bet50", "bet100")
    # The pot is 200 after a call of 50: 60 % of it on top of 50 is 170, and 2.5 times 50 is 125;
    # all-in (300) is at most 50 + 1.5 times 200, so it is there, too.
    assert actions(spot, "bet50") == ("fold", "call", "raise125", "raise170", "allin")
    assert actions(river(bets="50%", raises="60%"), "bet50") == ("fold", "call", "raise170")
    assert actions(river(bets="290c"), "check") == ("check", "allin")
    # A call of 240 makes a pot of 580: 60 left behind are less than 15 % of it.  A call of 200
    # makes one of 500: 100 left behind are more.
    assert actions(river(bets="240c"), "check") == ("check", "allin")
    assert actions(river(bets="200c"), "check") == ("check", "bet200")
    assert actions(river(bets="290c", force_allin=0), "check") == ("check", "bet290")
    # (1 + 0.55) / (1 + 0.5) is below 1.1.
    assert actions(river(bets="50%,55%")) == ("check", "bet55")
    assert actions(river(bets="50%,55%", merging=0.0)) == ("check", "bet50", "bet55")
    # Geometric: one street left is all-in; two streets: (sqrt(7) - 1) / 2 of the pot.
    assert actions(river(bets="e")) == ("check", "allin")
    assert actions(river(bets="2e")) == ("check", "bet82")
    assert actions(river(bets="2e50%")) == ("check", "bet50")
    assert actions(river(bets="20c", raises="20c2r"), "bet20") == ("fold", "call", "raise40")
    assert actions(river(bets="20c", raises="20c2r"), "bet20", "raise40", "raise60") == (
        "fold",
        "call",
    )


def test_raises_of_raises() -> None:
    """Worked out by hand from the rules of sizes."""
    spot = river(bets="50%", raises="10%", stacks=2000)
    # 10 % of the pot after a call is less than the last raise, which a raise repeats at least.
    assert actions(spot, "bet50") == ("fold", "call", "raise100")
    assert actions(spot, "bet50", "raise100") == ("fold", "call", "raise150")
    # On the turn two bets go all-in: the raise is one of them, and the next one is the last.
    spot = river(board="QsJh2h8d", bets="50%", raises="e", stacks=2000)
    assert actions(spot, "bet50") == ("fold", "call", "raise403")
    assert actions(spot, "bet50", "raise403") == ("fold", "call", "allin")
    # A cap counts the raises of a street.
    spot = river(board="QsJh2h8d", bets="20c", raises="20c2r")
    turn = ("bet20", "raise40", "raise60")
    assert actions(spot, *turn) == ("fold", "call")
    assert actions(spot, *turn, "call", None, "bet20") == ("fold", "call", "raise40")


def test_options_by_street_and_player() -> None:
    turn = {"board": "QsJh2h8d", "bets": {"turn": "50%", "river": {"oop": "25%", "ip": "100%"}}}
    spot = river(**turn, raises={"oop": "", "ip": "3x"})
    assert actions(spot) == ("check", "bet50")
    called = ("check", "check", None)
    assert actions(spot, *called) == ("check", "bet25")
    assert actions(spot, *called, "check") == ("check", "bet100")
    assert actions(spot, "bet50") == ("fold", "call", "raise150")
    assert actions(spot, "check", "bet50") == ("fold", "call")


def test_donk_bets() -> None:
    """Only after player 0 has called a bet."""
    spot = river(board="QsJh2h8d", bets="50%", donk="20%")
    assert actions(spot) == ("check", "bet50")
    assert actions(spot, "check", "check", None) == ("check", "bet50")
    assert actions(spot, "check", "bet50", "call", None) == ("check", "bet40")
    assert actions(spot, "bet50", "call", None) == ("check", "bet100")


def test_lines_by_hand() -> None:
    spot = river(
        bets="50%", raises="3x", add=("check bet75",), remove=("check bet50", "bet50 raise150")
    )
    assert actions(spot, "check") == ("check", "bet75")
    assert actions(spot, "bet50") == ("fold", "call")
    with pytest.raises(ValueError, match="there is no 'bet51'"):
        actions(river(bets="50%", remove=("bet51",)))
    with pytest.raises(ValueError, match="an amount from 1 to 300"):
        actions(river(bets="50%", add=("bet301",)))
    with pytest.raises(ValueError, match="no 'bet51' before 'call'"):
        actions(river(bets="50%", remove=("bet51 call",)))


def test_all_in_deals_the_rest() -> None:
    spot = river(board="QsJh2h", bets="a")
    state = spot.root()
    for step in ("allin", "call", None, None):
        state = spot.next(state, step)
    assert spot.node(state).win == (350.0, -350.0)  # type: ignore[union-attr]


def test_rake() -> None:
    """5 % of a pot of 200, from the winner; split between both where they tie."""
    spot = river(bets="50%", rake=0.05, rake_cap=1000)
    state = spot.next(spot.next(spot.root(), "bet50"), "call")
    assert spot.node(state) == ((90.0, -100.0), (-5.0, -5.0), (-100.0, 90.0))
    state = spot.next(spot.next(spot.root(), "bet50"), "fold")
    assert spot.node(state) == ((45.0, -50.0),)
    capped = river(bets="50%", rake=0.05, rake_cap=2)
    assert capped.node(capped.next(capped.next(capped.root(), "bet50"), "fold")) == ((48.0, -50.0),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"board": "QsJh"}, "has 2 cards; a board has 3 to 5"),
        ({"board": "QsQs2h"}, "Qs at character 3 of 'QsQs2h' occurs twice"),
        ({"ranges": ("AA", "QsJs")}, r"ranges\[1\]: 'QsJs' has no hand on QsJh2h8d3c"),
        ({"ranges": "AA"}, "ranges must be 2 or 3 values, each a text"),
        ({"ranges": ("AA", "A")}, r"ranges\[1\]: 'A' at character 1"),
        ({"stacks": 0}, "stacks must be above 0"),
        ({"pot": 0}, "pot must be above 0"),
        ({"bets": "50%,60p"}, "bets: '60p' at character 5 is not a size"),
        (
            {"bets": {"river": {"oop": "x"}}},
            "no sizes for ip on the river: give 'river' or 'ip'|'x'",
        ),
        ({"bets": {"flop": "half", "turn": "", "river": "50%"}}, r"bets\['flop'\].*'half'"),
        ({"donk": {"turn": "much"}}, r"donk\['turn'\].*'much'"),
        ({"bets": {"preflop": "50%"}}, "not 'preflop'"),
        ({"rake": 2.0}, "rake must be"),
        (
            {"ranges": ("AsAh", "AsKd,AhKd")},
            "every hand of player 0 shares a card with every hand of player 1",
        ),
        ({"add": ("",)}, "add takes lines"),
        ({"remove": 5}, "remove must be"),
    ],
)
def test_bad_spots(options: dict[str, Any], message: str) -> None:
    spot = {"board": "QsJh2h8d3c", "ranges": ("AA", "KK"), "pot": 100, "stacks": 300}
    with pytest.raises(GameError, match=message):
        compile_game("holdem", **(spot | options))


def test_spots_are_games_by_name() -> None:
    rules = make_game("holdem(board='QsJh2h8d3c', ranges=('AA', 'KK'), pot=100, stacks=300)")
    assert isinstance(rules, Holdem)
    assert rules.name == "holdem QsJh2h8d3c"


def test_errors_name_the_board_and_not_the_whole_call() -> None:
    spot: Any = {"board": "QsJh2h8d3c", "ranges": ("AA", "KK"), "pot": 100, "stacks": 300}
    with pytest.raises(MemoryLimitError, match=r"^compiling holdem QsJh2h8d3c needs"):
        compile_game("holdem", **spot, memory_limit=1000)


# ----------------------------------------------------------------------------------- solved spots

OOP = "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s"
IP = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"
RIVER = {"board": "QsJh2h8d3c", "bets": "50%,100%", "raises": "60%", "pot": 200, "stacks": 900}
TURN = {"board": "Td9d6hQc", "raises": "2.5x", "pot": 200, "stacks": 900, "ranges": (OOP, IP)}
SPOTS: dict[str, tuple[dict[str, Any], tuple[int, int], tuple[float, float], float]] = {
    "river_tiny": (
        {
            "board": "QsJh2h8d3c",
            "ranges": ("AA,KK,QQ,AKs", "AA-TT,AKs,AQs,AKo"),
            "pot": 100,
            "stacks": 200,
            "bets": "50%",
            "raises": "60%",
        },
        (19, 43),
        (12.36645, -12.36645),
        0.001954,
    ),
    "river": (
        RIVER | {"ranges": ("random", "random")},
        (1081, 1081),
        (-6.25259, 6.25259),
        0.001962,
    ),
    "river_narrow": (RIVER | {"ranges": (OOP, IP)}, (171, 248), (2.91291, -2.91291), 0.00198),
    "river_rake": (
        RIVER | {"ranges": (OOP, IP), "rake": 0.05, "rake_cap": 30},
        (171, 248),
        (-4.46309, -9.85765),
        0.001979,
    ),
    "river_weights": (
        {
            "board": "Kd7h2c7s3d",
            "ranges": ("AA:0.5,KK,AKs:0.25,76s,65s:0.75", "QQ-99,AQs+,KQs:0.3,T9s"),
            "pot": 60,
            "stacks": 150,
            "bets": "33%,75%,a",
            "raises": "2.5x",
        },
        (18, 38),
        (30.0006, -30.00061),
        0.000479,
    ),
    "turn_small": (TURN | {"bets": "60%"}, (167, 250), (-5.00458, 5.00458), 0.018854),
    "turn": (
        TURN | {"bets": "60%,e,a", "donk": "50%"},
        (167, 250),
        (-8.03908, 8.03908),
        0.026594,
    ),
    "flop_small": (
        {
            "board": "Td9d6h",
            "ranges": ("QQ-99,AKs,AQs,KQs,JTs,98s", "JJ-77,AJs+,KJs+,QJs,T9s,87s"),
            "pot": 60,
            "stacks": 120,
            "bets": "50%",
            "raises": "60%",
        },
        (36, 55),
        (-1.37415, 1.37415),
        0.017326,
    ),
}
"""Spots, how many hands each player has, the players' values with half of the pot as their own, and
how exploitable the strategies are that have these values.  From postflop-solver (W. Inariba, Rust,
commit of its last release, float32)."""
EXACT = {
    "river_tiny": (12.366413, -12.366413),
    "river": (-6.252454, 6.252454),
    "river_narrow": (2.912796, -2.912796),
    "river_rake": (-4.461257, -9.855985),
    "river_weights": (30.000679, -30.000679),
    "turn_small": (-5.00386, 5.00386),
    "turn": (-8.038537, 8.038537),
    "flop_small": (-1.374193, 1.374193),
}
"""The players' values, solved on to 1e-5 of the pot with this library: DCFR, float64, 525 to 3,981
iterations."""
SLOW = ("turn_small", "turn", "flop_small")


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in SPOTS]
)
@pytest.mark.parametrize("precision", [pytest.param("float64", marks=pytest.mark.full), "float32"])
def test_values_of_solved_spots(name: str, precision: str) -> None:
    """The values lie within the sum of what both strategies can be exploited by."""
    spot, hands, values, exploitability = SPOTS[name]
    game = compile_game("holdem", **spot)
    assert isinstance(game, ChunkedGame)
    assert tuple(map(len, game.nodes.hands)) == hands
    target = 0.0002 * spot["pot"] if name not in SLOW else 0.0005 * spot["pot"]
    solution = solve(game, "dcfr", target=target, iters=3000, precision=precision)
    assert solution.exploitability <= target
    # A game with rake is not zero-sum: its value is not unique, but near here.
    bound = 2 * (target + exploitability) if spot.get("rake") else target + exploitability
    np.testing.assert_allclose(solution.value, values, rtol=0, atol=bound)


def test_both_solvers_find_the_same_values() -> None:
    """The recorded values of this library and those of postflop-solver."""
    assert EXACT.keys() == SPOTS.keys()
    for name, (spot, _, values, exploitability) in SPOTS.items():
        bound = 1e-5 * spot["pot"] + exploitability
        bound *= 2 if spot.get("rake") else 1
        np.testing.assert_allclose(EXACT[name], values, rtol=0, atol=bound, err_msg=name)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n in SLOW else pytest.mark.full) for n in SPOTS],
)
def test_values_of_spots_solved_on(name: str) -> None:
    """To 1e-5 of the pot."""
    spot = SPOTS[name][0]
    target = 1e-5 * spot["pot"]
    solution = solve(compile_game("holdem", **spot), "dcfr", target=target, iters=10_000)
    assert solution.exploitability <= target
    np.testing.assert_allclose(solution.value, EXACT[name], rtol=0, atol=2 * target)


# --------------------------------------------------------------------------- hands at a line


@pytest.mark.compiled
@pytest.mark.full
def test_every_hand_of_a_river() -> None:
    """Values of actions worked out by hand from the ranges at the line."""
    spot, _, _, _ = SPOTS["river_tiny"]
    solution = solve(compile_game("holdem", **spot), "dcfr", iters=100, precision="float64")
    root, bet = hand_table(solution), hand_table(solution, "bet50")
    assert root.actions == ("check", "bet50")
    assert root.share @ root.value == pytest.approx(solution.value[0], abs=1e-9)
    # Half of the pot is what a fold loses.
    np.testing.assert_allclose(bet.values[:, 0], -50.0, rtol=0, atol=1e-9)
    bettor = root.weight * root.strategy[:, 1]
    board = np.array(read_cards(spot["board"], "board"))
    own, other = strengths(board, bet.cards), strengths(board, root.cards)
    shared = (bet.cards[:, None, :, None] == root.cards[None, :, None, :]).any(axis=(2, 3))
    paid = 100.0 * np.sign(own[:, None] - other) * ~shared
    expected = paid @ bettor / (~shared @ bettor)
    np.testing.assert_allclose(bet.values[:, 1], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(bet.opponent_weight, ~shared @ bettor, rtol=0, atol=1e-12)
    grid = root.grid(root.strategy)
    assert grid.shape == (13, 13, 2)
    assert np.isnan(grid[12, 12]).all()  # No deuces.
    assert np.nansum(grid[0, 0]) == pytest.approx(1.0)


@pytest.mark.compiled
@pytest.mark.full
def test_every_hand_of_a_turn(tmp_path: Path) -> None:
    """The mean over hands is the same from both sides, and from card to card."""
    spot = {
        "board": "Td9d6hQc",
        "ranges": ("AA,KK,AJs", "QJs,JTs,88"),
        "pot": 100,
        "stacks": 200,
        "bets": "50%",
        "raises": "a",
    }
    solution = solve(compile_game("holdem", **spot), "dcfr", iters=30, precision="float64")
    first, second = hand_table(solution), hand_table(solution, "check")
    assert first.share @ first.value == pytest.approx(solution.value[0], abs=1e-9)
    checks = first.share @ (first.strategy[:, 0] * first.values[:, 0])
    reached = first.share @ first.strategy[:, 0]
    assert second.share @ second.value == pytest.approx(-checks / reached, abs=1e-9)
    # After two checks the river comes: its value is the mean over the cards.
    total = weight = 0.0
    for card in CARDS:
        if card in ("Td", "9d", "6h", "Qc"):
            continue
        table = hand_table(solution, f"check check {card}")
        pairs = float(table.weight @ table.opponent_weight)
        total, weight = total + pairs * float(table.share @ table.value), weight + pairs
    check = float(second.share @ (second.strategy[:, 0] * second.values[:, 0]))
    assert -total / weight == pytest.approx(
        check / float(second.share @ second.strategy[:, 0]), abs=1e-9
    )
    rows = table.save(tmp_path / "hands.csv").read_text().splitlines()
    assert len(rows) == len(table.hands) + 1
    assert rows[0] == "hand,made,weight,value,check,value of check,bet50,value of bet50"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("check fold", "no step 'fold' after 'check'"),
        ("check check Td", "'Td' cannot be dealt"),
        ("check check", "nobody acts"),
    ],
)
def test_lines_without_a_table(line: str, message: str) -> None:
    spot = {"board": "Td9d6hQc", "ranges": ("AA", "88"), "pot": 100, "stacks": 200, "bets": "50%"}
    with pytest.raises(ValueError, match=message):
        hand_table(solve(compile_game("holdem", **spot), iters=0), line)


def test_a_table_of_another_game() -> None:
    with pytest.raises(TypeError, match="is not a card game"):
        hand_table(solve(compile_game("kuhn"), iters=1))


def test_sizes_before_compiling() -> None:
    """Counted from the betting alone, and what is compiled."""
    for name in ("river_narrow", "turn"):
        size, game = game_size("holdem", **SPOTS[name][0]), compile_game("holdem", **SPOTS[name][0])
        assert isinstance(game, ChunkedGame)
        assert size.chunks is not None
        assert (size.histories, size.infosets) == (game.n_histories, game.n_infosets)
        assert size.public_nodes == game.counts.public_nodes
        assert size.chunks.numbers <= game.chunks.n_numbers <= 1.05 * size.chunks.numbers + 100
    everything = {"ranges": ("random", "random"), "bets": "33%,75%,150%", "raises": "3x"}
    flop = {"board": "Td9d6h", "pot": 200, "stacks": 900}
    with pytest.raises(MemoryLimitError, match="needs"):
        compile_game("holdem", **flop, **everything, memory_limit=1 << 26)
