"""Warm starts: initial regrets and strategies from an earlier solution or from strategies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..algorithms import Algorithm, Record, find_algorithm
from ..evaluation.profile import STRATEGY, VALUE, ProfileValues
from ..formats.policies import find_policy
from ..kernels import evaluation
from ..kernels.pass_arrays import plain_numbers
from ..model.chunked_form import ChunkedForm, ChunkLocks, buckets_by_part
from ..model.compiled_game import CompiledGame
from ..model.locks import LocksLike, locks_for
from ..model.policy import Policy
from .base import Setting, merges_alike, solver_class
from .solution import Solution
from .state import made_strategies

WarmStart = Solution | Policy | Mapping[str, Mapping[str, float]] | Any
"""A solution, whose regrets are taken if it has any, or strategies in any form that
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
    """Create the initial state for ``Solver(game, algorithm, state=...)``, with an empty average.

    Args:
        game: The game that will be solved.
        algorithm: The algorithm that will solve it: a variant that passes over the whole game.
        given: A solution of a game with the same infosets, by any algorithm: its regrets are taken
            unchanged, and so is its next strategy.  A game in chunks begins with the regret
            matching strategy of these regrets, if the rule matches regrets.  Or strategies, which a
            solution without regrets also provides: they are converted to regrets from which regret
            matching makes them.
        iterations: Number of regret matching iterations for which given strategies count; see
            :func:`regrets_for`.
        locks: Locks of the solver.
        precision: Precision of the solver's arrays.

    Raises:
        ValueError: ``given`` is of a game with other infosets, strategies are given to a rule that
            does not match regrets, or the algorithm does not pass over the whole game.
    """
    record = find_algorithm(algorithm)
    if not isinstance(record, Algorithm):
        raise ValueError(
            f"{record.name} takes no warm start: the variants that pass over the whole game do"
        )
    if not 0 < iterations < np.inf:
        raise ValueError(f"a warm start counts for iterations above 0, not {iterations!r}")
    setting = Setting(game, record, locks_for(game, locks))
    kind = solver_class(record, game)
    assert kind is not None
    regret, strategy = _begin(setting, given, iterations)
    return kind.begin(setting, regret, strategy, precision=precision)


def _begin(setting: Setting, given: WarmStart, iterations: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute the initial regrets and behaviour strategy, float64 (numbers of a solver,) each."""
    game, rule, form = setting.game, setting.algorithm.rule, setting.form
    to = setting.merged_numbers
    if isinstance(given, Solution):
        if given.state is not None:
            return _regrets_of(game, form, to, given)
        given = given.policy
    if rule.exponential:
        raise ValueError(
            f"{rule.name} does not match regrets: a warm start from strategies is for rules "
            "that do; start from the regrets of a solution"
        )
    if not isinstance(given, Policy):
        given = find_policy(game, given, "warm_start")
    played = _carried(given.game, given.probabilities, game)
    strategy = averaged(form, to, played)
    return regrets_for(form, strategy, iterations, setting.part_locks), strategy


def _carried(
    there: CompiledGame, numbers: np.ndarray, game: CompiledGame, *, shares: bool = False
) -> np.ndarray:
    """Convert numbers of a game, float64 (numbers,), to another game with the same infosets.

    If one infoset of ``game`` represents several infosets of ``there``, their numbers are summed.
    With ``shares``, a number that represents several infosets is their sum, and each gets an equal
    share.
    """
    if game is there or game.digest == there.digest or _lie_alike(game, there):
        return numbers.copy()
    if (there.n_infosets, there.n_sequences) != (game.n_infosets, game.n_sequences):
        raise _other_infosets(game, there)
    found = np.zeros(game.n_numbers)
    for player in range(there.n_players):
        for rows in there.rows(player):
            values = numbers[rows.numbers] / (rows.multiplicity[:, None] if shares else 1.0)
            for label, actions, row in zip(rows.labels, rows.actions, values, strict=True):
                try:
                    _, acts, own, at = game.locate(label)
                except KeyError:
                    raise _other_infosets(game, there) from None
                if (acts, own) != (player, actions):
                    raise _other_infosets(game, there)
                found[at] += row
    return found


def _lie_alike(game: CompiledGame, other: CompiledGame) -> bool:
    """Return whether two games without chunks have the same infosets at the same numbers.

    Their payoffs may differ.
    """
    here, there = game.chunks, other.chunks
    layout = ("player_sequences", "bucket_sequence", "bucket_actions", "infoset_parent")
    if here.n_chunks or there.n_chunks:
        return False
    if not all(np.array_equal(getattr(here.trunk, n), getattr(there.trunk, n)) for n in layout):
        return False
    return all(
        # Older files have labels of Leduc that end in a blank.
        [label.rstrip(" ") for label in one.labels] == [label.rstrip(" ") for label in two.labels]
        and one.actions == two.actions
        for player in range(game.n_players)
        for one, two in zip(game.rows(player), other.rows(player), strict=True)
    )


def _other_infosets(game: CompiledGame, other: CompiledGame) -> ValueError:
    return ValueError(
        f"a warm start of {game.name} needs strategies or a solution of a game with the same "
        f"infosets and actions, which {other.name} has not"
    )


def _regrets_of(
    game: CompiledGame, form: ChunkedForm, to: np.ndarray | None, solution: Solution
) -> tuple[np.ndarray, np.ndarray]:
    """Convert the last regrets and strategy of a solution to the numbers of a solver."""
    there, record = solution.game, solution.algorithm
    # The unit is 1 except in games with extreme payoffs.
    scale = there.unit / game.unit
    strategy = averaged(form, to, _carried(there, solution.last_policy.probabilities, game))
    lies_alike = record.passes_whole_game and not there.chunks.n_chunks and _lie_alike(game, there)
    if lies_alike and merges_alike(solution.setting.merged_numbers, to):
        # The arrays have the same numbers, so that they are copied without rounding.
        played = solution.state.strategy.astype(np.float64)
        return solution.state.regret * np.float64(scale), played
    kind = solver_class(record, there)
    assert kind is not None
    regret = kind.whole_regrets(solution.setting, solution.state)
    whole = _carried(there, regret * scale, game, shares=True)
    if to is None:
        return whole, strategy
    # A merged number is the sum of the regrets that it represents.
    found = np.bincount(to, weights=whole, minlength=form.n_numbers)
    found[form.trunk.player_sequences[:-1]] = 0.0
    return found, strategy


def regrets_for(
    form: ChunkedForm,
    strategy: np.ndarray,
    iterations: float,
    locks: ChunkLocks | None = None,
) -> np.ndarray:
    """Compute regrets from which regret matching makes given strategies, float64 (numbers,).

    Regret matching bounds the squares of an infoset's positive regrets: after ``T`` iterations
    their sum is at most ``T |A|`` times the square of the counterfactual range.  The regrets here
    attain that bound, with the largest counterfactual value under the strategies in place of the
    range.  They are proportional to the strategies, which are those of the first iteration.

    Only the scale is that of N. Brown, T. Sandholm, "Strategy-Based Warm Starting for Regret
    Minimization in Games", AAAI 2016.  There the given strategies are an average of ``T``
    iterations, and the regrets ``T (v'(a) - v')`` are regrets that such iterations may have
    produced.  The value ``v'`` of an infoset is set so high that the positive regrets attain the
    bound.  The next strategy there is a soft best response to the given strategies, not the
    strategies themselves.

    Args:
        form: The form over which the solver will pass.
        strategy: float64 (numbers,): the strategies; modified where they are locked.
        iterations: ``T``.
        locks: Locked infosets, where the strategies play the locks instead; or None.
    """
    profile = ProfileValues(form, plain_numbers(strategy), locks)
    regret = np.zeros(form.n_numbers)
    for part, (base, buckets) in enumerate(buckets_by_part(form)):
        table = profile.of_part(part)
        for first, actions, lanes in zip(*buckets, strict=True):
            own, shape = slice(first, first + actions * lanes), (actions, lanes)
            sigma, q = table[STRATEGY, own].reshape(shape), table[VALUE, own].reshape(shape)
            strategy[base + own.start : base + own.stop] = sigma.ravel()
            # Norm of the regrets at the bound: sqrt(T |A|) times the range.
            length = np.sqrt(iterations * actions) * np.abs(q).max(axis=0)
            found = sigma * (length / np.linalg.norm(sigma, axis=0))
            regret[base + own.start : base + own.stop] = found.ravel()
    return regret


def averaged(form: ChunkedForm, to: np.ndarray | None, whole: np.ndarray) -> np.ndarray:
    """Convert strategies of a game to a solver's form, averaged over infosets that are merged.

    Args:
        form: The form over which the solver passes.
        to: Number in the form of each number of the game; None if they are the same.
        whole: float64 (numbers of the game,): the strategies.
    """
    if to is None:
        # Where several infosets were added up, their strategies are not yet a distribution.
        return made_strategies(form, plain_numbers(whole), 0.0, None) if form.n_chunks else whole
    found = np.empty(form.n_numbers)
    found[to] = whole
    if np.array_equal(found[to], whole):
        return found
    weight = np.bincount(to, weights=whole, minlength=form.n_numbers)
    return evaluation.normalise(form.trunk, weight)
