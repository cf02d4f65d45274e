"""Symmetric choices of players are merged, and every iteration stays as it is.

A slow search for automorphisms says which infosets and actions may be merged; iterations are
compared with those of the unmerged game, and with the slow recursive reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from compilers.test_moved_payoffs import Written, assert_close, assert_one_answer
from support.imported_games import HIDDEN_MOVES
from support.properties import examples
from support.random_games import games
from support.reference import ReferenceCFR
from support.slow_symmetries import Copied, HideAndSeek, orbits
from support.tiers import tiered
from tensorcfr import (
    CompiledGame,
    Decision,
    Game,
    Policy,
    Solution,
    Solver,
    Terminal,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.algorithms import ALGORITHMS, find_algorithm
from tensorcfr.analysis import iteration_events, model_locks
from tensorcfr.compilers import symmetric_choices
from tensorcfr.compilers.invariants import check
from tensorcfr.errors import InvariantError
from tensorcfr.evaluation.linear_program import equilibrium
from tensorcfr.model.arrays import Copies
from tensorcfr.model.flat_game import Merged
from tensorcfr.solvers import warm_start
from tensorcfr.solvers.warm_start import UnsymmetricStartError, warm_state

SYMMETRIC = HideAndSeek(3, seed=1)


@cache
def hide_and_seek() -> CompiledGame:
    return compile_game(SYMMETRIC)


@pytest.fixture(autouse=True)
def merges_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge choices in small games, too, and even if that saves no payoffs."""
    monkeypatch.setattr(symmetric_choices, "SMALLEST", 0)
    monkeypatch.setattr(symmetric_choices, "LARGEST_SHARE", 1.0)


def copies_of(game: CompiledGame) -> Copies:
    copies = game.merged.form.copies
    assert copies is not None
    return copies


def merged_orbits(game: CompiledGame) -> tuple[set[frozenset[str]], set[frozenset[object]]]:
    """Infosets, and actions, that are merged or copies of each other."""
    first, numbers = game.merged.form.first_copies, game.merged_numbers
    infosets: dict[object, set[str]] = {}
    actions: dict[int, set[object]] = {}
    for label in game.infoset_labels:
        place = game.locate(label)
        images = first[numbers[place.numbers]].tolist()
        infosets.setdefault(frozenset(numbers[place.numbers].tolist()), set()).add(label)
        for action, image in zip(place.actions, images, strict=True):
            actions.setdefault(image, set()).add((label, action))
    return set(map(frozenset, infosets.values())), set(map(frozenset, actions.values()))


def named(found: set[frozenset[object]]) -> set[frozenset[object]]:
    """Actions by their labels."""
    return {frozenset((label, str(action)) for label, action in orbit) for orbit in found}


ALMOST = {
    "a circle of two": HideAndSeek(2, seed=1),
    "a circle of three": SYMMETRIC,
    "one payoff differs by 1e-9": HideAndSeek(3, seed=1, extra=1e-9),
    "one infoset is two": HideAndSeek(2, seed=1, told=True),
    "copies of a game": Copied(HideAndSeek(2, seed=3), 2),
}


@pytest.mark.parametrize("rules", ALMOST.values(), ids=ALMOST)
def test_that_is_merged_which_automorphisms_map(rules: Game) -> None:
    infosets, actions = merged_orbits(compile_game(rules))
    expected = orbits(rules)
    assert infosets == expected[0]
    assert named(actions) == named(expected[1])


@pytest.mark.parametrize(
    "change", [{"extra": 1e-6}, {"wind": 0.5 + 1e-6}], ids=["a payoff", "a chance"]
)
def test_wrong_classes_are_refused(
    change: dict[str, float], merges_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes come from hashes, which may be equal by chance; here all payoffs have one hash."""
    monkeypatch.setattr(
        symmetric_choices, "float_bits", lambda payoffs: np.zeros(len(payoffs), np.uint64)
    )
    with pytest.raises(InvariantError, match=r"^M7 "):
        compile_game(HideAndSeek(3, seed=1, **change))


@pytest.mark.parametrize(("wind", "merged"), [(0.5, 4), (0.5 + 1e-9, 5), (0.5 - 1e-9, 5)])
def test_a_chance_that_differs_by_1e_9_is_not_merged(
    wind: float, merged: int, merges_always: None
) -> None:
    """Only a wind that blows as often to the left as to the right makes places equal to which it
    blows player 0 from one hiding place."""
    game = compile_game(HideAndSeek(3, seed=1, wind=wind))
    assert game.merged.form.n_infosets == merged
    right, left = (game.locate(f"hid at 0, {place}, looked at 0").numbers for place in (1, 2))
    same = set(game.merged_numbers[right]) == set(game.merged_numbers[left])
    assert same == (wind == 0.5)
    assert_one_answer(game, "cfr", (1, 2, 3, 10))


def test_the_merged_game_is_small() -> None:
    """Player 0 hides, knows a place and a wrong guess; player 1 looks twice."""
    game = hide_and_seek()
    small = game.merged.form
    assert (game.n_infosets, small.n_infosets) == (11, 4)
    # Six first actions are copies, and so are the second looks at the two other cells.
    assert len(copies_of(game).sequence) == 8


WHOLE = [
    name
    for name, record in ALGORITHMS.items()
    if record.passes_whole_game and record.merges_infosets and "flat" in record.solvers
]
FAST = ("cfr", "cfr+", "paced-cfr+")


@pytest.mark.parametrize("algorithm", tiered(WHOLE, FAST))
def test_every_algorithm_plays_the_same(algorithm: str) -> None:
    assert_one_answer(hide_and_seek(), algorithm, (1, 2, 3, 10, 100))


def test_iterations_are_those_of_the_reference() -> None:
    game = hide_and_seek()
    solver, slow = Solver(game, "cfr"), ReferenceCFR(SYMMETRIC, average_power=0, alternating=True)
    for _ in range(10):
        solver.iterate(1)
        slow.iterate()
        policy = solver.average_policy()
        for label, row in slow.average_policy().items():
            assert_close(list(policy[label].values()), row)


@given(game=games(n_players=2, max_histories=40))
@examples(8)
def test_random_games_with_copies(game: Game) -> None:
    """A secret choice among copies of a random game."""
    compiled = compile_game(Copied(game))
    assert_one_answer(compiled, "cfr", (1, 2, 3, 10))


@pytest.mark.parametrize("order", ["xy", "yx"])
def test_a_player_without_payoffs(order: str) -> None:
    """Player 1 always gets 0, so all choices of player 1 are alike; player 0 is paid after "x"."""
    nodes: dict[tuple[str, ...], Any] = {(): Decision(1, "first", list(order))}
    for first in "xy":
        nodes[first,] = Decision(1, f"then {first}", ["a", "b"])
        for then in "ab":
            nodes[first, then] = Decision(0, "guess", ["c", "d"])
            for guess in "cd":
                won = {"ac": 1.0, "bd": 3.0}.get(then + guess, 0.0) if first == "x" else 0.0
                nodes[first, then, guess] = Terminal([won, 0.0])
    game = compile_game(Written(nodes))
    assert len(copies_of(game).sequence)
    assert_one_answer(game, "cfr", (1, 2, 3, 10))


@pytest.mark.parametrize("name", HIDDEN_MOVES[:2], ids=["dark hex", "battleship"])
def test_games_of_openspiel(name: str) -> None:
    pytest.importorskip("pyspiel")
    game = compile_game(name)
    assert 2 * copies_of(game).first.size <= game.n_sequences
    small, whole = game.merged.form.n_infosets, game.n_infosets
    assert 2 * small <= whole
    assert_one_answer(game, "cfr", (1, 2, 3, 10, 100))


def test_small_games_are_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels for copies would take longer to compile than the game to solve."""
    monkeypatch.undo()
    game = compile_game("rock_paper_scissors")
    assert game.merged is None or game.merged.form.copies is None


@pytest.mark.parametrize("name", ["rock_paper_scissors", "matching_pennies", "shapleys_game"])
def test_matrix_games(name: str, interpreted: None) -> None:
    assert_one_answer(compile_game(name), "cfr", (1, 2, 3, 10, 100))


def test_values_and_answers() -> None:
    game = hide_and_seek()
    solution = solve(game, "cfr+", iters=200)
    whole = solve(game.without_merging(), "cfr+", iters=200)
    assert set(solution.policy) == set(game.infoset_labels)
    assert_close(solution.policy.probabilities, whole.policy.probabilities)
    found = evaluate(game, solution.policy)
    assert_close(found.values, solution.evaluation.values)
    assert_close(found.best_responses, solution.evaluation.best_responses)
    exact = equilibrium(game)[1].values[0]
    assert abs(exact - solution.evaluation.values[0]) < 2 * solution.exploitability


LOOK = ("0", "1", "2")


@pytest.mark.parametrize(
    ("locks", "keeps"),
    [
        ({"look": dict.fromkeys(LOOK, 1 / 3)}, True),
        ({"look": {"0": 0.5, "1": 0.25, "2": 0.25}}, False),
        ({"look": {"0": 0.5}}, False),
        ({f"looked at {k}": {str(k): 0.0} for k in range(3)}, True),
        ({"looked at 0": {"0": 0.0}}, False),
        ({f"looked at {k}": {str((k + 1) % 3): 0.5} for k in range(3)}, False),
    ],
)
def test_locks_that_distinguish_choices_are_solved_unmerged(locks: Any, keeps: bool) -> None:
    check_locked(lambda game: locks, keeps=keeps)


def check_locked(locks: Callable[[CompiledGame], Any], *, keeps: bool) -> None:
    """Locks give the same solve of both games, and keep the merged form or not."""
    game = hide_and_seek()
    solvers = [Solver(g, "cfr", locks=locks(g)) for g in (game, game.without_merging())]
    assert (solvers[0].form.n_numbers < game.n_sequences) == keeps
    for solver in solvers:
        solver.iterate(10)
    assert_close(*(solver.average_probabilities() for solver in solvers))
    found, expected = (solver.evaluate() for solver in solvers)
    assert_close(found.values + found.best_responses, expected.values + expected.best_responses)


@pytest.mark.parametrize("method", ["restricted", "data-biased"])
@pytest.mark.parametrize("keeps", [True, False])
def test_responses_to_models(method: str, keeps: bool) -> None:
    """A model that looks anew where it looked before keeps the symmetries."""
    again = {f"looked at {k}": {j: 0.5 if j == str(k) else 0.25 for j in LOOK} for k in range(3)}
    rows = again if keeps else {"look": {"0": 0.5, "1": 0.25, "2": 0.25}}
    check_locked(lambda g: model_locks(g, played(g, rows), 1, 0.5, method=method), keeps=keeps)


def played(game: CompiledGame, rows: Mapping[str, Mapping[str, float]]) -> Policy:
    """Some strategies, and uniform ones at all other infosets."""
    uniform = {
        label: dict.fromkeys(actions, 1 / len(actions))
        for label, actions in zip(game.infoset_labels, game.infoset_actions, strict=True)
    }
    return Policy.from_mapping(game, uniform | rows)


def test_warm_starts_that_distinguish_choices_are_solved_unmerged() -> None:
    game = hide_and_seek()
    whole = game.without_merging()
    uneven = played(game, {"look": {"0": 0.5, "1": 0.5, "2": 0.0}})
    with pytest.raises(UnsymmetricStartError, match="compile it with symmetry=False"):
        warm_state(game, "cfr", uneven)
    even = solve(whole, "cfr", iters=3)
    for start in (uneven, even, even.policy, solve(game, "cfr", iters=3)):
        solutions = [solve(g, "cfr", iters=5, warm_start=start) for g in (game, whole)]
        assert_close(*(solution.policy.probabilities for solution in solutions))
        merges = solutions[0].problem.form.n_numbers < game.n_sequences
        assert merges == (start is not uneven)
        # The same game, also where it merges choices.
        again = solve(game, start=solutions[0], iters=10)
        assert_close(
            again.policy.probabilities,
            solve(whole, start=solutions[1], iters=10).policy.probabilities,
        )


def test_a_warm_start_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt shows whether it distinguishes choices."""
    begin, games = warm_start._begin, []

    def counted(problem: Any, *arguments: Any) -> Any:
        games.append(problem.game)
        return begin(problem, *arguments)

    monkeypatch.setattr(warm_start, "_begin", counted)
    solve(hide_and_seek(), "cfr", iters=1, warm_start=Policy.uniform(hide_and_seek()))
    assert games == [hide_and_seek()]


def test_regrets_of_a_game_with_other_copies_are_no_start() -> None:
    """The games have the same infosets, but other payoffs."""
    even, uneven = hide_and_seek(), compile_game(HideAndSeek(3, seed=1, extra=0.5))
    begun = solve(uneven, "cfr", iters=5)
    solutions = [solve(g, "cfr", iters=5, warm_start=begun) for g in (even, even.without_merging())]
    assert_close(*(solution.policy.probabilities for solution in solutions))


def test_files_keep_copies(tmp_path: Path) -> None:
    solution = solve(hide_and_seek(), "cfr", iters=5)
    path = solution.save(tmp_path / "solution.npz")
    loaded = Solution.load(path)
    for array, found in zip(copies_of(solution.game), copies_of(loaded.game), strict=True):
        assert np.array_equal(array, found)
    assert_close(
        solve(loaded.game, start=loaded, iters=5).policy.probabilities,
        solve(solution.game, start=solution, iters=5).policy.probabilities,
    )


def test_files_of_the_unmerged_game_are_read_for_the_merged_one(tmp_path: Path) -> None:
    game = hide_and_seek()
    solution = solve(game.without_merging(), "cfr", iters=5)
    path = solution.save(tmp_path / "solution.npz")
    loaded = Solution.load(path, game=game)
    assert loaded.game.merged is None
    assert_close(
        solve(game, start=loaded, iters=5).policy.probabilities,
        solve(solution.game, start=solution, iters=5).policy.probabilities,
    )
    assert Solution.load(solve(game, "cfr", iters=5).save(path, force=True), game=game).game is game


def test_copies_of_the_unmerged_form_are_refused() -> None:
    game = hide_and_seek()
    form = game.form._replace(copies=copies_of(game))
    with pytest.raises(InvariantError, match="copies"):
        check(replace(game.without_merging(), form=form))


def test_long_chains_of_payoffs_are_not_refined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each round splits the two ends of the chain only."""
    band = np.eye(120) + np.eye(120, k=1)
    rounds = []
    passed_up = symmetric_choices._passed_up
    monkeypatch.setattr(
        symmetric_choices, "_passed_up", lambda *given: rounds.append(1) or passed_up(*given)
    )
    compile_game("matrix", payoffs=band.tolist())
    assert 0 < len(rounds) <= symmetric_choices.MOST_ROUNDS


def test_events_list_all_merged_infosets() -> None:
    shown = iteration_events(hide_and_seek(), "cfr", iters=1, most=10**6)
    merged = {infoset.label: infoset.merged for infoset in shown.infosets}
    assert merged["looked at 0"] == ("looked at 1", "looked at 2")


def test_policies_of_the_unmerged_game_are_evaluated() -> None:
    game = hide_and_seek()
    policy = played(game, {"look": {"0": 1.0, "1": 0.0, "2": 0.0}})
    assert_close(evaluate(game, policy).values, evaluate(game.without_merging(), policy).values)


@pytest.mark.parametrize(
    ("field", "index", "to"),
    [
        ("bucket", -1, 7),
        ("sequence", 0, 0),
        ("first", 0, 0),
        ("share_of", 0, 0.25),
        ("share_of", 0, np.nan),
    ],
)
def test_broken_copies_are_found(field: str, index: int, to: float) -> None:
    game = hide_and_seek()
    copies = copies_of(game)
    array = getattr(copies, field).copy()
    array[index] = to
    form = game.merged.form._replace(copies=copies._replace(**{field: array}))
    with pytest.raises(InvariantError, match="M1"):
        check(replace(game, merged=Merged(form, game.merged.sequence)))


def test_rules_of_a_scale_are_solved_unmerged() -> None:
    record = find_algorithm("hedge")
    assert not record.merges_infosets
    assert_close(
        *(
            solve(g, "hedge", iters=10).policy.probabilities
            for g in (hide_and_seek(), hide_and_seek().without_merging())
        )
    )
