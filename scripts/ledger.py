"""Record the bits that the solvers compute, and compare them with an earlier record.

    python -m scripts.ledger write           solve the corpus and write tests/data/ledger.json
    python -m scripts.ledger compare         solve it again; exit 1 if a case differs
    python -m scripts.ledger write FILE --only 'kuhn |'      another file, and some cases

A case is a game, an algorithm, a precision and a number of threads.  Its record has a digest of the
solver state, the average strategy, the last strategies and the evaluation, and the values and the
exploitability as numbers.  A change of words or structure leaves all records as they are.  A change
of an algorithm writes them anew, and the diff of the file shows which cases it touches.

Bits depend on the vector instructions of the processor, and on the versions of Python, numpy and
numba.  The file therefore names the machine that wrote it.  On another machine, digests are not
compared; values and exploitability are, to the digits of :data:`DIGITS`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np

from tensorcfr import (
    ALGORITHMS,
    Algorithm,
    best_response,
    compile_game,
    resolve,
    solve,
    team_game,
)
from tensorcfr.errors import MissingExtraError
from tensorcfr.games import make_game
from tensorcfr.games.holdem import Holdem
from tensorcfr.games.omaha import Omaha

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support.card_games import RandomCards  # noqa: E402
from support.random_games import random_game, random_public_tree_game  # noqa: E402
from support.ways import Matching  # noqa: E402

LEDGER = ROOT / "tests" / "data" / "ledger.json"
ABSENT = {"lp", "deep-cfr", "sd-cfr", "dream"}
"""Algorithms whose bits another library determines: HiGHS, JAX."""
VARIANTS = {name for name, record in ALGORITHMS.items() if isinstance(record, Algorithm)}
ITERATIONS = {"cfr-d": 2, "egt": 20, "mmd-agent": 20, "efce": 8, "efcce": 8}
"""Iterations where they are neither 12 nor, for sampling, 200."""
DIGITS = {"float64": 1e-6, "float32": 1e-3, "int16": 0.05}
"""Relative difference that values and exploitability may have on another machine, by precision."""


def river() -> Any:
    """Return a river of hold'em with narrow ranges."""
    return Holdem(
        board="Td9d6hQd3c",
        ranges=("AhAs,KdKc", "QsQh,8h8s,JsTs"),
        pot=100,
        stacks=150,
        bets={"river": "50%"},
        raises="a",
    )


def turn() -> Any:
    """Return a turn of hold'em with narrow ranges."""
    return Holdem(
        board="Td9d6hQd",
        ranges=("AhAs,KdKc", "QsQh,8h8s"),
        pot=100,
        stacks=150,
        bets={"turn": "", "river": "a"},
    )


def omaha() -> Any:
    """Return a river of Omaha with narrow ranges."""
    return Omaha(
        board="Td9d6hQd3c",
        ranges=("AhAsKdKc,JsTs9s8s", "QsQh8h8s,KhJhTh9h"),
        pot=100,
        stacks=150,
        bets={"river": "50%"},
    )


GAMES: dict[str, Callable[[], Any]] = {
    "kuhn": lambda: compile_game("kuhn"),
    "kuhn, 3 players": lambda: compile_game("kuhn(players=3)"),
    "kuhn, teams": lambda: team_game(compile_game("kuhn(players=3)"), ((0, 1), (2,))),
    "leduc": lambda: compile_game("leduc"),
    "leduc, whole": lambda: compile_game("leduc", symmetry=False),
    "leduc, cut": lambda: compile_game("leduc", cut=1),
    "nl_leduc": lambda: compile_game("nl_leduc(stack=2)"),
    "nl_leduc, cut twice": lambda: compile_game("nl_leduc(stack=2)", cut=(1, 2)),
    "liars_dice": lambda: compile_game("liars_dice(faces=3)"),
    "bluff, cut": lambda: compile_game("bluff(dice=(1, 1), faces=3)", cut=1),
    "goofspiel": lambda: compile_game("goofspiel(cards=3)"),
    "prisoners_dilemma": lambda: compile_game("prisoners_dilemma"),
    "own rules": lambda: compile_game(Matching()),
    "random histories": lambda: compile_game(random_game(1)),
    "random hands": lambda: compile_game(
        random_public_tree_game(1, zero_sum=True, max_hands=4, max_nodes=40, max_depth=5)
    ),
    "random cards": lambda: compile_game(
        RandomCards(22, cards=6, width=2, rounds=1, public=0, zero_sum=True)
    ),
    "river": lambda: compile_game(river()),
    "turn": lambda: compile_game(turn()),
    "turn, cut": lambda: compile_game(turn(), cut=1),
    "omaha": lambda: compile_game(omaha()),
}
"""The corpus."""
USUAL = ("float64", 1)
SETTINGS = (USUAL, ("float32", 1), ("int16", 1), ("float64", 2))
"""Precision and threads."""
IN_ALL_SETTINGS = {"cfr", "cfr+", "dcfr", "hedge", "mmd", "paced-cfr+"}
"""Variants of CFR that are solved in all settings; others in the first."""
CUT = {"leduc, cut", "nl_leduc, cut twice", "bluff, cut", "kuhn, teams"}
IN_CUT_GAMES = {"cfr+": SETTINGS, "dcfr": (USUAL,), "mmd": (USUAL,), "paced-cfr+": (USUAL,)}
"""Variants that are solved there, and their settings: each kernel takes a minute to compile."""
CARDS = {"random cards", "river", "turn", "turn, cut", "omaha"}
IN_CARD_GAMES = {"cfr+": (USUAL, ("float64", 2)), "dcfr": (("float32", 1),)}
"""Corpus of card games, which have kernels of their own."""


def settings(game: str, algorithm: str) -> tuple[tuple[str, int], ...]:
    """Return the precisions and threads in which an algorithm solves a game of the corpus."""
    if algorithm in ABSENT:
        return ()
    if algorithm in VARIANTS and game in CUT:
        return IN_CUT_GAMES.get(algorithm, ())
    if algorithm in VARIANTS and game in CARDS:
        return IN_CARD_GAMES.get(algorithm, ())
    return SETTINGS if algorithm in IN_ALL_SETTINGS else (USUAL,)


def numbers_in(value: Any) -> Iterator[bytes]:
    """Yield the bytes of all arrays, numbers and texts in a nest of tuples and mappings."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from numbers_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key).encode()
            yield from numbers_in(item)
    elif isinstance(value, float):
        yield value.hex().encode()
    else:
        assert value is None or isinstance(value, (bool, int, str, np.generic)), type(value)
        yield str(value).encode()


def digest(value: Any) -> str:
    """Return the first half of the SHA-256 of :func:`numbers_in`."""
    return hashlib.sha256(b"\0".join(numbers_in(value))).hexdigest()[:32]


def record(solution: Any) -> dict[str, Any]:
    """Return the record of a solution."""
    found = solution.evaluation
    return {
        "state": digest(solution.state),
        "average": digest(dict(solution.policy)),
        "last": digest(dict(solution.last_policy)),
        "evaluation": digest((found.values, found.best_responses, found.exploitability)),
        "numbers": [*found.values, found.exploitability],
    }


def solved(game: Any, name: str, precision: str, threads: int, **more: Any) -> dict[str, Any]:
    """Return the record of a solve, or the class of the error by which it is refused."""
    sampling = "sampling" in name
    options: dict[str, Any] = {"seed": 7} if sampling else {}
    options |= {"precision": precision, "threads": threads, "checkpoints": ()} | more
    iters = ITERATIONS.get(name, 200 if sampling else 12)
    try:
        return record(solve(game, name, iters=iters, **options))
    except MissingExtraError:
        raise
    except (ValueError, TypeError) as error:
        return {"refused": type(error).__name__}


def others() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return cases of another kind than a solve of a compiled game by a named algorithm."""
    game = cache(lambda name: GAMES[name]())

    def half() -> Any:
        return solve(game("leduc"), "cfr+", iters=6, checkpoints=())

    def response() -> Any:
        return best_response(game("leduc"), half().policy, 0)

    def resolved() -> Any:
        policy = solve(game("kuhn"), "cfr+", iters=6).policy
        return resolve(game("kuhn"), policy, "bet", player=1, algorithm="cfr+", iters=6)

    return {
        "default": lambda: record(solve(game("leduc"), iters=12)),
        "default, cards": lambda: record(solve(game("turn"), iters=12)),
        "resumed": lambda: record(solve(game("leduc"), start=half(), iters=6)),
        "warm start": lambda: record(
            solve(game("leduc"), "dcfr", warm_start=half().policy, iters=6)
        ),
        "locks": lambda: record(solve(game("kuhn"), "cfr+", iters=12, locks={"K": {"bet": 1}})),
        "best response": lambda: {"policy": digest(dict(response().policy))},
        "resolved": lambda: {"policy": digest(dict(resolved().policy))},
        "rules, outcomes": lambda: solved(make_game("kuhn"), "outcome_sampling", "float64", 1),
        "rules, external": lambda: solved(make_game("leduc"), "external_sampling", "float64", 1),
    }


def cases(only: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Solve the corpus; yield the name and the record of each case."""
    for name, make in GAMES.items():
        wanted = [
            (f"{name} | {algorithm} | {precision} | {threads}", algorithm, precision, threads)
            for algorithm in sorted(ALGORITHMS)
            for precision, threads in settings(name, algorithm)
        ]
        wanted = [one for one in wanted if only in one[0]]
        game = make() if wanted else None
        for case, *setting in wanted:
            yield case, solved(game, *setting)
    for name, made in others().items():
        if only in name:
            yield name, made()


def this_machine() -> dict[str, str]:
    """Return all that the bits may depend on."""
    features = numba.config.CPU_FEATURES or llvm.get_host_cpu_features().flatten()
    return {
        "system": f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        "processor": numba.config.CPU_NAME or llvm.get_host_cpu_name(),
        "features": hashlib.sha256(features.encode()).hexdigest()[:16],
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "numba": f"{numba.__version__}, llvmlite {llvmlite.__version__}",
    }


def difference(case: str, old: dict[str, Any], new: dict[str, Any], *, exact: bool) -> str:
    """Return in which parts two records of a case differ; empty if they do not."""
    if exact or old.keys() != new.keys() or "refused" in old:
        told = [{key: json.dumps(part) for key, part in made.items()} for made in (old, new)]
        return ", ".join(sorted(k for k in {*old, *new} if told[0].get(k) != told[1].get(k)))
    tolerance = next((DIGITS[one] for one in DIGITS if f"| {one} |" in case), DIGITS["float64"])
    near = all(
        math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance) or one != one
        for one, other in zip(old.get("numbers", ()), new.get("numbers", ()), strict=True)
    )
    return "" if near else f"numbers beyond {tolerance:g}"


def compare(path: Path, only: str) -> int:
    """Solve the corpus again, print the differences to a file, and return the number of cases that
    differ."""
    written = json.loads(path.read_text(encoding="utf-8"))
    before, here = written["machine"], this_machine()
    exact = before == here
    if not exact:
        other = {key: (before.get(key), here[key]) for key in here if before.get(key) != here[key]}
        print(f"written on another machine ({other}): only numbers are compared, not bits")
    left, count, wrong = {c: r for c, r in written["cases"].items() if only in c}, 0, 0
    for case, new in cases(only):
        old = left.pop(case, {})
        count += 1
        if parts := difference(case, old, new, exact=exact):
            wrong += 1
            print(f"{case}: {parts}" if old else f"{case}: not in the file")
    for case in left:
        print(f"{case}: no longer solved")
    print(f"{count} cases, {wrong} differ, {len(left)} are missing")
    return wrong + len(left)


def write(path: Path, only: str) -> None:
    """Write the records of all cases, one line each."""
    lines = [f"  {json.dumps(case)}: {json.dumps(made)}" for case, made in cases(only)]
    text = ",\n".join(lines)
    path.write_text(
        f'{{\n"machine": {json.dumps(this_machine())},\n"cases": {{\n{text}\n}}\n}}\n',
        encoding="utf-8",
    )
    print(f"{path}: {len(lines)} cases")


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path, nargs="?", default=LEDGER)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.action == "write":
        write(given.file, given.only)
        return 0
    return 1 if compare(given.file, given.only) else 0


if __name__ == "__main__":
    raise SystemExit(main())
