"""Bad calls of every public function, of every game and algorithm, and of the command line.

``python -m scripts.bad_calls [--seed 0] [--most 100000]`` makes good calls with one bad argument,
which gets each of :data:`VALUES`.  A call must raise a ValueError or TypeError (or one of the
library's own errors) that names the argument; a command must print it in one line and end with
status 2.  Accepted values are listed with the rule that allows them; anything else is a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import inspect
import itertools
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import tensorcfr
from tensorcfr import (
    GAMES,
    Policy,
    SampledSolver,
    Solution,
    Solver,
    abstraction,
    analysis,
    formats,
    hands,
    sweep,
)
from tensorcfr._util.argument_checks import Check, Where, Whole, checks_of
from tensorcfr.algorithms import ALGORITHMS, Deep
from tensorcfr.errors import MemoryLimitError, SweepError
from tensorcfr.formats import save_spot
from tensorcfr.games import incentives, make_game, tournaments
from tensorcfr.model.game_arguments import LOCKS
from tensorcfr.solvers.solver_arguments import STEPS

SECONDS = 20
"""A call that takes longer hangs."""

VALUES: dict[str, Any] = {
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "-1": -1,
    "0": 0,
    "2**63": 2**63,
    "10**400": 10**400,
    "1.5": 1.5,
    "True": True,
    "empty text": "",
    "blank": " ",
    "NUL": "\0",
    "huge text": "x" * 10**6,
    "surrogate": "\ud800",
    "bytes": b"x",
    "[]": [],
    "()": (),
    "{}": {},
    "set": {1, 2},
    "object": object(),
    "type": int,
    "function": lambda: None,
    "range": range(0),
    "[nan]": [float("nan")],
    "[None]": [None],
    "{'a': object}": {"a": object()},
    "{1: 2}": {1: 2},
    "array": np.array([1, 2]),
    "0-d array": np.array(3),
    "empty array": np.empty(0),
    "object array": np.array(["a", None], dtype=object),
    "float32 nan": np.float32("nan"),
    "int64 -5": np.int64(-5),
    "bool_": np.bool_(True),
    "NaT": np.datetime64("NaT", "s"),
    "Decimal nan": Decimal("NaN"),
    "Fraction": Fraction(1, 3),
    "complex": 1j,
    "Ellipsis": ...,
}

TEXTS = {
    **{text: text for text in ("nan", "inf", "-1", "0", "1e999", "9223372036854775808", "1.5")},
    **{text: text for text in ("", " ", "[]", "None", "x", "x=", "=x", "(", "\x00", "💥")},
    "huge": "x" * 10**5,
}
"""Arguments on the command line."""


@dataclass(frozen=True)
class Call:
    """One call that is bad in one argument."""

    what: str
    parameter: str
    value: str
    run: Callable[[], Any]
    check: Check | None = None
    """Range that the parameter declares, or None."""
    optional: bool = False


def python_calls(folder: Path) -> Iterator[Call]:
    """Return the parameters of public functions, from their signatures."""
    covered = set()
    for what, function, good in _targets(folder):
        covered.add(what.partition(".")[0])
        checks = {**declared(function), **CHECKED_BY_HAND.get(what, {})}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            check, optional = checks.get(name, (None, parameter.default is None))
            for label, value in VALUES.items():
                arguments = {**good, name: value}
                yield Call(what, name, label, _bound(function, arguments), check, optional)
    public = {*tensorcfr.__all__, *sweep.__all__, *analysis.__all__, *hands.__all__}
    if missing := {name for name in public if _is_function(name)} - covered:
        raise AssertionError(f"no calls of {', '.join(sorted(missing))}")


def declared(function: Callable[..., Any]) -> dict[str, tuple[Check, bool]]:
    """Return the checks of a function, or of the class that it makes."""
    return checks_of(vars(function)["__init__"] if isinstance(function, type) else function)


CHECKED_BY_HAND: dict[str, dict[str, tuple[Check, bool]]] = {
    "Solver.iterate": {"iterations": (STEPS, False)},
    "SampledSolver.iterate": {"iterations": (STEPS, False)},
    "nash_conv": {"locks": (LOCKS, True)},
    "exploitability": {"locks": (LOCKS, True)},
    "CompiledGame.history": {"node": (Whole(0, 57), False)},
    "CompiledGame.sequences": {"infoset": (Whole(-12, 11), False)},
}
"""Where calls are too many for a decorator; Kuhn has 58 histories and 12 infosets."""


def _bound(function: Callable[..., Any], arguments: dict[str, Any]) -> Callable[[], Any]:
    return lambda: function(**arguments)


def _is_function(name: str) -> bool:
    """Return whether the arguments of a public name are checked.  Arguments of records and
    base classes are not."""
    modules = (tensorcfr, sweep, analysis, hands)
    found = next(getattr(module, name) for module in modules if hasattr(module, name))
    return inspect.isfunction(found) or found in (Solver, SampledSolver, Policy)


def _targets(folder: Path) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Return the public functions, with arguments that they accept."""
    kuhn = tensorcfr.compile_game("kuhn")
    solution = tensorcfr.solve(kuhn, iters=2)
    saved = solution.save(folder / "solution.npz")
    game_file = tensorcfr.save_game(kuhn, folder / "game.npz")
    table = folder / "sweep.csv"
    rows = sweep.sweep(table, ["kuhn"], ["cfr"], iters=2)
    policy = Policy.uniform(kuhn)
    of_game = {"game": kuhn, "policy": policy}
    counter = itertools.count()

    def swept(path: Any = ..., **arguments: Any) -> Any:
        """Return a new table for every call."""
        return sweep.sweep(folder / f"{next(counter)}.csv" if path is ... else path, **arguments)

    functools.update_wrapper(swept, sweep.sweep)
    yield "compile_game", tensorcfr.compile_game, {"source": "kuhn"}
    yield "solve", tensorcfr.solve, {"game": kuhn, "iters": 2}
    yield "Solver", Solver, {"game": kuhn, "algorithm": "cfr"}
    yield "Solver.iterate", Solver(kuhn).iterate, {}
    yield "SampledSolver", SampledSolver, {"game": kuhn, "algorithm": "external_sampling"}
    yield "SampledSolver.iterate", SampledSolver(kuhn, "external_sampling").iterate, {}
    yield "evaluate", tensorcfr.evaluate, of_game
    yield "exploitability", tensorcfr.exploitability, of_game
    yield "nash_conv", tensorcfr.nash_conv, of_game
    yield "best_response", tensorcfr.best_response, {**of_game, "player": 0}
    yield "Policy", Policy, {"game": kuhn, "probabilities": np.ones(kuhn.n_sequences)}
    yield "Policy.uniform", Policy.uniform, {"game": kuhn}
    yield "Policy.from_mapping", Policy.from_mapping, {"game": kuhn, "given": dict(policy)}
    yield "CompiledGame.history", kuhn.history, {"node": 0}
    yield "CompiledGame.sequences", kuhn.sequences, {"infoset": 0}
    yield "save_game", tensorcfr.save_game, {"game": kuhn, "path": folder / "saved.npz"}
    yield "load_game", tensorcfr.load_game, {"path": game_file}
    yield "Solution.save", solution.save, {"path": saved}
    yield "Solution.load", Solution.load, {"path": saved}
    yield "register", tensorcfr.register, {"algorithm": ALGORITHMS["cfr"]}
    yield "sweep", swept, {"games": ["kuhn"], "algorithms": ["cfr"], "iters": 1}
    yield "read_sweep", sweep.read_sweep, {"path": table}
    yield "reached", sweep.reached, {"rows": rows}
    yield "curves", sweep.curves, {"rows": rows}
    yield "read_algorithm", sweep.read_algorithm, {"spec": "cfr"}
    yield "regrets", analysis.regrets, {"game": kuhn, "checkpoints": [1]}
    numbers = {"J": [0.5, 0.5], "K": [0.0, 1.0]}
    yield "diagnose", analysis.diagnose, {"game": kuhn, "numbers": numbers, "iteration": 2}
    yield "walkthrough", analysis.walkthrough, {"game": kuhn, "algorithm": "cfr", "iters": 1}
    shown = {"game": kuhn, "algorithm": "cfr", "iters": 1}
    yield "iteration_events", analysis.iteration_events, shown
    yield "values", analysis.values, of_game
    yield "history_values", analysis.history_values, of_game
    yield "conditional_regrets", analysis.conditional_regrets, of_game
    yield "best_responses", analysis.best_responses, of_game
    river = {"board": "QsJh2h8d3c", "ranges": ("AA", "KK"), "pot": 100, "stacks": 100}
    spot = tensorcfr.solve(tensorcfr.compile_game("holdem", **river), iters=1)
    yield "CompiledGame.with_options", spot.game.with_options, {"memory_limit": "2GiB"}
    yield "hand_table", analysis.hand_table, {"solution": spot}
    prizes = {"payouts": (50, 30), "others": (100,)}
    hand = tensorcfr.solve(tensorcfr.compile_game("holdem", **river, **prizes), iters=1)
    yield "prize_table", analysis.prize_table, {"solution": hand}
    yield "restate", analysis.restate, {"solution": spot, "game": spot.game}
    table_of_hands = analysis.SolvedSpot(spot).table()
    yield "table_change", analysis.table_change, {"first": table_of_hands, "second": table_of_hands}
    yield "depth_chart", analysis.depth_chart, {"depths": (3,), "iters": 1}
    stacks = {"stacks": (3, 2), "payouts": (2, 1)}
    yield "icm", tournaments.icm, stacks
    yield "risk", tournaments.risk, stacks
    bounties = {"stacks": (3, 2), "bounties": (2, 1)}
    yield "bounty_equities", tournaments.bounty_equities, bounties
    rules = spot.game.nodes.rules
    yield "tournament", tournaments.tournament, {"rules": rules, **stacks}
    shown = analysis.SolvedSpot(spot)
    yield "SolvedSpot", analysis.SolvedSpot, {"solution": spot}
    yield "SolvedSpot.table", shown.table, {}
    yield "SolvedSpot.ranges", shown.ranges, {}
    yield "SolvedSpot.path", shown.path, {"line": "check"}
    turn = tensorcfr.compile_game("holdem", **{**river, "board": "QsJh2h8d"})
    of_turn = analysis.SolvedSpot(tensorcfr.solve(turn, iters=1))
    yield "SolvedSpot.runouts", of_turn.runouts, {"line": "check check *"}
    yield "SolvedSpot.units", shown.units, {"values": 1.0, "unit": "mbb"}
    yield "HandTable.save", shown.table().save, {"path": folder / "hands.csv"}
    yield "parse_spot", formats.parse_spot, {"text": formats.spot_text(spot.game)}
    yield "read_spot", formats.read_spot, {"path": save_spot(spot.game, folder / "s.toml")}
    yield "save_spot", save_spot, {"spot": spot.game, "path": folder / "s.toml"}
    yield "spot_text", formats.spot_text, {"spot": spot.game}
    rivers = {"spot": spot.game.nodes.rules, "boards": ["QsJh2h8d3c"], "target": 100.0}
    yield "solve_boards", analysis.solve_boards, rivers
    yield "compare", analysis.compare, {"first": solution, "second": solution}
    yield "head_to_head", analysis.head_to_head, {"game": kuhn, "policies": [policy]}
    yield "simulate", analysis.simulate, {**of_game, "n": 2}
    drawn = {"plays": analysis.simulate(kuhn, policy, 2), "policy": policy}
    yield "aivat", analysis.aivat, drawn
    counted = {"game": kuhn, "counts": {"Jb": {"bet": 1}}, "player": 0, "weights": [0.5]}
    yield "robust_responses", analysis.robust_responses, counted
    modelled = {"game": kuhn, "model": policy, "player": 0, "weight": 0.5}
    yield "model_locks", analysis.model_locks, modelled
    played = hands.hands_of_plays(analysis.simulate(spot.game, spot.policy, 2))
    written = hands.save_hands(played, folder / "hands.phh")
    counts = hands.count_decisions(played)
    yield "hands_of_plays", hands.hands_of_plays, {"plays": analysis.simulate(spot.game, spot, 1)}
    yield "save_hands", hands.save_hands, {"hands": played, "path": folder / "saved.txt"}
    yield "phh_text", hands.phh_text, {"hands": played}
    yield "stars_text", hands.stars_text, {"hands": played}
    yield "read_hands", hands.read_hands, {"path": written}
    yield "parse_hands", hands.parse_hands, {"text": hands.phh_text(played)}
    yield "count_decisions", hands.count_decisions, {"hands": played}
    yield "hand_model", hands.hand_model, {"solution": spot, "player": 1, "counts": counts}
    habits = {"solution": spot, "player": 1, "habits": "check -10%"}
    yield "habit_prices", hands.habit_prices, habits
    paid = {"solution": spot, "player": 1, "incentives": "check -1", "iters": 1}
    yield "incentive_prices", analysis.incentive_prices, paid
    paid_rules = {"rules": make_game("kuhn"), "incentives": "1 bet +1"}
    yield "with_incentives", incentives.with_incentives, paid_rules
    yield "ranges_of_hands", hands.ranges_of_hands, {"hands": played}
    leaks = {"hands": played, "players": None, "ranges": {"*": "AA,KK"}, "street": "river"}
    yield "find_leaks", hands.find_leaks, leaks
    by_rules = {"game": "kuhn", "policy": policy, "plays": 2}
    yield "sampled_values", analysis.sampled_values, by_rules
    yield "local_best_response", analysis.local_best_response, {**by_rules, "tries": 1}
    yield "belief", tensorcfr.belief, {**of_game, "public_nodes": "bet"}
    yield "subgame", tensorcfr.subgame, {"game": kuhn, "public_nodes": "bet"}
    resolved = {
        "game": kuhn,
        "blueprint": policy,
        "public_nodes": "bet",
        "algorithm": "lp",
        "player": 1,
    }
    yield "resolve", tensorcfr.resolve, resolved
    part = Policy.uniform(tensorcfr.subgame(kuhn, "bet"))
    yield "put_back", tensorcfr.put_back, {"policy": policy, "subgame_policy": part}
    yield "team_game", tensorcfr.team_game, {"game": kuhn, "teams": ((0,), (1,))}
    coarse = abstraction.abstract(kuhn, infosets=lambda label: label.replace("Q", "J"))
    yield "abstract", abstraction.abstract, {"game": kuhn, "infosets": str.lower}
    buckets = abstraction.buckets_by_label(kuhn, str)
    yield "abstract_hands", abstraction.abstract_hands, {"game": kuhn, "buckets": buckets}
    yield (
        "buckets_by_label",
        abstraction.buckets_by_label,
        {"game": kuhn, "bucket": lambda *seen: seen[0]},
    )
    yield "buckets_by_strength", abstraction.buckets_by_strength, {"game": spot.game, "count": 3}
    yield "buckets_by_future", abstraction.buckets_by_future, {"game": spot.game, "count": 3}
    yield "lift", abstraction.lift, {"source": Policy.uniform(coarse)}


NEEDED: dict[str, dict[str, Any]] = {
    "matrix": {"payoffs": [[1]]},
    "holdem": {"board": "QsJh2h8d3c", "ranges": ("AA", "KK"), "pot": 100, "stacks": 100},
    "omaha": {"board": "QsJh2h8d3c", "ranges": ("AsAhTcTd", "KK$ds"), "pot": 100, "stacks": 100},
    "omaha5": {"board": "QsJh2h8d3c", "ranges": ("AsAhTcTd9c", "KKTT$ds"), "pot": 9, "stacks": 9},
    "omaha_hi_lo": {"board": "As4h2h8dKc", "ranges": ("AhAc3s5d", "3c5c"), "pot": 9, "stacks": 9},
    "short_deck": {"board": "QsJh6h8d7c", "ranges": ("AA", "KK"), "pot": 100, "stacks": 100},
    "short_omaha": {"board": "QsJh6h8d7c", "ranges": ("AsAhTcTd", "KK$ds"), "pot": 9, "stacks": 9},
}
"""Arguments of games that have parameters without a default."""


def game_calls() -> Iterator[Call]:
    """Return the parameters of the built-in games, with small values for the others."""
    for name, entry in GAMES.items():
        needed = NEEDED.get(name, {})
        checks = declared(entry.make)
        for parameter in entry.parameters:
            check, optional = checks.get(parameter, (None, entry.parameters[parameter] is None))
            for label, value in VALUES.items():
                arguments = {**needed, parameter: value, "memory_limit": 1 << 26}
                run = _bound(lambda n=name, **a: tensorcfr.compile_game(n, **a), arguments)
                yield Call(f"the game {name}", parameter, label, run, check, optional)


def algorithm_calls() -> Iterator[Call]:
    """Return the options of the algorithms."""
    for name, record in ALGORITHMS.items():
        checks = checks_of(type(record)) if isinstance(record, Deep) else {}
        for option in record.options:
            for label, value in VALUES.items():
                run = _bound(record, {option: value})
                check, _ = checks.get(option, (None, False))
                yield Call(f"the algorithm {name}", option, label, run, check)


SERVERS = {"upi", "mcp"}
"""Commands that read standard input until it ends; ``scripts/fuzz.py`` tries bad input."""


def command_calls(folder: Path) -> Iterator[Call]:
    """Return the options of the command line."""
    import typer.main
    from typer.testing import CliRunner

    from tensorcfr.cli.app import app

    kuhn = tensorcfr.compile_game("kuhn")
    solution = tensorcfr.solve(kuhn, iters=2).save(folder / "solution.npz", force=True)
    sweep.sweep(folder / "done.csv", ["kuhn"], ["cfr"], iters=2)
    spot = save_spot(make_game("holdem", **NEEDED["holdem"]), folder / "spot.toml")
    printed = folder / "printed.txt"
    printed.write_text("J: [0.5, 0.5]\nK: [0.5, 0.5]\n")
    river = tensorcfr.solve(tensorcfr.compile_game("holdem", **NEEDED["holdem"]), iters=1)
    plays = hands.hands_of_plays(analysis.simulate(river.game, river, 2))
    played = hands.save_hands(plays, folder / "played.phh")
    counter = itertools.count()
    good: dict[str, list[str]] = {
        "solve": ["kuhn", "--iters", "2"],
        "show": [str(solution)],
        "export": [str(solution)],
        "compare": [str(solution), str(solution)],
        "walkthrough": ["kuhn"],
        "diagnose": [str(printed), "--iteration", "1"],
        "regrets": ["kuhn"],
        "games": [],
        "algorithms": [],
        "sweep": ["TABLE", "-g", "kuhn", "-a", "cfr", "--iters", "2"],
        "plot": [str(folder / "done.csv")],
        "chart": ["kuhn", "--list"],
        "evaluate": [str(solution)],
        "size": ["kuhn"],
        "draw": ["kuhn"],
        "spot": [str(spot), "--iters", "1"],
        "boards": [str(spot), "QsJh2h8d3c", "--target", "100%"],
        "view": [str(solution), "--html", str(folder / "page.html"), "--force"],
        "play": [str(solution)],
        "icm": ["3,2", "--payouts", "2,1"],
        "compile": ["solve"],
        "respond": ["kuhn", str(solution), "--weights", "0.5"],
        "hands": [str(played)],
    }
    commands: Any = typer.main.get_command(app)
    if set(good) != set(commands.commands) - SERVERS:
        raise AssertionError(f"no calls of some of {', '.join(commands.commands)}")

    def run(words: list[str]) -> Any:
        words = [str(folder / f"t{next(counter)}.csv") if w == "TABLE" else w for w in words]
        return CliRunner().invoke(app, words)

    for name in good:
        for parameter in commands.commands[name].params:
            if getattr(parameter, "is_flag", False) or parameter.name == "help":
                continue
            for label, text in TEXTS.items():
                if parameter.param_type_name == "argument":
                    words = [name, "--", text] if name != "sweep" else []
                else:
                    words = [name, *good[name], f"{parameter.opts[0]}={text}"]
                if words:
                    yield Call(
                        f"tensorcfr {name}", parameter.name, label, lambda w=words: run(list(w))
                    )


ALLOWED: list[tuple[str, Callable[[Call], bool]]] = [
    ("None where that is the default", lambda c: c.value == "None" and c.optional),
    (
        "a value that the declared check takes",
        lambda c: c.check is not None and _takes(c.check, VALUES.get(c.value)),
    ),
    (
        "a seed is any whole number from 0",
        lambda c: c.parameter == "seed" and c.value in ("0", "2**63", "10**400", "None"),
    ),
    (
        "numbers of an algorithm may be any that its formula takes",
        lambda c: c.what.startswith("the algorithm") and _is_number(c.value),
    ),
    (
        "flags of an algorithm",
        lambda c: c.what.startswith("the algorithm") and c.value in ("True", "bool_"),
    ),
    (
        "numbers of an algorithm may be functions of the iterations",
        lambda c: c.what.startswith("the algorithm") and c.value in ("function", "type"),
    ),
    (
        "the public label of the root is empty",
        lambda c: c.parameter == "public_nodes" and c.value in ("empty text", "blank"),
    ),
    (
        "a cut may have the name of any public node",
        lambda c: (c.what, c.parameter) == ("the algorithm cfr-d", "cut") and _is_text(c.value),
    ),
    (
        "the left-out path of a sweep",
        lambda c: c.what == "sweep" and (c.parameter, c.value) == ("path", "Ellipsis"),
    ),
    (
        "any text is a name",
        lambda c: (c.what, c.parameter) == ("parse_spot", "name") and _is_text(c.value),
    ),
    (
        "numbers in any form are values",
        lambda c: (c.what, c.parameter) == ("SolvedSpot.units", "values") and c.value != "object",
    ),
    ("any text names a matrix game", lambda c: c.parameter == "title" and _is_text(c.value)),
    ("nothing to compare", lambda c: c.parameter == "rows" and c.what in ("curves", "reached")),
    (
        "a number is a matrix without choices",
        lambda c: c.parameter == "payoffs" and c.value in ("array", "0-d array"),
    ),
]
"""Rules by which a call may be accepted."""


def _takes(check: Check, value: Any) -> bool:
    try:
        check("", value)
    except (TypeError, ValueError):
        return False
    return True


def _is_number(label: str) -> bool:
    return isinstance(VALUES.get(label), (int, float, np.number, Fraction))


def _is_text(label: str) -> bool:
    return isinstance(VALUES.get(label), str)


def judge(call: Call) -> str:
    """Make a call and return its result: ``"refused"``, ``"accepted: ..."`` with the rule, or a
    fault."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    timed = hasattr(signal, "SIGALRM")
    if timed:
        signal.signal(signal.SIGALRM, give_up)
        signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = call.run()
    except TimeoutError:
        return f"FAULT: no answer within {SECONDS} s"
    except IndexError as error:
        allowed = call.what == "CompiledGame.sequences"
        return "refused" if allowed else f"FAULT: IndexError: {str(error)[:100]}"
    except (ValueError, TypeError, MemoryLimitError, SweepError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(call.check, Where):
            return f"FAULT: {type(error).__name__}: {str(error)[:100]}"
        if len(str(error)) > 3000:
            return f"FAULT: an error of {len(str(error)):,} characters"
        if isinstance(error, (OSError, MemoryLimitError, SweepError)) or _names(call, str(error)):
            return "refused"
        if call.parameter == "progress":  # The function of the caller refuses its arguments.
            return "refused"
        return f"FAULT: {type(error).__name__} without the name: {str(error)[:100]}"
    except Exception as error:
        return f"FAULT: {type(error).__name__}: {str(error)[:100]}"
    finally:
        if timed:
            signal.alarm(0)
    if hasattr(result, "exit_code"):
        return _judge_command(result)
    for rule, holds in ALLOWED:
        if holds(call):
            return f"accepted: {rule}"
    return "FAULT: accepted"


INSIDE = {
    "baseline": "infoset",
    "blueprint": "infoset",
    "counts": "infoset",
    "deal": "outcome",
    "default": "infoset",
    "given": "infoset",
    "locks": "infoset",
    "path": "holds a",
    "policies": "infoset",
    "policy": "infoset",
    "second": "infoset",
    "source": "game",
    "progress": "argument",  # Messages of the caller's own functions.
    "spec": "algorithm",
    "text": "spot",
    "warm_start": "infoset",
}
"""Names that errors about an item of an argument use instead of the argument's name."""


def _names(call: Call, text: str) -> bool:
    """Return whether an error names the argument.  For an item of a collection or a label it may
    name the item and its place, and for a value in a file the file."""
    if isinstance(call.check, Where) and text.startswith(f"{VALUES.get(call.value)}"):
        return True
    names = {call.parameter, call.parameter.removesuffix("s")}
    return any(name in text for name in names | {INSIDE.get(call.parameter, call.parameter)})


def _judge_command(result: Any) -> str:
    """Check for one line and status 2; the parser of options may add how to get help."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"FAULT: {type(result.exception).__name__}: {str(result.exception)[:100]}"
    if result.exit_code == 0:
        return "accepted: a good command"
    warned = (" goes into the file of --settings: ", " have a unit now: ")
    lines = [
        line
        for line in result.stderr.splitlines()
        if line.strip() and not any(words in line for words in warned)
    ]
    by_parser = bool(lines) and lines[0].startswith("Usage:")
    if result.exit_code == 2 and (len(lines) == 1 or by_parser):
        return "refused by the parser of options" if by_parser else "refused"
    if result.exit_code == 1 and len(lines) == 1:
        return "accepted: could not be done"
    return f"FAULT: status {result.exit_code}, {len(lines)} lines: {result.stderr[:100]}"


def all_calls(folder: Path) -> list[Call]:
    """Return all calls in random order."""
    return [
        *python_calls(folder),
        *game_calls(),
        *algorithm_calls(),
        *command_calls(folder),
    ]


def main(words: list[str] | None = None) -> int:
    """Make the calls and report the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=10**6, help="calls to make at most")
    asked = parser.parse_args(words)
    found: Counter[str] = Counter()
    faults = []
    # Some calls write to a path that is odd, relative to the folder.
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        calls = all_calls(Path(name))
        Random(asked.seed).shuffle(calls)
        for call in calls[: asked.most]:
            outcome = judge(call)
            found["FAULT" if outcome.startswith("FAULT") else outcome] += 1
            if outcome.startswith("FAULT"):
                faults.append(f"{call.what}({call.parameter}={call.value}): {outcome}")
    print(f"{min(asked.most, len(calls)):,} calls")
    for outcome, count in found.most_common():
        print(f"{count:8,}  {outcome}")
    for fault in sorted(faults):
        print(fault.encode("ascii", "backslashreplace").decode())
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
