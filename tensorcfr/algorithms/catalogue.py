"""The published variants, each with its formula and its source."""

from __future__ import annotations

from .decomposition import Decomposition
from .local_rules import (
    DISCOUNTED,
    DISCOUNTED_PLUS,
    EXPONENTIAL,
    LINEAR,
    PREDICTIVE_DISCOUNTED_PLUS,
    PREDICTIVE_PLUS,
    PREDICTIVE_PLUS_GRADIENT,
    REGRET_MATCHING,
    REGRET_MATCHING_PLUS,
)
from .records import Algorithm, LinearProgram
from .registry import publish
from .sampling import Sampling

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
values of ``eta`` are worth trying.  ``eta`` is per unit of payoff; where payoffs are beyond 1e12 or
all below 1e-12 it is per ``CompiledGame.unit``, which is about the largest of them."""

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

CFR_D = Decomposition(
    "cfr-d",
    CFR_PLUS(alternating=False),
    CFR_PLUS,
    formula="CFR on the trunk; in each iteration every subgame is solved from the trunk's ranges "
    "and forgotten; below the trunk, play resolves from the average values",
    source="N. Burch, M. Johanson, M. Bowling, 'Solving imperfect information games using "
    "decomposition', AAAI 2014",
)
"""CFR-D, for games of private hands between two players.  The paper runs CFR; here CFR+ is the
default on the trunk, where both players are updated at once, and in the subgames."""

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

publish(
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
    CFR_D,
    WHOLE_TRAVERSAL,
    CHANCE_SAMPLING,
    PUBLIC_CHANCE_SAMPLING,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    LP,
)
