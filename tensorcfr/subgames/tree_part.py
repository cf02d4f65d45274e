"""Subgames of games whose deals are pairs of hands: public trees, and small games of cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compilers import compile_game
from ..compilers.dealt_rules import DealtHands
from ..compilers.derived_rules import Derived
from ..model.arrays import TERMINAL
from ..model.compiled_game import CompiledGame
from ..model.public_nodes import START, PublicNodes
from ..rules import Chance, Decision, Game, Terminal
from .compiled_part import CompiledPart, Gadget, NamedNode, Subgames
from .copied_strategies import ENTRY, shared_nodes
from .depth import DepthLimit, LimitedPart
from .roots import At, Roots, Steps, find_roots, nodes_of, nodes_of_two, steps_to
from .subgame_rules import SubgameRules, compile_part, with_entrance


class Held(NamedTuple):
    """State of the maxmargin gadget after the opponent has chosen."""

    hand: int
    root: int
    dealt: Any
    """State of the part with both hands dealt; None before chance draws the other player's hand."""


class ChosenHand(Derived, Game):
    """Maxmargin gadget of a subgame, as rules that are compiled history by history.

    Args:
        part: The subgame, whose weights leave out the own actions of the opponent, who chooses.
        opponent: The player who chooses.
        alternative: float64 (nodes, hands): the alternative values, in the unit of the game.
    """

    def __init__(self, part: SubgameRules, opponent: int, alternative: np.ndarray) -> None:
        super().__init__(DealtHands(part))
        self.part, self.opponent, self.alternative = part, opponent, alternative
        hands = part.hands[opponent]
        is_dealt = part.weights.sum(axis=2 - opponent) > 0
        self.choices = {
            f"{hands[hand]}{ENTRY}{part.roots.names[root]}": (int(root), int(hand))
            for root, hand in np.argwhere(is_dealt)
        }

    def root(self) -> Any:
        """Return the state before the opponent chooses."""
        return ()

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Return the choice, the draw of the other player's hand, or a node of the subgame."""
        if not state:
            return Decision(self.opponent, f"{ENTRY}{self.name}", tuple(self.choices))
        chooser = self.opponent
        if state.dealt is None:
            weights = np.moveaxis(self.part.weights[state.root], chooser, 0)[state.hand]
            drawn = weights / weights.sum()
            hands = self.part.hands[1 - chooser]
            return Chance({hands[h]: float(drawn[h]) for h in np.flatnonzero(drawn).tolist()})
        part_node = self.rules.node(state.dealt)
        if not isinstance(part_node, Terminal):
            return part_node
        gain = part_node.utilities[chooser] - float(self.alternative[state.root, state.hand])
        return Terminal((gain, -gain) if chooser == 0 else (-gain, gain))

    def next(self, state: Any, action: Any) -> Any:
        """Return the state after a step."""
        if not state:
            root, hand = self.choices[action]
            return Held(hand, root, None)
        if state.dealt is None:
            drawn_hand = self.part.hands[1 - self.opponent].index(action)
            hands = (state.hand, drawn_hand) if self.opponent == 0 else (drawn_hand, state.hand)
            return state._replace(dealt=(hands, self.part.roots.roots[state.root], ""))
        return state._replace(dealt=self.rules.next(state.dealt, action))


class TreePart(CompiledPart):
    """A subgame, compiled hand by hand.

    Args:
        rules: The whole subgame, as rules.
        player: The player whose strategy is solved again.
        solved: The rules of the game that is solved in its place, which may end early.
        entry: Whether the opponent decides at an entry.
    """

    def __init__(
        self, rules: SubgameRules, player: int, solved: SubgameRules, *, entry: bool
    ) -> None:
        first, second = (np.arange(len(hands)) for hands in rules.hands)
        all_hands = len(rules.hands[1 - player])
        entered = with_entrance(rules, 1 - player, np.zeros((1, all_hands))) if entry else rules
        # Only values are computed in it, nothing is solved: merging would not pay.
        game = compile_part(entered, symmetry=False)
        super().__init__(game, (first, second), all_hands, player, entry=entry)
        self.rules = solved

    def plain(self) -> Gadget:
        """Return the subgame itself, without a gadget; it may end early."""
        return Gadget(compile_part(self.rules), self.steps, self.part_hands)

    def resolve_gadget(self, alternative: np.ndarray) -> Gadget:  # noqa: D102
        rules = with_entrance(self.rules, self.opponent, alternative[None])
        return Gadget(compile_part(rules), self.steps, self.part_hands)

    def maxmargin_gadget(self, alternative: np.ndarray) -> Gadget:  # noqa: D102
        rules = ChosenHand(self.rules, self.opponent, alternative[None])
        return Gadget(compile_game(rules), self.steps, self.part_hands, by_label=True)


class TreeSubgames(Subgames):
    """Subgames of a game whose deals are pairs of hands; they may end early."""

    game: CompiledGame

    def __init__(self, game: CompiledGame, early: DepthLimit | None = None) -> None:
        self.game, self.name, self.nodes, self.early = game, game.name, nodes_of_two(game), early
        first, second = self.nodes.hands
        self.hands = first, second

    def find(self, names: At) -> Sequence[NamedNode]:  # noqa: D102
        roots = find_roots(self.game, names)
        steps = (steps_to(self.nodes, root) for root in roots.roots)
        return [
            NamedNode(name, node_steps) for name, node_steps in zip(roots.names, steps, strict=True)
        ]

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
        whole = solved = SubgameRules(roots, weights)
        if self.early is not None:
            solved = LimitedPart(roots, weights, self.early, opponent=1 - player)
        return TreePart(whole, player, solved, entry=entry)

    def is_of(self, other_game: CompiledGame) -> bool:  # noqa: D102
        return other_game is self.game or other_game.digest == self.game.digest

    def deals_like(self, other_game: CompiledGame) -> bool:  # noqa: D102
        nodes = nodes_of(other_game)
        return nodes.hands == self.nodes.hands and np.allclose(
            nodes.deal_probability(0), self.nodes.deal_probability(0)
        )

    def like(self, other_game: CompiledGame) -> TreeSubgames:  # noqa: D102
        return TreeSubgames(other_game)

    def difference(self, other_game: CompiledGame, steps: Steps) -> tuple[str, str] | None:  # noqa: D102
        nodes, coarse = self.nodes, nodes_of(other_game)
        root = coarse.find_node(steps)
        for coarse_node, node in shared_nodes(coarse, root or 0, nodes, self._node(steps)):
            description, actor = "", nodes.player(node)
            missing = {s.label for s in coarse.children(coarse_node)} - {
                s.label for s in nodes.children(node)
            }
            if coarse.player(coarse_node) != actor:
                description = "continues differently"
            elif actor == TERMINAL:
                is_same = np.allclose(
                    _paid(coarse, coarse_node), _paid(nodes, node), rtol=1e-9, atol=1e-9
                )
                description = "" if is_same else "pays differently"
            elif missing:
                description = f"has another action, {min(missing)!r},"
            if description:
                return " ".join(steps_to(nodes, node)) or START, description
        return None


def _paid(nodes: PublicNodes, node: int) -> np.ndarray:
    """Return the payoffs of a terminal, deal by deal; 0 for deals that do not lead there."""
    factor, key = nodes.payoff(node)
    return np.where(nodes.deal_probability(node) > 0, factor * nodes.matrix(key), 0.0)
