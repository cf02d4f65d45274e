"""Monte Carlo CFR, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from .._util.arguments import EXACT, Flag, Number, OneOf, Whole
from ..errors import suggest
from .records import DEFAULTS, VARIANT, Algorithm
from .registry import ALGORITHMS, Record, from_dict
from .theorems import missing, promise

SCHEMES: dict[str, tuple[str, ...]] = {
    "whole": ("prune",),
    "chance": ("averaging", "prune", "draws"),
    "public": ("averaging", "prune", "draws"),
    "external": ("averaging",),
    "robust": ("averaging", "tries"),
    "average": ("averaging", "epsilon", "threshold", "bonus"),
    "outcome": ("averaging", "epsilon", "baseline"),
}
"""The schemes, and the options that each has."""

AVERAGING: dict[str, tuple[str, ...]] = {
    "whole": ("stochastic",),
    "chance": ("stochastic", "optimistic"),
    "public": ("stochastic", "optimistic"),
    "external": ("simple", "stochastic", "optimistic"),
    "robust": ("simple", "stochastic", "optimistic"),
    "average": ("simple", "stochastic", "optimistic"),
    "outcome": ("simple", "stochastic", "optimistic"),
}
"""The averaging schemes that each has, its default first."""
ONE_BRANCH = ("external", "robust", "average", "outcome")
"""Schemes that go one way at chance and at opponents, so that players alternate."""


@dataclass(frozen=True, repr=False)
class Sampling(Record):
    """A variant of CFR that traverses histories, and samples some of them, as data.

    One iteration traverses once for each player.  Call a record to change some of it:
    ``EXTERNAL_SAMPLING(averaging="optimistic")``, ``CHANCE_SAMPLING(variant="cfr+")``,
    ``OUTCOME_SAMPLING(epsilon=0.4, average_power=1)``: what the record itself does not have is an
    option of its variant.

    A local rule can be sampled if an iteration that adds nothing changes nothing, because sampled
    iterations leave most infosets alone: the sums of CFR, CFR+ and Linear CFR, and your own rules
    of that kind.  Rules that discount in every iteration, predict the next regret from the last
    one (which sampling makes noise), forecast, exponentiate or remember more than a regret are
    refused.
    """

    is_sampled = True
    unsaid = MappingProxyType({**DEFAULTS, "baseline": 0.0, "prune": True, "draws": "independent"})
    solvers = MappingProxyType(
        {
            "flat": "solvers.sampled_solver:SampledSolver",
            "rules": "solvers.sampled_solver:SampledSolver",
        }
    )

    name: str
    """What it is called in :func:`tensorcfr.solve` and on the command line."""
    scheme: str
    """What is sampled: ``"whole"`` (nothing), ``"chance"``, ``"public"`` (public chance; all
    private hands are played), ``"external"`` (chance and the opponents), ``"robust"`` or
    ``"average"`` (in addition, which own actions are tried: ``tries`` of them, all alike likely, or
    each by itself, by the average strategy) or ``"outcome"`` (a single play)."""
    variant: Annotated[Algorithm, VARIANT]
    """The variant of CFR that the regrets and the weights of the average are those of."""
    formula: str
    """What it does, in a line."""
    source: str
    """The paper it comes from."""
    averaging: str
    """How the average strategy is summed, by the names of Lanctot's thesis (2013);
    ``x`` is own reach.

    * ``"simple"``: at the *other* players' nodes, whom a traversal samples, so that it goes where
      they go: adds ``sigma``, divided by what the player who is updated explored (in outcome
      sampling), and by the reaches of third players if there are any.
    * ``"stochastic"``: at the nodes of the player who is updated, ``x sigma`` divided by the
      probability of being sampled (chance's own apart).
    * ``"optimistic"``: at those nodes, ``x sigma`` times the weights of all iterations since the
      last visit, as if ``x`` had been the same in all of them.

    In expectation the first two add a constant of the infoset times ``x sigma`` in every
    iteration, so that their average is that of CFR; but to histories that opponents do not reach
    ``"stochastic"`` cannot go, nor ``"simple"`` to those that third players do not reach.
    ``"optimistic"`` is an approximation.

    Where a player is alone, no traversal is another player's: ``"simple"`` then adds what
    ``"stochastic"`` does, see :meth:`averaging_among`."""
    epsilon: Annotated[float, Number(above=0, most=1)] = 0.6
    """Outcome sampling: probability with which the player who is updated takes any action.
    Average strategy sampling: the least probability with which an action is tried."""
    tries: Annotated[int, Whole(1, EXACT)] = 1
    """Robust sampling: how many own actions are tried; all, where there are no more."""
    threshold: Annotated[float, Number(0, finite=True)] = 1e3
    """Average strategy sampling: an action of at least the share ``1 / threshold`` of the average
    strategy is always tried."""
    bonus: Annotated[float, Number(0, finite=True)] = 1e6
    """Average strategy sampling: as long as the cumulative strategy of an infoset is far below it,
    all actions are tried."""
    baseline: Annotated[float, Number(0, 1)] = 0.0
    """Outcome sampling: how far a baseline moves to each value seen (0.5 in the paper, Schmid et
    al. 2019), or 0 for none."""
    prune: Annotated[bool, Flag()] = True
    """Chance sampling, public or not, and whole traversals: leave out the nodes that neither the
    player who is updated nor the others reach (with any hand), below which no sum changes."""
    draws: Annotated[str, OneOf(("independent", "golden"))] = "independent"
    """Chance sampling, public or not: how the draws of one chance node depend on each other.

    * ``"independent"``: not at all.
    * ``"golden"``: they are multiples of the golden ratio, modulo 1, from a random place on.  Every
      outcome comes up as often as its probability says, up to a few draws (correlated chance
      sampling; Li, Chen, Huang, arXiv 2607.27035).  Players alternate."""

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"there is no scheme {self.scheme!r}; {suggest(self.scheme, SCHEMES)}")
        OneOf(AVERAGING[self.scheme])(f"{self.name}: averaging", self.averaging)
        self._check_options()
        if not self.variant.alternating and self.scheme in ONE_BRANCH:
            raise ValueError(
                f"{self.name}: players alternate; updating all of them at once is for chance "
                "sampling and whole traversals"
            )
        if self.draws == "golden" and not self.variant.alternating:
            raise ValueError(
                f"{self.name}: draws='golden' gives every player's traversal draws of its own, and "
                "players who do not alternate share them"
            )
        if reason := _why_not(self.variant):
            raise ValueError(f"{self.name} cannot sample {self.variant.name}: {reason}")

    @property
    def shares_draws(self) -> bool:  # type: ignore[override]
        """As for every record."""
        return not self.variant.alternating

    def __call__(self, **changes: Any) -> Sampling:
        """The same record with some options of its own or of its variant changed.

        Raises:
            TypeError: There is no such option.
        """
        own = {"variant", *SCHEMES[self.scheme]}
        kept = {key: value for key, value in changes.items() if key in own}
        rest = {key: value for key, value in changes.items() if key not in own}
        if rest:
            variant = VARIANT(f"{self.name}: variant", kept.get("variant", self.variant))
            known = set(variant.options)
            for key in rest:
                if key not in known:
                    raise TypeError(
                        f"{self.name} has no option {key!r}; {suggest(key, own | known)}"
                    )
            kept["variant"] = variant(**rest)
        return replace(self, **kept)

    def averaging_among(self, n_players: int) -> str:
        """The averaging scheme in a game of so many players."""
        return "stochastic" if n_players == 1 and self.averaging == "simple" else self.averaging

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        said = promise(self.variant, zero_sum=zero_sum, sampled=self.scheme != "whole")
        if missing(self.variant):
            return said
        if self.draws == "golden":
            return f"No theorem: draws of chance depend on each other.  With others: {said}"
        if self.averaging == "optimistic":
            return f"No theorem: optimistic averages are approximations.  With others: {said}"
        return said

    @property
    def samples_rules(self) -> bool:  # type: ignore[override]
        """Whether traversals follow plays, and so need no more of a game than its rules."""
        return self.scheme in ONE_BRANCH

    @property
    def own_draws(self) -> np.ndarray | None:
        """Which own actions a traversal tries, for :func:`tensorcfr.kernels.sampling.draw_tried`;
        None for all."""
        if self.scheme not in ("robust", "average"):
            return None
        tries = self.tries if self.scheme == "robust" else 0
        return np.array([tries, self.epsilon, self.threshold, self.bonus], dtype=np.float64)

    @property
    def extra(self) -> int:
        """Numbers kept per action in addition to regret, strategy and average; without baselines,
        of which every player has its own."""
        return int(self.scheme in ("whole", "chance"))

    @property
    def options(self) -> dict[str, Any]:
        """The options of the record and of its variant, by the names that a call takes."""
        own = {key: getattr(self, key) for key in SCHEMES[self.scheme]}
        return {"variant": self.variant.name, **own, **self.variant.options}

    def usual_options(self, known: Record | None) -> dict[str, Any]:  # noqa: D102
        if not isinstance(known, Sampling):
            return super().usual_options(known)
        # A text leaves out the options of the variant that it names.
        variant = ALGORITHMS.get(self.variant.name, known.variant)
        return {**known(variant=variant).options, "variant": known.variant.name}

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "name": self.name,
            "scheme": self.scheme,
            "variant": self.variant.to_dict(),
            "options": {key: getattr(self, key) for key in SCHEMES[self.scheme]},
        }

    def restore(self, values: Mapping[str, Any]) -> Sampling:  # noqa: D102
        if self.scheme != values["scheme"]:
            raise ValueError(
                f"{self.name} was written with the scheme {values['scheme']!r}, but it is "
                f"{self.scheme!r} here"
            )
        return replace(self, **values["options"] | {"variant": from_dict(values["variant"])})


PROBES = ((0.0, -2.0), (0.0, 0.5), (1.5, -0.5), (3.0, 1.0), (0.5, -3.0))
"""Pairs of instantaneous regrets that a rule is tried on."""


def _why_not(variant: Algorithm) -> str:
    """Why a variant cannot be sampled; empty if it can."""
    rule = variant.rule
    if variant.passes_up != "played":
        return "its new strategies' values take those of the whole tree"
    if rule.whole:
        return "its rule looks at all actions of an infoset together"
    if rule.payoff is not None:
        return "it changes the payoffs of all sequences in every iteration"
    if callable(variant.floor) or variant.floor > 0:
        return "its strategy has a floor; what is sampled plays by regret matching"
    if variant.against != "current":
        return "it plays against averages; what is sampled are the strategies of one iteration"
    if beyond := variant.beyond:
        return f"its {beyond[0]} is for passes over the whole game"
    if rule.memory:
        return f"its rule keeps more than a regret ({', '.join(rule.memory)})"
    if rule.forecast:
        return "its forecast takes the values of the whole tree"
    if rule.exponential:
        return "its rule makes weights of exponents; what is sampled plays by regret matching"
    step = getattr(rule.step, "py_func", rule.step)
    early, late = (tuple(variant.schedule(t, 1)[0, 1:].tolist()) for t in (2, 7))
    for first, second in PROBES:
        regret, _ = step(0.0, first, early)
        regret, preference = step(regret, second, early)
        again, same = step(regret, 0.0, late)
        if not np.isclose(again, regret, rtol=1e-12, atol=0.0):
            return "it changes regrets in every iteration, also where a sampled one does not go"
        if not np.isclose(max(same, 0.0), max(preference, 0.0), rtol=1e-12, atol=0.0):
            return (
                "its strategy leans on the last instantaneous regret, of which a sampled "
                "iteration has a noisy estimate, and none at most infosets"
            )
    return ""
