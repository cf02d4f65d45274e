"""Damage files of every kind, and check that no reader accepts wrong contents.

    python -m scripts.fuzz_files --inputs 1000000 --seed 1

An input is a sound file and a mutation, both drawn by the seed and the number of the input, so that
every one can be made again (``--show solution:1234``).  Mutations know the structure of the files:
bytes, members of the archive, descriptions of arrays, numbers in arrays, values in headers, cells
in tables, tokens in texts.  Half of them leave the digest as it was: then a file that is read must
have its old contents.  The others put a new digest in: then the other checks must refuse the file,
or the game must be sound, which is tested by playing it with kernels that check their bounds.

Inputs are tried in batches, each in a process of its own, so that a crash or a hang is seen and
the next input tried.  The exit status is 1 if there was any defect.
"""

from __future__ import annotations

import argparse
import io
import json
import mmap
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from ._damaged_readers import ENDINGS, NAMED, fingerprint, make_sure, read
from ._fuzzing import DefectError, HangError, Watch, fuzz_arguments, hear_hangs, limited
from ._mutations import MUTATIONS, Mutated
from ._pages import origin, read_json, write_json
from ._sound_files import ARCHIVES, IN_CHUNKS_OF, RULES, TEXTS, Sound, make_files

HANG_SECONDS = 5.0
"""Processor time that an input may take."""
LOST_SECONDS = 400.0
"""Seconds without a sign of life after which a batch is ended."""
BATCH = 5_000
"""Inputs per process."""
SHARES = {
    "header": 0.38,
    "table": 0.336,
    "game": 0.05,
    "solution": 0.04,
    "boards": 0.03,
    "cut": 0.015,
    "rules": 0.02,
    "chunks": 0.012,
    "checkpoint": 0.008,
    "resume": 0.01,
    "spot": 0.015,
    "script": 0.008,
    "tree": 0.008,
    "hand": 0.004,
    "settings": 0.004,
    "efg": 0.015,
    "nfg": 0.015,
    "csv": 0.02,
    "json": 0.01,
    "npz": 0.006,
    "parquet": 0.004,
}
"""The share of each loader in the inputs.  The quick loaders come first: each kind has a share of
the time that is left."""
ROOM = 2 << 30
"""Bytes of addresses that a batch may take beyond those for the sound files: who asks for more gets
a MemoryError, which is a defect."""


@cache
def sound_files(folder: Path, kind: str) -> list[Sound]:
    """Return the sound files of a kind, split into parts."""
    found = []
    source = "solution" if kind == "header" else "chunks" if kind in IN_CHUNKS_OF else kind
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
            sound.texts = {
                name: json.loads(sound.arrays[name].tobytes())
                for name in TEXTS
                if name in sound.arrays
            }
            if kind == "header" and RULES in sound.texts:
                continue  # Its values may be unknown, and are read by another table.
        if kind == "resume":
            sound.game = read("chunks", content, folder).game
        if kind != "header":
            sound.fingerprint = fingerprint(read(kind, content, folder, sound.game))
        found.append(sound)
    return found


def unzip(content: bytes) -> list[tuple[str, bytes]]:
    """Return the members of a sound archive."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name.removesuffix(".npy"), archive.read(name)) for name in archive.namelist()]


def make_input(folder: Path, seed: int, kind: str, number: int) -> tuple[Sound, str, Mutated]:
    """Return one input: the sound file, the name of the mutation, and the damaged file."""
    rng = Random(f"{seed} {kind} {number}")
    sound = rng.choice(sound_files(folder, kind))
    mutation = rng.choice(MUTATIONS[kind])
    return sound, mutation.__name__, mutation(rng, sound)


def try_input(folder: Path, seed: int, kind: str, number: int, watch: Watch) -> tuple[str, str]:
    """Try one input; return the mutation and the result."""
    sound, mutation, (content, has_digest) = make_input(folder, seed, kind, number)
    with limited(HANG_SECONDS):
        try:
            with watch():
                found = read(kind, content, folder, sound.game)
        except ValueError as error:
            named = NAMED.get(kind, f"input.{ENDINGS.get(kind, kind)}")
            if named not in str(error):
                raise DefectError(f"the error does not name the file: {error}") from error
            return mutation, "refused"
        if kind != "header" and fingerprint(found) == sound.fingerprint:
            return mutation, "same content"
        if not has_digest:
            raise DefectError("read without a word, and holds something else")
    make_sure(kind, found)
    return mutation, "another sound file"


# Batches.


def run_batch(folder: Path, seed: int, kind: str, first: int, count: int, place: Path) -> None:
    """Try some inputs; the number of each is written to ``place`` before, results to stdout."""
    hear_hangs()
    results: Counter[str] = Counter()
    defects = []
    for sound in sound_files(folder, kind):
        # Kernels are compiled here, not while an input is timed.
        content = json.dumps(sound.header).encode() if kind == "header" else sound.content
        make_sure(kind, read(kind, content, folder, sound.game))
    watch = Watch(folder)
    watch.know_packages()
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM,) * 2)
    with open(place, "r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        for number in range(first, first + count):
            progress[:] = (number + 1).to_bytes(8, "little")
            try:
                mutation, result = try_input(folder, seed, kind, number, watch)
                results[f"{mutation}: {result}"] += 1
            except HangError:
                defects.append([number, f"took more than {HANG_SECONDS:g} s"])
            except Exception:
                defects.append([number, traceback.format_exc(limit=-4)])
    print(json.dumps({"results": results, "defects": defects}))


@dataclass
class Report:
    """Results of the inputs of one kind."""

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


NOTHING: dict[str, Any] = {"seeds": [], "inputs": 0, "seconds": 0, "results": {}, "defects": []}
"""Record of a kind that a file of results does not have yet."""


def main() -> int:
    """Read the command line, and run."""
    parser = fuzz_arguments(__doc__, "KIND:NUMBER", str)
    parser.add_argument("--kinds", default=",".join(SHARES))
    parser.add_argument(
        "--unchecked", action="store_true", help="play with kernels that do not check their bounds"
    )
    parser.add_argument("--json", type=Path, help="add the report to this file")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.batch:
        kind, first, count = asked.batch[0], int(asked.batch[1]), int(asked.batch[2])
        place = asked.folder / f"place.{kind}"
        run_batch(asked.folder, asked.seed, kind, first, count, place)
        return 0
    kinds = asked.kinds.split(",")
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        if not list(folder.glob("game*")):
            make_files(folder, kinds)
        if asked.show:
            kind, _, number = asked.show.partition(":")
            sound, mutation, (content, has_digest) = make_input(
                folder, asked.seed, kind, int(number)
            )
            print(f"{mutation}, {len(content):,} bytes, {'new' if has_digest else 'old'} digest")
            found = read(kind, content, folder, sound.game)
            print(found)
            make_sure(kind, found)
            return 0
        deadline = time.monotonic() + 60 * asked.minutes
        total, defects = 0, 0
        said: dict[str, Any] = {"kinds": {}} | read_json(asked.json) | origin()
        today = said.pop("date")
        for number, kind in enumerate(kinds):
            share = SHARES[kind] / sum(SHARES[one] for one in kinds)
            # Each kind gets its share of the time that is left.
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
            print(f"{kind}: {tried:,} inputs, {tried / (report.seconds or 1.0):,.0f} a second")
            for result, count in sorted(report.results.items()):
                print(f"  {result}: {count:,}")
            for where, text in report.defects[:20]:
                print(f"  DEFECT {kind}:{where}\n    " + text.strip().replace("\n", "\n    "))
            before = said["kinds"].get(kind, NOTHING)
            results = report.results + Counter(before["results"])
            said["kinds"][kind] = {
                "seeds": [*before["seeds"], asked.seed],
                "date": today,
                "inputs": tried + before["inputs"],
                "seconds": round(report.seconds) + before["seconds"],
                "results": dict(sorted(results.items())),
                "defects": [*before["defects"], *report.defects],
            }
            sys.stdout.flush()
            write_json(asked.json, said)
        print(f"{total:,} inputs, {defects} defects, seed {asked.seed}, {today}")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
