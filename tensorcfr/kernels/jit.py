"""How kernels are compiled: cached on disk where that is possible, and always IEEE.

Additions may be fused with multiplications, nothing else is reordered: the same game gives
the same bits in every run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.extending import register_jitable

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


class SlowStartWarning(UserWarning):
    """Compiled kernels cannot be kept, so every process compiles them again."""


def kernel(function: Callable[..., Any]) -> Any:
    """``numba.njit`` with a disk cache; without one, and a warning, where it has no place."""
    try:
        return numba.njit(cache=True, nogil=True, **_OPTIONS)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        warnings.warn(
            "compiled kernels cannot be kept: neither the package's __pycache__ nor the user's "
            "cache directory can be written, so every process spends seconds compiling; set "
            "NUMBA_CACHE_DIR to a directory that can be written",
            SlowStartWarning,
            stacklevel=2,
        )
        return numba.njit(nogil=True, **_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A piece of a kernel: compiled as part of the kernels that call it.

    What Python calls is the function as it is written.  Unpacking a game for Python would be a
    quarter of the time that compiling takes.
    """
    return register_jitable(
        forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS
    )(function)


def called(function: Callable[..., Any]) -> Any:
    """A piece of kernels that is compiled once for all that call it, and not again in each.

    A call hands over every array of its arguments: for work of microseconds and more.
    """
    return register_jitable(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
