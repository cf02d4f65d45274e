"""Shared parts of the benchmarks: games, tools, clock, machine.

A *tool* is tensorcfr or a peer; every tool gets the same game, the same algorithm and the same
clock.  The clock counts the CPU seconds of this process: all tools run on one thread, and on a
busy machine the time that other programs take does not count.  Wall time is kept, too.
"""

from __future__ import annotations

import atexit
import importlib.util
import io
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import tensorcfr
from tensorcfr._util.hardware import cpu_model

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
CACHE_VARIABLE = "TENSORCFR_BENCHMARK_CACHE"
"""Environment variable: where LiteEFG may keep the games that it has written out."""


@dataclass(frozen=True)
class Contest:
    """A game, as each tool calls it."""

    name: str
    title: str
    spec: str
    """Argument of ``tensorcfr.compile_game``."""
    openspiel: str
    """Argument of ``pyspiel.load_game``, also for LiteEFG."""
    iterations: int = 1
    """Iterations of a peer per round; in the pytest suite, of every tool."""
    agree_after: int = 1
    """Iterations after which tensorcfr and OpenSpiel must agree to 1e-9; in games with exact
    ties rounding parts any two programs after the first."""


CONTESTS = {
    contest.name: contest
    for contest in (
        Contest("kuhn", "Kuhn poker", "kuhn", "kuhn_poker", 4000, 10),
        Contest("leduc", "Leduc poker", "leduc", "leduc_poker", 60, 10),
        Contest(
            "goofspiel",
            "goofspiel, 5 cards",
            "goofspiel(cards=5)",
            "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=5,"
            "points_order=descending,returns_type=win_loss))",
            16,
            1,
        ),
        Contest("liars_dice", "liar's dice, 1 die each", "liars_dice", "liars_dice", 4, 10),
    )
}


class Runner(Protocol):
    """A tool, set up to iterate on a game."""

    def iterate(self, iterations: int) -> None:
        """Run some iterations."""

    def exploitability(self) -> float:
        """Return the exploitability (nash_conv / players) of the average strategy."""


class TensorCFR:
    """tensorcfr, alternating."""

    def __init__(self, contest: Contest, algorithm: str) -> None:
        self.game = tensorcfr.compile_game(contest.spec, cut=False)
        self.solver = tensorcfr.Solver(self.game, algorithm)

    def iterate(self, iterations: int) -> None:
        """Run some iterations."""
        self.solver.iterate(iterations)

    def exploitability(self) -> float:
        """Return the exploitability of the average strategy."""
        return self.solver.evaluate().exploitability


class OpenSpiel:
    """OpenSpiel's solvers in C++, alternating."""

    def __init__(self, contest: Contest, algorithm: str) -> None:
        import pyspiel

        self.game = pyspiel.load_game(contest.openspiel)
        solvers = {"cfr": pyspiel.CFRSolver, "cfr+": pyspiel.CFRPlusSolver}
        self.solver = solvers[algorithm](self.game)

    def iterate(self, iterations: int) -> None:
        """Run some iterations."""
        for _ in range(iterations):
            self.solver.evaluate_and_update_policy()

    def exploitability(self) -> float:
        """Return the exploitability of the average strategy."""
        import pyspiel

        return float(pyspiel.exploitability(self.game, self.solver.average_policy()))


class LiteEFG:
    """LiteEFG's own CFR, which updates both players at once, and, in turn, its CFR+, DCFR and
    PCFR+; averaged."""

    def __init__(self, contest: Contest, algorithm: str) -> None:
        import LiteEFG as Lite
        import pyspiel
        from LiteEFG.baselines import CFR, DCFR, PCFR, CFRplus

        Lite.set_threads(1)
        with redirect_stdout(io.StringIO()), _home(peer_cache()):
            self.environment = Lite.OpenSpielEnv(
                pyspiel.load_game(contest.openspiel), traverse_type="Enumerate", regenerate=False
            )
            baselines = {"cfr": CFR, "cfr+": CFRplus, "dcfr": DCFR, "pcfr+": PCFR}
            self.graph = baselines[algorithm].graph()
            self.environment.set_graph(self.graph)
        # DCFR keeps the average itself.
        averages = {"cfr": "avg-iterate", "dcfr": "last-iterate"}
        self.average = averages.get(algorithm, "linear-avg-iterate")
        kept = ["average-iterate"] if algorithm == "dcfr" else []
        self.strategy = self.graph.current_strategy(*kept)

    def iterate(self, iterations: int) -> None:
        """Run some iterations."""
        for _ in range(iterations):
            self.graph.update_graph(self.environment)
            self.environment.update_strategy(self.strategy, update_best=False)

    def exploitability(self) -> float:
        """Return the exploitability of the average strategy."""
        gains = self.environment.exploitability(self.strategy, self.average)
        return sum(gains) / len(gains)


class AlternatingLiteEFG(LiteEFG):
    """LiteEFG's CFR, asked to update one player after the other: two traversals."""

    def iterate(self, iterations: int) -> None:
        """Run some iterations."""
        strategy = self.graph.current_strategy()
        for _ in range(iterations):
            self.environment.update(strategy, upd_player=1)
            self.environment.update(strategy, upd_player=2)
            self.environment.update_strategy(strategy, update_best=False)


TOOLS: dict[str, Callable[[Contest, str], Runner]] = {
    "tensorcfr": TensorCFR,
    "OpenSpiel": OpenSpiel,
    "LiteEFG": LiteEFG,
    "LiteEFG alternating": AlternatingLiteEFG,
}
MODULES = {
    "tensorcfr": "tensorcfr",
    "OpenSpiel": "pyspiel",
    "LiteEFG": "LiteEFG",
    "LiteEFG alternating": "LiteEFG",
}


def available(tool: str) -> bool:
    """Return whether a tool is installed."""
    needed = {MODULES[tool]} | ({"pyspiel"} if tool.startswith("LiteEFG") else set())
    return all(importlib.util.find_spec(module) is not None for module in needed)


def installed_tools() -> list[str]:
    """Return the installed tools, tensorcfr first."""
    return [tool for tool in TOOLS if available(tool)]


@cache
def peer_cache() -> str:
    """Return a directory for the files of LiteEFG; it is removed at the end, unless it was
    given."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return given
    made = tempfile.mkdtemp(prefix="benchmarks-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@contextmanager
def _home(directory: str) -> Iterator[None]:
    """Give LiteEFG another home directory, because it writes games there."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = directory
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before


# The clock


@dataclass
class Timing:
    """Times of rounds, in seconds per iteration."""

    iterations: int
    """Iterations per round."""
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def run(self, step: Callable[[int], None]) -> None:
        """Add one more round."""
        wall, cpu = time.perf_counter(), time.process_time()
        step(self.iterations)
        self.cpu.append((time.process_time() - cpu) / self.iterations)
        self.wall.append((time.perf_counter() - wall) / self.iterations)

    @property
    def seconds(self) -> float:
        """Median CPU seconds per iteration."""
        return statistics.median(self.cpu)

    @property
    def disturbance(self) -> float:
        """Wall time over CPU time; near 1 on a quiet machine."""
        return sum(self.wall) / sum(self.cpu)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "seconds": self.seconds,
            "wall_seconds": statistics.median(self.wall),
            "disturbance": self.disturbance,
            "iterations_per_round": self.iterations,
            "rounds": self.cpu,
        }


def interleaved(
    steps: Mapping[str, Callable[[int], None]],
    *,
    rounds: int = 7,
    round_seconds: float = 0.1,
    fixed: Mapping[str, int] | None = None,
) -> dict[str, Timing]:
    """Time several tools in turn, round after round, so that a disturbance affects all of them.

    A quarter of a round runs before the clock starts, so that each tool has filled the caches.

    Args:
        steps: Functions that run a number of iterations, by name.
        rounds: Number of rounds of each.
        round_seconds: Approximate seconds of a round, which has at least one iteration.
        fixed: Iterations per round of tools whose time per iteration changes.
    """
    timings = {}
    for name, step in steps.items():
        step(1)
        timings[name] = Timing((fixed or {}).get(name) or _calibrate(step, round_seconds))
    for _ in range(rounds):
        for name, step in steps.items():
            step(max(1, timings[name].iterations // 4))
            timings[name].run(step)
    return timings


def _calibrate(step: Callable[[int], None], round_seconds: float) -> int:
    """Return the number of iterations that take about a given time."""
    iterations = 1
    while True:
        trial = Timing(iterations)
        trial.run(step)
        spent = trial.cpu[0] * iterations
        if spent >= round_seconds / 4:
            return max(1, round(iterations * round_seconds / spent))
        iterations *= 4


def ratio(slow: Timing, fast: Timing) -> float:
    """Return the factor between two times, the median over rounds that ran in turn."""
    return statistics.median(a / b for a, b in zip(slow.cpu, fast.cpu, strict=True))


# The machine


def cache_sizes() -> dict[str, int]:
    """Return bytes of the data caches of the first core, by level; empty if the system does not
    report them."""
    sizes = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (index / "type").read_text().strip() != "Instruction":
            size = (index / "size").read_text().strip()
            level = (index / "level").read_text().strip()
            sizes[f"L{level}"] = int(size.rstrip("KM")) << (20 if size.endswith("M") else 10)
    return sizes


def cache_level(n_bytes: float) -> str:
    """Return the fastest level of memory that holds a number of bytes."""
    for level, size in cache_sizes().items():
        if n_bytes <= size:
            return level
    return "memory"


def machine() -> dict[str, Any]:
    """Return the machine and versions of the measurements."""
    packages = {"numpy": "numpy", "numba": "numba", "OpenSpiel": "open_spiel", "LiteEFG": "LiteEFG"}
    versions = {"tensorcfr": tensorcfr.__version__, "Python": platform.python_version()}
    for name, distribution in packages.items():
        try:
            versions[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "caches": cache_sizes(),
        "memory_bytes": _memory_bytes(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


# Words

TIMES = "\N{MULTIPLICATION SIGN}"


def duration(seconds: float) -> str:
    """Format seconds with three significant digits: ``1.23 ms``."""
    if seconds < 0:
        return "-" + duration(-seconds)
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= size or unit == "ns":
            return f"{significant(seconds / size)} {unit}"
    raise AssertionError


def megabytes(n_bytes: float) -> str:
    """Format bytes in powers of ten: ``12.3 MB``."""
    return f"{significant(n_bytes / 1e6)} MB"


def significant(value: float) -> str:
    """Format a number with three significant digits and commas for thousands."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        digits = len(str(int(abs(value)))) - 3
        return f"{round(value, -digits):,.0f}"
    return f"{value:.3g}"


def table(
    header: Sequence[str], rows: Iterable[Sequence[object]], left: Container[int] = (0,)
) -> str:
    """Return a Markdown table; the columns in ``left`` are left-aligned, others right-aligned."""
    rule = ["---" if column in left else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in (header, rule, *rows))


def process_bytes(key: str) -> int:
    """Return a figure of Linux's account of this process, such as ``VmRSS``; elsewhere the peak.

    ``ru_maxrss`` will not do where the account is at hand: it starts from the peak of the
    process that started this one.
    """
    account = Path("/proc/self/status")
    if account.exists():
        lines = account.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))
    import resource  # Not on Windows.

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def children_seconds() -> float:
    """Return the CPU seconds of all processes that this one started and that have ended."""
    import resource  # Not on Windows.

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine_lines(found: dict[str, Any]) -> str:
    """Describe the machine in two sentences."""
    caches = ", ".join(f"{level} {size >> 10:,} KiB" for level, size in found["caches"].items())
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    memory = found["memory_bytes"]
    return (
        f"{found['cpu']}, {found['cores']} cores ({caches}), "
        f"{memory / 2**30:.0f} GiB, {found['system']}; {found['date']}.\n{versions}."
    )


def progress(text: str) -> None:
    """Print a message about progress."""
    print(text, file=sys.stderr, flush=True)
