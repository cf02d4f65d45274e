"""Every way to solve times every way to look, on a corpus of games, against slow computations.

The registry is :mod:`support.ways`; ``python -m scripts.covered_pairs`` prints the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

from support import ways
from support.fake_cluster import play_cluster
from support.ways import GAMES, LOOK, SOLVE, Hole, Made, Weak

PAIRS = [(game, way) for game in GAMES for way in SOLVE if ways.applies(game, way)]


INTERPRETED = ("kuhn", "random hands", "random cards", "river", "turn")
"""The games that also run with kernels as Python, which are enough for all of their lines."""


def is_interpreted(game: str, way: str) -> bool:
    """Whether a pair of game and way also runs with kernels as Python: sums of single precision are
    single there, too, and samples are drawn in ``tests/sampling`` as well."""
    if way in ("cut, float32", "cut, int16"):
        return False
    return game in INTERPRETED and (game == "kuhn" or SOLVE[way].kind == "passes")


def cases() -> Iterator[Any]:
    """A test for the fast looks of each pair of game and way, and one for the rest."""
    for game, way in PAIRS:
        if numba.config.DISABLE_JIT and not is_interpreted(game, way):
            continue
        fast = [look for look in LOOK if ways.is_fast(game, way, look)]
        rest = [look for look in LOOK if look not in fast]
        if fast:
            yield pytest.param(game, way, fast, id=f"{game}-{way}")
        if rest:
            marks = pytest.mark.full
            yield pytest.param(game, way, rest, id=f"{game}-{way}-rest", marks=marks)


@pytest.mark.parametrize(("game", "way", "looks"), list(cases()))
def test_solved_and_looked_at(
    game: str, way: str, looks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look gives the slow answer, or the error that the registry names."""
    play_cluster(monkeypatch)
    made, failed = Made(game, SOLVE[way], tmp_path), []
    if ways.refused_solve(game, way) is not None:
        looks = looks[:1]  # The solve is refused; nothing is left to look at.
    for look in looks:
        try:
            ways.check(made, way, look)
        except Exception as error:
            error.add_note(f"{look!r} of {game!r} solved {way!r}")
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{game}, {way}", failed)


def test_every_cell_of_the_table_says_something() -> None:
    """Each pair is compared, refused, or a hole with a reason; nothing is left out in silence."""
    looks, cells, reasons = ways.table()
    assert set(cells) == {(way, look) for way in SOLVE for look in looks}
    assert all(cells.values())
    for game, way in PAIRS:
        for look in looks:
            if isinstance(wanted := ways.expected(game, way, look), (Hole, Weak)):
                assert len(wanted.reason.split()) > 4
                assert wanted.reason in reasons.values()


def test_every_way_is_tried_in_the_fast_tier() -> None:
    """Every way to solve and every way to look, and every game."""
    fast = [
        (game, way, look) for game, way in PAIRS for look in LOOK if ways.is_fast(game, way, look)
    ]
    assert {game for game, _, _ in fast} == set(GAMES)
    assert {way for _, way, _ in fast} == set(SOLVE)
    assert {look for _, _, look in fast} == set(LOOK)
