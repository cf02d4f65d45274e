"""``kill -9`` over solves and sweeps on a cluster: nothing is lost, and the bits are the same.

``python -m scripts.cluster_kills [--kills 20] [--cells 1000] [--seed 0]`` starts a scheduler of
Dask distributed and two workers, processes of this machine, and looks at three things:

* a solve, of which random workers are killed at random moments, has the bits of a solve in one
  process;
* a solve whose scheduler is killed ends with an error, and its checkpoint file goes on to the same
  bits;
* a sweep, of which workers and the command itself are killed, ends with the rows of a sweep in one
  process: none is lost, none is there twice.

It ends with a line of figures, and with status 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from distributed import Client

from scripts.kill_tests import ROOT, Found, check_rows, figures, rows_of, write
from tensorcfr import Solution, compile_game, solve
from tensorcfr.errors import ClusterError
from tensorcfr.solvers.driver import Progress
from tensorcfr.sweep import sweep

GAME = "leduc"
CUT = 3
SWEEP = (["kuhn"], ["external_sampling"])
ITERATIONS = 50


class Cluster:
    """A scheduler and two workers that are replaced, in sessions of their own.

    Args:
        folder: Where they write what they have to say.
    """

    def __init__(self, folder: Path) -> None:
        self.file = str(folder / "scheduler.json")
        self._log = (folder / "cluster.log").open("ab")
        common = ["--scheduler-file", self.file, "--no-dashboard"]
        self._scheduler = self._start("scheduler", "--port", "0", *common)
        limits = ["--nworkers", "2", "--nthreads", "1", "--memory-limit", "0"]
        self._workers = self._start("worker", *limits, *common)
        while not Path(self.file).exists():
            time.sleep(0.1)
        with self.client() as client:
            client.wait_for_workers(2, timeout=60)

    def _start(self, kind: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words]
        return subprocess.Popen(
            command, cwd=ROOT, stdout=self._log, stderr=self._log, start_new_session=True
        )

    def client(self) -> Client:
        """A client."""
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

    def close(self) -> None:
        """End all that is left."""
        for process in (self._workers, self._scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._log.close()


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster that ends with the block."""
    with tempfile.TemporaryDirectory() as name:
        found = Cluster(Path(name))
        try:
            yield found
        finally:
            found.close()


@contextmanager
def killer(work: Callable[[], None], pause: Callable[[], float]) -> Iterator[Callable[[], int]]:
    """Do something again and again during a block; yields how often it was done."""
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
    """A solve goes on until so many of its workers have been killed, in mid-iteration."""
    game = compile_game(GAME, cut=CUT)
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

    with cluster() as own:
        with killer(kill, lambda: rng.uniform(0.5, 3.0)):
            solution = solve(
                game, "cfr+", iters=10**9, checkpoints=100, cluster=own.file, progress=enough
            )
        found.counts["workers killed"] += killed
    found.counts["iterations"] += solution.iterations
    expected = solve(game, "cfr+", iters=solution.iterations, checkpoints=100)
    _compare("solve with kills", solution, expected, found)
    told, curve = ([(p.iteration, p.nash_conv) for p in s.trace] for s in (solution, expected))
    if told != curve:
        found.fault("other checkpoints", "of the solve with kills")


def kill_scheduler(rng: Random, found: Found) -> None:
    """The error names the scheduler; what it has and what is in the file are whole."""
    game = compile_game(GAME, cut=CUT)
    begins = threading.Event()
    with tempfile.TemporaryDirectory() as name, cluster() as own:
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
    _compare("checkpoint", goes_on, solve(game, "cfr+", iters=goes_on.iterations), found)


def kill_sweep(cells: int, rng: Random, found: Found) -> None:
    """Workers are killed, and the command, which is started again."""
    with tempfile.TemporaryDirectory() as name, cluster() as own:
        path, seen = Path(name) / "t.csv", Path(name) / "seen.csv"
        words = ["sweep", str(path), "-g", "kuhn", "-a", "external_sampling"]
        words += ["--seeds", str(cells), "--iters", str(ITERATIONS), "--cluster", own.file]
        with killer(lambda: own.kill_worker(rng), lambda: rng.uniform(6.0, 12.0)) as done:
            while True:
                process = subprocess.Popen(
                    [sys.executable, "-m", "tensorcfr", *words],
                    cwd=ROOT,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                )
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


def _compare(what: str, solution: Solution, expected: Solution, found: Found) -> None:
    for name, array in expected.state._asdict().items():
        if getattr(solution.state, name).tobytes() != array.tobytes():
            found.fault("other bits", f"{name} of the {what}")
    if solution.evaluation != expected.evaluation:
        found.fault("other values", f"of the {what}")


def main(words: list[str] | None = None) -> int:
    """Kill, look, and say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of workers")
    parser.add_argument("--schedulers", type=int, default=1, help="kills of schedulers")
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="put the figures into this file, too")
    asked = parser.parse_args(words)
    found, rng = Found(), Random(asked.seed)
    if asked.kills:
        kill_workers(asked.kills, rng, found)
        for _ in range(asked.schedulers):
            kill_scheduler(rng, found)
    if asked.cells:
        kill_sweep(asked.cells, rng, found)
    print(", ".join(f"{count:,} {what}" for what, count in found.counts.items()), flush=True)
    for fault in found.faults:
        print(fault)
    if asked.json:
        write(asked.json, {"cluster": figures(found, asked.seed)})
    return int(bool(found.faults))


if __name__ == "__main__":
    sys.exit(main())
