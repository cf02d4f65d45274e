"""What the arguments that solvers share must be; see :mod:`tensorcfr._util.arguments`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np

from .._util.arguments import EXACT, Check, Kind, Number, OneOf, Whole
from ..algorithms import Record
from ..errors import CutError
from ..model.arguments import laid_out
from ..model.game import CompiledGame
from ..model.team_game import TeamGame
from ..uncompiled.game import UncompiledGame

MOST_THREADS = 1024
FLOATS = ("float64", "float32")
"""Floats that a solver's arrays may be kept in."""
PACKED = "int16"
"""The precision of 16 bits, with a scale for each row, in which games in chunks may be kept."""
PRECISIONS = (*FLOATS, PACKED)


def refuse(what: bool, reason: str | ValueError) -> None:
    """Refuse what an algorithm or a game cannot honour.

    Args:
        what: Whether it is asked for.
        reason: Why it is refused, or the error that says so.

    Raises:
        ValueError: It is asked for.
    """
    if what:
        raise reason if isinstance(reason, ValueError) else ValueError(reason)


def needs_chunks(game: CompiledGame, problem: str) -> ValueError:
    """The error where something is for games in chunks, and whoever asks may have one."""
    if "chunks" not in game.layouts:
        return CutError(problem, cut=True)
    return ValueError(
        problem if game.chunks.n_chunks else f"{problem}, and {game.name} has nothing to cut"
    )


class _Playable(Check):
    """A compiled game, or what one could be compiled from."""

    def __call__(self, name: str, value: Any) -> Any:
        """A CompiledGame or an UncompiledGame."""
        if isinstance(value, (CompiledGame, TeamGame, UncompiledGame)):
            return value
        try:
            return UncompiledGame(value)
        except TypeError:
            raise self.refuse(name, value, TypeError) from None

    def __str__(self) -> str:
        return "a compiled game: compile_game makes one; or the rules of a game"


PLAYABLE = _Playable()


class _Sampled(_Playable):
    """A compiled game that is laid out, or what one could be compiled from."""

    def __call__(self, name: str, value: Any) -> Any:
        """A FlatGame or an UncompiledGame."""
        found = super().__call__(name, value)
        return laid_out(found, "sampling") if isinstance(found, CompiledGame) else found


SAMPLED = _Sampled()
CHECKPOINTS = Kind((str, int, np.integer, Iterable), "'geometric', a number, or iterations")
FLOAT = OneOf(FLOATS)
PRECISION = OneOf(PRECISIONS)
STEPS = Whole(0, EXACT)
THREADS = Whole(1, MOST_THREADS)

Named = Annotated[str | Record, Kind((str, Record), "the name of an algorithm or an Algorithm")]
Deal = Annotated[Sequence[str], Kind((Sequence,), "a sequence of chance outcomes")]
Iterations = Annotated[int, STEPS]
Target = Annotated[float, Number(0, counts="an exploitability")]
Seconds = Annotated[float, Number(0, counts="seconds")]
Nodes = Annotated[int, Whole(0, 2**63 - 1)]
