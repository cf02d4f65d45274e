"""Hands in the text that poker sites save and trackers read.

The forms of :mod:`tensorcfr.hands.site_forms` and the XML files of iPoker are read here.  PokerKit
reads the forms of Absolute Poker, Full Tilt Poker and Ongame, and the texts of iPoker.
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
from xml.etree import ElementTree

from .._util.extras import needs
from .played_hands import RAKE, HandError
from .site_forms import FORMS, SiteForm

_VARIANTS = {
    "NS": re.compile(
        r"(?i)(?:6\+\s+Hold'?em|Short ?Deck(?: Hold'em)?).*No Limit|NL Short Deck|"
        r"^Six Plus Hold'em$|^Six Plus Holdem NL\b"
    ),
    "NT": re.compile(
        r"(?i)hold'?em\s?(?:ZonePoker\s+|\()?No Limit|No Limit Holdem|"
        r"\bNL (?:Texas )?Hold'?em|Texas Hold'?em Game Table \(NL\)|HOLDEM +No Limit|"
        r"HOLDEM Tournament.*?(?:No Limit|Normal|Turbo)|^Hold'em$|"
        r"^Holdem (?:NL|No limit|SL|\N{CYRILLIC CAPITAL LETTER BE}\N{CYRILLIC CAPITAL LETTER EL})\b"
    ),
    "PO": re.compile(
        r"(?i)(?<!Card )Omaha\s?\(?Pot Limit|\bPLO(?= \()|Pot Limit Omaha(?!HL| H)|"
        r"\bPL Omaha(?! H)|Omaha Hi Game Table \(PL\)|^Omaha$|^Omaha P(?:L|ot limit)\b"
    ),
}
"""Name of each variant's game in a head; the first that is found counts.  The last ones are those
of the old form of the Winning network, and of iPoker, also in Spanish and Russian."""
_OTHER_GAME = re.compile(r"(?:\d (?=Card))?(?:[A-Z][\w'/-]* )*(?:No |Pot |Fixed )?(?:Limit|PLO\S*)")
GAME_NAMES = {"NT": "Hold'em No Limit", "PO": "Omaha Pot Limit", "NS": "6+ Hold'em No Limit"}
"""Name of each variant in a header."""
SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP"}
_SUMMARY = re.compile(
    r"^Seat \d+: (.+?)(?: \([a-z ]+\))* (?:showed|mucked) \[([^\]]+)\]", re.MULTILINE
)
_FEES = re.compile(
    r"^(?:Total pot .*?\| |Pot: [\d.,]+\. )(?:(?P<none>No rake)|(?P<fees>Rake .*))$", re.MULTILINE
)
_TOURNAMENT = re.compile(r"Tournament|Tourney|Trny|Buy-?in", re.IGNORECASE)
"""Word near the head of a hand whose chips are not money."""
MOST_SEATS = 10
"""Largest number of a seat at a table."""
_ONE_POINT = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_CARD = re.compile(r"(?:[2-9TJQKA?]|10)[cdhs?]", re.IGNORECASE)
_WORDS = {"fold": "f", "check": "cc", "call": "cc", "bet": "cbr", "raise": "cbr"}
HERO = "Hero"
"""Name of the player whose hands Bovada marks, and who has no other name."""
_OTHER_SITES = {
    "from_absolute_poker": r"^Stage #\d",
    "from_full_tilt_poker": r"^Full Tilt Poker Game #",
    "from_ipoker_network": r"^GAME #\d+",
    "from_ongame_network": r"^\*{5} History for hand",
}
"""Line that a text of another site has, by PokerKit's function that reads it."""

IPOKER = r"<session sessioncode="
"""Beginning of a session in an XML file of iPoker."""
IPOKER_ACTIONS = {
    "0": ("action", "folds"),
    "1": ("post", "small blind"),
    "2": ("post", "big blind"),
    "3": ("action", "calls"),
    "4": ("action", "checks"),
    "5": ("action", "bets"),
    "7": ("action", "all-in"),
    "15": ("post", "ante"),
    "23": ("action", "raises to"),
    "8": ("", ""),
    "9": ("", ""),
}
"""Part of a hand, and its word, for each type of an action in an XML file of iPoker.  The amount
is the chips that the action adds; for a raise, the total.  With the last two types a player sits
out."""
Parsed = Iterator[dict[str, Any] | HandError]
"""Fields of each hand in the PHH format, or the reason why it cannot be read."""


def fields_of_text(text: str) -> Parsed | None:
    """Read the hands in a text of a site; return None if no site is known that writes it."""
    for site in FORMS:
        if parts := _parts(text, site.start):
            return (_catch(_fields, part.lstrip("\ufeff"), site) for part in parts)
    if re.search(IPOKER, text):
        return _ipoker_fields(text)
    for name, form in _OTHER_SITES.items():
        if re.search(form, text, re.MULTILINE):
            return _pokerkit_fields(text, name)
    return None


def _catch(read: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any] | HandError:
    try:
        return read(*arguments)
    except HandError as error:
        return error
    except (ArithmeticError, ValueError):
        return HandError("a number of the hand cannot be read")


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
    """Read an amount; separators of thousands may be commas, blanks, or several points.

    A comma is decimal before one or two last digits and after a leading 0.
    """
    digits = re.sub(r"[\s\u00a0]", "", text)
    if re.search(r",\d{1,2}$|^0,|^[1-9]\d{0,2}(?:\.\d{3}){2,}$", digits):
        digits = digits.replace(".", "").replace(",", ".")
    return Decimal(digits.replace(",", ""))


def _fields(text: str, site: SiteForm) -> dict[str, Any]:
    """Read a hand in the form of a site."""
    head = re.search(site.head, text)
    if not head:
        raise HandError("the header of the hand is not that of a known game")
    variant = _variant_of(head["game"].strip())
    button = re.search(site.button, text)
    if not button:
        raise HandError("the button is missing")
    table, patterns = _TextReader(groups_by_points=site.groups_by_points), site.compiled()
    for line in map(str.strip, text.splitlines()):
        table.read(line, patterns)
    fees = _FEES.search(text)
    rake: Decimal | None = None
    if fees:
        amounts = re.findall(r"\d[\d,]*(?:[.,]\d+)?", fees["fees"] or "")
        rake = sum(map(_decimal, amounts), Decimal(0))
    groups = head.groupdict()
    stakes = groups.get("stakes") or head["game"].rpartition("(")[2]
    if _TOURNAMENT.search("\n".join(text.splitlines()[:5])):
        stakes = ""
    fields = table.fields(table.names_after(int(button[1])), rake)
    # The stakes of limit games are bets, of which the big blind is half.
    if "big_blind" in groups and fields["min_bet"] * 2 == _decimal(head["big_blind"]):
        raise HandError("game Fixed Limit is not supported")
    return fields | {
        "variant": variant,
        "hand": int(head["name"]) if head["name"].isdecimal() else head["name"],
        "currency": next((c for s, c in SYMBOLS.items() if s in stakes), None),
    }


def _variant_of(game: str) -> str:
    """Return the variant of a game by its name."""
    variant = next((name for name, form in _VARIANTS.items() if form.search(game)), None)
    if variant is None:
        unsupported = _OTHER_GAME.search(game)
        raise HandError(
            f"game {unsupported[0] if unsupported else 'of the header'} is not supported"
        )
    return variant


def _ipoker_fields(text: str) -> Parsed:
    """Read the hands of an XML file of iPoker, which has one or several sessions."""
    for part in _parts(re.sub(r"&#(\d{1,9});", _allowed_reference, text), IPOKER):
        # A file that is still being written has no end.
        parser: Any = ElementTree.XMLPullParser()
        session: Any = None
        inside, end, _ = part.partition("</session>")
        parser.feed(inside.partition("<?xml")[0] + end)
        try:
            for _, element in parser.read_events():
                if element.tag == "general" and session is None:
                    session = element
                elif element.tag == "game":
                    yield _catch(_ipoker_hand, session, element)
        except ElementTree.ParseError:
            yield HandError("the XML file is damaged")


def _allowed_reference(reference: re.Match[str]) -> str:
    """Return a reference to a character, or nothing if XML forbids the character."""
    number = int(reference[1])
    spans = ((9, 10), (13, 13), (32, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF))
    is_allowed = any(first <= number <= last for first, last in spans)
    return reference[0] if is_allowed else ""


def _ipoker_hand(session: Any, game: Any) -> dict[str, Any]:
    """Read a hand of an XML file of iPoker."""
    if session is None:
        raise HandError("the header of the hand is not that of a known game")
    variant = _variant_of(session.findtext("gametype", ""))
    table, button = _TextReader(groups_by_points=False), None
    for player in game.iter("player"):
        name = player.get("name", "")
        table.seat(player.get("seat", ""), name, _amount_in(player.get("chips", "")))
        table.collected(name, _amount_in(player.get("win", "")))
        if player.get("dealer") == "1":
            button = int(player.get("seat", ""))
    if button is None:
        raise HandError("the button is missing")
    for street in game.iter("round"):
        for cards in street.iter("cards"):
            labels = [card[1:] + card[0] for card in (cards.text or "").split()]
            if cards.get("type") != "Pocket":
                table.board(cards.get("type", ""), " ".join(labels))
            elif "X" not in labels:
                table.dealt(cards.get("player", ""), " ".join(labels))
        # Actions are numbered, and may be listed in another order.
        for action in sorted(street.iter("action"), key=lambda action: int(action.get("no", ""))):
            name, amount = action.get("player", ""), _amount_in(action.get("sum", ""))
            part, word = IPOKER_ACTIONS.get(action.get("type", ""), ("unknown", ""))
            if part == "post":
                # A player who returns posts both blinds as one.
                live = max(table.blinds.values(), default=Decimal(0))
                if word == "big blind" and table.posted and _decimal(amount) > live:
                    word = "small & big blinds"
                table.post(name, word, amount)
            elif part == "action":
                total = amount if word == "raises to" else None
                table.action(name, word, amount, total)
            elif part:
                raise HandError("an action of an unknown type")
    code = game.get("gamecode", "")
    is_tournament = any(session.find(name) is not None for name in ("tournamentname", "buyin"))
    currency = session.findtext("currency", "")
    is_money = currency.lower() not in ("", "fun") and not is_tournament
    return table.fields(table.names_after(button), None) | {
        "variant": variant,
        "hand": int(code) if code.isdecimal() else code,
        "currency": currency if is_money else None,
    }


def _amount_in(text: str) -> str:
    """Return the number of an amount with its currency."""
    number = re.search(r"[.,]?\d[\d.,\u00a0 ]*", text)
    return number[0].strip() if number else "0"


class _TextReader:
    """Posts, cards and actions of a hand, read line by line.

    Args:
        groups_by_points: As for :class:`SiteForm`.
    """

    def __init__(self, *, groups_by_points: bool) -> None:
        self._groups_by_points = groups_by_points
        self.seats: dict[str, tuple[int, Decimal]] = {}
        """Number of the seat and chips of each player."""
        self.antes: dict[str, Decimal] = {}
        self.blinds: dict[str, Decimal] = {}
        self.posted: set[str] = set()
        """Players who posted a big blind, in turn or not."""
        self.small_blind = ""
        """First player who posted a small blind."""
        self.acted: set[str] = set()
        self.cards: dict[str, str] = {}
        self.cards_of_summary: dict[str, str] = {}
        self.shown: list[str] = []
        self.amounts_collected: dict[str, Decimal] = {}
        self.amounts_won: dict[str, Decimal] = {}
        """Amounts of a summary, which count if no line tells the amounts collected."""
        self.balances: dict[str, Decimal] = {}
        """Chips after the hand."""
        self.bets: dict[str, Decimal] = {}
        """Chips of each player on this street."""
        self.paid = Decimal(0)
        """Chips of all players on earlier streets, and antes."""
        self.bettor, self.uncalled = "", Decimal(0)
        """Last player whose bet was not called in full, and the rest of the bet."""
        self.steps: list[tuple[str, str]] = []
        """Pairs of a player and an action, or of an empty text and cards of the board."""
        self._is_over = False

    def read(self, line: str, patterns: Sequence[tuple[str, re.Pattern[str]]]) -> None:
        """Read a line."""
        for part, pattern in patterns:
            if match := pattern.match(line):
                if not self._is_over or part in ("won", "showed", "balance"):
                    groups = match.groupdict()
                    if self._groups_by_points:
                        groups |= {
                            key: groups[key].replace(".", "")
                            for key in ("amount", "total", "dead")
                            if _ONE_POINT.fullmatch(groups.get(key) or "")
                        }
                    if "name" in groups:
                        groups["name"] = _name_of(groups["name"])
                    getattr(self, part)(**groups)
                return
        if self._is_over and (match := _SUMMARY.match(line)):
            self.cards_of_summary[match[1]] = match[2]

    def twice(self) -> None:
        """Refuse a hand whose board was dealt twice."""
        raise HandError("the board was dealt twice")

    def summary(self) -> None:
        """Skip all lines from here on except those of a summary."""
        self._is_over = True

    def board(self, street: str, cards: str | None) -> None:
        """Add cards of the board."""
        self._end_street()
        if cards:
            # Some sites repeat earlier cards in brackets of their own.
            self.steps.append(("", _cards(cards)))

    def seat(self, number: str, name: str, amount: str) -> None:
        """Add a player."""
        self.seats[name] = int(number), _decimal(amount)

    def card(self, name: str, cards: str) -> None:
        """Add a hole card of a player."""
        self.cards[name] = f"{self.cards.get(name, '')} {_cards(cards)}".strip()

    def dealt(self, name: str, cards: str) -> None:
        """Set the hole cards of a player."""
        self.cards[name] = _cards(cards, " ")

    def shows(self, name: str, cards: str) -> None:
        """Add a player who shows; cards may be known from the deal."""
        if cards:
            self.cards[name] = _cards(cards, " ")
        if name not in self.shown:
            self.shown.append(name)

    def collected(self, name: str, amount: str) -> None:
        """Add an amount that a player collects."""
        before = self.amounts_collected.get(name, Decimal(0))
        self.amounts_collected[name] = before + _decimal(amount)

    def won(self, name: str, amount: str, cards: str | None) -> None:
        """Set the amount that a summary gives to a player."""
        if cards:
            self.cards[name] = _cards(cards, " ")
        self.amounts_won[name] = _decimal(amount)

    def showed(self, name: str, amount: str, cards: str) -> None:
        """Add a player who shows, with the amount that a summary gives to them."""
        self.shows(name, cards)
        self.won(name, amount, cards)

    def balance(self, name: str, amount: str) -> None:
        """Set the chips of a player after the hand."""
        self.balances[name] = _decimal(amount)

    def action(
        self, name: str, word: str, amount: str | None = None, total: str | None = None
    ) -> None:
        """Add an action."""
        self.acted.add(name)
        verb = next((w for w in _WORDS if word.lower().startswith(w)), "raise")
        before, highest = self.bets.get(name, Decimal(0)), max(self.bets.values(), default=0)
        to = before
        if verb != "fold":
            to = before + _decimal(amount or "0") if total is None else _decimal(total)
        # An all-in may be a call.
        if verb == "raise" and to <= highest:
            verb = "call"
        self.bets[name] = to
        self.steps.append((name, f"cbr {to}" if _WORDS[verb] == "cbr" else _WORDS[verb]))

    def post(self, name: str, kind: str, amount: str, dead: str | None = None) -> None:
        """Add an ante or a blind."""
        kind, chips = kind.lower(), _decimal(amount)
        if kind == "straddle" or not kind:
            self.blinds[name] = chips
        elif "small & big" in kind or "+ dead" in kind or dead:
            # The small blind of a player who missed it is dead.
            big = chips if dead else max(self.blinds.values(), default=chips * 2 / 3)
            self._pay_ante(name, _decimal(dead) if dead else chips - big)
            self.blinds[name] = big
        elif (
            "dead" in kind
            or kind in ("ante", "ante chip")
            or (name in self.blinds and "small" in kind)
        ):
            self._pay_ante(name, chips)
        else:
            self.blinds[name] = chips
        if "small" in kind:
            self.small_blind = self.small_blind or name
        if name in self.blinds:
            self.bets[name] = self.blinds[name]
        if not any(word in kind for word in ("small blind", "ante", "straddle", "button")) or dead:
            self.posted.add(name)

    def _pay_ante(self, name: str, chips: Decimal) -> None:
        self.antes[name] = self.antes.get(name, Decimal(0)) + chips
        self.paid += chips

    def winnings(self, names: Sequence[str], rake: Decimal | None) -> list[Decimal]:
        """Return the amounts that the players collect, without a bet that nobody called."""
        collected = self.amounts_collected or self.amounts_won
        won = [collected.get(name, Decimal(0)) for name in names]
        self._end_street()
        if self.uncalled > 0 and sum(won) + (rake or 0) > self.paid:
            won[list(names).index(self.bettor)] -= self.uncalled
        return won

    def _end_street(self) -> None:
        """Add the bets of a street to the pot, without the part that nobody called."""
        *_, second, highest = sorted([Decimal(0), Decimal(0), *self.bets.values()])
        if highest > second:
            self.bettor = max(self.bets, key=self.bets.__getitem__)
            self.uncalled = highest - second
        self.paid += sum(self.bets.values(), Decimal(0)) - (highest - second)
        self.bets = {}

    def names_after(self, button: int) -> list[str]:
        """Return the players in the order of their seats, those after the button first."""
        seats = self.seats
        for name, cards in self.cards_of_summary.items():
            if name in seats:
                self.cards[name] = cards
        if unknown := (self.blinds.keys() | self.cards.keys() | self.acted) - seats.keys():
            raise HandError(f"a player has no seat: {len(unknown)} of {len(seats)}")
        acting = self.acted | self.blinds.keys() | set(self.shown)
        playing = [name for name in seats if name in acting]
        if len(playing) < 2:
            raise HandError("fewer than two players act")
        numbers, after = {name: number for name, (number, _) in seats.items()}, button
        if max(numbers.values()) > MOST_SEATS and self.small_blind in playing:
            # Bovada numbers the seats of all tables of a tournament: players are listed in order.
            numbers = {name: k for k, name in enumerate(playing)}
            after = numbers[self.small_blind] - (len(playing) > 2)
        # Seats follow the button; the button acts last.
        return sorted(playing, key=lambda name: ((numbers[name] - after - 1) % 1000, name))

    def fields(self, names: Sequence[str], rake: Decimal | None) -> dict[str, Any]:
        """Return the fields of the PHH format, for players in its order."""
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
            "starting_stacks": [self.seats[name][1] for name in names],
            "actions": [
                *(action.replace("????", unknown) for action in dealt),
                *played[:last],
                *shown,
                *played[last:],
            ],
            "players": list(names),
            "winnings": self.winnings(names, rake),
            "user_defined_fields": {} if rake is None else {RAKE: rake},
        } | self._finishing_stacks(names)

    def _finishing_stacks(self, names: Sequence[str]) -> dict[str, Any]:
        if not set(names) <= self.balances.keys():
            return {}
        return {"finishing_stacks": [self.balances[name] for name in names]}


def _name_of(text: str) -> str:
    """Return the name of a player; Bovada marks the player who saved the hand."""
    return HERO if text.endswith("[ME]") else text.strip()


def _cards(text: str, between: str = "") -> str:
    """Return cards as the format writes them."""
    cards = re.split(r"[\s,\[\]]+", text.strip())
    if not all(map(_CARD.fullmatch, cards)):
        raise HandError("the cards are written in another language")
    return between.join(card[:-1].upper().replace("10", "T") + card[-1].lower() for card in cards)
