"""Strategies of a solution in a game with the same infosets and other utilities."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from .._util.argument_checks import Kind, checked
from ..evaluation import evaluate
from ..evaluation.player_models import locks_of_model
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled
from ..model.locks import Locks
from ..model.policy import Policy
from ..model.same_numbers import have_same_numbers
from ..solvers.solution import Solution


def policy_in(game: CompiledGame, policy: Policy) -> Policy:
    """Return strategies as those of a game with the same infosets.

    Raises:
        ValueError: The infosets differ; names both games.
    """
    if not have_same_numbers(game, policy.game):
        raise ValueError(
            f"{policy.game.name} and {game.name} differ in more than utilities: their strategies "
            "cannot be compared"
        )
    return Policy(game, np.array(policy.probabilities))


def _locks_in(game: CompiledGame, locks: Locks) -> Locks:
    """Return locks as those of a game with the same infosets, to which a model must apply."""
    if locks.model is None:
        return Locks(game, locks)
    model = locks.model
    return locks_of_model(game, model.numbers, model.player, model.method, model.weight)


@checked()
def restate(
    solution: Annotated[Solution, Kind((Solution,), "a solution")], game: Compiled
) -> Solution:
    """Return the strategies of a solution as a solution of a game with other utilities.

    Chips and prizes of a tournament, or different rakes, are utilities of games with the same
    infosets. The result has the values and the best responses of the other game. It has no trace
    and no solver arrays, whose numbers are in the unit of the first game.

    Args:
        solution: A solution.
        game: A game with the same infosets and actions.

    Raises:
        ValueError: The infosets or actions differ; names both games.  Or the solution responds to
            a model, and the utilities of ``game`` do not have a constant sum.
    """
    if solution.game.digest == game.digest:
        return solution
    policy = policy_in(game, solution.policy)
    locks = None if solution.locks is None else _locks_in(game, solution.locks)
    return replace(
        solution,
        game=game,
        policy=policy,
        evaluation=evaluate(game, policy, locks=locks),
        locks=locks,
        trace=(),
        state=None,
        best=None,
        exact=None,
        evaluation_is_checked=True,
    )
