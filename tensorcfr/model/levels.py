"""The levels of a tree whose nodes are in breadth-first order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def levels(first_child: np.ndarray, top: slice = slice(0, 1)) -> Iterator[slice]:
    """Yield the levels of a tree as ranges of nodes, from the top down.

    Nodes are in breadth-first order, so the children of a range of nodes are a range too.

    Args:
        first_child: int (nodes + 1,): first child of each node.
        top: The first range: the root, or consecutive nodes of one level.

    Yields:
        ``top``, then the range of its children, and so on; no range is empty.

    >>> [(level.start, level.stop) for level in levels(np.array([1, 3, 5, 5, 5, 5]))]
    [(0, 1), (1, 3), (3, 5)]
    """
    begin, end = top.start, top.stop
    while begin < end:
        yield slice(begin, end)
        begin, end = int(first_child[begin]), int(first_child[end])


def levels_below_root(first_child: np.ndarray) -> Iterator[slice]:
    """Yield the levels of a tree below the root."""
    return levels(first_child, slice(int(first_child[0]), int(first_child[1])))
