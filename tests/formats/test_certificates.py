"""Certificates are proven by a program of one file, and forged ones are refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.random_games import random_game
from tensorcfr import Solution, compile_game, evaluate, solve
from tensorcfr.formats import checker
from tensorcfr.formats.checker import CertificateError, check
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.short_deck import ShortDeck

PROGRAM = Path(checker.__file__)
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


def solved(name: str) -> Solution:
    game, parameters, options = SOLVED[name]
    return solve(compile_game(game, **parameters), iters=20, **options)


AS_TREES = "three players", "leduc, two players named", "matrix", "general sum"
"""Solutions of games whose rules the checker lacks."""
LONG = "rhode_island", "short deck", "turn, 16 bits"
"""Solutions that take some seconds."""
NAMES = [pytest.param(name, marks=[pytest.mark.full] * (name in LONG)) for name in SOLVED]


@pytest.mark.parametrize("name", NAMES)
def test_the_proven_intervals_hold_the_numbers(name: str, tmp_path: Path) -> None:
    """They are as narrow as the claims must be: 1e-12 of the range of the utilities."""
    solution = solved(name)
    path = solution.certify(tmp_path / "file.cert")
    content = json.loads(path.read_text())
    proven, found = check(content), evaluate(solution.game, solution.policy)
    size = float(np.ptp(solution.game.utilities))
    numbers = {"exploitability": found.exploitability}
    for player in range(solution.game.n_players):
        numbers[f"value {player}"] = found.values[player]
        numbers[f"best response {player}"] = found.best_responses[player]
    assert proven.keys() == numbers.keys()
    for key, (low, high) in proven.items():
        assert 0 <= high - low <= 1e-12 * size
        assert float(low) == pytest.approx(numbers[key], abs=1e-12 * size)
    # A refusal of these rules may not be hidden by a proof of the tree.
    assert content["game"]["name"] == ("efg" if name in AS_TREES else SOLVED[name][0])


def test_random_trees(tmp_path: Path) -> None:
    """Games of the user are proven as trees."""
    for seed in range(5):
        solution = solve(compile_game(random_game(seed)), "cfr", iters=5)
        content = json.loads(solution.certify(tmp_path / f"{seed}").read_text())
        found = evaluate(solution.game, solution.policy)
        low, high = check(content)["exploitability"]
        assert low == high
        assert float(low) == pytest.approx(found.exploitability, abs=1e-12)


def test_fractions_and_the_program_alone(tmp_path: Path) -> None:
    """An exact equilibrium is proven in fractions, by a program without the package."""
    pytest.importorskip("flint")
    solution = solve(compile_game("kuhn"), target=0)
    path = solution.certify(tmp_path / "kuhn.cert")
    assert check(json.loads(path.read_text()))["value 0"] == (Fraction(-1, 18),) * 2
    with pytest.raises(FileExistsError, match="force=True replaces it"):
        solution.certify(path)
    assert run(path).stdout.splitlines()[:2] == [
        "exploitability: exactly 0",
        "value 0: exactly -1/18",
    ]
    text = path.read_text()
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


@pytest.mark.parametrize("name", ["kuhn", "leduc, float32", "liar's dice", "bluff"])
def test_floats_and_their_bounds_enclose_the_fractions(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = certificate(name)
    exact = check(content)
    monkeypatch.setattr(checker, "EXACT_HANDS", 0)
    for key, (low, high) in check(content).items():
        assert low < exact[key][0] == exact[key][1] < high


@cache
def certificate(name: str) -> Content:
    from tensorcfr.solvers.certificate import certificate_of

    content: Content = json.loads(json.dumps(certificate_of(solved(name).policy)))
    return content


def signed(content: Content) -> Content:
    """Forge the digest of the strategies, too."""
    rows = content["strategies"]
    content["digest"] = checker.digest_of({label: row.values() for label, row in rows.items()})
    return content


def digits(content: Content) -> None:
    row = content["strategies"]["Q"]
    row["pass"] = row["pass"][:13] + str(9 - int(row["pass"][13])) + row["pass"][14:]


def swapped(content: Content) -> None:
    rows = content["strategies"]
    rows["J"], rows["K"] = rows["K"], rows["J"]
    signed(content)


def missing(content: Content) -> None:
    del content["strategies"]["Kpb"]
    signed(content)


def more(content: Content) -> None:
    content["strategies"]["A"] = {"pass": "1.0", "bet": "0.0"}
    signed(content)


def better(key: str, by: float) -> Callable[[Content], None]:
    def forge(content: Content) -> None:
        content["claims"][key] = [repr(float(end) + by) for end in content["claims"][key]]

    return forge


def rows(**numbers: str) -> Callable[[Content], None]:
    def forge(content: Content) -> None:
        content["strategies"]["Q"] = numbers
        signed(content)

    return forge


def rules(**entries: Any) -> Callable[[Content], None]:
    def forge(content: Content) -> None:
        content["game"].update(entries)

    return forge


def payoffs(content: Content) -> None:
    text = content["game"]["parameters"]["text"]
    content["game"]["parameters"]["text"] = text.replace("{ -50, 50 }", "{ -49, 50 }")
    assert content["game"]["parameters"]["text"] != text


def cut(content: Content) -> None:
    content["game"]["parameters"]["text"] = content["game"]["parameters"]["text"][:-40]


def column(change: Callable[[np.ndarray], None], line: str = "", *, sign: bool = True) -> Forge:
    """Forge the probabilities of all hands at a public node, an array (actions, hands)."""

    def forge(content: Content) -> None:
        texts = content["strategies"][line]
        table = np.array([np.frombuffer(b64decode(text)) for text in texts.values()])
        change(table)
        for action, numbers in zip(texts, table, strict=True):
            texts[action] = b64encode(numbers.tobytes()).decode()
        if sign:
            signed(content)

    return forge


def entry(number: float) -> Forge:
    return column(lambda table: table.__setitem__((0, 0), number))


def last_digits(table: np.ndarray) -> None:
    table[:, 0] += np.array([1e-12, -1e-12, *[0] * (len(table) - 2)])


def texts(change: Callable[[str], str]) -> Forge:
    def forge(content: Content) -> None:
        row = content["strategies"][" check"]
        row["check"] = change(row["check"])
        signed(content)

    return forge


def options(**entries: Any) -> Forge:
    return lambda content: content["game"]["parameters"].update(entries)


def hands(player: int, change: Callable[[dict[str, float]], Any]) -> Forge:
    return lambda content: change(content["game"]["parameters"]["ranges"][player])


def exchanged(content: Content) -> None:
    strategies = content["strategies"]
    first, second = " bet50 allin", " check allin"
    strategies[first], strategies[second] = strategies[second], strategies[first]
    signed(content)


FORGED: dict[str, tuple[str, Forge, str]] = {
    "a probability in its 12th digit": ("kuhn", digits, "not those of the digest"),
    "labels swapped": ("kuhn", swapped, "is claimed to be from"),
    "an infoset is missing": ("kuhn", missing, "'Kpb' must have the actions .*, not \\[\\]"),
    "an infoset too many": ("kuhn", more, "the game has no infoset 'A'"),
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
        "'nan' is not a number",
    ),
    "another deck": ("kuhn", rules(parameters={"cards": 4}), "the infoset 'T' must have"),
    "other bets": ("leduc", rules(parameters={"bets": [2, 5]}), "is claimed to be"),
    "other payoffs": ("matrix", payoffs, "is claimed to be"),
    "a tree that ends early": ("matrix", cut, "damaged"),
    "rules that are unknown": ("kuhn", rules(name="chess"), "does not know the rules of 'chess'"),
    "parameters that are unknown": ("kuhn", rules(parameters={"x": 1}), "damaged: TypeError"),
    "another digest of the game": ("kuhn", rules(digest="0" * 64), "the game's digest"),
    "a negative probability": (
        "kuhn",
        rows(**{"pass": "1.5", "bet": "-0.5"}),
        "these are not probabilities",
    ),
    "probabilities above 1": (
        "kuhn",
        rows(**{"pass": "0.75", "bet": "0.5"}),
        "these are not probabilities",
    ),
    "no number": ("kuhn", rows(**{"pass": "nan", "bet": "0.5"}), "'nan' is not a number"),
    "a division by zero": ("kuhn", rows(**{"pass": "1/0", "bet": "0.5"}), "damaged: ZeroDivision"),
    "actions in another order": (
        "kuhn",
        rows(bet="0.5", **{"pass": "0.5"}),
        "must have the actions",
    ),
    "another version": ("kuhn", lambda content: content.update(format="2"), "the format is '2'"),
    "an entry too many": ("kuhn", lambda content: content.update(x=1), "damaged: TypeError"),
    # Forged rivers.
    "river: another digit": (
        *("river", column(last_digits, sign=False)),
        "not those of the digest",
    ),
    "river: hands swapped": (
        *("river", column(lambda table: table.__setitem__(slice(None), table[:, ::-1].copy()))),
        "is claimed to be",
    ),
    "river: lines swapped": ("river", exchanged, "is claimed to be"),
    "river: a line is missing": (
        *("river", lambda content: content["strategies"].pop(" check") and signed(content)),
        "' check' must have the actions",
    ),
    "river: a line too many": (
        "river",
        lambda content: (
            content["strategies"].update({" bet7": content["strategies"][""]}) or signed(content)
        ),
        "the game has no infoset ' bet7'",
    ),
    "river: a better value": ("river", better("value 1", 1e-8), "value 1 is claimed to be"),
    "river: less exploitability": (
        *("river", better("exploitability", -1e-8)),
        "exploitability is claimed",
    ),
    "river: a better response": ("river", better("best response 0", 1e-8), "best response 0 is"),
    "river: a negative probability": ("river", entry(-0.1), "numbers that are not probabilities"),
    "river: no number": ("river", entry(np.nan), "numbers that are not probabilities"),
    "river: an infinite number": ("river", entry(np.inf), "numbers that are not probabilities"),
    "river: probabilities above 1": (
        *("river", column(lambda table: table.__iadd__(0.5))),
        "numbers that are not probabilities",
    ),
    "river: a hand too few": ("river", texts(lambda text: text[:-12] + "="), "damaged"),
    "river: another alphabet": ("river", texts(lambda text: "*" + text[1:]), "damaged"),
    "river: another board": ("river", options(board="Td9d6hQd4c"), "is claimed to be"),
    "river: a shorter board": ("river", options(board="Td9d6hQd"), "must have|no infoset"),
    "river: a fraction of a chip": ("river", options(pot=100.5), "multiples of the smallest chip"),
    "river: a card twice": ("river", options(board="TdTd6hQd3c"), "the board is wrong"),
    "river: another pot": ("river", options(pot=101), "is claimed to be|must have"),
    "river: other chips": ("river", options(stacks=151), "is claimed to be|must have"),
    "river: other sizes": ("river", options(bets="60%,a"), "must have the actions"),
    "river: no rake": ("river", options(rake=0.01), "is claimed to be"),
    "river: an option that is unknown": (
        "river",
        options(folded="AA"),
        "no options \\['folded'\\]",
    ),
    "river: another weight": (
        *("river", hands(0, lambda known: known.update(AsAh=0.25))),
        "is claimed to be",
    ),
    "river: a weight of 0": ("river", hands(0, lambda known: known.update(AsAh=0)), "no weight"),
    "river: a hand twice": (
        *("river", hands(0, lambda known: known.update(AhAs=known.pop("KdKc")))),
        "cannot be dealt",
    ),
    "river: a hand of the board": (
        *("river", hands(0, lambda known: known.update(QdAs=known.pop("KdKc")))),
        "cannot be dealt",
    ),
    "river: a dead card": ("river", options(dead="AsAh"), "cannot be dealt"),
    "turn: suits that differ": (
        *("turn", column(lambda table: table.__setitem__((slice(None), 0), table[::-1, 0].copy()))),
        "strategies differ between suits",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_certificates_are_refused(name: str) -> None:
    game, forge, reason = FORGED[name]
    content = deepcopy(certificate(game))
    check(content)
    forge(content)
    with pytest.raises(CertificateError, match=reason):
        check(content)


HEAD = 'EFG 2 R "tree" { "a" "b" }\n'
COIN = 'c "" 1 "" { "h" 1/2 "t" 1/2 } 0\n'
END = 't "" 1 "" { 1, -1 }\n'
TREES = {
    "chance is forgotten": (
        COIN
        + 'p "" 1 1 "x" { "l" "r" } 0\np "" 1 2 "y" { "l" "r" } 0\n'
        + 2 * END
        + END
        + 'p "" 1 3 "z" { "l" "r" } 0\np "" 1 2 0\n'
        + 2 * END
        + END,
        "'y' has imperfect recall",
    ),
    "an infoset comes twice": (
        'p "" 1 1 "x" { "l" "r" } 0\np "" 1 1 0\n' + 3 * END,
        "'x' has imperfect recall",
    ),
    "two players share an infoset": (
        COIN + 'p "" 1 1 "x" { "l" "r" } 0\n' + 2 * END + 'p "" 2 1 "x" { "l" "r" } 0\n' + 2 * END,
        "'x' has imperfect recall",
    ),
    "chance is not certain": (COIN.replace("1/2", "1/3") + 2 * END, "chance has the probabilities"),
    "chance is negative": (
        COIN.replace('"h" 1/2 "t" 1/2', '"h" 3/2 "t" -1/2') + 2 * END,
        "chance has the probabilities",
    ),
    "two actions have one name": (
        'p "" 1 1 "x" { "l" "l" } 0\n' + 2 * END,
        "two actions of the infoset 'x' have one name",
    ),
    "there is more": (END + END, "text behind the tree"),
    "payoffs on the way": (
        'p "" 1 1 "x" { "l" "r" } 1 "" { 1, -1 }\n' + 2 * END,
        "a node before the end has payoffs",
    ),
    "a payoff too few": (END.replace("1, -1", "1"), "a terminal has 1 payoffs"),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_whose_sums_would_be_wrong_are_refused(name: str) -> None:
    """The second checker found that most of these were accepted."""
    tree, reason = TREES[name]
    row = {"l": "0.5", "r": "0.5"}
    content = certificate("matrix") | {
        "game": {"name": "efg", "parameters": {"text": HEAD + tree}, "digest": ""},
        "strategies": dict.fromkeys("xyz", row),
    }
    with pytest.raises(CertificateError, match=reason):
        check(signed(content))


def test_entries_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "a"
    text = json.dumps(certificate("kuhn"))
    path.write_text(text.replace('"Q": {', '"Q": {}, "Q": {', 1))
    assert "refused: two entries have one name" in run(path).stderr


def test_no_proof_of_the_tree_hides_other_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the checker's rules, the king of thirteen cards was the lowest card."""
    from tensorcfr.solvers.certificate import certificate_of

    monkeypatch.setattr(checker.KuhnRules, "strength", lambda self, cards: cards[:, 0] % 2)
    with pytest.raises(ValueError, match=r"kuhn: \S+ is claimed to be"):
        certificate_of(solved("kuhn").policy)


def test_rules_under_the_name_of_others(tmp_path: Path) -> None:
    """A game of the user with the name of a built-in one is proven as the tree that it is."""
    game = compile_game("biased_rock_paper_scissors")
    solution = solve(game, "cfr", iters=5)
    for name in ("kuhn", "efg", "pennies (first try)"):
        object.__setattr__(game, "name", name)
        content = json.loads(solution.certify(tmp_path / "a", force=True).read_text())
        assert content["game"]["name"] == "efg"


TREES_OF_SPOTS = ["river", "river, rake and dead cards"]


@pytest.mark.parametrize(
    "name", [*TREES_OF_SPOTS, pytest.param("turn, not merged", marks=pytest.mark.full)]
)
def test_spots_are_proven_as_trees_too(name: str, tmp_path: Path) -> None:
    """The tree has every pair of hands and every board, and no rules of the checker."""
    solution = solved(name)
    flat = solution.game.flat()
    from tensorcfr.solvers.certificate import certificate_of

    tree = certificate_of(solution.policy.moved_to(flat))
    assert tree["game"]["name"] == "efg"
    exact, proven = check(tree), check(certificate(name))
    size = float(np.ptp(solution.game.utilities))
    for key, (low, high) in proven.items():
        assert low - 1e-13 * size <= exact[key][0] <= high + 1e-13 * size


@pytest.mark.parametrize("name", ["holdem", "short_deck"])
def test_the_checker_ranks_hands_as_the_library(name: str) -> None:
    """All pairs of 2,400 hands compare alike; small decks have all categories."""
    library = {"holdem": Holdem, "short_deck": ShortDeck}[name]
    rules = object.__new__(checker.RULES[name])
    rules.suits, rng, known, strengths = 4, np.random.default_rng(1), [], []
    for deal in range(80):
        low = int(rng.integers(4, 8)) if name == "short_deck" or deal % 2 else 0
        ranks = [*range(low, 13)] if deal % 4 else [*range(low, low + 5), 12]
        dealt = rng.permutation([4 * rank + suit for rank in set(ranks) for suit in range(4)])
        board = dealt[: 3 + deal % 3]
        hands = rng.choice(dealt[len(board) :], (60, 2))
        hands = hands[hands[:, 0] != hands[:, 1]][:30]
        known.append(library.strength(object.__new__(library), (*board.tolist(),), hands))
        boards = np.tile(board, (len(hands), 1))
        strengths.append(rules.strength(np.hstack([hands, boards])))
    signs = [np.sign(x[:, None] - x) for x in (np.concatenate(known), np.concatenate(strengths))]
    assert np.array_equal(*signs)
    assert len(set(np.concatenate(strengths) >> 35)) == 9


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20))
def test_betting_of_random_spots(seed: int) -> None:
    """A certificate is refused if the checker's betting has other lines or other payoffs."""
    from tensorcfr.solvers.certificate import certificate_of

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
    check(certificate_of(solve(compile_game("holdem", **spot), "cfr+", iters=2).policy))


@pytest.mark.parametrize(
    ("game", "options", "reason"),
    [
        ("omaha", {"ranges": ("AhAs5h5s", "KdKc5c5d")}, "lacks the rules of this game; it knows"),
        ("holdem", {"folded": ("AA",)}, "the checker lacks 'folded'"),
        ("holdem", {"payouts": (3, 2)}, "lacks the rules of this game"),
    ],
)
def test_spots_without_a_certificate(
    game: str, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    spot = {"board": "Td9d6hQd3c", "ranges": ("AhAs,KdKc", "QsQh,8h8s"), "pot": 100, "stacks": 150}
    solution = solve(compile_game(game, **spot | options), iters=2)
    with pytest.raises(ValueError, match=reason):
        solution.certify(tmp_path / "a")
