"""Folders of hands: every file is read, every hand is replayed or listed with a reason."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from .._util.argument_checks import LONGEST_PATH, Text, Where, checked
from .._util.extras import needs
from .._util.files import open_locked
from .._util.one_line import OneLine
from .._util.version import __version__
from ..formats.text_formats import HANDS_OF_PHH, KINDS
from ..model.game_arguments import CALLABLE
from .played_hands import Hand, HandError, PlayedDecision, general_message, replay
from .site_texts import fields_of_text

RECORDS = "hands.jsonl"
"""Name of the file of read hands in a store."""
MAX_BYTES = 200_000_000
"""Largest size of a file of hands, in bytes."""
_PHH = re.compile(r"^\s*variant\s*=", re.MULTILINE)
_HEADING = re.compile(KINDS[HANDS_OF_PHH], re.MULTILINE)


class Failure(NamedTuple):
    """A hand or a file that could not be read."""

    source: str
    """Name of the file."""
    number: int
    """Number of the hand in the file, from 1; 0 for the file."""
    reason: str
    """Reason, without the numbers of the hand."""


@dataclass(frozen=True, repr=False)
class HandsRead(OneLine):
    """Hands of a folder, and the hands that could not be read."""

    hands: tuple[Hand, ...]
    """Hands, file by file in the order of their names."""
    failures: tuple[Failure, ...]
    """Everything that could not be read."""
    files: int
    """Number of files."""

    @property
    def reasons(self) -> dict[str, int]:
        """Number of failures by reason, the most frequent first."""
        return dict(Counter(failure.reason for failure in self.failures).most_common())

    def __str__(self) -> str:
        lines = [
            f"{len(self.hands):,} hands of {self.files:,} files; {len(self.failures):,} not read"
        ]
        return "\n".join(
            lines + [f"  {count:,}: {reason}" for reason, count in self.reasons.items()]
        )


@checked()
def read_hands(
    path: Annotated[str | Path, Where()],
    *,
    store: Annotated[str | Path | None, Where()] = None,
    progress: Annotated[Callable[[int, int], Any] | None, CALLABLE] = None,
) -> HandsRead:
    """Read all hands in a file or a folder.

    Files are hands in the PHH format (``.phh``, ``.phhs``), or texts of poker sites: PokerStars,
    GGPoker, Winamax, 888poker, PartyPoker, the Winning network, Bovada and iPoker (XML).  PokerKit
    reads those of Absolute Poker, Full Tilt Poker and Ongame, and the texts of iPoker.
    The contents of a file tell its format.

    >>> read_hands("histories")  # doctest: +SKIP

    Args:
        path: A file, or a folder that is searched with all folders in it.
        store: Folder for results.  A file that was read with it before is not read again unless it
            has changed, so an interrupted call continues.
        progress: Function that is called with the number of files read so far and of all files.

    Raises:
        OSError: The folder, or a file in it, cannot be read.
        ValueError: The folder does not exist, or the store is damaged.
        MissingExtraError: PokerKit is not installed; names the extra.
    """
    needs("pokerkit", "hands")
    path = Path(path)
    if not path.exists():
        raise ValueError(f"path: there is no file or folder {path}")
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    if store is not None:
        inside = Path(store).resolve()
        files = [file for file in files if inside not in file.resolve().parents]
    hands: list[Hand] = []
    failures: list[Failure] = []
    with _Records(store) as records:
        for number, file in enumerate(files, start=1):
            name = file.name if path.is_file() else file.relative_to(path).as_posix()
            read, refused = records.read(name, file)
            hands += read
            failures += refused
            if progress is not None:
                progress(number, len(files))
    return HandsRead(tuple(hands), tuple(failures), len(files))


@checked()
def parse_hands(
    text: Annotated[str, Text(MAX_BYTES)], source: Annotated[str, Text(LONGEST_PATH)] = "hands"
) -> HandsRead:
    """Read the hands in a text, as :func:`read_hands` reads a file.

    Args:
        text: The text.
        source: Name of the text.

    Raises:
        MissingExtraError: PokerKit is not installed; names the extra.
    """
    needs("pokerkit", "hands")
    return HandsRead(*_read_text(text, source), 1)


Found = tuple[tuple[Hand, ...], tuple[Failure, ...]]


def _read_text(text: str, name: str) -> Found:
    hands: list[Hand] = []
    failures: list[Failure] = []
    for index, history in enumerate(_histories(text), start=1):
        try:
            if isinstance(history, HandError):
                raise history
            hands.append(replay(history, name, index))
        except HandError as error:
            failures.append(Failure(name, index, str(error)))
    if not hands and not failures:
        failures.append(Failure(name, 0, "the file has no hands in a known format"))
    return tuple(hands), tuple(failures)


def _histories(text: str) -> Iterator[Any]:
    """Yield each hand of a text as PokerKit's history, or as the error that tells its problem."""
    pokerkit = needs("pokerkit", "hands")
    if _PHH.search(text):
        # Hands are read one by one, so that a damaged one leaves the others.
        for part in _HEADING.split(text)[1:] or [text]:
            if part.strip():
                yield _checked(partial(pokerkit.HandHistory.loads, part))
        return
    for fields in fields_of_text(text) or ():
        if isinstance(fields, HandError):
            yield fields
        else:
            yield _checked(partial(pokerkit.HandHistory, **fields))


def _checked(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as error:  # PokerKit raises many types of errors for a bad file.
        return HandError(f"the fields of the hand are wrong: {general_message(error)}")


def _decoded(content: bytes) -> str:
    """Decode a file; old clients write other encodings than UTF-8, all of which have ASCII."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


class _Records:
    """Hands by file, kept in a file of the store: one line of JSON for each file that was read.

    Args:
        store: Folder, or None to keep nothing.

    Raises:
        ValueError: A line is damaged, other than the last one of an interrupted call; or another
            process reads hands into this store.
    """

    def __init__(self, store: str | Path | None) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._path = None if store is None else Path(store) / RECORDS
        self._file: Any = None
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = io.BufferedWriter(open_locked(self._path, "reader of hands"))
            try:
                self._file.truncate(self._load(self._path))
            except BaseException:
                self._file.close()
                raise

    def _load(self, path: Path) -> int:
        """Read the records, and return the number of bytes of whole lines."""
        size = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                try:
                    record = json.loads(line)
                    self._known[record["name"]] = record
                except (ValueError, TypeError, KeyError):
                    raise ValueError(f"{path}:{number}: the store is damaged; delete it") from None
                size += len(line)
        return size

    def __enter__(self) -> _Records:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, name: str, path: Path) -> Found:
        """Return the hands and failures of a file."""
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            return (), (Failure(name, 0, f"a file of hands has at most {MAX_BYTES:,} bytes"),)
        # Another version may read more hands, and has other records.
        digest = hashlib.sha256(__version__.encode() + content).hexdigest()
        known = self._known.get(name)
        if known is not None and known["digest"] == digest:
            return (
                tuple(map(_hand_of, known["hands"])),
                tuple(Failure(*failure) for failure in known["failures"]),
            )
        hands, failures = _read_text(_decoded(content), name)
        if self._file is not None:
            record = {"name": name, "digest": digest, "hands": hands, "failures": failures}
            self._file.write(json.dumps(record, default=_plain).encode() + b"\n")
            self._file.flush()
        return hands, failures


def _plain(value: Any) -> Any:
    if isinstance(value, Hand):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return str(value)


def _hand_of(record: dict[str, Any]) -> Hand:
    amounts = {key: tuple(map(Decimal, record[key])) for key in ("antes", "blinds", "stacks")}
    texts = {key: tuple(record[key]) for key in ("players", "actions", "cards", "won")}
    decisions = tuple(PlayedDecision(*row) for row in record["decisions"])
    changed = {"min_bet": Decimal(record["min_bet"]), "decisions": decisions}
    return Hand(**(record | amounts | texts | changed))
