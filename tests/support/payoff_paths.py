"""The ways that the payoff operator can be laid out, forced on games of any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tensorcfr._util import limits
from tensorcfr.compilers import payoff_blocks

PATHS: Mapping[str, Mapping[tuple[Any, str], Any]] = {
    "as measured": {},
    "blocks": {(payoff_blocks, "ENTRY_NS"): 1e9},
    "chained blocks": {(payoff_blocks, "ENTRY_NS"): 1e9, (limits, "CHAIN_FROM_TERMS"): 1},
    "entries": {(payoff_blocks, "ENTRY_NS"): 0.0},
}
"""What the compiler is told that things cost: small games are all entries as measured, and must
be all blocks too."""


@contextmanager
def forced(path: str) -> Iterator[None]:
    """Games compiled inside have their payoff operator laid out in one of :data:`PATHS`."""
    with pytest.MonkeyPatch.context() as patched:
        for (module, name), value in PATHS[path].items():
            patched.setattr(module, name, value)
        yield
