"""Pot-limit Omaha: the strength of hands, ranges, the limit, and spots beside other ways to solve
them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np
import pytest

from support.card_games import NARROW_OF_FIVE
from support.equality import EARLY_MARKS, as_game, assert_equal
from support.products import check_product
from support.reference import ReferenceCFR
from support.slow_strengths import worth
from support.tiers import tiered
from support.variants import VARIANTS, floored
from tensorcfr import GameError, MemoryLimitError, Solver, compile_game, solve
from tensorcfr.compilers.cards.equity import equities
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.games import make_game
from tensorcfr.games.omaha import Omaha, read_range
from tensorcfr.games.poker.deck import CARDS, RANKS, read_cards
from tensorcfr.games.poker.omaha_ranges import every_hand, suit_classes
from tensorcfr.games.poker.omaha_strength import omaha_strengths

# ------------------------------------------------------------------------------------- strengths


def test_strengths_are_those_of_all_sixty_fives() -> None:
    """Boards of two suits make flushes and straight flushes frequent."""
    rng = np.random.default_rng(4)
    for trial in range(12):
        deck = np.arange(52) if trial % 3 else np.flatnonzero(np.arange(52) % 4 < 2)
        cards = rng.permutation(deck)
        board = cards[:5]
        hands = np.array([rng.permutation(cards[5:])[:4] for _ in range(8)])
        found = omaha_strengths(board, hands)
        expected = [worth(board.tolist(), hand) for hand in hands.tolist()]
        for a, b in combinations(range(len(hands)), 2):
            assert np.sign(found[a] - found[b]) == (
                (expected[a] > expected[b]) - (expected[a] < expected[b])
            )


def test_order_of_strengths_against_phevaluator() -> None:
    """The order is that of phevaluator (perfect hashing; there, smaller wins)."""
    phevaluator = pytest.importorskip("phevaluator")
    rng = np.random.default_rng(8)
    nines = np.array([rng.permutation(52)[:9] for _ in range(500)])
    found = np.array([omaha_strengths(nine[:5], nine[None, 5:])[0] for nine in nines])
    expected = np.array(
        [-phevaluator.evaluate_omaha_cards(*(CARDS[card] for card in nine)) for nine in nines]
    )
    assert (np.diff(expected[np.argsort(found, kind="stable")]) >= 0).all()
    assert len(np.unique(found)) == len(np.unique(expected))


@pytest.mark.parametrize(
    ("board", "stronger", "weaker"),
    [
        # Four of a suit on the board, or four aces in the hand, are no flush and no four.
        ("AsKsQs9s2d", "Js3s4h5d", "JsTh4h5d"),
        ("2c2d7h8sJd", "2hKc5d4s", "AsAhAdAc"),
        # One card of the hand does not play with four of the board.
        ("5s6h7d8cKd", "KhKs2s2d", "4c9hAhAs"),
    ],
)
def test_two_cards_of_the_hand_play(board: str, stronger: str, weaker: str) -> None:
    on = np.array(read_cards(board, "board"))
    more, less = (
        omaha_strengths(on, np.array(read_cards(one, "hand"))[None])[0]
        for one in (stronger, weaker)
    )
    assert more > less


# ---------------------------------------------------------------------------------------- ranges


@pytest.mark.parametrize(
    ("text", "hands"),
    [
        ("random", comb(52, 4)),
        ("xxxx", comb(52, 4)),
        # Two, three or four aces.
        ("AA", comb(4, 2) * comb(48, 2) + 4 * 48 + 1),
        ("AAxx", 6961),
        ("aa", 6961),
        ("AAAA", 1),
        ("AAAx", 4 * 48 + 1),
        # Both suits of the aces once more, from twelve ranks each.
        ("AA$ds", 6 * 12 * 12),
        ("AA:ds", 6 * 12 * 12),
        # Two aces and one card of their suits or two of another suit; three aces and one card.
        ("AA$ss", 6 * 2 * 12 * 2 * 12 + 6 * 2 * comb(12, 2) + 4 * 3 * 12),
        ("AA$rb", 6 * 12 * 12 + 4 * 12 + 1),
        ("AAAA$rb", 1),
        ("KK+", 2 * 6961 - comb(4, 2) ** 2),
        ("KK-AA", 2 * 6961 - comb(4, 2) ** 2),
        ("AA-KK", 2 * 6961 - comb(4, 2) ** 2),
        ("JT98", 4**4),
        ("J98T", 4**4),
        ("JT98$ds", 3 * 12),
        ("JT98+", 4 * 4**4),
        ("JT98-7654", 5 * 4**4),
        ("$ms", 4 * comb(13, 4)),
        ("$ts", 4 * comb(13, 3) * 39),
        ("$ds", 6 * comb(13, 2) ** 2),
        ("$ss", 4 * comb(13, 2) * 3 * 13**2),
        ("$rb", 13**4),
        ("$np", comb(13, 4) * 4**4),
        ("$op", 13 * 6 * comb(12, 2) * 16),
        ("$tp", comb(13, 2) * 36),
        ("$tr", 13 * 4 * 48),
        ("$qu", 13),
        ("$ds$tp", comb(13, 2) * 6),
        ("AsKsQhJh", 1),
        ("JhQhKsAs", 1),
        ("As", comb(51, 3)),
        ("AsKsxx", comb(50, 2)),
        ("AsA", comb(51, 3) - comb(48, 3)),
        ("AA,!AsAh", 6961 - comb(50, 2)),
        ("AKQJ;QQQQ\nJJJJ", 4**4 + 2),
    ],
)
def test_ranges(text: str, hands: int) -> None:
    """Counted with binomials."""
    assert np.count_nonzero(read_range(text)) == hands


def test_ranges_of_all_hands_by_enumeration() -> None:
    """Patterns hand by hand, from the labels alone."""

    def suits(hand: str) -> list[int]:
        return sorted(Counter(hand[1::2]).values(), reverse=True)

    hands = ["".join(CARDS[card] for card in hand) for hand in every_hand()[::37].tolist()]
    cases = {
        "AK": lambda hand: "A" in hand and "K" in hand,
        "QQ$ss": lambda hand: hand.count("Q") >= 2 and suits(hand) == [2, 1, 1],
        "T9+$ds": lambda hand: (
            suits(hand) == [2, 2] and any(a in hand and b in hand for a, b in pairwise(RANKS[7:]))
        ),
        "AsK": lambda hand: "As" in hand and "K" in hand,
    }
    for text, is_in in cases.items():
        found = read_range(text)[::37] > 0
        np.testing.assert_array_equal(found, [is_in(hand) for hand in hands])


@pytest.mark.parametrize("width", [4, 5])
def test_single_hands_are_found_by_their_cards(width: int) -> None:
    """Each range has the hand that it names, and no other."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        cards = rng.choice(52, width, replace=False)
        text = "".join(CARDS[card] for card in cards)
        (row,) = np.flatnonzero(read_range(text, width=width))
        assert sorted(every_hand(width)[row].tolist()) == sorted(cards.tolist())


def test_weights_of_ranges() -> None:
    assert read_range("AAAA:0.5,KKKK:25%,QQQQ").sum() == 1.75
    assert read_range("AA:ds:0.5").sum() == 0.5 * 864
    assert read_range("[50]AAAA,KKKK[/50]").sum() == 1.0
    # A later group takes precedence.
    assert read_range("AA,AAAA:0.25").sum() == 6960.25


def test_the_best_hands() -> None:
    """Shares are of whole classes of hands, in one order."""
    of_hand, size = suit_classes()
    assert (len(size), size.sum(), len(of_hand)) == (16432, 270725, 270725)
    found = {share: read_range(f"{share}%") > 0 for share in (1, 5, 15, 40, 100)}
    for share, own in found.items():
        assert share / 100 * 270725 - 24 < own.sum() <= share / 100 * 270725
        # All hands of a class or none.
        assert set(np.unique(np.bincount(of_hand, own) / size)) <= {0.0, 1.0}
    assert not (found[5] & ~found[15]).any()
    np.testing.assert_array_equal(read_range("5%-15%") > 0, found[15] & ~found[5])
    # Double-suited aces are among the best, four deuces among the worst.
    aces = read_range("AA$ds,!AAA") > 0
    assert (found[5] & aces).sum() > 0.95 * aces.sum()
    assert not (found[40] & (read_range("2222,3333,222,333") > 0)).any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AAAAA", "'AAAAA' at character 1 has 5 cards; a hand has 4"),
        ("AA,AsKsQhJhTd", "'AsKsQhJhTd' at character 4 has 5 cards"),
        ("AA,,KK", "nothing before the comma"),
        ("AsAs", "has one card twice"),
        ("AK+", "no rank is above the ace"),
        ("AsKs+", "only ranks without a suit can move"),
        ("KK-QJ", "moved together"),
        ("KK-Q", "moved together"),
        ("AA$xy", r"\$xy must be one of \$ds"),
        ("hello", "is not a group of hands"),
        ("", "has no hand on"),
        ("+", "is not a group of hands"),
        ("20%-10%", "shares must ascend"),
        ("120%", "be at most 100%"),
        ("AA:2", "a weight must be from 0 to 1"),
        ("!AA:0.5", "two weights"),
    ],
)
def test_bad_ranges(text: str, message: str) -> None:
    with pytest.raises(GameError, match=message) as caught:
        compile_game("omaha", board="Td9d6hQcTs", ranges=(text, "AA"), pot=10, stacks=10)
    assert str(caught.value).startswith("omaha: ranges[0]")


# ----------------------------------------------------------------------------------------- spots

SPOT: dict[str, Any] = {"board": "Td9d6hQcTs", "pot": 100, "stacks": 300}


@pytest.mark.parametrize(
    ("options", "line", "actions"),
    [
        ({"bets": "pot,50%"}, (), "check bet50 bet100"),
        # Twice the pot and all-in are the pot; behind it all that is left is no more.
        ({"bets": "200%,a"}, (), "check bet100"),
        ({"bets": "pot", "raises": "pot"}, ("bet100",), "fold call allin"),
        ({"bets": "50%", "raises": "pot"}, ("bet50",), "fold call raise250"),
        ({"bets": "50%", "raises": "a"}, ("bet50",), "fold call raise250"),
        ({"bets": "50%", "raises": "pot"}, ("bet50", "raise250"), "fold call allin"),
        ({"bets": "50%", "raises": "5x", "stacks": 251}, ("bet50",), "fold call raise250"),
        ({"bets": "50%", "raises": "5x", "stacks": 250}, ("bet50",), "fold call allin"),
        ({"bets": "90%", "stacks": 110}, (), "check bet90"),
        ({"bets": "90%", "stacks": 100}, (), "check allin"),
        ({"bets": "", "add": ("bet70",)}, (), "check bet70"),
    ],
)
def test_the_limit(options: dict[str, Any], line: tuple[str, ...], actions: str) -> None:
    """A raise is at most the pot after a call: 100 + 2 x 50 more than 50."""
    rules = Omaha(ranges=("AA", "KK"), **(SPOT | options))
    state = rules.root()
    for action in line:
        state = rules.next(state, action)
    assert " ".join(rules.node(state).actions) == actions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"board": "TdTd6h"}, "omaha: board: Td at character 3"),
        ({"bets": "x"}, "omaha: bets: 'x' at character 1 is not a size"),
        ({"pot": -1}, "omaha: pot must be"),
        ({"stacks": 1.5}, "omaha: stacks must be a multiple"),
        ({"oop": "AA"}, "omaha has no parameter 'oop'"),
    ],
)
def test_bad_spots(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=message):
        compile_game("omaha", **(SPOT | {"ranges": ("AA", "KK")} | options))


@pytest.mark.parametrize("line", ["bet101", "allin"])
def test_lines_beyond_the_limit(line: str) -> None:
    rules = Omaha(**SPOT, ranges=("AA", "KK"), add=(line,))
    with pytest.raises(ValueError, match=f"omaha: add: '{line}' must be 'bet' .* from 1 to 100"):
        rules.node(rules.root())


def test_memory_is_told_first() -> None:
    full = SPOT | {"ranges": ("AA", "KK"), "bets": "pot"}
    with pytest.raises(MemoryLimitError, match=r"^compiling omaha Td9d6hQcTs needs"):
        compile_game("omaha", **full, memory_limit=1 << 20)


def test_equities_are_those_of_phevaluator() -> None:
    """On a turn, with every river, pair by pair."""
    phevaluator = pytest.importorskip("phevaluator")
    rules = Omaha(
        **(SPOT | {"board": "Td9d6hQc"}), ranges=("AdAh2d3h,KdKhJd8s", "JsTs8h7h,AcAsJc8c,9s9c6s6c")
    )
    weights = rules.weights[0], rules.weights[1]
    found = equities(rules, rules.board, weights, 1)

    def points(board: tuple[int, ...], own: list[int], other: list[int]) -> float:
        first, second = (
            phevaluator.evaluate_omaha_cards(*(CARDS[card] for card in (*board, *hand)))
            for hand in (own, other)
        )
        return float(0.5 * (first <= second) + 0.5 * (first < second))

    for player in range(2):
        for hand, own in enumerate(rules.hands[player].tolist()):
            won = [
                points((*rules.board, card), own, other)
                for other in rules.hands[1 - player].tolist()
                for card in range(52)
                if len({card, *rules.board, *own, *other}) == 13
            ]
            assert found[player][hand] == pytest.approx(np.mean(won), abs=1e-12)


NARROW = ("AsAh4s5h,KsKhJs8h,JcTh8h7s:0.5,9s9c8s8c", "AcAd4d5c,QsQh2s2h,Jh8d7d6s,KcKd3c3h,9h8c7c2d")


@pytest.mark.parametrize("rake", tiered([0.0, 0.05], [0.05]))
def test_a_river_equals_the_reference(rake: float, interpreted: None) -> None:
    """Average strategies, beside slow recursive CFR on the game hand by hand."""
    rules = Omaha(**SPOT, ranges=NARROW, bets="pot,50%", rake=rake)
    algorithm, options = floored(VARIANTS["cfr+"], 0.01)
    reference = ReferenceCFR(as_game(HandByHand(rules)), **options)
    assert_equal(
        Solver(compile_game(rules), algorithm, precision="float64"), reference, EARLY_MARKS
    )


def test_few_hands_clear_only_their_sums() -> None:
    """The kernel next to the sums hand by hand, with several groups of terminals."""
    rules = Omaha(**SPOT, ranges=NARROW, bets="pot,50%", raises="pot")
    form = compile_game(rules).chunks.trunk
    assert len(form.operator[0].group) > 1
    check_product(form)


@pytest.mark.full
@pytest.mark.parametrize(("name", "ranges"), [("omaha", NARROW), ("omaha5", NARROW_OF_FIVE)])
def test_a_river_against_a_linear_program(name: str, ranges: tuple[str, str]) -> None:
    rules = make_game(name, **SPOT, ranges=ranges, bets="pot,50%", raises="pot")
    game = compile_game(rules)
    exact = solve(compile_game(rules, cut=False), "lp")
    found = solve(game, "dcfr", iters=2000, precision="float64")
    assert found.value[0] == pytest.approx(exact.value[0], abs=1e-3)
    assert found.exploitability < 1e-3


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "ranges"),
    [("omaha", ("AKQJ,AA$ds", "KK$ds")), ("omaha5", ("AKQJ9", "KKQQ$ds"))],
)
def test_suits_that_are_alike_are_solved_once(name: str, ranges: tuple[str, str]) -> None:
    """On a board of one suit the other three are alike."""
    spot = {"pot": 10, "stacks": 10, "bets": "pot", "ranges": ranges}
    game = compile_game(name, board="2s3s7s8sTs", **spot)
    apart = compile_game(name, board="2s3s7s8sTs", **spot, symmetry=False)
    assert game.n_infosets == apart.n_infosets
    assert game.n_numbers < 0.3 * apart.n_numbers
    one, other = (solve(one, "cfr+", iters=50, precision="float64") for one in (game, apart))
    assert one.value[0] == pytest.approx(other.value[0], abs=1e-9)
    assert one.exploitability == pytest.approx(other.exploitability, abs=1e-9)
    # In single precision sums of reaches are rounded to whole numbers.
    single = solve(game, "cfr+", iters=50, precision="float32")
    assert single.value[0] == pytest.approx(one.value[0], abs=1e-4)
