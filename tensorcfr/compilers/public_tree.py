"""From the rules of a game of private hands to the arrays of its public tree.

The rules are asked once for every public state; the tree that the states unfold into is made
with array operations, one depth at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from ..errors import GameError, MemoryLimitError
from ..model.arrays import CHANCE, CHANCE_TOLERANCE, NO_PARENT, TERMINAL, PublicTree
from ..model.labels import PublicGame
from ..rules import Chance, Decision, Payoff, PublicTreeGame
from .histories import name_history

BYTES_PER_STATE = 1000
"""What a walk is taken to need per public state. Liar's dice takes 280 and Leduc 500; the states
of other rules may be larger."""
BYTES_PER_NODE = 100
"""What a node of the public tree needs while it is unfolded and laid out."""


@dataclass
class States:
    """The public states of a game, in the order in which they were met."""

    name: str
    nodes: list[Decision | Chance | Payoff] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    edges: list[list[Hashable]] = field(default_factory=list)
    came_by: list[tuple[int, Hashable]] = field(default_factory=list)
    """The state before each state, and the step between them, where it was met first."""

    def where(self, state: int) -> str:
        """The name of a public history in error messages."""
        labels: list[Hashable] = []
        while state:
            state, edge = self.came_by[state]
            labels.append(edge)
        return f"public {name_history(labels[::-1])}" if labels else "the public root"


def read(game: PublicTreeGame, memory_limit: int) -> PublicGame:
    """The public tree of a game, and its labels; buckets and ranks are not set yet.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The tree would need more than ``memory_limit`` bytes; said before
            it is allocated.
    """
    prior = _checked_prior(game)
    states = _walk(game, memory_limit)
    tables = _read_tables(game, states, prior)
    tree, state = _unfold(states, tables, prior, memory_limit)
    edges = list(dict.fromkeys(str(edge) for edge in chain.from_iterable(states.edges)))
    labels: list[str | None] = [
        node.infoset if isinstance(node, Decision) else None for node in states.nodes
    ]
    _check_deals(game, states, tree, state)
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
    prior = _checked_prior(game)
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
        edge=small(edges),
        chance=none,
        chance_table=tables.chance_table,
        weight=np.zeros(len(states.nodes), dtype=np.int8),
        weight_table=np.ones((1, *prior.shape)),
        payoff=small(tables.payoff),
        coefficient=tables.coefficient,
        matrix=tables.matrix,
        matrix_table=tables.matrix_table,
        bucket=none,
        rank=none,
    )
    _check_deals(game, states, tree, np.arange(len(states.nodes)))
    after = np.array(list(chain.from_iterable(states.children)), dtype=np.int64)
    return tree, after, tuple(edge_of)


def _walk(game: PublicTreeGame, memory_limit: int) -> States:
    """Ask the rules for every public state, once.

    Every state is one node of the tree, unless the game says that its states repeat.
    """
    states = States(game.name)
    labels: dict[str, int] = {}
    known: dict[Any, int] = {}
    level: list[Any] = [game.root()]
    states.came_by.append((0, None))
    if game.states_repeat:
        known[level[0]] = 0
    while level:
        count = len(states.nodes)
        if (needed := (count + len(level)) * BYTES_PER_STATE) > memory_limit:
            raise MemoryLimitError(f"walking the public tree of {game.name}", needed, memory_limit)
        following: list[Any] = []
        met = count + len(level)
        for state in level:
            node, index = game.node(state), len(states.nodes)
            states.nodes.append(node)
            edges: list[Hashable]
            if isinstance(node, Decision):
                _check_decision(game, states, node, index)
                label = node.infoset
                if label is not None and (other := labels.setdefault(label, index)) != index:
                    raise GameError(
                        f"public label {label!r} is used at {states.where(other)} and at "
                        f"{states.where(index)}: all is public after the deal, so every decision "
                        "needs a label of its own"
                    )
                edges = list(node.actions)
            elif isinstance(node, Chance):
                _check_chance(states, node, index)
                edges = list(node.outcomes)
            elif isinstance(node, Payoff):
                edges = []
            else:
                raise GameError(
                    f"node() must return a Decision, a Chance or a Payoff, not {node!r}, "
                    f"at {states.where(index)}"
                )
            children = []
            for edge in edges:
                after = game.next(state, edge)
                child = known.setdefault(after, met) if game.states_repeat else met
                if child == met:
                    met += 1
                    following.append(after)
                    states.came_by.append((index, edge))
                children.append(child)
            states.edges.append(edges)
            states.children.append(children)
        level = following
    return states


@dataclass
class Tables:
    """What the states share: chance probabilities and payoffs."""

    chance: list[list[int]]
    """For each state, the row of ``chance_table`` for each of its outcomes."""
    chance_table: np.ndarray
    payoff: list[int]
    """For each state, its payoff, or -1."""
    coefficient: np.ndarray
    matrix: np.ndarray
    matrix_table: np.ndarray


def _read_tables(game: PublicTreeGame, states: States, prior: np.ndarray) -> Tables:
    """Chance probabilities and payoffs of all states, each distinct one once."""
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
                try:
                    table = np.broadcast_to(np.asarray(given, dtype=np.float64), prior.shape)
                except (TypeError, ValueError):
                    raise GameError(
                        f"the chance probability of {str(outcome)!r} must be a number or an array "
                        f"that broadcasts to {prior.shape}, not {given!r}, at {states.where(index)}"
                    ) from None
                row = chances.setdefault(table.tobytes(), len(chances))
                if row == len(chance_table):
                    chance_table.append(np.array(table))
                rows.append(row)
        elif isinstance(node, Payoff):
            if not isinstance(node.coefficient, Real) or not np.isfinite(float(node.coefficient)):
                raise GameError(
                    f"payoff coefficient {node.coefficient!r} is not a finite number, "
                    f"at {states.where(index)}"
                )
            key = keys.setdefault(node.matrix, len(keys))
            if key == len(matrix_table):
                matrix_table.append(_matrix(game, node, prior.shape, states.where(index)))
            number = payoffs.setdefault((float(node.coefficient), key), len(payoffs))
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


def _unfold(
    states: States, tables: Tables, prior: np.ndarray, memory_limit: int
) -> tuple[PublicTree, np.ndarray]:
    """The tree that the states unfold into, and the state of each of its nodes."""
    code = {Chance: CHANCE, Payoff: TERMINAL}
    player = small(
        [node.player if isinstance(node, Decision) else code[type(node)] for node in states.nodes]
    ).astype(np.int8)
    fan = np.array(list(map(len, states.children)))
    start = np.cumsum(fan) - fan
    child = small(list(chain.from_iterable(states.children)))
    edge_of: dict[str, int] = {}
    edge = small(
        [
            edge_of.setdefault(str(label), len(edge_of))
            for label in chain.from_iterable(states.edges)
        ]
    )
    chance = small(
        list(
            chain.from_iterable(
                rows or [-1] * len(children)
                for rows, children in zip(tables.chance, states.children, strict=True)
            )
        )
    )
    payoff = small(tables.payoff)
    weights = Weights(prior.shape, tables.chance_table)

    level = np.zeros(1, dtype=child.dtype)
    weight = np.zeros(1, dtype=np.int64)
    parts: dict[str, list[np.ndarray]] = {
        "state": [level],
        "parent": [np.full(1, NO_PARENT, dtype=np.int32)],
        "edge": [np.full(1, -1, dtype=edge.dtype)],
        "chance": [np.full(1, -1, dtype=chance.dtype)],
        "weight": [weight.astype(np.int32)],
    }
    nodes = 1
    before = 0
    while len(level):
        children = fan[level]
        total = int(children.sum())
        if (needed := (nodes + total) * BYTES_PER_NODE) > memory_limit:
            raise MemoryLimitError(
                f"unfolding the public tree of {states.name} ({nodes + total:,} public nodes or "
                "more)",
                needed,
                memory_limit,
            )
        ends = np.cumsum(children)
        at = np.arange(total) + np.repeat(start[level] - (ends - children), children)
        parts["parent"].append(
            np.repeat(np.arange(before, before + len(level), dtype=np.int32), children)
        )
        parts["edge"].append(edge[at])
        parts["chance"].append(chance[at])
        weight = weights.after(np.repeat(weight, children), chance[at])
        parts["weight"].append(weight.astype(np.int32))
        before += len(level)
        level = child[at]
        parts["state"].append(level)
        nodes += total
    state = np.concatenate(parts["state"])
    first_child = np.empty(nodes + 1, dtype=np.int32)
    first_child[0] = 1
    np.cumsum(fan[state], out=first_child[1:])
    first_child[1:] += 1
    tree = PublicTree(
        prior=prior,
        parent=np.concatenate(parts["parent"]),
        first_child=first_child,
        player=player[state],
        edge=np.concatenate(parts["edge"]),
        chance=np.concatenate(parts["chance"]),
        chance_table=tables.chance_table,
        weight=small(np.concatenate(parts["weight"])),
        weight_table=np.array(weights.table),
        payoff=payoff[state],
        coefficient=tables.coefficient,
        matrix=tables.matrix,
        matrix_table=tables.matrix_table,
        bucket=np.empty(0, dtype=np.int8),
        rank=np.empty(0, dtype=np.int8),
    )
    return tree, state


class Weights:
    """Products of chance probabilities, each distinct one kept once.

    Args:
        shape: Hands of each player.
        chance_table: Probability of each kind of chance step given the hands.
    """

    def __init__(self, shape: tuple[int, ...], chance_table: np.ndarray) -> None:
        self.chance_table = chance_table
        self.table = [np.ones(shape)]
        self._known = {self.table[0].tobytes(): 0}
        self._after: dict[tuple[int, int], int] = {}

    def after(self, weight: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """The weights after chance steps; where ``chance`` is negative nothing changes."""
        stepped = chance >= 0
        if not stepped.any():
            return weight
        tables = len(self.chance_table)
        pairs, inverse = np.unique(
            weight[stepped].astype(np.int64) * tables + chance[stepped], return_inverse=True
        )
        weight = weight.copy()
        weight[stepped] = np.array([self._row(*divmod(pair, tables)) for pair in pairs.tolist()])[
            inverse
        ]
        return weight

    def _row(self, weight: int, chance: int) -> int:
        if (weight, chance) not in self._after:
            # A probability that cannot occur may be anything, even no number.
            given = np.where(self.table[weight] > 0, self.chance_table[chance], 0.0)
            product = self.table[weight] * given
            row = self._known.setdefault(product.tobytes(), len(self.table))
            if row == len(self.table):
                self.table.append(product)
            self._after[weight, chance] = row
        return self._after[weight, chance]


def small(values: Sequence[int] | np.ndarray) -> np.ndarray:
    """Integers as the smallest signed type that holds them."""
    array = np.asarray(values, dtype=np.int64)
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array


def _check_deals(game: PublicTreeGame, states: States, tree: PublicTree, state: np.ndarray) -> None:
    """What can be wrong for deals that get to a node: its chances, its utilities."""
    alive = tree.alive
    matter = (tree.player == CHANCE) | (tree.player == TERMINAL)
    pairs = state[matter].astype(np.int64) * len(alive) + tree.weight[matter]
    met, first = np.unique(pairs, return_index=True)
    for pair in met[np.argsort(first)].tolist():
        index, weight = divmod(pair, len(alive))
        node = states.nodes[index]
        if isinstance(node, Chance):
            outcomes = list(map(str, node.outcomes))
            rows = np.array([tree.chance_table[row] for row in _rows(tree, state, index)])
            _check_probabilities(game, rows, alive[weight], outcomes, states.where(index))
    for pair in met[np.argsort(first)].tolist():
        index, weight = divmod(pair, len(alive))
        node = states.nodes[index]
        if isinstance(node, Payoff):
            payoff = int(tree.payoff[int(np.argmax(state == index))])
            table = tree.matrix_table[tree.matrix[payoff]]
            wrong = alive[weight] & ~np.isfinite(node.coefficient * table).all(axis=0)
            if wrong.any():
                deal = tuple(np.argwhere(wrong)[0].tolist())
                utilities = tuple((node.coefficient * table)[(slice(None), *deal)].tolist())
                raise GameError(
                    f"utilities {utilities!r} are not finite, for hands {_hand_names(game, deal)} "
                    f"at {states.where(index)}"
                )


def _rows(tree: PublicTree, state: np.ndarray, index: int) -> list[int]:
    """The rows of the chance table for the outcomes of a state."""
    node = int(np.argmax(state == index))
    return tree.chance[tree.first_child[node] : tree.first_child[node + 1]].tolist()


def _check_probabilities(
    game: PublicTreeGame, rows: np.ndarray, alive: np.ndarray, outcomes: list[str], where: str
) -> None:
    """Chance probabilities are probabilities, for every deal that gets there."""
    wrong = ~((rows >= 0) & (rows < np.inf)) & alive
    if wrong.any():
        outcome, *deal = map(int, np.argwhere(wrong)[0])
        raise GameError(
            f"chance probability {float(rows[(outcome, *deal)])!r} of {outcomes[outcome]!r} is not "
            f"between 0 and 1, for hands {_hand_names(game, deal)} at {where}"
        )
    off = (np.abs(rows.sum(axis=0) - 1.0) > CHANCE_TOLERANCE) & alive
    if off.any():
        deal = np.argwhere(off)[0].tolist()
        raise GameError(
            f"chance probabilities sum to {float(rows.sum(axis=0)[tuple(deal)])!r}, not 1, for "
            f"hands {_hand_names(game, deal)} at {where}"
        )


def _hand_names(game: PublicTreeGame, deal: Sequence[int]) -> str:
    """``[J, Q]``."""
    held = zip(game.hands, deal, strict=True)
    return f"[{', '.join(str(own[hand]) for own, hand in held)}]"


def _checked_prior(game: PublicTreeGame) -> np.ndarray:
    """The prior as an array of the right shape that sums to 1, over hands that differ."""
    for name in ("hands", "prior"):
        if not hasattr(game, name):
            raise GameError(f"{game.name}: {name} is not set")
    for player, own in enumerate(game.hands):
        if len(set(map(str, own))) != len(own):
            raise GameError(f"{game.name}: player {player} has a hand twice: {list(map(str, own))}")
    prior = np.asarray(game.prior, dtype=np.float64)
    shape = tuple(len(own) for own in game.hands)
    if len(shape) != game.n_players or prior.shape != shape:
        raise GameError(
            f"{game.name}: prior has shape {prior.shape}, but there are {game.n_players} players "
            f"with {', '.join(map(str, shape))} hands"
        )
    wrong = ~((prior >= 0) & (prior < np.inf))
    if wrong.any():
        raise GameError(
            f"{game.name}: prior holds {float(prior[wrong][0])!r}, which is no probability"
        )
    if abs(prior.sum() - 1.0) > CHANCE_TOLERANCE:
        raise GameError(f"{game.name}: prior sums to {float(prior.sum())!r}, not 1")
    return np.array(prior)


def _check_decision(game: PublicTreeGame, states: States, node: Decision, index: int) -> None:
    """What can be wrong with one public decision."""
    if node.infoset is not None and not isinstance(node.infoset, str):
        raise GameError(f"public label {node.infoset!r} is not a string, at {states.where(index)}")
    if node.infoset is not None and game.states_repeat:
        raise GameError(
            f"public label {node.infoset!r} at {states.where(index)}: where states repeat, public "
            "nodes are named by what was done, and infoset must be None"
        )
    if not isinstance(node.player, (int, np.integer)) or not 0 <= node.player < game.n_players:
        raise GameError(
            f"player {node.player!r} acts, but the players are 0 to {game.n_players - 1}, "
            f"at {states.where(index)}"
        )
    if isinstance(node.actions, str) or not hasattr(node.actions, "__len__"):
        raise GameError(
            f"the actions must be a sequence, not {node.actions!r}, at {states.where(index)}"
        )
    if not len(node.actions):
        raise GameError(f"there are no actions at {states.where(index)}")
    if len(set(map(str, node.actions))) != len(node.actions):
        raise GameError(
            f"an action is named twice: {list(map(str, node.actions))}, at {states.where(index)}"
        )


def _check_chance(states: States, node: Chance, index: int) -> None:
    """What can be wrong with one public chance node, its probabilities apart."""
    if not isinstance(node.outcomes, Mapping):
        raise GameError(
            f"chance must map outcomes to probabilities, not {node.outcomes!r}, "
            f"at {states.where(index)}"
        )
    if not node.outcomes:
        raise GameError(f"chance has no outcomes at {states.where(index)}")
    if len(set(map(str, node.outcomes))) != len(node.outcomes):
        raise GameError(
            f"an outcome is named twice: {list(map(str, node.outcomes))}, at {states.where(index)}"
        )


def _matrix(game: PublicTreeGame, payoff: Payoff, hands: tuple[int, ...], where: str) -> np.ndarray:
    """A payoff matrix, float64 (players, hands of player 0, ...)."""
    shape = (game.n_players, *hands)
    given = game.matrix(payoff.matrix)
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise GameError(
            f"payoff matrix {payoff.matrix!r} must be an array of shape {shape}, not {given!r}, "
            f"at {where}"
        ) from None
    if matrix.shape != shape:
        raise GameError(
            f"payoff matrix {payoff.matrix!r} has shape {matrix.shape}, not {shape}, at {where}"
        )
    return np.array(matrix)
