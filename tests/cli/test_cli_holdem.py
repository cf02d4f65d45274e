"""The command ``holdem``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.command_line import USAGE, invoke, printed, refused
from tensorcfr import compile_game, exploitability, solve
from tensorcfr.abstraction import abstract_hands, buckets_by_strength, lift
from tensorcfr.formats import read_spot

TINY = (
    *("--board", "QsJh2h8d3c", "--oop", "AA,KK,QQ,AKs", "--ip", "AA-TT,AKs,AQs,AKo"),
    *("--pot", "100", "--stacks", "200", "--bets", "50%", "--raises", "60%"),
)


def test_a_size_and_a_file(tmp_path: Path) -> None:
    spot = tmp_path / "spot.toml"
    report = printed("holdem", *TINY, "--size", "--save-spot", spot)
    # A bet, to which there are a fold, a call and all-in with its two answers, at the start and
    # after a check: 1 + 6 + 2 + 6.
    assert report.startswith("holdem QsJh2h8d3c: 19 x 43 hands, 15 public nodes, ")
    assert read_spot(spot).pot == 100
    # What is on the command line replaces what is in the file.
    changed = tmp_path / "changed.txt"
    sizes = ("--bets", "river.oop=25%", "--bets", "river.ip=75%")
    printed("holdem", spot, "--pot", "60", *sizes, "--ip", "QQ", "--size", "--save-spot", changed)
    options = read_spot(changed).options
    assert (options["pot"], options["stacks"]) == (60, 200)
    assert options["bets"] == {"river": {"oop": "25%", "ip": "75%"}}
    assert tuple(options["ranges"]) == ("AA,KK,QQ,AKs", "QQ")


@pytest.mark.compiled
@pytest.mark.full
def test_solve_and_look(tmp_path: Path) -> None:
    saved, table, picture = (tmp_path / name for name in ("s.npz", "hands.csv", "grid.png"))
    report = printed(
        *("holdem", *TINY, "--target", "0.05", "--line", "", "--line", "check", "--unit", "pot"),
        *("--save", saved, "--export", table, "--picture", picture, "--hands", "0"),
    )
    assert "reached the target" in report
    # 12.36645 +- 0.05 + 0.001954: postflop-solver; see test_holdem.py.
    assert "oop  value +12.3" in report or "oop  value +12.4" in report
    assert "equity 63.4 %" in report  # 0.634021: postflop-solver.
    assert "\ncheck: ip to act on Qs Jh 2h 8d 3c\n" in report
    assert len(table.read_text().splitlines()) == 44
    assert picture.stat().st_size > 1000
    again = printed("holdem", saved, "--line", "bet50")
    assert "bet50: ip to act" in again
    turn = ("--board", "QsJh2h8d", "--oop", "AA,KK", "--ip", "QQ,AKs", "--pot", "10")
    runouts = printed(
        "holdem",
        *turn,
        "--stacks",
        "20",
        "--bets",
        "50%",
        "--iters",
        "5",
        "--line",
        "check check *",
    )
    assert runouts.count("\n  ") > 48


@pytest.mark.compiled
@pytest.mark.full
@pytest.mark.parametrize("kind", ["strength", "board"])
def test_buckets(kind: str) -> None:
    board = ("--board", "QsJh2h8d") if kind == "board" else ()
    report = printed(
        *("holdem", *TINY, *board, "--buckets", "3", "--buckets-by", kind, "--iters", "200"),
        *("--hands", "0"),
    )
    among, against = re.findall(r"exploitability (?:is )?([\d.e-]+) chips", report)
    spot = compile_game(
        "holdem",
        board=(board or TINY)[1],
        ranges=("AA,KK,QQ,AKs", "AA-TT,AKs,AQs,AKo"),
        pot=100,
        stacks=200,
        bets="50%",
        raises="60%",
    )
    small = abstract_hands(spot, buckets_by_strength(spot, 3, by_board=kind == "board"))
    solution = solve(small, "dcfr", iters=200, precision="float32")
    # The report says four digits; the passes over chunks and over the flat form round apart.
    assert float(among) == pytest.approx(solution.exploitability, rel=1e-3)
    assert float(against) == pytest.approx(exploitability(spot, lift(solution)), rel=1e-3)
    assert float(against) > 2 * float(among)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (TINY[2:], "the spot needs --board, or a file that says them"),
        ((*TINY, "--oop", "AX"), "holdem: ranges[0]: 'AX' at character 1"),
        ((*TINY, "--bets", "turn=5%"), "--bets '50%' is for all streets and players"),
        ((*TINY, "--unit", "bb"), "--unit bb: "),
        ((*TINY, "--buckets", "3", "--buckets-by", "suit"), "--buckets-by suit: "),
        ((*TINY, "--buckets", "3", "--save", "s.npz"), "--buckets: --save takes a solve of hands"),
        (("spot.csv",), "spot.csv: the name of a spot's file ends in .toml or .txt"),
        ((*TINY, "--save", "s.txt"), "--save s.txt: a solution is an .npz file"),
    ],
)
def test_refusals(words: tuple[str, ...], message: str) -> None:
    assert refused(USAGE, "holdem", *words).startswith(message)


@pytest.mark.compiled
@pytest.mark.full
def test_locks() -> None:
    report = printed(
        *("holdem", *TINY, "--iters", "50", "--lock", "AA,KK:check=1/4", "--line", ""),
        *("--lock", "* bet50:fold=1", "--line", "bet50", "--hands", "0"),
    )
    assert "AsAh" in report
    aces = next(line for line in report.splitlines() if line.lstrip().startswith("AsAd"))
    assert "25.0" in aces
    assert "75.0" in aces


@pytest.mark.compiled
@pytest.mark.full
@pytest.mark.parametrize("options", [(), ("--blueprint-only", "--hints")])
def test_play(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Whoever wins what is in the middle wins half of it: the other half was theirs before."""
    spot = tmp_path / "spot.toml"
    printed("holdem", *TINY, "--size", "--save-spot", spot)
    words = ("play", spot, "--bets", "a", "--plays", "2", "--iters", "5", "--subgame-iters", "5")
    # A check, and a fold if the solver bets; a fold that comes too early is asked for again.
    typed = "raise\n" + 2 * "check\nfold\n"
    result = invoke(*words, "--seed", "2", *options, typed=typed)
    assert result.exit_code == 0, result.output
    text = result.stdout
    assert "play 1: you are oop and hold " in text
    assert "you begin, board Qs Jh 2h 8d 3c, pot 100, 200 behind: check, allin: " in text
    assert "there is no action 'raise'" in result.stderr
    assert ("blueprint: check " in text) == bool(options)
    ends = {"over: check check;": {"+50", "-50", "+0"}, "over: check allin fold;": {"-50"}}
    lines = text.splitlines()
    at = [k for k, line in enumerate(lines) if "; the solver held " in line]
    assert len(at) == 2
    for k in at:
        over = next(end for end in ends if end in lines[k])
        assert lines[k + 1].removeprefix("you get ").split(" chips")[0] in ends[over]
    assert invoke(*words, "--seed", "2", *options, typed=typed).stdout == text


def test_options_of_a_spot_for_another_game() -> None:
    said = refused(USAGE, "play", "leduc", "--pot", "100", "--board", "QsJh2h8d3c")
    assert said == "leduc is neither 'holdem' nor a file with a spot: it takes no board, pot"
    assert refused(USAGE, "play", "holdem", *TINY[2:]).startswith("the spot needs --board")
