"""Damaged files of every kind, for ``scripts.fuzz``: no reader accepts wrong contents.

An input is a sound file and a mutation.  Mutations know the structure of the files: bytes, members
of the archive, descriptions of arrays, numbers in arrays, values in headers, cells in tables,
tokens in texts.  Half of them leave the digest as it was: then a file that is read must have its
old contents.  The others put a new digest in: then the other checks must refuse the file, or the
game must be sound, which is tested by playing it with kernels that check their bounds.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from typer.testing import CliRunner

from tensorcfr import (
    CompiledGame,
    Policy,
    Solution,
    Solver,
    compile_game,
    evaluate,
    load_game,
    solve,
)
from tensorcfr.analysis.board_reports import _read_table
from tensorcfr.cli.app import app
from tensorcfr.compilers.invariants import check
from tensorcfr.errors import GameError, MemoryLimitError, UnknownGameError
from tensorcfr.formats import parse_spot, read_policy, read_spot, read_spot_options, spot_text
from tensorcfr.games.holdem import Holdem
from tensorcfr.kernels.evaluation import add_payoffs
from tensorcfr.model.chunked_game import ChunkedGame
from tensorcfr.model.flat_game import FlatGame
from tensorcfr.payoff import product
from tensorcfr.solvers.solution_file import pack_solution, read_header
from tensorcfr.storage.archive import digest_of, pack_header, parse_header
from tensorcfr.storage.game_files import pack_game
from tensorcfr.sweep.sweep_table import parse_table
from tensorcfr.uncompiled.uncompiled_game import UncompiledGame, UnknownRules

from ._fuzzing import DefectError, Watch, limited
from ._mutations import MUTATIONS, Mutated
from ._sound_files import (
    ARCHIVES,
    IN_CHUNKS_OF,
    POLICIES,
    RULES,
    SPOT_OF_BOARDS,
    TEXTS,
    TEXTS_OF_BOARDS,
    Sound,
    make_files,
)

SHARES = {
    "header": 0.38,
    "table": 0.336,
    "game": 0.05,
    "solution": 0.04,
    "boards": 0.03,
    "cut": 0.015,
    "rules": 0.02,
    "chunks": 0.012,
    "checkpoint": 0.008,
    "resume": 0.01,
    "spot": 0.015,
    "script": 0.008,
    "tree": 0.008,
    "hand": 0.004,
    "settings": 0.004,
    "efg": 0.015,
    "nfg": 0.015,
    "csv": 0.02,
    "json": 0.01,
    "npz": 0.006,
    "parquet": 0.004,
}
"""The share of each loader in the inputs.  The quick loaders come first: each kind has a share of
the time that is left."""


class Inputs:
    """Damaged files of a kind.

    Args:
        folder: Folder of the sound files.
        seed: Seed of the draws.
        kind: One of :data:`SHARES`.
    """

    def __init__(self, folder: Path, seed: int, kind: str) -> None:
        self.folder, self.seed, self.kind = folder, seed, kind
        source = "solution" if kind == "header" else "chunks" if kind in IN_CHUNKS_OF else kind
        sounds = [self.taken_apart(path.read_bytes()) for path in sorted(folder.glob(f"{source}*"))]
        # Values of rules in a header may be unknown, and are read by another table.
        self.sounds = [s for s in sounds if kind != "header" or RULES not in s.texts]
        for one in self.sounds:
            # Kernels are compiled here, not while an input is timed.
            content = json.dumps(one.header).encode() if kind == "header" else one.content
            make_sure(kind, read(kind, content, folder, one.game))

    def taken_apart(self, content: bytes) -> Sound:
        """Return a sound file, split into parts."""
        kind, sound = self.kind, Sound(self.kind, content)
        if kind == "npz" or kind in ARCHIVES:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = archive.namelist()
                sound.members = {name.removesuffix(".npy"): archive.read(name) for name in names}
        if kind in ARCHIVES:
            sound.arrays = {name: np.load(io.BytesIO(one)) for name, one in sound.members.items()}
            sound.texts = {
                name: json.loads(sound.arrays[name].tobytes())
                for name in TEXTS
                if name in sound.arrays
            }
            sound.header = sound.texts["header"]
        if kind == "resume":
            sound.game = read("chunks", content, self.folder).game
        if kind != "header":
            sound.fingerprint = fingerprint(read(kind, content, self.folder, sound.game))
        return sound

    def drawn(self, number: int) -> tuple[Sound, str, Mutated]:
        """Return one input: the sound file, the name of the mutation, and the damaged file."""
        rng = Random(f"{self.seed} {self.kind} {number}")
        sound = rng.choice(self.sounds)
        mutation = rng.choice(MUTATIONS[self.kind])
        return sound, mutation.__name__, mutation(rng, sound)

    def try_input(self, number: int, watch: Watch) -> str:
        """Read one input; return the mutation and the result.

        Raises:
            DefectError: The file was read without a word, or refused without its name.
        """
        kind = self.kind
        sound, mutation, (content, has_digest) = self.drawn(number)
        try:
            with limited(), watch():
                found = read(kind, content, self.folder, sound.game)
        except ValueError as error:
            named = NAMED.get(kind, f"input.{ENDINGS.get(kind, kind)}")
            if named not in str(error):
                raise DefectError(f"the error does not name the file: {error}") from error
            return f"{mutation}: refused"
        if kind != "header" and fingerprint(found) == sound.fingerprint:
            return f"{mutation}: same content"
        if not has_digest:
            raise DefectError("read without a word, and holds something else")
        make_sure(kind, found)
        return f"{mutation}: another sound file"


def prepare(folder: Path, kinds: list[str]) -> None:
    """Write the sound files, which all batches share."""
    make_files(folder, kinds)


OF_OTHERS = ("script", "tree", "hand")
"""The loaders of spots of other programs."""
USAGE = 2
"""The exit status of a command that refuses its arguments."""
READ_LIMIT = 256 << 20
"""Bytes that reading an archive may take: each sound one takes far less."""


def read(kind: str, content: bytes, folder: Path, known: Any = None) -> Any:
    """Read an input as its kind is read; ``folder`` is for loaders that take paths alone, ``known``
    the game where the caller has it."""
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
    header = parse_header(np.frombuffer(content, np.uint8), "header")
    values = header.get("values")
    return read_header(header, 3 if isinstance(values, list) and len(values) == 3 else 2)


def read_settings(path: Path) -> Any:
    """Run a command with a file of settings, and return its output."""
    said = CliRunner().invoke(app, ["--settings", str(path), "size", "kuhn"])
    if said.exit_code == USAGE:
        raise ValueError(said.output)
    if said.exit_code:
        raise DefectError(f"exit status {said.exit_code}: {said.output}") from said.exception
    return said.output


@cache
def kuhn() -> Any:
    """Return the game of all policies."""
    return compile_game("kuhn")


READ_FROM_PATHS: dict[str, Callable[[Path], Any]] = {
    "efg": compile_game,
    "nfg": compile_game,
    "spot": read_spot,
    "boards": lambda path: _read_table(path, SPOT_OF_BOARDS, 1),
    **dict.fromkeys(OF_OTHERS, read_spot_options),
    "settings": read_settings,
    **dict.fromkeys(POLICIES, lambda path: read_policy(kuhn(), path)),
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
        text = json.dumps(list(found.values()), default=str, allow_nan=False)
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
        if not all(map(math.isfinite, evaluate(found.game, found).gains)):
            raise DefectError("the policy cannot be evaluated")
    else:
        go_on(found)


def play(game: Any) -> None:
    """Play a game: check all invariants, run the kernels, and compare the operator in NumPy with
    its kernel."""
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
    if parse_spot(spot_text(spot)).options != spot.options:
        raise DefectError("the spot is another one when it is written and read")
    # Lines to add or remove are looked up when the spot is compiled.
    with suppress(MemoryLimitError, ValueError):
        compile_game(spot, memory_limit=16 << 20)


def play_options(options: dict[str, Any]) -> None:
    """Play the spot of some options, where these make one."""
    usual = {"board": "Td9d6hQc", "ranges": ("AA,KK", "QQ,JJ"), "bets": "50%"}
    try:
        spot = Holdem(**usual | options)
    except ValueError:
        return
    play_spot(spot)


def go_on(solution: Any) -> None:
    """Continue the solve of a solution."""
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
