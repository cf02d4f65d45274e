"""Check a certificate: prove the values and the exploitability of the strategies in it.

    python checker.py FILE

This program needs Python and NumPy, and nothing else of tensorcfr.  It has its own rules of the
games.  It computes whole numbers and fractions, so that only printed numbers are rounded.
``docs/certificates.md`` describes the file.
"""

import json
import re
import sys
from collections import defaultdict
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain, combinations, permutations, product
from math import prod

import numpy as np

RANKS, SUITS = "23456789TJQKA", "cdhs"
SMALL_SUITS = {1: "s", 2: "sh", 3: "shd", 4: "shdc"}
NO_FLOATS = "parse_float", "parse_constant"
FLAGS = {"wild", "bid_wild", "symmetry", "imperfect_information"}


class CertificateError(Exception):
    """The certificate does not prove its claims."""


def need(condition, problem):
    """Raise an error unless a condition holds."""
    if not condition:
        raise CertificateError(problem)


def number_of(text):
    """Return the number in a text: a fraction, or a decimal of fewer than 1,000 digits."""
    pattern = r"-?[0-9]+(/[0-9]+|(\.[0-9]+)?(e[+-]?[0-9]{1,3})?)"
    need(isinstance(text, str) and re.fullmatch(pattern, text), f"{text!r} is not a number as text")
    return Fraction(text)


def weights_after(label, row, before):
    """Return the weights after each action: arrays whose sum is the weights before."""
    good = all(re.fullmatch("[0-9]+( [0-9]+)*", text) for text in row.values())
    after = [np.array([*map(int, text.split())], dtype=object) for text in row.values() if good]
    good = good and all(len(numbers) == len(before) for numbers in after)
    need(good, f"{label!r} has not {len(before)} whole numbers for each action")
    need((sum(after) == before).all(), f"the weights at {label!r} do not sum to those before")
    return after


def evaluate(rules, totals, strategies):
    """Return for each player the sums of payoffs of a best response and of the strategy.

    ``rules.node`` returns a decision, the arguments of ``rules.payoffs``, or chance.  Chance has a
    factor of all sums and a list of outcomes: a factor, a state, and permutations of the hands, one
    for each outcome with the same strategies.
    """
    known, gains = {}, defaultdict(int)

    def visit(state, chance, weights, last):
        """Return each player's sums, by hand: arrays (2, hands).

        ``weights`` and ``last`` have each player's weights and last infoset and action.
        """
        kind, *node = rules.node(*state)
        if kind == "end":
            pays = zip(rules.payoffs(weights, *node), weights.values())
            return [np.array([x, x * reach]) * chance for x, reach in pays]
        sums = [0] * len(weights)
        if kind == "chance":
            for share, after, copies in node[1]:
                parts = visit(after, chance * share, weights, last)
                for images in copies:
                    same = all((weights[p] == weights[p][x]).all() for p, x in enumerate(images))
                    need(same, "the strategies differ between suits")
                    sums = [x + part[:, image] for x, part, image in zip(sums, parts, images)]
            return [x * node[0] for x in sums]
        player, label, after = node
        row, infoset = strategies.get(label, {}), (player, [*after], last[player])
        need([*row] == [*after], f"{label!r} must have the actions {[*after]}, not {[*row]}")
        same = known.setdefault(label, infoset) == infoset
        need(same, f"the infoset {label!r} has imperfect recall")
        for action, numbers in zip(after, weights_after(label, row, weights[player])):
            now = weights | {player: numbers}, last | {player: (label, action)}
            parts = visit(after[action], chance, *now)
            gains[label, action] += parts[player][0]
            sums = [x + part for x, part in zip(sums, parts)]
        # More histories of a tree may have this infoset: its best action is found at the end.
        sums[player][0] = 0 if rules.is_tree else best(label)
        return sums

    def best(label):
        return np.maximum.reduce([gains.pop((label, action)) for action in known[label][1]])

    start = {p: np.full(len(x), totals[p], dtype=object) for p, x in enumerate(rules.chances)}
    sums = visit(rules.root, 1, start, {player: player for player in start})
    for label in reversed(known if rules.is_tree else {}):
        gains[known[label][2]] += best(label)
    for player in start:
        sums[player][0] += gains[player]
    more = sorted({*strategies} - {*known})
    need(not more, f"the game has no infosets {more[:1]}")
    return [x @ chances for x, chances in zip(sums, rules.chances)]


class Tree:
    """Any game, as nested lists.  A player has one hand."""

    is_tree, deals = True, 1

    def __init__(self, players, tree):
        self.chances, self.root = [np.ones(1, dtype=object)] * players, tree

    def node(self, kind, *rest):
        need(kind in ("act", "chance", "end"), f"a node cannot be {kind!r}")
        if kind == "end":
            need(len(rest) == len(self.chances), f"a terminal has {len(rest)} payoffs")
        if kind == "chance":
            shares = [number_of(share) for share, _ in rest]
            need(min(shares) >= 0 and sum(shares) == 1, f"chance has the probabilities {shares}")
            rest = 1, [(x, to, [[...] * len(self.chances)]) for x, (_, to) in zip(shares, rest)]
        return kind, *rest

    def payoffs(self, weights, *pays):
        for player, pay in enumerate(pays):
            yield number_of(pay) * prod(weights[p] for p in weights if p != player)


def goofspiel(cards, imperfect_information, prizes, payoff):
    """Return the tree of sealed bids for one prize after the other.

    A round is the prize and the bids of both players; ``now`` is the beginning of the next one.
    """

    def node(rounds, *now):
        if len(now) == 3:
            return node([*rounds, now])
        left = [sorted({*range(1, cards + 1)} - {row[k] for row in rounds}) for k in range(3)]
        if now:
            player, label = len(now) - 1, f"P{len(now) - 1}"
            for prize, *bids in rounds:
                mine, rival = bids[player], bids[1 - player]
                seen = f"{mine}{'=+-'[(mine > rival) - (mine < rival)]}"
                label += f" {prize}:{seen if imperfect_information else '{},{}'.format(*bids)}"
            after = {str(card): node(rounds, *now, card) for card in left[1 + player]}
            return ["act", player, f"{label} {now[0]}?", after]
        if len(left[0]) > 1:
            orders = {"random": left[0], "ascending": left[0][:1], "descending": left[0][-1:]}
            share = f"1/{len(orders[prizes])}"
            return ["chance", *([share, node(rounds, prize)] for prize in orders[prizes])]
        rounds = [*rounds, [card for [card] in left]]  # The last round is played automatically.
        points = [sum(row[0] for row in rounds if row[k] > row[3 - k]) for k in (1, 2)]
        half = Fraction(points[0] - points[1], 2)
        sign = (half > 0) - (half < 0)
        pays = {"win_loss": [sign, -sign], "point_difference": [half, -half]}
        return ["end", *map(str, (pays | {"total_points": points})[payoff])]

    return Tree(2, node([]))


class Hands:
    """A game of two players with a hand each, dealt in proportion to the product of chances."""

    is_tree = False

    def payoffs(self, weights, result, pays):
        """Yield each player's sums of payoffs over the hands of the other player.

        ``result`` is 1, 0, -1 where player 0 wins, draws, loses, and 2 where hands cannot be dealt
        together; ``pays`` are the payoffs of a win, a draw and a loss.
        """
        for player, table in enumerate((result, -result.T)):
            reach = weights[1 - player] * self.chances[1 - player]
            # Floats are exact in sums of fewer than 2**21 numbers of 32 bits.
            powers = [2**bits for bits in range(0, max(reach).bit_length() + 1, 32)]
            parts = np.array([reach // power % 2**32 for power in powers]).astype(float)
            sums = [(parts @ (table == sign).T).astype(np.int64) for sign in (1, 0, -1)]
            yield sum(pay * (np.array(powers) @ x.astype(object)) for pay, x in zip(pays, sums))


class LiarsDiceRules(Hands):
    """Bids on the dice of both players, each higher than the one before."""

    def __init__(self, dice, faces, wild, bid_wild):
        bids = product(range(1, sum(dice) + 1), range(1, faces + bid_wild))
        self.bids, self.joker = [f"{number}x{face}" for number, face in bids], faces * wild
        self.rolls = [[*product(range(1, faces + 1), repeat=count)] for count in dice]
        self.chances = [np.ones(len(known), dtype=object) for known in self.rolls]
        self.deals, self.root = prod(map(len, self.rolls)), ()

    def node(self, *line):
        if "liar" in line:
            number, *faces = *map(int, line[-2].split("x")), self.joker
            shown = [[sum(die in faces for die in roll) for roll in known] for known in self.rolls]
            is_won = (np.add.outer(*shown) >= number) == (len(line) % 2 == 0)
            return "end", np.where(is_won, 1, -1), (1, 0, -1)
        words = [*self.bids[self.bids.index(line[-1]) + 1 :], "liar"] if line else self.bids
        return "act", len(line) % 2, " ".join(line), {word: (*line, word) for word in words}


class Poker(Hands):
    """Two hands, a round of bets, a card to the board, a round of bets, and so on.

    A state is the label, each player's chips, the actions of this round and the cards dealt.
    """

    board, dead, symmetry, pot, stack, chip, rake, rake_cap = (), (), False, 0, 10**9, 1, 0, 0

    def __init__(self, ranks, suits, rounds, size, ante, raises, straights=(), hands=None, **rules):
        """Set the cards, by rank and suit, the number of rounds, and the chips before the bets.

        ``size`` cards count at the showdown.  ``straights`` has the counts of a straight, a flush
        and both, in place of those that :meth:`rate` finds.
        """
        vars(self).update(rules, suits=suits, rounds=rounds, raises=raises, straights=straights)
        self.rank = {f"{rank}{suit}": k for k, rank in enumerate(ranks) for suit in suits}
        self.hands = hands or [{frozenset([card]): 1 for card in self.rank}] * 2
        self.chances = [np.array([*known.values()], dtype=object) for known in self.hands]
        self.size, self.results = size, lru_cache(500)(self.results)  # At most 1 GB.
        self.cards_after, self.root = lru_cache(self.cards_after), ("", {0: ante, 1: ante}, (), ())
        # Payoffs are counted in halves.
        self.deals = 2 * (self.chances[0] @ (self.results(self.board) < 2) @ self.chances[1])

    def node(self, label, paid, line, dealt):
        player, top, is_fold = len(line) % 2, max(paid.values()), "fold" in line
        is_over = is_fold or "call" in line[1:] or (top == self.stack and not line)
        if is_over and (is_fold or len(dealt) == self.rounds - 1):
            pot = (self.pot + 2 * min(paid.values())) * self.chip
            rake = min(pot * self.rake, self.rake_cap)
            result = self.results((*self.board, *dealt))
            result = np.where(result < 2, 1 - 2 * player, 2) if is_fold else result
            return "end", result, (pot - 2 * rake, -rake, -pot)
        if is_over:
            cards = self.cards_after(dealt)
            left = sum(map(len, cards.values())) - 2 * len(next(iter(self.hands[0])))
            after = {card: (f"{label} {card}", paid, (), (*dealt, card)) for card in cards}
            return "chance", Fraction(1, left), [(1, after[x], cards[x]) for x in cards]
        totals = {"fold": paid[player]} if paid[player] < top else {}
        least = max(min(2 * top - paid[player], self.stack), top + 1)
        legal = range(least, self.stack + 1)  # A raise is as high as the last one, or all in.
        past = " ".join(word for word in label.split() if word not in self.rank)
        more = self.raises(past, line, len(dealt), top, legal)
        good = [*more] == sorted({*more}) and all(total in legal for total in more)
        need(good, f"{more} are not legal raises after {past!r}")
        totals |= {"call": top} | {str(total): total for total in more}
        after = {}
        for action, total in totals.items():
            after[action] = f"{label} {action}", paid | {player: total}, (*line, action), dealt
        return "act", player, label[1:], after

    def cards_after(self, dealt):
        """Return the next cards to the board with permutations of the hands.

        Of the cards that permutations of the suits map to each other, the strategies have only the
        first.  It has one permutation for each of these cards.
        """
        known = self.board, self.dead, *zip(dealt)
        fixed, orders, copies = [*self.hands, *({frozenset(x): 1} for x in known)], [], {}
        for order in permutations(self.suits) if self.symmetry else [self.suits]:
            table = str.maketrans(self.suits, "".join(order))
            image = {card: card.translate(table) for card in self.rank}
            moved = [{frozenset(image[k] for k in x): y for x, y in z.items()} for z in fixed]
            if moved == fixed:
                orders.append((image, [[*map([*x].index, y)] for x, y in zip(self.hands, moved)]))
        left = [card for card in self.rank if card not in chain(*known)]
        while left:
            same = {k: images for image, images in orders for k in left if image[k] == left[0]}
            copies[left[0]] = [*same.values()]
            left = [card for card in left if card not in same]
        return copies

    def results(self, board):
        """Return the results of all pairs of hands at a showdown."""
        free = [[hand.isdisjoint(board) for hand in known] for known in self.hands]
        apart = [[hand.isdisjoint(x) for x in self.hands[1]] for hand in self.hands[0]]
        cards = [[(*hand, *board) for hand in known] for known in self.hands]
        size = min(self.size, len(cards[0][0]))  # After a fold, there may be fewer cards.
        best = [[max(map(self.rate, combinations(x, size))) for x in known] for known in cards]
        order = {rating: k for k, rating in enumerate(sorted({*best[0], *best[1]}))}
        signs = np.sign(np.subtract.outer(*([order[x] for x in known] for known in best)))
        return np.where(np.logical_and.outer(*free) & apart, signs, 2).astype(np.int8)

    def rate(self, cards):
        """Return the numbers of cards of one rank, largest first, and the ranks in this order."""
        ranks, top = [self.rank[card] for card in cards], max(self.rank.values())
        counts, ranks = zip(*sorted(((ranks.count(x), x) for x in {*ranks}), reverse=True))
        if self.straights:
            if ranks == (top, *range(self.size - 2, -1, -1)):
                ranks = (*ranks[1:], -1)
            is_straight = len(ranks) == self.size == ranks[0] - ranks[-1] + 1
            is_flush = len({card[-1] for card in cards}) == 1
            counts = (counts, *self.straights)[2 * is_flush + is_straight]
        return counts, ranks


def limit(bets, caps):
    """Return the rule of raises by the same chips in a round, up to a cap of raises."""
    need(len(bets) == len(caps), f"there are {len(caps)} rounds")
    return lambda past, line, k, top, legal: (
        [top + bets[k]] if sum(map(str.isdigit, line)) < caps[k] else []
    )


class HoldemRules(Poker):
    """Spot of hold'em.  ``bets`` lists the totals of chips of raises, by the actions before."""

    def __init__(
        self, ranks, flush, board, dead, ranges, pot, stack, bets, chip, rake, rake_cap, symmetry
    ):
        board, dead = (tuple(re.findall("..?", text)) for text in (board, dead))
        self.board, self.dead, self.symmetry, known = board, dead, symmetry, {*board, *dead}
        self.pot, self.stack = pot, stack
        self.chip, self.rake, self.rake_cap = map(number_of, (chip, rake, rake_cap))
        need(all(len(hand) == 4 for x in ranges for hand in x), "a hand has two cards")
        hands = [{frozenset(re.findall("..", x)): y for x, y in z.items()} for z in ranges]
        raises, straights = (lambda past, *_: bets.get(past, [])), ((3, 1, 2), flush, (5,))
        super().__init__(ranks, SUITS, 6 - len(board), 5, 0, raises, straights, hands)
        good = len(known & {*self.rank}) == len(board + dead) and len(board) in (3, 4, 5)
        need(good, "the board has not 3 to 5 cards, or a card is unknown or comes twice")
        good = all(len(hand - known) == 2 and x > 0 for y in hands for hand, x in y.items())
        need(good, "a hand cannot be dealt")
        need([*map(len, hands)] == [*map(len, ranges)], "a hand is listed twice")
        need(all(isinstance(x, list) for x in bets.values()), "raises must be lists")


RULES = {
    "kuhn": lambda cards: Poker(range(cards), "s", 1, 1, 1, limit([1], [1])),
    "leduc": lambda ranks, suits, bets, raise_cap: Poker(
        range(ranks), SMALL_SUITS[suits], 2, 2, 1, limit(bets, [raise_cap] * 2)
    ),
    "nl_leduc": lambda ranks, suits, stack, ante, cap: Poker(
        *(range(ranks), SMALL_SUITS[suits], 2, 2, ante),
        lambda past, line, k, top, legal: legal if len(line) + 1 < cap else [],
        stack=stack,
    ),
    "rhode_island": lambda raises, symmetry: Poker(
        *(RANKS, SUITS, 3, 3, 5, limit([10, 20, 20], raises), ((2, 3), (2, 2), (4,))),
        symmetry=symmetry,
    ),
    "holdem": partial(HoldemRules, RANKS, (3, 1, 3)),
    "short_deck": partial(HoldemRules, RANKS[4:], (3, 3)),
    "liars_dice": LiarsDiceRules,
    "goofspiel": goofspiel,
    "tree": Tree,
}


def digest_of(rows) -> str:
    """Return the SHA-256 of the labels and their texts, sorted."""
    lines = sorted(json.dumps([label, *texts], ensure_ascii=False) for label, texts in rows.items())
    return sha256("\n".join(lines).encode()).hexdigest()


def prove(format, game, digest, claims, totals, strategies):
    """Return the proven numbers by the names of the claims."""
    need(format == "tensorcfr certificate 2", f"this program does not know the format {format!r}")
    need(game["name"] in RULES, f"this program does not know the rules of {game['name']!r}")
    need({*game} == {"name", "parameters", "digest"}, f"the game has the entries {[*game]}")
    same = digest_of({label: row.values() for label, row in strategies.items()}) == digest
    need(same, "the strategies are not those of the digest")
    rules = RULES[game["name"]](**game["parameters"])
    count = len(rules.chances)
    need(isinstance(totals, list) and count == len(totals) > 0, "each player must have a total")
    need(all(re.fullmatch("[1-9][0-9]*", text) for text in totals), "totals are whole numbers")
    totals = [*map(int, totals)]
    proven, scale = {"exploitability": 0}, rules.deals * prod(totals)
    for player, (best, value) in enumerate(evaluate(rules, totals, strategies)):
        value, best = Fraction(value) / scale, Fraction(best) * totals[player] / scale
        proven |= {f"value {player}": value, f"best response {player}": best}
        proven["exploitability"] += (best - value) / count
    same = digest_of(strategies) == game["digest"]
    need(same, "the infosets and actions are not those of the game's digest")
    need({*claims} == {*proven}, f"the claims must be about {', '.join(proven)}")
    for key, number in proven.items():
        low, high = map(number_of, claims[key])
        good = isinstance(claims[key], list) and low <= number <= high
        need(good, f"{key} is claimed to be in {claims[key]}, and is {shown(number)}")
    return proven


def check(text: str) -> dict[str, Fraction]:
    """Return the proven numbers of a certificate, fractions, by the names of its claims.

    Raises:
        CertificateError: The certificate does not prove its claims, or is damaged.
    """

    def entries(pairs):
        need(len(dict(pairs)) == len(pairs), f"two entries have one name: {[x for x, _ in pairs]}")
        for name, value in pairs:
            need(isinstance(value, bool) == (name in FLAGS), f"{name} cannot be {value!r}")
        return dict(pairs)

    def refuse(number):
        need(False, f"{number} is not a whole number")

    try:
        return prove(
            **json.loads(text, object_pairs_hook=entries, **dict.fromkeys(NO_FLOATS, refuse))
        )
    except RecursionError:
        raise CertificateError("the game is too deep for this program") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CertificateError(f"the certificate is damaged: {error!r}") from error


def shown(number):
    """Return a fraction as a text: itself, or two decimals around it."""
    if len(str(number)) < 40:
        return f"exactly {number}"
    parts = Decimal(number.numerator), Decimal(number.denominator)
    low, high = (Context(15, way).divide(*parts) for way in (ROUND_FLOOR, ROUND_CEILING))
    return f"from {low:.14e} to {high:.14e}"


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            proven = check(file.read())
    except (CertificateError, OSError, ValueError) as error:
        sys.exit(f"refused: {error}")
    for key, number in proven.items():
        print(f"{key}: {shown(number)}")
