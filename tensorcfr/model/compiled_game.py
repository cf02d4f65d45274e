"""The compiled game: the interface that all layouts of its arrays share.

A game has a trunk and chunks (:mod:`tensorcfr.model.chunked_form`), counts, labels and, if it has
private hands, public nodes (:mod:`tensorcfr.model.public_nodes`).  Some games are also flat
(:class:`~tensorcfr.model.flat_game.FlatGame`), which algorithms need that do not pass over trunk
and chunks.  A game in chunks is converted to a flat game only on request.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Limit, checked
from .chunked_form import ChunkedForm
from .infoset_rows import InfosetRows, Located
from .solvable_game import SolvableGame

if TYPE_CHECKING:
    from .flat_game import FlatGame
    from .public_nodes import PublicNodes


class Recipe(NamedTuple):
    """Arguments with which a game in chunks is compiled again."""

    source: str | None
    """Name and parameters of a built-in game; None for a game of the user."""
    cut: bool | int | tuple[int, ...] | tuple[str, ...]
    """Position of the cut, as for :func:`tensorcfr.compile_game`."""
    limit: int
    """Largest number of sequences of a chunk that holds several subtrees."""
    symmetry: bool
    """Merging of symmetric infosets, as for :func:`tensorcfr.compile_game`."""


class PayingGame(SolvableGame):
    """Properties that depend only on the utilities and the digest."""

    if TYPE_CHECKING:

        @property
        def utilities(self) -> np.ndarray:
            """float64 (n, players): all utilities that occur at terminals, in the game's own unit,
            in any order, possibly repeated."""

    @cached_property
    def utility_sums(self) -> tuple[float, float]:
        """Smallest and largest sum of the players' utilities over the terminals."""
        sums = self.utilities.sum(axis=1)
        return float(sums.min()), float(sums.max())

    @property
    def zero_sum(self) -> bool:
        """True if the utilities sum to 0 at every terminal, up to rounding."""
        return max(map(abs, self.utility_sums)) <= self.utility_tolerance

    @property
    def constant_sum(self) -> bool:
        """True if the utilities sum to the same number at every terminal, up to rounding."""
        least, most = self.utility_sums
        return most - least <= self.utility_tolerance

    @cached_property
    def utility_tolerance(self) -> float:
        """Rounding error of a sum of utilities: 1e-12 of the largest absolute utility."""
        return 1e-12 * float(np.abs(self.utilities).max())

    def round_to_zero(self, number: float) -> float:
        """Return a value or a difference of values for print: 0 if it is within the rounding error
        of the largest utility."""
        return 0.0 if abs(number) <= 1e-3 * self.utility_tolerance else number


class CompiledGame(PayingGame, ABC):
    """Game compiled into flat arrays, once; :func:`tensorcfr.solve` passes over them.

    All arrays are read-only.  Build one with :func:`tensorcfr.compile_game`.
    """

    name: str
    """Name and parameters with which the game was requested."""
    unit: float = 1.0
    """Factor from payoffs in the arrays to payoffs in the game's own unit: 1, or a power of two if
    the payoffs are extreme (:func:`tensorcfr.compilers.history_reader.unit_of`).  Values of
    policies and solutions are in the game's own unit."""
    links = None
    """None, because one sequence leads to an infoset.  Games of teams have several."""
    recipe: Recipe | None = None
    """Arguments with which a game in chunks is compiled again; None for other games, whose arrays
    are saved in files."""
    recompile: Callable[..., CompiledGame] | None = None
    """Function that compiles the same rules with other options; see :meth:`with_options`."""
    merges_hands: bool = False
    """True if hands or outcomes that the payoffs cannot tell apart are one in the arrays of
    policies."""

    @cached_property
    def n_contestants(self) -> int:
        """Number of players without those who never act and always get the same."""
        if self.n_players == 2:
            return 2
        varies = np.ptp(self.utilities, axis=0) > self.utility_tolerance
        return sum(bool(varies[p]) or self.count_of(p) > 0 for p in range(self.n_players))

    @property
    def by_histories(self) -> bool:
        """True if traversals go through histories, and not through public nodes."""
        return False

    if TYPE_CHECKING:

        @property
        def chunks(self) -> ChunkedForm:
            """Trunk and chunks, in the order of a policy's arrays; a flat game is a trunk without
            chunks."""

        @property
        def nodes(self) -> PublicNodes | None:
            """Public nodes, if this is a game of private hands and a public tree."""

        @property
        def n_infosets(self) -> int:
            """Number of infosets of all players."""

        @property
        def n_sequences(self) -> int:
            """Number of sequences of all players, the empty ones included."""

        @property
        def n_histories(self) -> int:
            """Number of histories, the root, chance nodes and terminals included; counted, not
            expanded."""

        @property
        def n_decision_nodes(self) -> int:
            """Number of histories where a player acts; counted, not expanded."""

        @property
        def n_numbers(self) -> int:
            """Length of the arrays of a policy."""

        def count_of(self, player: int) -> int:
            """Return the number of infosets of a player."""

        def labels_of(self, player: int) -> Iterator[str]:
            """Yield the labels of a player's infosets, in the order of :meth:`rows`."""

        def locate(self, label: str) -> Located:
            """Return an infoset by its label.

            Raises:
                KeyError: There is no such infoset.
            """

        def rows(self, player: int) -> Iterator[InfosetRows]:
            """Yield the infosets of a player, some at a time."""

    @abstractmethod
    def flat(self, memory_limit: int | None = None) -> FlatGame:
        """Return the same game as a flat game; every call makes a new one.

        Args:
            memory_limit: Bytes that it may take; by default the machine's free memory.

        Raises:
            MemoryLimitError: It would take more; raised before it is made, with both figures.
        """

    @checked()
    def with_options(self, *, memory_limit: Limit = None, **changes: Any) -> CompiledGame:
        """Return a spot with other ranges, board or payoffs, compiled in the same way.

        The result equals the game that :func:`tensorcfr.compile_game` makes of the changed spot, in
        less time, because the betting is not read again.

        >>> from tensorcfr import compile_game
        >>> spot = {"board": "QsJh2h8d3c", "pot": 200, "stacks": 900, "bets": "50%"}
        >>> game = compile_game("holdem", ranges=("QQ+", "JJ+"), **spot)
        >>> game.with_options(ranges=("88+", "99+"), board="QsJh2h8d9c").name
        'holdem QsJh2h8d9c'

        Args:
            memory_limit: As for :func:`tensorcfr.compile_game`.
            changes: Arguments of the spot, such as ``ranges``, ``board``, ``dead``, ``folded``,
                ``rake``, ``rake_cap`` and ``incentives``.

        Raises:
            ValueError: This is not a spot from :func:`tensorcfr.compile_game`; an argument changes
                the betting, such as ``bets`` or a board of another street; or an argument is wrong.
            TypeError: There is no such argument, or it has a wrong type.
            MemoryLimitError: The game needs more than ``memory_limit``.
        """
        if self.recompile is None:
            raise ValueError(
                f"{self.name} cannot be compiled with other options: only spots of hold'em and "
                "similar games can, and neither parts of them nor abstractions"
            )
        return self.recompile(memory_limit, changes)

    def chunked_form(self, *, merged: bool) -> ChunkedForm:
        """Return the game in the form that solvers pass over.

        Args:
            merged: True to merge infosets that the payoffs cannot tell apart.  A game in chunks
                ignores it: its infosets were merged, or not, when it was compiled.
        """
        return self.chunks

    @property
    def merged_numbers(self) -> np.ndarray | None:
        """uint32 (numbers,): index of each number in the merged form of :meth:`chunked_form`; None
        if the form is not merged."""
        return None

    def merge_array(self, whole: np.ndarray) -> np.ndarray | None:
        """Convert an array of a policy to the merged form of :meth:`chunked_form`.

        Args:
            whole: float64 (numbers,): an array of a policy.

        Returns:
            float64 (numbers of the merged form,); None if merged infosets have different numbers.
        """
        merged_number = self.merged_numbers
        if merged_number is None:
            return whole
        form = self.chunked_form(merged=True)
        merged = np.zeros(form.n_numbers)
        # Entries that several sequences share must have one number, and so must copies.
        merged[merged_number] = whole
        is_same = np.array_equal(merged[merged_number], whole)
        return merged if is_same and form.trunk.with_equal_copies(merged) is merged else None

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:
        """Return the canonical spelling and the actions of a label to lock.

        Raises:
            KeyError: There is no such infoset.
        """
        infoset = self.locate(label)
        return infoset.label, infoset.actions

    @abstractmethod
    def locked(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return locked probabilities as an array of a policy.

        Args:
            rows: For each :meth:`lockable` label float64 (actions,).

        Returns:
            float64 (numbers,): the probabilities, ``FREE`` elsewhere.

        Raises:
            ValueError: Infosets that are merged in the game are locked differently.
        """

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array by name: ``"form/infoset_parent"``, ``"public/prior"``, ..."""

    @abstractmethod
    def summary(self) -> str:
        """Return a short text: counts, levels or chunks, parts of the payoff operator, bytes."""

    @property
    def headline(self) -> str:
        """First line of the summary: ``"kuhn: 2 players, zero-sum"``."""
        kind = "zero-sum" if self.zero_sum else "general-sum"
        return f"{self.name}: {self.n_players} players, {kind}"

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, without labels and expanded histories."""
        return sum(array.nbytes for array in self.arrays().values())

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.freeze()

    def freeze(self) -> None:
        """Make every array read-only."""
        for array in self.arrays().values():
            array.flags.writeable = False

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<CompiledGame {self.name}: {self.n_players} players, "
            f"{self.n_histories:,} histories, {self.n_infosets:,} infosets>"
        )
