"""Checks of the arguments that solvers share; see :mod:`tensorcfr._util.argument_checks`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, overload

import numpy as np

from .._util.argument_checks import EXACT, Check, Kind, Number, OneOf, Whole, brief
from ..algorithms import Record
from ..errors import CutError
from ..model.compiled_game import CompiledGame
from ..model.layout import Layout
from ..model.solvable_game import SolvableGame
from ..rules import CardGame
from ..uncompiled.uncompiled_game import UncompiledGame

MAX_THREADS = 1024
AUTO = "auto"
"""Choice of one thread per core where threads help."""
FLOATS = ("float64", "float32")
"""Floating-point dtypes of a solver's arrays."""
PACKED = "int16"
"""Precision of 16-bit numbers with one scale per row, for games in chunks."""
PRECISIONS = (*FLOATS, PACKED)


def chunks_error(game: CompiledGame, problem: str) -> ValueError:
    """Create the error of a feature that needs a game in chunks.

    It is a CutError, which suggests ``cut=``, if the game could be compiled in chunks.
    """
    nodes = game.nodes
    # A card game whose boards lie side by side has deals at which it could be cut.
    has_deals = nodes is not None and nodes.has_chance and game.n_players == 2
    if game.layout != Layout.CHUNKS or (not game.chunks.n_chunks and has_deals):
        return CutError(problem, cut=True)
    return ValueError(
        problem if game.chunks.n_chunks else f"{problem}, and {game.name} has nothing to cut"
    )


class _Playable(Check):
    """Check for a compiled game, or for rules from which a game could be compiled."""

    def __call__(self, name: str, value: Any) -> Any:
        """Return the game, or an UncompiledGame of the rules."""
        if isinstance(value, SolvableGame):
            return value
        try:
            return UncompiledGame(value)
        except TypeError as error:
            if "payoffs" in str(error):
                raise TypeError(f"{name}: {error}") from None
            raise self.refuse(name, value, TypeError) from None

    def __str__(self) -> str:
        return "a compiled game (from compile_game), or the rules of a game"


PLAYABLE = _Playable()


Units = SolvableGame | CardGame
"""Game whose own unit amounts are converted to; the rules of a card game know it, too."""


class _Amount(Number):
    """Check for a number in the game's own unit, or a text with a unit such as ``"0.5%"``.

    :func:`to_game_unit` converts the text.
    """

    def __call__(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            super().__call__(name, _split(name, value)[0])
            return value
        return super().__call__(name, value)


@overload
def to_game_unit(name: str, amount: None, game: Units) -> None: ...
@overload
def to_game_unit(name: str, amount: float | str, game: Units) -> float: ...
def to_game_unit(name: str, amount: float | str | None, game: Units) -> float | None:
    """Convert an amount to the game's own unit.

    Args:
        name: Name of the argument in errors.
        amount: A number in that unit; a text of a number with a unit of ``game.defaults.units``,
            ``"0.5%"`` (of the pot), ``"0.1 chips"``, ``"5 mbb"``, or without a unit; or None.
        game: The game, compiled or not.

    Raises:
        ValueError: The text is not an amount, or the game does not have this unit; names both.
    """
    if not isinstance(amount, str):
        return amount
    number, unit = _split(name, amount)
    units = game.defaults.units
    # In tournaments "%" is of the prizes, and the pot of a spot has a unit of its own.
    if "prizes" not in units:
        unit = unit.removesuffix(" of the pot")
    if unit and unit not in units:
        known = f"a number with {', '.join(units)}" if units else "a number in its own unit"
        why = "; big_blind= of the spot defines mbb" if unit == "mbb" and "%" in units else ""
        raise ValueError(
            f"{name}: {game.name} does not define the unit {unit!r} of {amount!r}: give "
            f"{known}{why}"
        )
    return number * units[unit] if unit else number


def _split(name: str, amount: str) -> tuple[float, str]:
    """Split a text into its number and its unit, which may be empty."""
    match = re.fullmatch(r"\s*([-+.\d]+(?:e[-+]?\d+)?|nan|inf)\s*(.*?)\s*", amount, re.IGNORECASE)
    try:
        number = float(match[1] if match else "")
    except ValueError:
        raise ValueError(
            f"{name} must be a number, or one with a unit such as '0.5%' of the pot, '0.1 chips' "
            f"or '5 mbb', not {brief(amount)}"
        ) from None
    assert match is not None
    return number, match[2]


class _Threads(Whole):
    """A number of threads, or the choice of it."""

    def __call__(self, name: str, value: Any) -> Any:
        return AUTO if isinstance(value, str) and value == AUTO else super().__call__(name, value)

    def __str__(self) -> str:
        return f"{AUTO!r} or {super().__str__()}"


CHECKPOINTS = Kind((str, int, np.integer, Iterable), "'geometric', a number, or iterations")
FLOAT = OneOf(FLOATS)
PRECISION = OneOf(PRECISIONS)
STEPS = Whole(0, EXACT, floats=True)
THREADS = Whole(1, MAX_THREADS)
THREADS_OR_AUTO = _Threads(1, MAX_THREADS)

Named = Annotated[str | Record, Kind((str, Record), "the name of an algorithm or an Algorithm")]
Deal = Annotated[Sequence[str], Kind((Sequence,), "a sequence of chance outcomes")]
Iterations = Annotated[int, STEPS]
Target = Annotated[float | str, _Amount(0, counts="an exploitability")]
Seconds = Annotated[float, Number(0, counts="seconds")]
Nodes = Annotated[int, Whole(0, 2**63 - 1, floats=True)]
