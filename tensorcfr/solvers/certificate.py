"""Certificates: strategies with claims that a small, independent program proves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .._util.specs import parse_spec
from ..evaluation import evaluate
from ..evaluation.exact import ExactEquilibrium
from ..formats import checker
from ..formats.efg import efg_lines
from ..model.game_arguments import require_flat
from ..model.policy import Policy

TOLERANCE = 1e-12
"""Half of the width of a claim, as a share of the range of the utilities."""


def certificate_of(policy: Policy, exact: ExactEquilibrium | None = None) -> dict[str, Any]:
    """Return the content of a certificate, after the checker has proven it.

    Args:
        policy: The strategies.
        exact: The same strategies as fractions, if they are an exact equilibrium.

    Raises:
        ValueError: The game is neither one whose rules the checker has nor flat; or the checker
            refuses the certificate.
    """
    game: Any = policy.game
    strategies = {
        label: {str(action): number for action, number in row.items()}
        for label, row in _numbers_of(policy, exact).items()
    }
    content = {
        "format": checker.FORMAT,
        "game": {},
        "digest": checker.digest_of({label: row.values() for label, row in strategies.items()}),
        "claims": _claims_of(policy, exact),
        "strategies": strategies,
    }
    try:
        name, parameters = parse_spec(game.name)
        if name in checker.RULES:
            return _proven(content, name, parameters)
    except (ValueError, checker.CertificateError):
        # A game of the user may have any name, also that of another game, and a built-in game
        # options that the checker lacks.  The tree is proven in its place.
        pass
    flat = require_flat(game, "a certificate of rules that the checker lacks")
    try:
        return _proven(content, "efg", {"text": "".join(efg_lines(flat))})
    except checker.CertificateError as error:
        raise ValueError(f"{game.name}: {error}") from error


def _proven(content: dict[str, Any], name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate with the rules of its game, after the checker has proven it."""
    labels = {label: list(row) for label, row in content["strategies"].items()}
    game = {"name": name, "parameters": parameters, "digest": checker.digest_of(labels)}
    certificate = content | {"game": game}
    checker.check(certificate)
    return certificate


def _numbers_of(policy: Policy, exact: ExactEquilibrium | None) -> dict[str, dict[Any, str]]:
    """Return the strategies by label and action, as texts: ``"0.25"`` or, if exact, ``"1/3"``."""
    if exact is not None:
        return {
            label: {
                action: f"{share.numerator}/{share.denominator}" for action, share in row.items()
            }
            for label, row in exact.strategies.items()
        }
    return {
        label: {action: repr(float(share)) for action, share in row.items()}
        for label, row in policy.to_dict().items()
    }


def _claims_of(policy: Policy, exact: ExactEquilibrium | None) -> dict[str, tuple[str, str]]:
    """Return the lower and the upper end of each claim, as texts."""
    if exact is not None:
        values = {"exploitability": Fraction(0)}
        for player, value in enumerate(exact.values):
            values[f"value {player}"] = values[f"best response {player}"] = value
        return {key: (str(value), str(value)) for key, value in values.items()}
    evaluation = evaluate(policy.game, policy)
    numbers = {"exploitability": evaluation.exploitability}
    for player, number in enumerate(evaluation.values):
        numbers[f"value {player}"] = number
        numbers[f"best response {player}"] = evaluation.best_responses[player]
    width = TOLERANCE * float(np.ptp(policy.game.utilities))
    return {
        key: (repr(float(number - width)), repr(float(number + width)))
        for key, number in numbers.items()
    }
