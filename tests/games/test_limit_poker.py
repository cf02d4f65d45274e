"""Limit poker from the first card on: hand by hand, and published counts.

Against OpenSpiel: ``formats/test_universal_poker.py``.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from support.layouts import assert_same_solves
from support.tiers import tiered
from tensorcfr import GameError, MemoryLimitError, Solver, compile_game, solve
from tensorcfr.compilers import game_size
from tensorcfr.compilers.cards import card_compiler as card_game
from tensorcfr.compilers.cards.card_symmetry import count_orbits
from tensorcfr.compilers.sizes.counted import count_betting
from tensorcfr.games import make_game
from tensorcfr.games.limit_poker import FlopHoldem, LimitPoker, RhodeIsland
from tensorcfr.model.chunked_game import ChunkedGame

SMALL: dict[str, dict[str, Any]] = {
    "one card, a flop of two": {
        **{"ranks": "2345", "suits": 2, "hand": 1, "deals": (2,), "bets": (100, 100)},
        **{"raises": (1, 2), "blinds": (50, 100)},
    },
    "one card, two boards": {
        **{"ranks": "234", "suits": 3, "hand": 1, "deals": (1, 1), "bets": (10, 20, 20)},
        **{"raises": (2, 1, 1), "blinds": (5, 10)},
    },
    "two cards, three on the flop": {
        **{"ranks": "234", "suits": 3, "hand": 2, "deals": (3,), "bets": (100, 200)},
        **{"raises": (1, 1), "blinds": (50, 100)},
    },
    "two cards, a flop and a turn": {
        **{"ranks": "2345", "suits": 2, "hand": 2, "deals": (2, 1), "bets": (2, 4, 4)},
        **{"raises": (1, 1, 1), "blinds": (1, 2)},
    },
}


@pytest.mark.parametrize("name", tiered(SMALL, ["one card, a flop of two"]))
def test_equal_hand_by_hand(name: str) -> None:
    """Suits merged and boards in chunks, or every pair of hands on every board by itself.

    Against a recursion: ``compilers/test_card_games.py``, where no ties of hands make ties of
    actions.
    """
    rules = LimitPoker(**SMALL[name])
    one, other = Solver(compile_game(rules), "cfr"), Solver(compile_game(rules, cut=False), "cfr")
    assert_same_solves(one, other, tolerance=1e-9)


# ------------------------------------------------------------------------------- the known games


def test_sequences_of_flop_hold_em() -> None:
    """With suits merged 169 hands before the flop and 1,286,792 pairs of a hand and a flop
    (K. Waugh, "A fast and optimal hand isomorphism algorithm", 2013), and 234,199,693 sequences in
    all, the published figure."""
    (before, after), deals, _ = count_betting(FlopHoldem(), "flop hold'em")
    assert deals == (3,)
    actions = [int(row[4] + row[5]) for row in (before, after)]
    assert actions[0] * 169 + actions[1] * 1_286_792 == 234_199_693
    size = game_size("flop_holdem")
    assert size.histories > 5e12
    assert size.sequences == 2 + actions[0] * 1326 + actions[1] * 1326 * 19_600


def test_sizes_of_limit_hold_em() -> None:
    """Bowling et al. (2015): 3.16 * 10^17 states, 3.19 * 10^14 decision points, 1.38 * 10^13 of
    them where suits are merged.  Waugh (2013) has how many hands and boards of each round are then
    left.  The first two rounds are those of flop hold'em."""
    size = game_size("limit_holdem")
    assert f"{size.decisions:.3g} {size.infosets:.3g}" == "3.16e+17 3.19e+14"
    rules = make_game("limit_holdem")
    table, deals, _ = count_betting(rules, "limit hold'em")
    acts = [int(row[2] + row[3]) for row in table]
    permutations = rules.symmetries()
    one, every = np.zeros((len(permutations), 1)), np.arange(52)
    alike = [count_orbits(permutations, one, every, (2, *deals[:r])) for r in range(4)]
    assert alike == [169, 1_286_792, 55_190_538, 2_428_287_420]
    assert f"{sum(a * n for a, n in zip(acts, alike, strict=True)):.3g}" == "1.38e+13"
    dealt = 1326 * 1225 * np.array([1, 17_296, 17_296 * 45, 17_296 * 45 * 44], dtype=object)
    # Every digit, though a float has 16.
    assert f"{1 + 1326 + int(table[:, 0] @ dealt):,} histories" in str(size)
    for name, lines in (("turn_holdem", 3), ("flop_holdem", 2)):
        fewer = count_betting(make_game(name), name)[0]
        assert [row[2:6].tolist() for row in fewer] == [row[2:6].tolist() for row in table[:lines]]


@pytest.mark.parametrize("name", ["turn_holdem", "limit_holdem"])
def test_what_cannot_fit_is_refused_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_game, "unfold", None)
    with pytest.raises(MemoryLimitError, match=rf"compiling {name} needs at least \d") as refused:
        compile_game(name, memory_limit=1 << 31)
    assert refused.value.needed > 1 << 31


@pytest.mark.full
def test_royal_hold_em() -> None:
    """190 hands before the flop, and 816 flops for each of them; no card is below a ten."""
    rules = make_game("royal_holdem")
    assert isinstance(rules, LimitPoker)
    assert sorted({card[0] for card in rules.cards}) == sorted("TJQKA")
    (before, after), *_ = count_betting(rules, "royal hold'em")
    game = compile_game("royal_holdem")
    actions = [int(row[4] + row[5]) for row in (before, after)]
    assert game.n_sequences == 2 + 190 * (actions[0] + 816 * actions[1])
    # The stakes: blinds of 5 and 10, four bets of 10 before the flop (with the blind) and after it.
    assert rules.betting.paid(rules.root()) == (10, 5)
    assert game.utilities.max() == 80


def test_rounds_and_deck_of_limit_hold_em() -> None:
    """Fewer rounds and cards are the games that have names of their own, or none."""
    same = compile_game("limit_holdem(rounds=2, ranks='TJQKA')")
    assert same.digest == compile_game("royal_holdem").digest
    assert f"{game_size('limit_holdem', rounds=3).infosets:.2g}" == "7.7e+11"
    small = game_size("limit_holdem", rounds=4, ranks="2345", suits=2)
    assert (
        small.infosets
        == game_size(
            LimitPoker(
                **{"ranks": "2345", "suits": 2, "deals": (3, 1, 1), "bets": (10, 10, 20, 20)},
                **{"raises": (3, 4, 4, 4), "blinds": (5, 10)},
            )
        ).infosets
    )
    with pytest.raises(GameError, match="rounds must be a whole number from 1 to 4"):
        compile_game("limit_holdem", rounds=5)


def test_opening_of_flop_hold_em() -> None:
    """The small blind opens, and the big blind may raise a call; after the flop the big blind
    opens.  Three raises before the flop, four bets and raises after it, or three as OpenSpiel."""
    for rules, after in ((FlopHoldem(), 4), (FlopHoldem(raises=(3, 3)), 3)):
        state = rules.root()
        assert rules.described(state) == ["pot 150", "50 to call"]
        for raised in range(3):
            node = rules.node(state)
            assert (node.player, node.actions) == ((1 + raised) % 2, ("fold", "call", "raise"))
            state = rules.next(state, "raise")
        assert rules.node(state).actions == ("fold", "call")
        state = rules.next(rules.next(state, "call"), None)
        assert rules.betting.paid(state) == (400, 400)
        assert rules.node(state).actions == ("check", "bet")
        assert rules.node(state).player == 0
        state = rules.next(state, "bet")
        for _ in range(after - 1):
            state = rules.next(state, "raise")
        assert rules.node(state).actions == ("fold", "call")
        folded = rules.node(rules.next(state, "fold"))
        assert sorted(folded.utilities) == [-(300 + 100 * after), 300 + 100 * after]
        limped = rules.next(rules.root(), "call")
        assert rules.node(limped) == (0, None, ("check", "raise"))


def test_hands_of_rhode_island() -> None:
    """How many hands of three cards are of each category, by the table of Gilpin and Sandholm
    (shares of 22,100 to five digits); and an ace is low in A-2-3 alone."""
    rules = RhodeIsland()
    strength = {}
    for board in combinations(range(52), 2):
        hands = np.setdiff1d(np.arange(52), board)[:, None]
        for hand, found in zip(hands[:, 0].tolist(), rules.strength(board, hands), strict=True):
            three = frozenset((*board, hand))
            assert strength.setdefault(three, int(found)) == int(found)
    counts = np.bincount(np.array(list(strength.values())) // 13**3)
    shares = (0.74389, 0.16941, 0.04959, 0.03258, 0.00235, 0.00217)
    np.testing.assert_allclose(counts / 22_100, shares, rtol=0, atol=5e-6)

    def of(text: str) -> int:
        cards = [rules.cards.index(text[k : k + 2]) for k in (0, 2, 4)]
        return int(rules.strength(tuple(cards[:2]), np.array([[cards[2]]]))[0])

    order = "2c3d5h KcAd2h AcKdJh 2c2d3h 2c2dAh 3c3d2h AcAdKh 2c3c5c KcAc2c Ac2d3h 2c3d4h QcKdAh "
    order += "2c2d2h AcAdAh Ac2c3c 2c3c4c QcKcAc"
    strengths = [of(text) for text in order.split()]
    assert strengths == sorted(strengths)
    assert len(set(strengths)) == len(strengths)


def test_size_of_rhode_island() -> None:
    game = compile_game("rhode_island")
    assert isinstance(game, ChunkedGame)
    assert game.n_histories == 6_705_372_545
    # 13 hands before the first card; a first card leaves its suit and its rank.
    assert game.chunks.trunk.n_sequences < 50_000
    solution = solve(game, "dcfr", iters=30, precision="float32")
    # Player 0, who acts first in every round, loses about .65 (the value, -.6556, by 500 more).
    assert solution.value[0] == pytest.approx(-0.65, abs=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranks": "234X"}, "ranks must be adjacent"),
        ({"ranks": ""}, "ranks must be adjacent"),
        ({"ranks": "246"}, "ranks must be adjacent"),
        ({"bets": (1,)}, "1 deals mean 2 rounds: give as many bets and raises, not 1 and 2"),
        ({"raises": (1, 2, 3)}, "1 deals mean 2 rounds: give as many bets and raises, not 2 and 3"),
        ({"deals": (5, 1), "bets": (1, 1, 1), "raises": (1, 1, 1)}, "at most 7 cards"),
        ({"blinds": (2, 1)}, "small blind must not be above"),
        ({"blinds": (0, 0)}, "blinds or an ante"),
        ({"first": (0,)}, "first must have 2 players"),
        ({"ranks": "2", "suits": 4}, "too few cards are left to deal"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((GameError, ValueError), match=message):
        compile_game(make_game("limit_poker", **options))
