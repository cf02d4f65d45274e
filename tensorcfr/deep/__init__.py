"""Deep CFR, Single Deep CFR and DREAM: networks predict regrets; needs ``tensorcfr[deep]``.

A network is evaluated for many infosets at once, and the traversals read its strategy from an
array.  The array covers all infosets of a compiled game, the infosets of drawn deals in a card game
in chunks, or the visited infosets if the game is given by its rules.
"""

from .deep_solver import DeepSolver
from .deep_state import DeepState
from .features import make_features
from .mixture import Mixture
from .network_policy import NetworkPolicy

__all__ = [
    "DeepSolver",
    "DeepState",
    "Mixture",
    "NetworkPolicy",
    "make_features",
]
