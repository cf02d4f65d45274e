"""Where the sequences of a game of cards lie: those of the trunk, and those of a chunk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...model.arrays import SequenceForm, bucket_layout
from ...model.cards import DECISION, BettingTree, HandClasses, Symmetry
from ...model.chunks import whole_rows
from ...payoff import PayoffCards


class Act(NamedTuple):
    """What a player has done last: an action of a decision of the betting."""

    node: int
    action: int


Last = Act | None
"""None: the player has not acted yet."""


def last_acts(betting: BettingTree) -> list[list[Last]]:
    """For each player and node, what the player has done last."""
    found: list[list[Last]] = [[None], [None]]
    for node in range(1, betting.n_nodes):
        above = int(betting.parent[node])
        for player, own in enumerate(found):
            acted = betting.kind[above] == DECISION and betting.player[above] == player
            own.append(Act(above, node - int(betting.first_child[above])) if acted else own[above])
    return found


class Wait(NamedTuple):
    """A player's only step on the boards of a round, for a terminal there that follows the player's
    last action on boards with larger classes of hands, or in buckets."""

    player: int
    last: Last
    round: int


class SomeBoards:
    """The solved boards on which a form is played, round by round.

    Args:
        symmetry: All solved boards.
        boards: For each round, which of them, int64 (boards,).
        parent: For each round after the first, the place of the board before the last card among
            those of the round before.
    """

    def __init__(
        self, symmetry: Symmetry, boards: list[np.ndarray], parent: list[np.ndarray]
    ) -> None:
        self.symmetry, self.boards = symmetry, boards
        rounds = list(zip(boards, symmetry.rounds[: len(boards)], strict=True))
        self.classes = [of_round.classes[own] for own, of_round in rounds]
        self.played = [of_round.played[own] for own, of_round in rounds]
        self.prefix: list[list[np.ndarray]] = []
        """For rounds ``r`` and ``s <= r``, ``prefix[r][s]`` are the places of the boards of round
        ``s`` from which those of round ``r`` come."""
        for r, own in enumerate(boards):
            before = [one[parent[r]] for one in self.prefix[-1]] if r else []
            self.prefix.append([*before, np.arange(len(own))])
        self.begin = [
            [np.append(0, np.cumsum(self.n_classes(player, r))) for r in range(len(boards))]
            for player in range(2)
        ]
        """For each player and round, where the classes of hands on each board begin."""
        self.end_begin = [
            [
                np.append(0, np.cumsum(self.n_classes(player, r, ends=True)))
                for r in range(len(boards))
            ]
            for player in range(2)
        ]
        """The same of the classes that terminals tell apart."""
        self._above: dict[tuple[int, int, int, bool], np.ndarray] = {}

    def _own(self, *, ends: bool) -> tuple[tuple[tuple[HandClasses, ...], ...], list[np.ndarray]]:
        """All classes that terminals tell apart, or all in which hands decide; and which of them
        the boards of each round have."""
        if ends:
            return self.symmetry.classes, self.classes
        return self.symmetry.played, self.played

    def n_classes(self, player: int, r: int, *, ends: bool = False) -> np.ndarray:
        """int64 (boards,): classes in which hands decide on each board, or which its terminals tell
        apart."""
        every, kinds = self._own(ends=ends)
        found: np.ndarray = np.array([both[player].n_classes for both in every])[kinds[r]]
        return found

    def above(self, player: int, r: int, s: int, *, ends: bool = False) -> np.ndarray:
        """For all classes on the boards of round ``r``, one after the other, those in which their
        hands decide on the boards of round ``s`` before them."""
        if not len(self.boards[r]):
            return np.empty(0, dtype=np.int64)
        kinds = self.kinds(r, s, ends=ends)
        return np.concatenate([self.between(player, *both, ends=ends) for both in kinds])

    def splits(self, r: int, s: int) -> bool:
        """Whether terminals on some boards of round ``r`` tell more hands apart than decisions on
        those of round ``s`` before them."""
        classes, played = self.symmetry.classes, self.symmetry.played
        kinds = self.kinds(r, s, ends=True)
        return any(classes[here] is not played[there] for here, there in kinds)

    def kinds(self, r: int, s: int, *, ends: bool = False) -> list[tuple[int, int]]:
        """For each board of round ``r``, which classes of hands there are on it, and in which hands
        decide on the board of round ``s`` before it."""
        here, there = self._own(ends=ends)[1][r], self.played[s][self.prefix[r][s]]
        return list(zip(here.tolist(), there.tolist(), strict=True))

    def between(self, player: int, here: int, there: int, *, ends: bool = False) -> np.ndarray:
        """For all classes of a player on a board, those in which their hands decide on another."""
        key = player, here, there, ends
        if key not in self._above:
            first = self._own(ends=ends)[0][here][player].first
            self._above[key] = self.symmetry.played[there][player].of_hand[first]
        return self._above[key]


class CardForm:
    """The sequences of one form.  An action of a player at a public node has a sequence for every
    class of hands on every board.

    Args:
        betting: The betting.
        last: For each player and node, what the player has done last.
        where: The boards.
        entry: For each player, the sequences through which the form is entered, counted from the
            first of them, by what the player has done last.  They have the boards of the form's
            first round.
        entries: For each player, how many these are.
        nodes: The decisions and the terminals of the form, parents first.
        rooted: Whether the form is entered through the deal of the hands: an infoset of one action
            for every class of hands, after the empty sequence.
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
        """Per decision, the sequence of its first action, counted from the player's first one."""
        self.width: dict[int | Wait, int] = {}
        """Per decision, the distance between the sequences of consecutive actions."""
        self.level: dict[int, int] = {}
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
        # Each player's sequences begin with those through which the form is entered, but in a chunk
        # those of the last player come last.
        first = 0 if rooted else whole_rows(entries[0])
        used = list(entries) if rooted else [first, 0]
        for player, depth, actions in sorted(by_bucket):
            members = by_bucket[player, depth, actions]
            classes = (
                self.where.n_classes(player, self._round(node), ends=isinstance(node, Wait))
                for node in members
            )
            counts = [int(own.sum()) for own in classes]
            width, begin = sum(counts), used[player]
            offset = begin
            for member, count in zip(members, counts, strict=True):
                self.first[member], self.width[member] = offset, width
                offset += count
            used[player] += width * actions
            self.buckets.append((player, depth, actions, members, width, begin))
        self.ends = [0, used[0], used[0] + used[1]]
        self.entered = self.ends[:2]
        """For each player, the first of the sequences through which the form is entered."""
        if not rooted:
            self.entered[1] = whole_rows(self.ends[2])
            self.ends[2] = self.entered[1] + entries[1]

    def _level_after(self, last: Last) -> int:
        return 0 if last is None or last.node not in self.level else self.level[last.node] + 1

    def _round(self, node: int | Wait) -> int:
        return node.round if isinstance(node, Wait) else int(self.betting.round[node])

    def _waits(self, node: int) -> list[Wait]:
        """The steps that a terminal needs."""
        r = int(self.betting.round[node])
        found = []
        for player in range(2):
            last = self.last[player][node]
            s = self.round_of(last)
            if self.where.splits(r, s):
                found.append(Wait(player, last, r))
        return found

    def round_of(self, last: Last) -> int:
        """The round of a last action, or of the way in."""
        if last is not None and last.node in self.level:
            return int(self.betting.round[last.node])
        return 0 if self.rooted else len(self.where.boards) - 1

    def ended(self, player: int, last: Last, r: int) -> np.ndarray:
        """The sequence of the first class of hands that a terminal ends, on every board of a round;
        int64 (boards,)."""
        wait = Wait(player, last, r)
        if wait not in self.first:
            return self.sequences(player, last, r)
        return self.ends[player] + self.first[wait] + self.where.end_begin[player][r][:-1]

    def sequences(self, player: int, last: Last, r: int) -> np.ndarray:
        """The sequence of the first class of hands after a player's last action, on every board of
        a round; int64 (boards,)."""
        if last is None or last.node not in self.first:
            return np.full(
                len(self.where.boards[r]), self.entered[player] + self.entry[player][last]
            )
        s = int(self.betting.round[last.node])
        first = self.ends[player] + self.first[last.node] + last.action * self.width[last.node]
        return first + self.where.begin[player][s][self.where.prefix[r][s]]

    def sequences_above(self, player: int, last: Last, r: int, *, ends: bool) -> np.ndarray:
        """For all classes on the boards of a round, one after the other, the sequence of the
        player's last action with their hands; of the classes that terminals tell apart, or of those
        that decide."""
        s = self.round_of(last)
        count = self.where.n_classes(player, r, ends=ends)
        each = np.repeat(self.sequences(player, last, r), count)
        return each + self.where.above(player, r, s, ends=ends)

    def form(self, cards: PayoffCards) -> SequenceForm:
        """The sequence form, with its payoffs."""
        parents: list[np.ndarray] = []
        rows: list[tuple[int, ...]] = []
        for player in range(2):
            if self.rooted:
                deals = int(self.where.begin[player][0][-1])
                parents.append(np.full(deals, self.ends[player], dtype=np.uint32))
                rows.append((player, 0, 1, deals, self.ends[player] + 1))
            for one, depth, fan, nodes, width, begin in self.buckets:
                if one != player:
                    continue
                for node in nodes:
                    r, ends = self._round(node), isinstance(node, Wait)
                    before = node.last if isinstance(node, Wait) else self.last[player][node]
                    above = self.sequences_above(player, before, r, ends=ends)
                    parents.append(above.astype(np.uint32))
                start = self.ends[player] + begin
                rows.append((player, depth + int(self.rooted), fan, width, start))
        owner, level, actions, lanes, first = np.array(rows, np.int64).reshape(-1, 5).T.copy()
        layout = bucket_layout(owner, level, actions, lanes, 2)
        layout |= {"bucket_sequence": first, "player_sequences": np.array(self.ends)}
        parent = np.concatenate([np.empty(0, dtype=np.uint32), *parents])
        return SequenceForm(**layout, infoset_parent=parent, operator=(cards,))
