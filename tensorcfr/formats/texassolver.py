"""Scripts of TexasSolver, read as its graphical program and its console program do.

Source: bupticybee/TexasSolver, branch ``master`` at commit d926d24 and branch ``console`` at commit
8d7c4bf: ``src/tools/CommandLineTool.cpp`` (the console program), ``mainwindow.cpp`` (the graphical
program), ``src/GameTree.cpp`` (the rules of sizes).
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import lcm
from typing import Any

from .._util.argument_checks import brief
from ..errors import FormatError, suggest
from ..games.poker.betting import STREETS
from ..games.poker.spot import PLAYERS

NEEDED = ("set_pot", "set_effective_stack", "set_board", "set_range_oop", "set_range_ip")
"""Required commands."""
SIZES = "set_bet_sizes"
RAISE_LIMIT = "set_raise_limit"
"""Command that the graphical program writes and reads, and the console program ignores."""
PASSED_OVER = (
    *("set_allin_threshold", "set_thread_num", "set_accuracy", "set_max_iteration"),
    *("set_print_interval", "set_use_isomorphism", "set_dump_rounds"),
    *("build_tree", "start_solve", "dump_result", "estimate_tree_memory"),
    # Commands of forks; TexasSolver ignores them.
    *("set_dump_format", "set_enable_range", "set_use_fp16", "set_min_bet", "set_slice_cfr"),
)
"""Commands that are ignored: settings of the solver, and the threshold of all-in bets."""
USUAL_RAISE_LIMIT = 4
"""Largest number of bets and raises on a street by default; a bet counts as the first raise."""
KINDS = ("bet", "raise", "donk", "allin")


def texassolver_options(text: str, name: str = "script") -> dict[str, Any]:
    """Read the options of a spot from a script of TexasSolver.

    All-in is an action where the script lists it.  If a script never lists it, all-in is added on
    every street for both players, as in the console program of the branch ``master``.  (The
    released console program, 0.2.0, then has no all-in.)  Scripts of the graphical program, which
    contain ``set_raise_limit`` or an empty size, are an exception.

    As in TexasSolver, ``set_raise_limit`` limits the raises (4: a bet and three raises), and donk
    bets of player 0 have separate sizes.  The smallest chip is the largest one of which the pot,
    the stacks and 1 are multiples.  Games differ from TexasSolver's in four points:

    * TexasSolver makes a bet all-in that is larger than ``set_allin_threshold``.
    * TexasSolver leaves out raises below the smallest legal raise, also if they are all-in.  Here
      such a size becomes the smallest raise, and all-in stays.
    * TexasSolver rounds bets and all-in to whole chips.
    * TexasSolver leaves out hands with a weight of at most 0.005.

    Args:
        text: Lines such as ``set_pot 50`` and ``set_bet_sizes oop,flop,bet,50,75``.
        name: Name of the text in errors.

    Raises:
        FormatError: A line is not a command of TexasSolver; names the line.
    """
    commands: dict[str, tuple[str, int]] = {}
    sizes: dict[tuple[str, str, str], list[str]] = {}
    from_window = False
    for number, line in enumerate(text.splitlines(), start=1):
        command, _, rest = line.strip().partition(" ")
        if command == SIZES:
            key, listed, has_empty = _sizes(rest, name, number)
            sizes[key] = listed
            from_window |= has_empty
        elif command in NEEDED or command == RAISE_LIMIT:
            commands[command] = rest.strip(), number
        elif command and command not in PASSED_OVER and not command.startswith(("#", "//")):
            known = (*NEEDED, SIZES, RAISE_LIMIT, *PASSED_OVER)
            problem = f"there is no command {brief(command)}; {suggest(command, known)}"
            raise FormatError(name, number, 1, problem)
    if missing := [command for command in NEEDED if command not in commands]:
        raise FormatError(name, 1, 1, f"the script has no {', '.join(missing)}")
    from_window |= RAISE_LIMIT in commands
    has_allin_by_default = not from_window and not any(kind == "allin" for _, _, kind in sizes)
    limit = USUAL_RAISE_LIMIT
    if RAISE_LIMIT in commands:
        limit = int(_amount(commands, RAISE_LIMIT, name, whole=True))
    pot, stacks = (_amount(commands, command, name) for command in NEEDED[:2])

    def sizes_of(kind: str, street: str, player: str) -> str:
        """Return the sizes of a player on a street, in the notation of this library."""
        # The bet counts as the first raise of the limit.
        cap = f"{limit - 1}r" if kind == "raise" else ""
        if kind == "raise" and limit <= 1:
            return ""
        has_allin = has_allin_by_default or (street, player, "allin") in sizes
        percents = [f"{size}%{cap}" for size in sizes.get((street, player, kind), ())]
        return ",".join([*percents, f"a{cap}"] if has_allin else percents)

    parts = lcm(pot.denominator, stacks.denominator)
    return {
        "board": commands["set_board"][0].replace(",", ""),
        "ranges": (commands["set_range_oop"][0], commands["set_range_ip"][0]),
        "pot": float(pot),
        "stacks": float(stacks),
        **({} if parts == 1 else {"chip": 1.0 / parts}),
        **{
            option: {
                street: {player: sizes_of(kind, street, player) for player in PLAYERS}
                for street in STREETS
            }
            for option, kind in (("bets", "bet"), ("raises", "raise"))
        },
        "donk": {street: sizes_of("donk", street, "oop") for street in STREETS[1:]},
        "add_allin": 0.0,
        "force_allin": 0.0,
        "merging": 0.0,
    }


def _sizes(rest: str, name: str, number: int) -> tuple[tuple[str, str, str], list[str], bool]:
    """Read the arguments of ``set_bet_sizes``.

    Returns:
        Street, player and kind; the sizes in per cent of the pot; and True if a size is empty.
    """
    column = len(SIZES) + 2
    player, street, kind, *words = (*(word.strip() for word in rest.split(",")), "", "", "")
    words = words[:-3]
    if player not in PLAYERS or street not in STREETS or kind not in KINDS:
        problem = f"sizes are like 'oop,flop,bet,50', not {brief(rest)}"
        raise FormatError(name, number, column, problem)
    for word in filter(None, words):
        if re.fullmatch(r"\d+\.?\d*|\.\d+", word):
            continue
        problem = f"a size is a number of per cent of the pot, not {brief(word)}"
        if word.endswith("x"):
            problem += ": the window takes 3x as 300, the console program as 3"
        raise FormatError(name, number, column, problem)
    # The graphical program reads an empty field as a size of 0, which is neither bet nor raise.
    return (street, player, kind), [word for word in words if word and float(word)], "" in words


def _amount(
    commands: dict[str, tuple[str, int]], command: str, name: str, *, whole: bool = False
) -> Fraction:
    """Read the number after a command."""
    text, number = commands[command]
    try:
        # TexasSolver keeps seven digits; a script may have 16.400000000000002.
        return Fraction(int(text)) if whole else Fraction(f"{float(text):.7g}")
    except (ValueError, OverflowError):
        what = "a whole number" if whole else "a number"
        problem = f"{command} must be {what}, not {brief(text)}"
        raise FormatError(name, number, len(command) + 2, problem) from None
