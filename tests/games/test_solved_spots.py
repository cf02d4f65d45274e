"""Solved spots: against dense references, and with every option of a solve."""

from __future__ import annotations

import csv
import json
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.equality import bits
from support.tiers import tiered
from tensorcfr import Locks, Solution, compile_game, solve
from tensorcfr.analysis import SolvedSpot, hand_table
from tensorcfr.games import make_spot
from tensorcfr.games.holdem import CARDS, HANDS, Holdem, grid_place
from tensorcfr.games.poker.spot import Spot
from tensorcfr.rules import Decision, Fold

RIVER: dict[str, Any] = {
    "board": "QsJh2h8d3c",
    "ranges": ("AA,KK,QQ,AKs", "AA-TT,AKs,AQs,AKo"),
    "pot": 100,
    "stacks": 200,
    "bets": "50%",
    "raises": "60%",
}
TURN: dict[str, Any] = {
    "board": "Td9d6hQd",
    "ranges": ("AA,KK,AJs,76s", "QJs,JTs,88,AQs"),
    "pot": 100,
    "stacks": 300,
    "bets": {"turn": "60%", "river": "50%"},
    "raises": "a",
}
OMAHA_RIVER = RIVER | {
    "ranges": (
        "AsAh4s5h,KsKhTs8s,JcTh9h7s:0.5,9s9c8s8c,QhQd5d4d",
        "AcAd4c5c,KdKc3s2s,JdTd9d7d,QcTc9h8h,2d2c3h4h",
    )
}
OMAHA_TURN = TURN | {
    "ranges": (
        "AsAh4s5h,KsKhJs8h,JcTh8h7s:0.5,9s9c8s8c",
        "AcAd4d5c,QsQh2s2h,Jh8d7d6s,KcKd3c3h,9h8c7c2d",
    ),
    "stacks": 220,
}
SPOTS = {
    "river": ("holdem", RIVER),
    "turn": ("holdem", TURN),
    "omaha river": ("omaha", OMAHA_RIVER),
    "omaha turn": ("omaha", OMAHA_TURN),
}


@cache
def solved(which: str) -> tuple[Solution, SolvedSpot]:
    """A spot after some iterations."""
    game, spot = SPOTS[which]
    solution = solve(compile_game(game, **spot), "dcfr", iters=100)
    return solution, SolvedSpot(solution)


# ----------------------------------------------------------------------- dense references


def best_response(shown: SolvedSpot, player: int) -> float:
    """What a best response to the average strategies earns on a river, hand by hand: a matrix of
    hands x hands for every terminal.  The order of strengths is eval7's."""
    eval7 = pytest.importorskip("eval7")
    rules = shown.rules
    assert isinstance(rules, Holdem)
    board = [eval7.Card(CARDS[card]) for card in rules.board]
    hands = [rules.hands[player], rules.hands[1 - player]]
    strength = [
        np.array([eval7.evaluate([*board, *(eval7.Card(CARDS[c]) for c in h)]) for h in own])
        for own in hands
    ]
    shared = (hands[0][:, None, :, None] == hands[1][None, :, None, :]).any(axis=(2, 3))
    weight = rules.weights[player][:, None] * rules.weights[1 - player] * ~shared
    ahead = np.sign(strength[0][:, None] - strength[1])

    def value(state: Any, line: str, reach: np.ndarray) -> np.ndarray:
        node = rules.node(state)
        if isinstance(node, Decision):
            after = [
                (rules.next(state, action), f"{line} {action}".strip()) for action in node.actions
            ]
            if node.player == player:
                return np.max([value(*one, reach) for one in after], axis=0)
            strategy = shown.table(line).strategy
            return sum(value(*one, reach * strategy[:, a]) for a, one in enumerate(after))
        if isinstance(node, Fold):
            return node.utilities[player] * (weight @ reach)
        win, tie, lose = node if player == 0 else node[::-1]
        paid = np.where(ahead > 0, win[player], np.where(ahead < 0, lose[player], tie[player]))
        return (weight * paid) @ reach

    total = value(rules.root(), "", np.ones(len(hands[1])))
    return float(total.sum() / weight.sum())


@pytest.mark.compiled
@pytest.mark.full
@pytest.mark.parametrize("ranges", [("AA,KK,QQ,AKs", "AA-TT,AKs,AQs,AKo"), ("random", "random")])
def test_the_exploitability_of_a_river(ranges: tuple[str, str]) -> None:
    """Best responses of the kernel equal those of matrices of hands x hands."""
    spot = RIVER | {"ranges": ranges, "bets": "50%,100%", "rake": 0.05, "rake_cap": 20}
    solution = solve(compile_game("holdem", **spot), "dcfr", iters=60, precision="float64")
    shown = SolvedSpot(solution)
    found = [best_response(shown, player) for player in range(2)]
    assert solution.nash_conv == pytest.approx(sum(found) - sum(solution.value), abs=1e-9)


def worth_by_hand(shown: SolvedSpot, line: str) -> list[np.ndarray]:
    """What a line of a river is worth to every hand of both players, with a matrix of hands x hands
    for every terminal; NaN where no hand of the other player gets there."""
    rules, ways = shown.rules, [np.ones(len(own)) for own in shown.rules.hands]
    assert isinstance(rules, Spot)
    strength = [rules.strength(rules.board, own) for own in rules.hands]
    ahead = np.sign(strength[0][:, None] - strength[1])
    first, second = rules.hands
    shared = (first[:, None, :, None] == second[None, :, None, :]).any(axis=(2, 3))
    weight = np.outer(*rules.weights) * ~shared
    state, taken = rules.root(), ""
    for step in line.split():
        acts, strategy = rules.node(state).player, shown.table(taken).strategy
        ways[acts] = ways[acts] * strategy[:, rules.node(state).actions.index(step)]
        state, taken = rules.next(state, step), f"{taken} {step}".strip()

    def paid(state: Any, line: str, both: np.ndarray) -> np.ndarray:
        """float64 (players, hands of player 0, hands of player 1)."""
        node = rules.node(state)
        if isinstance(node, Decision):
            strategy, total = shown.table(line).strategy, np.zeros((2, *both.shape))
            for action, share in zip(node.actions, strategy.T, strict=True):
                own = share[:, None] if node.player == 0 else share
                after = rules.next(state, action), f"{line} {action}".strip()
                total += paid(*after, both * own)
            return total
        win, tie, lose = [node.utilities] * 3 if isinstance(node, Fold) else node
        won = [np.where(ahead > 0, win[p], np.where(ahead < 0, lose[p], tie[p])) for p in (0, 1)]
        return np.array(won) * both

    found = []
    for player in range(2):
        # As if the player did all to get there, with every hand.
        alone = (
            [np.ones_like(ways[0]), ways[1]] if player == 0 else [ways[0], np.ones_like(ways[1])]
        )
        both = weight * np.outer(*alone)
        axis = 1 - player
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append(paid(state, taken, both)[player].sum(axis=axis) / both.sum(axis=axis))
    return found


@pytest.mark.compiled
@pytest.mark.parametrize(
    "line", ["", "check", "bet50", "check bet50 allin", "bet50 fold", "check check"]
)
@pytest.mark.parametrize("which", tiered(["river", "omaha river"], fast=["river"]))
def test_values_of_both_players_on_a_river(which: str, line: str) -> None:
    """Of who acts and of who does not, and where nobody does, equal sums over hands x hands."""
    _, shown = solved(which)
    for found, expected in zip(shown.values(line), worth_by_hand(shown, line), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert np.isfinite(found).any()


@pytest.mark.compiled
@pytest.mark.parametrize(
    "line",
    ["", "bet60", "check check", "bet60 call 2c", "bet60 allin call", "check check As check bet50"],
)
@pytest.mark.full
@pytest.mark.parametrize("which", ["turn", "omaha turn"])
def test_values_of_both_players_on_a_turn(which: str, line: str) -> None:
    """Where a player acts they are those of the table; what one wins the other one loses; and the
    shares of the pot sum to the pot."""
    solution, shown = solved(which)
    node = shown.nodes.find_line(line)
    found, own = shown.values(line), [shown._values.own_reaches(node)[one] for one in range(2)]
    joint = [
        reach * shown.nodes.counterfactual_reach(node, one, own) for one, reach in enumerate(own)
    ]
    assert joint[0].sum() == pytest.approx(joint[1].sum(), rel=1e-9)
    total = [float(w @ np.nan_to_num(v)) for w, v in zip(joint, found, strict=True)]
    assert abs(total[0]) > 1e-3 * joint[0].sum()
    assert total[0] == pytest.approx(-total[1], rel=1e-9)
    if shown.nodes.player(node) >= 0:
        table = shown.table(line)
        names = shown.nodes.hands[table.player]
        at = [names.index(hand) for hand in table.hands]
        np.testing.assert_allclose(found[table.player][at], table.value, rtol=0, atol=1e-8)
    in_pot = SolvedSpot(solution, of="pot")
    pot = sum(in_pot.rules.put_in(shown.nodes.state(node)))
    shares = [float(w @ np.nan_to_num(v)) for w, v in zip(joint, in_pot.values(line), strict=True)]
    assert sum(shares) == pytest.approx(pot * joint[0].sum(), rel=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("which", tiered(["river", "omaha river"], fast=["river"]))
def test_shares_of_the_pot(which: str) -> None:
    """Who folds has nothing of it, as WASM Postflop shows it; all else is higher by what the player
    has put in."""
    solution, net = solved(which)
    shown = SolvedSpot(solution, of="pot")
    found, expected = shown.table("bet50"), net.table("bet50")
    np.testing.assert_allclose(found.values[:, 0], 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.values, expected.values + 50.0, rtol=0, atol=1e-9)
    raised = shown.table("bet50 allin").values - net.table("bet50 allin").values
    np.testing.assert_allclose(raised, 50.0 + 50.0, rtol=0, atol=1e-9)
    assert shown.evaluation == net.evaluation
    with pytest.raises(ValueError, match="of must be one of"):
        SolvedSpot(solution, of="half")  # type: ignore[arg-type]


@pytest.mark.compiled
@pytest.mark.full
def test_locks() -> None:
    """A locked game of cards equals the flat game with the same locks; all hands of a range."""
    game = compile_game("holdem", **RIVER)
    flat = compile_game(game.nodes.rules, cut=False)
    locks = {label: {"check": 0.25, "bet50": 0.75} for label in game.nodes.hands[0]}
    double = {"precision": "float64", "locks": locks}
    found, expected = (solve(g, "cfr+", iters=50, **double) for g in (game, flat))
    np.testing.assert_allclose(found.value, expected.value, rtol=0, atol=1e-9)
    assert found.exploitability == pytest.approx(expected.exploitability, abs=1e-9)
    np.testing.assert_allclose(hand_table(found).strategy[:, 1], 0.75, rtol=0, atol=1e-12)
    # Values are those against the lock, also where the average never gets.
    never = {
        f"{label} bet50": {"fold": 1.0, "call": 0.0, "allin": 0.0} for label in game.nodes.hands[1]
    }
    only = {label: {"check": 1.0, "bet50": 0.0} for label in game.nodes.hands[0]}
    unreached = solve(game, "cfr+", iters=5, **double | {"locks": never | only})
    assert (hand_table(unreached, "bet50").strategy[:, 0] == 1.0).all()
    np.testing.assert_allclose(hand_table(unreached).values[:, 1], 50.0, rtol=0, atol=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize(("call", "value"), [(0.0, 50), (0.25, 37.5), (0.5, 25), (1.0, 50)])
def test_a_lock_changes_what_is_right_before_it(call: float, value: float) -> None:
    """By hand: against KK that calls all-in with probability p, AA wins 50 + 100 p, and QQ the
    larger of 50 - 200 p (all-in) and -50."""
    bets = {"oop": "a", "ip": "a"}
    spot = {"board": "2s2h2d3c3d", "ranges": ("AA,QQ", "KK"), "pot": 100, "stacks": 100}
    game = compile_game("holdem", **spot, bets=bets, add_allin=0)
    locks = {"* allin": {"fold": 1 - call, "call": call}}
    found = solve(game, target=1e-3, locks=locks)
    assert found.value[0] == pytest.approx(value, abs=2e-3)


SMALL_TURN = TURN | {"ranges": ("AA,KK", "QJs,88"), "bets": "60%", "raises": ""}


def spelled_out(game: Any, locks: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Locks of ranges and runouts as locks of every infoset, by the labels of the flat game: a
    second reading of what they mean."""
    found = {}
    for label in (label for player in range(2) for label in game.labels_of(player)):
        hand, *line = label.split()
        for key, row in locks.items():
            named, *steps = key.split()
            ranks = hand[0] + hand[2]
            fits = named in ("*", hand) or ranks in named.split(",")
            fits &= len(line) == len(steps)
            if fits and all(b in ("*", a) for a, b in zip(line, steps, strict=True)):
                found[label] = row
    return found


LINE_LOCKS = {
    "*": {"check": 0.5},
    "KK": {"check": 0.75},
    "AA,KK check bet60": {"fold": 0.0, "call": 1.0},
    "QQ,88 check check * check": {"check": 1.0},
    "8d8c check check 2c check": {"check": 0.25},
}


@pytest.mark.parametrize("symmetry", [False, True])
def test_locks_of_ranges_and_lines(symmetry: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They mean the infosets that the labels of the flat game say, and the flat game, with its
    hands x hands, is not made for them."""
    game = compile_game("holdem", symmetry=symmetry, **SMALL_TURN)
    locks = dict(LINE_LOCKS)
    if symmetry:
        # Clubs and spades are alike, and so are two and two of these hands.
        del locks["8d8c check check 2c check"]
    numbers = Locks(game, locks).probabilities()
    expected = np.full_like(numbers, -1.0)
    for label, row in spelled_out(game, locks).items():
        at = game.locate(label)
        given = np.array([row.get(action, -1.0) for action in at.actions])
        given[given < 0] = 1.0 - given[given >= 0].sum()
        expected[at.numbers] = given
    np.testing.assert_array_equal(numbers, expected)
    assert (numbers >= 0).sum() > 300
    fresh = compile_game("holdem", symmetry=symmetry, **SMALL_TURN)
    monkeypatch.setattr(fresh, "_lay_out", lambda limit: pytest.fail("the flat game is made"))
    np.testing.assert_array_equal(Locks(fresh, locks).probabilities(), expected)
    assert Locks(fresh, locks)["KK"] == {"check": 0.75, "bet60": 0.25}
    named = [Locks(fresh, {label: {"check": 0.5}}) for label in ("*", "start", "* start")]
    assert [list(own) for own in named] == [["*"]] * 3  # The first decision has three names.
    bets = Locks(fresh, {"KK start": {"bet60": 1}}).probabilities()
    np.testing.assert_array_equal(bets, Locks(fresh, {"KK": {"bet60": 1}}).probabilities())


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("AA check bet6", "no step 'bet6'"),
        ("AA check check 2c fold", "no step 'fold'"),
        ("AA check check", "nobody acts after 'check check'"),
        ("AA check check Td", "'Td' cannot be dealt"),
        ("QQ check bet60", "player 0 cannot have any of these hands"),
        ("AA:0.5 check bet60", "has weights"),
        ("AX check bet60", "'AX' at character 1 is not a group of hands"),
        ("", "a lock names hands and a line"),
        ("start check", "is not a group of hands"),
        ("8d8c check", "symmetry=False"),
        ("88 check check 2c check", "symmetry=False"),
    ],
)
def test_bad_locks(label: str, message: str) -> None:
    game = compile_game("holdem", **SMALL_TURN)
    with pytest.raises(ValueError, match=message):
        Locks(game, {label: {game.lockable(label)[1][0]: 1.0}}).probabilities()


@pytest.mark.compiled
@pytest.mark.full
@pytest.mark.parametrize(("precision", "bound"), [("float32", 0.01), ("int16", 0.2)])
def test_precisions(precision: str, bound: float) -> None:
    """Bounds in chips of a pot of 100; the exploitability of 100 iterations is 0.012."""
    exact, _ = solved("turn")
    found = solve(compile_game("holdem", **TURN), "dcfr", iters=100, precision=precision)
    np.testing.assert_allclose(found.value, exact.value, rtol=0, atol=bound)
    assert found.exploitability == pytest.approx(exact.exploitability, abs=bound)
    first, second = hand_table(exact), hand_table(found)
    assert first.mean(first.value) == pytest.approx(second.mean(second.value), abs=bound)


@pytest.mark.compiled
@pytest.mark.full
def test_threads_and_checkpoints_keep_the_bits(tmp_path: Path) -> None:
    """Boards that are alike share chunks here, too."""
    game = compile_game("holdem", **TURN)
    whole = solve(game, "dcfr", iters=40)
    threaded = solve(game, "dcfr", iters=40, threads=3)
    path = tmp_path / "at.npz"
    solve(game, "dcfr", iters=20, checkpoint=path, checkpoint_iterations=10)
    resumed = solve(game, iters=20, start=Solution.load(path))
    assert bits(threaded.state) == bits(resumed.state) == bits(whole.state)


# ------------------------------------------------------------------------------- the answers


@pytest.mark.compiled
def test_equity_hand_by_hand() -> None:
    """Every river card and every hand of the other player, counted one by one; by eval7."""
    eval7 = pytest.importorskip("eval7")
    _, shown = solved("turn")
    table = shown.table()
    other = shown.ranges("")[1]
    rules = shown.rules

    def rank(hand: np.ndarray, card: int) -> int:
        return eval7.evaluate([eval7.Card(CARDS[c]) for c in (*rules.board, card, *hand)])

    for h in (0, len(table.hands) - 1):
        won = met = 0.0
        for card in set(range(52)) - {*rules.board, *table.cards[h].tolist()}:
            own = rank(table.cards[h], card)
            for o, weight in enumerate(other):
                if {*rules.hands[1][o].tolist()} & {*table.cards[h].tolist(), card}:
                    continue
                theirs = rank(rules.hands[1][o], card)
                won += weight * ((own > theirs) + (own == theirs) / 2)
                met += weight
        assert table.equity[h] == pytest.approx(won / met, abs=1e-12)


@pytest.mark.compiled
def test_equity_against_a_range_with_weights() -> None:
    """AA against QQ:0.01,22,A4s:0.5 with one card to come: 21/22, by eval7 over all rivers (after
    rust_poker's issue 8)."""
    ranges = ("AA", "QQ:0.01,22,A4s:0.5")
    game = compile_game("holdem", board="8s4c3d7h", ranges=ranges, pot=100, stacks=100, bets="50%")
    equity = hand_table(solve(game, iters=1), "start").equity
    np.testing.assert_allclose(equity, 21 / 22, rtol=0, atol=1e-6)


# Showdowns on which other programs were wrong, or by which the games differ, from the rules.
@pytest.mark.parametrize(
    ("game", "board", "hands", "result"),
    [
        ("holdem", "QdJd9dKc6d", ("Ad5d", "Qc7d"), 1),  # PyPokerEngine, issue 78.
        ("holdem", "QdJd9dKc6d", ("Ah5d", "Qc7d"), -1),
        ("holdem", "3d6dTdJdAd", ("2d4c", "Ts5s"), 0),  # deep-holdem-ai, issue 1.
        ("holdem", "2d3d4d5dKh", ("Ad9c", "6c9s"), 1),  # pokerth, issue 369.
        ("holdem", "TsJdQc6d5c", ("Ks9h", "As9d"), 1),  # pokersolver, issue 8.
        ("holdem", "3h4h5hTc2s", ("KhTh", "QhJh"), 1),
        ("omaha", "Ts7d8h4s2c", ("AsKs5d7c", "KdQdJh3h"), 1),  # PokerHandEvaluator, issue 21.
        ("omaha", "3s5hQsQd9h", ("Ks8cJs5c", "AhAd7c2c"), -1),  # PokerHandEvaluator, issue 81.
        ("omaha", "3s5hQsQd9h", ("Ks8cJs5c", "4h4d7c2c"), 1),
        ("omaha", "AhKh9h4h2s", ("QhTdTc8d", "AdKc7c6s"), -1),
        ("omaha", "9s9h9d9c2s", ("AsAhKdKc", "3h3d4h4d"), 1),
        ("short_deck", "AhKhTh7c7d", ("Qh8h", "KcKd"), 1),
        ("short_deck", "6s7d8hKcQc", ("Ah9c", "KdKh"), 1),
        ("short_deck", "6s7d8hKcQc", ("Ah9c", "8c8d"), 1),
        ("short_deck", "6s7d8hKcQc", ("Ah9c", "9dTs"), -1),
        ("short_deck", "6s7s8sKcKd", ("As9s", "KhKs"), 1),
    ],
)
def test_showdowns(game: str, board: str, hands: tuple[str, str], result: int) -> None:
    spot = make_spot(game=game, board=board, ranges=hands, pot=100, stacks=100)
    first, second = (int(spot.strength(spot.board, own)[0]) for own in spot.hands)
    assert np.sign(first - second) == result


@pytest.mark.compiled
@pytest.mark.full
@pytest.mark.parametrize("which", ["turn", "omaha turn"])
def test_runouts_are_the_tables_of_their_lines(which: str) -> None:
    """And the mean over all cards is the value before the card."""
    _, shown = solved(which)
    found = shown.runouts("check check *", equity=True)
    assert len(found.cards) == 48
    assert found.probability.sum() == pytest.approx(1.0, abs=1e-12)
    before = shown.table("check")
    checks = before.share * before.strategy[:, 0]
    expected = -checks @ before.values[:, 0] / checks.sum()
    assert found.probability @ found.value == pytest.approx(expected, abs=1e-9)
    at = found.cards.index(("7s",))
    table = shown.table("check check 7s")
    assert found.frequency[at].tolist() == list(table.frequencies.values())
    assert found.equity[at] == table.mean(table.equity)
    if which == "turn":
        # Clubs and spades are alike: the board has two diamonds more, and a heart.
        one, other = found.cards.index(("2c",)), found.cards.index(("2s",))
        np.testing.assert_allclose(found.frequency[one], found.frequency[other], rtol=0, atol=1e-12)
    assert found.frequencies["check"] == pytest.approx(found.probability @ found.frequency[:, 0])


@pytest.mark.compiled
def test_grids_groups_paths_and_units() -> None:
    _, shown = solved("river")
    table = shown.table("check")
    combos = table.grid(table.weight, total=True)
    assert np.nansum(combos) == pytest.approx(table.weight.sum())
    assert combos[grid_place(HANDS[0])] == 6.0  # Aces.
    groups = table.groups()
    assert [row["made"] for row in groups] == ["three of a kind", "pair", "high card"]
    assert sum(row["share"] for row in groups) == pytest.approx(1.0)
    assert sum(row["share"] * row["check"] for row in groups) == pytest.approx(
        table.frequencies["check"]
    )
    path = shown.path("check bet50 call")
    assert [row["player"] for row in path] == [0, 1, 0]
    assert path[0]["frequency"] == shown.table().frequencies["check"]
    assert path[1]["combos 1"] < path[0]["combos 1"] == table.weight.sum()
    left = shown.ranges("check bet50")
    np.testing.assert_allclose(left[1], table.weight * table.strategy[:, 1], rtol=0, atol=1e-12)
    assert shown.units(5.0, "pot") == 5.0
    assert shown.units(5.0, "mbb", big_blind=2.0) == 2500.0
    for call, message in [
        (lambda: shown.units(1.0, "bb"), "unit must be"),
        (lambda: shown.runouts("check"), "line must have"),
        (lambda: shown.runouts("check *"), "has no step|cannot be dealt"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.compiled
def test_tables_in_files(tmp_path: Path) -> None:
    _, shown = solved("turn")
    table, found = shown.table("check"), shown.runouts("check check *")
    table.save(tmp_path / "hands.csv")
    with (tmp_path / "hands.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["hand"] for row in rows] == list(table.hands)
    assert [float(row["value of bet60"]) for row in rows] == table.values[:, 1].tolist()
    found.save(tmp_path / "cards.json")
    read = json.loads((tmp_path / "cards.json").read_text())
    assert [row["check"] for row in read] == found.frequency[:, 0].tolist()
    assert read[0]["equity"] is None
    parquet = pytest.importorskip("pyarrow.parquet")
    table.save(tmp_path / "hands.parquet")
    columns = parquet.read_table(tmp_path / "hands.parquet").to_pydict()
    assert columns["check"] == table.strategy[:, 0].tolist()
    with pytest.raises(ValueError, match="path must end in one of"):
        table.save(tmp_path / "hands.xls")


def test_all_orders_of_suits_are_symmetries() -> None:
    found = Holdem(**TURN).symmetries()
    assert len(found) == 24
    named = {tuple(CARDS[card][1] for card in row[:4]) for row in found}
    assert named == set(permutations("cdhs"))
    assert all(CARDS[a][0] == CARDS[b][0] for row in found for a, b in enumerate(row))
