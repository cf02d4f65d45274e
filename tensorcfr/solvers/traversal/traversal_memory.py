"""Memory of a traversal."""

from __future__ import annotations

from typing import cast

import numpy as np

from ...compilers.cards.card_public_nodes import CardNodes
from ...kernels.traversal import HISTORY_NODE, PUBLIC_NODE
from ...model.flat_game import FlatGame
from ...model.layout import Layout
from .card_trees import bytes_of_cards
from .public_trees import terminal_tables
from .table_layout import TableLayout, tree_depth

BYTES_PER_HISTORY = HISTORY_NODE.itemsize
"""Bytes of a node in a tree of histories."""
BYTES_PER_QUEUED = 44
"""Bytes per node of a traversal that tries every action: queue, forks, reaches and value."""
BYTES_PER_PUBLIC_NODE, BYTES_PER_ALL_HANDS_NODE = PUBLIC_NODE.itemsize + 4, PUBLIC_NODE.itemsize + 8
"""Bytes of a node in a public tree with its row of chance; and, for all hands, with its weight and
its table."""
BYTES_PER_DEAL = 32
"""Bytes of a row of an alias table, including temporary arrays."""


def bytes_of(
    layout: TableLayout, *, queue: bool, public: bool = False, all_hands: bool = False
) -> int:
    """Compute the bytes of the table, the tree and, if a traversal has one, the queue.

    Args:
        layout: The game, and the contents of the table.
        queue: True if a traversal has a queue.
        public: True if it traverses the public tree.
        all_hands: True if it plays all hands at once.
    """
    game = layout.game
    table = 8 * layout.size
    if not public:
        return table + (BYTES_PER_HISTORY + BYTES_PER_QUEUED * queue) * game.n_histories
    if game.layout == Layout.CHUNKS:
        nodes = cast(CardNodes, game.nodes)
        return table + bytes_of_cards(nodes) + BYTES_PER_QUEUED * queue * nodes.betting.n_nodes
    tree = cast(FlatGame, game).public_tree
    if not all_hands:
        node = BYTES_PER_PUBLIC_NODE + BYTES_PER_QUEUED * queue
        return table + node * tree.n_nodes + BYTES_PER_DEAL * tree.prior.size
    # Matrices of hands: one for each player and payoff table, and one for each weight table.
    matrices = 2 * len(np.unique(terminal_tables(tree))) + len(tree.weight_table)
    rows = 2 * (tree_depth(tree.first_child) + 1) * (int(np.diff(tree.first_child).max()) + 2)
    most = max(tree.prior.shape)
    # Simultaneous updates keep a list of the visited infosets.
    pending = 8 * layout.extra * game.n_infosets
    arrays = 8 * most * (matrices * most + rows)
    return table + BYTES_PER_ALL_HANDS_NODE * tree.n_nodes + arrays + pending
