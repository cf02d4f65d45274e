"""The levels of a tree, and that what is switched off is not computed."""

from __future__ import annotations

import numpy as np
import pytest

from support.random_games import random_game, random_public_tree_game
from tensorcfr import compile_game
from tensorcfr.compilers import flat_compiler
from tensorcfr.model.arrays import levels, levels_below_root


@pytest.mark.parametrize("seed", range(8))
def test_levels_are_the_nodes_by_depth(seed: int) -> None:
    """The depth of each node is counted here over its parents."""
    tree = compile_game(random_game(seed, max_histories=60)).tree
    depth = [0]
    for parent in tree.parent[1:].tolist():
        depth.append(depth[parent] + 1)
    found = np.full(tree.n_nodes, -1)
    for number, level in enumerate(levels(tree.first_child)):
        found[level] = number
    assert found.tolist() == depth
    below = list(levels_below_root(tree.first_child))
    assert below == list(levels(tree.first_child))[1:]
    # From a node in the middle: its descendants, and no other nodes.
    top = int(np.argmax(np.diff(tree.first_child) * (np.arange(tree.n_nodes) > 0)))
    family = {top}
    for node, parent in enumerate(tree.parent.tolist()):
        if parent in family:
            family.add(node)
    ranges = levels(tree.first_child, slice(top, top + 1))
    assert {node for level in ranges for node in range(level.start, level.stop)} == family


def test_a_tree_of_one_node_has_one_level() -> None:
    assert list(levels(np.array([1, 1]))) == [slice(0, 1)]
    assert list(levels_below_root(np.array([1, 1]))) == []


def test_without_symmetry_no_merged_form_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = random_public_tree_game(1)
    merged = compile_game("leduc")

    def never(*_: object) -> None:
        raise AssertionError("merged although symmetry is off")

    monkeypatch.setattr(flat_compiler, "merge", never)
    plain = compile_game("leduc", symmetry=False)
    assert plain.merged is None
    assert plain.digest == merged.digest
    assert compile_game(rules, symmetry=False).merged is None
