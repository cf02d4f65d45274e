"""Draw the README's picture: the default and three textbook algorithms on Leduc poker.

python scripts/convergence.py [docs/convergence.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

from tensorcfr import compile_game, solve
from tensorcfr.plots import convergence
from tensorcfr.plots.style import save_picture

ITERATIONS = 10_000
ALGORITHMS = ("cfr", "cfr+", "dcfr", "paced-cfr+")


def main() -> None:
    """Solve and draw."""
    path = sys.argv[1] if len(sys.argv) > 1 else "docs/convergence.png"
    game = compile_game("leduc")
    solutions = [solve(game, name, iters=ITERATIONS) for name in ALGORITHMS]
    save_picture(convergence(solutions), Path(path))
    for solution in solutions:
        print(solution)


if __name__ == "__main__":
    main()
