"""Sequence form of an abstraction of private hands x public tree, without its histories.

At every public terminal the payoff matrix is summed over the hands with the same last sequence.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from .._util.memory_budget import free_memory, require
from ..compilers.form_of_histories import lay_out
from ..model.arrays import SequenceForm, levels_below_root
from ..model.flat_game import FlatGame
from ..payoff import PayoffPart
from ..payoff.entries import payoff_entries

BYTES_PER_ENTRY = 150
"""Bytes for each pair of last sequences at a terminal while the payoff operator is made."""
NO_STEP = -1
"""Placeholder for the last own step of a player who has not acted."""


def abstract_form(
    game: FlatGame,
    number: np.ndarray,
    owner: np.ndarray,
    n_actions: np.ndarray,
    before: np.ndarray,
) -> tuple[SequenceForm, np.ndarray]:
    """Build the sequence form of a two-player game with the infosets of an abstraction.

    Args:
        game: The full game, of private hands and a public tree.
        number: int64 (infosets of the full game,): infoset of the abstraction that contains each.
        owner: int64 (infosets,): player of each infoset of the abstraction.
        n_actions: int64 (infosets,): number of actions of each.
        before: int64 (infosets, 2): the player's previous infoset and the action taken there; -1
            and -1 at the first decision.

    Returns:
        The sequence form; and int64 (infosets,), the infosets in their final order.

    Raises:
        MemoryLimitError: The payoffs would not fit; names both sizes.
    """
    # Sequences 0 and 1 are the empty sequences of the two players.
    first = 2 + np.cumsum(n_actions) - n_actions
    parent = np.where(before[:, 0] < 0, owner, first[before[:, 0]] + before[:, 1])
    last, payoff = _terminals(game, first[number])
    layout, order, place = lay_out(owner, n_actions, first, parent, last, 2)
    entries = payoff_entries(place[last], payoff, layout["player_sequences"])
    operator: tuple[PayoffPart, ...] = () if entries.is_empty else (entries,)
    return SequenceForm(**layout, operator=operator), order


def _terminals(game: FlatGame, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the payoffs of all pairs of last sequences at the terminals.

    Args:
        game: The full game.
        first: int64 (infosets of the full game,): first sequence of the infoset of the abstraction
            that contains each.

    Returns:
        The last sequences, int64 (players, pairs), and the payoffs, float64 (pairs, players).
    """
    tree, form = game.public_tree, game.form
    last = np.full((2, tree.n_nodes), NO_STEP, dtype=np.int64)
    # Levels run from the root down, because a node copies the last own step of its parent.
    for level in levels_below_root(tree.first_child):
        parent = tree.parent[level]
        is_own = tree.player[parent] == np.arange(2)[:, None]
        last[:, level] = np.where(is_own, np.arange(level.start, level.stop), last[:, parent])
    terminals = np.flatnonzero((tree.payoff >= 0) & tree.exists)

    @cache
    def group_hands(player: int, step: int) -> _HandsBySequence:
        """Group a player's hands by their sequence after a step and the public node there."""
        if step == NO_STEP:
            return _group_by_sequence(np.full(tree.prior.shape[player], player))
        sequence, parent = np.full(tree.prior.shape[player], -1), int(tree.parent[step])
        possible = form.possible_hands(int(tree.bucket[parent]))
        infoset = game.places.infosets(np.full(len(possible), parent), possible)
        sequence[possible] = first[infoset] + step - int(tree.first_child[parent])
        return _group_by_sequence(sequence)

    limit, entries = free_memory(), 0
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for node in terminals.tolist():
        payoff = int(tree.payoff[node])
        table = tree.coefficient[payoff] * tree.expected_utility(
            int(tree.weight[node]), int(tree.matrix[payoff])
        )
        rows, columns = (group_hands(player, int(last[player, node])) for player in range(2))
        # Sum the hands of each sequence: first the rows of player 0, then the columns of player 1.
        table = np.add.reduceat(table[:, rows.order], rows.begin, axis=1)
        table = np.add.reduceat(table[:, :, columns.order], columns.begin, axis=2)
        row, column = np.nonzero(table.any(axis=0))
        entries += len(row)
        require(entries * BYTES_PER_ENTRY, f"the payoffs of an abstraction of {game.name}", limit)
        parts.append(
            (np.stack([rows.sequence[row], columns.sequence[column]]), table[:, row, column].T)
        )
    if not parts:
        return np.empty((2, 0), dtype=np.int64), np.empty((0, 2))
    return np.concatenate([a for a, _ in parts], axis=1), np.concatenate([b for _, b in parts])


class _HandsBySequence(NamedTuple):
    """Hands grouped by their last sequence."""

    order: np.ndarray
    """int64 (possible hands,): the hands that can get there, sorted by sequence."""
    begin: np.ndarray
    """int64 (sequences,): start of each sequence's hands in ``order``."""
    sequence: np.ndarray
    """int64 (sequences,): the sequences, ascending."""


def _group_by_sequence(sequence: np.ndarray) -> _HandsBySequence:
    """Group hands by their last sequence, int64 (hands,); -1 for hands that cannot get there."""
    order = np.argsort(sequence, kind="stable")[np.count_nonzero(sequence < 0) :]
    begin = np.flatnonzero(np.diff(sequence[order], prepend=-1))
    return _HandsBySequence(order, begin, sequence[order[begin]])
