"""The excessive gap technique: plans of two players, and smoothed best responses to them.

A *smoothed* best response maximises its value less ``mu`` times the dilated entropy, the sum over
infosets of own reach times ``weight`` times the divergence of the strategy from the uniform one.
It is one pass up the tree with an exponential in place of the maximum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import kernel
from ..model.arrays import SequenceForm
from ..payoff.multiply import payoff_product, payoff_scratch
from .descent import follow
from .exponentials import LEAST_SHARE, exponential, logarithm

TILE = 512
"""Infosets at a time."""
MU, TAU, PASSES = 0, 2, 3
"""Places in ``numbers``: the smoothing of both players, the step, and passes over the game."""
MOST_TAU, GROWTH = 0.5, 1.11
"""The largest step, and by how much a step grows after one that kept the gap."""
LEAST_TAU = 2.0**-40
"""Below it a step changes nothing: what the gap lacks is rounding."""
ROUNDING = 2.0**-46
"""Of the responses' values: a gap that lacks less is there."""


class GapState(NamedTuple):
    """What the solver carries from one iteration to the next; float64 (sequences,) unless said."""

    cumulative: np.ndarray
    """Own reaches (realization plans) of both players: the solution so far."""
    gradient: np.ndarray
    """Payoffs of every sequence against the other player's plan."""
    strategy: np.ndarray
    """Smoothed best responses to the plans, as behaviour strategies."""
    numbers: np.ndarray
    """float64 (4,): the smoothing of both players, the step, and passes over a player's
    sequences."""


@kernel
def product(form: SequenceForm, player: int, reach: np.ndarray, g: np.ndarray) -> None:
    """The payoffs of a player's sequences; see :func:`tensorcfr.payoff.multiply.payoff_product`."""
    payoff_product(form, player, reach, g, payoff_scratch(form), None)


@kernel
def respond(
    form: SequenceForm,
    player: int,
    weight: np.ndarray,
    mu: float,
    gradient: np.ndarray,
    value: np.ndarray,
    strategy: np.ndarray,
    reach: np.ndarray,
) -> float:
    """The smoothed best response of a player.

    Args:
        form: The game.
        player: The player.
        weight: float64 (infosets,): weights of the entropies.
        mu: The smoothing.
        gradient: float64 (sequences,): payoffs of the sequences.
        value: float64 (sequences,): scratch.
        strategy: float64 (sequences,): modified in place, at the player's sequences.
        reach: float64 (sequences,): own reaches of the strategy; likewise.

    Returns:
        What it maximises: its value less ``mu`` times the entropy.
    """
    largest, total = np.empty(TILE), np.empty(TILE)
    empty = form.player_sequences[player]
    for s in range(empty, form.player_sequences[player + 1]):
        value[s] = gradient[s]
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            first, infoset = form.bucket_sequence[b] + begin, form.bucket_infoset[b] + begin
            own = weight[infoset:]
            for lane in range(length):
                largest[lane] = -np.inf
                total[lane] = 0.0
            for a in range(actions):
                q = value[first + a * lanes :]
                for lane in range(length):
                    largest[lane] = max(largest[lane], q[lane])
            for a in range(actions):
                q, sigma = value[first + a * lanes :], strategy[first + a * lanes :]
                for lane in range(length):
                    share = exponential((q[lane] - largest[lane]) / (mu * own[lane]))
                    sigma[lane] = share
                    total[lane] += share
            for a in range(actions):
                sigma = strategy[first + a * lanes :]
                for lane in range(length):
                    sigma[lane] = sigma[lane] / total[lane] if sigma[lane] > LEAST_SHARE else 0.0
            parent, uniform = form.infoset_parent[infoset:], np.log(actions)
            for lane in range(length):
                spread = mu * own[lane] * (logarithm(total[lane]) - uniform)
                value[parent[lane]] += largest[lane] + spread
    strategy[empty] = 1.0
    follow(form, player, strategy, reach, total)
    return value[empty]


@kernel
def mix(
    form: SequenceForm,
    player: int,
    tau: float,
    before: np.ndarray,
    new: np.ndarray,
    mixed: np.ndarray,
) -> None:
    """``mixed = (1 - tau) * before + tau * new``, at a player's sequences."""
    for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
        mixed[s] = (1.0 - tau) * before[s] + tau * new[s]


@kernel
def begin(form: SequenceForm, weight: np.ndarray, sum_of_payoffs: float, state: GapState) -> None:
    """The first plans: both smoothed by as little as leaves a gap.

    Args:
        form: The game.
        weight: As for :func:`shrink`.
        sum_of_payoffs: As for :func:`shrink`.
        state: ``numbers`` has the smoothing to begin with, and a step; modified in place.
    """
    n = form.player_sequences[2]
    value, reach = np.empty(n), np.empty(n)
    plan, gradient, strategy, numbers = state
    while True:
        # The first player's plan that no payoffs pull: the uniform strategy.
        for s in range(form.player_sequences[1]):
            gradient[s] = 0.0
        respond(form, 0, weight, numbers[MU], gradient, value, strategy, plan)
        product(form, 1, plan, gradient)
        respond(form, 1, weight, numbers[MU + 1], gradient, value, strategy, plan)
        product(form, 0, plan, gradient)
        found = respond(form, 0, weight, numbers[MU], gradient, value, strategy, plan)
        product(form, 1, plan, gradient)
        found += respond(form, 1, weight, numbers[MU + 1], gradient, value, strategy, reach)
        numbers[PASSES] += 3
        if found <= sum_of_payoffs:
            break
        numbers[MU] *= 2.0
        numbers[MU + 1] *= 2.0


@kernel
def shrink(
    form: SequenceForm,
    iterations: int,
    weight: np.ndarray,
    sum_of_payoffs: float,
    state: GapState,
) -> None:
    """Run some iterations, each of which makes the larger smoothing smaller.

    The plans keep an *excessive gap*: what the smoothed best responses to them get is together no
    more than the sum of the payoffs.  A step that would lose it is halved.

    Args:
        form: A game of two players.
        iterations: How many.
        weight: float64 (infosets,): weights of the entropies.
        sum_of_payoffs: What both players get together, whatever they play.
        state: Modified in place.
    """
    n = form.player_sequences[2]
    value, change, ahead, next_gradient = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    answer, response, next_response = np.empty(n), np.empty(n), np.empty(n)
    next_strategy = np.empty(n)
    plan, gradient, strategy, numbers = state
    for _ in range(iterations):
        player = 0 if numbers[MU] > numbers[MU + 1] else 1
        other = 1 - player
        mu, kept = numbers[MU + player], numbers[MU + other]
        follow(form, player, strategy, response, np.empty(TILE))
        product(form, other, response, change)
        numbers[PASSES] += 1
        tau = numbers[TAU]
        while tau >= LEAST_TAU:
            mix(form, other, tau, gradient, change, ahead)
            respond(form, other, weight, kept, ahead, value, next_strategy, answer)
            product(form, player, answer, ahead)
            mix(form, player, tau, gradient, ahead, next_gradient)
            # The proximal step from the response before, in closed form: the response to the
            # other's next plan.
            found = respond(
                form,
                player,
                weight,
                (1.0 - tau) * mu,
                next_gradient,
                value,
                next_strategy,
                next_response,
            )
            product(form, other, next_response, ahead)
            mix(form, other, tau, gradient, ahead, next_gradient)
            own = respond(form, other, weight, kept, next_gradient, value, next_strategy, response)
            numbers[PASSES] += 2
            scale = abs(found) + abs(own) + abs(sum_of_payoffs)
            if found + own <= sum_of_payoffs + ROUNDING * scale:
                break
            tau *= 0.5
        if tau < LEAST_TAU:
            return
        mix(form, other, tau, plan, answer, plan)
        mix(form, player, tau, plan, next_response, plan)
        for s in range(n):
            gradient[s], strategy[s] = next_gradient[s], next_strategy[s]
        numbers[MU + player] = (1.0 - tau) * mu
        numbers[TAU] = tau if tau >= MOST_TAU else min(GROWTH * tau, MOST_TAU)
