"""Card games of three players equal flat games, OpenSpiel, and sums over triples of hands."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from support.card_games import LimitOfThree, ThreeRandom, kuhn_of_three, leduc_of_three
from support.layouts import same_strategies
from support.tiers import tiered
from support.triples import paid, sums_over_triples
from support.variants import VARIANTS
from tensorcfr import (
    Fold,
    GameError,
    Policy,
    Showdown,
    SidePots,
    Solver,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.compilers import game_size
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.tournaments import tournament
from tensorcfr.model.arrays import TERMINAL
from tensorcfr.model.same_numbers import have_same_numbers

SHAPES: dict[str, dict[str, Any]] = {
    "one card": {"cards": 7, "width": 1, "rounds": 0, "public": 0},
    "one card, one round": {"cards": 7, "width": 1, "rounds": 1, "public": 0},
    "two cards, river": {"cards": 9, "width": 2, "rounds": 0, "public": 1},
    "two cards, turn": {"cards": 8, "width": 2, "rounds": 1, "public": 0},
    "one card, suits": {"cards": 8, "width": 1, "rounds": 1, "public": 0, "suits": 2},
    "two cards, suits": {"cards": 8, "width": 2, "rounds": 1, "public": 0, "suits": 2},
    "twelve cards": {"cards": 12, "width": 2, "rounds": 0, "public": 3},
}
MOST_HISTORIES = 40_000


@pytest.mark.compiled
@pytest.mark.parametrize(
    "shape", tiered(SHAPES, ["two cards, river", "one card, suits", "one card, one round"])
)
def test_a_game_of_three_players_equals_the_flat_game(shape: str) -> None:
    """Counts, and strategies, values and best responses after 1, 2, 3 and 10 iterations.

    The floor keeps every reach above 0, as in the test of two players.
    """
    compared = 0
    for seed in range(60):
        rules = ThreeRandom(seed, **SHAPES[shape])
        if game_size(rules).histories > MOST_HISTORIES:
            continue
        game = compile_game(rules)
        betting = game.nodes.betting
        if {*betting.player[betting.player >= 0]} != {0, 1, 2}:
            continue
        if betting.rounds != SHAPES[shape]["rounds"]:
            continue
        flat = compile_game(rules, cut=False)
        for count in ("n_infosets", "n_sequences", "n_histories", "n_decision_nodes"):
            assert getattr(game, count) == getattr(flat, count), count
        assert game.zero_sum == flat.zero_sum
        algorithm = VARIANTS["cfr+"][0](floor=0.01)
        cards, whole = Solver(game, algorithm), Solver(flat, algorithm)
        for count in (1, 1, 1, 7):
            cards.iterate(count)
            whole.iterate(count)
            assert same_strategies(cards, whole) <= 1e-11
            found, expected = cards.evaluate(), whole.evaluate()
            np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)
            np.testing.assert_allclose(
                found.best_responses, expected.best_responses, rtol=0, atol=1e-12
            )
        compared += 1
        if compared == 2:
            return
    pytest.fail("too few games")


@pytest.mark.compiled
@pytest.mark.parametrize("shape", ["one card, suits", "two cards, river", "two cards, turn"])
def test_payoffs_of_single_terminals_are_sums_over_triples(shape: str) -> None:
    """Payoffs of the folds and showdowns of random games, with random reaches.

    Two folds and up to six showdowns of each game, on the first and last boards.
    """
    rules = ThreeRandom(3, **SHAPES[shape])
    nodes, rng = compile_game(rules).nodes, np.random.default_rng(5)
    below, ends = [0], []
    for node in below:
        below += [step.node for step in nodes.children(node)]
        if nodes.player(node) == TERMINAL:
            ends.append(node)
    is_shown = [isinstance(rules.node(nodes.state(node)), SidePots) for node in ends]
    shown = [node for node, pots in zip(ends, is_shown, strict=True) if pots]
    folds = [node for node, pots in zip(ends, is_shown, strict=True) if not pots]
    assert shown
    for node in folds[:2] + shown[:3] + shown[-3:]:
        reaches = [rng.random(len(hands)) for hands in rules.hands]
        weights = [w * r for w, r in zip(rules.weights, reaches, strict=True)]
        end, board = rules.node(nodes.state(node)), nodes.cards(node)
        for player in range(3):
            each = lambda hands: paid(rules, end, board, hands)[player]  # noqa: B023, E731
            sums = sums_over_triples(rules, board, weights, player, each)
            expected = sums * rules.weights[player] * nodes.share(node)
            found = nodes.payoffs(node, player, reaches)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.compiled
def test_kuhn_of_three_equals_openspiel() -> None:
    pytest.importorskip("pyspiel")
    cards = compile_game(kuhn_of_three())
    other = compile_game("openspiel:kuhn_poker(players=3)")
    one, two = Solver(cards, "cfr"), Solver(other, "cfr")
    for count in (1, 1, 1, 7):
        one.iterate(count)
        two.iterate(count)
        found, expected = one.evaluate(), two.evaluate()
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-13)
        np.testing.assert_allclose(
            found.best_responses, expected.best_responses, rtol=0, atol=1e-13
        )


@pytest.mark.compiled
def test_leduc_of_three_equals_openspiel() -> None:
    """The values of uniform play are those of ``pyspiel.expected_returns`` for
    ``leduc_poker(players=3)`` and ``pyspiel.UniformRandomPolicy`` (open_spiel 1.6); the counts are
    those of the built-in ``leduc(players=3)``."""
    game = compile_game(leduc_of_three())
    assert (game.n_histories, game.n_infosets, game.n_sequences) == (1_831_601, 25_800, 59_067)
    values = evaluate(game, Policy.uniform(game)).values
    openspiel = [-0.1586130401234569, -0.019097222222222487, 0.17771026234567885]
    np.testing.assert_allclose(values, openspiel, rtol=0, atol=1e-13)


@pytest.mark.full
@pytest.mark.compiled
def test_leduc_of_three_equals_the_built_in_game() -> None:
    one, two = (
        Solver(compile_game(leduc_of_three()), "cfr+"),
        Solver(compile_game("leduc(players=3)", symmetry=False), "cfr+"),
    )
    for count in (1, 1, 1, 7):
        one.iterate(count)
        two.iterate(count)
        found, expected = one.evaluate(), two.evaluate()
        np.testing.assert_allclose(
            found.best_responses, expected.best_responses, rtol=0, atol=1e-12
        )


SPOT: dict[str, Any] = {
    "board": "Td9d6hQc2s",
    "ranges": ("QQ-TT,AQ", "JJ-99,KQs,T9s", "99,66,ATs+,KTs"),
    "pot": 60,
    "stacks": (100, 200, 150),
    "bets": "60%",
    "raises": "a",
}


def test_a_third_range_with_other_weights_is_another_game() -> None:
    """A solution of one game is not restated in the other."""
    ranges = (*SPOT["ranges"][:2], f"{SPOT['ranges'][2].partition(',')[0]}:0.5")
    first = compile_game("holdem", **SPOT | {"ranges": (*ranges[:2], ranges[2].partition(":")[0])})
    second = compile_game("holdem", **SPOT | {"ranges": ranges})
    assert have_same_numbers(first, first)
    assert not have_same_numbers(first, second)


@pytest.mark.compiled
def test_a_real_river_equals_sums_over_triples() -> None:
    """The payoffs of every terminal under strategies that differ by hand, from the cards alone."""
    rules = Holdem(**SPOT)
    game = compile_game(rules)
    policy = solve(game, "cfr", iters=3, precision="float64").policy
    hands = [np.asarray(of_player) for of_player in rules.hands]
    strength = [rules.strength(rules.board, of_player) for of_player in hands]
    triples = [
        triple
        for triple in product(*(range(len(of_player)) for of_player in hands))
        if len({*np.concatenate([h[n] for h, n in zip(hands, triple, strict=True)])}) == 6
    ]
    weights = np.array(
        [np.prod([w[n] for w, n in zip(rules.weights, t, strict=True)]) for t in triples]
    )
    at = np.array(triples)
    ranks = np.stack([strength[p][at[:, p]] for p in range(3)], axis=1)
    strategies: dict[str, Any] = policy.to_dict()
    nodes = game.nodes

    def expected(state: Any, line: str, reach: np.ndarray) -> np.ndarray:
        node = rules.node(state)
        if isinstance(node, Fold):
            return reach.sum() * np.array(node.utilities)
        if isinstance(node, SidePots):
            total = -reach.sum() * np.array(node.paid)
            for amount, competing in node.pots:
                best = ranks[:, list(competing)].max(axis=1, keepdims=True)
                wins = ranks[:, list(competing)] == best
                total[list(competing)] += reach @ (amount * wins / wins.sum(axis=1)[:, None])
            return total
        total = np.zeros(3)
        for action in node.actions:
            rows = [
                strategies.get(f"{label}{line}", {action: 0.0})[action]
                for label in nodes.hands[node.player]
            ]
            after = reach * np.array(rows)[at[:, node.player]]
            total += expected(rules.next(state, action), f"{line} {action}", after)
        return total

    values = expected(rules.root(), "", weights / weights.sum())
    np.testing.assert_allclose(evaluate(game, policy).values, values, rtol=0, atol=1e-11)
    assert abs(values.sum()) < 1e-11


class Watched(Holdem):
    """A spot of two players, and a third one with a hand that nobody else may hold."""

    def __init__(self, third: tuple[int, int], **options: Any) -> None:
        super().__init__(**options)
        self.n_players = 3
        self.hands = [*self.hands, np.array([third])]
        self.weights = [*self.weights, np.ones(1)]

    def node(self, state: Any) -> Any:
        node = super().node(state)
        if isinstance(node, Fold):
            return Fold((*node.utilities, 0.0))
        if isinstance(node, Showdown):
            paid = tuple(-low for low in (node.lose[0], node.win[1]))
            return SidePots(((node.win[0] + paid[0], (0, 1)),), (*paid, 0.0))
        return node

    def rows(self) -> None:
        """No rows: the showdowns of the spot are for two players."""


@pytest.mark.compiled
def test_a_third_hand_that_never_matters() -> None:
    """The spot of two players without the two cards, to 1e-9."""
    options = SPOT | {"ranges": SPOT["ranges"][:2], "stacks": 100}
    two = Solver(compile_game(Holdem(**options, dead="2c3c")), "cfr+", precision="float64")
    third = tuple(sorted(map(Holdem(**options).cards.index, ("2c", "3c"))))
    three = Solver(compile_game(Watched(third, **options)), "cfr+", precision="float64")
    for count in (1, 9):
        two.iterate(count)
        three.iterate(count)
        found, expected = three.evaluate(), two.evaluate()
        np.testing.assert_allclose(found.values[:2], expected.values, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            found.best_responses[:2], expected.best_responses, rtol=0, atol=1e-9
        )
        assert found.values[2] == 0.0


@pytest.mark.compiled
def test_suits_that_change_places_change_nothing() -> None:
    turned = str.maketrans("hdcs", "csdh")
    ranges = ("QsQh,TcTs,AsQs", "JdJh,KcQc", "9h9s,AdTd,AsTs")
    spots = (
        SPOT | {"ranges": ranges},
        SPOT
        | {
            "board": SPOT["board"].translate(turned),
            "ranges": tuple(text.translate(turned) for text in ranges),
        },
    )
    first, second = (
        solve(compile_game("holdem", **spot), "cfr+", iters=10, precision="float64")
        for spot in spots
    )
    np.testing.assert_allclose(first.value, second.value, rtol=0, atol=1e-12)


class OfTwo(LimitOfThree):
    """Two players whose showdowns have side pots."""

    n_players = 2

    def __init__(self) -> None:
        super().__init__(cards=4, suits=1, bets=(1,), raises=0)
        self.hands, self.weights = self.hands[:2], self.weights[:2]

    def node(self, state: Any) -> Any:
        return SidePots(((2.0, (0, 1)),), (1.0, 1.0))


class Compared(LimitOfThree):
    """Three players with a showdown of two."""

    def __init__(self) -> None:
        super().__init__(cards=4, suits=1, bets=(1,), raises=0)

    def node(self, state: Any) -> Any:
        return Showdown((1.0, -1.0), (0.0, 0.0), (-1.0, 1.0))


def test_rules_that_are_not_supported_are_refused() -> None:
    with pytest.raises(GameError, match="SidePots is not for 2 players"):
        compile_game(OfTwo())
    with pytest.raises(GameError, match="Showdown is not for 3 players"):
        compile_game(Compared())
    few = kuhn_of_three()
    few.hands = [few.hands[0][:1]] * 3
    few.weights = [np.ones(1)] * 3
    with pytest.raises(GameError, match="any hands of all players share a card"):
        compile_game(few)
    wide = kuhn_of_three()
    wide.hands = [np.array([[0, 1, 2]])] * 3
    wide.weights = [np.ones(1)] * 3
    with pytest.raises(GameError, match="hands of 3 cards need two players, not 3"):
        compile_game(wide)
    with pytest.raises(ValueError, match="has 3 players, so it cannot be cut"):
        compile_game(kuhn_of_three(), cut=1)
    with pytest.raises(ValueError, match="has 3 players; a hand needs two"):
        tournament(Holdem(**SPOT), stacks=100, others=(100,), payouts=(50, 30))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stacks": (100, 200)}, "stacks has 2 numbers; give one or 3"),
        ({"ranges": ("AA", "KK"), "stacks": (100, 200)}, "give the smaller one"),
        ({"donk": "50%"}, "donk needs two ranges, not 3"),
        ({"folded": ("AA",)}, "folded needs two ranges, not 3"),
        ({"bets": {"oop": "50%"}}, "bets is for flop, turn, river, first, middle, last"),
        ({"ranges": ("AA",)}, "ranges must be 2 or 3 values"),
    ],
)
def test_options_that_are_not_for_three_players_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Holdem(**(SPOT | options))
