"""The compiled game: one frozen record of read-only arrays; what the library works on.

The arrays themselves are declared in :mod:`tensorcfr.model.arrays`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._util import html
from .._util.arguments import Kind, Whole
from .._util.memory import free_memory
from ..errors import MemoryLimitError, format_bytes
from .arrays import (
    CHANCE,
    FREE,
    NO_PARENT,
    HistoryTree,
    PublicTree,
    SequenceForm,
    named_arrays,
)
from .chunks import ChunkedForm
from .expansion import BYTES_PER_HISTORY, count_deals, count_histories, expand
from .infoset_numbers import InfosetNumbers
from .labels import EitherSpelling, InfosetIndex, InfosetLabels, InfosetPlaces, PublicGame
from .ties import FORGETS, Tied, tied_form


@dataclass(frozen=True, eq=False)
class Merged:
    """A smaller game with the same solutions: what the payoffs cannot tell apart is one.

    Infosets that a symmetry of the game maps to each other (suits renamed, say) have equal
    strategies; the solver sweeps one for all of them.
    """

    form: SequenceForm
    """The smaller game."""
    sequence: np.ndarray
    """uint32 (sequences,): for every sequence of the full game, the one that stands for it."""


@dataclass(frozen=True, eq=False)
class CompiledGame(InfosetNumbers):
    """A game compiled into flat arrays, once; what :func:`tensorcfr.solve` sweeps.

    All arrays are read-only.  Build one with :func:`tensorcfr.compile_game`.
    """

    name: str
    """How the game was asked for."""
    form: SequenceForm
    """The game in sequence form: infosets, sequences, payoff operator."""
    infoset_labels: Sequence[str]
    """Label of each infoset."""
    infoset_actions: Sequence[tuple[str, ...]]
    """Action labels of each infoset."""
    outcome_labels: Sequence[str]
    """Labels of the chance outcomes."""
    histories: HistoryTree | None = None
    """The game as histories, if that is how it came in; :attr:`tree` has them in any case."""
    public: PublicGame | None = None
    """The game as private hands x public tree, if it has that form."""
    merged: Merged | None = None
    """The smaller game that stands for this one, if it has symmetries."""
    tied_to: np.ndarray | None = None
    """uint32 (infosets,): in an abstraction with imperfect recall, the first infoset of those that
    share one strategy with each; see :mod:`tensorcfr.abstraction`."""

    unit: float = 1.0
    """Factor from payoffs in the arrays to payoffs in the game's own unit: 1, or a power of two if
    the payoffs are extreme; see :mod:`tensorcfr.compilers.units`.  Values of policies and solutions
    are in the game's own unit."""

    @property
    def chunks(self) -> ChunkedForm | None:
        """The game in chunks, if it was cut; then flat arrays are made when they are asked for."""
        return None

    @cached_property
    def tree(self) -> HistoryTree:
        """The game as histories.

        A game of private hands is expanded when this is first asked for: every deal over the
        whole public tree.

        Raises:
            MemoryLimitError: There is not enough memory for that; says both figures.
        """
        if self.histories is not None:
            return self.histories
        assert self.public is not None
        if (needed := self.n_histories * BYTES_PER_HISTORY) > (limit := free_memory()):
            raise MemoryLimitError(
                f"expanding {self.name} ({self.n_histories:,} histories)", needed, limit
            )
        tree = expand(
            self.public.tree,
            InfosetPlaces(self.public, self.form).infosets,
            *self.public.outcome_codes(self.outcome_labels),
        )
        for array in tree:
            array.flags.writeable = False
        return tree

    @cached_property
    def n_histories(self) -> int:
        """Histories, the root, chance nodes and terminals included; counted, not expanded."""
        if self.histories is not None:
            return self.histories.n_nodes
        assert self.public is not None
        return count_histories(self.public.tree)

    @cached_property
    def n_decision_nodes(self) -> int:
        """Histories where a player acts; counted, not expanded."""
        if self.histories is not None:
            return int(np.count_nonzero(self.histories.player >= 0))
        assert self.public is not None
        tree = self.public.tree
        return count_deals(tree, tree.player >= 0)

    @property
    def links(self) -> None:
        """None: one sequence leads to an infoset.  Games of teams have several."""

    @property
    def solver_form(self) -> SequenceForm:
        """What a solver sweeps: the merged form, if there is one."""
        return self.form if self.merged is None else self.merged.form

    @cached_property
    def tied(self) -> Tied | None:
        """The infosets that share strategies, one by one; None in a game of perfect recall."""
        return None if self.tied_to is None else tied_form(self.form, self.tied_to)

    @property
    def by_histories(self) -> bool:
        """Whether traversals go through :attr:`tree`, and not through the public tree."""
        return self.histories is not None

    @property
    def caveat(self) -> str:
        """What the promises of an algorithm leave out in this game; empty in most games."""
        return "" if self.tied_to is None else FORGETS

    def unmerged(self, array: np.ndarray, form: SequenceForm) -> np.ndarray:
        """Per sequence of this game, what an array holds for the one that stands for it.

        Args:
            array: An array over the sequences of ``form``, on its last axis.
            form: :attr:`solver_form`; or :attr:`form`, whose arrays are returned as they are.
        """
        if form is self.form:
            return array
        assert self.merged is not None
        assert form is self.merged.form
        return np.take(array, self.merged.sequence, axis=-1)

    def without_merging(self) -> CompiledGame:
        """The same game, to be solved infoset by infoset."""
        return self if self.merged is None else replace(self, merged=None)

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays; labels, and histories that can be expanded, not counted."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, np.ndarray]:
        """Every array by name: ``"form/infoset_parent"``, ``"public/prior"``, ..."""
        views: dict[str, Any] = {"form": self.form}
        if self.histories is not None:
            views["tree"] = self.histories
        if self.public is not None:
            views["public"] = self.public.tree
        if self.merged is not None:
            views["merged"] = self.merged.form
        found = {
            f"{view}/{name}": array
            for view, record in views.items()
            for name, array in named_arrays(record)
        }
        if self.merged is not None:
            found["merged/sequence"] = self.merged.sequence
        if self.tied_to is not None:
            found["tied_to"] = self.tied_to
        return found

    @cached_property
    def utilities(self) -> np.ndarray:
        """float64 (some, players): all utilities that occur at terminals, in the game's own unit,
        in no order, some of them more than once."""
        found = self._utilities()
        return found if self.unit == 1.0 else found * self.unit

    def _utilities(self) -> np.ndarray:
        """The same in the unit of the arrays, as multiples of :attr:`unit`."""
        if self.histories is not None:
            return self.histories.utility
        assert self.public is not None
        return utilities_of(self.public.tree)

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

    @cached_property
    def infoset_index(self) -> Mapping[str, int]:
        """Infoset by label."""
        if isinstance(self.infoset_labels, InfosetLabels):
            return EitherSpelling(InfosetIndex(self.infoset_labels))
        return EitherSpelling({label: i for i, label in enumerate(self.infoset_labels)})

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:
        """What a label locks: its usual spelling, and the actions there.

        Raises:
            KeyError: There is no such infoset.
        """
        infoset = self.infoset_index[label]
        return self.infoset_labels[infoset], self.infoset_actions[infoset]

    def locked(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Locked probabilities by :meth:`lockable` labels over all sequences, float64 (sequences,),
        ``FREE`` elsewhere."""
        found = np.full(self.n_sequences, FREE)
        for label, row in rows.items():
            found[self.sequences(self.infoset_index[label])] = row
        return found

    def history(self, node: int) -> tuple[str, ...]:
        """The labels of the actions and chance outcomes that lead to a node.

        Raises:
            ValueError: There is no such node.
        """
        node = Whole(0, self.n_histories - 1, "a node")("node", node)
        return history_labels(self.tree, self.infoset_actions, self.outcome_labels, node)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of arrays and labels; name and merging are not of the game itself."""
        digest = hashlib.sha256()
        if self.unit != 1.0:
            digest.update(f"unit {self.unit!r}".encode())
        for name, array in self.arrays().items():
            if name.startswith("merged/"):
                continue
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        if isinstance(self.infoset_labels, InfosetLabels):
            assert self.public is not None
            digest.update(repr(self.public[1:]).encode())
        else:
            labels = (self.infoset_labels, self.infoset_actions, self.outcome_labels)
            digest.update(repr(labels).encode())
        return digest.hexdigest()

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.freeze()

    def freeze(self) -> None:
        """Make every array read-only."""
        for array in self.arrays().values():
            array.flags.writeable = False

    def summary(self) -> str:
        """A short text: counts, levels, what the payoff operator is made of, bytes."""
        form = self.form
        per_player = ", ".join(
            f"player {i}: {infosets:,} infosets, {sequences:,} sequences, {levels} levels"
            for i, infosets, sequences, levels in self._player_rows()
        )
        kind = "zero-sum" if self.zero_sum else "general-sum"
        lines = [
            f"{self.name}: {self.n_players} players, {kind}",
            f"  {self.n_histories:,} histories",
            f"  {per_player}",
            f"  {_describe_payoff(form)}",
        ]
        if self.public is not None:
            hands = " x ".join(f"{len(own):,}" for own in self.public.hands)
            lines.insert(
                2, f"  {hands} private hands, {self.public.tree.n_nodes:,} nodes in the public tree"
            )
        if self.merged is not None:
            small = self.merged.form
            lines.append(
                f"  solved as {small.n_infosets:,} infosets, {small.n_sequences:,} sequences"
                f"\n  {_describe_payoff(small)}"
            )
        lines.append(f"  {self.nbytes:,} bytes")
        return "\n".join(lines)

    def _player_rows(self) -> Iterator[tuple[int, int, int, int]]:
        form = self.form
        for player in range(self.n_players):
            buckets = slice(form.player_buckets[player], form.player_buckets[player + 1])
            levels = form.bucket_level[buckets]
            yield (
                player,
                int(np.diff(form.player_infosets)[player]),
                int(np.diff(form.player_sequences)[player]),
                int(levels.max()) + 1 if len(levels) else 0,
            )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        kind = "zero-sum" if self.zero_sum else "general-sum"
        rows = [
            (f"player {i}", f"{infosets:,}", f"{sequences:,}", f"{levels}")
            for i, infosets, sequences, levels in self._player_rows()
        ]
        public = "" if self.public is None else f", {self.public.tree.n_nodes:,} public nodes"
        return html.block(
            f"{self.name}: {self.n_players} players, {kind}",
            html.table(("", "infosets", "sequences", "levels"), rows),
            html.note(f"{self.n_histories:,} histories{public}, {format_bytes(self.nbytes)}"),
        )

    def __repr__(self) -> str:
        return (
            f"<CompiledGame {self.name}: {self.n_players} players, "
            f"{self.n_histories:,} histories, {self.n_infosets:,} infosets>"
        )


def utilities_of(tree: PublicTree) -> np.ndarray:
    """As :attr:`CompiledGame.utilities`, of a public tree, or of public states."""
    over = tree.payoff >= 0
    pairs = np.unique(
        tree.payoff[over].astype(np.int64) * len(tree.weight_table) + tree.weight[over]
    )
    payoff, weight = np.divmod(pairs, len(tree.weight_table))
    alive = tree.alive
    found = [
        tree.coefficient[p] * tree.matrix_table[tree.matrix[p]][:, alive[w]].T
        for p, w in zip(payoff.tolist(), weight.tolist(), strict=True)
    ]
    return np.concatenate([np.empty((0, tree.n_players)), *found])


def history_labels(
    tree: HistoryTree,
    infoset_actions: Sequence[Sequence[object]],
    outcome_labels: Sequence[object],
    node: int,
) -> tuple[str, ...]:
    """The labels of the actions and chance outcomes on the way from the root to a node."""
    labels: list[str] = []
    while (parent := int(tree.parent[node])) != NO_PARENT:
        if tree.player[parent] == CHANCE:
            labels.append(str(outcome_labels[tree.outcome[node]]))
        else:
            action = node - int(tree.first_child[parent])
            labels.append(str(infoset_actions[tree.infoset[parent]][action]))
        node = parent
    return tuple(reversed(labels))


def _describe_payoff(form: SequenceForm) -> str:
    """Buckets of one sequence form, and the parts of its payoff operator."""
    parts = [f"{len(form.bucket_lanes):,} buckets", *(part.describe() for part in form.operator)]
    return ", ".join(parts)


COMPILED = Kind((CompiledGame,), "a compiled game: compile_game makes one")
