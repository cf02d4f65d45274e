"""Models of a player in a solved spot: from counts of hands, or from habits in words.

Both change the frequencies of the solution's actions, and each hand as little as possible.  The
changed strategy has the smallest Kullback-Leibler divergence from the solution's that the wanted
frequencies allow: each action is multiplied by a factor, then each hand is normalised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Number, OneOf, Several, Text, Whole, checked
from .._util.one_line import OneLine
from ..analysis.other_utilities import price_of, values_of
from ..formats.policies import find_policy
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from ..solvers.solution import Solution
from .counting import STRENGTH, DecisionCounts, Frequency
from .situations import ALL_IN, BETS, POTS, RAISES, HandSituation
from .spot_decisions import Change, SpotDecision, nodes_of_spot, spot_decisions

SPREAD = 0.1
"""Part of a change of frequencies that is the same for all hands.  It makes actions possible that
the solution never takes."""
ROUNDS, CLOSE = 100, 1e-10
"""Largest number of Newton's steps that fit frequencies, and their largest error."""
BLUFF_BELOW = 0.5
"""Equity below which a bet or raise is a bluff."""
SOLUTION = Kind((Solution,), "a Solution of a spot")


class ModelledDecision(NamedTuple):
    """Decision of a spot in a model."""

    label: str
    """Line to the decision."""
    situation: HandSituation
    """Situation of the decision."""
    frequencies: dict[str, Frequency]
    """Estimated frequency by class of action."""
    solution: dict[str, float]
    """Frequency in the solution by label of the action."""
    model: dict[str, float]
    """Frequency in the model by label of the action."""
    decisions: int
    """Number of the player's decisions in the situation on any board, with any stack and course
    before."""


@dataclass(frozen=True, eq=False, repr=False)
class HandModel(OneLine):
    """Model of a player in a spot, from counts of played hands."""

    policy: Policy
    """The model; the other player has the strategies of the solution."""
    player: int
    """The player."""
    decisions: tuple[ModelledDecision, ...]
    """Decisions of the player, each before those after it."""
    nodes: tuple[int, ...] = field(repr=False)
    """Public node of each decision."""

    def counts(self) -> dict[str, dict[str, float]]:
        """Return counts by infoset and action, as :func:`~tensorcfr.analysis.robust_responses`
        takes them: the strategy of the model, times the number of decisions in its situation."""
        nodes, table = nodes_of_spot(self.policy.game), {}
        for node, decision in zip(self.nodes, self.decisions, strict=True):
            count = decision.decisions
            hands = np.flatnonzero(nodes.possible(node, self.player))
            probabilities = self.policy.at(nodes.layout(node).numbers(hands))
            actions = list(decision.model)
            for label, row in zip(nodes.labels(node, hands), probabilities, strict=True):
                scaled = (count * row).tolist()
                table[label] = dict(zip(actions, scaled, strict=True))
        return table


@checked()
def hand_model(
    solution: Annotated[Solution, SOLUTION],
    player: Annotated[int, Whole(0, 1)],
    counts: Annotated[DecisionCounts, Kind((DecisionCounts,), "counts of count_decisions")],
    *,
    pool: Annotated[
        DecisionCounts | None,
        Kind((DecisionCounts, type(None)), "counts of count_decisions"),
    ] = None,
    pot_class: Annotated[str | None, OneOf(POTS)] = None,
    strength: Annotated[float, Number(above=0, finite=True)] = STRENGTH,
) -> HandModel:
    """Make a model of a player in a spot from counts of played hands.

    Hole cards of opponents are mostly unknown, so counts give frequencies of actions.  The model
    changes the solution's strategies to have these frequencies, and keeps the order of hands.  At
    rare situations the frequencies are near those of the pool, or else of the solution.

    Args:
        solution: A solution of a spot of two players.
        player: The player of the spot who is modelled.
        counts: Their decisions.
        pool: Decisions of other players, a prior that precedes the solution.
        pot_class: Class of the pot, such as ``"raised"``, if the spot begins on the flop; None if
            it is unknown.
        strength: Number of decisions as which the prior counts.

    Raises:
        ValueError: The solution is not of a spot of two players.
    """
    nodes, decisions = [], []

    def change(decision: SpotDecision) -> np.ndarray:
        before = frequencies_of(decision.strategy, decision.weight)
        wanted, estimates = np.empty_like(before), []
        for board, situation in enumerate(decision.situations):
            shares = before[board].tolist()
            by_class: dict[str, float] = {}
            for word, share in zip(decision.classes, shares, strict=True):
                by_class[word] = by_class.get(word, 0.0) + share
            of_board = counts.estimate(
                situation, _with_absent(by_class), pool=pool, strength=strength
            )
            merged = _onto_classes({a: f.mean for a, f in of_board.items()}, list(by_class))
            wanted[board] = [
                merged[word] * (share / by_class[word] if by_class[word] > 0 else 1.0)
                for word, share in zip(decision.classes, shares, strict=True)
            ]
            estimates.append(of_board)
        wanted /= wanted.sum(axis=1, keepdims=True)
        changed = shift_frequencies(decision.strategy, decision.weight, wanted)
        after = frequencies_of(changed, decision.weight)
        for board, (node, situation) in enumerate(
            zip(decision.nodes.tolist(), decision.situations, strict=True)
        ):
            nodes.append(node)
            decisions.append(
                ModelledDecision(
                    nodes_of_spot(solution.game).name(node),
                    situation,
                    estimates[board],
                    dict(zip(decision.labels, before[board].tolist(), strict=True)),
                    dict(zip(decision.labels, after[board].tolist(), strict=True)),
                    sum(counts.table.get(situation.levels[-1], {}).values()),
                )
            )
        return changed

    (policy,) = with_changes(solution.game, solution.policy, player, [change], pot_class)
    return HandModel(policy, player, tuple(decisions), tuple(nodes))


def _with_absent(by_class: Mapping[str, float]) -> dict[str, float]:
    """Add the classes of bets or raises that the spot does not have, with frequency 0."""
    absent = BETS if "check" in by_class else RAISES
    can_raise = any(word in absent for word in by_class)
    return dict(by_class) | {word: 0.0 for word in absent if can_raise and word not in by_class}


def _onto_classes(shares: Mapping[str, float], possible: Sequence[str]) -> dict[str, float]:
    """Add the shares of classes that the spot does not have to the nearest size that it has."""
    order = (*BETS, *RAISES[:1])
    added = dict.fromkeys(possible, 0.0)
    for word, share in shares.items():
        if word not in added and word in order:
            sizes = [size for size in possible if size in order]
            word = min(sizes, key=lambda size: abs(order.index(size) - order.index(word)))
        if word in added:
            added[word] += share
    return added


def frequencies_of(strategy: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the mean strategy over the hands, uniform without any weight.

    Args:
        strategy: float64 (boards, hands, actions): the strategies.
        weight: float64 (boards, hands): weight of each hand.

    Returns:
        float64 (boards, actions).
    """
    total = weight.sum(axis=1)[:, None]
    uniform = np.full((len(strategy), strategy.shape[2]), 1.0 / strategy.shape[2])
    return np.divide((weight[:, None] @ strategy)[:, 0], total, out=uniform, where=total > 0.0)


def shift_frequencies(strategy: np.ndarray, weight: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Change strategies so that their mean over hands has the wanted frequencies.

    Args:
        strategy: float64 (boards, hands, actions): the strategies.
        weight: float64 (boards, hands): weight of each hand.
        wanted: float64 (boards, actions): the wanted frequencies.

    Returns:
        float64 (boards, hands, actions); hands whose strategy is 0 everywhere are unchanged.
    """
    frequencies = frequencies_of(strategy, weight)
    is_live = strategy.sum(axis=2, keepdims=True) > 0.0
    spread = SPREAD * 0.5 * np.abs(wanted - frequencies).sum(axis=1)[:, None, None]
    mixed = np.where(is_live, (1.0 - spread) * strategy + spread * wanted[:, None], 0.0)
    total = weight.sum(axis=1)
    has_weight = np.flatnonzero(total > 0.0)
    share = weight[has_weight] / total[has_weight, None]
    factors = np.ones_like(wanted)
    factors[has_weight] = _fit_factors(mixed[has_weight], share, wanted[has_weight])
    return _normalise(mixed * factors[:, None], mixed)


def _normalise(strategy: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Divide strategies by their sums over the actions; return others where a sum is 0."""
    total = strategy.sum(axis=2, keepdims=True)
    return np.divide(strategy, total, out=otherwise.copy(), where=total > 0.0)


def _fit_factors(strategy: np.ndarray, share: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Find the factor of each action that leads to the wanted frequencies.

    The logarithms of the factors minimise a convex function, whose gradient is the error of the
    frequencies.  A Newton step ``d`` is shortened to ``log(1 + r) / r`` of its length, where ``r``
    is its largest difference between two actions: the function then falls for sure (F. Bach,
    "Self-concordant analysis for logistic regression", Electronic Journal of Statistics 4, 2010).

    Args:
        strategy: float64 (boards, hands, actions).
        share: float64 (boards, hands): share of each hand; sums to 1 on each board.
        wanted: float64 (boards, actions).
    """
    is_wanted = wanted > 0.0
    exponents, pending = np.where(is_wanted, 0.0, -np.inf), np.arange(len(wanted))
    for _ in range(ROUNDS):
        scaled = strategy[pending] * np.exp(exponents[pending])[:, None]
        scaled = _normalise(scaled, scaled)
        weighted = scaled * share[pending][:, :, None]
        means = weighted.sum(axis=1)
        errors = wanted[pending] - means
        is_far = np.abs(errors).max(axis=1, initial=0.0) >= CLOSE
        if not is_far.any():
            break
        pending, means, errors = pending[is_far], means[is_far], errors[is_far]
        live = is_wanted[pending]
        scale = np.sqrt(np.where(live, means, 1.0))
        hessian = -weighted[is_far].transpose(0, 2, 1) @ scaled[is_far]
        hessian /= scale[:, :, None] * scale[:, None]
        # A factor of all actions has no effect.  This term makes the matrix regular.
        root = scale * live
        hessian += np.eye(wanted.shape[1]) + root[:, :, None] * root[:, None]
        scaled_errors = np.where(live, errors, 0.0) / scale
        step = np.linalg.solve(hessian, scaled_errors[:, :, None])[:, :, 0] / scale
        length = np.ptp(step, axis=1)[:, None]
        step *= np.divide(np.log1p(length), length, out=np.ones_like(length), where=length > 0.0)
        exponents[pending] += step
    return np.exp(exponents - exponents.max(axis=1, keepdims=True, initial=-np.inf))


def with_changes(
    game: CompiledGame,
    policy: Policy,
    player: int,
    changes: Sequence[Change],
    pot_class: str | None = None,
) -> list[Policy]:
    """Return a policy with changed strategies of a player for each of some changes."""

    def applied(change: Change, probabilities: np.ndarray, decision: SpotDecision) -> np.ndarray:
        changed = change(decision)
        has_number = decision.numbers >= 0
        probabilities[decision.numbers[has_number]] = changed[has_number]
        return changed

    arrays = [np.array(policy.probabilities) for _ in changes]
    applying = [partial(applied, *both) for both in zip(changes, arrays, strict=True)]
    for _ in spot_decisions(game, policy, player, pot_class=pot_class, changes=applying):
        pass
    return [Policy(game, probabilities) for probabilities in arrays]


# ------------------------------------------------------------------------------------- habits

_HABIT = re.compile(
    r"(?:(?P<street>flop|turn|river)\s+)?(?P<action>fold|check|call|bet|raise|allin)"
    r"(?:\s+(?P<hands>bluffs|value))?\s+"
    r"(?P<change>(?P<sign>[+-])(?P<more>\d+(?:\.\d+)?)%|=\s*(?P<to>\d+(?:\.\d+)?)%)"
)


@dataclass(frozen=True)
class Habit:
    """A habit of a player: an action that they take more or less often than a solution."""

    text: str
    """The habit in words."""
    street: str
    """``"flop"``, ``"turn"`` or ``"river"``; empty for all."""
    action: str
    """``"bet"`` and ``"raise"`` include all-ins."""
    hands: str
    """``"bluffs"``: hands with an equity below one half; ``"value"``: the others; empty for all."""
    factor: float | None
    """Factor of the frequency, or None."""
    frequency: float | None
    """New frequency, or None."""

    @classmethod
    def read(cls, text: str) -> Habit:
        """Read a habit.

        >>> Habit.read("call +10%").factor
        1.1
        >>> Habit.read("river bet bluffs =0%").frequency
        0.0

        Raises:
            ValueError: The text is not a habit.
        """
        match = _HABIT.fullmatch(text.strip())
        if not match:
            raise ValueError(
                f"habits: {text!r} is not a habit such as 'call +10%', 'turn check -20%' or "
                "'river bet bluffs =0%'"
            )
        if match["more"]:
            change = float(match["more"]) / 100.0
            factor = 1.0 + change if match["sign"] == "+" else 1.0 - change
            if factor < 0.0:
                raise ValueError(f"habits: {text!r}: a frequency falls by at most 100%")
            frequency = None
        else:
            factor, frequency = None, float(match["to"]) / 100.0
            if frequency > 1.0:
                raise ValueError(f"habits: {text!r}: a frequency is at most 100%")
        return cls(
            text.strip(),
            match["street"] or "",
            match["action"],
            match["hands"] or "",
            factor,
            frequency,
        )

    def takes(self, label: str, line: str) -> bool:
        """Return whether the habit is about an action.

        Args:
            label: Label of the action.
            line: Classes of the actions on this street so far.
        """
        if label == ALL_IN and self.action in ("bet", "raise"):
            faced = any(word in (*BETS, *RAISES) for word in line.split(", "))
            return faced == (self.action == "raise")
        return label.rstrip("0123456789.") == self.action


class HabitPrice(NamedTuple):
    """Price of habits, in the unit of the game."""

    habits: tuple[str, ...]
    """The habits."""
    policy: Policy
    """The solution with the habits."""
    against_solution: float
    """Loss of value against the solution of the other player."""
    against_best: float
    """Loss of value if the other player knows the habits and responds best, compared with a best
    response to the solution.  Of equally good responses the first one counts, action by action; it
    matters only in games without a constant sum."""


@checked()
def habit_prices(
    solution: Annotated[Solution, SOLUTION],
    player: Annotated[int, Whole(0, 1)],
    habits: Annotated[Sequence[str], Several(Text(200), alone=True)],
) -> list[HabitPrice]:
    """Give a player habits, and compute the price of each one and of all together.

    A habit is ``"[STREET] ACTION [bluffs|value] CHANGE"``.  The change is relative, ``"+10%"``, or
    a frequency, ``"=25%"``; with ``bluffs`` (hands with an equity below one half against the other
    player's range there) or ``value`` it is that of these hands.  The frequencies of all other
    actions change in proportion.

    Args:
        solution: A solution of a spot of two players.
        player: The player.
        habits: The habits, ``("call +10%", "river bet bluffs =0%")``.

    Returns:
        The price of each habit, and with several habits of all together, which come last.

    Raises:
        ValueError: A text is not a habit, or no decision of the player is about it; names it.
    """
    game, policy = solution.game, find_policy(solution.game, solution)
    read = [Habit.read(text) for text in habits]
    groups = [[habit] for habit in read] + ([read] if len(read) > 1 else [])
    used: set[str] = set()
    # All habits share one pass over the decisions.
    changes = [partial(_with_habits, group, used) for group in groups]
    policies = with_changes(game, policy, player, changes)
    if unused := [habit.text for habit in read if habit.text not in used]:
        raise ValueError(f"habits: player {player} has no decision about {unused[0]!r}")
    base = values_of(game, policy, player)
    return [
        HabitPrice(
            tuple(habit.text for habit in group), changed, *price_of(game, base, changed, player)
        )
        for group, changed in zip(groups, policies, strict=True)
    ]


def _with_habits(habits: Sequence[Habit], used: set[str], decision: SpotDecision) -> np.ndarray:
    """Return the strategy of a player with some habits; add those about the decision to a set."""
    strategy = decision.strategy
    for habit in habits:
        if habit.street and habit.street != decision.street:
            continue
        taken = np.array([habit.takes(label, decision.line) for label in decision.labels])
        if not taken.any() or taken.all():
            continue
        used.add(habit.text)
        named = np.ones(decision.weight.shape, dtype=bool)
        if habit.hands:
            is_bluff = decision.find_equity() < BLUFF_BELOW
            named = is_bluff if habit.hands == "bluffs" else ~is_bluff
        changed = _to_frequency(habit, strategy, decision.weight * named, taken)
        strategy = np.where(named[:, :, None], changed, strategy)
    return strategy


def _to_frequency(
    habit: Habit, strategy: np.ndarray, weight: np.ndarray, taken: np.ndarray
) -> np.ndarray:
    """Return the strategies with the frequency of a habit.

    Args:
        habit: The habit.
        strategy: float64 (boards, hands, actions): the strategies.
        weight: float64 (boards, hands): weight of each hand that the habit names.
        taken: bool (actions,): the actions that it names.
    """
    frequencies = frequencies_of(strategy, weight)
    now = frequencies[:, taken].sum(axis=1, keepdims=True)
    rest = 1.0 - now
    if habit.factor is None:
        goal = np.full_like(now, habit.frequency)
    else:
        goal = np.minimum(1.0, habit.factor * now)
    wanted = np.where(taken, goal / taken.sum(), (1.0 - goal) / (~taken).sum())
    np.divide(frequencies * goal, now, out=wanted, where=taken & (now > 0.0))
    np.divide(frequencies * (1.0 - goal), rest, out=wanted, where=~taken & (rest > 0.0))
    # A hand that took only the actions that go takes the others in equal parts.
    kept = np.where(goal > 0.0, taken, ~taken)[:, None]
    is_live = strategy.sum(axis=2, keepdims=True) > 0.0
    changed = _normalise(
        np.where(kept, strategy, 0.0),
        np.where(is_live & kept, 1.0 / kept.sum(axis=2, keepdims=True), 0.0),
    )
    is_mixed = ((goal > 0.0) & (goal < 1.0))[:, 0]
    changed[is_mixed] = shift_frequencies(strategy[is_mixed], weight[is_mixed], wanted[is_mixed])
    return changed
