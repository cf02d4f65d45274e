"""Certificates are proven by a program of one file, and forged ones are refused."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import combinations
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
    "bluff": ("bluff", {"dice": (2, 1), "faces": 3}, {"algorithm": "cfr"}),
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


@cache
def certificate(name: str) -> str:
    return certificate_of(solved(name).policy)


def signed(rest: str) -> str:
    """Return a certificate with its digest."""
    return f"{checker.FORMAT} {sha256(rest.encode()).hexdigest()}\n{rest}"


def game_of(text: str) -> str:
    """Return the name of the rules."""
    return text.split("\n")[1].removeprefix("game\t")


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
    path.write_text(certificate(name), "utf-8")
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
def test_the_proven_numbers(name: str) -> None:
    """The numbers are exact, and the claims as narrow as 1e-12 of the range of the utilities."""
    solution, text = solved(name), certificate(name)
    proven, found = checker.check(text), evaluate(solution.game, solution.policy)
    size = float(np.ptp(solution.game.utilities))
    numbers = {"exploitability": found.exploitability}
    for player in range(solution.game.n_players):
        numbers[f"value {player}"] = found.values[player]
        numbers[f"best response {player}"] = found.best_responses[player]
    assert proven.keys() == numbers.keys()
    for (key, number), line in zip(proven.items(), text.split("\n\n")[1].split("\n"), strict=True):
        low, high = map(Fraction, line.removeprefix(key).split())
        assert low <= number <= high
        assert high - low <= 1e-12 * size
        # Weights are rounded to 15 digits.
        assert float(number) == pytest.approx(numbers[key], abs=1e-14 * size)
    # A refusal of these rules may not be hidden by a proof of the tree.
    game = SOLVED[name][0]
    expected = "tree" if name in AS_TREES else OTHER_NAMES.get(game, game)
    assert game_of(text) == expected


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
    path.write_text(signed(text.split("\n", 1)[1].replace("-1/18\t-1/18", "-1/17\t-1/17", 1)))
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
    hands = [np.array([3] * n, dtype=object) for n in (40, 60)]
    pays = [rng.integers(-7, 8, shape) for shape in ((40, 60), (60, 40))]
    weights = [np.full(40, 3**40, dtype=object), np.full(60, 7**30, dtype=object)]
    ended = SimpleNamespace(hands=hands, node=lambda: ("end", pays))
    for player, (best, value) in enumerate(checker.evaluate(ended, (), weights, 11)):
        expected = 9 * weights[1 - player][0] * 11 * sum(map(sum, pays[player].tolist()))
        assert (sum(best), sum(value)) == (expected, expected * weights[player][0])


def test_weights_between_two_powers_of_two() -> None:
    """Weights from 2**63 to 2**64 are uint64 in NumPy, whose sums with int64 are rounded."""
    title, rest = certificate("kuhn").split("\n", 1)
    head, claims, body = rest.split("\n\n")

    def scaled(words: str) -> str:
        return " ".join(str(12_000 * int(word)) for word in words.split(" "))

    *game, totals = head.split("\n")
    name, *numbers = totals.split("\t")
    rows = [line.split("\t") for line in body.split("\n")[:-1]]
    for row in rows:
        row[2::2] = map(scaled, row[2::2])
    lines = ["\t".join([name, *map(scaled, numbers)]), "", claims, "", *map("\t".join, rows), ""]
    text = signed("\n".join([*game, *lines]))
    assert 2**63 < 12_000 * int(numbers[0]) < 2**64
    assert checker.check(text) == checker.check(f"{title}\n{rest}")


CHANGES = r"""
a weight in its 12th digit, old digest | kuhn | not the one of its digest
    ^(\tcall\t\d+ \d{11})(\d) -> next digit
a weight in its 12th digit | kuhn | wrong sums of weights at ''
    ^(\tcall\t\d+ \d{11})(\d) -> next digit
labels swapped | kuhn | wrong sums of weights
    ^\tcall\t(\d+) (\d+) (\d+)\t2\t(\d+) (\d+) (\d+)$ -> \tcall\t\3 \2 \1\t2\t\6 \5 \4
an infoset is missing | kuhn | 'call 2' must have the actions
    ^call 2\t.*\n ->
an infoset too many | kuhn | the file has more decisions
    \Z -> A\tcall\t1 1 1\t2\t0 0 0\n
a better value | kuhn | value 0 is claimed to be
    ^(value 0\t)(.*)\t(.*) -> add 1e-9
a lower exploitability | kuhn | exploitability is claimed
    ^(exploitability\t)(.*)\t(.*) -> add -1e-9
a better response | leduc | best response 1 is claimed
    ^(best response 1\t)(.*)\t(.*) -> add 1e-6
a better value, old digest | kuhn | not the one of its digest
    ^(value 0\t)(.*)\t(.*) -> add 1e-9
no claim | kuhn | the claims must be
    ^value 1\t.*\n ->
a claim that is not a number | kuhn | 'nan'. are not numbers
    ^(value 0)\t.* -> \1\tnan\t0
a claim without an upper end | kuhn | damaged
    ^(value 0\t.*)\t.* -> \1
another deck | kuhn | '' has not one weight for each hand
    ^ranks\t3 -> ranks\t4
other bets | leduc | 'call call 0s' must have the actions
    ^bets\t.* -> bets\t2\t5
a bet too many | leduc | a round has not one bet
    ^bets\t.* -> bets\t2\t4\t4
nine suits | leduc | a card is unknown
    ^suits\t2 -> suits\t9
no actions in a round | nl_leduc | no action
    ^actions\t.* -> actions\t0
fewer chips than the ante | nl_leduc | fewer chips than the ante
    ^stack\t.* -> stack\t0
other payoffs | matrix | is claimed to be
    ^(end\t)([1-9]) -> add 1
a tree that ends early | matrix | '' is not a node
    ^.*\n\Z ->
rules that are unknown | kuhn | does not know the rules of 'chess'
    ^game\t.* -> game\tchess
parameters that are unknown | kuhn | the entries of the game must be
    ^totals -> x\t1\ntotals
parameters that are fixed | kuhn | the entries of the game must be
    ^totals -> bets\t2\ntotals
a negative weight | kuhn | are not numbers
    ^(\tcall\t\d+ ) -> \1-
weights above the total | kuhn | wrong sums of weights
    ^(\tcall\t\d+ )\d+(.*\t\d+ )\d+ -> \g<1>750000000000000\g<2>500000000000000
no number | kuhn | are not numbers
    ^(\tcall\t\d+ )\d+ -> \1nan
a division by zero | kuhn | are not numbers
    ^(\tcall\t\d+ )\d+ -> \g<1>1/0
one weight for all hands | kuhn | has not one weight for each hand
    ^\tcall\t.* -> \tcall\t0\t2\t1
another total | kuhn | wrong sums of weights
    ^totals\t\d+ -> totals\t1
a total too few | kuhn | a player has no total
    ^(totals.*)\t.* -> \1
a total of 0 | kuhn | a total is 0
    ^(totals.*)\t.* -> \1\t0
another total of chance | goofspiel | chance has other weights
    ^(totals.*) -> \g<1>0
actions in another order | kuhn | must have the actions
    ^\t(call\t.*)\t(2\t.*) -> \t\2\t\1
another digest, old digest | kuhn | not the one of its digest
    [0-9a-f]{64} -> 0
another version, old digest | kuhn | is another format
    certificate 3 -> certificate 2
an entry twice | kuhn | the entries of the game
    ^(ranks.*)$ -> \1\n\1
river: another digit, old digest | river | not the one of its digest
    ^(\tcall\t\d+)(\d) -> next digit
river: hands swapped | river | wrong sums of weights
    ^(\tcall\t)(\d+)(.*) (\d+)\t -> \1\4\3 \2\t
river: lines swapped | river | must have the actions
    ^(call 150)(\t(?s:.*)\n)(50 150)\t -> \3\2\1\t
river: a line is missing | river | 'call' must have the actions
    ^call\t.*\n ->
river: a line too many | river | the file has more decisions
    \Z -> x\tcall\t0\n
river: a better value | river | value 1 is claimed to be
    ^(value 1\t)(.*)\t(.*) -> add 1e-8
river: less exploitability | river | exploitability is claimed
    ^(exploitability\t)(.*)\t(.*) -> add -1e-8
river: a better response | river | best response 0 is
    ^(best response 0\t)(.*)\t(.*) -> add 1e-8
river: a negative weight | river | are not numbers
    ^(\tcall\t)\d+ -> \1-1
river: no number | river | are not numbers
    ^(\tcall\t)\d+ -> \1nan
river: an infinite number | river | are not numbers
    ^(\tcall\t)\d+ -> \1inf
river: weights above the total | river | wrong sums of weights
    ^(\tcall\t) -> \g<1>1
river: a hand too few | river | has not one weight for each hand
    ^(call\tcall\t)\d+[ ] -> \1
river: another alphabet | river | are not numbers
    ^(call\tcall\t)\d -> \1١
river: another board | river | is claimed to be
    ^(board.*)3c -> \g<1>4c
river: a shorter board | river | damaged
    ^(board.*)\t3c -> \1
river: a board too short | river | 3 to 5 cards
    ^(board\tTd\t9d)\t.* -> \1
river: six cards on the board | river | 3 to 5 cards
    ^(board.*) -> \1\t4c
river: a fraction of a chip | river | are not numbers
    ^pot.* -> pot\t100.5
river: a card twice | river | comes twice
    ^(board\tTd)\t9d -> \1\tTd
river: a card of another deck | river | a card is unknown
    ^dead -> dead\t1x
river: a dead card | river | damaged
    ^dead -> dead\tAs
river: a unit of 0 | river | the unit is 0
    ^unit.* -> unit\t0
a tree with a unit below 0 | matrix | are not numbers
    ^unit\t -> unit\t-
a tree with a divisor below 0 | matrix | are not numbers
    ^unit.* -> unit\t1/-1
river: another pot | river | is claimed to be
    ^pot.* -> pot\t101
river: other chips | river | are not legal raises
    ^stack.* -> stack\t149
river: other sizes | river | must have the actions
    \t:50 150 -> \t:60 150
river: a line twice | river | a line is listed twice
    ^(raises.*) -> \1\t50:150
river: a bet below the smallest raise | river | are not legal raises after \('50',\)
    \t50:[^\t]* -> \t50:80 150
river: a bet above the stack | river | are not legal raises after \(\)
    \t:50 150 -> \t:50 151
river: raises in another order | river | totals fall
    \t:50 150 -> \t:150 50
river: no rake | river | is claimed to be
    ^rates.* -> rates\t1\t1\t9
river: two pots | river | pot has not one value
    ^(pot.*) -> \1\t1
river: an option that is unknown | river | the entries of the game
    ^totals -> folded\tAA\ntotals
river: another weight | river | is claimed to be
    ^(hands\D[0 ]*)[1-9]\d* -> \g<1>3
river: a weight of 0 | river | has not one weight for each hand
    ^(hands\D[0 ]*)[1-9]\d* -> \g<1>0
river: a line without raises | river | one line and its totals
    ^(raises\t.*) -> \1\tcall
river: a line that does not occur, with falling totals | river | totals fall
    ^(raises\t.*) -> \1\tcall call call:6 5
river: no word for merged | river | merged cannot be
    ^merged.* -> merged\tmaybe
turn: suits that differ | turn | strategies differ between suits
    ^((?:call )*\d+(?: \d+)*\tfold\t)(\d+)(.*\tcall\t)(?!\2 )(\d+) -> \1\4\3\2
"""  # noqa: RUF001
"""Name | solution | reason of the refusal, and below the old text -> the new text."""
FORGED = {
    name: (game, reason, re.split(" -> ?", change))
    for name, game, reason, change in re.findall(
        r"^(.+?) \| (.+?) \| (.+)\n {4}(.*)$", CHANGES, re.MULTILINE
    )
}
assert len(FORGED) == CHANGES.count(" | ") // 2


def forged(name: str) -> str:
    """Return a certificate with a change, and with its digest unless the name excludes it."""
    game, _, (old, new) = FORGED[name]

    def changed(match: re.Match[str]) -> str:
        if new == "next digit":
            return match[1] + str((int(match[2]) + 1) % 10)
        if new.startswith("add "):
            numbers = [Fraction(end) + Fraction(new[4:]) for end in match.groups()[1:]]
            return match[1] + "\t".join(map(str, numbers))
        return match.expand(new)

    title, rest = certificate(game).split("\n", 1)
    is_signed = not name.endswith("old digest")
    text = rest if is_signed else f"{title}\n{rest}"
    text, count = re.subn(old, changed, text, count=1, flags=re.MULTILINE)
    assert count == 1
    return signed(text) if is_signed else text


@pytest.mark.parametrize("name", FORGED)
def test_forged_certificates_are_refused(name: str) -> None:
    game, reason, _ = FORGED[name]
    checker.check(certificate(game))
    with pytest.raises(CertificateError, match=reason):
        checker.check(forged(name))


ENDS = "end 1 -1, end 1 -1"
TREES = {
    "chance is forgotten": (
        "chance 1 1, infoset 0 x l r, x l 2 r 0, infoset 0 y l r, y l 2 r 0, "
        f"{ENDS}, end 1 -1, infoset 0 z l r, z l 2 r 0, infoset 0 y l r, {ENDS}, end 1 -1",
        "'y' has imperfect",
    ),
    "an infoset comes twice": (
        f"infoset 0 x l r, x l 2 r 0, infoset 0 x l r, {ENDS}, end 1 -1",
        "'x' has imperfect recall",
    ),
    "two players share an infoset": (
        f"chance 1 1, infoset 0 x l r, x l 2 r 0, {ENDS}, infoset 1 x l r, {ENDS}",
        "'x' has imperfect recall",
    ),
    "chance is not certain": (f"chance 1 2, {ENDS}", "chance has other weights"),
    "chance is negative": (f"chance 3 -1, {ENDS}", "are not numbers"),
    "a payoff too few": ("infoset 0 x l r, x l 2 r 0, end 1, end 1 -1", "not one payoff for each"),
    "a fraction of a unit": ("chance 1 1, end 1/2 -1/2, end 1 -1", "are not numbers"),
    "a node of another kind": (
        "infoset 0 x l r, x l 2 r 0, deal, end 1 -1",
        "'deal' is not a node",
    ),
    "a player too many": (f"infoset 2 x l r, x l 2 r 0, {ENDS}", "2 is not a player"),
    "a negative player": (f"infoset -1 x l r, x l 2 r 0, {ENDS}", "are not numbers"),
    "two actions of one name": (f"infoset 0 x l l, x l 2 l 0, {ENDS}", "an action twice"),
    "no weights of an action": (f"infoset 0 x l r, x l 2 r, {ENDS}", "not one weight for each"),
}
"""Lines of trees, and the reason of the refusal."""


def of_a_tree(name: str) -> str:
    lines = TREES[name][0].replace(" ", "\t").replace(",\t", "\n")
    head = "game\ttree\nplayers\t2\nunit\t1\ntotals\t2\t2\t2\n\n"
    return signed(f"{head}{certificate('matrix').split(chr(10) * 2)[1]}\n\n{lines}\n")


@pytest.mark.parametrize("name", TREES)
def test_trees_whose_sums_would_be_wrong_are_refused(name: str) -> None:
    """The second checker found that most of these were accepted."""
    with pytest.raises(CertificateError, match=TREES[name][1]):
        checker.check(of_a_tree(name))


@pytest.mark.full
@pytest.mark.parametrize("name", [*FORGED, *TREES])
def test_the_second_checker_refuses_them_too(
    name: str, tmp_path: Path, second_checker: Path
) -> None:
    path = tmp_path / "forged.cert"
    path.write_text(forged(name) if name in FORGED else of_a_tree(name), "utf-8")
    run = subprocess.run([second_checker, path], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("refused: ")


def test_deep_trees_take_memory_by_their_size() -> None:
    """The past of all open nodes would take 16 MB: 2,000 x 2,000 / 2 words of 8 bytes."""
    levels = range(2000)
    tree = [f"infoset 0 {k} go end\n{k} go 1 end 0" for k in levels]
    tree += ["end 2 -2", *("end 0 0" for _ in levels)]
    head = "game tree\nplayers 2\nunit 1\ntotals 1 1 1"
    claims = "exploitability 0 0\n" + "\n".join(
        f"{name}_{player} {worth} {worth}"
        for player, worth in enumerate((2, -2))
        for name in ("value", "best_response")
    )
    lines = "\n\n".join((head, claims, "\n".join((*tree, ""))))
    text = signed(lines.replace(" ", "\t").replace("_", " "))
    tracemalloc.start()
    proven = checker.check(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert proven["value 0"] == 2
    assert peak < 10e6


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
        text = solution.certify(tmp_path / "a", force=True).read_text()
        assert game_of(text) == "tree"


def test_resolved_strategies() -> None:
    """A strategy that was resolved after a line is proven by the rules."""
    one = solved("leduc, not merged")
    policy = resolve(one.game, one.policy, "call", player=0, iters=5).policy
    text, found = certificate_of(policy), evaluate(one.game, policy)
    assert game_of(text) == "leduc"
    number = float(checker.check(text)["exploitability"])
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
    assert game_of(tree) == "tree"
    by_tree, proven = checker.check(tree), checker.check(certificate(name))
    size = float(np.ptp(solution.game.utilities))
    for key, number in proven.items():
        assert float(by_tree[key] - number) == pytest.approx(0, abs=1e-14 * size)


@pytest.mark.parametrize("name", ["holdem", "short_deck"])
def test_the_checker_ranks_hands_as_the_library(name: str) -> None:
    """All pairs of 2,400 hands compare alike; small decks have all categories."""
    library = {"holdem": Holdem, "short_deck": ShortDeck}[name]
    make, _, fixed = checker.RULES[name]
    one = "1" + " 0" * (comb(47 if name == "holdem" else 31, 2) - 1)
    rules = make(board=["Td", "9d", "6h", "Qd", "Kc"], hands=[one, one[::-1]], **fixed)
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
    [listed] = re.findall(r"^raises\t?(.*)$", text, re.MULTILINE)
    raises = dict(line.split(":") for line in listed.split("\t") if line)
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
