"""A compiled game as the Monte Carlo traversals walk it, and where its infosets' numbers lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._util.jit import kernel
from ..errors import GameError
from ..kernels.sampling import (
    ACTOR,
    BLOCK,
    BUCKET,
    CHANCE_NODE,
    COUNT,
    FIRST,
    LAST,
    NO_BLOCK,
    REGRET,
    TERMINAL_NODE,
    WalkedTree,
)
from ..kernels.sampling_public import NO_HAND, HandsTree
from ..model.arrays import CHANCE, NO_PARENT, TERMINAL, HistoryTree, PublicTree
from ..model.expansion import count_dealing
from ..model.game import CompiledGame

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
    marked: bool = True
    """Whether blocks have the last visit and the mark.  Otherwise the numbers of the infoset
    before lie where they would be, and no kernel may touch them."""

    @cached_property
    def step(self) -> np.ndarray:
        """int64 (buckets,): how far it is from one block of a bucket to the next; 0 if its
        infosets have one action, and so no block."""
        actions = self.game.form.bucket_actions
        return np.where(actions > 1, REGRET_AT * self.marked + (3 + self.extra) * actions, 0)

    @cached_property
    def first(self) -> np.ndarray:
        """int64 (buckets,): where the first block of each bucket begins."""
        sizes = self.step * self.game.form.bucket_lanes
        return np.cumsum(sizes) - sizes

    @property
    def block(self) -> np.ndarray:
        """int64 (infosets,): where the infoset's block begins; -1 if it has one action."""
        form = self.game.form
        lane = np.arange(form.n_infosets) - np.repeat(form.bucket_infoset, form.bucket_lanes)
        first, step = (np.repeat(array, form.bucket_lanes) for array in (self.first, self.step))
        return np.where(step > 0, first + lane * step, -1)

    @property
    def size(self) -> int:
        """Numbers in the table."""
        return int(self.step @ self.game.form.bucket_lanes) + REGRET_AT * (not self.marked)

    @property
    def sequence(self) -> np.ndarray:
        """int64 (k,): the sequences whose infoset has a block, ascending."""
        return np.flatnonzero(self.group(np.ones(self.size), 0))

    def group(self, table: np.ndarray, index: int, values: np.ndarray | None = None) -> np.ndarray:
        """float64 (sequences,): a copy of one group of numbers: regrets, strategy, cumulative
        strategy, and so on.

        Args:
            table: float64: the traversal's table.
            index: Which group, from 0.
            values: What the sequences have whose infoset has no block, 0 by default; modified in
                place and returned.
        """
        values = np.zeros(self.game.n_sequences) if values is None else values
        for sequences, here in self._groups(table, index):
            values[sequences].reshape(here.shape)[:] = here
        return values

    def set_group(self, table: np.ndarray, index: int, values: np.ndarray) -> None:
        """The reverse of :meth:`group`: ``table`` is modified in place."""
        for sequences, here in self._groups(table, index):
            here[:] = values[sequences].reshape(here.shape)

    def last(self, table: np.ndarray) -> np.ndarray:
        """float64 (infosets,): a copy of the last visits; 0 where none is noted."""
        values = np.zeros(self.game.n_infosets)
        for infosets, here in self._visits(table):
            values[infosets] = here
        return values

    def set_last(self, table: np.ndarray, values: np.ndarray) -> None:
        """The reverse of :meth:`last`: ``table`` is modified in place."""
        for infosets, here in self._visits(table):
            here[:] = values[infosets]

    def forget_average(self, table: np.ndarray) -> None:
        """Set cumulative strategies and last visits to 0: ``table`` is modified in place."""
        for _, here in (*self._groups(table, CUMULATIVE), *self._visits(table)):
            here[:] = 0.0

    def _groups(self, table: np.ndarray, index: int) -> Iterator[tuple[slice, np.ndarray]]:
        """For every bucket that has blocks its sequences, and one group of them: a view of the
        table, (actions, lanes)."""
        form = self.game.form
        for bucket, rows in self._rows(table):
            actions = int(form.bucket_actions[bucket])
            at = REGRET_AT * self.marked + index * actions
            first = int(form.bucket_sequence[bucket])
            yield slice(first, first + actions * len(rows)), rows[:, at : at + actions].T

    def _visits(self, table: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """For every bucket that has marked blocks its infosets, and their last visits: a view."""
        for bucket, rows in self._rows(table) if self.marked else ():
            first = int(self.game.form.bucket_infoset[bucket])
            yield slice(first, first + len(rows)), rows[:, LAST_AT]

    def _rows(self, table: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Buckets that have blocks, and the numbers of each block in a row: a view."""
        for bucket in np.flatnonzero(self.step).tolist():
            begin = int(self.first[bucket]) + REGRET_AT * (not self.marked)
            step, lanes = int(self.step[bucket]), int(self.game.form.bucket_lanes[bucket])
            yield bucket, table[begin : begin + lanes * step].reshape(lanes, step)


REGRETS, STRATEGY, CUMULATIVE, BASELINE = range(4)
"""Groups of numbers in a block of the table."""
TREE_BYTES, QUEUE_BYTES = 16, 44
"""Per history: a node of the tree; what a traversal that tries every action may note of it."""
PUBLIC_BYTES, DEAL_BYTES = 24, 32
"""Per public node: a node of the tree, and its row of chance, or its weight.  Per deal: its alias
table."""


def bytes_of(layout: Layout, *, queue: bool, public: bool = False, all_hands: bool = False) -> int:
    """Bytes of the table and of the tree, and of a traversal's queue if it has one.

    Args:
        layout: The game, and what its table holds.
        queue: Whether a traversal has a queue.
        public: Whether the tree is the public one.
        all_hands: Whether all hands are played on it.
    """
    game = layout.game
    table = 8 * layout.size
    if not public:
        return table + (TREE_BYTES + QUEUE_BYTES * queue) * game.n_histories
    assert game.public is not None
    tree = game.public.tree
    if all_hands:
        kinds = len(np.unique(_kinds_of_ends(tree)))
        matrices = 2 * kinds + len(tree.weight_table)
        rows = 2 * (int(_depth(tree.first_child)) + 1) * (int(np.diff(tree.first_child).max()) + 2)
        most = max(tree.prior.shape)
        # Players who learn together note the infosets that they came to.
        noted = 8 * layout.extra * game.n_infosets
        return table + PUBLIC_BYTES * tree.n_nodes + 8 * most * (matrices * most + rows) + noted
    walked = (PUBLIC_BYTES + QUEUE_BYTES * queue) * tree.n_nodes + DEAL_BYTES * tree.prior.size
    return table + walked


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
        depth=_depth(tree.first_child),
        width=int(children.max(initial=1))
        if not len(chance)
        else max(int(children.max()), int(node[chance, COUNT].max())),
        blocks=int((layout.block >= 0).sum()),
        entries=tree.n_nodes,
        once=_meets_once(game),
    )


def walked_public_tree(game: CompiledGame, layout: Layout) -> WalkedTree:
    """The public tree of a game of private hands, as a traversal walks it that draws the hands
    first; nothing is expanded.

    Args:
        game: The game; it has two players.
        layout: Where its infosets' blocks are.

    Raises:
        GameError: The table is too large for indices of 32 bits.
    """
    assert game.public is not None
    tree = game.public.tree
    node = _public_nodes(game, layout)
    over = tree.player == TERMINAL
    node[over, BLOCK] = tree.matrix[tree.payoff[over]]
    hands = tree.prior.size
    deals = np.flatnonzero(tree.prior)
    probability = tree.prior.ravel()[deals] / tree.prior.sum()
    threshold, alias = np.empty(len(deals)), np.empty(len(deals), np.uint32)
    only = np.zeros(1, np.uint32), np.full(1, len(deals), np.uint32)
    _alias(*only, probability, threshold, alias)
    drawn = (tree.player == CHANCE).any()
    return WalkedTree(
        node=node,
        outcome=np.stack([deals, deals[alias]], axis=1).astype(np.uint32),
        threshold=threshold,
        probability=probability,
        utility=tree.matrix_table.reshape(-1, game.n_players, hands),
        depth=_depth(tree.first_child),
        width=int(node[:, COUNT].max(initial=1)),
        blocks=int((layout.step[tree.bucket[tree.player >= 0]] > 0).sum()),
        entries=tree.n_nodes,
        once=True,
        dealt=game.n_players,
        hands=tree.prior.shape[1],
        offset=_offsets(layout),
        chance=tree.chance.astype(np.int32) if drawn else np.empty(0, np.int32),
        chance_table=tree.chance_table.reshape(-1, hands),
        coefficient=tree.coefficient,
    )


def hands_tree(game: CompiledGame, layout: Layout) -> HandsTree:
    """The public tree of a game of private hands, as a traversal walks it that plays all hands.

    Args:
        game: The game; it has two players, private hands and a public tree.
        layout: Where its infosets' blocks are.

    Raises:
        GameError: The table is too large for indices of 32 bits.
    """
    assert game.public is not None
    tree, form = game.public.tree, game.form
    node = np.column_stack([_public_nodes(game, layout), tree.weight.astype(np.uint32)])
    over = tree.player == TERMINAL
    kinds, row = np.unique(_kinds_of_ends(tree), return_inverse=True)
    node[over, BLOCK] = row
    weight, matrix = np.divmod(kinds, len(tree.matrix_table))
    alive = tree.alive
    probability = np.where(alive, tree.prior * tree.weight_table, 0.0)
    mass = probability.sum(axis=(1, 2)) / tree.prior.sum()
    most = max(tree.prior.shape)
    utility = np.zeros((len(kinds), game.n_players, most, most))
    first, second = tree.prior.shape
    for k, (w, m) in enumerate(zip(weight.tolist(), matrix.tolist(), strict=True)):
        # What the matrix says of deals that cannot be may be anything, even no number.
        pays = np.where(alive[w], tree.matrix_table[m], 0.0)
        given = probability[w] / (mass[w] if mass[w] > 0.0 else 1.0)
        utility[k, 0, :second, :first] = (given * pays[0]).T
        utility[k, 1, :first, :second] = given * pays[1]
    possible = np.diff(form.hand_rank, axis=1)[form.bucket_mask] > 0
    return HandsTree(
        node=node,
        offset=np.where(possible, _offsets(layout), NO_HAND).astype(np.uint32),
        mass=mass,
        deals=alive.sum(axis=(1, 2)),
        utility=utility,
        coefficient=tree.coefficient,
        hands=np.array(tree.prior.shape, np.uint64),
        depth=_depth(tree.first_child),
        width=int(node[tree.player >= 0, COUNT].max(initial=1)),
        infosets=int(form.bucket_lanes[layout.step > 0].sum()),
        dealing=count_dealing(tree),
    )


def _kinds_of_ends(tree: PublicTree) -> np.ndarray:
    """int64 (terminals,): the weight and the matrix of every public terminal, as one number."""
    over = tree.player == TERMINAL
    matrix = tree.matrix[tree.payoff[over]]
    return tree.weight[over].astype(np.int64) * len(tree.matrix_table) + matrix


def _public_nodes(game: CompiledGame, layout: Layout) -> np.ndarray:
    """uint32 (nodes, 5): the nodes of the public tree, as in :class:`WalkedTree`; the rows that
    terminals have in a table of utilities are not set.

    Raises:
        GameError: The table is too large for indices of 32 bits.
    """
    assert game.public is not None
    tree = game.public.tree
    if max(tree.n_nodes, layout.size) > INDEX_LIMIT:
        raise GameError(f"{game.name} is too large to be walked: {layout.size:,} numbers are kept")
    decides, over = tree.player >= 0, tree.player == TERMINAL
    node = np.zeros((tree.n_nodes, 5), np.uint32)
    node[decides, ACTOR] = tree.player[decides]
    node[tree.player == CHANCE, ACTOR] = CHANCE_NODE
    node[over, ACTOR] = TERMINAL_NODE
    node[:, FIRST] = np.where(over, tree.payoff, tree.first_child[:-1])
    node[:, COUNT] = np.diff(tree.first_child)
    bucket = tree.bucket[decides]
    block = layout.first[bucket] + tree.rank[decides] * layout.step[bucket]
    node[decides, BLOCK] = np.where(layout.step[bucket] > 0, block, int(NO_BLOCK))
    node[decides, BUCKET] = bucket
    return node


def _offsets(layout: Layout) -> np.ndarray:
    """uint32 (buckets, most hands): how far the block of each hand is from that of the first."""
    form = layout.game.form
    rank = form.hand_rank[form.bucket_mask, :-1]
    return (rank * (form.bucket_stride * layout.step)[:, None]).astype(np.uint32)


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


def _depth(first_child: np.ndarray) -> int:
    """The most decisions and chance nodes on the way to a terminal, at least 1."""
    depth, begin, end = 0, 0, 1
    while begin < end:
        # Nodes are in breadth-first order: a generation is a range.
        begin, end = int(first_child[begin]), int(first_child[end])
        depth += 1
    return depth
