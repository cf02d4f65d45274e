"""Situations, counts with intervals, models and habits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pokerkit")

from tensorcfr import Solution, compile_game, evaluate, solve
from tensorcfr.analysis import SolvedSpot, robust_responses, simulate
from tensorcfr.hands import (
    HandSituation,
    count_decisions,
    habit_prices,
    hand_model,
    hands_of_plays,
    parse_hands,
)
from tensorcfr.hands.counting import wilson
from tensorcfr.hands.models import Habit, frequencies_of, shift_frequencies
from tensorcfr.hands.situations import ANY, action_class, board_class, situations, stack_class
from tensorcfr.hands.spot_decisions import spot_decisions

SPOT: dict[str, Any] = {
    "board": "Ts9d6h2c3s",
    "ranges": ("AA,KK,QQ,JJ,T9s,87s,54s", "AA,KK,QQ,T9s,87s,A5s"),
    "pot": 100,
    "stacks": 150,
    "big_blind": 10,
    "bets": "50%,a",
    "raises": "a",
}
SIZES: dict[str, Any] = {"pot": 100, "stacks": 150, "bets": "50%", "raises": "a"}
HAND = """variant = 'NT'
antes = [0, 0, 0]
blinds_or_straddles = [1, 2, 0]
min_bet = 2
starting_stacks = [100, 100, 200]
actions = ['d dh p1 ????', 'd dh p2 AsKs', 'd dh p3 QdQc', 'p3 cbr 6', 'p1 cc', 'p2 cbr 20',
  'p3 cc', 'p1 cc', 'd db Td9d6h', 'p1 cc', 'p2 cc', 'p3 cbr 30', 'p1 f', 'p2 cc', 'd db 2c',
  'p2 cc', 'p3 cbr 50', 'p2 f']
players = ['a', 'b', 'c']
"""


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(compile_game("holdem", **SPOT), target="0.1%")


def test_situations_of_a_hand() -> None:
    """By hand: a pot of three raises, three players on the flop, two on the turn."""
    found = list(situations(parse_hands(HAND).hands[0]))
    assert [word for _, _, word in found] == [
        *("raise", "call", "raise", "call", "call"),
        *("check", "check", "bet medium", "fold", "call"),
        *("check", "allin", "fold"),
    ]
    places = [situation for _, situation, _ in found]
    assert places[0] == ("preflop", "BTN", "unopened", "", "", "50 to 125 bb")
    assert places[2] == ("preflop", "BB", "raised", "BTN", "", "50 to 125 bb")
    assert places[3].line == "3-bet"
    flop = "unpaired, two-tone, T high"
    # The pot is 60 and the stacks behind are 80; 30 is half of the pot.
    assert places[5] == ("flop", "1 of 3", "", "3-bet", flop, "1 to 3")
    assert places[7][:3] == ("flop", "3 of 3", "check, check")
    turn = places[11]
    # Stacks of 50 behind and a pot of 120.
    assert turn[:3] == ("turn", "ip", "check")
    assert turn.before == "3-bet; flop 3 of 3 bet"
    assert turn[4:] == ("unpaired, no flush, T high", "under 1")
    assert turn.levels[3] == ("turn", "ip", "check", ANY, ANY, ANY)


def test_classes() -> None:
    """Limits belong to the larger class."""
    assert action_class("bet", 0.45, is_all_in=False) == "bet medium"
    assert action_class("raise", 9.0, is_all_in=False) == "raise"
    assert action_class("call", 0.0, is_all_in=True) == "call"
    assert board_class("2c2d3h") == "paired, rainbow, low high"
    assert stack_class(13.0) == "13 and more"
    assert stack_class(float("inf")) == "unknown"


@pytest.mark.parametrize(
    ("taken", "count", "low", "high"),
    # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)],
)
def test_intervals_are_those_of_wilson(taken: int, count: int, low: float, high: float) -> None:
    assert wilson(taken / count, count, 0.95) == pytest.approx((low, high), abs=5e-5)


def test_estimates_begin_with_the_prior_and_the_pool() -> None:
    """Levels are added from the coarsest to the finest, each with the strength of the prior."""
    hands = parse_hands(HAND).hands
    own, pool = count_decisions(hands, ["c"]), count_decisions(hands, ["c"], others=True)
    assert (own.decisions, pool.decisions, own.hands) == (4, 9, 1)
    place = HandSituation("turn", "ip", "check", ANY, ANY, ANY)
    prior = {"check": 0.5, "allin": 0.5}
    assert own.estimate(place, prior, strength=3)["allin"].mean == pytest.approx(2.5 / 4)
    finer = place._replace(board="unpaired, no flush, T high")
    found = own.estimate(finer, prior, strength=3)["allin"]
    assert found.mean == pytest.approx((3 * 2.5 / 4 + 1) / 4)
    assert found.decisions == 1
    other = own.estimate(place._replace(line=""), prior, strength=3)
    assert other["allin"].mean == pytest.approx(0.5)
    row = next(row for row in own.rows() if row["action"] == "allin" and row["taken"])
    assert (row["street"], row["decisions"]) == ("turn", 1)


def test_shifted_frequencies_divide_hands_as_little_as_possible() -> None:
    """The frequencies are the wanted ones, and no other strategies with them diverge less."""
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(1)
    strategy, weight = rng.dirichlet(np.ones(3), size=4), rng.random(4)
    wanted = np.array([0.2, 0.5, 0.3])
    (found,) = shift_frequencies(strategy[None], weight[None], wanted[None])
    assert weight @ found / weight.sum() == pytest.approx(wanted, abs=1e-9)
    assert found.sum(axis=1) == pytest.approx(np.ones(4))
    before = weight @ strategy / weight.sum()
    spread = 0.05 * np.abs(wanted - before).sum()
    start = (1.0 - spread) * strategy + spread * wanted

    def divergence(flat: np.ndarray) -> float:
        rows = flat.reshape(4, 3)
        return float(weight @ (rows * np.log(rows / start)).sum(axis=1))

    sums = wanted[:2] * weight.sum()
    limits = [
        {"type": "eq", "fun": lambda flat: flat.reshape(4, 3).sum(axis=1) - 1.0},
        {"type": "eq", "fun": lambda flat: weight @ flat.reshape(4, 3)[:, :2] - sums},
    ]
    best = optimize.minimize(
        divergence, strategy.ravel(), bounds=[(1e-9, 1)] * 12, constraints=limits, tol=1e-12
    )
    assert found.ravel() == pytest.approx(best.x, abs=2e-4)
    (same,) = shift_frequencies(strategy[None], weight[None], before[None])
    assert same == pytest.approx(strategy, abs=1e-15)


def test_a_model_without_hands_is_the_solution(solution: Solution) -> None:
    model = hand_model(solution, 1, count_decisions([]))
    assert model.policy.probabilities == pytest.approx(solution.policy.probabilities, abs=1e-12)
    assert all(decision.decisions == 0 for decision in model.decisions)


def test_a_model_has_the_frequencies_of_the_hands(solution: Solution) -> None:
    """With many hands, the model comes near the player who played them; `respond` takes it."""
    weak = habit_prices(solution, 1, ("fold +80%", "check =90%"))[-1].policy
    plays = simulate(solution.game, weak, 150, seed=2)
    hands = hands_of_plays(plays, ("solver", "weak"))
    model = hand_model(solution, 1, count_decisions(hands, ["weak"]))
    truth = {int(d.nodes[0]): d for d in spot_decisions(solution.game, weak, 1)}
    for node, decision in zip(model.nodes, model.decisions, strict=True):
        if decision.decisions > 25:
            (real,) = frequencies_of(truth[node].strategy, truth[node].weight)
            found = np.array(list(decision.model.values()))
            assert np.abs(found - real).max() < 0.25
            assert (
                np.abs(found - real).sum()
                < np.abs(np.array(list(decision.solution.values())) - real).sum()
            )
    counts = model.counts()
    first = model.decisions[0]
    total = sum(counts[f"AsAh{' ' + first.label}"].values())
    assert total == pytest.approx(first.decisions)
    found = robust_responses(
        solution.game, counts, 0, model=solution.policy, weights=[0.5], full_at=50
    )
    assert found.gain[1] > 0.0


def test_habits_change_the_frequencies_that_they_name(solution: Solution) -> None:
    """Against the tables of the spot, and values of whole policies."""
    game, table = solution.game, SolvedSpot(solution).table("bet50")
    (price,) = habit_prices(solution, 1, "call +10%")
    changed = {int(d.nodes[0]): d for d in spot_decisions(game, price.policy, 1)}
    node = SolvedSpot(solution).nodes.find_line("bet50")
    column = list(table.actions).index("call")
    before = table.frequencies["call"]
    after = frequencies_of(changed[node].strategy, changed[node].weight)[0, column]
    assert after == pytest.approx(1.1 * before, abs=1e-3)
    base, found = evaluate(game, solution.policy), evaluate(game, price.policy)
    assert price.against_solution == pytest.approx(base.values[1] - found.values[1])
    assert price.against_best == pytest.approx(found.best_responses[0] - base.best_responses[0])
    assert 0.0 < price.against_solution < price.against_best


def test_habits_of_all_streets_follow_one_another() -> None:
    """On every card of the river, against tables of the spot: the frequency that a habit changes is
    that of the hands which the habits before it leave.  Suits of the board are equivalent."""
    game = compile_game("holdem", board="QsQh7s7h", ranges=("AA,KK,76s", "AK,JJ,T9s"), **SIZES)
    solution = solve(game, iters=40)
    *_, price = habit_prices(solution, 0, ("check =60%", "river call +30%"))
    before, after = SolvedSpot(solution), SolvedSpot(replace(solution, policy=price.policy))
    assert after.table("").frequencies["check"] == pytest.approx(0.6, abs=1e-9)
    dealt = [edge.label for edge in game.nodes.children(before.nodes.find_line("check check"))]
    assert len(dealt) == 48
    for card in dealt:
        table = after.table(f"check check {card} check bet50")
        strategy = before.table(f"check check {card} check bet50").strategy
        call = float(table.share @ strategy[:, table.actions.index("call")])
        assert table.frequencies["call"] == pytest.approx(min(1.0, 1.3 * call), abs=1e-9)
        first = after.table(f"check check {card}").frequencies
        assert first["check"] == pytest.approx(0.6, abs=1e-9)


def test_bluffs_are_hands_below_half_of_the_equity(solution: Solution) -> None:
    """A player who never bluffs bets no hand that loses more than half of the time."""
    (price,) = habit_prices(solution, 0, "river bet bluffs =0%")
    spot = SolvedSpot(solution)
    equity = spot.equities("start")[0]
    start = next(iter(spot_decisions(solution.game, price.policy, 0)))
    bets = start.strategy[0, :, 1:].sum(axis=1)
    held = start.weight[0] > 0
    assert (bets[held & (equity < 0.5)] == 0.0).all()
    value = held & (equity >= 0.5)
    same = next(iter(spot_decisions(solution.game, solution.policy, 0))).strategy
    assert start.strategy[0, value] == pytest.approx(same[0, value])


@pytest.mark.parametrize(
    "text", ["calls more", "call +10", "call =120%", "call -120%", "bluff +1%"]
)
def test_other_words_are_no_habits(text: str) -> None:
    with pytest.raises(ValueError, match="habits: "):
        Habit.read(text)


def test_a_habit_about_nothing(solution: Solution) -> None:
    with pytest.raises(ValueError, match="habits: player 0 has no decision about 'flop bet"):
        habit_prices(solution, 0, ("flop bet +10%", "call +10%"))
    with pytest.raises(ValueError, match="game must be a spot of two players"):
        habit_prices(solve(compile_game("kuhn"), iters=1), 0, "call +10%")
