"""Registry of algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._util.argument_checks import Check, brief, checks_of
from ..errors import Lookup, suggest


class Record:
    """Algorithm as data: the base of all records that :func:`tensorcfr.solve` takes.

    Class attributes describe the capabilities of an algorithm.  Code tests these attributes
    instead of the class.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    name: str
    """Name in :func:`tensorcfr.solve` and on the command line."""
    formula: str
    """Formula or description in one line."""
    source: str
    """Citation of the paper."""
    is_sampled = False
    """True if it samples histories, and therefore takes a seed."""
    samples_rules = False
    """True if it can also sample uncompiled games."""
    shares_traversals: bool = False
    """True if all players learn from the same traversals and strategies in an iteration."""
    passes_whole_game = False
    """True if every iteration passes over the whole sequence form.  Locks, warm starts, single
    precision and threads then apply."""

    plays_jointly = False
    """True if its result is the joint play of the iterations, not the average strategy.  Values and
    deviations are then computed for the joint play."""

    is_plain = False
    """True if its solver always uses double precision and one thread."""

    forgets_subgames = False
    """True if the solver stores the numbers of the trunk only, not of all infosets."""
    hidden_defaults: ClassVar[Mapping[str, Any]] = {}
    """Option values that descriptions omit, by name of the option."""
    scheduled: ClassVar[tuple[str, ...]] = ()
    """Names of the options that may be functions of the iteration."""
    solvers: ClassVar[Mapping[str, str]] = {}
    """Solver classes as ``"module:Class"`` of this package, by layout of the game
    (:class:`tensorcfr.model.layout.Layout`) or ``"cluster"``.  A module is imported when its solver
    is first needed.  Empty for an algorithm without iterations."""
    equilibria: ClassVar[Mapping[str, str]] = {}
    """Functions that compute an equilibrium without iterations, named as in ``solvers``, by the
    kind of numbers in the result: ``"floats"`` or ``"fractions"``.  Empty for an algorithm that
    iterates."""

    @property
    def is_exact(self) -> bool:
        """True if it computes an equilibrium directly, without iterations."""
        return bool(self.equilibria)

    @property
    def merges_infosets(self) -> bool:
        """True if infosets that the payoffs cannot tell apart may be solved as one."""
        return False

    def learning_nodes(self, decision_nodes: int, players: int) -> int:
        """Convert visited decision nodes to the unit of the AI Poker Tutorial.

        Solvers count a traversal once for each player who learns from it.  In this unit, it counts
        once.

        Args:
            decision_nodes: Number of visited decision nodes.
            players: Number of players of the game.
        """
        return decision_nodes // players if self.shares_traversals else decision_nodes

    @property
    def _checks(self) -> dict[str, tuple[Check, bool]]:
        """Checks of the options.  Options are the fields with a check in their annotation."""
        kind: Callable[..., Any] = type(self)
        return checks_of(kind)

    def _check_options(self) -> None:
        """Check every option, and store the value that its check returns."""
        for option, (check, _) in self._checks.items():
            value = getattr(self, option)
            if not (option in self.scheduled and callable(value)):
                # The dataclass is frozen, so plain assignment would fail.
                object.__setattr__(self, option, check(f"{self.name}: {option}", value))

    def __call__(self, **changes: Any) -> Self:
        """Return a copy with some options changed.

        Args:
            changes: New values, by name of the option.

        Raises:
            TypeError: There is no such option.
        """
        known = self.options
        for option in changes:
            if option not in known:
                suggestion = f"; {suggest(option, known)}" if known else ""
                raise TypeError(f"{self.name} has no option {option!r}{suggestion}")
        changed: Self = replace(self, **changes) if changes else self  # type: ignore[type-var]
        return changed

    def turns(self, first: int, count: int, players: int) -> np.ndarray:
        """Return the players who update in some iterations, turn by turn.

        The players of a turn update together, from the same strategies.  The next turn uses the
        strategies that they compute.  All solvers, and all functions that follow a solver, read the
        order of the updates here.

        Args:
            first: First iteration, from 1.
            count: Number of iterations.
            players: Number of players of the game.

        Returns:
            int64 (count, turns, players of a turn).  Each player updates once per iteration.  Here
            all players share one turn.
        """
        return np.arange(players).reshape(1, 1, players).repeat(count, axis=0)

    def guarantee(self, *, zero_sum: bool) -> str:
        """Return the theorem about its strategies, with the paper, and observations beyond it.

        Args:
            zero_sum: True if the game has two players and a constant sum.

        Returns:
            One or two sentences.
        """
        return UNKNOWN

    @property
    def options(self) -> dict[str, Any]:
        """Options, by keyword of a call."""
        return {option: getattr(self, option) for option in self._checks}

    def default_options(self, known: Record | None) -> dict[str, Any]:
        """Return the option values that a description may omit.

        Args:
            known: The record registered under the name of this one, or None.
        """
        return {} if known is None else known.options

    def to_dict(self) -> dict[str, Any]:
        """Return plain values from which :func:`from_dict` makes the same record.

        Raises:
            ValueError: A parameter is a function, which cannot be saved.  A function of the record
                registered under the name is fine.
        """
        return {"name": self.name}

    def updated(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Convert a description by an earlier version to the form of this version's
        :meth:`to_dict`.

        Args:
            values: The description, as read from a file.

        Raises:
            OldFileError: The version is too old; names a version that converts its files.
        """
        # A description may hold those of other records, such as the variant of a sampler.
        return {key: _updated_record(value) for key, value in values.items()}

    def restore(self, values: Mapping[str, Any]) -> Record:
        """Return a copy of this record with the options of a description by :meth:`to_dict`.

        Args:
            values: The description.

        Raises:
            ValueError: The described record has another rule than this one.
        """
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle by name, because rules are functions, which pickle may reject.
        return from_dict, (self.to_dict(),)

    def __str__(self) -> str:
        shown = [
            describe(option, value)
            for option, value in self.options.items()
            if option not in self.hidden_defaults or value != self.hidden_defaults[option]
        ]
        return f"{self.name}({', '.join(shown)})" if shown else self.name


def describe(option: str, value: Any) -> str:
    """Format an option of an algorithm: ``alpha=1.5``, ``simultaneous``."""
    if option == "alternating":
        return "alternating" if value else "simultaneous"
    if isinstance(value, (str, bool)):
        return f"{option}={value}"
    return f"{option}=f(t)" if callable(value) else f"{option}={value:g}"


UNKNOWN = "No theorem about this algorithm is known here."
ALGORITHMS: dict[str, Record] = Lookup()
"""Algorithms by name: the published ones first, then the registered ones."""
AUTOMATIC = "auto"
"""Name with which :func:`tensorcfr.solve` chooses an algorithm by the game."""
PUBLISHED = {AUTOMATIC}
"""Names that come with the library; users cannot register them."""


def publish(*records: Record) -> None:
    """Register algorithms of this library, and reserve their names."""
    for record in records:
        ALGORITHMS[record.name] = record
        PUBLISHED.add(record.name)


def register(algorithm: Record) -> None:
    """Register an algorithm of your own under its name.

    The name then works in ``solve``, on the command line, and in solutions read from a file.
    Registering a name again replaces the earlier record.

    Args:
        algorithm: The record.

    Raises:
        ValueError: The name belongs to a published algorithm.
        TypeError: The argument is not a record.
    """
    if not isinstance(algorithm, Record):
        raise TypeError(f"algorithm must be a record, not {brief(algorithm)}")
    if algorithm.name in PUBLISHED and ALGORITHMS.get(algorithm.name) != algorithm:
        raise ValueError(f"the name {algorithm.name!r} belongs to a published algorithm")
    ALGORITHMS[algorithm.name] = algorithm


def find_algorithm(algorithm: str | Record) -> Record:
    """Return the algorithm of a name; return a record unchanged.

    Args:
        algorithm: Name or record.

    Raises:
        ValueError: There is no such algorithm; suggests similar names.
        TypeError: The argument is neither a name nor a record.
    """
    if isinstance(algorithm, Record):
        return algorithm
    if not isinstance(algorithm, str):
        raise TypeError(f"algorithm must be a name or an Algorithm, not {brief(algorithm)}")
    if algorithm == AUTOMATIC:
        raise ValueError(
            f"{AUTOMATIC!r} chooses by the game and the target: solve(game, {AUTOMATIC!r}) takes "
            "it, without settings"
        )
    record = ALGORITHMS.get(algorithm)
    if record is None:
        spelling = algorithm.casefold().replace("plus", "+").replace("_", "").replace(" ", "")
        raise ValueError(
            f"there is no algorithm {brief(algorithm)}; {suggest(spelling, ALGORITHMS)}"
        )
    return record


@dataclass(frozen=True, repr=False)
class Unregistered(Record):
    """Algorithm that a file names and that is not registered here.  It cannot run."""

    name: str
    described: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Description of the algorithm in the file."""
    formula: str = "not registered here"
    source: str = "not registered here"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return dict(self.described)

    def __str__(self) -> str:
        return f"{self.name} (not registered here)"


def _updated_record(value: Any) -> Any:
    """Convert the description of a registered record; return any other value as it is."""
    name = value.get("name") if isinstance(value, Mapping) else None
    record = ALGORITHMS.get(name) if isinstance(name, str) else None
    return value if record is None else record.updated(value)


def from_dict(values: Mapping[str, Any]) -> Record:
    """Make a record from its description by :meth:`Record.to_dict`.

    Args:
        values: The description.

    Raises:
        ValueError: There is no algorithm of that name, or it has another rule now.
        OldFileError: The description is by a version that is too old.
    """
    try:
        record = find_algorithm(values["name"])
    except ValueError as error:
        hint = "register() an algorithm of your own before you load its files"
        raise ValueError(f"{error} ({hint})") from None
    return record.restore(record.updated(values))
