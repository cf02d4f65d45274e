"""What a record promises: a theorem with its paper, the reason why there is none, or what was seen.

The theorems are those of the papers that the sentences name; the rules are held to the properties
by which their proofs go.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from scripts import guarantees
from scripts._pages import page_with
from support.registered import hs_dcfr
from tensorcfr import ALGORITHMS, Algorithm, Solver, compile_game, solve
from tensorcfr.algorithms import (
    CFR,
    CFR_D,
    CFR_PLUS,
    CHANCE_SAMPLING,
    DCFR,
    DCFR_PLUS,
    DOMWU,
    EXTERNAL_SAMPLING,
    HEDGE,
    ICFR,
    LCFR,
    MMD,
    MMD_MOVING,
    PACED_CFR_PLUS,
    PCFR_PLUS,
    PDCFR_PLUS,
    RTCFR_PLUS,
    SAPCFR_PLUS,
    WHOLE_TRAVERSAL,
    Record,
)
from tensorcfr.algorithms.theorems import BOUNDS, RegretBound, average_converges
from tensorcfr.kernels.local_rule import LocalRule

NASH = "the average strategy converges to a Nash equilibrium."
AT_ONCE = {"alternating": False}


def said(record: Record, zero_sum: bool = True) -> str:
    return record.guarantee(zero_sum=zero_sum)


PROVEN: list[tuple[Record, str]] = [
    (CFR, "Zinkevich et al. 2007; for alternating updates Burch et al. 2019"),
    (CFR(delay=10), "Zinkevich et al. 2007; for alternating updates Burch et al. 2019"),
    (CFR(alternating=False), "Zinkevich et al. 2007"),
    (CFR_PLUS(average_power=10), "rising weights: Brown, Sandholm 2019; for alternating updates"),
    (LCFR, "Brown, Sandholm 2019; for alternating updates Burch et al. 2019"),
    (DCFR(average_power=4), "Brown, Sandholm 2019; for alternating updates Burch et al. 2019"),
    (DCFR_PLUS, "Xu et al. 2024; for alternating updates Burch et al. 2019"),
    (PCFR_PLUS(alternating=False), "Farina et al. 2021; rising weights: Brown, Sandholm 2019"),
    (SAPCFR_PLUS(alpha=1, average_power=7, **AT_ONCE), "Farina et al. 2021, Meng et al. 2026"),
    (PDCFR_PLUS(alternating=False), "Xu et al. 2024"),
    (HEDGE(eta=50, alternating=False), "Freund, Schapire 1999; Brown et al. 2017"),
    (WHOLE_TRAVERSAL, "Zinkevich et al. 2007; for alternating updates Burch et al. 2019"),
    (CHANCE_SAMPLING(alternating=False), "Lanctot et al. 2009; Farina et al. 2020"),
]


@pytest.mark.parametrize(("record", "papers"), PROVEN, ids=lambda value: str(value)[:60])
def test_a_theorem_comes_with_its_paper(record: Record, papers: str) -> None:
    text = said(record)
    assert text.startswith("Theorem")
    assert papers in text
    assert text.endswith(NASH)


UNPROVEN: list[tuple[Record, str]] = [
    (CFR(restart_base=2), "begins anew"),
    (CFR_PLUS(restart_base=2), "begins anew"),
    (DCFR(restart_base=4), "begins anew"),
    (CFR(average_power=3), "is for average_power=0; rising weights"),
    (HEDGE(average_power=3, alternating=False), "is for average_power=0"),
    (LCFR(average_power=2), "is for average_power=1"),
    (DCFR(average_power=1), "is for average_power=2 and more"),
    (PDCFR_PLUS(average_power=0, alternating=False), "is for average_power=5 and more"),
    (CFR(average_power=lambda t: t), "is for average_power=0"),
    (CFR_PLUS(average_growth=1.01), "grow exponentially"),
    (DCFR(beta=1), "is for alpha=1.5, beta=0"),
    (DCFR(alpha_offset=2), "is for alpha=1.5, beta=0"),
    (hs_dcfr(30), "is for alpha=1.5, beta=0"),
    (HEDGE(eta=lambda t: t), "parameters that do not change"),
    (CFR_PLUS(passes_up="new"), "nobody has played"),
    (ICFR, "nobody has played"),
    (CFR(floor=0.1), "have a floor"),
    (CFR(floor=0.1, floor_fall=1), "have a floor"),
    (CFR(floor=lambda t: 1 / t), "have a floor"),
    (PACED_CFR_PLUS, "for alternating updates"),
    (PACED_CFR_PLUS(alternating=False, average_power=5), "is for average_power=8 and more"),
    (PCFR_PLUS, "for alternating updates"),
    (SAPCFR_PLUS, "for alternating updates"),
    (HEDGE, "for alternating updates"),
    (EXTERNAL_SAMPLING, "for alternating updates"),
    (CHANCE_SAMPLING(draws="golden"), "depend on each other"),
    (CHANCE_SAMPLING(averaging="optimistic", alternating=False), "approximations"),
    (EXTERNAL_SAMPLING(average_power=2), "is for average_power=0"),
    (MMD_MOVING, "magnet moves"),
    (RTCFR_PLUS, "perturbed strategies"),
    (CFR_D(inner=CFR_PLUS(floor=0.1)), "about this algorithm"),
    (CFR_D(variant=CFR_PLUS(restart_base=2)), "about this algorithm"),
]


@pytest.mark.parametrize(("record", "reason"), UNPROVEN, ids=lambda value: str(value)[:60])
def test_where_there_is_no_theorem_the_reason_is_told(record: Record, reason: str) -> None:
    text = said(record)
    assert text.startswith("No theorem")
    assert reason in text.partition("Observed")[0]


def test_what_was_observed_is_told_of_what_was_observed_alone() -> None:
    for record in (SAPCFR_PLUS, SAPCFR_PLUS(average_power=7), ICFR, HEDGE, EXTERNAL_SAMPLING):
        assert "  Observed: the exploitability of the average strategy fell" in said(record)
    for record in (
        SAPCFR_PLUS(alpha=1),
        SAPCFR_PLUS(restart_base=2),
        ICFR(average_power=2),
        ICFR(alternating=False),
        DCFR(beta=1),
        CFR(average_power=3),
        CFR(restart_base=2),
    ):
        assert "Observed" not in said(record)
    assert "Observed" not in said(CFR)  # A theorem says more.


def test_the_same_rule_and_options_have_the_same_theorem_by_any_name() -> None:
    assert said(CFR(passes_up="new")) == said(ICFR).partition("  Observed")[0]
    mine = Algorithm("mine", CFR_PLUS.rule, "", "", average_power=1.0)
    assert said(mine) == said(CFR_PLUS)
    rule = LocalRule("mine", lambda regret, instant, parameters: (regret, regret))
    assert said(Algorithm("mine", rule, "", "")).startswith("No theorem about this algorithm")


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("zero_sum", [True, False])
def test_every_sentence_is_a_theorem_or_an_observation(name: str, zero_sum: bool) -> None:
    text = said(ALGORITHMS[name], zero_sum)
    for part in text.replace("  Observed", "\nObserved").split("\n"):
        assert part.startswith(("Theorem", "No theorem", "Observed"))
    if text.startswith("Theorem"):
        paper = text.partition("(")[2].partition(")")[0]
        assert any(year in paper for year in map(str, range(1970, 2030)))


def test_other_games_have_joint_play() -> None:
    for record in (CFR, CFR_PLUS, SAPCFR_PLUS):
        assert "not for alternating updates as here" in said(record, False)
        assert "alternate" not in said(record(alternating=False), False)
        assert "need not come near any equilibrium" in said(record, False)
    assert said(CFR(restart_base=2), False).startswith("No theorem")
    assert said(MMD, False).startswith("No theorem")


@pytest.mark.full
def test_a_solution_says_what_holds_in_its_game(interpreted: None) -> None:
    kuhn, three = compile_game("kuhn"), compile_game("kuhn(players=3)")
    assert solve(kuhn, "cfr+", iters=1).guarantee.endswith(NASH)
    guarantee = solve(three, "cfr+", iters=1).guarantee
    assert "coarse correlated equilibria" in guarantee
    assert guarantee.endswith("a value is not a promise to its player.")
    assert "no theorem" in solve(three, "icfr", iters=1).guarantee.lower()
    locked = solve(kuhn, "cfr+", iters=1, locks={"Q": {"bet": 1.0}}).guarantee
    assert "Equilibria are those of the game with the locks" in locked
    assert "exact to rounding" in solve(kuhn, "lp").guarantee


# --------------------------------------------------------------------- what the proofs go by


UNPACED = [rule for rule in BOUNDS if not rule.paced]
"""Rules whose step alone updates a regret; ``test_paced_bounds.py`` has the others."""


def play(rule: LocalRule, bound: RegretBound, rounds: int, seed: int) -> Any:
    """One decision against random values: regrets, and values before and after each update."""
    rng, step = np.random.default_rng(seed), getattr(rule.step, "py_func", rule.step)
    numbers = dict(bound.numbers or {}) | dict.fromkeys(
        set(rule.parameter_names) - set(bound.numbers or {}), 1.0
    )
    regret, strategy = np.zeros(3), np.full(3, 1 / 3)
    for t in range(1, rounds + 1):
        values = rng.choice([-1.0, 0.0, 1.0], 3) * rng.random() ** 3
        instant = values - strategy @ values
        parameters = (
            tuple(c[0] for c in rule.at(np.array([float(t)]), **numbers)) if rule.at else ()
        )
        pairs = [step(r, i, parameters) for r, i in zip(regret, instant, strict=True)]
        regret = np.array([pair[0] for pair in pairs])
        liked = np.array([pair[1] for pair in pairs])
        before = strategy
        strategy = np.exp(liked - liked.max()) if rule.exponential else np.maximum(liked, 0.0)
        total = strategy.sum()
        strategy = strategy / total if total > 0 else np.full(3, 1 / 3)
        yield regret, before @ values, strategy @ values


@pytest.mark.parametrize("rule", UNPACED, ids=lambda rule: rule.name)
def test_an_update_gains_where_the_theorem_for_players_in_turn_asks_it(rule: LocalRule) -> None:
    bound = BOUNDS[rule]
    lost = max(
        before - after for seed in range(30) for _, before, after in play(rule, bound, 60, seed)
    )
    if bound.never_loses:
        assert lost < 1e-12
    else:
        assert lost > 1e-3


@pytest.mark.parametrize("rule", UNPACED, ids=lambda rule: rule.name)
def test_regrets_stay_up_where_weights_may_rise(rule: LocalRule) -> None:
    bound = BOUNDS[rule]
    lowest = min(r.min() for seed in range(30) for r, _, _ in play(rule, bound, 300, seed))
    # Instantaneous regrets are at least -2; DCFR halves those below 0 in every iteration.
    assert (lowest >= -4.0) == (bound.powers[1] > bound.powers[0])


def test_mirror_descent_contracts_by_the_step_of_the_theorem() -> None:
    """The divergence from the equilibrium shrinks by 1 + eta alpha in every iteration."""
    game = compile_game("kuhn(cards=4)")
    alpha, half = 0.5, 2.0
    assert np.ptp(game.utilities[:, 0]) / 2 == half

    def divergence(end: Any, now: Any) -> float:
        """Kullback and Leibler's, of mixtures of plans: that of each infoset by own reach."""
        total = 0.0
        for label in game.infoset_labels:
            opening = label[:1] if len(label) == 3 else None  # "Kpb" is after an own pass.
            reach = end[opening]["pass"] if opening else 1.0
            for action, p in end[label].items():
                total += reach * p * np.log(p / now[label][action])
        return total

    eta = alpha / half**2
    solver = Solver(game, MMD(alpha=alpha, eta=eta))
    path = []
    for _ in range(30):
        path.append(solver.current_policy().to_dict())
        solver.iterate()
    solver.iterate(1000)
    end = solver.current_policy().to_dict()
    far = [divergence(end, now) for now in path]
    assert far[0] > 1e-3
    for before, after in pairwise(far):
        assert after <= before / (1 + eta * alpha) + 1e-13


@pytest.mark.full
def test_mirror_descent_goes_round_beyond_it() -> None:
    game = compile_game("kuhn(cards=13)")
    entry = 2 / (13 * 12)
    assert float(guarantees.still_moves(game, MMD(alpha=0.01, eta=0.01 / entry**2), 3000)) > 0.1


def test_what_mirror_descent_promises() -> None:
    assert "eta <= alpha / L**2" in said(MMD)
    assert "Beck, Teboulle 2003" in said(MMD(alpha=0))
    assert "Lee et al. 2021" in said(DOMWU)
    assert "Liu et al. 2023" in said(DOMWU(alpha=0.1))
    for record in (
        MMD(alternating=True),
        MMD(floor=0.1),
        MMD(alpha=lambda t: 1 / t),
        DOMWU(average_power=2),
        RTCFR_PLUS(floor=0.1),
    ):
        assert said(record).startswith("No theorem about this algorithm")


def test_averages_that_begin_anew_go_back() -> None:
    trace = solve(
        compile_game("kuhn"), CFR(restart_base=2), iters=16_384, checkpoints=[16_383, 16_384]
    ).trace
    assert trace[1].exploitability > 10 * trace[0].exploitability
    assert not average_converges(CFR(restart_base=2))


def test_the_page_has_the_sentences() -> None:
    page = guarantees.PAGE.read_text(encoding="utf-8")
    assert page == page_with(page, "guarantees", {"promises": guarantees.promises()}), (
        "run: python -m scripts.guarantees promises"
    )
