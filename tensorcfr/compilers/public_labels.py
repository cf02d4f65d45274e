"""Labels of the infosets of a game of private hands, from its rules, checked."""

from __future__ import annotations

from collections.abc import Sequence
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
    if not isinstance(label, str):
        raise GameError(not_text(label, _holder(public, *place)))
    if (other := place_of.setdefault(label, place)) != place:
        raise GameError(used_twice(label, _holder(public, *other), _holder(public, *place)))


def not_text(label: object, of: str) -> str:
    """What is wrong with a label that is no string, of a :func:`holder`."""
    return f"label {label!r} of {of} is not a string"


def used_twice(label: str, first: str, second: str) -> str:
    """What is wrong with a label of two :func:`holder`."""
    return f"infoset label {label!r} is used twice: by {first}, and by {second}"


def holder(player: int, hand: str, steps: Sequence[str]) -> str:
    """The name in error messages of an infoset: a player with a hand after public steps."""
    where = f"public history [{', '.join(steps)}]" if steps else "the public root"
    return f"player {player} with {hand!r} at {where}"


def _holder(public: PublicGame, node: int, hand: int) -> str:
    player = int(public.tree.player[node])
    steps = [public.edges[edge] for edge in public.path(node)]
    return holder(player, public.hands[player][hand], steps)


def _places_in_order(places: InfosetPlaces) -> list[Place]:
    """The place of every infoset, in the order of the infosets."""
    form = places.form
    found: list[Place] = []
    for bucket, first in enumerate(places.first.tolist()):
        nodes = places.nodes[first : first + form.bucket_stride[bucket]].tolist()
        held = np.flatnonzero(np.diff(form.hand_rank[form.bucket_mask[bucket]])).tolist()
        found.extend((node, hand) for hand in held for node in nodes)
    return found
