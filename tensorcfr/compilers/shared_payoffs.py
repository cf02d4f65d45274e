"""The rules of a game whose players share the payoffs of their team.

Every member gets the mean of the members' payoffs.  So a member's gain is the team's, divided by
their number, and the sum over all players is that of the game: a game with sum zero keeps it.  Who
knows what does not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import Game, PublicTreeGame, Rules, Terminal


def share_payoffs(rules: Rules, teams: tuple[tuple[int, ...], ...]) -> Rules:
    """The same rules with shared payoffs; unchanged where every player is alone.

    Args:
        rules: The rules.
        teams: The players of each team, checked.
    """
    if rules.n_players == len(teams):
        return rules
    mean = np.zeros((rules.n_players, rules.n_players))
    for team in teams:
        mean[np.ix_(team, team)] = 1.0 / len(team)
    if isinstance(rules, Game):
        return _SharedTree(rules, mean)
    # Of two players of a game of cards, each is alone.
    return _SharedPublicTree(rules, mean) if isinstance(rules, PublicTreeGame) else rules


class _SharedTree(Game):
    """A game by its histories."""

    def __init__(self, rules: Game, mean: np.ndarray) -> None:
        self.rules, self.mean = rules, mean
        self.n_players = rules.n_players
        self.root, self.next = rules.root, rules.next  # type: ignore[method-assign]

    @property
    def name(self) -> str:
        return self.rules.name

    def node(self, state: Any) -> Any:
        node = self.rules.node(state)
        if not isinstance(node, Terminal):
            return node
        return Terminal(tuple((self.mean @ np.asarray(node.utilities, np.float64)).tolist()))


class _SharedPublicTree(PublicTreeGame):
    """A game of private hands on a public tree."""

    def __init__(self, rules: PublicTreeGame, mean: np.ndarray) -> None:
        self.rules, self.mean = rules, mean
        self.n_players, self.states_repeat = rules.n_players, rules.states_repeat
        self.hands, self.prior = rules.hands, rules.prior
        self.root, self.node, self.next = rules.root, rules.node, rules.next  # type: ignore[method-assign]
        self.label = rules.label  # type: ignore[method-assign]

    @property
    def name(self) -> str:
        return self.rules.name

    def matrix(self, key: Any) -> np.ndarray:
        # Entries of deals that cannot occur may be anything, even nan; they stay with their deal.
        return np.tensordot(self.mean, self.rules.matrix(key), axes=1)
