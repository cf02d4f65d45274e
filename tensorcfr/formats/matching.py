"""Matching of infosets with those of the same game in another library."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..model.arrays import CHANCE, TERMINAL
from ..model.flat_game import FlatGame
from ..model.policy import SUM_TOLERANCE, Policy

Key = TypeVar("Key", bound=Hashable)
"""Type that identifies an infoset in the other library, including the player."""


class TheirNode(NamedTuple, Generic[Key]):
    """Node of the other library's tree."""

    player: int
    """Player who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    infoset: Key | None
    """Identifier of the infoset in the other library; None at chance nodes and terminals."""
    children: Sequence[Any]
    """Child nodes, one for each action or outcome, in order."""


def match_infosets(
    game: FlatGame, root: Any, look: Callable[[Any], TheirNode[Key]], other_name: str
) -> list[tuple[int, Any]]:
    """Traverse two trees together and pair their infosets.

    Labels are not compared.  The trees must have the same shape, the same players to act, and the
    same partition into infosets.

    Args:
        game: Our game.
        root: Root node of the other library's tree.
        look: Function that describes a node of the other library.
        other_name: Name of the other library's game in errors.

    Returns:
        Our infosets, each with the first node of the other library in it.

    Raises:
        ValueError: The trees differ; names the history.
    """
    tree = game.tree
    player = tree.player.tolist()
    infoset = tree.infoset.tolist()
    first_child = tree.first_child.tolist()
    pairs: dict[Key, int] = {}
    named: dict[int, Key] = {}
    matched: list[tuple[int, Any]] = []
    stack = [(0, root)]
    while stack:
        node, theirs = stack.pop()
        their, children = look(theirs), range(first_child[node], first_child[node + 1])
        if (player[node], len(children)) != (their.player, len(their.children)):
            raise ValueError(
                f"{game.name} and {other_name} are not the same game: at {_where(game, node)} "
                f"{_describe(player[node], len(children))}, and there "
                f"{_describe(their.player, len(their.children))}"
            )
        stack.extend(reversed(list(zip(children, their.children, strict=True))))
        if their.infoset is None:
            continue
        ours = infoset[node]
        if ours not in named:
            matched.append((ours, theirs))
        # The mapping must be one to one: check it in both directions.
        if pairs.setdefault(their.infoset, ours) != ours or (
            named.setdefault(ours, their.infoset) != their.infoset
        ):
            raise ValueError(
                f"{game.name} and {other_name} have different infosets: see infoset "
                f"{game.infoset_labels[ours]!r} at {_where(game, node)}"
            )
    return matched


def policy_of_pairs(
    game: FlatGame, rows: Iterable[tuple[int, Sequence[float], Any]], problem: str
) -> Policy:
    """Return the policy with the probabilities that another library gives for every infoset.

    Args:
        game: Our game.
        rows: For each infoset, its index; the probabilities of its actions, followed by those of
            actions that do not exist there; and the object that an error shows.
        problem: Text of an error before the label of the infoset.

    Raises:
        ValueError: An infoset has no distribution; names it.
    """
    probabilities = np.ones(game.n_sequences)
    for infoset, numbers, shown in rows:
        sequences, row = game.sequences(infoset), np.array(numbers)
        row, extra = np.split(row, [len(game.infoset_actions[infoset])])
        if not ((row >= 0).all() and abs(row.sum() - 1.0) <= SUM_TOLERANCE) or extra.any():
            raise ValueError(f"{problem} {game.infoset_labels[infoset]!r}: {shown}")
        probabilities[sequences] = row
    return Policy(game, probabilities)


def _where(game: FlatGame, node: int) -> str:
    """Describe the history of a node in an error."""
    labels = game.history(node)
    return f"history [{', '.join(labels)}]" if labels else "the root"


def _describe(player: int, children: int) -> str:
    """Describe a node in an error."""
    if player == TERMINAL:
        return "the game is over"
    who = "chance" if player == CHANCE else f"player {player}"
    return f"{who} has {children} choices"
