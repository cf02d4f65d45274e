"""Records of CFR variants and of the linear program."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, TypeGuard

import numpy as np

from .._util.argument_checks import EXACT, Check, Flag, Number, OneOf, Whole
from ..errors import OldFileError, suggest
from ..kernels.local_rule import LocalRule
from .registry import ALGORITHMS, PUBLISHED, Record, find_algorithm
from .theorems import VariantFields, promise

SCHEDULE_ROWS = 1 << 16
"""Maximum number of iterations in one schedule table."""
UNIT_BITS = 64
"""Exponent of the unit of exponentially growing weights: they are stored in powers of ``2**64``.
The sum of ``2**60`` such weights still fits in float32."""

FINITE = Number(finite=True)
Parameter = float | Callable[[np.ndarray], np.ndarray]
"""A number, or a function of the iterations."""
DEFAULTS: Mapping[str, Any] = {
    "delay": 0,
    "restart_base": 0,
    "average_growth": 1.0,
    "floor": 0.0,
    "floor_fall": 0.0,
    "passes_up": "played",
    "order": "ascending",
}
"""Default values of options.  Descriptions omit an option that has its default."""
KNOWN_OPTIONS = ("delay", "restart_base", "floor", "floor_fall", "passes_up")
"""Options that other solvers also support, or refuse with a message of their own.  These solvers do
not pass over a sequence form."""


@dataclass(frozen=True, repr=False)
class Algorithm(VariantFields):
    """A variant of CFR, as data.

    Call a record to change some of it: ``CFR(alternating=False)``, ``DCFR(alpha=2)``.
    """

    passes_whole_game = True
    hidden_defaults = DEFAULTS
    scheduled = ("average_power", "floor")
    solvers = MappingProxyType(
        {
            "flat": "solvers.solver:Solver",
            "tied": "solvers.root_infoset_solver:ImperfectRecallSolver",
            "chunks": "solvers.solver:Solver",
            "cluster": "cluster.cluster_solver:ClusterSolver",
            "teams": "solvers.root_infoset_solver:TeamSolver",
        }
    )

    @property
    def variant(self) -> Algorithm:
        """Variant whose schedule the solver follows: this record."""
        return self

    @property
    def shares_traversals(self) -> bool:  # type: ignore[override]  # noqa: D102
        return not self.alternating

    @property
    def merges_infosets(self) -> bool:  # noqa: D102
        # A merged infoset has the sum of its members' regrets.  Regret matching ignores this
        # scale; exponential weights and projections of regrets do not.
        return not self.rule.is_scale_dependent

    name: str
    """Name in :func:`tensorcfr.solve` and on the command line."""
    rule: LocalRule
    """Local rule: computes new regrets and the next strategy from the old regrets."""
    formula: str
    """Formula in one line.  ``R`` is the cumulative regret, ``r`` the instantaneous regret of
    iteration ``t`` (from 1), ``[.]+`` the positive part."""
    source: str
    """Citation of the paper."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict, hash=False)
    """Parameters of the rule, by name.  Each is a number, or a function that maps iterations ``t``
    (a float64 array, from 1) to one number per iteration."""
    average_power: Annotated[Parameter, Number(0, finite=True)] = 0.0
    """``gamma``: iteration ``t`` enters the average with weight ``(t - delay) ** gamma`` (0 up to
    ``delay``) times own reach.  A number, or a function of ``t - delay``."""
    delay: Annotated[int, Whole(0, EXACT)] = 0
    """Number of initial iterations that the average omits.  The array of the average takes no
    memory before it is first written.  If the delay never ends, policy, values and trace refer to
    the last iterate."""
    restart_base: Annotated[int, Whole(0, EXACT)] = 0
    """``b``: the average is restarted at the iterations ``b, b**2, b**3, ...``; 0 for never."""
    average_growth: Annotated[float, Number(1, finite=True)] = 1.0
    """``g``: the weight of iteration ``t`` is multiplied by ``g ** (t - delay)``.  The average is
    then dominated by the last ``1 / ln(g)`` iterations.  With 1, only ``average_power`` counts."""
    alternating: Annotated[bool, Flag()] = True
    """True if each player's update uses the strategies that earlier players have already updated
    in this iteration.  Otherwise all players update from the strategies of the iteration before."""
    floor: Annotated[Parameter, Number(0, 1, "a probability")] = 0.0
    """``e``: weight of the uniform strategy, mixed into the rule's strategy, which has ``1 - e``.
    Every action then has a probability of at least ``e / |A|``.  A number, or a function of the
    iterations that play the mixture."""
    floor_fall: Annotated[float, Number(0, finite=True)] = 0.0
    """``f``: iteration ``t`` plays with the floor ``e / t ** f``.  A falling floor leads to
    equilibria that hold off the path, too; see ``docs/off-the-path.md``."""
    passes_up: Annotated[str, OneOf(("played", "new"))] = "played"
    """Strategy that determines the value an infoset passes to earlier decisions: the one that the
    iteration played (``"played"``), or the one just computed (``"new"``; Li et al. 2019)."""
    order: Annotated[str, OneOf(("ascending", "descending"))] = "ascending"
    """Order in which alternating players update: from player 0 on (``"ascending"``), or from the
    last player on (``"descending"``).  Papers leave it open, and neither is better in all games."""

    def __post_init__(self) -> None:
        parameters = MappingProxyType(
            {
                key: p
                if callable(p)
                else float(self.rule.checks.get(key, FINITE)(f"{self.name}: {key}", p))
                for key, p in self.parameters.items()
                # Drop defaults, so that records with an explicit default compare equal.
                if key not in self.rule.optional or p != self.rule.optional[key]
            }
        )
        object.__setattr__(self, "parameters", parameters)
        if set(parameters) - set(self.rule.optional) != set(self.rule.parameter_names):
            raise ValueError(
                f"{self.name}: the rule {self.rule.name} takes the parameters "
                f"{list(self.rule.parameter_names)}, not {list(parameters)}"
            )
        self._check_options()
        if self.floor_fall and callable(self.floor):
            raise ValueError(
                f"{self.name}: floor_fall needs a floor that is a number, not a function"
            )
        if self.order != "ascending" and not self.alternating:
            raise ValueError(f"{self.name}: order={self.order} needs alternating updates")
        if self.restart_base == 1:
            raise ValueError(f"{self.name}: restart_base must be 0 or at least 2, not 1")
        object.__setattr__(self, "rule", self.rule.passing_up(self.passes_up))

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        return promise(self, zero_sum=zero_sum)

    def __call__(self, **changes: Any) -> Algorithm:
        """Return a copy with some fields or parameters of the rule changed.

        Args:
            changes: New values, by name of the field or parameter.

        Raises:
            TypeError: There is no such field or parameter.
        """
        option_names = set(super().options)
        parameters = dict(self.parameters)
        known = set(parameters) | set(self.rule.optional)
        field_changes: dict[str, Any] = {}
        for key, value in changes.items():
            if key in known:
                parameters[key] = value
            elif key in option_names:
                field_changes[key] = value
            else:
                raise TypeError(
                    f"{self.name} has no option {key!r}; {suggest(key, option_names | known)}"
                )
        return replace(self, parameters=parameters, **field_changes)

    def schedule(self, first: int, count: int) -> np.ndarray:
        """Compute averaging weights and rule parameters of some iterations.

        Args:
            first: First iteration, from 1.
            count: Number of iterations.

        Returns:
            float64 (count, 1 + parameters of the rule's step): the schedule that
            :func:`tensorcfr.kernels.iteration.iterate` takes.

        Raises:
            ValueError: A weight or parameter is not finite.
        """
        t = np.arange(first, first + count, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            parameters = {key: p(t) if callable(p) else p for key, p in self.parameters.items()}
            columns = self.rule.at(t, **parameters) if self.rule.at else ()
        # Filling column by column is fast: the table takes most of the time of a single iteration
        # of a small game.
        table = np.empty((count, 1 + len(columns)))
        table[:, 0] = self.weights(t)
        for index, column in enumerate(columns, start=1):
            table[:, index] = column
        if not np.isfinite(table).all():
            bad = int(t[~np.isfinite(table).all(axis=1)][0])
            raise ValueError(f"{self}: its weight or a parameter is not finite at iteration {bad}")
        return table

    def weights(self, t: np.ndarray) -> np.ndarray:
        """Compute the averaging weights of some iterations.

        Args:
            t: Iterations from 1, float64.

        Returns:
            float64, shape of ``t``: weights in the unit of the first iteration; see :meth:`runs`.

        Raises:
            TypeError: ``average_power`` is not a function of ``t - delay``.
        """
        counted, power = np.maximum(t - self.delay, 1.0), self.average_power
        with np.errstate(over="ignore"):
            try:
                weights = counted ** (power(counted) if callable(power) else power)
            except TypeError as error:
                raise TypeError(
                    f"average_power of {self.name} is not a function of t - delay: {error}"
                ) from error
            if self.average_growth > 1.0 and len(t):
                weights *= np.exp2(counted * math.log2(self.average_growth) - self._unit(t[0]))
        weights[t <= self.delay] = 0.0
        return weights

    def _unit(self, t: float) -> float:
        """Return the binary logarithm of the unit of the average in iteration ``t``."""
        bits = max(t - self.delay, 0.0) * math.log2(self.average_growth)
        return bits // UNIT_BITS * UNIT_BITS

    def _unit_end(self, t: int) -> int:
        """Return the first iteration after ``t`` with another unit; growth must exceed 1."""
        unit = self._unit(t)
        end = self.delay + math.ceil((unit + UNIT_BITS) / math.log2(self.average_growth))
        # Rounding may put `end` slightly before or after the change of unit: correct both.
        while self._unit(end) <= unit:
            # Beyond EXACT, adding 1 does not change a float.
            end += 1 + end // EXACT
        while end - 1 > t and self._unit(end - 1) > unit:
            end -= 1
        return end

    def turns(self, first: int, count: int, players: int) -> np.ndarray:  # noqa: D102
        if not self.alternating:
            return super().turns(first, count, players)
        turns = np.arange(players).reshape(1, players, 1)
        if self.order == "descending":
            turns = turns[:, ::-1]
        return turns.repeat(count, axis=0)

    def floors(self, first: int, count: int) -> np.ndarray:
        """Compute the floors of the strategies that some iterations produce.

        Args:
            first: First iteration, from 1.
            count: Number of iterations.

        Returns:
            float64 (count,): floor of the strategy computed in each iteration.

        Raises:
            ValueError: A floor is not from 0 to 1.
        """
        # The next iteration plays the strategy, and the floor belongs to the iteration that plays.
        t = np.arange(first, first + count, dtype=np.float64) + 1.0
        if not callable(self.floor):
            return float(self.floor) * t**-self.floor_fall
        floors = np.broadcast_to(np.asarray(self.floor(t), dtype=np.float64), t.shape).copy()
        if not ((floors >= 0.0) & (floors <= 1.0)).all():
            raise ValueError(f"{self}: its floor is not always from 0 to 1")
        return floors

    def runs(self, first: int, count: int) -> Iterator[tuple[float, int]]:
        """Split iterations into runs, each with its own table of :meth:`schedule`.

        Args:
            first: First iteration, from 1.
            count: Number of iterations.

        Yields:
            The factor by which the average is multiplied before a run, and the number of its
            iterations.  The factor is 0 if the average is restarted, a power of two if the unit of
            growing weights changes, and 1 otherwise.
        """
        end, restart = first + count, self.restart_base or first + count
        while first < end:
            while restart < first:
                restart *= self.restart_base
            restarts = restart == first
            following = restart * self.restart_base if restarts else restart
            factor = 0.0 if restarts else 1.0
            if self.average_growth > 1.0:
                factor *= 2.0 ** (self._unit(first - 1) - self._unit(first))
                following = min(following, self._unit_end(first))
            length = min(following - first, end - first, SCHEDULE_ROWS)
            yield factor, length
            first += length

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        registered = ALGORITHMS.get(self.name)
        known = registered if isinstance(registered, Algorithm) else None
        functions = [key for key, value in self.parameters.items() if callable(value)]
        for key in functions:
            if known is None or known.parameters.get(key) is not self.parameters[key]:
                raise ValueError(_unsaved(f"parameter {key!r}", self.name))
        numbers = {}
        for key in self.scheduled:
            value = getattr(self, key)
            if not callable(value):
                numbers[key] = float(value)
            elif known is None or getattr(known, key) is not value:
                raise ValueError(_unsaved(key, self.name))
        return {
            **numbers,
            "name": self.name,
            "rule": self.rule.name,
            "digest": self.rule.digest,
            "parameters": {key: p for key, p in self.parameters.items() if not callable(p)},
            "functions": functions,
            **{key: p for key, p in super().options.items() if key not in self.scheduled},
        }

    def updated(self, values: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: D102
        # Up to 0.16.0, players could play against the others' average strategies.
        if values.get("against", "current") != "current":
            raise OldFileError(
                f"{self.name} was written with against={values['against']!r}, an option that "
                "tensorcfr 0.17.0 removed: load it with tensorcfr 0.16.0"
            )
        # Up to 0.20.0, players always updated in ascending order.
        values = {"order": "ascending", **values}
        return {key: value for key, value in values.items() if key != "against"}

    def restore(self, values: Mapping[str, Any]) -> Algorithm:  # noqa: D102
        # The digest of one and the same rule differs between versions of Python; the rules of this
        # library are known by name.
        rule = self.rule.passing_up(values["passes_up"])
        same = rule.digest == values["digest"] or self.name in PUBLISHED
        if self.rule.name != values["rule"] or not same:
            raise ValueError(
                f"{self.name} was written with the rule {values['rule']!r}, but the "
                f"registered rule {self.rule.name!r} computes something else"
            )
        for key in values["functions"]:
            if not callable(self.parameters.get(key)):
                raise ValueError(f"parameter {key!r} of {self.name} was a function when written")
        options = super().options
        # An option that is a function is not described.
        changes = {
            key: values[key]
            for key, current in options.items()
            if not (key in self.scheduled and callable(current) and key not in values)
        }
        return self(**values["parameters"], **changes)

    @property
    def beyond(self) -> list[str]:
        """Names of options outside :data:`KNOWN_OPTIONS` that differ from their defaults.  A solver
        that supports only :data:`KNOWN_OPTIONS` would ignore them."""
        changed = (name for name, default in DEFAULTS.items() if getattr(self, name) != default)
        return [name for name in changed if name not in KNOWN_OPTIONS]

    @property
    def options(self) -> dict[str, Any]:
        """Parameters of the rule and other options, by keyword of a call."""
        return {**self.parameters, **super().options}


class Variant(Check):
    """Check of an option that is a variant of CFR, given as a record or by name."""

    def __call__(self, name: str, value: Any) -> Algorithm:
        """Return the record.

        Raises:
            TypeError: The value is neither a record nor a name.
            ValueError: The algorithm is unknown, or not a variant of CFR.
        """
        try:
            algorithm = find_algorithm(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
        if not isinstance(algorithm, Algorithm):
            record, _, option = name.rpartition(": ")
            raise ValueError(
                f"{record}: the {option} must be a variant of CFR, not {algorithm.name}"
            )
        return algorithm


VARIANT = Variant()


def _unsaved(what: str, name: str) -> str:
    return (
        f"{what} of {name} is a function, which cannot be saved; give the algorithm a name of its "
        "own and register() it"
    )


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or NumPy."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


@dataclass(frozen=True, repr=False)
class LinearProgram(Record):
    """Linear program that solves a two-player zero-sum game exactly, without iterations."""

    equilibria = MappingProxyType(
        {
            "floats": "evaluation.linear_program:equilibrium",
            "fractions": "evaluation.exact:exact_equilibrium",
        }
    )

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        nash = "the strategies are a Nash equilibrium, exact to rounding."
        return f"Theorem (Koller et al. 1994): {nash}"

    name: str = "lp"
    formula: str = "the exact sequence-form linear program (two players, zero-sum), by HiGHS"
    source: str = (
        "D. Koller, N. Megiddo, B. von Stengel, 'Fast algorithms for finding randomized "
        "strategies in game trees', STOC 1994"
    )
