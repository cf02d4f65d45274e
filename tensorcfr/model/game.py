"""The compiled game: what the library works on, however its arrays lie.

A game is a trunk and chunks (:mod:`tensorcfr.model.chunks`), counts, labels and, if it is one of
private hands, public nodes (:mod:`tensorcfr.model.public_nodes`).  Some games are laid out besides
(:class:`~tensorcfr.model.flat_game.FlatGame`), which algorithms that are no passes over trunk and
chunks need; nothing lays a game out unasked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..rules import Usual
from .chunks import ChunkedForm

if TYPE_CHECKING:
    from .flat_game import FlatGame
    from .public_nodes import PublicNodes


class Located(NamedTuple):
    """An infoset by its label."""

    label: str
    """The label in its usual spelling."""
    player: int
    actions: tuple[str, ...]
    numbers: slice
    """Where its actions lie in the arrays of a policy."""


class InfosetRows(NamedTuple):
    """Some infosets of one player with equally many actions."""

    player: int
    """Whose."""
    labels: list[str]
    """The label of each infoset."""
    actions: list[tuple[str, ...]]
    """Action labels of each infoset."""
    numbers: np.ndarray
    """int64 (infosets, actions): where they lie in the arrays of a policy."""
    stands_for: np.ndarray
    """float64 (infosets,): of how many infosets these numbers are the sums."""

    def select(self, which: np.ndarray) -> InfosetRows:
        """Some of the infosets, by their numbers here."""
        at = which.tolist()
        labels, actions = [self.labels[k] for k in at], [self.actions[k] for k in at]
        return InfosetRows(self.player, labels, actions, self.numbers[at], self.stands_for[at])


class Recipe(NamedTuple):
    """How to compile a game in chunks again."""

    source: str | None
    """Name and parameters of a built-in game; None for games of one's own."""
    cut: bool | int | tuple[int, ...] | tuple[str, ...]
    """Where it was cut, as for :func:`tensorcfr.compile_game`."""
    limit: int
    """Sequences that a chunk of several subtrees may have."""
    symmetry: bool
    """As for :func:`tensorcfr.compile_game`."""


class PayingGame:
    """What follows from the utilities of a game, and from its fingerprint, alone."""

    is_of_cards: bool = False
    """Whether this is a game of cards: a spot of hold'em, say."""
    usual: Usual = Usual()
    """How it is solved where nothing is said, and its units."""

    if TYPE_CHECKING:

        @property
        def utilities(self) -> np.ndarray:
            """float64 (some, players): all utilities that occur at terminals, in the game's own
            unit, in no order, some of them more than once."""

        @property
        def digest(self) -> str:
            """A fingerprint of arrays and labels; name and merging are not of the game itself."""

    @cached_property
    def utility_sums(self) -> tuple[float, float]:
        """Smallest and largest sum of the players' utilities over the terminals."""
        sums = self.utilities.sum(axis=1)
        return float(sums.min()), float(sums.max())

    @property
    def zero_sum(self) -> bool:
        """Whether the utilities sum to 0 at every terminal, to rounding."""
        return max(map(abs, self.utility_sums)) <= self.utility_tolerance

    @property
    def constant_sum(self) -> bool:
        """Whether the utilities sum to the same number at every terminal, to rounding."""
        least, most = self.utility_sums
        return most - least <= self.utility_tolerance

    @cached_property
    def utility_tolerance(self) -> float:
        """What is rounding in a sum of utilities: 1e-12 of the largest of them."""
        return 1e-12 * float(np.abs(self.utilities).max())

    def settled(self, number: float) -> float:
        """A value or a difference of values for print: 0 where it is a few roundings of the
        largest utility."""
        return 0.0 if abs(number) <= 1e-3 * self.utility_tolerance else number


class CompiledGame(PayingGame, ABC):
    """A game compiled into flat arrays, once; what :func:`tensorcfr.solve` passes over.

    All arrays are read-only.  Build one with :func:`tensorcfr.compile_game`.
    """

    name: str
    """How the game was asked for."""
    unit: float = 1.0
    """Factor from payoffs in the arrays to payoffs in the game's own unit: 1, or a power of two if
    the payoffs are extreme (:func:`tensorcfr.compilers.histories.unit_of`).  Values of policies and
    solutions are in the game's own unit."""
    links = None
    """None: one sequence leads to an infoset.  Games of teams have several."""
    tied_to: np.ndarray | None = None
    """uint32 (infosets,): in an abstraction with imperfect recall, the first infoset of those that
    share one strategy with each; see :mod:`tensorcfr.abstraction`."""
    recipe: Recipe | None = None
    """How to compile a game in chunks again; None of other games, whose arrays files keep."""
    is_compiled = True
    """Whether all infosets and histories are known; of games by their rules they are not."""
    is_laid_out: bool = False
    """Whether this is a :class:`~tensorcfr.model.flat_game.FlatGame`."""
    merges_hands: bool = False
    """Whether hands or outcomes that the payoffs cannot tell apart are one in the arrays of
    policies."""

    @property
    def by_histories(self) -> bool:
        """Whether traversals go through histories, and not through public nodes."""
        return False

    layout: str = "flat"
    """How solvers have it: ``"flat"``, ``"tied"`` (imperfect recall), ``"chunks"``, ``"teams"``, or
    ``"rules"`` of games that are not compiled."""

    if TYPE_CHECKING:

        @property
        def chunks(self) -> ChunkedForm:
            """Trunk and chunks, as policies lie in arrays; a game that is laid out is a trunk
            without chunks."""

        @property
        def nodes(self) -> PublicNodes | None:
            """The public nodes, if this is a game of private hands and a public tree."""

        @property
        def n_players(self) -> int:
            """Players; they are numbered from 0."""

        @property
        def n_infosets(self) -> int:
            """Infosets of all players."""

        @property
        def n_sequences(self) -> int:
            """Sequences of all players, the empty ones included."""

        @property
        def n_histories(self) -> int:
            """Histories, the root, chance nodes and terminals included; counted, not expanded."""

        @property
        def n_decision_nodes(self) -> int:
            """Histories where a player acts; counted, not expanded."""

        @property
        def n_numbers(self) -> int:
            """Length of the arrays of a policy."""

        def count_of(self, player: int) -> int:
            """How many infosets a player has."""

        def labels_of(self, player: int) -> Iterator[str]:
            """The labels of a player's infosets, in the order of :meth:`rows`."""

        def locate(self, label: str) -> Located:
            """An infoset by its label.

            Raises:
                KeyError: There is no such infoset.
            """

        def rows(self, player: int) -> Iterator[InfosetRows]:
            """The infosets of a player, some at a time."""

    @abstractmethod
    def flat(self, memory_limit: int | None = None) -> FlatGame:
        """The same game, laid out; made at every call.

        Args:
            memory_limit: Bytes that it may take; by default the machine's free memory.

        Raises:
            MemoryLimitError: It would take more; said before it is made, with both figures.
        """

    def swept(self, *, merged: bool) -> ChunkedForm:
        """The game as solvers sweep it.

        Args:
            merged: Whether infosets that the payoffs cannot tell apart may be one.  In a game in
                chunks they are one, or not, since it was compiled.
        """
        return self.chunks

    @property
    def forgets(self) -> bool:
        """Whether infosets share strategies that their player could tell apart by what came before
        them (imperfect recall)."""
        return self.tied_to is not None

    @property
    def merged_numbers(self) -> np.ndarray | None:
        """uint32 (numbers,): where each number lies in what :meth:`swept` merges; None where that
        is what policies lie over."""
        return None

    def folded(self, whole: np.ndarray) -> np.ndarray | None:
        """The arrays of a policy as those of what :meth:`swept` merges, float64 (numbers,); None
        where infosets that are one there have different numbers."""
        to = self.merged_numbers
        if to is None:
            return whole
        found = np.zeros(self.swept(merged=True).n_numbers)
        found[to] = whole
        return found if np.array_equal(found[to], whole) else None

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:
        """What a label locks: its usual spelling, and the actions there.

        Raises:
            KeyError: There is no such infoset.
        """
        found = self.locate(label)
        return found.label, found.actions

    @abstractmethod
    def locked(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Locked probabilities by :meth:`lockable` labels in the arrays of a policy, float64
        (numbers,), ``FREE`` elsewhere.

        Raises:
            ValueError: Infosets that the game takes for one are locked differently.
        """

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Every array by name: ``"form/infoset_parent"``, ``"public/prior"``, ..."""

    @abstractmethod
    def summary(self) -> str:
        """A short text: counts, levels or chunks, what the payoff operator is made of, bytes."""

    @property
    def caveat(self) -> str:
        """What the promises of an algorithm leave out in this game; empty in most games."""
        return ""

    @property
    def headline(self) -> str:
        """``"kuhn: 2 players, zero-sum"``."""
        kind = "zero-sum" if self.zero_sum else "general-sum"
        return f"{self.name}: {self.n_players} players, {kind}"

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays; labels, and histories that can be expanded, not counted."""
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
