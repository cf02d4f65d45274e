"""Check a certificate: prove the values and the exploitability of the strategies in it.

    python checker.py FILE

This program needs Python and NumPy, and nothing else of tensorcfr.  It has its own rules of the
games, and rounds only printed numbers.  ``docs/certificates.md`` describes the file.
"""

import re
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import combinations, permutations, product
from math import factorial, floor, perm, prod

import numpy as np

FORMAT = "tensorcfr certificate 3"
NUMBER = "[0-9]+(/[0-9]+)?"
DEPTH = 10_000


class CertificateError(Exception):
    """The certificate does not prove its claims."""


def need(condition, problem):
    """Raise an error unless a condition holds."""
    if not condition:
        raise CertificateError(problem)


def numbers(words, pattern="[0-9]+"):
    """Return the numbers in texts.  They are whole, or have another pattern."""
    need(all(re.fullmatch(pattern, word) for word in words), f"{words} are not numbers")
    return [int(word) if word.isdecimal() else Fraction(word) for word in words]


def evaluate(rules, totals, lines):
    """Return the sums of payoffs of each player's best response, and of the strategy.

    The last player is chance, whose weights are in the rules.  Sums are arrays (2, hands), for
    the best response and for the strategy, by a player's last infoset and action.
    """
    known, gains = {}, defaultdict(int)

    def visit(state, weights, last):
        kind, *node = rules.node(*state)
        if kind == "end":
            for player, sums in enumerate(node):
                for rival in [k for k in reversed(range(len(node))) if k != player]:
                    sums = np.tensordot(sums, weights[rival], (rival, 0))
                gains[last[player]] += weights[-1] * np.array([sums, sums * weights[player]])
        elif kind == "chance":
            same = node and sum(x for x, _ in node) == weights[-1]
            need(same, "chance has other weights than before")
            for weight, after in node:
                visit(after, [*weights[:-1], weight], last)
        elif kind == "card":
            group, cards = node
            for player, reach in enumerate(weights[:-1]):
                same = all((reach == reach[maps[player]]).all() for maps in group)
                need(same, "the strategies differ between suits")
            for after, copies in cards:
                visit(after, weights, [(0, after), (1, after)])
                for player, before in enumerate(last):
                    sums = gains.pop((player, after))
                    gains[before] += sum(sums[:, maps[player]] for maps in copies)
        else:
            player, label, after = node
            infoset = player, [*after], last[player]
            if label not in known:
                name, *row = next(lines, [""])
                same = [name, *row[::2]] == [label, *after]
                need(same, f"{label!r} must have the actions {[*after]}, not {name!r} {row[::2]}")
                same = {text.count(" ") + 1 for text in row[1::2]} == {len(rules.chances[player])}
                need(same, f"{label!r} has not one weight for each hand and action")
                row = [numbers(text.split(" ")) * rules.chances[player] for text in row[1::2]]
                need((sum(row) == weights[player]).all(), f"wrong sums of weights at {label!r}")
                known[label] = infoset, row
            need(known[label][0] == infoset, f"the infoset {label!r} has imperfect recall")
            for action, reach in zip(after, known[label][1]):
                now, new = [*weights], [*last]
                now[player], new[player] = reach, (label, action)
                visit(after[action], now, new)
            if kind == "act":
                settle(label)

    def settle(label):
        """Add the sums after the actions of an infoset to those of the player's action before."""
        _, actions, before = known.pop(label)[0]
        sums = np.array([gains.pop((label, action)) for action in actions])
        gains[before] += np.array([sums[:, 0].max(axis=0), sums[:, 1].sum(axis=0)])

    start = [total * chances for total, chances in zip(totals, rules.chances)]
    rules.lines = lines
    visit(rules.root, [*start, totals[-1]], [*range(len(start))])
    for label in [*reversed(known)]:
        settle(label)
    need([*lines] == [[""]], "the file has more decisions than the game")
    return [(gains[k][0] @ chances, sum(gains[k][1])) for k, chances in enumerate(rules.chances)]


class Tree:
    """Any game: its nodes are lines of the file.  A player has one hand."""

    deals, root = 1, ()

    def __init__(self, players, unit):
        [players], [self.unit] = numbers(players), numbers(unit, NUMBER)
        self.chances = [np.ones(1, dtype=object)] * players

    def node(self):
        kind, *words = next(self.lines, [""])
        if kind == "infoset":
            [player], label, actions = numbers(words[:1]), words[1], words[2:]
            need(len({*actions}) == len(actions) > 0, f"{label!r} has an action twice, or none")
            return kind, player, label, dict.fromkeys(actions, ())
        if kind == "chance":
            return kind, *((weight, ()) for weight in numbers(words))
        shape = (1,) * len(self.chances)
        need((kind, len(words)) == ("end", len(shape)), f"{kind!r} and {len(words)} numbers")
        return kind, *(np.full(shape, pay, dtype=object) for pay in numbers(words, "-?[0-9]+"))


class GoofspielRules:
    """Sealed bids for one prize after the other.  A state is a prize, both bids, a prize ..."""

    deals, unit, root, chances = 1, Fraction(1, 2), (), [np.ones(1, dtype=object)] * 2

    def __init__(self, cards, bids, prizes, payoff):
        [cards], [self.bids], [self.prizes], [self.payoff] = numbers(cards), bids, prizes, payoff
        self.cards = {*range(1, cards + 1)}

    def node(self, *past):
        left, turn = [sorted(self.cards - {*past[k::3]}) for k in range(3)], len(past) % 3
        if len(left[2]) == 1 and turn == 0:  # The last round is played automatically.
            rounds = [*zip(*[iter(past)] * 3), [card for [card] in left]]
            points = np.array([sum(x[0] for x in rounds if x[k] > x[3 - k]) for k in (1, 2)])
            leads = points - points[::-1]
            pays = {"win_loss": 2 * np.sign(leads), "point_difference": leads}
            pays["total_points"] = 2 * points
            return "end", *(np.array([[pay]]) for pay in pays[self.payoff])
        if turn == 0:
            prizes = {"random": left[0], "ascending": left[0][:1], "descending": left[0][-1:]}
            after = prizes[self.prizes]
            return "chance", *((factorial(len(after) - 1), (*past, prize)) for prize in after)
        bids = past[turn::3]
        rivals = past[3 - turn :: 3][: len(bids)]
        signs = ["=+-"[(x > y) - (x < y)] for x, y in zip(bids, rivals)]
        seen = {"hidden": signs, "seen": rivals}[self.bids]
        label = " ".join(map(str, [f"P{turn - 1}", *past[::3], *bids, *seen]))
        return "infoset", turn - 1, label, {str(card): (*past, card) for card in left[turn]}


class LiarsDiceRules:
    """Bids on the dice of both players, each higher than the one before."""

    unit, root = 1, ()

    def __init__(self, dice, faces, bid_faces, wild):
        dice, [faces], [most], [self.wild] = map(numbers, (dice, faces, bid_faces, wild))
        bids = product(range(1, sum(dice) + 1), range(1, most + 1))
        self.bids = [f"{count}x{face}" for count, face in bids]
        self.rolls = [[*product(range(1, faces + 1), repeat=count)] for count in dice]
        self.chances = [np.ones(len(known), dtype=object) for known in self.rolls]
        self.deals = prod(map(len, self.rolls))

    def node(self, *line):
        if "liar" in line:
            least, *faces = *map(int, line[-2].split("x")), self.wild
            shown = [[sum(die in faces for die in roll) for roll in known] for known in self.rolls]
            pays = np.where((np.add.outer(*shown) >= least) == (len(line) % 2 == 0), 1, -1)
            return "end", pays, -pays
        words = [*self.bids[self.bids.index(line[-1]) + 1 :], "liar"] if line else self.bids
        return "act", len(line) % 2, " ".join(line), {word: (*line, word) for word in words}


class Poker:
    """Two hands, a round of bets, a card to the board, a round of bets, and so on.

    A state has the actions and cards until now, and the chips that the next player has paid and
    the other one, who has paid no less.
    """

    def __init__(self, unit, rates, board, dead, hands, raises, bets, caps, counts, merged, **rest):
        """Set the rules.  ``counts`` has the counts of a straight, of a flush and of both."""
        vars(self).update((name, *numbers(words)) for name, words in rest.items())
        self.counts = [tuple(map(int, word)) for word in counts]
        names = "23456789TJQKA"[-self.ranks :] if counts else range(self.ranks)
        suits = ("cdhs" if counts else "shdc")[: self.suits]
        self.rank = {f"{rank}{suit}": k for k, rank in enumerate(names) for suit in suits}
        self.free = [card for card in self.rank if card not in (*board, *dead)]
        count = len(self.free) + len(board) + len(dead)
        need(count == self.ranks * self.suits, "a card is unknown, or comes twice")
        deals = [*map(frozenset, combinations(self.free, self.size))]
        weights = [numbers(x.split(" ")) if x != "all" else [1] * len(deals) for x in hands]
        self.hands = [{x: n for x, n in zip(deals, y, strict=True) if n} for y in weights]
        self.chances = [np.array([*known.values()], dtype=object) for known in self.hands]
        [self.unit], self.rates, [merged] = numbers(unit, NUMBER), numbers(rates), merged
        self.bets, self.caps = numbers(bets), numbers(caps)
        self.raises = {line: numbers(x.split(" ")) for line, x in (x.split(":") for x in raises)}
        self.board, self.left = board, self.cards - len(board)
        rounds = (self.left + 1) * (self.size == 1 and self.actions == 0)
        good = len(self.bets) == len(self.caps) == rounds and len(self.raises) == len(raises)
        need(good, "a round has not one bet, or a line is listed twice")
        self.root, self.unseen = ((), self.ante, self.ante), len(self.free) - 2 * self.size
        need(0 <= self.left <= 2, "the board has not 3 to 5 cards")
        self.results, self.outcomes = lru_cache(500)(self.results), lru_cache(self.outcomes)
        self.deals = self.chances[0] @ (self.results(()) < 2) @ self.chances[1]
        self.deals *= perm(self.unseen, self.left)
        self.images, kept = [], [*self.hands, {frozenset(board): 1}, {frozenset(dead): 1}]
        for order in {"yes": permutations(suits), "no": [suits]}[merged]:
            image = {card: card[:-1] + order[suits.index(card[-1])] for card in self.rank}
            moved = [{frozenset(map(image.get, x)): n for x, n in y.items()} for y in kept]
            if moved == kept:
                maps = [[*map([*x].index, y)] for x, y in zip(self.hands, moved)]
                self.images.append((image, maps))

    def node(self, words, paid, top):
        dealt = tuple(word for word in words if word in self.rank)
        line = words[words.index(dealt[-1]) + 1 :] if dealt else words
        player, left = len(line) % 2, self.left - len(dealt)
        is_over = "call" in line[1:] or (top == self.stack and not line)
        if "fold" in line or (is_over and left == 0):
            chip, part, most = self.rates
            pot, result = self.pot + 2 * min(paid, top), self.results(dealt)
            if "fold" in line:
                result = np.where(result < 2, 1 - 2 * player, 2)
            win, rake = pot * chip, min(pot * part, most)
            pays = np.array([-rake, win - 2 * rake, 0, -win], dtype=object)
            pays *= perm(self.unseen - len(dealt), left)
            return "end", pays[result], pays[[0, 3, 2, 1]][result]
        if is_over:
            group, cards = self.outcomes(dealt)
            after = [(((*words, card), paid, top), copies) for card, copies in cards.items()]
            return "card", group, after
        # A raise is as high as the last one, or all in.
        legal = range(max(min(2 * top - paid, self.stack), top + 1), self.stack + 1)
        raises = self.raises.get(" ".join(word for word in words if word not in self.rank), [])
        if self.caps:
            is_open = sum(map(str.isdigit, line)) < self.caps[len(dealt)]
            raises = [top + self.bets[len(dealt)]] * is_open
        if self.actions:
            raises = legal if len(line) + 1 < self.actions else []
        good = [*raises] == sorted({*raises}) and all(total in legal for total in raises)
        need(good, f"{raises} are not legal raises after {words}")
        totals = (
            ({"fold": paid} if paid < top else {}) | {"call": top} | {str(x): x for x in raises}
        )
        after = {action: ((*words, action), top, total) for action, total in totals.items()}
        return "act", player, " ".join(words), after

    def outcomes(self, dealt):
        """Return all maps of hands, and by listed card those from the cards with its strategies."""
        group = [x for x in self.images if all(x[0][card] == card for card in dealt)]
        deck, cards = [*self.rank], defaultdict(list)
        for card in [x for x in self.free if x not in dealt]:
            image, maps = min(group, key=lambda x: deck.index(x[0][card]))
            cards[image[card]].append(maps)
        return [maps for _, maps in group], cards

    def results(self, dealt):
        """Return who wins all pairs of hands: 1 for player 0, 0, -1; 2 if they are impossible."""
        board, rated = {*self.board, *dealt}, []
        for hands in self.hands:
            sets = [combinations(x | board, min(5, len(x | board))) for x in hands]
            rated.append([*zip(hands, [max(map(self.rate, cards)) for cards in sets])])
        result = [
            (x > y) - (x < y) if len(a | b | board) == len(a) + len(b) + len(board) else 2
            for (a, x), (b, y) in product(*rated)
        ]
        return np.array(result).reshape(len(rated[0]), -1)

    def rate(self, cards):
        """Return the numbers of cards of one rank, largest first, and the ranks in this order."""
        ranks, size = Counter(self.rank[card] for card in cards), len(cards)
        counts, ranks = zip(*sorted(((n, rank) for rank, n in ranks.items()), reverse=True))
        if self.counts:
            if ranks == (max(self.rank.values()), *range(size - 2, -1, -1)):
                ranks = (*ranks[1:], -1)
            is_straight = len(ranks) == size == ranks[0] - ranks[-1] + 1
            is_flush = len({card[-1] for card in cards}) == 1
            counts = (counts, *self.counts)[2 * is_flush + is_straight]
        return counts, ranks


POKER = {
    **{"suits": "1", "size": "1", "cards": "1", "ante": "1", "pot": "0", "stack": "1000000000"},
    **{"board": "", "dead": "", "hands": "all all", "counts": "", "merged": "no", "unit": "1/2"},
    **{"rates": "1 0 0", "bets": "", "caps": "", "actions": "0", "raises": ""},
}
RHODE = {"cards": "2", "ante": "5", "bets": "10 20 20", "counts": "23 22 4"}
LARGE = POKER | {"ranks": "13", "suits": "4"}
HOLDEM = LARGE | {"size": "2", "cards": "5", "ante": "0", "counts": "312 313 5"}
SPOT = "board dead hands pot stack raises unit rates merged"
RULES = {
    "kuhn": (Poker, "ranks", POKER | {"cards": "0", "bets": "1", "caps": "1"}),
    "leduc": (Poker, "ranks suits bets caps", POKER),
    "nl_leduc": (Poker, "ranks suits ante stack actions", POKER),
    "rhode_island": (Poker, "caps merged", LARGE | RHODE),
    "holdem": (Poker, SPOT, HOLDEM),
    "short_deck": (Poker, SPOT, HOLDEM | {"ranks": "9", "counts": "312 33 5"}),
    "liars_dice": (LiarsDiceRules, "dice faces bid_faces wild", {}),
    "goofspiel": (GoofspielRules, "cards bids prizes payoff", {}),
    "tree": (Tree, "players unit", {}),
}


def check(text: str) -> dict[str, Fraction]:
    """Return the proven numbers of a certificate, fractions, by the names of its claims.

    Raises:
        CertificateError: The certificate does not prove its claims, or is damaged.
    """
    try:
        title, rest = text.split("\n", 1)
        need(title.startswith(f"{FORMAT} "), f"{title!r} is another format")
        same = title == f"{FORMAT} {sha256(rest.encode()).hexdigest()}"
        need(same, "the file is not the one of its digest")
        return prove(*([x.split("\t") for x in part.split("\n")] for part in rest.split("\n\n")))
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise CertificateError(f"the certificate is damaged: {error!r}") from error


def prove(head, claims, body):
    """Return the proven numbers of a certificate, whose lines are lists of texts."""
    parameters = {name: values for name, *values in head}
    [name], totals = parameters.pop("game"), numbers(parameters.pop("totals"))
    need(name in RULES, f"this program does not know the rules of {name!r}")
    make, names, fixed = RULES[name]
    names = ["game", *names.split(), "totals"]
    need([row[0] for row in head] == names, f"the entries of the game must be {names}")
    rules = make(**{key: text.split() for key, text in fixed.items()} | parameters)
    players = len(rules.chances)
    need(len(totals) == players + 1 and min(totals) > 0, "a player has no total, or chance")
    need(rules.unit > 0, "the unit is 0")
    proven, unit = {"exploitability": 0}, Fraction(rules.unit) / rules.deals / prod(totals)
    for player, (best, value) in enumerate(evaluate(rules, totals, iter(body))):
        best, value = best * unit * totals[player], value * unit
        proven |= {f"value {player}": value, f"best response {player}": best}
        proven["exploitability"] += (best - value) / players
    need([*proven] == [name for name, *_ in claims], f"the claims must be {', '.join(proven)}")
    for name, *ends in claims:
        low, high = numbers(ends, f"-?{NUMBER}")
        number = proven[name]
        need(low <= number <= high, f"{name} is claimed to be in {ends}, and is {shown(number)}")
    return proven


def shown(number):
    """Return a fraction as a text: itself, or two ends of an interval."""
    if len(str(number)) < 40:
        return f"exactly {number}"
    low = floor(number * 10**20)
    return f"from {low}e-20 to {low + 1}e-20"


if __name__ == "__main__":
    sys.setrecursionlimit(DEPTH)
    try:
        with open(sys.argv[1], encoding="utf-8", newline="") as file:
            proven = check(file.read())
        print(*(f"{name}: {shown(number)}" for name, number in proven.items()), sep="\n")
    except (CertificateError, OSError, ValueError) as error:
        sys.exit(f"refused: {error}")
