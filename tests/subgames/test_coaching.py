"""Plays that begin at a line, and costs of decisions."""

from __future__ import annotations

import numpy as np
import pytest

from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import values
from tensorcfr.analysis.simulation import deal
from tensorcfr.evaluation.profile import own_reach_of
from tensorcfr.subgames import Match
from tensorcfr.subgames.positions import Coach

HANDS = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")


@pytest.fixture(scope="module")
def leduc() -> Solution:
    return solve(compile_game("leduc"), iters=30)


def test_hands_are_drawn_given_the_line(leduc: Solution) -> None:
    """Pairs of hands follow from Bayes' rule: prior times what both players do on the way."""
    nodes = leduc.game.nodes
    hands = nodes.hands[0]
    joint = np.zeros((6, 6))
    for i, own in enumerate(hands):
        for j, other in enumerate(hands):
            if i != j:
                first, second = leduc.policy[own], leduc.policy[f"{other} r"]
                answer = leduc.policy[f"{own} rr"]
                joint[i, j] = first["raise"] * second["raise"] * answer["call"]
    joint /= joint.sum()
    node = nodes.find_node("raise raise call")
    reaches = [own_reach_of(leduc.policy, nodes, node, player) for player in range(2)]
    drawn = deal(nodes, np.random.default_rng(1), 20_000, node, reaches)
    counts = np.zeros((6, 6))
    np.add.at(counts, tuple(drawn.T), 1)
    # Five standard deviations of a frequency of at most 1/4.
    assert np.abs(counts / 20_000 - joint).max() < 5 * np.sqrt(0.25 * 0.75 / 20_000)
    assert (counts[joint == 0] == 0).all()


def test_a_play_begins_after_a_line(leduc: Solution) -> None:
    match = Match(leduc.game, leduc, resolve_after=None, seed=2)
    match.deal("raise call")
    assert match.steps[:2] == ["raise", "call"]
    assert len(match.steps) == 3  # The card of the board is drawn.
    assert match.to_act == 0
    while not match.is_over:
        match.act(match.actions[-1])
    assert match.utilities()[0] == -match.utilities()[1]
    with pytest.raises(ValueError, match="began at 'raise call'"):
        match.adjusted_utilities()
    match.deal()
    assert match.steps == []
    with pytest.raises(ValueError, match="no line 'jump'"):
        match.deal("jump")
    never = leduc.policy.to_dict() | {hand: {"call": 1.0, "raise": 0.0} for hand in HANDS}
    with pytest.raises(ValueError, match="never goes to 'raise'"):
        Match(leduc.game, never, resolve_after=None).deal("raise")


def test_costs_are_differences_of_values(leduc: Solution) -> None:
    table = values(leduc.game, leduc).table().to_dict()
    coach, match = Coach(values(leduc.game, leduc)), Match(leduc.game, leduc, resolve_after=None)
    match.deal("raise")
    label = f"{match.hand(1)} r"
    for action in match.actions:
        rated = coach.rate(match.position, action)
        worth = {name: row["expected_value"] for name, row in table[label].items()}
        assert rated.cost == pytest.approx(max(worth.values()) - worth[action], abs=1e-12)
        assert rated.values == pytest.approx(worth, abs=1e-12)
        assert rated.probabilities == pytest.approx(leduc.policy[label], abs=1e-12)
        assert rated.best == max(worth, key=worth.__getitem__)
        assert (rated.line, rated.hand) == ("raise", match.hand(1))
    with pytest.raises(ValueError, match="no action 'jump'"):
        coach.rate(match.position, "jump")
