"""Draw the pictures of docs/holdem-tutorial.md from the spot that the page solves:
``python -m scripts.holdem_figures``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tensorcfr import compile_game, solve
from tensorcfr.analysis import SolvedSpot
from tensorcfr.formats import parse_spot
from tensorcfr.plots import hand_grid, runout_grid

DOCS = Path(__file__).parents[1] / "docs"


def main(words: list[str] | None = None) -> int:
    """Draw them into ``docs/figures``, or into the folder that is given."""
    given = sys.argv[1:] if words is None else words
    folder = Path(given[0]) if given else DOCS / "figures"
    page = (DOCS / "holdem-tutorial.md").read_text("utf-8")
    found = re.search(r">>> text = '''\n(.*?)\.\.\. '''", page, re.DOTALL)
    assert found is not None
    spot = parse_spot(re.sub(r"^\.\.\. ?", "", found[1], flags=re.MULTILINE))
    solved = SolvedSpot(solve(compile_game(spot), "dcfr", target=0.1, precision="float32"))
    hand_grid(solved.table("check")).savefig(folder / "holdem_turn.png", dpi=80)
    rivers = solved.runouts("check bet36 call * check")
    runout_grid(rivers).savefig(folder / "holdem_rivers.png", dpi=100)
    return 0


if __name__ == "__main__":
    sys.exit(main())
