"""Check a certificate: prove the values and the exploitability of the strategies in it.

    python checker.py FILE

This program needs Python and NumPy, and nothing else of tensorcfr.  It has its own rules of the
games.  It computes whole numbers and fractions, so that only printed numbers are rounded.
``docs/certificates.md`` describes the file.
"""

import json
import re
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from hashlib import sha256
from itertools import combinations, permutations, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

RANKS, SUITS = "23456789TJQKA", "cdhs"


class CertificateError(Exception):
    """The certificate does not prove its claims."""


def need(condition, problem):
    """Raise an error unless a condition holds."""
    if not condition:
        raise CertificateError(problem)


def respond(hero, histories, chances, plan, seen):
    """Return the values of a player's best response, by hand, and of the player's own strategy.

    ``histories`` have a state, its chance, and the weights of each player's hands.  The player
    cannot tell them apart.  ``chances`` are those of the player's hands.  ``plan`` returns weights
    after a decision, and ``seen`` has the player's infosets that were visited.
    """
    best, value, infosets = 0, 0, {}
    while histories:
        state, chance, weights = histories.pop()
        kind, *node = state()
        if kind == "end":
            pays = node[0](hero, weights) * chances * chance
            best, value = best + pays, value + weights[hero] @ pays
        elif kind == "chance":
            histories += [(after, chance * share, weights) for share, after in node[0]]
        elif kind == "deal":
            for after, copies in node[1]:
                for images in copies:
                    same = [(weights[p] == weights[p][x]).all() for p, x in enumerate(images)]
                    need(all(same), "the strategies differ between suits")
                dealt = [(after, chance // node[0], weights)]
                part, more = respond(hero, dealt, chances, plan, seen)
                best = best + sum(part[images[hero]] for images in copies)
                value = value + more * len(copies)
        else:
            player, label, after = node
            parts = plan(player, label, [*after], weights[player])
            below = [(to, chance, weights | {player: x}) for to, x in zip(after.values(), parts)]
            if player == hero:
                infosets.setdefault(label, []).append(below)
            else:
                histories += below
    for label, members in infosets.items():
        need(label not in seen, f"the infoset {label!r} has imperfect recall")
        seen.add(label)
        parts = [respond(hero, [*after], chances, plan, seen) for after in zip(*members)]
        best = best + np.maximum.reduce([part for part, _ in parts])
        value = value + sum(more for _, more in parts)
    return best, value


class Hands:
    """A game of two players with a hand each, dealt in proportion to the product of chances."""

    outcomes = 1  # Number of outcomes of all deals to the board.

    def end(self, result, pays):
        """Return a terminal.  ``result`` is 1, 0, -1 where player 0 wins, draws, loses, and 2 where
        hands cannot be dealt together; ``pays`` are the payoffs of a win, a draw and a loss."""

        def payoffs(hero, weights):
            table, reach = (result, -result.T)[hero], weights[1 - hero] * self.chances[1 - hero]
            # Floats are exact in sums of fewer than 2**21 numbers of 32 bits.
            powers = [2**bits for bits in range(0, max(reach).bit_length() + 1, 32)]
            parts = np.array([reach // power % 2**32 for power in powers]).astype(float)
            sums = [(parts @ (table == sign).T).astype(np.int64) for sign in (1, 0, -1)]
            return sum(pay * (np.array(powers) @ x.astype(object)) for pay, x in zip(pays, sums))

        return "end", payoffs


class LiarsDiceRules(Hands):
    """Bids on the dice of both players, each higher than the one before."""

    def __init__(self, dice, faces, wild, bid_wild):
        self.bids = [*product(range(1, sum(dice) + 1), range(1, faces + bid_wild))]
        self.rolls = [[*product(range(1, faces + 1), repeat=count)] for count in dice]
        self.chances = [np.ones(len(known), dtype=object) for known in self.rolls]
        self.deals, self.joker = prod(map(len, self.rolls)), faces if wild else None
        self.root = partial(self.bid, "", 0, 0)

    def bid(self, label, player, first):
        after = {}
        for k, (number, face) in enumerate(self.bids[first:], first + 1):
            word = f"{number}x{face}"
            after[word] = partial(self.bid, f"{label} {word}".strip(), 1 - player, k)
        if first:
            after["liar"] = partial(self.challenge, player, *self.bids[first - 1])
        return "act", player, label, after

    def challenge(self, player, number, face):
        faces = {face, self.joker}
        shown = [[sum(die in faces for die in roll) for roll in known] for known in self.rolls]
        is_won = (np.add.outer(*shown) >= number) == (player == 1)
        return self.end(np.where(is_won, 1, -1), (1, 0, -1))


class Bets(NamedTuple):
    """Decision of poker."""

    label: str
    paid: dict  # Chips of each player.
    player: int = 0
    line: tuple = ()  # Actions in this round.
    dealt: tuple = ()  # Cards dealt to the board.


class Poker(Hands):
    """Two hands, a round of bets, a card to the board, a round of bets, and so on."""

    board, dead, symmetry, stack = (), (), False, 0

    def __init__(self, ranks, suits, rounds, size, ante, hands=None, straights=None, **rules):
        """Set the cards, by rank and suit, the number of rounds, and the chips before the bets.

        ``size`` cards count at the showdown.  ``hands`` have their chances.  ``straights`` has the
        counts of a straight, a flush and both, in place of those that :meth:`rate` returns.
        """
        vars(self).update(rules, suits=len(suits), rounds=rounds, size=size, straights=straights)
        self.deck = [f"{rank}{suit}" for rank in ranks for suit in suits]
        self.cards = range(len(self.deck))
        self.hands = hands or [{frozenset([card]): 1 for card in self.cards}] * 2
        self.chances = [np.array([*known.values()], dtype=object) for known in self.hands]
        # At most 1 GB of results.
        self.results = lru_cache(10**9 // prod(map(len, self.hands)) + 1)(self.results)
        self.deals = self.chances[0] @ (self.results(self.board, 0) == 1) @ self.chances[1]
        self.left = len(self.deck) - len(self.board) - len(self.dead)
        self.left -= sum(len(next(iter(known))) for known in self.hands)
        self.outcomes = prod(self.left - k for k in range(rounds - 1))
        self.orders = [*self.symmetries()]
        self.root = partial(self.bet, Bets("", {0: ante, 1: ante}))

    def bet(self, s):
        top, rival, after = max(s.paid.values()), 1 - s.player, {}
        if top == self.stack and not s.line:
            return self.deal(s)
        if s.paid[s.player] < top:
            after["fold"] = partial(self.show, s, rival)
        for total in (top, *self.raises(s, s.paid[s.player], top)):
            action = "call" if total == top else str(total)
            label, paid = f"{s.label} {action}".strip(), s.paid | {s.player: total}
            to = Bets(label, paid, rival, (*s.line, action), s.dealt)
            after[action] = partial(self.deal if action == "call" and s.line else self.bet, to)
        return "act", s.player, s.label, after

    def deal(self, s):
        """Return the node after a round.  Of the cards that symmetries map to each other, the
        strategies have only the first."""
        if len(s.dealt) == self.rounds - 1:
            return self.show(s)
        orders = [order for order in self.orders if all(order[0][c] == c for c in s.dealt)]
        copies = {}
        for card in sorted({*self.cards} - {*self.board, *self.dead, *s.dealt}):
            first, k = min((image[card], k) for k, (image, _) in enumerate(orders))
            to = Bets(f"{s.label} {self.deck[first]}".strip(), s.paid, dealt=(*s.dealt, first))
            copies.setdefault(first, (partial(self.bet, to), []))[1].append(orders[k][1])
        return "deal", self.left - len(s.dealt), [*copies.values()]

    def show(self, s, winner=None):
        result = self.results((*self.board, *s.dealt), winner)
        return self.end(result, self.pays(min(s.paid.values())))

    def pays(self, chips):
        """Return the payoffs of a win, a draw and a loss."""
        return chips, 0, -chips

    def results(self, board, winner):
        """Return the results of all pairs of hands, after a fold those of the winner."""
        free = [[hand.isdisjoint(board) for hand in known] for known in self.hands]
        apart = [[hand.isdisjoint(x) for x in self.hands[1]] for hand in self.hands[0]]
        signs = 1 - 2 * (winner or 0)
        if winner is None:
            cards = [[(*hand, *board) for hand in known] for known in self.hands]
            best = [[max(map(self.rate, combinations(x, self.size))) for x in y] for y in cards]
            order = {rating: k for k, rating in enumerate(sorted({*best[0], *best[1]}))}
            signs = np.sign(np.subtract.outer(*([order[x] for x in known] for known in best)))
        return np.where(np.logical_and.outer(*free) & apart, signs, 2).astype(np.int8)

    def rate(self, cards):
        """Return the numbers of cards of one rank, largest first, and the ranks in this order."""
        ranks, top = [card // self.suits for card in cards], len(self.deck) // self.suits - 1
        groups = sorted(((ranks.count(rank), rank) for rank in {*ranks}), reverse=True)
        counts, ranks = zip(*groups)
        if self.straights:
            if ranks == (top, *range(self.size - 2, -1, -1)):
                ranks = (*ranks[1:], -1)
            is_straight = len(ranks) == self.size == ranks[0] - ranks[-1] + 1
            is_flush = len({card % self.suits for card in cards}) == 1
            counts = (counts, *self.straights)[2 * is_flush + is_straight]
        return counts, ranks

    def symmetries(self):
        """Yield the permutations of suits that preserve the spot, as images of cards and hands."""
        for order in permutations(range(self.suits)) if self.symmetry else [range(self.suits)]:
            image = [card - card % self.suits + order[card % self.suits] for card in self.cards]
            moved = [[frozenset(image[c] for c in hand) for hand in x] for x in self.hands]
            kept = [dict(zip(x, known.values())) == known for x, known in zip(moved, self.hands)]
            kept += [{image[c] for c in cards} == {*cards} for cards in (self.board, self.dead)]
            if all(kept):
                places = [{hand: k for k, hand in enumerate(known)} for known in self.hands]
                yield image, [[place[hand] for hand in x] for place, x in zip(places, moved)]


def limit(bets, caps):
    """Return the rule of bets of one size in each round, up to a cap."""

    def raises(s, mine, top):
        count = len(s.line) - s.line.count("call")
        return [top + bets[len(s.dealt)]] * (count < caps[len(s.dealt)])

    return raises


def no_limit(stack, cap):
    """Return the rule of raises that at least double the last one, up to a cap of actions."""

    def raises(s, mine, top):
        call, left = top - mine, stack - mine
        least = left if call < left < 2 * call else max(1, 2 * call)
        return range(mine + least, stack + 1) if len(s.line) + 1 < cap else ()

    return raises


class HoldemRules(Poker):
    """Spot of hold'em.  ``bets`` lists the totals of chips of raises, by the actions before."""

    def __init__(
        self, ranks, flush, board, dead, ranges, pot, stack, bets, chip, rake, rake_cap, symmetry
    ):
        def cards(text):
            names = [rank + suit for rank in ranks for suit in SUITS]
            return tuple(names.index(text[k : k + 2]) for k in range(0, len(text), 2))

        self.pot, self.stack, self.bets, self.symmetry = pot, stack, bets, symmetry
        self.chip, self.rake, self.rake_cap = map(Fraction, (chip, rake, rake_cap))
        self.board, self.dead = cards(board), cards(dead)
        hands = [{frozenset(cards(hand)): weight for hand, weight in x.items()} for x in ranges]
        known = [*self.board, *self.dead]
        need(len({*known}) == len(known), "a card comes twice")
        good = all(len(hand - {*known}) == 2 and x > 0 for y in hands for hand, x in y.items())
        need(good, "a hand cannot be dealt")
        straights = (3, 1, 2), flush, (5,)
        super().__init__(ranks, SUITS, 6 - len(self.board), 5, 0, hands, straights)

    def raises(self, s, mine, top):
        line = " ".join(word for word in s.label.split() if word not in self.deck)
        totals, least = self.bets.get(line, []), min(max(2 * top - mine, top + 1), self.stack)
        fits = not totals or (top < least <= totals[0] and totals[-1] <= self.stack)
        need(fits and totals == sorted({*totals}), f"{totals} are not legal raises after {line!r}")
        return totals

    def pays(self, chips):
        pot = (self.pot + 2 * chips) * self.chip
        rake = min(pot * self.rake, self.rake_cap)
        return pot / 2 - rake, -rake / 2, -pot / 2


class Tree:
    """Any game, as nested lists.  A player has one hand."""

    deals = outcomes = 1

    def __init__(self, players, tree):
        self.chances, self.root = [np.ones(1, dtype=object)] * players, partial(self.node, tree)

    def node(self, tree):
        kind, *rest = tree
        if kind == "end":
            return self.end([Fraction(pay) for pay in rest])
        if kind == "chance":
            shares = [Fraction(share) for share, _ in rest]
            need(min(shares) >= 0 and sum(shares) == 1, f"chance has the probabilities {rest}")
            return "chance", [(p, partial(self.node, to)) for p, (_, to) in zip(shares, rest)]
        player, label, after = rest
        return "act", player, label, {word: partial(self.node, x) for word, x in after.items()}

    def end(self, pays):
        need(len(pays) == len(self.chances), f"a terminal has {len(pays)} payoffs")
        return "end", lambda hero, w: pays[hero] * prod(w[p] for p in w if p != hero)


class GoofspielRules(Tree):
    """Sealed bids for one prize after the other; the last prize is played automatically.

    A round is the prize and the bids of both players.
    """

    def __init__(self, cards, imperfect_information, prizes, payoff):
        self.cards, self.order, self.payoff = cards, prizes, payoff
        self.hides = imperfect_information
        self.chances, self.root = [np.ones(1, dtype=object)] * 2, partial(self.draw, [])

    def left(self, rounds, column):
        return sorted({*range(1, self.cards + 1)} - {row[column] for row in rounds})

    def draw(self, rounds):
        prizes, first, second = (self.left(rounds, column) for column in range(3))
        if len(prizes) > 1:
            orders = {"random": prizes, "ascending": prizes[:1], "descending": prizes[-1:]}
            states = [partial(self.bid, rounds, prize) for prize in orders[self.order]]
            return "chance", [(Fraction(1, len(states)), state) for state in states]
        rounds = [*rounds, [*prizes, *first, *second]]
        points = [sum(row[0] for row in rounds if row[k] > row[3 - k]) for k in (1, 2)]
        half = Fraction(points[0] - points[1], 2)
        sign = (half > 0) - (half < 0)
        pays = {"win_loss": [sign, -sign], "point_difference": [half, -half]}
        return self.end((pays | {"total_points": points})[self.payoff])

    def bid(self, rounds, *now):
        player, label, after = len(now) - 1, f"P{len(now) - 1}", {}
        for prize, *bids in rounds:
            mark = "=" if bids[0] == bids[1] else "-+"[bids[player] > bids[1 - player]]
            seen = f"{bids[player]}{mark}" if self.hides else f"{bids[0]},{bids[1]}"
            label += f" {prize}:{seen}"
        for card in self.left(rounds, 1 + player):
            after[str(card)] = partial(self.draw, [*rounds, (*now, card)])
            if player == 0:
                after[str(card)] = partial(self.bid, rounds, *now, card)
        return "act", player, f"{label} {now[0]}?", after


RULES = {
    "kuhn": lambda cards: Poker(range(cards), [""], 1, 1, 1, raises=limit([1], [1])),
    "leduc": lambda ranks, suits, bets, raise_cap: Poker(
        range(ranks), "shdc"[:suits], 2, 2, 1, raises=limit(bets, [raise_cap] * 2)
    ),
    "nl_leduc": lambda ranks, suits, stack, ante, cap: Poker(
        range(ranks), "shdc"[:suits], 2, 2, ante, raises=no_limit(stack, cap), stack=stack
    ),
    "rhode_island": lambda raises, symmetry: Poker(
        *(RANKS, SUITS, 3, 3, 5, None, ((2, 3), (2, 2), (4,))),
        raises=limit((10, 20, 20), raises),
        symmetry=symmetry,
    ),
    "holdem": lambda **spot: HoldemRules(RANKS, (3, 1, 3), **spot),
    "short_deck": lambda **spot: HoldemRules(RANKS[4:], (3, 3), **spot),
    "liars_dice": LiarsDiceRules,
    "goofspiel": GoofspielRules,
    "tree": Tree,
}


def digest_of(rows: Any) -> str:
    """Return the SHA-256 of the labels and their texts, sorted."""
    lines = sorted(json.dumps([label, *texts], ensure_ascii=False) for label, texts in rows.items())
    return sha256("\n".join(lines).encode()).hexdigest()


def prove(format, game, digest, claims, totals, strategies):
    """Return the proven numbers by the names of the claims."""
    need(format == "tensorcfr certificate 2", f"this program does not know the format {format!r}")
    need(game["name"] in RULES, f"this program does not know the rules of {game['name']!r}")
    same = digest_of({label: row.values() for label, row in strategies.items()}) == digest
    need(same, "the strategies are not those of the digest")
    rules, known = RULES[game["name"]](**game["parameters"]), {}

    def plan(player, label, actions, before):
        """Return the weights after each action: arrays whose sum is the weights before."""
        row = strategies.get(label, {})
        need([*row] == actions, f"{label!r} must have the actions {actions}, not {[*row]}")
        numbers = [re.fullmatch("[0-9]+( [0-9]+)*", text) and text.split() for text in row.values()]
        good = all(numbers) and all(len(texts) == len(before) for texts in numbers)
        need(good, f"{label!r} has not {len(before)} whole numbers for each action")
        after = [np.array([*map(int, texts)], dtype=object) for texts in numbers]
        need((sum(after) == before).all(), f"the weights at {label!r} do not sum to those before")
        same = known.setdefault(label, (player, actions)) == (player, actions)
        need(same, f"the infoset {label!r} has imperfect recall")
        return after

    totals, players = [*map(int, totals)], range(len(rules.chances))
    need(len(totals) == len(players), f"there must be the totals of {len(players)} players")
    start = {p: np.full(len(rules.chances[p]), totals[p], dtype=object) for p in players}
    proven, scale = {"exploitability": 0}, rules.deals * rules.outcomes * prod(totals)
    for hero in players:
        root = [(rules.root, rules.outcomes, start)]
        best, value = respond(hero, root, rules.chances[hero], plan, set())
        value, best = Fraction(value) / scale, Fraction(sum(best)) * totals[hero] / scale
        proven |= {f"value {hero}": value, f"best response {hero}": best}
        proven["exploitability"] += (best - value) / len(players)
    more = sorted({*strategies} - {*known})
    need(not more, f"the game has no infosets {more[:1]}")
    same = digest_of({label: actions for label, (_, actions) in known.items()}) == game["digest"]
    need(same, "the infosets and actions are not those of the game's digest")
    need({*claims} == {*proven}, f"the claims must be about {', '.join(proven)}")
    for key, number in proven.items():
        low, high = map(Fraction, claims[key])
        claim = f"{key} is claimed to be from {float(low)} to {float(high)}"
        need(low <= number <= high, f"{claim}, and is {shown(number)}")
    return proven


def check(text: str) -> dict[str, Fraction]:
    """Return the proven numbers of a certificate, fractions, by the names of its claims.

    Raises:
        CertificateError: The certificate does not prove its claims, or is damaged.
    """

    def entries(pairs):
        need(len(dict(pairs)) == len(pairs), f"two entries have one name: {[x for x, _ in pairs]}")
        return dict(pairs)

    def whole(number):
        need(False, f"{number} is not a whole number")

    try:
        return prove(**json.loads(text, object_pairs_hook=entries, parse_float=whole))
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
    sys.setrecursionlimit(100_000)
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            proven = check(file.read())
    except (CertificateError, OSError, ValueError) as error:
        sys.exit(f"refused: {error}")
    for key, number in proven.items():
        print(f"{key}: {shown(number)}")
