"""Games of cards whose pots several rankings share equal their histories, in which each ranking
decides an equal share of the chips."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from support.card_games import (
    EveryRound,
    RandomCards,
    TwoRankings,
    TwoRankingsOfSuits,
    TwoRankingsOfThree,
)
from support.layouts import step_alike
from support.slow_values import DealtCards
from support.tiers import tiered
from support.triples import check_single_terminals
from tensorcfr import GameError, Policy, Solver, compile_game, resolve, solve
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.compilers import game_size
from tensorcfr.compilers.dealt_rules import as_histories
from tensorcfr.games.tournaments import tournament
from tensorcfr.model.arrays import TERMINAL
from tensorcfr.rules import CardGame, Deal, Decision, Fold, Runout, Showdown, SidePots

FLOORED = CFR_PLUS(floor=0.01)
"""The floor keeps every reach above 0; see the test of games of cards in general."""
SUITS: dict[str, Any] = {"ranks": 3, "suits": 2, "width": 1, "rounds": 2}
MOST_HISTORIES = 20_000


def first_game(kind: type[CardGame], **shape: Any) -> Any:
    """Compile the first random game of a shape in which all players act and all cards are dealt."""
    for seed in range(60):
        rules: Any = kind(seed, **shape)
        if game_size(rules).histories > MOST_HISTORIES:
            continue
        game = compile_game(rules, cut=1)
        betting = game.nodes.betting
        acts = {*betting.player[betting.player >= 0].tolist()}
        if len(acts) == rules.n_players and betting.rounds == shape["rounds"]:
            return game
    pytest.fail("no game")


SHAPES: dict[str, tuple[type[CardGame], dict[str, Any]]] = {
    "one card": (TwoRankings, {"cards": 5, "width": 1, "rounds": 2, "public": 0}),
    "two cards": (TwoRankings, {"cards": 7, "width": 2, "rounds": 1, "public": 1}),
    "four cards": (TwoRankings, {"cards": 10, "width": 4, "rounds": 0, "public": 1}),
    "three players": (
        TwoRankingsOfThree,
        {"cards": 6, "width": 1, "rounds": 1, "public": 0, "suits": 2},
    ),
    "three players, two cards": (
        TwoRankingsOfThree,
        {"cards": 8, "width": 2, "rounds": 1, "public": 0},
    ),
}


@pytest.mark.compiled
@pytest.mark.parametrize("shape", tiered(SHAPES, ["one card", "four cards", "three players"]))
def test_a_game_equals_its_histories(shape: str) -> None:
    """In chunks from each deal on, without chunks, and hand by hand."""
    kind, arguments = SHAPES[shape]
    game = first_game(kind, **arguments)
    rules, rounds = game.nodes.rules, game.nodes.betting.rounds
    slow = compile_game(DealtCards(rules))
    cuts = [False, *range(2, rounds + 2)] if rounds else [False]
    for one in (game, *(compile_game(rules, cut=cut) for cut in cuts)):
        assert one.n_infosets == slow.n_infosets
        step_alike(Solver(one, FLOORED), Solver(slow, FLOORED), (1, 1, 3), strategies=1e-9)


@pytest.mark.compiled
def test_suits_that_are_alike_are_merged() -> None:
    rules = TwoRankingsOfSuits(3, **SUITS)
    slow = compile_game(DealtCards(rules))
    games = [compile_game(rules, cut=cut) for cut in (1, 2, 3)]
    whole = compile_game(rules, symmetry=False)
    assert games[0].n_numbers < 0.8 * whole.n_numbers
    for game in (*games, whole):
        step_alike(Solver(game, FLOORED), Solver(slow, FLOORED), (1, 1, 3), strategies=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["cards", "varies"])
def test_equal_rankings_are_one(kind: str) -> None:
    """Values and best responses of the same ranking twice are those of this ranking."""
    shape: dict[str, Any] = {"cards": 7, "width": 2, "rounds": 2, "public": 1}
    one = first_game(RandomCards, varies=kind == "varies", **shape)
    again = type("Again", (TwoRankings,), {"moduli": (10**12, 10**12)})
    rules = again(one.nodes.rules.seed, varies=kind == "varies", **shape)
    twice = compile_game(rules)
    step_alike(Solver(twice, FLOORED), Solver(one, FLOORED), (1, 3), 1e-9)
    if kind == "cards":
        found = [solve(game, "external_sampling", iters=300, seed=2) for game in (twice, one)]
        np.testing.assert_allclose(found[0].value, found[1].value, rtol=0, atol=1e-12)


@pytest.mark.compiled
def test_weights_that_vary() -> None:
    """Beside the game hand by hand."""
    game = first_game(TwoRankings, cards=6, width=1, rounds=1, public=1, varies=True)
    flat = compile_game(game.nodes.rules, cut=False)
    step_alike(Solver(game, FLOORED), Solver(flat, FLOORED), (1, 1, 3), strategies=1e-9)


@pytest.mark.compiled
def test_terminals_of_two_players_pay_what_pairs_of_hands_pay() -> None:
    """To every hand the sum over the other player's hands, of a matrix of hands x hands."""
    nodes, draw = compile_game(TwoRankingsOfSuits(3, **SUITS)).nodes, np.random.default_rng(2)
    own = [draw.random(len(hands)) for hands in nodes.hands]
    below = [0]
    for node in below:
        below += [step.node for step in nodes.children(node)]
        if nodes.player(node) == TERMINAL:
            factor, key = nodes.payoff(node)
            joint = nodes.deal_probability(node) * factor * nodes.matrix(key)
            for player, expected in enumerate((joint[0] @ own[1], own[0] @ joint[1])):
                found = nodes.payoffs(node, player, own)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


@pytest.mark.compiled
def test_terminals_of_three_players_are_sums_over_triples() -> None:
    rules = TwoRankingsOfThree(3, cards=8, width=1, rounds=1, public=0, suits=2)
    nodes, rng = compile_game(rules).nodes, np.random.default_rng(5)
    below, ends = [0], []
    for node in below:
        below += [step.node for step in nodes.children(node)]
        if nodes.player(node) == TERMINAL:
            ends.append(node)
    shown = [n for n in ends if isinstance(rules.node(nodes.state(n)), SidePots)]
    check_single_terminals(nodes, (shown[0], shown[-1]), rng)


class AllIn(TwoRankings):
    """A player goes all in or folds, the other calls or folds; two cards are run out or dealt."""

    def __init__(self, *, is_dealt: bool) -> None:
        super().__init__(2, cards=7, width=1, rounds=1, public=1)
        self.is_dealt = is_dealt

    def node(self, state: Any) -> Any:
        if len(state) < 2 and "fold" not in state:
            return Decision(len(state), None, ("fold", "in"))
        if "fold" in state:
            return Fold((-1.0, 1.0) if len(state) == 1 else (1.0, -1.0))
        pays = (5.0, -5.0), (0.5, -0.5), (-4.0, 4.0)
        if not self.is_dealt:
            return Runout(*pays, 2)
        return Deal(2) if len(state) == 2 else Showdown(*pays)


@pytest.mark.compiled
def test_cards_that_are_run_out_are_those_that_are_dealt() -> None:
    run, dealt = (compile_game(AllIn(is_dealt=is_dealt)) for is_dealt in (False, True))
    step_alike(Solver(run, FLOORED), Solver(dealt, FLOORED), (1, 1, 3), strategies=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("method", tiered(["resolve", "maxmargin", "unsafe"], ["resolve"]))
def test_a_part_is_solved_again(method: str) -> None:
    """As in the same game laid out."""
    game = compile_game(TwoRankingsOfSuits(5, **SUITS), symmetry=False)
    flat = game.flat()
    blueprint = solve(game, iters=10, precision="float64").policy
    rows = blueprint.to_dict()
    same = Policy.from_mapping(
        flat, {label: rows[label] for p in range(2) for label in flat.labels_of(p)}
    )
    at = f"pass pass {game.nodes.rules.cards[0]}"
    options: dict[str, Any] = {"method": method, "algorithm": "lp"}
    found, slow = (resolve(g, b, at, **options) for g, b in ((game, blueprint), (flat, same)))
    for one, other in zip(found.subgames, slow.subgames, strict=True):
        assert one.solution.value == pytest.approx(other.solution.value, abs=1e-9)
        if one.alternative is not None:
            np.testing.assert_allclose(one.alternative, other.alternative, rtol=0, atol=1e-9)


class OtherNumbers(RandomCards):
    """Strengths of another dtype."""

    def __init__(self, dtype: Any) -> None:
        super().__init__(3, cards=6, width=1, rounds=0, public=1)
        self.dtype = dtype

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        return (super().strength(board, hands) % 200).astype(self.dtype)


def test_strengths_of_small_unsigned_numbers() -> None:
    """A difference of unsigned numbers is never negative, so no hand would lose."""
    games = [as_histories(OtherNumbers(dtype)) for dtype in (np.uint8, np.int64)]
    below = [(games[0].root(), games[1].root())]
    for states in below:
        one, other = (game.node(state) for game, state in zip(games, states, strict=True))
        assert one == other
        steps = getattr(one, "outcomes", getattr(one, "actions", ()))
        below += [
            tuple(g.next(s, step) for g, s in zip(games, states, strict=True)) for step in steps
        ]


# ------------------------------------------------------------------------------------- refusals


class Wrong(TwoRankings):
    """A game that breaks the contract of rankings."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(1, cards=6, width=1, rounds=1, public=1)
        self.__dict__.update(changes)


class WrongOfThree(TwoRankingsOfThree):
    """A utility that is no mean over rankings."""

    def node(self, state: Any) -> Any:
        node = super().node(state)
        return node._replace(utility=list) if isinstance(node, SidePots) else node


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Wrong(rankings=1), r"strength returns an array of the shape \(2, \d+\), not \(1, \d+\)"),
        (Wrong(rankings=3), r"the shape \(2, \d+\), not \(3, \d+\)"),
        (Wrong(rankings=0), "rankings must be a whole number from 1, not 0"),
        (Wrong(rankings=2.0), "rankings must be a whole number from 1, not 2.0"),
        (
            WrongOfThree(2, cards=7, width=1, rounds=0, public=0),
            "with 2 rankings, the SidePots after .* can have no utility",
        ),
        (
            partial(TwoRankingsOfSuits, 3, **SUITS),
            "changes strengths: ",
        ),
        (OtherNumbers(np.float64), "strength returns an array of float64, not of int64"),
    ],
)
def test_wrong_rankings(rules: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(rules, partial):
        # The second ranking alone tells suits apart.
        def strength(self: Any, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
            return np.stack([EveryRound.strength(self, board, hands), hands[:, 0] % 2])

        monkeypatch.setattr(TwoRankingsOfSuits, "strength", strength)
        rules = rules()
    with pytest.raises(GameError, match=message):
        compile_game(rules)


def test_prizes_are_refused() -> None:
    """They are no mean of the shares of a pot."""
    rules = TwoRankings(1, cards=6, width=1, rounds=1, public=1)
    with pytest.raises(ValueError, match="has 2 rankings of the hands, so its payoffs must be"):
        tournament(rules, stacks=9, payouts=(3, 1), others=(5,))
