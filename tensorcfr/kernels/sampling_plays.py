"""Traversals that sample chance and the opponents, and so follow one play at a time.

M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret minimization in
extensive games', NIPS 2009.

**External sampling** tries every action of the updating player, or some of them, drawn at random.
Chance and opponents are sampled with their own probabilities, which cancel with their reaches.  So
the value of an action is the value of the sampled history below it.  By perfect recall, two
histories of one infoset diverge at chance or at an opponent, where a traversal follows one branch
only.  So a traversal visits an infoset of the player at most once, and may update it immediately.

If only some of the player's actions are tried, the value below a tried action is divided by the
probability of trying it, and the others have value 0.  Contributions of an infoset are divided by
the probability of the draws on the way to it.  So all sums keep their expectation.

**Outcome sampling** plays the game once and learns from that play only; with baselines: M. Schmid,
N. Burch, M. Lanctot, M. Moravcik, R. Kadlec, M. Bowling, 'Variance reduction in Monte Carlo
counterfactual regret minimization (VR-MCCFR) for extensive form games using baselines', AAAI 2019.

The updating player explores: with probability epsilon the action is uniform.  The others follow
their strategies.  The value of a history ``h`` where ``a`` was sampled with probability ``xi`` is
estimated by

    u(h, b) = baseline(h, b) + [b = a] (u(h a) - baseline(h, b)) / xi,    u(h) = sum_b sigma u(h, b)

and the instantaneous regret of ``b`` by ``(u(h, b) - u(h)) / (product of the player's own xi on the
way to h)``; the probabilities of the others and of chance cancel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._util.jit import borrowed, by_types, inlined, kernel
from .local_rule import LocalRule, parameters_of
from .random import draw
from .reservoir import Samples, keep_advantages, keep_strategy, keep_value, look_up_values
from .sampling_steps import (
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
    CardTree,
    Frames,
    Orders,
    Traversal,
    TraversalPosition,
    TraversalState,
    TraversalTree,
    U,
    begin_iteration,
    finish,
    pause,
    resumed,
    waits,
)
from .tree_access import deal_hands, next_decision, pay

ENDS, IS_EMPTY, WAITS = range(3)
"""Ends of a downward path: a terminal, a decision of which no action is tried, or a node where the
traversal must wait."""


class External(NamedTuple):
    """Scheme of external sampling."""

    tries: np.ndarray | None
    """float64 (4,): selection of the player's actions, for
    :func:`tensorcfr.kernels.sampling_steps.draw_tried`; None to try all."""


class Outcome(NamedTuple):
    """Scheme of outcome sampling."""

    epsilon: float
    """Probability of exploring at a decision of the updating player."""
    baseline: float
    """Step size of the baselines, from 0 to 1: the share of the distance to the sampled value that
    a baseline moves. 0 for no baselines; otherwise blocks have space for the baselines of each
    player."""


@kernel
def follow_plays(
    tree: TraversalTree | CardTree,
    rule: LocalRule,
    orders: Orders,
    scheme: External | Outcome,
    state: TraversalState,
    generator: np.ndarray,
    frames: Frames,
    samples: Samples | None,
) -> bool:
    """Run iterations until they are done or a traversal must wait.

    Args:
        tree: The game.
        rule: The local rule, to which this kernel is specialised.
        orders: The iterations, in which players alternate.
        scheme: External or outcome sampling; this kernel is specialised to its type.
        state: Modified in place.
        generator: uint64 (4,), or a script; modified in place.
        frames: Position to begin from, modified in place.  The path has the decisions of the
            updating player, or in outcome sampling of all players.
        samples: Buffers for regrets, strategies and values to train networks; None to update
            infosets directly.

    Returns:
        Whether all iterations are done; otherwise ``frames`` holds the reason.
    """
    tree, state, frames = borrowed(tree), borrowed(state), borrowed(frames)
    schedule, players = borrowed(orders.schedule), borrowed(orders.players)
    cursor, reach, n_players = frames.cursor, frames.reach, frames.n_players
    clock, resumes = state.clock[0], cursor[PAUSED] != 0
    position = TraversalPosition(ZERO, ZERO, 1.0, 1.0, U(state.touched[0]), U(state.touched[1]))
    for t in range(cursor[ITERATION], schedule.shape[0]):
        parameters = parameters_of(rule, schedule[t, 1:], schedule)
        if not resumes:
            # Stop between iterations only: each iteration is complete or not begun.
            if cursor[STOPS] != 0:
                break
            begin_iteration(frames, clock, position, generator)
            clock += schedule[t, 0]
        for turn in range(cursor[TURN], len(players)):
            if resumes:
                resumes, deal, position = False, ZERO, resumed(frames, position)
            else:
                deal = deal_hands(tree, frames.held, generator)
                dealt = position.histories + U(tree.dealt)
                position = TraversalPosition(ZERO, ZERO, 1.0, 1.0, dealt, position.decisions)
                for k in range(n_players):
                    reach[k] = 1.0
            arguments = players[turn], deal, orders.averaging, schedule[t, 0], clock
            traversal = borrowed(
                Traversal(tree, state.table, generator, rule, parameters, *arguments)
            )
            position, must_wait = _traverse(scheme, traversal, frames, samples, position)
            if must_wait:
                pause(
                    frames, state, position, turn, clock, U(tree.node[position.node]["n_children"])
                )
                return False
        cursor[ITERATION], cursor[TURN] = t + 1, 0
    finish(state, clock, position)
    return cursor[ITERATION] == schedule.shape[0]


@by_types
def _traverse(
    scheme: External | Outcome,
    traversal: Traversal,
    frames: Frames,
    samples: Samples | None,
    position: TraversalPosition,
) -> Any:
    """Run a traversal; return its position, and whether it must wait there."""
    is_outcome = getattr(scheme, "instance_class", type(scheme)) is Outcome
    return _sample_outcome if is_outcome else _sample_externally


@inlined
def _sample_externally(
    scheme: External,
    traversal: Traversal,
    frames: Frames,
    samples: Samples | None,
    position: TraversalPosition,
) -> tuple[TraversalPosition, bool]:
    while True:
        position, end = _follow_path(traversal, frames, samples, scheme.tries, position)
        if end == WAITS:
            return position, True
        history_value = (
            0.0
            if end == IS_EMPTY
            else pay(traversal.tree, frames.held, position.node, traversal.deal, traversal.player)
        )
        position = _return_value(
            traversal, frames, samples, scheme.tries, position, history_value, end == IS_EMPTY
        )
        if position.depth == ZERO:
            return position, False


@inlined
def _sample_outcome(
    scheme: Outcome,
    traversal: Traversal,
    frames: Frames,
    samples: Samples | None,
    position: TraversalPosition,
) -> tuple[TraversalPosition, bool]:
    position = _sample_play(traversal, frames, samples, scheme.epsilon, position)
    if traversal.tree.node[position.node]["actor"] != TERMINAL_NODE:
        return position, True
    payoff = pay(traversal.tree, frames.held, position.node, traversal.deal, traversal.player)
    _update_from_payoff(traversal, frames, samples, scheme.baseline, position.depth, payoff)
    return position, False


@inlined
def _follow_path(
    traversal: Traversal,
    frames: Frames,
    samples: Samples | None,
    tries: np.ndarray | None,
    position: TraversalPosition,
) -> tuple[TraversalPosition, int]:
    """Follow a path down to a terminal: the player's first tried actions, and draws elsewhere.

    Returns:
        The new position, and the end of the path: :data:`ENDS`, :data:`IS_EMPTY` or :data:`WAITS`.
    """
    tree, table, generator = traversal.tree, traversal.table, traversal.generator
    node_index = position.node
    depth = position.depth
    own_reach = position.own_reach
    led = position.led
    histories, decisions = position.histories, position.decisions
    path, reach, end = frames.path, frames.reach, ENDS
    n_players = U(frames.n_players)
    tracked = _is_tracked(traversal, n_players)
    while True:
        node_index, actor, block, histories, decisions = next_decision(
            traversal, frames.held, node_index, True, histories, decisions
        )
        if actor == TERMINAL_NODE:
            break
        count = U(tree.node[node_index]["n_children"])
        if waits(frames, table, block, count):
            end = WAITS
            break
        first, strategy = U(tree.node[node_index]["first_child"]), block + count
        if actor == traversal.player:
            path[depth]["first_child"] = first
            path[depth]["block"] = block
            path[depth]["n_children"] = count
            path[depth]["value"] = 0.0
            path[depth]["own"] = own_reach
            if tracked:
                _copy_reaches(reach, depth, depth + ONE, n_players)
            action = ZERO
            if tries is not None:
                path[depth]["led"] = led
                action = _draw_tried(tries, traversal, frames, block, count, depth)
            path[depth]["action"] = action
            depth += ONE
            if tries is not None:
                if action == count:
                    end = IS_EMPTY
                    break
                led *= frames.tried[(depth - ONE) * U(frames.width) + action]
        else:
            # Simple averaging adds strategies at opponents' nodes, which are sampled by own reach.
            if traversal.averaging == SIMPLE:
                sampled = 1.0
                if tracked:
                    sampled = product_of_others(reach, depth, n_players, traversal.player, actor)
                if tries is not None:
                    sampled *= led
                _record_strategy(traversal, samples, block, count, sampled)
            action = sample_action(table, strategy, count, generator)
            if tracked:
                # Frames are decisions of the updating player: between them opponents' reaches
                # change.
                reach[depth * n_players + actor] *= table[strategy + action]
        if actor == traversal.player:
            own_reach *= table[strategy + action]
        node_index = first + action
    return TraversalPosition(node_index, depth, own_reach, led, histories, decisions), end


@inlined
def _record_strategy(
    traversal: Traversal,
    samples: Samples | None,
    block: np.uint64,
    count: np.uint64,
    sampled: float,
) -> None:
    """Add an opponent's strategy to the average, or store it as a sample.

    ``sampled`` is the probability that the traversal reaches the node, divided by the probability
    of chance and the opponent's own reach.
    """
    table = traversal.table
    if samples is None:
        add_to_average(table, block, count, traversal.weight / sampled)
    else:
        keep_strategy(samples, table, block, count, traversal.weight / sampled)


@inlined
def _draw_tried(
    tries: np.ndarray,
    traversal: Traversal,
    frames: Frames,
    block: np.uint64,
    count: np.uint64,
    depth: np.uint64,
) -> np.uint64:
    """Draw the actions to try, and return the first one; the values of the others are 0."""
    row = depth * U(frames.width)
    draw_tried(tries, traversal.table, block, count, frames.tried, row, traversal.generator)
    for a in range(count):
        frames.q[row + a] = 0.0
    return next_tried(frames.tried, row, ZERO, count)


@inlined
def _return_value(
    traversal: Traversal,
    frames: Frames,
    samples: Samples | None,
    tries: np.ndarray | None,
    position: TraversalPosition,
    history_value: float,
    is_empty: bool,
) -> TraversalPosition:
    """Pass the value of a history up to the last decision with an action left to try.

    That action is taken next.  Infosets on the way learn.

    Returns:
        The position to continue from; depth 0 if the traversal is over.
    """
    depth, path, q, width = position.depth, frames.path, frames.q, U(frames.width)
    table, n_players = traversal.table, U(frames.n_players)
    tracked = _is_tracked(traversal, n_players)
    while depth > ZERO:
        d = depth - ONE
        block, count = U(path[d]["block"]), U(path[d]["n_children"])
        action, strategy = U(path[d]["action"]), block + count
        if not is_empty:
            if tries is not None:
                history_value /= frames.tried[d * width + action]
            q[d * width + action] = history_value
            path[d]["value"] += table[strategy + action] * history_value
            action += ONE
            if tries is not None:
                action = next_tried(frames.tried, d * width, action, count)
        is_empty = False
        if action < count:
            # The next action begins with own reach and opponents' reaches of this frame.
            path[d]["action"] = action
            own_reach, led = path[d]["own"] * table[strategy + action], 1.0
            if tries is not None:
                led = path[d]["led"] * frames.tried[d * width + action]
            if tracked:
                _copy_reaches(frames.reach, d, depth, n_players)
            node_index = U(path[d]["first_child"]) + action
            return TraversalPosition(
                node_index, depth, own_reach, led, position.histories, position.decisions
            )
        history_value = path[d]["value"]
        _update_infoset(traversal, frames, samples, tries, d)
        depth = d
    return TraversalPosition(ZERO, ZERO, 1.0, 1.0, position.histories, position.decisions)


@inlined
def _update_infoset(
    traversal: Traversal,
    frames: Frames,
    samples: Samples | None,
    tries: np.ndarray | None,
    d: np.uint64,
) -> None:
    """Update the infoset of frame ``d`` from the values of its actions, or store a sample."""
    table, n_players = traversal.table, U(frames.n_players)
    frame, q, row = frames.path[d], frames.q, d * U(frames.width)
    block, count, infoset_value = U(frame["block"]), U(frame["n_children"]), frame["value"]
    if traversal.averaging != SIMPLE:
        sampled = 1.0
        if _is_tracked(traversal, n_players):
            sampled = product_of_others(
                frames.reach, d, n_players, traversal.player, traversal.player
            )
        if tries is not None:
            sampled *= frame["led"]
        add_to_average(
            table, block, count, frame["own"] * own_reach_weight(traversal, block, sampled)
        )
    for a in range(count):
        q[row + a] -= infoset_value
        if tries is not None:
            q[row + a] /= frame["led"]
    if samples is None:
        update(traversal.rule, traversal.parameters, table, block, count, q, row)
    else:
        keep_advantages(samples, block, count, q, row, traversal.weight, 1.0)


@inlined
def _is_tracked(traversal: Traversal, n_players: np.uint64) -> bool:
    """Return whether the average needs the opponents' reaches at every frame."""
    several = n_players > U(2)
    return traversal.averaging == STOCHASTIC or bool(traversal.averaging == SIMPLE and several)


@inlined
def _copy_reaches(reach: np.ndarray, source: int, target: int, n_players: int) -> None:
    """Copy a row of float64 (rows * players,)."""
    for k in range(n_players):
        reach[target * n_players + k] = reach[source * n_players + k]


@inlined
def _sample_play(
    traversal: Traversal,
    frames: Frames,
    samples: Samples | None,
    epsilon: float,
    position: TraversalPosition,
) -> TraversalPosition:
    """Play the game down to a terminal, or to a node where the traversal must wait.

    Strategies on the way are added to the average.
    """
    tree, table, generator = traversal.tree, traversal.table, traversal.generator
    node_index, depth, led = position.node, position.depth, position.led
    histories, decisions = position.histories, position.decisions
    path, reach, n_players = frames.path, frames.reach, U(frames.n_players)
    while True:
        node_index, actor, block, histories, decisions = next_decision(
            traversal, frames.held, node_index, True, histories, decisions
        )
        if actor == TERMINAL_NODE:
            break
        count = U(tree.node[node_index]["n_children"])
        first = U(tree.node[node_index]["first_child"])
        if waits(frames, table, block, count):
            break
        strategy = block + count
        path[depth]["led"] = led
        if actor == traversal.player:
            # Other averages add the updating player's strategy, by own reach / sampling
            # probability.
            if traversal.averaging != SIMPLE:
                sampled = led * product_of_others(reach, ZERO, n_players, actor, actor)
                add = own_reach_weight(traversal, block, sampled)
                add_to_average(table, block, count, reach[actor] * add)
            action = _explore(table, strategy, count, epsilon, generator)
            drawn = epsilon / np.int64(count) + (1.0 - epsilon) * table[strategy + action]
            led *= drawn
        else:
            if traversal.averaging == SIMPLE:
                sampled = led * product_of_others(reach, ZERO, n_players, traversal.player, actor)
                _record_strategy(traversal, samples, block, count, sampled)
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
        node_index = first + action
    return TraversalPosition(node_index, depth, 1.0, led, histories, decisions)


@inlined
def _update_from_payoff(
    traversal: Traversal,
    frames: Frames,
    samples: Samples | None,
    baseline: float,
    depth: np.uint64,
    history_value: float,
) -> None:
    """Pass the payoff of a play up: compute values, and update the player's infosets."""
    path, instant, player = frames.path, frames.q, traversal.player
    table, nodes = traversal.table, U(traversal.tree.node.shape[0])
    has_baseline = baseline > 0.0
    expected = history_value
    while depth > ZERO:
        depth -= ONE
        block, count = U(path[depth]["block"]), U(path[depth]["n_children"])
        action, led = U(path[depth]["action"]), path[depth]["led"]
        strategy = block + count
        # Regrets, strategy and cumulative strategy are groups 0 to 2, baselines of player p group 3
        # + p.
        baselines = strategy + (U(2) + player) * count
        child = player * nodes + U(path[depth]["first_child"])
        child_value = history_value
        if has_baseline:
            if samples is not None:
                look_up_values(samples, table, count, baselines, child)
            correction = (child_value - table[baselines + action]) / path[depth]["drawn"]
            history_value = table[strategy + action] * correction
            for a in range(count):
                history_value += table[strategy + a] * table[baselines + a]
        else:
            correction = child_value / path[depth]["drawn"]
            history_value = table[strategy + action] * correction
        # The regret of `b` is (u(h, b) - u(h)) / led; only the sampled action has a correction.
        if path[depth]["actor"] == player:
            for a in range(count):
                estimate = table[baselines + a] if has_baseline else 0.0
                instant[a] = (estimate - history_value) / led
            instant[action] += correction / led
            if samples is None:
                update(traversal.rule, traversal.parameters, table, block, count, instant, ZERO)
            else:
                keep_advantages(samples, block, count, instant, ZERO, traversal.weight, led)
        if has_baseline:
            if samples is None:
                table[baselines + action] += baseline * (child_value - table[baselines + action])
            else:
                expected = keep_value(
                    samples, table, block, count, baselines, action, child, expected
                )


@inlined
def _explore(
    table: np.ndarray, strategy: int, count: int, epsilon: float, generator: np.ndarray
) -> np.uint64:
    """Draw an action of the updating player, with exploration.

    With probability epsilon it is uniform, otherwise it follows the strategy.
    """
    remainder = draw(generator)
    uniform = epsilon / np.int64(count)
    by_types = ZERO
    while by_types < count - ONE:
        remainder -= uniform + (1.0 - epsilon) * table[strategy + by_types]
        if remainder < 0.0:
            break
        by_types += ONE
    return by_types
