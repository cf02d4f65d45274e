"""Sizes of bets and raises as text: ``"60%,e,a"``, ``"2.5x"``, ``"20c3r"``."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_FORMS = {
    "pot": re.compile(_NUMBER + "%"),
    "times": re.compile(_NUMBER + "x"),
    "chips": re.compile(r"(\d+)c(?:(\d+)r)?"),
    "geometric": re.compile(r"(\d*)e(?:" + _NUMBER + "%)?"),
    "all-in": re.compile("a"),
}


class Size(NamedTuple):
    """One size of a bet or of a raise."""

    kind: str
    """``"pot"``: a share of the pot; ``"times"``: a multiple of the bet faced; ``"chips"``;
    ``"geometric"``: the same share of the pot on several streets that ends all-in; ``"all-in"``."""
    number: float = 0.0
    """The share, the multiple, the chips, or the streets of a geometric size (0: those left)."""
    limit: float = math.inf
    """The largest share of the pot of a geometric size; the raises of a street for chips."""


def read_sizes(text: str, what: str, *, raises: bool) -> tuple[Size, ...]:
    """The sizes in a text, separated by commas.

    ``70%`` of the pot; ``2.5x`` the bet faced (raises only); ``100c`` chips, ``20c3r`` with at most
    3 bets and raises on a street (raises only); ``a`` all-in; ``e`` the geometric size, ``2e`` for
    two streets, ``3e200%`` with at most twice the pot.

    Args:
        text: The sizes; empty, or ``"-"``, for none.
        what: What they are, as errors name it.
        raises: Whether they are sizes of raises.

    Raises:
        ValueError: The text is no list of sizes; names the size and its place.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a text such as '60%,a', not {text!r}")
    if text.strip() in ("", "-"):
        return ()
    found = []
    at = 0
    for part in text.split(","):
        begin = at + len(part) - len(part.lstrip()) + 1
        at += len(part) + 1
        found.append(_size(part.strip().lower(), f"{what}: {part.strip()!r} at character {begin}"))
        kind, _, limit = found[-1]
        if not raises and (kind == "times" or (kind == "chips" and limit != math.inf)):
            raise ValueError(f"{what}: {part.strip()!r} at character {begin} is for raises only")
    return tuple(found)


def _size(text: str, place: str) -> Size:
    found = ((kind, match) for kind, form in _FORMS.items() if (match := form.fullmatch(text)))
    kind, match = next(found, (None, None))
    if kind is None or match is None:
        raise ValueError(
            f"{place} is no size; sizes are written like 60%, 2.5x, 100c, 20c3r, e, 2e, 3e200%, a"
        )
    numbers = [float(group) if group else None for group in match.groups()]
    if any(number == 0.0 for number in numbers):
        raise ValueError(f"{place}: a size must be above 0")
    if kind == "pot":
        return Size(kind, numbers[0] / 100.0)  # type: ignore[operator]
    if kind == "times":
        if numbers[0] <= 1.0:  # type: ignore[operator]
            raise ValueError(f"{place}: a raise must be to more than 1x the bet faced")
        return Size(kind, numbers[0])  # type: ignore[arg-type]
    if kind == "chips":
        return Size(kind, numbers[0], math.inf if numbers[1] is None else numbers[1])  # type: ignore[arg-type]
    if kind == "geometric":
        limit = math.inf if numbers[1] is None else numbers[1] / 100.0
        return Size(kind, numbers[0] or 0.0, limit)
    return Size(kind)
