"""tensorcfr: extensive-form games of imperfect information, compiled once and swept.

>>> from tensorcfr import compile_game, solve
>>> solution = solve(compile_game("kuhn"), iters=1000)
>>> round(solution.value[0], 3)
-0.056
"""

from .algorithms import (
    ALGORITHMS,
    CFR,
    CFR_PLUS,
    DCFR,
    Algorithm,
    Sampling,
    register,
)
from .compiled import CompiledGame
from .compilers import compile_game
from .driver import Progress, solve
from .errors import (
    GameError,
    ImperfectRecallError,
    InvariantError,
    MemoryLimitError,
    MissingExtraError,
)
from .evaluation import (
    BestResponse,
    Evaluation,
    best_response,
    evaluate,
    expected_values,
    exploitability,
    nash_conv,
)
from .games import GAMES
from .kernels.local_rule import LocalRule
from .locks import Locks
from .policy import Policy
from .rules import Chance, Decision, Game, Payoff, PublicTreeGame, Terminal
from .sampled_solver import SampledSolver
from .solution import BestIterate, Solution, Status, TracePoint
from .solver import Solver

__all__ = [
    "ALGORITHMS",
    "CFR",
    "CFR_PLUS",
    "DCFR",
    "GAMES",
    "Algorithm",
    "BestIterate",
    "BestResponse",
    "Chance",
    "CompiledGame",
    "Decision",
    "Evaluation",
    "Game",
    "GameError",
    "ImperfectRecallError",
    "InvariantError",
    "LocalRule",
    "Locks",
    "MemoryLimitError",
    "MissingExtraError",
    "Payoff",
    "Policy",
    "Progress",
    "PublicTreeGame",
    "SampledSolver",
    "Sampling",
    "Solution",
    "Solver",
    "Status",
    "Terminal",
    "TracePoint",
    "best_response",
    "compile_game",
    "evaluate",
    "expected_values",
    "exploitability",
    "nash_conv",
    "register",
    "solve",
]
__version__ = "0.1.0"
