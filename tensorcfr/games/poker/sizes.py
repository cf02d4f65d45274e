"""Sizes of bets and raises as text: ``"60%,e,a"``, ``"50,120"``, ``"2.5x"``, ``"20c3r"``."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from .deck import pieces

_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_FORMS = {
    "pot": re.compile(_NUMBER + "%?"),
    "times": re.compile(_NUMBER + "x"),
    "chips": re.compile(_NUMBER + "c"),
    "geometric": re.compile(r"(\d*)e(?:" + _NUMBER + "%)?"),
    "least": re.compile("min"),
    "all-in": re.compile("a|allin|all-in"),
}
_CAP = re.compile(r"(\d+)r$")

LARGEST = 1e9
"""Largest number in a size, equal to the limit on chips, so that every amount is finite."""


class BetSize(NamedTuple):
    """Size of a bet or of a raise."""

    kind: str
    """``"pot"``: a share of the pot; ``"times"``: a multiple of the bet faced; ``"chips"``;
    ``"geometric"``: the share of the pot that, bet on several streets, ends all-in; ``"least"``:
    the smallest legal raise; ``"all-in"``."""
    number: float = 0.0
    """Share, multiple, chips, or number of streets of a geometric size (0: all that are left)."""
    limit: float = math.inf
    """Largest share of the pot of a geometric size."""
    max_raises: float = math.inf
    """Largest number of raises on a street."""


def read_sizes(text: str, what: str, *, raises: bool) -> tuple[BetSize, ...]:
    """Read the sizes in a text, separated by commas.

    A size is

    * ``70%`` or ``70``: a share of the pot; ``pot``: all of it;
    * ``2.5x``: a multiple of the bet faced (raises only);
    * ``100c``: a number of chips;
    * ``a`` or ``allin``: all-in;
    * ``min``: the smallest raise (raises only);
    * ``e``: the geometric size; ``2e`` for two streets, ``3e200%`` with at most twice the pot.

    A size that ends in ``3r``, such as ``20c3r`` or ``60%3r``, allows at most 3 raises on a street.

    Args:
        text: The sizes; empty, or ``"-"``, for none.
        what: Description of the sizes in errors.
        raises: True for sizes of raises, False for sizes of bets.

    Raises:
        ValueError: The text is not a list of sizes; names the size and its position.
    """
    sizes = []
    if isinstance(text, str) and text.strip() in ("", "-"):
        return ()
    for part, place in pieces(text, what, "60%,a"):
        size = _size(part.lower(), place)
        if not raises and (size.kind in ("times", "least") or size.max_raises != math.inf):
            raise ValueError(f"{place} is for raises only")
        sizes.append(size)
    return tuple(sizes)


def _size(text: str, place: str) -> BetSize:
    cap = _CAP.search(text)
    bare = text[: cap.start()] if cap else text
    bare = "100%" if bare == "pot" else bare
    matches = ((kind, match) for kind, form in _FORMS.items() if (match := form.fullmatch(bare)))
    kind, match = next(matches, (None, None))
    if kind is None or match is None:
        raise ValueError(
            f"{place} is not a size; sizes are written like 60%, 2.5x, 100c, 20c3r, e, 2e, 3e200%, "
            "min, a"
        )
    groups = (*match.groups(), cap[1] if cap else None)
    *numbers, max_raises = [float(group) if group else None for group in groups]
    if any(number == 0.0 for number in (*numbers, max_raises)):
        raise ValueError(f"{place}: a size must be above 0")
    if any(number is not None and number > LARGEST for number in (*numbers, max_raises)):
        raise ValueError(f"{place}: a number in a size is at most {LARGEST:,.0f}")
    first, second = (*numbers, None, None)[:2]
    number, limit = first or 0.0, math.inf if second is None else second / 100.0
    if kind == "times" and number <= 1.0:
        raise ValueError(f"{place}: a raise must be to more than 1x the bet faced")
    share = number / 100.0 if kind == "pot" else number
    return BetSize(kind, share, limit, math.inf if max_raises is None else max_raises)
