"""Lossless contraction: omit decisions with a single action from the solved game.

At such a decision there is no regret and no choice: its one sequence has the reach and the value
of the sequence before it.  In liar's dice every other public node is of that kind, because a
player who faces the highest bid can only call.
"""

from __future__ import annotations

import numpy as np

from ..model.arrays import CHANCE, NO_PARENT, PublicTree
from ..model.levels import levels_below_root
from .tables import smallest_int


def contract(tree: PublicTree) -> tuple[PublicTree, np.ndarray] | None:
    """The public tree without the decisions that have one action.

    Returns:
        The shorter tree, buckets and ranks not set; and int64 (nodes,), the node of it that each
        public node became, -1 for omitted nodes.  None if no decision has one action.
    """
    omitted = (tree.player >= 0) & (np.diff(tree.first_child) == 1)
    if not omitted.any():
        return None
    # For every node: the first step after its nearest ancestor that stays, and its new depth.
    step = np.arange(tree.n_nodes)
    depth = np.zeros(tree.n_nodes, dtype=np.int32)
    for level in levels_below_root(tree.first_child):
        above = tree.parent[level]
        through = omitted[above]
        step[level] = np.where(through, step[above], step[level])
        depth[level] = depth[above] + ~through
    kept = np.flatnonzero(~omitted)
    order, first_child, parent = _breadth_first(tree, kept, step, depth)
    nodes = kept[order]
    by_chance = np.zeros(len(nodes), dtype=bool)
    by_chance[1:] = tree.player[tree.parent[step[nodes[1:]]]] == CHANCE
    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    shorter = tree._replace(
        parent=smallest_int(parent),
        first_child=smallest_int(first_child),
        player=tree.player[nodes],
        edge=tree.edge[step[nodes]],
        chance=np.where(by_chance, tree.chance[step[nodes]], -1).astype(tree.chance.dtype),
        weight=tree.weight[nodes],
        payoff=tree.payoff[nodes],
        bucket=np.empty(0, dtype=np.int8),
        rank=np.empty(0, dtype=np.int8),
    )
    return shorter, place


def _breadth_first(
    tree: PublicTree, kept: np.ndarray, step: np.ndarray, depth: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes that stay, in breadth-first order.

    Args:
        tree: The public tree.
        kept: int64: the nodes that stay, ascending.
        step: int64 (nodes,): first step after the nearest ancestor that stays.
        depth: int32 (nodes,): depth in the shorter tree.

    Returns:
        int64 (kept,): the order, by depth, then by parent, then by step; int64 (kept + 1,): first
        children; int64 (kept,): parents; both in the new order.
    """
    place = np.full(tree.n_nodes, NO_PARENT, dtype=np.int64)
    by_depth = np.argsort(depth[kept], kind="stable")
    ends = np.cumsum(np.bincount(depth[kept]))
    order = np.empty(len(kept), dtype=np.int64)
    parent = np.full(len(kept), NO_PARENT, dtype=np.int64)
    begin = 0
    for end in ends.tolist():
        here = by_depth[begin:end]
        nodes = kept[here]
        above = place[tree.parent[step[nodes]]] if begin else np.full(1, NO_PARENT)
        sort = np.lexsort((step[nodes], above))
        order[begin:end] = here[sort]
        parent[begin:end] = above[sort]
        place[nodes[sort]] = np.arange(begin, end)
        begin = end
    children = np.bincount(parent[1:], minlength=len(kept))
    return order, np.append(1, 1 + np.cumsum(children)), parent
