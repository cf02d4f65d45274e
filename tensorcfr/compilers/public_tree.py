"""Build the arrays of the public tree from the rules of a game of private hands.

Calls the rules once for every public state.  Array operations then unfold the states into the
public tree, one level at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from .._util.memory import Budget, reserve
from ..errors import GameError
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
from .tables import BYTES_PER_DEAL, ChanceProducts, fingerprint, smallest_int
from .too_large import Probe, check_depth
from .units import check_range, unit_of

BYTES_PER_STATE = 100
"""Bytes per public state for its arrays; the memory of the rules is measured during the walk."""
BYTES_PER_NODE = 100
"""Bytes per node of the public tree, while it is unfolded and laid out."""


def read(game: PublicTreeGame, budget: Budget) -> tuple[PublicGame, float]:
    """The public tree of a game and its labels; buckets and ranks are not set yet.

    The second is the unit of its payoffs; see :mod:`tensorcfr.compilers.units`.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The tree would need more than the budget; raised before it is allocated.
    """
    prior = checked_prior(game)
    states = walk_states(game, budget)
    if game.n_players == 2:
        keys = {node.matrix for node in states.nodes if isinstance(node, Payoff)}
        budget.reserve(BYTES_PER_DEAL * len(keys) * prior.size)
    tables = read_tables(game, states, prior)
    tree, state = _unfold(states, tables, prior, budget)
    edges = list(dict.fromkeys(str(edge) for edge in chain.from_iterable(states.edges)))
    labels: list[str | None] = [
        node.infoset if isinstance(node, Decision) else None for node in states.nodes
    ]
    check_deals(game, states, tree, state)
    tree, unit = in_unit(game.name, tree)
    public = PublicGame(
        tree=tree,
        hands=tuple(tuple(map(str, own)) for own in game.hands),
        edges=tuple(edges),
        node_labels=(
            None
            if all(label is None for label in labels)
            else tuple(labels[i] for i in state.tolist())
        ),
    )
    return public, unit


def in_unit(name: str, tree: PublicTree) -> tuple[PublicTree, float]:
    """The tree with its payoffs scaled to a unit near their size, and the unit."""
    over = tree.payoff >= 0
    pairs = np.unique(np.stack([tree.payoff[over], tree.weight[over]]), axis=1)
    alive, players = tree.alive, tree.n_players
    bounds = np.zeros((2, players))
    sums = np.inf
    for payoff, weight in pairs.T.tolist():
        paid = tree.coefficient[payoff] * tree.matrix_table[tree.matrix[payoff]][:, alive[weight]]
        if not paid.size:
            continue
        if not np.isfinite(sums):
            bounds[:] = paid[:, :1].T
        bounds[0] = np.minimum(bounds[0], paid.min(axis=1))
        bounds[1] = np.maximum(bounds[1], paid.max(axis=1))
        sums = min(sums, float(paid.sum(axis=0).min()))
    check_range(name, bounds, sums)
    unit = unit_of(float(np.abs(bounds).max()))
    if unit == 1.0:
        return tree, unit
    # Both coefficient and matrix may be extreme, in the same direction or in opposite ones.
    matrices = tree.matrix_table.reshape(len(tree.matrix_table), -1)
    size = np.where(np.isfinite(matrices), np.abs(matrices), 0.0).max(axis=1, initial=0.0)
    exponent = np.frexp(size)[1]
    table = np.ldexp(matrices, -exponent[:, None]).reshape(tree.matrix_table.shape)
    shift = exponent[tree.matrix] - (np.frexp(unit)[1] - 1)
    return tree._replace(coefficient=np.ldexp(tree.coefficient, shift), matrix_table=table), unit


def read_states(
    game: PublicTreeGame, budget: Budget
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
    states = walk_states(game, budget)
    if any(isinstance(node, Chance) for node in states.nodes):
        return None
    tables = read_tables(game, states, prior)
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


def walk_states(game: PublicTreeGame, budget: Budget) -> States:
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
    probe = Probe(game, _children, budget, BYTES_PER_NODE, "public nodes")
    depth = next_look = 0
    while level:
        check_depth(depth, lambda: states.where(len(states.nodes) - 1))
        depth += 1
        below: list[Any] = []
        n_states = len(states.nodes) + len(level)
        for state in level:
            if n_states >= next_look:
                next_look = budget.look(n_states, n_states * BYTES_PER_STATE)
                probe.look(n_states)
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
    budget.reserve(len(states.nodes) * BYTES_PER_STATE)
    return states


def _children(game: PublicTreeGame, state: Any) -> tuple[int, Callable[[int], Any]]:
    """Number of children of a state, and a function that makes one of them."""
    node = game.node(state)
    if isinstance(node, Decision):
        edges: Sequence[Any] = node.actions
    elif isinstance(node, Chance):
        edges = list(node.outcomes)
    else:
        return 0, lambda index: None
    return len(edges), lambda index: game.next(state, edges[index])


def _edges(
    game: PublicTreeGame, states: States, labels: dict[str, int], node: object, index: int
) -> list[Hashable]:
    """The actions or outcomes of a state, checked.

    Args:
        game: The rules.
        states: The states found so far, this one included.
        labels: State by public label; this state's is added.
        node: The decision, chance node or payoff of the state.
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


def read_tables(game: PublicTreeGame, states: States, prior: np.ndarray) -> Tables:
    """Chance probabilities and payoffs of all states."""
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
            for outcome, given in node.outcomes.items():
                # One more, and all of them again in one array.
                reserve(size * (len(chance_table) + 2))
                table = checked_chance(given, outcome, prior.shape, states.where(index))
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
    """The states as arrays, which all nodes of a state share."""

    player: np.ndarray
    """int8 (states,): the acting player, ``CHANCE`` or ``TERMINAL``."""
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
    states: States, tables: Tables, prior: np.ndarray, budget: Budget
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
        budget.reserve(
            (nodes + total) * BYTES_PER_NODE,
            f"{budget.what} ({nodes + total:,} public nodes or more)",
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
