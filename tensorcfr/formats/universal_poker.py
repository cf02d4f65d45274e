"""OpenSpiel's ``universal_poker`` between two players, as ``limit_poker`` and ``nolimit_poker``.

The strings are parsed here, so OpenSpiel need not be installed.  Games that the built-in rules
cannot express (all sizes of bets, more players, subgames, board cards before the first round) are
left to OpenSpiel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..games import make_game
from ..games.poker.deck import RANKS

NAME = "universal_poker"
DEFAULTS: Mapping[str, str] = {
    "betting": "nolimit",
    "bettingAbstraction": "fcpa",
    "blind": "100 100",
    "boardCards": "",
    "calcOddsNumSims": "0",
    "firstPlayer": "1 1",
    "handReaches": "",
    "maxRaises": "",
    "numBoardCards": "0 1",
    "numHoleCards": "1",
    "numPlayers": "2",
    "numRanks": "6",
    "numRounds": "2",
    "numSuits": "4",
    "potSize": "0",
    "raiseSize": "100 100",
    "stack": "1200 1200",
}
"""OpenSpiel's parameters and their defaults.  It ignores ``stack`` where bets have limits."""
UNTOUCHED = ("numPlayers", "boardCards", "handReaches", "potSize")
"""Parameters that must have their defaults."""
SIZES = {"fc": "", "fcpa": "100%,a"}
"""Sizes of bets and raises, by OpenSpiel's name of the betting abstraction."""
UNCAPPED = 100
"""Cap on raises for games without one; no round reaches it, since each raise is at least the big
blind."""
MAX_RAISES = 60
"""Largest cap on raises.  A round of OpenSpiel has at most 64 actions; after them it forces a
call."""


def poker_of(text: str) -> str | None:
    """Return the built-in game that has the rules of a game of OpenSpiel, as text.

    Args:
        text: OpenSpiel's string, ``"universal_poker(betting=limit,...)"``, also after the prefix
            ``"openspiel:"``.

    Returns:
        ``"limit_poker(...)"`` or ``"nolimit_poker(...)"``; None for any other game, or if the rules
        cannot be expressed.
    """
    name, _, inside = text.strip().removeprefix("openspiel:").partition("(")
    if name != NAME or not inside.endswith(")"):
        return None
    parts = [part.partition("=") for part in inside[:-1].split(",")]
    arguments = {key.strip(): value.strip() for key, _, value in parts}
    parameters = {**DEFAULTS, **arguments}
    if len(arguments) < len(parts) or len(parameters) > len(DEFAULTS):
        return None
    if any(parameters[key] != DEFAULTS[key] for key in UNTOUCHED):
        return None
    try:
        rounds, ranks = int(parameters["numRounds"]), int(parameters["numRanks"])
        # Like OpenSpiel, ignore numbers beyond the number of rounds.
        board, first = _numbers(parameters, rounds, "numBoardCards", "firstPlayer")
        options = {
            "ranks": RANKS[: max(ranks, 0)],
            "suits": int(parameters["numSuits"]),
            "hand": int(parameters["numHoleCards"]),
            "deals": board[1:],
        }
        if rounds < 1 or len(board) != rounds or board[0] or ranks > len(RANKS):
            return None
        big, small = map(int, parameters["blind"].split())
        converted = BETTING[parameters["betting"]](parameters, rounds, first, (small, big))
        if converted is None:
            return None
        built_in, more = converted
        options |= more
        make_game(built_in, **options)
    except (KeyError, ValueError):
        return None
    return f"{built_in}({', '.join(f'{key}={value!r}' for key, value in options.items())})"


Rest = tuple[str, dict[str, Any]]


def _limit(
    parameters: Mapping[str, str], rounds: int, first: tuple[int, ...], blinds: tuple[int, int]
) -> Rest | None:
    """Return the name of the built-in limit game, and the parameters that only it has.

    Return None if the rules cannot be expressed.
    """
    bets, raises = _numbers(parameters, rounds, "raiseSize", "maxRaises")
    untouched = parameters["bettingAbstraction"] == DEFAULTS["bettingAbstraction"]
    if not untouched or max(raises) > MAX_RAISES:
        return None
    players = tuple(player - 1 for player in first)
    options = {"bets": bets, "raises": raises, "blinds": blinds, "first": players}
    return "limit_poker", options


def _no_limit(
    parameters: Mapping[str, str], rounds: int, first: tuple[int, ...], blinds: tuple[int, int]
) -> Rest | None:
    """Return the name of the built-in no-limit game, and the parameters that only it has.

    Return None if the rules cannot be expressed: the small blind must open the first round, and the
    big blind all later ones.
    """
    small, big = blinds
    stacks = tuple(map(int, parameters["stack"].split()))
    # In OpenSpiel the larger stack may bet more than the smaller one can call.
    has_equal_stacks = len(stacks) == 2 and stacks[0] == stacks[1]
    if not has_equal_stacks or not 0 < small < big or first != (2, *[1] * (rounds - 1)):
        return None
    raises = (
        _numbers(parameters, rounds, "maxRaises")[0] if parameters["maxRaises"] else (UNCAPPED,)
    )
    if len(set(raises)) > 1:
        return None
    board = _numbers(parameters, rounds, "numBoardCards")[0]
    sizes = SIZES[parameters["bettingAbstraction"]]
    options = {"stacks": stacks[0], "raises": sizes, "bets": sizes, "blinds": blinds}
    return "nolimit_poker", {**options, "most_raises": raises[0], "runout": sum(board), "chip": 1}


BETTING = {"limit": _limit, "nolimit": _no_limit}


def _numbers(parameters: Mapping[str, str], rounds: int, *keys: str) -> list[tuple[int, ...]]:
    """Return the numbers of each round, for some parameters of OpenSpiel."""
    return [tuple(map(int, parameters[key].split()))[: max(rounds, 0)] for key in keys]
