"""The table of docs/results/records.md: the best proven bounds for classic games.

    python -m scripts.records            prove the certificates in docs/records, write the table
    python -m scripts.records add FILE   keep a certificate that proves a lower exploitability
    python -m scripts.records seconds    measure both checkers, and write docs/certificates.md

The checker proves every row.  The solver is run only for the seconds: some iterations, because
the checkers take equally long for all strategies.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks._common import children_seconds, table
from tensorcfr import compile_game, solve
from tensorcfr.formats import checker

from ._pages import DOCS, arguments, origin, origin_of, write_parts

FOLDER = DOCS / "records"
PAGE = DOCS / "results" / "records.md"
CERTIFICATES = DOCS / "certificates.md"
MOST_BYTES = 100_000
"""Largest size of a certificate in the repository, in bytes."""
RIVER = {
    "board": "Td9d6hQd3c",
    "ranges": ("random", "random"),
    "pot": 100,
    "stacks": 150,
    "bets": "50%,a",
    "raises": "2.5x",
}
TURN = RIVER | {"board": "Td9d6hQd", "ranges": ("22+,A2s+,KTs+", "22+,A2s+,K2s+,ATo+")}
MEASURED: dict[str, tuple[str, dict[str, Any]]] = {
    "`leduc`": ("leduc", {}),
    "a river with all hands": ("holdem", RIVER),
    "a turn": ("holdem", TURN),
    "`rhode_island`": ("rhode_island", {}),
}
"""Games whose certificates are measured."""


class ProvenFile(NamedTuple):
    """A certificate that the checker has proven."""

    game: str
    """Name and parameters of the game."""
    digest: str
    proven: dict[str, Fraction]


def read(path: Path) -> ProvenFile:
    """Prove a certificate.

    Raises:
        CertificateError: It does not prove its claims, or is too large for the repository.
    """
    if path.stat().st_size >= MOST_BYTES:
        raise checker.CertificateError(f"{path} has {MOST_BYTES:,} bytes or more")
    text = path.read_text("utf-8")
    proven = checker.check(text)
    title, head = text.partition("\n\n")[0].split("\n", 1)
    (_, name), *parameters, _ = (line.split("\t") for line in head.split("\n"))
    settings = [f"{key}={' '.join(values)}" for key, *values in parameters]
    return ProvenFile(f"{name}({', '.join(settings)})", title.split(" ")[-1], proven)


def add(path: Path) -> None:
    """Copy a certificate to the records if it proves a lower bound than the record of its game.

    Raises:
        CertificateError: The record of the game is as good.
    """
    new = read(path)
    target = FOLDER / f"{''.join(c if c.isalnum() else '_' for c in new.game).strip('_')}.cert"
    for old_path in sorted(FOLDER.glob("*.cert")):
        old = read(old_path)
        if old.game == new.game:
            bound = old.proven["exploitability"]
            if new.proven["exploitability"] >= bound:
                raise checker.CertificateError(f"{old_path} proves {float(bound)!r} already")
            target = old_path
    shutil.copyfile(path, target)


def records() -> str:
    """Return the table of all records."""
    rows = []
    for path in sorted(FOLDER.glob("*.cert")):
        game, digest, proven = read(path)
        size = path.stat().st_size
        value, bound = (shown(proven[key]) for key in ("value 0", "exploitability"))
        link = f"[{path.name}](../records/{path.name})"
        rows.append((f"`{game}`", value, bound, f"{size:,}", link, f"`{digest[:16]}`"))
    head = ("game", "value of player 0", "exploitability", "bytes", "certificate", "digest")
    return table(head, rows, left=(0, 1, 2, 4, 5))


def shown(number: Fraction) -> str:
    """Return a proven number as text."""
    return f"exactly {number}" if len(str(number)) < 30 else f"{float(number):.12g}, exactly known"


def seconds() -> str:
    """Return the table of the CPU seconds of both checkers."""
    rows = []
    source = DOCS.parent / "scripts" / "checker"
    build = ["cargo", "build", "--release", "--target-dir"]
    with TemporaryDirectory() as folder:
        program, path = Path(folder) / "release" / "checker", Path(folder) / "file.cert"
        subprocess.run([*build, folder], cwd=source, check=True)
        for name, (game, parameters) in MEASURED.items():
            solution = solve(compile_game(game, **parameters), iters=5)
            solution.certify(path, force=True)
            infosets, size = solution.game.n_infosets, path.stat().st_size
            del solution  # Rhode Island takes gigabytes.
            taken = [
                cpu_seconds([*command, str(path)])
                for command in ([sys.executable, checker.__file__], [str(program)])
            ]
            numbers = (f"{infosets:,}", f"{size:,}", *(f"{second:,.1f}" for second in taken))
            rows.append((name, *numbers))
            print(*rows[-1], sep=" | ", flush=True)
    head = ("certificate", "infosets", "bytes", "Python", "Rust")
    return f"{table(head, rows)}\n\n{origin_of(origin())}."


def cpu_seconds(command: list[str]) -> float:
    """Run a program and return its CPU time, which other programs do not lengthen."""
    before = children_seconds()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return children_seconds() - before


def main() -> None:
    """Run the command line."""
    parser = arguments(__doc__)
    parser.add_argument("action", nargs="?", choices=["add", "seconds"])
    parser.add_argument("file", nargs="?", type=Path)
    asked = parser.parse_args()
    try:
        if asked.action == "seconds":
            write_parts(CERTIFICATES, "records", {"seconds": seconds()})
        if asked.action == "add":
            if asked.file is None:
                parser.error("add takes a file")
            add(asked.file)
        write_parts(PAGE, "records", {"records": records()})
    except (checker.CertificateError, OSError) as error:
        sys.exit(f"refused: {error}")


if __name__ == "__main__":
    main()
