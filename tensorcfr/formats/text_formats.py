"""Detection of text formats that users may try to open, for errors that name the format."""

from __future__ import annotations

import re

TEXASSOLVER, PIOSOLVER = "a script of TexasSolver", "a script of PioSOLVER"
HANDS_OF_PHH = "a file of several hands in the PHH format"
JSON = "JSON"
KINDS = {
    PIOSOLVER: r"^[ \t]*(?:set_(?:eff_stack|threads|range)|add_line)\b|^#TreeBuilding#",
    TEXASSOLVER: r"^[ \t]*set_(?:pot|effective_stack|board|range_oop|range_ip|bet_sizes)\b",
    "the text of a hand from a poker site": r"^.{0,60}\bHand #|^\*\*\* [A-Z]",
    HANDS_OF_PHH: r"^\[\d+\]\s*$",
    "a game of Gambit": r"\A\s*[EN]FG\s",
    JSON: r"\A\s*[{\[]\s*[\[\]{}\"]",
    "XML or HTML": r"\A\s*<",
}
"""Pattern of a line, or of the beginning of the text, by description; the first match decides."""


def kind_of(text: str) -> str | None:
    """Return a description of the format of a text; None if the format is unknown.

    >>> kind_of("set_threads 2")
    'a script of PioSOLVER'
    """
    matches = (kind for kind, form in KINDS.items() if re.search(form, text, re.MULTILINE))
    return next(matches, None)
