"""Commands ``upi`` and ``mcp``: protocols on standard input and output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, TextIO

import typer

from ..errors import format_bytes
from ..protocols import UpiSession, mcp_server
from ..protocols.mcp_server import MAX_BYTES, MAX_SECONDS, Limits
from ..protocols.upi import MAX_CHARACTERS
from . import argument_parsers
from .declared_options import command


@command()
def upi() -> None:
    """Respond to PioSOLVER's text protocol on standard input and output.

    Scripts and viewers of PioSOLVER can use this program in its place. The command 'exit' ends.
    """

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    UpiSession(write).run(_lines(sys.stdin))


def _lines(stream: TextIO) -> Iterator[str]:
    """Yield lines, of which overlong ones are cut to one character more than is allowed."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding="utf-8", errors="replace")
    while line := stream.readline(MAX_CHARACTERS + 1):
        rest = line
        while rest and not rest.endswith("\n"):
            rest = stream.readline(MAX_CHARACTERS + 1)
        yield line


@command()
def mcp(
    *,
    seconds: Annotated[float, typer.Option(min=1.0)] = MAX_SECONDS,
    memory_limit: str = format_bytes(MAX_BYTES),
) -> None:
    """Serve tools for AI assistants, by the Model Context Protocol, on standard input and output.

    An assistant starts this command; it needs the extra 'mcp'.

    Settings:
        seconds: Let a solve take at most this many seconds.
        memory_limit (SIZE): Let a solve take at most this much memory, '2GiB'.
    """
    memory = argument_parsers.read_memory_limit(memory_limit)
    mcp_server(Limits(seconds, MAX_BYTES if memory is None else memory)).run()
