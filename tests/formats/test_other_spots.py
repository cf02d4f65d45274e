"""Spots that other programs wrote."""

import json

import pytest

from tensorcfr.errors import FormatError
from tensorcfr.formats import read_spot_options
from tensorcfr.formats.other_spots import hand_options, postflop_options, texassolver_options
from tensorcfr.games.holdem import Holdem

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
STREETS = ("Flop", "Turn", "River")


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
            "oop,flop,allin", "oop,turn,raise,60"
        )
        spot, line = Holdem(**texassolver_options(text)), "bet25"
        for _ in range(3):
            line += " " + actions(spot, line)[-1]
        assert actions(spot, line) == ("fold", "call")

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ("set_pots 3", r"22:1: there is no command 'set_pots'; did you mean 'set_pot'"),
            ("set_bet_sizes oop,preflop,bet,3", r"22:15: sizes are like 'oop,flop,bet,50'"),
            ("set_pot many", "set_pot must be a number, not 'many'"),
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

    def test_an_export_has_one(self) -> None:
        group = {"path": ["mine"], "isGroup": True}
        items = [group, {"path": ["mine", "one"], "isGroup": False, "value": config()}]
        assert postflop_options(json.dumps(items)) == postflop_options(json.dumps(config()))
        with pytest.raises(FormatError, match="has 2 configurations"):
            postflop_options(json.dumps([*items, items[-1]]))

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("{", "no JSON"),
            ("3", "no configuration of a tree"),
            ("{}", "no configuration of a tree: effectiveStack, ipFlopBet, ipFlopRaise"),
            (json.dumps(config(startingPot=None)), "startingPot must be a number"),
            (json.dumps(config(addedLines="X-Q")), "a line 'X-Q' has a step 'Q'"),
        ],
    )
    def test_wrong_files_are_named(self, text: str, problem: str) -> None:
        with pytest.raises(FormatError, match=problem):
            postflop_options(text)


class TestHands:
    def test_the_flop_is_where_the_hand_came_to(self) -> None:
        pytest.importorskip("pokerkit")
        found = hand_options(HAND)
        # 2.5 of each player; player 1 began with 100, player 2 with 120.
        assert found == {"board": "Td9d6h", "pot": 5.0, "stacks": 97.5, "chip": 0.1}

    @pytest.mark.parametrize(
        ("before", "after", "problem"),
        [
            ('"p3 f", "p1 cbr 2.5", "p2 cc"', '"p3 cc", "p1 cc", "p2 cc"', "not 3"),
            ('variant = "NT"', 'variant = "FT"\nsmall_bet = 1\nbig_bet = 2', "can replay|not FT"),
            ("actions", "deeds", "can replay"),
        ],
    )
    def test_other_hands_are_refused(self, before: str, after: str, problem: str) -> None:
        pytest.importorskip("pokerkit")
        with pytest.raises(FormatError, match=problem):
            hand_options(HAND.replace(before, after))

    def test_a_hand_that_ends_before_the_flop_is_refused(self) -> None:
        pytest.importorskip("pokerkit")
        with pytest.raises(FormatError, match="two players must see the flop, not 0"):
            hand_options(HAND.partition('"p2 cc"')[0] + '"p2 f"]')


def test_the_file_says_what_it_is(tmp_path) -> None:
    script, tree, own = (tmp_path / name for name in ("spot.txt", "tree.json", "spot.toml"))
    script.write_text(SCRIPT)
    tree.write_text(json.dumps(config()))
    own.write_text('board = "Td9d6hQc"\npot = 5\nstacks = 9\nranges = ["AA", "KK"]\n')
    assert read_spot_options(script) == texassolver_options(SCRIPT)
    assert read_spot_options(tree) == postflop_options(tree.read_text())
    assert read_spot_options(own)["board"] == "Td9d6hQc"
    if pytest.importorskip("pokerkit"):
        (tmp_path / "hand.phh").write_text(HAND)
        assert read_spot_options(tmp_path / "hand.phh")["pot"] == 5.0
