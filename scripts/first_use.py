"""First use of twelve features: time with an empty cache of kernels, and the messages meanwhile.

    python -m scripts.first_use           # measure, and write the table of docs/server.md
    python -m scripts.first_use --only spot

Each command runs twice in fresh processes: with an empty cache, and with the kernels of the first
run.  The package has its bytecode, which pip compiles when it installs a package.  The first
message is the first text of the process on standard error.
"""

from __future__ import annotations

import compileall
import os
import shlex
import subprocess
import sys
import time
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks._common import children_seconds, table

from ._pages import DOCS, ROOT, arguments, origin, origin_of, write_parts

PAGE = DOCS / "server.md"
SPOT = "--pot 10 --stacks 45 --bets 66% --raises a --target 1% --rows 1"
RANGES = "--oop AA-TT,AKs,AQs,KQs --ip QQ-88,AJs,KJs,QJs"
HEADER = ("feature", "wall, empty cache", "CPU", "wall, later", "CPU", "first message")
HEADER += ("last message",)
MESSAGE_WIDTH = 34
"""Characters of a message in the table."""
COMMANDS = {
    "Leduc": "solve leduc --iters 1000 --no-strategy",
    "Kuhn with a lock": "solve kuhn --iters 1000 --lock J:bet=0 --no-strategy",
    "external sampling": "solve leduc --algorithm external_sampling --iters 1000 --no-strategy",
    "a game of OpenSpiel": "solve openspiel:kuhn_poker --iters 1000 --no-strategy",
    "a sweep": "sweep table.csv -g kuhn -a cfr -a dcfr --iters 100",
    "a river": f"spot --board Qs9s4h7s2c {RANGES} {SPOT}",
    "a turn": f"spot --board Qs9s4h7s {RANGES} {SPOT}",
    "a flop": f"spot --board Qs9s4h {RANGES} {SPOT}",
    "an Omaha river": f"spot --game omaha --board Qs9s4h7s2c --oop AAKK,QQJT --ip QQJJ,KKQT {SPOT}",
    "a river for prizes": f"spot --board Qs9s4h7s2c {RANGES} {SPOT} --payouts 50,30,20 --others 40",
    "play": "play kuhn --player 1",
    "a page of the viewer": "view leduc --iters 100 --html page.html",
}
"""Command lines by feature."""


class Use(NamedTuple):
    """Measurements of one process."""

    wall: float
    """Seconds until it ended."""
    cpu: float
    """Processor seconds."""
    first: float | None
    """Seconds until the first message on standard error, or None."""
    message: str
    """The last line on standard error."""


def use(command: str, cache: str) -> Use:
    """Run a command of the library in a new process, whose input ends at once.

    Raises:
        RuntimeError: The command failed; has its messages.
    """
    before = children_seconds()
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
    started, first, said = time.perf_counter(), None, b""
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "tensorcfr", *shlex.split(command)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stderr is not None
        while text := os.read(process.stderr.fileno(), 1 << 16):
            first = time.perf_counter() - started if first is None else first
            said += text
    if process.returncode:
        raise RuntimeError(f"{command}: {said.decode()}")
    lines = said.decode().strip().splitlines()
    used = children_seconds() - before
    return Use(time.perf_counter() - started, used, first, lines[-1] if lines else "")


def row_of(name: str, command: str) -> list[str]:
    """Measure a command, and return its row of the table."""
    with TemporaryDirectory() as cache:
        cold, warm = (use(command, cache) for _ in range(2))
    first = "" if cold.first is None else f"{cold.first:.1f}"
    kernels = cold.message.removeprefix("tensorcfr: ")[:MESSAGE_WIDTH].rpartition(",")[0]
    seconds = [f"{second:.1f}" for second in (cold.wall, cold.cpu, warm.wall, warm.cpu)]
    return [name, *seconds, first, kernels]


def main() -> None:
    """Measure all commands, or those of some features, and write the table."""
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="commands that contain this text; print them")
    asked = parser.parse_args()
    compileall.compile_dir(ROOT / "tensorcfr", quiet=1)
    rows = []
    for name, command in COMMANDS.items():
        if asked.only in command:
            rows.append(row_of(name, command))
            print(*rows[-1], sep=" | ", flush=True)
    if not asked.only:
        text = f"{table(HEADER, rows, (0, 6))}\n\nSeconds, one run each. {origin_of(origin())}."
        write_parts(PAGE, "first_use", {"first_use": text})


if __name__ == "__main__":
    main()
