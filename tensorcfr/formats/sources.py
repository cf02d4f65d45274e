"""The one place that knows what games can be made of: names, rules, files, other libraries.

A new source is one more line in a table here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os.path import isfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._util.arguments import brief
from .._util.extras import library_of
from .._util.specs import parse_spec
from ..errors import GameError
from ..games import GAMES, make_game
from ..games.holdem.spot import Spot
from ..rules import Rules
from .efg import read_efg
from .gambit import rules_of_gambit
from .nfg import read_nfg
from .openspiel import OpenSpielGame
from .spots import ENDINGS, read_spot
from .universal_poker import poker_of

LONGEST_NAME = 60
"""Characters of a name, which errors repeat, at most; longer texts of games are shortened."""


class FoundRules(NamedTuple):
    """What a source says."""

    name: str
    """What the compiled game is called."""
    rules: Rules
    """The rules."""
    source: str | None
    """A text that finds them again, if there is one."""


PREFIXES: Mapping[str, Callable[[str], Rules]] = {"openspiel:": OpenSpielGame}
"""What texts begin with that name a game of another library; the rest of the text is its name."""

SUFFIXES: Mapping[str, Callable[[str | Path], Rules]] = {
    ".efg": read_efg,
    ".nfg": read_nfg,
    **dict.fromkeys(ENDINGS, read_spot),
}
"""How the names of files end that hold a game."""

LIBRARIES: Mapping[str, Callable[[Any], Rules]] = {
    "pyspiel": OpenSpielGame,
    "pygambit": rules_of_gambit,
}
"""Packages whose games are taken as they are."""


def find_rules(source: Any, **parameters: Any) -> FoundRules:
    """The rules that a source says.

    Args:
        source: The name of a built-in game; a game of your own; the path of a ``.efg`` or ``.nfg``
            file, or of a spot (``.toml``, ``.txt``); ``"openspiel:"``
            and a name; a game of OpenSpiel or pygambit.
        parameters: Parameters of a built-in game.

    Raises:
        GameError: There is no such game, or no such parameter.
        FormatError: The file is not in its format; names file, line and column.
        MissingExtraError: The library of the game is not installed; says what installs it.
        OSError: The file cannot be read.
        TypeError: This is no source of a game, or one that takes no parameters.
    """
    if isinstance(source, str) and source.partition(":")[0].endswith(".py"):
        raise GameError(
            f"{source}: rules of your own are given in Python, compile_game(MyGame()); commands "
            "take the file of the solution, solve(...).save(...)"
        )
    if isinstance(source, str) and not is_foreign(source):
        return find_built_in(source, **parameters)
    if parameters:
        raise TypeError(
            f"parameters {', '.join(parameters)} are for built-in games asked for by name"
        )
    if isinstance(source, Rules):
        return FoundRules(source.name, source, _text_of(source))
    library = library_of(source, LIBRARIES)
    if (isinstance(source, str) or library == "pyspiel") and (same := poker_of(str(source))):
        return find_rules(same)
    if isinstance(source, (str, Path)):
        return _find_text(source)
    if library is not None:
        rules = LIBRARIES[library](source)
        return FoundRules(rules.name or library, rules, _text_of(rules))
    if isinstance(source, (np.ndarray, list, tuple)):
        raise TypeError(
            f"payoffs are a game by: compile_game('matrix', payoffs=...); {brief(source)}"
        )
    raise TypeError(
        "source must be a name, a Game, a PublicTreeGame, a file (.efg, .nfg, .toml, .txt), or a "
        f"game of OpenSpiel or pygambit, not {brief(source)}"
    )


def name_of(source: Any) -> str:
    """Return what a source is called before its rules are found."""
    name = source if isinstance(source, str) else getattr(source, "name", None)
    return str(name or type(source).__name__)


def find_built_in(text: str, **parameters: Any) -> FoundRules:
    """Make the rules of a built-in game; the text is never a path or a name of another library.

    Raises:
        GameError: There is no such game, or no such parameter.
    """
    rules = make_game(text, **parameters)
    name = _built_in_name(text, parameters)
    return FoundRules(_short(name, rules), rules, name)


def is_built_in(text: str) -> bool:
    """Return whether a text begins with the name of a built-in game."""
    return text.partition("(")[0].strip() in GAMES


def is_foreign(source: str) -> bool:
    """Return whether a text names a game of another library, or a file."""
    path = source.strip()
    is_file = Path(path).suffix.lower() in SUFFIXES or (path not in GAMES and isfile(path))
    return is_file or _prefix(source) is not None


def _prefix(source: str) -> str | None:
    return next((prefix for prefix in PREFIXES if source.strip().startswith(prefix)), None)


def _find_text(source: str | Path) -> FoundRules:
    """The rules that a prefixed text or a path says."""
    if isinstance(source, str):
        source = source.strip()
        if (prefix := _prefix(source)) is not None:
            rules = PREFIXES[prefix](source.removeprefix(prefix))
            return FoundRules(rules.name, rules, rules.name)
    read = SUFFIXES.get(Path(source).suffix.lower())
    if read is None:
        raise GameError(
            f"{source}: the name of a game file ends in {' or '.join(SUFFIXES)}; spots of other "
            "programs (.json, .phh) are read by read_spot_options and 'tensorcfr spot'"
        )
    rules = read(source)
    text = str(source)
    if isinstance(rules, Spot):
        # A built-in game with parameters: that text finds it again without the file.
        text = _built_in_name(rules.game, rules.options)
    return FoundRules(_short(text, rules), rules, text)


def _short(text: str, rules: Rules) -> str:
    """The text of a game, or where it is long, as that of a spot is, what the rules call it."""
    has_own = rules.name != type(rules).__name__
    return rules.name if has_own and len(text) > LONGEST_NAME else text


def _text_of(rules: Rules) -> str | None:
    """The text that finds a game of OpenSpiel again, and no built-in game in its place."""
    theirs = isinstance(rules, OpenSpielGame) and poker_of(rules.name) is None
    return rules.name if theirs else None


def _built_in_name(source: str, parameters: dict[str, Any]) -> str:
    """``leduc(ranks=4)``."""
    try:
        base, given = parse_spec(source)
    except ValueError:
        return source  # Which make_game refuses.
    listed = [f"{key}={value!r}" for key, value in (given | parameters).items()]
    return f"{base}({', '.join(listed)})" if listed else base
