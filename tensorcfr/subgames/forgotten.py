"""Solutions without the strategies of their subgames, which are solved again on demand."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from .._util.argument_checks import EXACT, Whole, checked
from ..algorithms import CFR_D
from ..evaluation.profile import REACH, profile_of
from ..solvers.problem import Problem
from ..solvers.solution import Solution
from .cfr_d import DecomposedSolver, DecomposedState, cut_game_of

ITERATIONS = 1000
"""Default number of iterations on a subgame for each player."""


@checked()
def forget_subgames(
    solution: Solution, *, iters: Annotated[int, Whole(1, EXACT)] = ITERATIONS
) -> Solution:
    """Remove the strategies in the chunks from a solution: of a turn or a flop, the rivers.

    The result keeps the strategies and values of the trunk, so the trunk looks as before. It also
    keeps the best-response value of every entry of a chunk. A chunk is solved again when it is
    read, from the ranges that enter it. This uses, for each player, the gadget of Burch,
    Johanson and Bowling (2014). With each hand the opponent may take the value of a best response
    to the forgotten strategies. :meth:`tensorcfr.analysis.SolvedSpot.exactness` reports how much
    more a best response may then earn. In a game that is not zero-sum, such as a spot with rake,
    there is no guarantee before that is known.

    The algorithm of the result is CFR-D, whose solutions have this form. The result can be saved,
    loaded and read, but not resumed.

    Args:
        solution: The solution, by an algorithm that stores only regrets.
        iters: Number of iterations on a chunk, for each player, when it is read.

    Raises:
        ValueError: The game has no chunks, or chunks below chunks; some infosets are locked; or the
            algorithm stores more than regrets.
    """
    game = solution.game
    if not game.chunks.n_chunks:
        raise ValueError(f"{game.name} is not in chunks: there are no chunks to forget")
    if solution.locks:
        raise ValueError("a solution with locks cannot forget subgames: they may have locks, too")
    record = CFR_D(variant=solution.algorithm, resolve_iterations=iters)
    cut_game_of(game, record.cut)
    profile = profile_of(solution.policy)
    known = profile.known
    trunk = solution.policy.part(0)[: game.chunks.trunk.n_sequences].copy()
    trunk[game.chunks.trunk.player_sequences[:-1]] = 1.0
    state = DecomposedState(
        regret=np.zeros_like(trunk),
        strategy=trunk,
        reach=profile.of_part(0)[REACH],
        # The strategy itself, not own reaches: a reach of 0 would lose the strategies below it.
        cumulative=trunk,
        root_values=known.best,
        touched=np.array([solution.nodes_touched, solution.decision_nodes_touched]),
        trunk_values=known.trunk,
    )
    problem = Problem(game, record)
    state = DecomposedSolver.restore(problem, DecomposedSolver.stored_arrays(state))
    return replace(
        solution,
        algorithm=record,
        policy=DecomposedSolver.policy_of(problem, state),
        evaluation_is_checked=False,
        state=state,
        best=None,
        exact=None,
    )
