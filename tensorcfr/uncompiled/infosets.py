"""The infosets that were met, and the numbers of each, in a table that grows."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._util.limits import INDEX_LIMIT
from ..compilers.histories import check_decision
from ..errors import GameError, ImperfectRecallError
from ..kernels.traversal import HEADER, LAST_VISIT
from ..rules import Decision

NO_SEQUENCE = -1
"""The own sequence of a player who has not acted yet."""
REGRETS, STRATEGY, CUMULATIVE, BASELINE = range(4)
"""Groups of numbers in the block of an infoset, in any table: one number per action each; further
baselines follow the first."""
BYTES_PER_INFOSET = 320
"""Of an infoset beside its label and its numbers: its rows here, and its places in the dictionary
of labels and in that of an adapter."""
BYTES_IN_STATE = 32
"""Of an infoset in a state, beside its label and its numbers."""
BYTES_PER_NUMBER = 10
"""Of a number, with its share of the room ahead."""


def make_room(numbers: np.ndarray, size: int) -> None:
    """Make an array at least so long, in place: zeros are added, a quarter more than were there.

    Nothing may look into it at the time: it moves.
    """
    if size > len(numbers):
        numbers.resize((max(size, len(numbers) * 5 // 4), *numbers.shape[1:]), refcheck=False)


class InfosetsFullError(Exception):
    """One infoset more would go beyond the limit; the solver says so in full."""


class OutOfTimeError(Exception):
    """An iteration under way is given up, because its time is over."""


class InfosetTable:
    """A table of infosets by label; a new one gets the next row.

    Its numbers are blocks with headers, as traversals have them; see
    :mod:`tensorcfr.kernels.traversal`.

    Args:
        groups: Groups of numbers of an infoset: 3, and one for each player with baselines; 0 to
            keep labels alone.
        limit: Bytes that the table may take.
        beside: Bytes that are kept elsewhere for each infoset, which count here.
    """

    def __init__(self, groups: int = 3, *, limit: float = np.inf, beside: int = 0) -> None:
        self.groups, self.limit, self.beside = groups, limit, beside
        self.rows: dict[str, int] = {}
        """The row of each label."""
        self.numbers = np.zeros(64 if groups else 0)
        """The blocks of all rows; grows in place."""
        self.player = array("b")
        """Who acts, by row."""
        self.first = array("q", [0])
        """The sequence of the first action, by row; and where the next row's will begin."""
        self.own = array("q")
        """The acting player's sequence before, by row, or ``NO_SEQUENCE``: all histories of an
        infoset have the same (perfect recall)."""
        self.kind = array("i")
        """The number of its tuple of actions, by row."""
        self.kinds: list[Sequence[Hashable]] = []
        """Each distinct tuple of actions, as the rules gave it last."""
        self.names: list[tuple[str, ...]] = []
        """The labels of these."""
        self._kind_of: dict[tuple[str, ...], int] = {}
        self._kind_by_id: dict[int, int] = {}
        """The number of each of ``kinds``, by the object's id: rules often give the same object."""
        self.bytes_held = 0
        """Bytes that the table takes, about."""
        self._characters = 0

    def __len__(self) -> int:
        return len(self.player)

    @property
    def n_sequences(self) -> int:
        """Actions of all infosets."""
        return self.first[-1]

    def enter(self, player: int, label: str, actions: Sequence[Hashable], own: int) -> int:
        """A new row.

        Args:
            player: Who acts.
            label: The infoset's label.
            actions: What they can do, all different.
            own: Their last sequence.

        Raises:
            InfosetsFullError: The table is full.
        """
        count = len(actions)
        size = HEADER + self.groups * count if self.groups else 0
        more = BYTES_PER_INFOSET + self.beside + sys.getsizeof(label) + BYTES_PER_NUMBER * size
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
        self.own.append(own)
        kind = self.kind_of(actions)
        self.kind.append(self._meet(actions) if kind is None else kind)
        self.first.append(self.first[-1] + count)
        return row

    def kind_of(self, actions: Sequence[Hashable]) -> int | None:
        """The number of a tuple of actions, if it is one of ``kinds``, the very same object."""
        return self._kind_by_id.get(id(actions))

    def _meet(self, actions: Sequence[Hashable]) -> int:
        """The number of actions that are no such object."""
        names = tuple(map(str, actions))
        kind = self._kind_of.setdefault(names, len(self.names))
        if kind == len(self.names):
            self.names.append(names)
            self.kinds.append(())
            self._give(kind, actions)
        return kind

    def _give(self, kind: int, actions: Sequence[Hashable]) -> None:
        """Keep the actions of a kind as the rules gave them last."""
        self._kind_by_id.pop(id(self.kinds[kind]), None)
        self.kinds[kind] = actions
        self._kind_by_id[id(actions)] = kind

    def block(self, row: int) -> int:
        """Where the numbers of a row begin, after their header; of the next row, too."""
        return HEADER * (row + 1) + self.groups * self.first[row]

    def check_again(self, row: int, said: Decision, own: int, here: Callable[[], str]) -> None:
        """Check another history of an infoset against its row.

        Args:
            row: The row.
            said: What the rules say at the history.
            own: The acting player's last sequence there.
            here: Names the history in errors.

        Raises:
            GameError: It has another player or other actions.
            ImperfectRecallError: The player did something else before.
        """
        (player, label, actions), kind = said, self.kind[row]
        if player != self.player[row]:
            raise GameError(
                f"infoset label {label!r} is used by player {self.player[row]} and, at {here()}, "
                f"by player {player}"
            )
        if self.kinds[kind] != actions:
            names = tuple(map(str, actions))
            if names != self.names[kind]:
                raise GameError(
                    f"histories of infoset {label!r} disagree on its actions: "
                    f"{list(self.names[kind])}, and {list(names)} at {here()}"
                )
            self._give(kind, actions)
        if own != self.own[row]:
            before = [self._name_sequence(sequence) for sequence in (self.own[row], own)]
            raise ImperfectRecallError(
                f"player {player} forgets an own action before infoset {label!r} (imperfect "
                f"recall): the player reaches it {before[0]}, but {before[1]} at {here()}"
            )

    def _name_sequence(self, sequence: int) -> str:
        if sequence == NO_SEQUENCE:
            return "as the player's first decision"
        row = int(np.searchsorted(np.frombuffer(self.first, np.int64), sequence, "right")) - 1
        action = self.names[self.kind[row]][sequence - self.first[row]]
        return f"after {action!r} at {list(self.rows)[row]!r}"

    # ------------------------------------------------------------------------------ as arrays

    def group(self, index: int) -> np.ndarray:
        """A copy of one group of all infosets, float64 (sequences,)."""
        return self.numbers[self._places(index)]

    def set_group(self, index: int, numbers: np.ndarray) -> None:
        """The reverse of :meth:`group`."""
        self.numbers[self._places(index)] = numbers

    def _places(self, index: int) -> np.ndarray:
        """int64 (sequences,): where the numbers of a group are."""
        first = np.array(self.first, np.int64)
        counts = np.diff(first)
        block = HEADER * np.arange(1, len(first)) + self.groups * first[:-1]
        return np.repeat(block + index * counts - first[:-1], counts) + np.arange(first[-1])

    def last(self) -> np.ndarray:
        """A copy of the last visits, float64 (infosets,)."""
        return self.numbers[self._last_visits()]

    def set_last(self, numbers: np.ndarray) -> None:
        """The reverse of :meth:`last`."""
        self.numbers[self._last_visits()] = numbers

    def _last_visits(self) -> np.ndarray:
        """int64 (infosets,): where the last visits are."""
        first = np.array(self.first[:-1], np.int64)
        header = HEADER - int(LAST_VISIT)
        return header + HEADER * np.arange(len(first)) + self.groups * first

    @property
    def bytes_in_state(self) -> int:
        """Bytes that a state and its policy take, about: labels, which are joined with an eighth
        of room ahead, and numbers once more, with those of the policy and where each is found."""
        numbers = (self.groups + 3) * self.n_sequences
        return self._characters * 9 // 8 + BYTES_IN_STATE * len(self) + 8 * numbers

    @property
    def described(self) -> dict[str, np.ndarray]:
        """The infosets without their numbers, as arrays; :meth:`of` takes them back."""
        labels, label_ends = _packed(self.rows)
        actions, action_ends = _packed(name for own in self.names for name in own)
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
        cls, arrays: Mapping[str, Any], n_players: int, groups: int = 3, *, beside: int = 0
    ) -> InfosetTable:
        """A table of the infosets of :attr:`described`, in order, checked.

        Args:
            arrays: The arrays, by name.
            n_players: Number of players.
            groups: As for the class, like the next one.
            beside: Likewise.

        Raises:
            ValueError: An array is not what it should be; names it.
        """
        table = cls(groups, beside=beside)
        names = _texts(arrays, "actions", "action_ends")
        ends = [0, *_rising(arrays, "kind_ends", len(names)).tolist()]
        kinds = [tuple(names[a:b]) for a, b in pairwise(ends)]
        labels = _texts(arrays, "labels", "label_ends")
        rows = [arrays[key] for key in ("player", "own", "kind")]
        for key, row, dtype in zip(
            ("player", "own", "kind"), rows, (np.int8, np.int64, np.int32), strict=True
        ):
            if row.shape != (len(labels),) or row.dtype != dtype:
                raise ValueError(f"{key} is {row.dtype} {row.shape}, not one for each label")
        players, owns, chosen = (row.tolist() for row in rows)
        for label, player, own, kind in zip(labels, players, owns, chosen, strict=True):
            if not 0 <= kind < len(kinds):
                raise ValueError(f"kind points beyond the tuples of actions at {label!r}")
            if label in table.rows:
                raise ValueError(f"labels holds {label!r} twice")
            if not NO_SEQUENCE <= own < table.n_sequences:
                raise ValueError(f"own points beyond the sequences before {label!r}")
            check_decision(Decision(player, label, kinds[kind]), n_players, lambda: "its row")
            table.enter(player, label, kinds[kind], own)
        return table


def _packed(texts: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of some texts after each other, uint8, and where each ends, int64 (texts,).  No
    text is held twice meanwhile: labels may be most of what there is."""
    joined, ends = bytearray(), array("q")
    for text in texts:
        joined += text.encode("utf-8", "surrogatepass")
        ends.append(len(joined))
    return np.frombuffer(joined, np.uint8), np.array(ends, np.int64)


def _texts(arrays: Any, key: str, ends: str) -> list[str]:
    """The texts of an array of bytes and the ends of each."""
    blob = arrays[key]
    if blob.dtype != np.uint8 or blob.ndim != 1:
        raise ValueError(f"{key} is {blob.dtype} {blob.shape}, not bytes")
    stops = _rising(arrays, ends, len(blob)).tolist()
    data = blob.tobytes()
    try:
        return [
            data[a:b].decode("utf-8", "surrogatepass")
            for a, b in zip([0, *stops], stops, strict=False)
        ]
    except UnicodeDecodeError:
        raise ValueError(f"{key} is not UTF-8") from None


def _rising(arrays: Any, key: str, end: int) -> np.ndarray:
    """Where each of some pieces ends, the last one at ``end``."""
    ends: np.ndarray = arrays[key]
    if ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError(f"{key} is {ends.dtype} {ends.shape}, not a row of int64")
    if (np.diff(ends, prepend=0) < 0).any() or (ends[-1] if len(ends) else 0) != end:
        raise ValueError(f"{key} does not rise to {end}")
    return ends
