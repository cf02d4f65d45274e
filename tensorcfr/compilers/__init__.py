"""Compilers: from rules to flat arrays, once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._util.memory import free_memory
from .._util.specs import parse_spec
from ..games import make_game
from ..model.game import CompiledGame
from ..rules import Game, PublicTreeGame
from . import cut_game, histories, public_game, walked_game

OPENSPIEL_PREFIX = "openspiel:"
"""What the string of an OpenSpiel game begins with."""


def compile_game(
    source: str | Game | PublicTreeGame | Any,
    *,
    symmetry: bool = True,
    memory_limit: int | None = None,
    cut: cut_game.CutLike | None = None,
    **parameters: Any,
) -> CompiledGame:
    """Compile a game into flat arrays.

    Args:
        source: One of

            * the name of a built-in game, with its parameters as keywords or in the name:
              ``compile_game("leduc", ranks=4)``, ``compile_game("leduc(ranks=4)")``;
            * a game of your own, a :class:`Game` or a :class:`PublicTreeGame`;
            * a game of OpenSpiel, ``compile_game(pyspiel.load_game("leduc_poker"))`` or
              ``compile_game("openspiel:leduc_poker")`` (the extra ``tensorcfr[openspiel]``).
        symmetry: Whether infosets that the payoffs cannot tell apart (suits renamed, say) are
            solved as one; the solution is one of the whole game in any case.
        memory_limit: Bytes that compiling may take; by default the machine's free memory.
        cut: For games of private hands between two players, whether the public tree is cut into
            chunks, which takes less memory: True for where the caches of this machine say, a number
            of public steps, or the public labels of the nodes below which everything is a chunk.
        parameters: Parameters of a built-in game.

    Returns:
        The compiled game; see :mod:`tensorcfr.model.game` for its arrays.

    Raises:
        GameError: The game does not exist or its rules break their contract; the message names
            the history or infoset.
        ImperfectRecallError: A player forgets what he did.
        MemoryLimitError: The game needs more than ``memory_limit``; says both figures.
        MissingExtraError: OpenSpiel is asked for and not installed; says what installs it.
    """
    rules = _rules(source, parameters)
    limit = free_memory() if memory_limit is None else memory_limit
    name = _name(source, rules, parameters)
    with _no_garbage_collection():
        if cut is not None and cut is not False:
            if not isinstance(rules, PublicTreeGame):
                raise ValueError(f"{name} is no game of private hands: it cannot be cut")
            return cut_game.compile_rules(rules, name, limit, cut=cut, symmetric=symmetry)
        if isinstance(rules, PublicTreeGame):
            return public_game.compile_rules(rules, name, limit, symmetry=symmetry)
        walked = histories.walk(rules, limit)
        return walked_game.compile_walked(walked, name, symmetry=symmetry)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A walk makes millions of objects and no cycles; looking for cycles doubles its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _rules(source: Any, parameters: dict[str, Any]) -> Game | PublicTreeGame:
    """The rules that ``source`` stands for."""
    if isinstance(source, str) and not source.startswith(OPENSPIEL_PREFIX):
        return make_game(source, **parameters)
    if parameters:
        raise TypeError(
            f"parameters {', '.join(parameters)} are for built-in games asked for by name"
        )
    if isinstance(source, (Game, PublicTreeGame)):
        return source
    modules = {base.__module__.partition(".")[0] for base in type(source).__mro__}
    if isinstance(source, str) or "pyspiel" in modules:
        from ..formats.openspiel import OpenSpielGame

        return OpenSpielGame(
            source.removeprefix(OPENSPIEL_PREFIX) if isinstance(source, str) else source
        )
    raise TypeError(
        f"cannot compile {source!r}: pass a name, a Game, a PublicTreeGame or an OpenSpiel game"
    )


def _name(source: Any, rules: Game | PublicTreeGame, parameters: dict[str, Any]) -> str:
    """``leduc(ranks=4)`` for what was asked for by name, else what the rules call themselves."""
    if not isinstance(source, str) or source.startswith(OPENSPIEL_PREFIX):
        return rules.name
    base, given = parse_spec(source)
    listed = [f"{key}={value!r}" for key, value in (given | parameters).items()]
    return f"{base}({', '.join(listed)})" if listed else base
