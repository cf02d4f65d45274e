"""The solver equals the slow recursive reference: every variant, built-in and random games.

"It converges" proves nothing, wrong variants converge too.  What is compared is the average
strategy itself, infoset by infoset, after a few iterations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
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
from support.properties import examples
from support.random_games import games, public_tree_games
from support.reference import ReferenceCFR
from support.tiers import tiered
from support.variants import CHANGED, PLAIN, VARIANTS, YOUNGER
from tensorcfr import Game, PublicTreeGame, Solver, compile_game
from tensorcfr.games import make_game

LARGEST = ("bluff, 2 dice against 1, 3 faces, perturbed", "leduc, 1 suit, perturbed")
SMALLER = [name for name in GAMES if name not in LARGEST]
EVERY_PAIR = [
    *product(GAMES, [*PLAIN, *YOUNGER]),
    *product(SMALLER, [f"{variant} simultaneous" for variant in YOUNGER]),
    *product(["kuhn, 5 cards, perturbed"], CHANGED),
]


def covering(pairs: Sequence[tuple[str, str]], each: int) -> list[tuple[str, str]]:
    """So few pairs that every variant meets ``each`` games, and games take turns."""
    met = Counter(dict.fromkeys(GAMES, 0))
    found = []
    for variant in dict.fromkeys(variant for _, variant in pairs):
        games = [game for game, other in pairs if other == variant]
        for game in sorted(games, key=lambda game: met[game])[:each]:
            met[game] += 1
            found.append((game, variant))
    return found


CASES = covering(EVERY_PAIR, each=4)


def test_the_cases_cover_games_and_variants() -> None:
    """Pairs that differ in one of the two test little twice; random games are drawn besides."""
    variants = Counter(variant for _, variant in CASES)
    games = Counter(game for game, _ in CASES)
    assert set(variants) == set(VARIANTS)
    assert set(games) == set(GAMES)
    assert min(games.values()) >= 3
    assert min(count for variant, count in variants.items() if variant not in CHANGED) == 4


FIRST_OF_EACH = list({variant: (name, variant) for name, variant in reversed(CASES)}.values())


@pytest.mark.parametrize(("name", "variant"), tiered(CASES, FIRST_OF_EACH))
def test_built_in_games(name: str, variant: str) -> None:
    check_built_in(name, VARIANTS[variant])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), sorted(set(EVERY_PAIR) - set(CASES)))
def test_every_other_pair(name: str, variant: str) -> None:
    check_built_in(name, VARIANTS[variant])


@pytest.mark.full
@pytest.mark.parametrize("variant", PLAIN)
def test_leduc(variant: str) -> None:
    rules = make_game("leduc")
    algorithm, options = PLAIN[variant]
    reference = ReferenceCFR(as_game(rules), **options)
    assert_equal(Solver(compile_game(rules), algorithm), reference, EARLY_MARKS)


@examples(140)
@given(game=st.one_of(games(), public_tree_games()), variant=st.sampled_from(sorted(VARIANTS)))
def test_random_games(game: Game | PublicTreeGame, variant: str) -> None:
    check_random(game, VARIANTS[variant])


@pytest.mark.parametrize("variant", VARIANTS)
def test_last_iterate(variant: str) -> None:
    check_last_iterate(VARIANTS[variant])
