"""Pipeline of a compile, from rules to a checked game that is flat or in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from .._util.memory_budget import budget, free_memory, no_garbage_collection
from ..errors import MemoryLimitError
from ..formats.game_sources import resolve_rules, resolve_spot
from ..games.incentives import with_other_options
from ..games.poker.spot import Spot
from ..model.chunked_game import ChunkedGame
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..rules import CardGame, PublicTreeGame, Rules
from . import flat_compiler, history_reader, public_tree_reader
from .cards import card_compiler
from .cards.flat_cards import HandByHand, check_memory
from .compilation import AUTO, Compilation, CutLike
from .cut import cut_compiler
from .sizes.sizing import Watch


def compile_rules(rules: Rules, compilation: Compilation) -> CompiledGame:
    """Compile a game: read its rules, find its symmetries, lay out its arrays and check them.

    Raises:
        GameError: The rules break their contract, or the game cannot be cut.
        ImperfectRecallError: A player forgets one of their own actions.
        MemoryLimitError: The game would need more than the budget.
        ValueError: There is no such place to cut.
    """
    name, memory, cut = compilation.name, compilation.memory, compilation.cut
    if isinstance(rules, CardGame):
        options = (compilation.symmetry, cut, compilation.limit, compilation.source is not None)
        recompile = partial(_with_options, rules, options)
        if cut is False:
            return replace(lay_out_flat(rules, name, memory.limit), recompile=recompile)
        game = compile_cards(rules, compilation)
        game.recompile = recompile
        return game
    memory.watch = watch = Watch(rules, compilation)
    if not isinstance(rules, PublicTreeGame):
        if cut is not False and cut != AUTO:
            raise ValueError(f"cannot cut {name}: cut= needs private hands and a public tree")
        try:
            histories = history_reader.read_histories(rules, compilation)
        except MemoryLimitError as error:
            raise watch.explain(error) from None
        return flat_compiler.compile_histories(histories, name, symmetry=compilation.symmetry)
    cut_compiler.check_cut(rules, compilation)
    read = public_tree_reader.read(rules, compilation)
    if not cut_compiler.is_cut(rules, read, compilation):
        return flat_compiler.lay_out(rules, read, compilation)
    again = partial(lay_out_flat, rules, name, memory.limit, symmetry=compilation.symmetry)
    return cut_compiler.lay_out(rules, read, compilation, again)


def _with_options(
    rules: CardGame,
    options: tuple[bool, CutLike, int | None, bool],
    memory_limit: int | None,
    changes: Mapping[str, Any],
) -> CompiledGame:
    """Compile a card game with other options of its rules.

    Args:
        rules: The rules.
        options: How the game was compiled: symmetry, cut, limit, and whether by its text.
        memory_limit: Memory limit in bytes; None for the free memory.
        changes: The other options.
    """
    changed: Any = with_other_options(rules, changes)
    symmetry, cut, limit, has_text = options
    is_named = has_text and isinstance(changed, Spot)
    named = resolve_spot(changed) if is_named else resolve_rules(changed)
    allowed = free_memory() if memory_limit is None else memory_limit
    with budget(f"compiling {named.name}", allowed) as memory, no_garbage_collection():
        compilation = Compilation(named.name, memory, symmetry, cut, named.source, limit)
        return compile_rules(changed, compilation)


def compile_cards(rules: CardGame, compilation: Compilation) -> ChunkedGame:
    """Compile a card game into chunks; see :func:`compile_rules`."""
    again = partial(lay_out_flat, rules, compilation.name, compilation.memory.limit)
    return card_compiler.lay_out(rules, compilation, again)


def lay_out_flat(
    rules: PublicTreeGame | CardGame,
    name: str,
    default_limit: int,
    memory_limit: int | None = None,
    *,
    symmetry: bool = False,
) -> FlatGame:
    """Compile a game of private hands as a flat game, under a memory budget of its own.

    Args:
        rules: The rules.
        name: The name of the game.
        default_limit: Memory limit in bytes if the caller gives none.
        memory_limit: Memory limit in bytes; None for the default.
        symmetry: Whether to merge infosets with indistinguishable payoffs.
    """
    limit = default_limit if memory_limit is None else memory_limit
    if isinstance(rules, CardGame):
        check_memory(rules, name, limit)
        rules = HandByHand(rules)
    with budget(f"laying out {name}", limit) as memory:
        compilation = Compilation(name, memory, symmetry)
        read = public_tree_reader.read(rules, compilation)
        return flat_compiler.lay_out(rules, read, compilation)
