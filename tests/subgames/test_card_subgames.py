"""Subgames of games of cards: equal to those hand by hand; safe; played as the strategies say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from subgames.test_resolving import random_policy
from support.card_games import LeducOfCards, RandomCards, RandomSuits
from support.interpreted import interpret
from support.layouts import farthest, in_chunks, step_alike, ways_to_cards
from support.slow_subgames import Spot, cfr_d
from support.tiers import tiered
from tensorcfr import CompiledGame, FlatGame, Policy, Solver, compile_game, evaluate, solve
from tensorcfr.algorithms import CFR_D, CFR_PLUS
from tensorcfr.compilers.cards.card_public_nodes import CardNodes
from tensorcfr.compilers.cards.flat_cards import HandByHand
from tensorcfr.games.holdem import Holdem
from tensorcfr.model.arrays import CHANCE, TERMINAL
from tensorcfr.rules import CardGame, Deal, Decision, Fold, Showdown
from tensorcfr.subgames import DecomposedSolver, Match, belief, resolve, subgame, subgame_roots
from tensorcfr.subgames.card_part import CardPart, CompiledCardPart, follow
from tensorcfr.subgames.entrance import CardEntrance
from tensorcfr.subgames.positions import Position

FULL = pytest.mark.full
EXACT = 1e-7
"""The linear program is exact to 1e-9 of the largest payoff; values differ by some of that."""


def random_cards(seed: int, rounds: int) -> RandomCards:
    return RandomCards(seed, cards=6, width=2, rounds=rounds, public=0, zero_sum=True)


class Charged(RandomCards):
    """One card each, two betting rounds; both players pay a fee for every deal."""

    def __init__(self, seed: int, fee: float) -> None:
        super().__init__(seed, cards=4, width=1, rounds=1, public=0, zero_sum=True)
        self.fee = fee

    def node(self, state: tuple[str, ...]) -> Decision | Deal | Fold | Showdown:
        node = super().node(state)
        if isinstance(node, (Fold, Showdown)):
            return type(node)(*(tuple(u - self.fee for u in row) for row in node))
        return node


RULES: dict[str, Callable[[], CardGame]] = {
    "leduc": LeducOfCards,
    "one round": lambda: random_cards(2, 1),
    "two rounds": lambda: random_cards(9, 2),
    "charged": lambda: Charged(21, 0.4),
    "two streets": lambda: Charged(61, 0.0),
}


ZERO_SUM = ["leduc", "one round", "two rounds"]
AT = {"leduc": ("call call", "raise call Ks"), "one round": ("y", "x y")}
"""Where the subgames begin; by default at one public node after a step."""


@cache
def compiled(name: str) -> CompiledGame:
    """Without merged hands, so that strategies can be put back."""
    return compile_game(RULES[name](), symmetry=False)


@cache
def flat_game(name: str) -> FlatGame:
    """The same game, laid out."""
    return compiled(name).flat()


def rules_of(game: CompiledGame) -> CardGame:
    return CardNodes.of(game).rules


def places(name: str, policy: Policy) -> list[str]:
    """Lines that both players reach."""
    flat = flat_game(name)
    names = AT.get(name) or subgame_roots(flat, 1)[:1]
    return [at for at in names if belief(flat, policy, at).reach > 0]


def compare(name: str, method: str, **options: Any) -> None:
    """All that resolving says equals the same game hand by hand."""
    game, flat = compiled(name), flat_game(name)
    blueprint = random_policy(flat, 3)
    at = places(name, blueprint)
    assert at
    slow = resolve(flat, blueprint, at, method=method, **options)
    fast = resolve(game, in_chunks(blueprint, game), at, method=method, **options)
    for one, other in zip(slow.subgames, fast.subgames, strict=True):
        assert (one.public_node.split(), one.player, one.hands) == (
            other.public_node.split(),
            other.player,
            other.hands,
        )
        np.testing.assert_allclose(other.alternative, one.alternative, rtol=0, atol=1e-9)
        assert other.solution.value == pytest.approx(one.solution.value, abs=EXACT)
        if method == "resolve":
            np.testing.assert_allclose(other.values, one.values, rtol=0, atol=1e-5)
            assert other.least_margin >= (-EXACT if options["algorithm"] == "lp" else -1.0)
    if name == "leduc":
        assert farthest(fast.policy, slow.policy) < 1e-9


@FULL
@pytest.mark.parametrize(
    ("name", "method"),
    [*((name, "resolve") for name in ZERO_SUM), ("leduc", "unsafe"), ("one round", "unsafe")],
)
def test_resolving_equals_the_flat_game(name: str, method: str) -> None:
    """Alternative values, the gadget's value, values by hand: by the linear program."""
    compare(name, method, algorithm="lp")


@pytest.mark.parametrize(
    ("fee", "player"), tiered(product((0.0, 0.4), (0, 1)), [(0.0, 0), (0.0, 1), (0.4, 0)])
)
def test_the_resolve_gadget_equals_a_slow_reference(
    interpreted: None, fee: float, player: int
) -> None:
    """From the rules hand by hand; also where the utilities do not sum to 0."""
    game, blueprint = charged(fee)
    at, opponent = ["x", "y x"], 1 - player
    found = resolve(game, blueprint, at, player=player, algorithm="lp")
    for one in found.subgames:
        slow = Spot(HandByHand(rules_of(game)), tuple(one.public_node.split()))
        weights = slow.weights(dict(blueprint), opponent).sum(axis=1)
        for policy, fast in ((blueprint, one.alternative), (found.policy, one.values)):
            expected = slow.best(dict(policy), opponent) / weights
            np.testing.assert_allclose(fast, expected, rtol=0, atol=1e-9)
        best = slow.best_gadget(dict(blueprint), player, one.alternative, margin=False)
        value = one.solution.value
        assert value[opponent] * weights.sum() == pytest.approx(best, abs=EXACT)
        assert sum(value) == pytest.approx(-2 * fee, abs=EXACT)
    assert len(found.subgames) == len(at)
    assert found.least_margin >= -EXACT
    # The opponent goes on as before.
    for label, row in blueprint.to_dict(opponent).items():
        assert found.policy[label] == pytest.approx(row, abs=1e-12)


@pytest.mark.parametrize("player", tiered([0, 1], [0]))
def test_resolving_where_utilities_sum_to_no_constant(interpreted: None, player: int) -> None:
    """As where a house takes rake, from the rules hand by hand."""
    rules, iterations = RandomCards(7, cards=4, width=1, rounds=1, public=0), 20
    game, rng = compile_game(rules, symmetry=False), np.random.default_rng(8)
    assert not game.constant_sum
    blueprint = Policy.from_rows(game, lambda _, actions: rng.dirichlet(np.ones(len(actions))))
    options: dict[str, Any] = {"player": player, "algorithm": "cfr+", "iters": iterations}
    found = resolve(game, blueprint, "x", **options)
    (one,) = found.subgames
    slow, opponent = Spot(HandByHand(rules), ("x",)), 1 - player
    weights = slow.weights(dict(blueprint), opponent).sum(axis=1)
    for policy, fast in ((blueprint, one.alternative), (found.policy, one.values)):
        expected = slow.best(dict(policy), opponent) / weights
        np.testing.assert_allclose(fast, expected, rtol=0, atol=1e-9)
    given, seen = (dict(blueprint), player, one.alternative, iterations), 0
    for public, average in slow.gadget_cfr_plus(*given).items():
        for hand in range(len(slow.hands[player])):
            label = slow.label(player, hand, public)
            if label in game.labels_of(player):
                row = list(found.policy[label].values())
                np.testing.assert_allclose(row, average[:, hand], rtol=0, atol=1e-9)
                seen += 1
    assert seen >= 8
    for wrong in ({"method": "maxmargin"}, {"algorithm": "lp", "iters": None}):
        with pytest.raises(ValueError, match="safe resolving is for zero-sum games"):
            resolve(game, blueprint, "x", **options | wrong)


def test_new_strategies_where_hands_are_merged(interpreted: None) -> None:
    """They are put into the game that merges none: as from a blueprint of that game."""
    rules = RandomSuits(3, ranks=4, suits=2, width=1, rounds=1)
    merged, plain = (compile_game(rules, symmetry=symmetry) for symmetry in (True, False))
    assert merged.merges_hands
    nodes = CardNodes.of(merged)
    before = nodes.find_line(subgame_roots(merged, "chance")[0])
    at = nodes.name(nodes.children(before)[0].node)
    found, expected = (
        resolve(game, Policy.uniform(game), at, algorithm="cfr+", iters=3).policy
        for game in (merged, plain)
    )
    assert found.game.digest == plain.digest
    np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=0, atol=1e-12)
    changed = found.probabilities != Policy.uniform(plain).probabilities
    assert 0 < changed.sum() < changed.size / 2


@pytest.mark.parametrize("player", tiered([0, 1], [0]))
def test_the_maxmargin_gadget_equals_a_slow_reference(interpreted: None, player: int) -> None:
    """From the rules hand by hand, to the error of the iterations."""
    game, blueprint = charged(0.4)
    options: dict[str, Any] = {"method": "maxmargin", "algorithm": "cfr+", "iters": 40}
    (one,) = resolve(game, blueprint, "x", player=player, **options).subgames
    slow = Spot(HandByHand(rules_of(game)), ("x",))
    best = slow.best_gadget(dict(blueprint), player, one.alternative, margin=True)
    assert best - 0.02 < one.least_margin < best + EXACT
    assert one.solution.value[1 - player] == pytest.approx(-best, abs=0.02)
    assert one.solution.value[player] == pytest.approx(best, abs=0.02)


@pytest.mark.parametrize("player", [0, 1])
def test_unsafe_resolving_is_that_of_the_flat_subgame(interpreted: None, player: int) -> None:
    """With the ranges of both players, from the rules hand by hand."""
    game, blueprint = charged(0.0)
    options: dict[str, Any] = {"player": player, "method": "unsafe", "algorithm": "lp"}
    (one,) = resolve(game, blueprint, "x", **options).subgames
    slow = Spot(HandByHand(rules_of(game)), ("x",))
    ranges = [slow.reach(dict(blueprint), owner) for owner in (0, 1)]
    part = subgame(game.flat(), "x", ranges=ranges)
    assert one.solution.value == pytest.approx(solve(part, "lp").value, abs=EXACT)


def charged(fee: float) -> tuple[CompiledGame, Policy]:
    """A game and a blueprint under which everybody comes everywhere."""
    game = compile_game(Charged(7, fee), symmetry=False)
    rng = np.random.default_rng(8)

    def row(_: str, actions: tuple[str, ...]) -> np.ndarray:
        found = rng.exponential(size=len(actions)) + 0.05
        return found / found.sum()

    return game, Policy.from_rows(game, row)


@FULL
@pytest.mark.parametrize("method", ["resolve", "maxmargin"])
def test_iterations_equal_those_of_the_flat_game(method: str) -> None:
    """In Leduc every pair of hands that can meet shares no card, so that no sum cancels."""
    compare("leduc", method, algorithm="cfr+", iters=20)


@FULL
@pytest.mark.parametrize("name", ["leduc", "one round"])
def test_t3_maxmargin_has_the_largest_least_margin(name: str) -> None:
    """The one that the linear program finds hand by hand, to the error of the iterations."""
    game, flat = compiled(name), flat_game(name)
    blueprint = random_policy(flat, 3)
    options: dict[str, Any] = {"method": "maxmargin"}
    at = places(name, blueprint)
    slow = resolve(flat, blueprint, at, **options, algorithm="lp").subgames
    given = in_chunks(blueprint, game)
    fast = resolve(game, given, at, **options, algorithm="cfr+", iters=3000)
    for one, other in zip(slow, fast.subgames, strict=True):
        assert one.least_margin - 1e-3 < other.least_margin < one.least_margin + EXACT
        found = other.solution
        assert found.value[other.player] == pytest.approx(one.least_margin, abs=1e-3)
        assert found.exploitability < 1e-3


@FULL
@pytest.mark.parametrize("name", ZERO_SUM)
def test_t2_no_blueprint_becomes_more_exploitable(name: str) -> None:
    game, flat_policy = compiled(name), random_policy(flat_game(name), 7)
    blueprint = in_chunks(flat_policy, game)
    found = resolve(game, blueprint, places(name, flat_policy), algorithm="lp")
    before = evaluate(game, blueprint).best_responses
    after = evaluate(game, found.policy).best_responses
    assert all(b <= a + EXACT for a, b in zip(before, after, strict=True))
    assert found.least_margin >= -EXACT


@FULL
def test_t1_an_equilibrium_keeps_its_values() -> None:
    game = compiled("leduc")
    solution = solve(flat_game("leduc"), "lp")
    found = resolve(game, in_chunks(solution.policy, game), "raise call", algorithm="lp")
    for one in found.subgames:
        dealt = ~np.isnan(one.alternative)
        rules = rules_of(one.followed.policy.game)
        assert isinstance(rules, CardEntrance)
        opponent = 1 - one.player
        shares = np.zeros(len(dealt))
        for hand, cards in enumerate(rules.hands[opponent]):
            met = ~(rules.hands[one.player] == cards).any(axis=1)
            kept = rules.rules.part_hands[opponent][hand]
            shares[kept] = rules.weights[opponent][hand] * rules.weights[one.player][met].sum()
        worth = shares[dealt] @ one.alternative[dealt] / shares.sum()
        assert one.solution.value[opponent] == pytest.approx(worth, abs=EXACT)
    assert evaluate(game, found.policy).exploitability <= EXACT


@FULL
@pytest.mark.parametrize("opponent", [0, 1])
def test_a_gadget_equals_its_flat_game(opponent: int) -> None:
    """Iterates and evaluations, with an end that is not 0.  The floor keeps reaches above 0."""
    rules = random_cards(9, 2)
    rng = np.random.default_rng(4)
    weights = [rng.random(len(own)) for own in rules.hands]
    line = follow(rules, subgame_roots(compiled("two rounds"), 1)[0])
    part = CompiledCardPart(CardPart(rules, line, weights), 1 - opponent, 0.3)
    gadget = part.resolve_gadget(rng.normal(size=part.all_hands)).game
    algorithm = CFR_PLUS(floor=0.01)
    fast, slow = Solver(gadget, algorithm), Solver(gadget.flat(), algorithm)
    step_alike(fast, slow, (3, 3), strategies=1e-9)


# ----------------------------------------------------------------------------- other actions


class NoSecondRaise(LeducOfCards):
    """Leduc in which nobody raises on the second street; ``ante`` changes what folds pay."""

    def __init__(self, lost: float = 1.0) -> None:
        super().__init__()
        self.lost = lost

    def node(self, state: tuple[str, str]) -> Decision | Deal | Fold | Showdown:
        node = super().node(state)
        if isinstance(node, Decision) and state[1]:
            return node._replace(actions=tuple(a for a in node.actions if a != "raise"))
        if isinstance(node, Showdown):
            return Showdown(*(tuple(self.lost * u for u in row) for row in node))
        return node


@pytest.mark.parametrize("at", ["call call Js", "call call Js raise"])
def test_a_blueprint_of_fewer_actions(interpreted: None, at: str) -> None:
    """Below the card, and after a raise that the blueprint has not, as in the flat games."""
    coarse, fine = compile_game(NoSecondRaise(), symmetry=False), compiled("leduc")
    blueprint = random_policy(coarse.flat(), 1)
    options: dict[str, Any] = {"player": 1, "algorithm": "lp"}
    slow = resolve(flat_game("leduc"), blueprint, at, **options).subgames[0]
    blueprint = in_chunks(blueprint, coarse)
    # The rules will do: nothing of the finer game is compiled but the subgame.
    for game in (fine, rules_of(fine)):
        fast = resolve(game, blueprint, at, **options).subgames[0]
        np.testing.assert_allclose(fast.alternative, slow.alternative, rtol=0, atol=1e-9)
        assert fast.solution.value == pytest.approx(slow.solution.value, abs=EXACT)
    known = Spot(HandByHand(rules_of(coarse)), ("call", "call", "Js"))
    weights = known.weights(dict(blueprint), 0).sum(axis=1)
    expected = known.best(dict(blueprint), 0)[weights > 0] / weights[weights > 0]
    np.testing.assert_allclose(fast.alternative[weights > 0], expected, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="is not compiled: read the new strategies"):
        _ = resolve(rules_of(fine), blueprint, at, **options).policy


SMALL: dict[str, Any] = {"board": "QsJh2h8d3c", "ranges": ("AA,AKs", "KK,QQ"), "stacks": 100}


def test_blueprints_that_do_not_fit(interpreted: None) -> None:
    leduc, other = compile_game(LeducOfCards()), compile_game(NoSecondRaise(2.0), symmetry=False)
    uniform = Policy.uniform
    with pytest.raises(ValueError, match=r"pays differently than LeducOfCards here after 'call"):
        resolve(leduc, uniform(other), "call call Js")
    spot, wide = Holdem(pot=10, **SMALL), Holdem(pot=10, **SMALL | {"ranges": ("AA", "KK")})
    with pytest.raises(ValueError, match="which deals other hands or boards"):
        resolve(spot, uniform(compile_game(wide)), "start")
    with pytest.raises(TypeError, match="blueprint must be a solution or a policy"):
        resolve(spot, {"AsAh": {}}, "start")
    open_card = RandomCards(1, cards=5, width=1, rounds=1, public=1, zero_sum=True)
    policy = uniform(compile_game(open_card, symmetry=False))
    on_the_board = open_card.cards[open_card.board[0]]
    with pytest.raises(ValueError, match="cannot be dealt after"):
        resolve(policy.game, policy, f"x {on_the_board}")
    for at, message in {
        "bet": "has no step 'bet' at the start",
        "check Td": "has no step 'Td' after 'check'",
        "check check": "is over at 'check check'",
    }.items():
        with pytest.raises(ValueError, match=message):
            resolve(spot, uniform(compile_game(spot)), at)
    with pytest.raises(ValueError, match="subgames are disjoint"):
        resolve(spot, uniform(compile_game(spot)), ["check", "start"])
    for options in (
        {"method": "reach-maxmargin"},
        {"method": "maxmargin", "algorithm": "lp"},
        {"depth_limit": 1},
        {"continuations": ()},
    ):
        with pytest.raises(ValueError, match="need arrays of hands x hands"):
            resolve(spot, uniform(compile_game(spot)), "start", **options)


# ------------------------------------------------------------------------------------- CFR-D


@pytest.mark.parametrize("name", tiered(["leduc", "charged"], fast=["charged"]))
def test_cfr_d_equals_the_slow_reference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chunks, one for each board, are the subgames; all lines to a board enter one together.
    Compiled: kernels as Python do not see that trunk and chunk are of one type.

    A hand that meets nothing but the least ranges has values that are differences of sums near 1,
    so that some digits of them are left.
    """
    # True regrets are then far above the rounding of ties.
    for where in ("support.slow_subgames", "tensorcfr.subgames.one_chunk"):
        monkeypatch.setattr(f"{where}.MIN_RANGE", 1e-6)
    game = compiled(name)
    rules, groups = HandByHand(CardNodes.of(game).rules), ways_to_cards(game)
    record = CFR_D(subgame_iterations=3, resolve_iterations=4)
    solver = DecomposedSolver(game, record(variant=CFR_D.variant(alternating=False)))
    solver.iterate(2)
    slow = cfr_d(rules, groups, 2, inner=3, resolving=4, alternating=False)
    policy = solver.average_policy()
    differences = []
    for public, strategies in slow.items():
        for labels in rules.hands:
            for hand, label in enumerate(labels):
                row = policy.get(f"{label}{public}")
                if row is not None and len(row) == len(strategies):
                    differences.append(np.abs(list(row.values()) - strategies[:, hand]).max())
    assert len(differences) >= len(policy)
    assert max(differences) < 1e-3
    assert np.quantile(differences, 0.8) < 1e-12
    found, flat = solver.evaluate(), evaluate(game, policy)
    np.testing.assert_allclose(found.values, flat.values, atol=1e-9)
    np.testing.assert_allclose(found.best_responses, flat.best_responses, atol=1e-9)


@FULL
def test_cfr_d_with_merged_hands_and_boards_equals_that_without() -> None:
    record = CFR_D(subgame_iterations=3, resolve_iterations=4)
    found = []
    for symmetry in (False, True):
        rules = RandomSuits(3, ranks=4, suits=2, width=1, rounds=1)
        game = compile_game(rules, symmetry=symmetry)
        assert game.merges_hands == symmetry
        solver = DecomposedSolver(game, record(variant=CFR_D.variant(alternating=False)))
        solver.iterate(3)
        found.append((solver.evaluate().best_responses, solver.evaluate_current().best_responses))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-9)


# -------------------------------------------------------------------------------------- play


def worth(position: Position) -> np.ndarray:
    """The expected utilities of a play from here on, over all that can happen."""
    if position.player == TERMINAL:
        return np.array(position.utilities())
    if position.player == CHANCE:
        drawn = position.outcomes()
        return np.sum([p * worth(position.after(o)) for o, p in drawn.items()], axis=0)
    taken = position.probabilities()
    return np.sum([p * worth(position.after(a)) for a, p in taken.items() if p > 0], axis=0)


def expected(start: Position) -> np.ndarray:
    """The expected utilities of a play, over all deals."""
    dealt = start.nodes.deal_probability(0)
    pairs = zip(*np.nonzero(dealt), strict=True)
    found = [dealt[pair] * worth(start.holding((int(pair[0]), int(pair[1])))) for pair in pairs]
    return np.sum(found, axis=0)


PLAYED: dict[str, Callable[[], CardGame]] = {
    "river": lambda: Holdem(
        **SMALL | {"ranges": ("AsAd,KsKc", "KK")}, pot=10, bets="50%", raises="a", rake=0.05
    ),
    "one round": RULES["one round"],
    "two streets": lambda: Charged(7, 0.4),
    "leduc": LeducOfCards,
}


@pytest.mark.parametrize("name", tiered(PLAYED, fast=["river", "two streets"]))
def test_plays_are_worth_what_the_strategies_are(name: str, interpreted: None) -> None:
    """Over all that can happen, without resolving."""
    game = compile_game(PLAYED[name](), symmetry=name == "leduc")
    flat = game.flat()
    uneven = Policy.uniform(flat) if name == "leduc" else random_policy(flat, 5)
    policy = in_chunks(uneven, game)
    values = evaluate(game, policy).values
    for played, same in ((game, policy), (flat, uneven)):
        if name == "leduc" and played is not game:
            continue  # Thirty deals of it take half a minute.
        match = Match(played, same, seat=1, resolve_after=None)
        assert expected(match.position) == pytest.approx(values, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("two streets", {"method": "resolve", "algorithm": "lp", "iters": None}, EXACT),
        pytest.param(
            "leduc", {"method": "resolve", "algorithm": "lp", "iters": None}, EXACT, marks=FULL
        ),
        pytest.param(
            "one round", {"method": "resolve", "algorithm": "lp", "iters": None}, EXACT, marks=FULL
        ),
        pytest.param(
            "leduc", {"method": "maxmargin", "algorithm": "cfr+", "iters": 1000}, 1e-2, marks=FULL
        ),
    ],
)
def test_continual_resolving_is_safe(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any], error: float
) -> None:
    """Collected over all public nodes: the opponent's best response earns no more than before."""
    if name == "two streets":
        interpret(monkeypatch)
    game, seat = compiled(name), 0 if name == "two streets" else 1
    policy, nodes = random_policy(flat_game(name), 12), CardNodes.of(game)
    played = {label: dict(row) for label, row in policy.items()}
    match = Match(game, in_chunks(policy, game), seat=seat, **options)
    hands = range(len(nodes.hands[seat]))
    todo = [(match.position, np.ones(len(hands)))]
    resolved = 0
    while todo:
        position, reach = todo.pop()
        if position.player == TERMINAL:
            continue
        if position.player == CHANCE:
            dealt = [c for c in nodes.rules.cards if c not in position.steps][:2]
            todo += [(position.after(card), reach) for card in dealt]
            continue
        taken = dict.fromkeys(position.actions, reach)
        if position.player == seat:
            possible = nodes.free(position.node, seat)
            if not (reach * possible > 0).any():
                continue
            position, resolved = position.resolved(options), resolved + 1
            holding = [(hand, 0) if seat == 0 else (0, hand) for hand in hands]
            rows = [position.holding(pair).probabilities() for pair in holding]
            for hand in np.flatnonzero(possible & (reach > 0)).tolist():
                played[" ".join((nodes.hands[seat][hand], *position.steps))] = rows[hand]
            taken = {a: reach * [row[a] for row in rows] for a in position.actions}
        todo += [(position.after(action), own) for action, own in taken.items()]
    assert resolved > 3
    before = evaluate(policy.game, policy).best_responses[1 - seat]
    after = evaluate(policy.game, played).best_responses[1 - seat]
    assert after <= before + error
    assert after < before - 0.1  # Resolving does something.


def test_a_hand_of_holdem(interpreted: None) -> None:
    """Half of the pot counts as each player's own: who wins a pot of 10 wins 5."""
    spot = {"board": "QsJh2h8d3c", "ranges": ("AA", "KK,QQ"), "pot": 10, "stacks": 100, "bets": "a"}
    game = compile_game("holdem", **spot)
    match = Match(game, Policy.uniform(game), seat=1, resolve_after=None, seed=1)
    for _ in range(8):
        match.deal()
        assert match.position.shown == "board Qs Jh 2h 8d 3c, pot 10, 100 behind"
        match.act("allin")
        assert match.position.shown == "board Qs Jh 2h 8d 3c, pot 110, 100 behind, 100 to call"
        called = match.resolve_and_act() == "call"
        wins = match.hand(1)[0] == "K"
        paid = (105.0 if wins else -105.0) if called else 5.0
        assert match.utilities() == (paid, -paid)
    assert len({*match.hands}) <= 2
