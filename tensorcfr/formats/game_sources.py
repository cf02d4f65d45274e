"""Sources of games: names, rules, files, objects of other libraries.

All sources are listed in the tables of this module; a new source is one more line there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os.path import isfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._util.argument_checks import brief
from ..errors import GameError
from ..games import GAMES, named_game, text_of
from ..games.incentives import with_other_options
from ..games.poker.spot import Spot
from ..rules import Rules
from .efg import read_efg
from .gambit import rules_of_gambit
from .liteefg import read_liteefg, rules_of_liteefg
from .nfg import read_nfg
from .noregret import read_noregret, rules_of_noregret
from .openspiel import OpenSpielGame, read_openspiel
from .spot_files import ENDINGS, read_spot

LONGEST_NAME = 60
"""Largest number of characters of a game's name, since errors repeat it; longer texts are replaced
by a short name."""


class ResolvedRules(NamedTuple):
    """Rules of a game, with its name and source."""

    name: str
    """Name of the compiled game."""
    rules: Rules
    """Rules of the game."""
    source: str | None
    """Text from which :func:`resolve_rules` makes the same rules again; None if there is none."""


PREFIXES: Mapping[str, Callable[[str], Rules | str]] = {"openspiel:": read_openspiel}
"""Reader of a game of another library, by prefix of the text; the rest of the text names it.  The
result is the rules, or the text of a built-in game that has the same rules."""

SUFFIXES: Mapping[str, Callable[[str | Path], Rules]] = {
    ".efg": read_efg,
    ".nfg": read_nfg,
    ".game": read_liteefg,
    ".openspiel": read_liteefg,
    ".json": read_noregret,
    **dict.fromkeys(ENDINGS, read_spot),
}
"""Reader of a file that holds a game, by suffix of its name."""

LIBRARIES: Mapping[str, Callable[[Any], Rules | str]] = {
    "pyspiel": read_openspiel,
    "pygambit": rules_of_gambit,
    "LiteEFG": rules_of_liteefg,
    "noregret": rules_of_noregret,
}
"""Reader of game objects of other packages, by package; the result is as for :data:`PREFIXES`."""


def resolve_rules(source: Any, **parameters: Any) -> ResolvedRules:
    """Return the rules of a game from any source.

    Args:
        source: Name of a built-in game, or rules of your own.  Path of a file of Gambit
            (``.efg``, ``.nfg``), LiteEFG (``.game``, ``.openspiel``) or noregret (``.json``), or of
            a spot (``.toml``, ``.txt``).  Or ``"openspiel:"`` and a name, or a game object of
            OpenSpiel, pygambit, LiteEFG or noregret.
        parameters: Parameters of a built-in game.

    Raises:
        GameError: The game or a parameter does not exist.
        FormatError: The file is not in its format; names file, line and column.
        MissingExtraError: The library of the game is not installed; names the command that installs
            it.
        OSError: The file cannot be read.
        TypeError: ``source`` is not a source of a game, or does not take parameters.
    """
    if isinstance(source, str) and source.partition(":")[0].endswith(".py"):
        raise GameError(
            f"{source}: pass rules of your own in Python, compile_game(MyGame()); on the "
            "command line, give the file of a solution, solve(...).save(...)"
        )
    if isinstance(source, str) and not is_foreign(source):
        return find_built_in(source, **parameters)
    if parameters:
        hint = "; compile tournament(rules, ...)" if "payouts" in parameters else ""
        raise TypeError(
            f"parameters {', '.join(parameters)} are only for built-in games given by name{hint}"
        )
    if isinstance(source, Rules):
        return ResolvedRules(source.name, source, _text_of(source))
    library = library_of(source, LIBRARIES)
    if isinstance(source, (str, Path)):
        return _find_text(source)
    if library is not None:
        return _resolved(LIBRARIES[library](source), library)
    if isinstance(source, (np.ndarray, list, tuple)):
        raise TypeError(f"give payoffs as compile_game('matrix', payoffs=...), not {brief(source)}")
    raise TypeError(
        "source must be a name, a Game, a PublicTreeGame, a file (.efg, .nfg, .game, .openspiel, "
        ".json, .toml, .txt), or a game of OpenSpiel, pygambit, LiteEFG or noregret, not "
        f"{brief(source)}"
    )


def name_of(source: Any) -> str:
    """Return a name for a source without reading its rules."""
    name = source if isinstance(source, str) else getattr(source, "name", None)
    return str(name or type(source).__name__)


def find_built_in(text: str, **parameters: Any) -> ResolvedRules:
    """Return the rules of a built-in game; paths and games of other libraries are not accepted.

    Raises:
        GameError: The game or a parameter does not exist.
    """
    name, rules = named_game(text, **parameters)
    # A function among the parameters has no text from which it could be made again.
    source = None if any(map(callable, parameters.values())) else name
    return ResolvedRules(_short(name, rules), rules, source)


def library_of(value: object, known: Iterable[str]) -> str | None:
    """Return the package among ``known`` that defines an object's class or one of its bases, or
    None."""
    modules = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    return next((library for library in known if library in modules), None)


def is_built_in(text: str) -> bool:
    """Return whether a text begins with the name of a built-in game."""
    return text.partition("(")[0].strip() in GAMES


def is_foreign(source: str) -> bool:
    """Return whether a text names a game of another library, or a file."""
    path = source.strip()
    is_file = Path(path).suffix.lower() in SUFFIXES or (path not in GAMES and isfile(path))
    return is_file or _prefix(source) is not None


def _prefix(source: str) -> str | None:
    """Return the prefix of a text that names a game of another library; None without one."""
    return next((prefix for prefix in PREFIXES if source.strip().startswith(prefix)), None)


def _find_text(source: str | Path) -> ResolvedRules:
    """Return the rules of a text with a prefix, or of a file."""
    if isinstance(source, str):
        source = source.strip()
        if (prefix := _prefix(source)) is not None:
            return _resolved(PREFIXES[prefix](source.removeprefix(prefix)), prefix)
    read = SUFFIXES.get(Path(source).suffix.lower())
    if read is None:
        raise GameError(
            f"{source}: the name of a game file ends in {' or '.join(SUFFIXES)}; spots of other "
            "programs (.json, .phh, .phhs) are read by read_spot_options and 'tensorcfr spot'"
        )
    rules = read(source)
    if isinstance(rules, Spot):
        return _resolve_spot(rules)
    text = str(source)
    return ResolvedRules(_short(text, rules), rules, text)


def _resolved(loaded: Rules | str, library: str) -> ResolvedRules:
    """Return the game that a reader of a library has loaded, or the built-in game that it names."""
    if isinstance(loaded, str):
        return find_built_in(loaded)
    return ResolvedRules(loaded.name or library, loaded, _text_of(loaded))


def resolve_changed(rules: Rules, changes: Mapping[str, Any], *, by_text: bool) -> ResolvedRules:
    """Return a game of cards with other options of its rules.

    Args:
        rules: The rules.
        changes: The other options.
        by_text: Whether a spot has a text from which it is made again.

    Raises:
        ValueError: The game does not have the options, or an option is wrong; names it.
    """
    changed = with_other_options(rules, changes)
    is_named = by_text and isinstance(changed, Spot)
    return _resolve_spot(changed) if is_named else resolve_rules(changed)


def _resolve_spot(rules: Spot) -> ResolvedRules:
    """Return a spot as a built-in game with parameters, whose text works without a file."""
    text = text_of(rules.game, rules.options)
    return ResolvedRules(_short(text, rules), rules, text)


def _short(text: str, rules: Rules) -> str:
    """Return the text of a game or, if it is long as for a spot, the name that the rules define."""
    has_own = rules.name != type(rules).__name__
    return rules.name if has_own and len(text) > LONGEST_NAME else text


def _text_of(rules: Rules) -> str | None:
    """Return the text that loads a game of OpenSpiel again; None for other rules."""
    return rules.text if isinstance(rules, OpenSpielGame) else None
