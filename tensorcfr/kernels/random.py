"""Random numbers inside kernels: xoshiro256++, whose state is an array that can be saved.

The generator is that of D. Blackman, S. Vigna, 'Scrambled linear pseudorandom number
generators', ACM Transactions on Mathematical Software 47, 2021: four words of state, period
2^256 - 1.  Its state comes from :class:`numpy.random.SeedSequence`, so that different seeds, and
the streams ``(seed, 0), (seed, 1), ...`` of one seed, are statistically independent.

A kernel that draws takes the generator as an argument, and is compiled for its type: the state of
xoshiro256++, or a :data:`Script` of given numbers, with which tests produce every sample they want.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba.core import types
from numba.extending import overload

from .._util.jit import inlined, kernel

Seed = int | Sequence[int]
"""A whole number from 0, or several: a seed, the number of a stream, of a stream within it, ..."""
Script = tuple[np.ndarray, np.ndarray]
"""float64 (draws,): the numbers to be drawn, each in [0, 1); int64 (1,): how many were drawn."""

_TO_UNIT = 2.0**-53
_17, _23, _45, _11 = np.uint64(17), np.uint64(23), np.uint64(45), np.uint64(11)
_41, _19 = np.uint64(41), np.uint64(19)


def seeded(seed: Seed) -> np.ndarray:
    """The state of a generator.

    Args:
        seed: A whole number from 0, or several.

    Returns:
        uint64 (4,).
    """
    entropy, *stream = [seed] if isinstance(seed, int) else seed
    return np.random.SeedSequence(entropy, spawn_key=stream).generate_state(4, np.uint64)


def draw(generator: np.ndarray | Script) -> float:
    """The next number, uniform in [0, 1) with 53 bits; called from inside a kernel.

    Args:
        generator: uint64 (4,) or a script; modified in place.
    """
    return _replay(generator) if isinstance(generator, tuple) else _xoshiro(generator)


@overload(draw, inline="always")
def _draw(generator):  # type: ignore[no-untyped-def]
    if isinstance(generator, types.BaseTuple):
        return lambda generator: _replay(generator)
    return lambda generator: _xoshiro(generator)


@kernel
def fill(generator: np.ndarray, numbers: np.ndarray) -> None:
    """Draw many numbers at once.

    Args:
        generator: uint64 (4,): modified in place.
        numbers: float64: modified in place.
    """
    for i in range(len(numbers)):
        numbers[i] = draw(generator)


def remember(generator: np.ndarray | Script, state: np.ndarray) -> None:
    """Save the position of a generator, for :func:`rewind`; called from inside a kernel.

    Args:
        generator: uint64 (4,) or a script.
        state: uint64 (4,): modified in place.
    """
    if isinstance(generator, tuple):
        state[0] = generator[1][0]
    else:
        state[:] = generator


@overload(remember, inline="always")
def _remember(generator, state):  # type: ignore[no-untyped-def]
    if isinstance(generator, types.BaseTuple):

        def note(generator, state):  # type: ignore[no-untyped-def]
            state[0] = np.uint64(generator[1][0])
    else:

        def note(generator, state):  # type: ignore[no-untyped-def]
            state[:] = generator

    return note


def rewind(generator: np.ndarray | Script, state: np.ndarray) -> None:
    """Restore the position of a generator from :func:`remember`; called from inside a kernel.

    Args:
        generator: uint64 (4,) or a script; modified in place.
        state: uint64 (4,).
    """
    if isinstance(generator, tuple):
        generator[1][0] = state[0]
    else:
        generator[:] = state


@overload(rewind, inline="always")
def _rewind(generator, state):  # type: ignore[no-untyped-def]
    if isinstance(generator, types.BaseTuple):

        def back(generator, state):  # type: ignore[no-untyped-def]
            generator[1][0] = np.int64(state[0])
    else:

        def back(generator, state):  # type: ignore[no-untyped-def]
            generator[:] = state

    return back


@inlined
def _xoshiro(state: np.ndarray) -> float:
    a, b, c, d = state[0], state[1], state[2], state[3]
    total = a + d
    found = ((total << _23) | (total >> _41)) + a
    shifted = b << _17
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << _45) | (d >> _19)
    state[0], state[1], state[2], state[3] = a, b, c, d
    # Signed numbers become floats in one instruction; unsigned ones need more.
    return np.float64(np.int64(found >> _11)) * _TO_UNIT


@inlined
def _replay(script: Script) -> float:
    values, position = script
    position[0] += 1
    return values[position[0] - 1]
