"""A game under check, with derived arrays that several invariants use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from ..errors import InvariantError
from ..model.arrays import CHANCE, HistoryTree, Part, PublicTree, SequenceForm
from ..model.levels import levels_below_root
from ..payoff import PayoffBlocks, PayoffCards, PayoffEntries
from ..payoff.program import Program


class Reader:
    """A game or a sequence form under check: names for error messages, and derived arrays.

    Args:
        form: The sequence form to check: the game's own, its merged one; or of no whole game, a
            trunk or a shape.
        game: The game.  Its views are there where rows of the list ask for them.
        expand: Whether to expand the histories of a game that does not have them.
    """

    def __init__(self, form: SequenceForm, game: Any = None, *, expand: bool = False) -> None:
        self.form, self.game = form, game
        self.labels: Sequence[str] = ()
        self.actions: Sequence[tuple[str, ...]] = ()
        self.has_tree = game is not None and (expand or "tree" in game.views)
        # Labels made on demand are computed from arrays that may not have been checked yet.
        if game is not None and form is game.form and not game.joins_labels:
            self.labels, self.actions = game.infoset_labels, game.infoset_actions

    @property
    def tree(self) -> HistoryTree:
        """The game as histories, expanded if need be."""
        found: HistoryTree = self.game.tree
        return found

    @property
    def public(self) -> PublicTree:
        """The public tree of a game that has one."""
        found: PublicTree = self.game.public.tree
        return found

    @cached_property
    def merged(self) -> Reader:
        """The merged form of a game that has one."""
        return Reader(self.game.merged.form, self.game)

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
        return self.form.bucket_player

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
        return next(part for part in self.form.operator if isinstance(part, kind))

    @cached_property
    def programs(self) -> list[Program]:
        """The programs of the blocks; valid only after B2 and B3 have been checked."""
        return [self.blocks.program(index) for index in range(len(self.blocks.program_offset) - 1)]

    # ------------------------------------------------------------------------- hands x public tree

    @cached_property
    def alive(self) -> np.ndarray:
        """Deals of positive probability by weight row, bool (weights, hands, hands)."""
        return self.public.alive

    @cached_property
    def exists(self) -> np.ndarray:
        """Whether some deal reaches each public node, bool (nodes,)."""
        return self.public.exists

    @cached_property
    def by_public_chance(self) -> np.ndarray:
        """Whether the edge into each public node is a chance outcome, bool (nodes,)."""
        return np.append(False, self.public.player[self.public.parent[1:]] == CHANCE)

    @cached_property
    def last_step(self) -> np.ndarray:
        """int32 (2, nodes): the public node that each player's last own step led into; 0 before
        it."""
        tree = self.public
        last = np.zeros((2, tree.n_nodes), dtype=np.int32)
        for level in levels_below_root(tree.first_child):
            node, above = np.arange(level.start, level.stop), tree.parent[level]
            for player, own in enumerate(last):
                own[level] = np.where(tree.player[above] == player, node, own[above])
        return last

    def public_node(self, node: int) -> str:
        """``public node 4 (K bet)``; only once parents are known to come before children."""
        try:
            labels = [self.game.public.edges[edge] for edge in self.game.public.path(node)]
        except (IndexError, TypeError):
            return f"public node {node}"
        return f"public node {node} ({' '.join(map(str, labels))})" if labels else "the public root"

    def sequence_bucket(self, sequence: np.ndarray) -> np.ndarray:
        """int64: the bucket of each sequence; undefined for empty sequences (-1, maybe)."""
        return np.searchsorted(self.form.bucket_sequence, sequence, side="right") - 1


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


def check_follow(
    what: str, unit: str, begin: np.ndarray, count: np.ndarray, end: int, units: str = ""
) -> None:
    """Parts begin at 0, where others end, and end at ``end``; the arguments name them in errors."""
    ends = np.append(0, np.cumsum(count))
    if (at := first_true(begin != ends[:-1])) is not None:
        fail(f"{what} {at} begins at {unit} {begin[at]}, not {ends[at]}")
    if ends[-1] != end:
        fail(f"the {what}s end at {unit} {ends[-1]}, but there are {end}{units}")


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
