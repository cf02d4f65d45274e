"""The published variants, each with its formula and its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import suggest
from ..kernels.local_rule import LocalRule
from .records import Algorithm, LinearProgram
from .sampling import Sampling, sampling_from_dict, sampling_to_dict


def _regret_matching(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = regret + instant
    return regret, regret


def _regret_matching_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    return regret, regret


def _discounted(regret, instant, parameters):  # type: ignore[no-untyped-def]
    positive, negative = parameters
    regret = regret * (positive if regret > 0.0 else negative) + instant
    return regret, regret


def _linear_weight(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = regret + parameters[0] * instant
    return regret, regret


def _discounted_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = max(parameters[0] * regret + instant, 0.0)
    return regret, regret


def _predictive_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    return regret, regret + instant


def _predictive_discounted_plus(regret, instant, parameters):  # type: ignore[no-untyped-def]
    before, after = parameters
    regret = max(before * regret + instant, 0.0)
    return regret, after * regret + instant


def _exponential(regret, instant, parameters):  # type: ignore[no-untyped-def]
    regret = regret + instant
    return regret, parameters[0] * regret


def _share(t: np.ndarray, alpha: float, offset: float = 1.0) -> np.ndarray:
    """``t^a / (t^a + offset)``; 1 at ``t = 0``, when there is no regret to discount."""
    power = np.maximum(t, 1.0) ** alpha
    return np.where(t > 0, power / (power + offset), 1.0)


REGRET_MATCHING = LocalRule("regret matching", _regret_matching)
REGRET_MATCHING_PLUS = LocalRule("regret matching+", _regret_matching_plus)
DISCOUNTED = LocalRule(
    "discounted regret matching",
    _discounted,
    at=lambda t, alpha, beta: (_share(t - 1, alpha), _share(t - 1, beta)),
    parameter_names=("alpha", "beta"),
)
DISCOUNTED_PLUS = LocalRule(
    "discounted regret matching+",
    _discounted_plus,
    at=lambda t, alpha: (_share(t - 1, alpha, 1.5),),
    parameter_names=("alpha",),
)
PREDICTIVE_PLUS = LocalRule("predictive regret matching+", _predictive_plus)
PREDICTIVE_PLUS_GRADIENT = LocalRule(
    "predictive regret matching+ on gradients", _regret_matching_plus, forecast=True
)
PREDICTIVE_DISCOUNTED_PLUS = LocalRule(
    "predictive discounted regret matching+",
    _predictive_discounted_plus,
    at=lambda t, alpha: (_share(t - 1, alpha), _share(t, alpha)),
    parameter_names=("alpha",),
)
LINEAR = LocalRule("linear regret matching", _linear_weight, at=lambda t: (t,))
EXPONENTIAL = LocalRule(
    "exponential weights",
    _exponential,
    at=lambda t, eta: (eta / np.sqrt(t),),
    parameter_names=("eta",),
    exponential=True,
)

Record = Algorithm | Sampling | LinearProgram
"""What an algorithm is, as data."""

BROWN_SANDHOLM = (
    "N. Brown, T. Sandholm, 'Solving imperfect-information games via discounted regret "
    "minimization', AAAI 2019"
)
XU = (
    "H. Xu, K. Li, B. Liu, H. Fu, Q. Fu, J. Xing, J. Cheng, 'Minimizing weighted counterfactual "
    "regret with optimistic online mirror descent', IJCAI 2024"
)

CFR = Algorithm(
    "cfr",
    REGRET_MATCHING,
    formula="R <- R + r; strategy from [R]+; uniform average",
    source="M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games "
    "with incomplete information', NIPS 2007",
)
"""Vanilla CFR.  The paper updates all players at once; here, as in OpenSpiel, they alternate
unless told otherwise."""

CFR_PLUS = Algorithm(
    "cfr+",
    REGRET_MATCHING_PLUS,
    formula="R <- [R + r]+; strategy from R; average weighted by t",
    source="O. Tammelin, 'Solving large imperfect information games using CFR+', "
    "arXiv 1407.5042, 2014",
    average_power=1.0,
)
"""CFR+, averaging linearly from iteration 1; the paper's delay ``d`` is ``delay=d``."""

LCFR = Algorithm(
    "lcfr",
    LINEAR,
    formula="R <- R + t r; strategy from [R]+; average weighted by t",
    source=BROWN_SANDHOLM,
    average_power=1.0,
)
"""Linear CFR."""

DCFR = Algorithm(
    "dcfr",
    DISCOUNTED,
    formula="R <- R (t-1)^a / ((t-1)^a + 1) + r where R > 0, with b for a elsewhere; "
    "strategy from [R]+; average weighted by t^2",
    source=BROWN_SANDHOLM,
    parameters={"alpha": 1.5, "beta": 0.0},
    average_power=2.0,
)
"""Discounted CFR; ``a`` is ``alpha``, ``b`` is ``beta``."""

DCFR_PLUS = Algorithm(
    "dcfr+",
    DISCOUNTED_PLUS,
    formula="R <- [R (t-1)^a / ((t-1)^a + 1.5) + r]+; strategy from R; average weighted by t^4",
    source=XU,
    parameters={"alpha": 1.5},
    average_power=4.0,
)
"""DCFR+; ``a`` is ``alpha``."""

PCFR_PLUS = Algorithm(
    "pcfr+",
    PREDICTIVE_PLUS,
    formula="R <- [R + r]+; strategy from [R + r]+, r as its own prediction; "
    "average weighted by t^2",
    source="G. Farina, C. Kroer, T. Sandholm, 'Faster game solving via predictive Blackwell "
    "approachability', AAAI 2021; with the prediction of each infoset on its own, as in Xu et "
    "al. 2024",
    average_power=2.0,
)
"""Predictive CFR+ with local predictions: every infoset predicts its last regrets again."""

PCFR_PLUS_GRADIENT = Algorithm(
    "pcfr+gradient",
    PREDICTIVE_PLUS_GRADIENT,
    formula="R <- [R + r]+; strategy from [R + r']+, where r' are the regrets against the same "
    "opponents when the player already plays the new strategy further down; average weighted by "
    "t^2",
    source="G. Farina, C. Kroer, T. Sandholm, 'Faster game solving via predictive Blackwell "
    "approachability: connecting regret matching and mirror descent', AAAI 2021",
    average_power=2.0,
)
"""Predictive CFR+ as its paper has it: what is predicted is the utility gradient, the last one
again, and its values are carried up the tree with the new strategies."""

PDCFR_PLUS = Algorithm(
    "pdcfr+",
    PREDICTIVE_DISCOUNTED_PLUS,
    formula="R <- [R (t-1)^a / ((t-1)^a + 1) + r]+; strategy from [R t^a / (t^a + 1) + r]+; "
    "average weighted by t^5",
    source=XU,
    parameters={"alpha": 2.3},
    average_power=5.0,
)
"""Predictive Discounted CFR+; ``a`` is ``alpha``."""

DCFR_POSTFLOP = DCFR(average_power=3, restart_base=4)
"""Discounted CFR as the poker solver b-inary/postflop-solver runs it: average weighted by
``t^3`` and begun anew at iterations 4, 16, 64, ..."""

HEDGE = Algorithm(
    "hedge",
    EXPONENTIAL,
    formula="R <- R + r; strategy proportional to exp(eta R / sqrt(t)); uniform average",
    source="Y. Freund, R. Schapire, 'Adaptive game playing using multiplicative weights', Games "
    "and Economic Behavior 29, 1999; in CFR: N. Brown, C. Kroer, T. Sandholm, 'Dynamic "
    "thresholding and pruning for regret minimization', AAAI 2017",
    parameters={"eta": 1.0},
)
"""Exponential weights in place of regret matching.  The theory's ``eta`` is ``sqrt(8 ln |A|)``
over the range of the counterfactual values, which are often much smaller than the payoffs: larger
values of ``eta`` are worth trying."""

CFR_AVG = Algorithm(
    "cfr-avg",
    REGRET_MATCHING,
    formula="R <- R + r, where r are the regrets against the others' average strategies; strategy "
    "from [R]+; uniform average",
    source="N. Brown, A. Bakhtin, A. Lerer, Q. Gong, 'Combining deep reinforcement learning and "
    "search for imperfect-information games', NeurIPS 2020 (appendix on CFR-AVG)",
    against="average",
)
"""CFR-AVG on a whole tree: the average strategies drive the reaches.

The paper searches a few moves deep, and values what lies below for the average strategies instead
of those of the iteration; on the way there, reaches are those of the iteration.  On a tree that is
not cut there is nothing below, and its CFR-AVG is CFR.  So is its modified form, which adds ``t``
times the value under the average of ``t`` iterations less ``t - 1`` times that of the iteration
before: payoffs are linear in an opponent's reach, so that this is the value under strategy ``t``.
What is here takes the name at its word, at every terminal, as OpenSpiel's value function solver
does with ``beliefs_for_average``.  It is there to be studied: it has no guarantee, and comes to no
equilibrium of Kuhn or Leduc poker."""

LP = LinearProgram()
"""The sequence-form linear program, exact; needs the extra ``tensorcfr[lp]``."""

LANCTOT = (
    "M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret "
    "minimization in extensive games', NIPS 2009"
)

WHOLE_TRAVERSAL = Sampling(
    "whole_traversal",
    "whole",
    CFR,
    formula="CFR by walking histories, without what neither the player nor the others reach",
    source="M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games "
    "with incomplete information', NIPS 2007; the cuts: M. Lanctot, 'Monte Carlo sampling and "
    "regret minimization for equilibrium computation and decision-making in large extensive form "
    "games', PhD thesis, University of Alberta, 2013",
    averaging="stochastic",
)
"""The same sums as ``variant``, history by history: slower, and with an honest count of the nodes
that are touched where those that nobody reaches are left out."""

CHANCE_SAMPLING = Sampling(
    "chance_sampling",
    "chance",
    CFR,
    formula="chance is sampled, every action is tried; R <- R + r, r estimated from that deal",
    source="M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games "
    "with incomplete information', NIPS 2007",
    averaging="stochastic",
)
"""Chance-sampled CFR.  Each player's traversal draws its own deal, because the strategies that it
meets already depend on the deals before it; with ``alternating=False`` all players learn from one
deal."""

PUBLIC_CHANCE_SAMPLING = Sampling(
    "public_chance_sampling",
    "public",
    CFR,
    formula="public chance is sampled, all hands are played on it; R <- R + r, r estimated from "
    "those outcomes",
    source="M. Johanson, N. Bard, M. Lanctot, R. Gibson, M. Bowling, 'Efficient Nash equilibrium "
    "approximation through Monte Carlo counterfactual regret minimization', AAMAS 2012",
    averaging="stochastic",
)
"""Public chance sampling, for games of private hands and a public tree: an iteration is one of CFR
on what the public outcomes leave, for every hand at once.  Without public chance it is CFR."""

EXTERNAL_SAMPLING = Sampling(
    "external_sampling",
    "external",
    CFR,
    formula="chance and the opponents are sampled, every own action is tried; R <- R + r",
    source=LANCTOT,
    averaging="simple",
)
"""External-sampling MCCFR."""

OUTCOME_SAMPLING = Sampling(
    "outcome_sampling",
    "outcome",
    CFR,
    formula="one play is sampled, the player exploring with probability epsilon; R <- R + r",
    source=LANCTOT + "; baselines: M. Schmid, N. Burch, M. Lanctot, M. Moravcik, R. Kadlec, "
    "M. Bowling, 'Variance reduction in Monte Carlo counterfactual regret minimization (VR-MCCFR) "
    "for extensive form games using baselines', AAAI 2019",
    averaging="simple",
)
"""Outcome-sampling MCCFR, exploring with epsilon 0.6; with baselines: ``baseline=0.5``."""

ALGORITHMS: dict[str, Record] = {
    record.name: record
    for record in (
        CFR,
        CFR_PLUS,
        LCFR,
        DCFR,
        DCFR_PLUS,
        PCFR_PLUS,
        PCFR_PLUS_GRADIENT,
        PDCFR_PLUS,
        HEDGE,
        CFR_AVG,
        WHOLE_TRAVERSAL,
        CHANCE_SAMPLING,
        PUBLIC_CHANCE_SAMPLING,
        EXTERNAL_SAMPLING,
        OUTCOME_SAMPLING,
        LP,
    )
}
"""The variants by name, those that were registered included."""
AUTOMATIC = "auto"
"""In place of a name, where a game is at hand to choose an algorithm by."""
PUBLISHED = frozenset({*ALGORITHMS, AUTOMATIC})
"""The names that come with the library."""


def register(algorithm: Algorithm | Sampling) -> None:
    """Give an algorithm of your own its name: for ``solve``, the command line, and for solutions
    that are read back from a file.

    Registering a name of your own again replaces what it stood for.

    Raises:
        ValueError: The name belongs to a published algorithm.
    """
    if algorithm.name in PUBLISHED and ALGORITHMS.get(algorithm.name) != algorithm:
        raise ValueError(f"the name {algorithm.name!r} belongs to a published algorithm")
    ALGORITHMS[algorithm.name] = algorithm


def find_algorithm(algorithm: str | Record) -> Record:
    """The record that a name stands for; a record stands for itself.

    Raises:
        ValueError: There is no such algorithm; suggests the right one.
        TypeError: It is neither a name nor a record.
    """
    if isinstance(algorithm, Record):
        return algorithm
    if not isinstance(algorithm, str):
        raise TypeError(f"an algorithm is a name or an Algorithm, not {algorithm!r}")
    if algorithm == AUTOMATIC:
        raise ValueError(
            f"{AUTOMATIC!r} chooses by the game and the target: solve(game, {AUTOMATIC!r}) takes "
            "it, without settings"
        )
    found = ALGORITHMS.get(algorithm)
    if found is None:
        meant = algorithm.casefold().replace("plus", "+").replace("_", "").replace(" ", "")
        raise ValueError(f"there is no algorithm {algorithm!r}; {suggest(meant, ALGORITHMS)}")
    return found


def to_dict(record: Record) -> dict[str, Any]:
    """Plain values from which :func:`from_dict` makes the same record.

    Raises:
        ValueError: A parameter is a function, and not that of the record that is registered under
            the name: functions cannot be written down.
    """
    if isinstance(record, LinearProgram):
        return {"name": record.name}
    if isinstance(record, Sampling):
        return sampling_to_dict(record, to_dict(record.variant))
    registered = ALGORITHMS.get(record.name)
    functions = [key for key, value in record.parameters.items() if callable(value)]
    if callable(record.floor) and not (
        isinstance(registered, Algorithm) and registered.floor is record.floor
    ):
        raise ValueError(
            f"the floor of {record.name} is a function, which cannot be saved; give the algorithm "
            "a name of its own and register() it"
        )
    for key in functions:
        if (
            not isinstance(registered, Algorithm)
            or registered.parameters.get(key) is not record.parameters[key]
        ):
            raise ValueError(
                f"parameter {key!r} of {record.name} is a function, which cannot be saved; give "
                "the algorithm a name of its own and register() it"
            )
    floor = {} if callable(record.floor) else {"floor": float(record.floor)}
    return {
        **floor,
        "name": record.name,
        "rule": record.rule.name,
        "digest": record.rule.digest,
        "parameters": {key: p for key, p in record.parameters.items() if not callable(p)},
        "functions": functions,
        "average_power": float(record.average_power),
        "delay": int(record.delay),
        "restart_base": int(record.restart_base),
        "alternating": record.alternating,
        "against": record.against,
    }


def from_dict(values: Mapping[str, Any]) -> Record:
    """The record that :func:`to_dict` wrote down.

    Raises:
        ValueError: There is no algorithm of that name, or it has another rule now.
    """
    try:
        record = find_algorithm(values["name"])
    except ValueError as error:
        hint = "an algorithm of your own must be registered before it is read"
        raise ValueError(f"{error} ({hint})") from None
    if isinstance(record, LinearProgram):
        return record
    if isinstance(record, Sampling):
        variant = from_dict(values["variant"])
        assert isinstance(variant, Algorithm)
        return sampling_from_dict(record, values, variant)
    # The digest of one and the same rule differs between versions of Python; the rules of this
    # library are known by name.
    same = record.rule.digest == values["digest"] or record.name in PUBLISHED
    if record.rule.name != values["rule"] or not same:
        raise ValueError(
            f"{record.name} was written with the rule {values['rule']!r}, "
            f"but its rule {record.rule.name!r} here computes something else"
        )
    for key in values["functions"]:
        if not callable(record.parameters.get(key)):
            raise ValueError(f"parameter {key!r} of {record.name} was a function when written")
    options = ("average_power", "delay", "restart_base", "alternating")
    changes = {key: values[key] for key in options}
    changes["against"] = values.get("against", "current")
    if "floor" in values or not callable(record.floor):
        changes["floor"] = values.get("floor", 0.0)
    return record(**values["parameters"], **changes)
