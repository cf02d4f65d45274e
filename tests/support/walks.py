"""Games as their rules say them, walked history by history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorcfr import Game
from tensorcfr.rules import Chance, Decision


def histories(game: Game) -> Iterator[tuple[Any, Any]]:
    """Every (state, node), level by level."""
    level = [game.root()]
    while level:
        below = []
        for state in level:
            node = game.node(state)
            yield state, node
            below += [game.next(state, action) for action in choices(node)]
        level = below


def choices(node: Any) -> tuple[Any, ...]:
    """Actions or outcomes of a node."""
    if isinstance(node, Decision):
        return tuple(node.actions)
    return tuple(node.outcomes) if isinstance(node, Chance) else ()


def play(game: Game, *actions: Any) -> Any:
    """The node after these actions."""
    state = game.root()
    for action in actions:
        state = game.next(state, action)
    return game.node(state)
