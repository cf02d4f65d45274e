"""Regrets of infosets and players over a run, with the bounds of the theory.

The theorems are from M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in
games with incomplete information', NIPS 2007. They hold for regret matching at every infoset. Let
``T`` be the number of iterations, ``Delta`` the range of a player's utilities, and ``|A|`` the
largest number of actions at the player's infosets.

* The positive regret of an infoset is at most ``Delta sqrt(|A| T)`` (theorem 4).
* The player's overall regret is at most the sum of the positive regrets of their infosets (theorem
  3), hence at most ``|I| Delta sqrt(|A| T)``.

The theorems are about the true sums of regrets against the strategies that the opponents actually
played, and hold for any such strategies. Most variants store other numbers: CFR+ clips regrets,
DCFR discounts them, sampling estimates them. The true sums are therefore computed here, from the
strategies of each iteration, by a pass over the whole game.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from .._util.argument_checks import EXACT, Several, Whole, checked
from .._util.one_line import OneLine
from ..algorithms import find_algorithm
from ..evaluation.player_models import part_locks
from ..kernels.evaluation import add_regrets, best_total, realization_plan
from ..kernels.random import Seed
from ..model.arrays import FREE
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import LOCKS, Uncut
from ..model.locks import Locks, LocksLike, locks_for
from ..solvers.driver import make_solver
from ..solvers.request import SolveRequest
from ..solvers.solver_arguments import Named


@dataclass(frozen=True, eq=False, repr=False)
class RegretPoint(OneLine):
    """Regrets after some iterations, in the game's own unit of utility."""

    iteration: int
    """Number of iterations, ``T``."""
    infoset: np.ndarray
    """float64 (infosets,): the cumulative counterfactual regret of each infoset for its best
    action; negative if every action would have been worse.

    At an infoset that is partly locked, the best free action is compared with the free actions
    together. At an infoset that is fully locked, the regret is 0.
    """
    overall: tuple[float, ...]
    """Per player: the gain of the best fixed strategy over the strategies played, against the
    opponents' strategies of each iteration, summed over the iterations."""
    played: tuple[float, ...]
    """Per player: the value of the strategies played against the opponents' strategies of the same
    iteration, averaged over the iterations. Tutorials print it as the "average game value"; it is
    not the value of the average strategies."""
    immediate: tuple[float, ...]
    """Per player: the sum of the positive regrets of the player's infosets, divided by ``T``; at
    least :attr:`average` (theorem 3)."""
    infoset_bound: np.ndarray
    """float64 (infosets,): ``Delta sqrt(|A| T)``; 0 where all actions are locked."""
    overall_bound: tuple[float, ...]
    """Per player: ``|I| Delta sqrt(|A| T)``."""
    weighted: tuple[float, ...]
    """Per player: the average overall regret if iterations count with the averaging weights of the
    algorithm.  The largest of them is the gap of the joint play to a coarse correlated equilibrium
    if the iteration is drawn with these weights.  It equals :attr:`average` for equal weights."""

    @property
    def average(self) -> tuple[float, ...]:
        """Per player: the average overall regret, ``overall / T``.

        In a two-player zero-sum game with simultaneous updates, the sum over players is the
        NashConv of the uniform averages of their strategies.
        """
        return tuple(regret / self.iteration for regret in self.overall)

    @property
    def average_bound(self) -> tuple[float, ...]:
        """Per player: the bound of :attr:`average`."""
        return tuple(bound / self.iteration for bound in self.overall_bound)


@checked()
def regrets(
    game: Uncut,
    algorithm: Named = "cfr",
    *,
    checkpoints: Annotated[Iterable[int], Several(Whole(1, EXACT))],
    seed: Seed | None = None,
    locks: Annotated[LocksLike | None, LOCKS] = None,
) -> tuple[RegretPoint, ...]:
    """Run an algorithm, and sum the regrets of its strategies.

    A player's regrets are taken against the strategies that their update used: with alternating
    updates, the players before them already have new strategies. After every iteration there is one
    pass over the whole game for each player, about as much work as CFR itself in two-player games.

    >>> from tensorcfr import compile_game
    >>> (point,) = regrets(compile_game("kuhn"), "cfr", checkpoints=[100])
    >>> all(have <= may for have, may in zip(point.average, point.average_bound))
    True

    Args:
        game: The game: flat, or a card game without chunks, such as a river of three players.
            Regrets by infoset of the latter follow its arrays, where the deals of hands are
            infosets of one action, and equivalent infosets are one.
        algorithm: A name or a record of an iterative algorithm.
        checkpoints: The iterations after which to record, from 1.
        seed: Seed of an algorithm that samples; see :func:`tensorcfr.solve`.
        locks: Fixed probabilities by infoset label and action label; see :class:`tensorcfr.Locks`.
            Best responses obey them, too, and the theorems are about the free actions: ``|A|``
            counts these, and ``|I|`` the infosets that have some.

    Raises:
        ValueError: A checkpoint is not a positive integer; the algorithm is unknown or not
            iterative; or a lock does not fit this game. Or there is a seed for an algorithm that
            does not sample, or a lock for one that does.
    """
    record = find_algorithm(algorithm)
    locked = locks_for(game, locks)
    if locked.model is not None:
        raise ValueError("the bounds of regrets are for locks without a model of a player")
    if record.is_exact:
        raise ValueError(f"{record.name} does not iterate: it has no regrets")
    marks = sorted(set(checkpoints))
    last = marks[-1] if marks else 0
    request = SolveRequest(game=game, algorithm=record, locks=locked or None, seed=seed, iters=last)
    request.check()
    solver = make_solver(request)
    sums = _RegretSums(game, locked)
    points = []
    strategy = solver.current_policy().probabilities
    variant = solver.algorithm.variant
    for begin, end in pairwise([0, *marks]):
        for t in range(begin + 1, end + 1):
            solver.iterate()
            new_strategy = solver.current_policy().probabilities
            weights = variant.weights(np.array([t - 1.0, t]))
            turns = variant.turns(t, 1, game.n_players)[0].tolist()
            sums.add(strategy, new_strategy, weights, turns)
            strategy = new_strategy
        points.append(sums.point(int(end)))
    return tuple(points)


class _RegretSums:
    """Sums over iterations from which regrets are read."""

    def __init__(self, game: CompiledGame, locks: Locks) -> None:
        n = game.n_numbers
        self.game, self.form = game, game.chunks.trunk
        self.locks = part_locks(game, game.chunks, locks)
        self.free = locks.probabilities() == FREE
        """bool (sequences,): True for actions that are not locked."""
        self.regret = np.zeros(n)
        """float64 (sequences,): cumulative counterfactual regrets."""
        self.gradient = np.zeros(n)
        """float64 (sequences,): cumulative payoffs per unit of own reach, which the best fixed
        strategy maximises."""
        self.earned = np.zeros(game.n_players)
        """float64 (players,): cumulative values of the strategies played."""
        self.mean_gradient, self.mean_earned = np.zeros(n), np.zeros(game.n_players)
        """Means of both, with averaging weights."""
        self.total_weight = 0.0
        """Sum of averaging weights, in units of the last one."""

    def add(
        self,
        strategy: np.ndarray,
        new_strategy: np.ndarray,
        weights: np.ndarray,
        turns: list[list[int]],
    ) -> None:
        """Add one iteration.

        Args:
            strategy: float64 (sequences,): the strategies at its beginning.
            new_strategy: float64 (sequences,): the strategies at its end.
            weights: float64 (2,): averaging weights of the iteration before and of this one.
            turns: Players who update, turn by turn.  A later turn faces the new strategies of the
                turns before.
        """
        form = self.form
        reach, new_reach = np.empty(len(strategy)), np.empty(len(strategy))
        realization_plan(form, strategy, reach)
        realization_plan(form, new_strategy, new_reach)
        value, gradient = np.empty(len(strategy)), np.zeros(len(strategy))
        earned = np.empty(self.game.n_players)
        for movers in turns:
            for player in movers:
                earned[player] = add_regrets(
                    form, player, strategy, reach, value, gradient, self.regret, self.locks
                )
            for player in movers:
                own_sequences = slice(*form.player_sequences[player : player + 2].tolist())
                reach[own_sequences] = new_reach[own_sequences]
        self.gradient += gradient
        self.earned += earned
        previous, weight = weights.tolist()
        if weight > 0.0:
            # Sums of large weights would overflow; means do not.
            self.total_weight = self.total_weight * (previous / weight) + 1.0
            share = 1.0 / self.total_weight
            self.mean_gradient += share * (gradient - self.mean_gradient)
            self.mean_earned += share * (earned - self.mean_earned)

    @np.errstate(over="ignore")
    def point(self, iteration: int) -> RegretPoint:
        """Return the regrets and bounds; numbers beyond the range of floats are infinite."""
        game, form = self.game, self.form
        owner = form.owners[0]
        free = self.free & (owner >= 0)
        actions = np.bincount(owner[free], minlength=form.n_infosets)
        infoset = np.full(form.n_infosets, -np.inf)
        np.maximum.at(infoset, owner[free], self.regret[free])
        infoset[actions == 0] = 0.0
        best, mean_best = np.empty((2, game.n_players))
        best_total(form, self.gradient.copy(), best, self.locks)
        best_total(form, self.mean_gradient.copy(), mean_best, self.locks)
        infoset_bound = np.zeros(form.n_infosets)
        overall_bound, immediate = [], []
        for player in range(game.n_players):
            own_infosets = slice(form.player_infosets[player], form.player_infosets[player + 1])
            utilities = game.utilities[:, player]
            spread = float(utilities.max() - utilities.min())
            bound = spread * float(np.sqrt(actions[own_infosets].max(initial=1) * iteration))
            has_choice = actions[own_infosets] > 0
            infoset_bound[own_infosets][has_choice] = bound
            overall_bound.append(np.count_nonzero(has_choice) * bound)
            positive = np.maximum(infoset[own_infosets], 0.0).sum() / iteration
            immediate.append(float(positive * game.unit))
        return RegretPoint(
            iteration=iteration,
            infoset=infoset * game.unit,
            overall=tuple(((best - self.earned) * game.unit).tolist()),
            played=tuple((self.earned / iteration * game.unit).tolist()),
            immediate=tuple(immediate),
            infoset_bound=infoset_bound,
            overall_bound=tuple(map(float, overall_bound)),
            weighted=tuple(((mean_best - self.mean_earned) * game.unit).tolist()),
        )
