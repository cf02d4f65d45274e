"""The page on the field states the sizes of the trees that it compares."""

from __future__ import annotations

import json

import pytest

from benchmarks import field
from tensorcfr.compilers import game_size

# Counts that are copied from the publications; the script's own counts are compared with them.
PUBLIC_NODES = {"cuda_short": 537, "cuda_standard": 5943, "cuda_wide": 51_903, "cuda_flop": 615_234}
"""cuda-poker-solver, docs/STATUS.md."""
STATES = {"river_100": 137_415, "turn_12": 433_610}
"""GPU-CFR, arXiv 2609.11923, table 3."""


@pytest.mark.parametrize("name", PUBLIC_NODES)
def test_trees_have_the_published_number_of_public_nodes(name: str) -> None:
    row = field.ROWS[name]
    assert game_size(row.source, **row.options()).public_nodes == PUBLIC_NODES[name]
    assert f"{PUBLIC_NODES[name]:,} public nodes" in row.tree


@pytest.mark.parametrize("name", STATES)
def test_random_hands_make_the_published_number_of_states(name: str) -> None:
    row = field.ROWS[name]
    options = row.options()
    size = game_size(row.source, **options)
    assert size.histories == row.histories
    # Histories here count the root, the first player's hands, and the nodes where cards are dealt.
    hands = len(options["ranges"][0].split(","))
    pairs, chance = {"river_100": (9161, 0), "turn_12": (131, 5)}[name]
    assert size.histories - 1 - hands - pairs * chance == STATES[name]


@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars_dice"])
def test_classic_games_have_the_stated_number_of_histories(name: str) -> None:
    row = field.ROWS[name]
    assert game_size(row.source, **row.options()).histories == row.histories


def test_the_page_is_the_stored_results() -> None:
    kept = json.loads(field.FILE.read_text("utf-8"))
    assert field.PAGE.read_text("utf-8") == field.page(kept)
    for name, found in kept["rows"].items():
        if (histories := field.ROWS[name].histories) is not None:
            assert found["one"]["histories"] == histories, name
