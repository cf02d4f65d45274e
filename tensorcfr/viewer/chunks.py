"""The public nodes of a game in chunks as the viewer shows them: nothing is laid out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np

from ..analysis.chunk_values import ChunkValues
from ..analysis.public_nodes import START
from ..model.arrays import CHANCE, TERMINAL
from ..model.cut_game import CutGame
from ..model.lines import Place
from ..solvers.solution import Solution
from .nodes import MOST_FOUND, Nodes, SolutionValues, part


class ChunkNodes(Nodes):
    """Private hands x public tree, a chunk being read when it is looked at.

    Args:
        game: The game.
    """

    kind = "public"
    root = 0

    def __init__(self, game: CutGame) -> None:
        super().__init__(game)
        self.cut, self.lines = game, game.lines
        self._lock = Lock()

    @property
    def count(self) -> int:  # noqa: D102
        return self.lines.count

    def first(self, most: int) -> Iterable[int]:  # noqa: D102
        found = [self.root]
        for node in found:
            if len(found) >= most:
                break
            found += [step.node for step in self.lines.children(node)]
        return found[:most]

    def values_of(self, solution: Solution) -> SolutionValues:  # noqa: D102
        trunk = self.cut.chunks.trunk.n_sequences * np.dtype(np.float64).itemsize
        return SolutionValues(solution, ChunkValues.of, self.cut.chunks.n_numbers, 4 * trunk)

    def gains(self, of: SolutionValues) -> list[float | None]:  # noqa: D102
        if not of.solution.locks:
            return list(of.solution.evaluation.gains)
        values: ChunkValues | None = of.get()
        return [None, None] if values is None else list(values.evaluation.gains)

    def node_of(self, infoset: int) -> int:
        """Infosets have no numbers in a game that is not laid out."""
        raise ValueError(f"{self.game.name} has no infoset {infoset}")

    def search(self, text: str) -> list[dict[str, Any]]:
        """An infoset; a line, ``"check bet66"``, or a hand and a line; and lines whose last word
        begins so."""
        words = text.split()
        if not words:
            return []
        found = {}
        if (infoset := self.lines.find(text.strip())) is not None:
            found[infoset.label] = infoset.node
        has_hand = any(words[0] in own for own in self.cut.hands)
        line = words[1:] if has_hand or words == [START] else words
        if (node := self.lines.find_node(" ".join(line))) is not None:
            found.setdefault(" ".join(words), node)
        if line and (above := self.lines.find_node(" ".join(line[:-1]))) is not None:
            begun = line[-1].casefold()
            for step in self.lines.children(above):
                if step.label.casefold().startswith(begun):
                    found.setdefault(" ".join([*words[:-1], step.label]), step.node)
        return [
            {"infoset": label, "node": node} for label, node in islice(found.items(), MOST_FOUND)
        ]

    def node(self, number: int, of: SolutionValues) -> dict[str, Any]:  # noqa: D102
        with self._lock:  # What was read of the chunks is kept.
            return self._node(number, of)

    def _node(self, number: int, of: SolutionValues) -> dict[str, Any]:
        lines = self.lines
        try:
            player = lines.player(number)
        except ValueError:
            raise ValueError(f"{self.game.name} has no public node {number}") from None
        acts = player >= 0
        path, children = lines.path(number), lines.children(number)
        weights: list[float | None] = [None] * len(children)
        said: dict[str, Any] = {
            "id": number,
            "name": self._name(number, acts=acts),
            "kind": "decision" if acts else "terminal" if player == TERMINAL else "chance",
            "player": player if acts else None,
            "path": [{"id": 0, "label": "start"}]
            + [{"id": step.node, "label": step.label} for step in path],
            "reach": None,
            "actions": [],
            "hands": [],
            "ranges": [],
        }
        values: ChunkValues | None = of.get()
        if values is not None:
            own = [values.own_reach(lines, number, one) for one in range(2)]
            joint = self._joint(number, own)
            total = float(joint[0].sum())
            said["reach"] = total
            said["ranges"] = [self._range(one, joint[one], total) for one in range(2)]
            if acts and lines.held(number, player).any():
                place = lines.place(number)
                said["actions"] = list(place.actions)
                rows = said["hands"] = self._rows(number, place, own, values, of)
                reach = np.array([row["reach"] for row in rows])
                mixed = reach @ np.array([row["p"] for row in rows])
                weights = [part(float(w), total) for w in mixed]
                if total > 0:
                    said["value"] = sum(row["reach"] * (row["ev"] or 0.0) for row in rows) / total
            elif player == TERMINAL:
                paid = [lines.paid(number, one, own[1 - one]) for one in range(2)]
                if (first := paid[0]) is not None and (second := paid[1]) is not None:
                    worth = (float(own[0] @ first), float(own[1] @ second))
                    said["utility"] = [part(one, total) for one in worth]
            elif player == CHANCE:
                weights = [
                    part(float(self._joint(step.node, own)[0].sum()), total) for step in children
                ]
        said["children"] = [
            {
                "id": step.node,
                "label": step.label,
                "p": p,
                "leaf": lines.player(step.node) == TERMINAL,
            }
            for step, p in zip(children, weights, strict=True)
        ]
        return said

    def _name(self, node: int, *, acts: bool) -> str:
        """The public label of a decision; elsewhere the steps that lead there."""
        if acts:
            return self.lines.label(node).strip() or START
        return " ".join(step.label for step in self.lines.path(node)) or START

    def _joint(self, node: int, own: list[np.ndarray]) -> list[np.ndarray]:
        """For each player float64 (hands,): probability of holding a hand and getting to a node."""
        return [own[one] * self.lines.met(node, one, own[1 - one]) for one in range(2)]

    def _range(self, player: int, joint: np.ndarray, total: float) -> list[dict[str, Any]]:
        """Probability of each hand of a player, once the node is reached."""
        dealt = self.lines.met(0, player, np.ones(len(self.cut.hands[1 - player])))
        return [
            {"hand": hand, "p": part(float(joint[h]), total), "dealt": float(dealt[h])}
            for h, hand in enumerate(self.cut.hands[player])
        ]

    def _rows(
        self,
        node: int,
        place: Place,
        own: list[np.ndarray],
        values: ChunkValues,
        of: SolutionValues,
    ) -> list[dict[str, Any]]:
        """Every hand that is possible at a decision."""
        player = place.player
        hands = np.flatnonzero(self.lines.held(node, player))
        others = self.lines.met(node, player, own[1 - player])[hands]
        if place.stride:
            actions = np.arange(len(place.actions)) * place.stride
            here = values.at(place.chunk, place.first + place.lane[hands, None] + actions)
            alike = place.stands_for[hands, None]
            chosen, worth, best = here.strategy, here.value / alike, here.best / alike
        else:  # A decision with one action, which is left out of the game that was cut.
            worth = self._worth(node, player, own[1 - player], values)[hands, None]
            chosen, best = np.ones_like(worth), worth
        mean = (chosen * worth).sum(axis=1)
        regret = worth - mean[:, None]
        loss = own[player][hands] * (best.max(axis=1) - (chosen * best).sum(axis=1))
        locks = {} if of.solution.locks is None else of.solution.locks
        labels, found = self.lines.labels(node, hands.tolist()), []
        for h, (hand, infoset) in enumerate(zip(hands.tolist(), labels, strict=True)):
            reached, own_reach = float(others[h]), float(own[player][hand])
            row: dict[str, Any] = {
                "hand": self.cut.hands[player][hand],
                "infoset": infoset,
                "p": chosen[h].tolist(),
                "lock": dict(locks[infoset]) if infoset in locks else None,
                "q": [None] * len(place.actions),
                "ev": None,
                "regret": regret[h].tolist(),
                "loss": float(loss[h]),
                "reach": own_reach * reached,
                "own": own_reach,
                "others": reached,
            }
            if reached > 0:
                row |= {"q": (worth[h] / reached).tolist(), "ev": float(mean[h] / reached)}
            found.append(row)
        return found

    def _worth(self, node: int, player: int, other: np.ndarray, values: ChunkValues) -> np.ndarray:
        """The counterfactual value of a node to each hand, float64 (hands,): from the terminals and
        the player's next decisions after it.

        Args:
            node: The node.
            player: Whose hands.
            other: float64 (hands,): the other player's own reach of the node.
            values: Of these decisions.
        """
        lines = self.lines
        if lines.player(node) == TERMINAL:
            paid = lines.paid(node, player, other)
            assert paid is not None
            return paid
        if lines.player(node) == player and (place := lines.place(node)).stride:
            at = place.first + np.maximum(place.lane, 0)[:, None]
            here = values.at(place.chunk, at + np.arange(len(place.actions)) * place.stride)
            worth = (here.strategy * here.value).sum(axis=1) / place.stands_for
            return np.where(place.lane >= 0, worth, 0.0)
        after = [step.node for step in lines.children(node)]
        if lines.player(node) == 1 - player:
            reaches = [values.own_reach(lines, one, 1 - player) for one in after]
        else:
            reaches = [other] * len(after)
        below = [
            self._worth(one, player, reach, values)
            for one, reach in zip(after, reaches, strict=True)
        ]
        found: np.ndarray = np.sum(below, axis=0)
        return found
