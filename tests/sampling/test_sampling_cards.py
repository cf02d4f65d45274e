"""Card games are sampled in chunks: hands and board first, then the betting.  The mean over all
samples is what CFR adds to the histories."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import (
    EveryRound,
    LeducOfCards,
    RandomCards,
    RandomSuits,
    ThreeRandom,
    TwoRankingsOfSuits,
    TwoRankingsOfThree,
)
from support.equality import bits
from support.reference import DealtGame, Tree, build_tree
from support.sampled_choices import (
    CardsChooser,
    Deals,
    Sample,
    Traversal,
    chance,
    external,
    outcome,
    robust,
    samples,
)
from support.sampled_increments import expect_increments, increments, prepared
from support.slow_values import DealtCards
from support.tiers import tiered
from tensorcfr import CompiledGame, MemoryLimitError, SampledSolver, Solution, compile_game, solve
from tensorcfr.algorithms import (
    CHANCE_SAMPLING,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    PUBLIC_CHANCE_SAMPLING,
    ROBUST_SAMPLING,
    WHOLE_TRAVERSAL,
    Sampling,
)
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.errors import CutError
from tensorcfr.rules import CardGame, Runout
from tensorcfr.solvers.sampled_solver import bytes_needed


class ChosenBoards(RandomCards):
    """A card game whose first deal shows one of three boards."""

    def __init__(self) -> None:
        super().__init__(16, cards=6, width=1, rounds=1, public=0)
        self.boards = {(1,): 0.5, (3,): 2.0, (4,): 1.0}


class Wide(RandomCards):
    """A deck of more cards than a word has bits."""

    def __init__(self) -> None:
        super().__init__(13, cards=70, width=1, rounds=1, public=0)
        self.hands = [np.array([[2], [66], [69]]), np.array([[2], [69], [64], [0]])]
        self.weights = [np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.1, 0.3, 0.2])]
        self.boards = {(2,): 1.0, (5,): 1.0, (69,): 3.0}


GAMES: dict[str, tuple[Any, tuple[int, ...], dict[str, Any]]] = {
    "leduc": (LeducOfCards, (1,), {}),
    "random": (partial(RandomCards, 14, cards=5, width=1, public=0), (1,), {}),
    "a dead card": (partial(RandomCards, 17, cards=7, width=1, dead=1), (1,), {}),
    "suits": (
        partial(RandomSuits, 6, ranks=2, suits=3, width=1, rounds=1),
        (1,),
        {"symmetry": True},
    ),
    "two rounds": (
        partial(EveryRound, 5, ranks=3, suits=2, width=1, rounds=2),
        (1, 1),
        {"cut": 1},
    ),
    "two cards at once": (
        partial(EveryRound, 8, ranks=3, suits=2, width=1, rounds=1, deals=(2,)),
        (2,),
        {},
    ),
    "chosen boards": (ChosenBoards, (1,), {}),
    "a wide deck": (Wide, (1,), {}),
    "three players": (
        partial(ThreeRandom, 19, cards=5, width=1, rounds=1, public=0),
        (1,),
        {},
    ),
    "two rankings": (
        partial(TwoRankingsOfSuits, 9, ranks=3, suits=2, width=1, rounds=1),
        (1,),
        {"symmetry": True},
    ),
    "two rankings of three": (
        partial(TwoRankingsOfThree, 19, cards=5, width=1, rounds=1, public=0),
        (1,),
        {},
    ),
}


@cache
def small(name: str) -> tuple[CompiledGame, Tree, Deals]:
    make, counts, options = GAMES[name]
    rules: CardGame = make()
    game = compile_game(rules, **options)
    is_plain = rules.n_players == 2 and not rules.boards and set(counts) == {1}
    tree = build_tree(DealtCards(rules) if is_plain else DealtGame(HandByHand(rules)))
    return game, tree, Deals(rules, tree, counts[: game.nodes.betting.rounds])


CASES: dict[str, tuple[Sampling, Traversal]] = {
    "chance": (CHANCE_SAMPLING, chance(prune=True)),
    "chance, together": (CHANCE_SAMPLING(alternating=False), chance(prune=True)),
    "external": (EXTERNAL_SAMPLING, external),
    "external, stochastic": (EXTERNAL_SAMPLING(averaging="stochastic"), external),
    "robust": (ROBUST_SAMPLING(tries=1), robust(1)),
    "outcome": (OUTCOME_SAMPLING, outcome(0.6)),
    "outcome, baselines": (OUTCOME_SAMPLING(baseline=0.5), outcome(0.6)),
}
FAST = [("external", name) for name in GAMES if name != "leduc"]
FAST += [("outcome", "suits")]


@pytest.mark.parametrize(
    ("case", "name"), tiered([(case, name) for case in CASES for name in GAMES], FAST)
)
def test_expected_increments(case: str, name: str) -> None:
    """The mean over all samples is what CFR adds."""
    game, tree, deals = small(name)
    assert game.layout == "chunks"
    expect_increments(game, tree, *CASES[case], negative=True, chooser=partial(CardsChooser, deals))


@pytest.mark.parametrize("with_board", [False, True], ids=["hands", "board"])
def test_a_common_card_rejects_the_whole_deal(with_board: bool) -> None:
    """Draws go on with the first hand, and the traversal is that of the next deal."""
    game, tree, deals = small("suits")
    solver = prepared(game, EXTERNAL_SAMPLING, {})
    before = solver.state
    strategy = {
        k: [1 / len(infoset.actions)] * len(infoset.actions) for k, infoset in tree.infosets.items()
    }
    sample = next(samples(external, tree, strategy, 0, partial(CardsChooser, deals)))
    hands, boards = game.nodes.rules.hands, game.nodes.boards[-1].cards
    # The rejected deal has another first hand than the sample.
    (first, n_first), (second, n_second), (_, n_boards) = deals.number[-1]
    assert first != round(sample.draws[0] * n_first - 1e-9)
    shared = np.flatnonzero(hands[1] == hands[0][first])[0]
    rejected = [first / n_first, shared / n_second]
    if with_board:
        board = np.flatnonzero(boards == hands[1][second])[0]
        rejected = [first / n_first, second / n_second, board / n_boards]
    again = Sample(0.0, [*(x + 1e-9 for x in rejected), *sample.draws], [], sample.histories)
    again.decisions = sample.decisions
    for one, two in zip(
        increments(solver, before, sample, 0), increments(solver, before, again, 0), strict=True
    ):
        np.testing.assert_array_equal(one, two)
        assert one.any()


SPOT = {"board": "QsJh2h8d", "ranges": ("QQ-TT,AKs", "JJ-99,AQs"), "pot": 20, "stacks": 30}


@cache
def turn() -> CompiledGame:
    return compile_game("holdem", bets="50%", **SPOT)


def test_a_turn_in_chunks(tmp_path: Path) -> None:
    """Solves go on, are saved and loaded, to the same bits; and approach the value of the game."""
    game = turn()
    whole = solve(game, "external_sampling", iters=4000, seed=3)
    first = solve(game, "external_sampling", iters=1000, seed=3)
    first.save(tmp_path / "turn.npz")
    loaded = Solution.load(tmp_path / "turn.npz")
    later = solve(game, start=loaded, iters=3000)
    assert bits(later.state) == bits(whole.state)
    assert whole.exploitability < first.exploitability
    exact = solve(game, iters=50)
    assert whole.value[0] == pytest.approx(exact.value[0], abs=whole.exploitability)
    assert whole.sums["QcQd"].regret.keys() == exact.sums["QcQd"].regret.keys()


@pytest.mark.parametrize(
    ("algorithm", "what"),
    [
        (PUBLIC_CHANCE_SAMPLING, "public_chance_sampling"),
        (WHOLE_TRAVERSAL, "whole_traversal"),
        (CHANCE_SAMPLING(draws="golden"), "chance_sampling"),
    ],
    ids=str,
)
def test_flat_games_only(algorithm: Any, what: str) -> None:
    with pytest.raises(CutError, match=rf"{what} needs a flat game; use game.flat\(\)"):
        solve(turn(), algorithm, iters=1)


def test_other_games_in_chunks() -> None:
    with pytest.raises(CutError, match="leduc is in chunks, and external_sampling needs a flat"):
        solve(compile_game("leduc", cut=1), "external_sampling", iters=1)
    with pytest.raises(CutError, match="in chunks, and a given deal needs a flat game"):
        SampledSolver(turn(), "external_sampling", deal=("QsQh",))


class PaysBefore(RandomCards):
    """A card game with a runout."""

    def node(self, state: tuple[str, ...]) -> Any:
        node = super().node(())
        return Runout((1.0, -1.0), (0.0, 0.0), (-1.0, 1.0), 1) if state else node


class FewPairs(RandomCards):
    """Players who nearly always hold the same card."""

    def __init__(self) -> None:
        super().__init__(1, cards=3, width=1, rounds=1, public=0)
        self.hands = [np.array([[0], [1]])] * 2
        self.weights = [np.array([1.0, 1e-5])] * 2


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        (RandomCards(3, cards=5, width=1, varies=True), "depend on the board cannot be sampled"),
        (PaysBefore(3, cards=5, width=1, public=0), "Runout, without a board, cannot be sampled"),
        (FewPairs(), "only 6.7e-06 of all draws .* have no common card"),
    ],
    ids=["weights", "runout", "few pairs"],
)
def test_card_games_that_cannot_be_sampled(rules: CardGame, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        solve(compile_game(rules), "external_sampling", iters=1)


def test_memory_is_told() -> None:
    game = turn()
    needed = bytes_needed(game, EXTERNAL_SAMPLING)
    assert 8 * 3 * game.n_numbers < needed
    with pytest.raises(MemoryLimitError, match="solving holdem"):
        SampledSolver(game, EXTERNAL_SAMPLING, memory_limit=needed - 1)
    SampledSolver(game, EXTERNAL_SAMPLING, memory_limit=needed)
