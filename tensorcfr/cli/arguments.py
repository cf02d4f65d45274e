"""What is written on the command line, read and checked before anything is computed."""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .._util.arguments import brief
from ..algorithms import Record
from ..errors import suggest
from ..model.game import CompiledGame
from ..model.policy import suggest_label
from ..sweep import read_algorithm as named_algorithm

MOST_SEEDS = 1_000_000


def read_settings(settings: Sequence[str]) -> dict[str, Any]:
    """``["ranks=4"]`` to ``{"ranks": 4}``; a value that is no Python literal is a text.

    Raises:
        ValueError: There is no ``=``, or nothing before it.
    """
    read: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not key:
            raise ValueError(f"--set takes parameter=value, not {setting!r}")
        try:
            read[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            read[key] = value
    return read


def read_algorithm(spec: str, *, simultaneous: bool) -> Record:
    """``"dcfr"`` or ``"dcfr(alpha=2)"`` to the record that it stands for.

    Raises:
        ValueError: There is no such algorithm or option, or the text has another form.
    """
    return named_algorithm(spec, **({"alternating": False} if simultaneous else {}))


def read_locks(game: CompiledGame, texts: Sequence[str]) -> dict[str, dict[str, float]] | None:
    """``["J:bet=0", "K:pass=1/4,bet=0.75"]`` to probabilities by infoset and action; None if there
    is nothing to lock.

    Labels are those of the game, so they may have colons, commas and equals signs in them: where
    several fit, the longest is meant.

    Raises:
        ValueError: No infoset or action of the game stands there, or no probability; names what
            was written.
    """
    locks: dict[str, dict[str, float]] = {}
    for text in texts:
        # Not all labels are looked through: a large game makes them one by one.
        ends = [at for at, character in enumerate(text) if character == ":"]
        label = next((text[:at] for at in reversed(ends) if text[:at] in game.infoset_index), None)
        if label is None:
            written = text.partition(":")[0]
            if text in game.infoset_index:
                raise ValueError(f"--lock {text!r} names no action; write it as {text}:action=0.5")
            raise ValueError(
                f"--lock takes infoset:action=probability, and {text!r} begins with no infoset of "
                f"{game.name}; {suggest_label(game, written)}"
            )
        actions = game.infoset_actions[game.infoset_index[label]]
        lock = locks.setdefault(label, {})
        rest = text[len(label) + 1 :]
        while True:
            rest = rest.strip()
            action = _longest(rest, actions, "=")
            if action is None:
                written = rest.partition("=")[0]
                if rest in actions:
                    raise ValueError(
                        f"--lock {text!r} gives {rest!r} no probability; write it as {rest}=0.5"
                    )
                raise ValueError(
                    f"--lock {text!r}: infoset {label!r} has no action {written!r}; "
                    f"{suggest(written, actions)}"
                )
            if action in lock:
                raise ValueError(f"--lock {text!r}: {action!r} at {label!r} is locked twice")
            number, comma, rest = rest[len(action) + 1 :].partition(",")
            try:
                lock[action] = _probability(number)
            except (ValueError, ZeroDivisionError):
                raise ValueError(
                    f"--lock {text!r}: {number!r} is no probability; write 0.25 or 1/4"
                ) from None
            if not comma:
                break
    return locks or None


def _probability(text: str) -> float:
    """``"0.25"`` or ``"1/4"``; not by way of a fraction, which ``"1e999999999"`` would fill the
    memory with."""
    numerator, slash, denominator = text.partition("/")
    number = float(numerator) / (float(denominator) if slash else 1.0)
    if not math.isfinite(number):
        raise ValueError
    return number


def _longest(text: str, labels: Iterable[str], end: str) -> str | None:
    """The longest label that a text begins with, ``end`` after it."""
    fitting = [label for label in labels if text.startswith(label + end)]
    return max(fitting, key=len, default=None)


def read_whole(option: str, text: str | None) -> int | None:
    """``"1000000"``, ``"1_000_000"`` or ``"1e6"`` to the number.

    Raises:
        ValueError: It is no whole number, or negative.
    """
    if text is None:
        return None
    try:
        number = float(text)
        if number < 0 or number != int(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(f"{option} must be a whole number >= 0, not {text!r}") from None
    return int(text) if text.replace("_", "").isdecimal() else int(number)


def read_seeds(text: str) -> list[int]:
    """``"8"`` (the seeds 0 to 7) or ``"3,5"`` (these ones).

    Raises:
        ValueError: The text has another form.
    """
    try:
        seeds = [int(seed) for seed in text.split(",") if seed.strip()]
    except ValueError:
        seeds = []
    if not seeds or ("," not in text and not 1 <= seeds[0] <= MOST_SEEDS):
        raise ValueError(
            f"--seeds takes a number from 1 to {MOST_SEEDS:,} or numbers with commas, "
            f"not {brief(text)}"
        )
    return seeds if "," in text else list(range(seeds[0]))


def read_levels(text: str) -> list[float]:
    """``"1e-2,1e-3"`` to the exploitabilities.

    Raises:
        ValueError: The text has another form, or one is not positive.
    """
    try:
        levels = [float(level) for level in text.split(",") if level.strip()]
    except ValueError:
        levels = []
    if not levels or not all(0 < level < float("inf") for level in levels):
        raise ValueError(f"--levels takes exploitabilities > 0 with commas, not {text!r}")
    return levels


def read_checkpoints(text: str) -> str | int | list[int]:
    """``"geometric"``, ``"100"`` (every 100 iterations) or ``"1,10,100"`` (these ones).

    Raises:
        ValueError: The text has another form.
    """
    if text == "geometric":
        return text
    try:
        marks = [int(mark) for mark in text.split(",") if mark.strip()]
    except ValueError:
        marks = []
    if not marks:
        raise ValueError(
            f"--checkpoints takes geometric, a number or numbers with commas, not {text!r}"
        )
    return marks if "," in text else marks[0]


def read_deal(text: str | None) -> list[str] | None:
    """``"Q,K"`` to ``["Q", "K"]``: labels of chance outcomes."""
    return None if text is None else [label.strip() for label in text.split(",")]


def read_memory_limit(gibibytes: float | None) -> int | None:
    """The limit in bytes.

    Raises:
        ValueError: It is negative or no number.
    """
    if gibibytes is None:
        return None
    if not 0 <= gibibytes < float("inf"):
        raise ValueError(f"--memory-limit must be GiB >= 0, not {gibibytes!r}")
    return int(gibibytes * 2**30)


def check_target(option: str, path: Path, *, force: bool) -> None:
    """Make sure that a file can be written there, before the work that would be lost.

    Raises:
        ValueError: It cannot, or it would overwrite a file without ``--force``.
    """
    folder = path.parent
    if path.is_dir():
        raise ValueError(f"{option} {path}: this is a folder, not a file")
    if not folder.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {str(folder)!r}")
    if path.exists() and not force:
        raise ValueError(f"{option} {path}: the file exists; --force overwrites it")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"{option} {path}: no permission to write there")


def check_save(path: Path, *, force: bool) -> None:
    """What :func:`check_target` checks, and the ending.

    Raises:
        ValueError: The file cannot be written, or does not end in ``.npz``.
    """
    if path.suffix != ".npz":
        raise ValueError(f"--save {path}: a solution is an .npz file; write {path.name}.npz")
    check_target("--save", path, force=force)


def check_plot(path: Path, *, force: bool, option: str = "--plot") -> None:
    """What :func:`check_target` checks, the picture format, and that matplotlib is there.

    Raises:
        ValueError: The file cannot be written, or its ending is no picture format.
        MissingExtraError: Matplotlib is missing.
    """
    from ..plots import check_format

    check_format(path)
    check_target(option, path, force=force)
