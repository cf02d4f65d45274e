"""Sampling on rules visits the histories that sampling on the compiled game visits.

The kernels are the same; on a public tree they are compiled into other machine code, which may fuse
other additions with multiplications.  There numbers agree to rounding on games without ties, and to
the bit with the JIT off (a process of its own, below).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest

from support.card_games import LeducOfCards, RandomCards
from support.equality import PerturbedHands, perturbed
from support.paths import ROOT
from support.random_games import random_game, random_public_tree_game
from support.tiers import tiered
from tensorcfr import (
    CompiledGame,
    Decision,
    Game,
    Policy,
    SampledSolver,
    Terminal,
    compile_game,
    evaluate,
)
from tensorcfr.algorithms import (
    AVERAGE_STRATEGY_SAMPLING,
    CFR,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    ROBUST_SAMPLING,
    Sampling,
)
from tensorcfr.compilers.dealt_rules import as_histories
from tensorcfr.games import make_game
from tensorcfr.kernels.alias import make_alias_tables
from tensorcfr.solvers.traversal import history_traversal
from tensorcfr.uncompiled.lazy_histories import alias_table

RECORDS: dict[str, Sampling] = {
    "external": EXTERNAL_SAMPLING,
    "external, stochastic": EXTERNAL_SAMPLING(averaging="stochastic"),
    "external, optimistic, cfr+": EXTERNAL_SAMPLING(averaging="optimistic", variant="cfr+"),
    "external, optimistic, restarts": EXTERNAL_SAMPLING(
        averaging="optimistic", variant=CFR(restart_base=4)
    ),
    "robust": ROBUST_SAMPLING,
    "robust, stochastic": ROBUST_SAMPLING(averaging="stochastic", tries=2),
    "average": AVERAGE_STRATEGY_SAMPLING(epsilon=0.2, threshold=1.5, bonus=0.1),
    "average, optimistic, cfr+": AVERAGE_STRATEGY_SAMPLING(
        averaging="optimistic", threshold=0.5, bonus=0.5, variant="cfr+"
    ),
    "outcome": OUTCOME_SAMPLING,
    "outcome, stochastic, linear": OUTCOME_SAMPLING(averaging="stochastic", variant="lcfr"),
    "outcome, optimistic": OUTCOME_SAMPLING(averaging="optimistic", epsilon=0.3),
    "outcome, baseline": OUTCOME_SAMPLING(baseline=0.5),
}
HANDS = {
    "kuhn": "kuhn",
    "kuhn, 3 players": "kuhn(players=3)",
    "leduc": "leduc",
    "liar's dice": "liars_dice(faces=3)",
}
RANDOM: dict[str, Any] = {
    "random": lambda: random_game(1, max_histories=150),
    "pennies": lambda: Pennies(),
    "random, 1 player": lambda: random_game(7, n_players=1, max_histories=60),
    "random, 3 players": lambda: random_game(3, n_players=3, max_histories=200),
    "random, chance upon chance": lambda: random_game(11, chance=0.6, max_histories=150),
    "random hands": lambda: random_public_tree_game(22, n_players=2, max_hands=3, chance=0.4),
    "random hands, 3 players": lambda: random_public_tree_game(4, n_players=3, max_hands=3),
}
GAMES: dict[str, Any] = {
    **{name: lambda spec=spec: PerturbedHands(make_game(spec)) for name, spec in HANDS.items()},
    **RANDOM,
    "goofspiel": lambda: perturbed("goofspiel(cards=3)"),
}
SEED, ITERATIONS = 3, 60
FAST = {
    ("random, 3 players", "external"),
    ("random, 3 players", "external, optimistic, restarts"),
    ("pennies", "external"),
    ("random hands, 3 players", "external"),
    ("leduc", "outcome"),
}


@pytest.mark.parametrize(
    ("game", "record"),
    tiered(((game, record) for game in GAMES for record in RECORDS), FAST),
)
def test_rules_are_sampled_as_the_compiled_game_is(game: str, record: str) -> None:
    rules = GAMES[game]()
    compiled = compile_game(rules)
    # Compiled games join chance nodes that follow each other, rules only those at the root; and on
    # a public tree uneven outcomes are drawn in another way.
    apart = game in ("random, chance upon chance", "random hands")
    theirs = SampledSolver(compiled, RECORDS[record], seed=SEED, deal=() if apart else None)
    if apart:
        theirs.source.tree = history_traversal(compiled, theirs.source.table, joined=False)
        rules = as_histories(rules)
        rules.joined_draws = 1
    ours = SampledSolver(rules, RECORDS[record], seed=SEED)
    one = theirs.source.tree.outcome is not None
    if one:  # On a tree of histories both run the same machine code.
        assert numba.typeof(theirs.source.arrays) == numba.typeof(ours.source.arrays)
    check_same(theirs, ours, exact=one)


def check_same(theirs: SampledSolver, ours: SampledSolver, *, exact: bool) -> None:
    """Step both, and compare visits, draws and numbers."""
    game = theirs.game
    for _ in range(3):
        theirs.iterate(ITERATIONS // 3)
        ours.iterate(ITERATIONS // 3)
        assert ours.nodes_touched == theirs.nodes_touched
        assert ours.decision_nodes_touched == theirs.decision_nodes_touched
        state, other = ours.state, theirs.state
        assert np.array_equal(state.generator, other.generator)
        table = ours.source.table
        for row, label in enumerate(table.rows):
            infoset = game.infoset_index[label]
            at = game.sequences(infoset)
            own = slice(table.first[row], table.first[row + 1])
            assert table.names[table.kind[row]] == game.infoset_actions[infoset]
            if own.stop - own.start == 1:
                continue
            for name in ("regret", "strategy", "cumulative"):
                found, expected = getattr(state, name)[own], getattr(other, name)[at]
                scale = 0.0 if exact else 1e-11 * max(1.0, float(abs(expected).max()))
                assert abs(found - expected).max() <= scale, (name, label)
            assert abs(state.last[row] - other.last[infoset]) == 0.0
        # What was not met has nothing: nobody learned there.
        met = {game.infoset_index[label] for label in table.rows}
        for infoset in set(range(game.n_infosets)) - met:
            assert not other.cumulative[game.sequences(infoset)].any()
            assert not other.regret[game.sequences(infoset)].any()


class Pennies(Game):
    """Player 1 guesses what player 0 has chosen; utilities are tuples that mirror each other."""

    def node(self, state: tuple[str, ...]) -> Decision | Terminal:
        if len(state) < 2:
            return Decision(len(state), ["first", "second"][len(state)], ("heads", "tails"))
        won = -1.0 if state[0] == state[1] else 1.0 if state[0] == "tails" else 0.4
        return Terminal((won, -won))


CARDS: dict[str, Any] = {
    "leduc": LeducOfCards,
    "two cards each": lambda: RandomCards(4, cards=6, width=2, rounds=1, public=1),
}
BIT_FOR_BIT = """
import sys
sys.path.insert(0, "tests")
from tensorcfr import SampledSolver, compile_game
from uncompiled.test_same_bits import HANDS, RECORDS, SEED, check_same
from tensorcfr.games import make_game
for spec in HANDS.values():
    for record in RECORDS.values():
        rules = make_game(spec)
        theirs = SampledSolver(compile_game(rules), record, seed=SEED)
        check_same(theirs, SampledSolver(rules, record, seed=SEED), exact=True)
print("same")
"""


@pytest.mark.full
def test_the_bits_are_the_same_without_fused_additions() -> None:
    """Ties included: the games are not perturbed."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", BIT_FOR_BIT],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "same\n", done.stderr


@pytest.mark.full
@pytest.mark.openspiel
def test_openspiel_is_sampled_as_its_compiled_histories() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("liars_dice(numdice=1)")
    theirs = SampledSolver(compile_game(game), "outcome_sampling", seed=SEED)
    ours = SampledSolver(game, "outcome_sampling", seed=SEED)
    theirs.iterate(ITERATIONS)
    ours.iterate(ITERATIONS)
    assert ours.nodes_touched == theirs.nodes_touched
    assert np.array_equal(ours.state.generator, theirs.state.generator)


@pytest.mark.parametrize("weights", [[0.5, 0.3, 0.2], [0.1] * 10, [0.0, 1.0], [1e-9, 0.9, 0.1]])
def test_alias_tables_are_those_of_the_kernel(weights: list[float]) -> None:
    count = len(weights)
    threshold, alias = np.empty(count), np.empty(count, np.uint32)
    make_alias_tables(np.array([0, count]), np.array(weights), threshold, alias)
    ours = alias_table(weights)
    assert np.allclose(ours[0], threshold, rtol=1e-15, atol=0)
    assert ours[1] == alias.tolist()


@pytest.mark.parametrize("name", tiered(CARDS, fast=["two cards each"]))
def test_cards_are_dealt_as_hand_by_hand(name: str) -> None:
    """A game of cards as histories is the game that its flat compile is of."""
    rules = CARDS[name]()
    flat = compile_game(rules, cut=False)
    histories = compile_game(as_histories(rules))
    assert set(histories.infoset_labels) == set(flat.infoset_labels)
    for policy in (
        Policy.uniform(flat).to_dict(),
        {label: {actions[-1]: 1.0} for label, actions in actions_of(flat)},
    ):
        one, other = (evaluate(game, policy) for game in (flat, histories))
        assert np.allclose(one.values, other.values, atol=1e-12)
        assert np.allclose(one.best_responses, other.best_responses, atol=1e-12)


def actions_of(game: CompiledGame) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The actions of every infoset."""
    return zip(game.infoset_labels, game.infoset_actions, strict=True)
