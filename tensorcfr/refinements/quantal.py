"""Agent quantal response equilibria, traced from uniform play on.

In the logit equilibrium of rationality ``lambda`` the odds of two actions are ``exp(lambda d)``,
where ``d`` is the difference of their values given that the infoset is reached and that everybody
plays the equilibrium.  With ``lambda = 0`` it is uniform play; from there one branch of equilibria
leads, as ``lambda`` grows, to a sequential equilibrium.  The branch is followed by a predictor,
its tangent, and a corrector, Newton's method across it, so that it may turn back on the way.

Sources: R. D. McKelvey, T. R. Palfrey, "Quantal response equilibria for extensive form games",
Experimental Economics 1, 1998; T. L. Turocy, "Computing sequential equilibria using agent quantal
response equilibria", Economic Theory 42, 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .._util.arguments import Number, Several, checked
from ..analysis.others_reach import OthersReach
from ..evaluation.profile import put_values
from ..model.arguments import Flat
from ..model.flat_game import FlatGame
from ..model.policy import Policy

LARGEST = 500
"""Odds of a game, at most: sequences less infosets.  A step takes as many evaluations, twice."""
DIFFERENCE = 1e-6
"""By how much logarithms of odds are changed for derivatives."""
NEAR = 1e-11
"""What is left of the equations where Newton's method ends, over 1 + the largest number."""
FIRST, LEAST, MOST_NEWTON, MOST_STEPS = 0.03, 1e-7, 8, 20_000
"""The first and the least length of a step, steps of Newton's method, and steps of a trace."""


@dataclass(frozen=True)
class QuantalResponse:
    """A point of the branch."""

    rationality: float
    """``lambda``, per unit of utility: 1 over the temperature."""
    policy: Policy
    """The equilibrium."""


@checked()
def quantal_responses(
    game: Flat,
    rationality: Annotated[Sequence[float], Several(Number(0, finite=True), ordered=True)],
) -> tuple[QuantalResponse, ...]:
    """Agent quantal response equilibria (logit) on the branch that begins at uniform play.

    Where the branch turns back, the first point on it with a ``lambda`` is taken.  Payoffs may
    have any sums, and any number of players.

    >>> from tensorcfr import compile_game
    >>> one, other = quantal_responses(compile_game("kuhn"), [1.0, 100.0])
    >>> round(one.policy["Kb"]["bet"], 6)  # A king calls: by 1 / (1 + exp(-3)).
    0.952574
    >>> round(other.policy["Kb"]["bet"], 6)
    1.0

    Args:
        game: The game, laid out, with at most 500 sequences more than infosets.
        rationality: Values of ``lambda``, in any order.

    Returns:
        One equilibrium for each of them, in their order.

    Raises:
        ValueError: The game is too large, or there is no ``lambda``, or one that is no number from
            0.
        RuntimeError: The branch cannot be followed so far; says to where it was.
    """
    branch = _Branch(game)
    if (odds := int(branch.moves.sum())) > LARGEST:
        raise ValueError(
            f"quantal_responses is for games with at most {LARGEST} sequences more than infosets; "
            f"{game.name} has {odds:,}"
        )
    found = {}
    for aim in sorted(set(rationality)):
        strategy = branch.go_to(float(aim))
        found[aim] = QuantalResponse(float(aim), Policy(game, strategy))
    return tuple(found[aim] for aim in rationality)


class _Branch:
    """A place on the branch: logarithms of the odds of actions against the first one of their
    infoset, then ``lambda``."""

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
        """Behaviour strategies with some logarithms of odds, float64 (sequences,)."""
        logs = np.zeros(len(self.moves))
        logs[self.moves] = odds
        # That of the first action is 0, so that the largest is at least 0.
        weights = np.exp(logs - self.infosets.largest(logs))
        return np.asarray(weights / self.infosets.sum_up(weights))

    def better(self, odds: np.ndarray) -> np.ndarray:
        """By how much actions are better than the first one, given that infosets are reached."""
        advantage = self.infosets.advantages(self.strategy(odds))
        return np.asarray((advantage - advantage[self.first])[self.moves])

    def rest(self, point: np.ndarray) -> np.ndarray:
        """What is left of the equations; 0 at an equilibrium."""
        return np.asarray(point[:-1] - point[-1] * self.better(point[:-1]))

    def derivatives(self, point: np.ndarray) -> np.ndarray:
        """Those of the equations, float64 (odds, odds + 1)."""
        odds, n = point[:-1], len(point) - 1
        found = np.empty((n, n + 1))
        for k in range(n):
            step = np.zeros(n)
            step[k] = DIFFERENCE
            change = self.better(odds + step) - self.better(odds - step)
            found[:, k] = -point[-1] * change / (2 * DIFFERENCE)
        found[:, :n] += np.eye(n)
        found[:, n] = -self.better(odds)
        return found

    def tangent_at(self, point: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The direction of the branch, of length 1, on the side of another one."""
        system = np.vstack([self.derivatives(point), before])
        found = np.linalg.solve(system, np.append(np.zeros(len(point) - 1), 1.0))
        return np.asarray(found / np.linalg.norm(found))

    def corrected(self, point: np.ndarray, across: np.ndarray) -> np.ndarray | None:
        """An equilibrium by Newton's method from a point, with steps across a direction; None if it
        does not come near one."""
        for _ in range(MOST_NEWTON):
            rest = self.rest(point)
            if np.abs(rest).max() <= NEAR * (1.0 + np.abs(point).max()):
                return point
            system = np.vstack([self.derivatives(point), across])
            try:
                step = np.linalg.solve(system, -np.append(rest, 0.0))
            except np.linalg.LinAlgError:
                return None
            if not np.isfinite(step).all() or np.abs(step).max() > 1.0 + self.length:
                return None
            point = point + step
        return None

    def go_to(self, aim: float) -> np.ndarray:
        """Follow the branch to the first equilibrium with a ``lambda``, and return its
        strategies."""
        lambdas = np.append(np.zeros(len(self.point) - 1), 1.0)
        for _ in range(MOST_STEPS):
            if self.point[-1] == aim:
                return self.strategy(self.point[:-1])
            if self.length < LEAST:
                break
            ahead = self.point + self.length * self.tangent
            if ahead[-1] >= aim > self.point[-1]:
                share = (aim - self.point[-1]) / (ahead[-1] - self.point[-1])
                ahead = self.point + share * self.length * self.tangent
                ahead[-1] = aim
                found = self.corrected(ahead, lambdas)
            else:
                found = self.corrected(ahead, self.tangent)
            if found is None or found[-1] > aim > self.point[-1]:  # The corrector went beyond it.
                self.length /= 2
                continue
            tangent = self.tangent_at(found, self.tangent)
            if tangent @ self.tangent < 0.9:
                self.length /= 2
                continue
            self.point, self.tangent, self.length = found, tangent, 1.5 * self.length
        raise RuntimeError(
            f"the branch could not be followed to lambda {aim:g}; it was, to {self.point[-1]:g}"
        )


class _Infosets:
    """The infosets of a game, as arrays over its sequences; the empty sequence of each player
    counts as an infoset with one action."""

    def __init__(self, game: FlatGame) -> None:
        self.game, self.others = game, OthersReach(game)
        of = game.form.owners[0]
        self.of = np.where(of < 0, game.n_infosets + np.cumsum(of < 0) - 1, of)

    def sum_up(self, numbers: np.ndarray) -> np.ndarray:
        """The sum of the numbers of all actions of an infoset, at each of its sequences."""
        found: np.ndarray = np.bincount(self.of, numbers)[self.of]
        return found

    def largest(self, numbers: np.ndarray) -> np.ndarray:
        """The largest number of all actions of an infoset, from 0, at each of its sequences."""
        found = np.zeros(self.of.max() + 1)
        np.maximum.at(found, self.of, numbers)
        return found[self.of]

    def advantages(self, strategy: np.ndarray) -> np.ndarray:
        """By how much every action is better than the strategy given that its infoset is reached,
        in the game's unit of utility; 0 where nobody can come, or with too small a probability for
        a float."""
        own, value = np.zeros((2, len(strategy)))
        put_values(self.game.form, strategy, own, value)
        reach = np.append(self.others.everywhere(own), np.ones(self.game.n_players))[self.of]
        advantage = (value - self.sum_up(strategy * value)) * self.game.unit
        return np.divide(advantage, reach, out=np.zeros_like(value), where=reach > 0.0)
