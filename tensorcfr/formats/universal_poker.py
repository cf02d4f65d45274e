"""OpenSpiel's ``universal_poker`` with fixed limits between two players, as ``limit_poker``.

The strings are read here, so OpenSpiel need not be installed.  What the rules of ``limit_poker``
cannot hold (no-limit, more players, subgames, cards before the first round) stays OpenSpiel's.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..games import make_game
from ..games.holdem.cards import RANKS

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
NEEDED = {"betting": "limit", "numPlayers": "2"}
UNTOUCHED = ("bettingAbstraction", "boardCards", "handReaches", "potSize")
"""What must have its default."""
MOST_RAISES = 60
"""A round of OpenSpiel's has at most 64 actions; beyond that it forces a call."""


def limit_poker_of(text: str) -> str | None:
    """The built-in game with the rules of a game of OpenSpiel, by name and parameters.

    Args:
        text: OpenSpiel's string, ``"universal_poker(betting=limit,...)"``, maybe after
            ``"openspiel:"``.

    Returns:
        ``"limit_poker(...)"``; None where the string says another game, or none.
    """
    name, _, inside = text.strip().removeprefix("openspiel:").partition("(")
    if name != NAME or not inside.endswith(")"):
        return None
    parts = [part.partition("=") for part in inside[:-1].split(",")]
    given = {key.strip(): value.strip() for key, _, value in parts}
    said = {**DEFAULTS, **given}
    needed = NEEDED | {key: DEFAULTS[key] for key in UNTOUCHED}
    if len(given) < len(parts) or len(said) > len(DEFAULTS) or not needed.items() <= said.items():
        return None
    try:
        rounds, ranks = int(said["numRounds"]), int(said["numRanks"])
        # OpenSpiel, too, takes more numbers than there are rounds.
        board, bets, raises, first = (
            tuple(map(int, said[key].split()))[: max(rounds, 0)]
            for key in ("numBoardCards", "raiseSize", "maxRaises", "firstPlayer")
        )
        big, small = map(int, said["blind"].split())
        options = {
            "ranks": RANKS[: max(ranks, 0)],
            "suits": int(said["numSuits"]),
            "hand": int(said["numHoleCards"]),
            "deals": board[1:],
            "bets": bets,
            "raises": raises,
            "blinds": (small, big),
            "first": tuple(player - 1 for player in first),
        }
        if max(raises) > MOST_RAISES or len(board) != rounds or board[0] or ranks > len(RANKS):
            return None
        make_game("limit_poker", **options)
    except ValueError:
        return None
    return f"limit_poker({', '.join(f'{key}={value!r}' for key, value in options.items())})"
