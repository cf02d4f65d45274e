"""Records of Deep CFR, Single Deep CFR and DREAM."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import EXACT, Flag, Number, OneOf, Several, Whole, brief
from .catalogue import CFR
from .records import Algorithm
from .registry import Record, from_dict, publish

FEATURES = ("auto", "tensors", "public", "labels", "hashed")
"""Kinds of features that can be computed for a game; see :mod:`tensorcfr.deep.features`."""


@dataclass(frozen=True, eq=False)
class Features:
    """Features given by the user: a row of numbers for every infoset.

    Two objects are equal if their numbers are equal.  A file stores the numbers with the solver
    state, and only their digest with the algorithm.  ``array`` is therefore None if the algorithm
    was read from a file.
    """

    array: np.ndarray | None
    """float32 (infosets, width), read-only; None if only the digest is known."""
    stored_digest: str | None = None
    """Digest, if there is no array."""

    def __post_init__(self) -> None:
        if self.array is None:
            return
        try:
            array = np.array(self.array, dtype=np.float32, order="C")
        except (TypeError, ValueError) as error:
            raise type(error)(f"features are not numbers: {error}") from None
        if array.ndim != 2 or not array.shape[1]:
            raise ValueError(f"features must have the shape (infosets, width), not {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError("features hold a number that is not finite")
        array.flags.writeable = False
        object.__setattr__(self, "array", array)

    @cached_property
    def digest(self) -> str:
        """SHA-256 digest of the shape and the numbers."""
        if self.array is None:
            assert self.stored_digest is not None
            return self.stored_digest
        return hashlib.sha256(repr(self.array.shape).encode() + self.array.tobytes()).hexdigest()

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Features) and value.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return "yours"


FLOATS = ("power", "learning_rate", "clip", "largest", "epsilon", "baseline_step")
"""Options that are converted to floats."""
OF_NETWORK_AVERAGE = ("strategy_updates",)
OF_OUTCOME = ("epsilon", "baselines", "baseline_step", "baseline_updates")


@dataclass(frozen=True, repr=False)
class Deep(Record):
    """CFR with networks that predict regrets, as data; needs ``tensorcfr[deep]``.

    In an iteration, each player in turn samples traversals with fixed strategies, adds the sampled
    advantages to a reservoir, and trains a network on the reservoir.  Regret matching on the
    network's predictions gives the strategy of the next iteration.

    Call a record to change some options: ``DEEP_CFR(traversals=500, updates=300)``.
    """

    is_sampled = True
    samples_rules = True
    solvers = MappingProxyType(
        {
            "flat": "deep.deep_solver:DeepSolver",
            "chunks": "deep.card_solver:CardDeepSolver",
            "rules": "deep.deep_solver:DeepSolver",
        }
    )
    own_draws = None

    name: str
    """Name in :func:`tensorcfr.solve` and on the command line."""
    scheme: str
    """Sampling scheme: ``"external"`` (chance and the opponents) or ``"outcome"`` (one play)."""
    average: Annotated[str, OneOf(("network", "exact"))]
    """Source of the average strategy.  ``"network"`` is a network trained on a reservoir of the
    strategies, as in Deep CFR.  ``"exact"`` is the average of all iterations' strategies, weighted
    by their reaches, as Single Deep CFR plays in expectation."""
    formula: str
    """Formula or description in one line."""
    source: str
    """Citation of the paper."""
    traversals: Annotated[int, Whole(1, EXACT)] = 1500
    """Number of traversals for each player in an iteration."""
    buffer: Annotated[int, Whole(1, 2**31 - 1)] = 1_000_000
    """Capacity of a reservoir in samples.  Each player has one reservoir of each kind."""
    power: Annotated[float, Number(0, finite=True)] = 1.0
    """Exponent of the weight ``t ** power`` of iteration ``t``, in the loss and in the average."""
    features: str | Features = "auto"
    """Input of a network for an infoset; see :func:`tensorcfr.deep.features.make_features`.  An
    array (infosets, width) is used unchanged."""
    learner: Annotated[str, OneOf(("network", "table"))] = "network"
    """``"network"``; or ``"table"``, an exact fit with an entry for each infoset, for tests of the
    other parts."""
    layers: Annotated[tuple[int, ...], Several(Whole(1, 1 << 16), ordered=True)] = (64, 64, 64)
    """Numbers of units of the hidden layers."""
    skip: Annotated[bool, Flag()] = True
    """True if each layer adds its input to its output, provided that their widths are equal."""
    normalise: Annotated[bool, Flag()] = True
    """True if the last hidden layer is normalised to mean 0 and standard deviation 1."""
    updates: Annotated[int, Whole(1, EXACT)] = 750
    """Number of updates of an advantage network in an iteration."""
    batch: Annotated[int, Whole(1, EXACT)] = 2048
    """Number of samples per update."""
    learning_rate: Annotated[float, Number(above=0, finite=True)] = 1e-3
    """Learning rate of Adam."""
    clip: Annotated[float, Number(above=0, finite=True)] = 1.0
    """Largest norm of a gradient."""
    largest: Annotated[float, Number(above=0, finite=True)] = 16.0
    """Target of the largest utility after scaling, to a factor of two; networks are trained on
    scaled advantages.  The errors of Adam depend on its learning rate, not on the scale of the
    targets, and advantages are much smaller than utilities."""
    warm: Annotated[bool, Flag()] = False
    """True if training starts from the network of the last iteration, not from a new one."""
    unplayed: Annotated[str, OneOf(("best", "uniform"))] = "best"
    """Strategy at infosets without a positive regret: the action with the largest regret
    (``"best"``, as in the papers), or all actions (``"uniform"``)."""
    keep_networks: Annotated[bool, Flag()] = False
    """True if the networks of all iterations are stored, so that one can play from them; see
    :class:`tensorcfr.deep.Mixture`.  The average strategy does not need them."""
    strategy_updates: Annotated[int, Whole(1, EXACT)] = 5000
    """Number of updates of the network of the average strategy, each time it is trained."""
    epsilon: Annotated[float, Number(above=0, most=1)] = 0.5
    """Outcome sampling: probability with which the updated player takes a uniformly random
    action."""
    baselines: Annotated[str, OneOf(("histories", "infosets"))] = "histories"
    """Outcome sampling: kind of baselines.  ``"histories"``: a table has a baseline for every edge
    of every history, so baselines depend on all hands.  ``"infosets"``: a network predicts a
    baseline for every action of an infoset."""
    baseline_step: Annotated[float, Number(above=0, most=1)] = 0.3
    """Outcome sampling: step size of a history's baseline towards the sampled value."""
    baseline_updates: Annotated[int, Whole(0, EXACT)] = 750
    """Outcome sampling: number of updates of the baseline network in an iteration; 0 for no
    baselines of either kind."""

    def __post_init__(self) -> None:
        self._check_options()
        object.__setattr__(self, "layers", tuple(self.layers))
        for option in FLOATS:
            object.__setattr__(self, option, float(getattr(self, option)))
        features = self.features
        if isinstance(features, np.ndarray):
            object.__setattr__(self, "features", Features(features))
        elif not isinstance(features, Features) and features not in FEATURES:
            raise ValueError(
                f"{self.name}: features must be one of {', '.join(FEATURES)}, or an array "
                f"(infosets, width), not {brief(features)}"
            )

    @property
    def variant(self) -> Algorithm:
        """Variant of CFR with the same averaging weights."""
        return CFR(average_power=self.power)

    @property
    def has_baseline(self) -> bool:
        """True if there are baselines."""
        return self.scheme == "outcome" and self.baseline_updates > 0

    @property
    def baseline(self) -> float:
        """Number above 0 if traversals use baselines; see
        :attr:`tensorcfr.algorithms.Sampling.baseline`."""
        return float(self.has_baseline)

    @property
    def has_history_baseline(self) -> bool:
        """True if baselines are stored per history."""
        return self.has_baseline and self.baselines == "histories"

    @property
    def has_baseline_network(self) -> bool:
        """True if a network predicts the baselines."""
        return self.has_baseline and not self.has_history_baseline

    @property
    def has_strategy_network(self) -> bool:
        """True if strategies are stored to train a network of their average."""
        return self.average == "network"

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        if zero_sum:
            return (
                "Theorem (Brown et al. 2019): the average strategy is near a Nash equilibrium with "
                "high probability, up to the errors of the networks and of the samples, which "
                "nothing bounds in practice."
            )
        return (
            "No theorem says that the average strategies are near an equilibrium: without errors "
            "of the networks the joint play would come near a coarse correlated one."
        )

    @property
    def options(self) -> dict[str, Any]:
        """Options, by keyword of a call."""
        left_out = {"name", "scheme", "average", "formula", "source"}
        if self.average != "network":
            left_out.update(OF_NETWORK_AVERAGE)
        if self.scheme != "outcome":
            left_out.update(OF_OUTCOME)
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        values = {**self.options, "layers": list(self.layers)}
        if isinstance(self.features, Features):
            values["features"] = {"digest": self.features.digest}
        return {"name": self.name, **values}

    def restore(self, values: Mapping[str, Any]) -> Deep:  # noqa: D102
        changes = {key: values[key] for key in self.options}
        if isinstance(changes["features"], dict):
            changes["features"] = Features(None, str(changes["features"]["digest"]))
        changes["layers"] = tuple(changes["layers"])
        return self(**changes)

    def __reduce__(self) -> tuple[Any, ...]:
        # The plain values contain only the digest of an array of features.
        return _with_features, (self.to_dict(), self.features)

    def __str__(self) -> str:
        changed = [
            f"{option}={value}"
            for option, value in self.options.items()
            if value != _DEFAULTS[option]
        ]
        return f"{self.name}({', '.join(changed)})" if changed else self.name


def _with_features(values: Mapping[str, Any], features: str | Features) -> Record:
    """Make a record from its description by :meth:`Deep.to_dict` and its features."""
    return from_dict(values)(features=features)


_DEFAULTS = {field.name: field.default for field in fields(Deep)}

DEEP_CFR = Deep(
    "deep-cfr",
    "external",
    "network",
    formula="external sampling; a network predicts advantages, trained on a reservoir of samples "
    "weighted by t; another one the average strategy",
    source="N. Brown, A. Lerer, S. Gross, T. Sandholm, 'Deep counterfactual regret minimization', "
    "ICML 2019",
)
"""Deep CFR."""

SD_CFR = Deep(
    "sd-cfr",
    "external",
    "exact",
    formula="Deep CFR, whose average strategy is that of the networks of all iterations, t's "
    "weighted by t",
    source="E. Steinberger, 'Single deep counterfactual regret minimization', arXiv:1901.07621, "
    "2019",
)
"""Single Deep CFR."""

DREAM = Deep(
    "dream",
    "outcome",
    "exact",
    formula="Single Deep CFR with outcome sampling, and baselines that are learned",
    source="E. Steinberger, A. Lerer, N. Brown, 'DREAM: deep regret minimization with advantage "
    "baselines and model-free learning', arXiv:2006.10410, 2020",
)
"""DREAM.  Its baselines are stored in a table over the histories of the compiled game.  In the
paper a network predicts the baselines; they depend on all hands, too."""

publish(DEEP_CFR, SD_CFR, DREAM)
