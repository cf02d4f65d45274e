"""Gadget games: a subgame in which the opponent need not play."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..compilers import compile_game
from ..model.game import CompiledGame
from ..rules import Chance, Decision, Game, Terminal
from .part import ENTRY, Part

MakePart = Callable[..., Part]
"""Makes the subgame, as rules, from the weights of the deals and the entries."""


def resolve_gadget(
    part: MakePart, weights: np.ndarray, opponent: int, alternative: np.ndarray
) -> CompiledGame:
    """The gadget of CFR-D: with every hand the opponent follows or takes the alternative value.

    Source: N. Burch, M. Johanson, M. Bowling, "Solving imperfect information games using
    decomposition", AAAI 2014.

    Args:
        part: Makes the subgame.
        weights: float64 (nodes, hands of player 0, hands of player 1): weights of the deals without
            the opponent's own actions.
        opponent: The player who need not play.
        alternative: float64 (nodes, hands): the alternative values, in the unit of the game.
    """
    return compile_game(part(weights, {opponent: alternative}))


def maxmargin_gadget(
    part: MakePart, weights: np.ndarray, opponent: int, alternative: np.ndarray
) -> CompiledGame:
    """The maxmargin gadget: the opponent chooses the hand with which to play, and pays for it.

    The opponent gets the value of the hand minus its alternative value, so that the value of the
    gadget to the other player is the largest possible least margin.  Arguments are those of
    :func:`resolve_gadget`.

    Source: M. Moravčík, M. Schmid, K. Ha, M. Hladík, S. Gaukrodger, "Refining subgames in large
    imperfect information games", AAAI 2016.
    """
    return compile_game(ChosenHand(part(weights), weights, opponent, alternative))


class Held(NamedTuple):
    """A state of the maxmargin gadget after the hands are known."""

    hands: tuple[int, int]
    root: int
    public: Any
    """The public state of the part; None before chance draws the other player's hand."""


class ChosenHand(Game):
    """The maxmargin gadget, as rules that are compiled history by history.

    Args:
        part: The subgame.
        weights: As for :func:`maxmargin_gadget`, like the next two.
        opponent: The player who chooses.
        alternative: The alternative values.
    """

    def __init__(
        self, part: Part, weights: np.ndarray, opponent: int, alternative: np.ndarray
    ) -> None:
        self.part, self.weights, self.opponent, self.alternative = (
            part,
            weights,
            opponent,
            alternative,
        )
        own = part.hands[opponent]
        dealt = weights.sum(axis=2 - opponent) > 0
        self.choices = {
            f"{own[hand]}{ENTRY}{part.nodes.names[root]}": (int(root), int(hand))
            for root, hand in np.argwhere(dealt)
        }

    @property
    def name(self) -> str:
        """That of the subgame."""
        return self.part.name

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """The choice, the other player's hand, then the public states of the subgame."""
        if not state:
            return Decision(self.opponent, f"{ENTRY}{self.name}", tuple(self.choices))
        part, own = self.part, self.opponent
        if state.public is None:
            given = np.moveaxis(self.weights[state.root], own, 0)[state.hands[own]]
            drawn = given / given.sum()
            hands = part.hands[1 - own]
            return Chance({hands[h]: float(drawn[h]) for h in np.flatnonzero(drawn).tolist()})
        found = part.node(state.public)
        if isinstance(found, Decision):
            hand = part.hands[found.player][state.hands[found.player]]
            return found._replace(infoset=part.label(found.player, hand, str(found.infoset)))
        if isinstance(found, Chance):
            given = {
                outcome: float(np.broadcast_to(table, part.prior.shape)[state.hands])
                for outcome, table in found.outcomes.items()
            }
            return Chance({outcome: p for outcome, p in given.items() if p > 0})
        matrix = part.matrix(found.matrix)[own]
        gain = found.coefficient * float(matrix[state.hands])
        gain -= float(self.alternative[state.root, state.hands[own]])
        return Terminal((gain, -gain) if own == 0 else (-gain, gain))

    def next(self, state: Any, action: Any) -> Any:
        """The state after a step."""
        own = self.opponent
        if not state:
            root, hand = self.choices[action]
            return Held((hand, -1) if own == 0 else (-1, hand), root, None)
        if state.public is None:
            hand = self.part.hands[1 - own].index(action)
            held = state.hands
            return state._replace(
                hands=(held[0], hand) if own == 0 else (hand, held[1]),
                public=self.part.nodes.nodes[state.root],
            )
        return state._replace(public=self.part.next(state.public, action))
