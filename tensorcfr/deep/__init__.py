"""Deep CFR, Single Deep CFR and DREAM: regrets predicted by networks; needs ``tensorcfr[deep]``.

On a compiled game, a network is evaluated once for all infosets in an iteration, and the traversals
read its strategy from an array.
"""

from .features import make_features
from .mixture import Mixture
from .solver import DeepSolver, DeepState

__all__ = ["DeepSolver", "DeepState", "Mixture", "make_features"]
