"""Where the sequences of a game of cards lie: the rows of the trunk and of a chunk."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from ..model.arrays import SequenceForm
from ..model.card_game import DECISION, BettingTree
from ..payoff import PayoffCards


class Row(NamedTuple):
    """What a player has done last: an action of a decision of the betting."""

    node: int
    action: int


Last = Row | None
"""None: the player has not acted yet."""


class CardForm:
    """The rows of one form: a row is an action of a player at a public node, on one board, and has
    a sequence for every hand.

    Args:
        betting: The betting.
        last: For each player and node, what the player has done last.
        hands: Hands of each player.
        entry_row: For each player, the rows through which the form is entered, by what the player
            has done last.
        prefix: For rounds ``r`` and ``s <= r``, ``prefix[r][s]`` are the boards of round ``s``
            from which those of round ``r`` come.
        nodes: The decisions of the form, parents first.
        rooted: Whether the form is entered through the deal of the hands: an infoset of one action
            for every hand, after the empty sequence.
    """

    def __init__(
        self,
        betting: BettingTree,
        last: list[list[Last]],
        hands: tuple[int, int],
        entry_row: list[dict[Last, int]],
        prefix: list[list[np.ndarray]],
        nodes: list[int],
        *,
        rooted: bool,
    ) -> None:
        self.betting, self.last, self.hands = betting, last, hands
        self.entry_row, self.prefix, self.rooted = entry_row, prefix, rooted
        self.row: dict[int, int] = {}
        self.width: dict[int, int] = {}
        level: dict[int, int] = {}
        by_bucket: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for node in nodes:
            player = int(betting.player[node])
            before = last[player][node]
            inside = before is not None and before.node in level
            level[node] = level[before.node] + 1 if inside and before is not None else 0
            by_bucket[player, level[node], int(betting.children[node])].append(node)
        self.buckets = []
        used = [len(rows) for rows in entry_row]
        for player, depth, actions in sorted(by_bucket):
            members = by_bucket[player, depth, actions]
            counts = [self.n_boards(node) for node in members]
            width, begin = sum(counts), used[player]
            offset = begin
            for node, count in zip(members, counts, strict=True):
                self.row[node], self.width[node] = offset, width
                offset += count
            used[player] += width * actions
            self.buckets.append((player, depth, actions, members, width, begin))
        extra = int(rooted)
        ends = [0]
        for rows, own in zip(used, hands, strict=True):
            ends.append(ends[-1] + extra + rows * own)
        self.ends = ends

    def n_boards(self, node: int) -> int:
        """The boards of a node's round."""
        r = int(self.betting.round[node])
        return len(self.prefix[r][r])

    def row_of(self, player: int, last: Last, round_: int) -> np.ndarray:
        """The row of a player's last action on every board of a round, int64 (boards,)."""
        if last is None or last.node not in self.row:
            return np.full(len(self.prefix[round_][round_]), self.entry_row[player][last])
        board = self.prefix[round_][int(self.betting.round[last.node])]
        return self.row[last.node] + last.action * self.width[last.node] + board

    def sequence(self, player: int, row: Any) -> Any:
        """The sequence of the player's first hand in a row, or in several."""
        return self.ends[player] + int(self.rooted) + row * self.hands[player]

    def form(self, cards: PayoffCards) -> SequenceForm:
        """The sequence form, with its payoffs."""
        parents, buckets = [], []
        for player, hands in enumerate(self.hands):
            if self.rooted:
                parents.append(np.full(hands, self.ends[player]))
                buckets.append((player, 0, 1, hands, self.sequence(player, 0)))
            for owner, depth, actions, nodes, width, row in self.buckets:
                if owner != player:
                    continue
                for node in nodes:
                    above = self.row_of(
                        player, self.last[player][node], int(self.betting.round[node])
                    )
                    first = self.sequence(player, above)
                    parents.append((first[:, None] + np.arange(hands)).ravel())
                first = self.sequence(player, row)
                buckets.append((player, depth + int(self.rooted), actions, width * hands, first))
        table = np.array(buckets, dtype=np.int64).reshape(-1, 5)
        columns = [np.ascontiguousarray(column) for column in table.T]
        of_player, level, actions_of, lanes, sequence = columns
        infosets = [int(lanes[of_player == player].sum()) for player in range(2)]
        return SequenceForm(
            player_infosets=np.array([0, infosets[0], sum(infosets)]),
            player_sequences=np.array(self.ends),
            player_buckets=np.array([0, int((of_player == 0).sum()), len(table)]),
            bucket_level=level,
            bucket_actions=actions_of,
            bucket_lanes=lanes,
            bucket_infoset=np.cumsum(lanes) - lanes,
            bucket_sequence=sequence,
            # To those who divide lanes by hands, there is one hand.
            bucket_stride=lanes,
            bucket_mask=np.zeros(len(table), dtype=np.int64),
            hand_rank=np.array([[0, 1]]),
            infoset_parent=np.concatenate([np.empty(0), *parents]).astype(np.uint32),
            operator=(cards,),
        )


def last_rows(betting: BettingTree) -> list[list[Last]]:
    """For each player and node, what the player has done last."""
    found: list[list[Last]] = [[None], [None]]
    for node in range(1, betting.n_nodes):
        above = int(betting.parent[node])
        for player, own in enumerate(found):
            acted = betting.kind[above] == DECISION and betting.player[above] == player
            row = Row(above, node - int(betting.first_child[above])) if acted else own[above]
            own.append(row)
    return found
