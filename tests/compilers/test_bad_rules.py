"""Rules that break their contract: one malformed game per error, with the error's whole text.

The text must name the history, the infoset or the hands at fault: that is what is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

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


class Bad(NamedTuple):
    """One row: rules, and the whole text of their error."""

    id: str
    game: Any
    message: str
    error: type[Exception] = GameError


HISTORIES = [
    Bad(
        "no players",
        Said({}, n_players=0),
        "Said: n_players must be a whole number from 1 to 127, not 0",
    ),
    Bad(
        "number of players",
        Said({}, n_players="two"),
        "Said: n_players must be a whole number from 1 to 127, not 'two'",
    ),
    Bad(
        "wrong return type",
        Said({(): FIRST, ("left",): "up"}),
        "node() must return a Decision, a Chance or a Terminal, not 'up', at history [left]",
    ),
    Bad(
        "nothing returned",
        Said({(): None}),
        "node() must return a Decision, a Chance or a Terminal, not None, at the root",
    ),
    Bad(
        "empty chance",
        Said({(): FIRST, ("right",): Chance({})}),
        "chance has no outcomes at history [right]",
    ),
    Bad(
        "chance is no mapping",
        Said({(): wrong.Chance([("heads", 1.0)])}),
        "chance must map outcomes to probabilities, not [('heads', 1.0)], at the root",
    ),
    Bad(
        "chance sum",
        Said({(): FIRST, ("left",): Chance({"h": 0.5, "t": 0.4})}),
        "chance probabilities sum to 0.9, not 1, at history [left]",
    ),
    Bad(
        "negative chance",
        Said({(): COIN, ("tails",): Chance({"h": -0.5, "t": 1.5})}),
        "chance probability -0.5 of 'h' is not between 0 and 1, at history [tails]",
    ),
    Bad(
        "nan chance",
        Said({(): COIN, ("tails",): Chance({"h": NAN, "t": 0.5})}),
        "chance probability nan of 'h' is not between 0 and 1, at history [tails]",
    ),
    Bad(
        "chance is no number",
        Said({(): FIRST, ("left",): Chance({"h": "all"})}),
        "chance probability 'all' is not a number, at history [left]",
    ),
    Bad(
        "outcomes look alike",
        Said({(): Chance({1: 0.5, "1": 0.5})}),
        "chance outcomes 1 and '1' have the same label, '1'",
    ),
    Bad(
        "nan utility",
        Said({(): COIN, ("tails",): Terminal((NAN, 0.0))}),
        "utilities (nan, 0.0) are not finite, at history [tails]",
    ),
    Bad(
        "infinite utility",
        Said({(): FIRST, ("left",): Terminal((0.0, float("inf")))}),
        "utilities (0.0, inf) are not finite, at history [left]",
    ),
    Bad(
        "a utility is missing",
        Said({(): COIN, ("heads",): Terminal((1.0,))}),
        "a terminal must pay one number to each of 2 players, not (1.0,), at history [heads]",
    ),
    Bad(
        "a utility too many",
        Said({(): Terminal((1.0, 0.0, -1.0))}),
        "a terminal must pay one number to each of 2 players, not (1.0, 0.0, -1.0), at the root",
    ),
    Bad(
        "utility is no number",
        Said({(): wrong.Terminal(("win", "lose"))}),
        "a terminal must pay one number to each of 2 players, not ('win', 'lose'), at the root",
    ),
    Bad(
        "no actions",
        Said({(): COIN, ("tails",): Decision(0, "tails", ())}),
        "infoset 'tails' has no actions, at history [tails]",
    ),
    Bad(
        "actions are a string",
        Said({(): Decision(0, "first", "left")}),
        "the actions of infoset 'first' must be a sequence, not 'left', at the root",
    ),
    Bad(
        "actions are a number",
        Said({(): wrong.Decision(0, "first", 5)}),
        "the actions of infoset 'first' must be a sequence, not 5, at the root",
    ),
    Bad(
        "equal actions",
        Said({(): Decision(0, "first", ("left", "left"))}),
        "infoset 'first' names an action twice: ['left', 'left'], at the root",
    ),
    Bad(
        "actions look alike",
        Said({(): Decision(0, "first", (1, "1"))}),
        "infoset 'first' names an action twice: ['1', '1'], at the root",
    ),
    Bad(
        "label is no string",
        Said({(): FIRST, ("left",): wrong.Decision(1, 7, ("up",))}),
        "infoset label 7 is not a string, at history [left]",
    ),
    Bad(
        "label is a list",
        Said({(): wrong.Decision(0, ["first"], ("up",))}),
        "infoset label ['first'] is not a string, at the root",
    ),
    Bad(
        "no such player",
        Said({(): FIRST, ("left",): Decision(2, "third", ("up",))}),
        "infoset 'third' belongs to player 2, but the players are 0 to 1, at history [left]",
    ),
    Bad(
        "player is no number",
        Said({(): wrong.Decision("me", "first", ("up",))}),
        "infoset 'first' belongs to player 'me', but the players are 0 to 1, at the root",
    ),
    Bad(
        "infoset disagrees on actions",
        Said({(): COIN, ("heads",): FIRST, ("tails",): Decision(0, "first", ("left",))}),
        "histories of infoset 'first' disagree on its actions: ['left', 'right'] at history "
        "[heads], ['left'] at history [tails]",
    ),
    Bad(
        "infoset disagrees on the order of actions",
        Said({(): COIN, ("heads",): FIRST, ("tails",): Decision(0, "first", ("right", "left"))}),
        "histories of infoset 'first' disagree on its actions: ['left', 'right'] at history "
        "[heads], ['right', 'left'] at history [tails]",
    ),
    Bad(
        "label of two players",
        Said({(): FIRST, ("right",): Decision(1, "first", ("left", "right"))}),
        "infoset label 'first' is used by player 0 at the root and by player 1 at history [right]",
    ),
    Bad(
        "forgets an action",
        Said(
            {
                (): FIRST,
                ("left",): FIRST._replace(infoset="again"),
                ("right",): FIRST._replace(infoset="again"),
            }
        ),
        "player 0 forgets one of their own actions before infoset 'again' (imperfect recall): the "
        "player reaches it by 'left' at infoset 'first' at history [left], but by 'right' at "
        "infoset 'first' at history [right]",
        ImperfectRecallError,
    ),
    Bad(
        "forgets an infoset",
        Said(
            {
                (): COIN,
                ("heads",): Decision(0, "heads", ("go",)),
                ("tails",): Decision(0, "tails", ("go",)),
                ("heads", "go"): FIRST,
                ("tails", "go"): FIRST,
            }
        ),
        "player 0 forgets one of their own actions before infoset 'first' (imperfect recall): the "
        "player reaches it by 'go' at infoset 'heads' at history [heads, go], but by 'go' at "
        "infoset 'tails' at history [tails, go]",
        ImperfectRecallError,
    ),
    Bad(
        "forgets having acted",
        Said(
            {
                (): COIN,
                ("heads",): FIRST,
                ("tails",): Decision(0, "tails", ("go",)),
                ("tails", "go"): FIRST,
            }
        ),
        "player 0 forgets one of their own actions before infoset 'first' (imperfect recall): the "
        "player reaches it without having acted at history [heads], but by 'go' at infoset 'tails' "
        "at history [tails, go]",
        ImperfectRecallError,
    ),
    Bad(
        "absent-minded",
        Said({(): FIRST, ("left",): FIRST}),
        "player 0 is absent-minded: infoset 'first' is at the root and again further down at "
        "history [left]",
        ImperfectRecallError,
    ),
]

PUBLIC_TREES = [
    Bad("nothing set", Unset(), "Unset: hands is not set"),
    Bad(
        "prior of another shape",
        Dealt({}, prior=np.full((2, 3), 1 / 6)),
        "Dealt: prior has shape (2, 3), but there are 2 players with 3, 3 hands",
    ),
    Bad(
        "hands of one player only",
        Dealt({}, hands=["JQK"]),
        "Dealt: prior has shape (3, 3), but there are 2 players with 3 hands",
    ),
    Bad("prior sum", with_prior((0, 0), 0.5), "Dealt: prior sums to 1.5, not 1"),
    Bad(
        "negative prior",
        with_prior((0, 1), -0.25),
        "Dealt: prior holds -0.25, which is not a probability",
    ),
    Bad("nan prior", with_prior((0, 1), NAN), "Dealt: prior holds nan, which is not a probability"),
    Bad(
        "equal hands",
        Dealt({}, hands=["JQK", "JJK"]),
        "Dealt: player 1 has a hand twice: ['J', 'J', 'K']",
    ),
    Bad(
        "wrong return type",
        Dealt({(): FIRST, ("left",): Terminal((0.0, 0.0))}),
        "node() must return a Decision, a Chance or a Payoff, not Terminal(utilities=(0.0, "
        "0.0)), at public history [left]",
    ),
    Bad(
        "empty chance",
        Dealt({(): FIRST, ("right",): Chance({})}),
        "chance has no outcomes at public history [right]",
    ),
    Bad(
        "chance is no mapping",
        Dealt({(): wrong.Chance(0.5)}),
        "chance must map outcomes to probabilities, not 0.5, at the public root",
    ),
    Bad(
        "chance sum",
        Dealt({(): FIRST, ("left",): Chance({"h": 0.5, "t": 0.4})}),
        "chance probabilities sum to 0.9, not 1, for hands [J, Q] at public history [left]",
    ),
    Bad(
        "chance sum for one hand",
        Dealt({(): Chance({"h": 0.5, "t": np.array([[0.5], [0.5], [0.25]])})}),
        "chance probabilities sum to 0.75, not 1, for hands [K, J] at the public root",
    ),
    Bad(
        "negative chance",
        Dealt({(): Chance({"h": -0.5, "t": 1.5})}),
        "chance probability -0.5 of 'h' is not between 0 and 1, for hands [J, Q] at the "
        "public root",
    ),
    Bad(
        "nan chance",
        Dealt({(): Chance({"h": 1.0, "t": np.array([0.0, 0.0, NAN])})}),
        "chance probability nan of 't' is not between 0 and 1, for hands [J, K] at the public root",
    ),
    Bad(
        "chance is no number",
        Dealt({(): Chance({"h": "all"})}),
        "the chance probability of 'h' must be a number or an array that broadcasts to (3, "
        "3), not 'all', at the public root",
    ),
    Bad(
        "chance of another shape",
        Dealt({(): Chance({"h": np.ones(2)})}),
        "the chance probability of 'h' must be a number or an array that broadcasts to (3, "
        "3), not array([1., 1.]), at the public root",
    ),
    Bad(
        "outcomes look alike",
        Dealt({(): Chance({1: 0.5, "1": 0.5})}),
        "an outcome is named twice: ['1', '1'], at the public root",
    ),
    Bad(
        "no actions",
        Dealt({(): FIRST, ("left",): Decision(1, "second", ())}),
        "the decision has no actions, at public history [left]",
    ),
    Bad(
        "actions are a string",
        Dealt({(): Decision(0, "first", "left")}),
        "the actions of the decision must be a sequence, not 'left', at the public root",
    ),
    Bad(
        "equal actions",
        Dealt({(): Decision(0, "first", ("left", "left"))}),
        "the decision names an action twice: ['left', 'left'], at the public root",
    ),
    Bad(
        "no such player",
        Dealt({(): FIRST, ("left",): Decision(2, "third", ("up",))}),
        "the decision belongs to player 2, but the players are 0 to 1, at public history [left]",
    ),
    Bad(
        "player is no number",
        Dealt({(): wrong.Decision("me", "first", ("up",))}),
        "the decision belongs to player 'me', but the players are 0 to 1, at the public root",
    ),
    Bad(
        "label is no string",
        Dealt({(): wrong.Decision(0, 7, ("up",))}),
        "public label 7 is not a string, at the public root",
    ),
    Bad(
        "public label used twice",
        Dealt({(): FIRST, ("left",): SECOND, ("right",): SECOND}),
        "public label 'second' is used at public history [left] and at public history "
        "[right]: everything after the deal is public, so every decision needs its own label",
    ),
    Bad(
        "labels look alike",
        Dealt(
            {(): FIRST, ("left",): SECOND},
            label=lambda player, hand, public: f"{hand}",
        ),
        "infoset label 'J' is used twice: by player 0 with 'J' at the public root, and by "
        "player 1 with 'J' at public history [left]",
    ),
    Bad(
        "label forgets the hand",
        Dealt({(): FIRST}, label=lambda player, hand, public: public),
        "infoset label 'first' is used twice: by player 0 with 'J' at the public root, and "
        "by player 0 with 'Q' at the public root",
    ),
    Bad(
        "made label is no string",
        Dealt({(): FIRST}, label=lambda *given: given),
        "label (0, 'J', 'first') of player 0 with 'J' at the public root is not a string",
    ),
    Bad(
        "matrix of another shape",
        Dealt({(): FIRST}, table=np.zeros((3, 3))),
        "payoff matrix 'end' has shape (3, 3), not (2, 3, 3), at public history [left]",
    ),
    Bad(
        "matrix of strings",
        Dealt({(): FIRST}, table="all"),
        "payoff matrix 'end' must be an array of shape (2, 3, 3), not 'all', at public "
        "history [left]",
    ),
    Bad(
        "nan in a matrix",
        with_table((0, 0, 2), NAN),
        "utilities (nan, 0.0) are not finite, for hands [J, K] at public history [left]",
    ),
    Bad(
        "coefficient is no number",
        Dealt({(): FIRST, ("left",): wrong.Payoff("pot", "end")}),
        "payoff coefficient 'pot' is not a finite number, at public history [left]",
    ),
    Bad(
        "infinite coefficient",
        Dealt({(): FIRST, ("left",): Payoff(float("inf"), "end")}),
        "payoff coefficient inf is not a finite number, at public history [left]",
    ),
]


@pytest.mark.parametrize("row", HISTORIES + PUBLIC_TREES, ids=lambda row: row.id)
def test_bad_rules_say_what_and_where(row: Bad) -> None:
    with pytest.raises(row.error) as raised:
        compile_game(row.game)
    assert str(raised.value) == row.message


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
