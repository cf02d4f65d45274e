"""Histories that the traversals of a sampling solver visit, in the order of its kernels.

The kernels do not report their path.  Each traversal is therefore repeated here, history by
history, with the same random numbers.  Afterwards both generators are in the same state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms import Sampling
from ..kernels.random import fill
from ..model.arrays import CHANCE, TERMINAL, HistoryTree

SHOWN_SCHEMES = ("whole", "chance", "external", "outcome")
"""Sampling schemes whose branches can be repeated."""


class Branch(NamedTuple):
    """Histories that one traversal visits."""

    order: list[tuple[bool, int]]
    """Visits in their order: True on the way down, False on the way up; the history."""
    drawn: dict[int, float]
    """Outcome sampling: probability with which the updating player's action into a history was
    drawn, by history."""

    @property
    def visited(self) -> list[int]:
        """Visited histories, in the order of the way down."""
        return [node for is_down, node in self.order if is_down]


def refuse_sampling(record: Sampling) -> None:
    """Check that the branches of a sampling algorithm can be repeated.

    Raises:
        ValueError: They cannot; names the reason.
    """
    reason = ""
    if record.scheme not in SHOWN_SCHEMES:
        reason = f"its scheme is {record.scheme!r}, not one of {', '.join(SHOWN_SCHEMES)}"
    elif record.baseline > 0.0:
        reason = "it has baselines"
    elif record.draws != "independent":
        reason = f"its draws are {record.draws!r}"
    if reason:
        raise ValueError(f"the histories that {record.name} visits cannot be shown: {reason}")


class BranchReader:
    """Repetition of the traversals of a sampling solver.

    Args:
        solver: The solver, before the iterations to repeat.
    """

    def __init__(self, solver: Any) -> None:
        self.game, self.record, self.tree = solver.game, solver.algorithm, solver.source.arrays
        self.generator: np.ndarray = solver.state.generator
        """uint64 (4,): state of the repeated generator."""

    def traverse(self, player: int, step: np.ndarray) -> Branch:
        """Repeat the traversal for one player.

        Args:
            player: The player who learns.
            step: float64 (nodes,): probability of the action or outcome into each history.
        """
        self._player, self._step = player, step
        self._branch = Branch([], {})
        self._public: dict[int, int] = {}
        start = self._deal_hands()
        above = self.path(self.game.tree, 0, start)[:-1]
        self._branch.order.extend((True, node) for node in above)
        if self.record.scheme in ("whole", "chance"):
            self._try_all(start)
        else:
            self._follow(start)
        self._branch.order.extend((False, node) for node in reversed(above))
        return self._branch

    def _draw(self) -> float:
        number = np.empty(1)
        with np.errstate(over="ignore"):  # The generator's sums wrap around by design.
            fill(self.generator, number)
        return float(number[0])

    def _draw_by_alias(self, outcome: np.ndarray, threshold: np.ndarray) -> int:
        """Draw an outcome as :func:`tensorcfr.kernels.alias.draw_by_alias` does."""
        point = self._draw() * len(threshold)
        column = int(point)
        return int(outcome[column, int(point - column >= threshold[column])])

    def _draw_child(self, children: range, probability: np.ndarray, *, of_two: bool) -> int:
        """Draw a child as :func:`tensorcfr.kernels.sampling_steps.sample_action` does.

        Args:
            children: The children.
            probability: float64 (children,).
            of_two: True if the second of two children is drawn by comparison, without a look at
                its probability.
        """
        remainder = self._draw()
        if of_two and len(children) == 2:
            return children[int(remainder >= probability[0])]
        chosen = children[0]
        for child, share in zip(children, probability.tolist(), strict=True):
            if share > 0.0:
                chosen = child
                remainder -= share
                if remainder < 0.0:
                    break
        return chosen

    def _explore(self, children: range) -> int:
        """Draw an action of the player, as outcome sampling does; note its probability."""
        remainder, epsilon = self._draw(), self.record.epsilon
        probability = (
            epsilon / len(children) + (1.0 - epsilon) * self._step[children.start : children.stop]
        )
        chosen = len(children) - 1
        for action, share in enumerate(probability[:-1].tolist()):
            remainder -= share
            if remainder < 0.0:
                chosen = action
                break
        self._branch.drawn[children[chosen]] = float(probability[chosen])
        return children[chosen]

    def _deal_hands(self) -> int:
        """Return the history at which the traversal begins to visit nodes one by one."""
        if self.tree.deal is None:
            return 0
        self._deal = self._draw_by_alias(self.tree.deal, self.tree.deal_threshold)
        # Two levels of chance nodes deal the hands; the histories after them are sorted by deal.
        prior = self.game.public_tree.prior
        first_hands = int((prior.sum(axis=1) > 0).sum())
        start = 1 + first_hands + int(np.count_nonzero(prior.ravel()[: self._deal]))
        self._public[start] = 0
        return start

    @staticmethod
    def path(tree: HistoryTree, first: int, last: int) -> list[int]:
        """Return the histories from one to another below it."""
        path = [last]
        while path[-1] != first:
            path.append(int(tree.parent[path[-1]]))
        return path[::-1]

    def _children(self, node: int) -> range:
        first, end = self.game.tree.first_child[node : node + 2].tolist()
        return range(first, end)

    def _place(self, node: int, child: int) -> None:
        """Store the public node of a child, in games with private hands."""
        if node in self._public and self.game.tree.player[node] != CHANCE:
            first = int(self.tree.node[self._public[node]]["first_child"])
            self._public[child] = first + child - self._children(node)[0]

    def _draw_chance(self, node: int) -> list[int]:
        """Draw the outcome of a chance node; return the histories that follow, the last included.

        Consecutive chance nodes are one draw.
        """
        if self._public:
            record = self.tree.node[self._public[node]]
            first, count = int(record["first_child"]), int(record["n_children"])
            probability = self.tree.chance_table[self.tree.step[first : first + count], self._deal]
            drawn = self._draw_child(range(first, first + count), probability, of_two=False)
            # Histories leave out impossible outcomes.
            before = int(np.count_nonzero(probability[: drawn - first] > 0.0))
            child = self._children(node)[before]
            self._public[child] = drawn
            return [child]
        draw = int(self.tree.node[node]["chance"])
        outcomes = slice(*self.tree.first_outcome[draw : draw + 2].tolist())
        child = self._draw_by_alias(self.tree.outcome[outcomes], self.tree.threshold[outcomes])
        return self.path(self.game.tree, node, child)[1:]

    # --------------------------------------------------------------------------- the schemes

    def _follow(self, node: int) -> None:
        """Follow plays, as :mod:`tensorcfr.kernels.sampling_plays` does."""
        self._branch.order.append((True, node))
        actor, children = int(self.game.tree.player[node]), self._children(node)
        tried: list[int] = list(children)
        passed: list[int] = []
        if actor == CHANCE:
            *passed, child = self._draw_chance(node)
            tried = [child]
        elif actor != TERMINAL and len(children) > 1:
            if actor != self._player:
                tried = [
                    self._draw_child(
                        children, self._step[children.start : children.stop], of_two=True
                    )
                ]
            elif self.record.scheme == "outcome":
                tried = [self._explore(children)]
        self._branch.order.extend((True, between) for between in passed)
        for child in tried:
            self._place(node, child)
            self._follow(child)
        self._branch.order.extend((False, between) for between in reversed(passed))
        self._branch.order.append((False, node))

    def _try_all(self, start: int) -> None:
        """Try all actions, as :mod:`tensorcfr.kernels.sampling_chance` does."""
        tree, step, prune = self.game.tree, self._step, self.record.prune
        queue, down = [(start, 1.0, 1.0)], []
        for node, own_reach, others in queue:  # The queue grows.
            path = [node]
            # The path down to a history with a choice is visited at once.
            while True:
                children, actor = self._children(path[-1]), int(tree.player[path[-1]])
                if actor == CHANCE and self.record.scheme == "chance":
                    path += self._draw_chance(path[-1])
                elif actor >= 0 and len(children) == 1:
                    self._place(path[-1], children[0])
                    path.append(children[0])
                else:
                    break
            down += path
            for child in children:
                x = own_reach * step[child] if actor == self._player else own_reach
                y = others if actor == self._player else others * step[child]
                is_cut = step[child] == 0.0 if actor == CHANCE else prune and x == y == 0.0
                if not is_cut:
                    self._place(path[-1], child)
                    queue.append((child, x, y))
        self._branch.order.extend((True, node) for node in down)
        self._branch.order.extend((False, node) for node in reversed(down))
