"""The infosets of one game that correspond to those of the same game in another library."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from ..model.arrays import CHANCE, TERMINAL
from ..model.game import CompiledGame

Key = TypeVar("Key", bound=Hashable)
"""What names an infoset in the other library, the player included."""


class TheirNode(NamedTuple, Generic[Key]):
    """A node of the other library's tree."""

    player: int
    """Who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    infoset: Key | None
    """The name of its infoset there; None at chance nodes and terminals."""
    children: int
    """How many actions or outcomes it has."""


def match_infosets(
    game: CompiledGame, theirs: Iterable[TheirNode[Key]], other: str
) -> dict[Key, int]:
    """Walk two trees at once, and pair their infosets.

    Labels are not compared: what counts is that the trees have the same shape, the same players
    to act, and the same infosets.

    Args:
        game: Our game.
        theirs: Their nodes, a parent before its children and these from first to last.
        other: What error messages call their game.

    Returns:
        Our infoset by their name.

    Raises:
        ValueError: The trees differ; names the history.
    """
    tree = game.tree
    player = tree.player.tolist()
    infoset = tree.infoset.tolist()
    first_child = tree.first_child.tolist()
    pairs: dict[Key, int] = {}
    named: dict[int, Key] = {}
    nodes = _prefix_order(first_child)
    for node, their in zip(nodes, theirs, strict=False):
        children = first_child[node + 1] - first_child[node]
        if (player[node], children) != (their.player, their.children):
            raise ValueError(
                f"{game.name} and {other} are not the same game: at {_where(game, node)} "
                f"{_describe(player[node], children)}, and there "
                f"{_describe(their.player, their.children)}"
            )
        if their.infoset is None:
            continue
        ours = infoset[node]
        if pairs.setdefault(their.infoset, ours) != ours or (
            named.setdefault(ours, their.infoset) != their.infoset
        ):
            raise ValueError(
                f"{game.name} and {other} have different infosets: see infoset "
                f"{game.infoset_labels[ours]!r} at {_where(game, node)}"
            )
    if len(named) != game.n_infosets:
        raise ValueError(f"{game.name} has more histories than {other}")
    return pairs


def _prefix_order(first_child: list[int]) -> Iterator[int]:
    """All nodes, a parent before its children and these from first to last."""
    stack = [0]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(range(first_child[node + 1] - 1, first_child[node] - 1, -1))


def _where(game: CompiledGame, node: int) -> str:
    labels = game.history(node)
    return f"history [{', '.join(labels)}]" if labels else "the root"


def _describe(player: int, children: int) -> str:
    if player == TERMINAL:
        return "the game is over"
    who = "chance" if player == CHANCE else f"player {player}"
    return f"{who} has {children} choices"
