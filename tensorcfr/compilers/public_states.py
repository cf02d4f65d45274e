"""Public states: a game of private hands as a graph, in which equal futures may be one state.

A public tree is a graph, too, in which every node is a state.  A graph is counted, cut and made
shorter without being unfolded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._util.memory import reserve
from ..model.arrays import CHANCE, TERMINAL, PublicTree, tree_links
from ..model.cut_game import Counts
from ..model.expansion import count_dealing
from .form_of_public_tree import possible_hands
from .tables import smallest_int


class Graph(NamedTuple):
    """The public states of a game, each with the states after it."""

    tables: PublicTree
    """Prior, weights, payoffs.  Its arrays over nodes are those over states, but for ``edge`` and
    ``chance``, which are over steps; ``first_child`` is an index into ``child``, and ``parent`` is
    not used."""
    child: np.ndarray
    """int (steps,): the states after each state."""
    root: int
    """The state at which the game begins."""

    @property
    def n_states(self) -> int:
        """States."""
        return len(self.tables.player)

    @property
    def fan(self) -> np.ndarray:
        """int64 (states,): how many states come after each."""
        return np.diff(self.tables.first_child).astype(np.int64)

    def steps(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The steps from some states: which of the states each comes from, and its number; int64
        (steps,)."""
        fan = (self.tables.first_child[states + 1] - self.tables.first_child[states]).astype(
            np.int64
        )
        ends = np.cumsum(fan)
        of = np.repeat(np.arange(len(states)), fan)
        return of, np.arange(len(of)) + (self.tables.first_child[states] - (ends - fan))[of]


def graph_of_tree(tree: PublicTree) -> Graph:
    """A tree as a graph: every node is a state."""
    first = tree.first_child.astype(np.int64) - 1
    tables = tree._replace(first_child=first, edge=tree.edge[1:], chance=tree.chance[1:])
    return Graph(tables, np.arange(1, tree.n_nodes), 0)


def only_one_action(graph: Graph) -> np.ndarray:
    """Which states are decisions with one action, bool (states,)."""
    return (graph.tables.player >= 0) & (graph.fan == 1)


def contracted(graph: Graph) -> Graph:
    """The graph without decisions that have one action.

    At such a decision there is no regret and no choice: its one sequence has the reach and the
    value of the sequence before it.  In liar's dice every other public node is of that kind,
    because a player who faces the highest bid can only call.
    """
    first = graph.tables.first_child
    skipped = only_one_action(graph)
    target = np.arange(graph.n_states)
    target[skipped] = graph.child[first[:-1][skipped]]
    while not np.array_equal(further := target[target], target):
        target = further
    return graph._replace(child=target[graph.child], root=int(target[graph.root]))


# ------------------------------------------------------------------------------------ to count


def hands_of(graph: Graph) -> np.ndarray:
    """int64 (players, states): how many hands each player may hold at each state."""
    possible, masks = possible_hands(graph.tables)
    return masks.sum(axis=1)[possible[:, graph.tables.weight]]


def acting_hands(graph: Graph) -> np.ndarray:
    """int64 (states,): hands of the player who acts; 0 where nobody does."""
    player = graph.tables.player
    hands = hands_of(graph)[np.maximum(player, 0), np.arange(graph.n_states)]
    return np.where(player >= 0, hands, 0)


def counts_of(graph: Graph, ways: np.ndarray) -> Counts:
    """What there is of the game that unfolds from public states.

    Args:
        graph: The states.
        ways: From :func:`count_ways`.
    """
    tables, hands, deals = graph.tables, acting_hands(graph), graph.tables.n_deals
    players = range(tables.n_players)
    infosets = tuple(int(ways @ np.where(tables.player == one, hands, 0)) for one in players)
    return Counts(
        player_infosets=infosets,
        sequences=int(ways @ (hands * graph.fan)) + len(players),
        histories=count_dealing(tables) + int(ways @ deals),
        decision_nodes=int(ways @ np.where(tables.player >= 0, deals, 0)),
        public_nodes=int(ways.sum()),
    )


def sequences_below(graph: Graph) -> np.ndarray:
    """int64 (states,): sequences of both players from each state on, which are as many numbers in
    each array of a solver."""
    return _sum_up(graph, acting_hands(graph) * graph.fan)


def nodes_below(graph: Graph) -> np.ndarray:
    """int64 (states,): nodes of the tree from each state on, itself included."""
    return _sum_up(graph, np.ones(graph.n_states, dtype=np.int64))


def count_ways(graph: Graph, dtype: type = np.int64) -> np.ndarray:
    """How many nodes of the tree each state is, (states,); of Python's numbers if ``dtype`` is
    ``object``."""
    ways: np.ndarray = np.zeros(graph.n_states, dtype=dtype)
    ways[graph.root] = 1
    for states in reversed(_by_height(graph)):
        of, step = graph.steps(states)
        np.add.at(ways, graph.child[step], ways[states[of]])
    return ways


def leads_back(graph: Graph) -> bool:
    """Whether some way leads back to a state that it came from, so that a history has no end."""
    return bool((_heights(graph) < 0).any())


def _heights(graph: Graph) -> np.ndarray:
    """int64 (states,): steps of the longest way from each state to an end; -1 where a way leads
    back to a state that it came from."""
    above = np.repeat(np.arange(graph.n_states), graph.fan)
    height = np.full(graph.n_states, -1, dtype=np.int64)
    found = graph.fan == 0
    steps = 0
    while found.any():
        height[found] = steps
        steps += 1
        ahead = np.bincount(above, height[graph.child] < 0, graph.n_states)
        found = (height < 0) & (ahead == 0)
    return height


def _by_height(graph: Graph) -> list[np.ndarray]:
    """The states that lead on, those of equal height together, lowest first."""
    height = _heights(graph)
    order = np.argsort(height, kind="stable")
    ends = np.cumsum(np.bincount(height))
    return np.split(order, ends[:-1])[1:]


def _sum_up(graph: Graph, own: np.ndarray) -> np.ndarray:
    """For each state, the sum of a number of each state over the tree from there on."""
    total = own.copy()
    for states in _by_height(graph):
        of, step = graph.steps(states)
        np.add.at(total, states[of], total[graph.child[step]])
    return total


# ----------------------------------------------------------------------------------- to unfold


class Unfolded(NamedTuple):
    """A tree, or a part of it."""

    tree: PublicTree
    """Its nodes in breadth-first order; where it is cut the leaves have no payoff."""
    state: np.ndarray
    """int (nodes,): state of each node; -1 for the node above a forest."""
    cut: np.ndarray
    """int64: the nodes where it is cut, ascending."""


Cut = Callable[[np.ndarray, int], np.ndarray]
"""Where to cut: from the states at one depth, and that depth, bool of the same length."""


BYTES_PER_NODE = 100
"""Bytes per node of a part of the tree, while it is unfolded and laid out."""


def unfold(
    graph: Graph,
    roots: np.ndarray | None = None,
    *,
    cut: Cut | None = None,
    what: str | None = None,
) -> Unfolded:
    """The tree from the root on, or the forest from some states on, up to where it is cut.

    Args:
        graph: The states.
        roots: int64: the states to begin at, children of a node that is no part of the game; by
            default the root alone, without such a node.
        cut: Where to end.
        what: What is being done, for errors.

    Raises:
        MemoryLimitError: There are more nodes than fit the budget; raised before they are there.
    """
    tables, fan = graph.tables, graph.fan
    kept = np.int32 if max(graph.n_states, len(graph.child)) < 2**31 else np.int64
    above, none = np.full(1, -1, dtype=kept), np.empty(0, dtype=np.int8)
    level = np.full(1, graph.root, dtype=kept) if roots is None else roots.astype(kept)
    states, steps = [level], [np.full(len(level), -1, dtype=kept)]
    children: list[np.ndarray] = []
    cuts = [np.empty(0, dtype=np.int64)]
    nodes = 0
    if roots is not None:
        states, steps, children = [above, level], [above, *steps], [np.full(1, len(level))]
        nodes = 1
    depth = 0
    while len(level):
        here = fan[level]
        if cut is not None:
            ends = cut(level, depth)
            cuts.append(nodes + np.flatnonzero(ends))
            here = np.where(ends, 0, here)
        nodes += len(level)
        more = nodes + int(here.sum())
        reserve(more * BYTES_PER_NODE, what and f"{what} ({more:,} public nodes or more)")
        children.append(here)
        _, step = graph.steps(level[here > 0])
        steps.append(step.astype(kept))
        level = graph.child[step].astype(kept)
        states.append(level)
        depth += 1
    state, step, where = np.concatenate(states), np.concatenate(steps), np.concatenate(cuts)
    parent, first_child = tree_links(np.concatenate(children))
    player, payoff = tables.player[state], tables.payoff[state]
    weight = tables.weight[state]
    player[where], payoff[where] = TERMINAL, -1
    if roots is not None:
        player[0], payoff[0], weight[0] = CHANCE, -1, weight[1]
    tree = tables._replace(
        parent=smallest_int(parent),
        first_child=smallest_int(first_child),
        player=player,
        edge=_over_nodes(tables.edge, step),
        chance=_over_nodes(tables.chance, step),
        weight=weight,
        payoff=payoff,
        bucket=none,
        rank=none,
    )
    return Unfolded(tree, state, where)


def _over_nodes(of_steps: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Numbers of steps as those of the nodes that they lead into, -1 where none does."""
    found = np.full(len(step), -1, dtype=of_steps.dtype)
    found[step >= 0] = of_steps[step[step >= 0]]
    return found
