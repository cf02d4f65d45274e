"""Trembles that die out make strategies hold where equilibria of the game alone do not."""

from __future__ import annotations

import pytest

from support.tiers import tiered
from tensorcfr import Algorithm, CompiledGame, compile_game, solve
from tensorcfr.algorithms import DCFR, PACED_CFR_PLUS, RTCFR_PLUS, SAPCFR_PLUS
from tensorcfr.analysis import conditional_regrets
from tensorcfr.games.holdem import Holdem

FALLING = {"floor": 0.1, "floor_fall": 0.5, "average_power": 4}


def kings(symmetry: bool = True) -> CompiledGame:
    """The toy game of desktop-postflop's issue 27: aces or queens against kings on 22233."""
    spot = Holdem(board="2s2h2d3s3h", ranges=("AA,QQ", "KK"), pot=100, stacks=100, bets="100%")
    return compile_game(spot, symmetry=symmetry)


@pytest.mark.parametrize(
    "record",
    tiered([DCFR, SAPCFR_PLUS, PACED_CFR_PLUS, RTCFR_PLUS], fast=[DCFR]),
    ids=lambda record: record.name,
)
def test_kings_check_behind(record: Algorithm, interpreted: None) -> None:
    """A bet is called by aces alone; what is left of it is the floor and its average."""
    game = kings(symmetry=record is not RTCFR_PLUS)
    solution = solve(game, record(**FALLING), iters=1000)
    assert solution.policy["KsKh check"]["check"] > 0.997
    found = conditional_regrets(game, solution.policy)
    # Of the pot of 100; a call or fold that is wrong with half of the floor loses up to 2 pots.
    assert found.everywhere.largest < 0.4
    assert found.unreached == 0


def test_leduc() -> None:
    """All but 3 % of the largest regrets is gone; without a floor they stay."""
    game = compile_game("leduc")
    plain = conditional_regrets(game, solve(game, DCFR, iters=1000).policy)
    falling = conditional_regrets(game, solve(game, DCFR(**FALLING), iters=1000).policy)
    assert plain.everywhere.largest > 4
    assert falling.everywhere.largest < 0.12
    assert falling.everywhere.mean < 0.1 * plain.everywhere.mean


def test_a_thousandth_of_the_pot_everywhere() -> None:
    """Paced steps follow a floor that falls as 1/t, in Leduc (pot 2) at every infoset."""
    solution = solve(compile_game("leduc"), PACED_CFR_PLUS(floor=0.1, floor_fall=1), iters=1000)
    assert solution.exploitability < 2e-4
    assert conditional_regrets(solution.game, solution.policy).everywhere.largest < 0.002
