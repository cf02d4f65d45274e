"""Solutions on disk: the game, the arrays of the solver, and a header with the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._util.mapped_files import MappedFiles
from ..algorithms import ALGORITHMS, Record, from_dict
from ..algorithms.registry import Unregistered
from ..evaluation import Evaluation, evaluate
from ..evaluation.player_models import locks_of_model
from ..model.compiled_game import CompiledGame
from ..model.layout import Layout
from ..model.locks import DATA_BIASED, RESTRICTED, Locks
from ..model.policy import Policy
from ..storage.archive import (
    START,
    Arrays,
    InFiles,
    Source,
    Taken,
    name_of,
    read_arrays,
    refuse_others,
    says_where,
)
from ..storage.fields import (
    Check,
    Fields,
    by_key,
    maybe,
    number,
    plain,
    read_fields,
    record,
    several,
    whole,
)
from ..storage.fields import text as text_of
from ..storage.game_files import pack_game, unpack_game
from ..storage.recipes import KEY as CUT
from .base import solver_class
from .problem import Problem
from .solution import KINDS, BestIterate, Solution, Status, TracePoint
from .state_file import wrong_strategy

MAX_NODES = 1 << 80
"""Largest number of histories in a file: more than all machines together could visit."""
MAX_TOUCHED = 1 << 62
"""Largest number of histories in a 64-bit count, so that a continued solve does not overflow."""
EVALUATED_UP_TO = 2_000_000
"""Sequences of a game up to which strategies are evaluated again when they are read, which takes a
few milliseconds."""
CLOSE = {"float64": 1e-9, "float32": 1e-4}
"""Largest distance between an evaluation in a file and the same evaluation computed again, in units
of the largest absolute utility, by the dtype of the solver."""


def unknown_or_number(value: Any, where: str) -> float:
    """Check for a finite number, or null, which becomes NaN: the values of uncompiled games."""
    checked = maybe(number())(value, where)
    return np.nan if checked is None else checked


def trace_point(figure: Check) -> Check:
    """Return a check for a line of the record, whose values are checked by ``figure``."""
    return record(
        {
            "iteration": whole(),
            "nodes_touched": whole(0, MAX_NODES),
            "seconds": number(0.0),
            "nash_conv": figure,
            "exploitability": figure,
            "infosets_held": maybe(whole()),
            "bytes_held": maybe(whole()),
            "decision_nodes_touched": whole(0, MAX_NODES),
            "last_nash_conv": maybe(number()),
            "last_exploitability": maybe(number()),
        }
    )


def pack_solution(solution: Solution) -> tuple[dict[str, Any], Arrays]:
    """Convert a solution to a header and arrays."""
    header: dict[str, Any] = {
        "kind": "solution",
        "algorithm": solution.algorithm.to_dict(),
        "status": solution.status.name,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        **_pack_evaluation(solution.evaluation),
        "trace": [
            {key: _without_nan(value) for key, value in asdict(point).items()}
            for point in solution.trace
        ],
    }
    if solution.locks:
        header["locks"] = {label: solution.locks[label] for label in solution.locks}
    arrays = pack_game(solution.game)
    model = solution.locks.model if solution.locks else None
    if model is not None:
        header["model"] = {
            "player": model.player,
            "method": model.method,
            "weight": model.weight,
        }
        arrays["solution/model"] = model.numbers
    kind = solver_class(solution.algorithm, solution.game)
    if kind is None or not kind.policy_is_in_state(solution.game):
        arrays["solution/policy"] = solution.policy.probabilities
    if solution.best is not None:
        header["best"] = {
            "kind": solution.best.kind,
            "iteration": solution.best.iteration,
            **_pack_evaluation(solution.best.evaluation),
        }
        arrays["solution/best"] = solution.best.policy.probabilities
    if kind is not None:
        arrays |= {f"solution/{name}": a for name, a in kind.stored_arrays(solution.state).items()}
    return header, arrays


def read_solution(
    path: Source,
    game: CompiledGame | None = None,
    memory_limit: int | None = None,
    *,
    registered: bool = True,
    state_dir: str | Path | None = None,
) -> Solution:
    """Read a solution from a file; see :meth:`Solution.load`."""
    in_files = None
    if state_dir is not None:
        in_files = InFiles("solution/", MappedFiles(Path(state_dir), "start").new)
    header, arrays = read_arrays(path, "solution", memory_limit=memory_limit, in_files=in_files)
    if state_dir is not None and CUT not in arrays:
        raise ValueError(
            f"state_dir needs a game in chunks, and the game of {name_of(path)} is flat or "
            "not compiled"
        )
    with says_where(path):
        refuse_others(arrays, ("game/", "solution/"))
        return unpack_solution(
            header, arrays, known=game, memory_limit=memory_limit, registered=registered
        )


def solution_header(n_players: int, figure: Check) -> tuple[Fields, Fields]:
    """Return the checks of a solution's header: of required fields, and of optional fields.

    Args:
        n_players: Number of players.
        figure: Check of values of strategies.
    """
    evaluation: Fields = {
        "values": several(figure, n_players),
        "best_responses": several(figure, n_players),
    }
    required: Fields = {
        **START,
        "algorithm": plain,
        "status": text_of([status.name for status in Status]),
        "iterations": whole(),
        "seconds": number(0.0),
        **evaluation,
        "trace": several(trace_point(figure)),
    }
    optional: Fields = {
        "locks": by_key(by_key(number(0.0, 1.0))),
        "model": record(
            {
                "player": whole(0, 1),
                "method": text_of([RESTRICTED, DATA_BIASED]),
                "weight": number(0.0, 1.0),
            }
        ),
        "best": record({"kind": text_of(KINDS), "iteration": whole(), **evaluation}),
    }
    return required, optional


def unpack_solution(
    header: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    known: CompiledGame | None = None,
    memory_limit: int | None = None,
    registered: bool = True,
) -> Solution:
    """Create the solution of a header and arrays, and check it.

    Args:
        header: The header.
        arrays: The arrays.
        known: The game, as for :func:`tensorcfr.storage.game_files.unpack_game`.
        memory_limit: Bytes that compiling the game may take, as for ``unpack_game``.
        registered: True if its algorithm must be registered.

    Raises:
        ValueError: A field or an array is missing, unknown or wrong; names it.
    """
    game = unpack_game(arrays, known=known, memory_limit=memory_limit)
    figure = number() if game.layout != Layout.RULES else unknown_or_number
    fields = read_header(header, game.n_players, registered=registered, figure=figure)
    algorithm = fields["algorithm"]
    locks = Locks(game, fields["locks"]) if fields.get("locks") else None
    taken = Taken(arrays, "solution/")
    if (model := fields.get("model")) is not None:
        locks = locks_of_model(game, taken.take("solution/model"), **model)
    best = None
    if (best_fields := fields.get("best")) is not None:
        best = BestIterate(
            policy=_policy(game, taken, "solution/best"),
            evaluation=_evaluation(best_fields),
            iteration=best_fields["iteration"],
            kind=best_fields["kind"],
        )
    solver_type = solver_class(algorithm, game)
    state = None
    problem = Problem(game, algorithm, locks)
    if solver_type is not None:
        state_arrays = _StateArrays(taken)
        state = solver_type.restore(problem, state_arrays)
        wrong = solver_type.wrong_state(problem, state)
        if wrong := wrong or solver_type.wrong_iteration(state, fields["iterations"]):
            raise ValueError(f"the solver's {wrong}")
        _check_touched(state)
    if solver_type is not None and solver_type.policy_is_in_state(game):
        policy = solver_type.policy_of(problem, state)
    else:
        policy = _policy(game, taken, "solution/policy")
    # An unregistered algorithm has no rule that would define the arrays of its state.
    if not isinstance(algorithm, Unregistered):
        taken.refuse_rest()
    evaluation = _evaluation(fields)
    is_checked = _can_be_evaluated(game, algorithm)
    if is_checked:
        floats = str(getattr(getattr(state, "regret", None), "dtype", "float64"))
        evaluation = _evaluated(policy, evaluation, locks, floats)
        if best is not None:
            best = replace(best, evaluation=_evaluated(best.policy, best.evaluation, locks, floats))
    return Solution(
        game=game,
        algorithm=algorithm,
        status=Status[fields["status"]],
        policy=policy,
        evaluation=evaluation,
        evaluation_is_checked=is_checked,
        iterations=fields["iterations"],
        seconds=fields["seconds"],
        trace=fields["trace"],
        state=state,
        locks=locks,
        best=best,
    )


def _check_touched(state: Any) -> None:
    """Check the counts of visited nodes and decision nodes, which must leave room for more in 64
    bits.

    Raises:
        ValueError: A count is impossible.
    """
    if (touched := getattr(state, "touched", None)) is not None:
        nodes, decisions = touched.tolist()
        if not 0 <= decisions <= nodes <= MAX_TOUCHED:
            raise ValueError(
                f"the solver's touched holds {[nodes, decisions]}: it counts nodes, at most "
                f"{MAX_TOUCHED}, and the decision nodes among them"
            )


def _can_be_evaluated(game: CompiledGame, algorithm: Record) -> bool:
    """Return whether strategies are evaluated again when they are read.

    Values in a file are accepted without a check only if an evaluation would take long, or if they
    are not values of the strategies alone.
    """
    return (
        game.layout == Layout.FLAT
        and not algorithm.plays_jointly
        and game.n_sequences <= EVALUATED_UP_TO
    )


def _evaluated(
    policy: Policy, recorded: Evaluation, locks: Locks | None, floats: str
) -> Evaluation:
    """Evaluate strategies; return the file's evaluation if it is equal up to rounding."""
    computed = evaluate(policy.game, policy, locks=locks)
    close = CLOSE.get(floats, 0.0) * float(np.abs(policy.game.utilities).max(initial=0.0))
    is_close = all(
        abs(number - recorded_number) <= close
        for number, recorded_number in zip(
            computed.values + computed.best_responses,
            recorded.values + recorded.best_responses,
            strict=True,
        )
    )
    return recorded if is_close else computed


def read_header(
    header: dict[str, Any],
    n_players: int,
    *,
    registered: bool = True,
    figure: Check | None = None,
) -> dict[str, Any]:
    """Check a solution's header, and convert its algorithm and its trace to objects.

    Raises:
        ValueError: A field is missing, unknown or wrong; names it.
    """
    fields = read_fields(header, *solution_header(n_players, figure or number()))
    fields["algorithm"] = _algorithm(fields["algorithm"], registered=registered)
    fields["trace"] = tuple(TracePoint(**point) for point in fields["trace"])
    _check_trace(fields["trace"], fields["iterations"])
    if "best" in fields and fields["best"]["iteration"] > fields["iterations"]:
        raise ValueError(
            f"header.best is of iteration {fields['best']['iteration']}, beyond the last"
        )
    return fields


def _check_trace(trace: tuple[TracePoint, ...], iterations: int) -> None:
    """Check that the record is in order of iterations and time, up to the last iteration at most.

    Raises:
        ValueError: A point is not after the point before it, or beyond the last iteration.
    """
    for index, point in enumerate(trace):
        above = trace[index - 1] if index else None
        if above and not (above.iteration < point.iteration and above.seconds <= point.seconds):
            raise ValueError(f"header.trace[{index}] does not come after the point before it")
        if point.iteration > iterations:
            raise ValueError(
                f"header.trace[{index}] is of iteration {point.iteration}, beyond the last"
            )


def _algorithm(description: Any, *, registered: bool = True) -> Record:
    """Create the algorithm that a header describes, and check every field of the description.

    Raises:
        ValueError: The description is not of an algorithm; names the field.
    """
    if not isinstance(description, dict):
        raise ValueError("header.algorithm is not an object")
    if (
        not registered
        and isinstance(name := description.get("name"), str)
        and name not in ALGORITHMS
    ):
        return Unregistered(name, description)
    try:
        algorithm = from_dict(description)
        described = algorithm.to_dict()
    except KeyError as error:
        raise ValueError(f"header.algorithm lacks the key {error}") from error
    except (AssertionError, AttributeError, TypeError) as error:
        raise ValueError(f"header.algorithm is not an algorithm: {error}") from error
    _check_described(algorithm.updated(description), described, "header.algorithm")
    return algorithm


def _check_described(recorded: Any, described: Any, where: str) -> None:
    """Compare a description in a file with that of the algorithm that was read from it.

    The digest of the same rule differs between versions of Python: :func:`from_dict` compares it
    where it matters.

    Raises:
        ValueError: They differ; names the key.
    """
    if isinstance(recorded, dict) and isinstance(described, dict):
        for key, value in recorded.items():
            if key not in described:
                raise ValueError(f"{where} has the unknown key {key!r}")
            if key != "digest":
                _check_described(value, described[key], f"{where}.{key}")
    elif type(recorded) is bool or type(described) is bool:
        if recorded is not described:
            raise ValueError(f"{where} is {recorded!r}, which was read as {described!r}")
    elif recorded != described:
        raise ValueError(f"{where} is {recorded!r}, which was read as {described!r}")


def _policy(game: CompiledGame, arrays: Taken, key: str) -> Policy:
    """Create a policy from an array, and check its strategies."""
    policy = Policy(game, arrays.take(key))
    if wrong := wrong_strategy(game.chunks, policy.probabilities):
        raise ValueError(f"array {key!r}: {wrong}")
    return policy


class _StateArrays(dict[str, np.ndarray]):
    """Arrays of a state by name, which :meth:`Taken.take` provides on first access."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken

    def __missing__(self, name: str) -> np.ndarray:
        self[name] = array = self._taken.take(f"solution/{name}")
        return array

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self._taken.has(f"solution/{name}")


def _pack_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "values": list(map(_without_nan, evaluation.values)),
        "best_responses": list(map(_without_nan, evaluation.best_responses)),
    }


def _without_nan(value: Any) -> Any:
    """Return a value as JSON stores it: null for NaN."""
    return None if value != value else value


def _evaluation(header: Mapping[str, Any]) -> Evaluation:
    """Create the evaluation that a header holds."""
    return Evaluation(header["values"], header["best_responses"])
