"""PioSOLVER's text protocol: the numbers are the solver's, and nothing ends the session."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tensorcfr import compile_game, solve
from tensorcfr.analysis import SolvedSpot
from tensorcfr.games.poker.deck import CARDS
from tensorcfr.protocols import UpiSession

# PioSOLVER's show_hand_order: by the higher card, then the lower one; suits are cdhs.
ORDER = [f"{CARDS[high]}{CARDS[low]}" for high in range(52) for low in range(high)]
RIVER = (
    "set_board Qs7s3h2dAc",
    "set_range OOP AA,KK,QQ,76s",
    "set_range IP 77:0.5,33,AKs,KJo",
    "set_pot 0 0 180",
    "set_eff_stack 910",
    "add_line 0 0",
    "add_line 0 90",
    "add_line 90 270 910",
    "build_tree",
)
SPOT = {
    "board": "Qs7s3h2dAc",
    "ranges": ("AA,KK,QQ,76s", "77:0.5,33,AKs,KJo"),
    "pot": 180,
    "stacks": 910,
    "add": ("bet90", "bet90 raise270", "bet90 raise270 allin", "check bet90"),
    "add_allin": 0,
    "force_allin": 0,
    "merging": 0,
}
"""The same spot by its options."""


class Client:
    """Client of a session: sends a line, and returns the lines of the answer."""

    def __init__(self, *lines: str) -> None:
        self.output = io.StringIO()
        self.session = UpiSession(self.output.write)
        self.ask("set_end_string END")
        for line in lines:
            assert self.ask(line) == [f"{line.split()[0]} ok!"]

    def ask(self, line: str) -> list[str]:
        begin = self.output.tell()
        self.session.answer(line)
        answer = self.output.getvalue()[begin:].splitlines()
        if self.session.end:
            assert answer.count("END") == 1
            # The solver, in its thread, may write before or after the answer.
            answer = answer[: answer.index("END")]
        return [line for line in answer if not line.startswith("SOLVER:")]

    def numbers(self, line: str) -> list[dict[str, float]]:
        """Return the lines of numbers of an answer, by hand, without zeros."""
        rows = []
        for text in self.ask(line):
            row = [float(number) for number in text.split()]
            assert len(row) == 1326
            rows.append({hand: x for hand, x in zip(ORDER, row, strict=True) if x})
        return rows


def of_hands(hands: Sequence[str], numbers: np.ndarray) -> dict[str, float]:
    """Return numbers by hand, in PioSOLVER's spelling, without zeros and unknown ones."""
    pairs = zip(hands, numbers.tolist(), strict=True)
    return {hand: pytest.approx(x, rel=1e-8) for hand, x in pairs if x and not np.isnan(x)}


def without_nan(numbers: dict[str, float]) -> dict[str, float]:
    return {hand: x for hand, x in numbers.items() if x == x}


@pytest.mark.usefixtures("interpreted")
def test_numbers_are_those_of_the_solver(tmp_path: Path) -> None:
    client = Client(*RIVER, "set_accuracy 0", "go 20 steps", "wait_for_solver")
    assert client.ask("show_hand_order") == [" ".join(ORDER)]
    solution = solve(compile_game("holdem", **SPOT), iters=20)
    spot, hands = SolvedSpot(solution), solution.game.nodes.hands
    for node, line in (("r:0", ""), ("r:0:c", "check"), ("r:0:b90:b270", "bet90 raise270")):
        table, player = spot.table(line), ("OOP", "IP")[spot.table(line).player]
        # Bets from the largest, then check or call, then fold.
        strategy = client.numbers(f"show_strategy {node}")
        assert strategy == [of_hands(table.hands, row) for row in table.strategy.T[::-1]]
        (weights,) = client.numbers(f"show_range {player} {node}")
        assert weights == of_hands(table.hands, table.weight)
        values, matchups = client.numbers(f"calc_ev {player} {node}")
        # Values are net of half the pot here, and net of the player's own chips there.
        assert without_nan(values) == of_hands(table.hands, table.value + 90.0)
        assert matchups == of_hands(table.hands, table.weight * table.opponent_weight)
        *_, total = client.ask(f"calc_eq_node {player} {node}")
        assert float(total) == pytest.approx(table.mean(table.equity), rel=1e-8)
    both = [client.numbers(f"calc_ev {player} r:0:b90:c") for player in ("OOP", "IP")]
    means = [
        sum(e[hand] * m for hand, m in n.items()) / sum(n.values())
        for e, n in [(without_nan(values), matchups) for values, matchups in both]
    ]
    assert sum(means) == pytest.approx(180.0)
    evaluation = solution.evaluation
    results = [float(line.partition(": ")[2]) for line in client.ask("calc_results")]
    best = [value + 90.0 for value in evaluation.best_responses]
    expected = [*(value + 90.0 for value in evaluation.values), *best, evaluation.exploitability]
    assert results == pytest.approx(expected, abs=6e-4)
    # Strategies are stored, and the file continues.
    assert client.ask(f'dump_tree "{tmp_path / "a tree.cfr"}" full') == ["dump_tree ok!"]
    other = Client(f'load_tree "{tmp_path / "a tree.cfr"}"')
    assert other.numbers("show_strategy r:0") == client.numbers("show_strategy r:0")
    assert other.ask("show_all_lines") == client.ask("show_all_lines")
    assert hands[0][0] in ORDER


@pytest.mark.usefixtures("interpreted")
def test_nodes_have_the_form_of_piosolver() -> None:
    """The form is that of answers by PioSOLVER 3.3.0 and of examples in its documentation."""
    client = Client(*RIVER)
    board = "Qs 7s 3h 2d Ac"
    assert client.ask("show_node r")[:5] == ["r", "ROOT", board, "0 0 180", "1 children"]
    assert client.ask("show_node r:0:b90") == [
        *("r:0:b90", "IP_DEC", board, "90 0 180", "3 children", "flags: PIO_CFR", "")
    ]
    children = client.ask("show_children r:0:b90")
    assert children[:3] == ["child 0:", "r:0:b90:b270", "OOP_DEC"]
    assert [line for line in children if line.startswith("r:")] == [
        *("r:0:b90:b270", "r:0:b90:c", "r:0:b90:f")
    ]
    assert children[8:11] == ["child 1:", "r:0:b90:c", "END_NODE"]
    assert sorted(client.ask("show_all_lines")) == sorted(
        ["r", "r:0", "r:0:c", "r:0:c:c", "r:0:c:b90", "r:0:c:b90:c", "r:0:c:b90:f", "r:0:b90"]
        + ["r:0:b90:c", "r:0:b90:f", "r:0:b90:b270", "r:0:b90:b270:c", "r:0:b90:b270:f"]
        + [f"r:0:b90:b270:b910{step}" for step in ("", ":c", ":f")]
    )
    client.ask("remove_line 90")
    client.ask("build_tree")
    assert client.ask("show_node r:0:b90")[0].startswith("ERROR: show_node: there is no node")


@pytest.mark.full
def test_equities_are_those_of_piosolver() -> None:
    """The numbers are PioSOLVER's, from bkushigian/Pious, ``tests/pious/pio/test_equity.py``."""
    client = Client("set_pot 0 0 100", "set_eff_stack 100", "add_line 0 0 0 0 0 0")
    for board, oop, ip, equity in (
        ("Kh9d8d", "AKo, 32o", "T9s, T8s", 0.347),
        ("3h3d3c", "AKo, 32o", "T9s, T8s", 0.795),
        ("3h3d3c", "JJ TT", "AA    KK,QQ", 0.088),
    ):
        for line in (f"set_board {board}", f"set_range OOP {oop}", f"set_range 1 {ip}"):
            client.ask(line)
        assert client.ask("build_tree") == ["build_tree ok!"]
        shares = [float(client.ask(f"calc_eq_node {p} r:0")[-1]) for p in ("OOP", "IP")]
        assert shares == pytest.approx([equity, 1.0 - equity], abs=1e-3)


def test_wrong_lines_are_answered() -> None:
    client = Client()
    for line, problem in (
        ("calc_ev OOP r:0", "calc_ev: there is no tree"),
        ("build_tree", "build_tree: there is no set_board, set_range OOP, set_range IP, set_pot"),
        ("shownode r", "there is no command 'shownode'; did you mean 'show_node'?"),
        ("show_node", "show_node: takes NAME"),
        ("set_range OOP " + "1 " * 1325, "1,325 numbers; there are 1,326 hands"),
        ("set_range BTN AA", "a player is OOP or IP, not 'BTN'"),
        ("set_pot 5 5 10", "the first two numbers must be 0"),
        ("set_eff_stack 1e999999", "an amount is a number from 0"),
        ("add_line 0 50 20", ""),
        ("load_tree missing.cfr", "No such file"),
        ("load_script missing.txt", "there is no file 'missing.txt'"),
        ("x" * 1_000_001, "a command has at most 1,000,000 characters"),
    ):
        answer = client.ask(line)
        assert len(answer) == 1
        assert problem in answer[0]
        assert answer[0].startswith("ERROR: ") or not problem
    dice, output = Random(3), client.output
    for _ in range(300):
        text = "".join(chr(dice.randrange(32, 0x250)) for _ in range(dice.randrange(1, 30)))
        words = dice.choice(["show_node", "go", "set_range OOP", "set_accuracy", "add_line", ""])
        count = output.getvalue().count("END\n")
        client.session.answer(f"{words} {text}")
        has_answer = bool(words) or (not text.lstrip().startswith("#") and bool(text.strip()))
        assert output.getvalue().count("END\n") == count + has_answer


@pytest.mark.full
def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "script.txt").write_text("#Type#NoLimit\n" + "\n".join(RIVER[:-1]))
    lines = (
        *("set_end_string END", 'load_script_silent "script.txt"', "build_tree", "show_tree_info"),
        *("set_info_freq 1", "set_accuracy 0.001 fraction", "go", "calc_results"),
        *("wait_for_solver", "calc_results", "go", "stop", "is_ready", "exit", "is_ready"),
    )
    ended = subprocess.run(
        [sys.executable, "-m", "tensorcfr", "upi"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        check=True,
    )
    assert all("compiling kernels" in line for line in ended.stderr.splitlines())
    output = ended.stdout.splitlines()
    # Clients skip three lines.
    assert output[3:9] == [
        *("set_end_string ok!", "END", "load_script_silent ok!", "END", "build_tree ok!", "END")
    ]
    assert "#Board#Qs 7s 3h 2d Ac" in output
    assert (
        "ERROR: calc_results: the solver is running: send stop or wait_for_solver first" in output
    )
    begin, end = output.index("SOLVER: started"), output.index("wait_for_solver ok!")
    assert output.index("go ok!") < begin < end
    assert "SOLVER: stopped (required accuracy reached)" in output[begin:end]
    # A report while the solver runs ends with the end string, too.
    report = output.index("SOLVER:")
    assert [line.partition(":")[0] for line in output[report : report + 8]] == [
        *("SOLVER", "running time", "EV OOP", "EV IP", "OOP's MES", "IP's MES", "Exploitable for"),
        "END",
    ]
    share = [float(line.partition(": ")[2]) for line in output if line.startswith("Exploitable")]
    assert share[-1] <= 0.18
    assert output[-2:] == ["is_ready ok!", "END"]
