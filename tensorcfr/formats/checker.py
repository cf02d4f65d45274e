"""Check a certificate: prove the values and the exploitability of the strategies in it.

    python checker.py FILE

This program needs Python and NumPy and nothing else of tensorcfr.  It has its own rules of the
games, and it does not trust the file: it computes every number anew, in fractions, or in floats
with a bound on all rounding.  ``docs/certificates.md`` describes the file.
"""

import hashlib
import json
import re
import sys
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np

FORMAT = "tensorcfr certificate 1"
EXACT_HANDS = 2_000
"""Largest number of infosets of a game of private hands that is computed in fractions."""


class CertificateError(Exception):
    """The certificate does not prove its claims."""


class Ball:
    """Arrays of numbers, each known to lie within ``rad`` of ``mid``."""

    __array_ufunc__ = None
    UNIT, TINY = 2.0**-52, 1e-300  # Twice the rounding of an operation, and more than underflow.

    def __init__(self, mid, rad=0.0):
        self.mid, self.rad = mid, (abs(mid) * self.UNIT + rad) * (1 + 4 * self.UNIT) + self.TINY

    def __add__(self, summand):
        return Ball(self.mid + summand.mid, self.rad + summand.rad)

    def __mul__(self, factor):
        a, b = self, factor
        return Ball(a.mid * b.mid, abs(a.mid) * b.rad + abs(b.mid) * a.rad + a.rad * b.rad)

    def __rmatmul__(self, matrix):  # The matrix is rounded, too: twice its unit per entry.
        terms = matrix.shape[1] + 4
        bound = abs(matrix) @ (abs(self.mid) * (terms * self.UNIT) + self.rad)
        return Ball(matrix @ self.mid, bound * (1 + terms * self.UNIT))

    def most(self, values):
        return Ball(np.maximum(self.mid, values.mid), np.maximum(self.rad, values.rad))

    def ends(self, weight):
        """Return an interval for the sum of all, divided by a positive fraction."""
        mid = sum(map(Fraction, self.mid.tolist()))
        rad = sum(map(Fraction, self.rad.tolist()))
        return (mid - rad) / weight, (mid + rad) / weight


class Exact(np.ndarray):
    """Arrays of fractions, with the interface of :class:`Ball`."""

    def most(self, values):
        return np.maximum(self, values)

    def ends(self, weight):
        total = Fraction(sum(self.tolist())) / weight
        return total, total


def need(condition, problem):
    """Raise an error unless a condition holds."""
    if not condition:
        raise CertificateError(problem)


def number_of(text):
    """Return the number of a text, ``"-1.5e3"`` or ``"1/3"``, exactly."""
    is_number = re.fullmatch(r"[+-]?([0-9]+/[0-9]+|[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?)", text)
    need(is_number, f"{text!r} is not a number")
    return Fraction(text)


def row_of(strategies, label, actions, number=Fraction):
    """Return the probabilities at an infoset.

    The largest number of a row only says which one it is: its probability is the rest to 1.  A
    decimal is read as the nearest float, and ``p/q`` as a fraction.
    """
    numbers = strategies.get(label, {})
    if [*numbers] != actions:
        raise CertificateError(
            f"the infoset {label!r} must have the actions {actions}, not {[*numbers]}"
        )
    exact = [number_of(x) if "/" in x else float(number_of(x)) for x in numbers.values()]
    row = [number(x) for x in exact]
    largest = row.index(max(row))
    others = sum(row) - row[largest]
    if not (min(row) >= 0 and others <= 1 and abs(others + row[largest] - 1) < 1e-9):
        raise CertificateError(
            f"the infoset {label!r} has {[*numbers.values()]}; these are not probabilities"
        )
    row[largest] = 1 - others
    return row


# Games of private hands.  ``names[player]`` are the names of the hands.  ``weight`` is an array of
# integers (hands of player 0, hands of player 1) in proportion to the probabilities of the deals.
# ``node(state)`` is a tuple.
#
# Decision: ("act", player, label without the hand, {action: next state}).
#
# Card: ("deal", number of cards that can come, [(0 or 1 by pair of hands, next state)]).
#
# Terminal: ("end", payoffs of player 0 as integers by pair of hands).


class Cards:
    """Cards of one rank and suit, one of them for each player."""

    def deal(self, ranks, suits):
        names = [str(k) for k in range(ranks)] if ranks > 13 else list("A23456789TJQK"[-ranks:])
        self.names = [[rank + suit for rank in names for suit in "shdc"[:suits] or [""]]] * 2
        count = len(self.names[0])
        self.weight = 1 - np.eye(count, dtype=np.int64)
        self.rank = np.arange(count) // max(suits, 1)

    def show(self, strength):
        return np.sign(strength[:, None] - strength[None, :])

    def board(self, after):
        """Deal a card that neither player has."""
        count = len(self.weight)
        free = [np.outer(np.arange(count) != c, np.arange(count) != c) * 1 for c in range(count)]
        return "deal", count - 2, [(mask, after(c)) for c, mask in enumerate(free)]

    def paired(self, board):
        """Return the strength of each hand; a pair with the board is above all ranks."""
        if board is None:
            return self.rank
        return self.rank + (self.rank == self.rank[board]) * len(self.rank)


class KuhnRules(Cards):
    root = ""

    def __init__(self, cards=3):
        self.deal(cards, 0)

    def node(self, line):
        ends = {"pp": (1, 1), "bb": (2, 1), "pbb": (2, 1), "bp": (1, 0), "pbp": (-1, 0)}
        if line in ends:
            chips, is_shown = ends[line]
            return "end", chips * (self.show(self.rank) if is_shown else np.ones_like(self.weight))
        return "act", len(line) % 2, line, {"pass": line + "p", "bet": line + "b"}


class LeducRules(Cards):
    root = ("", None, False, 0, (1, 1), 0, 2)

    def __init__(self, ranks=3, suits=2, bets=(2, 4), raise_cap=2):
        self.deal(ranks, suits)
        self.bets, self.cap = bets, raise_cap

    def node(self, state):
        line, board, is_deal, player, paid, raises, to_act = state
        if is_deal:
            return self.board(lambda c: (f"{line}/{self.names[0][c]} ", c, False, 0, paid, 0, 2))
        if to_act == 0:
            if line[-1] == "f":
                return "end", np.ones_like(self.weight) * (
                    paid[player] if player == 0 else -paid[1]
                )
            return "end", self.show(self.paired(board)) * paid[0]
        after, call, top = {}, list(paid), max(paid)
        call[player] = top
        if paid[player] < top:
            # The winner is the other player, and wins the chips of the one who folds.
            lost = (paid[player],) * 2
            after["fold"] = (line + "f", board, False, 1 - player, lost, raises, 0)
        is_last = to_act == 1
        after["call"] = (
            *(line + "c", board, is_last and board is None, 1 - player),
            *(tuple(call), raises, to_act - 1),
        )
        if raises < self.cap:
            call[player] += self.bets[board is not None]
            after["raise"] = (line + "r", board, False, 1 - player, tuple(call), raises + 1, 1)
        return "act", player, f" {line}".rstrip(), after


class NoLimitLeducRules(Cards):
    def __init__(self, ranks=3, suits=2, stack=20, ante=1, cap=4):
        self.deal(ranks, suits)
        self.stack, self.cap = stack, cap
        self.root = self.round("", None, (ante, ante))

    def round(self, line, board, paid):
        return line, board, 0, paid, 0, "all in" if paid[0] == self.stack else ""

    def node(self, state):
        line, board, player, paid, acted, end = state
        if end == "fold":
            sign = 1 if player == 0 else -1
            return "end", np.ones_like(self.weight) * (sign * min(paid))
        if board is None and end:
            return self.board(lambda c: self.round(f"{line} {self.names[0][c]}", c, paid))
        if end:
            return "end", self.show(self.paired(board)) * paid[0]
        mine, call = paid[player], paid[1 - player] - paid[player]
        left, opponent = self.stack - mine, 1 - player

        def put(chips):
            return (mine + chips, paid[1]) if player == 0 else (paid[0], mine + chips)

        after = {"f": (line, board, opponent, paid, acted, "fold")} if call else {}
        over = "shown" if acted else ""
        after["c"] = (f"{line} c", board, opponent if not over else 0, put(call), acted + 1, over)
        least = left if call < left < 2 * call else max(1, 2 * call)
        for chips in range(least, left + 1) if acted + 1 < self.cap else ():
            after[str(chips)] = (f"{line} {chips}", board, opponent, put(chips), acted + 1, "")
        return "act", player, line, after


class LiarsDiceRules:
    root = (0, None, "")

    def __init__(self, dice=1, faces=6, wild=True, bid_wild=True):
        counts = [dice] * 2 if isinstance(dice, int) else list(dice) * (2 // len(dice))
        rolls = [list(combinations_with_replacement(range(1, faces + 1), n)) for n in counts]
        mark = "" if faces < 10 else "."
        self.names = [
            [mark.join(map(str, roll)) for roll in player_rolls] for player_rolls in rolls
        ]
        orders = [
            [
                factorial(len(roll)) // prod(map(factorial, Counter(roll).values()))
                for roll in player_rolls
            ]
            for player_rolls in rolls
        ]
        self.weight = np.outer(*orders)
        top = faces + 1 if bid_wild else faces
        self.bids = [(n, face) for n in range(1, sum(counts) + 1) for face in range(1, top)]
        self.shown = [
            [
                [roll.count(f) + (wild and f != faces) * roll.count(faces) for roll in player_rolls]
                for player_rolls in rolls
            ]
            for f in range(1, top)
        ]

    def node(self, state):
        player, last, line = state
        if line.endswith("liar"):  # The player who called acts last.
            number, face = self.bids[last]
            true = np.add.outer(*map(np.array, self.shown[face - 1])) >= number
            return "end", np.where(true == (player == 1), 1, -1)
        after = {}
        for k in range(0 if last is None else last + 1, len(self.bids)):
            bid = f"{self.bids[k][0]}x{self.bids[k][1]}"
            after[bid] = (1 - player, k, f"{line} {bid}")
        if last is not None:
            after["liar"] = (player, last, f"{line} liar")
        return "act", player, line, after


def bluff(dice=1, faces=6):
    return LiarsDiceRules(dice, faces, bid_wild=False)


def prove_hands(game, strategies, labels):
    """Return intervals for the value and the best response of each player."""
    is_exact = len(strategies) <= EXACT_HANDS

    known = {}

    def array(numbers, rounding=0):
        if is_exact:
            return np.array(numbers, dtype=object).view(Exact)
        return Ball(np.array(numbers, dtype=np.float64), rounding)

    def strategy(player, line, actions, deal):
        if (player, line) not in known:
            rows, number = [], Fraction if is_exact else float
            for hand, is_dealt in zip(game.names[player], deal.any(axis=1 - player), strict=True):
                if is_dealt:
                    labels[hand + line] = actions
                    rows.append(row_of(strategies, hand + line, actions, number))
                else:
                    rows.append([0] * len(actions))
            # In floats, the largest probability has the rounding of the sum of the others.
            rounding = 0 if is_exact else len(actions) * Ball.UNIT
            known[player, line] = [array(column, rounding) for column in zip(*rows, strict=True)]
        return known[player, line]

    def respond(state, deal, reach, hero):
        """Return the values of each hand of a player by the best response and by the strategy."""
        kind, *node = game.node(state)
        if kind == "end":
            (payoff,) = node
            matrix = payoff * deal if hero == 0 else -(payoff * deal).T
            values = (matrix.astype(object if is_exact else np.float64)) @ reach
            values = values.view(Exact) if is_exact else values
            return values, values
        if kind == "deal":
            count, cards = node
            parts = [respond(after, deal * mask, reach, hero) for mask, after in cards]
            share = array([Fraction(1, count)] * len(game.names[hero]))
            return tuple(share * sums(values) for values in zip(*parts, strict=True))
        player, line, after = node
        chances = strategy(player, line, [*after], deal)
        if player != hero:
            steps = zip(chances, after.values(), strict=True)
            parts = [respond(state, deal, reach * chance, hero) for chance, state in steps]
            return tuple(map(sums, zip(*parts, strict=True)))
        parts = [respond(state, deal, reach, hero) for state in after.values()]
        best = parts[0][0]
        for values, _ in parts[1:]:
            best = best.most(values)
        return best, sums([c * value for c, (_, value) in zip(chances, parts, strict=True)])

    intervals = []
    for hero in range(2):
        start = array([1] * len(game.names[1 - hero]))
        both = respond(game.root, game.weight, start, hero)
        intervals.append([values.ends(int(game.weight.sum())) for values in both])
    return [value for _, value in intervals], [best for best, _ in intervals]


def sums(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


# Games as trees.  ``node(state)`` is a tuple.
#
# Decision: ("act", player, label, {action: next state}).
#
# Chance: ("chance", [(probability, next state)]).
#
# Terminal: ("end", payoffs of all players).


class GoofspielRules:
    def __init__(self, cards=4, imperfect_information=True, prizes="descending", payoff="win_loss"):
        self.hides, self.order, self.payoff, self.players = imperfect_information, prizes, payoff, 2
        deck = tuple(range(1, cards + 1))
        self.root = ((deck, deck), deck, None, (), (0, 0), ("P0", "P1"))

    def node(self, state):
        hands, prizes, prize, bids, points, lines = state
        if prize is None:
            if len(prizes) == 1:
                return self.end(self.play(hands, prizes[0], tuple(h[0] for h in hands), points)[1])
            drawn = (
                prizes if self.order == "random" else (max, min)[self.order != "descending"](prizes)
            )
            drawn = drawn if self.order == "random" else (drawn,)
            steps = [
                (
                    Fraction(1, len(drawn)),
                    (hands, tuple(p for p in prizes if p != d), d, (), points, lines),
                )
                for d in drawn
            ]
            return ("chance", steps) if len(steps) > 1 else self.node(steps[0][1])
        player = len(bids)
        after = {}
        for card in hands[player]:
            state = (hands, prizes, prize, (*bids, card), points, lines)
            after[str(card)] = state if not bids else self.close(state)
        return "act", player, f"{lines[player]} {prize}?", after

    def play(self, hands, prize, bids, points):
        win = (bids[0] < bids[1]) if bids[0] != bids[1] else None
        points = tuple(
            count + (prize if win == player else 0) for player, count in enumerate(points)
        )
        hands = tuple(tuple(c for c in h if c != b) for h, b in zip(hands, bids, strict=True))
        return hands, points, win

    def close(self, state):
        hands, prizes, prize, bids, points, lines = state
        hands, points, win = self.play(hands, prize, bids, points)
        marks = ["=" if win is None else "+" if win == player else "-" for player in range(2)]
        told = [f"{bids[p]}{marks[p]}" if self.hides else f"{bids[0]},{bids[1]}" for p in range(2)]
        lines = tuple(f"{line} {prize}:{words}" for line, words in zip(lines, told, strict=True))
        return hands, prizes, None, (), points, lines

    def end(self, points):
        difference = points[0] - points[1]
        if self.payoff == "total_points":
            return "end", points
        if self.payoff == "point_difference":
            return "end", (Fraction(difference, 2), Fraction(-difference, 2))
        sign = (difference > 0) - (difference < 0)
        return "end", (sign, -sign)


class TreeRules:
    """A tree in Gambit's format ``.efg``."""

    def __init__(self, text):
        tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{},]+', text)
        self.tokens, self.at, self.root = [re.sub(r"\\(.)", r"\1", t) for t in tokens], 0, 0
        header = self.take(), self.take(), self.take(), self.take()
        if header[:3] != ("EFG", "2", "R"):
            raise CertificateError("the rules are not a text in the format .efg, version 2")
        self.players, self.nodes, self.known = len(self.group()), [], {}
        if self.tokens[self.at][:1] == '"':
            self.take()
        self.read()
        need(
            self.at == len(self.tokens), f"there is text behind the tree: {self.tokens[self.at :]}"
        )

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def group(self):
        end = self.tokens.index("}", self.at)
        words, self.at = self.tokens[self.at + 1 : end], end + 1
        return words

    def described(self, key):
        """Read a description, or find the earlier one of the same number."""
        if self.at < len(self.tokens) and self.tokens[self.at][:1] in '"{':
            name = self.take()[1:-1] if self.tokens[self.at][:1] == '"' else ""
            self.known[key] = name, self.group()
        return self.known[key]

    def read(self):
        number, kind = len(self.nodes), self.take()
        self.nodes.append(None)
        self.take()
        if kind == "t":
            _, pays = self.described(("t", self.take()))
            need(len(pays) == self.players, f"a terminal has {len(pays)} payoffs")
            self.nodes[number] = "end", tuple(map(number_of, pays))
            return number
        if kind == "c":
            _, words = self.described(("c", self.take()))
            need(self.take() == "0", "a node before the end has payoffs")
            chances = list(map(number_of, words[1::2]))
            need(
                min(chances) >= 0 and sum(chances) == 1,
                f"chance has the probabilities {words[1::2]}",
            )
            self.nodes[number] = "chance", [(chance, self.read()) for chance in chances]
            return number
        player = int(self.take()) - 1
        label, words = self.described((player, self.take()))
        need(self.take() == "0", "a node before the end has payoffs")
        need(len(set(words)) == len(words), f"two actions of the infoset {label!r} have one name")
        self.nodes[number] = "act", player, label, {word[1:-1]: self.read() for word in words}
        return number

    def node(self, state):
        return self.nodes[state]


def prove_tree(game, strategies, labels):
    """Return intervals for the value and the best response of each player."""
    known, before = {}, {}

    def chances(player, label, actions, past):
        if label not in labels:
            labels[label], known[label] = actions, row_of(strategies, label, actions)
        # The sums below are right only if the player has the same past at all histories.
        same = before.setdefault(label, (player, past)) == (player, past)
        need(same and labels[label] == actions, f"the infoset {label!r} has imperfect recall")
        return known[label]

    def values(state, weight, pasts):
        """Return the values of all players; ``pasts`` has their last infosets and actions."""
        kind, *node = game.node(state)
        if kind == "end":
            return [weight * Fraction(pay) for pay in node[0]]
        if kind == "chance":
            parts = [values(after, weight * chance, pasts) for chance, after in node[0]]
        else:
            player, label, after = node
            row = chances(player, label, [*after], pasts[player])
            parts = [
                values(state, weight * p, (*pasts[:player], (label, action), *pasts[player + 1 :]))
                for p, (action, state) in zip(row, after.items(), strict=True)
            ]
        return [sum(pays) for pays in zip(*parts, strict=True)]

    def respond(members, hero):
        """Return the value of a best response at histories, weighted by the reach of all others."""
        total, groups, stack = 0, {}, list(members)
        while stack:
            state, weight = stack.pop()
            kind, *node = game.node(state)
            if kind == "end":
                total += weight * Fraction(node[0][hero])
            elif kind == "chance":
                stack += [(after, weight * chance) for chance, after in node[0]]
            elif node[0] != hero:
                steps = zip(known[node[1]], node[2].values(), strict=True)
                stack += [(after, weight * chance) for chance, after in steps]
            else:
                groups.setdefault(node[1], []).append((node[2], weight))
        for group in groups.values():
            total += max(
                respond([(after[action], weight) for after, weight in group], hero)
                for action in group[0][0]
            )
        return total

    value = values(game.root, Fraction(1), (None,) * game.players)
    best = [respond([(game.root, Fraction(1))], hero) for hero in range(game.players)]
    return [(v, v) for v in value], [(b, b) for b in best]


HANDS = {
    "kuhn": KuhnRules,
    "one_card_poker": lambda cards=13: KuhnRules(cards),
    "leduc": LeducRules,
    "nl_leduc": NoLimitLeducRules,
    "liars_dice": LiarsDiceRules,
    "bluff": bluff,
}
TREES = {"goofspiel": GoofspielRules, "efg": TreeRules}
RULES = HANDS | TREES


def digest_of(rows: Any) -> str:
    """Return the SHA-256 of the labels and their texts, sorted."""
    lines = sorted(json.dumps([label, *rows[label]], ensure_ascii=False) for label in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check(certificate: Any) -> dict[str, tuple[Fraction, Fraction]]:
    """Return the proven values, best responses and exploitability, as intervals.

    Raises:
        CertificateError: The certificate does not prove its claims, or is damaged.
    """
    try:
        proven = prove(**certificate)
        claims = {key: [*map(number_of, ends)] for key, ends in certificate["claims"].items()}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CertificateError(f"the certificate is damaged: {error!r}") from error
    for key, (low, high) in claims.items():
        if not low <= proven[key][0] <= proven[key][1] <= high:
            claimed = f"from {float(low)!r} to {float(high)!r}"
            raise CertificateError(f"{key} is claimed to be {claimed}, and is {shown(proven[key])}")
    return proven


def prove(format, game, digest, claims, strategies):
    """Return intervals by the names of the claims."""
    need(format == FORMAT, f"the format is {format!r}, not {FORMAT!r}")
    need(game["name"] in RULES, f"this program does not know the rules of {game['name']!r}")
    if digest_of({label: row.values() for label, row in strategies.items()}) != digest:
        raise CertificateError("the strategies are not those of the digest")
    labels, method = {}, prove_hands if game["name"] in HANDS else prove_tree
    values, best = method(RULES[game["name"]](**game["parameters"]), strategies, labels)
    if more := set(strategies) - set(labels):
        raise CertificateError(f"the game has no infoset {min(more)!r}")
    if digest_of(labels) != game["digest"]:
        raise CertificateError("the infosets and actions are not those of the game's digest")
    gains = [(b[0] - v[1], b[1] - v[0]) for b, v in zip(best, values, strict=True)]
    proven = {"exploitability": tuple(sum(ends) / len(gains) for ends in zip(*gains, strict=True))}
    for player, ends in enumerate(values):
        proven |= {f"value {player}": ends, f"best response {player}": best[player]}
    if set(claims) != set(proven):
        raise CertificateError(f"the claims must be about {', '.join(proven)}")
    return proven


def entries_of(pairs):
    """Return the entries of a JSON object, whose names must differ."""
    need(
        len(dict(pairs)) == len(pairs), f"two entries have one name: {[name for name, _ in pairs]}"
    )
    return dict(pairs)


def shown(ends):
    """Return an interval as a text."""
    low, high = ends
    if low < high:
        return f"from {float(low)!r} to {float(high)!r}"
    return f"exactly {low}" if len(str(low)) < 40 else f"{float(low)!r}, known exactly"


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            proven = check(json.load(file, object_pairs_hook=entries_of))
    except (CertificateError, OSError, ValueError) as error:
        sys.exit(f"refused: {error}")
    for key, ends in proven.items():
        print(f"{key}: {shown(ends)}")
