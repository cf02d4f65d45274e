"""Measure the readers, models and leak reports of played hands, and write the page of results.

    python -m scripts.played_hands public FOLDER --store STORE
    python -m scripts.played_hands planted
    python -m scripts.played_hands curve
    python -m scripts.played_hands habits
    python -m scripts.played_hands page

``public`` reads the hands of a folder and prices the river decisions of a player.  The published
numbers are of the folder ``data`` of pokerkit's commit 14f7714: 10,088 hands of the PHH data set,
of Pluribus, the World Series of Poker 2023, and five others.  The folder ``--store`` keeps finished
spots, so the same command continues.  ``planted`` plays an artificial player with three leaks,
looks for them in the hands, and plays the response to a model of the player against held-back
hands.  ``curve`` computes responses of several weights to a model of a player on a flop with 200
hands each, with two threads.  ``habits`` computes the prices of five habits on the same flop.  All
add their numbers to ``benchmarks/results/played_hands.json``; ``page`` writes docs/results/hands.md
from it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import table
from tensorcfr import Policy, Solution, compile_game, solve
from tensorcfr.analysis import aivat, incentive_prices, robust_responses, simulate
from tensorcfr.analysis.bounds import Interval
from tensorcfr.analysis.comparison import seated
from tensorcfr.analysis.policy_values import Values
from tensorcfr.evaluation.metrics import evaluate_probabilities
from tensorcfr.hands import (
    count_decisions,
    find_leaks,
    habit_prices,
    hand_model,
    hands_of_plays,
    parse_hands,
    phh_text,
    ranges_of_hands,
    read_hands,
)
from tensorcfr.hands.models import frequencies_of, shift_frequencies, with_changes
from tensorcfr.hands.spot_decisions import SpotDecision, spot_decisions

from ._pages import DOCS, RESULTS, arguments, origin, origin_of, read_json, write_json, write_parts

PAGE = DOCS / "results" / "hands.md"
FILE = RESULTS / "played_hands.json"
PLAYER = "Pluribus"
"""Watched player of the public hands."""
SPOT: dict[str, Any] = {
    "board": "Ts9d6h2c3s",
    "ranges": (
        "22+,A2s+,KTs+,QTs+,J9s+,T8s+,98s,87s,ATo+,KJo+",
        "22+,A5s+,K9s+,Q9s+,J9s+,T8s+,98s,ATo+,KTo+",
    ),
    "pot": 100,
    "stacks": 200,
    "big_blind": 10,
    "chip": 0.1,
    "bets": "33%,75%,150%",
    "raises": "60%,a",
}
"""Spot of the artificial player, who is in position."""
PLANTED = {("check", "check"): 0.6, ("bet small", "fold"): 0.25, ("bet medium", "call"): 0.35}
"""Part of all other actions that becomes an action, by line and class of the action."""
PLAYED, TARGET = 2000, "0.05%"
SEEDS = range(5)
FLOP: dict[str, Any] = {
    "board": "Td9d6h",
    "ranges": (
        "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,Q9s+,J9s+,T8s,96s+,85s+,75s+,65s,54s,QJo",
        "QQ-22,AQs-A2s,ATo+,K8s+,KJo+,Q9s+,J8s+,T8s+,98s,87s,76s,65s",
    ),
    "pot": 200,
    "stacks": 900,
    "bets": "60%",
    "raises": "2.5x",
}
"""Flop on which the player in position is paid for calls."""
PAID, CURVE_TARGET, WEIGHTS = "call +10", "0.5%", (0.25, 0.5, 0.75, 0.9)
HABITS = (
    "call +10%",
    "bet bluffs =10%",
    "turn check =70%",
    "river bet value +15%",
    "fold +5%",
)
"""Habits of the same player; those about bluffs and value need equities."""


def public(folder: Path, store: Path) -> dict[str, Any]:
    """Read public hands, and return the numbers of the page."""
    began = time.process_time()
    found = read_hands(folder, store=store / "hands")
    seconds = time.process_time() - began
    counts = count_decisions(found.hands, [PLAYER])
    pool = count_decisions(found.hands, [PLAYER], others=True)
    rows = [row for row in counts.rows(pool=pool) if row["taken"] and row["street"] != "preflop"]
    report = find_leaks(
        found.hands,
        [PLAYER],
        ranges_of_hands(found.hands),
        street="river",
        tolerance=0.1,
        target="1%",
        store=store / "river",
        progress=lambda done, of: print(f"{done} of {of} spots", flush=True),
    )
    sessions = report.sessions.values()
    return {
        **origin(),
        "hands": len(found.hands),
        "files": found.files,
        "reasons": found.reasons,
        "seconds": seconds,
        "decisions": counts.decisions,
        "frequencies": [
            {key: row[key] for key in ("street", "position", "line", "decisions", "action")}
            | {key: round(row[key], 4) for key in ("frequency", "low", "high")}
            for row in rows[:12]
        ],
        "spots": report.spots,
        "solved": report.solved,
        "priced": len(report.decisions),
        "cost": report.cost,
        "unpriced": report.unpriced,
        "sessions": len(sessions),
        "leaks": [
            [str(leak.situation), leak.action, leak.costly, leak.decisions, *_ends(leak.cost)]
            for leak in report.leaks[:10]
        ],
    }


def planted() -> dict[str, Any]:
    """Play an artificial player with three leaks, and return the numbers of the page."""
    game = compile_game("holdem", **SPOT)
    solution = solve(game, target=TARGET)
    (weak,) = with_changes(game, solution.policy, 1, [_planted])
    price = _prices(solution, weak)
    order = sorted(PLANTED, key=lambda key: -price[key])
    ranges = dict(zip(("oop", "ip"), SPOT["ranges"], strict=True))
    sizes = {key: SPOT[key] for key in ("bets", "raises", "big_blind")}
    found, responses = [], []
    for seed in SEEDS:
        plays = simulate(game, weak, PLAYED, seed=seed)
        text = phh_text(hands_of_plays(plays, ("solver", "weak")))
        hands = parse_hands(text).hands
        report = find_leaks(
            hands, ["weak"], ranges, street="river", tolerance=0, target=TARGET, options=sizes
        )
        top = [(leak.situation.line, leak.action) for leak in report.leaks[: len(order)]]
        intervals = {(leak.situation.line, leak.action): leak.cost for leak in report.leaks}
        found.append(
            {
                "right_order": top == order,
                "leaks": [
                    [*key, price[key] * PLAYED / SPOT["big_blind"], *_ends(intervals[key])]
                    for key in order
                ],
            }
        )
        model = hand_model(solution, 1, count_decisions(hands, ["weak"]))
        answer = robust_responses(
            game, None, 0, model=model.policy, method="restricted", weights=[0.25, 0.5]
        )
        for k, weight in enumerate(answer.weights.tolist()):
            profile = seated((answer.policies[k], weak))
            held_back = simulate(game, profile, PLAYED, seed=1000 + seed)
            paid = aivat(held_back, profile, baseline=solution.policy, known=[0]).intervals()[0]
            exact = evaluate_probabilities(game, profile.probabilities).values[0]
            responses.append([weight, float(answer.against_model[k]), *_ends(paid), float(exact)])
    return {**origin(), "found": found, "responses": responses}


def curve() -> dict[str, Any]:
    """Compute gain and risk of responses on a flop, and return the numbers of the page."""
    game = compile_game("holdem", **FLOP)
    limits: dict[str, Any] = {"target": CURVE_TARGET, "threads": 2}
    solution = solve(game, **limits)
    (price,) = incentive_prices(solution, 1, PAID, **limits)
    methods = {}
    for method in ("restricted",):
        # The first call compiles kernels.
        robust_responses(game, None, 0, model=price.policy, method=method, weights=(), iters=1)
        began, began_cpu = time.perf_counter(), time.process_time()
        found = robust_responses(
            game, None, 0, model=price.policy, method=method, weights=WEIGHTS, **limits
        )
        methods[method] = {
            "seconds": time.perf_counter() - began,
            "cpu": time.process_time() - began_cpu,
            "weights": found.weights.tolist(),
            "gain": found.gain.tolist(),
            "risk": found.risk.tolist(),
            "gaps": found.gaps.tolist(),
        }
        print(method, methods[method], flush=True)
    hands = [len(h) for h in game.nodes.rules.hands]  # type: ignore[union-attr]
    return {
        **origin(),
        "hands": hands,
        "infosets": game.n_infosets,
        "price": [price.paid_before, price.paid, price.against_solution, price.against_best],
        "methods": methods,
    }


def habits() -> dict[str, Any]:
    """Compute the prices of habits on the flop, and return the numbers of the page."""
    solution = solve(compile_game("holdem", **FLOP), target=CURVE_TARGET, threads=2)
    began = time.process_time()
    prices = habit_prices(solution, 1, HABITS)
    seconds = time.process_time() - began
    costs = [
        ["; ".join(price.habits), price.against_solution, price.against_best] for price in prices
    ]
    return {**origin(), "seconds": seconds, "costs": costs}


def _planted(decision: SpotDecision) -> np.ndarray:
    """Return the strategy of the artificial player at a decision."""
    strategy = decision.strategy
    for (line, word), more in PLANTED.items():
        if decision.line == line:
            frequency = frequencies_of(strategy, decision.weight)
            action = decision.classes.index(word)
            wanted = (1.0 - more) * frequency
            wanted[:, action] += more
            strategy = shift_frequencies(strategy, decision.weight, wanted)
    return strategy


def _prices(solution: Solution, weak: Policy) -> dict[tuple[str, str], float]:
    """Return the expected cost per hand of each action at each line, in chips."""
    values, prices = Values(solution.policy), dict[tuple[str, str], float]()
    for decision in spot_decisions(solution.game, weak, 1):
        node = int(decision.nodes[0])  # A river has one board.
        expected = values.at_node(node).expected
        hands = np.flatnonzero(values.nodes.possible(node, 1))
        cost = np.nan_to_num(expected.max(axis=1, keepdims=True) - expected)
        played = decision.weight[0, hands, None] * decision.strategy[0, hands]
        for k, word in enumerate(decision.classes):
            key = decision.line, word
            prices[key] = prices.get(key, 0.0) + float(played[:, k] @ cost[:, k])
    return prices


def _ends(interval: Interval) -> list[float]:
    return [interval.mean, interval.low, interval.high]


def page() -> None:
    """Write the page from the stored numbers."""
    stored = read_json(FILE)
    read, artificial = stored["public"], stored["planted"]
    reasons = table(("reason", "hands"), list(read["reasons"].items()))
    frequencies = table(
        ("decision", "counted", "action", "frequency", "95 % interval"),
        [
            (
                f"{row['position']}, {row['street']}, {row['line'] or 'first to act'}",
                f"{row['decisions']:,}",
                row["action"],
                f"{row['frequency']:.1%}",
                f"{row['low']:.1%} to {row['high']:.1%}",
            )
            for row in read["frequencies"]
        ],
    )
    leaks = table(
        ("situation", "action", "costly", "big blinds", "95 % interval"),
        [
            (where, action, f"{costly} of {count}", f"{mean:.1f}", f"{low:.1f} to {high:.1f}")
            for where, action, costly, count, mean, low, high in read["leaks"]
        ],
    )
    unpriced = table(("without a price", "number"), list(read["unpriced"].items()))
    public_text = (
        f"{read['hands']:,} hands of {read['files']:,} files are read in {read['seconds']:.0f} s "
        f"of processor time; not read:\n\n{reasons}\n\n"
        f"{PLAYER} made {read['decisions']:,} decisions. The most frequent ones after the flop, "
        f"on all boards:\n\n{frequencies}\n\n"
        f"{read['solved']:,} of {read['spots']:,} river spots are solved; {read['priced']:,} "
        f"decisions cost {read['cost']:,.0f} big blinds, in {read['sessions']} sessions. The most "
        f"expensive ones:\n\n{leaks}\n\n{unpriced}\n\n{origin_of(read)}"
    )
    rows, inside = [], 0
    for seed, run in enumerate(artificial["found"]):
        for line, action, price, mean, low, high in run["leaks"]:
            inside += low <= price <= high
            interval = f"{low:.1f} to {high:.1f}"
            rows.append((seed, f"{action} after {line}", f"{price:.1f}", f"{mean:.1f}", interval))
    head = ("sample", "leak", "true price", "found", "95 % interval")
    ordered = sum(run["right_order"] for run in artificial["found"])
    planted_text = (
        f"The three leaks are the first three of the report, in the right order, in {ordered} of "
        f"{len(artificial['found'])} samples; {inside} of {len(rows)} prices lie within their "
        f"interval (in big blinds, for {PLAYED:,} hands).\n\n{table(head, rows)}"
    )
    rows, inside = [], 0
    for weight, promise, mean, low, high, exact in artificial["responses"]:
        inside += low <= promise <= high
        interval = f"{low:+.2f} to {high:+.2f}"
        rows.append((f"{weight:g}", f"{promise:+.2f}", f"{mean:+.2f}", interval, f"{exact:+.2f}"))
    head = ("trust", "promised", "by AIVAT", "95 % interval", "exactly")
    response_text = (
        f"{inside} of {len(rows)} promises lie within the interval (in chips per hand; the pot is "
        f"{SPOT['pot']}).\n\n{table(head, rows)}\n\n{origin_of(artificial)}"
    )
    parts = {"public": public_text, "planted": planted_text, "responses": response_text}
    if "curve" in stored:
        parts["curve"] = _curve_text(stored["curve"])
    if "habits" in stored:
        found = stored["habits"]
        rows = [(text, f"{cost:.2f}", f"{best:.2f}") for text, cost, best in found["costs"]]
        rows[-1] = "all", *rows[-1][1:]
        prices = table(("habit", "against the solution", "against a best response"), rows)
        parts["habits"] = (
            f"The prices take {found['seconds']:.0f} s of processor time.\n\n{prices}\n\n"
            f"{origin_of(found)}"
        )
    write_parts(PAGE, "played_hands", parts)


def _curve_text(found: dict[str, Any]) -> str:
    """Return the part of the page about the curve."""
    before, paid, against_solution, against_best = found["price"]
    rows, times = [], []
    for method, of_method in found["methods"].items():
        times.append(f"{of_method['cpu']:.0f} s of processor time for {method} responses")
        columns = (of_method[name] for name in ("weights", "gain", "risk", "gaps"))
        rows += [
            (method, f"{weight:g}", f"{gain:+.3f}", f"{risk:+.3f}", f"{gap:.2f}")
            for weight, gain, risk, gap in zip(*columns, strict=True)
        ]
    head = ("responses", "trust", "gain", "risk", "gap")
    return (
        f"{found['hands'][0]} and {found['hands'][1]} hands, {found['infosets']:,} infosets, "
        f"solved to {CURVE_TARGET} of the pot of {FLOP['pot']}. The payment `{PAID}` costs the "
        f"player {against_solution:.2f} chips against the solution and {against_best:.2f} against "
        f"a best response; expected payments grow from {before:.2f} to {paid:.2f}. The curve takes "
        f"{' and '.join(times)}, on two threads together (without compiling kernels).\n\n"
        f"{table(head, rows)}\n\n{origin_of(found)}"
    )


def main() -> None:
    """Measure, or write the page."""
    parser = arguments(__doc__)
    parser.add_argument("what", choices=("public", "planted", "curve", "habits", "page"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--store", type=Path, default=Path("played_hands"))
    options = parser.parse_args()
    if options.what == "public" and options.folder is None:
        parser.error("public needs a folder of hands")
    measures = {
        "public": lambda: public(options.folder, options.store),
        **{"planted": planted, "curve": curve, "habits": habits},
    }
    if options.what in measures:
        write_json(FILE, read_json(FILE) | {options.what: measures[options.what]()})
    if {"public", "planted"} <= read_json(FILE).keys():
        page()


if __name__ == "__main__":
    main()
