"""Local rules of the published variants, each a few lines of arithmetic.

The formulas and papers are in :mod:`tensorcfr.algorithms.catalogue`.
"""

from __future__ import annotations

import math

import numpy as np

from .._util.arguments import Number
from .._util.jit import inlined
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


def _asymmetric_predictive_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    return regret, regret + parameters[0] * instant


# Whole rules: all actions of an infoset together.


@inlined
def _match_whole(weight, strategy):  # type: ignore[no-untyped-def]
    """Regret matching; ``strategy`` is modified in place."""
    total = 0.0
    for a in range(len(weight)):
        strategy[a] = max(weight[a], 0.0)
        total += strategy[a]
    for a in range(len(weight)):
        strategy[a] = strategy[a] / total if total > 0.0 else 1.0 / len(weight)


# Rows are not views of ``memory``: a view takes longer than the arithmetic.
def _adaptive_predictive_plus(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    last, errors, moves = 0, 1, 2
    wrong, moved = 0.0, 0.0
    for a in range(len(regret)):
        new = max(regret[a] + instant[a], 0.0)
        memory[errors, a] += (instant[a] - memory[last, a]) ** 2
        memory[moves, a] += (new - regret[a]) ** 2
        wrong += memory[errors, a]
        moved += memory[moves, a]
        regret[a], memory[last, a] = new, instant[a]
    most = parameters[0]
    factor = most if wrong >= most * most * moved else math.sqrt(wrong / moved)
    for a in range(len(regret)):
        strategy[a] = regret[a] + instant[a] / (1.0 + factor)
    _match_whole(strategy, strategy)
    return mean


@inlined
def _project(weight):  # type: ignore[no-untyped-def]
    """The nearest point with entries from 0 and a sum from 1; ``weight`` is modified in place."""
    total = 0.0
    for a in range(len(weight)):
        total += max(weight[a], 0.0)
    if total >= 1.0:
        for a in range(len(weight)):
            weight[a] = max(weight[a], 0.0)
        return
    # On the simplex: entries move alike, and those that would be negative are left out.
    move, left = 0.0, 0
    while True:
        total, count = 0.0, 0
        for a in range(len(weight)):
            if left == 0 or weight[a] + move > 0.0:
                total += weight[a]
                count += 1
        move = (1.0 - total) / count
        # An entry that is 0 but for rounding may come back, which would go on for ever.
        if 0 < left <= count:
            break
        left = count
    for a in range(len(weight)):
        weight[a] = max(weight[a] + move, 0.0)


def _smooth_predictive_plus(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    eta, total = parameters[0], 0.0
    for a in range(len(regret)):
        total += regret[a]
    for a in range(len(regret)):
        # All regrets are 0 before the first step: the nearest point is the uniform strategy.
        regret[a] = (regret[a] if total > 0.0 else 1.0 / len(regret)) + eta * instant[a]
    _project(regret)
    for a in range(len(regret)):
        strategy[a] = regret[a] + eta * instant[a]
    _project(strategy)
    _match_whole(strategy, strategy)
    return mean


def _magnetic(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    alpha, eta, first = parameters
    rest = 1.0 / (1.0 + eta * alpha)
    # In the first step the logarithms of the strategy may lack a constant.  There is no condition
    # around the loop: with one, the compiler counts references to the arrays.
    total = 1.0 - first
    for a in range(len(regret) * int(first)):
        total += math.exp(regret[a])
    played, largest = math.log(total), -np.inf
    for a in range(len(regret)):
        regret[a] = (regret[a] - played + eta * value[a]) * rest
        largest = max(largest, regret[a])
    total = 0.0
    for a in range(len(regret)):
        strategy[a] = math.exp(regret[a] - largest)
        total += strategy[a]
    made = largest + math.log(total)
    for a in range(len(regret)):
        regret[a] -= made
        strategy[a] /= total
    return made / (rest * eta)


def _share(t: np.ndarray, alpha: float | np.ndarray, offset: float = 1.0) -> np.ndarray:
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
DCFR_DISCOUNTED_PLUS = LocalRule(
    "discounted regret matching+ with DCFR's discounts",
    _discounted_plus,
    at=lambda t, alpha: (_share(t - 1, alpha),),
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
ASYMMETRIC_PREDICTIVE_PLUS = LocalRule(
    "asymmetric predictive regret matching+",
    _asymmetric_predictive_plus,
    at=lambda t, alpha: (1.0 / (1.0 + alpha + 0.0 * t),),
    parameter_names=("alpha",),
    checks={"alpha": Number(0, finite=True)},
)
ADAPTIVE_PREDICTIVE_PLUS = LocalRule(
    "adaptive asymmetric predictive regret matching+",
    _adaptive_predictive_plus,
    at=lambda t, most: (most + 0.0 * t,),
    parameter_names=("most",),
    checks={"most": Number(0, finite=True)},
    memory=("last instantaneous regret", "squared errors", "squared moves"),
    whole=True,
)
SMOOTH_PREDICTIVE_PLUS = LocalRule(
    "smooth predictive regret matching+",
    _smooth_predictive_plus,
    at=lambda t, eta: (eta + 0.0 * t,),
    parameter_names=("eta",),
    checks={"eta": Number(above=0, finite=True)},
    whole=True,
)
MAGNETIC = LocalRule(
    "magnetic mirror descent",
    _magnetic,
    at=lambda t, alpha, eta: (alpha + 0.0 * t, eta + 0.0 * t, t <= 1),
    parameter_names=("alpha", "eta"),
    checks={"alpha": Number(0, finite=True), "eta": Number(above=0, finite=True)},
    exponential=True,
    whole=True,
)
SCHEDULED = LocalRule(
    "discounted regret matching with a schedule",
    _discounted,
    at=lambda t, horizon, alpha, alpha_rise, beta, beta_fall: (
        _share(t - 1, alpha + alpha_rise * np.minimum(t - 1, horizon) / horizon),
        _share(t - 1, beta - beta_fall * np.minimum(t - 1, horizon) / horizon),
    ),
    parameter_names=("alpha", "alpha_rise", "beta", "beta_fall"),
    matches_regret=True,
)
EXPONENTIAL = LocalRule(
    "exponential weights",
    _exponential,
    at=lambda t, eta: (eta / np.sqrt(t),),
    parameter_names=("eta",),
    exponential=True,
)
