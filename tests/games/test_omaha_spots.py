"""What spots have, for hands of four cards: beside the plain way, to the bit or to 1e-12; groups of
hands beside counts by hand."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.command_line import USAGE, printed, refused
from support.equality import as_game, bits
from support.fake_cluster import FakeClient, play_cluster
from support.tiers import tiered
from tensorcfr import Locks, Policy, Solution, Solver, compile_game, evaluate, resolve, solve
from tensorcfr.algorithms import ALGORITHMS
from tensorcfr.analysis import SolvedSpot, solve_boards
from tensorcfr.cluster.cluster_solver import ClusterSolver
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.errors import FormatError
from tensorcfr.formats import parse_spot, read_spot_options, save_spot, spot_text
from tensorcfr.games.omaha import Omaha, read_range
from tensorcfr.games.poker import omaha_groups as omaha_groups
from tensorcfr.games.poker.deck import read_cards
from tensorcfr.games.poker.omaha_ranges import every_hand
from tensorcfr.games.poker.omaha_strength import omaha_strengths
from tensorcfr.games.poker.strength import CATEGORIES

TURN: dict[str, Any] = {
    "board": "Td9d6hQc",
    "ranges": (
        "AsAh4s5h,KsKhJs8h,JcTh8h7s:0.5,9s9c8s8c",
        "AcAd4d5c,QsQh2s2h,Jh8d7d6s,KcKd3c3h,9h8c7c2d",
    ),
    "pot": 100,
    "stacks": 220,
    "bets": "pot",
}


@cache
def turn() -> Any:
    """The spot in chunks, a river each."""
    return compile_game("omaha", **TURN)


# ------------------------------------------------------------------------------ ways to solve


@pytest.mark.parametrize("precision", tiered(("float32", "int16"), fast=("float32",)))
def test_threads_files_and_workers_keep_the_bits(
    precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, record = turn(), ALGORITHMS["dcfr"]
    assert game.chunks.n_chunks
    plain = Solver(game, record, precision=precision)
    plain.iterate(6)
    threaded = Solver(game, record, precision=precision, threads=2)
    on_disk = Solver(game, record, precision=precision, state_dir=tmp_path)
    for other in (threaded, on_disk):
        other.iterate(6)
        assert bits(plain.state) == bits(other.state)
    play_cluster(monkeypatch)
    with ClusterSolver(game, record, cluster=FakeClient(2), precision=precision) as there:
        there.iterate(6)
        assert bits(plain.state) == bits(there.state)


@pytest.mark.full
def test_what_is_told_of_sixteen_bits_is_so() -> None:
    """The exploitability of a solve in 16 bits, and that of its strategies in the game hand by
    hand."""
    game, by_hand = turn(), compile_game(as_game(HandByHand(Omaha(**TURN))), cut=False)
    found = solve(game, "dcfr", iters=30, precision="int16")
    rows = {label: found.policy[label] for player in (0, 1) for label in by_hand.labels_of(player)}
    told = evaluate(by_hand, Policy.from_mapping(by_hand, rows))
    assert told.exploitability == pytest.approx(found.exploitability, abs=1e-4)
    assert told.values == pytest.approx(found.value, abs=1e-4)


# ------------------------------------------------------------------------------------- locks


@pytest.mark.full
def test_a_lock_of_a_range_is_one_of_each_hand() -> None:
    game = turn()
    row = {"check": 0.25}
    cases = {
        "KK$op,99": ("KsKhJs8h", "9s9c8s8c"),
        "JT,$ds$op": ("JcTh8h7s", "AsAh4s5h", "KsKhJs8h"),
    }
    for text, hands in cases.items():
        one = Locks(game, {text: row}).probabilities()
        assert (one >= 0).any()
        np.testing.assert_array_equal(one, Locks(game, dict.fromkeys(hands, row)).probabilities())
    locked = solve(game, iters=5, locks={"KK$op check bet100": {"call": 1.0}, "AA": {"check": 1.0}})
    table = SolvedSpot(locked).table()
    assert table.strategy[table.hands.index("AsAh5h4s"), 0] == 1.0
    with pytest.raises(ValueError, match="player 0 cannot have any of these hands"):
        Locks(game, {"7654": row}).probabilities()


# -------------------------------------------------------------------------- parts, boards, files


@pytest.mark.full
@pytest.mark.parametrize("method", ["resolve", "unsafe"])
def test_a_river_is_solved_again(method: str) -> None:
    """As in the same game laid out."""
    game = compile_game("omaha", symmetry=False, **TURN)
    flat = game.flat()
    blueprint = solve(game, iters=20, precision="float64").policy
    rows = {label: blueprint[label] for player in (0, 1) for label in flat.labels_of(player)}
    options: dict[str, Any] = {"method": method, "algorithm": "lp"}
    at = "check check 2s"
    found = resolve(game, blueprint, at, **options)
    slow = resolve(flat, Policy.from_mapping(flat, rows), at, **options)
    for one, other in zip(found.subgames, slow.subgames, strict=True):
        assert (one.public_node.split(), one.hands) == (other.public_node.split(), other.hands)
        np.testing.assert_allclose(one.alternative, other.alternative, rtol=0, atol=1e-9)
        assert one.solution.value == pytest.approx(other.solution.value, abs=1e-7)


@pytest.mark.full
def test_a_report_on_boards() -> None:
    """Each row is what a solve of that board says."""
    boards = ["Td9d6hQcTs", "2c7d8sJdKh"]
    report = solve_boards(Omaha(**TURN), boards, line="check", target="2%")
    for board, row in zip(boards, report.rows, strict=True):
        found = solve(compile_game("omaha", **(TURN | {"board": board})), target="2%")
        table = SolvedSpot(found).table("check")
        assert (row["board"], row["player"]) == (board, "ip")
        assert row["bet100"] == table.frequencies["bet100"]
        assert row["equity"] == table.mean(table.equity)


def test_a_solution_in_a_file(tmp_path: Path) -> None:
    found = solve(turn(), iters=10)
    found.save(tmp_path / "turn.npz")
    again = Solution.load(tmp_path / "turn.npz")
    assert again.game.digest == found.game.digest
    assert bits(found.state) == bits(again.state)
    whole, rest = solve(turn(), iters=30), solve(again.game, iters=20, start=again)
    assert bits(whole.state) == bits(rest.state)


def test_a_spot_in_a_file(tmp_path: Path) -> None:
    """Its game is the first key; without one it is hold'em."""
    spot = Omaha(**TURN)
    text = spot_text(spot)
    assert text.startswith('game = "omaha"\n')
    assert type(parse_spot(text)) is Omaha
    assert parse_spot(text).options == spot.options
    path = save_spot(compile_game("omaha", **TURN), tmp_path / "spot.toml")
    assert read_spot_options(path) == {"game": "omaha"} | spot.options
    assert compile_game(path).digest == turn().digest
    with pytest.raises(FormatError, match=r"spot:8:\d+: omaha: ranges\[0\]: 'AAAAA'"):
        parse_spot(text.replace(TURN["ranges"][0], "AAAAA"))
    for game, message in [("kuhn", "kuhn has no spots; holdem, omaha,"), ("x", "no game 'x'")]:
        with pytest.raises(FormatError, match=message):
            parse_spot(text.replace("omaha", game))


# ------------------------------------------------------------------------------------ commands

WORDS = (
    *("--game", "omaha", "--board", "Td9d6hQcTs", "--oop", "AA,QQ$ds", "--ip", "TT,AA$ds:0.5"),
    *("--pot", "100", "--stacks", "300", "--bets", "pot", "--raises", "pot"),
)


def test_the_command(tmp_path: Path) -> None:
    spot, saved = tmp_path / "spot.toml", tmp_path / "spot.npz"
    said = printed("spot", *WORDS, "--size", "--save-spot", spot)
    assert said.startswith("omaha Td9d6hQcTs: ")
    how = ("--algorithm", "cfr+", "--precision", "float64", "--target", "2%")
    said = printed("spot", spot, *how, "--node", "check", "--rows", 3, "--save", saved)
    table = SolvedSpot(Solution.load(saved)).table("check")
    assert f"and {len(table.hands) - 3:,} more" in said
    lines = [line.split() for line in said.splitlines()]
    for by in ("pairs", "suits", "made"):
        for row in table.groups(by):
            assert any(line[: len(row[by].split())] == row[by].split() for line in lines), row
    heads = "double-suited single-suited three of a suit one suit rainbow"
    assert heads.split() in lines
    # The old name of the command, and a solution to look at.
    assert printed("spot", saved, "--node", "check", "--rows", 3).endswith(said[-200:])
    assert refused(USAGE, "spot", "--game", "kuhn", *WORDS[2:]).startswith("kuhn has no spots")
    assert refused(USAGE, "play", "leduc", "--game", "omaha").endswith("it takes no game")


# -------------------------------------------------------------------------------------- groups


def counted(hand: list[int]) -> tuple[str, str]:
    """The pairs and the suits of a hand, from how often its ranks and suits come."""
    ranks, suits = Counter(card // 4 for card in hand), Counter(card % 4 for card in hand)
    shape = tuple(sorted(ranks.values(), reverse=True))
    pair = {12: "AA", 11: "KK"}.get(max(ranks, key=lambda rank: ranks[rank]), "lower pair")
    by_rank = {(4,): "four alike", (3, 1): "three alike", (2, 2): "two pairs", (2, 1, 1): pair}
    by_suit = {
        (4,): "one suit",
        (3, 1): "three of a suit",
        (2, 2): "double-suited",
        (2, 1, 1): "single-suited",
        (1, 1, 1, 1): "rainbow",
    }
    return by_rank.get(shape, "no pair"), by_suit[tuple(sorted(suits.values(), reverse=True))]


def test_pairs_and_suits() -> None:
    """Each hand by its own cards; and the hands of a group are those of its range."""
    hands = every_hand()
    found = omaha_groups.pairs(hands), omaha_groups.suits(hands)
    for hand in range(0, len(hands), 97):
        names = tuple(one.names[one.of_hand[hand]] for one in found)
        assert names == counted(hands[hand].tolist())
    for one in found:
        for group, text in enumerate(one.ranges):
            np.testing.assert_array_equal(one.of_hand == group, read_range(text) > 0, text)
    rows, columns = found
    both = (rows.of_hand == 2) & (columns.of_hand == 0)
    text = rows.ranges[2] + columns.ranges[0]
    np.testing.assert_array_equal(both, read_range(text) > 0)


@pytest.mark.parametrize(
    ("hand", "name"),
    [
        ("TcTh2s3s", "four of a kind"),
        ("QdQs2s3s", "full house"),
        ("KcJs2s3h", "straight"),
        # Four cards of the board and one of the hand are no straight; three and two are.
        ("Jc2s3s4h", "nothing"),
        ("Th2s3s4c", "trips"),
        ("9c9h2s3s", "full house"),
        ("Qd9h2s3s", "two pair"),
        ("AsAh2s3c", "overpair"),
        ("QsAh2s3c", "top pair"),
        ("8s8h2s3c", "underpair"),
        ("9s5h2s3c", "low pair"),
        ("6s5h2s3c", "low pair"),
        ("As5h2s3c", "ace high"),
        ("Ks5h2s3c", "king high"),
    ],
)
def test_made_hands(hand: str, name: str) -> None:
    """On a board with a pair of tens: what the best two cards add to it."""
    board = read_cards("Td9d6hQcTs", "board")
    hands = np.array(read_cards(hand, "hand"))[None]
    found = omaha_groups.made_hands(
        board, hands, omaha_strengths(np.array(board), hands), CATEGORIES
    )
    assert found.names[found.of_hand[0]] == name


def test_tables_by_groups() -> None:
    """Means over the hands of a group, one by one; the grid has the hands of two groups."""
    shown = SolvedSpot(solve(turn(), iters=10))
    table = shown.table("check")
    assert list(table.grouped) == ["pairs", "suits", "made"]
    for by in table.grouped:
        rows = table.groups(by)
        assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=1e-12)
        for row in rows:
            own = [k for k, one in enumerate(table.rows()) if one[by] == row[by]]
            share = table.share[own] / table.share[own].sum()
            assert row["bet100"] == pytest.approx(share @ table.strategy[own, 1], abs=1e-12)
            assert row["value"] == pytest.approx(share @ table.value[own], abs=1e-12)
    grid = table.grid(table.strategy)
    rows, columns = table.places.heads
    assert grid.shape == (len(rows), len(columns), 2)
    at = rows.index("AA"), columns.index("double-suited")
    hand = table.hands.index("AdAc5c4d")
    assert counted(table.cards[hand].tolist()) == ("AA", "double-suited")
    np.testing.assert_allclose(grid[at], table.strategy[hand], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="no groups by 'suit'; did you mean 'suits'"):
        table.groups("suit")
