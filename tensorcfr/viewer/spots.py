"""The lines of a solved game of cards as the viewer shows them: nothing is laid out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from threading import Lock
from typing import Any

import numpy as np

from ..analysis.hands import HandTable, SolvedSpot
from ..analysis.public_nodes import START
from ..compilers.card_rules import Weighted, weight_met
from ..model.card_game import DEAL, DECISION, CompiledCardGame
from ..solvers.solution import Solution
from .nodes import Nodes, SolutionValues, number_or_none, part


class SpotNodes(Nodes):
    """Betting x boards of a game of cards: nothing is laid out, a chunk is read when it is shown.

    A node has the number ``board * betting nodes + betting node``, with the boards of its round.
    """

    kind = "public"
    root = 0

    def __init__(self, game: CompiledCardGame) -> None:
        super().__init__(game)
        self.spot = game
        self._lock = Lock()

    @property
    def count(self) -> int:  # noqa: D102
        boards = np.array([len(one.parent) for one in self.spot.boards])
        return int(boards[self.spot.betting.round].sum())

    def first(self, most: int) -> Iterable[int]:  # noqa: D102
        found = [self.root]
        for number in found:
            if len(found) >= most:
                break
            found += [child for child, _ in self._children(number)]
        return found[:most]

    def values_of(self, solution: Solution) -> SolutionValues:  # noqa: D102
        trunk = 24 * self.spot.chunks.trunk.n_sequences
        return SolutionValues(solution, SolvedSpot, self.spot.chunks.n_numbers, trunk)

    def node_of(self, infoset: int) -> int:
        """Infosets have no numbers in a game whose lines are not laid out."""
        raise ValueError(f"{self.game.name} has no infoset {infoset}")

    def search(self, text: str) -> list[dict[str, Any]]:
        """A line, or a hand and a line: ``"check bet66"``, ``"AhKh check bet66"``."""
        words = text.split()
        has_hand = bool(words) and any(words[0] in own for own in self.spot.hands)
        try:
            node, board = self.spot.find(words[1:] if has_hand else words)
        except ValueError:
            return []
        return [{"infoset": " ".join(words) or START, "node": self._number(node, board)}]

    def node(self, number: int, of: SolutionValues) -> dict[str, Any]:  # noqa: D102
        with self._lock:  # What was read of the chunks is kept.
            return self._node(number, of)

    def _node(self, number: int, of: SolutionValues) -> dict[str, Any]:
        betting = self.spot.betting
        node, _ = self._place(number)
        path = self._path(number)
        line = " ".join(step["label"] for step in path[1:])
        player = int(betting.player[node])
        kind = {DECISION: "decision", DEAL: "chance"}.get(int(betting.kind[node]), "terminal")
        children = self._children(number)
        said: dict[str, Any] = {
            "id": number,
            "name": line or START,
            "kind": kind,
            "player": player if player >= 0 else None,
            "path": path,
            "reach": None,
            "actions": [],
            "hands": [],
            "ranges": [],
        }
        weights: list[float | None] = [None] * len(children)
        spot: SolvedSpot | None = of.get()
        if spot is not None:
            joint = self._joint(spot, line, node)
            total = float(joint[0].sum())
            said["reach"] = total
            said["ranges"] = [self._range(joint[own], own, total) for own in range(2)]
            if kind == "decision":
                table = spot.table(line)
                said["actions"] = list(table.actions)
                said["hands"] = self._rows(table, joint[player], line, of)
                said["value"] = table.mean(table.value) if total > 0 else None
                weights = [number_or_none(p) for p in table.frequencies.values()]
            elif kind == "chance":
                weights = [
                    part(
                        float(self._joint(spot, f"{line} {label}", at % betting.n_nodes)[0].sum()),
                        total,
                    )
                    for at, label in children
                ]
        said["children"] = [
            {
                "id": at,
                "label": label,
                "p": p,
                "leaf": bool(betting.kind[at % betting.n_nodes] > DEAL),
            }
            for (at, label), p in zip(children, weights, strict=True)
        ]
        return said

    def _number(self, node: int, board: int) -> int:
        return board * self.spot.betting.n_nodes + node

    def _place(self, number: int) -> tuple[int, int]:
        """Node of the betting, and board of its round.

        Raises:
            ValueError: There is no such node.
        """
        board, node = divmod(number, self.spot.betting.n_nodes)
        if not 0 <= board < len(self.spot.boards[int(self.spot.betting.round[node])].parent):
            raise ValueError(f"{self.game.name} has no public node {number}")
        return node, board

    def _children(self, number: int) -> list[tuple[int, str]]:
        """The nodes after a node, each with the step into it."""
        game, betting = self.spot, self.spot.betting
        node, board = self._place(number)
        begin, count = int(betting.first_child[node]), int(betting.children[node])
        if betting.kind[node] == DECISION:
            return [
                (self._number(at, board), betting.step[at]) for at in range(begin, begin + count)
            ]
        if betting.kind[node] != DEAL:
            return []
        dealt = game.boards[int(betting.round[node]) + 1]
        return [
            (self._number(begin, after), str(game.rules.cards[int(dealt.cards[after, -1])]))
            for after in np.flatnonzero(dealt.parent == board).tolist()
        ]

    def _path(self, number: int) -> list[dict[str, Any]]:
        """The nodes on the way, the root first, each with the step into it."""
        game, betting = self.spot, self.spot.betting
        node, board = self._place(number)
        found = []
        while node:
            above = int(betting.parent[node])
            label, at = betting.step[node], self._number(node, board)
            if betting.kind[above] == DEAL:
                dealt = game.boards[int(betting.round[node])]
                label = str(game.rules.cards[int(dealt.cards[board, -1])])
                board = int(dealt.parent[board])
            found.append({"id": at, "label": label})
            node = above
        return [{"id": 0, "label": "start"}, *found[::-1]]

    def _joint(self, spot: SolvedSpot, line: str, node: int) -> tuple[np.ndarray, np.ndarray]:
        """For each player float64 (hands,): probability of holding a hand and getting to a line."""
        left = spot.ranges(line)
        met = Weighted(self.spot.rules, list(left))
        chance = self.spot.deals * self._dealt(node)
        return left[0] * weight_met(met, 0) / chance, left[1] * weight_met(met, 1) / chance

    def _dealt(self, node: int) -> float:
        """Of how many boards that two hands leave one lies at a node."""
        rules = self.spot.rules
        free = len(rules.cards) - len(rules.board) - 2 * rules.hands[0].shape[1]
        return math.prod(free - k for k in range(int(self.spot.betting.round[node])))

    def _range(self, joint: np.ndarray, player: int, total: float) -> list[dict[str, Any]]:
        """Probability of each hand of a player that is in the range, once the line is reached."""
        weights = self.spot.rules.weights[player]
        dealt = weights / weights.sum()
        return [
            {
                "hand": self.spot.hands[player][hand],
                "p": part(float(joint[hand]), total),
                "dealt": float(dealt[hand]),
            }
            for hand in np.flatnonzero(weights > 0).tolist()
        ]

    def _rows(
        self, table: HandTable, joint: np.ndarray, line: str, of: SolutionValues
    ) -> list[dict[str, Any]]:
        """Every hand in the range at a decision."""
        game, player = self.spot, table.player
        index = {hand: number for number, hand in enumerate(game.hands[player])}
        locks = {} if of.solution.locks is None else of.solution.locks
        means, found = table.value, []
        for row, hand in enumerate(table.hands):
            prior = float(game.rules.weights[player][index[hand]])
            if prior <= 0:
                continue
            label = f"{hand} {line}".strip()
            own, reach = float(table.weight[row]) / prior, float(joint[index[hand]])
            others = part(reach, own)
            said: dict[str, Any] = {
                "hand": hand,
                "infoset": label,
                "p": table.strategy[row].tolist(),
                "lock": dict(locks[label]) if label in locks else None,
                "q": [number_or_none(value) for value in table.values[row].tolist()],
                "ev": number_or_none(float(means[row])),
                "reach": reach,
                "own": own,
                "others": others,
            }
            if said["ev"] is not None and others is not None:
                said["regret"] = [
                    others * (value - means[row]) for value in table.values[row].tolist()
                ]
            found.append(said)
        return found
