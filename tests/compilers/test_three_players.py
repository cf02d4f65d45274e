"""Card games of three players equal flat games, OpenSpiel, and sums over triples of hands."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.card_games import (
    RIVER_OF_THREE,
    LimitOfThree,
    ThreeRandom,
    kuhn_of_three,
    leduc_of_three,
)
from support.command_line import printed
from support.layouts import step_alike
from support.tiers import tiered
from support.triples import check_single_terminals
from support.variants import VARIANTS
from tensorcfr import (
    Decision,
    Fold,
    GameError,
    Policy,
    Showdown,
    SidePots,
    Solver,
    compile_game,
    evaluate,
    load_game,
    save_game,
    solve,
)
from tensorcfr.compilers import game_size
from tensorcfr.formats import parse_spot, save_spot, spot_text
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.poker.deck import HANDS
from tensorcfr.games.poker.ranges import read_range
from tensorcfr.games.tournaments import tournament
from tensorcfr.model.arrays import TERMINAL
from tensorcfr.model.chunked_game import have_same_numbers
from tensorcfr.solvers.request import SolveRequest
from tensorcfr.solvers.solution import Status

SHAPES: dict[str, dict[str, Any]] = {
    "one card": {"cards": 7, "width": 1, "rounds": 0, "public": 0},
    "one card, one round": {"cards": 7, "width": 1, "rounds": 1, "public": 0},
    "two cards, river": {"cards": 9, "width": 2, "rounds": 0, "public": 1},
    "two cards, turn": {"cards": 8, "width": 2, "rounds": 1, "public": 0},
    "one card, suits": {"cards": 8, "width": 1, "rounds": 1, "public": 0, "suits": 2},
    "two cards, suits": {"cards": 8, "width": 2, "rounds": 1, "public": 0, "suits": 2},
    "one card, two rounds": {"cards": 8, "width": 1, "rounds": 2, "public": 0, "suits": 2},
    "twelve cards": {"cards": 12, "width": 2, "rounds": 0, "public": 3},
}
MOST_HISTORIES = 40_000


@pytest.mark.compiled
@pytest.mark.parametrize(
    "shape", tiered(SHAPES, ["two cards, river", "one card, suits", "one card, one round"])
)
def test_a_game_of_three_players_equals_the_flat_game(shape: str) -> None:
    """Counts, and strategies, values and best responses after 1, 2, 3, 10 and 100 iterations.

    In one part, and in chunks from each deal on.  A floor keeps every reach above 0, as in the test
    of two players.  CFR+ is compared up to iteration 10: later its regrets at an infoset may all be
    rounding errors above 0, or 0, which are different strategies.
    """
    compared = 0
    for seed in range(100):
        rules = ThreeRandom(seed, **SHAPES[shape])
        if game_size(rules).histories > MOST_HISTORIES:
            continue
        game = compile_game(rules, cut=1)
        betting = game.nodes.betting
        if {*betting.player[betting.player >= 0]} != {0, 1, 2}:
            continue
        if betting.rounds != SHAPES[shape]["rounds"]:
            continue
        flat = compile_game(rules, cut=False)
        for count in ("n_infosets", "n_sequences", "n_histories", "n_decision_nodes"):
            assert getattr(game, count) == getattr(flat, count), count
        assert game.zero_sum == flat.zero_sum
        games = [game, *(compile_game(rules, cut=n) for n in range(2, betting.rounds + 2))]
        for name, counts in (("cfr+", (1, 1, 1, 7)), ("cfr", (1, 1, 1, 7, 90))):
            record = VARIANTS[name][0](floor=0.01)
            whole, solvers = Solver(flat, record), [Solver(one, record) for one in games]
            for count in counts:
                whole.iterate(count)
                for cards in solvers:
                    cards.iterate(count)
                    step_alike(cards, whole, (0,))
        compared += 1
        if compared == 2:
            return
    pytest.fail("too few games")


@pytest.mark.compiled
@pytest.mark.parametrize("shape", ["one card, suits", "two cards, river", "two cards, turn"])
def test_payoffs_of_single_terminals_are_sums_over_triples(shape: str) -> None:
    """Two folds and up to six showdowns, on the first and last boards, with random reaches."""
    rules = ThreeRandom(3, **SHAPES[shape])
    nodes, rng = compile_game(rules).nodes, np.random.default_rng(5)
    below, ends = [0], []
    for node in below:
        below += [step.node for step in nodes.children(node)]
        if nodes.player(node) == TERMINAL:
            ends.append(node)
    is_shown = [isinstance(rules.node(nodes.state(node)), SidePots) for node in ends]
    shown = [node for node, pots in zip(ends, is_shown, strict=True) if pots]
    folds = [node for node, pots in zip(ends, is_shown, strict=True) if not pots]
    assert shown
    check_single_terminals(nodes, folds[:2] + shown[:3] + shown[-3:], rng)


@pytest.mark.compiled
def test_kuhn_of_three_equals_openspiel() -> None:
    pytest.importorskip("pyspiel")
    cards = compile_game(kuhn_of_three())
    other = compile_game("openspiel:kuhn_poker(players=3)")
    one, two = Solver(cards, "cfr"), Solver(other, "cfr")
    for count in (1, 1, 1, 7):
        one.iterate(count)
        two.iterate(count)
        found, expected = one.evaluate(), two.evaluate()
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-13)
        np.testing.assert_allclose(
            found.best_responses, expected.best_responses, rtol=0, atol=1e-13
        )


@pytest.mark.compiled
def test_leduc_of_three_equals_openspiel() -> None:
    """The values of uniform play are those of ``pyspiel.expected_returns`` for
    ``leduc_poker(players=3)`` and ``pyspiel.UniformRandomPolicy`` (open_spiel 1.6); the counts are
    those of the built-in ``leduc(players=3)``."""
    game = compile_game(leduc_of_three())
    assert (game.n_histories, game.n_infosets, game.n_sequences) == (1_831_601, 25_800, 59_067)
    values = evaluate(game, Policy.uniform(game)).values
    openspiel = [-0.1586130401234569, -0.019097222222222487, 0.17771026234567885]
    np.testing.assert_allclose(values, openspiel, rtol=0, atol=1e-13)


@pytest.mark.full
@pytest.mark.compiled
def test_leduc_of_three_equals_the_built_in_game() -> None:
    one, two = (
        Solver(compile_game(leduc_of_three()), "cfr+"),
        Solver(compile_game("leduc(players=3)", symmetry=False), "cfr+"),
    )
    for count in (1, 1, 1, 7):
        one.iterate(count)
        two.iterate(count)
        found, expected = one.evaluate(), two.evaluate()
        np.testing.assert_allclose(
            found.best_responses, expected.best_responses, rtol=0, atol=1e-12
        )


SPOT = RIVER_OF_THREE | {"ranges": ("QQ-TT,AQ", "JJ-99,KQs,T9s", "99,66,ATs+,KTs")}


def test_a_third_range_with_other_weights_is_another_game() -> None:
    """A solution of one game is not restated in the other."""
    ranges = (*SPOT["ranges"][:2], f"{SPOT['ranges'][2].partition(',')[0]}:0.5")
    first = compile_game("holdem", **SPOT | {"ranges": (*ranges[:2], ranges[2].partition(":")[0])})
    second = compile_game("holdem", **SPOT | {"ranges": ranges})
    assert have_same_numbers(first, first)
    assert not have_same_numbers(first, second)


EXACT: dict[str, Any] = SPOT | {
    "ranges": SPOT["ranges"][:2],
    "folded": (f"{SPOT['ranges'][2]},AQ:0.5",),
    "deal_folded": True,
    "stacks": 100,
    "rake": 0.05,
    "rake_cap": 6,
}


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["three players", "one of three folded", "prizes"])
def test_a_real_river_equals_sums_over_triples(kind: str, request: pytest.FixtureRequest) -> None:
    """The payoffs of every terminal under strategies that differ by hand, from the cards alone."""
    rules: Any = Holdem(**(EXACT if kind == "one of three folded" else SPOT))
    if kind == "prizes":
        rules = tournament(rules, stacks=SPOT["stacks"], payouts=(50, 30, 20), others=(120,))
        # The product of such payoffs is compiled in tests/kernels.
        request.getfixturevalue("interpreted")
    game = compile_game(rules)
    policy = solve(game, "cfr", iters=3, precision="float64").policy
    hands = [np.asarray(of_player) for of_player in rules.hands]
    strength = [rules.strength(rules.board, of_player) for of_player in hands]
    triples = [
        triple
        for triple in product(*(range(len(of_player)) for of_player in hands))
        if len({*np.concatenate([h[n] for h, n in zip(hands, triple, strict=True)])}) == 6
    ]
    weights = np.array(
        [np.prod([w[n] for w, n in zip(rules.weights, t, strict=True)]) for t in triples]
    )
    at = np.array(triples)
    ranks = np.stack([strength[p][at[:, p]] for p in range(3)], axis=1)
    strategies: dict[str, Any] = policy.to_dict()
    nodes = game.nodes

    def expected(state: Any, line: str, reach: np.ndarray) -> np.ndarray:
        node = rules.node(state)
        if isinstance(node, Fold):
            return reach.sum() * np.array(node.utilities)
        if isinstance(node, SidePots):
            won = np.tile(-np.array(node.paid), (len(triples), 1))
            for amount, competing in node.pots:
                best = ranks[:, list(competing)].max(axis=1, keepdims=True)
                wins = ranks[:, list(competing)] == best
                won[:, list(competing)] += amount * wins / wins.sum(axis=1)[:, None]
            if node.utility is not None:
                rows, of_triple = np.unique(won, axis=0, return_inverse=True)
                won = np.array([node.utility(tuple(row)) for row in rows])[of_triple.ravel()]
            return reach @ won
        total = np.zeros(3)
        for action in node.actions:
            rows = [
                strategies.get(f"{label}{line}", {action: 0.0})[action]
                for label in nodes.hands[node.player]
            ]
            after = reach * np.array(rows)[at[:, node.player]]
            total += expected(rules.next(state, action), f"{line} {action}", after)
        return total

    values = expected(rules.root(), "", weights / weights.sum())
    np.testing.assert_allclose(evaluate(game, policy).values, values, rtol=0, atol=1e-11)
    assert (abs(values.sum()) < 1e-11) == (kind == "three players")


@pytest.mark.compiled
@pytest.mark.parametrize("board", [SPOT["board"], SPOT["board"][:8]], ids=["river", "turn"])
def test_a_third_hand_that_never_matters(board: str) -> None:
    """The spot of two players without the two cards, to 1e-9."""
    ranges = ("QsQh,TcTs,AsQs", "JdJh,KcQc") if len(board) == 8 else SPOT["ranges"][:2]
    options = SPOT | {"board": board, "ranges": ranges, "stacks": 100, "rake": 0.03}
    two = Solver(compile_game(Holdem(**options, dead="2c3c")), "cfr+", precision="float64")
    folded = Holdem(**options, folded=("2c3c",), deal_folded=True)
    three = Solver(compile_game(folded), "cfr+", precision="float64")
    for count in (1, 9):
        two.iterate(count)
        three.iterate(count)
        found, expected = three.evaluate(), two.evaluate()
        np.testing.assert_allclose(found.values[:2], expected.values, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            found.best_responses[:2], expected.best_responses, rtol=0, atol=1e-9
        )
        assert found.values[2] == 0.0


class Folds(Holdem):
    """A third player with any hand folds it with some probability, or else nobody gets anything."""

    def __init__(self) -> None:
        super().__init__(**(EXACT | {"folded": ("random",)}))

    def root(self) -> Any:
        return None

    def node(self, state: Any) -> Any:
        if state is None:
            return Decision(2, None, ("fold", "play"))
        return Fold((0.0, 0.0, 0.0)) if state == "play" else super().node(state)

    def next(self, state: Any, action: Any) -> Any:
        if state is None:
            return action if action == "play" else super().root()
        return super().next(state, action)


@pytest.mark.compiled
def test_a_range_that_was_folded_equals_a_third_player_who_folds() -> None:
    """Values of the same strategies differ by the probability that the third player folds."""
    exact, rules = Holdem(**EXACT), Folds()
    found = solve(compile_game(exact), "cfr", iters=3, precision="float64").policy
    shares = dict(zip(map(tuple, HANDS), read_range(EXACT["folded"][0], "folded"), strict=True))
    folds = [shares[tuple(hand)] for hand in rules.hands[2]]
    apart = [
        [
            [float({*a}.isdisjoint(b)) for b in rules.hands[q].tolist()]
            for a in rules.hands[p].tolist()
        ]
        for p, q in ((0, 1), (0, 2), (1, 2))
    ]
    deals = np.einsum("a,b,ab,ac,bc->c", *rules.weights[:2], *map(np.array, apart))
    game = compile_game(rules)
    rows: dict[str, Any] = {
        f"{label[:4]} fold{label[4:]}": row for label, row in found.to_dict().items()
    }
    for number, share in enumerate(folds):
        rows[game.nodes.hands[2][number]] = {"fold": share, "play": 1.0 - share}
    expected = np.array(evaluate(compile_game(exact), found).values) * (deals @ folds / deals.sum())
    np.testing.assert_allclose(evaluate(game, rows).values, expected, rtol=0, atol=1e-12)


def test_a_dealt_folded_hand_in_a_file_and_on_the_command_line(tmp_path: Path) -> None:
    few = EXACT | {"ranges": ("QsQh", "JdJh"), "folded": ("AA",)}
    assert parse_spot(spot_text(Holdem(**few))).options == Holdem(**few).options
    save_spot(Holdem(**few), tmp_path / "exact.toml")
    options = {key: value for key, value in few.items() if "folded" not in key}
    save_spot(Holdem(**options), tmp_path / "spot.toml")
    said = printed("spot", tmp_path / "exact.toml", "--iters", "5")
    assert "equilibria may have different values" in said
    given = ("--folded", "AA", "--deal-folded", "--iters", "5")
    again = printed("spot", tmp_path / "spot.toml", *given)
    assert [line for line in again.splitlines() if "finished" not in line] == [
        line for line in said.splitlines() if "finished" not in line
    ]
    shown = printed("spot", tmp_path / "exact.toml", "--node", "check", "--iters", "5")
    assert "check: ip to act on Td 9d 6h Qc 2s" in shown


class Renamed(ThreeRandom):
    """A random game whose players have other numbers."""

    def __init__(self, order: tuple[int, int, int]) -> None:
        super().__init__(59, cards=6, width=1, rounds=1, public=0)
        self.order = order
        place = np.argsort(order)
        self.hands, self.weights = (
            [arrays[p] for p in place] for arrays in (self.hands, self.weights)
        )

    def node(self, state: Any) -> Any:
        node, order = super().node(state), self.order
        if isinstance(node, Decision):
            return node._replace(player=order[node.player])
        if isinstance(node, Fold):
            return Fold(tuple(node.utilities[order.index(p)] for p in range(3)))
        if isinstance(node, SidePots):
            pots = tuple((amount, tuple(order[p] for p in who)) for amount, who in node.pots)
            return SidePots(pots, tuple(node.paid[order.index(p)] for p in range(3)))
        return node


@pytest.mark.compiled
@pytest.mark.parametrize("order", [(1, 0, 2), (1, 2, 0)])
def test_players_who_change_their_numbers_change_nothing(order: tuple[int, int, int]) -> None:
    """The order of the actions stays.  With simultaneous updates, all iterates are the same."""
    record = VARIANTS["cfr+"][0](floor=0.01, alternating=False)
    one, other = (Solver(compile_game(Renamed(to)), record) for to in ((0, 1, 2), order))
    for count in (1, 9):
        one.iterate(count)
        other.iterate(count)
        found, expected = other.evaluate(), one.evaluate()
        for name in ("values", "best_responses"):
            moved = [getattr(found, name)[p] for p in order]
            np.testing.assert_allclose(moved, getattr(expected, name), rtol=0, atol=1e-13)


@pytest.mark.compiled
def test_a_file_of_a_game_in_one_part(tmp_path: Path) -> None:
    """Up to version 0.18.0, games of three players had no chunks, and files said True."""
    options = SPOT | {"board": SPOT["board"][:8], "ranges": ("QsQh", "JdJh", "9h9s")}
    game = compile_game("holdem", **options, cut=2)
    assert game.recipe.cut == 2
    game.recipe = game.recipe._replace(cut=True)
    assert load_game(save_game(game, tmp_path / "game.npz")).chunks.n_chunks == 0
    chunked = compile_game("holdem", **options)
    again = load_game(save_game(chunked, tmp_path / "chunked.npz"))
    assert again.chunks.n_chunks == chunked.chunks.n_chunks == 48


@pytest.mark.compiled
def test_suits_that_change_places_change_nothing() -> None:
    turned = str.maketrans("hdcs", "csdh")
    ranges = ("QsQh,TcTs,AsQs", "JdJh,KcQc", "9h9s,AdTd,AsTs")
    spots = (
        SPOT | {"ranges": ranges},
        SPOT
        | {
            "board": SPOT["board"].translate(turned),
            "ranges": tuple(text.translate(turned) for text in ranges),
        },
    )
    first, second = (
        solve(compile_game("holdem", **spot), "cfr+", iters=10, precision="float64")
        for spot in spots
    )
    np.testing.assert_allclose(first.value, second.value, rtol=0, atol=1e-12)


def test_a_solve_ends_at_a_share_of_the_pot() -> None:
    """Of three players also after a thousand iterations, because no theorem promises the target.

    A third player whose hand is only dealt has no gain, so that 0.33 % of three means are 0.5 % of
    two.
    """
    game = compile_game("holdem", **SPOT)
    solution = solve(game)
    assert solution.status is Status.TARGET
    assert max(solution.evaluation.gains) < 3 * 0.005 * 60
    request = SolveRequest(game=game).with_end()
    assert (request.target, request.iters, request.is_for_target) == (0.3, 1000, True)
    folded = SolveRequest(game=compile_game("holdem", **EXACT)).with_end()
    assert (folded.target, folded.iters) == (pytest.approx(0.0033 * 60), None)


def test_ties_that_pay_less_than_the_mean() -> None:
    """Utilities of each player's own stack alone; they do not depend on the order of the others."""
    rules: Any = tournament(
        LimitOfThree(4, 1, (1,), 1), stacks=20, utility=lambda stacks: np.sqrt(stacks).tolist()
    )
    found = solve(compile_game(rules), "cfr", iters=2, precision="float64").value
    expected = solve(compile_game(rules, cut=False), "cfr", iters=2).value
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("raises", "most"), [("20c3r", 4), ("20c1r", 2)])
def test_limit_betting(raises: str, most: int) -> None:
    """Bets and raises of 20 chips, and at most three raises: every line of play, from the rules."""
    options = SPOT | {"stacks": 500, "bets": "20c", "raises": raises}
    rules = Holdem(**options, add_allin=0, force_allin=0)

    def lines(state: Any, line: tuple[str, ...]) -> list[tuple[str, ...]]:
        node = rules.node(state)
        if not isinstance(node, Decision):
            return [line]
        below = [lines(rules.next(state, action), (*line, action)) for action in node.actions]
        return [one for of_action in below for one in of_action]

    def limit(waiting: int, players: int, bets: int, line: tuple[str, ...]) -> list[Any]:
        """Lines of ``players`` who are left, of whom ``waiting`` still act on ``bets`` bets."""
        if waiting == 0 or players == 1:
            return [line]
        found = limit(waiting - 1, players, bets, (*line, "call" if bets else "check"))
        if bets:
            found = limit(waiting - 1, players - 1, bets, (*line, "fold")) + found
        if bets < most:
            action = f"raise{20 * bets + 20}" if bets else "bet20"
            found += limit(players - 1, players, bets + 1, (*line, action))
        return found

    assert sorted(lines(rules.root(), ())) == sorted(limit(3, 3, 0, ()))


class OfTwo(LimitOfThree):
    """Two players whose showdowns have side pots."""

    n_players = 2

    def __init__(self) -> None:
        super().__init__(cards=4, suits=1, bets=(1,), raises=0)
        self.hands, self.weights = self.hands[:2], self.weights[:2]

    def node(self, state: Any) -> Any:
        return SidePots(((2.0, (0, 1)),), (1.0, 1.0))


class Compared(LimitOfThree):
    """Three players with a showdown of two."""

    def __init__(self) -> None:
        super().__init__(cards=4, suits=1, bets=(1,), raises=0)

    def node(self, state: Any) -> Any:
        return Showdown((1.0, -1.0), (0.0, 0.0), (-1.0, 1.0))


def test_rules_that_are_not_supported_are_refused() -> None:
    with pytest.raises(GameError, match="SidePots is not for 2 players"):
        compile_game(OfTwo())
    with pytest.raises(GameError, match="Showdown is not for 3 players"):
        compile_game(Compared())
    few = kuhn_of_three()
    few.hands = [few.hands[0][:1]] * 3
    few.weights = [np.ones(1)] * 3
    with pytest.raises(GameError, match="any hands of all players share a card"):
        compile_game(few)
    wide = kuhn_of_three()
    wide.hands = [np.array([[0, 1, 2]])] * 3
    wide.weights = [np.ones(1)] * 3
    with pytest.raises(GameError, match="hands of 3 cards need two players, not 3"):
        compile_game(wide)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stacks": (100, 200)}, "stacks has 2 numbers; give one or 3"),
        ({"ranges": ("AA", "KK"), "stacks": (100, 200)}, "give the smaller one"),
        ({"donk": "50%"}, "donk needs two ranges, not 3"),
        ({"folded": ("AA",)}, "folded needs two ranges, not 3"),
        ({"deal_folded": True}, "two ranges and one folded range, not 3 and 0"),
        ({"ranges": ("AA", "KK"), "stacks": 9, "deal_folded": True}, "range, not 2 and 0"),
        ({"bets": {"oop": "50%"}}, "bets is for flop, turn, river, first, middle, last"),
        ({"ranges": ("AA",)}, "ranges must be 2 or 3 values"),
    ],
)
def test_options_that_are_not_for_three_players_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Holdem(**(SPOT | options))
