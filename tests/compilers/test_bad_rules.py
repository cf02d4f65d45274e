"""Rules that break their contract: one malformed game per error, with the error's whole text.

The text must name the history, the infoset or the hands at fault: that is what is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest

import tensorcfr
from tensorcfr import compile_game
from tensorcfr.errors import GameError, ImperfectRecallError, MemoryLimitError
from tensorcfr.rules import Chance, Decision, Game, Payoff, PublicTreeGame, Terminal

NAN = float("nan")

wrong: Any = tensorcfr
"""What makes nodes of things that a type checker would not let through."""


class Said(Game):
    """A game whose histories are said one by one; every other history is an end that pays 0."""

    def __init__(self, said: dict[tuple[Hashable, ...], Any], n_players: Any = 2) -> None:
        self.said = said
        self.n_players = n_players

    def node(self, state: tuple[Hashable, ...]) -> Any:
        return self.said.get(state, Terminal((0.0, 0.0)))


class Dealt(PublicTreeGame):
    """The same for a game of private hands: each player gets J, Q or K, all different."""

    def __init__(self, said: dict[tuple[Hashable, ...], Any], **fields: Any) -> None:
        self.said = said
        self.hands = ["JQK", "JQK"]
        self.prior = (1 - np.eye(3)) / 6
        self.table: Any = np.zeros((2, 3, 3))
        vars(self).update(fields)

    def node(self, state: tuple[Hashable, ...]) -> Any:
        return self.said.get(state, Payoff(1.0, "end"))

    def matrix(self, key: Hashable) -> Any:
        return self.table


class Unset(PublicTreeGame):
    """Sets nothing."""


COIN = Chance({"heads": 0.5, "tails": 0.5})
FIRST = Decision(0, "first", ("left", "right"))
SECOND = Decision(1, "second", ("up", "down"))
AGAIN = Decision(0, "again", ("left", "right"))


def with_table(deal: tuple[int, ...], value: float) -> Dealt:
    """A payoff matrix with one value that is not 0."""
    table = np.zeros((2, 3, 3))
    table[deal] = value
    return Dealt({(): FIRST}, table=table)


def with_prior(deal: tuple[int, int], value: float) -> Dealt:
    """A prior with one changed value."""
    prior = (1 - np.eye(3)) / 6
    prior[deal] = value
    return Dealt({(): FIRST}, prior=prior)


NODES: list[tuple[Any, str]] = [
    ("up", "node() must return a Decision, a Chance or a Terminal, not 'up',"),
    (None, "node() must return a Decision, a Chance or a Terminal, not None,"),
    (Chance({}), "chance has no outcomes"),
    (wrong.Chance([("h", 1.0)]), "chance must map outcomes to probabilities, not [('h', 1.0)],"),
    (Chance({"h": 0.5, "t": 0.4}), "chance probabilities sum to 0.9, not 1,"),
    (Chance({"h": -0.5, "t": 1.5}), "chance probability -0.5 of 'h' is not between 0 and 1,"),
    (Chance({"h": NAN, "t": 0.5}), "chance probability nan of 'h' is not between 0 and 1,"),
    (Chance({"h": "all"}), "chance probability 'all' is not a number,"),
    (Terminal((NAN, 0.0)), "utilities (nan, 0.0) are not finite,"),
    (Terminal((0.0, float("inf"))), "utilities (0.0, inf) are not finite,"),
    (Terminal((1.0,)), "a terminal must pay one number to each of 2 players, not (1.0,),"),
    (
        Terminal((1.0, 0.0, 2.0)),
        "a terminal must pay one number to each of 2 players, not (1.0, 0.0, 2.0),",
    ),
    (wrong.Terminal("ab"), "a terminal must pay one number to each of 2 players, not 'ab',"),
    (Decision(0, "next", ()), "infoset 'next' has no actions,"),
    (Decision(0, "next", "left"), "the actions of infoset 'next' must be a sequence, not 'left',"),
    (wrong.Decision(0, "next", 5), "the actions of infoset 'next' must be a sequence, not 5,"),
    (Decision(0, "next", ("up", "up")), "infoset 'next' names an action twice: ['up', 'up'],"),
    (Decision(0, "next", (1, "1")), "infoset 'next' names an action twice: ['1', '1'],"),
    (wrong.Decision(1, 7, ("up",)), "infoset label 7 is not a string,"),
    (wrong.Decision(1, ["next"], ("up",)), "infoset label ['next'] is not a string,"),
    (
        Decision(2, "next", ("up",)),
        "infoset 'next' belongs to player 2, but the players are 0 to 1,",
    ),
    (
        wrong.Decision("me", "next", ("up",)),
        "infoset 'next' belongs to player 'me', but the players are 0 to 1,",
    ),
]
"""Nodes of histories, with the error as far as the place."""

SHAPED = "must be a number or an array that broadcasts to (3, 3), not"
PUBLIC_NODES: list[tuple[Any, str]] = [
    (
        Terminal((0, 0)),
        "node() must return a Decision, a Chance or a Payoff, not Terminal(utilities=(0, 0)),",
    ),
    (Chance({}), "chance has no outcomes"),
    (wrong.Chance(0.5), "chance must map outcomes to probabilities, not 0.5,"),
    (Chance({"h": 0.5, "t": 0.4}), "chance probabilities sum to 0.9, not 1, for hands [J, Q]"),
    (
        Chance({"h": 0.5, "t": np.array([[0.5], [0.5], [0.25]])}),
        "chance probabilities sum to 0.75, not 1, for hands [K, J]",
    ),
    (
        Chance({"h": -0.5, "t": 1.5}),
        "chance probability -0.5 of 'h' is not between 0 and 1, for hands [J, Q]",
    ),
    (
        Chance({"h": 1.0, "t": np.array([0.0, 0.0, NAN])}),
        "chance probability nan of 't' is not between 0 and 1, for hands [J, K]",
    ),
    (Chance({"h": "all"}), f"the chance probability of 'h' {SHAPED} 'all',"),
    (Chance({"h": np.ones(2)}), f"the chance probability of 'h' {SHAPED} array([1., 1.]),"),
    (Chance({1: 0.5, "1": 0.5}), "an outcome is named twice: ['1', '1'],"),
    (Decision(1, "next", ()), "the decision has no actions,"),
    (Decision(1, "next", "left"), "the actions of the decision must be a sequence, not 'left',"),
    (Decision(1, "next", ("up", "up")), "the decision names an action twice: ['up', 'up'],"),
    (Decision(2, "next", ("up",)), "the decision belongs to player 2, but the players are 0 to 1,"),
    (
        wrong.Decision("me", "next", ("up",)),
        "the decision belongs to player 'me', but the players are 0 to 1,",
    ),
    (wrong.Decision(1, 7, ("up",)), "public label 7 is not a string,"),
    (wrong.Payoff("pot", "end"), "payoff coefficient 'pot' is not a finite number,"),
    (Payoff(float("inf"), "end"), "payoff coefficient inf is not a finite number,"),
]
"""The same of public trees."""

NO_PLAYERS = "Said: n_players must be a whole number from 1 to 127, not"
FORGETS = "player 0 forgets one of their own actions before infoset"
GAMES: dict[str, tuple[Any, str]] = {
    "no players": (Said({}, n_players=0), f"{NO_PLAYERS} 0"),
    "number of players": (Said({}, n_players="two"), f"{NO_PLAYERS} 'two'"),
    "at the root": (
        Said({(): Terminal((1.0,))}),
        "a terminal must pay one number to each of 2 players, not (1.0,), at the root",
    ),
    "outcomes look alike": (
        Said({(): Chance({1: 0.5, "1": 0.5})}),
        "chance outcomes 1 and '1' have the same label, '1'",
    ),
    "infoset disagrees on actions": (
        Said({(): COIN, ("heads",): FIRST, ("tails",): Decision(0, "first", ("left",))}),
        "histories of infoset 'first' disagree on its actions: ['left', 'right'] at history "
        "[heads], ['left'] at history [tails]",
    ),
    "infoset disagrees on the order of actions": (
        Said({(): COIN, ("heads",): FIRST, ("tails",): Decision(0, "first", ("right", "left"))}),
        "histories of infoset 'first' disagree on its actions: ['left', 'right'] at history "
        "[heads], ['right', 'left'] at history [tails]",
    ),
    "label of two players": (
        Said({(): FIRST, ("right",): Decision(1, "first", ("left", "right"))}),
        "infoset label 'first' is used by player 0 at the root and by player 1 at history [right]",
    ),
    "forgets an action": (
        Said({(): FIRST, ("left",): AGAIN, ("right",): AGAIN}),
        f"{FORGETS} 'again' (imperfect recall): the player reaches it by 'left' at infoset 'first' "
        "at history [left], but by 'right' at infoset 'first' at history [right]",
    ),
    "forgets an infoset": (
        Said(
            {
                (): COIN,
                ("heads",): Decision(0, "heads", ("go",)),
                ("tails",): Decision(0, "tails", ("go",)),
                ("heads", "go"): FIRST,
                ("tails", "go"): FIRST,
            }
        ),
        f"{FORGETS} 'first' (imperfect recall): the player reaches it by 'go' at infoset 'heads' "
        "at history [heads, go], but by 'go' at infoset 'tails' at history [tails, go]",
    ),
    "forgets having acted": (
        Said(
            {
                (): COIN,
                ("heads",): FIRST,
                ("tails",): Decision(0, "tails", ("go",)),
                ("tails", "go"): FIRST,
            }
        ),
        f"{FORGETS} 'first' (imperfect recall): the player reaches it without having acted at "
        "history [heads], but by 'go' at infoset 'tails' at history [tails, go]",
    ),
    "absent-minded": (
        Said({(): FIRST, ("left",): FIRST}),
        "player 0 is absent-minded: infoset 'first' is at the root and again further down at "
        "history [left]",
    ),
    "nothing set": (Unset(), "Unset: hands is not set"),
    "prior of another shape": (
        Dealt({}, prior=np.full((2, 3), 1 / 6)),
        "Dealt: prior has shape (2, 3), but there are 2 players with 3, 3 hands",
    ),
    "hands of one player only": (
        Dealt({}, hands=["JQK"]),
        "Dealt: prior has shape (3, 3), but there are 2 players with 3 hands",
    ),
    "prior sum": (with_prior((0, 0), 0.5), "Dealt: prior sums to 1.5, not 1"),
    "negative prior": (
        with_prior((0, 1), -0.25),
        "Dealt: prior holds -0.25, which is not a probability",
    ),
    "nan prior": (
        with_prior((0, 1), NAN),
        "Dealt: prior holds nan, which is not a probability",
    ),
    "equal hands": (
        Dealt({}, hands=["JQK", "JJK"]),
        "Dealt: player 1 has a hand twice: ['J', 'J', 'K']",
    ),
    "at the public root": (
        Dealt({(): wrong.Chance(0.5)}),
        "chance must map outcomes to probabilities, not 0.5, at the public root",
    ),
    "public label used twice": (
        Dealt({(): FIRST, ("left",): SECOND, ("right",): SECOND}),
        "public label 'second' is used at public history [left] and at public history "
        "[right]: everything after the deal is public, so every decision needs its own label",
    ),
    "labels look alike": (
        Dealt({(): FIRST, ("left",): SECOND}, label=lambda player, hand, public: hand),
        "infoset label 'J' is used twice: by player 0 with 'J' at the public root, and by "
        "player 1 with 'J' at public history [left]",
    ),
    "label forgets the hand": (
        Dealt({(): FIRST}, label=lambda player, hand, public: public),
        "infoset label 'first' is used twice: by player 0 with 'J' at the public root, and "
        "by player 0 with 'Q' at the public root",
    ),
    "made label is no string": (
        Dealt({(): FIRST}, label=lambda *given: given),
        "label (0, 'J', 'first') of player 0 with 'J' at the public root is not a string",
    ),
    "matrix of another shape": (
        Dealt({(): FIRST}, table=np.zeros((3, 3))),
        "payoff matrix 'end' has shape (3, 3), not (2, 3, 3), at public history [left]",
    ),
    "matrix of strings": (
        Dealt({(): FIRST}, table="all"),
        "payoff matrix 'end' must be an array of shape (2, 3, 3), not 'all', at public "
        "history [left]",
    ),
    "nan in a matrix": (
        with_table((0, 0, 2), NAN),
        "utilities (nan, 0.0) are not finite, for hands [J, K] at public history [left]",
    ),
}
"""Whole games, with the whole error."""


def refused(game: Any) -> str:
    with pytest.raises(GameError) as raised:
        compile_game(game)
    message = str(raised.value)
    is_about_recall = message.startswith((FORGETS, "player 0 is absent-minded"))
    assert type(raised.value) is (ImperfectRecallError if is_about_recall else GameError)
    return message


@pytest.mark.parametrize(("node", "message"), NODES, ids=[message for _, message in NODES])
def test_bad_nodes_are_named_by_their_history(node: Any, message: str) -> None:
    assert refused(Said({(): FIRST, ("left",): node})) == f"{message} at history [left]"


@pytest.mark.parametrize(
    ("node", "message"), PUBLIC_NODES, ids=[message for _, message in PUBLIC_NODES]
)
def test_bad_public_nodes_are_named_by_their_history(node: Any, message: str) -> None:
    assert refused(Dealt({(): FIRST, ("left",): node})) == f"{message} at public history [left]"


@pytest.mark.parametrize("name", GAMES)
def test_bad_rules_say_what_and_where(name: str) -> None:
    game, message = GAMES[name]
    assert refused(game) == message


def test_an_error_in_the_table_is_a_value_error() -> None:
    assert issubclass(GameError, ValueError)
    assert issubclass(ImperfectRecallError, GameError)


def test_values_at_deals_that_cannot_occur_are_ignored() -> None:
    """J against J is never dealt, and after ``h`` player 0 holds no K: NaN there is no matter."""
    sure = np.array([[1.0], [1.0], [0.0]])
    of_k = np.array([[0.5], [0.5], [NAN]])
    table = np.zeros((2, 3, 3))
    table[:, 0, 0] = NAN
    game = Dealt(
        {
            (): Chance({"h": sure, "t": 1 - sure}),
            ("h",): Chance({"u": of_k, "d": of_k}),
            ("t",): FIRST,
        },
        table=table,
    )
    assert compile_game(game).n_infosets == 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: compile_game("kuhn", memory_limit=500),
            r"compiling kuhn needs at least 900 bytes, the limit is 500 bytes; "
            r"to change it, pass for example memory_limit='2GiB'",
        ),
        (
            lambda: compile_game("goofspiel", memory_limit=50_000),
            r"compiling goofspiel \(about \S+ histories\) needs about \S+ KiB, the limit is 48\.8 "
            r"KiB; to change it, pass for example memory_limit='2GiB'",
        ),
    ],
    ids=["public tree", "histories"],
)
def test_memory_limit_says_both_figures(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(MemoryLimitError, match=f"^{message}$"):
        ask()


@pytest.mark.parametrize(
    ("spec", "parameters", "message"),
    [
        ("ledoc", {}, "there is no game 'ledoc'; did you mean 'leduc'?"),
        ("leduc", {"rank": 4}, "leduc has no parameter 'rank'; did you mean 'ranks'?"),
        ("leduc(rank=4)", {}, "leduc has no parameter 'rank'; did you mean 'ranks'?"),
        (
            "leduc",
            {"colour": 4},
            "leduc has no parameter 'colour'; "
            "there are: bets, incentives, players, raise_cap, ranks, suits",
        ),
        ("leduc", {"suits": 9}, "leduc: suits must be a whole number from 1 to 4, not 9"),
        ("kuhn(players=11)", {}, "kuhn: players must be a whole number from 2 to 10, not 11"),
        ("kuhn", {"cards": 1}, "kuhn: cards must be a whole number from 2 to 10,000, not 1"),
        ("matrix", {}, "matrix needs the parameter 'payoffs'"),
        (
            "leduc(4)",
            {},
            "cannot read the game 'leduc(4)'; write it as name(parameter=value, ...)",
        ),
    ],
)
def test_what_is_asked_for_must_exist(spec: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError) as raised:
        compile_game(spec, **parameters)
    assert str(raised.value) == message


def test_an_unknown_game_lists_what_there_is() -> None:
    with pytest.raises(GameError, match=r"^there is no game 'zzzz'; there are: .*\bkuhn, leduc\b"):
        compile_game("zzzz")


def test_rules_in_a_file_of_python_are_told_how_they_are_given() -> None:
    for source in ("mine.py", "mine.py:Game"):
        with pytest.raises(GameError, match=r"pass rules of your own in Python, compile_game"):
            compile_game(source)


def test_parameters_are_for_names() -> None:
    with pytest.raises(TypeError, match=r"^parameters ranks are only for built-in games"):
        compile_game(Said({}), ranks=3)
    with pytest.raises(TypeError, match=r"payouts are only .*; compile tournament\(rules, ...\)$"):
        compile_game(Said({}), payouts=(50, 30))


def test_what_cannot_be_compiled() -> None:
    with pytest.raises(TypeError, match=r"^source must be a name, a Game, .*, not 5"):
        compile_game(5)
