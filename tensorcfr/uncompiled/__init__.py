"""Games that are never compiled: histories and infosets that are met as plays come to them.

A game too large for arrays over all its infosets is played by its rules.  Infosets enter a table
when they are first visited (:mod:`~tensorcfr.uncompiled.infosets`), histories are made one step at
a time (:mod:`~tensorcfr.uncompiled.histories`) and enter a tree that grows
(:mod:`~tensorcfr.uncompiled.tree`), over which the kernels of compiled games traverse.
"""

from .game import UncompiledGame
from .policy import TablePolicy

__all__ = ["TablePolicy", "UncompiledGame"]
