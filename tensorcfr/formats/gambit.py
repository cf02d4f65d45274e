"""Games of pygambit: read through the text that pygambit itself writes of them."""

from __future__ import annotations

from typing import Any

from ..rules import Game
from .efg import parse_efg
from .nfg import parse_nfg


def rules_of_gambit(game: Any) -> Game:
    """The rules of a ``pygambit.Game``, a tree or a table.

    Raises:
        FormatError: pygambit writes the game in a way that this library does not read.
    """
    title = game.title or "gambit"
    if game.is_tree:
        return parse_efg(game.to_efg(), title)
    return parse_nfg(game.to_nfg(), title)
