"""Regrets that are 0 in exact arithmetic are 0 here too, whatever the order of sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from support.card_games import LeducOfCards
from support.exact_cfr import ExactCFR
from support.products import naive_product
from support.random_games import keyed, random_game
from support.reference import ChanceNode, DecisionNode, Infoset, Node, TerminalNode, Tree
from support.tiers import tiered
from tensorcfr import Algorithm, CompiledGame, Game, Solver, compile_game
from tensorcfr.algorithms import CFR, CFR_PLUS
from tensorcfr.games import make_game
from tensorcfr.rules import Chance, Decision, Terminal
from tensorcfr.solvers.value_bounds import carry_up, game_bounds, zero_bounds
from tensorcfr.subgames.one_chunk import SubgameSolver

TOLERANCE = 1e-12
CURVES = {
    CFR: "1.4166666666666667 1.2953963665839592 1.0732785586282898 0.9245012265420467 "
    "0.7970579928820226",
    CFR_PLUS: "1.4166666666666667 1.3040071212572448 1.0886287132465684 0.7720416367273569 "
    "0.6675447610855768",
}
"""NashConv of goofspiel with four cards and random prizes after 1 to 5 iterations, by
``support/exact_cfr.py``: in exact fractions up to iteration 4 of CFR, and in 80-digit decimals,
with regrets below 1e-40 set to 0, in all."""


class Shuffled(Game):
    """A game with actions and outcomes in another order (0 is its own), and changed payoffs."""

    def __init__(
        self, game: Game, order: int, payoff: Callable[[float], float] = lambda u: u
    ) -> None:
        self.game, self.order, self.payoff = game, order, payoff
        self.n_players, self.root, self.next = game.n_players, game.root, game.next  # type: ignore[method-assign]

    def node(self, state: Any) -> Chance | Decision | Terminal:
        node = self.game.node(state)
        if isinstance(node, Terminal):
            return Terminal([self.payoff(u) for u in node.utilities])
        of_node = keyed(self.order, node.infoset if isinstance(node, Decision) else "chance")
        if isinstance(node, Chance):
            outcomes = list(node.outcomes.items())
            of_node.shuffle(outcomes)
            return Chance(dict(outcomes))
        actions = list(node.actions)
        of_node.shuffle(actions)
        return node._replace(actions=tuple(actions))


class Evenly(Game):
    """A random game whose outcomes are all as likely."""

    def __init__(self, seed: int) -> None:
        self.game = random_game(
            seed, zero_sum=True, integer_payoffs=True, max_histories=60, max_actions=3, chance=0.3
        )
        self.n_players = 2

    def node(self, state: Any) -> Chance | Decision | Terminal:
        node = self.game.node(state)
        if not isinstance(node, Chance):
            return node
        return Chance(dict.fromkeys(node.outcomes, 1 / len(node.outcomes)))


def assert_exact(game: Any, tree: Game | Tree, algorithm: Algorithm, iterations: int = 5) -> None:
    """Average strategies of all iterations equal those in exact fractions."""
    solver, exact = Solver(compile_game(game), algorithm), ExactCFR(tree, plus=algorithm != CFR)
    for _ in range(iterations):
        solver.iterate()
        exact.iterate()
        found = solver.average_policy()
        for label, expected in exact.average().items():
            assert list(found[label].values()) == pytest.approx(
                [float(p) for p in expected], rel=0, abs=TOLERANCE
            ), f"iteration {exact.t}, infoset {label!r}"


SEEDS = [115, 3, 17, 64, 90, 128, 201, 233, 260, 299]


@pytest.mark.parametrize("algorithm", [CFR, CFR_PLUS], ids=["cfr", "cfr+"])
@pytest.mark.parametrize("seed", tiered(SEEDS, SEEDS[:2], quick_as_python=True))
def test_random_games_with_many_ties(seed: int, algorithm: Algorithm) -> None:
    """Payoffs are -720, 0 and 720: most differences of values cancel."""
    for order in range(3):
        game = Shuffled(Evenly(seed), order, lambda u: 720.0 * np.sign(u))
        assert_exact(game, game, algorithm)


@pytest.mark.parametrize("order", tiered(range(4), [1]))
def test_goofspiel_of_three_cards_in_any_order(order: int) -> None:
    game = Shuffled(make_game("goofspiel(cards=3,prizes='random')"), order)  # type: ignore[arg-type]
    assert_exact(game, game, CFR)
    assert_exact(game, game, CFR_PLUS)


@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", CURVES, ids=["cfr", "cfr+"])
@pytest.mark.parametrize("order", tiered(range(4), [0]))
def test_goofspiel_of_four_cards(order: int, algorithm: Algorithm) -> None:
    """Wins and losses of a million cancel to 1e-19 of one; true regrets are 6e-4 and more."""
    rules: Any = make_game("goofspiel(cards=4,prizes='random')")
    game = Shuffled(rules, order, lambda u: 1e6 * u)
    solver, found = Solver(compile_game(game), algorithm), []
    for _ in range(5):
        solver.iterate()
        found.append(solver.evaluate().nash_conv / 1e6)
    expected = [float(number) for number in CURVES[algorithm].split()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


SPIEL = [
    "dark_hex(board_size=2,gameversion=adh)",
    "battleship(board_width=3,board_height=1,ship_sizes=[2],ship_values=[1],num_shots=2)",
]


@pytest.mark.parametrize("algorithm", [CFR, CFR_PLUS], ids=["cfr", "cfr+"])
@pytest.mark.parametrize("name", SPIEL, ids=["dark_hex", "battleship"])
def test_games_of_openspiel(name: str, algorithm: Algorithm) -> None:
    """NashConv of both is a simple fraction: 5/6, 5/12, 5/18, ... in dark hex with CFR."""
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game(name)
    solver, exact = Solver(compile_game(game), algorithm), ExactCFR(tree_of(game))
    exact.plus = algorithm != CFR
    for _ in range(5):
        solver.iterate()
        exact.iterate()
        assert solver.evaluate().nash_conv == pytest.approx(float(exact.nash_conv()), abs=TOLERANCE)
    if (name, algorithm) == (SPIEL[0], CFR):
        assert exact.nash_conv().as_integer_ratio() == (1, 6)


def tree_of(game: Any) -> Tree:
    """A game of OpenSpiel, history by history."""
    infosets: dict[str, Infoset] = {}

    def build(state: Any) -> Node:
        if state.is_terminal():
            return TerminalNode(list(state.returns()))
        if state.is_chance_node():
            outcomes = state.chance_outcomes()
            children = [build(state.child(outcome)) for outcome, _ in outcomes]
            return ChanceNode([p for _, p in outcomes], children)
        player, actions = state.current_player(), tuple(state.legal_actions())
        label = f"{player}:{state.information_state_string(player)}"
        infoset = infosets.setdefault(label, Infoset(label, player, actions))
        decision = DecisionNode(infoset, [build(state.child(action)) for action in actions])
        infoset.nodes.append(decision)
        return decision

    return Tree(game.num_players(), build(game.new_initial_state()), infosets)


# ------------------------------------------------------- the same game, told in another way


class OtherSuits(LeducOfCards):
    """Leduc with its cards in another order."""

    def __init__(self, order: list[int]) -> None:
        super().__init__()
        self.order = np.array(order)
        self.cards = [self.cards[card] for card in order]

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        return super().strength(tuple(self.order[list(board)]), self.order[hands])


def averages(game: CompiledGame, algorithm: Algorithm = CFR) -> dict[str, dict[str, float]]:
    """Average strategies after 20 iterations."""
    solver = Solver(game, algorithm)
    solver.iterate(20)
    return {label: dict(row) for label, row in solver.average_policy().items()}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert set(found) == set(expected)
    for label, row in expected.items():
        assert found[label] == pytest.approx(row, rel=0, abs=TOLERANCE), label


TOLD = {
    "leduc": ("leduc", {"symmetry": False}),
    "leduc, cut": ("leduc", {"cut": 1}),
    "nl_leduc, cut": ("nl_leduc(stack=6)", {"cut": 2}),
    "cards": (LeducOfCards, {"symmetry": False}),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", tiered(TOLD, ["leduc, cut", "cards"]))
def test_symmetry_and_cut_change_no_strategies(name: str) -> None:
    source, options = TOLD[name]
    make = source if callable(source) else lambda: source
    assert_same(averages(compile_game(make(), **options)), averages(compile_game(make())))


@pytest.mark.compiled
@pytest.mark.parametrize("symmetry", [True, False])
def test_suits_in_another_order_change_no_strategies(symmetry: bool) -> None:
    given = averages(compile_game(OtherSuits([0, 1, 2, 3, 4, 5]), symmetry=symmetry))
    for order in ([1, 0, 3, 2, 5, 4], [4, 1, 2, 0, 3, 5]):
        assert_same(averages(compile_game(OtherSuits(order), symmetry=symmetry)), given)


class Swapped(Game):
    """A game in which the players change places."""

    n_players = 2

    def __init__(self, game: Game) -> None:
        self.game, self.root, self.next = game, game.root, game.next  # type: ignore[method-assign]

    def node(self, state: Any) -> Any:
        node = self.game.node(state)
        if isinstance(node, Terminal):
            return Terminal(list(reversed(node.utilities)))
        return node._replace(player=1 - node.player) if isinstance(node, Decision) else node


@pytest.mark.parametrize("seed", tiered(SEEDS, SEEDS[:1]))
def test_players_who_change_places_change_no_strategies(seed: int) -> None:
    """Who is updated first changes places, too."""
    together = CFR(alternating=False)
    for algorithm, other in ((together, together), (CFR, CFR(order="descending"))):
        given = averages(compile_game(Evenly(seed)), algorithm)
        assert_same(averages(compile_game(Swapped(Evenly(seed))), other), given)


# ------------------------------------------------------------------------------- the scales


def bounds(game: CompiledGame) -> np.ndarray:
    """What counterfactual values are at most, float64 (sequences,), by loops over the tree."""
    found = np.zeros(game.n_sequences)
    for player in range(game.n_players):
        found += naive_product(game, player, np.ones(game.n_sequences), sizes=True)
    for infoset in reversed(range(len(game.infoset_labels))):
        found[game.form.infoset_parent[infoset]] += found[game.sequences(infoset)].max()
    return found


@cache
def leduc(cut: int | None) -> CompiledGame:
    return compile_game("leduc(ranks=2)", symmetry=False, cut=cut)


def test_the_value_bound_of_a_bucket_covers_its_infosets() -> None:
    """It is the next power of two above the largest of them."""
    game = leduc(None)
    form, bound, scale = game.form, bounds(game), game_bounds(game.chunks).bucket
    assert scale.shape == zero_bounds(game.chunks).bucket.shape == (1, len(form.bucket_lanes))
    for b, first in enumerate(form.bucket_sequence):
        largest = bound[first : first + form.bucket_actions[b] * form.bucket_lanes[b]].max()
        assert largest < scale[0, b] <= 2 * largest * (1 + 1e-12)
        assert np.log2(scale[0, b]).is_integer()


@pytest.mark.parametrize("cut", [1, 2])
def test_the_value_bounds_of_a_game_in_chunks_cover_the_same_infosets(cut: int) -> None:
    whole, game = leduc(None), leduc(cut)
    bound, form, scales = bounds(whole), game.chunks, game_bounds(game.chunks)
    largest = np.zeros_like(scales.bucket)
    for label, infoset in whole.infoset_index.items():
        place = game.locate(label)
        at = place.numbers.start
        part = int(np.searchsorted(form.number_offset[:-1], at, side="right"))
        row = 0 if part == 0 else 1 + int(form.shape[part - 1])
        own = form.trunk.bucket_sequence
        if part:
            own = form.shapes.array(row - 1, "bucket_sequence")
            at -= int(form.sequence_offset[part - 1])
        b = int(np.searchsorted(own, at, side="right")) - 1
        largest[row, b] = max(largest[row, b], bound[whole.sequences(infoset)].max())
    here = largest > 0
    assert (largest < scales.bucket)[here].all()
    assert (scales.bucket <= 2 * largest * (1 + 1e-12))[here].all()
    assert scales.entry.min() > 0


def test_bounds_go_up_to_the_sequence_before() -> None:
    form = leduc(None).form
    found = np.random.default_rng(8).random(form.n_sequences)
    expected = found.copy()
    carry_up(form, found)
    for b in reversed(range(len(form.bucket_lanes))):
        first, lanes = form.bucket_sequence[b], form.bucket_lanes[b]
        for lane in range(lanes):
            own = [expected[first + a * lanes + lane] for a in range(form.bucket_actions[b])]
            expected[form.infoset_parent[form.bucket_infoset[b] + lane]] += max(own)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_value_bounds_of_zero_where_nothing_is_paid() -> None:
    nothing = Shuffled(Evenly(3), 0, lambda u: 0.0)
    assert not game_bounds(compile_game(nothing).chunks).bucket.any()


@pytest.mark.compiled
@pytest.mark.parametrize("opponent", [None, 0, 1])
def test_chunks_that_are_seldom_entered_are_solved_as_well(opponent: int | None) -> None:
    """Where ranges are small, so are the regrets that count."""
    game = leduc(1).chunks
    solver = SubgameSolver(game, CFR_PLUS)
    alternative, found = np.zeros(game.n_entries), []
    for scale in (1.0, 2.0**-36):
        reach = np.full(game.trunk.n_sequences, scale)
        if opponent is None:
            weight = solver.solve(0, reach, 20)
        else:
            weight = solver.resolve(0, 1 - opponent, reach, alternative, 20)
        found.append(solver.strategies(0, weight).copy())
    np.testing.assert_array_equal(found[0], found[1])
    assert len(np.unique(found[0])) > 10
