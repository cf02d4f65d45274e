"""Agent quantal response equilibria, traced from uniform play.

In the logit equilibrium of rationality ``lambda`` the odds of two actions are ``exp(lambda d)``.
Here ``d`` is the difference of their values, given that the infoset is reached and that everybody
plays the equilibrium.  With ``lambda = 0`` it is uniform play.  As ``lambda`` grows, a branch of
equilibria leads from there to a sequential equilibrium.  The branch is traced by a predictor, its
tangent, and a corrector, Newton's method across the tangent.  It may turn back on the way.

Sources: R. D. McKelvey, T. R. Palfrey, "Quantal response equilibria for extensive form games",
Experimental Economics 1, 1998; T. L. Turocy, "Computing sequential equilibria using agent quantal
response equilibria", Economic Theory 42, 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .._util.argument_checks import Number, Several, checked
from ..analysis.counterfactual_reach import CounterfactualReach
from ..evaluation.profile import compute_values
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.policy import Policy

LARGEST = 500
"""Maximum number of odds of a game: sequences minus infosets.  Each Newton step evaluates the game
twice per odds."""
DIFFERENCE = 1e-6
"""Change of the logarithms of odds for central differences."""
NEAR = 1e-11
"""Largest residual at which Newton's method stops, relative to 1 + the largest coordinate."""
FIRST, LEAST, MOST_NEWTON, MOST_STEPS = 0.03, 1e-7, 8, 20_000
"""First and minimum step length, and maximum numbers of Newton steps and of steps of a trace."""


@dataclass(frozen=True)
class QuantalResponse:
    """Point of the branch of quantal response equilibria."""

    rationality: float
    """``lambda`` per unit of utility: 1 over the temperature."""
    policy: Policy
    """Equilibrium."""


@checked()
def quantal_responses(
    game: Flat,
    rationality: Annotated[Sequence[float], Several(Number(0, finite=True), ordered=True)],
) -> tuple[QuantalResponse, ...]:
    """Compute agent quantal response equilibria (logit) on the branch from uniform play.

    If the branch turns back, the first point with the requested ``lambda`` is taken.  The game may
    have any number of players and any sums of payoffs.

    >>> from tensorcfr import compile_game
    >>> first, second = quantal_responses(compile_game("kuhn"), [1.0, 100.0])
    >>> round(first.policy["Kb"]["bet"], 6)  # A king calls: by 1 / (1 + exp(-3)).
    0.952574
    >>> round(second.policy["Kb"]["bet"], 6)
    1.0

    Args:
        game: A flat game; sequences minus infosets must be at most 500.
        rationality: Numbers for ``lambda``, in any order.

    Returns:
        An equilibrium for each ``lambda``, in the same order.

    Raises:
        ValueError: The game is too large, ``rationality`` is empty, or a ``lambda`` is not a
            number from 0.
        RuntimeError: The branch cannot be traced so far; names the last ``lambda`` on it.
    """
    branch = _Branch(game)
    if (odds := int(branch.moves.sum())) > LARGEST:
        raise ValueError(
            f"quantal_responses is for games with at most {LARGEST} sequences more than infosets; "
            f"{game.name} has {odds:,}"
        )
    responses = {}
    for aim in sorted(set(rationality)):
        strategy = branch.trace_to(float(aim))
        responses[aim] = QuantalResponse(float(aim), Policy(game, strategy))
    return tuple(responses[aim] for aim in rationality)


class _Branch:
    """Position on the branch.

    ``point``, float64 (odds + 1,), has the logarithms of the odds of each action against the first
    action of its infoset, then ``lambda``.
    """

    def __init__(self, game: Flat) -> None:
        self.infosets = _Infosets(game)
        self.moves = game.form.owners[1] > 0
        heads = np.append(game.form.infoset_sequence, game.form.player_sequences[:-1])
        self.first = heads[self.infosets.of]
        n = int(self.moves.sum())
        self.point = np.zeros(n + 1)
        self.length, ahead = FIRST, np.append(np.zeros(n), 1.0)
        self.tangent = self.tangent_at(self.point, ahead)

    def strategy(self, odds: np.ndarray) -> np.ndarray:
        """Compute behaviour strategies from logarithms of odds, float64 (sequences,)."""
        logs = np.zeros(len(self.moves))
        logs[self.moves] = odds
        # The logarithm of each first action is 0, so the largest one is at least 0.
        weights = np.exp(logs - self.infosets.largest(logs))
        return np.asarray(weights / self.infosets.sum_up(weights))

    def relative_values(self, odds: np.ndarray) -> np.ndarray:
        """Compute action values minus the value of the infoset's first action, float64 (odds,).

        Values are given that the infoset is reached.
        """
        advantage = self.infosets.advantages(self.strategy(odds))
        return np.asarray((advantage - advantage[self.first])[self.moves])

    def residuals(self, point: np.ndarray) -> np.ndarray:
        """Compute the residuals of the equations, float64 (odds,); 0 at an equilibrium."""
        return np.asarray(point[:-1] - point[-1] * self.relative_values(point[:-1]))

    def derivatives(self, point: np.ndarray) -> np.ndarray:
        """Compute the Jacobian matrix of the residuals, float64 (odds, odds + 1)."""
        odds, n = point[:-1], len(point) - 1
        jacobian = np.empty((n, n + 1))
        for k in range(n):
            step = np.zeros(n)
            step[k] = DIFFERENCE
            change = self.relative_values(odds + step) - self.relative_values(odds - step)
            jacobian[:, k] = -point[-1] * change / (2 * DIFFERENCE)
        jacobian[:, :n] += np.eye(n)
        jacobian[:, n] = -self.relative_values(odds)
        return jacobian

    def tangent_at(self, point: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Compute the unit tangent of the branch at a point.

        Args:
            point: float64 (odds + 1,): the point.
            before: float64 (odds + 1,): a direction; the tangent has a positive component along it.
        """
        # The tangent is in the null space of the Jacobian matrix; the last row fixes its sign.
        system = np.vstack([self.derivatives(point), before])
        tangent = np.linalg.solve(system, np.append(np.zeros(len(point) - 1), 1.0))
        return np.asarray(tangent / np.linalg.norm(tangent))

    def corrected(self, point: np.ndarray, across: np.ndarray) -> np.ndarray | None:
        """Find an equilibrium near a point by Newton's method.

        Args:
            point: float64 (odds + 1,): initial point.
            across: float64 (odds + 1,): direction to which all steps are orthogonal.

        Returns:
            The equilibrium, float64 (odds + 1,); None if the method does not converge.
        """
        for _ in range(MOST_NEWTON):
            residuals = self.residuals(point)
            if np.abs(residuals).max() <= NEAR * (1.0 + np.abs(point).max()):
                return point
            system = np.vstack([self.derivatives(point), across])
            try:
                step = np.linalg.solve(system, -np.append(residuals, 0.0))
            except np.linalg.LinAlgError:
                return None
            if not np.isfinite(step).all() or np.abs(step).max() > 1.0 + self.length:
                return None
            point = point + step
        return None

    def trace_to(self, aim: float) -> np.ndarray:
        """Trace the branch to the first equilibrium with a ``lambda``; return its strategies."""
        lambdas = np.append(np.zeros(len(self.point) - 1), 1.0)
        for _ in range(MOST_STEPS):
            if self.point[-1] == aim:
                return self.strategy(self.point[:-1])
            if self.length < LEAST:
                break
            ahead = self.point + self.length * self.tangent
            if ahead[-1] >= aim > self.point[-1]:
                # The step would pass the goal: shorten it, and keep lambda fixed in the corrector.
                share = (aim - self.point[-1]) / (ahead[-1] - self.point[-1])
                ahead = self.point + share * self.length * self.tangent
                ahead[-1] = aim
                corrected = self.corrected(ahead, lambdas)
            else:
                corrected = self.corrected(ahead, self.tangent)
            if (
                corrected is None or corrected[-1] > aim > self.point[-1]
            ):  # The corrector went beyond it.
                self.length /= 2
                continue
            tangent = self.tangent_at(corrected, self.tangent)
            # A sharp turn may mean that the corrector jumped to another branch.
            if tangent @ self.tangent < 0.9:
                self.length /= 2
                continue
            self.point, self.tangent, self.length = corrected, tangent, 1.5 * self.length
        raise RuntimeError(
            f"the branch could not be followed to lambda {aim:g}, only to {self.point[-1]:g}"
        )


class _Infosets:
    """Infosets of a game, as arrays over its sequences.

    The empty sequence of each player counts as an infoset with one action.
    """

    def __init__(self, game: FlatGame) -> None:
        self.game, self.others = game, CounterfactualReach(game)
        of = game.form.owners[0]
        self.of = np.where(of < 0, game.n_infosets + np.cumsum(of < 0) - 1, of)

    def sum_up(self, numbers: np.ndarray) -> np.ndarray:
        """Sum numbers over the actions of each infoset; float64 (sequences,), the sum at each
        action."""
        sums: np.ndarray = np.bincount(self.of, numbers)[self.of]
        return sums

    def largest(self, numbers: np.ndarray) -> np.ndarray:
        """Compute the maximum of 0 and the numbers of each infoset's actions; float64
        (sequences,), the maximum at each action."""
        maxima = np.zeros(self.of.max() + 1)
        np.maximum.at(maxima, self.of, numbers)
        return maxima[self.of]

    def advantages(self, strategy: np.ndarray) -> np.ndarray:
        """Compute action values minus the value of the strategy, given that infosets are reached.

        Args:
            strategy: float64 (sequences,): behaviour strategies.

        Returns:
            float64 (sequences,) in the unit of utility; 0 if the reach is 0 or underflows.
        """
        own_reach, value = np.zeros((2, len(strategy)))
        compute_values(self.game.form, strategy, own_reach, value)
        reach = np.append(self.others.everywhere(own_reach), np.ones(self.game.n_players))[self.of]
        advantage = (value - self.sum_up(strategy * value)) * self.game.unit
        return np.divide(advantage, reach, out=np.zeros_like(value), where=reach > 0.0)
