"""Memory: what is free, in containers too; and games that do not fit are refused before they take
what they may not."""

from __future__ import annotations

import gc
import io
import mmap
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.peak import Peak
from tensorcfr import (
    Decision,
    Game,
    GameError,
    MemoryLimitError,
    Policy,
    PublicTreeGame,
    Terminal,
    evaluate,
)
from tensorcfr import compile_game as compiled
from tensorcfr._util import hardware, memory_budget, recent
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.analysis import values
from tensorcfr.compilers import game_size
from tensorcfr.errors import format_bytes
from tensorcfr.games.poker.runouts import holdem_runouts
from tensorcfr.model.chunked_form import ROW
from tensorcfr.solvers.solver import bytes_needed

MIB = 1 << 20


# -------------------------------------------------------------------------------------- refusals


class Endless(Game):
    """Every history goes on, with so many actions each."""

    def __init__(self, actions: int, *, histories: bool) -> None:
        self.actions, self.histories = tuple(range(actions)), histories

    def root(self) -> Any:
        return () if self.histories else 0

    def next(self, state: Any, action: int) -> Any:
        return (*state, action) if self.histories else state + 1

    def node(self, state: Any) -> Decision:
        depth = len(state) if self.histories else state
        return Decision(depth % 2, str(depth), self.actions)


class EndlessTree(PublicTreeGame):
    """Likewise, after a deal."""

    hands = [["a", "b"]] * 2
    prior = np.full((2, 2), 0.25)

    def __init__(self, actions: int, *, repeat: bool) -> None:
        self.actions, self.states_repeat = tuple(range(actions)), repeat

    def next(self, state: Any, action: int) -> Any:
        return () if self.states_repeat else (*state, action)

    def node(self, state: Any) -> Decision:
        return Decision(0, None, self.actions)


class Hoarder(Game):
    """Few histories, and every one of them keeps half a megabyte."""

    def __init__(self) -> None:
        self.kept: list[np.ndarray] = []

    def node(self, state: Any) -> Decision | Terminal:
        self.kept.append(np.ones(MIB // 16))
        if len(state) == 4:
            return Terminal((0.0, 0.0))
        return Decision(len(state) % 2, str(state), tuple(range(8)))


TOO_LARGE: dict[str, tuple[Callable[[], Any], int]] = {
    "hands x hands": (lambda: "kuhn(cards=3000)", 102),
    "many matrices": (lambda: "leduc(ranks=100)", 500),
    "many boards": (lambda: "leduc(ranks=500)", 6 * 1024),
    "boards without a limit": (lambda: "nl_leduc(ranks=400, stack=4)", 1024),
    "histories": (lambda: "goofspiel(cards=7)", 50),
    "three players": (lambda: "leduc(players=3)", 200),
    "nodes": (lambda: "liars_dice(dice=3)", 1024),
    "states": (Hoarder, 100),
    "endless": (lambda: Endless(2, histories=True), 200),
    "endless and narrow": (lambda: Endless(1, histories=True), 100),
    "endless and wide": (lambda: Endless(9, histories=False), 1 << 20),
    "endless public": (lambda: EndlessTree(2, repeat=False), 200),
    "endless public, states repeat": (lambda: EndlessTree(2, repeat=True), 200),
    "OpenSpiel, chess": (lambda: "openspiel:chess", 1 << 14),
    "OpenSpiel, go": (lambda: "openspiel:go(board_size=9)", 300),
    "OpenSpiel, hearts": (lambda: "openspiel:hearts", 1 << 14),
}
"""What is too large, and for how many MiB."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.full] if "chess" in case else []) for case in TOO_LARGE],
)
def test_refused_within_the_limit(case: str) -> None:
    """By the highest memory of the process meanwhile."""
    if case.startswith("OpenSpiel"):
        pytest.importorskip("pyspiel")
    make, mebibytes = TOO_LARGE[case]
    source = make()
    before, peak = memory_budget.taken(), Peak()
    with pytest.raises(MemoryLimitError) as refused:
        compiled(source, memory_limit=mebibytes * MIB)
    assert refused.value.needed > refused.value.limit == mebibytes * MIB
    if (highest := peak.read()) is not None:
        assert highest - before < 1.1 * mebibytes * MIB + memory_budget.NOISE


@pytest.mark.parametrize(
    ("name", "cut", "mebibytes"),
    [
        ("bluff(dice=(2, 2))", 20, 40),
        ("bluff(dice=(4, 3))", True, 200),
        ("bluff(dice=(4, 4))", True, 200),
    ],
)
def test_cutting_keeps_its_limit(name: str, cut: Any, mebibytes: int) -> None:
    before, peak = memory_budget.taken(), Peak()
    with pytest.raises(MemoryLimitError) as refused:
        compiled(name, cut=cut, memory_limit=mebibytes * MIB)
    assert refused.value.needed > refused.value.limit == mebibytes * MIB
    if (highest := peak.read()) is not None:
        assert highest - before < 1.1 * mebibytes * MIB + memory_budget.NOISE


FLOP: dict[str, Any] = {
    "board": "Td9d6h",
    "ranges": ("AA,KK,QQ,JJ,TT,AKs", "99,88,77,AKo,AQs,AJs,KQs,T9s"),
    "pot": 55,
    "stacks": 300,
    "bets": "50%,100%",
    "raises": "3x",
}


COMPILING = """
import gc, sys
from support.peak import Peak
from tensorcfr import compile_game
from tensorcfr._util import memory_budget

spot, game, left, highest = eval(sys.argv[1]), None, [], []
# What the process takes for itself meanwhile comes and goes; what compiling takes is there every
# time.
for _ in range(3):
    game = None
    gc.collect()
    memory_budget.give_back()
    before, peak = memory_budget.taken(), Peak()
    game = compile_game("holdem", **spot)
    left.append(memory_budget.taken() - before)
    highest.append((peak.read() or before) - before)
print(min(highest), min(left))
"""
"""In a process of its own: in one that has done much, the C library keeps what is given back."""


@pytest.mark.full
def test_compiling_takes_little_more_than_the_game() -> None:
    """A flop took five times its size, and four times of it stayed in the process."""
    spot = {**FLOP, "ranges": ("22+,A2s+,KTs+", "22+,ATo+,K9s+,T9s"), "bets": "25%,50%,100%"}
    size, game = game_size("holdem", **spot), compiled("holdem", **spot)
    command = [sys.executable, "-c", COMPILING, repr(spot)]
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True
    )
    highest, left = map(int, done.stdout.split())
    assert size.bytes_compiled[1] == pytest.approx(game.nbytes, rel=0.05)
    # The game is small beside what the checks of its arrays work with.
    assert highest < size.bytes_compiling + 4 * memory_budget.NOISE
    assert left < 1.15 * game.nbytes + memory_budget.NOISE
    # What a solver takes is told from the counts alone, too.
    assert game.chunks is not None
    for precision in ("float64", "float32", "int16"):
        told = bytes_needed(game, CFR_PLUS, precision)
        assert size.bytes_solving_in(precision) == pytest.approx(told, rel=0.02), precision


def test_compiling_pairs_of_hands_is_told() -> None:
    """Every pair of 1,326 hands is worked out, of which only a fiftieth stays."""
    told = game_size("push_or_fold").bytes_compiling
    compiled("push_or_fold(stacks=4)")  # Loads kernels and modules.
    holdem_runouts.cache_clear()
    tracemalloc.start()
    game = compiled("push_or_fold")
    left, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.8 * told < highest < told
    # How likely boards leave a pair, how often it wins, and ties: 8, 4 and 4 bytes.
    assert left < game.nbytes + 16 * 1326**2 + memory_budget.NOISE


@pytest.mark.parametrize("name", ["bluff(dice=(2, 1))", "bluff(dice=(2, 2))", "liars_dice"])
def test_a_size_says_what_a_cut_takes(name: str) -> None:
    """Not more than a percent less than the solver itself, and more where hands are merged."""
    size, game = game_size(name), compiled(name, cut=True)
    assert 0.99 * game.chunks.n_numbers <= size.chunks.numbers + game.chunks.n_chunks * ROW


@pytest.mark.parametrize(
    "game", [Endless(1, histories=False), EndlessTree(1, repeat=False)], ids=["game", "public tree"]
)
def test_a_history_that_goes_on_and_on(game: Any) -> None:
    with pytest.raises(GameError, match=r"more than 10,000 steps; does the game end\? .*\[0, 0,"):
        compiled(game)


def test_probes_do_not_refuse_what_fits() -> None:
    """26,931 and 294,883 histories (docstrings of the games)."""
    compiled("goofspiel(cards=5)", memory_limit=12 * MIB)
    compiled("liars_dice", memory_limit=20 * MIB)


def test_a_probe_meets_nobody_out_of_turn() -> None:
    """OpenSpiel's labels depend on who is met first, so that a probe must not be met."""
    pyspiel = pytest.importorskip("pyspiel")
    from tensorcfr.formats.openspiel import OpenSpielGame

    class Watched(OpenSpielGame):
        def node(self, state: Any) -> Any:
            met.append(state.history())
            return super().node(state)

    met: list[list[int]] = []
    compiled(Watched(pyspiel.load_game("leduc_poker")))
    assert len(met) == 9457  # Histories of Leduc, by OpenSpiel's own count.


# ----------------------------------------------------------------------------------------- budget


def test_a_budget_counts_what_comes_and_what_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0
    monkeypatch.setattr(memory_budget, "taken", lambda: taken)
    with memory_budget.budget("this", 64 * MIB) as own:
        memory_budget.reserve(60 * MIB)
        with pytest.raises(MemoryLimitError, match=r"this needs at least 70\.0 MiB"):
            memory_budget.reserve(70 * MIB)
        taken = 40 * MIB
        assert own.spent == taken - memory_budget.NOISE
        with pytest.raises(MemoryLimitError, match=r"that needs at least 68\.0 MiB"):
            memory_budget.reserve(30 * MIB, "that")
    with pytest.raises(MemoryLimitError, match=r"this needs at least 1024 PiB"):
        memory_budget.reserve(1 << 60)  # Outside, the free memory is the limit.


def test_what_is_taken_is_measured() -> None:
    gc.collect()
    if not (before := memory_budget.taken()):
        pytest.skip("this system does not say")
    # Of the system: what earlier tests have freed may serve an array of NumPy.
    private = mmap.mmap(-1, 100 * MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    kept = np.frombuffer(private, dtype=np.uint8)
    kept[:] = 1
    assert memory_budget.taken() - before == pytest.approx(kept.nbytes, rel=0.2)


@pytest.mark.parametrize("cut", [False, 1])
@pytest.mark.parametrize("look", [evaluate, values])
def test_looking_at_a_policy_says_what_it_takes(
    look: Callable[[Any, Policy], Any], cut: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no limit of its own: free memory is one."""
    game = compiled("leduc", cut=cut)
    policy = Policy.uniform(game)
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 1000)
    look(game, policy)  # Nobody asks about so little.
    monkeypatch.setattr(memory_budget, "LEAST", 0)
    if (look, cut) == (values, 1):
        return  # Made node by node, when they are asked for.
    with pytest.raises(MemoryLimitError, match="a policy of leduc needs"):
        look(game, policy)


def test_looks_are_cheap() -> None:
    """A loop of a million small items looks a few hundred times."""
    own = memory_budget.MemoryBudget("this", 1 << 34)
    count = looks = 0
    while count < 10**6:
        count = own.look(count, 200 * count)
        looks += 1
    assert looks < 500


def test_bytes_for_people() -> None:
    assert format_bytes(3 << 40) == "3.0 TiB"
    assert format_bytes(10**99) == "1024 PiB"


# ------------------------------------------------------------------------------------- containers


def groups(
    root: Path, own: str, mounts: list[tuple[str, str, str, str]], files: dict[str, int]
) -> list[int]:
    """What the groups of a made-up system leave: ``/proc/self/cgroup``, mounts, and contents of
    files."""
    process = root / "proc"
    process.mkdir()
    (process / "cgroup").write_text(own)
    lines = [
        f"{30 + i} 23 0:{i} {seen} {at} rw,relatime shared:9 - {kind} {kind} rw,{options}"
        for i, (seen, at, kind, options) in enumerate(mounts)
    ]
    (process / "mountinfo").write_text("\n".join(["1 0 8:1 / / rw - ext4 /dev/sda rw", *lines, ""]))
    for path, content in files.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(("inactive_file", "total_inactive_file")):
            file.parent.joinpath("memory.stat").write_text(f"anon 5\n{file.name} {content}\n")
        else:
            file.write_text(f"{content}\n")
    return list(memory_budget._left_in_groups(process, root))


CONTAINERS: dict[str, tuple[str, list[tuple[str, str, str, str]], dict[str, Any], list[int]]] = {
    # The least of what the groups along the path leave; a group without a limit leaves all.
    "version 2, nested": (
        "0::/user/job/step\n",
        [("/", "/sys/fs/cgroup", "cgroup2", "nsdelegate")],
        {
            "/sys/fs/cgroup/user/memory.max": 5000,
            "/sys/fs/cgroup/user/memory.current": 4500,
            "/sys/fs/cgroup/user/inactive_file": 100,
            "/sys/fs/cgroup/user/job/memory.max": 3000,
            "/sys/fs/cgroup/user/job/memory.current": 1000,
            "/sys/fs/cgroup/user/job/step/memory.current": 900,
        },
        [600, 2000],
    ),
    "version 2, without a number": (
        "0::/\n",
        [("/", "/sys/fs/cgroup", "cgroup2", "x")],
        {"/sys/fs/cgroup/memory.max": "max"},
        [],
    ),
    # The container sees its own part, mounted where the whole would be; the path is the host's.
    "version 1": (
        "9:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc/inner\n0::/docker/abc\n",
        [
            ("/docker/abc", "/sys/fs/cgroup/cpu", "cgroup", "cpu,cpuacct"),
            ("/docker/abc", "/sys/fs/cgroup/my\\040memory", "cgroup", "memory"),
        ],
        {
            "/sys/fs/cgroup/cpu/memory.limit_in_bytes": 1,
            "/sys/fs/cgroup/my memory/memory.limit_in_bytes": 7000,
            "/sys/fs/cgroup/my memory/memory.usage_in_bytes": 2000,
            "/sys/fs/cgroup/my memory/total_inactive_file": 300,
            "/sys/fs/cgroup/my memory/inner/memory.limit_in_bytes": 6000,
            "/sys/fs/cgroup/my memory/inner/memory.usage_in_bytes": 2000,
        },
        [4000, 5300],
    ),
    "a path that is not there": (
        "4:memory:/gone/away\n",
        [("/", "/sys/fs/cgroup/memory", "cgroup", "memory")],
        {
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": 100,
            "/sys/fs/cgroup/memory/memory.usage_in_bytes": 30,
        },
        [70],
    ),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_what_groups_leave(name: str, tmp_path: Path) -> None:
    *system, expected = CONTAINERS[name]
    assert sorted(groups(tmp_path, *system)) == expected


@pytest.mark.parametrize("left", [0, -5, 10])
def test_something_is_always_free(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    monkeypatch.setattr(memory_budget, "_left_in_groups", lambda: iter([left]))
    assert memory_budget.free_memory() == memory_budget.LEAST
    assert compiled("kuhn").n_infosets == 12


def test_the_least_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "_free_in_system", lambda: 10 << 30)
    monkeypatch.setattr(memory_budget, "_left_to_process", lambda: iter([8 << 30]))
    monkeypatch.setattr(memory_budget, "_left_in_groups", lambda: iter([5 << 30, 9 << 30]))
    assert memory_budget.free_memory() == int((5 << 30) * 0.9)


def test_what_the_system_says_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """``MemAvailable`` in KiB; else half of the machine's memory; else a fixed number."""
    said = {"text": "MemTotal: 9 kB\nMemFree: 7 kB\nMemAvailable:  5 kB\n"}

    def opened(path: str) -> io.StringIO:
        assert path == "/proc/meminfo"
        return io.StringIO(said["text"])

    monkeypatch.setattr(memory_budget, "open", opened, raising=False)
    assert memory_budget._free_in_system() == 5 * 1024
    pages = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.sysconf", pages.__getitem__, raising=False)
    for text in ("MemTotal: 9 kB\n", "MemAvailable: ? kB\n", "MemAvailable: 0 kB\n"):
        said["text"] = text
        assert memory_budget._free_in_system() == 500 * 4096

    def unknown(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr("os.sysconf", unknown, raising=False)
    assert memory_budget._free_in_system() == memory_budget.FALLBACK


def test_a_limit_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("the system does not say what a process takes")
    page = resource.getpagesize()
    limit = (int(statm.read_text().split()[0]) << 3) * page
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, resource.RLIM_INFINITY))
    (left,) = memory_budget._left_to_process()
    # This process grows a little between the two looks.
    assert limit - left == pytest.approx(limit / 8, rel=0.05)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, 1))
    assert list(memory_budget._left_to_process()) == []


def test_what_is_taken_where_only_a_peak_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peak is in bytes on macOS, elsewhere in KiB."""
    resource = pytest.importorskip("resource")

    class Usage:
        ru_maxrss = 3000

    monkeypatch.setattr(resource, "getrusage", lambda who: Usage)
    monkeypatch.setattr(memory_budget.sys, "platform", "darwin")
    assert memory_budget.taken() == 3000
    monkeypatch.setattr(memory_budget.sys, "platform", "freebsd")
    assert memory_budget.taken() == 3000 * 1024
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory_budget.taken() == 0


# ----------------------------------------------------------------------------------------- caches


@pytest.mark.parametrize(
    ("entries", "said", "expected"),
    [
        ([("1", "48K"), ("1", "32K"), ("2", "2048K"), ("3", "30720K")], 7, 2048 * 1024),
        ([("1", "48K")], 1 << 19, 1 << 19),  # No entry of level 2: the C library says it.
        ([("2", "?")], 1 << 19, 1 << 19),
        ([], 0, hardware.FALLBACK),
        ([], None, hardware.FALLBACK),
    ],
)
def test_the_second_level_cache(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    entries: list[tuple[str, str]],
    said: int | None,
    expected: int,
) -> None:
    for number, (level, size) in enumerate(entries):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        (folder / "level").write_text(f"{level}\n")
        (folder / "size").write_text(f"{size}\n")

    def sysconf(name: str) -> int:
        if said is None or name != "SC_LEVEL2_CACHE_SIZE":
            raise ValueError(name)
        return said

    monkeypatch.setattr(hardware, "Path", lambda text: tmp_path / text.rpartition("/")[2])
    monkeypatch.setattr("os.sysconf", sysconf, raising=False)
    assert hardware.second_level_cache.__wrapped__() == expected


def test_arrays_are_kept_until_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "BYTES", 3 * 80)
    made: list[int] = []

    def make(number: int) -> np.ndarray:
        made.append(number)
        return np.full(10, number, dtype=np.float64)

    kept = recent.Recent()
    for number in (0, 1, 0, 2, 3, 1):  # Four are somewhat more than may be kept, for a moment.
        assert kept.get(number, make).tolist() == [number] * 10
    assert made == [0, 1, 2, 3]
    kept.get(4, make)
    assert kept.get(4, make) is kept.get(4, make)
    kept.get(1, make)
    assert made == [0, 1, 2, 3, 4, 1]
