"""Tables of hands at the lines of games of three players."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import RIVER_OF_THREE, ThreeRandom
from support.command_line import printed, refused
from support.triples import equities_by_triples, sums_over_triples
from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import SolvedSpot, hand_table, solve_boards, values
from tensorcfr.formats import save_spot
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.three_handed import ThreeHandedPush
from tensorcfr.games.tournaments import tournament
from tensorcfr.plots import hand_grid

SPOT = RIVER_OF_THREE | {"ranges": ("QQ,TT:0.5,AQs", "JJ,KQs", "99,ATs")}
TURN = SPOT | {"board": "Td9d6hQc", "ranges": ("QsQh,AsQs", "JsJd,KsQs", "9h9s"), "bets": "a"}


@cache
def turn() -> Solution:
    game = compile_game("holdem", **TURN)
    return solve(game, "cfr", iters=2, checkpoints=(), precision="float64")


@pytest.mark.compiled
def test_tables_equal_the_flat_game_and_sums_over_triples() -> None:
    """Strategies and values of every infoset; weights and equities at every decision."""
    rules = ThreeRandom(15, cards=7, width=2, rounds=1, public=0)
    game, flat = compile_game(rules), compile_game(rules, cut=False)
    solution = solve(game, "cfr", iters=3, precision="float64")
    solved, nodes = SolvedSpot(solution), game.nodes
    expected = values(flat, solution.policy.to_dict()).table().to_dict()
    below, tables, players = [0], 0, set[int]()
    for node in below:
        below += [step.node for step in nodes.children(node)]
        if nodes.player(node) < 0 or not nodes.possible(node, nodes.player(node)).any():
            continue
        line = " ".join(step.label for step in nodes.path(node))
        table, left = solved.table(line), solved.ranges(line)
        players.add(table.player)
        board, own = nodes.cards(node), nodes.free(node, table.player)
        met = sums_over_triples(rules, board, left, table.player, lambda hands: 1.0)[own]
        np.testing.assert_allclose(table.opponent_weight, met, rtol=0, atol=1e-12)
        for h in np.flatnonzero(met > 1e-9).tolist():
            row = expected[f"{table.hands[h]}{nodes.label(node)}"]
            for a, action in enumerate(table.actions):
                assert abs(table.strategy[h, a] - row[action]["probability"]) <= 1e-12
                assert abs(table.values[h, a] - row[action]["expected_value"]) <= 1e-11
        if tables % 20 == 0 and nodes.competing(node):
            dealt, competing = nodes.to_deal(node), nodes.competing(node)
            twins = equities_by_triples(rules, board, left, dealt, competing)
            for found, twin in zip(solved.equities(line), twins, strict=True):
                np.testing.assert_allclose(found, twin, rtol=0, atol=1e-12)
        tables += 1
    assert players == {0, 1, 2}
    assert tables > 20


@pytest.mark.compiled
def test_values_of_all_players_sum_to_the_pot() -> None:
    """Also after an all-in and a fold; net values sum to 0."""
    for of, pot in (("net", 0.0), ("pot", 360.0)):
        solved = SolvedSpot(turn(), of=of)
        for line in ("allin call call", "allin fold call"):
            total = 0.0
            for left, hand_values, player in zip(
                solved.ranges(line), solved.values(line), range(3), strict=True
            ):
                met = solved.nodes.opponent_weight(
                    solved.nodes.find_line(line), player, solved.ranges(line)
                )
                share = left * met / (left @ met)
                total += float(share[share > 0] @ hand_values[share > 0])
            expected = pot - (100.0 if "fold" in line and of == "pot" else 0.0)
            assert total == pytest.approx(expected, abs=1e-9)


@pytest.mark.compiled
def test_runouts_average_to_the_line_before_them() -> None:
    solved = SolvedSpot(turn())
    runouts, line = solved.runouts("check check check *", equity=True), "check check check"
    assert (runouts.seat, runouts.probability.sum()) == ("first", pytest.approx(1.0))
    left, hand_values = solved.ranges(line), solved.values(line)[0]
    met = solved.nodes.opponent_weight(solved.nodes.find_line(line), 0, left)
    mean = float(left[0] * met @ hand_values) / float(left[0] @ met)
    dealt = runouts.probability > 0
    found = float(runouts.probability[dealt] @ runouts.value[dealt])
    assert found == pytest.approx(mean, abs=1e-9)
    rows = solved.path(line)
    assert [row["player"] for row in rows] == [0, 1, 2]
    assert set(rows[0]) == {"step", "player", "frequency", "combos 0", "combos 1", "combos 2"}


@pytest.mark.parametrize("prizes", [False, True])
def test_equities_before_the_flop_are_those_of_the_boards(prizes: bool, interpreted: None) -> None:
    """Of the players who are left, also if prizes of a player who folded depend on the others."""
    rules: Any = ThreeHandedPush(ranks="2345", suits=2, runout=2, stacks=(3, 5, 4))
    if prizes:
        rules = tournament(rules, stacks=rules.stacks, payouts=(5, 2), others=(2,))
    solved = SolvedSpot(solve(compile_game(rules), "cfr", iters=3))
    hands = rules.hands[0]
    has_card = (hands[:, :, None] == np.arange(8)).any(axis=1)
    apart = ~(has_card @ has_card.T)
    for line, competing in (("", (0, 1, 2)), ("allin", (0, 1, 2)), ("fold allin", (1, 2))):
        first, middle, last = solved.ranges(line)
        joint = np.einsum("a,b,c,ab,ac,bc->abc", first, middle, last, apart, apart, apart)
        won, met = np.zeros((2, 3, *joint.shape))
        for board in combinations(range(8), 2):
            free = ~has_card[:, board].any(axis=1)
            weight = joint * (free[:, None, None] & free[:, None] & free)
            strength = np.meshgrid(*[rules.strength(board, hands)] * 3, indexing="ij")
            best = np.max([strength[player] for player in competing], axis=0)
            winners = np.sum([strength[player] == best for player in competing], axis=0)
            for player in competing:
                won[player] += weight * (strength[player] == best) / winners
                met[player] += weight
        for player, found in enumerate(solved.equities(line)):
            others = tuple(axis for axis in range(3) if axis != player)
            with np.errstate(invalid="ignore"):
                twin = won[player].sum(axis=others) / met[player].sum(axis=others)
            np.testing.assert_allclose(found, twin, rtol=0, atol=1e-12)
        table = solved.table(line)
        np.testing.assert_array_equal(table.equity, solved.equities(line)[table.player])


def test_a_table_names_the_seat(tmp_path: Path) -> None:
    solution = solve(compile_game("holdem", **SPOT), iters=5)
    table = hand_table(solution, "check")
    assert (table.player, table.seat) == (1, "middle")
    hand_grid(table, path=tmp_path / "grid.png")
    assert (tmp_path / "grid.png").stat().st_size > 0


def test_boards_of_three_players(tmp_path: Path) -> None:
    rules, table = Holdem(**SPOT), tmp_path / "boards.csv"
    boards = ["Td9d6hQc2s", "Kd8c3h3s2d"]
    report = solve_boards(rules, boards, line="check", table=table)
    assert {row["player"] for row in report.rows} == {"middle"}
    assert solve_boards(rules, boards, line="check", table=table).rows == report.rows


def test_the_command_line_shows_lines_of_three_players(tmp_path: Path) -> None:
    save_spot(Holdem(**SPOT), tmp_path / "spot.toml")
    file = tmp_path / "spot.toml"
    said = printed("spot", file, "--node", "check", "--save", tmp_path / "solution.npz")
    assert "reached the target exploitability" in said
    (first_line,) = (line for line in said.splitlines() if line.startswith("first "))
    value, with_third = map(float, re.findall(r"(?:value|pot) ([-+.\d]+)", first_line))
    assert with_third == pytest.approx(value + 20, abs=0.011)
    assert "check: middle to act on Td 9d 6h Qc 2s" in said
    again = printed("spot", tmp_path / "solution.npz", "--node", "check check")
    assert "check check: last to act" in again
    first, middle, last = SPOT["ranges"]
    given = ("--oop", first, "--middle", middle, "--ip", last, "--stacks", "100,200,150")
    others = ("--board", SPOT["board"], "--pot", 60, "--bets", "60%", "--raises", "a", "--size")
    assert printed("spot", *given, *others) == printed("spot", file, "--size")
    assert printed("spot", file, "--middle", "22", "--size") != printed("spot", file, "--size")
    assert "needs --ip" in refused(2, "spot", *given[:4], *given[6:], *others)
    assert "--buckets needs a spot of two players" in refused(2, "spot", file, "--buckets", 5)
