"""Bad calls of all that is public are refused by name; ``scripts/bad_calls.py`` makes them all."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tensorcfr import GameError, compile_game, solve
from tensorcfr.errors import FormatError
from tensorcfr.formats import parse_spot
from tensorcfr.games import make_game, make_spot
from tensorcfr.sweep import read_algorithm

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


def test_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """250 of them, another sample in no two versions of the list of calls."""
    monkeypatch.chdir(tmp_path)  # Some texts are names of files.
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from scripts import bad_calls

    calls = bad_calls.all_calls(tmp_path)
    assert len(calls) > 2000  # The number that was asked for.
    faults = [
        f"{call.what}({call.parameter}={call.value}): {outcome}"
        for call in Random(7).sample(calls, 250)
        if (outcome := bad_calls.judge(call)).startswith("FAULT")
    ]
    assert not faults, ascii("\n".join(faults))  # Half a surrogate pair cannot be printed.


GAMES: dict[str, dict[str, Any]] = {
    "kuhn": {},
    "leduc": {"ranks": 2, "cut": 2},
    "holdem": {"board": "Td9d6hQc2s", "ranges": ("AA", "KK"), "pot": 9, "stacks": 9, "bets": "a"},
}


@pytest.mark.parametrize("name", GAMES)
def test_labels_that_are_not_texts(name: str) -> None:
    """Of locks they were looked up, which ended in an AttributeError."""
    game = compile_game(name, **GAMES[name])
    for label in (None, 5, ("K",)):
        with pytest.raises(TypeError, match="locks: an infoset label must be a string, not"):
            solve(game, iters=1, locks={label: {"call": 1}})  # type: ignore[dict-item]
        with pytest.raises(KeyError):
            game.locate(label)  # type: ignore[arg-type]


def test_values_that_are_not_texts_or_floats() -> None:
    """They passed through ``in``, ``strip`` and ``float`` before they were checked."""
    river: dict[str, Any] = GAMES["holdem"]
    for value in (5, [], {}, None):
        with pytest.raises(GameError, match="cannot read the game"):
            make_spot(game=value, **river)
    text = 'board = "Td9d6hQc2s"\npot = 9\nstacks = 9\nranges = ["AA", "KK"]\n'
    for given in ("5", "[1]", "{}", "1979-05-27"):
        with pytest.raises(FormatError, match="cannot read the game"):
            parse_spot(f"{text}game = {given}\n")
    small: dict[str, Any] = {"stacks": 4, "ranks": "JQKA", "suits": 2, "hand": 1, "deals": (1,)}
    with pytest.raises(GameError, match="the weight of 'Jc' must be a number above 0"):
        make_game("nolimit_poker", **small, flops=[("Jc", 10**400)])
    with pytest.raises(GameError, match="chip must be a number from 1e-09"):
        make_game("nolimit_poker", **small, chip=1e-310)
    with pytest.raises(GameError, match="cannot read the game 'leduc"):
        compile_game("leduc(ranks={[]:1})")
    with pytest.raises(ValueError, match="cannot read the algorithm 'dcfr"):
        read_algorithm("dcfr(alpha={[]:1})")
