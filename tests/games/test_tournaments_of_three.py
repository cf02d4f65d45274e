"""Three players for prizes after the flop: flat games, sums over triples, one prize, the pot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import RIVER_OF_THREE, ThreeRandom
from support.command_line import printed
from support.layouts import assert_same_solves
from tensorcfr import Policy, Solver, compile_game, evaluate, load_game, save_game, solve
from tensorcfr.analysis import SolvedSpot, prize_table
from tensorcfr.compilers import game_size
from tensorcfr.formats import save_spot
from tensorcfr.games import make_spot
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.tournaments import tournament
from tensorcfr.model.arrays import TERMINAL
from tensorcfr.payoff.three_hands import PayoffThreeHands, PayoffThreeOrders
from tensorcfr.rules import SidePots

SPOT = RIVER_OF_THREE | {"ranges": ("QsQh,AsQs,Ts9s", "JsJd,KsQs,9h9c", "9s8s,AhTh,Tc9c")}
PRIZES: dict[str, Any] = {"stacks": SPOT["stacks"], "payouts": (50, 30, 20), "others": (120,)}
SHAPES: dict[str, dict[str, Any]] = {
    "two cards, river": {"cards": 9, "width": 2, "rounds": 0, "public": 1},
    "one card, suits": {"cards": 8, "width": 1, "rounds": 1, "public": 0, "suits": 2},
    "two cards, turn": {"cards": 8, "width": 2, "rounds": 1, "public": 0},
}


def concave(stacks: tuple[float, ...]) -> list[float]:
    """A tie is not worth the mean of a win and a loss, and the winner among others matters."""
    return [
        np.sqrt(own) + 0.01 * stacks[n - 1] ** 2 - 0.005 * stacks[n - 2] ** 2
        for n, own in enumerate(stacks)
    ]


@pytest.mark.compiled
@pytest.mark.parametrize("shape", SHAPES)
def test_utilities_of_all_stacks_equal_the_flat_game(shape: str) -> None:
    """In one part and in chunks, on one thread and on two, and at single terminals."""
    rules: Any = tournament(ThreeRandom(15, **SHAPES[shape]), stacks=50, utility=concave)
    assert game_size(rules).histories < 400_000
    game, flat = compile_game(rules), compile_game(rules, cut=False)
    part = PayoffThreeOrders if game.chunks.n_chunks == 0 else game.chunks.shapes.kinds[0]
    assert part is PayoffThreeOrders
    one, other, whole = Solver(game, "cfr"), Solver(game, "cfr", threads=2), Solver(flat, "cfr")
    assert_same_solves(one, whole)
    other.iterate(one.iteration)
    np.testing.assert_array_equal(one.state.cumulative, other.state.cumulative)
    nodes, rng, below, checked = game.nodes, np.random.default_rng(2), [0], 0
    for node in below:
        below += [step.node for step in nodes.children(node)]
        if nodes.player(node) != TERMINAL or checked == 4:
            continue
        if not isinstance(rules.node(nodes.state(node)), SidePots):
            continue
        checked += 1
        reaches = [rng.random(len(hands)) for hands in rules.hands]
        factor, key = nodes.payoff(node)
        joint = nodes.deal_probability(node) * factor
        for player in range(3):
            others = [p for p in range(3) if p != player]
            paid = np.moveaxis(joint * nodes.matrix(key)[player], (player, *others), (0, 1, 2))
            expected = paid @ reaches[others[1]] @ reaches[others[0]]
            found = nodes.payoffs(node, player, reaches)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert checked


@pytest.mark.compiled
def test_one_prize_is_chips_in_another_unit() -> None:
    """The winner of all 510 chips gets 51, so that a chip is worth a tenth."""
    chips = compile_game("holdem", **SPOT)
    prize = compile_game("holdem", **SPOT, payouts=(51,))
    assert type(prize.chunks.trunk.operator[0]) is PayoffThreeHands
    for policy in (Policy.uniform(chips), solve(chips, iters=20).policy):
        found, expected = (
            evaluate(prize, Policy(prize, policy.probabilities)),
            evaluate(chips, policy),
        )
        np.testing.assert_allclose(found.values, np.divide(expected.values, 10), rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.gains, np.divide(expected.gains, 10), rtol=0, atol=1e-9)
    assert prize.nodes.rules.pot_value == pytest.approx(6.0)
    assert prize.defaults.target == "0.5% of the pot"
    state = prize.nodes.state(prize.nodes.find_line("bet36"))
    np.testing.assert_allclose(prize.nodes.rules.put_in(state), (5.6, 2.0, 2.0), atol=1e-9)


def test_a_spot_of_three_with_prizes_in_files_and_on_the_command_line(tmp_path: Path) -> None:
    rules: Any = make_spot(**SPOT, payouts=(50, 30, 20), others=(120,))
    assert rules.stacks_before == (120, 220, 170, 120)
    assert sum(rules.prizes_before) == pytest.approx(100)
    save_spot(rules, tmp_path / "spot.toml")
    said = printed("spot", tmp_path / "spot.toml", "--node", "check", "--rows", "2")
    assert "middle value" in said
    assert "chips; the same in prizes" in said
    game = compile_game("holdem", **rules.options)
    again = load_game(save_game(game, tmp_path / "game.npz"))
    assert again.digest == game.digest


def test_chips_and_prizes_of_hands() -> None:
    solution = solve(compile_game(tournament(Holdem(**SPOT), **PRIZES)), iters=20)
    table, solved = prize_table(solution, "check"), SolvedSpot(solution, of="pot")
    assert table.prizes.seat == "middle"
    assert table.chips.shape == table.prizes.values.shape
    seats = solved.values("check")
    assert [np.isfinite(of_seat).any() for of_seat in seats] == [True] * 3


@pytest.mark.parametrize(
    ("changes", "prizes", "message"),
    [
        (
            {"ranges": SPOT["ranges"][:2], "folded": ("AA",), "deal_folded": True, "stacks": 100},
            {"stacks": 100},
            "deal_folded is for chips, not for prizes",
        ),
        ({}, {"bounties": (1, 1, 1, 1)}, "bounties are for two players, not 3"),
        ({}, {"stacks": (100, 200)}, "stacks must be one number or 3"),
    ],
)
def test_prizes_that_are_not_for_three_players(
    changes: dict[str, Any], prizes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        tournament(Holdem(**SPOT | changes), **PRIZES | prizes)
