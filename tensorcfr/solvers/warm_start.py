"""Warm starts: the regrets and strategies that a solver begins with, from what is known already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..algorithms import Algorithm, Record, find_algorithm
from ..formats.policies import find_policy
from ..kernels import evaluation
from ..kernels.local_rule import LocalRule
from ..kernels.locks import impose
from ..kernels.regrets import add_regrets
from ..model.arrays import LockedLanes, SequenceForm
from ..model.game import CompiledGame
from ..model.locks import LocksLike, locks_for
from ..model.policy import Policy
from .base import form_for
from .kinds import solver_class
from .solution import Solution

WarmStart = Solution | Policy | Mapping[str, Mapping[str, float]] | Any
"""A solution, whose regrets are taken if it has any, or strategies, in any form that
:func:`tensorcfr.formats.find_policy` reads."""


def warm_state(
    game: CompiledGame,
    algorithm: str | Record,
    given: WarmStart,
    *,
    iterations: float = 1.0,
    locks: LocksLike | None = None,
    precision: str = "float64",
) -> Any:
    """What ``Solver(game, algorithm, state=...)`` begins with; nothing in the average yet.

    Args:
        game: The game that will be solved.
        algorithm: What will solve it: a variant that sweeps the game.
        given: A solution of a game with the same infosets, by any algorithm: its regrets as they
            are, and the strategy that it would have played next; a game in chunks begins with
            what regret matching makes of them, where the rule matches regrets.  Or strategies,
            which a solution without regrets gives too: regrets of which regret matching makes them.
        iterations: How many iterations of regret matching given strategies count for; see
            :func:`regrets_for`.
        locks: The locks that the solver will have.
        precision: Of the solver's arrays.

    Raises:
        ValueError: ``given`` is of a game with other infosets, strategies are given to a rule that
            does not match regrets, or the algorithm does not sweep the game.
    """
    record = find_algorithm(algorithm)
    if not isinstance(record, Algorithm):
        raise ValueError(
            f"{record.name} takes no warm start: the variants that pass over the whole game do"
        )
    if not 0 < iterations < np.inf:
        raise ValueError(f"a warm start counts for iterations above 0, not {iterations!r}")
    locked = locks_for(game, locks)
    kind = solver_class(record, game)
    assert kind is not None
    # Over the whole game where it is cut; the solver knows which of its numbers is which sequence.
    form = game.form if game.chunks is not None else form_for(game, record, locked)
    regret, strategy = _begin(game, form, locked.lanes(form), record.rule, given, iterations)
    return kind.begin(game, record, regret, strategy, precision=precision, locks=locked)


def _begin(
    game: CompiledGame,
    form: SequenceForm,
    locks: LockedLanes | None,
    rule: LocalRule,
    given: WarmStart,
    iterations: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative regrets and behaviour strategy, float64 (sequences of ``form``,)."""
    if isinstance(given, Solution):
        check_shape(game, given.game)
        if given.state is not None:
            return _regrets_of(game, form, given)
        given = given.policy
    if rule.exponential:
        raise ValueError(
            f"{rule.name} does not match regrets: a warm start from strategies is for rules that "
            "do; start from the regrets of a solution"
        )
    if isinstance(given, Policy):
        check_shape(game, given.game)
    else:
        given = find_policy(game, given, "warm_start")
    return regrets_for(game, form, given.probabilities, iterations, locks)


def check_shape(game: CompiledGame, other: CompiledGame) -> None:
    """Whether two games have the same infosets, whatever they pay.

    Raises:
        ValueError: They have not.
    """
    if game is other:
        return
    layout = ("player_sequences", "bucket_sequence", "bucket_actions", "infoset_parent")
    same = all(np.array_equal(getattr(game.form, n), getattr(other.form, n)) for n in layout)
    same = same and all(
        # Labels of Leduc ended in a blank in older files.
        label.rstrip(" ") == there.rstrip(" ") and actions == those
        for label, there, actions, those in zip(
            game.infoset_labels,
            other.infoset_labels,
            game.infoset_actions,
            other.infoset_actions,
            strict=True,
        )
    )
    if not same:
        raise ValueError(
            f"a warm start of {game.name} needs strategies or a solution of a game with the same "
            f"infosets and actions, which {other.name} has not"
        )


def _regrets_of(
    game: CompiledGame, form: SequenceForm, solution: Solution
) -> tuple[np.ndarray, np.ndarray]:
    """Those that a solution ended with."""
    there, strategy = solution.game, solution.last_policy.probabilities
    # The games may pay very differently; where neither is extreme, this is 1.
    scale = there.unit / game.unit
    if _merged_alike(game, form, solution):
        return solution.state.regret * np.float64(scale), averaged(game, form, strategy)
    kind = solver_class(solution.algorithm, there)
    assert kind is not None
    regret = kind.whole_regrets(there, solution.algorithm, solution.state, solution.locks)
    return _summed(game, form, regret * scale), averaged(game, form, strategy)


def _merged_alike(game: CompiledGame, form: SequenceForm, solution: Solution) -> bool:
    """Whether the arrays of a solution are over the sequences of a merged form, one for one."""
    there = solution.game
    if there.chunks is not None or form is game.form or solution.form is there.form:
        return False
    assert there.merged is not None
    assert game.merged is not None
    return np.array_equal(there.merged.sequence, game.merged.sequence)


def regrets_for(
    game: CompiledGame,
    form: SequenceForm,
    probabilities: np.ndarray,
    iterations: float,
    locks: LockedLanes | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Regrets of which regret matching makes given strategies, and the strategies.

    Regret matching bounds the squares of an infoset's positive regrets: after ``T`` iterations
    their sum is at most ``T |A|`` times the square of the counterfactual range.  Here they meet
    that bound, with the largest counterfactual value under the strategies in place of the range,
    in proportion to the strategies, which are those of the first iteration.

    Only the scale is that of N. Brown, T. Sandholm, "Strategy-Based Warm Starting for Regret
    Minimization in Games", AAAI 2016.  There the given strategies are an average of ``T``
    iterations, and the regrets those that it may have left, ``T (v'(a) - v')``: the value ``v'`` of
    an infoset is put so high that the positive ones meet the bound, and what is played next is a
    soft best response to the strategies, not the strategies.

    Args:
        game: The game.
        form: The form of it that will be swept.
        probabilities: float64 (sequences of the game,): the strategies.
        iterations: ``T``.
        locks: Locked infosets, where the strategies play the locks instead; or None.
    """
    strategy = averaged(game, form, probabilities)
    if locks is not None:
        impose(form, locks, strategy)
    reach, value, scratch, unused = np.zeros((4, form.n_sequences))
    evaluation.realization_plan(form, strategy, reach)
    for player in range(form.n_players):
        add_regrets(form, player, strategy, reach, value, scratch, unused, None)
    regret = np.zeros(form.n_sequences)
    shapes = (form.bucket_sequence, form.bucket_actions, form.bucket_lanes)
    for first, actions, lanes in zip(*(shape.tolist() for shape in shapes), strict=True):
        own = slice(first, first + actions * lanes)
        sigma, q = strategy[own].reshape(actions, lanes), value[own].reshape(actions, lanes)
        length = np.sqrt(iterations * actions) * np.abs(q).max(axis=0)
        regret[own] = (sigma * (length / np.linalg.norm(sigma, axis=0))).ravel()
    return regret, strategy


def _summed(game: CompiledGame, form: SequenceForm, whole: np.ndarray) -> np.ndarray:
    """Regrets of the whole game, summed where one infoset of the form stands for several."""
    if form is game.form:
        return whole.copy()
    assert game.merged is not None
    found = np.bincount(game.merged.sequence, weights=whole, minlength=form.n_sequences)
    found[form.player_sequences[:-1]] = 0.0
    return found


def averaged(game: CompiledGame, form: SequenceForm, whole: np.ndarray) -> np.ndarray:
    """Strategies of the whole game, averaged where one infoset of the form stands for several."""
    if form is game.form:
        return whole.copy()
    assert game.merged is not None
    found = np.empty(form.n_sequences)
    found[game.merged.sequence] = whole
    if np.array_equal(found[game.merged.sequence], whole):
        return found
    weight = np.bincount(game.merged.sequence, weights=whole, minlength=form.n_sequences)
    strategy = np.empty(form.n_sequences)
    evaluation.normalise(form, weight, strategy)
    return strategy
