"""Compiled games of private hands x public tree, from their rules or found in histories."""

from __future__ import annotations

from itertools import chain

import numpy as np

from ..errors import GameError, MemoryLimitError
from ..invariants import check
from ..model.arrays import PublicTree, SequenceForm
from ..model.expansion import BYTES_PER_HISTORY, count_histories, expand
from ..model.game import CompiledGame, Merged
from ..model.labels import InfosetActions, InfosetLabels, InfosetPlaces, PublicGame
from ..rules import PublicTreeGame
from . import contraction, public_form, public_tree, recognition, symmetry
from .from_histories import compile_histories, number_infosets
from .histories import Infosets, WalkedGame
from .symmetry import Quotient

MANY_LABELS = 200_000
"""From as many infosets on, labels are made when they are asked for."""


def compile_rules(rules: PublicTreeGame, name: str, memory_limit: int) -> CompiledGame:
    """Compile the rules of a game of private hands.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The game would need more than ``memory_limit`` bytes.
    """
    public = public_tree.read(rules, memory_limit)
    if public.tree.n_players != 2:
        return compile_histories(_expanded(rules, public, memory_limit), name)
    form, tree = public_form.build(public.tree)
    public = public._replace(tree=tree)
    places = InfosetPlaces(public, form)
    # Labels that are all made are all compared; of the others it must be certain that they differ.
    lazy = form.n_infosets >= MANY_LABELS and type(rules).label is PublicTreeGame.label
    lazy = lazy and public.ambiguity() is None
    game = CompiledGame(
        name=name,
        form=form,
        infoset_labels=InfosetLabels(places) if lazy else _labels(rules, public, places),
        infoset_actions=InfosetActions(places) if lazy else _actions(public, places),
        outcome_labels=_outcomes(public),
        public=public,
        merged=_merged(tree, form),
    )
    check(game)
    game.freeze()
    return game


def compile_walked(walked: WalkedGame, name: str) -> CompiledGame | None:
    """Compile a walked game as private hands x public tree, if it has that form."""
    found = recognition.recognise(walked)
    if found is None:
        return None
    form, tree = public_form.build(found.game.tree)
    public = found.game._replace(tree=tree)
    place = InfosetPlaces(public, form).infosets(found.node, found.hand)
    order = np.empty(len(place), dtype=np.int64)
    order[place] = np.arange(len(place))
    return number_infosets(
        walked, name, order, form=form, public=public, merged=_merged(tree, form)
    )


def _merged(tree: PublicTree, form: SequenceForm) -> Merged | None:
    """The smaller game that stands for this one, if there is one."""
    quotient = quotient_of(tree)
    if quotient is None:
        return None
    merged, smaller = public_form.build(quotient.tree)
    quotient = quotient._replace(tree=smaller)
    return Merged(merged, symmetry.merged_sequences(tree, form, quotient, merged))


def quotient_of(tree: PublicTree) -> Quotient | None:
    """The public tree of the smaller game that stands for this one, if there is one: without
    decisions that have one action, symmetries merged."""
    short = contraction_of(tree)
    quotient = symmetry.merge(tree if short is None else short.tree)
    if short is None or quotient is None:
        return quotient or short
    return quotient._replace(node=np.where(short.node < 0, -1, quotient.node[short.node]))


def contraction_of(tree: PublicTree) -> Quotient | None:
    """The public tree without decisions that have one action, if there are any."""
    contracted = contraction.contract(tree)
    if contracted is None:
        return None
    hand = tuple(np.arange(hands) for hands in tree.prior.shape)
    return Quotient(*contracted, hand)


def _outcomes(public: PublicGame) -> tuple[str, ...]:
    """Labels of the chance outcomes: hands, then public chance."""
    drawn = np.unique(public.tree.edge[public.tree.chance >= 0])
    return tuple(dict.fromkeys(chain(*public.hands, (public.edges[edge] for edge in drawn))))


def _actions(public: PublicGame, places: InfosetPlaces) -> tuple[tuple[str, ...], ...]:
    """Action labels of every infoset."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    by_node = {}
    for node in places.nodes.tolist():
        actions = public.actions(node)
        by_node[node] = known.setdefault(actions, actions)
    return tuple(by_node[node] for node, _ in _in_order(places))


def _labels(rules: PublicTreeGame, public: PublicGame, places: InfosetPlaces) -> tuple[str, ...]:
    """The label of every infoset, by the game's own function, checked."""
    seen: dict[str, tuple[int, int]] = {}
    public_label = {node: public.node_label(node) for node in places.nodes.tolist()}
    for node, hand in sorted(_in_order(places)):
        player = int(public.tree.player[node])
        label = rules.label(player, rules.hands[player][hand], public_label[node])
        _check_label(public, label, (node, hand), seen)
    labels = {place: label for label, place in seen.items()}
    return tuple(labels[place] for place in _in_order(places))


def _check_label(
    public: PublicGame, label: str, place: tuple[int, int], seen: dict[str, tuple[int, int]]
) -> None:
    """An infoset's label is a string, and no other infoset of ``seen`` has it; adds it there."""
    node, hand = place
    player = int(public.tree.player[node])
    if not isinstance(label, str):
        raise GameError(
            f"label {label!r} of player {player} with {public.hands[player][hand]!r} is not a "
            f"string, at {_where(public, node)}"
        )
    if (other := seen.setdefault(label, place)) != place:
        before = int(public.tree.player[other[0]])
        raise GameError(
            f"infoset label {label!r} is used twice: by player {before} with "
            f"{public.hands[before][other[1]]!r} at {_where(public, other[0])}, and by player "
            f"{player} with {public.hands[player][hand]!r} at {_where(public, node)}"
        )


def _in_order(places: InfosetPlaces) -> list[tuple[int, int]]:
    """Public node and hand of every infoset, in the order of the infosets."""
    form = places.form
    found: list[tuple[int, int]] = []
    for bucket, first in enumerate(places.first.tolist()):
        nodes = places.nodes[first : first + form.bucket_stride[bucket]].tolist()
        held = np.flatnonzero(np.diff(form.hand_rank[form.bucket_mask[bucket]])).tolist()
        found.extend((node, hand) for hand in held for node in nodes)
    return found


def _where(public: PublicGame, node: int) -> str:
    """The name of a public history in error messages."""
    labels = [public.edges[edge] for edge in public.path(node)]
    return f"public history [{', '.join(labels)}]" if labels else "the public root"


def _expanded(rules: PublicTreeGame, public: PublicGame, memory_limit: int) -> WalkedGame:
    """The history tree of a game that has no sequence form of its own: three players or more."""
    tree = public.tree
    histories = count_histories(tree)
    if (needed := histories * BYTES_PER_HISTORY) > memory_limit:
        raise MemoryLimitError(
            f"compiling {rules.name} ({histories:,} histories)", needed, memory_limit
        )
    acts = tree.player >= 0
    width = np.where(acts, np.array(tree.prior.shape)[np.maximum(tree.player, 0)], 0)
    first = np.cumsum(width) - width
    outcomes = _outcomes(public)
    expanded = expand(tree, lambda node, hand: first[node] + hand, *public.outcome_codes(outcomes))
    decided = expanded.infoset >= 0
    used, infoset = np.unique(expanded.infoset[decided], return_inverse=True)
    expanded.infoset[decided] = infoset
    infosets = Infosets()
    seen: dict[str, tuple[int, int]] = {}
    for one in used.tolist():
        node = int(np.searchsorted(first + width, one, side="right"))
        hand, player = one - int(first[node]), int(tree.player[node])
        label = rules.label(player, rules.hands[player][hand], public.node_label(node))
        _check_label(public, label, (node, hand), seen)
        infosets.add(label, player, public.actions(node))
    return WalkedGame(expanded, infosets, list(outcomes), tree.n_players)
