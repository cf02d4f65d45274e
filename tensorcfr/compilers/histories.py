"""Build the history tree of a game by visiting every history once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import numpy as np

from .._util.limits import CHANCE_TOLERANCE
from .._util.memory import Budget
from ..errors import GameError
from ..model.arrays import CHANCE, NO_OUTCOME, TERMINAL, HistoryTree, tree_links
from ..model.game import history_labels
from ..rules import Chance, Decision, Game, Terminal
from .too_large import Probe, check_depth
from .units import check_range, unit_of

BYTES_AFTER_WALK = 170
"""Bytes per history of a compile after the walk, for both forms of the game."""
LEAST_BYTES = 100
"""Least number of bytes per history of a compile."""


@dataclass
class Infosets:
    """The infosets of a game, in the order in which the walk found them."""

    labels: list[str] = field(default_factory=list)
    players: list[int] = field(default_factory=list)
    actions: list[tuple[Hashable, ...]] = field(default_factory=list)

    def add(self, label: str, player: int, actions: tuple[Hashable, ...]) -> int:
        """Register an infoset; returns its index."""
        self.labels.append(str(label))
        self.players.append(player)
        self.actions.append(actions)
        return len(self.labels) - 1


@dataclass
class WalkedGame:
    """A history tree whose infosets are numbered in the order in which the walk found them."""

    tree: HistoryTree
    infosets: Infosets
    outcome_labels: list[str]
    n_players: int
    unit: float = 1.0
    """The unit of the utilities of ``tree``; see :mod:`tensorcfr.compilers.units`."""

    def where(self, node: int) -> str:
        """The name of a history in error messages."""
        return name_history(
            history_labels(self.tree, self.infosets.actions, self.outcome_labels, node)
        )


def name_history(labels: Sequence[object]) -> str:
    """``history [J, Q, bet]``, or ``the root``."""
    return f"history [{', '.join(map(str, labels))}]" if labels else "the root"


def walk(game: Game, budget: Budget) -> WalkedGame:
    """Visit every history of a game, depth first: only the states of one path are in memory.

    Raises:
        GameError: The rules break their contract, or a history does not end; the message names the
            history.
        MemoryLimitError: The tree would need more than the budget.
    """
    n_players = game.n_players
    if not isinstance(n_players, int) or n_players < 1:
        raise GameError(f"{game.name}: n_players must be a positive integer, not {n_players!r}")
    seen = _Walk()
    infosets, index_of = seen.infosets, seen.index_of
    kinds, children, depths = seen.kinds, seen.children, seen.depths
    probe = Probe(game, _children, budget, LEAST_BYTES, "histories")
    next_look = 0

    rules: Callable[[Any], Any] = game.node
    next_state = game.next
    # For every node of the current path, an iterator over the children still to be visited.
    path: list[Iterator[Any]] = [iter([game.root()])]
    while path:
        depth = len(path)
        if len(kinds) >= next_look:
            next_look = budget.look(len(kinds), len(kinds) * BYTES_AFTER_WALK)
            probe.look(len(kinds))
            check_depth(depth, seen.here)
        for state in path[-1]:
            node = rules(state)
            kind = type(node)
            depths.append(depth)
            if kind is Terminal:
                kinds.append(TERMINAL)
                children.append(0)
                seen.utilities.append(node[0])
            elif kind is Decision:
                player, label, actions = node
                infoset = index_of.get(label) if isinstance(label, str) else None
                if infoset is None:
                    check_decision(node, n_players, seen.here)
                    infoset = index_of[label] = infosets.add(label, player, tuple(actions))
                elif (
                    infosets.actions[infoset] is not actions or infosets.players[infoset] != player
                ):
                    _check_same(node, infoset, seen)
                kinds.append(infoset)
                children.append(len(actions))
                path.append(map(next_state, repeat(state), actions))
                break
            elif kind is Chance:
                chances = node[0]
                check_chance(chances, seen.here)
                seen.chances[len(kinds)] = chances
                kinds.append(CHANCE)
                children.append(len(chances))
                path.append(map(next_state, repeat(state), chances))
                break
            else:
                raise GameError(
                    f"node() must return a Decision, a Chance or a Terminal, not {node!r}, "
                    f"at {seen.here()}"
                )
        else:
            path.pop()
    budget.reserve(len(kinds) * BYTES_AFTER_WALK)
    return seen.breadth_first(game.name, n_players)


def _children(game: Game, state: Any) -> tuple[int, Callable[[int], Any]]:
    """Number of children of a history, and a function that makes one of them."""
    node = game.node(state)
    if type(node) is Decision:
        edges: Sequence[Any] = node.actions
    elif type(node) is Chance:
        edges = list(node.outcomes)
    else:
        return 0, lambda index: None
    return len(edges), lambda index: game.next(state, edges[index])


def assemble(kind: np.ndarray, children: np.ndarray, infoset_player: np.ndarray) -> HistoryTree:
    """A history tree without chance probabilities, outcomes and utilities: the caller sets them.

    Args:
        kind: int64 (nodes,): infoset, ``CHANCE`` or ``TERMINAL``, in breadth-first order.
        children: int64 (nodes,): number of children.
        infoset_player: int64 (infosets,): the acting player.
    """
    parent, first_child = tree_links(children)
    player = np.where(kind >= 0, infoset_player[np.maximum(kind, 0)], kind).astype(np.int8)
    return HistoryTree(
        parent=parent,
        first_child=first_child,
        player=player,
        infoset=kind,
        probability=np.ones(len(kind)),
        outcome=np.full(len(kind), NO_OUTCOME, dtype=np.int32),
        terminal=np.flatnonzero(kind == TERMINAL),
        utility=np.empty((0, 0)),
    )


def _outcome_labels(outcome_of: dict[Hashable, int]) -> list[str]:
    """The labels of the chance outcomes, checked to be distinct."""
    named: dict[str, Hashable] = {}
    for outcome in outcome_of:
        if (other := named.setdefault(str(outcome), outcome)) is not outcome:
            raise GameError(
                f"chance outcomes {other!r} and {outcome!r} have one label, {str(outcome)!r}"
            )
    return list(named)


def _fill_chance(walked: WalkedGame, probabilities: list[float], outcomes: list[int]) -> None:
    """Write chance probabilities and outcomes into the tree; check that they are probabilities."""
    tree = walked.tree
    into = np.flatnonzero(tree.player[np.maximum(tree.parent, 0)] == CHANCE)
    into = into[into > 0]
    if not len(into):
        return
    try:
        chosen = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        bad = next(i for i, p in enumerate(probabilities) if not _is_number(p))
        raise GameError(
            f"chance probability {probabilities[bad]!r} is not a number, "
            f"at {walked.where(int(tree.parent[into[bad]]))}"
        ) from None
    tree.outcome[into] = outcomes
    wrong = ~(chosen >= 0) | ~np.isfinite(chosen)
    if wrong.any():
        node = int(into[wrong.argmax()])
        raise GameError(
            f"chance probability {float(chosen[wrong.argmax()])!r} is not between 0 and 1, "
            f"at {walked.where(node)}"
        )
    tree.probability[into] = chosen
    chance = np.flatnonzero(tree.player == CHANCE)
    starts = np.cumsum(np.diff(tree.first_child)[chance]) - np.diff(tree.first_child)[chance]
    sums = np.add.reduceat(chosen, starts)
    off = np.abs(sums - 1.0) > CHANCE_TOLERANCE
    if off.any():
        node = int(chance[off.argmax()])
        raise GameError(
            f"chance probabilities sum to {float(sums[off.argmax()])!r}, not 1, "
            f"at {walked.where(node)}"
        )


def _utilities(walked: WalkedGame, utilities: list[Sequence[float]]) -> np.ndarray:
    """The utilities as an array, checked: one finite number per player."""
    tree, n_players = walked.tree, walked.n_players
    try:
        table = np.array(utilities, dtype=np.float64).reshape(len(utilities), -1)
        shaped = table.shape[1] == n_players
    except (TypeError, ValueError):
        shaped = False
    if not shaped:
        for index, given in enumerate(utilities):
            if not _is_utility(given, n_players):
                raise GameError(
                    f"a terminal must pay one number to each of {n_players} players, not "
                    f"{given!r}, at {walked.where(int(tree.terminal[index]))}"
                )
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        index = int((~finite).argmax())
        raise GameError(
            f"utilities {tuple(table[index].tolist())!r} are not finite, "
            f"at {walked.where(int(tree.terminal[index]))}"
        )
    return table


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _is_utility(given: object, n_players: int) -> bool:
    try:
        return np.shape(np.asarray(given, dtype=np.float64)) == (n_players,)
    except (TypeError, ValueError):
        return False


@dataclass
class _Walk:
    """The visited histories, in the order of the visits."""

    kinds: list[int] = field(default_factory=list)
    """Infoset, ``CHANCE`` or ``TERMINAL`` of each history."""
    children: list[int] = field(default_factory=list)
    """Number of actions or outcomes of each history."""
    depths: list[int] = field(default_factory=list)
    chances: dict[int, Mapping[Hashable, Any]] = field(default_factory=dict)
    """Outcomes and their probabilities, by history."""
    utilities: list[Sequence[float]] = field(default_factory=list)
    """Utilities of each terminal."""
    infosets: Infosets = field(default_factory=Infosets)
    index_of: dict[str, int] = field(default_factory=dict)
    """Infoset by label."""

    def here(self) -> str:
        """The name of the current history."""
        return self.name(len(self.depths) - 1)

    def first(self, infoset: int) -> str:
        """The name of the first history of an infoset."""
        return self.name(self.kinds.index(infoset))

    def name(self, node: int) -> str:
        """The name of a visited history."""
        # Step back over earlier siblings to the parent, up to the root.
        labels: list[object] = []
        depth, edge = self.depths[node], 0
        for before in range(node - 1, -1, -1):
            if self.depths[before] == depth:
                edge += 1
            elif self.depths[before] < depth:
                kind = self.kinds[before]
                edges = self.chances[before] if kind == CHANCE else self.infosets.actions[kind]
                labels.append(list(edges)[edge])
                depth, edge = self.depths[before], 0
        return name_history(labels[::-1])

    def breadth_first(self, game: str, n_players: int) -> WalkedGame:
        """The walked game, in breadth-first order."""
        # A walk visits the histories of one depth from left to right: a stable sort suffices.
        order = np.argsort(np.array(self.depths, dtype=np.int32), kind="stable")
        kind_by_visit = np.array(self.kinds, dtype=np.int64)
        kind = kind_by_visit[order]
        terminal = (np.cumsum(kind_by_visit == TERMINAL) - 1)[order[kind == TERMINAL]]
        tree = assemble(
            kind,
            np.array(self.children, dtype=np.int64)[order],
            np.array(self.infosets.players or [0], dtype=np.int64),
        )
        chances = [self.chances[node] for node in order[kind == CHANCE].tolist()]
        distinct = dict.fromkeys(chain.from_iterable(chances))
        outcome_of = {outcome: code for code, outcome in enumerate(distinct)}
        walked = WalkedGame(tree, self.infosets, _outcome_labels(outcome_of), n_players)
        _fill_chance(
            walked,
            [p for outcomes in chances for p in outcomes.values()],
            [outcome_of[outcome] for outcomes in chances for outcome in outcomes],
        )
        utilities = _utilities(walked, [self.utilities[end] for end in terminal.tolist()])
        check_range(game, utilities)
        walked.unit = unit_of(float(np.abs(utilities).max(initial=0.0)))
        if walked.unit != 1.0:
            utilities /= walked.unit
        walked.tree = tree._replace(utility=utilities)
        return walked


def check_decision(node: Decision, n_players: int, here: Callable[[], str]) -> None:
    """Check the first history of an infoset: label, player, actions."""
    check_infoset(node, n_players, here)
    check_actions(node, here)


def check_infoset(node: Decision, n_players: int, here: Callable[[], str]) -> None:
    """Check the label and the player of an infoset."""
    player, label, _ = node
    if not isinstance(label, str):
        raise GameError(f"infoset label {label!r} is not a string, at {here()}")
    if not isinstance(player, (int, np.integer)) or not 0 <= player < n_players:
        raise GameError(
            f"infoset {label!r} belongs to player {player!r}, but the players are 0 to "
            f"{n_players - 1}, at {here()}"
        )


def check_actions(node: Decision, here: Callable[[], str]) -> None:
    """Check the actions of an infoset."""
    _, label, actions = node
    if isinstance(actions, str) or not hasattr(actions, "__len__"):
        raise GameError(
            f"the actions of infoset {label!r} must be a sequence, not {actions!r}, at {here()}"
        )
    if not len(actions):
        raise GameError(f"infoset {label!r} has no actions, at {here()}")
    if len(set(map(str, actions))) != len(actions):
        raise GameError(
            f"infoset {label!r} names an action twice: {list(map(str, actions))}, at {here()}"
        )


def _check_same(node: Decision, infoset: int, seen: _Walk) -> None:
    """Check that a history has the player and the actions of its infoset."""
    player, label, actions = node
    known = seen.infosets
    if player != known.players[infoset]:
        raise GameError(
            f"infoset label {label!r} is used by player {known.players[infoset]} at "
            f"{seen.first(infoset)} and by player {player} at {seen.here()}"
        )
    if tuple(actions) != known.actions[infoset]:
        raise GameError(
            f"histories of infoset {label!r} disagree on its actions: "
            f"{list(map(str, known.actions[infoset]))} at {seen.first(infoset)}, "
            f"{list(map(str, actions))} at {seen.here()}"
        )


def check_chance(chances: object, here: Callable[[], str]) -> None:
    """Check a chance node, except its probabilities."""
    if not isinstance(chances, Mapping):
        raise GameError(f"chance must map outcomes to probabilities, not {chances!r}, at {here()}")
    if not chances:
        raise GameError(f"chance has no outcomes at {here()}")
