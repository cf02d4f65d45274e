"""Groups of terminals whose rows are read or written once for a showdown and the folds after it."""

from __future__ import annotations

import numpy as np
import pytest

from support.products import pay
from tensorcfr import compile_game
from tensorcfr.kernels import chunk_passes as kernels
from tensorcfr.payoff.card_lanes import _shares_bets_with_next
from tensorcfr.payoff.card_payoffs import FOLD, LANES, SHOWDOWN

RANGES = ("AA,KK,QQ,JJ", "TT,99,AKs,AQs,AJs")
"""20 and 24 hands: a whole vector, and a part of one."""
TURN = {"board": "Td5d6hQc", "pot": 200, "stacks": 900, "raises": "2.5x"}
SPOTS = {
    "nine bets of each player": {"bets": "60%"},
    "more than a group of bets": {"bets": "60%,e,a", "donk": "50%"},
    "ties pay": {"bets": "60%", "rake": 0.05, "rake_cap": 30},
}


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("spot", SPOTS)
def test_folds_go_on_with_the_rows_of_the_showdown(spot: str, precision: type) -> None:
    """Products equal those that the verbs work out hand by hand."""
    rng, shared = np.random.default_rng(7), {True: 0, False: 0}
    chunks = compile_game("holdem", ranges=RANGES, **TURN | SPOTS[spot]).chunks
    form = kernels.shape_form(chunks.shapes, 0)
    part = form.operator[0]
    for player in range(2):
        for k in range(len(part.group)):
            for who in range(2):
                shared[who == player] += bool(
                    _shares_bets_with_next(part.group, part.sequence, k, who)
                )
        x = rng.random(form.n_sequences)
        own = slice(*form.player_sequences[player : player + 2])
        g = np.full(form.n_sequences, np.nan, dtype=precision)
        pay(form, player, x.astype(precision), g)
        expected = part.product(form, player, x)
        bound = (1e-13 if precision is np.float64 else 1e-6) * abs(expected).max()
        np.testing.assert_allclose(g[own], expected, rtol=0, atol=bound)
    assert shared[True] == shared[False] >= 1


@pytest.mark.parametrize("spot", SPOTS)
def test_groups_are_as_few_as_they_can_be(spot: str) -> None:
    """Every group is as full as the number of terminals allows."""
    chunks = compile_game("holdem", ranges=RANGES, **TURN | SPOTS[spot]).chunks
    part = kernels.shape_form(chunks.shapes, 0).operator[0]
    for of_folds in (True, False):
        counts = part.group[(part.group[:, 2] == FOLD) == of_folds, 0]
        assert len(counts) == -(-counts.sum() // LANES)


def test_folds_of_other_bets_do_not_go_on() -> None:
    """Every lane counts, and only folds on the same board that come right after a showdown."""
    group = np.array([[3, 0, SHOWDOWN], [2, 0, FOLD], [2, 0, FOLD], [3, 0, SHOWDOWN], [2, 1, FOLD]])
    sequence = np.zeros((2, 5, LANES), dtype=np.int64)
    sequence[:, :, :3] = 10, 20, 30
    sequence[1, 1, 1] = 21
    found = [
        [_shares_bets_with_next(group, sequence, k, player) for k in range(5)]
        for player in range(2)
    ]
    assert found == [[True, False, False, False, False], [False] * 5]
