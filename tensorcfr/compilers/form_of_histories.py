"""Sequence form of a game that is compiled from histories: levels, buckets and lanes.

The counterpart for games of private hands is :mod:`.form_of_public_tree`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ImperfectRecallError
from ..model.arrays import SequenceForm, infoset_layout
from ..payoff import PayoffPart
from ..payoff.entries import payoff_entries
from .history_reader import HistoryGame


@dataclass(frozen=True)
class Sequences:
    """Sequences in the order in which their infosets were visited first.

    Sequence ``i < n_players`` is the empty sequence of player ``i``.  Action ``a`` of infoset ``I``
    is sequence ``first[I] + a``.
    """

    first: np.ndarray
    """int64 (infosets,): sequence of the first action."""
    parent: np.ndarray
    """int64 (infosets,): last sequence of the infoset's player before the infoset."""
    last: np.ndarray
    """int64 (players, terminals): last sequence of each player at each terminal."""
    reach: np.ndarray
    """float64 (terminals,): chance probability of each terminal."""


def build(history_game: HistoryGame) -> tuple[SequenceForm, np.ndarray]:
    """Build the sequence form of a history tree.

    Returns:
        The sequence form; and int64 (infosets,): the infosets of the history tree in their final
        order.

    Raises:
        ImperfectRecallError: Two histories of an infoset differ in earlier actions of its player;
            the message names both.
    """
    n_actions = np.array(
        [len(actions) for actions in history_game.infosets.actions], dtype=np.int64
    )
    owner = np.array(history_game.infosets.players, dtype=np.int64)
    sequences = trace_sequences(history_game, n_actions)
    layout, order, place = lay_out(
        owner, n_actions, sequences.first, sequences.parent, sequences.last, history_game.n_players
    )
    payoff = payoff_entries(
        place[sequences.last],
        sequences.reach[:, None] * history_game.tree.utility,
        layout["player_sequences"],
    )
    operator: tuple[PayoffPart, ...] = () if payoff.is_empty else (payoff,)
    return SequenceForm(**layout, operator=operator), order


def trace_sequences(history_game: HistoryGame, n_actions: np.ndarray) -> Sequences:
    """Find each player's last sequence at every terminal, and the parent sequence of every infoset.

    Raises:
        ImperfectRecallError: Two histories of an infoset differ in earlier actions of its player;
            the message names both.
    """
    tree, n_players = history_game.tree, history_game.n_players
    first = n_players + np.cumsum(n_actions) - n_actions
    last, reach = tree.traced(np.arange(n_players), first, np.ones_like(first))
    deciding = np.flatnonzero(tree.player >= 0)
    infoset = tree.infoset[deciding]
    own_last = last[tree.player[deciding], deciding]
    parent = np.empty(len(n_actions), dtype=np.int64)
    # Reversed, so that the first history of each infoset is written last and determines the parent.
    parent[infoset[::-1]] = own_last[::-1]
    wrong = parent[infoset] != own_last
    if wrong.any():
        raise _recall_error(history_game, last, first, int(deciding[wrong.argmax()]))
    return Sequences(first, parent, last[:, tree.terminal], reach[tree.terminal])


def _recall_error(
    history_game: HistoryGame, last: np.ndarray, first: np.ndarray, node: int
) -> ImperfectRecallError:
    """Return the error for a player who reaches an infoset by different sequences of their own."""
    tree = history_game.tree
    player, own_last = int(tree.player[node]), last[tree.player[node]]
    same = np.flatnonzero(tree.infoset == tree.infoset[node])
    same_node = int(same[own_last[same] != own_last[node]][0])
    label = history_game.infosets.labels[tree.infoset[node]]
    for h in (node, same_node):
        if (ancestor := _same_above(history_game, h)) is not None:
            return ImperfectRecallError(
                f"player {player} is absent-minded: infoset {label!r} is at "
                f"{history_game.where(ancestor)} and again further down at {history_game.where(h)}"
            )
    before = [_name_sequence(history_game, first, int(own_last[h])) for h in (same_node, node)]
    return ImperfectRecallError(
        f"player {player} forgets one of their own actions before infoset {label!r} "
        f"(imperfect recall): the player reaches it {before[0]} at "
        f"{history_game.where(same_node)}, but {before[1]} at {history_game.where(node)}"
    )


def _same_above(history_game: HistoryGame, node: int) -> int | None:
    """Return an ancestor of a node in the same infoset, or None if there is none."""
    tree = history_game.tree
    ancestor = int(tree.parent[node])
    while ancestor >= 0 and tree.infoset[ancestor] != tree.infoset[node]:
        ancestor = int(tree.parent[ancestor])
    return ancestor if ancestor >= 0 else None


def _name_sequence(history_game: HistoryGame, first: np.ndarray, sequence: int) -> str:
    """Return ``by 'bet' at infoset 'Jpb'``, or ``without having acted``."""
    if sequence < history_game.n_players:
        return "without having acted"
    infoset = int(np.searchsorted(first, sequence, side="right")) - 1
    action = history_game.infosets.actions[infoset][sequence - int(first[infoset])]
    return f"by {str(action)!r} at infoset {history_game.infosets.labels[infoset]!r}"


def lay_out(
    owner: np.ndarray,
    n_actions: np.ndarray,
    first: np.ndarray,
    parent: np.ndarray,
    last: np.ndarray,
    n_players: int,
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Assign infosets and sequences their final positions in buckets and lanes.

    Args:
        owner: int64 (infosets,): player of each infoset.
        n_actions: int64 (infosets,): number of actions of each infoset.
        first: int64 (infosets,): see :class:`Sequences`.
        parent: int64 (infosets,): see :class:`Sequences`.
        last: int64: the sequences that have payoffs, each as often as it has some.
        n_players: Number of players.

    Returns:
        The fields of :class:`SequenceForm` that describe the layout; int64 (infosets,): the
        infosets in their final order; int64 (sequences,): the final position of every sequence.
    """
    n_sequences = n_players + int(n_actions.sum())
    ends = np.bincount(last.ravel(), minlength=n_sequences)
    level = _infoset_levels(first, parent, n_players)
    order, layout = infoset_layout(owner, level, n_actions, n_players)
    place = np.empty(n_sequences, dtype=np.int64)
    place[:n_players] = layout["player_sequences"][:-1]
    names = ("bucket_infoset", "bucket_lanes", "bucket_actions", "bucket_sequence")
    for begin, count, actions, position in zip(
        *(layout[name].tolist() for name in names), strict=True
    ):
        lanes = order[begin : begin + count]
        # Buckets are visited from the shallowest level on, so the parents of these lanes already
        # have their final positions.  Lanes whose sequences end the game equally often are
        # adjacent, which makes the slices of the payoff operator wide.  Among these lanes, the
        # children of one sequence are adjacent, so that a pass reads its parents in order.
        own_sequences = first[lanes] + np.arange(actions)[:, None]
        lane_order = np.lexsort((place[parent[lanes]], *ends[own_sequences]))
        order[begin : begin + count] = lanes[lane_order]
        end = position + count * actions
        place[own_sequences[:, lane_order].ravel()] = np.arange(position, end)
    layout["infoset_parent"] = place[parent[order]].astype(np.uint32)
    return layout, order, place


def _infoset_levels(first: np.ndarray, parent: np.ndarray, n_players: int) -> np.ndarray:
    """Return the number of the player's infosets above each infoset, int64 (infosets,)."""
    level = np.full(len(first), -1, dtype=np.int64)
    from_root = parent < n_players
    level[from_root] = 0
    # The infoset of a sequence is the last one whose first sequence does not exceed it.
    above = np.searchsorted(first, parent, side="right") - 1
    todo = np.flatnonzero(~from_root)
    while len(todo):
        known = level[above[todo]] >= 0
        level[todo[known]] = level[above[todo[known]]] + 1
        todo = todo[~known]
    return level
