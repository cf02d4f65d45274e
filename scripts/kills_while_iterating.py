"""Kills while a solve iterates, and many solves that start at once: no bad file, the same bits.

``python -m scripts.kills_while_iterating [--kills 1000] [--starts 1000] [--seed 0]`` loads games
and kernels once and forks, so that nearly every kill meets an iteration or a checkpoint.

* **Kills**, of every way in which a solver keeps its arrays, in turn.  A child goes on from the
  checkpoint file that the one before has left, and is killed.  The file must load, and have the
  bits of a solve without a break.  In the end one child ends by itself and leaves nothing behind.
* **Starts** on one ``state_dir``: one child at least has it, and gives the bits of a solve in
  memory; the others are told that it is in use.  On one checkpoint file: every child gives these
  bits, and the file those of its iteration.  On one empty kernel cache: every child compiles or
  loads the kernel, and its sum is right; so does the next child.

It ends with a line of figures, and with status 1 if anything was found.  ``--json`` puts the
figures into a file.  For systems that can fork.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numba
import numpy as np

from scripts.kill_tests import Found, figures, write
from tensorcfr import Solution, compile_game, solve
from tensorcfr._util import jit
from tensorcfr.algorithms import CFR_D

AT_ONCE = 8
"""Children that start at once."""
LOST_SECONDS = 60
"""Seconds after which a child that does not end is ended by an alarm."""
SAME, IN_USE, OTHER, FAILED = 0, 2, 3, 4
"""Exit statuses of children: the same bits, refused because the directory is in use, other bits,
and an error."""
WORDS = {SAME: "same bits", IN_USE: "told that it is in use", OTHER: "other bits", FAILED: "errors"}
SPOT = (
    "holdem(board='Td9d6hQd', ranges=('AhAs,KdKc', 'QsQh,8h8s'), pot=100, stacks=150, "
    "bets={'turn': '50%', 'river': 'a'})"
)


@dataclass
class Way:
    """A way to solve, and to keep what is solved."""

    source: str
    algorithm: Any = "cfr+"
    compiled: dict[str, Any] | None = field(default_factory=dict)
    """Options of ``compile_game``; None for rules that are solved as they are."""
    files: bool = False
    """Whether the arrays are in ``state_dir``."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of ``solve``."""

    @cached_property
    def game(self) -> Any:
        """What is solved."""
        return self.source if self.compiled is None else compile_game(self.source, **self.compiled)

    def solve(self, iters: int, **more: Any) -> Solution:
        """A solve from the start."""
        return solve(self.game, self.algorithm, iters=iters, checkpoints=(), **self.options, **more)

    def go_on(self, folder: Path, iters: int, **more: Any) -> Solution:
        """A solve from the checkpoint file of a folder, or from the start."""
        path = folder / "at.npz"
        more["checkpoint"] = path
        if self.files:
            more["state_dir"] = folder / "state"
        if not path.exists():
            return self.solve(iters, **more)
        start = self.load(folder, state_dir=more.get("state_dir"))
        return solve(start.game, start=start, iters=iters, checkpoints=(), **more)

    def load(self, folder: Path, **more: Any) -> Solution:
        """The checkpoint file."""
        known = None if self.compiled is None else self.game
        return Solution.load(folder / "at.npz", game=known, **more)


CUT: dict[str, Any] = {"cut": 3}
TWICE: dict[str, Any] = {"cut": (2, 4)}
INT16: dict[str, Any] = {"precision": "int16"}
POKER = "nolimit_poker(stacks=4, ranks='JQKA', suits=2, hand=1, deals=(1, 1), raises='a', bets='a')"
"""Cards are dealt before chunks and between them."""
WAYS = {
    "in memory": Way("leduc", compiled={"cut": False}),
    "in chunks": Way("leduc", "pcfr+", CUT),
    "state_dir": Way("leduc", "cfr", CUT, files=True),
    "16 bits": Way("leduc", "dcfr", CUT, options=INT16),
    "16 bits, state_dir": Way("leduc", "cfr+", CUT, files=True, options=INT16),
    "spot": Way(SPOT, "dcfr", options={"precision": "float32"}),
    "spot, 16 bits, state_dir": Way(SPOT, "dcfr", {"cut": True}, files=True, options=INT16),
    "two depths": Way("leduc", "pcfr+", TWICE),
    "two depths, threads, state_dir": Way(
        "leduc", "cfr+", TWICE, files=True, options={"threads": 2}
    ),
    "two depths, 16 bits, state_dir": Way("leduc", "dcfr", TWICE, files=True, options=INT16),
    "two deals": Way(POKER, "dcfr", {"cut": 1}, options={"precision": "float32"}),
    "two deals, 16 bits, state_dir": Way(POKER, "dcfr", {"cut": 1}, files=True, options=INT16),
    "external sampling": Way("leduc", "external_sampling", options={"seed": 3}),
    "outcome sampling": Way("leduc", "outcome_sampling", options={"seed": 3}),
    "sampling on rules": Way("kuhn", "external_sampling", None, options={"seed": 3}),
    "CFR-D": Way("kuhn", CFR_D(cut=1, subgame_iterations=4, resolve_iterations=6)),
}
"""What is killed, in turn."""


def difference(one: Solution, other: Solution) -> str:
    """Where two solutions have other bits, or an empty text."""
    for name, array in other.state._asdict().items():
        if np.asarray(getattr(one.state, name)).tobytes() != np.asarray(array).tobytes():
            return name
    return "" if one.iterations == other.iterations else "iterations"


def forked(work: Callable[[], int]) -> int:
    """The number of a child that does some work and exits with the status that it returns."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    status = FAILED
    try:
        signal.alarm(LOST_SECONDS)
        status = work()
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n"[:300])
    os._exit(status)


def ended(pid: int) -> int:
    """The exit status of a child, or minus the number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill(name: str, folder: Path, rng: Random, found: Found) -> None:
    """Kill a child that goes on, and look at what it leaves."""
    way, apart = WAYS[name], rng.choice((1, 10, 100))
    folder.mkdir(exist_ok=True)
    before = way.load(folder).iterations if (folder / "at.npz").exists() else 0

    reading, writing = os.pipe()

    def work() -> int:
        os.close(reading)

        def sign(_: object) -> None:
            os.write(writing, b".")

        options = {"checkpoint_iterations": apart, "checkpoint_every": 0.02}
        way.go_on(folder, 10**9, progress=sign, **options)
        return FAILED

    child = forked(work)
    os.close(writing)
    # The first sign of an iteration, or none where the child has failed.
    found.counts["while iterating"] += len(os.read(reading, 1))
    time.sleep(rng.uniform(0.0, 0.15))
    os.kill(child, signal.SIGKILL)
    status = ended(child)
    os.close(reading)
    if status != -signal.SIGKILL:
        found.fault("solve failed", f"{name}: status {status}")
    if not (folder / "at.npz").exists():
        found.counts["before the first file"] += 1
        return
    try:
        solution = way.load(folder)
    except ValueError as error:
        found.fault("bad files", f"{name}: {error}")
        shutil.rmtree(folder)
        return
    found.counts["iterations gone on"] += max(solution.iterations - before, 0)
    if solution.iterations < before:
        found.fault("iterations lost", f"{name}: {before} to {solution.iterations}")
    if wrong := difference(solution, way.solve(solution.iterations)):
        found.fault("other bits", f"{name}: {wrong} after {solution.iterations} iterations")
    if rng.random() < 0.2:
        end(name, folder, found)
        shutil.rmtree(folder)


def end(name: str, folder: Path, found: Found) -> None:
    """A child that ends by itself, and leaves a checkpoint file and nothing else."""
    way = WAYS[name]
    whole = way.solve(way.load(folder).iterations + 2)

    def work() -> int:
        return OTHER if difference(way.go_on(folder, 2), whole) else SAME

    found.counts["runs to the end"] += 1
    if status := ended(forked(work)):
        found.fault("wrong end", f"{name}: status {status}")
    if left := [path.name for path in folder.rglob("*") if path.name not in ("at.npz", "state")]:
        found.fault("files left", f"{name}: {left}")


def start_together(work: Callable[[], int], kind: str, found: Found) -> list[int]:
    """The statuses of some children that start at the same moment."""
    at = time.monotonic() + 0.05

    def wait_and_work() -> int:
        while time.monotonic() < at:
            pass
        return work()

    statuses = [ended(pid) for pid in [forked(wait_and_work) for _ in range(AT_ONCE)]]
    for status in statuses:
        found.counts[f"{kind}: {WORDS.get(status, f'status {status}')}"] += 1
        if status not in (SAME, IN_USE):
            found.fault("wrong start", f"{kind}: {WORDS.get(status, status)}")
    return statuses


def start_on_state(way: Way, folder: Path, found: Found, whole: Solution) -> None:
    """Many starts on one ``state_dir``, some of them while one has it."""

    def work() -> int:
        try:
            solution = way.solve(whole.iterations, state_dir=folder / "state")
        except BlockingIOError:
            return IN_USE
        return OTHER if difference(solution, whole) else SAME

    if SAME not in start_together(work, "state_dir", found):
        found.fault("wrong start", "state_dir: none has it")
    if left := [path.name for path in (folder / "state").iterdir()]:
        found.fault("files left", f"state_dir: {left}")


def start_on_checkpoint(way: Way, folder: Path, found: Found, whole: Solution) -> None:
    """Many starts that write one checkpoint file, the last of which may be of any of them."""
    path = folder / "at.npz"

    def work() -> int:
        solution = way.solve(whole.iterations, checkpoint=path, checkpoint_iterations=7)
        return OTHER if difference(solution, whole) else SAME

    if any(start_together(work, "checkpoint", found)):
        found.fault("wrong start", "checkpoint: not all have the same bits")
    solution = way.load(folder)
    if wrong := difference(solution, way.solve(solution.iterations)):
        found.fault("other bits", f"checkpoint: {wrong} after {solution.iterations} iterations")
    if left := [left.name for left in folder.iterdir() if left.suffix == ".tmp"]:
        found.fault("files left", f"checkpoint: {left}")


def double(values: np.ndarray) -> float:
    """A kernel."""
    total = 0.0
    for value in values:
        total += 2.0 * value
    return total


def start_on_cache(folder: Path, found: Found) -> None:
    """Many starts on one kernel cache that is empty, and one more."""
    numba.config.CACHE_DIR = str(folder)

    def work() -> int:
        return SAME if jit.kernel(double)(np.array([1.0, 20.0])) == 42.0 else OTHER

    start_together(work, "kernel cache", found)
    if ended(forked(work)) or not list(folder.rglob("*.nbc")):
        found.fault("wrong start", "kernel cache: the next child")


def main(words: list[str] | None = None) -> int:
    """Kill and start, look, and say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--starts", type=int, default=1000, help="on each of the three")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop killing then")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args(words)
    found, rng, begun = Found(), Random(asked.seed), time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        for way in WAYS.values():
            way.go_on(Path(tempfile.mkdtemp(dir=made)), 2)  # Loads the kernels.
        for number in range(asked.kills):
            if time.monotonic() - begun > asked.seconds:
                break
            name = list(WAYS)[number % len(WAYS)]
            kill(name, Path(made) / name, rng, found)
            found.counts["kills"] += 1
            found.counts[name] += 1
        way = WAYS["in chunks"]
        long, short = way.solve(3000), way.solve(60)
        for _ in range(0, asked.starts, AT_ONCE):
            start_on_state(way, Path(tempfile.mkdtemp(dir=made)), found, long)
            start_on_checkpoint(way, Path(tempfile.mkdtemp(dir=made)), found, short)
            start_on_cache(Path(tempfile.mkdtemp(dir=made)), found)
    print(", ".join(f"{count:,} {what}" for what, count in found.counts.items()))
    for fault in found.faults:
        print(fault)
    if asked.json:
        write(asked.json, figures(found, asked.seed))
    return int(bool(found.faults))


if __name__ == "__main__":
    sys.exit(main())
