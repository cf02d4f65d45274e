"""Push or fold of three players: run-outs counted by hand, flat games, side pots, prizes."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from support.card_games import LimitOfThree
from support.layouts import assert_same_solves
from support.slow_strengths import worth
from tensorcfr import GameError, Solver, compile_game, solve
from tensorcfr.games import make_game
from tensorcfr.games.poker.deck import HAND_NUMBER, HANDS, orders_of_suits
from tensorcfr.games.poker.runouts import holdem_runouts
from tensorcfr.games.poker.three_runouts import (
    Classes,
    count_disjoint,
    count_orders,
    holdem_order_shares,
    holdem_precision,
)
from tensorcfr.games.three_handed import ThreeHandedPush
from tensorcfr.games.tournaments import tournament
from tensorcfr.model.arrays import TERMINAL
from tensorcfr.rules import Fold, SidePots

DECK: dict[str, Any] = {"ranks": "2345", "suits": 2, "runout": 2}


@pytest.fixture(scope="module")
def rules() -> ThreeHandedPush:
    return ThreeHandedPush(**DECK, stacks=(3, 5, 4), ante=0.25)


@pytest.mark.parametrize("prizes", [False, True])
def test_payoffs_of_single_terminals_are_sums_over_triples(
    rules: ThreeHandedPush, prizes: bool
) -> None:
    hand: Any = rules
    if prizes:
        hand = tournament(rules, stacks=rules.stacks, payouts=(5, 2), others=(2,))
    nodes = compile_game(hand).nodes
    disjoint = [set(hand) for hand in rules.hands[0].tolist()]
    possible = np.array(
        [[[not (a & b or a & c or b & c) for c in disjoint] for b in disjoint] for a in disjoint]
    )
    # Hands that differ only in suits have the same reach: one for each pair of ranks.
    ranks = rules.hands[0] // 2
    reaches = [np.sin(ranks.sum(axis=1) * k + ranks.prod(axis=1)) ** 2 for k in (1.0, 2.0, 3.0)]
    joint = possible / possible.sum()
    queue, ends = [0], 0
    for node in queue:
        queue += [step.node for step in nodes.children(node)]
        if nodes.player(node) != TERMINAL:
            continue
        ends += 1
        coefficient, key = nodes.payoff(node)
        for player in range(3):
            paid = np.broadcast_to(coefficient * nodes.matrix(key)[player], joint.shape)
            others = [p for p in range(3) if p != player]
            weighted = np.moveaxis(joint * paid, (player, *others), (0, 1, 2))
            expected = weighted @ reaches[others[1]] @ reaches[others[0]]
            found = nodes.payoffs(node, player, reaches)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert ends == 7


def test_orders_are_those_of_every_deal(rules: ThreeHandedPush) -> None:
    hands, orders = rules.hands[0], rules.symmetries()
    counts = count_orders(rules.strength, hands, orders, 2)
    classes = Classes.of(hands, orders)
    expected, disjoint = np.zeros(counts.shape, dtype=np.int64), np.zeros(counts.shape[1:])
    sets = [set(hand) for hand in hands.tolist()]
    of_hand = classes.of_hand.tolist()
    for b, a, c in permutations(range(len(hands)), 3):
        if sets[a] & sets[b] or sets[a] & sets[c] or sets[b] & sets[c]:
            continue
        place = of_hand[b], of_hand[a], of_hand[c]
        disjoint[place] += 1
        held = sets[a] | sets[b] | sets[c]
        for board in combinations(sorted({*range(8)} - held), 2):
            low, middle, high = rules.strength(board, hands[[a, b, c]]).tolist()
            if low < middle < high:
                expected[0][place] += 1
            if low == middle != high:
                expected[1 if middle < high else 2][place] += 1
            if low == middle == high:
                expected[3][place] += 1
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(count_disjoint(hands, classes), disjoint)


@pytest.mark.parametrize(
    ("prizes", "as_python"),
    [
        *((prizes, True) for prizes in (False, True)),
        pytest.param(False, False, marks=[pytest.mark.full, pytest.mark.compiled]),
    ],
)
def test_equal_to_the_flat_game(
    rules: ThreeHandedPush, prizes: bool, as_python: bool, request: pytest.FixtureRequest
) -> None:
    if as_python:
        request.getfixturevalue("interpreted")
    hand: Any = rules
    if prizes:
        hand = tournament(rules, stacks=rules.stacks, payouts=(5, 2), others=(2,))
    game, flat = compile_game(hand), compile_game(hand, cut=False)
    counts = [
        (one.n_infosets, one.n_sequences, one.n_histories, one.n_decision_nodes)
        for one in (game, flat)
    ]
    assert counts[0] == counts[1]
    one, other = Solver(game, "cfr"), Solver(flat, "cfr")
    assert_same_solves(one, other, (1, 1, 1, 7) if as_python else (1, 1, 1, 7, 40))


def test_side_pots(rules: ThreeHandedPush) -> None:
    assert rules.node(("fold", "fold")) == Fold((-0.25, -0.75, 1.0))
    assert rules.node(("allin", "fold", "fold")) == Fold((2.0, -0.75, -1.25))
    assert rules.node(("fold", "allin", "call")) == SidePots(((8.25, (1, 2)),), (0.25, 4.0, 4.0), 2)
    assert rules.node(("allin", "call", "call")) == SidePots(
        ((9.0, (0, 1, 2)), (2.0, (1, 2))), (3.0, 4.0, 4.0), 2
    )
    assert rules.node(("allin", "fold", "call")) == SidePots(((6.75, (0, 2)),), (3.0, 0.75, 3.0), 2)
    assert rules.chips(("allin",)).call == 2.25


def test_places_of_players_who_lose_all_chips_together() -> None:
    """The player with more chips before the hand places higher; equal stacks share the places."""
    for stacks, expected in (((6, 4, 10), (3.0, 1.0)), ((5, 5, 10), (2.0, 2.0))):
        game: Any = make_game("push_or_fold", stacks=stacks, payouts=(6, 3, 1))
        before = game.utilities_before
        after = np.add(before, game.utilities((-stacks[0], -stacks[1], 10.0)))
        np.testing.assert_allclose(after, (*expected, 6.0), rtol=0, atol=1e-12)


def test_chips_of_the_winner_of_all() -> None:
    """With one prize, utilities are chips in another unit."""
    chips, prize = (
        make_game("push_or_fold", stacks=(8, 12, 10), **options)
        for options in ({}, {"payouts": (60,)})
    )
    for state in (("fold", "fold"), ("allin", "fold", "fold")):
        in_chips, in_prizes = chips.node(state).utilities, prize.node(state).utilities
        np.testing.assert_allclose(np.multiply(in_chips, 60 / 30), in_prizes, atol=1e-7)


@pytest.mark.full
def test_shares_of_the_whole_deck() -> None:
    """With the third hand summed over all hands, shares are those of two hands; and one by one they
    are those of boards drawn at random, by another evaluator."""
    shares = holdem_order_shares()
    classes = Classes.of(HANDS, orders_of_suits(13, 4))
    n = shares.shape[1]
    strict, low_tie, high_tie, _ = shares
    error = holdem_precision().error
    won, tied = holdem_runouts()
    member = np.zeros((n, len(HANDS)))
    member[classes.of_hand, np.arange(len(HANDS))] = 1.0
    pair_won = member @ won @ member.T
    pairs = member @ (won + won.T + tied) @ member.T
    # a > b: orders c < b < a, b < c < a, b < a < c, b = c < a, b < a = c; arrays are [middle, low,
    # high], [equal, equal, high] and [equal, equal, low].
    beats = (
        strict.sum(axis=1).T  # b in the middle, a high
        + strict.sum(axis=0).T  # b low, a high
        + strict.sum(axis=2)  # a in the middle, b low
        + low_tie.sum(axis=0).T  # b equal to c, a high
        + high_tie.sum(axis=0)  # a equal to c, b low
    )
    found = beats / count_disjoint(HANDS, classes).sum(axis=2)
    assert np.abs(found - pair_won / pairs).max() < 3e-4 + 12 * error
    rng, triples = np.random.default_rng(5), count_disjoint(HANDS, classes)
    for _ in range(3):
        hands = np.sort(rng.permutation(52)[:6].reshape(3, 2))[:, ::-1]
        b, a, c = (int(classes.of_hand[HAND_NUMBER[tuple(hand)]]) for hand in hands.tolist())
        members = [HANDS[classes.of_hand == k] for k in (b, a, c)]
        hits = boards = 0
        while boards < 1500:
            cards = np.concatenate([of[rng.integers(len(of))] for of in members])
            if len(set(cards.tolist())) == 6:
                board = rng.choice(np.setdiff1d(np.arange(52), cards), 5, replace=False)
                middle, low, high = (worth(board, cards[k : k + 2]) for k in (0, 2, 4))
                hits, boards = hits + (low < middle < high), boards + 1
        share = strict[b, a, c] / triples[b, a, c]
        sampled = np.sqrt(max(share * (1 - share), 1e-2) / boards)
        assert abs(hits / boards - share) < 4 * sampled + 8 * error


@pytest.mark.full
def test_ten_big_blinds() -> None:
    """Gains of best responses; and after a fold of the button nearly the game of two players."""
    game = compile_game("push_or_fold", stacks=(10, 10, 10))
    solution = solve(game, iters=60, checkpoints=())
    assert max(solution.evaluation.gains) < 1e-4
    assert abs(sum(solution.value)) < 1e-9
    two = solve(compile_game("push_or_fold", stacks=10), iters=60, checkpoints=())
    for line, line_of_two in (("fold", ""), ("fold allin", "allin")):
        shares = []
        for one, start in ((solution, line), (two, line_of_two)):
            nodes = one.game.nodes
            player = nodes.player(nodes.find_line(start))
            at = [one.policy[f"{hand} {start}".strip()] for hand in nodes.hands[player]]
            shares.append(np.mean([1.0 - actions["fold"] for actions in at]))
        assert abs(shares[0] - shares[1]) < 0.04


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stacks": (10, 10), "players": 3}, "stacks must be one or three"),
        ({"stacks": (10, 10, 0.9)}, "the stack of the big blind, 0.9, must be above"),
        ({"stacks": (10, 10, 10), "blinds": (2, 1)}, "the small blind must not be above"),
        ({"stacks": 10, "players": 4}, "players must be"),
        ({"stacks": (5, 5, 5), "payouts": (5,), "bounties": (1, 1, 1)}, "bounties are for two"),
        ({"stacks": (5, 5, 5, 5), "payouts": (5,)}, "stacks must be"),
    ],
)
def test_refused_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=message):
        make_game("push_or_fold", **options)


def test_suits_are_needed(rules: ThreeHandedPush) -> None:
    with pytest.raises(GameError, match="need symmetry"):
        compile_game(rules, symmetry=False)


def test_showdowns_without_a_run_out_with_prizes(interpreted: None) -> None:
    """The prizes of the weakest hand depend on which of the others wins."""
    hand = tournament(LimitOfThree(4, 1, (1,), 1), stacks=(20, 20, 40), payouts=(50, 30, 20))
    found = solve(compile_game(hand), "cfr", iters=2, precision="float64").value
    expected = solve(compile_game(hand, cut=False), "cfr", iters=2).value
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert sum(found) == pytest.approx(0)
