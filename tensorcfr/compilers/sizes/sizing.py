"""Size of a game before it is compiled, and supervision of a compile while rules are read.

Games of private hands are counted.  History trees are estimated.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

from ..._util.argument_checks import Limit, Number, Whole, checked
from ..._util.memory_budget import budget
from ...errors import MemoryLimitError, format_bytes
from ...formats.game_sources import name_of, resolve_rules
from ...rules import CardGame, Game, PublicTreeGame, Rules
from ..compilation import Compilation, CompileProgress
from .counted import count_betting, size_of_cards, size_of_public_states
from .estimated import estimate, estimate_quietly, probe
from .size import GameSize, three_digits

PROBE_AT = 1_000
"""Number of states after which random plays probe the whole game; small enough for a game that
consists of one long history."""
MARGIN = 1e6
"""Factor by which probes must exceed the nodes that fit before a game is refused.  A probe is
unbiased and never negative.  So by Markov's inequality, it exceeds ``MARGIN`` times the true number
with a probability below ``1 / MARGIN``.  Most probes find too few nodes, but the memory of the
compile is measured as well."""
LEAST_BYTES = 100
"""Lower bound on the bytes per history or public node of a compile."""
REFUSED_ABOVE = 4.0
"""Factor by which an estimate must exceed the memory limit for the game to be refused before it is
read completely ..."""
REFUSED_ERROR = 0.25
"""... if the relative standard error of the estimate is at most this."""
ESTIMATE_SHARE = 0.04
"""Share of the memory limit that an estimate may take during a compile."""
LEAST_ALLOWED = 4 << 20
"""Bytes that an estimate may always take, because the growth of a process cannot be measured more
precisely."""
ESTIMATED_FROM = 0.02
"""Share of the memory limit from which on the whole game is estimated."""
TOLD_AFTER, TOLD_EVERY = 0.5, 0.1
"""Seconds until the first progress report to a hook, and seconds between reports."""
WARNED_AFTER = 30.0
"""Seconds until a warning reports the progress of a compile without a hook, if its length is
unknown."""


@checked()
def game_size(
    source: str | Path | Rules | Any,
    *,
    seconds: Annotated[float, Number(above=0, finite=True, counts="seconds")] = 2.0,
    seed: Annotated[int, Whole(0)] = 0,
    memory_limit: Limit = None,
    **parameters: Any,
) -> GameSize:
    """Count or estimate the size of a game without compiling it.

    >>> game_size("leduc").infosets
    936

    Args:
        source: A game, as for :func:`tensorcfr.compile_game`.
        seconds: Processor time for counting the betting of a card game, or for estimating a game
            from sampled histories.  If it does not suffice, the size has ``is_whole=False`` or an
            infinite error, and the true numbers are larger.
        seed: Seed of the estimator.
        memory_limit: Memory limit in bytes for making and reading the rules; by default the free
            memory.
        parameters: Parameters of a built-in game.

    Raises:
        GameError: The game does not exist or its rules break their contract.
        MemoryLimitError: Making the rules takes more than ``memory_limit``.
        MissingExtraError: OpenSpiel or pygambit is not installed; the message names the extra.
        OSError: A file cannot be read.
    """
    with budget(f"reading {name_of(source)}", memory_limit) as memory:
        name, rules, _ = resolve_rules(source, **parameters)
        memory.what = f"reading {name}"
        if isinstance(rules, CardGame):
            betting = count_betting(rules, name, seconds=seconds)
            return size_of_cards(rules, name, betting=betting)
        if isinstance(rules, PublicTreeGame):
            compilation = Compilation(name, memory)
            memory.watch = Watch(rules, compilation)
            try:
                return size_of_public_states(rules, compilation)
            except MemoryLimitError:
                pass
    return estimate(rules, name, seconds=seconds, seed=seed)


class Watch:
    """Supervisor of a compile while rules are read: reports progress, and refuses a game that
    cannot fit.

    Args:
        rules: The rules.
        compilation: The compile.
    """

    def __init__(self, rules: Game | PublicTreeGame, compilation: Compilation) -> None:
        self.rules, self.name, self.own = rules, compilation.name, compilation.memory
        self.progress = compilation.progress
        self.begun = self.told = time.monotonic()
        self.size: GameSize | None = None
        self.is_probed = self.is_warned = False
        self.is_estimated = isinstance(rules, PublicTreeGame)

    def __call__(self, count: int, coming: int) -> None:
        """Check memory and time after ``count`` states, for which ``coming`` bytes will be
        needed."""
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
        """Return an error with the memory that the whole game needs, for a compile that hit its
        limit."""
        if error.about or isinstance(self.rules, PublicTreeGame):
            return error
        error.__traceback__ = None  # Its frames keep all visited histories in memory.
        size = self._estimate(2.0)
        if size is None or size.bytes_compiling <= error.needed:
            return error
        return self._too_large(size)

    def _probe(self) -> None:
        """Refuse a game if random plays find far more nodes than fit.

        Raises:
            MemoryLimitError: The game has far more nodes than fit.
        """
        self.is_probed = True
        most = self.own.limit / LEAST_BYTES * MARGIN
        if (n_nodes := probe(self.rules, most)) > most:
            nodes = "public nodes" if isinstance(self.rules, PublicTreeGame) else "histories"
            raise MemoryLimitError(
                f"{self.own.what} (more than {most / MARGIN:.0e} {nodes})",
                int(n_nodes / MARGIN * LEAST_BYTES),
                self.own.limit,
            )

    def _warn(self, count: int, seconds: float) -> None:
        """Warn once that reading takes long, if there is no hook and the length is unknown."""
        if seconds > WARNED_AFTER and not self.is_warned and self.size is None:
            self.is_warned = True
            warnings.warn(
                f"{self.own.what}: {count:,} histories read in {seconds:.0f} s, and samples do not "
                f"show how many there are ({format_bytes(self.own.spent)} of at most "
                f"{format_bytes(self.own.limit)} used); pass progress= to follow and to stop it",
                stacklevel=2,
            )

    def _too_large(self, size: GameSize) -> MemoryLimitError:
        """Return the error that reports about how much memory a game needs."""
        what = f"{self.own.what} (about {three_digits(size.histories)} histories)"
        return MemoryLimitError(what, int(size.bytes_compiling), self.own.limit, about=True)

    def _estimate(self, seconds: float) -> GameSize | None:
        """Return an estimate with a small error, or None if there is none."""
        self.is_estimated = True
        allowed = max(int(ESTIMATE_SHARE * self.own.limit), LEAST_ALLOWED)
        size = estimate_quietly(self.rules, self.name, seconds=seconds, allowed=allowed)
        return size if size is not None and size.relative_error <= REFUSED_ERROR else None


__all__ = ["GameSize", "Watch", "estimate", "game_size"]
