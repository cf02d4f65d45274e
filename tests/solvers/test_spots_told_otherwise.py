"""A turn of hold'em, told in another way: the same strategies, long before they converge.

Regrets that cancel are 0 whatever the order of sums is, so that suits in another order, players who
change places, ``symmetry=`` and ``cut=`` change rounding errors alone.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tensorcfr import Algorithm, Solver, compile_game
from tensorcfr.algorithms import CFR, CFR_PLUS, DCFR
from tensorcfr.games.holdem import CARDS, HANDS, Holdem, hand_label
from tensorcfr.rules import Decision, Fold, Showdown

SPOT: dict[str, Any] = {
    "board": "TsTh6s6h",
    "ranges": ("AKs,22", "AKs,33"),
    "pot": 100,
    "stacks": 150,
    "bets": {"turn": "60%", "river": "a"},
}
"""Two pairs on the board in two suits: many hands of both tie, and suits are alike two by two."""
ITERATIONS = 15
TOLERANCE = {CFR: 1e-12, CFR_PLUS: 1e-10, DCFR: 1e-10}
"""What rounding becomes in so many iterations; a tie that parts makes a difference near 1."""
CARD = re.compile("[2-9TJQKA][cdhs]")
LABEL_OF = {frozenset(hand): hand_label(hand) for hand in HANDS.tolist()}
NUMBER_OF = {card: number for number, card in enumerate(CARDS)}

Strategies = dict[str, dict[str, float]]


class Swapped(Holdem):
    """The players change places: player 1 opens."""

    def __init__(self, **spot: Any) -> None:
        super().__init__(**spot)
        self.hands, self.weights = self.hands[::-1], self.weights[::-1]

    def node(self, state: Any) -> Any:
        node = super().node(state)
        if isinstance(node, Decision):
            return node._replace(player=1 - node.player)
        if isinstance(node, Fold):
            return Fold(node.utilities[::-1])
        if isinstance(node, Showdown):
            return Showdown(*(utilities[::-1] for utilities in reversed(node)))
        return node


def averages(rules: Holdem, algorithm: Algorithm, **options: Any) -> Strategies:
    """Average strategies after some iterations, by label."""
    solver = Solver(compile_game(rules, **options), algorithm, precision="float64")
    solver.iterate(ITERATIONS)
    return {label: dict(row) for label, row in solver.average_policy().items()}


def in_suits(text: str, suits: str) -> str:
    """A text whose suits c, d, h, s are others now; a hand is named as hands are."""
    turned = re.sub("[cdhs]", lambda found: suits["cdhs".index(found[0])], text)
    cards = CARD.findall(turned)
    if len(cards) == 2 and "".join(cards) == turned:
        return LABEL_OF[frozenset(NUMBER_OF[card] for card in cards)]
    return turned


def label_in_suits(label: str, suits: str) -> str:
    """``"AsKd check check Tc"`` in other suits."""
    return " ".join(
        in_suits(word, suits) if CARD.match(word) else word for word in label.split(" ")
    )


def assert_same(found: Strategies, expected: Strategies, tolerance: float) -> None:
    assert set(found) == set(expected)
    for label, row in expected.items():
        values, wanted = list(found[label].values()), list(row.values())
        np.testing.assert_allclose(values, wanted, rtol=0, atol=tolerance, err_msg=label)


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", TOLERANCE, ids=lambda algorithm: algorithm.name)
def test_symmetry_cut_and_suits_change_no_strategies(algorithm: Algorithm) -> None:
    """The two ways to lay it out, with and without symmetry, and two orders of suits."""
    given, tolerance = averages(Holdem(**SPOT), algorithm), TOLERANCE[algorithm]
    for options in ({"symmetry": False}, {"cut": False}, {"symmetry": False, "cut": False}):
        assert_same(averages(Holdem(**SPOT), algorithm, **options), given, tolerance)
    for suits in ("hscd", "dhsc"):
        board = "".join(in_suits(card, suits) for card in CARD.findall(SPOT["board"]))
        expected = {label_in_suits(label, suits): row for label, row in given.items()}
        found = averages(Holdem(**SPOT | {"board": board}), algorithm)
        assert_same(found, expected, tolerance)


@pytest.mark.full
@pytest.mark.compiled
def test_players_who_change_places_change_no_strategies() -> None:
    """Who is updated first changes places, too."""
    together = CFR(alternating=False)
    for algorithm, other in ((together, together), (CFR, CFR(order="descending"))):
        given = averages(Holdem(**SPOT), algorithm)
        for options in ({}, {"cut": False}):
            found = averages(Swapped(**SPOT), other, **options)
            assert_same(found, given, TOLERANCE[CFR])
