"""Tables of docs/results/speed.md: tensorcfr and other programs, all from one run.

``python -m benchmarks.compare`` measures (some three minutes), writes
``benchmarks/results/speed.json`` and ``docs/results/speed.md``, and prints the latter.
``--quick`` skips solving to a target, which takes longest; ``--stored`` measures nothing and
writes the page again.  ``python -m scripts.headlines`` writes a figure of it into README.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import tensorcfr

from ._common import (
    CONTESTS,
    RESULTS,
    ROOT,
    TIMES,
    TOOLS,
    Contest,
    Runner,
    TensorCFR,
    available,
    duration,
    installed_tools,
    interleaved,
    machine,
    machine_lines,
    megabytes,
    progress,
    ratio,
    significant,
    table,
)
from .first_contact import first_contact
from .first_contact import markdown as first_contact_markdown
from .footprint import footprint

COMMAND = "python -m benchmarks.compare"
ROUNDS = 7
TARGETS = (1e-2, 1e-3, 1e-4)
"""Exploitabilities to reach."""
TARGET_BUDGET = 4.0
"""Seconds of iterating that a tool gets to reach them."""
DISTURBED = 1.15
"""Wall time over CPU time from which a figure is marked as taken on a busy machine."""


def compare_iterations(contest: Contest) -> dict[str, Any]:
    """Measure one game: every tool, iteration by iteration, and further quantities."""
    runners = {tool: TOOLS[tool](contest, "cfr") for tool in installed_tools()}
    check_agreement(contest)
    timings = interleaved(
        {tool: runner.iterate for tool, runner in runners.items()},
        rounds=ROUNDS,
        fixed={tool: contest.iterations for tool in runners if tool != "tensorcfr"},
    )
    ours = timings["tensorcfr"]
    own = runners["tensorcfr"]
    assert isinstance(own, TensorCFR)
    imported = {}
    if available("OpenSpiel"):
        import pyspiel

        solver = tensorcfr.Solver(
            tensorcfr.compile_game(pyspiel.load_game(contest.openspiel)), "cfr"
        )
        imported["imported"] = solver.iterate
    extra = interleaved(
        {
            "iteration": own.iterate,
            **imported,
            "evaluation": _repeated(own.exploitability),
            "single step": _repeated(lambda: own.iterate(1)),
            "CFR+ iteration": TensorCFR(contest, "cfr+").iterate,
        },
        rounds=ROUNDS,
        round_seconds=0.05,
    )
    return {
        "histories": own.game.n_histories,
        "infosets": own.game.n_infosets,
        "sequences": own.game.n_sequences,
        "solved_sequences": own.game.solver_form.n_sequences,
        "tools": {
            tool: timing.to_dict()
            | {
                "ratio": ratio(timing, ours),
                "first_ratio": timing.cpu[0] / ours.cpu[0],
                "last_ratio": timing.cpu[-1] / ours.cpu[-1],
            }
            for tool, timing in timings.items()
        },
        "tensorcfr": {
            "evaluation_seconds": extra["evaluation"].seconds,
            "evaluation_in_iterations": ratio(extra["evaluation"], extra["iteration"]),
            "evaluation_in_single_steps": ratio(extra["evaluation"], extra["single step"]),
            "single_step_seconds": extra["single step"].seconds,
            "cfr_plus_seconds": extra["CFR+ iteration"].seconds,
            "imported_in_iterations": (
                ratio(extra["imported"], extra["iteration"]) if imported else None
            ),
        },
    }


def check_agreement(contest: Contest) -> None:
    """Check that the compared tools compute the same values."""
    if not available("OpenSpiel"):
        return
    found = []
    for tool in ("tensorcfr", "OpenSpiel"):
        runner = TOOLS[tool](contest, "cfr")
        runner.iterate(contest.agree_after)
        found.append(runner.exploitability())
    if abs(found[0] - found[1]) > 1e-9:
        raise RuntimeError(
            f"{contest.name}: after {contest.agree_after} iterations tensorcfr has "
            f"exploitability {found[0]!r} and OpenSpiel {found[1]!r}"
        )


def _repeated(call: Callable[[], object]) -> Callable[[int], None]:
    """Return a function that calls another one several times."""

    def step(times: int) -> None:
        for _ in range(times):
            call()

    return step


def compile_rate(contest: Contest) -> dict[str, Any]:
    """Return histories per CPU second, from the built-in rules and from the OpenSpiel game."""
    sources: dict[str, Any] = {"built_in": lambda: contest.spec}
    if available("OpenSpiel"):
        import pyspiel

        sources["from_openspiel"] = lambda: pyspiel.load_game(contest.openspiel)
    rates = {}
    for name, source in sources.items():
        spent = []
        while not spent or (sum(spent) < 0.3 and len(spent) < 7):
            started = time.process_time()
            game = tensorcfr.compile_game(source())
            spent.append(time.process_time() - started)
        seconds = statistics.median(spent)
        rates[name] = {"seconds": seconds, "histories_per_second": game.n_histories / seconds}
    return rates


def time_to_targets(contest: Contest) -> dict[str, Any]:
    """Run CFR+ with every tool; return iterations and CPU seconds to each target, and the whole
    curve."""
    found: dict[str, Any] = {}
    for tool in ("tensorcfr", "OpenSpiel", "LiteEFG"):
        if not available(tool):
            continue
        progress(f"  {tool} to {TARGETS[-1]:g} …")
        curve = exploitability_curve(TOOLS[tool](contest, "cfr+"))
        reached = {
            f"{target:g}": next((mark for mark in curve if mark["exploitability"] <= target), None)
            for target in TARGETS
        }
        found[tool] = {"reached": reached, "curve": curve}
    if "OpenSpiel" in found:
        _estimate(found["OpenSpiel"], found["tensorcfr"])
    return found


def exploitability_curve(
    runner: Runner, target: float = TARGETS[-1], budget: float = TARGET_BUDGET
) -> list[dict[str, Any]]:
    """Return exploitability against CPU seconds of iterating, until the target or the budget."""
    curve: list[dict[str, Any]] = []
    iterations, seconds, step = 0, 0.0, 1
    while True:
        started = time.process_time()
        runner.iterate(step)
        seconds += time.process_time() - started
        iterations += step
        curve.append(
            {
                "iterations": iterations,
                "seconds": seconds,
                "exploitability": runner.exploitability(),
            }
        )
        if curve[-1]["exploitability"] <= target or seconds > budget:
            return curve
        step = max(1, iterations // 8)


def _estimate(found: dict[str, Any], ours: dict[str, Any]) -> None:
    """Estimate the time of OpenSpiel beyond its budget; the same algorithm needs equally many
    iterations."""
    before, last = found["curve"][-2:]
    each = (last["seconds"] - before["seconds"]) / (last["iterations"] - before["iterations"])
    for target, mark in found["reached"].items():
        if mark is None and (own := ours["reached"][target]) is not None:
            found["reached"][target] = {
                "iterations": own["iterations"],
                "seconds": last["seconds"] + each * (own["iterations"] - last["iterations"]),
                "estimated": True,
            }


def measure(*, quick: bool) -> dict[str, Any]:
    """Measure everything."""
    found: dict[str, Any] = {"command": COMMAND, "machine": machine(), "games": {}}
    for contest in CONTESTS.values():
        progress(f"{contest.title}: set-up and memory …")
        tools = [tool for tool in ("tensorcfr", "OpenSpiel", "LiteEFG") if available(tool)]
        footprints = {tool: footprint(contest.name, tool) for tool in tools}
        progress(f"{contest.title}: iterations …")
        game = compare_iterations(contest)
        game["footprint"] = footprints
        game["compile"] = compile_rate(contest)
        if not quick:
            progress(f"{contest.title}: to targets …")
            game["targets"] = time_to_targets(contest)
        found["games"][contest.name] = game
    progress("fresh processes …")
    found["first_contact"] = first_contact(
        warm_rounds=3 if quick else 7, cold_rounds=1 if quick else 2
    )
    return found


# The page


def markdown(found: dict[str, Any]) -> str:
    """Return the text of docs/results/speed.md."""
    sections = [
        "# Results: speed\n\nHow fast is an iteration, next to OpenSpiel and LiteEFG?  All tools "
        f"take turns in one run, on one core.  `{found['command']}` writes this page.  "
        "[The field](field.md#the-bound) compares iterations with the bandwidth of the memory.\n\n"
        f"{machine_lines(found['machine'])}",
        _iterations_section(found),
        _targets_section(found),
        _set_up_section(found),
        _inside_section(found),
        _scaling_section(),
        "## First contact\n\nTime from the start of the interpreter to the first printed line "
        "(the import: inside the process); medians.  The difference, "
        f"{duration(found['first_contact']['jit_seconds'])}, is JIT compilation, once per "
        "machine.\n\n" + first_contact_markdown(found["first_contact"]),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _rows(found: dict[str, Any], cells: Callable[[Contest, dict[str, Any]], list[str]]) -> Any:
    """Return one row per game."""
    return [
        [contest.title, *cells(contest, found["games"][name])]
        for name, contest in CONTESTS.items()
        if name in found["games"]
    ]


def _iterations_section(found: dict[str, Any]) -> str:
    disturbed = max(
        timing["disturbance"]
        for game in found["games"].values()
        for timing in game["tools"].values()
    )
    note = (
        f"\n\n*Other programs were running (wall time up to {disturbed:.1f} times CPU time): "
        "ratios hold, absolute times run high.*"
        if disturbed > DISTURBED
        else ""
    )
    tools = next(iter(found["games"].values()))["tools"]
    peers = [tool for tool in tools if tool != "tensorcfr"]
    return (
        "## Time per iteration\n\n"
        "One CFR iteration that updates both players and the average, float64, after "
        f"compilation: median CPU time of {ROUNDS} rounds; {TIMES} is the median of the ratios "
        f"within a round.{_remarks(found) if peers else ''}\n\n"
        + _iterations_table(found, peers)
        + note
    )


def _iterations_table(found: dict[str, Any], peers: list[str]) -> str:
    def cells(contest: Contest, game: dict[str, Any]) -> list[str]:
        row = [f"{game['histories']:,}", duration(game["tools"]["tensorcfr"]["seconds"])]
        for peer in peers:
            timing = game["tools"][peer]
            row += [duration(timing["seconds"]), f"**{significant(timing['ratio'])}{TIMES}**"]
        return row

    return table(
        ["game", "histories", "tensorcfr", *(c for peer in peers for c in (peer, TIMES))],
        _rows(found, cells),
    )


def _remarks(found: dict[str, Any]) -> str:
    """Return remarks on the times of other programs."""
    per_round = ", ".join(f"{c.iterations:,} ({c.name})" for c in CONTESTS.values())
    remarks = (
        f"  A peer's round is {per_round} iterations, after a quarter as many to fill the "
        "caches.  LiteEFG's CFR updates both players at once; *alternating* makes it update one "
        "after the other, as the other two do."
    )
    dice = found["games"]["liars_dice"]["tools"].get("OpenSpiel")
    if dice:
        first, last = significant(dice["first_ratio"]), significant(dice["last_ratio"])
        remarks += (
            "  OpenSpiel skips histories with reach 0, so its iterations become cheaper as "
            f"strategies become sparse.  In liar's dice its first round took {first} times as "
            f"long as tensorcfr's, its last {last} times."
        )
    return remarks


def _targets_section(found: dict[str, Any]) -> str:
    if not all("targets" in game for game in found["games"].values()):
        return ""
    rows = []
    for name, contest in CONTESTS.items():
        for tool, result in found["games"][name]["targets"].items():
            marks = result["reached"].values()
            rows.append([contest.title, tool, *(_reached(mark) for mark in marks)])
    return (
        "## Exploitability against time\n\n"
        "CPU seconds of CFR+ (iterations in brackets) until the average strategy's exploitability "
        "(nash_conv / 2, in the game's unit) was at or below the target, without set-up and "
        f"evaluation.  Each tool had {TARGET_BUDGET:g} seconds; ≈ extrapolates at the last "
        "pace to the number of iterations that the same algorithm took in tensorcfr.\n\n"
        + table(["game", "tool", *(f"{target:g}" for target in TARGETS)], rows)
    )


def _reached(mark: dict[str, Any] | None) -> str:
    if mark is None:
        return f"> {TARGET_BUDGET:g} s"
    about = "≈ " if mark.get("estimated") else ""
    return f"{about}{duration(mark['seconds'])} ({mark['iterations']:,})"


def _set_up_section(found: dict[str, Any]) -> str:
    tools = next(iter(found["games"].values()))["footprint"]

    def cells(contest: Contest, game: dict[str, Any]) -> list[str]:
        row = []
        for tool in tools:
            measured = game["footprint"][tool]
            row += [
                duration(measured["set_up_seconds"]),
                f"{_memory(measured['held_bytes'])} ({_memory(measured['peak_bytes'])})",
            ]
        return row

    return (
        "## Set-up and memory\n\n"
        "CPU time to load or compile the game and to build the solver, in a fresh process per "
        "tool, and the memory that this and three iterations add (in brackets: at the peak).  "
        "LiteEFG's set-up includes writing the game out as text, once per machine.\n\n"
        + table(
            ["game", *(c for tool in tools for c in (f"{tool} set-up", "memory (peak)"))],
            _rows(found, cells),
        )
    )


def _memory(n_bytes: int) -> str:
    """Format bytes of memory; the measure is too coarse for the smallest games."""
    return megabytes(n_bytes) if n_bytes >= 1e5 else "< 0.1 MB"


def _inside_section(found: dict[str, Any]) -> str:
    def cells(contest: Contest, game: dict[str, Any]) -> list[str]:
        own, compiling = game["tensorcfr"], game["compile"]
        rates = [
            f"{compiling[source]['histories_per_second'] / 1e6:.2f} M/s"
            for source in ("built_in", "from_openspiel")
            if source in compiling
        ]
        if len(rates) == 1:
            rates.append("")
        return [
            *rates,
            f"{own['imported_in_iterations']:.2f}" if own["imported_in_iterations"] else "",
            duration(own["cfr_plus_seconds"]),
            duration(own["single_step_seconds"]),
            duration(own["evaluation_seconds"]),
            f"{own['evaluation_in_single_steps']:.2f}",
        ]

    return (
        "## Inside tensorcfr\n\n"
        "- *compile*, *from OpenSpiel*: histories compiled per second, from the built-in rules and "
        "from the OpenSpiel game.\n"
        "- *imported*: time of an iteration of the imported game, divided by the built-in game's.\n"
        "- *CFR+ iteration*: within a longer run.\n"
        "- `step(1)`: one call of `Solver.iterate(1)` in CFR, for a loop of your own.\n"
        "- `evaluate()`: one call of `Solver.evaluate()` (values, best responses, exploitability), "
        "also divided by the time of `step(1)` (*in steps*).\n\n"
        + table(
            [
                "game",
                "compile",
                "from OpenSpiel",
                "imported",
                "CFR+ iteration",
                "`iterate(1)`",
                "`evaluate()`",
                "in steps",
            ],
            _rows(found, cells),
        )
    )


def _scaling_section() -> str:
    if not (ROOT / "docs" / "scaling.png").exists():
        return ""
    return (
        "## As games grow\n\n"
        "`python -m benchmarks.scaling` draws the picture and prints the figures.  Left: games "
        "as they are solved, with symmetries merged and without forced decisions.  "
        "Right: all arrays of game and solver.\n\n"
        "![Seconds per iteration, and bytes, against the number of infosets of eight families of "
        "games](../scaling.png)"
    )


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--quick", action="store_true", help="skip solving to a target")
    parser.add_argument("--stored", action="store_true", help="write the last figures again")
    options = parser.parse_args()
    started = time.perf_counter()
    stored = RESULTS / "speed.json"
    found = json.loads(stored.read_text()) if options.stored else measure(quick=options.quick)
    RESULTS.mkdir(exist_ok=True)
    stored.write_text(json.dumps(found, indent=1) + "\n")
    page = markdown(found)
    (ROOT / "docs" / "results" / "speed.md").write_text(page)
    print(page)
    progress(f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
