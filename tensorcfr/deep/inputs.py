"""What networks read and write: rows of features, outputs, and the infosets that they belong to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.flat_game import FlatGame

MOST_OUTPUTS = 64
"""Action labels up to which a network has an output for each; otherwise one for each place in the
list of an infoset's actions."""


class Inputs(NamedTuple):
    """A game as networks see it.

    A row is what several infosets share: those that a symmetry maps to each other, and those whose
    features are equal.  An infoset's actions are numbered by place, and by output.
    """

    features: np.ndarray
    """float32 (rows, width); the rows of player 0 come first."""
    player_rows: np.ndarray | None
    """int64 (players + 1,): player ``i`` has the rows ``[i]`` to ``[i + 1] - 1``; None where those
    of a player are anywhere."""
    row: np.ndarray
    """int32 (infosets,): row of each infoset."""
    output: np.ndarray
    """int32 (infosets, most actions): output of each action; 0 where there is none."""
    sequence: np.ndarray
    """int64 (infosets, most actions): sequence of each action; -1 where there is none."""
    legal: np.ndarray
    """bool (rows, outputs): whether some infoset of the row has an action with that output."""

    @property
    def n_outputs(self) -> int:
        """Outputs of a network."""
        return self.legal.shape[1]

    @property
    def is_action(self) -> np.ndarray:
        """Bool (infosets, most actions)."""
        found: np.ndarray = self.sequence >= 0
        return found

    def by_action(self, found: np.ndarray) -> np.ndarray:
        """What the rows' outputs are for every action, (infosets, most actions); 0 where there is
        none.

        Args:
            found: float64 (rows, outputs).
        """
        return np.where(self.is_action, found[self.row[:, None], self.output], 0.0)

    def rows_of(self, player: int | None) -> tuple[int, int]:
        """The first row and the number of rows of a player; of all players for None."""
        if player is None or self.player_rows is None:
            return 0, len(self.features)
        first, end = self.player_rows[player : player + 2].tolist()
        return first, end - first


def make_inputs(game: FlatGame, features: np.ndarray) -> Inputs:
    """The rows of a game's infosets.

    Args:
        game: The game.
        features: float32 (infosets, width).
    """
    n_actions = np.repeat(game.form.bucket_actions, game.form.bucket_lanes)
    width = int(n_actions.max(initial=1))
    place = np.arange(width)
    is_action = place < n_actions[:, None]
    sequence = game.infoset_sequence[:, None] + place * game.infoset_stride[:, None]
    sequence = np.where(is_action, sequence, -1)
    output, n_outputs = _outputs(game, n_actions, width)
    same = _representatives(game, sequence, output)
    columns = [game.infoset_player[:, None], features[same]]
    _, first, row = np.unique(
        np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    row = row.reshape(-1)
    legal = np.zeros((len(first), n_outputs), bool)
    infoset, action = np.nonzero(is_action)
    legal[row[infoset], output[infoset, action]] = True
    counts = np.bincount(game.infoset_player[first], minlength=game.n_players)
    return Inputs(
        features=np.ascontiguousarray(features[same][first], dtype=np.float32),
        player_rows=np.concatenate([[0], np.cumsum(counts)]),
        row=row.astype(np.int32),
        output=output,
        sequence=sequence,
        legal=legal,
    )


def _outputs(game: FlatGame, n_actions: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """``Inputs.output``, and the number of outputs."""
    number: dict[str, int] = {}
    output = np.zeros((game.n_infosets, width), np.int32)
    for infoset, labels in enumerate(game.infoset_actions):
        for place, label in enumerate(labels):
            output[infoset, place] = number.setdefault(label, len(number))
        if len(number) > MOST_OUTPUTS:
            by_place = np.where(np.arange(width) < n_actions[:, None], np.arange(width), 0)
            return by_place.astype(np.int32), width
    return output, max(len(number), 1)


def _representatives(game: FlatGame, sequence: np.ndarray, output: np.ndarray) -> np.ndarray:
    """int64 (infosets,): the first infoset that has the same actions and the same strategy in every
    solution that respects the symmetries of the game: the infoset itself if it has none."""
    if game.merged is None:
        return np.arange(game.n_infosets)
    merged = np.where(sequence >= 0, game.merged.sequence[sequence].astype(np.int64), -1)
    # An infoset with one action may be left out of the merged form.
    alone = (sequence[:, 1:] < 0).all(axis=1)
    merged[alone] = -2 - np.arange(game.n_infosets)[alone, None]
    _, first, of = np.unique(
        np.concatenate([merged, output], axis=1), axis=0, return_index=True, return_inverse=True
    )
    return first[of.reshape(-1)]
