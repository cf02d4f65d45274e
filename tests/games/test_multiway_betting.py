"""Betting of three players, beside a slow distribution of the pot chip by chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorcfr import Fold, SidePots
from tensorcfr.games.holdem import Holdem

RANGES = ("AA,KK", "QQ,JJ", "TT,99")


def spot(**options: Any) -> Holdem:
    return Holdem(
        **({"board": "2c7d8h3s4s", "ranges": RANGES, "pot": 30, "bets": "50%,a"} | options)
    )


def after(rules: Holdem, line: str) -> Any:
    state = rules.root()
    for action in line.split():
        assert action in rules.node(state).actions, (action, rules.node(state))
        state = rules.next(state, action)
    return state


def chip_by_chip(paid: list[int], folded: list[bool], ranks: list[int], pot: int) -> list[float]:
    """Share out chips one at a time: a chip that a player has put in belongs to the strongest
    players who have not folded and have put in as much; the pot at the start to the strongest."""
    won = [0.0] * len(paid)

    def share(level: int) -> None:
        competing = [p for p, put in enumerate(paid) if not folded[p] and put >= level]
        best = max(ranks[p] for p in competing)
        winners = [p for p in competing if ranks[p] == best]
        for p in winners:
            won[p] += 1.0 / len(winners)

    for _ in range(pot):
        share(0)
    for put in paid:
        for level in range(1, put + 1):
            share(level)
    return [w - p - pot / len(paid) for w, p in zip(won, paid, strict=True)]


@pytest.mark.parametrize("seed", range(3))
def test_random_plays_share_the_pot_chip_by_chip(seed: int) -> None:
    """Also: the order of action, and the chips that are left."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        stacks = rng.integers(3, 60, 3).tolist()
        rules = spot(stacks=stacks, board="2c7d8h3s", raises="50%,a", add_allin=0, force_allin=0)
        state, folded, last = rules.root(), [False] * 3, -1
        while not isinstance(node := rules.node(state), (Fold, SidePots)):
            if not hasattr(node, "actions"):
                state, last = rules.next(state, None), -1
                continue
            paid, behind = rules.betting.paid(state), rules.chips(state).behind
            assert [b + p for b, p in zip(behind, paid, strict=True)] == stacks
            assert not folded[node.player]
            assert behind[node.player] > 0
            # Players between the last one and this one have folded or are all-in.
            between = [(last + 1 + k) % 3 for k in range((node.player - last - 1) % 3)]
            assert all(folded[p] or behind[p] == 0 for p in between)
            action = str(rng.choice(node.actions))
            folded[node.player] |= action == "fold"
            state, last = rules.next(state, action), node.player
        paid = list(rules.betting.paid(state))
        for _ in range(3):
            ranks = rng.integers(0, 3, 3).tolist()
            if isinstance(node, Fold):
                found = list(node.utilities)
            else:
                found = [-amount for amount in node.paid]
                for amount, competing in node.pots:
                    best = max(ranks[p] for p in competing)
                    winners = [p for p in competing if ranks[p] == best]
                    for p in winners:
                        found[p] += amount / len(winners)
            np.testing.assert_allclose(
                found, chip_by_chip(paid, folded, ranks, 30), rtol=0, atol=1e-9
            )


def test_a_short_all_in_does_not_open_the_betting_again() -> None:
    """Player 0 bets 20, player 1 is all-in for 30: a raise of 10 is less than 20."""
    rules = spot(stacks=(200, 30, 200), bets="20c", raises="50c,a", add_allin=0, force_allin=0)
    state = after(rules, "bet20 allin")
    assert rules.node(state).player == 2
    assert "raise80" in rules.node(state).actions
    called = rules.next(state, "call")
    assert rules.node(called) == rules.node(called)._replace(player=0, actions=("fold", "call"))
    # A full raise of player 2 opens it.
    assert "allin" in rules.node(rules.next(state, "raise80")).actions


def test_nobody_bets_more_than_another_player_can_call() -> None:
    rules = spot(stacks=(200, 50, 80), bets="a")
    state = after(rules, "allin")
    assert rules.betting.paid(state) == (80, 0, 0)
    state = after(rules, "allin call call")
    assert rules.betting.paid(state) == (80, 50, 80)
    assert rules.node(state).pots == ((30.0 + 150.0, (0, 1, 2)), (60.0, (0, 2)))


def test_rake_is_taken_from_the_pots_that_were_called() -> None:
    """5 % of 180 + 60 chips, but at most 6; the excess of 20 goes back without rake."""
    rules = spot(stacks=(200, 50, 80), bets="a", rake=0.05, rake_cap=6)
    node = rules.node(after(rules, "allin call call"))
    assert sum(amount for amount, _ in node.pots) == pytest.approx(240.0 - 6.0)
    won = rules.node(after(rules, "allin fold fold"))
    # Nobody called: the pot of 30 pays 1.5.
    np.testing.assert_allclose(won.utilities, (30.0 - 1.5 - 10.0, -10.0, -10.0))
