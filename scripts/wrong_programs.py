"""Show that the tests catch plausible wrong programs.

Each entry of ``wrong_programs.toml`` is a small patch that somebody might write by mistake: a
discount off by one, a lane missed at the tail of a loop, a resume that forgets its trace.  The
script copies the working tree, applies one patch at a time, and runs the tests until one fails:
first those beside the patched file, then the whole suite of the CI.

    python scripts/wrong_programs.py                    # all of them
    python scripts/wrong_programs.py --only kernels     # those whose file or name contains a word
    python scripts/wrong_programs.py --check            # only whether every patch still applies

Tests run with the JIT off first where a patch is to a kernel, which saves compiling; compiled
kernels are never shared between patches of kernels.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).with_suffix(".toml")
PACKAGE = "tensorcfr"
BESIDE = {
    "kernels": ("kernels", "algorithms/test_local_rules.py"),
    "payoff": ("kernels", "compilers/test_public_trees.py"),
    "algorithms": ("algorithms", "sampling"),
    "compilers": ("compilers", "kernels", "evaluation"),
    "model": ("model", "compilers", "solvers"),
}
"""Test folders to begin with, by package; for others the folder of the same name."""
SECONDS = 1200
"""Processor time of one run of tests; a program that never ends is caught, too."""
SUITE = "not slow"
"""What the CI runs."""
JIT_OFF = "JIT off"
"""The name of a run with kernels as plain Python, which the CI has, too."""


@dataclass(frozen=True)
class WrongProgram:
    """A patch, and what is wrong with it."""

    name: str
    file: str
    """Below the package."""
    old: str
    """Text that the file has exactly once."""
    new: str
    why: str
    tests: tuple[str, ...] = ()
    """Tests to begin with, below ``tests/``."""
    jit: bool = False
    """Whether it cannot be seen with the JIT off."""

    @property
    def is_kernel(self) -> bool:
        """Whether compiled code of other files may contain it."""
        return self.file.startswith(("kernels/", "payoff/"))

    def applied_to(self, text: str) -> str:
        """The text with the patch.

        Raises:
            ValueError: The patch does not fit the text (any more).
        """
        if (found := text.count(self.old)) != 1:
            raise ValueError(
                f"{self.name!r} no longer applies: {PACKAGE}/{self.file} has its old text "
                f"{found} times, not once; write the patch anew in {PROGRAMS.name}"
            )
        patched = text.replace(self.old, self.new)
        try:
            compile(patched, self.file, "exec")
        except SyntaxError as error:
            raise ValueError(f"{self.name!r} is no Python once applied: {error}") from error
        return patched


@dataclass(frozen=True)
class Outcome:
    """What the tests said of a wrong program."""

    name: str
    file: str
    why: str
    caught: bool
    by: str
    """The first test that failed."""
    stage: str
    """Which run that was in."""
    seconds: float


def read_programs(path: Path = PROGRAMS) -> list[WrongProgram]:
    """All wrong programs of the file."""
    entries = tomllib.loads(path.read_text("utf-8"))["program"]
    return [WrongProgram(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in entries]


def broken_patches(programs: list[WrongProgram], root: Path = ROOT) -> list[str]:
    """Why patches cannot be applied; empty if all can."""
    found = []
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
    return found


def copy_tree(target: Path) -> None:
    """What git knows of the working tree, changes included, and the kernels compiled from it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for compiled in (ROOT / PACKAGE).rglob("__pycache__/*.nb?"):
        place = target / compiled.relative_to(ROOT)
        place.parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, place)


def _prepare() -> None:
    """Limit the processor time of a process and its children: that of a clock depends on what
    else the machine does.  And let it hear Ctrl-C, which background jobs of a shell do not."""
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

    def run(
        self, tests: list[str], *options: str, jit: bool = True, cache: Path | None = None
    ) -> str | None:
        """Run tests until one fails; returns that test, or None if all pass."""
        environment = {
            **os.environ,
            "CI": "true",
            "PYTHONPATH": str(self.tree),
        }
        if cache:
            environment["NUMBA_CACHE_DIR"] = str(cache)
        if not jit:
            environment["NUMBA_DISABLE_JIT"] = "1"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--no-header", "--tb=no"]
        command += ["-p", "no:cacheprovider", "--hypothesis-profile=verdict", *options, *tests]
        process = subprocess.Popen(
            command,
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
        if process.returncode in (0, 5):
            return None
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
        if failed:
            return failed[1].removeprefix("tests/")
        if process.returncode < 0:
            return f"the tests crashed with signal {-process.returncode}"
        raise RuntimeError(f"pytest ended with {process.returncode}:\n{output[-2000:]}")

    def try_out(self, program: WrongProgram, workers: str, *, quick: bool) -> Outcome:
        """Apply a wrong program, run the tests, take it back."""
        path = self.tree / PACKAGE / program.file
        original = path.read_text("utf-8")
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as fresh:
            # Other files' compiled code has kernels inlined, and numba does not see that.
            cache = Path(fresh) if program.is_kernel else None
            path.write_text(program.applied_to(original), "utf-8")
            try:
                stage, by = self._first_failure(program, workers, cache, quick)
            finally:
                path.write_text(original, "utf-8")
        caught = bool(by)
        # A test that fails anyway has caught nothing.
        if ".py" in by and self.run([f"tests/{by}"], jit=stage != JIT_OFF):
            caught, by = False, f"{by} fails without it, too"
        return Outcome(
            name=program.name,
            file=program.file,
            why=program.why,
            caught=caught,
            by=by,
            stage=stage,
            seconds=round(time.perf_counter() - began, 1),
        )

    def _first_failure(
        self, program: WrongProgram, workers: str, cache: Path | None, quick: bool
    ) -> tuple[str, str]:
        """The run of tests that fails, and the test; both empty if all pass."""
        package = program.file.partition("/")[0]
        folders = program.tests or BESIDE.get(package, (package,))
        beside = [f"tests/{name}" for name in folders]
        for name in beside:
            if not (self.tree / name.partition("::")[0]).exists():
                raise ValueError(f"{program.name!r} names tests that do not exist: {name}")
        runs: list[tuple[str, list[str], list[str]]] = [
            # Kernels as Python are slow, but need no compiling.
            (JIT_OFF, beside, ["-m", "fast"]),
            ("beside", beside, ["-m", "fast"]),
            ("suite", [], ["-n", workers, "-m", SUITE]),
        ]
        if quick:
            del runs[-1]
        if program.jit:
            del runs[0]
        for stage, tests, options in runs:
            if by := self.run(tests, *options, jit=stage != JIT_OFF, cache=cache):
                return stage, by
        return "", ""


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as a table in Markdown."""
    caught = sum(outcome.caught for outcome in outcomes)
    lines = [
        f"{caught} of {len(outcomes)} wrong programs are caught.",
        "",
        "| file | wrong program | caught by | s |",
        "| --- | --- | --- | ---: |",
    ]
    for one in outcomes:
        by = f"`{one.by}`".replace("|", "\\|") + (" (JIT off)" if one.stage == JIT_OFF else "")
        if not one.caught:
            by = f"**not caught** {one.by}"
        lines.append(f"| `{one.file}` | {one.name}: {one.why} | {by} | {one.seconds:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only check that all patches apply")
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="those whose file or name contains a word"
    )
    parser.add_argument("--jobs", type=int, default=1, help="wrong programs tried at a time")
    parser.add_argument("--workers", default="2", help="processes for the whole suite")
    parser.add_argument("--quick", action="store_true", help="only the tests beside the patch")
    parser.add_argument("--json", type=Path, help="write the outcomes here")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    arguments = parser.parse_args()
    programs = read_programs()
    if broken := broken_patches(programs):
        print("\n".join(broken), file=sys.stderr)
        return 1
    if arguments.only:
        programs = [
            one
            for one in programs
            if any(word in f"{PACKAGE}/{one.file} {one.name}" for word in arguments.only)
        ]
    if arguments.check:
        print(f"all {len(programs)} patches apply")
        return 0
    with tempfile.TemporaryDirectory() as home:
        benches: SimpleQueue[Bench] = SimpleQueue()
        for number in range(arguments.jobs):
            benches.put(Bench(Path(home, str(number))))

        def try_out(program: WrongProgram) -> Outcome:
            bench = benches.get()
            try:
                outcome = bench.try_out(program, arguments.workers, quick=arguments.quick)
            finally:
                benches.put(bench)
            by = outcome.by if outcome.caught else f"NOT CAUGHT {outcome.by}"
            print(f"{outcome.seconds:6.1f} s  {outcome.file}: {outcome.name}: {by}", flush=True)
            return outcome

        with ThreadPoolExecutor(arguments.jobs) as pool:
            outcomes = list(pool.map(try_out, programs))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text(table(outcomes), "utf-8")
    print(table(outcomes))
    return 0 if all(one.caught for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
