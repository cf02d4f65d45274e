"""Library of the viewer: named spots, ranges and solutions in a folder of the user.

Requests of the page name an entry, and never a path.  The folder is made when something is first
saved.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from errno import EEXIST
from pathlib import Path
from threading import Lock
from typing import Any

from .._util.argument_checks import brief
from .._util.files import replacing
from ..errors import suggest

SUFFIXES = {"spots": ".toml", "ranges": ".txt", "solutions": ".npz"}
"""Suffix of the files of each kind of entry; the kind is the name of their folder."""
STATE = "page.json"
"""Name of the file with the state of the page, and ending of that of a solution."""
MAX_BYTES = 1_000_000
"""Largest size of a text, in bytes."""
MAX_LISTED = 500
"""Largest number of entries that are listed for each kind."""
RECENT = 12
"""Number of spots that are remembered."""
LAST = ("last A", "last B")
"""Names of the solutions that are kept when the viewer ends."""
_NAME = re.compile(r"\w(?:[\w .,+()%=@'-]{0,78}[\w)%+])?")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Pattern of the names that Windows reserves for devices."""
LOG = logging.getLogger(__name__)


def default_folder() -> Path:
    """Return the folder for the user's data of this program on this system."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "tensorcfr"


class Library:
    """Entries of a folder, by kind and name.

    Args:
        folder: The folder; it need not exist.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser().absolute()
        self._lock = Lock()

    def path(self, kind: Any, name: Any) -> Path:
        """Return the path of an entry's file, which need not exist.

        Raises:
            ValueError: There is no such kind, or the name is not one that every system allows.
        """
        if kind not in tuple(SUFFIXES):
            raise ValueError(f"there are no {brief(kind)}; {suggest(str(kind)[:60], SUFFIXES)}")
        if not isinstance(name, str) or not _NAME.fullmatch(name) or _RESERVED.fullmatch(name):
            raise ValueError(
                f"a name has at most 80 letters, digits, blanks and .,+()%=@'-, not {brief(name)}"
            )
        return self.folder / str(kind) / f"{name}{SUFFIXES[kind]}"

    def about(self) -> dict[str, Any]:
        """Return the folder, and the entries of each kind: name, bytes and time of each, the latest
        first."""
        return {"folder": str(self.folder)} | {kind: self._entries(kind) for kind in SUFFIXES}

    def _entries(self, kind: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = []
        with suppress(OSError), os.scandir(self.folder / kind) as files:
            for file in files:
                name = file.name.removesuffix(SUFFIXES[kind])
                if name == file.name or not _NAME.fullmatch(name):
                    continue
                with suppress(OSError):
                    status = file.stat()
                    entries.append({"name": name, "bytes": status.st_size, "time": status.st_mtime})
        return sorted(entries, key=lambda entry: -entry["time"])[:MAX_LISTED]

    def read(self, kind: Any, name: Any) -> str:
        """Return the text of a spot or a range.

        Raises:
            ValueError: There is no such entry, or it is not a text.
        """
        path = self.existing(kind, name)
        content = _first_bytes(path)
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{path}: the file is not a text") from None

    def existing(self, kind: Any, name: Any) -> Path:
        """Return the path of an entry that exists.

        Raises:
            ValueError: There is no such entry.
        """
        path = self.path(kind, name)
        if not path.is_file():
            raise ValueError(f"{path}: there is no such file")
        return path

    def target(self, kind: Any, name: Any, *, force: bool) -> Path:
        """Return the path to which an entry is written, in a folder that exists.

        Raises:
            FileExistsError: The entry exists, and ``force`` is False.
            OSError: The folder cannot be made.
        """
        path = self.path(kind, name)
        if path.exists() and not force:
            raise FileExistsError(EEXIST, "the file exists", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, kind: Any, name: Any, text: str, *, force: bool = False) -> Path:
        """Write a spot or a range; see :meth:`target`."""
        path = self.target(kind, name, force=force)
        with replacing(path) as file:
            file.write(text.encode())
        return path

    def remove(self, kind: Any, name: Any) -> None:
        """Remove an entry.

        Raises:
            ValueError: There is no such entry.
        """
        path = self.existing(kind, name)
        path.unlink()
        _state_of(path).unlink(missing_ok=True)

    # -------------------------------------------------------------------------- state of the page

    def page(self, name: str | None = None) -> dict[str, Any]:
        """Return the state of the page that was kept, or that of a solution; empty without one."""
        path = self.folder / STATE if name is None else _state_of(self.path("solutions", name))
        try:
            state = json.loads(_first_bytes(path))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            LOG.warning("the viewer cannot read %s: %s", path, error)
            return {}
        return state if isinstance(state, dict) else {}

    def keep_page(self, state: Mapping[str, Any], name: str | None = None) -> None:
        """Keep the state of the page, or that of a solution.

        Raises:
            OSError: The file cannot be written.
            ValueError: The state is too long.
        """
        path = self.folder / STATE if name is None else _state_of(self.path("solutions", name))
        text = json.dumps(state, ensure_ascii=False)
        if len(text) > MAX_BYTES:
            raise ValueError("the state of the page is too long")
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text.encode())

    def change_page(self, **parts: Any) -> None:
        """Keep some parts of the state of the page, and leave the others as they are."""
        with self._lock:
            self.keep_page(self.page() | parts)

    def remember(self, fields: Mapping[str, str]) -> None:
        """Put a spot at the head of the recent ones, which the page offers."""
        recent = [spot for spot in _maps(self.page().get("recent")) if spot != fields]
        self.change_page(recent=[dict(fields), *recent][:RECENT])

    def keep_solutions(self, solutions: Iterable[Any], view: Mapping[str, Any]) -> list[Path]:
        """Save solutions under the names :data:`LAST`, in place of earlier ones.

        Returns:
            The paths.

        Raises:
            OSError: A file cannot be written.
        """
        paths = []
        for name, solution in zip(LAST, solutions, strict=False):
            target = self.target("solutions", name, force=True)
            paths.append(solution.save(target, force=True))
            self.keep_page(view, name)
        return paths


def _first_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{path}: the file has more than {MAX_BYTES:,} bytes")
    return content


def _state_of(path: Path) -> Path:
    """Return the path of the state of the page for a solution."""
    return path.with_name(f"{path.name}.{STATE}")


def _maps(entries: Any) -> list[Any]:
    """Return the mappings of a list; nothing if it is not a list."""
    return (
        [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )
