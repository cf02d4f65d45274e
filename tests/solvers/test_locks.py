"""Locked infosets: what is solved around them equals a game in which chance plays the locks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import (
    EARLY_MARKS,
    GAMES,
    MARKS,
    TOLERANCE,
    as_game,
    built,
    difference,
    rounding,
)
from support.interpreted import interpreted_kernels
from support.properties import examples
from support.random_games import games, public_tree_games
from support.random_locks import random_locks
from support.reference import (
    ReferenceCFR,
    best_response_value,
    build_tree,
    expected_values,
    nash_conv,
)
from support.rule_twins import HedgeTwin, hedge_first, without_rounding
from support.tiers import tiered
from support.variants import VARIANTS
from tensorcfr import (
    CompiledGame,
    Game,
    Locks,
    Policy,
    Solution,
    Solver,
    best_response,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.algorithms import PACED_CFR_PLUS
from tensorcfr.games import make_game
from tensorcfr.rules import Chance, Decision

Given = Mapping[str, Mapping[str, float]]


class ChanceLocked(Game):
    """A game in which chance plays what is locked.

    Where all actions are locked there is a chance node; where some are, chance plays one of them
    or leaves the others to the player.  Regret matching does not mind a factor in an infoset's
    regrets, nor does an average in its weights: strategies are those of the locked game.
    """

    def __init__(self, game: Game, locks: Given) -> None:
        self.game, self.locks, self.n_players = game, locks, game.n_players

    def root(self) -> Any:
        return self.game.root(), False

    def node(self, state: Any) -> Any:
        inner, free = state
        node = self.game.node(inner)
        if not isinstance(node, Decision) or node.infoset not in self.locks:
            return node
        lock = self.locks[node.infoset]
        rest = [action for action in node.actions if str(action) not in lock]
        if free:
            return node._replace(actions=tuple(rest))
        chance = {a: lock[str(a)] for a in node.actions if str(a) in lock}
        return Chance(chance | ({FREELY: 1 - sum(chance.values())} if rest else {}))

    def next(self, state: Any, action: Any) -> Any:
        inner, _ = state
        return (inner, True) if action is FREELY else (self.game.next(inner, action), False)


FREELY = "whatever the player likes"


def unlocked(policy: Policy, locks: Given) -> dict[str, list[float]]:
    """A policy of the locked game as one of the game in which chance plays the locks."""
    found = {}
    for label, probabilities in policy.items():
        lock = locks.get(label, {})
        rest = [p for action, p in probabilities.items() if action not in lock]
        for action in lock:
            assert probabilities[action] == pytest.approx(lock[action], abs=1e-15)
        if rest:
            assert sum(probabilities.values()) == pytest.approx(1, abs=1e-12)
            found[label] = [p / sum(rest) for p in rest] if label in locks else rest
    return found


def check(game: CompiledGame, rules: Game, variant: str, locks: Given, marks: Any) -> None:
    algorithm, options = VARIANTS[variant]
    solver = Solver(game, algorithm, locks=locks)
    locked = ChanceLocked(rules, solver.locks)
    reference = ReferenceCFR(locked, **options)
    if not reference.average_policy():  # All that there is is locked.
        return
    for mark in marks:
        solver.iterate(mark - solver.iteration)
        while reference.t < mark:
            reference.iterate()
        if not reference.has_average:
            # Chance that plays a lock of 0 leads to no regret; an own action of 0 does.
            continue
        average = solver.average_policy()
        found = unlocked(average, solver.locks)
        there = {label: found[label] for label in reference.average_policy()}
        as_mapping = {k: dict(enumerate(v)) for k, v in there.items()}
        worst, where = difference(as_mapping, reference.average_policy())
        assert worst <= TOLERANCE or worst <= 100 * rounding(reference.tree, options, mark), (
            f"iteration {mark}, infoset {where!r}: off by {worst}"
        )
        brute = nash_conv(reference.tree, found)
        assert solver.evaluate().nash_conv == pytest.approx(brute, abs=1e-12)
        assert evaluate(game, average, locks=locks).nash_conv == pytest.approx(brute, abs=1e-12)


@pytest.mark.parametrize(
    "variant",
    tiered(VARIANTS, ["cfr+"], quick_as_python=True),
)
@pytest.mark.parametrize("name", ["kuhn, 4 cards", "kuhn, 3 players, perturbed"])
def test_equal_to_a_game_where_chance_plays_the_locks(name: str, variant: str) -> None:
    game, _ = built(name)
    check(game, as_game(GAMES[name]()), variant, random_locks(game, 7), MARKS)


@pytest.mark.parametrize("floor", [0.0, 0.1])
@pytest.mark.parametrize("name", ["liars_dice(faces=3)", "goofspiel(cards=4)"])
def test_the_pace_of_free_actions(name: str, floor: float) -> None:
    game, record = compile_game(name), PACED_CFR_PLUS(floor=floor)
    solver = Solver(game, record, locks=random_locks(game, 5))
    other = compile_game(ChanceLocked(as_game(make_game(name)), solver.locks))
    reference = Solver(other, record)
    for _ in range(20):
        solver.iterate()
        reference.iterate()
    found = unlocked(solver.average_policy(), solver.locks)
    for label, probabilities in reference.average_policy().items():
        np.testing.assert_allclose(found[label], list(probabilities.values()), rtol=0, atol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("symmetric", [True, False])
def test_leduc(symmetric: bool) -> None:
    """With merged suits where the locks treat suits alike, and otherwise infoset by infoset."""
    game = compile_game("leduc")
    ranks = random_locks(game, 3, 0.3)
    classes: dict[int, dict[str, float]] = {}
    alike = {}
    for label in game.infoset_labels:
        stands = int(game.merged.sequence[game.sequences(game.infoset_index[label])][0])
        lock = classes.setdefault(stands, ranks.get(label, {}))
        if len(game.infoset_actions[game.infoset_index[label]]) > 1 and lock:
            alike[label] = lock
    locks = Locks(game, alike if symmetric else ranks)
    assert len(locks) > 20
    assert locks.keeps_symmetry is symmetric
    solver = Solver(game, "cfr+", locks=locks)
    assert (solver.form.trunk is game.form) is not symmetric
    check(game, as_game(make_game("leduc")), "cfr+", locks, (1, 2, 5))


@examples(60)
@given(
    game=st.one_of(games(), public_tree_games()),
    variant=st.sampled_from(sorted(VARIANTS)),
    seed=st.integers(0, 99),
)
def test_random_games(game: Any, variant: str, seed: int) -> None:
    compiled = compile_game(game, symmetry=False)
    with interpreted_kernels():
        check(compiled, as_game(game), variant, random_locks(compiled, seed), EARLY_MARKS)


# ------------------------------------------------------------ rules that mind a factor, or remember


class LockedTwin(HedgeTwin):
    """A slow twin that treats the free actions of a locked infoset as a decision."""

    respond: Any

    def __init__(self, game: CompiledGame, locks: Locks) -> None:
        super().__init__(game)
        self.locks = locks
        for label, row in locks.items():
            own, free = self.split(label)
            self.strategy[own] = [row.get(a, np.nan) for a in policy_actions(game, label)]
            self.strategy[free] = (1 - sum(row.values())) / max(len(free), 1)
        for player in range(game.n_players):
            for infoset in self.infosets(player):
                rows = game.sequences(infoset)
                above = game.form.infoset_parent[infoset]
                self.reach[rows] = self.reach[above] * self.strategy[rows]

    def split(self, label: str) -> tuple[np.ndarray, np.ndarray]:
        """Sequences of an infoset, and the free ones among them."""
        own = np.arange(self.game.n_sequences)[self.game.sequences(self.game.infoset_index[label])]
        lock = self.locks.get(label, {})
        free = [a not in lock for a in policy_actions(self.game, label)]
        return own, own[np.array(free)]

    def update(self, player: int, g: np.ndarray) -> None:
        q = g.copy()
        for infoset in reversed(self.infosets(player)):
            label, above = self.game.infoset_labels[infoset], self.game.form.infoset_parent[infoset]
            own, free = self.split(label)
            share = 1 - sum(self.locks.get(label, {}).values())
            v = float(self.strategy[own] @ q[own])
            if len(free):
                sigma = self.strategy[free] / share
                instant = without_rounding(q[free] - sigma @ q[free], q[free])
                self.strategy[free] = share * self.respond(free, instant)
            q[above] += v


def policy_actions(game: CompiledGame, label: str) -> tuple[str, ...]:
    return game.infoset_actions[game.infoset_index[label]]


@pytest.mark.parametrize("name", ["kuhn(cards=4)", "kuhn(players=3)", "goofspiel(cards=3)"])
@hedge_first
def test_other_rules(name: str, algorithm: Any, twin: Any, interpreted: None) -> None:
    game = compile_game(name, symmetry=False)  # A twin passes over the sequences of the game.
    locks = random_locks(game, 5)
    slow = type("Locked", (LockedTwin,), {"respond": twin.respond})(game, locks)
    solver = Solver(game, algorithm, locks=locks)
    for _ in range(12):
        np.testing.assert_allclose(solver.state.strategy, slow.strategy, rtol=0, atol=1e-12)
        solver.iterate()
        slow.iterate()
    np.testing.assert_allclose(solver.state.regret, slow.regret, rtol=0, atol=1e-12)


# ----------------------------------------------------------------------------------- best responses


@examples(40)
@given(game=games(max_histories=60), seed=st.integers(0, 99))
def test_best_responses_play_the_locks(game: Game, seed: int) -> None:
    compiled = compile_game(game)
    locks = random_locks(compiled, seed)
    rng = np.random.default_rng(seed)
    policy = {
        label: dict(zip(actions, rng.dirichlet(np.ones(len(actions))).tolist(), strict=True))
        for label, actions in zip(compiled.infoset_labels, compiled.infoset_actions, strict=True)
    }
    locked = Solver(compiled, "cfr", locks=locks).current_policy()
    played = {
        label: shared(p, locks[label], dict(locked[label])) if label in locks else p
        for label, p in policy.items()
    }
    tree = build_tree(ChanceLocked(game, locks))
    theirs = unlocked(Policy.from_mapping(compiled, played), locks)
    found = evaluate(compiled, policy, locks=locks)
    assert found.values == pytest.approx(expected_values(tree, theirs), abs=1e-12)
    for player in range(compiled.n_players):
        response = best_response(compiled, policy, player, locks=locks)
        best = best_response_value(tree, theirs, player)
        assert response.value == pytest.approx(best, abs=1e-12)
        assert found.best_responses[player] == pytest.approx(best, abs=1e-12)
        answered = unlocked(response.policy, locks)
        assert expected_values(tree, answered)[player] == pytest.approx(best, abs=1e-12)


def shared(
    given: dict[str, float], lock: Mapping[str, float], uniform: dict[str, float]
) -> dict[str, float]:
    """Free actions share what a lock leaves, in proportion."""
    rest = sum(p for action, p in given.items() if action not in lock)
    left = 1 - sum(lock.values())
    return {a: lock[a] if a in lock else left * p / rest for a, p in given.items()}


# ------------------------------------------------------------------------------------- everyday use


def test_kuhn_without_a_bluff() -> None:
    """Without bluffs the queen never calls, and the game is worth what checking is."""
    game = compile_game("kuhn")
    solution = solve(game, iters=2000, locks={"J": {"bet": 0.0}})
    assert solution.exploitability < 1e-7
    assert solution.policy["J"] == {"pass": 1.0, "bet": 0.0}
    assert solution.value[0] == pytest.approx(-1 / 18, abs=1e-6)
    worse = solve(game, iters=2000, locks={"J": {"bet": 1.0}})
    assert worse.value[0] < -1 / 18 - 0.01
    # Without the lock the locked player has better answers.
    assert evaluate(game, worse.policy).exploitability > 0.01


def test_saved_and_resumed(tmp_path: Path) -> None:
    game = compile_game("leduc")
    locks = random_locks(game, 2, 0.3)
    whole = solve(game, "cfr+", iters=30, locks=locks)
    part = Solution.load(solve(game, "cfr+", iters=10, locks=locks).save(tmp_path / "part"))
    assert dict(part.locks or {}) == dict(locks)
    rest = solve(part.game, start=part, iters=20)
    np.testing.assert_array_equal(whole.policy.probabilities, rest.policy.probabilities)
    assert whole.exploitability == rest.exploitability
    assert f"{len(locks)} infosets locked" in rest.summary()
    with pytest.raises(ValueError, match="start was solved with other locks"):
        solve(game, start=part, iters=1, locks={})


def test_no_locks_are_the_same_bits() -> None:
    game = compile_game("kuhn")
    plain, locked = solve(game, iters=50), solve(game, iters=50, locks={"K": {}})
    assert locked.locks is None
    np.testing.assert_array_equal(plain.policy.probabilities, locked.policy.probabilities)


def test_what_is_meant() -> None:
    game = compile_game("nl_leduc(stack=4)")
    label, actions = next(
        (label, actions)
        for label, actions in zip(game.infoset_labels, game.infoset_actions, strict=True)
        if len(actions) > 2
    )
    assert Locks(game, {label: {actions[0]: 1.0}})[label] == {
        action: float(action == actions[0]) for action in actions
    }
    rest = Locks(game, {label: dict.fromkeys(actions[1:], 0.125)})[label]
    assert rest[actions[0]] == 1 - 0.125 * (len(actions) - 1)
    assert Locks(game, {label: {actions[0]: 0.25}})[label] == {actions[0]: 0.25}


@pytest.mark.parametrize(
    ("locks", "message"),
    [
        ({"k": {"bet": 1}}, "kuhn has no infoset 'k' to lock; there are: J, "),
        ({"K": {"beet": 1}}, "infoset 'K' has no action 'beet'; did you mean 'bet'"),
        ({"K": {"bet": 1.5}}, "infoset 'K' cannot be locked to .* must be at least 0 and sum to"),
        ({"K": {"bet": -0.5}}, "probabilities must be at least 0 and sum to at most 1"),
        ({"K": {"bet": float("nan")}}, "must be a number, not nan"),
        ({"K": {"bet": 0.5, "pass": 0.6}}, "probabilities must be at least 0 and sum to at most 1"),
        (
            {"K": {"bet": 0.5, "pass": 0.4}},
            "all actions of infoset 'K' are locked, and their probabilities sum to 0.9, not to 1",
        ),
    ],
)
def test_bad_locks(locks: Given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve(compile_game("kuhn"), iters=1, locks=locks)


def test_a_decision_with_one_action() -> None:
    game = compile_game("liars_dice(faces=2)")
    label = next(
        label
        for label, actions in zip(game.infoset_labels, game.infoset_actions, strict=True)
        if len(actions) == 1
    )
    (action,) = game.infoset_actions[game.infoset_index[label]]
    assert not Locks(game, {label: {action: 1}})
    with pytest.raises(ValueError, match="all actions of infoset"):
        Locks(game, {label: {action: 0.5}})
