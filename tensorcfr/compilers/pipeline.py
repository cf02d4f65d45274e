"""Pipeline of a compile, from rules to a checked game that is flat or in chunks."""

from __future__ import annotations

from functools import partial

from .._util.memory_budget import budget
from ..errors import MemoryLimitError
from ..model.chunked_game import ChunkedGame
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..rules import CardGame, PublicTreeGame, Rules
from . import flat_compiler, history_reader, public_tree_reader
from .cards import card_compiler
from .cards.flat_cards import HandByHand, check_memory
from .compilation import AUTO, Compilation
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
        if cut is False:
            return lay_out_flat(rules, name, memory.limit)
        return compile_cards(rules, compilation)
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
