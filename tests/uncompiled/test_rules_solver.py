"""Solving games that are not compiled: the door, errors, limits, files."""

from __future__ import annotations

import gc
import itertools
import math
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.equality import bits
from support.random_games import random_game
from tensorcfr import (
    Chance,
    Decision,
    Game,
    GameError,
    MemoryLimitError,
    SampledSolver,
    Solution,
    Terminal,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.algorithms import OUTCOME_SAMPLING
from tensorcfr.compilers.dealt_rules import as_histories
from tensorcfr.errors import ImperfectRecallError, UnknownGameError
from tensorcfr.formats import policy_table, read_policy, save_policy
from tensorcfr.games import make_game
from tensorcfr.model.infoset import Infoset
from tensorcfr.solvers import Status, history_sources
from tensorcfr.uncompiled import TablePolicy, UncompiledGame

# ------------------------------------------------------------------------------------- the door


def test_solve_takes_rules() -> None:
    solution = solve("kuhn", "external_sampling", iters=5000, seed=1)
    assert isinstance(solution.policy, TablePolicy)
    assert set(solution.policy) == set(compile_game("kuhn").infoset_labels)
    assert solution.status is Status.ITERATIONS
    # The tutorials' curves of external sampling are near 0.02 at 5,000 iterations.
    assert evaluate(compile_game("kuhn"), solution.policy).exploitability < 0.05
    assert np.isnan(solution.exploitability)
    assert "not known" in solution.summary()
    assert "12 infosets" in repr(solution)
    assert solution.guarantee.endswith("if the sum of the utilities is constant.")
    assert solution.trace[-1].infosets_held == 12
    assert solution.trace[-1].bytes_held > 1000


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("kuhn",), {}, "needs a compiled game: compile kuhn with compile_game"),
        (("kuhn", "cfr+"), {}, "needs a compiled game: compile kuhn with compile_game"),
        (("kuhn", "chance_sampling"), {}, "needs a compiled game: compile kuhn with compile_game"),
        (("kuhn", "lp"), {}, "needs a compiled game: compile kuhn with compile_game"),
        (("kuhn", "auto"), {}, "auto chooses for compiled games"),
        (("kuhn", "external_sampling"), {"target": 0.1}, "target needs exploitabilities"),
        (("kuhn", "external_sampling"), {"keep_best": True}, "keep_best needs exploitabilities"),
        (("kuhn", "external_sampling"), {"threads": 2}, "on one thread"),
        (("kuhn", "external_sampling"), {"locks": {"K": {"bet": 1.0}}}, "takes no locks"),
        (("kuhm", "external_sampling"), {}, "there is no game 'kuhm'"),
    ],
)
def test_what_needs_a_compiled_game_is_refused(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        solve(*arguments, iters=5, **options)


def test_what_is_no_game_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"game must be a compiled game \(from compile_game\),"):
        solve(3, "external_sampling", iters=5)


def test_stop_rules_and_checkpoints_are_those_of_every_solver() -> None:
    solution = solve("kuhn", "outcome_sampling", nodes=500, checkpoints=10, seed=2)
    assert solution.status is Status.NODES
    assert 500 <= solution.nodes_touched < 520
    assert [point.iteration for point in solution.trace[:3]] == [10, 20, 30]
    seen: list[int] = []
    stopped = solve(
        "kuhn",
        "external_sampling",
        iters=100_000,
        progress=lambda progress: bool(seen.append(progress.iteration)) or len(seen) == 3,
    )
    assert stopped.status is Status.STOPPED
    assert stopped.iterations == seen[-1]


def test_an_uncompiled_game_says_what_it_has_not() -> None:
    with pytest.raises(AttributeError, match="kuhn is not compiled and has no 'form'"):
        UncompiledGame("kuhn").form  # noqa: B018


# -------------------------------------------------------------------------- to go on, and files

RULES = OUTCOME_SAMPLING(baseline=0.5, averaging="optimistic")


@pytest.mark.parametrize("algorithm", ["external_sampling", RULES], ids=str)
def test_going_on_from_a_file_has_the_same_bits(algorithm: Any, tmp_path: Path) -> None:
    through = solve("leduc", algorithm, iters=60, seed=(5, 1))
    first = solve("leduc", algorithm, iters=20, seed=(5, 1))
    read = Solution.load(first.save(tmp_path / "first.npz"))
    assert read.policy == first.policy
    assert read.last_policy == first.last_policy
    assert read.trace[0].infosets_held == first.trace[0].infosets_held
    assert np.isnan(read.exploitability)
    after = solve("leduc", start=read, iters=40)
    assert bits(after.state) == bits(through.state)


def test_rules_of_your_own_are_given_to_go_on_from_a_file(tmp_path: Path) -> None:
    game = random_game(5)
    path = solve(game, "external_sampling", iters=5, seed=1).save(tmp_path / "own.npz")
    unknown = Solution.load(path)
    with pytest.raises(UnknownGameError, match=r"rules of .* are not in its file: pass the game"):
        solve(unknown.game, start=unknown, iters=5)
    read = Solution.load(path, game=game)
    assert unknown.policy.to_dict() == read.policy.to_dict()
    assert unknown.summary() == read.summary()
    again = Solution.load(unknown.save(tmp_path / "again.npz"), game=game)
    for start in (unknown, read, again):
        on = solve(game, start=start, iters=5)
        assert on.iterations == 10
        assert on.policy.to_dict() == solve(game, start=read, iters=5).policy.to_dict()
    with pytest.raises(ValueError, match="whose rules differ from those of kuhn"):
        Solution.load(path, game="kuhn")


def test_rules_of_your_own_that_are_called_like_a_built_in_game(tmp_path: Path) -> None:
    """Their file does not find those of the built-in game."""

    class Own(Game):
        name = "kuhn"

        def node(self, history: Any) -> Any:
            if not history:
                return Decision(0, "only", ("left", "right"))
            return Terminal((1.0, -1.0))

    path = solve(Own(), "external_sampling", iters=5, seed=1).save(tmp_path / "own.npz")
    read = Solution.load(path)
    assert read.policy["only"]
    with pytest.raises(UnknownGameError, match="the rules of 'kuhn' are not in its file"):
        solve(read.game, start=read, iters=1)
    assert solve(Own(), start=read, iters=5).iterations == 10


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("regret", lambda a: a[1:], "regret is float64"),
        ("strategy", lambda a: a * 2, "strategy is not a distribution"),
        ("cumulative", lambda a: a - 9e9, "cumulative strategy is negative"),
        ("cumulative", lambda a: a * np.nan, "not finite"),
        ("player", lambda a: a + 7, "belongs to player"),
        ("kind", lambda a: a + 7, "kind points beyond"),
        ("own", lambda a: a + 10**6, "own points beyond"),
        ("label_ends", lambda a: a[::-1].copy(), "does not rise"),
        ("labels", lambda a: a | 0x80, "not UTF-8"),
        ("labels", lambda a: a * 0 + 65, "twice"),
        ("generator", lambda a: a * 0, "only zeros"),
    ],
)
def test_a_damaged_state_is_refused(
    name: str, change: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    solution = solve("kuhn", "external_sampling", iters=5, seed=1)
    kept = {**solution.state._asdict(), name: change(np.array(getattr(solution.state, name)))}
    try:
        state = SampledSolver.restore(solution.problem, kept)
        said = SampledSolver.wrong_state(solution.problem, state)
    except ValueError as error:
        said = str(error)
    assert said is not None
    assert re.search(words, said)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_policies_of_rules_are_tables_and_files(format: str, tmp_path: Path) -> None:
    """The infosets that were met, in tables and in files, which the compiled game reads."""
    if format == "parquet":
        pytest.importorskip("pyarrow")
    solution = solve("kuhn", "external_sampling", iters=200, seed=1)
    for policy in (solution.policy, solution.last_policy):
        table = policy_table(policy)
        assert table.to_dict() == policy.to_dict() == policy.to_dict(0) | policy.to_dict(1)
        assert len(table) == len(list(table.rows())) == 24
        path = save_policy(policy, tmp_path / f"policy.{format}")
        assert read_policy(compile_game("kuhn"), path).to_dict() == policy.to_dict()
    # Of infosets with different numbers of actions, only those that were met.
    few = solve("leduc(ranks=2)", "outcome_sampling", iters=5, seed=1).policy
    assert policy_table(few).to_dict() == few.to_dict()
    assert len(policy_table(few)) == sum(map(len, few.values())) < 300
    with pytest.raises(ValueError, match="has no probabilities for infoset"):
        read_policy(compile_game("leduc(ranks=2)"), save_policy(few, tmp_path / f"few.{format}"))
    with pytest.raises(ValueError, match=r"few\.npz: leduc\(ranks=2\) is not compiled"):
        save_policy(few, tmp_path / "few.npz")


def test_a_policy_keeps_to_the_infosets_that_were_met_before_it() -> None:
    solver = SampledSolver("leduc", "external_sampling", seed=1)
    solver.iterate(2)
    policy = solver.average_policy()
    before = policy.to_dict()
    solver.iterate(20)
    later = set(solver.average_policy()) - set(before)
    assert later
    assert policy.to_dict() == before
    assert policy.count_of(0) + policy.count_of(1) == len(policy) == len(before)
    leduc = compile_game("leduc")
    for label in later:
        assert label not in policy
        infoset = Infoset(label, 0, leduc.infoset_actions[leduc.infoset_index[label]])
        assert len({*policy(infoset)}) == 1  # All actions are equally likely.
        with pytest.raises(KeyError, match="no play of leduc reached"):
            policy[label]


# --------------------------------------------------------------------------------------- limits


def test_a_full_table_loses_nothing() -> None:
    through = SampledSolver("leduc", "external_sampling", seed=4)
    through.iterate(100)
    limited = SampledSolver("leduc", "external_sampling", seed=4, memory_limit=200_000)
    with pytest.raises(MemoryLimitError) as caught:
        limited.iterate(100)
    done = limited.iteration
    assert 0 < done < 100
    assert limited.bytes_held <= limited.memory_limit
    held = limited.infosets_held
    words = f"beyond {done} iterations, with {held} infosets held, .* the limit is 195.3 KiB"
    assert caught.match(words)
    with pytest.raises(MemoryLimitError, match=words):
        limited.iterate()
    assert len(limited.average_policy()) == held
    limited.memory_limit = 10**9
    limited.iterate(100 - done)
    assert bits(limited.state) == bits(through.state)


def test_solve_hands_over_what_it_has_when_the_table_is_full(tmp_path: Path) -> None:
    with pytest.raises(MemoryLimitError) as caught:
        solve("leduc", "external_sampling", iters=1000, seed=4, memory_limit=200_000)
    solution = caught.value.solution
    read = Solution.load(solution.save(tmp_path / "full.npz"))
    after = solve("leduc", start=read, iters=3, memory_limit=10**9)
    assert after.iterations == solution.iterations + 3


def gone_on(solver: SampledSolver) -> None:
    """Check that a solver on Leduc poker goes on as if nothing had been undone."""
    whole = SampledSolver("leduc", "external_sampling", seed=4)
    whole.iterate(40)
    solver.iterate(40 - solver.iteration)
    assert bits(solver.state) == bits(whole.state)


def test_an_iteration_ends_when_its_time_is_over() -> None:
    solver = SampledSolver("leduc", "external_sampling", seed=4)
    solver.deadline = 0.0
    solver.iterate(40)
    assert solver.iteration < 5
    solver.deadline = math.inf
    gone_on(solver)


def test_an_iteration_ends_when_the_process_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = SampledSolver("leduc", "external_sampling", seed=4, memory_limit=30 << 20)
    grown = itertools.count(0, 20 << 20)
    monkeypatch.setattr(history_sources, "taken", lambda: next(grown))
    with pytest.raises(MemoryLimitError, match="the limit is 30"):
        solver.iterate(40)
    assert solver.iteration < 5
    monkeypatch.undo()
    solver.memory_limit = 1 << 30
    gone_on(solver)


def test_the_state_that_is_handed_over_is_told() -> None:
    """With some room ahead; an iteration ends that leaves less."""
    solver = SampledSolver("leduc", "external_sampling", seed=4)
    solver.iterate(100)
    table = solver.source.table
    state = sum(array.nbytes for array in solver.state)
    assert state + 8 * table.n_sequences < table.bytes_in_state < 2 * state
    # The process leaves room for half of it, and for all that the table counts.
    solver.memory_limit, solver.source._grown = 1 << 30, 0
    after = solver.memory_limit + history_sources.NOISE - table.bytes_in_state // 2
    grown = itertools.chain([0], itertools.repeat(after))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(history_sources, "taken", lambda: next(grown))
        with pytest.raises(MemoryLimitError):
            solver.iterate(100)


@pytest.mark.full
def test_the_table_takes_what_it_says() -> None:
    """The bytes that are counted are no less than those of the table, and not twice as many."""
    game = UncompiledGame("bluff(dice=(2, 1))")
    solver = SampledSolver(game, "outcome_sampling", seed=1)
    gc.collect()
    tracemalloc.start()
    solver.iterate(600)
    both = tracemalloc.get_traced_memory()[0]
    assert both < solver.bytes_held
    solver.source.tree = None
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert solver.infosets_held > 1000
    assert taken < solver.source.table.bytes_held < 2 * taken


# ---------------------------------------------------------------------------------- broken rules


class Broken(Game):
    """Chance, then player 0 twice, then an end; one node of it is replaced."""

    def __init__(self, at: tuple[Any, ...] = ("?",), node: Any = None) -> None:
        self.at, self.replaced = at, node

    def node(self, state: tuple[Any, ...]) -> Any:
        if state == self.at:
            return self.replaced
        if not state:
            return Chance({"x": 0.5, "y": 0.5})
        if len(state) < 3:
            return Decision(0, "".join(state), ("l", "r"))
        return Terminal((1.0, -1.0))


@pytest.mark.parametrize(
    ("at", "node", "error", "words"),
    [
        ((), Chance({"x": 0.5, "y": 0.6}), GameError, "sum to 1.1, not 1, at the root"),
        ((), Chance({"x": -0.5, "y": 1.5}), GameError, "is not between 0 and 1"),
        ((), Chance({"x": "a"}), GameError, "'a' is not a number"),
        ((), Chance({}), GameError, "no outcomes"),
        ((), None, GameError, "node\\(\\) must return"),
        (("x", "l", "l"), Terminal((float("nan"), 0.0)), GameError, "nan.* not finite, at .*x, l"),
        (("x", "l", "l"), Terminal((1.0,)), GameError, "one number to each of 2 players"),
        (("x", "l", "l"), Terminal(("a", 1.0)), GameError, "one number to each"),
        (("y",), Decision(0, "x", ("a", "b")), GameError, "disagree on its actions"),
        (("y",), Decision(1, "x", ("l", "r")), GameError, "is used by player"),
        (("y", "r"), Decision(0, "xl", ("l", "r")), ImperfectRecallError, "after 'r' at 'y'"),
        (("y", "r"), Decision(0, "y", ("l", "r")), ImperfectRecallError, "first decision"),
        (("y", "r"), Decision(2, "z", ("l", "r")), GameError, "belongs to player 2"),
        (("y", "r"), Decision(0, "z", ()), GameError, "has no actions"),
        (("y", "r"), Decision(0, "z", ("l", "l")), GameError, "names an action twice"),
        (("y", "r"), Decision(0, 5, ("l", "r")), GameError, "5 is not a string"),
    ],
)
def test_broken_rules_are_refused_where_they_break(
    at: Any, node: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        solve(Broken(at, node), "external_sampling", iters=50, seed=1)


class Faulty(Game):
    """Rules with a defect in the history of one step, ``r``."""

    name, n_players = "faulty", 1

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def root(self) -> tuple[Any, ...]:
        if self.fault == "root":
            raise StopIteration
        return ()

    def node(self, state: tuple[Any, ...]) -> Any:
        if not state:
            return Decision(0, "begin", ("l", "r"))
        if state == ("r",) and self.fault == "recursion":
            return self.node(state)
        if state == ("r",) and self.fault == "memory":
            raise MemoryError
        return Terminal((10**400 if self.fault == "number" else 1.0,))

    def next(self, state: tuple[Any, ...], action: str) -> tuple[Any, ...]:
        if action == "r" and self.fault == "iterator":
            return next(iter(()))  # type: ignore[no-any-return]
        return (*state, action)


@pytest.mark.parametrize("through", [compile_game, UncompiledGame])
@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        ("root", GameError, "raise StopIteration, at the root"),
        ("iterator", GameError, r"raise StopIteration, at history \[r\]"),
        ("recursion", GameError, r"raise RecursionError: .*, at history \[r\]"),
        ("memory", MemoryError, r"raise MemoryError, at history \[r\]"),
        ("number", GameError, r"one number to each of 1 players, not .*, at history \[l\]"),
    ],
)
def test_errors_of_rules_name_the_history(
    through: Callable[[Any], Any], fault: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        solve(through(Faulty(fault)), "external_sampling", iters=3, seed=1)


@pytest.mark.parametrize("through", [compile_game, UncompiledGame])
def test_names_and_players_are_checked(through: Callable[[Any], Any]) -> None:
    rules = Faulty("")
    rules.n_players = 10**9
    with pytest.raises(GameError, match="faulty: n_players must be a whole number from 1 to 127"):
        through(rules)
    rules.name = 5  # type: ignore[assignment]
    with pytest.raises(GameError, match="the name of a game must be a string, not 5"):
        through(rules)


def test_an_error_of_the_rules_undoes_its_iteration() -> None:
    good = SampledSolver(Broken(), "external_sampling", seed=3)
    bad = Broken(("x", "r", "r"), Terminal((np.inf, 0.0)))
    broken = SampledSolver(bad, "external_sampling", seed=3)
    with pytest.raises(GameError):
        broken.iterate(100)
    good.iterate(broken.iteration)
    bad.at = ("?",)
    for solver in (good, broken):
        solver.iterate(20)
    assert np.array_equal(good.state.regret, broken.state.regret)
    assert np.array_equal(good.state.generator, broken.state.generator)


class Failing(Game):
    """Kuhn poker, whose rules fail once: when they are asked for the so-manieth time."""

    def __init__(self, at: int = 0) -> None:
        self.rules = as_histories(make_game("kuhn"))
        self.n_players, self.joined_draws = 2, self.rules.joined_draws
        self.root, self.next = self.rules.root, self.rules.next
        self.asked, self.at = 0, at

    def node(self, state: Any) -> Any:
        self.asked += 1
        if self.asked == self.at:
            raise RuntimeError("the rules fail")
        return self.rules.node(state)


@pytest.mark.parametrize("algorithm", ["external_sampling", RULES], ids=str)
def test_rules_that_fail_anywhere_lose_nothing(algorithm: Any) -> None:
    """In the traversal of either player, where infosets were changed twice in the iteration."""
    good = SampledSolver(Failing(), algorithm, seed=3)
    begun = good.game.rules.asked
    good.iterate(30)
    last = good.game.rules.asked
    assert last > begun + 30
    for at in range(begun + 1, last + 1, 2):
        solver = SampledSolver(Failing(at), algorithm, seed=3)
        with pytest.raises(RuntimeError, match="the rules fail"):
            solver.iterate(30)
        solver.iterate(30 - solver.iteration)
        assert bits(solver.state) == bits(good.state)


class Endless(Game):
    def node(self, state: int) -> Decision:
        return Decision(0, f"{state}", ("on", "still on"))

    def root(self) -> int:
        return 0

    def next(self, state: int, action: str) -> int:
        return state + 1


def test_a_game_without_an_end_is_refused() -> None:
    with pytest.raises(GameError, match="more than 10,000 steps"):
        solve(Endless(), "outcome_sampling", iters=1)


class Bare(Game):
    """Its states may be None."""

    def root(self) -> None:
        return None

    def next(self, state: Any, action: str) -> str:
        return action

    def node(self, state: str | None) -> Any:
        return Decision(0, "i", ("l", "r")) if state is None else Terminal((1.0, -1.0))


def test_states_may_be_none() -> None:
    assert solve(Bare(), "outcome_sampling", iters=20, seed=1).nodes_touched == 80


class Lottery(Game):
    n_players = 1

    def node(self, state: tuple[Any, ...]) -> Any:
        return Terminal((float(state[0]),)) if state else Chance({1: 0.25, 2: 0.75})


def test_games_of_chance_alone_and_of_nothing_are_played() -> None:
    solution = solve(Lottery(), "external_sampling", iters=10)
    assert len(solution.policy) == 0
    assert solution.nodes_touched == 20

    class Nothing(Game):
        def node(self, state: Any) -> Terminal:
            return Terminal((0.0, 0.0))

    assert solve(Nothing(), "outcome_sampling", iters=10).nodes_touched == 20


def test_a_player_alone_finds_the_best_action() -> None:
    class Alone(Game):
        n_players = 1

        def node(self, state: Any) -> Any:
            return Terminal((state[0],)) if state else Decision(0, "i", (1, 3, 2))

    for algorithm in ("external_sampling", "outcome_sampling"):
        policy = solve(Alone(), algorithm, iters=3000, seed=1).policy
        assert policy["i"]["3"] > 0.95
