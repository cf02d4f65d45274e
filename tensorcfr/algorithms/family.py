"""The published variants, each with its formula and its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import suggest
from ..kernels.rules import LocalRule
from .records import Algorithm, LinearProgram


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


def _discounts(t: np.ndarray, alpha: float, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """``(t-1)^a / ((t-1)^a + 1)`` for positive and for other regrets; at ``t = 1`` there is no
    regret to discount."""
    before = np.maximum(t - 1.0, 1.0)
    return before**alpha / (before**alpha + 1.0), before**beta / (before**beta + 1.0)


REGRET_MATCHING = LocalRule("regret matching", _regret_matching)
REGRET_MATCHING_PLUS = LocalRule("regret matching+", _regret_matching_plus)
DISCOUNTED = LocalRule(
    "discounted regret matching", _discounted, at=_discounts, parameter_names=("alpha", "beta")
)
LINEAR = LocalRule("linear regret matching", _linear_weight, at=lambda t: (t,))

BROWN_SANDHOLM = (
    "N. Brown, T. Sandholm, 'Solving imperfect-information games via discounted regret "
    "minimization', AAAI 2019"
)

CFR = Algorithm(
    "cfr",
    REGRET_MATCHING,
    formula="R <- R + r; strategy from [R]+; uniform average",
    source="M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games "
    "with incomplete information', NIPS 2007",
)
"""Vanilla CFR.  The paper updates all players at once; here, as in OpenSpiel, they alternate
unless told otherwise."""

CFR_PLUS = Algorithm(
    "cfr+",
    REGRET_MATCHING_PLUS,
    formula="R <- [R + r]+; strategy from R; average weighted by t",
    source="O. Tammelin, 'Solving large imperfect information games using CFR+', "
    "arXiv 1407.5042, 2014",
    average_power=1.0,
)
"""CFR+, averaging linearly from iteration 1; the paper's delay ``d`` is ``delay=d``."""

LCFR = Algorithm(
    "lcfr",
    LINEAR,
    formula="R <- R + t r; strategy from [R]+; average weighted by t",
    source=BROWN_SANDHOLM,
    average_power=1.0,
)
"""Linear CFR."""

DCFR = Algorithm(
    "dcfr",
    DISCOUNTED,
    formula="R <- R (t-1)^a / ((t-1)^a + 1) + r where R > 0, with b for a elsewhere; "
    "strategy from [R]+; average weighted by t^2",
    source=BROWN_SANDHOLM,
    parameters={"alpha": 1.5, "beta": 0.0},
    average_power=2.0,
)
"""Discounted CFR; ``a`` is ``alpha``, ``b`` is ``beta``."""

LP = LinearProgram()
"""The sequence-form linear program, exact; needs the extra ``tensorcfr[lp]``."""

ALGORITHMS: dict[str, Algorithm | LinearProgram] = {
    algorithm.name: algorithm for algorithm in (CFR, CFR_PLUS, LCFR, DCFR, LP)
}
"""The variants by name."""


def find_algorithm(algorithm: str | Algorithm | LinearProgram) -> Algorithm | LinearProgram:
    """The record that a name stands for; a record stands for itself.

    Raises:
        ValueError: There is no such algorithm; suggests the right one.
    """
    if isinstance(algorithm, (Algorithm, LinearProgram)):
        return algorithm
    found = ALGORITHMS.get(algorithm)
    if found is None:
        raise ValueError(f"there is no algorithm {algorithm!r}; {suggest(algorithm, ALGORITHMS)}")
    return found


def from_dict(values: Mapping[str, Any]) -> Algorithm | LinearProgram:
    """The record that ``to_dict`` wrote down.

    Raises:
        ValueError: There is no algorithm of that name.
    """
    record = find_algorithm(values["name"])
    if isinstance(record, LinearProgram):
        return record
    options = {key: values[key] for key in ("average_power", "delay", "alternating")}
    return record(**values["parameters"], **options)
