"""Local rules of the published variants, each a few lines of arithmetic.

The formulas and papers are in :mod:`tensorcfr.algorithms.catalogue`.
"""

from __future__ import annotations

import numpy as np

from ..kernels.local_rule import LocalRule


def _regret_matching(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = regret + instant
    return regret, regret


def _regret_matching_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    return regret, regret


def _discounted(regret, instant, parameters):  # type: ignore[no-untyped-def]
    positive, negative = parameters
    regret = regret * (positive if regret > 0.0 else negative) + instant
    return regret, regret


def _linear_weight(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = regret + parameters[0] * instant
    return regret, regret


def _discounted_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = max(parameters[0] * regret + instant, 0.0)
    return regret, regret


def _predictive_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    return regret, regret + instant


def _predictive_discounted_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    before, after = parameters
    regret = max(before * regret + instant, 0.0)
    return regret, after * regret + instant


def _exponential(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = regret + instant
    return regret, parameters[0] * regret


def _share(t: np.ndarray, alpha: float, offset: float = 1.0) -> np.ndarray:
    """``t^a / (t^a + offset)``; 1 at ``t = 0``, when there is no regret to discount."""
    power = np.maximum(t, 1.0) ** alpha
    return np.where(t > 0, power / (power + offset), 1.0)


REGRET_MATCHING = LocalRule("regret matching", _regret_matching, matches_regret=True)
REGRET_MATCHING_PLUS = LocalRule("regret matching+", _regret_matching_plus, matches_regret=True)
DISCOUNTED = LocalRule(
    "discounted regret matching",
    _discounted,
    at=lambda t, alpha, beta: (_share(t - 1, alpha), _share(t - 1, beta)),
    parameter_names=("alpha", "beta"),
    matches_regret=True,
)
DISCOUNTED_PLUS = LocalRule(
    "discounted regret matching+",
    _discounted_plus,
    at=lambda t, alpha: (_share(t - 1, alpha, 1.5),),
    parameter_names=("alpha",),
    matches_regret=True,
)
PREDICTIVE_PLUS = LocalRule("predictive regret matching+", _predictive_plus)
PREDICTIVE_PLUS_GRADIENT = LocalRule(
    "predictive regret matching+ on gradients", _regret_matching_plus, forecast=True
)
PREDICTIVE_DISCOUNTED_PLUS = LocalRule(
    "predictive discounted regret matching+",
    _predictive_discounted_plus,
    at=lambda t, alpha: (_share(t - 1, alpha), _share(t, alpha)),
    parameter_names=("alpha",),
)
LINEAR = LocalRule("linear regret matching", _linear_weight, at=lambda t: (t,), matches_regret=True)
EXPONENTIAL = LocalRule(
    "exponential weights",
    _exponential,
    at=lambda t, eta: (eta / np.sqrt(t),),
    parameter_names=("eta",),
    exponential=True,
)
