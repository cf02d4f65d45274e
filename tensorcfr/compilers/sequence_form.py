"""From a history tree to the sequence form: levels and lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ImperfectRecallError
from ..model.arrays import SequenceForm, no_blocks
from .histories import WalkedGame
from .payoff_entries import payoff_entries

NO_SEQUENCE = -1
"""In place of an infoset's parent sequence while none of its histories has been met."""


@dataclass(frozen=True)
class Sequences:
    """Sequences in the order in which their infosets were met, before they get their places.

    Sequence ``i < n_players`` is the empty one of player ``i``; action ``a`` of infoset ``I``
    is ``first[I] + a``.
    """

    first: np.ndarray
    """int64 (infosets,): sequence of the first action."""
    parent: np.ndarray
    """int64 (infosets,): the owner's last sequence before the infoset."""
    last: np.ndarray
    """int64 (players, terminals): last sequence of each player at each terminal."""
    reach: np.ndarray
    """float64 (terminals,): chance probability of each terminal."""


def build(walked: WalkedGame) -> tuple[SequenceForm, np.ndarray]:
    """The sequence form of a walked game.

    Returns:
        The sequence form, and the infosets (numbered as they were met) in their final order,
        int64 (infosets,).

    Raises:
        ImperfectRecallError: Two histories of an infoset differ in what its player did before;
            the message names both.
    """
    n_actions = np.array([len(actions) for actions in walked.infosets.actions], dtype=np.int64)
    owner = np.array(walked.infosets.players, dtype=np.int64)
    sequences = trace_sequences(walked, n_actions)
    layout, order, place = lay_out(owner, n_actions, sequences, walked.n_players)
    payoff = payoff_entries(
        place[sequences.last],
        sequences.reach[:, None] * walked.tree.utility,
        layout["player_sequences"],
    )
    return SequenceForm(**layout, payoff=payoff, blocks=no_blocks(walked.n_players)), order


def trace_sequences(walked: WalkedGame, n_actions: np.ndarray) -> Sequences:
    """Follow every player's last sequence down the tree, level by level."""
    tree, n_players = walked.tree, walked.n_players
    first = n_players + np.cumsum(n_actions) - n_actions
    parent = np.full(len(n_actions), NO_SEQUENCE, dtype=np.int64)
    last = np.empty((n_players, tree.n_nodes), dtype=np.int64)
    last[:, 0] = np.arange(n_players)
    reach = np.ones(tree.n_nodes)
    begin, end = 0, 1
    while begin < end:
        _meet(walked, parent, last, first, begin, end)
        children = slice(int(tree.first_child[begin]), int(tree.first_child[end]))
        up = tree.parent[children]
        last[:, children] = last[:, up]
        reach[children] = reach[up] * tree.probability[children]
        acted = tree.player[up]
        moved = np.flatnonzero(acted >= 0)
        action = np.arange(children.start, children.stop)[moved] - tree.first_child[up[moved]]
        last[acted[moved], children.start + moved] = first[tree.infoset[up[moved]]] + action
        begin, end = children.start, children.stop
    return Sequences(first, parent, last[:, tree.terminal], reach[tree.terminal])


def _meet(
    walked: WalkedGame,
    parent: np.ndarray,
    last: np.ndarray,
    first: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Give the infosets of one level of the tree their parent sequences; check recall."""
    tree = walked.tree
    deciding = begin + np.flatnonzero(tree.player[begin:end] >= 0)
    infoset = tree.infoset[deciding]
    led_by = last[tree.player[deciding], deciding]
    new = parent[infoset] == NO_SEQUENCE
    parent[infoset[new]] = led_by[new]
    wrong = parent[infoset] != led_by
    if wrong.any():
        node = int(deciding[wrong.argmax()])
        same = np.flatnonzero(tree.infoset == tree.infoset[node])
        other = next(int(h) for h in same if last[tree.player[h], h] != last[tree.player[h], node])
        label = walked.infosets.labels[tree.infoset[node]]
        for h in (node, other):
            if (above := _same_above(walked, h)) is not None:
                raise ImperfectRecallError(
                    f"player {tree.player[node]} is absent-minded: infoset {label!r} is at "
                    f"{walked.where(above)} and again further down at {walked.where(h)}"
                )
        before = [
            _name_sequence(walked, first, int(last[tree.player[node], h])) for h in (other, node)
        ]
        raise ImperfectRecallError(
            f"player {tree.player[node]} forgets what he did before infoset {label!r} (imperfect "
            f"recall): he comes to it {before[0]} at {walked.where(other)}, but {before[1]} at "
            f"{walked.where(node)}"
        )


def _same_above(walked: WalkedGame, node: int) -> int | None:
    """A history on the way to a node that is in the same infoset; None if there is none."""
    tree = walked.tree
    above = int(tree.parent[node])
    while above >= 0 and tree.infoset[above] != tree.infoset[node]:
        above = int(tree.parent[above])
    return above if above >= 0 else None


def _name_sequence(walked: WalkedGame, first: np.ndarray, sequence: int) -> str:
    """``by 'bet' at 'Jpb'``, or ``without having acted``."""
    if sequence < walked.n_players:
        return "without having acted"
    infoset = int(np.searchsorted(first, sequence, side="right")) - 1
    action = walked.infosets.actions[infoset][sequence - int(first[infoset])]
    return f"by {str(action)!r} at infoset {walked.infosets.labels[infoset]!r}"


def lay_out(
    owner: np.ndarray, n_actions: np.ndarray, sequences: Sequences, n_players: int
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Give infosets and sequences their final places: buckets of lanes.

    Returns:
        The fields of :class:`SequenceForm` that say the layout; the infosets in their final
        order; the final place of every sequence.
    """
    level = _levels(owner, sequences)
    ends = np.bincount(sequences.last.ravel(), minlength=n_players + int(n_actions.sum()))
    place = np.empty(n_players + int(n_actions.sum()), dtype=np.int64)
    order: list[np.ndarray] = []
    buckets: list[tuple[int, int, int, int, int]] = []
    player_infosets, player_sequences, player_buckets = [0], [0], [0]
    next_infoset = next_sequence = 0
    for player in range(n_players):
        place[player] = next_sequence
        next_sequence += 1
        own = np.flatnonzero(owner == player)
        for depth in range(int(level[own].max(initial=-1)) + 1):
            here = own[level[own] == depth]
            for actions in np.unique(n_actions[here]):
                lanes = here[n_actions[here] == actions]
                # Lanes whose sequences end the game equally often side by side, which makes
                # the slices of the payoff operator wide; among these, children of one
                # sequence, which lets the passes go through their parents in order.
                own_ends = [ends[sequences.first[lanes] + action] for action in range(actions)]
                lanes = lanes[np.lexsort((place[sequences.parent[lanes]], *own_ends))]
                count = len(lanes)
                buckets.append((depth, int(actions), count, next_infoset, next_sequence))
                order.append(lanes)
                for action in range(actions):
                    place[sequences.first[lanes] + action] = (
                        next_sequence + action * count + np.arange(count)
                    )
                next_infoset += count
                next_sequence += count * int(actions)
        player_infosets.append(next_infoset)
        player_sequences.append(next_sequence)
        player_buckets.append(len(buckets))
    final = np.concatenate(order) if order else np.empty(0, dtype=np.int64)
    table = np.array(buckets, dtype=np.int64).reshape(-1, 5).T
    layout = dict(
        zip(
            ("bucket_level", "bucket_actions", "bucket_lanes", "bucket_infoset", "bucket_sequence"),
            np.ascontiguousarray(table),
            strict=True,
        ),
        player_infosets=np.array(player_infosets),
        player_sequences=np.array(player_sequences),
        player_buckets=np.array(player_buckets),
        bucket_stride=table[2].copy(),
        bucket_mask=np.zeros(len(buckets), dtype=np.int64),
        hand_rank=np.array([[0, 1]]),
        infoset_parent=place[sequences.parent[final]].astype(np.uint32),
    )
    return layout, final, place


def _levels(owner: np.ndarray, sequences: Sequences) -> np.ndarray:
    """Own infosets passed before each infoset."""
    n_players = int(sequences.last.shape[0])
    level = np.full(len(owner), -1, dtype=np.int64)
    from_root = sequences.parent < n_players
    level[from_root] = 0
    # The infoset of a sequence is the last one whose first sequence is not beyond it.
    above = np.searchsorted(sequences.first, sequences.parent, side="right") - 1
    todo = np.flatnonzero(~from_root)
    while len(todo):
        known = level[above[todo]] >= 0
        level[todo[known]] = level[above[todo[known]]] + 1
        todo = todo[~known]
    return level
