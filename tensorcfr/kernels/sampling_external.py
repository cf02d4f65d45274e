"""External sampling: a traversal samples chance and the opponents, and tries every action of the
player who is updated, or some of them that it draws, too.

M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret minimization in
extensive games', NIPS 2009.

Chance and opponents are sampled with their own probabilities, which cancel with their reaches: the
value of an action is the value of the sampled history below it.  By perfect recall, two histories
of one infoset part at chance or at an opponent, where a traversal follows one branch only.  So it
visits an infoset of the player at most once, and may update it immediately.

Where only some of the player's actions are tried, the value below an action is divided by the
probability of trying it, that of the others is 0, and what an infoset adds is divided by the
probability with which those draws led there: all sums keep their expectation.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import borrowed, inlined, kernel
from .local_rule import LocalRule, parameters_of
from .reservoir import Samples, keep_advantages, keep_strategy
from .sampling import (
    SIMPLE,
    STOCHASTIC,
    add_to_average,
    draw_tried,
    next_tried,
    own_reach_weight,
    product_of_others,
    sample_action,
    update,
)
from .traversal import (
    ITERATION,
    ONE,
    PAUSED,
    STOPS,
    TERMINAL_NODE,
    TURN,
    ZERO,
    Frames,
    Orders,
    TraversalState,
    TraversalTree,
    Turn,
    U,
    Walk,
    begin_iteration,
    finish,
    pause,
    resumed,
    waits,
)
from .tree_access import deal_hands, next_decision, pay

ENDS, IS_EMPTY, WAITS = range(3)
"""Where a way down ends: at a terminal, at a decision of which no action is tried, or where the
traversal must wait."""


@kernel
def external_sampling(
    tree: TraversalTree,
    rule: LocalRule,
    orders: Orders,
    state: TraversalState,
    generator: np.ndarray,
    frames: Frames,
    samples: Samples | None,
    tries: np.ndarray | None,
) -> bool:
    """Run iterations, as far as the tree goes.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        orders: The iterations, in which players alternate.
        state: Modified in place.
        generator: uint64 (4,), or a script; modified in place.
        frames: Where to begin; modified in place.  The path has the decisions of the player who is
            updated.
        samples: Where to keep regrets and strategies for networks; None to learn at once.
        tries: Which of the player's actions are tried, float64 (4,), for
            :func:`tensorcfr.kernels.sampling.draw_tried`; None for all.

    Returns:
        Whether all iterations are done; otherwise ``frames`` says why not.
    """
    tree, state, frames = borrowed(tree), borrowed(state), borrowed(frames)
    schedule, players = borrowed(orders.schedule), borrowed(orders.players)
    cursor, reach, n_players = frames.cursor, frames.reach, frames.n_players
    clock, resumes = state.clock[0], cursor[PAUSED] != 0
    walk = Walk(ZERO, ZERO, 1.0, 1.0, U(state.touched[0]), U(state.touched[1]))
    for t in range(cursor[ITERATION], schedule.shape[0]):
        parameters = parameters_of(rule, schedule[t, 1:], schedule)
        if not resumes:
            if cursor[STOPS] != 0:
                break
            begin_iteration(frames, clock, walk, generator)
            clock += schedule[t, 0]
        for turn in range(cursor[TURN], len(players)):
            if resumes:
                resumes, deal, walk = False, ZERO, resumed(frames, walk)
            else:
                deal = deal_hands(tree, frames.held, generator)
                dealt = walk.histories + U(tree.dealt)
                walk = Walk(ZERO, ZERO, 1.0, 1.0, dealt, walk.decisions)
                for k in range(n_players):
                    reach[k] = 1.0
            asked = players[turn], deal, orders.averaging, schedule[t, 0], clock
            now = borrowed(Turn(tree, state.table, generator, rule, parameters, *asked))
            while True:
                walk, end = _down(now, frames, samples, tries, walk)
                if end == WAITS:
                    count = U(tree.node[walk.at]["n_children"])
                    pause(frames, state, walk, turn, clock, count)
                    return False
                found = 0.0 if end == IS_EMPTY else pay(tree, walk.at, deal, now.player)
                walk = _up(now, frames, samples, tries, walk, found, end == IS_EMPTY)
                if walk.depth == ZERO:
                    break
        cursor[ITERATION], cursor[TURN] = t + 1, 0
    finish(state, clock, walk)
    return cursor[ITERATION] == schedule.shape[0]


@inlined
def _down(
    turn: Turn, frames: Frames, samples: Samples | None, tries: np.ndarray | None, walk: Walk
) -> tuple[Walk, int]:
    """Go down to a terminal: by the first action that is tried where the player acts, by a draw
    elsewhere."""
    tree, table, generator = turn.tree, turn.table, turn.generator
    at, depth, own, led = walk.at, walk.depth, walk.own, walk.led
    histories, decisions = walk.histories, walk.decisions
    path, reach, end = frames.path, frames.reach, ENDS
    n_players = U(frames.n_players)
    tracked = _is_tracked(turn, n_players)
    while True:
        at, actor, block, histories, decisions = next_decision(
            turn, frames.held, at, True, histories, decisions
        )
        if actor == TERMINAL_NODE:
            break
        count = U(tree.node[at]["n_children"])
        if waits(frames, table, block, count):
            end = WAITS
            break
        first, strategy = U(tree.node[at]["first_child"]), block + count
        if actor == turn.player:
            path[depth]["first_child"] = first
            path[depth]["block"] = block
            path[depth]["n_children"] = count
            path[depth]["value"] = 0.0
            path[depth]["own"] = own
            if tracked:
                _copy(reach, depth, depth + ONE, n_players)
            action = ZERO
            if tries is not None:
                path[depth]["led"] = led
                action = _draw_tried(tries, turn, frames, block, count, depth)
            path[depth]["action"] = action
            depth += ONE
            if tries is not None:
                if action == count:
                    end = IS_EMPTY
                    break
                led *= frames.tried[(depth - ONE) * U(frames.width) + action]
        else:
            if turn.averaging == SIMPLE:
                sampled = 1.0
                if tracked:
                    sampled = product_of_others(reach, depth, n_players, turn.player, actor)
                if tries is not None:
                    sampled *= led
                if samples is None:
                    add_to_average(table, block, count, turn.weight / sampled)
                else:
                    keep_strategy(samples, table, block, count, turn.weight / sampled)
            action = sample_action(table, strategy, count, generator)
            if tracked:
                reach[depth * n_players + actor] *= table[strategy + action]
        if actor == turn.player:
            own *= table[strategy + action]
        at = first + action
    return Walk(at, depth, own, led, histories, decisions), end


@inlined
def _draw_tried(
    tries: np.ndarray,
    turn: Turn,
    frames: Frames,
    block: np.uint64,
    count: np.uint64,
    depth: np.uint64,
) -> np.uint64:
    """Draw which actions are tried; returns the first one.  The values of the others are 0."""
    row = depth * U(frames.width)
    draw_tried(tries, turn.table, block, count, frames.tried, row, turn.generator)
    for a in range(count):
        frames.q[row + a] = 0.0
    return next_tried(frames.tried, row, ZERO, count)


@inlined
def _up(
    turn: Turn,
    frames: Frames,
    samples: Samples | None,
    tries: np.ndarray | None,
    walk: Walk,
    found: float,
    is_empty: bool,
) -> Walk:
    """Go up with the value of a history to the last decision of which an action is left to try, and
    take that; decisions on the way learn.

    Returns:
        Where the traversal goes on; with depth 0 it is over.
    """
    depth, path, q, width = walk.depth, frames.path, frames.q, U(frames.width)
    table, n_players = turn.table, U(frames.n_players)
    tracked = _is_tracked(turn, n_players)
    while depth > ZERO:
        d = depth - ONE
        block, count = U(path[d]["block"]), U(path[d]["n_children"])
        action, strategy = U(path[d]["action"]), block + count
        if not is_empty:
            if tries is not None:
                found /= frames.tried[d * width + action]
            q[d * width + action] = found
            path[d]["value"] += table[strategy + action] * found
            action += ONE
            if tries is not None:
                action = next_tried(frames.tried, d * width, action, count)
        is_empty = False
        if action < count:
            path[d]["action"] = action
            own, led = path[d]["own"] * table[strategy + action], 1.0
            if tries is not None:
                led = path[d]["led"] * frames.tried[d * width + action]
            if tracked:
                _copy(frames.reach, d, depth, n_players)
            at = U(path[d]["first_child"]) + action
            return Walk(at, depth, own, led, walk.histories, walk.decisions)
        found = path[d]["value"]
        _learn(turn, frames, samples, tries, d)
        depth = d
    return Walk(ZERO, ZERO, 1.0, 1.0, walk.histories, walk.decisions)


@inlined
def _learn(
    turn: Turn, frames: Frames, samples: Samples | None, tries: np.ndarray | None, d: np.uint64
) -> None:
    """Update the infoset of frame ``d``, whose actions have their values; or leave a sample."""
    table, n_players = turn.table, U(frames.n_players)
    here, q, row = frames.path[d], frames.q, d * U(frames.width)
    block, count, found = U(here["block"]), U(here["n_children"]), here["value"]
    if turn.averaging != SIMPLE:
        sampled = 1.0
        if _is_tracked(turn, n_players):
            sampled = product_of_others(frames.reach, d, n_players, turn.player, turn.player)
        if tries is not None:
            sampled *= here["led"]
        add_to_average(table, block, count, here["own"] * own_reach_weight(turn, block, sampled))
    for a in range(count):
        q[row + a] -= found
        if tries is not None:
            q[row + a] /= here["led"]
    if samples is None:
        update(turn.rule, turn.parameters, table, block, count, q, row)
    else:
        keep_advantages(samples, block, count, q, row, turn.weight, 1.0)


@inlined
def _is_tracked(turn: Turn, n_players: np.uint64) -> bool:
    """Whether the opponents' reaches are kept for every frame, because the average needs them."""
    several = n_players > U(2)
    return turn.averaging == STOCHASTIC or bool(turn.averaging == SIMPLE and several)


@inlined
def _copy(reach: np.ndarray, source: int, target: int, n_players: int) -> None:
    """Copy a row of float64 (rows * players,)."""
    for k in range(n_players):
        reach[target * n_players + k] = reach[source * n_players + k]
