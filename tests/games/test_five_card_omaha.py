"""Five-card Omaha: strengths, ranges, groups, and spots next to other ways to solve them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import NARROW_OF_FIVE
from support.command_line import USAGE, printed, refused
from support.equality import EARLY_MARKS, as_game, assert_equal, bits
from support.layouts import laid_out, step_alike
from support.products import check_product
from support.reference import ReferenceCFR
from support.slow_strengths import worth
from support.variants import VARIANTS, floored
from tensorcfr import GameError, Solution, Solver, compile_game, resolve, solve
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.analysis import SolvedSpot
from tensorcfr.compilers.cards.equity import equities
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.formats import parse_spot, spot_text
from tensorcfr.games import make_game
from tensorcfr.games.five_card_omaha import FiveCardOmaha
from tensorcfr.games.poker import omaha_groups
from tensorcfr.games.poker.deck import CARDS
from tensorcfr.games.poker.omaha_strength import omaha_strengths
from tensorcfr.viewer.spot_form import SpotForm

SPOT: dict[str, Any] = {"board": "Td9d6hQcTs", "pot": 100, "stacks": 300}
TURN: dict[str, Any] = SPOT | {
    "board": "Td9d6hQc",
    "ranges": NARROW_OF_FIVE,
    "stacks": 220,
    "bets": "pot",
}


def read_range(text: str) -> np.ndarray:
    return FiveCardOmaha.read_range(text, "range")


# ------------------------------------------------------------------------------------- strengths


def drawn(boards: int, hands: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Boards with hands of five cards.  A third of the decks have two suits, so that flushes and
    straight flushes are frequent."""
    rng, found = np.random.default_rng(4), []
    for trial in range(boards):
        deck = np.arange(52) if trial % 3 else np.flatnonzero(np.arange(52) % 4 < 2)
        cards = rng.permutation(deck)
        found.append((cards[:5], np.array([rng.permutation(cards[5:])[:5] for _ in range(hands)])))
    return found


def test_strengths_are_those_of_all_hundred_fives() -> None:
    """Two of five cards of the hand with three of five cards of the board."""
    for board, hands in drawn(12, 8):
        found = omaha_strengths(board, hands)
        expected = [worth(board.tolist(), hand) for hand in hands.tolist()]
        for a, b in combinations(range(len(hands)), 2):
            assert np.sign(found[a] - found[b]) == (
                (expected[a] > expected[b]) - (expected[a] < expected[b])
            )


def test_strengths_are_the_best_of_four_cards() -> None:
    """The two cards that play are among some four of the five."""
    board, hands = drawn(2, 500)[1]
    fours = [omaha_strengths(board, np.delete(hands, k, axis=1)) for k in range(5)]
    np.testing.assert_array_equal(omaha_strengths(board, hands), np.max(fours, axis=0))


def test_order_of_strengths_against_pokerkit() -> None:
    """The order is that of PokerKit, which looks up each of the hundred fives."""
    pokerkit = pytest.importorskip("pokerkit")
    found, expected = [], []
    for board, hands in drawn(20, 3):
        found += omaha_strengths(board, hands).tolist()
        on, *of = ("".join(CARDS[card] for card in cards) for cards in (board, *hands))
        expected += [pokerkit.OmahaHoldemHand.from_game(hand, on) for hand in of]
    for a, b in pairwise(np.argsort(found, kind="stable").tolist()):
        assert (expected[a] < expected[b]) == (found[a] < found[b])
        assert (expected[a] == expected[b]) == (found[a] == found[b])


# ------------------------------------------------------------------------------- ranges, groups


def at_least_two(ranks: int) -> int:
    """Hands with two or more cards of each of some ranks."""
    if ranks == 1:
        return sum(comb(4, k) * comb(48, 5 - k) for k in (2, 3, 4))
    return comb(4, 2) ** 2 * 44 + 2 * comb(4, 3) * comb(4, 2)


@pytest.mark.parametrize(
    ("text", "hands"),
    [
        ("random", comb(52, 5)),
        ("xxxxx", comb(52, 5)),
        ("AA", at_least_two(1)),
        ("AAxxx", at_least_two(1)),
        ("AAKK", at_least_two(2)),
        ("KK+", 2 * at_least_two(1) - at_least_two(2)),
        ("AAAAx", 48),
        ("JT987", 4**5),
        ("JT987+", 4 * 4**5),
        ("JT987-76543", 5 * 4**5),
        # Two, two and one of three suits, or three and two of two suits.
        ("JT987$ds", comb(4, 2) * 2 * 30 + 4 * 3 * comb(5, 3)),
        ("$ms", 4 * comb(13, 5)),
        ("$fs", 4 * comb(13, 4) * 39),
        ("$ts", 4 * comb(13, 3) * comb(3, 2) * 13**2),
        ("$ss", 4 * comb(13, 2) * 13**3),
        ("$ds", comb(4, 2) * 2 * comb(13, 2) ** 2 * 13 + 4 * 3 * comb(13, 3) * comb(13, 2)),
        ("$np", comb(13, 5) * 4**5),
        ("$op", 13 * 6 * comb(12, 3) * 4**3),
        ("$tp", comb(13, 2) * 36 * 44),
        ("$tr", 13 * 4 * comb(48, 2)),
        ("$qu", 13 * 48),
        ("AsKsQhJhTd", 1),
        ("TdJhQhKsAs", 1),
        ("2c2d2h2s3c", 1),
        ("AsAhAdAcKs", 1),
        ("AsKsQhJh", 48),
        ("As", comb(51, 4)),
        ("AsA", comb(51, 4) - comb(48, 4)),
        ("AsKsQhJhTd,AsKsQhJhTd:0.5,!AsKsQhJhTd", 0),
    ],
)
def test_ranges(text: str, hands: int) -> None:
    """Counted with binomials."""
    assert np.count_nonzero(read_range(text)) == hands


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AAAAAA", "'AAAAAA' at character 1 has 6 cards; a hand has 5"),
        ("top 15%", "'top 15%' at character 1: the order of hands is known for hands of four"),
        ("AA,$rb", r"\$rb must be one of \$ds, \$ss, \$ts, \$fs, \$ms, \$np"),
        ("AsAs", "has one card twice"),
        ("hello", "is not a group of hands"),
    ],
)
def test_bad_ranges(text: str, message: str) -> None:
    with pytest.raises(GameError, match=rf"^omaha5: ranges\[0\]: .*{message}"):
        compile_game("omaha5", **SPOT, ranges=(text, "AA"))


def counted(hand: list[int]) -> tuple[str, str]:
    """The pairs and the suits of a hand, from how often its ranks and suits come."""
    ranks, suits = Counter(card // 4 for card in hand), Counter(card % 4 for card in hand)
    most, shape = max(ranks.values()), sorted(suits.values(), reverse=True)
    pairs = [rank for rank, times in ranks.items() if times == 2]
    by_rank = {4: "four alike", 3: "three alike"}.get(most)
    if by_rank is None:
        one = {12: "AA", 11: "KK"}.get(pairs[0], "lower pair") if pairs else "no pair"
        by_rank = "two pairs" if len(pairs) == 2 else one
    if len(shape) > 1 and shape[1] > 1:
        return by_rank, "double-suited"
    names = {2: "single-suited", 3: "three of a suit", 4: "four of a suit", 5: "one suit"}
    return by_rank, names[shape[0]]


def test_pairs_and_suits() -> None:
    """Each hand by its own cards; and the hands of a group are those of its range."""
    hands = FiveCardOmaha.every_hand()
    found = omaha_groups.pairs(hands), omaha_groups.suits(hands)
    for hand in range(0, len(hands), 3989):
        names = tuple(one.names[one.of_hand[hand]] for one in found)
        assert names == counted(hands[hand].tolist())
    for one in found:
        for group, text in enumerate(one.ranges):
            np.testing.assert_array_equal(one.of_hand == group, read_range(text) > 0, text)


# ---------------------------------------------------------------------------------------- spots


def test_the_game_is_omaha_with_one_more_card() -> None:
    rules = FiveCardOmaha(**SPOT, ranges=("AAKKQ", "QQJJ$ds"), bets="200%")
    assert rules.node(rules.root()).actions == ("check", "bet100")
    assert rules.hand_label(0, 0) == "AsAhKsKhQs"
    spot = SPOT | {"ranges": ("random", "random"), "bets": "pot"}
    assert len(FiveCardOmaha(**spot).hands[1]) == comb(47, 5) == 1_533_939
    for name in ("plo5", "five_card_omaha"):
        with pytest.raises(GameError, match="five-card Omaha is 'omaha5'"):
            make_game(name)


def test_a_river_equals_the_reference(interpreted: None) -> None:
    """Average strategies next to slow recursive CFR on the game hand by hand."""
    rules = FiveCardOmaha(**SPOT, ranges=NARROW_OF_FIVE, bets="pot", rake=0.05)
    algorithm, options = floored(VARIANTS["cfr+"], 0.01)
    reference = ReferenceCFR(as_game(HandByHand(rules)), **options)
    solver = Solver(compile_game(rules), algorithm, precision="float64")
    assert_equal(solver, reference, EARLY_MARKS)


def test_few_hands_clear_only_their_sums() -> None:
    """The kernel next to the sums hand by hand."""
    rules = FiveCardOmaha(**SPOT, ranges=NARROW_OF_FIVE, bets="pot,50%", raises="pot")
    check_product(compile_game(rules).chunks.trunk)


def test_equities_pair_by_pair() -> None:
    """On a turn, with every river, next to the strengths of the hundred fives."""
    rules = FiveCardOmaha(**TURN)
    found = equities(rules, rules.board, (rules.weights[0], rules.weights[1]), 1)
    worths = [
        {
            card: [worth((*rules.board, card), hand) for hand in hands.tolist()]
            for card in rules.free.tolist()
        }
        for hands in rules.hands
    ]
    for player in range(2):
        for hand, own in enumerate(rules.hands[player].tolist()):
            won = total = 0.0
            for k, other in enumerate(rules.hands[1 - player].tolist()):
                weight = rules.weights[1 - player][k]
                for card in rules.free.tolist():
                    if len({card, *own, *other}) < 11:
                        continue
                    first, second = worths[player][card][hand], worths[1 - player][card][k]
                    won += weight * ((first > second) + 0.5 * (first == second))
                    total += weight
            assert found[player][hand] == pytest.approx(won / total, abs=1e-12)


@pytest.mark.full
@pytest.mark.parametrize("cut", [True, 2])
def test_a_turn_in_chunks_and_in_one_piece(cut: Any) -> None:
    """Iterates, averages and evaluations, next to the game hand by hand."""
    game = compile_game("omaha5", **TURN, cut=cut)
    assert bool(game.chunks.n_chunks) == (cut is True)
    flat = compile_game("omaha5", **TURN, cut=False)
    chunked, plain = (
        Solver(one, CFR_PLUS(floor=0.01), precision="float64") for one in (game, flat)
    )
    step_alike(chunked, plain, (1, 2), strategies=1e-9)


@pytest.mark.slow
def test_a_flop_that_is_cut_once_and_twice() -> None:
    """Chunks of turns above chunks of rivers give the values of chunks of rivers alone."""
    spot = TURN | {
        "board": "Td9d6h",
        "stacks": 50,
        "ranges": (NARROW_OF_FIVE[0][:21], NARROW_OF_FIVE[1][:21]),
    }
    once, twice = (compile_game("omaha5", **spot, cut=cut) for cut in (2, 1))
    assert once.chunks.n_chunks < twice.chunks.n_chunks
    first, second = (solve(game, "dcfr", iters=2, precision="float64") for game in (once, twice))
    assert first.value == pytest.approx(second.value, abs=1e-9)
    assert first.exploitability == pytest.approx(second.exploitability, abs=1e-9)


@pytest.mark.full
def test_a_river_is_solved_again() -> None:
    """As in the same game hand by hand."""
    game = compile_game("omaha5", symmetry=False, **TURN)
    flat = game.flat()
    blueprint = solve(game, iters=20, precision="float64").policy
    slow_blueprint = laid_out(blueprint, flat)
    found, slow = (
        resolve(game_, policy, "check check 2s", algorithm="lp")
        for game_, policy in ((game, blueprint), (flat, slow_blueprint))
    )
    for one, other in zip(found.subgames, slow.subgames, strict=True):
        assert (one.public_node.split(), one.hands) == (other.public_node.split(), other.hands)
        np.testing.assert_allclose(one.alternative, other.alternative, rtol=0, atol=1e-9)
        assert one.solution.value == pytest.approx(other.solution.value, abs=1e-7)


@pytest.mark.full
def test_tables_and_files(tmp_path: Path) -> None:
    """Groups of a table are means over its hands; a file gives the same game and solution."""
    spot = FiveCardOmaha(**TURN)
    assert spot_text(spot).startswith('game = "omaha5"\n')
    assert parse_spot(spot_text(spot)).options == spot.options
    found = solve(compile_game("omaha5", **TURN), iters=10)
    found.save(tmp_path / "turn.npz")
    again = Solution.load(tmp_path / "turn.npz")
    assert again.game.digest == found.game.digest
    assert bits(again.state) == bits(found.state)
    table = SolvedSpot(found).table("check")
    assert list(table.grouped) == ["pairs", "suits", "made"]
    for by in table.grouped:
        for row in table.groups(by):
            own = [k for k, one in enumerate(table.rows()) if one[by] == row[by]]
            share = table.share[own] / table.share[own].sum()
            assert row["bet100"] == pytest.approx(share @ table.strategy[own, 1], abs=1e-12)
    rows, columns = table.places.heads or ((), ())
    assert columns == (
        *("double-suited", "single-suited", "three of a suit", "four of a suit", "one suit"),
    )
    hand = table.hands.index("QsQh4h3h2s")
    assert counted(table.cards[hand].tolist()) == ("lower pair", "double-suited")
    at = rows.index("lower pair"), columns.index("double-suited")
    assert np.isfinite(table.grid(table.strategy)[at]).all()


@pytest.mark.full
def test_the_command(tmp_path: Path) -> None:
    words = (
        "--game",
        "omaha5",
        "--board",
        "Td9d6hQcTs",
        "--oop",
        NARROW_OF_FIVE[0],
        "--ip",
        NARROW_OF_FIVE[1],
    )
    chips = ("--pot", 100, "--stacks", 300, "--bets", "pot", "--raises", "pot")
    saved = tmp_path / "spot.npz"
    said = printed("spot", *words, *chips, "--target", "2%", "--node", "check", "--save", saved)
    assert said.startswith("omaha5 Td9d6hQcTs: ")
    assert "AdAc5c4d2d" in said
    assert SolvedSpot(Solution.load(saved)).table("check").made
    refusal = refused(USAGE, "spot", *words[:4], "--oop", "AAAAAA", "--ip", "AA", *chips)
    assert "omaha5: ranges[0]: 'AAAAAA' at character 1 has 6 cards; a hand has 5" in refusal


def test_the_form_has_the_game() -> None:
    """Its example ranges can be read, and a range of it has its hands."""
    form = SpotForm()
    for text in form.about()["spots"]["omaha5"]:
        summary = form.range(text, "omaha5")
        assert summary["combos"] > 500
        assert summary["grid"] is None
