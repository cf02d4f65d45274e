"""Records of the published variants, with their formulas and sources."""

from __future__ import annotations

from . import local_rules as rules
from .decomposition import Decomposition
from .records import Algorithm, LinearProgram
from .registry import Record, publish
from .sampling_records import Sampling

BROWN_SANDHOLM = (
    "N. Brown, T. Sandholm, 'Solving imperfect-information games via discounted regret "
    "minimization', AAAI 2019"
)
XU = (
    "H. Xu, K. Li, B. Liu, H. Fu, Q. Fu, J. Xing, J. Cheng, 'Minimizing weighted counterfactual "
    "regret with optimistic online mirror descent', IJCAI 2024"
)
LI = (
    "H. Li, K. Hu, Y. Qi, L. Song, 'Efficient CFR for imperfect information games with instant "
    "updates', Real-World Sequential Decision Making workshop, ICML 2019"
)
MENG = (
    "L. Meng, T. Yang, Y. Zhang, Z. Ge, Y. Gao, 'Faster game solving via asymmetry of step sizes', "
    "AAAI 2026 (arXiv 2503.12770)"
)
SOKOTA = (
    "S. Sokota, R. D'Orazio, J. Z. Kolter, N. Loizou, M. Lanctot, I. Mitliagkas, N. Brown, "
    "C. Kroer, 'A unified approach to reinforcement learning, quantal response equilibria, and "
    "two-player zero-sum games', ICLR 2023"
)
CFR = Algorithm(
    "cfr",
    rules.REGRET_MATCHING,
    formula="R <- R + r; strategy from [R]+; uniform average",
    source="M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games "
    "with incomplete information', NIPS 2007",
)
"""Vanilla CFR.  The paper updates all players at once; here, as in OpenSpiel, they alternate by
default."""

CFR_PLUS = Algorithm(
    "cfr+",
    rules.REGRET_MATCHING_PLUS,
    formula="R <- [R + r]+; strategy from R; average weighted by t",
    source="O. Tammelin, 'Solving large imperfect information games using CFR+', "
    "arXiv 1407.5042, 2014",
    average_power=1.0,
)
"""CFR+ with linear averaging from iteration 1; the paper's delay ``d`` is ``delay=d``."""

LCFR = Algorithm(
    "lcfr",
    rules.LINEAR,
    formula="R <- R + t r; strategy from [R]+; average weighted by t",
    source=BROWN_SANDHOLM,
    average_power=1.0,
)
"""Linear CFR."""

DCFR = Algorithm(
    "dcfr",
    rules.DISCOUNTED,
    formula="R <- R (t-1)^a / ((t-1)^a + 1) + r where R > 0, with b for a elsewhere; "
    "strategy from [R]+; average weighted by t^2",
    source=BROWN_SANDHOLM,
    parameters={"alpha": 1.5, "beta": 0.0},
    average_power=2.0,
)
"""Discounted CFR; ``a`` is ``alpha``, ``b`` is ``beta``.  ``alpha_offset`` and ``beta_offset``
replace the two 1s in the denominators: larger offsets discount early regrets more."""

DCFR_PLUS = Algorithm(
    "dcfr+",
    rules.DISCOUNTED_PLUS,
    formula="R <- [R (t-1)^a / ((t-1)^a + 1.5) + r]+; strategy from R; average weighted by t^4",
    source=XU,
    parameters={"alpha": 1.5},
    average_power=4.0,
)
"""DCFR+; ``a`` is ``alpha``."""

PCFR_PLUS = Algorithm(
    "pcfr+",
    rules.PREDICTIVE_PLUS,
    formula="R <- [R + r]+; strategy from [R + r]+, r as its own prediction; "
    "average weighted by t^2",
    source="G. Farina, C. Kroer, T. Sandholm, 'Faster game solving via predictive Blackwell "
    "approachability', AAAI 2021; with the prediction of each infoset on its own, as in Xu et "
    "al. 2024",
    average_power=2.0,
)
"""Predictive CFR+ with local predictions: every infoset uses its last instantaneous regrets as the
prediction."""

PDCFR_PLUS = Algorithm(
    "pdcfr+",
    rules.PREDICTIVE_DISCOUNTED_PLUS,
    formula="R <- [R (t-1)^a / ((t-1)^a + 1) + r]+; strategy from [R t^a / (t^a + 1) + r]+; "
    "average weighted by t^5",
    source=XU,
    parameters={"alpha": 2.3},
    average_power=5.0,
)
"""Predictive Discounted CFR+; ``a`` is ``alpha``."""

ICFR = Algorithm(
    "icfr",
    rules.REGRET_MATCHING,
    formula="CFR, but v(I) for the decisions before I is the value of the new strategy",
    source=LI,
    passes_up="new",
)
"""Instant CFR.  ``passes_up="new"`` turns any variant into an instant one.  The paper's average
skips the first half of the iterations: ``delay=T // 2``."""

ICFR_PLUS = Algorithm(
    "icfr+",
    rules.REGRET_MATCHING_PLUS,
    formula="CFR+, but v(I) for the decisions before I is the value of the new strategy",
    source=LI,
    average_power=1.0,
    passes_up="new",
)
"""Instant CFR+."""

IDCFR_PLUS = Algorithm(
    "idcfr+",
    rules.DCFR_DISCOUNTED_PLUS,
    formula="R <- [R (t-1)^a / ((t-1)^a + 1) + r]+; strategy from R; average weighted by t^2; v(I) "
    "for the decisions before I is the value of the new strategy",
    source=LI,
    parameters={"alpha": 1.5},
    average_power=2.0,
    passes_up="new",
)
"""Instant DCFR+: the discounts of DCFR with regrets floored at 0; ``a`` is ``alpha``.  The paper
tried several parameters without naming them; the defaults are DCFR's."""

SAPCFR_PLUS = Algorithm(
    "sapcfr+",
    rules.ASYMMETRIC_PREDICTIVE_PLUS,
    formula="R <- [R + r]+; strategy from [R + r / (1 + a)]+; average weighted by t^2",
    source=MENG,
    parameters={"alpha": 2.0},
    average_power=2.0,
)
"""Simple asymmetric predictive CFR+: the prediction is scaled to a third; ``a`` is ``alpha``."""

PACED_CFR_PLUS = Algorithm(
    "paced-cfr+",
    rules.PACED_PLUS,
    formula="R <- [p R + r]+; m <- m + b (r - m); strategy from [R + m]+; p = 1 + s (c - cos), cos "
    "the cosine between r and m before, over the actions that are played or would have gained; s "
    "falls as (1 + t/n)^(-1/2) where cos < c, else as (1 + t/n)^-1; p is at least (1 - 1/t)^8, and "
    "large enough that the sum of p R is min(t/10, t^(1/2)) times the length of r; average "
    "weighted by t^10",
    source="this library (docs/newer-variants.md)",
    average_power=10.0,
)
"""Predictive CFR+ in which every infoset adapts its step length.  If the direction of its regrets
changes, cumulative regrets grow and steps get shorter; if the direction persists, the reverse.
``b`` is ``recent``, 0.6 by default; ``c`` is ``enough``, 0.4; ``s`` starts as ``speed``, 0.05, and
falls from about iteration ``settled`` (``n``), 1,000, on.  Cumulative regrets fall no faster than
the averaging weights grow, so they bound the regrets of the average."""

MMD = Algorithm(
    "mmd",
    rules.MAGNETIC,
    formula="strategy proportional to (strategy exp(e q))^(1 / (1 + e a)); v(I) for the decisions "
    "before I is (a + 1/e) ln of the sum of these numbers; uniform average",
    source=SOKOTA,
    parameters={"alpha": 0.05, "eta": 0.5},
    alternating=False,
)
"""Magnetic mirror descent on the sequence form with dilated entropy, whose magnet is the uniform
mixture of reduced plans.  The *last* iterate (``Solution.last_policy``) converges to the quantal
response equilibrium (logit, of the reduced normal form) with ``lambda = 1 / a``.  ``a`` is
``alpha``, ``e`` is ``eta``, per unit of payoff.  The theorem needs ``e <= a / L**2``, where ``L``
is half the range of a player's payoffs; the largest entry of the payoff matrix does not determine
``L``.  The default satisfies the bound if payoffs range over 0.63 or less, and was seen to converge
in games with larger ranges (``docs/guarantees.md``).  With ``alpha=0`` it is mirror descent.  The
distance of its average from an equilibrium is then limited by ``eta``."""

MMD_MOVING = Algorithm(
    "mmd-moving",
    rules.MOVING_MAGNET,
    formula=(
        "mmd with every probability, and v(I), multiplied by magnet^(e a / (1 + e a)) "
        "before normalising; every n iterations the current strategy becomes the magnet; "
        "uniform average"
    ),
    source=SOKOTA + ", with a magnet that moves in steps, as the policies that R-NaD regularizes "
    "towards do (J. Perolat et al., 'From Poincaré recurrence to convergence in imperfect "
    "information games: finding equilibrium via regularization', ICML 2021)",
    parameters={"alpha": 0.05, "eta": 0.5, "stay": 100},
    alternating=False,
)
"""Magnetic mirror descent with a moving magnet: the current strategy becomes the magnet every
``stay`` (``n``) iterations.  ``mmd`` converges to a quantal response equilibrium; this variant is
meant to approach a Nash equilibrium at the same temperature ``alpha``."""

DOMWU = Algorithm(
    "domwu",
    rules.OPTIMISTIC,
    formula="mmd with a = 0, where the payoffs g of the sequences count as 2 g - (g of the last "
    "iteration); uniform average",
    source="C.-W. Lee, C. Kroer, H. Luo, 'Last-iterate convergence in extensive-form games', "
    "NeurIPS 2021; with a > 0: M. Liu, A. Ozdaglar, T. Yu, K. Zhang, 'The power of regularization "
    "in solving extensive-form games', ICLR 2023",
    parameters={"alpha": 0.0, "eta": 0.5},
    alternating=False,
)
"""Dilated optimistic multiplicative weights: optimistic mirror descent on the sequence form with
dilated entropy.  All weights of the entropies are 1.  ``a`` is ``alpha``, ``e`` is ``eta``, per
unit of payoff."""

RTCFR_PLUS = Algorithm(
    "rtcfr+",
    rules.REWARD_TRANSFORMED,
    formula="CFR+ on payoffs g - m (x - y) of the sequences, where x is own reach and y that of "
    "the reference, the strategy that is played in iterations 1, n, 2 n, ...; average weighted by "
    "t",
    source="L. Meng, T. Yang, Y. Zhang, Z. Ge, S. Yang, T. Ding, W. Li, B. An, Y. Gao, 'Efficient "
    "last-iterate convergence in solving extensive-form games', NeurIPS 2025, and the authors' "
    "code",
    parameters={"mu": 1e-3, "stay": 100},
    average_power=1.0,
)
"""Reward transformation CFR+, designed for its *last* iterate.  ``m`` is ``mu``, per unit of
payoff, ``n`` is ``stay``.  The paper also perturbs strategies: every action has a probability of at
least 1e-10, and each new reference halves this bound.  ``floor`` does so with a constant bound."""

HEDGE = Algorithm(
    "hedge",
    rules.EXPONENTIAL,
    formula="R <- R + r; strategy proportional to exp(eta R / sqrt(t)); uniform average",
    source="Y. Freund, R. Schapire, 'Adaptive game playing using multiplicative weights', Games "
    "and Economic Behavior 29, 1999; in CFR: N. Brown, C. Kroer, T. Sandholm, 'Dynamic "
    "thresholding and pruning for regret minimization', AAAI 2017",
    parameters={"eta": 1.0},
)
"""Exponential weights in place of regret matching.  The theory's ``eta`` is ``sqrt(8 ln |A|)``
over the range of the counterfactual values.  This range is often much smaller than the range of the
payoffs, so larger numbers for ``eta`` are worth trying.  ``eta`` is per unit of payoff.  If payoffs
exceed 1e12, or all are below 1e-12, it is per ``CompiledGame.unit``, about the largest payoff."""

CFR_D = Decomposition(
    "cfr-d",
    CFR_PLUS(alternating=False),
    CFR_PLUS,
    formula="CFR on the trunk; in each iteration every subgame is solved from the trunk's ranges "
    "and forgotten; below the trunk, play resolves from the average values",
    source="N. Burch, M. Johanson, M. Bowling, 'Solving imperfect information games using "
    "decomposition', AAAI 2014",
)
"""CFR-D for two-player games of private hands.  The paper runs CFR.  Here CFR+ is the default in
the subgames and on the trunk, where both players are updated at once."""

LANCTOT = (
    "M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, 'Monte Carlo sampling for regret "
    "minimization in extensive games', NIPS 2009"
)

WHOLE_TRAVERSAL = Sampling(
    "whole_traversal",
    "whole",
    CFR,
    formula=(
        "CFR by traversing histories; subtrees that neither the player nor the others reach "
        "are skipped"
    ),
    source="M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games "
    "with incomplete information', NIPS 2007; the cuts: M. Lanctot, 'Monte Carlo sampling and "
    "regret minimization for equilibrium computation and decision-making in large extensive form "
    "games', PhD thesis, University of Alberta, 2013",
    averaging="stochastic",
)
"""Traversal of all histories, which computes the same sums as ``variant``.  It is slower, but skips
histories without reach and counts visited nodes."""

CHANCE_SAMPLING = Sampling(
    "chance_sampling",
    "chance",
    CFR,
    formula="chance is sampled, every action is tried; R <- R + r, r estimated from that deal",
    source="M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, 'Regret minimization in games "
    "with incomplete information', NIPS 2007",
    averaging="stochastic",
)
"""Chance-sampled CFR.  Each player's traversal draws a new deal, because the strategies already
depend on earlier deals.  With ``alternating=False`` all players learn from the same deal."""

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
"""Public chance sampling, for games of private hands and a public tree.  Each iteration runs CFR on
the part of the public tree that agrees with the sampled outcomes, for all hands at once.  Without
public chance it equals CFR."""

EXTERNAL_SAMPLING = Sampling(
    "external_sampling",
    "external",
    CFR,
    formula="chance and the opponents are sampled, every own action is tried; R <- R + r",
    source=LANCTOT,
    averaging="simple",
)
"""External-sampling MCCFR."""

ROBUST_SAMPLING = Sampling(
    "robust_sampling",
    "robust",
    CFR,
    formula=(
        "chance and the opponents are sampled, k own actions are tried, all subsets equally "
        "likely; R <- R + r"
    ),
    source="H. Li, K. Hu, S. Zhang, Y. Qi, L. Song, 'Double neural counterfactual regret "
    "minimization', ICLR 2020",
    averaging="simple",
)
"""Robust sampling; ``k`` is ``tries``.  If ``tries`` is at least the number of actions, it equals
external sampling."""

AVERAGE_STRATEGY_SAMPLING = Sampling(
    "average_strategy_sampling",
    "average",
    CFR,
    formula="chance and the opponents are sampled; an own action is tried with probability "
    "(b + t s) / (b + sum of s), from e to 1, where s is the cumulative strategy; R <- R + r",
    source="R. Gibson, N. Burch, M. Lanctot, D. Szafron, 'Efficient Monte Carlo counterfactual "
    "regret minimization in games with many player actions', NIPS 2012",
    averaging="simple",
    epsilon=0.05,
)
"""Average strategy sampling; ``e`` is ``epsilon``, ``t`` is ``threshold``, ``b`` is ``bonus``, by
default 0.05, 1,000 and 1,000,000, for solves of millions of iterations."""

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
"""Outcome-sampling MCCFR with exploration probability 0.6.  For baselines, set ``baseline=0.5``."""

LP = LinearProgram()
"""Exact sequence-form linear program; needs the extra ``tensorcfr[lp]``."""

publish(*(record for record in list(vars().values()) if isinstance(record, Record)))

DCFR_POSTFLOP = DCFR(average_power=3, restart_base=4)
"""Discounted CFR as in the poker solver b-inary/postflop-solver: the average is weighted by ``t^3``
and restarted at iterations 4, 16, 64, ..."""
