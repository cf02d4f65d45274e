"""Tournaments: prizes order by order, published problems, and games with utilities of stacks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import LeducOfCards
from support.reference import build_tree
from support.slow_prizes import slow_bounties, slow_icm
from support.slow_values import DealtCards, SlowValues
from tensorcfr import ALGORITHMS, CardGame, CompiledGame, Solution, compile_game, evaluate, solve
from tensorcfr.analysis import SolvedSpot, aivat, simulate, solve_boards
from tensorcfr.compilers import game_size
from tensorcfr.compilers.cards.card_public_nodes import CardNodes
from tensorcfr.errors import GameError, UnknownGameError
from tensorcfr.formats import parse_spot, spot_text
from tensorcfr.games import GAMES, make_game, make_spot
from tensorcfr.games.holdem import HANDS, Holdem, hand_label, read_range
from tensorcfr.games.poker import prize_money
from tensorcfr.games.tournaments import Tournament, bounty_equities, icm, risk, tournament
from tensorcfr.rules import Decision, Fold, Showdown
from tensorcfr.solvers.solver_arguments import to_game_unit
from tensorcfr.subgames import resolve

SIT_AND_GO = (0.5, 0.3, 0.2)


def some_stacks(seed: int) -> tuple[list[float], list[float]]:
    """Stacks with zeros and ties, and payouts with equal places."""
    draw = random.Random(seed)
    players = draw.randint(1, 6)
    stacks = [
        draw.choice([0.0, 1.0, 1.0, draw.random(), 50 * draw.random()]) for _ in range(players)
    ]
    stacks[draw.randrange(players)] += 1.0
    payouts = sorted((draw.choice([0.0, 1.0, 2.0, draw.random()]) for _ in range(7)), reverse=True)
    return stacks, payouts[: draw.randint(0, 7)]


@pytest.mark.parametrize("seed", range(30))
def test_prizes_equal_those_of_all_orders(seed: int) -> None:
    stacks, payouts = some_stacks(seed)
    expected = slow_icm(stacks, payouts)
    np.testing.assert_allclose(icm(stacks, payouts), expected, rtol=0, atol=1e-13 * 20)


@pytest.mark.parametrize("seed", range(20))
def test_the_quadrature_equals_sets_of_players(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    players = int(draw.integers(2, 13))
    # Stacks of many sizes: a chip next to a million.
    stacks = np.exp(14 * draw.random(players) * (seed % 2)) + draw.random(players)
    payouts = np.sort(draw.random(int(draw.integers(1, players + 1))))[::-1]
    by_sets = icm(stacks, payouts)
    monkeypatch.setattr(prize_money, "MOST_BY_SETS", 1)
    np.testing.assert_allclose(icm(stacks, payouts), by_sets, rtol=0, atol=1e-11 * payouts.sum())


def test_many_players() -> None:
    """Equal stacks have equal prizes; three hundred players, of whom some are out."""
    prizes = icm([2.0] * 300, [9, 5, 2])
    np.testing.assert_allclose(prizes, 16 / 300, rtol=1e-11)
    prizes = icm([3.0] * 20 + [0.0] * 5, [1.0] * 22)
    np.testing.assert_allclose(prizes, [1.0] * 20 + [0.4] * 5, rtol=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_bounties_equal_those_of_all_orders(seed: int) -> None:
    draw = random.Random(seed)
    players = draw.randint(1, 5)
    stacks, bounties = ([draw.random() for _ in range(players)] for _ in range(2))
    cash = draw.choice([0.0, 0.5, 1.0, draw.random()])
    expected = slow_bounties(stacks, bounties, cash)
    found = bounty_equities(stacks, bounties, cash=cash)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    assert found.sum() == pytest.approx(sum(bounties), abs=1e-12)


PUBLISHED = {
    # plan3tgongpoker.blogspot.com/2008/03/micro-stack-sng-bubble-play-part-3.html.
    "a micro stack": ((3000, 500, 3000, 3000), (50, 30, 20), (30.89, 7.32, 30.89, 30.89), 6e-3),
    # en.wikipedia.org/wiki/Independent_Chip_Model: 45, 32 and 22 after cutting off decimals; the
    # fractions there give 45.18, 32.25, 22.57.
    "Wikipedia": ((50, 30, 20), (70, 30), (45.18, 32.25, 22.57), 5e-3),
    # pailiku.com/tools/icm-calculator/result.
    "four left": (
        (5000, 3000, 1500, 500),
        (500, 300, 200),
        (377.78, 312.89, 225.60, 83.73),
        5e-3,
    ),
    # pocketfives.com/articles/advanced-sng-bubble-play-using-icm-224769: in dollars.
    "sit and go": ((5000, 7000, 2500, 500), (100, 60, 40), (65.63, 73.95, 49.16, 11.25), 5e-3),
    # ruffpoker.com/blog/explaining-icm-to-casual-players: after the hand, digits cut off.  The
    # stacks there before the hand have 900 chips less in all, so its first column is left out.
    "a double-up": ((18000, 8000, 15000, 3200), (50, 30, 20), (34.35, 23.27, 31.87, 10.49), 1e-2),
    # pailiku.com/tools/icm-calculator; the 38.4 % also in flopturnriver.com/pokerforum/
    # beginners-circle/all-question-133454.html.
    "three left": ((5000, 3000, 2000), (50, 30, 20), (38.39, 32.75, 28.86), 5e-3),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_prizes(name: str) -> None:
    stacks, payouts, expected, error = PUBLISHED[name]
    np.testing.assert_allclose(icm(stacks, payouts), expected, rtol=0, atol=error)


def test_published_bounties() -> None:
    """From the description of the model by the author of HoldemResources Calculator (forum thread
    "Estimating KO/Bounty Equities"): five bounties of 1 that do not grow; digits were cut off."""
    found = bounty_equities((10, 20, 30, 40, 50), [1] * 5, cash=1)
    np.testing.assert_allclose(found, [0.4143, 0.7684, 1.0475, 1.2822, 1.4874], rtol=0, atol=1e-4)


CALLS = {
    # Stacks if the player folds, and if the player calls and wins, the player first; the prize in
    # both cases, and the share of calls that must win.
    # aidanf.net/posts/sample-icm-calculation-with-simpleicm: "0.2563", "0.3566", "around 72 %".
    "AKs on the bubble": (
        (2700, 7800, 1600, 1400),
        (6000, 4500, 1600, 1400),
        (0.2563, 0.3566, 0.72),
    ),
    # flopturnriver.com/pokerforum/beginners-circle/should-i-fold-aa-pre-flop-here-185070.html:
    # "35.38 %", "44.5 %", "79.51 %".
    "aces on the bubble": (
        (4800, 1000, 100, 7700),
        (10100, 1000, 100, 2400),
        (0.3538, 0.445, 0.7951),
    ),
    # C. Moshman, D. Zare, "The math of hold'em", quoted at thehendonmob.com/forum, "Bubble math",
    # example 1: "29.31 %", "42.04 %", "69.72 %".
    "A8 against any two cards": (
        (4000, 5500, 1400, 2600),
        (8800, 700, 1400, 2600),
        (0.2931, 0.4204, 0.6972),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_published_calls(name: str) -> None:
    folded, won, (fold, win, needed) = CALLS[name]
    assert icm(folded, SIT_AND_GO)[0] == pytest.approx(fold, abs=6e-5)
    assert icm(won, SIT_AND_GO)[0] == pytest.approx(win, abs=6e-5)
    assert icm(folded, SIT_AND_GO)[0] / icm(won, SIT_AND_GO)[0] == pytest.approx(needed, abs=2e-3)


def test_published_aces_at_the_final_table() -> None:
    """flopturnriver.com/pokerforum/beginners-circle/fold-aa-97037.html, in millions of dollars: two
    players are left with 5 and 3.5; "3.529" after a fold, "3.633" after a win."""
    assert icm((20, 990), (5, 3.5))[0] == pytest.approx(3.529, abs=1e-3)
    assert icm((90, 920), (5, 3.5))[0] == pytest.approx(3.633, abs=1e-3)


def test_published_call_with_ace_ten() -> None:
    """pokerstrategy.com, "Examples and explanations for ICM": four stacks of 5,000, blinds of 300
    and 600; a call that wins 58.8 % gains 1,482.9 chips, and loses 0.5 % of the prizes."""
    fold, win = ((4400, 5600, 5000, 5000), (10000, 0, 5000, 5000))
    gained_chips = 0.588 * 10000 - 4400
    assert gained_chips == pytest.approx(1482.9, abs=5)
    gain = 0.588 * icm(win, SIT_AND_GO)[0] - icm(fold, SIT_AND_GO)[0]
    assert gain == pytest.approx(-0.005, abs=5e-4)


def hands_of(text: str) -> np.ndarray:
    """The numbers of the hands of a range among all hands of push or fold."""
    rules: Any = make_game("push_or_fold")
    labels = {rules.hand_label(0, hand): hand for hand in range(len(rules.hands[0]))}
    return np.array([labels[hand_label(hand)] for hand in HANDS[read_range(text, "") > 0]])


def value_of_push(rules: Any, hand: int, calls: np.ndarray) -> float:
    """The utility of the small blind's all-in with a hand, if the big blind calls with some hands;
    counted over all hands and boards."""
    after = rules.next(rules.root(), "allin")
    folded = rules.node(rules.next(after, "fold")).utilities[1]
    lost, tied, won = (pays[1] for pays in rules.node(rules.next(after, "call"))[:3])
    wins, ties = (count[:, hand].astype(float) for count in rules.runouts(5))
    hands = rules.hands[0]
    possible = ~(hands[:, :, None] == hands[hand]).any(axis=(1, 2))
    boards = 1_712_304.0
    called = (lost * wins + tied * ties + won * (boards - wins - ties)) / boards
    is_call = np.isin(np.arange(len(hands)), calls)
    return float(np.where(is_call, called, folded)[possible].mean())


def share_won(rules: Any, hand: int) -> float:
    """The share of the pot that a hand wins against any two cards."""
    wins, ties = rules.runouts(5)
    hands = rules.hands[0]
    possible = ~(hands[:, :, None] == hands[hand]).any(axis=(1, 2))
    shares = (wins[hand] + ties[hand] / 2) / 1_712_304
    return float(shares[possible].mean())


def test_published_push_with_seven_deuce() -> None:
    """D. Zare at pokerstrategy.com/forum, thread 94888, by SNG Wizard: two stacks of 5,250 and two
    of 1,500, blinds of 250 and 500.  A call needs 71.64 %.  The push of 72o gains 1.22 % of the
    prizes if 2.5 % of the hands call, and 0.29 % if 5.9 % call.  The ranges there are written QQ+
    AKs and 88+ AJs+ AQo; 2.5 % and 5.9 % are 34 and 78 of 1,326 hands: with AKo, too."""
    rules: Any = make_game(
        "push_or_fold",
        stacks=5250,
        blinds=(250, 500),
        payouts=(50, 30, 20),
        others=(1500, 1500),
    )
    folded, called = icm((4750, 5750, 1500, 1500), SIT_AND_GO), icm((10500, 1500, 1500), SIT_AND_GO)
    needed = folded[0] / called[0]
    assert needed == pytest.approx(0.7164, abs=5e-5)
    fold = rules.node(rules.next(rules.root(), "fold")).utilities[1]
    (hand, *_) = hands_of("7s2d")
    for text, count, gain in (("QQ+,AK", 34, 1.22), ("88+,AJs+,AQo+", 78, 0.29)):
        calls = hands_of(text)
        assert len(calls) == count
        assert value_of_push(rules, hand, calls) - fold == pytest.approx(gain, abs=0.02)
    # The thread rounds the call to "2 %, TT+"; by this count 99 wins enough, and 88 does not.
    nines, eights = (share_won(rules, int(hands_of(text)[0])) for text in ("9s9d", "8s8d"))
    assert eights < needed < nines


def test_published_calls_against_any_two_cards() -> None:
    """Moshman and Zare, as above: 69.72 % are needed, "pocket nines or better"; AKs has to fold."""
    rules: Any = make_game("push_or_fold")
    shares = {text: share_won(rules, int(hands_of(text)[0])) for text in ("9s9d", "8s8d", "AsKs")}
    assert max(shares["8s8d"], shares["AsKs"]) < 0.6972 < shares["9s9d"]


FACTORS = {
    # forumserver.twoplustwo.com/198/mttsng/average-bubble-factors-1504943, and D. O'Kearney,
    # dokearney.blogspot.com/2009/05/theory-posticmbubble-factor-part-2.html: two equal places.
    "satellite": ((1, 1, 1), (300, 300), 2.0, 1e-12),
    # D. O'Kearney, dokearney.blogspot.com/2008/11/open-bubbly.html: 10 % lost, 18.44 % after a win.
    "first hand": ((1500,) * 10, SIT_AND_GO, 10 / 8.44, 2e-3),
    # plan3tgongpoker.blogspot.com/2008/02/how-to-win-sng-once-in-money.html: 13.33 at risk; the
    # winner has two thirds of the chips, and so 30 and two thirds of 20.
    "three left": ((4000,) * 3, SIT_AND_GO, 13.33 / (30 + 40 / 3 - 33.33), 1e-3),
}


@pytest.mark.parametrize("name", FACTORS)
def test_published_bubble_factors(name: str) -> None:
    stacks, payouts, factor, error = FACTORS[name]
    found = risk(stacks, payouts).bubble_factors
    np.testing.assert_allclose(found[~np.eye(len(stacks), dtype=bool)], factor, rtol=error)


def test_published_call_of_a_big_stack() -> None:
    """plan3tgongpoker.blogspot.com/2007/01/sng-bubble-play-2-big-stack-play.html: 5,200 chips and
    three times 1,600.  A small stack risks 20.76 to win 8.88, and must win 70 % of the calls.  The
    stacks there after the call sum to 200 chips too many: 3,800 and 3,200 of 6,800.  For them the
    printed prizes are right; with 3,600 a call has to win 69.5 %, by a count of all orders."""
    percent = [100 * prize for prize in icm((5200, 1600, 1600, 1600), SIT_AND_GO)]
    assert percent == pytest.approx([37.71, 20.76, 20.76, 20.76], abs=5e-3)
    after = 100 * icm((3800, 3200, 1600, 1600), SIT_AND_GO)
    assert after.tolist() == pytest.approx([32.19, 29.64, 19.08, 19.08], abs=6e-3)
    assert percent[1] / after[1] == pytest.approx(0.70, abs=5e-3)
    before, won = slow_icm((1600, 5200, 1600, 1600), SIT_AND_GO), (3200, 3600, 1600, 1600)
    needed = before[0] / slow_icm(won, SIT_AND_GO)[0]
    assert needed == pytest.approx(0.695, abs=5e-4)
    premium = risk((1600, 5200, 1600, 1600), SIT_AND_GO).premiums[0, 1]
    assert 0.5 + premium == pytest.approx(needed, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_risk_with_bounties(seed: int) -> None:
    """The player who eliminates another is paid half of the bounty, and keeps half on the head."""
    draw = random.Random(seed)
    stacks, heads = ([draw.choice([2, 3, 3, 5]) for _ in range(4)] for _ in range(2))

    def money(chips: Sequence[float], loser: int, winner: int) -> list[float]:
        bounties, paid = [float(head) for head in heads], [0.0] * 4
        if chips[loser] == 0:
            paid[winner] = bounties[loser] / 2
            bounties[winner] += bounties[loser] / 2
        found = slow_icm(chips, (9, 4)), slow_bounties(chips, bounties, 0.5)
        return [sum(parts) for parts in zip(*found, paid, strict=True)]

    found = risk(stacks, (9, 4), heads).bubble_factors
    now = money(stacks, 0, 0)
    for player, opponent in permutations(range(4), 2):
        won, lost = (
            [
                stack
                + sign * min(stacks[player], stacks[opponent]) * ((i == player) - (i == opponent))
                for i, stack in enumerate(stacks)
            ]
            for sign in (1, -1)
        )
        gain = money(won, opponent, player)[player] - now[player]
        loss = now[player] - money(lost, player, opponent)[player]
        assert found[player, opponent] == pytest.approx(loss / gain, rel=1e-12)
    with pytest.raises(ValueError, match="bounties has 1 amounts for 4 players"):
        risk(stacks, (9, 4), (1,))


def test_risk() -> None:
    """The premium from the factor as in D. O'Kearney, poker.org, "Understanding risk premium"."""
    stacks, payouts = (3000, 5000, 2000), SIT_AND_GO
    found = risk(stacks, payouts)
    now = slow_icm(stacks, payouts)
    won, lost = slow_icm((6000, 2000, 2000), payouts), slow_icm((0, 8000, 2000), payouts)
    factor = (now[0] - lost[0]) / (won[0] - now[0])
    assert found.bubble_factors[0, 1] == pytest.approx(factor, rel=1e-12)
    assert found.premiums[0, 1] == pytest.approx(factor / (1 + factor) - 0.5, rel=1e-12)
    assert np.isnan(found.bubble_factors.diagonal()).all()
    # With two players left, chips are worth the same won or lost.
    np.testing.assert_allclose(risk((700, 300), (5, 3)).bubble_factors[0, 1], 1.0, rtol=1e-12)
    # Three equal prizes for three players: nothing to win or to lose.
    assert np.isnan(risk((1, 2, 3), (1, 1, 1)).bubble_factors).all()
    satellite = risk((5, 5, 1), (1, 1))
    assert satellite.bubble_factors[0, 1] > 5
    assert 0.3 < satellite.premiums[0, 1] < 0.5


@pytest.mark.parametrize(
    ("stacks", "payouts", "message"),
    [
        ((1, -1), (1,), "stacks must be"),
        ((0, 0), (1,), "stacks must contain a player with chips"),
        ((1, 2), (1, 2), r"payouts\[1\] = 2 is above payouts\[0\] = 1"),
        ((1, 2), (1, float("nan")), "payouts must be"),
        ([1] * 10_001, (1,), "stacks has 10,001 players"),
    ],
)
def test_refused_amounts(stacks: Any, payouts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        icm(stacks, payouts)


def test_refused_bounties() -> None:
    with pytest.raises(ValueError, match="bounties has 1 amounts for 2 players"):
        bounty_equities((1, 1), (1,))
    with pytest.raises(ValueError, match="at most 15 players, not 16"):
        bounty_equities([1] * 16, [1] * 16)


# --- Games -----------------------------------------------------------------------------------

RIVER: dict[str, Any] = {
    "board": "QsJh2h8d3c",
    "ranges": ("AsAh,KsQs,Tc9c,7h6h", "KsKh,QdJd,Th9h,5c5d"),
    "pot": 100,
    "stacks": (200, 350),
    "bets": "50%,a",
    "raises": "a",
}
TURN = RIVER | {"board": "QsJh2h8d", "bets": "100%", "raises": ""}
BUBBLE: dict[str, Any] = {"payouts": (50, 30, 20), "others": (90, 120)}
EXACT: dict[str, Any] = {"algorithm": "cfr+", "iters": 30, "precision": "float64"}


class ByHand(Holdem):
    """Hold'em whose utilities are counted from the stacks, apart from the library's tournaments."""

    def __init__(self, prizes: Callable[[Sequence[float]], Sequence[float]], **spot: Any) -> None:
        self.chips_behind = spot["stacks"]
        self.prizes = prizes
        super().__init__(**spot | {"stacks": min(spot["stacks"])})

    def node(self, state: Any) -> Any:
        node = super().node(state)
        if isinstance(node, Decision) or not isinstance(node, (Fold, Showdown)):
            return node
        paid = self.betting.paid(state)
        called = min(paid)
        # A bet that is not called goes back.
        left = [behind - called for behind in self.chips_behind]
        pot = self.pot + 2 * called
        rake = min(self.rake * pot, self.rake_cap)
        before = self.prizes([behind + self.pot / 2 for behind in self.chips_behind])

        def worth(first: float) -> tuple[float, float]:
            after = self.prizes([left[0] + first, left[1] + pot - rake - first])
            return after[0] - before[0], after[1] - before[1]

        if isinstance(node, Fold):
            return Fold(worth(pot - rake if node.utilities[0] > node.utilities[1] else 0.0))
        return Showdown(worth(pot - rake), worth((pot - rake) / 2), worth(0.0))


def slow_bubble(pair: Sequence[float]) -> list[float]:
    return slow_icm([*pair, *BUBBLE["others"]], BUBBLE["payouts"])


def knockouts(pair: Sequence[float]) -> list[float]:
    """Progressive knockouts, from their rules: half at once, half on the own head."""
    stacks, heads, paid = [*pair, 90.0, 120.0], [8.0, 5.0, 3.0, 2.0], [0.0, 0.0]
    for loser in range(2):
        if stacks[loser] == 0:
            paid[1 - loser] = heads[loser] / 2
            heads[1 - loser] += heads[loser] / 2
    found = slow_icm(stacks, (50, 30, 20))
    later = slow_bounties(stacks, heads, 0.5)
    return [found[p] + paid[p] + later[p] for p in range(2)]


def assert_same_solution(found: Solution, expected: Solution) -> None:
    """Equal values, best responses and gains, to rounding."""
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert found.evaluation.best_responses == pytest.approx(
        expected.evaluation.best_responses, abs=1e-12
    )


@pytest.mark.parametrize("rake", [0.0, 0.05])
@pytest.mark.parametrize(
    "spot",
    [pytest.param(RIVER, id="river"), pytest.param(TURN, id="turn", marks=pytest.mark.full)],
)
def test_a_spot_equals_the_flat_game_with_the_same_utilities(
    spot: dict[str, Any], rake: float
) -> None:
    spot = spot | {"rake": rake}
    game = compile_game("holdem", **spot, **BUBBLE)
    twin = ByHand(slow_bubble, **spot)
    found = solve(game, **EXACT)
    assert not game.constant_sum
    assert min(found.value) != max(found.value)
    assert_same_solution(found, solve(compile_game(twin, cut=False), **EXACT))
    flat = solve(compile_game(make_spot(**spot, **BUBBLE), cut=False), **EXACT)
    assert_same_solution(found, flat)


@pytest.mark.full
def test_a_flop_equals_the_flat_game_with_the_same_utilities() -> None:
    spot = TURN | {"board": "Qs8d2h", "ranges": ("AsAh,Ts9s", "KsKh,Th9h"), "bets": "a"}
    found = solve(compile_game("holdem", **spot, **BUBBLE), **EXACT)
    twin = compile_game(ByHand(slow_bubble, **spot), cut=False)
    assert_same_solution(found, solve(twin, **EXACT))


def test_bounties_in_a_spot() -> None:
    game = compile_game("holdem", **RIVER, **BUBBLE, bounties=(8, 5, 3, 2))
    found = solve(game, **EXACT)
    assert_same_solution(found, solve(compile_game(ByHand(knockouts, **RIVER)), **EXACT))
    # All prizes and bounties that are left, one per cent of them.
    assert to_game_unit("target", "1%", game) == pytest.approx(1.18)


def test_winner_takes_all_equals_chips() -> None:
    chips = solve(compile_game("holdem", **RIVER | {"stacks": 200}), **EXACT)
    in_tournaments: list[dict[str, Any]] = [
        {"payouts": (100,), "others": (90, 120)},
        {"payouts": (7, 3)},
    ]
    for pay in in_tournaments:
        game = compile_game("holdem", **RIVER | {"stacks": 200}, **pay)
        found = solve(game, **EXACT)
        # With two players left, the second prize is certain.
        chip = {(100,): 100 / 710, (7, 3): 4 / 500}[pay["payouts"]]
        assert found.value == pytest.approx([chip * v for v in chips.value], abs=1e-9)
        np.testing.assert_allclose(
            found.policy.probabilities, chips.policy.probabilities, rtol=0, atol=1e-9
        )


def test_scaling_and_shifting_prizes_changes_no_strategy() -> None:
    payouts = np.array([50, 30, 20, 0])
    policies = []
    for changed in (payouts, 3.7 * payouts, payouts + 11.0):
        game = compile_game("holdem", **RIVER, payouts=changed.tolist(), others=(90, 120))
        policies.append(solve(game, **EXACT).policy.probabilities)
    for other in policies[1:]:
        np.testing.assert_allclose(other, policies[0], rtol=0, atol=1e-9)


def test_prizes_of_places_that_are_out_are_ignored() -> None:
    few, many = (
        make_spot(**RIVER, payouts=payouts, others=(90,))
        for payouts in ((5, 3, 2), (5, 3, 2, 2, 1))
    )
    assert few.utilities((50.0, -50.0)) == many.utilities((50.0, -50.0))  # type: ignore[attr-defined]
    assert few.defaults.units == many.defaults.units


def tournament_of(game: CompiledGame) -> Tournament:
    """The rules of a compiled hand of a tournament."""
    rules = CardNodes.of(game).rules
    assert isinstance(rules, Tournament)
    return rules


def test_all_chips_lost_are_all_chips() -> None:
    """2.3 chips behind and a pot of 0.1: the chips left after losing all are -4.4e-16 by floats."""
    spot = RIVER | {"pot": 0.1, "stacks": 2.3, "chip": 0.1, "bets": "a", "raises": ""}
    hand = make_spot(**spot, payouts=(5, 3), bounties=(1, 1))
    lost = min(ends[0] for ends in all_ends(hand))
    # The last of two players has the second prize, and no bounty.
    assert lost == pytest.approx(3 - (4 + 1), abs=1e-12)


def all_ends(rules: CardGame) -> list[tuple[float, float]]:
    """The utilities of all ends of a game, in the order of the lines."""
    ends, states = [], [rules.root()]
    while states:
        state = states.pop()
        node = rules.node(state)
        if isinstance(node, Decision):
            states += [rules.next(state, action) for action in reversed(node.actions)]
        elif isinstance(node, Fold):
            ends.append(node.utilities)
        elif isinstance(node, tuple) and len(node) > 1:
            ends += [*node[:3]]
        else:
            states.append(rules.next(state, None))
    return ends


GAMES_WITH_STACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "omaha": ("omaha", RIVER | {"ranges": ("AsAhKdKc", "QdQcJdJc"), "bets": "pot", "raises": ""}),
    "short deck": (
        "short_deck",
        RIVER | {"board": "QsJh9h8d7c", "ranges": ("AsAh,KsQs", "KsKh,Th9h")},
    ),
    "short Omaha": (
        "short_omaha",
        RIVER | {"board": "QsJh9h8d7c", "ranges": ("AsAhKdKc", "QdQcJdJc"), "bets": "pot"},
    ),
    "push or fold": ("push_or_fold", {"stacks": (12, 9), "ante": 0.1}),
    "no limit": (
        "nolimit_poker",
        {"stacks": (8, 5), "raises": "2x,a", "ranks": "QKA", "deals": (1,)},
    ),
    "limit": ("limit_poker", {"stacks": (3000, 2500), "ranks": "9TJQKA", "hand": 1}),
    "Rhode Island": ("rhode_island", {"stacks": 500}),
    "hold'em": ("limit_holdem", {"stacks": (400, 300), "rounds": 2}),
}


@pytest.mark.parametrize("name", GAMES_WITH_STACKS)
def test_utilities_of_every_game(name: str) -> None:
    """Each end pays the prizes of the stacks, which are those before the hand plus the chips won
    in the game without a tournament."""
    game, options = GAMES_WITH_STACKS[name]
    hand = make_game(game, **options, **BUBBLE)
    assert isinstance(hand, Tournament)
    own = dict(options)
    pair = own.pop("stacks")
    pair = pair if isinstance(pair, tuple) else (pair, pair)
    if "stacks" in GAMES[game].parameters:
        own["stacks"] = min(pair)
    chips: Any = make_game(game, **own)
    start = [stack + options.get("pot", 0) / 2 for stack in pair]
    before = slow_bubble(start)
    for utilities, won in zip(all_ends(hand), all_ends(chips), strict=True):
        after = slow_bubble([round(s + w, 9) for s, w in zip(start, won, strict=True)])
        expected = [after[p] - before[p] for p in range(2)]
        assert utilities == pytest.approx(expected, abs=1e-12)
    assert game_size(hand).infosets == game_size(chips).infosets
    assert isinstance(hand, type(chips))


def test_a_game_of_ones_own() -> None:
    hand = tournament(LeducOfCards(), stacks=(13, 30), **BUBBLE)
    found = solve(compile_game(hand), **EXACT)
    assert_same_solution(found, solve(compile_game(hand, cut=False), **EXACT))
    # Hand by hand, history by history.
    played = {
        label: list(found.policy[label].values())
        for player in range(2)
        for label in found.game.labels_of(player)
    }
    slow = SlowValues(build_tree(DealtCards(hand)), played)
    assert found.value == pytest.approx(slow.values, abs=1e-12)
    assert found.evaluation.best_responses == pytest.approx(slow.best_responses, abs=1e-12)
    assert all_ends(hand)[0] != all_ends(LeducOfCards())[0]
    with pytest.raises(ValueError, match=r"stacks: player [01] has 12 chips and can lose 13"):
        compile_game(tournament(LeducOfCards(), stacks=12, **BUBBLE))


def test_a_function_of_stacks() -> None:
    """Prizes as a function of one's own; another function; files need the game."""
    prizes = compile_game(
        "holdem", **RIVER, others=(90, 120), utility=lambda stacks: slow_icm(stacks, (50, 30, 20))
    )
    assert_same_solution(
        solve(prizes, **EXACT), solve(compile_game("holdem", **RIVER, **BUBBLE), **EXACT)
    )
    averse = compile_game("holdem", **RIVER, utility=lambda stacks: np.sqrt(stacks))
    solution = solve(averse, **EXACT)
    assert sum(solution.value) < 0.0
    with pytest.raises(TypeError, match="utility= of holdem QsJh2h8d3c is a function"):
        spot_text(averse)


def test_files(tmp_path: Path) -> None:
    game = compile_game("holdem", **RIVER, **BUBBLE, bounties=(8, 5, 3, 2))
    solution = solve(game, iters=20)
    solution.save(tmp_path / "bubble.npz")
    loaded = Solution.load(tmp_path / "bubble.npz")
    assert loaded.game.digest == game.digest
    assert loaded.value == solution.value
    assert evaluate(loaded.game, loaded.policy).gains == pytest.approx(
        solution.evaluation.gains, rel=1e-4
    )
    # Other prizes are another game.
    other = compile_game("holdem", **RIVER, payouts=(50, 31, 20), others=(90, 120))
    assert other.digest != game.digest
    averse = compile_game("holdem", **RIVER, utility=lambda stacks: np.sqrt(stacks))
    path = solve(averse, iters=1).save(tmp_path / "averse.npz")
    with pytest.raises(UnknownGameError, match="not a built-in game"):
        Solution.load(path)
    assert Solution.load(path, game=averse).game is averse


def test_spots_as_text() -> None:
    spot = make_spot(**RIVER, **BUBBLE, bounties=(8, 5, 3, 2))
    again = parse_spot(spot_text(spot))
    assert isinstance(again, Tournament)
    assert again.stacks_before == spot.stacks_before  # type: ignore[attr-defined]
    assert all_ends(again) == all_ends(spot)
    text = 'board = "QsJh2h8d3c"\nranges = ["AA", "KK"]\npot = 1\nstacks = 2\npayouts = [1, 2]\n'
    with pytest.raises(ValueError, match=r"spot:5:1: payouts\[1\] = 2 is above"):
        parse_spot(text)


def test_boards_of_a_tournament() -> None:
    spot = make_spot(**RIVER, **BUBBLE)
    report = solve_boards(spot, ["QsJh2h8d3c", "QsJh2h8d4c"], target="0.5% of the pot")
    alone = solve(compile_game("holdem", **RIVER, **BUBBLE), target="0.5% of the pot")
    row = next(
        row for row in report.rows if row["board"] == "QsJh2h8d3c" and row["player"] == "oop"
    )
    assert row["value"] == pytest.approx(alone.value[0], abs=0.01)


def test_units() -> None:
    """A target is in prizes, in per cent of all prizes, or of the pot, as prizes."""
    game = compile_game("holdem", **RIVER, **BUBBLE)
    start = [250.0, 400.0]
    won, lost = slow_bubble([300, 350]), slow_bubble([200, 450])
    assert slow_bubble(start)[0] == pytest.approx(tournament_of(game).utilities_before[0])
    pot = (won[0] - lost[0] + lost[1] - won[1]) / 2
    for text, amount in (("2%", 2.0), ("0.3 prizes", 0.3), ("1% of the pot", pot / 100)):
        assert to_game_unit("target", text, game) == pytest.approx(amount)
    assert game.defaults.target == "0.5% of the pot"
    with pytest.raises(ValueError, match="does not define the unit 'chips'"):
        solve(game, target="1 chips")
    preflop = compile_game("push_or_fold", payouts=(50, 30, 20), others=(4,))
    with pytest.raises(ValueError, match="does not define the unit '% of the pot'"):
        solve(preflop, target="1% of the pot")


def test_the_default_algorithm_does_not_stall() -> None:
    """That of spots for chips stays above 0.3 % of the pot on this river."""
    game = compile_game(
        "holdem",
        board="QsJh2h8d3c",
        ranges=(
            "AQ,KQ,QTs,Q9s,AJ,KJs,JTs,J9s,TT-99,T9s,AhTh,AhKh,Ah5h-Ah2h,KhTh,9h8h,98s,88",
            "AA-JJ,88,22,AQ,KQ,QJs,AJ,KJs,AK,T9s,AhTh,AhKh,Ah5h-Ah2h,KhTh,7h6h,Th8h,76s",
        ),
        pot=2100,
        stacks=(4000, 6000),
        bets="50%,a",
        raises="a",
        payouts=(500, 300, 200),
        others=(1500, 1400),
    )
    solution = solve(game, iters=1000)
    assert str(solution.algorithm).startswith("dcfr(alpha=1.5, beta=0")
    assert solution.exploitability < to_game_unit("target", "0.02% of the pot", game)


def test_guarantee_and_gains(interpreted: None) -> None:
    game = compile_game("holdem", **RIVER, **BUBBLE)
    solution = solve(game, ALGORITHMS["cfr"](alternating=False), iters=50)
    assert "joint" in solution.guarantee
    assert "independent chip model" in solution.guarantee
    assert solution.evaluation.gains == pytest.approx(
        np.subtract(solution.evaluation.best_responses, solution.value)
    )
    with pytest.raises(ValueError, match="needs a zero-sum game"):
        solve(compile_game(make_spot(**RIVER, **BUBBLE), cut=False), "lp")
    with pytest.raises(ValueError, match="safe resolving is for zero-sum games"):
        resolve(game, solution, "check", player=0, method="maxmargin", iters=5)
    assert resolve(game, solution, "check", player=0, method="unsafe", iters=5).subgames
    with pytest.raises(ValueError, match="is not constant"):
        aivat(simulate(game, solution, 10, seed=1), solution, known=(0,))


def test_values_of_the_pot() -> None:
    """A player who folds has 0; the rest is prize money above that of a fold."""
    for rake in (0.0, 0.05):
        solution = solve(compile_game("holdem", **RIVER, **BUBBLE, rake=rake), iters=30)
        table = SolvedSpot(solution, of="pot").table("bet50")
        net = SolvedSpot(solution).table("bet50")
        np.testing.assert_allclose(table.values[:, 0], 0.0, atol=1e-6)
        # Player 1 has 350 behind, and player 0 gets the pot of 100 less rake.
        folded = slow_bubble([200 + 100 * (1 - rake), 350])[1] - slow_bubble([250, 400])[1]
        np.testing.assert_allclose(net.values[:, 0], folded, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"payouts": (1, 2)}, r"payouts\[1\] = 2 is above"),
        ({"payouts": ()}, "payouts must contain a prize"),
        ({"others": (4,)}, "payouts must contain a prize"),
        ({"payouts": (1,), "others": (0,)}, "others must be"),
        ({"payouts": (1,), "stacks": (1, 2, 3, 4)}, "stacks must be"),
        ({"payouts": (1,), "bounties": (1,)}, "bounties has 1 amounts, but stacks and others have"),
        ({"payouts": (1,), "utility": max}, "utility takes the place of payouts"),
        ({"utility": 3}, "utility must be a function"),
        ({"utility": lambda stacks: "x"}, "utility must return a number for each player"),
        ({"utility": lambda stacks: (1.0, float("nan"))}, "utility must be finite"),
        ({"payout": (1,)}, "has no parameter 'payout'; did you mean 'payouts'"),
    ],
)
def test_refused_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=message):
        make_game("push_or_fold", **options)


def test_refused_games() -> None:
    with pytest.raises(GameError, match="leduc has no parameter 'payouts'"):
        make_game("leduc", payouts=(1,))
    with pytest.raises(GameError, match="stacks must be given"):
        make_game("limit_holdem", payouts=(1,))
    with pytest.raises(TypeError, match="rules must be a game of cards"):
        tournament(make_game("leduc"), stacks=1, payouts=(1,))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must not be a tournament already"):
        tournament(make_spot(**RIVER, **BUBBLE), stacks=1, payouts=(1,))
