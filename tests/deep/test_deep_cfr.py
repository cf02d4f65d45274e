"""Deep CFR without networks: a table in their place, and what the buffers hold."""

from __future__ import annotations

import pickle
import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest

from support.equality import as_game, bits
from support.random_games import random_game
from support.reference import DecisionNode, Node, TerminalNode, Tree, build_tree, regret_matching
from support.sampled_choices import Chooser, HandsChooser, external, outcome, samples
from support.sampled_games import small
from support.sampled_increments import full_tree, some_regrets
from support.tiers import tiered
from tensorcfr import CompiledGame, SampledSolver, Solution, compile_game, solve
from tensorcfr.algorithms import (
    DEEP_CFR,
    DREAM,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    SD_CFR,
    Deep,
    from_dict,
)
from tensorcfr.deep import DeepSolver, make_features
from tensorcfr.deep import deep_solver as deep_solver
from tensorcfr.deep.buffers import filled, reservoirs_of
from tensorcfr.deep.inputs import make_inputs
from tensorcfr.deep.learners import TableLearner, probabilities
from tensorcfr.errors import MemoryLimitError, TrainingError
from tensorcfr.games import make_game
from tensorcfr.kernels import random
from tensorcfr.kernels.reservoir import Batches, Reservoir, draw_batches
from tensorcfr.kernels.sampling_plays import follow_plays
from tensorcfr.solvers import sampling_base
from tensorcfr.solvers.traversal import BASELINE, STRATEGY

KUHN = compile_game("kuhn")
TABLE: dict[str, Any] = {"learner": "table", "unplayed": "uniform", "traversals": 1}
"""An exact fit, so that what is left of Deep CFR is external sampling with a table."""


def in_python(kernel: Any) -> Any:
    """A kernel without the compiler."""
    return getattr(kernel, "py_func", kernel)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traversals in Python: few of them are done."""
    monkeypatch.setattr(sampling_base, "follow_plays", in_python(follow_plays))


# ------------------------------------------------- a table in the network's place: the same curve


@pytest.mark.compiled
@pytest.mark.parametrize("variant", ["cfr", "lcfr"])
@pytest.mark.parametrize("name", tiered(["kuhn", "leduc", "random"], ["kuhn"]))
def test_with_a_table_it_is_external_sampling(name: str, variant: str) -> None:
    """One traversal in an iteration: the same draws, and so the same strategies; regrets up to the
    total weight of the samples, by which the mean divides them."""
    rules = random_game(3, zero_sum=True) if name == "random" else name
    game = compile_game(rules, symmetry=False)
    record = DEEP_CFR(power=float(variant == "lcfr"), **TABLE)
    iterations = 60 if name == "leduc" else 300
    deep = DeepSolver(game, record, seed=5)
    table = SampledSolver(game, EXTERNAL_SAMPLING(variant=variant), seed=5)
    for _ in range(3):
        deep.iterate(iterations)
        table.iterate(iterations)
        expected, found = table.state, deep.state
        np.testing.assert_array_equal(found.touched, expected.touched)
        np.testing.assert_array_equal(found.generator, expected.generator)
        np.testing.assert_allclose(found.strategy, expected.strategy, rtol=0, atol=1e-12)
        average = deep.average_probabilities()
        np.testing.assert_allclose(average, table.average_probabilities(), rtol=0, atol=1e-12)
        weights = np.bincount(
            found.advantage_infoset, weights=found.advantage_weight, minlength=game.n_infosets
        )
        for infoset in range(game.n_infosets):
            at = game.sequences(infoset)
            if at.stop - at.start > at.step:
                np.testing.assert_allclose(
                    found.regret[at] * weights[infoset],
                    expected.regret[at],
                    rtol=1e-12,
                    atol=1e-12 * max(weights[infoset], 1.0),
                )


@pytest.mark.full
@pytest.mark.compiled
def test_outcome_sampling_without_baselines_too() -> None:
    """The strategies are those of outcome sampling with the same draws."""
    game = compile_game("leduc", symmetry=False)
    deep = DeepSolver(game, DREAM(baseline_updates=0, epsilon=0.6, power=0, **TABLE), seed=2)
    table = SampledSolver(game, OUTCOME_SAMPLING(epsilon=0.6), seed=2)
    for solver in (deep, table):
        solver.iterate(500)
    np.testing.assert_array_equal(deep.state.generator, table.state.generator)
    np.testing.assert_allclose(deep.state.strategy, table.state.strategy, rtol=0, atol=1e-10)


def test_the_exact_average(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that of the strategies that the traversals met at the opponents' infosets, weighted
    with the iteration and with their reach; here by a product over each infoset's past."""
    met: list[tuple[int, float, np.ndarray]] = []
    sample = DeepSolver._sample

    def watched(self: DeepSolver, schedule: np.ndarray, player: int, *more: Any) -> None:
        met.extend(
            (player, float(row[0]), self.source.table.group(STRATEGY)) for row in schedule[:1]
        )
        sample(self, schedule, player, *more)

    monkeypatch.setattr(DeepSolver, "_sample", watched)
    solver = DeepSolver(KUHN, SD_CFR(learner="table", traversals=7), seed=2)
    solver.iterate(9)
    assert [(player, weight) for player, weight, _ in met[:4]] == [(0, 1), (1, 1), (0, 2), (1, 2)]
    average = solver.average_probabilities()
    owner = {}
    for infoset in range(KUHN.n_infosets):
        for at in range(KUHN.n_sequences)[KUHN.sequences(infoset)]:
            owner[at] = infoset

    def reach(strategy: np.ndarray, at: int) -> float:
        if at not in owner:
            return 1.0
        return float(strategy[at]) * reach(strategy, int(KUHN.form.infoset_parent[owner[at]]))

    for infoset in range(KUHN.n_infosets):
        sequences = range(KUHN.n_sequences)[KUHN.sequences(infoset)]
        sums = [
            sum(w * reach(s, at) for player, w, s in met if player != KUHN.infoset_player[infoset])
            for at in sequences
        ]
        if sum(sums) > 0:
            np.testing.assert_allclose(average[sequences], np.array(sums) / sum(sums), atol=1e-12)


# --------------------------------------------------------------- the samples of every possible draw


def public_reach(tree: Tree, strategy: dict[str, list[float]], player: int) -> dict[str, float]:
    """The probability that chance and the others lead to each infoset."""
    found = dict.fromkeys(tree.infosets, 0.0)

    def walk(node: Node, p: float) -> None:
        if isinstance(node, TerminalNode):
            return
        if isinstance(node, DecisionNode):
            found[node.infoset.label] += p
            own = node.infoset.player == player
            weights = [1.0] * 9 if own else strategy[node.infoset.label]
        else:
            weights = list(node.probabilities)
        for weight, child in zip(weights, node.children, strict=False):
            walk(child, p * weight)

    walk(tree.root, 1.0)
    return found


def prepared(
    game: CompiledGame, record: Deep, strategy: dict[str, list[float]], seed: int
) -> DeepSolver:
    """A solver with these strategies, and any baselines if it has some."""
    solver = DeepSolver(game, record)
    for label, row in strategy.items():
        played = solver.source.table.group(STRATEGY)
        played[game.sequences(game.infoset_index[label])] = row
        solver.source.table.set_group(STRATEGY, played)
    for player in range(game.n_players * record.has_baseline):
        values = np.random.default_rng([seed, player]).uniform(-2, 2, game.n_sequences)
        solver.source.table.set_group(BASELINE + player, values)
    shape = solver.source.history_values.shape
    solver.source.history_values[:] = np.random.default_rng(seed).uniform(-2, 2, shape)
    return solver


RECORDS = {
    "external": (DEEP_CFR(**TABLE), external),
    "outcome": (DREAM(baseline_updates=0, **TABLE), outcome(0.5)),
    "baselines": (DREAM(epsilon=0.3, baselines="infosets", **TABLE), outcome(0.3)),
    "baselines of histories": (DREAM(epsilon=0.3, **TABLE), outcome(0.3)),
}
WEIGHT = 3.0


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    ("case", "name"),
    tiered(
        [
            (case, name)
            for case in RECORDS
            for name in ("kuhn", "liar's dice, 2 faces", "random, chance", "kuhn(players=3)")
        ],
        [(case, "kuhn") for case in RECORDS],
    ),
)
def test_samples_are_unbiased(case: str, name: str) -> None:
    """Over all draws, a sample's weight times its advantages is the iteration's weight times the
    counterfactual regret in expectation, whatever the baselines are; and its weight is the
    iteration's times the reach of chance and the others."""
    record, traversal = RECORDS[case]
    if name == "kuhn(players=3)":
        game = compile_game(name)
        tree, chooser = build_tree(as_game(make_game(name))), Chooser
    else:
        (game, tree), chooser = small(name), HandsChooser
    regrets = some_regrets(tree, 3, negative=False)
    strategy = {label: regret_matching(row, row, 0) for label, row in regrets.items()}
    for player in range(game.n_players):
        solver = prepared(game, record, strategy, seed=player)
        total = np.zeros(game.n_sequences)
        weights, averages = np.zeros(game.n_infosets), np.zeros(game.n_sequences)
        for sample in samples(traversal, tree, strategy, player, chooser):
            found = solver._samples[player]
            for reservoir in found[:3]:
                reservoir.seen[0] = 0
            by_histories = record.has_history_baseline and chooser is HandsChooser
            draws = sample.of_histories if by_histories else sample.draws
            script = (np.array([*draws, np.nan]), np.zeros(1, np.int64))
            before = solver.source.history_values.copy()
            solver._sample(np.array([[WEIGHT]]), player, script)
            assert script[1][0] == len(draws)
            solver.source.history_values[:] = before
            for at in range(filled(found.advantages)):
                infoset = int(found.advantages.infoset[at])
                weight = sample.probability * found.advantages.weight[at]
                row = found.advantages.values[at]
                total[game.sequences(infoset)] += weight * row[~np.isnan(row)]
                weights[infoset] += weight
            for at in range(filled(found.strategies)):
                row = found.strategies.values[at]
                here = game.sequences(int(found.strategies.infoset[at]))
                weight = sample.probability * found.strategies.weight[at]
                averages[here] += weight * row[~np.isnan(row)]
        instant, played = full_tree(tree, regrets, player)
        met = public_reach(tree, strategy, player)
        for label, infoset in tree.infosets.items():
            if len(infoset.actions) == 1:
                continue
            index = game.infoset_index[label]
            at = game.sequences(index)
            mine = infoset.player == player
            expected = np.array(instant[label] if mine else [0.0] * len(infoset.actions))
            np.testing.assert_allclose(total[at], WEIGHT * expected, rtol=0, atol=1e-12)
            assert weights[index] == pytest.approx(WEIGHT * met[label] * mine, abs=1e-12)
            if record.has_strategy_network and not mine and game.n_players == 2:
                shares = np.array(played[label]) / sum(played[label])
                found_shares = averages[at] / averages[at].sum()
                np.testing.assert_allclose(found_shares, shares, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("uncompiled")
def test_baselines_are_fitted_to_the_next_ones() -> None:
    """The sample of an action's baseline is what is paid, or what the baselines of the next
    decision say that its strategy is worth."""
    game, tree = small("kuhn")
    strategy = {label: [0.25, 0.75] for label in tree.infosets}
    solver = prepared(game, DREAM(baselines="infosets", **TABLE), strategy, seed=4)
    baselines = solver.source.table.group(BASELINE)
    traversal = outcome(0.5)
    found = 0
    for sample in samples(traversal, tree, strategy, 0, HandsChooser):
        reservoir = solver._samples[0].baselines
        reservoir.seen[0] = 0
        script = (np.array([*sample.draws, np.nan]), np.zeros(1, np.int64))
        solver._sample(np.array([[1.0]]), 0, script)
        count = filled(reservoir)
        # From the last decision to the first.
        for at in range(1, count):
            value = reservoir.values[at]
            after = game.sequences(int(reservoir.infoset[at - 1]))
            expected = 0.25 * baselines[after][0] + 0.75 * baselines[after][1]
            assert value[~np.isnan(value)] == pytest.approx([expected], abs=1e-12)
            found += 1
        last = reservoir.values[0]
        assert abs(float(last[~np.isnan(last)][0])) in (1.0, 2.0)
    assert found > 10


@pytest.mark.parametrize("step", [1.0, 0.25])
def test_baselines_of_histories_move_to_the_next_ones(step: float) -> None:
    """The same of the baselines of histories, which move by a step; the others stay."""
    game = compile_game("kuhn", symmetry=False)
    solver = prepared(game, DREAM(baseline_step=step, **TABLE), {}, seed=4)
    played = np.array([0.25 if at % 2 else 0.75 for at in range(game.n_sequences)])
    solver.source.table.set_group(STRATEGY, played)
    tree, moved = game.tree, 0
    for player in (0, 1) * 20:
        before = solver.source.history_values.copy()
        solver._sample(np.array([[1.0]]), player)
        after = solver.source.history_values
        assert np.array_equal(after[1 - player], before[1 - player])
        for child in np.flatnonzero(after[player] != before[player]).tolist():
            steps = range(int(tree.first_child[child]), int(tree.first_child[child + 1]))
            if steps:
                at = game.sequences(int(tree.infoset[child]))
                expected = played[at] @ before[player][steps]
            else:
                expected = tree.utility[list(tree.terminal).index(child), player]
            was = before[player, child]
            assert after[player, child] == pytest.approx(was + step * (expected - was), abs=1e-12)
            moved += 1
    assert moved > 40


# ---------------------------------------------------------------------------------------- buffers


def reservoir_of(n: int, width: int, seed: int, *, capacity: int, seen: int) -> Reservoir:
    rng = np.random.default_rng(seed)
    values = np.full((capacity, width), 1e9)
    values[:n] = rng.normal(size=(n, width))
    infoset = np.full(capacity, 2, np.int32)
    infoset[:n] = rng.integers(3, size=n)
    values[infoset == 0, -1] = np.nan
    weight = np.full(capacity, 1e9)
    weight[:n] = rng.uniform(0.5, 2, n)
    return Reservoir(infoset, weight, values, np.array([seen], np.int64))


@pytest.mark.parametrize(("capacity", "seen"), [(40, 40), (60, 40), (40, 90)])
def test_a_batch_of_rows_is_the_same_as_one_of_samples(capacity: int, seen: int) -> None:
    """For any outputs, the loss of the samples added up is the mean squared error of all of
    them, be the reservoir just full, in part empty, or fuller than it can be."""
    reservoir = reservoir_of(40, 3, 1, capacity=capacity, seen=seen)
    row_of = np.array([5, 6, 6], np.int32)
    output_of = np.array([[0, 1, 0], [1, 2, 0], [1, 2, 0]], np.int32)
    outputs = np.random.default_rng(2).normal(size=(8, 3))
    losses = []
    for together, places in ((True, 2), (False, 17)):
        batches = Batches(
            np.empty((4, places), np.int32),
            np.empty((4, places, 3), np.float32),
            np.empty((4, places, 3), np.float32),
            np.empty(4, np.float32),
        )
        generator = random.seeded(3)
        with np.errstate(over="ignore"):
            in_python(draw_batches)(
                reservoir, row_of, output_of, 5, 17, together, 0.5, generator, batches
            )
        found = outputs[batches.row]
        losses.append(
            (found * (batches.weight * found - 2 * batches.total)).sum((1, 2)) + batches.square
        )
    generator, expected = random.seeded(3), []
    for _ in range(4):
        error = weight = 0.0
        for _ in range(17):
            with np.errstate(over="ignore"):
                at = int(random.draw(generator) * 40)
            infoset, w = reservoir.infoset[at], reservoir.weight[at]
            weight += w
            for value, output in zip(reservoir.values[at], output_of[infoset], strict=True):
                if not np.isnan(value):
                    error += w * (outputs[row_of[infoset], output] - 0.5 * value) ** 2
        expected.append(error / weight)
    for loss in losses:
        np.testing.assert_allclose(loss, expected, rtol=1e-5)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(("places", "samples", "seeds"), [(1, 3, 600), (20, 60, 200)])
def test_a_reservoir_keeps_each_sample_equally_often(places: int, samples: int, seeds: int) -> None:
    """Each with probability 1/3, give or take four standard deviations."""
    from tensorcfr.kernels.reservoir import Samples, _reserve_slot

    counts = np.zeros(samples)
    for seed in range(seeds):
        reservoir = Reservoir(
            np.empty(places, np.int32), np.empty(places), np.empty((places, 1)), np.zeros(1, int)
        )
        infosets = np.arange(samples, dtype=np.int32)
        kept = Samples(
            reservoir, reservoir, reservoir, infosets, random.seeded(seed), np.empty(0), 0.0
        )
        with np.errstate(over="ignore"):
            for number in range(samples):
                _reserve_slot(reservoir, kept, number, 1.0)
        assert filled(reservoir) == places
        assert reservoir.seen[0] == samples
        assert len(set(reservoir.infoset.tolist())) == places
        counts += np.bincount(reservoir.infoset, minlength=samples)
    deviation = (seeds * 2 / 9) ** 0.5
    assert (np.abs(counts - seeds / 3) < 4 * deviation).all(), counts


def test_a_small_buffer_stays_small() -> None:
    solution = solve(KUHN, DEEP_CFR(buffer=50, learner="table", traversals=20), iters=9, seed=1)
    state = solution.state
    assert state is not None
    assert len(state.advantage_infoset) == len(state.average_infoset) == 100
    assert (state.advantage_seen >= 180).all()
    assert len(state.baseline_infoset) == 0


# --------------------------------------------------------------- strategies, features, bad input


def test_regret_matching() -> None:
    """Where nothing is positive, the largest is played; equal ones alike."""
    inputs = make_inputs(KUHN, make_features(KUHN))
    predicted = np.zeros((12, 2))
    predicted[0], predicted[1], predicted[2] = (3, 1), (-2, -1), (-1, 4)
    best = probabilities(predicted, inputs.is_action, "best")
    assert best[:4].tolist() == [[0.75, 0.25], [0, 1], [0, 1], [0.5, 0.5]]
    assert probabilities(predicted, inputs.is_action, "uniform")[1].tolist() == [0.5, 0.5]
    # Infosets with fewer actions than others; what is predicted where there is none is nothing.
    predicted = np.array([[-2.0, -1.0, 0.0], [-3.0, 0.0, 5.0], [1.0, 3.0, 4.0]])
    is_action = np.array([[True, True, False], [True, False, False], [True, True, False]])
    best = probabilities(predicted, is_action, "best")
    assert best.tolist() == [[0, 1, 0], [1, 0, 0], [0.25, 0.75, 0]]
    assert probabilities(predicted, is_action, "uniform")[0].tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize(
    "name",
    ["kuhn", "leduc", "liars_dice(faces=3)", "goofspiel(cards=3)", "kuhn(players=3)"],
)
def test_features_tell_infosets_apart(name: str) -> None:
    """As far as symmetries do: in Leduc, suits are renamed, and 144 infosets of each player are
    left of 468 (as many as OpenSpiel's suit-isomorphic Leduc has)."""
    game = compile_game(name)
    features = make_features(game)
    assert len(np.unique(features, axis=0)) == game.n_infosets
    assert features.dtype == np.float32
    inputs = make_inputs(game, features)
    if name == "leduc":
        assert np.diff(inputs.player_rows).tolist() == [144, 144]
    elif game.merged is None:
        assert len(inputs.features) == game.n_infosets
    rows = inputs.features[inputs.row]
    merged = game.merged is not None
    assert merged or (rows == features).all()
    for infoset, labels in enumerate(game.infoset_actions):
        outputs = inputs.output[infoset, : len(labels)]
        assert len(set(outputs.tolist())) == len(labels)
        assert inputs.legal[inputs.row[infoset], outputs].all()
        at = inputs.sequence[infoset]
        assert at[at >= 0].tolist() == list(range(game.n_sequences))[game.sequences(infoset)]


@pytest.mark.openspiel
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "goofspiel(num_cards=3)"])
def test_features_of_openspiel(name: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = compile_game(f"openspiel:{name}")
    features = make_features(game)
    spiel = pyspiel.load_game(name)
    if spiel.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        spiel = pyspiel.convert_to_turn_based(spiel)
    assert features.shape[1] == spiel.information_state_tensor_size()
    seen, left = 0, [spiel.new_initial_state()]
    while left:
        state = left.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            player = state.current_player()
            infoset = game.infoset_index.get(state.information_state_string(player))
            if infoset is not None and game.infoset_player[infoset] == player:
                tensor = state.information_state_tensor(player)
                np.testing.assert_array_equal(features[infoset], np.array(tensor, np.float32))
                seen += 1
        left += [state.child(action) for action in state.legal_actions()]
    assert seen >= game.n_infosets


def test_features_of_ones_own() -> None:
    """Infosets with equal features share what is learned."""
    hands = np.array([[label[0] == hand for hand in "JQK"] for label in KUHN.infoset_labels])
    record = SD_CFR(features=hands, learner="table", traversals=50)
    solution = solve(KUHN, record, iters=3, seed=1)
    last = solution.last_policy
    assert last["K"] == last["Kpb"]
    assert pickle.loads(pickle.dumps(record)) == record
    assert str(record) == "sd-cfr(traversals=50, features=yours, learner=table)"
    assert record != SD_CFR(features=~hands, learner="table", traversals=50)
    assert record != record(features=hands.reshape(6, 6))
    # Players do not share: each has three rows.
    inputs = make_inputs(KUHN, hands.astype(np.float32))
    assert inputs.player_rows.tolist() == [0, 3, 6]
    for infoset, player in enumerate(KUHN.infoset_player.tolist()):
        first, rows = inputs.rows_of(player)
        assert first <= inputs.row[infoset] < first + rows


def error(**options: Any) -> str:
    with pytest.raises((TypeError, ValueError)) as caught:
        DEEP_CFR(**options)
    return str(caught.value)


def test_bad_options() -> None:
    assert "no option 'traversal'; did you mean 'traversals'?" in error(traversal=3)
    assert "deep-cfr: buffer must be" in error(buffer=0)
    assert "deep-cfr: layers" in error(layers=(64, 0))
    assert "deep-cfr: learning_rate" in error(learning_rate=float("nan"))
    assert "features must be one of auto, tensors, public, labels, hashed, or an array" in error(
        features="suits"
    )
    assert "features must have the shape (infosets, width), not (3,)" in error(features=np.ones(3))
    assert "not finite" in error(features=np.full((12, 2), np.nan))
    assert "no option 'epsilon'" in error(epsilon=0.5)
    with pytest.raises(TypeError, match="no option 'strategy_updates'"):
        SD_CFR(strategy_updates=5)


def test_bad_games_and_features() -> None:
    table = partial(DeepSolver, KUHN)
    with pytest.raises(ValueError, match="features have 11 rows; kuhn has 12 infosets"):
        table(DEEP_CFR(features=np.ones((11, 3)), **TABLE))
    with pytest.raises(ValueError, match="kuhn is not OpenSpiel's"):
        table(DEEP_CFR(features="tensors", **TABLE))
    goofspiel = compile_game("goofspiel(cards=3)")
    with pytest.raises(ValueError, match="no public tree, which features 'public'"):
        DeepSolver(goofspiel, DEEP_CFR(features="public", **TABLE))
    with pytest.raises(ValueError, match="keep_networks supports two players only"):
        DeepSolver(compile_game("kuhn(players=3)"), SD_CFR(keep_networks=True, **TABLE))
    state = table(DEEP_CFR(**TABLE)).state
    with pytest.raises(ValueError, match="features is \\(5, 8\\); kuhn has 12 infosets"):
        table(DEEP_CFR(**TABLE), state=state._replace(features=state.features[:5]))
    with pytest.raises(MemoryError, match="the limit is"):
        table(DEEP_CFR(**TABLE), memory_limit=1000)


def test_an_empty_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changes in an iteration that cannot be finished."""
    solver = DeepSolver(KUHN, DEEP_CFR(**TABLE), seed=1)
    solver.iterate(3)
    before = solver.state
    monkeypatch.setattr(deep_solver, "filled", lambda reservoir: 0)
    monkeypatch.setattr(TableLearner, "needs_samples", True)
    with pytest.raises(TrainingError, match="iteration 4: the advantage buffer of player 0 is em"):
        solver.iterate(1)
    monkeypatch.undo()
    assert solver.iteration == 3
    assert bits(solver.state) == bits(before)


def test_traversals_and_training_draw_from_streams_of_their_own() -> None:
    states = [DeepSolver(KUHN, DEEP_CFR(**TABLE), seed=seed).state for seed in (5, 6)]
    streams = {s.tobytes() for state in states for s in (state.generator, state.training_generator)}
    assert len(streams) == 4


def test_states_with_spoilt_buffers_are_refused() -> None:
    solver = DeepSolver(KUHN, DEEP_CFR(**TABLE), seed=1)
    solver.iterate(3)
    state = solver.state

    def refused(words: str, **changes: np.ndarray) -> None:
        with pytest.raises(ValueError, match=words):
            DeepSolver(KUHN, solver.algorithm, state=state._replace(**changes), iteration=3)

    infoset, weight, seen = (getattr(state, f"average_{n}") for n in ("infoset", "weight", "seen"))
    refused(
        "average_infoset holds a number that is not an infoset",
        average_infoset=infoset + np.int32(12),
    )
    refused("average_infoset holds a number that is not an infoset", average_infoset=-1 - infoset)
    refused("average_weight holds a weight that is not posi", average_weight=0 * weight)
    refused("average_seen must count the samples of 2 res", average_seen=-seen)
    refused("average_seen must count the samples of 2 res", average_seen=seen[:1])
    refused("average_infoset", average_seen=seen + 1)
    hands = np.array([[label[0] == hand for hand in "JQK"] for label in KUHN.infoset_labels])
    with pytest.raises(ValueError, match="features differ from the features of deep-cfr"):
        DeepSolver(KUHN, solver.algorithm(features=hands), state=state, iteration=3)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    "record",
    [DEEP_CFR(**TABLE), SD_CFR(**TABLE), DREAM(**TABLE), DREAM(baselines="infosets", **TABLE)],
    ids=str,
)
def test_memory_is_told_in_full(record: Deep) -> None:
    """What is told before it is taken is what is taken, but for a twentieth: the Python objects."""
    DeepSolver(KUHN, record(buffer=1))  # What is made once is not the solver's.
    record = record(buffer=100_000)
    with pytest.raises(MemoryLimitError) as refused:
        DeepSolver(KUHN, record, memory_limit=1)
    tracemalloc.start()
    try:
        solver = DeepSolver(KUHN, record, memory_limit=refused.value.needed)
        for own in solver._samples:
            for reservoir in reservoirs_of(own):
                reservoir.seen[0] = len(reservoir.infoset)
        before = solver._numbers([])  # What an iteration copies when the buffers are full.
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert solver.iteration == 0
    assert before.advantage_infoset.size == 200_000
    assert taken == pytest.approx(refused.value.needed, rel=0.05)


@pytest.mark.usefixtures("uncompiled")
def test_an_average_of_three_players() -> None:
    """By a table it is the weighted mean of the strategies that were met, whoever met them."""
    game = compile_game("kuhn(players=3)")
    solver = DeepSolver(game, DEEP_CFR(learner="table", traversals=15), seed=3)
    solver.iterate(3)
    state, average = solver.state, solver.average_probabilities()
    several = 0
    for infoset in range(game.n_infosets):
        here = np.flatnonzero(state.average_infoset == infoset)
        ends = np.cumsum(state.average_seen)
        several += len(set(np.searchsorted(ends, here, side="right").tolist())) > 1
        at = game.sequences(infoset)
        if len(here):
            mean = state.average_weight[here] @ state.average_values[here]
            expected = mean / mean.sum()
        else:
            expected = np.array([0.5, 0.5])
        np.testing.assert_allclose(average[at], expected, rtol=0, atol=1e-12)
    assert several > 10


def test_what_is_promised() -> None:
    assert "near a Nash equilibrium" in SD_CFR.guarantee(zero_sum=True)
    assert "No theorem says" in SD_CFR.guarantee(zero_sum=False)


@pytest.mark.parametrize(
    "record",
    [
        DEEP_CFR(buffer=100, **TABLE),
        pytest.param(SD_CFR(**TABLE), marks=pytest.mark.full),
        DREAM(buffer=100, **TABLE),
    ],
    ids=str,
)
def test_saved_and_gone_on_with(record: Deep, tmp_path: Any) -> None:
    """A run in two parts, by a file, has the bits of one in one part."""
    assert from_dict(record.to_dict()) == record
    whole = solve(KUHN, record, iters=60, seed=3)
    part = solve(KUHN, record, iters=25, seed=3)
    loaded = Solution.load(part.save(tmp_path / "part"))
    rest = solve(KUHN, start=loaded, iters=35)
    assert rest.algorithm == record
    np.testing.assert_array_equal(rest.policy.probabilities, whole.policy.probabilities)
    assert bits(rest.state) == bits(whole.state)
