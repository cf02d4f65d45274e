"""Sampled values and lower bounds of exploitability, for games too large for exact evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import EXACT, Number, Whole, checked
from .._util.one_line import OneLine
from ..kernels.random import seeded
from ..model.arrays import CHANCE, TERMINAL
from ..model.infoset import Infoset
from ..uncompiled.draws import draws, sample_action
from ..uncompiled.history_strategies import Strategy, strategy_of
from ..uncompiled.infoset_table import InfosetTable
from ..uncompiled.lazy_histories import Histories, Node
from ..uncompiled.uncompiled_game import UncompiledGame

EXPLORES = 0.1
"""Share of the responder's actions that are drawn uniformly while a response is learned, so that
actions with bad first samples are tried again."""
ROOM = 20_000
"""Number of histories near the root that are cached."""

Plays = Annotated[int, Whole(2, EXACT)]
Tries = Annotated[int, Whole(0, EXACT)]
Confidence = Annotated[float, Number(above=0, most=0.999999)]


@dataclass(frozen=True)
class Interval:
    """A sample mean with its confidence interval."""

    mean: float
    """Sample mean."""
    standard_error: float
    """Standard error of the mean."""
    confidence: float
    """Probability with which such an interval covers the expected value, by the normal
    approximation."""

    @property
    def half_width(self) -> float:
        """Distance of either end from the mean."""
        return NormalDist().inv_cdf(0.5 + self.confidence / 2) * self.standard_error

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width

    def __str__(self) -> str:
        return f"{self.mean:+.4g} ± {self.half_width:.2g} ({self.confidence:.0%})"


@dataclass(frozen=True, repr=False)
class SampledValues(OneLine):
    """Values of a policy, estimated from plays drawn from it."""

    values: tuple[Interval, ...]
    """Value of each player."""
    total: Interval
    """Sum of the players' values; without sampling error in a constant-sum game."""
    plays: int
    """Number of plays drawn."""


@dataclass(frozen=True, repr=False)
class LocalBestResponse(OneLine):
    """Lower bound of the gain of best responses, from responses that look one action ahead.

    It is a lower bound for two reasons. The response is a strategy, so a best response earns at
    least as much; and it is learned from some plays and evaluated with others. The only uncertainty
    is the sampling error of the evaluation, which the intervals measure. The gap to the
    exploitability is unknown: a bound of 0 or less does not show that a policy is good.
    """

    values: tuple[Interval, ...]
    """Value of each player's local best response against the others' strategies."""
    profile: SampledValues
    """Values of the policy itself."""
    nash_conv: Interval
    """Lower bound of NashConv, the sum over players of best-response value minus value."""
    responses: tuple[Callable[[Infoset], list[float]], ...]
    """Responses, as functions from infosets to probabilities."""
    infosets: tuple[int, ...]
    """Number of infosets at which each player's response was learned."""

    @property
    def exploitability(self) -> Interval:
        """Lower bound of the exploitability: ``nash_conv`` divided by the number of players."""
        n = len(self.values)
        bound = self.nash_conv
        return Interval(bound.mean / n, bound.standard_error / n, bound.confidence)

    def __str__(self) -> str:
        return (
            f"exploitability at least {self.exploitability}, by a local best response; no "
            "upper bound is known"
        )


@checked()
def sampled_values(
    game: Any,
    policy: Any,
    *,
    plays: Plays = 10_000,
    seed: Annotated[int, Whole(0)] = 0,
    confidence: Confidence = 0.95,
) -> SampledValues:
    """Estimate the value of a policy for each player from plays drawn from it.

    >>> from tensorcfr import solve
    >>> policy = solve("kuhn", "external_sampling", iters=2000, seed=1).policy
    >>> value = sampled_values("kuhn", policy, plays=2000).values[0]
    >>> value.low < -1 / 18 < value.high
    True

    Args:
        game: The rules, in any form that :func:`tensorcfr.compile_game` accepts.
        policy: All players' strategies: a function from an
            :class:`~tensorcfr.model.infoset.Infoset` to probabilities, a mapping of infoset labels,
            or a policy of OpenSpiel for its own games; see
            :func:`tensorcfr.uncompiled.history_strategies.strategy_of`.
        plays: Number of plays.
        seed: The same seed gives the same plays.
        confidence: Confidence of the intervals.

    Raises:
        ValueError: The policy has no distribution for an infoset; names it.
        GameError: The rules break their contract; names the history.
    """
    return _profile(_PlaySampler(game, policy, (seed, 0)), plays, confidence)


@checked()
def local_best_response(
    game: Any,
    policy: Any,
    *,
    tries: Tries = 10_000,
    plays: Plays = 10_000,
    seed: Annotated[int, Whole(0)] = 0,
    rollout: Any = None,
    confidence: Confidence = 0.95,
) -> LocalBestResponse:
    """Bound the exploitability from below with responses that look one action ahead.

    At each of their decisions the responder takes the action with the best expected value, given
    the infoset, if they play ``rollout`` afterwards and the others and chance play as before. (V.
    Lisý, M. Bowling, "Equilibrium approximation quality of current no-limit poker bots", AAAI
    workshop 2017, for poker, where the rollout calls.) The expected values are means over plays. A
    play reaches the histories of an infoset with the right frequencies, and tries each action to
    the end of the game. At infosets that no play reached, the responder plays the rollout.

    >>> from tensorcfr import solve
    >>> policy = solve("kuhn", "external_sampling", iters=20, seed=1).policy
    >>> local_best_response("kuhn", policy, tries=2000, plays=2000).exploitability.mean > 0.05
    True

    Args:
        game: The rules, in any form that :func:`tensorcfr.compile_game` accepts.
        policy: All players' strategies, as in :func:`sampled_values`.
        tries: Number of plays per player from which a response is learned.
        plays: Number of plays per player with which it is evaluated, and of plays of the policy
            itself.
        seed: The same seed gives the same plays.
        rollout: Strategies that the responder expects to play after the action, in the same forms;
            by default their own strategies of the policy.
        confidence: Confidence of the intervals.

    Raises:
        ValueError: The policy has no distribution for an infoset; names it.
        GameError: The rules break their contract; names the history.
    """
    profile = _profile(_PlaySampler(game, policy, (seed, 0)), plays, confidence)
    values, responses, infosets = [], [], []
    for player in range(len(profile.values)):
        sampler = _PlaySampler(game, policy, (seed, 1, player), rollout)
        rollout_strategy = (
            sampler.strategy
            if rollout is None
            else strategy_of(sampler.histories, rollout, "rollout")
        )
        response = _Response(sampler, player, rollout_strategy)
        for _ in range(tries):
            response.learn()
        utilities = np.array([sampler.play(response.strategy_at)[player] for _ in range(plays)])
        values.append(interval_of(utilities, confidence))
        responses.append(response.function(policy if rollout is None else rollout))
        infosets.append(len(response.sums))
    errors = [*(value.standard_error for value in values), profile.total.standard_error]
    gain = sum(value.mean for value in values) - profile.total.mean
    return LocalBestResponse(
        values=tuple(values),
        profile=profile,
        nash_conv=Interval(gain, float(np.hypot.reduce(errors)), confidence),
        responses=tuple(responses),
        infosets=tuple(infosets),
    )


class _PlaySampler:
    """Sampler of plays in which every player follows a policy.

    Args:
        game: The rules.
        policy: All players' strategies.
        seed: Seed of the stream of random numbers.
        rollout: A second policy that will be queried at the same histories, if any.
    """

    def __init__(self, game: Any, policy: Any, seed: tuple[int, ...], rollout: Any = None) -> None:
        # Some policies are queried with a game state, which cached histories do not hold.
        asks_states = any(
            hasattr(p, name)
            for p in (policy, rollout)
            for name in ("action_probabilities", "at_history")
        )
        max_cached = 0 if asks_states else ROOM
        self.histories = Histories(UncompiledGame(game), InfosetTable(groups=0), max_cached)
        self.strategy = strategy_of(self.histories, policy)
        self.draw: Callable[[], float] = partial(next, draws(seeded(seed)))

    def child(self, node: Node, index: int) -> Node:
        """Return the history after a step."""
        return node.children[index] or self.histories.step(node, index)

    def step(self, node: Node, strategy: Strategy) -> Node:
        """Draw a step by chance or by a strategy, and return the history after it."""
        if node.actor == CHANCE:
            return self.child(node, self.histories.draw(node, self.draw()))
        return self.child(node, sample_action(strategy(node), self.draw()))

    def play(self, strategy: Strategy, node: Node | None = None) -> tuple[float, ...]:
        """Draw a play from a history on, the root by default, and return its utilities."""
        node = self.histories.root if node is None else node
        while node.actor != TERMINAL:
            node = self.step(node, strategy)
        return node.utilities


class _Response:
    """Player who looks one action ahead and then plays a rollout."""

    def __init__(self, sampler: _PlaySampler, player: int, rollout: Strategy) -> None:
        self.sampler, self.player, self.rollout = sampler, player, rollout
        self.sums: dict[int, list[float]] = {}
        """Sums of the utilities of the plays that tried each action, by row of the infoset
        table."""

    def strategy_at(self, node: Node) -> list[float]:
        """Return the strategy at a decision: the response's, or the policy's for the others."""
        if node.actor != self.player:
            return self.sampler.strategy(node)
        sums = self.sums.get(node.row)
        return self.rollout(node) if sums is None else _pure(sums)

    def afterwards(self, node: Node) -> list[float]:
        """Return the strategy at a decision after the tried action."""
        return (self.rollout if node.actor == self.player else self.sampler.strategy)(node)

    def learn(self) -> None:
        """Play once, and try every action of the player on the way."""
        sampler, node = self.sampler, self.sampler.histories.root
        while node.actor != TERMINAL:
            if node.actor != self.player:
                node = sampler.step(node, sampler.strategy)
                continue
            if node.count == 1:
                node = sampler.child(node, 0)
                continue
            # Every action is tried once per visit, so sums compare like means and need no counts.
            sums = self.sums.setdefault(node.row, [0.0] * node.count)
            for action in range(node.count):
                utilities = sampler.play(self.afterwards, sampler.child(node, action))
                sums[action] += utilities[self.player]
            best, draw = _pure(sums), sampler.draw()
            if draw < EXPLORES:
                # Given ``number < EXPLORES``, the quotient is uniform in [0, 1).
                index = int(draw / EXPLORES * node.count)
            else:
                index = sample_action(best, sampler.draw())
            node = sampler.child(node, index)

    def function(self, rollout: Any) -> Callable[[Infoset], list[float]]:
        """Return the response as a function from infosets to probabilities."""
        rows, sums = self.sampler.histories.table.rows, self.sums

        def respond(infoset: Infoset) -> Any:
            learned = sums.get(rows.get(infoset, -1))
            if learned is not None:
                return _pure(learned)
            return rollout(infoset) if callable(rollout) else rollout[str(infoset)]

        return respond


def _pure(sums: list[float]) -> list[float]:
    """Return the strategy that takes the best action, the first if several are best."""
    best = sums.index(max(sums))
    return [float(action == best) for action in range(len(sums))]


def _profile(sampler: _PlaySampler, plays: int, confidence: float) -> SampledValues:
    utilities = np.array([sampler.play(sampler.strategy) for _ in range(plays)])
    return SampledValues(
        values=tuple(interval_of(player_utilities, confidence) for player_utilities in utilities.T),
        total=interval_of(utilities.sum(axis=1), confidence),
        plays=plays,
    )


def interval_of(samples: np.ndarray, confidence: float) -> Interval:
    """Return the mean of samples, float64 (samples,), as an interval; NaN error for a single
    sample."""
    if len(samples) < 2:
        return Interval(float(samples[0]), np.nan, confidence)
    # Equal samples have no spread, and rounding must not move their mean away from them.
    if (samples == samples[0]).all():
        return Interval(float(samples[0]), 0.0, confidence)
    error = float(samples.std(ddof=1)) / np.sqrt(len(samples))
    return Interval(float(samples.mean()), float(error), confidence)
