"""Protocols by which other programs use the solver; ``tensorcfr upi`` and ``tensorcfr mcp``.

They read from standard input and write to standard output, and never listen on a network.
"""

from .mcp_server import mcp_server
from .upi import UpiSession

__all__ = ["UpiSession", "mcp_server"]
