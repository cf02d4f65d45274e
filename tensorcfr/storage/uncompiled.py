"""A game that is not compiled as plain arrays: a text that finds its rules again."""

from __future__ import annotations

import json
from typing import cast

from ..errors import UnknownGameError
from ..model.game import CompiledGame
from ..uncompiled.game import UncompiledGame
from .archive import Arrays, Taken, pack_text
from .fields import Fields, maybe, read_fields, text

RULES = "game/rules/text"
"""The array that files of games that are not compiled have in place of all others."""
FIELDS: Fields = {"source": maybe(text()), "name": text(), "digest": text()}
"""What the text must say."""


def pack_rules(game: UncompiledGame) -> Arrays:
    """The text that finds the rules again, if there is one."""
    said = {"source": game.source, "name": game.name, "digest": game.digest}
    return {RULES: pack_text(json.dumps(said))}


def unpack_rules(given: Taken, known: CompiledGame | None) -> CompiledGame:
    """The game that :func:`pack_rules` packed.

    Args:
        given: The arrays.
        known: The game, if the caller has it.

    Raises:
        ValueError: The text is damaged, or of another game than ``known``.
        UnknownGameError: Only the caller has the rules, and ``known`` is not given.
    """
    blob = given.take(RULES)
    try:
        said = json.loads(blob.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"array {RULES!r} is damaged: {error}") from error
    said = read_fields(said, FIELDS, where=RULES)
    if known is None:
        if said["source"] is None:
            raise UnknownGameError(
                f"{said['name']} is played by rules of your own, which are not in the file: give "
                "them as game="
            )
        known = cast(CompiledGame, UncompiledGame(said["source"]))
    if known.digest != said["digest"]:
        raise ValueError(f"the file is of {said['name']}, which is not compiled, not of {known}")
    return known
