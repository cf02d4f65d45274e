"""Threads change no bit, and single precision changes the last digits; bytes; refusals."""

from __future__ import annotations

import os
import signal
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from support.equality import PerturbedHands, bits, perturbed
from support.payoff_paths import forced
from support.random_games import random_public_tree_game, repeated
from support.tiers import tiered
from tensorcfr import Algorithm, CompiledGame, Solver
from tensorcfr import compile_game as compiled
from tensorcfr.algorithms import CFR, CFR_PLUS, PCFR_PLUS
from tensorcfr.games import make_game
from tensorcfr.kernels.tiles import LONGEST, TILE_ROWS
from tensorcfr.solvers.solver import bytes_needed
from tensorcfr.solvers.solver_arguments import PRECISIONS

pytestmark = pytest.mark.compiled

ALGORITHMS: dict[str, str | Algorithm] = {
    "cfr": "cfr",
    "cfr+": "cfr+",
    "cfr simultaneous": CFR(alternating=False),
    "cfr+ simultaneous": CFR_PLUS(alternating=False),
    "predictive": "pcfr+",
    "predictive simultaneous": PCFR_PLUS(alternating=False),
}


def in_blocks(source: Any, **options: Any) -> CompiledGame:
    with forced("blocks"):
        return compiled(source, **options)


GAMES: dict[str, Callable[[], CompiledGame]] = {
    "leduc": lambda: compiled("leduc"),
    "leduc, symmetries kept": lambda: compiled("leduc", symmetry=False),
    "leduc, blocks": lambda: in_blocks("leduc", symmetry=False),
    "liar's dice, blocks": lambda: in_blocks("liars_dice(faces=4)"),
    "one hand each, blocks": lambda: in_blocks(
        repeated(random_public_tree_game(11, max_hands=1), 9, 0)
    ),
    "a wide game": lambda: in_blocks(
        repeated(repeated(random_public_tree_game(7, max_hands=5), 40, 1), 5, 0)
    ),
    "goofspiel": lambda: compiled("goofspiel(cards=4)"),
    "three players": lambda: compiled("kuhn(players=3)"),
}
"""Games with one hand and many, with blocks and without, with fewer hands than threads."""


@cache
def game(name: str) -> CompiledGame:
    return GAMES[name]()


def stepped(name: str, algorithm: Any, iterations: int, **options: Any) -> Solver:
    solver = Solver(game(name), algorithm, **options)
    solver.iterate(iterations)
    return solver


BLOCKS = [name for name in GAMES if name.endswith(("blocks", "wide game"))]


@pytest.mark.parametrize(
    ("name", "algorithm"),
    tiered(
        product(GAMES, ALGORITHMS),
        [
            *product(GAMES, ["cfr+"]),
            # No other fast test compiles a predictive rule for blocks.
            *product(BLOCKS, ["cfr+ simultaneous"]),
            *product(GAMES.keys() - BLOCKS, ["predictive simultaneous"]),
        ],
    ),
)
def test_threads_change_no_bit(name: str, algorithm: str) -> None:
    """Also with more threads than hands, and than groups of blocks."""
    expected = bits(stepped(name, ALGORITHMS[algorithm], 12).state)
    for threads in (2, 3, 5):
        found = bits(stepped(name, ALGORITHMS[algorithm], 12, threads=threads).state)
        assert found == expected, f"{threads} threads"


@pytest.mark.full
@pytest.mark.parametrize("name", ["leduc, blocks", "a wide game"])
def test_threads_in_single_precision(name: str) -> None:
    for algorithm in ("cfr+", "pcfr+"):
        expected = bits(stepped(name, algorithm, 12, precision="float32").state)
        for threads in (2, 3):
            solver = stepped(name, algorithm, 12, precision="float32", threads=threads)
            assert bits(solver.state) == expected


@pytest.mark.parametrize("threads", [0, -1, True, 1.0, "2"])
def test_threads_are_a_number_from_one(threads: Any) -> None:
    with pytest.raises(ValueError, match="threads must be a whole number from 1"):
        Solver(game("leduc"), threads=threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_steps_on() -> None:
    """It has none of its parent's threads: waiting for them, it would hang."""
    solver, alone = (Solver(game("leduc"), "cfr", threads=threads) for threads in (2, 1))
    solver.iterate(3)
    alone.iterate(6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: threads and a fork.
        child = os.fork()
    if child == 0:
        status = 1
        try:
            solver.iterate(3)
            status = int(solver.state.regret.tobytes() != alone.state.regret.tobytes())
        finally:
            os._exit(status)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
    solver.iterate(3)
    assert solver.state.regret.tobytes() == alone.state.regret.tobytes()


@cache
def generic(spec: str, path: str) -> CompiledGame:
    """Without ties, on which the last bit decides."""
    rules = make_game(spec)
    with forced(path):
        if "goofspiel" in spec:
            return compiled(perturbed(spec, seed=359))
        return compiled(PerturbedHands(rules))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "path", "algorithm"),
    tiered(
        (
            (spec, path, algorithm)
            for algorithm in ("cfr", "cfr+", "pcfr+")
            for spec, path in (
                ("kuhn(cards=5)", "entries"),
                ("kuhn(cards=5)", "blocks"),
                ("liars_dice(faces=3)", "blocks"),
                ("liars_dice(faces=3)", "chained blocks"),
            )
        ),
        [("kuhn(cards=5)", "entries", "cfr+")],
    ),
)
def test_single_precision(spec: str, path: str, algorithm: str) -> None:
    """Fifty iterations on games without ties: the averages agree to what float32 holds, and
    so does what they are worth."""
    single = Solver(generic(spec, path), algorithm, precision="float32")
    double = Solver(generic(spec, path), algorithm)
    for solver in (single, double):
        solver.iterate(50)
    for name in ("regret", "cumulative", "strategy", "reach", "memory"):
        assert getattr(single.state, name).dtype == np.float32
    found, expected = single.evaluate(), double.evaluate()
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=2e-5)
    assert found.exploitability == pytest.approx(expected.exploitability, abs=2e-5)
    off = np.abs(single.average_probabilities() - double.average_probabilities())
    assert np.median(off) < 1e-6
    assert off.max() < 2e-4


# ---------------------------------------------------------------------------- single precision


def test_single_precision_halves_the_bytes() -> None:
    record = CFR_PLUS
    states = []
    for precision in ("float64", "float32"):
        state = Solver(game("leduc"), record, precision=precision).state
        states.append(sum(array.nbytes for array in state[:5]))
        assert state.floor.nbytes == 8
    assert states[0] == 2 * states[1]
    told = [bytes_needed(game("leduc"), record, precision) for precision in PRECISIONS]
    # One array is scratch.
    assert 4 * (told[0] - told[1]) == 5 * (states[0] - states[1])


@pytest.mark.parametrize("precision", ["float16", "double", 32, np.float32])
def test_other_precisions_are_refused(precision: Any) -> None:
    with pytest.raises(ValueError, match="precision must be one of"):
        Solver(game("leduc"), precision=precision)


# ------------------------------------------------------------------------------------ going on


def test_a_solver_takes_no_more_than_was_said() -> None:
    """Also while it is made: no lock costs an array."""
    bluff = compiled("bluff(dice=(2, 1))")
    for _ in range(2):  # Python and numba keep small objects of the first rounds.
        first = Solver(bluff, "cfr+")
        first.iterate(2)
        first.evaluate()
    del first
    tracemalloc.start()
    try:
        solver = Solver(bluff, "cfr+")
        solver.iterate(2)
        solver.evaluate()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    tiles = np.empty((TILE_ROWS, LONGEST)).nbytes  # Of the kernels, whatever the game.
    assert peak <= bytes_needed(bluff, solver.algorithm) + tiles + 100_000
