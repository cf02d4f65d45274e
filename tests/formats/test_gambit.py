"""Gambit's text formats: what is read, what is refused and where, and what is written.

What pygambit says of the same texts is in ``test_gambit_answers.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_games import games
from support.spoilt_text import mutated
from tensorcfr import CompiledGame, GameError, compile_game, solve
from tensorcfr.errors import FormatError, ImperfectRecallError
from tensorcfr.formats.efg import efg_lines, exact, parse_efg, read_efg, save_efg
from tensorcfr.formats.gambit_text import decimal, distinct
from tensorcfr.formats.nfg import parse_nfg, read_nfg, save_nfg
from tensorcfr.games.matrix import MatrixGame
from tensorcfr.model.arrays import CHANCE

DATA = Path(__file__).parents[1] / "data" / "gambit"
HEAD = 'EFG 2 R "g" { "a" "b" }\n'


def histories(game: CompiledGame) -> list[tuple[Any, ...]]:
    """Every history, breadth first: who acts, label, actions or outcomes, probabilities, pay."""
    tree = game.tree
    pay = dict(zip(tree.terminal.tolist(), tree.utility.tolist(), strict=True))
    found: list[tuple[Any, ...]] = []
    for node, player in enumerate(tree.player.tolist()):
        children = slice(tree.first_child[node], tree.first_child[node + 1])
        if player >= 0:
            infoset = int(tree.infoset[node])
            found.append((player, game.infoset_labels[infoset], game.infoset_actions[infoset]))
        elif player == CHANCE:
            outcomes = [game.outcome_labels[o] for o in tree.outcome[children]]
            found.append((player, outcomes, tree.probability[children].tolist()))
        else:
            found.append((player, pay[node]))
    return found


# ------------------------------------------------------------------------------------- reading


def test_payoffs_add_up_and_descriptions_may_be_left_out() -> None:
    rules = read_efg(DATA / "two_stages.efg")
    assert rules.players == ("Ann", 'Bob "B" Bee')
    game = compile_game(rules)
    # By hand from the file: a toll of 1/10 wherever Ann acts, in float64 after exact addition.
    sun, rain = float(Fraction(1, 3)), 0.666666666666666667
    assert histories(game) == [
        (-1, ["sun", "rain"], [sun, rain]),
        (0, "Ann 1", ("left", "right")),
        (0, "Ann 1", ("left", "right")),
        (1, "P1:7", ("up", "down")),
        (-2, [2.9, -2.9]),
        (1, "P1:7", ("up", "down")),
        (-2, [2.9, -2.9]),
        (-2, [2.9, -2.9]),
        (-2, [-1.6, 1.6]),
        (-2, [1.4, -1.4]),
        (-2, [2.9, -2.9]),
    ]


def test_sums_of_payoffs_are_exact() -> None:
    # 0.1 + 0.2 is not 0.3 in float64; ten times 1/10 is not 1.
    steps = "".join(
        f'p "" 1 {i + 1} "" {{ "go" }} {i % 2 + 1} "" {{ 1/10, 0 }}\n' for i in range(10)
    )
    game = compile_game(parse_efg(f'{HEAD}{steps}t "" 3 "" {{ 0.3, 0.2 }}'))
    assert game.tree.utility.tolist() == [[1.3, 0.2]]


def test_both_versions_of_nfg() -> None:
    table, outcomes = read_nfg(DATA / "table.nfg"), read_nfg(DATA / "outcomes.nfg")
    expected = [[[1, 1], [0, 0], [0, 2]], [[1, 1], [2, 3], [2, 0.125]]]
    assert table.payoffs.tolist() == outcomes.payoffs.tolist() == expected
    assert table.actions == outcomes.actions == [("1", "2", "3"), ("1", "2")]
    assert compile_game(table).digest == compile_game(outcomes).digest


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # Rows (0.01, -0.1), (-0.05, 0.01): (0.01 * 0.01 - 0.05 * 0.1) / (0.02 + 0.15), by hand.
        (
            'NFG 1 D "exponents" { "1" "2"} { 2 2}\n'
            "1.0e-2 -1.0e-2 -5.0e-2 5.0e-2 -0.1 0.1 1.0e-2 -1.0e-2",
            -49 / 1700,
        ),
        # Outcome 0 pays nothing; rows (1, 2), (0, 1).
        (
            'NFG 1 R "" { "1" "2" }\n{ { "" "" }\n{ "" "" }\n}\n""\n'
            '{\n{ "" 1, -1 }\n{ "" 2, -2 }\n}\n1 0 2 1',
            1.0,
        ),
    ],
)
def test_tables_as_people_write_them(text: str, value: float) -> None:
    assert solve(compile_game(parse_nfg(text)), "lp").value[0] == pytest.approx(value, abs=1e-12)


def test_one_player() -> None:
    game = compile_game(parse_nfg('NFG 1 R "alone" { "a" } { 3 } 1 5 2'))
    assert solve(game, iters=100).value[0] == pytest.approx(5, abs=0.1)


def test_files_are_found_by_their_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = DATA / "two_stages.efg"
    game = compile_game(str(path))
    assert game.name == str(path)
    assert game.digest == compile_game(path).digest == compile_game(read_efg(path)).digest
    copy = tmp_path / "COPY.EFG"
    copy.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert compile_game(copy).digest == compile_game(str(copy)).digest == game.digest
    with pytest.raises(TypeError, match=r"^parameters ranks are only for built-in games"):
        compile_game(path, ranks=3)
    with pytest.raises(FileNotFoundError):
        compile_game("nowhere.efg")
    with pytest.raises(GameError, match=r"ends in \.efg or \.nfg or \.game"):
        compile_game(Path("game.pdf"))
    # A file of another kind is a file, not the name of a game; a game's name is no file.
    (tmp_path / "other.yaml").write_text('{"kind": "another"}')
    (tmp_path / "kuhn").write_text("")
    with monkeypatch.context() as folder:
        folder.chdir(tmp_path)
        with pytest.raises(GameError, match=r"^other\.yaml: the name of a game file ends in"):
            compile_game("other.yaml")
        assert compile_game("kuhn").name == "kuhn"


def test_names_that_are_missing_or_repeated_get_numbers() -> None:
    assert distinct(["x", "", "x", "x_1", "y"]) == ["x_2", "_1", "x_3", "x_1", "y"]
    text = 'p "" 1 1 "I" { "" "" } 0 p "" 2 1 "I" { "a" } 0 t "" 0 p "" 2 2 "P1:1" { "a" } 0 t "" 0'
    game = compile_game(parse_efg(HEAD + text))
    assert list(game.infoset_labels) == ["I (P0:1)", "I (P1:1)", "P1:1"]
    assert game.infoset_actions[0] == ("_1", "_2")
    # A label that is made up is never the name of another infoset.
    text = 'p "" 1 1 "" { "a" "b" } 0 p "" 2 1 "P0:1" { "c" "d" } 0 t "" 0 t "" 0 t "" 0'
    game = compile_game(parse_efg(HEAD + text))
    assert sorted(game.infoset_labels) == ["P0:1", "P0:1'"]
    assert game.infoset_actions[game.infoset_index["P0:1"]] == ("c", "d")


# ------------------------------------------------------------------------------------ refusals

REFUSED_EFG = [
    ("", 1, 1, "expected EFG"),
    ("NFG 1 R", 1, 1, "expected EFG"),
    ('EFG 3 R "g"', 1, 5, "expected the version 2"),
    ('EFG 2 X "g"', 1, 7, "expected R or D"),
    ("EFG 2 R g", 1, 9, "expected the title"),
    ('EFG 2 R "g\n\n', 1, 9, "not closed"),
    ('EFG 2 R "g" { }', 1, 15, "expected the names of the players"),
    (HEAD, 2, 1, "expected a node, c, p or t, found the end of the file"),
    (HEAD + 'x "" 0', 2, 1, "expected a node, c, p or t, found x"),
    (HEAD + "t 0", 2, 3, "expected the name of the node"),
    (HEAD + 't "" -1', 2, 6, "must be a whole number >= 0, not -1"),
    (HEAD + 't "" 1', 2, 6, "outcome 1 must be described where it is first used"),
    (HEAD + 't "" 0 "null" { 0, 0 }', 2, 6, "outcome 0 means no payoffs"),
    (HEAD + 't "" 1 "x" { 1 }', 2, 16, "expected 2 payoffs, one for each player, found } after 1"),
    (HEAD + 't "" 1 "x" { 1 2 3 }', 2, 18, "after 2 payoffs"),
    (HEAD + 't "" 1 "x" { 1 ,, 2 }', 2, 17, "expected 2 payoffs"),
    (HEAD + 't "" 1 "x" { 1 2/0 }', 2, 16, "divides by zero"),
    (HEAD + 't "" 1 "x" { 1 1e999999999 }', 2, 16, "out of range"),
    (HEAD + 't "" 1 "x" { 1 1e-9999 }', 2, 16, "out of range"),
    (HEAD + f't "" 1 "x" {{ 1 {"9" * 5000} }}', 2, 16, "out of range"),
    (HEAD + 't "" 1 "x" { 1 1e400 }', 2, 16, "out of range"),
    (HEAD + 't "" 1 "x" { 1 one }', 2, 16, "expected 2 payoffs"),
    (HEAD + 't "" 0\nt "" 0', 3, 1, "the tree is complete, but t follows"),
    (HEAD + 'p "" 3 1 "I" { "a" } 0 t "" 0', 2, 6, "there is no player 3; the file names 2"),
    (HEAD + 'p "" 0 1 "I" { "a" } 0 t "" 0', 2, 6, "there is no player 0"),
    (HEAD + 'p "" 1 1 { "a" } 0 t "" 0', 2, 10, "infoset 1 of player 1 must be described"),
    (HEAD + 'p "" 1 1 0 t "" 0', 2, 10, "infoset 1 of player 1 must be described"),
    (HEAD + 'p "" 1 1 "I" { } 0', 2, 16, "expected the names of the actions"),
    (HEAD + 'p "" 1 1 "I" { "a", "b" } 0', 2, 19, "expected '}' after the names of the actions"),
    (HEAD + 'p "" 1 1 "I" { "a" "b" } 0 t "" 0', 2, 34, "1 more nodes must follow"),
    (HEAD + 'c "" 1 "" { "a" 0.5 "b" 0.4 } 0', 2, 11, "chance node 1 sum to 0.9, not 1"),
    (HEAD + 'c "" 1 "" { "a" 2 "b" -1 } 0', 2, 23, "negative"),
    (HEAD + 'c "" 1 "" { "a" "b" } 0', 2, 17, "expected the probability"),
    (HEAD + 'c "" 1 "n" { "a" .5 "b" .5 } 0\nc "" 1 "n" { "a" .4 "b" .6 } 0', 3, 12, "had other"),
]  # fmt: skip
TWICE = 'p "" 1 1 "I" { "a" } 0\np "" 1 2 "J" { "a" } 1 "o" { 1, 2 }\n'
REFUSED_AGAIN = [
    ('p "" 1 2 "K" { "a" } 0', 4, 14, "infoset 2 of player 1 was named 'J' before, not 'K'"),
    ('p "" 1 2 "J" { "b" } 0', 4, 14, "infoset 2 of player 1 had the actions ['a'] before"),
    ('t "" 1 "o" { 1, 3 }', 4, 6, "outcome 1 had another name or other payoffs before"),
    ('t "" 1 "p" { 1, 2 }', 4, 6, "outcome 1 had another name or other payoffs before"),
]
REFUSED_NFG = [
    ('NFG 1 R "g" { "a" "b" } { 2 }', 1, 29, "names 2 players, and strategies of 1"),
    ('NFG 1 R "g" { "a" "b" } { 2 0 }', 1, 29, "at least one strategy"),
    ('NFG 1 R "g" { "a" "b" } { 2 1 } 1 2 3', 1, 38, "need 4 payoffs, but the file has 3"),
    ('NFG 1 R "g" { "a" "b" } { 1 1 } 1 2 }', 1, 37, "expected 2 payoffs, found } after 2"),
    ('NFG 1 R "g" { "a" "b" } { 99999999 99999999 } 1', 1, 48, "19,999,999,600,000,002 payoffs"),
    ('NFG 1 R "g" { "a" } { 1 } { { "" 1 } } 2', 1, 40, "there is no outcome 2; the file has 1"),
    ('NFG 1 R "g" { "a" } { 1 } { { 1 } } 1', 1, 31, "expected the name of the outcome"),
]


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [*REFUSED_EFG, *((HEAD + TWICE + text, *rest) for text, *rest in REFUSED_AGAIN), *REFUSED_NFG],
)
def test_refusals_name_line_and_column(text: str, line: int, column: int, problem: str) -> None:
    parse = parse_nfg if text.startswith('NFG 1 R "') else parse_efg
    with pytest.raises(FormatError, match=re.escape(problem)) as caught:
        parse(text, "game")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"game:{line}:{column}: ")


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.efg"
    path.write_bytes('EFG 2 R\n"G\xf6del" { "a" } t "" 0'.encode("latin-1"))
    with pytest.raises(FormatError, match=r"latin\.efg:2:3: this byte is not UTF-8"):
        read_efg(path)


def test_absent_mindedness_and_imperfect_recall_are_refused_by_name() -> None:
    driver = (
        'EFG 2 R "driver" { "a" } p "" 1 1 "X" { "on" "off" } 0 p "" 1 1 0 t "" 0 t "" 0 t "" 0'
    )
    with pytest.raises(
        ImperfectRecallError,
        match=r"player 0 is absent-minded: infoset 'X' is at the root and again further down at "
        r"history \[on\]",
    ):
        compile_game(parse_efg(driver))
    forgets = (
        'EFG 2 R "forgets" { "a" } p "" 1 1 "X" { "l" "r" } 0 '
        'p "" 1 2 "Y" { "l" } 0 t "" 0 p "" 1 2 0 t "" 0'
    )
    with pytest.raises(ImperfectRecallError, match=r"forgets .* before infoset 'Y'"):
        compile_game(parse_efg(forgets))


def refusal(parse: Callable[[str, str], Any], text: str) -> FormatError | None:
    """The one kind of error that a text may give; None if it is read."""
    try:
        parse(text, "text")
    except FormatError as error:
        return error
    return None


@pytest.mark.parametrize("count", [300, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["two_stages.efg", "table.nfg", "outcomes.nfg"])
def test_spoilt_files_give_clear_errors_only(name: str, count: int) -> None:
    text = (DATA / name).read_text()
    parse = parse_efg if name.endswith("efg") else parse_nfg
    refused = 0
    for seed in range(count):
        spoilt = mutated(text, Random(seed))
        if (error := refusal(parse, spoilt)) is not None:
            refused += 1
            lines = spoilt.split("\n")
            assert 1 <= error.line <= len(lines)
            assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    assert refused > count / 2


@given(text=st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_gives_a_clear_error(text: str) -> None:
    for parse, head in ((parse_efg, HEAD), (parse_nfg, 'NFG 1 R "g" { "a" } { 1 }')):
        for whole in (text, head + text):
            error = refusal(parse, whole)
            assert error is None or re.match(r"text:\d+:\d+: ", str(error))


# ------------------------------------------------------------------------------------- writing


@given(game=games(max_histories=60))
@settings(max_examples=25, deadline=None)
def test_random_games_round_trip(game: Any) -> None:
    compiled = compile_game(game)
    again = compile_game(parse_efg("".join(efg_lines(compiled))))
    plain = compile_game(parse_efg("".join(efg_lines(compiled, plain=True))))
    assert again.infoset_labels == compiled.infoset_labels
    assert again.infoset_actions == compiled.infoset_actions
    for name, array in compiled.tree._asdict().items():
        if name == "probability":
            # A random game's probabilities may miss 1 by more than their rounding.
            np.testing.assert_allclose(again.tree.probability, array, rtol=1e-15)
        else:
            np.testing.assert_array_equal(getattr(again.tree, name), array, err_msg=name)
    # Decimals keep every bit.
    assert plain.digest == compiled.digest


@pytest.mark.parametrize(
    "name",
    ["kuhn", "kuhn(players=3)", "liars_dice(faces=2)", "leduc", "goofspiel(cards=3)", "stag_hunt"],
)
def test_built_in_games_round_trip(name: str, tmp_path: Path) -> None:
    game = compile_game(name)
    again = compile_game(save_efg(game, tmp_path / "game.efg"))
    for ours, theirs in zip(histories(game), histories(again), strict=True):
        if ours[0] == CHANCE:
            assert ours[:2] == theirs[:2]
            np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-15)
        else:
            assert ours == theirs


@pytest.mark.parametrize("outcomes", [False, True])
@pytest.mark.parametrize("name", ["matching_pennies_3p", "shapleys_game", "prisoners_dilemma"])
def test_games_in_normal_form_round_trip(name: str, outcomes: bool, tmp_path: Path) -> None:
    game = compile_game(name)
    path = save_nfg(game, tmp_path / "game.nfg", outcomes=outcomes)
    assert compile_game(path).digest == game.digest


def test_payoffs_of_any_size_round_trip(tmp_path: Path) -> None:
    """A game of huge payoffs is kept in a unit of its own; files have the payoffs themselves."""
    huge = [[1e300, -2e299], [-3e298, 5.5]]
    game = compile_game(MatrixGame(huge))
    assert game.unit != 1
    rules = [read_nfg(save_nfg(game, tmp_path / f"{o}.nfg", outcomes=o)) for o in (False, True)]
    assert [table.payoffs[0].tolist() for table in rules] == [huge, huge]
    tree = parse_efg("".join(efg_lines(game)))
    below = [tree.next(tree.root(), action) for action in tree.node(tree.root()).actions]  # type: ignore[union-attr]
    ends = [tree.next(s, a) for s in below for a in tree.node(s).actions]  # type: ignore[union-attr]
    paid = [tree.node(end).utilities for end in ends]  # type: ignore[union-attr]
    assert paid == [(one, -one) for row in huge for one in row]


def test_normal_form_of_a_tree(tmp_path: Path) -> None:
    # Kuhn poker has 27 x 64 reduced plans and value -1/18.
    # Source: H. W. Kuhn, "A simplified two-person poker", 1950.
    table = read_nfg(save_nfg(compile_game("kuhn"), tmp_path / "kuhn.nfg"))
    assert table.payoffs.shape == (2, 27, 64)
    assert solve(compile_game(table), "lp").value[0] == pytest.approx(-1 / 18, abs=1e-12)
    with pytest.raises(GameError, match=r"has 10\^\d+ x 10\^\d+ plans, too many"):
        save_nfg(compile_game("leduc"), tmp_path / "leduc.nfg")


def test_probabilities_are_written_exactly() -> None:
    assert exact([1 / 3, 1 / 3, 1 / 3]) == [Fraction(1, 3)] * 3
    assert exact([0.5, 0.0, 0.5]) == [Fraction(1, 2), 0, Fraction(1, 2)]
    uneven = [0.1234567890123456, 0.2345678901234567, 1 - 0.1234567890123456 - 0.2345678901234567]
    assert sum(exact(uneven)) == 1
    assert [float(fraction) for fraction in exact(uneven)] == uneven
    off = [1 / 3 + 1e-10] * 3
    assert sum(exact(off)) == 1


def test_decimals() -> None:
    numbers = [2.0, -0.0, 0.1, 1e-5, 1e300, -1.7e-300, 5e-324, 12345678901234567890.0]
    assert [float(decimal(number)) for number in numbers] == numbers
    assert decimal(-0.0) == "0"
    assert decimal(1e-5) == "0.00001"
    assert all("e" not in decimal(number) for number in numbers)


def test_a_label_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    text = 'EFG 2 R "g" { "a" } p "" 1 1 "I\\\\ " { "say \\"hi\\"" } 0 t "" 0'
    game = compile_game(parse_efg(text))
    assert game.infoset_actions[0] == ('say "hi"',)
    assert compile_game(save_efg(game, tmp_path / "g.efg")).digest == game.digest
    ends = compile_game(
        parse_efg('EFG 2 R "g" { "a" } p "" 1 1 "I" { "a\\ " "a" } 0 t "" 0 t "" 0')
    )
    assert ends.infoset_actions[0] == ("a\\ ", "a")
    bad = compile_game(MatrixGame([[1, 2]], actions=[["a\\"], ["b", "c"]]))
    with pytest.raises(ValueError, match=r"cannot write 'a\\\\': it ends in a backslash"):
        save_efg(bad, tmp_path / "bad.efg")
    assert not (tmp_path / "bad.efg").exists()
