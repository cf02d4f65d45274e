"""What the payoffs cannot tell apart is solved as one, and the answer is that of the whole game.

Iteration by iteration, not only in the limit: the variants of CFR that do not depend on the scale
of the payoffs play the same in the merged game and in the whole one.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import as_game, assert_equal, check_random
from support.interpreted import interpreted_kernels
from support.payoff_paths import PATHS, forced
from support.properties import examples
from support.random_games import (
    MATRIX_KINDS,
    RandomPublicTreeGame,
    public_tree_games,
    random_public_tree_game,
    repeated,
    with_equal_outcomes,
    with_twin,
)
from support.reference import ReferenceCFR
from support.tiers import tiered
from support.variants import PLAIN
from tensorcfr import (
    Chance,
    CompiledGame,
    Decision,
    Payoff,
    PublicTreeGame,
    Solver,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.algorithms import PACED_CFR_PLUS
from tensorcfr.compilers.invariants import check
from tensorcfr.solvers.warm_start import warm_state

SCALE_FREE = ("cfr", "cfr+", "lcfr", "dcfr", "dcfr+", "pcfr+", "pdcfr+")
SUITED = ("leduc", "leduc(suits=3)", "leduc(ranks=4)", "leduc(ranks=5)")


def merged_infosets(game: CompiledGame) -> list[int]:
    return np.diff(game.merged.form.player_infosets).tolist()


def is_left_alone(game: CompiledGame) -> bool:
    """Whether nothing is merged: what stands for an infoset with a choice stands for no other."""
    if game.merged is None:
        return True
    actions = np.repeat(game.form.bucket_actions, game.form.bucket_lanes)
    stands_for = game.merged.sequence[game.infoset_sequence[actions > 1]]
    return len(set(stands_for.tolist())) == len(stands_for)


def assert_one_answer(game: CompiledGame, algorithm: str, iterations: int) -> None:
    """Merged and unmerged play the same."""
    assert game.merged is not None
    merged, whole = Solver(game, algorithm), Solver(game.without_merging(), algorithm)
    for solver in (merged, whole):
        solver.iterate(iterations)
    for found, expected in (
        (merged.average_probabilities(), whole.average_probabilities()),
        (merged.current_policy().probabilities, whole.current_policy().probabilities),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def assert_solves_the_whole(solver: Solver) -> None:
    """What the solver says of its own strategies is what they are worth in the whole game."""
    own, whole = solver.evaluate(), evaluate(solver.game, solver.average_policy())
    unmerged = evaluate(solver.game.without_merging(), dict(solver.average_policy()))
    for found in (whole, unmerged):
        np.testing.assert_allclose(found.values, own.values, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.best_responses, own.best_responses, rtol=0, atol=1e-12)


# -------------------------------------------------------------------------------------- suits


@pytest.mark.parametrize(
    ("spec", "infosets"),
    # OpenSpiel's leduc_poker(suit_isomorphism=True) has 144 infosets a player too.  With r ranks
    # it is 3r before the board and 5 * 3 * r * r after it: no rank is used up by one card.
    [("leduc", 144), ("leduc(suits=3)", 144), ("leduc(ranks=4)", 252), ("leduc(ranks=5)", 390)],
)
def test_suits_are_merged(spec: str, infosets: int) -> None:
    game = compile_game(spec)
    assert merged_infosets(game) == [infosets, infosets]
    assert f"solved as {2 * infosets} infosets" in game.summary()
    assert compile_game(spec, symmetry=False).merged is None
    assert game.without_merging().merged is None
    assert game.without_merging().form is game.form


@pytest.mark.full
@pytest.mark.compiled
def test_a_whole_deck() -> None:
    """Thirteen ranks of four suits: 39,936 infosets a player are 2,574."""
    game = compile_game("leduc(ranks=13, suits=4)", cut=False)
    assert merged_infosets(game) == [2574, 2574]
    solver = Solver(game)
    solver.iterate(20)
    assert_solves_the_whole(solver)
    assert "tree" not in vars(game)


@pytest.mark.parametrize(
    "spec",
    [
        "kuhn",
        "one_card_poker",
        "leduc(suits=1)",
        "liars_dice(faces=3)",
        "bluff(dice=(2, 1), faces=3)",
        "liars_dice(dice=2, faces=2, wild=False)",
        "kuhn(players=3)",
        "leduc(players=3, suits=1)",
    ],
)
def test_games_without_symmetry_are_left_alone(spec: str) -> None:
    assert is_left_alone(compile_game(spec))


@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", tiered(SCALE_FREE, ["cfr", "dcfr"]))
@pytest.mark.parametrize("spec", SUITED)
def test_merged_plays_as_the_whole(spec: str, algorithm: str) -> None:
    """Five iterations; Leduc is full of near ties, on which rounding grows later."""
    assert_one_answer(compile_game(spec), algorithm, 5)


@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", tiered([*SCALE_FREE, "hedge"], ["cfr+", "pcfr+", "hedge"]))
@pytest.mark.parametrize("spec", SUITED)
def test_merged_solution_in_the_whole_game(spec: str, algorithm: str) -> None:
    solver = Solver(compile_game(spec), algorithm)
    solver.iterate(60)
    assert_solves_the_whole(solver)


@pytest.mark.compiled
def test_exponential_weights_are_not_merged() -> None:
    """One infoset that stood for two would have twice the regrets, a larger ``eta``."""
    game = compile_game("leduc")
    merged, whole = Solver(game, "hedge"), Solver(game.without_merging(), "hedge")
    for solver in (merged, whole):
        solver.iterate(10)
    assert merged.form.trunk is game.form
    np.testing.assert_array_equal(merged.average_probabilities(), whole.average_probabilities())
    np.testing.assert_array_equal(
        merged.current_policy().probabilities, whole.current_policy().probabilities
    )


# ------------------------------------------------------------------------------- random games


def two_player_games(**fixed: object) -> st.SearchStrategy[RandomPublicTreeGame]:
    small = {"n_players": 2, "max_hands": st.sampled_from((1, 2, 4))}
    return public_tree_games(**(small | {"max_nodes": st.sampled_from((4, 8, 16))} | fixed))


@examples(40)
@given(
    game=two_player_games(),
    variant=st.sampled_from(sorted(PLAIN)),
    path=st.sampled_from(sorted(PATHS)),
    data=st.data(),
)
def test_twins_are_merged(
    game: RandomPublicTreeGame, variant: str, path: str, data: st.DataObject
) -> None:
    """A hand and another just like it; then the merged game is no larger than the first one."""
    player = data.draw(st.integers(0, 1))
    twins = with_twin(game, player, data.draw(st.integers(0, game.prior.shape[player] - 1)))
    with forced(path), interpreted_kernels():
        doubled, single = compile_game(twins), compile_game(game)
        assert doubled.merged.form.n_sequences <= single.n_sequences
        check_random(twins, PLAIN[variant])
        solver = Solver(doubled, PLAIN[variant][0])
        solver.iterate(10)
        assert_solves_the_whole(solver)


@examples(30)
@given(
    game=two_player_games(chance=0.4, max_nodes=st.sampled_from((6, 10))),
    variant=st.sampled_from(sorted(PLAIN)),
    path=st.sampled_from(sorted(PATHS)),
)
def test_equal_outcomes_are_merged(game: RandomPublicTreeGame, variant: str, path: str) -> None:
    """Also where all hands differ."""
    many = with_equal_outcomes(game)
    with forced(path):
        doubled, single = compile_game(many), compile_game(game)
        if any(isinstance(node, Chance) for node in game.said.values()):
            assert doubled.merged.form.n_sequences <= single.n_sequences
        check_random(many, PLAIN[variant])
    solver = Solver(doubled, PLAIN[variant][0])
    solver.iterate(10)
    assert_solves_the_whole(solver)


@pytest.mark.parametrize("precision", ["float64", pytest.param("float32", marks=pytest.mark.full)])
def test_as_many_sequences_in_another_order(precision: str) -> None:
    """Arrays of either form have the same size, and are not to be taken for each other."""
    rules = random_public_tree_game(
        693,
        n_players=2,
        zero_sum=False,
        max_hands=1,
        max_nodes=10,
        max_depth=3,
        max_actions=2,
        chance=0.4,
        stop=0.0,
        matrices=("generic",),
        least_depth=2,
    )
    game = compile_game(with_equal_outcomes(rules))
    assert game.merged.form.n_sequences == game.n_sequences
    assert np.any(np.diff(game.merged.sequence.astype(int)) < 0)
    record = PACED_CFR_PLUS(average_power=5)
    merged = Solver(game, record, precision=precision)
    whole = Solver(game.without_merging(), record)
    for solver in (merged, whole):
        solver.iterate(3)
    for found, expected in (
        (merged.average_probabilities(), whole.average_probabilities()),
        (merged.current_policy().probabilities, whole.current_policy().probabilities),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    if precision == "float64":
        assert_solves_the_whole(merged)
    solution = solve(game, iters=3)
    assert dict(solution.last_policy) == dict(Solver(game, state=solution.state).current_policy())
    begun = Solver(
        game.without_merging(), "cfr+", state=warm_state(game.without_merging(), "cfr+", solution)
    )
    np.testing.assert_allclose(begun.state.regret, whole.state.regret, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"other infosets .* merged"):
        solve(game.without_merging(), start=solution, iters=1)
    with pytest.raises(ValueError, match=r"other infosets .* merged"):
        solve(game, start=solve(game.without_merging(), iters=3), iters=1)
    other = game.merged.sequence.copy()
    other[[-1, -2]] = other[[-2, -1]]
    assert not np.array_equal(other, game.merged.sequence)
    with pytest.raises(ValueError, match=r"other infosets .* merged"):
        solve(replace(game, merged=replace(game.merged, sequence=other)), start=solution, iters=1)


@pytest.mark.full
@examples(25)
@given(
    game=two_player_games(max_nodes=st.sampled_from((4, 8))),
    algorithm=st.sampled_from(SCALE_FREE),
    times=st.sampled_from((2, 3)),
)
def test_everything_at_once(game: RandomPublicTreeGame, algorithm: str, times: int) -> None:
    """Twins of both players, and a first move of chance that means nothing."""
    for player in range(2):
        game = with_twin(game, player, 0)
    rules = repeated(game, times, None, alike=True)
    assert_one_answer(compile_game(rules), algorithm, 3)


@pytest.mark.parametrize("seed", range(12))
def test_one_payoff_apart_is_no_symmetry(seed: int) -> None:
    """Twins until one entry of one matrix that is paid differs by a millionth."""
    rng = Random(seed)
    game = random_public_tree_game(seed, max_hands=3, max_nodes=12, chance=0.0)
    player = rng.randrange(2)
    twins = with_twin(game, player, 0)
    assert not is_left_alone(compile_game(twins))
    paid = next(node for node in twins.said.values() if isinstance(node, Payoff))
    matrix = twins.matrices[paid.matrix]
    deal = [0, 0]
    deal[player] = twins.prior.shape[player] - 1
    deal[1 - player] = int(np.argmax(twins.prior.take(deal[player], player) > 0))
    matrix[(player, *deal)] += 1e-6
    assert is_left_alone(compile_game(twins))
    check_random(twins, PLAIN["cfr+"])


def test_a_deal_more_likely_is_no_symmetry() -> None:
    """Hands with equal payoffs and other probabilities are different hands."""

    class Uneven(PublicTreeGame):
        hands = [("a", "b"), ("x",)]
        prior = np.array([[0.4], [0.6]])

        def node(self, state: tuple[str, ...]) -> Decision | Payoff:
            if len(state) == 2:
                return Payoff(1.0 + (state[0] == state[1]), "k")
            return Decision(len(state), None, ("l", "r"))

        def matrix(self, key: str) -> np.ndarray:
            return np.array([[[1.0], [1.0]], [[-1.0], [-1.0]]])

    assert compile_game(Uneven()).merged is None


class Flush(PublicTreeGame):
    """One card of two suits each, alike until a suit is turned up, and who holds it wins."""

    hands = [("s", "h"), ("s", "h")]
    prior = np.full((2, 2), 0.25)

    def node(self, state: tuple[str, ...]) -> Decision | Chance | Payoff:
        if not state:
            return Decision(0, None, ("bet", "check"))
        if len(state) == 1:
            return Chance({"S": 0.5, "H": 0.5})
        if len(state) == 2:
            return Decision(1, None, ("call", "fold"))
        if len(state) == 3:
            return Decision(0, None, ("stay", "leave"))
        stake = 1.0 + (state[0] == "bet") * 0.7 + 0.3 * (state[2] == "call")
        return Payoff(stake, (state[1], state[2], state[3]))

    def matrix(self, key: tuple[str, str, str]) -> np.ndarray:
        board, second, first = key
        if first == "leave":
            return np.array([np.full((2, 2), -0.2), np.full((2, 2), 0.2)])
        if second == "fold":
            return np.array([np.full((2, 2), 0.3), np.full((2, 2), -0.3)])
        holds = np.array([1.0, 0.0] if board == "S" else [0.0, 1.0])
        own = holds[:, None] - holds[None, :]
        return np.array([own, -own])


@pytest.mark.parametrize("path", PATHS)
def test_hands_that_later_chance_tells_apart(path: str) -> None:
    """Two hands that are one before the board and two after it are not merged wrongly."""
    with forced(path):
        game = compile_game(Flush())
        check_random(Flush(), PLAIN["cfr+"])
    assert game.merged is None
    solver = Solver(game, "cfr+")
    solver.iterate(50)
    policy = solver.average_policy()
    assert policy["s bet S"]["fold"] != policy["h bet S"]["fold"]


def test_two_ranks_are_alike_until_the_board() -> None:
    """With two ranks somebody always pairs the board; of such games nothing is merged."""
    assert compile_game("leduc(ranks=2)").merged is None


class Suited(PublicTreeGame):
    """Ranks and suits, a board card that pairs or not, random payoffs by rank: suits are alike."""

    def __init__(self, seed: int, ranks: int, suits: int) -> None:
        self.seed, self.suits = seed, suits
        cards = range(ranks * suits)
        self.cards = list(cards)
        self.hands = [self.cards, self.cards]
        prior = np.ones((len(cards), len(cards)))
        np.fill_diagonal(prior, 0.0)
        self.prior = prior / prior.sum()

    def node(self, state: tuple[object, ...]) -> Decision | Chance | Payoff:
        if len(state) in (0, 3):
            return Decision(0, None, ("a", "b"))
        if len(state) in (1, 4):
            return Decision(1, None, ("a", "b"))
        if len(state) == 2:
            return Chance({card: self._free(card) for card in self.cards})
        words = (*state[:2], *state[3:])
        stake = Random(repr((self.seed, words))).uniform(0.5, 2)
        return Payoff(stake, (state[2], words[-1]))

    def _free(self, card: int) -> np.ndarray:
        held = np.indices(self.prior.shape)
        return (held != card).all(axis=0) / (len(self.cards) - 2)

    def matrix(self, key: tuple[int, str]) -> np.ndarray:
        board, word = key
        rng = np.random.default_rng([self.seed, board // self.suits, ord(word)])
        by_rank = rng.normal(size=(2, len(self.cards), len(self.cards)))
        ranks = np.arange(len(self.cards)) // self.suits
        return by_rank[:, ranks][:, :, ranks]


@pytest.mark.compiled
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("ranks", "suits"), tiered([(2, 2), (3, 2), (2, 3)], [(2, 2)]))
@pytest.mark.parametrize("algorithm", tiered(SCALE_FREE, ["cfr+", "pcfr+"]))
def test_random_suited_games(
    ranks: int, suits: int, path: str, algorithm: str, interpreted: None
) -> None:
    """No ties and no near ties: twenty iterations of every scale-free variant."""
    rules = Suited(ranks, ranks, suits)
    with forced(path):
        game = compile_game(rules)
    # Before the board 3 nodes with ``ranks`` hands, after it 4 by ``ranks`` boards, 2 a player.
    assert game.merged.form.n_infosets == 3 * ranks + 12 * ranks * ranks
    assert_one_answer(game, algorithm, 20)


def test_random_suited_games_equal_the_reference() -> None:
    rules = Suited(2, 2, 2)
    with forced("blocks"):
        game = compile_game(rules)
    reference = ReferenceCFR(as_game(rules), average_power=0, alternating=True)
    assert_equal(Solver(game, "cfr"), reference, [10])


# -------------------------------------------------------------------------------- regressions


def test_merged_payoffs_are_not_rounded() -> None:
    """Coefficients are compared by their leading 40 bits; paid are all 53 of them."""

    class Third(PublicTreeGame):
        hands = [("a", "b"), ("x",)]
        prior = np.array([[0.5], [0.5]])

        def node(self, state: tuple[str, ...]) -> Decision | Payoff:
            return Payoff(1 / 3, "k") if state else Decision(0, None, ("l",))

        def matrix(self, key: str) -> np.ndarray:
            return np.array([[[1.0], [1.0]], [[-1.0], [-1.0]]])

    game = compile_game(Third())
    assert game.merged is not None
    assert Solver(game).evaluate().values[0] == pytest.approx(1 / 3, abs=1e-16)


@pytest.mark.full
def test_matrix_kinds_with_twins() -> None:
    """Every kind of matrix in a merged game whose payoffs are all blocks."""
    for seed, kind in enumerate(MATRIX_KINDS):
        game = random_public_tree_game(seed, max_hands=4, max_nodes=10, matrices=(kind,))
        rules = repeated(with_twin(with_twin(game, 0, 0), 1, 0), 3, 0)
        for path in PATHS:
            with forced(path):
                check_random(rules, PLAIN["cfr+"])


class Dead(PublicTreeGame):
    """Outcomes that never come, alike to nobody, with different games behind them."""

    hands = [("a", "b"), ("x", "y")]
    prior = np.full((2, 2), 0.25)

    def node(self, state: tuple[str, ...]) -> Decision | Chance | Payoff:
        if len(state) == 0:
            return Chance({"1": 0.5, "2": 0.5})
        if len(state) == 1:
            return Decision(0, None, ("l", "r"))
        if len(state) == 2:
            return Chance({"u": 1.0, "v": 0.0, "w": 0.0})
        if state[2] == "v" and len(state) == 3:
            return Decision(1, None, ("p", "q"))
        return Payoff(1.0 + (state[1] == "r"), "k")

    def matrix(self, key: str) -> np.ndarray:
        paid = np.array([[1.0, 2.0], [3.0, -4.0]])
        return np.stack([paid, -paid])


def test_what_never_comes_is_like_nothing() -> None:
    game = compile_game(Dead())
    assert not is_left_alone(game)
    check(game, expand=True)
    assert_one_answer(game, "cfr+", 20)


class Forced(PublicTreeGame):
    """Decisions without a choice: the first one, one in the middle, and one before the end."""

    hands = [("a", "b"), ("x", "y")]
    prior = np.array([[0.1, 0.2], [0.3, 0.4]])

    def node(self, state: tuple[str, ...]) -> Decision | Payoff:
        if len(state) in (0, 4):
            return Decision(0, None, ("go",))
        if len(state) == 1:
            return Decision(1, None, ("l", "r"))
        if len(state) == 2:
            return Decision(0, None, ("only",) if state[1] == "l" else ("u", "v"))
        if len(state) == 3:
            return Decision(1, None, ("p", "q"))
        return Payoff(1.0 + 3 * (state[3] == "p") + (state[2] == "v"), "k")

    def matrix(self, key: str) -> np.ndarray:
        paid = np.array([[1.0, -2.0], [3.0, -4.0]])
        return np.stack([paid, -paid])


def test_decisions_without_a_choice_are_left_out() -> None:
    """Wherever they stand; the answer has them all the same."""
    game = compile_game(Forced())
    check(game, expand=True)
    assert (game.merged.form.bucket_actions > 1).all()
    assert_one_answer(game, "cfr+", 20)
    assert Solver(game).average_policy()["a"] == {"go": 1.0}
