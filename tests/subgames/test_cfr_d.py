"""CFR-D: one iteration against CFR with solved subgames, convergence, files, memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensorcfr import MemoryLimitError, Policy, Solution, compile_game, solve
from tensorcfr.algorithms import CFR_D, CFR_PLUS
from tensorcfr.analysis import values, walkthrough
from tensorcfr.subgames import DecomposedSolver, belief, subgame
from tensorcfr.subgames.cfr_d import decomposed_bytes, pieces_of
from tensorcfr.subgames.part import restrict
from tensorcfr.sweep import read_algorithm
from tensorcfr.sweep.cells import spec_of

pytestmark = pytest.mark.full
KUHN = compile_game("kuhn")


def test_the_first_iteration_uses_the_values_of_the_subgames() -> None:
    """Regrets after one iteration are those of play that is uniform above the cut and that of the
    solved subgames below."""
    solver = DecomposedSolver(KUHN, CFR_D(cut=1, subgame_iterations=300))
    solver.step(1)
    policy = Policy.uniform(KUHN)
    probabilities = np.array(policy.probabilities)
    for at in ("p", "b"):
        part = subgame(KUHN, belief(KUHN, policy, at))
        inner = solve(part, "cfr+", iters=300).policy
        for label in part.infoset_labels:
            probabilities[KUHN.sequences(KUHN.infoset_index[label])] = list(inner[label].values())
    expected = values(KUHN, Policy(KUHN, probabilities)).regret
    trunk = pieces_of(KUHN, 1).trunk
    assert set(trunk.infoset_labels) == {"J", "Q", "K"}
    for label in trunk.infoset_labels:
        found = solver.state.regret[trunk.sequences(trunk.infoset_index[label])]
        whole = expected[KUHN.sequences(KUHN.infoset_index[label])]
        np.testing.assert_allclose(found, np.maximum(whole, 0.0), atol=1e-12)


def test_values_of_a_subgame_are_counterfactual() -> None:
    """Those at the roots equal the library's values of the whole game, for any ranges and hand."""
    leduc = compile_game("leduc")
    pieces = pieces_of(leduc, "chance")
    blueprint = solve(leduc, "cfr", iters=3).policy
    for index in (0, 2):
        part, root = pieces.subgames[index], pieces.each_root[index]
        ranges = list(root.own_reach(blueprint, root.nodes[0]))
        strategy = np.array(restrict(blueprint, part.game).probabilities)
        for player in (0, 1):
            for hand, at in enumerate(part.entries[player]):
                if at >= 0:
                    row = part.game.sequences(part.infoset_of(int(at)))
                    strategy[row] = (ranges[player][hand], 1.0 - ranges[player][hand])
        for player in (0, 1):
            found = part.values(strategy, player)
            one = values(subgame(leduc, belief(leduc, blueprint, root.names)), restrict(
                blueprint, subgame(leduc, belief(leduc, blueprint, root.names))
            ))  # fmt: skip
            reach = belief(leduc, blueprint, root.names).reach
            total = float(found @ ranges[player])
            assert total == pytest.approx(one.evaluation.values[player] * reach, abs=1e-12)


def test_exploitability_falls_with_both_numbers_of_iterations() -> None:
    """Leduc, cut at the end of the first round.  More was measured in docs/subgames.md."""
    leduc = compile_game("leduc")
    found = {
        (inner, outer): solve(
            leduc, CFR_D(subgame_iterations=inner), iters=outer, checkpoints=()
        ).exploitability
        for inner, outer in ((10, 300), (100, 30), (100, 300))
    }
    assert found[100, 300] < 0.02
    assert found[100, 300] < found[100, 30] / 3
    assert found[100, 300] < found[10, 300] / 3


@pytest.mark.parametrize("alternating", [False, True])
def test_a_solve_goes_on_to_the_same_bits(tmp_path: Path, alternating: bool) -> None:
    record = CFR_D(cut=1, subgame_iterations=20, variant=CFR_D.variant(alternating=alternating))
    whole = solve(KUHN, record, iters=20, checkpoints=())
    begun = solve(KUHN, record, iters=8, checkpoints=()).save(tmp_path / "begun.npz")
    loaded = Solution.load(begun)
    assert loaded.algorithm == record
    rest = solve(loaded.game, start=loaded, iters=12, checkpoints=())
    for mine, theirs in zip(whole.state, rest.state, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(whole.policy.probabilities, rest.policy.probabilities)


def test_memory_is_told_before() -> None:
    """The trunk, one subgame, and the compiled pieces."""
    needed = decomposed_bytes(KUHN, CFR_D)
    with pytest.raises(MemoryLimitError, match="solving kuhn"):
        solve(KUHN, CFR_D, iters=1, memory_limit=needed - 1)
    solve(KUHN, CFR_D, iters=1, memory_limit=needed)
    state = DecomposedSolver(KUHN, CFR_D).state
    trunk = pieces_of(KUHN, "auto").trunk
    assert sum(array.nbytes for array in state[:4]) == 4 * 8 * trunk.n_sequences


def test_options_make_the_same_record() -> None:
    """Records within a record keep options of their own, or are refused where they would lose
    them."""
    changed = CFR_D(inner=CFR_PLUS(floor=0.1))
    for record in (CFR_D, changed):
        assert record(**record.options) == record
    assert spec_of(CFR_D(inner="dcfr")) == "cfr-d(inner='dcfr')"
    assert read_algorithm("cfr-d(inner='dcfr')") == CFR_D(inner="dcfr")
    with pytest.raises(ValueError, match=r"inner=cfr.* cannot be named in a table"):
        spec_of(changed)
    floor = CFR_D(inner=CFR_PLUS(floor=0.1)).guarantee(zero_sum=True)
    assert "no theorem" in floor.lower()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="cfr-d forgets its subgames"):
        walkthrough(KUHN, "cfr-d", iters=1)
    with pytest.raises(ValueError, match="regrets of the trunk alone"):
        solve(KUHN, iters=1, warm_start=solve(KUHN, CFR_D, iters=1))
    with pytest.raises(ValueError, match="subgame_iterations must be"):
        CFR_D(subgame_iterations=0)
    with pytest.raises(ValueError, match="variant must keep regrets alone"):
        CFR_D(variant="pcfr+gradient")
    with pytest.raises(ValueError, match="inner must do without a horizon: hs-dcfr"):
        CFR_D(inner="hs-dcfr")
    with pytest.raises(TypeError, match="has no option 'iterations'"):
        CFR_D(iterations=3)
    with pytest.raises(ValueError, match="there is nothing to cut"):
        solve(KUHN, CFR_D(cut=9), iters=1)
    with pytest.raises(ValueError, match="is no game of private hands"):
        solve(compile_game("goofspiel", cards=3), "cfr-d", iters=1)
