"""Compiler of games in chunks, from the rules of a game of private hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._util.hardware import second_level_cache
from ..._util.limits import CUT_FROM
from ...errors import GameError
from ...model.arrays import CHANCE
from ...model.chunked_game import ChunkedGame
from ...model.compiled_game import Recipe
from ...model.flat_game import FlatGame, utilities_of
from ...model.labels import PublicGame, follow
from ...rules import PublicTreeGame
from ..colour_refinement import distinguishes_all_hands
from ..compilation import AUTO, Compilation, CutLike
from ..derived_rules import joins_labels
from ..public_states import (
    Cut,
    Graph,
    contracted,
    counts_of,
    graph_of_tree,
    leads_back,
    only_one_action,
    sequences_below,
    state_multiplicity,
)
from ..public_tree_reader import Read
from ..symmetry import Quotient, identity, quotient_of
from . import cutting
from .cutting import CutTree
from .tree_nodes import OwnLabel, TreeNodes, path_to

CACHE_SHARE = 0.5
"""Share of the second-level cache that the scratch of a chunk may take.  The scratch holds a reach
for every sequence of one player and a value for every sequence of the other; regrets and averages
are streamed.  On Bluff(2,2) with 2 MiB of cache, shares of 1/2 and 1 take equal time, and shares of
1/4 and 2 a few percent more.  Smaller chunks have more short loops over payoffs; larger chunks
leave the cache."""


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
    recipe = Recipe(compilation.source, cut_at, limit, symmetric)
    by_steps = _steps_of(cut_at) is not None
    if by_steps and rules.states_repeat:
        game = _from_states(rules, read, name, recipe, lay_out_flat)
        if game is not None:
            return game
    public = read.unfolded(compilation.memory.what)
    quotient = (quotient_of(public.tree) if symmetric else None) or identity(public.tree)
    where = cut_at if by_steps else _cut_nodes(cut_at, public, quotient, name)
    return _from_tree(
        public,
        quotient,
        _cut_graph(graph_of_tree(quotient.tree), where, limit),
        name,
        recipe,
        lay_out_flat=lay_out_flat,
        label=_label_function(rules, public),
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
    quotient = (game.merged and quotient_of(tree)) or identity(tree)
    is_cut = np.zeros(quotient.tree.n_nodes, dtype=bool)
    for node in nodes:
        below = int(node)
        while quotient.node[below] < 0:  # The decision has one action and was removed.
            below = int(tree.first_child[below])
        is_cut[quotient.node[below]] = True
    graph = graph_of_tree(quotient.tree)

    def label(node: int, hand: int, _: str) -> str:
        return labels[int(places.infosets(np.array([node]), np.array([hand]))[0])]

    return _from_tree(
        public,
        quotient,
        cutting.build(graph, [lambda states, depth: is_cut[states]], limit=limit),
        game.name,
        Recipe(None, True, limit, symmetry="merged" in game.views),
        lay_out_flat=lambda limit: game,
        label=None if game.joins_labels else label,
    )


def _from_tree(
    public: PublicGame,
    quotient: Quotient,
    cut_tree: CutTree,
    name: str,
    recipe: Recipe,
    *,
    lay_out_flat: Callable[[int | None], FlatGame],
    label: OwnLabel | None,
) -> ChunkedGame:
    """Build a game in chunks from its public tree and the cut quotient of that tree.

    Args:
        public: The public tree with its labels.
        quotient: The game that was cut.
        cut_tree: Its trunk and chunks.
        name: The name of the game.
        recipe: The arguments with which the game can be compiled again.
        lay_out_flat: Function that compiles the flat game under a memory limit.
        label: Function that makes labels; see :class:`TreeNodes`.
    """
    tree = public.tree

    def steps(nodes: list[int], _: list[int]) -> list[int] | None:
        node = int(quotient.node[nodes[-1]])
        return None if node < 0 else path_to(quotient.tree, node)[1]

    def multiplicity(node: int, player: int) -> np.ndarray:
        merged = quotient.tree
        probability = tree.deal_probability(int(tree.weight[node])).sum(axis=1 - player)
        # The probability of the merged infoset, divided by the infoset's own: the number of equally
        # likely infosets that are merged into it.
        weight = int(merged.weight[quotient.node[node]])
        total = merged.deal_probability(weight).sum(axis=1 - player)[quotient.hand[player]]
        return np.divide(total, probability, out=np.ones(len(probability)), where=probability > 0)

    graph = graph_of_tree(tree)
    return ChunkedGame(
        name,
        cut_tree.form,
        TreeNodes(graph, public, steps, quotient.hand, multiplicity, cut_tree, label),
        counts_of(graph, state_multiplicity(graph)),
        recipe=recipe,
        utilities=utilities_of(tree),
        merges_hands=quotient.merges,
        lay_out=lay_out_flat,
    )


def _from_states(
    rules: PublicTreeGame,
    read: Read,
    name: str,
    recipe: Recipe,
    lay_out_flat: Callable[[int | None], FlatGame],
) -> ChunkedGame | None:
    """Build a game in chunks without unfolding its public tree.

    Returns:
        The game; None if it has public chance, or if some hands may be indistinguishable.
    """
    symmetric, graph = recipe.symmetry, read.graph
    tables = graph.tables
    if (tables.player == CHANCE).any():
        return None
    ways = state_multiplicity(graph)
    if symmetric and not distinguishes_all_hands(tables, ways):
        return None
    cut_tree = _cut_graph(contracted(graph) if symmetric else graph, recipe.cut, recipe.limit)
    omitted = only_one_action(graph) & symmetric

    def steps(states: list[int], taken: list[int]) -> list[int] | None:
        out = omitted[states]
        return None if out[-1] else np.array(taken, dtype=np.int64)[~out[:-1]].tolist()

    def multiplicity(_: int, player: int) -> np.ndarray:
        return np.ones(len(read.hands[player]))

    public = PublicGame(tables, read.hands, read.edges, None)
    hand, label = identity(tables).hand, _label_function(rules, public)
    return ChunkedGame(
        name,
        cut_tree.form,
        TreeNodes(graph, public, steps, hand, multiplicity, cut_tree, label),
        counts_of(graph, ways),
        recipe=recipe,
        utilities=utilities_of(tables),
        merges_hands=False,
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
        return cutting.build(graph, [lambda states, depth: fits[states]], limit=limit)
    if isinstance(cut, np.ndarray):
        cuts: list[Cut] = [lambda states, depth: np.isin(states, cut)]
    else:
        steps = np.diff(np.atleast_1d(np.array(cut, dtype=np.int64)), prepend=0).tolist()
        cuts = [partial(_at_depth, step) for step in steps]
    return cutting.build(graph, cuts, limit=limit, alone=True)


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
