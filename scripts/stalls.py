"""Games on which the default algorithm may stall: nearly equal actions, payoffs of different size.

python -m scripts.stalls measure VERSION   exploitability at some marks; appends to stalls.csv
python -m scripts.stalls write             the table of docs/results/stalls.md
python -m scripts.stalls climb SEED        matrices that a random search finds

Every second game of the list is to choose a rule on; the others are to judge it.  Iterations do not
depend on the machine.  ``measure`` takes some ten minutes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks._common import progress, table
from tensorcfr import ALGORITHMS, Solver, compile_game
from tensorcfr.games import MatrixGame
from tensorcfr.rules import Chance, Decision, Game, Terminal

from ._pages import DOCS, FIGURES, ROOT, arguments, read_rows, write_parts, write_rows

sys.path.insert(0, str(ROOT / "tests"))
from support.random_games import keyed, random_game

RESULTS = FIGURES / "stalls.csv"
PAGE = DOCS / "results" / "stalls.md"
MARKS = (100, 300, 1_000, 3_000, 10_000)
RIVALS = ("sapcfr+", "cfr+", "dcfr")
DEFAULT = "paced-cfr+"
AVERAGES = (0, 1, 2, 4)
"""Other exponents of the average.  The default's iterates do not depend on it, so the best of all
averages bounds from below how well any of them, or a choice between them, could do."""
BEST_AVERAGE = "best of five averages"
A_THIRD = "best of these at a third of the iterations"
ROUNDING = 1e-10
"""Exploitabilities below it, over the range of payoffs, count as equal."""

CLIMBED = {
    "climbed 4x4": [
        [-0.4002125712, 0.9976638584, 0.6668135709, 0.001589221644],
        [-1.569538863e-7, -8.477826909e-4, -0.4156240931, 8.711801718e-9],
        [-6.214020416e-7, 0.01790684009, 0.5001348007, 5.874328958e-7],
        [-5.063497384e-7, 0.003321505753, 1.0, -1.710204028e-6],
    ],
    "climbed 2x2": [[-1.0, 5.7671457e-02], [3.6779027e-06, 7.6632867e-07]],
}
"""Matrices that a search found to stall version 0.15.0."""


class AllPayAuction(Game):
    """Both bidders pay their bids; the higher one wins a prize worth the bidder's private value."""

    def __init__(self, values: int, bids: int) -> None:
        self.values, self.bids = values, bids

    def node(self, state: tuple[int, ...]) -> Decision | Chance | Terminal:
        """Return the next node after two values and the bids so far."""
        if len(state) < 2:
            return Chance(dict.fromkeys(range(self.values), 1.0 / self.values))
        player = len(state) - 2
        if player < 2:
            return Decision(player, f"{player}: {state[player]}", tuple(range(self.bids)))
        first, second, one, other = state
        share = 0.5 * (1 + (one > other) - (one < other))
        won = share * (first + 1) - (1 - share) * (second + 1)
        paid = (one - other) / (self.bids - 1)
        gain = won / self.values - paid
        return Terminal((gain, -gain))


class Repaid(Game):
    """A random game with other payoffs."""

    def __init__(self, seed: int, pay: Callable[[Any], float]) -> None:
        self.game = random_game(seed, zero_sum=True, max_histories=400, secrecy=0.6)
        self.seed, self.pay, self.n_players = seed, pay, 2

    def node(self, state: tuple[Any, ...]) -> Decision | Chance | Terminal:
        """Return the random game's node, with another payoff at a terminal."""
        node = self.game.node(state)
        if not isinstance(node, Terminal):
            return node
        gain = self.pay(keyed(self.seed, "pay", state))
        return Terminal((gain, -gain))


def hide_and_seek(steepness: float, points: int = 60) -> np.ndarray:
    """Return the payoffs exp(-steepness (x - y)^2) for points on a line."""
    x = np.linspace(0.0, 1.0, points)
    return np.exp(-steepness * (x[:, None] - x) ** 2)


def silent_duel(moments: int) -> np.ndarray:
    """Return the payoffs of a duel whose shots, silent, hit more surely the later they come."""
    hit = np.arange(1, moments + 1) / moments
    first = hit[:, None] - (1 - hit[:, None]) * hit
    payoff = np.triu(first, 1)
    return payoff - payoff.T


def search(cells: int, cost: float) -> np.ndarray:
    """Return the payoffs of a search through cells in one of some orders, with a cost per look."""
    rng = np.random.default_rng(0)
    place = np.array([np.argsort(rng.permutation(cells)) for _ in range(2 * cells)])
    half = cells // 2
    return np.where(place < half, 1 - cost * place, -cost * half)


def random_matrix(kind: str, seed: int) -> np.ndarray:
    """Return a random matrix with payoffs of a kind."""
    rng = np.random.default_rng(1000 + seed)
    shape = tuple(rng.integers(3, 25, size=2))
    normal = rng.normal(size=shape)
    if kind == "integers with noise":
        return np.round(2 * rng.random(shape) * np.sign(normal)) + 1e-5 * normal
    if kind == "rare 1e-3":
        return np.where(rng.random(shape) < 0.1, 1.0, 1e-3) * normal
    if kind == "rare 1e-6":
        return np.where(rng.random(shape) < 0.1, 1.0, 1e-6) * normal
    if kind == "log-normal":
        return np.exp(3 * normal) * np.sign(rng.normal(size=shape))
    if kind == "nearly dominated":
        half = shape[0] // 2
        normal[half : 2 * half] = normal[:half] - 1e-4 * rng.random((half, shape[1]))
        return normal
    if kind == "rows of different size":
        return normal * 10.0 ** rng.uniform(-4, 0, size=(shape[0], 1))
    assert kind == "normal"
    return normal


PAYOFFS: Mapping[str, Callable[[Any], float]] = {
    "integers with noise": lambda rng: float(rng.randint(-2, 2)) + 1e-5 * rng.gauss(0, 1),
    "rare 1e-3": lambda rng: (1.0 if rng.random() < 0.1 else 1e-3) * rng.gauss(0, 1),
    "log-normal": lambda rng: math.exp(3 * rng.gauss(0, 1)) * rng.choice((-1, 1)),
}
"""Payoffs of random trees, by kind."""


def games() -> Iterator[tuple[str, Callable[[], Game]]]:
    """Yield the list: a name, and a function that makes the game."""
    for steepness in (2, 4, 8, 15, 30, 60, 100, 200):
        yield f"hide and seek {steepness}", partial(matrix, hide_and_seek, steepness)
    for moments in (10, 15, 20, 25, 30, 35, 40, 50):
        yield f"silent duel {moments}", partial(matrix, silent_duel, moments)
    for cells, cost in ((6, 0.1), (8, 0.1), (10, 0.01), (12, 0.01), (8, 1e-3), (10, 1e-3)):
        yield f"search {cells}, cost {cost:g}", partial(matrix, search, cells, cost)
    for cost in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        yield f"inspection {cost:g}", partial(MatrixGame, [[20 - cost, -cost], [-1.0, 0.0]])
    for values, bids in ((4, 12), (5, 15), (6, 20), (8, 20), (10, 30), (10, 20)):
        yield f"all-pay auction {values}, {bids}", partial(AllPayAuction, values, bids)
    for name, payoffs in CLIMBED.items():
        yield name, partial(MatrixGame, payoffs)
    for kind in (
        "integers with noise",
        "rare 1e-3",
        "rare 1e-6",
        "log-normal",
        "nearly dominated",
        "rows of different size",
        "normal",
    ):
        for seed in range(16):
            yield f"matrix, {kind}, {seed}", partial(matrix, random_matrix, kind, seed)
    for kind, pay in PAYOFFS.items():
        for seed in range(16):
            yield f"tree, {kind}, {seed}", partial(Repaid, seed, pay)


def matrix(payoffs: Callable[..., np.ndarray], *arguments: Any) -> MatrixGame:
    """Make the matrix game of some payoffs."""
    return MatrixGame(payoffs(*arguments).tolist())


def curve(game: Any, algorithm: str, marks: tuple[int, ...] = MARKS) -> list[float]:
    """Compute the exploitability over the range of payoffs at some iterations."""
    name, _, power = algorithm.partition(" t^")
    solver = Solver(game, ALGORITHMS[name](**({"average_power": int(power)} if power else {})))
    span = float(np.ptp(game.tree.utility[:, 0])) * game.unit
    found = []
    for before, mark in zip((0, *marks), marks, strict=False):
        solver.iterate(mark - before)
        found.append(solver.evaluate().exploitability / span)
    return found


def measure(version: str) -> None:
    """Append the curves of all games that the table lacks; rivals do not depend on the version."""
    rows = read_rows(RESULTS)
    known = {(row["game"], row["algorithm"], row["version"]) for row in rows}
    for name, make in games():
        wanted = [(DEFAULT, version), *((rival, "") for rival in RIVALS)]
        wanted += [(f"{DEFAULT} t^{power}", version) for power in AVERAGES]
        missing = [one for one in wanted if (name, *one) not in known]
        if not missing:
            continue
        game = compile_game(make(), cut=False)
        if not np.ptp(game.tree.utility[:, 0]):
            continue
        for algorithm, by in missing:
            numbers = zip(map(str, MARKS), curve(game, algorithm), strict=True)
            row = {"game": name, "algorithm": algorithm, "version": by}
            rows.append(row | {mark: f"{number:.3g}" for mark, number in numbers})
        write_rows(RESULTS, rows)
        progress(name)


def add_best_average(numbers: dict[tuple[str, str], dict[str, list[float]]]) -> None:
    """Replace the default's other averages by the best of all its averages at each mark."""
    version = max(version for _, version in numbers)
    averages = [numbers.pop((f"`{DEFAULT} t^{power}`", version)) for power in AVERAGES]
    averages.append(numbers[f"`{DEFAULT}`", version])
    numbers[f"`{DEFAULT}`", f"{version}, {BEST_AVERAGE}"] = {
        name: np.min([curves[name] for curves in averages], axis=0).tolist() for name in averages[0]
    }


def add_a_third(numbers: dict[tuple[str, str], dict[str, list[float]]]) -> None:
    """Add the best of all algorithms at each mark, each with the iterations of the mark before.

    These are a third of the mark's iterations.  So much, at most, gets each algorithm of three that
    run in turn.
    """
    curves = [own for (_, by), own in numbers.items() if not by or by.endswith(BEST_AVERAGE)]
    numbers[A_THIRD, ""] = {
        name: [best[0], *best[:-1]]
        for name in curves[0]
        for best in [np.min([own[name] for own in curves], axis=0).tolist()]
    }


def write() -> None:
    """Write the table of the page."""
    numbers: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in read_rows(RESULTS):
        own = numbers.setdefault((f"`{row['algorithm']}`", row["version"]), {})
        own[row["game"]] = [max(float(row[str(mark)]), ROUNDING) for mark in MARKS]
    add_best_average(numbers)
    add_a_third(numbers)
    order = [name for name, _ in games()]
    body = []
    for half, title in enumerate(("to choose on", "to judge on")):
        names = [name for name in order[half::2] if name in numbers[f"`{RIVALS[0]}`", ""]]
        best = {
            name: np.min([numbers[f"`{rival}`", ""][name] for rival in RIVALS], axis=0)
            for name in names
        }
        for (algorithm, version), own in sorted(numbers.items(), reverse=True):
            ratios = np.array([own[name] / best[name] for name in names])[:, 1:]
            rises = np.array([max(own[name] / np.minimum.accumulate(own[name])) for name in names])
            body.append(
                [
                    " ".join(filter(None, (algorithm, version, title))),
                    ", ".join(f"{ratio:.2g}" for ratio in np.median(ratios, axis=0)),
                    ", ".join(map(str, (ratios > 3).sum(axis=0))),
                    f"{ratios.max():.2g}",
                    str((rises > 10).sum()),
                    f"{rises.max():.2g}",
                ]
            )
        body[-1][0] += f" ({len(names)} games)"
    head = ["", "median", "above 3", "largest", "rose tenfold", "largest rise"]
    write_parts(PAGE, "stalls", {"stalls": table(head, body)})


def climb(seed: int, tries: int = 400) -> None:
    """Search for a matrix on which the default does badly relative to its rivals; print each
    gain."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(2, 6, size=2)
    best, least = rng.normal(size=(rows, columns)), -math.inf
    for _ in range(tries):
        factor = 10.0 ** (rng.random(best.shape) < 0.2) ** rng.uniform(-3, 1)
        payoffs = best * factor + (rng.random(best.shape) < 0.3) * rng.normal(size=best.shape)
        payoffs /= np.abs(payoffs).max()
        game = compile_game(MatrixGame(payoffs.tolist()))
        own = max(curve(game, DEFAULT, (1000,))[0], ROUNDING)
        rival = max(min(curve(game, one, (1000,))[0] for one in RIVALS), ROUNDING)
        if own / rival > least:
            best, least = payoffs, own / rival
            print(f"{least:.3g}", best.tolist())


def main() -> None:
    """Run one of the commands."""
    parser = arguments(__doc__)
    parser.add_argument("command", choices=["measure", "write", "climb"])
    parser.add_argument("argument", nargs="?", default="")
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.argument)
    elif given.command == "write":
        write()
    else:
        climb(int(given.argument))


if __name__ == "__main__":
    main()
