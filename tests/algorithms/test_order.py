"""Players who update from the last one to the first: the option ``order``.

The tables of variants compare its strategies with the reference; here is the rest.
"""

from __future__ import annotations

import pytest

from support.random_games import random_game
from support.reference import ReferenceCFR
from tensorcfr import compile_game, solve, team_game
from tensorcfr.algorithms import CFR, CFR_PLUS, CHANCE_SAMPLING, from_dict
from tensorcfr.analysis import iteration_events, regrets

DESCENDING = CFR(order="descending")


def test_functions_that_follow_a_solver(interpreted: None) -> None:
    """Regrets of every update are those against the players who have not been updated yet."""
    rules = random_game(2, n_players=3, max_histories=60)
    game = compile_game(rules)
    reference = ReferenceCFR(rules, average_power=0, alternating=True, descending=True)
    for _ in range(3):
        reference.iterate()
    (point,) = regrets(game, DESCENDING, checkpoints=[3])
    largest = [max(reference.regrets[label]) for label in game.infoset_labels]
    assert point.infoset == pytest.approx(largest, abs=1e-12)
    events = iteration_events(game, DESCENDING, iters=3)
    for iteration in events.iterations:
        assert [update.player for update in iteration.updates] == [2, 1, 0]
    for number, infoset in enumerate(events.infosets):
        if len(infoset.actions) == 1:
            continue
        instant = [
            learned.instant
            for iteration in events.iterations
            for update in iteration.updates
            for learned in update.learned
            if learned.infoset == number
        ]
        sums = [sum(each) for each in zip(*instant, strict=True)]
        assert sums == pytest.approx(reference.regrets[infoset.label], abs=1e-12)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="order must be one of"):
        CFR(order="sideways")
    for make in (
        lambda: DESCENDING(alternating=False),
        lambda: CFR(alternating=False)(order="descending"),
    ):
        with pytest.raises(ValueError, match="cfr: order=descending needs alternating updates"):
            make()
    with pytest.raises(ValueError, match="its option order needs passes over the whole game"):
        CHANCE_SAMPLING(variant=DESCENDING)
    teams = team_game(compile_game("kuhn(players=3, cards=4)"), ((0, 1), (2,)))
    with pytest.raises(ValueError, match="cfr with order is not available"):
        solve(teams, DESCENDING, iters=1)


def test_the_record() -> None:
    assert str(DESCENDING) == "cfr(average_power=0, alternating, order=descending)"
    described = DESCENDING.to_dict()
    assert from_dict(described) == DESCENDING
    # Files of earlier versions do not have the option.
    assert from_dict({key: value for key, value in described.items() if key != "order"}) == CFR
    theorem = CFR_PLUS.guarantee(zero_sum=True)
    assert CFR_PLUS(order="descending").guarantee(zero_sum=True) == theorem
