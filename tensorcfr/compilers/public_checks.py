"""Checks of the rules of a game of private hands; every error names the public history."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real

import numpy as np

from .._util.limits import CHANCE_TOLERANCE
from ..errors import GameError
from ..model.arrays import CHANCE, TERMINAL, PublicTree
from ..rules import Chance, Decision, Payoff, PublicTreeGame
from . import history_reader


@dataclass
class States:
    """Public states of a game, in the order in which the rules were asked for them."""

    name: str
    """Name of the game."""
    nodes: list[Decision | Chance | Payoff] = field(default_factory=list)
    """Decision, chance node or payoff of each state, from the rules."""
    children: list[list[int]] = field(default_factory=list)
    edges: list[list[Hashable]] = field(default_factory=list)
    """Actions or outcomes of each state."""
    reached_from: list[tuple[int, Hashable]] = field(default_factory=list)
    """State from which each state was reached first, and the edge between them."""

    def where(self, state: int) -> str:
        """Return the name of a public history for error messages."""
        labels: list[Hashable] = []
        while state:
            state, edge = self.reached_from[state]
            labels.append(edge)
        return (
            f"public {history_reader.name_history(labels[::-1])}" if labels else "the public root"
        )


def checked_prior(game: PublicTreeGame) -> np.ndarray:
    """Return the prior as float64 (hands of player 0, ...), after checking it and the hands.

    Raises:
        GameError: A field is missing, or a player has a hand twice; or the prior has another shape,
            contains an entry that is not a probability, or does not sum to 1.
    """
    for name in ("hands", "prior"):
        if not hasattr(game, name):
            raise GameError(f"{game.name}: {name} is not set")
    for player, hands in enumerate(game.hands):
        if len(set(map(str, hands))) != len(hands):
            raise GameError(
                f"{game.name}: player {player} has a hand twice: {list(map(str, hands))}"
            )
    prior = np.asarray(game.prior, dtype=np.float64)
    shape = tuple(len(hands) for hands in game.hands)
    if len(shape) != game.n_players or prior.shape != shape:
        raise GameError(
            f"{game.name}: prior has shape {prior.shape}, but there are {game.n_players} players "
            f"with {', '.join(map(str, shape))} hands"
        )
    wrong = ~((prior >= 0) & (prior < np.inf))
    if wrong.any():
        raise GameError(
            f"{game.name}: prior holds {float(prior[wrong][0])!r}, which is not a probability"
        )
    if abs(prior.sum() - 1.0) > CHANCE_TOLERANCE:
        raise GameError(f"{game.name}: prior sums to {float(prior.sum())!r}, not 1")
    return np.array(prior)


def check_decision(game: PublicTreeGame, states: States, node: Decision, index: int) -> None:
    """Check the label, the player and the actions of one public decision."""
    if node.infoset is not None and not isinstance(node.infoset, str):
        raise GameError(f"public label {node.infoset!r} is not a string, at {states.where(index)}")
    if node.infoset is not None and game.states_repeat:
        raise GameError(
            f"public label {node.infoset!r} at {states.where(index)}: where states repeat, public "
            "nodes are named by the steps that lead to them, and infoset must be None"
        )
    where = partial(states.where, index)
    history_reader.check_player(node.player, game.n_players, "the decision", where)
    history_reader.check_actions(node.actions, "the decision", where)


def check_chance(states: States, node: Chance, index: int) -> None:
    """Check one public chance node, except its probabilities."""
    history_reader.check_chance(node.outcomes, lambda: states.where(index))
    if len(set(map(str, node.outcomes))) != len(node.outcomes):
        raise GameError(
            f"an outcome is named twice: {list(map(str, node.outcomes))}, at {states.where(index)}"
        )


def checked_chance(
    probability: object, outcome: Hashable, hands: tuple[int, ...], where: str
) -> np.ndarray:
    """Return the probability of an outcome as float64 (hands of player 0, ...), read-only."""
    try:
        return np.broadcast_to(np.asarray(probability, dtype=np.float64), hands)
    except (TypeError, ValueError):
        raise GameError(
            f"the chance probability of {str(outcome)!r} must be a number or an array "
            f"that broadcasts to {hands}, not {probability!r}, at {where}"
        ) from None


def checked_coefficient(payoff: Payoff, where: str) -> float:
    """Return the coefficient of a payoff, checked to be a finite number."""
    if not isinstance(payoff.coefficient, Real) or not np.isfinite(float(payoff.coefficient)):
        raise GameError(
            f"payoff coefficient {payoff.coefficient!r} is not a finite number, at {where}"
        )
    return float(payoff.coefficient)


def checked_matrix(
    game: PublicTreeGame, payoff: Payoff, hands: tuple[int, ...], where: str
) -> np.ndarray:
    """Return a payoff matrix as float64 (players, hands of player 0, ...), after checking its
    shape."""
    shape = (game.n_players, *hands)
    answer = game.matrix(payoff.matrix)
    try:
        matrix = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise GameError(
            f"payoff matrix {payoff.matrix!r} must be an array of shape {shape}, not {answer!r}, "
            f"at {where}"
        ) from None
    if matrix.shape != shape:
        raise GameError(
            f"payoff matrix {payoff.matrix!r} has shape {matrix.shape}, not {shape}, at {where}"
        )
    return np.array(matrix)


def check_deals(game: PublicTreeGame, states: States, tree: PublicTree, state: np.ndarray) -> None:
    """Check chance probabilities and utilities for the deals that reach each node.

    Entries for other deals may be anything.

    Args:
        game: The rules.
        states: The public states.
        tree: The public tree.
        state: int (nodes,): public state of each public node.
    """
    possible = tree.alive
    relevant = (tree.player == CHANCE) | (tree.player == TERMINAL)
    pairs = state[relevant].astype(np.int64) * len(possible) + tree.weight[relevant]
    distinct, first = np.unique(pairs, return_index=True)
    # Nodes with one state and one weight have the same deals and the same answers: check each pair
    # once, in the order of the tree, so that the error names the first fault.
    in_tree_order = [divmod(pair, len(possible)) for pair in distinct[np.argsort(first)].tolist()]
    for index, weight in in_tree_order:
        answer, node = states.nodes[index], int(np.argmax(state == index))
        if isinstance(answer, Chance):
            outcomes = list(map(str, answer.outcomes))
            rows = tree.chance_table[
                tree.chance[tree.first_child[node] : tree.first_child[node + 1]]
            ]
            _check_probabilities(game, rows, possible[weight], outcomes, states.where(index))
    for index, weight in in_tree_order:
        answer, node = states.nodes[index], int(np.argmax(state == index))
        if isinstance(answer, Payoff):
            with np.errstate(over="ignore"):
                table = answer.coefficient * tree.matrix_table[tree.matrix[tree.payoff[node]]]
            wrong = possible[weight] & ~np.isfinite(table).all(axis=0)
            if wrong.any():
                deal = tuple(np.argwhere(wrong)[0].tolist())
                utilities = tuple(table[(slice(None), *deal)].tolist())
                raise GameError(
                    f"utilities {utilities!r} are not finite, for hands {_hand_names(game, deal)} "
                    f"at {states.where(index)}"
                )


def _check_probabilities(
    game: PublicTreeGame, rows: np.ndarray, possible: np.ndarray, outcomes: list[str], where: str
) -> None:
    """Check that chance probabilities are not negative and sum to 1, for every possible deal."""
    wrong = ~((rows >= 0) & (rows < np.inf)) & possible
    if wrong.any():
        outcome, *deal = map(int, np.argwhere(wrong)[0])
        raise GameError(
            f"chance probability {float(rows[(outcome, *deal)])!r} of {outcomes[outcome]!r} is not "
            f"between 0 and 1, for hands {_hand_names(game, deal)} at {where}"
        )
    off = (np.abs(rows.sum(axis=0) - 1.0) > CHANCE_TOLERANCE) & possible
    if off.any():
        deal = np.argwhere(off)[0].tolist()
        raise GameError(
            f"chance probabilities sum to {float(rows.sum(axis=0)[tuple(deal)])!r}, not 1, for "
            f"hands {_hand_names(game, deal)} at {where}"
        )


def _hand_names(game: PublicTreeGame, deal: Sequence[int]) -> str:
    """Return the names of the hands in a deal, like ``[J, Q]``."""
    player_hands = zip(game.hands, deal, strict=True)
    return f"[{', '.join(str(labels[hand]) for labels, hand in player_hands)}]"
