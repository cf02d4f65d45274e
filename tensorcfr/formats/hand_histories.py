"""Hands in the PHH format (J. Kim, "Recording and describing poker hands", IEEE Conference on Games
2024), replayed by PokerKit."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from itertools import islice
from typing import Any

from .._util.argument_checks import brief
from .._util.extras import needs
from ..errors import FormatError
from ..games.poker.betting import STREETS
from .text_formats import HANDS_OF_PHH, KINDS, kind_of

GAMES_OF_VARIANTS = {"NT": "holdem", "NS": "short_deck", "PO": "omaha"}
"""Game of each PHH variant that is read."""


def hand_options(text: str, name: str = "hand", *, hand: int | None = None) -> dict[str, Any]:
    """Replay a hand and read the options of the spot at which two players are left.

    The spot begins on the first street with exactly two players: the flop, or a later street if
    players fold on the flop.  Board, pot and stacks are those at the start of the street.  Ranges
    and sizes are left out, and so are stacks that the hand does not give (``inf``).  Player 0 is
    the player out of position, who acts first by the rules.

    Args:
        text: Hand of no-limit hold'em, short-deck hold'em or pot-limit Omaha in a PHH file; or
            several hands, under the headings ``[1]``, ``[2]``, ...
        name: Name of the text in errors.
        hand: Number of the hand among several, from 1.

    Returns:
        Options of the spot.

    Raises:
        FormatError: The text is not such a hand, no street has exactly two players, one of the two
            is all-in, or ``hand`` does not name one of several hands.
        MissingExtraError: PokerKit is not installed; names the extra.
    """
    pokerkit = needs("pokerkit", "hands")
    count = len(re.findall(KINDS[HANDS_OF_PHH], text, re.MULTILINE))
    if (count > 1 and hand is None) or (hand is not None and not 1 <= hand <= max(count, 1)):
        problem = "name one with hand=1, say" if hand is None else f"there is no hand {hand}"
        raise FormatError(name, 1, 1, f"hands in the file: {max(count, 1):,}; {problem}")
    try:
        if count:
            history = next(islice(pokerkit.HandHistory.loads_all(text), (hand or 1) - 1, None))
        else:
            history = pokerkit.HandHistory.loads(text)
        known = history.variant in GAMES_OF_VARIANTS
        players, board, pot, stacks = _first_of_two(history) if known else (0, [], 0, [])
    except Exception as error:  # PokerKit raises many types of errors for a bad hand.
        kind = kind_of(text)
        problem = (
            f"this is {kind}, not a hand in the PHH format"
            if kind
            else f"PokerKit cannot replay this hand: {brief(str(error))}"
        )
        raise FormatError(name, 1, 1, problem) from None
    if not known:
        problem = (
            f"variant {history.variant} is not supported; supported are "
            f"{', '.join(GAMES_OF_VARIANTS)}"
        )
    elif not board:
        problem = "the hand ends before the flop"
    elif players != 2:
        problem = f"two players must be left on a street, and {players} are on the last one"
    elif not all(stacks):
        problem = f"a player is all-in before the {STREETS[len(board) - 3]}: nobody can bet"
    else:
        problem = ""
    if problem:
        raise FormatError(name, 1, 1, problem)
    options: dict[str, Any] = {
        "board": "".join(f"{card.rank.value}{card.suit.value}" for card in board),
        "pot": float(pot),
    }
    if history.variant != "NT":
        options["game"] = GAMES_OF_VARIANTS[history.variant]
    amounts = [pot]
    if finite := [stack for stack in stacks if math.isfinite(stack)]:
        amounts.append(min(finite))
        options["stacks"] = float(amounts[-1])
    exponents = [Decimal(str(amount)).normalize().as_tuple().exponent for amount in amounts]
    digits = max(-int(exponent) for exponent in exponents)
    return options | ({"chip": float(Decimal(1).scaleb(-digits))} if digits > 0 else {})


def _first_of_two(history: Any) -> tuple[int, list[Any], Any, list[Any]]:
    """Return the start of the first street with two players, or else of the last street.

    Returns:
        Number of players in the hand, board, pot, and the stacks of these players.
    """
    street_start: tuple[int, list[Any], Any, list[Any]] = 0, [], 0, []
    for state in history:
        # PokerKit changes a single state object, so its numbers are copied out at each new board.
        board = list(state.get_board_cards(0))
        if len(board) >= 3 and len(board) > len(street_start[1]):
            active = [player for player, is_in in enumerate(state.statuses) if is_in]
            stacks = [state.stacks[player] for player in active]
            street_start = len(active), board, state.total_pot_amount, stacks
            if len(active) == 2:
                break
    return street_start
