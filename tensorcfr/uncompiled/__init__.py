"""Games that are never compiled: histories and infosets that are met as plays come to them.

A game too large for arrays over all its infosets is played by its rules.  Infosets enter a table
when they are first visited (:mod:`~tensorcfr.uncompiled.infosets`), histories are made one step at
a time (:mod:`~tensorcfr.uncompiled.histories`), and the traversals of Monte Carlo CFR walk over
them in Python (:mod:`~tensorcfr.uncompiled.traversals`), draw for draw as the kernels do.
"""

from .game import UncompiledGame
from .policy import TablePolicy

__all__ = ["TablePolicy", "UncompiledGame"]
