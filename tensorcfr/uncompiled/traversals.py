"""External and outcome sampling over the histories of rules, in Python.

These are :mod:`tensorcfr.kernels.sampling_external` and :mod:`tensorcfr.kernels.sampling_outcome`
line by line, with the same draws in the same order; their docstrings have the papers and the
formulas.  The numbers agree but for the rounding of additions that numba fuses with
multiplications.

An iteration is whole or did not happen: every block that it will write is noted before, so that
an error of the rules, or a full table, leaves the table as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..kernels.sampling import OPTIMISTIC, SIMPLE, STOCHASTIC
from ..model.arrays import CHANCE, TERMINAL
from .draws import Draws
from .histories import Histories
from .infosets import BASELINE, CUMULATIVE, REGRETS, STRATEGY, Block

Step = Callable[..., tuple[float, float]]
"""The step of a local rule, in Python: regret, instantaneous regret and parameters to the new
regret and the preference."""


@dataclass
class Learning:
    """What the traversals of a game learn, and how."""

    histories: Histories
    """The game and its table; modified in place."""
    draws: Draws
    """The generator; modified in place."""
    rule: Step
    """The local rule."""
    averaging: int
    """``SIMPLE``, ``STOCHASTIC`` or ``OPTIMISTIC``."""
    epsilon: float = 0.0
    """Outcome sampling: probability of exploring."""
    baseline: float = 0.0
    """Outcome sampling: step size of the baselines, or 0 for none."""
    clock: float = 0.0
    """The sum of the averaging weights so far."""
    touched: tuple[int, int] = (0, 0)
    """Histories visited, and decision nodes among them."""
    noted: list[tuple[Block, Block]] = field(default_factory=list)
    """Blocks that this iteration wrote, and copies of them as they were, oldest first."""

    def iterate(self, traverse: Traversal, weight: float, parameters: tuple[float, ...]) -> None:
        """Run one iteration: a traversal for each player; after an error nothing has changed.

        Args:
            traverse: :func:`external` or :func:`outcome`.
            weight: The averaging weight.
            parameters: The parameters of the rule.
        """
        before = self.clock, self.touched, self.draws.mark()
        self.noted.clear()
        self.clock += weight
        try:
            for player in range(self.histories.n_players):
                traverse(self, player, weight, parameters)
        except BaseException:
            for block, before_it in reversed(self.noted):
                block[:] = before_it
            self.clock, self.touched, mark = before
            self.draws.rewind(mark)
            raise


Traversal = Callable[[Learning, int, float, tuple[float, ...]], None]


def external(learning: Learning, player: int, weight: float, parameters: tuple[float, ...]) -> None:
    """Traverse once for a player, who tries every action; chance and the others are sampled."""
    histories, draw, averaging = learning.histories, learning.draws, learning.averaging
    step, sample, note = histories.step, histories.draw, learning.noted.append
    n_players, rule = histories.n_players, learning.rule
    # The opponents' reaches, if the average needs them.
    tracked = averaging == STOCHASTIC or (averaging == SIMPLE and n_players > 2)
    reach = [1.0] * n_players
    node, x, seen, decisions = histories.root, 1.0, 0, 0
    # A frame for every decision of the player on the path: node, action, strategy, values of the
    # actions so far, their mean so far, own reach, all reaches.
    stack: list[list[Any]] = []
    while True:
        # Down to a terminal.
        while True:
            seen += 1
            actor = node.actor
            if actor < 0:
                if actor == TERMINAL:
                    break
                seen += node.passed
                index = sample(node, draw())
                node = node.children[index] or step(node, index)
                continue
            decisions += 1
            count = node.count
            if count == 1:
                node = node.children[0] or step(node, 0)
                continue
            block = node.block
            note((block, block.copy()))
            strategy = block[STRATEGY]
            if actor == player:
                stack.append([node, 0, strategy, [], 0.0, x, reach])
                if tracked:
                    reach = reach.copy()
                x *= strategy[0]
                node = node.children[0] or step(node, 0)
                continue
            if averaging == SIMPLE:
                add = weight
                if tracked:
                    add /= product_of_others(reach, player, actor)
                block[CUMULATIVE] = [
                    c + add * p for c, p in zip(block[CUMULATIVE], strategy, strict=True)
                ]
            number = draw()
            if count == 2:  # As sample_action, without a call.
                index = 1 if number >= strategy[0] else 0
            else:
                index = sample_action(strategy, number)
            if tracked:
                reach[actor] *= strategy[index]
            node = node.children[index] or step(node, index)
        # Up to the next action that has not been tried.
        found = node.utilities[player]
        while stack:
            frame = stack[-1]
            node, index, strategy, q, value, own, above = frame
            q.append(found)
            value += strategy[index] * found
            index += 1
            if index < node.count:
                frame[1], frame[4] = index, value
                x = own * strategy[index]
                if tracked:
                    reach = above.copy()
                node = node.children[index] or step(node, index)
                break
            found, block = value, node.block
            if averaging != SIMPLE:
                sampled = product_of_others(above, player, player) if tracked else 1.0
                add = own * _own_reach_weight(learning, block, weight, sampled)
                block[CUMULATIVE] = [
                    c + add * p for c, p in zip(block[CUMULATIVE], strategy, strict=True)
                ]
            update(block, rule, parameters, [each - found for each in q])
            stack.pop()
        else:
            break
    learning.touched = learning.touched[0] + seen, learning.touched[1] + decisions


def outcome(learning: Learning, player: int, weight: float, parameters: tuple[float, ...]) -> None:
    """Play once for a player, who explores; learn from that play only."""
    histories, draw, averaging = learning.histories, learning.draws, learning.averaging
    step, sample, note = histories.step, histories.draw, learning.noted.append
    epsilon, baseline = learning.epsilon, learning.baseline
    reach = [1.0] * histories.n_players
    node, seen, decisions = histories.root, 0, 0
    q = 1.0  # probability of the player's own choices so far, exploration included
    path = []
    # Down: play the game, and add to the average.
    while True:
        seen += 1
        actor = node.actor
        if actor == TERMINAL:
            break
        if actor == CHANCE:
            seen += node.passed
            index = sample(node, draw())
            node = node.children[index] or step(node, index)
            continue
        decisions += 1
        count = node.count
        if count == 1:
            node = node.children[0] or step(node, 0)
            continue
        block = node.block
        note((block, block.copy()))
        strategy = block[STRATEGY]
        explored = q
        add = 0.0
        if actor == player:
            if averaging != SIMPLE:
                sampled = q * product_of_others(reach, player, player)
                add = reach[player] * _own_reach_weight(learning, block, weight, sampled)
            index = _explore(strategy, epsilon, draw())
            xi = epsilon / count + (1.0 - epsilon) * strategy[index]
            q *= xi
        else:
            if averaging == SIMPLE:
                add = weight / (q * product_of_others(reach, player, actor))
            index = sample_action(strategy, draw())
            xi = strategy[index]
        if add:
            block[CUMULATIVE] = [
                c + add * p for c, p in zip(block[CUMULATIVE], strategy, strict=True)
            ]
        reach[actor] *= strategy[index]
        path.append((actor, block, index, strategy, xi, explored))
        node = node.children[index] or step(node, index)
    # Up: values, and regrets at the player's own infosets.
    found = node.utilities[player]
    for actor, block, index, strategy, xi, explored in reversed(path):
        expected = block[BASELINE + player] if baseline else [0.0] * len(strategy)
        paid = found
        correction = (paid - expected[index]) / xi
        found = strategy[index] * correction
        if baseline:
            for probability, guess in zip(strategy, expected, strict=True):
                found += probability * guess
        if actor == player:
            instant = [(guess - found) / explored for guess in expected]
            instant[index] += correction / explored
            update(block, learning.rule, parameters, instant)
        if baseline:
            moved = expected.copy()
            moved[index] += baseline * (paid - expected[index])
            block[BASELINE + player] = moved
    learning.touched = learning.touched[0] + seen, learning.touched[1] + decisions


# ------------------------------------------------------------------------------------ at a node


def sample_action(strategy: Sequence[float], number: float) -> int:
    """The action that a number uniform in [0, 1) draws; never one of probability 0."""
    if len(strategy) == 2:
        return int(number >= strategy[0])
    chosen = 0
    for index, probability in enumerate(strategy):
        if probability > 0.0:
            chosen = index
            number -= probability
            if number < 0.0:
                break
    return chosen


def _explore(strategy: Sequence[float], epsilon: float, number: float) -> int:
    """The action of the player who is updated: uniform with probability epsilon."""
    uniform, last = epsilon / len(strategy), len(strategy) - 1
    for index in range(last):
        number -= uniform + (1.0 - epsilon) * strategy[index]
        if number < 0.0:
            return index
    return last


def product_of_others(reach: Sequence[float], one: int, other: int) -> float:
    """The product of the players' reaches, except those of two players."""
    product = 1.0
    for player, probability in enumerate(reach):
        if player not in (one, other):
            product *= probability
    return product


def update(
    block: Block, rule: Step, parameters: tuple[float, ...], instant: Sequence[float]
) -> None:
    """Set an infoset's regrets by the local rule, and its strategy by regret matching.

    Args:
        block: The numbers of the infoset; modified in place.
        rule: The local rule.
        parameters: Its parameters at this iteration.
        instant: The instantaneous regrets.
    """
    total, regrets, preferences = 0.0, [], []
    for regret, added in zip(block[REGRETS], instant, strict=True):
        new, preference = rule(regret, added, parameters)
        regrets.append(new)
        if preference > 0.0:
            preferences.append(preference)
            total += preference
        else:
            preferences.append(0.0)
    block[REGRETS] = regrets
    if total > 0.0:
        block[STRATEGY] = [preference / total for preference in preferences]
    else:
        block[STRATEGY] = [1.0 / len(regrets)] * len(regrets)


def _own_reach_weight(learning: Learning, block: Block, weight: float, sampled: float) -> float:
    """The factor with which own reach enters the average."""
    if learning.averaging == OPTIMISTIC:
        since: float = learning.clock - block[-1]
        block[-1] = learning.clock
        return since
    return weight / sampled
