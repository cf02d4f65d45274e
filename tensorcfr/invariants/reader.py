"""A game under check, with derived arrays that several invariants use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import NoReturn

import numpy as np

from ..errors import InvariantError
from ..model.arrays import CHANCE, HistoryTree, Part, PublicTree, SequenceForm
from ..model.flat_game import FlatGame
from ..model.labels import InfosetLabels
from ..payoff import PayoffBlocks, PayoffCards, PayoffEntries
from ..payoff.program import Program


class Reader:
    """A game under check: names for error messages, and derived arrays.

    Args:
        game: The game.
        form: The sequence form to check: the game's own, or the merged one.
        expand: Whether to expand the histories of a game that does not have them.
    """

    def __init__(self, game: FlatGame, form: SequenceForm, *, expand: bool = False) -> None:
        self.game = game
        self.form = form
        self.has_tree = expand or game.histories is not None
        own = form is game.form
        # Labels made on demand are computed from arrays that may not have been checked yet.
        lazy = isinstance(game.infoset_labels, InfosetLabels)
        self.labels: Sequence[str] = game.infoset_labels if own and not lazy else ()
        self.actions = game.infoset_actions if own and not lazy else ()

    @cached_property
    def tree(self) -> HistoryTree:
        """The game as histories, expanded if need be."""
        return self.game.tree

    @property
    def public(self) -> PublicTree:
        """The public tree of a game that has one."""
        assert self.game.public is not None
        return self.game.public.tree

    def node(self, node: int) -> str:
        """``node 4 (history [J, Q])``; valid only after T1 has been checked."""
        try:
            labels = self.game.history(node)
        except (IndexError, TypeError):  # labels are checked last
            return f"node {node}"
        return f"node {node} (history [{', '.join(labels)}])" if labels else "the root"

    def infoset(self, infoset: int) -> str:
        """``infoset 3 ('Jpb')``."""
        try:
            return f"infoset {infoset} ({self.labels[infoset]!r})"
        except IndexError:
            return f"infoset {infoset}"

    def sequence(self, sequence: int) -> str:
        """``sequence 7 ('pass' at infoset 3 ('Jpb'))``; valid only after S1 to S5."""
        form = self.form
        if sequence in form.player_sequences[:-1]:
            player = int(np.searchsorted(form.player_sequences, sequence))
            return f"sequence {sequence} (the empty one of player {player})"
        bucket = int(np.searchsorted(form.bucket_sequence, sequence, side="right")) - 1
        action, lane = divmod(
            sequence - int(form.bucket_sequence[bucket]), int(form.bucket_lanes[bucket])
        )
        infoset = int(form.bucket_infoset[bucket]) + lane
        try:
            label = repr(self.actions[infoset][action])
        except (IndexError, TypeError):
            label = f"action {action}"
        return f"sequence {sequence} ({label} at {self.infoset(infoset)})"

    @cached_property
    def children(self) -> np.ndarray:
        """int64 (nodes,): number of children."""
        return np.diff(self.tree.first_child)

    @cached_property
    def by_chance(self) -> np.ndarray:
        """Whether the edge into each node is a chance outcome, bool (nodes,)."""
        stepped = np.zeros(self.tree.n_nodes, dtype=bool)
        stepped[1:] = np.repeat(self.tree.player == CHANCE, self.children)
        return stepped

    @cached_property
    def chance_nodes(self) -> np.ndarray:
        """int64 (chance nodes,): the chance nodes, ascending."""
        return np.flatnonzero(self.tree.player == CHANCE)

    @cached_property
    def deciding(self) -> np.ndarray:
        """int64 (decision nodes,): the decision nodes, ascending."""
        return np.flatnonzero(self.tree.player >= 0)

    @cached_property
    def bucket_player(self) -> np.ndarray:
        """int64 (buckets,): the player of each bucket."""
        return np.repeat(np.arange(self.form.n_players), np.diff(self.form.player_buckets))

    @cached_property
    def infoset_bucket(self) -> np.ndarray:
        """int64 (infosets,): the bucket of each infoset."""
        return np.repeat(np.arange(len(self.form.bucket_lanes)), self.form.bucket_lanes)

    @cached_property
    def last_and_reach(self) -> tuple[np.ndarray, np.ndarray]:
        """Last sequences, int64 (players, nodes), and chance reaches, float64 (nodes,)."""
        form = self.form
        return self.tree.traced(
            form.player_sequences[:-1], form.infoset_sequence, form.infoset_stride
        )

    @cached_property
    def entry_row(self) -> np.ndarray:
        """int64 (entries,): the sequence whose row each payoff entry is in."""
        return self.entries.entry_row

    @cached_property
    def entries(self) -> PayoffEntries:
        """The single entries of the payoff operator; valid only if the operator has that part."""
        return self._part(PayoffEntries)

    @cached_property
    def blocks(self) -> PayoffBlocks:
        """The blocks of the payoff operator; valid only if the operator has that part."""
        return self._part(PayoffBlocks)

    @cached_property
    def cards(self) -> PayoffCards:
        """The payoffs of hands that are cards; valid only if the operator has that part."""
        return self._part(PayoffCards)

    def _part(self, kind: type[Part]) -> Part:
        part = self.form.part(kind)
        assert part is not None
        return part

    @cached_property
    def programs(self) -> list[Program]:
        """The programs of the blocks; valid only after B2 and B3 have been checked."""
        return [self.blocks.program(index) for index in range(len(self.blocks.program_offset) - 1)]

    def sequence_bucket(self, sequence: np.ndarray) -> np.ndarray:
        """int64: the bucket of each sequence; undefined for empty sequences (-1, maybe)."""
        return np.searchsorted(self.form.bucket_sequence, sequence, side="right") - 1


class FormReader(Reader):
    """A sequence form under check that is no whole game: a merged form, a trunk, or a shape.

    Args:
        form: The sequence form.
    """

    def __init__(self, form: SequenceForm) -> None:
        self.form, self.has_tree = form, False
        self.labels, self.actions = (), ()


def fail(what: str) -> NoReturn:
    """Say what breaks an invariant.

    Raises:
        InvariantError: Always.
    """
    raise InvariantError(what)


@contextmanager
def named_after(before: str) -> Iterator[None]:
    """Begin the errors of checks with some words."""
    try:
        yield
    except InvariantError as error:
        raise InvariantError(f"{before}{error}") from None


def first_true(wrong: np.ndarray) -> int | None:
    """Index of the first true value, or None."""
    if not wrong.any():
        return None
    return int(wrong.argmax())


def outside(values: np.ndarray, low: int, high: int) -> int | None:
    """Index of the first value outside a range, or None; fast if all values are inside."""
    if not len(values) or (low <= values.min() and values.max() < high):
        return None
    return first_true((values < low) | (values >= high))


def check_ranges(
    name: str, starts: np.ndarray, end: int | None, least: int = 0, what: str = "player"
) -> None:
    """Ranges begin at 0 and end at ``end``, if it is given; none has fewer than ``least``."""
    if starts[0] != 0:
        fail(f"{name} begins at {starts[0]}, not 0")
    if (at := first_true(starts[1:] < starts[:-1] + least)) is not None:
        fail(f"{name} gives {what} {at} the range {starts[at]} to {starts[at + 1]}")
    if end is not None and starts[-1] != end:
        fail(f"{name} ends at {starts[-1]}, not {end}")
