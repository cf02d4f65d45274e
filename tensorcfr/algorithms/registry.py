"""Algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from .._util.arguments import Check, brief, checks_of
from ..errors import Lookup, suggest


class Record:
    """An algorithm as data: the base of everything that :func:`tensorcfr.solve` takes.

    The class attributes say what an algorithm can do; code that depends on it asks them instead of
    the class.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    name: str
    """What it is called in :func:`tensorcfr.solve` and on the command line."""
    formula: str
    """What it does, in a line."""
    source: str
    """The paper it comes from."""
    is_exact = False
    """Whether it gives the equilibrium at once, without iterations."""
    is_sampled = False
    """Whether it samples histories, and so takes a seed."""
    samples_rules = False
    """Whether it samples games that are not compiled, too."""
    shares_draws: bool = False
    """Whether all players learn from the same draws of chance in an iteration."""
    passes_whole_game = False
    """Whether every iteration passes over the whole sequence form, so that locks, warm starts,
    single precision and threads apply."""

    plays_jointly = False
    """Whether its result is the joint play of the iterations and not the average strategy: values
    and deviations are of that."""

    is_plain = False
    """Whether its solver works in double precision on one thread, and nothing else is to choose."""

    forgets_subgames = False
    """Whether the solver keeps numbers of the trunk alone, not of all infosets."""
    unsaid: ClassVar[Mapping[str, Any]] = {}
    """Options that descriptions leave out where they have these values."""
    scheduled: ClassVar[tuple[str, ...]] = ()
    """Options that may be functions of the iterations."""
    solvers: ClassVar[Mapping[str, str]] = {}
    """The solvers that run it, ``"module:Class"`` of this package by the layout of the game
    (:attr:`CompiledGame.layout`), or ``"cluster"``.  A module is imported when its solver is first
    needed.  Empty where it does not iterate."""

    @property
    def merges_infosets(self) -> bool:
        """Whether infosets that the payoffs cannot tell apart may be solved as one."""
        return False

    @property
    def _checks(self) -> dict[str, tuple[Check, bool]]:
        """The checks of the options, which are the fields whose annotations have one."""
        kind: Callable[..., Any] = type(self)
        return checks_of(kind)

    def _check_options(self) -> None:
        """Hold every option to its check.

        Raises:
            ValueError: One is out of range, or something else altogether; names it.
        """
        for option, (check, _) in self._checks.items():
            value = getattr(self, option)
            if not (option in self.scheduled and callable(value)):
                object.__setattr__(self, option, check(f"{self.name}: {option}", value))

    def __call__(self, **changes: Any) -> Self:
        """The same record with some options changed.

        Raises:
            TypeError: There is no such option.
        """
        known = self.options
        for option in changes:
            if option not in known:
                meant = f"; {suggest(option, known)}" if known else ""
                raise TypeError(f"{self.name} has no option {option!r}{meant}")
        changed: Self = replace(self, **changes) if changes else self  # type: ignore[type-var]
        return changed

    def guarantee(self, *, zero_sum: bool) -> str:
        """Return what is proven of its strategies, with the paper, and what is only observed.

        Args:
            zero_sum: Whether the game has two players and a constant sum.
        """
        return UNKNOWN

    @property
    def options(self) -> dict[str, Any]:
        """The options, by the names that a call takes."""
        return {option: getattr(self, option) for option in self._checks}

    def usual_options(self, known: Record | None) -> dict[str, Any]:
        """The options that a text naming this algorithm need not say: those of the record that is
        registered under its name."""
        return {} if known is None else known.options

    def to_dict(self) -> dict[str, Any]:
        """Plain values from which :func:`from_dict` makes the same record.

        Raises:
            ValueError: A parameter is a function, and not that of the record that is registered
                under the name: functions cannot be saved.
        """
        return {"name": self.name}

    def updated(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the description that :meth:`to_dict` of this version would give to a record that
        an earlier version described.

        Raises:
            OldFileError: The version is too old; names the one that converts its files.
        """
        return values

    def restore(self, values: Mapping[str, Any]) -> Record:
        """The record of this name that :meth:`to_dict` described.

        Raises:
            ValueError: The record of this name computes something else.
        """
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # By name: rules are functions, which pickle does not take.
        return from_dict, (self.to_dict(),)

    def __str__(self) -> str:
        said = [
            describe(option, value)
            for option, value in self.options.items()
            if option not in self.unsaid or value != self.unsaid[option]
        ]
        return f"{self.name}({', '.join(said)})" if said else self.name


def describe(option: str, value: Any) -> str:
    """An option of an algorithm in a few characters: ``alpha=1.5``, ``simultaneous``."""
    if option == "alternating":
        return "alternating" if value else "simultaneous"
    if isinstance(value, (str, bool)):
        return f"{option}={value}"
    return f"{option}=f(t)" if callable(value) else f"{option}={value:g}"


UNKNOWN = "No theorem about this algorithm is known here."
ALGORITHMS: dict[str, Record] = Lookup()
"""The algorithms by name: the published ones first, then those that were registered."""
AUTOMATIC = "auto"
"""In place of a name, where a game is at hand to choose an algorithm by."""
PUBLISHED = {AUTOMATIC}
"""The names that come with the library."""


def publish(*records: Record) -> None:
    """Register algorithms of this library; their names cannot be registered again."""
    for record in records:
        ALGORITHMS[record.name] = record
        PUBLISHED.add(record.name)


def register(algorithm: Record) -> None:
    """Give an algorithm of your own its name: for ``solve``, the command line, and for solutions
    that are read back from a file.

    Registering a name of your own again replaces what it stood for.

    Raises:
        ValueError: The name belongs to a published algorithm.
    """
    if not isinstance(algorithm, Record):
        raise TypeError(f"algorithm must be a record, not {brief(algorithm)}")
    if algorithm.name in PUBLISHED and ALGORITHMS.get(algorithm.name) != algorithm:
        raise ValueError(f"the name {algorithm.name!r} belongs to a published algorithm")
    ALGORITHMS[algorithm.name] = algorithm


def find_algorithm(algorithm: str | Record) -> Record:
    """The record of a name; a record is returned as it is.

    Raises:
        ValueError: There is no such algorithm; suggests the right one.
        TypeError: It is neither a name nor a record.
    """
    if isinstance(algorithm, Record):
        return algorithm
    if not isinstance(algorithm, str):
        raise TypeError(f"an algorithm is a name or an Algorithm, not {brief(algorithm)}")
    if algorithm == AUTOMATIC:
        raise ValueError(
            f"{AUTOMATIC!r} chooses by the game and the target: solve(game, {AUTOMATIC!r}) takes "
            "it, without settings"
        )
    found = ALGORITHMS.get(algorithm)
    if found is None:
        meant = algorithm.casefold().replace("plus", "+").replace("_", "").replace(" ", "")
        raise ValueError(f"there is no algorithm {brief(algorithm)}; {suggest(meant, ALGORITHMS)}")
    return found


@dataclass(frozen=True, repr=False)
class Unregistered(Record):
    """An algorithm that a file names and that is not registered here: it cannot run."""

    name: str
    described: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What the file says about it."""
    formula: str = "not registered here"
    source: str = "not registered here"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return dict(self.described)

    def __str__(self) -> str:
        return f"{self.name} (not registered here)"


def from_dict(values: Mapping[str, Any]) -> Record:
    """The record that :meth:`Record.to_dict` described.

    Raises:
        ValueError: There is no algorithm of that name, or it has another rule now.
    """
    try:
        record = find_algorithm(values["name"])
    except ValueError as error:
        hint = "an algorithm of your own must be registered before it is read"
        raise ValueError(f"{error} ({hint})") from None
    return record.restore(record.updated(values))
