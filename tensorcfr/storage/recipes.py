"""Games as a text that says how to make them again, and a digest of what must come out.

The flat arrays of a game in chunks would be many times as large as what it takes to compile it, and
a game that is not compiled has none.
"""

from __future__ import annotations

import json
from typing import Any

from .._util.memory import Budget, budget, free_memory
from ..compilers.cards import game as card_game
from ..compilers.cards.rules import check as check_cards
from ..compilers.cut import game as cut_game
from ..compilers.sizes.counted import count_betting, size_of_cards, size_of_public_states
from ..compilers.sizes.sizing import Watch
from ..errors import FileSizeError, MemoryLimitError, UnknownGameError
from ..games import make_game
from ..model.cut_game import CutGame
from ..model.game import CompiledGame
from ..rules import CardGame, PublicTreeGame
from ..uncompiled.game import UncompiledGame
from .archive import FIRST_WITHOUT_ENTRIES, Arrays, Taken, pack_text
from .fields import Fields, either, flag, maybe, read_text, record, several, text, whole

MOST_HISTORIES = 1 << 80
"""Histories that a game may have: beyond what all machines together could visit."""
KEY, RULES = "game/cut/text", "game/rules/text"
"""The array that files of games in chunks, and of games that are not compiled, have in place of all
others."""


def pack_cut_game(game: CutGame) -> Arrays:
    """How to compile the game again, as a text, what there is of it, and its digest."""
    said = {
        **game.recipe._asdict(),
        "name": game.name,
        "counts": game.counts._asdict(),
        "digest": game.digest,
    }
    return {KEY: pack_text(json.dumps(said))}


def pack_rules(game: UncompiledGame) -> Arrays:
    """The text that finds the rules again, if there is one."""
    said = {"source": game.source, "name": game.name, "digest": game.digest}
    return {RULES: pack_text(json.dumps(said))}


def unpack_recipe(
    given: Taken, version: int, known: CompiledGame | None, memory_limit: int | None
) -> CompiledGame | None:
    """The game that :func:`pack_cut_game` or :func:`pack_rules` packed, made again.

    Args:
        given: The arrays.
        version: ``version`` in the header of their file.
        known: The game, if the caller has it.
        memory_limit: Bytes that compiling may take; by default the free memory.

    Returns:
        The game; None if the arrays are those of a game that is laid out.

    Raises:
        ValueError: The text is damaged, or what is made is another game.
        FileSizeError: The game takes more memory than there is.
        UnknownGameError: Only the caller has the rules, and ``known`` is not given.
    """
    found: Any = known
    is_old = False
    if given.has(KEY):
        said = read_text(given, KEY, {**FOUND_BY, **RECIPE}, {"counts": COUNTS})
        if known is None:
            try:
                found = _compile(said, free_memory() if memory_limit is None else memory_limit)
            except MemoryLimitError as error:
                raise FileSizeError(error.what, error.needed, error.limit) from error
        # Their digest is of other arrays.
        is_old = version < FIRST_WITHOUT_ENTRIES
        problem = "cut into other chunks, with other payoffs or by another version than"
    elif given.has(RULES):
        said = read_text(given, RULES, FOUND_BY)
        if known is None:
            if said["source"] is None:
                raise UnknownGameError(
                    f"{said['name']} is played by rules of your own, which are not in the file: "
                    "give them as game="
                )
            found = UncompiledGame(said["source"])
        problem = "which is not compiled, not of"
    else:
        return None
    is_old = is_old and (found.name == said["name"] or found.recipe.source == said["source"])
    if said["digest"] != found.digest and not is_old:
        raise ValueError(f"the file is of {said['name']}, {problem} {found.name} here")
    given.refuse_rest()
    return found


FOUND_BY: Fields = {"source": maybe(text()), "name": text(), "digest": text()}
"""What the text of every game must say."""
RECIPE: Fields = {
    "cut": either(flag, whole(), several(whole()), several(text())),
    "limit": whole(1),
    "symmetry": flag,
}
"""What that of a game in chunks must say, too."""
COUNTS = record(
    {
        "player_infosets": several(whole(), 2),
        "sequences": whole(),
        "histories": whole(0, MOST_HISTORIES),
        "decision_nodes": whole(0, MOST_HISTORIES),
        "public_nodes": whole(0, MOST_HISTORIES),
    }
)
"""What it may say, too: files of version 0.6 do not."""


def _compile(said: dict[str, Any], memory_limit: int) -> CompiledGame:
    """The game of a name."""
    source, name = said["source"], said["name"]
    if source is None:
        raise UnknownGameError(
            f"{name} is cut into chunks and no built-in game: compile it as before, and "
            "give it as game="
        )
    with budget(f"compiling {name}", memory_limit) as own:
        rules = make_game(source)
        if not isinstance(rules, (CardGame, PublicTreeGame)):
            raise ValueError(f"{source} is no game of private hands: it cannot have been cut")
        if (counts := said.get("counts")) is not None:
            _check_counts(rules, name, counts, own)
        options = {
            "cut": said["cut"],
            "symmetric": said["symmetry"],
            "source": source,
            "limit": said["limit"],
        }
        if isinstance(rules, CardGame):
            return card_game.compile_rules(rules, name, own, **options)
        own.watch = Watch(rules, name, own, None)
        return cut_game.compile_rules(rules, name, own, **options)


def _check_counts(
    rules: CardGame | PublicTreeGame, name: str, counts: dict[str, Any], own: Budget
) -> None:
    """Compare what a file says of a game with its rules, before anything is compiled.

    Raises:
        ValueError: They differ.
    """
    if isinstance(rules, CardGame):
        check_cards(rules, name)
        betting = count_betting(rules, name, is_compiled=True)
        size = size_of_cards(rules, name, betting=betting)
    elif rules.states_repeat:
        size = size_of_public_states(rules, name, own)
    else:
        return  # To count its states takes as long as to compile them.
    said = (counts["histories"], counts["sequences"], sum(counts["player_infosets"]))
    if said != (size.histories, size.sequences, size.infosets):
        raise ValueError(
            f"array {KEY!r} is of a game of {said[0]:,} histories, and {name} has "
            f"{size.histories:,}"
        )
