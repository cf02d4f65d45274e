"""History tree of a game, built by visiting every history once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import inf, isfinite
from typing import Any, NoReturn

import numpy as np

from .._util.argument_checks import brief
from .._util.limits import CHANCE_TOLERANCE, DEEPEST
from ..errors import GameError, MemoryLimitError
from ..model.arrays import CHANCE, NO_OUTCOME, TERMINAL, HistoryTree, tree_links
from ..model.flat_game import history_labels
from ..rules import Chance, Decision, Game, Terminal
from .compilation import Compilation

BYTES_AFTER_READING = 170
"""Bytes per history of a compile after all histories are visited, for both forms of the game."""


@dataclass
class Infosets:
    """Infosets of a game, in the order in which they were visited first."""

    labels: list[str] = field(default_factory=list)
    players: list[int] = field(default_factory=list)
    actions: list[tuple[Hashable, ...]] = field(default_factory=list)

    def add(self, label: str, player: int, actions: tuple[Hashable, ...]) -> int:
        """Register an infoset and return its index."""
        self.labels.append(str(label))
        self.players.append(player)
        self.actions.append(actions)
        return len(self.labels) - 1


@dataclass
class HistoryGame:
    """History tree whose infosets are numbered in the order in which they were visited first."""

    tree: HistoryTree
    infosets: Infosets
    outcome_labels: list[str]
    n_players: int
    unit: float = 1.0
    """Unit of the utilities of ``tree``; see :func:`unit_of`."""

    def where(self, node: int) -> str:
        """Return the name of a history for error messages."""
        return name_history(
            history_labels(self.tree, self.infosets.actions, self.outcome_labels, node)
        )


def name_history(labels: Sequence[object]) -> str:
    """Return ``history [J, Q, bet]``, or ``the root``."""
    return f"history [{', '.join(map(str, labels))}]" if labels else "the root"


FAULTS = (RuntimeError, StopIteration, OverflowError, MemoryError)
"""Exceptions of faulty rules whose messages do not name the cause; see :func:`raise_named`."""
MOST_PLAYERS = int(np.iinfo(np.int8).max)
"""Largest number of players of a game."""


def raise_named(error: BaseException, where: Callable[[], str]) -> NoReturn:
    """Raise an exception of the rules again, with the name of the history.

    The exceptions are endless recursion, an exhausted iterator, an integer too large for a float,
    and a lack of memory.  A plain RuntimeError and a MemoryLimitError are raised unchanged.

    Args:
        error: One of ``FAULTS``.
        where: Function that names the history.

    Raises:
        GameError: In place of the exception.
        MemoryError: In place of another MemoryError.
    """
    # A generator turns StopIteration into RuntimeError.
    fault = error.__cause__ if isinstance(error.__cause__, StopIteration) else error
    if isinstance(fault, MemoryLimitError) or type(fault) is RuntimeError:
        raise error
    description = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    kind = MemoryError if isinstance(fault, MemoryError) else GameError
    raise kind(f"the rules raise {description}, at {where()}") from error


def check_rules(name: object, n_players: object) -> None:
    """Check the name and the number of players of a game.

    Raises:
        GameError: The name is not a string, or the number of players is out of range.
    """
    if not isinstance(name, str):
        raise GameError(f"the name of a game must be a string, not {brief(name)}")
    if not isinstance(n_players, int) or not 1 <= n_players <= MOST_PLAYERS:
        raise GameError(
            f"{name}: n_players must be a whole number from 1 to {MOST_PLAYERS}, not "
            f"{brief(n_players)}"
        )


def read_histories(game: Game, compilation: Compilation) -> HistoryGame:
    """Visit every history of a game, depth first: only the states of one path are in memory.

    Raises:
        GameError: The rules break their contract, or a history does not end; the message names the
            history.
        MemoryLimitError: The tree would need more than the budget.
    """
    check_rules(game.name, game.n_players)
    seen = _VisitedHistories()
    try:
        _visit(game, seen, compilation)
    except FAULTS as error:
        raise_named(error, seen.next)
    compilation.memory.reserve(len(seen.kinds) * BYTES_AFTER_READING)
    return seen.breadth_first(game.name, game.n_players)


def _visit(game: Game, seen: _VisitedHistories, compilation: Compilation) -> None:
    """Visit all histories and record them in ``seen``."""
    n_players, path = game.n_players, seen.path
    infosets, index_of = seen.infosets, seen.index_of
    kinds, children, depths = seen.kinds, seen.children, seen.depths
    memory, next_look = compilation.memory, 0

    # Local names and exact type checks keep this loop fast: it runs once per history.
    rules: Callable[[Any], Any] = game.node
    next_state = game.next
    path.append(_children_of(lambda state, edge: game.root(), None, [None]))
    while path:
        depth = len(path)
        if len(kinds) >= next_look:
            next_look = memory.look(len(kinds), len(kinds) * BYTES_AFTER_READING)
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
                    # Comparing identities is enough for rules that return the same tuple each time;
                    # others are compared element by element.
                    infosets.actions[infoset] is not actions or infosets.players[infoset] != player
                ):
                    _check_same(node, infoset, seen)
                kinds.append(infoset)
                children.append(len(actions))
                path.append(_children_of(next_state, state, actions))
                break
            elif kind is Chance:
                chances = node[0]
                checked_outcomes(check_chance(chances, seen.here), seen.here)
                seen.chances[len(kinds)] = chances
                kinds.append(CHANCE)
                children.append(len(chances))
                path.append(_children_of(next_state, state, chances))
                break
            else:
                raise GameError(
                    f"node() must return a Decision, a Chance or a Terminal, not {node!r}, "
                    f"at {seen.here()}"
                )
        else:
            path.pop()


def _children_of(
    next_state: Callable[[Any, Any], Any], state: Any, edges: Iterable[Any]
) -> Iterator[Any]:
    """Yield the states after a state.

    The built-in ``map`` would treat a StopIteration of the rules as its normal end.
    """
    for edge in edges:
        yield next_state(state, edge)


def assemble(kind: np.ndarray, children: np.ndarray, infoset_player: np.ndarray) -> HistoryTree:
    """Build a history tree whose chance probabilities, outcomes and utilities the caller sets.

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
    """Return the labels of the chance outcomes, checked to be distinct."""
    named: dict[str, Hashable] = {}
    for outcome in outcome_of:
        if (first := named.setdefault(str(outcome), outcome)) is not outcome:
            raise GameError(
                f"chance outcomes {first!r} and {outcome!r} have the same label, {str(outcome)!r}"
            )
    return list(named)


def _utilities(history_game: HistoryGame, utilities: list[Sequence[float]]) -> np.ndarray:
    """Convert the utilities to float64 (terminals, players), and check that each is finite."""
    shape = len(utilities), history_game.n_players
    try:
        table = np.array(utilities, dtype=np.float64).reshape(len(utilities), -1)
        is_sound = table.shape == shape and bool(np.isfinite(table).all())
    except (TypeError, ValueError, OverflowError):
        is_sound = False
    if is_sound:
        return table
    # Check the terminals one by one, so that the error names the faulty one.
    pairs = zip(history_game.tree.terminal.tolist(), utilities, strict=True)
    checked = [
        checked_utilities(payoffs, shape[1], partial(history_game.where, end))
        for end, payoffs in pairs
    ]
    return np.array(checked).reshape(shape)


def checked_outcomes(chances: Mapping[Hashable, Any], where: Callable[[], str]) -> list[float]:
    """Return the probabilities of the outcomes of a chance node.

    Raises:
        GameError: A probability is negative, infinite or not a number, or they do not sum to 1.
    """
    probabilities = []
    for outcome, probability in chances.items():
        try:
            number = float(probability)
        except (TypeError, ValueError, OverflowError):
            raise GameError(
                f"chance probability {probability!r} is not a number, at {where()}"
            ) from None
        if not 0.0 <= number < inf:
            raise GameError(
                f"chance probability {number!r} of {str(outcome)!r} is not between 0 and 1, "
                f"at {where()}"
            )
        probabilities.append(number)
    if abs(sum(probabilities) - 1.0) > CHANCE_TOLERANCE:
        raise GameError(f"chance probabilities sum to {sum(probabilities)!r}, not 1, at {where()}")
    return probabilities


def checked_utilities(numbers: Any, n_players: int, where: Callable[[], str]) -> tuple[float, ...]:
    """Return the utilities of a terminal.

    Raises:
        GameError: The utilities are not one finite number for each player.
    """
    try:
        utilities = tuple(map(float, numbers))
    except (TypeError, ValueError, OverflowError):
        utilities = ()
    if len(utilities) != n_players:
        raise GameError(
            f"a terminal must pay one number to each of {n_players} players, not "
            f"{brief(numbers)}, at {where()}"
        )
    if not isfinite(sum(utilities)):
        raise GameError(f"utilities {utilities!r} are not finite, at {where()}")
    return utilities


@dataclass
class _VisitedHistories:
    """Visited histories, in the order of the visits."""

    kinds: list[int] = field(default_factory=list)
    """Infoset, ``CHANCE`` or ``TERMINAL`` for each history."""
    children: list[int] = field(default_factory=list)
    """Number of actions or outcomes of each history."""
    depths: list[int] = field(default_factory=list)
    """Depth of each history; 1 for the root."""
    chances: dict[int, Mapping[Hashable, Any]] = field(default_factory=dict)
    """Outcomes and their probabilities for each chance node."""
    utilities: list[Sequence[float]] = field(default_factory=list)
    """Utilities of each terminal."""
    infosets: Infosets = field(default_factory=Infosets)
    index_of: dict[str, int] = field(default_factory=dict)
    """Infoset of each label."""
    path: list[Iterator[Any]] = field(default_factory=list)
    """States still to be visited below every node of the current path."""

    def next(self) -> str:
        """Return the name of the history that is visited next."""
        self.depths.append(len(self.path))
        return self.here()

    def here(self) -> str:
        """Return the name of the current history."""
        return self.name(len(self.depths) - 1)

    def first(self, infoset: int) -> str:
        """Return the name of the first history of an infoset."""
        return self.name(self.kinds.index(infoset))

    def name(self, node: int) -> str:
        """Return the name of a visited history."""
        # In depth-first order, the parent is the last earlier history of smaller depth, and the
        # histories of equal depth in between are earlier siblings.  Repeat up to the root.
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

    def breadth_first(self, game: str, n_players: int) -> HistoryGame:
        """Return the history tree in breadth-first order."""
        # A depth-first traversal visits the histories of one depth from left to right, so a stable
        # sort by depth gives the breadth-first order.
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
        walked = HistoryGame(tree, self.infosets, _outcome_labels(outcome_of), n_players)
        into = 1 + np.flatnonzero(tree.player[tree.parent[1:]] == CHANCE)
        tree.outcome[into] = [outcome_of[outcome] for outcomes in chances for outcome in outcomes]
        tree.probability[into] = [float(p) for outcomes in chances for p in outcomes.values()]
        utilities = _utilities(walked, [self.utilities[end] for end in terminal.tolist()])
        check_range(game, utilities)
        walked.unit = unit_of(float(np.abs(utilities).max(initial=0.0)))
        if walked.unit != 1.0:
            utilities /= walked.unit
        walked.tree = tree._replace(utility=utilities)
        return walked


def check_depth(depth: int, where: Callable[[], str]) -> None:
    """Refuse a history that is too long.

    Raises:
        GameError: The history is too long; the message begins with its first actions.
    """
    if depth > DEEPEST:
        begin = where()[:60]
        raise GameError(f"a history has more than {DEEPEST:,} steps; does the game end? {begin}...")


def check_decision(node: Decision, n_players: int, where: Callable[[], str]) -> None:
    """Check label, player and actions at the first history of an infoset."""
    check_infoset(node, n_players, where)
    check_actions(node.actions, f"infoset {node.infoset!r}", where)


def check_infoset(node: Decision, n_players: int, where: Callable[[], str]) -> None:
    """Check the label and the player of an infoset."""
    player, label, _ = node
    if not isinstance(label, str):
        raise GameError(f"infoset label {label!r} is not a string, at {where()}")
    check_player(player, n_players, f"infoset {label!r}", where)


def check_player(player: object, n_players: int, of: str, where: Callable[[], str]) -> None:
    """Check the player of a decision; ``of`` names the decision in errors."""
    if not isinstance(player, (int, np.integer)) or not 0 <= player < n_players:
        raise GameError(
            f"{of} belongs to player {player!r}, but the players are 0 to {n_players - 1}, "
            f"at {where()}"
        )


def check_actions(actions: Any, of: str, where: Callable[[], str]) -> None:
    """Check the actions of a decision; ``of`` names the decision in errors."""
    if isinstance(actions, str) or not hasattr(actions, "__len__"):
        raise GameError(f"the actions of {of} must be a sequence, not {actions!r}, at {where()}")
    if not len(actions):
        raise GameError(f"{of} has no actions, at {where()}")
    if len(set(map(str, actions))) != len(actions):
        raise GameError(f"{of} names an action twice: {list(map(str, actions))}, at {where()}")


def _check_same(node: Decision, infoset: int, seen: _VisitedHistories) -> None:
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


def check_chance(chances: object, where: Callable[[], str]) -> Mapping[Hashable, Any]:
    """Return the outcomes of a chance node; everything except their probabilities is checked."""
    if not isinstance(chances, Mapping):
        raise GameError(f"chance must map outcomes to probabilities, not {chances!r}, at {where()}")
    if not chances:
        raise GameError(f"chance has no outcomes at {where()}")
    return chances


SMALLEST, LARGEST = 2.0**-40, 2.0**40
"""Range of the largest absolute payoff of a game with unit 1: about 1e-12 to 1e12."""


def unit_of(largest: float) -> float:
    """Return the unit for a given largest absolute payoff: 1 or a power of two.

    Regrets are sums of payoffs times probabilities, and averaging weights enlarge them further.  At
    the ends of the range of floats, 1e-310 or 5e307, sums overflow and products vanish.  Then every
    strategy stays uniform without an error.  So the compiler divides the payoffs of such a game by
    a unit near their size.  Dividing by a power of two changes no digit, and results are multiplied
    by the unit before they are shown.  Payoffs between :data:`SMALLEST` and :data:`LARGEST` stay
    unchanged, because they are far from both ends of the range, even in single precision.
    """
    if largest == 0.0 or SMALLEST <= largest <= LARGEST:
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))


def check_range(name: str, utilities: np.ndarray, least_sum: float | None = None) -> None:
    """Refuse payoffs whose differences are not finite.

    Args:
        name: The name of the game.
        utilities: float64 (terminals, players): finite utilities; or float64 (bounds, players), at
            least the smallest and the largest utility of each player.
        least_sum: Smallest sum over the players at a terminal; None computes it from ``utilities``.

    Raises:
        GameError: The gain of a best response, or the sum of the gains, may be infinite.
    """
    if not len(utilities) or least_sum == np.inf:
        return
    with np.errstate(over="ignore"):
        most = utilities.max(axis=0)
        gains = most - utilities.min(axis=0)
        total = most.sum() - (utilities.sum(axis=1).min() if least_sum is None else least_sum)
    if not (np.isfinite(gains).all() and np.isfinite(total)):
        raise GameError(
            f"{name}: utilities from {utilities.min():g} to {utilities.max():g} are too large: "
            "their differences are not finite; divide all of them by one number"
        )
