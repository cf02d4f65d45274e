"""Made-up lines to ``tensorcfr upi``, for ``scripts.fuzz``: it answers each of them, and lives.

A line is a command of the protocol with good or odd arguments, a damaged line, or noise.  The
process runs in the folder of the batch, and so do the files that lines name.  It must answer each
line once, with the end string, within :data:`SECONDS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from queue import Empty, Queue
from random import Random
from threading import Thread

from tensorcfr.formats.piosolver import TREE_COMMANDS
from tensorcfr.protocols.upi import COMMANDS

from ._fuzzing import DefectError, Watch
from ._pages import ROOT

SECONDS = 120.0
"""Time that an answer may take; solves wait for their end."""
END = "the_end_of_an_answer"
GOOD = (
    "set_board Qs7s3h2dAc",
    "set_board QsJh2h9c",
    "set_range OOP AA,KK,QQ,76s",
    "set_range IP 77:0.5,33,AKs,KJo",
    "set_range 0 " + "1 " * 1326,
    "set_pot 0 0 180",
    "set_eff_stack 910",
    "clear_lines",
    "add_line 0 0",
    "add_line 0 90",
    "add_line 90 270 910",
    "add_line 180",
    "remove_line 180",
    "set_rake 0.05 3",
    "build_tree",
    "show_node r",
    "show_node r:0:b90",
    "show_children r:0",
    "show_strategy r:0:c",
    "show_range OOP r:0:b90:c",
    "calc_ev IP r:0",
    "calc_ev_pp IP r:0:c",
    "calc_eq_node OOP r:0:b90:b270",
    "calc_global_freq r:0:b90",
    "calc_results",
    "go 5 steps",
    "go 0.01 seconds",
    "wait_for_solver",
    "stop",
    "set_accuracy 0.5",
    "set_accuracy 0.01 fraction",
    "set_info_freq 3",
    "set_info_freq 0",
    "dump_tree tree.cfr full",
    "load_tree tree.cfr",
    'load_tree "tree.cfr"',
    "show_metadata tree.cfr",
    "load_script script.txt",
    "load_script_silent script.txt",
)
"""Lines that work, in an order that makes a tree."""
ODD = (
    *("", "-1", "0", "1", "1e9", "1e-9", "nan", "inf", "1e999999999", "9" * 400, "0.1", "r", "r:0"),
    *("r:0:c:c", "r:0:b90:c", "r:0:" + "c:" * 500, "OOP", "IP", "2", "AA", "random", "AA:2", '"'),
    *(
        "Qs",
        "QsQs2c",
        "QsJh2h9c4d3c",
        "{",
        "#",
        "💥",
        "\0",
        "x" * 5000,
        "full",
        "steps",
        "tree.cfr",
    ),
    *("fraction", "script.txt", "missing.cfr", ".", "set_end_string", "0 " * 1325, "0.5 " * 1327),
)
LEFT_OUT = {"exit", "bench", "reset_end_string", "set_end_string"}
"""Commands that end the session or its answers, or take long."""
SHARES = {"upi": 1.0}
READY, SURVIVES = "is_ready", 50
"""Question that a living process answers, and after how many lines it is asked."""


def line_of(dice: Random) -> str:
    """Return a line."""
    names = sorted({*COMMANDS, *TREE_COMMANDS} - LEFT_OUT)
    kind = dice.random()
    if kind < 0.5:
        line = dice.choice(GOOD)
    elif kind < 0.85:
        line = " ".join([dice.choice(names), *(dice.choice(ODD) for _ in range(dice.randrange(4)))])
    else:
        line = "".join(chr(dice.randrange(1, 0x250)) for _ in range(dice.randrange(40)))
    if dice.random() < 0.1:
        place = dice.randrange(len(line) + 1)
        line = line[:place] + dice.choice(ODD) + line[place:]
    line = "".join(" " if char in "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029" else char for char in line)
    return READY if line.split()[:1] and line.split()[0] in LEFT_OUT else line


class Server:
    """Process that answers, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensorcfr", "upi"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogatepass",
        )
        self.lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()
        self.ask(f"set_end_string {END}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def ask(self, line: str) -> list[str]:
        """Send a line, and return the lines of its answer.

        Raises:
            DefectError: The process has ended, or does not answer.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            raise DefectError("the process has ended") from None
        if not line.strip() or line.lstrip().startswith("#"):
            return []
        answer: list[str] = []
        in_report = False
        while True:
            try:
                found = self.lines.get(timeout=SECONDS)
            except Empty:
                state = self.process.poll()
                raise DefectError(f"no answer; exit status {state}") from None
            if found == "SOLVER:":
                in_report = True
            elif found == END:
                if not in_report:
                    return answer
                in_report = False
            elif not in_report:
                answer.append(found)


def with_tree(folder: Path) -> Server:
    """Return a process that has answered :data:`GOOD`."""
    server = Server(folder)
    for line in GOOD:
        server.ask(line)
    return server


def prepare(folder: Path, kinds: list[str]) -> None:
    """Write the script that some lines load; it loads itself."""
    (folder / "script.txt").write_text("\n".join(GOOD[:15]) + "\nload_script script.txt\n")


class Inputs:
    """Lines to a process that has a tree.

    Args:
        folder: Folder of the process.
        seed: Seed of the draws.
        kind: The protocol.
    """

    def __init__(self, folder: Path, seed: int, kind: str) -> None:
        self.folder, self.seed, self.server = folder, seed, with_tree(folder)

    def try_input(self, number: int, watch: Watch) -> str:
        """Send a line; return the kind of its answer.

        Raises:
            DefectError: The process has ended, or does not answer; the next line goes to a new one.
        """
        line = line_of(Random(f"{self.seed} {number}"))
        if number % SURVIVES == SURVIVES - 1:
            line = READY
        try:
            answer = self.server.ask(line)
            # A solve may say first that it has started or ended.
            if line == READY and answer[-1:] != [f"{READY} ok!"]:
                raise DefectError(f"it answers {answer}")
        except DefectError as error:
            self.server.process.kill()
            self.server = with_tree(self.folder)
            raise DefectError(f"{line[:200]!r}: {error}") from error
        return "error" if answer and answer[-1].startswith("ERROR") else "another answer"
