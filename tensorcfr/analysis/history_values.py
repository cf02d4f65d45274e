"""Values and reaches of single histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._util.argument_checks import brief, checked
from .._util.memory_budget import require
from .._util.one_line import OneLine
from ..errors import UnknownNameError, suggest
from ..evaluation.metrics import PolicyLike
from ..formats.policies import find_policy
from ..model.arrays import CHANCE, HistoryTree, levels_below_root
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.team_game import reach_by_steps, step_probabilities


@dataclass(frozen=True, eq=False, repr=False)
class HistoryValues(OneLine):
    """Values and reaches at every history of a game; rows are nodes of ``game.tree``."""

    game: FlatGame
    """The game."""
    reach: np.ndarray
    """float64 (nodes, players + 1): the probability with which each player's own actions lead to
    the history; the last column is chance's."""
    counterfactual_reach: np.ndarray
    """float64 (nodes, players): the probability with which chance and the other players lead
    there."""
    value: np.ndarray
    """float64 (nodes, players): the expected utility of each player from the history on."""

    @property
    def counterfactual(self) -> np.ndarray:
        """float64 (nodes, players): counterfactual value ``v_i(sigma, h)``, the value times
        ``counterfactual_reach``."""
        counterfactual_values: np.ndarray = self.counterfactual_reach * self.value
        return counterfactual_values

    def node(self, *steps: str) -> int:
        """Return the node of a history, by the labels of its outcomes and actions from the start.

        Raises:
            KeyError: There is no such history; names the steps that exist there.
        """
        return find_history(self.game, steps)


@checked()
def history_values(game: Flat, policy: PolicyLike) -> HistoryValues:
    """Compute reaches, values and counterfactual values ``v_i(sigma, h)`` of every history.

    >>> from tensorcfr import Policy, compile_game
    >>> game = compile_game("kuhn")
    >>> found = history_values(game, Policy.uniform(game))
    >>> node = found.node("Q", "K", "pass", "bet")
    >>> found.reach[node].tolist()  # Of player 0, of player 1, of chance.
    [0.5, 0.5, 0.16666666666666666]
    >>> found.value[node].tolist(), found.counterfactual[node].tolist()
    ([-1.5, 1.5], [-0.125, 0.125])

    Args:
        game: The game.
        policy: The policy, in any form that :func:`tensorcfr.formats.find_policy` reads.

    Raises:
        ValueError: The policy is not for this game.
        MemoryLimitError: There is not enough free memory.
    """
    require(8 * game.n_histories * (4 * game.n_players + 4), f"histories of {game.name}")
    profile = find_policy(game, policy).probabilities
    return values_of_profiles(game, [profile] * game.n_players, game.tree.probability)


def values_of_profiles(
    game: FlatGame, profiles: Sequence[np.ndarray], chance: np.ndarray
) -> HistoryValues:
    """Compute values and reaches as :func:`history_values` does, with one profile for each player.

    Args:
        game: The game.
        profiles: For each player float64 (sequences,): the strategies of all players from which
            this player's values and reaches are computed.
        chance: float64 (nodes,): the probability of the step into each node if chance takes it.
    """
    tree, players = game.tree, game.n_players
    mover = np.append(CHANCE, tree.player[tree.parent[1:]])
    reach, others = np.ones((tree.n_nodes, players + 1)), np.ones((tree.n_nodes, players))
    value = np.zeros((tree.n_nodes, players))
    value[tree.terminal] = tree.utility * game.unit
    levels = list(levels_below_root(tree.first_child))
    for player, strategy in enumerate(profiles):
        step = np.where(mover == CHANCE, chance, step_probabilities(game, strategy))
        is_own = mover == player
        reach[:, player] = reach_by_steps(tree, np.where(is_own, step, 1.0))
        others[:, player] = reach_by_steps(tree, np.where(is_own, 1.0, step))
        # Levels run from the deepest up, because a node adds its value to its parent's.
        for level in reversed(levels):
            np.add.at(value[:, player], tree.parent[level], step[level] * value[level, player])
    reach[:, players] = reach_by_steps(tree, np.where(mover == CHANCE, chance, 1.0))
    return HistoryValues(game, reach, others, value)


def find_history(game: FlatGame, steps: Sequence[str]) -> int:
    """Return the node of a history, by the labels of its outcomes and actions from the start.

    Raises:
        KeyError: There is no such history; names the steps that exist there.
    """
    node = 0
    for step in steps:
        children = range(*game.tree.first_child[node : node + 2].tolist())
        labels = [step_label(game, child) for child in children]
        if step not in labels:
            raise UnknownNameError(f"there is no step {brief(step)}; {suggest(str(step), labels)}")
        node = children[labels.index(step)]
    return node


def descendants(tree: HistoryTree, node: int) -> np.ndarray:
    """Return which histories are a history or after it, bool (nodes,)."""
    below = np.zeros(tree.n_nodes, bool)
    below[node] = True
    for level in levels_below_root(tree.first_child):
        below[level] |= below[tree.parent[level]]
    return below


def step_label(game: FlatGame, node: int) -> str:
    """Return the outcome or action that leads to a history, which is not the root."""
    tree, parent = game.tree, int(game.tree.parent[node])
    if tree.player[parent] == CHANCE:
        return str(game.outcome_labels[tree.outcome[node]])
    actions = game.infoset_actions[int(tree.infoset[parent])]
    return actions[node - int(tree.first_child[parent])]
