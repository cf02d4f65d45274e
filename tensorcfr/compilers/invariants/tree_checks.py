"""Invariants T: the history tree."""

from __future__ import annotations

import numpy as np

from ..._util.limits import CHANCE_TOLERANCE
from ..._util.violations import check_indices, fail, first_true
from ...model.arrays import CHANCE, NO_OUTCOME, NO_PARENT, TERMINAL, HistoryTree, PublicTree
from .reader import Reader

Tree = HistoryTree | PublicTree


def check_parent(reader: Reader, checked_tree: Tree | None = None) -> None:
    """Check that the root has no parent, and that every parent precedes its children."""
    parent = (checked_tree or reader.tree).parent
    if parent[0] != NO_PARENT:
        fail(f"node 0 has the parent {parent[0]}, not {NO_PARENT}")
    node = first_true((parent[1:] < 0) | (parent[1:] >= np.arange(1, len(parent))))
    if node is not None:
        fail(f"node {node + 1} has the parent {parent[node + 1]}, which does not come before it")


def check_child_ranges(reader: Reader, checked_tree: Tree | None = None) -> None:
    """Check that ``first_child`` cuts the nodes after the root into ranges."""
    first_child = (checked_tree or reader.tree).first_child.astype(np.int64)
    if first_child[0] != 1:
        fail(f"first_child begins at {first_child[0]}, not 1")
    if (node := first_true(np.diff(first_child) < 0)) is not None:
        fail(f"first_child falls from {first_child[node]} at node {node}")
    if first_child[-1] != len(first_child) - 1:
        fail(f"first_child ends at {first_child[-1]}, but there are {len(first_child) - 1} nodes")


def check_child(reader: Reader, checked_tree: Tree | None = None) -> None:
    """Check that ``parent`` and ``first_child`` agree."""
    tree = checked_tree or reader.tree
    listed_parent = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_child))
    if (i := first_true(tree.parent[1:] != listed_parent)) is not None:
        fail(
            f"node {i + 1} has the parent {tree.parent[i + 1]}, but is among the children of "
            f"node {listed_parent[i]}"
        )


def check_player(reader: Reader) -> None:
    """Check that the acting player exists."""
    player, players = reader.tree.player, reader.form.n_players
    if (node := first_true((player < TERMINAL) | (player >= players))) is not None:
        fail(
            f"{reader.node(node)} has player {player[node]}; players are 0 to {players - 1}, "
            f"{CHANCE} is chance, {TERMINAL} a terminal"
        )


def check_infoset(reader: Reader) -> None:
    """Check that infosets exist, and that chance nodes and terminals have their sentinels."""
    tree = reader.tree
    acts, infosets = tree.player >= 0, reader.form.n_infosets
    check_indices("infoset", tree.infoset, infosets, acts, tree.player, reader.node)


def check_leaf(reader: Reader) -> None:
    """Check that exactly the terminals have no children."""
    if (node := first_true((reader.tree.player == TERMINAL) != (reader.children == 0))) is not None:
        kind = "a terminal" if reader.tree.player[node] == TERMINAL else "not a terminal"
        fail(f"{reader.node(node)} is {kind} and has {reader.children[node]} children")


def check_outcome(reader: Reader) -> None:
    """Check that exactly the children of chance nodes have an outcome."""
    tree, outcomes = reader.tree, len(reader.game.outcome_labels)

    def named(node: int) -> str:
        # Name the parent, because a node without an outcome does not have a name.
        parent_text = f", a child of {reader.node(int(tree.parent[node]))}," if node else ""
        return f"node {node}{parent_text}"

    check_indices("outcome", tree.outcome, outcomes, reader.by_chance, NO_OUTCOME, named)


def check_equal_outcomes(reader: Reader) -> None:
    """Check that the outcomes of a chance node differ."""
    children = np.flatnonzero(reader.by_chance)
    key = reader.tree.parent[children] * np.int64(len(reader.game.outcome_labels))
    key += reader.tree.outcome[children]
    order = np.argsort(key, kind="stable")
    if (index := first_true(np.diff(key[order]) == 0)) is not None:
        first, second = children[order[index : index + 2]].tolist()
        fail(f"node {first} and {reader.node(second)} are siblings with one outcome")


def check_terminal(reader: Reader) -> None:
    """Check that ``terminal`` lists the terminals."""
    terminal = reader.tree.terminal
    terminals = np.flatnonzero(reader.tree.player == TERMINAL)
    if len(terminal) != len(terminals):
        fail(f"terminal lists {len(terminal)} of {len(terminals)} terminals")
    if (index := first_true(terminal != terminals)) is not None:
        fail(f"terminal[{index}] is {terminal[index]}, not {reader.node(int(terminals[index]))}")


def check_utility(reader: Reader) -> None:
    """Check that utilities are finite."""
    tree = reader.tree
    if (value := first_true(~np.isfinite(tree.utility.ravel()))) is not None:
        index = value // tree.utility.shape[1]
        fail(f"{reader.node(int(tree.terminal[index]))} pays {tree.utility[index].tolist()}")


def check_negative_chance(reader: Reader) -> None:
    """Check that chance probabilities are finite and not negative."""
    probability = reader.tree.probability
    if (node := first_true(~((probability >= 0) & (probability < np.inf)))) is not None:
        fail(f"{reader.node(node)} has probability {probability[node]}")


def check_chance_sum(reader: Reader) -> None:
    """Check that the probabilities of a chance node sum to 1."""
    tree, chance = reader.tree, reader.chance_nodes
    if not len(chance):
        return
    fan = reader.children[chance]
    sums = np.add.reduceat(tree.probability[reader.by_chance], np.cumsum(fan) - fan)
    if (index := first_true(np.abs(sums - 1.0) > CHANCE_TOLERANCE)) is not None:
        fail(f"they sum to {float(sums[index])!r} at {reader.node(int(chance[index]))}")


def check_sure_step(reader: Reader) -> None:
    """Check that nodes that follow an action have probability 1."""
    probability = reader.tree.probability
    if (node := first_true((probability != 1.0) & ~reader.by_chance)) is not None:
        fail(f"{reader.node(node)} has probability {probability[node]}, but chance did not act")
