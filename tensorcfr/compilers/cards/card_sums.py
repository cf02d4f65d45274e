"""Checks and sums over the cards, hands, weights and betting of a card game."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import accumulate, combinations
from math import comb, prod
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..._util.memory_budget import require, reserve
from ...errors import GameError
from ...model.arrays import frozen_arrays
from ...model.card_structure import (
    DEAL,
    DECISION,
    FOLD,
    RUNOUT,
    SHOWDOWN,
    BettingTree,
    RoundBoards,
    orders_of,
)
from ...payoff.card_payoffs import HAND_BITS, MOST_CARDS, MOST_PRIVATE, WIDE_FROM
from ...rules import CardGame, Deal, Decision, Fold, Runout, Showdown, SidePots
from .subsets import BoardHands, all_sets, compare, numbers_of_sets, signs_of, sums_of


class HandSets(NamedTuple):
    """Hands of some players, with their weights."""

    cards: Sequence[str]
    hands: Sequence[np.ndarray]
    """Cards of each hand, for each player int64 (hands, 1 to 5)."""
    weights: Sequence[np.ndarray]
    """Weights of the hands, for each player float64 (hands,)."""


def all_hands(rules: CardGame) -> HandSets:
    """Return the hands of all players, with weight 1 each."""
    return HandSets(rules.cards, rules.hands, [np.ones(len(hands)) for hands in rules.hands])


def live_hands(rules: CardGame, board: np.ndarray) -> HandSets:
    """Return the hands of all players, with weight 0 if they share a card with a board, else 1."""
    live = [without(hands, board).astype(np.float64) for hands in rules.hands]
    return HandSets(rules.cards, rules.hands, live)


def check(rules: CardGame, name: str) -> None:
    """Check the cards, hands and weights of the rules.

    Raises:
        GameError: The rules break the contract of :class:`~tensorcfr.rules.CardGame`.
    """
    cards = len(rules.cards)
    if rules.n_players not in (2, 3):
        raise GameError(f"{name} has {rules.n_players} players; card games have two or three")
    if not 0 < cards <= MOST_CARDS:
        raise GameError(f"{name} has {cards} cards; a deck has 1 to {MOST_CARDS}")
    out = (*rules.board, *rules.dead)
    if len(set(out)) != len(out) or not set(out) <= set(range(cards)):
        raise GameError(
            f"{name}: the board {rules.board} and the dead cards {rules.dead} must be different "
            "cards of the deck"
        )
    if not isinstance(rules.rankings, int) or rules.rankings < 1:
        raise GameError(f"{name}: rankings must be a whole number from 1, not {rules.rankings!r}")
    widths = set()
    for what, arrays in (("hands", rules.hands), ("weights", rules.weights)):
        if len(arrays) != rules.n_players:
            raise GameError(f"{name}: there are {what} of {len(arrays)} players")
    for player in range(rules.n_players):
        hands, weights = rules.hands[player], rules.weights[player]
        if hands.ndim != 2 or not 1 <= hands.shape[1] <= MOST_PRIVATE or hands.dtype != np.int64:
            raise GameError(
                f"{name}: the hands of player {player} must be int64 (hands, 1 to {MOST_PRIVATE})"
            )
        if not len(hands) or (hands.shape[1] < WIDE_FROM and len(hands) >= 1 << HAND_BITS):
            raise GameError(f"{name}: player {player} has {len(hands):,} hands")
        widths.add(hands.shape[1])
        if weights.shape != (len(hands),) or not (np.isfinite(weights) & (weights > 0)).all():
            raise GameError(f"{name}: the weights of player {player} must be finite and above 0")
        wrong = (hands < 0) | (hands >= cards) | np.isin(hands, out)
        if wrong.any():
            hand = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise GameError(
                f"{name}: hand {hand} of player {player} has a card that cannot be dealt"
            )
        if (np.diff(np.sort(hands, axis=1), axis=1) == 0).any():
            raise GameError(f"{name}: a hand of player {player} has one card twice")
        if len(np.unique(np.sort(hands, axis=1), axis=0)) != len(hands):
            raise GameError(f"{name}: player {player} has a hand twice")
    for cards_, weight in (rules.boards or {}).items():
        shown = set(cards_) <= {*rules.free.tolist()}
        if not shown or list(cards_) != sorted(set(cards_)):
            raise GameError(f"{name}: the board {cards_} to deal must be free cards, ascending")
        if not 0.0 < weight < np.inf:
            raise GameError(f"{name}: the board {cards_} to deal has the weight {weight}")
    if rules.boards and rules.weights_vary:
        raise GameError(f"{name}: weights_vary cannot be combined with a choice of boards")
    if len(widths) > 1:
        raise GameError(f"{name}: the hands of all players must have the same number of cards")
    if rules.n_players > 2:
        _check_many(rules, name, widths.pop())
    elif Dealing(rules).total <= 0.0:
        raise GameError(f"{name}: every hand of player 0 shares a card with every hand of player 1")


def _check_many(rules: CardGame, name: str, width: int) -> None:
    """Check the limits of games of three players.

    Raises:
        GameError: The rules exceed them.
    """
    if width >= WIDE_FROM:
        raise GameError(f"{name}: hands of {width} cards need two players, not {rules.n_players}")
    options = {"boards": rules.boards, "weights_vary": rules.weights_vary}
    for what, option in options.items():
        if option:
            raise GameError(f"{name}: {what} needs two players, not {rules.n_players}")
    if not opponent_weight(all_hands(rules), 0).any():
        raise GameError(f"{name}: any hands of all players share a card")


def sums_by_card(rules: CardGame | HandSets, player: int, weight: np.ndarray) -> np.ndarray:
    """Sum the weights of the hands with each card, float64 (cards,)."""
    sums = np.zeros(len(rules.cards))
    for column in rules.hands[player].T:
        sums += np.bincount(column, weight, minlength=len(sums))
    return sums


def same_hands(rules: CardGame) -> list[np.ndarray]:
    """Return the other player's hand with the same cards, for each hand; int64 (hands,) for each
    player.

    The number of the other player's hands marks hands without such a counterpart.
    """
    first, second = rules.hands
    cards = len(rules.cards)
    return [numbers_of(second, first, cards), numbers_of(first, second, cards)]


def opponent_weight(rules: CardGame | HandSets, player: int) -> np.ndarray:
    """Sum the weights of the other players' hands without a common card, float64 (hands,).

    The weight of two hands is the product of their weights.
    """
    if len(rules.hands) > 2:
        return _pair_weight(rules, player)
    opponent = 1 - player
    weight = rules.weights[opponent]
    # Sets of cards are counted in tables, which are small if they leave out cards of no hand.
    is_used = np.zeros(len(rules.cards), dtype=bool)
    for hands in rules.hands:
        is_used[hands] = True
    label, cards = np.cumsum(is_used) - 1, int(is_used.sum())
    hands, opponent_hands = label[rules.hands[player]], label[rules.hands[opponent]]
    by_card = sums_by_card(rules, opponent, weight)[is_used]
    disjoint: np.ndarray = weight.sum() - by_card[hands].sum(axis=1)
    # Inclusion and exclusion: a hand that shares two cards was subtracted twice above, so sums over
    # pairs of cards add it back, and so on.
    for size in range(2, hands.shape[1] + 1):
        by_set = np.zeros(comb(cards, size))
        for numbers in numbers_of_sets(opponent_hands, size, cards):
            by_set += np.bincount(numbers, weight, minlength=len(by_set))
        for numbers in numbers_of_sets(hands, size, cards):
            disjoint += (-1) ** size * by_set[numbers]
    return disjoint


def _pair_weight(rules: CardGame | HandSets, player: int) -> np.ndarray:
    """Sum the weights of pairs of hands of the two other players, float64 (hands,).

    :mod:`tensorcfr.payoff.three_hand_sums` derives the formula.
    """
    own_hands, cards = rules.hands[player], len(rules.cards)
    totals, per_card, tables = [], [], []
    for opponent in range(len(rules.hands)):
        if opponent == player:
            continue
        hands, weight = rules.hands[opponent], rules.weights[opponent]
        table = np.zeros((cards, cards))
        if hands.shape[1] == 2:
            table[hands[:, 0], hands[:, 1]] = table[hands[:, 1], hands[:, 0]] = weight
        by_card = sums_by_card(rules, opponent, weight)
        tables.append(table)
        # The sum of all hands with each card, without the hands that also have an own card.
        per_card.append(by_card - sum(table[column] for column in own_hands.T))
        totals.append(
            weight.sum() - by_card[own_hands].sum(axis=1) + table[own_hands[:, 0], own_hands[:, -1]]
        )
    same_cards = tables[0] * tables[1]
    with_card = same_cards.sum(axis=1)
    shared = per_card[0] * per_card[1]
    np.put_along_axis(shared, own_hands, 0.0, axis=1)
    both: np.ndarray = totals[0] * totals[1] - shared.sum(axis=1)
    both += (
        with_card.sum() / 2.0
        - with_card[own_hands].sum(axis=1)
        + same_cards[own_hands[:, 0], own_hands[:, -1]]
    )
    return both


def compared(
    rules: CardGame, board: Sequence[int], player: int, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compare every hand of a player with the other player's hands at a showdown.

    Several rankings of the hands have equal shares in the result.

    Args:
        rules: The rules.
        board: The cards of the board.
        player: The player.
        weight: float64 (hands of the other player,): weights of the hands; 0 for hands that share a
            card with the board.

    Returns:
        The total weight of the other player's weaker, equal and stronger hands without a common
        card, float64 (hands,) each; 0 for hands that share a card with the board.
    """
    n_cards, width = len(rules.cards), rules.hands[player].shape[1]
    sides = [
        ranked_hands(rules, board, p, all_sets(rules.hands[p], n_cards), weight)
        for p in (player, 1 - player)
    ]
    weights = np.zeros((rules.rankings, len(rules.hands[player]), 3))
    signs, sums = signs_of(width), sums_of(n_cards, width)
    for mine, theirs, of_ranking in zip(*sides, weights, strict=True):
        compare(mine, theirs, signs, sums, of_ranking)
    weaker, not_stronger, total = weights.mean(axis=0).T
    return weaker, not_stronger - weaker, total - not_stronger


def ranked_hands(
    rules: CardGame, board: Sequence[int], player: int, sets: np.ndarray, weight: np.ndarray
) -> list[BoardHands]:
    """Return the hands of a player on a board, weakest first, in each ranking.

    Args:
        rules: The rules.
        board: The cards of the board.
        player: The player.
        sets: :attr:`BoardHands.sets` of the hands.
        weight: :attr:`BoardHands.weight` of the hands, if their weight is read.
    """
    hands = rules.hands[player]
    live = np.flatnonzero(without(hands, np.array(board, dtype=np.int64)))
    ranked = []
    for of_live in rules.strengths(tuple(board), hands[live]):
        strength = np.zeros(len(hands), dtype=np.int64)
        strength[live] = of_live
        order = live[np.argsort(of_live, kind="stable")]
        ranked.append(BoardHands(order, strength, sets, weight))
    return ranked


def odds_on(
    rules: CardGame, player: int, board: tuple[int, ...], before: tuple[int, ...] | None = None
) -> np.ndarray:
    """Return the likelihood of each hand on a board, relative to an earlier board; float64
    (hands,).

    Without an earlier board, the likelihood is relative to the weights of the hands.
    """
    before_weights = rules.weights[player] if before is None else rules.weights_on(player, before)
    odds: np.ndarray = rules.weights_on(player, board) / before_weights
    return odds


def pair_odds(
    rules: CardGame, board: tuple[int, ...], count: int
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Yield all cards that can come next, and how likely they are with each pair of hands.

    Args:
        rules: The game, whose boards are not chosen.
        board: The cards of the board.
        count: How many cards are dealt.

    Yields:
        The cards, ascending; float64 (hands of player 0, hands of player 1): the weight of the pair
        on the next board over that on this one.  It is 0 if one of the hands has such a card.
    """
    for cards in combinations([card for card in rules.free.tolist() if card not in board], count):
        factors = []
        for player, hands in enumerate(rules.hands):
            live = without(hands, np.array((*board, *cards)))
            factors.append(np.zeros(len(hands)))
            factors[-1][live] = odds_on(rules, player, (*board, *cards), board)[live]
        yield cards, np.outer(*factors)


def outer(factors: Iterable[np.ndarray]) -> np.ndarray:
    """Return the products of the numbers of several arrays, with an axis for each array."""
    return reduce(np.multiply.outer, factors)


def payoff_scale(rules: CardGame, dealt: Sequence[tuple[int, ...]]) -> np.ndarray | float:
    """Return the factor of the payoffs of each pair of hands, where weights vary by board.

    The weights of a pair on all next boards do not exactly sum to its weight on this one.  Chance
    deals cards with probabilities, so with the shares of these weights; the payoffs take up the
    rest.  Probability times scale is then proportional to the weight of the pair on the board.

    Args:
        rules: The game.
        dealt: The cards of each deal so far.

    Returns:
        float64 (hands of player 0, hands of player 1), 1 for hands that cannot be dealt there; or
        1.0 for all pairs.
    """
    scale: np.ndarray | float = 1.0
    if not rules.weights_vary:
        return scale
    board, free = rules.board, len(rules.free) - 2 * rules.hands[0].shape[1]
    first, second = (odds_on(rules, player, board) for player in range(2))
    if (first != 1.0).any() or (second != 1.0).any():
        scale = np.outer(first, second)
    for cards in dealt:
        total = sum(odds for _, odds in pair_odds(rules, board, len(cards)))
        scale = scale * np.where(total > 0.0, total / comb(free, len(cards)), 1.0)
        board, free = (*board, *cards), free - len(cards)
    return scale


def deal_weight(rules: CardGame) -> float:
    """Sum the products of weights over all hands of the players without a common card."""
    return float(rules.weights[0] @ opponent_weight(rules, 0))


def runouts(rules: CardGame, deals: Sequence[int]) -> int:
    """Count the ways to deal several sets of cards in turn, given the hands of all players."""
    return ways(len(rules.free) - held_cards(rules), deals)


def held_cards(rules: CardGame) -> int:
    """Return the number of cards that the hands of all players have."""
    return sum(hands.shape[1] for hands in rules.hands)


def ways(free: int, deals: Sequence[int]) -> int:
    """Count the ways to deal several sets of cards in turn, of ``deals`` cards each, from free
    cards."""
    return prod(
        comb(max(free - before, 0), dealt)
        for dealt, before in zip(deals, accumulate(deals, initial=0), strict=False)
    )


class Dealing:
    """Probabilities with which hands and boards are dealt.

    Args:
        rules: The rules.
        deals: Number of cards of each deal, in order.
    """

    def __init__(self, rules: CardGame, deals: tuple[int, ...] = ()) -> None:
        self.rules, self.deals = rules, deals
        all_weights = sum((rules.boards or {}).values())
        self.boards = {cards: w / all_weights for cards, w in (rules.boards or {}).items()}
        """Probabilities of the boards that the first deal may show; empty if it may show all
        boards."""

    @cached_property
    def apart(self) -> np.ndarray:
        """float64 (hands of player 0, hands of player 1, ...): probability that the board of the
        first deal leaves all hands possible, or 1 if boards are not chosen; 0 for hands with a
        common card."""
        players = range(self.rules.n_players)
        if len(players) > 2:
            size = 8 * prod(map(len, self.rules.hands))
            require(2 * size, "an array over all hands of three players")
        disjoint = np.ones([len(hands) for hands in self.rules.hands])
        for pair in combinations(players, 2):
            first, second = (self.rules.hands[player] for player in pair)
            shared = (first[:, None, :, None] == second[None, :, None, :]).any(axis=(2, 3))
            disjoint *= 1.0 - np.expand_dims(shared, [p for p in players if p not in pair])
        if self.boards:
            first, second = self.rules.hands
            sets, weight = np.array(list(self.boards)), np.array(list(self.boards.values()))
            compared = first.shape[1] * sets.shape[1]
            reserve(len(sets) * (8 * (len(first) + len(second)) + compared * len(first)))
            free = [
                1.0 - (hands[:, None, :, None] == sets[None, :, None, :]).any(axis=(2, 3))
                for hands in self.rules.hands
            ]
            # Boards of equal weight are counted first.  Counts are exact, so the sum does not
            # depend on the order in which a linear algebra library adds.
            possible = np.zeros_like(disjoint)
            for board_weight in np.unique(weight).tolist():
                same_weight = weight == board_weight
                possible += board_weight * (free[0][:, same_weight] @ free[1][:, same_weight].T)
            disjoint *= possible
        return disjoint

    @cached_property
    def total(self) -> float:
        """Total weight of all deals of hands: products of their weights and of :attr:`apart`."""
        if not self.boards:
            return deal_weight(self.rules)
        return float((self.apart * np.outer(*self.rules.weights)).sum())

    @property
    def pairs(self) -> np.ndarray:
        """float64 (hands of player 0, hands of player 1, ...): probability of each deal of
        hands."""
        weights: np.ndarray = self.apart * outer(self.rules.weights)
        return weights / weights.sum()

    def share(self, r: int) -> float:
        """Return the factor that turns weights of all hands and a board of round ``r`` into a
        probability.

        If boards are chosen, the factor counts only the deals after the first.
        """
        after = runouts(self.rules, self.deals[:r])
        if self.boards:
            after //= runouts(self.rules, self.deals[: min(r, 1)])
        return 1.0 / float(after) / self.total

    def weights(self, cards: np.ndarray) -> np.ndarray:
        """Return the weights of boards, float64 (boards,); 1 each if boards are not chosen.

        Args:
            cards: int64 (boards, cards): the cards of each board.
        """
        if not self.boards or not cards.shape[1]:
            return np.ones(len(cards))
        first = cards[:, : self.deals[0]].tolist()
        return np.array([self.boards[tuple(board)] for board in first])


def shares_of_runouts(rules: CardGame, cards: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares of boards, and of rankings, in which the hands of player 0 win, tie and
    lose.

    Args:
        rules: The rules.
        cards: Number of cards that are still to be dealt.

    Returns:
        Three arrays, float64 (hands of player 0, hands of player 1).  Entries of hands with a
        common card are undefined.
    """
    total = rules.rankings * runouts(rules, (cards,))
    won, tied = (count / total for count in rules.runouts(cards))
    return won, tied, 1.0 - won - tied


def cards_label(rules: CardGame, cards: Sequence[int] | np.ndarray) -> str:
    """Return the label of cards that are dealt together, the last card of the deck first, as
    players name high cards first."""
    return "".join(str(rules.cards[card]) for card in sorted(cards, reverse=True))


def read_deal(rules: CardGame, text: str, count: int) -> tuple[int, ...] | None:
    """Parse the cards of a text such as ``"Td9d6h"``, ascending.

    The result is None unless the text names ``count`` different cards.
    """
    if not count:
        return None if text else ()
    for card, label in enumerate(map(str, rules.cards)):
        if text.startswith(label):
            rest = read_deal(rules, text[len(label) :], count - 1)
            if rest is not None and card not in rest:
                return tuple(sorted((card, *rest)))
    return None


def numbers_of(hands: np.ndarray, wanted: np.ndarray, cards: int) -> np.ndarray:
    """Find each wanted hand among some hands, in any order of its cards; int64 (wanted,).

    Args:
        hands: int64 (hands, 1 to 5): cards of each hand.
        wanted: int64 (wanted, 1 to 5): cards of each wanted hand.
        cards: Cards of the deck.

    Returns:
        int64 (wanted,): index of each wanted hand; the number of hands if it is missing.
    """
    keys, wanted_keys = (
        np.sort(h, axis=1) @ cards ** np.arange(h.shape[1]) for h in (hands, wanted)
    )
    order = np.argsort(keys)
    position = np.minimum(np.searchsorted(keys, wanted_keys, sorter=order), len(keys) - 1)
    return np.where(keys[order[position]] == wanted_keys, order[position], len(keys))


def without(hands: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """Return whether each hand has none of the given cards, bool (hands,)."""
    return np.logical_not(np.any(np.isin(hands, cards), axis=1))


Betting = TypeVar("Betting")


class KnownBettings(Generic[Betting]):
    """Results for the bettings that were read last, for games with the same betting."""

    def __init__(self) -> None:
        self._results: dict[Hashable, Betting] = {}

    def find(self, rules: CardGame) -> Betting | None:
        """Return the result for the betting of some rules, or None."""
        return None if rules.betting_key is None else self._results.get(self._key(rules))

    def keep(self, rules: CardGame, result: Betting, nodes: int) -> Betting:
        """Keep a result, unless the betting has no key or many nodes; return it."""
        if rules.betting_key is not None and nodes <= NODES_KEPT:
            self._results[self._key(rules)] = result
            if len(self._results) > BETTINGS_KEPT:
                self._results.pop(next(iter(self._results)), None)
        return result

    def _key(self, rules: CardGame) -> Hashable:
        # Numbers of cards and chosen boards decide whether a deal is possible.
        boards = rules.boards and tuple(rules.boards)
        return rules.betting_key, len(rules.free), held_cards(rules), boards


BETTINGS_KEPT, NODES_KEPT = 8, 1 << 14
"""Number of bettings that are kept, and largest number of public nodes of each."""
_TREES = KnownBettings[BettingTree]()


def unfold(rules: CardGame, name: str) -> BettingTree:
    """Unfold the betting into a tree, breadth first.

    Raises:
        GameError: The rules break their contract.
    """
    known = _TREES.find(rules)
    if known is None:
        betting = frozen_arrays(_unfold(rules, name))
        known = _TREES.keep(rules, betting, betting.n_nodes)
    return known


def _unfold(rules: CardGame, name: str) -> BettingTree:
    """Unfold a betting that is not known; see :func:`unfold`."""
    states: list[Any] = [rules.root()]
    parent, step, rounds, deals = [-1], [""], [0], list[int]()
    kind, player, first_child, children = [], [], [], []
    amounts, runs, competing = [], list[int](), list[set[int]]()
    known: dict[Any, Any] = {}
    players, orders = rules.n_players, orders_of(rules.n_players)
    no_amounts = np.zeros((len(orders), players))
    k = 0
    while k < len(states):
        state = states[k]
        # Equal states have equal futures, so the rules are asked once for each state.
        node = known.get(state)
        if node is None:
            node = known[state] = rules.node(state)
        first_child.append(len(states))
        player.append(-1)
        amounts.append(no_amounts)
        runs.append(0)
        competing.append(set())
        steps: list[Any] = []
        if isinstance(node, Decision):
            kind.append(DECISION)
            steps = list(node.actions)
            if node.player not in range(players) or not steps:
                *others, last = map(str, range(players))
                raise GameError(
                    f"{name}: the decision after {_line(k, parent, step)} needs player "
                    f"{', '.join(others)} or {last} and an action"
                )
            if len(set(map(str, steps))) != len(steps):
                raise GameError(
                    f"{name}: after {_line(k, parent, step)} two actions have the same label"
                )
            player[-1] = node.player
        elif isinstance(node, Deal):
            kind.append(DEAL)
            steps = [None]
            if rounds[k] == len(deals):
                deals.append(node.cards)
            if node.cards != deals[rounds[k]] or node.cards < 1:
                raise GameError(
                    f"{name}: after {_line(k, parent, step)} {node.cards} cards are dealt, "
                    f"but {deals[rounds[k]]} in other lines"
                )
            for cards in rules.boards or () if not rounds[k] else ():
                if len(cards) != node.cards:
                    raise GameError(
                        f"{name}: {node.cards} cards are dealt first, and the board {cards} to "
                        f"deal has {len(cards)}"
                    )
            dealt = sum(deals[: rounds[k] + 1])
            if dealt + held_cards(rules) > len(rules.free):
                raise GameError(
                    f"{name}: after {_line(k, parent, step)} too few cards are left to deal"
                )
        elif isinstance(node, Fold):
            kind.append(FOLD)
            amounts[-1] = np.array([node.utilities] * len(orders), dtype=np.float64)
        elif isinstance(node, (Showdown, Runout) if players > 2 else SidePots):
            raise GameError(
                f"{name}: after {_line(k, parent, step)} {type(node).__name__} is not for "
                f"{players} players"
            )
        elif isinstance(node, SidePots):
            if node.utility is not None and rules.rankings > 1:
                raise GameError(
                    f"{name}: with {rules.rankings} rankings, the SidePots after "
                    f"{_line(k, parent, step)} can have no utility"
                )
            kind.append(RUNOUT if node.cards else SHOWDOWN)
            runs[-1] = node.cards
            amounts[-1] = side_pot_payoffs(node, orders, f"{name}: after {_line(k, parent, step)}")
            competing[-1].update(*(players_of_pot for _, players_of_pot in node.pots))
        elif isinstance(node, Showdown):
            kind.append(SHOWDOWN)
            amounts[-1] = np.array(node, dtype=np.float64)
        elif isinstance(node, Runout):
            kind.append(RUNOUT)
            amounts[-1] = np.array(node[:3], dtype=np.float64)
            runs[-1] = node.cards
            if rules.weights_vary:
                raise GameError(f"{name}: weights_vary cannot be combined with a Runout")
        else:
            raise GameError(
                f"{name}: node(...) after {_line(k, parent, step)} must be a Decision, a Deal, "
                f"a Fold, a Showdown, SidePots or a Runout, not {type(node).__name__}"
            )
        n_left = len(rules.free) - held_cards(rules)
        if (runs[-1] and rounds[k]) or not 0 <= runs[-1] <= n_left:
            raise GameError(
                f"{name}: after {_line(k, parent, step)} {runs[-1]} cards are run out, "
                f"{'after a deal' if rounds[k] else f'and {n_left} are left'}"
            )
        if not np.isfinite(amounts[-1]).all() or amounts[-1].shape != no_amounts.shape:
            raise GameError(f"{name}: the payoffs after {_line(k, parent, step)} are not finite")
        children.append(len(steps))
        for edge in steps:
            states.append(rules.next(state, edge))
            parent.append(k)
            step.append("" if edge is None else str(edge))
            rounds.append(rounds[k] + (edge is None))
        k += 1
    # Children have larger numbers than their parents, so their players are complete here.
    for k in range(len(states) - 1, 0, -1):
        competing[parent[k]] |= competing[k]
    return BettingTree(
        kind=np.array(kind, dtype=np.int8),
        player=np.array(player, dtype=np.int8),
        parent=np.array(parent, dtype=np.int64),
        step=tuple(step),
        first_child=np.array(first_child, dtype=np.int64),
        children=np.array(children, dtype=np.int64),
        round=np.array(rounds, dtype=np.int64),
        amounts=np.array(amounts),
        runs=np.array(runs, dtype=np.int64),
        deals=tuple(deals),
        competing=np.array([[p in of_node for p in range(players)] for of_node in competing]),
    )


def side_pot_payoffs(node: SidePots, orders: np.ndarray, where: str) -> np.ndarray:
    """Return the utility of each player for each order of the hands, float64 (orders, players).

    Raises:
        GameError: A pot has no players, or a player who does not exist.
    """
    players = orders.shape[1]
    payoffs = np.tile(-np.array(node.paid, dtype=np.float64), (len(orders), 1))
    if payoffs.shape != orders.shape:
        raise GameError(f"{where} paid has amounts of {len(node.paid)} players, not {players}")
    for amount, competing in node.pots:
        if not competing or len({*competing} & {*range(players)}) != len(competing):
            raise GameError(f"{where} players {competing} cannot compete for a pot")
        ranks = orders[:, list(competing)]
        wins = ranks == ranks.max(axis=1, keepdims=True)
        payoffs[:, list(competing)] += amount * wins / wins.sum(axis=1, keepdims=True)
    if node.utility is None:
        return payoffs
    return np.array([node.utility(tuple(won)) for won in payoffs.tolist()], dtype=np.float64)


def _line(node: int, parent: list[int], step: list[str]) -> str:
    """Return the actions and deals before a node, for error messages."""
    steps = []
    while node > 0:
        steps.append(step[node] or "(deal)")
        node = parent[node]
    return repr(" ".join(steps[::-1]))


def deal_boards(rules: CardGame, betting: BettingTree) -> tuple[RoundBoards, ...]:
    """Return all boards of each round that can be dealt."""
    none = np.zeros((1, 0), dtype=np.int64)
    rounds = [RoundBoards(none, np.zeros(1, dtype=np.int64), 0)]
    for dealt in betting.deals:
        before = rounds[-1].cards
        # Sets of cards in the order of their first card, their second, ...
        card_sets: Iterable[tuple[int, ...]] = combinations(rules.free.tolist(), dealt)
        if len(rounds) == 1 and rules.boards:
            card_sets = sorted(rules.boards)
        sets = np.array(list(card_sets), dtype=np.int64)
        overlaps = (before[:, :, None, None] == sets).any(axis=(1, 3))
        parent, chosen = np.nonzero(~overlaps)
        rounds.append(RoundBoards(np.column_stack([before[parent], sets[chosen]]), parent, dealt))
    return tuple(rounds)
