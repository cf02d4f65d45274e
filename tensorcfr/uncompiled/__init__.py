"""Games that are never compiled: histories and infosets are created when a play first visits them.

A game too large for arrays over all its infosets is played by its rules.  Infosets enter a table
when they are first visited (:mod:`~tensorcfr.uncompiled.infosets`).  Histories are made one action
at a time (:mod:`~tensorcfr.uncompiled.histories`) and enter a growing tree
(:mod:`~tensorcfr.uncompiled.tree`), which the kernels of compiled games traverse.
"""

from .game import UncompiledGame
from .policy import TablePolicy

__all__ = ["TablePolicy", "UncompiledGame"]
