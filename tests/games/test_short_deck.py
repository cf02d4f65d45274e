"""Short-deck hold'em and Omaha: 36 cards; dead cards in spots of any kind."""

from __future__ import annotations

from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
import pytest

from support.equality import EARLY_MARKS, as_game, assert_equal
from support.reference import ReferenceCFR
from support.slow_strengths import worth
from support.tiers import tiered
from support.variants import VARIANTS, floored
from tensorcfr import Solver, compile_game, solve
from tensorcfr.analysis import SolvedSpot, solve_boards
from tensorcfr.compilers import game_size
from tensorcfr.compilers.cards.equity import equities
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.errors import GameError
from tensorcfr.games import SPOTS, make_spot
from tensorcfr.games.nolimit_poker import NoLimitPoker
from tensorcfr.games.poker import ranges as whole_deck
from tensorcfr.games.poker.deck import CARDS, RANKS, hand_label, read_cards
from tensorcfr.games.poker.ranges import read_range
from tensorcfr.games.short_deck import BY_EQUITY, ShortDeck, ShortOmaha

SHORT = RANKS[4:]
BEST_AND_WORST = {False: (0.85204, 0.32303), True: (0.73076, 0.35282)}
"""Shares of the pot that the best and the worst hand win against any two cards, by deck."""
SPOT: dict[str, Any] = {"board": "Td9d6hQcTs", "pot": 10, "stacks": 20, "bets": "50%"}


@pytest.mark.parametrize(("rules", "width"), [(ShortDeck, 2), (ShortOmaha, 4)])
def test_strengths_have_the_order_of_the_rules(rules: Any, width: int) -> None:
    rng = np.random.default_rng(3)
    spot = rules(**SPOT, ranges=("AA", "KK"))
    found = []
    for _ in range(300):
        cards = rng.choice(np.arange(16, 52), 5 + width, replace=False)
        board, hand = tuple(cards[:5].tolist()), cards[5:]
        found.append(
            (worth(board, hand.tolist(), short=True), int(spot.strength(board, hand[None])[0]))
        )
    found.sort()
    for (one, first), (other, second) in pairwise(found):
        assert (first < second) if one < other else (first == second)


def test_ranges_have_the_hands_of_the_deck() -> None:
    """Groups leave out what the deck lacks; one of which nothing is left is a mistake."""
    hands = ShortDeck.every_hand()
    assert len(hands) == 630
    assert len(ShortOmaha.every_hand()) == 58_905

    def of(text: str) -> set[str]:
        weights = ShortDeck.read_range(text, "range")
        return {hand_label(hand) for hand in hands[weights > 0]}

    assert len(of("random")) == 630
    assert len(of("22+")) == 9 * 6
    assert len(of("A2s+")) == 8 * 4
    # 630 hands: 6 aces and 6 kings are 1.9 %, with 6 queens 2.9 %.
    assert of("top 2%") == of("AA,KK")
    for text in ("55", "A5s-A2s", "AsKd,2c2d"):
        with pytest.raises(ValueError, match=r"at character \d+: the deck has no such hand"):
            of(text)
    with pytest.raises(ValueError, match="known for a deck of 52 cards only"):
        ShortOmaha.read_range("top 5%", "range")
    # In a whole deck nothing changes.
    assert read_range("55").sum() == 6


def test_the_best_hands_first() -> None:
    """All groups of the deck once; equities of some against any two cards, by hand."""
    groups = BY_EQUITY.split()
    ranks = [(a, b) for a in range(9) for b in range(a + 1)]
    pairs = {SHORT[a] + SHORT[b] for a, b in ranks}
    assert sorted(groups) == sorted(
        label + kind for label in pairs for kind in ([""] if label[0] == label[1] else ["s", "o"])
    )
    rng = np.random.default_rng(8)
    # Within four standard errors of 200 draws.
    for hand, share in (((51, 50), BEST_AND_WORST[True][0]), ((23, 18), BEST_AND_WORST[True][1])):
        left, won = [card for card in range(16, 52) if card not in hand], 0.0
        for _ in range(200):
            drawn = rng.choice(left, 7, replace=False).tolist()
            own, other = (worth(drawn[:5], held, short=True) for held in (hand, drawn[5:]))
            won += (own > other) + 0.5 * (own == other)
        assert won / 200 == pytest.approx(share, abs=4 * 0.48 / 200**0.5)


@pytest.mark.full
@pytest.mark.parametrize("short", [False, True])
def test_the_order_of_hands_is_that_of_all_boards(short: bool) -> None:
    """Against every other hand on all boards, counted by a game that begins before the flop."""
    rules = NoLimitPoker(stacks=20, deals=(), short=short)
    own, board_cards = rules.hands[0], len(rules.cards) - 4
    apart = ~(own[:, None, :, None] == own[None, :, None, :]).any(axis=(2, 3))
    won, tied = rules.runouts(5)
    wins = ((won + tied / 2.0) * apart).sum(axis=1) / apart.sum(axis=1) / comb(board_cards, 5)
    groups: dict[str, list[float]] = {}
    for (high, low), share in zip(own.tolist(), wins.tolist(), strict=True):
        kind = "" if high // 4 == low // 4 else "s" if high % 4 == low % 4 else "o"
        ranks = (rules.cards[card][0] for card in (high, low))
        groups.setdefault("".join(ranks) + kind, []).append(share)
    order = sorted(groups, key=lambda label: -np.mean(groups[label]))
    assert order == (BY_EQUITY if short else whole_deck.BY_EQUITY).split()
    ends = [np.mean(groups[label]) for label in (order[0], order[-1])]
    assert ends == pytest.approx(BEST_AND_WORST[short], abs=5e-6)


@pytest.mark.parametrize(
    ("rules", "ranges"),
    [
        (ShortDeck, ("AA,T9s,Q8o", "KJs,99,A7s")),
        pytest.param(ShortOmaha, ("AAKK", "JT98$ds"), marks=pytest.mark.full),
    ],
)
def test_equities_on_a_turn(rules: Any, ranges: tuple[str, str]) -> None:
    """Every card that can come, and every pair of hands."""
    spot = rules(**SPOT | {"board": "Td9d6hQc"}, ranges=ranges)
    keep = [slice(0, 8)] * 2
    hands = [own[some] for own, some in zip(spot.hands, keep, strict=True)]
    weights = [np.zeros(len(own)) for own in spot.hands]
    for own, some in zip(weights, keep, strict=True):
        own[some] = 1.0
    found = equities(spot, spot.board, weights, 1)
    for hand, own in enumerate(hands[0].tolist()):
        points = []
        for other in hands[1].tolist():
            seen = {*spot.board, *own, *other}
            if len(seen) < 4 + 2 * len(own):
                continue
            for card in set(range(16, 52)) - seen:
                one, two = (worth((*spot.board, card), held, short=True) for held in (own, other))
                points.append((one > two) + 0.5 * (one == two))
        assert found[0][hand] == pytest.approx(np.mean(points), abs=1e-12)


@pytest.mark.parametrize("name", tiered(["short_deck", "holdem"], ["short_deck"]))
def test_a_turn_equals_the_reference(name: str) -> None:
    """Average strategies, beside slow recursive CFR hand by hand; some cards are dead."""
    rules = make_spot(
        game=name,
        board="Td9d6hQc",
        ranges=("AsAh,JsTs:0.5,8h7h", "KsKh,9s9c,As7s"),
        pot=10,
        stacks=10,
        bets="a",
        dead="Kd8s7d6s" + ("" if name == "short_deck" else "2c2d3h"),
    )
    algorithm, options = floored(VARIANTS["cfr+"], 0.01)
    solver = Solver(compile_game(rules), algorithm, precision="float64")
    reference = ReferenceCFR(as_game(HandByHand(rules)), **options)
    assert_equal(solver, reference, EARLY_MARKS)


@pytest.mark.parametrize(
    "name", tiered(("short_deck", "short_omaha", "holdem"), fast=("short_deck", "holdem"))
)
def test_cards_that_never_come(name: str) -> None:
    """Counts are those told before; tables, resolving and runouts see no dead card."""
    options = SPOT | {"board": "Td9d6hQc", "ranges": ("AA", "KK"), "dead": "8s8c"}
    if name == "short_omaha":
        options["ranges"] = ("AsAhKdJc,AdAcKs8h", "KsKhQdJd,JsJc9h8d")
    rules = make_spot(game=name, **options)
    game = compile_game(rules)
    size = game_size(rules)
    assert (size.infosets, size.histories) == (game.n_infosets, game.n_histories)
    assert size.infosets == game.n_infosets
    solution = solve(game, "cfr+", iters=20, precision="float64")
    shown = SolvedSpot(solution)
    line = "check check *"
    runouts = shown.runouts(line, equity=True)
    cards = {own for (own,) in runouts.cards}
    assert not cards & {"8s", "8c"}
    assert len(cards) == (36 if name != "holdem" else 52) - 4 - 2
    assert runouts.probability.sum() == pytest.approx(1.0, abs=1e-12)
    flat = solve(compile_game(rules, cut=False), "cfr+", iters=20, precision="float64")
    assert flat.value == pytest.approx(solution.value, abs=1e-12)
    assert flat.exploitability == pytest.approx(solution.exploitability, abs=1e-12)
    table = shown.table("check")
    assert not any("8s" in hand or "8c" in hand for hand in table.hands)
    assert set(table.made) <= set(rules.groups(1, rules.board)["made"].names)


def test_suits_with_and_without_a_dead_card() -> None:
    """Suits that are alike are not alike if one of them has lost a card that may come."""
    spot = {"board": "TdTh6d6h", "ranges": ("AA,87s", "KK,98s"), "pot": 10, "stacks": 10}
    values = []
    for symmetry in (True, False):
        rules = make_spot(game="short_deck", **spot, bets="a", dead="Qd")
        game = compile_game(rules, symmetry=symmetry)
        values.append(solve(game, "cfr+", iters=20, precision="float64").value[0])
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_names_of_a_flush_and_a_full_house() -> None:
    """A flush is above a full house, and each has its own name."""
    spot = ShortDeck(**SPOT | {"board": "Td9dTsQd9h"}, ranges=("AdKd,TcAc", "KK"))
    names = dict(
        zip(map(hand_label, spot.hands[0]), spot.groups(0, spot.board)["made"].of_hand, strict=True)
    )
    groups = spot.groups(0, spot.board)["made"].names
    assert groups[names["AdKd"]] == "flush"
    assert groups[names["AcTc"]] == "full house"
    assert names["AdKd"] < names["AcTc"]
    omaha = ShortOmaha(**SPOT | {"board": "Td9dTsQd9h"}, ranges=("AdKd7c6c", "TcQcKh8h"))
    for player, name in enumerate(("flush", "full house")):
        made = omaha.groups(player, omaha.board)["made"]
        assert [made.names[k] for k in made.of_hand] == [name]


def test_the_grid_of_a_short_deck_has_the_usual_places() -> None:
    shown = SolvedSpot(solve(compile_game(ShortDeck(**SPOT, ranges=("AA,T9s", "KK"))), iters=5))
    table = shown.table("")
    combos = table.grid(table.weight, total=True)
    assert combos[0, 0] == 6  # Aces first.
    assert np.isfinite(combos).sum() == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"board": "Td9d5hQcTs"},
            "board: 5h is not in the deck, whose lowest rank is 6",
        ),
        ({"dead": "2c"}, "dead: 2c is not in the deck, whose lowest rank is 6"),
        ({"dead": "Td"}, "short_deck: dead: Td lies on the board"),
        ({"ranges": ("AsAh", "AdAc"), "dead": "As"}, "'AsAh' has no hand on Td9d6hQcTs"),
    ],
)
def test_bad_spots(given: dict[str, Any], message: str) -> None:
    with pytest.raises((GameError, ValueError), match=message):
        make_spot(game="short_deck", **SPOT | {"ranges": ("AA", "KK")} | given)


def test_flops_stand_for_those_of_a_whole_deck() -> None:
    spot = ShortDeck(**SPOT, ranges=("AA", "KK"))
    with pytest.raises(ValueError, match="boards must be a list"):
        solve_boards(spot, 25)
    report = solve_boards(spot, ["Td9d6hQc"], line="check check *", target="20%")
    assert len(report.rows) == 32


def test_all_spots_read_dead_cards() -> None:
    ranges = {"holdem": "AA", "short_deck": "AA", "omaha5": "AAKKQ"}
    for name in SPOTS:
        spot = make_spot(game=name, **SPOT, ranges=[ranges.get(name, "AAKK")] * 2, dead="As 7c")
        low = range(16 if "short" in name else 0)  # A short deck does not have them.
        assert sorted(spot.dead) == [*low, *sorted(read_cards("As 7c", ""))]
        assert not (spot.hands[0] == CARDS.index("As")).any()
