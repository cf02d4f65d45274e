"""Spots as text files in TOML: the keys are the options of the game.

The key ``game`` names the game; without it the game is ``holdem``.  Keys may be in any order, and
comments begin with ``#``:

    board = "Td9d6hQc"
    pot = 200
    stacks = 900
    raises = "2.5x"

    [ranges]
    oop = "66+,A8s+"
    ip = "QQ-22,AQs-A2s"

    [bets]
    turn = "60%"
    river = "50%,a"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import LONGEST_PATH, Text, Where, brief, checked
from ..errors import FormatError, GameError, suggest
from ..games import GAMES, SPOTS, make_spot
from ..games.holdem import Holdem
from ..games.poker.spot import PLAYERS, Spot
from ..model.compiled_game import CompiledGame
from .gambit_text import decoded
from .text_formats import kind_of

MAX_BYTES = 1_000_000
"""Largest size of a spot's file, in bytes."""


@checked()
def read_spot(path: Annotated[str | Path, Where()]) -> Spot:
    """Read the spot in a file.

    Raises:
        FormatError: The file is not valid TOML, or not a spot; names file, line and column.
        OSError: The file cannot be read.
    """
    path = Path(path)
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise FormatError(str(path), 1, 1, f"a spot has at most {MAX_BYTES:,} bytes")
    return parse_spot(decoded(content, path), str(path))


@checked()
def parse_spot(
    text: Annotated[str, Text(MAX_BYTES)], name: Annotated[str, Text(LONGEST_PATH)] = "spot"
) -> Spot:
    """Read the spot in a text.

    Args:
        text: TOML; see :mod:`tensorcfr.formats.spot_files`.
        name: Name of the text in errors.

    Raises:
        FormatError: The text is not valid TOML, or not a spot; names line and column.
    """
    try:
        options = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError, since huge numbers raise it too.
        _refuse_other(text, name)
        message = str(error) or "it is nested too deeply"
        match = re.search(r" \(at line (\d+), column (\d+)\)", message)
        line, column = (int(match[1]), int(match[2])) if match else _end(text)
        message = message.partition(" (at ")[0]
        raise FormatError(name, line, column, message[0].lower() + message[1:]) from None
    ranges = options.get("ranges")
    if isinstance(ranges, Mapping):
        if set(ranges) != set(PLAYERS):
            keys = brief(list(ranges))
            problem = f"[ranges] has the keys oop and ip, not {keys}"
            raise FormatError(name, *_place(text, "ranges"), problem)
        options["ranges"] = tuple(ranges[player] for player in PLAYERS)
    known = ("game", *GAMES[Holdem.game].accepted)
    if not options.keys() & {*known}:
        _refuse_other(text, name)
    for key in options:
        if key not in known:
            problem = f"there is no option {brief(key)}; {suggest(key, known)}"
            raise FormatError(name, *_place(text, key), problem)
    try:
        return make_spot(**options)
    except GameError as error:
        # Messages begin with the option: "holdem: ranges[1]: ..." or "stacks must be ...".
        named = re.match(rf"(?:(?:{'|'.join(SPOTS)}): )?(\w+)(?:\[(\d)\])?", str(error))
        key = named[1] if named and named[1] in options else ""
        if named and key == "ranges" and named[2] and isinstance(ranges, Mapping):
            place = _place(text, PLAYERS[int(named[2])], below=key)
        else:
            place = _place(text, key) if key else (1, 1)
        raise FormatError(name, *place, str(error)) from None


def _refuse_other(text: str, name: str) -> None:
    """Raise a FormatError if the text has another known format."""
    if kind := kind_of(text):
        problem = (
            f"this is {kind}, not a spot in TOML; read_spot_options and 'tensorcfr spot' also read "
            "scripts of TexasSolver and PioSOLVER, .json of WASM and Desktop Postflop, and .phh"
        )
        raise FormatError(name, 1, 1, problem)


def _place(text: str, key: str, below: str | None = None) -> tuple[int, int]:
    """Return line and column of a key, from 1; (1, 1) if it is not found."""
    begin = 0 if below is None else _place(text, below)[0] - 1
    for number, line in enumerate(text.splitlines(), start=1):
        if number <= begin:
            continue
        match = re.match(rf"""\s*\[?\s*["']?{re.escape(key)}\b""", line)
        if match:
            return number, match.end() - len(key) + 1
    return 1, 1


def _end(text: str) -> tuple[int, int]:
    """Return line and column of the end of a text, from 1."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def spot_text(spot: Spot | CompiledGame) -> str:
    """Return the text of a spot that :func:`parse_spot` reads.

    Args:
        spot: Rules of the spot, or the compiled game.

    Raises:
        TypeError: The game is not a spot.
    """
    rules = getattr(getattr(spot, "nodes", None), "rules", spot)
    if not isinstance(rules, Spot):
        raise TypeError(f"spot must be a spot of {' or '.join(SPOTS)}, not {brief(spot)}")
    options = options_of(rules)
    tables, lines = {}, []
    if len(options["ranges"]) == len(PLAYERS):
        tables["ranges"] = dict(zip(PLAYERS, options["ranges"], strict=True))
    for key, value in options.items():
        if key in tables:
            continue
        if isinstance(value, Mapping):
            # TOML has no null value, so leave out None.
            tables[key] = {name: entry for name, entry in value.items() if entry is not None}
        else:
            lines.append(f"{key} = {_toml(value)}")
    for key, table in tables.items():
        lines += ["", f"[{key}]", *(f"{name} = {_toml(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


def options_of(spot: Spot) -> dict[str, Any]:
    """Return the arguments of :func:`~tensorcfr.games.make_spot` that make the spot."""
    return ({} if spot.game == Holdem.game else {"game": spot.game}) | spot.options


@checked()
def save_spot(spot: Spot | CompiledGame | Any, path: Annotated[str | Path, Where()]) -> Path:
    """Write a spot to a file that ``compile_game`` reads; its name ends in ``.toml`` or ``.txt``.

    Args:
        spot: Rules of the spot, or the compiled game.
        path: File to write.

    Returns:
        ``path`` as a Path.

    Raises:
        TypeError: The game is not a spot.
        ValueError: The name of the file has another suffix.
        OSError: The file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise ValueError(f"path must end in {' or '.join(ENDINGS)}, not {brief(str(target))}")
    target.write_text(spot_text(spot), encoding="utf-8")
    return target


ENDINGS = (".toml", ".txt")
"""Suffixes of the names of files of spots."""


def _toml(value: Any) -> str:
    """Format a text, a number, or a list or table of them as TOML."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_toml(entry) for entry in value)}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)
