"""Outcome sampling: a traversal plays the game once and learns from that play only.

M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret minimization in
extensive games', NIPS 2009; with baselines: M. Schmid, N. Burch, M. Lanctot, M. Moravcik,
R. Kadlec, M. Bowling, 'Variance reduction in Monte Carlo counterfactual regret minimization
(VR-MCCFR) for extensive form games using baselines', AAAI 2019.

The player who is updated explores: with probability epsilon the action is uniform.  The others
follow their strategies.  The value of a history ``h`` where ``a`` was sampled with probability
``xi`` is estimated by

    u(h, b) = baseline(h, b) + [b = a] (u(h a) - baseline(h, b)) / xi,    u(h) = sum_b sigma u(h, b)

and the instantaneous regret of ``b`` by ``(u(h, b) - u(h)) / (product of the player's own xi on
the way to h)``; the probabilities of the others and of chance cancel.
"""

from __future__ import annotations

import numpy as np

from .._util.jit import borrowed, inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import draw
from .reservoir import Samples, keep_advantages, keep_strategy, keep_value, look_up_values
from .sampling import (
    SIMPLE,
    add_to_average,
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


@kernel
def outcome_sampling(
    tree: TraversalTree,
    rule: LocalRule,
    orders: Orders,
    epsilon: float,
    baseline: float,
    state: TraversalState,
    generator: np.ndarray,
    frames: Frames,
    samples: Samples | None,
) -> bool:
    """Run iterations, as far as the tree goes.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        orders: The iterations, in which players alternate.
        epsilon: Probability of exploring at a decision of the player who is updated.
        baseline: Step size of the baselines, 0 to 1: how far one moves towards the sampled value;
            0 for no baselines.  Otherwise blocks have room for the baselines of each player.
        state: Modified in place.
        generator: uint64 (4,), or a script; modified in place.
        frames: Where to begin; modified in place.  The path has the decisions of all players.
        samples: Where to keep regrets, strategies and values for networks; None to learn at once.

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
            walk = _play(now, frames, samples, epsilon, walk)
            if tree.node[walk.at]["actor"] != TERMINAL_NODE:
                count = U(tree.node[walk.at]["n_children"])
                pause(frames, state, walk, turn, clock, count)
                return False
            found = pay(tree, walk.at, deal, now.player)
            _learn(now, frames, samples, baseline, walk.depth, found)
        cursor[ITERATION], cursor[TURN] = t + 1, 0
    finish(state, clock, walk)
    return cursor[ITERATION] == schedule.shape[0]


@inlined
def _play(turn: Turn, frames: Frames, samples: Samples | None, epsilon: float, walk: Walk) -> Walk:
    """Play the game, and add to the average, down to a terminal or to where the traversal must
    wait."""
    tree, table, generator = turn.tree, turn.table, turn.generator
    at, depth, led = walk.at, walk.depth, walk.led
    histories, decisions = walk.histories, walk.decisions
    path, reach, n_players = frames.path, frames.reach, U(frames.n_players)
    while True:
        at, actor, block, histories, decisions = next_decision(
            turn, frames.held, at, True, histories, decisions
        )
        if actor == TERMINAL_NODE:
            break
        count, first = U(tree.node[at]["n_children"]), U(tree.node[at]["first_child"])
        if waits(frames, table, block, count):
            break
        strategy = block + count
        path[depth]["led"] = led
        if actor == turn.player:
            if turn.averaging != SIMPLE:
                sampled = led * product_of_others(reach, ZERO, n_players, actor, actor)
                add = own_reach_weight(turn, block, sampled)
                add_to_average(table, block, count, reach[actor] * add)
            action = _explore(table, strategy, count, epsilon, generator)
            drawn = epsilon / np.int64(count) + (1.0 - epsilon) * table[strategy + action]
            led *= drawn
        else:
            if turn.averaging == SIMPLE:
                sampled = led * product_of_others(reach, ZERO, n_players, turn.player, actor)
                if samples is None:
                    add_to_average(table, block, count, turn.weight / sampled)
                else:
                    keep_strategy(samples, table, block, count, turn.weight / sampled)
            action = sample_action(table, strategy, count, generator)
            drawn = table[strategy + action]
        reach[actor] *= table[strategy + action]
        path[depth]["drawn"] = drawn
        path[depth]["actor"] = actor
        path[depth]["block"] = block
        path[depth]["n_children"] = count
        path[depth]["action"] = action
        path[depth]["first_child"] = first
        depth += ONE
        at = first + action
    return Walk(at, depth, 1.0, led, histories, decisions)


@inlined
def _learn(
    turn: Turn,
    frames: Frames,
    samples: Samples | None,
    baseline: float,
    depth: np.uint64,
    found: float,
) -> None:
    """Go up with what a play pays: values, and regrets at the player's own infosets."""
    path, instant, player = frames.path, frames.q, turn.player
    table, nodes = turn.table, U(turn.tree.node.shape[0])
    has_baseline = baseline > 0.0
    expected = found
    while depth > ZERO:
        depth -= ONE
        block, count = U(path[depth]["block"]), U(path[depth]["n_children"])
        action, led = U(path[depth]["action"]), path[depth]["led"]
        strategy = block + count
        b = strategy + (U(2) + player) * count
        child = player * nodes + U(path[depth]["first_child"])
        seen = found
        if has_baseline:
            if samples is not None:
                look_up_values(samples, table, count, b, child)
            correction = (seen - table[b + action]) / path[depth]["drawn"]
            found = table[strategy + action] * correction
            for a in range(count):
                found += table[strategy + a] * table[b + a]
        else:
            correction = seen / path[depth]["drawn"]
            found = table[strategy + action] * correction
        if path[depth]["actor"] == player:
            for a in range(count):
                estimate = table[b + a] if has_baseline else 0.0
                instant[a] = (estimate - found) / led
            instant[action] += correction / led
            if samples is None:
                update(turn.rule, turn.parameters, table, block, count, instant, ZERO)
            else:
                keep_advantages(samples, block, count, instant, ZERO, turn.weight, led)
        if has_baseline:
            if samples is None:
                table[b + action] += baseline * (seen - table[b + action])
            else:
                expected = keep_value(samples, table, block, count, b, action, child, expected)


@inlined
def _explore(
    table: np.ndarray, strategy: int, count: int, epsilon: float, generator: np.ndarray
) -> np.uint64:
    """Draw an action of the player who is updated: uniform with probability epsilon, else by the
    strategy."""
    left = draw(generator)
    uniform = epsilon / np.int64(count)
    chosen = ZERO
    while chosen < count - ONE:
        left -= uniform + (1.0 - epsilon) * table[strategy + chosen]
        if left < 0.0:
            break
        chosen += ONE
    return chosen
