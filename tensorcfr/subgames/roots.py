"""Public nodes at which subgames begin, by name or by the steps that lead there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import chain, islice

import numpy as np

from .._util.argument_checks import Several, Text, brief, checked
from .._util.one_line import OneLine
from ..model.arrays import CHANCE, TERMINAL
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled
from ..model.public_nodes import START, PublicNodes

NAMES = Several(Text(10_000), alone=True)
At = str | Iterable[str]
"""Name of a public node, or several names.

A name is the public part of an infoset label, ``"crc/Qh"``; or the public steps from the root,
separated by spaces, ``"call raise call"``; or ``"start"`` for the root.
"""

Steps = tuple[str, ...]
"""Public steps from the root to a public node."""

PLAYERS = (0, 1)
MAX_COMPARED = 1000
"""Largest number of names of public nodes with which a wrong name is compared."""


@dataclass(frozen=True, eq=False, repr=False)
class Roots(OneLine):
    """Public nodes of a game of private hands between two players; none is below another.

    Make one with :func:`find_roots`.
    """

    game: CompiledGame
    """The game."""
    nodes: PublicNodes = field(repr=False)
    """Public nodes of the game."""
    roots: tuple[int, ...]
    """Numbers of the selected public nodes."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the selected nodes, by which :func:`find_roots` finds them."""
        return tuple(map(self.nodes.name, self.roots))


def nodes_of_two(game: CompiledGame) -> PublicNodes:
    """Return the public nodes of a game of two players.

    Raises:
        ValueError: The game has no public tree, or another number of players than two.
    """
    if game.n_players != 2:
        hint = "; resolve(..., method='unsafe') takes it" if game.is_of_cards else ""
        raise ValueError(
            f"subgames are for games of two players, and {game.name} has {game.n_players}{hint}"
        )
    return nodes_of(game)


def nodes_of(game: CompiledGame) -> PublicNodes:
    """Return the public nodes of a game.

    Raises:
        ValueError: The game has no public tree.
    """
    if game.nodes is None:
        raise ValueError(
            f"{game.name} is not a game of private hands and a public tree: it has no public "
            "nodes at which a subgame could begin"
        )
    return game.nodes


def names_of(names: At) -> Sequence[str]:
    """Return the names of public nodes as a sequence.

    Raises:
        TypeError: ``names`` is neither a text nor several texts.
        ValueError: There is no name.
    """
    if not (name_list := NAMES("public_nodes", names)):
        raise ValueError("public_nodes names no public node")
    return name_list


def find_roots(game: CompiledGame, names: At) -> Roots:
    """Find public nodes by name.

    Raises:
        TypeError: ``names`` is neither a text nor several texts.
        ValueError: The game has no public tree; there is no such node; the game is over there; or a
            node is below another one. Or a name belongs to one infoset, so that the histories below
            it are not closed under infosets.
    """
    nodes, name_list = nodes_of_two(game), names_of(names)
    roots = tuple(_find(game, nodes, name) for name in name_list)
    check_disjoint(
        [(name, steps_to(nodes, root)) for name, root in zip(name_list, roots, strict=True)]
    )
    return Roots(game, nodes, roots)


def check_disjoint(named: Sequence[tuple[str, Steps]]) -> None:
    """Check that no public node, given by name and steps, is another one or below one.

    Raises:
        ValueError: Two nodes are not disjoint; names both.
    """
    name_of = {steps: name for name, steps in named}
    if len(name_of) < len(named):
        names = ", ".join(repr(name) for name, _ in named)
        raise ValueError(f"public_nodes names a public node twice: {names}")
    for name, steps in named:
        for ancestor in (steps[:length] for length in range(len(steps))):
            if ancestor in name_of:
                raise ValueError(
                    f"public_nodes: {name!r} lies below {name_of[ancestor]!r}: subgames are "
                    "disjoint"
                )


def _find(game: CompiledGame, nodes: PublicNodes, name: str) -> int:
    """Return the node with a name.

    Raises:
        ValueError: There is no such node, no deal leads there, or the game is over there.
    """
    node = nodes.find_node("" if name.strip() == START else name)
    if node is None:
        if (infoset := nodes.find(name)) is not None:
            public = nodes.name(infoset.node)
            raise ValueError(
                f"public_nodes: {name!r} is an infoset of {game.name}: the histories below it are "
                "not closed under infosets, since other hands lead to them; its public node is "
                f"{public!r}"
            )
        decisions = chain(nodes.decisions(0), nodes.decisions(1))
        known_names = [nodes.name(decision) for decision in islice(decisions, MAX_COMPARED)]
        near = get_close_matches(name, known_names, n=1) or known_names[-3:]
        raise ValueError(
            f"public_nodes: {game.name} has no public node {brief(name)}; nodes are named like "
            f"{', '.join(map(repr, near))}"
        )
    if nodes.player(node) == TERMINAL:
        raise ValueError(f"public_nodes: {game.name} is over at {name!r}: there is no subgame")
    if not exists(nodes, node):
        raise ValueError(f"public_nodes: no deal of {game.name} leads to {name!r}")
    return node


def exists(nodes: PublicNodes, node: int) -> bool:
    """Return whether some deal leads to a node."""
    return bool(nodes.possible(node, 0).any())


def steps_to(nodes: PublicNodes, node: int) -> Steps:
    """Return the steps that lead to a node."""
    return tuple(step.label for step in nodes.path(node))


@checked()
def subgame_roots(game: Compiled, cut: int | At = "auto") -> tuple[str, ...]:
    """List public nodes that cut the public tree, one on each path that is long enough.

    >>> from tensorcfr import compile_game
    >>> subgame_roots(compile_game("leduc"))[:2]
    ('call call', 'raise call')

    Args:
        game: A game of private hands between two players.
        cut: A number of public steps; ``"chance"`` for the first public chance node on each path,
            such as the end of a betting round; or names, which are checked. ``"auto"`` means
            ``"chance"``, or one public step in games without public chance.

    Returns:
        The names of the nodes.

    Raises:
        ValueError: There is no node to cut at, or a name is wrong.
        TypeError: ``cut`` has another type.
    """
    nodes = nodes_of_two(game)
    if isinstance(cut, str) and cut == "auto":
        cut = "chance" if nodes.has_chance else 1
    if not isinstance(cut, (int, np.integer)) and cut != "chance":
        return find_roots(game, cut).names
    roots = []
    level, depth = [0], 0
    while level:
        below: list[int] = []
        for node in level:
            player = nodes.player(node)
            if player == TERMINAL or not exists(nodes, node):
                continue
            if player == CHANCE if cut == "chance" else depth == cut:
                roots.append(node)
            else:
                below.extend(step.node for step in nodes.children(node))
        level, depth = below, depth + 1
    if not roots:
        where = "has no public chance" if cut == "chance" else f"ends before {cut} public steps"
        raise ValueError(f"{game.name} {where}: there is nothing to cut")
    return tuple(map(nodes.name, roots))
