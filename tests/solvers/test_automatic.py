"""``algorithm="auto"``: a choice by the game and the target, and nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tensorcfr import (
    Algorithm,
    CompiledGame,
    Decision,
    Game,
    Solver,
    Terminal,
    compile_game,
    register,
    solve,
)
from tensorcfr.algorithms import CFR_PLUS, DCFR, LP, PACED_CFR_PLUS, find_algorithm
from tensorcfr.payoff import count_entries
from tensorcfr.solvers import Status
from tensorcfr.solvers.choose import EXACT_ENTRIES, EXACT_TARGET, SMALL, choose
from tensorcfr.solvers.request import SolveRequest

KUHN = compile_game("kuhn")
DECK = "leduc(ranks=13, suits=4)"
DEFAULT = PACED_CFR_PLUS
"""Chosen and judged in docs/results/variants.md."""


@cache
def compiled(game: str) -> CompiledGame:
    return compile_game(game)


@pytest.mark.parametrize(
    ("game", "target", "chosen"),
    [
        ("kuhn", None, LP),
        ("kuhn", 1e-8, LP),
        ("kuhn", 1e-6, DEFAULT),
        ("kuhn", 0, LP),
        ("leduc", None, LP),
        ("leduc", 1e-3, DEFAULT),
        ("liars_dice", None, LP),
        ("liars_dice", 1e-4, DCFR),
        ("liars_dice", 1.01e-5, DCFR),
        ("liars_dice", 0.99e-5, DEFAULT),
        pytest.param(DECK, None, DCFR, marks=pytest.mark.full),
        pytest.param(DECK, 1e-12, DEFAULT, marks=pytest.mark.full),
        ("kuhn(players=3)", None, DEFAULT),
        ("kuhn(players=3)", 1e-9, DEFAULT),
        ("prisoners_dilemma", None, DEFAULT),
    ],
)
def test_the_choice(game: str, target: float | None, chosen: Any) -> None:
    assert choose(compiled(game), target=target) == chosen


class Tenths(Game):
    """Rock, paper, scissors for shares of ten: a constant sum that is not 0."""

    def node(self, played: str) -> Decision | Terminal:
        if len(played) < 2:
            return Decision(len(played), f"P{len(played)}", tuple("rps"))
        won = (0, 1, -1)["rps".index(played[0]) - "rps".index(played[1])]
        won *= 2 if played[0] == "r" else 1
        return Terminal((5.0 + won, 5.0 - won))

    def root(self) -> str:
        return ""

    def next(self, played: str, action: str) -> str:
        return played + action


def test_a_constant_sum_is_as_good_as_none() -> None:
    game = compile_game(Tenths())
    assert not game.zero_sum
    assert choose(game) == LP
    assert choose(game, target=1e-3) == DEFAULT
    assert solve(game, "auto").nash_conv < 1e-9
    assert solve(game, "auto", target=1e-3).exploitability <= 1e-3


def test_what_is_chosen_in_16_bits() -> None:
    for options in ({"iters": 1}, {"target": 1e-3}):
        request = SolveRequest(game=KUHN, algorithm="auto", precision="int16", **options)  # type: ignore[arg-type]
        assert request.record == DCFR
    assert choose(compiled("prisoners_dilemma"), precision="int16") == CFR_PLUS


@pytest.mark.full
def test_a_solve_in_16_bits() -> None:
    packed = compile_game("kuhn", cut=1)
    assert solve(packed, "auto", iters=1, precision="int16").algorithm == DCFR


def test_where_the_linear_program_will_not_do() -> None:
    assert choose(KUHN, exact=False) == DEFAULT
    assert choose(KUHN, target=1e-12, exact=False) == DEFAULT


def test_the_unit_of_the_utilities_does_not_matter() -> None:
    """Kuhn's utilities go from -2 to 2."""
    assert choose(KUHN, target=3.99 * EXACT_TARGET) == LP
    assert choose(KUHN, target=4.01 * EXACT_TARGET) == DEFAULT


@pytest.mark.full
def test_the_games_that_the_figures_are_of() -> None:
    assert count_entries(compile_game("liars_dice").form, 0) <= EXACT_ENTRIES
    sizes = {
        game: compiled(game).chunked_form(merged=True).n_numbers
        for game in ("liars_dice(faces=5)", DECK)
    }
    assert sizes["liars_dice(faces=5)"] <= SMALL < sizes[DECK]


class TestSolve:
    def test_says_what_ran(self) -> None:
        solution = solve(KUHN, "auto")
        assert (solution.algorithm, solution.status) == (LP, Status.EXACT)
        assert solve(KUHN, "auto", target=1e-12).algorithm == LP
        assert solve(KUHN, "auto", target=1e-3).algorithm == DEFAULT

    @pytest.mark.parametrize(
        "options",
        [
            {"iters": 5},
            {"time_limit": 0.01},
            {"nodes": 100},
            {"target": 1e-9, "iters": 5},
            {"target": 1e-2, "locks": {"J": {"bet": 0}}},
            {"target": 1e-2, "warm_start": {label: {"pass": 1} for label in KUHN.infoset_labels}},
            {"iters": 5, "keep_best": True},
        ],
        ids=str,
    )
    def test_what_the_linear_program_does_not_take(self, options: dict[str, Any]) -> None:
        assert solve(KUHN, "auto", **options).algorithm == DEFAULT

    def test_goes_on_with_what_it_began_with(self) -> None:
        part = solve(KUHN, "dcfr", iters=5)
        assert solve(KUHN, "auto", start=part, iters=5).algorithm == DCFR

    def test_ends_as_usual(self) -> None:
        assert solve(compile_game("kuhn(players=3)"), "auto").iterations == 1000


def test_it_is_no_algorithm() -> None:
    with pytest.raises(ValueError, match="'auto' chooses by the game and the target: solve"):
        find_algorithm("auto")
    with pytest.raises(ValueError, match="'auto' chooses by the game and the target"):
        Solver(KUHN, "auto")
    with pytest.raises(ValueError, match="the name 'auto' belongs to a published algorithm"):
        register(Algorithm("auto", DCFR.rule, "", "", parameters=DCFR.parameters))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": -1.0}, "target"),
        ({"seed": 1}, "no seed"),
        ({"precision": "single", "iters": 1}, "precision must be one of"),
        ({"threads": -3, "iters": 1}, "threads must be 'auto' or a whole number from 1 to 1,024"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve(KUHN, "auto", **given)


def test_no_locks_are_none() -> None:
    assert solve(KUHN, "auto", locks={}).algorithm == LP
