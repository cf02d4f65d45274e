"""Omaha hi-lo: low hands beside all choices of cards and beside pokerkit, pots beside chips that
are counted on paper, and spots beside their histories."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from support.layouts import step_alike
from support.reference import build_tree
from support.slow_strengths import low_of, worth
from support.slow_values import DealtCards, SlowValues
from tensorcfr import GameError, MemoryLimitError, Policy, Solver, compile_game, resolve, solve
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.analysis import SolvedSpot
from tensorcfr.compilers import game_size
from tensorcfr.evaluation import exact_equilibrium
from tensorcfr.formats import parse_spot, spot_text
from tensorcfr.games import make_game, make_spot
from tensorcfr.games.omaha_hi_lo import LOWS, OmahaHiLo
from tensorcfr.games.poker.deck import CARDS, read_cards
from tensorcfr.rules import Chance, Decision, Showdown, Terminal

RIVER: dict[str, Any] = {
    "board": "Ad2c7hKs8d",
    "ranges": (
        "3s4sQdQh,5s6sTcTd:0.5,KhKcQsJs,3c5c9h9d",
        "3h4hKdJc,AsAh9s9c,5h6hTsJd,QcJhTh9c,3d5d7s6c",
    ),
    "pot": 100,
    "stacks": 300,
    "bets": "pot",
    "raises": "pot",
}
TURN: dict[str, Any] = RIVER | {
    "board": "Ad2c7hKs",
    "ranges": ("3s4sQdQh,KhKcQsJs:0.5", "3h5hKdJc,AsAh9s9c"),
    "stacks": 100,
    "raises": "",
    "rake": 0.05,
    "rake_cap": 7,
}


@cache
def shares_of_first(board: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]) -> Any:
    """Return the share of the pot that the first of two hands wins."""

    def half(mine: Any, theirs: Any) -> Fraction:
        return Fraction((mine > theirs) + (mine >= theirs), 4)

    high = half(worth(board, first), worth(board, second))
    lows = low_of(board, first), low_of(board, second)
    if lows == (None, None):
        return 2 * high
    if None in lows:
        return high + Fraction(lows[1] is None, 2)
    # The smaller low is the better one.
    return high + half(lows[1], lows[0])


class HiLoHistories(DealtCards):
    """A spot as histories, whose pots are split chip by chip."""

    def node(self, state: Any) -> Decision | Chance | Terminal:
        hands, betting, dealt, _ = state
        node = self.rules.node(betting) if len(hands) == 2 else None
        if not isinstance(node, Showdown):
            return super().node(state)
        cards = (own[h] for own, h in zip(self.cards, hands, strict=True))
        share = shares_of_first((*self.rules.board, *dealt), *cards)
        # A winner gets the whole pot after the rake, a loser nothing.
        (won, lost), _, _ = node
        pot = won - node.lose[0]
        return Terminal((node.lose[0] + float(share) * pot, lost + float(1 - share) * pot))


# ------------------------------------------------------------------------------------- strengths


def strengths(board: Any, hands: Any) -> np.ndarray:
    """Strengths in both rankings; those of one board do not depend on the spot."""
    return river_rules().strength(tuple(board), np.array(hands))


def share_by_strengths(board: Any, hands: Any) -> Fraction:
    """The share of the pot that the first of two hands wins by :func:`strengths`."""
    (high, other_high), (low, other_low) = strengths(board, hands).tolist()
    won = (high > other_high) + (high >= other_high) + (low > other_low) + (low >= other_low)
    return Fraction(won, 4)


def test_strengths_are_those_of_all_choices_of_cards() -> None:
    """Every third deck has low cards only, so that most hands have a low."""
    rng, seen = np.random.default_rng(4), set()
    for trial in range(12):
        deck = [card for card in range(52) if trial % 3 or card < 28 or card >= 48]
        cards = rng.permutation(deck).tolist()
        board, hands = tuple(cards[:5]), [tuple(cards[k : k + 4]) for k in range(5, 29, 4)]
        for pair in combinations(hands, 2):
            share = share_by_strengths(board, pair)
            assert share == shares_of_first(board, *pair)
            seen.add(share)
    assert len(seen) == 5


def test_strengths_against_pokerkit() -> None:
    """The order of lows, and which hands have one, are those of pokerkit 0.7.7 (J. Kim)."""
    pokerkit = pytest.importorskip("pokerkit")
    rng, n_lows = np.random.default_rng(8), 0
    for _ in range(60):
        cards = rng.permutation(52)
        board, hands = cards[:5], cards[5:37].reshape(-1, 4)
        _, found = strengths(board.tolist(), hands)
        on_board, *texts = ("".join(CARDS[card] for card in some) for some in (board, *hands))
        lows = [pokerkit.OmahaEightOrBetterLowHand.from_game_or_none(t, on_board) for t in texts]
        highs = [pokerkit.OmahaHoldemHand.from_game(text, on_board) for text in texts]
        for a, b in combinations(range(len(hands)), 2):
            if lows[a] is None or lows[b] is None:
                expected = (lows[a] is not None) - (lows[b] is not None)
            else:
                expected = (lows[a] > lows[b]) - (lows[a] < lows[b])
            if lows[a] is lows[b] is None:
                expected = (highs[a] > highs[b]) - (highs[a] < highs[b])
            assert np.sign(found[a] - found[b]) == expected
        n_lows += sum(low is not None for low in lows)
    assert n_lows > 100


@pytest.mark.parametrize(
    ("board", "first", "second", "share"),
    [
        # A flush and 7-4-3-2-A win everything.
        ("Ad2d7hKs8d", "3d4dQcQh", "5c6cTcTh", "1"),
        # Both have the wheel; it is the straight of the first, and the second has a straight to
        # the ace.
        ("Ac2d3hKsQc", "4s5s9h9d", "4c5hJcTh", "1/4"),
        ("Ac2d3h9sQc", "4s5sQhQd", "4c5h7c7h", "1/2"),
        # The same low, and a pair of kings.
        ("Ad2c7hKs8d", "3s4sKdQh", "3h4hQdJc", "3/4"),
        ("Ad2c7hKs8d", "3h4hQdJc", "3s4sKdQh", "1/4"),
        # Nobody has a low: the best high hand gets everything, and equal ones share.
        ("AdKcQh9s7d", "AsAc2h3h", "KsKd4s5s", "1"),
        ("AdKcQh9s7d", "JsTc2h3h", "JhTd4s5s", "1/2"),
        ("Ad2c9hKsTd", "3s4s9c8h", "KdKh6s5c", "0"),
        # The only low wins its half with any other cards.
        ("Ad2c7hKs8d", "3s4sQdTh", "KdKhQsJc", "1/2"),
        # The deuce of the board takes the place of the own one: 8-7-3-2-A.
        ("Ad2c7hKs8d", "2s3sQdQh", "4s5sJcJh", "1/2"),
        # The aces of hand and board are one rank, so the full house has no low.
        ("AdAc7h4sKd", "As3sKcQd", "5c6cTcTd", "1/2"),
        # The highest rank decides: 7-6-5-4-3, which is a straight, beats 8-7-4-3-A.
        ("8h7d3c4sKd", "Ts5s6sTc", "AsQs7cQh", "1"),
        # A flush of five low ranks is a low, too.
        ("2s4s7sKdKc", "As3s9d9h", "8c6cKhQh", "1"),
    ],
)
def test_pots_on_paper(board: str, first: str, second: str, share: str) -> None:
    cards = [tuple(read_cards(text, "cards")) for text in (board, first, second)]
    assert share_by_strengths(cards[0], cards[1:]) == Fraction(share)
    assert shares_of_first(*cards) == Fraction(share)


# ----------------------------------------------------------------------------------------- spots


@cache
def river_rules() -> OmahaHiLo:
    return OmahaHiLo(**RIVER)


@cache
def river() -> Any:
    return compile_game(river_rules())


@pytest.mark.parametrize("spot", ["river", "turn"])
def test_a_spot_equals_its_histories(spot: str) -> None:
    """Averages, values and best responses; the turn has rake, up to its cap."""
    rules = river_rules() if spot == "river" else OmahaHiLo(**TURN)
    slow = compile_game(HiLoHistories(rules))
    cuts: list[dict[str, Any]] = [{}, {"cut": False}, {"symmetry": False}]
    for options in cuts if spot == "turn" else cuts[:2]:
        game = compile_game(rules, **options)
        assert game.n_infosets == slow.n_infosets
        one, other = (Solver(g, CFR_PLUS(floor=0.01), precision="float64") for g in (game, slow))
        step_alike(one, other, (1, 1, 3), strategies=1e-9)


def test_exploitability_is_that_of_slow_best_responses() -> None:
    found = solve(river(), iters=100, precision="float64")
    tree = build_tree(HiLoHistories(river_rules()))
    rows = found.policy.to_dict()
    slow = SlowValues(tree, {label: list(rows[label].values()) for label in tree.infosets})
    np.testing.assert_allclose(found.value, slow.values, rtol=0, atol=1e-9)
    expected = (sum(slow.best_responses) - sum(slow.values)) / 2
    assert found.exploitability == pytest.approx(expected, abs=1e-9)
    assert found.exploitability < 1.0


def test_exact_fractions() -> None:
    """Quarters of a pot are fractions of two."""
    rules = OmahaHiLo(**RIVER | {"raises": ""})
    found = exact_equilibrium(compile_game(rules, cut=False))
    slow = exact_equilibrium(compile_game(HiLoHistories(rules)))
    assert found.values == slow.values


def test_equities_are_shares_of_the_pot() -> None:
    """Before the first bet, with both ranges."""
    rules = river_rules()
    table = SolvedSpot(solve(river(), iters=2)).table()
    for label, equity in zip(table.hands, table.equity, strict=True):
        own = tuple(read_cards(label, "hand"))
        won, met = Fraction(0), 0
        for other in rules.hands[1].tolist():
            if not {*own} & {*other}:
                won, met = won + shares_of_first(rules.board, own, tuple(other)), met + 1
        assert equity == pytest.approx(float(won / met), abs=1e-12)


def test_groups_of_lows() -> None:
    table = SolvedSpot(solve(river(), iters=2)).table()
    assert list(table.grouped) == ["pairs", "suits", "made", "low"]
    lows = {"3s4sQdQh": "seven low", "5s6sTcTd": "seven low", "KhKcQsJs": "no low"}
    for row in table.rows():
        hand = tuple(read_cards(row["hand"], "hand"))
        low = low_of(river_rules().board, hand)
        name = "no low" if low is None else LOWS[low[0] - 5]
        assert row["low"] == name
        for label, expected in lows.items():
            if {*read_cards(label, "hand")} == {*hand}:
                assert name == expected


@pytest.mark.full
@pytest.mark.parametrize("method", ["resolve", "unsafe"])
def test_a_river_is_solved_again(method: str) -> None:
    """As in the same game laid out."""
    game = compile_game("omaha_hi_lo", symmetry=False, **TURN | {"rake": 0})
    flat, blueprint = game.flat(), solve(game, iters=20, precision="float64").policy
    rows = blueprint.to_dict()
    same = {label: rows[label] for player in (0, 1) for label in flat.labels_of(player)}
    options: dict[str, Any] = {"method": method, "algorithm": "lp"}
    found = resolve(game, blueprint, "check check 5s", **options)
    slow = resolve(flat, Policy.from_mapping(flat, same), "check check 5s", **options)
    for one, other in zip(found.subgames, slow.subgames, strict=True):
        assert one.solution.value == pytest.approx(other.solution.value, abs=1e-7)


@pytest.mark.full
def test_suits_that_are_alike_are_solved_once() -> None:
    """On a board of one suit the other three are alike."""
    spot = {"pot": 10, "stacks": 10, "bets": "pot", "ranges": ("A234,AA$ds", "A3$ds,KK$ds")}
    one = compile_game("omaha_hi_lo", board="2s3s7s8sTs", **spot)
    apart = compile_game("omaha_hi_lo", board="2s3s7s8sTs", **spot, symmetry=False)
    assert one.n_numbers < 0.3 * apart.n_numbers
    found, other = (solve(game, "cfr+", iters=50, precision="float64") for game in (one, apart))
    assert found.value[0] == pytest.approx(other.value[0], abs=1e-9)
    assert found.exploitability == pytest.approx(other.exploitability, abs=1e-9)


def test_sampling_approaches_the_value() -> None:
    """The value of a linear program, to three standard errors of twenty solves."""
    exact = solve(compile_game(river_rules(), cut=False), "lp").value[0]
    found = solve(river(), "external_sampling", iters=20_000, seed=3)
    assert found.value[0] == pytest.approx(exact, abs=2.5)


# ------------------------------------------------------------------------------- names and limits


def test_files_and_names() -> None:
    spot = make_spot(game="omaha_hi_lo", **RIVER)
    text = spot_text(spot)
    assert text.startswith('game = "omaha_hi_lo"\n')
    assert parse_spot(text).options == spot.options
    for name in ("plo8", "omaha8"):
        with pytest.raises(GameError, match=f"there is no game '{name}': .* 'omaha_hi_lo'"):
            make_game(name)


def test_memory_is_told_first() -> None:
    wide = RIVER | {"ranges": ("20%", "20%")}
    with pytest.raises(MemoryLimitError, match=r"^compiling omaha_hi_lo Ad2c7hKs8d needs"):
        compile_game("omaha_hi_lo", **wide, memory_limit=1 << 20)
    spots = {game: make_spot(game=game, **wide) for game in ("omaha", "omaha_hi_lo")}
    low, high = (game_size(spots[game]).bytes_compiling for game in spots)
    assert low < high < 2 * low


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"payouts": (50, 30), "others": (120,)}, "2 rankings of the hands, so its payoffs must"),
        ({"ranges": ("AA", "KK", "QQ")}, "omaha_hi_lo: ranges"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=message):
        compile_game("omaha_hi_lo", **RIVER | options)


def test_certificates_are_refused() -> None:
    with pytest.raises(ValueError, match="omaha_hi_lo"):
        solve(river(), iters=2).certify("unused")
