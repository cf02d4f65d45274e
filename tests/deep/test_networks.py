"""The networks: what they are trained to, and solves with them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from support.command_line import python
from support.equality import bits
from tensorcfr import Solution, compile_game, solve
from tensorcfr.algorithms import DEEP_CFR, DREAM, SD_CFR, Deep
from tensorcfr.deep import DeepSolver, Mixture
from tensorcfr.errors import MissingExtraError, TrainingError

KUHN = compile_game("kuhn")
SMALL: dict[str, Any] = {"traversals": 60, "updates": 40, "batch": 128, "layers": (16, 16)}


def test_without_the_extra() -> None:
    """A solve says what to install; the package and its tables do without."""
    code = """if True:
        import sys
        sys.modules["jax"] = None
        import tensorcfr
        from tensorcfr.algorithms import SD_CFR
        game = tensorcfr.compile_game("kuhn")
        try:
            tensorcfr.solve(game, "deep-cfr", iters=1)
        except tensorcfr.errors.MissingExtraError as error:
            print(error)
        assert not {"optax", "equinox"} & set(sys.modules)
    """
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "pip install 'tensorcfr[deep]'" in done.stdout
    assert issubclass(MissingExtraError, ImportError)


@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize(
    "record",
    [
        DEEP_CFR(strategy_updates=30, buffer=300, **SMALL),
        SD_CFR(keep_networks=True, **SMALL),
        SD_CFR(warm=True, normalise=False, skip=False, **SMALL),
        DREAM(baseline_updates=20, **SMALL),
        pytest.param(
            DREAM(baseline_updates=20, baselines="infosets", **SMALL), marks=pytest.mark.full
        ),
    ],
    ids=str,
)
def test_saved_and_gone_on_with(record: Deep, tmp_path: Any) -> None:
    """A run in two parts, by a file, has the bits of one in one part; another seed has others."""
    whole = solve(KUHN, record, iters=5, seed=3)
    part = solve(KUHN, record, iters=2, seed=3)
    rest = solve(KUHN, start=Solution.load(part.save(tmp_path / "part")), iters=3)
    assert rest.policy.probabilities.tobytes() == whole.policy.probabilities.tobytes()
    assert bits(rest.state) == bits(whole.state)
    assert whole.state is not None
    assert whole.state.parameters.any(axis=1).all()
    other = solve(KUHN, record, iters=5, seed=4)
    assert other.policy.probabilities.tobytes() != whole.policy.probabilities.tobytes()


@pytest.mark.parametrize("networks", ["numpy"], indirect=True)
def test_a_network_is_updated_as_often_as_it_is_said(
    networks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = sys.modules["tensorcfr.deep.networks"]
    updates: list[int] = []

    class Counting(module.make_network):  # type: ignore[misc]
        def train(self, begun: Any, features: Any, legal: Any, row: Any, *rest: Any) -> Any:
            updates.append(len(row))
            return super().train(begun, features, legal, row, *rest)

    monkeypatch.setattr(module, "make_network", Counting)
    solver = DeepSolver(KUHN, SD_CFR(traversals=5, updates=601, batch=8), seed=1)
    solver.iterate(1)
    assert sum(updates) == 2 * 601


@pytest.mark.usefixtures("networks")
def test_long_training_is_an_exact_fit() -> None:
    """On Kuhn a network can fit the mean of every infoset: the regrets it predicts come near those
    of the table from the same samples, by a fiftieth of the range of the utilities."""
    options: dict[str, Any] = {"traversals": 400, "features": np.eye(12), "unplayed": "uniform"}
    table, network = (
        DeepSolver(KUHN, SD_CFR(learner=learner, updates=3000, **options), seed=1)
        for learner in ("table", "network")
    )
    for solver in (table, network):
        solver._turn(0, np.array([1.0]))
    np.testing.assert_array_equal(
        network.state.advantage_values, table.state.advantage_values, strict=True
    )
    own = slice(1, 13)
    assert np.abs(table.state.regret[own]).max() > 0.5
    np.testing.assert_allclose(network.state.regret[own], table.state.regret[own], atol=0.08)


@pytest.mark.usefixtures("networks")
def test_the_network_of_the_average_too() -> None:
    """Trained long on the strategies of a few iterations, it comes near their mean."""
    found = []
    for learner in ("table", "network"):
        record = DEEP_CFR(
            learner=learner, features=np.eye(12), strategy_updates=3000, learning_rate=3e-3, **SMALL
        )
        solver = DeepSolver(KUHN, record(learner="table"), seed=1)
        solver.iterate(4)
        state = solver.state
        if learner == "network":
            # The samples of the table.
            other = DeepSolver(KUHN, record, seed=1)
            other._load_state(other.state._replace(**{n: getattr(state, n) for n in AVERAGE}))
            other._cumulative[:] = state.cumulative
            solver = other
        found.append(solver.average_probabilities())
    met = np.unique(state.average_infoset)
    sequences = np.concatenate([np.arange(26)[KUHN.sequences(int(infoset))] for infoset in met])
    assert len(met) >= 11  # The other one is met by nobody: the network makes something up.
    np.testing.assert_allclose(found[1][sequences], found[0][sequences], atol=0.04)


AVERAGE = ("average_infoset", "average_weight", "average_values", "average_seen")


@pytest.mark.usefixtures("networks")
def test_kept_networks_play_the_average() -> None:
    """The exact average of the networks is the solver's own, and each player draws iteration t with
    probability t/21, whatever the other draws: 1,000 draws, to four standard deviations."""
    solution = solve(KUHN, SD_CFR(keep_networks=True, **SMALL), iters=6, seed=1)
    mixture = Mixture(solution, seed=5)
    np.testing.assert_allclose(
        mixture.average().probabilities, solution.policy.probabilities, rtol=0, atol=1e-12
    )
    assert mixture.weights.tolist() == [1, 2, 3, 4, 5, 6]
    # The first turn is player 0's, who meets player 1 before the first fit.
    second = KUHN.sequences(KUHN.infoset_index["Kp"])
    np.testing.assert_array_equal(mixture.strategies(1)[second], [0.5, 0.5])
    number = {mixture.strategies(t).tobytes(): t for t in range(1, 7)}
    assert len(number) == 6
    draws = [[number[p.probabilities.tobytes()] for p in mixture.draw()] for _ in range(1000)]

    def as_often(found: int, p: float) -> bool:
        return abs(found - 1000 * p) < 4 * (1000 * p * (1 - p)) ** 0.5

    for own in zip(*draws, strict=True):
        assert all(as_often(own.count(t), t / 21) for t in range(1, 7))
    assert as_often(sum(one == other for one, other in draws), sum((t / 21) ** 2 for t in range(7)))
    with pytest.raises(ValueError, match="stored no networks"):
        Mixture(solve(KUHN, SD_CFR(**SMALL), iters=1))


@pytest.mark.full
def test_a_loss_that_is_not_finite() -> None:
    """The solve ends with iteration and update, and its solution so far."""
    pytest.importorskip("equinox")
    good = solve(KUHN, SD_CFR(**SMALL), iters=2, seed=1)
    record = SD_CFR(features=np.eye(12) * 1e38, normalise=False, **SMALL)
    with pytest.raises(TrainingError, match=r"iteration 1, advantage network of player 0: .* upd"):
        solve(KUHN, record, iters=2)
    # A bad sample in the third iteration.
    state = good.state
    assert state is not None
    values = state.advantage_values.copy()
    values[:, 0] = 1e300
    bad = DeepSolver(
        KUHN, good.algorithm, state=state._replace(advantage_values=values), iteration=2
    )
    before = bits(bad.state)
    with pytest.raises(TrainingError, match="iteration 3, advantage network of player 0: the loss"):
        bad.iterate(1)
    assert bits(bad.state) == before
    assert bad.iteration == 2


@pytest.mark.usefixtures("networks")
def test_the_solution_so_far_comes_with_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = solve(KUHN, SD_CFR(**SMALL), iters=2, seed=1)
    turn = DeepSolver._turn

    def fail(self: DeepSolver, player: int, row: np.ndarray) -> None:
        if self.iteration == 2:
            raise TrainingError("iteration 3")
        turn(self, player, row)

    monkeypatch.setattr(DeepSolver, "_turn", fail)
    with pytest.raises(TrainingError) as caught:
        solve(KUHN, SD_CFR(**SMALL), iters=9, seed=1)
    kept = caught.value.solution  # type: ignore[attr-defined]
    assert kept.iterations == 2
    assert bits(kept.state) == bits(whole.state)


@pytest.mark.full
@pytest.mark.parametrize("record", [DEEP_CFR(strategy_updates=1500), SD_CFR, DREAM], ids=str)
def test_kuhn_is_learned(record: Deep) -> None:
    """Uniform play has 458 milli-antes (11/24); a tabular traversal has 30 after 300."""
    pytest.importorskip("equinox")
    solution = solve(
        KUHN, record(traversals=300, updates=150, batch=512), iters=30, seed=1, checkpoints=()
    )
    assert solution.exploitability < 0.06
