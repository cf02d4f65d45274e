"""Which algorithm on hold'em spots?  Iterations to shares of the pot, on two halves of a list.

    python -m scripts.spots choose      candidates on the first half; the best is chosen
    python -m scripts.spots judge       the chosen rule and others, on the second half
    python -m scripts.spots again       the chosen and published rules, on spots drawn at random
    python -m scripts.spots wide        the same, with wide ranges alone
    python -m scripts.spots write       the tables of docs/results/spots.md

Single precision, one thread.  Counts do not depend on the machine.  Measurements are stored in
``benchmarks/results/spots.json`` and not repeated.
"""

from __future__ import annotations

import math
import random
from typing import Any

from benchmarks._common import progress, table
from benchmarks.holdem import ALL, IP, OOP
from tensorcfr import CompiledGame, Solver, compile_game
from tensorcfr.compilers import game_size
from tensorcfr.games.holdem import CARDS
from tensorcfr.sweep import read_algorithm

from ._pages import DOCS, RESULTS, arguments, origin, origin_of, read_json, write_json, write_parts

FILE = RESULTS / "spots.json"
BESIDE_PEER = RESULTS / "holdem.json"
PAGE = DOCS / "results" / "spots.md"

TIGHT = ("TT+,AQs+,AKo", "QQ-77,AJs+,KQs,AQo")
SMALL = ("QQ-99,AKs,AQs,KQs,JTs", "JJ-77,AQs-ATs,KQs,KJs,QJs,T9s")
WEIGHTED = ("AA:0.5,KK,AKs:0.25,AQo:0.6,76s,65s:0.75", "QQ-99,AQs+,KQs:0.3,T9s,A5s-A2s:0.5")
RIVER = {"board": "QsJh2h8d3c", "bets": "50%,100%", "raises": "60%"}
TURN = {"board": "Td9d6hQc", "raises": "2.5x"}
SPOTS: dict[str, dict[str, dict[str, Any]]] = {
    "choose": {
        "river, all hands": RIVER | {"ranges": (ALL, ALL), "pot": 200, "stacks": 900},
        "river": RIVER | {"ranges": (OOP, IP), "pot": 200, "stacks": 900},
        "river, deep, rake": {
            **{"board": "KsKd7h4c2s", "ranges": (OOP, ALL), "pot": 60, "stacks": 1500},
            **{"bets": "33%,75%,150%", "raises": "50%,100%", "rake": 0.05, "rake_cap": 30},
        },
        "turn": TURN | {"ranges": (OOP, IP), "bets": "60%", "pot": 200, "stacks": 900},
        "turn, three sizes, donk": TURN
        | {"ranges": (OOP, IP), "bets": "60%,e,a", "donk": "50%", "pot": 200, "stacks": 900},
        "turn, all hands": {
            **{"board": "As8s5d3s", "ranges": (ALL, ALL), "pot": 100, "stacks": 250},
            **{"bets": "75%", "raises": "a"},
        },
        "flop": {
            **{"board": "Td9d6h", "ranges": SMALL, "pot": 60, "stacks": 120},
            **{"bets": "50%", "raises": "60%"},
        },
        "flop, one suit": {
            **{"board": "AhKh7h", "ranges": TIGHT, "pot": 55, "stacks": 110},
            **{"bets": "33%", "raises": "3x"},
        },
    },
    "judge": {
        "river, a pair": {
            **{"board": "KcKh8s5d2s", "ranges": (IP, OOP), "pot": 120, "stacks": 400},
            **{"bets": "33%,75%,a", "raises": "2.5x"},
        },
        "river, overbets": {
            **{"board": "AsTs6c5h4d", "ranges": (ALL, OOP), "pot": 300, "stacks": 2000},
            **{"bets": "50%,125%", "raises": "60%,120%"},
        },
        "river, weights, rake": {
            **{"board": "Kd7h2c7s3d", "ranges": WEIGHTED, "pot": 60, "stacks": 150},
            **{"bets": "33%,75%,a", "raises": "2.5x", "rake": 0.04, "rake_cap": 5},
        },
        "turn, tight": {
            **{"board": "AcKd5h9s", "ranges": TIGHT, "pot": 180, "stacks": 400},
            **{"bets": "33%,75%", "raises": "60%"},
        },
        "turn, donk": {
            **{"board": "8h7h2cTs", "ranges": (IP, OOP), "pot": 80, "stacks": 600},
            **{"bets": "50%", "raises": "3x", "donk": "33%"},
        },
        "turn, wide": {
            **{"board": "QdQs4h2c", "ranges": (ALL, IP), "pot": 100, "stacks": 300},
            **{"bets": "66%", "raises": "60%"},
        },
        "flop, all-in": {
            **{"board": "Ks8h3d", "pot": 60, "stacks": 150, "bets": "40%,a"},
            "ranges": ("99+,AJs+", "88-TT,AQs+,KQs"),
        },
        "flop, donk": {
            **{"board": "7c6c5d", "ranges": SMALL, "pot": 40, "stacks": 110},
            **{"bets": "75%", "raises": "60%", "donk": "33%"},
        },
    },
}
"""Split before anything was measured."""
STREETS = {"river": 5, "turn": 4, "flop": 3}
"""Streets, and cards of the board."""
DRAWN_EACH = 8
"""Spots that are drawn for each street."""
MOST_INFOSETS = 10_000_000


def drawn_spots(*, wide: bool) -> dict[str, dict[str, Any]]:
    """Return random spots, with wide ranges or with narrow ones, too."""
    rng, found = random.Random(2 if wide else 1), dict[str, dict[str, Any]]()
    ranges = (OOP, IP) if wide else (OOP, IP, *TIGHT, *SMALL, *WEIGHTED)
    for street, cards in STREETS.items():
        while len(found) < (6 - cards) * DRAWN_EACH:
            spot: dict[str, Any] = {
                "board": "".join(rng.sample(CARDS, cards)),
                "ranges": tuple(rng.choices((*ranges, *(cards - 3) * (ALL,)), k=2)),
                "pot": 100,
                "stacks": rng.choice((100, 200, 400, 900, 1500)),
                "bets": rng.choice(("33%", "60%", "100%", "50%,a", "33%,75%", "40%,80%,150%")),
                "raises": rng.choice(("60%", "100%", "2.5x", "a")),
                "donk": rng.choice((None, None, "33%")),
            }
            if game_size("holdem", **spot).infosets <= MOST_INFOSETS:
                found[f"{street} {len(found) % DRAWN_EACH + 1}"] = spot
    return found


PUBLISHED = "dcfr"
SCHEDULES = (
    *((1.25, beta, 4) for beta in (0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)),
    *((alpha, 0.2, 4) for alpha in (1.2, 1.5)),
    *((alpha, 0.3, 4) for alpha in (1.2, 1.35, 1.5)),
    *((1.25, 0.2, power) for power in (3, 5)),
    (1.5, 0, 4),
)
"""Discounts of DCFR that are tried: alpha, beta, and the power of the average."""
CHOSEN = "dcfr(alpha=1.5, alpha_offset=2, beta=1, beta_offset=20, average_power=4)"
FORMER = "dcfr(alpha=1.25, beta=0.3, average_power=4)"
"""Rule that was chosen before offsets were tried."""
CANDIDATES = (
    PUBLISHED,
    *(f"dcfr(alpha={a}, beta={b}, average_power={p})" for a, b, p in SCHEDULES),
    CHOSEN,
    "dcfr(average_power=3, restart_base=4)",
    *("cfr+", "sapcfr+", "pdcfr+"),
)
JUDGED = (PUBLISHED, FORMER, CHOSEN, "cfr+", "sapcfr+", "pdcfr+")
SHARES = (3e-3, 1e-3, 3e-4)
"""Exploitabilities to reach, as shares of the pot."""
STEP = 2
"""Iterations between two evaluations."""
MOST = 3000
"""Iterations after which a share counts as reached; the reported number is then a lower bound."""


def iterations(game: CompiledGame, pot: float, spec: str) -> list[int]:
    """Return the iterations to each share of the pot."""
    solver, found = Solver(game, read_algorithm(spec), precision="float32"), list[int]()
    while len(found) < len(SHARES):
        solver.iterate(STEP)
        value = solver.evaluate().exploitability
        reached = sum(value <= share * pot for share in SHARES)
        reached = len(SHARES) if solver.iteration >= MOST else reached
        found += [solver.iteration] * (reached - len(found))
    return found


def measure(part: str, spots: dict[str, Any], specs: tuple[str, ...]) -> None:
    """Measure every algorithm on every spot; store the results after each spot."""
    kept = read_json(FILE)
    own = kept.setdefault(part, {})
    for name, spot in spots.items():
        row = own.setdefault(name, {})
        if missing := [spec for spec in specs if spec not in row]:
            game = compile_game("holdem", **spot)
            progress(f"{name}: {game.n_sequences:,} sequences")
            for spec in missing:
                row[spec] = iterations(game, spot["pot"], spec)
                progress(f"{name}, {spec}: {row[spec]}")
            write_json(FILE, kept | {"shares of the pot": SHARES} | origin())
    for spec, means in ratios(own, specs).items():
        progress(f"{spec:46}" + "".join(f"{mean:8.3f}" for mean in means))


def ratios(rows: dict[str, dict[str, list[int]]], specs: tuple[str, ...]) -> dict[str, list[float]]:
    """Return geometric means over the spots of iterations relative to the published schedule, for
    each share and for all."""
    found = {}
    for spec in specs:
        logs = [
            [math.log(n / m) for n, m in zip(row[spec], row[PUBLISHED], strict=True)]
            for row in rows.values()
        ]
        means = [sum(column) / len(logs) for column in zip(*logs, strict=True)]
        found[spec] = [math.exp(mean) for mean in (*means, sum(means) / len(means))]
    return found


def tables() -> dict[str, str]:
    """Return the parts of the page."""
    kept = read_json(FILE)
    parts = {}
    for half in SPOTS:
        body = [
            [name, *(", ".join(f"{n:,}" for n in row[spec]) for spec in JUDGED)]
            for name, row in kept[half].items()
        ]
        means = ratios(kept[half], JUDGED).values()
        body.append(["**geometric mean of ratios**", *(f"**{mean[-1]:.2f}**" for mean in means)])
        parts[half] = table(["", *(f"`{spec}`" for spec in JUDGED)], body)
    body = []
    for part, ranges in (("again", "narrow and wide"), ("wide", "wide")):
        for street in (*STREETS, ""):
            rows = {name: row for name, row in kept[part].items() if name.startswith(street)}
            means = [f"{mean:.2f}" for mean in ratios(rows, (CHOSEN,))[CHOSEN]]
            body.append([f"{len(rows)} {street or 'spot'}s, {ranges}", *means])
    shares = [f"to {100 * share:g} %" for share in SHARES]
    parts["drawn"] = table(["", *shares, "all"], body)
    return parts | {"peer": peer_table()}


def peer_table() -> str:
    """Return the measurements of ``benchmarks.holdem`` of this library and of postflop-solver."""
    kept = read_json(BESIDE_PEER)
    body = []
    for name, by_threads in kept["spots"].items():
        for threads, found in by_threads.items():
            own, there, ratio = (found[who] for who in ("tensorcfr", "postflop-solver", "ratio"))
            cells = [f"`{name}`", threads]
            for column, form in (("mean ms", "{:.3g} ms"), ("seconds", "{:.3g} s")):
                cells += [form.format(own[column]), form.format(there[column])]
                cells.append(f"**{ratio[column]:.1f}**")
            cells += [f"{own['iterations']:.0f}", f"{there['iterations']:.0f}"]
            body.append([*cells, *(f"{who['bytes'] / 1e6:.3g} MB" for who in (own, there))])
    columns = ["spot", "threads", "iteration here", "there", "times"]
    columns += ["to 0.1 % here", "there", "times"]
    columns += ["iterations here", "there", "memory here", "there"]
    about = f"Medians of {kept['rounds']} rounds; {origin_of(kept)}"
    return f"{table(columns, body)}\n\n{about}."


def main() -> None:
    """Measure, or write."""
    parser = arguments(__doc__)
    parser.add_argument("what", choices=("choose", "judge", "again", "wide", "write"))
    what = parser.parse_args().what
    if what == "write":
        write_parts(PAGE, "spots", tables())
    elif what in SPOTS:
        measure(what, SPOTS[what], CANDIDATES if what == "choose" else JUDGED)
    else:
        measure(what, drawn_spots(wide=what == "wide"), (PUBLISHED, CHOSEN))


if __name__ == "__main__":
    main()
