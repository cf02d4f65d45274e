"""Bandwidth of this machine, and the share of it that an iteration uses."""

from __future__ import annotations

import statistics
import time

import numba
import numpy as np

from ._common import cache_sizes

ROUNDS = 5


@numba.njit
def _triad(a: np.ndarray, b: np.ndarray, c: np.ndarray, repeats: int) -> None:
    """Compute ``a = b + 3 c`` several times."""
    for _ in range(repeats):
        for i in range(a.shape[0]):
            a[i] = b[i] + 3.0 * c[i]


def triad_bandwidth() -> dict[str, float]:
    """Return bytes per second of the triad, by level of memory.

    Counts 24 bytes per element; the arrays together half fill a cache level, or go far beyond
    the last one (``memory``).
    """
    sizes = {level: size // 2 for level, size in cache_sizes().items()}
    sizes["memory"] = max([*sizes.values(), 1 << 26]) * 10
    return {level: _measure(size) for level, size in sizes.items()}


def _measure(n_bytes: int) -> float:
    """Return bytes per second of the triad on arrays with a total size."""
    n = n_bytes // 24
    a, b, c = (np.full(n, value) for value in (0.0, 1.0, 2.0))
    _triad(a, b, c, 1)
    repeats = max(1, 200_000_000 // n_bytes)
    rates = []
    for _ in range(ROUNDS):
        started = time.process_time()
        _triad(a, b, c, repeats)
        rates.append(24 * n * repeats / (time.process_time() - started))
    return statistics.median(rates)


@numba.njit(fastmath=True)
def _multiply_add(a: np.ndarray, repeats: int) -> None:
    """Compute a chain of fused multiplications and additions for every element, several times."""
    for _ in range(repeats):
        for i in range(a.shape[0]):
            x = a[i]
            for _ in range(16):
                x = x * 0.999 + 0.001
            a[i] = x


def peak_operations() -> float:
    """Return multiplications and additions per second of one core, on data in the first cache
    level."""
    a = np.ones(1024)
    _multiply_add(a, 1)
    rates = []
    for _ in range(ROUNDS):
        started = time.process_time()
        _multiply_add(a, 20_000)
        rates.append(2 * 16 * len(a) * 20_000 / (time.process_time() - started))
    return max(rates)
