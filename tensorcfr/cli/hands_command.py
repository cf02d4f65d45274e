"""Command ``hands``: played hands as counts, models, leak reports and files of other programs."""

from __future__ import annotations

import json
import tomllib
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .._util.files import replacing
from ..analysis.table_files import save_rows
from ..errors import suggest
from ..formats import save_policy
from ..formats.policies import FORMATS
from ..hands import (
    DecisionCounts,
    HandsRead,
    count_decisions,
    find_leaks,
    hand_model,
    ranges_of_hands,
    read_hands,
    save_hands,
)
from ..hands.played_hands import STREETS
from ..hands.situations import POTS
from ..hands.writing import ENDINGS
from ..model.sequence_table import find_format
from ..solvers.solution import Solution
from . import argument_parsers
from .console import progress_bar
from .declared_options import FromZero, Json, Output, Threads, command
from .json_output import print_json
from .report import print_lines
from .spot_options import read_sizes

SEEN = "seen"
"""Value of ``--ranges`` for ranges from hands with known cards."""
LATER_STREETS = STREETS[1:]
"""Streets on which a spot may begin."""


@dataclass(frozen=True)
class HandsOptions:
    """Options of ``hands``.

    Options:
        folder: A file of hands, or a folder with such files (PHH, site texts).
        players (NAME): Count the player of this name; repeatable.
        store (FOLDER): Keep read hands and solved spots in this folder; the same command continues.
        failures (FILE): Write hands that were not read to this file (.csv).
        spot (FILE): Make a model of the player in this solved spot (.npz), for 'tensorcfr respond'.
        seat: Seat of the modelled player in the spot; 0 acts first.
        output: Write the model to this file (csv, json, parquet, npz).
        ranges (FILE): Report leaks with the ranges in this file (.toml), or 'seen' for those of
            hands with known cards.
        street: Begin spots on this street, one of {LATER_STREETS}.
        most: Solve at most this many new spots this time.
        write (FILE): Write the hands to this file ({ENDINGS}); .txt is for trackers.

    Settings:
        table: Write frequencies by situation to this file (csv, json, parquet).
        counts (FILE): Write counts of the model to this file (.json) for --counts.
        pot_class: Class of the pot of the spot, one of {POTS}.
        bets (SIZES): Set bets of the spots, {SIZES}.
        raises (SIZES): Set raises of the spots, {SIZES}.
        tolerance: Solve stacks of hands together if they differ by less.
        decisions (FILE): Write all priced decisions to this file (csv, json, parquet).
        rows: Print this many lines.
    """

    folder: Path
    _: KW_ONLY
    players: Annotated[list[str] | None, typer.Option("--name")] = None
    store: Path | None = None
    failures: Path | None = None
    table: Path | None = None
    spot: Path | None = None
    seat: Annotated[int, typer.Option(min=0, max=1)] = 1
    output: Output = None
    counts: Path | None = None
    pot_class: str | None = None
    ranges: str | None = None
    street: str = STREETS[1]
    most: Annotated[int | None, typer.Option(min=0)] = None
    bets: list[str] | None = None
    raises: list[str] | None = None
    tolerance: Annotated[float, typer.Option(min=0, max=1)] = 0.05
    target: str | None = None
    threads: Threads = 1
    decisions: Path | None = None
    write: Path | None = None
    rows: FromZero = 20
    as_json: Json = False


@command(HandsOptions)
def hands(options: HandsOptions) -> None:
    """Read played hands; count them, model a player, find leaks, or write them.

    Hands that cannot be read are listed by reason. For example 'tensorcfr hands histories --name
    Hero --ranges ranges.toml --store work'.
    """
    ranges = _check(options)
    with progress_bar(total=1.0) as move:

        def show(done: int, count: int) -> None:
            move(description="reading", completed=done / count, figures=f"{done:,} of {count:,}")

        result = read_hands(options.folder, store=options.store, progress=show)
    players = options.players or None
    if players:
        names = {name for hand in result.hands for name in hand.players}
        for name in players:
            if name not in names:
                raise ValueError(f"--name {name}: {suggest(name, sorted(names))}")
    counted = count_decisions(result.hands, players)
    pool = count_decisions(result.hands, players, others=True) if players else None
    lines, document = str(result).splitlines(), _document(result)
    lines.append(f"{counted.decisions:,} decisions in {counted.hands:,} hands")
    if options.failures:
        rows = [failure._asdict() for failure in result.failures]
        lines.append(f"wrote {save_rows(rows, options.failures)}")
    if options.table:
        lines.append(f"wrote {counted.save(options.table, level=0, pool=pool)}")
    if options.write:
        lines.append(f"wrote {save_hands(result.hands, options.write)}")
    if options.spot:
        lines += _model(options, counted, pool)
    if ranges is not None:
        if options.ranges == SEEN:
            ranges = ranges_of_hands(result.hands)
        text, part = _leaks(options, result, players, ranges)
        lines += text
        document |= part
    elif not options.spot:
        lines += _frequencies(counted, pool, options.rows)
    if options.as_json:
        print_json(document)
    else:
        print_lines(*lines)


def _check(options: HandsOptions) -> dict[str, str] | None:
    """Check that options fit together and files are writable; return the ranges of a report."""
    for name in ("failures", "table", "output", "counts", "decisions", "write"):
        argument_parsers.check_target(f"--{name}", getattr(options, name))
    if options.failures and options.failures.suffix != ".csv":
        raise ValueError(f"--failures {options.failures}: the name of the file must end in .csv")
    if options.counts and options.counts.suffix != ".json":
        raise ValueError(f"--counts {options.counts}: the name of the file must end in .json")
    if options.write and options.write.suffix.lower() not in ENDINGS:
        raise ValueError(f"--write {options.write}: the name must end in {', '.join(ENDINGS)}")
    if options.output:
        find_format(options.output, None, FORMATS)
    if (options.output or options.counts) and not options.spot:
        raise ValueError("--output and --counts write the model of --spot, which is missing")
    if options.spot and not (options.output or options.counts):
        raise ValueError("--spot makes a model; give --output or --counts")
    if options.street not in LATER_STREETS:
        raise ValueError(f"--street {options.street}: {suggest(options.street, LATER_STREETS)}")
    if options.pot_class is not None and options.pot_class not in POTS:
        raise ValueError(f"--pot-class {options.pot_class}: {suggest(options.pot_class, POTS)}")
    argument_parsers.read_target(options.target)
    if options.ranges is None:
        if options.decisions or options.most is not None:
            raise ValueError("--decisions and --most belong to the report of --ranges")
        return None
    return {} if options.ranges == SEEN else _read_ranges(Path(options.ranges))


def _read_ranges(path: Path) -> dict[str, str]:
    """Read the ranges of a TOML file, by key."""
    try:
        ranges = tomllib.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"--ranges {path}: {error}") from None
    for key, text in ranges.items():
        if not isinstance(text, str):
            raise ValueError(f"--ranges {path}: {key!r} must be a range in quotes")
    return ranges


def _document(result: HandsRead) -> dict[str, Any]:
    return {"hands": len(result.hands), "files": result.files, "not_read": result.reasons}


def _model(
    options: HandsOptions, counted: DecisionCounts, pool: DecisionCounts | None
) -> list[str]:
    """Make the model of a spot, and return lines about it."""
    assert options.spot is not None
    solution = Solution.load(options.spot, registered=False)
    model = hand_model(solution, options.seat, counted, pool=pool, pot_class=options.pot_class)
    lines = [f"model of player {options.seat} at {len(model.decisions):,} decisions"]
    for decision in model.decisions[: options.rows]:
        shares = (
            f"{label} {decision.model[label]:.0%} ({share:.0%})"
            for label, share in decision.solution.items()
        )
        lines.append(f"  {decision.decisions:6,}  {decision.label}: {', '.join(shares)}")
    if options.output:
        save_policy(model.policy, options.output)
        lines.append(f"wrote {options.output}")
    if options.counts:
        with replacing(options.counts) as file:
            file.write(json.dumps(model.counts()).encode())
        lines.append(f"wrote {options.counts}")
    return lines


def _frequencies(counted: DecisionCounts, pool: DecisionCounts | None, count: int) -> list[str]:
    """Return lines with the frequencies of the most frequent situations."""
    lines: dict[str, list[str]] = {}
    for row in counted.rows(pool=pool):
        line = row["line"] or "first to act"
        name = f"{row['decisions']:6,}  {row['position']}, {row['street']}, {line}:"
        text = f"{row['action']} {row['frequency']:.0%} [{row['low']:.0%}, {row['high']:.0%}]"
        if row["taken"]:
            lines.setdefault(name, []).append(text)
    return [f"{name} {', '.join(texts)}" for name, texts in list(lines.items())[:count]]


def _leaks(
    options: HandsOptions,
    result: HandsRead,
    players: list[str] | None,
    ranges: dict[str, str],
) -> tuple[list[str], dict[str, Any]]:
    """Make the leak report, and return its lines and its document."""
    sizes = {
        "bets": read_sizes("--bets", options.bets),
        "raises": read_sizes("--raises", options.raises),
    }
    with progress_bar(total=1.0) as move:

        def solved(done: int, count: int) -> None:
            figures = f"{done:,} of {count:,} spots"
            move(description="solving", completed=done / count, figures=figures)

        report = find_leaks(
            result.hands,
            players,
            ranges,
            street=options.street,
            tolerance=options.tolerance,
            options={name: text for name, text in sizes.items() if text is not None},
            target=argument_parsers.read_target(options.target) or "0.5%",
            store=options.store,
            most=options.most,
            progress=solved,
            threads=options.threads,
        )
    lines = str(report).splitlines()
    if options.decisions:
        rows = [
            decision._asdict() | {"situation": str(decision.situation)}
            for decision in report.decisions
        ]
        lines.append(f"wrote {save_rows(rows, options.decisions)}")
    leaks = [
        {
            "situation": str(leak.situation),
            "action": leak.action,
            "decisions": leak.decisions,
            "costly": leak.costly,
            "cost_bb": asdict(leak.cost) | {"low": leak.cost.low, "high": leak.cost.high},
            "money": leak.money,
        }
        for leak in report.leaks
    ]
    sessions = {
        name: {"hands": n, "won_bb": asdict(won), "without_luck_bb": asdict(adjusted)}
        for name, (n, won, adjusted) in report.sessions.items()
    }
    return lines, {"leaks": leaks, "no_price": report.unpriced, "sessions": sessions}
