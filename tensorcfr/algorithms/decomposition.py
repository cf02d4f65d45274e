"""CFR-D, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._util.arguments import EXACT, AnyOf, OneOf, Several, Text, Whole
from ..errors import suggest
from .records import CONVERGES, Algorithm
from .registry import Record, find_algorithm, from_dict

CUT = AnyOf(
    (OneOf(("auto", "chance")), Whole(0, EXACT), Several(Text(), alone=True)),
    "'auto', 'chance', a number of public steps, or public nodes",
)


@dataclass(frozen=True)
class Decomposition(Record):
    """CFR on the trunk of a game of private hands, whose subgames are solved anew in each iteration
    and forgotten.

    Call a record to change some of it: ``CFR_D(cut=3, subgame_iterations=500)``.
    """

    forgets_subgames = True
    solver_package = "tensorcfr.subgames"

    name: str
    """What it is called in :func:`tensorcfr.solve` and on the command line."""
    variant: Algorithm
    """The variant of CFR on the trunk.  If players alternate, subgames are solved once for each of
    them; if not, one solution gives the values of both."""
    inner: Algorithm
    """The variant of CFR on the subgames."""
    formula: str
    """What it does, in a line."""
    source: str
    """The paper it comes from."""
    cut: str | int | tuple[str, ...] = "auto"
    """Where the subgames begin, as for :func:`tensorcfr.subgames.subgame_roots`."""
    subgame_iterations: int = 100
    """Iterations on each subgame in each iteration of the trunk."""
    resolve_iterations: int = 1000
    """Iterations of resolving on each subgame, for each player, where the strategies below the
    trunk are asked for."""

    def __post_init__(self) -> None:
        cut = CUT(f"{self.name}: cut", self.cut)
        if isinstance(cut, list) and not cut:
            raise ValueError(f"{self.name}: cut names no public node")
        object.__setattr__(self, "cut", tuple(cut) if isinstance(cut, list) else cut)
        for option in ("subgame_iterations", "resolve_iterations"):
            number = Whole(1, EXACT)(f"{self.name}: {option}", getattr(self, option))
            object.__setattr__(self, option, number)
        for option in ("variant", "inner"):
            try:
                found = find_algorithm(getattr(self, option))
            except (TypeError, ValueError) as error:
                raise type(error)(f"{self.name}: {option}: {error}") from None
            if not isinstance(found, Algorithm):
                raise ValueError(f"{self.name}: {option} must be one of CFR, not {found.name}")
            if found.needs_horizon:
                raise ValueError(f"{self.name}: {option} must do without a horizon: {found.name}")
            rule = found.rule
            if found.against != "current" or rule.forecast or rule.memory or rule.payoff:
                raise ValueError(
                    f"{self.name}: {option} must keep regrets alone, against current strategies; "
                    f"{found.name} does not"
                )
            object.__setattr__(self, option, found)

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        parts = [record.guarantee(zero_sum=True) for record in (self.variant, self.inner)]
        if not zero_sum or set(parts) != {CONVERGES}:
            return super().guarantee(zero_sum=zero_sum)
        return (
            "The average strategy converges to a Nash equilibrium, up to the error of the "
            "subgames' solutions."
        )

    def __call__(self, **changes: Any) -> Decomposition:
        """The same record with some options changed.

        Raises:
            TypeError: There is no such option.
        """
        for option in changes:
            if option not in OPTIONS:
                raise TypeError(f"{self.name} has no option {option!r}; {suggest(option, OPTIONS)}")
        return replace(self, **changes)

    @property
    def options(self) -> dict[str, Any]:
        """The options, by the names that a call takes."""
        return {
            "variant": self.variant,
            "inner": self.inner,
            "cut": self.cut,
            "subgame_iterations": self.subgame_iterations,
            "resolve_iterations": self.resolve_iterations,
        }

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        cut = list(self.cut) if isinstance(self.cut, tuple) else self.cut
        return {
            "name": self.name,
            "variant": self.variant.to_dict(),
            "inner": self.inner.to_dict(),
            "cut": cut,
            "subgame_iterations": self.subgame_iterations,
            "resolve_iterations": self.resolve_iterations,
        }

    def restore(self, values: Mapping[str, Any]) -> Decomposition:  # noqa: D102
        changes = {key: values[key] for key in OPTIONS}
        return self(
            **changes
            | {"variant": from_dict(values["variant"]), "inner": from_dict(values["inner"])}
        )

    def __str__(self) -> str:
        cut = self.cut if isinstance(self.cut, (str, int)) else f"{len(self.cut)} nodes"
        return (
            f"{self.name}(cut={cut}, variant={self.variant}, inner={self.inner}, "
            f"subgame_iterations={self.subgame_iterations}, "
            f"resolve_iterations={self.resolve_iterations})"
        )


OPTIONS = ("variant", "inner", "cut", "subgame_iterations", "resolve_iterations")
"""The options of a record."""
