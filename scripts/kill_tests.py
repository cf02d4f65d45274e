"""``kill -9`` at random moments over saves, sweeps and solves: nothing is damaged, lost or left.

``python -m scripts.kill_tests [--kills 1000] [--seed 0]`` starts the command line in a session of
its own, kills its first process after a random time, and looks at what is there:

* every file that is under its own name can be read, and says what was said before or after;
* no process of the session is alive five seconds later, but for workers that are still importing;
* every row of a sweep that was seen before the kill is there, once;
* a solve that goes on from its last checkpoint has the same bits as one without a break;
* after the next run that ends by itself there is no temporary file.

It ends with a line of figures, and with status 1 if anything was found.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from tensorcfr import Solution, compile_game, solve
from tensorcfr._util.hardware import machine, versions
from tensorcfr.sweep import SweepRow, read_sweep

ROOT = Path(__file__).parent.parent
GRACE = 5.0
"""Seconds after which nothing of a killed command may be alive."""
IMPORTING = 1.5
"""Processor seconds of a worker that may still be importing the library, whatever the time: it ends
when the import is done, which takes long on a busy machine."""
STARTED = 1.2
"""Seconds that a command takes to be imported; kills come from here on, most of them."""
SAVING = """
import sys
from tensorcfr import Solution, compile_game, save_game, solve
path = sys.argv[1]
solution = solve(compile_game("leduc"), iters=3)
print("begun", flush=True)
while True:
    solution.save(path)
"""
"""Saves without end, so that nearly every kill meets a save."""


@dataclass
class Found:
    """What came of the kills."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, kind: str, said: str) -> None:
        """Note something that must not be."""
        self.counts[kind] += 1
        self.faults.append(f"{kind}: {said}")


def figures(found: Found, seed: int) -> dict[str, Any]:
    """What a file of figures says of a run."""
    of = {"machine": machine(), "versions": versions(), "date": f"{datetime.now(UTC).date()}"}
    return {**of, "seed": seed, "counts": found.counts, "faults": found.faults}


def write(path: Path, said: dict[str, Any]) -> None:
    """Put figures into a file; what else is there stays."""
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**before, **said}, indent=1) + "\n")


def main(words: list[str] | None = None) -> int:
    """Kill, look, and say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--only", default="", help="those whose name contains this")
    asked = parser.parse_args(words)
    kinds = [(kind, kill) for kind, kill in KINDS if asked.only in kind]
    found, rng, begun = Found(), Random(asked.seed), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "keep").mkdir()
        for number in range(asked.kills):
            if time.monotonic() - begun > asked.seconds:
                break
            kind, kill = kinds[number % len(kinds)]
            kill(folder / kind, rng, found)
            found.counts["kills"] += 1
            found.counts[kind] += 1
    print(", ".join(f"{count:,} {what}" for what, count in found.counts.items()))
    for fault in found.faults:
        print(fault)
    return int(bool(found.faults))


def kill_save(folder: Path, rng: Random, found: Found) -> None:
    """A process that saves one file again and again."""
    folder.mkdir(exist_ok=True)
    path = folder / "s.npz"
    process = _start([sys.executable, "-c", SAVING, str(path)])
    assert process.stdout is not None
    process.stdout.readline()
    _kill(process, rng.uniform(0.0, 0.3), found)
    _check_solution(path, found, must_exist=False)
    if rng.random() < 0.2:
        _end(["solve", "kuhn", "--iters", "5", "--save", str(path), "--force"], folder, found)


def kill_solve(folder: Path, rng: Random, found: Found) -> None:
    """``tensorcfr solve --save`` over a file that is there already."""
    folder.mkdir(exist_ok=True)
    path = folder / "s.npz"
    command = ["solve", "leduc", "--time-limit", "0.05", "--save", str(path), "--force"]
    if not path.exists():
        _end(command, folder, found)
    process = _start(_command(command))
    _kill(process, rng.uniform(0.0, 2.0) * STARTED, found)
    _check_solution(path, found, must_exist=True)
    if rng.random() < 0.2:
        _end(command, folder, found)


def kill_sweep(folder: Path, rng: Random, found: Found, processes: int) -> None:
    """``tensorcfr sweep``, which is killed a few times and then goes on to its end."""
    folder.mkdir(exist_ok=True)
    path = folder / "t.csv"
    words = ["sweep", str(path), "-g", "kuhn", "-g", "leduc", "-a", "cfr", "-a", "cfr+"]
    words += ["-a", "external_sampling", "--seeds", "2", "--iters", "20000"]
    words += ["--processes", str(processes)]
    before = rows_of(path, found)
    process = _start(_command(words))
    _kill(process, (0.8 + rng.uniform(0.0, 2.5) * processes) * STARTED, found)
    after = rows_of(path, found)
    check_rows(before, after, found)
    if rng.random() < 0.15:
        _end(words, folder, found)
        rows = rows_of(path, found)
        check_rows(after, rows, found)
        if sum(row.ends_cell for row in rows) != 8:
            found.fault("cells missing", f"{sum(row.ends_cell for row in rows)} of 8 in {path}")
        shutil.rmtree(folder)


def kill_checkpoints(folder: Path, rng: Random, found: Found, *, files: bool) -> None:
    """``tensorcfr solve --checkpoint`` of a game in chunks, which goes on where the last one was
    killed; with its state in memory or in files."""
    folder.mkdir(exist_ok=True)
    path = folder / "at.npz"
    begin = ["leduc", "--cut", "3", "--algorithm", "cfr"]
    words = ["solve", *(["--resume", str(path)] if path.exists() else begin), "--time-limit", "9"]
    words += ["--checkpoint", str(path), "--checkpoint-every", "0", "--force"]
    if files:
        words += ["--state-dir", str(folder / "state")]
    before = path.stat().st_mtime_ns if path.exists() else 0
    process, began = _start(_command(words)), time.monotonic()
    # From the first file that it writes, so that kills meet iterations and writing.
    while time.monotonic() - began < 60 and process.poll() is None:
        if path.exists() and path.stat().st_mtime_ns != before:
            break
        time.sleep(0.005)
    _kill(process, rng.uniform(0.0, 0.5), found)
    if not path.exists() and not before:
        found.counts["killed before the first file"] += 1
        return
    _check_solution(path, found, must_exist=True)
    solution = Solution.load(path)
    whole = solve(compile_game("leduc", cut=3), "cfr", iters=solution.iterations)
    for name, array in whole.state._asdict().items():
        if getattr(solution.state, name).tobytes() != array.tobytes():
            found.fault("other bits", f"{name} of {path} after {solution.iterations} iterations")
    found.counts["checkpoints with the same bits"] += 1
    if rng.random() < 0.3:
        shutil.rmtree(folder)


KINDS: list[tuple[str, Callable[[Path, Random, Found], None]]] = [
    ("save", kill_save),
    ("solve", kill_solve),
    ("sweep in 1 process", lambda folder, rng, found: kill_sweep(folder, rng, found, 1)),
    ("sweep in 2 processes", lambda folder, rng, found: kill_sweep(folder, rng, found, 2)),
    ("checkpoints", lambda folder, rng, found: kill_checkpoints(folder, rng, found, files=False)),
    (
        "checkpoints of a state in files",
        lambda folder, rng, found: kill_checkpoints(folder, rng, found, files=True),
    ),
]
"""What is killed, in turn."""


def _command(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "tensorcfr", *words]


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    """A process in a session of its own."""
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _kill(process: subprocess.Popen[bytes], seconds: float, found: Found) -> None:
    """Kill the first process of a session, and wait for the others to end by themselves."""
    time.sleep(seconds)
    if process.poll() is None:
        found.counts["killed at work"] += 1
        os.kill(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    process.stdout.close()
    process.wait()
    began = time.monotonic()
    while left := alive(process.pid):
        waited = time.monotonic() - began
        if waited > GRACE and (waited > 20 * GRACE or max(map(worked, left)) > IMPORTING):
            break
        time.sleep(0.02)
    if left:
        found.fault("processes left", "; ".join(map(_described, left)))
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def worked(pid: int) -> float:
    """Processor seconds of a process; 0 if it has ended."""
    try:
        words = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _described(pid: int) -> str:
    """Age, processor time, threads and arguments of a process."""
    try:
        folder = Path("/proc") / str(pid)
        words = (folder / "stat").read_text().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        age = float(Path("/proc/uptime").read_text().split()[0]) - int(words[19]) / ticks
        arguments = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
    except OSError:
        return f"{pid}, which has ended now"
    return f"{pid}, {age:.1f} s old, {worked(pid):.1f} s of work, {words[17]} threads: {arguments}"


def alive(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, _, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except (OSError, ValueError):
                continue  # It has ended meanwhile.
            if int(of) == session and state != "Z":
                found.append(int(entry.name))
    return found


def _end(words: list[str], folder: Path, found: Found) -> None:
    """A run that ends by itself, and leaves no temporary file of itself or of those before."""
    done = subprocess.run(_command(words), cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        found.fault("next run fails", done.stderr[:300])
    found.counts["runs to the end"] += 1
    if left := [path.name for path in folder.iterdir() if path.suffix == ".tmp"]:
        kept = [path.name for path in folder.iterdir()]
        found.fault("temporary files left", f"{left} of {kept} after {words}: {done.stdout[-300:]}")
        for name in left:
            (folder / name).unlink()


def _check_solution(path: Path, found: Found, *, must_exist: bool) -> None:
    if not path.exists():
        if must_exist:
            found.fault("files lost", str(path))
        return
    try:
        solution = Solution.load(path)
    except Exception as error:
        found.fault("damaged files", f"{type(error).__name__}: {error}")
        path.unlink()
        return
    if solution.game.name not in ("leduc", "kuhn"):
        found.fault("damaged files", f"{path} holds {solution.game.name}")


def rows_of(path: Path, found: Found) -> list[SweepRow]:
    """The rows of a table that may not be there yet; a damaged one is a fault."""
    if not path.exists():
        return []
    try:
        return read_sweep(path)
    except ValueError as error:
        # A process that was killed before its first line was complete leaves an empty file.
        if path.stat().st_size:
            found.fault("damaged files", f"{type(error).__name__}: {error}")
            path.unlink()
        return []


def check_rows(before: list[SweepRow], after: list[SweepRow], found: Found) -> None:
    """Nothing is there twice, and of a finished cell nothing is lost."""
    keys = Counter((*row.key, row.iteration) for row in after)
    if twice := [key for key, count in keys.items() if count > 1]:
        found.fault("rows doubled", str(twice[:3]))
    finished = {row.key for row in before if row.ends_cell}
    kept = set(after)
    if lost := [row for row in before if row.key in finished and row not in kept]:
        found.fault("rows lost", f"{len(lost)}, {lost[0]}")


if __name__ == "__main__":
    sys.exit(main())
