"""Comparisons of many solves: games times algorithms times seeds, in one table on the disk.

>>> from tensorcfr.sweep import sweep
>>> rows = sweep("sweep.csv", ["kuhn"], ["cfr", "cfr+"], iters=100)  # doctest: +SKIP

The table is a CSV file with one :class:`SweepRow` per checkpoint. A crash, Ctrl-C or a full disk
loses no row of it. The same call again continues the sweep.
"""

from .cells import Cell, StopRules, read_algorithm
from .run import SweepProgress, sweep
from .summary import LEVELS, Reached, reached
from .sweep_table import SweepRow, SweepTable, curves, read_sweep

__all__ = [
    "LEVELS",
    "Cell",
    "Reached",
    "StopRules",
    "SweepProgress",
    "SweepRow",
    "SweepTable",
    "curves",
    "reached",
    "read_algorithm",
    "read_sweep",
    "sweep",
]
