"""Sequence form of private hands x public tree, without expanding their product.

Lanes are hands x public nodes.  Public nodes that follow the same actions are adjacent, so that the
last sequences of similar terminals are contiguous for both players.  These contiguous runs are the
blocks of the payoff operator.

The counterpart for games that are compiled from histories is :mod:`.form_of_histories`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._util.memory_budget import reserves
from ..model.arrays import PublicTree, SequenceForm, bucket_layout, levels_below_root, smallest_int
from ..model.chunked_form import ALIGNED, whole_rows
from . import payoff_blocks
from .payoff_blocks import NO_STEP, EntrySequences, action_sequences

BYTES_PER_NODE = 130
"""Bytes per public node for the layout: last own actions, levels, and sorts."""
BYTES_PER_INFOSET = 8
"""Bytes per infoset for layout and checks."""


@dataclass
class Steps:
    """Each player's last own action before every public node.

    An action is identified by the public node after it.
    """

    last: np.ndarray
    """int32 (players, nodes): the player's last own action; before their first action, the code of
    an entry, which is ``NO_STEP`` in a whole game."""
    level: np.ndarray
    """int16 (players, nodes): level of an infoset of the player at the node."""
    turn: np.ndarray
    """int16 (nodes,): processing order of the nodes; larger at a node than at its parent, except at
    terminals."""
    reachable: np.ndarray
    """bool (nodes,): whether some deal reaches the node."""


class Forest(NamedTuple):
    """Entries into a part of a game.  The roots of the part are the children of node 0.

    Node 0 is an artificial chance node.
    """

    entry: np.ndarray
    """int64 (players, roots): the player's entry that leads to each root."""
    mask: tuple[np.ndarray, ...]
    """int64 (entries,) for each player: row of the masks of :func:`possible_hands`, for the hands
    that have a sequence in the entry."""


class Built(NamedTuple):
    """Sequence form, with the positions of public nodes in it."""

    form: SequenceForm
    tree: PublicTree
    """Public tree with buckets and ranks."""
    last: np.ndarray
    """int32 (players, nodes): the player's last own action or the code of an entry; see
    :class:`Steps`."""
    entered: EntrySequences
    """Sequences of the entries."""


def build(tree: PublicTree) -> tuple[SequenceForm, PublicTree]:
    """Build the sequence form of a two-player game, and its public tree with buckets and ranks."""
    built = lay_out(tree)
    parts = tuple(part for part in built.form.operator if not part.is_empty)
    return built.form._replace(operator=parts), built.tree


@reserves(lambda tree, forest=None: BYTES_PER_NODE * tree.n_nodes)
def lay_out(tree: PublicTree, forest: Forest | None = None) -> Built:
    """Build the sequence form of a two-player game, or of a part of one.

    Both parts of the payoff operator are present, even if one is empty.

    Args:
        tree: The public tree, or the forest of a part below an artificial node 0.
        forest: The entries into the part; None for a whole game.
    """
    steps = _trace(tree, forest)
    possible, masks = possible_hands(tree, everybody=forest is not None)
    bucket, table, bucket_mask = _buckets(tree, steps, possible)
    rank = _ranks(tree, steps, bucket, table)
    form, entered = _layout(tree, table, bucket_mask, masks, forest)
    tree = tree._replace(bucket=smallest_int(bucket), rank=smallest_int(rank))
    form = form._replace(infoset_parent=_parents(tree, steps, form, entered))
    operator = payoff_blocks.build(tree, steps.last, steps.reachable, form, entered)
    return Built(form._replace(operator=operator), tree, steps.last, entered)


def _trace(tree: PublicTree, forest: Forest | None) -> Steps:
    """Propagate every player's last own action down the tree, level by level."""
    nodes, players = tree.n_nodes, tree.n_players
    last = np.full((players, nodes), NO_STEP, dtype=np.int32)
    level = np.zeros((players, nodes), dtype=np.int16)
    turn = np.zeros(nodes, dtype=np.int16)
    for depth, level_nodes in enumerate(levels_below_root(tree.first_child), start=1):
        parent = tree.parent[level_nodes]
        actor = tree.player[parent]
        turn[level_nodes] = depth
        for player in range(players):
            acts = actor == player
            step = np.arange(level_nodes.start, level_nodes.stop)
            last[player, level_nodes] = np.where(acts, step, last[player, parent])
            level[player, level_nodes] = level[player, parent] + acts
        if forest is not None and depth == 1:
            # The roots of a part are reached through entries, not through own actions.
            last[:, level_nodes] = -1 - forest.entry
    exists = tree.exists
    if (stage := _game_stages(tree, exists)) is not None:
        turn = stage
        for player in range(players):
            stages = np.unique(stage[(tree.player == player) & exists])
            level[player] = np.searchsorted(stages, stage)
    return Steps(last, level, turn, exists)


def _game_stages(tree: PublicTree, exists: np.ndarray) -> np.ndarray | None:
    """Return stages of decision nodes, if player and number of actions determine the stage.

    In liar's dice they do: each bid leaves fewer bids.  Then all nodes with the same last bid form
    one bucket, for any number of earlier bids, which gives fewer buckets and longer runs of lanes.
    In poker they do not, because a raise may follow a raise.

    Returns:
        int16 (nodes,): stages, larger at a decision node than at its parent; None if there are
        none.
    """
    acting = np.flatnonzero((tree.first_child[1:] > tree.first_child[:-1]) & exists)
    n_children = (tree.first_child[acting + 1] - tree.first_child[acting]).astype(np.int64)
    key = n_children * (tree.n_players + 1) + tree.player[acting]
    kinds, kind = np.unique(key, return_inverse=True)
    kind_of = np.full(tree.n_nodes, -1, dtype=np.int64)
    kind_of[acting] = kind
    below = acting[1:]
    edges = np.unique(kind_of[tree.parent[below]] * len(kinds) + kind_of[below])
    above, below = edges // len(kinds), edges % len(kinds)
    stage = np.zeros(len(kinds), dtype=np.int64)
    # The stage of a kind is the length of the longest path to it.  If kinds form a cycle, the
    # stages still grow after as many passes as there are kinds.
    for _ in range(len(kinds) + 1):
        before = stage.copy()
        # Relax all edges at once, as Bellman and Ford do.
        np.maximum.at(stage, below, stage[above] + 1)
        if np.array_equal(stage, before):
            stages = np.zeros(tree.n_nodes, dtype=np.int16)
            stages[acting] = stage[kind]
            return stages
    return None


def possible_hands(tree: PublicTree, *, everybody: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Find the hands that each player may hold, for each row of the weight table.

    Args:
        tree: The public tree.
        everybody: Whether to add one mask of all hands for each player, independent of the weights.

    Returns:
        int64 (players, weights): index of the mask; bool (masks, most hands): the masks.  With
        ``everybody``, a last column of the first array has the masks of all hands.
    """
    alive = tree.alive
    most = max(tree.prior.shape)
    rows = []
    for player in range(tree.n_players):
        others = tuple(axis + 1 for axis in range(tree.n_players) if axis != player)
        mask = np.asarray(alive.any(axis=others))
        if everybody:
            mask = np.concatenate([mask, np.ones((1, mask.shape[1]), dtype=bool)])
        rows.append(np.pad(mask, ((0, 0), (0, most - mask.shape[1]))))
    masks, which = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    return which.reshape(tree.n_players, -1), masks


def _buckets(
    tree: PublicTree, steps: Steps, possible: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group decision nodes by player, level, number of actions and possible hands.

    Returns:
        int64 (nodes,): bucket, or -1; int64 (4, buckets): player, level, actions and public nodes
        of each bucket; int64 (buckets,): mask of each bucket.
    """
    deciding = np.flatnonzero((tree.player >= 0) & steps.reachable)
    player = tree.player[deciding].astype(np.int64)
    level = steps.level[player, deciding].astype(np.int64)
    actions = (tree.first_child[deciding + 1] - tree.first_child[deciding]).astype(np.int64)
    mask = possible[player, tree.weight[deciding]]
    most = int(actions.max(initial=0)) + 1
    masks, levels = int(possible.max(initial=0)) + 1, int(level.max(initial=0)) + 1
    # Buckets are numbered by this key: by player first, then by level, as the passes visit them.
    key = ((player * levels + level) * most + actions) * masks + mask
    distinct, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    bucket = np.full(tree.n_nodes, -1, dtype=np.int64)
    bucket[deciding] = inverse
    rest, bucket_mask = np.divmod(distinct, masks)
    rest, bucket_actions = np.divmod(rest, most)
    owner, bucket_level = np.divmod(rest, levels)
    return bucket, np.stack([owner, bucket_level, bucket_actions, count]), bucket_mask


def _ranks(tree: PublicTree, steps: Steps, bucket: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Rank every decision node in its bucket, int64 (nodes,).

    Nodes are sorted level by level, by the bucket of their parent, the action, and the rank of the
    parent.  So the nodes after one action of one bucket keep the order of that bucket.  Within a
    bucket, nodes whose actions end the game equally often are adjacent, which makes the slices of
    the sparse part of the payoff operator wide.
    """
    kind = _kinds(tree, steps, bucket)
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    by_turn = np.argsort(steps.turn[1:], kind="stable") + 1
    ends = np.cumsum(np.bincount(steps.turn[1:]))
    for turn_nodes in np.split(by_turn, ends[:-1]):
        parent = tree.parent[turn_nodes]
        action = turn_nodes - tree.first_child[parent]
        order = np.lexsort((place[parent], action, kind[parent]))
        place[turn_nodes[order]] = np.arange(len(turn_nodes))
    deciding = np.flatnonzero(bucket >= 0)
    order = np.lexsort((place[deciding], steps.turn[deciding], kind[deciding]))
    first = np.cumsum(table[3]) - table[3]
    rank = np.full(tree.n_nodes, -1, dtype=np.int64)
    ordered = deciding[order]
    rank[ordered] = np.arange(len(ordered)) - first[bucket[ordered]]
    return rank


def _kinds(tree: PublicTree, steps: Steps, bucket: np.ndarray) -> np.ndarray:
    """Hash each node's bucket and number of terminals after each action, int64 (nodes,).

    Nodes without a decision have a negative number that depends on their level.
    """
    ends = np.zeros(tree.n_nodes, dtype=np.int64)
    terminals = np.flatnonzero((tree.payoff >= 0) & steps.reachable)
    for own_last in steps.last:
        ended = own_last[terminals]
        ends += np.bincount(ended[ended >= 0], minlength=tree.n_nodes)
    # Only equality matters, so the counts of all actions are hashed as a sum of products with odd
    # numbers.
    stepped = np.arange(1, tree.n_nodes)
    action = stepped - tree.first_child[tree.parent[1:]]
    mixed = np.zeros(tree.n_nodes, dtype=np.int64)
    np.add.at(mixed, tree.parent[1:], ends[1:] * (2 * (action.astype(np.int64) + 1) ** 3 + 1))
    distinct, inverse = np.unique(mixed, return_inverse=True)
    return np.where(bucket >= 0, bucket * len(distinct) + inverse, -1 - steps.turn)


def _layout(
    tree: PublicTree,
    table: np.ndarray,
    bucket_mask: np.ndarray,
    masks: np.ndarray,
    forest: Forest | None,
) -> tuple[SequenceForm, EntrySequences]:
    """Lay out the sequence form, without parents and payoffs, and the entries.

    The empty sequence of each player comes first.  A part of a game has entries instead: the
    sequences of player 0's entries come first, the sequences of player 1's last, hand by hand.

    In a part of a game, every bucket begins at a multiple of :data:`ALIGNED` sequences, because
    vectors that cross cache lines slow a pass down by half.
    """
    owner, level, actions, nodes = table
    hand_rank = np.zeros((len(masks), masks.shape[1] + 1), dtype=np.int64)
    np.cumsum(masks, axis=1, out=hand_rank[:, 1:])
    lanes = nodes * hand_rank[bucket_mask, -1]
    layout = bucket_layout(owner, level, actions, lanes, tree.n_players)
    layout |= {"bucket_stride": nodes, "bucket_mask": bucket_mask, "hand_rank": hand_rank}
    form = SequenceForm(**layout, infoset_parent=np.empty(0, dtype=np.uint32), operator=())
    if forest is None:
        none = np.zeros(tree.n_players, dtype=np.int64)
        first = form.player_sequences[:-1]
        return form, EntrySequences(np.arange(tree.n_players), first, none, none)
    mask, count = np.concatenate(forest.mask), len(forest.mask[0])
    first_sizes, second_sizes = np.split(hand_rank[mask, -1], [count])
    # Round the size of each bucket up to a multiple of ALIGNED.
    sequences = np.append(0, np.cumsum(-(-lanes * actions // ALIGNED) * ALIGNED))
    middle, end = sequences[form.player_buckets[1:]].tolist()
    before = whole_rows(int(first_sizes.sum()))
    last = whole_rows(before + end)
    first = np.concatenate(
        [np.cumsum(first_sizes) - first_sizes, last + np.cumsum(second_sizes) - second_sizes]
    )
    form = form._replace(
        player_sequences=np.array([0, before + middle, last + int(second_sizes.sum())]),
        bucket_sequence=sequences[:-1] + before,
    )
    return form, EntrySequences(np.array([0, count]), first, np.ones_like(mask), mask)


@reserves(lambda tree, steps, form, entered: BYTES_PER_INFOSET * int(form.player_infosets[-1]))
def _parents(
    tree: PublicTree, steps: Steps, form: SequenceForm, entered: EntrySequences
) -> np.ndarray:
    """Return the last sequence of the player before every infoset, uint32 (infosets,)."""
    nodes = tree.by_place
    player = tree.player[nodes].astype(np.int64)
    places = action_sequences(tree, form, entered, player, steps.last[player, nodes])
    parent = np.empty(int(form.player_infosets[-1]), dtype=np.uint32)
    infoset = begin = 0
    for bucket, count in enumerate(form.bucket_stride.tolist()):
        lanes = slice(begin, begin + count)
        # The lanes of a bucket are ordered by hand, then by node.
        for hand in form.possible_hands(bucket).tolist():
            rank = form.hand_rank[places.mask[lanes], hand]
            parent[infoset : infoset + count] = places.sequence[lanes] + rank * places.stride[lanes]
            infoset += count
        begin += count
    return parent
