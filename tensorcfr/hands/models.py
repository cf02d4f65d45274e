"""Models of a player in a solved spot: from counts of hands, or from habits in words.

Both change the frequencies of the solution's actions, and each hand as little as possible.  The
changed strategy has the smallest Kullback-Leibler divergence from the solution's that the wanted
frequencies allow: each action is multiplied by a factor, then each hand is normalised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Number, OneOf, Several, Text, Whole, checked
from .._util.one_line import OneLine
from ..analysis.hand_tables import equities_at
from ..analysis.other_utilities import price_of, values_of
from ..formats.policies import find_policy
from ..model.compiled_game import CompiledGame
from ..model.policy import Policy
from ..solvers.solution import Solution
from .counting import STRENGTH, DecisionCounts, Frequency
from .situations import ALL_IN, BETS, POTS, RAISES, HandSituation
from .spot_decisions import SpotDecision, nodes_of_spot, spot_decisions

SPREAD = 0.1
"""Part of a change of frequencies that is the same for all hands.  It makes actions possible that
the solution never takes."""
ROUNDS, CLOSE = 500, 1e-10
"""Largest number of rounds of fitting frequencies, and their largest error."""
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
        by_class: dict[str, float] = {}
        for word, share in zip(decision.classes, before.tolist(), strict=True):
            by_class[word] = by_class.get(word, 0.0) + share
        estimates = counts.estimate(
            decision.situation, _with_absent(by_class), pool=pool, strength=strength
        )
        merged = _onto_classes({a: f.mean for a, f in estimates.items()}, list(by_class))
        wanted = np.array(
            [
                merged[word] * (share / by_class[word] if by_class[word] > 0 else 1.0)
                for word, share in zip(decision.classes, before.tolist(), strict=True)
            ]
        )
        wanted /= wanted.sum()
        changed = shift_frequencies(decision.strategy, decision.weight, wanted)
        after = frequencies_of(changed, decision.weight)
        nodes.append(decision.node)
        decisions.append(
            ModelledDecision(
                nodes_of_spot(solution.game).name(decision.node),
                decision.situation,
                estimates,
                dict(zip(decision.labels, before.tolist(), strict=True)),
                dict(zip(decision.labels, after.tolist(), strict=True)),
                sum(counts.table.get(decision.situation.levels[-1], {}).values()),
            )
        )
        return changed

    policy = with_changes(solution.game, solution.policy, player, change, pot_class)
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
    """Return the mean strategy over the hands, float64 (actions,); uniform without any weight."""
    total = float(weight.sum())
    if total <= 0.0:
        return np.full(strategy.shape[1], 1.0 / strategy.shape[1])
    means: np.ndarray = weight @ strategy / total
    return means


def shift_frequencies(strategy: np.ndarray, weight: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Change strategies so that their mean over hands has the wanted frequencies.

    Args:
        strategy: float64 (hands, actions): the strategies.
        weight: float64 (hands,): weight of each hand.
        wanted: float64 (actions,): the wanted frequencies.

    Returns:
        float64 (hands, actions); hands whose strategy is 0 everywhere are unchanged.
    """
    frequencies = frequencies_of(strategy, weight)
    live = strategy.sum(axis=1) > 0.0
    spread = SPREAD * 0.5 * float(np.abs(wanted - frequencies).sum())
    mixed = np.where(live[:, None], (1.0 - spread) * strategy + spread * wanted, 0.0)
    factors = np.ones(len(wanted))
    held = weight > 0.0
    if not held.any():
        return mixed
    rows, share = mixed[held], weight[held] / weight.sum()
    for _ in range(ROUNDS):
        scaled = rows * factors
        scaled /= scaled.sum(axis=1, keepdims=True)
        mean = share @ scaled
        if np.abs(mean - wanted).max() < CLOSE:
            break
        factors *= np.divide(wanted, mean, out=np.zeros_like(mean), where=mean > 0.0)
        factors /= factors.max()
    changed = mixed * factors
    total = changed.sum(axis=1, keepdims=True)
    return np.divide(changed, total, out=mixed, where=total > 0.0)


def with_changes(
    game: CompiledGame,
    policy: Policy,
    player: int,
    change: Callable[[SpotDecision], np.ndarray],
    pot_class: str | None = None,
) -> Policy:
    """Return a policy with changed strategies of a player."""
    nodes = nodes_of_spot(game)
    probabilities = np.array(policy.probabilities)

    def applied(decision: SpotDecision) -> np.ndarray:
        changed = change(decision)
        layout = nodes.layout(decision.node)
        if layout.stride:
            hands = np.flatnonzero(layout.lane >= 0)
            probabilities[layout.numbers(hands)] = changed[hands]
        return changed

    for _ in spot_decisions(game, policy, player, pot_class=pot_class, change=applied):
        pass
    return Policy(game, probabilities)


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
    base = values_of(game, policy, player)
    prices = []
    groups = [[habit] for habit in read] + ([read] if len(read) > 1 else [])
    for group in groups:
        changed = _with_habits(game, policy, player, group)
        names = tuple(habit.text for habit in group)
        prices.append(HabitPrice(names, changed, *price_of(game, base, changed, player)))
    return prices


def _with_habits(
    game: CompiledGame, policy: Policy, player: int, habits: Sequence[Habit]
) -> Policy:
    nodes, used = nodes_of_spot(game), set()

    def change(decision: SpotDecision) -> np.ndarray:
        strategy, equity = decision.strategy, None
        for habit in habits:
            if habit.street and habit.street != decision.situation.street:
                continue
            line = decision.situation.line
            taken = np.array([habit.takes(label, line) for label in decision.labels])
            if not taken.any() or taken.all():
                continue
            used.add(habit.text)
            weight = decision.weight
            if habit.hands:
                if equity is None:
                    equity = equities_at(nodes, decision.node, decision.own_reaches)[player]
                is_bluff = equity < BLUFF_BELOW
                named = is_bluff if habit.hands == "bluffs" else ~is_bluff
                weight = weight * named
            else:
                named = np.ones(len(weight), dtype=bool)
            strategy = np.where(
                named[:, None], _to_frequency(habit, strategy, weight, taken, decision), strategy
            )
        return strategy

    changed = with_changes(game, policy, player, change)
    if unused := [habit.text for habit in habits if habit.text not in used]:
        raise ValueError(f"habits: player {player} has no decision about {unused[0]!r}")
    return changed


def _to_frequency(
    habit: Habit,
    strategy: np.ndarray,
    weight: np.ndarray,
    taken: np.ndarray,
    decision: SpotDecision,
) -> np.ndarray:
    """Return the strategies with the frequency of a habit."""
    frequencies = frequencies_of(strategy, weight)
    now = float(frequencies[taken].sum())
    goal = habit.frequency if habit.factor is None else min(1.0, habit.factor * now)
    assert goal is not None
    if goal in (0.0, 1.0):
        # A hand that took only the actions that go takes the others in equal parts.
        kept = taken if goal else ~taken
        allowed = np.where(kept, strategy, 0.0)
        total = allowed.sum(axis=1, keepdims=True)
        live = strategy.sum(axis=1, keepdims=True) > 0.0
        spare = np.where(live, kept / kept.sum(), 0.0)
        return np.divide(allowed, total, out=spare, where=total > 0.0)
    rest = 1.0 - now
    wanted = np.where(
        taken,
        frequencies * goal / now if now > 0 else goal / taken.sum(),
        frequencies * (1.0 - goal) / rest if rest > 0 else (1.0 - goal) / (~taken).sum(),
    )
    return shift_frequencies(strategy, weight, wanted)
