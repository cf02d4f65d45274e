"""Files that say how a game in chunks is compiled: what they name is bounded before it is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.random_games import random_public_tree_game
from tensorcfr import Solution, compile_game, solve
from tensorcfr._util import memory_budget
from tensorcfr.algorithms import CFR
from tensorcfr.errors import FileSizeError
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.rules import Decision, PublicTreeGame
from tensorcfr.storage import load_game
from tensorcfr.storage.archive import pack_text, write_arrays
from tensorcfr.storage.game_files import pack_game
from tensorcfr.storage.recipes import KEY

MIB = 1 << 20
TURN: dict[str, Any] = {
    "board": "Td9d6hQc",
    "ranges": ("AA,KK", "QQ,JJ"),
    "pot": 55,
    "stacks": 100,
    "bets": "50%",
}


def cut(source: Any, at: Any = True, **options: Any) -> ChunkedGame:
    game = compile_game(source, cut=at, **options)
    assert isinstance(game, ChunkedGame)
    return game


def forged(game: ChunkedGame, path: Path, *, without: tuple[str, ...] = (), **said: Any) -> Path:
    """A file of a game that says something else."""
    text = json.loads(bytes(pack_game(game)[KEY])) | said
    kept = {key: value for key, value in text.items() if key not in without}
    header = {"kind": "game", "name": kept["name"]}
    return write_arrays(path, header, {KEY: pack_text(json.dumps(kept))})


@pytest.mark.parametrize("source", ["kuhn(cards=10000)", "bluff(dice=(4, 4))"])
def test_a_small_file_of_a_giant_game(source: str, tmp_path: Path) -> None:
    path = forged(cut("leduc", 3), tmp_path / "game.npz", source=source)
    before = memory_budget.taken()
    with pytest.raises((FileSizeError, ValueError)):
        load_game(path, memory_limit=200 * MIB)
    assert memory_budget.taken() - before < 220 * MIB


def test_a_file_that_names_another_game_is_refused_before_it_is_compiled(tmp_path: Path) -> None:
    path = forged(cut("bluff(dice=(1, 1))"), tmp_path / "game.npz", source="bluff(dice=(2, 1))")
    with pytest.raises(ValueError, match=r"is of a game of .* histories, and bluff"):
        load_game(path)
    game = compile_game("holdem", **TURN)
    wider = str(game.recipe.source).replace("AA,KK", "AA,KK,AKs")
    path = forged(game, tmp_path / "spot.npz", source=wider)
    with pytest.raises(ValueError, match=r"is of a game of .* histories, and holdem"):
        load_game(path)


def test_a_spot_that_does_not_fit_is_too_large_a_file(tmp_path: Path) -> None:
    game = compile_game("holdem", **TURN)
    path = forged(game, tmp_path / "game.npz")
    with pytest.raises(FileSizeError, match=r"^reading .*game\.npz: compiling holdem"):
        load_game(path, memory_limit=200_000)
    assert load_game(path).digest == game.digest


def test_a_file_of_another_digest_or_without_counts_is_refused(tmp_path: Path) -> None:
    game = cut("leduc", 3)
    path = forged(game, tmp_path / "game.npz", digest=game.digest[::-1])
    for known in (None, game, cut("kuhn", 1)):
        with pytest.raises(ValueError, match="library version differ from those of"):
            load_game(path, game=known)
    path = forged(game, tmp_path / "game.npz", without=("counts",))
    with pytest.raises(ValueError, match=r"game.cut.text lacks the key 'counts'"):
        load_game(path)


class Renamed(PublicTreeGame):
    """A game whose actions are called otherwise."""

    def __init__(self, rules: PublicTreeGame) -> None:
        self.rules, self.hands, self.prior = rules, rules.hands, rules.prior
        self.matrix = rules.matrix  # type: ignore[method-assign]
        self.root = rules.root  # type: ignore[method-assign]

    @property
    def name(self) -> str:
        return self.rules.name

    def node(self, state: Any) -> Any:
        node = self.rules.node(state)
        if isinstance(node, Decision):
            return node._replace(actions=tuple(f"{action}'" for action in node.actions))
        return node

    def next(self, state: Any, action: Any) -> Any:
        node = self.rules.node(state)
        if isinstance(node, Decision):
            action = next(own for own in node.actions if f"{own}'" == action)
        return self.rules.next(state, action)


def test_files_of_games_with_other_actions_are_refused(tmp_path: Path) -> None:
    rules = random_public_tree_game(7, max_hands=5)
    game, other = cut(rules, 2), cut(Renamed(rules), 2)
    path = solve(game, CFR, iters=1).save(tmp_path / "solution.npz")
    with pytest.raises(ValueError, match="the file is of "):
        Solution.load(path, game=other)
    assert Solution.load(path, game=game).game is game
