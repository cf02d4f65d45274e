"""Configurations of WASM Postflop and Desktop Postflop.

Source: b-inary/wasm-postflop at commit 97360db (``src/components/DbItemPicker.vue``,
``TreeConfig.vue``, ``src/db-migration.ts``) and b-inary/postflop-solver at commit 9d1509f
(``src/range.rs``).
"""

from __future__ import annotations

import json
import re
from typing import Any

from .._util.argument_checks import brief
from ..errors import FormatError
from ..games.poker.betting import STREETS
from ..games.poker.deck import RANKS
from ..games.poker.spot import PLAYERS

NUMBERS = ("startingPot", "effectiveStack")
SIZES = tuple(
    f"{player}{street.capitalize()}{kind}"
    for player in PLAYERS
    for street in STREETS
    for kind in ("Bet", "Raise")
)
"""Keys of sizes, which every configuration has."""
STEPS = {"F": "fold", "X": "check", "C": "call", "B": "bet", "R": "raise", "A": "allin"}
"""Action by letter, in lines that are added or removed."""
VERSION_1 = "oopFlopBetStr"
"""Key that only configurations of version 1 have."""
_HAND = r"[2-9TJQKA]{2}[so]?|(?:[2-9TJQKA][cdhs]){2}"
_GROUP = re.compile(rf"({_HAND})(\+|-(?:{_HAND}))?(:[\d.]+)?", re.IGNORECASE)


def postflop_options(text: str, name: str = "configuration") -> dict[str, Any]:
    """Read the options of a spot from a configuration of WASM Postflop or Desktop Postflop.

    Ranges in the file follow the rules of that program.  There ``T9s+`` means all suited hands of
    neighbouring ranks from ``T9s`` to ``AKs``, and if two groups contain the same hand, the first
    group counts.

    Args:
        text: JSON of a configuration, of an object with ``oopRange``, ``ipRange`` and ``config``,
            or of an export with one configuration.
        name: Name of the text in errors.

    Returns:
        The options, with board and ranges if the text has them.

    Raises:
        FormatError: The text is not such a configuration, or has several; names missing keys.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise FormatError(name, line, getattr(error, "colno", 1), f"not JSON: {error}") from None
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        if content.get("name") == "ranges":
            problem = "the export has ranges, but no configuration of a tree"
            raise FormatError(name, 1, 1, problem)
        content = content["data"]
    if isinstance(content, list):
        content = _only_one(content, name)
    record = content if isinstance(content, dict) else {}
    config = record.get("config", record)
    keys = set(config) if isinstance(config, dict) else set()
    if VERSION_1 in keys:
        problem = "a configuration of version 1, which the program itself does not import"
        raise FormatError(name, 1, 1, problem)
    if not keys & {*NUMBERS, *SIZES}:
        problem = "this JSON is not a configuration of WASM or Desktop Postflop"
        raise FormatError(name, 1, 1, problem)
    if missing := sorted({*NUMBERS, *SIZES} - keys):
        problem = f"the configuration has no {', '.join(missing[:3])}"
        raise FormatError(name, 1, 1, problem)

    def sizes_of(key: str) -> str:
        """Return the sizes of a key in the notation of this library: ``3e200%`` for ``3e200``."""
        words = re.split(r"[,\s]+", str(config.get(key, "")).strip().lower())
        return ",".join(re.sub(r"e(\d+)$", r"e\1%", word) for word in words if word)

    def number(key: str) -> float:
        """Return the number of a key; 0 if the key is missing."""
        value = config.get(key, 0)
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            problem = f"{key} must be a number, not {brief(value)}"
            raise FormatError(name, 1, 1, problem) from None

    options: dict[str, Any] = {
        "pot": number("startingPot"),
        "stacks": number("effectiveStack"),
        **{
            option: {
                street: {
                    player: sizes_of(f"{player}{street.capitalize()}{kind}") for player in PLAYERS
                }
                for street in STREETS
            }
            for option, kind in (("bets", "Bet"), ("raises", "Raise"))
        },
        "rake": number("rakePercent") / 100.0,
        "rake_cap": number("rakeCap"),
        "add_allin": number("addAllInThreshold") / 100.0,
        "force_allin": number("forceAllInThreshold") / 100.0,
        "merging": number("mergingThreshold") / 100.0,
        "add": _lines(config.get("addedLines", ""), name),
        "remove": _lines(config.get("removedLines", ""), name),
    }
    if config.get("donkOption"):
        options["donk"] = {
            street: sizes_of(f"oop{street.capitalize()}Donk") for street in STREETS[1:]
        }
    if board := config.get("board"):
        options["board"] = "".join(map(str, board)) if isinstance(board, list) else str(board)
    if "oopRange" in record and "ipRange" in record:
        options["ranges"] = tuple(_range(record, key, name) for key in ("oopRange", "ipRange"))
    return options


def _only_one(items: list[Any], name: str) -> Any:
    """Return the only configuration of an export; groups of an export do not hold one."""
    configurations = [
        item for item in items if isinstance(item, dict) and isinstance(item.get("value"), dict)
    ]
    if len(configurations) == 1:
        return configurations[0]["value"]
    names = ["/".join(map(str, item.get("path") or ["?"])) for item in configurations[:3]]
    problem = f"the export has {len(configurations)} configurations" + (
        f" ({', '.join(names)}{', ...' if len(configurations) > 3 else ''}): keep only one of them"
        if configurations
        else ""
    )
    raise FormatError(name, 1, 1, problem)


def _range(record: dict[str, Any], key: str, name: str) -> str:
    """Rewrite a range so that it has the same hands by the rules of this library."""
    groups = []
    for group in str(record[key]).split(","):
        if not group.strip():
            continue
        match = _GROUP.fullmatch("".join(group.split()))
        if match is None:
            problem = (
                f"{key}: {brief(group.strip())} is not a group of hands as the program writes them"
            )
            raise FormatError(name, 1, 1, problem)
        hands, suffix, weight = (part or "" for part in match.groups())
        second = 1 if len(hands) < 4 else 2
        first_rank, second_rank = (RANKS.index(hands[index].upper()) for index in (0, second))
        if suffix == "+" and first_rank == second_rank + 1:
            # In that program both ranks rise up to ace and king; here only the lower one would.
            suffix = f"-A{hands[1:second]}K{hands[second + 1 :]}"
        groups.append(hands + suffix + weight)
    # If two groups contain the same hand, the first one counts there and the last one here.
    return ",".join(reversed(groups))


def _lines(text: Any, name: str) -> tuple[str, ...]:
    """Translate lines such as ``X-B120|X`` to this library's names of actions."""
    lines = []
    for line in filter(None, str(text).split(",")):
        steps = []
        for step in re.split(r"[-|]", line):
            if not re.fullmatch(r"[FXC]|[BRA]\d+", step):
                raise FormatError(name, 1, 1, f"a line {brief(line)} has a step {brief(step)}")
            amount = "" if step[0] == "A" else step[1:]
            steps.append(STEPS[step[0]] + amount)
        lines.append(" ".join(steps))
    return tuple(lines)
