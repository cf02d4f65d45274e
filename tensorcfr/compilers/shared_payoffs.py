"""Rules of a game whose players share the payoffs of their team.

Every member gets the mean of the members' payoffs.  So the gain of a member is the gain of the team
divided by its number of members.  The sum over all players does not change: a zero-sum game stays
zero-sum.  The information of the players does not change either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import Game, PublicTreeGame, Rules, Terminal
from .derived_rules import Derived, DerivedPublicTree


def share_payoffs(rules: Rules, teams: tuple[tuple[int, ...], ...]) -> Rules:
    """Return the rules with shared payoffs, or the same rules if every team has one player.

    Args:
        rules: The rules.
        teams: The players of each team, validated.
    """
    if rules.n_players == len(teams):
        return rules
    mean = np.zeros((rules.n_players, rules.n_players))
    for team in teams:
        mean[np.ix_(team, team)] = 1.0 / len(team)
    if isinstance(rules, Game):
        return _SharedTree(rules, mean)
    # A card game has two players, so two teams of it have one player each.
    return _SharedPublicTree(rules, mean) if isinstance(rules, PublicTreeGame) else rules


class _SharedTree(Derived, Game):
    """Game given by its histories, with shared payoffs."""

    def __init__(self, rules: Game, mean: np.ndarray) -> None:
        super().__init__(rules)
        self.mean = mean

    def node(self, state: Any) -> Any:
        node = self.rules.node(state)
        if not isinstance(node, Terminal):
            return node
        return Terminal(tuple((self.mean @ np.asarray(node.utilities, np.float64)).tolist()))


class _SharedPublicTree(DerivedPublicTree):
    """Game of private hands on a public tree, with shared payoffs."""

    def __init__(self, rules: PublicTreeGame, mean: np.ndarray) -> None:
        super().__init__(rules)
        self.mean = mean

    def matrix(self, key: Any) -> np.ndarray:
        # Entries of impossible deals may hold anything, even nan.  The product mixes only the
        # players of one deal, so such entries do not affect other deals.
        return np.tensordot(self.mean, self.rules.matrix(key), axes=1)
