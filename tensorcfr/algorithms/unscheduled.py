"""Algorithms without a schedule, as data: dynamics whose joint play converges to correlated
equilibria, and first-order methods on realization plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from .._util.arguments import OneOf
from .registry import Record, publish


class Unscheduled(Record):
    """A record without a schedule: no iteration depends on its number."""

    is_plain = True
    alternating = False

    @property
    def variant(self) -> Self:
        """What says how iterations are divided: this record."""
        return self

    def runs(self, first: int, count: int) -> Iterator[tuple[float, int]]:
        """All iterations in one run, without a restart of the average."""
        yield 1.0, count


EXTENSIVE = {
    "efce": "extensive-form correlated equilibria",
    "efcce": "extensive-form coarse correlated equilibria",
}
"""What the joint play converges to."""


@dataclass(frozen=True, repr=False)
class Correlated(Unscheduled):
    """Extensive-form regret minimization: regrets of players who stop to follow recommendations.

    All players are updated at once, and the strategies of every iteration are kept.
    """

    plays_jointly = True
    solvers = MappingProxyType({"flat": "correlated.solver:CorrelatedSolver"})

    name: str
    """What it is called in :func:`tensorcfr.solve` and on the command line."""
    kind: str
    """The equilibria: ``"efce"`` or ``"efcce"``, as for
    :func:`tensorcfr.evaluation.correlation_gap`."""
    formula: str
    """What it does, in a line."""
    source: str
    """The paper it comes from."""

    def __post_init__(self) -> None:
        OneOf(tuple(EXTENSIVE))(f"{self.name}: kind", self.kind)

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        promise = (
            f"The joint play of the iterations (joint_play) converges to the "
            f"{EXTENSIVE[self.kind]}, as 1 / sqrt(iterations); exploitability is its gap."
        )
        if zero_sum:
            return f"{promise}  The average strategy converges to a Nash equilibrium."
        return f"{promise}  The average strategy need not come near any equilibrium."


EFCE = Correlated(
    "efce",
    "efce",
    formula="regrets of every trigger: x(J,b) (q(a) - v) after leaving recommendation b at J, "
    "x(a) (q(b) - q(a)) for b in place of a; sigma is what these deviations leave as it is",
    source="D. Morrill, R. D'Orazio, M. Lanctot, J. R. Wright, M. Bowling, A. R. Greenwald, "
    "'Efficient deviation types and learning for hindsight rationality in extensive-form games', "
    "ICML 2021 (informed causal deviations); trigger regrets: A. Celli, A. Marchesi, G. Farina, "
    "N. Gatti, 'No-regret learning dynamics for extensive-form correlated equilibrium', NeurIPS "
    "2020; G. Farina, A. Celli, A. Marchesi, N. Gatti, 'Simple uncoupled no-regret learning "
    "dynamics for extensive-form correlated equilibrium', Journal of the ACM 69, 2022",
)
"""Joint play towards extensive-form correlated equilibria."""

EFCCE = Correlated(
    "efcce",
    "efcce",
    formula="regrets of every infoset J on the way: x(J) (q(a) - v) after leaving the plan at J; "
    "sigma in proportion to their positive parts, with x(J)",
    source="D. Morrill, R. D'Orazio, M. Lanctot, J. R. Wright, M. Bowling, A. R. Greenwald, "
    "'Efficient deviation types and learning for hindsight rationality in extensive-form games', "
    "ICML 2021 (blind causal deviations); the equilibria: G. Farina, T. Bianchi, T. Sandholm, "
    "'Coarse correlation in extensive-form games', AAAI 2020",
)
"""Joint play towards extensive-form coarse correlated equilibria."""


@dataclass(frozen=True, repr=False)
class ExcessiveGap(Unscheduled):
    """The excessive gap technique: two plans, and a smoothing of each player that shrinks.

    There is no average: the plans themselves are the solution, and the last iterate.
    """

    solvers = MappingProxyType({"flat": "excessive_gap.solver:GapSolver"})

    name: str
    """What it is called in :func:`tensorcfr.solve` and on the command line."""
    formula: str
    """What it does, in a line."""
    source: str
    """The paper it comes from."""

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        if not zero_sum:
            return super().guarantee(zero_sum=zero_sum)
        return "The strategies converge to a Nash equilibrium, as 1 / iterations."


EGT = ExcessiveGap(
    "egt",
    formula="x <- (1 - t) x + t s(y); y <- (1 - t) y + t s(x), where s is the best response "
    "smoothed by m times the dilated entropy, and y responds to the x in between; m <- (1 - t) m "
    "for the player with the larger m; t is halved where the excessive gap would be lost, else "
    "multiplied by 1.11, up to 1/2",
    source="C. Kroer, G. Farina, T. Sandholm, 'Solving large sequential games with the excessive "
    "gap technique', NeurIPS 2018; Y. Nesterov, 'Excessive gap technique in nonsmooth convex "
    "minimization', SIAM Journal on Optimization 16, 2005; weights of the entropies: G. Farina, "
    "C. Kroer, T. Sandholm, 'Better regularization for sequential decision spaces', EC 2021",
)
"""The excessive gap technique with aggressive steps, for two players and a constant sum."""

publish(EFCE, EFCCE, EGT)
