"""Solutions without their subgames, which are solved again where they are looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from .._util.arguments import EXACT, Whole, checked
from ..algorithms import CFR_D
from ..evaluation.profile import REACH, profile_of
from ..solvers.base import Setting
from ..solvers.solution import Solution
from .cfr_d import DecomposedSolver, DecomposedState, cut_game_of

ITERATIONS = 1000
"""Iterations on a subgame for each player, where nothing is said."""


@checked()
def forget_subgames(
    solution: Solution, *, iters: Annotated[int, Whole(1, EXACT)] = ITERATIONS
) -> Solution:
    """A solution of a game in chunks without the strategies in the chunks: of a turn or a flop,
    without the rivers.

    It keeps strategies and values of the trunk, and what every entry of a chunk is worth to a best
    response.  So the trunk looks as before.
    A chunk is solved again when it is looked at, from the ranges that enter it: for each player
    with the gadget of Burch, Johanson and Bowling (2014), in which the opponent may take, with each
    hand, what a best response to the forgotten strategies earns.  By how much a best response may
    then earn more, :meth:`tensorcfr.analysis.SolvedSpot.exactness` says.  Where the game is not
    zero-sum, a spot with rake say, nothing is promised before that is known.

    The algorithm of the result is CFR-D, whose solutions have this form.  It can be saved, loaded
    and looked at, and not gone on from.

    Args:
        solution: The solution, by an algorithm that keeps regrets alone.
        iters: Iterations on a chunk, for each player, when it is looked at.

    Raises:
        ValueError: The game has no chunks, or chunks below chunks; some infosets are locked; or the
            algorithm keeps more than regrets.
    """
    game = solution.game
    if not game.chunks.n_chunks:
        raise ValueError(f"{game.name} is solved in one piece: there are no chunks to forget")
    if solution.locks:
        raise ValueError("a solution with locks keeps its subgames: they may be locked, too")
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
        # Own reaches would lose the strategies that nobody reaches.
        cumulative=trunk,
        root_values=known.best,
        touched=np.array([solution.nodes_touched, solution.decision_nodes_touched]),
        trunk_values=known.trunk,
    )
    setting = Setting(game, record)
    state = DecomposedSolver.restore(setting, DecomposedSolver.kept(state))
    return replace(
        solution,
        algorithm=record,
        policy=DecomposedSolver.policy_of(setting, state),
        evaluation_is_checked=False,
        state=state,
        best=None,
        exact=None,
    )
