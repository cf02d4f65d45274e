"""Show that the tests catch plausible wrong programs.

Each entry of ``tests/wrong_programs/*.toml`` is a small patch that somebody might write by mistake:
a discount off by one, a lane missed at the tail of a loop, a resume that forgets its trace.  It
names the test that catches it, a test that ``.ci/run`` runs at every landing.  The script copies
the working tree, applies one patch at a time, and runs that test, which must fail.

    python -m scripts.wrong_programs                    # all of them
    python -m scripts.wrong_programs --only kernels     # those whose file or name contains a word
    python -m scripts.wrong_programs --slice 3/20       # every 20th, beginning with the third
    python -m scripts.wrong_programs --check            # only whether every patch still applies

The fields of an entry:

    name, why   the error, and the mistake that leads there
    file        the changed file, below tensorcfr/; tests of the full tier catch errors in Rust
    old, new    text that occurs in the file exactly once, and its replacement
    caught_by   the test, below tests/, with its parameters or without
    as_python   true where the test runs with kernels as Python; else they are compiled
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "wrong_programs"
PACKAGE = "tensorcfr"
SECONDS = 1200
"""Processor time of one run of tests; a program that never ends is caught, too."""


@dataclass(frozen=True)
class WrongProgram:
    """A patch, its error, and the test that catches it."""

    name: str
    file: str
    old: str
    new: str
    why: str
    caught_by: str
    as_python: bool = False

    @property
    def is_kernel(self) -> bool:
        """True if compiled code of other files may contain it."""
        return self.file.startswith(("kernels/", "payoff/"))

    @property
    def tier(self) -> str:
        """Tier of the test that catches it."""
        return "full" if self.file.endswith(".rs") else "fast"

    def applied_to(self, text: str) -> str:
        """Return the text with the patch.

        Raises:
            ValueError: The patch does not fit the text (any more).
        """
        if (found := text.count(self.old)) != 1:
            raise ValueError(
                f"{self.name!r} no longer applies: {PACKAGE}/{self.file} has its old text "
                f"{found} times, not once; write the patch anew in {PROGRAMS.relative_to(ROOT)}"
            )
        patched = text.replace(self.old, self.new)
        if not self.file.endswith(".py"):
            return patched
        try:
            compile(patched, self.file, "exec")
        except SyntaxError as error:
            raise ValueError(f"{self.name!r} is not Python once applied: {error}") from error
        return patched


@dataclass(frozen=True)
class Outcome:
    """Results of the tests on a wrong program."""

    name: str
    file: str
    caught_by: str
    """The test that failed; empty if none did."""
    seconds: float


def read_programs(folder: Path = PROGRAMS) -> list[WrongProgram]:
    """Return all wrong programs of the folder, file by file."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        entries = tomllib.loads(path.read_text("utf-8"))["program"]
        found += [WrongProgram(**entry) for entry in entries]
    return found


def faults(programs: Sequence[WrongProgram], root: Path = ROOT) -> list[str]:
    """Return patches that cannot be applied, and names given twice."""
    found = []
    names = [program.name for program in programs]
    found += [
        f"two wrong programs are called {name!r}" for name in set(names) if names.count(name) > 1
    ]
    for program in programs:
        path = root / PACKAGE / program.file
        if not path.exists():
            found.append(
                f"{program.name!r} no longer applies: there is no {PACKAGE}/{program.file}"
            )
            continue
        try:
            program.applied_to(path.read_text("utf-8"))
        except ValueError as error:
            found.append(str(error))
        test = program.caught_by.partition("::")[0]
        if not (root / "tests" / test).exists():
            found.append(f"{program.name!r} names a test that does not exist: {program.caught_by}")
    return found


def copy_tree(target: Path) -> None:
    """Copy the files of git's working tree, changes included, and the compiled kernels."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for compiled in (ROOT / PACKAGE).rglob("__pycache__/*.nb?"):
        place = target / compiled.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(compiled, place)


def _prepare() -> None:
    """Limit the processor time of a process and its children, because wall time depends on other
    programs.  Background jobs of a shell do not get Ctrl-C; this process does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 10))


class Bench:
    """A copy of the tree in which one program after the other is tried.

    Args:
        tree: Where the copy goes.
    """

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        copy_tree(tree)
        self._passing: dict[tuple[str, bool], bool] = {}

    def run(self, program: WrongProgram, test: str, cache: Path | None = None) -> str:
        """Run a test in the tier of a program; returns the part that fails, "skipped" if another
        program is missing, or "" if all pass."""
        environment = {**os.environ, "CI": "true", "PYTHONPATH": str(self.tree)}
        if cache:
            environment["NUMBA_CACHE_DIR"] = str(cache)
        if program.as_python:
            environment["NUMBA_DISABLE_JIT"] = "1"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--no-header", "--tb=no"]
        command += ["-p", "no:cacheprovider", "--hypothesis-profile=verdict"]
        command += ["-m", f"{program.tier} and as_python" if program.as_python else program.tier]
        process = subprocess.Popen(
            [*command, f"tests/{test}"],
            cwd=self.tree,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=_prepare,
        )
        output, _ = process.communicate()
        if process.returncode == -signal.SIGXCPU:
            return f"no end within {SECONDS} s"
        if process.returncode in (0, 5):  # All pass, or none is of the tier.
            return "skipped" if re.search(r"^\d+ skipped", output, re.MULTILINE) else ""
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
        if failed:
            return failed[1].removeprefix("tests/")
        if process.returncode < 0:
            return f"the tests crashed with signal {-process.returncode}"
        raise RuntimeError(f"pytest ended with {process.returncode}:\n{output[-2000:]}")

    def passes(self, program: WrongProgram, test: str) -> bool:
        """Return whether a test passes without a patch; one that always fails catches nothing."""
        if (test, program.as_python) not in self._passing:
            self._passing[test, program.as_python] = not self.run(program, test)
        return self._passing[test, program.as_python]

    def try_out(self, program: WrongProgram) -> Outcome:
        """Apply a wrong program, run its test, take it back."""
        path = self.tree / PACKAGE / program.file
        original = path.read_text("utf-8")
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as fresh:
            path.write_text(program.applied_to(original), "utf-8")
            try:
                # Other files' compiled code has kernels inlined, and numba does not see that.
                cache = Path(fresh) if program.is_kernel else None
                by = self.run(program, program.caught_by, cache)
            finally:
                path.write_text(original, "utf-8")
        if ".py" in by and not self.passes(program, by):
            by = ""
        return Outcome(program.name, program.file, by, round(time.perf_counter() - began, 1))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only check that all patches apply")
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="those whose file or name contains a word"
    )
    parser.add_argument("--slice", metavar="K/N", help="every N-th, beginning with the K-th")
    parser.add_argument("--jobs", type=int, default=1, help="wrong programs tried at a time")
    parser.add_argument("--json", type=Path, help="write the outcomes here")
    arguments = parser.parse_args()
    programs = read_programs()
    if arguments.only:
        programs = [
            one
            for one in programs
            if any(word in f"{PACKAGE}/{one.file} {one.name}" for word in arguments.only)
        ]
    if arguments.slice:
        at, count = map(int, arguments.slice.split("/"))
        programs = programs[at % count :: count]
    if broken := faults(programs):
        print("\n".join(broken), file=sys.stderr)
        return 1
    if arguments.check:
        print(f"all {len(programs)} patches apply")
        return 0
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        benches: SimpleQueue[Bench] = SimpleQueue()
        for number in range(arguments.jobs):
            benches.put(Bench(Path(home, str(number))))

        def try_out(program: WrongProgram) -> Outcome:
            bench = benches.get()
            try:
                outcome = bench.try_out(program)
            finally:
                benches.put(bench)
            by = outcome.caught_by or "NOT CAUGHT"
            print(f"{outcome.seconds:6.1f} s  {outcome.file}: {outcome.name}: {by}", flush=True)
            return outcome

        with ThreadPoolExecutor(arguments.jobs) as pool:
            outcomes = list(pool.map(try_out, programs))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")
    caught = sum(bool(outcome.caught_by) for outcome in outcomes)
    minutes = (time.perf_counter() - began) / 60
    print(f"{caught} of {len(outcomes)} wrong programs are caught, in {minutes:.1f} minutes")
    return 0 if caught == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
