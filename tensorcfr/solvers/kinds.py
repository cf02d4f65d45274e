"""The kinds of solvers."""

from __future__ import annotations

from importlib import import_module

from ..algorithms import Record
from ..model.game import CompiledGame
from .base import IterativeSolver
from .chunked_solver import ChunkedSolver
from .correlated_solver import CorrelatedSolver
from .gap_solver import GapSolver
from .rules_solver import RulesSolver
from .sampled_solver import SampledSolver
from .solver import Solver
from .team_solver import TeamSolver
from .tied_solver import TiedSolver

SOLVERS: list[type[IterativeSolver]] = [
    ChunkedSolver,
    TeamSolver,
    TiedSolver,
    Solver,
    SampledSolver,
    CorrelatedSolver,
    GapSolver,
    RulesSolver,
]
"""The kinds; the first that fits runs a record.  Packages above this one add their own when they
are imported: ``Record.solver_package``."""


def solver_class(record: Record, game: CompiledGame) -> type[IterativeSolver] | None:
    """The kind of solver that runs an algorithm on a game; None where it does not iterate."""
    if record.solver_package is not None:
        import_module(record.solver_package)
    return next(
        (
            kind
            for kind in SOLVERS
            if isinstance(record, kind.records)
            and isinstance(game, kind.games)
            and kind.ties_infosets == (game.tied_to is not None)
        ),
        None,
    )
