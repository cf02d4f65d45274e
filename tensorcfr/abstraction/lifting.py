"""From strategies of an abstraction to strategies of the full game."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from .._util.arguments import Kind, checked
from ..model.policy import Policy
from ..solvers.solution import Solution
from .game import AbstractGame

SOURCE = Kind((Policy, Solution), "a solution or a policy of an abstraction")


@checked()
def lift(source: Annotated[Solution | Policy, SOURCE]) -> Policy:
    """A strategy of an abstraction as a strategy of the full game.

    Every infoset of the full game plays what its bucket plays.  Evaluating the result in the full
    game is exact:

    >>> from tensorcfr import compile_game, exploitability, solve
    >>> game = compile_game("kuhn")
    >>> from tensorcfr.abstraction import abstract
    >>> small = abstract(game, infosets=lambda label: label.replace("Q", "J"))
    >>> exploitability(game, lift(solve(small, "lp"))) > 0.1
    True

    Args:
        source: A solution, whose average strategy is lifted, or a policy.

    Raises:
        ValueError: It is of a game that is no abstraction, or no longer knows its full game, as
            after loading it from a file without ``game=``.
    """
    policy = source.policy if isinstance(source, Solution) else source
    game = policy.game
    if not isinstance(game, AbstractGame):
        raise ValueError(
            f"{game.name} is no abstraction, or was loaded from a file without game=, which gives "
            "the abstraction that it is of"
        )
    return Policy(game.full, np.array(policy.probabilities[game.sequence]))
