"""Output of ``--json``: solutions, evaluations and comparisons as plain values.

Most keys are the names of Python fields; ``others_reach`` and ``by_mistakes`` are older names.
Numbers that are not finite are null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import typer

from .._util.plain import plain
from ..analysis.comparison import Comparison
from ..analysis.policy_values import Values
from ..analysis.reached_regrets import ConditionalRegrets
from ..evaluation import Evaluation
from ..evaluation.metrics import meaning_of_exploitability
from ..model.compiled_game import CompiledGame
from ..model.infoset_rows import InfosetRows
from ..model.policy import Policy
from ..solvers.solution import Solution


def print_json(values: Any) -> None:
    """Print plain values as one JSON document."""
    typer.echo(json.dumps(plain(values), ensure_ascii=False, indent=1))


def of_game(game: CompiledGame) -> dict[str, Any]:
    """Return name and counts of a game; None for counts that only a compiled game has."""
    fields = ("name", "n_players", "zero_sum", "n_histories", "n_infosets", "n_sequences")
    return {field: getattr(game, field, None) for field in (*fields, "nbytes", "digest")}


def of_evaluation(game: CompiledGame, evaluation: Evaluation) -> dict[str, Any]:
    """Return values, best-response values and exploitability."""
    exploitability = evaluation.exploitability
    return {
        "values": list(evaluation.values),
        "best_responses": list(evaluation.best_responses),
        "nash_conv": evaluation.nash_conv,
        "exploitability": exploitability,
        "meaning": None if math.isnan(exploitability) else meaning_of_exploitability(game),
    }


def of_solution(solution: Solution) -> dict[str, Any]:
    """Return all figures of a solution, without its strategy."""
    best, model = solution.best, solution.locks and solution.locks.model
    return {
        "game": of_game(solution.game),
        "algorithm": str(solution.algorithm),
        "status": solution.status.name,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "nodes_touched": solution.nodes_touched,
        **of_evaluation(solution.game, solution.evaluation),
        "exact_values": solution.exact and [str(value) for value in solution.exact.values],
        "best": best
        and {
            "kind": best.kind,
            "iteration": best.iteration,
            "exploitability": best.exploitability,
        },
        "locks": {label: dict(lock) for label, lock in (solution.locks or {}).items()},
        "model": model and {"player": model.player, "method": model.method, "weight": model.weight},
        "trace": [asdict(point) for point in solution.trace],
    }


def of_regrets(regrets: ConditionalRegrets | None) -> dict[str, Any]:
    """Return regrets given that infosets are reached, if they were requested."""
    if regrets is None:
        return {}
    # The keys are older than the names of the fields, and programs read them.
    keys = {"on_own_path": "by_mistakes"}
    named = {keys.get(name, name): value for name, value in asdict(regrets).items()}
    return {"conditional_regrets": named}


def of_policy(
    policy: Policy,
    infosets: Iterable[InfosetRows] | None = None,
    values: Values | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the strategy at each infoset, of all infosets or of some, with values if given."""
    if infosets is None:
        players = range(policy.game.n_players)
        infosets = (rows for player in players for rows in policy.rows(player))
    for rows in infosets:
        played = policy.at(rows.numbers).tolist()
        value_rows = None if values is None else values.of(rows)
        for index, (label, actions) in enumerate(zip(rows.labels, rows.actions, strict=True)):
            listed: list[dict[str, Any]] = [
                {"action": action, "probability": probability}
                for action, probability in zip(actions, played[index], strict=True)
            ]
            row: dict[str, Any] = {"infoset": label, "player": rows.player}
            if value_rows is not None:
                row |= {
                    "reach": float(value_rows.reach[index]),
                    "others_reach": float(value_rows.counterfactual_reach[index]),
                    "expected_value": float(value_rows.infoset_expected[index]),
                    "loss": float(value_rows.loss[index]),
                    "conditional_regret": float(value_rows.conditional_regret[index]),
                }
                pairs = value_rows.expected[index].tolist(), value_rows.regret[index].tolist()
                for action, value, regret in zip(listed, *pairs, strict=True):
                    action |= {"expected_value": value, "regret": regret}
            yield row | {"actions": listed}


def of_comparison(compared: Comparison, rows: int) -> dict[str, Any]:
    """Return the values and distances of two strategies, and the infosets with the largest
    differences."""
    game = compared.game
    return {
        "game": of_game(game),
        "first": of_evaluation(game, compared.evaluations[0]),
        "second": of_evaluation(game, compared.evaluations[1]),
        "locked": [len(locks or ()) for locks in compared.locks],
        "distance": list(compared.distance),
        "differences": [row._asdict() for row in compared.differences(rows or None)],
    }
