"""The errors of this library; each message names the cause."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from functools import partial
from typing import TypeVar

V = TypeVar("V")


class GameError(ValueError):
    """Violation of the contract of :mod:`tensorcfr.rules` by the rules of a game; names the history
    or the infoset at fault."""


class CutError(GameError):
    """Use of a game in chunks where a flat game is needed, or the reverse; says how to compile it.

    Args:
        problem: The conflict, as a clause.
        cut: True if a game in chunks is needed, False if a flat one.
    """

    def __init__(self, problem: str, *, cut: bool) -> None:
        remedy = "compile it with cut=True" if cut else "use game.flat(), or compile with cut=False"
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.cut = cut

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # By default only the message is pickled, and ``__init__`` does not take that.
        return partial(type(self), cut=self.cut), (self.problem,)


class ImperfectRecallError(GameError):
    """Imperfect recall: a player forgets an observation or an action.  Counterfactual regret
    minimization and the sequence form do not cover such games.  Abstractions allow it by an
    argument."""


class InvariantError(GameError):
    """Violation of an invariant of ``docs/reference/invariants.md`` by the arrays of a compiled
    game; begins with the number of the invariant and names the history, infoset or sequence at
    fault."""


class FormatError(GameError):
    """Error in the format of a file; begins with ``game.efg:3:14: ...``, the file, line and
    column."""

    def __init__(self, source: str, line: int, column: int, problem: str) -> None:
        super().__init__(f"{source}:{line}:{column}: {problem}")
        self.source = source
        self.line = line
        self.column = column
        self.problem = problem

    def __reduce__(self) -> tuple[type, tuple[str, int, int, str]]:
        return type(self), (self.source, self.line, self.column, self.problem)


class MemoryLimitError(MemoryError):
    """Memory request above the limit; reports both figures."""

    def __init__(self, what: str, needed: int, limit: int, about: bool = False) -> None:
        super().__init__(
            f"{what} needs {'about' if about else 'at least'} {format_bytes(needed)}, the "
            f"limit is {format_bytes(limit)}; to change it, pass for example "
            "memory_limit='2GiB'"
        )
        self.what = what
        self.needed = needed
        self.limit = limit
        self.about = about

    def __reduce__(self) -> tuple[type, tuple[str, int, int, bool]]:
        return type(self), (self.what, self.needed, self.limit, self.about)


class FileSizeError(MemoryLimitError, ValueError):
    """Attempt to read a file that would take more memory than the limit; reports both figures.  It
    is a ValueError too, like every error about the contents of a file."""


class OldFileError(ValueError):
    """File of an earlier release that can no longer be read; names a release that converts it."""


class UnknownGameError(ValueError):
    """File of a game whose rules are not in it; the caller must give the game."""


class UnknownNameError(KeyError):
    """Name that does not exist; suggests a similar one."""

    def __str__(self) -> str:
        """Return the message as it is; a plain KeyError would show its ``repr``."""
        return str(self.args[0])


class Lookup(dict[str, V]):
    """Dict of names that suggests a similar name for an unknown one.

    A key that is not a text is never in it, whether or not it can be hashed.
    """

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and super().__contains__(key)

    def __missing__(self, key: object) -> V:
        raise UnknownNameError(f"there is no {key!r}; {suggest(str(key), self)}")


class MissingExtraError(ImportError):
    """Optional package that is not installed; gives the command that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this needs the package {package!r}, which is not installed; "
            f"run: pip install 'tensorcfr[{extra}]'"
        )
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.package, self.extra)


class TrainingError(ArithmeticError):
    """Failure to train a network, because its loss is not a finite number or it has no samples;
    names the iteration and the update.  The solver keeps its state from before that iteration."""


class SweepError(RuntimeError):
    """Failure of some cells of a sweep; names the first of them.  The table of the sweep has the
    other cells."""


class ClusterError(RuntimeError):
    """Failure of a cluster: its scheduler is lost, or it has no workers.  Describes the cause."""


MOST_BYTES = 1 << 60
"""Largest number of bytes that an error reports, 1,024 PiB, more than any machine has."""


def format_bytes(count: int) -> str:
    """Format a number of bytes for people: ``"1.7 GiB"``."""
    size = float(min(count, MOST_BYTES))
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} PiB" if count < MOST_BYTES else f"{size:.0f} PiB"


MOST_LISTED = 40
"""Largest number of words that an error lists."""


def suggest(word: str, known: Collection[str]) -> str:
    """Return a hint for an unknown word: ``did you mean 'leduc'?``, or the known words, or a few of
    them if they are many."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    if len(known) > MOST_LISTED:
        return f"there are {len(known):,}, such as {', '.join(sorted(known)[:3])}"
    return f"there are: {', '.join(sorted(known))}" if known else "it has none"
