"""Record of CFR-D."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from .._util.argument_checks import EXACT, AnyOf, OneOf, Several, Text, Whole
from .records import VARIANT, Algorithm
from .registry import Record, from_dict
from .theorems import average_converges

CUT = AnyOf(
    (OneOf(("auto", "chance")), Whole(0, EXACT), Several(Text(), alone=True)),
    "'auto', 'chance', a number of public steps, or public nodes",
)


@dataclass(frozen=True, repr=False)
class Decomposition(Record):
    """CFR on the trunk of a game of private hands.  Each iteration solves all subgames from scratch
    and discards their solutions.

    Call a record to change some options: ``CFR_D(cut=3, subgame_iterations=500)``.
    """

    forgets_subgames = True
    solvers = MappingProxyType(
        {"flat": "subgames.cfr_d:DecomposedSolver", "chunks": "subgames.cfr_d:DecomposedSolver"}
    )

    name: str
    """Name in :func:`tensorcfr.solve` and on the command line."""
    variant: Annotated[Algorithm, VARIANT]
    """Variant of CFR on the trunk.  If players alternate, the subgames are solved once per player;
    otherwise one solution gives the values of both."""
    inner: Annotated[Algorithm, VARIANT]
    """Variant of CFR on the subgames."""
    formula: str
    """Formula or description in one line."""
    source: str
    """Citation of the paper."""
    cut: Annotated[str | int | tuple[str, ...], CUT] = "auto"
    """Roots of the subgames, in a form that :func:`tensorcfr.subgames.subgame_roots` takes."""
    subgame_iterations: Annotated[int, Whole(1, EXACT)] = 100
    """Number of iterations on each subgame in each iteration of the trunk."""
    resolve_iterations: Annotated[int, Whole(1, EXACT)] = 1000
    """Number of iterations for each player when a subgame is resolved to obtain strategies below
    the trunk."""

    def __post_init__(self) -> None:
        self._check_options()
        if isinstance(self.cut, list):
            if not self.cut:
                raise ValueError(f"{self.name}: cut names no public node")
            object.__setattr__(self, "cut", tuple(self.cut))
        for option, record in (("variant", self.variant), ("inner", self.inner)):
            rule = record.rule
            if rule.memory or rule.payoff:
                raise ValueError(
                    f"{self.name}: {option} must store only regrets, and {record.name} "
                    "stores more or changes payoffs"
                )

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        if not zero_sum or not all(map(average_converges, (self.variant, self.inner))):
            return super().guarantee(zero_sum=zero_sum)
        return (
            "Theorem (Burch et al. 2014): the average strategy converges to a Nash equilibrium, up "
            "to the error of the subgames' solutions."
        )

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        cut = list(self.cut) if isinstance(self.cut, tuple) else self.cut
        records = {"variant": self.variant.to_dict(), "inner": self.inner.to_dict()}
        return {"name": self.name, **self.options, **records, "cut": cut}

    def restore(self, values: Mapping[str, Any]) -> Decomposition:  # noqa: D102
        records = {key: from_dict(values[key]) for key in ("variant", "inner")}
        return self(**{key: values[key] for key in self.options} | records)

    def __str__(self) -> str:
        cut = self.cut if isinstance(self.cut, (str, int)) else f"{len(self.cut)} nodes"
        options = {
            "cut": cut,
            **{key: value for key, value in self.options.items() if key != "cut"},
        }
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in options.items())})"
