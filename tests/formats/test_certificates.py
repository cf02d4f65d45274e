"""Certificates are proven by a program of one file, and forged ones are refused."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import chain, combinations
from math import comb
from pathlib import Path
from types import SimpleNamespace
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
    "leduc, 16 bits": ("leduc", {"cut": 1}, {"algorithm": "cfr+", "precision": "int16"}),
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


def read(text: str) -> Content:
    """Return the parts of a certificate: lists of texts by name, and the digest."""
    title, rest = text.split("\n", 1)
    head, claims, body = rest.split("\n\n")
    (_, name), *parameters, (_, *totals) = (line.split("\t") for line in head.split("\n"))
    lines = [line.split("\t") for line in body.split("\n")[:-1]]
    return {
        "format": title[:-65],
        "signature": title[-64:],
        "game": name,
        "parameters": {name: values for name, *values in parameters},
        "totals": totals,
        "claims": {name: ends for name, *ends in (line.split("\t") for line in claims.split("\n"))},
        # The lines of a tree have other forms, too.
        "lines": lines if name == "tree" else None,
        "strategies": {
            label: dict(zip(row[::2], row[1::2], strict=False)) for label, *row in lines
        },
    }


def written(content: Content) -> str:
    """Return a certificate with its digest, or with one that was forged."""
    rows = [[label, *chain(*row.items())] for label, row in content["strategies"].items()]
    blocks = [
        [
            ["game", content["game"]],
            *([name, *values] for name, values in content["parameters"].items()),
            ["totals", *content["totals"]],
        ],
        [[name, *ends] for name, ends in content["claims"].items()],
        [*(content["lines"] or rows), [""]],
    ]
    rest = "\n\n".join("\n".join(map("\t".join, block)) for block in blocks)
    digest = content.get("digest", sha256(rest.encode()).hexdigest())
    return f"{content['format']} {digest}\n{rest}"


def check(content: Content) -> dict[str, Fraction]:
    return checker.check(written(content))


@pytest.fixture(scope="module")
def second_checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the checker in Rust."""
    if CARGO is None:
        pytest.skip("needs cargo")
    source = ROOT / "scripts" / "checker"
    folder = tmp_path_factory.mktemp("checker")
    shutil.copytree(source / "src", folder / "src")
    # The lock file stays behind: the crates of a distribution have other checksums than crates.io.
    shutil.copy(source / "Cargo.toml", folder)
    for options in (["--offline"], []):
        build = [CARGO, "build", "--release", *options]
        run = subprocess.run(build, cwd=folder, capture_output=True, text=True, timeout=600)
        if run.returncode == 0:
            return folder / "target" / "release" / "checker"
    if "could not compile" in run.stderr:
        pytest.fail(run.stderr)
    pytest.skip(f"needs the crates of scripts/checker: {run.stderr.strip()}")


@pytest.mark.full
@pytest.mark.parametrize("name", SOLVED)
def test_both_checkers_print_the_same_numbers(
    name: str, tmp_path: Path, second_checker: Path
) -> None:
    path = tmp_path / "file.cert"
    path.write_text(written(certificate(name)), "utf-8")
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
    content = read(path.read_text())
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
    assert content["game"] == expected


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
    content = read(text)
    assert written(content) == text
    assert checker.check(text)["value 0"] == Fraction(-1, 18)
    with pytest.raises(FileExistsError, match="force=True replaces it"):
        solution.certify(path)
    assert run(path).stdout.splitlines()[:2] == [
        "exploitability: exactly 0",
        "value 0: exactly -1/18",
    ]
    content["claims"]["value 0"] = ["-1/17", "-1/17"]
    path.write_text(written(content))
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
        (
            Fraction(10**45 + 1, 10**44),
            "from 1000000000000000000000e-20 to 1000000000000000000001e-20",
        ),
        (
            Fraction(1 - 10**40, 10**40),
            "from -100000000000000000000e-20 to -99999999999999999999e-20",
        ),
    ],
)
def test_numbers_are_rounded_outwards(number: Fraction, text: str) -> None:
    assert checker.shown(number) == text


def test_sums_of_large_weights_are_exact() -> None:
    """Values of all pairs of hands equal sums of whole numbers, also above 2**53."""
    rng = np.random.default_rng(1)
    chances = [np.array([3] * n, dtype=object) for n in (40, 60)]
    pays = [rng.integers(-7, 8, (40, 60)).astype(object) for _ in range(2)]
    totals = [3**40, 7**30, 11]
    ended = SimpleNamespace(chances=chances, root=(), node=lambda: ("end", *pays))
    sums = checker.evaluate(ended, totals, iter([[""]]))
    for player, (best, value) in enumerate(sums):
        table = pays[player] if player == 0 else pays[player].T
        expected = 9 * totals[1 - player] * 11 * sum(map(sum, table.tolist()))
        assert (best, value) == (expected, expected * totals[player])


@cache
def certificate(name: str) -> Content:
    return read(certificate_of(solved(name).policy))


def changed(label: str, action: str, hand: int, by: Callable[[str], str]) -> Forge:
    """Forge the weight of a hand."""

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


def missing(content: Content) -> None:
    del content["strategies"]["call 2"]


def more(content: Content) -> None:
    content["strategies"]["A"] = {"call": "1 1 1", "2": "0 0 0"}


def better(key: str, by: float) -> Callable[[Content], None]:
    def forge(content: Content) -> None:
        content["claims"][key] = [
            str(Fraction(end) + Fraction(by)) for end in content["claims"][key]
        ]

    return forge


def rows(**numbers: str) -> Callable[[Content], None]:
    """Forge the weights of the queen."""

    def forge(content: Content) -> None:
        row = content["strategies"][""]
        for (action, weights), number in zip(row.items(), numbers.values(), strict=True):
            first, *_, last = weights.split(" ")
            row[action] = f"{first} {number} {last}"

    return forge


def entries(**values: Any) -> Callable[[Content], None]:
    return lambda content: content.update(values)


def stale(forge: Forge) -> Forge:
    """Forge all but the digest."""

    def with_old_digest(content: Content) -> None:
        forge(content)
        content["digest"] = content["signature"]

    return with_old_digest


def payoffs(content: Content) -> None:
    line = next(line for line in content["lines"] if line[0] == "end" and line[1] != "0")
    line[1] = str(int(line[1]) + 1)


def reordered(content: Content) -> None:
    row = content["strategies"][""]
    content["strategies"][""] = dict(reversed(row.items()))


def column(change: Callable[[np.ndarray], None], line: str = "") -> Forge:
    """Forge the weights of all hands at a public node, an array (actions, hands)."""

    def forge(content: Content) -> None:
        texts = content["strategies"][line]
        table = np.array([text.split(" ") for text in texts.values()], dtype=object)
        table = np.vectorize(int, otypes=[object])(table)
        change(table)
        for action, numbers in zip(texts, table, strict=True):
            texts[action] = " ".join(map(str, numbers))

    return forge


def entry(number: object) -> Forge:
    return column(lambda table: table.__setitem__((0, 0), number))


def last_digits(table: np.ndarray) -> None:
    table[:, 0] += np.array([1, -1, *[0] * (len(table) - 2)])


def texts(change: Callable[[str], str]) -> Forge:
    def forge(content: Content) -> None:
        row = content["strategies"]["call"]
        row["call"] = change(row["call"])

    return forge


def options(**values: Any) -> Forge:
    """Forge parameters, whose values are words."""
    words = {name: text.split(" ") if text else [] for name, text in values.items()}
    return lambda content: content["parameters"].update(words)


def hand(weight: str) -> Forge:
    """Forge the weight of player 0's first hand."""

    def forge(content: Content) -> None:
        texts = content["parameters"]["hands"]
        texts[0] = re.sub("[1-9][0-9]*", weight, texts[0], count=1)

    return forge


def raises(line: str, totals: str) -> Forge:
    def forge(content: Content) -> None:
        known = content["parameters"]["raises"]
        known[:] = [
            *(text for text in known if not text.startswith(f"{line}:")),
            f"{line}:{totals}",
        ]

    return forge


def exchanged(content: Content) -> None:
    strategies = content["strategies"]
    first, second = "50 150", "call 150"
    strategies[first], strategies[second] = strategies[second], strategies[first]


def suits(content: Content) -> None:
    """Change a call of all chips with one hand; no player acts after the next card."""
    line = min((x for x in content["strategies"] if x.endswith(" 100")), key=len)
    column(lambda table: table.__setitem__((slice(None), 0), table[::-1, 0].copy()), line)(content)


FORGED: dict[str, tuple[str, Forge, str]] = {
    "a weight in its 12th digit": (
        *("kuhn", stale(changed("", "call", 1, digit))),
        "not the one of its digest",
    ),
    "a weight in its 12th digit, with its digest": (
        *("kuhn", changed("", "call", 1, digit)),
        "wrong sums of weights at ''",
    ),
    "labels swapped": ("kuhn", swapped, "wrong sums of weights"),
    "an infoset is missing": ("kuhn", missing, "'call 2' must have the actions"),
    "an infoset too many": ("kuhn", more, "the file has more decisions"),
    "a better value": ("kuhn", better("value 0", 1e-9), "value 0 is claimed to be"),
    "a lower exploitability": (
        "kuhn",
        better("exploitability", -1e-9),
        "exploitability is claimed",
    ),
    "a better response": ("leduc", better("best response 1", 1e-6), "best response 1 is claimed"),
    "a better value, with the old digest": (
        *("kuhn", stale(better("value 0", 1e-9))),
        "not the one of its digest",
    ),
    "no claim": ("kuhn", lambda content: content["claims"].pop("value 1"), "the claims must be"),
    "a claim that is not a number": (
        *("kuhn", lambda content: content["claims"].update({"value 0": ["nan", "0"]})),
        "'nan', '0'. are not numbers",
    ),
    "a claim without an upper end": (
        *("kuhn", lambda content: content["claims"]["value 0"].pop()),
        "damaged",
    ),
    "another deck": ("kuhn", options(ranks="4"), "'' has not one weight for each hand"),
    "other bets": ("leduc", options(bets="2 5"), "'call call 0s' must have the actions"),
    "a bet too many": ("leduc", options(bets="2 4 4"), "a round has not one bet"),
    "nine suits": ("leduc", options(suits="9"), "a card is unknown"),
    "other payoffs": ("matrix", payoffs, "is claimed to be"),
    "a tree that ends early": (
        "matrix",
        lambda content: content["lines"].pop(),
        "'' and 0 numbers",
    ),
    "rules that are unknown": (
        "kuhn",
        entries(game="chess"),
        "does not know the rules of 'chess'",
    ),
    "parameters that are unknown": ("kuhn", options(x="1"), "the entries of the game must be"),
    "parameters that are fixed": ("kuhn", options(bets="2"), "the entries of the game must be"),
    "another digest": ("kuhn", entries(digest="0" * 64), "not the one of its digest"),
    "a negative weight": ("kuhn", rows(call="-1", bet="1"), "are not numbers"),
    "weights above the total": (
        *("kuhn", rows(call="750000000000000", bet="500000000000000")),
        "wrong sums of weights",
    ),
    "no number": ("kuhn", rows(call="nan", bet="0"), "are not numbers"),
    "a division by zero": ("kuhn", rows(call="1/0", bet="0"), "are not numbers"),
    "one weight for all hands": (
        *("kuhn", lambda content: content["strategies"].update({"": {"call": "0", "2": "1"}})),
        "has not one weight for each hand",
    ),
    "another total": (
        *("kuhn", entries(totals=["1", "1000000000000000", "1"])),
        "wrong sums of weights",
    ),
    "a total too few": (
        *("kuhn", lambda content: content["totals"].pop()),
        "a player has no total",
    ),
    "another total of chance": (
        *("goofspiel", lambda content: content["totals"].append(content["totals"].pop() + "0")),
        "chance has other weights",
    ),
    "actions in another order": ("kuhn", reordered, "must have the actions"),
    "another version": ("kuhn", entries(format="tensorcfr certificate 2"), "is another format"),
    "an entry twice": ("kuhn", options(**{"ranks\t3\nranks": "3"}), "the entries of the game"),
    # Forged rivers.
    "river: another digit": (
        *("river", stale(column(last_digits))),
        "not the one of its digest",
    ),
    "river: hands swapped": (
        *("river", column(lambda table: table.__setitem__(slice(None), table[:, ::-1].copy()))),
        "wrong sums of weights",
    ),
    "river: lines swapped": ("river", exchanged, "wrong sums of weights|must have the actions"),
    "river: a line is missing": (
        *("river", lambda content: content["strategies"].pop("call")),
        "'call' must have the actions",
    ),
    "river: a line too many": (
        *("river", lambda content: content["strategies"].update(x=content["strategies"][""])),
        "the file has more decisions",
    ),
    "river: a better value": ("river", better("value 1", 1e-8), "value 1 is claimed to be"),
    "river: less exploitability": (
        *("river", better("exploitability", -1e-8)),
        "exploitability is claimed",
    ),
    "river: a better response": ("river", better("best response 0", 1e-8), "best response 0 is"),
    "river: a negative weight": ("river", entry(-1), "are not numbers"),
    "river: no number": ("river", entry("nan"), "are not numbers"),
    "river: an infinite number": ("river", entry("inf"), "are not numbers"),
    "river: weights above the total": (
        *("river", column(lambda table: table.__iadd__(1))),
        "wrong sums of weights",
    ),
    "river: a hand too few": (
        *("river", texts(lambda text: text.rpartition(" ")[0])),
        "has not one weight for each hand",
    ),
    "river: another alphabet": (
        *("river", texts(lambda text: "\N{ARABIC-INDIC DIGIT ONE}" + text[1:])),
        "are not numbers",
    ),
    "river: another board": ("river", options(board="Td 9d 6h Qd 4c"), "is claimed to be"),
    "river: a shorter board": ("river", options(board="Td 9d 6h Qd"), "damaged"),
    "river: a board too short": ("river", options(board="Td 9d"), "damaged|3 to 5 cards"),
    "river: a fraction of a chip": ("river", options(pot="100.5"), "are not numbers"),
    "river: a card twice": ("river", options(board="Td Td 6h Qd 3c"), "comes twice"),
    "river: six cards on the board": ("river", options(board="Td 9d 6h Qd 3c 4c"), "damaged"),
    "river: a card of another deck": ("river", options(dead="1x"), "a card is unknown"),
    "river: a unit of 0": ("river", options(unit="0"), "the unit is 0"),
    "a tree with a unit below 0": ("matrix", options(unit="-1"), "are not numbers"),
    "a tree with a divisor below 0": ("matrix", options(unit="1/-1"), "are not numbers"),
    "river: another pot": ("river", options(pot="101"), "is claimed to be|must have"),
    "river: other chips": ("river", options(stack="149"), "are not legal raises"),
    "river: other sizes": ("river", raises("", "60 150"), "must have the actions"),
    "river: a line twice": (
        *("river", lambda content: content["parameters"]["raises"].append("50:150")),
        "a line is listed twice",
    ),
    "river: a bet below the smallest raise": (
        *("river", raises("50", "80 150")),
        r"are not legal raises after \('50',\)",
    ),
    "river: a bet above the stack": (
        *("river", raises("", "50 151")),
        r"are not legal raises after \(\)",
    ),
    "river: other raises in another order": ("river", raises("", "150 50"), "are not legal raises"),
    "river: no rake": ("river", options(rates="1 1 9"), "is claimed to be"),
    "river: an option that is unknown": ("river", options(folded="AA"), "the entries of the game"),
    "river: another weight": ("river", hand("3"), "is claimed to be"),
    "river: a weight of 0": ("river", hand("0"), "has not one weight for each hand"),
    "river: a dead card": ("river", options(dead="As"), "damaged"),
    "river: no word for merged": ("river", options(merged="maybe"), "damaged"),
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
    assert_refused(forged(name), tmp_path, second_checker)


def assert_refused(content: Content, tmp_path: Path, second_checker: Path) -> None:
    path = tmp_path / "forged.cert"
    path.write_text(written(content), "utf-8")
    run = subprocess.run([second_checker, path], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("refused: ")


def forged(name: str) -> Content:
    """Return a certificate that was changed."""
    game, forge, _ = FORGED[name]
    content = deepcopy(certificate(game))
    forge(content)
    return content


def tree(text: str) -> list[list[str]]:
    """Return the lines of a tree: words with a blank between them."""
    return [line.split(" ") for line in text.split(", ")]


ENDS = "end 1 -1, end 1 -1"
TREES: dict[str, tuple[str, str]] = {
    "chance is forgotten": (
        "chance 1 1, infoset 0 x l r, x l 2 r 0, infoset 0 y l r, y l 2 r 0, "
        + ENDS
        + ", end 1 -1, "
        "infoset 0 z l r, z l 2 r 0, infoset 0 y l r, " + ENDS + ", end 1 -1",
        "'y' has imperfect",
    ),
    "an infoset comes twice": (
        "infoset 0 x l r, x l 2 r 0, infoset 0 x l r, " + ENDS + ", end 1 -1",
        "'x' has imperfect recall",
    ),
    "two players share an infoset": (
        "chance 1 1, infoset 0 x l r, x l 2 r 0, " + ENDS + ", infoset 1 x l r, " + ENDS,
        "'x' has imperfect recall",
    ),
    "chance is not certain": ("chance 1 2, " + ENDS, "chance has other weights"),
    "chance is negative": ("chance 3 -1, " + ENDS, "are not numbers"),
    "a payoff too few": ("infoset 0 x l r, x l 2 r 0, end 1, end 1 -1", "'end' and 1 numbers"),
    "a fraction of a unit": ("chance 1 1, end 1/2 -1/2, end 1 -1", "are not numbers"),
    "a node of another kind": ("infoset 0 x l r, x l 2 r 0, deal, end 1 -1", "'deal' and 0"),
    "a player too many": ("infoset 2 x l r, x l 2 r 0, " + ENDS, "damaged: IndexError"),
    "a negative player": ("infoset -1 x l r, x l 2 r 0, " + ENDS, "are not numbers"),
    "two actions of one name": ("infoset 0 x l l, x l 2 l 0, " + ENDS, "an action twice"),
    "no weights of an action": ("infoset 0 x l r, x l 2 r, " + ENDS, "damaged: KeyError"),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_whose_sums_would_be_wrong_are_refused(name: str) -> None:
    """The second checker found that most of these were accepted."""
    text, reason = TREES[name]
    with pytest.raises(CertificateError, match=reason):
        check(of_a_tree(text))


def of_a_tree(text: str) -> Content:
    parameters = {"players": ["2"], "unit": ["1"]}
    return certificate("matrix") | {
        **{"parameters": parameters, "totals": ["2", "2", "2"], "lines": tree(text)}
    }


@pytest.mark.full
@pytest.mark.parametrize("name", TREES)
def test_the_second_checker_refuses_these_trees_too(
    name: str, tmp_path: Path, second_checker: Path
) -> None:
    assert_refused(of_a_tree(TREES[name][0]), tmp_path, second_checker)


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
        content = read(solution.certify(tmp_path / "a", force=True).read_text())
        assert content["game"] == "tree"


def test_resolved_strategies() -> None:
    """A strategy that was resolved after a line is proven by the rules."""
    one = solved("leduc, not merged")
    policy = resolve(one.game, one.policy, "call", player=0, iters=5).policy
    content, found = read(certificate_of(policy)), evaluate(one.game, policy)
    assert content["game"] == "leduc"
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
    assert read(tree)["game"] == "tree"
    by_tree, proven = checker.check(tree), check(certificate(name))
    size = float(np.ptp(solution.game.utilities))
    for key, number in proven.items():
        assert float(by_tree[key] - number) == pytest.approx(0, abs=1e-14 * size)


@pytest.mark.parametrize("name", ["holdem", "short_deck"])
def test_the_checker_ranks_hands_as_the_library(name: str) -> None:
    """All pairs of 2,400 hands compare alike; small decks have all categories."""
    library = {"holdem": Holdem, "short_deck": ShortDeck}[name]
    make, names, fixed = checker.RULES[name]
    spot = {key: ["1"] for key in names.split()}
    spot |= {"board": ["Td", "9d", "6h", "Qd", "Kc"], "dead": []}
    one = "1" + " 0" * (comb(47 if name == "holdem" else 31, 2) - 1)
    spot |= {"hands": [one, one[::-1]], "rates": ["1", "0", "0"], "raises": [], "merged": ["no"]}
    rules = make(**{key: text.split() for key, text in fixed.items()} | spot)
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
    raises = dict(line.split(":") for line in read(text)["parameters"]["raises"])
    expected = {line: " ".join(map(str, totals)) for line, totals in bets_of(spot).items()}
    assert raises == expected


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
    solution = solve(compile_game(game, **options), "cfr+", iters=2, precision="float64")
    with pytest.raises(ValueError, match=f"a certificate of {game}.*{reason}"):
        solution.certify(tmp_path / "a")
