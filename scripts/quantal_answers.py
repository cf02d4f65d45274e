"""Agent quantal response equilibria by pygambit, as data for the tests:
``tests/data/quantal_answers.json``.

pygambit has no wheels and takes minutes to build; the tests do without it.

python -m scripts.quantal_answers      write the file; needs tensorcfr[gambit] and pandas
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from tensorcfr import compile_game
from tensorcfr.formats import save_efg

ANSWERS = Path(__file__).resolve().parent.parent / "tests" / "data" / "quantal_answers.json"
GAMES = ("kuhn", "kuhn(players=3)", "liars_dice(faces=2)", "chicken")
RATIONALITY = (0.5, 2.0, 10.0)
FIRST_STEP = 0.01
"""Of pygambit's trace; with its usual one it leaves some branches."""


def main() -> None:
    """Trace every game, and write the file."""
    import pygambit

    responses: dict[str, list[dict[str, list[float]]]] = {}
    for name in GAMES:
        with TemporaryDirectory() as folder:
            path = save_efg(compile_game(name).flat(), Path(folder) / "game.efg")
            game = pygambit.read_efg(path)
        found = pygambit.qre.logit_solve_lambda(game, list(RATIONALITY), first_step=FIRST_STEP)
        responses[name] = []
        for point in found:
            numbers = iter(point[at] for at in range(len(point)))
            infosets = [one for player in game.players for one in player.infosets]
            responses[name].append({i.label: [next(numbers) for _ in i.actions] for i in infosets})
    data = {"pygambit": version("pygambit"), "rationality": RATIONALITY, "responses": responses}
    ANSWERS.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
