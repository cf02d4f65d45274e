"""The solver equals the slow recursive reference: every variant, built-in and random games.

"It converges" proves nothing, wrong variants converge too.  What is compared is the average
strategy itself, infoset by infoset, after a few iterations.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.equality import (
    EARLY_MARKS,
    GAMES,
    as_game,
    assert_equal,
    check_built_in,
    check_last_iterate,
    check_random,
)
from support.random_games import games, public_tree_games
from support.reference import ReferenceCFR
from support.variants import CHANGED, PLAIN, VARIANTS, YOUNGER
from tensorcfr import Game, PublicTreeGame, Solver, compile_game
from tensorcfr.games import make_game

LARGEST = ("bluff, 2 dice against 1, 3 faces, perturbed", "leduc, 1 suit, perturbed")
SMALLER = [name for name in GAMES if name not in LARGEST]
CASES = [
    *product(GAMES, [*PLAIN, *YOUNGER]),
    *product(SMALLER, [f"{variant} simultaneous" for variant in YOUNGER]),
    *product(["kuhn, 5 cards, perturbed"], CHANGED),
]


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_built_in_games(name: str, variant: str) -> None:
    check_built_in(name, VARIANTS[variant])


@pytest.mark.parametrize("variant", PLAIN)
def test_leduc(variant: str) -> None:
    rules = make_game("leduc")
    algorithm, options = PLAIN[variant]
    reference = ReferenceCFR(as_game(rules), **options)
    assert_equal(Solver(compile_game(rules), algorithm), reference, EARLY_MARKS)


@settings(deadline=None, max_examples=120)
@given(game=games(), variant=st.sampled_from(sorted(VARIANTS)))
def test_random_games(game: Game, variant: str) -> None:
    check_random(game, VARIANTS[variant])


@settings(deadline=None, max_examples=80)
@given(game=public_tree_games(), variant=st.sampled_from(sorted(VARIANTS)))
def test_random_public_tree_games(game: PublicTreeGame, variant: str) -> None:
    check_random(game, VARIANTS[variant])


@pytest.mark.parametrize("variant", VARIANTS)
def test_last_iterate(variant: str) -> None:
    check_last_iterate(VARIANTS[variant])
