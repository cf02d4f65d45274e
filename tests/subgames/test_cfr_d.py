"""CFR-D: against a slow reference and against the flat game; convergence, files, memory."""

from __future__ import annotations

import tracemalloc
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.equality import bits
from support.interpreted import interpret
from support.layouts import laid_out
from support.random_games import random_public_tree_game
from support.slow_subgames import cfr_d
from tensorcfr import (
    Chance,
    CompiledGame,
    MemoryLimitError,
    Policy,
    PublicTreeGame,
    Solution,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr._util.memory_budget import budget
from tensorcfr.algorithms import CFR_D, CFR_PLUS
from tensorcfr.analysis import walkthrough
from tensorcfr.compilers.compilation import Compilation
from tensorcfr.compilers.pipeline import compile_rules
from tensorcfr.games import make_game
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.solvers.solver_state import state_bytes
from tensorcfr.subgames import DecomposedSolver, subgame_roots
from tensorcfr.subgames.cfr_d import cut_game_of, decomposed_bytes
from tensorcfr.subgames.roots import find_roots
from tensorcfr.sweep import read_algorithm
from tensorcfr.sweep.cells import spec_of

FULL = pytest.mark.full
KUHN = compile_game("kuhn")


def random_rules(seed: int) -> PublicTreeGame:
    return random_public_tree_game(
        seed, zero_sum=True, max_hands=4, max_nodes=40, max_depth=5, max_actions=3, stop=0.1
    )


RULES: dict[str, Any] = {
    "kuhn": lambda: make_game("kuhn"),
    "leduc": lambda: make_game("leduc"),
    "random 1": lambda: random_rules(1),
    "random 2": lambda: random_rules(2),
    "random 3": lambda: random_rules(3),
    "random 4": lambda: random_rules(4),
    "random 5": lambda: random_rules(5),
}
CUT: dict[str, Any] = {"kuhn": 1, "leduc": "chance"}
"""Where the subgames begin; elsewhere after two public steps."""


def steps_to(rules: PublicTreeGame, game: CompiledGame, cut: Any) -> list[tuple[Any, ...]]:
    """The public steps to the roots of the subgames, as the rules take them."""
    roots = find_roots(game, subgame_roots(game, cut))
    found = []
    for root in roots.roots:
        state, steps = rules.root(), []
        for step in roots.nodes.path(root):
            node = rules.node(state)
            moves = node.outcomes if isinstance(node, Chance) else node.actions
            steps.append(next(move for move in moves if str(move) == step.label))
            state = rules.next(state, steps[-1])
        found.append(tuple(steps))
    return found


def has_choice(rules: PublicTreeGame, steps: tuple[Any, ...]) -> bool:
    """Whether anybody has a choice after some public steps; where nobody has, nothing is solved."""
    node = rules.node(reduce(rules.next, steps, rules.root()))
    if isinstance(node, Chance):
        return any(has_choice(rules, (*steps, outcome)) for outcome in node.outcomes)
    actions = getattr(node, "actions", ())
    return len(actions) > 1 or any(has_choice(rules, (*steps, action)) for action in actions)


def assert_same(rules: PublicTreeGame, policy: Policy, slow: dict[str, np.ndarray]) -> None:
    """All strategies of the slow reference are those of a policy."""
    found = set()
    for public, strategies in slow.items():
        for player in (0, 1):
            for number, hand in enumerate(rules.hands[player]):
                label = rules.label(player, hand, public)
                row = policy.get(label)
                if row is not None and len(row) == len(strategies):
                    found.add(label)
                    np.testing.assert_allclose(
                        list(row.values()), strategies[:, number], atol=1e-12, err_msg=label
                    )
    assert found == set(policy)


def check_reference(
    patched: pytest.MonkeyPatch,
    name: str,
    *,
    alternating: bool,
    together: bool,
    descending: bool = False,
) -> None:
    rules, cut = RULES[name](), CUT.get(name, 2)
    game = compile_game(rules)
    groups = [[steps] for steps in steps_to(rules, game, cut)]
    # True regrets are then far above the rounding of ties.
    for where in ("support.slow_subgames", "tensorcfr.subgames.one_chunk"):
        patched.setattr(f"{where}.MIN_RANGE", 1e-6)
    # All subtrees in one chunk, in which they share entries, or one in each.
    patched.setattr("tensorcfr.subgames.cfr_d.TOGETHER", 1 << 30 if together else 0)
    if together:
        groups = [[steps for (steps,) in groups]]
    record = CFR_D(
        cut=cut,
        subgame_iterations=4,
        resolve_iterations=6,
        variant=CFR_D.variant(
            alternating=alternating, order="descending" if descending else "ascending"
        ),
    )
    solver = DecomposedSolver(game, record)
    with_choice = [any(has_choice(rules, steps) for steps in group) for group in groups]
    assert cut_game_of(game, cut).chunks.n_chunks == sum(with_choice)
    solver.iterate(3)
    turns = {"alternating": alternating, "descending": descending}
    slow = cfr_d(rules, groups, 3, inner=4, resolving=6, **turns)
    policy = solver.average_policy()
    assert_same(rules, policy, slow)
    # The evaluation is that of the policy in the flat game.
    for fast, flat in (
        (solver.evaluate(), evaluate(game, policy)),
        (solver.evaluate_current(), evaluate(game, solver.current_policy())),
    ):
        np.testing.assert_allclose(fast.values, flat.values, atol=1e-12)
        np.testing.assert_allclose(fast.best_responses, flat.best_responses, atol=1e-12)


@pytest.mark.parametrize(("alternating", "together"), [(False, True), (True, False)])
def test_a_random_game_equals_the_slow_reference(
    monkeypatch: pytest.MonkeyPatch, alternating: bool, together: bool
) -> None:
    """With kernels run as Python: compiling them takes longer."""
    interpret(monkeypatch)
    check_reference(monkeypatch, "random 1", alternating=alternating, together=together)


def test_the_last_player_may_be_updated_first(monkeypatch: pytest.MonkeyPatch) -> None:
    interpret(monkeypatch)
    options = {"alternating": True, "together": True, "descending": True}
    check_reference(monkeypatch, "random 1", **options)


def test_averages_begin_anew_where_the_slow_references_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the trunk, in the subgames, and where they are resolved; all at iteration 3."""
    interpret(monkeypatch)
    monkeypatch.setattr("tensorcfr.subgames.cfr_d.TOGETHER", 0)
    rules = RULES["random 1"]()
    game = compile_game(rules)
    variant, inner = CFR_D.variant(restart_base=3, alternating=False), CFR_PLUS(restart_base=3)
    record = CFR_D(cut=2, subgame_iterations=4, resolve_iterations=5, variant=variant, inner=inner)
    solver = DecomposedSolver(game, record)
    solver.iterate(4)
    groups = [[steps] for steps in steps_to(rules, game, 2)]
    slow = cfr_d(rules, groups, 4, inner=4, resolving=5, alternating=False, restarts={3})
    assert_same(rules, solver.average_policy(), slow)


@FULL
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("alternating", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_games_equal_the_slow_reference(
    monkeypatch: pytest.MonkeyPatch, name: str, alternating: bool, together: bool
) -> None:
    """Ranges, values of entries, averages, and resolving with the gadget at the entries."""
    check_reference(monkeypatch, name, alternating=alternating, together=together)


@FULL
@pytest.mark.parametrize("spec", ["leduc", "liars_dice(dice=(2,1),faces=4)"])
def test_chunks_of_a_cut_game_are_the_subgames(spec: str) -> None:
    """A game compiled in chunks; several subtrees in a chunk, and merged hands."""
    rules = make_game(spec)
    with budget("compiling", 1 << 30) as memory:
        game = compile_rules(rules, Compilation(spec, memory, cut=True, limit=300))
    assert isinstance(game, ChunkedGame)
    assert game.chunks.n_chunks >= 3
    solver = DecomposedSolver(game, CFR_D(subgame_iterations=30, resolve_iterations=300))
    before = solver.evaluate().exploitability
    solver.iterate(30)
    found = solver.evaluate()
    assert found.exploitability < before / 4
    flat = evaluate(game.flat(), laid_out(solver.average_policy(), game.flat()))
    np.testing.assert_allclose(found.values, flat.values, atol=1e-12)
    np.testing.assert_allclose(found.best_responses, flat.best_responses, atol=1e-12)


@FULL
@pytest.mark.parametrize("alternating", [False, True])
def test_a_solve_goes_on_to_the_same_bits(tmp_path: Path, alternating: bool) -> None:
    record = CFR_D(cut=1, subgame_iterations=20, variant=CFR_D.variant(alternating=alternating))
    whole = solve(KUHN, record, iters=20, checkpoints=())
    begun = solve(KUHN, record, iters=8, checkpoints=()).save(tmp_path / "begun.npz")
    loaded = Solution.load(begun)
    assert loaded.algorithm == record
    rest = solve(loaded.game, start=loaded, iters=12, checkpoints=())
    assert bits(whole.state) == bits(rest.state)
    np.testing.assert_array_equal(whole.policy.probabilities, rest.policy.probabilities)


def test_the_arrays_of_a_solver_are_told() -> None:
    """An evaluation takes as much again."""
    game = compile_game("bluff", dice=(2, 1), cut=True)
    DecomposedSolver(game)
    tracemalloc.start()
    solver = DecomposedSolver(game)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    needed = decomposed_bytes(game, solver.algorithm)
    assert 0.3 * needed < held < 0.6 * needed
    with pytest.raises(MemoryLimitError, match="solving bluff"):
        DecomposedSolver(game, memory_limit=held)


@FULL
@pytest.mark.parametrize("cache", [1 << 18, 1 << 20])
def test_memory_is_told_before(monkeypatch: pytest.MonkeyPatch, cache: int) -> None:
    """On machines whose caches, and so whose chunks, differ."""
    needed = decomposed_bytes(KUHN, CFR_D)
    with pytest.raises(MemoryLimitError, match="solving kuhn"):
        solve(KUHN, CFR_D, iters=1, memory_limit=needed - 1)
    solve(KUHN, CFR_D, iters=1, memory_limit=needed)
    monkeypatch.setattr("tensorcfr.compilers.cut.cut_compiler.second_level_cache", lambda: cache)
    game = compile_game("bluff", dice=(2, 1), cut=True)
    record = CFR_D(subgame_iterations=1, resolve_iterations=1)
    solver = DecomposedSolver(game, record)
    solver.iterate(1)
    solver.evaluate()  # All kernels are compiled.
    del solver
    tracemalloc.start()
    solver = DecomposedSolver(game, record)
    solver.iterate(1)
    solver.evaluate()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    needed = decomposed_bytes(game, record)
    assert 0.6 * needed < peak < needed
    assert needed < state_bytes(game.chunks, CFR_PLUS)


@FULL
def test_options_make_the_same_record() -> None:
    """Also records within a record, or they are refused."""
    changed = CFR_D(inner=CFR_PLUS(floor=0.1))
    for record in (CFR_D, changed):
        assert record(**record.options) == record
    assert spec_of(CFR_D(inner="dcfr")) == "cfr-d(inner='dcfr')"
    assert read_algorithm("cfr-d(inner='dcfr')") == CFR_D(inner="dcfr")
    with pytest.raises(ValueError, match=r"inner=cfr.* cannot be named in a table"):
        spec_of(changed)
    floor = CFR_D(inner=CFR_PLUS(floor=0.1)).guarantee(zero_sum=True)
    assert "no theorem" in floor.lower()


@FULL
def test_refusals() -> None:
    with pytest.raises(ValueError, match="cfr-d forgets its subgames"):
        walkthrough(KUHN, "cfr-d", iters=1)
    with pytest.raises(ValueError, match="regrets of the trunk alone"):
        solve(KUHN, iters=1, warm_start=solve(KUHN, CFR_D, iters=1))
    with pytest.raises(ValueError, match="subgame_iterations must be"):
        CFR_D(subgame_iterations=0)
    with pytest.raises(ValueError, match="variant must store only regrets"):
        CFR_D(variant="paced-cfr+")
    with pytest.raises(TypeError, match="has no option 'iterations'"):
        CFR_D(iterations=3)
    with pytest.raises(ValueError, match="there is nothing to cut"):
        solve(KUHN, CFR_D(cut=9), iters=1)
    with pytest.raises(ValueError, match="kuhn is cut already, and its chunks are the subgames"):
        solve(compile_game("kuhn", cut=1), CFR_D(cut=1), iters=1)
    with pytest.raises(ValueError, match="where no chunk is below the trunk"):
        solve(compile_game("kuhn", cut=9), CFR_D, iters=1)
    with pytest.raises(ValueError, match="is not a game of private hands"):
        solve(compile_game("goofspiel", cards=3), "cfr-d", iters=1)
