"""From private hands x public tree to a history tree, without walking their product.

The public tree is walked once; the deals are laid over it with array operations, one public
depth at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from ..compiled import CHANCE, CHANCE_TOLERANCE, NO_OUTCOME, TERMINAL
from ..errors import GameError, MemoryLimitError
from ..rules import Chance, Decision, Payoff, PublicTreeGame
from .histories import (
    BYTES_PER_HISTORY,
    Infosets,
    WalkedGame,
    assemble,
    name_history,
)


@dataclass
class PublicTree:
    """The public nodes of a game, in breadth-first order."""

    depth_start: list[int] = field(default_factory=lambda: [0])
    """First node of each depth, and the number of nodes."""
    nodes: list[Decision | Chance | Payoff] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    edges: list[Hashable] = field(default_factory=list)
    """Action or outcome that leads into each node but the root."""

    @cached_property
    def player(self) -> np.ndarray:
        """int64 (nodes,): who acts, ``CHANCE`` or ``TERMINAL``."""
        code = {Chance: CHANCE, Payoff: TERMINAL}
        return np.array(
            [node.player if isinstance(node, Decision) else code[type(node)] for node in self.nodes]
        )

    @cached_property
    def first_child(self) -> np.ndarray:
        """int64 (nodes + 1,): as in :class:`HistoryTree`."""
        return 1 + np.concatenate([[0], np.cumsum(self.children)])

    def child_range(self, node: int) -> range:
        """The children of a node."""
        return range(int(self.first_child[node]), int(self.first_child[node + 1]))

    def where(self, node: int) -> str:
        """The name of a public history in error messages."""
        labels: list[Hashable] = []
        while node:
            labels.append(self.edges[node - 1])
            node = self.parents[node]
        return f"public {name_history(labels[::-1])}" if labels else "the public root"


BYTES_PER_PUBLIC_NODE = 1000
"""What a walk is taken to need per public node. Liar's dice takes 280 and Leduc 500; the states of
other rules may be larger."""


def walk_public(game: PublicTreeGame, memory_limit: int) -> PublicTree:
    """Visit every public node once, breadth first.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The walk itself would need more than ``memory_limit`` bytes.
    """
    tree = PublicTree(parents=[0])
    labels: dict[str, int] = {}
    level: list[Any] = [game.root()]
    while level:
        if (needed := (len(tree.nodes) + len(level)) * BYTES_PER_PUBLIC_NODE) > memory_limit:
            raise MemoryLimitError(f"walking the public tree of {game.name}", needed, memory_limit)
        following: list[Any] = []
        for state in level:
            node, index = game.node(state), len(tree.nodes)
            tree.nodes.append(node)
            edges: list[Hashable]
            if isinstance(node, Decision):
                _check_decision(tree, node, index, game.n_players)
                if (other := labels.setdefault(node.infoset, index)) != index:
                    raise GameError(
                        f"public label {node.infoset!r} is used at {tree.where(other)} and at "
                        f"{tree.where(index)}: all is public after the deal, so every decision "
                        "needs a label of its own"
                    )
                edges = list(node.actions)
            elif isinstance(node, Chance):
                _check_chance(tree, node, index)
                edges = list(node.outcomes)
            elif isinstance(node, Payoff):
                edges = []
            else:
                raise GameError(
                    f"node() must return a Decision, a Chance or a Payoff, not {node!r}, "
                    f"at {tree.where(index)}"
                )
            tree.children.append(len(edges))
            tree.edges.extend(edges)
            tree.parents.extend([index] * len(edges))
            following.extend(game.next(state, edge) for edge in edges)
        tree.depth_start.append(len(tree.nodes))
        level = following
    return tree


@dataclass(frozen=True)
class Deals:
    """The deals that can occur, in lexicographic order of the hands."""

    hands: np.ndarray
    """int64 (deals, players)."""
    probability: np.ndarray
    """float64 (deals,): prior probability."""

    def __len__(self) -> int:
        return len(self.hands)


class Histories:
    """Levels of the history tree as they are laid down, top first."""

    def __init__(self) -> None:
        self.kind: list[np.ndarray] = []
        self.children: list[np.ndarray] = []
        self.probability: list[np.ndarray] = [np.ones(1)]
        self.outcome: list[np.ndarray] = [np.full(1, NO_OUTCOME, dtype=np.int32)]
        self.utility: list[np.ndarray] = []
        self.code_of: dict[str, int] = {}

    def code(self, outcome: Hashable) -> int:
        """Number of a chance outcome's label."""
        return self.code_of.setdefault(str(outcome), len(self.code_of))


def expand(game: PublicTreeGame, memory_limit: int) -> WalkedGame:
    """The history tree of a game of private hands and a public tree.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The tree would need more than ``memory_limit`` bytes; said before
            any of it is allocated.
    """
    prior = _checked_prior(game)
    hands = np.argwhere(prior > 0)
    deals = Deals(hands, prior[tuple(hands.T)])
    public = walk_public(game, memory_limit)
    weight = _chance_weights(game, public, deals)
    alive = [np.ones(len(deals), dtype=bool)]
    for node in range(1, len(public.nodes)):
        above = alive[public.parents[node]]
        alive.append(above & (weight[node] > 0) if node in weight else above)
    dealing = sum(len(np.unique(hands[:, :player], axis=0)) for player in range(game.n_players))
    histories = dealing + sum(int(mask.sum()) for mask in alive)
    if histories * BYTES_PER_HISTORY > memory_limit:
        raise MemoryLimitError(
            f"compiling {game.name} ({histories:,} histories)",
            histories * BYTES_PER_HISTORY,
            memory_limit,
        )

    levels = Histories()
    _lay_deals(game, deals, levels)
    first_infoset = _count_hands(game, public)
    used = np.zeros(int(first_infoset[-1]), dtype=bool)
    matrices: dict[Hashable, np.ndarray] = {}
    for start, stop in zip(public.depth_start, public.depth_start[1:], strict=False):
        # Deal by deal, then in the order of the public tree: that is the order of the
        # children of the level above.
        deal, public_node = np.nonzero(np.stack(alive[start:stop], axis=1))
        public_node += start
        kind = _kinds(public, deals, first_infoset, deal, public_node)
        used[kind[kind >= 0]] = True
        children = np.array(public.children)[public_node]
        for index in range(start, stop):
            if isinstance(public.nodes[index], Chance):
                here = public_node == index
                options = np.stack([alive[child] for child in public.child_range(index)])
                children[here] = options.sum(axis=0)[deal[here]]
        levels.kind.append(kind)
        levels.children.append(children)
        levels.utility.append(_utilities(game, public, deals, matrices, deal, public_node, kind))
        if start > 0:
            _lay_chance(public, levels, weight, deal, public_node, range(start, stop))

    number = np.cumsum(used) - 1
    kind = np.concatenate(levels.kind)
    kind[kind >= 0] = number[kind[kind >= 0]]
    infosets = _name_infosets(game, public, first_infoset, used)
    tree = assemble(kind, np.concatenate(levels.children), np.array(infosets.players or [0]))
    tree = tree._replace(
        probability=np.concatenate(levels.probability),
        outcome=np.concatenate(levels.outcome),
        utility=np.concatenate(levels.utility),
    )
    return WalkedGame(tree, infosets, list(levels.code_of), game.n_players)


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
    return prior


def _check_decision(tree: PublicTree, node: Decision, index: int, n_players: int) -> None:
    """What can be wrong with one public decision."""
    if not isinstance(node.infoset, str):
        raise GameError(f"public label {node.infoset!r} is not a string, at {tree.where(index)}")
    if not isinstance(node.player, (int, np.integer)) or not 0 <= node.player < n_players:
        raise GameError(
            f"player {node.player!r} acts, but the players are 0 to {n_players - 1}, "
            f"at {tree.where(index)}"
        )
    if isinstance(node.actions, str) or not hasattr(node.actions, "__len__"):
        raise GameError(
            f"the actions must be a sequence, not {node.actions!r}, at {tree.where(index)}"
        )
    if not len(node.actions):
        raise GameError(f"there are no actions at {tree.where(index)}")
    if len(set(map(str, node.actions))) != len(node.actions):
        raise GameError(
            f"an action is named twice: {list(map(str, node.actions))}, at {tree.where(index)}"
        )


def _check_chance(tree: PublicTree, node: Chance, index: int) -> None:
    """What can be wrong with one public chance node, its probabilities apart."""
    if not isinstance(node.outcomes, Mapping):
        raise GameError(
            f"chance must map outcomes to probabilities, not {node.outcomes!r}, "
            f"at {tree.where(index)}"
        )
    if not node.outcomes:
        raise GameError(f"chance has no outcomes at {tree.where(index)}")
    if len(set(map(str, node.outcomes))) != len(node.outcomes):
        raise GameError(
            f"an outcome is named twice: {list(map(str, node.outcomes))}, at {tree.where(index)}"
        )


def _chance_weights(
    game: PublicTreeGame, public: PublicTree, deals: Deals
) -> dict[int, np.ndarray]:
    """For each node that chance leads into, its probability given each deal, (deals,)."""
    shape = tuple(map(len, game.hands))
    weight: dict[int, np.ndarray] = {}
    for index, node in enumerate(public.nodes):
        if not isinstance(node, Chance):
            continue
        given = {}
        for child, (outcome, chance) in zip(
            public.child_range(index), node.outcomes.items(), strict=True
        ):
            try:
                table = np.broadcast_to(np.asarray(chance, dtype=np.float64), shape)
            except (TypeError, ValueError):
                raise GameError(
                    f"the chance probability of {str(outcome)!r} must be a number or an array "
                    f"that broadcasts to {shape}, not {chance!r}, at {public.where(index)}"
                ) from None
            given[child] = table[tuple(deals.hands.T)]
        table = np.stack(list(given.values()))
        alive = _alive(public, weight, index)
        wrong = ~((table >= 0) & (table < np.inf)) & alive
        if wrong.any():
            outcome, deal = map(int, np.argwhere(wrong)[0])
            raise GameError(
                f"chance probability {float(table[outcome, deal])!r} of "
                f"{str(list(node.outcomes)[outcome])!r} is not between 0 and 1, for hands "
                f"{_hand_names(game, deals, deal)} at {public.where(index)}"
            )
        off = (np.abs(table.sum(axis=0) - 1.0) > CHANCE_TOLERANCE) & alive
        if off.any():
            deal = int(off.argmax())
            raise GameError(
                f"chance probabilities sum to {float(table.sum(axis=0)[deal])!r}, not 1, for "
                f"hands {_hand_names(game, deals, deal)} at {public.where(index)}"
            )
        weight.update(given)
    return weight


def _hand_names(game: PublicTreeGame, deals: Deals, deal: int) -> str:
    """``[J, Q]``."""
    held = zip(game.hands, deals.hands[deal].tolist(), strict=True)
    return f"[{', '.join(str(own[hand]) for own, hand in held)}]"


def _alive(public: PublicTree, weight: dict[int, np.ndarray], node: int) -> np.ndarray | bool:
    """Which deals can reach a node, as far as the chance above it is known."""
    alive: np.ndarray | bool = True
    while node:
        if node in weight:
            alive = alive & (weight[node] > 0)
        node = public.parents[node]
    return alive


def _lay_deals(game: PublicTreeGame, deals: Deals, levels: Histories) -> None:
    """One level of chance nodes per player: his hand, given the hands dealt before."""
    mass_before = np.ones(1)
    for player in range(game.n_players):
        prefix = deals.hands[:, : player + 1]
        new = np.ones(len(deals), dtype=bool)
        new[1:] = (prefix[1:] != prefix[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        mass = np.add.reduceat(deals.probability, first)
        parent_new = np.ones(len(first), dtype=bool)
        before = prefix[first, :player]
        parent_new[1:] = (before[1:] != before[:-1]).any(axis=1)
        parent = np.cumsum(parent_new) - 1
        levels.kind.append(np.full(len(mass_before), CHANCE))
        levels.children.append(np.bincount(parent))
        levels.probability.append(mass / np.add.reduceat(mass, np.flatnonzero(parent_new))[parent])
        codes = np.array([levels.code(hand) for hand in game.hands[player]], dtype=np.int32)
        levels.outcome.append(codes[prefix[first, player]])
        mass_before = mass


def _count_hands(game: PublicTreeGame, public: PublicTree) -> np.ndarray:
    """First infoset of each public node, one per hand of the player who acts there."""
    width = [
        len(game.hands[node.player]) if isinstance(node, Decision) else 0 for node in public.nodes
    ]
    return np.concatenate([[0], np.cumsum(width)])


def _kinds(
    public: PublicTree, deals: Deals, first_infoset: np.ndarray, deal: np.ndarray, node: np.ndarray
) -> np.ndarray:
    """Infoset, ``CHANCE`` or ``TERMINAL`` of each history."""
    code = public.player[node]
    return np.where(code >= 0, first_infoset[node] + deals.hands[deal, np.maximum(code, 0)], code)


def _lay_chance(
    public: PublicTree,
    levels: Histories,
    weight: dict[int, np.ndarray],
    deal: np.ndarray,
    node: np.ndarray,
    depth: range,
) -> None:
    """Chance probability and outcome of the step into each history of one level."""
    probability = np.ones(len(deal))
    outcome = np.full(len(deal), NO_OUTCOME, dtype=np.int32)
    drawn = [index for index in depth if index in weight]
    if drawn:
        row = np.full(len(depth), -1)
        row[np.array(drawn) - depth.start] = np.arange(len(drawn))
        chosen = row[node - depth.start]
        here = chosen >= 0
        table = np.stack([weight[index] for index in drawn])
        codes = np.array([levels.code(public.edges[index - 1]) for index in drawn], dtype=np.int32)
        probability[here] = table[chosen[here], deal[here]]
        outcome[here] = codes[chosen[here]]
    levels.probability.append(probability)
    levels.outcome.append(outcome)


def _utilities(
    game: PublicTreeGame,
    public: PublicTree,
    deals: Deals,
    matrices: dict[Hashable, np.ndarray],
    deal: np.ndarray,
    node: np.ndarray,
    kind: np.ndarray,
) -> np.ndarray:
    """Utilities of the terminals of one level, float64 (terminals, players)."""
    over = kind == TERMINAL
    deal, node = deal[over], node[over]
    coefficient = np.zeros(len(public.nodes))
    row = np.zeros(len(public.nodes), dtype=np.int64)
    keys: dict[Hashable, int] = {}
    for index in np.unique(node).tolist():
        payoff = public.nodes[index]
        assert isinstance(payoff, Payoff)
        if not isinstance(payoff.coefficient, Real) or not np.isfinite(float(payoff.coefficient)):
            raise GameError(
                f"payoff coefficient {payoff.coefficient!r} is not a finite number, "
                f"at {public.where(index)}"
            )
        coefficient[index] = payoff.coefficient
        row[index] = keys.setdefault(payoff.matrix, len(keys))
        if payoff.matrix not in matrices:
            matrices[payoff.matrix] = _matrix(game, public, index, deals)
    if not keys:
        return np.empty((0, game.n_players))
    table = np.stack([matrices[key] for key in keys])
    utility = coefficient[node, None] * table[row[node], deal]
    finite = np.isfinite(utility).all(axis=1)
    if not finite.all():
        first = int((~finite).argmax())
        raise GameError(
            f"utilities {tuple(utility[first].tolist())!r} are not finite, for hands "
            f"{_hand_names(game, deals, int(deal[first]))} at {public.where(int(node[first]))}"
        )
    return utility


def _matrix(game: PublicTreeGame, public: PublicTree, index: int, deals: Deals) -> np.ndarray:
    """A payoff matrix over the deals that can occur, float64 (deals, players)."""
    payoff = public.nodes[index]
    assert isinstance(payoff, Payoff)
    shape = (game.n_players, *(len(own) for own in game.hands))
    given = game.matrix(payoff.matrix)
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise GameError(
            f"payoff matrix {payoff.matrix!r} must be an array of shape {shape}, not {given!r}, "
            f"at {public.where(index)}"
        ) from None
    if matrix.shape != shape:
        raise GameError(
            f"payoff matrix {payoff.matrix!r} has shape {matrix.shape}, not {shape}, "
            f"at {public.where(index)}"
        )
    return matrix[(slice(None), *deals.hands.T)].T


def _name_infosets(
    game: PublicTreeGame, public: PublicTree, first_infoset: np.ndarray, used: np.ndarray
) -> Infosets:
    """Labels, players and actions of the infosets that some deal reaches."""
    infosets = Infosets()
    seen: dict[str, tuple[int, int]] = {}
    node_of = np.repeat(np.arange(len(public.nodes)), np.diff(first_infoset))
    for infoset in np.flatnonzero(used).tolist():
        index = int(node_of[infoset])
        node = public.nodes[index]
        assert isinstance(node, Decision)
        hand = game.hands[node.player][infoset - int(first_infoset[index])]
        label = game.label(node.player, hand, node.infoset)
        if not isinstance(label, str):
            raise GameError(
                f"label {label!r} of player {node.player} with {str(hand)!r} is not a string, "
                f"at {public.where(index)}"
            )
        if (other := seen.setdefault(label, (index, infoset))) != (index, infoset):
            before = public.nodes[other[0]]
            assert isinstance(before, Decision)
            first = game.hands[before.player][other[1] - int(first_infoset[other[0]])]
            raise GameError(
                f"infoset label {label!r} is used twice: by player {before.player} with "
                f"{str(first)!r} at {public.where(other[0])}, and by player {node.player} with "
                f"{str(hand)!r} at {public.where(index)}"
            )
        infosets.add(label, node.player, tuple(node.actions))
    return infosets
