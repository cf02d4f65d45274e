"""Values and lower bounds of exploitability by sampling, where exact ones are out of reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np

from .._util.arguments import EXACT, Number, Whole, checked
from .._util.one_line import OneLine
from ..kernels.random import seeded
from ..model.arrays import CHANCE, TERMINAL
from ..model.infoset import Infoset
from ..uncompiled.draws import draws, sample_action
from ..uncompiled.game import UncompiledGame
from ..uncompiled.histories import Histories, Node
from ..uncompiled.infosets import InfosetTable
from ..uncompiled.strategies import Strategy, strategy_of

EXPLORES = 0.1
"""Share of own actions that are drawn evenly while a response is learned, so that actions that
looked bad at first are followed up."""
ROOM = 20_000
"""Histories near the root that are kept."""

Plays = Annotated[int, Whole(2, EXACT)]
Tries = Annotated[int, Whole(0, EXACT)]
Confidence = Annotated[float, Number(above=0, most=0.999999)]


@dataclass(frozen=True)
class Interval:
    """A mean of samples, and how sure it is."""

    mean: float
    """The mean."""
    standard_error: float
    """Its standard error."""
    confidence: float
    """The probability with which such an interval covers the true number: by the normal
    distribution, which many samples approach."""

    @property
    def half_width(self) -> float:
        """How far the ends are from the mean."""
        return NormalDist().inv_cdf(0.5 + self.confidence / 2) * self.standard_error

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half_width

    def __str__(self) -> str:
        return f"{self.mean:+.4g} ± {self.half_width:.2g} ({self.confidence:.0%})"


@dataclass(frozen=True, repr=False)
class SampledValues(OneLine):
    """What a policy is worth, by plays drawn from it."""

    values: tuple[Interval, ...]
    """The value of each player."""
    total: Interval
    """The sum of the players' values; in a game of constant sum, without any error."""
    plays: int
    """How many plays were drawn."""


@dataclass(frozen=True, repr=False)
class LocalBestResponse(OneLine):
    """What players gain by looking one action ahead: a lower bound of what a best response gains.

    Two things make it a lower bound: the response is some strategy, no better than the best one;
    and it is learned from some plays and judged by others.  The only uncertainty is that of the
    mean over the latter, which the intervals measure.  How far the bound is from the exploitability
    nobody knows: 0 or less does not mean that a policy is good.
    """

    values: tuple[Interval, ...]
    """For each player the value of their local best response against the others' strategies."""
    profile: SampledValues
    """What the policy itself is worth."""
    nash_conv: Interval
    """A lower bound of the sum over players of best-response value minus value."""
    responses: tuple[Callable[[Infoset], list[float]], ...]
    """The responses, as functions from infosets to probabilities."""
    infosets: tuple[int, ...]
    """For each player, how many infosets the response was learned at."""

    @property
    def exploitability(self) -> Interval:
        """A lower bound of the exploitability: of ``nash_conv`` divided by the number of
        players."""
        n = len(self.values)
        bound = self.nash_conv
        return Interval(bound.mean / n, bound.standard_error / n, bound.confidence)

    def __str__(self) -> str:
        return (
            f"exploitability at least {self.exploitability}, by a local best response; how much "
            "more it is, is not known"
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
    """The value of a policy for each player, by plays that are drawn from it.

    >>> from tensorcfr import solve
    >>> policy = solve("kuhn", "external_sampling", iters=2000, seed=1).policy
    >>> found = sampled_values("kuhn", policy, plays=2000).values[0]
    >>> found.low < -1 / 18 < found.high
    True

    Args:
        game: The rules: whatever :func:`tensorcfr.compile_game` takes.
        policy: Everybody's strategies: a function from an
            :class:`~tensorcfr.model.infoset.Infoset` to probabilities, a mapping of infoset labels,
            or a policy of OpenSpiel for its own games; see
            :func:`tensorcfr.uncompiled.strategies.strategy_of`.
        plays: How many plays.
        seed: The same seed gives the same plays.
        confidence: Of the intervals.

    Raises:
        ValueError: The policy has no distribution for an infoset; names it.
        GameError: The rules break their contract; names the history.
    """
    return _profile(_Walk(game, policy, (seed, 0)), plays, confidence)


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
    """A lower bound of exploitability by responses that look one action ahead.

    At each of their decisions the responder takes the action with the best expected value if they
    play ``rollout`` from there on, against the others' strategies and chance, given the infoset.
    (V. Lisý, M. Bowling, "Equilibrium approximation quality of current no-limit poker bots", AAAI
    workshop 2017, for poker, where the rollout calls.)  The expected values are means over plays:
    a play reaches the histories of an infoset with the right frequencies, and tries each action to
    the end of the game.  At infosets that no such play reached the responder plays the rollout.

    >>> from tensorcfr import solve
    >>> policy = solve("kuhn", "external_sampling", iters=20, seed=1).policy
    >>> local_best_response("kuhn", policy, tries=2000, plays=2000).exploitability.mean > 0.05
    True

    Args:
        game: The rules: whatever :func:`tensorcfr.compile_game` takes.
        policy: Everybody's strategies, as in :func:`sampled_values`.
        tries: Plays per player from which a response is learned.
        plays: Plays per player by which it is judged, and as many of the policy itself.
        seed: The same seed gives the same plays.
        rollout: What a responder expects to play after the action, in the same forms; by default
            their own strategies of the policy.
        confidence: Of the intervals.

    Raises:
        ValueError: The policy has no distribution for an infoset; names it.
        GameError: The rules break their contract; names the history.
    """
    profile = _profile(_Walk(game, policy, (seed, 0)), plays, confidence)
    values, responses, infosets = [], [], []
    for player in range(len(profile.values)):
        walk = _Walk(game, policy, (seed, 1, player), rollout)
        after = (
            walk.strategy if rollout is None else strategy_of(walk.histories, rollout, "rollout")
        )
        response = _Response(walk, player, after)
        for _ in range(tries):
            response.learn()
        paid = np.array([walk.play(response.at)[player] for _ in range(plays)])
        values.append(interval_of(paid, confidence))
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


class _Walk:
    """Plays of a game in which everybody follows a policy, drawn from a stream of a seed; histories
    suit another policy, too, if one is given."""

    def __init__(self, game: Any, policy: Any, seed: tuple[int, ...], rollout: Any = None) -> None:
        # Some policies are asked with a state, which histories that are kept give up.
        asks_states = any(
            hasattr(p, name)
            for p in (policy, rollout)
            for name in ("action_probabilities", "at_history")
        )
        room = 0 if asks_states else ROOM
        self.histories = Histories(UncompiledGame(game), InfosetTable(groups=0), room)
        self.strategy = strategy_of(self.histories, policy)
        self.draw: Callable[[], float] = partial(next, draws(seeded(seed)))

    def child(self, node: Node, index: int) -> Node:
        """The history after a step."""
        return node.children[index] or self.histories.step(node, index)

    def step(self, node: Node, strategy: Strategy) -> Node:
        """The history after a step that chance or a strategy draws."""
        if node.actor == CHANCE:
            return self.child(node, self.histories.draw(node, self.draw()))
        return self.child(node, sample_action(strategy(node), self.draw()))

    def play(self, strategy: Strategy, node: Node | None = None) -> tuple[float, ...]:
        """What a play pays that is drawn from a history on, the root by default."""
        node = self.histories.root if node is None else node
        while node.actor != TERMINAL:
            node = self.step(node, strategy)
        return node.utilities


class _Response:
    """A player who looks one action ahead, and goes on with a rollout."""

    def __init__(self, walk: _Walk, player: int, rollout: Strategy) -> None:
        self.walk, self.player, self.rollout = walk, player, rollout
        self.sums: dict[int, list[float]] = {}
        """By row, for each action what plays paid that tried it, in all."""

    def at(self, node: Node) -> list[float]:
        """Everybody's strategy at a decision: the response for the player."""
        if node.actor != self.player:
            return self.walk.strategy(node)
        sums = self.sums.get(node.row)
        return self.rollout(node) if sums is None else _pure(sums)

    def afterwards(self, node: Node) -> list[float]:
        """Everybody's strategy at a decision, after the action that is tried."""
        return (self.rollout if node.actor == self.player else self.walk.strategy)(node)

    def learn(self) -> None:
        """Play once, and try every action of the player on the way."""
        walk, node = self.walk, self.walk.histories.root
        while node.actor != TERMINAL:
            if node.actor != self.player:
                node = walk.step(node, walk.strategy)
                continue
            if node.count == 1:
                node = walk.child(node, 0)
                continue
            sums = self.sums.setdefault(node.row, [0.0] * node.count)
            for action in range(node.count):
                paid = walk.play(self.afterwards, walk.child(node, action))
                sums[action] += paid[self.player]
            chosen, number = _pure(sums), walk.draw()
            if number < EXPLORES:
                index = int(number / EXPLORES * node.count)
            else:
                index = sample_action(chosen, walk.draw())
            node = walk.child(node, index)

    def function(self, rollout: Any) -> Callable[[Infoset], list[float]]:
        """The response as a function from infosets to probabilities."""
        rows, sums = self.walk.histories.table.rows, self.sums

        def respond(infoset: Infoset) -> Any:
            learned = sums.get(rows.get(infoset, -1))
            if learned is not None:
                return _pure(learned)
            return rollout(infoset) if callable(rollout) else rollout[str(infoset)]

        return respond


def _pure(sums: list[float]) -> list[float]:
    """The strategy that takes the best action, the first of several."""
    best = sums.index(max(sums))
    return [float(action == best) for action in range(len(sums))]


def _profile(walk: _Walk, plays: int, confidence: float) -> SampledValues:
    paid = np.array([walk.play(walk.strategy) for _ in range(plays)])
    return SampledValues(
        values=tuple(interval_of(own, confidence) for own in paid.T),
        total=interval_of(paid.sum(axis=1), confidence),
        plays=plays,
    )


def interval_of(samples: np.ndarray, confidence: float) -> Interval:
    """The mean of samples, float64 (samples,), as an interval; of a single one the error is NaN."""
    if len(samples) < 2:
        return Interval(float(samples[0]), np.nan, confidence)
    # Equal samples have no spread: their mean must not be one rounding beside them.
    if (samples == samples[0]).all():
        return Interval(float(samples[0]), 0.0, confidence)
    error = float(samples.std(ddof=1)) / np.sqrt(len(samples))
    return Interval(float(samples.mean()), float(error), confidence)
