"""Names of version 0.1 that moved; they go in version 0.3.

An old module is found through a finder on ``sys.meta_path`` and is the new module; an old method
calls the new function.  Both warn.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .model.game import CompiledGame
from .storage import load_game, save_game

MOVED = {
    "tensorcfr.compiled": "tensorcfr.model.game",
    "tensorcfr.driver": "tensorcfr.solvers.driver",
    "tensorcfr.expansion": "tensorcfr.model.expansion",
    "tensorcfr.labels": "tensorcfr.model.labels",
    "tensorcfr.locks": "tensorcfr.model.locks",
    "tensorcfr.policy": "tensorcfr.model.policy",
    "tensorcfr.regrets": "tensorcfr.analysis.regret_bounds",
    "tensorcfr.sampled_solver": "tensorcfr.solvers.sampled_solver",
    "tensorcfr.solution": "tensorcfr.solvers.solution",
    "tensorcfr.solver": "tensorcfr.solvers.solver",
    "tensorcfr.views": "tensorcfr.model.arrays",
    "tensorcfr.walkthrough": "tensorcfr.analysis.walkthroughs",
}
"""Old module names, and the modules that replace them."""

MOVED_NAMES = {
    "BestIterate": "tensorcfr.solvers",
    "BestResponse": "tensorcfr.evaluation",
    "CFR": "tensorcfr.algorithms",
    "CFR_PLUS": "tensorcfr.algorithms",
    "DCFR": "tensorcfr.algorithms",
    "Evaluation": "tensorcfr.evaluation",
    "ImperfectRecallError": "tensorcfr.errors",
    "InvariantError": "tensorcfr.errors",
    "MissingExtraError": "tensorcfr.errors",
    "Progress": "tensorcfr.solvers",
    "Sampling": "tensorcfr.algorithms",
    "Status": "tensorcfr.solvers",
    "TracePoint": "tensorcfr.solvers",
    "expected_values": "tensorcfr.evaluation",
}
"""Names that the package root had, and the package that has them now."""


def moved_name(package: str, name: str) -> Any:
    """A name that the package root had in version 0.1, with a warning.

    Raises:
        AttributeError: It never had that name.
    """
    if name not in MOVED_NAMES:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    new = MOVED_NAMES[name]
    warnings.warn(
        f"tensorcfr.{name} is now {new}.{name}; the old name goes in tensorcfr 0.3",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(importlib.import_module(new), name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the new module under the old name, with a warning."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in MOVED:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(
            f"{spec.name} is now {new}; the old name goes in tensorcfr 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        old = ModuleType(spec.name)
        old.__dict__.update(
            {k: v for k, v in vars(importlib.import_module(new)).items() if k[:2] != "__"}
        )
        return old

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: :meth:`create_module` fills the module."""


def _save(game: CompiledGame, path: str | Path) -> Path:
    warnings.warn(
        "CompiledGame.save(path) is now tensorcfr.save_game(game, path)",
        DeprecationWarning,
        stacklevel=2,
    )
    return save_game(game, path)


def _load(path: str | Path) -> CompiledGame:
    warnings.warn(
        "CompiledGame.load(path) is now tensorcfr.load_game(path)",
        DeprecationWarning,
        stacklevel=2,
    )
    return load_game(path)


def install() -> None:
    """Make the old names work."""
    sys.meta_path.append(_Finder())
    CompiledGame.save = _save  # type: ignore[attr-defined]
    CompiledGame.load = staticmethod(_load)  # type: ignore[attr-defined]
