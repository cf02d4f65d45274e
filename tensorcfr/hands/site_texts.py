"""Hands in the text that poker sites save and trackers read.

PokerStars, its Zoom and home games, and GGPoker write the form that is read and written here.
PokerKit reads the forms of Absolute Poker, Full Tilt Poker, iPoker, Ongame and PartyPoker.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from .._util.extras import needs
from .played_hands import RAKE, HandError

_AMOUNT = r"\D{0,3}?([\d,]+(?:\.\d+)?)"
_HEADER = re.compile(
    r"^(?:PokerStars (?:Zoom |Home Game )?(?:Hand|Game)|Poker Hand) #(?P<name>\w+):(?P<game>.*)"
)
_STARTS = r"^\ufeff?(?:PokerStars (?:Zoom |Home Game )?(?:Hand|Game)|Poker Hand) #"
_VARIANTS = {
    "NS": re.compile(r"6\+\s+Hold'em No Limit|Short ?[Dd]eck(?: Hold'em)? No Limit"),
    "NT": re.compile(r"Hold'em No Limit"),
    "PO": re.compile(r"(?<!Card )Omaha Pot Limit|\bPLO(?= \()"),
}
"""Name of each variant's game in a header; the first that is found counts."""
_OTHER_GAME = re.compile(r"(?:\d (?=Card))?(?:[A-Z][\w'/-]* )*(?:No |Pot |Fixed )?(?:Limit|PLO\S*)")
GAME_NAMES = {"NT": "Hold'em No Limit", "PO": "Omaha Pot Limit", "NS": "6+ Hold'em No Limit"}
"""Name of each variant in a header."""
SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP"}
_BUTTON = re.compile(r"Seat #(\d+) is the button")
_SEAT = re.compile(rf"^Seat (\d+): (.+) \({_AMOUNT} in chips.*?\)(.*)$")
_POST = re.compile(
    r"^(.+): (?:posts )?(?:the )?"
    rf"(small & big blinds|small blind|big blind|ante|straddle|button blind) {_AMOUNT}"
)
_DEALT = re.compile(r"^Dealt to (.+?) \[([^\]]+)\]$")
_ACTION = re.compile(
    rf"^(.+): (folds|checks|calls|bets|raises)(?: {_AMOUNT})?(?: to {_AMOUNT})?\b.*$"
)
_SHOWS = re.compile(r"^(.+): shows \[([^\]]+)\]")
_SUMMARY = re.compile(
    r"^Seat \d+: (.+?)(?: \([a-z ]+\))* (?:showed|mucked) \[([^\]]+)\]", re.MULTILINE
)
_COLLECTED = re.compile(rf"^(.+?):? collected {_AMOUNT} from ")
_STREET = re.compile(r"^\*\*\* (FLOP|TURN|RIVER|FIRST|SECOND|SHOW|SUMMARY)\b.*?(?:\[([^\]]+)\])?$")
_FEES = re.compile(r"^Total pot .*?\| (Rake .*)$", re.MULTILINE)
_OTHER_SITES = {
    "from_absolute_poker": r"^Stage #\d",
    "from_full_tilt_poker": r"^Full Tilt Poker Game #",
    "from_ipoker_network": r"^GAME #\d+|<session sessioncode",
    "from_ongame_network": r"^\*{5} History for hand",
    "from_partypoker": r"^\*{5} Hand History [Ff]or Game|^#Game No",
}
"""Line that a text of another site has, by PokerKit's function that reads it."""

Parsed = Iterator[dict[str, Any] | HandError]
"""Fields of each hand in the PHH format, or the reason why it cannot be read."""


def fields_of_text(text: str) -> Parsed | None:
    """Read the hands in a text of a site; return None if no site is known that writes it."""
    if parts := _parts(text, _STARTS):
        return (_catch(_stars_fields, part.lstrip("\ufeff")) for part in parts)
    for name, form in _OTHER_SITES.items():
        if re.search(form, text, re.MULTILINE):
            return _pokerkit_fields(text, name)
    return None


def _catch(read: Callable[..., dict[str, Any]], *arguments: str) -> dict[str, Any] | HandError:
    try:
        return read(*arguments)
    except HandError as error:
        return error


def _parts(text: str, form: str) -> list[str]:
    """Split a text before each line that matches."""
    starts = [match.start() for match in re.finditer(form, text, re.MULTILINE)]
    return [text[a:b] for a, b in pairwise([*starts, len(text)])] if starts else []


def _pokerkit_fields(text: str, name: str) -> Parsed:
    """Read the hands of a text with a parser of PokerKit."""
    pokerkit = needs("pokerkit", "hands")
    # PokerKit prints the traceback of a hand that it cannot read, and warns.
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            histories = list(getattr(pokerkit.HandHistory, name)(text, parse_value=_decimal))
        except Exception as error:
            problem = f"PokerKit cannot read this text: {type(error).__name__}"
            return iter([HandError(problem)])
    refused = [w for w in caught if str(w.message).startswith("Unable to parse")]
    if not histories and not refused:
        return iter([HandError("PokerKit finds no hand in this text")])
    read = [
        {key: value for key, value in vars(history).items() if not key.startswith("_")}
        for history in histories
    ]
    return iter([*read, *(HandError("PokerKit cannot read this text") for _ in refused)])


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def _stars_fields(text: str) -> dict[str, Any]:
    """Read a hand in the form of PokerStars.

    Raises:
        HandError: The game is not supported, or the hand was run twice, or a part is missing.
    """
    header = _HEADER.match(text)
    if not header:
        raise HandError("the header of the hand is not that of a known game")
    game = header["game"]
    variant = next((name for name, form in _VARIANTS.items() if form.search(game)), None)
    if variant is None:
        unsupported = _OTHER_GAME.search(game)
        raise HandError(
            f"game {unsupported[0] if unsupported else 'of the header'} is not supported"
        )
    lines = [line.strip() for line in text.splitlines()]
    button = next((match for match in map(_BUTTON.search, lines[:3]) if match), None)
    if not button:
        raise HandError("the button is missing")
    seats = {m[2]: (int(m[1]), _decimal(m[3])) for m in map(_SEAT.match, lines) if m}
    table = _TextReader()
    for line in lines:
        table.read(line)
    table.cards |= {m[1]: m[2] for m in _SUMMARY.finditer(text) if m[1] in seats}
    if unknown := (table.blinds.keys() | table.cards.keys() | table.acted) - seats.keys():
        raise HandError(f"a player has no seat: {len(unknown)} of {len(seats)}")
    # Seats follow the button; the button acts last.
    after = int(button[1])
    acting = table.acted | table.blinds.keys() | set(table.shown)
    playing = [name for name in seats if name in acting]
    names = sorted(playing, key=lambda name: ((seats[name][0] - after - 1) % 1000, name))
    if len(names) < 2:
        raise HandError("fewer than two players act")
    fees = _FEES.search(text)
    rake = sum(map(_decimal, re.findall(r"\d[\d,]*(?:\.\d+)?", fees[1]))) if fees else None
    return table.fields(names, [seats[name][1] for name in names]) | {
        "user_defined_fields": {RAKE: rake} if fees else {},
        "variant": variant,
        "hand": int(header["name"]) if header["name"].isdigit() else header["name"],
        "currency": next((c for s, c in SYMBOLS.items() if s in game.rpartition("(")[2]), None),
    }


class _TextReader:
    """Posts, cards and actions of a hand, read line by line."""

    def __init__(self) -> None:
        self.antes: dict[str, Decimal] = {}
        self.blinds: dict[str, Decimal] = {}
        self.posted: set[str] = set()
        """Players who posted a big blind, in turn or not."""
        self.acted: set[str] = set()
        self.cards: dict[str, str] = {}
        self.shown: list[str] = []
        self.collected: dict[str, Decimal] = {}
        self.steps: list[tuple[str, str]] = []
        """Pairs of a player and an action, or of an empty text and cards of the board."""
        self._is_over = False

    def read(self, line: str) -> None:
        """Read a line.

        Raises:
            HandError: The board was dealt twice.
        """
        if match := _STREET.match(line):
            if match[1] in ("FIRST", "SECOND"):
                raise HandError("the board was dealt twice")
            self._is_over = self._is_over or match[1] == "SUMMARY"
            if match[2] and match[1] in ("FLOP", "TURN", "RIVER"):
                self.steps.append(("", match[2].replace(" ", "")))
        elif self._is_over:
            return
        elif match := _POST.match(line):
            self._post(match[1], match[2], _decimal(match[3]))
        elif match := _DEALT.match(line):
            self.cards[match[1]] = match[2]
        elif match := _SHOWS.match(line):
            self.cards[match[1]] = match[2]
            self.shown.append(match[1])
        elif match := _ACTION.match(line):
            self.acted.add(match[1])
            to = match[4] or (match[3] if match[2] == "bets" else None)
            word = {"folds": "f", "checks": "cc", "calls": "cc"}.get(match[2])
            self.steps.append((match[1], word or f"cbr {_decimal(to or '0')}"))
        elif match := _COLLECTED.match(line):
            before = self.collected.get(match[1], Decimal(0))
            self.collected[match[1]] = before + _decimal(match[2])

    def _post(self, name: str, what: str, amount: Decimal) -> None:
        if what == "ante":
            self.antes[name] = self.antes.get(name, Decimal(0)) + amount
        elif what == "small & big blinds":
            # The small blind of a player who missed it is dead.
            big = max(self.blinds.values(), default=amount * 2 / 3)
            self.antes[name] = self.antes.get(name, Decimal(0)) + amount - big
            self.blinds[name] = big
        elif name in self.blinds and what == "small blind":
            self.antes[name] = self.antes.get(name, Decimal(0)) + amount
        else:
            self.blinds[name] = amount
        if "big blind" in what:
            self.posted.add(name)

    def fields(self, names: Sequence[str], stacks: Sequence[Decimal]) -> dict[str, Any]:
        """Return the fields of the PHH format, for players in its order.

        Raises:
            HandError: The blinds are not those of a hand.
        """
        number = {name: k + 1 for k, name in enumerate(names)}
        antes = [self.antes.get(name, Decimal(0)) for name in names]
        blinds = [self.blinds.get(name, Decimal(0)) for name in names]
        if not any(blinds):
            raise HandError("nobody posts a blind")
        big = max(blinds[:2]) or max(blinds)
        if len(names) > 2:
            # A blind that is posted out of turn does not move the first decision.
            late = (name in self.posted for name in names[2:])
            pairs = zip(late, blinds[2:], strict=True)
            blinds = blinds[:2] + [-blind if is_late else blind for is_late, blind in pairs]
        dealt = [
            f"d dh p{number[name]} {self.cards.get(name, '????').replace(' ', '')}"
            for name in names
        ]
        shown = [f"p{number[n]} sm {self.cards[n].replace(' ', '')}" for n in self.shown]
        played = [
            f"p{number[name]} {action}" if name else f"d db {action}" for name, action in self.steps
        ]
        # After an all-in, cards are shown before the rest of the board is dealt.
        last = max((k for k, (name, _) in enumerate(self.steps) if name), default=-1) + 1
        if len(names) == 2:
            # The format lists the blinds of two players in the order of the rules, small blind
            # first, and the players in the order of play.
            antes, blinds = antes[::-1], blinds[::-1]
        width = len(next(iter(self.cards.values()), "?? ??").split())
        unknown = "??" * max(width, 2)
        return {
            "antes": antes,
            "blinds_or_straddles": blinds,
            "min_bet": big,
            "starting_stacks": list(stacks),
            "actions": [
                *(action.replace("????", unknown) for action in dealt),
                *played[:last],
                *shown,
                *played[last:],
            ],
            "players": list(names),
            "winnings": [self.collected.get(name, Decimal(0)) for name in names],
        }
