"""A compiled game as the Monte Carlo traversals walk it, and where its infosets' numbers lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .compiled import CHANCE, NO_PARENT, CompiledGame, HistoryTree
from .errors import GameError
from .kernels.jit import kernel
from .kernels.sampling import (
    ACTOR,
    BLOCK,
    CHANCE_NODE,
    COUNT,
    FIRST,
    LAST,
    NO_BLOCK,
    REGRET,
    TERMINAL_NODE,
    WalkedTree,
)

LAST_AT, REGRET_AT = int(LAST), int(REGRET)
"""The same offsets, as signed numbers."""
INDEX_LIMIT = 2**32 - 3
"""Beyond this, indices do not fit in 32 bits beside the codes that they share."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the numbers of each infoset lie in a traversal's table.

    A block is ``[last visit, mark, regrets, strategy, cumulative strategy, what else]``, the
    latter ``extra`` groups of one number per action; see :mod:`tensorcfr.kernels.sampling`.
    """

    game: CompiledGame
    extra: int

    @cached_property
    def actions(self) -> np.ndarray:
        """int64 (infosets,): how many there are."""
        return np.fromiter(map(len, self.game.infoset_actions), np.int64, self.game.n_infosets)

    @cached_property
    def block(self) -> np.ndarray:
        """int64 (infosets,): where the infoset's block begins; -1 if it has one action."""
        size = np.where(self.actions > 1, REGRET_AT + (3 + self.extra) * self.actions, 0)
        end = np.cumsum(size)
        return np.where(self.actions > 1, end - size, -1)

    @property
    def size(self) -> int:
        """Numbers in the table."""
        several = self.actions > 1
        return int(REGRET_AT * several.sum() + (3 + self.extra) * self.actions[several].sum())

    @cached_property
    def sequence(self) -> np.ndarray:
        """int64 (k,): the sequences whose infoset has a block, by infoset and action."""
        first, stride = self.game.infoset_sequence, self.game.infoset_stride
        return np.repeat(first, self._kept) + self._action * np.repeat(stride, self._kept)

    @cached_property
    def regret(self) -> np.ndarray:
        """int64 (k,): where the regret of each of them is in the table."""
        return np.repeat(self.block, self._kept) + REGRET_AT + self._action

    @cached_property
    def count(self) -> np.ndarray:
        """int64 (k,): actions of the infoset of each of them, which is how far it is from one
        group of numbers to the next."""
        return np.repeat(self._kept, self._kept)

    @property
    def last(self) -> np.ndarray:
        """int64 (infosets with a block,): where the last visit is in the table."""
        return self.block[self.block >= 0] + LAST_AT

    @cached_property
    def _kept(self) -> np.ndarray:
        """int64 (infosets,): actions, 0 where there is no block."""
        return np.where(self.actions > 1, self.actions, 0)

    @cached_property
    def _action(self) -> np.ndarray:
        begin = np.cumsum(self._kept) - self._kept
        return np.arange(self._kept.sum()) - np.repeat(begin, self._kept)

    def group(self, table: np.ndarray, index: int) -> np.ndarray:
        """float64 (sequences,): a copy of one group of numbers: regrets, strategy, cumulative
        strategy, and so on; 0 for sequences whose infoset has no block.

        Args:
            table: float64: the traversal's table.
            index: Which group, from 0.
        """
        values = np.zeros(self.game.n_sequences)
        values[self.sequence] = table[self.regret + index * self.count]
        return values

    def set_group(self, table: np.ndarray, index: int, values: np.ndarray) -> None:
        """The reverse of :meth:`group`: ``table`` is modified in place."""
        table[self.regret + index * self.count] = values[self.sequence]


TREE_BYTES, QUEUE_BYTES = 16, 44
"""Per history: a node of the tree; what a traversal that tries every action may note of it."""


def bytes_of(game: CompiledGame, extra: int, *, queue: bool) -> int:
    """Bytes of the table and of the tree for a game, and of a traversal's queue if it has one."""
    sequences = game.n_sequences * (3 + extra) + REGRET_AT * game.n_infosets
    return 8 * sequences + (TREE_BYTES + QUEUE_BYTES * queue) * game.n_histories


def walked_tree(
    game: CompiledGame,
    layout: Layout,
    *,
    deal: Sequence[str] | None = None,
    joined: bool = True,
) -> WalkedTree:
    """The game as a traversal walks it.

    Args:
        game: The game.
        layout: Where its infosets' blocks are.
        deal: Labels of chance outcomes that happen for certain, the first chance node's first.
        joined: Whether chance nodes that follow each other are one draw, as it should be where
            chance is sampled.

    Raises:
        ValueError: ``deal`` cannot happen; says which outcomes can.
        GameError: The tree or the table is too large for indices of 32 bits.
    """
    tree = game.tree
    if max(tree.n_nodes, layout.size) > INDEX_LIMIT:
        raise GameError(f"{game.name} is too large to be walked: {tree.n_nodes:,} histories")
    probability = tree.probability if deal is None else fixed_chance(game, deal)[0]
    children = np.diff(tree.first_child)
    node = np.empty((tree.n_nodes, 4), np.uint32)
    node[:, ACTOR] = np.where(tree.player >= 0, tree.player, 0)
    node[tree.player == CHANCE, ACTOR] = CHANCE_NODE
    node[tree.terminal, ACTOR] = TERMINAL_NODE
    node[:, FIRST] = tree.first_child[:-1]
    node[:, COUNT] = children
    node[:, BLOCK] = 0
    decides = tree.player >= 0
    block = layout.block[tree.infoset[decides]]
    node[decides, BLOCK] = np.where(block >= 0, block, int(NO_BLOCK))
    node[tree.terminal, FIRST] = np.arange(len(tree.terminal))
    outcomes = _outcomes(tree, node, probability, joined=joined)
    threshold, alias = np.empty(len(outcomes[0])), np.empty(len(outcomes[0]), np.uint32)
    chance = np.flatnonzero(tree.player == CHANCE)
    _alias(node[chance, FIRST], node[chance, COUNT], outcomes[1], threshold, alias)
    return WalkedTree(
        node=node,
        outcome=np.stack([outcomes[0], outcomes[0][alias]], axis=1),
        threshold=threshold,
        probability=outcomes[1],
        utility=np.ascontiguousarray(tree.utility),
        depth=_depth(tree),
        width=int(children.max(initial=1))
        if not len(chance)
        else max(int(children.max()), int(node[chance, COUNT].max())),
        blocks=int((layout.block >= 0).sum()),
        entries=tree.n_nodes,
        once=_meets_once(game),
    )


def _outcomes(
    tree: HistoryTree, node: np.ndarray, probability: np.ndarray, *, joined: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The outcomes of all chance nodes.

    Args:
        tree: The game.
        node: ``WalkedTree.node``: the rows of chance nodes are modified in place.
        probability: float64 (nodes,): chance probability of the step into each node.
        joined: Whether nodes that follow each other are one.

    Returns:
        uint32 (outcomes,): where each leads; float64 (outcomes,): its probability.
    """
    targets: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    total = 0
    for at in np.flatnonzero(tree.player == CHANCE):
        begin, end = int(tree.first_child[at]), int(tree.first_child[at + 1])
        weight = probability[begin:end]
        passed = 0
        # The children of consecutive nodes are contiguous, so a whole generation is a range.
        while joined and (tree.player[begin:end] == CHANCE).all():
            counts = np.diff(tree.first_child[begin : end + 1])
            begin, end = int(tree.first_child[begin]), int(tree.first_child[end])
            weight = np.repeat(weight, counts) * probability[begin:end]
            passed += 1
        node[at] = CHANCE_NODE, total, passed, end - begin
        targets.append(np.arange(begin, end, dtype=np.uint32))
        weights.append(weight)
        total += end - begin
    if not targets:
        return np.zeros(0, np.uint32), np.zeros(0)
    return np.concatenate(targets), np.concatenate(weights)


@kernel
def _alias(
    first: np.ndarray,
    count: np.ndarray,
    probability: np.ndarray,
    threshold: np.ndarray,
    alias: np.ndarray,
) -> None:
    """Walker's alias tables, by the algorithm of M. Vose (IEEE Transactions on Software
    Engineering 17, 1991).

    Args:
        first: uint32 (chance nodes,): first outcome of each.
        count: uint32 (chance nodes,): its outcomes.
        probability: float64 (outcomes,).
        threshold: float64 (outcomes,): modified in place.
        alias: uint32 (outcomes,): modified in place.
    """
    for k in range(len(first)):
        begin, end = first[k], first[k] + count[k]
        total = probability[begin:end].sum()
        small, large = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
        n_small = n_large = 0
        for i in range(begin, end):
            threshold[i] = probability[i] / total * (end - begin)
            alias[i] = i
            if threshold[i] < 1.0:
                small[n_small] = i
                n_small += 1
            else:
                large[n_large] = i
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            little, big = small[n_small], large[n_large - 1]
            alias[little] = big
            threshold[big] -= 1.0 - threshold[little]
            if threshold[big] < 1.0:
                n_large -= 1
                small[n_small] = big
                n_small += 1
        # What is left is 1 but for rounding.
        for i in large[:n_large]:
            threshold[i] = 1.0
        for i in small[:n_small]:
            if probability[i] > 0.0:
                threshold[i] = 1.0


def fixed_chance(game: CompiledGame, deal: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Chance when its first outcomes are given.

    Args:
        game: The game.
        deal: Labels of the outcomes, the first chance node's first.

    Returns:
        float64 (nodes,): probability of the step into each node, 1 where it is not chance's; bool
        (nodes,): whether the node can be reached.

    Raises:
        ValueError: The outcomes cannot happen; says which can.
    """
    if isinstance(deal, str):
        raise ValueError(f"a deal is a sequence of chance outcomes, not the text {deal!r}")
    tree = game.tree
    probability = tree.probability.copy()
    live = np.ones(tree.n_nodes, bool)
    rank = np.zeros(tree.n_nodes, np.int64)  # chance nodes before each node
    longest = 0
    for at in range(tree.n_nodes):
        parent = int(tree.parent[at])
        if parent != NO_PARENT:
            rank[at] = rank[parent] + (tree.player[parent] == CHANCE)
            live[at] = live[parent] and probability[at] > 0.0
        if not live[at]:
            continue
        longest = max(longest, int(rank[at]))
        if tree.player[at] != CHANCE or rank[at] >= len(deal):
            continue
        children = slice(tree.first_child[at], tree.first_child[at + 1])
        labels = [game.outcome_labels[outcome] for outcome in tree.outcome[children]]
        wanted = str(deal[rank[at]])
        if wanted not in labels:
            raise ValueError(
                f"{game.name}: chance outcome {rank[at] + 1} cannot be {wanted!r}; there are: "
                f"{', '.join(labels)}"
            )
        probability[children] = [float(label == wanted) for label in labels]
    if len(deal) > longest:
        raise ValueError(
            f"{game.name}: {len(deal)} chance outcomes are given, but there are at most {longest}"
        )
    return probability, live


ONCE_LIMIT = 2_000_000
"""Histories beyond which nobody looks whether a traversal meets infosets once; a traversal that
does not know is right as well, and a little slower."""


def _meets_once(game: CompiledGame) -> bool:
    """Whether no two histories of an infoset part at a decision, by which a traversal that samples
    chance would come to both (perfect recall: it is a decision of somebody else)."""
    tree = game.tree
    if tree.n_nodes > ONCE_LIMIT:
        return False
    infoset = tree.infoset[tree.player >= 0].astype(np.int64)
    at = np.flatnonzero(tree.player >= 0)
    while len(at):
        above = tree.parent[at]
        inside = above != NO_PARENT
        at, above, infoset = at[inside], above[inside], infoset[inside]
        # Histories of an infoset below one decision, by different actions?
        decides = tree.player[above] >= 0
        key = infoset[decides] * tree.n_nodes + above[decides]
        order = np.argsort(key, kind="stable")
        key, step = key[order], at[decides][order]
        if ((key[1:] == key[:-1]) & (step[1:] != step[:-1])).any():
            return False
        at = above
    return True


def _depth(tree: HistoryTree) -> int:
    """The most decisions and chance nodes on the way to a terminal, at least 1."""
    depth, begin, end = 0, 0, 1
    while begin < end:
        # Nodes are in breadth-first order: a generation is a range.
        begin, end = int(tree.first_child[begin]), int(tree.first_child[end])
        depth += 1
    return depth
