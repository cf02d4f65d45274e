"""No-limit Leduc: its rules as the tutorial says them, its size, its solution."""

from __future__ import annotations

import pytest

from support.equality import as_game, assert_equal
from support.reference import ReferenceCFR
from support.variants import PLAIN
from tensorcfr import Chance, Decision, GameError, Payoff, Solver, compile_game, evaluate, solve
from tensorcfr.games.nl_leduc import NoLimitLeduc


def after(rules: NoLimitLeduc, *actions: str) -> Decision | Chance | Payoff:
    """What is there after some actions and cards."""
    state = rules.root()
    for action in actions:
        state = rules.next(state, action)
    return rules.node(state)


def sizes(*actions: str, **parameters: int) -> list[str]:
    """What can be done after some actions."""
    node = after(NoLimitLeduc(**parameters), *actions)
    assert isinstance(node, Decision)
    return list(node.actions)


def chips(low: int, high: int) -> list[str]:
    return [str(size) for size in range(low, high + 1)]


def test_bets() -> None:
    """Any whole number of chips opens; a raise puts in at least twice the call, or all."""
    assert sizes() == ["c", *chips(1, 19)]
    assert sizes("c") == ["c", *chips(1, 19)]
    assert sizes("3") == ["f", "c", *chips(6, 19)]
    assert sizes("9") == ["f", "c", *chips(18, 19)]
    assert sizes("12") == ["f", "c", "19"]
    assert sizes("19") == ["f", "c"]
    assert sizes("3", "7") == ["f", "c", *chips(8, 16)]


def test_the_fourth_action_can_only_fold_or_call() -> None:
    assert sizes("1", "2", "2") == ["f", "c"]
    assert sizes("c", "1", "2") == ["f", "c"]
    assert sizes("1", "2", "2", cap=5) == ["f", "c", *chips(2, 17)]


def test_the_second_round() -> None:
    assert isinstance(after(NoLimitLeduc(), "c", "c"), Chance)
    node = after(NoLimitLeduc(), "5", "c", "Jh")
    assert node == Decision(0, None, ("c", *chips(1, 14)))


def test_all_in_before_the_board() -> None:
    """The board is dealt, and the cards are shown."""
    rules = NoLimitLeduc()
    assert isinstance(after(rules, "19", "c"), Chance)
    queen = rules.cards.index("Qs")
    assert after(rules, "19", "c", "Qs") == Payoff(20.0, (queen, (1, 1), frozenset()))
    assert after(rules, "3", "7", "f") == Payoff(4.0, (None, (1, 1), frozenset({0})))


def test_showdown() -> None:
    rules = NoLimitLeduc()
    cards = {card: index for index, card in enumerate(rules.cards)}
    on_jack = rules.matrix((cards["Js"], (1, 1), frozenset()))[0]
    assert on_jack[cards["Jh"], cards["Ks"]] == 1  # a pair beats a king
    assert on_jack[cards["Qh"], cards["Ks"]] == -1
    assert on_jack[cards["Kh"], cards["Ks"]] == 0


def betting_tree(rules: NoLimitLeduc) -> tuple[int, int, int]:
    """Decision nodes of both rounds and terminals, without the board."""
    counts = [0, 0, 0]
    stack = [(rules.root(), 0)]
    while stack:
        state, board = stack.pop()
        node = rules.node(state)
        if isinstance(node, Chance):
            stack.append((rules.next(state, rules.cards[0]), 1))
        elif isinstance(node, Payoff):
            counts[2] += 1
        else:
            counts[board] += 1
            stack.extend((rules.next(state, action), board) for action in node.actions)
    return counts[0], counts[1], counts[2]


def test_size_of_the_betting_tree() -> None:
    """The tutorial's count."""
    assert betting_tree(NoLimitLeduc()) == (493, 27_059, 53_609)


@pytest.mark.parametrize("variant", ["cfr", "cfr+"])
def test_equals_the_recursion(variant: str) -> None:
    rules = NoLimitLeduc(stack=4, cap=3)
    algorithm, options = PLAIN[variant]
    reference = ReferenceCFR(as_game(rules), **options)
    assert_equal(Solver(compile_game(rules), algorithm), reference, (1, 2, 3))


@pytest.mark.slow
def test_solved() -> None:
    """Below a hundredth of a chip in some seconds, by a best response in the whole game."""
    game = compile_game("nl_leduc")
    solution = solve(game, "dcfr", iters=500)
    assert "tree" not in vars(game)
    assert solution.exploitability < 0.01
    whole = evaluate(game, solution.policy)
    assert whole.exploitability == pytest.approx(solution.exploitability, abs=1e-12)
    assert solution.value[0] == pytest.approx(-0.0693, abs=0.005)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranks": 0}, "nl_leduc: ranks must be a whole number from 1 to 2,500, not 0"),
        ({"suits": 5}, "nl_leduc: suits must be a whole number from 1 to 4, not 5"),
        ({"ranks": 1}, "1 ranks x 2 suits are 2 cards, too few for 2 players and a board card"),
        ({"ante": 0}, "nl_leduc: ante must be a whole number from 1 to 10,000, not 0"),
        ({"stack": 0}, "nl_leduc: stack must be a whole number from 1 to 10,000, not 0"),
        ({"cap": 1}, "nl_leduc: cap must be a whole number from 2 to 100, not 1"),
    ],
)
def test_bad_parameters(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(GameError, match=message):
        compile_game("nl_leduc", **parameters)
