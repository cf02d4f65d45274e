"""Blueprints: policies from which resolving starts, of the game itself or of a coarser game."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._util.argument_checks import brief
from ..compilers.cards.card_public_nodes import CardNodes
from ..evaluation.profile import ProfileValues, own_reach_of, profile_of
from ..formats.policies import find_policy
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from ..model.public_nodes import PublicNodes
from ..model.sequence_table import policy_of
from ..rules import CardGame
from .card_part import CardSubgames
from .compiled_part import CompiledPart, Subgames
from .copied_strategies import same_strategies, unmerged
from .roots import Steps, nodes_of
from .tree_part import TreeSubgames


def subgames_of(game: CompiledGame | CardGame, *, by_pairs: bool = False) -> Subgames:
    """Return the subgames of a compiled game, or of the rules of a game of cards.

    Subgames of rules are compiled one by one.

    Args:
        game: The game, or its rules.
        by_pairs: Whether to use arrays over pairs of hands also for games of cards, which do not
            need them.

    Raises:
        ValueError: The game is not a game of private hands, or has more than two players and is not
            a game of cards.
    """
    if isinstance(game, CardGame):
        return CardSubgames(game)
    if by_pairs or not nodes_of(game).is_of_cards:
        return TreeSubgames(game)
    return CardSubgames(CardNodes.of(game).rules, game)


@dataclass(frozen=True, eq=False)
class Blueprint:
    """A policy, with the values that resolving relies on.

    Make one with :func:`find_blueprint`.
    """

    policy: Policy
    """The policy. Its game may be coarser than the game in which subgames are resolved."""
    target: Subgames
    """Subgames of the game in which subgames are resolved."""
    source: Subgames
    """Subgames of the policy's game."""

    @property
    def nodes(self) -> PublicNodes:
        """Public nodes of the policy's game."""
        return nodes_of(self.policy.game)

    @property
    def is_coarser(self) -> bool:
        """True if the policy is for another game than the one in which subgames are resolved."""
        return self.source is not self.target

    @cached_property
    def lifted(self) -> Policy:
        """The policy in the game in which subgames are resolved.

        Actions that the coarser game lacks get probability 0. Infosets that it lacks are played
        uniformly.

        Raises:
            ValueError: That game is not compiled, or has other payoffs.
        """
        game = self.target.game
        if game is None:
            raise ValueError(
                f"{self.target.name} is not compiled: read the new strategies from "
                "subgames[k].solution"
            )
        if not self.is_coarser:
            return Policy(game, self.policy.probabilities)
        self.check_ends(())
        return same_strategies(self.policy, unmerged(game))

    def known(self, steps: Steps, opponent: int) -> Steps:
        """Return the steps to the public node of the blueprint's game whose values hold for a
        public node.

        This is the node itself. If the opponent has just taken an action that the blueprint's game
        lacks, it is the node before that action.

        Raises:
            ValueError: The node is more than one action away from the blueprint's game.
        """
        parent_steps = steps[:-1]
        if self.node(steps) is not None:
            return steps
        if self.target.player(parent_steps) == opponent and self.node(parent_steps) is not None:
            return parent_steps
        raise ValueError(
            f"{' '.join(steps)!r} is not one action of player {opponent} away from "
            f"{self.policy.game.name}, the game of the blueprint: resolve at an earlier line first"
        )

    def node(self, steps: Steps) -> int | None:
        """Return the public node of the blueprint's game that some steps lead to, or None."""
        return self.nodes.find_node(steps)

    def reach(self, steps: Steps, player: int) -> np.ndarray:
        """Return a player's own reach of a public node of the blueprint's game, float64
        (hands,)."""
        return own_reach_of(self.policy, self.nodes, self.node(steps) or 0, player)

    def check_ends(self, steps: Steps) -> None:
        """Check that the blueprint's game is a coarser form of the game, from a public node on.

        Raises:
            ValueError: The player to act or the payoffs differ, or the blueprint's game has an
                action that the game lacks; names the line.
        """
        coarse = self.policy.game
        if self.is_coarser and (difference := self.target.difference(coarse, steps)) is not None:
            line, description = difference
            raise ValueError(
                f"the blueprint is for {coarse.name}, which {description} than {self.target.name} "
                f"here after {line!r}"
            )

    def entry_values(self, part: CompiledPart, steps: Steps) -> np.ndarray:
        """Compute the opponent's alternative values at the entry of a subgame of the blueprint's
        game.

        They are best-response values against the blueprint.

        Args:
            part: The subgame.
            steps: The steps that lead to it.

        Returns:
            float64 (hands,); NaN for hands that cannot be dealt there.
        """
        return part.best_values(part.strategies(self.policy, self.node(steps)))

    def gifts(self, steps: Steps, opponent: int) -> np.ndarray:
        """Compute the gifts of an opponent on the way to a node of the blueprint's game.

        A gift is the loss of an opponent's action: the best-response value of the best action minus
        the best-response value of this action. Each subgame below the action may spend the part of
        the gift that is proportional to the subgame's probability given the action. For any later
        play of the opponent these parts sum to at most the gift. The action is then worth no more
        than the best one was, and the opponent's value before it does not increase.

        Source: N. Brown, T. Sandholm, "Safe and nested subgame solving for imperfect-information
        games", NIPS 2017. The lower bounds there are left out. Other subgames that are solved again
        may make the best action worth less than the gift assumes; this reduces the improvement, not
        the safety.

        Returns:
            float64 (hands,): gifts per unit of reach.
        """
        policy, nodes = self.policy, self.nodes
        total = np.zeros(len(nodes.hands[opponent]))
        for decision, actor, action in nodes.decisions_on_path(self.node(steps) or 0):
            if actor != opponent:
                continue
            layout = nodes.layout(decision)
            best = self._profile.at(layout.numbers(np.arange(len(total)))).best * policy.game.unit
            gift = best.max(axis=1) - best[:, action]
            child = nodes.children(decision)[action].node
            own_reaches = [own_reach_of(policy, nodes, child, player) for player in range(2)]
            reach = nodes.counterfactual_reach(child, opponent, own_reaches) * layout.multiplicity
            is_possible = (layout.lane >= 0) & (reach > 0)
            # Gifts are differences of counterfactual values; divide them by the others' reach, and
            # by the number of merged infosets that they sum.
            total += np.divide(gift, reach, out=np.zeros_like(gift), where=is_possible)
        return total

    @cached_property
    def _profile(self) -> ProfileValues:
        return profile_of(self.policy)


def find_blueprint(target: Subgames, source: Any) -> Blueprint:
    """Return the blueprint of a source.

    Args:
        target: The subgames of the game in which subgames are resolved.
        source: A solution; a policy of the game, or of a coarser game that deals the same hands; or
            a policy of the game in any other form.

    Raises:
        TypeError: The source is not a policy in any known form.
        ValueError: The policy is for a game that deals other hands.
    """
    policy = policy_of(source)
    if not isinstance(policy, Policy):
        if target.game is None:
            raise TypeError(
                f"blueprint must be a solution or a policy of a game of cards, not {brief(source)}"
            )
        policy = find_policy(target.game, policy, "blueprint")
    game = policy.game
    if target.is_of(game):
        return Blueprint(policy, target, target)
    if not target.deals_like(game):
        raise ValueError(
            f"the blueprint is for {game.name}, which deals other hands or boards than "
            f"{target.name} here"
        )
    return Blueprint(policy, target, target.like(game))
