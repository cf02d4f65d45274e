"""Hands are read and replayed: against hands played in the slowest way, and texts of sites."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pokerkit")
pytest.importorskip("eval7")

from support.slow_hands import SlowHand
from tensorcfr.hands import parse_hands, read_hands
from tensorcfr.hands.played_hands import positions
from tensorcfr.hands.reading import RECORDS
from tensorcfr.hands.site_texts import fields_of_text

# Written for these tests in the form of the sites; amounts are checked on paper.
STARS = """PokerStars Hand #12:  Hold'em No Limit ($0.50/$1.00 USD) - 2024/01/02 3:04:05 ET
Table 'X II' 6-max Seat #2 is the button
Seat 2: Al Bo ($100 in chips)
Seat 3: Cy: 2 ($40 in chips)
Seat 5: Dee ($1,250.50 in chips)
Seat 6: Eve ($99 in chips) is sitting out
Cy: 2: posts small blind $0.50
Dee: posts big blind $1
*** HOLE CARDS ***
Dealt to Dee [As Kd]
Al Bo: raises $2 to $3
Cy: 2: raises $37 to $40 and is all-in
Dee: raises $60 to $100
Al Bo: calls $97 and is all-in
*** FLOP *** [2c 3c 4d]
*** TURN *** [2c 3c 4d] [Kh]
*** RIVER *** [2c 3c 4d Kh] [9s]
*** SHOW DOWN ***
Dee: shows [As Kd] (a pair of Kings)
Al Bo: shows [Qs Qd] (a pair of Queens)
Dee collected $120 from side pot
Cy: 2: shows [Ah Ac] (a pair of Aces)
Cy: 2 collected $117 from main pot
*** SUMMARY ***
Total pot $240 Main pot $120. Side pot $120. | Rake $3
Board [2c 3c 4d Kh 9s]
Seat 2: Al Bo (button) showed [Qs Qd] and lost with a pair of Queens
"""
TOURNAMENT = """PokerStars Hand #7: Tournament #9, $5+$0.50 USD Hold'em No Limit - Level I (10/20)
Table '9 1' 9-max Seat #1 is the button
Seat 1: A (1500 in chips)
Seat 2: B (1500 in chips)
A: posts the ante 2
B: posts the ante 2
A: posts small blind 10
B: posts big blind 20
*** HOLE CARDS ***
A: calls 10
B: checks
*** FLOP *** [2c 3c 4d]
B: bets 20
A: folds
Uncalled bet (20) returned to B
B collected 44 from pot
*** SUMMARY ***
Total pot 44 | Rake 0
"""
OMAHA = """Poker Hand #OM1: Omaha Pot Limit ($0.5/$1) - 2024/01/02 03:04:05
Table 'PLO' 6-max Seat #1 is the button
Seat 1: a1 ($100 in chips)
Seat 2: b2 ($100 in chips)
Seat 3: Hero ($100 in chips)
Seat 4: d4 ($100 in chips)
b2: posts small blind $0.5
Hero: posts big blind $1
d4: posts small & big blinds $1.5
*** HOLE CARDS ***
Dealt to Hero [As Kd Qh Jc]
d4: checks
a1: folds
b2: folds
Hero: checks
*** FLOP *** [2c 3c 4d]
Hero: bets $2
d4: folds
Uncalled bet ($2) returned to Hero
*** SHOWDOWN ***
Hero collected $2.9 from pot
*** SUMMARY ***
Total pot $3 | Rake $0.05 | Jackpot $0.05
"""
SHORT_DECK = """PokerStars Hand #3: 6+ Hold'em No Limit (Button Blind $5 - Ante $5 USD) - 2024/01/02
Table 'S' 6-max Seat #1 is the button
Seat 1: A ($100 in chips)
Seat 2: B ($100 in chips)
Seat 3: C ($100 in chips)
A: posts the ante $5
B: posts the ante $5
C: posts the ante $5
A: posts button blind $5
*** HOLE CARDS ***
B: calls $5
C: folds
A: checks
*** FLOP *** [7c 8c Td]
B: checks
A: bets $10
B: folds
Uncalled bet ($10) returned to A
A collected $25 from pot
*** SUMMARY ***
Total pot $25 | Rake $0
"""

# The hand of STARS without rake, as other sites write it.  Winamax counts the part of a bet that
# nobody called as a side pot; 888poker and PartyPoker write the chips that an action adds.
WINAMAX = """Winamax Poker - CashGame - HandId: #12-1-2 - Holdem no limit (0.50€/1€) - 2024/01/02
Table: 'Nice' 6-max (real money) Seat #2 is the button
Seat 2: Al Bo (100€)
Seat 3: Cy: 2 (40€)
Seat 5: Dee (1250.50€)
*** ANTE/BLINDS ***
Cy: 2 posts small blind 0.50€
Dee posts big blind 1€
Dealt to Dee [As Kd]
*** PRE-FLOP ***
Al Bo raises 2€ to 3€
Cy: 2 raises 37€ to 40€ and is all-in
Dee raises 70€ to 110€
Al Bo calls 97€ and is all-in
*** FLOP *** [2c 3c 4d]
*** TURN *** [2c 3c 4d][Kh]
*** RIVER *** [2c 3c 4d Kh][9s]
*** SHOW DOWN ***
Dee shows [As Kd] (One pair : Kings)
Al Bo shows [Qs Qd] (One pair : Queens)
Cy: 2 shows [Ah Ac] (One pair : Aces)
Dee collected 10€ from side pot 2
Dee collected 120€ from side pot 1
Cy: 2 collected 120€ from main pot
*** SUMMARY ***
Total pot 250€ | No rake
"""
CASSAVA = """#Game No : 12
***** 888poker Hand History for Game 12 *****
$0.50/$1 Blinds No Limit Holdem - *** 02 01 2024 03:04:05
Table Nice 6 Max (Real Money)
Seat 2 is the button
Total number of players : 3
Seat 2: Al Bo ( $100 )
Seat 3: Cy: 2 ( 40 $ )
Seat 5: Dee ( $1,250.50 )
Cy: 2 posts small blind [$0.50]
Dee posts big blind [1 $]
** Dealing down cards **
Dealt to Dee [ As, Kd ]
Al Bo raises [$3]
Cy: 2 raises [39,50 $]
Dee raises [$109]
Al Bo calls [$97]
** Dealing flop ** [ 2c, 3c, 4d ]
** Dealing turn ** [ Kh ]
** Dealing river ** [ 9s ]
** Summary **
Dee shows [ As, Kd ]
Al Bo shows [ Qs, Qd ]
Cy: 2 shows [ Ah, Ac ]
Dee collected [ $120 ]
Cy: 2 collected [ $120 ]
"""
PARTY = """***** Hand History for Game 12 *****
$100 USD NL Texas Hold'em - Tuesday, January 02, 03:04:05 CET 2024
Table Nice (Real Money)
Seat 2 is the button
Total number of players : 3/6
Seat 2: Al Bo ( $100 USD )
Seat 5: Dee ( $1,250.50 USD )
Seat 3: Cy: 2 ( $40 USD )
Cy: 2 posts small blind [$0.50 USD].
Dee posts big blind [$1 USD].
** Dealing down cards **
Dealt to Dee [  As Kd ]
Al Bo raises [$3 USD]
Cy: 2 is all-In  [$39.50 USD]
Dee raises [$109 USD]
Al Bo is all-In  [$97 USD]
** Dealing Flop ** [ 2c, 3c, 4d ]
** Dealing Turn ** [ Kh ]
** Dealing River ** [ 9s ]
Dee shows [ As, Kd ]a pair of Kings.
Al Bo shows [ Qs, Qd ]a pair of Queens.
Cy: 2 shows [ Ah, Ac ]a pair of Aces.
Dee wins $10 USD from the side pot 2 with a pair of Kings.
Dee wins $120 USD from the side pot 1 with a pair of Kings.
Cy: 2 wins $120 USD from the main pot with a pair of Aces.
"""
PARTY_BALANCES = """***** Hand History For Game 12a *****
0.50/1 Texas Hold'em Game Table (NL) - Tue Jan 02 03:04:05 EST 2024
Table Nice (Real Money) -- Seat 2 is the button
Total number of players : 3/6
Seat 2: Al Bo ($100)
Seat 3: Cy: 2 ($40)
Seat 5: Dee ($1,250.50)
Cy: 2 posts small blind (0.50)
Dee posts big blind (1)
** Dealing down cards **
Dealt to Dee [ As, Kd ]
Al Bo raises 3 to 3
Cy: 2 raises 39.50 to 40
Dee raises 109 to 110
Al Bo calls (97)
** Dealing Flop ** :  [ 2c, 3c, 4d ]
** Dealing Turn ** :  [ Kh ]
** Dealing River ** :  [ 9s ]
Dee shows [ As, Kd ]
Al Bo shows [ Qs, Qd ]
Cy: 2 shows [ Ah, Ac ]
** Summary **
Al Bo balance $0, lost $100
Cy: 2 balance $120, bet $40, collected $120, net +$80
Dee balance $1,270.50, bet $110, collected $130, net +$20
"""
WINNING = """Hand #12 - Holdem(No Limit) - $0.50/$1.00 - 2024/01/02 03:04:05 UTC
Nice 6-max Seat #2 is the button
Seat 1: Flo ($55.00) is sitting out
Seat 2: Al Bo ($100.00)
Seat 3: Cy: 2 ($40.00)
Seat 5: Dee ($1,250.50)
Cy: 2 posts the small blind $0.50
Dee posts the big blind $1.00
*** HOLE CARDS ***
Dealt to Dee [As Kd]
Al Bo raises $3.00 to $3.00
Cy: 2 raises $39.50 to $40.00 and is all-in
Dee raises $109.00 to $110.00
Al Bo calls $97.00 and is all-in
Uncalled bet ($10.00) returned to Dee
*** FLOP *** [2c 3c 4d]
*** TURN *** [2c 3c 4d] [Kh]
*** RIVER *** [2c 3c 4d Kh] [9s]
*** SHOW DOWN ***
Dee shows [As Kd] (a pair of Kings)
Al Bo shows [Qs Qd] (a pair of Queens)
Cy: 2 shows [Ah Ac] (a pair of Aces)
*** SUMMARY ***
Total pot $240.00
Seat 3: Cy: 2 (small blind) showed [Ah Ac] and won $120.00 with a pair of Aces
Seat 5: Dee (big blind) showed [As Kd] and won $120.00 with a pair of Kings
"""
OLD_WINNING = """Game started at: 2015/1/2 3:4:5
Game ID: 12 0.50/1 Nice - 6 (Hold'em)
Seat 2 is the button
Seat 1: Flo (55).
Seat 2: Al Bo (100).
Seat 3: Cy: 2 (40).
Seat 5: Dee (1250.50).
Player Flo sitting out
Player Cy: 2 has small blind (0.50)
Player Dee has big blind (1)
Player Cy: 2 received a card.
Player Cy: 2 received a card.
Player Dee received card: [As]
Player Dee received card: [Kd]
Player Al Bo raises (3)
Player Cy: 2 allin (39.50)
Player Dee raises (109)
Player Al Bo allin (97)
Uncalled bet (10) returned to Dee
*** FLOP ***: [2c 3c 4d]
*** TURN ***: [2c 3c 4d] [Kh]
*** RIVER ***: [2c 3c 4d Kh] [9s]
------ Summary ------
Pot: 240. Rake 0
Board: [2c 3c 4d Kh 9s]
Player Flo does not show cards.Bets: 0. Collects: 0. Wins: 0.
Player Al Bo shows: One pair of Qs [Qs Qd]. Bets: 100. Collects: 0. Loses: 100.
*Player Cy: 2 shows: One pair of As [Ah Ac]. Bets: 40. Collects: 120. Wins: 80.
*Player Dee shows: One pair of Ks [As Kd]. Bets: 100. Collects: 120. Wins: 20.
Game ended at: 2015/1/2 3:5:5
"""
IPOKER = """<?xml version="1.0" encoding="utf-8"?>
<session sessioncode="1">
 <general>
  <gametype>Holdem NL $0.50/$1</gametype>
  <currency>USD</currency>
 </general>
 <game gamecode="12">
  <general>
   <players>
    <player seat="1" name="Flo" chips="$55" dealer="0" win="$0" bet="$0"/>
    <player seat="2" name="Al Bo" chips="$100" dealer="1" win="$0" bet="$100"/>
    <player seat="3" name="Cy: 2" chips="$40" dealer="0" win="$120" bet="$40"/>
    <player seat="5" name="Dee" chips="$1,250.50" dealer="0" win="$130" bet="$110"/>
   </players>
  </general>
  <round no="0">
   <action no="2" player="Dee" type="2" sum="$1" cards="[cards]"/>
   <action no="1" player="Cy: 2" type="1" sum="$0.50" cards="[cards]"/>
  </round>
  <round no="1">
   <action no="3" player="Flo" type="9" sum="$0" cards=""/>
   <cards type="Pocket" player="Cy: 2">HA CA</cards>
   <cards type="Pocket" player="Dee">SA DK</cards>
   <cards type="Pocket" player="Al Bo">SQ DQ</cards>
   <action no="6" player="Dee" type="23" sum="$110" cards=""/>
   <action no="4" player="Al Bo" type="23" sum="$3" cards=""/>
   <action no="5" player="Cy: 2" type="7" sum="$39.50" cards=""/>
   <action no="7" player="Al Bo" type="3" sum="$97" cards=""/>
  </round>
  <round no="2">
   <cards type="Flop" player="">C2 C3 D4</cards>
  </round>
  <round no="3">
   <cards type="Turn" player="">HK</cards>
  </round>
  <round no="4">
   <cards type="River" player="">S9</cards>
  </round>
 </game>
"""
BOVADA = """Ignition Hand #12: HOLDEM Tournament #1 TBL#2, No Limit- Level 1 (0.50/1) - 2024-01-02
Seat 31: Dealer (100 in chips)
Seat 208: Small Blind (40 in chips)
Seat 7: Big Blind [ME] (1,250.50 in chips)
Dealer : Set dealer [1]
Small Blind : Small Blind 0.50
Big Blind  [ME] : Big blind 1
*** HOLE CARDS ***
Dealer : Card dealt to a spot [Qs Qd]
Small Blind : Card dealt to a spot [Ah Ac]
Big Blind  [ME] : Card dealt to a spot [As Kd]
Dealer : Raises 3 to 3
Small Blind : All-in(raise) 39.50 to 40
Big Blind  [ME] : Raises 109 to 110
Dealer : All-in 97
Big Blind  [ME] : Return uncalled portion of bet 10
*** FLOP *** [2c 3c 4d]
*** TURN *** [2c 3c 4d] [Kh]
*** RIVER *** [2c 3c 4d Kh] [9s]
Big Blind  [ME] : Showdown [Kd Kh As 9s 4d] (One pair)
Dealer : Showdown [Qs Qd Kh 9s 4d] (One pair)
Small Blind : Showdown [Ah Ac Kh 9s 4d] (One pair)
Big Blind  [ME] : Hand Result-Side Pot 120
Small Blind : Hand Result 120
*** SUMMARY ***
"""
SITES = {
    "winamax": WINAMAX,
    "888": CASSAVA,
    "party": PARTY,
    "party, balances": PARTY_BALANCES,
    "winning": WINNING,
    "winning, old": OLD_WINNING,
    "ipoker": IPOKER,
    "bovada": BOVADA,
}


@pytest.mark.parametrize("name", SITES)
def test_all_sites_write_the_same_hand(name: str) -> None:
    (stars,) = parse_hands(STARS).hands
    read = parse_hands(SITES[name])
    assert not read.reasons
    (hand,) = read.hands
    assert hand.decisions[:2] == stars.decisions[:2]
    assert [(d.action, d.to, d.is_all_in) for d in hand.decisions] == [
        ("raise", 3.0, False),
        ("raise", 40.0, True),
        ("raise", 110.0, True),
        ("call", 100.0, True),
    ]
    assert (hand.stacks, hand.blinds) == (stars.stacks, stars.blinds)
    assert (hand.cards, hand.board) == (stars.cards, stars.board)
    assert hand.won == (80.0, 20.0, -100.0)
    without = {"winamax": "EUR", "bovada": "", "party, balances": "", "winning, old": ""}
    assert hand.currency == without.get(name, "USD")
    names = ("Small Blind", "Hero", "Dealer") if name == "bovada" else stars.players
    assert hand.players == names


def test_old_forms_that_are_refused() -> None:
    """With a limit, stakes are bets; a file of iPoker may hold several sessions, or be damaged."""
    limit = OLD_WINNING.replace("0.50/1 Nice", "1/2 Nice")
    assert list(parse_hands(limit).reasons) == ["game Fixed Limit is not supported"]
    assert list(parse_hands(OLD_WINNING.replace("(Hold'em)", "(Omaha HiLow)")).reasons) == [
        "game of the header is not supported"
    ]
    closed = f"{IPOKER}</session>\n"
    assert len(parse_hands(closed + IPOKER).hands) == 2
    found = parse_hands(closed.replace("<round", "< round") + closed.replace('"23"', '"99"'))
    assert list(found.reasons) == ["the XML file is damaged", "an action of an unknown type"]
    assert list(parse_hands(IPOKER.replace("Holdem NL", "Holdem L")).reasons) == [
        "game of the header is not supported"
    ]
    short = OLD_WINNING.replace("big blind (1)", "big blind (0.80)")
    assert "game Fixed Limit is not supported" not in parse_hands(short).reasons


def test_names_and_amounts_of_ipoker() -> None:
    """Names keep references to characters, and characters that XML forbids are left out."""
    (hand,) = parse_hands(IPOKER.replace("Al Bo", "Zo&#235;&#1;")).hands
    assert hand.players[2] == "Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}"
    marked = f"{IPOKER}</session>\n\ufeff{IPOKER}</session>\n"
    assert len(parse_hands(marked).hands) == 2
    assert not parse_hands(marked).reasons
    (hand,) = parse_hands(IPOKER.replace('sum="$0.50"', 'sum="$.50"')).hands
    assert hand.blinds[0] == 0.5
    (hand,) = parse_hands(IPOKER.replace("USD", "fun")).hands
    assert not hand.currency


def test_a_player_of_ipoker_who_returns_posts_both_blinds() -> None:
    returns = IPOKER.replace(
        '<action no="2" player="Dee"',
        '<action no="2" player="Al Bo" type="2" sum="$1.50"/>\n   <action no="2" player="Dee"',
    ).replace('type="3" sum="$97"', 'type="3" sum="$96.50"')
    text = returns.replace('no="1" player="Cy', 'no="0" player="Cy').replace(
        'no="2" player="Dee"', 'no="1" player="Dee"'
    )
    fields = next(iter(fields_of_text(text) or ()))
    assert isinstance(fields, dict)
    assert sorted(map(float, fields["antes"])) == [0.0, 0.0, 0.5]


def test_long_lines_take_no_longer_than_their_length() -> None:
    """Expressions with several free parts take seconds on these lines."""
    head = OLD_WINNING.partition("------ Summary")[0] + "------ Summary ------\n"
    for repeated in ("a shows: [x] Collects: ", "a does show: [x] "):
        assert parse_hands(head + "Player " + repeated * 3000).reasons


def test_three_decimal_places_are_no_thousands() -> None:
    read = parse_hands(
        STARS.replace("Rake $3", "Rake $3.004").replace("$117 from", "$116.996 from")
    )
    assert not read.reasons
    text = WINAMAX.replace("(100€)", "(0.125€)").replace("(40€)", "(2.125€)")
    fields = next(iter(fields_of_text(text) or ()))
    assert isinstance(fields, dict)
    assert list(map(float, fields["starting_stacks"])) == [2.125, 1250.5, 0.125]
    (hand,) = parse_hands(CASSAVA.replace("$1,250.50", "1.250 $")).hands
    assert hand.stacks == (40.0, 1250.0, 100.0)


def test_a_number_that_cannot_be_read_is_a_reason() -> None:
    """The other hands of the file are read."""
    wrong = STARS.replace("($40 in chips)", "($, in chips)")
    named = STARS.replace("Hand #12", "Hand #\N{SUPERSCRIPT TWO}")
    found = parse_hands(f"{wrong}\n\n{named}\n\n{STARS}")
    assert [hand.name for hand in found.hands] == ["\N{SUPERSCRIPT TWO}", "12"]
    assert list(found.reasons) == ["a number of the hand cannot be read"]


def test_chips_of_tournaments_are_not_money() -> None:
    text = CASSAVA.replace("Table Nice", "Tournament #1 $5 + $1 - Table #2")
    assert [hand.currency for hand in parse_hands(text).hands] == [""]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CASSAVA.replace("[ As, Kd ]", "[ APik, Kd ]"), "written in another language"),
        (CASSAVA.replace("No Limit Holdem", "Fix Limit Holdem"), "Fix Limit is not supported"),
        (CASSAVA.replace("collected [ $120 ]", "collected [ $12 ]"), "are not the pot"),
        (WINAMAX.replace("collected 120€", "collected 130€"), "pays another amount"),
        (WINAMAX.replace("Holdem no limit", "5 Card Omaha pot limit"), "is not supported"),
        (PARTY.replace("Seat 2 is the button", ""), "the button is missing"),
        (WINNING.replace("*** FLOP ***", "*** FIRST FLOP ***"), "dealt twice"),
        (BOVADA.replace("HOLDEM", "OMAHA HiLo"), "is not supported"),
    ],
)
def test_hands_of_other_sites_that_are_not_read(text: str, reason: str) -> None:
    read = parse_hands(text)
    assert not read.hands
    assert reason in read.failures[0].reason


@pytest.mark.parametrize("players", [2, 3, 5])
def test_replays_are_those_of_the_slow_hands(players: int) -> None:
    """Pots, calls, actions and payoffs, with side pots and all-ins."""
    rng = Random(players)
    slow = [SlowHand(players, rng) for _ in range(40)]
    text = "\n".join(f"[{k}]\n{hand.text}" for k, hand in enumerate(slow, start=1))
    found = parse_hands(text)
    assert not found.reasons
    for wanted, hand in zip(slow, found.hands, strict=True):
        rows = [(d.seat, d.street, d.pot, d.to_call, d.action, d.amount) for d in hand.decisions]
        assert rows == wanted.decisions
        # PokerKit gives the odd chip of a pot to one of the winners.
        assert hand.won == pytest.approx(wanted.won, abs=0.7)
        assert sum(hand.won) == 0.0
        assert hand.cards == tuple(wanted.cards)
        assert hand.board == "".join(wanted.board)


def test_a_text_of_pokerstars() -> None:
    """Names with blanks and colons, thousands, a side pot, rake, a player who sits out."""
    (hand,) = parse_hands(STARS).hands
    assert hand.players == ("Cy: 2", "Dee", "Al Bo")
    assert hand.positions == ("SB", "BB", "BTN")
    assert hand.cards == ("AhAc", "AsKd", "QsQd")
    assert hand.won == (77.0, 20.0, -100.0)
    assert [decision.is_all_in for decision in hand.decisions] == [False, True, True, True]
    assert (hand.currency, hand.name, hand.board) == ("USD", "12", "2c3c4dKh9s")


def test_texts_of_other_games() -> None:
    """Antes, a blind that was missed, pot-limit Omaha, the button blind of short deck."""
    found = parse_hands(TOURNAMENT + "\n\n" + OMAHA + "\n\n" + SHORT_DECK)
    assert not found.reasons
    tournament, omaha, short = found.hands
    assert (tournament.players, tournament.won) == (("B", "A"), (22.0, -22.0))
    assert (omaha.game, omaha.currency, omaha.cards[1]) == ("omaha", "USD", "AsKdQhJc")
    assert omaha.won == pytest.approx((-0.5, 1.9, -1.5, 0.0))
    assert (short.game, short.won) == ("short_deck", (-10.0, -5.0, 15.0))
    assert short.decisions[2].action == "check"


def test_failures_are_listed_by_reason() -> None:
    """Nothing is lost: every hand is read or has a reason."""
    good = SlowHand(2, Random(1)).text
    bad = good.replace("p2 cc", "p2 cbr 1")
    other = good.replace("'NT'", "'FR'")
    found = parse_hands(f"[1]\n{good}\n[2]\n{bad}\n[3]\n{other}\n[4]\nvariant = 5\n")
    assert len(found.hands) == 1
    assert [failure.number for failure in found.failures] == [2, 3, 4]
    assert "variant FR is not supported; supported are NT, NS, PO" in found.reasons
    wrong_rake = parse_hands(STARS.replace("Rake $3", "Rake $13"))
    assert list(wrong_rake.reasons) == ["the replay pays another amount than the text says"]
    no_limit = parse_hands(STARS.replace("Hold'em No Limit", "Hold'em Limit"))
    assert list(no_limit.reasons) == ["game Hold'em Limit is not supported"]
    twice = parse_hands(STARS.replace("*** FLOP", "*** FIRST FLOP"))
    assert list(twice.reasons) == ["the board was dealt twice"]
    assert parse_hands("Dear diary").failures[0].reason.startswith("the file has no hands")


def test_a_store_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read once; a line that was cut off is read again; a changed file, too."""
    folder, store = tmp_path / "hands", tmp_path / "store"
    folder.mkdir()
    (folder / "a.txt").write_text(STARS)
    (folder / "b.phh").write_text(SlowHand(3, Random(2)).text)
    first = read_hands(folder, store=store)
    assert len(first.hands) == first.files == 2
    lines = (store / RECORDS).read_bytes().splitlines(keepends=True)
    (store / RECORDS).write_bytes(lines[0] + lines[1][:50])
    calls: list[str] = []
    from tensorcfr.hands import reading

    known = reading._read_text
    monkeypatch.setattr(reading, "_read_text", lambda t, n: calls.append(n) or known(t, n))
    assert read_hands(folder, store=store) == first
    assert calls == ["b.phh"]
    (folder / "a.txt").write_text(STARS + "\n\n" + TOURNAMENT)
    assert len(read_hands(folder, store=store).hands) == 3
    assert calls == ["b.phh", "a.txt"]
    (store / RECORDS).write_bytes(b"{}\n" + lines[0])
    with pytest.raises(ValueError, match=r"hands\.jsonl:1: the store is damaged"):
        read_hands(folder, store=store)
    assert json.loads(lines[0])["name"] == "a.txt"


def test_one_process_writes_a_store(tmp_path: Path) -> None:
    from tensorcfr.hands.reading import _Records

    (tmp_path / "hands").mkdir()
    (tmp_path / "hands" / "a.txt").write_text(STARS)
    with (
        _Records(tmp_path / "store"),
        pytest.raises(ValueError, match="another reader of hands is writing this file"),
    ):
        read_hands(tmp_path / "hands", store=tmp_path / "store")
    assert len(read_hands(tmp_path / "hands", store=tmp_path / "store").hands) == 1


def test_text_before_the_first_hand_is_no_hand() -> None:
    found = parse_hands(f"# hands of a session\n\n[1]\n{SlowHand(2, Random(1)).text}")
    assert [hand.index for hand in found.hands] == [1]
    assert not found.failures


def test_positions() -> None:
    """The button acts last; names of nine players."""
    nine = ("SB", "BB", "UTG", "UTG+1", "UTG+2", "LJ", "HJ", "CO", "BTN")
    assert positions(9) == nine
    assert positions(3) == ("SB", "BB", "BTN")
