"""Compiled games in chunks, from the rules of a game of private hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._util.caches import second_level_cache
from .._util.memory import Budget
from .._util.memory import budget as budget_for
from ..errors import GameError
from ..model.arrays import PublicTree
from ..model.cut_game import Counts, CutGame, Recipe
from ..model.expansion import count_dealing
from ..model.game import CompiledGame, utilities_of
from ..model.labels import InfosetLabels, InfosetPlaces, PublicGame, follow
from ..rules import PublicTreeGame
from . import chunks, form_of_public_tree, merging, public_game, public_tree
from .chunks import CutTree, Graph, only_one_action
from .colours import tells_hands_apart
from .places import numbers_of, way_to
from .public_lines import OwnLabel, PublicLines
from .symmetry import Quotient

CACHE_SHARE = 0.5
"""Share of the second-level cache that the scratch of a chunk may take: a reach for every sequence
of one player and a value for every sequence of the other.  Regrets and averages stream by.  On
Bluff(2,2), with 2 MiB of cache, shares of 1/2 and 1 take the same time and shares of 1/4 and 2 some
percent more: smaller chunks have more short loops over payoffs, larger ones leave the cache."""

CutLike = bool | int | Sequence[str]
"""Where to cut: True for where the cache says; the number of public steps before the cut; or the
public labels of the nodes below which everything is a chunk."""


def compile_rules(
    rules: PublicTreeGame,
    name: str,
    budget: Budget,
    *,
    cut: CutLike,
    symmetric: bool,
    source: str | None = None,
    limit: int | None = None,
) -> CutGame:
    """Compile the rules of a game of private hands into chunks.

    Args:
        rules: The rules, for two players.
        name: What the game is called.
        budget: The bytes that compiling may take.
        cut: Where to cut.
        symmetric: Whether what the payoffs cannot tell apart is merged, and decisions with one
            action are left out.
        source: Under which name the rules can be found again, if they can.
        limit: Sequences that a chunk of several subtrees may have; by default the second-level
            cache says.

    Raises:
        GameError: The rules break their contract, or more than two play.
        ValueError: There is no such place to cut.
        MemoryLimitError: The game would need more than the budget.
    """
    if rules.n_players != 2:
        raise GameError(f"{name} has {rules.n_players} players; games of two can be cut")
    if isinstance(cut, int) and cut < 0:
        raise ValueError(f"cut must be True, public steps from 0, or public labels, not {cut!r}")
    if limit is None:
        limit = int(second_level_cache() * CACHE_SHARE) // np.dtype(np.float64).itemsize
    given = cut if isinstance(cut, (bool, int)) else (cut,) if isinstance(cut, str) else tuple(cut)
    recipe = Recipe(source, given, limit, symmetric)
    if isinstance(cut, (bool, int)) and rules.states_repeat:
        found = _from_states(rules, name, budget, cut, recipe)
        if found is not None:
            return found
    public, unit = public_tree.read(rules, budget)
    _check_unit(unit, name)
    quotient = (merging.quotient_of(public.tree) if symmetric else None) or _identity(public.tree)
    where = cut if isinstance(cut, (bool, int)) else _nodes(recipe.cut, public, quotient, name)
    cut_tree = _cut(chunks.graph_of_tree(quotient.tree), where, limit)
    return _from_tree(
        public,
        quotient,
        cut_tree,
        name,
        recipe,
        flatten=lambda: _flat(rules, name, budget.limit, symmetric),
        label=_own_label(rules, public),
    )


def cut_compiled(game: CompiledGame, nodes: Sequence[int], limit: int) -> CutGame:
    """A compiled game of private hands in chunks.

    Args:
        game: A game of two players with a public tree.
        nodes: Nodes of its public tree, none below another one, below which everything is in
            chunks.
        limit: Sequences that a chunk of several subtrees may have.

    Raises:
        GameError: Its payoffs are extremely large or small.
    """
    _check_unit(game.unit, game.name)
    public, given = game.public, game.infoset_labels
    assert public is not None
    tree, places = public.tree, InfosetPlaces(public, game.form)
    quotient = (None if game.merged is None else merging.quotient_of(tree)) or _identity(tree)
    here = np.zeros(quotient.tree.n_nodes, dtype=bool)
    for node in nodes:
        below = int(node)
        while quotient.node[below] < 0:  # A decision with one action, which is left out.
            below = int(tree.first_child[below])
        here[quotient.node[below]] = True
    graph = chunks.graph_of_tree(quotient.tree)

    def label(node: int, hand: int, _: str) -> str:
        return given[int(places.infosets(np.array([node]), np.array([hand]))[0])]

    return _from_tree(
        public,
        quotient,
        chunks.build(graph, lambda states, depth: here[states], limit=limit),
        game.name,
        Recipe(None, True, limit, game.merged is not None),
        flatten=lambda: game,
        label=None if isinstance(given, InfosetLabels) else label,
    )


def _from_tree(
    public: PublicGame,
    quotient: Quotient,
    cut_tree: CutTree,
    name: str,
    recipe: Recipe,
    *,
    flatten: Callable[[], CompiledGame],
    label: OwnLabel | None,
) -> CutGame:
    """The game of a public tree that was cut.

    Args:
        public: The whole game.
        quotient: The game that was cut, and the nodes and hands in it.
        cut_tree: It in chunks.
        name: What the game is called.
        recipe: How to compile it again.
        flatten: Makes the flat game.
        label: As for :class:`PublicLines`.
    """
    tree = public.tree

    def number(flat: CompiledGame) -> np.ndarray:
        assert flat.public is not None
        return numbers_of(flat.public.tree, flat.form, quotient, cut_tree)

    def steps(nodes: list[int], _: list[int]) -> list[int] | None:
        node = int(quotient.node[nodes[-1]])
        return None if node < 0 else way_to(quotient.tree, node)[1]

    def alike(node: int, player: int) -> np.ndarray:
        merged, own = quotient.tree, tree.dealt(int(tree.weight[node])).sum(axis=1 - player)
        weight = int(merged.weight[quotient.node[node]])
        whole = merged.dealt(weight).sum(axis=1 - player)[quotient.hand[player]]
        return np.divide(whole, own, out=np.ones(len(own)), where=own > 0)

    graph = chunks.graph_of_tree(tree)
    edge = tree.edge[1:]
    return CutGame(
        name,
        cut_tree.form,
        _counts(graph),
        recipe=recipe,
        hands=public.hands,
        utilities=utilities_of(tree),
        merges_hands=quotient.merges,
        flatten=flatten,
        number=number,
        lines=lambda _: PublicLines(
            graph, public, edge, steps, quotient.hand, alike, cut_tree, label
        ),
    )


def _from_states(
    rules: PublicTreeGame, name: str, budget: Budget, cut: bool | int, recipe: Recipe
) -> CutGame | None:
    """As :func:`compile_rules`, without unfolding the public tree; None where that cannot be: there
    is public chance, or hands may be alike."""
    symmetric = recipe.symmetry
    read = public_tree.read_states(rules, budget)
    if read is None:
        return None
    tables, child, edges = read
    _check_unit(public_tree.in_unit(name, tables)[1], name)
    whole = Graph(tables, child, 0)
    if symmetric and not tells_hands_apart(tables, chunks.count_ways(whole)):
        return None
    graph = chunks.contracted(whole) if symmetric else whole
    cut_tree = _cut(graph, cut, recipe.limit)

    def number(flat: CompiledGame) -> np.ndarray:
        assert flat.public is not None
        tree = flat.public.tree
        short = merging.contraction_of(tree) if symmetric else None
        return numbers_of(tree, flat.form, short or _identity(tree), cut_tree)

    left_out = only_one_action(whole) & symmetric

    def steps(states: list[int], taken: list[int]) -> list[int] | None:
        out = left_out[states]
        return None if out[-1] else np.array(taken, dtype=np.int64)[~out[:-1]].tolist()

    def alone(_: int, player: int) -> np.ndarray:
        return np.ones(len(hands[player]))

    hands = tuple(tuple(map(str, own)) for own in rules.hands)
    public = PublicGame(tables, hands, edges, None)
    itself = _identity(tables).hand
    return CutGame(
        name,
        cut_tree.form,
        _counts(whole),
        recipe=recipe,
        hands=hands,
        utilities=utilities_of(tables),
        merges_hands=False,
        flatten=lambda: _flat(rules, name, budget.limit, symmetric),
        number=number,
        lines=lambda _: PublicLines(
            whole, public, tables.edge, steps, itself, alone, cut_tree, _own_label(rules, public)
        ),
    )


def _own_label(rules: PublicTreeGame, public: PublicGame) -> OwnLabel | None:
    """What makes labels, where they are not hands and public parts that can be told apart."""
    if type(rules).label is PublicTreeGame.label and public.ambiguity() is None:
        return None

    def label(state: int, hand: int, line: str) -> str:
        player = int(public.tree.player[state])
        return rules.label(player, rules.hands[player][hand], line)

    return label


def _flat(rules: PublicTreeGame, name: str, memory_limit: int, symmetric: bool) -> CompiledGame:
    """The same game as one flat form."""
    with budget_for(f"laying out {name}", memory_limit) as own:
        return public_game.compile_rules(rules, name, own, symmetry=symmetric)


def _check_unit(unit: float, name: str) -> None:
    """Refuse payoffs that a game in one form would scale: chunks hold them as they are.

    Raises:
        GameError: They are extremely large or small.
    """
    if unit != 1.0:
        raise GameError(f"the payoffs of {name} are too large or too small for a game that is cut")


def _identity(tree: PublicTree) -> Quotient:
    """The game itself."""
    hand = tuple(np.arange(hands) for hands in tree.prior.shape)
    return Quotient(tree, np.arange(tree.n_nodes), hand)


def _cut(graph: Graph, cut: bool | int | np.ndarray, limit: int) -> CutTree:
    """The game, cut.

    Args:
        graph: Its public states.
        cut: See :data:`CutLike`; in place of labels, the states below which to cut.
        limit: Sequences that a chunk of several subtrees may have.
    """
    if isinstance(cut, bool):
        size = chunks.sequences_below(graph)
        fits = size <= (limit if size[graph.root] > limit else -1)
        return chunks.build(graph, lambda states, depth: fits[states], limit=limit)
    if isinstance(cut, np.ndarray):
        here = np.zeros(graph.n_states, dtype=bool)
        here[cut] = True
        return chunks.build(graph, lambda states, depth: here[states], limit=limit, alone=True)
    return chunks.build(
        graph,
        lambda states, depth: np.full(len(states), depth == cut),
        limit=limit,
        alone=True,
    )


def _nodes(cut: Any, public: PublicGame, quotient: Quotient, name: str) -> np.ndarray:
    """The nodes of the public tree that is solved that have the given labels, int64."""
    found = []
    named = {label: node for node, label in enumerate(public.node_labels or ()) if label}
    for label in cut:
        if not isinstance(label, str):
            raise TypeError(f"{name} cannot be cut at {label!r}: it takes public labels")
        if (node := named.get(label)) is None:
            way = follow(label, 0, public.steps) or follow(f" {label}", 0, public.steps)
            if way is None:
                raise ValueError(f"{name} has no public node {label!r} to cut at")
            node = way[0][-1]
        if quotient.node[node] < 0:
            raise ValueError(
                f"{name} cannot be cut at {label!r}: the decision there has one action and is left "
                "out, or no deal gets there"
            )
        found.append(int(quotient.node[node]))
    return np.array(found, dtype=np.int64)


def _counts(graph: Graph) -> Counts:
    """What there is of the game that unfolds from public states."""
    tables = graph.tables
    ways = chunks.count_ways(graph)
    possible, masks = form_of_public_tree.possible_hands(tables)
    acts = (tables.player >= 0) & tables.exists
    hands = np.zeros(graph.n_states, dtype=np.int64)
    hands[acts] = masks.sum(axis=1)[possible[tables.player[acts], tables.weight[acts]]]
    deals = tables.alive.reshape(len(tables.weight_table), -1).sum(axis=1)[tables.weight] * ways
    first, second = (int(ways @ np.where(tables.player == one, hands, 0)) for one in range(2))
    return Counts(
        player_infosets=(first, second),
        sequences=int(ways @ (hands * graph.fan)) + 2,
        histories=count_dealing(tables) + int(deals.sum()),
        decision_nodes=int(deals[tables.player >= 0].sum()),
        public_nodes=int(ways.sum()),
    )
