"""Each kernel equals a slow twin: plain loops over histories or infosets, no layout, no tiles."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from support.products import naive_product, pay, random_reach
from support.random_games import keyed, random_game, random_public_tree_game
from support.tiers import tiered
from tensorcfr import (
    CompiledGame,
    Game,
    Policy,
    PublicTreeGame,
    Solver,
    best_response,
    compile_game,
)
from tensorcfr._util import jit
from tensorcfr.algorithms import CFR, CFR_PLUS
from tensorcfr.evaluation.metrics import evaluate_strategies
from tensorcfr.kernels import evaluation, ties, tiles
from tensorcfr.kernels import iteration as sweeps
from tensorcfr.kernels.barrier import BARRIER_COUNTERS
from tensorcfr.payoff import ARRAYS, KINDS, PayoffBlocks, PayoffEntries, empty_part
from tensorcfr.payoff.blocks import BLOCK_TILE, COUNT
from tensorcfr.payoff.entries import TILE
from tensorcfr.rules import Chance, Decision, Payoff, Terminal
from tensorcfr.solvers.solver_state import State


class Wide(Game):
    """So many infosets in a bucket, and rows in a slice, that every kernel cuts them into tiles:
    player 0 sees what chance does, player 1 only half as well."""

    n_players = 2
    outcomes = 4 * tiles.TILE + 270

    def root(self) -> tuple[int, ...]:
        return ()

    def node(self, state: tuple[int, ...]) -> Any:
        if not state:
            return Chance(dict.fromkeys(range(self.outcomes), 1 / self.outcomes))
        seen, *acts = state
        if len(acts) == 2:
            draw = keyed(5, state)
            return Terminal([draw.uniform(-1, 1), draw.uniform(-1, 1)])
        if acts:
            return Decision(1, f"half {seen // 2}", ["a", "b"])
        return Decision(0, f"all {seen}", ["a", "b"])

    def next(self, state: tuple[Any, ...], action: Any) -> tuple[Any, ...]:
        return (*state, action)


class WidePublic(PublicTreeGame):
    """Blocks of so many terminals that they are cut into tiles: a public card comes first, and
    every card has a pot of its own."""

    hands = [("a", "b"), ("x", "y")]
    prior = np.array([[0.4, 0.1], [0.2, 0.3]])
    cards = 2 * BLOCK_TILE + 40

    def node(self, state: tuple[Any, ...]) -> Any:
        if not state:
            return Chance(dict.fromkeys(range(self.cards), 1 / self.cards))
        if len(state) == 3:
            return Payoff(keyed(6, state[0]).uniform(0.5, 2.0), state[1:])
        return Decision(len(state) - 1, None, ["l", "r"])

    def matrix(self, key: tuple[str, ...]) -> np.ndarray:
        draw = keyed(7, key)
        own = np.array([[draw.uniform(-1, 1) for _ in range(2)] for _ in range(2)])
        return np.stack([own, -own])


def corpus() -> dict[str, CompiledGame]:
    """Games that between them take every path: narrow and wide slices, many lanes, 3 players."""
    games = {
        name: compile_game(name, symmetry=False)
        for name in ("kuhn(cards=2)", "leduc", "liars_dice(faces=5)", "kuhn(players=3)")
    }
    games["goofspiel"] = compile_game("goofspiel(cards=4)")
    games["wide"] = compile_game(Wide())
    games["wide public"] = compile_game(WidePublic())
    for seed in range(6):
        games[f"random {seed}"] = compile_game(random_game(seed, n_players=2 + seed % 2))
        games[f"random public {seed}"] = compile_game(
            random_public_tree_game(seed, n_players=2 + seed % 2)
        )
    return games


GAMES = corpus()


@pytest.mark.parametrize("name", GAMES)
def test_payoff_product(name: str) -> None:
    game, reach = GAMES[name], random_reach(GAMES[name])
    for player in range(game.n_players):
        g = np.full(game.n_sequences, np.nan)
        pay(game.form, player, reach, g)
        own = slice(game.form.player_sequences[player], game.form.player_sequences[player + 1])
        np.testing.assert_allclose(
            g[own], naive_product(game, player, reach)[own], rtol=1e-12, atol=1e-14
        )
        assert np.isnan(g[: own.start]).all()
        assert np.isnan(g[own.stop :]).all()


@pytest.mark.parametrize("kind", tiered(KINDS, fast=list(KINDS)[:1]))
def test_a_part_that_pays_nothing(kind: str) -> None:
    part = empty_part(KINDS[kind])
    form = compile_game("kuhn").form._replace(operator=(part,))  # type: ignore[attr-defined]
    assert part.is_empty
    assert {
        name: (array.dtype, array.ndim) for name, array in zip(ARRAYS[kind], part, strict=True)
    } == {name: (dtype, len(shape)) for name, (dtype, shape) in ARRAYS[kind].items()}
    for player in range(2):
        own = slice(*form.player_sequences[player : player + 2])
        reach, g = np.ones((2, form.n_sequences))
        pay(form, player, reach, g)
        assert not g[own].any()
        assert not part.product(form, player, reach).any()


def naive_bounds(game: CompiledGame, player: int) -> np.ndarray:
    """What the counterfactual values of a player's sequences are at most, from the deepest up."""
    bound = naive_product(game, player, np.ones(game.n_sequences), sizes=True)
    first, end = game.form.player_infosets[player], game.form.player_infosets[player + 1]
    for infoset in reversed(range(first, end)):
        bound[game.form.infoset_parent[infoset]] += bound[game.sequences(infoset)].max()
    return bound


def naive_iteration(game: CompiledGame, state: State, player: int, bound: np.ndarray) -> None:
    """One player's CFR update, infoset by infoset, from the deepest up."""
    q = naive_product(game, player, state.reach)
    first, end = game.form.player_infosets[player], game.form.player_infosets[player + 1]
    strategy = state.strategy.copy()
    for infoset in reversed(range(first, end)):
        own = game.sequences(infoset)
        v = float(np.dot(strategy[own], q[own]))
        instant = q[own] - v
        instant[np.abs(instant) <= ties.ROUNDING * bound[own].max()] = 0.0
        state.regret[own] += instant
        positive = np.maximum(state.regret[own], 0.0)
        uniform = np.full(len(positive), 1 / len(positive))
        state.strategy[own] = positive / positive.sum() if positive.sum() > 0 else uniform
        q[game.form.infoset_parent[infoset]] += v
    state.cumulative[game.form.player_sequences[player]] += 1.0
    for infoset in range(first, end):
        own = game.sequences(infoset)
        state.cumulative[own] += state.reach[own]
        state.reach[own] = state.reach[game.form.infoset_parent[infoset]] * state.strategy[own]


@pytest.mark.parametrize("name", [name for name in GAMES if not name.startswith("liars")])
def test_iteration(name: str) -> None:
    game = GAMES[name].without_merging()
    solver, twin = Solver(game, CFR), Solver(game, CFR).state
    bounds = [naive_bounds(game, player) for player in range(game.n_players)]
    for _ in range(3):
        solver.iterate()
        for player in range(game.n_players):
            naive_iteration(game, twin, player, bounds[player])
        for field in ("reach", "cumulative", "regret"):
            found, expected = getattr(solver.state, field), getattr(twin, field)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=field)


def test_lanes_beyond_one_tile() -> None:
    """Buckets and slices longer than a tile are cut, and give what uncut ones give."""
    cards = 2 * tiles.TILE + 10
    game = compile_game(f"kuhn(cards={cards})", memory_limit=16 << 30)
    assert game.form.bucket_lanes.max() > 2 * tiles.TILE
    reach = random_reach(game)
    # A showdown against card j pays by rank: for pass-pass, the sum below i minus that above.
    g = np.empty(game.n_sequences)
    pay(game.form, 1, reach, g)
    by_label = game.infoset_index
    opener = np.array([reach[game.sequences(by_label[c])][0] for c in map(str, range(cards))])
    below = np.concatenate([[0.0], np.cumsum(opener)[:-1]])
    above = opener.sum() - below - opener
    expected = (below - above) / (cards * (cards - 1))
    found = [g[game.sequences(by_label[f"{card}p"])][0] for card in range(cards)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
    solver = Solver(game, CFR)
    solver.iterate(3)
    assert np.isfinite(solver.state.regret).all()


def test_the_wide_game_has_several_tiles() -> None:
    form = GAMES["wide"].form
    assert (form.bucket_lanes > 2 * tiles.TILE).sum() == 2
    assert form.bucket_lanes.max() > 4 * tiles.TILE
    (part,) = form.operator
    assert isinstance(part, PayoffEntries)
    assert part.rows.max() > 2 * TILE
    (blocks,) = GAMES["wide public"].form.operator
    assert isinstance(blocks, PayoffBlocks)
    assert blocks.block[:, COUNT].max() > 2 * BLOCK_TILE


@pytest.mark.parametrize("name", GAMES)
def test_best_response(name: str) -> None:
    """Of the best actions the first, and what it earns; both equal a loop over infosets."""
    game, weight = GAMES[name], random_reach(GAMES[name], seed=1)
    strategy, reach = evaluation.normalise(game.form, weight), np.empty(game.n_sequences)
    evaluation.realization_plan(game.form, strategy, reach)
    expected, best, value = evaluate_strategies(game.form, strategy)
    for player in range(game.n_players):
        q = naive_product(game, player, reach)
        empty, end = game.form.player_sequences[player : player + 2]
        assert expected[player] == pytest.approx(float(reach[empty:end] @ q[empty:end]), abs=1e-12)
        response = best_response(game, Policy(game, strategy), player)
        first, last = game.form.player_infosets[player : player + 2]
        for infoset in reversed(range(first, last)):
            own = game.sequences(infoset)
            np.testing.assert_allclose(value[own], q[own], rtol=0, atol=1e-12)
            chosen = int(value[own].argmax())
            pure = response.policy.probabilities[own].tolist()
            assert pure == [a == chosen for a in range(len(q[own]))]
            q[game.form.infoset_parent[infoset]] += q[own].max()
        assert best[player] == pytest.approx(float(q[empty]), abs=1e-12)


@pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="NumPy adds float32 to a Python float in float32"
)
@pytest.mark.parametrize("name", ["leduc", "wide"])
def test_sums_of_single_precision_are_double(name: str) -> None:
    """Products of two float32, and their sums."""
    game = GAMES[name]
    reach = random_reach(game, seed=2).astype(np.float32)
    value, (expected, best) = np.empty_like(reach), np.empty((2, game.n_players))
    evaluation.evaluate_flat(game.form, reach, value, expected, best, None)
    for player in range(game.n_players):
        pay(game.form, player, reach, value)
        own = slice(game.form.player_sequences[player], game.form.player_sequences[player + 1])
        terms = reach[own].astype(np.float64) * value[own]
        assert expected[player] == pytest.approx(terms.sum(), abs=1e-13 * np.abs(terms).sum())


@pytest.mark.parametrize("name", GAMES)
def test_normalise_and_realization_plan(name: str) -> None:
    game = GAMES[name]
    weight = random_reach(game)
    weight[::3] = 0.0
    strategy, reach = evaluation.normalise(game.form, weight), np.empty(game.n_sequences)
    evaluation.realization_plan(game.form, strategy, reach)
    for infoset in range(game.n_infosets):
        own = game.sequences(infoset)
        total = weight[own].sum()
        expected = weight[own] / total if total > 0 else 1 / len(weight[own])
        np.testing.assert_allclose(strategy[own], expected, rtol=1e-14)
        above = reach[game.form.infoset_parent[infoset]]
        np.testing.assert_allclose(reach[own], above * strategy[own], rtol=1e-14)


def test_a_cache_that_cannot_be_written_costs_time_and_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a place for compiled code numba refuses to decorate; we go on, and say why."""

    def cache(function: object) -> None:
        raise RuntimeError("cannot cache function 'f': no locator available for file 'x'")

    monkeypatch.setattr(jit, "KernelCache", cache)
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled, and nothing kept")
    with pytest.warns(jit.SlowStartWarning, match="set NUMBA_CACHE_DIR to a writable directory"):
        double = jit.kernel(lambda x: 2 * x)
    assert double(4) == 8


def test_other_errors_of_the_compiler_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def njit(**options: object) -> Callable[[Any], Any]:
        raise RuntimeError("something else")

    monkeypatch.setattr(jit.numba, "njit", njit)
    with pytest.raises(RuntimeError, match="something else"):
        jit.kernel(lambda x: x)


# ------------------------------------------------------------------------------ reference counting


@pytest.mark.compiled
def test_small_games_count_few_references() -> None:
    """Atomic counts were three quarters of the time of Kuhn poker with 29 of them in the code."""
    if numba.config.BOUNDSCHECK:
        pytest.skip("indices are checked")
    solver = Solver(compile_game("kuhn"), CFR_PLUS)
    kernel = numba.njit(nogil=True, **jit._OPTIONS)(sweeps.iterate.py_func)
    schedule, floors = CFR_PLUS.schedule(1, 0), CFR_PLUS.floors(1, 0)
    turns = CFR_PLUS.turns(1, 0, 2)
    part, counters = solver._passes.whole, np.zeros((1, BARRIER_COUNTERS), dtype=np.int64)
    kernel(part, CFR_PLUS.rule, schedule, floors, turns, None, 0, 1, counters)
    (code,) = kernel.inspect_asm().values()
    assert 0 < len(re.findall("NRT_(?:incref|decref)", code)) <= 20
