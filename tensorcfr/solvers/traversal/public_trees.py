"""Traversal trees of games with private hands: their public tree, without expanding the hands."""

from __future__ import annotations

import numpy as np

from ..._util.limits import INDEX_LIMIT
from ...errors import GameError
from ...kernels.alias import make_alias_tables
from ...kernels.sampling_public import NO_HAND, AllHandsTree
from ...kernels.traversal import NO_BLOCK, PUBLIC_NODE, TraversalTree
from ...model.arrays import CHANCE, TERMINAL, PublicTree
from ...model.flat_game import FlatGame
from .table_layout import TableLayout, node_records, tree_depth


def public_traversal(game: FlatGame, layout: TableLayout) -> TraversalTree:
    """Create the traversal tree for traversals that draw the hands first.

    Args:
        game: The game; it has two players.
        layout: Layout of the blocks of its infosets.

    Raises:
        GameError: The table is too large for indices of 32 bits.
    """
    tree = game.public_tree
    deals = np.flatnonzero(tree.prior)
    probability = tree.prior.ravel()[deals] / tree.prior.sum()
    threshold, alias = np.empty(len(deals)), np.empty(len(deals), np.uint32)
    make_alias_tables(np.array([0, len(deals)]), probability, threshold, alias)
    drawn = (tree.player == CHANCE).any()
    return TraversalTree(
        node=_nodes(game, layout),
        utility=tree.matrix_table.reshape(-1, game.n_players, tree.prior.size),
        depth=tree_depth(tree.first_child),
        width=int(np.diff(tree.first_child).max(initial=1)),
        blocks=int((layout.step[tree.bucket[tree.player >= 0]] > 0).sum()),
        entries=tree.n_nodes,
        visits_once=True,
        dealt=game.n_players,
        hands=tree.prior.shape[1],
        drawn=game.n_players,
        probability=np.empty(0),
        deal=np.stack([deals, deals[alias]], axis=1).astype(np.uint32),
        deal_threshold=threshold,
        hand_offset=_hand_offsets(game, layout),
        step=tree.chance.astype(np.int32) if drawn else np.empty(0, np.int32),
        chance_table=tree.chance_table.reshape(-1, tree.prior.size),
        coefficient=tree.coefficient,
        matrix=tree.matrix.astype(np.uint32),
    )


def all_hands_traversal(game: FlatGame, layout: TableLayout) -> AllHandsTree:
    """Create the traversal tree for traversals that play all hands at once.

    Args:
        game: The game; it has two players, private hands and a public tree.
        layout: Layout of the blocks of its infosets.

    Raises:
        GameError: The table is too large for indices of 32 bits.
    """
    tree, form = game.public_tree, game.form
    tables, row = np.unique(terminal_tables(tree), return_inverse=True)
    table = np.zeros(tree.n_nodes, np.uint32)
    table[tree.player == TERMINAL] = row
    mass, utility = _deal_utilities(tree, tables)
    possible = np.diff(form.hand_rank, axis=1)[form.bucket_mask] > 0
    return AllHandsTree(
        node=_nodes(game, layout),
        weight=tree.weight.astype(np.uint32),
        table=table,
        hand_offset=np.where(possible, _hand_offsets(game, layout), NO_HAND).astype(np.uint32),
        mass=mass,
        deals=tree.alive.sum(axis=(1, 2)),
        utility=utility,
        coefficient=tree.coefficient,
        hands=np.array(tree.prior.shape, np.uint64),
        depth=tree_depth(tree.first_child),
        width=int(np.diff(tree.first_child)[tree.player >= 0].max(initial=1)),
        infosets=int(form.bucket_lanes[layout.step > 0].sum()),
        drawn=0,
        dealing=tree.n_dealing,
    )


def terminal_tables(tree: PublicTree) -> np.ndarray:
    """Return weight and matrix of every public terminal as one number, int64 (terminals,)."""
    terminal = tree.player == TERMINAL
    matrix = tree.matrix[tree.payoff[terminal]]
    return tree.weight[terminal].astype(np.int64) * len(tree.matrix_table) + matrix


def _deal_utilities(tree: PublicTree, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute mass and utility of an :class:`AllHandsTree`.

    Args:
        tree: The public tree.
        tables: int64 (tables,): distinct numbers of :func:`terminal_tables`.
    """
    possible = tree.alive
    probability = np.where(possible, tree.prior * tree.weight_table, 0.0)
    mass = probability.sum(axis=(1, 2)) / tree.prior.sum()
    most = max(tree.prior.shape)
    utility = np.zeros((len(tables), 2, most, most))
    first, second = tree.prior.shape
    for table_utility, number in zip(utility, tables.tolist(), strict=True):
        weight, matrix = divmod(number, len(tree.matrix_table))
        # Matrix entries of impossible deals may be any number, including NaN.
        pays = np.where(possible[weight], tree.matrix_table[matrix], 0.0)
        deal_probability = probability[weight] / (mass[weight] if mass[weight] > 0.0 else 1.0)
        table_utility[0, :second, :first] = (deal_probability * pays[0]).T
        table_utility[1, :first, :second] = deal_probability * pays[1]
    return mass, utility


def _nodes(game: FlatGame, layout: TableLayout) -> np.ndarray:
    """Create the public nodes, :data:`PUBLIC_NODE` (nodes,).

    Raises:
        GameError: The table is too large for indices of 32 bits.
    """
    tree = game.public_tree
    if max(tree.n_nodes, layout.size) > INDEX_LIMIT:
        raise GameError(
            f"{game.name} is too large to be traversed: its table has {layout.size:,} numbers"
        )
    node = node_records(tree.player, tree.first_child, PUBLIC_NODE)
    decides, terminal = tree.player >= 0, tree.player == TERMINAL
    # A decision that no deal reaches has bucket -1; no traversal reaches it either.
    bucket = tree.bucket[decides]
    block = layout.first[bucket] + tree.rank[decides] * layout.step[bucket]
    node["block"][decides] = np.where(layout.step[bucket] > 0, block, int(NO_BLOCK))
    node["bucket"][decides] = bucket
    chance = np.flatnonzero(tree.player == CHANCE)
    node["bucket"][chance] = np.arange(len(chance))
    node["payoff"][terminal] = tree.payoff[terminal]
    return node


def _hand_offsets(game: FlatGame, layout: TableLayout) -> np.ndarray:
    """Compute the distance from the first possible hand's block to each hand's block.

    Returns:
        uint32 (buckets, most hands).
    """
    form = game.form
    rank = form.hand_rank[form.bucket_mask, :-1]
    return (rank * (form.bucket_stride * layout.step)[:, None]).astype(np.uint32)
