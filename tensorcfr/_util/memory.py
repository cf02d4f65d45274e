"""Memory: how much there is to spend, and how much one piece of work has spent.

A piece of work that may grow too large runs under a :class:`Budget`.  What it will allocate is
announced (:func:`reserve`) before it is allocated, and what it has taken already is measured: the
growth of the process, which holds whatever was not announced, such as the states that somebody
else's rules make.  Announcements alone would miss those, and measurements alone would come after
an array that does not fit.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from ..errors import MemoryLimitError

FALLBACK = 4 << 30
"""Bytes assumed free where the system does not say."""
LEAST = 64 << 20
"""Bytes that are free at least, whatever the system says: a small game is never refused."""
SHARE = 0.9
"""Share of the free memory that may be taken."""

# ------------------------------------------------------------------------------------ to spend


def free_memory() -> int:
    """Bytes of memory that may be taken: nine tenths of what is free, in the system, in the
    control groups of this process, and within its own limits; at least :data:`LEAST`."""
    left = [_free_in_system(), *_left_in_groups(), *_left_to_process()]
    return max(LEAST, int(min(left) * SHARE))


def _free_in_system() -> int:
    with suppress(OSError, StopIteration, ValueError), open("/proc/meminfo") as lines:
        available = next(line for line in lines if line.startswith("MemAvailable"))
        if (free := int(available.split()[1]) * 1024) > 0:
            return free
    with suppress(AttributeError, OSError, ValueError):
        if (half := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2) > 0:
            return half
    return FALLBACK


GROUP_FILES = {
    "cgroup2": ("memory.max", "memory.current", "inactive_file"),
    "cgroup": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""By kind of file system: limit, use, and the line of ``memory.stat`` with the cached files, which
count as used, though they give way when memory is asked for."""


def _left_in_groups(process: Path = Path("/proc/self"), root: Path = Path("/")) -> Iterator[int]:
    """What each control group leaves that this process is in and that has a limit: its own group,
    the one around that, and so on.

    Args:
        process: The account of the process.
        root: What the mount points are below.
    """
    try:
        own = [line.split(":", 2) for line in (process / "cgroup").read_text().splitlines()]
        mounts = (process / "mountinfo").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    group_of = {
        "cgroup2": next((path for number, _, path in own if number == "0"), None),
        "cgroup": next((path for _, names, path in own if "memory" in names.split(",")), None),
    }
    for line in mounts:
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in group_of:
            continue
        if kind[0] == "cgroup" and "memory" not in kind[2].split(","):
            continue
        if (path := group_of[kind[0]]) is None:
            continue
        # A container may see a part of the hierarchy only, mounted where the whole would be.
        seen, top = _unescaped(fields[3]), root / _unescaped(fields[4]).lstrip("/")
        inside = path[len(seen.rstrip("/")) :] if f"{path}/".startswith(f"{seen}/") else path
        group = top / inside.strip("/")
        for folder in (group, *group.parents):
            yield from _left_in_group(folder, *GROUP_FILES[kind[0]])
            if folder == top:
                break


def _left_in_group(folder: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    with suppress(KeyError, OSError, ValueError):
        most = int((folder / limit).read_text())
        taken = int((folder / used).read_text())
        with suppress(KeyError, OSError, ValueError):
            lines = (folder / "memory.stat").read_text().splitlines()
            taken -= int(dict(line.split(maxsplit=1) for line in lines)[cached])
        yield most - taken


def _unescaped(path: str) -> str:
    """A path of ``mountinfo``, where blanks are written as octal numbers."""
    return path.encode().decode("unicode_escape") if "\\" in path else path


def _left_to_process() -> Iterator[int]:
    """What ``ulimit -v`` leaves, if it is set."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield most - pages * resource.getpagesize()


# ---------------------------------------------------------------------------------------- spent

NOISE = 2 << 20
"""Growth that is not held against a piece of work: modules that it imports, say."""
FIRST_LOOK = 16
"""Items after which a loop is measured first."""
LOOKS = 200
"""Into how many looks a limit is divided at least, while a loop fills it."""
FARTHEST = 1 << 14
"""Items between two looks, at most."""
GIVEN_BACK_FROM = 8 << 20
"""Bytes by which a piece of work has grown the process, from which on what it has freed is given
back to the system."""


def taken() -> int:
    """Bytes of memory that are this process's alone; 0 where the system does not say."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
            fields = file.read().split()
            return (int(fields[1]) - int(fields[2])) * _PAGE
    with suppress(ImportError, AttributeError, OSError):
        import resource

        # The peak, which is what is taken while a process grows; in KiB, on macOS in bytes.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Budget:
    """The bytes that a piece of work may take.

    Args:
        what: The work, as errors name it: ``"compiling leduc"``.
        limit: Bytes that it may take.
    """

    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        self.watch: Callable[[int, int], object] = lambda count, coming: None
        """Called at every look with the items so far and the bytes that are coming for them."""
        self._before = taken()

    @property
    def spent(self) -> int:
        """Bytes by which the process has grown."""
        return max(0, taken() - self._before - NOISE)

    def reserve(self, coming: int, what: str | None = None) -> None:
        """Say that so many bytes are about to be allocated.

        Args:
            coming: Bytes; 0 only looks at what has been taken.
            what: The work, where the name of the budget says too little.

        Raises:
            MemoryLimitError: With what has been taken they are beyond the limit.
        """
        if (needed := self.spent + int(coming)) > self.limit:
            raise MemoryLimitError(what or self.what, needed, self.limit)

    def look(self, count: int, coming: int = 0) -> int:
        """Look, from within a loop; cheap enough for one that takes a microsecond per item.

        Args:
            count: Items so far.
            coming: Bytes that will be allocated for them after the loop.

        Returns:
            How many items there may be before the next look: few where items are large.

        Raises:
            MemoryLimitError: What has been taken and what is coming are beyond the limit.
        """
        if count < FIRST_LOOK:
            return FIRST_LOOK
        self.reserve(coming)
        self.watch(count, coming)
        each = max(1.0, (self.spent + coming) / count)
        # A path grows with the square of its length where states are histories.
        return count + max(1, min(FARTHEST, count // 4, int(self.limit / LOOKS / each)))


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(what: str, limit: int) -> Iterator[Budget]:
    """Run a piece of work under a budget; :func:`reserve` is held against it meanwhile."""
    own = Budget(what, limit)
    token = _current.set(own)
    try:
        yield own
    finally:
        _current.reset(token)
        if own.spent > GIVEN_BACK_FROM:
            give_back()


def reserve(coming: int, what: str | None = None) -> None:
    """:meth:`Budget.reserve` of the work that is being done; without a budget the free memory is
    the limit."""
    if (own := _current.get()) is not None:
        own.reserve(coming, what)
    else:
        require(coming, what or "this")


def require(needed: float, what: str, limit: int | None = None) -> None:
    """Refuse work that would take more memory than it may, before it begins.

    Args:
        needed: Bytes that it will take.
        what: The work, for the error: ``"solving leduc"``.
        limit: Bytes that it may take; by default the free memory.

    Raises:
        MemoryLimitError: It would take more; says both figures.
    """
    if limit is None and needed <= LEAST:
        return  # To ask what is free takes longer than small work.
    if needed > (most := free_memory() if limit is None else limit):
        raise MemoryLimitError(what, int(needed), most)


def give_back() -> None:
    """Give memory that is freed back to the system, where the C library keeps it until told."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause garbage collection.

    Visiting a game makes millions of objects without cycles; the search for cycles would look
    through all of them again and again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
