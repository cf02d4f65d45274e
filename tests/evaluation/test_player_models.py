"""Players who partly play a model: equal to games in which chance tosses the coins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import EARLY_MARKS, TOLERANCE, as_game, bits, difference, rounding
from support.interpreted import interpreted_kernels
from support.layouts import in_chunks, numbers_of, step_alike
from support.properties import examples
from support.random_games import games, public_tree_games
from support.reference import ReferenceCFR, normalized
from support.slow_values import SlowValues
from support.variants import VARIANTS
from tensorcfr import Game, Policy, Solution, Solver, compile_game, evaluate, solve
from tensorcfr.analysis import model_locks, regrets
from tensorcfr.evaluation.player_models import payoffs_against
from tensorcfr.games import make_game
from tensorcfr.kernels import evaluation
from tensorcfr.payoff import product
from tensorcfr.rules import Chance, Decision

MODEL, FREE_COIN = "the model", "free"
METHODS = ("restricted", "data-biased")


class Coins(Game):
    """A game in which chance tosses the coins of a model, and plays it.

    ``"restricted"``: one coin before the game; the free player never sees a game of the model.
    ``"data-biased"``: a coin at each decision of the player, who remembers the coins, so that
    nothing is forgotten; all copies of an infoset see the same payoffs in proportion.
    """

    def __init__(
        self, game: Game, player: int, method: str, weight: float, model: dict[str, list[float]]
    ) -> None:
        self.game, self.player, self.n_players = game, player, game.n_players
        self.method, self.weight, self.model = method, weight, model
        self.copies: dict[str, dict[str, float]] = {}
        """For each infoset of the player, its copies and the probability of their coins."""

    def root(self) -> Any:
        if self.method == "restricted":
            return None
        return self.game.root(), (), 1.0, False

    def node(self, state: Any) -> Any:
        if state is None:
            return Chance({MODEL: self.weight, FREE_COIN: 1 - self.weight})
        inner, coins, probability, free = state
        node = self.game.node(inner)
        if not isinstance(node, Decision) or node.player != self.player:
            return node
        label = node.infoset
        row = dict(zip(node.actions, self.model[label], strict=True))
        if self.method == "restricted":
            if coins == MODEL:
                return Chance(row)
            self.copies.setdefault(label, {})[label] = 1.0
            return node
        if not free:
            return Chance(
                {(MODEL, a): self.weight * p for a, p in row.items()} | {FREE_COIN: 1 - self.weight}
            )
        copy = f"{label} after {coins}"
        self.copies.setdefault(label, {})[copy] = probability
        return node._replace(infoset=copy)

    def next(self, state: Any, action: Any) -> Any:
        if state is None:
            return self.game.root(), action, 1.0, False
        inner, coins, probability, free = state
        if self.method == "restricted":
            return self.game.next(inner, action), coins, 1.0, False
        if action == FREE_COIN:
            return inner, coins, probability * (1 - self.weight), True
        node = self.game.node(inner)
        if not isinstance(node, Decision) or node.player != self.player:
            return self.game.next(inner, action), coins, probability, False
        if free:
            return self.game.next(inner, action), (*coins, "f"), probability, False
        model = dict(zip(node.actions, self.model[node.infoset], strict=True))
        chosen = probability * self.weight * model[action[1]]
        return self.game.next(inner, action[1]), (*coins, "m"), chosen, False


def some_model(game: Any, symmetric: bool, seed: int) -> dict[str, list[float]]:
    """Strategies by label: with zeros and differences, or equal where infosets are merged."""
    draw = np.random.default_rng(seed)
    if symmetric:
        solver = Solver(game, "cfr")
        solver.iterate(1 + seed % 3)
        policy = solver.average_policy()
    else:
        policy = Policy.from_rows(
            game,
            lambda label, actions: (
                draw.dirichlet(np.ones(len(actions)))
                if draw.random() < 0.7
                else np.eye(len(actions))[draw.integers(len(actions))]
            ),
        )
    return {label: list(row.values()) for label, row in policy.to_dict().items()}


def check(
    game: Any, rules: Game, variant: str, method: str, player: int, weight: float, model: Any
) -> None:
    algorithm, options = VARIANTS[variant]
    by_label = {
        label: dict(zip(game.locate(label).actions, row, strict=True))
        for label, row in model.items()
    }
    policy = Policy.from_mapping(game, by_label)
    locks = model_locks(game, policy, player, weight, method=method)
    solver = Solver(game, algorithm, locks=locks)
    twin = Coins(rules, player, method, weight, model)
    reference = ReferenceCFR(twin, **options)
    for mark in EARLY_MARKS:
        solver.iterate(mark - solver.iteration)
        while reference.t < mark:
            reference.iterate()
        average = solver.average_policy().to_dict()
        expected = {
            label: row
            for label, row in reference.average_policy().items()
            if reference.tree.infosets[label].player != player
        }
        free, copied = {}, {}
        for label, copies in twin.copies.items():
            sums = sum(p * np.array(reference.cumulative[copy]) for copy, p in copies.items())
            if reference.has_average and float(sums.sum()) > 1e-12:
                expected[label] = normalized(sums.tolist())
            row = np.array(list(average[label].values()))
            if method == "data-biased":
                assert (row >= weight * np.array(model[label]) - 1e-15).all()
                row = (row - weight * np.array(model[label])) / (1 - weight)
            free[label] = row.tolist()
            copied |= dict.fromkeys(copies, free[label])
        found = {
            label: free.get(label) or list(row.values())
            for label, row in average.items()
            if label in expected
        }
        if not expected:
            continue
        worst, where = difference({k: dict(enumerate(v)) for k, v in found.items()}, expected)
        assert worst <= TOLERANCE or worst <= 100 * rounding(reference.tree, options, mark), (
            f"iteration {mark}, infoset {where!r}: off by {worst}"
        )
        slow = SlowValues(
            reference.tree,
            copied | {k: list(v.values()) for k, v in average.items() if k not in twin.copies},
        )
        for figures in (solver.evaluate(), evaluate(game, solver.average_policy(), locks=locks)):
            assert figures.values == pytest.approx(slow.values, abs=1e-12)
            assert figures.best_responses == pytest.approx(slow.best_responses, abs=1e-12)


SOME = {
    "variant": st.sampled_from(sorted(VARIANTS)),
    "method": st.sampled_from(METHODS),
    "player": st.integers(0, 1),
    "weight": st.sampled_from((0.0, 0.3, 0.8)),
    "seed": st.integers(0, 99),
}


@pytest.mark.full
@examples(24)
@given(game=games(n_players=2, zero_sum=True), **SOME)
def test_random_games(game: Game, variant: str, method: str, player: int, weight: float, seed: int):  # type: ignore[no-untyped-def]
    with interpreted_kernels():
        compiled = compile_game(game)
        model = some_model(compiled, False, seed)
        check(compiled, game, variant, method, player, weight, model)


@pytest.mark.full
@examples(40)
@given(
    game=public_tree_games(n_players=2, zero_sum=True),
    cut=st.sampled_from((None, 1, 2, 3)),
    symmetric=st.booleans(),
    **SOME,
)
def test_every_layout(  # type: ignore[no-untyped-def]
    game: Any,
    cut: Any,
    symmetric: bool,
    variant: str,
    method: str,
    player: int,
    weight: float,
    seed: int,
):
    with interpreted_kernels():
        compiled = compile_game(game, cut=cut, symmetry=symmetric)
        model = some_model(compiled, symmetric, seed)
        check(compiled, as_game(game), variant, method, player, weight, model)


def test_files_keep_the_model(tmp_path: Path, interpreted: None) -> None:
    """A solution that was read has the same figures, and continues to the same bits."""
    game = compile_game("kuhn")
    uniform = Policy.uniform(game)
    for method in METHODS:
        locks = model_locks(game, uniform, 1, 0.5, method=method)
        solution = solve(game, "dcfr", iters=20, locks=locks)
        read = Solution.load(solution.save(tmp_path / f"{method}.npz"))
        assert read.locks == locks
        assert read.evaluation == solution.evaluation
        assert read.policy.probabilities.tolist() == solution.policy.probabilities.tolist()
        assert "player 1" in read.summary()
        whole = solve(game, "dcfr", iters=40, locks=locks)
        going_on = solve(read.game, iters=20, start=read)
        assert bits(going_on.state) == bits(whole.state)
        with pytest.raises(ValueError, match="start was solved with other locks"):
            solve(game, iters=1, start=solution, locks=model_locks(game, uniform, 1, 0.4))
        # In the real game the other player may do more.
        real, restricted = evaluate(game, solution.policy), solution.evaluation
        assert real.best_responses[1] > restricted.best_responses[1] + 0.01


def test_refusals() -> None:
    game = compile_game("kuhn")
    with pytest.raises(ValueError, match="needs two players, and kuhn\\(players=3\\) has 3"):
        model_locks(compile_game("kuhn(players=3)"), None, 0, 0.5)
    with pytest.raises(ValueError, match="needs a constant sum, and the utilities"):
        model_locks(compile_game("battle_of_the_sexes"), None, 0, 0.5)
    with pytest.raises(ValueError, match=r"probabilities at 'Qs r' sum to 0\.2, not to 1"):
        model_locks(compile_game("leduc"), {"Qs r": {"fold": 0.2}}, 1, 0.5)
    with pytest.raises(ValueError, match="no infoset 'Z' to lock"):
        model_locks(game, {"Z": {"bet": 1}}, 1, 0.5)
    with pytest.raises(ValueError, match="the model has no infoset of player 1"):
        model_locks(game, {"J": {"bet": 1}}, 1, 0.5)
    with pytest.raises(ValueError, match="weight must be a number from 0 to 1, not 2"):
        model_locks(game, None, 1, 2)
    locks = model_locks(game, None, 1, 0.5)
    with pytest.raises(ValueError, match="without a model of a player"):
        regrets(game, checkpoints=[1], locks=locks)
    with pytest.raises(ValueError, match="external_sampling takes no locks"):
        solve(game, "external_sampling", iters=1, locks=locks)
    with pytest.raises(ValueError, match="the model is for another game than leduc, kuhn"):
        solve(compile_game("leduc"), iters=1, locks=locks)
    cut = compile_game("leduc", cut=1)
    biased = model_locks(cut, None, 1, 0.5, method="data-biased")
    with pytest.raises(ValueError, match="takes float64 or float32, not int16"):
        Solver(cut, "dcfr", precision="int16", locks=biased)


@pytest.mark.parametrize("player", [0, 1])
def test_payoffs_against_a_model(player: int, interpreted: None) -> None:
    """Equal to the payoff product, which is taken at the terminals, also across chunks."""
    flat = compile_game("leduc(ranks=2)", symmetry=False)
    cut = compile_game("leduc(ranks=2)", cut=1, symmetry=False)
    draw = np.random.default_rng(3)
    policy = Policy.from_rows(flat, lambda label, actions: draw.dirichlet(np.ones(len(actions))))
    reach = np.empty(flat.n_sequences)
    evaluation.realization_plan(flat.form, policy.probabilities, reach)
    own = flat.form.of_player(player)
    expected = product(flat.form, player, reach)
    assert np.abs(expected).max() > 0.01
    found = payoffs_against(flat.chunks, policy.probabilities, player)
    np.testing.assert_allclose(found[own], expected, rtol=0, atol=1e-13)
    numbers = numbers_of(cut, flat)
    assert cut.chunks.n_chunks > 1
    in_cut = payoffs_against(cut.chunks, in_chunks(policy, cut).probabilities, player)
    np.testing.assert_allclose(in_cut[numbers[own]], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("player", [0, 1])
def test_chunks_equal_the_flat_game(method: str, player: int, interpreted: None) -> None:
    flat = compile_game("leduc(ranks=2)", symmetry=False)
    cut = compile_game("leduc(ranks=2)", cut=1, symmetry=False)
    draw = np.random.default_rng(4)
    policy = Policy.from_rows(flat, lambda label, actions: draw.dirichlet(np.ones(len(actions))))
    solvers = [
        Solver(game, "dcfr", locks=model_locks(game, model, player, 0.6, method=method))
        for game, model in ((flat, policy), (cut, in_chunks(policy, cut)))
    ]
    step_alike(*solvers, (3,))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("player", "variant"), [(0, "cfr+"), (1, "cfr"), (1, "dcfr")])
def test_one_card_poker(player: int, variant: str, method: str, interpreted: None) -> None:
    rules: Any = make_game("kuhn(cards=4)")
    game = compile_game(rules)
    check(game, as_game(rules), variant, method, player, 0.6, some_model(game, False, 1))
