"""Put hostile texts into every text of files, read these, and say what came of it.

A program of its own (``python -m support.hostile_texts``), because what Python opens and imports
can be watched, and never again not be watched.
"""

from __future__ import annotations

import io
import json
import resource
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scripts._fuzzing import Watch
from scripts._mutations import HOSTILE
from tensorcfr import Solution, compile_game, load_game, save_game, solve
from tensorcfr.storage.archive import digest_of
from tensorcfr.uncompiled.uncompiled_game import UncompiledGame, UnknownRules

MIB = 1 << 20
LIMIT = 100 * MIB
LONGEST = 1500
RULES, CUT = "game/rules/text", "game/cut/text"
PLAYERS = ", 2 players, not compiled"


def rewritten(source: bytes, key: str, said: dict[str, Any]) -> io.BytesIO:
    """A file with something else in one of its objects, and a digest that says so."""
    arrays = dict(np.load(io.BytesIO(source)))
    del arrays["digest"]
    object_ = json.loads(arrays[key].tobytes()) | said
    arrays[key] = np.frombuffer(json.dumps(object_).encode(), np.uint8)
    out = io.BytesIO()
    np.savez(out, **arrays, digest=digest_of(arrays))
    out.seek(0)
    return out


def files(folder: Path) -> Iterator[tuple[Any, io.BytesIO]]:
    """Each reader with a file, for each text and place."""
    rules = solve("kuhn", "outcome_sampling", iters=3).save(folder / "rules.npz").read_bytes()
    flat = solve(compile_game("kuhn"), iters=3).save(folder / "flat.npz").read_bytes()
    game = save_game(compile_game("kuhn", cut=1), folder / "cut.npz").read_bytes()
    for text in HOSTILE:
        said = {"source": text, "name": text, "digest": f"{text}{PLAYERS}"}
        yield Solution.load, rewritten(rules, RULES, said)
        yield Solution.load, rewritten(rules, RULES, {"source": text})
        yield load_game, rewritten(game, CUT, {"source": text})
        yield load_game, rewritten(game, CUT, {"source": text, "cut": [text]})
    # The header has no text that anything is made of, but for the name of the algorithm.
    for text in HOSTILE[::3]:
        yield load_game, rewritten(game, "header", {"name": text})
        yield Solution.load, rewritten(flat, "header", {"algorithm": {"name": text}})
        yield Solution.load, rewritten(flat, "header", {"locks": {text: {text: 1.0}}})
        yield Solution.load, rewritten(flat, "header", {"status": text, text: text})


def read(load: Any, file: io.BytesIO) -> str:
    """Whether a file was refused, or is of a game whose rules nobody knows."""
    try:
        game = getattr(found := load(file, memory_limit=LIMIT), "game", found)
    except ValueError as error:
        return "refused" if len(str(error)) < LONGEST else "an error as long as the text"
    if isinstance(game, UncompiledGame) and isinstance(game.rules, UnknownRules):
        return "without rules"
    return "built in"


def main() -> None:
    """Read all of them."""
    results: Counter[str] = Counter()
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    with tempfile.TemporaryDirectory() as name:
        every = list(files(Path(name)))
        watch = Watch()
        watch.know_packages()
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 10 * LIMIT,) * 2)
        for load, file in every:
            with watch():
                results[read(load, file)] += 1
    print(json.dumps(results))


if __name__ == "__main__":
    main()
