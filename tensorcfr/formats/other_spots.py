"""Spots of other programs: scripts of TexasSolver and PioSOLVER, configurations of WASM Postflop
and Desktop Postflop, hand histories in the PHH format.

Each file is converted to the options of a spot that it contains.  A configuration need not have a
board or ranges, and a hand history has no sizes.  There is one module per program, with its
commands or keys, its defaults, and its rules of ranges.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import Where, Whole, checked
from ..errors import FormatError
from .gambit_text import decoded
from .hand_histories import hand_options
from .piosolver import piosolver_options
from .postflop import postflop_options
from .spot_files import ENDINGS as OWN_ENDINGS
from .spot_files import MAX_BYTES, options_of, parse_spot
from .texassolver import texassolver_options
from .text_formats import HANDS_OF_PHH, JSON, PIOSOLVER, TEXASSOLVER, kind_of

HANDS = (".phh", ".phhs")
"""Suffixes of the names of files of hands."""
SCRIPTS = {TEXASSOLVER: texassolver_options, PIOSOLVER: piosolver_options}
"""Reader of scripts, by description of the format."""
MAX_BYTES_OF_HANDS = 20_000_000
"""Largest size of a file of hands, in bytes."""
ENDINGS = (*OWN_ENDINGS, ".json", *HANDS)
"""Suffixes of the names of files of spots, of this and of other programs."""
_VARIANT = re.compile(r"^\s*variant\s*=", re.MULTILINE)
"""Pattern of the field that every hand in the PHH format has."""


@checked()
def read_spot_options(
    path: Annotated[str | Path, Where()], *, hand: Annotated[int | None, Whole(1)] = None
) -> dict[str, Any]:
    """Read the options of the spot in a file of this or of another program.

    A ``.json`` file is a configuration of WASM Postflop or Desktop Postflop.  A ``.phh`` or
    ``.phhs`` file is a hand history.  Any other file is a script of TexasSolver or PioSOLVER if it
    contains its commands, and otherwise a spot of this program.

    >>> options = read_spot_options("hand.phh") | {"ranges": ("22+", "random")}  # doctest: +SKIP

    Args:
        path: The file.
        hand: Number of the hand, from 1, if the file has several hands.

    Returns:
        Arguments of :func:`~tensorcfr.games.make_spot`, perhaps not all required ones.  Without the
        key ``game`` they are arguments of ``compile_game("holdem", ...)``.

    Raises:
        FormatError: The file has none of these formats; names file and line, and the file's format
            if it is known.
        MissingExtraError: PokerKit is not installed (hand histories); names the extra.
        OSError: The file cannot be read.
    """
    path, name = Path(path), str(path)
    suffix = path.suffix.lower()
    most = MAX_BYTES_OF_HANDS if suffix in HANDS else MAX_BYTES
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise FormatError(name, 1, 1, f"the file of a spot has at most {most:,} bytes")
    return options_of_text(decoded(content, path), name, suffix=suffix, hand=hand)


def options_of_text(
    text: str, name: str = "spot", *, suffix: str = "", hand: int | None = None
) -> dict[str, Any]:
    """Read the options of the spot in a text; see :func:`read_spot_options`.

    Args:
        text: The text of a file.
        name: Name of the text in errors.
        suffix: Suffix of the file, which decides between the formats; by default the text does.
        hand: Number of the hand, from 1, if the text has several hands.
    """
    kind = kind_of(text)
    if suffix in HANDS or (not suffix and (kind == HANDS_OF_PHH or _VARIANT.search(text))):
        return hand_options(text, name, hand=hand)
    if hand is not None:
        raise FormatError(name, 1, 1, f"hand={hand} is for files of hands ({', '.join(HANDS)})")
    if suffix == ".json" or (not suffix and kind == JSON):
        return postflop_options(text, name)
    if reader := SCRIPTS.get(kind or ""):
        return reader(text, name)
    return options_of(parse_spot(text, name))
