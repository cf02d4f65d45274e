"""Theorems and observations about variants of CFR, derived from their records.

Every sentence of :meth:`Record.guarantee <tensorcfr.algorithms.Record.guarantee>` begins with
``Theorem`` and a paper, ``No theorem`` and the reason, or ``Observed``.  ``docs/guarantees.md`` has
the papers in full, and the games.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..kernels.local_rule import LocalRule
from . import local_rules as rules
from .registry import ALGORITHMS, PUBLISHED, UNKNOWN, Record

NASH = "the average strategy converges to a Nash equilibrium."
JOINT = (
    "the joint play converges to the coarse correlated equilibria of the normal form: all "
    "players' strategies of one iteration, drawn with the weights of the average.  The "
    "average strategy averages each player separately; it need not come near any "
    "equilibrium."
)
ALONE = (
    "Exact, with any algorithm: a player who changes alone gains no more than their best response, "
    "in `evaluation.gains`.  Players who change together may take more from another one, so a "
    "value is not a promise to its player."
)
ONLY_TWO = "Only two players act, so statements about two players hold."
ALTERNATING = "for alternating updates Burch et al. 2019"
SAMPLED = "Lanctot et al. 2009; Farina et al. 2020"
FELL = "the exploitability of the average strategy fell"
WHERE = "on the games of docs/guarantees.md"


@dataclass(frozen=True)
class RegretBound:
    """Theorem that bounds the regrets of a local rule in two-player zero-sum games with
    simultaneous updates."""

    source: str
    """Citation of the paper."""
    powers: tuple[float, float] = (0.0, 0.0)
    """Smallest and largest ``average_power`` that the theorem covers.  The largest is infinite for
    rules that prevent regrets from falling far below 0.  The cumulative regret then bounds the
    regret since *any* iteration, and therefore every sum with increasing weights."""
    never_loses: bool = True
    """True if an update never loses against the opponents' last strategies.  The theorem then also
    holds for alternating updates."""
    numbers: Mapping[str, float] | None = field(default_factory=dict)
    """Parameters for which the theorem holds; None for any numbers."""

    @property
    def paper(self) -> str:
        """Citation without the source about increasing weights."""
        return self.source.removesuffix(RISING)


RISING = "; rising weights: Brown, Sandholm 2019"
BOUNDS: Mapping[LocalRule, RegretBound] = {
    rules.REGRET_MATCHING: RegretBound("Zinkevich et al. 2007"),
    rules.REGRET_MATCHING_PLUS: RegretBound("Tammelin et al. 2015" + RISING, (0.0, math.inf)),
    rules.LINEAR: RegretBound("Brown, Sandholm 2019", (1.0, 1.0)),
    rules.DISCOUNTED: RegretBound(
        "Brown, Sandholm 2019", (2.0, math.inf), numbers={"alpha": 1.5, "beta": 0.0}
    ),
    rules.DISCOUNTED_PLUS: RegretBound("Xu et al. 2024", (4.0, math.inf), numbers={"alpha": 1.5}),
    rules.PREDICTIVE_PLUS: RegretBound(
        "Farina et al. 2021" + RISING, (0.0, math.inf), never_loses=False
    ),
    rules.ASYMMETRIC_PREDICTIVE_PLUS: RegretBound(
        "Farina et al. 2021, Meng et al. 2026" + RISING,
        (0.0, math.inf),
        never_loses=False,
        numbers=None,
    ),
    rules.PACED_PLUS: RegretBound(
        "Zinkevich et al. 2007, docs/newer-variants.md",
        (rules.LEAST_POWER, math.inf),
        never_loses=False,
        numbers=None,
    ),
    rules.PREDICTIVE_DISCOUNTED_PLUS: RegretBound(
        "Xu et al. 2024", (5.0, math.inf), never_loses=False, numbers={"alpha": 2.3}
    ),
    rules.EXPONENTIAL: RegretBound(
        "Freund, Schapire 1999; Brown et al. 2017", never_loses=False, numbers=None
    ),
}
"""Theorems by local rule.  ``never_loses`` is False for predictive rules and for exponential
weights with a decreasing ``eta``: their updates may lose against the opponents' last strategies."""


def _magnetic(alpha: float, **_: float) -> str:
    if alpha > 0.0:
        return (
            "Theorem (Sokota et al. 2023): if eta <= alpha / L**2, where L is half the "
            "range of a player's payoffs, the last iterate converges linearly to the "
            "quantal response equilibrium of temperature alpha.  Observed: it also "
            "converges with many larger eta, and cycles if eta is too large "
            "(docs/guarantees.md)."
        )
    return (
        "Theorem (Beck, Teboulle 2003): the distance of the average strategy from a Nash "
        "equilibrium falls to eta times the square of the range of the payoffs."
    )


def _optimistic(alpha: float, **_: float) -> str:
    if alpha > 0.0:
        return (
            "Theorem (Liu et al. 2023): if eta is small enough, the last iterate converges "
            "to the equilibrium of the game regularised by entropies."
        )
    return (
        "Theorem (Lee et al. 2021): if eta is small enough, the average strategy converges "
        "to a Nash equilibrium, and so does the last iterate if there is only one "
        "equilibrium."
    )


def _moving(**_: float) -> str:
    return (
        "No theorem: the magnet moves before the strategies have settled; if they had, it would be "
        "a proximal point method, which converges (Eckstein 1993).  Observed: the last iterate "
        "came near a Nash equilibrium on some games, and not on others (docs/guarantees.md)."
    )


def _transformed(**_: float) -> str:
    return (
        "No theorem: the one of Meng et al. 2025 is for perturbed strategies.  Observed: "
        f"the last iterate came near a Nash equilibrium where mu suits the game, {WHERE}."
    )


LAST_ITERATES: Mapping[LocalRule, tuple[Callable[..., str], float]] = {
    rules.MAGNETIC: (_magnetic, 0.0),
    rules.MOVING_MAGNET: (_moving, 0.0),
    rules.OPTIMISTIC: (_optimistic, 0.0),
    rules.REWARD_TRANSFORMED: (_transformed, 1.0),
}
"""Rules with a statement about the last iterate: a function that makes the sentence from the
parameters, and the ``average_power`` to which it applies."""


class VariantFields(Record):
    """Fields of a variant of CFR that theorems depend on."""

    rule: LocalRule
    parameters: Mapping[str, float | Callable[[Any], Any]]
    # In the order of the options, which descriptions of records and names in sweeps have.
    average_power: float | Callable[[Any], Any]
    delay: int
    restart_base: int
    average_growth: float
    alternating: bool
    floor: float | Callable[[Any], Any]
    floor_fall: float
    passes_up: str
    order: str


def promise(record: VariantFields, *, zero_sum: bool, sampled: bool = False) -> str:
    """Return the theorem and the observations about the strategies of a variant.

    Args:
        record: The variant.
        zero_sum: True if the game has two players and a constant sum.
        sampled: True if its regrets are unbiased estimates from samples.

    Returns:
        One or more sentences.
    """
    if (last := _of_last_iterate(record)) is not None:
        return last if zero_sum else UNKNOWN
    reason = missing(record)
    if reason:
        return f"{reason}{_observed(record)}" if zero_sum else reason
    bound = BOUNDS[_without_instant_updates(record.rule)]
    if not zero_sum:
        theorem, at_once = f"Theorem ({bound.source})", "for simultaneous updates"
        if record.alternating:
            return f"{theorem} {at_once}, not for alternating updates as here: {JOINT}"
        return f"{theorem}: {JOINT}"
    if sampled:
        chance = "Theorem, with high probability"
        if not record.alternating:
            return f"{chance} ({bound.source}; {SAMPLED}): {NASH}"
        return (
            f"No theorem for alternating updates: the one of {SAMPLED} is for simultaneous "
            f"updates, and holds with high probability.{_observed(record)}"
        )
    if not record.alternating:
        return f"Theorem ({bound.source}): {NASH}"
    if bound.never_loses:
        return f"Theorem ({bound.source}; {ALTERNATING}): {NASH}"
    return (
        f"No theorem for alternating updates: the one of {bound.paper} is for simultaneous "
        f"updates (alternating=False).{_observed(record)}"
    )


def average_converges(record: VariantFields) -> bool:
    """Return whether a theorem proves convergence of a variant's average to a Nash equilibrium in
    two-player zero-sum games."""
    bound = BOUNDS.get(_without_instant_updates(record.rule))
    return (
        bound is not None and not missing(record) and (bound.never_loses or not record.alternating)
    )


def missing(record: VariantFields) -> str:
    """Return the reason why no theorem covers the regrets and the average of a variant.

    The order of updates is not considered.  The text is empty if a theorem exists.
    """
    bound = BOUNDS.get(_without_instant_updates(record.rule))
    parameters, power = record.parameters, record.average_power
    reason = ""
    if record.passes_up != "played":
        reason = "infosets pass up the value of a strategy that nobody has played"
    elif callable(record.floor) or record.floor > 0.0:
        reason = (
            "strategies have a floor, and regrets are measured against them; while it "
            "stays, the average cannot come nearer to an equilibrium than the floor allows"
        )
    elif bound is None:
        return UNKNOWN
    elif bound.numbers is not None and dict(parameters) != dict(bound.numbers):
        numbers = ", ".join(f"{key}={value:g}" for key, value in bound.numbers.items())
        reason = f"the one of {bound.paper} is for {numbers}"
    elif any(map(callable, parameters.values())):
        reason = f"the one of {bound.paper} is for parameters that do not change"
    elif record.restart_base:
        reason = (
            "the average begins anew at every power of restart_base, and is then the strategy of "
            "one iteration: it does not converge"
        )
    elif record.average_growth > 1.0:
        reason = "weights that grow exponentially keep only the last iterations"
    elif callable(power) or not bound.powers[0] <= power <= bound.powers[1]:
        least, most = bound.powers
        weights = f"average_power={least:g}" + (" and more" if most > least else "")
        reason = f"the one of {bound.paper} is for {weights}"
        if most == least:
            reason += "; rising weights are covered for rules that floor regrets at 0"
    return f"No theorem: {reason}." if reason else ""


def _of_last_iterate(record: VariantFields) -> str | None:
    """Return the statement about the last iterate; None if the average is the result."""
    known = LAST_ITERATES.get(_without_instant_updates(record.rule))
    if known is None:
        return None
    sentence, power = known
    plain = (
        record.passes_up == "played"
        and not callable(record.floor)
        and record.floor == 0.0
        and not any(map(callable, record.parameters.values()))
        and record.alternating == (power > 0.0)
        and record.order == "ascending"
        and record.average_power == power
        and not record.restart_base
        and record.average_growth == 1.0
    )
    return sentence(**_numbers(record)) if plain else UNKNOWN


def _observed(record: VariantFields) -> str:
    """Return the observation about a variant without a theorem; empty if there is none.

    Measurements exist for published rules and parameters, with an average that is never restarted,
    and with the published weights or others that were measured.
    """
    known: Any = ALGORITHMS.get(record.name) if record.name in PUBLISHED else None
    bound, power = BOUNDS.get(_without_instant_updates(record.rule)), record.average_power
    if (
        known is None
        or getattr(known, "rule", None) != record.rule
        or known.parameters != record.parameters
        or known.alternating != record.alternating
        or known.order != record.order
        or callable(record.floor)
        or record.floor > 0.0
        or record.restart_base
        or record.average_growth > 1.0
        or callable(power)
        or not (power == known.average_power or bound is None or bound.powers[1] == math.inf)
    ):
        return ""
    return f"  Observed: {FELL} {WHERE}."


def _numbers(record: VariantFields) -> dict[str, float]:
    return {key: float(value) for key, value in record.parameters.items() if not callable(value)}


def _without_instant_updates(rule: LocalRule) -> LocalRule:
    """Return the rule without instant updates, the key of the tables of theorems."""
    return rule.passing_up("played")
