"""Payoffs of plays without their luck: an unbiased estimate with a much smaller variance.

Source: N. Burch, M. Schmid, M. Moravčík, D. Morrill, M. Bowling, "AIVAT: a new variance reduction
technique for agent evaluation in imperfect information games", AAAI 2018.

The *baseline* estimates the value after each step of chance or of a player with a known strategy.
The luck of a step is the baseline of the step taken minus the mean over all steps. Its expectation
is 0 for any baseline, so subtracting it from a payoff adds no bias. On public nodes all numbers are
means over the hands that the known player could have held (the *imaginary observations* of the
paper).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .._util.argument_checks import Kind, Several, Whole, checked
from ..evaluation.metrics import PolicyLike
from ..evaluation.profile import strategies_at
from ..formats.policies import find_policy
from ..model.arrays import CHANCE, TERMINAL, levels_below_root, not_none
from ..model.flat_game import FlatGame
from ..model.game_arguments import require_flat
from ..model.policy import Policy
from ..model.public_nodes import PublicNodes
from ..model.team_game import step_probabilities
from .bounds import Confidence, Interval, interval_of
from .history_values import values_of_profiles
from .policy_values import values
from .simulation import Plays


@dataclass(frozen=True, eq=False)
class AdjustedPlays:
    """Plays, with their payoffs less luck."""

    plays: Plays
    """The plays."""
    utilities: np.ndarray
    """float64 (plays, players): the payoff of each play, less its luck."""

    def intervals(self, confidence: Confidence = 0.95) -> tuple[Interval, ...]:
        """Return the expected payoff of each player by the adjusted payoffs; NaN errors for one
        play."""
        return tuple(interval_of(payoffs, confidence) for payoffs in self.utilities.T)

    def unadjusted(self, confidence: Confidence = 0.95) -> tuple[Interval, ...]:
        """Return the expected payoff of each player by the unadjusted payoffs; NaN errors for one
        play."""
        return tuple(interval_of(payoffs, confidence) for payoffs in self.plays.utilities.T)

    @property
    def deviations(self) -> np.ndarray:
        """float64 (players,): ratio of the standard deviations of adjusted and unadjusted
        payoffs."""
        ratios: np.ndarray = self.utilities.std(axis=0) / self.plays.utilities.std(axis=0)
        return ratios

    def __str__(self) -> str:
        pairs = zip(self.intervals(), self.unadjusted(), strict=True)
        lines = [f"{self.plays.game.name}: {len(self.plays):,} plays"]
        for player, (adjusted, raw) in enumerate(pairs):
            lines.append(f"  player {player}: {adjusted}; with luck {raw}")
        return "\n".join(lines)


@checked()
def aivat(
    plays: Annotated[Plays, Kind((Plays,), "plays: simulate makes them")],
    policy: PolicyLike,
    *,
    baseline: PolicyLike | None = None,
    known: Annotated[Collection[int] | None, Several(Whole(0))] = None,
) -> AdjustedPlays:
    """Subtract from payoffs the luck of chance and of players whose strategies are known.

    >>> from tensorcfr import Policy, compile_game, solve
    >>> from tensorcfr.analysis import simulate
    >>> game = compile_game("kuhn")
    >>> uniform = Policy.uniform(game)
    >>> plays = simulate(game, uniform, 500, seed=1)
    >>> found = aivat(plays, uniform, baseline=solve(game, iters=100).policy)
    >>> bool((found.deviations < 0.5).all())
    True

    Args:
        plays: The plays, drawn or recorded.
        policy: The strategies that were played. Strategies of players who are not known are
            ignored.
        baseline: A profile whose values estimate how good steps are. Any profile is unbiased; one
            that is close to the strategies played gives a small variance. By default ``policy``.
        known: The players whose strategies are known, by default all.

    Raises:
        ValueError: A policy is not for the game of the plays; or ``known`` is empty or names an
            unknown player; or the plays are on public nodes and the payoffs are not of constant
            sum.
    """
    game = plays.game
    known_players = range(game.n_players) if known is None else sorted(set(known))
    if not known_players or max(known_players) >= game.n_players:
        raise ValueError(
            f"known must be one or more players of {game.name}, 0 to {game.n_players - 1}, not "
            f"{tuple(known_players)}"
        )
    played = find_policy(game, policy)
    expected = played if baseline is None else find_policy(game, baseline, "baseline")
    if plays.hands is None:
        tree = require_flat(game, "adjusting histories")
        last = np.take_along_axis(
            plays.nodes, (plays.nodes >= 0).sum(axis=1, keepdims=True) - 1, axis=1
        )
        luck = _luck_of_histories(tree, played, expected, known_players)[last[:, 0]]
        return AdjustedPlays(plays, plays.utilities + luck)
    watched = next((player for player in range(2) if player not in known_players), 1)
    adjusted = Luck(expected, watched).adjusted(
        plays.nodes,
        plays.hands,
        known_players,
        lambda node: strategies_at(played, not_none(game.nodes), node),
    )
    return AdjustedPlays(plays, adjusted)


class Luck:
    """Luck in plays on public nodes, averaged over all hands of the known player.

    Args:
        baseline: The profile whose values estimate how good steps are.
        watched: The player whose payoffs are adjusted and whose hands are seen. The other player is
            known.

    Raises:
        ValueError: The sum of payoffs is not constant.
    """

    def __init__(self, baseline: Policy, watched: int) -> None:
        game = baseline.game
        if not game.constant_sum:
            raise ValueError(
                f"the sum of the payoffs of {game.name} is not constant: the payoff of the known "
                "player does not follow from the mean over their hands"
            )
        self.values, self.watched = values(game, baseline), watched
        self._sum = sum(game.utility_sums) / 2
        self._expected: dict[int, np.ndarray] = {}

    @property
    def nodes(self) -> PublicNodes:
        """Public nodes of the game."""
        return self.values.nodes

    def adjusted(
        self,
        path: np.ndarray,
        hands: np.ndarray,
        known: Collection[int],
        strategies: Callable[[int], np.ndarray],
    ) -> np.ndarray:
        """Return the payoffs of plays less their luck.

        Nodes are visited one by one, each for all plays that reach it.

        Args:
            path: int64 (plays, steps + 1): the nodes, as in :class:`~tensorcfr.analysis.Plays`.
            hands: int64 (plays, 2): the dealt hands.
            known: The players whose strategies are known.
            strategies: Returns their strategies at a node, float64 (hands, actions).

        Returns:
            float64 (plays, 2).
        """
        seen_hands, deal = hands[:, self.watched], self._expected_at(0)
        own_reaches = [np.ones(len(labels)) for labels in self.nodes.hands]
        # Minus the luck of the deal: the mean over the hands less the baseline of the hand held.
        total = (self._reach(0, own_reaches) @ deal - deal)[seen_hands]
        pending = [(0, 0, np.arange(len(path)), own_reaches)]
        while pending:
            node, depth, at_node, own_reaches = pending.pop()
            player = self.nodes.player(node)
            if player == TERMINAL:
                # The payoff, too, is a mean over the hands that the known player may hold.
                paid = self.nodes.payoffs(node, self.watched, own_reaches)
                total[at_node] += _divide(paid, self._reach(node, own_reaches))[seen_hands[at_node]]
                continue
            child_nodes = [step.node for step in self.nodes.children(node)]
            child_reaches, probabilities, luck = [own_reaches] * len(child_nodes), None, None
            if player in known:
                strategy = strategies(node)
                child_reaches = _reaches_after(own_reaches, player, strategy)
                probabilities = strategy.T if player == self.watched else None
            if player == CHANCE or player in known:
                luck = self._luck_of_steps(child_nodes, child_reaches, probabilities)
            for k, child in enumerate(child_nodes):
                continuing = at_node[path[at_node, depth + 1] == child]
                if len(continuing):
                    total[continuing] += 0.0 if luck is None else luck[k, seen_hands[continuing]]
                    pending.append((child, depth + 1, continuing, child_reaches[k]))
        adjusted_payoffs = np.stack([self._sum - total] * 2, axis=1)
        adjusted_payoffs[:, self.watched] = total
        return adjusted_payoffs

    def _luck_of_steps(
        self,
        child_nodes: list[int],
        child_reaches: list[list[np.ndarray]],
        probabilities: np.ndarray | None,
    ) -> np.ndarray:
        """Return the mean of the baseline over the steps from a node, minus the baseline of each
        step.

        Args:
            child_nodes: The nodes after each step.
            child_reaches: For each step and player, float64 (hands,): the own reach after it.
            probabilities: float64 (steps, hands): the strategies of the watched player, who acts;
                None if chance or the other player acts.

        Returns:
            float64 (steps, hands): by hand of the watched player.
        """
        expected = np.stack([self._expected_at(node) for node in child_nodes])
        if probabilities is None:
            reach = np.stack(
                [self._reach(*pair) for pair in zip(child_nodes, child_reaches, strict=True)]
            )
            probabilities = _divide(reach, reach.sum(axis=0))
        step_luck: np.ndarray = (probabilities * expected).sum(axis=0) - expected
        return step_luck

    def _expected_at(self, node: int) -> np.ndarray:
        """Return the baseline of a node, float64 (hands of the watched player,); 0 if it is never
        reached."""
        if node not in self._expected:
            own_reaches = self.values.own_reaches(node)
            node_value = self.values.counterfactual_values(node, self.watched, own_reaches)[0]
            self._expected[node] = _divide(node_value, self._reach(node, own_reaches))
        return self._expected[node]

    def _reach(self, node: int, own_reaches: Sequence[np.ndarray]) -> np.ndarray:
        return self.nodes.counterfactual_reach(node, self.watched, own_reaches)


def _reaches_after(
    own_reaches: list[np.ndarray], player: int, strategy: np.ndarray
) -> list[list[np.ndarray]]:
    """Return the own reaches of all players, float64 (hands,), after each action of one."""
    return [
        [reach * probability if seat == player else reach for seat, reach in enumerate(own_reaches)]
        for probability in strategy.T
    ]


def _divide(numbers: np.ndarray, reach: np.ndarray) -> np.ndarray:
    return np.divide(numbers, reach, out=np.zeros_like(numbers), where=reach > 0)


def _luck_of_histories(
    game: FlatGame, policy: Policy, baseline: Policy, known: Collection[int]
) -> np.ndarray:
    """Return minus the luck on the way to each history, float64 (nodes, players)."""
    tree = game.tree
    profile = [baseline.probabilities] * game.n_players
    expected = values_of_profiles(game, profile, tree.probability).value
    step, mean = step_probabilities(game, policy.probabilities)[1:], np.zeros_like(expected)
    np.add.at(mean, tree.parent[1:], step[:, None] * expected[1:])
    is_known = np.isin(tree.player, (CHANCE, *known))
    total = np.zeros_like(expected)
    # Levels run from the root down, because a history inherits the luck of its parent.
    for level in levels_below_root(tree.first_child):
        parent = tree.parent[level]
        luck = np.where(is_known[parent, None], mean[parent] - expected[level], 0.0)
        total[level] = total[parent] + luck
    return total
