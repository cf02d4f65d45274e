"""Gaps to correlated equilibria: OpenSpiel's cases, brute force, and OpenSpiel itself.

The cases are those of ``open_spiel/algorithms/corr_dist_test.cc``, with the sources it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from support.equality import as_game
from support.random_games import random_game
from support.reference import (
    ChanceNode,
    Node,
    TerminalNode,
    Tree,
    best_response_value,
    build_tree,
    expected_values,
)
from support.tiers import tiered
from tensorcfr import Solver, compile_game, solve
from tensorcfr.evaluation import correlation_gap
from tensorcfr.games import make_game
from tensorcfr.games.matrix import MatrixGame
from tensorcfr.rules import Chance, Decision, Game, Terminal

KINDS = ("cce", "efcce", "efce", "ce")
"""The kinds of equilibria, from the weakest to the strongest."""

Policy = Mapping[str, Mapping[Any, float]]


def cells(game: MatrixGame, *entries: tuple[float, tuple[int, ...]]) -> list[tuple[float, Policy]]:
    """A plan over cells of a matrix game."""
    return [
        (
            weight,
            {
                f"P{player}": {
                    str(a): float(a == chosen) for a in range(game.payoffs.shape[player + 1])
                }
                for player, chosen in enumerate(cell)
            },
        )
        for weight, cell in entries
    ]


class TestMatrixGames:
    def test_gibson(self) -> None:
        """Gibson 2013, section 2.2: a coarse equilibrium that is no correlated one."""
        game = MatrixGame([[[1, 0], [0, 2], [-1, 1]], [[0, 0], [0, 0], [0, 0]]])
        plan = cells(game, (0.5, (0, 0)), (0.25, (1, 1)), (0.25, (2, 1)))
        compiled = compile_game(game)
        assert correlation_gap(compiled, plan, "cce").distance == pytest.approx(0.0, abs=1e-15)
        assert correlation_gap(compiled, plan, "ce").distance == pytest.approx(0.25, abs=1e-15)
        assert correlation_gap(compiled, plan, "efce").gains == pytest.approx((0.25, 0.0))

    @pytest.mark.parametrize("off_diagonal", [False, True])
    def test_shapley(self, off_diagonal: bool) -> None:
        """Shoham and Leyton-Brown 2009, figure 7.6: 1/3 and 1/2."""
        game = MatrixGame([[[0, 0, 1], [1, 0, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]])
        chosen = [(i, j) for i, j in product(range(3), repeat=2) if i != j or not off_diagonal]
        plan = cells(game, *((1 / len(chosen), cell) for cell in chosen))
        found = correlation_gap(compile_game(game), plan, "ce")
        assert found.distance == pytest.approx(0.0, abs=1e-15)
        assert found.values == pytest.approx([1 / 2 if off_diagonal else 1 / 3] * 2)

    def test_battle_of_the_sexes_and_chicken(self) -> None:
        """Shoham and Leyton-Brown 2009, section 3.4.5; Aumann 1974."""
        game = MatrixGame([[[2, 0], [0, 1]], [[1, 0], [0, 2]]])
        plan = cells(game, (0.5, (0, 0)), (0.5, (1, 1)))
        assert correlation_gap(compile_game(game), plan, "ce").gap == 0.0
        game = MatrixGame([[[0, 7], [2, 6]], [[0, 2], [7, 6]]])
        plan = cells(game, (0.5, (1, 1)), (0.25, (1, 0)), (0.25, (0, 1)))
        assert correlation_gap(compile_game(game), plan, "ce").gap == 0.0


class Signalling(Game):
    """Von Stengel and Forges 2008, section 2.3: a student of type good or bad sends a signal, a
    professor accepts (l) or refuses (r)."""

    n_players = 2

    def root(self) -> str:
        return ""

    def node(self, state: str) -> Any:
        if len(state) == 0:
            return Chance({"G": 0.5, "B": 0.5})
        if len(state) == 1:
            return Decision(0, state, ("X", "Y"))
        if len(state) == 2:
            return Decision(1, state[1], ("l", "r"))
        return Terminal(((4, 10) if state[0] == "G" else (6, 0)) if state[2] == "l" else (0, 6))

    def next(self, state: str, action: Any) -> str:
        return state + str(action)


def signals(good: str, bad: str, accepted: str) -> Policy:
    return {
        "G": {s: float(s == good) for s in "XY"},
        "B": {s: float(s == bad) for s in "XY"},
        **{s: {"l": float(s in accepted), "r": float(s not in accepted)} for s in "XY"},
    }


class TestSignalling:
    def test_better_than_nash(self) -> None:
        plan = [(0.25, signals(good, bad, good)) for good, bad in product("XY", "XY")]
        game = compile_game(Signalling())
        for kind in ("cce", "efcce", "efce"):
            found = correlation_gap(game, plan, kind)
            assert found.values == pytest.approx((3.5, 6.5), abs=1e-15)
            assert found.distance == pytest.approx(0.0, abs=1e-15)
        # Who knows before which signal will be accepted sends it with either type: bad types gain
        # 3 in a half of the profiles.
        assert correlation_gap(game, plan, "ce").gains[0] == pytest.approx(1.5)

    def test_nash(self) -> None:
        plan = [(0.25, signals(good, bad, "")) for good, bad in product("XY", "XY")]
        found = correlation_gap(compile_game(Signalling()), plan, "ce")
        assert (found.values, found.distance) == ((0.0, 6.0), 0.0)


class InOut(Game):
    """Von Stengel and Forges, LSE-CDAM-2006-04, section 2.4: one player says in or out twice."""

    n_players = 1

    def root(self) -> tuple[str, ...]:
        return ()

    def node(self, state: tuple[str, ...]) -> Any:
        if len(state) == 2:
            return Terminal((float(state == ("In", "In")),))
        return Decision(0, " ".join(("root", *state)), ("In", "Out"))

    def next(self, state: tuple[str, ...], action: Any) -> tuple[str, ...]:
        return (*state, action)


def test_in_out() -> None:
    """No single change gains, two together gain 1: who deviates goes on deviating."""
    out = {label: {"In": 0.0, "Out": 1.0} for label in ("root", "root In", "root Out")}
    game = compile_game(InOut())
    for kind in KINDS:
        assert correlation_gap(game, [(1.0, out)], kind).distance == 1.0


# ------------------------------------------------------------------------------------ brute force


def pure(tree: Tree, player: int) -> Iterator[dict[str, list[float]]]:
    """Every pure strategy of a player."""
    own = tree.infosets_of(player)
    for chosen in product(*(range(len(infoset.actions)) for infoset in own)):
        yield {
            infoset.label: [float(a == choice) for a in range(len(infoset.actions))]
            for infoset, choice in zip(own, chosen, strict=True)
        }


def deviating_value(
    tree: Tree, profiles: list[tuple[float, dict[str, list[float]]]], player: int, seen: bool
) -> float:
    """The best of all ways to deviate, tried one by one: where a player goes their own way (at
    which recommendation, or before it), and what they do from there."""
    own = tree.infosets_of(player)
    points = [(i.label, a) for i in own for a in (range(len(i.actions)) if seen else [None])]
    plans = list(pure(tree, player))
    best = -np.inf
    # One deviation for each trigger, and any set of triggers; those after another are not come to.
    for triggers in product([None, *plans], repeat=len(points)):
        chosen = {point: plan for point, plan in zip(points, triggers, strict=True) if plan}

        def value(node: Node, profile: Any, gone: Any, chosen: Any = chosen) -> float:
            if isinstance(node, TerminalNode):
                return node.utilities[player]
            if isinstance(node, ChanceNode):
                return sum(
                    p * value(child, profile, gone)
                    for p, child in zip(node.probabilities, node.children, strict=True)
                )
            label = node.infoset.label
            if node.infoset.player != player:
                sigma = profile[label]
            elif gone is not None:
                sigma = gone[label]
            elif not seen and (label, None) in chosen:
                gone = chosen[label, None]
                sigma = gone[label]
            else:
                sigma = profile[label]
                total = 0.0
                for a, p in enumerate(sigma):
                    away = chosen.get((label, a)) if seen else None
                    if away is None:
                        total += p * value(node.children[a], profile, None)
                    else:
                        total += p * sum(
                            q * value(child, profile, away)
                            for q, child in zip(away[label], node.children, strict=True)
                        )
                return total
            return sum(
                p * value(child, profile, gone)
                for p, child in zip(sigma, node.children, strict=True)
            )

        best = max(best, sum(w * value(tree.root, profile, None) for w, profile in profiles))
    return best


def small_game(seed: int) -> Game:
    return random_game(
        seed, n_players=2 + seed % 2, max_depth=4, max_actions=2, max_histories=30, secrecy=0.8
    )


def small_games() -> Iterator[tuple[Tree, int]]:
    """Random games of two and three players with at most 3 infosets and 4 plans for each."""
    found = 0
    for seed in range(500):
        tree = build_tree(small_game(seed))
        sizes = [[len(i.actions) for i in tree.infosets_of(p)] for p in range(tree.n_players)]
        if all(np.prod(own) <= 4 and len(own) <= 2 for own in sizes) and max(map(len, sizes)) > 1:
            found += 1
            yield tree, seed
        if found == 6:
            return


def random_plan(
    tree: Tree, seed: int, *, mixed: bool
) -> list[tuple[float, dict[str, list[float]]]]:
    rng = np.random.default_rng(seed)
    plan = []
    for weight in rng.dirichlet(np.ones(3)):
        profile = {}
        for label, infoset in tree.infosets.items():
            n = len(infoset.actions)
            profile[label] = (
                rng.dirichlet(np.ones(n)).tolist() if mixed else np.eye(n)[rng.integers(n)].tolist()
            )
        plan.append((float(weight), profile))
    return plan


@pytest.mark.parametrize("mixed", [False, True])
def test_brute_force(mixed: bool) -> None:
    for tree, seed in small_games():
        game = compile_game(small_game(seed))
        profiles = random_plan(tree, seed, mixed=mixed)
        plan = [
            (
                w,
                {
                    k: dict(zip(map(str, tree.infosets[k].actions), p, strict=True))
                    for k, p in one.items()
                },
            )
            for w, one in profiles
        ]
        for kind, seen in (("efcce", False), ("efce", True)):
            found = correlation_gap(game, plan, kind)
            for player in range(tree.n_players):
                value = sum(w * expected_values(tree, one)[player] for w, one in profiles)
                assert found.values[player] == pytest.approx(value, abs=1e-12)
                best = deviating_value(tree, profiles, player, seen)
                assert found.deviations[player] == pytest.approx(best, abs=1e-12)
        for player in range(tree.n_players):
            best = max(
                sum(w * expected_values(tree, {**one, **own})[player] for w, one in profiles)
                for own in pure(tree, player)
            )
            assert correlation_gap(game, plan, "cce").deviations[player] == pytest.approx(best)
        if not mixed:
            gaps = [correlation_gap(game, plan, kind).gap for kind in KINDS]
            assert all(weak <= strong + 1e-12 for weak, strong in pairwise(gaps))


def test_one_profile_is_nash_conv() -> None:
    """Where the plan is one pure profile, there is nothing to learn from a recommendation."""
    game = compile_game("kuhn(players=3)")
    last = solve(game, iters=1).policy
    tree = build_tree(as_game(make_game("kuhn(players=3)")))
    chosen = {label: dict.fromkeys(p, 0.0) | {min(p): 1.0} for label, p in last.items()}
    lists = {
        label: [chosen[label][str(a)] for a in tree.infosets[label].actions] for label in chosen
    }
    for kind in KINDS:
        found = correlation_gap(game, [(1.0, chosen)], kind)
        for player in range(3):
            best = best_response_value(tree, lists, player)
            assert found.deviations[player] == pytest.approx(best, abs=1e-12)


# ---------------------------------------------------------------------------------------- in play


def iterates(name: str, iterations: int) -> tuple[Any, list[tuple[float, Any]]]:
    """What CFR plays, iteration by iteration, all players updated at once."""
    game = compile_game(name)
    solver = Solver(game, "cfr")
    solver = Solver(game, solver.algorithm(alternating=False))
    plan = []
    for _ in range(iterations):
        plan.append((1 / iterations, solver.current_policy()))
        solver.iterate()
    return game, plan


@pytest.mark.parametrize(
    "name", tiered(["kuhn(players=3)", "goofspiel(cards=3)"], ["goofspiel(cards=3)"])
)
def test_no_regret_is_coarse_correlated(name: str) -> None:
    """The gap falls as 1 / sqrt(T) or faster: by 4 from 25 to 400 iterations."""
    early = correlation_gap(*iterates(name, 25)).gap
    late = correlation_gap(*iterates(name, 400)).gap
    assert 0.0 <= late <= early / 4


@pytest.mark.full
def test_openspiel_agrees() -> None:
    """OpenSpiel's ``cce_dist``, on 3-player Kuhn poker."""
    pyspiel = pytest.importorskip("pyspiel")
    game, plan = iterates("kuhn(players=3)", 5)
    other = pyspiel.load_game("kuhn_poker(players=3)")
    device = []
    for weight, policy in plan:
        table = {}
        for label, probabilities in policy.items():
            table[label] = [(a, p) for a, p in enumerate(probabilities.values())]
        device.append((weight, table))
    theirs = dict.fromkeys(_states(other))
    ours = {_openspiel_label(label): label for label in plan[0][1]}
    assert set(theirs) == set(ours)
    converted = [
        (weight, pyspiel.TabularPolicy({s: table[ours[s]] for s in theirs}))
        for weight, table in device
    ]
    expected = pyspiel.cce_dist(other, converted).dist_value
    assert correlation_gap(game, plan).distance == pytest.approx(expected, abs=1e-12)


def _openspiel_label(label: str) -> str:
    ranks = "TJQK"
    return f"{ranks.index(label[0])}{label[1:]}"


def _states(game: Any) -> set[str]:
    found: set[str] = set()
    stack = [game.new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            found.add(state.information_state_string())
        stack.extend(state.child(a) for a in state.legal_actions())
    return found


# ------------------------------------------------------------------------------------- bad input


def test_refusals() -> None:
    game = compile_game("kuhn")
    uniform = {
        label: dict.fromkeys(actions, 0.5)
        for label, actions in zip(game.infoset_labels, game.infoset_actions, strict=True)
    }
    with pytest.raises(ValueError, match="at least one profile"):
        correlation_gap(game, [])
    with pytest.raises(ValueError, match=r"sum to 1; their sum is 0\.5"):
        correlation_gap(game, [(0.5, uniform)])
    with pytest.raises(ValueError, match=r"a correlated plan is a list of pairs \(probability"):
        correlation_gap(game, [uniform])
    with pytest.raises(ValueError, match="a profile mixes at"):
        correlation_gap(game, [(1.0, uniform)], "ce")
    with pytest.raises(ValueError, match="kind must be one of"):
        correlation_gap(game, [(1.0, uniform)], "nash")
