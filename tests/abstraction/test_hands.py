"""Buckets of hands, on all boards or on each, and the ways to make them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from support.bucket_cfr import BucketCFR
from support.equality import PerturbedHands, as_game
from support.random_games import random_public_tree_game
from support.reference import build_tree, cfr_plus_rule
from tensorcfr import CompiledGame, Policy, compile_game, evaluate, exploitability, solve
from tensorcfr.abstraction import (
    AbstractGame,
    abstract_hands,
    board_names,
    buckets_by_future,
    buckets_by_label,
    buckets_by_strength,
    lift,
)
from tensorcfr.errors import ImperfectRecallError
from tensorcfr.games import make_game
from tensorcfr.games.holdem import CARDS
from tensorcfr.rules import PublicTreeGame

TOLERANCE = 1e-12


# ------------------------------------------------------------------- equality with the slow twin


def assert_hands_equal_buckets(
    rules: PublicTreeGame, buckets: list[list[str]], iterations: int
) -> AbstractGame:
    """The lifted average equals that of the slow solver, which knows infosets only."""
    game = compile_game(rules)
    small = abstract_hands(game, [np.array(own) for own in buckets])
    tree = build_tree(as_game(rules))
    # Labels of the small game begin with the bucket, those of the full game with the hand.
    bucket = {
        label: small.infoset_labels[int(small.infoset[game.infoset_index[label]])]
        for label in tree.infosets
    }
    slow = BucketCFR(tree, bucket, rule=cfr_plus_rule, average_power=1)
    for _ in range(iterations):
        slow.iterate()
    lifted = lift(solve(small, "cfr+", iters=iterations))
    for label in tree.infosets:
        expected = slow.average(label)
        assert list(lifted[label].values()) == pytest.approx(expected, rel=0, abs=TOLERANCE), label
    return small


def assert_labels_keep_the_public_part(game: AbstractGame) -> None:
    """Buckets are of one player and one public node: what comes after the hand in their labels."""
    hands = [set(own) for own in game.full.public.hands]
    for infoset, label in enumerate(game.full.infoset_labels):
        player = int(game.full.infoset_player[infoset])
        own = game.infoset_labels[int(game.infoset[infoset])]
        rests = {label[len(hand) :] for hand in hands[player] if label.startswith(hand)}
        assert any(own.endswith(rest) for rest in rests), (label, own)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full)])
def test_random_hands_equal_one_dictionary_per_bucket(seed: int) -> None:
    merged = 0
    for nth in range(6):
        rules = random_public_tree_game(100 * seed + nth, max_hands=4, max_nodes=25)
        rng = Random(nth)
        buckets = [[f"b{rng.randrange(2)}" for _ in own] for own in rules.hands]
        small = assert_hands_equal_buckets(rules, buckets, 15)
        assert_labels_keep_the_public_part(small)
        merged += small.n_infosets < small.full.n_infosets
    assert merged > 2


@pytest.mark.full
@pytest.mark.parametrize("buckets", ["JJQQKK", "JJJJKK", "JQJQKK"])
def test_hands_of_leduc_equal_one_dictionary_per_bucket(buckets: str) -> None:
    rules = PerturbedHands(make_game("leduc"))
    small = assert_hands_equal_buckets(rules, [list(buckets)] * 2, 8)
    assert_labels_keep_the_public_part(small)


# ------------------------------------------------------------------------- Leduc, board by board


@pytest.fixture(scope="module")
def leduc() -> CompiledGame:
    return compile_game("leduc")


def rank(hand: str) -> str:
    return hand[0]


def test_three_of_six_hands_of_leduc_lose_nothing(leduc: CompiledGame) -> None:
    small = abstract_hands(leduc, buckets_by_label(leduc, rank))
    assert small.public.hands == (("J", "K", "Q"),) * 2
    solution = solve(small, iters=100)
    assert exploitability(leduc, lift(solution)) == pytest.approx(
        solution.exploitability, rel=0, abs=TOLERANCE
    )


def test_the_chance_of_buckets_is_that_of_their_hands(leduc: CompiledGame) -> None:
    """The uniform strategy is worth the same, and so is every best response to a lifted one that
    does not depend on hands that share a bucket."""
    small = abstract_hands(leduc, [np.array([7, 7, 7, 7, 10, 10]), None])
    assert small.public.hands[0] == ("b07", "b10")
    assert small.public.tree.prior.sum() == pytest.approx(1.0)
    policy = Policy.uniform(small)
    values = evaluate(small, policy).values
    assert evaluate(leduc, lift(policy)).values == pytest.approx(values, abs=TOLERANCE)
    # Player 1 sees their hand, so the best response is that of the full game.
    best = evaluate(small, policy).best_responses[1]
    assert evaluate(leduc, lift(policy)).best_responses[1] == pytest.approx(best, abs=TOLERANCE)


def test_buckets_differ_between_boards(leduc: CompiledGame) -> None:
    assert board_names(leduc) == ("", "Js", "Jh", "Qs", "Qh", "Ks", "Kh")

    def nested(hand: str, board: str) -> str:
        king = "K" if hand[0] == "K" else "other"
        return f"{king} {hand[0] == board[:1]}"

    small = abstract_hands(leduc, buckets_by_label(leduc, nested, by_board=True))
    assert small.strategy_class is None
    # Before the board 2 buckets of 6 hands, after a K 2, after another card 3, at as many nodes.
    assert small.public is None
    before = sum("/" not in label for label in leduc.infoset_labels)
    after = sum("/" in label for label in leduc.infoset_labels)
    # On each of the 6 boards 5 hands are possible.
    expected = before * 2 / 6 + after / 5 * (2 * 2 + 3 * 4) / 6
    assert small.n_infosets == pytest.approx(expected)


def test_forgotten_buckets_are_asked_for_by_name(leduc: CompiledGame) -> None:
    def pair(hand: str, board: str) -> str:
        return str(hand[0] == board[0]) if board else hand[0]

    buckets = buckets_by_label(leduc, pair, by_board=True)
    with pytest.raises(ImperfectRecallError, match=r"in bucket 'False.*player 0 forgets"):
        abstract_hands(leduc, buckets)
    small = abstract_hands(leduc, buckets, imperfect_recall=True)
    assert small.strategy_class is not None
    assert len(np.unique(small.strategy_class)) < small.n_infosets < leduc.n_infosets


# -------------------------------------------------------------------- what refining does, and not

ABSTRACTIONS = ("JJJJJJ", "JJJJKK", "JJQQKK")
"""Hands of Leduc by bucket, each a refinement of the one before."""


@pytest.mark.full
def test_refining_helps_against_an_opponent_who_sees_everything(leduc: CompiledGame) -> None:
    """Waugh, Schnizlein, Bowling and Szafron 2009, theorem 3."""
    for player in range(2):
        worst = []
        for hands in ABSTRACTIONS:
            buckets = [None, None]
            buckets[player] = np.array(list(hands))
            solution = solve(abstract_hands(leduc, buckets), "lp")
            worst.append(evaluate(leduc, lift(solution)).best_responses[1 - player])
        assert worst == sorted(worst, reverse=True)
        assert worst[0] > worst[-1] + 0.1


# ---------------------------------------------------------------------------------------- hold'em

SPOT = {"pot": 100, "stacks": 100, "bets": "100%,a", "raises": "a"}


@pytest.fixture(scope="module")
def river() -> CompiledGame:
    return compile_game("holdem", board="Td9d6hQc2s", ranges=("77+,ATs+,KQo", "55-QQ,AJs"), **SPOT)


@pytest.mark.full
def test_suits_on_a_monotone_board_lose_nothing() -> None:
    spot = compile_game("holdem", board="Ah9h6h4h2h", ranges=("TT-JJ,KQs", "JJ-QQ,KTs"), **SPOT)
    classes = [spot.nodes.symmetry.class_of(player, 0, 0) for player in range(2)]
    small = abstract_hands(spot, classes)
    assert [len(own) for own in small.public.hands] == [own.max() + 1 for own in classes]
    # JJ: with the J of hearts, or without it; TT likewise; KQ of hearts, or of another suit.
    assert len(small.public.hands[0]) == 6
    solution = solve(small, "dcfr", iters=300, precision="float64")
    assert exploitability(spot, lift(solution)) == pytest.approx(
        solution.exploitability, rel=0, abs=1e-10
    )


def test_strengths_make_buckets_of_equal_weight_or_width(river: CompiledGame) -> None:
    for player in range(2):
        weights = river.nodes.rules.weights[player]
        coarse = buckets_by_strength(river, 3)[player]
        assert set(coarse.tolist()) == {0, 1, 2}
        shares = np.bincount(coarse, weights=weights) / weights.sum()
        assert (np.abs(shares - 1 / 3) < 0.15).all()
        fine = buckets_by_strength(river, 1000)[player]
        strength = np.array(
            river.nodes.rules.strength(river.nodes.rules.board, river.nodes.rules.hands[player])
        )
        # As many buckets as strengths: hands in one bucket beat the same hands.
        equity = buckets_by_strength(river, 10, spacing="width")[player]
        assert equity.max() <= 9
        order = np.argsort(strength, kind="stable")
        assert (np.diff(coarse[order]) >= 0).sum() >= 0.9 * len(order)
        assert len(np.unique(fine)) >= len(np.unique(strength))


def naive_strengths(spot: CompiledGame, board: list[str]) -> list[list[float]]:
    """Equities on a final board by pairs of hands and another program; NaN for impossible hands."""
    evaluate_cards = pytest.importorskip("phevaluator").evaluate_cards
    hands = [[[label[:2], label[2:]] for label in own] for own in spot.nodes.hands]
    # The best hand has the number 1.
    level = [
        [0 if set(hand) & set(board) else -evaluate_cards(*hand, *board) for hand in own]
        for own in hands
    ]
    found = []
    for player in range(2):
        own_found = []
        for hand, own in zip(hands[player], level[player], strict=True):
            won = met = 0.0
            others = zip(
                hands[1 - player],
                level[1 - player],
                spot.nodes.rules.weights[1 - player],
                strict=True,
            )
            for other, its, weight in others:
                if own and its and not set(hand) & set(other):
                    won += weight * (1.0 if own > its else 0.5 if own == its else 0.0)
                    met += weight
            own_found.append(won / met if met else float("nan"))
        found.append(own_found)
    return found


def naive_buckets(strengths: list[float], weights: np.ndarray, count: int) -> list[int]:
    """Each hand at the middle of the weight of its strength; 0 for hands without one."""
    total = sum(w for s, w in zip(strengths, weights, strict=True) if s == s)
    found = []
    for strength in strengths:
        weaker = sum(w for s, w in zip(strengths, weights, strict=True) if s < strength - 1e-9)
        equal = sum(w for s, w in zip(strengths, weights, strict=True) if abs(s - strength) < 1e-9)
        share = (weaker + equal / 2) / total if strength == strength else 0.0
        found.append(min(int(share * count), count - 1))
    return found


@pytest.mark.compiled
def test_buckets_of_strength_are_those_of_a_naive_count() -> None:
    ranges = ("77-99:0.25,JJ,ATs+", "55-TT:0.5,QQ,AJs,KJo")
    river = compile_game("holdem", board="Td9d6hQc2s", ranges=ranges, **SPOT)
    strengths = naive_strengths(river, ["Td", "9d", "6h", "Qc", "2s"])
    for player in range(2):
        weights = river.nodes.rules.weights[player]
        for count in (3, 8):
            equal_weight = buckets_by_strength(river, count)[player]
            assert equal_weight.tolist() == naive_buckets(strengths[player], weights, count)
            equal_width = buckets_by_strength(river, count, spacing="width")[player]
            expected = [min(int(count * strength), count - 1) for strength in strengths[player]]
            assert equal_width.tolist() == expected


@pytest.mark.compiled
def test_buckets_on_each_river_are_those_of_a_naive_count() -> None:
    """Nested buckets divide the ones before the river; the others do not look at them."""
    spot = compile_game("holdem", board="Td9d6hQc", ranges=("JJ:0.5,AKs", "TT,KJs:0.75"), **SPOT)
    names = board_names(spot)
    assert len(names) == 1 + 48
    nested = buckets_by_strength(spot, 2, by_board=True)
    plain = buckets_by_strength(spot, 2, by_board=True, nested=False)
    before = buckets_by_strength(spot, 2)
    for board, name in list(enumerate(names))[1::5]:
        strengths = naive_strengths(spot, ["Td", "9d", "6h", "Qc", *name.split()])
        for player, own in enumerate(strengths):
            assert nested[player][0].tolist() == before[player].tolist()
            expected = np.array(naive_buckets(own, spot.nodes.rules.weights[player], 2))
            possible = ~np.isnan(own)
            assert plain[player][board][possible].tolist() == expected[possible].tolist()
            of_both = 2 * before[player] + expected
            assert nested[player][board][possible].tolist() == of_both[possible].tolist()


@pytest.mark.compiled
def test_buckets_on_each_river_divide_those_on_the_turn() -> None:
    spot = compile_game("holdem", board="Td9d6hQc", ranges=("JJ,AKs", "TT,KJs"), **SPOT)
    buckets = buckets_by_strength(spot, 2, by_board=True)
    names = board_names(spot)
    assert len(names) == 1 + 48
    assert buckets[0].shape == (49, len(spot.nodes.rules.hands[0]))
    small = abstract_hands(spot, buckets)
    assert small.strategy_class is None
    forgets = buckets_by_strength(spot, 2, by_board=True, nested=False)
    with pytest.raises(ImperfectRecallError):
        abstract_hands(spot, forgets)
    for one in (small, abstract_hands(spot, forgets, imperfect_recall=True)):
        lifted = lift(solve(one, "cfr+", iters=30))
        assert exploitability(spot, lifted) < exploitability(spot, Policy.uniform(spot)) / 4


@pytest.mark.compiled
def test_histograms_of_the_future_tell_draws_from_made_hands() -> None:
    pytest.importorskip("sklearn")
    spot = compile_game("holdem", board="Td9d6hQc", ranges=("22,AdKd,AsKs", "TT,KJs"), **SPOT)
    buckets = buckets_by_future(spot, 2)
    by_label = dict(zip(spot.nodes.hands[0], buckets[0].tolist(), strict=True))
    twos = {bucket for label, bucket in by_label.items() if label[0] == label[2] == "2"}
    assert len(twos) == 1
    assert by_label["AdKd"] not in twos
    # Numbered by the mean over all rivers: the flush draw wins more often than a pair of deuces.
    rivers = [card for card in CARDS if card not in ("Td", "9d", "6h", "Qc")]
    won = {label: np.array([0.0, 0.0]) for label in ("AdKd", "2h2c")}
    for river in rivers:
        (strengths, _) = naive_strengths(spot, ["Td", "9d", "6h", "Qc", river])
        for label, sums in won.items():
            strength = strengths[spot.nodes.hands[0].index(label)]
            sums += [0.0, 0.0] if np.isnan(strength) else [strength, 1.0]
    mean = {label: float(own / count) for label, (own, count) in won.items()}
    assert mean["AdKd"] > mean["2h2c"]
    assert (by_label["AdKd"], twos) == (1, {0})
    again = buckets_by_future(spot, 2)
    for one, other in zip(buckets, again, strict=True):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------- what is refused


def test_wrong_buckets_are_refused(leduc: CompiledGame, river: CompiledGame) -> None:
    right = np.zeros(6, dtype=np.int64)
    with pytest.raises(ValueError, match=r"buckets\[1\] has the shape \(5,\); .* needs \(6,\)"):
        abstract_hands(leduc, [right, right[:5]])
    with pytest.raises(ValueError, match=r"buckets\[0\] has the shape .*\(6,\) or \(7, 6\)"):
        abstract_hands(leduc, [np.zeros((3, 6), dtype=np.int64), None])
    with pytest.raises(ValueError, match=r"buckets\[0\] must be whole numbers or texts, not float"):
        abstract_hands(leduc, [np.full(6, np.nan), None])
    with pytest.raises(ValueError, match="buckets must have one entry for each of 2 players, not"):
        abstract_hands(leduc, [right] * 3)
    with pytest.raises(ValueError, match=r"is not a game of private hands.*abstract\(game"):
        abstract_hands(compile_game("goofspiel(cards=3)"), [None, None])
    with pytest.raises(ValueError, match="leduc is not a card game"):
        buckets_by_strength(leduc, 3)
    with pytest.raises(ValueError, match="count must be a number of buckets"):
        buckets_by_strength(river, 0)
    with pytest.raises(ValueError, match="spacing must be one of quantiles, width"):
        buckets_by_strength(river, 2, spacing="equal")
