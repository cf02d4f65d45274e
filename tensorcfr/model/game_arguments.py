"""Requirements on arguments that are part of the model; see
:mod:`tensorcfr._util.argument_checks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from .._util.argument_checks import Kind, brief
from ..errors import CutError
from .compiled_game import CompiledGame
from .flat_game import FlatGame
from .team_game import TeamGame

COMPILED = Kind((CompiledGame,), "a compiled game (from compile_game)")
Compiled = Annotated[CompiledGame, COMPILED]
# A strategy needs only labels and numbers, which both kinds of games name in the same way.
Played = Annotated[CompiledGame, Kind((CompiledGame, TeamGame), COMPILED.words)]
CALLABLE = Kind((Callable,), "a function")


@dataclass(frozen=True)
class ByLabel(Kind):
    """Requirement of a mapping whose keys are texts."""

    def __call__(self, name: str, value: Any) -> Any:
        """Return the mapping.

        Raises:
            TypeError: The value is not a mapping, or a key is not a string.
        """
        mapping = super().__call__(name, value)
        for label in mapping:
            if not isinstance(label, str):
                raise TypeError(f"{name}: an infoset label must be a string, not {brief(label)}")
        return mapping


LOCKS = ByLabel((Mapping,), "a mapping of infoset labels to actions and probabilities")
STRATEGIES = Kind((Mapping,), "a policy, or probabilities by infoset label and action label")


def require_flat(game: CompiledGame, what: str) -> FlatGame:
    """Check that a game is flat, and return it.

    Args:
        game: The game.
        what: The user of the game, for the error: ``"the linear program"``.

    Raises:
        CutError: The game is in chunks; says how to make it flat.
    """
    if not isinstance(game, FlatGame):
        problem = f"{game.name} is in chunks, and {what} needs a flat game"
        raise CutError(problem, cut=False)
    return game


@dataclass(frozen=True)
class FlatGameCheck(Kind):
    """Requirement of a flat compiled game."""

    def __call__(self, name: str, value: Any) -> FlatGame:
        """Return the game.

        Raises:
            CutError: The game is in chunks; says how to make it flat.
        """
        return require_flat(super().__call__(name, value), "this")


@dataclass(frozen=True)
class UncutGameCheck(Kind):
    """Requirement of a compiled game without chunks."""

    def __call__(self, name: str, value: Any) -> CompiledGame:
        """Return the game.

        Raises:
            CutError: The game is in chunks; says how to make it flat.
        """
        game: CompiledGame = super().__call__(name, value)
        return game if not game.chunks.n_chunks else require_flat(game, "this")


Uncut = Annotated[CompiledGame, UncutGameCheck(COMPILED.kinds, COMPILED.words)]
"""A game whose arrays are one sequence form: a flat game, or a card game without chunks."""
Flat = Annotated[Any, FlatGameCheck(COMPILED.kinds, COMPILED.words)]
"""A :class:`FlatGame`; any other compiled game is refused."""
