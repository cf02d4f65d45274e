"""Tokens of Gambit's two text formats, and errors that name file, line and column.

The tokenizer is one regular expression, and the parsers are loops over its tokens.  They are
written by hand because one million nodes a minute are needed.  On the same busy machine this code
reads 2 million nodes a minute, and lark 1.3 with its LALR parser 0.29 million (0.41 million for its
tokens alone).

Source: "The extensive game (.efg) file format" and "The strategic game (.nfg) file format" in the
documentation of Gambit 16.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Never

from ..errors import FormatError

TEXT, NUMBER, MARK, WORD, END, STRAY = range(1, 7)
"""Kinds of tokens: a quoted text, a number, a brace or comma, any other word, the end of the file,
and an unmatched quotation mark.  They are the groups of the regular expression."""

# A backslash escapes a quotation mark and nothing else.  The possessive repetitions prevent
# backtracking over a text that is not closed.
_TOKEN = re.compile(
    r"""\s*+(?:
        "((?:[^"\\]++|\\"?+)*+)"
      | ([+-]?(?:\d++/\d++|(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+)(?![^\s{},"]))
      | ([{},])
      | ([^\s{},"]++)
      | (\Z)
      | (.)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)

MAX_DIGITS = 400
"""Largest number of characters in a number, and largest exponent; float64 needs no more."""


class Tokens:
    """Token stream of a text, with one current token.

    Args:
        text: The whole text.
        source: Name of the text in errors: the path of the file.
    """

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self._next = _TOKEN.finditer(text).__next__
        self._numbers: dict[str, Fraction] = {}
        self.kind = 0
        """Kind of the current token."""
        self.value = ""
        """Text of the current token, without quotation marks."""

    def advance(self) -> None:
        """Advance to the next token; the first call makes the first token current."""
        self._match = match = self._next()
        self.kind = kind = match.lastindex or 0
        self.value = match[kind]
        if kind == STRAY:
            self.fail('this quotation mark (") is not closed')

    @property
    def start(self) -> int:
        """Index in the text at which the current token begins."""
        return self._match.start(self.kind) - (self.kind == TEXT)  # Includes the quotation mark.

    def fail(self, problem: str, start: int | None = None) -> Never:
        """Raise a FormatError at an index of the text, by default at the current token."""
        start = self.start if start is None else start
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start)
        raise FormatError(self.source, line, column, problem)

    def need(self, kind: int, what: str) -> str:
        """Return the text of the current token, which must be of a kind."""
        if self.kind != kind:
            self.fail(f"expected {what}, found {self.found()}")
        return self.value

    def expect(self, kind: int, what: str) -> str:
        """Return the text of the current token, which must be of a kind, and advance."""
        value = self.need(kind, what)
        self.advance()
        return value

    def expect_mark(self, mark: str, what: str) -> None:
        """Advance past a brace, which must be the current token."""
        if not self.at(mark):
            self.fail(f"expected '{mark}' {what}, found {self.found()}")
        self.advance()

    def at(self, mark: str) -> bool:
        """Return whether the current token is this brace or comma."""
        return self.kind == MARK and self.value == mark

    def found(self) -> str:
        """Describe the current token in errors."""
        if self.kind == END:
            return "the end of the file"
        shown = self.value if len(self.value) <= 40 else f"{self.value[:37]}..."
        return f'"{shown}"' if self.kind == TEXT else shown

    def text_here(self, what: str) -> str:
        """Read the quoted text that must come next, without escapes."""
        return self.expect(TEXT, what).replace('\\"', '"')

    def whole_here(self, what: str) -> int:
        """Read the whole number >= 0 that must come next."""
        digits = self.need(NUMBER, what).removeprefix("+")
        if not digits.isdecimal() or len(digits) > 18:
            self.fail(f"{what} must be a whole number >= 0, not {self.found()}")
        self.advance()
        return int(digits)

    def number_here(self, what: str) -> Fraction:
        """Read the number that must come next, as an exact fraction."""
        # Files repeat few numbers, and building a Fraction is slow.
        number = self._numbers.get(self.need(NUMBER, what))
        if number is None:
            number = self._numbers[self.value] = self._exact(what)
        self.advance()
        return number

    def _exact(self, what: str) -> Fraction:
        """Return the current number as a fraction."""
        _, exponent, digits = self.value.lower().partition("e")
        # The power is computed in full, so a long exponent would fill the memory.
        if len(self.value) > MAX_DIGITS or (
            exponent and (len(digits) > 5 or abs(int(digits)) > MAX_DIGITS)
        ):
            self.fail(f"{what} {self.found()} is out of range")
        try:
            number = Fraction(self.value)
            float(number)
        except ZeroDivisionError:
            self.fail(f"{what} {self.value} divides by zero")
        except OverflowError:
            self.fail(f"{what} {self.found()} is out of range")
        return number

    def header(self, word: str, version: str) -> str:
        """Read ``EFG 2 R "title"`` and return the title."""
        for kind, values, what in (
            (WORD, (word,), f"{word} at the beginning of the file"),
            (NUMBER, (version,), f"the version {version} of {word}"),
            (WORD, ("R", "D"), "R or D"),
        ):
            self.advance()
            if self.kind != kind or self.value not in values:
                self.fail(f"expected {what}, found {self.found()}")
        self.advance()
        return self.text_here("the title in quotation marks")

    def texts(self, what: str) -> list[str]:
        """Read ``{ "a" "b" }``: one or more texts in braces."""
        self.expect_mark("{", f"before {what}")
        texts = [self.text_here(what)]
        while self.kind == TEXT:
            texts.append(self.text_here(what))
        self.expect_mark("}", f"after {what}")
        return texts

    def payoffs(self, n_players: int) -> tuple[Fraction, ...]:
        """Read one payoff for each player, with optional commas, and the closing brace."""
        numbers = []
        for player in range(n_players):
            if self.kind != NUMBER:
                self.fail(
                    f"expected {n_players} payoffs, one for each player, found {self.found()} "
                    f"after {player}"
                )
            numbers.append(self.number_here("the payoff"))
            if self.at(","):
                self.advance()
        self.expect_mark("}", f"after {n_players} payoffs, one for each player")
        return tuple(numbers)


def decoded(data: bytes, path: str | Path) -> str:
    """Decode the bytes of a file as UTF-8, without a byte order mark.

    Raises:
        FormatError: The bytes are not UTF-8; names line and column.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise FormatError(str(path), line, column, "this byte is not UTF-8") from None


def distinct(labels: Sequence[str]) -> list[str]:
    """Return the labels, with numbers appended to empty and repeated ones.

    >>> distinct(["a", "b", "b", ""])
    ['a', 'b_1', 'b_2', '_1']
    """
    if "" not in labels and len(set(labels)) == len(labels):
        return list(labels)
    taken = set(labels)
    unique = []
    for label in labels:
        if label and labels.count(label) == 1:
            unique.append(label)
            continue
        number = 1
        while (numbered := f"{label}_{number}") in taken:
            number += 1
        taken.add(numbered)
        unique.append(numbered)
    return unique


def quoted(label: str) -> str:
    """Quote a label as the formats write it.

    Raises:
        ValueError: The label ends in a backslash, which the formats cannot express.
    """
    if label.endswith("\\"):
        raise ValueError(f"Gambit's formats cannot write {label!r}: it ends in a backslash")
    return '"' + label.replace('"', '\\"') + '"'


def decimal(number: float) -> str:
    """Return the shortest text without an exponent that is read as this number: ``2``, ``0.1``.

    Gambit does not read an exponent after digits without a point.
    """
    shortest = repr(number + 0.0)
    if "e" not in shortest:
        return shortest.removesuffix(".0")
    return f"{Decimal(shortest):f}"
