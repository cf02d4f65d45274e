"""Public nodes by name: groups of infosets that differ only in the private hand.

A game of private hands and a public tree lists its nodes itself, and builds each one without the
others. In other games, hands are recognised in the labels of the infosets.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain

from .._util.limits import LAZY_LABELS_FROM
from ..errors import suggest
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import require_flat
from ..model.infoset_rows import InfosetRows
from ..model.public_nodes import START, PublicNodes

MAX_LISTED = 12
"""Largest number of names that an error lists."""


@dataclass(frozen=True)
class PublicNode:
    """Infosets that differ only in the private hand."""

    name: str
    """Public part of their labels; :data:`START` if it is empty."""
    hands: tuple[str, ...]
    """Private hand of each infoset; empty if the label begins with none."""
    infosets: InfosetRows
    """The infosets."""
    number: int | None
    """Number of the node in the game's public nodes; None in games without a public tree."""

    @property
    def player(self) -> int:
        """Player who acts."""
        return self.infosets.player

    @property
    def actions(self) -> tuple[str, ...]:
        """Labels of the actions."""
        return self.infosets.actions[0]


def node_of(nodes: PublicNodes, number: int, name: str | None = None) -> PublicNode:
    """Return a decision of a game of private hands, with the hands in display order."""
    player = nodes.player(number)
    names, order = nodes.shown(player)
    possible_hands = order[nodes.possible(number, player)[order]]
    hands = tuple(names[hand] for hand in possible_hands.tolist())
    node_name = nodes.name(number) if name is None else name
    return PublicNode(node_name, hands, nodes.rows(number, possible_hands), number)


def public_nodes(game: CompiledGame) -> dict[str, PublicNode]:
    """Return the public nodes of a game by name, player 0's first.

    In games of private hands and a public tree, a node is named by the public part of its labels or
    by the steps that lead to it. In other games, the hand is the longest chance outcome that a
    label begins with; an infoset without one is a public node of its own.
    """
    if game.nodes is None:
        listed = _by_labels(require_flat(game, "a list of public nodes"))
    else:
        players = range(game.n_players)
        numbers = chain.from_iterable(game.nodes.deciding(player) for player in players)
        listed = [node_of(game.nodes, number) for number in numbers]
    owners = Counter(node.name for node in listed)
    by_name: dict[str, PublicNode] = {}
    for node in listed:
        name = node.name + (f" (player {node.player})" if owners[node.name] > 1 else "")
        by_name[name] = replace(node, name=name)
    return by_name


def _by_labels(game: FlatGame) -> list[PublicNode]:
    rank = {str(label): place for place, label in enumerate(game.outcome_labels)}
    lengths = sorted(set(map(len, rank)), reverse=True)
    groups: dict[tuple[int, str], list[tuple[int, str, int]]] = {}
    for infoset, label in enumerate(game.infoset_labels):
        hand = next((label[:n] for n in lengths if label[:n] in rank), "")
        key = int(game.infoset_player[infoset]), label.removeprefix(hand).strip()
        groups.setdefault(key, []).append((rank.get(hand, -1), hand, infoset))
    return [
        PublicNode(
            name=public or START,
            hands=tuple(hand for _, hand, _ in sorted(members)),
            infosets=game.rows_of([infoset for _, _, infoset in sorted(members)]),
            number=None,
        )
        for (_, public), members in groups.items()
    ]


def find_node(game: CompiledGame, name: str) -> PublicNode:
    """Return the public node with a name.

    Raises:
        ValueError: There is no such node; suggests a similar name, or lists some.
    """
    node_name = name.strip() or START
    if game.nodes is not None and game.n_infosets >= LAZY_LABELS_FROM:
        return _find_without_list(game, game.nodes, node_name)
    nodes = public_nodes(game)
    if node_name in nodes:
        return nodes[node_name]
    listed = list(nodes)[:MAX_LISTED]
    hint = suggest(node_name, nodes)
    if hint.startswith("there are"):
        hint = f"there are, among {len(nodes):,}: {', '.join(map(repr, listed))}"
    raise ValueError(f"{game.name} has no public node {name!r}; {hint}")


def _find_without_list(game: CompiledGame, nodes: PublicNodes, node_name: str) -> PublicNode:
    """Return the public node with a name in a game that is too large to list all nodes."""
    number = nodes.find_node("" if node_name == START else node_name)
    if number is None or not nodes.decides(number):
        example = nodes.name(next(nodes.decisions(0)))
        raise ValueError(
            f"{game.name} has no public node {node_name!r}; names look like {example!r}"
        )
    return node_of(nodes, number, node_name)
