"""Certificates: strategies with claims that a small, independent program proves."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.specs import parse_spec
from ..evaluation import evaluate
from ..formats import checker
from ..formats.efg import efg_lines
from ..model.game_arguments import require_flat

if TYPE_CHECKING:
    from .solution import Solution

TOLERANCE = 1e-12
"""Half of the width of a claim, as a share of the range of the utilities."""


def certificate_of(solution: Solution) -> dict[str, Any]:
    """Return the content of a certificate, after the checker has proven it.

    Raises:
        ValueError: The game is neither one whose rules the checker has nor flat; or the checker
            refuses the certificate.
    """
    strategies = {
        label: {str(action): number for action, number in row.items()}
        for label, row in _numbers_of(solution).items()
    }
    content = {
        "format": checker.FORMAT,
        "game": {},
        "digest": checker.digest_of({label: row.values() for label, row in strategies.items()}),
        "claims": _claims_of(solution),
        "strategies": strategies,
    }
    labels = {label: list(row) for label, row in strategies.items()}
    name, parameters = parse_spec(solution.game.name)
    for rules in (name, "efg"):
        if rules == "efg":
            flat = require_flat(solution.game, "a certificate of rules that the checker lacks")
            parameters = {"text": "".join(efg_lines(flat))}
        elif rules not in checker.RULES:
            continue
        digest = checker.digest_of(labels)
        content["game"] = {"name": rules, "parameters": parameters, "digest": digest}
        try:
            checker.check(content)
        except checker.CertificateError as error:
            # A game of the user may have the name of another one, or an option that the checker
            # lacks.  The tree is proven in its place.
            if rules == "efg":
                raise ValueError(f"{solution.game.name}: {error}") from error
            continue
        return content
    raise AssertionError  # The loop ends in a certificate or an error.


def _numbers_of(solution: Solution) -> dict[str, dict[Any, str]]:
    """Return the strategies by label and action, as texts: ``"0.25"`` or, if exact, ``"1/3"``."""
    if solution.exact is not None:
        exact = solution.exact.strategies
        return {
            label: {
                action: f"{share.numerator}/{share.denominator}" for action, share in row.items()
            }
            for label, row in exact.items()
        }
    return {
        label: {action: repr(float(share)) for action, share in row.items()}
        for label, row in solution.policy.to_dict().items()
    }


def _claims_of(solution: Solution) -> dict[str, tuple[str, str]]:
    """Return the lower and the upper end of each claim, as texts."""
    if solution.exact is not None:
        values: dict[str, Fraction] = {
            f"{kind} {player}": value
            for kind in ("value", "best response")
            for player, value in enumerate(solution.exact.values)
        }
        return {
            key: (str(value), str(value)) for key, value in {**values, "exploitability": 0}.items()
        }
    evaluation = evaluate(solution.game, solution.policy)
    claims = {"exploitability": evaluation.exploitability}
    for player, value in enumerate(evaluation.values):
        claims[f"value {player}"] = value
        claims[f"best response {player}"] = evaluation.best_responses[player]
    width = TOLERANCE * float(np.ptp(solution.game.utilities))
    return {
        key: (repr(float(value - width)), repr(float(value + width)))
        for key, value in claims.items()
    }
