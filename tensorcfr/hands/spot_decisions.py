"""Decisions of a solved spot, with the situations that count hands and the reaches there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .._util.argument_checks import brief
from ..compilers.cards.card_public_nodes import CardNodes
from ..evaluation.profile import strategies_at
from ..games.poker.deck import CARDS
from ..games.poker.spot import Spot
from ..model.arrays import CHANCE
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from .played_hands import BET, RAISE, STREETS
from .situations import (
    ANY,
    IP,
    OOP,
    HandSituation,
    StreetCourse,
    action_class,
    board_class,
    stack_class,
)

SEATS = (OOP, IP)
"""Position of each player of a spot."""


class SpotDecision(NamedTuple):
    """Decision of a player at a public node of a spot."""

    node: int
    """Public node."""
    situation: HandSituation
    """Situation; the course before the spot is unknown unless it was given."""
    labels: tuple[str, ...]
    """Labels of the actions."""
    classes: tuple[str, ...]
    """Class of each action."""
    strategy: np.ndarray
    """float64 (hands, actions): strategy of the given policy."""
    weight: np.ndarray
    """float64 (hands,): probability of each hand and of reaching the node with it."""
    own_reaches: list[np.ndarray]
    """float64 (hands,) for each player: own reach of the node."""


def nodes_of_spot(game: CompiledGame) -> CardNodes:
    """Return the public nodes of a spot of two players.

    Raises:
        ValueError: The game is not such a spot.
    """
    rules = getattr(game.nodes, "rules", None)
    if not isinstance(rules, Spot) or rules.n_players != 2:
        raise ValueError(f"game must be a spot of two players after the flop, not {brief(game)}")
    return CardNodes.of(game)


def size_class(rules: Spot, state: object, label: str) -> str:
    """Return the class of an action of a spot.

    Args:
        rules: The spot.
        state: State before the action.
        label: Label of the action.
    """
    word, share = size_of(rules, state, label)
    return action_class(word, share, is_all_in=label == "allin")


def size_of(rules: Spot, state: object, label: str) -> tuple[str, float]:
    """Return the action of a label, and its size as a share of the pot after a call."""
    if label in ("fold", "check", "call"):
        return label, 0.0
    betting = rules.betting
    highest = max(state.street_put)  # type: ignore[attr-defined]
    amount = betting.raised_to(state, label)  # type: ignore[arg-type]
    pot = betting.pot + 2 * (state.put + highest)  # type: ignore[attr-defined]
    return (RAISE if highest else BET), (amount - highest) / pot


def spot_decisions(
    game: CompiledGame,
    policy: Policy,
    player: int,
    *,
    pot_class: str | None = None,
    change: Callable[[SpotDecision], np.ndarray] | None = None,
) -> Iterator[SpotDecision]:
    """Yield the decisions of a player that some hand reaches, each before those after it.

    Args:
        game: The spot.
        policy: Strategies of both players.
        player: The player.
        pot_class: Class of the pot before the flop, ``"raised"``; None if it is unknown.
        change: Function that returns another strategy of the player at a decision; reaches follow
            it.
    """
    nodes = nodes_of_spot(game)
    rules = nodes.rules
    assert isinstance(rules, Spot)
    start = ANY if pot_class is None or rules.street else pot_class
    reaches = [np.ones(len(hands)) for hands in rules.hands]
    pending = [(0, rules.root(), StreetCourse(), start, "", reaches)]
    while pending:
        node, state, course, before, stack, reaches = pending.pop()
        actor, edges = nodes.player(node), nodes.children(node)
        if actor == CHANCE:
            dealt = rules.next(state, None)
            if before != ANY:
                before = f"{before}; {STREETS[state.street + 1]} {course.summary}"
            pending += [
                (edge.node, dealt, StreetCourse(), before, "", reaches) for edge in reversed(edges)
            ]
        if actor < 0 or not nodes.possible(node, actor).any():
            continue
        labels = tuple(edge.label for edge in edges)
        chips = rules.chips(state)
        stack = stack or stack_class(min(chips.behind or ()) / chips.pot)
        classes = tuple(size_class(rules, state, label) for label in labels)
        strategy = strategies_at(policy, nodes, node)
        if actor == player:
            board = board_class("".join(CARDS[card] for card in nodes.cards(node)))
            line, street = ", ".join(course.words), STREETS[state.street + 1]
            situation = HandSituation(street, SEATS[player], line, before, board, stack)
            weight = reaches[player] * nodes.counterfactual_reach(node, player, reaches)
            decision = SpotDecision(node, situation, labels, classes, strategy, weight, reaches)
            yield decision
            if change is not None:
                strategy = change(decision)
        for k in reversed(range(len(edges))):
            below = [
                reach * strategy[:, k] if seat == actor else reach
                for seat, reach in enumerate(reaches)
            ]
            after = course.after(classes[k], SEATS[actor])
            next_state = rules.next(state, labels[k])
            pending.append((edges[k].node, next_state, after, before, stack, below))
