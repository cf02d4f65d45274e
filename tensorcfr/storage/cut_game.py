"""A game in chunks as plain arrays: how to compile it again, and a digest of what must come out.

Its flat arrays would be many times as large as what it takes to compile it.
"""

from __future__ import annotations

import json
from typing import Any

from .._util.memory import budget, free_memory
from ..compilers import card_game, cut_game
from ..errors import FileSizeError, MemoryLimitError, UnknownGameError
from ..games import make_game
from ..model.cut_game import CutGame
from ..model.game import CompiledGame
from ..rules import CardGame, PublicTreeGame
from .archive import Arrays, Taken, pack_text
from .fields import Fields, either, flag, maybe, read_fields, several, text, whole

KEY = "game/cut/text"
"""The array that files of games in chunks have in place of all others."""


def pack_cut_game(game: CutGame) -> Arrays:
    """How to compile the game again, as a text, and its digest."""
    recipe = game.recipe
    said = {**recipe._asdict(), "name": game.name, "digest": game.digest}
    return {KEY: pack_text(json.dumps(said))}


def unpack_cut_game(
    given: Taken, known: CompiledGame | None, memory_limit: int | None
) -> CompiledGame:
    """The game that :func:`pack_cut_game` packed, compiled again.

    Args:
        given: The arrays.
        known: The game, if the caller has it.
        memory_limit: Bytes that compiling may take; by default the free memory.

    Raises:
        ValueError: The text is damaged, or what is compiled is another game.
        UnknownGameError: Only the caller has the rules, and ``known`` is not given.
    """
    said = _read(given)
    if known is None:
        known = _compile(said, free_memory() if memory_limit is None else memory_limit)
    if known.digest != said["digest"]:
        raise ValueError(
            f"the file is of {said['name']}, cut into other chunks, with other payoffs or by "
            f"another version than {known.name} here"
        )
    return known


def _read(given: Taken) -> dict[str, Any]:
    """What the text says."""
    blob = given.take(KEY)
    try:
        said = json.loads(blob.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"array {KEY!r} is damaged: {error}") from error
    return read_fields(said, FIELDS, where=KEY)


FIELDS: Fields = {
    "source": maybe(text()),
    "cut": either(flag, whole(), several(text())),
    "limit": whole(1),
    "symmetry": flag,
    "name": text(),
    "digest": text(),
}
"""What the text must say."""


def _compile(said: dict[str, Any], memory_limit: int) -> CutGame:
    """The game of a name."""
    source = said["source"]
    if source is None:
        raise UnknownGameError(
            f"{said['name']} is cut into chunks and no built-in game: compile it as before, and "
            "give it as game="
        )
    rules = make_game(source)
    if isinstance(rules, CardGame):
        with budget(f"compiling {said['name']}", memory_limit) as own:
            return card_game.compile_rules(
                rules,
                said["name"],
                own,
                symmetric=said["symmetry"],
                source=source,
                limit=said["limit"],
            )
    if not isinstance(rules, PublicTreeGame):
        raise ValueError(f"{source} is no game of private hands: it cannot have been cut")
    try:
        with budget(f"compiling {said['name']}", memory_limit) as own:
            return cut_game.compile_rules(
                rules,
                said["name"],
                own,
                cut=said["cut"],
                symmetric=said["symmetry"],
                source=source,
                limit=said["limit"],
            )
    except MemoryLimitError as error:
        raise FileSizeError(error.what, error.needed, error.limit) from error
