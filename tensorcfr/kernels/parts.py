"""Named tuples of the arrays that a forward or backward pass reads and writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.arrays import SequenceForm
from .local_rule import LocalRule


class Part(NamedTuple):
    """Sequence form and solver arrays over its sequences: of a whole game, the trunk, or a chunk.

    Arrays have shape (sequences,) and the precision of the solver, except where noted.
    """

    form: SequenceForm
    """Sequence form of the part."""
    regret: np.ndarray
    """Cumulative regret of each sequence, as the local rule stores it."""
    average: np.ndarray
    """Cumulative strategy of each sequence."""
    strategy: np.ndarray | None
    """Strategies of this iteration, which the backward pass replaces by the next ones.  None if
    regret matching computes them from the regrets where they are needed."""
    memory: np.ndarray
    """(stored, sequences): further numbers of the local rule per sequence, in addition to the
    regret."""
    reach: np.ndarray
    """Own reach of each sequence."""
    value: np.ndarray
    """Counterfactual payoffs before the backward pass; counterfactual values after it."""
    value_bound: np.ndarray
    """float64 (buckets,): upper bound of the counterfactual values of each bucket, if values have
    double precision; see :mod:`tensorcfr.solvers.value_bounds`."""


class Step(NamedTuple):
    """Local rule with its parameters at one iteration."""

    rule: LocalRule
    """Local rule, to which kernels are specialised."""
    parameters: tuple[float, ...]
    """Parameters of the rule at this iteration."""
    played_floor: float
    """Uniform share of the strategies of this iteration; 0 if strategies are stored, because they
    include it already."""
    floor: float
    """Uniform share of the next strategies."""


class Lanes(NamedTuple):
    """Adjacent infosets of a bucket.

    Action ``a`` of lane ``l`` is sequence ``first + a * stride + l``.
    """

    actions: int
    """Number of actions of every infoset."""
    stride: int
    """Distance between consecutive actions."""
    first: int
    """Sequence of the first action of the first infoset."""
    length: int
    """Number of infosets."""


class Rows(NamedTuple):
    """Scratch of the backward pass; float (LONGEST,) except where noted."""

    mean: np.ndarray
    """Counterfactual value of each infoset."""
    tie_threshold: np.ndarray
    """Tie threshold of each infoset: smaller instantaneous regrets count as 0."""
    total: np.ndarray
    """Sum of the positive preferences of each infoset; later the factor that normalises them."""
    square: np.ndarray
    """Squared length of the instantaneous regrets of each infoset, for rules that set a pace."""
    constant: np.ndarray
    """Uniform share that is added to each probability of an infoset."""
    pace: np.ndarray
    """Factor of each infoset's cumulative regrets before the step."""
    baseline: np.ndarray
    """Value from which a paced rule measures the instantaneous regrets of each infoset."""
    whole_rule: np.ndarray
    """float64: scratch of whole rules, from :func:`tensorcfr.kernels.whole_rules.whole_scratch`."""
    bound: float
    """Part of the tie threshold that the whole bucket shares."""
