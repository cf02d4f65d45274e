"""Positions of the sequences of a card game, in the trunk and in a chunk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ...model.arrays import SequenceForm, bucket_layout
from ...model.card_structure import DECISION, BettingTree, HandClasses, Symmetry
from ...model.chunked_form import whole_rows
from ...payoff import PayoffPart


class Act(NamedTuple):
    """Last action of a player: an action at a decision of the betting."""

    node: int
    action: int


Last = Act | None
"""Last action of a player; None if the player has not acted yet."""


def last_acts(betting: BettingTree) -> list[list[Last]]:
    """Return each player's last action before every node, as lists (players, nodes)."""
    acts: list[list[Last]] = [[None] for _ in range(betting.amounts.shape[2])]
    for node in range(1, betting.n_nodes):
        parent = int(betting.parent[node])
        for player, player_acts in enumerate(acts):
            acted = betting.kind[parent] == DECISION and betting.player[parent] == player
            player_acts.append(
                Act(parent, node - int(betting.first_child[parent]))
                if acted
                else player_acts[parent]
            )
    return acts


class Wait(NamedTuple):
    """Single-action infoset of a player on the boards of a round, inserted above a terminal.

    It is needed if the terminal distinguishes more classes of hands than the player's last action,
    which was on an earlier board or in buckets.
    """

    player: int
    last: Last
    round: int


class SomeBoards:
    """Solved boards on which a form is played, round by round.

    Args:
        symmetry: All solved boards.
        boards: int64 (boards,) for each round: the solved boards of the form.
        parent: int64 (boards,) for each round: position of the board before the last deal, among
            the boards of the previous round; not used in the first round.
    """

    def __init__(
        self, symmetry: Symmetry, boards: list[np.ndarray], parent: list[np.ndarray]
    ) -> None:
        self.symmetry, self.boards = symmetry, boards
        rounds = list(zip(boards, symmetry.rounds[: len(boards)], strict=True))
        self.classes = [of_round.classes[round_boards] for round_boards, of_round in rounds]
        self.played = [of_round.played[round_boards] for round_boards, of_round in rounds]
        self.prefix: list[list[np.ndarray]] = []
        """Positions of earlier boards: ``prefix[r][s]``, for rounds ``r`` and ``s <= r``, is int64
        (boards of round ``r``,), the position of each board's predecessor among the boards of round
        ``s``."""
        for r, round_boards in enumerate(boards):
            before = [earlier[parent[r]] for earlier in self.prefix[-1]] if r else []
            self.prefix.append([*before, np.arange(len(round_boards))])
        players = range(len(symmetry.hands))
        self.begin = [
            [np.append(0, np.cumsum(self.n_classes(player, r))) for r in range(len(boards))]
            for player in players
        ]
        """int64 (boards + 1,) for each player and round: offset of the classes of hands on each
        board."""
        self.end_begin = [
            [
                np.append(0, np.cumsum(self.n_classes(player, r, ends=True)))
                for r in range(len(boards))
            ]
            for player in players
        ]
        """int64 (boards + 1,) for each player and round: offset of the classes that terminals
        distinguish."""
        self._class_maps: dict[tuple[int, int, int, bool], np.ndarray] = {}

    def _classes_by_kind(
        self, *, ends: bool
    ) -> tuple[tuple[tuple[HandClasses, ...], ...], list[np.ndarray]]:
        """Return the classes of hands on all kinds of boards, and the kind of each board by round.

        Args:
            ends: Whether to use the classes that terminals distinguish; by default the classes in
                which hands decide.
        """
        if ends:
            return self.symmetry.classes, self.classes
        return self.symmetry.played, self.played

    def n_classes(self, player: int, r: int, *, ends: bool = False) -> np.ndarray:
        """Count the classes of hands on each board of a round, int64 (boards,).

        Args:
            player: The player.
            r: The round.
            ends: Whether to count the classes that terminals distinguish; by default the classes in
                which hands decide.
        """
        by_kind, kinds = self._classes_by_kind(ends=ends)
        counts: np.ndarray = np.array([both[player].n_classes for both in by_kind])[kinds[r]]
        return counts

    def above(self, player: int, r: int, s: int, *, ends: bool = False) -> np.ndarray:
        """Map classes of hands on the boards of round ``r`` to the classes on the earlier boards of
        round ``s``.

        Args:
            player: The player.
            r: The later round.
            s: The earlier round.
            ends: Whether the classes of round ``r`` are the ones that terminals distinguish.

        Returns:
            int64 (classes of all boards,): the class in which the hands decide in round ``s``.
        """
        if not len(self.boards[r]):
            return np.empty(0, dtype=np.int64)
        kinds = self.kinds(r, s, ends=ends)
        return np.concatenate([self.between(player, *both, ends=ends) for both in kinds])

    def splits(self, r: int, s: int) -> bool:
        """Return whether terminals of round ``r`` distinguish more hands than decisions of round
        ``s``."""
        classes, played = self.symmetry.classes, self.symmetry.played
        kinds = self.kinds(r, s, ends=True)
        return any(classes[later] is not played[earlier] for later, earlier in kinds)

    def kinds(self, r: int, s: int, *, ends: bool = False) -> list[tuple[int, int]]:
        """Return the kinds of classes on each board of round ``r`` and on its earlier board of
        round ``s``."""
        later, earlier = self._classes_by_kind(ends=ends)[1][r], self.played[s][self.prefix[r][s]]
        return list(zip(later.tolist(), earlier.tolist(), strict=True))

    def between(self, player: int, later: int, earlier: int, *, ends: bool = False) -> np.ndarray:
        """Map classes of a player on one kind of board to the classes on an earlier kind, int64
        (classes,)."""
        key = player, later, earlier, ends
        if key not in self._class_maps:
            first = self._classes_by_kind(ends=ends)[0][later][player].first
            self._class_maps[key] = self.symmetry.played[earlier][player].of_hand[first]
        return self._class_maps[key]


class CardForm:
    """Sequences of one form, the trunk or a chunk.

    An action of a player at a public node has one sequence for every class of hands on every board.

    Args:
        betting: The betting.
        last: Each player's last action before every node, from :func:`last_acts`.
        where: The boards of the form.
        entry: For each player, the first sequence of each entry by last action, relative to the
            player's first entry sequence.  Entries have the boards of the form's first round.
        entries: For each player, the number of entry sequences.
        nodes: The decisions and the terminals of the form, parents first.
        rooted: Whether the form begins with the deal of the hands.  The deal is an infoset with one
            action for every class of hands, after the empty sequence.
    """

    def __init__(
        self,
        betting: BettingTree,
        last: list[list[Last]],
        where: SomeBoards,
        entry: list[Mapping[Last, int]],
        entries: list[int],
        nodes: list[int],
        *,
        rooted: bool,
    ) -> None:
        self.betting, self.last, self.where = betting, last, where
        self.entry, self.rooted = entry, rooted
        self.first: dict[int | Wait, int] = {}
        """Sequence of the first action at each decision, relative to the player's first
        sequence."""
        self.width: dict[int | Wait, int] = {}
        """Distance between the sequences of consecutive actions at each decision."""
        self.level: dict[int, int] = {}
        """Level of each decision: the number of the player's decisions above it in this form."""
        by_bucket: dict[tuple[int, int, int], list[int | Wait]] = defaultdict(list)
        for node in nodes:
            if betting.kind[node] != DECISION:
                for wait in self._waits(node):
                    key = wait.player, self._level_after(wait.last), 1
                    if wait not in by_bucket[key]:
                        by_bucket[key].append(wait)
                continue
            player = int(betting.player[node])
            self.level[node] = self._level_after(last[player][node])
            by_bucket[player, self.level[node], int(betting.children[node])].append(node)
        self.buckets = []
        # Entry sequences come first.  In a chunk, those of the last player come last, so that only
        # the entries of a second of three players lie between sequences of the chunk itself.
        used = list(entries) if rooted else [*map(whole_rows, entries[:-1]), 0]
        for player, depth, actions in sorted(by_bucket):
            members = by_bucket[player, depth, actions]
            classes = (
                self.where.n_classes(player, self._round(node), ends=isinstance(node, Wait))
                for node in members
            )
            counts = [int(per_board.sum()) for per_board in classes]
            width, begin = sum(counts), used[player]
            offset = begin
            for member, count in zip(members, counts, strict=True):
                self.first[member], self.width[member] = offset, width
                offset += count
            used[player] += width * actions
            self.buckets.append((player, depth, actions, members, width, begin))
        self.ends = [0, *accumulate(used)]
        self.entered = self.ends[:-1]
        """First entry sequence of each player."""
        if not rooted:
            self.entered[-1] = whole_rows(self.ends[-1])
            self.ends[-1] = self.entered[-1] + entries[-1]

    def _level_after(self, last: Last) -> int:
        return 0 if last is None or last.node not in self.level else self.level[last.node] + 1

    def _round(self, node: int | Wait) -> int:
        return node.round if isinstance(node, Wait) else int(self.betting.round[node])

    def _waits(self, node: int) -> list[Wait]:
        """Return the single-action infosets that a terminal needs."""
        r = int(self.betting.round[node])
        waits = []
        for player, last_acts_of_player in enumerate(self.last):
            last = last_acts_of_player[node]
            s = self.round_of(last)
            # The last action has one sequence for several classes that this terminal distinguishes.
            if self.where.splits(r, s):
                waits.append(Wait(player, last, r))
        return waits

    def round_of(self, last: Last) -> int:
        """Return the round of a last action, or of the entries if the action is above the form."""
        if last is not None and last.node in self.level:
            return int(self.betting.round[last.node])
        return 0 if self.rooted else len(self.where.boards) - 1

    def ended(self, player: int, last: Last, r: int) -> np.ndarray:
        """Return the first sequence that a terminal ends, on every board of a round; int64
        (boards,).

        The sequence belongs to the first class of hands on the board.
        """
        wait = Wait(player, last, r)
        if wait not in self.first:
            return self.sequences(player, last, r)
        return self.ends[player] + self.first[wait] + self.where.end_begin[player][r][:-1]

    def sequences(self, player: int, last: Last, r: int) -> np.ndarray:
        """Return the first sequence of a player's last action, on every board of a round; int64
        (boards,).

        The sequence belongs to the first class of hands on the board.
        """
        if last is None or last.node not in self.first:
            return np.full(
                len(self.where.boards[r]), self.entered[player] + self.entry[player][last]
            )
        s = int(self.betting.round[last.node])
        first = self.ends[player] + self.first[last.node] + last.action * self.width[last.node]
        return first + self.where.begin[player][s][self.where.prefix[r][s]]

    def sequences_above(self, player: int, last: Last, r: int, *, ends: bool) -> np.ndarray:
        """Return the sequence of the player's last action for all classes on the boards of a round.

        Args:
            player: The player.
            last: The last action.
            r: The round.
            ends: Whether to use the classes that terminals distinguish; otherwise the classes in
                which hands decide.

        Returns:
            int64 (classes of all boards,): the sequences, board by board.
        """
        s = self.round_of(last)
        count = self.where.n_classes(player, r, ends=ends)
        each = np.repeat(self.sequences(player, last, r), count)
        return each + self.where.above(player, r, s, ends=ends)

    def form(self, payoffs: PayoffPart) -> SequenceForm:
        """Build the sequence form, with its payoffs."""
        parents: list[np.ndarray] = []
        rows: list[tuple[int, ...]] = []
        for player in range(len(self.last)):
            if self.rooted:
                deals = int(self.where.begin[player][0][-1])
                parents.append(np.full(deals, self.ends[player], dtype=np.uint32))
                rows.append((player, 0, 1, deals, self.ends[player] + 1))
            for bucket_player, depth, fan, nodes, width, begin in self.buckets:
                if bucket_player != player:
                    continue
                for node in nodes:
                    r, ends = self._round(node), isinstance(node, Wait)
                    last_act = node.last if isinstance(node, Wait) else self.last[player][node]
                    # Members of a bucket are in the order of ``self.first``, and parents are
                    # appended in that order.
                    parent_sequences = self.sequences_above(player, last_act, r, ends=ends)
                    parents.append(parent_sequences.astype(np.uint32))
                start = self.ends[player] + begin
                rows.append((player, depth + int(self.rooted), fan, width, start))
        owner, level, actions, lanes, first = np.array(rows, np.int64).reshape(-1, 5).T.copy()
        layout = bucket_layout(owner, level, actions, lanes, len(self.last))
        layout |= {"bucket_sequence": first, "player_sequences": np.array(self.ends)}
        parent = np.concatenate([np.empty(0, dtype=np.uint32), *parents])
        return SequenceForm(**layout, infoset_parent=parent, operator=(payoffs,))
