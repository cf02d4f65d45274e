"""Strategies copied between games that share public nodes; their ranges and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._util.memory_budget import budget
from ..compilers.cards.card_public_nodes import CardNodes
from ..compilers.compilation import Compilation
from ..compilers.pipeline import compile_cards
from ..evaluation.profile import ProfileValues, strategies_at
from ..kernels.pass_arrays import Numbers
from ..model.arrays import not_none
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from ..model.public_nodes import PublicNodes
from .roots import nodes_of

ENTRY = " into "
"""Prefix of the public labels of entries; the name of the public node follows."""


def shared_nodes(
    first_nodes: PublicNodes, first: int, second_nodes: PublicNodes, second: int
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of public nodes below two nodes to which the same steps lead, parents first.

    Nodes below a pair at which different players act are not shared.
    """
    pending = [(first, second)]
    while pending:
        first_node, second_node = pending.pop()
        yield first_node, second_node
        if first_nodes.player(first_node) == second_nodes.player(second_node):
            below = {step.label: step.node for step in first_nodes.children(first_node)}
            second_children = [
                (below.get(step.label), step.node) for step in second_nodes.children(second_node)
            ]
            pending += [
                (node, same) for node, same in reversed(second_children) if node is not None
            ]


def copy_strategies(
    source: Policy,
    source_root: int,
    target: PublicNodes,
    target_root: int,
    hands: Sequence[tuple[np.ndarray, np.ndarray]],
    probabilities: np.ndarray,
    player: int | None = None,
) -> None:
    """Copy the strategies below a public node into the arrays of another game.

    The target's strategies stay if the source lacks the public node or the hand. An action that the
    source lacks gets probability 0. If the source takes none of the target's actions, they are
    equally likely.

    Args:
        source: The strategies.
        source_root: A public node of their game.
        target: The public nodes of the game to copy to, which merges no hands.
        target_root: The same node in it.
        hands: For each player int64 (hands,) and int64 (hands,): hands of the source, and their
            numbers in the target.
        probabilities: float64 (numbers of the target,): probabilities; modified in place.
        player: The player whose strategies are copied; None for both.
    """
    nodes = nodes_of(source.game)
    for source_node, target_node in shared_nodes(nodes, source_root, target, target_root):
        actor = target.player(target_node)
        if actor < 0 or actor != nodes.player(source_node) or player not in (None, actor):
            continue
        layout = target.layout(target_node)
        if not layout.stride:
            continue  # A decision with one action, which the game leaves out.
        from_hands, to_hands = hands[actor]
        source_layout = nodes.layout(source_node)
        in_both = (layout.lane[to_hands] >= 0) & (source_layout.lane[from_hands] >= 0)
        sigma = strategies_at(source, nodes_of(source.game), source_node)[from_hands[in_both]]
        if source_layout.actions != layout.actions:
            none = np.zeros(len(sigma))
            columns = dict(zip(source_layout.actions, sigma.T, strict=True))
            sigma = np.stack([columns.get(label, none) for label in layout.actions], axis=1)
            # Normalise over the actions that both games have.
            total = sigma.sum(axis=1, keepdims=True)
            sigma = np.divide(sigma, total, out=np.zeros_like(sigma), where=total > 0)
        is_taken = (sigma > 0).any(axis=1, keepdims=True)
        probabilities[layout.numbers(to_hands[in_both])] = np.where(
            is_taken, sigma, 1.0 / len(layout.actions)
        )


def copy_by_label(
    source: Policy, target: CompiledGame, probabilities: np.ndarray, player: int
) -> None:
    """Copy a player's strategies into the arrays of another game with the same labels.

    Strategies at entries are left out, because they have no infosets there.

    Args:
        source: The strategies.
        target: The game to copy to, which merges no hands.
        probabilities: float64 (numbers of the target,): probabilities; modified in place.
        player: The player.

    Raises:
        ValueError: An infoset of the source is not in the target, or has other actions.
    """
    part = source.game
    for rows in part.rows(player):
        table = source.at(rows.numbers)
        for label, actions, row in zip(rows.labels, rows.actions, table, strict=True):
            try:
                infoset = target.locate(label)
            except KeyError:
                if ENTRY in label:
                    continue
                raise ValueError(
                    f"{part.name} has the infoset {label!r}, but {target.name} does not"
                ) from None
            if infoset.actions != actions:
                raise ValueError(
                    f"infoset {label!r} has the actions {actions} in {part.name} and "
                    f"{infoset.actions} in {target.name}"
                )
            if len(actions) > 1:
                probabilities[infoset.numbers] = row


def same_strategies(source: Policy, game: CompiledGame) -> Policy:
    """Return the strategies of a game in another game with the same hands, which merges none.

    They are copied by :func:`copy_strategies` over uniform strategies.
    """
    nodes, probabilities = nodes_of(game), np.array(Policy.uniform(game).probabilities)
    copy_strategies(
        source, 0, nodes, 0, [(np.arange(len(hands)),) * 2 for hands in nodes.hands], probabilities
    )
    return Policy(game, probabilities)


def best_values(game: CompiledGame, probabilities: np.ndarray, player: int) -> np.ndarray:
    """Compute a player's best-response value with each hand after the first action at the root.

    The player acts at the root, and the game merges no hands.

    Args:
        game: The game.
        probabilities: float64 (numbers,): the strategies to answer.
        player: The player.

    Returns:
        float64 (hands,): in the game's own unit; NaN for hands that are never dealt.
    """
    nodes = nodes_of(game)
    reach = nodes.counterfactual_reach(0, player, [np.ones(len(hands)) for hands in nodes.hands])
    values = ProfileValues(game.chunks, Numbers(probabilities, None, probabilities), None)
    first = nodes.layout(0).numbers(np.arange(len(reach)))[:, 0]
    best = values.at(first).best * game.unit
    return np.divide(best, reach, out=np.full(len(reach), np.nan), where=reach > 0.0)


def unmerged(game: CompiledGame) -> CompiledGame:
    """Return a game in which every hand has strategies of its own.

    It is the given game, or a game of cards that merges hands, compiled again without merging.

    Raises:
        MemoryLimitError: The compiled game is too large.
    """
    if not (game.merges_hands and game.is_of_cards):
        return game
    rules, source = CardNodes.of(game).rules, not_none(game.recipe).source
    with budget(f"compiling {game.name} without merged hands") as memory:
        return compile_cards(rules, Compilation(game.name, memory, symmetry=False, source=source))


def check_merges_nothing(game: CompiledGame) -> None:
    """Check that every hand has strategies of its own, so that new strategies can be stored.

    Raises:
        ValueError: The game merges hands.
    """
    if game.merges_hands:
        raise ValueError(
            f"{game.name} merges hands and boards that the new strategies distinguish: "
            "compile it with symmetry=False, or read the strategies in subgames[k].solution"
        )
