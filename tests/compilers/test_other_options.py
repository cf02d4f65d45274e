"""A compiled spot with other ranges, boards and payoffs equals the spot compiled by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.layouts import farthest
from tensorcfr import CompiledGame, Solver, compile_game
from tensorcfr.compilers.cards import card_sums
from tensorcfr.games import make_game
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.poker.ranges import BY_EQUITY, range_text, read_range
from tensorcfr.rules import Fold

BETTING: dict[str, Any] = {"pot": 60, "stacks": 90, "bets": "50%", "raises": "a"}
SPOTS: dict[str, tuple[str, dict[str, Any], tuple[dict[str, Any], ...]]] = {
    "turn": (
        "holdem",
        {"board": "Td9d6h2c", "ranges": ("JJ,AQs", "QQ:0.5,AKs")},
        (
            {"board": "9c9d6h2c"},
            {"ranges": ("AA:0.25,KK", "JTs")},
            {"board": "AdKd4d3d", "ranges": ("AA", "QQ-JJ"), "rake": 0.05},
            {"dead": "JcQd"},
            {"folded": ("99+",)},
        ),
    ),
    "flop": (
        "holdem",
        {"board": "Td9d6h", "ranges": ("JJ", "AKs")},
        ({"board": "2c2d2h", "ranges": ("88", "AKs:0.5")},),
    ),
    "Omaha": (
        "omaha",
        {"board": "Td9d6h2c4s", "ranges": ("AAKK", "QQJJ")},
        ({"board": "Ad9d6h2c4s"}, {"ranges": ("AAKK:0.5,8877", "QQJJ")}),
    ),
    "short deck": (
        "short_deck",
        {"board": "Td9d6h7c", "ranges": ("JJ,AQs", "QQ")},
        ({"board": "AdKd6h7c"}, {"ranges": ("AA", "88"), "rake": 0.01}),
    ),
    "tournament": (
        "holdem",
        {
            **{"board": "Td9d6h2c4s", "ranges": ("JJ,AQs", "QQ")},
            **{"payouts": (50, 30), "others": (120,)},
        },
        ({"ranges": ("AA", "88")}, {"payouts": (60, 20)}),
    ),
}
LAYOUTS: tuple[dict[str, Any], ...] = ({}, {"symmetry": False}, {"cut": True}, {"cut": False})
FULL = pytest.mark.full
FAST = ((0, "turn"), (0, "tournament"), (1, "short deck"), (2, "turn"), (3, "Omaha"))


def assert_same(game: CompiledGame, other: CompiledGame) -> None:
    """Check every array and count."""
    arrays, others = game.arrays(), other.arrays()
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
    assert (game.digest, game.name) == (other.digest, other.name)
    assert (game.n_histories, game.n_infosets) == (other.n_histories, other.n_infosets)
    # The text of the source lists the same options, in any order.
    assert (game.recipe or [0])[1:] == (other.recipe or [0])[1:]


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        pytest.param(layout, name, id=f"{layout}-{name}", marks=[FULL] * ((k, name) not in FAST))
        for k, layout in enumerate(LAYOUTS)
        for name in SPOTS
    ],
)
def test_other_options_equal_a_fresh_compile(
    name: str, layout: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_river = len(SPOTS[name][1]["board"]) == 10
    if layout.get("cut") is not None and layout["cut"] == is_river:
        pytest.skip("rivers have nothing to cut, and other spots are large as flat games")
    maker, spot, all_changes = SPOTS[name]
    game = compile_game(maker, **BETTING, **spot, **layout)
    for changes in all_changes:
        again = game.with_options(**changes)
        # The other game is compiled without any betting that is known.
        for known in (card_sums._TREES, card_sums.KnownBettings):
            monkeypatch.setattr(known, "find", lambda *_: None)
        assert_same(again, compile_game(maker, **BETTING, **spot | changes, **layout))
        monkeypatch.undo()


def test_other_options_of_other_options_solve_the_same() -> None:
    _, spot, all_changes = SPOTS["turn"]
    game = compile_game("holdem", **BETTING, **spot)
    there, back = all_changes[0], {"board": spot["board"]}
    solvers = [Solver(one) for one in (game, game.with_options(**there).with_options(**back))]
    for solver in solvers:
        solver.iterate(5)
    np.testing.assert_array_equal(solvers[0].state.regret, solvers[1].state.regret)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bets": "75%"}, "holdem: bets changes the betting"),
        ({"stacks": 80}, "holdem: stacks changes the betting"),
        ({"board": "Td9d6h"}, "the betting is for 4 cards on the board, not 3"),
        ({"ranges": ("AA", "KK", "QQ")}, "the betting is for 2 ranges, not 3"),
        ({"ranges": ("AA", "A")}, r"holdem: ranges\[1\]"),
        ({"boards": "Td9d6h2d"}, "takes no 'boards'"),
    ],
)
def test_other_bettings_are_refused(changes: dict[str, Any], message: str) -> None:
    game = compile_game("holdem", **BETTING, **SPOTS["turn"][1])
    with pytest.raises((ValueError, TypeError), match=message):
        game.with_options(**changes)


def test_games_without_ranges_are_refused() -> None:
    with pytest.raises(ValueError, match="kuhn cannot be compiled with other options"):
        compile_game("kuhn").with_options(ranges=("AA", "KK"))
    rules: Any = make_game("rhode_island")
    with pytest.raises(ValueError, match="has no options that leave its betting"):
        rules.with_options(ranges=("AA", "KK"))


def test_rules_with_a_betting_of_their_own_are_read() -> None:
    """A subclass may have another betting than the spot whose sizes it has."""

    class Generous(Holdem):
        game = "holdem"

        def node(self, state: Any) -> Any:
            node = super().node(state)
            return node._replace(utilities=(7.0, -7.0)) if isinstance(node, Fold) else node

    spot: dict[str, Any] = {"board": "Td9d6h2c4s", "ranges": ("JJ", "QQ"), **BETTING}
    usual, generous = (compile_game(kind(**spot)) for kind in (Holdem, Generous))
    assert (generous.utilities[:, 0] == 7.0).any()
    assert not (usual.utilities[:, 0] == 7.0).any()


@pytest.mark.parametrize(("hands", "cut"), [("JJ,AQs", 2), ("22+", 2), ("22+", None)])
def test_boards_side_by_side_equal_boards_in_chunks(hands: str, cut: int | None) -> None:
    """A cut beyond the last deal makes no chunks; the strategies are those of chunks."""
    betting = {"pot": 60, "stacks": 900, "bets": "50%", "raises": "100%"}
    spot: dict[str, Any] = {"board": "Td9d6h2c", "ranges": (hands, "QQ,AKs"), **betting}
    games = [compile_game("holdem", **spot, cut=place) for place in (True, cut)]
    assert games[0].chunks.n_chunks > 0
    assert (games[1].chunks.n_chunks == 0) is (cut == 2)
    solvers = [Solver(game, "cfr+", precision="float64") for game in games]
    for solver in solvers:
        solver.iterate(4)
    assert farthest(*(solver.average_policy() for solver in solvers)) < 1e-12
    values = [solver.evaluate().values[0] for solver in solvers]
    assert values[0] == pytest.approx(values[1], abs=1e-12 * spot["pot"])


def test_all_weights_are_read_as_they_are_written() -> None:
    """1,326 single hands, and all groups, are read like the general notation."""
    weights = np.random.default_rng(0).random(1326).round(9)
    text = range_text(weights)
    np.testing.assert_array_equal(read_range(text), weights)
    # A blank needs the general reader.
    np.testing.assert_array_equal(read_range(f" {text}"), weights)
    for group in BY_EQUITY.split():
        np.testing.assert_array_equal(read_range(f"{group}:0.5"), read_range(f" {group} : 0.5"))
    np.testing.assert_array_equal(read_range("AK,AKs:0.5"), read_range(" AK, AKs:0.5"))
    np.testing.assert_array_equal(read_range("AKs,AsKs:0.5"), read_range(" AKs, AsKs:0.5"))
    for wrong in ("AA:", "AA:1.5", "AA:0.5:", "AA,,KK", "AsAs:0.5"):
        with pytest.raises(ValueError, match="range"):
            read_range(wrong)
