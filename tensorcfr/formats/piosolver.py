"""Scripts of PioSOLVER, and the trees that its commands describe.

A tree is given by its lines: ``add_line 0 0 12 38 230`` has the amounts that the acting player has
put in since the start, after each action.  A check repeats the amount, and a call repeats the
opponent's.

Sources: the documentation of the text protocol (piosolver.com/docs/upi) for the commands, and
bkushigian/Pious (``25bbHU-2sizes.txt``) for a script that the viewer wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from .._util.argument_checks import brief
from ..errors import FormatError, suggest
from ..games.poker.betting import ALL_IN, BET, CALL, CHECK, RAISE, STREETS
from ..games.poker.deck import read_cards
from ..games.poker.ranges import in_piosolver_order, range_text, read_range

POSITIONS = ("OOP", "IP")
"""Names of the players."""
POSITION = {"OOP": 0, "IP": 1, "0": 0, "1": 1}
"""Player by name or number."""
BUILD = "build_tree"
IGNORED = (
    *("is_ready", "set_end_string", "set_threads", "set_accuracy", "set_recalc_accuracy"),
    *("set_always_recalc", "set_isomorphism", "set_algorithm", "set_info_freq", "small_strats"),
    *("set_first_iteration_player", "free_tree", "reset_tree_info", "add_info_line"),
    *("estimate_tree", "go", "stop", "wait_for_solver", "dump_tree", "echo", "exit"),
)
"""Commands of scripts that do not change the game."""
MAX_LINES, MAX_ACTIONS = 50_000, 60
"""Largest number of lines of a tree, and of actions of a line."""
MAX_CHIPS, MAX_DIGITS = Decimal(10) ** 9, 6
"""Largest amount, and largest number of digits after its point."""

Line = tuple[Decimal, ...]


@dataclass
class PioTree:
    """Tree that commands describe; ``TREE_COMMANDS`` has the methods by command.

    The methods raise ValueError for arguments that do not fit.
    """

    board: str = ""
    ranges: list[np.ndarray | None] = field(default_factory=lambda: [None, None])
    """Weights of the rows of ``HANDS``, for each player float64 (1326,)."""
    pot: Decimal | None = None
    stack: Decimal | None = None
    rake: tuple[float, float] = (0.0, 0.0)
    """Share of the pot, and largest amount in chips."""
    lines: dict[Line, None] = field(default_factory=dict)
    """Lines, in the order in which they were added."""
    cut: set[Line] = field(default_factory=set)
    """Beginnings of lines that were removed, so that a check or call that ends a hand goes too."""

    def set_board(self, *words: str) -> None:
        """Set the board: ``set_board QhQc2c``."""
        text = "".join(words)
        cards = read_cards(text, "set_board")
        if not 3 <= len(cards) <= 5:
            raise ValueError(f"set_board takes three to five cards, not {brief(text)}")
        self.board = text

    def set_range(self, *words: str) -> None:
        """Set a range: 1,326 numbers in PioSOLVER's order, or a text."""
        if len(words) < 2:
            raise ValueError("set_range takes a player and a range")
        player, what = position(words[0]), f"set_range {words[0]}"
        numbers = in_piosolver_order(words[1:], what)
        weights = read_range(" ".join(words[1:]), what) if numbers is None else numbers
        self.ranges[player] = weights

    def set_pot(self, *words: str) -> None:
        """Set the pot: the amounts of both players on this street, which are 0, and the pot."""
        amounts = [amount_of(word, "set_pot") for word in words]
        if len(amounts) not in (1, 3):
            raise ValueError("set_pot takes three numbers, '0 0 180'")
        if any(amounts[:-1]):
            raise ValueError("set_pot: the first two numbers must be 0 at the start of a street")
        self.pot = amounts[-1]

    def set_eff_stack(self, *words: str) -> None:
        """Set the chips that each player has behind."""
        if len(words) != 1:
            raise ValueError("set_eff_stack takes one number")
        self.stack = amount_of(words[0], "set_eff_stack")

    def set_rake(self, *words: str) -> None:
        """Set the rake: a share of the pot, and the largest amount."""
        if len(words) != 2:
            raise ValueError("set_rake takes a share of the pot and a number of chips, '0.05 3'")
        share, cap = (float(amount_of(word, "set_rake")) for word in words)
        if share > 1.0:
            raise ValueError(f"set_rake: the share of the pot is at most 1, not {share:g}")
        self.rake = share, cap

    def add_line(self, *words: str) -> None:
        """Add a line."""
        line = line_of(words, "add_line")
        if len(self.lines) >= MAX_LINES:
            raise ValueError(f"add_line: a tree has at most {MAX_LINES:,} lines")
        self.lines[line] = None
        self.cut -= {line[:count] for count in range(1, len(line) + 1)}

    def remove_line(self, *words: str) -> None:
        """Remove all lines that begin with some amounts."""
        removed = line_of(words, "remove_line")
        self.lines = {line: None for line in self.lines if line[: len(removed)] != removed}
        self.cut.add(removed)

    def clear_lines(self, *words: str) -> None:
        """Remove all lines."""
        if words:
            raise ValueError("clear_lines takes no arguments")
        self.lines, self.cut = {}, set()

    def options(self) -> dict[str, Any]:
        """Return the options of the spot.

        Raises:
            ValueError: A command is missing, or a line does not fit the tree; names it.
        """
        missing = [
            *([] if self.board else ["set_board"]),
            *(f"set_range {POSITIONS[p]}" for p in range(2) if self.ranges[p] is None),
            *([] if self.pot is not None else ["set_pot"]),
            *([] if self.stack is not None else ["set_eff_stack"]),
            *([] if self.lines else ["add_line"]),
        ]
        if missing or self.pot is None or self.stack is None:
            raise ValueError(f"there is no {', '.join(missing)}")
        added: list[str] = []
        removed: list[str] = []
        street = len(read_cards(self.board, "set_board")) - 3
        self._follow(_Place(street, self.stack), [*self.lines], (), added, removed)
        amounts = [self.pot, self.stack, *(amount for line in self.lines for amount in line)]
        digits = max(_digits(amount) for amount in amounts)
        share, cap = self.rake
        return {
            "board": self.board,
            "ranges": tuple(range_text(weights) for weights in self.ranges if weights is not None),
            "pot": float(self.pot),
            "stacks": float(self.stack),
            **({"chip": float(Decimal(1).scaleb(-digits))} if digits else {}),
            **({"rake": share, "rake_cap": cap} if share else {}),
            "add": tuple(added),
            "remove": tuple(removed),
            "add_allin": 0.0,
            "force_allin": 0.0,
            "merging": 0.0,
        }

    def _follow(
        self,
        place: _Place,
        rests: list[Line],
        before: Line,
        added: list[str],
        removed: list[str],
        path: str = "",
    ) -> None:
        """Add the bets and raises of some lines to ``added``, and missing checks and calls to
        ``removed``.

        Args:
            place: State of the betting.
            rests: Rests of the lines, from this state on.
            before: Amounts of the actions before.
            added: Lines of this library's actions to add to a tree without bets.
            removed: Lines to remove from it.
            path: Actions before, as text.
        """
        after: dict[Decimal, list[Line]] = {}
        for rest in rests:
            if rest:
                after.setdefault(rest[0], []).append(rest[1:])
        if not after:
            return
        passive = place.bet
        ends = place.closes and (place.street == len(STREETS) - 1 or place.bet == place.stack)
        # A line that ends here goes on with checks and calls.
        follows = passive in after or not all(rests)
        if not follows and (not ends or (*before, passive) in self.cut):
            removed.append(path + (CALL if place.is_facing_bet else CHECK))
        for amount, nexts in after.items():
            if not passive <= amount <= place.stack:
                words = " ".join(f"{number.normalize():f}" for number in (*before, amount))
                raise ValueError(
                    f"add_line {words}: the last amount must be from {passive} to {place.stack}"
                )
            label = place.label(amount)
            if amount != passive:
                added.append(path + label)
            elif ends:
                continue
            self._follow(
                place.next(amount), nexts, (*before, amount), added, removed, f"{path}{label} "
            )

    def info(self) -> dict[str, str]:
        """Return the configuration by key, as tree information has it."""
        texts = [range_text(weights) if weights is not None else "" for weights in self.ranges]
        board = self.board
        return {
            "Type": "NoLimit",
            "Range0": texts[0],
            "Range1": texts[1],
            "Board": " ".join(board[index : index + 2] for index in range(0, len(board), 2)),
            "Pot": f"{self.pot or 0}",
            "EffectiveStacks": f"{self.stack or 0}",
        }


TREE_COMMANDS: Mapping[str, Callable[..., None]] = {
    method.__name__: method
    for method in (
        *(PioTree.set_board, PioTree.set_range, PioTree.set_pot, PioTree.set_eff_stack),
        *(PioTree.set_rake, PioTree.add_line, PioTree.remove_line, PioTree.clear_lines),
    )
}
"""Methods of a tree, by command."""


@dataclass(frozen=True)
class _Place:
    """State of the betting, in amounts since the start."""

    street: int
    stack: Decimal
    start: Decimal = Decimal(0)
    """Amount that each player had put in at the start of the street."""
    bet: Decimal = Decimal(0)
    """Higher amount of both players."""
    player: int = 0
    is_facing_bet: bool = False

    @property
    def closes(self) -> bool:
        """True if a check or call ends the street."""
        return self.is_facing_bet or self.player == 1

    def label(self, amount: Decimal) -> str:
        """Return this library's name of the action to an amount."""
        if amount == self.bet:
            return CALL if self.is_facing_bet else CHECK
        if amount == self.stack:
            return ALL_IN
        on_street = (amount - self.start).normalize()
        return f"{RAISE if self.bet > self.start else BET}{on_street:f}"

    def next(self, amount: Decimal) -> _Place:
        """Return the state after the action to an amount."""
        if amount > self.bet:
            return _Place(self.street, self.stack, self.start, amount, 1 - self.player, True)
        if self.closes:
            return _Place(self.street + 1, self.stack, self.bet, self.bet)
        return _Place(self.street, self.stack, self.start, self.bet, 1)


def position(word: str) -> int:
    """Return the number of a player: ``OOP``, ``IP``, ``0`` or ``1``."""
    if word.upper() not in POSITION:
        raise ValueError(f"a player is OOP or IP, not {brief(word)}")
    return POSITION[word.upper()]


def amount_of(word: str, what: str) -> Decimal:
    """Read a number of chips."""
    try:
        amount = Decimal(word)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount <= MAX_CHIPS or _digits(amount) > MAX_DIGITS:
        raise ValueError(
            f"{what}: an amount is a number from 0 to {MAX_CHIPS:,} with at most {MAX_DIGITS} "
            f"digits after the point, not {brief(word)}"
        )
    return amount


def line_of(words: tuple[str, ...], what: str) -> Line:
    """Read the amounts of a line."""
    if not 1 <= len(words) <= MAX_ACTIONS:
        raise ValueError(f"{what} takes 1 to {MAX_ACTIONS} amounts, not {len(words)}")
    return tuple(amount_of(word, what) for word in words)


def _digits(amount: Decimal) -> int:
    """Count the digits of an amount after its point."""
    return max(0, -int(amount.normalize().as_tuple().exponent))


def piosolver_options(text: str, name: str = "script") -> dict[str, Any]:
    """Read the options of a spot from a script of PioSOLVER.

    The bets and raises are those of the lines, ``add_line``.  A player may always fold to a bet.
    Checks and calls that end the hand need no line.  After the end of a line players only check
    or call.  Lines that begin with ``#`` are comments.

    Args:
        text: Lines such as ``set_pot 0 0 180`` and ``add_line 0 0 60 180``.
        name: Name of the text in errors.

    Raises:
        FormatError: A line is not a command, or does not fit; names the line.
    """
    tree, built = PioTree(), 0
    for number, line in enumerate(text.splitlines(), start=1):
        command, *words = line.split() or ["#"]
        if command.startswith("#") or command in IGNORED:
            continue
        if command == BUILD:
            built += 1
            if built > 1:
                raise FormatError(name, number, 1, "the script builds a second tree: keep only one")
            continue
        if command not in TREE_COMMANDS:
            known = (*TREE_COMMANDS, BUILD, *IGNORED)
            problem = f"there is no command {brief(command)}; {suggest(command, known)}"
            raise FormatError(name, number, 1, problem)
        try:
            TREE_COMMANDS[command](tree, *words)
        except ValueError as error:
            raise FormatError(name, number, 1, str(error)) from None
    try:
        return tree.options()
    except ValueError as error:
        raise FormatError(name, 1, 1, str(error)) from None
