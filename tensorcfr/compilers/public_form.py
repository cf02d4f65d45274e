"""From hands x public tree to the sequence form, without laying out their product.

Lanes are hands x public nodes.  Public nodes are put in an order in which those that came the
same way lie side by side, so that the terminals of a kind find their last sequences in
contiguous runs for both players: those runs are the blocks of the payoff operator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.memory import reserve
from ..model.arrays import PublicTree, SequenceForm
from . import payoff_blocks
from .payoff_blocks import NOBODY, sequences_of
from .public_tree import small

BYTES_PER_NODE = 130
"""What laying out takes per public node: last steps, levels, and sorts."""
BYTES_PER_INFOSET = 8
"""What laying out and checking take per infoset."""


@dataclass
class Steps:
    """Each player's last own steps on the way to every public node.

    A step is named by the public node that it leads into.
    """

    last: np.ndarray
    """int32 (players, nodes): the player's last own step; ``NOBODY`` before the first."""
    level: np.ndarray
    """int16 (players, nodes): the level of an infoset here, if it is the player's."""
    turn: np.ndarray
    """int16 (nodes,): grows from every node to those below it, if these are not terminal."""
    exists: np.ndarray
    """bool (nodes,): whether some deal gets there."""


def build(tree: PublicTree) -> tuple[SequenceForm, PublicTree]:
    """The sequence form of a two-player game, and its public tree with buckets and ranks."""
    reserve(BYTES_PER_NODE * tree.n_nodes)
    steps = _trace(tree)
    possible, masks = _possible_hands(tree)
    bucket, table, bucket_mask = _buckets(tree, steps, possible)
    rank = _ranks(tree, steps, bucket, table)
    tree = tree._replace(bucket=small(bucket), rank=small(rank))
    layout = _layout(tree, table, bucket_mask, masks)
    layout["infoset_parent"] = _parents(tree, steps, layout)
    blocks, entries = payoff_blocks.build(tree, steps.last, steps.exists, layout)
    return SequenceForm(**layout, payoff=entries, blocks=blocks), tree


def _trace(tree: PublicTree) -> Steps:
    """Follow every player's last own step down the tree, depth by depth."""
    nodes, players = tree.n_nodes, tree.n_players
    last = np.full((players, nodes), NOBODY, dtype=np.int32)
    level = np.zeros((players, nodes), dtype=np.int16)
    depth = [0, 1]
    while depth[-1] < nodes:
        here = slice(depth[-1], int(tree.first_child[depth[-1]]))
        above = tree.parent[here]
        acted = tree.player[above]
        for player in range(players):
            own = acted == player
            last[player, here] = np.where(
                own, np.arange(here.start, here.stop), last[player, above]
            )
            level[player, here] = level[player, above] + own
        depth.append(here.stop)
    turn = np.repeat(np.arange(len(depth) - 1, dtype=np.int16), np.diff(depth))
    if (stage := _stages(tree)) is not None:
        turn = stage
        for player in range(players):
            own = np.unique(stage[(tree.player == player) & tree.exists])
            level[player] = np.searchsorted(own, stage)
    return Steps(last, level, turn, tree.exists)


def _stages(tree: PublicTree) -> np.ndarray | None:
    """How far the game has got, where the player and the number of actions say it.

    In liar's dice they do: each bid leaves fewer.  All nodes with one last bid then make one
    bucket, however many bids came before, instead of one for every number of bids: fewer and
    longer runs of lanes.  In poker they do not, for a raise is answered by a raise.

    Returns:
        int16 (nodes,): a stage that grows from every node to those below it that decide; None if
        there is none.
    """
    acting = np.flatnonzero((tree.first_child[1:] > tree.first_child[:-1]) & tree.exists)
    fan = (tree.first_child[acting + 1] - tree.first_child[acting]).astype(np.int64)
    key = fan * (tree.n_players + 1) + tree.player[acting]
    met, kind = np.unique(key, return_inverse=True)
    of = np.full(tree.n_nodes, -1, dtype=np.int64)
    of[acting] = kind
    below = acting[1:]
    edges = np.unique(of[tree.parent[below]] * len(met) + of[below])
    above, below = edges // len(met), edges % len(met)
    stage = np.zeros(len(met), dtype=np.int64)
    for _ in range(len(met) + 1):
        before = stage.copy()
        np.maximum.at(stage, below, stage[above] + 1)
        if np.array_equal(stage, before):
            found = np.zeros(tree.n_nodes, dtype=np.int16)
            found[acting] = stage[kind]
            return found
    return None


def _possible_hands(tree: PublicTree) -> tuple[np.ndarray, np.ndarray]:
    """Which hands each player may hold, under each row of the weight table.

    Returns:
        int64 (players, weights): a mask; and the masks, bool (masks, most hands).
    """
    alive = tree.alive
    most = max(tree.prior.shape)
    rows = []
    for player in range(tree.n_players):
        others = tuple(axis + 1 for axis in range(tree.n_players) if axis != player)
        own = np.asarray(alive.any(axis=others))
        rows.append(np.pad(own, ((0, 0), (0, most - own.shape[1]))))
    masks, which = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    return which.reshape(tree.n_players, -1), masks


def _buckets(
    tree: PublicTree, steps: Steps, possible: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decision nodes by player, level, number of actions and possible hands.

    Returns:
        int64 (nodes,): bucket, or -1; int64 (buckets, 4): player, level, actions and public
        nodes of each bucket; int64 (buckets,): its mask.
    """
    deciding = np.flatnonzero((tree.player >= 0) & steps.exists)
    player = tree.player[deciding].astype(np.int64)
    level = steps.level[player, deciding].astype(np.int64)
    fan = (tree.first_child[deciding + 1] - tree.first_child[deciding]).astype(np.int64)
    mask = possible[player, tree.weight[deciding]]
    fans, masks = int(fan.max(initial=0)) + 1, int(possible.max(initial=0)) + 1
    levels = int(level.max(initial=0)) + 1
    key = ((player * levels + level) * fans + fan) * masks + mask
    met, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    bucket = np.full(tree.n_nodes, -1, dtype=np.int64)
    bucket[deciding] = inverse
    table = np.stack(
        [met // masks // fans // levels, met // masks // fans % levels, met // masks % fans, count],
        axis=1,
    )
    return bucket, table, met % masks


def _ranks(tree: PublicTree, steps: Steps, bucket: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Place of every decision node among those of its bucket, int64 (nodes,).

    Turn by turn, nodes go by the bucket of their parent, the action, and the place of the
    parent; so all that came by one action from one bucket lie in the order of that bucket.  In a
    bucket, nodes whose actions end the game equally often come together first: that makes
    the slices of the sparse part of the payoff operator wide.
    """
    kind = _kinds(tree, steps, bucket)
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    by_turn = np.argsort(steps.turn[1:], kind="stable") + 1
    ends = np.cumsum(np.bincount(steps.turn[1:]))
    for here in np.split(by_turn, ends[:-1]):
        above = tree.parent[here]
        action = here - tree.first_child[above]
        order = np.lexsort((place[above], action, kind[above]))
        place[here[order]] = np.arange(len(here))
    deciding = np.flatnonzero(bucket >= 0)
    order = np.lexsort((place[deciding], steps.turn[deciding], kind[deciding]))
    first = np.cumsum(table[:, 3]) - table[:, 3]
    rank = np.full(tree.n_nodes, -1, dtype=np.int64)
    ordered = deciding[order]
    rank[ordered] = np.arange(len(ordered)) - first[bucket[ordered]]
    return rank


def _kinds(tree: PublicTree, steps: Steps, bucket: np.ndarray) -> np.ndarray:
    """Bucket, then how often each action ends the game, as one number per node; negative, by
    turn, where nobody decides."""
    ends = np.zeros(tree.n_nodes, dtype=np.int64)
    over = np.flatnonzero((tree.payoff >= 0) & steps.exists)
    for own in steps.last:
        ended = own[over]
        ends += np.bincount(ended[ended >= 0], minlength=tree.n_nodes)
    # Only equality matters: a sum of products with odd numbers stands for the tuple.
    stepped = np.arange(1, tree.n_nodes)
    action = stepped - tree.first_child[tree.parent[1:]]
    mixed = np.zeros(tree.n_nodes, dtype=np.int64)
    np.add.at(mixed, tree.parent[1:], ends[1:] * (2 * (action.astype(np.int64) + 1) ** 3 + 1))
    met, inverse = np.unique(mixed, return_inverse=True)
    return np.where(bucket >= 0, bucket * len(met) + inverse, -1 - steps.turn)


def _layout(
    tree: PublicTree, table: np.ndarray, bucket_mask: np.ndarray, masks: np.ndarray
) -> dict[str, np.ndarray]:
    """The fields of :class:`SequenceForm` that say the layout, ``infoset_parent`` apart."""
    owner, level, actions, nodes = (np.ascontiguousarray(column) for column in table.T)
    hand_rank = np.zeros((len(masks), masks.shape[1] + 1), dtype=np.int64)
    np.cumsum(masks, axis=1, out=hand_rank[:, 1:])
    lanes = nodes * hand_rank[bucket_mask, -1]
    players = np.arange(tree.n_players + 1)
    player_buckets = np.searchsorted(owner, players)
    infosets = np.append(0, np.cumsum(lanes))
    sequences = np.append(0, np.cumsum(lanes * actions))
    return {
        "player_infosets": infosets[player_buckets],
        "player_sequences": sequences[player_buckets] + players,
        "player_buckets": player_buckets,
        "bucket_level": level,
        "bucket_actions": actions,
        "bucket_lanes": lanes,
        "bucket_infoset": infosets[:-1],
        "bucket_sequence": sequences[:-1] + owner + 1,
        "bucket_stride": nodes,
        "bucket_mask": bucket_mask,
        "hand_rank": hand_rank,
    }


def _parents(tree: PublicTree, steps: Steps, layout: dict[str, np.ndarray]) -> np.ndarray:
    """The owner's last sequence before every infoset, uint32 (infosets,)."""
    deciding = np.flatnonzero(tree.bucket >= 0)
    bucket = tree.bucket[deciding]
    order = np.lexsort((tree.rank[deciding], bucket))
    deciding, bucket = deciding[order], bucket[order]
    step = steps.last[tree.player[deciding], deciding]
    first, stride, mask = sequences_of(tree, layout, tree.player[deciding].astype(np.int64), step)
    infosets = int(layout["player_infosets"][-1])
    reserve(BYTES_PER_INFOSET * infosets)
    parent = np.empty(infosets, dtype=np.uint32)
    ends = np.cumsum(np.bincount(bucket, minlength=len(layout["bucket_lanes"])))
    begin = 0
    for b, end in enumerate(ends.tolist()):
        rank_here = layout["hand_rank"][layout["bucket_mask"][b]]
        held = np.flatnonzero(np.diff(rank_here))
        at, nodes = int(layout["bucket_infoset"][b]), end - begin
        for hand in held.tolist():
            above = layout["hand_rank"][mask[begin:end], hand]
            parent[at : at + nodes] = first[begin:end] + above * stride[begin:end]
            at += nodes
        begin = end
    return parent
