"""Try damaged files, odd requests or odd lines of a protocol, and count the results.

    python -m scripts.fuzz files --inputs 1000000 --seed 1
    python -m scripts.fuzz requests --inputs 50000 --seed 1
    python -m scripts.fuzz lines --inputs 10000 --seed 1

* **files** damages files of every kind, and checks that no reader accepts wrong contents.
* **requests** makes up spots, names of games, options, locks and requests of the viewer.  It is
  fastest with ``NUMBA_DISABLE_JIT=1``.
* **lines** sends lines of PioSOLVER's protocol to a process.

An input is drawn by the seed, its kind and its number, so that every one can be made again
(``--show solution:1234``).  A defect is an error that is not documented, a wrong result, or an
input that takes more than five seconds of processor time.  Another one is a path that is
opened, or a package that is imported, though nothing may name it.  Inputs are tried in batches,
each in a process of its own, so that a crash or a hang is seen and the next input tried.  The exit
status is 1 if there was any defect.
"""

from __future__ import annotations

import argparse
import json
import math
import mmap
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ._fuzzing import HANG_SECONDS, HangError, Watch, hear_hangs
from ._pages import arguments, origin, read_json, write_json

MODULES = {"files": "_damaged_files", "requests": "_odd_requests", "lines": "_odd_lines"}
"""Module with the shares of the kinds, and with their inputs, by the word of the command line."""
LOST_SECONDS = 400.0
"""Seconds without a sign of life after which a batch is ended."""
BATCH = 5_000
"""Inputs per process."""
ROOM = 2 << 30
"""Bytes of addresses that a batch may take in addition to those it has before its inputs: who asks
for more gets a MemoryError, which is a defect of a reader."""


def module_of(what: str) -> Any:
    """Return a module of :data:`MODULES`; it imports much of the library."""
    return import_module(f".{MODULES[what]}", __package__)


def run_batch(what: str, kind: str, folder: Path, seed: int, numbers: range) -> dict[str, Any]:
    """Try some inputs in this process; the number of each is written to a file before.

    Returns:
        ``results``, counts by result; ``defects``, numbers of inputs with texts.
    """
    hear_hangs()
    warnings.simplefilter("ignore")
    inputs = module_of(what).Inputs(folder, seed, kind)
    results: Counter[str] = Counter()
    defects = []
    watch = Watch(folder)
    watch.know_packages()
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, resource.RLIM_INFINITY))
    with open(folder / f"place.{kind}", "r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        for number in numbers:
            progress[:] = (number + 1).to_bytes(8, "little")
            try:
                results[inputs.try_input(number, watch)] += 1
            except HangError:
                defects.append([number, f"took more than {HANG_SECONDS:g} s"])
            except Exception:
                defects.append([number, traceback.format_exc(limit=-4)])
    return {"results": results, "defects": defects}


@dataclass
class Report:
    """Results of the inputs of one kind."""

    results: Counter[str] = field(default_factory=Counter)
    defects: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, said: dict[str, Any]) -> None:
        """Add the results of a batch."""
        self.results.update(said["results"])
        self.defects += [(number, text) for number, text in said["defects"]]


def run_kind(
    given: argparse.Namespace, kind: str, numbers: range, deadline: float, *, bounds: bool
) -> Report:
    """Try inputs of one kind, batch by batch; with ``bounds``, kernels check theirs."""
    report = Report()
    environment = dict(os.environ)
    if bounds:
        # Kernels with and without these checks must not share a cache.
        environment["NUMBA_BOUNDSCHECK"] = "1"
        environment["NUMBA_CACHE_DIR"] = str(given.folder / "numba")
    place, first = given.folder / f"place.{kind}", numbers.start
    while first < numbers.stop and time.monotonic() < deadline:
        count = min(BATCH, numbers.stop - first)
        place.write_bytes(bytes(8))
        started = time.monotonic()
        if given.here:
            report.add(run_batch(given.what, kind, given.folder, given.seed, numbers))
            report.seconds = time.monotonic() - started
            return report
        words = f"{given.what} --batch {kind} {first} {first + count} --seed {given.seed}".split()
        words += ["--folder", str(given.folder)]
        child = subprocess.Popen(
            [sys.executable, "-m", "scripts.fuzz", *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        latest, changed = first, time.monotonic()
        while True:
            try:
                out, err = child.communicate(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                now = int.from_bytes(place.read_bytes(), "little")
                if now != latest:
                    latest, changed = now, time.monotonic()
                elif time.monotonic() - changed > LOST_SECONDS:
                    child.kill()
        report.seconds += time.monotonic() - started
        if child.returncode == 0:
            report.add(json.loads(out.splitlines()[-1]))
            first += count
        elif place.read_bytes() == bytes(8) and not child.returncode < 0:
            raise RuntimeError(f"the inputs cannot be prepared: {err[-2000:]}")
        else:
            number = max(first, int.from_bytes(place.read_bytes(), "little") - 1)
            report.defects.append((number, f"ended with {child.returncode}: {err[-500:]}"))
            # The results before it are lost, and tried again without it.
            report.results["tried again"] += number - first
            first = number + 1
    return report


NOTHING: dict[str, Any] = {"seeds": [], "inputs": 0, "seconds": 0, "results": {}, "defects": []}
"""Record of a kind that a file of results does not have yet."""


def run_kinds(given: argparse.Namespace, shares: dict[str, float]) -> int:
    """Try inputs of all kinds, each for its share of the time; print and keep the results, and
    return the number of defects."""
    deadline = time.monotonic() + 60 * given.minutes
    total, defects = 0, 0
    said: dict[str, Any] = {"kinds": {}} | read_json(given.json) | origin()
    today = said.pop("date")
    for number, (kind, share) in enumerate(shares.items()):
        left = sum(list(shares.values())[number:])
        end = time.monotonic() + (deadline - time.monotonic()) * share / left
        count = round(given.inputs * share / sum(shares.values()))
        numbers = range(given.first, given.first + count)
        bounds = given.what == "files" and not given.unchecked
        report = run_kind(given, kind, numbers, end, bounds=bounds)
        tried = sum(report.results.values()) + len(report.defects)
        total, defects = total + tried, defects + len(report.defects)
        print(f"{kind}: {tried:,} inputs, {tried / (report.seconds or 1.0):,.0f} a second")
        for result, count in sorted(report.results.items()):
            print(f"  {result}: {count:,}")
        for where, text in report.defects[:20]:
            print(f"  DEFECT {kind}:{where}\n    " + text.strip().replace("\n", "\n    "))
        before = said["kinds"].get(kind, NOTHING)
        results = report.results + Counter(before["results"])
        said["kinds"][kind] = {
            "seeds": [*before["seeds"], given.seed],
            "date": today,
            "inputs": tried + before["inputs"],
            "seconds": round(report.seconds) + before["seconds"],
            "results": dict(sorted(results.items())),
            "defects": [*before["defects"], *report.defects],
        }
        sys.stdout.flush()
        write_json(given.json, said)
    print(f"{total:,} inputs, {defects} defects, seed {given.seed}, {today}")
    return defects


def main() -> int:
    """Read the command line, and run."""
    parser = arguments(__doc__)
    parser.add_argument("what", choices=MODULES)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop then at the latest")
    parser.add_argument("--kinds", help="a list with commas; by default all")
    parser.add_argument("--show", metavar="KIND:NUMBER", help="try one input; print its result")
    parser.add_argument(
        "--unchecked", action="store_true", help="play with kernels that do not check their bounds"
    )
    parser.add_argument(
        "--here", action="store_true", help="in this process: quicker for few inputs; unchecked"
    )
    parser.add_argument("--json", type=Path, help="add the report to this file")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.batch:
        kind, first, stop = given.batch
        numbers = range(int(first), int(stop))
        print(json.dumps(run_batch(given.what, kind, given.folder, given.seed, numbers)))
        return 0
    module, given.first = module_of(given.what), 0
    if given.show:
        given.kinds, _, number = given.show.partition(":")
        given.first, given.inputs = int(number), 1
    kinds = given.kinds.split(",") if given.kinds else module.SHARES
    shares = {kind: module.SHARES[kind] for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        given.folder = Path(folder)
        module.prepare(given.folder, list(shares))
        return int(run_kinds(given, shares) > 0)


if __name__ == "__main__":
    sys.exit(main())
