"""The infosets that were met, and the numbers of each, in a table that grows."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ..compilers.histories import check_decision
from ..errors import GameError, ImperfectRecallError

NO_SEQUENCE = -1
"""The own sequence of a player who has not acted yet."""
REGRETS, STRATEGY, CUMULATIVE, BASELINE = range(4)
"""Groups of numbers in a block: one number per action each."""
BYTES_PER_INFOSET = 250
"""Of an infoset beside its label and its numbers: its rows here, and its places in the dictionary
of labels and in that of an adapter."""
GROWTH = 9 / 8
"""How much more an array takes than it holds, at most, so that it can grow."""


class InfosetsFullError(Exception):
    """One infoset more would go beyond the limit; the solver says so in full."""


class InfosetTable:
    """A table of infosets by label; a new one gets the next row.

    The numbers of an infoset with ``n`` actions are one *block* of ``values``: ``n`` regrets, ``n``
    probabilities of the current strategy, ``n`` numbers of the cumulative strategy, and ``n`` for
    each further group, after the last visit if the table keeps that.  This is the block of
    :mod:`tensorcfr.kernels.traversal`.  Arrays of the standard library hold them: they grow in
    place, and one number of them is read in a third of the time that NumPy takes.

    Args:
        groups: Groups of numbers per infoset: 3, and one for each player with baselines; 0 to
            keep labels alone.
        has_last: Whether an infoset has a last visit.
        limit: Bytes that the table may take.
    """

    def __init__(self, groups: int = 3, *, has_last: bool = False, limit: float = np.inf) -> None:
        self.groups, self.header, self.limit = groups, int(has_last), limit
        self.rows: dict[str, int] = {}
        """The row of each label."""
        self.values = array("d")
        """The blocks, one after the other."""
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
        self.bytes_held = 0
        """Bytes that the table takes, about."""

    def __len__(self) -> int:
        return len(self.player)

    @property
    def n_sequences(self) -> int:
        """Actions of all infosets."""
        return self.first[-1]

    def block(self, row: int) -> int:
        """Where the regrets of an infoset begin in ``values``."""
        return self.groups * self.first[row] + self.header * (row + 1)

    def enter(
        self,
        label: str,
        player: int,
        actions: Sequence[Hashable],
        own: int,
        *,
        n_players: int,
        here: Callable[[], str],
    ) -> int:
        """A new row.

        Args:
            label: The infoset's label.
            player: Who acts.
            actions: What they can do.
            own: Their last sequence.
            n_players: Number of players.
            here: Names the history in errors.

        Raises:
            GameError: The rules break their contract; names the history.
            InfosetsFullError: The table is full.
        """
        check_decision((player, label, actions), n_players, here)
        names = tuple(map(str, actions))
        count = len(names)
        size = self.header + self.groups * count
        more = BYTES_PER_INFOSET + sys.getsizeof(label) + int(8 * GROWTH * size)
        if self.bytes_held + more > self.limit:
            raise InfosetsFullError
        self.bytes_held += more
        row = self.rows[label] = len(self.player)
        kind = self._kind_of.get(names)
        if kind is None:
            kind = self._kind_of[names] = len(self.names)
            self.names.append(names)
            self.kinds.append(actions)
        self.player.append(player)
        self.own.append(own)
        self.kind.append(kind)
        self.first.append(self.first[-1] + count)
        self.values.extend([0.0] * size)
        if self.groups:
            at = self.block(row) + STRATEGY * count
            self.values[at : at + count] = array("d", [1.0 / count] * count)
        return row

    def check_again(
        self,
        row: int,
        player: int,
        actions: Sequence[Hashable],
        own: int,
        here: Callable[[], str],
    ) -> None:
        """Check another history of an infoset against its row.

        Raises:
            GameError: It has another player or other actions.
            ImperfectRecallError: The player did something else before.
        """
        label, kind = self.label(row), self.kind[row]
        if player != self.player[row]:
            raise GameError(
                f"infoset label {label!r} is used by player {self.player[row]} and, at {here()}, "
                f"by player {player}"
            )
        if self.kinds[kind] is not actions:
            names = tuple(map(str, actions))
            if names != self.names[kind]:
                raise GameError(
                    f"histories of infoset {label!r} disagree on its actions: "
                    f"{list(self.names[kind])}, and {list(names)} at {here()}"
                )
            self.kinds[kind] = actions
        if own != self.own[row]:
            before = [self._name_sequence(sequence) for sequence in (self.own[row], own)]
            raise ImperfectRecallError(
                f"player {player} forgets an own action before infoset {label!r} (imperfect "
                f"recall): the player reaches it {before[0]}, but {before[1]} at {here()}"
            )

    def label(self, row: int) -> str:
        """The label of a row; for errors, because it looks through all of them."""
        return next(label for label, index in self.rows.items() if index == row)

    def _name_sequence(self, sequence: int) -> str:
        if sequence == NO_SEQUENCE:
            return "as the player's first decision"
        row = int(np.searchsorted(np.frombuffer(self.first, np.int64), sequence, "right")) - 1
        action = self.names[self.kind[row]][sequence - self.first[row]]
        return f"after {action!r} at {self.label(row)!r}"

    # ------------------------------------------------------------------------------ as arrays

    def group(self, index: int) -> np.ndarray:
        """A copy of one group of numbers, float64 (sequences,)."""
        return np.frombuffer(self.values)[self._places(index)] if len(self) else np.empty(0)

    def set_group(self, index: int, numbers: np.ndarray) -> None:
        """The reverse of :meth:`group`."""
        if len(self):
            np.frombuffer(self.values)[self._places(index)] = numbers

    def last(self) -> np.ndarray:
        """A copy of the last visits, float64 (infosets,); zeros if the table keeps none."""
        if not self.header or not len(self):
            return np.zeros(len(self))
        return np.frombuffer(self.values)[self._blocks() - 1]

    def set_last(self, numbers: np.ndarray) -> None:
        """The reverse of :meth:`last`."""
        if self.header and len(self):
            np.frombuffer(self.values)[self._blocks() - 1] = numbers

    def _blocks(self) -> np.ndarray:
        """int64 (infosets,): the block of each row."""
        first = np.array(self.first[:-1], np.int64)
        return self.groups * first + self.header * (np.arange(len(self)) + 1)

    def _places(self, index: int) -> np.ndarray:
        """int64 (sequences,): where the numbers of one group are in ``values``."""
        counts = np.diff(np.array(self.first, np.int64))
        # A block has the group's numbers after those of the groups before.
        begin = self._blocks() + index * counts - np.array(self.first[:-1], np.int64)
        return np.repeat(begin, counts) + np.arange(self.n_sequences)

    @property
    def described(self) -> dict[str, np.ndarray]:
        """The infosets without their numbers, as arrays; :meth:`describe` takes them back."""
        labels = [label.encode("utf-8", "surrogatepass") for label in self.rows]
        actions = [name.encode("utf-8", "surrogatepass") for own in self.names for name in own]
        return {
            "player": np.array(self.player, np.int8),
            "own": np.array(self.own, np.int64),
            "kind": np.array(self.kind, np.int32),
            "labels": np.frombuffer(b"".join(labels), np.uint8).copy(),
            "label_ends": np.cumsum(list(map(len, labels)), dtype=np.int64),
            "actions": np.frombuffer(b"".join(actions), np.uint8).copy(),
            "action_ends": np.cumsum(list(map(len, actions)), dtype=np.int64),
            "kind_ends": np.cumsum(list(map(len, self.names)), dtype=np.int64),
        }

    def describe(self, arrays: Any, *, n_players: int) -> None:
        """Fill an empty table with the infosets of :attr:`described`, in order, checked.

        Args:
            arrays: The arrays, by name.
            n_players: Number of players.

        Raises:
            ValueError: An array is not what it should be; names it.
        """
        names = _texts(arrays, "actions", "action_ends")
        ends = [0, *_rising(arrays, "kind_ends", len(names)).tolist()]
        kinds = [tuple(names[a:b]) for a, b in zip(ends, ends[1:], strict=False)]
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
            if label in self.rows:
                raise ValueError(f"labels holds {label!r} twice")
            if not NO_SEQUENCE <= own < self.n_sequences:
                raise ValueError(f"own points beyond the sequences before {label!r}")
            try:
                self.enter(
                    label, player, kinds[kind], own, n_players=n_players, here=lambda: "its row"
                )
            except GameError as error:
                raise ValueError(str(error)) from None


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


