"""The solver equals the slow recursive reference: every game, CFR and CFR+, random games.

"It converges" proves nothing, wrong variants converge too.  What is compared is the average
strategy itself, infoset by infoset, after a few iterations.  (``test_family.py`` does the same
for the younger variants.)
"""

from __future__ import annotations

import pytest
from equality import (
    EARLY_MARKS,
    GAMES,
    Variant,
    as_game,
    assert_equal,
    check_built_in,
    check_last_iterate,
    check_random,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from random_games import games, public_tree_games
from reference import ReferenceCFR

from tensorcfr import CFR, CFR_PLUS, Game, PublicTreeGame, Solver, compile_game
from tensorcfr.games import make_game

VARIANTS: dict[str, Variant] = {
    "cfr": (CFR, {"average_power": 0, "alternating": True}),
    "cfr simultaneous": (CFR(alternating=False), {"average_power": 0, "alternating": False}),
    "cfr+": (
        CFR_PLUS,
        {"regret_matching_plus": True, "average_power": 1, "alternating": True},
    ),
    "cfr+ simultaneous": (
        CFR_PLUS(alternating=False),
        {"regret_matching_plus": True, "average_power": 1, "alternating": False},
    ),
    "cfr+ quadratic, delayed": (
        CFR_PLUS(average_power=2, delay=2),
        {"regret_matching_plus": True, "average_power": 2, "delay": 2, "alternating": True},
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", GAMES)
def test_built_in_games(name: str, variant: str) -> None:
    check_built_in(name, VARIANTS[variant])


@pytest.mark.parametrize("variant", VARIANTS)
def test_leduc(variant: str) -> None:
    rules = make_game("leduc")
    algorithm, options = VARIANTS[variant]
    reference = ReferenceCFR(as_game(rules), **options)
    assert_equal(Solver(compile_game(rules), algorithm), reference, EARLY_MARKS)


@settings(deadline=None, max_examples=60)
@given(game=games(), variant=st.sampled_from(sorted(VARIANTS)))
def test_random_games(game: Game, variant: str) -> None:
    check_random(game, VARIANTS[variant])


@settings(deadline=None, max_examples=40)
@given(game=public_tree_games(), variant=st.sampled_from(sorted(VARIANTS)))
def test_random_public_tree_games(game: PublicTreeGame, variant: str) -> None:
    check_random(game, VARIANTS[variant])


@pytest.mark.parametrize("variant", VARIANTS)
def test_last_iterate(variant: str) -> None:
    check_last_iterate(VARIANTS[variant])
