"""Monte Carlo CFR, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import EXACT, Flag, Number, OneOf, Whole
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
"""Options of each sampling scheme."""

AVERAGING: dict[str, tuple[str, ...]] = {
    "whole": ("stochastic",),
    "chance": ("stochastic", "optimistic"),
    "public": ("stochastic", "optimistic"),
    "external": ("simple", "stochastic", "optimistic"),
    "robust": ("simple", "stochastic", "optimistic"),
    "average": ("simple", "stochastic", "optimistic"),
    "outcome": ("simple", "stochastic", "optimistic"),
}
"""Averaging schemes of each sampling scheme, its default first."""
ONE_BRANCH = ("external", "robust", "average", "outcome")
"""Schemes that follow a single branch at chance nodes and at opponents' nodes.  Players must
alternate."""


@dataclass(frozen=True, repr=False)
class Sampling(Record):
    """Variant of CFR that traverses sampled histories, as data.

    One iteration has one traversal for each player.  Call a record to change some options:
    ``EXTERNAL_SAMPLING(averaging="optimistic")``, ``CHANCE_SAMPLING(variant="cfr+")``,
    ``OUTCOME_SAMPLING(epsilon=0.4, average_power=1)``.  Options that the record itself does not
    have are options of its variant.

    Sampled iterations do not visit most infosets.  A local rule can therefore be sampled only if
    an instantaneous regret of 0 changes nothing: the sums of CFR, CFR+ and Linear CFR, and your
    own rules with this property.  Rules are refused if they discount in every iteration, predict
    the next regret from the last one (noise under sampling), exponentiate or store more than a
    regret.
    """

    is_sampled = True
    hidden_defaults = MappingProxyType(
        {**DEFAULTS, "baseline": 0.0, "prune": True, "draws": "independent"}
    )
    solvers = MappingProxyType(
        {
            "flat": "solvers.sampled_solver:SampledSolver",
            "chunks": "solvers.sampled_solver:SampledSolver",
            "rules": "solvers.sampled_solver:SampledSolver",
        }
    )

    name: str
    """Name in :func:`tensorcfr.solve` and on the command line."""
    scheme: str
    """Sampling scheme:

    * ``"whole"``: no sampling.
    * ``"chance"``: chance is sampled.
    * ``"public"``: public chance is sampled, and all private hands are played.
    * ``"external"``: chance and the opponents are sampled.
    * ``"robust"``: also own actions, ``tries`` of them with equal probabilities.
    * ``"average"``: also own actions, each independently, by the average strategy.
    * ``"outcome"``: a single play is sampled."""
    variant: Annotated[Algorithm, VARIANT]
    """Variant of CFR whose local rule and averaging weights are used."""
    formula: str
    """Formula or description in one line."""
    source: str
    """Citation of the paper."""
    averaging: str
    """Scheme that sums the average strategy, by the names of Lanctot's thesis (2013);
    ``x`` is own reach, ``sigma`` the current strategy.

    * ``"simple"``: at nodes of players *other* than the updated one, add ``sigma``.  The traversal
      samples their actions, so it reaches a node with a probability proportional to ``x``.  The
      term is divided by the exploration of the updated player (in outcome sampling), and by the
      reaches of third players.
    * ``"stochastic"``: at nodes of the updated player, add ``x sigma`` divided by the sampling
      probability, without the factor of chance.
    * ``"optimistic"``: at nodes of the updated player, add ``x sigma`` times the weights of all
      iterations since the last visit, as if ``x`` had been the same in all of them.

    In expectation the first two add ``x sigma``, times a constant of the infoset, in every
    iteration.  Their average is therefore the one of CFR.  However, ``"stochastic"`` never visits
    histories with an opponents' reach of 0, and ``"simple"`` never visits histories with a third
    player's reach of 0.  ``"optimistic"`` is an approximation.

    In a one-player game no traversal updates another player, so ``"simple"`` is replaced by
    ``"stochastic"``; see :meth:`averaging_among`."""
    epsilon: Annotated[float, Number(above=0, most=1)] = 0.6
    """Outcome sampling: probability with which the updated player takes a uniformly random action.
    Average strategy sampling: minimum probability of trying an action."""
    tries: Annotated[int, Whole(1, EXACT)] = 1
    """Robust sampling: number of own actions to try; all, if there are fewer."""
    threshold: Annotated[float, Number(0, finite=True)] = 1e3
    """Average strategy sampling: an action is always tried if its share of the average strategy is
    at least ``1 / threshold``."""
    bonus: Annotated[float, Number(0, finite=True)] = 1e6
    """Average strategy sampling: all actions are tried while the cumulative strategy of an infoset
    is far below this number."""
    baseline: Annotated[float, Number(0, 1)] = 0.0
    """Outcome sampling: step size of a baseline towards each sampled value (0.5 in the paper,
    Schmid et al. 2019); 0 for no baselines."""
    prune: Annotated[bool, Flag()] = True
    """Chance sampling, public or not, and whole traversals: skip nodes that neither the updated
    player nor the others reach with any hand.  No sum changes below such nodes."""
    draws: Annotated[str, OneOf(("independent", "golden"))] = "independent"
    """Chance sampling, public or not: dependence between the draws of one chance node.

    * ``"independent"``: draws are independent.
    * ``"golden"``: draws are multiples of the golden ratio, modulo 1, with a random offset.  The
      number of times an outcome is drawn then matches its probability up to a few draws
      (correlated chance sampling; Li, Chen, Huang, arXiv 2607.27035).  Players alternate."""

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"there is no scheme {self.scheme!r}; {suggest(self.scheme, SCHEMES)}")
        OneOf(AVERAGING[self.scheme])(f"{self.name}: averaging", self.averaging)
        self._check_options()
        if not self.variant.alternating and self.scheme in ONE_BRANCH:
            raise ValueError(
                f"{self.name}: alternating=False is possible only with chance sampling and "
                "whole traversals"
            )
        if self.draws == "golden" and not self.variant.alternating:
            raise ValueError(
                f"{self.name}: draws='golden' needs alternating updates, because each "
                "player's traversal has its own draws"
            )
        if reason := _obstacle_to_sampling(self.variant):
            raise ValueError(f"{self.name} cannot sample {self.variant.name}: {reason}")

    @property
    def shares_traversals(self) -> bool:  # type: ignore[override]
        """True if all players learn from the same draws of chance in an iteration."""
        return not self.variant.alternating

    def __call__(self, **changes: Any) -> Sampling:
        """Return a copy with some options of the record or of its variant changed.

        Args:
            changes: New values, by name of the option.

        Raises:
            TypeError: There is no such option.
        """
        own_options = {"variant", *SCHEMES[self.scheme]}
        own_changes = {key: value for key, value in changes.items() if key in own_options}
        variant_changes = {key: value for key, value in changes.items() if key not in own_options}
        if variant_changes:
            variant = VARIANT(f"{self.name}: variant", own_changes.get("variant", self.variant))
            known = set(variant.options)
            for key in variant_changes:
                if key not in known:
                    raise TypeError(
                        f"{self.name} has no option {key!r}; {suggest(key, own_options | known)}"
                    )
            own_changes["variant"] = variant(**variant_changes)
        return replace(self, **own_changes)

    def averaging_among(self, n_players: int) -> str:
        """Return the averaging scheme in a game of ``n_players`` players."""
        return "stochastic" if n_players == 1 and self.averaging == "simple" else self.averaging

    def guarantee(self, *, zero_sum: bool) -> str:  # noqa: D102
        theorem = promise(self.variant, zero_sum=zero_sum, sampled=self.scheme != "whole")
        if missing(self.variant):
            return theorem
        if self.draws == "golden":
            return f"No theorem: draws of chance depend on each other.  With others: {theorem}"
        if self.averaging == "optimistic":
            return f"No theorem: optimistic averages are approximations.  With others: {theorem}"
        return theorem

    @property
    def samples_rules(self) -> bool:  # type: ignore[override]
        """True if traversals follow single plays, and therefore need only the rules of a game."""
        return self.scheme in ONE_BRANCH

    @property
    def own_draws(self) -> np.ndarray | None:
        """Parameters of :func:`tensorcfr.kernels.sampling_steps.draw_tried`, float64 (4,), which
        draws the own actions to try; None if all are tried."""
        if self.scheme not in ("robust", "average"):
            return None
        tries = self.tries if self.scheme == "robust" else 0
        return np.array([tries, self.epsilon, self.threshold, self.bonus], dtype=np.float64)

    @property
    def extra(self) -> int:
        """Numbers stored per action in addition to regret, strategy and average.  Baselines are not
        included: each player has separate ones."""
        return int(self.scheme in ("whole", "chance"))

    @property
    def options(self) -> dict[str, Any]:
        """Options of the record and of its variant, by keyword of a call."""
        own_options = {key: getattr(self, key) for key in SCHEMES[self.scheme]}
        return {"variant": self.variant.name, **own_options, **self.variant.options}

    def default_options(self, known: Record | None) -> dict[str, Any]:  # noqa: D102
        if not isinstance(known, Sampling):
            return super().default_options(known)
        # The name of the variant in a description implies the variant's defaults.
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
                f"{self.name} was written with the scheme {values['scheme']!r}, but the "
                f"registered algorithm has the scheme {self.scheme!r}"
            )
        return replace(self, **values["options"] | {"variant": from_dict(values["variant"])})


PROBES = ((0.0, -2.0), (0.0, 0.5), (1.5, -0.5), (3.0, 1.0), (0.5, -3.0))
"""Pairs of instantaneous regrets on which :func:`_obstacle_to_sampling` tests a rule."""


def _obstacle_to_sampling(variant: Algorithm) -> str:
    """Return the reason why a variant cannot be sampled; empty if it can."""
    rule = variant.rule
    if variant.passes_up != "played":
        return "the values of new strategies, which it passes up, need the whole tree"
    if rule.whole:
        return "its rule updates all actions of an infoset together"
    if rule.payoff is not None:
        return "it changes the payoffs of all sequences in every iteration"
    if callable(variant.floor) or variant.floor > 0:
        return "its strategy has a floor; sampled variants play by regret matching"
    if beyond := variant.beyond:
        return f"its option {beyond[0]} needs passes over the whole game"
    if rule.memory:
        return f"its rule stores more than a regret ({', '.join(rule.memory)})"
    if rule.exponential:
        return "its rule uses exponential weights; sampled variants play by regret matching"
    # Compile nothing for a check: call the Python function behind a compiled step.
    step = getattr(rule.step, "py_func", rule.step)
    # Regrets are built with the parameters of iteration 2, then tested with those of iteration 7.
    early, late = (tuple(variant.schedule(t, 1)[0, 1:].tolist()) for t in (2, 7))
    for first, second in PROBES:
        regret, _ = step(0.0, first, early)
        regret, preference = step(regret, second, early)
        # An iteration that does not visit the infoset must leave regret and strategy unchanged.
        again, same = step(regret, 0.0, late)
        if not np.isclose(again, regret, rtol=1e-12, atol=0.0):
            return (
                "it changes all regrets in every iteration, and a sampled iteration visits "
                "only some infosets"
            )
        if not np.isclose(max(same, 0.0), max(preference, 0.0), rtol=1e-12, atol=0.0):
            return (
                "its strategy depends on the last instantaneous regret, of which a sampled "
                "iteration has a noisy estimate, and none at infosets that it does not "
                "visit"
            )
    return ""
