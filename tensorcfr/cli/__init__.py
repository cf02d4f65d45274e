"""The command line, ``tensorcfr`` or ``python -m tensorcfr``; the extra ``tensorcfr[cli]``.

Only :func:`main` lives here, so that a missing typer or rich can be told in one line.
"""

from __future__ import annotations

import io
import os
import sys

from .._util.signals import is_terminated
from ..errors import MissingExtraError

PACKAGES = ("typer", "rich")
"""What the extra ``tensorcfr[cli]`` brings."""


def main() -> None:
    """Run the command line on ``sys.argv``; exits with its code."""
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
            # A game's labels may hold characters that this terminal does not know.
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="tensorcfr")
    finally:
        if is_terminated():
            _flush()


def _flush() -> None:
    """Drop what a terminal that went away no longer takes: Python would change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
