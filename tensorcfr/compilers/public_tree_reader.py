"""Arrays of the public tree, read from the rules of a game of private hands.

The compiler calls the rules once for every public state.  Array operations then split states by the
chance outcomes on the path to them, and unfold the states into the public tree.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain
from typing import Any

import numpy as np

from .._util.memory_budget import reserve
from ..errors import GameError
from ..model.arrays import CHANCE, TERMINAL, PublicTree, smallest_int
from ..rules import Chance, Decision, Payoff, PublicTreeGame
from .compilation import Compilation
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
from .public_states import Graph, Read
from .shared_tables import BYTES_PER_DEAL, ChanceProducts, fingerprint

BYTES_PER_STATE = 100
"""Bytes per public state for its arrays.  The memory of the rules is measured while they are
read."""


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
