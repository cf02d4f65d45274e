"""What folded players leave: shares by counting, the exact game beside it, another program."""

from __future__ import annotations

from functools import cache, partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import RandomCards
from support.command_line import printed
from support.equality import as_game, assert_equal, rounding
from support.every_function import differences
from support.reference import ReferenceCFR
from support.variants import VARIANTS, floored
from tensorcfr import CompiledGame, Policy, Solution, Solver, compile_game, evaluate, solve
from tensorcfr.analysis import aivat, simulate, solve_boards, values
from tensorcfr.compilers import game_size
from tensorcfr.compilers.cards.card_sums import odds_on
from tensorcfr.compilers.cards.equity import equities
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.compilers.dealt_rules import as_histories
from tensorcfr.evaluation import expected_values
from tensorcfr.formats import parse_spot, save_spot, spot_text
from tensorcfr.games import make_spot
from tensorcfr.games.holdem import Holdem, read_range
from tensorcfr.games.poker.bunching import Bunching
from tensorcfr.games.poker.deck import CARDS, HANDS, read_cards
from tensorcfr.model.arrays import not_none
from tensorcfr.subgames import resolve
from tensorcfr.subgames.card_part import CardSubgames

BOARD = read_cards("Td9d6h", "")
SOME = "AcKc,AcKd,QhJh,2c2d,AcQs"
OTHERS = "KdKs,AcKc,QhQs,3h3s,7c5c"


def counted(ranges: list[np.ndarray], out: set[int]) -> float:
    """The weight of all deals of hands to folded players without some cards, one by one."""
    live = [
        [(set(hand), w) for hand, w in zip(HANDS.tolist(), own.tolist(), strict=True) if w > 0]
        for own in ranges
    ]
    total = 0.0
    for deal in product(*live):
        held = [card for hand, _ in deal for card in hand]
        if len(set(held)) == len(held) and out.isdisjoint(held):
            total += float(np.prod([w for _, w in deal]))
    return total


@pytest.mark.parametrize(
    ("texts", "tolerance"),
    [
        ((SOME,), 1e-12),
        (("AcKc:0.5,2c2d:0.25,QhJh", OTHERS), 1e-12),
        ((SOME, OTHERS, "AhKh,AsQs,5h4h:0.5"), 4e-3),
    ],
)
def test_shares_are_those_of_all_deals(texts: tuple[str, ...], tolerance: float) -> None:
    """Of one and two players to rounding; of three within four standard errors of a sample."""
    ranges = [read_range(text) for text in texts]
    folded = Bunching(HANDS, ranges, BOARD)
    every = counted(ranges, {*BOARD})
    cards = read_cards("AcKcKdQh2cQs8s", "")
    for size in range(5):
        for some in combinations(cards, size):
            share = counted(ranges, {*BOARD, *some}) / every
            found = folded.share(np.array([some], dtype=np.int64))[0]
            assert found == pytest.approx(share, abs=tolerance)


def test_what_suits_make_alike_is_alike_to_the_bit() -> None:
    folded = Bunching(HANDS, [read_range("random,!top 20%")] * 3, read_cards("Td9d6d", ""))
    assert len(folded.symmetries) == 24
    hands = HANDS[(~np.isin(HANDS, read_cards("Td9d6d", ""))).all(axis=1)]
    # Clubs, hearts and spades are alike: so are AcKc and AhKh, and all others of their kind.
    kinds = np.array([one for one in folded.symmetries if one[3 * 4 + 1] == 3 * 4 + 1])
    assert len(kinds) == 6
    alike = {min(map(tuple, np.sort(kinds[:, hand], axis=1).tolist())) for hand in hands}
    assert len(np.unique(folded.share(hands))) <= len(alike) < 350
    one_suit = Bunching(HANDS, [read_range("AcKc,QQ")], BOARD)
    assert len(one_suit.symmetries) == 6  # Those that leave clubs.


SPOT: dict[str, Any] = {"pot": 10, "stacks": 20, "bets": "50%"}


def exact_river(spot: Holdem) -> HandByHand:
    """The spot with the weight of each pair of hands as it is, instead of a product."""
    first, second = spot.hands
    exact = np.zeros((len(first), len(second)))
    for (a, one), (b, other) in product(enumerate(first.tolist()), enumerate(second.tolist())):
        if {*one}.isdisjoint(other):
            cards = np.array([[*one, *other]], dtype=np.int64)
            exact[a, b] = spot._folded.share(cards)[0]
    given = [
        spot.read_range(text, "")[spot.read_range(text, "") > 0] for text in spot.options["ranges"]
    ]
    assert all((own == 1.0).all() for own in given)
    rules = HandByHand(Holdem(**{k: v for k, v in spot.options.items() if k != "folded"}))
    rules.prior = exact / exact.sum()
    return rules


@pytest.mark.parametrize("players", [1, 4])
def test_a_river_is_near_that_with_exact_weights(players: int) -> None:
    """The ranges of the deal are exact; the value is, to a ten-thousandth of the pot."""
    spot = Holdem(
        board="Td9d6hQcTs",
        ranges=("TT+,AJs+,KQs,JTs,98s,AQo+", "99-22,AQs-A2s,KJs+,QJs,T9s,87s,KQo"),
        **SPOT,
        folded=("random,!top 25%",) * players,
    )
    exact = exact_river(spot)
    made = np.outer(*spot.weights) * HandByHand(spot).prior.astype(bool)
    for axis in range(2):
        own = made.sum(axis=axis) / made.sum()
        np.testing.assert_allclose(own, exact.prior.sum(axis=axis), rtol=1e-6)
    assert np.abs(made / made.sum() - exact.prior).sum() == pytest.approx(
        spot.of_deal.lost, rel=0.05
    )
    assert f"{100 * spot.of_deal.lost:.2g} % on average" in spot.caveat
    values = [solve(compile_game(one), target=1e-3).value[0] for one in (spot, exact)]
    assert values[0] == pytest.approx(values[1], abs=2 * 1e-3 + 1e-4 * spot.pot)
    plain = {k: v for k, v in spot.options.items() if k != "folded"}
    assert (
        abs(solve(compile_game(Holdem(**plain)), target=1e-3).value[0] - values[1]) > 0.01 * players
    )


def test_boards_come_as_often_as_their_cards_are_left() -> None:
    """The exact weights of two hands with each river, by counting; they sum to that of the hands
    but for what their product loses."""
    texts = ("AA,KK,QQ,AK", "22-88")
    spot = Holdem(board="Td9d6hQc", ranges=("JsTs", "KsJh"), **SPOT, folded=texts)
    ranges = [read_range(text) for text in texts]
    hands = [*spot.hands[0][0].tolist(), *spot.hands[1][0].tolist()]
    out, likely, exact = {*spot.board, *hands}, [], []
    alone = counted(ranges, out)
    for card in (card for card in range(52) if card not in out):
        own, other = (odds_on(spot, player, (*spot.board, card)) for player in range(2))
        likely.append(own[0] * other[0])
        # Of 44 cards, four are folded ones.
        exact.append(counted(ranges, {*out, card}) / alone * 44 / 40)
    assert np.mean(exact) == pytest.approx(1.0, abs=1e-12)
    assert np.mean(likely) == pytest.approx(1.0, abs=2e-3)
    assert np.ptp(exact) > 0.1
    np.testing.assert_allclose(likely, exact, rtol=0, atol=5e-3)


TURN: dict[str, Any] = {
    **SPOT,
    "board": "Td9d6hQc",
    "ranges": ("AA,JTs,98s", "KK,T9s,8s7s"),
    "folded": ("AA,KK,AK,QJ", "random,!top 25%"),
}


@cache
def turn() -> Any:
    """The rules of the spot, whose weights take a second."""
    return make_spot(**TURN)


@pytest.mark.full
def test_strategies_equal_the_reference() -> None:
    """Average strategies, beside slow recursive CFR hand by hand."""
    algorithm, options = floored(VARIANTS["cfr+"], 0.01)
    spot = make_spot(**TURN | {"ranges": ("AsAh,JsTs", "KsKh,8s7s"), "bets": "a"})
    solver = Solver(compile_game(spot), algorithm, precision="float64")
    reference = ReferenceCFR(as_game(HandByHand(spot)), **options)
    assert_equal(solver, reference, (1, 2, 4), partial(rounding, reference.tree, options))


def test_the_same_with_and_without_merged_suits_and_in_every_form() -> None:
    spot = TURN | {"board": "Th9h6hQh", "ranges": ("AA,JhTc", "T9s"), "folded": ("AK",)}
    merged = compile_game("holdem", **spot)
    alone = compile_game("holdem", **spot, symmetry=False)
    assert merged.nbytes < alone.nbytes
    rules = make_spot(**spot)
    size = game_size(rules)
    assert (size.infosets, size.histories) == (merged.n_infosets, merged.n_histories)
    forms = [merged, alone, compile_game(rules, cut=False)]
    found = [solve(one, "cfr+", iters=20, precision="float64") for one in forms]
    for other in found[1:]:
        assert other.value == pytest.approx(found[0].value, abs=1e-12)
        assert other.exploitability == pytest.approx(found[0].exploitability, abs=1e-12)
    assert found[0].game.caveat in found[0].guarantee


def test_suits_that_a_folded_range_tells_apart() -> None:
    """Somebody folded a spade that no range has: boards alone are no longer alike."""
    spot = TURN | {"board": "Th9h6hQh", "ranges": ("AA,JTs", "KK,T9s"), "folded": ("4s2s,4s3s",)}
    values = [
        solve(
            compile_game("holdem", **spot, symmetry=symmetry),
            "cfr+",
            iters=20,
            precision="float64",
        ).value[0]
        for symmetry in (True, False)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_ranges_of_a_subgame() -> None:
    """On a river they are those of its board, and later boards count from there."""
    spot = turn()
    everything = [np.ones(len(own)) for own in spot.hands]
    part = CardSubgames(spot).part(("check", "check", "Js"), everything, 0, 0.0)
    assert part is not None
    board = (*spot.board, CARDS.index("Js"))
    for player, kept in enumerate(part.rules.rules.part_hands):
        expected = spot.weights_on(player, board)[kept]
        np.testing.assert_array_equal(part.rules.weights[player], expected)
    part = CardSubgames(spot).part(("check",), everything, 0, 0.0)
    assert part is not None
    for player in range(2):
        found = part.rules.weights_on(player, board)
        np.testing.assert_allclose(found, spot.weights_on(player, board), rtol=1e-14)


def test_history_by_history() -> None:
    spot = make_spot(**TURN | {"ranges": ("AsAh", "KsKh"), "bets": "a"})
    uncompiled = compile_game(as_histories(spot))
    values = [
        solve(game, "cfr+", iters=10, precision="float64").value
        for game in (compile_game(spot), uncompiled)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def by_label(game: CompiledGame) -> dict[str, Any]:
    """All values of the uniform policy, by infoset label, action and column."""
    table = values(game, Policy.uniform(game)).table().to_dict()
    return {label: table[label] for label in sorted(table)}


def test_cards_come_by_weight_hand_by_hand() -> None:
    """Reaches and values after two deals, of two cards and of one, equal those of the flat form and
    of the histories; luck that is known in full leaves the exact value of each play.

    Weights of random cards vary by board by a factor of three.
    """
    rules = RandomCards(1, cards=6, width=1, rounds=2, deals=(2, 1), zero_sum=True, varies=True)
    by_history, cards = compile_game(as_histories(rules)), compile_game(rules)
    assert cards.nodes is not None
    found = by_label(cards)
    for other in (cards.flat().without_merging(), by_history):
        assert not list(differences(by_label(other), found))
    policy = Policy.uniform(cards)
    exact = np.array(expected_values(cards, policy))
    plays = simulate(cards, policy, 50, seed=1)
    assert len({cards.nodes.name(end) for end in plays.nodes.max(axis=1).tolist()}) > 5
    np.testing.assert_allclose(
        aivat(plays, policy, known=[0, 1]).utilities, np.tile(exact, (50, 1)), atol=1e-9
    )


def test_simulated_cards_come_by_weight() -> None:
    """Aces fold, so that they come less often; the probability of each river, given two hands, is
    that of its weight."""
    spot = make_spot(**TURN | {"ranges": ("JsTs", "8s7s")})
    game = compile_game(spot)
    nodes = not_none(game.nodes)
    at = not_none(nodes.find_node("check check"))
    likely = nodes.outcomes(at, np.array([[0, 0]]))[0]
    cards = [CARDS.index(step.label) for step in nodes.children(at)]
    weights = np.array(
        [
            np.prod([spot.weights_on(p, (*spot.board, card))[0] for p in range(2)])
            * (card not in spot.hands[0][0] and card not in spot.hands[1][0])
            for card in cards
        ]
    )
    np.testing.assert_allclose(likely, weights / weights.sum(), rtol=1e-12)
    ace, deuce = (likely[cards.index(CARDS.index(card))] for card in ("As", "2s"))
    assert ace < 0.9 * deuce
    given = [float(one[0, 0]) for one in nodes.chances(at)]
    np.testing.assert_allclose(given, likely, rtol=1e-12)


def test_a_hand_that_some_cards_rule_out() -> None:
    """With KdKc the player who folded must hold 2c2d: neither of them comes."""
    spot = TURN | {"ranges": ("AhAs,KdKc", "QsQh"), "board": "Td9d6hQd", "bets": "a"}
    game = compile_game("holdem", **spot | {"folded": ("AcKc:0.5,2c2d:0.25",)})
    solution = solve(game, "cfr+", iters=20, precision="float64")
    assert solution.value == pytest.approx(
        solve(game.flat(), "cfr+", iters=20, precision="float64").value, abs=1e-9
    )
    nodes = not_none(game.nodes)
    at, own = not_none(nodes.find_node("check check 2c")), [np.ones(2), np.ones(1)]
    names = list(nodes.hands[0])
    reach = nodes.counterfactual_reach(at, 0, own)[[names.index("KdKc"), names.index("AsAh")]]
    assert 0.0 < reach[0] < 1e-10 * reach[1]


def test_equities_are_means_over_boards() -> None:
    spot = turn()
    own, others = spot.hands
    apart = ~(own[:, None, :, None] == others[None, :, None, :]).any(axis=(2, 3))
    pairs = np.outer(*spot.weights) * apart
    won = np.zeros(pairs.shape)
    met = np.zeros(pairs.shape)
    for card in spot.free.tolist():
        board = (*spot.board, card)
        free = [~(hands == card).any(axis=1) for hands in spot.hands]
        first, second = (
            np.where(live, spot.strength(board, hands), -1)
            for live, hands in zip(free, spot.hands, strict=True)
        )
        here = np.outer(*(spot.weights_on(p, board) * free[p] for p in range(2))) * apart
        won += here * ((first[:, None] > second) + 0.5 * (first[:, None] == second))
        met += here
    expected = won.sum(axis=1) / met.sum(axis=1)
    found = equities(spot, spot.board, tuple(spot.weights), 1)[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_subgames_have_the_weights_of_their_boards() -> None:
    """A river and the rest of a turn, solved again safely, leave no more to exploit."""
    game = compile_game(turn())
    before = solve(game, "cfr+", iters=30, precision="float64")
    for at in ("check check Js", "check"):
        again = resolve(game, before.policy, at, method="maxmargin", algorithm="cfr+", iters=1000)
        found = [evaluate(game, policy) for policy in (before.policy, again.policy)]
        for player in range(2):
            gains = [one.gains[player] for one in found]
            assert gains[1] <= gains[0] + 1e-3 * 10


ANCHOR = {
    "board": "3cAd9s4c3s",
    "ranges": (
        "AJs,T4s,JJ,K4s,Q5s,TT,J2o,AKs,KK,43o,A2o,JTo,62s,K6s,Q2s,KTo,K7s,QJo,75o,A6s,86o,94s,42s,"
        "J4s,98o,ATo,Q5o,99,K6o,A2s,43s,KQs,55,T8o,A9s,J8s,77,T4o,Q7s,T7o,94o,84o",
        "A3o,52s,A7s,AQo,Q3s,85o,K9o,K3s,Q2s,T2o,AJs,77,T8s,K8s,T9s,82o,85s",
    ),
    "pot": 188,
    "stacks": 376,
    "bets": {"river": {"oop": "75%", "ip": "37c"}},
    "raises": {"river": {"oop": "60%", "ip": "2.5x"}},
    "add_allin": 0,
    "force_allin": 0.1,
    "merging": 0,
    "folded": ("random,!top 25%", "random,!top 26%"),
}


def test_the_value_of_another_program() -> None:
    """As postflop-solver has it, which weights pairs of hands exactly: -0.031194 of the pot at an
    exploitability of 0.000486.  Source: benchmarks/results/agreement.json."""
    solution = solve(compile_game("holdem", **ANCHOR), target=0.0005 * 188)
    assert solution.value[0] / 188 == pytest.approx(-0.031194, abs=0.0005 + 0.000486)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"folded": ("AA,QX",)}, r"holdem: folded\[0\]: 'QX' at character 4 is not a group"),
        ({"folded": ("AA",) * 5}, "folded: 5 players; at most 4 can fold"),
        ({"folded": ("AsAh", "AsKh")}, "folded: no deal gives all of them different cards"),
        ({"folded": ("AA",), "ranges": ("AA", "KK"), "dead": "AsAh"}, "of every hand of ranges.0"),
        ({"folded": ("TdTs",)}, "folded: the board and the dead cards leave no hand of a range"),
        (
            {"game": "omaha", "ranges": ("AAKK", "KKQQ"), "folded": ("AA",)},
            "omaha: folded is for games whose hands have two cards",
        ),
    ],
)
def test_bad_spots(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_spot(**TURN | given)


def test_flops_are_not_counted_for_folded_players() -> None:
    with pytest.raises(ValueError, match="boards must be a list: folded players"):
        solve_boards(make_spot(**TURN), 25)


def test_files_and_the_command_line(tmp_path: Path) -> None:
    """Folded ranges are kept in texts and in solutions, and the command prints what is lost."""
    spot = turn()
    text = spot_text(spot)
    assert "folded = [" in text
    assert parse_spot(text).options == spot.options
    save_spot(spot, tmp_path / "spot.toml")
    solution = solve(compile_game(tmp_path / "spot.toml"), iters=20)
    solution.save(tmp_path / "solution.npz")
    again = Solution.load(tmp_path / "solution.npz")
    assert again.game.digest == solution.game.digest
    assert again.exploitability == solution.exploitability
    assert again.game.caveat == spot.caveat
    said = printed("spot", tmp_path / "spot.toml", "--iters", "5")
    assert "The players who folded change how likely" in said
    whole = {key: value for key, value in TURN.items() if key != "folded"}
    save_spot(make_spot(**whole), tmp_path / "whole.toml")
    folded = ("--folded", "AA,KK,AK,QJ", "--folded", "random,!top 25%")
    again = printed("spot", tmp_path / "whole.toml", *folded, "--iters", "5")
    assert again.partition(" s; ")[2] == said.partition(" s; ")[2] != ""


def test_memory_told() -> None:
    """Each board has weights of its own, which are told."""
    rules = make_spot(**TURN | {"ranges": ("22+,A2+", "22+,K2+")})
    told, game = game_size(rules).chunks, compile_game(rules)
    assert told is not None
    assert told.nbytes == pytest.approx(game.nbytes, rel=0.1)
