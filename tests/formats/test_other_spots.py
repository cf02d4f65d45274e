"""Spots that other programs wrote."""

import json
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from tensorcfr.errors import FormatError
from tensorcfr.formats import parse_spot, read_spot_options
from tensorcfr.formats.other_spots import (
    hand_options,
    piosolver_options,
    postflop_options,
    texassolver_options,
)
from tensorcfr.games import make_spot
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.poker.ranges import range_text, read_range

SCRIPT = """
set_pot 50
set_effective_stack 200
set_board Qs,Jh,2h
set_range_ip AA,KK,99:0.75
set_range_oop QQ:0.5,JJ
set_bet_sizes oop,flop,bet,50
set_bet_sizes oop,flop,raise,60
set_bet_sizes oop,flop,allin
set_bet_sizes ip,flop,bet,50,75
set_bet_sizes ip,flop,raise,60
set_bet_sizes oop,turn,bet,50
set_bet_sizes oop,turn,donk,40
set_bet_sizes ip,turn,bet,50
set_bet_sizes oop,river,bet,50
set_bet_sizes ip,river,bet,50
set_allin_threshold 0.67
build_tree
set_thread_num 8
start_solve
dump_result output.json
"""
HAND = """
variant = "NT"
antes = [0, 0, 0]
blinds_or_straddles = [0.5, 1, 0]
min_bet = 1
starting_stacks = [100, 120, 90]
actions = [
    "d dh p1 AhKh", "d dh p2 ????", "d dh p3 ????", "p3 f", "p1 cbr 2.5", "p2 cc",
    "d db Td9d6h", "p1 cc", "p2 cbr 4", "p1 cc", "d db Qc", "p1 cc", "p2 cc", "d db 2s",
]
"""
STRADDLE = """
variant = "NT"
antes = [0.02, 0.02, 0.02, 0.02]
blinds_or_straddles = [0.05, 0.1, 0.2, 0]
min_bet = 0.1
starting_stacks = [10.07, 25.5, 10, 9.9]
actions = [
    "d dh p1 ????", "d dh p2 ????", "d dh p3 ????", "d dh p4 ????", "p4 cbr 0.6 # to six", "p1 f",
    "p2 f", "p3 cc", "d db Td9d6h", "p3 cc", "p4 cbr 0.7", "p3 f",
]
"""
THREE_ON_THE_FLOP = """
variant = "NT"
antes = [0, 0, 0]
blinds_or_straddles = [1, 2, 0]
min_bet = 2
starting_stacks = [200, 200, 200]
actions = [
    "d dh p1 ????", "d dh p2 ????", "d dh p3 ????", "p3 cbr 6", "p1 cc", "p2 cc", "d db Td9d6h",
    "p1 cc", "p2 cc", "p3 cbr 10", "p1 f", "p2 cc", "d db Qc", "p2 cc", "p3 cc", "d db 2s",
]
"""
OMAHA = """
variant = "PO"
antes = [0, 0]
blinds_or_straddles = [50, 100]
min_bet = 100
starting_stacks = [10000, 10000]
actions = [
    "d dh p1 ????????", "d dh p2 ????????", "p2 cbr 300", "p1 cc", "d db Td9d6h", "p1 cc",
]
"""
SHORT_DECK = """
variant = "NS"
antes = [3000, 3000, 3000]
blinds_or_straddles = [0, 0, 3000]
min_bet = 3000
starting_stacks = [500000, 500000, 500000]
actions = [
    "d dh p1 ????", "d dh p2 ????", "d dh p3 ????", "p1 cc", "p2 f", "p3 cc", "d db Td9d6h",
]
"""
STREETS = ("Flop", "Turn", "River")
needs_pokerkit = pytest.mark.skipif(find_spec("pokerkit") is None, reason="needs pokerkit")


def config(**changed: object) -> dict[str, object]:
    found: dict[str, object] = {
        f"{player}{street}{kind}": "52, 2e200" if kind == "Bet" else "45 2.5x"
        for player in ("oop", "ip")
        for street in STREETS
        for kind in ("Bet", "Raise")
    }
    found |= {"startingPot": 180, "effectiveStack": 910, "rakePercent": 5, "rakeCap": 3}
    found |= {"addAllInThreshold": 150, "forceAllInThreshold": 20, "mergingThreshold": 10}
    return found | {"addedLines": "", "removedLines": "", "donkOption": 0} | changed


RIVER = """
set_pot 10
set_effective_stack 95
set_board Ks,8d,3c,2h,2d
set_range_oop AA
set_range_ip QQ
"""
"""The beginning of a script."""


def river(*lines: str) -> Holdem:
    """Read a script for a river with these lines."""
    return Holdem(**texassolver_options(RIVER + "\n".join(lines)))


def actions(spot: Holdem, line: str) -> tuple[str, ...]:
    state = spot.root()
    for step in line.split():
        state = spot.next(state, None if step == "*" else step)
    return spot.betting.actions(state)


class TestTexasSolver:
    def test_the_tree_is_that_of_its_rules(self) -> None:
        # GameTree.cpp, get_possible_bets, at its commit of 2023: a bet is a share of the pot, a
        # raise that share of twice the larger commitment on top of a call: 25 + 0.6 * 100 = 85.
        spot = Holdem(**texassolver_options(SCRIPT))
        assert (spot.pot, spot.stacks, spot.name) == (50, 200, "holdem QsJh2h")
        assert actions(spot, "") == ("check", "bet25", "allin")
        assert actions(spot, "check") == ("check", "bet25", "bet38")
        assert actions(spot, "bet25") == ("fold", "call", "raise85")
        assert actions(spot, "bet25 raise85") == ("fold", "call", "allin")

    def test_what_is_given_for_donks_alone_is_donked(self) -> None:
        spot = Holdem(**texassolver_options(SCRIPT))
        assert actions(spot, "check bet25 call *") == ("check", "bet40")
        assert actions(spot, "check check *") == ("check", "bet25")
        assert actions(spot, "check check * check bet25 call *") == ("check",)

    def test_three_raises_on_a_street(self) -> None:
        text = SCRIPT.replace("stack 200", "stack 100000").replace(
            "oop,flop,allin", "oop,turn,allin"
        )
        spot, line = Holdem(**texassolver_options(text)), "bet25"
        for _ in range(3):
            line += " " + actions(spot, line)[-1]
        assert actions(spot, line) == ("fold", "call")

    # GameTree.cpp, buildAction: a bet counts as the first raise, and another one is there while the
    # count is below the limit.  Pot 10, bet 5; half of 20 over 5 is 15, half of 40 over 15 is 35,
    # half of 80 over 35 is 75.
    @pytest.mark.parametrize(
        ("limit", "raises"), [(0, ""), (1, ""), (2, "raise15"), (4, "raise15 raise35 raise75")]
    )
    def test_the_limit_of_raises(self, limit: int, raises: str) -> None:
        sizes = [
            f"set_bet_sizes {player},river,{kind},50"
            for player in ("oop", "ip")
            for kind in ("bet", "raise")
        ]
        spot, line = river(*sizes, f"set_raise_limit {limit}"), "bet5"
        for label in raises.split():
            assert actions(spot, line) == ("fold", "call", label)
            line += " " + label
        assert actions(spot, line) == ("fold", "call")

    def test_a_field_of_the_window_that_was_left_empty_is_no_size(self) -> None:
        # mainwindow.cpp, on_actionexport_triggered, writes the text of every field of bets and
        # raises, with commas for its blanks.
        spot = river(
            "set_bet_sizes oop,river,bet,50,,20",
            "set_bet_sizes oop,river,raise,",
            "set_bet_sizes ip,river,bet,0",
            "set_bet_sizes ip,river,raise,",
        )
        assert actions(spot, "") == ("check", "bet2", "bet5")
        assert actions(spot, "bet5") == ("fold", "call")
        assert actions(spot, "check") == ("check",)

    @pytest.mark.parametrize(
        ("pot", "stacks", "chip", "bet"),
        [
            (5.5, 97.5, 0.5, "bet3"),
            # Its issue 67; 8.2 is a multiple of 0.2.
            (16.4, 90.8, 0.2, "bet8.2"),
            ("16.400000000000002", "90.75", 0.05, "bet8.2"),
        ],
    )
    def test_the_chip_fits(self, pot: Any, stacks: Any, chip: float, bet: str) -> None:
        text = RIVER.replace("pot 10", f"pot {pot}").replace("stack 95", f"stack {stacks}")
        options = texassolver_options(text + "set_bet_sizes oop,river,bet,50")
        spot = Holdem(**options)
        assert (spot.pot, spot.stacks) == (pytest.approx(float(pot)), float(stacks))
        assert options["chip"] == pytest.approx(chip)
        assert actions(spot, "") == ("check", bet, "allin")

    def test_all_in_is_where_it_is_listed_or_else_everywhere(self) -> None:
        bet = "set_bet_sizes oop,turn,bet,50"
        text = RIVER.replace(",2d", "") + bet
        # CommandLineTool.cpp of the branch master: StreetSetting(..., true).
        spot = Holdem(**texassolver_options(text))
        assert actions(spot, "") == ("check", "bet5", "allin")
        assert actions(spot, "bet5") == ("fold", "call", "allin")
        assert actions(spot, "check check *") == ("check", "allin")
        # Released as 0.2.0 for Linux: with all-in listed on the flop for both players, the file of
        # results has nothing but a check on the turn.
        listed = "\nset_bet_sizes oop,river,allin"
        for more in (listed, "\nset_raise_limit 3", "\nset_bet_sizes ip,turn,bet,"):
            spot = Holdem(**texassolver_options(text + more))
            assert actions(spot, "") == ("check", "bet5")
            assert actions(spot, "check") == ("check",)
            river_actions = ("check", "allin") if more == listed else ("check",)
            assert actions(spot, "check check *") == river_actions

    def test_comments_and_commands_of_forks(self) -> None:
        text = "# a comment\n// another one\n" + SCRIPT + "set_dump_format 1\nset_use_fp16 0\n"
        assert texassolver_options(text) == texassolver_options(SCRIPT)

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ("set_pots 3", r"22:1: there is no command 'set_pots'; did you mean 'set_pot'"),
            ("set_bet_sizes oop,preflop,bet,3", r"22:15: sizes are like 'oop,flop,bet,50'"),
            ("set_pot many", "22:9: set_pot must be a number, not 'many'"),
            ("set_raise_limit 2.5", "22:17: set_raise_limit must be a whole number, not '2.5'"),
            ("set_bet_sizes ip,river,raise,3x", "22:15: a size is .* not '3x': the window takes"),
            ("set_bet_sizes ip,river,bet,50,half", "22:15: a size is .* not 'half'"),
        ],
    )
    def test_wrong_lines_are_named(self, line: str, problem: str) -> None:
        with pytest.raises(FormatError, match=problem):
            texassolver_options(SCRIPT + line)

    def test_what_is_missing_is_named(self) -> None:
        with pytest.raises(FormatError, match="no set_board, set_range_oop"):
            texassolver_options("set_pot 50\nset_effective_stack 3\nset_range_ip AA")


class TestPostflop:
    def test_all_that_it_says(self) -> None:
        lines = {"addedLines": "X-B120|X,X-A910", "removedLines": "B94-R50"}
        donks = {"donkOption": 1, "oopTurnDonk": "33", "oopRiverDonk": ""}
        found = postflop_options(json.dumps(config(**lines, **donks)))
        sizes = {street: dict.fromkeys(("oop", "ip"), "52,2e200%") for street in found["bets"]}
        assert found["bets"] == sizes
        assert found["raises"]["turn"]["ip"] == "45,2.5x"
        assert (found["pot"], found["stacks"]) == (180, 910)
        assert (found["rake"], found["rake_cap"]) == (0.05, 3)
        assert (found["add_allin"], found["force_allin"], found["merging"]) == (1.5, 0.2, 0.1)
        assert found["add"] == ("check bet120 check", "check allin")
        assert found["remove"] == ("bet94 raise50",)
        assert found["donk"] == {"turn": "33", "river": ""}

    def test_it_is_a_spot_once_board_and_ranges_are_given(self) -> None:
        found = postflop_options(json.dumps(config(mergingThreshold=0)))
        spot = Holdem(board="Td9d6h", ranges=("AA", "KK"), **found)
        # 52 % of 180, 45 % of 180 + 2 * 94 on top of a call; 2.5 times 94.
        assert actions(spot, "")[:2] == ("check", "bet94")
        assert actions(spot, "bet94") == ("fold", "call", "raise235", "raise260")

    def test_ranges_and_board_beside_the_configuration(self) -> None:
        whole = {"oopRange": "AA", "ipRange": "KK", "config": config(board=["Td", "9d", "6h"])}
        found = postflop_options(json.dumps(whole))
        assert (found["ranges"], found["board"]) == (("AA", "KK"), "Td9d6h")

    # b-inary/postflop-solver, src/range.rs: update_with_plus_range moves both ranks up where they
    # are neighbours; groups are taken from the last to the first, each over those before.
    @pytest.mark.parametrize(
        ("text", "hands"),
        [
            ("T9s+", 4 * 5),
            ("98o+", 12 * 6),
            ("KQ+", 16 * 2),
            ("54s+", 4 * 10),
            ("AK+", 16),
            ("T8s+", 4 * 2),
            ("88+ , A5s - A2s", 42 + 16),
            ("QsJs+", 3),
            ("AA:0.5,AA", 3.0),
            ("AsAh:0.25,AA,", 5.25),
        ],
    )
    def test_ranges_follow_the_rules_of_the_program(self, text: str, hands: float) -> None:
        whole = {"oopRange": text, "ipRange": "KK", "config": config()}
        assert read_range(postflop_options(json.dumps(whole))["ranges"][0]).sum() == hands

    @pytest.mark.parametrize("group", ["!AA", "top 5%", "[50]AA[/50]", "9Ts+x"])
    def test_groups_that_the_program_does_not_have(self, group: str) -> None:
        whole = {"oopRange": "AA", "ipRange": f"KK,{group}", "config": config()}
        with pytest.raises(FormatError, match=r"ipRange: .* is not a group of hands"):
            postflop_options(json.dumps(whole))

    def test_an_export_has_one(self) -> None:
        # DbItemPicker.vue, exportJson: {"version": 2, "name": ..., "data": [...]}.
        group = {"path": ["mine"], "isGroup": True}
        items = [group, {"path": ["mine", "one"], "isGroup": False, "value": config()}]
        export = {"version": 2, "name": "configurations", "data": items}
        assert postflop_options(json.dumps(export)) == postflop_options(json.dumps(config()))
        assert postflop_options(json.dumps(items)) == postflop_options(json.dumps(config()))
        items.append({"path": ["two"], "isGroup": False, "value": config()})
        with pytest.raises(
            FormatError, match=r"has 2 configurations \(mine/one, two\): keep only one"
        ):
            postflop_options(json.dumps(export))
        with pytest.raises(FormatError, match="has 0 configurations"):
            postflop_options(json.dumps(export | {"data": [group]}))

    def test_an_export_of_ranges_has_no_configuration(self) -> None:
        items = [{"path": ["BTN"], "isGroup": False, "value": "22+,A2s+"}]
        export = {"version": 2, "name": "ranges", "data": items}
        with pytest.raises(FormatError, match="has ranges, but no configuration"):
            postflop_options(json.dumps(export))

    def test_merging_drops_the_size_that_is_near_a_larger_one(self) -> None:
        # By hand: (1 + 12/80) / (1 + 6/80) is below 1.1, (1 + 40/80) / (1 + 12/80) above it.
        sizes = {
            key: "" for key, value in config().items() if "52" in str(value) or "45" in str(value)
        }
        tree = config(**sizes | {"oopFlopBet": "6c, 50, 12c"}, startingPot=80, effectiveStack=210)
        found = postflop_options(json.dumps(tree)) | {"board": "5d8cQs", "ranges": ("AA", "22")}
        assert actions(Holdem(**found), "") == ("check", "bet12", "bet40")
        assert actions(Holdem(**found | {"merging": 0.0}), "") == (
            "check",
            "bet6",
            "bet12",
            "bet40",
        )

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("{", "not JSON"),
            ("3", "this JSON is not a configuration"),
            ('{"kind": "a game"}', "this JSON is not a configuration"),
            ('{"oopFlopBetStr": "50"}', "a configuration of version 1"),
            ('{"startingPot": 3}', "has no effectiveStack, ipFlopBet, ipFlopRaise"),
            (json.dumps(config(startingPot=None)), "startingPot must be a number"),
            (json.dumps(config(addedLines="X-Q")), "a line 'X-Q' has a step 'Q'"),
        ],
    )
    def test_wrong_files_are_named(self, text: str, problem: str) -> None:
        with pytest.raises(FormatError, match=problem):
            postflop_options(text)


@needs_pokerkit
class TestHands:
    def test_the_flop_is_where_the_hand_came_to(self) -> None:
        found = hand_options(HAND)
        # 2.5 of each player; player 1 began with 100, player 2 with 120.
        assert found == {"board": "Td9d6h", "pot": 5.0, "stacks": 97.5, "chip": 0.1}

    def test_a_straddle_in_cents(self) -> None:
        # By hand: 4 * 0.02 + 0.05 + 0.1 + 0.6 + 0.6, and the smaller of 9.38 and 9.28.
        found = hand_options(STRADDLE)
        assert found == {"board": "Td9d6h", "pot": 1.43, "stacks": 9.28, "chip": 0.01}

    def test_the_first_street_of_two_may_be_the_turn(self) -> None:
        # Three see the flop for 6 each; one bets 10, one calls, one folds.
        found = hand_options(THREE_ON_THE_FLOP)
        assert found == {"board": "Td9d6hQc", "pot": 38.0, "stacks": 184.0}

    def test_stacks_that_the_hand_does_not_tell(self) -> None:
        hand = THREE_ON_THE_FLOP.replace('"p1 cc", "p2 cc"', '"p1 f", "p2 cc"', 1)
        unknown = hand.replace("[200, 200, 200]", "[inf, inf, inf]")
        assert hand_options(unknown) == {"board": "Td9d6h", "pot": 13.0}
        one = hand.replace("[200, 200, 200]", "[inf, inf, 200]")
        assert hand_options(one) == {"board": "Td9d6h", "pot": 13.0, "stacks": 194.0}

    def test_omaha_and_short_deck(self) -> None:
        omaha, short = hand_options(OMAHA), hand_options(SHORT_DECK)
        assert omaha == {"game": "omaha", "board": "Td9d6h", "pot": 600.0, "stacks": 9700.0}
        # Antes of three players, and two calls of 3,000.
        expected = {"board": "Td9d6h", "pot": 15_000.0, "stacks": 494_000.0}
        assert short == {"game": "short_deck"} | expected
        assert make_spot(**omaha, ranges=("AA", "KK")).pot_limit
        assert make_spot(**short, ranges=("AA", "KK")).game == "short_deck"

    @pytest.mark.parametrize(
        ("before", "after", "problem"),
        [
            ('"p3 f", "p1 cbr 2.5", "p2 cc"', '"p3 cc", "p1 cc", "p2 cc"', "and 3 are on the last"),
            ('variant = "NT"', 'variant = "FT"\nsmall_bet = 1\nbig_bet = 2', "variant FT is not"),
            ("actions", "deeds", "cannot replay"),
            (HAND, "Site Hand #1: Hold'em No Limit", "the text of a hand from a poker site"),
        ],
    )
    def test_other_hands_are_refused(self, before: str, after: str, problem: str) -> None:
        with pytest.raises(FormatError, match=problem):
            hand_options(HAND.replace(before, after).partition(', "p1 cc", "p2 cbr 4"')[0] + "]")

    def test_all_in_before_the_flop_is_refused(self) -> None:
        hand = HAND.replace("cbr 2.5", "cbr 100").partition(', "p1 cc", "p2 cbr 4"')[0] + "]"
        with pytest.raises(FormatError, match="a player is all-in before the flop"):
            hand_options(hand)

    def test_a_hand_that_ends_before_the_flop_is_refused(self) -> None:
        with pytest.raises(FormatError, match="the hand ends before the flop"):
            hand_options(HAND.partition('"p2 cc"')[0] + '"p2 f"]')


@needs_pokerkit
class TestSeveralHands:
    HANDS = "\n".join(f"[{number}]\n{HAND.replace('100', f'{number}00')}" for number in (1, 2, 3))

    def test_one_of_several_hands(self, tmp_path) -> None:
        path = tmp_path / "hands.phhs"
        path.write_text(self.HANDS)
        for number in (1, 2, 3):
            expected = hand_options(HAND.replace("100", f"{number}00"))
            assert read_spot_options(path, hand=number) == expected
        # The effective stack: the other player has 120.
        stacks = [read_spot_options(path, hand=number)["stacks"] for number in (1, 2)]
        assert stacks == [97.5, 117.5]
        path.write_text(f"[7]\n{HAND}")
        assert read_spot_options(path) == read_spot_options(path, hand=1) == hand_options(HAND)

    def test_a_hand_must_be_named(self, tmp_path) -> None:
        path = tmp_path / "hands.phhs"
        path.write_text(self.HANDS)
        with pytest.raises(FormatError, match="hands in the file: 3; name one with hand=1, say"):
            read_spot_options(path)
        with pytest.raises(FormatError, match="hands in the file: 3; there is no hand 4"):
            read_spot_options(path, hand=4)
        (tmp_path / "spot.txt").write_text(SCRIPT)
        with pytest.raises(FormatError, match=r"hand=1 is for files of hands \(.phh, .phhs\)"):
            read_spot_options(tmp_path / "spot.txt", hand=1)


PIO_SCRIPT = """
#Type#NoLimit
#Board#Qs Jh 2h
set_threads 2
set_range OOP AA,KK:0.5
set_range IP QQ,JJ
set_board QsJh2h
set_eff_stack 95
set_isomorphism 1 0
set_pot 0 0 10
clear_lines
add_line 0 0 0 0 0 5 95
add_line 0 5 20 20 95
add_line 5 5 5 5 10 10
add_line 5 95
build_tree
go
"""


def tree_of(options: dict[str, Any]) -> dict[str, list[str]]:
    """Actions of all decisions, by line, from the rules of the spot."""
    rules, actions = make_spot(**options), {}
    stack = [(rules.root(), "")]
    while stack:
        state, line = stack.pop()
        if state.player == -1:
            stack.append((rules.next(state, None), line))
        elif state.player >= 0:
            actions[line.strip()] = [str(action) for action in rules.node(state).actions]
            stack += [(rules.next(state, a), f"{line} {a}") for a in actions[line.strip()]]
    return actions


class TestPioSolver:
    def test_lines_are_the_tree(self) -> None:
        options = piosolver_options(PIO_SCRIPT)
        assert (options["board"], options["ranges"]) == ("QsJh2h", ("AA,KK:0.5", "QQ,JJ"))
        assert (options["pot"], options["stacks"]) == (10.0, 95.0)
        # By hand from the lines, whose amounts count from the start of the spot.
        assert tree_of(options) == {
            "": ["check", "bet5"],
            "check": ["check", "bet5"],
            "check check": ["check"],
            "check check check": ["check"],
            "check check check check": ["check"],
            "check check check check check": ["check", "bet5"],
            # Neither call nor check needs a line where it ends the hand.
            "check check check check check bet5": ["fold", "call", "allin"],
            "check check check check check bet5 allin": ["fold", "call"],
            # No line has the call of this bet, which would go on to the turn.
            "check bet5": ["fold", "raise20"],
            "check bet5 raise20": ["fold", "call"],
            # Amounts on the turn are those of the street.
            "check bet5 raise20 call": ["allin"],
            "check bet5 raise20 call allin": ["fold", "call"],
            "bet5": ["fold", "call", "allin"],
            "bet5 allin": ["fold", "call"],
            "bet5 call": ["check"],
            "bet5 call check": ["check"],
            # The line ends after the call, so the rest of the hand is checked.
            "bet5 call check check": ["bet5"],
            "bet5 call check check bet5": ["fold", "call"],
        }

    def test_decimals_and_commands(self) -> None:
        text = PIO_SCRIPT.replace("0 0 10", "0 0 10.25") + "set_rake 0.05 3\nremove_line 0\n"
        options = piosolver_options(text)
        assert (options["pot"], options["chip"]) == (10.25, 0.01)
        assert (options["rake"], options["rake_cap"]) == (0.05, 3.0)
        assert tree_of(options)[""] == ["bet5"]

    def test_numbers_of_any_hands(self) -> None:
        """In PioSOLVER's order, which is known here, hands of a group may differ."""
        weights = [0.0] * 1326
        # By the higher card, then the lower one: 2d2c, 2h2c, 2h2d, 2s2c, ...; AsAh is last.
        weights[1], weights[3], weights[-1] = 0.25, 1.0, 0.5
        listed = " ".join(map(str, weights))
        options = piosolver_options(PIO_SCRIPT.replace("AA,KK:0.5", listed))
        assert options["ranges"][0] == "AsAh:0.5,2h2c:0.25,2s2c"
        dice = np.random.default_rng(5)
        random = dice.random(1326).round(4) * (dice.random(1326) < 0.5)
        np.testing.assert_allclose(read_range(range_text(random)), random, rtol=1e-8)
        assert range_text(read_range("QQ+,AKs:0.25,72o")) == "AA,KK,QQ,AKs:0.25,72o"

    @pytest.mark.parametrize(
        ("before", "after", "problem"),
        [
            ("add_line 5 95", "add_line 5 96", "script:1:1: add_line 5 96: .* from 5 to 95"),
            ("add_line 5 95", "add_line 5 3", "add_line 5 3: .* from 5 to 95"),
            ("add_line 5 95", "add_line x", "script:15:1: add_line: an amount is .*not 'x'"),
            ("go", "gone", "there is no command 'gone'; did you mean 'go'"),
            ("go", "build_tree", "the script builds a second tree"),
            ("0 0 10", "5 5 10", "the first two numbers must be 0"),
            ("set_board QsJh2h", "", "there is no set_board"),
            ("OOP AA,KK:0.5", "OOP AA:2", "a weight must be from 0 to 1"),
        ],
    )
    def test_other_scripts_are_refused(self, before: str, after: str, problem: str) -> None:
        with pytest.raises(FormatError, match=problem):
            piosolver_options(PIO_SCRIPT.replace(before, after, 1))


def test_the_file_says_what_it_is(tmp_path) -> None:
    (tmp_path / "pio.txt").write_text(PIO_SCRIPT)
    assert read_spot_options(tmp_path / "pio.txt") == piosolver_options(PIO_SCRIPT)
    script, tree, own = (tmp_path / name for name in ("spot.txt", "tree.json", "spot.toml"))
    script.write_text(SCRIPT)
    tree.write_text(json.dumps(config()))
    own.write_text('board = "Td9d6hQc"\npot = 5\nstacks = 9\nranges = ["AA", "KK"]\n')
    assert read_spot_options(script) == texassolver_options(SCRIPT)
    assert read_spot_options(tree) == postflop_options(tree.read_text())
    assert read_spot_options(own)["board"] == "Td9d6hQc"
    pytest.importorskip("pokerkit")
    (tmp_path / "hand.phh").write_text(HAND)
    assert read_spot_options(tmp_path / "hand.phh")["pot"] == 5.0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Site Hand #1: Hold'em No Limit\nSeat 1: A (200 in chips)", "the text of a hand"),
        ("[1]\nvariant = 'NT'\n\n[2]\nvariant = 'NT'", "several hands in the PHH format"),
        ('EFG 2 R "" { "A" "B" }', "a game of Gambit"),
        ('{"oopFlopBet": "50"}', "JSON"),
        ("<html>", "XML or HTML"),
    ],
)
def test_a_file_of_another_kind_is_called_that(text: str, kind: str, tmp_path) -> None:
    path = tmp_path / "file.txt"
    path.write_text(text)
    with pytest.raises(FormatError, match=f"this is .*{kind}.*, not a spot in TOML; .* also read"):
        read_spot_options(path)


def test_a_script_is_not_a_spot_in_toml() -> None:
    for text in (PIO_SCRIPT, "#TreeBuilding#V2\n#Range0#AA"):
        with pytest.raises(FormatError, match="this is a script of PioSOLVER, not a spot in TOML"):
            parse_spot(text)
    with pytest.raises(FormatError, match="this is a script of TexasSolver, not a spot in TOML"):
        parse_spot(SCRIPT)
    # A line of CMake begins with set_, too.
    with pytest.raises(FormatError, match="expected '='"):
        parse_spot("set_target_properties(a)")
    # A comment of a spot may have the words of a hand.
    with pytest.raises(FormatError, match="there is no option 'pots'"):
        parse_spot('# Hand #1\nboard = "Td9d6h"\npots = 3')
