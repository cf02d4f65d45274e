"""Records of algorithms without a schedule: dynamics whose joint play converges to correlated
equilibria, and first-order methods on realization plans and on conditional values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np

from .._util.argument_checks import Number, OneOf
from ..errors import OldFileError
from .registry import Record, publish


class Unscheduled(Record):
    """Record without a schedule.  Its solver computes all parameters that vary by iteration."""

    is_plain = True

    @property
    def variant(self) -> Self:
        """Record that divides iterations into runs: this record."""
        return self

    def runs(self, first: int, count: int) -> Iterator[tuple[float, int]]:
        """Yield a single run of all iterations; the average is never restarted."""
        yield 1.0, count

    def weights(self, t: np.ndarray) -> np.ndarray:
        """Refuse: iterations of these algorithms have no averaging weights.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"{self.name} has no averaging weights, so its regrets are not summed")


EXTENSIVE = {
    "efce": "extensive-form correlated equilibria",
    "efcce": "extensive-form coarse correlated equilibria",
}
"""Equilibria to which the joint play converges, by kind."""


@dataclass(frozen=True, repr=False)
class Correlated(Unscheduled):
    """Extensive-form regret minimization: regrets for ceasing to follow recommendations.

    All players are updated at once, and the strategies of all iterations are stored.
    """

    plays_jointly = True
    shares_traversals = True
    solvers = MappingProxyType({"flat": "solvers.correlated_solver:CorrelatedSolver"})

    name: str
    """Name in :func:`tensorcfr.solve` and on the command line."""
    kind: str
    """Kind of equilibrium, ``"efce"`` or ``"efcce"``; see
    :func:`tensorcfr.evaluation.correlation_gap`."""
    formula: str
    """Formula or description in one line."""
    source: str
    """Citation of the paper."""

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
    formula=(
        "regrets of every trigger: x(J,b) (q(a) - v) after leaving recommendation b at J, "
        "x(a) (q(b) - q(a)) for b in place of a; sigma is the fixed point of these "
        "deviations"
    ),
    source="D. Morrill, R. D'Orazio, M. Lanctot, J. R. Wright, M. Bowling, A. R. Greenwald, "
    "'Efficient deviation types and learning for hindsight rationality in extensive-form games', "
    "ICML 2021 (informed causal deviations); trigger regrets: A. Celli, A. Marchesi, G. Farina, "
    "N. Gatti, 'No-regret learning dynamics for extensive-form correlated equilibrium', NeurIPS "
    "2020; G. Farina, A. Celli, A. Marchesi, N. Gatti, 'Simple uncoupled no-regret learning "
    "dynamics for extensive-form correlated equilibrium', Journal of the ACM 69, 2022",
)
"""Regret minimization whose joint play converges to extensive-form correlated equilibria."""

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
"""Regret minimization whose joint play converges to extensive-form coarse correlated equilibria."""


@dataclass(frozen=True, repr=False)
class ExcessiveGap(Unscheduled):
    """Excessive gap technique: two realization plans, and a smoothing parameter per player that
    decreases to 0.

    There is no average: the plans are both the solution and the last iterate.
    """

    solvers = MappingProxyType({"flat": "solvers.gap_solver:GapSolver"})

    name: str
    """Name in :func:`tensorcfr.solve` and on the command line."""
    formula: str
    """Formula or description in one line."""
    source: str
    """Citation of the paper."""

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
"""Excessive gap technique with aggressive step sizes, for two-player constant-sum games."""


AT_LEAST_0 = Number(0, finite=True)


@dataclass(frozen=True, repr=False)
class AgentDescent(Unscheduled):
    """Independent mirror descent at every infoset, on action values given that it is reached.

    Reaches do not weight these values.  The strategy of an infoset is therefore learned equally
    fast whether or not mistakes lead to it.  Call a record to change some options:
    ``MMD_AGENT(alpha=0.1)``.
    """

    solvers = MappingProxyType({"flat": "refinements.agent_descent:AgentSolver"})

    name: str
    """Name in :func:`tensorcfr.solve` and on the command line."""
    formula: str
    """Formula or description in one line."""
    source: str
    """Citation of the paper."""
    eta: Annotated[float, Number(above=0, finite=True)] = 4.0
    """Initial step size.  Steps shrink as values change between iterations."""
    alpha: Annotated[float, Number(0, finite=True)] = 0.0
    """``a``: temperature in the game's unit of utility.  If ``heat`` is 0, it is ``1 / lambda`` of
    a logit equilibrium."""
    heat: Annotated[float, Number(0, finite=True)] = 0.0025
    """``c``: the temperature is ``a + c m``, where ``m`` is the smallest positive scale of an
    infoset of the game.  At a higher temperature strategies converge sooner, but make more
    mistakes."""
    floor: Annotated[float, Number(0, 1, "a probability")] = 5e-5
    """``f``: every action has a probability of at least ``f / |A|``."""
    average_power: Annotated[float, Number(0, finite=True)] = 20.0
    """Iteration ``t`` enters the average with the weight ``t ** average_power`` times own reach.
    Early strategies have large reaches on paths of many mistakes, so they would dominate the
    average there if the power were low."""

    def __post_init__(self) -> None:
        self._check_options()

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        if not zero_sum or self != MMD_AGENT:
            return super().guarantee(zero_sum=zero_sum)
        return (
            f"{super().guarantee(zero_sum=zero_sum)}  Observed: conditional regrets came "
            "near 0, as far as floor and temperature allow, on the games of "
            "docs/results/off-the-path.md."
        )

    def weight(self, iteration: int) -> float:
        """Return the averaging weight of an iteration, counted from 1.

        Raises:
            ValueError: The weight is not finite.
        """
        with np.errstate(over="ignore"):
            weight = float(np.float64(iteration) ** self.average_power)
        if not np.isfinite(weight):
            raise ValueError(f"{self}: its weight is not finite at iteration {iteration}")
        return weight

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"name": self.name, **self.options}

    def updated(self, values: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: D102
        # Up to 0.14.0, floor and temperature fell until iteration ``settled``.  Use their values
        # at that iteration.
        if "floor_fall" not in values:
            return values
        if "settled" not in values:
            raise OldFileError(
                f"{self.name} was written by tensorcfr 0.10.0, whose floor fell for ever: load it "
                "with tensorcfr 0.14.0 and save it again"
            )
        converted = dict(values)
        # 0.14.0 wrote 1e15 for a floor that never stopped falling: use the default of ``settled``.
        if values["settled"] == 1e15:
            converted["settled"] = 1000.0
        heat, floor, fall, settled = (
            AT_LEAST_0(f"{self.name}: {key}", converted[key])
            for key in ("heat", "floor", "floor_fall", "settled")
        )
        del converted["floor_fall"], converted["settled"]
        with np.errstate(all="ignore"):
            return converted | {
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
"""Optimistic magnetic mirror descent in the agent form, with a floor and a temperature.  Players
are updated in turn.  ``m`` is the smallest positive scale of an infoset.  The scale of an infoset
is the largest absolute value that it can have, given that it is reached, when the others play
uniformly.  With ``alpha`` above 0, no ``heat`` and no floor, the last iterate can only converge to
an agent quantal response equilibrium."""

publish(EFCE, EFCCE, EGT, MMD_AGENT)
