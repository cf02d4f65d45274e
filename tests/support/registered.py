"""Published variants that are not in the catalogue, as records that anybody may ``register``.

Our comparisons advise against each: see docs/newer-variants.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np

from tensorcfr import Algorithm, LocalRule
from tensorcfr.algorithms import DCFR, PCFR_PLUS

MENG = (
    "L. Meng, T. Yang, Y. Zhang, Z. Ge, Y. Gao, 'Faster game solving via asymmetry of step sizes', "
    "AAAI 2026 (arXiv 2503.12770), equation 3"
)
FARINA = (
    "G. Farina, J. Grand-Clement, C. Kroer, C.-W. Lee, H. Luo, 'Regret matching+: (in)stability "
    "and fast convergence in games', NeurIPS 2023"
)
LI = (
    "Z. Li, J. Schultz, D. Hennes, M. Lanctot, 'Discovering multiagent learning algorithms with "
    "large language models' (arXiv 2602.16928v1), listing 5"
)
ZHANG = (
    "N. Zhang, S. McAleer, T. Sandholm, 'Faster game solving via hyperparameter schedules', AAAI "
    "2026 (arXiv 2404.09097)"
)


@numba.njit
def match(weight, strategy):  # type: ignore[no-untyped-def]
    """Regret matching; ``strategy`` is modified in place."""
    for lane in range(weight.shape[1]):
        total = 0.0
        for a in range(len(weight)):
            strategy[a, lane] = max(weight[a, lane], 0.0)
            total += strategy[a, lane]
        for a in range(len(weight)):
            strategy[a, lane] = strategy[a, lane] / total if total > 0.0 else 1.0 / len(weight)


# ---------------------------------------------------------------------------------------- APCFR+


def adaptive(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    """PCFR+ with ``r / (1 + a)`` as the prediction, where each infoset learns ``a``."""
    last, errors, moves = memory[0], memory[1], memory[2]
    most = parameters[0]
    for lane in range(len(mean)):
        wrong, moved = 0.0, 0.0
        for a in range(len(regret)):
            new = max(regret[a, lane] + instant[a, lane], 0.0)
            errors[a, lane] += (instant[a, lane] - last[a, lane]) ** 2
            moves[a, lane] += (new - regret[a, lane]) ** 2
            wrong += errors[a, lane]
            moved += moves[a, lane]
            regret[a, lane], last[a, lane] = new, instant[a, lane]
        factor = most if wrong >= most * most * moved else math.sqrt(wrong / moved)
        for a in range(len(regret)):
            strategy[a, lane] = regret[a, lane] + instant[a, lane] / (1.0 + factor)
    match(strategy, strategy)


APCFR_PLUS = Algorithm(
    "apcfr+",
    LocalRule(
        "adaptive asymmetric predictive regret matching+",
        adaptive,
        at=lambda t, most: (most + 0.0 * t,),
        parameter_names=("most",),
        memory=("last instantaneous regret", "squared errors", "squared moves"),
        whole=True,
    ),
    formula="R <- [R + r]+; strategy from [R + r / (1 + a)]+, a the square root of sum |r - last "
    "r|^2 / sum |R - last R|^2 over the iterations so far, at most m; average weighted by t^2",
    source=MENG,
    parameters={"most": 5.0},
    average_power=2.0,
)


# ---------------------------------------------------------------------------------------- SPCFR+


@numba.njit
def project(weight, lane):  # type: ignore[no-untyped-def]
    """The nearest point with entries from 0 and a sum from 1; ``weight`` is modified in place."""
    total = 0.0
    for a in range(len(weight)):
        total += max(weight[a, lane], 0.0)
    if total >= 1.0:
        for a in range(len(weight)):
            weight[a, lane] = max(weight[a, lane], 0.0)
        return
    # On the simplex: entries move alike, and those that would be negative are left out.
    move, left = 0.0, 0
    while True:
        total, count = 0.0, 0
        for a in range(len(weight)):
            if left == 0 or weight[a, lane] + move > 0.0:
                total += weight[a, lane]
                count += 1
        move = (1.0 - total) / count
        # An entry that is 0 but for rounding may come back, which would go on for ever.
        if 0 < left <= count:
            break
        left = count
    for a in range(len(weight)):
        weight[a, lane] = max(weight[a, lane] + move, 0.0)


def smooth(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    """Two projected steps from the same regrets; the second makes the strategy."""
    eta = parameters[0]
    for lane in range(len(mean)):
        total = 0.0
        for a in range(len(regret)):
            total += regret[a, lane]
        for a in range(len(regret)):
            # All regrets are 0 before the first step: the nearest point is the uniform strategy.
            start = regret[a, lane] if total > 0.0 else 1.0 / len(regret)
            regret[a, lane] = start + eta * instant[a, lane]
        project(regret, lane)
        for a in range(len(regret)):
            strategy[a, lane] = regret[a, lane] + eta * instant[a, lane]
        project(strategy, lane)
    match(strategy, strategy)


SPCFR_PLUS = Algorithm(
    "spcfr+",
    LocalRule(
        "smooth predictive regret matching+",
        smooth,
        at=lambda t, eta: (eta + 0.0 * t,),
        parameter_names=("eta",),
        whole=True,
    ),
    formula="R <- P(R + e r); strategy from P(R + e r) once more, P the nearest point with entries "
    "from 0 and a sum from 1; average weighted by t^2",
    source=FARINA,
    parameters={"eta": 1.0},
    average_power=2.0,
)


# --------------------------------------------------------------------------------------- SOGRCFR+


def smooth_optimistic(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    """One projected step with twice the regrets less the last ones, which makes the strategy."""
    last = memory[0]
    eta, first = parameters
    for lane in range(len(mean)):
        for a in range(len(regret)):
            # All regrets are 0 before the first step: the nearest point is the uniform strategy.
            start = 1.0 / len(regret) if first > 0.0 else regret[a, lane]
            now = instant[a, lane]
            before = now if first > 0.0 else last[a, lane]
            regret[a, lane] = start + eta * (2.0 * now - before)
            last[a, lane] = now
        project(regret, lane)
    match(regret, strategy)


SOGRCFR_PLUS = Algorithm(
    "sogrcfr+",
    LocalRule(
        "smooth optimistic gradient regret matching+",
        smooth_optimistic,
        at=lambda t, eta: (eta + 0.0 * t, t <= 1),
        parameter_names=("eta",),
        memory=("last instantaneous regret",),
        whole=True,
    ),
    formula="R <- P(R + e (2 r - last r)); strategy from R; P the nearest point with entries from "
    "0 and a sum from 1; average weighted by t^2",
    source="L. Meng et al., 'Last-iterate convergence of smooth regret matching+ variants in "
    "learning Nash equilibria', NeurIPS 2025: SOGRM+, by the authors' program for matrix games "
    "(menglinjian/NeurIPS-2025-SOGRM), which keeps R less e r and adds e r twice",
    parameters={"eta": 1.0},
    average_power=2.0,
)


# ---------------------------------------------------------------------------------------- VAD-CFR


def volatile(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
    """Predictive DCFR, with discounts by how large the regrets of the infoset were lately."""
    size = memory[0]
    t, first = parameters
    for lane in range(len(mean)):
        largest = 0.0
        for a in range(len(regret)):
            largest = max(largest, abs(instant[a, lane]))
        lately = largest if first > 0.0 else 0.1 * largest + 0.9 * size[0, lane]
        v = min(1.0, lately / 2.0)
        power, power_below = t ** (1.5 - 0.5 * v), t ** (-0.1 - 0.5 * v)
        kept, kept_below = power / (power + 1.0), power_below / (power_below + 1.0)
        trust = (1.0 - 0.5 * v) / (1.0 + (t - 1.0) / 100.0)
        for a in range(len(regret)):
            size[a, lane] = lately
            now = instant[a, lane] * (1.1 if instant[a, lane] > 0.0 else 1.0)
            new = regret[a, lane]
            new = max((kept if new >= 0.0 else kept_below) * new + now, -20.0)
            regret[a, lane] = new
            # The next regret, if the instantaneous one comes again.
            new = (kept if new >= 0.0 else kept_below) * new + trust * now
            strategy[a, lane] = max(new, 0.0) * math.sqrt(max(new, 0.0))
    match(strategy, strategy)


def squares_after(start: int) -> Callable[[np.ndarray], np.ndarray]:
    """The power of ``t`` that is ``((t + start) / (1 + start)) ** 2``: weights ``t^2`` of an
    average that begins after iteration ``start``."""

    def power(t: np.ndarray) -> np.ndarray:
        return 2 * np.log((t + start) / (1 + start)) / np.log(np.maximum(t, 2))  # 1 has any power.

    return power


def vad_cfr(start: int = 500) -> Algorithm:
    """VAD-CFR, whose average begins after iteration ``start``.

    The published program also multiplies an infoset's weight in the average by a function of its
    largest regret in the iteration, which is near 1 where strategies have settled.
    """
    return Algorithm(
        "vad-cfr",
        LocalRule(
            "volatility-adaptive discounted regret matching",
            volatile,
            at=lambda t: (t, t <= 1),
            memory=("size of the regrets lately",),
            whole=True,
        ),
        formula="R <- max(d R + b r, -20), d = t^a / (t^a + 1), a = 1.5 - v/2 where R >= 0 and "
        "-0.1 - v/2 elsewhere, b = 1.1 where r > 0 and 1 elsewhere; strategy from [d R + c b "
        "r]+^1.5, c = (1 - v/2) / (1 + (t - 1)/100); v = min(1, m/2), m <- 0.9 m + 0.1 max |r|; "
        f"average weighted by t^2 after iteration {start}",
        source=LI + ", with an m of its own at every infoset",
        delay=start,
        average_power=squares_after(start),
    )


def steady(regret, instant, parameters):  # type: ignore[no-untyped-def]
    """The same with ``v = 0``, and without the least regret."""
    kept, kept_below, trust = parameters
    now = instant * (1.1 if instant > 0.0 else 1.0)
    regret = (kept if regret >= 0.0 else kept_below) * regret + now
    ahead = max((kept if regret >= 0.0 else kept_below) * regret + trust * now, 0.0)
    return regret, ahead * math.sqrt(ahead)


def discounts(t: np.ndarray, alpha: float, beta: float, patience: float) -> tuple[np.ndarray, ...]:
    """What is left of positive and negative regrets, and how much a prediction counts."""
    power, power_below = t**alpha, t**beta
    return power / (power + 1), power_below / (power_below + 1), patience / (patience + t - 1)


STEADY_VAD_CFR = Algorithm(
    "vad-cfr-steady",
    LocalRule(
        "predictive discounted regret matching",
        steady,
        at=discounts,
        parameter_names=("alpha", "beta", "patience"),
    ),
    formula="R <- d R + b r, d = t^a / (t^a + 1), a = alpha where R >= 0 and beta elsewhere, b = "
    "1.1 where r > 0 and 1 elsewhere; strategy from [d R + p / (p + t - 1) b r]+^1.5, p = "
    "patience; average weighted by t^4",
    source=LI + ", with v = 0, to which it comes where regrets are small beside 2",
    parameters={"alpha": 1.5, "beta": -0.1, "patience": 100.0},
    average_power=4.0,
)


# ------------------------------------------------------------------------ hyperparameter schedules


def fading_average(n: int, most: float = 30) -> Callable[[np.ndarray], np.ndarray]:
    """The power of ``t`` that is ``(s / (s - 1)) ** (most - 5 min(s, n) / n)``, multiplied over
    ``s`` from 2 to ``t``: an average whose past is discounted by the inverse."""

    def power(t: np.ndarray) -> np.ndarray:
        until = np.minimum(t, n)
        # The sum of s (ln s - ln (s - 1)) is t ln t - ln (t - 1)!.
        falling = until * np.log(until) - np.array([math.lgamma(s) for s in until])
        logarithm = most * np.log(t) - 5 * falling / n - 5 * np.log(t / until)
        return logarithm / np.log(np.maximum(t, 2))  # 1 has any power.

    return power


def hs_dcfr(n: int, most: float = 30) -> Algorithm:
    """DCFR with schedules for ``n`` iterations, HS-DCFR(30) or, with ``most=15``, HS-DCFR(15)."""
    return Algorithm(
        "hs-dcfr",
        DCFR.rule,
        formula="DCFR with a = 1 + 3 t/n, b = -1 - 2 t/n, and the average discounted by "
        f"(1 - 1/t)^g, g = {most:g} - 5 t/n",
        source=ZHANG,
        parameters={
            "alpha": lambda t: 1 + 3 * np.minimum(t - 1, n) / n,
            "beta": lambda t: -1 - 2 * np.minimum(t - 1, n) / n,
        },
        average_power=fading_average(n, most),
    )


def hs_pcfr_plus(n: int) -> Algorithm:
    """Predictive CFR+ with a schedule for ``n`` iterations, HS-PCFR+(30)."""
    return Algorithm(
        "hs-pcfr+",
        PCFR_PLUS.rule,
        formula="PCFR+ with the average discounted by (1 - 1/t)^g, g = 30 - 5 t/n",
        source=ZHANG,
        average_power=fading_average(n),
    )
