"""Deep CFR, Single Deep CFR and DREAM: regrets predicted by networks; needs ``tensorcfr[deep]``.

A network is evaluated for all infosets at once, and the traversals read its strategy from an array:
on a compiled game, over all of its infosets; on rules, over those that were met.
"""

from .features import make_features
from .mixture import Mixture
from .policy import NetworkPolicy
from .solver import DeepSolver
from .state import DeepState

__all__ = [
    "DeepSolver",
    "DeepState",
    "Mixture",
    "NetworkPolicy",
    "make_features",
]
