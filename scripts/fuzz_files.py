"""Damage files of every kind in every way there is, and see what reads them.

    python -m scripts.fuzz_files --inputs 1000000 --seed 1

An input is a sound file and a mutation, both drawn by the seed and the number of the input, so that
every one can be made again (``--show solution:1234``).  Mutations know the structure of the files:
bytes, members of the archive, descriptions of arrays, numbers in arrays, values in headers, cells
in tables, tokens in texts.  Half of them leave the digest as it was: then a file that is read must
hold what it held.  The others put a new digest in: then the checks behind it must refuse the file,
or the game must be sound, which is tried by playing it with kernels that check their bounds.

Inputs are tried in batches, each in a process of its own, so that a crash or a hang is seen and
the next input tried.  The exit status is 1 if there was any defect.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import mmap
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

HANG_SECONDS = 5.0
"""Processor time that an input may take."""
LOST_SECONDS = 400.0
"""Seconds without a sign of life after which a batch is ended."""
BATCH = 5_000
"""Inputs per process."""
SHARES = {
    "header": 0.40,
    "table": 0.38,
    "game": 0.06,
    "solution": 0.05,
    "efg": 0.04,
    "nfg": 0.03,
    "csv": 0.02,
    "json": 0.01,
    "npz": 0.006,
    "parquet": 0.004,
}
"""The share of each loader in the inputs.  The quick loaders come first: each kind has a share of
the time that is left."""
POLICIES = ("csv", "json", "npz", "parquet")
"""The loaders of policies."""
ARCHIVES = ("game", "solution", "header")
"""The loaders of archives with a header."""

EXAMPLES = Path(__file__).parent.parent / "tests" / "data" / "gambit"
"""Files of Gambit with what the library does not write."""
GAMES = (
    "kuhn",
    "kuhn(players=3)",
    "leduc(ranks=2)",
    "goofspiel(cards=2)",
    "matching_pennies",
    "liars_dice(faces=2)",
)
SOLUTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("kuhn", "cfr+", {"keep_best": True}),
    ("kuhn", "dcfr", {"precision": "float32"}),
    ("kuhn", "hedge", {"locks": {"K": {"bet": 0.5}}}),
    ("kuhn", "cfr", {"locks": {"Q": {"bet": 1.0}}}),
    ("leduc(ranks=2)", "cfr+", {}),
    ("kuhn", "external_sampling", {}),
    ("kuhn", "outcome_sampling", {}),
    ("kuhn(players=3)", "pcfr+", {}),
)


class HangError(BaseException):
    """An input took too much time."""


class DefectError(Exception):
    """A loader took what it must not take; says what."""


@dataclass
class Sound:
    """A sound file, taken apart."""

    kind: str
    content: bytes
    header: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    members: dict[str, bytes] = field(default_factory=dict)
    """The bytes of each array, its description included."""
    fingerprint: Any = None


# What is damaged: made once, in a folder that all batches share.


def make_files(folder: Path) -> None:
    """Write the sound files."""
    from tensorcfr import compile_game, save_game, solve
    from tensorcfr.algorithms import ALGORITHMS, OUTCOME_SAMPLING
    from tensorcfr.formats import save_efg, save_nfg, save_policy
    from tensorcfr.sweep import sweep

    for number, name in enumerate(GAMES):
        game = compile_game(name)
        if number % 2:
            game = replace(game, histories=game.tree)
        save_game(game, folder / f"game{number}.npz")
    for number, (name, algorithm, options) in enumerate(SOLUTIONS):
        record: Any = ALGORITHMS[algorithm]
        if record is OUTCOME_SAMPLING:
            record = record(baseline=0.5)
        solution = solve(compile_game(name), record, iters=7, **options)
        solution.save(folder / f"solution{number}.npz")
    sweep(folder / "table0.csv", ["kuhn", "leduc(ranks=2)"], ["cfr", "dcfr(alpha=2)"], iters=30)
    sweep(folder / "table1.csv", ["kuhn"], ["external_sampling", "cfr+"], iters=9, seeds=[0, 1])
    for number, name in enumerate(("kuhn", "kuhn(players=3)", "leduc(ranks=2)")):
        save_efg(compile_game(name), folder / f"efg{number}.efg")
    for number, name in enumerate(("matching_pennies", "goofspiel(cards=2)")):
        save_nfg(compile_game(name), folder / f"nfg{number}.nfg")
    for path in EXAMPLES.iterdir():
        kind = path.suffix.removeprefix(".")
        (folder / f"{kind}-{path.name}").write_bytes(path.read_bytes())
    policy = solve(compile_game("kuhn"), iters=9).policy
    for kind in POLICIES:
        save_policy(policy, folder / f"{kind}0.{kind}")


@cache
def sound_files(folder: Path, kind: str) -> list[Sound]:
    """The sound files of a kind, taken apart."""
    found = []
    source = "solution" if kind == "header" else kind
    for path in sorted(folder.glob(f"{source}*")):
        content = path.read_bytes()
        sound = Sound(kind, content)
        if kind == "npz":
            sound.members = dict(unzip(content))
        if kind in ARCHIVES:
            sound.members = dict(unzip(content))
            for name, member in sound.members.items():
                import numpy as np

                sound.arrays[name] = np.load(io.BytesIO(member))
            sound.header = json.loads(sound.arrays["header"].tobytes())
        sound.fingerprint = None if kind == "header" else fingerprint(read(kind, content, folder))
        found.append(sound)
    return found


def unzip(content: bytes) -> list[tuple[str, bytes]]:
    """The members of a sound archive."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name.removesuffix(".npy"), archive.read(name)) for name in archive.namelist()]


def zipped(members: list[tuple[str, bytes]], method: int = 0) -> bytes:
    """An archive of stored members; quicker than the library's, which does far more."""
    out, directory = bytearray(), bytearray()
    for name, data in members:
        raw, crc = f"{name}.npy".encode("utf-8", "surrogatepass"), zlib.crc32(data)
        body = zlib.compress(data)[2:-4] if method else data
        common = (20, 0x800, method, 0, 0x21, crc, len(body), len(data), len(raw), 0)
        directory += struct.pack("<4sH5H3L2H", b"PK\x01\x02", 20, *common)
        directory += struct.pack("<3H2L", 0, 0, 0, 0, len(out)) + raw
        out += struct.pack("<4s5H3L2H", b"PK\x03\x04", *common) + raw + body
    end = (0, 0, len(members), len(members), len(directory), len(out), 0)
    return bytes(out + directory + struct.pack("<4s4H2LH", b"PK\x05\x06", *end))


def described(array: Any) -> bytes:
    """An array as a member."""
    import numpy as np

    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()


# Mutations.  Each returns the new content, and whether it has a digest of its own content.

Mutated = tuple[bytes, bool]
ODD_NUMBERS = (
    *(-1, -2, 0, 1, 2, 3, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62),
    *(2**63 - 1, -(2**63), -(2**31)),
)
ODD_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, -1e300, math.inf, -math.inf, math.nan)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**53, 2**53 + 1, 10**30, 10**400, -(10**30), 0.5, -0.5),
    *(1e308, 1e309, "", "x", "CFR", "cfr", "lp", "\ud800", "a" * 5000, [], {}, [[]], [1], {"a": 1}),
)


def flip_bytes(rng: Random, sound: Sound) -> Mutated:
    """Change a few bytes or bits."""
    out = bytearray(sound.content)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(out))
        out[at] = rng.choice((out[at] ^ (1 << rng.randrange(8)), rng.randrange(256), 0, 255))
    return bytes(out), False


def cut_bytes(rng: Random, sound: Sound) -> Mutated:
    """Take out, repeat, insert or exchange a piece."""
    content = sound.content
    a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    if rng.random() < 0.7:
        b = min(b, a + rng.choice((1, 4, 16, 64, 1024)))
    piece = content[a:b]
    way = rng.randrange(5)
    if way == 0:
        return content[:a] + content[b:], False
    if way == 1:
        return content[:b] + piece + content[b:], False
    if way == 2:
        return content[:a] + rng.randbytes(b - a) + content[b:], False
    if way == 3:
        return content[:a], False
    return content[:a] + bytes(b - a) + content[b:], False


def change_zip(rng: Random, sound: Sound) -> Mutated:
    """Put odd numbers into the headers of the archive."""
    out = bytearray(sound.content)
    signature = rng.choice((b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"))
    places = []
    at = out.find(signature)
    while at >= 0 and len(places) < 500:
        places.append(at)
        at = out.find(signature, at + 1)
    begin = rng.choice(places)
    length = {b"PK\x01\x02": 46, b"PK\x03\x04": 30, b"PK\x05\x06": 22}[signature]
    for _ in range(rng.choice((1, 1, 2, 3))):
        size = rng.choice((1, 2, 4))
        at = begin + rng.randrange(4, length - size + 1)
        number = rng.choice((rng.getrandbits(32), *ODD_NUMBERS)) % (1 << (8 * size))
        out[at : at + size] = number.to_bytes(size, "little")
    return bytes(out), False


def change_members(rng: Random, sound: Sound) -> Mutated:
    """Leave out, add, rename, repeat, exchange, compress or shuffle members."""
    members = list(sound.members.items())
    way = rng.randrange(8)
    a, b = rng.randrange(len(members)), rng.randrange(len(members))
    method = 0
    if way == 0:
        del members[a]
    elif way == 1:
        members.append((rng.choice(("x", "game/x", "solution/y", "", "../a")), members[a][1]))
    elif way == 2:
        new = rng.choice((members[b][0], members[a][0] + "x", "game/" + members[a][0]))
        members[a] = (new, members[a][1])
    elif way == 3:
        members.append(members[a])
    elif way == 4:
        one, other = members[a], members[b]
        members[a], members[b] = (one[0], other[1]), (other[0], one[1])
    elif way == 5:
        method = 8
    elif way == 6:
        rng.shuffle(members)
    else:
        members[a] = (members[a][0], members[a][1][: rng.randrange(len(members[a][1]))])
    return sealed(rng, members, method)


def change_description(rng: Random, sound: Sound) -> Mutated:
    """Change what a member says of its dtype, order and shape."""
    members = list(sound.members.items())
    at = rng.randrange(len(members))
    name, data = members[at]
    length = 10 + int.from_bytes(data[8:10], "little")
    head, numbers = data[:length], data[length:]
    said = head[10:].decode("latin1")
    old, new = rng.choice(
        (
            ("'<i8'", "'>i8'"),
            ("'<f8'", "'>f8'"),
            ("'<f8'", "'<i8'"),
            ("'<i8'", "'<f8'"),
            ("'<i8'", "'|O'"),
            ("'|u1'", "'|S1'"),
            ("'|u1'", "'|i1'"),
            ("'|u1'", "'<u2'"),
            ("False", "True"),
            ("(", "((("),
            ("(", "(0, "),
            ("(", "(1, "),
            ("(", "(-1, "),
            ("(", "(99999999999999999, "),
            (",)", ", 1)"),
            ("{", "{" * 1000),
            ("}", ""),
            ("'descr'", "'x'"),
            ("False", "()" * 50),
            (")", ", 10**10)"),
        )
    )
    said = said.replace(old, new, 1)
    if rng.random() < 0.1:
        place = rng.randrange(len(said))
        said = said[:place] + chr(rng.randrange(256)) + said[place + 1 :]
    body = said.encode("latin1")
    magic = rng.choice(
        (head[:8], head[:8], b"\x93NUMPY\x02\x00", b"\x93NUMPY\x07\x00", b"PICKLE\0\0")
    )
    size = 2 if magic[6:7] != b"\x02" else 4
    count = rng.choice((len(body), len(body), rng.getrandbits(8 * size))) % (1 << (8 * size))
    if magic == head[:8] and len(body) == len(said) and old in head.decode("latin1"):
        count = len(body)
    members[at] = (name, magic + count.to_bytes(size, "little") + body + numbers)
    return sealed(rng, members)


def change_array(rng: Random, sound: Sound) -> Mutated:
    """Change numbers, shape or dtype of an array."""
    import numpy as np

    name = rng.choice([key for key in sound.members if key not in ("header", "digest")])
    array = sound.arrays[name].copy()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        array = _changed(rng, array, np)
    members = {**sound.members, name: described(array)}
    if rng.random() < 0.1:
        other = rng.choice(list(sound.members))
        if other not in ("header", "digest"):
            members[other] = described(_changed(rng, sound.arrays[other].copy(), np))
    return sealed(rng, list(members.items()))


def _changed(rng: Random, array: Any, np: Any) -> Any:
    """An array with one change."""
    way = rng.randrange(16)
    flat = array.reshape(-1)
    if way < 9 and flat.size:
        at = rng.randrange(flat.size)
        if array.dtype.kind in "fc":
            value: Any = rng.choice((*ODD_FLOATS, flat[at] * (1 + 1e-6), -flat[at], flat[at] + 1))
        else:
            value = rng.choice((*ODD_NUMBERS, flat[at] + 1, flat[at] - 1, rng.randrange(40)))
            value = int(value) % (1 << (8 * array.dtype.itemsize))
            value = np.array(value, dtype=f"u{array.dtype.itemsize}").view(array.dtype)
        with np.errstate(all="ignore"):
            flat[at] = value
    elif way == 9 and flat.size > 1:
        a, b = rng.sample(range(flat.size), 2)
        flat[[a, b]] = flat[[b, a]]
    elif way == 10:
        array = array[: rng.randrange(len(array) + 1)] if array.ndim else array
    elif way == 11:
        array = np.concatenate([array, array]) if array.ndim else array
    elif way == 12:
        kind = rng.choice(
            ("i4", "u8", "f4", "i8", "f8", "u1", "b1", "f2", "c16", ">i8", ">f8", "i1")
        )
        with np.errstate(all="ignore"):
            array = array.astype(kind)
    elif way == 13:
        array = array.reshape((1, *array.shape)) if rng.random() < 0.5 else array.reshape(-1)
    elif way == 14 and array.ndim:
        array = np.roll(array, 1) if rng.random() < 0.5 else array[::-1]
    else:
        array = np.full_like(array, rng.choice((0, 1, 2)))
    return array


def change_header(rng: Random, sound: Sound) -> Mutated:
    """Change the header of an archive."""
    members = {**sound.members, "header": described(_text_array(header_text(rng, sound)))}
    if rng.random() < 0.1:
        members.pop("digest", None)
        return zipped(list(members.items())), True
    return sealed(rng, list(members.items()))


def _text_array(text: str) -> Any:
    import numpy as np

    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def header_text(rng: Random, sound: Sound) -> str:
    """A header with a few changes, as JSON or nearly so."""
    header = json.loads(json.dumps(sound.header))
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change_json(rng, header)
    text = json.dumps(header)
    if rng.random() < 0.15:
        at = rng.randrange(len(text))
        odd = rng.choice(("NaN", "Infinity", "[" * 5000, "1e999", '"', ",", "-", "{}", "\x00"))
        text = text[:at] + odd + text[at + rng.randrange(3) :]
    return text


def _change_json(rng: Random, value: Any) -> None:
    """Change one thing somewhere in an object or a list."""
    while True:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = rng.choice(keys)
        if not isinstance(value[key], (dict, list)) or rng.random() < 0.3:
            break
        value = value[key]
    way = rng.randrange(6)
    old = value[key]
    if way == 0:
        del value[key]
    elif way == 1 and isinstance(value, dict):
        value[rng.choice(("x", "", "name", str(key) + "s"))] = deepcopy(old)
    elif way == 2 and isinstance(old, (int, float)) and abs(old) < 1e300:
        value[key] = rng.choice((old + 1, old - 1, -old, old * 2, float(old), str(old)))
    elif way == 3 and isinstance(value, list):
        value.insert(key, deepcopy(old))
    elif way == 4:
        value[key] = rng.choice(([old], {"x": old}))
    else:
        # A copy: what is put in may be changed in its turn.
        value[key] = deepcopy(rng.choice(ODD_VALUES))


def sealed(rng: Random, members: list[tuple[str, bytes]], method: int = 0) -> Mutated:
    """An archive, mostly with a digest of what it holds now."""
    import numpy as np

    from tensorcfr.storage.archive import digest_of

    if rng.random() < 0.25 or method:
        return zipped(members, method), False
    kept = [(name, data) for name, data in members if name != "digest"]
    arrays = {}
    for name, data in kept:
        try:
            length = 10 + int.from_bytes(data[8:10], "little")
            if length > 500:
                raise ValueError
            arrays[name] = np.load(io.BytesIO(data), allow_pickle=False)
        except Exception:
            # What is no array has no digest.
            return zipped(members), False
    try:
        digest = digest_of(arrays)
    except (ValueError, TypeError):
        return zipped(members), False
    return zipped([*kept, ("digest", described(digest))]), True


def change_text(rng: Random, sound: Sound) -> Mutated:
    """Change the header alone, which is then parsed alone."""
    return header_text(rng, sound).encode("utf-8", "surrogatepass"), True


CELLS = (
    *("", "0", "-1", "1e999", "nan", "inf", "x", "1_0", " 1", "\u0663", "9" * 30, "9" * 200_000),
    *('"', '""', "0.5", "1.5e3", "interrupted", "done", "kuhn", "\x00", "\r", "cfr", "2026-02-30"),
)


def change_cells(rng: Random, sound: Sound) -> Mutated:
    """Change cells, lines or columns of a table."""
    lines = [line.split(",") for line in sound.content.decode().split("\n")]
    for _ in range(rng.choice((1, 1, 2))):
        way = rng.randrange(7)
        row = rng.randrange(len(lines))
        column = rng.randrange(len(lines[row]))
        if way < 3:
            lines[row][column] = rng.choice((*CELLS, rng.choice(rng.choice(lines))))
        elif way == 3:
            lines.insert(rng.randrange(len(lines)), lines[row])
        elif way == 4:
            del lines[row]
            lines = lines or [[""]]
        elif way == 5:
            other = rng.randrange(len(lines))
            lines[row], lines[other] = lines[other], lines[row]
        else:
            lines[row].insert(column, rng.choice(CELLS))
    return "\n".join(map(",".join, lines)).encode("utf-8", "surrogatepass"), True


def byte_table(rng: Random, sound: Sound) -> Mutated:
    """Change bytes of a table, which has no digest."""
    return rng.choice((flip_bytes, cut_bytes))(rng, sound)[0], True


TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|\s+')
ODD_TOKENS = (
    *("{", "}", '"', '""', ",", "0", "1", "-1", "2", "1/2", "1/3", "1/0", "0.5", "1e308", "1e400"),
    *("1e99999999", "9" * 30, "9" * 5000, "-1e-320", "nan", "Infinity", "true", "null", "[", "]"),
    *("c", "p", "t", "EFG", "NFG", "R", "\x00", "\u0663", "\\", '"\\""', "\ufeff", "{" * 5000),
)


def change_tokens(rng: Random, sound: Sound) -> Mutated:
    """Change tokens of a text: leave out, repeat, exchange, or replace."""
    tokens = TOKENS.findall(sound.content.decode())
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not tokens:
            break
        way, at = rng.randrange(6), rng.randrange(len(tokens))
        if way == 0:
            del tokens[at]
        elif way == 1:
            tokens.insert(at, tokens[at])
        elif way == 2:
            tokens.insert(rng.randrange(len(tokens)), rng.choice(ODD_TOKENS))
        elif way == 3:
            tokens[at] = rng.choice(tokens)
        elif way == 4:
            end = at + rng.randrange(40)
            tokens[at:end] = tokens[at:end] * 2
        else:
            tokens[at] = rng.choice(ODD_TOKENS)
    return "".join(tokens).encode("utf-8", "surrogatepass"), True


def change_object(rng: Random, sound: Sound) -> Mutated:
    """Change values of a JSON object."""
    value = json.loads(sound.content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change_json(rng, value)
    return json.dumps(value).encode("utf-8", "surrogatepass"), True


def change_stored(rng: Random, sound: Sound) -> Mutated:
    """Change the archive of a policy, which has neither header nor checksum of its contents."""
    mutation = rng.choice((change_zip, change_members, change_description))
    return mutation(rng, sound)[0], True


Mutation = Callable[[Random, Sound], Mutated]
OF_ARCHIVES: tuple[Mutation, ...] = (
    *(flip_bytes, cut_bytes, change_zip, change_members, change_description),
    *(change_array, change_array, change_header),
)
MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    "game": OF_ARCHIVES,
    "solution": OF_ARCHIVES,
    "header": (change_text,),
    "table": (change_cells, change_cells, byte_table),
    "efg": (change_tokens, change_tokens, byte_table),
    "nfg": (change_tokens, change_tokens, byte_table),
    "csv": (change_cells, change_cells, byte_table),
    "json": (change_tokens, change_object, byte_table),
    "npz": (change_stored, change_stored, byte_table),
    "parquet": (byte_table,),
}


def make_input(folder: Path, seed: int, kind: str, number: int) -> tuple[Sound, str, Mutated]:
    """One input: the sound file, the name of the mutation, and what it made."""
    rng = Random(f"{seed} {kind} {number}")
    sound = rng.choice(sound_files(folder, kind))
    mutation = rng.choice(MUTATIONS[kind])
    return sound, mutation.__name__, mutation(rng, sound)


# What reads the inputs, and what must hold of what was read.


def read(kind: str, content: bytes, folder: Path) -> Any:
    """Read an input as its kind is read; ``folder`` is for loaders that take paths alone."""
    from tensorcfr import Solution, load_game
    from tensorcfr.solvers.solution_file import read_header
    from tensorcfr.storage.archive import parse_header
    from tensorcfr.sweep.table import parse_table

    if kind == "game":
        return load_game(io.BytesIO(content))
    if kind == "solution":
        return Solution.load(io.BytesIO(content))
    if kind == "table":
        return list(parse_table(content, "table"))
    if kind in READ_FROM_PATHS:
        path = folder / f"input.{kind}"
        path.write_bytes(content)
        return READ_FROM_PATHS[kind](path)
    import numpy as np

    header = parse_header(np.frombuffer(content, np.uint8), "header")
    values = header.get("values")
    return read_header(header, 3 if isinstance(values, list) and len(values) == 3 else 2)


def read_rules(path: Path) -> Any:
    """The compiled game of a text."""
    from tensorcfr import compile_game

    return compile_game(path)


def read_kuhn_policy(path: Path) -> Any:
    """A policy of Kuhn poker."""
    from tensorcfr.formats import read_policy

    return read_policy(kuhn(), path)


@cache
def kuhn() -> Any:
    """The game of all policies."""
    from tensorcfr import compile_game

    return compile_game("kuhn")


READ_FROM_PATHS: dict[str, Callable[[Path], Any]] = {
    "efg": read_rules,
    "nfg": read_rules,
    **dict.fromkeys(POLICIES, read_kuhn_policy),
}


def fingerprint(found: Any) -> Any:
    """All that was read, to be compared."""
    from tensorcfr import Policy, Solution
    from tensorcfr.model.game import CompiledGame
    from tensorcfr.solvers.solution_file import pack_solution
    from tensorcfr.storage.archive import digest_of, pack_header
    from tensorcfr.storage.game import pack_game

    if isinstance(found, Policy):
        return found.probabilities.tobytes()
    if isinstance(found, CompiledGame):
        return digest_of(pack_game(found)).tobytes()
    if isinstance(found, Solution):
        header, arrays = pack_solution(found)
        return digest_of({**arrays, "header": pack_header(header)}).tobytes()
    return found


def make_sure(kind: str, found: Any) -> None:
    """Make sure that what was read is sound.

    Raises:
        DefectError: It is not; says why.
    """
    if kind == "table":
        for row in found:
            numbers = (row.seconds, row.nash_conv, row.exploitability)
            if not all(map(math.isfinite, numbers)) or row.iteration < 0 or row.players < 1:
                raise DefectError(f"a row holds {row}")
    elif kind == "header":
        text = json.dumps([asdict_or_text(value) for value in found.values()], allow_nan=False)
        if not 0 <= found["iterations"] <= 2**53 or len(text) > 10**7:
            raise DefectError("a header says what cannot be")
    elif kind in ("game", "efg", "nfg"):
        play(found)
    elif kind in POLICIES:
        from tensorcfr import evaluate

        if not all(map(math.isfinite, evaluate(found.game, found).gains)):
            raise DefectError("the policy cannot be evaluated")
    else:
        go_on(found)


def asdict_or_text(value: Any) -> Any:
    """A value as JSON takes it."""
    return json.loads(json.dumps(value, default=str))


def play(game: Any) -> None:
    """Play a game: all invariants, kernels, and the operator in NumPy beside its kernel."""
    import numpy as np

    from tensorcfr import Solver, evaluate
    from tensorcfr.invariants import check
    from tensorcfr.kernels.iteration import multiply_share
    from tensorcfr.model.policy import Policy
    from tensorcfr.payoff import product

    check(game, expand=True)
    values = evaluate(game, Policy.uniform(game)).values
    solver = Solver(game, "cfr")
    solver.step(2)
    gains = solver.evaluate().gains
    if not all(map(math.isfinite, (*values, *gains))) or min(gains) < -1e-6:
        raise DefectError(f"values {values}, gains {gains}")
    x = np.random.default_rng(0).uniform(size=game.n_sequences)
    for player in range(game.n_players):
        g = np.zeros(game.n_sequences)
        multiply_share(game.form.operator, game.form, player, 0, 1, x, g)
        own = slice(*game.form.player_sequences[player : player + 2])
        if not np.allclose(g[own], product(game.form, player, x), rtol=1e-9, atol=1e-12):
            raise DefectError("the kernel gives another product")


def go_on(solution: Any) -> None:
    """Go on from a solution."""
    import numpy as np

    from tensorcfr import solve

    play(solution.game)
    if solution.state is None:
        return
    if not np.isfinite(solution.last_policy.probabilities).all():
        raise DefectError("the last iterate holds what is no number")
    solution.summary()
    if solution.iterations < 10**9:
        on = solve(solution.game, start=solution, iters=2)
        if not np.isfinite(on.policy.probabilities).all():
            raise DefectError("going on, the average is no number")


def try_input(folder: Path, seed: int, kind: str, number: int) -> tuple[str, str]:
    """Try one input; returns the mutation, and what came of it."""
    sound, mutation, (content, has_digest) = make_input(folder, seed, kind, number)
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        try:
            found = read(kind, content, folder)
        except ValueError:
            return mutation, "refused"
        if kind != "header" and fingerprint(found) == sound.fingerprint:
            return mutation, "same content"
        if not has_digest:
            raise DefectError("read without a word, and holds something else")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    make_sure(kind, found)
    return mutation, "another sound file"


# Batches.


def run_batch(folder: Path, seed: int, kind: str, first: int, count: int, place: Path) -> None:
    """Try some inputs; the number of each is written to ``place`` before, results to stdout."""

    def hang(*_: object) -> None:
        raise HangError

    signal.signal(signal.SIGPROF, hang)
    results: Counter[str] = Counter()
    defects = []
    for sound in sound_files(folder, kind):
        # Kernels are compiled here, not while an input is timed.
        if kind != "header":
            make_sure(kind, read(kind, sound.content, folder))
    with open(place, "r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        for number in range(first, first + count):
            progress[:] = (number + 1).to_bytes(8, "little")
            try:
                mutation, result = try_input(folder, seed, kind, number)
                results[f"{mutation}: {result}"] += 1
            except HangError:
                defects.append([number, f"took more than {HANG_SECONDS:g} s"])
            except Exception:
                defects.append([number, traceback.format_exc(limit=-4)])
    print(json.dumps({"results": results, "defects": defects}))


@dataclass
class Report:
    """What came of the inputs of one kind."""

    results: Counter[str] = field(default_factory=Counter)
    defects: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0


def run_kind(
    folder: Path, seed: int, kind: str, inputs: int, deadline: float, *, bounds: bool
) -> Report:
    """Try the inputs of one kind, batch by batch; with ``bounds``, kernels check theirs."""
    report = Report()
    environment = dict(os.environ)
    if bounds:
        # Kernels with and without these checks must not share a cache.
        environment["NUMBA_BOUNDSCHECK"] = "1"
        environment["NUMBA_CACHE_DIR"] = str(folder / "numba")
    place, first = folder / f"place.{kind}", 0
    while first < inputs and time.monotonic() < deadline:
        count = min(BATCH, inputs - first)
        place.write_bytes(bytes(8))
        words = f"--batch {kind} {first} {count} --seed {seed}".split()
        words += ["--folder", str(folder)]
        started = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-m", "scripts.fuzz_files", *words],
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
            said = json.loads(out)
            report.results.update(said["results"])
            report.defects += [(number, text) for number, text in said["defects"]]
            first += count
        elif place.read_bytes() == bytes(8) and not child.returncode < 0:
            raise RuntimeError(f"the sound files are not sound: {err[-2000:]}")
        else:
            number = max(first, int.from_bytes(place.read_bytes(), "little") - 1)
            report.defects.append((number, f"ended with {child.returncode}: {err[-500:]}"))
            # The results before it are lost, and tried again without it.
            report.results["tried again"] += number - first
            first = number + 1
    return report


def main() -> int:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="when to stop at the latest"
    )
    parser.add_argument("--kinds", default=",".join(SHARES))
    parser.add_argument("--show", metavar="KIND:NUMBER", help="try one input, and print its error")
    parser.add_argument(
        "--unchecked", action="store_true", help="play with kernels that do not check their bounds"
    )
    parser.add_argument("--json", type=Path, help="write the report to this file, too")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.batch:
        kind, first, count = asked.batch[0], int(asked.batch[1]), int(asked.batch[2])
        place = asked.folder / f"place.{kind}"
        run_batch(asked.folder, asked.seed, kind, first, count, place)
        return 0
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        if not list(folder.glob("game*")):
            make_files(folder)
        if asked.show:
            kind, _, number = asked.show.partition(":")
            _, mutation, (content, has_digest) = make_input(folder, asked.seed, kind, int(number))
            print(f"{mutation}, {len(content):,} bytes, {'new' if has_digest else 'old'} digest")
            found = read(kind, content, folder)
            print(found)
            make_sure(kind, found)
            return 0
        deadline = time.monotonic() + 60 * asked.minutes
        total, defects, kinds = 0, 0, asked.kinds.split(",")
        said: dict[str, Any] = {"seed": asked.seed, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        for number, kind in enumerate(kinds):
            share = SHARES[kind] / sum(SHARES[one] for one in kinds)
            # Each kind has its share of what time is left.
            left = sum(SHARES[one] for one in kinds[number:])
            end = time.monotonic() + (deadline - time.monotonic()) * SHARES[kind] / left
            report = run_kind(
                folder,
                asked.seed,
                kind,
                round(asked.inputs * share),
                end,
                bounds=not asked.unchecked,
            )
            tried = sum(report.results.values()) + len(report.defects)
            total, defects = total + tried, defects + len(report.defects)
            print(f"{kind}: {tried:,} inputs, {tried / report.seconds:,.0f} a second")
            for result, count in sorted(report.results.items()):
                print(f"  {result}: {count:,}")
            for where, text in report.defects[:20]:
                print(f"  DEFECT {kind}:{where}\n    " + text.strip().replace("\n", "\n    "))
            said[kind] = {
                "inputs": tried,
                "seconds": round(report.seconds),
                "results": dict(sorted(report.results.items())),
                "defects": report.defects,
            }
            sys.stdout.flush()
        print(f"{total:,} inputs, {defects} defects, seed {asked.seed}, {said['date']}")
        if asked.json:
            asked.json.write_text(json.dumps({**said, "total": total}, indent=1) + "\n")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
