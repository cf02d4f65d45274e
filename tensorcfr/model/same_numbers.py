"""Games with the same infosets, whose strategies have the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .chunked_game import ChunkedGame
from .compiled_game import CompiledGame

TRUNK = ("player_sequences", "bucket_sequence", "bucket_actions", "infoset_parent")
"""Arrays of a game without chunks that number its infosets and actions."""


def have_same_numbers(game: CompiledGame, other_game: CompiledGame) -> bool:
    """Return whether two games have the same infosets and actions at the same numbers.

    Their payoffs may differ. False does not mean that the infosets differ, if the games have public
    nodes of another kind than games of cards.
    """
    if game is other_game:
        return True
    if isinstance(game, ChunkedGame) and isinstance(other_game, ChunkedGame):
        return _have_same_structure(game, other_game)
    form, other_form = game.chunks, other_game.chunks
    if form.n_chunks or other_form.n_chunks or game.n_players != other_game.n_players:
        return False
    if not all(np.array_equal(getattr(form.trunk, n), getattr(other_form.trunk, n)) for n in TRUNK):
        return False
    return all(
        # Older files have labels of Leduc that end in a blank.
        [label.rstrip(" ") for label in infosets.labels]
        == [label.rstrip(" ") for label in other_infosets.labels]
        and infosets.actions == other_infosets.actions
        for player in range(game.n_players)
        for infosets, other_infosets in zip(game.rows(player), other_game.rows(player), strict=True)
    )


def _have_same_structure(game: ChunkedGame, other_game: ChunkedGame) -> bool:
    """Return whether hands, steps and the numbers of infosets are equal."""
    nodes, other_nodes = game.nodes, other_game.nodes
    if nodes.hands != other_nodes.hands or nodes.wording() != other_nodes.wording():
        return False
    numbering, other_numbering = nodes.numbering(), other_nodes.numbering()
    if numbering is None or other_numbering is None:
        # Arrays of real numbers have payoffs and weights of hands.
        numbering, other_numbering = (
            [(name, array) for name, array in chunked.arrays().items() if array.dtype.kind != "f"]
            for chunked in (game, other_game)
        )
    return _are_equal(numbering, other_numbering)


def _are_equal(first: Any, second: Any) -> bool:
    """Return whether two arrays, or nested sequences of arrays, are equal."""
    if isinstance(first, (tuple, list)):
        return (
            isinstance(second, (tuple, list))
            and len(first) == len(second)
            and all(map(_are_equal, first, second))
        )
    return bool(np.array_equal(first, second))
