"""Deep CFR on rules: the draws, samples and strategies of the compiled game."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from support.equality import PerturbedHands, bits
from support.random_games import random_game
from support.tiers import tiered
from tensorcfr import Decision, Game, MemoryLimitError, Solution, Terminal, compile_game, solve
from tensorcfr.algorithms import DEEP_CFR, DREAM, SD_CFR, Deep
from tensorcfr.analysis import local_best_response, sampled_values
from tensorcfr.compilers.dealt_rules import as_histories
from tensorcfr.deep import DeepSolver, make_features
from tensorcfr.deep import deep_solver as deep_solver
from tensorcfr.deep.buffers import BUFFERS
from tensorcfr.deep.features import RuleFeatures
from tensorcfr.deep.learners import TableLearner
from tensorcfr.deep.network_policy import Fits, NetworkPolicy
from tensorcfr.errors import TrainingError
from tensorcfr.games import make_game
from tensorcfr.model.arrays import CHANCE, TERMINAL
from tensorcfr.model.infoset import Infoset
from tensorcfr.solvers.traversal import history_traversal
from tensorcfr.uncompiled.infoset_table import InfosetTable
from tensorcfr.uncompiled.lazy_histories import Histories, Node
from tensorcfr.uncompiled.uncompiled_game import UncompiledGame

TABLE: dict[str, Any] = {"learner": "table", "unplayed": "uniform"}
RECORDS: dict[str, Deep] = {
    "deep-cfr": DEEP_CFR(traversals=3, **TABLE),
    "deep-cfr, small buffer": DEEP_CFR(traversals=3, buffer=40, **TABLE),
    "sd-cfr": SD_CFR(traversals=3, **TABLE),
    "sd-cfr, best": SD_CFR(traversals=3, learner="table"),
    "dream, no baselines": DREAM(traversals=3, baseline_updates=0, **TABLE),
    "dream": DREAM(traversals=3, baselines="infosets", **TABLE),
}
GAMES: dict[str, Any] = {
    "kuhn": lambda: PerturbedHands(make_game("kuhn")),
    "leduc": lambda: PerturbedHands(make_game("leduc")),
    "liar's dice": lambda: PerturbedHands(make_game("liars_dice(faces=3)")),
    "random": lambda: random_game(1, max_histories=150),
    "kuhn, 3 players": lambda: PerturbedHands(make_game("kuhn(players=3)")),
}
NETWORK: dict[str, Any] = {"traversals": 30, "updates": 30, "batch": 64, "layers": (8, 8)}


def by_label(game: Any, infosets: np.ndarray) -> list[str]:
    return [game.infoset_labels[index] for index in infosets]


def met_labels(solver: DeepSolver, infosets: np.ndarray) -> list[str]:
    labels = list(solver.average_policy())
    return [labels[index] for index in infosets]


@pytest.mark.parametrize(
    ("game", "name"),
    tiered(
        [
            (game, name)
            for game in GAMES
            for name in RECORDS
            if name.startswith("deep-cfr") or game != "kuhn, 3 players"
        ],
        [("kuhn", "sd-cfr"), ("kuhn", "deep-cfr, small buffer")],
    ),
)
def test_rules_are_learned_as_the_compiled_game_is(game: str, name: str) -> None:
    """The same draws, and so the same samples; strategies up to the rounding of payoffs."""
    rules, record = GAMES[game](), RECORDS[name]
    compiled = compile_game(rules, symmetry=False)
    theirs, ours = DeepSolver(compiled, record, seed=3), DeepSolver(rules, record, seed=3)
    for _ in range(2):
        theirs.iterate(12)
        ours.iterate(12)
        expected, found = theirs.state, ours.state
        for key in ("touched", "generator", "training_generator"):
            np.testing.assert_array_equal(getattr(found, key), getattr(expected, key))
        for prefix in BUFFERS:
            mine, other = (
                {key: getattr(state, f"{prefix}_{key}") for key in ("infoset", "weight", "seen")}
                for state in (found, expected)
            )
            assert met_labels(ours, mine["infoset"]) == by_label(compiled, other["infoset"])
            np.testing.assert_array_equal(mine["seen"], other["seen"])
            np.testing.assert_allclose(mine["weight"], other["weight"], rtol=1e-11)
            values, wanted = (getattr(s, f"{prefix}_values") for s in (found, expected))
            np.testing.assert_allclose(values[:, : wanted.shape[1]], wanted, atol=1e-10)
            assert np.isnan(values[:, wanted.shape[1] :]).all()
        same(ours.current_policy(), theirs.current_policy(), compiled)
        same(ours.average_policy(), theirs.average_policy(), compiled)


def same(found: Any, expected: Any, game: Any) -> None:
    """Equal at the infosets that were met, and uniform elsewhere, as nobody learned there."""
    for index, label in enumerate(game.infoset_labels):
        wanted = list(expected[label].values())
        infoset = Infoset(label, int(game.infoset_player[index]), game.infoset_actions[index])
        if label in found:
            np.testing.assert_allclose(found(infoset), wanted, rtol=0, atol=1e-11)
        else:
            np.testing.assert_allclose(wanted, 1 / len(wanted), rtol=0, atol=1e-12)


@pytest.mark.full
@pytest.mark.openspiel
@pytest.mark.parametrize("name", RECORDS)
def test_openspiel_is_learned_as_its_compiled_histories(name: str) -> None:
    """The same draws, ties included: both run the same machine code."""
    pytest.importorskip("pyspiel")
    rules, record = "openspiel:leduc_poker", RECORDS[name]
    compiled = compile_game(rules, symmetry=False)
    theirs, ours = DeepSolver(compiled, record, seed=3), DeepSolver(rules, record, seed=3)
    theirs.source.tree = history_traversal(compiled, theirs.source.table)
    theirs.iterate(40)
    ours.iterate(40)
    assert np.array_equal(ours.state.generator, theirs.state.generator)
    last, average = theirs.current_policy(), theirs.average_policy()
    for label, row in ours.average_policy().items():
        np.testing.assert_allclose(
            list(ours.current_policy()[label].values()), list(last[label].values()), atol=1e-12
        )
        np.testing.assert_allclose(
            list(row.values()), list(average[label].values()), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("name", tiered(["kuhn", "leduc"], ["kuhn"]))
def test_with_a_table_it_is_external_sampling(name: str) -> None:
    """One traversal in an iteration, on rules: the curve of external sampling on rules."""
    rules = PerturbedHands(make_game(name))
    record = DEEP_CFR(traversals=1, power=0, **TABLE)
    deep = solve(rules, record, iters=150, seed=5)
    table = solve(rules, "external_sampling", iters=150, seed=5)
    assert [p.nodes_touched for p in deep.trace] == [p.nodes_touched for p in table.trace]
    assert list(deep.policy) == list(table.policy)
    np.testing.assert_allclose(deep.policy.probabilities, table.policy.probabilities, atol=1e-12)


# ------------------------------------------------------------------------- files, limits, errors


@pytest.mark.parametrize(
    ("game", "record"),
    [
        pytest.param("kuhn", DEEP_CFR(traversals=3, **TABLE)),
        pytest.param(
            "kuhn", DREAM(traversals=3, baselines="infosets", **TABLE), marks=pytest.mark.full
        ),
        *(
            pytest.param(game, record, marks=(pytest.mark.full, pytest.mark.openspiel))
            for game in ("openspiel:kuhn_poker", "leduc")
            for record in (
                DEEP_CFR(strategy_updates=20, buffer=300, **NETWORK),
                SD_CFR(warm=True, **NETWORK),
                DREAM(baselines="infosets", baseline_updates=20, **NETWORK),
                SD_CFR(traversals=5, learner="table"),
            )
        ),
    ],
    ids=str,
)
def test_saved_and_gone_on_with(game: str, record: Deep, tmp_path: Any) -> None:
    """A run in two parts, by a file, has the bits of one in one part, policies included."""
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    if record.learner == "network":
        pytest.importorskip("equinox")
    whole = solve(game, record, iters=4, seed=3)
    part = solve(game, record, iters=2, seed=3)
    loaded = Solution.load(part.save(tmp_path / "part"))
    rest = solve(game, start=loaded, iters=2)
    assert bits(rest.state) == bits(whole.state)
    assert rest.policy.probabilities.tobytes() == whole.policy.probabilities.tobytes()
    assert loaded.policy.probabilities.tobytes() == part.policy.probabilities.tobytes()
    assert dict(loaded.last_policy) == dict(part.last_policy)
    other = solve(game, record, iters=4, seed=4)
    assert other.policy.probabilities.tobytes() != whole.policy.probabilities.tobytes()


def test_a_full_table_loses_nothing() -> None:
    """The iteration under way is undone; with more memory it comes to what it would have been."""
    record = SD_CFR(traversals=2, buffer=50, **TABLE)
    whole = DeepSolver("leduc", record, seed=2)
    short = DeepSolver("leduc", record, seed=2)
    whole.iterate(1)
    short.iterate(1)
    short.memory_limit = short.bytes_held + 400_000
    before, done = bits(short.state), short.iteration
    words = re.compile("solving leduc by sd-cfr beyond .* iterations, with .* infosets held")
    with pytest.raises(MemoryLimitError, match=words):  # noqa: PT012 (some step raises)
        for _ in range(200):
            before, done = bits(short.state), short.iteration
            short.iterate(1)
    assert bits(short.state) == before
    assert short.iteration == done < 200
    short.memory_limit = 1 << 30
    short.iterate(3)
    whole.iterate(done + 3 - whole.iteration)
    assert bits(short.state) == bits(whole.state)
    with pytest.raises(MemoryLimitError, match="the limit is"):
        DeepSolver("kuhn", record(buffer=1_000_000), memory_limit=1_000_000)


@pytest.mark.full
def test_forgotten_histories_change_nothing() -> None:
    """A tree without room is forgotten again and again."""
    record = SD_CFR(traversals=4, buffer=500, **TABLE)
    whole, short = (DeepSolver("leduc", record, seed=2) for _ in range(2))
    entered = short.source.make_tree

    def roomy(limit: float) -> Any:
        tree = entered(limit)
        tree.limit = 60_000
        return tree

    short.source.make_tree = roomy  # type: ignore[method-assign]
    whole.iterate(30)
    short.iterate(30)
    assert whole.source.tree is not None
    assert short.source.tree is not None
    assert whole.source.tree._histories > 2 * short.source.tree._histories
    assert bits(short.state) == bits(whole.state)


@pytest.mark.usefixtures("networks")
def test_losses_that_are_not_finite() -> None:
    solver = DeepSolver("kuhn", SD_CFR(**NETWORK), seed=1)
    solver.iterate(2)
    state = solver.state
    values = state.advantage_values.copy()
    values[:, 0] = 1e300
    bad = DeepSolver(
        "kuhn", solver.algorithm, state=state._replace(advantage_values=values), iteration=2
    )
    before = bits(bad.state)
    with pytest.raises(TrainingError, match="iteration 3, advantage network of player 0: the loss"):
        bad.iterate(1)
    assert bits(bad.state) == before
    assert bad.iteration == 2


@pytest.mark.parametrize("done", [0, 2])
def test_an_empty_buffer(done: int, monkeypatch: pytest.MonkeyPatch) -> None:
    solver = DeepSolver("kuhn", SD_CFR(traversals=2, **TABLE), seed=1)
    solver.iterate(done)
    before = bits(solver.state)
    monkeypatch.setattr(deep_solver, "filled", lambda reservoir: 0)
    monkeypatch.setattr(TableLearner, "needs_samples", True)
    words = f"iteration {done + 1}: the advantage buffer of player 0 is em"
    with pytest.raises(TrainingError, match=words):
        solver.iterate(1)
    monkeypatch.undo()
    assert bits(solver.state) == before


class Wide(Game):
    """Two players choose among many actions, one after the other."""

    name, n_players = "wide", 2

    def __init__(self, actions: int) -> None:
        self.actions = tuple(map(str, range(actions)))

    def root(self) -> Any:
        return ()

    def node(self, state: Any) -> Any:
        if len(state) == 2:
            gain = (int(state[0]) - int(state[1])) % 3 - 1.0
            return Terminal((gain, -gain))
        return Decision(len(state), f"player {len(state)}", self.actions)

    def next(self, state: Any, action: Any) -> Any:
        return (*state, action)


def refused(game: Any, record: Deep, **options: Any) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the words are looked at)
        DeepSolver(game, record, **options)
    return str(caught.value)


def test_what_cannot_be_had() -> None:
    table = SD_CFR(**TABLE)
    assert "baselines of histories are a table over the histories of a compiled game" in refused(
        "kuhn", DREAM
    )
    assert "'public' need all infosets of a compiled game" in refused(
        "kuhn", table(features="public")
    )
    assert "of your own need all infosets" in refused("kuhn", table(features=np.eye(12)))
    assert "kuhn is not OpenSpiel's" in refused("kuhn", table(features="tensors"))
    assert "which on rules is possible for two players only, and kuhn(players=3) has 3" in refused(
        "kuhn(players=3)", table
    )
    assert "'player 0' of wide has 65 actions; on rules a network has 64" in refused(
        Wide(65), table
    )
    state = DeepSolver("kuhn", table).state
    narrow = state._replace(features=state.features[:, :100])
    with pytest.raises(ValueError, match=r"features is float32 \(\d+, 100\); .* \(\d+, 512\)"):
        DeepSolver("kuhn", table, state=narrow)
    outputs = state._replace(output=state.output + 64)
    with pytest.raises(ValueError, match="output holds a number that no action has"):
        DeepSolver("kuhn", table, state=outputs)
    solver = DeepSolver("kuhn", table(traversals=2), seed=1)
    solver.iterate(1)
    state = solver.state
    fewer = np.where(np.arange(2) < 1, state.output, -1).astype(np.int32)
    with pytest.raises(ValueError, match="output holds a number that no action has"):
        DeepSolver("kuhn", solver.algorithm, state=state._replace(output=fewer))


@pytest.mark.openspiel
def test_features_of_openspiel_on_rules() -> None:
    pytest.importorskip("pyspiel")
    game = UncompiledGame("openspiel:kuhn_poker")
    source = RuleFeatures(game)
    assert source.needs_state
    compiled = make_features(compile_game("openspiel:kuhn_poker"))
    solver = DeepSolver(game, SD_CFR(traversals=20, **TABLE), seed=1)
    solver.iterate(5)
    state = solver.state
    index = compile_game("openspiel:kuhn_poker").infoset_index
    rows = [index[label] for label in solver.average_policy()]
    np.testing.assert_array_equal(state.features, compiled[rows])
    # OpenSpiel's tensors of one game have one width; others would be an error that names them.
    source.width += 1
    root = game.rules.root()
    for _ in range(2):
        root = game.rules.next(root, next(iter(game.rules.node(root).outcomes)))  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"11 features at infoset 'x'.*others have 12"):
        source.of(0, "x", root)
    assert not RuleFeatures(UncompiledGame("openspiel:coordinated_mp")).needs_state
    with pytest.raises(ValueError, match="has no information state tensors"):
        RuleFeatures(UncompiledGame("openspiel:coordinated_mp"), "tensors")


@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars_dice(faces=3)", "goofspiel(cards=3)"])
def test_hashed_features_tell_infosets_apart(name: str) -> None:
    game = compile_game(name)
    features = make_features(game, "hashed")
    assert features.shape == (game.n_infosets, 512)
    assert len(np.unique(features, axis=0)) == game.n_infosets
    source = RuleFeatures(UncompiledGame(name))
    for infoset in range(0, game.n_infosets, 7):
        found = source.of(int(game.infoset_player[infoset]), game.infoset_labels[infoset])
        np.testing.assert_array_equal(found, features[infoset])


# ----------------------------------------------------------------------- policies beyond the table


def decisions(game: UncompiledGame) -> list[tuple[Infoset, Node]]:
    """Every infoset with one of its histories."""
    histories, found = Histories(game, InfosetTable(groups=0)), {}
    left = [histories.root]
    while left:
        node = left.pop()
        if node.actor == TERMINAL:
            continue
        if node.actor != CHANCE:
            names = tuple(map(str, node.edges))
            found.setdefault(node.label, (Infoset(node.label, node.actor, names), node))
        left += [node.children[k] or histories.step(node, k) for k in range(node.count)]
    return list(found.values())


@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize(
    "record", [SD_CFR(**NETWORK), DEEP_CFR(strategy_updates=20, **NETWORK)], ids=str
)
@pytest.mark.parametrize(
    "game",
    [
        pytest.param("openspiel:kuhn_poker", marks=(pytest.mark.full, pytest.mark.openspiel)),
        "kuhn",
    ],
)
def test_infosets_that_were_never_met(game: str, record: Deep) -> None:
    """A policy whose table is empty says at every history what one with the table says; the
    average by networks is the sum over iterations of weight times own reach times strategy."""
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    solver = DeepSolver(game, record, seed=1)
    solver.iterate(4)
    policy = solver.average_policy()
    assert isinstance(policy, NetworkPolicy)
    assert len(policy) == 12
    empty = DeepSolver(game, record)
    unmet = NetworkPolicy(
        policy.game,
        empty.source,
        policy._make,
        is_mixture=policy._is_mixture,
        unplayed="uniform",
    )
    unmet._unplayed, unmet._size = policy._unplayed, 0
    learner, fits = policy._learner_and_fits
    for infoset, node in decisions(UncompiledGame(game)):
        expected = policy(infoset)
        np.testing.assert_allclose(unmet.at_history(infoset, node), expected, rtol=0, atol=1e-6)
        if not policy._is_mixture:
            continue
        total = np.zeros(len(expected))
        for k, weight in enumerate(fits[infoset.player].weights):
            one = Fits(fits[infoset.player].fitted[k : k + 1], np.ones(1))
            alone = NetworkPolicy(
                policy.game,
                policy._infosets,
                lambda one=one: (learner, [one, one]),  # type: ignore[misc]
                is_mixture=False,
                unplayed="best",
            )
            reach, above, step = weight, node.parent, node.index
            while above is not None:
                if above.actor == node.actor:
                    reach *= list(alone[above.label].values())[step]
                above, step = above.parent, above.index
            total += reach * np.array(list(alone[infoset].values()))
        # Where its player never comes, it is uniform.
        share = total / total.sum() if total.any() else 1 / len(total)
        np.testing.assert_allclose(expected, share, rtol=0, atol=1e-6)


BY_NETWORKS = tiered(
    [SD_CFR(**NETWORK), DREAM(baselines="infosets", baseline_updates=20, **NETWORK)],
    [SD_CFR(**NETWORK)],
)


@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize("record", BY_NETWORKS, ids=str)
def test_infosets_that_are_new_ask_the_networks(record: Deep) -> None:
    """One at a time when they enter: what one batch says of all of them."""
    solver = DeepSolver("leduc", record, seed=2)
    solver.iterate(2)
    state, first = solver.state, solver.source.table.first
    last = solver.last_policy_of(solver.problem, state)
    for row, label in enumerate(last):
        found = state.strategy[first[row] : first[row + 1]]
        np.testing.assert_allclose(found, list(last[label].values()), rtol=0, atol=1e-4)
    for player, parameters in enumerate(solver._baseline_parameters):
        predicted = solver._advantages.predict(solver._samples[0].baselines, None, parameters)
        predicted = predicted[solver._inputs.is_action] / solver._scale
        np.testing.assert_allclose(state.baseline[player], predicted, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize("record", BY_NETWORKS, ids=str)
def test_bounds_of_a_policy_on_rules(record: Deep) -> None:
    """Few infosets of Leduc were met; plays come to others."""
    policy = solve("leduc", record, iters=1, seed=1).policy
    assert len(policy) < 936 / 2
    bound = local_best_response("leduc", policy, tries=30, plays=60)
    assert bound.exploitability.low < bound.exploitability.high
    assert len(sampled_values("leduc", policy, plays=50).values) == 2
    with pytest.raises(ValueError, match="reached infoset 'never'"):
        policy(Infoset("never", 0, ("a", "b")))  # type: ignore[operator]


def test_hands_are_dealt_in_rules() -> None:
    """Games of private hands are played hand by hand, and by both forms of their rules alike."""
    record = DEEP_CFR(traversals=2, **TABLE)
    ours = DeepSolver("kuhn", record, seed=1)
    theirs = DeepSolver(as_histories(make_game("kuhn")), record, seed=1)
    ours.iterate(5)
    theirs.iterate(5)
    assert bits(ours.state) == bits(theirs.state)
