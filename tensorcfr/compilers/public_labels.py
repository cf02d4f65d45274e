"""Labels of the infosets of a game of private hands, from its rules, checked."""

from __future__ import annotations

from itertools import chain

import numpy as np

from ..errors import GameError
from ..model.labels import InfosetPlaces, PublicGame
from ..rules import PublicTreeGame

Place = tuple[int, int]
"""Public node and hand of an infoset."""


def outcome_labels(public: PublicGame) -> tuple[str, ...]:
    """Labels of the chance outcomes: hands, then public chance."""
    drawn = np.unique(public.tree.edge[public.tree.chance >= 0])
    return tuple(dict.fromkeys(chain(*public.hands, (public.edges[edge] for edge in drawn))))


def infoset_actions(public: PublicGame, places: InfosetPlaces) -> tuple[tuple[str, ...], ...]:
    """Action labels of every infoset; equal tuples are one object."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    by_node = {}
    for node in places.nodes.tolist():
        actions = public.actions(node)
        by_node[node] = known.setdefault(actions, actions)
    return tuple(by_node[node] for node, _ in _places_in_order(places))


def infoset_labels(
    rules: PublicTreeGame, public: PublicGame, places: InfosetPlaces
) -> tuple[str, ...]:
    """The label of every infoset, by the game's own function, checked."""
    place_of: dict[str, Place] = {}
    public_label = {node: public.node_label(node) for node in places.nodes.tolist()}
    for node, hand in sorted(_places_in_order(places)):
        player = int(public.tree.player[node])
        label = rules.label(player, rules.hands[player][hand], public_label[node])
        add_label(public, label, (node, hand), place_of)
    labels = {place: label for label, place in place_of.items()}
    return tuple(labels[place] for place in _places_in_order(places))


def add_label(public: PublicGame, label: str, place: Place, place_of: dict[str, Place]) -> None:
    """Add an infoset's label to ``place_of``.

    Raises:
        GameError: The label is not a string, or another infoset has the same label.
    """
    node, hand = place
    player = int(public.tree.player[node])
    if not isinstance(label, str):
        raise GameError(
            f"label {label!r} of player {player} with {public.hands[player][hand]!r} is not a "
            f"string, at {_where(public, node)}"
        )
    if (other := place_of.setdefault(label, place)) != place:
        first = int(public.tree.player[other[0]])
        raise GameError(
            f"infoset label {label!r} is used twice: by player {first} with "
            f"{public.hands[first][other[1]]!r} at {_where(public, other[0])}, and by player "
            f"{player} with {public.hands[player][hand]!r} at {_where(public, node)}"
        )


def _places_in_order(places: InfosetPlaces) -> list[Place]:
    """The place of every infoset, in the order of the infosets."""
    form = places.form
    found: list[Place] = []
    for bucket, first in enumerate(places.first.tolist()):
        nodes = places.nodes[first : first + form.bucket_stride[bucket]].tolist()
        held = np.flatnonzero(np.diff(form.hand_rank[form.bucket_mask[bucket]])).tolist()
        found.extend((node, hand) for hand in held for node in nodes)
    return found


def _where(public: PublicGame, node: int) -> str:
    """The name of a public history in error messages."""
    labels = [public.edges[edge] for edge in public.path(node)]
    return f"public history [{', '.join(labels)}]" if labels else "the public root"
