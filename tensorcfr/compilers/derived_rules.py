"""Rules that are made from other rules: base classes, and shared payoffs of teams."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from ..rules import BaseRules, Game, PublicTreeGame, Rules, Terminal

C = TypeVar("C", bound=type)


def forwards(*names: str, to: str = "rules") -> Callable[[C], C]:
    """Return a decorator of a class that takes some attributes from another object.

    Args:
        names: The attributes.
        to: The attribute that is the other object.
    """

    def decorate(cls: C) -> C:
        for name in names:
            if name not in vars(cls):
                # An attribute of the instance has priority over it.
                forwarded = cached_property(attrgetter(f"{to}.{name}"))
                forwarded.__set_name__(cls, name)
                setattr(cls, name, forwarded)
        return cls

    return decorate


@forwards("n_players", "name", "root", "node", "next")
class Derived(BaseRules):
    """Rules made from other rules; a class that derives from this one states only the differences.

    Args:
        rules: The other rules.
    """

    def __init__(self, rules: Any) -> None:
        self.rules = rules


@forwards("states_repeat", "hands", "prior", "matrix", "label")
class DerivedPublicTree(Derived, PublicTreeGame):
    """Game of private hands on a public tree, made from another such game."""


def joins_labels(rules: PublicTreeGame) -> bool:
    """Return whether the label of an infoset is the hand and the public label, joined."""
    return getattr(rules.label, "__func__", None) is PublicTreeGame.label


def share_payoffs(rules: Rules, teams: tuple[tuple[int, ...], ...]) -> Rules:
    """Return rules in which the players share the payoffs of their team, or the same rules if every
    team has one player.

    Every member gets the mean of the members' payoffs, so the gain of a member is the gain of the
    team divided by its number of members.  The sum over all players does not change: a zero-sum
    game stays zero-sum.  The information of the players does not change either.

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
