"""Compilers: from rules to flat arrays, once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from .._util.arguments import Flag, Kind, Limit, checked
from .._util.memory import budget, free_memory
from ..errors import MemoryLimitError
from ..formats.sources import find_rules
from ..model.game import CompiledGame
from ..rules import Game, PublicTreeGame
from . import cut_game, histories, public_game, walked_game
from .sizes import CompileProgress, Size, Watch, game_size

__all__ = ["CompileProgress", "Size", "compile_game", "game_size"]

HOOK = Kind((Callable,), "a function")


@checked()
def compile_game(
    source: str | Path | Game | PublicTreeGame | Any,
    *,
    symmetry: Annotated[bool, Flag()] = True,
    memory_limit: Limit = None,
    cut: cut_game.CutLike | None = None,
    progress: Annotated[Callable[[CompileProgress], object] | None, HOOK] = None,
    **parameters: Any,
) -> CompiledGame:
    """Compile a game into flat arrays.

    Args:
        source: One of

            * the name of a built-in game, with its parameters as keywords or in the name:
              ``compile_game("leduc", ranks=4)``, ``compile_game("leduc(ranks=4)")``;
            * a game of your own, a :class:`Game` or a :class:`PublicTreeGame`;
            * a file of Gambit, ``compile_game("game.efg")`` or ``"game.nfg"``, or a
              ``pygambit.Game``;
            * a game of OpenSpiel, ``compile_game(pyspiel.load_game("leduc_poker"))`` or
              ``compile_game("openspiel:leduc_poker")`` (the extra ``tensorcfr[openspiel]``).
        symmetry: Whether infosets that the payoffs cannot tell apart (suits renamed, say) are
            solved as one; the solution is one of the whole game in any case.
        memory_limit: Bytes that compiling may take; by default the machine's free memory.
        cut: For games of private hands between two players, whether the public tree is cut into
            chunks, which takes less memory: True for where the caches of this machine say, a number
            of public steps, or the public labels of the nodes below which everything is a chunk.
        progress: Called with a :class:`CompileProgress` about ten times a second while the rules of
            a large game are read, which is the slow part; an exception that it raises ends the
            compile.
        parameters: Parameters of a built-in game.

    Returns:
        The compiled game; see :mod:`tensorcfr.model.game` for its arrays.

    Raises:
        GameError: The game does not exist or its rules break their contract; the message names
            the history or infoset.
        FormatError: A file is not in its format; names file, line and column.
        ImperfectRecallError: A player forgets an own action.
        MemoryLimitError: The game needs more than ``memory_limit``; says both figures.
        MissingExtraError: OpenSpiel is asked for and not installed; says what installs it.
        OSError: A file cannot be read.
    """
    limit = free_memory() if memory_limit is None else memory_limit
    called = source if isinstance(source, str) else getattr(source, "name", type(source).__name__)
    with budget(f"compiling {called}", limit) as own, _no_garbage_collection():
        name, rules = find_rules(source, **parameters)
        own.what = f"compiling {name}"
        own.watch = watch = Watch(rules, name, own, progress)
        if cut is not None and cut is not False:
            if not isinstance(rules, PublicTreeGame):
                raise ValueError(f"{name} is no game of private hands: it cannot be cut")
            return cut_game.compile_rules(rules, name, own, cut=cut, symmetric=symmetry)
        if isinstance(rules, PublicTreeGame):
            return public_game.compile_rules(rules, name, own, symmetry=symmetry)
        try:
            walked = histories.walk(rules, own)
        except MemoryLimitError as error:
            raise watch.explain(error) from None
        return walked_game.compile_walked(walked, name, symmetry=symmetry)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """No garbage collection: a walk makes millions of objects and no cycles, and the search for
    cycles would double its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
