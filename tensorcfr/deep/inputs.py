"""Inputs and outputs of networks: rows of features, and the mapping to infosets and actions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.flat_game import FlatGame

MAX_OUTPUTS = 64
"""Maximum number of distinct action labels with an output for each label.  Beyond it, a network has
an output for each position in the list of an infoset's actions."""


class Inputs(NamedTuple):
    """Game in the form that networks take.

    Infosets share a row if a symmetry maps them to each other, or if their features are equal.  The
    actions of an infoset are numbered by their position in its list, and by output.
    """

    features: np.ndarray
    """float32 (rows, width): features of each row; see ``player_rows`` for their order."""
    player_rows: np.ndarray | None
    """int64 (players + 1,): player ``i`` has the rows ``[i]`` to ``[i + 1] - 1``; None if rows are
    not ordered by player."""
    row: np.ndarray
    """int32 (infosets,): row of each infoset."""
    output: np.ndarray
    """int32 (infosets, most actions): output of each action; 0 if there is no action."""
    sequence: np.ndarray
    """int64 (infosets, most actions): sequence of each action; -1 if there is no action."""
    legal: np.ndarray
    """bool (rows, outputs): True if an infoset of the row has an action with this output."""

    @property
    def width(self) -> int:
        """Number of features."""
        return self.features.shape[1]

    @property
    def most_actions(self) -> int:
        """Maximum number of actions of an infoset."""
        return self.sequence.shape[1]

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a network."""
        return self.legal.shape[1]

    @property
    def is_action(self) -> np.ndarray:
        """True if the infoset has an action at this position; bool (infosets, most actions)."""
        mask: np.ndarray = self.sequence >= 0
        return mask

    def by_action(self, outputs: np.ndarray) -> np.ndarray:
        """Expand outputs by row to actions.

        Args:
            outputs: float64 (rows, outputs).

        Returns:
            float64 (infosets, most actions): output of each action; 0 if there is no action.
        """
        return np.where(self.is_action, outputs[self.row[:, None], self.output], 0.0)

    def rows_of(self, player: int | None) -> tuple[int, int]:
        """Return the first row and the number of rows of a player, or of all players for None."""
        if player is None or self.player_rows is None:
            return 0, len(self.features)
        first, end = self.player_rows[player : player + 2].tolist()
        return first, end - first


def make_inputs(game: FlatGame, features: np.ndarray) -> Inputs:
    """Group the infosets of a game into rows.

    Args:
        game: The game.
        features: float32 (infosets, width).

    Returns:
        The game in the form that networks take.
    """
    n_actions = np.repeat(game.form.bucket_actions, game.form.bucket_lanes)
    width = int(n_actions.max(initial=1))
    position = np.arange(width)
    is_action = position < n_actions[:, None]
    sequence = game.infoset_sequence[:, None] + position * game.infoset_stride[:, None]
    sequence = np.where(is_action, sequence, -1)
    output, n_outputs = _outputs(game, n_actions, width)
    representatives = _representatives(game, sequence, output)
    # The player comes first, so that sorting by columns orders the rows by player.
    columns = [game.infoset_player[:, None], features[representatives]]
    _, first, row = np.unique(
        np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    row = row.reshape(-1)
    legal = np.zeros((len(first), n_outputs), bool)
    infoset, action = np.nonzero(is_action)
    legal[row[infoset], output[infoset, action]] = True
    counts = np.bincount(game.infoset_player[first], minlength=game.n_players)
    return Inputs(
        features=np.ascontiguousarray(features[representatives][first], dtype=np.float32),
        player_rows=np.concatenate([[0], np.cumsum(counts)]),
        row=row.astype(np.int32),
        output=output,
        sequence=sequence,
        legal=legal,
    )


def _outputs(game: FlatGame, n_actions: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """Assign outputs to actions; return :attr:`Inputs.output` and the number of outputs."""
    number: dict[str, int] = {}
    output = np.zeros((game.n_infosets, width), np.int32)
    for infoset, labels in enumerate(game.infoset_actions):
        for position, label in enumerate(labels):
            output[infoset, position] = number.setdefault(label, len(number))
        if len(number) > MAX_OUTPUTS:
            by_position = np.where(np.arange(width) < n_actions[:, None], np.arange(width), 0)
            return by_position.astype(np.int32), width
    return output, max(len(number), 1)


def _representatives(game: FlatGame, sequence: np.ndarray, output: np.ndarray) -> np.ndarray:
    """Find a representative of each infoset under the symmetries of the game.

    Returns:
        int64 (infosets,): the first infoset with the same actions and the same strategy in every
        solution that respects the symmetries; the infoset itself if there are no symmetries.
    """
    # Sampled strategies do not have the symmetries that copies of actions need.
    if game.merged is None or game.merged.form.copies is not None:
        return np.arange(game.n_infosets)
    merged = np.where(sequence >= 0, game.merged.sequence[sequence].astype(np.int64), -1)
    # The merged form may omit an infoset with one action: give it a unique negative number, so
    # that it represents itself.
    has_one_action = (sequence[:, 1:] < 0).all(axis=1)
    merged[has_one_action] = -2 - np.arange(game.n_infosets)[has_one_action, None]
    _, first, group = np.unique(
        np.concatenate([merged, output], axis=1), axis=0, return_index=True, return_inverse=True
    )
    return first[group.reshape(-1)]
