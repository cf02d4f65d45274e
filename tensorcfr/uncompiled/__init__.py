"""Games that are never compiled: histories and infosets are created when a play first visits them.

A game too large for arrays over all its infosets is played by its rules.  Infosets enter a table
when they are first visited (:mod:`~tensorcfr.uncompiled.infoset_table`).  Histories are made one
action at a time (:mod:`~tensorcfr.uncompiled.lazy_histories`) and enter a growing tree
(:mod:`~tensorcfr.uncompiled.growing_tree`), which the kernels of compiled games traverse.
"""

from .table_policy import TablePolicy
from .uncompiled_game import UncompiledGame

__all__ = ["TablePolicy", "UncompiledGame"]
