"""From the rules of a game of private hands to the arrays of its public tree.

The rules are asked once for every public state.  The states are then unfolded into the public
tree with array operations, one level at a time.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..errors import GameError, MemoryLimitError
from ..model.arrays import CHANCE, NO_PARENT, TERMINAL, PublicTree
from ..model.labels import PublicGame
from ..rules import Chance, Decision, Payoff, PublicTreeGame
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
from .tables import ChanceProducts, smallest_int

BYTES_PER_STATE = 1000
"""Bytes that the walk is assumed to need per public state.  Measured: 280 in liar's dice, 500 in
Leduc; the states of other rules may be larger."""
BYTES_PER_NODE = 100
"""Bytes per node of the public tree, while it is unfolded and laid out."""


def read(game: PublicTreeGame, memory_limit: int) -> PublicGame:
    """The public tree of a game and its labels; buckets and ranks are not set yet.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The tree would need more than ``memory_limit`` bytes; raised before it
            is allocated.
    """
    prior = checked_prior(game)
    states = _walk(game, memory_limit)
    tables = _read_tables(game, states, prior)
    tree, state = _unfold(states, tables, prior, memory_limit)
    edges = list(dict.fromkeys(str(edge) for edge in chain.from_iterable(states.edges)))
    labels: list[str | None] = [
        node.infoset if isinstance(node, Decision) else None for node in states.nodes
    ]
    check_deals(game, states, tree, state)
    return PublicGame(
        tree=tree,
        hands=tuple(tuple(map(str, own)) for own in game.hands),
        edges=tuple(edges),
        node_labels=(
            None
            if all(label is None for label in labels)
            else tuple(labels[i] for i in state.tolist())
        ),
    )


def read_states(
    game: PublicTreeGame, memory_limit: int
) -> tuple[PublicTree, np.ndarray, tuple[str, ...]] | None:
    """The public states of a game without public chance, which are not unfolded to a tree.

    Returns:
        Arrays by state in place of arrays by node, but for ``parent``, which is empty, and for
        ``first_child`` and ``edge``, which are over the steps; int64 (steps,): the state after
        each step; the labels of the steps.  None where there is public chance.

    Raises:
        GameError: As for :func:`read`.
        MemoryLimitError: Likewise.
    """
    prior = checked_prior(game)
    states = _walk(game, memory_limit)
    if any(isinstance(node, Chance) for node in states.nodes):
        return None
    tables = _read_tables(game, states, prior)
    edge_of: dict[str, int] = {}
    edges = [edge_of.setdefault(str(e), len(edge_of)) for e in chain.from_iterable(states.edges)]
    none = np.empty(0, dtype=np.int8)
    tree = PublicTree(
        prior=prior,
        parent=none,
        first_child=np.cumsum([0, *map(len, states.children)]),
        player=np.array(
            [node.player if isinstance(node, Decision) else TERMINAL for node in states.nodes],
            dtype=np.int8,
        ),
        edge=smallest_int(edges),
        chance=none,
        chance_table=tables.chance_table,
        weight=np.zeros(len(states.nodes), dtype=np.int8),
        weight_table=np.ones((1, *prior.shape)),
        payoff=smallest_int(tables.payoff),
        coefficient=tables.coefficient,
        matrix=tables.matrix,
        matrix_table=tables.matrix_table,
        bucket=none,
        rank=none,
    )
    check_deals(game, states, tree, np.arange(len(states.nodes)))
    after = np.array(list(chain.from_iterable(states.children)), dtype=np.int64)
    return tree, after, tuple(edge_of)


def _walk(game: PublicTreeGame, memory_limit: int) -> States:
    """Ask the rules once for every public state.

    Every state is one node of the tree, unless the game declares that its states repeat.
    """
    states = States(game.name)
    labels: dict[str, int] = {}
    known: dict[Any, int] = {}
    level: list[Any] = [game.root()]
    states.reached_from.append((0, None))
    if game.states_repeat:
        known[level[0]] = 0
    while level:
        count = len(states.nodes)
        if (needed := (count + len(level)) * BYTES_PER_STATE) > memory_limit:
            raise MemoryLimitError(f"walking the public tree of {game.name}", needed, memory_limit)
        below: list[Any] = []
        n_states = count + len(level)
        for state in level:
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
    return states


def _edges(
    game: PublicTreeGame, states: States, labels: dict[str, int], node: object, index: int
) -> list[Hashable]:
    """The actions or outcomes of a state, checked.

    Args:
        game: The rules.
        states: The states found so far, this one included.
        labels: State by public label; this state's is added.
        node: What the rules say about the state.
        index: Number of the state.
    """
    if isinstance(node, Decision):
        check_decision(game, states, node, index)
        label = node.infoset
        if label is not None and (other := labels.setdefault(label, index)) != index:
            raise GameError(
                f"public label {label!r} is used at {states.where(other)} and at "
                f"{states.where(index)}: all is public after the deal, so every decision "
                "needs a label of its own"
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


@dataclass
class Tables:
    """Chance probabilities and payoffs of the states, each distinct one once."""

    chance: list[list[int]]
    """For each state, the row of ``chance_table`` for each of its outcomes."""
    chance_table: np.ndarray
    """As in :class:`PublicTree`, like ``coefficient``, ``matrix`` and ``matrix_table``."""
    payoff: list[int]
    """For each state its payoff, or -1."""
    coefficient: np.ndarray
    matrix: np.ndarray
    matrix_table: np.ndarray


def _read_tables(game: PublicTreeGame, states: States, prior: np.ndarray) -> Tables:
    """Chance probabilities and payoffs of all states."""
    chances: dict[bytes, int] = {}
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
            for outcome, given in node.outcomes.items():
                table = checked_chance(given, outcome, prior.shape, states.where(index))
                row = chances.setdefault(table.tobytes(), len(chances))
                if row == len(chance_table):
                    chance_table.append(np.array(table))
                rows.append(row)
        elif isinstance(node, Payoff):
            coefficient = checked_coefficient(node, states.where(index))
            key = keys.setdefault(node.matrix, len(keys))
            if key == len(matrix_table):
                matrix_table.append(checked_matrix(game, node, prior.shape, states.where(index)))
            number = payoffs.setdefault((coefficient, key), len(payoffs))
        chance.append(rows)
        payoff.append(number)
    return Tables(
        chance,
        np.array(chance_table).reshape(-1, *prior.shape),
        payoff,
        np.array([coefficient for coefficient, _ in payoffs]),
        np.array([key for _, key in payoffs], dtype=np.int64),
        np.array(matrix_table).reshape(-1, prior.ndim, *prior.shape),
    )


@dataclass
class StateArrays:
    """The states as arrays: what each node of a state has."""

    player: np.ndarray
    """int8 (states,): who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    payoff: np.ndarray
    """int (states,): payoff, or -1."""
    n_children: np.ndarray
    """int64 (states,)."""
    first_step: np.ndarray
    """int64 (states,): the steps from a state begin here in the next three arrays."""
    child: np.ndarray
    """int (steps,): the state to which each step leads."""
    edge: np.ndarray
    """int (steps,): label of the step."""
    chance: np.ndarray
    """int (steps,): row of the chance table; -1 for actions."""


def _state_arrays(states: States, tables: Tables) -> StateArrays:
    """The states and the steps between them as arrays."""
    code = {Chance: CHANCE, Payoff: TERMINAL}
    n_children = np.array(list(map(len, states.children)))
    edge_of: dict[str, int] = {}
    labels = chain.from_iterable(states.edges)
    rows = (
        chances or [-1] * len(children)
        for chances, children in zip(tables.chance, states.children, strict=True)
    )
    return StateArrays(
        player=np.array(
            [
                node.player if isinstance(node, Decision) else code[type(node)]
                for node in states.nodes
            ],
            dtype=np.int8,
        ),
        payoff=smallest_int(tables.payoff),
        n_children=n_children,
        first_step=np.cumsum(n_children) - n_children,
        child=smallest_int(list(chain.from_iterable(states.children))),
        edge=smallest_int([edge_of.setdefault(str(label), len(edge_of)) for label in labels]),
        chance=smallest_int(list(chain.from_iterable(rows))),
    )


def _unfold(
    states: States, tables: Tables, prior: np.ndarray, memory_limit: int
) -> tuple[PublicTree, np.ndarray]:
    """The tree that the states unfold into, and the state of each of its nodes."""
    of = _state_arrays(states, tables)
    weights = ChanceProducts(prior.shape, tables.chance_table)
    level = np.zeros(1, dtype=of.child.dtype)
    weight = np.zeros(1, dtype=np.int64)
    parts: dict[str, list[np.ndarray]] = {
        "state": [level],
        "parent": [np.full(1, NO_PARENT, dtype=np.int32)],
        "edge": [np.full(1, -1, dtype=of.edge.dtype)],
        "chance": [np.full(1, -1, dtype=of.chance.dtype)],
        "weight": [weight.astype(np.int32)],
    }
    nodes = 1
    first_of_level = 0
    while len(level):
        children = of.n_children[level]
        total = int(children.sum())
        if (needed := (nodes + total) * BYTES_PER_NODE) > memory_limit:
            raise MemoryLimitError(
                f"unfolding the public tree of {states.name} ({nodes + total:,} public nodes or "
                "more)",
                needed,
                memory_limit,
            )
        parent = np.arange(first_of_level, first_of_level + len(level), dtype=np.int32)
        ends = np.cumsum(children)
        step = np.arange(total) + np.repeat(of.first_step[level] - (ends - children), children)
        weight = weights.after(np.repeat(weight, children), of.chance[step])
        first_of_level += len(level)
        level = of.child[step]
        parts["state"].append(level)
        parts["parent"].append(np.repeat(parent, children))
        parts["edge"].append(of.edge[step])
        parts["chance"].append(of.chance[step])
        parts["weight"].append(weight.astype(np.int32))
        nodes += total
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    state = joined["state"]
    first_child = np.empty(nodes + 1, dtype=np.int32)
    first_child[0] = 1
    np.cumsum(of.n_children[state], out=first_child[1:])
    first_child[1:] += 1
    tree = PublicTree(
        prior=prior,
        parent=joined["parent"],
        first_child=first_child,
        player=of.player[state],
        edge=joined["edge"],
        chance=joined["chance"],
        chance_table=tables.chance_table,
        weight=smallest_int(joined["weight"]),
        weight_table=np.array(weights.table),
        payoff=of.payoff[state],
        coefficient=tables.coefficient,
        matrix=tables.matrix,
        matrix_table=tables.matrix_table,
        bucket=np.empty(0, dtype=np.int8),
        rank=np.empty(0, dtype=np.int8),
    )
    return tree, state
