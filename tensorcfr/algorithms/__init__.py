"""The CFR variants, as data.

A variant is an :class:`Algorithm`: a frozen record of a local rule, its parameters, the averaging
weights and the order in which players update.  A :class:`Sampling` adds a scheme for sampling
histories.  A :class:`Decomposition` has one variant for the trunk of a game and one for its
subgames.  A single driver, :mod:`tensorcfr.solvers.driver`, runs all of them, so there is no
subclass per name.
"""

from __future__ import annotations

from .catalogue import (
    AVERAGE_STRATEGY_SAMPLING,
    CFR,
    CFR_D,
    CFR_PLUS,
    CHANCE_SAMPLING,
    DCFR,
    DCFR_PLUS,
    DCFR_POSTFLOP,
    DOMWU,
    EXTERNAL_SAMPLING,
    HEDGE,
    ICFR,
    ICFR_PLUS,
    IDCFR_PLUS,
    LCFR,
    LP,
    MMD,
    MMD_MOVING,
    OUTCOME_SAMPLING,
    PACED_CFR_PLUS,
    PCFR_PLUS,
    PDCFR_PLUS,
    PUBLIC_CHANCE_SAMPLING,
    ROBUST_SAMPLING,
    RTCFR_PLUS,
    SAPCFR_PLUS,
    WHOLE_TRAVERSAL,
)
from .decomposition import Decomposition
from .deep import DEEP_CFR, DREAM, SD_CFR, Deep
from .records import Algorithm, LinearProgram
from .registry import ALGORITHMS, AUTOMATIC, Record, find_algorithm, from_dict, register
from .sampling_records import Sampling
from .unscheduled import (
    EFCCE,
    EFCE,
    EGT,
    MMD_AGENT,
    AgentDescent,
    Correlated,
    ExcessiveGap,
)

__all__ = [
    "ALGORITHMS",
    "AUTOMATIC",
    "AVERAGE_STRATEGY_SAMPLING",
    "CFR",
    "CFR_D",
    "CFR_PLUS",
    "CHANCE_SAMPLING",
    "DCFR",
    "DCFR_PLUS",
    "DCFR_POSTFLOP",
    "DEEP_CFR",
    "DOMWU",
    "DREAM",
    "EFCCE",
    "EFCE",
    "EGT",
    "EXTERNAL_SAMPLING",
    "HEDGE",
    "ICFR",
    "ICFR_PLUS",
    "IDCFR_PLUS",
    "LCFR",
    "LP",
    "MMD",
    "MMD_AGENT",
    "MMD_MOVING",
    "OUTCOME_SAMPLING",
    "PACED_CFR_PLUS",
    "PCFR_PLUS",
    "PDCFR_PLUS",
    "PUBLIC_CHANCE_SAMPLING",
    "ROBUST_SAMPLING",
    "RTCFR_PLUS",
    "SAPCFR_PLUS",
    "SD_CFR",
    "WHOLE_TRAVERSAL",
    "AgentDescent",
    "Algorithm",
    "Correlated",
    "Decomposition",
    "Deep",
    "ExcessiveGap",
    "LinearProgram",
    "Record",
    "Sampling",
    "find_algorithm",
    "from_dict",
    "register",
]
