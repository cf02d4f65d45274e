"""Spots of other programs: scripts of TexasSolver, configurations of WASM Postflop and Desktop
Postflop, hand histories in the PHH format.

Each file is converted to the options of a spot that it contains.  A configuration need not have a
board or ranges, and a hand history has no sizes.  There is one module per program, with its
commands or keys, its defaults, and its rules of ranges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import Where, checked
from ..errors import FormatError
from .gambit_text import decoded
from .hand_histories import hand_options
from .postflop import postflop_options
from .spot_files import ENDINGS as OWN_ENDINGS
from .spot_files import MAX_BYTES, options_of, parse_spot
from .texassolver import texassolver_options
from .text_formats import TEXASSOLVER, kind_of

READERS = {".json": postflop_options, ".phh": hand_options}
"""Reader of files of other programs, by suffix of the file name."""
ENDINGS = (*OWN_ENDINGS, *READERS)
"""Suffixes of the names of files of spots, of this and of other programs."""


@checked()
def read_spot_options(path: Annotated[str | Path, Where()]) -> dict[str, Any]:
    """Read the options of the spot in a file of this or of another program.

    A ``.json`` file is a configuration of WASM Postflop or Desktop Postflop, and a ``.phh`` file is
    a hand history.  Any other file is a script of TexasSolver if it contains its commands, and
    otherwise a spot of this program.

    >>> options = read_spot_options("hand.phh") | {"ranges": ("22+", "random")}  # doctest: +SKIP

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
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise FormatError(name, 1, 1, f"a spot has at most {MAX_BYTES:,} bytes")
    text = decoded(content, path)
    if reader := READERS.get(path.suffix.lower()):
        return reader(text, name)
    if kind_of(text) == TEXASSOLVER:
        return texassolver_options(text, name)
    return options_of(parse_spot(text, name))
