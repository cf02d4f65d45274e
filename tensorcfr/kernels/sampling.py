"""What the Monte Carlo traversals share: the tree they walk, the table they keep, the draws.

A traversal goes through histories, one at a time, and reads and writes one *block* of numbers
per infoset, so that what it needs at a node lies together, mostly in one cache line.

There are two kinds of trees.  One has every history of the game.  The other is a public tree: a
traversal draws the hands first, and a history is what it has drawn and the public node where it
is.  The parts of :class:`WalkedTree` that only the second kind has are None in the first; for a
kernel, that is a difference of types, so it is compiled for each kind, without any branches.

The kernels take arrays out of their records before their loops begin, and pass arrays and indices
to the functions below, never records or slices: each of these would count a reference, which
costs more than the arithmetic at a node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._util.jit import inlined
from .local_rule import LocalRule, apply
from .random import draw

SIMPLE, STOCHASTIC, OPTIMISTIC = 0, 1, 2
"""How a traversal adds to the average; see :class:`tensorcfr.algorithms.Sampling`."""

U = np.uint64
ZERO, ONE = U(0), U(1)
CHANCE_NODE, TERMINAL_NODE, NO_BLOCK = U(2**32 - 2), U(2**32 - 1), U(2**32 - 1)
"""In ``WalkedTree.node``: who acts, if nobody does; the block of an infoset with one action."""
ACTOR, FIRST, BLOCK, COUNT, BUCKET = 0, 1, 2, 3, 4
"""Columns of ``WalkedTree.node``."""
LAST, PENDING, REGRET = U(0), U(1), U(2)
"""Where in a block the last visit, the mark and the regrets are; then come the current strategy
and the cumulative strategy, ``n`` numbers each for ``n`` actions, then what a scheme keeps
besides: the instantaneous regrets of a traversal under way, or the baselines of each player."""


class WalkedTree(NamedTuple):
    """A game as a traversal sees it.

    Infosets with a single action have no block: there is nothing to learn, and nodes there are
    passed through.  Chance nodes that follow each other directly, the deal of one card after the
    other, are one draw; all of them count as visited.
    """

    node: np.ndarray
    """uint32 (nodes, 4): who acts, ``CHANCE_NODE`` or ``TERMINAL_NODE``; the first child, for a
    chance node its first outcome, for a terminal which one it is; the infoset's block or
    ``NO_BLOCK``, for a chance node the chance nodes that are passed after it; how many children
    or outcomes.

    Public trees: uint32 (nodes, 5): the first child also for a chance node, for a terminal which
    payoff it has; the block of the first of the node's infosets, for a chance node 0, for a
    terminal the row of ``utility``; and the bucket."""
    outcome: np.ndarray
    """uint32 (outcomes, 2): the node to which an outcome of chance leads; and the one of the
    outcome's alias (Walker's method).  Public trees: (deals, 2), the deals, each as the hand of
    player 0 times the hands of player 1 plus the hand of player 1."""
    threshold: np.ndarray
    """float64 (outcomes,): with which probability a draw that falls on an outcome stays there and
    does not go to its alias."""
    probability: np.ndarray
    """float64 (outcomes,): the outcome's probability."""
    utility: np.ndarray
    """float64 (terminals, players): what each terminal pays.  Public trees: (matrices, players,
    hands of player 0 times hands of player 1)."""
    depth: int
    """The most decisions and chance nodes on the way to a terminal."""
    width: int
    """The most children of a decision node or chance node."""
    blocks: int
    """Infosets with a block that one traversal can meet."""
    entries: int
    """The most nodes that a traversal of the whole tree has in its queue."""
    once: bool
    """Whether a traversal that samples chance meets every infoset once at most."""
    dealt: int = 0
    """Public trees: the chance nodes by which the hands are dealt."""
    hands: int = 0
    """Public trees: hands of player 1."""
    offset: np.ndarray | None = None
    """Public trees: uint32 (buckets, most hands): how far the block of each hand is from that of
    the first one."""
    chance: np.ndarray | None = None
    """Public trees: int32 (nodes,): row of ``chance_table`` for the step into the node; without
    chance nodes, empty."""
    chance_table: np.ndarray | None = None
    """Public trees: float64 (tables, hands of player 0 times hands of player 1): probability of
    the step."""
    coefficient: np.ndarray | None = None
    """Public trees: float64 (payoffs,): multiple of what ``utility`` has."""


class Tally(NamedTuple):
    """What a traversal keeps between iterations; modified in place."""

    table: np.ndarray
    """float64: the infosets' blocks, one after the other."""
    clock: np.ndarray
    """float64 (1,): the sum of the averaging weights so far."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""


NO_MEMORY = np.empty((0, 1))
"""Sampled rules keep nothing but a regret."""


@inlined
def sample_chance(
    outcome: np.ndarray, threshold: np.ndarray, first: int, count: int, generator: np.ndarray
) -> np.uint64:
    """The node that chance leads to, by Walker's alias method: one draw, whatever the number of
    outcomes."""
    # By way of signed numbers, which become floats and come back in one instruction.
    point = draw(generator) * np.int64(count)
    column = np.int64(point)
    chosen = first + U(column)
    return U(outcome[chosen, U(point - column >= threshold[chosen])])


@inlined
def sample_action(table: np.ndarray, at: int, count: int, generator: np.ndarray) -> np.uint64:
    """An action by its probability in ``table[at:at + count]``; never one of probability 0."""
    left = draw(generator)
    if count == U(2):
        return U(left >= table[at])
    chosen = ZERO
    for a in range(count):
        probability = table[at + a]
        if probability > 0.0:
            chosen = U(a)
            left -= probability
            if left < 0.0:
                break
    return chosen


@inlined
def update(
    rule: LocalRule,
    parameters: tuple[float, ...],
    table: np.ndarray,
    block: int,
    count: int,
    instant: np.ndarray,
    offset: int,
) -> None:
    """New regrets of an infoset by the local rule, and the strategy that regret matching makes
    of them.

    Args:
        rule: The local rule.
        parameters: Its parameters at this iteration.
        table: Modified in place.
        block: The infoset's block.
        count: Its actions.
        instant: float64: holds its instantaneous regrets.
        offset: Where, from here on.
    """
    regrets = block + REGRET
    strategy = regrets + count
    total = 0.0
    for a in range(count):
        new, preference = apply(
            rule, table[regrets + a], instant[offset + a], NO_MEMORY, 0, parameters
        )
        table[regrets + a] = new
        preference = max(preference, 0.0)
        table[strategy + a] = preference
        total += preference
    if total > 0.0:
        for a in range(count):
            table[strategy + a] /= total
    else:
        for a in range(count):
            table[strategy + a] = 1.0 / np.int64(count)


@inlined
def settle(
    rule: LocalRule, parameters: tuple[float, ...], table: np.ndarray, met: np.ndarray, n_met: int
) -> np.uint64:
    """Update the infosets that were met, and forget them; returns how many there are now: 0.

    Args:
        rule: The local rule.
        parameters: Its parameters at this iteration.
        table: Behind its cumulative strategy a block has its instantaneous regrets; modified in
            place.
        met: uint32 (infosets, 2): block and actions of each.
        n_met: How many.
    """
    for k in range(n_met):
        block, count = U(met[k, 0]), U(met[k, 1])
        instant = block + REGRET + count + count + count
        update(rule, parameters, table, block, count, table, instant)
        table[block + PENDING] = 0.0
        for a in range(count):
            table[instant + a] = 0.0
    return ZERO


@inlined
def add_to_average(table: np.ndarray, block: int, count: int, weight: float) -> None:
    """Add a multiple of an infoset's current strategy to its cumulative one."""
    strategy = block + REGRET + count
    for a in range(count):
        table[strategy + count + a] += weight * table[strategy + a]


@inlined
def weight_at_own(
    averaging: int, table: np.ndarray, block: int, weight: float, clock: float, sampled: float
) -> float:
    """How much of own reach enters the average at a node of the player who is updated.

    Args:
        averaging: ``STOCHASTIC`` or ``OPTIMISTIC``.
        table: The last visit is noted in place.
        block: The infoset's block.
        weight: Averaging weight of this iteration.
        clock: Sum of the weights, this iteration's included.
        sampled: The probability with which the sampler comes here, as far as it is not chance's.
    """
    if averaging == OPTIMISTIC:
        since = clock - table[block + LAST]
        table[block + LAST] = clock
        return since
    return weight / sampled


@inlined
def product_of_others(reach: np.ndarray, row: int, n_players: int, one: int, other: int) -> float:
    """The product of the players' reaches without those of two of them (who may be the same).

    Args:
        reach: float64 (rows * players,).
        row: Which row.
        n_players: Players.
        one: A player.
        other: Another player, or the same.
    """
    product = 1.0
    for k in range(n_players):
        if k != one and k != other:
            product *= reach[row * n_players + k]
    return product
