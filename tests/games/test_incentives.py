"""Incentives: payments for actions, against payoffs that are added up history by history."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from support.equality import EARLY_MARKS, as_game, assert_equal, difference
from support.layouts import assert_same_solves
from support.random_games import random_game, random_public_tree_game
from support.reference import ReferenceCFR, build_tree
from support.slow_values import DealtCards, SlowValues
from tensorcfr import Game, GameError, Policy, Solution, Solver, compile_game, evaluate, solve
from tensorcfr.analysis import incentive_prices
from tensorcfr.analysis.comparison import seated
from tensorcfr.analysis.other_utilities import values_of
from tensorcfr.evaluation import best_response
from tensorcfr.formats import find_policy, parse_spot, spot_text
from tensorcfr.games import make_game
from tensorcfr.games.incentives import Incentive, with_incentives
from tensorcfr.games.matrix import MatrixGame
from tensorcfr.model.chunked_game import have_same_numbers
from tensorcfr.rules import Decision, Terminal


class PaidByHistory(Game):
    """A game whose payments are added at the end, from all actions of the history.

    Args:
        game: The game, history by history.
        payments: Player, actions that are paid, amount, and actions of players before, or None.
    """

    def __init__(self, game: Game, payments: list[tuple[int, set[str], float, Any]]) -> None:
        self.game, self.payments, self.n_players = game, payments, game.n_players

    def root(self) -> Any:
        return self.game.root(), ()

    def node(self, state: Any) -> Any:
        node = self.game.node(state[0])
        if not isinstance(node, Terminal):
            return node
        taken = state[1]
        paid = [0.0] * self.n_players
        for player, actions, amount, line in self.payments:
            for k, (actor, label) in enumerate(taken):
                before = [earlier for _, earlier in taken[:k]]
                if actor == player and label in actions and line in (None, before):
                    paid[player] += amount
        return Terminal([u + more for u, more in zip(node.utilities, paid, strict=True)])

    def next(self, state: Any, action: Any) -> Any:
        node = self.game.node(state[0])
        taken = ((node.player, str(action)),) if isinstance(node, Decision) else ()
        return self.game.next(state[0], action), state[1] + taken


def every(ranks: str) -> str:
    """All cards of some ranks."""
    return "".join(rank + suit for rank in ranks for suit in "cdhs")


Payments = list[tuple[int, set[str], float, Any]]
KUHN: tuple[tuple[str, ...], Payments] = (
    ("1 bet +0.5", "0 bet -0.25 after pass bet", "0 pass +0.125 after start"),
    [(1, {"bet"}, 0.5, None), (0, {"bet"}, -0.25, ["pass", "bet"]), (0, {"pass"}, 0.125, [])],
)
LEDUC: tuple[tuple[str, ...], Payments] = (
    ("1 raise +0.3", "0 call -0.2", "0 raise +0.7 after call call call raise"),
    [
        (1, {"raise"}, 0.3, None),
        (0, {"call"}, -0.2, None),
        (0, {"raise"}, 0.7, ["call", "call", "call", "raise"]),
    ],
)
RANDOM: tuple[tuple[str, ...], Payments] = (
    ("0 a +0.3", "1 b -0.45"),
    [(0, {"a"}, 0.3, None), (1, {"b"}, -0.45, None)],
)
RULES: dict[str, tuple[Any, tuple[tuple[str, ...], Payments]]] = {
    "kuhn": (lambda: make_game("kuhn(cards=4)"), KUHN),
    "kuhn, 3 players": (lambda: make_game("kuhn(players=3)"), (KUHN[0][:1], KUHN[1][:1])),
    "leduc": (lambda: make_game("leduc(ranks=2)"), LEDUC),
    "goofspiel": (
        lambda: make_game("goofspiel(cards=3)"),
        (("1 2 +0.5",), [(1, {"2"}, 0.5, None)]),
    ),
    "random": (lambda: random_game(3, zero_sum=True), RANDOM),
    "random, 3 players": (lambda: random_game(5, n_players=3), RANDOM),
    "random hands": (lambda: random_public_tree_game(4), RANDOM),
}
"""Rules, incentives in words, and the same payments for :class:`PaidByHistory`."""


def assert_equal_to_reference(rules: Any, texts: tuple[str, ...], slow: Game) -> None:
    """Ten iterations and the values of their averages equal those of the slow game."""
    solver = Solver(compile_game(with_incentives(rules, texts)), "cfr", precision="float64")
    tree = build_tree(slow)
    reference = ReferenceCFR(tree, average_power=0, alternating=True)
    assert_equal(solver, reference, EARLY_MARKS)
    found, values = solver.evaluate(), SlowValues(tree, reference.average_policy())
    np.testing.assert_allclose(found.values, values.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.best_responses, values.best_responses, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", RULES)
def test_games_equal_the_payments_of_each_history(name: str) -> None:
    make, (texts, payments) = RULES[name]
    assert_equal_to_reference(make(), texts, PaidByHistory(as_game(make()), payments))


SPOT: dict[str, Any] = {
    "board": "QsJh2h8d",
    "ranges": ("AsAh,KsQs,7h6h", "KsKh,QdJd,5c5d"),
    "pot": 100,
    "stacks": 120,
    "bets": "50%,a",
    "raises": "a",
    "rake": 0.05,
}
SPOT_TEXTS = ("ip river bet +7", "oop raise -3", "ip call +2 after check bet50 call allin")


def spot_payments(rules: Any) -> Game:
    """The payments of :data:`SPOT_TEXTS`, from the histories of the spot."""

    class Turns(PaidByHistory):
        """Payments that depend on the street, and on whether an all-in is a bet or a raise."""

        def node(self, state: Any) -> Any:
            node = self.game.node(state[0])
            if not isinstance(node, Terminal):
                return node
            paid, street, faced, line = [0.0, 0.0], 0, False, []
            for actor, label in state[1]:
                if actor is None:
                    street, faced = street + 1, False
                    continue
                is_raise = label.startswith("raise") or (label == "allin" and faced)
                is_bet = label.startswith("bet") or (label == "allin" and not faced)
                paid[1] += 7.0 * (actor == 1 and street == 1 and is_bet)
                paid[0] -= 3.0 * (actor == 0 and is_raise)
                at_line = line == ["check", "bet50", "call", "allin"]
                paid[1] += 2.0 * (actor == 1 and label == "call" and at_line)
                faced, line = faced or is_bet, [*line, label]
            return Terminal([u + more for u, more in zip(node.utilities, paid, strict=True)])

        def next(self, state: Any, action: Any) -> Any:
            after = super().next(state, action)
            dealt = len(state[0][0]) == 2 and not isinstance(self.game.node(state[0]), Decision)
            return (after[0], (*state[1], (None, ""))) if dealt else after

    return Turns(DealtCards(rules), [])


def test_a_spot_equals_the_payments_of_each_history() -> None:
    small = {"ranges": ("AsAh,7h6h", "KsKh,QdJd"), "bets": {"turn": "50%", "river": "a"}}
    small["dead"] = f"2c2d2s6c6d6s7c7d7s8c8h8s{every('3459T')}"  # So that there are few rivers.
    rules = make_game("holdem", **SPOT | small)
    assert_equal_to_reference(rules, SPOT_TEXTS, spot_payments(rules))


def test_layouts_are_equal() -> None:
    spot = SPOT | {"incentives": SPOT_TEXTS}
    dice = "liars_dice(faces=3, incentives='0 liar +0.25')"
    for source, options in (("holdem", spot), (dice, {})):
        flat = compile_game(source, cut=False, **options)
        chunks = compile_game(source, cut=1, **options)
        assert chunks.chunks.n_chunks
        assert not flat.chunks.n_chunks
        one, other = (Solver(game, "cfr", precision="float64") for game in (chunks, flat))
        assert_same_solves(one, other, (5,))


def test_other_ends() -> None:
    """Runouts, side pots and prizes: the payment is added to every outcome of the player."""
    rules: Any = make_game("push_or_fold", payouts=(50, 30), others=(8,), incentives="0 call +0.5")
    plain: Any = rules.unpaid_rules
    ends = [game.next(game.next(game.root(), "allin"), "call") for game in (rules, plain)]
    pairs = zip(rules.node(ends[0])[:3], plain.node(ends[1])[:3], strict=True)
    assert all(paid == (unpaid[0] + 0.5, unpaid[1]) for paid, unpaid in pairs)
    three = {"board": "QsJh2h8d3c", "ranges": ("AA", "KK", "55"), "pot": 90, "stacks": 60}
    game: Any = make_game("holdem", bets="a", incentives="middle call +4", **three)
    states = [game.root(), game.unpaid_rules.root()]
    for action in ("allin", "call", "call"):
        states = [g.next(s, action) for g, s in zip((game, game.unpaid_rules), states, strict=True)]
    paid, unpaid = game.node(states[0]), game.unpaid_rules.node(states[1])
    assert paid.pots == unpaid.pots
    assert np.subtract(unpaid.paid, paid.paid).tolist() == [0.0, 4.0, 0.0]
    assert compile_game(game).utility_sums == (0.0, 4.0)
    prizes: dict[str, Any] = {"players": 3, "stacks": (10, 8, 6), "payouts": (50, 30, 20)}
    game = make_game("push_or_fold", incentives="0 allin +1", **prizes)
    states = [game.root(), game.unpaid_rules.root()]
    for action in ("allin", "call", "fold"):
        states = [g.next(s, action) for g, s in zip((game, game.unpaid_rules), states, strict=True)]
    paid, unpaid = game.node(states[0]), game.unpaid_rules.node(states[1])
    change = np.subtract(paid.utility((2.0, -1.0, -1.0)), unpaid.utility((2.0, -1.0, -1.0)))
    assert change == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)


def test_the_rest_of_the_rules_is_unchanged(tmp_path: Any) -> None:
    game = compile_game("holdem", **SPOT, incentives=SPOT_TEXTS)
    rules: Any = game.nodes.rules  # type: ignore[union-attr]
    plain = make_game("holdem", **SPOT)
    state, unpaid = (r.next(r.root(), "check") for r in (rules, plain))
    assert rules.chips(state) == plain.chips(unpaid)
    assert rules.described(state) == plain.described(unpaid)
    assert rules.put_in(state) == plain.put_in(unpaid)
    assert rules.betting.actions(state) == plain.node(unpaid).actions
    assert pickle.loads(pickle.dumps(rules)).options == rules.options
    assert parse_spot(spot_text(rules)).options == rules.options
    other = game.with_options(ranges=("AsAh,KsQs", "KsKh,5c5d"))
    assert other.nodes.rules.options["incentives"] == SPOT_TEXTS  # type: ignore[union-attr]
    assert game.with_options(incentives=()).digest == compile_game("holdem", **SPOT).digest
    assert compile_game("holdem", **SPOT).with_options(incentives=SPOT_TEXTS).digest == game.digest
    assert have_same_numbers(game, compile_game("holdem", **SPOT))
    saved = solve(game, iters=2).save(tmp_path / "paid.npz")
    assert Solution.load(saved).game.digest == game.digest


@pytest.mark.parametrize(
    ("source", "texts", "message"),
    [
        ("kuhn", "1 call +1", r"'call \+1': player 1 of KuhnPoker has no such action"),
        ("kuhn", "1 bet 1", "'1 bet 1' is not an incentive such as"),
        ("kuhn", "2 bet +1", "there is no player '2', but 0, 1"),
        ("kuhn", "0 bet +1 after bet", "no such action"),
        ("leduc", "1 turn call +1", "only spots have streets"),
        ("kuhn", "1 bet +1e999", "is not an incentive"),
    ],
)
def test_refused_incentives(source: str, texts: str, message: str) -> None:
    with pytest.raises(GameError, match=message):
        compile_game(source, incentives=texts)


def test_names_with_blanks() -> None:
    names = "small blind", "big blind"
    assert Incentive.read("big blind raise +1 after call", names).player == 1
    with pytest.raises(ValueError, match="there is no player 'big', but small blind, big blind"):
        Incentive.read("big bet +1", names)


def test_incentives_are_not_given_twice() -> None:
    rules = make_game("kuhn", incentives="1 bet +1")
    paid = solve(compile_game(rules), iters=1)
    for solution in (paid, solve(compile_game("kuhn", incentives="1 bet +1"), iters=1)):
        with pytest.raises(ValueError, match="without incentives"):
            incentive_prices(solution, 0, "bet +1")
    with pytest.raises(TypeError, match="must not have incentives already"):
        with_incentives(rules, ["0 bet +1"])


@pytest.mark.parametrize("player", [0, 1])
def test_prices_are_those_of_the_game_without_payments(player: int) -> None:
    solution = solve(compile_game("leduc(ranks=2)"), "cfr", iters=10)
    texts = ("raise +0.5", "call -0.2")
    prices = incentive_prices(solution, player, texts, algorithm="cfr", iters=10)
    assert [price.incentives for price in prices] == [texts[:1], texts[1:], texts]
    game = as_game(make_game("leduc(ranks=2)"))
    tree = build_tree(game)
    base = rows_of(solution.policy)
    for price, of_price in zip(prices, (texts[:1], texts[1:], texts), strict=True):
        payments = [(player, {text.split()[0]}, float(text.split()[1]), None) for text in of_price]
        paying = build_tree(PaidByHistory(game, payments))
        reference = ReferenceCFR(paying, average_power=0, alternating=True)
        for _ in range(10):
            reference.iterate()
        leaning = reference.average_policy()
        assert difference(price.policy, leaning)[0] <= 1e-11
        own = {infoset.label for infoset in tree.infosets_of(player)}
        changed = {label: leaning[label] if label in own else row for label, row in base.items()}
        before, after = SlowValues(tree, base), SlowValues(tree, changed)
        expected = (
            SlowValues(paying, leaning).values[player] - SlowValues(tree, leaning).values[player],
            SlowValues(paying, base).values[player] - before.values[player],
            before.values[player] - after.values[player],
            after.best_responses[1 - player] - before.best_responses[1 - player],
        )
        found = price.paid, price.paid_before, price.against_solution, price.against_best
        assert found == pytest.approx(expected, abs=1e-11)


def rows_of(policy: Policy) -> dict[str, list[float]]:
    """The strategies by label, as the reference has them."""
    return {label: list(row.values()) for label, row in policy.items()}


class NamedAsKuhn(PaidByHistory):
    """Kuhn poker with the name of the built-in game and ten times its utilities."""

    name = "kuhn"

    def node(self, state: Any) -> Any:
        node = super().node(state)
        return Terminal([10.0 * u for u in node.utilities]) if isinstance(node, Terminal) else node


def test_losses_without_a_constant_sum() -> None:
    """The other player's best response to x is R, as 2 > 1, and to y it is L."""
    game = compile_game(
        MatrixGame(
            [[[3.0, 0.5], [5.0, 1.0]], [[1.0, 2.0], [4.0, 0.0]]], actions=[["x", "y"], ["L", "R"]]
        )
    )
    for row, expected in (("x", (3.0, 0.5)), ("y", (5.0, 5.0))):
        policy = find_policy(game, {"P0": {row: 1.0}, "P1": {"L": 1.0}})
        assert values_of(game, policy, 0) == expected


def test_prices_of_other_games() -> None:
    """A spot in chunks is compiled again with its options; a game of one's own is refused."""
    exact: dict[str, Any] = {"algorithm": "cfr", "iters": 30, "precision": "float64"}
    game = compile_game("holdem", **SPOT)
    solution = solve(game, **exact)
    (price,) = incentive_prices(solution, 1, "call +5", **exact)
    paying = compile_game("holdem", **SPOT, incentives="ip call +5")
    assert price.solution.game.digest == paying.digest
    unpaid, paid = evaluate(game, price.policy), evaluate(paying, price.solution.policy)
    assert paid.values[0] == pytest.approx(unpaid.values[0], abs=1e-11)
    assert paid.values[1] - unpaid.values[1] == pytest.approx(price.paid, abs=1e-11)
    flat = game.flat()
    values = []
    for policy in (solution.policy, seated((solution.policy, price.policy))):
        best = best_response(flat, policy.to_dict(), 0).policy
        values.append(evaluate(flat, best).values[1])
    assert not game.constant_sum
    assert price.against_best == pytest.approx(values[0] - values[1], abs=1e-9)
    own = solve(compile_game(NamedAsKuhn(as_game(make_game("kuhn")), [])), iters=1)
    with pytest.raises(ValueError, match="needs a spot or a built-in game"):
        incentive_prices(own, 0, "bet +1")
    with pytest.raises(ValueError, match="'call more' is not an incentive such as 'call \\+2'"):
        incentive_prices(own, 0, "call more")
    with pytest.raises(ValueError, match=r"'call \+1': player 1 of KuhnPoker"):
        incentive_prices(solve(compile_game("kuhn"), iters=1), 1, "call +1")
    with pytest.raises(ValueError, match="two players"):
        incentive_prices(solve(compile_game("kuhn(players=3)"), iters=1), 1, "bet +1")
