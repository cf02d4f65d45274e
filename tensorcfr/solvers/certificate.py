"""Certificates: strategies with claims that a small, independent program proves."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from .._util.specs import parse_spec
from ..compilers import compile_game
from ..evaluation import evaluate
from ..evaluation.exact import ExactEquilibrium
from ..formats import checker
from ..formats.efg import exact
from ..formats.gambit_text import decimal
from ..games import GAMES
from ..games.holdem import CARDS, Holdem, read_cards
from ..games.limit_poker import RhodeIsland
from ..games.poker.betting import ALL_IN, CALL, CHECK, FOLD
from ..games.short_deck import ShortDeck
from ..model.arrays import CHANCE, TERMINAL
from ..model.flat_game import FlatGame
from ..model.game_arguments import COMPILED, require_flat
from ..model.policy import Policy

TOLERANCE = 0.49e-12
"""Half of the width of a claim, as a share of the range of the utilities."""
TOTAL = 10**15
"""Weight of a strategy before its first action.  Floats hold whole numbers up to it exactly."""

Weights = tuple[np.ndarray, ...]
"""Weights of the hands of each player: int64, or fractions if the strategies are exact."""
Rows = dict[str, tuple[int, dict[str, np.ndarray]]]
"""Player, and weights of the hands by action, by label."""


def certificate_of(policy: Policy, exact: ExactEquilibrium | None = None) -> str:
    """Return the text of a certificate, after the checker has proven it.

    Args:
        policy: The strategies.
        exact: The same strategies as fractions, if they are an exact equilibrium.

    Raises:
        TypeError: The game is not compiled.
        ValueError: The game is neither one whose rules the checker has nor flat; or the checker
            refuses the certificate.
    """
    game: Any = COMPILED("game", policy.game)
    if game.is_of_cards:
        return _proven(policy, exact, *_spot_of(game))
    # A game of the user may have any name, also that of another game, and a built-in game options
    # that the checker lacks.  The tree is proven in its place.
    if rules := _known_rules(game.name):
        try:
            return _proven(policy, exact, *rules)
        except ValueError:
            # A proof of the tree would hide that the checker and the library have other rules.
            if compile_game(game.name).digest == game.digest:
                raise
    flat = require_flat(game, "a certificate of rules that the checker lacks")
    return _proven(policy, exact, "tree", {"players": flat.n_players, "tree": _tree_of(flat)})


def _known_rules(spec: str) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the parameters of a game; None if the checker lacks its rules."""
    try:
        name, options = parse_spec(spec)
        known = GAMES[name].parameters | options
        if known.pop("players", None) not in (None, 2):
            return None
        # Two players have three cards or ranks by default.
        known = {key: 3 if value is None else value for key, value in known.items()}
        if name in ("liars_dice", "bluff"):
            dice = known["dice"]
            known["dice"] = [dice] * 2 if isinstance(dice, int) else list(dice) * (2 // len(dice))
            name, known = "liars_dice", {"wild": True, "bid_wild": name != "bluff"} | known
        name = {"one_card_poker": "kuhn"}.get(name, name)
        rules: Any = checker.RULES[name]
        rules(**known)
    except (ValueError, LookupError, TypeError, AttributeError, checker.CertificateError):
        return None
    return name, json.loads(json.dumps(known))


def _spot_of(game: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a card game in a certificate.

    Raises:
        ValueError: The checker does not cover the game, or an option of it.
    """
    rules: Any = game.nodes.rules
    symmetry = bool(game.recipe.symmetry)
    if type(rules) is RhodeIsland:
        betting: Any = rules.betting
        return "rhode_island", {"raises": list(betting.max_raises), "symmetry": symmetry}
    if type(rules) not in (Holdem, ShortDeck):
        known = ", ".join(checker.RULES)
        raise ValueError(
            f"a certificate of {game.name}: the checker lacks the rules of this game; it knows "
            f"{known}, and flat games"
        )
    options = rules.options
    if options.get("folded"):
        raise ValueError(f"a certificate of {game.name}: the checker lacks 'folded'")
    chip = Decimal(str(options.get("chip", 1)))
    weights = [[Fraction(repr(w)) for w in known.tolist()] for known in rules.weights]
    scale = [lcm(*(weight.denominator for weight in known)) for known in weights]
    stack = int(Decimal(str(options["stacks"])) / chip)
    return rules.game, {
        **{
            name: "".join(CARDS[card] for card in read_cards(options.get(name, ""), name))
            for name in ("board", "dead")
        },
        "ranges": [
            {
                hand: int(weight * scale[player])
                for hand, weight in zip(game.nodes.hands[player], weights[player], strict=True)
            }
            for player in range(2)
        ],
        "pot": int(Decimal(str(options["pot"])) / chip),
        "stack": stack,
        "bets": _bets_of(game, chip, stack),
        "chip": str(chip),
        "rake": str(options.get("rake", 0)),
        "rake_cap": str(options.get("rake_cap", 1e9)),
        "symmetry": symmetry,
    }


def _bets_of(game: Any, chip: Decimal, stack: int) -> dict[str, list[int]]:
    """Return the totals of chips of the raises after each line, which no card changes.

    Raises:
        ValueError: A line to remove is a fold, a check or a call.
    """
    nodes: Any = game.nodes
    bets: dict[str, list[int]] = {}

    def visit(node: int, line: str, paid: tuple[int, int], before: int) -> None:
        player = nodes.player(node)
        if player == CHANCE:
            visit(nodes.children(node)[0].node, line, paid, paid[0])
        if player < 0:
            return
        labels = [FOLD, CALL] if paid[player] < max(paid) else [CHECK]
        edges = nodes.children(node)
        if [edge.label for edge in edges[: len(labels)]] != labels:
            raise ValueError(
                f"a certificate of {game.name}: the checker lacks 'remove' of {labels}"
            )
        totals = []
        for edge in edges:
            if edge.label == FOLD:
                continue
            total = max(paid)
            if edge.label == ALL_IN:
                total = stack
            elif edge.label not in (CHECK, CALL):
                amount = edge.label.removeprefix("bet").removeprefix("raise")
                total = before + int(Decimal(amount) / chip)
            word = "call" if edge.label in labels else str(total)
            if word != "call":
                totals.append(total)
            to = (total, paid[1]) if player == 0 else (paid[0], total)
            visit(edge.node, f"{line} {word}".strip(), to, before)
        if totals:
            bets[line] = totals

    visit(0, "", (0, 0), 0)
    return bets


def _tree_of(game: FlatGame) -> list[Any]:
    """Return the history tree as nested lists."""
    tree = game.tree
    first_child, utilities = tree.first_child.tolist(), tree.utility * game.unit
    terminal = dict(zip(tree.terminal.tolist(), utilities.tolist(), strict=True))
    # Children have higher numbers than their parents.
    nodes: list[list[Any]] = [[]] * (len(first_child) - 1)
    for node in reversed(range(len(nodes))):
        children = range(first_child[node], first_child[node + 1])
        player = int(tree.player[node])
        below = [nodes[child] for child in children]
        if player == TERMINAL:
            nodes[node] = ["end", *map(decimal, terminal[node])]
        elif player == CHANCE:
            odds = exact(tree.probability[children.start : children.stop].tolist())
            outcomes = zip(map(str, odds), below, strict=True)
            nodes[node] = ["chance", *map(list, outcomes)]
        else:
            infoset = int(tree.infoset[node])
            after = dict(zip(map(str, game.infoset_actions[infoset]), below, strict=True))
            nodes[node] = ["act", player, game.infoset_labels[infoset], after]
    return nodes[0]


def _proven(
    policy: Policy, exact: ExactEquilibrium | None, name: str, parameters: dict[str, Any]
) -> str:
    """Return a certificate with the rules of its game, after the checker has proven it.

    Raises:
        ValueError: The checker refuses it.
    """
    make: Any = checker.RULES[name]
    start, kind = (Fraction(1), object) if exact else (TOTAL, np.int64)
    try:
        rules = make(**parameters)
        begin = tuple(np.full(len(hands), start, dtype=kind) for hands in rules.chances)
        visit = _tree_rows if rules.is_tree else _hand_rows
        rows = visit(policy, exact, rules, begin)
        factors = [_factor(rows, player) if exact else 1 for player in range(len(begin))]
        strategies = {
            label: {
                action: " ".join(str(int(weight * factors[player])) for weight in known.tolist())
                for action, known in row.items()
            }
            for label, (player, row) in rows.items()
        }
        digest = checker.digest_of({label: row.values() for label, row in strategies.items()})
        rules_digest = checker.digest_of(strategies)
        content = {
            "format": "tensorcfr certificate 2",
            "game": {"name": name, "parameters": parameters, "digest": rules_digest},
            "digest": digest,
            "claims": _claims_of(policy, exact),
            "totals": [str(start * factor) for factor in factors],
            "strategies": strategies,
        }
        text = json.dumps(content, ensure_ascii=False, indent=1)
        checker.check(text)
    except checker.CertificateError as error:
        raise ValueError(f"{policy.game.name}: {error}") from error
    return text


def _factor(rows: Rows, player: int) -> int:
    """Return the smallest factor that makes the weights of a player whole."""
    known = [row for owner, row in rows.values() if owner == player]
    return lcm(
        *(weight.denominator for row in known for column in row.values() for weight in column)
    )


def _hand_rows(policy: Policy, exact: ExactEquilibrium | None, rules: Any, begin: Weights) -> Rows:
    """Return the weights at the decisions of a game of private hands.

    Raises:
        CertificateError: The game has other decisions than the checker's rules.
    """
    nodes: Any = policy.game.nodes
    if nodes is None:
        raise checker.CertificateError("the game has no private hands")
    rows: Rows = {}
    orders = _hand_orders(rules, nodes)
    stack = [(rules.root, 0, begin)]
    while stack:
        state, node, weights = stack.pop()
        kind, *content = rules.node(*state)
        edges = nodes.children(node)
        if kind == "chance":
            cards = [edge.label for edge in edges] if nodes.is_of_cards else rules.rank
            below = {card: edge.node for card, edge in zip(cards, edges, strict=True)}
            # The last card of a state was dealt last.
            stack += [(after, below[after[-1][-1]], weights) for _, after, _ in content[1]]
        elif kind == "act":
            player, label, after = content
            if nodes.player(node) != player or len(after) != len(edges):
                raise checker.CertificateError(f"{label!r} must have the actions {[*after]}")
            layout, hands = nodes.layout(node), orders[player]
            possible = np.flatnonzero(nodes.possible(node, player)[hands])
            # A hand that is impossible takes the first action.
            table = np.eye(1, len(after), dtype=object if exact else float).repeat(len(hands), 0)
            if exact is None:
                table[possible] = policy.at(layout.numbers(hands[possible]))
            else:
                listed = [exact.strategies[x] for x in nodes.labels(node, hands[possible].tolist())]
                table[possible] = [[x[action] for action in layout.actions] for x in listed]
            row = dict(zip(after, _shares(weights[player], table), strict=True))
            rows[label] = player, row
            stack += [
                (to, edge.node, _replaced(weights, player, x))
                for to, edge, x in zip(after.values(), edges, row.values(), strict=True)
            ]
    return rows


def _hand_orders(rules: Any, nodes: Any) -> list[np.ndarray]:
    """Return the library's number of each hand of the checker, int64 (hands,) for each player."""
    if isinstance(rules, checker.LiarsDiceRules):
        # The library does not distinguish the orders of a roll.
        rolls = [[tuple(sorted(roll)) for roll in known] for known in rules.rolls]
        return [np.array([sorted({*x}).index(roll) for roll in x]) for x in rolls]
    if nodes.is_of_cards and {*nodes.hands[0]} == {*rules.rank}:
        return [np.array([hands.index(card) for card in rules.rank]) for hands in nodes.hands]
    return [np.arange(len(hands)) for hands in nodes.hands]


def _tree_rows(policy: Policy, exact: ExactEquilibrium | None, rules: Any, begin: Weights) -> Rows:
    """Return the weights at the infosets of a game tree.

    Raises:
        CertificateError: The game has other infosets than the checker's rules.
    """
    known: Any = exact.strategies if exact else policy.to_dict()
    rows: Rows = {}
    stack = [(rules.root, begin)]
    while stack:
        state, weights = stack.pop()
        kind, *content = rules.node(*state)
        if kind == "chance":
            stack += [(after, weights) for _, after, _ in content[1]]
        elif kind == "act":
            player, label, after = content
            if label not in known or [*map(str, known[label])] != [*after]:
                raise checker.CertificateError(f"{label!r} must have the actions {[*after]}")
            if label not in rows:
                table = np.array([[*known[label].values()]], dtype=object if exact else float)
                rows[label] = player, dict(zip(after, _shares(weights[player], table), strict=True))
            stack += [
                (to, _replaced(weights, player, x))
                for to, x in zip(after.values(), rows[label][1].values(), strict=True)
            ]
    return rows


def _replaced(weights: Weights, player: int, after: np.ndarray) -> Weights:
    """Return the weights of all players after an action of a player."""
    return (*weights[:player], after, *weights[player + 1 :])


def _shares(weights: np.ndarray, table: np.ndarray) -> list[np.ndarray]:
    """Return the weights after each action, whose sums are the weights before.

    Args:
        weights: int64 (hands,), or fractions.
        table: Probabilities, float64 (hands, actions), or fractions.
    """
    if table.dtype == object:
        return [weights * column for column in table.T]
    # All weights are rounded down, except for the largest.
    shares = np.floor(weights[:, None] * table).astype(np.int64)
    largest, hands = table.argmax(axis=1), np.arange(len(weights))
    shares[hands, largest] = 0
    shares[hands, largest] = weights - shares.sum(axis=1)
    return list(shares.T)


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
