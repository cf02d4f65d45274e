"""How large a game is, told before it is compiled.

Games of private hands are counted, trees of histories are estimated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from .._util.arguments import Limit, Number, Whole, checked
from .._util.memory import Budget, budget, free_memory
from ..errors import MemoryLimitError
from ..formats.sources import find_rules
from ..rules import CardGame, Game, PublicTreeGame
from .card_size import card_size
from .counted_size import size_of_public_states
from .estimated_size import Histories, PublicTree, estimate, estimate_quietly
from .size import Size, three_digits

REFUSED_ABOVE = 4.0
"""A game whose estimate needs so many times the limit is refused before it is walked..."""
REFUSED_ERROR = 0.25
"""... if the relative standard error of the estimate is at most this."""
ESTIMATE_SHARE = 0.04
"""Share of the limit that an estimate may take while a game is compiled."""
LEAST_ALLOWED = 4 << 20
"""Bytes that an estimate may take in any case: the growth of a process says no more precisely."""
ESTIMATED_FROM = 0.02
"""Share of the limit after which the whole game is estimated."""
TOLD_AFTER, TOLD_EVERY = 0.5, 0.1
"""Seconds after which a hook is told how far a walk is, and how often."""


@checked()
def game_size(
    source: str | Path | Game | PublicTreeGame | CardGame | Any,
    *,
    seconds: Annotated[float, Number(above=0, finite=True, counts="seconds")] = 2.0,
    seed: Annotated[int, Whole(0)] = 0,
    memory_limit: Limit = None,
    **parameters: Any,
) -> Size:
    """How large a game is, without compiling it.

    >>> game_size("leduc").infosets
    936

    Args:
        source: As for :func:`tensorcfr.compile_game`.
        seconds: How long the estimator may take where histories are sampled.
        seed: Of the estimator.
        memory_limit: Bytes that reading the rules may take; by default the free memory.
        parameters: Parameters of a built-in game.

    Raises:
        GameError: As for :func:`tensorcfr.compile_game`.
        MissingExtraError: Likewise.
        OSError: A file cannot be read.
    """
    limit = free_memory() if memory_limit is None else memory_limit
    name, rules = find_rules(source, **parameters)
    if isinstance(rules, CardGame):
        return card_size(rules, name)
    if isinstance(rules, PublicTreeGame):
        with budget(f"reading {name}", limit) as own:
            try:
                return size_of_public_states(rules, name, own)
            except MemoryLimitError:
                pass
        return estimate(PublicTree(rules), name, seconds=seconds, seed=seed)
    return estimate(Histories(rules), name, seconds=seconds, seed=seed)


@dataclass(frozen=True)
class CompileProgress:
    """What a progress hook of :func:`tensorcfr.compile_game` is told while rules are read."""

    name: str
    """The game."""
    done: int
    """Histories, or public states, read so far."""
    expected: float | None
    """About how many there are; None where that is not estimated."""
    seconds: float
    """Since the compile began."""


class Watch:
    """Looks at a game of histories while it is walked: tells how far it is, refuses what cannot
    fit.

    Args:
        rules: The game.
        name: Its name.
        own: The budget of the compile.
        progress: The hook, if any.
    """

    def __init__(
        self,
        rules: Game | PublicTreeGame,
        name: str,
        own: Budget,
        progress: Callable[[CompileProgress], object] | None,
    ) -> None:
        self.rules, self.name, self.own, self.progress = rules, name, own, progress
        self.begun = self.told = time.monotonic()
        self.size: Size | None = None
        self.is_estimated = isinstance(rules, PublicTreeGame)

    def __call__(self, count: int, coming: int) -> None:
        """Look; ``coming`` bytes are needed for the ``count`` histories so far."""
        now = time.monotonic()
        large = coming > self.own.limit * ESTIMATED_FROM
        slow = self.progress is not None and now - self.begun > TOLD_AFTER
        if not self.is_estimated and (large or slow):
            self.size = self.estimate(0.5)
            needed = self.size.bytes_compiling if self.size else 0
            if needed > REFUSED_ABOVE * self.own.limit:
                assert self.size is not None
                raise self.too_large(self.size)
        if self.progress is not None and now - self.told > TOLD_EVERY:
            self.told = now
            expected = max(self.size.histories, count) if self.size else None
            self.progress(CompileProgress(self.name, count, expected, now - self.begun))

    def explain(self, error: MemoryLimitError) -> MemoryLimitError:
        """A better error for a walk that ended at its limit: how much the whole game needs."""
        if error.about or isinstance(self.rules, PublicTreeGame):
            return error
        error.__traceback__ = None  # Its frames hold what has been walked.
        size = self.estimate(2.0)
        return (
            error if size is None or size.bytes_compiling <= error.needed else self.too_large(size)
        )

    def too_large(self, size: Size) -> MemoryLimitError:
        """The error that says about how much memory a game needs."""
        what = f"{self.own.what} (about {three_digits(size.histories)} histories)"
        return MemoryLimitError(what, int(size.bytes_compiling), self.own.limit, about=True)

    def estimate(self, seconds: float) -> Size | None:
        """An estimate that can be relied upon; None where there is none."""
        self.is_estimated = True
        assert isinstance(self.rules, Game)
        allowed = max(int(ESTIMATE_SHARE * self.own.limit), LEAST_ALLOWED)
        size = estimate_quietly(self.rules, self.name, seconds=seconds, allowed=allowed)
        return size if size is not None and size.relative_error <= REFUSED_ERROR else None


__all__ = ["CompileProgress", "Size", "Watch", "estimate", "game_size"]
