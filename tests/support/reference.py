"""The slow twin: counterfactual regret minimization by recursion over histories.

Every fast solver of the library is tested for equality with this one, so it shares no code
with them, knows no arrays and does the sums where the papers write them: at histories.  The
library sweeps sequences instead; that both orders give the same numbers is what the tests say.

Sources

* CFR: Zinkevich, Johanson, Bowling and Piccione, "Regret Minimization in Games with
  Incomplete Information", NIPS 2007.
* CFR+: Tammelin, "Solving Large Imperfect Information Games Using CFR+", arXiv:1407.5042, 2014.
* Linear CFR, DCFR: Brown and Sandholm, "Solving Imperfect-Information Games via Discounted Regret
  Minimization", AAAI 2019.
* PCFR+: Farina, Kroer and Sandholm, "Faster Game Solving via Predictive Blackwell Approachability:
  Connecting Regret Matching and Mirror Descent", AAAI 2021.
* DCFR+, PDCFR+: Xu, Li, Liu, Fu, Fu, Xing and Cheng, "Minimizing Weighted Counterfactual Regret
  with Optimistic Online Mirror Descent", IJCAI 2024.
* CFR-AVG: Brown, Bakhtin, Lerer and Gong, "Combining Deep Reinforcement Learning and Search for
  Imperfect-Information Games", NeurIPS 2020; on a whole tree, average strategies at every terminal.

Conventions (OpenSpiel's; ``docs/numerics.md`` says them at more length)

* Iteration 1 plays uniformly; the average after t iterations holds sigma_1 to sigma_t, not the
  strategy that the t-th update produced.
* Opponents' and chance's reach weight a regret, one's own reach weights the average.
* A regret is positive when it is > 0.0, without a threshold; with none positive, and where the
  average has no weight, the strategy is uniform.
* Instant regrets are summed over an infoset's histories first; whatever a variant does to a
  cumulative regret, it does once per infoset and iteration.

A policy is a mapping from infoset label to probabilities in the order of the actions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tensorcfr.rules import Chance, Decision, Game, Payoff, PublicTreeGame, Terminal

Policy = Mapping[str, Sequence[float]]


# ------------------------------------------------------------------------------------ the tree


@dataclass(eq=False, slots=True)
class Infoset:
    """What a player cannot tell apart: the decision nodes that carry one label."""

    label: str
    player: int
    actions: tuple[Hashable, ...]
    nodes: list[DecisionNode] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class DecisionNode:
    """A history where a player acts; ``children`` in the order of the infoset's actions."""

    infoset: Infoset
    children: list[Node] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class ChanceNode:
    """A history where nature acts."""

    probabilities: list[float]
    children: list[Node] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class TerminalNode:
    """A history where the game is over."""

    utilities: list[float]


Node = DecisionNode | ChanceNode | TerminalNode


@dataclass(eq=False, slots=True)
class Tree:
    """A game written out history by history; infosets in the order that play meets them."""

    n_players: int
    root: Node
    infosets: dict[str, Infoset]

    def nodes(self) -> Iterator[Node]:
        """Every history, a parent before its children."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            if not isinstance(node, TerminalNode):
                stack.extend(reversed(node.children))

    def infosets_of(self, player: int) -> list[Infoset]:
        """The infosets where ``player`` acts."""
        return [infoset for infoset in self.infosets.values() if infoset.player == player]

    def multiplied(self, factor: float) -> Tree:
        """Copy the tree with all payoffs multiplied by one number."""
        infosets = {label: replace(own, nodes=[]) for label, own in self.infosets.items()}

        def copy(node: Node) -> Node:
            if isinstance(node, TerminalNode):
                return TerminalNode([factor * utility for utility in node.utilities])
            if isinstance(node, ChanceNode):
                return replace(node, children=[copy(child) for child in node.children])
            decision = DecisionNode(infosets[node.infoset.label])
            decision.infoset.nodes.append(decision)
            decision.children = [copy(child) for child in node.children]
            return decision

        return Tree(self.n_players, copy(self.root), infosets)


def build_tree(game: Game | Tree) -> Tree:
    """Walk ``game`` once; a tree comes back as it is.  Malformed rules are a ValueError."""
    if isinstance(game, Tree):
        return game
    infosets: dict[str, Infoset] = {}

    def build(state: Any) -> Node:
        said = game.node(state)
        if isinstance(said, Terminal):
            if len(said.utilities) != game.n_players:
                raise ValueError(f"{state!r} pays {len(said.utilities)} of {game.n_players}")
            return TerminalNode([float(utility) for utility in said.utilities])
        if isinstance(said, Chance):
            chance = ChanceNode([float(p) for p in said.outcomes.values()])
            if min(chance.probabilities) < 0 or abs(math.fsum(chance.probabilities) - 1) > 1e-12:
                raise ValueError(f"{state!r} has no distribution: {chance.probabilities}")
            chance.children = [build(game.next(state, outcome)) for outcome in said.outcomes]
            return chance
        decision = DecisionNode(infoset_of(said))
        decision.infoset.nodes.append(decision)
        decision.children = [build(game.next(state, action)) for action in said.actions]
        return decision

    def infoset_of(said: Decision) -> Infoset:
        actions = tuple(said.actions)
        if not actions or not 0 <= said.player < game.n_players:
            raise ValueError(f"malformed decision: {said}")
        infoset = infosets.setdefault(said.infoset, Infoset(said.infoset, said.player, actions))
        if (infoset.player, infoset.actions) != (said.player, actions):
            raise ValueError(f"{said.infoset!r} has two meanings: {said} and {infoset.actions}")
        return infoset

    root = build(game.root())
    return Tree(game.n_players, root, infosets)


def forgetful_infosets(tree: Tree) -> list[str]:
    """Labels of the infosets that break perfect recall (Kuhn 1953); empty if none does.

    Perfect recall: at all histories of an infoset the player has met the same own infosets and
    taken the same actions there, in the same order.
    """
    recalled: dict[str, tuple[tuple[str, int], ...]] = {}
    forgetful: list[str] = []

    def walk(node: Node, own: list[tuple[tuple[str, int], ...]]) -> None:
        if isinstance(node, TerminalNode):
            return
        if isinstance(node, ChanceNode):
            for child in node.children:
                walk(child, own)
            return
        label, player = node.infoset.label, node.infoset.player
        if recalled.setdefault(label, own[player]) != own[player] and label not in forgetful:
            forgetful.append(label)
        for index, child in enumerate(node.children):
            walk(child, [*own[:player], (*own[player], (label, index)), *own[player + 1 :]])

    walk(tree.root, [()] * tree.n_players)
    return forgetful


class DealtGame(Game):
    """A :class:`PublicTreeGame` as the histories that it stands for.

    Chance deals to one player after the other, player 0 first; then the public tree is played.
    What cannot happen, a deal with ``prior`` 0 or a public chance outcome with probability 0
    under the deal, is no history, so an infoset behind such outcomes only does not appear.

    A state is (indices of the hands dealt so far, public state, what was done since, each step
    after a space: the public label of decisions that say none of their own).
    """

    def __init__(self, game: PublicTreeGame) -> None:
        self.game = game
        self.n_players = game.n_players

    def root(self) -> Any:
        return (), self.game.root(), ""

    def node(self, state: Any) -> Decision | Chance | Terminal:
        deal, public, done = state
        if len(deal) < self.n_players:
            given_dealt = self.game.prior[deal]
            weights = [float(np.sum(of_hand)) for of_hand in given_dealt]
            total = math.fsum(weights)
            return Chance({hand: w / total for hand, w in enumerate(weights) if w > 0})
        said = self.game.node(public)
        if isinstance(said, Decision):
            hand = self.game.hands[said.player][deal[said.player]]
            seen = done if said.infoset is None else said.infoset
            return said._replace(infoset=self.game.label(said.player, hand, seen))
        if isinstance(said, Payoff):
            matrix = self.game.matrix(said.matrix)
            return Terminal([said.coefficient * float(table[deal]) for table in matrix])
        shape = self.game.prior.shape
        given_deal = {o: float(np.broadcast_to(p, shape)[deal]) for o, p in said.outcomes.items()}
        return Chance({outcome: p for outcome, p in given_deal.items() if p > 0})

    def next(self, state: Any, action: Any) -> Any:
        deal, public, done = state
        if len(deal) < self.n_players:
            return (*deal, action), public, done
        return deal, self.game.next(public, action), f"{done} {action}"


# ---------------------------------------------------------------------------------- regret rules

Rule = Callable[[list[float], list[float], int], list[float]]
"""(cumulative regrets, instant regrets of iteration t, t) to the new cumulative regrets."""

Matching = Callable[[list[float], list[float], int], list[float]]
"""(cumulative regrets after iteration t, its instant regrets, t) to the strategy of iteration
t + 1; the second argument is what predictive variants expect to see again."""


def cfr_rule(regrets: list[float], instant: list[float], t: int) -> list[float]:
    """Zinkevich et al. 2007: the plain sum."""
    return [regret + new for regret, new in zip(regrets, instant, strict=True)]


def cfr_plus_rule(regrets: list[float], instant: list[float], t: int) -> list[float]:
    """Tammelin 2014: the sum, never below zero."""
    return [max(regret + new, 0.0) for regret, new in zip(regrets, instant, strict=True)]


def lcfr_rule(regrets: list[float], instant: list[float], t: int) -> list[float]:
    """Brown and Sandholm 2019, Linear CFR: what iteration t adds is weighted by t."""
    return [regret + t * new for regret, new in zip(regrets, instant, strict=True)]


def dcfr_rule(alpha: float, beta: float, good_offset: float = 1.0, bad_offset: float = 1.0) -> Rule:
    """Brown and Sandholm 2019, Discounted CFR: older regrets fade, bad ones by another power.

    The offsets are 1 in the paper; Xu et al. 2024 have 1.5 in DCFR+.

    The paper multiplies at the end of an iteration; here the next one does, as Xu et al. 2024
    write it.  All positive regrets of an infoset fade alike, so the strategy is the same.
    """

    def rule(regrets: list[float], instant: list[float], t: int) -> list[float]:
        good, bad = fading(t - 1, alpha, good_offset), fading(t - 1, beta, bad_offset)
        faded = [regret * good if regret > 0 else regret * bad for regret in regrets]
        return [regret + new for regret, new in zip(faded, instant, strict=True)]

    return rule


def dcfr_plus_rule(alpha: float, offset: float = 1.5) -> Rule:
    """Xu et al. 2024, DCFR+: older regrets fade, and the sum is never below zero.

    The paper has 1.5 where DCFR has 1, and 1 in PDCFR+.
    """

    def rule(regrets: list[float], instant: list[float], t: int) -> list[float]:
        factor = fading(t - 1, alpha, offset)
        return cfr_plus_rule([regret * factor for regret in regrets], instant, t)

    return rule


def pdcfr_plus_rule(alpha: float) -> Rule:
    """Xu et al. 2024, PDCFR+; to go with :func:`fading_predictive_matching`."""
    return dcfr_plus_rule(alpha, offset=1)


def fading(t: int, power: float, offset: float = 1) -> float:
    """t^power / (t^power + offset), what is left of the regrets of iterations 1 to t; there is
    nothing to be left of none."""
    return t**power / (t**power + offset) if t > 0 else 0.0


def regret_matching(regrets: list[float], instant: list[float], t: int) -> list[float]:
    """Hart and Mas-Colell 2000: in proportion to positive regret; uniform where there is none."""
    return normalized([max(regret, 0.0) for regret in regrets])


def predictive_matching(regrets: list[float], instant: list[float], t: int) -> list[float]:
    """Farina et al. 2021, PCFR+: as if the regrets just seen had come a second time already."""
    return regret_matching(cfr_rule(regrets, instant, t + 1), instant, t)


def fading_predictive_matching(alpha: float) -> Matching:
    """Xu et al. 2024, PDCFR+: the same, after the fading that iteration t + 1 will begin with."""

    def matching(regrets: list[float], instant: list[float], t: int) -> list[float]:
        return normalized(pdcfr_plus_rule(alpha)(regrets, instant, t + 1))

    return matching


def normalized(weights: Sequence[float]) -> list[float]:
    """Nonnegative weights as probabilities; uniform if all are zero."""
    total = sum(weights)
    if total > 0:
        return [weight / total for weight in weights]
    return [1 / len(weights)] * len(weights)


# ------------------------------------------------------------------------------------------- CFR


class ReferenceCFR:
    """Counterfactual regret minimization for any number of players, general-sum.

    ``alternating``: player i's whole update comes before player i+1's, which sees i's new
    strategy; before player i-1's with ``descending``.  Otherwise all players' regrets come from the
    same strategies (the paper of 2007).

    ``average_power`` and ``delay``: iteration t weighs ``max(t - delay, 0) ** average_power`` in
    the average, and nothing up to the delay.  Power 0 is the uniform average, 1 the linear one.
    ``average_growth`` multiplies that with ``average_growth ** (t - delay)``.

    ``regret_matching_plus`` is short for ``rule=cfr_plus_rule``; give ``rule`` and ``matching``
    for any other variant.  CFR is (False, power 0); CFR+ as published is (True, power 1,
    alternating).
    """

    def __init__(
        self,
        game: Game | Tree,
        *,
        regret_matching_plus: bool = False,
        average_power: float,
        alternating: bool,
        descending: bool = False,
        delay: int = 0,
        average_growth: float = 1.0,
        rule: Rule | None = None,
        matching: Matching = regret_matching,
    ) -> None:
        if regret_matching_plus and rule is not None:
            raise ValueError("regret_matching_plus is a rule already; give one of the two")
        self.tree = build_tree(game)
        self.rule = rule or (cfr_plus_rule if regret_matching_plus else cfr_rule)
        self.matching = matching
        self.average_power = average_power
        self.alternating, self.descending = alternating, descending
        self.delay, self.average_growth = delay, average_growth
        self.t = 0
        infosets = self.tree.infosets
        self.regrets = {label: [0.0] * len(i.actions) for label, i in infosets.items()}
        self.cumulative = {label: [0.0] * len(i.actions) for label, i in infosets.items()}
        self.strategy = {label: normalized(zeros) for label, zeros in self.regrets.items()}
        self.updates = [0] * self.tree.n_players

    def iterate(self) -> None:
        """One iteration: every player is updated once."""
        self.t += 1
        players = range(self.tree.n_players)
        if self.descending:
            players = players[::-1]
        for together in [[player] for player in players] if self.alternating else [players]:
            self._update(together)

    has_average = False
    """Whether any iteration has entered the average."""

    def current_policy(self) -> dict[str, list[float]]:
        """The strategies that the next iteration plays."""
        return {label: list(sigma) for label, sigma in self.strategy.items()}

    def average_policy(self) -> dict[str, list[float]]:
        """The average of the strategies played so far; the current ones if none is in it."""
        if not self.has_average:
            return self.current_policy()
        return {label: normalized(weights) for label, weights in self.cumulative.items()}

    def _update(self, players: Sequence[int]) -> None:
        """Regrets, average, then regret matching; all from the strategies as they stand now."""
        instant = {label: [0.0] * len(i.actions) for label, i in self.tree.infosets.items()}
        own_reach: dict[str, float] = {}
        for player in players:
            self._value(self.tree.root, player, 1.0, 1.0, instant, own_reach)
        weight = self._average_weight(self.t)
        self.has_average = self.has_average or weight > 0.0
        for player in players:
            self.updates[player] += 1
            for infoset in self.tree.infosets_of(player):
                label = infoset.label
                self.regrets[label] = self.rule(self.regrets[label], instant[label], self.t)
                for action, probability in enumerate(self.strategy[label]):
                    self.cumulative[label][action] += weight * own_reach[label] * probability
                self.strategy[label] = self.matching(self.regrets[label], instant[label], self.t)

    def _average_weight(self, t: int) -> float:
        """w(t); written so that 0 ** 0 does not let a delayed uniform average begin early."""
        counted = t - self.delay
        return counted**self.average_power * self.average_growth**counted if counted > 0 else 0.0

    def _value(
        self,
        node: Node,
        player: int,
        own: float,
        others: float,
        instant: dict[str, list[float]],
        own_reach: dict[str, float],
    ) -> float:
        """The value u_i(sigma, h) of a history to ``player``.

        ``own`` and ``others`` are the two parts of its reach: the product of the player's own
        probabilities, and of everybody else's with chance.  On the way, ``instant`` collects
        others * (u_i(sigma, ha) - u_i(sigma, h)) at each infoset of the player, and ``own_reach``
        notes ``own``: by perfect recall the same at all histories of the infoset.
        """
        if isinstance(node, TerminalNode):
            return node.utilities[player]
        if isinstance(node, ChanceNode):
            return sum(
                p * self._value(child, player, own, others * p, instant, own_reach)
                for p, child in zip(node.probabilities, node.children, strict=True)
            )
        label = node.infoset.label
        sigma = self.strategy[label]
        if node.infoset.player != player:
            return sum(
                p * self._value(child, player, own, others * p, instant, own_reach)
                for p, child in zip(sigma, node.children, strict=True)
            )
        own_reach[label] = own
        values = [
            self._value(child, player, own * p, others, instant, own_reach)
            for p, child in zip(sigma, node.children, strict=True)
        ]
        value = sum(p * v for p, v in zip(sigma, values, strict=True))
        self._note(label, [others * (v - value) for v in values], instant)
        return value

    def _note(self, label: str, regrets: list[float], instant: dict[str, list[float]]) -> None:
        """One history's part of its infoset's instant regrets."""
        for action, regret in enumerate(regrets):
            instant[label][action] += regret


# ------------------------------------------------------------------------------------ evaluation


def _probabilities(node: ChanceNode | DecisionNode, policy: Policy) -> Sequence[float]:
    """Of every child, as chance or the policy has it."""
    return node.probabilities if isinstance(node, ChanceNode) else policy[node.infoset.label]


def uniform_policy(game: Game | Tree) -> dict[str, list[float]]:
    """Every action equally likely everywhere."""
    infosets = build_tree(game).infosets
    return {label: normalized([0.0] * len(i.actions)) for label, i in infosets.items()}


def expected_values(game: Game | Tree, policy: Policy) -> list[float]:
    """What each player gets on average when all follow ``policy``."""
    tree = build_tree(game)

    def values(node: Node) -> list[float]:
        if isinstance(node, TerminalNode):
            return node.utilities
        chosen = _probabilities(node, policy)
        below = [values(child) for child in node.children]
        return [
            sum(p * value[player] for p, value in zip(chosen, below, strict=True))
            for player in range(tree.n_players)
        ]

    return values(tree.root)


def best_response_value(game: Game | Tree, policy: Policy, player: int) -> float:
    """The most that ``player`` can get while the others follow ``policy``, exactly.

    At an infoset the best action is the one with the largest sum, over the infoset's histories,
    of counterfactual reach times the value of what follows; what follows asks the player's later
    infosets for their best actions first.  Needs perfect recall.
    """
    tree = build_tree(game)
    reach: dict[DecisionNode, float] = {}
    best_action: dict[str, int] = {}

    def is_own(node: Node) -> bool:
        return isinstance(node, DecisionNode) and node.infoset.player == player

    def note_reach(node: Node, others: float) -> None:
        if isinstance(node, TerminalNode):
            return
        if isinstance(node, DecisionNode) and is_own(node):
            reach[node] = others
            for child in node.children:
                note_reach(child, others)
            return
        for p, child in zip(_probabilities(node, policy), node.children, strict=True):
            note_reach(child, others * p)

    def best(infoset: Infoset) -> int:
        if infoset.label not in best_action:
            worth = [
                sum(reach[node] * value(node.children[action]) for node in infoset.nodes)
                for action in range(len(infoset.actions))
            ]
            best_action[infoset.label] = worth.index(max(worth))
        return best_action[infoset.label]

    def value(node: Node) -> float:
        if isinstance(node, TerminalNode):
            return node.utilities[player]
        if isinstance(node, DecisionNode) and is_own(node):
            return value(node.children[best(node.infoset)])
        chosen = _probabilities(node, policy)
        return sum(p * value(child) for p, child in zip(chosen, node.children, strict=True))

    note_reach(tree.root, 1.0)
    return value(tree.root)


def nash_conv(game: Game | Tree, policy: Policy) -> float:
    """Sum over players of (best-response value - value): 0 at a Nash equilibrium, and only there.

    Some authors call this sum the exploitability; in this library exploitability is
    ``nash_conv / n_players``.
    """
    tree = build_tree(game)
    values = expected_values(tree, policy)
    return sum(
        best_response_value(tree, policy, player) - values[player]
        for player in range(tree.n_players)
    )
