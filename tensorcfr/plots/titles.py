"""Titles of games in words: ``"Bluff, two dice each"`` in place of ``"bluff(dice=(2, 2))"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._util.specs import parse_spec

GAMES = {
    "biased_rock_paper_scissors": "Rock-paper-scissors with uneven stakes",
    "bluff": "Bluff",
    "goofspiel": "Goofspiel",
    "kuhn": "Kuhn poker",
    "leduc": "Leduc poker",
    "liars_dice": "Liar's dice",
    "matching_pennies": "Matching pennies",
    "nl_leduc": "No-limit Leduc",
    "one_card_poker": "One-card poker",
    "rock_paper_scissors": "Rock-paper-scissors",
}
"""Titles of built-in games. Other games keep their names."""

FEW = ("no", "one", "two", "three", "four", "five", "six")


def _count(number: Any, singular: str, plural: str) -> str:
    word = FEW[number] if isinstance(number, int) and 0 <= number < len(FEW) else f"{number}"
    return f"{word} {singular if number == 1 else plural}"


def _dice(dice: Any) -> str:
    first, *others = dice if isinstance(dice, tuple) else (dice,)
    if all(number == first for number in others):
        return f"{_count(first, 'die', 'dice')} each"
    return f"{', '.join(map(str, dice[:-1]))} and {dice[-1]} dice"


SETTINGS: dict[str, Callable[[Any], str]] = {
    "cards": lambda value: f"{value} cards",
    "dice": _dice,
    "faces": lambda value: f"{value} faces",
    "players": lambda value: _count(value, "player", "players"),
    "prizes": lambda value: f"{value} prizes",
    "ranks": lambda value: f"{value} ranks",
    "stack": lambda value: f"{value} chips",
}
"""Functions that write the value of a setting in words. Other settings are written as name and
value."""


def game_title(spec: str) -> str:
    """Return the title of a game, from its name and settings.

    >>> game_title("bluff(dice=(2, 2))")
    'Bluff, two dice each'
    >>> game_title("my_game")
    'my_game'

    Args:
        spec: Name with settings, as in ``CompiledGame.name`` or in a table of a sweep.
    """
    try:
        name, settings = parse_spec(spec)
    except ValueError:
        return spec
    if name not in GAMES:
        return spec
    if name in ("bluff", "liars_dice"):
        settings = {"dice": settings.pop("dice", 1)} | settings
    words = (
        SETTINGS[key](value) if key in SETTINGS else f"{key} {value}".replace("_", " ")
        for key, value in settings.items()
    )
    return ", ".join([GAMES[name], *words])
