"""History trees of small games: text for Graphviz, and pictures made by Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Where, Whole, checked
from .._util.extras import needs
from ..model.arrays import CHANCE
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.policy import Policy
from ..model.sequence_table import policy_of
from ..solvers.solution import Solution
from .style import COLOURS

MAX_DRAWN = 2_000
"""Largest number of histories of a tree that is drawn by default; larger trees are unreadable."""


@checked()
def tree_source(
    game: Flat,
    strategy: Solution | Policy | None = None,
    *,
    most: Annotated[int, Whole(1)] = MAX_DRAWN,
) -> str:
    """Return the history tree of a game in the language DOT.

    Histories of one infoset carry its label and are joined by dotted lines. If a strategy is given,
    actions are labelled with their probabilities.

    Args:
        game: The game.
        strategy: A solution or a policy of the game.
        most: Largest number of histories.

    Raises:
        ValueError: The tree has more histories, or the strategy is for another game.
    """
    policy = policy_of(strategy)
    if policy is not None and policy.game is not game and policy.game.digest != game.digest:
        raise ValueError(f"the strategy is for {policy.game.name}, not for {game.name}")
    if game.n_histories > most:
        raise ValueError(
            f"{game.name} has {game.n_histories:,} histories; a tree of more than {most:,} is not "
            "drawn (most= changes that)"
        )
    return "\n".join(_lines(game, policy)) + "\n"


@checked()
def draw(
    game: Flat,
    strategy: Solution | Policy | None = None,
    *,
    path: Annotated[str | Path | None, Where()] = None,
    most: Annotated[int, Whole(1)] = MAX_DRAWN,
) -> Any:
    """Draw the history tree of a game; a notebook shows the result.

    Args:
        game: The game.
        strategy: A solution or a policy of the game; actions are labelled with its probabilities.
        path: File for the picture; its suffix gives the format (.svg, .png, .pdf ...).
        most: Largest number of histories.

    Returns:
        A ``graphviz.Source``.

    Raises:
        ValueError: The tree has more histories, the strategy is for another game, or the suffix of
            ``path`` is not a picture format.
        MissingExtraError: The package ``graphviz`` is not installed; the message names the extra.
        RuntimeError: ``path`` is given, but the program ``dot`` of Graphviz is not installed.
    """
    source = tree_source(game, strategy, most=most)
    graphviz = needs("graphviz", "draw")
    picture = graphviz.Source(source)
    if path is not None:
        ending = Path(path).suffix.removeprefix(".").lower()
        if ending not in graphviz.FORMATS:
            raise ValueError(f"cannot draw to {str(path)!r}: .{ending} is not a picture format")
        try:
            Path(path).write_bytes(picture.pipe(format=ending))
        except graphviz.ExecutableNotFound as error:
            raise RuntimeError(
                "the program dot is not installed: get Graphviz from https://graphviz.org/download"
            ) from error
    return picture


def _lines(game: FlatGame, policy: Policy | None) -> Iterator[str]:
    tree = game.tree
    probabilities = None if policy is None else policy.probabilities
    yield f"digraph {_quoted(game.name)} {{"
    yield '  bgcolor="transparent"; rankdir=LR; nodesep=0.12; ranksep=0.5;'
    yield '  node [fontname="sans-serif", fontsize=10, color="#808080", fontcolor="#606060"];'
    yield '  edge [fontname="sans-serif", fontsize=9, color="#808080", fontcolor="#606060"];'
    paid = dict(zip(tree.terminal.tolist(), tree.utility.tolist(), strict=True))
    first_of: dict[int, int] = {}
    for node in range(tree.n_nodes):
        player = int(tree.player[node])
        if node in paid:
            utilities = (game.round_to_zero(u * game.unit) + 0.0 for u in paid[node])
            text = ", ".join(f"{u:g}" for u in utilities)
            yield f"  {node} [shape=plaintext, label={_quoted(text)}];"
        elif player == CHANCE:
            yield f'  {node} [shape=circle, label="", width=0.12];'
        else:
            colour = COLOURS[player % len(COLOURS)]
            label = game.infoset_labels[int(tree.infoset[node])]
            yield (
                f'  {node} [shape=box, style=rounded, color="{colour}", fontcolor="{colour}", '
                f"label={_quoted(label)}, tooltip={_quoted(f'player {player}')}];"
            )
            first_node = first_of.setdefault(int(tree.infoset[node]), node)
            if first_node != node:
                yield (
                    f"  {first_node} -> {node} [dir=none, style=dotted, constraint=false, "
                    f'color="{colour}"];'
                )
        for child in range(int(tree.first_child[node]), int(tree.first_child[node + 1])):
            label = _step(game, node, child, probabilities)
            yield f"  {node} -> {child} [label={_quoted(label)}];"
    yield "}"


def _step(game: FlatGame, node: int, child: int, probabilities: np.ndarray | None) -> str:
    """Return the label of an action or a chance outcome, with its probability."""
    tree = game.tree
    if tree.player[node] == CHANCE:
        return f"{game.outcome_labels[int(tree.outcome[child])]} {tree.probability[child]:.3g}"
    infoset, action = int(tree.infoset[node]), child - int(tree.first_child[node])
    label = game.infoset_actions[infoset][action]
    if probabilities is None:
        return label
    return f"{label} {probabilities[game.sequences(infoset)][action]:.3f}"


def _quoted(text: Any) -> str:
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
