"""Names that the shell completes."""

from __future__ import annotations

from ..algorithms import ALGORITHMS, AUTOMATIC
from ..games import GAMES


def games(incomplete: str) -> list[str]:
    """The built-in games that begin like this."""
    return [name for name in GAMES if name.startswith(incomplete)]


def algorithms(incomplete: str) -> list[str]:
    """The algorithms that begin like this."""
    return [name for name in (AUTOMATIC, *ALGORITHMS) if name.startswith(incomplete)]
