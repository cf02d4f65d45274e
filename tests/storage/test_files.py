"""Files that are replaced as a whole: what killed processes leave, and what live ones write."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcfr._util.files import HAS_LOCKS, replacing

locks = pytest.mark.skipif(not HAS_LOCKS, reason="there are no locks of files")

WRITER = """if True:
    import sys, time
    from tensorcfr._util.files import replacing
    with replacing(sys.argv[1]) as file:
        file.write(b"of the child")
        file.flush()
        print("writing", flush=True)
        sys.stdin.readline()
"""


def writer(path: Path) -> subprocess.Popen[str]:
    """A process that has begun to write a file, and goes on when it is told."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "writing\n"
    return child


def write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


@locks
def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "game[1].npz"
    write(path, b"old")
    child = writer(path)
    assert len(os.listdir(tmp_path)) == 2
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert len(os.listdir(tmp_path)) == 2
    assert path.read_bytes() == b"old"
    write(path, b"new")
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"new"


@locks
def test_what_a_live_process_writes_stays(tmp_path: Path) -> None:
    path = tmp_path / "game.npz"
    child = writer(path)
    write(path, b"of the parent")
    assert len(os.listdir(tmp_path)) == 2
    assert path.read_bytes() == b"of the parent"
    child.communicate("\n")
    assert child.returncode == 0
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"of the child"


def test_only_its_own_unfinished_files_are_removed(tmp_path: Path) -> None:
    others = (".other.npz.01234567.tmp", ".game.npz.0123456.tmp", "game.npz.01234567.tmp")
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".game.npz.01234567.tmp").touch()
    write(tmp_path / "game.npz", b"new")
    left = {*others, "game.npz"} | (set() if HAS_LOCKS else {".game.npz.01234567.tmp"})
    assert set(os.listdir(tmp_path)) == left


@locks
def test_many_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    code = (
        "import sys; from tensorcfr._util.files import replacing\n"
        "for _ in range(50):\n"
        "    with replacing(sys.argv[1]) as file: file.write(sys.argv[2].encode() * 5000)"
    )
    path = tmp_path / "game.npz"
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(path), letter]) for letter in "abc"
    ]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() in [letter.encode() * 5000 for letter in "abc"]


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, OSError), (errno.EACCES, PermissionError), (errno.EIO, OSError)],
)
def test_errors_name_the_file_that_was_asked_for(
    number: int, kind: type[OSError], tmp_path: Path
) -> None:
    path = tmp_path / "game.npz"
    write(path, b"old")

    def fail(path: Path) -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise OSError(number, os.strerror(number))

    with pytest.raises(kind) as raised:
        fail(path)
    assert (raised.value.errno, raised.value.filename) == (number, str(path))
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"old"


def test_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "none" / "game.npz"
    with pytest.raises(FileNotFoundError) as raised:
        write(path, b"new")
    assert raised.value.filename == str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be opened")
def test_the_folder_is_synced_after_the_file_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a crash of the machine could take the new name away."""
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(number: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file")
        sync(number)

    def noted_replace(source: Path, target: Path) -> None:
        done.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    with replacing(tmp_path / "a") as file:
        file.write(b"a")
    assert done == ["file", "name", "folder"]
