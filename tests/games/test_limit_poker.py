"""Limit poker from the first card on: equal to OpenSpiel's, to recursions, to published counts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from support.layouts import farthest
from support.tiers import tiered
from tensorcfr import GameError, Solver, compile_game, solve
from tensorcfr.compilers import game_size
from tensorcfr.compilers.sizes.counted import count_betting
from tensorcfr.games import make_game
from tensorcfr.games.limit_poker import FlopHoldem, LimitPoker, RhodeIsland
from tensorcfr.model.cut_game import CutGame

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


def of_openspiel(parameters: dict[str, Any]) -> str:
    """The same game as OpenSpiel says it: there, too, the first player has the big blind."""
    deals, rounds = parameters["deals"], len(parameters["bets"])
    said = {
        "betting": "limit",
        "numPlayers": 2,
        "numRounds": rounds,
        "blind": "{1:g} {0:g}".format(*parameters["blinds"]),
        "firstPlayer": " ".join(["2", *["1"] * (rounds - 1)]),
        "numSuits": parameters["suits"],
        "numRanks": len(parameters["ranks"]),
        "numHoleCards": parameters["hand"],
        "numBoardCards": " ".join(map(str, (0, *deals))),
        "raiseSize": " ".join(map(str, parameters["bets"])),
        "maxRaises": " ".join(map(str, parameters["raises"])),
    }
    return f"openspiel:universal_poker({','.join(f'{k}={v}' for k, v in said.items())})"


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name", tiered([n for n in SMALL if len(SMALL[n]["deals"]) == 1], ["one card, a flop of two"])
)
def test_equal_to_openspiel(name: str) -> None:
    """Values and exploitability after 1, 2, 3 and 10 iterations of CFR.

    With several deals OpenSpiel's infosets forget which card came first.
    """
    pytest.importorskip("pyspiel")
    ours = compile_game("limit_poker", **SMALL[name])
    theirs = compile_game(of_openspiel(SMALL[name]))
    assert ours.n_histories <= theirs.n_histories  # There, cards come one by one.
    one, other = Solver(ours, "cfr"), Solver(theirs, "cfr")
    for count in (1, 1, 1, 7):
        one.step(count)
        other.step(count)
        found, expected = one.evaluate(), other.evaluate()
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-11)
        assert found.exploitability == pytest.approx(expected.exploitability, abs=1e-11)


@pytest.mark.parametrize("name", tiered(SMALL, ["one card, a flop of two"]))
def test_equal_hand_by_hand(name: str) -> None:
    """Suits merged and boards in chunks, or every pair of hands on every board by itself.

    Against a recursion: ``compilers/test_card_games.py``, where no ties of hands make ties of
    actions.
    """
    rules = LimitPoker(**SMALL[name])
    one, other = Solver(compile_game(rules), "cfr"), Solver(compile_game(rules, cut=False), "cfr")
    for count in (1, 1, 1, 7):
        one.step(count)
        other.step(count)
        assert farthest(one.average_policy(), other.average_policy()) <= 1e-9
        found, expected = one.evaluate(), other.evaluate()
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-11)
        assert found.exploitability == pytest.approx(expected.exploitability, abs=1e-11)


# ------------------------------------------------------------------------------- the known games


def test_sequences_of_flop_hold_em() -> None:
    """With suits merged 169 hands before the flop and 1,286,792 pairs of a hand and a flop
    (K. Waugh, "A fast and optimal hand isomorphism algorithm", 2013), and 234,199,693 sequences in
    all, the published figure."""
    (before, after), deals = count_betting(FlopHoldem(), "flop hold'em")
    assert deals == (3,)
    actions = [int(row[4] + row[5]) for row in (before, after)]
    assert actions[0] * 169 + actions[1] * 1_286_792 == 234_199_693
    size = game_size("flop_holdem")
    assert size.histories > 5e12
    assert size.sequences == 2 + actions[0] * 1326 + actions[1] * 1326 * 19_600


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
        assert state.paid == (400, 400)
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
    assert isinstance(game, CutGame)
    assert game.n_histories == 6_705_372_545
    # 13 hands before the first card; a first card leaves its suit and its rank.
    assert game.chunks.trunk.n_sequences < 50_000
    solution = solve(game, "dcfr", iters=60, precision="float32")
    # Player 0, who acts first in every round, loses about .65 (the value, -.6556, by 500 more).
    assert solution.value[0] == pytest.approx(-0.65, abs=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranks": "234X"}, "ranks must be adjacent"),
        ({"ranks": ""}, "ranks must be adjacent"),
        ({"ranks": "246"}, "ranks must be adjacent"),
        ({"bets": (1,)}, "1 deals are between 2 rounds, and there are 1 bets and 2"),
        ({"raises": (1, 2, 3)}, "2 bets and 3 numbers of raises"),
        ({"deals": (5, 1), "bets": (1, 1, 1), "raises": (1, 1, 1)}, "at most 7 cards"),
        ({"blinds": (2, 1)}, "small blind must not be above"),
        ({"blinds": (0, 0)}, "blinds or an ante"),
        ({"ranks": "2", "suits": 4}, "no card left"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((GameError, ValueError), match=message):
        compile_game(make_game("limit_poker", **options))
