"""Subgames of games whose deals are pairs of hands: public trees, and small games of cards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..compilers import compile_game
from ..model.arrays import TERMINAL
from ..model.compiled_game import CompiledGame
from ..model.public_nodes import START, PublicNodes
from ..rules import Chance, Decision, Game, Terminal
from ..uncompiled.dealt import DealtHands
from .compiled_part import CompiledPart, Gadget, Spot, Subgames
from .depth import Early, LimitedPart
from .part import Entrance, Part, compile_part
from .roots import At, Roots, Steps, find_roots, nodes_of, steps_to
from .strategies import ENTRY, shared_nodes


class Held(NamedTuple):
    """State of the maxmargin gadget after the opponent has chosen."""

    hand: int
    root: int
    dealt: Any
    """State of the part with both hands dealt; None before chance draws the other player's hand."""


class ChosenHand(Game):
    """Maxmargin gadget of a subgame, as rules that are compiled history by history.

    Args:
        part: The subgame.
        weights: float64 (nodes, hands of player 0, hands of player 1): weights of the deals,
            without the own actions of the opponent, who chooses.
        opponent: The player who chooses.
        alternative: float64 (nodes, hands): the alternative values, in the unit of the game.
    """

    def __init__(
        self, part: Part, weights: np.ndarray, opponent: int, alternative: np.ndarray
    ) -> None:
        self.part, self.weights = part, weights
        self.opponent, self.alternative = opponent, alternative
        self.histories = DealtHands(part)
        own = part.hands[opponent]
        dealt = weights.sum(axis=2 - opponent) > 0
        self.choices = {
            f"{own[hand]}{ENTRY}{part.roots.names[root]}": (int(root), int(hand))
            for root, hand in np.argwhere(dealt)
        }

    @property
    def name(self) -> str:
        """Name of the subgame."""
        return self.part.name

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Return the choice, the draw of the other player's hand, or a node of the subgame."""
        if not state:
            return Decision(self.opponent, f"{ENTRY}{self.name}", tuple(self.choices))
        own = self.opponent
        if state.dealt is None:
            given = np.moveaxis(self.weights[state.root], own, 0)[state.hand]
            drawn = given / given.sum()
            hands = self.part.hands[1 - own]
            return Chance({hands[h]: float(drawn[h]) for h in np.flatnonzero(drawn).tolist()})
        found = self.histories.node(state.dealt)
        if not isinstance(found, Terminal):
            return found
        gain = found.utilities[own] - float(self.alternative[state.root, state.hand])
        return Terminal((gain, -gain) if own == 0 else (-gain, gain))

    def next(self, state: Any, action: Any) -> Any:
        """Return the state after a step."""
        if not state:
            root, hand = self.choices[action]
            return Held(hand, root, None)
        if state.dealt is None:
            other = self.part.hands[1 - self.opponent].index(action)
            hands = (state.hand, other) if self.opponent == 0 else (other, state.hand)
            return state._replace(dealt=(hands, self.part.roots.roots[state.root], ""))
        return state._replace(dealt=self.histories.next(state.dealt, action))


MakeRules = Callable[[Entrance | None], Part]
"""Function that makes the rules of the game to solve, with an entry or without one."""


class TreePart(CompiledPart):
    """A subgame, compiled hand by hand.

    Args:
        rules: The whole subgame, as rules.
        player: The player whose strategy is solved again.
        make: Makes the rules of the game that is solved in its place, which may end early.
        weights: float64 (1, hands of player 0, hands of player 1): weights of the deals.
    """

    def __init__(self, rules: Part, player: int, make: MakeRules, weights: np.ndarray) -> None:
        first, second = (np.arange(len(own)) for own in rules.hands)
        # Only values are computed in it, nothing is solved: merging would not pay.
        game = compile_part(rules, symmetry=False)
        all_hands, entry = len(rules.hands[1 - player]), rules.decider is not None
        super().__init__(game, (first, second), all_hands, player, entry=entry)
        self.make, self.weights = make, weights

    def plain(self) -> Gadget:
        """Return the subgame itself, without a gadget; it may end early."""
        return self._gadget(None)

    def resolve_gadget(self, alternative: np.ndarray) -> Gadget:  # noqa: D102
        return self._gadget((self.opponent, alternative[None]))

    def _gadget(self, entrance: Entrance | None) -> Gadget:
        return Gadget(compile_part(self.make(entrance)), self.steps, self.kept)

    def maxmargin_gadget(self, alternative: np.ndarray) -> Gadget:  # noqa: D102
        rules = ChosenHand(self.make(None), self.weights, self.opponent, alternative[None])
        return Gadget(compile_game(rules), self.steps, self.kept, by_label=True)


class TreeSubgames(Subgames):
    """Subgames of a game whose deals are pairs of hands; they may end early."""

    game: CompiledGame

    def __init__(self, game: CompiledGame, early: Early | None = None) -> None:
        self.game, self.name, self.nodes, self.early = game, game.name, nodes_of(game), early
        first, second = self.nodes.hands
        self.hands = first, second

    def find(self, at: At) -> Sequence[Spot]:  # noqa: D102
        found = find_roots(self.game, at)
        steps = (steps_to(self.nodes, root) for root in found.roots)
        return [Spot(name, way) for name, way in zip(found.names, steps, strict=True)]

    def player(self, steps: Steps) -> int:  # noqa: D102
        return self.nodes.player(self._node(steps))

    def _node(self, steps: Steps) -> int:
        node = self.nodes.find_node(steps)
        if node is None:
            raise ValueError(f"{self.name} has no line {' '.join(steps)!r}")
        return node

    def part(  # noqa: D102
        self,
        steps: Steps,
        reach: Sequence[np.ndarray],
        player: int,
        constant: float,
        *,
        entry: bool = True,
    ) -> TreePart | None:
        root = self._node(steps)
        weights = (self.nodes.deal_probability(root) * reach[0][:, None] * reach[1])[None]
        if not weights.sum() > 0:
            return None
        roots = Roots(self.game, self.nodes, (root,))
        opponent = 1 - player
        make: MakeRules = partial(Part, roots, weights)
        whole = make((opponent, np.zeros((1, len(reach[opponent])))) if entry else None)
        if self.early is not None:
            make = partial(LimitedPart, roots, weights, early=self.early, opponent=opponent)
        return TreePart(whole, player, make, weights)

    def is_of(self, other: CompiledGame) -> bool:  # noqa: D102
        return other is self.game or other.digest == self.game.digest

    def deals_like(self, other: CompiledGame) -> bool:  # noqa: D102
        nodes = nodes_of(other)
        return nodes.hands == self.nodes.hands and np.allclose(
            nodes.deal_probability(0), self.nodes.deal_probability(0)
        )

    def like(self, other: CompiledGame) -> TreeSubgames:  # noqa: D102
        return TreeSubgames(other)

    def difference(self, other: CompiledGame, steps: Steps) -> tuple[str, str] | None:  # noqa: D102
        nodes, coarse = self.nodes, nodes_of(other)
        first = coarse.find_node(steps)
        for theirs, mine in shared_nodes(coarse, first or 0, nodes, self._node(steps)):
            how, acts = "", nodes.player(mine)
            missing = {s.label for s in coarse.children(theirs)} - {
                s.label for s in nodes.children(mine)
            }
            if coarse.player(theirs) != acts:
                how = "goes on otherwise"
            elif acts == TERMINAL:
                alike = np.allclose(_paid(coarse, theirs), _paid(nodes, mine), rtol=1e-9, atol=1e-9)
                how = "" if alike else "pays otherwise"
            elif missing:
                how = f"has another action, {min(missing)!r},"
            if how:
                return " ".join(steps_to(nodes, mine)) or START, how
        return None


def _paid(nodes: PublicNodes, node: int) -> np.ndarray:
    """Return the payoffs of a terminal, deal by deal; 0 for deals that do not lead there."""
    factor, key = nodes.payoff(node)
    return np.where(nodes.deal_probability(node) > 0, factor * nodes.matrix(key), 0.0)
