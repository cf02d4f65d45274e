"""The ways in which ``scripts.fuzz`` damages files.

Each mutation takes a sound file and returns the new content, and whether that has a digest of its
own content.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

from tensorcfr.storage.archive import digest_of

from ._sound_files import IN_CHUNKS_OF, Sound

Mutated = tuple[bytes, bool]
ODD_NUMBERS = (
    *(-1, -2, 0, 1, 2, 3, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62),
    *(2**63 - 1, -(2**63), -(2**31)),
)
ODD_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, -1e300, math.inf, -math.inf, math.nan)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**53, 2**53 + 1, 10**30, 10**400, -(10**30), 0.5, -0.5),
    *(1e308, 1e309, "", "x", "CFR", "cfr", "lp", "\ud800", "a" * 5000, [], {}, [[]], [1], {"a": 1}),
    *("kuhn", "kuhn(cards=10000)", "bluff(dice=(4,4))", "leduc(ranks=9)", "openspiel:chess"),
)

NESTED = 3000
"""Brackets within each other in a text."""
SPOT = "board='Td9d6hQd2c',ranges=('100%','100%'),pot=10,stacks=100,bets='50%'"
HOSTILE = (
    # Paths, and names of other libraries.
    *("/etc/passwd", "/etc/passwd.txt", "/dev/zero.efg", "../secret.nfg", "spot0.toml"),
    "x.py:Game",
    *("openspiel:kuhn_poker", "openspiel:efg_game(filename=/etc/passwd)", " openspiel:chess"),
    *("openspiel:blotto(fields=50,coins=1000)", "pyspiel:kuhn_poker", "file:///etc/passwd"),
    "openspiel:" + "misere(game=" * NESTED + "kuhn_poker()" + ")" * NESTED,
    "universal_poker(numPlayers=2,bettingAbstraction=limit)",
    *("kuhn(cards=3).efg", "kuhn.txt", "leduc(ranks=2).toml", "http://localhost/kuhn.efg"),
    # Code.
    *("__import__('os').system('true')", "kuhn(cards=__import__('os'))", "os.system"),
    "cfr.__class__",
    # Giants.
    *("kuhn(cards=10000)", "one_card_poker(cards=10000)", "kuhn(players=10,cards=100)"),
    "limit_holdem",
    *("liars_dice(dice=(9,9),faces=9)", "bluff(dice=(50,50))", "leduc(ranks=2500,players=10)"),
    *("goofspiel(cards=100)", "nl_leduc(stack=10000,cap=100)", f"omaha({SPOT})", f"holdem({SPOT})"),
    *("push_or_fold(stacks=1000000)", f"holdem({SPOT},folded=('100%','100%'))", "flop_holdem"),
    f"matrix(payoffs=[{'[1],' * 30_000}])",
    # Texts that are hard to parse.
    *("kuhn" + "(" * NESTED, f"kuhn(cards={'-' * NESTED}3)", f"kuhn(cards=1{'+1' * NESTED})"),
    *("matrix(payoffs=" + "[" * NESTED + "]" * NESTED + ")", "kuhn(cards=0x" + "f" * NESTED + ")"),
    *("leduc(ranks={[]:1})", f"kuhn(cards={'9' * 5000})", "kuhn(cards=3, cards=3)", "kuhn(**{})"),
    *("kuhn(\x00)", "kuhn(cards=3)#", "kuhn(cards=3\n)", "kuhn(cards=1e400)"),
    "kuhn(cards='\ud800')",
    *("\x1b]0;x\x07", "a" * 100_000, "\u202e", "{}", "%s%n", "kuhn, 2 players, not compiled"),
)
"""Texts that a program might look up, open, run, or take long to read."""


def zipped(members: list[tuple[str, bytes]], method: int = 0) -> bytes:
    """Return an archive of stored members; faster than the library's function, which does
    more."""
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
    """Return an array as a member of an archive."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()


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


DESCRIPTIONS = (
    *(("'<i8'", "'>i8'"), ("'<f8'", "'>f8'"), ("'<f8'", "'<i8'"), ("'<i8'", "'<f8'")),
    *(("'<i8'", "'|O'"), ("'|u1'", "'|S1'"), ("'|u1'", "'|i1'"), ("'|u1'", "'<u2'")),
    *(("False", "True"), ("(", "((("), ("(", "(0, "), ("(", "(1, "), ("(", "(-1, ")),
    *(("(", "(99999999999999999, "), (",)", ", 1)"), ("{", "{" * 1000), ("}", "")),
    *(("'descr'", "'x'"), ("False", "()" * 50), (")", ", 10**10)")),
)
"""Texts in the description of an array, and texts in their place."""
DTYPES = ("i4", "u8", "f4", "i8", "f8", "u1", "b1", "f2", "c16", ">i8", ">f8", "i1")


def change_description(rng: Random, sound: Sound) -> Mutated:
    """Change the dtype, order or shape in the description of a member."""
    members = list(sound.members.items())
    at = rng.randrange(len(members))
    name, data = members[at]
    length = 10 + int.from_bytes(data[8:10], "little")
    head, numbers = data[:length], data[length:]
    said = head[10:].decode("latin1")
    old, new = rng.choice(DESCRIPTIONS)
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
    name = rng.choice([key for key in sound.members if key not in ("header", "digest")])
    array = sound.arrays[name].copy()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        array = _changed(rng, array)
    members = {**sound.members, name: described(array)}
    if rng.random() < 0.1:
        other = rng.choice(list(sound.members))
        if other not in ("header", "digest"):
            members[other] = described(_changed(rng, sound.arrays[other].copy()))
    return sealed(rng, list(members.items()))


def _changed(rng: Random, array: Any) -> Any:
    """Return an array with one change."""
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
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(DTYPES))
    elif way == 13:
        array = array.reshape((1, *array.shape)) if rng.random() < 0.5 else array.reshape(-1)
    elif way == 14 and array.ndim:
        array = np.roll(array, 1) if rng.random() < 0.5 else array[::-1]
    else:
        array = np.full_like(array, rng.choice((0, 1, 2)))
    return array


def change_header(rng: Random, sound: Sound) -> Mutated:
    """Change the header of an archive, or another of its texts."""
    name = rng.choice(list(sound.texts))
    text = changed_text(rng, sound.texts[name])
    members = {**sound.members, name: described(_text_array(text))}
    if rng.random() < 0.1:
        members.pop("digest", None)
        return zipped(list(members.items())), True
    return sealed(rng, list(members.items()))


def change_texts(rng: Random, sound: Sound) -> Mutated:
    """Put a hostile text in place of any text of an archive, and into those that must agree."""
    name = rng.choice(list(sound.texts))
    said = json.loads(json.dumps(sound.texts[name]))
    places = list(_texts_in(said))
    if not places:
        return change_header(rng, sound)
    hostile = rng.choice(HOSTILE)
    holder, key = rng.choice(places)
    if key in ("source", "name", "digest") and rng.random() < 0.7:
        players = rng.choice((2, 2, 2, 3, 0, 1000, "9" * 5000))
        digest = f"{hostile}, {players} players, not compiled"
        said |= {"source": hostile, "name": hostile, "digest": digest}
    elif isinstance(key, str) and rng.random() < 0.2:
        holder[hostile] = holder.pop(key)
    else:
        holder[key] = hostile
    members = {**sound.members, name: described(_text_array(json.dumps(said)))}
    return sealed(rng, list(members.items()))


def _texts_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Find the texts in an object or a list: who holds each, and under which key."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, str):
            yield value, key
        elif isinstance(one, (dict, list)):
            yield from _texts_in(one)


def _text_array(text: str) -> Any:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def changed_text(rng: Random, said: dict[str, Any]) -> str:
    """Return an object with a few changes, as JSON or almost as JSON."""
    header = json.loads(json.dumps(said))
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change_json(rng, header)
    text = json.dumps(header)
    if rng.random() < 0.15:
        at = rng.randrange(len(text))
        odd = rng.choice(("NaN", "Infinity", "[" * 5000, "1e999", '"', ",", "-", "{}", "\x00"))
        text = text[:at] + odd + text[at + rng.randrange(3) :]
    return text


def _change_json(rng: Random, value: Any) -> None:
    """Change one item at any depth of an object or a list."""
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
        # A copy, because the inserted value may be changed in turn.
        value[key] = deepcopy(rng.choice(ODD_VALUES))


def sealed(rng: Random, members: list[tuple[str, bytes]], method: int = 0) -> Mutated:
    """Return an archive, mostly with a digest of its new contents."""
    if rng.random() < 0.25 or method:
        return zipped(members, method), False
    kept = [(name, data) for name, data in members if name != "digest"]
    arrays = {}
    for name, data in kept:
        try:
            arrays[name] = _array_of(data)
        except Exception:
            # Only arrays have digests.
            return zipped(members), False
    try:
        digest = digest_of(arrays)
    except (ValueError, TypeError):
        return zipped(members), False
    return zipped([*kept, ("digest", described(digest))]), True


@lru_cache(1024)
def _array_of(data: bytes) -> Any:
    """Return the array of a member; most members equal those of the sound file.

    Raises:
        ValueError: It is none, or its description is long.
    """
    if int.from_bytes(data[8:10], "little") > 490:
        raise ValueError
    return np.load(io.BytesIO(data), allow_pickle=False)


def change_text(rng: Random, sound: Sound) -> Mutated:
    """Change the header alone, which is then parsed alone."""
    return changed_text(rng, sound.header).encode("utf-8", "surrogatepass"), True


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


ODD_WORDS = (
    *("9" * 400 + "%", "1e999", "0", "-1", "nan", "inf", "true", "1979-05-27", "[]", "{}", "50%"),
    *("AA:2", "AA:nan", "23o+", "ZZ", "AsAs", "9" * 5000, "e", "99e", "3e0%", "2x", "1c0r", "a,a"),
    *("Td", "TdTd", "\\u0000", "\\ud800", "[" * 3000, "ranges", "board", "check", "bet75 fold"),
    *("1000000000", "1000000001", "0.5", "random", "50%,60%,70%", "=", "#", "'", '"""'),
)


def change_words(rng: Random, sound: Sound) -> Mutated:
    """Change words and numbers of a text, within quotes, too."""
    words = re.findall(r"[\w.%+:-]+|[^\w.%+:-]+", sound.content.decode())
    for _ in range(rng.choice((1, 1, 2, 3))):
        words[rng.randrange(len(words))] = rng.choice((*ODD_WORDS, rng.choice(words)))
    return "".join(words).encode("utf-8", "surrogatepass"), True


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
    *(change_array, change_array, change_header, change_texts),
)
MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    "game": OF_ARCHIVES,
    "solution": OF_ARCHIVES,
    **dict.fromkeys(("cut", *IN_CHUNKS_OF), OF_ARCHIVES),
    "rules": (change_texts, change_texts, change_texts, change_header, change_array),
    "header": (change_text,),
    "spot": (change_tokens, change_words, byte_table),
    "script": (change_words, change_words, byte_table),
    "tree": (change_tokens, change_object, byte_table),
    "hand": (change_words, change_tokens, byte_table),
    "settings": (change_words, change_tokens, byte_table),
    "boards": (change_cells, change_cells, byte_table),
    "table": (change_cells, change_cells, byte_table),
    "efg": (change_tokens, change_tokens, byte_table),
    "nfg": (change_tokens, change_tokens, byte_table),
    "csv": (change_cells, change_cells, byte_table),
    "json": (change_tokens, change_object, byte_table),
    "npz": (change_stored, change_stored, byte_table),
    "parquet": (byte_table,),
}
