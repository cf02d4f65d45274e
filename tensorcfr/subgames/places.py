"""Public nodes by name, and the arrays of a public node by private hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from .._util.arguments import Several, Text, brief, checked
from ..analysis.public_nodes import START, PublicPlaces
from ..model.arguments import Compiled
from ..model.arrays import CHANCE, TERMINAL
from ..model.game import CompiledGame
from ..model.labels import follow
from ..model.policy import Policy

NAMES = Several(Text(10_000), alone=True)
At = str | Iterable[str]
"""A public node, or several: the public part of an infoset label, ``"crc/Qh"``; the public steps
from the root, each after a space, ``"call raise call"``; or ``"start"`` for the root."""

PLAYERS = (0, 1)


@dataclass(frozen=True, eq=False)
class PublicNodes:
    """Some public nodes of a game of private hands between two players; none is below another.

    Make one with :func:`find_nodes`.
    """

    game: CompiledGame
    """The game."""
    nodes: tuple[int, ...]
    """Nodes of the public tree."""
    places: PublicPlaces = field(repr=False)
    """The public tree with names."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each node; :func:`find_nodes` finds it by this name."""
        return tuple(map(self.places.name, self.nodes))

    @property
    def n_hands(self) -> tuple[int, int]:
        """Private hands of each player."""
        first, second = self.places.tree.prior.shape
        return first, second

    def path(self, node: int) -> list[tuple[int, int]]:
        """The nodes above a node from the root on, each with its child on the way."""
        steps: list[tuple[int, int]] = []
        while node:
            above = int(self.places.tree.parent[node])
            steps.append((above, node))
            node = above
        return steps[::-1]

    def held(self, node: int) -> np.ndarray:
        """int64: the hands that the acting player can hold at a decision node."""
        form, tree = self.game.form, self.places.tree
        if tree.bucket[node] < 0:
            return np.empty(0, dtype=np.int64)
        mask = form.hand_rank[form.bucket_mask[int(tree.bucket[node])]]
        return np.flatnonzero(np.diff(mask))

    def sequences(self, node: int, child: int) -> tuple[np.ndarray, np.ndarray]:
        """The hands that can be held at a decision node, and for each the sequence that leads to a
        child, int64 each."""
        held = self.held(node)
        infoset = self.places.places.infosets(np.full(len(held), node), held)
        action = child - int(self.places.tree.first_child[node])
        first = self.game.infoset_sequence[infoset]
        return held, first + action * self.game.infoset_stride[infoset]

    def chance(self, node: int) -> np.ndarray:
        """float64 (hands of player 0, hands of player 1): probability that chance deals the hands
        and takes its part of the way to a node."""
        tree = self.places.tree
        given = tree.weight_table[int(tree.weight[node])]
        return np.where(tree.prior > 0, tree.prior * given, 0.0)

    def own_reach(self, policy: Policy, node: int) -> tuple[np.ndarray, np.ndarray]:
        """For each player float64 (hands,): probability that the player's actions lead to a node
        with each hand; 0 for hands that cannot be held on the way."""
        reach = tuple(np.ones(hands) for hands in self.n_hands)
        for above, child in self.path(node):
            player = int(self.places.tree.player[above])
            if player >= 0:
                hands, sequences = self.sequences(above, child)
                step = np.zeros_like(reach[player])
                step[hands] = policy.probabilities[sequences]
                reach[player][:] *= step
        return reach[0], reach[1]


def places_of(game: CompiledGame) -> PublicPlaces:
    """The public tree of a game, with names.

    Raises:
        ValueError: The game has no public tree, or another number of players than two.
    """
    if game.n_players != 2:
        raise ValueError(
            f"subgames are of games of two players, and {game.name} has {game.n_players}"
        )
    if game.public is None:
        raise ValueError(
            f"{game.name} is no game of private hands and a public tree: no part of it that is "
            "closed under infosets has a name"
        )
    return PublicPlaces(game)


def find_nodes(game: CompiledGame, at: At) -> PublicNodes:
    """Find public nodes by name.

    Raises:
        TypeError: ``at`` is neither a text nor several texts.
        ValueError: The game has no public tree; there is no such node; the game is over there; a
            node is below another one; or a name is that of one infoset, so that the histories
            below it are not closed under infosets.
    """
    places = places_of(game)
    given = NAMES("at", at)
    if not given:
        raise ValueError("at names no public node")
    found = PublicNodes(game, tuple(_find(places, name) for name in given), places)
    taken = set(found.nodes)
    if len(taken) < len(given):
        raise ValueError(f"at names a public node twice: {', '.join(map(repr, given))}")
    for name, node in zip(given, found.nodes, strict=True):
        for above, _ in found.path(node):
            if above in taken:
                raise ValueError(
                    f"at: {name!r} lies below {places.name(above)!r}: subgames are disjoint"
                )
    return found


def _find(places: PublicPlaces, name: str) -> int:
    """The node of a name."""
    game = places.game
    node, steps = places.find(name), name.strip()
    if node is None:
        way = follow(f" {steps}" if steps not in ("", START) else "", 0, places.public.steps)
        node = None if way is None else way[0][-1]
    if node is None:
        infoset = game.infoset_index.get(name)
        if infoset is not None:
            public = places.name(places.places.place(infoset)[0])
            raise ValueError(
                f"at: {name!r} is an infoset of {game.name}: the histories below it are not closed "
                f"under infosets, since other hands lead to them; its public node is {public!r}"
            )
        known = [places.name(one) for one in places.places.nodes[:1000].tolist()]
        near = get_close_matches(name, known, n=1) or known[-3:]
        raise ValueError(
            f"at: {game.name} has no public node {brief(name)}; nodes are named like "
            f"{', '.join(map(repr, near))}"
        )
    if places.tree.player[node] == TERMINAL:
        raise ValueError(f"at: {game.name} is over at {name!r}: there is no subgame")
    if not places.tree.exists[node]:
        raise ValueError(f"at: no deal of {game.name} leads to {name!r}")
    return node


def children_of(places: PublicPlaces, node: int) -> dict[str, int]:
    """The nodes after a public node, by step."""
    return dict(zip(*places.public.steps(node), strict=True))


@checked()
def subgame_roots(game: Compiled, cut: int | At = "auto") -> tuple[str, ...]:
    """Names of public nodes that cut the public tree, one on each way from the root that gets so
    far.

    >>> from tensorcfr import compile_game
    >>> subgame_roots(compile_game("leduc"))[:2]
    ('call call', 'raise call')

    Args:
        game: A game of private hands between two players.
        cut: A number of public steps; ``"chance"`` for the first public chance node on each way,
            such as the end of a betting round; ``"auto"`` for the same, or after one public step in
            games without public chance; or names, which are checked.

    Raises:
        ValueError: No node is there to cut at, or a name is wrong.
        TypeError: ``cut`` is something else.
    """
    places = places_of(game)
    if isinstance(cut, str) and cut == "auto":
        cut = "chance" if (places.tree.player == CHANCE).any() else 1
    if not isinstance(cut, (int, np.integer)) and cut != "chance":
        return find_nodes(game, cut).names
    tree, roots = places.tree, []
    exists = tree.exists
    level, depth = [0], 0
    while level:
        below: list[int] = []
        for node in level:
            player = int(tree.player[node])
            if player == TERMINAL or not exists[node]:
                continue
            if player == CHANCE if cut == "chance" else depth == cut:
                roots.append(node)
            else:
                below.extend(range(*tree.first_child[node : node + 2].tolist()))
        level, depth = below, depth + 1
    if not roots:
        where = "has no public chance" if cut == "chance" else f"ends before {cut} public steps"
        raise ValueError(f"{game.name} {where}: there is nothing to cut")
    return tuple(map(places.name, roots))
