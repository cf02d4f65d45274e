"""Certificates are proven by a program of one file, and forged ones are refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts import records
from support.paths import ROOT
from support.random_games import random_game
from support.spot_bets import bets_of
from tensorcfr import Solution, compile_game, evaluate, resolve, solve
from tensorcfr.formats import checker
from tensorcfr.formats.checker import CertificateError
from tensorcfr.games.holdem import CARDS, Holdem
from tensorcfr.games.short_deck import ShortDeck
from tensorcfr.solvers.certificate import certificate_of

PROGRAM = Path(checker.__file__)
CARGO = shutil.which("cargo")
Content = dict[str, Any]
Forge = Callable[[Content], Any]

RIVER: dict[str, Any] = {
    "board": "Td9d6hQd3c",
    "ranges": ("AA:0.5,KdKc,JdTc,2c2h", "QQ,8h8s,AdJc,3d3s@30"),
    "pot": 100,
    "stacks": 150,
    "bets": "50%,a",
    "raises": "min,2.5x",
}
TURN: dict[str, Any] = {
    "board": "Td9d6hQd",
    "ranges": ("AA,JdTd", "QQ,8h8s,8h8c"),
    "pot": 60,
    "stacks": 100,
    "bets": {"turn": "60%", "river": {"oop": "e", "ip": "75%"}},
    "raises": "3x",
    "donk": {"river": "20c"},
}
SOLVED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "kuhn": ("kuhn", {}, {}),
    "five cards": ("kuhn", {"cards": 5}, {"algorithm": "cfr"}),
    "three players": ("kuhn", {"players": 3}, {"algorithm": "cfr"}),
    "one-card poker": ("one_card_poker", {}, {}),
    "fifteen cards": ("one_card_poker", {"cards": 15}, {}),
    "leduc": ("leduc", {}, {}),
    "leduc, float32": ("leduc", {"ranks": 2}, {"algorithm": "cfr+", "precision": "float32"}),
    "leduc, 16 bits": ("leduc", {"cut": 1}, {"algorithm": "dcfr", "precision": "int16"}),
    "leduc, not merged": ("leduc", {"ranks": 2, "symmetry": False}, {}),
    "leduc, two players named": ("leduc", {"ranks": 2, "players": 2}, {}),
    "leduc, other bets": ("leduc", {"ranks": 4, "bets": (1, 3), "raise_cap": 3}, {}),
    "nl_leduc": ("nl_leduc", {"stack": 5}, {}),
    "nl_leduc, all in at once": ("nl_leduc", {"stack": 2, "ante": 2}, {"algorithm": "cfr"}),
    "liar's dice": ("liars_dice", {"faces": 3}, {}),
    "liar's dice, not wild": ("liars_dice", {"faces": 3, "wild": False}, {}),
    "bluff": ("bluff", {"dice": (2, 1), "faces": 3}, {}),
    "goofspiel": ("goofspiel", {}, {}),
    "goofspiel, random": (
        *("goofspiel", {"cards": 3, "prizes": "random", "imperfect_information": False}),
        {"algorithm": "external_sampling", "seed": 1},
    ),
    "goofspiel, differences": (
        *("goofspiel", {"prizes": "ascending", "payoff": "point_difference"}),
        {},
    ),
    "goofspiel, points": (
        "goofspiel",
        {"cards": 3, "payoff": "total_points"},
        {"algorithm": "cfr"},
    ),
    "matrix": ("biased_rock_paper_scissors", {}, {}),
    "general sum": ("prisoners_dilemma", {}, {"algorithm": "cfr"}),
    "outcomes sampled": ("kuhn", {}, {"algorithm": "outcome_sampling", "seed": 1}),
    "river": ("holdem", RIVER, {}),
    "river, as many hands as cards": (
        *("holdem", RIVER | {"ranges": ("22,44,55,77,88,JJ,KK,AA,AKs", "QQ")}),
        {},
    ),
    "river, float32": ("holdem", RIVER, {"precision": "float32"}),
    "turn, 16 bits": ("holdem", TURN, {"algorithm": "dcfr", "precision": "int16"}),
    "river, not merged": ("holdem", RIVER | {"symmetry": False}, {}),
    "river, rake and dead cards": (
        "holdem",
        RIVER | {"rake": 0.05, "rake_cap": 7.5, "dead": "2c 2d", "chip": 0.5, "stacks": 150.5},
        {},
    ),
    "river, lines by hand": (
        "holdem",
        RIVER | {"add": ("check bet75",), "remove": ("bet50",), "merging": 0, "add_allin": 0},
        {},
    ),
    "short deck": ("short_deck", TURN, {}),
    "turn": ("holdem", TURN, {"precision": "float32"}),
    "turn, not merged": (
        "holdem",
        TURN
        | {
            "symmetry": False,
            "ranges": ("AcAs", "QsQh"),
            "stacks": 90,
            "bets": "75%",
            "add_allin": 0,
        },
        {},
    ),
    "rhode_island": ("rhode_island", {"raises": (1, 0, 0)}, {"precision": "int16"}),
}


@cache
def solved(name: str) -> Solution:
    game, parameters, options = SOLVED[name]
    return solve(compile_game(game, **parameters), iters=20, **options)


AS_TREES = "three players", "matrix", "general sum"
"""Solutions of games whose rules the checker lacks."""
OTHER_NAMES = {"one_card_poker": "kuhn", "bluff": "liars_dice"}
"""Games that are other games with certain parameters."""
LONG = "rhode_island", "short deck", "turn, 16 bits"
"""Solutions that take some seconds."""
NAMES = [pytest.param(name, marks=[pytest.mark.full] * (name in LONG)) for name in SOLVED]


def check(content: Content) -> dict[str, Fraction]:
    return checker.check(json.dumps(content))


@pytest.fixture(scope="module")
def second_checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the checker in Rust."""
    if CARGO is None:
        pytest.skip("needs cargo")
    folder = ROOT / "scripts" / "checker"
    fetch = [CARGO, "fetch", "--locked"]
    fetched = subprocess.run(fetch, cwd=folder, capture_output=True, text=True, timeout=300)
    if fetched.returncode:
        pytest.skip(f"needs the crates of scripts/checker: {fetched.stderr.strip()}")
    target = tmp_path_factory.mktemp("checker")
    build = [CARGO, "build", "--release", "--locked", "--offline", "--target-dir", str(target)]
    subprocess.run(build, cwd=folder, check=True, timeout=600)
    return target / "release" / "checker"


@pytest.mark.full
@pytest.mark.parametrize("name", SOLVED)
def test_both_checkers_print_the_same_numbers(
    name: str, tmp_path: Path, second_checker: Path
) -> None:
    path = tmp_path / "file.cert"
    path.write_text(json.dumps(certificate(name), ensure_ascii=False), "utf-8")
    assert_same_numbers(path, second_checker)


@pytest.mark.full
@pytest.mark.parametrize("path", sorted(records.FOLDER.glob("*.cert")), ids=lambda path: path.stem)
def test_both_checkers_prove_the_records(path: Path, second_checker: Path) -> None:
    assert_same_numbers(path, second_checker)


def assert_same_numbers(path: Path, second_checker: Path) -> None:
    run = subprocess.run([second_checker, path], capture_output=True, text=True, check=False)
    proven = checker.check(path.read_text("utf-8"))
    lines = [f"{key}: {checker.shown(number)}" for key, number in proven.items()]
    assert (run.stderr, run.stdout.splitlines()) == ("", lines)


@pytest.mark.parametrize("name", NAMES)
def test_the_proven_numbers(name: str, tmp_path: Path) -> None:
    """The numbers are exact, and the claims as narrow as 1e-12 of the range of the utilities."""
    solution = solved(name)
    path = solution.certify(tmp_path / "file.cert")
    content = json.loads(path.read_text())
    proven, found = checker.check(path.read_text()), evaluate(solution.game, solution.policy)
    size = float(np.ptp(solution.game.utilities))
    numbers = {"exploitability": found.exploitability}
    for player in range(solution.game.n_players):
        numbers[f"value {player}"] = found.values[player]
        numbers[f"best response {player}"] = found.best_responses[player]
    assert proven.keys() == numbers.keys()
    for key, number in proven.items():
        low, high = map(Fraction, content["claims"][key])
        assert low <= number <= high
        assert high - low <= 1e-12 * size
        # Weights are rounded to 15 digits.
        assert float(number) == pytest.approx(numbers[key], abs=1e-14 * size)
    # A refusal of these rules may not be hidden by a proof of the tree.
    game = SOLVED[name][0]
    expected = "tree" if name in AS_TREES else OTHER_NAMES.get(game, game)
    assert content["game"]["name"] == expected


def test_random_trees(tmp_path: Path) -> None:
    """Games of the user are proven as trees."""
    for seed in range(5):
        solution = solve(compile_game(random_game(seed)), "cfr", iters=5)
        text = solution.certify(tmp_path / f"{seed}").read_text()
        found = evaluate(solution.game, solution.policy)
        number = float(checker.check(text)["exploitability"])
        assert number == pytest.approx(found.exploitability, abs=1e-12)


def test_fractions_and_the_program_alone(tmp_path: Path) -> None:
    """An exact equilibrium is proven in fractions, by a program without the package."""
    pytest.importorskip("flint")
    solution = solve(compile_game("kuhn"), target=0)
    path = solution.certify(tmp_path / "kuhn.cert")
    text = path.read_text()
    assert checker.check(text)["value 0"] == Fraction(-1, 18)
    with pytest.raises(FileExistsError, match="force=True replaces it"):
        solution.certify(path)
    assert run(path).stdout.splitlines()[:2] == [
        "exploitability: exactly 0",
        "value 0: exactly -1/18",
    ]
    path.write_text(text.replace("-1/18", "-1/17", 2))
    assert "refused: value 0 is claimed to be" in run(path).stderr
    path.write_text(text[:-9])
    assert "refused: " in run(path).stderr
    # What it imports has no part of the package.
    modules = set(re.findall(r"^(?:import|from) (\w+)", PROGRAM.read_text(), re.MULTILINE))
    assert modules - {"numpy"} <= sys.stdlib_module_names


def run(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, PROGRAM, path], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(-1, 18), "exactly -1/18"),
        (Fraction(10**45 + 1, 10**44), "from 1.00000000000000e+1 to 1.00000000000001e+1"),
        (Fraction(1 - 10**40, 10**40), "from -1.00000000000000e+0 to -9.99999999999999e-1"),
    ],
)
def test_numbers_are_rounded_outwards(number: Fraction, text: str) -> None:
    assert checker.shown(number) == text


def test_sums_of_large_weights_are_exact() -> None:
    """Values of all pairs of hands equal sums of whole numbers, also above 2**53."""
    rng = np.random.default_rng(1)
    result = rng.integers(-1, 3, (40, 60))
    game = checker.Hands()
    game.chances = [np.array([3] * n, dtype=object) for n in result.shape]
    weights = {
        player: np.array([int(x) ** 5 for x in rng.integers(0, 2**40, n)], dtype=object)
        for player, n in enumerate(result.shape)
    }
    sums = game.payoffs(weights, result, (7, 2, -7))
    tables = result, np.where(result == 2, 2, -result).T
    for player, (table, found) in enumerate(zip(tables, sums, strict=True)):
        pays = np.select([table == 1, table == 0, table == -1], [7, 2, -7]).astype(object)
        expected = (pays * 3) @ weights[1 - player]
        assert (found == expected).all()


@cache
def certificate(name: str) -> Content:
    content: Content = json.loads(certificate_of(solved(name).policy))
    return content


def signed(content: Content) -> Content:
    """Forge the digest of the strategies, too."""
    rows = content["strategies"]
    content["digest"] = checker.digest_of({label: row.values() for label, row in rows.items()})
    return content


def changed(label: str, action: str, hand: int, by: Callable[[str], str]) -> Forge:
    """Forge the weight of a hand, but not the digest."""

    def forge(content: Content) -> None:
        row = content["strategies"][label]
        weights = row[action].split(" ")
        weights[hand] = by(weights[hand])
        row[action] = " ".join(weights)

    return forge


def digit(weight: str) -> str:
    """Change the 12th digit."""
    return weight[:11] + str(9 - int(weight[11])) + weight[12:]


def swapped(content: Content) -> None:
    """Swap the jack and the king before the first action."""
    row = content["strategies"][""]
    for action, weights in row.items():
        row[action] = " ".join(reversed(weights.split(" ")))
    signed(content)


def missing(content: Content) -> None:
    del content["strategies"]["call 2"]
    signed(content)


def more(content: Content) -> None:
    content["strategies"]["A"] = {"call": "1 1 1", "2": "0 0 0"}
    signed(content)


def better(key: str, by: float) -> Callable[[Content], None]:
    def forge(content: Content) -> None:
        content["claims"][key] = [repr(float(end) + by) for end in content["claims"][key]]

    return forge


def rows(label: str = "", **numbers: str) -> Callable[[Content], None]:
    """Forge the weights of the queen, or all weights of an infoset without hands."""

    def forge(content: Content) -> None:
        row = content["strategies"][label]
        for (action, weights), number in zip(row.items(), numbers.values(), strict=True):
            first, *_, last = weights.split(" ")
            row[action] = f"{first} {number} {last}"
        signed(content)

    return forge


def rules(**entries: Any) -> Callable[[Content], None]:
    def forge(content: Content) -> None:
        content["game"].update(entries)

    return forge


def payoffs(content: Content) -> None:
    text = json.dumps(content["game"]["parameters"]["tree"])
    forged = text.replace('"-50", "50"', '"-49", "50"')
    assert forged != text
    content["game"]["parameters"]["tree"] = json.loads(forged)


def cut(content: Content) -> None:
    content["game"]["parameters"]["tree"][3]["paper"] = ["act", 1]


def reordered(content: Content) -> None:
    row = content["strategies"][""]
    content["strategies"][""] = dict(reversed(row.items()))
    signed(content)


def column(change: Callable[[np.ndarray], None], line: str = "", *, sign: bool = True) -> Forge:
    """Forge the weights of all hands at a public node, an array (actions, hands)."""

    def forge(content: Content) -> None:
        texts = content["strategies"][line]
        table = np.array([text.split(" ") for text in texts.values()], dtype=object)
        table = np.vectorize(int, otypes=[object])(table)
        change(table)
        for action, numbers in zip(texts, table, strict=True):
            texts[action] = " ".join(map(str, numbers))
        if sign:
            signed(content)

    return forge


def entry(number: object) -> Forge:
    return column(lambda table: table.__setitem__((0, 0), number))


def last_digits(table: np.ndarray) -> None:
    table[:, 0] += np.array([1, -1, *[0] * (len(table) - 2)])


def texts(change: Callable[[str], str]) -> Forge:
    def forge(content: Content) -> None:
        row = content["strategies"]["call"]
        row["call"] = change(row["call"])
        signed(content)

    return forge


def options(**entries: Any) -> Forge:
    return lambda content: content["game"]["parameters"].update(entries)


def hands(player: int, change: Callable[[dict[str, float]], Any]) -> Forge:
    return lambda content: change(content["game"]["parameters"]["ranges"][player])


def exchanged(content: Content) -> None:
    strategies = content["strategies"]
    first, second = "50 150", "call 150"
    strategies[first], strategies[second] = strategies[second], strategies[first]
    signed(content)


def suits(content: Content) -> None:
    """Change a call of all chips with one hand; no player acts after the next card."""
    line = next(label for label in content["strategies"] if label.endswith(" 100"))
    column(lambda table: table.__setitem__((slice(None), 0), table[::-1, 0].copy()), line)(content)


FORGED: dict[str, tuple[str, Forge, str]] = {
    "a weight in its 12th digit": (
        *("kuhn", changed("", "call", 1, digit)),
        "not those of the digest",
    ),
    "a weight in its 12th digit, with its digest": (
        *("kuhn", lambda content: changed("", "call", 1, digit)(content) or signed(content)),
        "do not sum to those before",
    ),
    "labels swapped": ("kuhn", swapped, "do not sum to those before"),
    "an infoset is missing": ("kuhn", missing, "'call 2' must have the actions .*, not \\[\\]"),
    "an infoset too many": ("kuhn", more, "the game has no infosets \\['A'\\]"),
    "a better value": ("kuhn", better("value 0", 1e-9), "value 0 is claimed to be"),
    "a lower exploitability": (
        "kuhn",
        better("exploitability", -1e-9),
        "exploitability is claimed",
    ),
    "a better response": ("leduc", better("best response 1", 1e-6), "best response 1 is claimed"),
    "no claim": ("kuhn", lambda content: content["claims"].pop("value 1"), "the claims must be"),
    "a claim that is not a number": (
        *("kuhn", lambda content: content["claims"].update({"value 0": ["nan", "0"]})),
        "'nan' is not a number as text",
    ),
    "another deck": ("kuhn", rules(parameters={"cards": 4}), "'' has not 4 whole numbers"),
    "other bets": ("leduc", options(bets=[2, 5]), "'call call 0s' must have the actions"),
    "other payoffs": ("matrix", payoffs, "is claimed to be"),
    "a tree that ends early": ("matrix", cut, "damaged"),
    "rules that are unknown": ("kuhn", rules(name="chess"), "does not know the rules of 'chess'"),
    "parameters that are unknown": ("kuhn", options(x=1), "damaged: TypeError"),
    "parameters that are hidden": ("kuhn", options(bets=[2]), "damaged: TypeError"),
    "another digest of the game": ("kuhn", rules(digest="0" * 64), "the game's digest"),
    "a negative weight": ("kuhn", rows(call="-1", bet="1"), "has not 3 whole numbers"),
    "weights above the total": (
        *("kuhn", rows(call="750000000000000", bet="500000000000000")),
        "do not sum to those before",
    ),
    "no number": ("kuhn", rows(call="nan", bet="0"), "has not 3 whole numbers"),
    "a division by zero": ("kuhn", rows(call="1/0", bet="0"), "has not 3 whole numbers"),
    "another total": (
        *("kuhn", lambda content: content.update(totals=["1", "1000000000000000"])),
        "do not sum to those before",
    ),
    "a total too few": (
        *("kuhn", lambda content: content["totals"].pop()),
        "each player must have a total",
    ),
    "actions in another order": ("kuhn", reordered, "must have the actions"),
    "another version": (
        "kuhn",
        lambda content: content.update(format="2"),
        "does not know the format '2'",
    ),
    "an entry too many": ("kuhn", lambda content: content.update(x=1), "damaged: TypeError"),
    # Forged rivers.
    "river: another digit": (
        *("river", column(last_digits, sign=False)),
        "not those of the digest",
    ),
    "river: hands swapped": (
        *("river", column(lambda table: table.__setitem__(slice(None), table[:, ::-1].copy()))),
        "do not sum to those before",
    ),
    "river: lines swapped": ("river", exchanged, "do not sum to those before"),
    "river: a line is missing": (
        *("river", lambda content: content["strategies"].pop("call") and signed(content)),
        "'call' must have the actions",
    ),
    "river: a line too many": (
        "river",
        lambda content: (
            content["strategies"].update({"7": content["strategies"][""]}) or signed(content)
        ),
        "the game has no infosets \\['7'\\]",
    ),
    "river: a better value": ("river", better("value 1", 1e-8), "value 1 is claimed to be"),
    "river: less exploitability": (
        *("river", better("exploitability", -1e-8)),
        "exploitability is claimed",
    ),
    "river: a better response": ("river", better("best response 0", 1e-8), "best response 0 is"),
    "river: a negative weight": ("river", entry(-1), "whole numbers for each action"),
    "river: no number": ("river", entry("nan"), "whole numbers for each action"),
    "river: an infinite number": ("river", entry("inf"), "whole numbers for each action"),
    "river: weights above the total": (
        *("river", column(lambda table: table.__iadd__(1))),
        "do not sum to those before",
    ),
    "river: a hand too few": (
        *("river", texts(lambda text: text.rpartition(" ")[0])),
        "whole numbers for each action",
    ),
    "river: another alphabet": (
        *("river", texts(lambda text: "\N{ARABIC-INDIC DIGIT ONE}" + text[1:])),
        "whole numbers for each action",
    ),
    "river: another board": ("river", options(board="Td9d6hQd4c"), "is claimed to be"),
    "river: a shorter board": ("river", options(board="Td9d6hQd"), "must have|no infoset"),
    "river: a fraction of a chip": ("river", options(pot=100.5), "100.5 is not a whole number"),
    "river: a card twice": ("river", options(board="TdTd6hQd3c"), "or comes twice"),
    "river: six cards on the board": (
        "river",
        options(board="Td9d6hQd3c4c"),
        "the board has not 3 to 5 cards",
    ),
    "river: a card of another deck": ("river", options(dead="1x"), "a card is unknown"),
    "river: another pot": ("river", options(pot=101), "is claimed to be|must have"),
    "river: other chips": ("river", options(stack=149), "are not legal raises"),
    "river: other sizes": ("river", options(bets={"": [60, 150]}), "must have the actions"),
    "river: a bet below the smallest raise": (
        *("river", lambda content: content["game"]["parameters"]["bets"].update({"50": [80, 150]})),
        "are not legal raises after '50'",
    ),
    "river: a bet above the stack": (
        *("river", lambda content: content["game"]["parameters"]["bets"].update({"": [50, 151]})),
        "are not legal raises after ''",
    ),
    "river: no rake": ("river", options(rake="0.01", rake_cap="9"), "is claimed to be"),
    "river: an option that is unknown": (
        "river",
        options(folded="AA"),
        "damaged: TypeError",
    ),
    "river: another weight": (
        *("river", hands(0, lambda known: known.update(AsAh=3))),
        "is claimed to be",
    ),
    "river: a weight of 0": (
        "river",
        hands(0, lambda known: known.update(AsAh=0)),
        "cannot be dealt",
    ),
    "river: a hand twice": (
        *("river", hands(0, lambda known: known.update(AhAs=known.pop("KdKc")))),
        "a hand is listed twice",
    ),
    "river: a hand of the board": (
        *("river", hands(0, lambda known: known.update(QdAs=known.pop("KdKc")))),
        "cannot be dealt",
    ),
    "river: a dead card": ("river", options(dead="AsAh"), "cannot be dealt"),
    "turn: suits that differ": ("turn", suits, "strategies differ between suits"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_certificates_are_refused(name: str) -> None:
    game, _, reason = FORGED[name]
    check(certificate(game))
    with pytest.raises(CertificateError, match=reason):
        check(forged(name))


@pytest.mark.full
@pytest.mark.parametrize("name", FORGED)
def test_the_second_checker_refuses_them_too(
    name: str, tmp_path: Path, second_checker: Path
) -> None:
    path = tmp_path / "forged.cert"
    path.write_text(json.dumps(forged(name), ensure_ascii=False), "utf-8")
    run = subprocess.run([second_checker, path], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("refused: ")


def forged(name: str) -> Content:
    """Return a certificate that was changed."""
    game, forge, _ = FORGED[name]
    content = deepcopy(certificate(game))
    forge(content)
    return content


END = ["end", "1", "-1"]


def act(player: int, label: str, after: Any = None) -> list[Any]:
    return ["act", player, label, after or {"l": END, "r": END}]


def coin(first: Any, second: Any, shares: tuple[str, str] = ("1/2", "1/2")) -> list[Any]:
    return ["chance", [shares[0], first], [shares[1], second]]


ZX = act(0, "x", {"l": act(0, "y"), "r": END})
TREES: dict[str, tuple[list[Any], str]] = {
    "chance is forgotten": (
        coin(ZX, act(0, "z", {"l": act(0, "y"), "r": END})),
        "'y' has imperfect",
    ),
    "an infoset comes twice": (
        act(0, "x", {"l": act(0, "x"), "r": END}),
        "'x' has imperfect recall",
    ),
    "two players share an infoset": (coin(act(0, "x"), act(1, "x")), "'x' has imperfect recall"),
    "chance is not certain": (coin(END, END, ("1/3", "1/2")), "chance has the probabilities"),
    "chance is negative": (coin(END, END, ("3/2", "-1/2")), "chance has the probabilities"),
    "a payoff too few": (act(0, "x", {"l": END[:2], "r": END}), "a terminal has 1 payoffs"),
    "a node of another kind": (
        act(0, "x", {"l": ["deal"], "r": END}),
        "a node cannot be 'deal'",
    ),
    "a player too many": (act(2, "x"), "damaged: KeyError"),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_whose_sums_would_be_wrong_are_refused(name: str) -> None:
    """The second checker found that most of these were accepted."""
    tree, reason = TREES[name]
    content = certificate("matrix") | {
        "game": {"name": "tree", "parameters": {"players": 2, "tree": tree}, "digest": ""},
        "totals": ["2", "2"],
        "strategies": {label: {"l": "2", "r": "0"} for label in "xyz"},
    }
    with pytest.raises(CertificateError, match=reason):
        check(signed(content))


def test_entries_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "a"
    text = json.dumps(certificate("kuhn"))
    path.write_text(text.replace('"call": {', '"call": {}, "call": {', 1))
    assert "refused: two entries have one name" in run(path).stderr


def test_no_proof_of_the_tree_hides_other_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the checker's rules, the king of thirteen cards was the lowest card."""
    monkeypatch.setattr(checker.Poker, "rate", lambda self, cards: self.rank[cards[0]] % 2)
    with pytest.raises(ValueError, match=r"kuhn: \S+ is claimed to be"):
        certificate_of(solved("kuhn").policy)


def test_rules_under_the_name_of_others(tmp_path: Path) -> None:
    """A game of the user with the name of a built-in one is proven as the tree that it is."""
    game = compile_game("biased_rock_paper_scissors")
    solution = solve(game, "cfr", iters=5)
    for name in ("kuhn", "tree", "pennies (first try)"):
        object.__setattr__(game, "name", name)
        content = json.loads(solution.certify(tmp_path / "a", force=True).read_text())
        assert content["game"]["name"] == "tree"


def test_resolved_strategies() -> None:
    """A strategy that was resolved after a line is proven by the rules."""
    one = solved("leduc, not merged")
    policy = resolve(one.game, one.policy, "call", player=0, iters=5).policy
    content, found = json.loads(certificate_of(policy)), evaluate(one.game, policy)
    assert content["game"]["name"] == "leduc"
    number = float(check(content)["exploitability"])
    assert number == pytest.approx(found.exploitability, abs=1e-12)
    assert number != pytest.approx(evaluate(one.game, one.policy).exploitability, abs=1e-6)


TREES_OF_SPOTS = ["river", "river, rake and dead cards"]


@pytest.mark.parametrize(
    "name", [*TREES_OF_SPOTS, pytest.param("turn, not merged", marks=pytest.mark.full)]
)
def test_spots_are_proven_as_trees_too(name: str, tmp_path: Path) -> None:
    """The tree has every pair of hands and every board, and no rules of the checker."""
    solution = solved(name)
    flat = solution.game.flat()
    tree = certificate_of(solution.policy.moved_to(flat))
    assert json.loads(tree)["game"]["name"] == "tree"
    by_tree, proven = checker.check(tree), check(certificate(name))
    size = float(np.ptp(solution.game.utilities))
    for key, number in proven.items():
        assert float(by_tree[key] - number) == pytest.approx(0, abs=1e-14 * size)


@pytest.mark.parametrize("name", ["holdem", "short_deck"])
def test_the_checker_ranks_hands_as_the_library(name: str) -> None:
    """All pairs of 2,400 hands compare alike; small decks have all categories."""
    library = {"holdem": Holdem, "short_deck": ShortDeck}[name]
    spot = {"board": "Td9d6hQdKc", "dead": "", "ranges": [{"AsAh": 1}, {"QsQh": 1}], "pot": 1}
    bets = {"stack": 1, "bets": {}, "chip": "1", "rake": "0", "rake_cap": "0", "symmetry": False}
    rules = checker.RULES[name](**spot, **bets)
    rng, known, ratings = np.random.default_rng(1), [], []
    for deal in range(80):
        low = int(rng.integers(4, 8)) if name == "short_deck" or deal % 2 else 0
        ranks = [*range(low, 13)] if deal % 4 else [*range(low, low + 5), 12]
        dealt = rng.permutation([4 * rank + suit for rank in set(ranks) for suit in range(4)])
        board = dealt[:5]
        hands = rng.choice(dealt[len(board) :], (60, 2))
        hands = hands[hands[:, 0] != hands[:, 1]][:30]
        known.append(library.strength(object.__new__(library), (*board.tolist(),), hands))
        for hand in hands.tolist():
            cards = [CARDS[card] for card in (*hand, *board)]
            ratings.append(max(map(rules.rate, combinations(cards, 5))))
    places = {rating: place for place, rating in enumerate(sorted(set(ratings)))}
    strengths = np.concatenate(known), np.array([places[rating] for rating in ratings])
    signs = [np.sign(x[:, None] - x) for x in strengths]
    assert np.array_equal(*signs)
    assert len({counts for counts, _ in ratings}) == 9


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20))
def test_betting_of_random_spots(seed: int) -> None:
    """The chips equal those of a reference, and a certificate is refused if payoffs differ."""
    rng = np.random.default_rng(seed)

    def sizes(*words: str) -> str:
        return ",".join(rng.choice(words, rng.integers(0, 4)).tolist())

    bets = "33%", "75", "pot", "e", "2e", "3e150%", "20c", "a", "130%"
    spot = {
        "board": rng.choice(["Td9d6hQd3c", "Td9d6hQd"]).item(),
        "ranges": ("AhAs", "8h8s,KdKc"),
        "pot": int(rng.integers(1, 100)) / 2,
        "stacks": int(rng.integers(1, 1000)) / 2,
        "chip": 0.5,
        "bets": {"turn": sizes(*bets), "river": {"oop": sizes(*bets), "ip": sizes(*bets)}},
        "raises": sizes(*bets, "min", "2.5x", "4x2r", "60%1r"),
        "donk": rng.choice([None, sizes(*bets)]),
        "add_allin": float(rng.choice([0, 1.5, 10])),
        "force_allin": float(rng.choice([0, 0.15, 0.5])),
        "merging": float(rng.choice([0, 0.1, 0.5])),
        "rake": 0.05,
        "rake_cap": 3,
    }
    text = certificate_of(solve(compile_game("holdem", **spot), "cfr+", iters=2).policy)
    assert json.loads(text)["game"]["parameters"]["bets"] == bets_of(spot)


SPOT = {"board": "Td9d6hQd3c", "ranges": ("AhAs,KdKc", "QsQh,8h8s"), "pot": 100, "stacks": 150}


@pytest.mark.parametrize(
    ("game", "options", "reason"),
    [
        ("omaha", SPOT | {"ranges": ("AhAs5h5s", "KdKc5c5d")}, "lacks the rules .*; it knows"),
        ("holdem", SPOT | {"folded": ("AA",)}, "the checker lacks 'folded'"),
        ("holdem", SPOT | {"payouts": (3, 2)}, "lacks the rules of this game"),
        # Push or fold has the rules of no-limit poker.
        ("nolimit_poker", {"stacks": (2,), "ranks": "TJQKA"}, "lacks the rules of this game"),
    ],
)
def test_spots_without_a_certificate(
    game: str, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    solution = solve(compile_game(game, **options), iters=2)
    with pytest.raises(ValueError, match=f"a certificate of {game}.*{reason}"):
        solution.certify(tmp_path / "a")
