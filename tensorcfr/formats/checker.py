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
from base64 import b64decode
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, combinations_with_replacement, permutations
from math import factorial, floor, inf, lcm, prod
from typing import Any, NamedTuple

import numpy as np

FORMAT = "tensorcfr certificate 1"
EXACT_HANDS = 2_000
"""Largest number of infosets of a game of private hands that is computed in fractions."""


RANKS, SUITS = "23456789TJQKA", "cdhs"


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

    def __getitem__(self, index):
        ball = Ball(self.mid[index])
        ball.rad = self.rad[index]
        return ball

    def paid(self, pays, sign, dealt):
        """Return the sums of payoffs over the hands of the other player."""
        difference, mean, tie = map(float, parts_of(pays))
        mid = np.zeros(len(sign))
        for factor, matrix in ((difference, sign), (mean, dealt)):
            mid = mid + factor * (matrix @ self.mid) if factor else mid
        if tie:
            mid = mid + tie * ((dealt - abs(sign)) @ self.mid)
        unit = (len(self.mid) + 8) * self.UNIT
        bound = (abs(self.mid) * unit + self.rad).sum() * (abs(difference) + abs(mean) + abs(tie))
        return Ball(mid, bound * (1 + 2 * unit))

    def same(self, values):
        return (self.mid == values.mid).all() and (self.rad == values.rad).all()

    def most(self, values):
        return Ball(np.maximum(self.mid, values.mid), np.maximum(self.rad, values.rad))

    def ends(self, weight):
        """Return an interval for the sum of all, divided by a positive fraction."""
        mid = sum(map(Fraction, self.mid.tolist()))
        rad = sum(map(Fraction, self.rad.tolist()))
        return (mid - rad) / weight, (mid + rad) / weight


class Exact(np.ndarray):
    """Arrays of fractions, with the interface of :class:`Ball`."""

    def paid(self, pays, sign, dealt):
        difference, mean, tie = parts_of(pays)
        sign, dealt = (matrix.astype(np.int64).astype(object) for matrix in (sign, dealt))
        return (difference * sign + mean * dealt + tie * (dealt - abs(sign))) @ self

    def most(self, values):
        return np.maximum(self, values)

    def same(self, values):
        return (self == values).all()

    def ends(self, weight):
        total = Fraction(sum(self.tolist())) / weight
        return total, total


def parts_of(pays):
    """Return the factors of the sign of the outcome, of all deals, and of draws."""
    won, tie, lost = map(Fraction, pays)
    return (won - lost) / 2, (won + lost) / 2, tie - (won + lost) / 2


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
    wrong = f"the infoset {label!r} must have the actions {actions}, not {[*numbers]}"
    need([*numbers] == actions, wrong)
    exact = [number_of(x) if "/" in x else float(number_of(x)) for x in numbers.values()]
    row = [number(x) for x in exact]
    largest = row.index(max(row))
    others = sum(row) - row[largest]
    right = min(row) >= 0 and others <= 1 and abs(others + row[largest] - 1) < 1e-9
    wrong = f"the infoset {label!r} has {[*numbers.values()]}; these are not probabilities"
    need(right, wrong)
    row[largest] = 1 - others
    return row


# Games of private hands.  ``names[player]`` are the names of the hands, and ``weights[player]``
# their weights.  ``apart`` has a row for each hand of player 0 and a column for each hand of
# player 1.  It is true if both can be dealt, with a probability in proportion to the product of
# the weights.  ``root()`` is a node, and so is the result of each function in a node.  A node is
#
# ("act", player, hands that the player can have, label without the hand, {action: function}),
#
# ("deal", number of cards that can come, cards before, {card: function}),
#
# ("end", sign, dealt, payoffs of each player if player 0 wins, in a draw, and if player 1 wins).
# ``sign`` is 1, 0 and -1 in these cases, by pair of hands, and ``dealt`` is 1 if the pair can be
# dealt; otherwise both are 0.


class Cards:
    """Private hands of cards, and cards that are dealt to a board."""

    text, start, dead, removed, stack = "", (), (), (), None
    ranking, best, packed, symmetry = None, 2, False, False

    def deal(self, ranks, suits, hands=None, weights=None):
        """Set the deck, the hands, by default of one card, and their weights, by default 1."""
        self.suits, self.deck = max(len(suits), 1), [r + s for r in ranks for s in suits or [""]]
        hands = hands or [[(card,) for card in range(len(self.deck))]] * 2
        self.hands = [np.array(cards) for cards in hands]
        self.names = [["".join(self.deck[c] for c in hand) for hand in cards] for cards in hands]
        self.weights = weights or [[1] * len(cards) for cards in hands]
        first, second = self.hands
        self.apart = ~(first[:, None, :, None] == second[None, :, None, :]).any(axis=(2, 3))
        # At most 1 GB.
        self.outcome = lru_cache(60_000_000 // self.apart.size + 1)(self.compare)
        # Permutations of the cards that change neither the board nor the weights of the hands, and
        # for each the image of every hand.
        self.orders = []
        for order in permutations(range(self.suits)) if self.symmetry else [range(self.suits)]:
            card = [
                self.suits * (c // self.suits) + order[c % self.suits]
                for c in range(len(self.deck))
            ]
            places = [{frozenset(hand): k for k, hand in enumerate(cards)} for cards in hands]
            moved = [
                [place.get(frozenset(card[c] for c in hand)) for hand in cards]
                for place, cards in zip(places, hands, strict=True)
            ]
            same = all(
                k is not None and weights[k] == weight
                for weights, image in zip(self.weights, moved, strict=True)
                for k, weight in zip(image, weights, strict=True)
            )
            known = self.start, self.dead
            if same and all({card[c] for c in cards} == {*cards} for cards in known):
                self.orders.append((card, moved))

    def represent(self, board, card):
        """Return the first card that permutations make of a card, without a change of the cards
        before it; and the images of all hands."""
        dealt = board[len(self.start) :]
        orders = [order for order in self.orders if all(order[0][c] == c for c in dealt)]
        image, moved = min(((order[card], moved) for order, moved in orders), key=lambda x: x[0])
        return image, moved

    def compare(self, board):
        """Return the outcome for each pair of hands, and the hands that each player can have."""
        strengths, alive = [], self.apart
        for player, hands in enumerate(self.hands):
            possible = ~np.isin(hands, board).any(axis=1)
            alive = alive & (possible[:, None] if player == 0 else possible)
            boards = np.tile(np.array(board, dtype=np.int64), (len(hands), 1))
            strengths.append(self.strength(np.hstack([hands, boards])))
        sign = np.sign(strengths[0][:, None] - strengths[1]) * alive
        return sign * 1.0, alive * 1.0, [alive.any(axis=1), alive.any(axis=0)]

    def strength(self, cards):
        """Return the strength of the best cards of each row."""
        size = min(self.best, cards.shape[1])
        choices = combinations(range(cards.shape[1]), size)
        return np.max([self.rate(cards[:, choice]) for choice in choices], axis=0)

    def rate(self, cards):
        """Return the strengths of rows of cards.

        Each card counts the cards of its rank.  The sum is 17 for four of a kind, 13 for a full
        house, 11 for three of a kind, then 9, 7 and 5.
        """
        size, rank = cards.shape[1], cards // self.suits
        if has_straights := self.ranking is not None and size == self.best:
            lowest, *categories = self.ranking
            wheel = (np.sort(rank) == [*range(lowest, lowest + size - 1), 12]).all(axis=1)
            rank = np.where(wheel[:, None] & (rank == 12), -1, rank)
        count = (rank[:, :, None] == rank[:, None, :]).sum(axis=2)
        category = 2 * count.sum(axis=1)
        if has_straights:
            straight = (category == 2 * size) & (np.ptp(rank, axis=1) == size - 1) | wheel
            flush = np.ptp(cards % self.suits, axis=1) == 0
            category = np.select([straight & flush, flush, straight], categories, category)
        keys = np.sort(count * 16 + rank + 1)
        return category * 128**5 + (keys * 128 ** np.arange(size)).sum(axis=1)

    def root(self):
        return self.act(Bets(self.text, self.start, self.blinds))

    def write(self, text, step):
        return f"{text} {step}"

    def act(self, s):
        """Return the decision after some bets."""
        if self.stack == s.before:
            return self.close(s, False)
        opponent, top = 1 - s.player, max(s.paid)
        fold, call = self.words[s.paid[s.player] < top]
        after = {}
        if s.paid[s.player] < top:
            after[fold] = partial(self.end, s.board, s.paid, opponent)
        for action, amount in ({call: top} | self.raises(s, top)).items():
            text, past = self.write(s.text, action), (*s.past, action)
            paid = (amount, s.paid[opponent])[:: 1 - 2 * s.player]
            is_over = action == call and len(s.past) > s.first
            to = s._replace(text=text, paid=paid, player=opponent, past=past)
            after[action] = (
                partial(self.close, to, s.player == 0) if is_over else partial(self.act, to)
            )
        removed = [line[-1] for line in self.removed if (*line[:-1],) == s.past]
        after = {action: step for action, step in after.items() if action not in removed}
        return "act", s.player, self.outcome(s.board)[2][s.player], s.text.rstrip(), after

    def close(self, s, leads):
        """Return the node after the bets of a street."""
        if len(s.board) == self.cards_of_board:
            return self.end(s.board, s.paid)
        free = [c for c in range(len(self.deck)) if c not in (*s.board, *self.dead)]
        to = Bets("", s.board, s.paid, 0, s.past, len(s.past), leads, s.paid[0])
        steps = {
            c: partial(
                self.act, to._replace(text=self.write(s.text, self.deck[c]), board=(*s.board, c))
            )
            for c in free
        }
        return "deal", len(free) - 2 * self.hands[0].shape[1], s.board, steps

    def end(self, board, paid, winner=None):
        won, tie, lost = self.worth(min(paid))
        pays = [(won, tie, lost), (lost, tie, won)]
        if winner is not None:
            pays = [(won,) * 3, (lost,) * 3][:: 1 - 2 * winner]
        return "end", *self.outcome(board)[:2], pays

    def worth(self, chips):
        """Return the payoffs of a win, a draw and a loss."""
        return chips, 0, -chips


class Bets(NamedTuple):
    """The bets that were made, on the board before the next card."""

    text: str
    board: tuple
    paid: tuple  # Chips of both players.
    player: int = 0
    past: tuple = ()  # Actions since the start.
    first: int = 0  # Number of them before this street.
    leads: bool = False  # Whether player 0 called the last bet of the street before.
    before: int = 0  # Chips that each player paid on earlier streets.


class LimitRules(Cards):
    words, bet_words = (("", "check"), ("fold", "call")), ("bet", "raise")

    def raises(self, s, top):
        street = len(s.board)
        is_left = sum(action in self.bet_words for action in s.past[s.first :]) < self.caps[street]
        word = self.bet_words[s.paid[s.player] < top]
        return {word: top + self.bets[street]} if is_left else {}


class KuhnRules(LimitRules):
    blinds, bets, cards_of_board = (1, 1), (1,), 0
    words, bet_words = (("", "pass"), ("pass", "bet")), ("bet", "")

    def __init__(self, cards=3):
        self.deal(ranks_of(cards), "")

    def raises(self, s, top):
        return {"bet": 2} if top == 1 else {}

    def write(self, text, step):
        return text + step[0]


class LeducRules(LimitRules):
    text, blinds, cards_of_board = " ", (1, 1), 1
    words, bet_words = (("", "call"), ("fold", "call")), ("raise", "raise")

    def __init__(self, ranks=3, suits=2, bets=(2, 4), raise_cap=2):
        self.bets, self.caps = bets, (raise_cap,) * 2
        self.deal(ranks_of(ranks), "shdc"[:suits])

    def write(self, text, step):
        return text + step[0] if step in ("call", "raise") else f"{text}/{step} "


class NoLimitLeducRules(Cards):
    words, cards_of_board = (("", "c"), ("f", "c")), 1

    def __init__(self, ranks=3, suits=2, stack=20, ante=1, cap=4):
        self.stack, self.cap, self.blinds = stack, cap, (ante, ante)
        self.deal(ranks_of(ranks), "shdc"[:suits])

    def root(self):
        return self.act(Bets("", (), self.blinds, before=self.blinds[0]))

    def raises(self, s, top):
        mine = s.paid[s.player]
        call, left = top - mine, self.stack - mine
        least = left if call < left < 2 * call else max(1, 2 * call)
        is_last = len(s.past) - s.first + 1 >= self.cap
        return {} if is_last else {str(n): mine + n for n in range(least, left + 1)}


def ranks_of(count):
    return [str(k) for k in range(count)] if count > 13 else list("A23456789TJQK"[-count:])


class RhodeIslandRules(LimitRules):
    blinds, bets, cards_of_board, packed = (5, 5), (10, 20, 20), 2, True
    best, ranking = 3, (0, 20, 11, 12)

    def __init__(self, raises=(3, 3, 3), symmetry=True):
        self.caps, self.symmetry = raises, symmetry
        self.deal(RANKS, SUITS)


OPTIONS = {
    "chip": 1,
    "bets": "",
    "donk": None,
    "rake": 0,
    "rake_cap": 1e9,
    "dead": "",
    "add_allin": 1.5,
}
OPTIONS |= {"force_allin": 0.15, "merging": 0.1, "add": (), "remove": (), "symmetry": True}
"""Options of a spot, with their defaults."""


class HoldemRules(Cards):
    """A spot of hold'em: two cards each from a range, bets in sizes."""

    blinds, cards_of_board, packed, best, symmetry = (0, 0), 5, True, 5, True
    lowest, ranking, words = 0, (0, 40, 24, 23), (("", "check"), ("fold", "call"))

    def __init__(self, board, ranges, pot, stacks, raises="", **options):
        more = sorted(name for name in options if name not in OPTIONS)
        need(not more, f"the rules of this spot have no options {more}")
        vars(self).update(OPTIONS | options, raise_sizes=raises)
        deck = [rank + suit for rank in RANKS for suit in SUITS]

        def cards(text):
            return tuple(deck.index(text[k : k + 2]) for k in range(0, len(text), 2))

        self.start, self.dead = cards(board), (*range(4 * self.lowest), *cards(self.dead))
        known = [*self.start, *self.dead]
        need(3 <= len(self.start) <= 5 and len({*known}) == len(known), "the board is wrong")
        hands = [[cards(name) for name in weights] for weights in ranges]
        for player in hands:
            right = all(len({*hand} - {*self.start, *self.dead}) == 2 for hand in player)
            need(right and len({*map(frozenset, player)}) == len(player), "a hand cannot be dealt")
        weights = [[*map(Fraction, player.values())] for player in ranges]
        need(min(map(min, weights)) > 0, "a hand has no weight")
        self.chip = Decimal(str(self.chip))
        self.pot, self.stack = (Decimal(str(chips)) / self.chip for chips in (pot, stacks))
        right = self.pot == int(self.pot) > 0 and self.stack == int(self.stack) > 0
        need(right, "pot and stacks must be multiples of the smallest chip")
        self.pot, self.stack = int(self.pot), int(self.stack)
        self.added, self.removed = ([line.split() for line in x] for x in (self.add, self.remove))
        self.deal(RANKS, SUITS, hands, weights)

    def worth(self, chips):
        pot = (self.pot + 2 * chips) * Fraction(self.chip)
        rake = min(Fraction(self.rake) * pot, Fraction(self.rake_cap))
        return pot / 2 - rake, -rake / 2, -pot / 2

    def raises(self, s, top):
        bet, all_in = top - s.before, self.stack - s.before
        word = "raise" if bet else "bet"
        if bet == all_in:
            return {}
        amounts = self.amounts(s, bet, all_in)
        for line in self.added:
            if (*line[:-1],) == s.past:
                amount = line[-1].removeprefix(word)
                amounts.add(all_in if amount == "allin" else int(Decimal(amount) / self.chip))
        named = {x: f"{word}{(x * self.chip).normalize():f}" for x in sorted(amounts)}
        return {"allin" if x == all_in else name: s.before + x for x, name in named.items()}

    def amounts(self, s, bet, all_in):
        """Return the amounts on this street of the sizes of bets or raises."""
        street, pot, amounts = len(s.board) - 3, self.pot + 2 * (s.before + bet), set()
        bets = sum(action not in ("check", "call") for action in s.past[s.first :])
        where = ("flop", "turn", "river")[street], ("oop", "ip")[s.player]
        sizes = size_of(self.donk, *where) if s.leads and s.player == 0 and not bet else None
        sizes = size_of(self.raise_sizes if bet else self.bets, *where) if sizes is None else sizes
        for text in re.split("[,;\n]", sizes.lower()):
            size, cap = re.fullmatch(r"\s*(.*?)(?:(\d+)r)?\s*", text).groups()
            if size in ("", "-") or (cap and bets > int(cap)):
                continue
            if size in ("a", "allin", "all-in"):
                amounts.add(all_in)
            elif size == "min":
                amounts.add(bet)
            elif size.endswith("x"):
                amounts.add(rounded(bet * float(size[:-1])))
            elif size.endswith("c"):
                amounts.add(bet + rounded(float(size[:-1]) / float(self.chip)))
            else:
                streets, is_geometric, most = size.rpartition("e")
                share = float(most.rstrip("%") or inf) / 100 if size != "pot" else 1
                if is_geometric:
                    count = float(streets or 3 - street)
                    count = max(count - bets + 1, 1) if bet else count
                    growth = 2 * ((all_in - bet) / pot) + 1
                    share = min((growth ** (1 / count) - 1) / 2, share)
                amounts.add(bet + rounded(pot * share))
        if all_in <= bet + rounded(self.add_allin * pot):
            amounts.add(all_in)
        least, kept = min(bet + max(bet - min(s.paid) + s.before, 1), all_in), []
        raised = {max(min(amount, all_in), least) for amount in amounts}
        forced = {
            x for x in raised if all_in <= x + rounded(self.force_allin * (pot + 2 * (x - bet)))
        }
        raised = raised - forced | ({all_in} if forced else set())
        for x in sorted(raised, reverse=True):
            if not kept or (1 + (kept[-1] - bet) / pot) / (1 + (x - bet) / pot) >= 1 + self.merging:
                kept.append(x)
        return set(kept)


class ShortDeckRules(HoldemRules):
    lowest, ranking = 4, (4, 40, 27, 23)


def rounded(number):
    return floor(number + 0.5)


def size_of(sizes, street, player):
    """Return the sizes of a street and a player."""
    while isinstance(sizes, dict):
        sizes = sizes.get(street, sizes.get(player))
    return sizes


class LiarsDiceRules:
    packed = False

    def __init__(self, dice=1, faces=6, wild=True, bid_wild=True):
        counts = [dice] * 2 if isinstance(dice, int) else list(dice) * (2 // len(dice))
        rolls = [list(combinations_with_replacement(range(1, faces + 1), n)) for n in counts]
        mark = "" if faces < 10 else "."
        self.names = [[mark.join(map(str, roll)) for roll in known] for known in rolls]
        # Some orders of dice give each roll.
        self.weights = [
            [factorial(len(roll)) // prod(map(factorial, Counter(roll).values())) for roll in known]
            for known in rolls
        ]
        self.apart = np.ones([len(known) for known in rolls], dtype=bool)
        top = faces + 1 if bid_wild else faces
        self.bids = [(n, face) for n in range(1, sum(counts) + 1) for face in range(1, top)]
        self.shown = [
            [
                [roll.count(f) + (wild and f != faces) * roll.count(faces) for roll in known]
                for known in rolls
            ]
            for f in range(1, top)
        ]

    def root(self, player=0, bids=0, line=""):
        """Return a decision after the bids before number ``bids`` were made or passed over."""
        after, alive = {}, np.ones(len(self.names[player]), dtype=bool)
        for k in range(bids, len(self.bids)):
            bid = f"{self.bids[k][0]}x{self.bids[k][1]}"
            after[bid] = partial(self.root, 1 - player, k + 1, f"{line} {bid}")
        if bids:
            after["liar"] = partial(self.end, player, *self.bids[bids - 1])
        return "act", player, alive, line, after

    def end(self, player, number, face):
        is_true = np.add.outer(*map(np.array, self.shown[face - 1])) >= number
        sign = np.where(is_true == (player == 1), 1.0, -1.0)
        return "end", sign, abs(sign), [(1, 0, -1), (-1, 0, 1)]


def bluff(dice=1, faces=6):
    return LiarsDiceRules(dice, faces, bid_wild=False)


def prove_hands(game, strategies, labels):
    """Return intervals for the value and the best response of each player."""
    is_exact = not game.packed and len(strategies) <= EXACT_HANDS

    def array(numbers, rounding=0.0):
        if is_exact:
            return np.array([*map(Fraction, numbers)]).view(Exact)
        return Ball(np.array([*map(float, numbers)]), rounding)

    def strategy(line, actions, names, alive):
        """Return an array for each action."""
        rounding = len(actions) * Ball.UNIT  # The largest probability is 1 minus the others.
        if game.packed:
            labels[line] = actions
            columns = columns_of(strategies, line, actions, alive)
            return [Ball(column, rounding) for column in columns]
        rows = np.zeros((len(names), len(actions)), dtype=object)
        for hand in np.flatnonzero(alive).tolist():
            label = names[hand] + line
            labels[label] = actions
            rows[hand] = row_of(strategies, label, actions, Fraction if is_exact else float)
        return [array(column, rounding) for column in rows.T]

    def passed(node, reaches):
        """Return for each player, by hand, the value of the best response and of the strategy."""
        kind, *node = node
        if kind == "end":
            sign, dealt, pays = node
            first = reaches[1].paid(pays[0], sign, dealt)
            second = reaches[0].paid(pays[1], sign.T, dealt.T)
            return [(first, first), (second, second)]
        if kind == "deal":
            count, board, steps = node
            parts = {}
            for card, step in steps.items():
                same, moved = game.represent(board, card)
                if same == card:
                    parts[card] = passed(step(), reaches)
                    continue
                for reach, image in zip(reaches, moved, strict=True):
                    need(reach.same(reach[image]), "strategies differ between suits")
                pairs = zip(parts[same], moved, strict=True)
                parts[card] = [(best[image], value[image]) for (best, value), image in pairs]
            shares = [array([Fraction(1, count)] * len(names)) for names in game.names]
            return [
                tuple(shares[p] * sums([part[p][k] for part in parts.values()]) for k in range(2))
                for p in range(2)
            ]
        player, alive, line, after = node
        chances = strategy(line, [*after], game.names[player], alive)
        parts = []
        for chance, step in zip(chances, after.values(), strict=True):
            below = list(reaches)
            below[player] = reaches[player] * chance
            parts.append(passed(step(), below)[:: 1 - 2 * player])
        best = parts[0][0][0]
        for (values, _), _ in parts[1:]:
            best = best.most(values)
        value = sums([c * part[0][1] for c, part in zip(chances, parts, strict=True)])
        theirs = tuple(sums([part[1][k] for part in parts]) for k in range(2))
        return [(best, value), theirs][:: 1 - 2 * player]

    weights = [[*map(Fraction, known)] for known in game.weights]
    whole = [lcm(*(w.denominator for w in known)) for known in weights]
    first, second = ([int(w * n) for w in known] for known, n in zip(weights, whole, strict=True))
    total = Fraction(int(np.dot(first, game.apart.astype(object) @ second)), prod(whole))
    starts = [array(known) for known in weights]
    both = [
        [(start * values).ends(total) for values in pair]
        for start, pair in zip(starts, passed(game.root(), starts), strict=True)
    ]
    return [value for _, value in both], [best for best, _ in both]


def columns_of(strategies, label, actions, alive):
    """Return the probabilities at a public node, float64 (actions, hands)."""
    texts = strategies.get(label, {})
    need([*texts] == actions, f"{label!r} must have the actions {actions}, not {[*texts]}")
    columns = [
        np.frombuffer(b64decode(text, validate=True), dtype="<f8") for text in texts.values()
    ]
    table = np.where(alive, np.array(columns), 0)
    hands = np.arange(len(alive))
    largest = table.argmax(axis=0)
    chosen = table[largest, hands]
    table[largest, hands] = 0
    rest = 1 - table.sum(axis=0)
    right = (table >= 0).all(axis=0) & (rest >= 0) & (abs(rest - chosen) < 1e-9)
    need(right[alive].all(), f"{label!r} has numbers that are not probabilities")
    table[largest, hands] = np.where(alive, rest, 0)
    return table


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
            choose = max if self.order == "descending" else min
            steps = []
            for drawn in prizes if self.order == "random" else [choose(prizes)]:
                left = tuple(p for p in prizes if p != drawn)
                steps.append((hands, left, drawn, (), points, lines))
            steps = [(Fraction(1, len(steps)), state) for state in steps]
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
        need(
            header[:3] == ("EFG", "2", "R"),
            "the rules are not a text in the format .efg, version 2",
        )
        self.players, self.nodes, self.known = len(self.group()), [], {}
        if self.tokens[self.at][:1] == '"':
            self.take()
        self.read()
        more = self.tokens[self.at :]
        need(not more, f"there is text behind the tree: {more}")

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
            right = min(chances) >= 0 and sum(chances) == 1
            need(right, f"chance has the probabilities {words[1::2]}")
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
    "rhode_island": RhodeIslandRules,
    "holdem": HoldemRules,
    "short_deck": ShortDeckRules,
}
TREES = {"goofspiel": GoofspielRules, "efg": TreeRules}
RULES = HANDS | TREES


Intervals = dict[str, tuple[Fraction, Fraction]]


def digest_of(rows: Any) -> str:
    """Return the SHA-256 of the labels and their texts, sorted."""
    lines = sorted(json.dumps([label, *rows[label]], ensure_ascii=False) for label in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check(certificate: Any) -> Intervals:
    """Return the proven values, best responses and exploitability, as intervals.

    Raises:
        CertificateError: The certificate does not prove its claims, or is damaged.
    """
    try:
        proven = prove(**certificate)
        claims = {key: [*map(number_of, ends)] for key, ends in certificate["claims"].items()}
    except RecursionError:
        raise CertificateError("the game is too deep for this program") from None
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
    same = digest_of({label: row.values() for label, row in strategies.items()}) == digest
    need(same, "the strategies are not those of the digest")
    labels, method = {}, prove_hands if game["name"] in HANDS else prove_tree
    values, best = method(RULES[game["name"]](**game["parameters"]), strategies, labels)
    more = sorted(set(strategies) - set(labels))
    need(not more, f"the game has no infoset {more[0]!r}" if more else "")
    same = digest_of(labels) == game["digest"]
    need(same, "the infosets and actions are not those of the game's digest")
    gains = [(b[0] - v[1], b[1] - v[0]) for b, v in zip(best, values, strict=True)]
    proven = {"exploitability": tuple(sum(ends) / len(gains) for ends in zip(*gains, strict=True))}
    for player, ends in enumerate(values):
        proven |= {f"value {player}": ends, f"best response {player}": best[player]}
    need(set(claims) == set(proven), f"the claims must be about {', '.join(proven)}")
    return proven


def entries_of(pairs):
    """Return the entries of a JSON object, whose names must differ."""
    names = [name for name, _ in pairs]
    need(len(set(names)) == len(names), f"two entries have one name: {names}")
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
