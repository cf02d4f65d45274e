"""Traversal tree of a game's histories, and chance with outcomes given in advance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._util.argument_checks import brief
from ..._util.limits import INDEX_LIMIT, ONE_VISIT_CHECK_LIMIT
from ...errors import GameError
from ...kernels.alias import make_alias_tables
from ...kernels.traversal import HISTORY_NODE, NO_BLOCK, TraversalTree
from ...model.arrays import CHANCE, NO_PARENT, HistoryTree, frozen_array, levels
from ...model.flat_game import FlatGame
from .table_layout import TableLayout, node_records, tree_depth


def history_traversal(
    game: FlatGame,
    layout: TableLayout,
    *,
    deal: Sequence[str] | None = None,
    joined: bool = True,
) -> TraversalTree:
    """Create the traversal tree of a game's histories.

    Args:
        game: The game.
        layout: Layout of the blocks of its infosets.
        deal: Labels of chance outcomes that happen for certain, the first chance node's first.
        joined: True if consecutive chance nodes are one draw, which is right if chance is sampled.

    Raises:
        ValueError: ``deal`` cannot happen; the message lists the possible outcomes.
        GameError: The tree or the table is too large for indices of 32 bits.
    """
    tree = game.tree
    if max(tree.n_nodes, layout.size) > INDEX_LIMIT:
        raise GameError(f"{game.name} is too large to be traversed: {tree.n_nodes:,} histories")
    probability = tree.probability if deal is None else fixed_chance(game, deal)[0]
    node = node_records(tree.player, tree.first_child, HISTORY_NODE)
    decides, own_block = tree.player >= 0, layout.block
    blocks = np.where(own_block >= 0, own_block, int(NO_BLOCK))
    node["block"][decides] = blocks[tree.infoset[decides]]
    node["payoff"][tree.terminal] = np.arange(len(tree.terminal))
    chance_nodes = np.flatnonzero(tree.player == CHANCE)
    node["chance"][chance_nodes] = np.arange(len(chance_nodes))
    passed, first_outcome, target, weight = _outcomes(
        tree, chance_nodes, probability, joined=joined
    )
    threshold, alias = np.empty(len(target)), np.empty(len(target), np.uint32)
    make_alias_tables(first_outcome, weight, threshold, alias)
    children = np.diff(tree.first_child).max(initial=1)
    return TraversalTree(
        node=node,
        utility=frozen_array(np.ascontiguousarray(tree.utility)),
        depth=tree_depth(tree.first_child),
        width=int(np.diff(first_outcome).max(initial=children)),
        blocks=int((own_block >= 0).sum()),
        entries=tree.n_nodes,
        visits_once=_visits_once(game),
        dealt=0,
        hands=0,
        drawn=0,
        probability=weight,
        joined=passed,
        first_outcome=first_outcome.astype(np.uint32),
        outcome=np.stack([target, target[alias]], axis=1),
        threshold=threshold,
    )


def _outcomes(
    tree: HistoryTree, chance_nodes: np.ndarray, probability: np.ndarray, *, joined: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the outcomes of all chance nodes.

    Args:
        tree: The histories.
        chance_nodes: int64 (chance nodes,): the nodes, ascending.
        probability: float64 (nodes,): probability of the step into each node.
        joined: True if consecutive chance nodes are one draw.

    Returns:
        uint32 (chance nodes,), number of nodes that each draw passes after the first; int64 (chance
        nodes + 1,), first outcome of each draw; uint32 (outcomes,), node of each outcome; float64
        (outcomes,), its probability.
    """
    passed = np.zeros(len(chance_nodes), np.uint32)
    first = np.zeros(len(chance_nodes) + 1, np.int64)
    nodes: list[np.ndarray] = [np.empty(0, np.uint32)]
    weights: list[np.ndarray] = [np.empty(0)]
    for draw, node in enumerate(chance_nodes.tolist()):
        weight = np.ones(1)
        generations = levels(tree.first_child, slice(node, node + 1))
        above = next(generations)
        for generation in generations:
            children = np.diff(tree.first_child[above.start : above.stop + 1])
            weight = np.repeat(weight, children) * probability[generation]
            above = generation
            # Go on only while all outcomes of the draw are chance nodes: one draw then replaces
            # two.
            if not joined or not (tree.player[generation] == CHANCE).all():
                break
            passed[draw] += 1
        nodes.append(np.arange(above.start, above.stop, dtype=np.uint32))
        weights.append(weight)
        first[draw + 1] = first[draw] + len(weight)
    return passed, first, np.concatenate(nodes), np.concatenate(weights)


def _visits_once(game: FlatGame) -> bool:
    """Return whether a traversal that samples chance visits every infoset at most once.

    It visits an infoset twice if two of its histories part at a decision (by perfect recall, a
    decision of another player).  The result is also False for games above the limit.
    """
    tree = game.tree
    if tree.n_nodes > ONE_VISIT_CHECK_LIMIT:
        return False
    infoset = tree.infoset[tree.player >= 0].astype(np.int64)
    ancestor = np.flatnonzero(tree.player >= 0)
    # All decision nodes climb towards the root together, one generation at a time.  ``ancestor`` is
    # the node reached so far, ``infoset`` the infoset of the node where the climb began.
    while len(ancestor):
        parent = tree.parent[ancestor]
        inside = parent != NO_PARENT
        ancestor, parent, infoset = ancestor[inside], parent[inside], infoset[inside]
        # Check whether one decision leads to histories of the same infoset by different actions.
        decides = tree.player[parent] >= 0
        # Sorted by infoset and decision, nodes of the same pair are neighbours.
        key = infoset[decides] * tree.n_nodes + parent[decides]
        order = np.argsort(key, kind="stable")
        key, step = key[order], ancestor[decides][order]
        if ((key[1:] == key[:-1]) & (step[1:] != step[:-1])).any():
            return False
        ancestor = parent
    return True


def fixed_chance(game: FlatGame, deal: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Compute the chance probabilities if the first outcomes are given.

    Args:
        game: The game.
        deal: Labels of the outcomes, the first chance node's first.

    Returns:
        float64 (nodes,): probability of the step into each node, 1 after a decision; bool (nodes,):
        True if the node can be reached.

    Raises:
        ValueError: The outcomes cannot happen; the message lists the possible outcomes.
    """
    if isinstance(deal, str):
        raise ValueError(f"a deal is a sequence of chance outcomes, not the text {brief(deal)}")
    tree = game.tree
    probability = tree.probability.copy()
    reachable = np.ones(tree.n_nodes, bool)
    rank = np.zeros(tree.n_nodes, np.int64)  # Number of chance nodes before each node.
    longest = 0
    for node in range(tree.n_nodes):
        parent = int(tree.parent[node])
        if parent != NO_PARENT:
            rank[node] = rank[parent] + (tree.player[parent] == CHANCE)
            reachable[node] = reachable[parent] and probability[node] > 0.0
        if not reachable[node]:
            continue
        longest = max(longest, int(rank[node]))
        if tree.player[node] != CHANCE or rank[node] >= len(deal):
            continue
        children = slice(tree.first_child[node], tree.first_child[node + 1])
        labels = [game.outcome_labels[outcome] for outcome in tree.outcome[children]]
        wanted = str(deal[rank[node]])
        if wanted not in labels:
            raise ValueError(
                f"{game.name}: chance outcome {rank[node] + 1} cannot be {brief(wanted)}; there "
                f"are: {', '.join(labels)}"
            )
        probability[children] = [float(label == wanted) for label in labels]
    if len(deal) > longest:
        raise ValueError(
            f"{game.name}: {len(deal)} chance outcomes are given, but there are at most {longest}"
        )
    return probability, reachable
