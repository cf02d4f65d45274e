"""Free memory, and budgets for the memory that a piece of work may take.

Work that may grow too large runs under a :class:`MemoryBudget`. It announces large allocations
before it makes them (:func:`reserve`, :func:`reserves`), and the growth of the process is measured.
The growth also includes memory that was not announced, such as the game states that a user's rules
create. Announcements alone would miss that memory, and measurements alone would notice an array
that does not fit too late.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from ..errors import MemoryLimitError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
FALLBACK = 4 << 30
"""Bytes assumed free if the system does not report them."""
LEAST = 64 << 20
"""Smallest number of bytes that :func:`free_memory` returns: no small game is ever rejected."""
SHARE = 0.9
"""Share of the free memory that work may take."""

# ------------------------------------------------------------------------------------ to spend


def free_memory() -> int:
    """Return the bytes of memory that work may take.

    The number is nine tenths of the memory that is free in the system, in the control groups of
    this process and within its own limits, but at least :data:`LEAST`.
    """
    limits = [_free_in_system(), *_left_in_groups(), *_left_to_process()]
    return max(LEAST, int(min(limits) * SHARE))


def _free_in_system() -> int:
    with suppress(OSError, StopIteration, ValueError), open("/proc/meminfo") as lines:
        available = next(line for line in lines if line.startswith("MemAvailable"))
        if (free := int(available.split()[1]) * 1024) > 0:
            return free
    # Elsewhere only the installed memory is known; assume that half of it is free.
    with suppress(AttributeError, OSError, ValueError):
        if (half := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2) > 0:
            return half
    return FALLBACK


GROUP_FILES = {
    "cgroup2": ("memory.max", "memory.current", "inactive_file"),
    "cgroup": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Files of a control group by type of file system: limit, use, and the line of ``memory.stat`` with
the cached files. Cached files count as used, but the system drops them when memory is needed."""


def _left_in_groups(process: Path = Path("/proc/self"), root: Path = Path("/")) -> Iterator[int]:
    """Yield the bytes left in each control group with a limit, from this process's group upwards.

    Args:
        process: Directory of the process below ``/proc``.
        root: Directory that contains the mount points.
    """
    try:
        groups = [line.split(":", 2) for line in (process / "cgroup").read_text().splitlines()]
        mounts = (process / "mountinfo").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    group_of = {
        "cgroup2": next((path for number, _, path in groups if number == "0"), None),
        "cgroup": next((path for _, names, path in groups if "memory" in names.split(",")), None),
    }
    for line in mounts:
        head, _, tail = line.partition(" - ")
        fields, kind = head.split(), tail.split()
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in group_of:
            continue
        if kind[0] == "cgroup" and "memory" not in kind[2].split(","):
            continue
        if (path := group_of[kind[0]]) is None:
            continue
        # A container may see only a part of the hierarchy, mounted in place of the whole.
        seen, top = _unescaped(fields[3]), root / _unescaped(fields[4]).lstrip("/")
        inside = path[len(seen.rstrip("/")) :] if f"{path}/".startswith(f"{seen}/") else path
        group = top / inside.strip("/")
        for folder in (group, *group.parents):
            yield from _left_in_group(folder, *GROUP_FILES[kind[0]])
            if folder == top:
                break


def _left_in_group(folder: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    with suppress(KeyError, OSError, ValueError):
        maximum = int((folder / limit).read_text())
        in_use = int((folder / used).read_text())
        with suppress(KeyError, OSError, ValueError):
            lines = (folder / "memory.stat").read_text().splitlines()
            in_use -= int(dict(line.split(maxsplit=1) for line in lines)[cached])
        yield maximum - in_use


def _unescaped(path: str) -> str:
    """Return a path of ``mountinfo`` with octal escapes of blanks decoded."""
    return path.encode().decode("unicode_escape") if "\\" in path else path


def _left_to_process() -> Iterator[int]:
    """Yield the bytes left of the limit that ``ulimit -v`` sets, if there is one."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        maximum = resource.getrlimit(resource.RLIMIT_AS)[0]
        if maximum != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield maximum - pages * resource.getpagesize()


# ---------------------------------------------------------------------------------------- spent

NOISE = 2 << 20
"""Growth in bytes that a budget ignores, for instance of imported modules."""
FIRST_LOOK = 16
"""Number of items of a loop before its first measurement."""
LOOKS = 200
"""A loop that fills the limit is measured at least this many times."""
FARTHEST = 1 << 14
"""Largest number of items between two measurements."""
GIVEN_BACK_FROM = 8 << 20
"""Growth of the process in bytes from which freed memory is returned to the system afterwards."""


def taken() -> int:
    """Return the bytes that only this process uses; 0 if the system does not report them."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
            fields = file.read().split()
            return (int(fields[1]) - int(fields[2])) * _PAGE
    with suppress(ImportError, AttributeError, OSError):
        import resource

        # The peak, which equals the current use while a process grows. The unit is KiB, on macOS
        # bytes.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class MemoryBudget:
    """Limit of the bytes that a piece of work may take.

    Args:
        what: Name of the work in errors: ``"compiling leduc"``.
        limit: Bytes that the work may take.
    """

    def __init__(self, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        self.watch: Callable[[int, int], object] = lambda count, coming: None
        """Function that every measurement calls, with the number of items and the bytes that will
        be allocated for them."""
        self._before = taken()

    @property
    def spent(self) -> int:
        """Bytes by which the process has grown."""
        return max(0, taken() - self._before - NOISE)

    def reserve(self, coming: int, what: str | None = None) -> None:
        """Announce an allocation.

        Args:
            coming: Bytes to be allocated; 0 only measures the growth so far.
            what: Name of the work in errors, if the name of the budget is not specific enough.

        Raises:
            MemoryLimitError: The growth so far plus ``coming`` exceeds the limit.
        """
        if (needed := self.spent + int(coming)) > self.limit:
            raise MemoryLimitError(what or self.what, needed, self.limit)

    def look(self, count: int, coming: int = 0) -> int:
        """Measure the growth from within a loop.

        The loop calls this function again at the returned number of items, so that even a loop of a
        microsecond per item can afford it.

        Args:
            count: Number of items so far.
            coming: Bytes that will be allocated for them after the loop.

        Returns:
            Number of items at which to call again; the larger the items, the sooner.

        Raises:
            MemoryLimitError: The growth so far plus ``coming`` exceeds the limit.
        """
        if count < FIRST_LOOK:
            return FIRST_LOOK
        self.reserve(coming)
        self.watch(count, coming)
        each = max(1.0, (self.spent + coming) / count)
        # Bytes per item are not constant: if game states store their history, the bytes of a path
        # grow with the square of its length. So look again after a quarter more items at most.
        return count + max(1, min(FARTHEST, count // 4, int(self.limit / LOOKS / each)))


_current: ContextVar[MemoryBudget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(what: str, limit: int | None = None) -> Iterator[MemoryBudget]:
    """Run a piece of work under a budget, which :func:`reserve` uses within the context.

    Args:
        what: Name of the work in errors.
        limit: Bytes that the work may take; by default the free memory.
    """
    current = MemoryBudget(what, free_memory() if limit is None else limit)
    token = _current.set(current)
    try:
        yield current
    finally:
        _current.reset(token)
        if current.spent > GIVEN_BACK_FROM:
            give_back()


def reserve(coming: int, what: str | None = None) -> None:
    """Announce an allocation to the current budget, or compare it with the free memory."""
    if (current := _current.get()) is not None:
        current.reserve(coming, what)
    else:
        require(coming, what or "this")


def reserves(
    coming: Callable[Arguments, int],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return a decorator for functions that allocate much: each call first announces its bytes.

    Args:
        coming: Function from the arguments of the call to the bytes to be allocated.
    """

    def decorated(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(work)
        def reserved(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            reserve(coming(*args, **kwargs))
            return work(*args, **kwargs)

        return reserved

    return decorated


def require(needed: float, what: str, limit: int | None = None) -> None:
    """Raise an error if work would take more memory than allowed, before it begins.

    Args:
        needed: Bytes that the work will take.
        what: Name of the work in the error: ``"solving leduc"``.
        limit: Bytes that it may take; by default the free memory.

    Raises:
        MemoryLimitError: The work would take more; the message has both numbers.
    """
    if limit is None and needed <= LEAST:
        return  # Reading the free memory would take longer than small work itself.
    if needed > (allowed := free_memory() if limit is None else limit):
        raise MemoryLimitError(what, int(needed), allowed)


def give_back() -> None:
    """Return freed memory to the system, if the C library still holds it."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause garbage collection within the context.

    Visiting a game creates millions of objects without cycles, and every search for cycles would
    visit all of them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
