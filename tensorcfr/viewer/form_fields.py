"""Fields of the form for a spot: texts of the page, and options of the game."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from .._util.argument_checks import brief
from ..errors import suggest
from ..games import GAMES, make_spot
from ..games.holdem import Holdem
from ..games.poker.betting import ALL_IN, STREETS, TO_DEAL
from ..games.poker.sizes import read_sizes
from ..games.poker.spot import PLAYERS, THREE_PLAYERS, Spot
from ..games.tournaments import read_amounts

FIELDS = ("game", *(name for name in GAMES[Holdem.game].accepted if name != "utility"))
"""Options of a spot in the form: the game and its parameters, but no functions."""
NUMBERS = (
    *("pot", "chip", "big_blind", "rake", "rake_cap"),
    *("add_allin", "force_allin", "merging"),
)
"""Options that are one number."""
SHARES = ("rake", "add_allin", "force_allin", "merging")
"""Options that the form shows in per cent."""
LISTS = ("folded", "add", "remove", "incentives")
"""Options that are several texts; the form has one on each line."""
SIZES = ("bets", "raises")
SEATS = {len(names): names for names in (PLAYERS, THREE_PLAYERS)}
"""Names of the players in a spot, by their number."""
RANGES = {2: ("oop", "ip"), 3: ("oop", "middle", "ip")}
"""Fields of the players' ranges, by the number of players; a third player sits in the middle."""
LEAST_CHIP = Decimal("1e-6")
_CHIPS = re.compile(r"(?<![\d.])(\d+\.\d+)c")
_AMOUNT = re.compile(r"(?:bet|raise)(\d+\.\d+)")


def spot_of(options: Any) -> Spot:
    """Return the spot of the form's options.

    Texts are read as numbers, ``"5%"`` as 0.05. Without a smallest chip the largest of 1, 0.1,
    0.01, ... is taken that fits all amounts.

    Raises:
        TypeError: The options are not a mapping.
        ValueError: An option is unknown, missing or invalid; names the option.
    """
    if not isinstance(options, Mapping):
        raise TypeError("the spot must be an object")
    for name in options:
        if name not in FIELDS:
            raise ValueError(f"a spot has no {name!r}; {suggest(name, FIELDS)}")
    for name in ("board", "ranges", "pot", "stacks"):
        option = options.get(name)
        if option in (None, "") or (isinstance(option, list) and not any(option)):
            raise ValueError(f"the spot has no {name}")
    # Fields that are left empty have their defaults.
    filled_in = {name: value for name, value in options.items() if value != ""}
    for name in NUMBERS:
        if isinstance(filled_in.get(name), str):
            filled_in[name] = _number(name, filled_in[name])
    filled_in = read_amounts(filled_in)
    if "chip" not in filled_in:
        filled_in["chip"] = fitting_chip(filled_in)
    return make_spot(**filled_in)


def _number(name: str, text: str) -> float:
    """Return the number of a text; a percentage is divided by 100."""
    digits = text.strip()
    try:
        # Decimals, so that 15% is the float nearest to 0.15.
        number = Decimal(digits.removesuffix("%"))
        return float(number / 100 if digits.endswith("%") else number)
    except (InvalidOperation, OverflowError):
        raise ValueError(f"{name} must be a number, not {brief(text)}") from None


def fitting_chip(options: Mapping[str, Any]) -> float:
    """Return the largest of 1, 0.1, 0.01, ... of which the amounts of a spot are multiples.

    Amounts are the pot, the stacks, and the chips in sizes and lines.

    >>> fitting_chip({"pot": 5.5, "stacks": 97.25})
    0.01
    """
    stacks = options.get("stacks")
    amounts = [options.get("pot"), *(stacks if isinstance(stacks, (list, tuple)) else [stacks])]
    texts = [*_texts(options.get("bets")), *_texts(options.get("raises"))]
    amounts += [match for text in texts for match in _CHIPS.findall(text)]
    lines = [*_texts(options.get("add")), *_texts(options.get("remove"))]
    amounts += [match for line in lines for match in _AMOUNT.findall(line)]
    chip = Decimal(1)
    for amount in amounts:
        try:
            number = Decimal(str(amount))
            while number % chip and chip > LEAST_CHIP:
                chip /= 10
        except InvalidOperation:
            continue  # The spot refuses an amount that is not a number.
    return int(chip) if chip == 1 else float(chip)


def _texts(sizes: Any) -> list[str]:
    """Return all texts within mappings and lists."""
    if isinstance(sizes, str):
        return [sizes]
    entries = sizes.values() if isinstance(sizes, Mapping) else sizes
    return [] if entries is None else [text for entry in entries for text in _texts(entry)]


def fields_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of the form for options of a spot; options that are missing have none."""
    fields = {"game": str(options.get("game", Holdem.game))}
    ranges = options.get("ranges", ())
    n_players = len(ranges) or len(PLAYERS)
    if ranges:  # A whole spot, in which sizes that are not given are none.
        options = {"bets": "", "raises": "", **options}
        fields["players"] = str(n_players)
        fields |= dict(zip(RANGES[n_players], map(str, ranges), strict=True))
    for name in ("board", "dead", "pot", "chip", "big_blind", "rake_cap"):
        if options.get(name) is not None:
            fields[name] = _plain(options[name])
    for name in SHARES:
        if options.get(name) is not None:
            fields[name] = _plain(float(Decimal(str(options[name])) * 100))
    for name in ("stacks", "payouts", "others", "bounties"):
        if (amounts := options.get(name)) is not None:
            several = amounts if isinstance(amounts, (list, tuple)) else [amounts]
            fields[name] = ",".join(map(_plain, several))
    for name in LISTS:
        if name in options:
            lines = options[name]
            fields[name] = "\n".join([lines] if isinstance(lines, str) else lines)
    if options.get("deal_folded"):
        fields["deal_folded"] = "yes"
    for name in SIZES:
        for street in STREETS:
            texts = [_sizes_for(options.get(name), street, seat) for seat in SEATS[n_players]]
            if texts[0] is None:
                continue
            fields_of_street = zip(RANGES[n_players], texts, strict=True)
            named = {field: text or "" for field, text in fields_of_street}
            fields["split"] = "yes" if len({*named.values()}) > 1 else fields.get("split", "")
            for field, text in named.items():
                fields[f"{name}.{street}" + _end_of(field)] = text
    fields.setdefault("split", "")
    for street in STREETS[1:]:
        donk = _sizes_for(options.get("donk"), street, PLAYERS[0])
        if donk is not None:
            fields[f"donk.{street}"] = donk or "-"
    return fields


def _end_of(field: str) -> str:
    """Return the end of the names of the fields for the sizes of a player."""
    return "" if field == PLAYERS[0] else f".{field}"


def _plain(number: Any) -> str:
    """Return a number as a text, without the fraction of a whole one."""
    if isinstance(number, float) and number.is_integer():
        return str(int(number))
    return str(number)


def _sizes_for(sizes: Any, street: str, player: str) -> str | None:
    """Return the text of sizes for a street and a player; None if they have none."""
    while isinstance(sizes, Mapping):
        sizes = sizes[street] if street in sizes else sizes.get(player)
    return sizes


# ------------------------------------------------------------------------------------- the tree


def tree_at(spot: Spot, line: Any, size: Any = "") -> dict[str, Any]:
    """Return the actions at a line of a spot, before it is built.

    Args:
        spot: The spot.
        line: Actions, ``["check", "bet60"]``; cards that are dealt are left out.
        size: Text of a size to add here, ``"75%"``, or empty.

    Returns:
        The ``line`` as far as it exists, the player, the ``pot``, the chips ``to_call``, and the
        actions, each with the share of the pot that a bet or raise adds. ``added`` is the action
        that the size makes, or None.

    Raises:
        TypeError: The line is not a list of texts, or the size is not a text.
        ValueError: A line cannot be added or removed, or the text is not a size.
    """
    if not isinstance(line, list) or not all(isinstance(text, str) for text in (*line, size)):
        raise TypeError("a line must be a list of texts, and a size a text")
    betting = spot.betting
    state, path = spot.root(), []
    for action in line:
        if state.player < 0 or action not in betting.actions(state):
            break
        path.append({"player": spot.player_names[state.player], "action": action})
        state = spot.next(state, action)
        while state.player == TO_DEAL:
            state = spot.next(state, None)
    chips = spot.chips(state)
    shown: dict[str, Any] = {
        "line": path,
        "street": STREETS[state.street],
        "pot": chips.pot,
        "to_call": chips.call,
        "player": None,
        "actions": [],
        "raises": False,
        "added": None,
    }
    if state.player < 0:
        return shown
    shown["player"] = spot.player_names[state.player]
    put, chip = max(state.street_put), float(betting.chip)
    for action in betting.actions(state):
        share = None
        if action == ALL_IN or action[-1].isdigit():
            # A raise is a share of the pot after the call, as in the notation of sizes.
            amount = chip * (betting.raised_to(state, action) - put)
            share = amount / (chips.pot + chips.call)
        shown["actions"].append({"label": action, "share": share})
    shown["raises"] = put < betting.raised_to(state, ALL_IN)
    if size:
        sizes = read_sizes(size, "the size", raises=put > 0)
        if len(sizes) != 1 or not shown["raises"]:
            raise ValueError("one size can be added where a bet or a raise is possible")
        shown["added"] = betting.label_of(sizes[0], state)
    return shown
