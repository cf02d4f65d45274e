"""Blueprints: policies that resolving begins with, of the game itself or of a coarser one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._util.arguments import brief
from ..compilers.cards.nodes import CardNodes
from ..evaluation.profile import ProfileValues, own_reach_of, profile_of
from ..formats.policies import find_policy
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..model.public_nodes import PublicNodes
from ..rules import CardGame
from ..solvers.solution import Solution
from .card_part import CardSubgames
from .compiled_part import CompiledPart, Subgames
from .roots import Steps, nodes_of
from .strategies import same_strategies, unmerged
from .tree_part import TreeSubgames


def subgames_of(game: CompiledGame | CardGame, *, by_pairs: bool = False) -> Subgames:
    """The subgames of a game; or those of the rules of a game of cards, compiled one by one.  With
    ``by_pairs`` they have arrays over pairs of hands where they could do without.  A ValueError
    says that it is no game of private hands between two players."""
    if isinstance(game, CardGame):
        return CardSubgames(game)
    if by_pairs or not nodes_of(game).is_of_cards:
        return TreeSubgames(game)
    return CardSubgames(CardNodes.of(game).rules, game)


@dataclass(frozen=True, eq=False)
class Blueprint:
    """A policy, and the values that resolving relies on.

    Make one with :func:`find_blueprint`.
    """

    policy: Policy
    """The policy of the game that it is for, which may be coarser than the game resolved in."""
    whole: Subgames
    """The game that is resolved in."""
    own: Subgames
    """The game of the policy."""

    @property
    def nodes(self) -> PublicNodes:
        """The public nodes of the policy's game."""
        return nodes_of(self.policy.game)

    @property
    def is_coarser(self) -> bool:
        """Whether the policy is of another game."""
        return self.own is not self.whole

    @cached_property
    def lifted(self) -> Policy:
        """The same as a policy of the game that is resolved in: actions that the coarser game has
        not get probability 0, and infosets that it has not play uniformly.

        Raises:
            ValueError: That game is not compiled, or pays otherwise.
        """
        game = self.whole.game
        if game is None:
            raise ValueError(
                f"{self.whole.name} is not compiled: the new strategies are those of "
                "subgames[k].solution"
            )
        if not self.is_coarser:
            return Policy(game, self.policy.probabilities)
        self.check_ends(())
        return same_strategies(self.policy, unmerged(game))

    def known(self, steps: Steps, opponent: int) -> Steps:
        """The steps to the public node of the blueprint's game whose values hold for a public node:
        itself; or, where the opponent has just taken an action that the blueprint's game has not,
        the one before that action.

        Raises:
            ValueError: The node is further than one action away from the blueprint's game.
        """
        before = steps[:-1]
        if self.node(steps) is not None:
            return steps
        if self.whole.player(before) == opponent and self.node(before) is not None:
            return before
        raise ValueError(
            f"{' '.join(steps)!r} is not one action of player {opponent} away from "
            f"{self.policy.game.name}, the game of the blueprint: resolve at an earlier line first"
        )

    def node(self, steps: Steps) -> int | None:
        """The public node of the blueprint's game that some steps lead to, if there is one."""
        return self.nodes.find_node(steps)

    def reach(self, steps: Steps, player: int) -> np.ndarray:
        """float64 (hands,): the probability that a player's actions lead to a public node of the
        blueprint's game."""
        return own_reach_of(self.policy, self.nodes, self.node(steps) or 0, player)

    def check_ends(self, steps: Steps) -> None:
        """Check that the blueprint's game is a coarser form of the game, from a public node on.

        Raises:
            ValueError: Others act in it, it pays otherwise, or it has an action that the game has
                not; names the line.
        """
        coarse = self.policy.game
        if self.is_coarser and (found := self.whole.difference(coarse, steps)) is not None:
            line, how = found
            raise ValueError(
                f"the blueprint is for {coarse.name}, which {how} than {self.whole.name} here "
                f"after {line!r}"
            )

    def entry_values(self, part: CompiledPart, steps: Steps) -> np.ndarray:
        """Alternative values of the opponent at the entry of a subgame of the blueprint's game, to
        which some steps lead: best-response values against the blueprint, float64 (hands,); NaN for
        hands that cannot be dealt there."""
        return part.best_values(part.strategies(self.policy, self.node(steps)))

    def gifts(self, steps: Steps, opponent: int) -> np.ndarray:
        """Gifts of an opponent on the way to a node of the blueprint's game, by hand, per unit of
        reach.

        A gift is what the opponent's action loses: how much less a best response gets after it than
        after the best action there.  Each subgame below the action may spend the part that is
        proportional to its probability given the action.  Whatever the opponent does next, these
        parts sum to the gift at most, so that the action is then worth no more than the best one
        was, and the opponent no more there than before.

        Source: N. Brown, T. Sandholm, "Safe and nested subgame solving for imperfect-information
        games", NIPS 2017, without the lower bounds there: other subgames that are solved again may
        make the best action worth less than the gift counts, which costs improvement and not
        safety.
        """
        policy, nodes = self.policy, self.nodes
        total = np.zeros(len(nodes.hands[opponent]))
        for above, acts, action in nodes.way(self.node(steps) or 0):
            if acts != opponent:
                continue
            layout = nodes.layout(above)
            best = self._profile.at(layout.numbers(np.arange(len(total)))).best * policy.game.unit
            gift = best.max(axis=1) - best[:, action]
            child = nodes.children(above)[action].node
            own = [own_reach_of(policy, nodes, child, player) for player in range(2)]
            reach = nodes.others_reach(child, opponent, own) * layout.stands_for
            held = (layout.lane >= 0) & (reach > 0)
            total += np.divide(gift, reach, out=np.zeros_like(gift), where=held)
        return total

    @cached_property
    def _profile(self) -> ProfileValues:
        return profile_of(self.policy)


def find_blueprint(whole: Subgames, source: Any) -> Blueprint:
    """The blueprint of a source: a solution; a policy of the game or of a coarser one, which deals
    the same hands; or any other form of a policy of the game.

    Raises:
        TypeError: This is no source of a policy.
        ValueError: It is a policy of a game that deals other hands.
    """
    policy = source.policy if isinstance(source, Solution) else source
    if not isinstance(policy, Policy):
        if whole.game is None:
            raise TypeError(
                f"blueprint must be a solution or a policy of a game of cards, not {brief(source)}"
            )
        policy = find_policy(whole.game, policy, "blueprint")
    game = policy.game
    if whole.is_of(game):
        return Blueprint(policy, whole, whole)
    if not whole.deals_like(game):
        raise ValueError(
            f"the blueprint is for {game.name}, which deals other hands or boards than "
            f"{whole.name} here"
        )
    return Blueprint(policy, whole, whole.like(game))
