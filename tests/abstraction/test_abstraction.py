"""Games whose infosets share strategies: merged games, tied infosets, lifted strategies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import numpy as np
import pytest

from support.bucket_cfr import BucketCFR
from support.equality import as_game, bits, perturbed
from support.random_games import random_game, random_public_tree_game
from support.reference import Rule, Tree, build_tree, cfr_plus_rule, cfr_rule, dcfr_rule, lcfr_rule
from tensorcfr import (
    CompiledGame,
    Policy,
    SampledSolver,
    Solution,
    Solver,
    compile_game,
    evaluate,
    exploitability,
    load_game,
    save_game,
    solve,
)
from tensorcfr.abstraction import AbstractGame, abstract, infoset_abstraction, lift
from tensorcfr.algorithms import CFR, EXTERNAL_SAMPLING, records
from tensorcfr.analysis import simulate, values
from tensorcfr.compilers.invariants import check
from tensorcfr.errors import ImperfectRecallError
from tensorcfr.rules import Chance, Decision, Game, Terminal

TOLERANCE = 1e-12


# ------------------------------------------------------------------- equality with the slow twin

RULES: dict[str, tuple[str, Rule, float]] = {
    "cfr": ("cfr", cfr_rule, 0),
    "cfr+": ("cfr+", cfr_plus_rule, 1),
    "lcfr": ("lcfr", lcfr_rule, 1),
    "dcfr": ("dcfr", dcfr_rule(1.5, 0), 2),
}


def assert_equals_buckets(
    game: CompiledGame,
    tree: Tree,
    bucket: Mapping[str, str],
    rule: str = "cfr+",
    iterations: int = 20,
    *,
    alternating: bool = True,
) -> AbstractGame:
    """The lifted average and the tied one equal the slow solver's."""
    small = abstract(game, infosets=bucket, imperfect_recall=True)
    name, twin, power = RULES[rule]
    algorithm = solve(small, name, iters=1).algorithm(alternating=alternating)
    slow = BucketCFR(tree, bucket, rule=twin, average_power=power, alternating=alternating)
    for _ in range(iterations):
        slow.iterate()
    lifted = lift(solve(small, algorithm, iters=iterations))
    assert set(tree.infosets) == set(game.infoset_labels)
    for label in tree.infosets:
        expected = slow.average(label)
        assert list(lifted[label].values()) == pytest.approx(expected, rel=0, abs=TOLERANCE), label
    return small


def rules_and_tree(rules: Game) -> tuple[CompiledGame, Tree]:
    return compile_game(rules), build_tree(rules)


def remembering(tree: Tree, seed: int) -> dict[str, str]:
    """Random buckets without forgetting: each holds infosets after one bucket and action."""
    rng = Random(seed)
    past: dict[str, tuple[int, tuple[tuple[str, int], ...]]] = {}
    _pasts(tree, past)
    found: dict[str, str] = {}
    names: dict[object, str] = {}
    # Own pasts of earlier infosets are shorter.
    for label, (player, own) in sorted(past.items(), key=lambda item: len(item[1][1])):
        before = tuple((found[name], action) for name, action in own)
        key = (player, before, tree.infosets[label].actions, rng.randrange(2))
        found[label] = names.setdefault(key, f"bucket {len(names)}")
    return found


def forgetting(tree: Tree, seed: int) -> dict[str, str]:
    """Random buckets of infosets with one player, equally many own actions before them, and the
    same actions."""
    rng = Random(seed)
    past: dict[str, tuple[int, tuple[tuple[str, int], ...]]] = {}
    _pasts(tree, past)
    names: dict[object, str] = {}
    found = {}
    for label, (player, own) in past.items():
        key = (player, len(own), tree.infosets[label].actions, rng.randrange(2))
        found[label] = names.setdefault(key, f"bucket {len(names)}")
    return found


def _pasts(tree: Tree, past: dict[str, tuple[int, tuple[tuple[str, int], ...]]]) -> None:
    """Player and own actions before every infoset."""

    def visit(node: object, own: list[tuple[tuple[str, int], ...]]) -> None:
        infoset = getattr(node, "infoset", None)
        if infoset is not None:
            past[infoset.label] = infoset.player, own[infoset.player]
        for action, child in enumerate(getattr(node, "children", ())):
            after = list(own)
            if infoset is not None:
                after[infoset.player] = (*own[infoset.player], (infoset.label, action))
            visit(child, after)

    visit(tree.root, [()] * tree.n_players)


def kuhn_buckets(label: str) -> str:
    return label.replace("Q", "J")


@pytest.mark.parametrize("rule", ["cfr+", pytest.param("dcfr", marks=pytest.mark.full)])
def test_a_coarser_kuhn_equals_one_dictionary_per_bucket(rule: str) -> None:
    game, tree = rules_and_tree(perturbed("kuhn"))
    bucket = {label: kuhn_buckets(label) for label in tree.infosets}
    small = assert_equals_buckets(game, tree, bucket, rule, 50)
    assert small.strategy_class is None
    assert small.n_infosets == 8
    assert "This holds in the abstraction" in solve(small, rule, iters=1).guarantee


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("rule", RULES)
def test_random_games_equal_one_dictionary_per_bucket(rule: str, alternating: bool) -> None:
    seed = list(RULES).index(rule)
    rules = random_game(seed, n_players=1 + seed % 3, max_histories=120, chance=0.3)
    game, tree = rules_and_tree(rules)
    buckets = remembering(tree, seed)
    small = assert_equals_buckets(game, tree, buckets, rule, alternating=alternating)
    assert small.strategy_class is None


@pytest.mark.parametrize("seed", range(4))
def test_forgetful_random_games_equal_one_dictionary_per_bucket(seed: int) -> None:
    game, tree = rules_and_tree(random_game(seed + 10, max_histories=120, chance=0.3))
    assert_equals_buckets(game, tree, forgetting(tree, seed), alternating=seed % 2 == 0)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full)])
def test_games_folded_without_histories_equal_one_dictionary_per_bucket(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(infoset_abstraction, "MAX_HISTORIES", 0)
    kinds = set()
    for nth in range(8):
        rules = random_public_tree_game(100 * seed + nth, max_hands=4, max_nodes=30, chance=0.3)
        game, tree = compile_game(rules), build_tree(as_game(rules))
        for bucket in (remembering(tree, nth), forgetting(tree, nth)):
            small = assert_equals_buckets(game, tree, bucket)
            if small.histories is None and small.public is None:
                kinds.add(small.strategy_class is None)
                check(small, expand=True)
                assert small.n_histories == game.n_histories
                assert small.n_decision_nodes == game.n_decision_nodes
                assert small.utility_sums == game.utility_sums
                policy = Policy.uniform(small)
                assert len(simulate(small, policy, 2, seed=nth)) == 2
                values(small, policy)
                with pytest.raises(ValueError, match=r"made without histories.*lift\(solution\)"):
                    save_game(small, tmp_path / "game")
    assert kinds == {True, False}


@pytest.mark.full
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("players", [1, 2, 3])
def test_every_rule_equals_one_dictionary_per_bucket(
    rule: str, alternating: bool, players: int
) -> None:
    forgot = 0
    for seed in range(12):
        rules = random_game(100 + seed, n_players=players, max_histories=150, chance=0.3)
        game, tree = rules_and_tree(rules)
        for bucket in (remembering(tree, seed), forgetting(tree, seed)):
            small = assert_equals_buckets(game, tree, bucket, rule, alternating=alternating)
            forgot += small.strategy_class is not None
    assert forgot > 2


def without_suits(label: str) -> str:
    """The label of an infoset of Leduc, suits left out."""
    hand, _, line = label.partition(" ")
    before, slash, after = line.partition("/")
    return f"{hand[0]} {before}{slash}{after[:1]}{after[2:]}"


def pair_or_not(label: str) -> str:
    """Hands of Leduc by rank before the board, as a pair or none after it."""
    hand, _, line = label.partition(" ")
    before, slash, after = line.partition("/")
    if not slash:
        return f"{hand[0]} {before}"
    return f"{'pair' if hand[0] == after[0] else 'none'} {before}/{after[2:]}"


@pytest.mark.full
@pytest.mark.parametrize("rule", ["cfr+", "dcfr"])
@pytest.mark.parametrize("buckets", [without_suits, pair_or_not])
def test_leduc_equals_one_dictionary_per_bucket(rule: str, buckets: Callable[[str], str]) -> None:
    game, tree = rules_and_tree(perturbed("leduc"))
    bucket = {label: buckets(label) for label in tree.infosets}
    small = assert_equals_buckets(game, tree, bucket, rule, 5)
    assert (small.strategy_class is None) == (buckets is without_suits)


# -------------------------------------------------------------------------------------- identity


@pytest.mark.parametrize("spec", ["kuhn", "leduc", "kuhn(players=3)", "goofspiel(cards=3)"])
def test_the_identity_is_the_game_itself(spec: str) -> None:
    """All arrays that a solver works on are the same, so every rule has the same bits."""
    game = compile_game(spec)
    same = abstract(game, infosets=lambda label: label)
    assert same.arrays().keys() == game.arrays().keys()
    for name, array in game.arrays().items():
        np.testing.assert_array_equal(same.arrays()[name], array)
    assert list(same.infoset_labels) == list(game.infoset_labels)
    uniform = Policy.uniform(same)
    np.testing.assert_array_equal(lift(uniform).probabilities, uniform.probabilities)


# -------------------------------------------------------------------------------------- lossless


def test_ranks_of_leduc_lose_nothing() -> None:
    game = compile_game("leduc")
    small = abstract(game, infosets=without_suits)
    assert small.n_infosets == 288
    solution = solve(small, iters=100)
    # As exploitable in the full game as in the small one.
    assert exploitability(game, lift(solution)) == pytest.approx(
        solution.exploitability, rel=0, abs=TOLERANCE
    )
    assert evaluate(game, lift(solution)).values == pytest.approx(solution.value, abs=TOLERANCE)
    assert solution.exploitability < 0.02


def test_lifting_twice_is_lifting_at_once() -> None:
    game = compile_game("leduc")
    ranks = abstract(game, infosets=without_suits)
    coarse = abstract(ranks, infosets=queens_are_jacks)
    at_once = abstract(game, infosets=lambda label: queens_are_jacks(without_suits(label)))
    policy = solve(coarse, iters=3).policy
    twice, once = lift(lift(policy)), lift(Policy.from_mapping(at_once, policy))
    assert twice.game is once.game is game
    np.testing.assert_array_equal(twice.probabilities, once.probabilities)
    assert dict(twice["Qs cc/Kh"]) == dict(policy["J cc/K"])


def queens_are_jacks(label: str) -> str:
    return label.replace("Q", "J", 1)[:1] + label[1:]


# --------------------------------------------------------------------------------- what is refused


def test_mappings_that_make_no_sense_are_refused() -> None:
    game = compile_game("kuhn")
    everything = {label: label for label in game.infoset_labels}
    with pytest.raises(ValueError, match="no infoset 'A'"):
        abstract(game, infosets=everything | {"A": "A"})
    missing = {label: label for label in game.infoset_labels if label != "Kb"}
    with pytest.raises(ValueError, match=r"has no bucket for infoset 'Kb' of kuhn"):
        abstract(game, infosets=missing)
    with pytest.raises(ValueError, match=r"bucket 'J' holds infosets 'J', 'Jp' of different pl"):
        abstract(game, infosets=lambda label: label.rstrip("p"))
    with pytest.raises(TypeError, match="infosets must be a function or a mapping"):
        abstract(game, infosets=7)  # type: ignore[arg-type]
    leduc = compile_game("leduc")
    with pytest.raises(ValueError, match=r"with different actions: call, raise; fold, call"):
        abstract(leduc, infosets=lambda label: label.partition(" ")[2].replace("cr", ""))


def test_forgetting_is_asked_for_by_name() -> None:
    game = compile_game("leduc")
    with pytest.raises(ImperfectRecallError) as raised:
        abstract(game, infosets=pair_or_not)
    assert str(raised.value) == (
        "in bucket 'none cc/' player 0 forgets: the player reaches infoset 'Qs cc/Js' by 'call' in "
        "bucket 'Q ', but infoset 'Ks cc/Js' by 'call' in bucket 'K '; imperfect_recall=True "
        "allows it"
    )
    small = abstract(game, infosets=pair_or_not, imperfect_recall=True)
    assert small.strategy_class is not None


class Twice(Game):
    """One player who decides twice."""

    n_players = 1

    def node(self, history: tuple[str, ...]) -> Chance | Decision | Terminal:
        if len(history) == 2:
            return Terminal((float(history == ("a", "b")),))
        return Decision(0, "".join(history) or "start", ("a", "b"))


def test_nobody_is_absent_minded() -> None:
    game = compile_game(Twice())
    for allowed in (True, False):
        with pytest.raises(ImperfectRecallError, match=r"'start', 'a', and the second comes after"):
            abstract(game, infosets=lambda label: "any", imperfect_recall=allowed)


@pytest.fixture(scope="module")
def forgetful() -> AbstractGame:
    """One player who forgets the first of two actions."""
    return abstract(
        compile_game(Twice()),
        infosets=lambda label: "start" if label == "start" else "later",
        imperfect_recall=True,
    )


def test_options_that_are_not_known_are_refused(
    forgetful: AbstractGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an option would be that is new."""
    assert solve(forgetful, CFR(delay=1, restart_base=4), iters=1).iterations == 1
    monkeypatch.setattr(records, "KNOWN_OPTIONS", ("delay",))
    assert solve(forgetful, CFR(delay=1), iters=1).iterations == 1
    with pytest.raises(ValueError, match="imperfect recall: cfr with restart_base is not avail"):
        solve(forgetful, CFR(delay=1, restart_base=4), iters=1)
    with pytest.raises(ValueError, match="its option restart_base needs passes over the whole"):
        EXTERNAL_SAMPLING(variant=CFR(restart_base=4))


def test_what_needs_perfect_recall_is_refused(forgetful: AbstractGame) -> None:
    for algorithm in ("lp", "external_sampling", "cfr-d"):
        with pytest.raises(ValueError, match="imperfect recall"):
            solve(forgetful, algorithm, **({} if algorithm == "lp" else {"iters": 1}))
    for algorithm in ("rtcfr+", "icfr"):
        with pytest.raises(ValueError, match=r"imperfect recall.*perfect recall"):
            solve(forgetful, algorithm, iters=1)
    for options in ({"threads": 2}, {"precision": "float32"}, {"locks": {"start": {"a": 1.0}}}):
        with pytest.raises(ValueError, match="has imperfect recall"):
            solve(forgetful, iters=1, **options)
    for kind in (Solver, SampledSolver):
        with pytest.raises(ValueError, match=f"imperfect recall, which {kind.__name__}"):
            kind(forgetful, "cfr+" if kind is Solver else "external_sampling")


def test_abstractions_are_of_games_with_perfect_recall(forgetful: AbstractGame) -> None:
    with pytest.raises(ImperfectRecallError, match="make an abstraction of the full game"):
        abstract(forgetful, infosets=str, imperfect_recall=True)


def test_only_abstractions_are_lifted() -> None:
    with pytest.raises(ValueError, match="kuhn is not an abstraction"):
        lift(Policy.uniform(compile_game("kuhn")))


# ------------------------------------------------------------------------ solutions and their files


def test_solutions_say_what_is_not_promised(forgetful: AbstractGame) -> None:
    said = solve(forgetful, iters=1).guarantee
    assert said.startswith("No theorem.  A player forgets here (imperfect recall): CFR has no")
    assert "converges" not in said


def test_a_forgetful_game_is_solved_saved_and_continued(
    forgetful: AbstractGame, tmp_path: Path
) -> None:
    assert set(forgetful.infoset_labels) == {
        "start",
        "later after a at start",
        "later after b at start",
    }
    whole = solve(forgetful, "auto", iters=9)
    half = solve(forgetful, "auto", iters=4)
    read = Solution.load(half.save(tmp_path / "half"), game=forgetful)
    assert read.game is forgetful
    resumed = solve(forgetful, start=read, iters=5)
    assert bits(resumed.state) == bits(whole.state)
    # The two places where the player has forgotten play alike, in the full game, too.
    assert whole.policy["later after a at start"] == whole.policy["later after b at start"]
    full = lift(resumed)
    assert full["a"] == full["b"]
    # Without the game the file has the ties, and no way to the full game.
    alone = Solution.load(tmp_path / "half.npz")
    assert alone.game.strategy_class is not None
    np.testing.assert_array_equal(alone.policy.probabilities, half.policy.probabilities)
    with pytest.raises(ValueError, match="loaded from a file without game="):
        lift(alone)
    assert load_game(save_game(forgetful, tmp_path / "game")).digest == forgetful.digest


def test_ties_are_part_of_the_game(forgetful: AbstractGame) -> None:
    remembered = abstract(forgetful.full, infosets=lambda label: label)
    assert remembered.digest != forgetful.digest
