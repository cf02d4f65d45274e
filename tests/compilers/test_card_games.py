"""Games of cards equal the same games hand by hand, and the slow recursive reference."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from support.card_games import EveryRound, LeducOfCards, RandomCards
from support.equality import EARLY_MARKS, as_game, assert_equal, bits, rounding
from support.layouts import check_found, step_alike
from support.products import pay
from support.reference import ReferenceCFR
from support.tiers import tiered
from support.variants import VARIANTS, floored
from tensorcfr import GameError, MemoryLimitError, Solver, compile_game, solve
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.compilers import game_size
from tensorcfr.compilers.cards import payoffs as card_payoffs
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.compilers.sizes import counted
from tensorcfr.kernels import chunk_passes as kernels
from tensorcfr.model.arrays import TERMINAL
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.payoff import card_payoffs as cards_part
from tensorcfr.rules import CardGame, Deal, Decision, Fold, Showdown

SHAPES: dict[str, dict[str, Any]] = {
    "one card, no board": {"cards": 5, "width": 1, "rounds": 0, "public": 0},
    "one card, one round": {"cards": 6, "width": 1, "rounds": 1, "public": 0},
    "one card, two rounds": {"cards": 6, "width": 1, "rounds": 2, "public": 1},
    "two cards, river": {"cards": 9, "width": 2, "rounds": 0, "public": 1},
    "two cards, turn": {"cards": 7, "width": 2, "rounds": 1, "public": 1},
    "two cards, flop": {"cards": 7, "width": 2, "rounds": 2, "public": 1, "zero_sum": True},
    "two cards at once": {"cards": 7, "width": 1, "rounds": 2, "public": 0, "deals": (2, 1)},
    "dead cards": {"cards": 9, "width": 2, "rounds": 2, "public": 1, "dead": 2},
    "weights that vary": {"cards": 7, "width": 2, "rounds": 2, "public": 1, "varies": True},
    "one card, weights vary": {"cards": 6, "width": 1, "rounds": 1, "public": 1, "varies": True},
    "twelve cards": {"cards": 12, "width": 2, "rounds": 1, "public": 3, "zero_sum": True},
    "some even": {"cards": 8, "width": 2, "rounds": 0, "zero_sum": True, "even": 0.7},
    "all even": {"cards": 8, "width": 2, "rounds": 0, "zero_sum": True, "even": 1.0},
    "three cards": {"cards": 9, "width": 3, "rounds": 0, "public": 1},
    "three cards, turn": {"cards": 9, "width": 3, "rounds": 1, "public": 0, "even": 0.5},
    "four cards": {"cards": 11, "width": 4, "rounds": 0, "public": 0, "even": 0.5},
    "four cards, turn": {"cards": 10, "width": 4, "rounds": 1, "public": 1},
    "five cards": {"cards": 11, "width": 5, "rounds": 0, "public": 0, "even": 0.5},
    "five cards, turn": {"cards": 11, "width": 5, "rounds": 1, "public": 0},
}


@cache
def with_decisions(shape: str, seeds: range) -> list[ChunkedGame]:
    """Random games of a shape in which both players act, and a card is dealt if one can be."""
    found = []
    for seed in seeds:
        if len(found) == 3:
            break
        rules = RandomCards(seed, **SHAPES[shape])
        if game_size(rules).infosets >= 2_500:
            continue
        game = compile_game(rules)
        acts = {int(player) for player in game.nodes.betting.player if player >= 0}
        if acts == {0, 1} and game.nodes.betting.rounds == SHAPES[shape]["rounds"]:
            found.append(game)
    return found


@pytest.mark.parametrize(
    "shape",
    tiered(
        SHAPES,
        [
            "one card, no board",
            "two cards, turn",
            "two cards at once",
            "weights that vary",
            "twelve cards",
            "three cards",
            "four cards",
        ],
    ),
)
def test_a_game_of_cards_equals_the_flat_game(shape: str) -> None:
    """Averages, last iterates, values, best responses, and what there is of the game.

    The floor keeps every reach above 0.  Otherwise some infosets can be reached only by hands that
    share a card: there the flat game has an exact 0, and a difference of sums has rounding.
    """
    algorithm = CFR_PLUS(floor=0.01)
    games = with_decisions(shape, range(40))
    assert games
    for game in games:
        flat = compile_game(game.nodes.rules, cut=False)
        assert (flat.n_infosets, flat.n_sequences) == (game.n_infosets, game.n_sequences)
        assert (flat.n_histories, flat.n_decision_nodes) == (
            game.n_histories,
            game.n_decision_nodes,
        )
        assert flat.zero_sum == game.zero_sum
        # Differences of sums are exact to the size of the sums, not to their own.
        step_alike(Solver(game, algorithm), Solver(flat, algorithm), (1, 1, 3), strategies=1e-9)


@pytest.mark.parametrize(
    "shape",
    tiered(
        ["one card, two rounds", "two cards, turn", "weights that vary", "four cards, turn"],
        ["one card, two rounds", "two cards, turn"],
    ),
)
@pytest.mark.parametrize(
    "variant",
    ["cfr+", *(pytest.param(n, marks=pytest.mark.slow) for n in ("dcfr", "cfr simultaneous"))],
)
def test_a_game_of_cards_equals_the_reference(shape: str, variant: str) -> None:
    algorithm, options = floored(VARIANTS[variant], 0.01)
    game = min(with_decisions(shape, range(60)), key=lambda one: one.n_histories)
    rules = as_game(HandByHand(game.nodes.rules))
    solver, reference = Solver(game, algorithm), ReferenceCFR(rules, **options)
    assert_equal(solver, reference, EARLY_MARKS[:3], partial(rounding, reference.tree, options))


@pytest.mark.parametrize("shape", ["one card, two rounds", "two cards, turn"])
def test_infosets_are_found_without_the_flat_game(shape: str) -> None:
    """By one hand and a line; in the same places as through the flat game."""
    check_found(min(with_decisions(shape, range(40)), key=lambda one: one.n_infosets))


@pytest.mark.parametrize(("ranks", "width"), [(3, 1), (4, 2)])
def test_the_probabilities_of_all_boards_of_a_line_sum_to_one(ranks: int, width: int) -> None:
    """Players who do all for it get to a line on some board, with some hands."""
    game = compile_game(EveryRound(3, ranks=ranks, suits=2, width=width, rounds=2))
    total: dict[tuple[int, str], float] = {}
    todo = [(0, "")]
    while todo:
        node, line = todo.pop()
        for player, hands in enumerate(game.nodes.hands):
            everything = [np.ones(len(own)) for own in game.nodes.hands]
            met = game.nodes.counterfactual_reach(node, player, everything)
            assert met.shape == (len(hands),)
            total[player, line] = total.get((player, line), 0.0) + float(met.sum())
        for after, label in game.nodes.children(node):
            todo.append((after, f"{line} {'*' if label.endswith('.') else label}"))
    np.testing.assert_allclose(list(total.values()), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("ranks", "width"), [(3, 1), (4, 2)])
def test_terminals_pay_what_pairs_of_hands_pay(ranks: int, width: int) -> None:
    """To every hand the sum over the other player's hands, of a matrix of hands x hands."""
    game = compile_game(EveryRound(3, ranks=ranks, suits=2, width=width, rounds=2))
    nodes, draw = game.nodes, np.random.default_rng(2)
    own = [draw.random(len(hands)) for hands in nodes.hands]
    todo, seen = [0], 0
    while todo:
        node = todo.pop()
        todo += [step.node for step in nodes.children(node)]
        if nodes.player(node) != TERMINAL:
            continue
        seen += 1
        factor, key = nodes.payoff(node)
        joint = nodes.deal_probability(node) * factor * nodes.matrix(key)
        expected = joint[0] @ own[1], own[0] @ joint[1]
        for player in range(2):
            found = nodes.payoffs(node, player, own)
            np.testing.assert_allclose(found, expected[player], rtol=0, atol=1e-15)
    assert seen > 50


def test_leduc() -> None:
    """Leduc as a game of cards is Leduc; its curve is that of the built-in game."""
    game, built_in = compile_game(LeducOfCards()), compile_game("leduc")
    assert game.n_infosets == built_in.n_infosets
    assert game.n_histories == built_in.n_histories
    for marks in ((10,), (100,)):
        found = solve(game, "cfr+", iters=marks[0])
        expected = solve(built_in, "cfr+", iters=marks[0])
        assert found.value[0] == pytest.approx(expected.value[0], abs=1e-9)
        assert found.exploitability == pytest.approx(expected.exploitability, abs=1e-9)
    # The value of Leduc, from the linear program of this library and of OpenSpiel.
    assert solve(game, "cfr+", iters=3000).value[0] == pytest.approx(-0.085606, abs=1e-4)


@pytest.mark.parametrize(
    ("precision", "shape"),
    tiered(
        product((np.float64, np.float32), SHAPES),
        [
            *product([np.float64], SHAPES),
            *product([np.float32], ("two cards, turn", "twelve cards", "three cards, turn")),
        ],
    ),
)
def test_the_kernel_equals_the_definition(shape: str, precision: type) -> None:
    """Every form of a game: products with random reaches, which the verbs work out hand by hand."""
    rng = np.random.default_rng(5)
    bound = 1e-13 if precision is np.float64 else 1e-5
    for game in with_decisions(shape, range(40)):
        chunks = game.chunks
        forms = [chunks.trunk]
        forms += [kernels.shape_form(chunks.shapes, k) for k in range(min(chunks.n_chunks, 5))]
        for form in forms:
            part = form.operator[0]
            x = rng.random(form.n_sequences)
            for player in range(2):
                own = slice(*form.player_sequences[player : player + 2])
                g = np.full(form.n_sequences, np.nan, dtype=precision)
                pay(form, player, x.astype(precision), g)
                expected = part.product(form, player, x)
                np.testing.assert_allclose(g[own], expected, rtol=0, atol=bound)
                rows, columns, values = part.triples(form, player)
                by_entry = np.zeros(form.n_sequences)
                np.add.at(by_entry, rows, values * x[columns[0]])
                np.testing.assert_allclose(by_entry[own], expected, rtol=0, atol=1e-13)
                assert len(values) <= part.count_entries(form, player)
                bounds = part.magnitudes().product(form, player, x)
                assert (np.abs(expected) <= bounds + 1e-12).all()


def test_hands_that_hardly_reach_a_terminal_pay_hardly_anything() -> None:
    """In single precision whole numbers are made of reaches by a scale, which has to be finite."""
    form = with_decisions("one card, no board", range(5))[0].chunks.trunk
    for reach in (0.0, 1e-45, 1e-38, 1e-30, 1e-20):
        x = np.full(form.n_sequences, reach, dtype=np.float32)
        expected = form.operator[0].product(form, 0, x.astype(np.float64))
        g = np.full(form.n_sequences, np.nan, dtype=np.float32)
        pay(form, 0, x, g)
        own = slice(*form.player_sequences[:2])
        bound = 1e-6 * np.abs(expected).max() if reach > 1e-28 else 1e-27
        np.testing.assert_allclose(g[own], expected, rtol=0, atol=bound)


def test_threads_give_the_same_bits() -> None:
    game = with_decisions("two cards, flop", range(60))[0]
    one, three = Solver(game, "cfr+"), Solver(game, "cfr+", threads=3)
    one.iterate(7)
    three.iterate(7)
    assert bits(three.state) == bits(one.state)


def test_lines_in_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the lines of a board do not fit one chunk, they are several: to the same values."""
    for seed in range(40):
        rules = RandomCards(seed, cards=12, width=2, rounds=1, public=3)
        if compile_game(rules).chunks.n_chunks and len(compile_game(rules).nodes.betting.kind) > 40:
            break
    whole = Solver(compile_game(rules), "cfr+")
    monkeypatch.setattr(counted, "CACHE_SHARE", 1e-4)
    several = Solver(compile_game(rules), "cfr+")
    assert several.game.chunks.n_chunks > whole.game.chunks.n_chunks
    step_alike(several, whole, (5,), strategies=1e-9)


def test_a_win_that_pays_like_a_loss() -> None:
    """Payoffs whose sums cannot begin with a share of their end are split."""
    kinds = card_payoffs._kinds(np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 2.0]]))
    assert [kind for kind, _ in kinds] == [cards_part.TIES_PAY] * 2
    np.testing.assert_allclose(
        kinds[0][1] + kinds[1][1], [[1.0, 3.0, 1.0], [2.0, 0.0, 2.0]], atol=1e-15
    )
    assert [kind for kind, _ in card_payoffs._kinds(np.ones((3, 2)))] == [cards_part.FOLD]
    # For one player alone; what is paid is the sum, by wins of the player it is paid to.
    kinds = card_payoffs._kinds(np.array([[1.0, 2.0], [0.0, 0.0], [1.0, -2.0]]))
    assert [kind for kind, _ in kinds] == [cards_part.TIES_PAY] * 2
    np.testing.assert_allclose(
        kinds[0][1] + kinds[1][1], [[1.0, 0.0, 1.0], [-2.0, 0.0, 2.0]], atol=1e-15
    )


class Broken(LeducOfCards):
    """Leduc, with something about it changed."""

    def __init__(self, **changed: Any) -> None:
        super().__init__()
        for name, value in changed.items():
            setattr(self, name, value)


class Fixed(LeducOfCards):
    """Some cards are dealt (``deals``), and then there is one node (``last``)."""

    def __init__(self, last: Any, deals: int = 0) -> None:
        super().__init__()
        self.last, self.deals = last, deals

    def root(self) -> str:  # type: ignore[override]
        return ""

    def node(self, state: str) -> Any:  # type: ignore[override]
        if len(state) < self.deals:
            return Deal()
        return self.last if len(state) == self.deals else Fold((0.0, 0.0))

    def next(self, state: str, action: Any) -> str:  # type: ignore[override]
        return state + "."


ONE = [np.array([[0]]), np.array([[0]])]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Broken(n_players=4), "has 4 players; card games have two or three"),
        (Broken(n_players=3), "there are hands of 2 players"),
        (Broken(board=(1, 1)), "must be different cards"),
        (Broken(hands=[np.arange(6)] * 2), r"must be int64 \(hands, 1 to 5\)"),
        (Broken(weights=[np.zeros(6)] * 2), "weights of player 0 must be"),
        (Broken(board=(2,)), "hand 2 of player 0 has a card that cannot be dealt"),
        (Broken(hands=[np.zeros((6, 1), dtype=np.int64)] * 2), "has a hand twice"),
        (Broken(hands=[np.zeros((6, 2), dtype=np.int64)] * 2), "has one card twice"),
        (Broken(hands=ONE, weights=[np.ones(1)] * 2), "every hand of player 0 shares a card"),
        (
            Broken(
                hands=[np.arange(6)[:, None], np.array([[0, 1]])], weights=[np.ones(6), np.ones(1)]
            ),
            "the same number of cards",
        ),
        (
            Broken(hands=[np.array([[0, 1], [1, 0]])] * 2, weights=[np.ones(2)] * 2),
            "player 0 has a hand twice",
        ),
        (
            Broken(weights=[np.ones(6), np.array([1, 1, 1, 1, 1, np.inf])]),
            "weights of player 1 must be",
        ),
        (
            Fixed(Decision(2, None, ("a", "b"))),
            "the decision after '' needs player 0 or 1 and an action",
        ),
        (Fixed(Decision(0, None, ())), "the decision after '' needs player 0 or 1 and an action"),
        (Fixed(Decision(0, None, (1, "1"))), "after '' two actions have the same label"),
        (Fixed(Fold((np.inf, -np.inf))), "the payoffs after '' are not finite"),
        # Both players hold one of six cards: after four more there is none.
        (Fixed(Fold((1.0, -1.0)), 5), r"after '\(deal\) .* too few cards are left to deal"),
        (Broken(node=lambda state: None), "must be a Decision, a Deal"),
        (Broken(node=lambda state: Showdown((np.nan, 0), (0, 0), (0, 0))), "are not finite"),
    ],
)
def test_broken_rules(rules: CardGame, message: str) -> None:
    with pytest.raises(GameError, match=message):
        compile_game(rules)


def test_a_flat_form_that_does_not_fit_is_refused() -> None:
    with pytest.raises(MemoryLimitError, match="hand by hand"):
        compile_game(LeducOfCards(), cut=False, memory_limit=1000)
