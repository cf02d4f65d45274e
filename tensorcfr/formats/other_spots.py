"""Spots of other programs: scripts of TexasSolver, configurations of WASM Postflop and Desktop
Postflop, hand histories in the PHH format.

Each becomes options of a spot, as many as the file has.  A configuration need not have a board or
ranges; a hand history has no sizes.  There is one module per program: its commands or keys, its
defaults, and its rules of ranges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from .._util.arguments import Where, checked
from ..errors import FormatError
from .gambit_text import decoded
from .hand_histories import hand_options
from .kinds import TEXASSOLVER, kind_of
from .postflop import postflop_options
from .spots import ENDINGS as OWN_ENDINGS
from .spots import MOST_BYTES, options_of, parse_spot
from .texassolver import texassolver_options

READERS = {".json": postflop_options, ".phh": hand_options}
"""The readers of files of other programs, by the ends of their names."""
ENDINGS = (*OWN_ENDINGS, *READERS)
"""How the names of files of spots end, of this and of other programs."""


@checked()
def read_spot_options(path: Annotated[str | Path, Where()]) -> dict[str, Any]:
    """Read the options of the spot in a file, of this or of another program.

    A file that ends in ``.json`` is a configuration of WASM Postflop or Desktop Postflop, one that
    ends in ``.phh`` a hand history.  Any other is a script of TexasSolver if it has its commands,
    and otherwise a spot of this program.

    >>> options = read_spot_options("hand.phh") | {"ranges": ("22+", "random")}  # doctest: +SKIP

    Returns:
        Arguments of :func:`~tensorcfr.games.make_spot`, perhaps not all: those of
        ``compile_game("holdem", ...)`` unless ``game`` is another.

    Raises:
        FormatError: The file is none of these; names file and line, and the kind of the file where
            it is known.
        MissingExtraError: PokerKit is not installed (hand histories); names the extra.
        OSError: The file cannot be read.
    """
    path, name = Path(path), str(path)
    with path.open("rb") as file:
        read = file.read(MOST_BYTES + 1)
    if len(read) > MOST_BYTES:
        raise FormatError(name, 1, 1, f"a spot has at most {MOST_BYTES:,} bytes")
    text = decoded(read, path)
    if reader := READERS.get(path.suffix.lower()):
        return reader(text, name)
    if kind_of(text) == TEXASSOLVER:
        return texassolver_options(text, name)
    return options_of(parse_spot(text, name))
