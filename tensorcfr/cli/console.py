"""Consoles, progress bars and error messages of all commands."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .._util.signals import Terminated, exit_status, is_terminated, terminations
from ..errors import MemoryLimitError, MissingExtraError

USAGE, FAILURE = 2, 1
"""Exit codes: a wrong argument; a failure while working."""


def plain_console(*, stderr: bool = False) -> Console:
    """A console that prints labels and actions as text, never as markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


@contextmanager
def progress_bar(total: float | None = None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error if it is a terminal.

    Args:
        total: Value of ``completed`` at the end; None if it is unknown.

    Yields:
        A function that updates the bar; it takes ``description``, ``total``, ``completed`` and
        ``figures``, the text after the bar, by name.
    """
    console = plain_console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        yield partial(bar.update, bar.add_task("compiling", total=total, figures=""))


@contextmanager
def log_to(path: Path | None) -> Iterator[None]:
    """Append log messages of the library to a file, unless ``path`` is None; flush every line."""
    if path is None:
        yield
        return
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger(__name__.partition(".")[0])
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        handler.close()


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Report errors of the library or the disk in one line, without a traceback.

    After SIGTERM or SIGHUP, exits with the status of the signal.
    """
    with terminations():
        try:
            with _errors_told():
                yield
        except Terminated:
            end("ended by a signal", exit_status())
        except (typer.Exit, OSError):
            # After SIGHUP, output to the closed terminal fails; the signal is the reason.
            if is_terminated():
                raise typer.Exit(exit_status()) from None
            raise
        if is_terminated():
            raise typer.Exit(exit_status())


@contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except (BrokenPipeError, typer.Exit, typer.Abort):
        raise  # The reader of the output has closed it, and typer ends quietly; or all is told.
    except MemoryLimitError as error:
        end(f"{str(error).partition(';')[0]}; --memory-limit (GiB) changes it", FAILURE)
    except OSError as error:
        told = error.filename and error.strerror
        end(f"{error.filename}: {error.strerror}" if told else str(error), FAILURE)
    except (MissingExtraError, MemoryError, RuntimeError) as error:
        said = (str(error) or "out of memory", *getattr(error, "__notes__", ()))
        end("; ".join(said), FAILURE)
    except ValueError as error:
        end(str(error), USAGE)


def quiet(package: str) -> None:
    """Keep the log of another package off the terminal: its errors are told in one line."""
    logging.getLogger(package).setLevel(logging.CRITICAL)


def end(message: str, code: int) -> None:
    """Print an error and exit."""
    print(f"tensorcfr: {message}", file=sys.stderr)
    raise typer.Exit(code)
