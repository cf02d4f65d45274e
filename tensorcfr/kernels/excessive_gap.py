"""Excessive gap technique: plans of two players, and smoothed best responses to them.

A *smoothed* best response maximises its value minus ``mu`` times the dilated entropy.  The dilated
entropy is the sum over infosets of own reach, times ``weight``, times the divergence of the
strategy from the uniform one.  The response takes one backward pass, with an exponential in place
of the maximum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import kernel
from ..model.arrays import SequenceForm
from ..payoff.multiply import payoff_product, payoff_scratch
from .exponentials import LEAST_SHARE, exponential, logarithm
from .forward_pass import follow

TILE = 512
"""Number of infosets that are processed together."""
MU, TAU, PASSES = 0, 2, 3
"""Indices in ``GapState.numbers``: smoothing of both players, step size, and number of passes."""
MOST_TAU, GROWTH = 0.5, 1.11
"""Largest step size, and its growth after a step that kept the gap."""
LEAST_TAU = 2.0**-40
"""Smallest step size.  If even this step violates the excessive gap condition, only rounding is
left, and the plans stay as they are."""
ROUNDING = 2.0**-46
"""Tolerance of the gap, as a share of the responses' values."""


class GapState(NamedTuple):
    """Solver state between iterations; float64 (sequences,) except where noted."""

    cumulative: np.ndarray
    """Realization plans (own reaches) of both players: the solution so far."""
    gradient: np.ndarray
    """Payoff of every sequence against the other player's plan."""
    strategy: np.ndarray
    """Smoothed best responses to the plans, as behaviour strategies."""
    numbers: np.ndarray
    """float64 (4,): smoothing of each player, step size, and number of passes over a player's
    sequences."""


@kernel
def product(form: SequenceForm, player: int, reach: np.ndarray, g: np.ndarray) -> None:
    """Compute the payoffs of a player's sequences.

    The arguments are those of :func:`tensorcfr.payoff.multiply.payoff_product`.
    """
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
    """Compute the smoothed best response of a player.

    Args:
        form: The game.
        player: The player.
        weight: float64 (infosets,): weights of the entropies.
        mu: The smoothing.
        gradient: float64 (sequences,): payoffs of the sequences.
        value: float64 (sequences,): scratch.
        strategy: float64 (sequences,): modified in place at the player's sequences.
        reach: float64 (sequences,): own reaches of the strategy, modified in place at the player's
            sequences.

    Returns:
        The maximum: the response's value minus ``mu`` times the entropy.
    """
    largest, total = np.empty(TILE), np.empty(TILE)
    empty = form.player_sequences[player]
    for s in range(empty, form.player_sequences[player + 1]):
        value[s] = gradient[s]
    # The value of an infoset is the maximum of `sigma * q - mu * weight * divergence`, in closed
    # form: largest + mu * weight * (log(sum of exp((q - largest) / (mu * weight))) - log(actions)).
    for b in range(form.player_buckets[player + 1] - 1, form.player_buckets[player] - 1, -1):
        actions, lanes = form.bucket_actions[b], form.bucket_lanes[b]
        for begin in range(0, lanes, TILE):
            length = min(TILE, lanes - begin)
            first, infoset = form.bucket_sequence[b] + begin, form.bucket_infoset[b] + begin
            entropy_weight = weight[infoset:]
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
                    numerator = exponential((q[lane] - largest[lane]) / (mu * entropy_weight[lane]))
                    sigma[lane] = numerator
                    total[lane] += numerator
            for a in range(actions):
                sigma = strategy[first + a * lanes :]
                for lane in range(length):
                    sigma[lane] = sigma[lane] / total[lane] if sigma[lane] > LEAST_SHARE else 0.0
            parent, uniform = form.infoset_parent[infoset:], np.log(actions)
            for lane in range(length):
                spread = mu * entropy_weight[lane] * (logarithm(total[lane]) - uniform)
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
    """Compute ``mixed = (1 - tau) * before + tau * new`` at a player's sequences."""
    for s in range(form.player_sequences[player], form.player_sequences[player + 1]):
        mixed[s] = (1.0 - tau) * before[s] + tau * new[s]


@kernel
def begin(form: SequenceForm, weight: np.ndarray, sum_of_payoffs: float, state: GapState) -> None:
    """Compute the first plans, with the smallest smoothing (up to a factor of 2) that leaves a gap.

    Args:
        form: The game.
        weight: float64 (infosets,): weights of the entropies.
        sum_of_payoffs: Total payoff of both players, which no strategy changes.
        state: Modified in place; ``numbers`` holds the initial smoothing and step size.
    """
    n = form.player_sequences[2]
    value, reach = np.empty(n), np.empty(n)
    plan, gradient, strategy, numbers = state
    while True:
        # The first player's response to payoffs of 0 is the uniform strategy.
        for s in range(form.player_sequences[1]):
            gradient[s] = 0.0
        respond(form, 0, weight, numbers[MU], gradient, value, strategy, plan)
        product(form, 1, plan, gradient)
        respond(form, 1, weight, numbers[MU + 1], gradient, value, strategy, plan)
        product(form, 0, plan, gradient)
        total_value = respond(form, 0, weight, numbers[MU], gradient, value, strategy, plan)
        product(form, 1, plan, gradient)
        total_value += respond(form, 1, weight, numbers[MU + 1], gradient, value, strategy, reach)
        numbers[PASSES] += 3
        if total_value <= sum_of_payoffs:
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
    """Run some iterations, each of which reduces the larger smoothing.

    The plans keep an *excessive gap*: the values of the smoothed best responses to them sum to at
    most the sum of the payoffs.  A step that would violate it is halved.

    Args:
        form: A game of two players.
        iterations: Number of iterations.
        weight: float64 (infosets,): weights of the entropies.
        sum_of_payoffs: Total payoff of both players, which no strategy changes.
        state: Modified in place.
    """
    n = form.player_sequences[2]
    value, change, ahead, next_gradient = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    answer, response, next_response = np.empty(n), np.empty(n), np.empty(n)
    next_strategy = np.empty(n)
    plan, gradient, strategy, numbers = state
    for _ in range(iterations):
        # Reduce the larger of the two smoothings.
        player = 0 if numbers[MU] > numbers[MU + 1] else 1
        opponent = 1 - player
        mu, opponent_mu = numbers[MU + player], numbers[MU + opponent]
        follow(form, player, strategy, response, np.empty(TILE))
        product(form, opponent, response, change)
        numbers[PASSES] += 1
        tau = numbers[TAU]
        while tau >= LEAST_TAU:
            mix(form, opponent, tau, gradient, change, ahead)
            respond(form, opponent, weight, opponent_mu, ahead, value, next_strategy, answer)
            product(form, player, answer, ahead)
            mix(form, player, tau, gradient, ahead, next_gradient)
            # The proximal step from the last response has a closed form: the response to the
            # opponent's next plan.
            player_value = respond(
                form,
                player,
                weight,
                (1.0 - tau) * mu,
                next_gradient,
                value,
                next_strategy,
                next_response,
            )
            product(form, opponent, next_response, ahead)
            mix(form, opponent, tau, gradient, ahead, next_gradient)
            opponent_value = respond(
                form, opponent, weight, opponent_mu, next_gradient, value, next_strategy, response
            )
            numbers[PASSES] += 2
            scale = abs(player_value) + abs(opponent_value) + abs(sum_of_payoffs)
            if player_value + opponent_value <= sum_of_payoffs + ROUNDING * scale:
                break
            tau *= 0.5
        # The plans stay as they are: no step keeps the gap.
        if tau < LEAST_TAU:
            return
        mix(form, opponent, tau, plan, answer, plan)
        mix(form, player, tau, plan, next_response, plan)
        for s in range(n):
            gradient[s], strategy[s] = next_gradient[s], next_strategy[s]
        numbers[MU + player] = (1.0 - tau) * mu
        numbers[TAU] = tau if tau >= MOST_TAU else min(GROWTH * tau, MOST_TAU)
