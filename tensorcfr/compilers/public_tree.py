"""From the rules of a game of private hands to the arrays of its public tree.

The rules are asked once for every public state; the tree that the states unfold into is made
with array operations, one depth at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from .._util.memory import Budget, reserve
from ..errors import GameError
from ..model.arrays import CHANCE, CHANCE_TOLERANCE, NO_PARENT, TERMINAL, PublicTree
from ..model.labels import PublicGame
from ..rules import Chance, Decision, Payoff, PublicTreeGame
from .histories import name_history
from .too_large import Probe, check_depth
from .units import check_range, unit_of

BYTES_PER_STATE = 100
"""What the arrays of the public states take; the walk itself is measured."""
BYTES_PER_NODE = 100
"""What a node of the public tree needs while it is unfolded and laid out."""
BYTES_PER_DEAL = 80
"""What looking for symmetries takes per deal of each payoff table: ten arrays of numbers."""


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


def read(game: PublicTreeGame, budget: Budget) -> tuple[PublicGame, float]:
    """The public tree of a game, and its labels; buckets and ranks are not set yet.

    The second is the unit of its payoffs; see :mod:`tensorcfr.compilers.units`.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The tree would need more than the budget; said before it is allocated.
    """
    prior = _checked_prior(game)
    states = _walk(game, budget)
    if game.n_players == 2:
        keys = {node.matrix for node in states.nodes if isinstance(node, Payoff)}
        budget.reserve(BYTES_PER_DEAL * len(keys) * prior.size)
    tables = _read_tables(game, states, prior)
    tree, state = _unfold(states, tables, prior, budget)
    edges = list(dict.fromkeys(str(edge) for edge in chain.from_iterable(states.edges)))
    labels: list[str | None] = [
        node.infoset if isinstance(node, Decision) else None for node in states.nodes
    ]
    _check_deals(game, states, tree, state)
    tree, unit = _in_unit(game.name, tree)
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


def _in_unit(name: str, tree: PublicTree) -> tuple[PublicTree, float]:
    """The tree with its payoffs in a unit near their size, and the unit."""
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
    # Coefficient and matrix may be extreme both, against each other or alike.
    matrices = tree.matrix_table.reshape(len(tree.matrix_table), -1)
    size = np.where(np.isfinite(matrices), np.abs(matrices), 0.0).max(axis=1, initial=0.0)
    exponent = np.frexp(size)[1]
    table = np.ldexp(matrices, -exponent[:, None]).reshape(tree.matrix_table.shape)
    shift = exponent[tree.matrix] - (np.frexp(unit)[1] - 1)
    return tree._replace(coefficient=np.ldexp(tree.coefficient, shift), matrix_table=table), unit


def _walk(game: PublicTreeGame, budget: Budget) -> States:
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
    probe = Probe(game, _children, budget, BYTES_PER_NODE, "public nodes")
    depth = next_look = 0
    while level:
        check_depth(depth, lambda: states.where(len(states.nodes) - 1))
        depth += 1
        following: list[Any] = []
        met = len(states.nodes) + len(level)
        for state in level:
            if met >= next_look:
                next_look = budget.look(met, met * BYTES_PER_STATE)
                probe.look(met)
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
    budget.reserve(len(states.nodes) * BYTES_PER_STATE)
    return states


def _children(game: PublicTreeGame, state: Any) -> tuple[int, Callable[[int], Any]]:
    """How many public nodes are below a state, and what makes one of them."""
    node = game.node(state)
    if isinstance(node, Decision):
        edges: Sequence[Any] = node.actions
    elif isinstance(node, Chance):
        edges = list(node.outcomes)
    else:
        return 0, lambda index: None
    return len(edges), lambda index: game.next(state, edges[index])


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
                try:
                    table = np.broadcast_to(np.asarray(given, dtype=np.float64), prior.shape)
                except (TypeError, ValueError):
                    raise GameError(
                        f"the chance probability of {str(outcome)!r} must be a number or an array "
                        f"that broadcasts to {prior.shape}, not {given!r}, at {states.where(index)}"
                    ) from None
                row = chances.setdefault(fingerprint(table), len(chances))
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
                reserve(size * prior.ndim * (len(matrix_table) + 3))
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
    states: States, tables: Tables, prior: np.ndarray, budget: Budget
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
        budget.reserve(
            (nodes + total) * BYTES_PER_NODE,
            f"{budget.what} ({nodes + total:,} public nodes or more)",
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
        self._known = {fingerprint(self.table[0]): 0}
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
            reserve(self.table[0].nbytes * (len(self.table) + 2))
            given = np.where(self.table[weight] > 0, self.chance_table[chance], 0.0)
            product = self.table[weight] * given
            row = self._known.setdefault(fingerprint(product), len(self.table))
            if row == len(self.table):
                self.table.append(product)
            self._after[weight, chance] = row
        return self._after[weight, chance]


def fingerprint(table: np.ndarray) -> bytes:
    """What tells a table from others, in place of its bytes, of which there may be gigabytes."""
    return hashlib.blake2b(np.ascontiguousarray(table).data, digest_size=32).digest()


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
            with np.errstate(over="ignore"):
                paid = node.coefficient * table
            wrong = alive[weight] & ~np.isfinite(paid).all(axis=0)
            if wrong.any():
                deal = tuple(np.argwhere(wrong)[0].tolist())
                utilities = tuple(paid[(slice(None), *deal)].tolist())
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
