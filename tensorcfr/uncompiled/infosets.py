"""The infosets that were met, and the numbers of each, in a table that grows."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Hashable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from ..compilers.histories import check_decision
from ..errors import GameError, ImperfectRecallError
from ..rules import Decision

NO_SEQUENCE = -1
"""The own sequence of a player who has not acted yet."""
REGRETS, STRATEGY, CUMULATIVE, BASELINE = range(4)
"""The lists of a block: one number per action each; further baselines follow the first."""
BYTES_PER_INFOSET = 400
"""Of an infoset beside its label and its numbers: its rows here, and its places in the dictionary
of labels and in that of an adapter."""
BYTES_PER_LIST, BYTES_PER_NUMBER = 56, 32
"""Of a list of Python, and of a float in it with the reference to it."""

Block = list[Any]
"""The numbers of an infoset: lists of regrets, probabilities of the current strategy, cumulative
strategy, and the baselines of each player; and at the very end its last visit, a float.

Lists are replaced and never changed, so that a copy of a block keeps its numbers."""


class InfosetsFullError(Exception):
    """One infoset more would go beyond the limit; the solver says so in full."""


class InfosetTable:
    """A table of infosets by label; a new one gets the next row.

    Numbers are floats in lists of Python, which traversals read and replace in a fraction of the
    time that arrays take; :meth:`group` makes arrays of them.

    Args:
        groups: Lists of an infoset: 3, and one for each player with baselines; 0 to keep labels
            alone.
        limit: Bytes that the table may take.
    """

    def __init__(self, groups: int = 3, *, limit: float = np.inf) -> None:
        self.groups, self.limit = groups, limit
        self.rows: dict[str, int] = {}
        """The row of each label."""
        self.blocks: list[Block] = []
        """The numbers, by row."""
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
        self._fresh: list[Block] = []
        """The block of a new infoset, by kind."""
        self.bytes_held = 0
        """Bytes that the table takes, about."""

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
        names = tuple(map(str, actions))
        count = len(names)
        numbers = self.groups * (BYTES_PER_LIST + BYTES_PER_NUMBER * count)
        more = BYTES_PER_INFOSET + sys.getsizeof(label) + numbers
        if self.bytes_held + more > self.limit:
            raise InfosetsFullError
        self.bytes_held += more
        row = self.rows[label] = len(self.player)
        kind = self._kind_of.get(names)
        if kind is None:
            kind = self._kind_of[names] = len(self.names)
            self.names.append(names)
            self.kinds.append(actions)
            zeros = [0.0] * count
            fresh: Block = [zeros] * self.groups + [0.0]
            if self.groups:
                fresh[STRATEGY] = [1.0 / count] * count
            self._fresh.append(fresh)
        self.player.append(player)
        self.own.append(own)
        self.kind.append(kind)
        self.first.append(self.first[-1] + count)
        self.blocks.append(self._fresh[kind].copy())
        return row

    def check_again(
        self, row: int, said: Decision, own: Sequence[int], here: Callable[[], str]
    ) -> None:
        """Check another history of an infoset against its row.

        Args:
            row: The row.
            said: What the rules say at the history.
            own: Every player's last sequence there.
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
            self.kinds[kind] = actions
        if own[player] != self.own[row]:
            before = [self._name_sequence(sequence) for sequence in (self.own[row], own[player])]
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
        """One list of all infosets, float64 (sequences,)."""
        lists = (block[index] for block in self.blocks)
        return np.fromiter(chain.from_iterable(lists), np.float64, self.n_sequences)

    def set_group(self, index: int, numbers: np.ndarray) -> None:
        """The reverse of :meth:`group`."""
        given, first = numbers.tolist(), self.first
        for row, block in enumerate(self.blocks):
            block[index] = given[first[row] : first[row + 1]]

    def last(self) -> np.ndarray:
        """The last visits, float64 (infosets,)."""
        return np.array([block[-1] for block in self.blocks], np.float64)

    def set_last(self, numbers: np.ndarray) -> None:
        """The reverse of :meth:`last`."""
        for block, number in zip(self.blocks, numbers.tolist(), strict=True):
            block[-1] = number

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
            if label in self.rows:
                raise ValueError(f"labels holds {label!r} twice")
            if not NO_SEQUENCE <= own < self.n_sequences:
                raise ValueError(f"own points beyond the sequences before {label!r}")
            check_decision(Decision(player, label, kinds[kind]), n_players, lambda: "its row")
            self.enter(player, label, kinds[kind], own)


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
