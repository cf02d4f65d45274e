"""Policies in any form as functions of histories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._util.argument_checks import brief
from ..formats.openspiel import OpenSpielGame
from ..model.infoset import Infoset, call_policy, distribution
from .lazy_histories import Histories, Node
from .uncompiled_game import UncompiledGame

Strategy = Callable[[Node], list[float]]
"""Function that maps a decision node to the probabilities of its actions, in their order."""
MAX_REMEMBERED = 1_000_000
"""Maximum number of infosets whose probabilities are cached."""


def strategy_of(histories: Histories, policy: Any, name: str = "policy") -> Strategy:
    """Convert a policy to a function of histories.

    The policy is queried once per infoset while the cache has room.

    Args:
        histories: The histories of the game.
        policy: A function, see :data:`tensorcfr.model.infoset.Strategies`; or a mapping of infoset
            label to action label to probability, such as a policy of a compiled game.  It may also
            be a policy of OpenSpiel, for its games, or an object with a method
            ``at_history(infoset, node)``.
        name: Name of the argument in errors.

    Raises:
        TypeError: The policy has none of these forms.
    """
    ask = _query_function(histories.game, policy, name)
    table = histories.table
    remembered: dict[int, list[float]] = {}

    def strategy(node: Node) -> list[float]:
        cached = remembered.get(node.row)
        if cached is None:
            infoset = Infoset(node.label, node.actor, table.names[table.kind[node.row]])
            cached = distribution(infoset, ask(infoset, node)).tolist()
            if len(remembered) < MAX_REMEMBERED:
                remembered[node.row] = cached
        return cached

    return strategy


def _query_function(game: UncompiledGame, policy: Any, name: str) -> Callable[[Infoset, Node], Any]:
    """Return a function that queries a policy at an infoset and one of its histories."""
    if hasattr(policy, "at_history"):
        return lambda infoset, node: policy.at_history(infoset, node)
    if hasattr(policy, "action_probabilities"):
        if not isinstance(game.rules, OpenSpielGame):
            raise TypeError(
                f"{name} is an OpenSpiel policy, but {game.name} is not an OpenSpiel game"
            )

        def theirs(infoset: Infoset, node: Node) -> dict[str, float]:
            probabilities = policy.action_probabilities(node.state)
            return {str(action): probabilities.get(action.number, 0.0) for action in node.edges}

        return theirs
    if callable(policy):
        return lambda infoset, node: call_policy(infoset, policy, name)
    if isinstance(policy, Mapping):

        def listed(infoset: Infoset, node: Node) -> Any:
            try:
                return policy[str(infoset)]
            except KeyError:
                raise ValueError(
                    f"the {name} has no probabilities for infoset {str(infoset)!r}"
                ) from None

        return listed
    raise TypeError(
        f"{name} must be a function of infosets, a mapping of infosets to actions to "
        f"probabilities, or a policy of OpenSpiel, not {brief(policy)}"
    )
