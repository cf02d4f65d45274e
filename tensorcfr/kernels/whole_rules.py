"""Steps of whole rules, which update all actions of an infoset together.

Their arguments are copied to float64 arrays, and the results back to the solver's arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.jit import by_types, inlined, view
from ..model.arrays import SequenceForm
from .local_rule import LocalRule
from .locked_lanes import free_probability
from .parts import Lanes, Part, Rows, Step
from .ties import round_ties

OWN_ROWS = 4
"""Number of scratch arrays before the memory of the rule: regrets, instantaneous regrets, values
and strategy."""
OWN_LANES = 64
"""Number of infosets per call of a whole rule; its arrays then fit in the first-level cache."""


@inlined
def most_actions(form: SequenceForm) -> int:
    """Return the largest number of actions of an infoset."""
    most = 1
    for b in range(form.bucket_actions.shape[0]):
        most = max(most, form.bucket_actions[b])
    return most


@inlined
def whole_scratch(rule: LocalRule, most: int) -> np.ndarray:
    """Allocate scratch of a whole rule, for up to ``most`` actions; empty for other rules."""
    rows = OWN_ROWS + rule.n_memory
    return np.empty((rows * most + 1) * OWN_LANES if rule.whole else 0)


@inlined
def step_whole(strategy: np.ndarray, part: Part, lanes: Lanes, step: Step, rows: Rows) -> None:
    """Apply a whole rule to infosets that are not locked, up to :data:`OWN_LANES` at a time.

    ``rows.mean`` holds their values under the strategies played on entry, and the values that they
    pass up on return.
    """
    actions, stride, offset, length = lanes
    regret, value, memory = part.regret, part.value, part.memory
    scratch, floor = rows.whole_rule, step.floor
    for begin in range(0, length, OWN_LANES):
        count = min(OWN_LANES, length - begin)
        arrays = view(scratch, 0, (OWN_ROWS + memory.shape[0], actions, count))
        # The end of the scratch holds the values that are passed up.
        passed = scratch[len(scratch) - count :]
        mean, tie_threshold = rows.mean[begin:], rows.tie_threshold[begin:]
        for lane in range(count):
            passed[lane] = mean[lane]
        for a in range(actions):
            first = offset + a * stride + begin
            q, cumulative, sigma = value[first:], regret[first:], strategy[first:]
            for lane in range(count):
                instant = np.float64(q[lane]) - passed[lane]
                arrays[1, a, lane] = round_ties(instant, tie_threshold[lane], 0.0)
                arrays[2, a, lane] = q[lane]
            for lane in range(count):
                arrays[0, a, lane] = cumulative[lane]
            for lane in range(count):
                arrays[3, a, lane] = sigma[lane]
            for k in range(memory.shape[0]):
                stored = memory[k, first:]
                for lane in range(count):
                    arrays[OWN_ROWS + k, a, lane] = stored[lane]
        _make_step(step.rule, arrays, passed, step.parameters)
        if step.rule.passes_new:
            passed[:] = 0.0
        for a in range(actions):
            first = offset + a * stride + begin
            cumulative, sigma = regret[first:], strategy[first:]
            for lane in range(count):
                # The floor is mixed in after the rule's step, which computes strategies without it.
                sigma[lane] = (1.0 - floor) * arrays[3, a, lane] + floor / actions
            if step.rule.passes_new:
                q = value[first:]
                for lane in range(count):
                    passed[lane] += sigma[lane] * q[lane]
            for lane in range(count):
                cumulative[lane] = arrays[0, a, lane]
            for k in range(memory.shape[0]):
                stored = memory[k, first:]
                for lane in range(count):
                    stored[lane] = arrays[OWN_ROWS + k, a, lane]
        for lane in range(count):
            mean[lane] = passed[lane]


@inlined
def step_free(
    part: Part,
    lanes: Lanes,
    step: Step,
    tie_threshold: float,
    mean: float,
    sigma: np.ndarray,
    probability: np.ndarray,
    rows: Rows,
) -> float:
    """Apply a whole rule to the free actions of a locked infoset.

    Args:
        part: Regrets and memory are modified in place.
        lanes: The infoset.
        step: The local rule with its parameters.
        tie_threshold: Tie threshold.
        mean: Mean value of the free actions.
        sigma: float64 (actions,): probabilities of the actions; at free actions modified in place
            to the next ones, which sum to 1.
        probability: float64 (actions,): probabilities of the lock; negative for free actions.
        rows: Scratch.

    Returns:
        The value that is passed up minus ``mean``.
    """
    regret, value, memory, scratch = part.regret, part.value, part.memory, rows.whole_rule
    free_total, count = free_probability(probability), 0
    for a in range(len(probability)):
        count += probability[a] < 0.0
    n_arrays = OWN_ROWS + memory.shape[0]
    # Copy the free actions to consecutive rows, as an infoset of `count` actions.
    arrays, passed = view(scratch, 0, (n_arrays, count, 1)), scratch[len(scratch) - 1 :]
    free = 0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            s = lanes.first + a * lanes.stride
            arrays[0, free, 0], arrays[2, free, 0] = regret[s], value[s]
            arrays[1, free, 0] = round_ties(value[s] - mean, tie_threshold, 0.0)
            arrays[3, free, 0] = sigma[a] / free_total
            for k in range(memory.shape[0]):
                arrays[OWN_ROWS + k, free, 0] = memory[k, s]
            free += 1
    passed[0] = mean
    _make_step(step.rule, arrays, passed, step.parameters)
    free = 0
    for a in range(len(probability)):
        if probability[a] < 0.0:
            s = lanes.first + a * lanes.stride
            regret[s], sigma[a] = arrays[0, free, 0], arrays[3, free, 0]
            for k in range(memory.shape[0]):
                memory[k, s] = arrays[OWN_ROWS + k, free, 0]
            free += 1
    return 0.0 if step.rule.passes_new else passed[0] - mean


@by_types
def _make_step(
    rule: LocalRule, arrays: np.ndarray, passed: np.ndarray, parameters: tuple[float, ...]
) -> Any:
    """Call the step of a whole rule on ``arrays``, which is modified in place."""
    # Kernels of other rules compile this too, but never call it.
    return _step_together if rule.whole else lambda rule, arrays, passed, parameters: None


@inlined
def _step_together(
    rule: LocalRule, arrays: np.ndarray, passed: np.ndarray, parameters: tuple[float, ...]
) -> None:
    regret, instant, value, strategy = arrays[0], arrays[1], arrays[2], arrays[3]
    rule.step(regret, instant, value, passed, strategy, arrays[OWN_ROWS:], parameters)
