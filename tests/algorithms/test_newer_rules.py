"""Instant CFR, asymmetric predictions, smooth regret matching, schedules, volatility and mirror
descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import (
    GAMES,
    LAST_EXACT,
    MARKS,
    ROUNDINGS,
    TOLERANCE,
    Multiplied,
    Perturbed,
    PerturbedHands,
    as_game,
    built,
    difference,
)
from support.infoset_cfr import (
    Asymmetric,
    InfosetCFR,
    Learner,
    Magnetic,
    MovingMagnet,
    Optimistic,
    Paced,
    Predictive,
    Pulled,
    SimpleAsymmetric,
    Smooth,
    SmoothOptimistic,
    Volatile,
    regretful,
)
from support.interpreted import interpreted_kernels
from support.properties import examples
from support.random_games import games
from support.reference import cfr_plus_rule, cfr_rule, dcfr_rule, lcfr_rule, pdcfr_plus_rule
from support.registered import (
    APCFR_PLUS,
    SOGRCFR_PLUS,
    SPCFR_PLUS,
    STEADY_VAD_CFR,
    hs_dcfr,
    hs_pcfr_plus,
    project,
    vad_cfr,
)
from support.tiers import tiered
from tensorcfr import Algorithm, Game, LocalRule, Solver, compile_game, register, solve, team_game
from tensorcfr.algorithms import (
    CFR,
    CFR_D,
    DOMWU,
    EXTERNAL_SAMPLING,
    ICFR,
    ICFR_PLUS,
    IDCFR_PLUS,
    LCFR,
    MMD,
    MMD_MOVING,
    PACED_CFR_PLUS,
    PCFR_PLUS,
    RTCFR_PLUS,
    SAPCFR_PLUS,
    from_dict,
)
from tensorcfr.games import make_game
from tensorcfr.solvers.warm_start import warm_state

HORIZON = 40
"""Less than the iterations of a comparison, so that the schedules end on the way."""


def hs_rule(regrets: list[float], instant: list[float], t: int) -> list[float]:
    """R_t = d(t - 1) R_(t-1) + r_t, alpha and beta as of the last iteration."""
    s = min(t - 1, HORIZON)
    return dcfr_rule(1 + 3 * s / HORIZON, -1 - 2 * s / HORIZON)(regrets, instant, t)


def hs_fading(t: int, most: float = 30) -> float:
    return float((1 - 1 / t) ** (most - 5 * min(t, HORIZON) / HORIZON))


def squared(t: int) -> float:
    return float(t * t)


def tenth(t: int) -> float:
    return float(t**10)


Twin = tuple[Algorithm, dict[str, Any]]
TWINS: dict[str, Twin] = {
    "icfr": (ICFR, {"learner": regretful(cfr_rule, passes_new=True)}),
    "icfr, delayed": (
        ICFR(delay=3),
        {"learner": regretful(cfr_rule, passes_new=True), "weight": lambda t: float(t > 3)},
    ),
    "icfr+": (
        ICFR_PLUS,
        {"learner": regretful(cfr_plus_rule, passes_new=True), "weight": float},
    ),
    "idcfr+": (
        IDCFR_PLUS,
        {"learner": regretful(pdcfr_plus_rule(1.5), passes_new=True), "weight": squared},
    ),
    "instant lcfr": (
        LCFR(passes_up="new"),
        {"learner": regretful(lcfr_rule, passes_new=True), "weight": float},
    ),
    "sapcfr+": (SAPCFR_PLUS, {"learner": SimpleAsymmetric, "weight": squared}),
    "instant sapcfr+": (
        SAPCFR_PLUS(passes_up="new"),
        {"learner": type("New", (SimpleAsymmetric,), {"new": True}), "weight": squared},
    ),
    "paced-cfr+": (PACED_CFR_PLUS, {"learner": Paced, "weight": tenth}),
    "paced-cfr+ with a floor": (
        PACED_CFR_PLUS(floor=0.05),
        {"learner": type("Floored", (Paced,), {"floor": 0.05}), "weight": tenth},
    ),
    "instant paced-cfr+": (
        PACED_CFR_PLUS(passes_up="new"),
        {"learner": type("New", (Paced,), {"new": True}), "weight": tenth},
    ),
    "apcfr+": (APCFR_PLUS, {"learner": Asymmetric, "weight": squared}),
    "spcfr+": (SPCFR_PLUS, {"learner": Smooth, "weight": squared}),
    "sogrcfr+": (SOGRCFR_PLUS, {"learner": SmoothOptimistic, "weight": squared}),
    "vad-cfr": (
        vad_cfr(start=2),
        {"learner": Volatile, "weight": lambda t: squared(t) if t > 2 else 0.0},
    ),
    "vad-cfr-steady": (
        STEADY_VAD_CFR,
        {"learner": type("Steady", (Volatile,), {"unit": np.inf}), "weight": lambda t: float(t**4)},
    ),
    "hs-dcfr(15)": (
        hs_dcfr(HORIZON, 15),
        {"learner": regretful(hs_rule), "fading": lambda t: hs_fading(t, 15)},
    ),
    "hs-dcfr": (hs_dcfr(HORIZON), {"learner": regretful(hs_rule), "fading": hs_fading}),
    "hs-pcfr+": (hs_pcfr_plus(HORIZON), {"learner": Predictive, "fading": hs_fading}),
    "mmd": (MMD, {"learner": Magnetic}),
    "mmd-moving": (MMD_MOVING(stay=4), {"learner": MovingMagnet}),
    "domwu": (DOMWU, {"learner": Optimistic}),
    "rtcfr+": (RTCFR_PLUS(mu=0.05, stay=4), {"learner": Pulled, "weight": float}),
}


def assert_twins(
    solver: Any,
    slow: InfosetCFR,
    marks: Sequence[int],
    rounding: Callable[[int], float] = lambda mark: 0.0,
) -> None:
    """Averages and last iterates agree at every mark, later ones to the rounding of the twin."""
    for mark in marks:
        solver.iterate(mark - solver.iteration)
        while slow.t < mark:
            slow.iterate()
        for found, expected in (
            (solver.average_policy(), slow.average_policy()),
            (solver.current_policy(), slow.current_policy()),
        ):
            worst, where = difference(found, expected)
            assert worst <= TOLERANCE or (
                mark > LAST_EXACT and worst <= ROUNDINGS * rounding(mark)
            ), f"iteration {mark}, infoset {where!r}: off by {worst}"


def rounding_of(name: str, twin: str, alternating: bool) -> Callable[[int], float]:
    """How far a twin gets from itself where exact arithmetic would change nothing: multiplied
    payoffs, for rules that do not mind the size of regrets or whose twin has a unit of it."""
    record, options = TWINS[twin]
    learner = options["learner"]
    unit = next((name for kind, name in UNITS.items() if issubclass(learner, kind)), None)

    def rounding(mark: int) -> float:
        if record.rule.is_scale_dependent and record is not APCFR_PLUS and unit is None:
            return 0.0
        found = []
        for factor in (1.0, 0.7, 1.1, 1.3, 1.9):
            rules = Multiplied(as_game(GAMES[name]()), factor)
            own = {} if unit is None else {unit: factor * getattr(learner, unit)}
            scaled = {"learner": type("Scaled", (learner,), own)}
            slow = InfosetCFR(rules, **options | scaled, alternating=alternating)
            for _ in range(mark):
                slow.iterate()
            found += [slow.current_policy()]
        return max(
            abs(p - q)
            for other in found
            for label, probabilities in other.items()
            for p, q in zip(probabilities, found[0][label], strict=True)
        )

    return rounding


UNITS: dict[type[Learner], str] = {Volatile: "unit", Pulled: "mu"}
"""What learners have that is per unit of payoff."""


GAME = "kuhn, 5 cards, perturbed"
FAST = [(GAME, name, name not in ("mmd", "mmd-moving", "domwu")) for name in TWINS]


@pytest.mark.parametrize(("name", "twin", "alternating"), FAST)
def test_equals_its_twin(name: str, twin: str, alternating: bool, interpreted: None) -> None:
    record, options = TWINS[twin]
    game, tree = built(name)
    solver = Solver(game, record(alternating=alternating))
    assert_twins(solver, InfosetCFR(tree, **options, alternating=alternating), MARKS[:4])


EVERY_PAIR = [
    pytest.param(
        name,
        twin,
        alternating,
        # Every twin comes to three or four games in the full tier, to all of them at night.
        marks=pytest.mark.full if (game + rule) % 4 == 0 else pytest.mark.slow,
    )
    for (game, name), (rule, twin) in product(enumerate(GAMES), enumerate(TWINS))
    for alternating in (True, False)
]


@pytest.mark.parametrize(("name", "twin", "alternating"), EVERY_PAIR)
def test_equals_its_twin_on_every_game(name: str, twin: str, alternating: bool) -> None:
    """Compiled, 50 iterations."""
    record, options = TWINS[twin]
    game, tree = built(name)
    solver = Solver(game, record(alternating=alternating))
    slow = InfosetCFR(tree, **options, alternating=alternating)
    assert_twins(solver, slow, MARKS, rounding_of(name, twin, alternating))


@pytest.mark.parametrize(
    ("twin", "alternating"),
    tiered(
        product([*TWINS][:-1], (True, False)),  # rtcfr+ is refused.
        [("icfr+", True), ("idcfr+", False), ("apcfr+", True), ("mmd", False)],
    ),
)
def test_a_game_in_chunks(twin: str, alternating: bool, interpreted: None) -> None:
    """Strategies made from regrets, and strategies that are kept."""
    record, options = TWINS[twin]
    rules = PerturbedHands(make_game("liars_dice(faces=3)"), 4)  # type: ignore[arg-type]
    game = compile_game(rules, cut=2, symmetry=not record.rule.is_scale_dependent)
    slow = InfosetCFR(as_game(rules), **options, alternating=alternating)
    assert_twins(Solver(game, record(alternating=alternating)), slow, (1, 2, 6))  # type: ignore[arg-type]


@examples(100)
@given(game=games(max_histories=60), twin=st.sampled_from(list(TWINS)), alternating=st.booleans())
def test_random_games(game: Game, twin: str, alternating: bool) -> None:
    record, options = TWINS[twin]
    with interpreted_kernels():
        whole = compile_game(game, symmetry=False)
        slow = InfosetCFR(game, **options, alternating=alternating)
        assert_twins(Solver(whole, record(alternating=alternating)), slow, (1, 2, 3, 6))


class Without(Perturbed):
    """A game in which player 0 may not take the last action of one infoset."""

    def __init__(self, game: Any, infoset: str) -> None:
        super().__init__(game)
        self.infoset = infoset

    def node(self, state: Any) -> Any:
        node = super().node(state)
        if getattr(node, "infoset", None) == self.infoset:
            return node._replace(actions=node.actions[:-1])
        return node


@pytest.mark.parametrize(
    ("name", "actions"), [("icfr+", 3), ("apcfr+", 3), ("spcfr+", 3), ("domwu", 3), ("domwu", 2)]
)
def test_a_lock_at_0_takes_an_action_away(name: str, actions: int, interpreted: None) -> None:
    """Of two actions, too.  With a temperature the entropy of the lock counts."""
    record = TWINS[name][0](alternating=True)
    inner = as_game(make_game("leduc(ranks=3, suits=1)"))
    game = compile_game(Perturbed(inner))
    index = next(i for i, own in enumerate(game.infoset_actions) if len(own) == actions)
    label, last = game.infoset_labels[index], game.infoset_actions[index][-1]
    locked = Solver(game, record, locks={label: {last: 0.0}})
    fewer = Solver(compile_game(Without(inner, label)), record)
    locked.iterate(4)
    fewer.iterate(4)
    found, expected = locked.average_policy(), fewer.average_policy()
    for infoset, probabilities in expected.items():
        for action, probability in probabilities.items():
            assert found[infoset][action] == pytest.approx(probability, abs=TOLERANCE)


def test_the_floor_is_in_the_value_that_goes_up(interpreted: None) -> None:
    """The new strategy is what the next iteration plays, its floor included."""
    game, tree = built(GAME)
    floor = 0.1

    class Floored(regretful(cfr_plus_rule)):  # type: ignore[misc]
        def learn(self, values: list[float], *others: Any) -> float:
            super().learn(values, *others)
            self.strategy = [(1 - floor) * p + floor / len(values) for p in self.strategy]
            return sum(p * v for p, v in zip(self.strategy, values, strict=True))

    slow = InfosetCFR(tree, Floored, weight=float)
    assert_twins(Solver(game, ICFR_PLUS(floor=floor)), slow, MARKS[:4])


class TestFunctionsOfTheIterations:
    """Parameters and the power of the average may be functions: schedules for a horizon."""

    def test_weights_are_ratios_of_the_discounts(self) -> None:
        t = np.arange(1.0, 61.0)
        record = hs_pcfr_plus(HORIZON)
        weights = record.weights(t)
        ratios = [1 / hs_fading(k) for k in range(2, 61)]
        np.testing.assert_allclose(weights[1:] / weights[:-1], ratios, rtol=1e-12)
        delayed = record(delay=5).weights(t)
        np.testing.assert_array_equal(delayed[:5], 0.0)
        np.testing.assert_array_equal(delayed[5:], weights[:-5])

    def test_they_are_saved_by_name(self, registry: None) -> None:
        record = hs_dcfr(HORIZON)
        with pytest.raises(ValueError, match="parameter 'alpha' of hs-dcfr is a function"):
            record.to_dict()
        with pytest.raises(ValueError, match="average_power of cfr is a function"):
            CFR(average_power=np.sqrt).to_dict()
        register(record)
        assert from_dict(record.to_dict()) == record
        assert str(record).startswith("hs-dcfr(alpha=f(t), beta=f(t), average_power=f(t)")


class TestRefusals:
    @pytest.mark.parametrize(
        ("variant", "reason"),
        [
            (ICFR, "the values of new strategies, which it passes up, need the whole tree"),
            (SPCFR_PLUS, "its rule updates all actions of an infoset together"),
            (SAPCFR_PLUS, "its strategy depends on the last instantaneous regret"),
            (RTCFR_PLUS, "it changes the payoffs of all sequences"),
        ],
        ids=lambda value: str(value)[:10],
    )
    def test_what_cannot_be_sampled(self, variant: Algorithm, reason: str) -> None:
        name = variant.name.replace("+", ".")
        with pytest.raises(ValueError, match=f"cannot sample {name}: {reason}"):
            EXTERNAL_SAMPLING(variant=variant)

    def test_parameters_out_of_range(self) -> None:
        with pytest.raises(ValueError, match="mmd: eta must be a number above 0"):
            MMD(eta=0)
        with pytest.raises(ValueError, match=r"sapcfr\+: alpha must be a number >= 0"):
            SAPCFR_PLUS(alpha=-1)
        with pytest.raises(ValueError, match="passes_up must be one of"):
            CFR(passes_up="old")

    def test_what_does_not_know_own_reach(self) -> None:
        with pytest.raises(ValueError, match=r"rtcfr\+ changes payoffs by own reach, which games"):
            Solver(
                compile_game("liars_dice(faces=3)", cut=2),  # type: ignore[arg-type]
                RTCFR_PLUS,
            )
        with pytest.raises(ValueError, match=r"rtcfr\+ changes payoffs, which needs"):
            solve(team_game(compile_game("kuhn(players=3)"), ((0, 1), (2,))), RTCFR_PLUS, iters=1)
        with pytest.raises(ValueError, match="variant must store only regrets"):
            CFR_D(variant=RTCFR_PLUS)

    def test_payoffs_that_cannot_be_compiled(self) -> None:
        def step(regret, instant, parameters):  # type: ignore[no-untyped-def]
            return regret + instant, regret

        rule = LocalRule("odd", step, payoff=lambda g, reach, parameters: (g, reach))
        assert "'odd' must return (payoff), numbers, and returns" in str(rule.problem())

    def test_a_whole_rule_does_not_match_regrets(self) -> None:
        with pytest.raises(ValueError, match="matches_regret must be False"):
            LocalRule("odd", SPCFR_PLUS.rule.step, whole=True, matches_regret=True)

    def test_a_whole_step_that_cannot_be_compiled(self) -> None:
        def step(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
            return mean

        rule = LocalRule("odd", step, whole=True)
        assert "'odd' must return nothing, and leave in mean the values" in str(rule.problem())

        def unknown(regret, instant, value, mean, strategy, memory, parameters):  # type: ignore[no-untyped-def]
            return nothing_of_this_name  # type: ignore[name-defined]  # noqa: F821

        problem = LocalRule("odd", unknown, whole=True).problem()
        assert "'odd' cannot be compiled" in str(problem)

    @pytest.mark.parametrize("record", [SPCFR_PLUS, MMD], ids=str)
    def test_infosets_are_not_merged(self, record: Algorithm) -> None:
        assert not record.merges_infosets
        game = compile_game("liars_dice(faces=3)", cut=2)
        if game.merges_hands:  # type: ignore[attr-defined]
            with pytest.raises(ValueError, match="depends on the scale of regrets"):
                Solver(game, record)  # type: ignore[arg-type]


def test_one_switch_for_all(registry: None, tmp_path: Any) -> None:
    """Any variant may be instant; it is saved, named and compared as such."""
    assert CFR(passes_up="new") == ICFR(passes_up="new").__class__(
        **{**vars(ICFR), "name": "cfr", "formula": CFR.formula, "source": CFR.source}
    )
    assert CFR(passes_up="new") != CFR
    assert CFR(passes_up="new")(passes_up="played") == CFR
    assert "passes_up=new" in str(PCFR_PLUS(passes_up="new"))
    mine = Algorithm("mine", LocalRule("mine", lambda r, i, p: (r + i, r)), "", "")
    register(mine)
    assert from_dict(mine(passes_up="new").to_dict()) == mine(passes_up="new")


@pytest.mark.full
def test_payoffs_by_own_reach_with_threads_and_on_the_way() -> None:
    """The same bits on two threads; and on one, resumed between two references."""
    game, record = compile_game("leduc(ranks=3, suits=1)"), RTCFR_PLUS(mu=0.05, stay=7)
    whole = solve(game, record, iters=40)
    threads = solve(game, record, iters=40, threads=2)
    rest = solve(game, start=solve(game, record, iters=10), iters=30)
    for other in (threads, rest):
        np.testing.assert_array_equal(whole.state.regret, other.state.regret)  # type: ignore[union-attr]
        np.testing.assert_array_equal(whole.state.memory, other.state.memory)  # type: ignore[union-attr]


# ------------------------------------------------------------------------------ published numbers


MEASURED: dict[str, dict[int, str]] = {
    "icfr": {100: "0.0773"},
    "icfr+": {100: "0.0185"},
    "sapcfr+": {100: "0.0129"},
}
"""Exploitability of Leduc, by a NumPy program that is not ours, on the sequence form."""


@pytest.mark.full
@pytest.mark.parametrize("name", MEASURED)
def test_another_program(name: str) -> None:
    curve = solve(compile_game("leduc"), name, iters=100, checkpoints=list(MEASURED[name])).trace
    for point, printed in zip(curve, MEASURED[name].values(), strict=True):
        assert point.exploitability == pytest.approx(float(printed), rel=0, abs=10.0**-4)


AUTHORS: dict[str, dict[int, float]] = {
    "kuhn": {1: 0.5, 2: 0.269245395, 5: 0.110529025, 10: 0.0476249716, 50: 0.00389587752},
    "leduc": {1: 4.10222222, 2: 4.72095242, 5: 2.83541262, 10: 1.26785089, 50: 0.392949920},
}
"""NashConv of the last iterates of RTCFR+, with mu 0.05 and new references after 20 iterations: the
program of Meng et al. (github.com/menglinjian/NeurIPS-2025-RTCFR) with LiteEFG 1.0.0.  Its
perturbation of 1e-10 shows in the ninth digit."""


@pytest.mark.full
@pytest.mark.parametrize("name", AUTHORS)
def test_last_iterates_of_rtcfr_plus_are_those_of_its_authors_program(name: str) -> None:
    solver = Solver(compile_game(name), RTCFR_PLUS(mu=0.05, stay=20))
    for mark, printed in AUTHORS[name].items():
        solver.iterate(mark - solver.iteration)
        assert solver.evaluate_current().nash_conv == pytest.approx(printed, rel=1e-8)


# ------------------------------------------------------------------- quantal response equilibrium


GAMBIT: dict[str, dict[str, float]] = {
    "J": {"pass": 0.75364232},
    "Q": {"pass": 0.70309809},
    "K": {"pass": 0.47546799},
    "Jpb": {"pass": 0.64695966 / 0.75364232},
    "Qpb": {"pass": 0.25609184 / 0.70309809},
    "Kpb": {"pass": 0.01290797 / 0.47546799},
    "Jp": {"pass": 0.65005434},
    "Jb": {"pass": 0.79722767},
    "Qp": {"pass": 0.63415944},
    "Qb": {"pass": 0.41154828},
    "Kp": {"pass": 0.28438486},
    "Kb": {"pass": 0.0620185},
}
"""Logit equilibrium of Kuhn's reduced normal form, temperature 1/10, by Gambit: the realization
plans in ``open_spiel/python/algorithms/mmd_dilated_test.py``."""


def test_mirror_descent_ends_at_gambit_s_quantal_response_equilibrium(interpreted: None) -> None:
    game = compile_game("kuhn")
    solution = solve(game, MMD(alpha=0.1, eta=0.9), iters=400)
    assert "last iterate converges linearly to the quantal response" in solution.guarantee
    for label, probabilities in GAMBIT.items():
        assert solution.last_policy[label]["pass"] == pytest.approx(probabilities["pass"], rel=1e-6)


@pytest.mark.parametrize(
    "point",
    [[-1 / 3, 0.0, 1 / 3], [-1 / 3, -1 / 3, 1 / 3, 0.0], [-1 / 6, 11 / 24, 0.20833333333333331]],
)
def test_the_nearest_point_is_found_where_an_entry_is_0_but_for_rounding(
    point: list[float],
) -> None:
    """On the first and the last the projection went on for ever."""
    column = np.array([point]).T
    project(column, 0)
    nearest = column[:, 0].tolist()
    # The nearest point of the simplex moves the entries that stay positive alike.
    move = max(b - a for a, b in zip(point, nearest, strict=True))
    assert nearest == pytest.approx([max(a + move, 0.0) for a in point], abs=1e-15)
    assert sum(nearest) == pytest.approx(1.0, abs=1e-15)


# ------------------------------------------------------------------------------------------- a pace


def _growing(agreement, size, parameters):  # type: ignore[no-untyped-def]
    return 2.0**16


def _remembering(regret, instant, mean, parameters):  # type: ignore[no-untyped-def]
    regret = max(regret + instant, 0.0)
    return regret, regret + instant, instant


def test_regrets_stay_finite_where_the_pace_is_always_above_1(interpreted: None) -> None:
    rule = LocalRule("growing", _remembering, memory=("last",), pace=_growing)
    record = Algorithm("growing", rule, formula="R <- [65536 R + r]+", source="this test")
    solver = Solver(compile_game("kuhn"), record)
    solver.iterate(200)
    assert np.isfinite(solver.state.regret).all()
    assert np.isfinite(solver.state.strategy).all()


@pytest.mark.parametrize("options", [{"memory": ()}, {"exponential": True}, {"whole": True}])
def test_who_has_no_pace(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"paced: a pace needs a rule that stores a mean of"):
        LocalRule("paced", _remembering, pace=_growing, **{"memory": ("last",)} | options)


def test_a_state_that_lacks_what_the_rule_keeps() -> None:
    game = compile_game("kuhn")
    state = warm_state(game, "cfr+", solve(game, iters=3))
    with pytest.raises(ValueError, match=r"array 'memory' is missing, which .* has"):
        Solver(game, PACED_CFR_PLUS, state=state)
