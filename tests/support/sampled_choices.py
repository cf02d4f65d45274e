"""Every sample that a Monte Carlo traversal can draw, with its probability.

The traversals are written here once more, over the objects of :mod:`reference`: only which nodes
they visit, what they draw there, and from what distribution.  A traversal that is run on chosen
choices says what the kernel must draw to make the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np

from support.reference import ChanceNode, DecisionNode, Node, TerminalNode, Tree
from tensorcfr.rules import CardGame, Chance, Payoff, PublicTreeGame

Strategy = Mapping[str, Sequence[float]]


@dataclass
class Sample:
    """One way in which a traversal can go."""

    probability: float = 1.0
    draws: list[float] = field(default_factory=list)
    """Numbers in [0, 1) that make the kernel choose so."""
    of_histories: list[float] = field(default_factory=list)
    """Where the kernel walks a public tree: those with which one that walks histories does."""
    histories: int = 0
    decisions: int = 0
    met: set[str] = field(default_factory=set)
    """Infosets with several actions that were visited."""


class Chooser:
    """Follows a list of choices, then takes the first that is possible; notes the others."""

    def __init__(self, prefix: list[int]) -> None:
        self.prefix = prefix
        self.made: list[int] = []
        self.others: list[list[int]] = []
        self.sample = Sample()

    def chance(self, probabilities: Sequence[float]) -> int:
        """A choice of chance; an outcome is drawn from its own column of the alias table."""
        chosen = self._choose(probabilities)
        self.sample.draws.append((chosen + 1e-9) / len(probabilities))
        return chosen

    def action(self, probabilities: Sequence[float]) -> int:
        """A choice of a player, drawn from the cumulative probabilities."""
        chosen = self._choose(probabilities)
        self.sample.draws.append(sum(probabilities[:chosen]) + probabilities[chosen] / 2)
        return chosen

    def through_chance(self, node: ChanceNode) -> Node:
        """Where chance leads; what comes after another is drawn together."""
        outcomes, passed = joined(node)
        self.sample.histories += passed
        return outcomes[self.chance([p for p, _ in outcomes])][1]

    def _choose(self, probabilities: Sequence[float]) -> int:
        possible = [index for index, p in enumerate(probabilities) if p > 0]
        if len(self.made) < len(self.prefix):
            chosen = self.prefix[len(self.made)]
        else:
            chosen = possible[0]
            self.others += [[*self.made, other] for other in possible[1:]]
        self.made.append(chosen)
        self.sample.probability *= probabilities[chosen]
        return chosen


class HandsChooser(Chooser):
    """Chooses for a traversal that draws the hands, and then walks the public tree; notes what
    one that walks histories must draw to go the same way."""

    def __init__(self, prefix: list[int]) -> None:
        super().__init__(prefix)
        self.dealt = False
        self.of_histories: list[float] = self.sample.of_histories

    def action(self, probabilities: Sequence[float]) -> int:
        chosen = super().action(probabilities)
        self.of_histories.append(self.sample.draws[-1])
        return chosen

    def through_chance(self, node: ChanceNode) -> Node:
        together = [outcome for _, outcome in joined(node)[0]]
        found: Node = node
        while not any(found is outcome for outcome in together):
            assert isinstance(found, ChanceNode)
            if not self.dealt:
                # Every hand of player 0, then those of player 1 that can be with it.
                self.dealt = True
                deals = [
                    (p * q, after)
                    for p, child in zip(found.probabilities, found.children, strict=True)
                    if isinstance(child, ChanceNode)
                    for q, after in zip(child.probabilities, child.children, strict=True)
                ]
                self.sample.histories += 1
                found = deals[self.chance([p for p, _ in deals])][1]
            else:
                if found is not node:
                    self.sample.histories += 1
                found = found.children[super().action(found.probabilities)]
        place = next(i for i, outcome in enumerate(together) if outcome is found)
        self.of_histories.append((place + 1e-9) / len(together))
        return found


class Deals:
    """All deals of a card game, hands and board, with their probabilities.

    Args:
        rules: The card game.
        tree: Its histories; chance deals to one player after the other, then to the board.
        counts: Number of cards of each deal to the board.
    """

    def __init__(self, rules: CardGame, tree: Tree, counts: Sequence[int]) -> None:
        free, players = rules.free.tolist(), range(rules.n_players)
        sets = [list(combinations(free, count)) for count in counts]
        if rules.boards:
            sets[0] = sorted(rules.boards)
        boards = [board for board in product(*sets) if len(set(sum(board, ()))) == sum(counts)]
        hands = [[tuple(map(int, hand)) for hand in rules.hands[player]] for player in players]
        self.number: list[tuple[tuple[int, int], ...]] = []
        """Number of each hand and of the board of a deal, each with the number of all."""
        self.path: list[tuple[Any, ...]] = []
        """Hands and cards of a deal, in the order in which they are dealt."""
        weights: list[float] = []
        for number in product(*(range(len(own)) for own in hands), range(len(boards))):
            *held, board = number
            cards = sum((hands[player][held[player]] for player in players), ())
            cards += sum(boards[board], ())
            if len(set(cards)) < len(cards):
                continue
            weight = 1.0 if not rules.boards else rules.boards[boards[board][0]]
            for player in players:
                weight *= float(rules.weights[player][held[player]])
            sizes = (*map(len, hands), len(boards))
            self.number.append(tuple(zip(number, sizes, strict=True)))
            self.path.append((*held, *boards[board]))
            weights.append(weight)
        self.probabilities = [weight / sum(weights) for weight in weights]
        after: dict[tuple[Any, ...], set[Any]] = {}
        for path in self.path:
            for at, step in enumerate(path):
                after.setdefault(path[:at], set()).add(step)
        self.possible = {before: sorted(steps) for before, steps in after.items()}
        """Hands or cards that can come after others, in the order of the outcomes."""
        self.depth: dict[int, int] = {}
        """Chance nodes above each chance node."""

        def walk(node: Node, above: int) -> None:
            if isinstance(node, ChanceNode):
                self.depth[id(node)] = above
            for child in getattr(node, "children", ()):
                walk(child, above + isinstance(node, ChanceNode))

        walk(tree.root, 0)

    def index(self, deal: int, node: ChanceNode) -> int:
        """Outcome of a chance node in a deal."""
        at, path = self.depth[id(node)], self.path[deal]
        return self.possible[path[:at]].index(path[at])


class CardsChooser(Chooser):
    """Chooses for a traversal that draws hands and board, and then walks the betting."""

    def __init__(self, deals: Deals, prefix: list[int]) -> None:
        super().__init__(prefix)
        self.deals, self.deal = deals, -1

    def through_chance(self, node: ChanceNode) -> Node:
        if self.deal < 0:
            self.deal = self._choose(self.deals.probabilities)
            drawn = self.deals.number[self.deal]
            self.sample.draws += [(number + 1e-9) / size for number, size in drawn]
        return node.children[self.deals.index(self.deal, node)]


def joined(node: ChanceNode) -> tuple[list[tuple[float, Node]], int]:
    """The outcomes of chance nodes that come directly after each other, and how many come after
    the first one."""
    outcomes = list(zip(node.probabilities, node.children, strict=True))
    passed = 0
    while all(isinstance(child, ChanceNode) for _, child in outcomes):
        outcomes = [
            (p * q, grandchild)
            for p, child in outcomes
            if isinstance(child, ChanceNode)
            for q, grandchild in zip(child.probabilities, child.children, strict=True)
        ]
        passed += 1
    return outcomes, passed


Traversal = Callable[[Tree, Strategy, int, Chooser], None]


def samples(
    traversal: Traversal,
    tree: Tree,
    strategy: Strategy,
    player: int,
    make: Callable[[list[int]], Chooser] = Chooser,
) -> Iterator[Sample]:
    """All samples of one traversal for a player."""
    prefixes: list[list[int]] = [[]]
    while prefixes:
        chooser = make(prefixes.pop())
        traversal(tree, strategy, player, chooser)
        prefixes += chooser.others
        yield chooser.sample


def external(tree: Tree, strategy: Strategy, player: int, chooser: Chooser) -> None:
    """Own actions are all tried, in depth-first order."""

    def visit(node: Node) -> None:
        if not isinstance(node := pass_through(node, chooser), DecisionNode):
            return
        sigma = strategy[node.infoset.label]
        if node.infoset.player == player:
            for child in node.children:
                visit(child)
        else:
            visit(node.children[chooser.action(sigma)])

    visit(tree.root)


def robust(tries: int) -> Traversal:
    """So many own actions are tried: of those from an action on, it is drawn whether it is one."""

    def draw(sigma: Sequence[float], chooser: Chooser) -> list[bool]:
        found: list[bool] = []
        for action in range(len(sigma)):
            left, rest = tries - sum(found), len(sigma) - action
            found.append(left >= rest or (left > 0 and _coin(left / rest, chooser)))
        return found

    return _with_own_draws(draw)


def average(epsilon: float, threshold: float, bonus: float) -> Traversal:
    """Each own action is tried by itself.  The cumulative strategies are what is played."""

    def draw(sigma: Sequence[float], chooser: Chooser) -> list[bool]:
        shares = [(bonus + threshold * p) / (bonus + 1) for p in sigma]
        return [p >= 1 or _coin(max(p, epsilon), chooser) for p in shares]

    return _with_own_draws(draw)


def _coin(p: float, chooser: Chooser) -> bool:
    return chooser.action([p, 1 - p]) == 0


def _with_own_draws(draw: Callable[[Sequence[float], Chooser], list[bool]]) -> Traversal:
    """Own actions are drawn, and then tried in depth-first order."""

    def traversal(tree: Tree, strategy: Strategy, player: int, chooser: Chooser) -> None:
        def visit(node: Node) -> None:
            if not isinstance(node := pass_through(node, chooser), DecisionNode):
                return
            sigma = strategy[node.infoset.label]
            if node.infoset.player == player:
                for child, is_tried in zip(node.children, draw(sigma, chooser), strict=True):
                    if is_tried:
                        visit(child)
            else:
                visit(node.children[chooser.action(sigma)])

        visit(tree.root)

    return traversal


def outcome(epsilon: float) -> Traversal:
    """A single play; the player explores."""

    def traversal(tree: Tree, strategy: Strategy, player: int, chooser: Chooser) -> None:
        node = tree.root
        while isinstance(node := pass_through(node, chooser), DecisionNode):
            sigma = strategy[node.infoset.label]
            if node.infoset.player == player:
                sigma = [epsilon / len(sigma) + (1 - epsilon) * p for p in sigma]
            node = node.children[chooser.action(sigma)]

    return traversal


def chance(*, prune: bool) -> Traversal:
    """Every action is tried, in breadth-first order."""

    def traversal(tree: Tree, strategy: Strategy, player: int, chooser: Chooser) -> None:
        queue: list[tuple[Node, float, float]] = [(tree.root, 1.0, 1.0)]
        for above, x, y in queue:
            if prune and x == y == 0.0:
                continue
            if not isinstance(node := pass_through(above, chooser), DecisionNode):
                continue
            for p, child in zip(strategy[node.infoset.label], node.children, strict=True):
                own = node.infoset.player == player
                queue.append((child, x * p if own else x, y if own else y * p))

    return traversal


def all_hands(game: PublicTreeGame, *, prune: bool) -> Traversal:
    """Public chance is sampled, by its probability over all deals; every action is tried with every
    hand, in depth-first order.  Walks the rules: histories do not say what is public."""

    def traversal(tree: Tree, strategy: Strategy, player: int, chooser: Chooser) -> None:
        sample = chooser.sample
        dealt = np.argwhere(game.prior > 0).tolist()
        for acting in range(game.n_players):
            sample.histories += len({tuple(deal[:acting]) for deal in dealt})

        def visit(state: Any, done: str, weight: np.ndarray, reach: list[list[float]]) -> None:
            alive = np.argwhere(weight > 0)
            sample.histories += len(alive)
            node = game.node(state)
            if isinstance(node, Payoff):
                return
            if isinstance(node, Chance):
                after = [
                    np.where(weight > 0, weight * np.broadcast_to(p, weight.shape), 0.0)
                    for p in node.outcomes.values()
                ]
                mass = [float(deals.sum()) / float(weight.sum()) for deals in after]
                chosen = chooser.action(mass)
                outcome = list(node.outcomes)[chosen]
                visit(game.next(state, outcome), f"{done} {outcome}", after[chosen], reach)
                return
            sample.decisions += len(alive)
            public = done if node.infoset is None else node.infoset
            held = set(alive[:, node.player].tolist())
            labels = {h: game.label(node.player, game.hands[node.player][h], public) for h in held}
            if len(node.actions) > 1:
                sample.met.update(labels.values())
            for a, action in enumerate(node.actions):
                below = [list(row) for row in reach]
                if len(node.actions) > 1:
                    below[node.player] = [
                        x * strategy[labels[h]][a] if h in held else 0.0
                        for h, x in enumerate(reach[node.player])
                    ]
                if not prune or any(map(any, below)):
                    visit(game.next(state, action), f"{done} {action}", weight, below)

        visit(game.root(), "", np.asarray(game.prior), [[1.0] * len(own) for own in game.hands])

    return traversal


def pass_through(node: Node, chooser: Chooser) -> Node:
    """Through chance and through nodes with one action, to a terminal or a decision."""
    sample = chooser.sample
    while True:
        sample.histories += 1
        if isinstance(node, TerminalNode):
            return node
        if isinstance(node, ChanceNode):
            node = chooser.through_chance(node)
            continue
        sample.decisions += 1
        if len(node.children) > 1:
            sample.met.add(node.infoset.label)
            return node
        node = node.children[0]
