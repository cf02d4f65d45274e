"""The regret side: what each infoset and each player regret, beside what the theory allows.

The theorems of M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games
with incomplete information', NIPS 2007, for regret matching at every infoset: after ``T``
iterations, with ``Delta`` the range of a player's utilities and ``|A|`` the most actions of
the player's infosets,

* the positive regret of an infoset is at most ``Delta sqrt(|A| T)`` (theorem 4);
* the player's overall regret is at most the sum of the positive regrets of their infosets
  (theorem 3), hence at most ``|I| Delta sqrt(|A| T)``.

They are about the true sums of regrets, against the strategies that the opponents really had, and
hold whatever those were.  What a solver keeps is something else for most variants: clipped by
CFR+, discounted by DCFR, estimated by sampling.  So the sums are taken here, from the strategies of
each iteration, by a sweep of the whole game.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from .._util.arguments import EXACT, Several, Whole, checked
from .._util.one_line import OneLine
from ..algorithms import find_algorithm
from ..kernels.evaluation import add_regrets, best_total, realization_plan
from ..kernels.random import Seed
from ..model.arguments import LOCKS, Flat
from ..model.arrays import FREE
from ..model.flat_game import FlatGame
from ..model.locks import Locks, LocksLike, locks_for, part_locks
from ..solvers.arguments import Named
from ..solvers.request import SolveRequest, make_solver


@dataclass(frozen=True, eq=False, repr=False)
class RegretPoint(OneLine):
    """The regrets after some iterations, in the game's own unit of utility."""

    iteration: int
    """Iterations done, ``T``."""
    infoset: np.ndarray
    """float64 (infosets,): the cumulative counterfactual regret of each infoset for its best
    action; negative where every action would have been worse.  Of an infoset that is locked in
    part, that of the best free action against what the free ones are worth together; of one that
    is locked, 0."""
    overall: tuple[float, ...]
    """Per player: what the best fixed strategy would have earned more than the strategies that
    were played, against the opponents' of each iteration, summed over the iterations."""
    played: tuple[float, ...]
    """Per player: the mean over the iterations of what the strategies that were played earned
    against the opponents' of the same iteration.  Tutorials print it as the "average game value";
    it is not the value of the average strategies."""
    immediate: tuple[float, ...]
    """Per player: the positive regrets of the player's infosets, summed, over ``T``: at least
    :attr:`average` (theorem 3)."""
    infoset_bound: np.ndarray
    """float64 (infosets,): ``Delta sqrt(|A| T)``; 0 where all actions are locked."""
    overall_bound: tuple[float, ...]
    """Per player: ``|I| Delta sqrt(|A| T)``."""

    @property
    def average(self) -> tuple[float, ...]:
        """Per player: the average overall regret, ``overall / T``.  In a zero-sum game of two
        players who update at once, its sum is the nash_conv of the uniform averages of their
        strategies."""
        return tuple(regret / self.iteration for regret in self.overall)

    @property
    def average_bound(self) -> tuple[float, ...]:
        """Per player: the bound of :attr:`average`."""
        return tuple(bound / self.iteration for bound in self.overall_bound)


@checked()
def regrets(
    game: Flat,
    algorithm: Named = "cfr",
    *,
    checkpoints: Annotated[Iterable[int], Several(Whole(1, EXACT))],
    seed: Seed | None = None,
    locks: Annotated[LocksLike | None, LOCKS] = None,
) -> tuple[RegretPoint, ...]:
    """Run an algorithm, and sum what its strategies regret.

    A player's regrets are taken against the strategies that their update met: where players
    alternate, those before them have their new ones already.  Every iteration is followed by a
    sweep of the whole game for each player, in two-player games about as much work as CFR itself.
    Of an algorithm that plays against averages they are taken against the strategies that were
    played, too; what it keeps is something else, and the theorems promise it nothing.

    >>> from tensorcfr import compile_game
    >>> (point,) = regrets(compile_game("kuhn"), "cfr", checkpoints=[100])
    >>> all(have <= may for have, may in zip(point.average, point.average_bound))
    True

    Args:
        game: The game.
        algorithm: A name or a record; any that iterates.
        checkpoints: The iterations after which to record, from 1.
        seed: Of an algorithm that samples; see :func:`tensorcfr.solve`.
        locks: Probabilities that nobody chooses, by infoset label and action label; see
            :class:`tensorcfr.Locks`.  What the others might have played plays them, too, and the
            theorems are about the free actions: ``|A|`` and ``|I|`` count those, and the infosets
            that have some.

    Returns:
        A point for each checkpoint, in ascending order.

    Raises:
        ValueError: A checkpoint is no iteration; the algorithm is unknown or does not iterate; a
            seed for what does not sample, locks for what does; a lock is none of this game.
    """
    record = find_algorithm(algorithm)
    locked = locks_for(game, locks)
    if record.is_exact:
        raise ValueError(f"{record.name} does not iterate: it has no regrets")
    marks = sorted(set(checkpoints))
    last = marks[-1] if marks else 0
    request = SolveRequest(game=game, algorithm=record, locks=locked or None, seed=seed, iters=last)
    request.check()
    solver = make_solver(request)
    sums = _Sums(game, locked)
    points = []
    strategy = solver.current_policy().probabilities
    for begin, end in pairwise([0, *marks]):
        for _ in range(end - begin):
            solver.step()
            new = solver.current_policy().probabilities
            sums.add(strategy, new, alternating=solver.algorithm.variant.alternating)
            strategy = new
        points.append(sums.point(int(end)))
    return tuple(points)


class _Sums:
    """The sums over iterations from which regrets are read."""

    def __init__(self, game: FlatGame, locks: Locks) -> None:
        n = game.n_sequences
        self.game = game
        self.locks = part_locks(game, game.chunks, locks)
        self.free = locks.probabilities() == FREE
        """bool (sequences,): which actions are not locked."""
        self.regret = np.zeros(n)
        """Counterfactual regrets, by sequence."""
        self.gradient = np.zeros(n)
        """Payoffs per unit of own reach, by sequence: what a best fixed strategy is chosen by."""
        self.earned = np.zeros(game.n_players)
        """What the strategies that were played earned."""

    def add(self, strategy: np.ndarray, new: np.ndarray, *, alternating: bool) -> None:
        """One iteration, by the strategies with which it began and ended, float64 (sequences,)
        each; if players alternate, they met the new strategies of those before them."""
        form = self.game.form
        reach, reach_new = np.empty(len(strategy)), np.empty(len(strategy))
        realization_plan(form, strategy, reach)
        realization_plan(form, new, reach_new)
        value = np.empty(len(strategy))
        for player in range(self.game.n_players):
            self.earned[player] += add_regrets(
                form, player, strategy, reach, value, self.gradient, self.regret, self.locks
            )
            if alternating:
                own = slice(form.player_sequences[player], form.player_sequences[player + 1])
                reach[own] = reach_new[own]

    @np.errstate(over="ignore")
    def point(self, iteration: int) -> RegretPoint:
        """What the sums say; those beyond the range of floats are infinite."""
        game, form = self.game, self.game.form
        owner = form.owners[0]
        free = self.free & (owner >= 0)
        actions = np.bincount(owner[free], minlength=game.n_infosets)
        infoset = np.full(game.n_infosets, -np.inf)
        np.maximum.at(infoset, owner[free], self.regret[free])
        infoset[actions == 0] = 0.0
        best = np.empty(game.n_players)
        best_total(form, self.gradient.copy(), best, self.locks)
        infoset_bound = np.zeros(game.n_infosets)
        overall_bound, immediate = [], []
        for player in range(game.n_players):
            own = slice(form.player_infosets[player], form.player_infosets[player + 1])
            utilities = game.utilities[:, player]
            spread = float(utilities.max() - utilities.min())
            bound = spread * float(np.sqrt(actions[own].max(initial=1) * iteration))
            has_choice = actions[own] > 0
            infoset_bound[own][has_choice] = bound
            overall_bound.append(np.count_nonzero(has_choice) * bound)
            positive = np.maximum(infoset[own], 0.0).sum() / iteration
            immediate.append(float(positive * game.unit))
        return RegretPoint(
            iteration=iteration,
            infoset=infoset * game.unit,
            overall=tuple(((best - self.earned) * game.unit).tolist()),
            played=tuple((self.earned / iteration * game.unit).tolist()),
            immediate=tuple(immediate),
            infoset_bound=infoset_bound,
            overall_bound=tuple(map(float, overall_bound)),
        )
