"""Graph of the public states of a game of private hands, read from its rules.

The rules are asked once for every public state.  Array operations then split states by the chance
outcomes on the path to them.  Equal futures may share a state, so the graph can be counted, cut and
contracted without being unfolded into a tree.  A public tree is a graph, too: every node is a
state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .._util.memory_budget import reserve
from ..errors import GameError
from ..model.arrays import CHANCE, TERMINAL, PublicTree, smallest_int, tree_links
from ..model.chunked_game import Counts
from ..model.labels import PublicGame
from ..rules import Chance, Decision, Payoff, PublicTreeGame
from .compilation import Compilation
from .form_of_public_tree import possible_hands
from .history_reader import check_depth, check_range, unit_of
from .public_checks import (
    States,
    check_chance,
    check_deals,
    check_decision,
    checked_chance,
    checked_coefficient,
    checked_matrix,
    checked_prior,
)
from .shared_tables import BYTES_PER_DEAL, ChanceProducts, fingerprint

BYTES_PER_STATE = 100
"""Bytes per public state for its arrays.  The memory of the rules is measured while they are
read."""
BYTES_PER_NODE = 100
"""Bytes per node while a part of the tree is unfolded and laid out."""


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


# ------------------------------------------------------------------------------------- to read


def read(game: PublicTreeGame, compilation: Compilation) -> Read:
    """Read the deal, every public state and every payoff from the rules.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The answers would need more than the budget.
    """
    prior = checked_prior(game)
    states = read_states(game, compilation)
    if game.n_players == 2:
        keys = {node.matrix for node in states.nodes if isinstance(node, Payoff)}
        compilation.memory.reserve(BYTES_PER_DEAL * len(keys) * prior.size)
    graph, state, edges = graph_of(game, states, prior)
    check_deals(game, states, graph.tables, state)
    tables, unit = in_unit(game.name, graph.tables)
    labels = [node.infoset if isinstance(node, Decision) else None for node in states.nodes]
    is_labelled = any(label is not None for label in labels)
    return Read(
        graph=graph._replace(tables=tables),
        hands=tuple(tuple(map(str, hands)) for hands in game.hands),
        edges=edges,
        labels=tuple(labels[i] for i in state.tolist()) if is_labelled else None,
        unit=unit,
    )


def in_unit(name: str, tree: PublicTree) -> tuple[PublicTree, float]:
    """Scale the payoffs of a tree to a unit near their size.  Return the tree and the unit."""
    ends: list[np.ndarray] = []
    least = np.inf
    for payoffs in tree.payoffs():
        if payoffs.size:
            ends += [payoffs.min(axis=1), payoffs.max(axis=1)]
            least = min(least, float(payoffs.sum(axis=0).min()))
    bounds = np.array(ends).reshape(-1, tree.n_players)
    check_range(name, bounds, least)
    unit = unit_of(float(np.abs(bounds).max(initial=0.0)))
    if unit == 1.0:
        return tree, unit
    # Coefficient and matrix may both be extreme, in the same direction or in opposite directions.
    # So scale each matrix to a size near 1, and put the remaining power of two into the
    # coefficient.
    matrices = tree.matrix_table.reshape(len(tree.matrix_table), -1)
    size = np.where(np.isfinite(matrices), np.abs(matrices), 0.0).max(axis=1, initial=0.0)
    exponent = np.frexp(size)[1]
    table = np.ldexp(matrices, -exponent[:, None]).reshape(tree.matrix_table.shape)
    shift = exponent[tree.matrix] - (np.frexp(unit)[1] - 1)
    return tree._replace(coefficient=np.ldexp(tree.coefficient, shift), matrix_table=table), unit


def read_states(game: PublicTreeGame, compilation: Compilation) -> States:
    """Read every public state from the rules once.

    Every state is one node of the tree, unless the game declares that its states repeat.
    """
    states, memory = States(game.name), compilation.memory
    labels: dict[str, int] = {}
    known: dict[Any, int] = {}
    level: list[Any] = [game.root()]
    states.reached_from.append((0, None))
    if game.states_repeat:
        known[level[0]] = 0
    depth = next_look = 0
    while level:
        check_depth(depth, lambda: states.where(len(states.nodes) - 1))
        depth += 1
        below: list[Any] = []
        n_states = len(states.nodes) + len(level)
        for state in level:
            if n_states >= next_look:
                next_look = memory.look(n_states, n_states * BYTES_PER_STATE)
            node, index = game.node(state), len(states.nodes)
            states.nodes.append(node)
            edges = _edges(game, states, labels, node, index)
            children = []
            for edge in edges:
                after = game.next(state, edge)
                child = known.setdefault(after, n_states) if game.states_repeat else n_states
                if child == n_states:
                    n_states += 1
                    below.append(after)
                    states.reached_from.append((index, edge))
                children.append(child)
            states.edges.append(edges)
            states.children.append(children)
        level = below
    memory.reserve(len(states.nodes) * BYTES_PER_STATE)
    return states


def _edges(
    game: PublicTreeGame, states: States, labels: dict[str, int], node: object, index: int
) -> list[Hashable]:
    """Return the actions or outcomes of a state, checked.  Add its public label to ``labels``.

    Args:
        game: The rules.
        states: The states so far, for error messages.
        labels: The state of each public label; modified in place.
        node: The answer of the rules.
        index: The state.

    Raises:
        GameError: The answer breaks the contract, or another state has the label.
    """
    if isinstance(node, Decision):
        check_decision(game, states, node, index)
        label = node.infoset
        if label is not None and (first_state := labels.setdefault(label, index)) != index:
            raise GameError(
                f"public label {label!r} is used at {states.where(first_state)} and at "
                f"{states.where(index)}: everything after the deal is public, so every decision "
                "needs its own label"
            )
        return list(node.actions)
    if isinstance(node, Chance):
        check_chance(states, node, index)
        return list(node.outcomes)
    if isinstance(node, Payoff):
        return []
    raise GameError(
        f"node() must return a Decision, a Chance or a Payoff, not {node!r}, "
        f"at {states.where(index)}"
    )


def read_tables(
    game: PublicTreeGame, states: States, prior: np.ndarray
) -> tuple[list[list[int]], list[int], dict[str, np.ndarray]]:
    """Read the chance probabilities and payoffs of all states; each distinct table is stored once.

    Returns:
        For each state, the row of ``chance_table`` for each of its outcomes; for each state, the
        index of its payoff, or -1; and the tables by the names of their fields in
        :class:`PublicTree`.
    """
    chances: dict[bytes, int] = {}
    size = 8 * prior.size
    payoffs: dict[tuple[float, int], int] = {}
    keys: dict[Hashable, int] = {}
    chance_table: list[np.ndarray] = []
    matrix_table: list[np.ndarray] = []
    chance: list[list[int]] = []
    payoff: list[int] = []
    for index, node in enumerate(states.nodes):
        rows: list[int] = []
        number = -1
        if isinstance(node, Chance):
            for outcome, probability in node.outcomes.items():
                # Reserve this table, and the array into which all of them are copied at the end.
                reserve(size * (len(chance_table) + 2))
                table = checked_chance(probability, outcome, prior.shape, states.where(index))
                row = chances.setdefault(fingerprint(table), len(chances))
                if row == len(chance_table):
                    chance_table.append(np.array(table))
                rows.append(row)
        elif isinstance(node, Payoff):
            coefficient = checked_coefficient(node, states.where(index))
            key = keys.setdefault(node.matrix, len(keys))
            if key == len(matrix_table):
                reserve(size * prior.ndim * (len(matrix_table) + 3))
                matrix_table.append(checked_matrix(game, node, prior.shape, states.where(index)))
            number = payoffs.setdefault((coefficient, key), len(payoffs))
        chance.append(rows)
        payoff.append(number)
    tables = {
        "chance_table": np.array(chance_table).reshape(-1, *prior.shape),
        "coefficient": np.array([coefficient for coefficient, _ in payoffs]),
        "matrix": np.array([key for _, key in payoffs], dtype=np.int64),
        "matrix_table": np.array(matrix_table).reshape(-1, prior.ndim, *prior.shape),
    }
    return chance, payoff, tables


def graph_of(
    game: PublicTreeGame, states: States, prior: np.ndarray
) -> tuple[Graph, np.ndarray, tuple[str, ...]]:
    """Convert public states to a graph.

    Each state occurs once for every product of chance probabilities on a path to it.

    Returns:
        The graph; int64 (graph states,): the public state of each graph state; the labels of the
        edges.
    """
    chances, payoff, tables = read_tables(game, states, prior)
    fan = np.array(list(map(len, states.children)))
    first = np.cumsum(fan) - fan
    child = np.array(list(chain.from_iterable(states.children)), dtype=np.int64)
    edge_of: dict[str, int] = {}
    labels = chain.from_iterable(states.edges)
    edge = np.array([edge_of.setdefault(str(label), len(edge_of)) for label in labels], np.int64)
    pairs = zip(chances, states.children, strict=True)
    rows = (drawn or [-1] * len(children) for drawn, children in pairs)
    chance = np.array(list(chain.from_iterable(rows)), dtype=np.int64)
    weights = ChanceProducts(prior.shape, tables["chance_table"])
    state, weight, step, after = _split_states(first, fan, child, chance, weights)
    code = {Chance: CHANCE, Payoff: TERMINAL}
    acts = [n.player if isinstance(n, Decision) else code[type(n)] for n in states.nodes]
    none = np.empty(0, dtype=np.int8)
    of_states = PublicTree(
        prior=prior,
        parent=none,
        first_child=np.append(0, np.cumsum(fan[state])),
        player=np.array(acts, dtype=np.int8)[state],
        edge=smallest_int(edge[step]),
        chance=smallest_int(chance[step]),
        weight=smallest_int(weight),
        weight_table=np.array(weights.table),
        payoff=smallest_int(np.array(payoff)[state]),
        bucket=none,
        rank=none,
        **tables,
    )
    return Graph(of_states, after, 0), state, tuple(edge_of)


def _split_states(
    first: np.ndarray,
    fan: np.ndarray,
    child: np.ndarray,
    chance: np.ndarray,
    weights: ChanceProducts,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Split states by the product of chance probabilities on the path to them, level by level.

    Args:
        first: int64 (states,): first edge of each state.
        fan: int64 (states,): number of edges of each state.
        child: int64 (edges,): state after each edge.
        chance: int64 (edges,): row of the chance table, or -1 after an action.
        weights: The products of chance probabilities; new products are added.

    Returns:
        Four int64 arrays: the state and the weight of each split state; then, for the edges of the
        split states one after another, the original edge and the split state after it.
    """
    states = len(fan)
    if (chance < 0).all():
        return np.arange(states), np.zeros(states, dtype=np.int64), np.arange(len(child)), child
    # A split state has the key ``weight * states + state``.  ``known`` holds the keys so far in
    # ascending order, and ``number`` their split states.
    level = known = number = np.zeros(1, dtype=np.int64)
    keys, steps, ends = [level], [], []
    while len(level):
        weight, state = np.divmod(level, states)
        count = fan[state]
        stop = np.cumsum(count)
        step = np.arange(int(count.sum())) + np.repeat(first[state] - (stop - count), count)
        end = weights.after(np.repeat(weight, count), chance[step]) * states + child[step]
        steps.append(step)
        ends.append(end)
        distinct, first_edge = np.unique(end, return_index=True)
        position = np.minimum(np.searchsorted(known, distinct), len(known) - 1)
        # New keys are numbered in the order in which edges reach them, which is breadth first.
        level = end[np.sort(first_edge[known[position] != distinct])]
        order = np.argsort(level)
        position = np.searchsorted(known, level[order])
        number = np.insert(number, position, len(known) + order)
        known = np.insert(known, position, level[order])
        keys.append(level)
    weight, state = np.divmod(np.concatenate(keys), states)
    after = number[np.searchsorted(known, np.concatenate(ends))]
    return state, weight, np.concatenate(steps), after


# --------------------------------------------------------------------------------- to contract


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
