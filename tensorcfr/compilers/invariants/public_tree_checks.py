"""Invariants V: hands x public tree, and the agreement of the sequence form with it."""

from __future__ import annotations

import numpy as np

from ..._util.limits import (
    CHANCE_TOLERANCE,
    PRIOR_TOLERANCE,
    WEIGHT_TOLERANCE,
)
from ..._util.violations import check_indices, fail, first_true
from ...model.arrays import CHANCE, TERMINAL
from . import tree_checks as histories
from .payoff_checks import compare_payoffs, random_weights
from .reader import Reader

TOGETHER = 1 << 16
"""Number of hands at terminals whose payoffs are computed together."""


def check_prior(reader: Reader) -> None:
    """Check that the prior is a distribution over the hands of two players."""
    prior, form = reader.public.prior, reader.form
    if form.n_players != 2 or form.hand_rank.shape[1] - 1 != max(prior.shape):
        fail(
            f"it has shape {prior.shape}, but there are {form.n_players} players with up to "
            f"{form.hand_rank.shape[1] - 1} hands"
        )
    wrong = ~((prior >= 0) & (prior < np.inf))
    if wrong.any():
        fail(f"it holds {prior[wrong][0]}")
    if abs(prior.sum() - 1.0) > PRIOR_TOLERANCE:
        fail(f"it sums to {float(prior.sum())!r}")


def check_parents_and_children(reader: Reader) -> None:
    """Check parents and children, as in the history tree."""
    for check in (histories.check_parent, histories.check_child_ranges, histories.check_child):
        check(reader, reader.public)


def check_actor(reader: Reader) -> None:
    """Check that players are 0 or 1, and that the terminals are the leaves and have payoffs."""
    tree = reader.public
    leaf = np.diff(tree.first_child) == 0
    is_terminal = tree.player == TERMINAL
    if (
        node := first_true((tree.player < TERMINAL) | (tree.player > 1) | (is_terminal != leaf))
    ) is not None:
        fan = tree.first_child[node + 1] - tree.first_child[node]
        fail(f"{reader.public_node(node)} has player {tree.player[node]} and {fan} children")
    payoffs = len(tree.matrix)
    check_indices("payoff", tree.payoff, payoffs, is_terminal, -1, reader.public_node)
    if (
        index := first_true((tree.matrix < 0) | (tree.matrix >= len(tree.matrix_table)))
    ) is not None:
        fail(f"payoff {index} has matrix {tree.matrix[index]} of {len(tree.matrix_table)}")


def check_edge(reader: Reader) -> None:
    """Check that every edge has a label, and that siblings have distinct labels."""
    tree, edges = reader.public, len(reader.game.public.edges)
    below_root = np.arange(tree.n_nodes) > 0
    check_indices("edge", tree.edge, edges, below_root, -1, "public node {}".format)
    # The key is unique if siblings have different labels.
    key = tree.parent[1:].astype(np.int64) * edges + tree.edge[1:]
    # In most games the labels ascend, and need no sort.
    if (np.diff(key) > 0).all():
        return
    order = np.argsort(key, kind="stable")
    if (index := first_true(np.diff(key[order]) == 0)) is not None:
        first, second = (order[index : index + 2] + 1).tolist()
        fail(f"public node {first} and {reader.public_node(second)} are siblings with one label")


def check_step(reader: Reader) -> None:
    """Check that exactly the edges of chance have a row of the chance table, and that all nodes
    have a weight row."""
    tree = reader.public
    drawn = np.append(False, tree.player[tree.parent[1:]] == CHANCE)
    all_nodes, name = np.ones(tree.n_nodes, dtype=bool), reader.public_node
    check_indices("chance", tree.chance, len(tree.chance_table), drawn, -1, name)
    check_indices("weight", tree.weight, len(tree.weight_table), all_nodes, -1, name)


def check_weight(reader: Reader) -> None:
    """Check that the weights are the products of the chance probabilities on the path."""
    tree = reader.public
    if not (tree.weight_table[tree.weight[0]] == 1.0).all():
        fail("the weights of the public root are not 1")
    parent_weight = tree.weight[tree.parent[1:]]
    drawn = tree.chance[1:] >= 0
    if (i := first_true(~drawn & (tree.weight[1:] != parent_weight))) is not None:
        fail(
            f"{reader.public_node(i + 1)} has weight {tree.weight[i + 1]}, but no chance led "
            f"there from weight {parent_weight[i]}"
        )
    steps = np.stack([parent_weight[drawn], tree.chance[1:][drawn], tree.weight[1:][drawn]])
    kinds, example = np.unique(steps, axis=1, return_index=True)
    for (before, chance, weight), i in zip(kinds.T.tolist(), example.tolist(), strict=True):
        # Deals that cannot reach the node may have any probability, even nan.
        factor = np.where(tree.weight_table[before] > 0, tree.chance_table[chance], 0.0)
        wanted = tree.weight_table[before] * factor
        residual = np.abs(tree.weight_table[weight] - wanted)
        if not (residual <= WEIGHT_TOLERANCE * np.abs(wanted)).all():
            node = int(np.flatnonzero(drawn)[i]) + 1
            fail(f"the weights of {reader.public_node(node)} are not those products")


def check_chance_sum(reader: Reader) -> None:
    """Check that chance probabilities are not negative and sum to 1, for every deal that reaches
    the node."""
    tree = reader.public
    chance = np.flatnonzero(tree.player == CHANCE)
    fans = (tree.first_child[chance + 1] - tree.first_child[chance]).astype(np.int64)
    for fan in np.unique(fans).tolist():
        nodes = chance[fans == fan]
        rows = tree.chance[tree.first_child[nodes].astype(np.int64)[:, None] + np.arange(fan)]
        # Nodes with the same tables have the same sums, so check one node of each kind.
        kinds, example = np.unique(
            np.column_stack([tree.weight[nodes], np.sort(rows, axis=1)]),
            axis=0,
            return_index=True,
        )
        for kind, i in zip(kinds.tolist(), example.tolist(), strict=True):
            chances = tree.chance_table[kind[1:]][:, reader.alive[kind[0]]]
            wrong = ~((chances >= 0) & (chances < np.inf))
            if wrong.any():
                fail(f"{chances[wrong][0]} is among them at {reader.public_node(int(nodes[i]))}")
            sums = chances.sum(axis=0)
            if (deal := first_true(np.abs(sums - 1.0) > CHANCE_TOLERANCE)) is not None:
                hands = np.argwhere(reader.alive[kind[0]])[deal].tolist()
                fail(
                    f"they sum to {float(sums[deal])!r} at {reader.public_node(int(nodes[i]))}, "
                    f"for hands {hands}"
                )


def check_utility(reader: Reader) -> None:
    """Check that utilities are finite, for every deal that reaches the terminal."""
    tree = reader.public
    terminals = np.flatnonzero(tree.payoff >= 0)
    key = tree.payoff[terminals].astype(np.int64) * len(tree.weight_table) + tree.weight[terminals]
    kinds, example = np.unique(key, return_index=True)
    for kind, index in zip(kinds.tolist(), example.tolist(), strict=True):
        payoff, weight = divmod(kind, len(tree.weight_table))
        with np.errstate(over="ignore", invalid="ignore"):
            payoffs = tree.coefficient[payoff] * tree.matrix_table[tree.matrix[payoff]]
        wrong = ~np.isfinite(payoffs).all(axis=0) & reader.alive[weight]
        if wrong.any():
            hands = np.argwhere(wrong)[0].tolist()
            fail(
                f"{reader.public_node(int(terminals[index]))} pays "
                f"{payoffs[(slice(None), *hands)].tolist()} for hands {hands}"
            )


def check_bucket(reader: Reader) -> None:
    """Check that reachable decision nodes have a bucket with their player, number of actions and
    hands."""
    tree, form = reader.public, reader.form
    deciding = (tree.player >= 0) & reader.exists
    buckets = len(form.bucket_lanes)
    check_indices("bucket", tree.bucket, buckets, deciding, -1, reader.public_node)
    nodes = np.flatnonzero(deciding)
    player, bucket = tree.player[nodes], tree.bucket[nodes]
    fan = tree.first_child[nodes + 1] - tree.first_child[nodes]
    fits = (player == reader.bucket_player[bucket]) & (fan == form.bucket_actions[bucket])
    if (i := first_true(~fits)) is not None:
        fail(
            f"{reader.public_node(int(nodes[i]))}, of player {player[i]} with {fan[i]} actions, "
            f"has bucket {bucket[i]}, of player {reader.bucket_player[bucket[i]]} with "
            f"{form.bucket_actions[bucket[i]]}"
        )
    key = bucket.astype(np.int64) * len(tree.weight_table) + tree.weight[nodes]
    kinds, example = np.unique(key, return_index=True)
    for kind, i in zip(kinds.tolist(), example.tolist(), strict=True):
        kind_bucket, weight = divmod(kind, len(tree.weight_table))
        possible = reader.alive[weight].any(axis=1 - int(player[i]))
        bucket_hands = form.possible_hands(kind_bucket).tolist()
        if bucket_hands != (hands := np.flatnonzero(possible).tolist()):
            where = reader.public_node(int(nodes[i]))
            fail(f"{where} has hands {hands}, but bucket {kind_bucket} has {bucket_hands}")


def check_rank(reader: Reader) -> None:
    """Check that the ranks number the nodes of each bucket."""
    tree, form = reader.public, reader.form
    decided = tree.bucket >= 0
    ranked = np.where(
        decided,
        (tree.rank >= 0) & (tree.rank < form.bucket_stride[np.maximum(tree.bucket, 0)])
        if len(form.bucket_stride)
        else False,
        tree.rank == -1,
    )
    if (node := first_true(~ranked)) is not None:
        fail(f"{reader.public_node(node)} has rank {tree.rank[node]} in bucket {tree.bucket[node]}")
    begin = np.cumsum(form.bucket_stride) - form.bucket_stride
    position = begin[tree.bucket[decided]] + tree.rank[decided]
    count = np.bincount(position, minlength=int(form.bucket_stride.sum()))
    if (index := first_true(count != 1)) is not None:
        bucket = int(np.searchsorted(begin, index, side="right")) - 1
        fail(f"rank {index - begin[bucket]} of bucket {bucket} has {count[index]} public nodes")


def check_parent(reader: Reader) -> None:
    """Check that the parent of an infoset is the owner's last action with the same hand."""
    form, by_place = reader.form, reader.public.by_place
    begin = 0
    for bucket, stride in enumerate(form.bucket_stride.tolist()):
        player = int(reader.bucket_player[bucket])
        nodes, hands = by_place[begin : begin + stride], form.possible_hands(bucket)
        begin += stride
        steps = reader.last_step[player, nodes]
        # Lanes are ordered by hand, then by node.
        wanted = reader.sequences_after(player, steps)[hands].ravel()
        first = int(form.bucket_infoset[bucket])
        parents = form.infoset_parent[first : first + len(wanted)]
        if (lane := first_true(parents != wanted)) is not None:
            nth, place = divmod(lane, stride)
            fail(
                f"infoset {first + lane}, hand {hands[nth]} at "
                f"{reader.public_node(int(nodes[place]))}, has the parent {parents[lane]}, not "
                f"{reader.sequence(int(wanted[lane]))}"
            )


def check_payoff(reader: Reader) -> None:
    """Check that the operator and the public tree have the same payoffs, as in P7."""
    form, tree = reader.form, reader.public
    weight = random_weights(form)
    terminals = np.flatnonzero((tree.payoff >= 0) & reader.exists)
    together = 1 + TOGETHER // max(tree.prior.shape)
    for player in range(2):
        in_tree, scale = np.zeros((2, form.n_sequences))
        for begin in range(0, len(terminals), together):
            batch = terminals[begin : begin + together]
            sequences, paid, size = _paid(reader, player, weight, batch)
            np.add.at(in_tree, sequences, paid)
            np.add.at(scale, sequences, size)
        compare_payoffs(reader, player, weight, in_tree, scale)


def _paid(
    reader: Reader, player: int, weight: np.ndarray, terminals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute a player's payoffs at some terminals, with each hand.

    Args:
        reader: The game.
        player: The player.
        weight: float64 (sequences,): weights of the other player's sequences.
        terminals: int64 (terminals,): the public terminals.

    Returns:
        int64 (hands, terminals): the player's last sequences, any for an impossible hand; float64
        (hands, terminals) each: the payoffs, and the sums of absolute terms.
    """
    tree, payoff = reader.public, reader.public.payoff[terminals]
    # Terminals with one row of weights and one matrix pay by one table of hands x hands.
    key = tree.weight[terminals].astype(np.int64) * len(tree.matrix_table) + tree.matrix[payoff]
    order = np.argsort(key, kind="stable")
    tables, first = np.unique(key[order], return_index=True)
    steps = reader.last_step[:, terminals[order]]
    own_sequences, other_sequences = (
        np.minimum(reader.sequences_after(who, steps[who]), len(weight) - 1)
        for who in (player, 1 - player)
    )
    weights = weight[other_sequences]
    paid, size = np.empty((2, *own_sequences.shape))
    for table, begin, end in zip(tables.tolist(), first, [*first[1:], len(order)], strict=True):
        row, matrix = divmod(table, len(tree.matrix_table))
        with np.errstate(invalid="ignore"):
            terms = tree.prior * tree.weight_table[row] * tree.matrix_table[matrix, player]
        terms = np.where(reader.alive[row], terms, 0.0)
        terms = terms if player == 0 else terms.T
        paid[:, begin:end] = terms @ weights[:, begin:end]
        size[:, begin:end] = np.abs(terms) @ weights[:, begin:end]
    coefficient = tree.coefficient[payoff[order]]
    return own_sequences, paid * coefficient, size * np.abs(coefficient)
