"""Algorithms without a schedule, as data: dynamics whose joint play converges to correlated
equilibria, and first-order methods on realization plans and on conditional values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np

from .._util.arguments import Number, OneOf
from ..errors import OldFileError
from .registry import Record, publish


class Unscheduled(Record):
    """A record without a schedule: what depends on the number of an iteration, the solver knows."""

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
        paper = {"efce": "Farina et al. 2022", "efcce": "Farina, Bianchi, Sandholm 2020"}[self.kind]
        joint = (
            f"Theorem (Morrill et al. 2021, {paper}): the joint play of the iterations "
            f"(joint_play) converges to the {EXTENSIVE[self.kind]}, as 1 / sqrt(iterations); "
            "exploitability is its gap."
        )
        if zero_sum:
            return f"{joint}  The average strategy converges to a Nash equilibrium."
        return f"{joint}  The average strategy need not come near any equilibrium."


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
        return (
            "Theorem (Nesterov 2005, Kroer et al. 2018): the strategies converge to a Nash "
            "equilibrium, as 1 / iterations."
        )


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


AT_LEAST_0 = Number(0, finite=True)


@dataclass(frozen=True, repr=False)
class AgentDescent(Unscheduled):
    """Mirror descent at every infoset on its own, on values given that it is reached.

    Reaches do not weigh these values, so that the strategy of an infoset is learned as fast behind
    many mistakes as before any.  Call a record to change some of it: ``MMD_AGENT(alpha=0.1)``.
    """

    solvers = MappingProxyType({"flat": "refinements.agent_descent:AgentSolver"})

    name: str
    """What it is called in :func:`tensorcfr.solve` and on the command line."""
    formula: str
    """What it does, in a line."""
    source: str
    """The paper it comes from."""
    eta: Annotated[float, Number(above=0, finite=True)] = 4.0
    """How fast strategies follow values, before any of them has changed."""
    alpha: Annotated[float, Number(0, finite=True)] = 0.0
    """``a``: the temperature, in the game's unit of utility; without ``heat`` 1 over the
    ``lambda`` of a logit equilibrium."""
    heat: Annotated[float, Number(0, finite=True)] = 0.0025
    """``c``: the temperature is ``a + c m``, where ``m`` is the smallest scale above 0 of an
    infoset of the game.  The higher it is, the sooner strategies settle, and the more mistakes they
    keep."""
    floor: Annotated[float, Number(0, 1, "a probability")] = 5e-5
    """``f``: every action has at least the probability ``f / |A|``."""
    average_power: Annotated[float, Number(0, finite=True)] = 20.0
    """Iteration ``t`` enters the average with the weight ``t ** average_power`` times own reach.  A
    path of many mistakes was likely at first: low powers keep what was played there then."""

    def __post_init__(self) -> None:
        self._check_options()

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        if not zero_sum or self != MMD_AGENT:
            return super().guarantee(zero_sum=zero_sum)
        return (
            f"{super().guarantee(zero_sum=zero_sum)}  Observed: conditional regrets came near 0, "
            "as far as floor and temperature let them, on the games of "
            "docs/results/off-the-path.md."
        )

    def weight(self, iteration: int) -> float:
        """Return the averaging weight of an iteration.

        Raises:
            ValueError: It is not finite.
        """
        with np.errstate(over="ignore"):
            weight = float(np.float64(iteration) ** self.average_power)
        if not np.isfinite(weight):
            raise ValueError(f"{self}: its weight is not finite at iteration {iteration}")
        return weight

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"name": self.name, **self.options}

    def updated(self, values: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: D102
        # Up to 0.14.0 floor and temperature fell until iteration ``settled``: go on with those of
        # that iteration.
        if "floor_fall" not in values:
            return values
        if "settled" not in values:
            raise OldFileError(
                f"{self.name} was written by tensorcfr 0.10.0, whose floor fell for ever: load it "
                "with tensorcfr 0.14.0 and save it again"
            )
        found = dict(values)
        # 0.14.0 wrote so of a floor that fell for ever: go on as from the default.
        if values["settled"] == 1e15:
            found["settled"] = 1000.0
        heat, floor, fall, settled = (
            AT_LEAST_0(f"{self.name}: {key}", found[key])
            for key in ("heat", "floor", "floor_fall", "settled")
        )
        del found["floor_fall"], found["settled"]
        with np.errstate(all="ignore"):
            return found | {
                "heat": float(heat / np.float64(settled)),
                "floor": float(floor / np.float64(settled) ** fall),
            }

    def restore(self, values: Mapping[str, Any]) -> AgentDescent:  # noqa: D102
        return self(**{option: values[option] for option in self.options})


MMD_AGENT = AgentDescent(
    "mmd-agent",
    formula="strategy proportional to (strategy exp(h (2 d - d before)))^(1 / (1 + h (a + c m) / "
    "scale)), where d is (q(a) - v) / scale given that the infoset is reached, and h = eta / "
    "sqrt(1 + the sum of the squares of what d changed by, at most, in every iteration); then 1 - "
    "f of it and f of the uniform one; average weighted by t^20",
    source="behavioural form of magnetic mirror descent: S. Sokota, R. D'Orazio, J. Z. Kolter, "
    "N. Loizou, M. Lanctot, I. Mitliagkas, N. Brown, C. Kroer, 'A unified approach to "
    "reinforcement learning, quantal response equilibria, and two-player zero-sum games', ICLR "
    "2023; steps that shrink as predictions fail: A. Rakhlin, K. Sridharan, 'Online learning with "
    "predictable sequences', COLT 2013; this library puts them together, with a floor and scales",
)
"""Magnetic mirror descent in the agent form, optimistic, one player after the other, with a floor
and a temperature; ``m`` is the smallest scale of an infoset.  The scale of an infoset is the
largest size of its value, given that it is reached, when the others play uniformly.  With ``alpha``
above 0, no ``heat`` and no floor, its last iterate settles, if at all, at an agent quantal response
equilibrium."""

publish(EFCE, EFCCE, EGT, MMD_AGENT)
