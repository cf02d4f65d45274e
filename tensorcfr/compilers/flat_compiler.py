"""Compiler of flat games: one sequence form, from histories or from a public tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from .._util import limits
from ..errors import GameError
from ..model.arrays import not_none
from ..model.expansion import count_histories, expand
from ..model.flat_game import FlatGame
from ..model.labels import InfosetActions, InfosetLabels, InfosetPlaces, PublicGame
from ..rules import PublicTreeGame
from . import colour_refinement, form_of_histories, form_of_public_tree, recognition
from .compilation import Compilation
from .derived_rules import joins_labels
from .history_reader import HistoryGame, Infosets
from .invariants import check
from .moved_payoffs import simplify
from .public_graph import Read
from .symmetry import merge

BYTES_EXPANDED = 240
"""Peak bytes per history of a compile that expands the public tree."""


def lay_out(rules: PublicTreeGame, read: Read, compilation: Compilation) -> FlatGame:
    """Lay out a game of private hands as a flat game.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The game would need more than the budget.
    """
    name, memory, symmetry = compilation.name, compilation.memory, compilation.symmetry
    public = read.unfolded(memory.what)
    if public.tree.n_players != 2:
        histories = _expand_histories(rules, public, read.unit, compilation)
        return compile_histories(histories, name, symmetry=symmetry)
    if symmetry:
        memory.reserve(colour_refinement.bytes_needed(public.tree))
    return assemble(rules, public, name, unit=read.unit, symmetry=symmetry)


def assemble(
    rules: PublicTreeGame, public: PublicGame, name: str, *, unit: float, symmetry: bool
) -> FlatGame:
    """Compile the public tree of a two-player game into a checked, read-only flat game.

    Args:
        rules: The rules, for hands and labels.
        public: The public tree; buckets and ranks are not set.
        name: The name of the game.
        unit: Unit of the payoffs in ``public``.
        symmetry: Whether to merge infosets with indistinguishable payoffs.
    """
    form, tree = form_of_public_tree.build(public.tree)
    public = public._replace(tree=tree)
    places = InfosetPlaces(public, form)
    # Labels that are made now are compared with each other.  Labels that are made on demand are
    # never all made, so their parts must already make them distinct.
    lazy = form.n_infosets >= limits.LAZY_LABELS_FROM and joins_labels(rules)
    lazy = lazy and public.ambiguity() is None
    game = FlatGame(
        name=name,
        form=form,
        infoset_labels=InfosetLabels(places) if lazy else infoset_labels(rules, public, places),
        infoset_actions=InfosetActions(places) if lazy else infoset_actions(public, places),
        outcome_labels=outcome_labels(public),
        public=public,
        merged=merge(tree, form) if symmetry else None,
        unit=unit,
    )
    return _check_and_freeze(game)


def _check_and_freeze(game: FlatGame) -> FlatGame:
    """Check a compiled game and make its arrays read-only."""
    check(game)
    game.freeze()
    return game


def _expand_histories(
    rules: PublicTreeGame, public: PublicGame, unit: float, compilation: Compilation
) -> HistoryGame:
    """Expand the history tree of a game with three or more players, which has no public form."""
    tree = public.tree
    memory, histories = compilation.memory, count_histories(tree)
    memory.reserve(histories * BYTES_EXPANDED, f"{memory.what} ({histories:,} histories)")
    acts = tree.player >= 0
    width = np.where(acts, np.array(tree.prior.shape)[np.maximum(tree.player, 0)], 0)
    first = np.cumsum(width) - width
    outcomes = outcome_labels(public)
    # Infosets are numbered by public node, then by hand; infosets without a history are dropped.
    expanded = expand(tree, lambda node, hand: first[node] + hand, *public.outcome_codes(outcomes))
    decided = expanded.infoset >= 0
    used, infoset = np.unique(expanded.infoset[decided], return_inverse=True)
    expanded.infoset[decided] = infoset
    infosets = Infosets()
    place_of: dict[str, Place] = {}
    for number in used.tolist():
        node = int(np.searchsorted(first + width, number, side="right"))
        hand, player = number - int(first[node]), int(tree.player[node])
        label = rules.label(player, rules.hands[player][hand], public.node_label(node))
        add_label(public, label, (node, hand), place_of)
        infosets.add(label, player, public.actions(node))
    return HistoryGame(expanded, infosets, list(outcomes), tree.n_players, unit)


def compile_histories(history_game: HistoryGame, name: str, *, symmetry: bool = True) -> FlatGame:
    """Compile a history tree, as private hands x public tree if it has that form.

    Args:
        history_game: The history tree, with infosets numbered in the order of the visits.
        name: The name of the game.
        symmetry: Whether to merge infosets with indistinguishable payoffs, or to move payoffs to
            earlier sequences.
    """
    recognised = recognition.recognise(history_game)
    if recognised is None:
        form, order = form_of_histories.build(history_game)
        game = _number_infosets(history_game, name, order, form=form)
        if symmetry:
            game = replace(game, merged=simplify(form, not_none(game.histories)))
        return _check_and_freeze(game)
    form, tree = form_of_public_tree.build(recognised.game.tree)
    public = recognised.game._replace(tree=tree)
    # ``place`` is the final index of each infoset, and ``order`` its inverse permutation.
    place = InfosetPlaces(public, form).infosets(recognised.node, recognised.hand)
    order = np.empty(len(place), dtype=np.int64)
    order[place] = np.arange(len(place))
    merged = merge(tree, form) if symmetry else None
    return _check_and_freeze(
        _number_infosets(history_game, name, order, form=form, public=public, merged=merged)
    )


def _number_infosets(
    history_game: HistoryGame, name: str, order: np.ndarray, **views: Any
) -> FlatGame:
    """Build a compiled game with its infosets in the final order.

    Args:
        history_game: The history tree, with infosets numbered in the order of the visits.
        name: The name of the game.
        order: int64 (infosets,): the infosets in the final order.
        views: The other views of the game, in the final order.
    """
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    infoset = history_game.tree.infoset.copy()
    infoset[infoset >= 0] = place[infoset[infoset >= 0]]
    labels, actions = history_game.infosets.labels, history_game.infosets.actions
    named = {action_tuple: tuple(map(str, action_tuple)) for action_tuple in set(actions)}
    return FlatGame(
        name=name,
        histories=history_game.tree._replace(infoset=infoset),
        infoset_labels=tuple(labels[i] for i in order.tolist()),
        infoset_actions=tuple(named[actions[i]] for i in order.tolist()),
        outcome_labels=tuple(history_game.outcome_labels),
        unit=history_game.unit,
        **views,
    )


Place = tuple[int, int]
"""Public node and hand of an infoset."""


def outcome_labels(public: PublicGame) -> tuple[str, ...]:
    """Return the labels of the chance outcomes: hands first, then public outcomes."""
    drawn = np.unique(public.tree.edge[public.tree.chance >= 0])
    return tuple(dict.fromkeys(chain(*public.hands, (public.edges[edge] for edge in drawn))))


def infoset_actions(public: PublicGame, places: InfosetPlaces) -> tuple[tuple[str, ...], ...]:
    """Return the action labels of every infoset; equal tuples are one object."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    actions = ((node, public.actions(node)) for node in places.nodes.tolist())
    by_node = {node: known.setdefault(labels, labels) for node, labels in actions}
    return tuple(by_node[node] for node, _ in _places_in_order(places))


def infoset_labels(
    rules: PublicTreeGame, public: PublicGame, places: InfosetPlaces
) -> tuple[str, ...]:
    """Return the label of every infoset, made by ``rules.label`` and checked to be distinct."""
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
    if (other_place := place_of.setdefault(label, place)) != place:
        raise GameError(used_twice(label, _holder(public, *other_place), _holder(public, *place)))


def not_text(label: object, of: str) -> str:
    """Return the error message for an infoset label that is not a string; ``of`` is from
    :func:`holder`."""
    return f"label {label!r} of {of} is not a string"


def used_twice(label: str, first: str, second: str) -> str:
    """Return the error message for a label of two infosets; both are named by :func:`holder`."""
    return f"infoset label {label!r} is used twice: by {first}, and by {second}"


def holder(player: int, hand: str, steps: Sequence[str]) -> str:
    """Return the name of an infoset in error messages: a player with a hand after public edges."""
    where = f"public history [{', '.join(steps)}]" if steps else "the public root"
    return f"player {player} with {hand!r} at {where}"


def _holder(public: PublicGame, node: int, hand: int) -> str:
    player = int(public.tree.player[node])
    steps = [public.edges[edge] for edge in public.path(node)]
    return holder(player, public.hands[player][hand], steps)


def _places_in_order(places: InfosetPlaces) -> list[Place]:
    """Return the public node and hand of every infoset, in the order of the infosets."""
    form = places.form
    in_order: list[Place] = []
    for bucket, first in enumerate(places.first.tolist()):
        nodes = places.nodes[first : first + form.bucket_stride[bucket]].tolist()
        in_order.extend(
            (node, hand) for hand in form.possible_hands(bucket).tolist() for node in nodes
        )
    return in_order
