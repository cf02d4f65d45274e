"""The flat game: one sequence form, and labels and numbers of all its infosets.

:mod:`tensorcfr.model.arrays` declares the arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._util import html
from .._util.argument_checks import Whole
from ..errors import format_bytes
from .arrays import (
    CHANCE,
    FREE,
    NO_PARENT,
    HistoryTree,
    SequenceForm,
    infoset_layout,
    named_arrays,
    not_none,
    stored_name,
)
from .chunked_form import ChunkedForm, as_trunk
from .compiled_game import CompiledGame
from .flat_nodes import FlatNodes
from .flat_views import FlatViews
from .labels import InfosetIndex, PublicGame
from .layout import Layout

IMPERFECT_RECALL = (
    "A player forgets here (imperfect recall): CFR has no guarantee, averages may be worse than "
    "the iterates, and an equilibrium in behaviour strategies need not exist.  Best "
    "responses and the exploitability reported are of players who remember."
)


@dataclass(frozen=True, eq=False)
class Merged:
    """Smaller game with the same solutions: infosets that the payoffs cannot tell apart are one.

    Infosets that a symmetry of the game maps to each other (suits renamed, say) have equal
    strategies.  The solver stores and updates one for all of them.
    """

    form: SequenceForm
    """Sequence form of the smaller game."""
    sequence: np.ndarray
    """uint32 (sequences,): sequence of the smaller game for each sequence of the full game."""


def equal_merging(first: Merged | None, second: Merged | None) -> bool:
    """Return whether two smaller games of one game have the same layout; None merges nothing."""
    if first is None or second is None:
        return first is second
    # Games with other payoffs may have equal maps and different copies.
    return np.array_equal(first.sequence, second.sequence) and np.array_equal(
        first.form.first_copies, second.form.first_copies
    )


class StrategyClasses(NamedTuple):
    """Infosets that share a strategy although their player reaches them in different ways, each
    once."""

    form: SequenceForm
    """Sequence form of one level: each infoset directly follows the empty sequence.  The payoff
    operator is the game's and has no meaning here."""
    sequence: np.ndarray
    """int64 (sequences of the game,): sequence of :attr:`form` that has the probability of each."""

    def added(self, array: np.ndarray, player: slice) -> np.ndarray:
        """Add the numbers of sequences that share a probability.

        Args:
            array: float64 (sequences of the game,).
            player: The sequences of the game to add.

        Returns:
            float64 (sequences of :attr:`form`,).
        """
        return np.bincount(
            self.sequence[player], weights=array[player], minlength=self.form.n_sequences
        )


def strategy_class_form(form: SequenceForm, strategy_class: np.ndarray) -> StrategyClasses:
    """Return a form in which infosets that share a strategy occur once.

    Args:
        form: The game.
        strategy_class: uint32 (infosets,): for each infoset the first of the infosets that share
            its strategy.
    """
    first = np.flatnonzero(strategy_class == np.arange(form.n_infosets))
    player, actions = form.infoset_player[first], form.infoset_actions[first]
    # At level 0 every infoset follows the empty sequence.
    order, layout = infoset_layout(player, np.zeros_like(player), actions, form.n_players)
    number = np.empty(form.n_infosets, dtype=np.int64)
    number[first[order]] = np.arange(len(order))
    parent = layout["player_sequences"][player[order]].astype(np.uint32)
    tied = SequenceForm(**layout, infoset_parent=parent, operator=form.operator)
    sequence = form.map_sequences(tied, number[strategy_class])
    # The arrays of games are read-only, and kernels are compiled for that type of array.
    for array in (*dict(named_arrays(tied)).values(), sequence):
        array.flags.writeable = False
    return StrategyClasses(tied, sequence)


@dataclass(frozen=True, eq=False, repr=False)
class FlatGame(FlatViews, CompiledGame):
    """Flat compiled game: a trunk without chunks, and arrays over all its sequences.

    All arrays are read-only.  Build one with :func:`tensorcfr.compile_game`, or from a game in
    chunks with :meth:`CompiledGame.flat`.
    """

    name: str
    """Name and parameters with which the game was requested."""
    form: SequenceForm
    """Game in sequence form: infosets, sequences, payoff operator."""
    infoset_labels: Sequence[str]
    """Label of each infoset."""
    infoset_actions: Sequence[tuple[str, ...]]
    """Action labels of each infoset."""
    outcome_labels: Sequence[str]
    """Labels of the chance outcomes."""
    histories: HistoryTree | None = None
    """Game as histories, if it was compiled from them; :attr:`tree` has them in every game."""
    public: PublicGame | None = None
    """Game as private hands x public tree, if it has that form."""
    merged: Merged | None = None
    """Smaller game that is solved for this one, if it has symmetries."""
    strategy_class: np.ndarray | None = None
    """Infosets that share strategies; see :attr:`CompiledGame.strategy_class`."""
    unit: float = 1.0
    """Unit of the payoffs in the arrays; see :attr:`CompiledGame.unit`."""
    recompile: Callable[..., CompiledGame] | None = None
    """Function that compiles the same rules with other options."""

    @property
    def layout(self) -> Layout:
        """Layout for solvers; see :attr:`CompiledGame.layout`."""
        return Layout.FLAT if self.strategy_class is None else Layout.TIED

    def chunked_form(self, *, merged: bool) -> ChunkedForm:  # noqa: D102
        if self.strategy_classes is not None:
            return as_trunk(self.strategy_classes.form)
        return as_trunk(self.solver_form) if merged else self.chunks

    @cached_property
    def nodes(self) -> FlatNodes | None:
        """Public nodes, if the game is private hands x public tree."""
        return None if self.public is None else FlatNodes(self)

    def flat(self, memory_limit: int | None = None) -> FlatGame:
        """Return the game itself."""
        return self

    @property
    def solver_form(self) -> SequenceForm:
        """Sequence form that a solver works on: the merged form, if there is one."""
        return self.form if self.merged is None else self.merged.form

    @cached_property
    def strategy_classes(self) -> StrategyClasses | None:
        """Infosets that share strategies, each once; None in a game of perfect recall."""
        return (
            strategy_class_form(self.form, not_none(self.strategy_class))
            if self.has_imperfect_recall
            else None
        )

    @property
    def caveat(self) -> str:
        """Caveat to the algorithm's guarantee in this game; usually empty."""
        return IMPERFECT_RECALL if self.has_imperfect_recall else ""

    @property
    def merged_numbers(self) -> np.ndarray | None:  # noqa: D102
        if self.strategy_classes is not None:
            return self.strategy_classes.sequence
        return None if self.merged is None else self.merged.sequence

    def without_merging(self) -> FlatGame:
        """Return the same game, to be solved infoset by infoset."""
        return self if self.merged is None else replace(self, merged=None)

    def merged_like(self, game: FlatGame) -> FlatGame:
        """Return the same game with the merging of another game with equal arrays."""
        is_equal = equal_merging(self.merged, game.merged)
        return self if is_equal else replace(self, merged=game.merged)

    @property
    def views(self) -> dict[str, Any]:
        """Records of arrays of this game: ``"form"``, ``"tree"`` (:attr:`histories`), ``"public"``,
        ``"merged"``."""
        views = {
            "form": self.form,
            "tree": self.histories,
            "public": self.public and self.public.tree,
            "merged": self.merged and self.merged.form,
        }
        return {name: view for name, view in views.items() if view is not None}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array by name: ``"form/infoset_parent"``, ``"public/prior"``, ..."""
        by_name = {
            f"{view}/{stored_name(name)}": array
            for view, record in self.views.items()
            for name, array in named_arrays(record)
        }
        merged = None if self.merged is None else self.merged.sequence
        maps = {"merged/sequence": merged, "tied_to": self.strategy_class}
        return by_name | {name: array for name, array in maps.items() if array is not None}

    @cached_property
    def utilities(self) -> np.ndarray:
        """float64 (n, players): all utilities that occur at terminals, in the game's own unit, in
        any order, possibly repeated."""
        game = self._counted
        utility = game.tree.utility if game.by_histories else game.public_tree.utilities
        return utility if self.unit == 1.0 else utility * self.unit

    @cached_property
    def infoset_index(self) -> Mapping[str, int]:
        """Mapping from labels to infosets."""
        return InfosetIndex(self.infoset_labels)

    def locked(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:  # noqa: D102
        probabilities = np.full(self.n_sequences, FREE)
        for label, row in rows.items():
            probabilities[self.locate(label).numbers] = row
        return probabilities

    def history(self, node: int) -> tuple[str, ...]:
        """Return the labels of the actions and chance outcomes that lead to a node.

        Raises:
            ValueError: There is no such node.
        """
        node = Whole(0, self.n_histories - 1, "a node")("node", node)
        return history_labels(self.tree, self.infoset_actions, self.outcome_labels, node)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of arrays and labels, independent of the name and of merging."""
        digest = hashlib.sha256()
        if self.unit != 1.0:
            digest.update(f"unit {self.unit!r}".encode())
        for name, array in self.arrays().items():
            # Merging is optional and must not change the fingerprint.
            if name.startswith("merged/"):
                continue
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        if self.joins_labels:
            # Labels that are made on demand would be too many; their parts determine them.
            digest.update(repr(self.public_game[1:]).encode())
        else:
            labels = (self.infoset_labels, self.infoset_actions, self.outcome_labels)
            digest.update(repr(labels).encode())
        return digest.hexdigest()

    def summary(self) -> str:
        """Return a short text: counts, levels, parts of the payoff operator, bytes."""
        form = self.form
        per_player = ", ".join(
            f"player {i}: {infosets:,} infosets, {sequences:,} sequences, {levels} levels"
            for i, infosets, sequences, levels in self._player_rows()
        )
        lines = [
            self.headline,
            f"  {self.n_histories:,} histories",
            f"  {per_player}",
            f"  {_describe_payoff(form)}",
        ]
        if self.public is not None:
            hands = " x ".join(f"{len(labels):,}" for labels in self.public.hands)
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

    def _repr_html_(self) -> str:
        rows = [
            (f"player {i}", f"{infosets:,}", f"{sequences:,}", f"{levels}")
            for i, infosets, sequences, levels in self._player_rows()
        ]
        public = "" if self.public is None else f", {self.public.tree.n_nodes:,} public nodes"
        return html.block(
            self.headline,
            html.table(("", "infosets", "sequences", "levels"), rows),
            html.note(f"{self.n_histories:,} histories{public}, {format_bytes(self.nbytes)}"),
        )


def history_labels(
    tree: HistoryTree,
    infoset_actions: Sequence[Sequence[object]],
    outcome_labels: Sequence[object],
    node: int,
) -> tuple[str, ...]:
    """Return the labels of the actions and chance outcomes from the root to a node."""
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
    """Describe the buckets of one sequence form, and the parts of its payoff operator."""
    parts = [f"{len(form.bucket_lanes):,} buckets", *(part.describe() for part in form.operator)]
    return ", ".join(parts)
