"""The tokens of Gambit's two text formats, and errors that name file, line and column.

The tokenizer is one regular expression, and the parsers are loops over its tokens.  A parsing
library was measured first: lark 1.3 with its LALR parser takes seven times as long as this (0.29
and 2 million nodes a minute on one busy machine; 0.41 for lark's tokens alone), and one million
nodes a minute are needed.

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
"""Kinds of tokens: a quoted text, a number, a brace or comma, anything else up to a blank, the end
of the file, and a quotation mark without its partner."""

# A backslash escapes a quotation mark and nothing else.  The possessive repetitions keep the
# expression from looking for another reading of a text that is not closed.
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

MOST_DIGITS = 400
"""Digits of a number, and the largest exponent; a float64 has no use for more."""


class Tokens:
    """The tokens of a text, one at a time.

    Args:
        text: The whole text.
        source: What error messages call it: the path of the file.
    """

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self._next = _TOKEN.finditer(text).__next__
        self._numbers: dict[str, Fraction] = {}
        self.kind = 0
        """Kind of the current token."""
        self.value = ""
        """Its text, without quotation marks."""

    def advance(self) -> None:
        """Go to the next token; the first one is current after the first call."""
        self._match = match = self._next()
        self.kind = kind = match.lastindex or 0
        self.value = match[kind]
        if kind == STRAY:
            self.fail('this quotation mark (") is not closed')

    @property
    def start(self) -> int:
        """Where the current token begins in the text."""
        return self._match.start(self.kind) - (self.kind == TEXT)  # The quotation mark is its own.

    def fail(self, problem: str, start: int | None = None) -> Never:
        """Raise a FormatError at a place in the text, by default at the current token."""
        start = self.start if start is None else start
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start)
        raise FormatError(self.source, line, column, problem)

    def need(self, kind: int, what: str) -> str:
        """The value of the current token, which must be of a kind."""
        if self.kind != kind:
            self.fail(f"expected {what}, found {self.found()}")
        return self.value

    def expect(self, kind: int, what: str) -> str:
        """The value of the current token, which must be of a kind; goes to the next token."""
        value = self.need(kind, what)
        self.advance()
        return value

    def expect_mark(self, mark: str, what: str) -> None:
        """Go past a brace."""
        if not self.at(mark):
            self.fail(f"expected '{mark}' {what}, found {self.found()}")
        self.advance()

    def at(self, mark: str) -> bool:
        """Whether the current token is this brace or comma."""
        return self.kind == MARK and self.value == mark

    def found(self) -> str:
        """The current token, in error messages."""
        if self.kind == END:
            return "the end of the file"
        shown = self.value if len(self.value) <= 40 else f"{self.value[:37]}..."
        return f'"{shown}"' if self.kind == TEXT else shown

    def text_here(self, what: str) -> str:
        """The quoted text that must be here, unescaped; goes to the next token."""
        return self.expect(TEXT, what).replace('\\"', '"')

    def whole_here(self, what: str) -> int:
        """The whole number >= 0 that must be here; goes to the next token."""
        digits = self.need(NUMBER, what).removeprefix("+")
        if not digits.isdecimal() or len(digits) > 18:
            self.fail(f"{what} must be a whole number >= 0, not {self.found()}")
        self.advance()
        return int(digits)

    def number_here(self, what: str) -> Fraction:
        """The number that must be here, exactly; goes to the next token."""
        number = self._numbers.get(self.need(NUMBER, what))
        if number is None:
            number = self._numbers[self.value] = self._exact(what)
        self.advance()
        return number

    def _exact(self, what: str) -> Fraction:
        """The current number."""
        _, exponent, digits = self.value.lower().partition("e")
        # The power is computed in full, so a long exponent would fill the memory.
        if len(self.value) > MOST_DIGITS or (
            exponent and (len(digits) > 5 or abs(int(digits)) > MOST_DIGITS)
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
        """Read ``EFG 2 R "title"``; returns the title."""
        for kind, values, what in (
            (WORD, (word,), f"{word}, which such a file begins with"),
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
        """Read one payoff for each player, commas or none after them, and the closing brace."""
        found = []
        for player in range(n_players):
            if self.kind != NUMBER:
                self.fail(
                    f"expected {n_players} payoffs, one for each player, found {self.found()} "
                    f"after {player}"
                )
            found.append(self.number_here("the payoff"))
            if self.at(","):
                self.advance()
        self.expect_mark("}", f"after {n_players} payoffs, one for each player")
        return tuple(found)


def decoded(data: bytes, path: str | Path) -> str:
    """The text of a file's bytes, without the mark that some programs begin it with.

    Raises:
        FormatError: They are in another encoding; names line and column.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise FormatError(str(path), line, column, "this byte is not UTF-8") from None


def distinct(labels: Sequence[str]) -> list[str]:
    """The labels, with numbers where one is empty or repeated.

    >>> distinct(["a", "b", "b", ""])
    ['a', 'b_1', 'b_2', '_1']
    """
    if "" not in labels and len(set(labels)) == len(labels):
        return list(labels)
    taken = set(labels)
    found = []
    for label in labels:
        if label and labels.count(label) == 1:
            found.append(label)
            continue
        number = 1
        while (numbered := f"{label}_{number}") in taken:
            number += 1
        taken.add(numbered)
        found.append(numbered)
    return found


def quoted(label: str) -> str:
    """A label as the formats write it.

    Raises:
        ValueError: The label ends in a backslash, which the formats cannot write.
    """
    if label.endswith("\\"):
        raise ValueError(f"Gambit's formats cannot write {label!r}: it ends in a backslash")
    return '"' + label.replace('"', '\\"') + '"'


def decimal(number: float) -> str:
    """``2`` or ``0.1``: the shortest text without an exponent that is read as this number.

    Gambit reads no exponent after digits without a point.
    """
    shortest = repr(number + 0.0)
    if "e" not in shortest:
        return shortest.removesuffix(".0")
    return f"{Decimal(shortest):f}"
