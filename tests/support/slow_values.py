"""Values of strategies at every infoset, history by history; CFR with locked infosets; games of
cards as histories.  Shares no code with the library but the rules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from support.reference import (
    ChanceNode,
    DecisionNode,
    Infoset,
    Node,
    Policy,
    ReferenceCFR,
    TerminalNode,
    Tree,
)
from tensorcfr import CardGame, Chance, Deal, Decision, Fold, Game, Showdown, SidePots, Terminal


class AtInfoset(NamedTuple):
    """What a policy is worth at an infoset, to the player who acts."""

    own: float
    """The probability that the player's own actions lead there."""
    others: float
    """The probability that chance and the others lead there."""
    value: list[float]
    """The counterfactual value of every action."""
    best: list[float]
    """The same if the player goes on with a best response."""


class SlowValues:
    """Values and best responses by recursion over the histories.

    Args:
        tree: The game.
        policy: The probabilities at every infoset.
        locked: Infosets where best responses, too, play the policy.
    """

    def __init__(self, tree: Tree, policy: Policy, locked: Iterable[str] = ()) -> None:
        self.tree, self.policy, self.locked = tree, policy, frozenset(locked)
        self.reach: dict[DecisionNode, list[float]] = {}
        self._descend(tree.root, [1.0] * (tree.n_players + 1))
        self._worth: dict[Node, list[float]] = {}
        self._best: dict[Node, float] = {}
        self._best_at: dict[str, list[float]] = {}

    def _descend(self, node: Node, reach: list[float]) -> None:
        """Note the reaches of all players, and that of chance last, at every decision."""
        if isinstance(node, TerminalNode):
            return
        if isinstance(node, DecisionNode):
            self.reach[node] = reach
        mover = node.infoset.player if isinstance(node, DecisionNode) else self.tree.n_players
        for p, child in zip(self._chosen(node), node.children, strict=True):
            self._descend(child, [*reach[:mover], reach[mover] * p, *reach[mover + 1 :]])

    def _chosen(self, node: ChanceNode | DecisionNode) -> Sequence[float]:
        return (
            node.probabilities if isinstance(node, ChanceNode) else self.policy[node.infoset.label]
        )

    def _others(self, node: DecisionNode) -> float:
        found = 1.0
        for mover, p in enumerate(self.reach[node]):
            found *= 1.0 if mover == node.infoset.player else p
        return found

    def worth(self, node: Node) -> list[float]:
        """The expected utility of every player below a history."""
        if isinstance(node, TerminalNode):
            return node.utilities
        if node not in self._worth:
            below = [self.worth(child) for child in node.children]
            self._worth[node] = [
                sum(p * one[player] for p, one in zip(self._chosen(node), below, strict=True))
                for player in range(self.tree.n_players)
            ]
        return self._worth[node]

    def best_worth(self, node: Node, player: int) -> float:
        """What a best response gets below a history."""
        if isinstance(node, TerminalNode):
            return node.utilities[player]
        own = isinstance(node, DecisionNode) and node.infoset.player == player
        if own and node.infoset.label not in self.locked:  # type: ignore[union-attr]
            of_actions = self.best_at(node.infoset)  # type: ignore[union-attr]
            return self.best_worth(node.children[of_actions.index(max(of_actions))], player)
        return sum(
            p * self.best_worth(child, player)
            for p, child in zip(self._chosen(node), node.children, strict=True)
        )

    def best_at(self, infoset: Infoset) -> list[float]:
        """The counterfactual value of every action if the player goes on with a best response."""
        if infoset.label not in self._best_at:
            self._best_at[infoset.label] = [
                sum(
                    self._others(node) * self.best_worth(node.children[action], infoset.player)
                    for node in infoset.nodes
                )
                for action in range(len(infoset.actions))
            ]
        return self._best_at[infoset.label]

    @property
    def values(self) -> list[float]:
        """The value of each player."""
        return self.worth(self.tree.root)

    @property
    def best_responses(self) -> list[float]:
        """The best-response value of each player."""
        return [self.best_worth(self.tree.root, p) for p in range(self.tree.n_players)]

    def at(self, label: str) -> AtInfoset:
        """The values at an infoset."""
        infoset = self.tree.infosets[label]
        others = [self._others(node) for node in infoset.nodes]
        return AtInfoset(
            self.reach[infoset.nodes[0]][infoset.player],
            sum(others),
            [
                sum(
                    p * self.worth(node.children[action])[infoset.player]
                    for p, node in zip(others, infoset.nodes, strict=True)
                )
                for action in range(len(infoset.actions))
            ],
            self.best_at(infoset),
        )


class LockedCFR(ReferenceCFR):
    """CFR in which some infosets play given probabilities in every iteration.

    Args:
        tree: The game.
        locks: For some infosets the probabilities of all their actions.
    """

    def __init__(self, tree: Tree, locks: Mapping[str, Sequence[float]], **options: Any) -> None:
        super().__init__(tree, **options)
        self.locks = {label: list(row) for label, row in locks.items()}
        self.strategy |= self.locks

    def _update(self, players: Sequence[int]) -> None:
        super()._update(players)
        self.strategy |= self.locks

    def average_policy(self) -> dict[str, list[float]]:
        """Locked infosets play their locks, whether they are reached or not."""
        return super().average_policy() | self.locks


class DealtCards(Game):
    """A game of cards as histories: the hands are dealt, player 0's first; then the cards of the
    board, each with equal probability among those that nobody holds.

    A state is (numbers of the hands, state of the betting, cards dealt to the board, label of what
    was done).
    """

    def __init__(self, rules: CardGame) -> None:
        self.rules, self.n_players = rules, rules.n_players
        self.cards = [[tuple(map(int, hand)) for hand in own] for own in rules.hands]
        self.deals = {
            deal: math.prod(float(of[h]) for of, h in zip(rules.weights, deal, strict=True))
            for deal in product(*(range(len(own)) for own in self.cards))
            if self._differ([c for own, h in zip(self.cards, deal, strict=True) for c in own[h]])
        }

    @staticmethod
    def _differ(cards: list[int]) -> bool:
        return len(set(cards)) == len(cards)

    def root(self) -> Any:
        return (), self.rules.root(), (), ""

    def node(self, state: Any) -> Decision | Chance | Terminal:
        hands, betting, dealt, done = state
        if (dealt_hands := len(hands)) < len(self.cards):
            weights: Counter[int] = Counter()
            for deal, weight in self.deals.items():
                if deal[:dealt_hands] == hands:
                    weights[deal[dealt_hands]] += weight  # type: ignore[assignment]
            return Chance({h: w / weights.total() for h, w in sorted(weights.items())})
        node = self.rules.node(betting)
        if isinstance(node, Decision):
            label = self.rules.hand_label(node.player, hands[node.player]) + done
            return node._replace(infoset=label)
        if isinstance(node, Deal):
            held = {card for own, h in zip(self.cards, hands, strict=True) for card in own[h]}
            out = held.union(self.rules.board, self.rules.dead, dealt)
            left = [card for card in range(len(self.rules.cards)) if card not in out]
            return Chance(dict.fromkeys(left, 1 / len(left)))
        if isinstance(node, Fold):
            return Terminal(node.utilities)
        board = (*self.rules.board, *dealt)
        # One list of all players' ranks for each ranking, which decides an equal share.
        rankings = list(
            zip(
                *(
                    self.rules.strength(board, own[h : h + 1]).ravel().tolist()
                    for own, h in zip(self.rules.hands, hands, strict=True)
                ),
                strict=True,
            )
        )
        if isinstance(node, SidePots):
            paid = [-amount for amount in node.paid]
            for amount, competing in node.pots:
                for ranks in rankings:
                    best = max(ranks[p] for p in competing)
                    winners = [p for p in competing if ranks[p] == best]
                    for p in winners:
                        paid[p] += amount / len(rankings) / len(winners)
            return Terminal(tuple(paid))
        assert isinstance(node, Showdown)
        results = [node[(a < b) + (a <= b)] for a, b in rankings]
        return Terminal(tuple(sum(r[p] for r in results) / len(results) for p in range(2)))

    def next(self, state: Any, action: Any) -> Any:
        hands, betting, dealt, done = state
        if len(hands) < len(self.cards):
            return (*hands, action), betting, dealt, done
        if isinstance(self.rules.node(betting), Deal):
            after = self.rules.next(betting, None)
            return hands, after, (*dealt, action), f"{done} {self.rules.cards[action]}"
        return hands, self.rules.next(betting, action), dealt, f"{done} {action}"
