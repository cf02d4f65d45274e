"""Consoles, progress bars and error messages for all commands."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from .._util.signals import Terminated, exit_status, is_terminated, should_end, terminations
from ..compilers import CompileProgress
from ..errors import CutError, MemoryLimitError, MissingExtraError
from ..solvers.loop import Progress

USAGE, FAILURE = 2, 1
"""Exit statuses: a wrong argument; a failure during the work."""


def plain_console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Return a console that prints labels and actions as text, never as markup."""
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


@contextmanager
def progress_bar(total: float | None = None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error if it is a terminal.

    Args:
        total: Value of ``completed`` at the end; None if it is unknown.

    Yields:
        Function that updates the bar. Its arguments, by name, are ``description``, ``total``,
            ``completed`` and ``figures``, the text after the bar.
    """
    console = plain_console(stderr=True)
    with Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        yield partial(bar.update, bar.add_task("compiling", total=total, figures=""))


class Hooks(NamedTuple):
    """Progress hooks that move the bar."""

    compiling: Callable[[CompileProgress], object]
    solving: Callable[[Progress], object]


@contextmanager
def solve_bar(first: int, time_limit: float | None) -> Iterator[Hooks]:
    """Show the progress bar of a solve; yield the hooks that move it.

    Args:
        first: Iteration after which the solve begins.
        time_limit: Time limit of the solve in seconds, if any.
    """
    with progress_bar() as move:

        def compiling(progress: CompileProgress) -> None:
            figures = f"{progress.done:,}"
            if progress.expected:
                figures += f" of about {progress.expected:,.0f} histories"
            move(
                description="compiling",
                total=progress.expected,
                completed=progress.done,
                figures=figures,
            )

        def solving(progress: Progress) -> None:
            done = [progress.elapsed / time_limit] if time_limit else []
            if progress.last_iteration is not None and progress.last_iteration > first:
                done.append((progress.iteration - first) / (progress.last_iteration - first))
            figures = f"{progress.iteration:,} iterations"
            if progress.latest:
                figures += f", exploitability {progress.latest.exploitability:.3g}"
            move(
                description="solving",
                total=1.0 if done else None,
                completed=min(1.0, max(done, default=0.0)),
                figures=figures,
            )

        yield Hooks(compiling, solving)


@contextmanager
def log_to(path: Path | None) -> Iterator[None]:
    """Append log messages of the library to a file, unless ``path`` is None."""
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

    After Ctrl-C, SIGTERM or SIGHUP, exit with the status of the signal.
    """
    with terminations():
        try:
            with _reported_errors():
                yield
        except Terminated:
            end("ended by a signal", exit_status())
        except (typer.Exit, OSError):
            # After SIGHUP, output to the closed terminal fails: exit with the signal's status.
            if is_terminated():
                raise typer.Exit(exit_status()) from None
            raise
        if should_end():
            raise typer.Exit(exit_status())


@contextmanager
def _reported_errors() -> Iterator[None]:
    try:
        yield
    except (BrokenPipeError, typer.Exit, typer.Abort):
        # Typer ends quietly after a closed pipe, and the other two have already been reported.
        raise
    except MemoryLimitError as error:
        hint = "to change it, write for example memory_limit = '2GiB' in the file of --settings"
        end(f"{str(error).partition(';')[0]}; {hint}", FAILURE)
    except OSError as error:
        has_file = error.filename and error.strerror
        end(f"{error.filename}: {error.strerror}" if has_file else str(error), FAILURE)
    except (MissingExtraError, MemoryError, RuntimeError) as error:
        parts = (str(error) or "out of memory", *getattr(error, "__notes__", ()))
        end("; ".join(parts), FAILURE)
    except CutError as error:
        cut = "always" if error.cut else "never"
        end(f"{error.problem}; solve it with --cut {cut}", USAGE)
    except ValueError as error:
        end(str(error), USAGE)


def quiet(package: str) -> None:
    """Hide the log of another package, whose errors are reported in one line instead."""
    logging.getLogger(package).setLevel(logging.CRITICAL)


def end(message: str, code: int) -> None:
    """Print an error and exit."""
    print(f"tensorcfr: {message}", file=sys.stderr)
    raise typer.Exit(code)
