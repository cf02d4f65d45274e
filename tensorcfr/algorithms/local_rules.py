"""Local rules of the published variants.

A rule takes the old regret, the instantaneous regret and the parameters of the iteration.  It
returns the new regret and the preference from which the strategy is computed.  The formulas and
papers are in :mod:`tensorcfr.algorithms.catalogue`.
"""

from __future__ import annotations

import math

import numpy as np

from .._util.argument_checks import Number
from .._util.jit import inlined
from ..kernels.exponentials import LEAST_SHARE, exponential, logarithm
from ..kernels.local_rule import LocalRule

LEAST_POWER = 8.0
"""Exponent of the lower bound ``(1 - 1/t) ** LEAST_POWER`` of a pace in iteration ``t``.  If
averaging weights grow at least as fast, cumulative regrets bound the regrets of the average
(docs/newer-variants.md)."""


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


def _paced_plus(regret, instant, mean, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    mean = mean + parameters[0] * (instant - mean)
    return regret, regret + mean, mean


def _pace_of_agreement(agreement, size, parameters):  # type: ignore[no-untyped-def]
    _, enough, slower, faster, least, ratio = parameters
    # A pace above 1 increases the cumulative regrets, so new regrets change the strategy less.
    pace = 1.0 + (slower if agreement < enough else faster) * (enough - agreement)
    # Keep the cumulative regrets large relative to the new ones: otherwise one iteration could
    # move the strategy to a pure one.
    return max(pace, least, ratio / size)


def _plus_that_remembers(regret, instant, reference, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    return regret, regret, reference


def _pulled(payoff, reach, reference, parameters):  # type: ignore[no-untyped-def]
    mu, moves = parameters
    if moves > 0.0:
        reference = reach
    return payoff - mu * (reach - reference), reference


# Whole rules process all actions of an infoset together, for many infosets (lanes) at a time.  If
# the arithmetic allows it, the inner loop runs over lanes: they are contiguous in memory, and the
# compiler vectorises such loops.


@inlined
def _mirror(regret, instant, value, mean, strategy, alpha, eta, first):  # type: ignore[no-untyped-def]
    """Update strategies by one step of mirror descent with entropy.

    Args:
        regret: float64 (actions, infosets): logarithms of the strategies; updated in place.
        instant: float64 (actions, infosets): scratch.
        value: float64 (actions, infosets): counterfactual values, plus ``alpha`` times the
            logarithm of the magnet.
        mean: float64 (infosets,): values of the infosets, on return.
        strategy: float64 (actions, infosets): next strategies, on return.
        alpha: Temperature.
        eta: Step size.
        first: 1 in the first step, when the logarithms may be unnormalised; otherwise 0.
    """
    rest = 1.0 / (1.0 + eta * alpha)
    # Only one scratch row is free: a locked infoset may have a single free action.
    largest, total = mean, instant[0]
    # The factor `first` in the range replaces an `if` around the loops, with which the compiler
    # would emit reference counting.
    for lane in range(len(mean) * int(first)):
        played = 0.0
        for a in range(len(regret)):
            played += math.exp(regret[a, lane])
        for a in range(len(regret)):
            regret[a, lane] -= math.log(played)
    # Subtract the largest logarithm before the exponential, which would overflow otherwise.
    for lane in range(len(mean)):
        largest[lane] = -np.inf
        total[lane] = 0.0
    for a in range(len(regret)):
        for lane in range(len(mean)):
            weight = (regret[a, lane] + eta * value[a, lane]) * rest
            regret[a, lane] = weight
            largest[lane] = max(largest[lane], weight)
    for a in range(len(regret)):
        for lane in range(len(mean)):
            share = exponential(regret[a, lane] - largest[lane])
            strategy[a, lane] = share
            total[lane] += share
    # `mean` and `largest` are the same array: it holds the log-sum-exp from here on.
    for lane in range(len(mean)):
        mean[lane] = largest[lane] + logarithm(total[lane])
    for a in range(len(regret)):
        for lane in range(len(mean)):
            regret[a, lane] -= mean[lane]
            share = strategy[a, lane] / total[lane]
            strategy[a, lane] = share if share > LEAST_SHARE else 0.0
    # The value of an infoset is (alpha + 1 / eta) times the log-sum-exp.
    for lane in range(len(mean)):
        mean[lane] /= rest * eta


def _magnetic(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    alpha, eta, first = parameters
    _mirror(regret, instant, value, mean, strategy, alpha, eta, first)


def _moving_magnet(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    alpha, eta, first, moves = parameters
    magnet = memory[0]
    for a in range(len(regret)):
        for lane in range(len(mean)):
            magnet[a, lane] += moves * (regret[a, lane] - magnet[a, lane])
            value[a, lane] += alpha * magnet[a, lane]
    _mirror(regret, instant, value, mean, strategy, alpha, eta, first)


def _optimistic(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    alpha, eta, first = parameters
    last, passed_up = memory[0], memory[1, 0]
    # Optimism replaces the payoff g by 2 g - (last g), but must not apply again to the values v of
    # the infosets below.  An infoset therefore passes up p = (v + last p) / 2, so that the infoset
    # above computes 2 p - last p = v.
    for a in range(len(regret)):
        for lane in range(len(mean)):
            current = value[a, lane]
            value[a, lane] = 2.0 * current - last[a, lane]
            last[a, lane] = current
    _mirror(regret, instant, value, mean, strategy, alpha, eta, first)
    for lane in range(len(mean)):
        mean[lane] = 0.5 * (mean[lane] + passed_up[lane])
        passed_up[lane] = mean[lane]


def _share(
    t: np.ndarray, alpha: float | np.ndarray, offset: float | np.ndarray = 1.0
) -> np.ndarray:
    """Compute the discount ``t^alpha / (t^alpha + offset)``; 1 at ``t = 0``."""
    power = np.maximum(t, 1.0) ** alpha
    return np.where(t > 0, power / (power + offset), 1.0)


REGRET_MATCHING = LocalRule("regret matching", _regret_matching, matches_regret=True)
REGRET_MATCHING_PLUS = LocalRule("regret matching+", _regret_matching_plus, matches_regret=True)
DISCOUNTED = LocalRule(
    "discounted regret matching",
    _discounted,
    at=lambda t, alpha, beta, alpha_offset=1.0, beta_offset=1.0: (
        _share(t - 1, alpha, alpha_offset),
        _share(t - 1, beta, beta_offset),
    ),
    parameter_names=("alpha", "beta"),
    optional={"alpha_offset": 1.0, "beta_offset": 1.0},
    matches_regret=True,
    checks=dict.fromkeys(("alpha_offset", "beta_offset"), Number(0, finite=True)),
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
PACED_PLUS = LocalRule(
    "paced predictive regret matching+",
    _paced_plus,
    at=lambda t, recent=0.6, enough=0.4, speed=0.05, settled=1000.0: (
        recent + 0.0 * t,
        enough + 0.0 * t,
        speed / np.sqrt(1.0 + t / settled),
        speed / (1.0 + t / settled),
        (1.0 - 1.0 / t) ** LEAST_POWER,
        np.minimum(t / 10.0, np.sqrt(t)),
    ),
    optional={"recent": 0.6, "enough": 0.4, "speed": 0.05, "settled": 1000.0},
    checks={
        "recent": Number(0, 1),
        "enough": Number(-1, 1),
        "speed": Number(0, 0.5),
        "settled": Number(above=0),
    },
    memory=("mean instantaneous regret",),
    pace=_pace_of_agreement,
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
MOVING_MAGNET = LocalRule(
    "magnetic mirror descent with a magnet that moves",
    _moving_magnet,
    at=lambda t, alpha, eta, stay: (
        alpha + 0.0 * t,
        eta + 0.0 * t,
        t <= 1,
        (t > 1) & ((t - 1) % stay == 0),
    ),
    parameter_names=("alpha", "eta", "stay"),
    checks={
        "alpha": Number(above=0, finite=True),
        "eta": Number(above=0, finite=True),
        "stay": Number(1, finite=True),
    },
    memory=("logarithm of the magnet",),
    exponential=True,
    whole=True,
)
OPTIMISTIC = LocalRule(
    "optimistic mirror descent",
    _optimistic,
    at=lambda t, alpha, eta: (alpha + 0.0 * t, eta + 0.0 * t, t <= 1),
    parameter_names=("alpha", "eta"),
    checks={"alpha": Number(0, finite=True), "eta": Number(above=0, finite=True)},
    memory=("last value", "last value passed up"),
    exponential=True,
    whole=True,
)
REWARD_TRANSFORMED = LocalRule(
    "regret matching+ on payoffs with a pull to a reference",
    _plus_that_remembers,
    at=lambda t, mu, stay: (mu + 0.0 * t, (t <= 1) | (t % stay == 0)),
    parameter_names=("mu", "stay"),
    checks={"mu": Number(0, finite=True), "stay": Number(1, finite=True)},
    memory=("own reach of the reference",),
    payoff=_pulled,
)
EXPONENTIAL = LocalRule(
    "exponential weights",
    _exponential,
    at=lambda t, eta: (eta / np.sqrt(t),),
    parameter_names=("eta",),
    exponential=True,
)
