"""Certificates: strategies with claims that a small, independent program proves."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from itertools import chain, combinations
from math import lcm
from operator import index
from typing import Any

import numpy as np

from .._util.specs import parse_spec
from ..compilers import compile_game
from ..evaluation import evaluate
from ..evaluation.exact import ExactEquilibrium
from ..formats import checker
from ..formats.efg import exact as exact_odds
from ..formats.gambit_text import decimal
from ..games import GAMES
from ..games.holdem import CARDS, Holdem, read_cards
from ..games.limit_poker import RhodeIsland
from ..games.poker.betting import CALL, CHECK, DEAL, FOLD, TO_DEAL
from ..games.short_deck import ShortDeck
from ..model.arrays import CHANCE, TERMINAL
from ..model.game_arguments import COMPILED, require_flat
from ..model.policy import Policy

TOLERANCE = 0.49e-12
"""Half of the width of a claim, as a share of the range of the utilities."""
TOTAL = 10**15
"""Weight of a strategy before its first action.  Floats hold whole numbers up to it exactly."""

Weights = tuple[np.ndarray, ...]
"""Weights of the hands of each player: int64, or fractions if the strategies are exact."""
Parameters = dict[str, Any]
"""Parameters of rules by name: numbers, texts, or lists of them."""
Line = tuple[int, list[Any]]
"""Owner of the numbers in a line, and its parts: texts, and arrays of numbers.

Owners are the players, chance and, for payoffs, the one after chance.  The certificate has whole
numbers: the numbers of each owner are scaled by one factor.
"""


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
    return _proven(policy, exact, "tree", {"players": flat.n_players})


def _known_rules(spec: str) -> tuple[str, Parameters] | None:
    """Return the name and the parameters of a game; None if the checker lacks its rules."""
    try:
        name, options = parse_spec(spec)
        known: Any = GAMES[name].parameters | options
        if known.keys() != GAMES[name].parameters.keys() or known.get("players") not in (None, 2):
            return None
        dice, faces = known.get("dice", 1), known.get("faces", 0)
        known |= {
            # Two players have three cards or ranks by default.
            "ranks": known.get("ranks") or known.get("cards") or 3,
            "bets": [*map(index, known.get("bets", ()))],
            "caps": [known.get("raise_cap")] * 2,
            "actions": known.get("cap"),
            "bids": "hidden" if known.get("imperfect_information") else "seen",
            "dice": [dice] * 2 if isinstance(dice, int) else [*dice] * (2 // len(dice)),
            "bid_faces": faces - (not known.get("bid_wild", False)),
            "wild": faces * known.get("wild", True),
        }
        name = {"one_card_poker": "kuhn", "bluff": "liars_dice"}.get(name, name)
        parameters = {key: known[key] for key in checker.RULES[name][1].split()}
        _rules_of(name, parameters)
    except (ValueError, LookupError, TypeError, AttributeError, checker.CertificateError):
        return None
    return name, parameters


def _rules_of(name: str, parameters: Parameters) -> Any:
    """Return the checker's rules of a game."""
    make: Any
    make, _, fixed = checker.RULES[name]
    return make(lines=None, **fixed | parameters)


def _spot_of(game: Any) -> tuple[str, Parameters]:
    """Return the name and the parameters of a card game in a certificate.

    Raises:
        ValueError: The checker does not cover the game, or an option of it.
    """
    rules: Any = game.nodes.rules
    merged = "yes" if game.recipe.symmetry else "no"
    if type(rules) is RhodeIsland:
        limits: Any = rules.betting
        return "rhode_island", {"caps": [*limits.max_raises], "merged": merged}
    if type(rules) not in (Holdem, ShortDeck):
        known = ", ".join(checker.RULES)
        raise ValueError(
            f"a certificate of {game.name}: the checker lacks the rules of this game; it knows "
            f"{known}, and flat games"
        )
    options, betting = rules.options, rules.betting
    if options.get("folded"):
        raise ValueError(f"a certificate of {game.name}: the checker lacks 'folded'")
    board, dead = (
        [CARDS[card] for card in read_cards(options.get(name, ""), name)]
        for name in ("board", "dead")
    )
    deck = CARDS[-36:] if rules.game == "short_deck" else CARDS
    free = [card for card in deck if card not in board + dead]
    ranges = []
    for names, floats in zip(game.nodes.hands, rules.weights, strict=True):
        weights = [Fraction(repr(weight)) for weight in floats.tolist()]
        scale = lcm(*(weight.denominator for weight in weights))
        listed = dict(zip(map(_cards_of, names), weights, strict=True))
        deals = [listed.get(frozenset(hand), 0) * scale for hand in combinations(free, 2)]
        ranges.append(" ".join(map(str, deals)))
    chip = Fraction(betting.chip)
    part, most = Fraction(str(options.get("rake", 0))), Fraction(str(options.get("rake_cap", 1e9)))
    rates = [chip, part * chip, most]
    parts = lcm(*(rate.denominator for rate in rates))
    return rules.game, {
        "board": board,
        "dead": dead,
        "hands": ranges,
        "pot": betting.pot,
        "stack": betting.stack,
        "raises": _raises_of(game),
        "unit": Fraction(1, 2 * parts),
        "rates": [rate * parts for rate in rates],
        "merged": merged,
    }


def _cards_of(hand: str) -> frozenset[str]:
    """Return the cards of a hand of cards with two letters each."""
    return frozenset(hand[k : k + 2] for k in range(0, len(hand), 2))


def _raises_of(game: Any) -> list[str]:
    """Return the totals of chips of the raises after each line, which no card changes.

    Raises:
        ValueError: A line to remove is a fold, a check or a call.
    """
    betting: Any = game.nodes.rules.betting
    lines = []
    stack = [("", betting.root())]
    while stack:
        line, state = stack.pop()
        if state.player == TO_DEAL:
            stack.append((line, betting.next(state, DEAL)))
        elif state.player >= 0:
            labels = betting.actions(state)
            passive = [FOLD, CALL] if len({*state.street_put}) > 1 else [CHECK]
            if [*labels[: len(passive)]] != passive:
                raise ValueError(
                    f"a certificate of {game.name}: the checker lacks 'remove' of {passive}"
                )
            raises = labels[len(passive) :]
            totals = [str(state.put + betting.raised_to(state, label)) for label in raises]
            if totals:
                lines.append(f"{line}:{' '.join(totals)}")
            words = [*passive[:-1], "call", *totals]
            stack += [
                (f"{line} {word}".strip(), betting.next(state, label))
                for label, word in reversed([*zip(labels, words, strict=True)])
            ]
    return lines


def _proven(
    policy: Policy, exact: ExactEquilibrium | None, name: str, parameters: Parameters
) -> str:
    """Return a certificate with the rules of its game, after the checker has proven it.

    Raises:
        ValueError: The checker refuses it.
    """
    start: Any = Fraction(1) if exact else TOTAL
    players = range(policy.game.n_players)
    try:
        rules: Any = None if name == "tree" else _rules_of(name, parameters)
        visit = _tree_lines if name in ("tree", "goofspiel") else _hand_lines
        lines = visit(policy, exact, rules, start)
        factors = [
            1 if owner in players and exact is None else _factor(lines, owner)
            for owner in range(len(players) + 2)
        ]
        if name == "tree":
            parameters = parameters | {"unit": Fraction(1, factors[-1])}
        elif name == "goofspiel":
            factors[-2] = sum(rules.node()[1].values())
        totals = [*(start * factors[player] for player in players), factors[-2]]
        head = {"game": name, **parameters, "totals": totals}
        body = [[_words(part, factors[owner]) for part in parts] for owner, parts in lines]
        blocks = [
            [[key, *map(str, np.ravel(value))] for key, value in head.items()],
            _claims_of(policy, exact),
            [*body, [""]],
        ]
        rest = "\n\n".join("\n".join(map("\t".join, block)) for block in blocks)
        text = f"{checker.FORMAT} {sha256(rest.encode()).hexdigest()}\n{rest}"
        checker.check(text)
    except checker.CertificateError as error:
        raise ValueError(f"{policy.game.name}: {error}") from error
    return text


def _words(part: Any, factor: int) -> str:
    """Return a part of a line as text, after the numbers were scaled."""
    if isinstance(part, str):
        return part
    return " ".join(str(int(number * factor)) for number in np.asarray(part, dtype=object))


def _factor(lines: list[Line], owner: int) -> int:
    """Return the smallest factor that makes the numbers of an owner whole."""
    known = [part for line, parts in lines if line == owner for part in parts]
    return lcm(*(x.denominator for part in known if not isinstance(part, str) for x in part))


def _hand_lines(
    policy: Policy, exact: ExactEquilibrium | None, rules: Any, start: Any
) -> list[Line]:
    """Return the lines of a game of private hands, in the order of the checker.

    Raises:
        CertificateError: The game has other decisions than the checker's rules.
    """
    nodes: Any = policy.game.nodes
    if nodes is None:
        raise checker.CertificateError("the game has no private hands")
    lines: list[Line] = []
    orders = _hand_orders(rules, nodes)
    dtype: Any = object if exact else np.int64
    stack: list[Any] = [((), 0, tuple(np.full(len(order), start, dtype) for order in orders))]
    while stack:
        past, node, weights = stack.pop()
        kind, content = rules.node(*past)
        edges = nodes.children(node)
        after = []
        if kind == "card":
            cards = [edge.label for edge in edges] if nodes.is_of_cards else rules.rank
            below = dict(zip(cards, edges, strict=True))
            after = [((*past, card), below[card].node, weights) for card in content[1]]
        elif kind == "infoset":
            player, label, *actions = content
            if nodes.player(node) != player or len(actions) != len(edges):
                raise checker.CertificateError(f"{label!r} must have the actions {actions}")
            layout, hands = nodes.layout(node), orders[player]
            possible = np.flatnonzero(nodes.possible(node, player)[hands])
            # A hand that is impossible takes the first action.
            table = np.eye(1, len(actions), dtype=object if exact else float).repeat(len(hands), 0)
            if exact is None:
                table[possible] = policy.at(layout.numbers(hands[possible]))
            else:
                listed = [exact.strategies[x] for x in nodes.labels(node, hands[possible].tolist())]
                table[possible] = [[x[action] for action in layout.actions] for x in listed]
            shares = _shares(weights[player], table)
            lines.append((player, [label, *chain(*zip(actions, shares, strict=True))]))
            after = [
                ((*past, action), edge.node, _replaced(weights, player, share))
                for action, edge, share in zip(actions, edges, shares, strict=True)
            ]
        stack += reversed(after)
    return lines


def _hand_orders(rules: Any, nodes: Any) -> list[np.ndarray]:
    """Return the library's number of each hand of the checker, int64 (hands,) for each player."""
    hands: Any
    known: Any
    if nodes.is_of_cards:
        hands, known = rules.ranges, [map(_cards_of, names) for names in nodes.hands]
    elif hasattr(rules, "rolls"):
        # The library does not distinguish the orders of a roll.
        hands = [[tuple(sorted(roll)) for roll in rolls] for rolls in rules.rolls]
        known = [sorted({*rolls}) for rolls in hands]
    else:
        hands = known = [range(len(names)) for names in nodes.hands]
    places = [{hand: k for k, hand in enumerate(names)} for names in known]
    return [
        np.array([place[hand] for hand in listed])
        for place, listed in zip(places, hands, strict=True)
    ]


def _tree_lines(
    policy: Policy, exact: ExactEquilibrium | None, rules: Any, start: Any
) -> list[Line]:
    """Return the lines of a game tree in the order of the checker: of its infosets and, if the
    checker lacks the rules, of its nodes.

    Raises:
        CertificateError: The game has other nodes than the checker's rules.
    """
    game = require_flat(policy.game, "a certificate")
    chance, tree = game.n_players, game.tree
    known: Any = exact.strategies if exact else policy.to_dict()
    utilities = dict(zip(tree.terminal.tolist(), (tree.utility * game.unit).tolist(), strict=True))
    lines: list[Line] = []
    rows: dict[int, list[np.ndarray]] = {}
    full = np.array([start], dtype=object if exact else np.int64)
    stack: list[Any] = [(0, (), (*[full] * chance, np.array([Fraction(1)])))]
    while stack:
        node, past, weights = stack.pop()
        below = range(tree.first_child[node], tree.first_child[node + 1])
        player = int(tree.player[node])
        words: Any = below
        if player == TERMINAL:
            owner, shares = chance + 1, []
            parts = ["end", *([Fraction(decimal(x))] for x in utilities[node])]
        elif player == CHANCE:
            odds = exact_odds(tree.probability[below.start : below.stop].tolist())
            owner, shares = chance, [weights[chance] * share for share in odds]
            parts = ["chance", *shares]
            words = rules.node(*past)[1] if rules else below
        else:
            infoset = int(tree.infoset[node])
            name = _escaped(game.infoset_labels[infoset])
            actions = [_escaped(str(action)) for action in game.infoset_actions[infoset]]
            owner, parts = player, ["infoset", str(player), name, *actions]
            if rules:
                kind, content = rules.node(*past)
                if kind == "chance":  # The only prize.
                    past = (*past, *content)
                    kind, content = rules.node(*past)
                acting, name, *words = content
                if (acting, words) != (player, actions):
                    raise checker.CertificateError(f"{name!r} must have the actions {words}")
        if rules is None:
            lines.append((owner, parts))
        if player >= 0:
            if infoset not in rows:
                row = known[game.infoset_labels[infoset]]
                table = np.array([[*row.values()]], dtype=object if exact else float)
                rows[infoset] = _shares(weights[player], table)
                lines.append((player, [name, *chain(*zip(actions, rows[infoset], strict=True))]))
            shares = rows[infoset]
        after = [
            (child, (*past, word), _replaced(weights, owner, share))
            for child, word, share in zip(below, words, shares, strict=True)
        ]
        stack += reversed(after)
    return lines


def _escaped(text: str) -> str:
    """Return a label without the characters that separate the parts of a certificate."""
    return text.translate({92: r"\\", 9: r"\t", 10: r"\n", 13: r"\r"})


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


def _claims_of(policy: Policy, exact: ExactEquilibrium | None) -> list[list[str]]:
    """Return the name, the lower and the upper end of each claim, as texts."""
    numbers: dict[str, Any] = {"exploitability": Fraction(0)}
    width: Any = Fraction(0)
    values: Any
    best: Any
    if exact is not None:
        values = best = exact.values
    else:
        evaluation = evaluate(policy.game, policy)
        numbers["exploitability"] = evaluation.exploitability
        values, best = evaluation.values, evaluation.best_responses
        width = TOLERANCE * float(np.ptp(policy.game.utilities))
    for player, (value, response) in enumerate(zip(values, best, strict=True)):
        numbers |= {f"value {player}": value, f"best response {player}": response}
    return [
        [key, str(Fraction(str(number - width))), str(Fraction(str(number + width)))]
        for key, number in numbers.items()
    ]
