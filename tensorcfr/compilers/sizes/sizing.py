"""How large a game is, told before it is compiled and watched while it is read.

Games of private hands are counted, trees of histories are estimated.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ..._util.arguments import Limit, Number, Whole, checked
from ..._util.memory import Budget, budget, free_memory
from ...errors import MemoryLimitError, format_bytes
from ...formats.sources import find_rules, name_of
from ...rules import CardGame, Game, PublicTreeGame, Rules
from .counted import count_betting, size_of_cards, size_of_public_states
from .estimated import estimate, estimate_quietly, probe
from .size import Size, three_digits

PROBE_AT = 1_000
"""States read after which random plays probe the whole game; small enough for a game of one long
history."""
MARGIN = 1e6
"""A game is refused if probes find so many times the nodes that fit.  A probe is unbiased and never
negative, so by Markov's inequality it finds more than ``MARGIN`` times the true number with a
probability of less than ``1 / MARGIN``.  Most find too few; the memory of a walk is measured in any
case."""
LEAST_BYTES = 100
"""Least number of bytes per history or public node of a compile."""
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
WARNED_AFTER = 30.0
"""Seconds of a walk of unknown length without a hook, after which a warning says how far it is."""


@checked()
def game_size(
    source: str | Path | Rules | Any,
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
        seconds: Processor time that counting the betting of a game of cards, or the estimator where
            histories are sampled, may take.  Where it does not suffice, the size says
            ``is_whole=False``, or an infinite error, and everything is larger than it says.
        seed: Of the estimator.
        memory_limit: Bytes that making and reading the rules may take; by default the free memory.
        parameters: Parameters of a built-in game.

    Raises:
        GameError: As for :func:`tensorcfr.compile_game`.
        MemoryLimitError: To make the rules takes more than ``memory_limit``.
        MissingExtraError: As for :func:`tensorcfr.compile_game`.
        OSError: A file cannot be read.
    """
    limit = free_memory() if memory_limit is None else memory_limit
    with budget(f"reading {name_of(source)}", limit) as own:
        name, rules, _ = find_rules(source, **parameters)
        own.what = f"reading {name}"
        if isinstance(rules, CardGame):
            betting = count_betting(rules, name, seconds=seconds)
            return size_of_cards(rules, name, betting=betting)
        if isinstance(rules, PublicTreeGame):
            own.watch = Watch(rules, name, own, None)
            try:
                return size_of_public_states(rules, name, own)
            except MemoryLimitError:
                pass
    return estimate(rules, name, seconds=seconds, seed=seed)


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
    """Looks at a game while it is read: tells how far that is, and refuses what cannot fit.

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
        self.is_probed = self.is_warned = False
        self.is_estimated = isinstance(rules, PublicTreeGame)

    def __call__(self, count: int, coming: int) -> None:
        """Look; ``coming`` bytes are needed for the ``count`` states so far."""
        if count >= PROBE_AT and not self.is_probed:
            self._probe()
        now = time.monotonic()
        large = coming > self.own.limit * ESTIMATED_FROM
        slow = self.progress is not None and now - self.begun > TOLD_AFTER
        if not self.is_estimated and (large or slow):
            self.size = self._estimate(0.5)
            if self.size and self.size.bytes_compiling > REFUSED_ABOVE * self.own.limit:
                raise self._too_large(self.size)
        if self.progress is None:
            self._warn(count, now - self.begun)
        elif now - self.told > TOLD_EVERY:
            self.told = now
            expected = max(self.size.histories, count) if self.size else None
            self.progress(CompileProgress(self.name, count, expected, now - self.begun))

    def explain(self, error: MemoryLimitError) -> MemoryLimitError:
        """A better error for a walk that ended at its limit: how much the whole game needs."""
        if error.about or isinstance(self.rules, PublicTreeGame):
            return error
        error.__traceback__ = None  # Its frames hold what has been walked.
        size = self._estimate(2.0)
        if size is None or size.bytes_compiling <= error.needed:
            return error
        return self._too_large(size)

    def _probe(self) -> None:
        """Refuse a game of which random plays say that it has far more nodes than fit.

        Raises:
            MemoryLimitError: They do.
        """
        self.is_probed = True
        most = self.own.limit / LEAST_BYTES * MARGIN
        if (found := probe(self.rules, most)) > most:
            nodes = "public nodes" if isinstance(self.rules, PublicTreeGame) else "histories"
            raise MemoryLimitError(
                f"{self.own.what} (more than {most / MARGIN:.0e} {nodes})",
                int(found / MARGIN * LEAST_BYTES),
                self.own.limit,
            )

    def _warn(self, count: int, seconds: float) -> None:
        """Say once that a walk takes long, where nobody follows it and its length is unknown."""
        if seconds > WARNED_AFTER and not self.is_warned and self.size is None:
            self.is_warned = True
            warnings.warn(
                f"{self.own.what}: {count:,} histories read in {seconds:.0f} s, and samples do not "
                f"say how many there are ({format_bytes(self.own.spent)} of at most "
                f"{format_bytes(self.own.limit)} taken); progress= follows it, and may end it",
                stacklevel=2,
            )

    def _too_large(self, size: Size) -> MemoryLimitError:
        """The error that says about how much memory a game needs."""
        what = f"{self.own.what} (about {three_digits(size.histories)} histories)"
        return MemoryLimitError(what, int(size.bytes_compiling), self.own.limit, about=True)

    def _estimate(self, seconds: float) -> Size | None:
        """An estimate that can be relied upon; None where there is none."""
        self.is_estimated = True
        allowed = max(int(ESTIMATE_SHARE * self.own.limit), LEAST_ALLOWED)
        size = estimate_quietly(self.rules, self.name, seconds=seconds, allowed=allowed)
        return size if size is not None and size.relative_error <= REFUSED_ERROR else None


__all__ = ["CompileProgress", "Size", "Watch", "estimate", "game_size"]
