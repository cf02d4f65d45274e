"""``kill -9`` at random moments: no file is damaged, no row lost, no process left, the same bits.

    python -m scripts.kills commands [--kills 1000]     the command line: saves, sweeps, solves
    python -m scripts.kills iterating [--kills 1000]    solves in forks, and many starts at once
    python -m scripts.kills cluster [--kills 20]        a solve and a sweep on a cluster of Dask

* **commands** starts a command in a session of its own, and kills its first process.  A file under
  its own name can be read, and holds the content before or after.  Five seconds later no process of
  the session is alive, except workers that are still importing.  Each row of a sweep that was seen
  before the kill is there, once.  A solve that goes on from its last checkpoint has the bits of one
  without a break.  The next run that ends by itself leaves no temporary file.
* **iterating** loads games and kernels once and forks, so that most kills fall into an iteration
  or a checkpoint.  Every way in which a solver keeps its arrays has its turn.  A child goes on from
  the checkpoint file of the one before.  The file must load, and have the bits of a solve without a
  break.  A child that ends by itself leaves nothing behind.  Then eight children start at once,
  ``--starts`` in all.  On one ``state_dir``, at least one child has it; the others get the error
  that it is in use.  On one checkpoint file, every child gives the bits of a solve in memory, and
  the file those of its iteration.  On one empty kernel cache, every child compiles or loads the
  kernel, and its sum is right; so does the next child.  For systems that can fork.
* **cluster** kills workers of a solve, whose bits stay those of one process.  It kills schedulers:
  the error names the scheduler, and a solve from the checkpoint file has the same bits.  It kills
  workers and the command of a sweep of ``--cells`` cells, whose rows stay those of one process.

Each ends with a line of counts, and with status 1 if there is a fault; ``--json`` keeps the counts.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any

import numba
import numpy as np

from tensorcfr import Solution, compile_game, solve
from tensorcfr._util import jit
from tensorcfr.algorithms import CFR_D
from tensorcfr.errors import ClusterError
from tensorcfr.solvers.loop import Progress
from tensorcfr.sweep import SweepRow, read_sweep, sweep

from ._pages import ROOT, arguments, origin, read_json, report, write_json


@dataclass
class Found:
    """Counts of kills and of all that follows, and the faults."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, kind: str, said: object) -> None:
        """Record a fault."""
        self.counts[kind] += 1
        self.faults.append(f"{kind}: {said}")

    def left(self, name: str, folder: Path, *kept: str) -> None:
        """Record a fault if a folder has other files than expected."""
        if left := [path.name for path in folder.rglob("*") if path.name not in kept]:
            self.fault("files left", f"{name}: {left}")

    def other_bits(self, name: str, solution: Solution, expected: Solution) -> None:
        """Record a fault if two solutions differ."""
        if wrong := difference(solution, expected):
            self.fault("other bits", f"{name}: {wrong} after {solution.iterations} iterations")


def difference(one: Solution, other: Solution) -> str:
    """Return where two solutions have other bits, or an empty text."""
    for name, array in other.state._asdict().items():
        if np.asarray(getattr(one.state, name)).tobytes() != np.asarray(array).tobytes():
            return name
    return "" if one.iterations == other.iterations else "iterations"


def command(*words: str) -> list[str]:
    """Return the words of a command of this library."""
    return [sys.executable, "-m", "tensorcfr", *words]


def rows_of(path: Path, found: Found) -> list[SweepRow]:
    """Return the rows of a table that may not be there yet; a damaged one is a fault."""
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
    """Check that no row is there twice, and that no row of a finished cell is lost."""
    keys = Counter((*row.key, row.iteration) for row in after)
    if twice := [key for key, count in keys.items() if count > 1]:
        found.fault("rows doubled", twice[:3])
    finished = {row.key for row in before if row.ends_cell}
    kept = set(after)
    if lost := [row for row in before if row.key in finished and row not in kept]:
        found.fault("rows lost", f"{len(lost)}, {lost[0]}")


# ------------------------------------------------------------------------------------- commands

GRACE = 5.0
"""Seconds after which nothing of a killed command may be alive."""
IMPORTING = 1.5
"""Processor seconds of a worker that may still be importing the library.  It ends after the import,
which takes long on a busy machine."""
STARTED = 1.2
"""Seconds that a command takes to be imported; kills come from here on, most of them."""
SAVING = """
import sys
from tensorcfr import compile_game, solve
solution = solve(compile_game("leduc"), iters=3)
print("begun", flush=True)
while True:
    solution.save(sys.argv[1])
"""
"""Program that saves without end, so that most kills fall into a save."""


def kill_save(folder: Path, rng: Random, found: Found) -> None:
    """Kill a process that saves one file again and again."""
    path = folder / "s.npz"
    process = start([sys.executable, "-c", SAVING, str(path)])
    assert process.stdout is not None
    process.stdout.readline()
    kill_session(process, rng.uniform(0.0, 0.3), found)
    check_solution(path, found, must_exist=False)
    if rng.random() < 0.2:
        run_to_end(["solve", "kuhn", "--iters", "5", "--save", str(path), "--force"], folder, found)


def kill_solve(folder: Path, rng: Random, found: Found) -> None:
    """Kill ``tensorcfr solve --save`` over a file that is there already."""
    path = folder / "s.npz"
    words = ["solve", "leduc", "--time-limit", "0.05", "--save", str(path), "--force"]
    if not path.exists():
        run_to_end(words, folder, found)
    kill_session(start(command(*words)), rng.uniform(0.0, 2.0) * STARTED, found)
    check_solution(path, found, must_exist=True)
    if rng.random() < 0.2:
        run_to_end(words, folder, found)


def kill_sweep(folder: Path, rng: Random, found: Found, processes: int) -> None:
    """Kill ``tensorcfr sweep`` a few times; then it goes on to its end."""
    path = folder / "t.csv"
    words = ["sweep", str(path), "-g", "kuhn", "-g", "leduc", "-a", "cfr", "-a", "cfr+"]
    words += ["-a", "external_sampling", "--seeds", "2", "--iters", "20000"]
    words += ["--processes", str(processes)]
    before = rows_of(path, found)
    moment = (0.8 + rng.uniform(0.0, 2.5) * processes) * STARTED
    kill_session(start(command(*words)), moment, found)
    after = rows_of(path, found)
    check_rows(before, after, found)
    if rng.random() < 0.15:
        run_to_end(words, folder, found)
        rows = rows_of(path, found)
        check_rows(after, rows, found)
        if (ended_cells := sum(row.ends_cell for row in rows)) != 8:
            found.fault("cells missing", f"{ended_cells} of 8 in {path}")
        shutil.rmtree(folder)


def kill_checkpoints(folder: Path, rng: Random, found: Found, *, files: bool) -> None:
    """Kill ``tensorcfr solve --checkpoint`` of a game in chunks, with its state in memory or in
    files; each solve continues the last one that was killed."""
    path = folder / "at.npz"
    begin = ["leduc", "--cut", "3", "--algorithm", "cfr"]
    words = ["solve", *(["--resume", str(path)] if path.exists() else begin), "--time-limit", "9"]
    words += ["--checkpoint", str(path), "--checkpoint-every", "0", "--force"]
    if files:
        words += ["--state-dir", str(folder / "state")]
    before = path.stat().st_mtime_ns if path.exists() else 0
    process, began = start(command(*words)), time.monotonic()
    # From the first file that it writes, so that kills meet iterations and writing.
    while time.monotonic() - began < 60 and process.poll() is None:
        if path.exists() and path.stat().st_mtime_ns != before:
            break
        time.sleep(0.005)
    kill_session(process, rng.uniform(0.0, 0.5), found)
    if not path.exists() and not before:
        found.counts["killed before the first file"] += 1
        return
    check_solution(path, found, must_exist=True)
    solution = Solution.load(path)
    whole = solve(compile_game("leduc", cut=3), "cfr", iters=solution.iterations)
    found.other_bits(str(path), solution, whole)
    found.counts["checkpoints compared"] += 1
    if rng.random() < 0.3:
        shutil.rmtree(folder)


COMMANDS: dict[str, Callable[[Path, Random, Found], None]] = {
    "save": kill_save,
    "solve": kill_solve,
    "sweep in 1 process": partial(kill_sweep, processes=1),
    "sweep in 2 processes": partial(kill_sweep, processes=2),
    "checkpoints": partial(kill_checkpoints, files=False),
    "checkpoints of a state in files": partial(kill_checkpoints, files=True),
}
"""Kills of the command line, in turn."""


def start(words: list[str], output: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own."""
    streams = {"stdout": output, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(words, cwd=ROOT, start_new_session=True, **streams)


def kill_session(process: subprocess.Popen[bytes], seconds: float, found: Found) -> None:
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
        found.fault("processes left", "; ".join(map(described, left)))
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def stat(pid: int) -> list[str]:
    """Return the fields of a process from its state on, as the system lists them; empty if it has
    ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def worked(pid: int) -> float:
    """Return the processor seconds of a process; 0 if it has ended."""
    return sum(map(int, stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def described(pid: int) -> str:
    """Return processor time, threads and arguments of a process."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
        return f"{pid}, {worked(pid):.1f} s of work, {stat(pid)[17]} threads: {words}"
    except (OSError, IndexError):
        return f"{pid}, which has ended now"


def alive(session: int) -> list[int]:
    """Return the processes of a session that have not ended."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    fields = {pid: stat(pid) for pid in pids}
    return [pid for pid, own in fields.items() if own and own[3] == str(session) and own[0] != "Z"]


def run_to_end(words: list[str], folder: Path, found: Found) -> None:
    """Run a command that ends by itself, and leaves no temporary file of itself or of those
    before."""
    done = subprocess.run(command(*words), cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        found.fault("next run fails", done.stderr[:300])
    found.counts["runs to the end"] += 1
    for path in [path for path in folder.iterdir() if path.suffix == ".tmp"]:
        found.fault("temporary files left", f"{path} after {words}: {done.stdout[-300:]}")
        path.unlink()


def check_solution(path: Path, found: Found, *, must_exist: bool) -> None:
    """Check that a file is there and holds the solution of one of the games."""
    if not path.exists():
        if must_exist:
            found.fault("files lost", path)
        return
    try:
        solution = Solution.load(path)
    except Exception as error:
        found.fault("damaged files", f"{type(error).__name__}: {error}")
        path.unlink()
        return
    if solution.game.name not in ("leduc", "kuhn"):
        found.fault("damaged files", f"{path} holds {solution.game.name}")


# ------------------------------------------------------------------------------------ iterating

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
    """A way to solve, and to keep the solution."""

    source: str
    algorithm: Any = "cfr+"
    compiled: dict[str, Any] | None = field(default_factory=dict)
    """Options of ``compile_game``; None for rules that are solved as they are."""
    files: bool = False
    """True if the arrays are in ``state_dir``."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of ``solve``."""

    @cached_property
    def game(self) -> Any:
        """The game, or its name."""
        return self.source if self.compiled is None else compile_game(self.source, **self.compiled)

    def solve(self, iters: int, **more: Any) -> Solution:
        """Solve from the start."""
        return solve(self.game, self.algorithm, iters=iters, checkpoints=(), **self.options, **more)

    def go_on(self, folder: Path, iters: int, **more: Any) -> Solution:
        """Solve from the checkpoint file of a folder, or from the start."""
        path = folder / "at.npz"
        more["checkpoint"] = path
        if self.files:
            more["state_dir"] = folder / "state"
        if not path.exists():
            return self.solve(iters, **more)
        start = self.load(folder, state_dir=more.get("state_dir"))
        return solve(start.game, start=start, iters=iters, checkpoints=(), **more)

    def load(self, folder: Path, **more: Any) -> Solution:
        """Load the checkpoint file."""
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
"""Ways to solve that are killed, in turn."""


def forked(work: Callable[[], int]) -> int:
    """Fork a child that exits with the status that a function returns; return its number."""
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
    """Return the exit status of a child, or minus the number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_iterating(folder: Path, rng: Random, found: Found, name: str) -> None:
    """Kill a child that continues a solve, and check the files that it leaves."""
    way, apart = WAYS[name], rng.choice((1, 10, 100))
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
    found.other_bits(name, solution, way.solve(solution.iterations))
    if rng.random() < 0.2:
        end(name, folder, found)
        shutil.rmtree(folder)


def end(name: str, folder: Path, found: Found) -> None:
    """Wait until a child ends by itself; it leaves a checkpoint file and nothing else."""
    way = WAYS[name]
    whole = way.solve(way.load(folder).iterations + 2)

    def work() -> int:
        return OTHER if difference(way.go_on(folder, 2), whole) else SAME

    found.counts["runs to the end"] += 1
    if status := ended(forked(work)):
        found.fault("wrong end", f"{name}: status {status}")
    found.left(name, folder, "at.npz", "state")


def start_together(work: Callable[[], int], kind: str, found: Found) -> list[int]:
    """Start some children at the same moment; return their statuses."""
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
    """Start many on one ``state_dir``, some of them while one has it."""

    def work() -> int:
        try:
            solution = way.solve(whole.iterations, state_dir=folder / "state")
        except BlockingIOError:
            return IN_USE
        return OTHER if difference(solution, whole) else SAME

    if SAME not in start_together(work, "state_dir", found):
        found.fault("wrong start", "state_dir: none has it")
    found.left("state_dir", folder / "state")


def start_on_checkpoint(way: Way, folder: Path, found: Found, whole: Solution) -> None:
    """Start many that write one checkpoint file, the last of which may be of any of them."""
    path = folder / "at.npz"

    def work() -> int:
        solution = way.solve(whole.iterations, checkpoint=path, checkpoint_iterations=7)
        return OTHER if difference(solution, whole) else SAME

    if any(start_together(work, "checkpoint", found)):
        found.fault("wrong start", "checkpoint: not all have the same bits")
    solution = way.load(folder)
    found.other_bits("checkpoint", solution, way.solve(solution.iterations))
    found.left("checkpoint", folder, "at.npz")


def double(values: np.ndarray) -> float:
    """Return twice the sum of an array, as a kernel."""
    total = 0.0
    for value in values:
        total += 2.0 * value
    return total


def start_on_cache(folder: Path, found: Found) -> None:
    """Start many on one kernel cache that is empty, and one more."""
    numba.config.CACHE_DIR = str(folder)

    def work() -> int:
        return SAME if jit.kernel(double)(np.array([1.0, 20.0])) == 42.0 else OTHER

    start_together(work, "kernel cache", found)
    if ended(forked(work)) or not list(folder.rglob("*.nbc")):
        found.fault("wrong start", "kernel cache: the next child")


# --------------------------------------------------------------------------------------- cluster

SWEEP = (["kuhn"], ["external_sampling"])
ITERATIONS = 50


class Cluster:
    """A scheduler and two workers that are replaced, in sessions of their own, within a block."""

    def __enter__(self) -> Cluster:
        self._folder = tempfile.TemporaryDirectory()
        self.file = f"{self._folder.name}/scheduler.json"
        common = ["--scheduler-file", self.file, "--no-dashboard"]
        self._scheduler = self._start("scheduler", "--port", "0", *common)
        limits = ["--nworkers", "2", "--nthreads", "1", "--memory-limit", "0"]
        self._workers = self._start("worker", *limits, *common)
        while not Path(self.file).exists():
            time.sleep(0.1)
        with self.client() as client:
            client.wait_for_workers(2, timeout=60)
        return self

    def _start(self, kind: str, *words: str) -> subprocess.Popen[bytes]:
        return start(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words], subprocess.DEVNULL
        )

    def client(self) -> Any:
        """Make a client."""
        from distributed import Client

        return Client(scheduler_file=self.file, set_as_default=False, timeout=30)

    def kill_worker(self, rng: Random) -> None:
        """Kill one of the workers, if there are any."""
        with self.client() as client:
            pids = sorted(client.run(os.getpid).values())
        if pids:
            os.kill(rng.choice(pids), signal.SIGKILL)

    def kill_scheduler(self) -> None:
        """Kill the scheduler."""
        os.kill(self._scheduler.pid, signal.SIGKILL)

    def __exit__(self, *_: object) -> None:
        for process in (self._workers, self._scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._folder.cleanup()


@contextmanager
def killer(work: Callable[[], None], pause: Callable[[], float]) -> Iterator[Callable[[], int]]:
    """Repeat a function during a block; yield a function that counts the repetitions."""
    done, over = 0, threading.Event()

    def kill() -> None:
        nonlocal done
        while not over.wait(pause()):
            work()
            done += 1

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield lambda: done
    finally:
        over.set()
        thread.join()


def kill_workers(kills: int, rng: Random, found: Found) -> None:
    """Kill a number of workers of a solve during an iteration."""
    game = compile_game("leduc", **CUT)
    at = killed_at = killed = 0

    def kill() -> None:
        nonlocal killed_at, killed
        if at > killed_at:  # The solve is at work again.
            killed_at, killed = at, killed + 1
            own.kill_worker(rng)

    def enough(progress: Progress) -> bool:
        nonlocal at
        at = progress.iteration
        return killed >= kills

    with Cluster() as own:
        with killer(kill, lambda: rng.uniform(0.5, 3.0)):
            solution = solve(
                game, "cfr+", iters=10**9, checkpoints=100, cluster=own.file, progress=enough
            )
        found.counts["workers killed"] += killed
    found.counts["iterations"] += solution.iterations
    expected = solve(game, "cfr+", iters=solution.iterations, checkpoints=100)
    compare("solve with kills", solution, expected, found)
    told, curve = ([(p.iteration, p.nash_conv) for p in s.trace] for s in (solution, expected))
    if told != curve:
        found.fault("other checkpoints", "of the solve with kills")


def kill_scheduler(rng: Random, found: Found) -> None:
    """Kill the scheduler of a solve; the error names it, and the checkpoint file is whole."""
    game = compile_game("leduc", **CUT)
    begins = threading.Event()
    with tempfile.TemporaryDirectory() as name, Cluster() as own:
        path = Path(name) / "at.npz"

        def kill() -> None:
            if begins.is_set():
                own.kill_scheduler()

        def begin(progress: Progress) -> None:
            begins.set()

        with killer(kill, lambda: rng.uniform(4.0, 8.0)):
            try:
                solve(game, "cfr+", iters=10**9, cluster=own.file, checkpoint=path, progress=begin)
            except ClusterError as error:
                found.counts["schedulers killed"] += 1
                if "the scheduler at" not in str(error):
                    found.fault("unclear error", str(error))
        begun = Solution.load(path, game=game)
    found.counts["iterations of the checkpoint"] += begun.iterations
    goes_on = solve(game, start=begun, iters=100)
    compare("checkpoint", goes_on, solve(game, "cfr+", iters=goes_on.iterations), found)


def compare(name: str, solution: Solution, expected: Solution, found: Found) -> None:
    """Record a fault if two solutions differ in bits or values."""
    found.other_bits(name, solution, expected)
    if solution.evaluation != expected.evaluation:
        found.fault("other values", f"of the {name}")


def kill_sweep_on_cluster(cells: int, rng: Random, found: Found) -> None:
    """Kill workers of a sweep, and the command, which is started again."""
    with tempfile.TemporaryDirectory() as name, Cluster() as own:
        path, seen = Path(name) / "t.csv", Path(name) / "seen.csv"
        words = ["sweep", str(path), "-g", "kuhn", "-a", "external_sampling"]
        words += ["--seeds", str(cells), "--iters", str(ITERATIONS), "--cluster", own.file]
        with killer(lambda: own.kill_worker(rng), lambda: rng.uniform(6.0, 12.0)) as done:
            while True:
                streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
                process = subprocess.Popen(command(*words), cwd=ROOT, **streams)
                try:
                    said = process.communicate(timeout=rng.uniform(15.0, 40.0))[1]
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    found.counts["sweeps killed"] += 1
                else:
                    if process.returncode == 0:
                        break
                    found.fault("sweep failed", said.decode()[-300:])
                    if found.counts["sweep failed"] > 3:
                        break
                if path.exists():
                    before = rows_of(seen, found)
                    check_rows(before, rows_of(path, found), found)
                    shutil.copy(path, seen)
        found.counts["workers of sweeps killed"] += done()
        rows = rows_of(path, found)
        check_rows(rows_of(seen, found), rows, found)
        here = sweep(Path(name) / "here.csv", *SWEEP, seeds=range(cells), iters=ITERATIONS)
    found.counts["cells"] += sum(row.ends_cell for row in rows)
    told, expected = (
        [(r.key, r.iteration, r.nash_conv, r.status) for r in s] for s in (rows, here)
    )
    if told != expected:
        found.fault("other rows", f"{len(told)}, not {len(expected)}")


# ----------------------------------------------------------------------------------------- main


def in_turn(
    kinds: dict[str, Callable[[Path, Random, Found], None]],
    folder: Path,
    rng: Random,
    found: Found,
    given: Any,
) -> None:
    """Kill processes of each kind in turn, each with a folder of its own."""
    begun = time.monotonic()
    for number in range(given.kills):
        if time.monotonic() - begun > given.seconds:
            break
        kind = list(kinds)[number % len(kinds)]
        (folder / kind).mkdir(exist_ok=True)
        kinds[kind](folder / kind, rng, found)
        found.counts["kills"] += 1
        found.counts[kind] += 1


def kill_commands(folder: Path, rng: Random, found: Found, given: Any) -> None:
    """Kill the command line."""
    kinds = {kind: kill for kind, kill in COMMANDS.items() if given.only in kind}
    in_turn(kinds, folder, rng, found, given)


def kill_solves(folder: Path, rng: Random, found: Found, given: Any) -> None:
    """Kill solves that iterate, and start many at once."""
    kinds = {name: partial(kill_iterating, name=name) for name in WAYS if given.only in name}
    for name in kinds:
        WAYS[name].go_on(Path(tempfile.mkdtemp(dir=folder)), 2)  # Loads the kernels.
    in_turn(kinds, folder, rng, found, given)
    way = WAYS["in chunks"]
    long, short = way.solve(3000), way.solve(60)
    for _ in range(0, given.starts, AT_ONCE):
        start_on_state(way, Path(tempfile.mkdtemp(dir=folder)), found, long)
        start_on_checkpoint(way, Path(tempfile.mkdtemp(dir=folder)), found, short)
        start_on_cache(Path(tempfile.mkdtemp(dir=folder)), found)


def kill_cluster(folder: Path, rng: Random, found: Found, given: Any) -> None:
    """Kill workers and schedulers of a cluster, and the command."""
    if given.kills:
        kill_workers(given.kills, rng, found)
    for _ in range(given.schedulers):
        kill_scheduler(rng, found)
    if given.cells:
        kill_sweep_on_cluster(given.cells, rng, found)


PARTS = {
    "commands": (kill_commands, 1000),
    "iterating": (kill_solves, 1000),
    "cluster": (kill_cluster, 20),
}
"""Parts of the program, and how many kills of each are usual."""


def main(words: list[str] | None = None) -> int:
    """Kill, compare, and report."""
    parser = arguments(__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop killing then")
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    parser.add_argument("--starts", type=int, default=1000, help="on each of the three")
    parser.add_argument("--schedulers", type=int, default=1, help="kills of schedulers")
    parser.add_argument("--cells", type=int, default=1000, help="of the sweep on a cluster")
    parser.add_argument("--json", type=Path, help="keep the counts in this file")
    given = parser.parse_args(words)
    kill, usual = PARTS[given.part]
    given.kills = usual if given.kills is None else given.kills
    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        kill(Path(folder), Random(given.seed), found, given)
    said = {"seed": given.seed, "counts": found.counts, "faults": found.faults}
    if given.json:
        write_json(given.json, read_json(given.json) | {given.part: origin() | said})
    return report(found.counts, found.faults)


if __name__ == "__main__":
    sys.exit(main())
