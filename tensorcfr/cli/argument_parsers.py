"""Parsers and checks of the command line's arguments, which run before the work starts.

A wrong argument raises a ValueError that names the option or quotes its text. A missing package
raises a MissingExtraError.
"""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from .._util.argument_checks import Bytes, brief
from ..algorithms import ALGORITHMS, AUTOMATIC, Record
from ..errors import suggest
from ..formats.game_sources import is_foreign
from ..games import GAMES
from ..model.compiled_game import CompiledGame
from ..model.policy import suggest_label
from ..solvers.choose import CARDS_ALGORITHM, DEFAULT_ALGORITHM, PACKED_ALGORITHM
from ..solvers.request import USUAL_ITERATIONS, SolveRequest
from ..solvers.solver_arguments import THREADS_OR_AUTO, to_game_unit
from ..sweep import read_algorithm as named_algorithm
from ..sweep.cells import spec_of

MAX_SEEDS = 1_000_000
LIMIT = Bytes(0, counts="bytes")


def whole(text: str) -> int:
    """Parse a whole number, ``"1000000"``, ``"1_000_000"`` or ``"1e6"``."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not number.is_integer():
        raise ValueError
    return int(number)


def threads(text: str | int) -> Any:
    """Return a number of threads, or the choice of it; files of settings give numbers."""
    is_number = isinstance(text, str) and text.isdecimal()
    return THREADS_OR_AUTO("--threads", int(text) if is_number else text)


SIZES = (
    "'60%,a' for all, or for one street, player or both: 'turn=60%', 'river.oop=50%,a', with three "
    "ranges 'river.middle=50%'"
)
"""Examples of sizes."""
DEFAULT_ITERATIONS = USUAL_ITERATIONS
"""Number of iterations without a stop rule."""
ON_SPOTS = spec_of(CARDS_ALGORITHM)
"""Default algorithm in card games."""
DEFAULTS = (
    f"{spec_of(DEFAULT_ALGORITHM)}; average_power=5 in float32; "
    f"{PACKED_ALGORITHM.name} in int16; in card games {ON_SPOTS}"
)
"""Default algorithms."""


def is_saved(source: str, algorithm: str | None, iters: int | None) -> bool:
    """Return whether a source is a saved solution, and not a game.

    Raises:
        ValueError: It is a solution, but options of a solve are given.
    """
    saved = source.endswith(".npz")
    if saved and (algorithm is not None or iters is not None):
        raise ValueError(f"{source} is already solved: it takes no --algorithm or --iters")
    return saved


def read_settings(settings: Sequence[str] | None, game: str | None) -> dict[str, Any]:
    """Parse ``["ranks=4"]`` to ``{"ranks": 4}``; a value that is not a Python literal is a text."""
    if settings and game is not None and is_foreign(game):
        raise ValueError(f"--set is for built-in games, not for {game!r}")
    read: dict[str, Any] = {}
    for setting in settings or ():
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not key:
            raise ValueError(f"--set takes parameter=value, not {setting!r}")
        try:
            read[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            read[key] = value
    return read


def read_algorithm(spec: str | Record, *, simultaneous: bool = False) -> Record:
    """Return the record of a text such as ``"dcfr"`` or ``"dcfr(alpha=2)"``."""
    return named_algorithm(spec, **({"alternating": False} if simultaneous else {}))


CUTS: dict[str, bool | str] = {"auto": "auto", "always": True, "never": False}


def read_cut(text: str | None) -> bool | int | str | None:
    """Return the argument ``cut`` of a compilation for the text of ``--cut``; None without it."""
    if text is None:
        return None
    if text in CUTS:
        return CUTS[text]
    if text.isascii() and text.isdigit() and len(text) < 6:
        return int(text)
    raise ValueError(
        f"--cut takes {', '.join(CUTS)} or a number of public steps, not {brief(text)}"
    )


def read_locks(game: CompiledGame, texts: Sequence[str]) -> dict[str, dict[str, float]] | None:
    """Parse ``["J:bet=0", "K:pass=1/4,bet=0.75"]`` to probabilities by infoset and action.

    Labels of the game may contain colons, commas and equals signs; the longest matching label is
    taken.

    Returns:
        Probabilities by infoset and action; None without texts.
    """
    locks: dict[str, dict[str, float]] = {}
    for text in texts:
        label, actions = _locked_infoset(game, text)
        lock = locks.setdefault(label, {})
        rest, comma = text[len(label) + 1 :], ","
        while comma:
            action = _locked_action(text, label, actions, rest.strip())
            if action in lock:
                raise ValueError(f"--lock {text!r}: {action!r} at {label!r} is locked twice")
            number, comma, rest = rest.strip()[len(action) + 1 :].partition(",")
            try:
                lock[action] = _probability(number)
            except (ValueError, ZeroDivisionError):
                raise ValueError(
                    f"--lock {text!r}: {number!r} is not a probability; write 0.25 or 1/4"
                ) from None
    return locks or None


def _locked_infoset(game: CompiledGame, text: str) -> tuple[str, tuple[str, ...]]:
    """Return the label of the infoset at the start of a lock, and its actions."""
    # Look up candidates instead of searching all labels: a large game creates labels on demand.
    ends = [end for end, character in enumerate(text) if character == ":"]
    for end in reversed(ends):
        if actions := _actions_at(game, text[:end]):
            return text[:end], actions
    if _actions_at(game, text):
        raise ValueError(f"--lock {text!r} names no action; write it as {text}:action=0.5")
    written = text.partition(":")[0]
    try:
        game.lockable(written)
        problem = ""
    except KeyError:
        problem = suggest_label(game, written)
    except ValueError as error:
        problem = str(error)
    raise ValueError(
        f"--lock takes infoset:action=probability, but {text!r} does not begin with an "
        f"infoset of {game.name}; {problem}"
    )


def _locked_action(text: str, label: str, actions: Sequence[str], rest: str) -> str:
    """Return the action at the start of the rest of a lock; of several that fit, the longest."""
    fitting = [action for action in actions if rest.startswith(f"{action}=")]
    if fitting:
        return max(fitting, key=len)
    written = rest.partition("=")[0]
    if rest in actions:
        raise ValueError(f"--lock {text!r} gives {rest!r} no probability; write it as {rest}=0.5")
    raise ValueError(
        f"--lock {text!r}: infoset {label!r} has no action {written!r}; {suggest(written, actions)}"
    )


def _actions_at(game: CompiledGame, label: str) -> tuple[str, ...]:
    """Return the actions of the infosets that a label locks; nothing if it locks none."""
    try:
        return game.lockable(label)[1]
    except (KeyError, ValueError):
        return ()


def _probability(text: str) -> float:
    """Parse ``"0.25"`` or ``"1/4"``.

    This function does not use ``Fraction``, because ``"1e999999999"`` would fill the memory.
    """
    numerator, slash, denominator = text.partition("/")
    number = float(numerator) / (float(denominator) if slash else 1.0)
    if not math.isfinite(number):
        raise ValueError
    return number


def read_seeds(text: str) -> list[int]:
    """Parse ``"8"`` (the seeds 0 to 7) or ``"3,5"`` (these seeds)."""
    is_list = "," in text
    takes = f"a number from 1 to {MAX_SEEDS:,}, or several numbers separated by commas"
    seeds = _numbers("--seeds", text, int, takes, lambda n: is_list or 1 <= n <= MAX_SEEDS)
    return seeds if is_list else list(range(seeds[0]))


def read_levels(text: str) -> list[float]:
    """Parse exploitabilities, ``"1e-2,1e-3"``."""
    takes = "exploitabilities above 0, separated by commas"
    return _numbers("--levels", text, float, takes, lambda n: 0 < n < math.inf)


def read_weights(text: str) -> list[float]:
    """Parse weights, ``"0.25,0.5"``."""
    takes = "numbers from 0 to 1, separated by commas"
    return _numbers("--weights", text, float, takes, lambda n: 0 <= n <= 1)


def read_checkpoints(text: str) -> str | int | list[int]:
    """Parse ``"geometric"``, ``"100"`` (every 100 iterations) or ``"1,10,100"`` (these)."""
    if text == "geometric":
        return text
    marks = read_marks(text, "geometric, a number, or several numbers separated by commas")
    return marks if "," in text else marks[0]


def read_marks(text: str, takes: str = "numbers separated by commas") -> list[int]:
    """Parse iterations, ``"1,10,100"``."""
    return _numbers("--checkpoints", text, int, takes)


def _numbers(
    option: str,
    text: str,
    kind: Callable[[str], Any],
    takes: str,
    fits: Callable[[Any], bool] = lambda number: True,
) -> list[Any]:
    """Parse at least one number, with commas between numbers; errors name the allowed values."""
    try:
        numbers = [kind(part) for part in text.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers or not all(map(fits, numbers)):
        raise ValueError(f"{option} takes {takes}, not {brief(text)}")
    return numbers


def read_request(options: Any, game: CompiledGame, **read: Any) -> SolveRequest:
    """Build the request of a solve from options of a command.

    Options with the name of an argument of a solve are passed on; ``read`` overrides them.

    Args:
        options: Options of the command.
        game: The game.
        read: Arguments of the solve that the command has parsed.
    """
    names = {field.name for field in fields(SolveRequest)} & vars(options).keys()
    read |= {
        "locks": read_locks(game, options.locks or []),
        "memory_limit": read_memory_limit(options.memory_limit),
        "target": to_game_unit("--target", read.get("target", options.target), game),
    }
    return SolveRequest(**{name: getattr(options, name) for name in names} | {"game": game} | read)


def read_deal(text: str | None) -> list[str] | None:
    """Parse labels of chance outcomes, ``"Q,K"`` to ``["Q", "K"]``."""
    return None if text is None else [label.strip() for label in text.split(",")]


def is_bare(text: str | None) -> bool:
    """Return whether a text is a number without a unit."""
    try:
        return text is not None and math.isfinite(float(text))
    except ValueError:
        return False


def read_memory_limit(text: str | None) -> int | None:
    """Parse ``"2GiB"``; refuse a number without a unit."""
    if is_bare(text):
        raise ValueError(f"--memory-limit {text} needs a unit: {text}GiB")
    return None if text is None else LIMIT("--memory-limit", text)


def read_target(text: str | None) -> str | None:
    """Return the target of a spot; refuse a number without a unit."""
    if is_bare(text):
        raise ValueError(f"--target {text} needs a unit: {text}% or '{text} chips'")
    return text


def check_target(option: str, path: Path | None, *, force: bool = True) -> None:
    """Check that a file, if given, is writable, before the work whose result it will hold.

    Pictures and tables are replaced, as by Python's functions; solutions only with ``force``.
    """
    if path is None:
        return
    folder = path.parent
    if path.is_dir():
        raise ValueError(f"{option} {path}: this is a folder, not a file")
    if not folder.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {str(folder)!r}")
    if path.exists() and not force:
        raise ValueError(f"{option} {path}: the file exists; --force overwrites it")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"{option} {path}: no permission to write there")


def check_save(option: str, path: Path | None, *, force: bool) -> None:
    """Check the target of a solution's file like :func:`check_target`, and its suffix."""
    if path and path.suffix != ".npz":
        raise ValueError(f"{option} {path}: a solution is an .npz file; write {path.name}.npz")
    check_target(option, path, force=force)


def check_plot(option: str, path: Path | None, efforts: Sequence[str] = ()) -> None:
    """Check the target of a picture like :func:`check_target`, its format, its x axes, and
    matplotlib."""
    if path:
        from ..plots.style import check_efforts, check_format

        check_efforts(efforts)
        check_format(path)
        check_target(option, path)


def game_names(incomplete: str) -> list[str]:
    """Return the names of built-in games that complete a text."""
    return [name for name in GAMES if name.startswith(incomplete)]


def algorithm_names(incomplete: str) -> list[str]:
    """Return the names of algorithms that complete a text."""
    return [name for name in (AUTOMATIC, *ALGORITHMS) if name.startswith(incomplete)]
