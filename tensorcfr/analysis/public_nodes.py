"""Public nodes: the infosets that differ in the private hand alone, by name.

A game that was compiled as private hands x public tree says its nodes itself, and one node of it is
made without the others.  In other games a hand is looked for in the labels of the infosets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._util.limits import LAZY_LABELS_FROM
from ..errors import suggest
from ..model.arrays import CHANCE, NO_PARENT
from ..model.game import CompiledGame
from ..model.labels import InfosetPlaces

START = "start"
"""Name of the public node at which nothing has been done yet."""

MOST_LISTED = 12
"""Names that an error lists, at most."""


@dataclass(frozen=True)
class PublicNode:
    """The infosets that differ in the private hand alone."""

    name: str
    """The public part of their labels; :data:`START` where it is empty."""
    player: int
    """Who acts."""
    actions: tuple[str, ...]
    """Labels of the actions."""
    hands: tuple[str, ...]
    """The private hand of each infoset; empty where the label begins with none."""
    infosets: tuple[int, ...]
    """The infosets."""


class PublicPlaces:
    """The public nodes of a game of private hands, each made when it is asked for.

    Args:
        game: A game with a public tree, :attr:`CompiledGame.public`.
    """

    def __init__(self, game: CompiledGame) -> None:
        assert game.public is not None
        self.game = game
        self.public = game.public
        self.tree = game.public.tree
        self.places = InfosetPlaces(game.public, game.form)
        self.hands, self.order = named_hands(game)

    def decides(self, node: int) -> bool:
        """Whether somebody acts at a public node that some deal gets to."""
        return bool(self.tree.bucket[node] >= 0)

    def name(self, node: int) -> str:
        """The public label of a decision node; elsewhere the steps that lead to the node."""
        if self.tree.player[node] >= 0:
            return self.public.node_label(node).strip() or START
        return " ".join(self.public.edges[edge] for edge in self.public.path(node)) or START

    def node(self, node: int, name: str | None = None) -> PublicNode:
        """A decision node."""
        tree, form = self.tree, self.game.form
        player = int(tree.player[node])
        mask = form.hand_rank[form.bucket_mask[int(tree.bucket[node])]]
        order = self.order[player]
        held = order[np.diff(mask)[order] > 0]
        infosets = self.places.infosets(np.full(len(held), node), held)
        return PublicNode(
            name=self.name(node) if name is None else name,
            player=player,
            actions=self.public.actions(node),
            hands=tuple(self.hands[player][hand] for hand in held.tolist()),
            infosets=tuple(infosets.tolist()),
        )

    def __iter__(self) -> Iterator[PublicNode]:
        for node in self.places.nodes.tolist():
            yield self.node(node)

    def find(self, name: str) -> int | None:
        """The decision node of a name, or None."""
        label = "" if name == START else name
        for spelling in (label, f" {label}", f"{label} "):
            node = self.places.find_node(spelling)
            if node is not None and self.decides(node):
                return node
        return None


def named_hands(
    game: CompiledGame,
) -> tuple[tuple[tuple[str, ...], ...], tuple[np.ndarray, ...]]:
    """Labels of each player's hands, and the order in which to show them.

    Hands that were found in histories are named by the chance outcomes that all their deals share,
    without what all these names begin with; by number where there is no such outcome, or where it
    does not tell them apart.

    Returns:
        For each player the labels by hand, and int64 (hands,): the hands in order.
    """
    assert game.public is not None
    hands = game.public.hands
    as_they_are = tuple(np.arange(len(own)) for own in hands)
    if game.histories is None:
        return hands, as_they_are
    names, orders = [], []
    for player, numbers in enumerate(hands):
        shared = _shared_outcomes(game, player)
        own = [
            " ".join(game.outcome_labels[c] for c in shared.get(h, ())) for h in range(len(numbers))
        ]
        differ = len(set(own)) == len(own) and all(own)
        names.append(tuple(_without_prefix(own)) if differ else numbers)
        by_outcome = sorted((shared.get(hand, ()), hand) for hand in range(len(own)))
        order = np.array([hand for _, hand in by_outcome])
        orders.append(order if differ else as_they_are[player])
    return tuple(names), tuple(orders)


def _shared_outcomes(game: CompiledGame, player: int) -> dict[int, tuple[int, ...]]:
    """The chance outcomes that all deals of a hand have in the same place, by hand."""
    assert game.histories is not None
    assert game.public is not None
    tree, public = game.histories, game.public.tree
    places = InfosetPlaces(game.public, game.form)
    found: dict[int, tuple[int, ...]] = {}
    for node in np.flatnonzero((public.player == player) & (public.bucket >= 0)).tolist():
        mask = game.form.hand_rank[game.form.bucket_mask[int(public.bucket[node])]]
        held = [h for h in np.flatnonzero(np.diff(mask)).tolist() if h not in found]
        at = places.infosets(np.full(len(held), node), np.array(held, dtype=np.int64))
        for hand, infoset in zip(held, at.tolist(), strict=True):
            deals = [_dealt(game, int(h)) for h in np.flatnonzero(tree.infoset == infoset)]
            columns = zip(*deals, strict=False)
            found[hand] = tuple(own[0] for own in columns if len(set(own)) == 1)
        if len(found) == len(game.public.hands[player]):
            break
    return found


def _without_prefix(names: list[str]) -> list[str]:
    """The names without the words that all of them begin with: ``Deal:1`` becomes ``1``."""
    prefix = names[0]
    while not all(name.startswith(prefix) for name in names):
        prefix = prefix[:-1]
    while prefix and prefix[-1].isalnum():
        prefix = prefix[:-1]
    shorter = [name[len(prefix) :] for name in names]
    is_word = any(map(str.isalnum, prefix))
    return shorter if is_word and all(shorter) else names


def _dealt(game: CompiledGame, node: int) -> list[int]:
    """The chance outcomes on the way to a history before anybody acts."""
    assert game.histories is not None
    tree = game.histories
    codes: list[int] = []
    while (parent := int(tree.parent[node])) != NO_PARENT:
        if tree.player[parent] == CHANCE:
            codes.append(int(tree.outcome[node]))
        else:
            codes.clear()
        node = parent
    return codes[::-1]


def public_nodes(game: CompiledGame) -> dict[str, PublicNode]:
    """The public nodes of a game by name, those of player 0 first.

    In games of private hands and a public tree a node is named by the public part of its labels, or
    by the steps that lead to it.  In other games a hand is recognised as the longest chance outcome
    that a label begins with; where there is none, every infoset is a public node by itself.
    """
    nodes = list(PublicPlaces(game)) if game.public is not None else _by_labels(game)
    owners = Counter(node.name for node in nodes)
    named: dict[str, PublicNode] = {}
    for node in nodes:
        name = node.name + (f" (player {node.player})" if owners[node.name] > 1 else "")
        named[name] = PublicNode(name, node.player, node.actions, node.hands, node.infosets)
    return named


def _by_labels(game: CompiledGame) -> list[PublicNode]:
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
            player=player,
            actions=game.infoset_actions[min(members)[2]],
            hands=tuple(hand for _, hand, _ in sorted(members)),
            infosets=tuple(infoset for _, _, infoset in sorted(members)),
        )
        for (player, public), members in groups.items()
    ]


def find_node(game: CompiledGame, name: str) -> PublicNode:
    """The public node of that name.

    Raises:
        ValueError: There is none; suggests a near one, or says what they look like.
    """
    wanted = name.strip() or START
    if game.public is not None and game.n_infosets >= LAZY_LABELS_FROM:
        places = PublicPlaces(game)
        node = places.find(wanted)
        if node is None:
            some = places.name(int(places.places.nodes[-1]))
            raise ValueError(f"{game.name} has no public node {name!r}; they look like {some!r}")
        return places.node(node, wanted)
    nodes = public_nodes(game)
    if wanted in nodes:
        return nodes[wanted]
    listed = list(nodes)[:MOST_LISTED]
    hint = suggest(wanted, nodes)
    if hint.startswith("there are"):
        hint = f"there are, among {len(nodes):,}: {', '.join(map(repr, listed))}"
    raise ValueError(f"{game.name} has no public node {name!r}; {hint}")
