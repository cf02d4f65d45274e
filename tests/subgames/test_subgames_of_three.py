"""Subgames of three players: ranges and values, and all that is for two players is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from support.card_games import RIVER_OF_THREE, ThreeRandom
from support.layouts import farthest
from tensorcfr import Policy, Solution, compile_game, evaluate, solve
from tensorcfr.analysis import SolvedSpot
from tensorcfr.games.holdem import Holdem
from tensorcfr.subgames import Match, belief, forget_subgames, resolve, subgame, subgame_roots

TURN = RIVER_OF_THREE | {
    "board": "Td9d6hQc",
    "ranges": ("QsQh,AsQs,TsTh", "JsJd,KsQs", "9h9s,AhTh"),
}


@cache
def turn() -> Solution:
    game = compile_game("holdem", **TURN)
    return solve(game, "cfr", iters=5, checkpoints=(), precision="float64")


@pytest.mark.compiled
def test_the_subgame_at_the_start_is_the_game() -> None:
    """Also the flat game of the rules, in which ranges are those of the deal."""
    rules = ThreeRandom(15, cards=7, width=2, rounds=1, public=0)
    game, flat = compile_game(rules, symmetry=False), compile_game(rules, cut=False)
    resolution = resolve(
        game, Policy.uniform(game), "start", method="unsafe", algorithm="cfr", iters=10
    )
    expected = solve(flat, "cfr", iters=10, precision="float64")
    (part,) = resolution.subgames
    np.testing.assert_allclose(part.solution.value, expected.value, rtol=0, atol=1e-12)
    same = solve(game, "cfr", iters=10, precision="float64")
    assert farthest(resolution.policy, same.policy) <= 1e-12


@pytest.mark.compiled
def test_values_below_a_line_change_the_whole_by_its_probability() -> None:
    """By the value of the subgame times the reach of the line."""
    blueprint, checked = turn(), 0
    before, solved = np.array(blueprint.value), SolvedSpot(blueprint)
    for line in ("check bet36", "check check check 2s", "check check check 9c"):
        resolution = resolve(
            blueprint.game, blueprint, line, method="unsafe", algorithm="cfr", iters=7
        )
        (part,) = resolution.subgames
        node, nodes = solved.nodes.find_line(line), solved.nodes
        left = solved.ranges(line)
        met = nodes.opponent_weight(node, 0, left)
        reach = float(left[0] @ met) * nodes.share(node)
        means = []
        for player, of_hands in enumerate(solved.values(line)):
            share = left[player] * nodes.opponent_weight(node, player, left)
            means.append(float(share[share > 0] @ of_hands[share > 0]) / share.sum())
        found = evaluate(resolution.policy.game, resolution.policy).values
        change = reach * (np.array(part.solution.value) - means)
        np.testing.assert_allclose(found, before + change, rtol=0, atol=1e-11)
        checked += bool(abs(change).max() > 1e-3)
    assert checked == 3


@pytest.mark.compiled
def test_a_river_after_equal_bets_is_the_spot_of_its_pot() -> None:
    """The blueprint plays uniformly, so that ranges keep their weights."""
    game = compile_game("holdem", **TURN)
    line = "bet36 call call 2s"
    resolution = resolve(
        game, Policy.uniform(game), line, method="unsafe", algorithm="cfr+", iters=10
    )
    river = TURN | {"board": "Td9d6hQc2s", "pot": 168, "stacks": (64, 164, 114)}
    expected = solve(compile_game("holdem", **river), "cfr+", iters=10, precision="float64")
    (part,) = resolution.subgames
    np.testing.assert_allclose(part.solution.value, expected.value, rtol=0, atol=1e-9)


@pytest.mark.compiled
def test_a_blueprint_with_fewer_sizes_and_one_player() -> None:
    """Of one player only the own strategies are new; a game may be given by its rules."""
    coarse, line = turn(), "check check check 2s"
    fine = Holdem(**TURN | {"bets": {"turn": "60%", "river": "30%,60%"}})
    (part,) = resolve(fine, coarse, line, method="unsafe", algorithm="cfr", iters=5).subgames
    assert part.game.nodes.betting.children[0] == 3
    assert "all players" in repr(part)
    assert "margin" not in repr(part)
    resolution = resolve(
        coarse.game, coarse, line, method="unsafe", player=1, algorithm="cfr", iters=5
    )
    policy, old = resolution.policy.to_dict(), coarse.policy.to_dict()
    changed = {label for label, row in policy.items() if row != pytest.approx(old[label])}
    hands = set(coarse.game.nodes.hands[1])
    assert changed
    assert {label.split()[0] for label in changed} <= hands
    assert all(line in label for label in changed)
    with pytest.raises(ValueError, match="has no line 'check check check 2s bet18'"):
        resolve(fine, coarse, f"{line} bet18", method="unsafe")


REFUSED: dict[str, tuple[Callable[[Solution], Any], str]] = {
    "gadget": (lambda s: resolve(s.game, s, "check"), "method='resolve' is for two players"),
    "maxmargin": (
        lambda s: resolve(s.game, s, "check", method="maxmargin"),
        "'maxmargin' is for two",
    ),
    "gifts": (
        lambda s: resolve(s.game, s, "check", method="reach-maxmargin"),
        "margin' is for two",
    ),
    "lp": (
        lambda s: resolve(s.game, s, "check", method="unsafe", algorithm="lp"),
        "lp needs two players",
    ),
    "depth": (
        lambda s: resolve(s.game, s, "check", method="unsafe", depth_limit=1),
        "depth_limit and continuations need two",
    ),
    "belief": (lambda s: belief(s.game, s.policy, "check"), "method='unsafe'.* takes it"),
    "subgame": (lambda s: subgame(s.game, "check"), "are for games of two players"),
    "roots": (lambda s: subgame_roots(s.game), "are for games of two players"),
    "match": (lambda s: Match(s.game, s), "are for games of two players"),
    "forgotten": (forget_subgames, "CFR-D is for two players, and holdem Td9d6hQc has 3"),
    "cfr-d": (lambda s: solve(s.game, "cfr-d", iters=1), "CFR-D is for two players"),
    "nowhere": (
        lambda s: resolve(s.game, Policy.uniform(s.game), "check allin", method="unsafe"),
        "no step 'allin'",
    ),
    "folded": (
        lambda s: resolve(s.game, s, "bet36 fold call", method="unsafe", player=1),
        "player 1 has no decision in the subgame at 'bet36 fold call'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_for_two_players_is_refused(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call(turn())


def test_a_third_player_of_two_is_refused() -> None:
    game = compile_game("kuhn")
    with pytest.raises(ValueError, match="player must be 0 or 1, not 2"):
        resolve(game, Policy.uniform(game), "bet", player=2)
