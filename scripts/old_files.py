"""Write files of this version, which later versions must read: for each release, once.

    python -m scripts.old_files tests/data/old_files

One archive, ``VERSION.zip``, holds a solution by every algorithm, a solution of every layout and
kind of game, and games and policies.  ``recorded.json`` in it has the numbers of each, and those
after two more iterations, which ``tests/storage/test_old_files.py`` compares.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorcfr
from tensorcfr import Solution, compile_game, save_game, solve, team_game
from tensorcfr.algorithms import ALGORITHMS
from tensorcfr.errors import MissingExtraError
from tensorcfr.formats import save_policy

ITERATIONS, MORE = 5, 2
RECORDED = "recorded.json"
HANDS = ("AhAs,KdKc", "QsQh,8h8s,JsTs")
TURN: dict[str, Any] = {"board": "Td9d6hQd", "ranges": HANDS, "pot": 100, "stacks": 150}
RIVER = TURN | {"board": "Td9d6hQd3c"}
FOUR_CARDS = ("AhAsKdKc,QsQh8h8s", "JsTsJhTh,7h7s5d5c")
POKER = {"stacks": 4, "ranks": "JQKA", "suits": 2, "hand": 1, "deals": (1, 1), "bets": "a"}
SMALL: dict[str, Any] = {"iters": ITERATIONS, "checkpoints": (1, ITERATIONS)}
TABLES = {"learner": "table", "traversals": 10, "buffer": 50, "updates": 2, "batch": 5}
OPTIONS: dict[str, dict[str, Any]] = {
    "cfr-d": {"cut": 1, "subgame_iterations": 4, "resolve_iterations": 6},
    **dict.fromkeys(("deep-cfr", "sd-cfr", "dream"), TABLES),
}
"""Options of algorithms whose defaults would take long."""
WITHOUT_RULES = ("outcome_sampling", "external_sampling")


def solutions() -> Iterator[tuple[str, Solution]]:
    """Solve by every algorithm, then by every layout, precision and kind of game."""
    kuhn, leduc = compile_game("kuhn"), compile_game("leduc", ranks=2)
    for name, record in ALGORITHMS.items():
        with_options: Any = record
        limits = {} if record.is_exact else SMALL | ({"seed": 1} if record.is_sampled else {})
        try:
            yield f"by {name}", solve(kuhn, with_options(**OPTIONS.get(name, {})), **limits)
        except MissingExtraError as error:
            print(f"without {name}: {error}", file=sys.stderr)
    for name in WITHOUT_RULES:
        yield f"rules {name}", solve("kuhn", name, iters=30, seed=1, checkpoints=(30,))
    yield "merged", solve(leduc, **SMALL)
    yield "float32", solve(leduc, "cfr+", precision="float32", **SMALL)
    yield "best", solve(kuhn, "cfr+", keep_best=True, **SMALL)
    yield "locks", solve(kuhn, "cfr+", locks={"K": {"bet": 0.5}}, **SMALL)
    yield "three players", solve(compile_game("kuhn", players=3), "pcfr+", **SMALL)
    teams = team_game(compile_game("kuhn", players=3), ((0, 1), (2,)))
    yield "teams", solve(teams, "cfr+", **SMALL)
    for name, cut in (("chunks", 1), ("chunks below chunks", (2, 4))):
        game = compile_game("leduc", ranks=2, cut=cut)
        for precision in ("float64", "float32", "int16"):
            yield f"{name} {precision}", solve(game, "cfr+", precision=precision, **SMALL)
        yield f"{name} default", solve(game, **SMALL)
    for name, game in spots():
        yield name, solve(game, **SMALL)
        if game.chunks.n_chunks:
            yield f"{name} int16", solve(game, "dcfr", precision="int16", **SMALL)


def spots() -> Iterator[tuple[str, Any]]:
    """Compile small games of cards."""
    yield "turn", compile_game("holdem", bets="a", **TURN)
    yield "river", compile_game("holdem", bets="50%", raises="a", **RIVER)
    yield "folded", compile_game("holdem", bets="a", folded=("22+",), **TURN)
    yield "dead", compile_game("holdem", bets="a", dead="2c2d", **TURN)
    yield "short deck", compile_game("short_deck", bets="a", **TURN)
    yield "omaha", compile_game("omaha", bets="a", **RIVER | {"ranges": FOUR_CARDS})
    yield "from the first card", compile_game("nolimit_poker", raises="a", **POKER, cut=1)


def games() -> Iterator[tuple[str, Any]]:
    """Compile games of every kind of history, tree and payoffs."""
    yield "kuhn", compile_game("kuhn")
    yield "dice", compile_game("liars_dice", faces=2)
    yield "three players", compile_game("kuhn", players=3)
    yield "histories", compile_game("goofspiel", cards=2)
    yield "matrix", compile_game("matching_pennies")
    yield "large payoffs", compile_game("matrix", payoffs=[[1e300, -1e300], [-1e300, 1e300]])
    yield "chunks", compile_game("leduc", ranks=2, cut=1)
    yield "river", compile_game("holdem", bets="50%", raises="a", **RIVER)


def numbers_of(solution: Solution) -> dict[str, Any]:
    """Return the numbers of a solution, as JSON takes them."""
    known = solution.is_evaluated
    return {
        "algorithm": str(solution.algorithm),
        "iterations": solution.iterations,
        "value": list(solution.value) if known else None,
        "exploitability": solution.exploitability if known else None,
    }


def write(folder: Path) -> Path:
    """Write the archive of this version."""
    recorded: dict[str, dict[str, Any]] = {"solutions": {}, "games": {}, "policies": {}}
    path = folder / f"{tensorcfr.__version__}.zip"
    with (
        tempfile.TemporaryDirectory() as made,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for name, solution in solutions():
            file = solution.save(Path(made) / f"solution {name}.npz")
            numbers = numbers_of(solution)
            if not solution.algorithm.is_exact:
                numbers["later"] = numbers_of(solve(solution.game, start=solution, iters=MORE))
            recorded["solutions"][file.name] = numbers
        for name, game in games():
            file = save_game(game, Path(made) / f"game {name}.npz")
            recorded["games"][file.name] = {"name": game.name, "histories": game.n_histories}
        solution = solve(compile_game("kuhn"), "cfr+", **SMALL)
        for suffix in ("csv", "json", "npz", "parquet"):
            file = Path(made) / f"policy.{suffix}"
            save_policy(solution.policy, file)
            recorded["policies"][file.name] = numbers_of(solution)
        for file in sorted(Path(made).iterdir()):
            # The date of a member would make every archive another one.
            archive.writestr(zipfile.ZipInfo(file.name), file.read_bytes(), zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo(RECORDED), json.dumps(recorded, indent=1))
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    written = write(parser.parse_args().folder)
    print(f"{written}: {written.stat().st_size:,} bytes")
