"""The walk-through: the tutorial's worked example to the last digit, and what is refused."""

from __future__ import annotations

import doctest
from itertools import product
from typing import Any

import numpy as np
import pytest

from support.command_line import USAGE, printed, refused
from support.paths import DOCS
from support.tiers import tiered
from tensorcfr import SampledSolver, Solver, compile_game
from tensorcfr.algorithms import CHANCE_SAMPLING, WHOLE_TRAVERSAL
from tensorcfr.analysis import Walkthrough, walkthrough
from tensorcfr.analysis.walkthroughs import HEADINGS
from tensorcfr.model.flat_game import FlatGame
from tensorcfr.sweep import read_algorithm

KUHN = compile_game("kuhn")
TOGETHER = CHANCE_SAMPLING(alternating=False)


@pytest.fixture(scope="module")
def tutorial() -> Walkthrough:
    return walkthrough(KUHN, TOGETHER, iters=2, deal=("Q", "K"))


REGRETS = {
    1: {"Q": (-0.375, 0.375), "Kp": (-0.125, 0.125), "Kb": (-0.75, 0.75), "Qpb": (0.25, -0.25)},
    2: {"Q": (0.625, 0.375), "Kp": (-0.125, 0.125), "Kb": (-3.75, 0.75), "Qpb": (0.25, -1.25)},
}
"""The worked example of a tutorial on CFR: Kuhn poker, player 1 (our 0) holds the queen, player 2
(our 1) the king, one traversal updates both; regret sums of pass and bet after each iteration."""
STRATEGY_SUMS = {"Q": (0.5, 0.5), "Kp": (0.5, 0.5), "Kb": (0.5, 0.5), "Qpb": (0.25, 0.25)}
"""After the first iteration, from the same source."""
UTILITIES = {
    "pass bet pass": (-1.0, 0),
    "pass bet bet": (-2.0, 0),
    "pass bet": (-1.5, 0),
    "pass pass": (1.0, 1),
    "pass": (1.25, 1),
    "bet pass": (-1.0, 1),
    "bet bet": (2.0, 1),
    "bet": (0.5, 1),
    "start": (-0.875, 0),
}
"""The utilities that the same source names on the way through the first iteration, each with the
player whose utility it is; of "pass bet" player 1's 1.5, of "pass" and "bet" player 0's -1.25 and
-0.5, too."""
OPPONENTS = {"pass bet": (0.5, 1), "pass": (0.5, 0), "bet": (0.5, 0)}
"""The opponent's probabilities of playing to a node by which it multiplies the regrets, each with
the number of the opponent."""


class TestTutorial:
    def test_infosets_in_the_order_of_play(self, tutorial: Walkthrough) -> None:
        for iteration in tutorial.iterations:
            assert [row.infoset for row in iteration.rows] == ["Q", "Kp", "Kb", "Qpb"]

    @pytest.mark.parametrize("number", REGRETS)
    def test_regret_sums(self, tutorial: Walkthrough, number: int) -> None:
        for label, expected in REGRETS[number].items():
            assert tutorial.iterations[number - 1][label].new_regret == expected

    def test_strategy_sums(self, tutorial: Walkthrough) -> None:
        for label, expected in STRATEGY_SUMS.items():
            assert tutorial.iterations[0][label].new_strategy_sum == expected

    def test_utilities_of_all_histories(self, tutorial: Walkthrough) -> None:
        first = tutorial.iterations[0]
        assert [" ".join(row.steps) or "start" for row in first.histories] == [
            *("start", "pass", "pass pass", "pass bet", "pass bet pass", "pass bet bet"),
            *("bet", "bet pass", "bet bet"),
        ]
        for steps, (utility, player) in UTILITIES.items():
            row = first.find(*(steps.split() if steps != "start" else ()))
            assert row.value[player] == utility
            assert row.value[1 - player] == -utility
        for steps, (probability, player) in OPPONENTS.items():
            assert first.find(*steps.split()).reach[player] == probability

    def test_regrets_are_differences_of_utilities_times_reach(self, tutorial: Walkthrough) -> None:
        """In both iterations: the tutorial's text of the second repeats the first's numbers."""
        for iteration in tutorial.iterations:
            assert iteration.deal == ("Q", "K")
            for row in iteration.rows:
                here = next(h for h in iteration.histories if h.infoset == row.infoset)
                for action, before, after in zip(
                    row.actions, row.regret, row.new_regret, strict=True
                ):
                    there = iteration.find(*here.steps, action)
                    gain = there.value[row.player] - here.value[row.player]
                    assert after - before == here.reach[1 - row.player] * gain

    def test_an_iteration_begins_where_the_last_one_ended(self, tutorial: Walkthrough) -> None:
        for before, after in zip(*(i.rows for i in tutorial.iterations), strict=True):
            assert before.new_regret == after.regret
            assert before.new_strategy == after.strategy
            assert before.new_strategy_sum == after.strategy_sum
            total = sum(max(r, 0.0) for r in after.regret)
            assert after.strategy == tuple(max(r, 0.0) / total for r in after.regret)

    def test_as_a_table(self, tutorial: Walkthrough) -> None:
        lines = str(tutorial).splitlines()
        assert lines[0] == "iteration 1, dealt Q, K"
        assert lines[11].split()[:4] == ["history", "infoset", "reach", "0"]
        assert lines[12].split() == ["start", "Q", "1", "1", "-0.875", "0.875", "-0.875", "0.875"]
        assert lines[1].split() == " ".join(HEADINGS).split()
        assert lines[2].split() == ["Q", "0", "pass", "0", "-0.375", "0.5", "0", "0", "0.5"]

    def test_on_the_command_line(self, tutorial: Walkthrough) -> None:
        lines = printed("walkthrough", "kuhn", "--deal", "Q,K").splitlines()
        for line in str(tutorial).splitlines():
            assert line.split() in [one.split() for one in lines]
        assert all(len(line) <= 80 for line in lines)


@pytest.mark.full
@pytest.mark.parametrize(
    "page", ["walkthrough.md", pytest.param("sampling.md", marks=pytest.mark.compiled)]
)
def test_the_pages(page: str) -> None:
    assert doctest.testfile(str(DOCS / page), module_relative=False).failed == 0


def test_a_sampled_deal_shows_what_changed() -> None:
    walked = walkthrough(KUHN, TOGETHER, iters=3, seed=1)
    solver = SampledSolver(KUHN, TOGETHER, seed=1)
    for iteration in walked.iterations:
        before = solver.state
        solver.iterate()
        changed = (solver.state.cumulative != before.cumulative) | (
            solver.state.regret != before.regret
        )
        labels = {
            label
            for index, label in enumerate(KUHN.infoset_labels)
            if changed[KUHN.sequences(index)].any()
        }
        assert {row.infoset for row in iteration.rows} == labels
        assert len(labels) <= 4
        # Both players' cards are at the beginning of the labels.
        assert iteration.deal is not None
        assert {label[0] for label in labels} == set(iteration.deal)
        for row in iteration.rows:
            assert row.infoset[0] == iteration.deal[row.player]
        assert len(iteration.histories) == 9


def test_players_who_alternate_have_no_common_deal() -> None:
    walked = walkthrough(KUHN, "external_sampling", iters=20, seed=1)
    assert all(one.deal is None and not one.histories for one in walked.iterations)
    with pytest.raises(KeyError, match="iteration 1 does not show the history 'pass'"):
        walked.iterations[0].find("pass")


FLOORS = {"cfr": -np.inf, "cfr(alternating=False)": -np.inf, "cfr+": 0.0, "dcfr": -np.inf}


@pytest.mark.parametrize("algorithm", FLOORS)
@pytest.mark.parametrize("game", [KUHN, compile_game("rock_paper_scissors")])
def test_regrets_are_sums_over_the_histories_of_all_deals(game: FlatGame, algorithm: str) -> None:
    """What is added at an infoset: counterfactual values after the action minus those before it,
    whichever strategies the players learn against; of DCFR beside the discount that its paper
    has (N. Brown, T. Sandholm, AAAI 2019: t^1.5 / (t^1.5 + 1) and 1/2)."""
    for iteration in walkthrough(game, read_algorithm(algorithm), iters=5).iterations:
        assert len(iteration.histories) == game.n_histories
        power = (iteration.number - 1) ** 1.5
        discount = (power / (power + 1), 0.5) if algorithm == "dcfr" else (1.0, 1.0)
        for row in iteration.rows:
            here = [h for h in iteration.histories if h.infoset == row.infoset]
            for action, before, after in zip(row.actions, row.regret, row.new_regret, strict=True):
                regret = sum(
                    iteration.find(*h.steps, action).counterfactual[row.player]
                    - h.counterfactual[row.player]
                    for h in here
                )
                kept = before * discount[before <= 0.0]
                expected = max(kept + regret, FLOORS[algorithm])
                assert after == pytest.approx(expected, abs=1e-14)


def test_larger_games_show_their_infosets_alone() -> None:
    (iteration,) = walkthrough(compile_game("leduc"), "cfr", iters=1).iterations
    assert iteration.rows
    assert not iteration.histories


@pytest.mark.parametrize(
    ("name", "algorithm"),
    tiered(
        product(("leduc", "liars_dice(faces=2)", "nl_leduc(stack=2)"), ("cfr", "paced-cfr+")),
        [("leduc", "cfr"), ("liars_dice(faces=2)", "paced-cfr+"), ("nl_leduc(stack=2)", "cfr")],
    ),
)
def test_merged_infosets_show_their_own_numbers(name: str, algorithm: str) -> None:
    """Merging infosets and omitting decisions with one action changes no number that is shown."""
    walked, apart = (
        walkthrough(compile_game(name, symmetry=symmetry), algorithm, iters=2)
        for symmetry in (True, False)
    )
    assert walked.game.merged is not None
    assert str(walked)
    for iteration, wanted in zip(walked.iterations, apart.iterations, strict=True):
        shown = {row.infoset for row in iteration.rows}
        for row in wanted.rows:
            # Rounding alone may change an infoset, and show it.
            if row.infoset not in shown:
                assert row.new_regret == pytest.approx(row.regret, abs=1e-14)
        theirs = {row.infoset: row for row in wanted.rows}
        assert len(shown & set(theirs)) > 0.9 * len(shown | set(theirs))
        for row in iteration.rows:
            other = theirs.get(row.infoset, row)
            assert (row.player, row.actions) == (other.player, other.actions)
            for column in ("regret", "new_regret", "strategy_sum", "new_strategy_sum"):
                assert getattr(row, column) == pytest.approx(getattr(other, column), abs=1e-12)
            for column in ("strategy", "new_strategy"):
                assert getattr(row, column) == pytest.approx(getattr(other, column), abs=1e-10)


@pytest.mark.parametrize("algorithm", ["egt", "efce", "mmd-agent", "deep-cfr"])
def test_algorithms_without_regrets_of_actions_are_refused(algorithm: str) -> None:
    with pytest.raises(ValueError, match=f"{algorithm} keeps .*: there are no regrets to show"):
        walkthrough(KUHN, algorithm, iters=1)


def test_external_sampling_of_a_deal_has_its_histories() -> None:
    for iteration in walkthrough(KUHN, "external_sampling", iters=4, deal=("Q", "K")).iterations:
        assert len(iteration.histories) == 9
        start, row = iteration.find(), iteration["Q"]
        assert start.reach == (1.0, 1.0)
        below = [iteration.find(action).value[0] for action in row.actions]
        assert np.dot(row.strategy, below) == start.value[0] == start.counterfactual[0]


def test_full_tree_algorithms_too() -> None:
    walked = walkthrough(KUHN, "cfr", iters=2)
    solver = Solver(KUHN, "cfr")
    solver.iterate(2)
    assert len(walked.iterations[1].rows) == 12
    for row in walked.iterations[1].rows:
        at = KUHN.sequences(KUHN.infoset_index[row.infoset])
        np.testing.assert_array_equal(row.new_regret, solver.state.regret[at])
    with pytest.raises(KeyError, match="iteration 1 does not show infoset 'X'"):
        walked.iterations[0]["X"]


def test_the_board_of_leduc_can_be_dealt() -> None:
    """A fixed deal is the game with that deal for certain, whether it is sampled or walked."""
    game = compile_game("leduc(ranks=2, suits=2)")
    deal = ("Qs", "Qh", "Ks")
    sampled = walkthrough(game, CHANCE_SAMPLING(prune=False), iters=3, deal=deal)
    walked = walkthrough(game, WHOLE_TRAVERSAL(prune=False), iters=3, deal=deal)
    assert sampled.deal == deal
    assert sampled.iterations == walked.iterations
    together = walkthrough(game, TOGETHER(prune=False), iters=3, deal=deal)
    first = together.iterations[0]
    assert first.histories[0].steps == ()
    assert all(sum(row.value) == pytest.approx(0.0, abs=1e-12) for row in first.histories)
    # A board that is not fixed comes with its probability.
    boards = [
        walkthrough(game, CHANCE_SAMPLING, iters=1, deal=(*deal[:2], board)).iterations[0]
        for board in ("Ks", "Kh")
    ]
    free = walkthrough(game, CHANCE_SAMPLING, iters=1, deal=deal[:2]).iterations[0]
    mean = sum(board.histories[0].value[0] for board in boards) / 2
    assert free.histories[0].value[0] == pytest.approx(mean, abs=1e-12)
    labels = {row.infoset for row in sampled.iterations[0].rows}
    assert all(label.startswith(("Qs", "Qh")) for label in labels)


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        (TOGETHER, {"iters": 0}, "iters must be a whole number from 1 to 1,000,000, not 0"),
        (TOGETHER, {"deal": ("Q", "Q")}, "chance outcome 2 cannot be 'Q'; there are: J, K"),
        (TOGETHER, {"deal": ("X",)}, "chance outcome 1 cannot be 'X'; there are: J, Q, K"),
        (TOGETHER, {"deal": ("Q", "K", "J")}, "3 chance outcomes are given, .* at most 2"),
        (TOGETHER, {"deal": "QK"}, "a deal is a sequence of chance outcomes, not the text 'QK'"),
        ("cfr", {"deal": ("Q", "K")}, "cfr visits all deals"),
        ("cfr", {"seed": 1}, "it takes no deal and no seed"),
        ("lp", {}, "lp does not iterate"),
        ("chance", {}, "there is no algorithm 'chance'"),
    ],
)
def test_refusals(algorithm: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        walkthrough(KUHN, algorithm, **{"iters": 1, **options})


def test_refusals_on_the_command_line() -> None:
    said = refused(USAGE, "walkthrough", "kuhn", "--deal", "Q,Q")
    assert said.startswith("kuhn: chance outcome 2 cannot be 'Q'")
