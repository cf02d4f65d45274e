"""From hands x public tree to the sequence form, without laying out their product.

Lanes are hands x public nodes.  Public nodes are put in an order in which those that came the
same way lie side by side, so that the terminals of a kind find their last sequences in
contiguous runs for both players: those runs are the blocks of the payoff operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..model.arrays import PublicTree, SequenceForm
from ..model.chunks import ALIGNED
from . import payoff_blocks
from .payoff_blocks import NOBODY, Entries, sequences_of
from .public_tree import small


@dataclass
class Steps:
    """Each player's last own steps on the way to every public node.

    A step is named by the public node that it leads into.
    """

    last: np.ndarray
    """int32 (players, nodes): the player's last own step; before the first the entry, ``NOBODY``
    in a whole game."""
    level: np.ndarray
    """int16 (players, nodes): the level of an infoset here, if it is the player's."""
    turn: np.ndarray
    """int16 (nodes,): grows from every node to those below it, if these are not terminal."""
    exists: np.ndarray
    """bool (nodes,): whether some deal gets there."""


class Forest(NamedTuple):
    """How a part of a game is entered: subtrees whose roots are the children of node 0.

    Node 0 is a chance node that is no part of the game.
    """

    entry: np.ndarray
    """int64 (players, roots): which of the player's entries leads to each root."""
    mask: tuple[np.ndarray, ...]
    """int64 (entries,), for each player: row of the masks of :func:`possible_hands`, the hands
    that each entry has sequences of."""


class Built(NamedTuple):
    """A sequence form, and where the public nodes lie in it."""

    form: SequenceForm
    tree: PublicTree
    """The public tree with buckets and ranks."""
    last: np.ndarray
    """int32 (players, nodes): the player's last own step, or entry; see :class:`Steps`."""
    entered: Entries
    """The sequences of the entries."""


def build(tree: PublicTree) -> tuple[SequenceForm, PublicTree]:
    """The sequence form of a two-player game, and its public tree with buckets and ranks."""
    built = lay_out(tree)
    return built.form, built.tree


def lay_out(tree: PublicTree, forest: Forest | None = None) -> Built:
    """The sequence form of a two-player game, or of a part of one."""
    steps = _trace(tree, forest)
    possible, masks = possible_hands(tree, everybody=forest is not None)
    bucket, table, bucket_mask = _buckets(tree, steps, possible)
    rank = _ranks(tree, steps, bucket, table)
    tree = tree._replace(bucket=small(bucket), rank=small(rank))
    layout, entered = _layout(tree, table, bucket_mask, masks, forest)
    layout["infoset_parent"] = _parents(tree, steps, layout, entered)
    blocks, entries = payoff_blocks.build(tree, steps.last, steps.exists, layout, entered)
    return Built(SequenceForm(**layout, payoff=entries, blocks=blocks), tree, steps.last, entered)


def _trace(tree: PublicTree, forest: Forest | None) -> Steps:
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
        if forest is not None and here.start == 1:
            last[:, here] = -1 - forest.entry
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


def possible_hands(tree: PublicTree, *, everybody: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Which hands each player may hold, under each row of the weight table.

    Args:
        tree: The public tree.
        everybody: Whether there is a mask of all hands of each player too, whatever the weights.

    Returns:
        int64 (players, weights): a mask; and the masks, bool (masks, most hands).  With
        ``everybody``, the masks of all hands are a column more.
    """
    alive = tree.alive
    most = max(tree.prior.shape)
    rows = []
    for player in range(tree.n_players):
        others = tuple(axis + 1 for axis in range(tree.n_players) if axis != player)
        own = np.asarray(alive.any(axis=others))
        if everybody:
            own = np.concatenate([own, np.ones((1, own.shape[1]), dtype=bool)])
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
    tree: PublicTree,
    table: np.ndarray,
    bucket_mask: np.ndarray,
    masks: np.ndarray,
    forest: Forest | None,
) -> tuple[dict[str, np.ndarray], Entries]:
    """The fields of :class:`SequenceForm` that say the layout, ``infoset_parent`` apart; and the
    entries, whose sequences come before the player's others, hand by hand.

    In a part of a game every bucket begins at a multiple of :data:`ALIGNED` sequences: vectors that
    cross cache lines make passes half as fast again.
    """
    owner, level, actions, nodes = (np.ascontiguousarray(column) for column in table.T)
    hand_rank = np.zeros((len(masks), masks.shape[1] + 1), dtype=np.int64)
    np.cumsum(masks, axis=1, out=hand_rank[:, 1:])
    lanes = nodes * hand_rank[bucket_mask, -1]
    players = np.arange(tree.n_players + 1)
    player_buckets = np.searchsorted(owner, players)
    infosets = np.append(0, np.cumsum(lanes))
    unit = 1 if forest is None else ALIGNED
    sequences = np.append(0, np.cumsum(-(-lanes * actions // unit) * unit))
    if forest is None:
        counts = np.ones(tree.n_players, dtype=np.int64)
        mask = stride = np.zeros(tree.n_players, dtype=np.int64)
        width = counts
    else:
        counts = np.array(list(map(len, forest.mask)))
        mask = np.concatenate(forest.mask)
        stride, width = np.ones_like(mask), hand_rank[mask, -1]
    first = np.cumsum(counts) - counts
    before = -(-np.add.reduceat(width, first) // unit) * unit
    player_sequences = sequences[player_buckets] + np.append(0, np.cumsum(before))
    within = np.cumsum(width) - width
    within -= np.repeat(within[first], counts)
    entered = Entries(first, np.repeat(player_sequences[:-1], counts) + within, stride, mask)
    layout = {
        "player_infosets": infosets[player_buckets],
        "player_sequences": player_sequences,
        "player_buckets": player_buckets,
        "bucket_level": level,
        "bucket_actions": actions,
        "bucket_lanes": lanes,
        "bucket_infoset": infosets[:-1],
        "bucket_sequence": sequences[:-1] + np.cumsum(before)[owner],
        "bucket_stride": nodes,
        "bucket_mask": bucket_mask,
        "hand_rank": hand_rank,
    }
    return layout, entered


def _parents(
    tree: PublicTree, steps: Steps, layout: dict[str, np.ndarray], entered: Entries
) -> np.ndarray:
    """The owner's last sequence before every infoset, uint32 (infosets,)."""
    deciding = np.flatnonzero(tree.bucket >= 0)
    bucket = tree.bucket[deciding]
    order = np.lexsort((tree.rank[deciding], bucket))
    deciding, bucket = deciding[order], bucket[order]
    step = steps.last[tree.player[deciding], deciding]
    player = tree.player[deciding].astype(np.int64)
    first, stride, mask = sequences_of(tree, layout, entered, player, step)
    parent = np.empty(int(layout["player_infosets"][-1]), dtype=np.uint32)
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
