"""tensorcfr: solve extensive-form games of imperfect information.

>>> from tensorcfr import compile_game, solve
>>> solution = solve(compile_game("kuhn"), iters=1000)
>>> round(solution.value[0], 3)
-0.056

:func:`compile_game` reads the rules once.  ``game.tree`` is the history tree as flat arrays
(:class:`~tensorcfr.model.arrays.HistoryTree`): ``parent``, ``first_child``, ``player`` and
``infoset`` by node, and ``utility`` by terminal and player.  ``game.form`` is the sequence form
(:class:`~tensorcfr.model.arrays.SequenceForm`).  :func:`solve` passes over it in every iteration,
or over a smaller form in which symmetric infosets are merged.  A backward pass computes
counterfactual values and updates regrets; a forward pass computes reaches and updates the average
strategy.  :mod:`tensorcfr.kernels` describes the passes.
"""

from typing import TYPE_CHECKING, Any

from ._util.compiles import announce_compiles
from ._util.version import __version__ as __version__
from .algorithms import ALGORITHMS, Algorithm, register
from .compilers import compile_game
from .errors import GameError, MemoryLimitError
from .evaluation import best_response, evaluate, exploitability, nash_conv
from .games import GAMES
from .kernels.local_rule import LocalRule
from .model.compiled_game import CompiledGame
from .model.flat_game import FlatGame
from .model.locks import Locks
from .model.policy import Policy
from .model.team_game import TeamGame, team_game
from .rules import (
    CardGame,
    Chance,
    Deal,
    Decision,
    Fold,
    Game,
    Payoff,
    PublicTreeGame,
    Runout,
    Showdown,
    SidePots,
    Terminal,
)
from .solvers.driver import solve
from .solvers.sampled_solver import SampledSolver
from .solvers.solution import Solution
from .solvers.solver import Solver
from .storage import load_game, save_game

announce_compiles()

if TYPE_CHECKING:
    from . import deep as deep
    from .subgames import belief, put_back, resolve, subgame

__all__ = [
    "ALGORITHMS",
    "GAMES",
    "Algorithm",
    "CardGame",
    "Chance",
    "CompiledGame",
    "Deal",
    "Decision",
    "FlatGame",
    "Fold",
    "Game",
    "GameError",
    "LocalRule",
    "Locks",
    "MemoryLimitError",
    "Payoff",
    "Policy",
    "PublicTreeGame",
    "Runout",
    "SampledSolver",
    "Showdown",
    "SidePots",
    "Solution",
    "Solver",
    "TeamGame",
    "Terminal",
    "belief",
    "best_response",
    "compile_game",
    "evaluate",
    "exploitability",
    "load_game",
    "nash_conv",
    "put_back",
    "register",
    "resolve",
    "save_game",
    "solve",
    "subgame",
    "team_game",
]


def __getattr__(name: str) -> Any:
    """Import a part of the package that a solve does not need, on first access."""
    from importlib import import_module

    if name == "deep":
        return import_module(".deep", __name__)
    if name in ("belief", "put_back", "resolve", "subgame"):
        return getattr(import_module(".subgames", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "deep"})
