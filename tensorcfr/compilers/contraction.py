"""Lossless shortening: decisions without a choice are left out of what is solved.

Who has one action neither regrets nor mixes: his next sequence has the reach and the value of
the one before.  In liar's dice every other public node is of that kind, for whoever faces the
highest bid can only call.
"""

from __future__ import annotations

import numpy as np

from ..model.arrays import CHANCE, NO_PARENT, PublicTree
from .public_tree import small


def contract(tree: PublicTree) -> tuple[PublicTree, np.ndarray] | None:
    """The public tree without the decisions that have one action.

    Returns:
        The shorter tree, buckets and ranks not set; and the node in it that each public node
        became, int64 (nodes,), -1 for those left out.  None if there are none.
    """
    fan = np.diff(tree.first_child)
    left_out = (tree.player >= 0) & (fan == 1)
    if not left_out.any():
        return None
    # For every node the first step after the last node before it that stays.
    step = np.arange(tree.n_nodes)
    depth = np.zeros(tree.n_nodes, dtype=np.int32)
    start, stop = 1, int(tree.first_child[1])
    while start < stop:
        here = np.arange(start, stop)
        above = tree.parent[start:stop]
        through = left_out[above]
        step[here] = np.where(through, step[above], here)
        depth[here] = depth[above] + ~through
        start, stop = stop, int(tree.first_child[stop])
    kept = np.flatnonzero(~left_out)
    order, first_child, parent = _breadth_first(tree, kept, step, depth)
    nodes = kept[order]
    by_chance = np.zeros(len(nodes), dtype=bool)
    by_chance[1:] = tree.player[tree.parent[step[nodes[1:]]]] == CHANCE
    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    shorter = tree._replace(
        parent=small(parent),
        first_child=small(first_child),
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
    """The nodes that stay in breadth-first order: by depth, then as their parents, then as the
    steps from there.

    Returns:
        int64 (kept,): the order; then first children and parents in the new order.
    """
    # Within a depth, the steps from one node are contiguous, and ascend with their nodes.
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
