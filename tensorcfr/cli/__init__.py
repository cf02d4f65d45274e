"""Command line, ``tensorcfr`` or ``python -m tensorcfr``; the extra ``tensorcfr[cli]``.

This module imports neither typer nor rich, so that :func:`main` can report a missing package in one
line.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys

from .._util.signals import is_terminated
from ..errors import MissingExtraError

PACKAGES = ("typer", "rich")
"""Packages of the extra ``tensorcfr[cli]``."""


def main() -> None:
    """Run the command line on ``sys.argv``, and exit with its status."""
    try:
        from .app import app
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        print(f"tensorcfr: {MissingExtraError(package, 'cli')}", file=sys.stderr)
        sys.exit(1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Labels of a game may contain characters that the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    # The process ends: freeing the objects of numba's compiler one by one would take a second.
    atexit.register(gc.freeze)
    try:
        app(prog_name="tensorcfr")
    finally:
        if is_terminated():
            _flush()


def _flush() -> None:
    """Discard output for a closed terminal; otherwise Python would change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
