"""Public states: a game of private hands as a graph, in which equal futures may share a state.

A public tree is a graph, too, in which every node is a state.  A graph can be counted, cut and
contracted without being unfolded into a tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._util.memory_budget import reserve
from ..model.arrays import CHANCE, TERMINAL, PublicTree, smallest_int, tree_links
from ..model.chunked_game import Counts
from ..model.labels import PublicGame
from .form_of_public_tree import possible_hands


class Graph(NamedTuple):
    """Public states of a game, with the states after each."""

    tables: PublicTree
    """Prior, chance weights and payoffs.  Arrays over nodes are over states here, except ``edge``
    and ``chance``, which are over the edges of the graph.  ``first_child`` is an index into
    ``child``, and ``parent`` is not used."""
    child: np.ndarray
    """int (edges,): the state after each edge, grouped by the state before it."""
    root: int
    """State at which the game begins."""

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.tables.player)

    @property
    def fan(self) -> np.ndarray:
        """int64 (states,): number of edges from each state."""
        return np.diff(self.tables.first_child).astype(np.int64)

    def steps(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List the edges from some states.

        Returns:
            int64 (edges,): position in ``states`` of the state before each edge; int64 (edges,):
            the number of each edge, an index into ``child``.
        """
        fan = (self.tables.first_child[states + 1] - self.tables.first_child[states]).astype(
            np.int64
        )
        ends = np.cumsum(fan)
        # Edge ``k`` of the result is edge ``k - (ends - fan)`` of its own state.
        position = np.repeat(np.arange(len(states)), fan)
        return position, np.arange(len(position)) + (
            self.tables.first_child[states] - (ends - fan)
        )[position]


def graph_of_tree(tree: PublicTree) -> Graph:
    """Return a tree as a graph in which every node is a state."""
    # Edge ``e`` leads into node ``e + 1``, because every node except the root has one edge into it.
    first = tree.first_child.astype(np.int64) - 1
    tables = tree._replace(first_child=first, edge=tree.edge[1:], chance=tree.chance[1:])
    return Graph(tables, np.arange(1, tree.n_nodes), 0)


def only_one_action(graph: Graph) -> np.ndarray:
    """Return a mask of the decisions with one action, bool (states,)."""
    return (graph.tables.player >= 0) & (graph.fan == 1)


def contracted(graph: Graph) -> Graph:
    """Make edges and root skip the decisions with one action; nothing then leads to these.

    Such a decision has no regret and no choice: its one sequence has the reach and the value of the
    sequence before it.  In liar's dice, every second public node is such a decision, because a
    player who faces the highest bid can only call.
    """
    first = graph.tables.first_child
    skipped = only_one_action(graph)
    target = np.arange(graph.n_states)
    target[skipped] = graph.child[first[:-1][skipped]]
    # Jump over chains of such decisions: each pass doubles the distance.
    while not np.array_equal(further := target[target], target):
        target = further
    return graph._replace(child=target[graph.child], root=int(target[graph.root]))


# ------------------------------------------------------------------------------------ to count


def hands_of(graph: Graph) -> np.ndarray:
    """Count the hands that each player may hold at each state, int64 (players, states)."""
    possible, masks = possible_hands(graph.tables)
    return masks.sum(axis=1)[possible[:, graph.tables.weight]]


def acting_hands(graph: Graph) -> np.ndarray:
    """Count the hands of the acting player at each state, int64 (states,); 0 where nobody acts."""
    player = graph.tables.player
    hands = hands_of(graph)[np.maximum(player, 0), np.arange(graph.n_states)]
    return np.where(player >= 0, hands, 0)


def counts_of(graph: Graph, ways: np.ndarray) -> Counts:
    """Count the parts of the game that unfolds from public states.

    Args:
        graph: The states.
        ways: int64 (states,): from :func:`state_multiplicity`.
    """
    tables, hands, deals = graph.tables, acting_hands(graph), graph.tables.n_deals
    players = range(tables.n_players)
    infosets = tuple(int(ways @ np.where(tables.player == player, hands, 0)) for player in players)
    return Counts(
        player_infosets=infosets,
        sequences=int(ways @ (hands * graph.fan)) + len(players),
        histories=tables.n_dealing + int(ways @ deals),
        decision_nodes=int(ways @ np.where(tables.player >= 0, deals, 0)),
        public_nodes=int(ways.sum()),
    )


def sequences_below(graph: Graph) -> np.ndarray:
    """Count the sequences of both players from each state on, int64 (states,).

    Each sequence is one number in every array of a solver.
    """
    return _sum_up(graph, acting_hands(graph) * graph.fan)


def nodes_below(graph: Graph) -> np.ndarray:
    """Count the nodes of the tree from each state on, itself included, int64 (states,)."""
    return _sum_up(graph, np.ones(graph.n_states, dtype=np.int64))


def state_multiplicity(graph: Graph, dtype: type = np.int64) -> np.ndarray:
    """Count the nodes of the tree that have each state, (states,).

    Args:
        graph: The states.
        dtype: Type of the counts; ``object`` counts in Python integers, without overflow.
    """
    ways: np.ndarray = np.zeros(graph.n_states, dtype=dtype)
    ways[graph.root] = 1
    # From the greatest height down: all edges into a state must be counted before its own edges.
    for states in reversed(_by_height(graph)):
        position, step = graph.steps(states)
        np.add.at(ways, graph.child[step], ways[states[position]])
    return ways


def leads_back(graph: Graph) -> bool:
    """Return whether a path leads back to a state on it, so that some histories do not end."""
    return bool((_heights(graph) < 0).any())


def _heights(graph: Graph) -> np.ndarray:
    """Compute the length of the longest path from each state to an end, int64 (states,).

    The length is in edges.  It is -1 if a path from the state can reach a cycle.
    """
    above = np.repeat(np.arange(graph.n_states), graph.fan)
    height = np.full(graph.n_states, -1, dtype=np.int64)
    resolved = graph.fan == 0
    steps = 0
    while resolved.any():
        height[resolved] = steps
        steps += 1
        # A state gets its height as soon as all states after it have theirs; states before a cycle
        # never do.
        unresolved = np.bincount(above, height[graph.child] < 0, graph.n_states)
        resolved = (height < 0) & (unresolved == 0)
    return height


def _by_height(graph: Graph) -> list[np.ndarray]:
    """Group the states that have edges by height, lowest first."""
    height = _heights(graph)
    order = np.argsort(height, kind="stable")
    ends = np.cumsum(np.bincount(height))
    return np.split(order, ends[:-1])[1:]


def _sum_up(graph: Graph, numbers: np.ndarray) -> np.ndarray:
    """Sum a number of each state over the tree below the state, itself included."""
    total = numbers.copy()
    for states in _by_height(graph):
        position, step = graph.steps(states)
        np.add.at(total, states[position], total[graph.child[step]])
    return total


# ----------------------------------------------------------------------------------- to unfold


class Unfolded(NamedTuple):
    """Tree that is unfolded from public states, or a part of it."""

    tree: PublicTree
    """Nodes in breadth-first order.  Leaves at a cut have no payoff."""
    state: np.ndarray
    """int (nodes,): state of each node; -1 for the artificial node above a forest."""
    cut: np.ndarray
    """int64 (cut nodes,): the nodes at which the tree is cut, ascending."""


Cut = Callable[[np.ndarray, int], np.ndarray]
"""Function that selects the nodes at which to cut: from the states at one depth, (states,), and
that depth, it returns bool (states,)."""


BYTES_PER_NODE = 100
"""Bytes per node while a part of the tree is unfolded and laid out."""


def unfold(
    graph: Graph,
    roots: np.ndarray | None = None,
    *,
    cut: Cut | None = None,
    what: str | None = None,
) -> Unfolded:
    """Unfold the tree below the root, or the forest below some states, down to the cut.

    Args:
        graph: The states.
        roots: int64 (roots,): the states at which a forest begins, below an artificial node 0; by
            default the tree begins at the root of the graph.
        cut: Where to end; by default at the terminals.
        what: Name of the task in error messages.

    Raises:
        MemoryLimitError: There are more nodes than fit the budget; raised before they are
            allocated.
    """
    tables, fan = graph.tables, graph.fan
    dtype = np.int32 if max(graph.n_states, len(graph.child)) < 2**31 else np.int64
    above, none = np.full(1, -1, dtype=dtype), np.empty(0, dtype=np.int8)
    level = np.full(1, graph.root, dtype=dtype) if roots is None else roots.astype(dtype)
    states, steps = [level], [np.full(len(level), -1, dtype=dtype)]
    children: list[np.ndarray] = []
    cuts = [np.empty(0, dtype=np.int64)]
    nodes = 0
    if roots is not None:
        states, steps, children = [above, level], [above, *steps], [np.full(1, len(level))]
        nodes = 1
    depth = 0
    while len(level):
        n_children = fan[level]
        if cut is not None:
            ends = cut(level, depth)
            cuts.append(nodes + np.flatnonzero(ends))
            n_children = np.where(ends, 0, n_children)
        nodes += len(level)
        more = nodes + int(n_children.sum())
        reserve(more * BYTES_PER_NODE, what and f"{what} ({more:,} public nodes or more)")
        children.append(n_children)
        _, step = graph.steps(level[n_children > 0])
        steps.append(step.astype(dtype))
        level = graph.child[step].astype(dtype)
        states.append(level)
        depth += 1
    state, step, where = np.concatenate(states), np.concatenate(steps), np.concatenate(cuts)
    parent, first_child = tree_links(np.concatenate(children))
    player, payoff = tables.player[state], tables.payoff[state]
    weight = tables.weight[state]
    # A node at the cut is a leaf of this part, but it pays nothing here.
    player[where], payoff[where] = TERMINAL, -1
    if roots is not None:
        # Node 0 is artificial; any existing weight does.
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
    """Copy numbers of edges to the nodes after the edges; -1 for nodes without an edge into
    them."""
    numbers = np.full(len(step), -1, dtype=of_steps.dtype)
    numbers[step >= 0] = of_steps[step[step >= 0]]
    return numbers


class Read(NamedTuple):
    """Answers of the rules, checked; each question was asked once."""

    graph: Graph
    """Public states.  Each state of the rules occurs once for every product of chance probabilities
    on a path to it.  Payoffs are in units of ``unit``."""
    hands: tuple[tuple[str, ...], ...]
    """Labels of each player's hands."""
    edges: tuple[str, ...]
    """Labels of the steps."""
    labels: tuple[str | None, ...] | None
    """Public label of each state of the graph, or None for a state without one; None if no state
    has a label."""
    unit: float
    """Unit of the payoffs; see :func:`.history_reader.unit_of`."""

    def unfolded(self, what: str) -> PublicGame:
        """Unfold the public tree and its labels; buckets and ranks are not set yet.

        Args:
            what: Name of the task in error messages.

        Raises:
            MemoryLimitError: The tree would need more than the budget; raised before it is
                allocated.
        """
        tree, state, _ = unfold(self.graph, what=what)
        # The digest of a game includes the dtypes of its arrays, so these must not depend on the
        # graph.
        links = {name: getattr(tree, name).astype(np.int32) for name in ("parent", "first_child")}
        labels = self.labels and tuple(self.labels[i] for i in state.tolist())
        return PublicGame(tree._replace(**links), self.hands, self.edges, labels)
