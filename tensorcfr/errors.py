"""The errors of this library; each names the thing that is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from functools import partial
from typing import TypeVar

V = TypeVar("V")


class GameError(ValueError):
    """The rules of a game break the contract of :mod:`tensorcfr.rules`; names the history or
    the infoset at fault."""


class CutError(GameError):
    """A game is in chunks and something needs it laid out, or the reverse; says how to compile it.

    Args:
        problem: What does not go together.
        cut: Whether a game in chunks is needed, and not one that is laid out.
    """

    def __init__(self, problem: str, *, cut: bool) -> None:
        remedy = "give game.flat(), or compile it with cut=False"
        super().__init__(f"{problem}: {'compile_game(..., cut=True)' if cut else remedy}")
        self.problem = problem
        self.cut = cut

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return partial(type(self), cut=self.cut), (self.problem,)


class ImperfectRecallError(GameError):
    """A player forgets something that they knew or did: counterfactual regret minimization and the
    sequence form do not cover such games.  Abstractions allow it by name."""


class InvariantError(GameError):
    """The arrays of a compiled game break an invariant of ``docs/data-model.md``; begins with
    its number and names the history, infoset or sequence at fault."""


class FormatError(GameError):
    """A file is not in its format; says ``game.efg:3:14: ...``, the file, line and column."""

    def __init__(self, source: str, line: int, column: int, problem: str) -> None:
        super().__init__(f"{source}:{line}:{column}: {problem}")
        self.source = source
        self.line = line
        self.column = column
        self.problem = problem

    def __reduce__(self) -> tuple[type, tuple[str, int, int, str]]:
        return type(self), (self.source, self.line, self.column, self.problem)


class MemoryLimitError(MemoryError):
    """More memory would be needed than may be used; says both figures."""

    def __init__(self, what: str, needed: int, limit: int, about: bool = False) -> None:
        super().__init__(
            f"{what} needs {'about' if about else 'at least'} {format_bytes(needed)}, the limit is "
            f"{format_bytes(limit)}; memory_limit='2GiB', say, changes it"
        )
        self.what = what
        self.needed = needed
        self.limit = limit
        self.about = about

    def __reduce__(self) -> tuple[type, tuple[str, int, int, bool]]:
        return type(self), (self.what, self.needed, self.limit, self.about)


class FileSizeError(MemoryLimitError, ValueError):
    """A file would take more memory than may be used: a ValueError, as whenever a file is refused;
    says both figures."""


class OldFileError(ValueError):
    """A file of an earlier release is not read any more; names a release that converts it."""


class UnknownGameError(ValueError):
    """A file is of a game whose rules are not in it; the caller must give the game."""


class UnknownNameError(KeyError):
    """There is nothing of a name; says what is near."""

    def __str__(self) -> str:
        """The message as it is: of other errors of keys, Python shows the ``repr``."""
        return str(self.args[0])


class Lookup(dict[str, V]):
    """A dict of names, whose error for a name that it does not have says which are near.

    Something that is not a text is never a key, whether it can be hashed or not.
    """

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and super().__contains__(key)

    def __missing__(self, key: object) -> V:
        raise UnknownNameError(f"there is no {key!r}; {suggest(str(key), self)}")


class MissingExtraError(ImportError):
    """An optional package is missing; says the command that installs it."""

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
    """A network cannot be trained: its loss is no finite number, or it has no samples; names the
    iteration and the update.  The solver is as it was before that iteration."""


class SweepError(RuntimeError):
    """Some cells of a sweep failed; the others are in its table.  Names the first of them."""


class ClusterError(RuntimeError):
    """A cluster cannot go on: its scheduler is lost, or it has no workers.  Says what happened."""


MOST_BYTES = 1 << 60
"""As many bytes are said to be needed at most: 1,024 PiB, which no machine has."""


def format_bytes(count: int) -> str:
    """A size for people: ``"1.7 GiB"``."""
    size = float(min(count, MOST_BYTES))
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} PiB" if count < MOST_BYTES else f"{size:.0f} PiB"


MOST_LISTED = 40
"""Words that an error lists."""


def suggest(word: str, known: Collection[str]) -> str:
    """``did you mean 'leduc'?``, or what there is: all of it, or a few of many."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    if len(known) > MOST_LISTED:
        return f"there are {len(known):,}, such as {', '.join(sorted(known)[:3])}"
    return f"there are: {', '.join(sorted(known))}" if known else "it has none"
