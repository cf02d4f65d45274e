"""Small games of private hands whose samples can all be enumerated."""

from __future__ import annotations

from functools import cache
from typing import Any

from support.equality import as_game
from support.random_games import MATRIX_KINDS, random_public_tree_game
from support.reference import Tree, build_tree
from tensorcfr import CompiledGame, compile_game
from tensorcfr.games import make_game

RANDOM: dict[str, dict[str, Any]] = {
    "random, no chance": {"seed": 5, "max_hands": 3, "chance": 0.0},
    "random, chance": {"seed": 22, "max_hands": 3, "matrices": MATRIX_KINDS},
    "random, chance first": {"seed": 56, "max_hands": 2},
    "random, chance upon chance": {"seed": 29, "max_hands": 3, "matrices": MATRIX_KINDS},
    "random, general sum": {"seed": 15, "max_hands": 3, "zero_sum": False},
}


SHAPE: dict[str, Any] = {
    "n_players": 2,
    "max_nodes": 16,
    "max_depth": 5,
    "chance": 0.4,
    "zero_sum": True,
}


BUILT_IN = {
    "kuhn": "kuhn",
    "liar's dice, 2 faces": "liars_dice(faces=2)",
    "leduc, 1 suit": "leduc(ranks=3, suits=1)",
}


@cache
def rules_of(name: str) -> Any:
    if name in RANDOM:
        return random_public_tree_game(**SHAPE | RANDOM[name])
    return make_game(BUILT_IN[name])


@cache
def small(name: str) -> tuple[CompiledGame, Tree]:
    rules = rules_of(name)
    game = compile_game(rules)
    assert game.histories is None
    return game, build_tree(as_game(rules))
