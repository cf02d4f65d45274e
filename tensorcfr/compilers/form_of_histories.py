"""The sequence form of a game compiled from histories: levels, buckets and lanes.

The twin for games of private hands is :mod:`.form_of_public_tree`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import ImperfectRecallError
from ..model.arrays import SequenceForm, bucket_layout
from ..model.levels import levels
from ..payoff import PayoffPart
from ..payoff.entries import payoff_entries
from .histories import WalkedGame

NO_SEQUENCE = -1
"""Parent sequence of an infoset none of whose histories has been visited yet."""


@dataclass(frozen=True)
class Sequences:
    """Sequences in the order in which the walk found their infosets.

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
        The sequence form; and int64 (infosets,): the infosets, numbered as in the walk, in their
        final order.

    Raises:
        ImperfectRecallError: Two histories of an infoset differ in earlier actions of its player;
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
    operator: tuple[PayoffPart, ...] = () if payoff.is_empty else (payoff,)
    return SequenceForm(**layout, operator=operator), order


def trace_sequences(walked: WalkedGame, n_actions: np.ndarray) -> Sequences:
    """Follow every player's last sequence down the tree, level by level.

    Raises:
        ImperfectRecallError: As in :func:`build`.
    """
    tree, n_players = walked.tree, walked.n_players
    first = n_players + np.cumsum(n_actions) - n_actions
    parent = np.full(len(n_actions), NO_SEQUENCE, dtype=np.int64)
    last = np.empty((n_players, tree.n_nodes), dtype=np.int64)
    last[:, 0] = np.arange(n_players)
    reach = np.ones(tree.n_nodes)
    for level in levels(tree.first_child):
        if level.start > 0:
            above = tree.parent[level]
            last[:, level] = last[:, above]
            reach[level] = reach[above] * tree.probability[level]
            actor = tree.player[above]
            moved = np.flatnonzero(actor >= 0)
            action = level.start + moved - tree.first_child[above[moved]]
            last[actor[moved], level.start + moved] = first[tree.infoset[above[moved]]] + action
        _set_parents(walked, parent, last, first, level)
    return Sequences(first, parent, last[:, tree.terminal], reach[tree.terminal])


def _set_parents(
    walked: WalkedGame, parent: np.ndarray, last: np.ndarray, first: np.ndarray, level: slice
) -> None:
    """Set the parent sequences of the infosets on one level of the tree, and check recall.

    Args:
        walked: The walked game.
        parent: int64 (infosets,): modified in place.
        last: int64 (players, nodes): last sequences, known down to this level.
        first: int64 (infosets,): first sequence of each infoset.
        level: The nodes of the level.
    """
    tree = walked.tree
    deciding = level.start + np.flatnonzero(tree.player[level] >= 0)
    infoset = tree.infoset[deciding]
    own_last = last[tree.player[deciding], deciding]
    new = parent[infoset] == NO_SEQUENCE
    parent[infoset[new]] = own_last[new]
    wrong = parent[infoset] != own_last
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
            f"player {tree.player[node]} forgets an own action before infoset {label!r} (imperfect "
            f"recall): the player reaches it {before[0]} at {walked.where(other)}, but {before[1]} "
            f"at {walked.where(node)}"
        )


def _same_above(walked: WalkedGame, node: int) -> int | None:
    """An ancestor of a node in the same infoset; None if there is none."""
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

    Args:
        owner: int64 (infosets,): player of each infoset.
        n_actions: int64 (infosets,): its number of actions.
        sequences: The sequences.
        n_players: Players.

    Returns:
        The fields of :class:`SequenceForm` that describe the layout; int64 (infosets,): the
        infosets in their final order; int64 (sequences,): the final place of every sequence.
    """
    level = _infoset_levels(owner, sequences)
    ends = np.bincount(sequences.last.ravel(), minlength=n_players + int(n_actions.sum()))
    place = np.empty(n_players + int(n_actions.sum()), dtype=np.int64)
    order: list[np.ndarray] = []
    buckets: list[tuple[int, int, int, int, int]] = []
    player_ends = [(0, 0, 0)]
    next_infoset = next_sequence = 0
    for player in range(n_players):
        place[player] = next_sequence
        next_sequence += 1
        for depth, actions, lanes in _groups(np.flatnonzero(owner == player), level, n_actions):
            # Lanes whose sequences end the game equally often are adjacent, which makes the
            # slices of the payoff operator wide; among these, the children of one sequence, so
            # that the passes read their parents in order.
            own_ends = [ends[sequences.first[lanes] + action] for action in range(actions)]
            lanes = lanes[np.lexsort((place[sequences.parent[lanes]], *own_ends))]
            count = len(lanes)
            buckets.append((depth, actions, count, next_infoset, next_sequence))
            order.append(lanes)
            for action in range(actions):
                first = next_sequence + action * count
                place[sequences.first[lanes] + action] = np.arange(first, first + count)
            next_infoset += count
            next_sequence += count * actions
        player_ends.append((next_infoset, next_sequence, len(buckets)))
    final = np.concatenate(order) if order else np.empty(0, dtype=np.int64)
    layout = bucket_layout(buckets, player_ends)
    layout["infoset_parent"] = place[sequences.parent[final]].astype(np.uint32)
    return layout, final, place


def _groups(
    own: np.ndarray, level: np.ndarray, n_actions: np.ndarray
) -> Iterator[tuple[int, int, np.ndarray]]:
    """The buckets of one player: level, number of actions, and infosets."""
    for depth in range(int(level[own].max(initial=-1)) + 1):
        here = own[level[own] == depth]
        for actions in np.unique(n_actions[here]).tolist():
            yield depth, actions, here[n_actions[here] == actions]


def _infoset_levels(owner: np.ndarray, sequences: Sequences) -> np.ndarray:
    """Own infosets before each infoset, int64 (infosets,)."""
    n_players = int(sequences.last.shape[0])
    level = np.full(len(owner), -1, dtype=np.int64)
    from_root = sequences.parent < n_players
    level[from_root] = 0
    # The infoset of a sequence is the last one whose first sequence does not exceed it.
    above = np.searchsorted(sequences.first, sequences.parent, side="right") - 1
    todo = np.flatnonzero(~from_root)
    while len(todo):
        known = level[above[todo]] >= 0
        level[todo[known]] = level[above[todo[known]]] + 1
        todo = todo[~known]
    return level
