"""Recipes: texts that say how to compile a game again, and the digest that the result must have.

The flat arrays of a game in chunks would be many times as large as the rules from which it is
compiled, and a game that is not compiled has no arrays.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .._util.memory_budget import MemoryBudget, budget
from ..compilers.cards.card_sums import check as check_cards
from ..compilers.compilation import Compilation
from ..compilers.pipeline import compile_rules
from ..compilers.sizes.counted import count_betting, size_of_cards, size_of_public_states
from ..errors import FileSizeError, MemoryLimitError, UnknownGameError
from ..formats.game_sources import ResolvedRules, find_built_in, is_built_in
from ..model.chunked_game import ChunkedGame
from ..model.compiled_game import CompiledGame
from ..rules import CardGame, PublicTreeGame
from ..uncompiled.uncompiled_game import UncompiledGame, UnknownRules
from .archive import Arrays, Taken, pack_text
from .fields import Fields, either, flag, maybe, read_text, record, several, text, whole

MOST_HISTORIES = 1 << 80
"""Largest number of histories of a game in a file: more than all machines together could visit."""
KEY, RULES = "game/cut/text", "game/rules/text"
"""Keys of the only array in files of games in chunks, and in files of uncompiled games."""


def pack_cut_game(game: ChunkedGame) -> Arrays:
    """Encode the recipe, the sizes and the digest of a game in chunks as a JSON text."""
    recipe = {
        **game.recipe._asdict(),
        "name": game.name,
        "counts": game.counts._asdict(),
        "digest": game.digest,
    }
    return {KEY: pack_text(json.dumps(recipe))}


def pack_rules(game: UncompiledGame) -> Arrays:
    """Encode the source, name and digest of an uncompiled game as a JSON text."""
    recipe = {"source": game.source, "name": game.name, "digest": game.digest}
    return {RULES: pack_text(json.dumps(recipe))}


def unpack_recipe(
    taken: Taken, known: CompiledGame | None, memory_limit: int | None
) -> CompiledGame | None:
    """Rebuild the game of :func:`pack_cut_game` or :func:`pack_rules` from its recipe.

    The source of a game is looked up only among the built-in games, so that a file cannot open a
    path or import a package.

    Args:
        taken: The arrays.
        known: The game, if the caller has it.
        memory_limit: Bytes that compiling the game may take; by default the free memory.

    Returns:
        The game; None if the arrays are those of a flat game.

    Raises:
        ValueError: The text is damaged, or the game differs from the saved one.
        FileSizeError: The game does not fit the memory.
        UnknownGameError: The game is in chunks and not built in, and ``known`` is not given.
    """
    make: Callable[[dict[str, Any], MemoryBudget], Any]
    game: Any = known
    if taken.has(KEY):
        recipe = read_text(taken, KEY, {**FOUND_BY, **RECIPE})
        make, what = _compile_built_in, "compiling"
        problem = "whose chunks, payoffs or library version differ from those of"
    elif taken.has(RULES):
        recipe = read_text(taken, RULES, FOUND_BY)
        make, what = _find_rules, "making"
        problem = "whose rules differ from those of"
    else:
        return None
    name = recipe["name"]
    if game is None:
        try:
            with budget(f"{what} {name}", memory_limit) as memory:
                game = make(recipe, memory)
                memory.reserve(0)  # Measures rules that reserved no memory.
        except MemoryLimitError as error:
            raise FileSizeError(error.what, error.needed, error.limit) from error
    if recipe["digest"] != game.digest:
        raise ValueError(f"the file is of {name}, {problem} {game.name}")
    taken.refuse_rest()
    return game


FOUND_BY: Fields = {"source": maybe(text()), "name": text(), "digest": text()}
"""Checks of the fields that every recipe has."""
COUNTS = record(
    {
        "player_infosets": several(whole()),
        "sequences": whole(),
        "histories": whole(0, MOST_HISTORIES),
        "decision_nodes": whole(0, MOST_HISTORIES),
        "public_nodes": whole(0, MOST_HISTORIES),
    }
)
"""Check of the sizes of a game in chunks, which are compared with its rules before compiling."""
RECIPE: Fields = {
    "cut": either(flag, whole(), several(whole()), several(text())),
    "limit": whole(1),
    "symmetry": flag,
    "counts": COUNTS,
}
"""Checks of the fields that the recipe of a game in chunks has in addition to :data:`FOUND_BY`."""


def _find_rules(recipe: dict[str, Any], memory: MemoryBudget) -> UncompiledGame:
    """Find the rules of a built-in game; the rules of any other game stay unknown.

    Raises:
        ValueError: The digest does not begin with a number of players.
    """
    source, name, digest = recipe["source"], recipe["name"], recipe["digest"]
    if source is not None and is_built_in(source):
        return UncompiledGame(find_built_in(source))
    # The digest begins with the name and the number of players.
    players = digest.removeprefix(f"{name}, ").partition(" ")[0]
    if not (players.isascii() and players.isdecimal() and len(players) <= 3):
        raise ValueError(f"array {RULES!r} does not say how many players {name} has")
    return UncompiledGame(ResolvedRules(name, UnknownRules(name, int(players)), source))


def _compile_built_in(recipe: dict[str, Any], memory: MemoryBudget) -> CompiledGame:
    """Compile a built-in game in chunks as its recipe says.

    Raises:
        UnknownGameError: The game is not built in.
        ValueError: The game has no private hands, or its sizes differ from the recipe.
    """
    source, name = recipe["source"], recipe["name"]
    if source is None:
        raise UnknownGameError(
            f"{name} is in chunks and not a built-in game: compile it as before, and pass it "
            "as game="
        )
    rules = find_built_in(source).rules
    if not isinstance(rules, (CardGame, PublicTreeGame)):
        raise ValueError(f"{source} has no private hands: it cannot have been cut")
    if recipe["cut"] is False:
        raise ValueError(f"array {KEY!r} is of a game that is not cut")
    cut = recipe["cut"]
    if cut is True and isinstance(rules, CardGame) and rules.n_players > 2:
        # Up to version 0.18.0, games of three players had no chunks, and their files stored True.
        cut = len(count_betting(rules, name, is_compiled=True).deals) + 1
    compilation = Compilation(
        name,
        memory,
        cut=cut,
        symmetry=recipe["symmetry"],
        source=source,
        limit=recipe["limit"],
    )
    _check_counts(rules, recipe["counts"], compilation)
    return compile_rules(rules, compilation)


def _check_counts(
    rules: CardGame | PublicTreeGame, counts: dict[str, Any], compilation: Compilation
) -> None:
    """Check the sizes in a file against the rules, before anything is compiled.

    Raises:
        ValueError: The sizes differ.
    """
    name = compilation.name
    # Counting takes little time and memory, and compiling a wrong game would take much.
    if isinstance(rules, CardGame):
        check_cards(rules, name)
        betting = count_betting(rules, name, is_compiled=True)
        size = size_of_cards(rules, name, betting=betting)
    elif rules.states_repeat:
        size = size_of_public_states(rules, compilation)
    else:
        return  # Counting its states would take as long as compiling them.
    sizes = (counts["histories"], counts["sequences"], sum(counts["player_infosets"]))
    if sizes != (size.histories, size.sequences, size.infosets):
        raise ValueError(
            f"array {KEY!r} is of a game of {sizes[0]:,} histories, and {name} has "
            f"{size.histories:,}"
        )
