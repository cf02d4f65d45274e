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
    DCFR_PLUS,
    HEDGE,
    LCFR,
    LP,
    PCFR_PLUS,
    PDCFR_PLUS,
    Algorithm,
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
    best_response,
    evaluate,
    expected_values,
    exploitability,
    nash_conv,
)
from .games import GAMES
from .kernels.rules import LocalRule
from .policy import Policy
from .rules import Chance, Decision, Game, Payoff, PublicTreeGame, Terminal
from .solution import Solution, Status
from .solver import Solver

__all__ = [
    "ALGORITHMS",
    "CFR",
    "CFR_PLUS",
    "DCFR",
    "DCFR_PLUS",
    "GAMES",
    "HEDGE",
    "LCFR",
    "LP",
    "PCFR_PLUS",
    "PDCFR_PLUS",
    "Algorithm",
    "Chance",
    "CompiledGame",
    "Decision",
    "Game",
    "GameError",
    "ImperfectRecallError",
    "InvariantError",
    "LocalRule",
    "MemoryLimitError",
    "MissingExtraError",
    "Payoff",
    "Policy",
    "Progress",
    "PublicTreeGame",
    "Solution",
    "Solver",
    "Status",
    "Terminal",
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
