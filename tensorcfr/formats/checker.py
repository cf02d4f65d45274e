"""Check a certificate: prove the values and the exploitability of the strategies in it.

    python checker.py FILE

This program needs Python and NumPy, and nothing else of tensorcfr.  It has its own rules of the
games, and rounds only printed numbers.  ``docs/certificates.md`` describes the file.
"""

import re
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from functools import lru_cache, reduce
from hashlib import sha256
from itertools import combinations, permutations, product
from math import factorial, floor, perm, prod
from types import SimpleNamespace

import numpy as np

FORMAT = "tensorcfr certificate 3"
WHOLE, FRACTION = "[0-9]+", "[0-9]+(/[0-9]+)?"


class CertificateError(Exception):
    """The certificate does not prove its claims."""


def need(condition, problem):
    """Raise an error unless a condition holds."""
    if not condition:
        raise CertificateError(problem)


def numbers(words, pattern=WHOLE):
    """Return the numbers in texts, of which there is at least one."""
    wrong = [word[:99] for word in words if len(word) > 9999 or not re.fullmatch(pattern, word)]
    need(words and not wrong, f"{wrong} are not numbers")
    return [Fraction(word) if "/" in word else int(word) for word in words]


def evaluate(rules, past, weights, chance):
    """Return for each player the sums of payoffs of a best response, and of the strategy.

    The arguments are the past of a node (empty in trees), the weights of each player's hands there,
    and chance's weight.  A path has the weights after an action, and the sums of all that follows.
    """
    start = [SimpleNamespace(weights=x, sums=0) for x in weights]
    infosets, stack = {}, [(past, start, chance)]
    while stack:
        past, paths, chance = stack.pop()
        weights = [path.weights for path in paths]
        kind, node = rules.node(*past)
        if kind == "end":
            need(len(node) == len(paths), "an end has not one payoff for each player")
            for player, pays in enumerate(node):
                rivals = [x * rules.hands[k] for k, x in enumerate(weights) if k != player]
                sums = chance * rules.hands[player] * reduce(np.dot, rivals, pays)
                paths[player].sums += np.array([sums, sums * weights[player]])
        elif kind == "chance":
            need(sum(node.values()) == chance, "chance has other weights than before")
            stack += [((*past, x)[: rules.past], paths, y) for x, y in reversed(node.items())]
        elif kind == "card":
            group, cards = node
            same = all((x == x[maps[k]]).all() for k, x in enumerate(weights) for maps in group)
            need(same, "the strategies differ between suits")
            for card, copies in cards.items():
                for player, sums in enumerate(evaluate(rules, (*past, card), weights, chance)):
                    paths[player].sums += sum(sums[:, maps[player]] for maps in copies)
        else:
            player, label, *actions = node
            if label not in infosets:
                name, *row = next(rules.lines, [""])
                same = [name, *row[::2]] == [label, *actions]
                need(same, f"{label!r} must have the actions {actions}, not {name!r} {row[::2]}")
                rows = np.array([numbers(text.split(" ")) for text in row[1::2]], dtype=object)
                same = rows.shape == (len(actions), len(weights[player]))
                need(same, f"{label!r} has not one weight for each hand and action")
                need((sum(rows) == weights[player]).all(), f"wrong sums of weights at {label!r}")
                after = [SimpleNamespace(weights=x, sums=0) for x in rows]
                infosets[label] = node, paths[player], after
            known, before, after = infosets[label]
            same = known == node and before is paths[player]
            need(same, f"the infoset {label!r} has imperfect recall")
            for action, path in reversed([*zip(actions, after)]):
                now = [*paths[:player], path, *paths[player + 1 :]]
                stack.append(((*past, action)[: rules.past], now, chance))
    for _, before, after in reversed(infosets.values()):
        best, value = np.swapaxes([path.sums for path in after], 0, 1)
        before.sums += np.array([best.max(axis=0), value.sum(axis=0)])
    return [path.sums for path in start]


def tree(lines, players, unit):
    """Return the rules of any game: its nodes are lines of the file."""

    def node(*past):
        kind, *words = next(lines, [""])
        if kind == "infoset":
            need(len({*words[2:]}) == len(words[2:]), f"{words[1]!r} has an action twice")
            (player,) = numbers(words[:1])
            need(player < players, f"{player} is not a player")
            return kind, [player, *words[1:]]
        if kind == "chance":
            return kind, dict(enumerate(numbers(words)))
        need(kind == "end", f"{kind!r} is not a node")
        return kind, numbers(words, f"-?{WHOLE}")

    hands = [np.ones(1, dtype=object)] * players
    return SimpleNamespace(lines=lines, unit=unit, hands=hands, node=node, past=0)


def goofspiel(lines, cards, bids, prizes, payoff):
    """Return the rules of goofspiel: sealed bids for one prize after the other."""
    need(cards > 0, "there are no cards")

    def node(*words):
        past, turn = [*map(int, words)], len(words) % 3  # A prize, both bids, a prize ...
        left = sorted({*range(1, cards + 1)} - {*past[turn::3]})
        if past and not left:
            worth, first, second = np.reshape(past, (-1, 3)).T
            points = np.array([worth @ (first > second), worth @ (second > first)])
            leads = points - points[::-1]
            pays = {"win_loss": np.sign(leads), "point_difference": leads, "total_points": points}
            return "end", pays[payoff].tolist()
        if turn == 0:
            left = {"random": left, "ascending": left[:1], "descending": left[-1:]}[prizes]
            return "chance", dict.fromkeys(left, factorial(len(left) - 1))
        if len(left) == 1:  # The last round is played automatically.
            return node(*words, *left)
        before, rivals = past[turn::3], past[3 - turn :: 3]
        signs = ["=+-"[(x > y) - (x < y)] for x, y in zip(before, rivals)]
        seen = {"hidden": signs, "seen": rivals[: len(before)]}[bids]
        label = " ".join(map(str, [f"P{turn - 1}", *past[::3], *before, *seen]))
        return "infoset", [turn - 1, label, *map(str, left)]

    unit, hands = Fraction(1, 1 + (payoff == "point_difference")), [np.ones(1, dtype=object)] * 2
    return SimpleNamespace(lines=lines, unit=unit, hands=hands, node=node, past=None)


def liars_dice(lines, dice, faces, bid_faces, wild):
    """Return the rules of liar's dice: bids on all dice, each higher than the one before."""
    need(faces ** max(dice) <= 10**7, "a player has more than 10^7 rolls")
    rolls = [[*product(range(1, faces + 1), repeat=number)] for number in dice]
    bids = product(range(1, sum(dice) + 1), range(1, bid_faces + 1))
    words = [*(f"{number}x{face}" for number, face in bids), "liar"]

    def node(*line):
        if "liar" in line:
            least, *faces = *map(int, line[-2].split("x")), wild
            shown = [[sum(die in faces for die in roll) for roll in known] for known in rolls]
            pays = np.where((np.add.outer(*shown) >= least) == (len(line) % 2 == 0), 1, -1)
            return "end", [pays, -pays.T]
        after = words[words.index(line[-1]) + 1 :] if line else words[:-1]
        return "infoset", [len(line) % 2, " ".join(line), *after]

    unit, hands = Fraction(1, prod(map(len, rolls))), [np.ones(len(x), dtype=object) for x in rolls]
    return SimpleNamespace(lines=lines, unit=unit, hands=hands, node=node, rolls=rolls, past=None)


class Poker:
    """Two hands, a round of bets, a card to the board, a round of bets, and so on.

    ``counts`` has the counts of a straight, of a flush and of both.
    """

    ranks, suits, letters, size, cards, ante, actions, past = 13, 4, "cdhs", 2, 5, 0, 1, None
    pot, stack, unit, rates, hands, merged = 0, 10**30, Fraction(1, 2), [1, 0, 0], ["all"] * 2, "no"
    board, dead, bets, caps, raises, counts = [], [], [], [], [], [(3, 1, 2), (3, 1, 3), (5,)]

    def __init__(self, **parameters):
        vars(self).update(parameters)
        names = "23456789TJQKA"[-self.ranks :] if self.counts else range(self.ranks)
        suits = self.letters[: self.suits]
        self.rank = {f"{name}{suit}": k for k, name in enumerate(names) for suit in suits}
        known = [*self.board, *self.dead]
        self.free = [card for card in self.rank if card not in known]
        same = len(self.free) + len(known) == self.ranks * self.suits
        need(same, "a card is unknown, or comes twice")
        self.left, self.unseen = self.cards - len(self.board), len(self.free) - 2 * self.size
        need(len(self.bets) == len(self.caps) in (0, self.left + 1), "a round has not one bet")
        need(self.actions and 0 <= self.left <= 2, "no action, or a board without 3 to 5 cards")
        need(self.ante <= self.stack, "a player has fewer chips than the ante")
        lines = [text.split(":") for text in self.raises]
        need(all(len(parts) == 2 for parts in lines), "raises need one line and its totals")
        self.raises = {line: numbers(totals.split(" ")) for line, totals in lines}
        rising = all(totals == sorted({*totals}) for totals in self.raises.values())
        need(rising and len(self.raises) == len(lines), "totals fall, or a line is listed twice")
        deals = [*map(frozenset, combinations(self.free, self.size))]
        weights = [numbers(x.split(" ")) if x != "all" else [1] * len(deals) for x in self.hands]
        self.ranges = [{x: n for x, n in zip(deals, y, strict=True) if n} for y in weights]
        self.hands = [np.array([*known.values()], dtype=object) for known in self.ranges]
        orders = {"yes": permutations(suits), "no": [suits]}[self.merged]
        need(all(self.ranges), "a player has no hand")
        self.swaps = [str.maketrans(suits, "".join(order)) for order in orders]
        self.results, self.outcomes = lru_cache(500)(self.results), lru_cache(self.outcomes)
        deals = self.hands[0] @ (self.results(()) < 2) @ self.hands[1]
        need(deals, "no pair of hands can be dealt")
        self.unit = Fraction(self.unit) / deals / perm(self.unseen, self.left)

    def node(self, *words):
        dealt = tuple(word for word in words if word in self.rank)
        line = words[words.index(dealt[-1]) + 1 :] if dealt else words
        player, left = len(line) % 2, self.left - len(dealt)
        totals = [self.ante, *(int(word) for word in words if word.isdigit())]
        top = totals[-1]
        paid = top if not line or line[-1] == "call" else totals[-2]
        is_over = "call" in line[1:] or (top == self.stack and not line)
        if "fold" in line or (is_over and left == 0):
            chip, part, most = (perm(self.unseen - len(dealt), left) * x for x in self.rates)
            pot, result = self.pot + 2 * paid, self.results(dealt)
            if "fold" in line:
                result = np.where(result < 2, 1 - 2 * player, 2)
            win, rake = pot * chip, min(pot * part, most)
            pays = np.array([-rake, win - 2 * rake, 0, -win], dtype=object)
            return "end", [pays[result], pays[-result].T]
        if is_over:
            return "card", self.outcomes(dealt)
        # A raise is as high as the last one, or all in.
        legal = range(max(min(2 * top - paid, self.stack), top + 1), self.stack + 1)
        past = " ".join(word for word in words if word not in dealt)
        raises = self.raises.get(past, [])
        if self.caps and len(line) - line.count("call") < self.caps[len(dealt)]:
            raises = [top + self.bets[len(dealt)]]
        if len(line) + 1 < self.actions:
            raises = legal
        need(
            all(total in legal for total in raises), f"{raises} are not legal raises after {words}"
        )
        actions = [*["fold"] * (paid < top), "call", *map(str, raises)]
        return "infoset", [player, " ".join(words), *actions]

    def outcomes(self, dealt):
        """Return all maps of hands, and by listed card those from the cards with its strategies."""
        kept = [*self.ranges, *({frozenset(x): 1} for x in (self.board, self.dead, *zip(dealt)))]
        group, cards, deck = [], defaultdict(list), [*self.rank]
        for swap in self.swaps:
            moved = [{frozenset(z.translate(swap) for z in x): y[x] for x in y} for y in kept]
            if moved == kept:
                group.append((swap, [[*map([*x].index, y)] for x, y in zip(self.ranges, moved)]))
        for card in [x for x in self.free if x not in dealt]:
            swap, maps = min(group, key=lambda x: deck.index(card.translate(x[0])))
            cards[card.translate(swap)].append(maps)
        return [maps for _, maps in group], cards

    def results(self, dealt):
        """Return who wins all pairs of hands: 1 for player 0, 0, -1; 2 if they are impossible."""
        board, rated = {*self.board, *dealt}, []
        for hands in self.ranges:
            sets = [combinations(x | board, min(5, len(x | board))) for x in hands]
            rated.append([*zip(hands, [max(map(self.rate, cards)) for cards in sets])])
        result = [
            (x > y) - (x < y) if len(a | b | board) == len(a) + len(b) + len(board) else 2
            for (a, x), (b, y) in product(*rated)
        ]
        return np.array(result).reshape(len(rated[0]), -1)

    def rate(self, cards):
        """Return the numbers of cards of one rank, largest first, and the ranks in this order."""
        ranks = Counter(sorted(map(self.rank.get, cards), reverse=True))
        ranks, counts = zip(*ranks.most_common())
        if self.counts:
            if ranks == (self.ranks - 1, *range(len(cards) - 2, -1, -1)):
                ranks = (*ranks[1:], -1)
            is_straight = len(ranks) == len(cards) == ranks[0] - ranks[-1] + 1
            is_flush = len({card[-1] for card in cards}) == 1
            counts = (counts, *self.counts)[2 * is_flush + is_straight]
        return counts, ranks


SMALL = {"suits": 1, "letters": "shdc", "size": 1, "cards": 1, "ante": 1, "counts": []}
RHODE = {"size": 1, "cards": 2, "ante": 5, "bets": [10, 20, 20], "counts": [(2, 3), (2, 2), (4,)]}
SPOT = "board dead hands pot stack raises unit rates merged"
RULES = {
    "kuhn": (Poker, "ranks", SMALL | {"cards": 0, "bets": [1], "caps": [1]}),
    "leduc": (Poker, "ranks suits bets caps", SMALL),
    "nl_leduc": (Poker, "ranks suits ante stack actions", SMALL),
    "rhode_island": (Poker, "caps merged", RHODE),
    "holdem": (Poker, SPOT, {}),
    "short_deck": (Poker, SPOT, {"ranks": 9, "counts": [(3, 1, 2), (3, 3), (5,)]}),
    "liars_dice": (liars_dice, "dice faces bid_faces wild", {}),
    "goofspiel": (goofspiel, "cards bids prizes payoff", {}),
    "tree": (tree, "players unit", {}),
}
CHOICES = {
    "merged": ["yes", "no"],
    "bids": ["hidden", "seen"],
    "prizes": ["ascending", "descending", "random"],
    "payoff": ["win_loss", "point_difference", "total_points"],
}
TEXTS = ["board", "dead", "hands", "raises", *CHOICES]
SIZES = ["ranks", "cards", "faces", "bid_faces"]
LISTS = ["board", "dead", "hands", "raises", "bets", "caps", "rates", "dice"]


def check(text: str) -> dict[str, Fraction]:
    """Return the proven numbers of a certificate by name, or raise a :class:`CertificateError`."""
    try:
        title, rest = text.split("\n", 1)
        form, _, digest = title.rpartition(" ")
        need(form == FORMAT, f"{form!r} is another format")
        need(digest == sha256(rest.encode()).hexdigest(), "the file is not the one of its digest")
        parts = [[x.split("\t") for x in part.split("\n")] for part in rest.split("\n\n")]
        need(len(parts) == 3, "the file has not three parts")
        return prove(*parts)
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise CertificateError(f"the certificate is damaged: {error!r}") from error


def prove(head, claims, body):
    """Return the proven numbers of a certificate, whose lines are lists of texts."""
    (_, game), *parameters, (_, *totals) = head
    need(game in RULES, f"this program does not know the rules of {game!r}")
    make, names, values = RULES[game]
    names = ["game", *names.split(), "totals"]
    need([row[0] for row in head] == names, f"the entries of the game must be {names}")
    for name, *words in parameters:
        if name not in TEXTS:
            words = numbers(words, FRACTION if name == "unit" else WHOLE)
        need(name in LISTS or len(words) == 1, f"{name} has not one value")
        need({*words} <= {*CHOICES.get(name, words)}, f"{name} cannot be {words}")
        need(name not in SIZES or words[0] <= 10**4, f"{name} is above 10,000")
        values = values | {name: words if name in LISTS else words[0]}
    totals = numbers(totals)
    need(len(totals) == values.get("players", 2) + 1, "a player has no total, or chance")
    rules = make(lines=iter(body), **values)
    need(min(rules.unit, *totals) > 0, "a total is 0, or the unit is 0")
    start = [np.full_like(x, total) for x, total in zip(rules.hands, totals)]
    sums = evaluate(rules, (), start, totals[-1])
    need([*rules.lines] == [[""]], "the file has more decisions than the game")
    proven = {"exploitability": 0}
    for player, pair in enumerate(sums):
        best, value = (Fraction(rules.unit) * sum(x) / prod(totals) for x in pair)
        best *= totals[player]
        proven |= {f"value {player}": value, f"best response {player}": best}
        proven["exploitability"] += (best - value) / len(sums)
    need([*proven] == [name for name, *_ in claims], f"the claims must be {', '.join(proven)}")
    for name, *ends in claims:
        low, high = numbers(ends, f"-?{FRACTION}")
        number = proven[name]
        need(low <= number <= high, f"{name} is claimed to be in {ends}, and is {shown(number)}")
    return proven


def shown(number):
    """Return a fraction as a text: itself, or two ends of an interval."""
    low = floor(number * 10**20)
    is_short = max(abs(number.numerator), number.denominator) < 10**40 and len(str(number)) < 40
    return f"exactly {number}" if is_short else f"from {low}e-20 to {low + 1}e-20"


if __name__ == "__main__":
    sys.set_int_max_str_digits(10**4)
    try:
        with open(sys.argv[1], encoding="utf-8", newline="") as file:
            proven = check(file.read())
        print(*(f"{name}: {shown(number)}" for name, number in proven.items()), sep="\n")
    except (CertificateError, OSError, ValueError) as error:
        sys.exit(f"refused: {error}")
