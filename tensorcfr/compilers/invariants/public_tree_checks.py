"""Invariants V: hands x public tree, and the agreement of the sequence form with it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..._util.limits import (
    CHANCE_TOLERANCE,
    PAYOFF_TOLERANCE,
    PRIOR_TOLERANCE,
    WEIGHT_TOLERANCE,
)
from ..._util.violations import check_indices, fail, first_true
from ...model.arrays import CHANCE, TERMINAL
from . import tree_checks as histories
from .merged_checks import multiply
from .reader import Reader


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
    tree, form, by_place = reader.public, reader.form, reader.public.by_place
    begin = 0
    for bucket, stride in enumerate(form.bucket_stride.tolist()):
        player = int(reader.bucket_player[bucket])
        nodes = by_place[begin : begin + stride]
        begin += stride
        step = reader.last_step[player, nodes]
        parent = tree.parent[step]
        parent_bucket = np.where(step == 0, 0, tree.bucket[parent]).astype(np.int64)
        action = step - tree.first_child[parent]
        # Sequence of the first hand; the hand of rank ``r`` is ``r`` strides further on.
        sequence = (
            form.bucket_sequence[parent_bucket]
            + action * form.bucket_lanes[parent_bucket]
            + tree.rank[parent]
        )
        sequence[step == 0] = form.player_sequences[player]
        parent_stride = np.where(step == 0, 0, form.bucket_stride[parent_bucket])
        mask, first = form.bucket_mask[parent_bucket], int(form.bucket_infoset[bucket])
        for hand in form.possible_hands(bucket).tolist():
            wanted = sequence + form.hand_rank[:, hand][mask] * parent_stride
            if (
                lane := first_true(form.infoset_parent[first : first + stride] != wanted)
            ) is not None:
                fail(
                    f"infoset {first + lane}, hand {hand} at "
                    f"{reader.public_node(int(nodes[lane]))}, has the parent "
                    f"{form.infoset_parent[first + lane]}, not "
                    f"{reader.sequence(int(wanted[lane]))}"
                )
            first += stride


def check_payoff(reader: Reader) -> None:
    """Check that the operator and the public tree have the same payoffs.

    Both are multiplied by fixed random vectors: over the hands of both players, and over the other
    player's public steps.  The result is one number for every public step of the player, a sum over
    the public terminals.
    """
    probe = _Probe(reader)
    for player in range(2):
        in_tree, scale = probe.of_tree(player)
        in_form = probe.of_form(player)
        residual = np.abs(in_tree - in_form)
        if (step := first_true(residual > PAYOFF_TOLERANCE * scale)) is not None:
            fail(
                f"the payoffs of {reader.sequence(probe.example(player, step))}, over all hands, "
                f"differ: under one and the same weights the public tree gives "
                f"{in_tree[step]:.12g}, the operator {in_form[step]:.12g}"
            )


class _Probe:
    """Random weights of hands and of public steps, and both sides of the payoffs under them.

    A public step is an action at a public node.  Its index is by bucket, action and rank; before
    the first bucket of a player is the player's empty sequence, which is the same for all hands.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        form = self.form = reader.form
        steps = form.bucket_stride * form.bucket_actions
        self.first = np.cumsum(steps) - steps + reader.bucket_player + 1
        players = np.arange(3)
        self.empty = np.append(0, np.cumsum(steps))[form.player_buckets] + players
        random = np.random.default_rng(0)
        self.weight = random.uniform(0.5, 1.5, int(self.empty[-1]))
        hands = form.hand_rank.shape[1] - 1
        # Axes: player, 1 for the empty sequence (which has no hand), hand.
        self.hand = random.uniform(0.5, 1.5, (2, 2, hands))
        self.hand[:, 1] = 1.0

    def of_sequences(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        """Return public step and random weight of the hand of every sequence of a player."""
        form = self.form
        bucket_range = slice(*form.player_buckets[player : player + 2].tolist())
        numbers = range(bucket_range.start, bucket_range.stop)
        steps, weights = [self.empty[player : player + 1]], [np.ones(1)]
        buckets = (
            self.first[bucket_range],
            form.bucket_actions[bucket_range],
            form.bucket_stride[bucket_range],
        )
        for bucket, first, actions, stride in zip(numbers, *buckets, strict=True):
            possible_hands = form.possible_hands(bucket)
            step = first + np.arange(actions * stride).reshape(actions, 1, stride)
            shape = actions, len(possible_hands), stride
            steps.append(np.broadcast_to(step, shape).ravel())
            hand = self.hand[player, 0, possible_hands][:, None]
            weights.append(np.broadcast_to(hand, shape).ravel())
        return np.concatenate(steps), np.concatenate(weights)

    def example(self, player: int, step: int) -> int:
        """Return the first sequence of a public step of a player."""
        form = self.form
        if step == 0:
            return int(form.player_sequences[player])
        step += int(self.empty[player])
        bucket = int(np.searchsorted(self.first, step, side="right")) - 1
        action, rank = divmod(step - int(self.first[bucket]), int(form.bucket_stride[bucket]))
        return int(form.bucket_sequence[bucket] + action * form.bucket_lanes[bucket] + rank)

    def of_tree(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        """Compute payoffs of a player's public steps from the tree, and sums of absolute terms."""
        reader, tree = self.reader, self.reader.public
        kinds, kind = self._kinds
        value, size = np.zeros((2, len(kinds), 4))
        own_weights, other_weights = (
            self.hand[who][:, : tree.prior.shape[who]] for who in (player, 1 - player)
        )
        for index, pair in enumerate(kinds.tolist()):
            weight, matrix = divmod(pair, len(tree.matrix_table))
            with np.errstate(invalid="ignore"):
                table = tree.prior * tree.weight_table[weight] * tree.matrix_table[matrix, player]
            table = np.where(reader.alive[weight], table, 0.0)
            table = table if player == 0 else table.T
            value[index] = (own_weights @ table @ other_weights.T).ravel()
            size[index] = (own_weights @ np.abs(table) @ other_weights.T).ravel()
        # A table has four sums, for an empty or a non-empty sequence of either player.
        sum_index = 4 * kind
        for who, factor in ((player, 2), (1 - player, 1)):
            sum_index += factor * (reader.last_step[who, self._terminals] == 0)
        rest = tree.coefficient[tree.payoff[self._terminals]] * self.weight[self._steps[1 - player]]
        where, count = self._steps[player] - self.empty[player], int(np.diff(self.empty)[player])
        return (
            np.bincount(where, value.ravel()[sum_index] * rest, count),
            np.bincount(where, size.ravel()[sum_index] * np.abs(rest), count),
        )

    @cached_property
    def _terminals(self) -> np.ndarray:
        """int64 (terminals,): public terminals that some deal reaches."""
        return np.flatnonzero((self.reader.public.payoff >= 0) & self.reader.exists)

    @cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of weight and matrix that occur, and the pair of each public terminal."""
        tree, terminals = self.reader.public, self._terminals
        matrices = len(tree.matrix_table)
        key = (
            tree.weight[terminals].astype(np.int64) * matrices + tree.matrix[tree.payoff[terminals]]
        )
        used = np.zeros(len(tree.weight_table) * matrices, dtype=bool)
        used[key] = True
        return np.flatnonzero(used), (np.cumsum(used) - 1)[key]

    @cached_property
    def _steps(self) -> list[np.ndarray]:
        """Public step before each public terminal, for each player int64 (terminals,)."""
        last = self.reader.last_step
        return [self._tree_steps(who, last[who, self._terminals]) for who in range(2)]

    def _tree_steps(self, player: int, node: np.ndarray) -> np.ndarray:
        """Return the public steps that lead into nodes, int64 (nodes,)."""
        tree, form = self.reader.public, self.form
        parent = tree.parent[node]
        action = node - tree.first_child[parent]
        if not len(form.bucket_stride):
            return np.full(len(node), self.empty[player])
        bucket = np.where(node == 0, 0, tree.bucket[parent])
        step = self.first[bucket] + action * form.bucket_stride[bucket] + tree.rank[parent]
        return np.where(node == 0, self.empty[player], step)

    def of_form(self, player: int) -> np.ndarray:
        """Compute the payoffs of a player's public steps from the operator."""
        weight, payoffs = np.zeros((2, self.form.n_sequences))
        own_sequences, other_sequences = map(self.form.of_player, (player, 1 - player))
        steps, hands = self.of_sequences(1 - player)
        weight[other_sequences] = self.weight[steps] * hands
        multiply(self.form, player, weight, payoffs)
        steps, hands = self.of_sequences(player)
        count = int(np.diff(self.empty)[player])
        return np.bincount(steps - self.empty[player], payoffs[own_sequences] * hands, count)
