"""A second slow twin: CFR infoset by infoset, with a learner at each.

:mod:`support.reference` passes values up history by history, under the strategies that are played.
Instant CFR and mirror descent pass other values up, one per infoset.  Here values go from infoset
to infoset, by recursion, and a *learner* written from its paper keeps what an infoset keeps.
Nothing is shared with the library but the rules of games.

Sources

* Instant CFR: Li, Hu, Qi, Song, "Efficient CFR for Imperfect Information Games with Instant
  Updates", ICML 2019 workshop.
* APCFR+, SAPCFR+: Meng, Yang, Zhang, Ge, Gao, "Faster Game Solving via Asymmetry of Step Sizes",
  AAAI 2026, section 4 and equation 3.
* Smooth PRM+: Farina, Grand-Clement, Kroer, Lee, Luo, "Regret Matching+: (In)Stability and Fast
  Convergence in Games", NeurIPS 2023.
* SOGRM+: Meng et al., "Last-Iterate Convergence of Smooth Regret Matching+ Variants in Learning
  Nash Equilibria", NeurIPS 2025.
* VAD-CFR: Li, Schultz, Hennes, Lanctot, "Discovering Multiagent Learning Algorithms with Large
  Language Models", arXiv 2602.16928v1, listing 5.
* HS-DCFR, HS-PCFR+: Zhang, McAleer, Sandholm, "Faster Game Solving via Hyperparameter Schedules",
  AAAI 2026, equations 2 and 3 and the schedules (30).
* Magnetic mirror descent: Sokota et al., "A Unified Approach to Reinforcement Learning, Quantal
  Response Equilibria, and Two-Player Zero-Sum Games", ICLR 2023; on the sequence form with dilated
  entropy, written here as a proximal step with the gradient of the entropy.
* RTCFR+: Meng, Yang, Zhang, Ge, Yang, Ding, Li, An, Gao, "Efficient Last-Iterate Convergence in
  Solving Extensive-Form Games", NeurIPS 2025.
* Optimistic mirror descent: Lee, Kroer, Luo, "Last-iterate Convergence in Extensive-Form Games",
  NeurIPS 2021: DOMWU, two proximal steps an iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from support.reference import (
    ChanceNode,
    DecisionNode,
    Node,
    Rule,
    TerminalNode,
    Tree,
    build_tree,
    cfr_plus_rule,
    normalized,
)
from tensorcfr import Game


class Learner:
    """What an infoset keeps, and the strategy that it plays next."""

    def __init__(self, actions: int) -> None:
        self.strategy = [1 / actions] * actions

    def gained(self, gains: list[float], own: float, t: int) -> list[float]:
        """What the actions gain before the player's next decision, by own reach of the infoset."""
        return gains

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        """Take in the counterfactual values of iteration ``t``.

        Args:
            values: Of the actions.
            instant: Their instantaneous regrets.
            value: Of the strategy played.
            t: From 1.

        Returns:
            The value of the infoset for the decisions before it.
        """
        raise NotImplementedError


class Regretful(Learner):
    """Regret matching, from the regrets of a rule; ``new`` passes the new strategy's value up."""

    rule: Rule
    new = False

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.regrets = [0.0] * actions

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        self.regrets = type(self).rule(self.regrets, instant, t)
        self.strategy = normalized([max(weight, 0.0) for weight in self.weights(instant, t)])
        if not self.new:
            return value
        return sum(p * v for p, v in zip(self.strategy, values, strict=True))

    def weights(self, instant: list[float], t: int) -> list[float]:
        return self.regrets


def regretful(with_rule: Rule, *, passes_new: bool = False) -> type[Regretful]:
    """The learner of a rule of :mod:`support.reference`."""

    class Learning(Regretful):
        rule = staticmethod(with_rule)
        new = passes_new

    return Learning


class SimpleAsymmetric(Regretful):
    """SAPCFR+: a third of the last regret is the prediction."""

    rule = staticmethod(cfr_plus_rule)

    def weights(self, instant: list[float], t: int) -> list[float]:
        return [regret + new / 3 for regret, new in zip(self.regrets, instant, strict=True)]


class Predictive(Regretful):
    """PCFR+: the last regret is the prediction."""

    rule = staticmethod(cfr_plus_rule)

    def weights(self, instant: list[float], t: int) -> list[float]:
        return [regret + new for regret, new in zip(self.regrets, instant, strict=True)]


class Paced(Regretful):
    """Paced CFR+: regrets grow where instantaneous ones turn, and shrink where they agree with
    their mean, which is the prediction.  They shrink no faster than 1 / t ** 8, and are never small
    beside new ones.  Instantaneous regrets are against the strategy without its floor."""

    rule = staticmethod(cfr_plus_rule)
    floor = 0.0

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.mean = [0.0] * actions
        self.own = self.strategy

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        if self.floor:
            worth = sum(p * v for p, v in zip(self.own, values, strict=True))
            instant = [v - worth for v in values]
        pairs = [
            (new, mean)
            for regret, new, mean in zip(self.regrets, instant, self.mean, strict=True)
            if new > 0 or regret + mean > 0
        ]
        new, old = (math.hypot(*one) for one in zip(*pairs, strict=True)) if pairs else (0, 0)
        if new > 0 and old > 0:
            cosine = sum((r / new) * (m / old) for r, m in pairs)
            speed = 0.05 * (1000 / (1000 + t)) ** (0.5 if cosine < 0.4 else 1)
            total = sum(self.regrets)
            pace = max(1 - speed * (cosine - 0.4), (1 - 1 / t) ** 8)
            if pace * total < min(t / 10, math.sqrt(t)) * new:
                pace = min(t / 10, math.sqrt(t)) * new / total if total else 1.0
            self.regrets = [pace * regret for regret in self.regrets]
        self.mean = [0.4 * m + 0.6 * r for m, r in zip(self.mean, instant, strict=True)]
        passed = super().learn(values, instant, value, t)
        self.own = self.strategy
        self.strategy = [(1 - self.floor) * p + self.floor / len(values) for p in self.own]
        return passed

    def weights(self, instant: list[float], t: int) -> list[float]:
        return [regret + mean for regret, mean in zip(self.regrets, self.mean, strict=True)]


class Pulled(Regretful):
    """RTCFR+: half the squared distance of own reach from the reference's is a loss; without the
    perturbation."""

    rule = staticmethod(cfr_plus_rule)
    mu, stay = 0.05, 4

    def gained(self, gains: list[float], own: float, t: int) -> list[float]:
        reach = [own * p for p in self.strategy]
        if t == 1 or t % self.stay == 0:
            self.reference = reach
        return [
            gain - self.mu * (x - y)
            for gain, x, y in zip(gains, reach, self.reference, strict=True)
        ]


class Asymmetric(Learner):
    """APCFR+: every vector is kept, and the sums of equation 3 are taken anew."""

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.instants, self.totals = [[0.0] * actions], [[0.0] * actions]

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        self.totals.append(cfr_plus_rule(self.totals[-1], instant, t))
        self.instants.append(instant)
        errors, moves = squares(self.instants), squares(self.totals)
        alpha = min(math.sqrt(errors / moves), 5.0) if moves > 0 else 5.0
        explicit = [r + new / (1 + alpha) for r, new in zip(self.totals[-1], instant, strict=True)]
        self.strategy = normalized([max(weight, 0.0) for weight in explicit])
        return value


def squares(vectors: list[list[float]]) -> float:
    """Sum of the squared distances between consecutive vectors."""
    return sum(
        (b - a) ** 2 for last, now in pairwise(vectors) for a, b in zip(last, now, strict=True)
    )


class Smooth(Learner):
    """Smooth predictive regret matching+, step size 1."""

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.regrets = [1 / actions] * actions

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        self.regrets = lifted([r + new for r, new in zip(self.regrets, instant, strict=True)])
        ahead = lifted([r + new for r, new in zip(self.regrets, instant, strict=True)])
        self.strategy = normalized(ahead)
        return value


class SmoothOptimistic(Learner):
    """SOGRM+, step size 1, as the authors' program has it: regrets of the last strategy are taken
    off again where those of the new one are known."""

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.regrets, self.ahead = [1 / actions] * actions, [1 / actions] * actions
        self.current: list[float] | None = None

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        if self.current is not None:
            triples = zip(self.ahead, self.current, instant, strict=True)
            self.regrets = [r - old + new for r, old, new in triples]
        self.current = list(instant)
        self.ahead = lifted([r + new for r, new in zip(self.regrets, instant, strict=True)])
        self.strategy = normalized(self.ahead)
        return value


class Volatile(Regretful):
    """VAD-CFR: one step of the discounted sum leads to the regrets, a damped one to the strategy.

    Multiply payoffs and ``unit`` alike, and nothing changes.
    """

    unit = 1.0
    size: float | None = None

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        largest = max(map(abs, instant))
        self.size = largest if self.size is None else 0.1 * largest + 0.9 * self.size
        v = min(1.0, self.size / (2 * self.unit))
        self.regrets = [max(r, -20.0 * self.unit) for r in self.added(instant, 1.0, v, t)]
        trust = (1 - 0.5 * v) / (1 + (t - 1) / 100)
        ahead = self.added(instant, trust, v, t)
        self.strategy = normalized([max(r, 0.0) ** 1.5 for r in ahead])
        return value

    def added(self, instant: list[float], trust: float, v: float, t: int) -> list[float]:
        """The regrets, discounted, and new ones, of which positive ones count for more."""
        alpha = max(0.1, 1.5 - 0.5 * v)
        beta = min(alpha, -0.1 - 0.5 * v)
        sums = []
        for regret, new in zip(self.regrets, instant, strict=True):
            power = t ** (alpha if regret >= 0 else beta)
            sums.append(regret * power / (power + 1) + trust * new * (1.1 if new > 0 else 1.0))
        return sums


def lifted(point: list[float]) -> list[float]:
    """The nearest point with entries from 0 and a sum from 1, by sorting (Held, Wolfe and Crowder
    1974) where the sum of positive entries is below 1."""
    positive = [max(x, 0.0) for x in point]
    if sum(positive) >= 1:
        return positive
    descending = sorted(point, reverse=True)
    shifts = [(sum(descending[:k]) - 1) / k for k in range(1, len(point) + 1)]
    largest = max(k for k, shift in enumerate(shifts) if descending[k] > shift)
    return [max(x - shifts[largest], 0.0) for x in point]


class Magnetic(Learner):
    """Magnetic mirror descent, temperature 0.05, step size 0.5, uniform magnet.

    The step is the best response to the values plus ``1 / eta`` times the gradient of the dilated
    entropy where it stands, penalised by ``alpha + 1 / eta`` times the entropy.  The gradient is
    ``ln p + 1``, less 1 for every infoset below, so that each infoset passes up ``1 / eta`` less.
    """

    alpha, eta = 0.05, 0.5

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        self.strategy, passed = proximal(values, self.strategy, self.alpha, self.eta)
        return passed


def proximal(
    values: list[float], start: list[float], alpha: float, eta: float
) -> tuple[list[float], float]:
    """The strategy of a proximal step, and the value of the infoset that it passes up."""
    penalty = alpha + 1 / eta
    linear = [v + (math.log(p) + 1) / eta for v, p in zip(values, start, strict=True)]
    top = max(linear)
    weights = [math.exp((x - top) / penalty) for x in linear]
    strategy = [weight / sum(weights) for weight in weights]
    entropy = -sum(p * math.log(p) for p in strategy)
    gained = sum(p * x for p, x in zip(strategy, linear, strict=True))
    return strategy, gained + penalty * entropy - 1 / eta


class MovingMagnet(Magnetic):
    """The same towards a magnet, the strategy played in every fourth iteration: the penalty is
    ``alpha`` times the divergence from it.

    Of the first magnet, uniform over the reduced plans, that is the entropy up to a constant.
    """

    stay = 4

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.magnet = [1.0] * actions

    def learn(self, values: list[float], instant: list[float], value: float, t: int) -> float:
        if t > 1 and t % self.stay == 1:
            self.magnet = self.strategy
        pulled = [v + self.alpha * math.log(p) for v, p in zip(values, self.magnet, strict=True)]
        return super().learn(pulled, instant, value, t)


class Optimistic(Learner):
    """DOMWU, step size 0.5.  A proximal step with this iteration's payoffs leads from ``base`` to
    the next ``base``; another one, with the same payoffs, from there to the strategy played next.

    Each step passes up values of its own, so there is no :meth:`learn`.
    """

    eta = 0.5

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.base = self.strategy

    @staticmethod
    def learn_together(
        learners: dict[str, Optimistic],
        gains: dict[str, list[float]],
        below: dict[tuple[str, int] | None, list[str]],
    ) -> None:
        """One player's steps, each from the last decisions up.

        Args:
            learners: By infoset; modified in place.
            gains: By infoset, what its actions gain before the player's next decision.
            below: The decisions after an infoset and action, and the first ones after None.
        """

        def settle(label: str, made: dict[str, list[float]]) -> float:
            values = [
                gain + sum(settle(child, made) for child in below.get((label, action), []))
                for action, gain in enumerate(gains[label])
            ]
            made[label], passed = proximal(values, learners[label].base, 0.0, Optimistic.eta)
            return passed

        for name in ("base", "strategy"):
            made: dict[str, list[float]] = {}
            for first in below.get(None, []):
                settle(first, made)
            for label, strategy in made.items():
                setattr(learners[label], name, strategy)


class InfosetCFR:
    """Iterations of any number of players with a learner at each infoset.

    Args:
        game: The game.
        learner: Makes the learner of an infoset from its number of actions.
        weight: Averaging weight of iteration ``t``.
        fading: By what the sum of the average is multiplied before iteration ``t`` is added.
        alternating: As for :class:`support.reference.ReferenceCFR`.
    """

    def __init__(
        self,
        game: Game | Tree,
        learner: Callable[[int], Learner],
        *,
        weight: Callable[[int], float] = lambda t: 1.0,
        fading: Callable[[int], float] = lambda t: 1.0,
        alternating: bool = True,
    ) -> None:
        self.tree, self.learner = build_tree(game), learner
        infosets = self.tree.infosets
        self.learners = {label: learner(len(i.actions)) for label, i in infosets.items()}
        self.cumulative = {label: [0.0] * len(i.actions) for label, i in infosets.items()}
        self.weight, self.fading, self.alternating, self.t = weight, fading, alternating, 0

    def iterate(self) -> None:
        self.t += 1
        players = range(self.tree.n_players)
        for together in [[player] for player in players] if self.alternating else [players]:
            played = {label: learner.strategy for label, learner in self.learners.items()}
            for player in together:
                self._update(player, played)

    def current_policy(self) -> dict[str, list[float]]:
        return {label: list(learner.strategy) for label, learner in self.learners.items()}

    def average_policy(self) -> dict[str, list[float]]:
        if not any(self.weight(t) for t in range(1, self.t + 1)):
            return self.current_policy()
        return {label: normalized(weights) for label, weights in self.cumulative.items()}

    def _update(self, player: int, played: dict[str, list[float]]) -> None:
        """One player's values, from the terminals; then the learners, from the last decisions."""
        gains = {i.label: [0.0] * len(i.actions) for i in self.tree.infosets_of(player)}
        below: dict[tuple[str, int] | None, list[str]] = {}
        own_reach: dict[str, float] = {}

        def walk(node: Node, own: float, others: float, last: tuple[str, int] | None) -> None:
            if isinstance(node, TerminalNode):
                if last is not None:
                    gains[last[0]][last[1]] += others * node.utilities[player]
            elif isinstance(node, ChanceNode):
                for p, child in zip(node.probabilities, node.children, strict=True):
                    walk(child, own, others * p, last)
            elif node.infoset.player != player:
                for p, child in zip(played[node.infoset.label], node.children, strict=True):
                    walk(child, own, others * p, last)
            else:
                decide(node, own, others, last)

        def decide(node: DecisionNode, own: float, others: float, last: object) -> None:
            label = node.infoset.label
            if label not in own_reach:
                own_reach[label] = own
                below.setdefault(last, []).append(label)  # type: ignore[arg-type]
            for action, child in enumerate(node.children):
                walk(child, own * played[label][action], others, (label, action))

        def settle(label: str) -> float:
            values = [
                gain + sum(settle(child) for child in below.get((label, action), []))
                for action, gain in enumerate(gains[label])
            ]
            value = sum(p * v for p, v in zip(played[label], values, strict=True))
            # docs/numerics.md: what is within the rounding of a tie is a tie.
            least = 2.0**-48 * max(abs(v) for v in values)
            instant = [0.0 if abs(v - value) <= least else v - value for v in values]
            return self.learners[label].learn(values, instant, value, self.t)

        walk(self.tree.root, 1.0, 1.0, None)
        for label, own in own_reach.items():
            gains[label] = self.learners[label].gained(gains[label], own, self.t)
            kept, faded = self.cumulative[label], self.fading(self.t)
            self.cumulative[label] = [
                faded * total + self.weight(self.t) * own * p
                for total, p in zip(kept, played[label], strict=True)
            ]
        together = getattr(self.learner, "learn_together", None)
        if together is not None:
            together(self.learners, gains, below)
            return
        for label in below.get(None, []):
            settle(label)
