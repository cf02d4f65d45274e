"""One algorithm where none is named, whoever solves: one for spots, one for other games."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.command_line import invoke, printed
from support.tiers import tiered
from tensorcfr import CompiledGame, Policy, Solver, compile_game, solve
from tensorcfr.abstraction import abstract_hands, buckets_by_strength
from tensorcfr.algorithms import CFR_PLUS, DCFR, PACED_CFR_PLUS, Record
from tensorcfr.analysis import solve_boards
from tensorcfr.formats import save_spot
from tensorcfr.games.holdem import Holdem
from tensorcfr.model.locks import Locks
from tensorcfr.solvers.base import IterativeSolver
from tensorcfr.solvers.choose import choose, resolve_algorithm
from tensorcfr.solvers.request import SolveRequest
from tensorcfr.subgames import Match, resolve
from tensorcfr.subgames.resolving import REFINED
from tensorcfr.viewer.session import Running, Session

TURN: dict[str, Any] = {
    "board": "QsJh2h8d",
    "ranges": ("AA,KQs", "TT,AQs"),
    "pot": 80,
    "stacks": 100,
    "bets": "60%",
    "dead": "2c2d2s8c8h8s" + "".join(rank + suit for rank in "345679" for suit in "cdhs"),
}
"""A turn with few rivers."""
SPOT = Holdem(**TURN)
ON_SPOTS = DCFR(alpha=1.5, alpha_offset=2, beta=1, beta_offset=20, average_power=4)
"""What ``benchmarks/results/spots.json`` says is the best."""
DEFAULT = PACED_CFR_PLUS
"""Chosen and judged in docs/results/variants.md."""
RAKED = TURN | {"rake": 0.05}
KUHN = compile_game("kuhn")


def look_and_lock(game: CompiledGame) -> None:
    """The viewer's second solve, in the thread of the test."""
    session = Session(solve(game, "cfr-d", iters=0))
    session._solve(game, Locks(game, {}), None, Running(1))


def play(game: CompiledGame) -> None:
    """A play in which the solver acts first."""
    match = Match(game, Policy.uniform(game), seat=0, iters=1)
    match.deal()
    match.resolve_and_act()


DOORS: dict[str, Callable[[CompiledGame, Path], object]] = {
    "solve": lambda game, _: solve(game, iters=1),
    "solve in float32": lambda game, _: solve(game, iters=1, precision="float32"),
    "solve in 16 bits": lambda game, _: solve(game, iters=1, precision="int16"),
    "auto": lambda game, _: solve(game, "auto", iters=1),
    "with rake": lambda *_: solve(compile_game("holdem", **RAKED), iters=1),
    "auto with rake": lambda *_: solve(compile_game("holdem", **RAKED), "auto", iters=1),
    "Solver": lambda game, _: Solver(game).iterate(1),
    "buckets": lambda game, _: solve(abstract_hands(game, buckets_by_strength(game, 2)), iters=1),
    "resolve": lambda game, _: resolve(game, Policy.uniform(game), "check", iters=1),
    "resolve rules": lambda game, _: resolve(SPOT, Policy.uniform(game), "check", iters=1),
    "Match": lambda game, _: play(game),
    "solve_boards": lambda *_: solve_boards(SPOT, ["QsJh2h8d"], target="1000%", equity=False),
    "viewer": lambda game, _: look_and_lock(game),
    "tensorcfr solve": lambda _, file: printed("solve", file, "--iters", "1"),
    "tensorcfr spot": lambda _, file: printed("spot", file, "--iters", "1"),
    "tensorcfr spot --buckets": lambda _, file: printed(
        "spot", file, "--buckets", "2", "--iters", "1"
    ),
    "tensorcfr boards": lambda _, file: printed(
        "boards", file, "QsJh2h8d", "--target", "1000%", "--no-equity"
    ),
    "tensorcfr chart": lambda _, file: printed(
        *("chart", file, "--iters", "1", "--output", file.with_suffix(".png"))
    ),
    "tensorcfr view": lambda _, file: printed(
        *("view", file, "--iters", "1", "--html", file.with_suffix(".html"))
    ),
    "tensorcfr play": lambda _, file: invoke(
        *("play", file, "--iters", "1", "--subgame-iters", "1", "--player", "1"), typed="fold\n" * 9
    ),
}


@pytest.mark.parametrize(
    "door",
    tiered(DOORS, DOORS.keys() - {"tensorcfr view", "viewer", "solve in 16 bits", "resolve"}),
)
def test_every_door_runs_the_same_on_a_spot(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interpreted: None
) -> None:
    ran: list[Record] = []
    steps = IterativeSolver.iterate

    def step(solver: IterativeSolver, iterations: int = 1) -> None:
        if iterations:
            ran.append(solver.algorithm)
        steps(solver, iterations)

    monkeypatch.setattr(IterativeSolver, "iterate", step)
    DOORS[door](compile_game(SPOT), save_spot(SPOT, tmp_path / "spot.toml"))
    assert ran
    # Resolving, and play where the solver acts first, with a floor that falls.
    resolves = {"resolve", "resolve rules", "Match", "tensorcfr play"}
    expected = {str(ON_SPOTS)} | ({str(ON_SPOTS(**REFINED))} if door in resolves else set())
    assert {str(one) for one in ran} <= expected
    assert (str(ON_SPOTS(**REFINED)) in map(str, ran)) == (door in resolves)


def test_other_games(interpreted: None) -> None:
    """What fits into 16 bits keeps regrets alone."""
    single = DEFAULT(average_power=5)
    for precision, expected in ((None, DEFAULT), ("float32", single), ("int16", CFR_PLUS)):
        assert SolveRequest(game=KUHN, iters=1, precision=precision).record == expected
    assert Solver(KUHN).algorithm == DEFAULT
    assert Solver(KUHN, precision="float32").algorithm == single
    assert Solver(compile_game("kuhn", cut=1), precision="int16").algorithm == CFR_PLUS


def test_what_is_named_runs(interpreted: None) -> None:
    spot = compile_game(SPOT)
    assert solve(spot, "cfr+", iters=1).algorithm == CFR_PLUS
    assert choose(spot, target=1e-9) == ON_SPOTS
    assert solve(spot, start=solve(spot, "dcfr", iters=1), iters=1).algorithm == DCFR
    with pytest.raises(ValueError, match="''"):
        resolve_algorithm("", spot)
