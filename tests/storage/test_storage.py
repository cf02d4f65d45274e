"""Games on disk: what was saved comes back, and whatever else lies there is refused by name."""

from __future__ import annotations

import errno
import io
import json
import operator
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storage.test_solution_files import Spoil, spoiled
from support.random_games import random_game
from support.spoiling import Suited, compiled
from tensorcfr import Solution
from tensorcfr._util import files
from tensorcfr.compilers import compile_game
from tensorcfr.errors import FileSizeError, MemoryLimitError
from tensorcfr.model.flat_game import FlatGame
from tensorcfr.payoff import PayoffEntries
from tensorcfr.rules import Chance, Decision, Game, Terminal
from tensorcfr.storage import archive, load_game, save_game
from tensorcfr.storage.archive import DIGEST, HEADER, VERSION, digest_of, read_arrays, write_arrays
from tensorcfr.storage.game_files import pack_game, pack_labels, unpack_game


class Odd(Game):
    """Labels that are empty, long, of many bytes, of many lines, and half a surrogate pair."""

    n_players = 1

    def node(self, history: tuple[str, ...]) -> Chance | Decision | Terminal:
        if not history:
            return Chance({"♠": 0.5, "\udc80": 0.5})
        if len(history) == 1:
            return Decision(0, "" if history[0] == "♠" else "zwölf\n\0" * 9, ("", "♥", "日本"))
        return Terminal((1.0,))


class Over(Game):
    """No decisions and no chance."""

    def node(self, history: tuple[str, ...]) -> Terminal:
        return Terminal((1.0, -1.0))


GAMES: dict[str, Any] = {
    "kuhn": "kuhn",
    "kuhn for three": "kuhn(players=3)",
    "leduc": "leduc",
    "goofspiel": "goofspiel(cards=3)",
    "matching pennies": "matching_pennies",
    "odd labels": Odd(),
    "no decisions": Over(),
    "random": random_game(5, n_players=3),
    "merged": Suited(),
}
COMPILED = ("histories:kuhn", "blocks", "histories:blocks", "lazy")
"""Games of ``spoiling.py``, with other views."""


@pytest.fixture
def kuhn() -> FlatGame:
    return compile_game("kuhn")


@pytest.mark.parametrize("name", [*GAMES, *COMPILED])
def test_what_was_saved_comes_back(name: str, tmp_path: Path) -> None:
    game = compiled(name) if name in COMPILED else compile_game(GAMES[name])
    again = load_game(save_game(game, tmp_path / "game"))
    assert_same(again, game)
    np.testing.assert_array_equal(again.tree.infoset, game.tree.infoset)
    assert not any(array.flags.writeable for array in again.arrays().values())


@pytest.mark.openspiel
def test_a_recognised_game_comes_back(tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    game = compiled("openspiel:leduc_poker")
    again = load_game(save_game(game, tmp_path / "game"))
    assert_same(again, game)
    assert again.histories is not None
    assert again.public is not None
    assert again.merged is not None


def assert_same(one: FlatGame, other: FlatGame) -> None:
    expected = other.arrays()
    assert list(one.arrays()) == list(expected)
    for name, array in one.arrays().items():
        assert array.dtype == expected[name].dtype, name
        np.testing.assert_array_equal(array, expected[name], name)
    for name in ("name", "outcome_labels"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("infoset_labels", "infoset_actions"):
        assert type(getattr(one, name)) is type(getattr(other, name))
        assert list(getattr(one, name)) == list(getattr(other, name))
    if other.public is not None:
        assert one.public[1:] == other.public[1:]
    assert one.digest == other.digest


def test_labels_that_are_made_on_demand_are_not_kept(tmp_path: Path) -> None:
    arrays = pack_game(compiled("lazy"))
    assert "game/infosets/text" not in arrays
    assert "game/actions/kind" not in arrays
    again = unpack_game(arrays)
    label = again.infoset_labels[100]
    assert again.infoset_index[label] == 100
    del arrays["game/public/prior"]
    with pytest.raises(ValueError, match=r"^array 'game/public/prior' is missing$"):
        unpack_game(arrays)


@pytest.mark.parametrize(
    ("asked", "written"), [("kuhn", "kuhn.npz"), ("kuhn.npz", "kuhn.npz"), ("kuhn.v2", "kuhn.v2")]
)
def test_the_suffix(kuhn: FlatGame, tmp_path: Path, asked: str, written: str) -> None:
    assert save_game(kuhn, str(tmp_path / asked)) == tmp_path / written
    assert os.listdir(tmp_path) == [written]
    assert load_game(tmp_path / asked).name == "kuhn"


def test_a_changed_number_is_not_taken(kuhn: FlatGame, tmp_path: Path) -> None:
    """Of a label nothing but the digest can tell."""
    path = save_game(kuhn, tmp_path / "game")
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["game/edges/text"] = arrays["game/edges/text"] ^ 1
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"its digest is of other arrays or another header$"):
        load_game(path)


def test_a_file_that_is_open(kuhn: FlatGame, tmp_path: Path) -> None:
    content = save_game(kuhn, tmp_path / "game").read_bytes()
    assert_same(load_game(io.BytesIO(content)), kuhn)
    with pytest.raises(ValueError, match=r"^the file is damaged: "):
        load_game(io.BytesIO(content[:2000] + b"x" + content[2001:]))


def test_sizes_are_compared_with_the_memory_first(
    kuhn: FlatGame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_game(kuhn, tmp_path / "game")
    monkeypatch.setattr(archive, "read_member", None)  # Nothing is read.
    with pytest.raises(MemoryLimitError, match=r"^reading .*game\.npz needs at least ") as raised:
        load_game(path, memory_limit=1000)
    assert isinstance(raised.value, ValueError)
    with pytest.raises(ValueError, match=r"^reading "):
        Solution.load(path, memory_limit=1000)


def test_compressed_members_are_refused(kuhn: FlatGame, tmp_path: Path) -> None:
    """4 MB that would be 4 GiB are not so much as looked into."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb, bomb.open("a.npy", "w") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(ValueError, match=r"bomb\.npz is damaged: member 'a\.npy' is compressed"):
        load_game(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "'<f8'",
            "'>f8'",
            r"value\.npy' has foreign byte order \(>f8\)",
        ),
        ("'<f8'", "'|O8'", "is of dtype O with 1 dimensions"),
        ("'<f8'", "'<f1'", "is not a plain array"),
        ("'<f8'", "'<f4'", "is 480 bytes long, not the 240 of float32"),
        ("(60,)", "(2**9,)", "is not a plain array"),
        ("(60,)", "(61,)", "is 480 bytes long, not the 488 of float64"),
        ("(60,)", "(99999999999999,)", "is 480 bytes long, not the 799,999,999,999,992 of"),
        ("False", "{{{{{", "is not a plain array"),
    ],
)
def test_what_a_member_says_of_itself(
    old: str, new: str, message: str, kuhn: FlatGame, tmp_path: Path
) -> None:
    path = save_game(compiled("histories:kuhn"), tmp_path / "kuhn")
    with zipfile.ZipFile(path) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    name = "game/form/payoff/value.npy"
    head, numbers = members[name][:128], members[name][128:]
    text = head.decode("latin1").replace(old, new).rstrip("\n").rstrip()
    members[name] = f"{text:<127}\n".encode("latin1") + numbers
    with zipfile.ZipFile(path, "w") as whole:
        for key, content in members.items():
            whole.writestr(key, content)
    with pytest.raises(ValueError, match=message):
        load_game(path)


def test_the_file_is_plain(kuhn: FlatGame, tmp_path: Path) -> None:
    with np.load(save_game(kuhn, tmp_path / "kuhn"), allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert header == {"format": "tensorcfr", "version": VERSION, "kind": "game", "name": "kuhn"}
        arrays = {key: archive[key] for key in archive.files if key != DIGEST}
        assert archive[DIGEST].tobytes() == digest_of(arrays).tobytes()
        assert archive["game/public/parent"].tolist() == [-1, 0, 0, 1, 1, 2, 2, 4, 4]
        assert (
            archive["game/form/payoff/value"].tolist()
            == kuhn.form.part(PayoffEntries).value.tolist()
        )
        assert archive["game/infosets/text"].tobytes() == "".join(kuhn.infoset_labels).encode()


def test_equal_actions_are_stored_once() -> None:
    arrays = pack_game(compile_game("leduc"))
    assert len(arrays["game/actions/kind"]) == 936
    assert sorted(np.diff(arrays["game/actions/offset"])) == [2, 2, 3]
    assert len(arrays["game/actions/text"]) == len("callraisefoldcallfoldcallraise")


def test_a_game_can_be_packed_among_other_arrays(kuhn: FlatGame) -> None:
    arrays = pack_game(kuhn)
    assert all(key.startswith("game/") for key in arrays)
    assert_same(unpack_game({**arrays, "solution/average": np.zeros(3)}), kuhn)


def says(**fields: Any) -> Spoil:
    """Fields of the header."""
    return lambda header, arrays: header.update(fields)


def has(key: str, *value: float) -> Spoil:
    """An array."""
    return lambda header, arrays: arrays.update({key: np.array(value)})


def lacks(key: str) -> Spoil:
    """No such array of the game."""
    return lambda header, arrays: arrays.pop(f"game/{key}")


def lists(*views: str) -> Spoil:
    """The views that the file has."""
    return lambda header, arrays: arrays.update(pack_labels("game/views", [*views]))


def changed(key: str, at: Any, to: Any) -> Spoil:
    """A number of an array of the game."""
    return lambda header, arrays: operator.setitem(arrays[f"game/{key}"], at, to)


OLD = "was written by tensorcfr 0.6 or older: its format has version"
NEW = "was written by a newer tensorcfr: its format has version"
FOREIGN: list[tuple[Spoil, str]] = [
    (says(version=VERSION + 1), f"{NEW} 5, this one reads 4"),
    (says(version=10**3000), f"{NEW} a number of 9966 bits, this one reads 4"),
    (
        says(version=1),
        f"{OLD} 1, this one reads 4; load it with tensorcfr 0.15.0 and save it again",
    ),
    (
        says(version=3),
        f"{OLD} 3, this one reads 4; load it with tensorcfr 0.15.0 and save it again",
    ),
    (lambda header, arrays: header.clear(), "was not written by tensorcfr"),
    (says(kind="solution"), "holds a solution, not a game"),
]
DAMAGED: list[tuple[Spoil, str]] = [
    (says(version=0), "header.version is 0, not a whole number from 4 to 4"),
    (says(version="1"), "header.version is '1', not a whole number from 4 to 4"),
    (says(author="me"), "header has the unknown key 'author'"),
    (says(name="leduc"), "header.name is 'leduc', but the game is 'kuhn'"),
    (has("game/more", 0.0), "array 'game/more' is unknown"),
    (has("solution/policy", 0.0), "array 'solution/policy' is unknown"),
    (lacks("tree/parent"), "array 'game/tree/parent' is missing"),
    (lacks("infosets/text"), "array 'game/infosets/text' is missing"),
    (lacks("form/payoff/column"), "array 'game/form/payoff/column' is missing"),
    (
        has("game/infosets/text", 1.5),
        "array 'game/infosets/text' is float64 (1,), not a row of uint8",
    ),
    (changed("infosets/text", 0, 0xFF), "array 'game/infosets/text' is not UTF-8"),
    (
        changed("infosets/text_offset", -1, 99),
        "array 'game/infosets/text_offset' does not go from 0 to 24 without falling",
    ),
    (
        changed("actions/offset", 0, 1),
        "array 'game/actions/offset' does not go from 0 to 2 without falling",
    ),
    (
        changed("actions/kind", 3, 1),
        "array 'game/actions/kind' points beyond the tuples of actions",
    ),
    (changed("nodes/given", 0, 0), "array 'game/nodes/given' does not give 4 labels"),
    (lists("form"), "array 'game/views/text' lists neither labels nor a public tree"),
    (
        lists("form", "labels"),
        "array 'game/views/text' lists neither a history tree nor a public one",
    ),
    (changed("public/prior", (0, 1), 0.5), "V1 (prior): it sums to 1.3333333333333333"),
    (
        changed("tree/probability", 4, 0.25),
        "T12 (chance sums to 1): they sum to 0.75 at node 1 (history [J])",
    ),
]
SPOILED = FOREIGN + [(spoil, f"is damaged: {message}") for spoil, message in DAMAGED]


@pytest.mark.parametrize(("spoil", "message"), SPOILED, ids=[message for _, message in SPOILED])
def test_a_spoiled_file_says_what_is_wrong(spoil: Spoil, message: str, tmp_path: Path) -> None:
    path = tmp_path / "kuhn.npz"
    spoiled(save_game(compiled("histories:kuhn"), path), path, spoil)
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        load_game(path)
    assert str(raised.value) == f"{path} {message}"


def test_what_is_no_array_in_the_archive(kuhn: FlatGame, tmp_path: Path) -> None:
    arrays = pack_game(kuhn)
    del arrays["game/name/text"]
    path = write_arrays(tmp_path / "kuhn", {"kind": "game"}, arrays)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("game/name/text", b"kuhn")
    with pytest.raises(ValueError, match=r"kuhn\.npz is damaged: member 'game/name/text' is no"):
        load_game(path)


def save_one_array(path: Path) -> None:
    with open(path, "wb") as file:
        np.save(file, np.arange(3))


def save_half(path: Path) -> None:
    whole = save_game(compile_game("kuhn"), path).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def save_flipped(path: Path) -> None:
    """One changed byte in the middle of an array: the checksum of the archive tells."""
    whole = bytearray(save_game(compile_game("leduc"), path).read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("what is this?"),
        lambda path: path.write_bytes(b"\x80\x04N."),
        save_one_array,
        save_half,
    ],
    ids=["empty", "text", "pickle", "one array", "half"],
)
def test_no_npz_file(write: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "kuhn.npz"
    write(path)
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        load_game(path)
    assert str(raised.value) == f"{path} is not an .npz file, or it is damaged"


def test_a_flipped_bit(tmp_path: Path) -> None:
    save_flipped(path := tmp_path / "kuhn.npz")
    with pytest.raises(ValueError, match=r"^.*kuhn\.npz is damaged: array 'game/.*Bad CRC-32"):
        load_game(path)


def test_somebody_elses_npz_file(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    for content in ({"a": np.arange(3)}, {HEADER: np.arange(3)}, {HEADER: np.zeros(3, np.uint8)}):
        np.savez(path, **content)
        with pytest.raises(ValueError, match=r"other\.npz was not written by tensorcfr"):
            load_game(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"kuhn\.npz"):
        load_game(tmp_path / "kuhn")


class Full:
    """A disk that takes so many bytes and no more."""

    def __init__(self, room: int) -> None:
        self.room = room

    def open(self, path: Path, mode: str) -> Any:
        file = open(path, mode)  # noqa: SIM115
        write = file.write

        def limited(data: Any) -> int:
            self.room -= len(data)
            if self.room < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(data)

        file.write = limited  # type: ignore[method-assign]
        return file


@pytest.mark.parametrize("room", [0, 1000, 10_000])
def test_a_full_disk_leaves_what_was_there(
    kuhn: FlatGame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    path = save_game(kuhn, tmp_path / "game")
    before = path.read_bytes()
    monkeypatch.setattr(files, "open", Full(room).open, raising=False)
    with pytest.raises(OSError, match="No space left on device") as raised:
        save_game(compile_game("leduc"), path)
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(path))
    assert os.listdir(tmp_path) == ["game.npz"]
    assert path.read_bytes() == before


def test_an_interrupt_leaves_what_was_there(
    kuhn: FlatGame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    path = save_game(kuhn, tmp_path / "game")
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_game(compile_game("leduc"), path)
    assert os.listdir(tmp_path) == ["game.npz"]
    assert load_game(path).name == "kuhn"


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are those of POSIX")
def test_links_and_permissions_are_the_usual_ones(kuhn: FlatGame, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.npz"
    link = tmp_path / "link.npz"
    link.symlink_to(elsewhere)
    assert save_game(kuhn, link) == link
    assert link.is_symlink()
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(elsewhere.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^array 'labels' holds objects, which need pickle$"):
        write_arrays(tmp_path / "x", {"kind": "x"}, {"labels": np.array(["a"], dtype=object)})
    assert os.listdir(tmp_path) == []


def test_other_kinds_of_content(tmp_path: Path) -> None:
    path = write_arrays(tmp_path / "x", {"kind": "notes", "more": [1]}, {"a/b": np.arange(3)})
    header, arrays = read_arrays(path, "notes")
    assert header == {"format": "tensorcfr", "version": VERSION, "kind": "notes", "more": [1]}
    assert list(arrays) == ["a/b"]
    assert arrays["a/b"].tolist() == [0, 1, 2]


def test_values_of_a_header_are_counted(tmp_path: Path) -> None:
    """A list of lists takes twenty times its text."""
    path = write_arrays(
        tmp_path / "notes", {"kind": "notes", "more": [[] for _ in range(10**5)]}, {}
    )
    size = path.stat().st_size
    with pytest.raises(FileSizeError, match=r"^reading .*notes\.npz needs at least"):
        read_arrays(path, "notes", memory_limit=20 * size)
    header, _ = read_arrays(path, "notes", memory_limit=40 * size)
    assert len(header["more"]) == 10**5
