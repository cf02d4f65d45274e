"""Readers of the files that ``scripts.fuzz_files`` damages, and conditions that every value read
must meet."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ._fuzzing import DefectError
from ._sound_files import ARCHIVES, POLICIES, SPOT_OF_BOARDS, TEXTS_OF_BOARDS

OF_OTHERS = ("script", "tree", "hand")
"""The loaders of spots of other programs."""
USAGE = 2
"""The exit status of a command that refuses its arguments."""
READ_LIMIT = 256 << 20
"""Bytes that reading an archive may take: each sound one takes far less."""


def read(kind: str, content: bytes, folder: Path, known: Any = None) -> Any:
    """Read an input as its kind is read; ``folder`` is for loaders that take paths alone, ``known``
    the game where the caller has it."""
    from tensorcfr import Solution, load_game
    from tensorcfr.solvers.solution_file import read_header
    from tensorcfr.storage.archive import parse_header
    from tensorcfr.sweep.sweep_table import parse_table

    if kind in ("game", "cut"):
        return load_game(io.BytesIO(content), memory_limit=READ_LIMIT)
    if kind in ("solution", "rules", "chunks"):
        return Solution.load(io.BytesIO(content), memory_limit=READ_LIMIT)
    if kind == "resume" and len(content) % 16:
        # Mapped files cost far more time than reading; some of the inputs go into a folder.
        return Solution.load(io.BytesIO(content), game=known, memory_limit=READ_LIMIT)
    if kind in ("checkpoint", "resume"):
        # A folder in which killed processes have left files.
        state = folder / "state"
        state.mkdir(exist_ok=True)
        (state / "start.lock").write_bytes(content[-64:])
        (state / "start-1-0.bin").write_bytes(content[:64])
        return Solution.load(
            io.BytesIO(content), game=known, memory_limit=READ_LIMIT, state_dir=state
        )
    if kind == "table":
        return list(parse_table(content, "table"))
    if kind in READ_FROM_PATHS:
        path = folder / f"input.{ENDINGS.get(kind, kind)}"
        path.write_bytes(content)
        return READ_FROM_PATHS[kind](path)
    import numpy as np

    header = parse_header(np.frombuffer(content, np.uint8), "header")
    values = header.get("values")
    return read_header(header, 3 if isinstance(values, list) and len(values) == 3 else 2)


def read_rules(path: Path) -> Any:
    """Return the compiled game of a text."""
    from tensorcfr import compile_game

    return compile_game(path)


def read_kuhn_policy(path: Path) -> Any:
    """Return a policy of Kuhn poker from a text."""
    from tensorcfr.formats import read_policy

    return read_policy(kuhn(), path)


def read_spot(path: Path) -> Any:
    """Read a spot of hold'em."""
    from tensorcfr.formats import read_spot

    return read_spot(path)


def read_other_spot(path: Path) -> Any:
    """Read the options of a spot of another program."""
    from tensorcfr.formats import read_spot_options

    return read_spot_options(path)


def read_settings(path: Path) -> Any:
    """Run a command with a file of settings, and return its output."""
    from typer.testing import CliRunner

    from tensorcfr.cli.app import app

    said = CliRunner().invoke(app, ["--settings", str(path), "size", "kuhn"])
    if said.exit_code == USAGE:
        raise ValueError(said.output)
    if said.exit_code:
        raise DefectError(f"exit status {said.exit_code}: {said.output}") from said.exception
    return said.output


def read_boards(path: Path) -> Any:
    """Read the rows of a report on boards."""
    from tensorcfr.analysis.board_reports import _read_table

    return _read_table(path, SPOT_OF_BOARDS, 1)


@cache
def kuhn() -> Any:
    """Return the game of all policies."""
    from tensorcfr import compile_game

    return compile_game("kuhn")


READ_FROM_PATHS: dict[str, Callable[[Path], Any]] = {
    "efg": read_rules,
    "nfg": read_rules,
    "spot": read_spot,
    "boards": read_boards,
    **dict.fromkeys(OF_OTHERS, read_other_spot),
    "settings": read_settings,
    **dict.fromkeys(POLICIES, read_kuhn_policy),
}
ENDINGS = {
    **{"spot": "toml", "boards": "csv", "script": "txt", "tree": "json", "hand": "phh"},
    "settings": "toml",
}
"""Endings of the files of kinds that are not called so."""

NAMED = {
    **dict.fromkeys(ARCHIVES, "the file"),
    **{"header": "", "table": "table", "efg": "", "nfg": "", "settings": ""},
}
"""Subject of errors without a path, by kind of file.  The reader of a header names the file itself.
The compiler refuses a game of Gambit that breaks a rule, and names the history.  A bad value in a
file of settings is refused under the name of the option."""


def fingerprint(found: Any) -> Any:
    """Return all values that were read, in a form that can be compared."""
    from tensorcfr import CompiledGame, Policy, Solution
    from tensorcfr.games.holdem import Holdem
    from tensorcfr.solvers.solution_file import pack_solution
    from tensorcfr.storage.archive import digest_of, pack_header
    from tensorcfr.storage.game_files import pack_game

    if isinstance(found, Policy):
        return found.probabilities.tobytes()
    if isinstance(found, Holdem):
        return found.options
    if isinstance(found, CompiledGame):
        return digest_of(pack_game(found)).tobytes()
    if isinstance(found, Solution):
        header, arrays = pack_solution(found)
        return digest_of({**arrays, "header": pack_header(header)}).tobytes()
    return repr(found) if isinstance(found, dict) else found


def make_sure(kind: str, found: Any) -> None:
    """Check that the values read are sound.

    Raises:
        DefectError: It is not; says why.
    """
    if kind == "table":
        for row in found:
            numbers = (row.seconds, row.nash_conv, row.exploitability)
            if not all(map(math.isfinite, numbers)) or row.iteration < 0 or row.players < 1:
                raise DefectError(f"a row holds {row}")
    elif kind == "header":
        text = json.dumps([asdict_or_text(value) for value in found.values()], allow_nan=False)
        if not 0 <= found["iterations"] <= 2**53 or len(text) > 10**7:
            raise DefectError("a header has impossible values")
    elif kind == "spot":
        play_spot(found)
    elif kind in OF_OTHERS:
        play_options(found)
    elif kind == "settings":
        if "kuhn" not in found:
            raise DefectError(f"the command says {found}")
    elif kind == "boards":
        for row in chain.from_iterable(found.values()):
            # Numbers at decisions that are not reached may be nan.
            numbers = [row[name] for name in row if name not in ("equity", *TEXTS_OF_BOARDS)]
            if row["weight"] > 0 and not all(map(math.isfinite, numbers)):
                raise DefectError(f"a row holds {row}")
    elif kind in ("game", "cut", "efg", "nfg"):
        play(found)
    elif kind in POLICIES:
        from tensorcfr import evaluate

        if not all(map(math.isfinite, evaluate(found.game, found).gains)):
            raise DefectError("the policy cannot be evaluated")
    else:
        go_on(found)


def asdict_or_text(value: Any) -> Any:
    """Convert a value to a form that JSON has."""
    return json.loads(json.dumps(value, default=str))


def play(game: Any) -> None:
    """Play a game: check all invariants, run the kernels, and compare the operator in NumPy with
    its kernel."""
    import numpy as np

    from tensorcfr import Solver, evaluate, solve
    from tensorcfr.compilers.invariants import check
    from tensorcfr.kernels.evaluation import add_payoffs
    from tensorcfr.model.chunked_game import ChunkedGame
    from tensorcfr.model.flat_game import FlatGame
    from tensorcfr.model.policy import Policy
    from tensorcfr.payoff import product

    if isinstance(game, ChunkedGame):
        solve(game, "cfr", iters=2)
    if not isinstance(game, FlatGame):
        return  # Its rules are sound, or it was made of a game that is.
    check(game, expand=True)
    values = evaluate(game, Policy.uniform(game)).values
    solver = Solver(game, "cfr")
    solver.iterate(2)
    gains = solver.evaluate().gains
    if not all(map(math.isfinite, (*values, *gains))) or min(gains) < -1e-6:
        raise DefectError(f"values {values}, gains {gains}")
    x = np.random.default_rng(0).uniform(size=game.n_sequences)
    for player in range(game.n_players):
        g = np.zeros(game.n_sequences)
        add_payoffs(game.form, player, x, g)
        own = slice(*game.form.player_sequences[player : player + 2])
        if not np.allclose(g[own], product(game.form, player, x), rtol=1e-9, atol=1e-12):
            raise DefectError("the kernel gives another product")


def play_spot(spot: Any) -> None:
    """Write a spot, read it again, and compile it where it is small."""
    from tensorcfr import compile_game
    from tensorcfr.errors import MemoryLimitError
    from tensorcfr.formats import parse_spot, spot_text

    if parse_spot(spot_text(spot)).options != spot.options:
        raise DefectError("the spot is another one when it is written and read")
    # Lines to add or remove are looked up when the spot is compiled.
    with suppress(MemoryLimitError, ValueError):
        compile_game(spot, memory_limit=16 << 20)


def play_options(options: dict[str, Any]) -> None:
    """Play the spot of some options, where these make one."""
    from tensorcfr.games.holdem import Holdem

    usual = {"board": "Td9d6hQc", "ranges": ("AA,KK", "QQ,JJ"), "bets": "50%"}
    try:
        spot = Holdem(**usual | options)
    except ValueError:
        return
    play_spot(spot)


def go_on(solution: Any) -> None:
    """Continue the solve of a solution."""
    import numpy as np

    from tensorcfr import solve
    from tensorcfr.errors import GameError, UnknownGameError
    from tensorcfr.uncompiled.uncompiled_game import UncompiledGame, UnknownRules

    play(solution.game)
    if solution.state is None:
        return
    if not np.isfinite(solution.last_policy.probabilities).all():
        raise DefectError("the last iterate has values that are not numbers")
    solution.summary()
    if solution.iterations < 10**9:
        try:
            on = solve(solution.game, start=solution, iters=2)
        except UnknownGameError:
            if isinstance(solution.game.rules, UnknownRules):
                return  # Files of games that are not built in do not have them.
            raise
        except GameError:
            if isinstance(solution.game, UncompiledGame):
                return  # Its infosets are compared with the rules when a play reaches them.
            raise
        if not np.isfinite(on.policy.probabilities).all():
            raise DefectError("after more iterations, the average has values that are not numbers")
