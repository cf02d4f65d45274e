"""Sampled algorithms, and when two solves by them are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.tiers import tiered
from tensorcfr import ALGORITHMS, compile_game
from tensorcfr.algorithms import CHANCE_SAMPLING, EXTERNAL_SAMPLING, OUTCOME_SAMPLING, Sampling

RECORDS = {name: record for name, record in ALGORITHMS.items() if isinstance(record, Sampling)}
SEEN = [name for name, record in RECORDS.items() if record.own_draws is None]
"""Those that the fast tier compiles; with draws of own actions, a kernel is compiled once more."""
SAMPLED = tiered(RECORDS, SEEN)

KUHN = compile_game("kuhn")


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.state, other.state, strict=True))


EVERYTHING = [
    *SAMPLED,
    OUTCOME_SAMPLING(baseline=0.5, averaging="optimistic", variant="cfr+"),
    CHANCE_SAMPLING(alternating=False, averaging="optimistic", average_power=1),
    EXTERNAL_SAMPLING(restart_base=2, delay=1, averaging="optimistic"),
]
