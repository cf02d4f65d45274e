"""What the passes of an iteration work on, as named tuples of arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.arrays import SequenceForm
from .local_rule import LocalRule


class Part(NamedTuple):
    """A sequence form and the arrays over its sequences that a pass works on: the whole game, the
    trunk or a chunk.  All arrays are of the same floats, (sequences,) unless said."""

    form: SequenceForm
    """The form."""
    regret: np.ndarray
    """Cumulative regrets."""
    average: np.ndarray
    """Cumulative strategies."""
    strategy: np.ndarray | None
    """The strategies played, which become the next ones; None for rules whose strategies regret
    matching makes from the regrets, where they are needed."""
    memory: np.ndarray
    """(kept, sequences): what the rule keeps beside the regret."""
    reach: np.ndarray
    """Own reaches."""
    faced: np.ndarray
    """The reaches that other players face: ``reach``, or those of averages."""
    value: np.ndarray
    """Counterfactual values."""
    forecast: np.ndarray
    """The values when the player already plays the next strategies further down, for rules with a
    forecast; otherwise empty."""
    scale: np.ndarray
    """float64 (buckets,): what the counterfactual values of a bucket's infosets are at most, for
    values in double precision; see :mod:`tensorcfr.solvers.scales`."""


class Step(NamedTuple):
    """The local rule at one iteration."""

    rule: LocalRule
    """The rule, to which kernels are specialised."""
    parameters: tuple[float, ...]
    """Its parameters at this iteration."""
    played_floor: float
    """Share of the strategies played that is uniform; for rules whose strategies are not kept."""
    floor: float
    """Share of the next strategies that is uniform."""


class Lanes(NamedTuple):
    """Neighbouring infosets of a bucket: action ``a`` of lane ``l`` is sequence
    ``at + a * stride + l``."""

    actions: int
    """Actions of every infoset."""
    stride: int
    """Distance between consecutive actions."""
    at: int
    """Sequence of the first action of the first infoset."""
    length: int
    """Infosets."""


class Rows(NamedTuple):
    """Scratch of the way up; float (LONGEST,) unless said."""

    mean: np.ndarray
    """Values of infosets."""
    least: np.ndarray
    """Instantaneous regrets up to here are rounding."""
    total: np.ndarray
    expected: np.ndarray
    """Forecast values."""
    constant: np.ndarray
    pace: np.ndarray
    """By what cumulative regrets are multiplied before the step."""
    against: np.ndarray
    """What instantaneous regrets are against, of a rule that sets a pace."""
    own: np.ndarray
    """That of whole rules, from :func:`tensorcfr.kernels.whole_rules.whole_scratch`."""
    bound: float
    """What the infosets of the bucket have of ``least`` in common."""
