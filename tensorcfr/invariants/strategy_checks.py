"""Checks of strategies and solver states: arrays over the sequences of a game."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._util.violations import first_true
from ..kernels import evaluation
from ..model.arrays import SequenceForm
from ..model.chunked_form import ChunkedForm, buckets_by_part

SUM_TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
"""Tolerance of the sum of an infoset's probabilities against 1, by dtype."""
REACH_TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
"""Tolerance of reaches against products of probabilities, by dtype."""


def wrong_strategy(form: ChunkedForm, strategy: np.ndarray) -> str | None:
    """Describe the error in a behaviour strategy; None if there is none.

    Args:
        form: The game, whose invariants hold.
        strategy: float64 or float32 (numbers,): probabilities, 1 for the empty sequences.
    """
    empty = form.trunk.player_sequences[:-1]
    if not (strategy[empty] == 1.0).all():
        return f"the empty sequences have the probabilities {strategy[empty].tolist()}, not 1"
    tolerance = SUM_TOLERANCE[str(strategy.dtype)]
    least, most = strategy.min(), strategy.max()
    # Negated, so that NaN is refused.
    if not (least >= 0.0 and most <= 1.0 + tolerance):
        return f"{float(least if not least >= 0.0 else most)!r} is not a probability"
    infoset = 0
    for base, buckets in buckets_by_part(form):
        for first, actions, lanes in zip(*buckets, strict=True):
            begin = base + first
            table = strategy[begin : begin + actions * lanes].reshape(actions, lanes)
            sums = table.sum(axis=0, dtype=np.float64)
            if (lane := first_true(~(np.abs(sums - 1.0) <= tolerance))) is not None:
                return f"the probabilities of infoset {infoset + lane} sum to {float(sums[lane])!r}"
            infoset += lanes
    return None


def wrong_state(form: ChunkedForm, state: Any) -> str | None:
    """Describe the error in the arrays of a solver; None if there is none.  Shapes and dtypes have
    been checked.

    Args:
        form: The game that the arrays are over.
        state: ``strategy`` and ``cumulative``; ``reach``, ``last`` and ``touched`` if the solver
            has them.
    """
    if wrong := wrong_strategy(form, state.strategy):
        return f"strategy: {wrong}"
    if (i := first_true(~(state.cumulative >= 0.0))) is not None:
        return f"cumulative[{i}] is {state.cumulative[i]}"
    for name in ("last", "touched"):
        counted = getattr(state, name, None)
        if counted is not None and counted.size and counted.min() < 0:
            return f"{name} holds {counted.min()}, but it is a count"
    touched = getattr(state, "touched", None)
    if touched is not None and touched[1] > touched[0]:
        return f"touched is {touched.tolist()}: more decision nodes than nodes"
    reach = getattr(state, "reach", None)
    return None if reach is None else wrong_reach(form.trunk, state.strategy, reach)


def wrong_reach(form: SequenceForm, strategy: np.ndarray, reach: np.ndarray) -> str | None:
    """Describe the error in the own reaches of a strategy, float (sequences,); None if there is
    none."""
    plan = np.empty_like(reach)
    evaluation.realization_plan(form, strategy, plan)
    if (i := first_true(~(np.abs(plan - reach) <= REACH_TOLERANCE[str(reach.dtype)]))) is not None:
        return f"reach[{i}] is {reach[i]}, but the strategy reaches it with {plan[i]}"
    return None
