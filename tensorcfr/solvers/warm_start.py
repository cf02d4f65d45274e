"""Warm starts: initial regrets and strategies from an earlier solution or from strategies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..algorithms import Algorithm, Record, find_algorithm
from ..evaluation.player_models import part_locks
from ..evaluation.profile import STRATEGY, VALUE, ProfileValues
from ..formats.policies import find_policy
from ..kernels import evaluation
from ..kernels.pass_arrays import plain_numbers
from ..model.chunked_form import ChunkedForm, ChunkLocks, buckets_by_part
from ..model.chunked_game import have_same_numbers
from ..model.compiled_game import CompiledGame
from ..model.flat_game import equal_merging
from ..model.locks import LocksLike, locks_for
from ..model.policy import Policy
from .base import solver_class
from .problem import Problem
from .solution import Solution
from .solver_state import strategies_from_weights

SYMMETRY_TOLERANCE = 1e-9
"""Largest difference of numbers that count as equal, relative to the largest of them."""

WarmStart = Solution | Policy | Mapping[str, Mapping[str, float]] | Any
"""A solution, whose regrets are taken if it has any, or strategies in any form that
:func:`tensorcfr.formats.find_policy` reads."""


def warm_state(
    game: CompiledGame,
    algorithm: str | Record,
    source: WarmStart,
    *,
    iterations: float = 1.0,
    locks: LocksLike | None = None,
    precision: str = "float64",
) -> Any:
    """Create the initial state for ``Solver(game, algorithm, state=...)``, with an empty average.

    Args:
        game: The game that will be solved.
        algorithm: The algorithm that will solve it: a variant that passes over the whole game.
        source: A solution of a game with the same infosets, by any algorithm: its regrets are taken
            unchanged, and so is its next strategy.  A game in chunks begins with the regret
            matching strategy of these regrets, if the rule matches regrets.  Or strategies, which a
            solution without regrets also provides: they are converted to regrets from which regret
            matching makes them.
        iterations: Number of regret matching iterations for which given strategies count; see
            :func:`regrets_for`.
        locks: Locks of the solver.
        precision: Precision of the solver's arrays.

    Raises:
        ValueError: ``source`` is of a game with other infosets, strategies are given to a rule that
            does not match regrets, or the algorithm does not pass over the whole game.
    """
    record = find_algorithm(algorithm)
    if not isinstance(record, Algorithm):
        raise ValueError(
            f"{record.name} takes no warm start: only variants that pass over the whole game do"
        )
    if not 0 < iterations < np.inf:
        raise ValueError(f"iterations must be above 0, not {iterations!r}")
    problem = Problem(game, record, locks_for(game, locks))
    solver_type = solver_class(record, game)
    assert solver_type is not None
    regret, strategy = _begin(problem, source, iterations)
    return solver_type.begin(problem, regret, strategy, precision=precision)


def _begin(problem: Problem, source: WarmStart, iterations: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute the initial regrets and behaviour strategy, float64 (numbers of a solver,) each."""
    game, rule, form = problem.game, problem.algorithm.rule, problem.form
    merged_number = problem.merged_numbers
    if isinstance(source, Solution):
        if source.state is not None:
            return _regrets_of(problem, source)
        source = source.policy
    if rule.exponential:
        raise ValueError(
            f"{rule.name} does not match regrets, so that it cannot start from strategies: "
            "start from the regrets of a solution"
        )
    if not isinstance(source, Policy):
        source = find_policy(game, source, "warm_start")
    played = _convert(source.game, source.probabilities, game)
    if merged_number is None or game.nodes is not None:
        strategy = averaged(form, merged_number, played)
        return regrets_for(form, strategy, iterations, problem.part_locks), strategy
    # The scale of the regrets follows from values, which payoffs change that move to other
    # sequences.
    locked = part_locks(game, game.chunks, problem.locks)
    regret = regrets_for(game.chunks, played, iterations, locked)
    return _summed(form, merged_number, regret), averaged(form, merged_number, played)


def _convert(
    source_game: CompiledGame, numbers: np.ndarray, game: CompiledGame, *, splits_sums: bool = False
) -> np.ndarray:
    """Convert numbers of a game, float64 (numbers,), to another game with the same infosets.

    If one infoset of ``game`` represents several infosets of ``source_game``, their numbers are
    summed.  With ``splits_sums``, a number that represents several infosets is their sum, and
    each of them gets an equal part.
    """
    if (
        game is source_game
        or game.digest == source_game.digest
        or have_same_numbers(game, source_game)
    ):
        return numbers.copy()
    if (source_game.n_infosets, source_game.n_sequences) != (game.n_infosets, game.n_sequences):
        raise _infosets_differ(game, source_game)
    converted = np.zeros(game.n_numbers)
    for player in range(source_game.n_players):
        for rows in source_game.rows(player):
            values = numbers[rows.numbers] / (rows.multiplicity[:, None] if splits_sums else 1.0)
            for label, actions, row in zip(rows.labels, rows.actions, values, strict=True):
                try:
                    _, acting_player, own_actions, positions = game.locate(label)
                except KeyError:
                    raise _infosets_differ(game, source_game) from None
                if (acting_player, own_actions) != (player, actions):
                    raise _infosets_differ(game, source_game)
                converted[positions] += row
    return converted


def _infosets_differ(game: CompiledGame, source_game: CompiledGame) -> ValueError:
    return ValueError(
        f"a warm start of {game.name} needs strategies or a solution of a game with the same "
        f"infosets and actions, and those of {source_game.name} differ"
    )


def _regrets_of(problem: Problem, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Convert the last regrets and strategy of a solution to the numbers of a solver."""
    game, form, merged_number = problem.game, problem.form, problem.merged_numbers
    source_game, record = solution.game, solution.algorithm
    # The unit is 1 except in games with extreme payoffs.
    scale = source_game.unit / game.unit
    played = _convert(source_game, solution.last_policy.probabilities, game)
    strategy = averaged(form, merged_number, played)
    same_numbers = (
        record.passes_whole_game
        and not source_game.chunks.n_chunks
        and have_same_numbers(game, source_game)
    )
    if same_numbers and equal_merging(solution.problem.merged, problem.merged):
        # The arrays have the same numbers, so that they are copied without rounding.
        played = solution.state.strategy.astype(np.float64)
        return solution.state.regret * np.float64(scale), played
    solver_type = solver_class(record, source_game)
    assert solver_type is not None
    regret = solver_type.whole_regrets(solution.problem, solution.state)
    whole = _convert(source_game, regret * scale, game, splits_sums=True)
    if merged_number is None:
        return whole, strategy
    return _summed(form, merged_number, whole), strategy


def _summed(form: ChunkedForm, merged_number: np.ndarray, regret: np.ndarray) -> np.ndarray:
    """Sum the regrets that each merged number represents, float64 (numbers of a solver,)."""
    merged = np.bincount(merged_number, weights=regret, minlength=form.n_numbers)
    merged[form.trunk.player_sequences[:-1]] = 0.0
    if form.trunk.copies is None:
        return merged
    members = np.bincount(merged_number, minlength=form.n_numbers)
    return _symmetric(form, merged_number, regret, merged, members)


class UnsymmetricStartError(ValueError):
    """A warm start distinguishes infosets or actions that are merged in a game of hidden moves."""

    def __init__(self) -> None:
        super().__init__(
            "the warm start distinguishes infosets or actions that the game has merged: compile it "
            "with symmetry=False"
        )


def _symmetric(
    form: ChunkedForm,
    to: np.ndarray,
    whole: np.ndarray,
    merged: np.ndarray,
    members: np.ndarray | float,
) -> np.ndarray:
    """Return merged numbers with equal numbers of copies.

    Args:
        form: The form over which the solver passes.
        to: Number in the form of each number of the game.
        whole: float64 (numbers of the game,).
        merged: float64 (numbers of the form,).
        members: Number of numbers of the game that each merged number is the sum of.

    Raises:
        UnsymmetricStartError: The numbers of the game differ where they are merged.
    """
    equal = form.trunk.with_equal_copies(merged)
    infoset, _ = form.trunk.owners
    acts = infoset[to] >= 0
    error = np.abs((equal / members)[to] - whole)[acts]
    if error.max(initial=0.0) > SYMMETRY_TOLERANCE * np.abs(whole[acts]).max(initial=0.0):
        raise UnsymmetricStartError
    return equal


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
            sequences, shape = slice(first, first + actions * lanes), (actions, lanes)
            sigma = table[STRATEGY, sequences].reshape(shape)
            q = table[VALUE, sequences].reshape(shape)
            strategy[base + sequences.start : base + sequences.stop] = sigma.ravel()
            # Norm of the regrets at the bound: sqrt(T |A|) times the range.
            length = np.sqrt(iterations * actions) * np.abs(q).max(axis=0)
            regrets = sigma * (length / np.linalg.norm(sigma, axis=0))
            regret[base + sequences.start : base + sequences.stop] = regrets.ravel()
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
        strategy = (
            strategies_from_weights(form, plain_numbers(whole), 0.0, None)
            if form.n_chunks
            else whole
        )
    else:
        strategy = np.empty(form.n_numbers)
        strategy[to] = whole
        if not np.array_equal(strategy[to], whole):
            weight = np.bincount(to, weights=whole, minlength=form.n_numbers)
            strategy = evaluation.normalise(form.trunk, weight)
        if form.trunk.copies is not None:
            strategy = _symmetric(form, to, whole, strategy, 1.0)
    # Strategies that were converted by label have no empty sequences.
    strategy[form.trunk.player_sequences[:-1]] = 1.0
    return strategy
