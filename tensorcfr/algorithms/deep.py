"""Deep CFR and its relatives, as data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from .._util.arguments import EXACT, Flag, Number, OneOf, Several, Whole, brief
from .catalogue import CFR
from .records import Algorithm
from .registry import Record, from_dict, publish

FEATURES = ("auto", "tensors", "public", "labels", "hashed")
"""Features that can be made for a game; see :mod:`tensorcfr.deep.features`."""


@dataclass(frozen=True, eq=False)
class Features:
    """Features of your own: a row of numbers for every infoset.

    Two are equal if they hold the same numbers.  A file keeps the numbers with the state and says
    their digest here, so that ``array`` is None where an algorithm came from a file.
    """

    array: np.ndarray | None
    """float32 (infosets, width), read-only."""
    said: str | None = None
    """The digest, where there is no array."""

    def __post_init__(self) -> None:
        if self.array is None:
            return
        try:
            array = np.array(self.array, dtype=np.float32, order="C")
        except (TypeError, ValueError) as error:
            raise type(error)(f"features are no numbers: {error}") from None
        if array.ndim != 2 or not array.shape[1]:
            raise ValueError(f"features are numbers (infosets, width), not {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError("features hold a number that is not finite")
        array.flags.writeable = False
        object.__setattr__(self, "array", array)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of shape and numbers."""
        if self.array is None:
            assert self.said is not None
            return self.said
        return hashlib.sha256(repr(self.array.shape).encode() + self.array.tobytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return "yours"


FLOATS = ("power", "learning_rate", "clip", "largest", "epsilon", "baseline_step")
"""Options that are kept as floats."""
OF_NETWORK_AVERAGE = ("strategy_updates",)
OF_OUTCOME = ("epsilon", "baselines", "baseline_step", "baseline_updates")


@dataclass(frozen=True, repr=False)
class Deep(Record):
    """CFR whose regrets are predicted by networks, as data; needs ``tensorcfr[deep]``.

    In an iteration, each player in turn samples some traversals with fixed strategies, keeps the
    sampled advantages in a reservoir, and trains a network on all that is in it.  The strategy of
    the next iteration is made from the network's predictions by regret matching.

    Call a record to change some of it: ``DEEP_CFR(traversals=500, updates=300)``.
    """

    is_sampled = True
    samples_rules = True
    solvers = MappingProxyType(
        {"flat": "deep.solver:DeepSolver", "rules": "deep.solver:DeepSolver"}
    )
    own_draws = None

    name: str
    """What it is called in :func:`tensorcfr.solve` and on the command line."""
    scheme: str
    """What is sampled: ``"external"`` (chance and the opponents) or ``"outcome"`` (one play)."""
    average: Annotated[str, OneOf(("network", "exact"))]
    """Where the average strategy comes from: ``"network"`` (a network trained on a reservoir of the
    strategies, as in Deep CFR), or ``"exact"`` (each iteration's strategy weighted with its reach,
    as Single Deep CFR plays on average)."""
    formula: str
    """What it does, in a line."""
    source: str
    """The paper it comes from."""
    traversals: Annotated[int, Whole(1, EXACT)] = 1500
    """Traversals for each player in an iteration."""
    buffer: Annotated[int, Whole(1, 2**31 - 1)] = 1_000_000
    """Samples that a reservoir keeps; each player has one of each kind."""
    power: Annotated[float, Number(0, finite=True)] = 1.0
    """Iteration ``t`` has the weight ``t ** power``, in the loss and in the average."""
    features: str | Features = "auto"
    """What a network sees of an infoset; see :func:`tensorcfr.deep.features.make_features`.  An
    array (infosets, width) is taken as it is."""
    learner: Annotated[str, OneOf(("network", "table"))] = "network"
    """``"network"``; or ``"table"``, an exact fit with an entry for each infoset, by which the rest
    can be tested."""
    layers: Annotated[tuple[int, ...], Several(Whole(1, 1 << 16), ordered=True)] = (64, 64, 64)
    """Units of the hidden layers."""
    skip: Annotated[bool, Flag()] = True
    """Whether a layer adds its input to its output, where both have the same width."""
    normalise: Annotated[bool, Flag()] = True
    """Whether the last hidden layer is normalised: mean 0, standard deviation 1."""
    updates: Annotated[int, Whole(1, EXACT)] = 750
    """Updates of an advantage network in an iteration."""
    batch: Annotated[int, Whole(1, EXACT)] = 2048
    """Samples for each update."""
    learning_rate: Annotated[float, Number(above=0, finite=True)] = 1e-3
    """Learning rate of Adam."""
    clip: Annotated[float, Number(above=0, finite=True)] = 1.0
    """Largest norm of a gradient."""
    largest: Annotated[float, Number(above=0, finite=True)] = 16.0
    """What the largest utility is scaled to before a network is trained, to a factor of two.  The
    errors that Adam leaves depend on its learning rate, not on the size of what is learned, and
    advantages are much smaller than utilities."""
    warm: Annotated[bool, Flag()] = False
    """Whether a network goes on from the last iteration's, and does not begin anew."""
    unplayed: Annotated[str, OneOf(("best", "uniform"))] = "best"
    """What is played where no regret is positive: the action of the largest one (``"best"``, as in
    the papers), or any (``"uniform"``)."""
    keep_networks: Annotated[bool, Flag()] = False
    """Whether the networks of all iterations are kept, to be played from; see
    :class:`tensorcfr.deep.Mixture`.  The average strategy does without."""
    strategy_updates: Annotated[int, Whole(1, EXACT)] = 5000
    """Updates of the network of the average strategy, whenever that is asked for."""
    epsilon: Annotated[float, Number(above=0, most=1)] = 0.5
    """Outcome sampling: probability with which the player who is updated takes any action."""
    baselines: Annotated[str, OneOf(("histories", "infosets"))] = "histories"
    """Outcome sampling: what has a baseline.  ``"histories"``: every step of every history, in a
    table, so that baselines know all hands; ``"infosets"``: every action of an infoset, by a
    network."""
    baseline_step: Annotated[float, Number(above=0, most=1)] = 0.3
    """Outcome sampling: how far a baseline of a history moves towards what was sampled."""
    baseline_updates: Annotated[int, Whole(0, EXACT)] = 750
    """Outcome sampling: updates of the network of the baselines in an iteration; 0 for no baselines
    of either kind."""

    def __post_init__(self) -> None:
        self._check_options()
        object.__setattr__(self, "layers", tuple(self.layers))
        for option in FLOATS:
            object.__setattr__(self, option, float(getattr(self, option)))
        found = self.features
        if isinstance(found, np.ndarray):
            object.__setattr__(self, "features", Features(found))
        elif not isinstance(found, Features) and found not in FEATURES:
            raise ValueError(
                f"{self.name}: features must be one of {', '.join(FEATURES)}, or an array "
                f"(infosets, width), not {brief(found)}"
            )

    @property
    def variant(self) -> Algorithm:
        """The variant of CFR that the weights are those of."""
        return CFR(average_power=self.power)

    @property
    def has_baseline(self) -> bool:
        """Whether there are baselines."""
        return self.scheme == "outcome" and self.baseline_updates > 0

    @property
    def baseline(self) -> float:
        """As :attr:`tensorcfr.algorithms.Sampling.baseline`: a traversal corrects by baselines."""
        return float(self.has_baseline)

    @property
    def has_history_baseline(self) -> bool:
        """Whether they are those of histories."""
        return self.has_baseline and self.baselines == "histories"

    @property
    def has_baseline_network(self) -> bool:
        """Whether a network predicts them."""
        return self.has_baseline and not self.has_history_baseline

    @property
    def has_strategy_network(self) -> bool:
        """Whether strategies are kept, for a network of their average."""
        return self.average == "network"

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        if zero_sum:
            return (
                "Theorem (Brown et al. 2019): the average strategy is near a Nash equilibrium with "
                "high probability, up to the errors of the networks and of what was sampled, which "
                "nothing bounds in practice."
            )
        return (
            "No theorem says that the average strategies are near an equilibrium: without errors "
            "of the networks the joint play would come near a coarse correlated one."
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options, by the names that a call takes."""
        left_out = {"name", "scheme", "average", "formula", "source"}
        if self.average != "network":
            left_out.update(OF_NETWORK_AVERAGE)
        if self.scheme != "outcome":
            left_out.update(OF_OUTCOME)
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        said = {**self.options, "layers": list(self.layers)}
        if isinstance(self.features, Features):
            said["features"] = {"digest": self.features.digest}
        return {"name": self.name, **said}

    def restore(self, values: Mapping[str, Any]) -> Deep:  # noqa: D102
        changes = {key: values[key] for key in self.options}
        if isinstance(changes["features"], dict):
            changes["features"] = Features(None, str(changes["features"]["digest"]))
        changes["layers"] = tuple(changes["layers"])
        return self(**changes)

    def __reduce__(self) -> tuple[Any, ...]:
        # Plain values leave out the numbers of features.
        return _with_features, (self.to_dict(), self.features)

    def __str__(self) -> str:
        said = [
            f"{option}={value}"
            for option, value in self.options.items()
            if value != _DEFAULTS[option]
        ]
        return f"{self.name}({', '.join(said)})" if said else self.name


def _with_features(values: Mapping[str, Any], features: str | Features) -> Record:
    """The record that :meth:`Deep.to_dict` described, with its features."""
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
"""DREAM.  Its baselines are kept in a table over the histories of the compiled game; those of the
paper, which know all hands, too, are predicted by a network."""

publish(DEEP_CFR, SD_CFR, DREAM)
