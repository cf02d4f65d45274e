"""Forms in which poker sites write hands, as patterns of their lines.

Amounts are the chips that an action adds, unless a line has a total after "to".
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = r"\d(?:[\d.,\u00a0 ]*\d)?"
_AMOUNT = rf"\D{{0,3}}?(?P<amount>{_NUMBER})"
_STARS_AMOUNT = r"\D{0,3}?(?P<amount>[\d,]+(?:\.\d+)?)"
_BOXED = rf"[\[(]\s*\D{{0,3}}?(?P<amount>{_NUMBER})\s*[^\d\])]{{0,5}}[\])]"
_CARDS = r"\[(?P<cards>[^\[\]]+)\]"
_VERBS = r"(?P<word>folds|checks|calls|bets|raises)"
_STREETS = r"(?P<street>FLOP|TURN|RIVER)"


class SiteForm(NamedTuple):
    """Form in which a site writes hands."""

    start: str
    """Pattern of the first line of a hand."""
    head: str
    """Pattern of the head of a hand, with the groups ``name`` and ``game``.  ``big_blind`` is for
    forms that do not tell limit from no-limit games: with a limit, the stakes are bets, and the
    second one is twice the big blind."""
    button: str
    """Pattern of the seat of the button, a number."""
    lines: tuple[tuple[str, str], ...]
    """Part of a hand, and the pattern of its line; the first pattern that matches counts.  The
    parts are methods of the reader, and groups their arguments."""
    groups_by_points: bool = False
    """True if a single point before three digits separates thousands, ``1.250``; otherwise it is
    decimal."""

    def compiled(self) -> list[tuple[str, re.Pattern[str]]]:
        """Return the parts with their patterns compiled."""
        return [(part, re.compile(pattern)) for part, pattern in self.lines]


_BOARD = rf"^\*\*\* {_STREETS}\b.*?(?:\[(?P<cards>[^\[\]]+)\])?$"
_TWICE = r"^\*\*\* (?:FIRST|SECOND|SHOW ?DOWN \d)\b"
_SUMMARY = r"^\*\*\* SUMMARY\b"

STARS = SiteForm(
    r"^\ufeff?(?:PokerStars (?:Zoom |Home Game )?(?:Hand|Game)|Poker Hand) #",
    r"(?:PokerStars (?:Zoom |Home Game )?(?:Hand|Game)|Poker Hand) #(?P<name>\w+):(?P<game>.*)",
    r"Seat #(\d+) is the button",
    (
        ("twice", r"^\*\*\* (?:FIRST|SECOND)\b"),
        ("summary", _SUMMARY),
        ("board", _BOARD),
        ("seat", rf"^Seat (?P<number>\d+): (?P<name>.+) \({_STARS_AMOUNT} in chips.*?\).*$"),
        (
            "post",
            r"^(?P<name>.+): (?:posts )?(?:the )?"
            r"(?P<kind>small & big blinds|small blind|big blind|ante|straddle|button blind) "
            + _STARS_AMOUNT,
        ),
        ("dealt", r"^Dealt to (?P<name>.+?) \[(?P<cards>[^\[\]]+)\]$"),
        ("shows", r"^(?P<name>.+): shows \[(?P<cards>[^\[\]]+)\]"),
        (
            "action",
            rf"^(?P<name>.+): {_VERBS}(?: {_STARS_AMOUNT})?"
            r"(?: to \D{0,3}?(?P<total>[\d,]+(?:\.\d+)?))?\b.*$",
        ),
        ("collected", rf"^(?P<name>.+?):? collected {_STARS_AMOUNT} from "),
    ),
)
"""PokerStars and GGPoker."""

WINAMAX = SiteForm(
    r"^\ufeff?Winamax Poker - ",
    r"Winamax Poker - .*?HandId: #(?P<name>[\d-]+) - (?P<game>[^(]+)\((?P<stakes>[^)]*)\)",
    r"Seat #(\d+) is the button",
    (
        ("twice", _TWICE),
        ("summary", _SUMMARY),
        ("board", rf"^\*\*\* {_STREETS} \*\*\*:? .*?\[(?P<cards>[^\[\]]+)\]$"),
        ("seat", rf"^Seat (?P<number>\d+): (?P<name>.+) \({_AMOUNT}\D?(?:, [^)]*)?\)$"),
        (
            "post",
            rf"^(?P<name>.+?) posts (?P<kind>small blind|big blind|ante|straddle) {_AMOUNT}",
        ),
        ("dealt", rf"^Dealt to (?P<name>.+?) {_CARDS}"),
        ("shows", rf"^(?P<name>.+?) shows {_CARDS}"),
        ("collected", rf"^(?P<name>.+?) collected {_AMOUNT}\D? from "),
        (
            "action",
            rf"^(?P<name>.+?) {_VERBS}(?: {_AMOUNT}\D?)?(?: to \D?(?P<total>{_NUMBER})\D?)?"
            r"(?: and is all-in)?$",
        ),
    ),
)

CASSAVA = SiteForm(
    r"^\*{5} (?:Cassava|888\S*)(?: \w+)? Hand History for Game",
    r"\*{5} [^\n]{1,50}? Hand History for Game (?P<name>\d{1,30}) \*{5}\s{1,20}"
    r"(?P<stakes>[^\n]{0,100}?) Blinds (?P<game>[^-\n]+)",
    r"Seat (\d+) is the button",
    (
        ("seat", rf"^Seat (?P<number>\d+): (?P<name>.+) \( {_AMOUNT}\s*\D{{0,3}} \)$"),
        ("post", rf"^(?P<name>.+) posts (?P<kind>small blind|big blind|ante) {_BOXED}"),
        (
            "post",
            rf"^(?P<name>.+) posts (?P<kind>dead blind) \[\D{{0,3}}(?P<dead>{_NUMBER})\D{{0,3}} \+ "
            rf"{_AMOUNT}\D{{0,3}}\]",
        ),
        ("dealt", rf"^Dealt to (?P<name>.+?) {_CARDS}"),
        ("shows", rf"^(?P<name>.+) shows {_CARDS}"),
        ("collected", rf"^(?P<name>.+) collected {_BOXED}"),
        ("action", rf"^(?P<name>.+) {_VERBS}(?: {_BOXED})?$"),
        ("board", rf"^\*\* Dealing (?P<street>flop|turn|river) \*\* {_CARDS}"),
    ),
    groups_by_points=True,
)
"""888poker and its skins."""

PARTY = SiteForm(
    r"^\ufeff?\*{5} Hand History [Ff]or Game",
    r"\*{5} Hand History [Ff]or Game (?P<name>\w+) \*{5}\s+(?P<game>.+)",
    r"[Ss]eat (\d+) is the button",
    (
        (
            "seat",
            rf"^[Ss]eat (?P<number>\d+): (?P<name>.+?) \(\s*{_AMOUNT}(?: [A-Z]{{3}})?\s*\)$",
        ),
        (
            "post",
            r"^(?P<name>.+) posts "
            r"(?P<kind>small blind|big blind \+ dead|big blind|ante|button blind) +"
            rf"{_BOXED}\.?",
        ),
        ("dealt", rf"^Dealt to (?P<name>.+?) {_CARDS}"),
        ("shows", rf"^(?P<name>.+?) shows {_CARDS}"),
        (
            "collected",
            rf"^(?P<name>.+?) wins \D{{0,2}}(?P<amount>{_NUMBER})(?: [A-Z]{{3}}| chips)?"
            r"(?: from the .*|\.)?$",
        ),
        ("balance", rf"^(?P<name>.+?) (?:Cashed out +)?balance \D{{0,2}}(?P<amount>{_NUMBER}), "),
        ("action", rf"^(?P<name>.+?) (?P<word>is all-In) +{_BOXED}\.?"),
        (
            "action",
            rf"^(?P<name>.+?) {_VERBS}(?: {_BOXED})?\.?"
            rf"(?: \D{{0,2}}(?:{_NUMBER}) to \D{{0,2}}(?P<total>{_NUMBER}))?\s*$",
        ),
        ("board", rf"^\*\* Dealing (?P<street>[Ff]lop|[Tt]urn|[Rr]iver) \*\* (?:: )?\s*{_CARDS}"),
    ),
    groups_by_points=True,
)

WINNING = SiteForm(
    r"^\ufeff?(?:Game )?Hand #\d+ - ",
    r"(?:Game )?Hand #(?P<name>\d+) - (?:[^\n]{0,100}? - )?"
    r"(?P<game>[^-]{1,50}\([^)]{1,50}\)) - "
    r"(?P<stakes>[^-]*)",
    r"Seat #(\d+) is the button",
    (
        ("twice", _TWICE),
        (
            "won",
            r"^Seat \d+: (?P<name>.+?)(?: \((?:small blind|big blind|button)\)){0,3} "
            rf"(?:did not show|showed {_CARDS}) and won {_AMOUNT}(?: |$)",
        ),
        ("summary", _SUMMARY),
        ("board", _BOARD),
        ("seat", rf"^Seat (?P<number>\d+): (?P<name>.+) \({_AMOUNT}\)(?: is sitting out)?$"),
        (
            "post",
            r"^(?P<name>.+) posts (?:the )?(?P<kind>small blind|big blind|ante|dead|straddle) "
            + _AMOUNT,
        ),
        ("post", rf"^(?P<name>.+) posts (?P<kind>){_AMOUNT}$"),
        ("dealt", rf"^Dealt to (?P<name>.+?) {_CARDS}"),
        ("shows", rf"^(?P<name>.+) shows {_CARDS}"),
        ("collected", rf"^(?P<name>.+?) collected {_AMOUNT} from "),
        (
            "action",
            rf"^(?P<name>.+) {_VERBS}(?: {_AMOUNT})?(?: to \D?(?P<total>{_NUMBER}))?"
            r"(?: and is all-in)?$",
        ),
    ),
)
"""Americas Cardroom and other sites of the Winning network, in the form since 2019."""

OLD_WINNING = SiteForm(
    r"^\ufeff?Game started at: ",
    rf"Game ID: (?P<name>\d+) (?P<stakes>[\d.]+/(?P<big_blind>{_NUMBER})) "
    r"[^\n]*\((?P<game>[^()\n]+)\)(?: \d+-max)?[^\S\n]*(?:\n|$)",
    r"Seat (\d+) is the button",
    (
        ("summary", r"^-+ ?Summary"),
        # Texts between the parts are limited, so that a long line takes no longer than its length.
        (
            "showed",
            rf"^\*?Player (?P<name>.{{1,60}}?) shows: [^\[\]]*{_CARDS}"
            rf"[^\[\]]*?Collects: {_AMOUNT}\. ",
        ),
        (
            "won",
            r"^\*?Player (?P<name>.{1,60}?) (?:mucks|does|doesn't) [^\[\]]{0,100}?"
            rf"(?:show: {_CARDS}[^\[\]]{{0,100}}?)?Collects: {_AMOUNT}\. ",
        ),
        ("board", _BOARD),
        ("seat", rf"^Seat (?P<number>\d+): (?P<name>.+) \({_AMOUNT}\)\.?$"),
        ("post", rf"^Player (?P<name>.+) has (?P<kind>small blind|big blind) {_BOXED}"),
        ("post", rf"^Player (?P<name>.+?) (?:posts )?(?P<kind>ante|straddle) {_BOXED}"),
        ("post", rf"^Player (?P<name>.+) posts(?P<kind>) {_BOXED}"),
        ("card", rf"^Player (?P<name>.+) received card: {_CARDS}"),
        (
            "action",
            rf"^Player (?P<name>.+) (?P<word>folds|checks|calls|bets|raises|allin|caps)"
            rf"(?: {_BOXED})?$",
        ),
    ),
)
"""The Winning network until 2019."""

BOVADA = SiteForm(
    r"^\ufeff?(?:Bovada|Ignition|Bodog)\S*(?: UK)? Hand #",
    r"\S{1,50}(?: UK)? Hand #(?P<name>\d+)(?P<game>.*)",
    r"Set dealer(?:/Bring in spot)? \[(\d+)\]",
    (
        ("summary", _SUMMARY),
        ("board", _BOARD),
        ("seat", rf"^Seat (?P<number>\d+): (?P<name>.+) \({_AMOUNT} in chips\)$"),
        (
            "post",
            r"^(?P<name>.+?) : (?P<kind>(?:Ante/)?[Ss]mall [Bb]lind|[Bb]ig [Bb]lind(?:/Bring in)?|"
            rf"Ante chip|Posts? (?:dead )?chip) {_AMOUNT}",
        ),
        ("dealt", rf"^(?P<name>.+?) : Card dealt to a spot {_CARDS}"),
        ("shows", r"^(?P<name>.+?) : Showdown(?P<cards>) ?\["),
        (
            "collected",
            rf"^(?P<name>.+?) : Hand [Rr]esult(?:-Side [Pp]ot)? {_AMOUNT}",
        ),
        (
            "action",
            r"^(?P<name>.+?) : (?P<word>Folds?|Checks?|Calls?|Bets?|Raises?|All-in(?:\(raise\))?)"
            rf"(?: ?\([A-Za-z ]+\))?(?: {_AMOUNT})?(?: to \D?(?P<total>{_NUMBER}))?$",
        ),
    ),
)
"""Bovada, Ignition and Bodog.  All hole cards are known; players have the names of positions."""

FORMS = (STARS, WINAMAX, CASSAVA, PARTY, WINNING, OLD_WINNING, BOVADA)
