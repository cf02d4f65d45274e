"""The CFR variants, as data.

A variant is an :class:`Algorithm`: a frozen record that says which local rule it applies,
with which parameters, how it weighs the average and in which order players update.  There is
one driver, :mod:`tensorcfr.driver`, and no subclass per name.
"""

from __future__ import annotations

from .family import (
    ALGORITHMS,
    CFR,
    CFR_PLUS,
    DCFR,
    DCFR_PLUS,
    DCFR_POSTFLOP,
    HEDGE,
    LCFR,
    LP,
    PCFR_PLUS,
    PCFR_PLUS_GRADIENT,
    PDCFR_PLUS,
    find_algorithm,
    from_dict,
    register,
    to_dict,
)
from .records import Algorithm, LinearProgram

__all__ = [
    "ALGORITHMS",
    "CFR",
    "CFR_PLUS",
    "DCFR",
    "DCFR_PLUS",
    "DCFR_POSTFLOP",
    "HEDGE",
    "LCFR",
    "LP",
    "PCFR_PLUS",
    "PCFR_PLUS_GRADIENT",
    "PDCFR_PLUS",
    "Algorithm",
    "LinearProgram",
    "find_algorithm",
    "from_dict",
    "register",
    "to_dict",
]
