"""Nodes of a solution as the viewer shows them, each computed on request.

Games with private hands are shown by public node: every hand, and the ranges of all players. Other
games are shown by infoset, each below the player's previous infoset and action.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from threading import Lock, Thread
from typing import Any

import numpy as np

from .._util.memory_budget import free_memory
from .._util.plain import plain
from ..analysis.action_colours import action_colours
from ..analysis.policy_values import ValueRows, Values, values
from ..evaluation.metrics import meaning_of_exploitability
from ..evaluation.profile import own_reach_of
from ..model.arrays import CHANCE, TERMINAL
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.infoset_rows import InfosetRows
from ..model.public_nodes import START, PublicNodes
from ..solvers.solution import Solution

ROOT = -1
"""Number of the node above all infosets, in games without a public tree."""
MAX_CHILDREN = 500
"""Largest number of infosets that are listed below one action."""
MAX_STRATEGIES = 100
"""Largest number of infosets below one action whose strategies are listed, too."""
MAX_FOUND = 50
"""Largest number of results of a search."""
MAX_SEARCHED = 200_000
"""Largest number of infosets whose labels a search scans; in larger games it needs the whole
label."""
MAX_CARDS = 200
"""Largest number of outcomes of chance that are listed; of more, the page asks for one by name."""
_AMOUNT = re.compile(r"\b(bet|raise) +(?=[\d.])")
BYTES_OF_VALUES = 100
"""Bytes per sequence while values are computed."""


class SolutionValues:
    """Expected values of a solution, computed once by a background thread."""

    def __init__(self, game: CompiledGame, solution: Solution) -> None:
        self.game, self.solution = game, solution
        self.solved_for: str | None = None
        """Utilities for which the strategies were computed; None for those of the game."""
        self.chips: Values | None = None
        """Values in chips of a hand of a tournament, once they are known."""
        self.error: str | None = None
        self.response: dict[str, Any] | None = None
        """Report of a response to a model of a player; None for a solution."""
        self.is_new = False
        """True if the solution was solved for the page and has not been saved."""
        self._values: Values | None = None
        self._lock = Lock()
        self._thread: Thread | None = None

    @property
    def is_computing(self) -> bool:
        """True while the values are being computed."""
        return self._thread is not None and self._thread.is_alive()

    def get(self, patience: float | None = None) -> Values | None:
        """Return the values, or None after ``patience`` seconds; by default wait until they are
        computed."""
        if self._values is not None or self.error is not None:
            return self._values
        with self._lock:
            if self._thread is None:
                if BYTES_OF_VALUES * self.game.chunks.trunk.n_sequences > free_memory():
                    self.error = "there is not enough memory for expected values"
                    return None
                self._thread = Thread(target=self._compute, daemon=True)
                self._thread.start()
        self._thread.join(patience)
        return self._values

    def _compute(self) -> None:
        try:
            self._values = self._work(self.solution)
        except Exception as error:
            self.error = f"expected values could not be computed: {error}"

    def _work(self, solution: Solution) -> Values:
        return values(self.game, solution.policy)

    @cached_property
    def locks(self) -> dict[int, list[tuple[np.ndarray, dict[str, float]]]]:
        """Locks of each public node, as pairs: hands, bool (hands,) or int, and their locked
        probabilities by action. Later pairs take precedence."""
        by_node = dict[int, list[tuple[np.ndarray, dict[str, float]]]]()
        for label, lock in (self.solution.locks or {}).items():
            for node, hands in self.game.nodes.named(label):  # type: ignore[union-attr]
                by_node.setdefault(node, []).append((hands, dict(lock)))
        return by_node


class Nodes(ABC):
    """Nodes of one game."""

    kind: str
    """``"public"`` or ``"infosets"``."""
    root: int
    """Number of the first node."""
    game: CompiledGame
    rules: Any = None
    """Rules of a card game; None for other games."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of nodes."""

    def first(self, most: int, top: int | None = None, *, street: bool = False) -> list[int]:
        """Return the numbers of the nodes nearest to the root.

        Args:
            most: Largest number of nodes.
            top: Node to begin at, in place of the root.
            street: True to omit all nodes after the next chance node.
        """
        numbers = [self.root if top is None else top]
        for node in numbers:  # Breadth first: the list grows while it is iterated over.
            if len(numbers) >= most:
                break
            numbers += self._below(node, street=street and node != numbers[0])
        return numbers[:most]

    @abstractmethod
    def _below(self, node: int, *, street: bool) -> list[int]:
        """Return the children of a node; with ``street`` a chance node has none."""

    def values_of(self, solution: Solution) -> SolutionValues:
        """Return the values of a solution, for :meth:`node`."""
        return SolutionValues(self.game, solution)

    def chip_game(self) -> CompiledGame:
        """Return the game whose utilities are chips.

        Raises:
            TypeError: The game is not a hand of a tournament.
        """
        raise TypeError(f"{self.game.name} is not a hand of a tournament")

    def gains(self, of: SolutionValues, patience: float | None = None) -> list[float | None]:
        """Return the gain of a best response, which ignores locks, for each player.

        The gains are None if they are not known after ``patience`` seconds.
        """
        if not of.solution.locks:
            return list(of.solution.evaluation.gains)
        values = of.get(patience)
        return [None] * self.game.n_players if values is None else list(values.evaluation.gains)

    @property
    def facts(self) -> dict[str, Any]:
        """Properties of the game for the page."""
        seats = [f"player {player}" for player in range(self.game.n_players)]
        return {
            "seats": seats,
            "unit": "",
            "cards": False,
            "ranges": False,
            "tournament": None,
            "start": None,
            "pot": None,
            "big_blind": None,
        }

    @abstractmethod
    def node(
        self, number: int, of: SolutionValues, patience: float | None = None
    ) -> dict[str, Any]:
        """Return a node as plain values.

        Expected values are missing if they are not known after ``patience`` seconds.

        Raises:
            ValueError: There is no such node.
        """

    def at_table(self, node: int) -> dict[str, Any]:
        """Return the board and the chips at a node, in games that have them."""
        return {}

    def extras(self, number: int) -> tuple[str, ...]:
        """Return the names of the extras of a node."""
        return ()

    def extra(self, name: str, number: int, of: SolutionValues) -> dict[str, Any]:
        """Return an extra of a node, which takes longer to compute than the node.

        Raises:
            ValueError: There is no such node or extra.
        """
        raise ValueError(f"{self.game.name} has no {name}")

    def search(self, text: str) -> list[dict[str, Any]]:
        """Return infosets whose labels contain a text, and lines.

        In large games, only the infoset with exactly this label is found.
        """
        query, casefolded = text.strip(), text.strip().casefold()
        if not query:
            return []
        # Lines come before the many infosets whose labels contain them.
        nodes = self._exactly(query) | self._lines(_words(query))
        if self.game.n_infosets <= MAX_SEARCHED:
            matching = (pair for pair in self._labelled() if casefolded in pair[0].casefold())
            nodes |= islice(matching, MAX_FOUND)
        listed = islice(nodes.items(), MAX_FOUND)
        return [{"infoset": label, "node": node} for label, node in listed]

    def place(self, text: str) -> int:
        """Return the node of an infoset's label or of a line.

        Raises:
            ValueError: There is no such infoset or line.
        """
        nodes = self._exactly(text.strip()) or self._lines(_words(text))
        if not text.strip() or not nodes:
            raise ValueError(f"{self.game.name} has no infoset or line {text!r}")
        return next(iter(nodes.values()))

    @abstractmethod
    def _exactly(self, label: str) -> dict[str, int]:
        """Return canonical label and node of an infoset; nothing if there is none."""

    @abstractmethod
    def _labelled(self) -> Iterable[tuple[str, int]]:
        """Yield the labels of all infosets, each with its node."""

    def _lines(self, words: list[str]) -> dict[str, int]:
        """Return the lines that a text may mean, and their nodes."""
        return {}


class HandNodes(Nodes):
    """Public nodes of a game with private hands: every hand, and the ranges of the players."""

    kind = "public"
    root = 0

    def __init__(self, game: CompiledGame, nodes: PublicNodes) -> None:
        self.game, self.nodes = game, nodes
        self._lock = Lock()

    @property
    def count(self) -> int:  # noqa: D102
        return self.nodes.count

    @property
    def facts(self) -> dict[str, Any]:  # noqa: D102
        nodes = self.nodes
        return super().facts | {"seats": nodes.player_names, "unit": nodes.unit_name.strip()}

    def _below(self, node: int, *, street: bool) -> list[int]:
        if street and self.nodes.player(node) == CHANCE:
            return []
        return [step.node for step in self.nodes.children(node)]

    def _exactly(self, label: str) -> dict[str, int]:
        infoset = self.nodes.find(label)
        return {} if infoset is None else {infoset.label: infoset.node}

    def _labelled(self) -> Iterable[tuple[str, int]]:
        return (
            (label, node)
            for player in range(self.game.n_players)
            for node in self.nodes.deciding(player)
            for label in self.nodes.rows(node).labels
        )

    def _lines(self, words: list[str]) -> dict[str, int]:
        """Return the node of a line, ``"check bet66"``, or of a hand and a line.

        Lines whose last action or outcome begins with the last word are included.
        """
        nodes, lines = self.nodes, dict[str, int]()
        has_hand = any(words[0] in hands for hands in nodes.hands)
        line = words[1:] if has_hand or words == [START] else words
        if (node := nodes.find_node(" ".join(line))) is not None:
            lines[" ".join(words)] = node
        if line and (parent := nodes.find_node(" ".join(line[:-1]))) is not None:
            prefix = line[-1].casefold()
            for step in nodes.children(parent):
                if step.label.casefold().startswith(prefix):
                    lines.setdefault(" ".join([*words[:-1], step.label]), step.node)
        return lines

    def node(  # noqa: D102
        self, number: int, of: SolutionValues, patience: float | None = None
    ) -> dict[str, Any]:
        of.get(patience)
        # Reading a node caches parts of its chunk, and requests run in several threads.
        with self._lock:
            return self._node(number, of)

    def _node(self, number: int, of: SolutionValues) -> dict[str, Any]:
        nodes = self.nodes
        player = self._player(number)
        children = nodes.children(number)
        own_reaches, joint = self._reaches(number, of)
        total = float(joint[0].sum())
        data: dict[str, Any] = {
            "id": number,
            "name": nodes.name(number),
            "kind": "decision" if player >= 0 else "terminal" if player == TERMINAL else "chance",
            "player": player if player >= 0 else None,
            "path": self._path(number),
            "reach": total,
            "actions": [],
            "hands": [],
            "ranges": [self._range(seat, number, own_reaches, joint) for seat in range(len(joint))],
            "left_out": len(children) if len(children) > MAX_CARDS else 0,
        }
        if data["left_out"]:
            children = []
        weights: list[float | None] = [None] * len(children)
        if nodes.decides(number):
            actions = nodes.layout(number).actions
            data["actions"], data["colours"] = list(actions), action_colours(actions)
            listed = self._listed(number, player, self._possible_hands(number, player), joint)
            names, infosets = nodes.shown(player)[0], nodes.rows(number, listed)
            locks = self._locks(number, listed, of)
            shown, reach = [names[hand] for hand in listed.tolist()], joint[player][listed]
            data["hands"], action_values = infoset_rows(of, shown, infosets, locks)
            for row, hand_reach in zip(data["hands"], reach.tolist(), strict=True):
                row["reach"] = hand_reach
            action_reaches = self._action_reaches(number, joint[player], of)
            weights = [part(float(weight), total) for weight in action_reaches]
            if action_values is not None and total > 0:
                data["value"] = float(reach @ np.nan_to_num(action_values.infoset_expected)) / total
        elif player == TERMINAL:
            weighted_values = [
                float(o @ nodes.payoffs(number, seat, own_reaches))
                for seat, o in enumerate(own_reaches)
            ]
            data["utility"] = [part(value, total) for value in weighted_values]
        elif player == CHANCE:
            weights = [
                part(float(self._joint(step.node, own_reaches)[0].sum()), total)
                for step in children
            ]
        data["children"] = [
            {
                "id": step.node,
                "label": step.label,
                "p": weight,
                "leaf": nodes.player(step.node) == TERMINAL,
            }
            for step, weight in zip(children, weights, strict=True)
        ]
        return data | self._in_groups(number, own_reaches, joint, of)

    def _player(self, number: int) -> int:
        """Return the player who acts at a node."""
        try:
            return self.nodes.player(number)
        except ValueError:
            raise ValueError(f"{self.game.name} has no public node {number}") from None

    def _path(self, number: int) -> list[dict[str, Any]]:
        """Return the nodes from the root to a node, with labels, players and children."""
        path = []
        for node, label in [(self.root, START), *self.nodes.path(number)]:
            player = self.nodes.player(node)
            stop: dict[str, Any] = {"id": node, "label": label, "player": None, "steps": []}
            stop["chance"] = player == CHANCE
            if player >= 0:
                steps = self.nodes.children(node)
                stop["player"] = player
                stop["steps"] = [{"id": step.node, "label": step.label} for step in steps]
                stop["colours"] = action_colours([step.label for step in steps])
            path.append(stop | self.at_table(node))
        return path

    def _possible_hands(self, node: int, player: int) -> np.ndarray:
        """Return the hands that a player can have at a node, in display order."""
        order = self.nodes.shown(player)[1]
        hands: np.ndarray = order[self.nodes.possible(node, player)[order]]
        return hands

    def _listed(
        self, node: int, player: int, hands: np.ndarray, joint: list[np.ndarray]
    ) -> np.ndarray:
        """Return the hands that are listed individually, int64; other hands appear only in
        groups."""
        return hands

    def _in_groups(
        self, node: int, own_reaches: list[np.ndarray], joint: list[np.ndarray], of: SolutionValues
    ) -> dict[str, Any]:
        """Return sums over groups of hands if not all hands are listed."""
        return {}

    def _locks(self, node: int, listed: np.ndarray, of: SolutionValues) -> list[Any]:
        """Return the locked probabilities of each hand at a node; None without a lock."""
        by_hand: dict[int, Any] = {}
        for hands, lock in of.locks.get(node, []):
            numbers = np.flatnonzero(hands) if hands.dtype == bool else hands
            by_hand |= dict.fromkeys(numbers.tolist(), lock)
        return [by_hand.get(hand) for hand in listed.tolist()]

    def _action_reaches(self, node: int, joint: np.ndarray, of: SolutionValues) -> np.ndarray:
        """Return the probability that each action of a decision is played, float64 (actions,)."""
        hands = self._possible_hands(node, self.nodes.player(node))
        played = of.solution.policy.at(self.nodes.layout(node).numbers(hands))
        action_reaches: np.ndarray = joint[hands] @ played
        return action_reaches

    def _reaches(
        self, number: int, of: SolutionValues
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return, for each player, float64 (hands,): own reach of a node, and :meth:`_joint`."""
        players, policy = range(self.game.n_players), of.solution.policy
        own_reaches = [own_reach_of(policy, self.nodes, number, player) for player in players]
        return own_reaches, self._joint(number, own_reaches)

    def _joint(self, node: int, own_reaches: list[np.ndarray]) -> list[np.ndarray]:
        """Return, for each player, float64 (hands,): probability of the hand at the node."""
        return [
            reach * self.nodes.counterfactual_reach(node, player, own_reaches)
            for player, reach in enumerate(own_reaches)
        ]

    def _range(
        self, player: int, node: int, own_reaches: list[np.ndarray], joint: list[np.ndarray]
    ) -> list[dict[str, Any]]:
        """Return rows of a player's hands.

        A row has the hand's probability given that the node is reached, its probability in the
        deal, and its remaining weight.
        """
        nodes, total = self.nodes, float(joint[0].sum())
        dealt = nodes.counterfactual_reach(
            0, player, [np.ones(len(hands)) for hands in nodes.hands]
        )
        names, order = nodes.shown(player)
        order = self._listed(node, player, order, joint)
        remaining = nodes.remaining_weight(node, player, own_reaches)
        return [
            {
                "hand": names[h],
                "p": part(float(joint[player][h]), total),
                "dealt": float(dealt[h]),
                "weight": float(remaining[h]),
            }
            for h in order.tolist()
        ]


def infoset_rows(
    of: SolutionValues, hands: Iterable[str], infosets: InfosetRows, locks: Iterable[Any]
) -> tuple[list[dict[str, Any]], ValueRows | None]:
    """Return rows of infosets, and the values of their actions once these are known.

    A row has the hand, label, probabilities and locks.
    """
    played = of.solution.policy.at(infosets.numbers).tolist()
    hand_rows: list[dict[str, Any]] = [
        {"hand": hand, "infoset": label, "p": row, "lock": lock}
        for hand, label, row, lock in zip(hands, infosets.labels, played, locks, strict=True)
    ]
    if (values := of.get(0.0)) is None:
        return hand_rows, None
    rows = values.of(infosets)
    columns = {
        "q": rows.expected,
        "ev": rows.infoset_expected,
        "loss": rows.loss,
        "conditional_regret": rows.conditional_regret,
        "own": rows.own_reach,
        "others": rows.counterfactual_reach,
    }
    if of.chips is not None:
        in_chips = of.chips.of(infosets)
        columns |= {"chips_q": in_chips.expected, "chips": in_chips.infoset_expected}
    for name, column in columns.items():
        for hand_row, number in zip(hand_rows, plain(column.tolist()), strict=True):
            hand_row[name] = number
    return hand_rows, rows


class InfosetNodes(Nodes):
    """Infosets, each below its owner's previous infoset and action."""

    kind = "infosets"
    root = ROOT
    game: FlatGame

    def __init__(self, game: FlatGame) -> None:
        self.game = game

    def _below(self, node: int, *, street: bool) -> list[int]:
        form = self.game.form
        if node == ROOT:
            sequences = form.player_sequences[:-1].tolist()
        else:
            sequences = [*range(self.game.n_sequences)[self.game.sequences(node)]]
        # The infosets after a sequence are consecutive in this order.
        order, parent = self._by_parent
        begin, end = np.searchsorted(parent, [sequences, np.array(sequences) + 1])
        return [int(i) for b, e in zip(begin, end, strict=True) for i in order[b:e]]

    def _exactly(self, label: str) -> dict[str, int]:
        infoset = self.game.infoset_index.get(label)
        return {} if infoset is None else {self.game.infoset_labels[infoset]: infoset}

    def _labelled(self) -> Iterable[tuple[str, int]]:
        return zip(self.game.infoset_labels, range(self.count), strict=True)

    @property
    def count(self) -> int:  # noqa: D102
        return self.game.n_infosets

    @cached_property
    def _by_parent(self) -> tuple[np.ndarray, np.ndarray]:
        """int64 (infosets,) each: infosets sorted by parent sequence, and the parent of each."""
        parent = self.game.form.infoset_parent.astype(np.int64)
        order = np.argsort(parent, kind="stable")
        return order, parent[order]

    @cached_property
    def _before(self) -> np.ndarray:
        """int64 (infosets,): previous infoset of the player, or :data:`ROOT`."""
        form = self.game.form
        previous: np.ndarray = form.owners[0][form.infoset_parent]
        return previous

    def node(  # noqa: D102
        self, number: int, of: SolutionValues, patience: float | None = None
    ) -> dict[str, Any]:
        if not ROOT <= number < self.count:
            raise ValueError(f"{self.game.name} has no infoset {number}")
        game = self.game
        data: dict[str, Any] = {
            "id": number,
            "path": self._path(number),
            "actions": [],
            "hands": [],
            "ranges": [],
            "player": None,
        }
        of.get(patience)
        if number == ROOT:
            empty = game.form.player_sequences[:-1].tolist()
            children = [
                child
                for player, sequence in enumerate(empty)
                for child in self._listed(sequence, f"player {player}", None, of)
            ]
            return data | {"name": "start", "kind": "list", "reach": 1.0, "children": children}
        row = self._row(number, of)
        sequences, children = range(game.n_sequences)[game.sequences(number)], []
        for action, sequence, chosen in zip(row["actions"], sequences, row["p"], strict=True):
            entries = self._listed(sequence, action, chosen, of)
            children += entries or [
                {"id": None, "label": action, "p": chosen, "leaf": True, "row": None}
            ]
        return data | {
            "name": game.infoset_labels[number],
            "kind": "decision",
            "player": row["player"],
            "reach": row.get("reach"),
            "actions": row["actions"],
            "colours": row["colours"],
            "hands": [row],
            "children": children,
            "value": row.get("ev"),
        }

    def _listed(
        self, sequence: int, step: str, chosen: float | None, of: SolutionValues
    ) -> list[dict[str, Any]]:
        """Return entries for the infosets directly after a sequence; the first ones have their
        strategies."""
        order, parent = self._by_parent
        begin, end = np.searchsorted(parent, [sequence, sequence + 1]).tolist()
        shown = order[begin : min(end, begin + MAX_CHILDREN)].tolist()
        listed: list[dict[str, Any]] = [
            {
                "id": infoset,
                "label": f"{step}: {self.game.infoset_labels[infoset]}",
                "p": chosen,
                "leaf": False,
                "row": self._row(infoset, of) if place < MAX_STRATEGIES else None,
            }
            for place, infoset in enumerate(shown)
        ]
        if left_out := end - begin - len(shown):
            text = f"{step}: and {left_out:,} more; use the search to find them"
            listed.append({"id": None, "label": text, "p": None, "leaf": True, "row": None})
        return listed

    def _row(self, infoset: int, of: SolutionValues) -> dict[str, Any]:
        """Return the strategy at an infoset, its player, and its values once they are known."""
        infosets, actions = self.game.rows_of([infoset]), self.game.infoset_actions[infoset]
        lock = of.solution.locks.get(infosets.labels[0]) if of.solution.locks else None
        (row,), action_values = infoset_rows(of, infosets.labels, infosets, [lock])
        if action_values is not None:
            row["reach"] = float(action_values.reach[0])
        return row | {
            "player": int(self.game.infoset_player[infoset]),
            "actions": list(actions),
            "colours": action_colours(actions),
        }

    def _path(self, number: int) -> list[dict[str, Any]]:
        path = []
        while number != ROOT:
            path.append({"id": number, "label": self.game.infoset_labels[number]})
            number = int(self._before[number])
        return [{"id": ROOT, "label": "start"}, *path[::-1]]


def _words(text: str) -> list[str]:
    """Return the words of a line; an amount may be apart from its action: ``"check bet 60"``."""
    return _AMOUNT.sub(r"\1", text).replace("all-in", "allin").split()


def describe(solution: Solution) -> dict[str, Any]:
    """Return a summary of a solution: its algorithm, value, exploitability and convergence
    curve."""
    return {
        "algorithm": str(solution.algorithm),
        "status": solution.status.value,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "values": list(solution.value),
        "exploitability": solution.exploitability,
        "meaning": meaning_of_exploitability(solution.game),
        "guarantee": solution.guarantee,
        "trace": [[point.iteration, point.exploitability] for point in solution.trace],
        # JavaScript puts names of digits before all others, and later locks take precedence.
        "locks": {
            f"{label} {START}" if label.isdigit() else label: dict(lock)
            for label, lock in (solution.locks or {}).items()
        },
    }


def part(of: float, total: float) -> float | None:
    """Return a share of a total; None if the total is 0."""
    return of / total if total > 0 else None
