"""No-limit poker from the first card on: hand by hand, all boards counted, published charts.

Against OpenSpiel: ``formats/test_universal_poker.py``.
"""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import EveryRound
from support.command_line import python
from support.layouts import assert_same_solves
from support.tiers import tiered
from tensorcfr import GameError, Solution, Solver, compile_game, evaluate, solve
from tensorcfr._util.jit import kernel
from tensorcfr.analysis import SolvedSpot, values
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.compilers.dealt_rules import DealtCards
from tensorcfr.compilers.sizes.counted import size_of_cards
from tensorcfr.games import make_game
from tensorcfr.games.nolimit_poker import NoLimitPoker
from tensorcfr.games.poker.deck import HAND_NUMBER, HANDS, read_cards
from tensorcfr.games.poker.runouts import holdem_runouts
from tensorcfr.games.poker.strength import CATEGORY_SHIFT, strengths
from tensorcfr.model.arrays import TERMINAL
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.rules import CardGame, Decision, Fold, Runout, Showdown

SMALL: dict[str, dict[str, Any]] = {
    "push or fold": {
        **{"ranks": "2345", "suits": 2, "hand": 1, "runout": 2, "stacks": 5, "limps": False},
    },
    "a flop": {
        **{"ranks": "2345", "suits": 2, "hand": 1, "deals": (2,), "stacks": 6},
        **{"raises": "2x,a", "bets": "50%,a"},
    },
    "chosen flops": {
        **{"ranks": "2345", "suits": 2, "hand": 1, "deals": (2,), "stacks": (7, 6)},
        **{"raises": "2x,a", "bets": "50%,a", "flops": [("2c3c", 2.0), ("4c5d", 1.0)]},
    },
    "chosen flops and a turn": {
        **{"ranks": "234", "suits": 3, "deals": (1, 1), "stacks": 4, "raises": "a"},
        **{"bets": ("", "100%", "50%"), "flops": [("2c", 2.0), ("4c", 1.0)], "ante": 0.25},
    },
}


@pytest.mark.parametrize("name", tiered(SMALL, ["push or fold", "chosen flops"]))
def test_equal_hand_by_hand(name: str, interpreted: None) -> None:
    """Suits merged and boards in chunks, or every pair of hands on every board by itself."""
    rules = NoLimitPoker(**SMALL[name])
    game, flat = compile_game(rules), compile_game(rules, cut=False)
    counts = [
        (one.n_infosets, one.n_sequences, one.n_histories, one.n_decision_nodes)
        for one in (game, flat)
    ]
    assert counts[0] == counts[1]
    size = size_of_cards(rules, name)
    assert (size.infosets, size.sequences, size.histories, size.decisions) == counts[0]
    assert size.chunks is not None
    assert size.chunks.entries == game.chunks.n_entries
    one, other = Solver(game, "cfr"), Solver(flat, "cfr")
    assert_same_solves(one, other)


def test_chosen_flops_are_drawn_before_the_hands() -> None:
    """The probability of two hands and a flop, by the definition: the weight of the flop's kind,
    divided among its suits; and then two hands of the cards that are left."""
    rules = NoLimitPoker(**SMALL["chosen flops"])
    by_hand, cards = HandByHand(rules), list(rules.cards)
    joint: dict[tuple[int, int, str], float] = {}
    for kind, weight in ((("2c3c", "2d3d"), 2 / 3), (("4c5d", "4d5c"), 1 / 3)):
        for flop in kind:
            left = [k for k, card in enumerate(cards) if card not in (flop[:2], flop[2:])]
            for one in left:
                for other in left:
                    if one != other:
                        key = one, other, flop[2:] + flop[:2]
                        joint[key] = weight / 2 / (len(left) * (len(left) - 1))
    number = {int(hand[0]): at for at, hand in enumerate(rules.hands[0])}
    flop_shares = by_hand.cards((), 2)
    total = 0.0
    for (one, other, flop), share in joint.items():
        at = number[one], number[other]
        label = flop if flop in flop_shares else flop[2:] + flop[:2]
        assert by_hand.prior[at] * flop_shares[label][at] == pytest.approx(share, abs=1e-15)
        total += share
    assert total == pytest.approx(1.0, abs=1e-14)
    game = compile_game(rules)
    assert isinstance(game, ChunkedGame)
    nodes = game.nodes
    np.testing.assert_allclose(nodes.deal_probability(0), by_hand.prior, rtol=0, atol=1e-15)
    line = nodes.find_line("call check 3d2d")
    shares = by_hand.prior * flop_shares["3d2d"]
    np.testing.assert_allclose(nodes.deal_probability(line), shares, rtol=0, atol=1e-15)
    ones = [np.ones(len(hands)) for hands in rules.hands]
    for node, both in ((0, by_hand.prior), (line, shares)):
        for player in range(2):
            reach = nodes.counterfactual_reach(node, player, ones)
            np.testing.assert_allclose(reach, both.sum(axis=1 - player), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", tiered(["push or fold", "chosen flops"], fast=["push or fold"]))
def test_history_by_history(name: str, interpreted: None) -> None:
    """The same game without a public tree has the same histories and values."""
    changed: dict[str, Any] = {"raises": "a", "bets": ""}
    if "flops" in SMALL[name]:
        changed["flops"] = [("2c3c", 2.0), ("4c4d", 1.0)]
    rules = NoLimitPoker(**SMALL[name] | changed)
    one, other = compile_game(rules), compile_game(DealtCards(rules))
    assert one.n_infosets == other.n_infosets
    found, expected = (solve(game, "cfr+", iters=20).evaluation for game in (one, other))
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["push or fold", "chosen flops"])
def test_files_compile_it_again(name: str, tmp_path: Path, interpreted: None) -> None:
    """With and without chunks; the policy and its values are the same."""
    solution = solve(compile_game("nolimit_poker", **SMALL[name]), "cfr+", iters=5)
    found = Solution.load(solution.save(tmp_path / "solution.npz"))
    assert found.game.digest == solution.game.digest
    assert evaluate(found.game, found.policy) == evaluate(solution.game, solution.policy)


@pytest.mark.parametrize(
    "name", ["push_or_fold", pytest.param("chosen flops", marks=pytest.mark.full)]
)
def test_a_game_is_the_same_on_any_machine(name: str) -> None:
    """Files and workers know a game by its arrays, which no number of threads of a linear algebra
    library may change; Dask gives its workers one."""
    spec = f"compile_game({name!r})"
    if name == "chosen flops":
        spec = (
            "compile_game('nolimit_poker', deals=(3,), runout=5, ante=0.1, "
            "flops=[('2c3c4d', 0.3), ('KcKdAh', 0.7)])"
        )
    program = f"from tensorcfr import compile_game; print({spec}.digest)"
    found = {
        python(
            *("-c", program),
            env=os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), threads),
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(found) == 1


# ----------------------------------------------------------------------------------------- rules


def actions_at(rules: NoLimitPoker, line: str) -> tuple[str, ...]:
    """What can be done after some actions and deals (``*``)."""
    state = rules.root()
    for step in line.split():
        state = rules.next(state, None if step == "*" else step)
    node = rules.node(state)
    assert isinstance(node, Decision)
    return tuple(map(str, node.actions))


@pytest.mark.parametrize(
    ("line", "actions"),
    [
        ("", "fold call raise2.5 allin"),
        ("call", "check raise2.5 allin"),  # The blind is raised, not bet.
        ("raise2.5", "fold call raise6.25 allin"),
        ("allin", "fold call"),
        ("raise2.5 raise6.25", "fold call raise15.63 allin"),  # 15.625, to the cent.
        ("raise2.5 raise6.25 raise15.63", "fold call allin"),  # 2.5 times is beyond the stack.
        ("call check *", "check bet1.5"),  # 75 % of a pot of 2.
        ("call check * check bet1.5", "fold call raise4.5 allin"),
        ("call check * bet1.5 raise4.5", "fold call raise13.5 allin"),
    ],
)
def test_amounts(line: str, actions: str) -> None:
    """By hand, with 20 big blinds; raises are to a multiple of the bet, and the pot counts what the
    player would call."""
    rules = NoLimitPoker(
        stacks=(20, 25), deals=(3,), raises=("2.5x,a", "3x,a"), bets=("", "75%"), most_raises=9
    )
    assert " ".join(actions_at(rules, line)) == actions


def test_least_raises_and_pots() -> None:
    """The least raise goes as far beyond the bet as that went beyond the one before; antes count in
    the pot, and 0.5 times a bet is no raise."""
    rules = NoLimitPoker(stacks=101, ante=1, raises="1.1x,100%", most_raises=3)
    assert actions_at(rules, "") == ("fold", "call", "raise2", "raise5")
    assert actions_at(rules, "raise5") == ("fold", "call", "raise9", "raise17")
    assert actions_at(rules, "raise5 raise17 raise53") == ("fold", "call")
    fold = rules.node(rules.next(rules.next(rules.root(), "raise5"), "fold"))
    assert fold == Fold((-2.0, 2.0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stacks": (5, 6, 7)}, "stacks must be one number or two, not 3"),
        ({"stacks": ()}, "stacks must be one number or two, not 0"),
        ({"deals": (3,), "flops": []}, "flops must contain a board"),
        ({"deals": (3,), "flops": [("AcKcQc", "a")]}, "weight of 'AcKcQc' must be a number above"),
        ({"deals": (3,), "flops": [(1, 2, 3)]}, r"\(1, 2, 3\) must be 3 cards of the deck"),
        ({"stacks": 1}, "stacks must be above the big blind"),
        ({"blinds": (2, 1)}, "the small blind must not be above the big one"),
        ({"blinds": (0, 0)}, "there must be blinds or an ante"),
        ({"raises": ("a", "a")}, "raises has 2 texts for 1 rounds"),
        ({"raises": "2y"}, "nolimit_poker: raises: '2y' at character 1 is not a size"),
        ({"deals": (5,), "hand": 2, "ranks": "X"}, "ranks must be adjacent ones"),
        ({"short": True, "ranks": "56789TJQKA"}, "a short deck has no rank below the six"),
        ({"deals": (5, 1)}, "hand and board have at most 7 cards"),
        ({"flops": 25}, "flops needs a game with deals"),
        ({"deals": (3,), "flops": ["AcKc"]}, "'AcKc' must be 3 cards of the deck"),
        ({"deals": (3,), "flops": ["AcKcKc"]}, "'AcKcKc' must be 3 cards of the deck"),
        (
            {"deals": (3,), "flops": ["AcKcQc", "AdKdQd"]},
            "'AdKdQd' differs from another only in suits",
        ),
        ({"deals": (3,), "flops": 0}, "flops must be a number up to 1,755 or boards, not 0"),
        ({"deals": (3,), "flops": 3, "ranks": "QKA"}, "must be 3 cards of the deck"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(GameError, match=words):
        make_game("nolimit_poker", **options)


class Wrong(EveryRound):
    """Rules with boards, or an end, that cannot be."""

    def __init__(self, boards: Any, end: Any = None) -> None:
        super().__init__(1, ranks=3, suits=2, width=1, rounds=1)
        self.boards, self.end = boards, end

    def node(self, state: Any) -> Any:
        node = super().node(state)
        return self.end if self.end is not None and isinstance(node, Showdown) else node


def test_chips_are_any_real_numbers() -> None:
    rules = NoLimitPoker(stacks=Fraction(41, 2), ante=Fraction(1, 8), blinds=(Fraction(1, 2), 1))
    assert rules.betting == NoLimitPoker(stacks=20.5, ante=0.125, blinds=(0.5, 1)).betting


def test_boards_that_tell_suits_apart() -> None:
    """Only permutations that leave the boards and their weights make hands alike."""
    rules = Wrong({(0,): 1.0, (1,): 2.0, (4,): 3.0, (5,): 3.0})
    game, flat = compile_game(rules), compile_game(rules, cut=False)
    one, other = Solver(game, "cfr+"), Solver(flat, "cfr+")
    assert_same_solves(one, other, (3,))


EVEN = (1.0, -1.0), (0.0, 0.0), (-1.0, 1.0)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (Wrong({(1, 0): 1.0}), r"board \(1, 0\) to deal must be free cards, ascending"),
        (Wrong({(6,): 1.0}), r"board \(6,\) to deal must be free cards"),
        (Wrong({(1,): 0.0}), r"board \(1,\) to deal has the weight 0.0"),
        (Wrong({(1, 2): 1.0}), r"1 cards are dealt first, and the board \(1, 2\) to deal has 2"),
        (Wrong(None, Runout(*EVEN, 1)), "1 cards are run out, after a deal"),
    ],
)
def test_rules_that_cannot_be(rules: CardGame, words: str) -> None:
    with pytest.raises(GameError, match=words):
        compile_game(rules)


SHORT = {
    "straight flush": 6 * 4,
    "four of a kind": 9 * 8 * 4,
    "flush": 4 * comb(9, 5) - 6 * 4,
    "full house": 9 * 4 * 8 * 6,
    "straight": 6 * 4**5 - 6 * 4,
    "three of a kind": 9 * 4 * comb(8, 2) * 4**2,
    "two pair": comb(9, 2) * 6 * 6 * 28,
    "pair": 9 * 6 * comb(8, 3) * 4**3,
}
"""Hands of five of 36 cards, the strongest first; six straights begin with A6, 67, ..., TJ."""


def test_hands_of_a_short_deck() -> None:
    """All hands of five cards, in the order of their kinds; straights by the highest card."""
    rules = NoLimitPoker(short=True)
    deck = list(rules.cards)
    assert len(deck) == 36
    assert deck[0][0] == "6"
    strengths = []
    for three in combinations(range(36), 3):
        pairs = np.array(list(combinations(range(three[2] + 1, 36), 2)))
        if len(pairs):
            strengths.append(rules.strength(three, pairs))
    found = np.sort(np.concatenate(strengths))[::-1]
    assert len(found) == comb(36, 5)
    begin = 0
    for name, count in SHORT.items():
        kind = found[begin : begin + count] >> CATEGORY_SHIFT
        assert len(set(kind.tolist())) == 1, name
        begin += count
    assert found[begin - 1] >> CATEGORY_SHIFT != found[begin] >> CATEGORY_SHIFT


# -------------------------------------------------------------------------------------- run-outs


@pytest.mark.parametrize(
    ("deck", "cards"),
    [
        ({"ranks": "2345", "suits": 2, "hand": 1}, 3),
        ({"ranks": "234", "suits": 3}, 2),
        ({"ranks": "23456", "suits": 2}, 5),
    ],
)
def test_all_boards_are_counted(deck: dict[str, Any], cards: int) -> None:
    """Boards up to a change of suits, and every board by itself."""
    rules = NoLimitPoker(**deck)
    found, expected = rules.runouts(cards), CardGame.runouts(rules, cards)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_runouts_of_hold_em() -> None:
    """As published: Ac Ks wins 59.13 % of all boards against 9d 7d and loses 40.49 % (liverium.com,
    "Game-theoretic optimal strategy (II)"); and on each board one of both wins, or they tie."""
    won, tied = holdem_runouts()
    one, other = (HAND_NUMBER[read_cards(hand, "")] for hand in ("AcKs", "9d7d"))
    boards = comb(48, 5)
    assert round(100 * won[one, other] / boards, 2) == 59.13
    assert round(100 * won[other, one] / boards, 2) == 40.49
    apart = ~(HANDS[:, None, :, None] == HANDS[None, :, None, :]).any(axis=(2, 3))
    np.testing.assert_array_equal(won + tied + won.T, boards * apart)
    np.testing.assert_array_equal(tied, tied.T)


@kernel
def count(hands: np.ndarray, left: np.ndarray) -> tuple[int, int]:
    """On how many boards of five of the cards that are left the first of two hands wins, and
    ties."""
    won = tied = 0
    for a in range(len(left)):
        for b in range(a):
            for c in range(b):
                for d in range(c):
                    for e in range(d):
                        board = np.array([left[a], left[b], left[c], left[d], left[e]])
                        one, other = strengths(board, hands)
                        won += one > other
                        tied += one == other
    return won, tied


@pytest.mark.full
def test_runouts_board_by_board() -> None:
    """Some pairs of hands on every board, without a change of suits."""
    won, tied = holdem_runouts()
    rng = np.random.default_rng(7)
    for _ in range(6):
        one, other = rng.integers(0, len(HANDS), 2).tolist()
        left = np.setdiff1d(np.arange(52), HANDS[[one, other]])
        if len(left) == 48:
            assert count(HANDS[[one, other]], left) == (won[one, other], tied[one, other])


# The highest stacks, in big blinds, with which each hand is pushed, and calls a push; rows and
# columns from the ace to the deuce, suited hands above the diagonal; 20 for 20 and more.
# HoldemResources, "Heads-up push/fold Nash equilibrium" (the charts of holdemresources.net/hune);
# where 63s, 53s and 43s have gaps there is a 0.
PUSH = """
20 20 20 20 20 20 20 20 20 20 20 20 20
20 20 20 20 20 20 20 20 20 20 20 19.9 19.3
20 20 20 20 20 20 20 20 20 20 16.3 13.5 12.7
20 20 20 20 20 20 20 20 18.6 14.7 13.5 10.6 8.5
20 20 20 20 20 20 20 20 20 11.9 10.5 7.7 6.5
20 20 20 20 20 20 20 20 20 14.4 6.9 4.9 3.7
20 18.0 13.0 13.3 17.5 20 20 20 20 18.8 10.1 2.7 2.5
20 16.1 10.3 8.5 9.0 10.8 14.7 20 20 20 13.9 2.5 2.1
20 15.1 9.6 6.5 5.7 5.2 7.0 10.7 20 20 16.3 0 2.0
20 14.2 8.9 6.0 4.1 3.5 3.0 2.6 2.4 20 20 0 2.0
20 13.1 7.9 5.4 3.8 2.7 2.3 2.1 2.0 2.1 20 0 1.8
20 12.2 7.5 5.0 3.4 2.5 1.9 1.8 1.7 1.8 1.6 20 1.7
20 11.6 7.0 4.6 2.9 2.2 1.8 1.6 1.5 1.5 1.4 1.4 20
"""
# The chart of calls as another program prints it (CandyPoker, the README of
# github.com/sweeterthancandy/CandyPoker).
CALL = """
20 20 20 20 20 20 20 20 20 20 20 20 20
20 20 20 20 20 20 17.6 15.3 14.3 13.2 12.0 11.4 10.7
20 20 20 20 20 16.0 13.0 10.5 9.9 8.9 8.4 7.8 7.2
20 20 19.1 20 18.1 13.3 10.6 8.8 7.0 6.9 6.1 5.8 5.5
20 20 14.8 12.6 20 11.5 9.2 7.4 6.3 5.2 5.1 4.8 4.5
20 16.9 11.6 9.5 8.3 20 8.3 6.9 5.8 5.0 4.3 4.1 3.9
20 13.7 9.7 7.6 6.6 6.0 20 6.5 5.6 4.8 4.1 3.6 3.5
20 12.2 7.9 6.3 5.4 4.9 4.7 20 5.4 4.8 4.1 3.6 3.3
20 10.9 7.3 5.3 4.6 4.2 4.1 4.0 20 4.9 4.3 3.8 3.3
20 10.2 6.8 5.1 4.0 3.7 3.6 3.6 3.7 20 4.6 4.0 3.6
18.2 9.1 6.2 4.7 3.8 3.3 3.2 3.2 3.3 3.5 20 3.8 3.4
16.4 8.6 5.8 4.4 3.6 3.1 2.9 2.9 2.9 3.1 3.0 20 3.3
15.6 8.1 5.6 4.2 3.5 3.0 2.8 2.6 2.7 2.8 2.7 2.6 15.0
"""


def chart(text: str) -> np.ndarray:
    found = np.array([[float(cell) for cell in row.split()] for row in text.strip().split("\n")])
    assert found.shape == (13, 13)
    return found


@pytest.mark.parametrize("stacks", [10, pytest.param(7.4, marks=pytest.mark.full)])
def test_push_or_fold_is_as_published(stacks: float) -> None:
    """Every hand, but those that a chart pushes or calls up to about this stack."""
    game = compile_game(f"push_or_fold(stacks={stacks})")
    solution = solve(game, "cfr+", iters=2000)
    assert solution.exploitability < 1e-4
    spot = SolvedSpot(solution)
    for line, action, said, gaps in (
        ("", "allin", PUSH, {(8, 11), (9, 11), (10, 11)}),
        ("allin", "call", CALL, set()),
    ):
        shown = spot.table(line)
        own = shown.strategy[:, shown.actions.index(action)]
        played, most = shown.grid(own), chart(said)
        for row in range(13):
            for column in range(13):
                if abs(most[row, column] - stacks) > 0.25 and (row, column) not in gaps:
                    plays = float(stacks < most[row, column])
                    assert played[row, column] == pytest.approx(plays, abs=0.05), (row, column)


def test_the_ends_of_push_or_fold_make_its_value() -> None:
    """Folds, and all-ins that are run out, at the public nodes: no compiled payoff is asked."""
    game = compile_game("push_or_fold")
    solution = solve(game, iters=20)
    found, nodes = values(game, solution.policy), game.nodes
    assert nodes is not None
    for player in range(2):
        paid = 0.0
        for node in range(nodes.count):
            if nodes.player(node) == TERMINAL:
                own = found.own_reaches(node)
                paid += own[player] @ nodes.payoffs(node, player, own)
        assert paid == pytest.approx(solution.value[player], abs=1e-12)
