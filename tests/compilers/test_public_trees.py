"""Private hands x public trees without their product: every way to lay out the payoffs, the
histories laid out, and the recursive reference give the same numbers.

What is said of every game is that blocks, entries and the reference agree to 1e-12; random games
make sure that "every" includes hands that chance kills, players that never act, ends right after
the deal, and matrices with equal rows, proportional rows, ranks and nothing in them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import (
    EARLY_MARKS,
    MARKS,
    TOLERANCE,
    PerturbedHands,
    as_game,
    assert_equal,
    built,
    check_random,
    difference,
    rounding,
)
from support.payoff_paths import PATHS, forced
from support.products import naive_product, pay, random_reach
from support.properties import examples
from support.random_games import (
    MATRIX_KINDS,
    RandomPublicTreeGame,
    games_with_copies,
    public_tree_games,
    random_public_tree_game,
    repeated,
)
from support.reference import ReferenceCFR, Tree, build_tree
from support.tiers import tiered
from support.variants import PLAIN
from tensorcfr import (
    CompiledGame,
    Decision,
    GameError,
    MemoryLimitError,
    Payoff,
    PublicTreeGame,
    Solver,
    compile_game,
    evaluate,
)
from tensorcfr._util import limits, memory_budget
from tensorcfr.compilers.payoff_blocks import find_program
from tensorcfr.games import make_game
from tensorcfr.games.liars_dice import LiarsDice
from tensorcfr.model.arrays import CHANCE, TERMINAL, SequenceForm
from tensorcfr.model.expansion import BYTES_PER_HISTORY
from tensorcfr.model.labels import InfosetActions, InfosetIndex, InfosetLabels
from tensorcfr.payoff import PayoffBlocks, PayoffEntries
from tensorcfr.payoff.blocks import BLOCK_TILE, COUNT
from tensorcfr.payoff.program import Program

BUILT_IN = (
    "kuhn",
    "kuhn(cards=2)",
    "kuhn(cards=5)",
    "one_card_poker(cards=4)",
    "liars_dice(faces=3)",
    "liars_dice(dice=2, faces=2)",
    "bluff(dice=(2, 1), faces=3)",
    "leduc(ranks=4, suits=1)",
)


@cache
def reference_tree(spec: str) -> Tree:
    return build_tree(as_game(make_game(spec)))


def check_every_path(rules: PublicTreeGame, variant: str, marks: Sequence[int]) -> None:
    """One run of the reference, and a solver for each layout of the payoffs, merged and not."""
    algorithm, options = PLAIN[variant]
    solvers: dict[str, Solver] = {}
    for path in PATHS:
        with forced(path):
            game = compile_game(rules)
        solvers[path] = Solver(game.without_merging(), algorithm)
        if game.merged is not None:
            solvers[f"{path}, merged"] = Solver(game, algorithm)
    tree = as_game(rules)
    reference = ReferenceCFR(tree, **options)
    for mark in marks:
        while reference.t < mark:
            reference.iterate()
        expected = reference.average_policy()
        for path, solver in solvers.items():
            solver.iterate(mark - solver.iteration)
            worst, where = difference(solver.average_policy(), expected)
            assert worst <= TOLERANCE or worst <= 100 * rounding(reference.tree, options, mark), (
                f"{path}: iteration {mark}, infoset {where!r}: off by {worst}"
            )


@pytest.mark.parametrize("variant", ["cfr simultaneous", "cfr+"])
@pytest.mark.parametrize("spec", tiered(BUILT_IN, BUILT_IN[:5]))
def test_built_in_games(spec: str, variant: str) -> None:
    """Perturbed, because on exact ties any two programs part."""
    rules = make_game(spec)
    assert isinstance(rules, PublicTreeGame)
    check_every_path(PerturbedHands(rules), variant, MARKS)


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("spec", "variant"),
    [
        ("leduc", "cfr simultaneous"),
        ("leduc", "cfr+"),
        ("leduc(suits=3)", "cfr+"),
        ("leduc(ranks=4)", "cfr simultaneous"),
    ],
)
def test_leduc(spec: str, variant: str) -> None:
    """As it is, so that its suits are alike."""
    rules = make_game(spec)
    assert isinstance(rules, PublicTreeGame)
    check_every_path(rules, variant, EARLY_MARKS if spec == "leduc" else EARLY_MARKS[:3])


@examples(80)
@given(
    game=st.one_of(
        public_tree_games(n_players=2, max_hands=st.sampled_from((1, 3, 5))), games_with_copies()
    ),
    variant=st.sampled_from(sorted(PLAIN)),
    path=st.sampled_from(sorted(PATHS)),
)
def test_random_games(game: RandomPublicTreeGame, variant: str, path: str) -> None:
    """Terminals of some come many times over, so that blocks are longer than one."""
    with forced(path):
        check_random(game, PLAIN[variant])


def test_what_cannot_occur_may_be_no_number() -> None:
    """Payoffs of deals that are not dealt are ignored, whatever they are."""
    clean = random_public_tree_game(3, matrices=MATRIX_KINDS)
    dirty = random_public_tree_game(3, matrices=MATRIX_KINDS)
    for matrix in dirty.matrices.values():
        matrix[:, dirty.prior == 0] = np.nan
    assert (clean.prior == 0).any()
    for path in PATHS:
        with forced(path):
            game, expected = compile_game(dirty), compile_game(clean)
        for part, clean_part in zip(game.form.operator, expected.form.operator, strict=True):
            assert all(a.tobytes() == b.tobytes() for a, b in zip(part, clean_part, strict=True))


WIDE = {
    "33 by player 0": ((33, 0),),
    "150 by player 0": ((150, 0),),
    "150 by player 1": ((150, 1),),
    "12 by each": ((13, 0), (12, 1)),
    "40 by player 1, 6 by chance": ((40, 1), (6, None)),
}
"""How often, and by whose choice, the same little game is played."""


def wide_game(seed: int, shape: str) -> RandomPublicTreeGame:
    game = random_public_tree_game(
        seed, max_hands=5, max_nodes=12, max_depth=4, matrices=MATRIX_KINDS, least_depth=1
    )
    for times, by in WIDE[shape]:
        game = repeated(game, times, by, seed=seed)
    return game


@pytest.mark.compiled
@pytest.mark.parametrize("shape", WIDE)
@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=pytest.mark.slow if seed else pytest.mark.full) for seed in range(3)],
)
def test_operator_of_wide_games(seed: int, shape: str) -> None:
    """Blocks over several tiles, vectors and tails are the sums over the histories."""
    rules = wide_game(seed, shape)
    naive: list[np.ndarray] = []
    for path in PATHS:
        with forced(path):
            game = compile_game(rules, symmetry=False)
        reach = random_reach(game)
        naive = naive or [naive_product(game, player, reach) for player in range(2)]
        for player in range(2):
            g = np.full(game.n_sequences, np.nan)
            pay(game.form, player, reach, g)
            own = slice(game.form.player_sequences[player], game.form.player_sequences[player + 1])
            np.testing.assert_allclose(g[own], naive[player][own], rtol=1e-12, atol=1e-14)


@pytest.mark.full
def test_wide_games_have_blocks_of_several_tiles() -> None:
    """The test above tests what it says."""
    lengths: set[int] = set()
    for seed, shape in product(range(3), WIDE):
        with forced("blocks"):
            game = compile_game(wide_game(seed, shape), symmetry=False)
        assert game.form.part(PayoffEntries) is None
        for part in game.form.operator:
            lengths.update(part.block[:, COUNT].tolist())
    assert max(lengths) > BLOCK_TILE
    assert any(32 < length < BLOCK_TILE for length in lengths)
    assert any(length % 8 for length in lengths)


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", ["cfr", "cfr+", "dcfr", "pcfr+"])
def test_wide_games_solved(algorithm: str) -> None:
    """Ten iterations by blocks and by entries."""
    rules = wide_game(1, "12 by each")
    averages = []
    for path in PATHS:
        with forced(path):
            solver = Solver(compile_game(rules), algorithm)
        solver.iterate(10)
        averages.append(solver.average_probabilities())
    for average in averages[1:]:
        np.testing.assert_allclose(average, averages[0], rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------- the operator


def multiplied_out(part: Program, shape: tuple[int, int]) -> np.ndarray:
    """The matrix that a program multiplies by."""
    pools = np.zeros((len(part.pools), shape[1]))
    for row, (hands, weights) in zip(pools, part.pools, strict=True):
        row[hands] = weights
    found, z = np.zeros(shape), np.zeros(shape[1])
    for chained, (terms, factors), (hands, multiples) in part.classes:
        z = (z if chained else 0.0) + factors @ pools[terms]
        found[hands] += multiples[:, None] * z
    return found


@examples(100)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(MATRIX_KINDS),
    long=st.sampled_from((1, 64)),
)
def test_programs_say_their_matrix(seed: int, kind: str, long: int) -> None:
    rng = np.random.default_rng(seed)
    own, other = rng.integers(1, 12, size=2)
    table = random_table(rng, kind, own, other)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limits, "CHAIN_FROM_TERMS", long)
        part = find_program(table)
    expected = np.abs(table).max(initial=0.0)
    np.testing.assert_allclose(
        multiplied_out(part, table.shape), table, rtol=0, atol=1e-14 * expected
    )
    assert part.n_terms <= np.count_nonzero(table) + own + other


def test_rows_that_nearly_agree_are_two() -> None:
    """They agree to nine digits, and differ by far more than rounding."""
    table = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0 * (1 + 1e-10)]])
    for one in (table, table.T):
        part = find_program(np.ascontiguousarray(one))
        np.testing.assert_allclose(multiplied_out(part, one.shape), one, rtol=1e-15)


def random_table(rng: np.random.Generator, kind: str, own: int, other: int) -> np.ndarray:
    """One player's part of a payoff matrix; kinds as in ``random_games``."""
    if kind == "nothing":
        return np.zeros((own, other))
    if kind == "holes":
        return rng.normal(size=(own, other)) * (rng.random((own, other)) < 0.5)
    if kind == "generic":
        return rng.normal(size=(own, other))
    mine, theirs = rng.integers(0, 4, size=own), rng.integers(0, 4, size=other)
    if kind == "showdown":
        return 0.7 * np.sign(mine[:, None] - theirs[None, :])
    few = rng.normal(size=(4, 4))[mine][:, theirs]
    if kind == "classes":
        return few
    return few * rng.choice((0.3, 1.0, 7.0), size=(own, 1)) * rng.choice((-2.0, 1.0), size=other)


def test_a_showdown_is_a_prefix_sum() -> None:
    """Forty ranks: without prefix sums, as many terms as pairs of them."""
    ranks = np.arange(40)
    table = np.sign(ranks[:, None] - ranks[None, :]).astype(float)
    part = find_program(table)
    assert all(one.chained for one in part.classes[1:])
    assert part.n_terms < 5 * len(ranks)
    np.testing.assert_allclose(multiplied_out(part, table.shape), table, atol=1e-14)


# -------------------------------------------------------------------------------- odd shapes


class Little(PublicTreeGame):
    """Two hands each, and a public tree from a table."""

    hands = [("a", "b"), ("x", "y")]
    prior = np.array([[0.4, 0.1], [0.0, 0.5]])

    def __init__(self, said: dict[tuple[str, ...], Decision | Payoff]) -> None:
        self.said = said

    def node(self, state: tuple[str, ...]) -> Decision | Payoff:
        return self.said[state]

    def matrix(self, key: str) -> np.ndarray:
        own = np.array([[1.0, -2.0], [1e3, 0.5]])
        return np.stack([own, -own])


ODD = {
    "only player 1 acts": {
        (): Decision(1, None, ("l", "r")),
        ("l",): Payoff(1.0, "k"),
        ("r",): Payoff(-0.3, "k"),
    },
    "one action each": {
        (): Decision(0, None, ("l",)),
        ("l",): Decision(1, None, ("m",)),
        ("l", "m"): Payoff(2.0, "k"),
    },
    "a player moves twice, and an end comes before the other has acted": {
        (): Decision(0, None, ("l", "r")),
        ("l",): Payoff(0.25, "k"),
        ("r",): Decision(0, None, ("l", "r")),
        ("r", "l"): Payoff(0.5, "k"),
        ("r", "r"): Decision(1, None, ("l", "r")),
        ("r", "r", "l"): Payoff(0.7, "k"),
        ("r", "r", "r"): Payoff(-0.7, "k"),
    },
    "nothing is paid": {
        (): Decision(0, None, ("l", "r")),
        ("l",): Payoff(0.0, "k"),
        ("r",): Payoff(0.0, "k"),
    },
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ODD)
def test_odd_shapes(name: str, path: str) -> None:
    rules = Little(ODD[name])
    with forced(path):
        game = compile_game(rules)
    for variant in ("cfr simultaneous", "cfr+"):
        algorithm, options = PLAIN[variant]
        assert_equal(Solver(game, algorithm), ReferenceCFR(as_game(rules), **options), MARKS)


def test_nobody_acts() -> None:
    """A deal that is paid at once has a value and no infosets."""
    game = compile_game(Little({(): Payoff(1.0, "k")}))
    assert game.n_infosets == 0
    assert evaluate(game, {}).values == pytest.approx((0.45, -0.45), abs=1e-15)


# ---------------------------------------------------------------------- states that repeat


class Unrepeated(LiarsDice):
    """Liar's dice without saying that its states repeat."""

    states_repeat = False


@pytest.mark.parametrize("dice", [1, (2, 1)])
def test_states_that_repeat_change_nothing(dice: int | tuple[int, int]) -> None:
    once, often = (make(dice=dice, faces=3) for make in (LiarsDice, Unrepeated))
    game, expected = compile_game(once), compile_game(often)
    assert set(game.arrays()) == set(expected.arrays())
    for name, array in expected.arrays().items():
        if name.startswith("form/"):
            np.testing.assert_array_equal(game.arrays()[name], array, err_msg=name)
    assert list(game.infoset_labels) == list(expected.infoset_labels)
    assert list(game.infoset_actions) == list(expected.infoset_actions)


def test_rules_are_asked_once_for_states_that_repeat() -> None:
    asked: list[object] = []

    class Counting(LiarsDice):
        def node(self, state):  # type: ignore[no-untyped-def]
            asked.append(state)
            return super().node(state)

    game = compile_game(Counting(faces=4))
    assert len(asked) == len(set(asked)) < game.public.tree.n_nodes / 5


def test_states_that_repeat_have_no_labels_of_their_own() -> None:
    class Labelled(Little):
        states_repeat = True

    said = ODD["only player 1 acts"] | {(): Decision(1, "mine", ("l", "r"))}
    with pytest.raises(GameError, match="infoset must be None"):
        compile_game(Labelled(said))


# ------------------------------------------------------------------- what is made on request


@pytest.mark.compiled
def test_solving_does_not_expand() -> None:
    game = compile_game("bluff", dice=(2, 1), faces=5)
    solver = Solver(game, "cfr")
    solver.iterate(2)
    solver.evaluate()
    assert solver.nodes_touched == 4 * game.n_histories > 1_000_000
    assert game.histories is None
    assert "tree" not in vars(game)
    assert "histories" in game.summary()
    assert "tree" not in vars(game)


@examples(30)
@given(game=public_tree_games(n_players=2))
def test_histories_are_those_of_the_reference(game: RandomPublicTreeGame) -> None:
    check_histories(compile_game(game), build_tree(as_game(game)))


@pytest.mark.parametrize("spec", BUILT_IN)
def test_histories_of_built_in_games(spec: str) -> None:
    check_histories(compile_game(spec), reference_tree(spec))


def check_histories(game: CompiledGame, tree: Tree) -> None:
    """Node by node: who acts with which label and actions, what chance does, what the end pays."""
    counted = game.n_histories
    assert "tree" not in vars(game)
    assert counted == game.tree.n_nodes == sum(1 for _ in tree.nodes())
    flat = game.tree
    todo = [(0, tree.root)]
    while todo:
        at, node = todo.pop()
        children = range(int(flat.first_child[at]), int(flat.first_child[at + 1]))
        if flat.player[at] == TERMINAL:
            paid = flat.utility[np.searchsorted(flat.terminal, at)]
            np.testing.assert_allclose(paid, node.utilities, rtol=1e-15)  # type: ignore[union-attr]
            assert not children
            continue
        if flat.player[at] == CHANCE:
            p = flat.probability[children.start : children.stop]
            np.testing.assert_allclose(p, node.probabilities, rtol=1e-13)  # type: ignore[union-attr]
        else:
            infoset = node.infoset  # type: ignore[union-attr]
            assert flat.player[at] == infoset.player
            assert game.infoset_labels[flat.infoset[at]] == infoset.label
            assert game.infoset_actions[flat.infoset[at]] == tuple(map(str, infoset.actions))
        todo.extend(zip(children, node.children, strict=True))  # type: ignore[union-attr]


def test_expanding_too_much_is_refused_with_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    game = compile_game("leduc")
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 1_000_000)
    monkeypatch.setattr(memory_budget, "LEAST", 0)
    with pytest.raises(MemoryLimitError, match=r"9,457 histories") as refused:
        _ = game.tree
    assert refused.value.needed == 9457 * BYTES_PER_HISTORY > refused.value.limit == 1_000_000
    monkeypatch.undo()
    assert game.tree.n_nodes == 9457


@pytest.mark.parametrize("spec", ["liars_dice(faces=3)", "bluff(dice=(2, 1), faces=3)", "kuhn"])
def test_lazy_labels(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels that are made when asked for are the labels that are made at once."""
    eager = compile_game(spec)
    monkeypatch.setattr(limits, "LAZY_LABELS_FROM", 0)
    lazy = compile_game(spec)
    assert isinstance(eager.infoset_labels, tuple)
    assert isinstance(lazy.infoset_labels, InfosetLabels)
    assert isinstance(lazy.infoset_actions, InfosetActions)
    assert isinstance(lazy.infoset_index, InfosetIndex)
    labels = list(eager.infoset_labels)
    assert list(lazy.infoset_labels) == labels == list(lazy.infoset_index)
    assert list(lazy.infoset_actions) == list(eager.infoset_actions)
    assert lazy.infoset_labels[-1] == labels[-1]
    assert lazy.infoset_labels[3:9:2] == labels[3:9:2]
    assert lazy.infoset_actions[1:3] == list(eager.infoset_actions[1:3])
    assert dict(lazy.infoset_index) == eager.infoset_index
    assert len(lazy.infoset_index) == len(labels)
    for unknown in ("", "nothing", f"{labels[0]} nothing", f"{labels[-1]} ", "Z"):
        assert lazy.infoset_labels.places.find(unknown) is None
    with pytest.raises(IndexError):
        lazy.infoset_labels[len(labels)]


@examples(25)
@given(game=public_tree_games(n_players=2))
def test_lazy_labels_of_random_games(game: RandomPublicTreeGame) -> None:
    """Hands that chance kills have no infoset, and no label finds one."""
    eager = compile_game(game)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limits, "LAZY_LABELS_FROM", 0)
        lazy = compile_game(game)
    assert list(lazy.infoset_labels) == list(eager.infoset_labels)
    assert dict(lazy.infoset_index) == dict(eager.infoset_index)
    assert list(lazy.infoset_actions) == list(eager.infoset_actions)
    hands = lazy.public.hands if lazy.public is not None else ()
    publics = {label[1:] for label in eager.infoset_labels}
    every = {hand + public for own in hands for hand in own for public in publics}
    assert {label for label in every if label in lazy.infoset_index} == set(eager.infoset_labels)


class Worded(PublicTreeGame):
    """Two hands each, one step each, nothing to win: a game of labels."""

    states_repeat = True

    def __init__(self, hands: Sequence[str], steps: Sequence[str]) -> None:
        self.hands = [hands, hands]
        self.prior = np.full((2, 2), 0.25)
        self.steps = steps

    def node(self, state: tuple[str, ...]) -> Decision | Payoff:
        if len(state) < 2:
            return Decision(len(state), None, self.steps)
        return Payoff(1.0, "end")

    def matrix(self, key: Hashable) -> np.ndarray:
        return np.zeros((2, 2, 2))


def test_labels_that_may_be_alike_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that two infosets with one label are an error of large games, too."""
    monkeypatch.setattr(limits, "LAZY_LABELS_FROM", 0)
    assert isinstance(compile_game(Worded(("1", "11"), ("a", "b"))).infoset_labels, InfosetLabels)
    for hands, steps in ((("1", "1 2"), ("a", "b")), (("1", "2"), ("a", "b c"))):
        game = compile_game(Worded(hands, steps))
        assert isinstance(game.infoset_labels, tuple)
        assert set(game.infoset_labels) == {
            f"{hand}{public}" for hand in hands for public in ("", *(f" {step}" for step in steps))
        }
    said = "infoset label '1 a' is used twice: by player 0 with '1 a' at the public root, and by "
    with pytest.raises(GameError, match=said + r"player 1 with '1' at public history \[a\]"):
        compile_game(Worded(("1", "1 a"), ("a", "b")))


# ------------------------------------------------------------------------------ three players


@pytest.mark.parametrize("threads", [1, 2])
def test_three_players_have_no_blocks(threads: int) -> None:
    """Groups of blocks are for two players."""
    game, tree = built("kuhn, 3 players, perturbed")
    assert game.form.part(PayoffBlocks) is None
    algorithm, options = PLAIN["cfr"]
    assert_equal(Solver(game, algorithm, threads=threads), ReferenceCFR(tree, **options), MARKS)


@examples(15)
@given(game=public_tree_games(n_players=3))
def test_three_players_are_expanded(game: RandomPublicTreeGame) -> None:
    assert compile_game(game).public is None
    check_random(game, PLAIN["cfr+"])


# ------------------------------------------------------------------------------------------ levels


def buckets_and_those_above(form: SequenceForm) -> list[tuple[int, int]]:
    """Every bucket with each that parents of its infosets are in."""
    pairs = set()
    for bucket, (begin, lanes) in enumerate(
        zip(form.bucket_infoset.tolist(), form.bucket_lanes.tolist(), strict=True)
    ):
        parents = form.infoset_parent[begin : begin + lanes]
        parents = parents[~np.isin(parents, form.player_sequences)]
        above = np.searchsorted(form.bucket_sequence, parents, side="right") - 1
        pairs |= {(bucket, of) for of in above.tolist()}
    return sorted(pairs)


def test_bids_make_levels() -> None:
    """Each bid leaves fewer actions: infosets with one number of actions are one bucket."""
    form = compile_game("liars_dice").form
    assert form.player_buckets.tolist() == [0, 12, 24]
    for own in (slice(0, 12), slice(12, 24)):
        assert sorted(form.bucket_actions[own].tolist()) == [*range(1, 13)][: own.stop - own.start]
    for bucket, above in buckets_and_those_above(form):
        assert form.bucket_actions[bucket] < form.bucket_actions[above]
        assert form.bucket_level[bucket] > form.bucket_level[above]


@pytest.mark.parametrize("game", ["leduc", "nl_leduc(stack=4)"])
def test_raises_make_none(game: str) -> None:
    """A raise is answered by a raise: levels count own infosets."""
    form = compile_game(game).form
    for bucket, above in buckets_and_those_above(form):
        assert form.bucket_level[bucket] == form.bucket_level[above] + 1
