"""All pictures of the documentation again, in one command.

python -m scripts.redraw              from what has been measured; solves the small games of some of
                                      them again (minutes)
python -m scripts.redraw --measure    first measures those with an axis of seconds again: half an
                                      hour of a machine on which nothing else runs
python -m scripts.redraw NAME ...     only these

Not among them: the pictures of the viewer (``python scripts/screenshots.py``, which needs a
browser).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ._records import read_records

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"


def _script(*words: str) -> Callable[[], None]:
    """Run a script as its own process, as its users do."""

    def run() -> None:
        subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=True)

    return run


def _abstraction() -> None:
    from .abstraction import Point, draw

    path = FIGURES / "abstraction_holdem.csv"
    draw(read_records(path, Point, Point.__annotations__), path.with_suffix(".png"))


def _deep_cfr() -> None:
    from .deep_cfr import Row, curves, draw_leduc, draw_memory

    found = curves(read_records(FIGURES / "deep_cfr.csv", Row, Row.__annotations__))
    draw_leduc(found, FIGURES / "deep_cfr_leduc.png")
    draw_memory(found, FIGURES / "deep_cfr_memory.png")


def _large_games() -> None:
    from .large_games import TITLES, curve, draw

    draw({name: rows for name in TITLES if (rows := curve(name))})


def _scaling() -> None:
    from benchmarks.scaling import RESULTS, Point, plot

    points = read_records(RESULTS / "scaling.csv", Point, Point.__annotations__)
    plot(points, ROOT / "docs" / "scaling.png")


def _tutorial_curves() -> None:
    from .tutorial_curves import draw

    draw(FIGURES)


def _tutorial_hundred() -> None:
    from .tutorial_hundred import draw, read

    path = FIGURES / "tutorial_hundred.csv"
    draw(read(path), path.with_suffix(".png"))


def _variants() -> None:
    from .variants_page import draw

    draw()


DRAWN: dict[str, Callable[[], None]] = {
    "figures": _script("scripts.figures"),
    "tutorial_curves": _tutorial_curves,
    "tutorial_hundred": _tutorial_hundred,
    "large_games": _large_games,
    "scaling": _scaling,
    "abstraction": _abstraction,
    "deep_cfr": _deep_cfr,
    "convergence": _script("scripts.convergence"),
    "theory": _script("scripts.theory"),
    "variants": _variants,
    "holdem_figures": _script("scripts.holdem_figures"),
}
"""What draws the pictures, by name."""


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(DRAWN)}")
    parser.add_argument("--measure", action="store_true", help="axes of seconds anew")
    options = parser.parse_args()
    for name in options.names:
        if name not in DRAWN:
            parser.error(f"nothing draws {name!r}; there are: {', '.join(DRAWN)}")
    if options.measure:
        _script("scripts.figures", "--again")()
    for name in options.names or DRAWN:
        DRAWN[name]()
        print(f"drew {name}", flush=True)


if __name__ == "__main__":
    main()
