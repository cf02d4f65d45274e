"""The command ``spot``."""

from __future__ import annotations

import filecmp
import json
import re
from pathlib import Path

import pytest

from support.command_line import USAGE, invoke, printed, refused
from tensorcfr import Solution, compile_game, exploitability, solve
from tensorcfr.abstraction import abstract_hands, buckets_by_strength, lift
from tensorcfr.analysis import SolvedSpot
from tensorcfr.formats import read_spot
from tensorcfr.plots import hand_grid

TINY = (
    *("--board", "QsJh2h8d3c", "--oop", "AA,KK,QQ,AKs", "--ip", "AA-TT,AKs,AQs,AKo"),
    *("--pot", "100", "--stacks", "200", "--bets", "50%", "--raises", "60%"),
)


def test_a_size_and_a_file(tmp_path: Path) -> None:
    spot = tmp_path / "spot.toml"
    report = printed("spot", *TINY, "--size", "--save-spot", spot)
    # A bet, to which there are a fold, a call and all-in with its two answers, at the start and
    # after a check: 1 + 6 + 2 + 6.
    assert report.startswith("holdem QsJh2h8d3c: 19 x 43 hands, 15 public nodes, ")
    assert read_spot(spot).pot == 100
    # What is on the command line replaces what is in the file.
    changed = tmp_path / "changed.txt"
    sizes = ("--bets", "river.oop=25%", "--bets", "river.ip=75%")
    printed("spot", spot, "--pot", "60", *sizes, "--ip", "QQ", "--size", "--save-spot", changed)
    options = read_spot(changed).options
    assert (options["pot"], options["stacks"]) == (60, 200)
    assert options["bets"] == {"river": {"oop": "25%", "ip": "75%"}}
    assert tuple(options["ranges"]) == ("AA,KK,QQ,AKs", "QQ")


def test_a_file_of_another_program(tmp_path: Path) -> None:
    sizes = {
        f"{player}{street}{kind}": "50%"
        for player in ("oop", "ip")
        for street in ("Flop", "Turn", "River")
        for kind in ("Bet", "Raise")
    }
    tree = tmp_path / "tree.json"
    tree.write_text(json.dumps({"startingPot": 100, "effectiveStack": 200, **sizes}))
    report = printed("spot", tree, *TINY[:6], "--size")
    assert report.startswith("holdem QsJh2h8d3c: 19 x 43 hands, ")
    assert (
        refused(USAGE, "spot", tree) == "the spot needs --board, --oop, --ip, or a file with them"
    )


BY_HAND = (
    *("--board", "QsJh2h8d3c", "--oop", "AsAh:0.5,7s7d", "--ip", "KsKh,QdQc,AdKd"),
    *("--pot", "200", "--stacks", "200", "--bets", "a", "--raises", "a", "--iters", "0"),
)
"""Before the first iteration every action has the same probability.  Aces beat kings and ace-king,
sevens beat ace-king alone, and the other pairs of hands lose to the other player.  In per cent of
the pot, a hand that wins with the share ``w`` has ``s = 2w - 1``; it wins or loses 50 without a bet
and 150 after a call.

*   Out of position, a check is worth ``(50 s + (-50 + 150 s) / 2) / 2``, all-in
    ``(50 + 150 s) / 2``: 8.33 and 50 for aces (``s = 1/3``), -33.33 and 0 for sevens.
*   In position, after a check, a check is worth ``50 s``, all-in ``(50 + 150 s) / 2``: kings have
    ``s = 1/3``, because sevens weigh twice as much as aces; queens 1, ace-king -1.
*   The best responses get 50 and 0 (aces, sevens), 50, 125 and -50 (kings, queens, ace-king): 16.67
    and 41.67.  Their sum is the NashConv.
"""
AT_THE_START = """\

start: oop to act on Qs Jh 2h 8d 3c
  check 50.0 %, allin 50.0 %
  1.5 combos, value -1.39 % of the pot, equity 44.4 %

  per cent of bets and raises:
  AA   50
                                                          77   50

  made hand         share   check   allin    value  equity
  pair              100.0    50.0    50.0    -1.39    44.4

  hand   weight   check   allin   values, in the same order
  AsAh    0.500    50.0    50.0       8.33    50.00
  7s7d    1.000    50.0    50.0     -33.33     0.00
"""
AFTER_A_CHECK = """\

check: ip to act on Qs Jh 2h 8d 3c
  check 50.0 %, allin 50.0 %
  3.0 combos, value +19.44 % of the pot, equity 55.6 %

  per cent of bets and raises:
          AKs  50
          KK   50
                  QQ   50

  made hand         share   check   allin    value  equity
  three of a kind    33.3    50.0    50.0    75.00   100.0
  pair               33.3    50.0    50.0    33.33    66.7
  high card          33.3    50.0    50.0   -50.00     0.0

  hand   weight   check   allin   values, in the same order
  QdQc    1.000    50.0    50.0      50.00   100.00
  KsKh    1.000    50.0    50.0      16.67    50.00
  and 1 more; --rows 0 prints them all
"""


@pytest.mark.compiled
def test_a_report_worked_out_by_hand(tmp_path: Path) -> None:
    saved, table, picture = (tmp_path / name for name in ("s.npz", "hands.csv", "grid.png"))
    lines = ("--node", "", "--node", "check", "--unit", "pot", "--rows", "2")
    report = printed(
        "spot", *BY_HAND, *lines, "--save", saved, "--output", table, "--plot", picture
    )
    _, solved, oop, ip, rest = report.split("\n", 4)
    assert solved.endswith(
        ": finished all iterations after 0 iterations, 0.0 s; exploitability 58.33 chips, "
        "29.2 % of the pot"
    )
    assert oop == "oop  value -1.39 % of the pot; with its half of the pot 48.61"
    assert ip == "ip   value +1.39 % of the pot; with its half of the pot 51.39"
    assert rest == AT_THE_START + AFTER_A_CHECK
    # The file and the picture are of the last line.
    assert [line.split(",")[0] for line in table.read_text().splitlines()] == [
        "hand",
        "AdKd",
        "KsKh",
        "QdQc",
    ]
    twin = tmp_path / "twin.png"
    hand_grid(SolvedSpot(Solution.load(saved)).table("check"), path=twin)
    assert filecmp.cmp(picture, twin, shallow=False)
    # A solution is not solved again, and takes no option of a solve.
    again = printed("spot", saved, *lines)
    assert again.split("\n", 3)[3] == AT_THE_START + AFTER_A_CHECK
    for option in (("--iters", "5"), ("--pot", "5"), ("--precision", "float64"), ("--size",)):
        said = refused(USAGE, "spot", saved, *option)
        assert (
            said
            == f"{saved} is a solution: it takes only --node and the other options that print it"
        )


@pytest.mark.compiled
def test_buckets_worked_out_by_hand() -> None:
    """One bucket each: among buckets a player cannot tell hands apart.  Without iterations the
    strategies of all hands are those of :data:`BY_HAND`.

    In position, the best answer of all hands together is all-in after a check, worth the mean of
    50, 100 and -50, and to call, 50, 150 and -150: 25.  Out of position it is all-in, 16.67.  Their
    sum is 41.67 per cent of the pot; the exploitability is half of it, 41.67 chips.
    """
    report = printed(
        *("spot", *BY_HAND, "--buckets", "1", "--node", "", "--node", "check", "--unit", "pot"),
        *("--rows", "2"),
    )
    _, among, solved, _, _, rest = report.split("\n", 5)
    assert among.endswith(
        ": with buckets the exploitability is 41.67 chips, 20.8 % of the pot; the rest of this "
        "report is for all hands"
    )
    assert solved.endswith("exploitability 58.33 chips, 29.2 % of the pot")
    assert rest == AT_THE_START + AFTER_A_CHECK


@pytest.mark.compiled
def test_runouts_worked_out_by_hand() -> None:
    """Aces against kings and a set of queens: an ace wins, a king loses, and the other cards win
    against kings alone, or against all that is left where a queen takes the set away.  A hand with
    the share ``w`` of wins gets ``5 s + 0.625`` chips of a pot of 10 where all actions are alike,
    ``s = 2w - 1``; a big blind is 2 chips."""
    text = printed(
        *("spot", "--board", "QsJh2h8d", "--oop", "AsAh", "--ip", "KsKh,QdQc", "--pot", "10"),
        *("--stacks", "5", "--bets", "50%", "--iters", "0", "--node", "check check *"),
        *("--unit", "mbb", "--big-blind", "2"),
    )
    head, rows = text.split("  cards     check   allin    value  equity\n")
    assert head.endswith("\n\ncheck check *: oop to act\n  check 50.0 %, allin 50.0 %\n")
    found = [row.split() for row in rows.splitlines()]
    here = {"Qs", "Jh", "2h", "8d", "As", "Ah"}
    deck = {rank + suit for rank in "23456789TJQKA" for suit in "cdhs"}
    assert {row[0] for row in found} == deck - here
    for card, check, bet, value, equity in found:
        share = {"A": 1.0, "K": 0.0}.get(card[0], 1.0 if card in ("Qd", "Qc") else 0.5)
        assert (check, bet, equity) == ("50.0", "50.0", f"{100 * share:.1f}")
        assert value == f"{500 * (5 * (2 * share - 1) + 0.625):.2f}"


@pytest.mark.compiled
@pytest.mark.full
def test_solve_and_look(tmp_path: Path) -> None:
    saved, table, picture = (tmp_path / name for name in ("s.npz", "hands.csv", "grid.png"))
    report = printed(
        *("spot", *TINY, "--target", "0.05%", "--node", "", "--node", "check", "--unit", "pot"),
        *("--save", saved, "--output", table, "--plot", picture, "--rows", "0"),
    )
    assert "reached the target" in report
    # 12.36645 +- 0.05 + 0.001954: postflop-solver; see test_holdem.py.
    assert "oop  value +12.3" in report or "oop  value +12.4" in report
    assert "equity 63.4 %" in report  # 0.634021: postflop-solver.
    assert "\ncheck: ip to act on Qs Jh 2h 8d 3c\n" in report
    assert len(table.read_text().splitlines()) == 44
    assert picture.stat().st_size > 1000
    again = printed("spot", saved, "--node", "bet50")
    assert "bet50: ip to act" in again
    turn = ("--board", "QsJh2h8d", "--oop", "AA,KK", "--ip", "QQ,AKs", "--pot", "10")
    runouts = printed(
        "spot",
        *turn,
        "--stacks",
        "20",
        "--bets",
        "50%",
        "--iters",
        "5",
        "--node",
        "check check *",
    )
    assert runouts.count("\n  ") > 48


@pytest.mark.compiled
@pytest.mark.full
@pytest.mark.parametrize("kind", ["strength", "board"])
def test_buckets(kind: str) -> None:
    board = ("--board", "QsJh2h8d") if kind == "board" else ()
    report = printed(
        *("spot", *TINY, *board, "--buckets", "3", "--buckets-by", kind, "--iters", "200"),
        *("--rows", "0", "--algorithm", "dcfr"),
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
        (TINY[2:], "the spot needs --board, or a file with them"),
        ((*TINY, "--oop", "AX"), "holdem: ranges[0]: 'AX' at character 1"),
        ((*TINY, "--bets", "turn=5%"), "--bets '50%' is for all streets and players"),
        ((*TINY, "--unit", "bb"), "--unit bb: "),
        ((*TINY, "--buckets", "3", "--buckets-by", "suit"), "--buckets-by suit: "),
        ((*TINY, "--buckets", "3", "--save", "s.npz"), "--buckets cannot be combined with --save"),
        (
            ("spot.csv",),
            "spot.csv: the name of a spot's file must end in .toml or .txt or .json or .phh",
        ),
        ((*TINY, "--save", "s.txt"), "--save s.txt: a solution is an .npz file"),
    ],
)
def test_refusals(words: tuple[str, ...], message: str) -> None:
    assert refused(USAGE, "spot", *words).startswith(message)


@pytest.mark.compiled
@pytest.mark.full
def test_locks() -> None:
    report = printed(
        *("spot", *TINY, "--iters", "50", "--lock", "AA,KK:check=1/4", "--node", ""),
        *("--lock", "* bet50:fold=1", "--node", "bet50", "--rows", "0"),
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
    printed("spot", *TINY, "--size", "--save-spot", spot)
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
    games = "holdem, omaha, omaha5, omaha_hi_lo, short_deck, short_omaha"
    assert said == f"leduc is neither one of {games} nor a file with a spot: it takes no board, pot"
    assert refused(USAGE, "play", "holdem", *TINY[2:]).startswith("the spot needs --board")


def test_a_file_without_rivers(tmp_path: Path) -> None:
    """The file has no strategies of rivers; how exact they are then is printed."""
    file = tmp_path / "small.npz"
    turn = (*TINY[2:], "--board", "QsJh2h8d", "--iters", "20", "--rows", "1")
    refusal = "--forget-rivers needs --save and cannot be combined with --lock"
    assert refused(USAGE, "spot", *turn, "--forget-rivers") == refusal
    river = ("spot", *TINY, "--iters", "1", "--forget-rivers", "--save", file)
    refused_river = invoke(*river)
    assert refused_river.exit_code == USAGE
    assert "--forget-rivers needs a spot before the river" in refused_river.stderr
    printed("spot", *turn, "--forget-rivers", "--save", file)
    read = Solution.load(file)
    assert read.algorithm.forgets_subgames
    exact = SolvedSpot(read).exactness("check check 3c")
    report = printed("spot", file, "--node", "check check 3c", "--rows", "1")
    gains = ", ".join(f"{n} {g:.3g}" for n, g in zip(("oop", "ip"), exact.gains, strict=True))
    assert f"a best response from here on earns more: {gains} chips" in report
    raised = sum(exact.raised) / 2
    assert f"the exploitability of the whole is at most {raised:.2g} chips more" in report
