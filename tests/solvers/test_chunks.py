"""A game in chunks equals the flat game and the slow recursive reference, wherever it is cut."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import (
    EARLY_MARKS,
    TOLERANCE,
    PerturbedHands,
    as_game,
    assert_equal,
    bits,
    rounding,
)
from support.interpreted import interpreted_kernels
from support.layouts import check_found, numbers_of, same_strategies, step_alike
from support.mapped import mapped_bytes
from support.payoff_paths import forced
from support.properties import examples
from support.random_games import (
    RandomPublicTreeGame,
    games_with_copies,
    keyed,
    public_tree_games,
    random_public_tree_game,
    repeated,
    with_equal_outcomes,
    with_twin,
)
from support.random_locks import random_locks
from support.reference import ReferenceCFR
from support.registered import APCFR_PLUS, SPCFR_PLUS
from support.rule_twins import REMEMBERING
from support.tiers import tiered
from support.variants import VARIANTS, fading, floored
from tensorcfr import (
    CompiledGame,
    LocalRule,
    Policy,
    PublicTreeGame,
    Solution,
    Solver,
    compile_game,
    evaluate,
    load_game,
    save_game,
    solve,
)
from tensorcfr._util import mapped_files
from tensorcfr.algorithms import ALGORITHMS, CFR, CFR_PLUS, DCFR, HEDGE, LCFR, Algorithm
from tensorcfr.algorithms.catalogue import ICFR_PLUS, MMD, PCFR_PLUS
from tensorcfr.analysis import best_responses, values
from tensorcfr.compilers.cut import cut_compiler as cut_game
from tensorcfr.errors import FileSizeError, GameError, MemoryLimitError, UnknownGameError
from tensorcfr.formats import policy_table, read_policy
from tensorcfr.games import make_game
from tensorcfr.model.arrays import FREE
from tensorcfr.model.chunked_form import buckets_by_part
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.model.locks import Locks
from tensorcfr.rules import Chance, Decision, Payoff
from tensorcfr.solvers import solver_state as states
from tensorcfr.solvers.passes import bytes_of_passes
from tensorcfr.solvers.problem import Problem
from tensorcfr.solvers.solver_state import state_bytes
from tensorcfr.solvers.warm_start import warm_state
from tensorcfr.storage.archive import pack_text, write_arrays
from tensorcfr.storage.game_files import pack_game
from tensorcfr.storage.recipes import KEY

# ------------------------------------------------------------------------ the recursive reference


@examples(300)
@given(
    game=public_tree_games(n_players=2),
    variant=st.sampled_from(sorted(VARIANTS)),
    cut=st.sampled_from((1, 2, 3, (1, 2), (1, 3), (2, 3), (0, 1, 2), (1, 2, 3))),
    floor=st.sampled_from((0.0, 0.0, 0.05, fading)),
    symmetry=st.booleans(),
)
def test_random_games(
    game: PublicTreeGame, variant: str, cut: Any, floor: Any, symmetry: bool
) -> None:
    """Every variant, alternating and simultaneous; uneven chance, dead hands, early ends."""
    with interpreted_kernels():
        algorithm, options = floored(VARIANTS[variant], floor)
        rules = as_game(game)
        solver = Solver(compile_game(game, cut=cut, symmetry=symmetry), algorithm)
        reference = ReferenceCFR(rules, **options)
        assert_equal(solver, reference, EARLY_MARKS, partial(rounding, reference.tree, options))


# --------------------------------------------------------------------------------- the flat game


KEPT: dict[str, Algorithm] = {
    "memory": REMEMBERING,
    "hedge": HEDGE(eta=3),
    "predictive": PCFR_PLUS,
    "predictive simultaneous": PCFR_PLUS(alternating=False),
    "linear": LCFR,
    "simultaneous, delayed": CFR(alternating=False, delay=2),
    "restarts": CFR_PLUS(restart_base=2),
    "growth": CFR_PLUS(average_growth=2.0**40),
    "growth of the uniform average": CFR(average_growth=2.0**40),
    "instant": ICFR_PLUS,
    "instant, strategies kept": PCFR_PLUS(passes_up="new"),
    "whole": SPCFR_PLUS,
    "whole, with memory and floor": APCFR_PLUS(floor=0.1),
    "whole, another value": MMD,
    "floor": DCFR(floor=0.1),
}


@pytest.mark.parametrize("name", KEPT)
def test_rules_of_every_kind(name: str, interpreted: None) -> None:
    """Rules that keep their strategy, look ahead, remember, or face averages, step by step."""
    rules = PerturbedHands(make_game("liars_dice(faces=3)"), 3)  # type: ignore[arg-type]
    symmetry = not KEPT[name].rule.is_scale_dependent
    chunked = Solver(compile_game(rules, cut=2, symmetry=symmetry), KEPT[name])
    flat = Solver(compile_game(rules, symmetry=symmetry), KEPT[name])
    step_alike(chunked, flat, (1, 1, 3))


@examples(60)
@given(
    game=games_with_copies(),
    cut=st.sampled_from((1, 2)),
    path=st.sampled_from(("blocks", "chained blocks", "entries")),
)
def test_shapes_of_many_chunks(game: PublicTreeGame, cut: int, path: str) -> None:
    """Payoffs in blocks and entry by entry, chunks that share a shape, symmetries merged."""
    with forced(path), interpreted_kernels():
        games = compile_game(game, cut=cut), compile_game(game)
        step_alike(*(Solver(each, CFR) for each in games), (1, 1, 1))


@pytest.mark.parametrize(
    ("spec", "limit"),
    tiered(
        product(
            ("bluff(dice=(2, 1), faces=3)", "leduc", "nl_leduc(stack=5)"), (60, 200, 800, 3000)
        ),
        [("leduc", 800), ("nl_leduc(stack=5)", 200), ("nl_leduc(stack=5)", 3000)],
    ),
)
def test_cut_for_the_cache(
    spec: str, limit: int, monkeypatch: pytest.MonkeyPatch, interpreted: None
) -> None:
    """Chunks of several subtrees, with entries at different depths."""
    monkeypatch.setattr(cut_game, "second_level_cache", lambda: 8 * limit)
    monkeypatch.setattr(cut_game, "CACHE_SHARE", 1.0)
    rules = PerturbedHands(make_game(spec), 4)  # type: ignore[arg-type]
    chunked = Solver(in_chunks(rules, cut=True), CFR)
    step_alike(chunked, Solver(compile_game(rules), CFR), (1, 3))
    sizes = chunked.game.chunks.shapes.sequences
    assert sizes.max(initial=0) <= 2 * limit + 400  # The limit is one of sequences without entries.


def test_graph_and_tree_give_the_same_game() -> None:
    """States that repeat are read as a graph, which is not unfolded; the same arrays come out."""
    rules = make_game("bluff(dice=(2, 1), faces=4)")
    assert isinstance(rules, PublicTreeGame)
    graph = in_chunks(rules, cut=3)
    tree = in_chunks(without_repeating(type(rules)(dice=(2, 1), faces=4)), cut=3)
    assert graph.counts == tree.counts
    assert graph.chunks.shapes.n_shapes < graph.chunks.n_chunks
    for name, array in graph.arrays().items():
        np.testing.assert_array_equal(array, tree.arrays()[name], err_msg=name)
    flat = compile_game(rules)
    assert (graph.n_infosets, graph.n_sequences) == (flat.n_infosets, flat.n_sequences)
    assert graph.n_histories == flat.n_histories
    assert graph.n_decision_nodes == flat.n_decision_nodes
    np.testing.assert_array_equal(np.unique(graph.utilities), np.unique(flat.utilities))


class Repeating(PublicTreeGame):
    """Public states that are numbers, of which several lead to a later one; some have one
    action."""

    states_repeat = True

    def __init__(self, seed: int, states: int = 9) -> None:
        self.seed, self.states = seed, states
        self.hands = [("J", "Q"), ("J", "Q", "K")]
        self.prior = np.array([[0.2, 0.1, 0.3], [0.15, 0.25, 0.0]])

    def root(self) -> int:
        return 0

    def node(self, state: int) -> Decision | Payoff:
        draw = keyed(self.seed, state)
        if state >= self.states - 1:
            return Payoff(draw.uniform(0.5, 1.5), state)
        later = range(state + 1, self.states + 2)
        lone = state - self.seed % 3 in (0, 1) or draw.random() < 0.2
        chosen = [later[0]] if lone else draw.sample(later, min(len(later), draw.choice((2, 3))))
        return Decision(draw.randrange(2), None, tuple(f"to {one}" for one in sorted(chosen)))

    def next(self, state: int, action: str) -> int:
        return int(action[3:])

    def matrix(self, key: Hashable) -> np.ndarray:
        return np.random.default_rng([self.seed, int(str(key))]).normal(size=(2, 2, 3))


@pytest.mark.parametrize("symmetry", [True, False])
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_states_that_repeat(cut: int, symmetry: bool, interpreted: None) -> None:
    """Without the tree: chains of decisions with one action, also from the root on."""
    for seed in range(3):
        game = in_chunks(Repeating(seed), cut=cut, symmetry=symmetry)
        check_found(game)
        step_alike(Solver(game, CFR), Solver(compile_game(Repeating(seed)), CFR), (1, 2))


class TwoWays(Repeating):
    """The same two states come after two moves of player 0, and after a move of each player."""

    AFTER: ClassVar = {
        0: (0, (1, 2)),
        1: (0, (3, 4)),
        2: (1, (3, 4)),
        3: (0, (5, 6)),
        4: (1, (7, 8)),
    }

    def node(self, state: int) -> Decision | Payoff:
        if state not in self.AFTER:
            return Payoff(1.0, state)
        player, after = self.AFTER[state]
        return Decision(player, None, tuple(f"to {one}" for one in after))


def forks(*outcomes: Any) -> RandomPublicTreeGame:
    """Public outcomes, then a move of player 1 and one of player 0, with the same payoffs."""
    said: dict[tuple[Hashable, ...], Any] = {(): Chance(dict(enumerate(outcomes)))}
    for outcome in range(len(outcomes)):
        for first in "ab":
            said[outcome,] = Decision(1, f"/{outcome}", ("a", "b"))
            said[outcome, first] = Decision(0, f"/{outcome}{first}", ("a", "b"))
            for second in "ab":
                said[outcome, first, second] = Payoff(1.0, first + second)
    matrices = {a + b: Repeating(1).matrix(10 * ord(a) + ord(b)) for a in "ab" for b in "ab"}
    return RandomPublicTreeGame(Repeating(1).prior, said, matrices, call=f"forks{outcomes}")


def without_repeating(rules: PublicTreeGame) -> PublicTreeGame:
    rules.states_repeat = False
    return rules


UNEVEN = np.array([[0.3, 0.5, 0.2], [0.6, 0.1, 0.9]])
FIRST_HAND = np.array([[1.0], [0.0]])


@pytest.mark.parametrize(
    ("rules", "cut"),
    [
        (TwoWays(3), True),
        (without_repeating(TwoWays(3)), True),
        (forks(UNEVEN, 1 - UNEVEN), 1),
        (forks(FIRST_HAND, 1 - FIRST_HAND), 2),
    ],
    ids=["two ways to states", "two ways to nodes", "uneven outcomes", "outcomes of hands"],
)
def test_chunks_that_look_alike(
    rules: PublicTreeGame, cut: Any, monkeypatch: pytest.MonkeyPatch, interpreted: None
) -> None:
    """They have the same moves and payoffs; entries, deals or hands are others."""
    monkeypatch.setattr(cut_game, "second_level_cache", lambda: 16 * 11)
    game = in_chunks(rules, cut=cut, symmetry=False)
    assert game.chunks.n_chunks >= 2
    check_found(game)
    step_alike(Solver(game, CFR), Solver(game.flat(), CFR), (1, 1, 1, 1))


@pytest.mark.parametrize("limit", [40, 100, 150])
@pytest.mark.parametrize(
    "spec", ["bluff(dice=(1, 2), faces=3)", "bluff(dice=(2, 1), faces=3)", "leduc(ranks=2)"]
)
def test_chunks_fit_the_cache(spec: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """None has more sequences than half of the cache holds, and they are not much smaller."""
    monkeypatch.setattr(cut_game, "second_level_cache", lambda: 2 * 8 * limit)
    game = in_chunks(spec, cut=True, symmetry=False)
    sizes = Counter[int]()
    for player in range(2):
        for node in game.nodes.deciding(player):
            if (layout := game.nodes.layout(node)).stride:
                sizes[layout.chunk] += game.nodes.rows(node).numbers.size
    trunk = sizes.pop(-1)
    assert trunk + sum(sizes.values()) == game.n_sequences - 2
    assert len(sizes) == game.chunks.n_chunks
    assert limit / 3 < max(sizes.values()) <= limit


@pytest.mark.parametrize("repeat", [True, False])
def test_extreme_payoffs_are_refused(repeat: bool) -> None:
    """A game in one form divides them by a unit; chunks hold them as they are."""

    class Extreme(Repeating):
        states_repeat = repeat

        def matrix(self, key: Hashable) -> np.ndarray:
            return 1e300 * super().matrix(key)

    with pytest.raises(GameError, match="too large or too small for a game that is cut"):
        compile_game(Extreme(1), cut=1)


# --------------------------------------------------------------------- infosets by their labels


class LastFirst(RandomPublicTreeGame):
    """Labels of its own, which are not the hand and then the public label."""

    def label(self, player: int, hand: Hashable, public: str) -> str:
        return f"{public}|{player}{hand}"


def with_own_labels(game: RandomPublicTreeGame) -> RandomPublicTreeGame:
    return LastFirst(game.prior, game.said, game.matrices, call=f"with_own_labels({game.call})")


def in_chunks(source: Any, **options: Any) -> ChunkedGame:
    found = compile_game(source, **options)
    assert isinstance(found, ChunkedGame)
    return found


@examples(120)
@given(
    game=public_tree_games(n_players=2),
    change=st.sampled_from((lambda game: game, with_equal_outcomes, with_own_labels)),
    cut=st.sampled_from((0, 1, 2, 3)),
    symmetry=st.booleans(),
)
def test_infosets_are_found_without_the_flat_game(
    game: RandomPublicTreeGame, change: Any, cut: int, symmetry: bool
) -> None:
    check_found(in_chunks(change(game), cut=cut, symmetry=symmetry))


def merged(seed: int) -> RandomPublicTreeGame:
    return with_equal_outcomes(with_twin(random_public_tree_game(seed), seed % 2, 0))


@pytest.mark.parametrize("seeds", tiered((8, 40), fast=(8,)))
def test_locks_of_merged_games_are_those_of_the_flat_game(seeds: int) -> None:
    """All infosets that are one locked alike, all but one of them, and one differently."""
    counts = Counter[str]()
    for seed in range(seeds):
        game = in_chunks(with_own_labels(merged(seed)), cut=1)
        flat, rng = game.flat(), np.random.default_rng(seed)
        if not game.merges_hands:
            continue
        numbers = numbers_of(game, flat)
        several = [i for i in range(flat.n_infosets) if len(flat.infoset_actions[i]) > 1]
        classes: dict[int, list[int]] = {}
        for infoset in several:
            classes.setdefault(int(numbers[flat.sequences(infoset).start]), []).append(infoset)
        for alike in list(classes.values())[:6]:
            label, actions = flat.infoset_labels, flat.infoset_actions[alike[0]]
            row = {actions[0]: float(rng.uniform(0.1, 0.9))}
            whole = {label[infoset]: row for infoset in alike}
            for kind in ("alike", "all but one", "one apart"):
                given = dict(whole)
                if kind == "all but one":
                    del given[label[alike[-1]]]
                if kind == "one apart":
                    given[label[alike[-1]]] = {actions[-1]: 0.05}
                locks, expected = Locks(game, given), np.full(game.chunks.n_numbers, FREE)
                probabilities = Locks(flat, given).probabilities()
                expected[numbers] = probabilities
                counts[kind] += 1
                if np.array_equal(expected[numbers], probabilities):
                    np.testing.assert_array_equal(locks.probabilities(), expected)
                else:
                    counts["refused"] += 1
                    with pytest.raises(ValueError, match="distinguish infosets"):
                        locks.probabilities()
    assert counts["alike"] > 1.25 * seeds
    assert counts["refused"] > 1.25 * seeds


@pytest.mark.full
def test_policies_of_merged_games_with_own_labels_leave_the_flat_game_unmade(
    tmp_path: Path, interpreted: None
) -> None:
    """Look-up, listing, a table, and the same from a file; equal to the flat game's."""
    game = in_chunks(with_own_labels(merged(5)), cut=1)
    assert game.merges_hands
    solution = solve(game, "cfr", iters=5)
    table = policy_table(solution.policy)
    rows, listed = list(table.rows()), solution.policy.to_dict()
    table.save(tmp_path / "policy.csv")
    assert "wrong" not in solution.policy
    assert rows == [
        (player, label, action, probability)
        for player in range(2)
        for label, row in solution.policy.to_dict(player).items()
        for action, probability in row.items()
    ]
    flat = solution.policy.moved_to(game.flat())
    assert listed == flat.to_dict()
    assert read_policy(game.flat(), tmp_path / "policy.csv").to_dict() == listed
    assert read_policy(game, tmp_path / "policy.csv").to_dict() == listed


@pytest.mark.full
@pytest.mark.parametrize(
    ("label", "said"),
    [
        (lambda game, player, hand, public: "one", "'one' is used twice: by player"),
        (lambda game, player, hand, public: 7, "label 7 of player . with .* is not a string"),
    ],
)
def test_wrong_labels_are_refused_when_one_is_looked_up(label: Any, said: str) -> None:
    wrong = type("Wrong", (RandomPublicTreeGame,), {"label": label})
    given = random_public_tree_game(3)
    game = in_chunks(wrong(given.prior, given.said, given.matrices, call="wrong"), cut=1)
    with pytest.raises(GameError, match=said):
        game.locate("one")


@pytest.mark.parametrize("symmetry", [True, False])
@pytest.mark.parametrize("spec", ["bluff(dice=(1, 1), faces=3)", "leduc", "one_card_poker"])
def test_infosets_of_built_in_games_are_found(spec: str, symmetry: bool) -> None:
    check_found(in_chunks(spec, cut=2, symmetry=symmetry))


# ----------------------------------------------------------------------- threads, precision, state


@cache
def wide() -> ChunkedGame:
    """Many chunks of few shapes."""
    game = repeated(repeated(random_public_tree_game(7, max_hands=5), 40, 1), 5, 0)
    found = in_chunks(game, cut=2)
    assert found.chunks.n_chunks == 200
    return found


@pytest.mark.parametrize("precision", tiered(("float64", "float32", "int16"), fast=("float64",)))
@pytest.mark.parametrize(
    "algorithm", tiered((CFR, CFR_PLUS(alternating=False)), fast=(CFR,)), ids=str
)
def test_threads_change_no_bit(algorithm: Algorithm, precision: str) -> None:
    expected = Solver(wide(), algorithm, precision=precision)
    expected.iterate(12)
    for threads in (2, 3, 8):
        solver = Solver(wide(), algorithm, precision=precision, threads=threads)
        solver.iterate(12)
        assert solver.state.regret.tobytes() == expected.state.regret.tobytes()
        assert solver.state.cumulative.tobytes() == expected.state.cumulative.tobytes()
        assert solver.evaluate() == expected.evaluate()


@pytest.mark.parametrize("precision", ["float64", "int16"])
@pytest.mark.parametrize("name", ["cfr", "linear"])
def test_the_state_depends_on_the_iteration_alone(
    name: str, precision: str, interpreted: None
) -> None:
    """Not on calls and evaluations; and numbers of no infoset stay 0."""
    rules = PerturbedHands(make_game("liars_dice(faces=3)"), 3)  # type: ignore[arg-type]
    algorithm, game = KEPT.get(name) or CFR, in_chunks(rules, cut=2)
    whole, single = (Solver(game, algorithm, precision=precision) for _ in range(2))
    whole.iterate(5)
    for _ in range(5):
        single.iterate()
        single.evaluate()
    assert bits(single.state) == bits(whole.state)
    unused = np.ones(game.chunks.n_numbers, dtype=bool)
    unused[: game.chunks.trunk.n_sequences] = False
    for base, buckets in buckets_by_part(game.chunks):
        for first, actions, lanes in zip(*buckets, strict=True):
            unused[base + first : base + first + actions * lanes] = False
    assert unused.any()
    assert not whole.state.regret[unused].any()
    assert not whole.state.cumulative[unused].any()


@pytest.mark.full
def test_who_takes_16_bits(interpreted: None) -> None:
    """A warm start, too; a rule that keeps more than regrets does not."""
    game = compile_game("kuhn(cards=5)", cut=2, symmetry=False)
    with pytest.raises(ValueError, match="hedge stores more than regrets"):
        solve(game, HEDGE, iters=1, precision="int16")
    warm = solve(game, CFR, iters=1, warm_start=solve(game, CFR, iters=20), precision="int16")
    assert warm.exploitability < solve(game, CFR, iters=1).exploitability


@pytest.mark.parametrize("precision", tiered(("float64", "float32", "int16"), fast=("float64",)))
def test_state_in_files(precision: str, tmp_path: Path) -> None:
    place, at = tmp_path / "state", tmp_path / "at.npz"
    plain = solve(wide(), CFR, iters=9, precision=precision)
    begun = solve(wide(), CFR, iters=5, precision=precision, state_dir=place, checkpoint=at)
    assert list(place.iterdir()) == []
    assert mapped_bytes(begun.state) == state_bytes(wide().chunks, CFR, precision)
    with pytest.raises(FileSizeError):
        Solution.load(at, game=wide(), memory_limit=100_000)
    mapped_too = Solution.load(at, game=wide(), memory_limit=100_000, state_dir=place)
    for start in (begun, Solution.load(at, game=wide()), mapped_too):
        ended = solve(wide(), start=start, iters=4, state_dir=tmp_path / "other")
        assert bits(ended.state) == bits(plain.state)


@pytest.mark.full
def test_wrong_strategies_of_a_state_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all parts, a few of which are looked at together."""
    monkeypatch.setattr(states, "BLOCK", 500)
    solver = Solver(wide(), PCFR_PLUS)
    solver.iterate(3)
    of = Problem(wide(), solver.algorithm)
    assert Solver.wrong_state(of, solver.state) is None
    played = np.flatnonzero((solver.state.strategy > 0.1) & (solver.state.strategy < 0.9))
    for number in (played[0], played[len(played) // 2], played[-1]):
        before = solver.state.strategy[number]
        solver.state.strategy[number] = before + 0.05
        # The first number of its infoset: the others are wrong with it.
        wrong = Solver.wrong_state(of, solver.state)
        found = re.match(r"strategy\[(\d+)\] is ", wrong or "")
        assert abs(int(found[1]) - number) < 100
        solver.state.strategy[number] = before
    solver.state.cumulative[played[-1]] = -1.0
    assert Solver.wrong_state(of, solver.state) == f"cumulative[{played[-1]}] is -1.0"


def test_no_room_for_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = solve(compile_game("kuhn"), CFR, iters=1).save(tmp_path / "kuhn.npz")
    with pytest.raises(ValueError, match=r"state_dir needs a game in chunks, and .*kuhn.npz is"):
        Solution.load(saved, state_dir=tmp_path)
    usage = mapped_files.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(mapped_files.shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(OSError, match=r"need .* KiB more disk space, and 1000 bytes are"):
        solve(wide(), CFR, iters=1, state_dir=tmp_path)


@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_evaluations_are_in_double_precision(precision: str, interpreted: None) -> None:
    """What one player gains the other one loses, to the last digits of float64."""
    solver = Solver(in_chunks("leduc", cut=1), CFR_PLUS, precision=precision)
    solver.iterate(3)
    assert abs(sum(solver.evaluate().values)) < 1e-14


def test_arrays_are_aligned_and_counted() -> None:
    solver = Solver(wide(), CFR)
    chunks = wide().chunks
    assert (chunks.number_offset * 4 % 64 == 0).all()
    for array in (solver.state.regret, solver.state.cumulative):
        assert array.ctypes.data % 64 == 0
        assert array.shape == (chunks.n_numbers,)
    assert solver.state.strategy.size == 0
    kept = 2 * 8 * chunks.n_numbers
    assert kept < bytes_of_passes(chunks, CFR) < 1.2 * kept
    assert bytes_of_passes(chunks, HEDGE) - bytes_of_passes(chunks, CFR) == 8 * chunks.n_numbers


@pytest.mark.parametrize(
    ("name", "threads", "precision"),
    [
        ("cfr", 8, "float64"),
        ("cfr", 1, "int16"),
        ("linear", 8, "int16"),
        ("predictive", 1, "float32"),
        ("memory", 8, "float32"),
    ],
)
def test_memory_is_told(name: str, threads: int, precision: str, interpreted: None) -> None:
    algorithm = KEPT.get(name) or CFR
    game = in_chunks("leduc(ranks=4)", cut=2, symmetry=False)
    options: dict[str, Any] = {"precision": precision, "threads": threads}
    with pytest.raises(MemoryLimitError) as refused:
        Solver(game, algorithm, memory_limit=1, **options)
    told = refused.value.needed
    for _ in range(8):  # Loads kernels, and fills what Python keeps of small objects for the next.
        Solver(game, algorithm, **options)
    tracemalloc.start()
    try:
        solver = Solver(game, algorithm, memory_limit=told, **options)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Threads, queues and tuples are not counted.
    assert told <= taken <= 1.03 * told + 12_000 + 1500 * threads
    assert solver.iteration == 0


def test_files_are_no_memory(tmp_path: Path, interpreted: None) -> None:
    """A state in files may be larger than the memory; scratch may not."""
    game = in_chunks("leduc(ranks=4)", cut=2, symmetry=False)
    limit = bytes_of_passes(game.chunks, CFR) - state_bytes(game.chunks, CFR)
    for state_dir, most in ((None, limit), (tmp_path, limit - 1)):
        with pytest.raises(MemoryLimitError):
            Solver(game, CFR, memory_limit=most, state_dir=state_dir)
    assert Solver(game, CFR, memory_limit=limit, state_dir=tmp_path).iteration == 0


# ------------------------------------------------------------------------------------------ values


def own_reach(game: CompiledGame, policy: Policy, player: int, path: str) -> np.ndarray:
    """How probably a player takes the steps of a path with each hand, from step to step."""
    reach = np.ones(len(game.public.hands[player]))
    for depth, step in enumerate(path[1:], 1):
        public = path[:depth]
        for hand, name in enumerate(game.public.hands[player]):
            infoset = game.infoset_index.get(f"{name}{public}", -1)
            if infoset >= 0 and (infoset >= game.form.player_infosets[1]) == player:
                reach[hand] *= policy[f"{name}{public}"][step]
    return reach


@pytest.mark.parametrize("kind", ["averages", "locks", "no averages"])
@pytest.mark.parametrize(("seed", "symmetry"), [(2, False), (6, False), (4, True)])
def test_values_at_public_nodes(seed: int, symmetry: bool, kind: str, interpreted: None) -> None:
    """As in the flat game, also with locks, which best responses do not play."""
    rules = random_public_tree_game(seed, max_nodes=30)
    game = in_chunks(rules, cut=1, symmetry=symmetry)  # Without merged hands in any case.
    flat = game.flat()
    locks = random_locks(flat, 7, 0.7) if kind == "locks" else {}
    if kind == "no averages":
        draw = np.random.default_rng(1)
        policy = Policy.from_rows(game, lambda _, actions: draw.dirichlet(np.ones(len(actions))))
    else:
        policy = solve(game, CFR, iters=5, locks=dict(locks)).policy
    found, policy = values(game, policy), policy.moved_to(flat)
    expected, judged = values(flat, policy), evaluate(flat, policy)
    np.testing.assert_allclose(found.evaluation.values, judged.values, atol=1e-12)
    best = [one.value for one in best_responses(flat, policy)]
    np.testing.assert_allclose(found.evaluation.best_responses, best, atol=1e-12)
    whole = evaluate(game, found.policy)
    np.testing.assert_allclose(whole.values, judged.values, atol=1e-12)
    np.testing.assert_allclose(whole.best_responses, judged.best_responses, atol=1e-12)
    for player in range(2):
        for node in game.nodes.deciding(player):
            path, rows = game.nodes.label(node), found.at_node(node)
            labels = rows.infosets.labels
            turned = np.arange(len(labels))[::-1]
            other = found.of(rows.infosets.select(turned))
            assert other.infosets.labels == labels[::-1]
            for mine, theirs in zip(rows[1:], other[1:], strict=True):
                np.testing.assert_array_equal(mine[turned], theirs)
            for at, label in enumerate(labels):
                infoset = flat.infoset_index[label]
                own = flat.sequences(infoset)
                for mine, theirs in (
                    (rows.probability, policy.probabilities[own]),
                    (rows.counterfactual, expected.counterfactual[own]),
                    (rows.best, expected.best[own]),
                    (rows.regret, expected.regret[own]),
                    (rows.own_reach, expected.own_reach[infoset]),
                    (rows.counterfactual_reach, expected.counterfactual_reach[infoset]),
                    (rows.loss, expected.loss[infoset]),
                ):
                    np.testing.assert_allclose(mine[at], theirs, atol=1e-12)
            for one in range(2):
                reach = np.where(game.nodes.possible(node, one), 1.0, np.nan)
                np.testing.assert_allclose(
                    found.own_reaches(node)[one] * reach,
                    own_reach(flat, policy, one, path) * reach,
                    atol=1e-13,
                )


# ------------------------------------------------------------------------------------- what is said


@pytest.mark.parametrize(
    "rule", sorted({a.rule for a in ALGORITHMS.values() if isinstance(a, Algorithm)}, key=repr)
)
def test_rules_say_truly_what_strategies_are_made_from(rule: LocalRule) -> None:
    """Where ``matches_regret`` is set, the preference is the regret, always."""
    if rule.memory or not rule.matches_regret:
        return
    draw = np.random.default_rng(0)
    for _ in range(200):
        regret, instant = draw.normal(size=2) * draw.choice([0.0, 1.0, 1e-9, 1e9], size=2)
        new, preference = rule.step(regret, instant, tuple(draw.random(rule.n_parameters)))
        assert new == preference


def test_a_rule_with_exponents_matches_no_regret() -> None:
    with pytest.raises(ValueError, match="matches_regret must be False"):
        LocalRule("wrong", lambda r, i, p: (r, r), exponential=True, matches_regret=True)


def test_each_label_is_a_chunk() -> None:
    """Also where they would fit into one; a label may be given without the blank before it."""
    spaced, plain = (in_chunks("kuhn", cut=cut) for cut in ([" pass", " bet"], ("bet", "pass")))
    assert "solved in 2 chunks of " in spaced.summary()
    assert spaced.chunks.n_chunks == 2
    assert spaced.digest == plain.digest


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_cut_at_labels_of_merged_games(seed: int) -> None:
    """Labels are those of the whole game; nodes without a choice are refused."""
    rules = merged(seed)
    whole = compile_game(rules)
    for label in filter(None, whole.public.node_labels or ()):
        here = [i for i, own in enumerate(whole.infoset_labels) if own[1:] == label]
        if len(whole.infoset_actions[here[0]]) == 1:
            with pytest.raises(ValueError, match=f"cannot be cut at {label!r}: .* has one action"):
                compile_game(rules, cut=[label])
            continue
        game = in_chunks(rules, cut=[label])
        assert game.chunks.n_chunks == 1
        check_found(game)
        # Copies of an outcome, which are merged, differ in their primes.
        root = label.replace("'", "").rstrip("/") + "/"
        for own in whole.infoset_labels:
            place = game.nodes.find(own).layout
            below = f"{own[1:]}/".replace("'", "").startswith(root)
            assert not place.stride or place.chunk == (0 if below else -1)


def test_hedge_minds_merged_hands() -> None:
    with pytest.raises(ValueError, match="compile leduc with symmetry=False"):
        Solver(compile_game("leduc", cut=2), HEDGE)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- solve


def test_solve_runs_games_in_chunks() -> None:
    whole = solve(compile_game("leduc"), CFR, iters=40, checkpoints=10)
    chunked = solve(compile_game("leduc", cut=3), CFR, iters=40, checkpoints=10, threads=2)
    assert [point.iteration for point in chunked.trace] == [10, 20, 30, 40]
    for found, expected in zip(chunked.trace, whole.trace, strict=True):
        assert found.nash_conv == pytest.approx(expected.nash_conv, abs=1e-12)
        assert found.nodes_touched == expected.nodes_touched
    assert chunked.policy["Js"] == pytest.approx(whole.policy["Js"], abs=1e-12)
    assert chunked.last_policy["Qs"] == pytest.approx(whole.last_policy["Qs"], abs=1e-12)


def test_a_policy_stays_as_it_was() -> None:
    """It is laid out when it is looked at, or when the solver goes on."""
    solver = Solver(wide(), CFR)
    solver.iterate(5)
    expected = solver.average_probabilities()
    policy, by_part = solver.average_policy(), solver.average_policy()
    solver.iterate(5)
    np.testing.assert_array_equal(policy.probabilities, expected)
    trunk = slice(0, wide().chunks.trunk.n_sequences)
    np.testing.assert_array_equal(by_part.at(trunk), expected[trunk])
    for player in range(2):
        for rows in wide().rows(player):
            np.testing.assert_array_equal(by_part.at(rows.numbers), expected[rows.numbers])


@pytest.mark.parametrize("precision", ["float64", "int16"])
def test_averages_that_begin_anew(precision: str, interpreted: None) -> None:
    """In the trunk, too; policies that were given away before keep the average of their time."""
    rules = PerturbedHands(make_game("liars_dice(faces=3)"), 3)  # type: ignore[arg-type]
    record = CFR_PLUS(restart_base=2)
    chunked = Solver(in_chunks(rules, cut=2), record, precision=precision)
    flat = Solver(compile_game(rules), record)
    tolerance = TOLERANCE if precision == "float64" else 2e-3
    kept = []
    for _ in range(9):
        chunked.iterate()
        flat.iterate()
        assert same_strategies(chunked, flat) <= tolerance
        kept.append((chunked.average_policy(), chunked.average_probabilities()))
    for policy, expected in kept:
        np.testing.assert_array_equal(policy.probabilities, expected)


@pytest.mark.parametrize("precision", ["float64", "float32", "int16"])
def test_averages_in_a_larger_unit(precision: str, interpreted: None) -> None:
    """Which weights that grow ask for: the strategies have the same bits."""
    solver = Solver(compile_game("liars_dice(faces=3)", cut=2), CFR_PLUS, precision=precision)
    solver.iterate(4)
    before, evaluation = solver.average_probabilities(), solver.evaluate()
    policy = solver.average_policy()
    weights = solver.state.averages.trunk[0]
    solver._scale_average(2.0**-64)
    assert solver.state.averages.trunk[0] == weights * 2.0**-64
    for found in (solver.average_probabilities(), policy.probabilities):
        np.testing.assert_array_equal(found, before)
    assert solver.evaluate() == evaluation


# ------------------------------------------------------------------------------------ warm starts


@pytest.mark.parametrize(
    ("locked", "source", "name"),
    [
        (False, "policy", "cfr"),
        (False, "flat", "predictive"),
        (False, "chunks", "cfr"),
        (True, "policy", "predictive"),
        (True, "flat", "hedge"),
        (True, "chunks", "predictive"),
    ],
)
def test_warm_starts(name: str, source: str, locked: bool, interpreted: None) -> None:
    rules = PerturbedHands(make_game("liars_dice(faces=3)"), 3)  # type: ignore[arg-type]
    algorithm = KEPT.get(name) or CFR
    symmetry = not algorithm.rule.is_scale_dependent
    cut, whole = (compile_game(rules, cut=c, symmetry=symmetry) for c in (2, None))
    before = solve(cut if source == "chunks" else whole, algorithm, iters=4)
    given = before.policy if source == "policy" else before
    locks = dict(random_locks(whole, 5, 0.3)) if locked and not symmetry else {}
    flat, chunked = (
        kind(
            game,
            algorithm,
            state=warm_state(game, algorithm, given, iterations=3.0, locks=locks),
            locks=locks,
        )
        for kind, game in ((Solver, whole), (Solver, cut))
    )
    step_alike(chunked, flat, (0, 1, 1, 1))


@pytest.mark.parametrize("cut", [True, 2, (" pass", " bet")])
def test_files_of_built_in_games(cut: Any, tmp_path: Path, interpreted: None) -> None:
    """The game is compiled again; regrets and averages are read, and the solve goes on."""
    game = compile_game("kuhn(cards=5)", cut=cut)
    solution = solve(game, CFR, iters=7, locks={"J": {"bet": 0.5}}, keep_best=True)
    loaded = Solution.load(solution.save(tmp_path / "solution.npz"))
    assert loaded.game.digest == game.digest
    assert loaded.game is not game
    assert isinstance(loaded.game, ChunkedGame)
    assert loaded.policy["Q"] == solution.policy["Q"]
    assert loaded.last_policy["Qb"] == solution.last_policy["Qb"]
    assert loaded.best is not None
    assert loaded.trace == solution.trace
    for one, other in ((solution, loaded), (loaded, loaded)):
        after = solve(other.game, start=other, iters=5)
        whole = solve(one.game, start=one, iters=5)
        assert after.state.regret.tobytes() == whole.state.regret.tobytes()
        assert after.evaluation == whole.evaluation
    assert load_game(save_game(game, tmp_path / "game.npz")).digest == game.digest


# ------------------------------------------------------------------------------------------ files


def test_files_of_own_games(tmp_path: Path, interpreted: None) -> None:
    """The file has no rules: whoever reads it brings the game."""
    rules = random_public_tree_game(7, max_hands=5)
    game = compile_game(rules, cut=2)
    path = solve(game, HEDGE, iters=3).save(tmp_path / "solution.npz")
    with pytest.raises(UnknownGameError, match=r"solution.npz: .* pass it as game="):
        Solution.load(path)
    assert Solution.load(path, game=game).game is game
    assert Solution.load(path, game=compile_game(rules, cut=2)).iterations == 3
    with pytest.raises(ValueError, match=r"whose chunks, payoffs or library version differ"):
        Solution.load(path, game=compile_game(rules, cut=1))
    rules.hands = [tuple(f"{hand}'" for hand in hands) for hands in rules.hands]
    with pytest.raises(ValueError, match="the file is of "):
        Solution.load(path, game=compile_game(rules, cut=2))


def test_files_from_a_machine_with_another_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interpreted: None
) -> None:
    """They hold the limit with which the game was cut."""
    with monkeypatch.context() as there:
        there.setattr(cut_game, "second_level_cache", lambda: 16 * 50)
        game = in_chunks("leduc(ranks=2)", cut=True)
        path = solve(game, CFR, iters=1).save(tmp_path / "solution.npz")
    assert game.chunks.n_chunks > 1
    assert in_chunks("leduc(ranks=2)", cut=True).chunks.n_chunks != game.chunks.n_chunks
    loaded = Solution.load(path)
    assert loaded.game.digest == game.digest
    again = Solution.load(loaded.save(tmp_path / "again.npz"))
    assert again.game.digest == game.digest


def test_files_say_whether_symmetries_are_merged(tmp_path: Path) -> None:
    digests = set()
    for symmetry in (True, False):
        game = in_chunks("leduc", cut=2, symmetry=symmetry)
        assert load_game(save_game(game, tmp_path / "game.npz")).digest == game.digest
        digests.add(game.digest)
    assert len(digests) == 2


def test_files_of_large_games_are_refused(tmp_path: Path) -> None:
    path = save_game(in_chunks("bluff(dice=(1, 1), faces=6)", cut=2), tmp_path / "game.npz")
    with pytest.raises(FileSizeError) as refused:
        load_game(path, memory_limit=100_000)
    assert refused.value.needed > refused.value.limit == 100_000


@pytest.mark.parametrize(
    ("array", "at", "value", "problem"),
    [
        ("scale", (1, 0), -1.0, "scale is below 0"),
        ("trunk", (1, 3), -0.5, r"trunk\[3\] is -0.5"),
        ("cumulative", -1, -2, r"cumulative\[\d+\] is -2"),
        ("floor", 0, 1.5, "floor is 1.5"),
        ("floor", 0, -0.5, "floor is -0.5"),
    ],
)
def test_damaged_states(
    array: str, at: Any, value: float, problem: str, tmp_path: Path, interpreted: None
) -> None:
    """In 16 bits, where most arrays are not empty."""
    game = in_chunks("kuhn(cards=5)", cut=2)
    solution = solve(game, CFR, iters=3, precision="int16")
    arrays = {name: own.copy() for name, own in solution.state._asdict().items()}
    arrays[array][at] = value
    damaged = replace(solution, state=type(solution.state)(**arrays))
    with pytest.raises(ValueError, match=problem):
        Solution.load(damaged.save(tmp_path / "solution.npz"))


def test_damaged_strategies(tmp_path: Path, interpreted: None) -> None:
    """Of a rule that keeps the strategies to be played next."""
    solution = solve(in_chunks("kuhn(cards=5)", cut=2, symmetry=False), HEDGE, iters=3)
    strategy = solution.state.strategy.copy()
    strategy[np.flatnonzero((strategy > 0.0) & (strategy < 1.0))[-1]] += 0.01
    damaged = replace(solution, state=solution.state._replace(strategy=strategy))
    with pytest.raises(ValueError, match=r"strategy\[\d+\] is "):
        Solution.load(damaged.save(tmp_path / "solution.npz"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"source": "kuhn(cards=6)"}, "whose chunks, payoffs or library version differ"),
        ({"source": "goofspiel(cards=3)"}, "goofspiel.* has no private hands"),
        ({"source": "chess"}, "there is no game 'chess'"),
        ({"cut": -1}, "cut is -1"),
        ({"cut": False}, "is of a game that is not cut"),
        ({"cut": [1.5]}, "not a text"),
        ({"limit": 0}, "limit is 0, not a whole number from 1"),
        ({"extra": 1}, "unknown key 'extra'"),
    ],
)
def test_damaged_recipes(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    game = compile_game("kuhn(cards=5)", cut=2)
    said = json.loads(bytes(pack_game(game)[KEY])) | changes
    header = {"kind": "game", "name": game.name}
    path = write_arrays(tmp_path / "game.npz", header, {KEY: pack_text(json.dumps(said))})
    with pytest.raises(ValueError, match=problem):
        load_game(path)


# ------------------------------------------------------------------------------------------- locks


@examples(120)
@given(
    game=public_tree_games(n_players=2),
    seed=st.integers(0, 999),
    cut=st.sampled_from((1, 2, 3)),
    name=st.sampled_from(("cfr", "cfr+", "dcfr", *KEPT)),
)
def test_locks(game: PublicTreeGame, seed: int, cut: int, name: str) -> None:
    algorithm = KEPT.get(name) or ALGORITHMS[name]
    assert isinstance(algorithm, Algorithm)
    with interpreted_kernels():
        whole = compile_game(game, symmetry=False)
        locks = random_locks(whole, seed)
        chunked = Solver(compile_game(game, cut=cut, symmetry=False), algorithm, locks=locks)
        flat = Solver(whole, algorithm, locks=locks)
        step_alike(chunked, flat, (1, 1, 3))
        for label, row in locks.items():
            for action, probability in row.items():
                assert chunked.average_policy()[label][action] == pytest.approx(probability)


def test_averages_of_infosets_that_are_locked_in_part(interpreted: None) -> None:
    """What their free actions reach counts with the weight of the iteration."""
    whole = compile_game("nl_leduc(stack=3)", symmetry=False, cut=False)
    locks = {
        label: {actions[0]: 0.25}
        for player in range(2)
        for rows in whole.rows(player)
        for label, actions in zip(rows.labels, rows.actions, strict=True)
        if len(actions) > 2
    }
    assert locks
    chunked = compile_game("nl_leduc(stack=3)", symmetry=False, cut=1)
    step_alike(*(Solver(game, CFR_PLUS, locks=locks) for game in (chunked, whole)), (6,))
