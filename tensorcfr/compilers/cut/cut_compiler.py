"""Compiler of games in chunks, from the rules of a game of private hands.

The public tree is given as a graph of public states.  So only the trunk and one forest per shape
must be unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._util.hardware import second_level_cache
from ..._util.limits import CUT_FROM
from ...errors import GameError
from ...model.arrays import CHANCE, NO_PARENT, PublicTree, SequenceForm
from ...model.chunked_form import ChunkedForm, EntryBuilder, chunked, pack
from ...model.chunked_game import ChunkedGame
from ...model.compiled_game import Recipe
from ...model.flat_game import FlatGame
from ...model.labels import PublicGame, follow
from ...rules import PublicTreeGame
from .. import form_of_public_tree
from ..colour_refinement import distinguishes_all_hands
from ..compilation import AUTO, Compilation, CutLike
from ..derived_rules import joins_labels
from ..form_of_public_tree import Built, Forest, possible_hands
from ..invariants import check_chunks
from ..payoff_blocks import action_sequences
from ..public_graph import (
    Cut,
    Graph,
    Read,
    Unfolded,
    contracted,
    counts_of,
    graph_of_tree,
    leads_back,
    only_one_action,
    sequences_below,
    state_multiplicity,
    unfold,
)
from ..symmetry import Quotient, solved_game
from .tree_nodes import CutRoots, CutTree, OwnLabel, TreeNodes, path_to

CACHE_SHARE = 0.5
"""Share of the second-level cache that the scratch of a chunk may take.  The scratch holds a reach
for every sequence of one player and a value for every sequence of the other; regrets and averages
are streamed.  On Bluff(2,2) with 2 MiB of cache, shares of 1/2 and 1 take equal time, and shares of
1/4 and 2 a few percent more.  Smaller chunks have more short loops over payoffs; larger chunks
leave the cache."""
SPLIT = 8
"""Factor by which a chunk must be smaller than the limit to also include subtrees below the next
node of the trunk.  Larger chunks end with the children of a node, which makes more chunks equal."""


def check_cut(rules: PublicTreeGame, compilation: Compilation) -> None:
    """Check a cut before the rules are read.

    Raises:
        GameError: There are more than two players.
        ValueError: The public steps do not ascend.
    """
    cut = compilation.cut
    if cut is False or cut == AUTO:
        return
    if rules.n_players != 2:
        raise GameError(
            f"{compilation.name} has {rules.n_players} players; only games of two can be cut"
        )
    steps = _steps_of(_stored(cut))
    if steps and (steps[0] < 0 or steps != sorted(set(steps))):
        raise ValueError(
            f"cut must be True, public steps from 0 that ascend, or public labels, not {cut!r}"
        )


def is_cut(rules: PublicTreeGame, read: Read, compilation: Compilation) -> bool:
    """Decide whether a game is cut into chunks."""
    if compilation.cut is False or rules.n_players != 2:
        return False
    # A game without an end is unfolded, so that its error gives the number of histories.
    if rules.states_repeat and leads_back(read.graph):
        return False
    if compilation.cut != AUTO:
        return True
    # Chunks always have the unit 1, so a game with another unit stays flat.
    sequences = int(sequences_below(read.graph)[read.graph.root])
    return read.unit == 1.0 and sequences >= CUT_FROM


def lay_out(
    rules: PublicTreeGame,
    read: Read,
    compilation: Compilation,
    lay_out_flat: Callable[[int | None], FlatGame],
) -> ChunkedGame:
    """Lay out a game of private hands in chunks.

    ``lay_out_flat`` compiles the flat game under a memory limit.

    Raises:
        GameError: The payoffs are extremely large or small.
        ValueError: There is no such place to cut.
        MemoryLimitError: The game would need more than the budget.
    """
    name, symmetric, limit = compilation.name, compilation.symmetry, compilation.limit
    _check_unit(read.unit, name)
    if limit is None:
        limit = int(second_level_cache() * CACHE_SHARE) // np.dtype(np.float64).itemsize
    cut_at: Any = _stored(compilation.cut)
    by_steps = _steps_of(cut_at) is not None
    plan = _plan_of_states(read, symmetric) if by_steps and rules.states_repeat else None
    where = cut_at
    if plan is None:
        public = read.unfolded(compilation.memory.what)
        quotient = solved_game(public.tree, merges=symmetric)
        where = cut_at if by_steps else _cut_nodes(cut_at, public, quotient, name)
        plan = _plan_of_tree(public, quotient)
    return _cut_game(
        plan,
        _cut_graph(plan.solved, where, limit),
        name,
        Recipe(compilation.source, cut_at, limit, symmetric),
        lay_out_flat=lay_out_flat,
        label=_label_function(rules, plan.public),
    )


def cut_compiled(game: FlatGame, nodes: Sequence[int], limit: int) -> ChunkedGame:
    """Cut a compiled game of private hands into chunks.

    Args:
        game: A two-player game with a public tree.
        nodes: Nodes of its public tree, none below another; everything below them is in chunks.
        limit: Maximum number of sequences in a chunk with several subtrees.

    Raises:
        GameError: The payoffs are extremely large or small.
    """
    _check_unit(game.unit, game.name)
    public, labels = game.public_game, game.infoset_labels
    tree, places = public.tree, game.places
    quotient = solved_game(tree, merges=game.merged is not None)
    is_cut = np.zeros(quotient.tree.n_nodes, dtype=bool)
    for node in nodes:
        below = int(node)
        while quotient.node[below] < 0:  # The decision has one action and was removed.
            below = int(tree.first_child[below])
        is_cut[quotient.node[below]] = True
    plan = _plan_of_tree(public, quotient)

    def label(node: int, hand: int, _: str) -> str:
        return labels[int(places.infosets(np.array([node]), np.array([hand]))[0])]

    return _cut_game(
        plan,
        build(plan.solved, [lambda states, depth: is_cut[states]], limit=limit),
        game.name,
        Recipe(None, True, limit, symmetry="merged" in game.views),
        lay_out_flat=lambda limit: game,
        label=None if game.joins_labels else label,
    )


class _Plan(NamedTuple):
    """Public game, and the smaller game that is cut in its place."""

    graph: Graph
    """Public states, or nodes, of the whole game."""
    public: PublicGame
    """Labels of the whole game; its tree is the tree of ``graph``."""
    ways: np.ndarray
    """int64 (states,): from :func:`~tensorcfr.compilers.public_graph.state_multiplicity`."""
    solved: Graph
    """Public states, or nodes, of the game to cut."""
    hand: tuple[np.ndarray, ...]
    """int64 (hands,) for each player: the hand in the game to cut for each hand."""
    steps: Callable[[list[int], list[int]], list[int] | None]
    """Function from a path to the path in the game to cut; see :class:`TreeNodes`."""
    multiplicity: Callable[[int, int], np.ndarray]
    """Function from a state and a player to :attr:`NodeLayout.multiplicity`."""
    merges_hands: bool = False
    """True if hands or outcomes are merged."""


def _plan_of_tree(public: PublicGame, quotient: Quotient) -> _Plan:
    """Return the plan for the quotient of a public tree."""
    tree, merged = public.tree, quotient.tree

    def steps(nodes: list[int], _: list[int]) -> list[int] | None:
        node = int(quotient.node[nodes[-1]])
        return None if node < 0 else path_to(merged, node)[1]

    def multiplicity(node: int, player: int) -> np.ndarray:
        probability = tree.deal_probability(int(tree.weight[node])).sum(axis=1 - player)
        # The probability of the merged infoset, divided by the infoset's own: the number of equally
        # likely infosets that are merged into it.
        weight = int(merged.weight[quotient.node[node]])
        total = merged.deal_probability(weight).sum(axis=1 - player)[quotient.hand[player]]
        return np.divide(total, probability, out=np.ones(len(probability)), where=probability > 0)

    graph, solved, hand = graph_of_tree(tree), graph_of_tree(merged), quotient.hand
    ways = state_multiplicity(graph)
    return _Plan(graph, public, ways, solved, hand, steps, multiplicity, quotient.merges)


def _plan_of_states(read: Read, symmetric: bool) -> _Plan | None:
    """Return the plan for public states, whose tree is not unfolded.

    Returns:
        The plan; None if the game has public chance, or if some hands may be indistinguishable.
    """
    graph = read.graph
    tables = graph.tables
    if (tables.player == CHANCE).any():
        return None
    ways = state_multiplicity(graph)
    if symmetric and not distinguishes_all_hands(tables, ways):
        return None
    omitted = only_one_action(graph) & symmetric

    def steps(states: list[int], taken: list[int]) -> list[int] | None:
        out = omitted[states]
        return None if out[-1] else np.array(taken, dtype=np.int64)[~out[:-1]].tolist()

    def multiplicity(_: int, player: int) -> np.ndarray:
        return np.ones(len(read.hands[player]))

    public = PublicGame(tables, read.hands, read.edges, None)
    solved, hand = contracted(graph) if symmetric else graph, map(np.arange, tables.prior.shape)
    return _Plan(graph, public, ways, solved, tuple(hand), steps, multiplicity)


def _cut_game(
    plan: _Plan,
    cut_tree: CutTree,
    name: str,
    recipe: Recipe,
    *,
    lay_out_flat: Callable[[int | None], FlatGame],
    label: OwnLabel | None,
) -> ChunkedGame:
    """Build a game in chunks.

    Args:
        plan: The game, and the game that was cut.
        cut_tree: The trunk and chunks of the latter.
        name: The name of the game.
        recipe: The arguments with which the game can be compiled again.
        lay_out_flat: Function that compiles the flat game under a memory limit.
        label: Function that makes labels; see :class:`TreeNodes`.
    """
    graph, public, hand = plan.graph, plan.public, plan.hand
    return ChunkedGame(
        name,
        cut_tree.form,
        TreeNodes(graph, public, plan.steps, hand, plan.multiplicity, cut_tree, label),
        counts_of(graph, plan.ways),
        recipe=recipe,
        utilities=graph.tables.utilities,
        merges_hands=plan.merges_hands,
        lay_out=lay_out_flat,
    )


def _label_function(rules: PublicTreeGame, public: PublicGame) -> OwnLabel | None:
    """Return a function that makes labels, or None if labels are hand and public label, joined.

    A function is needed if the rules make labels themselves, or if joined labels are ambiguous.
    """
    if joins_labels(rules) and public.ambiguity() is None:
        return None

    def label(state: int, hand: int, line: str) -> str:
        player = int(public.tree.player[state])
        return rules.label(player, rules.hands[player][hand], line)

    return label


def _check_unit(unit: float, name: str) -> None:
    """Refuse payoffs with a unit other than 1, because chunks do not scale payoffs.

    Raises:
        GameError: The payoffs are extremely large or small.
    """
    if unit != 1.0:
        raise GameError(f"the payoffs of {name} are too large or too small for a game that is cut")


def _stored(cut: CutLike) -> bool | int | tuple[int, ...] | tuple[str, ...]:
    """Return a cut as files store it; :data:`~tensorcfr.compilers.compilation.AUTO` is True."""
    if isinstance(cut, str):
        return cut == AUTO or (cut,)
    return cut if isinstance(cut, int) else tuple(cut)  # type: ignore[return-value]


def _steps_of(cut: Any) -> list[int] | None:
    """Return the public steps of a stored cut, none if it is True; None if it has labels."""
    if isinstance(cut, bool):
        return []
    steps = [cut] if isinstance(cut, int) else list(cut)
    return steps if all(isinstance(step, int) for step in steps) else None


def _cut_graph(graph: Graph, cut: Any, limit: int) -> CutTree:
    """Cut a game at a stored cut, with public states in place of labels."""
    if isinstance(cut, bool):
        size = sequences_below(graph)
        # A game that fits one chunk as a whole is not cut, because no size is at most -1.
        fits = size <= (limit if size[graph.root] > limit else -1)
        return build(graph, [lambda states, depth: fits[states]], limit=limit)
    if isinstance(cut, np.ndarray):
        cuts: list[Cut] = [lambda states, depth: np.isin(states, cut)]
    else:
        steps = np.diff(np.atleast_1d(np.array(cut, dtype=np.int64)), prepend=0).tolist()
        cuts = [partial(_at_depth, step) for step in steps]
    return build(graph, cuts, limit=limit, alone=True)


def _at_depth(wanted: int, states: np.ndarray, depth: int) -> np.ndarray:
    """Select all states if they are at the wanted depth, and none otherwise."""
    return np.full(len(states), depth == wanted)


def _cut_nodes(cut: Any, public: PublicGame, quotient: Quotient, name: str) -> np.ndarray:
    """Return the nodes of the solved public tree with the given labels, int64 (labels,).

    Raises:
        TypeError: A label is not a string.
        ValueError: No node has the label, or its node is not part of the solved tree.
    """
    nodes, named = [], public.named()
    for label in cut:
        if not isinstance(label, str):
            raise TypeError(f"{name} cannot be cut at {label!r}: give public labels")
        if (node := named.get(label)) is None:
            path = follow(label, 0, public.steps) or follow(f" {label}", 0, public.steps)
            if path is None:
                raise ValueError(f"{name} has no public node {label!r} to cut at")
            node = path[0][-1]
        if quotient.node[node] < 0:
            raise ValueError(
                f"{name} cannot be cut at {label!r}: the decision has one action, or no deal "
                "reaches it"
            )
        nodes.append(int(quotient.node[node]))
    return np.array(nodes, dtype=np.int64)


# ----------------------------------------------------------------------------- trunk and chunks


def build(graph: Graph, cuts: Sequence[Cut], *, limit: int, alone: bool = False) -> CutTree:
    """Cut a game into a trunk and chunks.

    Args:
        graph: The public states of the game to solve, with two players.
        cuts: Where to cut the tree, then the forests of its chunks, and so on.  Depths count from
            the last cut.  Nothing is cut where nobody acts any more.
        limit: Maximum number of sequences in a chunk with several subtrees.
        alone: Whether each subtree is a chunk of its own.
    """
    chunks = _Chunks(graph, cuts, 0 if alone else limit)
    unfolded = unfold(graph, cut=chunks.cut(0))
    trunk = form_of_public_tree.lay_out(unfolded.tree)
    chunks.add_below(0, 0, unfolded, trunk, None)
    form = chunks.form(trunk.form)
    check_chunks(form, sequences=int(chunks.size[graph.root]) + 2)
    return CutTree(
        form=form,
        trunk=trunk.tree,
        shapes=[built.tree for built in chunks.built],
        built=[built.form for built in chunks.built],
        roots=chunks.roots,
    )


def _group_cut_nodes(unfolded: Unfolded, size: np.ndarray, limit: int) -> list[np.ndarray]:
    """Group the nodes at which the tree is cut into chunks."""
    groups: list[list[int]] = []
    total, before = 0, NO_PARENT
    for node in unfolded.cut.tolist():
        n_sequences, parent = int(size[unfolded.state[node]]), int(unfolded.tree.parent[node])
        # ``unfolded.cut`` ascends and nodes are numbered breadth first, so siblings are adjacent.
        joins = total + n_sequences <= limit and (parent == before or total <= limit // SPLIT)
        if not (groups and joins):
            groups.append([])
            total = 0
        groups[-1].append(node)
        total, before = total + n_sequences, parent
    return [np.array(group) for group in groups]


@dataclass
class _Chunks:
    """Chunks of a game while they are collected."""

    graph: Graph
    cuts: Sequence[Cut]
    limit: int
    built: list[Built] = field(default_factory=list)
    """Shapes."""
    shape: list[int] = field(default_factory=list)
    """Shape of each chunk."""
    entries: EntryBuilder = field(default_factory=EntryBuilder)
    roots: dict[int, CutRoots] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.size = sequences_below(self.graph)
        self._possible, masks = possible_hands(self.graph.tables, everybody=True)
        self._hands = masks.sum(axis=1)
        self._by_states: dict[tuple[bytes, ...], int] = {}
        self._by_structure: dict[tuple[bytes, ...], int] = {}

    def cut(self, level: int) -> Cut | None:
        """Return the cut below ``level`` other cuts, or None if there is none."""
        if level == len(self.cuts):
            return None
        return lambda states, depth: self.cuts[level](states, depth) & (self.size[states] > 0)

    def add_below(
        self, part: int, level: int, unfolded: Unfolded, built: Built, forest: Forest | None
    ) -> None:
        """Add the chunks below a part, and recursively the chunks below them.

        Args:
            part: The part: 0 for the trunk, ``c + 1`` for chunk ``c``.
            level: Number of cuts above the part.
            unfolded: The unfolded nodes of the part.
            built: Its sequence form.
            forest: The entries into the part; None for the trunk.
        """
        roots = CutRoots(*np.full((2, len(unfolded.state)), -1, dtype=np.int32))
        for nodes in _group_cut_nodes(unfolded, self.size, self.limit):
            chunk, states = len(self.shape), unfolded.state[nodes]
            # Node 0 of a forest is artificial, and its children are the roots in this order.
            roots.chunk[nodes], roots.node[nodes] = chunk, np.arange(1, len(nodes) + 1)
            entry, mask, sequences = zip(
                *(self._entries(player, nodes, built, forest) for player in range(2)), strict=True
            )
            entered = Forest(np.stack(entry), mask)
            structure = (entered.entry.tobytes(), *(row.tobytes() for row in mask))
            self.entries.add(sequences, part)
            # Equal states have equal subtrees, but further cuts depend on the path as well, so only
            # the last level can reuse a shape without unfolding.
            key, is_last = (states.tobytes(), *structure), level + 1 == len(self.cuts)
            if is_last and key in self._by_states:
                self.shape.append(self._by_states[key])
                continue
            below = unfold(self.graph, states, cut=self.cut(level + 1))
            shape = self._shape(below.tree, entered, structure)
            if is_last:
                self._by_states[key] = shape
            self.shape.append(shape)
            self.add_below(chunk + 1, level + 1, below, self.built[shape], entered)
        if len(unfolded.cut):
            self.roots[part] = roots

    def _entries(
        self, player: int, nodes: np.ndarray, built: Built, forest: Forest | None
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Return the entries of a player into a chunk.

        Args:
            player: The player.
            nodes: int64 (roots,): the nodes of the part at which the chunk begins.
            built: The part.
            forest: The entries into the part; None for the trunk.

        Returns:
            int64 (roots,): the entry that leads to each root; int64 (entries,): the mask of each
            entry; for each entry, its sequences in the part, hand by hand.
        """
        steps, first, entry = np.unique(
            built.last[player, nodes].astype(np.int64), return_index=True, return_inverse=True
        )
        # Number entries in the order of their first occurrence, which is the same in chunks of
        # equal structure.
        order = np.argsort(first)
        steps, entry = steps[order], np.argsort(order)[entry]
        before = steps < 0
        weight = built.tree.weight[built.tree.parent[steps]].astype(np.int64)
        # The last column of ``_possible`` has the mask of all hands: the empty sequence does not
        # depend on the hand.
        mask = self._possible[player, np.where(before, -1, weight)]
        if forest is not None:
            mask[before] = forest.mask[player][-1 - steps[before]]
        owner = np.full(len(steps), player)
        parent_places = action_sequences(built.tree, built.form, built.entered, owner, steps)
        hands = self._hands[mask]
        places = zip(parent_places.sequence, parent_places.stride, hands, strict=True)
        return entry, mask, [first + step * np.arange(count) for first, step, count in places]

    def _shape(self, tree: PublicTree, forest: Forest, structure: tuple[bytes, ...]) -> int:
        """Return the shape of a forest, which may be known from other states."""
        # Two forests share a shape if these arrays and the entries are equal: the sequence form
        # depends on nothing else.
        arrays = (tree.parent, tree.player, tree.weight, tree.payoff)
        key = (*(array.astype(np.int32).tobytes() for array in arrays), *structure)
        if key not in self._by_structure:
            self._by_structure[key] = len(self.built)
            self.built.append(form_of_public_tree.lay_out(tree, forest))
        return self._by_structure[key]

    def form(self, trunk: SequenceForm) -> ChunkedForm:
        """Return the game in chunks."""
        kinds = tuple(type(part) for part in trunk.operator)
        shapes = pack([built.form for built in self.built], kinds)
        shape = np.array(self.shape, dtype=np.int64)
        return chunked(trunk, shapes, shape, self.entries.finish())
