"""Certificates: strategies with claims that a small, independent program proves."""

from __future__ import annotations

import json
from base64 import b64encode
from fractions import Fraction
from typing import Any

import numpy as np

from .._util.specs import parse_spec
from ..compilers import compile_game
from ..evaluation import evaluate
from ..evaluation.exact import ExactEquilibrium
from ..formats import checker
from ..formats.efg import efg_lines
from ..games.holdem import CARDS, Holdem, read_cards
from ..games.limit_poker import RhodeIsland
from ..games.short_deck import ShortDeck
from ..model.arrays import CHANCE
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
    if game.is_of_cards:
        return _of_cards(policy)
    strategies = {
        label: {str(action): number for action, number in row.items()}
        for label, row in _numbers_of(policy, exact).items()
    }
    content = {"claims": _claims_of(policy, exact), "strategies": strategies}
    # A game of the user may have any name, also that of another game, and a built-in game options
    # that the checker lacks.  The tree is proven in its place.
    if rules := _known_rules(game.name):
        try:
            return _proven(content, *rules)
        except checker.CertificateError as error:
            # A proof of the tree would hide that the checker and the library have other rules.
            if compile_game(game.name).digest == game.digest:
                raise ValueError(f"{game.name}: {error}") from error
    flat = require_flat(game, "a certificate of rules that the checker lacks")
    try:
        return _proven(content, "efg", {"text": "".join(efg_lines(flat))})
    except checker.CertificateError as error:
        raise ValueError(f"{game.name}: {error}") from error


def _known_rules(spec: str) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the parameters of a game; None if the checker lacks its rules."""
    try:
        name, parameters = parse_spec(spec)
        known: Any = checker.RULES[name]
        known(**parameters)
    except (ValueError, LookupError, TypeError, checker.CertificateError):
        return None
    return name, parameters


def _of_cards(policy: Policy) -> dict[str, Any]:
    """Return the certificate of a card game, with strategies by public node."""
    nodes: Any = policy.game.nodes
    name, parameters = _card_parameters(policy.game)
    known: Any = checker.RULES[name]
    rules = known(**parameters)
    content = {"claims": _claims_of(policy, None), "strategies": _columns_of(policy, nodes, rules)}
    try:
        return _proven(content, name, parameters)
    except checker.CertificateError as error:
        raise ValueError(f"{policy.game.name}: {error}") from error


def _card_parameters(game: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a card game in a certificate.

    Raises:
        ValueError: The checker does not cover the game, or an option of it.
    """
    rules: Any = game.nodes.rules
    kind = type(rules)
    parameters: dict[str, Any] = {} if game.recipe.symmetry else {"symmetry": False}
    if kind is RhodeIsland:
        return "rhode_island", parameters | {"raises": list(rules.betting.max_raises)}
    if kind not in (Holdem, ShortDeck):
        known = ", ".join(checker.RULES)
        raise ValueError(
            f"a certificate of {game.name}: the checker lacks the rules of this game; it knows "
            f"{known}, and flat games"
        )
    options = dict(rules.options)
    if options.pop("folded", None):
        raise ValueError(f"a certificate of {game.name}: the checker lacks 'folded'")
    options.pop("big_blind", None)
    # Ranges are written hand by hand, without hands that cannot be dealt.
    options["ranges"] = [
        dict(zip(game.nodes.hands[player], rules.weights[player].tolist(), strict=True))
        for player in range(2)
    ]
    for name in ("board", "dead"):
        options[name] = "".join(CARDS[card] for card in read_cards(options.get(name, ""), name))
    return rules.game, json.loads(json.dumps(parameters | options))


def _columns_of(policy: Policy, nodes: Any, rules: Any) -> dict[str, dict[str, str]]:
    """Return the probability of each hand by public label and action: float64, as base64.

    Boards that the checker derives from other boards by a permutation of the suits are left out.
    """
    orders = [
        [nodes.hands[player].index(name) for name in rules.names[player]] for player in range(2)
    ]
    strategies, stack = {}, [0]
    while stack:
        node = stack.pop()
        edges, player = nodes.children(node), nodes.player(node)
        if player == CHANCE:
            board = nodes.cards(node)
            cards = [(edge, nodes.cards(edge.node)[-1]) for edge in edges]
            edges = [edge for edge, card in cards if rules.represent(board, card)[0] == card]
        elif player >= 0:
            layout, hands = nodes.layout(node), orders[player]
            table = policy.at(layout.numbers(hands)) * nodes.possible(node, player)[hands, None]
            strategies[nodes.label(node)] = {
                action: b64encode(column.astype("<f8").tobytes()).decode()
                for action, column in zip(layout.actions, table.T, strict=True)
            }
        stack += [edge.node for edge in edges]
    return strategies


def _proven(content: dict[str, Any], name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate with the rules of its game, after the checker has proven it."""
    strategies = content["strategies"]
    labels = {label: list(row) for label, row in strategies.items()}
    numbers = {label: row.values() for label, row in strategies.items()}
    certificate = {
        "format": checker.FORMAT,
        "game": {"name": name, "parameters": parameters, "digest": checker.digest_of(labels)},
        "digest": checker.digest_of(numbers),
        **content,
    }
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
