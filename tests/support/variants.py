"""The variants that equal a twin written from the papers: one table for all tests.

The twins are rules and matchings of :mod:`reference`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.equality import Variant
from support.reference import (
    Matching,
    cfr_plus_rule,
    dcfr_plus_rule,
    dcfr_rule,
    fading_predictive_matching,
    lcfr_rule,
    pdcfr_plus_rule,
    predictive_matching,
    regret_matching,
)
from tensorcfr.algorithms import (
    CFR,
    CFR_PLUS,
    DCFR,
    DCFR_PLUS,
    LCFR,
    PCFR_PLUS,
    PDCFR_PLUS,
)

CLASSIC = (
    "cfr",
    "cfr+",
    "lcfr",
    "dcfr",
    "dcfr+",
    "pcfr+",
    "pdcfr+",
    "hedge",
)
"""Variants whose kernels the fast tier compiles where every variant is tried; it takes seconds for
each of the others, which are of the full tier."""
PLAIN: dict[str, Variant] = {
    "cfr": (CFR, {"average_power": 0, "alternating": True}),
    "cfr simultaneous": (CFR(alternating=False), {"average_power": 0, "alternating": False}),
    "cfr+": (
        CFR_PLUS,
        {"regret_matching_plus": True, "average_power": 1, "alternating": True},
    ),
    "cfr+ simultaneous": (
        CFR_PLUS(alternating=False),
        {"regret_matching_plus": True, "average_power": 1, "alternating": False},
    ),
    "cfr+ quadratic, delayed": (
        CFR_PLUS(average_power=2, delay=2),
        {"regret_matching_plus": True, "average_power": 2, "delay": 2, "alternating": True},
    ),
}
"""CFR and CFR+."""
YOUNGER: dict[str, Variant] = {
    "lcfr": (LCFR, {"rule": lcfr_rule, "average_power": 1}),
    "dcfr": (DCFR, {"rule": dcfr_rule(1.5, 0), "average_power": 2}),
    "dcfr+": (DCFR_PLUS, {"rule": dcfr_plus_rule(1.5), "average_power": 4}),
    "pcfr+": (
        PCFR_PLUS,
        {"rule": cfr_plus_rule, "matching": predictive_matching, "average_power": 2},
    ),
    "pdcfr+": (
        PDCFR_PLUS,
        {
            "rule": pdcfr_plus_rule(2.3),
            "matching": fading_predictive_matching(2.3),
            "average_power": 5,
        },
    ),
}
CHANGED: dict[str, Variant] = {
    "lcfr, quadratic": (LCFR(average_power=2), {"rule": lcfr_rule, "average_power": 2}),
    "dcfr, other parameters": (
        DCFR(alpha=1, beta=-0.5, average_power=1, delay=2),
        {"rule": dcfr_rule(1, -0.5), "average_power": 1, "delay": 2},
    ),
    "dcfr, other offsets": (
        DCFR(alpha_offset=2, beta=1, beta_offset=20, average_power=4),
        {"rule": dcfr_rule(1.5, 1, 2, 20), "average_power": 4},
    ),
    "dcfr, exponential": (
        DCFR(average_growth=1.5, average_power=1, delay=1),
        {
            "rule": dcfr_rule(1.5, 0),
            "average_power": 1,
            "average_growth": 1.5,
            "delay": 1,
        },
    ),
    "dcfr, descending": (
        DCFR(order="descending"),
        {"rule": dcfr_rule(1.5, 0), "average_power": 2, "descending": True},
    ),
    "dcfr+, other parameters": (
        DCFR_PLUS(alpha=2, average_power=1.5),
        {"rule": dcfr_plus_rule(2), "average_power": 1.5},
    ),
    "pcfr+, quintic": (
        PCFR_PLUS(average_power=5, delay=1),
        {"rule": cfr_plus_rule, "matching": predictive_matching, "average_power": 5, "delay": 1},
    ),
    "pdcfr+, other parameters": (
        PDCFR_PLUS(alpha=1, average_power=2),
        {
            "rule": pdcfr_plus_rule(1),
            "matching": fading_predictive_matching(1),
            "average_power": 2,
        },
    ),
}


def alternating(variant: Variant) -> Variant:
    algorithm, options = variant
    return algorithm(alternating=True), options | {"alternating": True}


def simultaneous(variant: Variant) -> Variant:
    algorithm, options = variant
    return algorithm(alternating=False), options | {"alternating": False}


VARIANTS: dict[str, Variant] = (
    PLAIN
    | {name: alternating(variant) for name, variant in (YOUNGER | CHANGED).items()}
    | {f"{name} simultaneous": simultaneous(variant) for name, variant in YOUNGER.items()}
)

Floor = float | Callable[[Any], Any]


def fading(t: Any) -> Any:
    return 1 / (1 + t)


def mixed(matching: Matching, floor: Floor) -> Matching:
    """The strategy of iteration t + 1 has the floor of that iteration."""

    def matched(regrets: list[float], instant: list[float], t: int) -> list[float]:
        share = floor(t + 1) if callable(floor) else floor
        strategy = matching(regrets, instant, t)
        return [(1 - share) * p + share / len(strategy) for p in strategy]

    return matched


def floored(variant: Variant, floor: Floor) -> Variant:
    algorithm, options = variant
    matching = options.get("matching", regret_matching)
    return algorithm(floor=floor), options | {"matching": mixed(matching, floor)}
