"""Parts of a traversal tree that histories and public nodes share."""

from __future__ import annotations

import numpy as np

from ...kernels.traversal import CHANCE_NODE, TERMINAL_NODE
from ...model.arrays import CHANCE, TERMINAL, levels


def node_records(player: np.ndarray, first_child: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Create the nodes of a traversal tree, with actors and children; other fields are 0.

    Args:
        player: int8 (nodes,): acting player, ``CHANCE`` or ``TERMINAL``.
        first_child: int (nodes + 1,): first child of each node.
        dtype: ``HISTORY_NODE`` or ``PUBLIC_NODE``.
    """
    node = np.zeros(len(player), dtype)
    node["actor"] = np.where(player == CHANCE, CHANCE_NODE, np.maximum(player, 0))
    node["actor"][player == TERMINAL] = TERMINAL_NODE
    node["first_child"] = first_child[:-1]
    node["n_children"] = np.diff(first_child)
    return node


def tree_depth(first_child: np.ndarray) -> int:
    """Compute the largest number of decisions and chance nodes before a terminal, at least 1."""
    return sum(1 for _ in levels(first_child))
