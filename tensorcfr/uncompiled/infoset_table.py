"""Growing table of visited infosets and their numbers."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._util.limits import INDEX_LIMIT
from ..compilers.history_reader import check_decision
from ..errors import GameError, ImperfectRecallError
from ..kernels.traversal import HEADER, LAST_VISIT
from ..rules import Decision

NO_SEQUENCE = -1
"""Last own sequence of a player who has not acted yet."""
REGRETS, STRATEGY, CUMULATIVE, BASELINE = range(4)
"""Indices of the groups of numbers of an infoset.  Each group has one number per action.  The
groups of the other players' baselines follow the first."""
BYTES_PER_INFOSET = 320
"""Estimated bytes per infoset, in addition to its label and numbers: its rows here, and its entries
in the dictionary of labels and in an adapter's dictionary."""
BYTES_IN_STATE = 32
"""Estimated bytes per infoset in a solver state, in addition to its label and numbers."""
BYTES_PER_NUMBER = 10
"""Estimated bytes per number, including its share of reserved memory."""


def make_room(numbers: np.ndarray, size: int) -> None:
    """Enlarge an array in place to at least ``size`` elements; zeros are appended.

    No view of the array may exist at the time, because its memory moves.
    """
    if size > len(numbers):
        # Grow by a quarter at least, so that the total cost of copying stays linear.
        numbers.resize((max(size, len(numbers) * 5 // 4), *numbers.shape[1:]), refcheck=False)


class InfosetsFullError(Exception):
    """Another infoset would exceed the memory limit.  The solver replaces it by a full message."""


class OutOfTimeError(Exception):
    """The time limit was reached during an iteration, which is aborted."""


class InfosetTable:
    """Table of infosets by label; a new infoset gets the next row.

    The numbers of an infoset are a block with a header; see :mod:`tensorcfr.kernels.traversal`.

    Args:
        groups: Number of groups of an infoset: 3, plus one for each player with baselines; 0 to
            store labels only.
        limit: Memory limit of the table in bytes.
        extra_bytes: Bytes per infoset that other arrays take, and that count towards the limit.
    """

    def __init__(self, groups: int = 3, *, limit: float = np.inf, extra_bytes: int = 0) -> None:
        self.groups, self.limit, self.extra_bytes = groups, limit, extra_bytes
        self.rows: dict[str, int] = {}
        """Row of each label."""
        self.numbers = np.zeros(64 if groups else 0)
        """Blocks of all rows, float64; the array grows in place."""
        self.player = array("b")
        """Acting player, by row."""
        self.first = array("q", [0])
        """Sequence of the first action, by row; the last element is the number of sequences."""
        self.own = array("q")
        """Last own sequence of the acting player, by row, or ``NO_SEQUENCE``.  It is the same for
        all histories of an infoset (perfect recall)."""
        self.kind = array("i")
        """Index of the infoset's tuple of actions in ``kinds``, by row."""
        self.kinds: list[Sequence[Hashable]] = []
        """Distinct tuples of actions; each is the object that the rules returned last."""
        self.names: list[tuple[str, ...]] = []
        """Labels of the actions of each tuple in ``kinds``."""
        self._kind_of: dict[tuple[str, ...], int] = {}
        self._kind_by_id: dict[int, int] = {}
        """Index of each object in ``kinds``, by its id.  Rules often return the same object, and
        then its labels need not be compared."""
        self.bytes_held = 0
        """Estimated memory of the table in bytes."""
        self._characters = 0

    def __len__(self) -> int:
        return len(self.player)

    @property
    def n_sequences(self) -> int:
        """Number of sequences: actions of all infosets."""
        return self.first[-1]

    def enter(
        self, player: int, label: str, actions: Sequence[Hashable], last_sequence: int
    ) -> int:
        """Add an infoset with a uniform strategy, and return its row.

        Args:
            player: The acting player.
            label: Label of the infoset.
            actions: The player's actions, all different.
            last_sequence: The player's last own sequence, or ``NO_SEQUENCE``.

        Raises:
            InfosetsFullError: The table is full.
        """
        count = len(actions)
        size = HEADER + self.groups * count if self.groups else 0
        more = BYTES_PER_INFOSET + self.extra_bytes + sys.getsizeof(label) + BYTES_PER_NUMBER * size
        if self.bytes_held + more > self.limit:
            raise InfosetsFullError
        row = len(self.player)
        if size:
            block = self.block(row)
            if block > INDEX_LIMIT:
                raise InfosetsFullError  # Indices have 32 bits.
            make_room(self.numbers, block - HEADER + size)
            strategy = block + STRATEGY * count
            self.numbers[strategy : strategy + count] = 1.0 / count
        self.bytes_held += more
        self._characters += len(label)
        self.rows[label] = row
        self.player.append(player)
        self.own.append(last_sequence)
        kind = self.kind_of(actions)
        self.kind.append(self._kind_by_labels(actions) if kind is None else kind)
        self.first.append(self.first[-1] + count)
        return row

    def kind_of(self, actions: Sequence[Hashable]) -> int | None:
        """Return the index of a tuple of actions in ``kinds``, compared by identity; otherwise
        None."""
        return self._kind_by_id.get(id(actions))

    def _kind_by_labels(self, actions: Sequence[Hashable]) -> int:
        """Return the index of a tuple of actions with the same labels, added if it is new."""
        names = tuple(map(str, actions))
        kind = self._kind_of.setdefault(names, len(self.names))
        if kind == len(self.names):
            self.names.append(names)
            self.kinds.append(())
            self._store_kind(kind, actions)
        return kind

    def _store_kind(self, kind: int, actions: Sequence[Hashable]) -> None:
        """Store the object that the rules returned last for a tuple of actions."""
        # Drop the id of the object that is released: a new object could get the same id.
        self._kind_by_id.pop(id(self.kinds[kind]), None)
        self.kinds[kind] = actions
        self._kind_by_id[id(actions)] = kind

    def block(self, row: int) -> int:
        """Return the offset of a row's numbers, after their header.  ``row`` may be the next new
        row."""
        return HEADER * (row + 1) + self.groups * self.first[row]

    def check_again(
        self, row: int, decision: Decision, last_sequence: int, where: Callable[[], str]
    ) -> None:
        """Check another history of an infoset against its row.

        Args:
            row: Row of the infoset.
            decision: The decision that the rules returned at the history.
            last_sequence: The acting player's last own sequence at the history.
            where: Names the history in errors.

        Raises:
            GameError: The history has another player or other actions.
            ImperfectRecallError: The player has another last own sequence there.
        """
        (player, label, actions), kind = decision, self.kind[row]
        if player != self.player[row]:
            raise GameError(
                f"infoset label {label!r} is used by player {self.player[row]} and, at {where()}, "
                f"by player {player}"
            )
        if self.kinds[kind] != actions:
            names = tuple(map(str, actions))
            if names != self.names[kind]:
                raise GameError(
                    f"histories of infoset {label!r} disagree on its actions: "
                    f"{list(self.names[kind])}, and {list(names)} at {where()}"
                )
            self._store_kind(kind, actions)
        if last_sequence != self.own[row]:
            descriptions = [
                self._name_sequence(sequence) for sequence in (self.own[row], last_sequence)
            ]
            raise ImperfectRecallError(
                f"player {player} forgets one of their own actions before infoset {label!r} "
                f"(imperfect recall): the player reaches it {descriptions[0]}, but "
                f"{descriptions[1]} at {where()}"
            )

    def _name_sequence(self, sequence: int) -> str:
        if sequence == NO_SEQUENCE:
            return "as the player's first decision"
        row = int(np.searchsorted(np.frombuffer(self.first, np.int64), sequence, "right")) - 1
        action = self.names[self.kind[row]][sequence - self.first[row]]
        return f"after {action!r} at {list(self.rows)[row]!r}"

    # ------------------------------------------------------------------------------ as arrays

    def group(self, index: int) -> np.ndarray:
        """Copy one group of all infosets, float64 (sequences,)."""
        return self.numbers[self._offsets(index)]

    def set_group(self, index: int, numbers: np.ndarray) -> None:
        """Set one group of all infosets from an array, float64 (sequences,)."""
        self.numbers[self._offsets(index)] = numbers

    def _offsets(self, index: int) -> np.ndarray:
        """Compute the offsets of a group's numbers, int64 (sequences,)."""
        first = np.array(self.first, np.int64)
        counts = np.diff(first)
        # As in `block`, for all rows.  Within a block, group `index` begins after `index` groups of
        # as many numbers as the infoset has actions.
        block = HEADER * np.arange(1, len(first)) + self.groups * first[:-1]
        return np.repeat(block + index * counts - first[:-1], counts) + np.arange(first[-1])

    def last(self) -> np.ndarray:
        """Copy the sums of averaging weights at the last visits, float64 (infosets,)."""
        return self.numbers[self._last_visits()]

    def set_last(self, numbers: np.ndarray) -> None:
        """Set the sums of averaging weights at the last visits, float64 (infosets,)."""
        self.numbers[self._last_visits()] = numbers

    def _last_visits(self) -> np.ndarray:
        """Compute the offsets of the last visits in the headers, int64 (infosets,)."""
        first = np.array(self.first[:-1], np.int64)
        header = HEADER - int(LAST_VISIT)
        return header + HEADER * np.arange(len(first)) + self.groups * first

    @property
    def bytes_in_state(self) -> int:
        """Estimated bytes of a solver state and its policy."""
        # Numbers: a copy of all groups, the policy's probabilities, and offsets to read them.
        # Labels: joined in a buffer that reserves an eighth more than it needs.
        numbers = (self.groups + 3) * self.n_sequences
        return self._characters * 9 // 8 + BYTES_IN_STATE * len(self) + 8 * numbers

    @property
    def described(self) -> dict[str, np.ndarray]:
        """Infosets as arrays by name, without their numbers; :meth:`of` reads them."""
        labels, label_ends = _packed(self.rows)
        actions, action_ends = _packed(name for names in self.names for name in names)
        return {
            "player": np.array(self.player, np.int8),
            "own": np.array(self.own, np.int64),
            "kind": np.array(self.kind, np.int32),
            "labels": labels,
            "label_ends": label_ends,
            "actions": actions,
            "action_ends": action_ends,
            "kind_ends": np.cumsum(list(map(len, self.names)), dtype=np.int64),
        }

    @classmethod
    def of(
        cls, arrays: Mapping[str, Any], n_players: int, groups: int = 3, *, extra_bytes: int = 0
    ) -> InfosetTable:
        """Make a table from the arrays of :attr:`described`, and check them.

        Args:
            arrays: The arrays, by name.
            n_players: Number of players.
            groups: Number of groups of an infoset; see the class.
            extra_bytes: Bytes per infoset that other arrays take; see the class.

        Raises:
            ValueError: An array has a wrong shape, dtype or number; names it.
        """
        table = cls(groups, extra_bytes=extra_bytes)
        names = _texts(arrays, "actions", "action_ends")
        ends = [0, *_checked_ends(arrays, "kind_ends", len(names)).tolist()]
        kinds = [tuple(names[a:b]) for a, b in pairwise(ends)]
        labels = _texts(arrays, "labels", "label_ends")
        rows = [arrays[key] for key in ("player", "own", "kind")]
        for key, row, dtype in zip(
            ("player", "own", "kind"), rows, (np.int8, np.int64, np.int32), strict=True
        ):
            if row.shape != (len(labels),) or row.dtype != dtype:
                raise ValueError(f"{key} is {row.dtype} {row.shape}, not one for each label")
        players, last_sequences, chosen = (row.tolist() for row in rows)
        for label, player, last_sequence, kind in zip(
            labels, players, last_sequences, chosen, strict=True
        ):
            if not 0 <= kind < len(kinds):
                raise ValueError(f"kind points beyond the tuples of actions at {label!r}")
            if label in table.rows:
                raise ValueError(f"labels holds {label!r} twice")
            if not NO_SEQUENCE <= last_sequence < table.n_sequences:
                raise ValueError(f"own points beyond the sequences before {label!r}")
            check_decision(Decision(player, label, kinds[kind]), n_players, lambda: "its row")
            table.enter(player, label, kinds[kind], last_sequence)
        return table


def _packed(texts: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate texts in UTF-8.

    Returns:
        The bytes, uint8, and the end of each text, int64 (texts,).
    """
    # Labels may take most of the memory, so never hold a second list of them.
    joined, ends = bytearray(), array("q")
    for text in texts:
        joined += text.encode("utf-8", "surrogatepass")
        ends.append(len(joined))
    return np.frombuffer(joined, np.uint8), np.array(ends, np.int64)


def _texts(arrays: Any, key: str, ends: str) -> list[str]:
    """Decode the texts of an array of bytes.

    Args:
        arrays: Arrays by name.
        key: Name of the array of bytes, uint8.
        ends: Name of the array of the ends of texts, int64 (texts,).
    """
    blob = arrays[key]
    if blob.dtype != np.uint8 or blob.ndim != 1:
        raise ValueError(f"{key} is {blob.dtype} {blob.shape}, not bytes")
    stops = _checked_ends(arrays, ends, len(blob)).tolist()
    data = blob.tobytes()
    try:
        return [
            data[a:b].decode("utf-8", "surrogatepass")
            for a, b in zip([0, *stops], stops, strict=False)
        ]
    except UnicodeDecodeError:
        raise ValueError(f"{key} is not UTF-8") from None


def _checked_ends(arrays: Any, key: str, end: int) -> np.ndarray:
    """Return an array of ends, int64 (pieces,), after checking that it rises to ``end``."""
    ends: np.ndarray = arrays[key]
    if ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError(f"{key} is {ends.dtype} {ends.shape}, not a row of int64")
    if (np.diff(ends, prepend=0) < 0).any() or (ends[-1] if len(ends) else 0) != end:
        raise ValueError(f"{key} does not rise to {end}")
    return ends
