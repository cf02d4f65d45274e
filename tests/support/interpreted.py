"""Kernels that run as Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tensorcfr.kernels import chunk_passes, evaluation, iteration


def interpret(patched: pytest.MonkeyPatch) -> None:
    """Run kernels as Python: on small games that takes less time than compiling a rule."""
    for module, names in (
        (chunk_passes, ("run_passes",)),
        (evaluation, ("evaluate_chunked", "match_weights", "strategies_of_parts", "add_payoffs")),
        (evaluation, ("pack_parts", "unpack_parts", "realization_plan", "best_total")),
        (evaluation, ("add_regrets",)),
        (iteration, ("iterate", "update")),
    ):
        for name in names:
            kernel = getattr(module, name)
            patched.setattr(module, name, getattr(kernel, "py_func", kernel))


@contextmanager
def interpreted_kernels() -> Iterator[pytest.MonkeyPatch]:
    """Run kernels as Python within a block, for examples of a property."""
    with pytest.MonkeyPatch.context() as patched:
        interpret(patched)
        yield patched
