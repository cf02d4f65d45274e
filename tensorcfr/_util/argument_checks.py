"""Checks of the arguments of public functions, declared in their annotations.

The annotation of a parameter holds its check, and :func:`checked` applies the checks to every call:

>>> @checked()
... def deal(cards: Annotated[int, Whole(1, 13)]) -> int:
...     return cards
>>> deal(14)
Traceback (most recent call last):
ValueError: cards must be a whole number from 1 to 13, not 14

The text of a check appears in errors and in the help of the command line.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import suggest

P = ParamSpec("P")
R = TypeVar("R")

SHOWN = 60
"""Largest number of characters of a wrong value in an error."""
LONGEST_PATH = 4096
"""Largest number of characters of a path, as on Linux."""
EXACT = 2**53
"""Whole numbers up to this one are exact as floats. Iterations are counted in floats, too."""


class Check:
    """Check of an argument. ``str(check)`` names the allowed values: ``"a whole number >= 1"``."""

    def __call__(self, name: str, value: Any) -> Any:
        """Return the value that the function receives.

        Raises:
            ValueError: The value is not allowed; the message names the parameter.
            TypeError: The value has a wrong type.
        """
        raise NotImplementedError

    def refuse(self, name: str, value: Any, kind: type[Exception] = ValueError) -> Exception:
        """Return the error for a value that is not allowed."""
        return kind(f"{name} must be {self}, not {brief(value)}")


@dataclass(frozen=True)
class Whole(Check):
    """A whole number of Python or NumPy; the function receives an ``int``."""

    least: int | None = None
    most: int | None = None
    counts: str = "a whole number"
    floats: bool = False
    """True if floats without a fraction, such as ``1e3``, are allowed."""

    def __call__(self, name: str, value: Any) -> int:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if self.floats and isinstance(value, Real) and not is_whole:
            is_whole = not isinstance(value, bool) and float(value).is_integer()
        if not is_whole or _is_outside(int(value), self.least, self.most):
            raise self.refuse(name, value)
        return int(value)

    def __str__(self) -> str:
        return self.counts + _bounds(self.least, self.most)


@dataclass(frozen=True)
class Number(Check):
    """A real number, not NaN; the function receives it unchanged."""

    least: float | None = None
    most: float | None = None
    counts: str = "a number"
    above: float | None = None
    """Exclusive lower bound."""
    finite: bool = False
    whole: bool = False
    """True if the function receives the whole part, as an ``int``."""

    def __call__(self, name: str, value: Any) -> Any:
        if not isinstance(value, Real) or isinstance(value, bool):
            raise self.refuse(name, value)
        try:
            number = float(value)
        except (OverflowError, ValueError):
            raise self.refuse(name, value) from None
        wrong = math.isnan(number) or (self.finite and math.isinf(number))
        wrong = wrong or (self.above is not None and number <= self.above)
        if wrong or _is_outside(number, self.least, self.most):
            raise self.refuse(name, value)
        return int(number) if self.whole else value

    def __str__(self) -> str:
        if self.above is not None and self.most is not None:
            return f"above {self.above:g} and at most {self.most:g}"
        above = f" above {self.above:g}" if self.above is not None else ""
        return self.counts + above + _bounds(self.least, self.most)


@dataclass(frozen=True)
class Flag(Check):
    """True or False."""

    def __call__(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool) and type(value).__name__ != "bool":
            raise self.refuse(name, value)
        return bool(value)

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class OneOf(Check):
    """One of several texts or numbers."""

    choices: tuple[Any, ...]

    def __call__(self, name: str, value: Any) -> Any:
        for choice in self.choices:
            if type(value) is type(choice) and value == choice:
                return choice
        raise self.refuse(name, value)

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.choices))}"


@dataclass(frozen=True)
class Text(Check):
    """A string."""

    longest: int | None = None
    """Largest number of characters."""

    def __call__(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        if self.longest is not None and len(value) > self.longest:
            raise self.refuse(name, value)
        return value

    def __str__(self) -> str:
        return "a text" + (f" of at most {self.longest:,} characters" if self.longest else "")


@dataclass(frozen=True)
class Where(Check):
    """Path of a file."""

    files: bool = False
    """True if an open file is allowed, too."""

    def __call__(self, name: str, value: Any) -> Any:
        if self.files and hasattr(value, "read"):
            return value
        if not isinstance(value, (str, os.PathLike)):
            raise self.refuse(name, value, TypeError)
        text = os.fspath(value)
        if not isinstance(text, str):
            raise self.refuse(name, value, TypeError)
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise self.refuse(name, value) from None
        if not text or "\0" in text or len(text) > LONGEST_PATH:
            raise self.refuse(name, value)
        return value

    def __str__(self) -> str:
        return "the path of a file, or an open file" if self.files else "the path of a file"


@dataclass(frozen=True)
class Kind(Check):
    """An instance of one of several classes."""

    kinds: tuple[Any, ...]
    words: str
    """Description for errors and help: ``"a compiled game (compile_game makes one)"``."""

    def __call__(self, name: str, value: Any) -> Any:
        is_flag = isinstance(value, bool) and bool not in self.kinds
        if not isinstance(value, self.kinds) or is_flag or _is_number_in_array(value):
            raise self.refuse(name, value, TypeError)
        return value

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Several(Check):
    """A collection of items with a common check; the function receives a list."""

    each: Check
    length: int | tuple[int, ...] | None = None
    """Required number of items, or several of which one is required; None for any number."""
    alone: bool = False
    """True if a single item is allowed in place of a list with one item."""
    ordered: bool = False
    """True if the order of the items matters, so that sets are not allowed."""

    def __call__(self, name: str, value: Any) -> list[Any]:
        if self.ordered and isinstance(value, Set):
            raise self.refuse(name, value, TypeError)
        if self.alone and (isinstance(value, (str, Real)) or not isinstance(value, Iterable)):
            return [self.each(name, value)]
        texts = isinstance(value, (str, bytes, Mapping))
        if texts or not isinstance(value, Iterable) or _is_number_in_array(value):
            raise self.refuse(name, value, TypeError)
        items = [self.each(name, item) for item in value]
        lengths = (*self._lengths, 1) if self.alone else self._lengths
        if self._lengths and len(items) not in lengths:
            raise self.refuse(name, value)
        return items

    @property
    def _lengths(self) -> tuple[int, ...]:
        """Allowed numbers of items; empty for any number."""
        if isinstance(self.length, tuple):
            return self.length
        return () if self.length is None else (self.length,)

    def __str__(self) -> str:
        lengths = " or ".join(map(str, self._lengths))
        count = f"{lengths} values" if lengths else "several values"
        return f"{f'{self.each}, or ' if self.alone else ''}{count}, each {self.each}"


@dataclass(frozen=True)
class AnyOf(Check):
    """A value that passes one of several checks; the function receives the result of the first."""

    checks: tuple[Check, ...]
    words: str
    """Description for errors and help."""

    def __call__(self, name: str, value: Any) -> Any:
        for check in self.checks:
            with suppress(TypeError, ValueError):
                return check(name, value)
        raise self.refuse(name, value)

    def __str__(self) -> str:
        return self.words


ELSEWHERE = {
    name: f"compile_game(..., {name}=...) takes it" for name in ("cut", "symmetry", "teams")
}
"""Hints for arguments that are often passed to the wrong function."""
BYTES_OF = {"B": 1, "kB": 1000} | {
    f"{letter}{unit}": base**power
    for power, letter in enumerate("KMGTP", start=1)
    for unit, base in (("iB", 1024), ("B", 1000))
}
"""Bytes of each unit of memory."""


class Bytes(Number):
    """Amount of memory: a number of bytes, or a text such as ``"2GiB"``."""

    def __call__(self, name: str, value: Any) -> int:
        if isinstance(value, str):
            match = re.fullmatch(r"\s*(\d{1,20}(?:\.\d{1,20})?)\s*(\w+)\s*", value)
            if match is None or match[2] not in BYTES_OF:
                raise self.refuse(name, value)
            return int(float(match[1]) * BYTES_OF[match[2]])
        number: int = super().__call__(name, value)
        return number

    def __str__(self) -> str:
        return f"{super().__str__()}, or a text such as '2GiB'"


Limit = Annotated[Any | None, Bytes(0, counts="bytes", finite=True, whole=True)]
"""Memory limit: a number of bytes or a text such as ``"2GiB"``; None for the free memory."""


def checked(of: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check the arguments of every call of a function against its annotations.

    Args:
        of: Owner of the parameters, a prefix of their names in errors: ``"leduc"``.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        prefix = f"{of}: " if of else ""

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                if (
                    unknown := next((n for n in kwargs if n not in signature.parameters), None)
                ) is None:
                    # An argument is missing or given twice: Python's own error names the function.
                    return function(*args, **kwargs)
                known = [parameter for parameter in signature.parameters if parameter != "self"]
                hint = ELSEWHERE.get(unknown) or suggest(unknown, known)
                raise TypeError(f"{function.__qualname__}() takes no {unknown!r}; {hint}") from None
            for name, (check, optional) in checks_of(function).items():
                if name in bound.arguments:
                    value = bound.arguments[name]
                    if not (optional and value is None):
                        bound.arguments[name] = check(f"{prefix}{name}", value)
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


@functools.cache
def checks_of(function: Callable[..., Any]) -> dict[str, tuple[Check, bool]]:
    """Return the check of each parameter, and whether the parameter may be None."""
    checks: dict[str, tuple[Check, bool]] = {}
    function = inspect.unwrap(function)
    for name, hint in get_type_hints(function, include_extras=True).items():
        # The check may be on one member of a union, as in Annotated[int, Whole(1)] | None.
        for member in _members(hint):
            if get_origin(member) is Annotated:
                inner, *about = get_args(member)
                optional = any(kind is NoneType for kind in (*_members(hint), *_members(inner)))
                for item in about:
                    if isinstance(item, Check):
                        checks[name] = item, optional
    return checks


def _members(hint: Any) -> Collection[Any]:
    """Return the members of a union; any other annotation is its only member."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_number_in_array(value: object) -> bool:
    """Return whether a value is a NumPy array of no dimensions, which cannot be iterated over."""
    return isinstance(value, np.ndarray) and value.ndim == 0


def brief(value: object) -> str:
    """Return the ``repr`` of a wrong value for an error, cut off after :data:`SHOWN` characters."""
    try:
        text = repr(value)
    except Exception:  # The repr of the value is broken: the error to report is another one.
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _is_outside(number: float, least: float | None, most: float | None) -> bool:
    return (least is not None and number < least) or (most is not None and number > most)


def _bounds(least: float | None, most: float | None) -> str:
    # Readers need no upper bound that no caller ever reaches.
    if least is not None and most is not None and most < EXACT:
        return f" from {_plain(least)} to {_plain(most)}"
    if least is not None:
        return f" >= {_plain(least)}"
    return f" <= {_plain(most)}" if most is not None else ""


def _plain(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"
