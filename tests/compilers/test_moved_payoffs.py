"""Payoffs move to earlier sequences, and every iteration stays as it is.

The form that solvers pass over is compared with the form of the game: strategies, sums, values and
best responses after some iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.imported_games import HIDDEN_MOVES, corpus
from support.properties import examples
from support.random_games import games
from support.tiers import tiered
from tensorcfr import Chance, CompiledGame, Decision, Game, Solver, Terminal, compile_game, solve
from tensorcfr.model.arrays import SequenceForm
from tensorcfr.payoff import PayoffEntries
from tensorcfr.solvers.warm_start import warm_state


class Written(Game):
    """A game that is written out: a state is its history."""

    def __init__(self, nodes: Mapping[tuple[str, ...], Any]) -> None:
        self.nodes, self.n_players = nodes, 2

    def root(self) -> tuple[str, ...]:
        return ()

    def node(self, state: tuple[str, ...]) -> Any:
        return self.nodes[state]

    def next(self, state: tuple[str, ...], action: str) -> tuple[str, ...]:
        return (*state, action)


def sealed_bids(payoff: Mapping[tuple[str, str], float]) -> Written:
    """Player 0 bids in secret, then player 1."""
    firsts, seconds = (list(dict.fromkeys(bids)) for bids in zip(*payoff, strict=True))
    return Written(
        {(): Decision(0, "0", firsts)}
        | {(first,): Decision(1, "1", seconds) for first in firsts}
        | {bids: Terminal([value, -value]) for bids, value in payoff.items()}
    )


def small_form(game: CompiledGame) -> SequenceForm:
    form: SequenceForm = game.merged.form
    return form


def payoffs_of(game: CompiledGame) -> dict[tuple[str, str], float]:
    """Payoffs of player 0 that are not 0, by the actions of both players; "" before any action."""
    form = small_form(game)
    name = {int(empty): "" for empty in form.player_sequences[:-1]}
    numbers = game.merged_numbers
    for infoset, sequence in enumerate(game.infoset_sequence.tolist()):
        for action in game.infoset_actions[infoset]:
            name[int(numbers[sequence])] = action
            sequence += int(game.form.infoset_stride[infoset])
    rows, columns, values = form.operator[0].triples(form, 0)
    entries = zip(rows.tolist(), columns[0].tolist(), values.tolist(), strict=True)
    return {(name[row], name[column]): value for row, column, value in entries if value}


def assert_one_answer(game: CompiledGame, algorithm: str, marks: tuple[int, ...]) -> None:
    """The small form and the whole form play the same, and are worth the same."""
    small, whole = Solver(game, algorithm), Solver(game.without_merging(), algorithm)
    for mark in marks:
        for solver in (small, whole):
            solver.iterate(mark - solver.iteration)
        assert_close(small.average_probabilities(), whole.average_probabilities())
        assert_close(small.current_policy().probabilities, whole.current_policy().probabilities)
        sums = [solver.sums_of(solver.problem, solver.state) for solver in (small, whole)]
        for found, expected in zip(*sums, strict=True):
            assert_close(found, expected)
        own, other = small.evaluate(), whole.evaluate()
        assert_close(own.values + own.best_responses, other.values + other.best_responses)


def assert_close(found: Any, expected: Any) -> None:
    """Equal to 1e-12 of 1, or of the largest number if that is more."""
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


def test_a_payoff_that_no_action_changes_moves() -> None:
    """After "high", all bids pay 5; after "low", three pay 2 and one pays 5 more."""
    pays = {"high": (5, 5, 5, 5), "low": (2, 2, 2, 7), "pass": (0, 0, 0, -1), "fold": (0, 0, 0, 0)}
    bids = {(bid, answer): pays[bid]["abcd".index(answer)] for bid in pays for answer in "abcd"}
    game = compile_game(sealed_bids(bids))
    assert payoffs_of(game) == {
        ("high", ""): 5.0,
        ("low", ""): 2.0,
        ("low", "d"): 5.0,
        ("pass", "d"): -1.0,
    }
    assert_one_answer(game, "cfr", (1, 2, 10))


def test_the_most_frequent_utility_is_paid_at_the_root() -> None:
    """Three of four bids pay 1, and one pays -1, which is 2 less."""
    game = compile_game(sealed_bids({("a", "c"): 1, ("a", "d"): 1, ("b", "c"): 1, ("b", "d"): -1}))
    assert payoffs_of(game) == {("", ""): 1.0, ("b", "d"): -2.0}
    assert_one_answer(game, "cfr", (1, 2, 10))


def with_chance(first: float) -> Written:
    """A coin falls with two probabilities, and only player 0 sees it; most ends pay 1."""
    nodes: dict[tuple[str, ...], Any] = {(): Chance({"h": first, "t": 0.5})}
    for coin in "ht":
        nodes[coin,] = Decision(0, coin, ["a", "b"])
        for bid in "ab":
            nodes[coin, bid] = Decision(1, "1", ["c", "d"])
            for answer in "cd":
                pays = -1.0 if (coin, bid, answer) == ("t", "b", "d") else 1.0
                nodes[coin, bid, answer] = Terminal([pays, -pays])
    # An end after a move that player 1 does not see is not a deal and a public tree.
    nodes["t", "a"] = Terminal([1.0, -1.0])
    del nodes["t", "a", "c"], nodes["t", "a", "d"]
    return Written(nodes)


@pytest.mark.parametrize("first", [0.5, 0.5 + 4e-10])
def test_nothing_is_paid_at_the_root_if_probabilities_do_not_sum_to_one(first: float) -> None:
    """The rules may be off by 1e-9, and regrets must not be."""
    game = compile_game(with_chance(first))
    assert game.merged is not None
    assert (payoffs_of(game)["", ""] == 1.0) == (first == 0.5)
    assert_one_answer(game, "cfr", (1, 2, 10))


def test_idle_infosets_are_one() -> None:
    """Player 1's answer to "a" or "b" changes nothing; the answer to "c" does."""
    nodes: dict[tuple[str, ...], Any] = {(): Decision(0, "0", ["a", "b", "c"])}
    for bid, pays in (("a", (1, 1)), ("b", (2, 2)), ("c", (0, 5))):
        nodes[bid,] = Decision(1, bid, ["x", "y"])
        for answer, value in zip("xy", pays, strict=True):
            nodes[bid, answer] = Terminal([value, -value])
    game = compile_game(Written(nodes))
    assert np.diff(small_form(game).player_infosets).tolist() == [1, 2]
    numbers = [game.merged_numbers[game.locate(bid).numbers].tolist() for bid in "abc"]
    assert numbers[0] == numbers[1] != numbers[2]
    assert_one_answer(game, "cfr", (1, 2, 10))
    policy = solve(game, "cfr", iters=10).policy
    assert policy["a"] == policy["b"] == {"x": 0.5, "y": 0.5}


@pytest.mark.parametrize("algorithm", ["cfr", "paced-cfr+"])
@given(game=games(integer_payoffs=st.sampled_from((True, True, False))))
@examples(8)
def test_random_games_play_the_same(algorithm: str, game: Game) -> None:
    assert_one_answer(compile_game(game), algorithm, (1, 2, 10))


MARKS = {"goofspiel(cards=4)": (1, 2, 10)}
"""Iterations at which the forms are compared, where rounding grows beyond 1e-12 later."""


@pytest.mark.parametrize(
    "name",
    ["goofspiel(cards=4)", *HIDDEN_MOVES],
    ids=["goofspiel", "dark hex", "battleship", "auction"],
)
def test_games_of_hidden_moves_have_at_most_half_the_payoffs(name: str) -> None:
    if name in HIDDEN_MOVES:
        pytest.importorskip("pyspiel")
    game = compile_game(name)
    count = sum(np.count_nonzero(part.value) for part in small_form(game).operator)
    assert 2 * count <= n_entries(game.form)
    assert_one_answer(game, "cfr", MARKS.get(name, (1, 2, 10, 100)))


FAST = ("books/myerson1991/fig2_1", "two_stages.efg", "openspiel:kuhn_poker(players=3)")


@pytest.mark.parametrize("name", tiered(list(corpus()), FAST))
def test_imports_play_the_same(name: str) -> None:
    """Every game that another test imports, with and without the smaller form."""
    if name.startswith("openspiel:"):
        pytest.importorskip("pyspiel")
    assert_one_answer(compile_game(corpus()[name]), "cfr", (1, 2, 10))


def n_entries(form: SequenceForm) -> int:
    return sum(part.value.size for part in form.operator if isinstance(part, PayoffEntries))


def test_the_form_is_optional() -> None:
    rules = sealed_bids({("a", "c"): 1, ("a", "d"): 1, ("b", "c"): 1, ("b", "d"): -1})
    game = compile_game(rules)
    assert "solved as" in game.summary()
    assert compile_game(rules, symmetry=False).merged is None
    assert compile_game("kuhn(players=3)", symmetry=False).merged is None
    assert game.without_merging().digest == game.digest


def test_rounding_errors_as_payoffs() -> None:
    """The most frequent utility is the rounding error of a difference, as after resolving."""
    chance = {"x": 0.5, "y": 0.25, "z": 0.25}
    last = {"x": 0.5, "y": 0.5, "z": -1.5}
    nodes: dict[tuple[str, ...], Any] = {(): Chance(chance)}
    for outcome in chance:
        nodes[outcome,] = Decision(0, "0", ("a", "b", "c"))
        for action in "abc":
            won = last[outcome] if action == "c" else -(2.0**-52)
            nodes[outcome, action] = Terminal([won, -won])
    assert_one_answer(compile_game(Written(nodes)), "cfr", (1, 2))


def test_a_rare_utility_is_not_paid_at_the_root() -> None:
    """Most terminals pay 1, with a chance of 1e-9 together.  If 1 were subtracted from the payoffs
    near 1e-7, the first nine digits of their regrets would be left."""
    small = {("a", "c"): 1e-7, ("a", "d"): -2e-7, ("b", "c"): -3e-7, ("b", "d"): 1.5e-7}
    nodes: dict[tuple[str, ...], Any] = {(): Chance({"rare": 1e-9, "usual": 1 - 1e-9})}
    for branch, firsts, seconds in (("rare", "ab", "cdefg"), ("usual", "ab", "cd")):
        nodes[branch,] = Decision(0, f"0 {branch}", tuple(firsts))
        for first in firsts:
            nodes[branch, first] = Decision(1, f"1 {branch}", tuple(seconds))
            for second in seconds:
                won = 1.0 if branch == "rare" else small[first, second]
                nodes[branch, first, second] = Terminal([won, -won])
    game = compile_game(Written(nodes))
    assert game.merged is not None
    assert_one_answer(game, "cfr", (1, 2, 10))


def test_warm_starts_are_those_of_the_whole_form() -> None:
    """The scale of their regrets follows from values, which moves of payoffs change."""
    game = compile_game("goofspiel(cards=4)")
    source = solve(game, "cfr", iters=5).policy
    started = [
        Solver(view, "cfr", state=warm_state(view, "cfr", source, iterations=10))
        for view in (game, game.without_merging())
    ]
    for solver in started:
        solver.iterate(10)
    assert_close(*(solver.average_probabilities() for solver in started))
