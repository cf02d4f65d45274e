"""Texts in a format, spoilt at random."""

from __future__ import annotations

import re
from random import Random


def mutated(text: str, rng: Random) -> str:
    """A text with a few pieces removed, repeated, or replaced."""
    pieces = re.findall(r'"[^"]*"|\S+|\s+', text)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(pieces))
        change = rng.randrange(4)
        if change == 0:
            del pieces[at]
        elif change == 1:
            pieces.insert(at, pieces[rng.randrange(len(pieces))])
        elif change == 2:
            pieces[at] = rng.choice(
                ['"', "{", "}", ",", "-1", "1/0", "é", "\\", "\0", "9e9", "t", ""]
            )
        else:
            cut = rng.randrange(len(pieces[at]) + 1)
            pieces[at] = pieces[at][:cut] + pieces[at][cut + 1 :]
        if not pieces:
            return ""
    return "".join(pieces)
