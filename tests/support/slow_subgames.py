"""Subgames from the rules alone, hand by hand: best-response values, the best gadgets, CFR+ on the
gadget as a rule of two actions inside the iteration, CFR-D.  Shares no code with the library."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np

from tensorcfr.rules import Chance, Decision, Payoff, PublicTreeGame

Strategy = Mapping[str, Mapping[str, float]]


TIE = 2.0**-50
"""Instantaneous regrets up to here are the rounding of a tie, in games that pay a few chips."""
MIN_RANGE = 1e-12
"""The range of hands that the trunk does not bring.  With so small a one true regrets are as small
as the rounding of ties: comparisons make it larger here and in the solver."""


class Spot:
    """A public node of some rules, with the weights of the deals that reach it."""

    def __init__(self, rules: PublicTreeGame, steps: tuple[Any, ...]) -> None:
        self.rules = rules
        self.hands = [[str(hand) for hand in own] for own in rules.hands]
        self.state, self.path = rules.root(), ""
        self.chance = np.array(rules.prior, dtype=float)
        self.acted: list[tuple[int, str, str]] = []
        for step in steps:
            node = rules.node(self.state)
            if isinstance(node, Chance):
                given = np.broadcast_to(np.asarray(node.outcomes[step], float), self.chance.shape)
                self.chance = np.where(self.chance > 0, self.chance * given, 0.0)
            else:
                assert isinstance(node, Decision)
                self.acted.append((node.player, self.public(node, self.path), str(step)))
            self.state, self.path = rules.next(self.state, step), f"{self.path} {step}"

    @staticmethod
    def public(node: Decision, path: str) -> str:
        return path if node.infoset is None else node.infoset

    def label(self, player: int, hand: int, public: str) -> str:
        return self.rules.label(player, self.rules.hands[player][hand], public)

    def reach(self, policy: Strategy, player: int) -> np.ndarray:
        """Own reach of each hand."""
        found = np.ones(len(self.hands[player]))
        for acting, public, action in self.acted:
            if acting == player:
                for hand in range(len(found)):
                    own = policy.get(self.label(player, hand, public))
                    found[hand] *= own[action] if own else 0.0
        return found

    def weights(self, policy: Strategy, player: int) -> np.ndarray:
        """(own hands, other hands): weights of the deals without the player's own actions."""
        other = self.reach(policy, 1 - player)
        return (self.chance if player == 0 else self.chance.T) * other[None, :]

    def best(self, policy: Strategy, player: int) -> np.ndarray:
        """Counterfactual best-response value of each hand, not divided by its weight."""
        weights = self.weights(policy, player)
        return np.array(
            [
                self._best(policy, player, hand, weights[hand], self.state, self.path)
                for hand in range(len(weights))
            ]
        )

    def _best(
        self, policy: Strategy, player: int, hand: int, w: np.ndarray, state: Any, path: str
    ) -> float:
        if not w.any():
            return 0.0
        node = self.rules.node(state)
        if isinstance(node, Payoff):
            return float(w @ self.payoff(node, player, hand, w))
        down = lambda weights, step: self._best(  # noqa: E731
            policy, player, hand, weights, self.rules.next(state, step), f"{path} {step}"
        )
        if isinstance(node, Chance):
            return sum(
                down(w * self.given(table, player, hand, w), step)
                for step, table in node.outcomes.items()
            )
        if node.player == player:
            return max(down(w, action) for action in node.actions)
        rows = [
            policy.get(self.label(node.player, h, self.public(node, path))) for h in range(len(w))
        ]
        return sum(
            down(w * np.array([row[str(action)] if row else 0.0 for row in rows]), action)
            for action in node.actions
        )

    def payoff(self, node: Payoff, player: int, hand: int, w: np.ndarray) -> np.ndarray:
        """What a hand gets against every other hand; 0 where the deal does not occur."""
        matrix = np.asarray(self.rules.matrix(node.matrix))[player]
        own = matrix[hand] if player == 0 else matrix[:, hand]
        return np.where(w > 0, node.coefficient * own, 0.0)

    def given(self, table: Any, player: int, hand: int, w: np.ndarray) -> np.ndarray:
        full = np.broadcast_to(np.asarray(table, float), self.chance.shape)
        return np.where(w > 0, full[hand] if player == 0 else full[:, hand], 0.0)

    # ---------------------------------------------------------------- exact gadgets

    def best_gadget(
        self,
        policy: Strategy,
        player: int,
        alternative: np.ndarray,
        *,
        margin: bool,
        depth: int = -1,
        continuations: tuple[Strategy, ...] = (),
    ) -> float:
        """By one linear program over the strategies of ``player`` here: the largest least margin,
        or the least sum over the opponent's hands of max(alternative, value) times weight.  After
        ``depth`` public steps ``player`` follows ``policy``, and every hand of the opponent the
        best of the ``continuations``."""
        from scipy.optimize import linprog

        opponent = 1 - player
        weights = self.weights(policy, opponent)
        total = weights.sum(axis=1)
        columns: dict[Any, int] = {}
        rows: list[tuple[dict[int, float], float, bool]] = []  # Sum = or <= number.

        def column(*key: Any) -> int:
            return columns.setdefault(key, len(columns))

        def descend(
            hand: int, w: np.ndarray, plan: list[int], state: Any, path: str, left: int
        ) -> dict[int, float]:
            node = self.rules.node(state)
            if left == 0 and not isinstance(node, Payoff):
                best = column("leaf", hand, path)
                for other in continuations:
                    paid = self._followed(other, policy, opponent, hand, w, state, path)
                    row = add({plan[h]: paid[h]} for h in np.flatnonzero(w).tolist())
                    rows.append((add([row, {best: -1.0}]), 0.0, False))
                return {best: 1.0}
            if isinstance(node, Payoff):
                found: dict[int, float] = {}
                for h, paid in enumerate(self.payoff(node, opponent, hand, w)):
                    if w[h] > 0:
                        found[plan[h]] = found.get(plan[h], 0.0) + w[h] * paid
                return found
            below = lambda weights, plans, step: descend(  # noqa: E731
                hand, weights, plans, self.rules.next(state, step), f"{path} {step}", left - 1
            )
            if isinstance(node, Chance):
                return add(
                    below(w * self.given(table, opponent, hand, w), plan, step)
                    for step, table in node.outcomes.items()
                )
            if node.player == player:
                plans: dict[Any, list[int]] = {action: list(plan) for action in node.actions}
                for h in np.flatnonzero(w).tolist():
                    label = self.label(player, h, self.public(node, path))
                    if (label,) not in known:
                        known.add((label,))
                        split = {column("x", label, a): 1.0 for a in node.actions}
                        rows.append((add([split, {plan[h]: -1.0}]), 0.0, True))
                    for action in node.actions:
                        plans[action][h] = column("x", label, action)
                return add(below(w, plans[action], action) for action in node.actions)
            value = column("v", hand, path)
            for action in node.actions:
                rows.append((add([below(w, plan, action), {value: -1.0}]), 0.0, False))
            return {value: 1.0}

        known: set[Any] = set()
        start = [column("x", h) for h in range(len(self.hands[player]))]
        rows.extend(({x: 1.0}, 1.0, True) for x in start)
        objective: dict[int, float] = {column("margin"): -1.0} if margin else {}
        for hand in np.flatnonzero(total).tolist():
            value = descend(hand, weights[hand], start, self.state, self.path, depth)
            least = alternative[hand] * total[hand]
            if margin:
                rows.append((add([value, {column("margin"): total[hand]}]), least, False))
            else:
                kept = column("t", hand)
                objective[kept] = 1.0
                rows.append((add([value, {kept: -1.0}]), 0.0, False))
                rows.append(({kept: -1.0}, -least, False))
        n = len(columns)
        dense = lambda part: np.array([[row.get(c, 0.0) for c in range(n)] for row, _, _ in part])  # noqa: E731
        equal, below_rows = [r for r in rows if r[2]], [r for r in rows if not r[2]]
        result = linprog(
            [objective.get(c, 0.0) for c in range(n)],
            A_ub=dense(below_rows),
            b_ub=[r[1] for r in below_rows],
            A_eq=dense(equal),
            b_eq=[r[1] for r in equal],
            bounds=[(0, None) if key[0] == "x" else (None, None) for key in columns],
        )
        assert result.status == 0, result.message
        return -result.fun if margin else result.fun

    def _followed(
        self,
        own: Strategy,
        others: Strategy,
        player: int,
        hand: int,
        w: np.ndarray,
        state: Any,
        path: str,
    ) -> np.ndarray:
        """What a hand of ``player`` gets against each other hand, times the weights ``w``."""
        node = self.rules.node(state)
        if isinstance(node, Payoff):
            return w * self.payoff(node, player, hand, w)
        total = np.zeros(len(w))
        for step in node.outcomes if isinstance(node, Chance) else node.actions:
            if isinstance(node, Chance):
                share: Any = self.given(node.outcomes[step], player, hand, w)
            else:
                mine, public = node.player == player, self.public(node, path)
                rows = [
                    (own if mine else others).get(self.label(node.player, h, public))
                    for h in ([hand] if mine else range(len(w)))
                ]
                share = np.array([row[str(step)] if row else 0.0 for row in rows])
            total += self._followed(
                own, others, player, hand, w * share, self.rules.next(state, step), f"{path} {step}"
            )
        return total

    def gadget_cfr_plus(
        self, policy: Strategy, player: int, alternative: np.ndarray, iterations: int
    ) -> dict[str, np.ndarray]:
        """Average strategies of CFR+ below the node.  The opponent's range in each iteration is the
        probability to follow, by regret matching+ with two actions for each hand."""
        weights = self.weights(policy, 1 - player)
        deals = weights.T if player == 0 else weights  # (hands of 0, hands of 1).
        learner = Learner(self, deals)
        paid = {0: alternative * weights.sum(axis=1)}
        gadget_cfr_plus([learner], [0], player, paid, iterations)
        return learner.averages()


class Learner:
    """CFR+ below a public node, by recursion over the public tree; hands are the axes of arrays.

    Args:
        spot: The node.
        deals: float64 (hands of 0, hands of 1): weights of the deals.
        ends: Nodes further down, by their path, where the values of both players are given.
    """

    def __init__(self, spot: Spot, deals: np.ndarray, ends: Mapping[str, Any] = {}) -> None:
        self.spot, self.deals, self.ends = spot, deals, dict(ends)
        self.regret: dict[str, np.ndarray] = {}
        self.average: dict[str, np.ndarray] = {}
        self.actions: dict[str, list[str]] = {}
        self.owner: dict[str, int] = {}
        self.ones = [np.ones(len(own)) for own in spot.hands]
        self.values(0, self.ones)

    def values(
        self,
        mover: int,
        x: list[np.ndarray],
        *,
        weight: float | None = None,
        played: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Counterfactual values of the mover's hands.

        Args:
            mover: The player.
            x: The ranges of both players.
            weight: With which the mover's strategies enter the average; with a weight, the mover's
                regrets are updated.
            played: What regret matching makes the strategies from; by default the regrets.
        """
        given = self.regret if played is None else played
        return self._values(mover, self.spot.state, self.spot.path, x, self.deals, given, weight)

    def _values(
        self,
        mover: int,
        state: Any,
        path: str,
        x: list[np.ndarray],
        joint: np.ndarray,
        played: Mapping[str, np.ndarray],
        weight: float | None,
    ) -> np.ndarray:
        if path in self.ends:
            return self.ends[path][mover]
        rules = self.spot.rules
        node = rules.node(state)
        if isinstance(node, Payoff):
            matrix = np.where(joint > 0, np.asarray(rules.matrix(node.matrix))[mover], 0.0)
            paid = node.coefficient * joint * matrix
            return paid @ x[1] if mover == 0 else x[0] @ paid
        below = lambda step, x, joint: self._values(  # noqa: E731
            mover, rules.next(state, step), f"{path} {step}", x, joint, played, weight
        )
        if isinstance(node, Chance):
            return sum(
                below(s, x, np.where(joint > 0, joint * table, 0.0))
                for s, table in node.outcomes.items()
            )
        public = self.spot.public(node, path)
        self.actions[public], self.owner[public] = list(map(str, node.actions)), node.player
        shape = (len(node.actions), len(self.spot.hands[node.player]))
        old = self.regret.setdefault(public, np.zeros(shape))
        sigma = matched(played.get(public, np.zeros(shape)))
        values = []
        for a, action in enumerate(node.actions):
            reach = list(x)
            reach[node.player] = x[node.player] * sigma[a]
            values.append(below(action, reach, joint))
        if node.player != mover:
            return sum(values)
        mean = sum(s * v for s, v in zip(sigma, values, strict=True))
        if weight is not None:
            self.average[public] = self.average.get(public, 0.0) + weight * x[mover] * sigma
            instant = np.array(values) - mean
            instant[np.abs(instant) <= TIE] = 0.0
            self.regret[public] = np.maximum(old + instant, 0.0)
        return mean

    def averages(self) -> dict[str, np.ndarray]:
        """The average strategies, (actions, hands) by public label."""
        return {public: normalised(total) for public, total in self.average.items()}

    def reach(self, below: Spot, played: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Own reaches of both players at a node further down."""
        found = list(self.ones)
        for player, public, action in below.acted:
            found[player] = (
                found[player] * matched(played[public])[self.actions[public].index(action)]
            )
        return found


def gadget_cfr_plus(
    learners: list[Learner],
    entries: list[Any],
    player: int,
    alternative: Mapping[Any, np.ndarray],
    iterations: int,
    restarts: Container[int] = (),
) -> None:
    """CFR+ below some public nodes that the opponent enters together, or not at all.

    Args:
        learners: Those of the nodes.
        entries: For each node the entry of the opponent, which several nodes may share.
        player: Whose strategies are looked for.
        alternative: For each entry the counterfactual values of the opponent's hands.
        iterations: How many.
        restarts: Iterations at which the averages begin anew.
    """
    opponent = 1 - player
    choice = {entry: np.zeros((2, len(paid))) for entry, paid in alternative.items()}
    for t in range(1, iterations + 1):
        for learner in learners if t in restarts else ():
            learner.average.clear()
        for mover in (0, 1):
            found = dict.fromkeys(choice, 0.0)
            for learner, entry in zip(learners, entries, strict=True):
                ranges = list(learner.ones)
                ranges[opponent] = matched(choice[entry])[0]
                found[entry] = found[entry] + learner.values(mover, ranges, weight=t)
            for entry in choice if mover == opponent else ():
                values = np.array([found[entry], alternative[entry]])
                mean = (matched(choice[entry]) * values).sum(axis=0)
                choice[entry] = np.maximum(choice[entry] + values - mean, 0.0)


def cfr_d(
    rules: PublicTreeGame,
    groups: list[list[tuple[Any, ...]]],
    iterations: int,
    *,
    inner: int,
    resolving: int,
    alternating: bool,
    descending: bool = False,
    restarts: Container[int] = (),
) -> dict[str, np.ndarray]:
    """CFR-D with CFR+ above and below; average strategies, (actions, hands) by public label.

    Args:
        rules: The game.
        groups: Subgames; the public steps to each root of each.
        iterations: On the trunk.
        inner: On each subgame.
        resolving: On each gadget.
        alternating: Whether the players are updated in turn on the trunk.
        descending: Whether player 1 is updated first there.
        restarts: Iterations, on the trunk and below, at which all averages begin anew.
    """
    subgames = [[Spot(rules, steps) for steps in group] for group in groups]
    spots = [spot for group in subgames for spot in group]
    whole = Spot(rules, ())
    sums, total = {spot.path: [0.0, 0.0] for spot in spots}, 0
    trunk = Learner(whole, whole.chance, dict.fromkeys(sums, (0.0, 0.0)))
    for t in range(1, iterations + 1):
        if t in restarts:
            trunk.average.clear()
            sums, total = {spot.path: [0.0, 0.0] for spot in spots}, 0
        total += t
        turns = ((1,), (0,)) if descending else ((0,), (1,))
        for nth, movers in enumerate(turns if alternating else ((0, 1),)):
            played = dict(trunk.regret)
            for spot in spots:
                ranges = [np.maximum(own, MIN_RANGE) for own in trunk.reach(spot, played)]
                learner = Learner(spot, spot.chance)
                for s in range(1, inner + 1):
                    if s in restarts:
                        learner.average.clear()
                    for mover in (0, 1):
                        learner.values(mover, ranges, weight=s)
                trunk.ends[spot.path] = tuple(
                    learner.values(mover, ranges, played=learner.average) for mover in (0, 1)
                )
                for mover in (0, 1) if nth == 0 else ():
                    sums[spot.path][mover] = (
                        sums[spot.path][mover] + t * trunk.ends[spot.path][mover]
                    )
            for mover in movers:
                trunk.values(mover, trunk.ones, weight=t, played=played)
    return trunk.averages() | resolve_groups(
        subgames,
        lambda spot: trunk.reach(spot, trunk.average),
        lambda spot, player: sums[spot.path][player] / total,
        resolving,
        restarts,
    )


def entry_of(spot: Spot, player: int) -> Any:
    """The last action of a player before a public node."""
    return next((acted[1:] for acted in spot.acted[::-1] if acted[0] == player), "start")


def resolve_groups(
    subgames: list[list[Spot]],
    ranges: Callable[[Spot], list[np.ndarray]],
    values: Callable[[Spot, int], np.ndarray],
    resolving: int,
    restarts: Container[int] = (),
) -> dict[str, np.ndarray]:
    """The gadgets of some subgames by CFR+, for each player; average strategies.

    Args:
        subgames: The public nodes of each subgame.
        ranges: The own reaches of both players at a node.
        values: The counterfactual values of a player's hands at a node, which that player may take
            in place of the subgame.
        resolving: Iterations on each gadget.
        restarts: As for :func:`cfr_d`.
    """
    found = {}
    for group in subgames:
        for player in (0, 1):
            learners, entries, alternative = [], [], {}
            for spot in group:
                own = np.maximum(ranges(spot)[player], MIN_RANGE)
                deals = spot.chance * (own[:, None] if player == 0 else own)
                learners.append(Learner(spot, deals))
                entry = entry_of(spot, 1 - player)
                entries.append(entry)
                alternative[entry] = alternative.get(entry, 0.0) + values(spot, 1 - player)
            gadget_cfr_plus(learners, entries, player, alternative, resolving, restarts)
            for learner in learners:
                found |= {
                    public: strategies
                    for public, strategies in learner.averages().items()
                    if learner.owner[public] == player
                }
    return found


def matched(regret: np.ndarray) -> np.ndarray:
    return normalised(np.maximum(regret, 0.0))


def normalised(weights: np.ndarray) -> np.ndarray:
    total = weights.sum(axis=0)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / len(weights))


def add(parts: Any) -> dict[int, float]:
    """The sum of linear expressions."""
    found: dict[int, float] = {}
    for part in parts:
        for column, number in part.items():
            found[column] = found.get(column, 0.0) + number
    return found
