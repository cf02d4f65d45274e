"""Compile the rules of a game of private hands."""

from __future__ import annotations

import numpy as np

from .._util import limits
from .._util.memory import Budget
from ..invariants import check
from ..model.expansion import count_histories, expand
from ..model.game import CompiledGame
from ..model.labels import InfosetActions, InfosetLabels, InfosetPlaces, PublicGame
from ..rules import PublicTreeGame
from . import colours, form_of_public_tree, merging, public_tree
from .histories import Infosets, WalkedGame
from .public_labels import Place, add_label, infoset_actions, infoset_labels, outcome_labels
from .walked_game import compile_walked

BYTES_EXPANDED = 240
"""Bytes per history of a compile that expands the public tree."""


def compile_rules(
    rules: PublicTreeGame, name: str, budget: Budget, *, symmetry: bool = True
) -> CompiledGame:
    """Compile the rules of a game of private hands.

    Args:
        rules: The rules.
        name: The name of the game.
        budget: Memory budget of the compile.
        symmetry: Whether to merge infosets with indistinguishable payoffs.

    Raises:
        GameError: The rules break their contract; the message names the public history.
        MemoryLimitError: The game would need more than the budget.
    """
    public, unit = public_tree.read(rules, budget)
    if public.tree.n_players != 2:
        return compile_walked(_expanded(rules, public, unit, budget), name)
    if symmetry:
        budget.reserve(colours.bytes_needed(public.tree))
    return assemble(rules, public, name, unit=unit, symmetry=symmetry)


def assemble(
    rules: PublicTreeGame, public: PublicGame, name: str, *, unit: float, symmetry: bool
) -> CompiledGame:
    """The compiled game of a public tree of two players, checked and read-only.

    Args:
        rules: Its hands and labels.
        public: The public tree, buckets and ranks not set.
        name: The name of the game.
        unit: That of the payoffs.
        symmetry: Whether to merge infosets with indistinguishable payoffs.
    """
    form, tree = form_of_public_tree.build(public.tree)
    public = public._replace(tree=tree)
    places = InfosetPlaces(public, form)
    # Labels made here are compared with each other.  Labels made on demand must be distinct by
    # their parts, because they are never all made.
    lazy = form.n_infosets >= limits.LAZY_LABELS_FROM and type(rules).label is PublicTreeGame.label
    lazy = lazy and public.ambiguity() is None
    game = CompiledGame(
        name=name,
        form=form,
        infoset_labels=InfosetLabels(places) if lazy else infoset_labels(rules, public, places),
        infoset_actions=InfosetActions(places) if lazy else infoset_actions(public, places),
        outcome_labels=outcome_labels(public),
        public=public,
        merged=merging.merge(tree, form) if symmetry else None,
        unit=unit,
    )
    check(game)
    game.freeze()
    return game


def _expanded(rules: PublicTreeGame, public: PublicGame, unit: float, budget: Budget) -> WalkedGame:
    """The history tree of a game of three or more players, which have no public form."""
    tree = public.tree
    histories = count_histories(tree)
    budget.reserve(histories * BYTES_EXPANDED, f"{budget.what} ({histories:,} histories)")
    acts = tree.player >= 0
    width = np.where(acts, np.array(tree.prior.shape)[np.maximum(tree.player, 0)], 0)
    first = np.cumsum(width) - width
    outcomes = outcome_labels(public)
    # Infosets are numbered by public node, then by hand; those without a history are dropped.
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
    return WalkedGame(expanded, infosets, list(outcomes), tree.n_players, unit)
