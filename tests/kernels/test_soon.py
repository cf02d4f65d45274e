"""What the memory is asked for while payoffs are worked out."""

from __future__ import annotations

import numpy as np
import pytest

from support.tiers import tiered
from tensorcfr import Solver, compile_game
from tensorcfr.kernels.chunk_passes import own_sequences, prefetch_addresses
from tensorcfr.kernels.shapes import shape_form
from tensorcfr.payoff.card_lanes import _next_lines

SPOT = {"board": "Td5d6hQc", "ranges": ("AA,KK", "QQ,TT"), "pot": 200, "stacks": 300}


def addresses(array: np.ndarray, begin: int, end: int) -> list[int]:
    """The addresses of some numbers: of the first, and behind the last."""
    first = array.ctypes.data
    return [first + begin * array.itemsize, first + end * array.itemsize]


@pytest.mark.parametrize("precision", tiered(["float32", "int16"], fast=["float32"]))
@pytest.mark.parametrize("player", [0, 1])
def test_what_is_needed_after_the_payoffs_of_a_chunk(
    player: int, precision: str, interpreted: None
) -> None:
    """A player's regrets in it, and regrets and averages of the other player in the next one."""
    solver = Solver(compile_game("holdem", bets="50%", **SPOT), precision=precision)
    game, kept = solver.game.chunks, solver._passes.stored
    last, nothing = game.n_chunks - 1, [0, 0]
    for c in (-1, 0, last):
        expected = []
        for at, who, array in (
            (c, player, kept.regret),
            (c + 1, 1 - player, kept.regret),
            (c + 1, 1 - player, kept.cumulative),
        ):
            if not 0 <= at <= last:
                expected.append(nothing)
                continue
            form = shape_form(game.shapes, game.shape[at])
            own = [int(game.sequence_offset[at] + s) for s in own_sequences(game, at, form, who)]
            expected.append(addresses(array.chunks, *own))
        for averages in (True, False):
            soon = np.full((3, 2), 7)
            prefetch_addresses(game, c, player, kept, averages, soon)
            assert soon.tolist() == [*expected[:2], expected[2] if averages else nothing]


def test_lines_follow_each_other_range_by_range() -> None:
    """What was asked for counts as fetched, and there is an end."""
    soon = np.array([[640, 1280], [0, 0], [4096, 4160]])
    found = [_next_lines(soon, count, 5) for count in (4, 9, 1, 1, 3)]
    assert found == [640, 640 + 4 * 64, 4096, 5, 5]
