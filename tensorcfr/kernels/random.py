"""Random numbers inside kernels: xoshiro256++, whose state is an array that can be saved.

The generator is from D. Blackman, S. Vigna, 'Scrambled linear pseudorandom number generators', ACM
Transactions on Mathematical Software 47, 2021: four words of state, period 2^256 - 1.  Its state
comes from :class:`numpy.random.SeedSequence`, so different seeds, and the streams ``(seed, 0),
(seed, 1), ...`` of one seed, are statistically independent.

A kernel that draws takes a generator as an argument, and is compiled for its type.  There are three
types: the state of xoshiro256++; a :data:`Script` of given numbers, by which tests produce any
sample; and :class:`Streams`, with a sequence for every chance node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from .._util.jit import by_types, inlined, kernel

Seed = int | Sequence[int]
"""Seed as a whole number from 0, or several: the seed, the number of a stream, of a stream within
it, ..."""
Script = tuple[np.ndarray, np.ndarray]
"""Numbers to draw, float64 (draws,), each in [0, 1); and the number of draws so far, int64 (1,)."""


class Streams(NamedTuple):
    """Low-discrepancy sequence for every chance node: multiples of the golden ratio, modulo 1.

    They are evenly spread, so each outcome of a node is drawn as often as its probability implies,
    up to a few draws.  Every player's traversals have streams of their own.

    Source: Li, Chen, Huang, arXiv 2607.27035, 2026 (correlated chance sampling), known from a
    report about it; the sequence is that of H. Weyl, 'Ueber die Gleichverteilung von Zahlen mod.
    Eins', Mathematische Annalen 77, 1916.
    """

    position: np.ndarray
    """uint64 (players * draws,): last number of each stream, times 2^64; modified in place."""
    turn: np.ndarray
    """int64 (2,): first stream of the traversing player; number of streams per player."""


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Golden ratio minus 1, times 2^64; odd, so a stream repeats after 2^64 draws."""
_TO_UNIT = 2.0**-53
_17, _23, _45, _11 = np.uint64(17), np.uint64(23), np.uint64(45), np.uint64(11)
_41, _19 = np.uint64(41), np.uint64(19)


def seeded(seed: Seed) -> np.ndarray:
    """Return the state of a generator, uint64 (4,).

    Args:
        seed: A whole number from 0, or several.
    """
    return _numbers(seed, 4)


def _numbers(seed: Seed, count: int) -> np.ndarray:
    """Return ``count`` numbers derived from a seed, uint64 (count,)."""
    entropy, *stream = [seed] if isinstance(seed, int) else seed
    return np.random.SeedSequence(entropy, spawn_key=stream).generate_state(count, np.uint64)


def _is_tuple(generator: object) -> bool:
    """Return whether a generator, or its numba type, is a script or streams."""
    return isinstance(generator, (tuple, types.BaseTuple))


def _has_streams(generator: object) -> bool:
    """Return whether a generator, or its numba type, is streams."""
    return isinstance(generator, (Streams, types.BaseNamedTuple))


@by_types
def draw(generator: np.ndarray | Script) -> float:
    """Draw the next number, uniform in [0, 1) with 53 bits, inside a kernel.

    Args:
        generator: uint64 (4,) or a script; modified in place.
    """
    return _replay if _is_tuple(generator) else _xoshiro


@kernel
def fill(generator: np.ndarray, numbers: np.ndarray) -> None:
    """Draw many numbers.

    Args:
        generator: uint64 (4,): modified in place.
        numbers: float64 (draws,): modified in place.
    """
    for i in range(len(numbers)):
        numbers[i] = draw(generator)


def streams(seed: Seed, players: int, draws: int) -> Streams:
    """Create streams that begin at random positions.

    Args:
        seed: A whole number from 0, or several.
        players: Number of players.
        draws: Number of streams per player.
    """
    return streams_at(_numbers(seed, players * draws), players)


def streams_at(position: np.ndarray, players: int) -> Streams:
    """Create streams that continue from given positions, without copying them."""
    return Streams(position, np.array([0, len(position) // players]))


@by_types
def draw_at(generator: np.ndarray | Script | Streams, place: np.uint64) -> Any:
    """Draw the next number of a chance node, uniform in [0, 1), inside a kernel.

    Args:
        generator: uint64 (4,), a script or streams; modified in place.
        place: Stream of the node; ignored by other generators.
    """
    return _advance if _has_streams(generator) else lambda generator, place: draw(generator)


@by_types
def take_turn(generator: np.ndarray | Script | Streams, player: np.uint64) -> Any:
    """Select the streams of the traversing player, inside a kernel.

    Nothing happens for other generators.
    """
    return _take_turn if _has_streams(generator) else lambda generator, player: None


@by_types
def remember(generator: np.ndarray | Script | Streams, state: np.ndarray) -> Any:
    """Save the position of a generator for :func:`rewind`, inside a kernel.

    Args:
        generator: uint64 (4,) or a script.  Nothing is saved for streams, because traversals share
            no draws of them.
        state: uint64 (4,): modified in place.
    """
    if _has_streams(generator):
        return lambda generator, state: None
    return _remember_place if _is_tuple(generator) else _remember


@by_types
def rewind(generator: np.ndarray | Script | Streams, state: np.ndarray) -> Any:
    """Restore the position of a generator saved by :func:`remember`, inside a kernel.

    Args:
        generator: uint64 (4,) or a script; modified in place.  Streams are left unchanged.
        state: uint64 (4,).
    """
    if _has_streams(generator):
        return lambda generator, state: None
    return _rewind_to_place if _is_tuple(generator) else _rewind


@inlined
def _take_turn(generator: Streams, player: np.uint64) -> None:
    generator.turn[0] = generator.turn[1] * np.int64(player)


@inlined
def _remember(generator: np.ndarray, state: np.ndarray) -> None:
    # Not a slice: numba spends two seconds compiling its error for a wrong shape.
    for k in range(len(state)):
        state[k] = generator[k]


@inlined
def _remember_place(generator: Script, state: np.ndarray) -> None:
    state[0] = np.uint64(generator[1][0])


@inlined
def _rewind(generator: np.ndarray, state: np.ndarray) -> None:
    for k in range(len(state)):
        generator[k] = state[k]


@inlined
def _rewind_to_place(generator: Script, state: np.ndarray) -> None:
    generator[1][0] = np.int64(state[0])


@inlined
def _xoshiro(generator: np.ndarray) -> float:
    a, b, c, d = generator[0], generator[1], generator[2], generator[3]
    total = a + d
    word = ((total << _23) | (total >> _41)) + a
    shifted = b << _17
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << _45) | (d >> _19)
    generator[0], generator[1], generator[2], generator[3] = a, b, c, d
    # Signed integers convert to floats in one instruction; unsigned ones need more.
    return np.float64(np.int64(word >> _11)) * _TO_UNIT


@inlined
def _advance(generator: Streams, place: np.uint64) -> float:
    stream = np.uint64(generator.turn[0]) + place
    generator.position[stream] += _GOLDEN
    return np.float64(np.int64(generator.position[stream] >> _11)) * _TO_UNIT


@inlined
def _replay(generator: Script) -> float:
    values, position = generator
    position[0] += 1
    return values[position[0] - 1]
