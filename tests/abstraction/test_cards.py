"""Buckets of games of cards in chunks, round by round: against CFR that knows infosets only."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from support.bucket_cfr import BucketCFR
from support.card_games import RandomCards
from support.reference import build_tree
from support.tiers import tiered
from tensorcfr import (
    CardGame,
    CompiledGame,
    Policy,
    Solution,
    Solver,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.abstraction import BucketedCards, abstract, abstract_cards, lift
from tensorcfr.compilers.cards.card_public_nodes import CardNodes
from tensorcfr.compilers.dealt_rules import DealtCards
from tensorcfr.games.limit_poker import LimitPoker
from tensorcfr.games.nolimit_poker import NoLimitPoker

GAMES: dict[str, Any] = {
    "one card, a board of two": lambda: LimitPoker(
        **{"ranks": "2345", "suits": 2, "hand": 1, "deals": (2,), "bets": (10, 20)},
        **{"raises": (1, 1), "blinds": (5, 10)},
    ),
    "two deals": lambda: LimitPoker(
        **{"ranks": "234", "suits": 2, "hand": 1, "deals": (1, 1), "bets": (1, 2, 2)},
        **{"raises": (1, 0, 1), "blinds": (1, 2)},
    ),
    "two cards": lambda: LimitPoker(
        **{"ranks": "234", "suits": 2, "hand": 2, "deals": (1,), "bets": (1, 2)},
        **{"raises": (1, 1), "blinds": (1, 2)},
    ),
    "chosen boards, all-in": lambda: NoLimitPoker(
        **{"ranks": "2345", "suits": 2, "hand": 1, "deals": (2,), "stacks": 5.37, "raises": "a"},
        **{"bets": "47%", "flops": [("2c3c", 2.0), ("4c5d", 1.1)]},
    ),
    "random": lambda: RandomCards(3, cards=6, width=1, rounds=1, public=1),
    "random, two cards": lambda: RandomCards(8, cards=6, width=2, rounds=1, public=0),
    "random, two deals": lambda: RandomCards(5, cards=6, width=1, rounds=2, public=0),
}
FAST = ((False, "one card, a board of two"), (True, "random"))


def by_name(rules: CardGame, count: int) -> Any:
    """Buckets from a hash of the player, of the board and of a hand, the same in all suits where
    suits are alike."""
    rank = isinstance(rules, (LimitPoker, NoLimitPoker))

    def bucket(player: int, board: tuple[str, ...], hands: tuple[str, ...]) -> np.ndarray:
        said = " ".join(sorted(card[0] for card in board)) if rank else " ".join(sorted(board))
        names = ["".join(sorted(hand[::2])) if rank else hand for hand in hands]
        return np.array([crc32(f"{player} {said} {name}".encode()) % count for name in names])

    return bucket


def buckets_of_infosets(game: CompiledGame, labels: Any, rules: list[Any]) -> dict[str, str]:
    """The bucket of every infoset: what the player knew in every round, and the line."""
    nodes = CardNodes.of(game)
    found = {}
    for label in labels:
        infoset = nodes.find(label)
        assert infoset is not None, label
        player = infoset.layout.player
        cards = nodes.cards(infoset.node)[len(nodes.rules.board) :]
        known, used = [], 0
        for r, dealt in enumerate([0, *nodes.betting.deals]):
            used += dealt
            if used > len(cards):
                break
            board = tuple(str(nodes.rules.cards[card]) for card in cards[:used])
            own = rules[r]
            if own is None:
                # Before the board hands are the same that differ in suits alone.
                hand = nodes.hands[player][infoset.hand]
                is_suited = len({*hand[1::2]}) < len(hand) // 2
                same = f"{sorted(hand[::2])} {is_suited}"
                known.append(same if len(nodes.symmetry.cards) > 1 else hand)
            else:
                known.append(str(own(player, board, nodes.hands[player])[infoset.hand]))
        found[label] = f"{player} {known}{nodes.label(infoset.node)}"
    return found


@pytest.mark.parametrize(("early", "name"), tiered(product((True, False), GAMES), FAST))
def test_equal_to_infosets_that_share_a_strategy(name: str, early: bool) -> None:
    """The lifted averages after 1, 2, 3 and 10 iterations of CFR; buckets differ between players,
    hands of one have different weights; wherever the game is cut."""
    rules = GAMES[name]()
    full = compile_game(rules)
    deals = len(CardNodes.of(full).betting.deals)
    how = [by_name(rules, 2), *([by_name(rules, 3)] * deals)]
    if not early:
        how[0] = None
    cuts = [compile_game(rules, cut=deal) for deal in range(1, deals + 1)]
    solvers = [Solver(abstract_cards(game, how), "cfr") for game in cuts]
    if isinstance(rules, NoLimitPoker) or not early:
        # Some actions there tie but for rounding, which the slow solver takes for a difference.
        flat = compile_game(DealtCards(rules))
        names = buckets_of_infosets(full, flat.infoset_labels, how)
        histories = Solver(abstract(flat, infosets=names), "cfr")
        labels, average = flat.infoset_labels, lambda label: list(policy[label].values())
    else:
        tree = build_tree(DealtCards(rules))
        histories = BucketCFR(tree, buckets_of_infosets(full, tree.infosets, how))
        labels, average = tuple(tree.infosets), histories.average
    for count in (1, 1, 1, 7):
        for _ in range(count):
            histories.iterate()
        if isinstance(histories, Solver):
            policy = lift(histories.average_policy())
        for solver in solvers:
            solver.iterate(count)
            lifted = lift(solver.average_policy())
            for label in labels:
                expected = pytest.approx(average(label), rel=0, abs=1e-12)
                assert list(lifted[label].values()) == expected, label


def test_hands_as_they_are_are_the_full_game() -> None:
    """Bit for bit, and with buckets after the flop alone the first round keeps its hands."""
    full = compile_game(GAMES["two deals"]())
    same = abstract_cards(full, (None, None, None))
    one, other = solve(full, "cfr", iters=10), solve(same, "cfr", iters=10)
    assert np.array_equal(one.policy.probabilities, other.policy.probabilities)
    assert same.n_infosets == full.n_infosets


def mean_strengths(rules: CardGame, board: tuple[int, ...], final: int) -> np.ndarray:
    """The expected strength of every hand of one card, over all boards of some cards; NaN for
    cards of the board."""
    hands = rules.hands[0][:, 0].tolist()
    found = []
    for hand in hands:
        shares = []
        left = [card for card in hands if card not in (*board, hand)]
        for more in combinations(left, final - len(board)):
            every = (*board, *more)
            level = rules.strength(every, rules.hands[0])
            others = [level[k] for k, card in enumerate(hands) if card not in (*every, hand)]
            own = level[hands.index(hand)]
            shares.append(np.mean([(own > one) + (own == one) / 2 for one in others]))
        found.append(np.mean(shares) if hand not in board else np.nan)
    return np.array(found)


def test_numbers_are_buckets_by_expected_strength() -> None:
    """Three of equal weight before the board, two on it; hands of equal strength stay together."""
    rules = GAMES["one card, a board of two"]()
    full = compile_game(rules)
    small = abstract_cards(full, (3, 2))
    nodes = CardNodes.of(small)
    first = mean_strengths(rules, (), 2)
    lanes = nodes.layout(0).lane
    order = np.argsort(first)
    assert len(set(lanes.tolist())) == 3
    assert (np.diff(lanes[order]) >= 0).all()
    board = next(n for n in nodes.find_lines("call check *") if nodes.cards(n) == (0, 6))
    later, own = mean_strengths(rules, (0, 6), 2), nodes.layout(board).lane
    live = ~np.isnan(later)
    for bucket in set(lanes[live].tolist()):
        here = live & (lanes == bucket)
        assert len(set(own[here].tolist())) <= 2
        # Weaker hands of one bucket before the board are not above stronger ones on it.
        assert (np.diff(own[here][np.argsort(later[here], kind="stable")]) >= 0).all()


def test_measured_in_the_full_game(tmp_path: Path) -> None:
    """Finer buckets lose less here; a lifted policy is one of arrays; files ask for the game."""
    full = compile_game(GAMES["one card, a board of two"]())
    lost = []
    for buckets in ((1, 1), (2, 2), (None, None)):
        small = abstract_cards(full, buckets)
        solution = solve(small, "cfr+", iters=200)
        assert solution.exploitability < 0.05
        lost.append(evaluate(full, lift(solution)).exploitability)
    assert lost[0] > lost[1] > lost[2]
    small = abstract_cards(full, (2, 2))
    assert isinstance(small, BucketedCards)
    assert "finer abstraction" in small.caveat
    solution = solve(small, "cfr+", iters=20)
    arrays = Policy(full, np.array(lift(solution).probabilities))
    assert evaluate(full, arrays) == evaluate(full, lift(solution))
    loaded = Solution.load(solution.save(tmp_path / "buckets.npz"), game=small)
    assert np.array_equal(loaded.policy.probabilities, solution.policy.probabilities)


@pytest.mark.parametrize(
    ("buckets", "words"),
    [
        ((2,), "buckets has 1 entries, and .* has 2 rounds"),
        ((0, 2), r"buckets\[0\] must be a number from 1, None or a function"),
        ((True, 2), r"buckets\[0\] must be"),
        ((None, lambda *given: [1.5]), r"buckets\[1\] must return whole numbers of shape \(8,\)"),
        (
            (lambda player, board, hands: np.arange(len(hands)), None),
            r"buckets\[0\] separates 5c and 5d before the board",
        ),
        ((None, lambda player, board, hands: np.arange(len(hands))), "separates 5c and 5d on"),
    ],
)
def test_wrong_buckets(buckets: Any, words: str) -> None:
    full = compile_game(GAMES["one card, a board of two"]())
    with pytest.raises(ValueError, match=words):
        abstract_cards(full, buckets)


def test_games_without_boards_or_cards() -> None:
    with pytest.raises(ValueError, match="is not a card game"):
        abstract_cards(compile_game("kuhn"), (2,))
    ranks = {"ranks": "2345", "suits": 2, "hand": 1, "runout": 2, "stacks": 5, "limps": False}
    push = compile_game(NoLimitPoker(**ranks))
    with pytest.raises(ValueError, match="deals no board"):
        abstract_cards(push, (2,))
    with pytest.raises(ValueError, match="is not flat: abstract_hands"):
        abstract_cards(compile_game(GAMES["two deals"]()), (2, 2, 2)).flat()
