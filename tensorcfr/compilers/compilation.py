"""One compile: the options and the memory budget that all of its steps share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._util.memory_budget import MemoryBudget
from ..model.card_structure import RoundBoards, Symmetry

AUTO = "auto"
"""Value of ``cut`` that cuts card games, and public trees with at least
:data:`~tensorcfr._util.limits.CUT_FROM` sequences."""
CutLike = bool | int | Sequence[int] | Sequence[str]
"""Place to cut.  :data:`AUTO` or True chooses by size.  A number is the number of public steps
above the cut, which are actions or public chance outcomes; several numbers cut again below each
cut.  Public labels name the nodes below which everything is a chunk.  In a card game, a number is
the deal after which chunks begin, from 1, and True is the last deal.  False does not cut."""


@dataclass(frozen=True)
class CompileProgress:
    """Progress report for the hook of :func:`tensorcfr.compile_game` while rules are read."""

    name: str
    """Name of the game."""
    done: int
    """Number of histories or public states that have been read."""
    expected: float | None
    """Estimated total of ``done``; None if it is not estimated."""
    seconds: float
    """Seconds since the compile began."""


@dataclass(frozen=True)
class Compilation:
    """Options and memory budget of one compile."""

    name: str
    """Name of the game."""
    memory: MemoryBudget
    """Memory budget, current while the steps run."""
    symmetry: bool = True
    """True to merge infosets with indistinguishable payoffs and to remove decisions with one
    action; in a card game, to solve equivalent boards once, and equivalent hands once."""
    cut: CutLike = AUTO
    """Where to cut."""
    source: str | None = None
    """Name and parameters of a built-in game, which files store."""
    limit: int | None = None
    """Maximum number of sequences in a chunk with several subtrees; by default derived from the
    cache size of this machine."""
    progress: Callable[[CompileProgress], object] | None = None
    """Function that receives reports while rules are read."""
    bucketed: Callable[[tuple[RoundBoards, ...], Symmetry], Symmetry] | None = None
    """Function that receives all boards of a card game and their symmetry, and returns the symmetry
    with hands in buckets."""
