"""Responses to a model of a player: against linear programs over all pure strategies."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from support.equality import as_game
from support.random_games import random_game
from support.reference import DecisionNode, Node, TerminalNode, Tree, build_tree
from support.slow_values import SlowValues
from support.tiers import tiered
from tensorcfr import Policy, compile_game, evaluate, solve
from tensorcfr.analysis import model_locks, robust_responses, simulate
from tensorcfr.games import make_game

optimize = pytest.importorskip("scipy.optimize")

PAIRS = tuple(product((0, 1), ("data-biased", "restricted")))
COUNTS = {
    # Of player 1, who calls too often, and folds kings now and then; a Q was never met.
    1: {"Jb": {"bet": 4, "pass": 4}, "Kb": {"bet": 15, "pass": 5}, "Jp": {"bet": 1}},
    0: {"J": {"bet": 6, "pass": 6}, "Q": {"bet": 1, "pass": 9}, "Qpb": {"bet": 1, "pass": 8}}
    | {"K": {"pass": 30}},
}


def pure(tree: Tree, player: int) -> list[dict[str, list[float]]]:
    """All pure strategies of a player."""
    own = tree.infosets_of(player)
    rows = [np.eye(len(infoset.actions)).tolist() for infoset in own]
    labels = [infoset.label for infoset in own]
    return [dict(zip(labels, chosen, strict=True)) for chosen in product(*rows)]


def worth(node: Node, policies: list[dict[str, list[float]]], player: int) -> float:
    """The expected utility of a player below a history."""
    if isinstance(node, TerminalNode):
        return node.utilities[player]
    if isinstance(node, DecisionNode):
        chosen = policies[node.infoset.player][node.infoset.label]
    else:
        chosen = node.probabilities
    pairs = zip(chosen, node.children, strict=True)
    return sum(p * worth(child, policies, player) for p, child in pairs if p)


def expected_worst(tree: Tree, player: int, method: str, weight: float, counts) -> float:  # type: ignore[no-untyped-def]
    """The value of the restricted game to the player who responds: the best mixture of all pure
    strategies against the worst that the other one can still do."""
    other = 1 - player
    model, trust = {}, {}
    for infoset in tree.infosets_of(other):
        row = counts.get(infoset.label, {})
        times = [float(row.get(str(action), 0.0)) for action in infoset.actions]
        n = sum(times)
        trust[infoset.label] = weight * min(1.0, n / 10)
        model[infoset.label] = [t / n for t in times] if n else [1 / len(times)] * len(times)
    mine, theirs = pure(tree, player), pure(tree, other)
    if method == "data-biased":
        theirs = [
            {
                label: [
                    trust[label] * fixed + (1 - trust[label]) * p
                    for fixed, p in zip(model[label], row, strict=True)
                ]
                for label, row in one.items()
            }
            for one in theirs
        ]

    def against(one: dict[str, list[float]], two: dict[str, list[float]]) -> float:
        policies = [one, two] if player == 0 else [two, one]
        return worth(tree.root, policies, player)

    table = np.array([[against(one, two) for two in theirs] for one in mine])
    if method == "restricted":
        fixed = np.array([against(one, model) for one in mine])
        table = (1 - weight) * table + weight * fixed[:, None]
    rows, columns = table.shape
    found = optimize.linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.column_stack([-table.T, np.ones(columns)]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    return float(-found.fun)


def restricted_worst(tree: Tree, player: int, own, method, weight, model, trust) -> float:  # type: ignore[no-untyped-def]
    """What a strategy gets at least from a restricted player, by recursion over their infosets."""
    other = 1 - player
    if method == "restricted":
        fixed = SlowValues(tree, own | model).values[player]
        free = SlowValues(tree, own | model)
        return weight * fixed - (1 - weight) * free.best_responses[other]
    reach: dict[str, list[tuple[DecisionNode, float]]] = {}

    def visit(node: Node, p: float) -> None:
        if isinstance(node, TerminalNode):
            return
        if isinstance(node, DecisionNode) and node.infoset.player == other:
            reach.setdefault(node.infoset.label, []).append((node, p))
        for k, child in enumerate(node.children):
            q = 1.0
            if not isinstance(node, DecisionNode):
                q = node.probabilities[k]
            elif node.infoset.player == player:
                q = own[node.infoset.label][k]
            visit(child, p * q)

    visit(tree.root, 1.0)
    chosen: dict[str, list[float]] = {}

    def below(node: Node) -> float:
        if isinstance(node, TerminalNode):
            return node.utilities[other]
        if isinstance(node, DecisionNode):
            if node.infoset.player == other:
                row = decide(node.infoset.label)
            else:
                row = own[node.infoset.label]
        else:
            row = node.probabilities
        return sum(p * below(child) for p, child in zip(row, node.children, strict=True) if p)

    def decide(label: str) -> list[float]:
        if label not in chosen:
            actions = range(len(reach[label][0][0].children))
            worths = [sum(p * below(n.children[a]) for n, p in reach[label]) for a in actions]
            best, w = int(np.argmax(worths)), trust[label]
            chosen[label] = [w * model[label][a] + (1 - w) * (a == best) for a in actions]
        return chosen[label]

    return -below(tree.root)


@pytest.mark.parametrize(
    ("player", "method"), tiered(PAIRS, [(0, "restricted"), (1, "data-biased")])
)
def test_equals_the_program_over_pure_strategies(method: str, player: int) -> None:
    """The value of the restricted game, which the response has by its own worst case there."""
    tree, game = build_tree(as_game(make_game("kuhn"))), compile_game("kuhn")
    counts = COUNTS[1 - player]
    found = robust_responses(game, counts, player, method=method, weights=(0.3, 0.8, 1.0))
    assert found.weights.tolist() == [0.0, 0.3, 0.8, 1.0]
    model = {
        label: list(found.model[label].values())
        for label in (i.label for i in tree.infosets_of(1 - player))
    }
    for label, row in counts.items():
        total = sum(row.values())
        expected = {a: row.get(a, 0) / total for a in ("pass", "bet")}
        assert found.model[label] == expected
    for weight, policy in zip(found.weights.tolist(), found.policies, strict=True):
        value = expected_worst(tree, player, method, weight, counts)
        own = {i.label: list(policy[i.label].values()) for i in tree.infosets_of(player)}
        trust = {
            label: weight * min(1.0, sum(counts.get(label, {}).values()) / 10) for label in model
        }
        worst = restricted_worst(tree, player, own, method, weight, model, trust)
        assert worst == pytest.approx(value, abs=1e-9)
    slow = SlowValues(tree, own | model)
    assert found.against_model[-1] == pytest.approx(slow.values[player], abs=1e-12)
    assert found.worst[-1] == pytest.approx(-slow.best_responses[1 - player], abs=1e-12)
    if method == "restricted":  # Fully trusted, the model is played: nothing is better than this.
        assert found.against_model[-1] == pytest.approx(slow.best_responses[player], abs=1e-9)
    assert (np.diff(found.gain) > -1e-9).all()
    assert (np.diff(found.risk) > -1e-9).all()
    assert found.gain[-1] > 0.01
    assert f"{method} responses of player {player}" in str(found)


def test_random_games() -> None:
    """Players who act several times in a row, with counts at half of the infosets."""
    for seed in (2, 5):
        rules = random_game(seed, zero_sum=True, max_histories=24, max_actions=2, max_depth=6)
        tree, game = build_tree(rules), compile_game(rules)
        draw = np.random.default_rng(seed)
        counts = {
            infoset.label: {str(action): int(draw.integers(0, 8)) for action in infoset.actions}
            for infoset in tree.infosets_of(1)
            if draw.random() < 0.6
        }
        found = robust_responses(game, counts, 0, weights=(0.6,), full_at=10)
        value = expected_worst(tree, 0, "data-biased", 0.6, counts)
        own = {i.label: list(found.policies[1][i.label].values()) for i in tree.infosets_of(0)}
        model = {i.label: list(found.model[i.label].values()) for i in tree.infosets_of(1)}
        trust = {label: 0.6 * min(1, sum(counts.get(label, {}).values()) / 10) for label in model}
        worst = restricted_worst(tree, 0, own, "data-biased", 0.6, model, trust)
        assert worst == pytest.approx(value, abs=1e-9)


def test_counts_of_plays() -> None:
    """Counts of many plays are the strategies; a response to them gains on a weak player."""
    game = compile_game("leduc")
    weak = Policy.uniform(game)
    plays = simulate(game, weak, 20_000, seed=3)
    counts = plays.counts(1)
    assert set(counts) <= set(game.labels_of(1))
    assert sum(counts["Qs r"].values()) > 100
    found = robust_responses(game, counts, 0, weights=(0.9,), method="restricted")
    assert found.model["Qs r"]["fold"] == pytest.approx(1 / 3, abs=0.1)
    value = evaluate(game, found.policies[0]).values[0]
    assert found.worst[0] == pytest.approx(value, abs=1e-9)
    assert found.gain[1] > 0.5
    by_histories = compile_game("goofspiel(cards=3)")
    taken = simulate(by_histories, Policy.uniform(by_histories), 50).counts(1)
    assert sum(sum(row.values()) for row in taken.values()) >= 50


def guaranteed(game, model, player, method, weights, policies):  # type: ignore[no-untyped-def]
    """What each response gets at least in its restricted game."""
    for weight, policy in zip(weights.tolist(), policies, strict=True):
        locks = model_locks(game, model, 1 - player, weight, method=method)
        yield -evaluate(game, policy, locks=locks).best_responses[1 - player]


@pytest.mark.parametrize(
    ("player", "method"), tiered(PAIRS, [(0, "data-biased"), (1, "restricted")])
)
def test_iterations_are_within_their_gap_of_the_program(
    method: str, player: int, interpreted: None
) -> None:
    game = compile_game("kuhn")
    model = solve(game, "cfr", iters=3).policy
    exact = robust_responses(game, None, player, model=model, method=method)
    found = robust_responses(
        game, None, player, model=model, method=method, algorithm="dcfr", iters=150
    )
    assert found.gaps.max() < 0.003
    assert exact.gaps.max() == 0.0
    best, near = (
        np.array(list(guaranteed(game, model, player, method, exact.weights, them.policies)))
        for them in (exact, found)
    )
    assert (near <= best + 1e-9).all()
    assert (near >= best - 2 * found.gaps - 1e-9).all()


def drawn(game, alpha: float) -> Policy:  # type: ignore[no-untyped-def]
    """Random strategies; nearly pure ones for a small ``alpha``."""
    draw = np.random.default_rng(1)
    return Policy.from_rows(
        game, lambda label, actions: draw.dirichlet(np.full(len(actions), alpha))
    )


MODELS = {
    "random": lambda game: drawn(game, 1.0).to_dict(),
    "early": lambda game: solve(game, "cfr", iters=3).policy.to_dict(),
    "uniform": lambda game: Policy.uniform(game).to_dict(),
    "nearly pure": lambda game: drawn(game, 0.01).to_dict(),
    "partly known": lambda game: dict(list(drawn(game, 1.0).to_dict(1).items())[::2]),
}
"""Models of a player."""
BY_TIER = [
    pytest.param(name, marks=pytest.mark.slow if number else pytest.mark.full)
    for number, name in enumerate(MODELS)
]


def check_larger(game, flat, model, target: float, tolerance: float, **options) -> None:  # type: ignore[no-untyped-def]
    """Both methods, against the program, in all weights."""
    weights, model = (0.25, 0.5, 0.75, 0.9, 1.0), MODELS[model](game)
    for method in ("restricted", "data-biased"):
        exact = robust_responses(flat, None, 0, model=model, method=method, weights=weights)
        found = robust_responses(
            game, None, 0, model=model, method=method, weights=weights, target=target, **options
        )
        best = guaranteed(flat, model, 0, method, exact.weights, exact.policies)
        near = guaranteed(game, model, 0, method, found.weights, found.policies)
        for one, other in zip(best, near, strict=True):
            assert one - tolerance <= other <= one + tolerance


@pytest.mark.parametrize("model", BY_TIER)
def test_leduc_equals_the_program(model: str) -> None:
    game = compile_game("leduc")
    check_larger(game, game, model, 5e-10, 1e-9)


@pytest.mark.parametrize("model", BY_TIER)
def test_river_equals_the_program(model: str) -> None:
    """Within 1e-4 of the pot; the spot is solved with its cards, the program on the flat game."""
    spot = make_game(
        "holdem",
        board="KsTh7d4c2s",
        pot=100,
        stacks=300,
        ranges=("AA,QQ-99,AKs-ATs,KQs,QJs,T9s", "QQ-77,AQs-A9s,KJs,QTs,J9s,98s"),
        bets="66%,allin",
        raises="allin",
    )
    check_larger(compile_game(spot), compile_game(spot, cut=False), model, 0.005, 0.01)


def test_a_largest_loss() -> None:
    game = compile_game("kuhn")
    weak = {"Jb": {"bet": 0.5, "pass": 0.5}, "Kb": {"bet": 0.6, "pass": 0.4}}
    found = robust_responses(
        game, None, 0, model=weak, method="restricted", weights=(), max_loss=0.02
    )
    assert found.risk[found.chosen] <= 0.02 < found.risk.max()
    assert found.gain[found.chosen] > 0.0
    # The weight is known to 1/256 of the range.
    above = found.weights[found.risk > 0.02].min()
    below = found.weights[found.weights < above].max()
    assert above - below <= 1 / 256
    everything = robust_responses(game, None, 0, model=weak, weights=(0.5,), max_loss=10.0)
    assert everything.chosen == int(everything.gain.argmax())
    assert everything.weights.tolist() == [0.0, 0.5, 1.0]


def test_models_of_any_form(interpreted: None) -> None:
    """A solution, its policy and its probabilities by label are one model; labels may be left
    out."""
    game = compile_game("kuhn")
    solution = solve(game, "cfr", iters=3)
    forms = solution, solution.policy, solution.policy.to_dict(), solution.policy.to_dict(1)
    found = [robust_responses(game, None, 0, model=one, weights=(0.5,)) for one in forms]
    for other in found[1:]:
        np.testing.assert_allclose(other.gain, found[0].gain, rtol=0, atol=1e-12)
    # Nothing is known of infosets without probabilities: the player stays free there.
    some = robust_responses(game, None, 0, model={"Jb": solution.policy["Jb"]}, weights=(1.0,))
    counted = robust_responses(
        game,
        {"Jb": {a: 100 * p for a, p in solution.policy["Jb"].items()}},
        0,
        weights=(1.0,),
    )
    np.testing.assert_allclose(some.worst, counted.worst, rtol=0, atol=1e-12)


def test_refusals() -> None:
    game = compile_game("kuhn")
    with pytest.raises(ValueError, match="kuhn has no infoset 'Z'"):
        robust_responses(game, {"Z": {"bet": 1}}, 0)
    with pytest.raises(ValueError, match="counts: player 0 acts at 'J', not 1"):
        robust_responses(game, {"J": {"bet": 1}}, 0)
    with pytest.raises(ValueError, match="infoset 'Jb' has no action 'fold'"):
        robust_responses(game, {"Jb": {"fold": 1}}, 0)
    with pytest.raises(ValueError, match="'bet' at 'Jb' must be a number >= 0, not -1"):
        robust_responses(game, {"Jb": {"bet": -1}}, 0)
    with pytest.raises(TypeError, match="'Jb' must map actions to counts, not 3"):
        robust_responses(game, {"Jb": 3}, 0)
    with pytest.raises(ValueError, match="algorithm 'lp' is exact: it takes no iters"):
        robust_responses(game, {}, 0, algorithm="lp", iters=3)
    with pytest.raises(ValueError, match="two players, and kuhn\\(players=3\\) has 3"):
        robust_responses(compile_game("kuhn(players=3)"), {}, 0)
