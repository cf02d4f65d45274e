"""Invariants V: hands x public tree, and the agreement of the sequence form with it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._util.limits import (
    CHANCE_TOLERANCE,
    PAYOFF_TOLERANCE,
    PRIOR_TOLERANCE,
    WEIGHT_TOLERANCE,
)
from ..model.arrays import CHANCE, TERMINAL
from . import tree_checks as histories
from .merged_checks import multiply
from .reader import Reader, fail, first_true


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
    over = tree.player == TERMINAL
    if (
        node := first_true((tree.player < TERMINAL) | (tree.player > 1) | (over != leaf))
    ) is not None:
        fan = tree.first_child[node + 1] - tree.first_child[node]
        fail(f"{reader.public_node(node)} has player {tree.player[node]} and {fan} children")
    payoffs = len(tree.matrix)
    paid = (tree.payoff >= -1) & (tree.payoff < payoffs) & ((tree.payoff >= 0) == over)
    if (node := first_true(~paid)) is not None:
        fail(
            f"{reader.public_node(node)} has payoff {tree.payoff[node]}, not "
            f"{f'0 to {payoffs - 1}' if over[node] else -1}"
        )
    if (at := first_true((tree.matrix < 0) | (tree.matrix >= len(tree.matrix_table)))) is not None:
        fail(f"payoff {at} has matrix {tree.matrix[at]} of {len(tree.matrix_table)}")


def check_edge(reader: Reader) -> None:
    """Check that every edge has a label, and that siblings have distinct labels."""
    tree, edges = reader.public, len(reader.game.public.edges)
    wrong = (tree.edge < 0) | (tree.edge >= edges)
    wrong[0] = tree.edge[0] != -1
    if (node := first_true(wrong)) is not None:
        wanted = f"0 to {edges - 1}" if node else "-1"
        fail(f"public node {node} has edge {tree.edge[node]}, not {wanted}")
    # The key is unique if siblings have different labels.
    key = tree.parent[1:].astype(np.int64) * edges + tree.edge[1:]
    # In most games the labels ascend, and need no sort.
    if (np.diff(key) > 0).all():
        return
    order = np.argsort(key, kind="stable")
    if (at := first_true(np.diff(key[order]) == 0)) is not None:
        one, other = (order[at : at + 2] + 1).tolist()
        fail(f"public node {one} and {reader.public_node(other)} are siblings with one label")


def check_step(reader: Reader) -> None:
    """Check that exactly the edges of chance have a row of the chance table, and that all nodes
    have a weight row."""
    tree = reader.public
    tables, weights = len(tree.chance_table), len(tree.weight_table)
    drawn = reader.by_public_chance
    wrong = (tree.chance < -1) | (tree.chance >= tables) | ((tree.chance >= 0) != drawn)
    if (node := first_true(wrong)) is not None:
        wanted = f"0 to {tables - 1}" if drawn[node] else "-1"
        fail(f"{reader.public_node(node)} has chance {tree.chance[node]}, not {wanted}")
    if (node := first_true((tree.weight < 0) | (tree.weight >= weights))) is not None:
        fail(f"{reader.public_node(node)} has weight {tree.weight[node]}, not 0 to {weights - 1}")


def check_weight(reader: Reader) -> None:
    """Check that the weights are the products of the chance probabilities on the path."""
    tree = reader.public
    if not (tree.weight_table[tree.weight[0]] == 1.0).all():
        fail("the weights of the public root are not 1")
    above = tree.weight[tree.parent[1:]]
    drawn = tree.chance[1:] >= 0
    if (at := first_true(~drawn & (tree.weight[1:] != above))) is not None:
        fail(
            f"{reader.public_node(at + 1)} has weight {tree.weight[at + 1]}, but no chance led "
            f"there from weight {above[at]}"
        )
    steps = np.stack([above[drawn], tree.chance[1:][drawn], tree.weight[1:][drawn]])
    kinds, example = np.unique(steps, axis=1, return_index=True)
    for (before, chance, weight), at in zip(kinds.T.tolist(), example.tolist(), strict=True):
        # Deals that cannot reach the node may have any probability, even nan.
        factor = np.where(tree.weight_table[before] > 0, tree.chance_table[chance], 0.0)
        wanted = tree.weight_table[before] * factor
        off = np.abs(tree.weight_table[weight] - wanted)
        if not (off <= WEIGHT_TOLERANCE * np.abs(wanted)).all():
            node = int(np.flatnonzero(drawn)[at]) + 1
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
        for kind, at in zip(kinds.tolist(), example.tolist(), strict=True):
            given = tree.chance_table[kind[1:]][:, reader.alive[kind[0]]]
            wrong = ~((given >= 0) & (given < np.inf))
            if wrong.any():
                fail(f"{given[wrong][0]} is among them at {reader.public_node(int(nodes[at]))}")
            sums = given.sum(axis=0)
            if (deal := first_true(np.abs(sums - 1.0) > CHANCE_TOLERANCE)) is not None:
                hands = np.argwhere(reader.alive[kind[0]])[deal].tolist()
                fail(
                    f"they sum to {float(sums[deal])!r} at {reader.public_node(int(nodes[at]))}, "
                    f"for hands {hands}"
                )


def check_utility(reader: Reader) -> None:
    """Check that utilities are finite, for every deal that reaches the terminal."""
    tree = reader.public
    over = np.flatnonzero(tree.payoff >= 0)
    key = tree.payoff[over].astype(np.int64) * len(tree.weight_table) + tree.weight[over]
    kinds, example = np.unique(key, return_index=True)
    for kind, at in zip(kinds.tolist(), example.tolist(), strict=True):
        payoff, weight = divmod(kind, len(tree.weight_table))
        with np.errstate(over="ignore", invalid="ignore"):
            paid = tree.coefficient[payoff] * tree.matrix_table[tree.matrix[payoff]]
        wrong = ~np.isfinite(paid).all(axis=0) & reader.alive[weight]
        if wrong.any():
            hands = np.argwhere(wrong)[0].tolist()
            fail(
                f"{reader.public_node(int(over[at]))} pays "
                f"{paid[(slice(None), *hands)].tolist()} for hands {hands}"
            )


def check_bucket(reader: Reader) -> None:
    """Check that reachable decision nodes have a bucket with their player, number of actions and
    hands."""
    tree, form = reader.public, reader.form
    buckets = len(form.bucket_lanes)
    deciding = (tree.player >= 0) & reader.exists
    wrong = np.where(deciding, (tree.bucket < 0) | (tree.bucket >= buckets), tree.bucket != -1)
    if (node := first_true(wrong)) is not None:
        wanted = f"0 to {buckets - 1}" if deciding[node] else "-1"
        fail(f"{reader.public_node(node)} has bucket {tree.bucket[node]}, not {wanted}")
    nodes = np.flatnonzero(deciding)
    player, bucket = tree.player[nodes], tree.bucket[nodes]
    fan = tree.first_child[nodes + 1] - tree.first_child[nodes]
    alike = (player == reader.bucket_player[bucket]) & (fan == form.bucket_actions[bucket])
    if (at := first_true(~alike)) is not None:
        fail(
            f"{reader.public_node(int(nodes[at]))}, of player {player[at]} with {fan[at]} actions, "
            f"has bucket {bucket[at]}, of player {reader.bucket_player[bucket[at]]} with "
            f"{form.bucket_actions[bucket[at]]}"
        )
    key = bucket.astype(np.int64) * len(tree.weight_table) + tree.weight[nodes]
    kinds, example = np.unique(key, return_index=True)
    for kind, at in zip(kinds.tolist(), example.tolist(), strict=True):
        of, weight = divmod(kind, len(tree.weight_table))
        possible = reader.alive[weight].any(axis=1 - int(player[at]))
        given = form.possible_hands(of).tolist()
        if given != (hands := np.flatnonzero(possible).tolist()):
            where = reader.public_node(int(nodes[at]))
            fail(f"{where} has hands {hands}, but bucket {of} has {given}")


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
    place = begin[tree.bucket[decided]] + tree.rank[decided]
    count = np.bincount(place, minlength=int(form.bucket_stride.sum()))
    if (at := first_true(count != 1)) is not None:
        bucket = int(np.searchsorted(begin, at, side="right")) - 1
        fail(f"rank {at - begin[bucket]} of bucket {bucket} has {count[at]} public nodes")


def check_parent(reader: Reader) -> None:
    """Check that the parent of an infoset is the owner's last action with the same hand."""
    tree, form, by_place = reader.public, reader.form, reader.public.by_place
    begin = 0
    for bucket, stride in enumerate(form.bucket_stride.tolist()):
        player = int(reader.bucket_player[bucket])
        nodes = by_place[begin : begin + stride]
        begin += stride
        step = reader.last_step[player, nodes]
        above = tree.parent[step]
        of = np.where(step == 0, 0, tree.bucket[above]).astype(np.int64)
        action = step - tree.first_child[above]
        # Sequence of the first hand; the hand of rank ``r`` is ``r`` strides further on.
        sequence = form.bucket_sequence[of] + action * form.bucket_lanes[of] + tree.rank[above]
        sequence[step == 0] = form.player_sequences[player]
        between = np.where(step == 0, 0, form.bucket_stride[of])
        mask, at = form.bucket_mask[of], int(form.bucket_infoset[bucket])
        for hand in form.possible_hands(bucket).tolist():
            wanted = sequence + form.hand_rank[:, hand][mask] * between
            if (lane := first_true(form.infoset_parent[at : at + stride] != wanted)) is not None:
                fail(
                    f"infoset {at + lane}, hand {hand} at {reader.public_node(int(nodes[lane]))}, "
                    f"has the parent {form.infoset_parent[at + lane]}, not "
                    f"{reader.sequence(int(wanted[lane]))}"
                )
            at += stride


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
        off = np.abs(in_tree - in_form)
        if (step := first_true(off > PAYOFF_TOLERANCE * scale)) is not None:
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
        """Return the public step of every sequence of a player, and the random weight of its
        hand."""
        form = self.form
        own = slice(*form.player_buckets[player : player + 2].tolist())
        numbers = range(own.start, own.stop)
        steps, weights = [self.empty[player : player + 1]], [np.ones(1)]
        buckets = self.first[own], form.bucket_actions[own], form.bucket_stride[own]
        for bucket, first, actions, stride in zip(numbers, *buckets, strict=True):
            held = form.possible_hands(bucket)
            step = first + np.arange(actions * stride).reshape(actions, 1, stride)
            shape = actions, len(held), stride
            steps.append(np.broadcast_to(step, shape).ravel())
            hand = self.hand[player, 0, held][:, None]
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
        """Compute the payoffs of a player's public steps from the public tree, and the sums of
        absolute terms."""
        reader, tree = self.reader, self.reader.public
        kinds, kind = self._kinds
        value, size = np.zeros((2, len(kinds), 4))
        own, other = (self.hand[who][:, : tree.prior.shape[who]] for who in (player, 1 - player))
        for index, one in enumerate(kinds.tolist()):
            weight, matrix = divmod(one, len(tree.matrix_table))
            with np.errstate(invalid="ignore"):
                table = tree.prior * tree.weight_table[weight] * tree.matrix_table[matrix, player]
            table = np.where(reader.alive[weight], table, 0.0)
            table = table if player == 0 else table.T
            value[index] = (own @ table @ other.T).ravel()
            size[index] = (own @ np.abs(table) @ other.T).ravel()
        # A table has four sums, for an empty or a non-empty sequence of either player.
        at = 4 * kind
        for who, factor in ((player, 2), (1 - player, 1)):
            at += factor * (reader.last_step[who, self._over] == 0)
        rest = tree.coefficient[tree.payoff[self._over]] * self.weight[self._steps[1 - player]]
        where, count = self._steps[player] - self.empty[player], int(np.diff(self.empty)[player])
        return (
            np.bincount(where, value.ravel()[at] * rest, count),
            np.bincount(where, size.ravel()[at] * np.abs(rest), count),
        )

    @cached_property
    def _over(self) -> np.ndarray:
        """int64 (terminals,): public terminals that some deal reaches."""
        return np.flatnonzero((self.reader.public.payoff >= 0) & self.reader.exists)

    @cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of weight and matrix that occur, and the pair of each public terminal."""
        tree, over = self.reader.public, self._over
        matrices = len(tree.matrix_table)
        key = tree.weight[over].astype(np.int64) * matrices + tree.matrix[tree.payoff[over]]
        used = np.zeros(len(tree.weight_table) * matrices, dtype=bool)
        used[key] = True
        return np.flatnonzero(used), (np.cumsum(used) - 1)[key]

    @cached_property
    def _steps(self) -> list[np.ndarray]:
        """Public step before each public terminal, for each player int64 (terminals,)."""
        last = self.reader.last_step
        return [self._tree_steps(who, last[who, self._over]) for who in range(2)]

    def _tree_steps(self, player: int, node: np.ndarray) -> np.ndarray:
        """Return the public steps that lead into nodes, int64 (nodes,)."""
        tree, form = self.reader.public, self.form
        above = tree.parent[node]
        action = node - tree.first_child[above]
        if not len(form.bucket_stride):
            return np.full(len(node), self.empty[player])
        bucket = np.where(node == 0, 0, tree.bucket[above])
        step = self.first[bucket] + action * form.bucket_stride[bucket] + tree.rank[above]
        return np.where(node == 0, self.empty[player], step)

    def of_form(self, player: int) -> np.ndarray:
        """Compute the payoffs of a player's public steps from the operator."""
        weight, found = np.zeros((2, self.form.n_sequences))
        own, other = map(self.form.of_player, (player, 1 - player))
        steps, hands = self.of_sequences(1 - player)
        weight[other] = self.weight[steps] * hands
        multiply(self.form, player, weight, found)
        steps, hands = self.of_sequences(player)
        count = int(np.diff(self.empty)[player])
        return np.bincount(steps - self.empty[player], found[own] * hands, count)
