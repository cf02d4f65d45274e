"""Functions and commands with a limit in bytes, and their limits, for ``scripts.memory_told``.

A function that prepares work makes a compiled game or a file, and returns the work to be done
within a limit.  Work without a ``memory_limit`` of its own is limited by the free memory, which
``ulimit -v`` makes small.
"""

from __future__ import annotations

import io
import json
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._common import process_bytes
from tensorcfr import (
    Policy,
    Solution,
    compile_game,
    evaluate,
    load_game,
    save_game,
    solve,
)
from tensorcfr._util.memory_budget import SHARE
from tensorcfr.analysis import values
from tensorcfr.storage.archive import digest_of
from tensorcfr.storage.recipes import KEY

Work = Callable[[int], Any]
"""Work within a limit in bytes."""
SMALL_SPOT: dict[str, Any] = {
    "board": "Td9d6hQc",
    "ranges": ("AA,KK", "QQ,JJ"),
    **{"pot": 55, "stacks": 100, "bets": "50%"},
}
FLOP: dict[str, Any] = {
    "board": "Ks8h3d",
    "ranges": ("99+,AJs+", "88-TT,AQs+,KQs"),
    **{"pot": 60, "stacks": 150, "bets": "40%,a"},
}
TURN: dict[str, Any] = {
    "board": "Ah7c2s5h",
    "ranges": ("22+,A2s+,K8s+,Q9s+,ATo+,KQo", "22+,A2s+,K5s+,Q8s+,J8s+,A8o+"),
    **{"pot": 20, "stacks": 190, "bets": "33%,75%", "raises": "60%"},
}
SMALL_POKER = "nolimit_poker(stacks=4, ranks='JQKA', suits=2, hand=1, deals=(1, 1))"
THREE_SIZES = {"bets": "33%,75%,a"}
WIDE_FLOP = TURN | {"board": FLOP["board"]}


def compiling(source: str, options: dict[str, Any], small: str, folder: Path) -> Work:
    """Compile a game; another of its kind has been compiled before."""
    compile_game(small, **({**options, "cut": 1} if options.get("cut") else options))
    return lambda limit: compile_game(source, memory_limit=limit, **options)


def compiling_spot(spot: dict[str, Any], cut: bool, folder: Path) -> Work:
    """Compile a spot of hold'em."""
    options: dict[str, Any] = {} if cut else {"cut": False}
    compile_game("holdem", **SMALL_SPOT, **options)
    return lambda limit: compile_game("holdem", memory_limit=limit, **options, **spot)


def loading_name(name: str, folder: Path) -> Work:
    """Read a file of a kilobyte that names a large game, with a digest of its own."""
    save_game(compile_game("leduc", cut=3), folder / "cut.npz")
    load_game(folder / "cut.npz")
    arrays = dict(np.load(folder / "cut.npz"))
    said = json.loads(arrays[KEY].tobytes()) | {"source": name}
    # Files of older versions do not say how large the game is.
    said.pop("counts", None)
    arrays[KEY] = np.frombuffer(json.dumps(said).encode(), dtype=np.uint8)
    del arrays["digest"]
    arrays["digest"] = digest_of(arrays)
    file = io.BytesIO()
    np.savez(file, **arrays)

    def load(limit: int) -> Any:
        file.seek(0)
        return load_game(file, memory_limit=limit)

    return load


def loading_game(name: str, folder: Path) -> Work:
    """Read the file of a game in one piece."""
    save_game(compile_game(name, cut=False), folder / "game.npz")
    save_game(compile_game("kuhn"), folder / "kuhn.npz")
    load_game(folder / "kuhn.npz")
    return lambda limit: load_game(folder / "game.npz", memory_limit=limit)


def loading_solution(name: str, folder: Path) -> Work:
    """Read the file of a solution of a game in chunks."""
    solve(compile_game(name, cut=True), "cfr+", iters=1).save(folder / "at.npz")
    solve(compile_game("leduc", cut=3), "cfr+", iters=1).save(folder / "leduc.npz")
    Solution.load(folder / "leduc.npz")
    return lambda limit: Solution.load(folder / "at.npz", memory_limit=limit)


def solving(
    source: str | dict[str, Any], algorithm: str, options: dict[str, Any], folder: Path
) -> Work:
    """Solve a compiled game, whose kernels are compiled."""
    if isinstance(source, dict):
        game, small = (compile_game("holdem", **spot) for spot in (source, SMALL_SPOT))
    elif algorithm == "cfr+":
        game, small = compile_game(source, cut=True), compile_game("leduc", cut=3)
    else:
        game, small = (compile_game(name, cut=False) for name in (source, "leduc"))
    if algorithm != "lp":  # It is exact at once.
        options = {"iters": 1, **options}
    solve(small, algorithm, **options)
    return lambda limit: solve(game, algorithm, memory_limit=limit, **options)


def solving_rules(source: str, algorithm: str, folder: Path) -> Work:
    """Solve by the rules, for at most a minute."""
    solve("kuhn", algorithm, iters=2)
    if source.startswith("openspiel:"):
        solve("openspiel:kuhn_poker", algorithm, iters=2)
    return lambda limit: solve(
        source, algorithm, iters=10**7, time_limit=60.0, memory_limit=limit, checkpoints=()
    )


def evaluating(look: Callable[[Any, Policy], Any], name: str, folder: Path) -> Work:
    """Read a policy of a game in one piece while little memory is free."""
    small = compile_game("leduc", cut=False)
    look(small, Policy.uniform(small))
    game = compile_game(name, cut=False)
    policy = Policy.uniform(game)
    return partial(_where_little_is_free, lambda: look(game, policy))


def laying_out(spot: dict[str, Any], folder: Path) -> Work:
    """Lay out a game in chunks."""
    compile_game("holdem", **SMALL_SPOT).flat()
    game = compile_game("holdem", **spot)
    return lambda limit: game.flat(limit)


def _where_little_is_free(work: Callable[[], Any], limit: int) -> Any:
    allowed = process_bytes("VmSize") + round(limit / SHARE)
    resource.setrlimit(resource.RLIMIT_AS, (allowed,) * 2)
    return work()


class Door(NamedTuple):
    """A limit that must hold."""

    what: str
    """The door and its work."""
    mebibytes: int
    """The limit."""
    prepare: Callable[[Path], Work]
    """Makes the work; gets a folder for files."""
    fits: bool = False
    """True if the limit is just large enough."""


HEARTS, CHESS = "openspiel:hearts", "openspiel:chess"
BLUFF = "bluff(dice=(2,1), faces=7)"
SIZES = FLOP | THREE_SIZES
INT16 = {"precision": "int16"}
BELOW: tuple[tuple[Any, ...], ...] = (
    ("compile, histories", 60, compiling, "goofspiel(cards=6)", {}, "kuhn"),
    *(
        (f"compile, {name} in one piece", size, compiling, game, {"cut": False}, "leduc")
        for name, size, game in (
            ("a public tree", 100, "liars_dice(faces=9)"),
            ("betting", 60, "nl_leduc(stack=16)"),
        )
    ),
    ("compile, many hands", 102, compiling, "kuhn(cards=3000)", {}, "leduc"),
    ("compile, cut, 4 and 4 dice", 200, compiling, "bluff(dice=(4,4))", {"cut": True}, "leduc"),
    ("compile, cut by hand", 40, compiling, "bluff(dice=(2,2))", {"cut": 20}, "leduc"),
    ("compile, a flop", 7, compiling_spot, SIZES, True),
    ("compile, a flop of many hands", 30, compiling_spot, WIDE_FLOP, True),
    ("compile, push or fold", 90, compiling, "push_or_fold", {}, SMALL_POKER),
    ("compile, a turn in one piece", 200, compiling_spot, TURN, False),
    ("lay out a turn", 200, laying_out, TURN),
    ("load a name, many hands", 200, loading_name, "kuhn(cards=10000)"),
    ("load a name, 4 and 4 dice", 200, loading_name, "bluff(dice=(4,4))"),
    ("load a game", 50, loading_game, "liars_dice(faces=9)"),
    ("load a solution", 100, loading_solution, BLUFF),
    ("solve in chunks", 80, solving, BLUFF, "cfr+", {}),
    ("solve a flop in 16 bits", 60, solving, FLOP, "dcfr", INT16),
    ("solve in one piece", 300, solving, BLUFF, "hedge", {}),
    ("sample", 140, solving, "nl_leduc", "external_sampling", {}),
    ("linear program", 100, solving, "liars_dice", "lp", {}),
    ("solve rules, hearts", 200, solving_rules, HEARTS, "external_sampling"),
    ("solve rules, chess", 200, solving_rules, CHESS, "outcome_sampling"),
    ("solve rules, goofspiel", 100, solving_rules, "goofspiel(cards=8)", "outcome_sampling"),
    ("evaluate where little is free", 64, evaluating, evaluate, "liars_dice(faces=9)"),
    ("values where little is free", 64, evaluating, values, "liars_dice(faces=9)"),
)
"""Limits below the needs of the work: name, MiB, function that prepares the work, and its
arguments."""
ENOUGH = {
    "compile, a flop": 10,
    "compile, push or fold": 125,
    "solve in chunks": 108,
    "solve a flop in 16 bits": 79,
}
"""MiB that are enough, by a little."""


def doors() -> list[Door]:
    """Return a limit at every door, and behind it the one that is enough."""
    found = []
    for what, mebibytes, prepare, *given in BELOW:
        found.append(Door(what, mebibytes, partial(prepare, *given)))
        if what in ENOUGH:
            door = Door(f"{what}, just enough", ENOUGH[what], partial(prepare, *given), fits=True)
            found.append(door)
    return found


DOORS = doors()
