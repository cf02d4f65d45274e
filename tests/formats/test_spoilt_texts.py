"""Spoilt tables of policies and spots: they are read, or refused by an error that says where.

Spoilt files of Gambit are in ``test_gambit.py``; ``scripts/fuzz.py`` knows more ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from support.spoilt_text import mutated
from tensorcfr import GameError, Policy, compile_game
from tensorcfr.formats import parse_spot, read_policy, save_policy

SPOT = """board = "Td9d6hQc"
pot = 200
stacks = 900
raises = "2.5x"
rake = 0.05

[ranges]
oop = "66+,A8s+"
ip = "QQ-22,AQs-A2s"

[bets]
turn = "60%"
river = "50%,a"
"""


def _policy(kind: str, folder: Path) -> tuple[str, Callable[[str], Any]]:
    game = compile_game("kuhn")
    path = save_policy(Policy.uniform(game), folder / f"sound.{kind}")
    spoilt = folder / f"spoilt.{kind}"

    def read(text: str) -> object:
        spoilt.write_text(text)
        return read_policy(game, spoilt)

    return path.read_text(), read


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(1_000, marks=pytest.mark.full),
        pytest.param(100_000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "json", "toml"])
def test_spoilt_texts_give_clear_errors_only(kind: str, count: int, tmp_path: Path) -> None:
    text, read = (SPOT, parse_spot) if kind == "toml" else _policy(kind, tmp_path)
    refused = 0
    for seed in range(count):
        spoilt = mutated(text, Random(seed))
        try:
            read(spoilt)
        except (GameError, ValueError) as error:
            refused += 1
            said = str(error)
            # The place, the infoset, or what is missing as a whole.
            placed = re.search(r":\d+(:\d+)?: |line \d+", said)
            assert placed or re.search(r"infoset|column|no rows|kuhn|spoilt\.", said), (seed, said)
            assert "\n" not in said.strip()
    assert refused > count / 20
