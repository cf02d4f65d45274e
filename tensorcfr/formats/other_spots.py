"""Spots that other programs wrote: scripts of TexasSolver, configurations of WASM Postflop and
Desktop Postflop, hand histories in the PHH format.

Each becomes options of a spot, as many as the file has: a configuration need have
neither board nor ranges, a hand history has no sizes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from .._util.arguments import Where, brief, checked
from .._util.extras import needs
from ..errors import FormatError, suggest
from ..games.holdem.betting import STREETS
from ..games.holdem.spot import PLAYERS
from .gambit_text import decoded
from .spots import ENDINGS as OWN_ENDINGS
from .spots import MOST_BYTES, options_of, read_spot

Options = dict[str, Any]
ENDINGS = (*OWN_ENDINGS, ".json", ".phh")
"""How the names of files of spots end, of this and of other programs."""


@checked()
def read_spot_options(path: Annotated[str | Path, Where()]) -> Options:
    """The options of the spot in a file, of this or of another program.

    A file that ends in ``.json`` is a configuration of WASM Postflop or Desktop Postflop, one that
    ends in ``.phh`` a hand history.  Any other is a script of TexasSolver if a line begins with
    ``set_``, and otherwise a spot of this program.

    >>> options = read_spot_options("hand.phh") | {"ranges": ("22+", "random")}  # doctest: +SKIP

    Returns:
        Arguments of :func:`~tensorcfr.games.make_spot`, perhaps not all: those of
        ``compile_game("holdem", ...)`` unless ``game`` is another.

    Raises:
        FormatError: The file is none of these; names file and line.
        MissingExtraError: PokerKit is not installed (hand histories); names the extra.
        OSError: The file cannot be read.
    """
    path, name = Path(path), str(path)
    with path.open("rb") as file:
        text = decoded(file.read(MOST_BYTES + 1), path)
    if len(text) > MOST_BYTES:
        raise FormatError(name, 1, 1, f"a spot has at most {MOST_BYTES:,} bytes")
    if path.suffix.lower() == ".json":
        return postflop_options(text, name)
    if path.suffix.lower() == ".phh":
        return hand_options(text, name)
    if re.search(r"^\s*set_", text, re.MULTILINE):
        return texassolver_options(text, name)
    return options_of(read_spot(path))


_NOT_OF_THE_SPOT = (
    *("set_allin_threshold", "set_thread_num", "set_accuracy", "set_max_iteration"),
    *("set_print_interval", "set_use_isomorphism", "set_dump_rounds"),
    *("build_tree", "start_solve", "dump_result"),
)
"""Commands of TexasSolver that say how to solve; and the threshold beyond which it makes all bets
all-in, which has no equal here."""
_COMMANDS = ("set_pot", "set_effective_stack", "set_board", "set_range_oop", "set_range_ip")


def texassolver_options(text: str, name: str = "script") -> Options:
    """The options of a spot that a script of TexasSolver describes.

    As there, a bet may be raised three times on a street, and player 0 donks with the sizes that
    are given for it alone.  ``set_allin_threshold`` is passed over: trees differ where TexasSolver
    makes a large bet all-in.

    Args:
        text: Lines such as ``set_pot 50`` and ``set_bet_sizes oop,flop,bet,50,75``.
        name: What errors call it.

    Raises:
        FormatError: A line is none of TexasSolver's; names the line.
    """
    given: dict[str, str] = {}
    sizes: dict[tuple[str, str, str], list[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        command, _, rest = line.strip().partition(" ")
        words = [word.strip() for word in rest.split(",")]
        if command == "set_bet_sizes":
            player, street, kind = (*words, "", "", "")[:3]
            known = player in PLAYERS and street in STREETS
            if not known or kind not in ("bet", "raise", "donk", "allin"):
                problem = f"sizes are like 'oop,flop,bet,50', not {brief(rest)}"
                raise FormatError(name, number, len(command) + 2, problem)
            sizes[street, player, kind] = words[3:]
        elif command in _COMMANDS:
            given[command] = rest.replace(",", "") if command == "set_board" else rest
        elif command and command not in _NOT_OF_THE_SPOT:
            known_words = (*_COMMANDS, "set_bet_sizes", *_NOT_OF_THE_SPOT)
            problem = f"there is no command {brief(command)}; {suggest(command, known_words)}"
            raise FormatError(name, number, 1, problem)
    if missing := [command for command in _COMMANDS if command not in given]:
        raise FormatError(name, 1, 1, f"the script has no {', '.join(missing)}")

    def of(kind: str, street: str, player: str) -> str:
        cap = "3r" if kind == "raise" else ""
        found = [f"{size}%{cap}" for size in sizes.get((street, player, kind), ())]
        return ",".join([*found, f"a{cap}"] if (street, player, "allin") in sizes else found)

    return {
        "board": given["set_board"],
        "ranges": (given["set_range_oop"], given["set_range_ip"]),
        "pot": _number(given["set_pot"], "set_pot", name),
        "stacks": _number(given["set_effective_stack"], "set_effective_stack", name),
        "bets": _by_street(lambda street, player: of("bet", street, player)),
        "raises": _by_street(lambda street, player: of("raise", street, player)),
        "donk": {street: of("donk", street, "oop") for street in STREETS[1:]},
        "add_allin": 0.0,
        "force_allin": 0.0,
        "merging": 0.0,
    }


_STEPS = {"F": "fold", "X": "check", "C": "call", "B": "bet", "R": "raise", "A": "allin"}


def postflop_options(text: str, name: str = "configuration") -> Options:
    """The options of a spot that a configuration of WASM Postflop or Desktop Postflop describes.

    Args:
        text: JSON: a configuration; one with ``oopRange``, ``ipRange`` and ``config``; or what
            *Export JSON* writes, with one configuration in it.
        name: What errors call it.

    Returns:
        The options; board and ranges where they are there.

    Raises:
        FormatError: The text is no such configuration, or has several; names what is missing.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise FormatError(name, line, getattr(error, "colno", 1), f"no JSON: {error}") from None
    if isinstance(found, list):
        found = [one.get("value") for one in found if isinstance(one, dict)]
        found = [one for one in found if isinstance(one, dict)]
        if len(found) != 1:
            problem = f"the file has {len(found)} configurations; export one by itself"
            raise FormatError(name, 1, 1, problem)
        found = found[0]
    whole = found if isinstance(found, dict) else {}
    config = whole.get("config", whole)
    names = {
        f"{player}{street.capitalize()}{kind}"
        for player in PLAYERS
        for street in STREETS
        for kind in ("Bet", "Raise")
    }
    numbers = {"startingPot", "effectiveStack"}
    if not isinstance(config, dict) or not (names | numbers) <= set(config):
        missing = sorted((names | numbers) - set(config))[:3] if isinstance(config, dict) else []
        problem = "no configuration of a tree" + (f": {', '.join(missing)}" if missing else "")
        raise FormatError(name, 1, 1, problem)

    def of(key: str) -> str:
        words = re.split(r"[,\s]+", str(config.get(key, "")).strip().lower())
        return ",".join(re.sub(r"e(\d+)$", r"e\1%", word) for word in words if word)

    def share(key: str) -> float:
        return _number(config.get(key, 0), key, name) / 100.0

    options: Options = {
        "pot": _number(config["startingPot"], "startingPot", name),
        "stacks": _number(config["effectiveStack"], "effectiveStack", name),
        "bets": _by_street(lambda street, player: of(f"{player}{street.capitalize()}Bet")),
        "raises": _by_street(lambda street, player: of(f"{player}{street.capitalize()}Raise")),
        "rake": share("rakePercent"),
        "rake_cap": _number(config.get("rakeCap", 0), "rakeCap", name),
        "add_allin": share("addAllInThreshold"),
        "force_allin": share("forceAllInThreshold"),
        "merging": share("mergingThreshold"),
        "add": _lines(config.get("addedLines", ""), name),
        "remove": _lines(config.get("removedLines", ""), name),
    }
    if config.get("donkOption"):
        options["donk"] = {street: of(f"oop{street.capitalize()}Donk") for street in STREETS[1:]}
    if board := config.get("board"):
        options["board"] = "".join(map(str, board)) if isinstance(board, list) else str(board)
    if "oopRange" in whole and "ipRange" in whole:
        options["ranges"] = (str(whole["oopRange"]), str(whole["ipRange"]))
    return options


def _lines(text: Any, name: str) -> tuple[str, ...]:
    """Lines such as ``X-B120|X`` in the words of this program."""
    lines = []
    for line in filter(None, str(text).split(",")):
        steps = []
        for step in re.split(r"[-|]", line):
            if not re.fullmatch(r"[FXC]|[BRA]\d+", step):
                raise FormatError(name, 1, 1, f"a line {brief(line)} has a step {brief(step)}")
            amount = "" if step[0] == "A" else step[1:]
            steps.append(_STEPS[step[0]] + amount)
        lines.append(" ".join(steps))
    return tuple(lines)


def hand_options(text: str, name: str = "hand") -> Options:
    """The options of the spot that a hand of two players came to on the flop, by replaying it.

    Board, pot and stacks are those with which the flop begins; ranges and sizes are left to you.
    The player out of position, whom the rules let act first, is player 0.

    Args:
        text: A hand of no-limit hold'em as a PHH file has it (J. Kim, "Recording and describing
            poker hands", IEEE Conference on Games 2024).
        name: What errors call it.

    Raises:
        FormatError: The text is no such hand, or more or fewer than two players see the flop.
        MissingExtraError: PokerKit is not installed; names the extra.
    """
    pokerkit = needs("pokerkit", "hands")
    try:
        history = pokerkit.HandHistory.loads(text)
        # The state is one object that goes on: it is looked at where the flop is on the table.
        states = (state for state in history if len(list(state.get_board_cards(0))) == 3)
        flop: Any = next(states, None)
        active = [] if flop is None else [p for p, is_in in enumerate(flop.statuses) if is_in]
        stacks = [Decimal(str(flop.stacks[player])) for player in active]
        amounts = [Decimal(str(flop.total_pot_amount)), min(stacks)] if active else []
        digits = max(
            (-int(amount.normalize().as_tuple().exponent) for amount in amounts), default=0
        )
    except Exception as error:  # PokerKit raises what its parts raise.
        problem = f"no hand that PokerKit can replay: {brief(str(error))}"
        raise FormatError(name, 1, 1, problem) from None
    if history.variant != "NT":
        problem = f"a spot is of no-limit hold'em, variant NT, not {history.variant}"
        raise FormatError(name, 1, 1, problem)
    if len(active) != 2:
        problem = f"two players must see the flop, not {len(active)}"
        raise FormatError(name, 1, 1, problem)
    board = "".join(f"{card.rank.value}{card.suit.value}" for card in flop.get_board_cards(0))
    options: Options = {"board": board, "pot": float(amounts[0]), "stacks": float(amounts[1])}
    return options | ({"chip": float(Decimal(1).scaleb(-digits))} if digits > 0 else {})


def _by_street(of: Callable[[str, str], str]) -> Mapping[str, Mapping[str, str]]:
    """Sizes by street and player."""
    return {street: {player: of(street, player) for player in PLAYERS} for street in STREETS}


def _number(given: Any, what: str, name: str) -> float:
    """A number of a file."""
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(name, 1, 1, f"{what} must be a number, not {brief(given)}") from None
