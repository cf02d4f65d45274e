"""Synchronisation of threads inside a kernel, by shared counters.

A thread that fails sets all counters to :data:`RELEASED`, so that no other thread waits for it.
"""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from .._util.jit import inlined, overload_piece

BARRIER_COUNTERS = 8
"""Number of counters of a pass; they fill a cache line."""
SPINS = 2000
"""Number of reads of a counter before a waiting thread yields its core, about 20 microseconds."""
RELEASED = 1 << 40
"""Counter value that ends every wait."""

_ATOMIC = Lock()
"""Lock that makes :func:`count_up` atomic where kernels run as Python."""


def count_up(counters: np.ndarray, row: int, column: int) -> int:
    """Add 1 to a counter atomically, and return its value before the addition."""
    with _ATOMIC:
        before = int(counters[row, column])
        counters[row, column] = before + 1
    return before


def wait_for(counters: np.ndarray, row: int, column: int, count: int) -> None:
    """Wait until a counter is at least ``count``."""
    while counters[row, column] < count:
        # Lets other Python threads run.
        time.sleep(0)


@inlined
def wait_for_all(counters: np.ndarray, threads: int, n_waits: int) -> int:
    """Wait until all threads have called this; return ``n_waits + 1``.

    Args:
        counters: int64 (1, BARRIER_COUNTERS): initially 0, shared by the threads.
        threads: Number of threads.
        n_waits: Number of earlier calls by this thread.
    """
    if threads > 1:
        # The counter is never reset, so a late reader cannot miss that the barrier has opened.
        count_up(counters, 0, 0)
        wait_for(counters, 0, 0, threads * (n_waits + 1))
    return n_waits + 1


@intrinsic
def _add_one(typingctx: Any, counters: Any, row: Any, column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature, arguments)
        return builder.atomic_rmw("add", address, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(counters, types.intp, types.intp), generate


@intrinsic
def _load(typingctx: Any, counters: Any, row: Any, column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature, arguments)
        return builder.load_atomic(address, "seq_cst", 8)

    return types.int64(counters, types.intp, types.intp), generate


@intrinsic
def _yield_core(typingctx: Any) -> Any:
    """Yield the core to other threads, if the system has a call for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if sys.platform != "win32":
            function_type = ir.FunctionType(ir.IntType(32), [])
            declared = builder.module.globals.get("sched_yield")
            builder.call(declared or ir.Function(builder.module, function_type, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of a counter."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    offset = builder.add(
        builder.mul(arguments[1], ir.Constant(ir.IntType(64), BARRIER_COUNTERS)), arguments[2]
    )
    return builder.gep(array.data, [offset])


@overload_piece(count_up)
def _count_up(counters, row, column):  # type: ignore[no-untyped-def]
    return lambda counters, row, column: _add_one(counters, row, column)  # type: ignore[call-arg]


@overload_piece(wait_for)
def _wait_for(counters, row, column, count):  # type: ignore[no-untyped-def]
    def wait(counters, row, column, count):  # type: ignore[no-untyped-def]
        spins = 0
        while _load(counters, row, column) < count:  # type: ignore[call-arg]
            spins += 1
            if spins > SPINS:
                _yield_core()

    return wait
