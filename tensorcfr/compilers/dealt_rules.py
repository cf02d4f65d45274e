"""Adapters that present all kinds of rules as a :class:`tensorcfr.Game` of histories."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np

from ..errors import GameError
from ..rules import (
    CardGame,
    Chance,
    Deal,
    Decision,
    Fold,
    Game,
    Payoff,
    PublicTreeGame,
    Rules,
    Runout,
    Terminal,
)
from .cards.card_sums import Dealing, cards_label, read_deal, shares_of_runouts
from .derived_rules import Derived

BOARDS_KEPT = 4096
"""Boards whose weights of hands are kept."""


def as_histories(rules: Rules) -> Game:
    """Return rules as a game of histories."""
    if isinstance(rules, Game):
        return rules
    return DealtHands(rules) if isinstance(rules, PublicTreeGame) else DealtCards(rules)


class DealtHands(Derived, Game):
    """Game of private hands as a game of histories; chance deals the hands, player 0's first.

    Deals and outcomes of probability 0 are left out.  A game state has the indices of the hands
    dealt so far, the public state, and a string of the public actions since the deal, each after a
    space.
    """

    def __init__(self, rules: PublicTreeGame) -> None:
        super().__init__(rules)
        self._prior = np.asarray(rules.prior, dtype=np.float64)
        self._matrices: dict[Any, np.ndarray] = {}
        # A compiled game of two players is traversed on its public tree, with one draw for the
        # deal.
        self.joined_draws = 2 if self.n_players == 2 else None

    def root(self) -> Any:
        """Return the game state before the deal."""
        return (), self.rules.root(), ""

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Return the deal of the next hand, or the node of the public tree."""
        deal, public, line = state
        if len(deal) < self.n_players:
            # Sum the joint probabilities over the hands of the players who come later.
            remaining = self._prior[deal]
            weights = remaining.reshape(len(remaining), -1).sum(axis=1)
            weights /= weights.sum()
            return Chance({hand: p for hand, p in enumerate(weights.tolist()) if p > 0.0})
        public_node = self.rules.node(public)
        if isinstance(public_node, Decision):
            player, seen, actions = public_node
            hand = self.rules.hands[player][deal[player]]
            label = self.rules.label(player, hand, line if seen is None else seen)
            return Decision(player, label, actions)
        if isinstance(public_node, Payoff):
            coefficient, key = public_node
            matrix = self._matrices.get(key)
            if matrix is None:
                matrix = self._matrices[key] = np.asarray(self.rules.matrix(key), np.float64)
            return Terminal((coefficient * matrix[(slice(None), *deal)]).tolist())
        shape = self._prior.shape
        chances = {
            o: float(np.broadcast_to(p, shape)[deal]) for o, p in public_node.outcomes.items()
        }
        return Chance({outcome: p for outcome, p in chances.items() if p > 0.0})

    def next(self, state: Any, action: Any) -> Any:
        """Return the game state after a hand is dealt or a public action is taken."""
        deal, public, line = state
        if len(deal) < self.n_players:
            return (*deal, action), public, line
        return deal, self.rules.next(public, action), f"{line} {action}"


class DealtCards(Derived, Game):
    """Card game as a game of histories: two hands, the betting, the cards of the board.

    A game state has the indices of the hands dealt so far, the cards of each deal since, and the
    state of the betting.  It ends with a string of the actions and cards since the deal, each
    after a space.
    """

    def __init__(self, rules: CardGame) -> None:
        super().__init__(rules)
        if rules.n_players != 2:
            raise GameError(f"{rules.name} has {rules.n_players} players, so it must be compiled")
        first_hands, second_hands = (np.asarray(hands) for hands in rules.hands)
        self._free = rules.free.tolist()
        self._hands, self._weights = (
            (first_hands, second_hands),
            [np.asarray(w, float) for w in rules.weights],
        )
        self._runouts: dict[int, np.ndarray] = {}
        self._on_boards: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    # Deals are counted in the first play, not in the constructor: many games that files name are
    # never played.

    @cached_property
    def _pairs(self) -> np.ndarray | None:
        """Weights of pairs of hands, float64 (hands, hands); None if the rules list no boards."""
        return Dealing(self.rules).pairs if self.rules.boards else None

    @cached_property
    def _first(self) -> np.ndarray:
        """Weight of each hand of player 0, float64 (hands,)."""
        if self._pairs is not None:
            return np.asarray(self._pairs.sum(axis=1))
        free = [self._weights[1][self._disjoint(hand)].sum() for hand in self._hands[0]]
        return self._weights[0] * np.array(free)

    def _disjoint(self, hand: np.ndarray) -> np.ndarray:
        """Return which hands of player 1 share no card with a hand of player 0, bool (hands,)."""
        second_hands = self._hands[1]
        return ~(second_hands[:, :, None] == hand[None, None, :]).any(axis=(1, 2))

    def root(self) -> Any:
        """Return the game state before the deal."""
        return (), (), self.rules.root(), ""

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Return the deal of a hand, the next decision of the betting, the deal of board cards, or
        the terminal."""
        hands, dealt, betting, line = state
        if len(hands) < 2:
            weights = self._first
            if hands:
                weights = self._weights[1] * self._disjoint(self._hands[0][hands[0]])
                weights = weights if self._pairs is None else self._pairs[hands[0]]
            shares = (weights / weights.sum()).tolist()
            return Chance({hand: p for hand, p in enumerate(shares) if p > 0.0})
        public_node = self.rules.node(betting)
        if isinstance(public_node, Decision):
            player = public_node.player
            hand = self.rules.hand_label(player, hands[player])
            seen = line if public_node.infoset is None else public_node.infoset
            return Decision(player, f"{hand}{seen}", public_node.actions)
        if isinstance(public_node, Deal):
            dealt_cards = tuple(chain.from_iterable(dealt))
            if self.rules.weights_vary:
                odds = self._odds(hands, dealt_cards, public_node.cards)
                total = sum(odds.values())
                return Chance({cards_label(self.rules, c): w / total for c, w in odds.items()})
            used = self._used_cards(hands, dealt_cards)
            chosen = {} if dealt else self.rules.boards or {}
            sets = list(chosen) or self._sets(used, public_node.cards)
            shares = {cards: chosen.get(cards, 1.0) for cards in sets if not used & {*cards}}
            total = sum(shares.values())
            return Chance({cards_label(self.rules, c): w / total for c, w in shares.items()})
        if isinstance(public_node, Runout):
            if public_node.cards not in self._runouts:
                self._runouts[public_node.cards] = np.array(
                    shares_of_runouts(self.rules, public_node.cards)
                )
            mean = (
                np.array(public_node[:3]).T
                @ self._runouts[public_node.cards][:, hands[0], hands[1]]
            )
            return Terminal(tuple(mean.tolist()))
        cards = (*self.rules.board, *chain.from_iterable(dealt))
        if isinstance(public_node, Fold):
            paid = public_node.utilities
        else:
            first_strength, second_strength = (
                self.rules.strengths(cards, self._hands[p][hands[p]][None])[:, 0] for p in range(2)
            )
            # A win, a tie and a loss are fields 0, 1 and 2.
            results = 1 - np.sign(first_strength - second_strength)
            first_paid, second_paid = np.array(public_node)[results].mean(axis=0).tolist()
            paid = first_paid, second_paid
        if self.rules.weights_vary:
            scale = self._scale(hands, dealt)
            paid = (scale * paid[0], scale * paid[1])
        return Terminal(paid)

    def _used_cards(self, hands: tuple[int, ...], dealt_cards: tuple[int, ...]) -> set[int]:
        """Return the cards that are in hands or were dealt."""
        used = {*dealt_cards}
        used.update(int(c) for p in range(2) for c in self._hands[p][hands[p]])
        return used

    def _sets(self, used: set[int], count: int) -> Iterator[tuple[int, ...]]:
        """Yield the sets of ``count`` free cards, ascending, without some cards."""
        return combinations([card for card in self._free if card not in used], count)

    def _odds(
        self, hands: tuple[int, ...], dealt_cards: tuple[int, ...], count: int
    ) -> dict[tuple[int, ...], float]:
        """Return how much likelier the hands are on each next board than on this one."""
        board, used = (*self.rules.board, *dealt_cards), self._used_cards(hands, dealt_cards)
        weight_before = self._weight(hands, board)
        return {
            c: self._weight(hands, (*board, *c)) / weight_before for c in self._sets(used, count)
        }

    def _weight(self, hands: tuple[int, ...], board: tuple[int, ...]) -> float:
        """Return the weight of the hands on a board."""
        first, second = self._weights_on(board)
        return float(first[hands[0]] * second[hands[1]])

    def _weights_on(self, board: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        if board not in self._on_boards:
            if len(self._on_boards) == BOARDS_KEPT:
                self._on_boards.clear()
            first, second = (self.rules.weights_on(player, board) for player in range(2))
            self._on_boards[board] = first, second
        return self._on_boards[board]

    def _scale(self, hands: tuple[int, ...], dealt: tuple[tuple[int, ...], ...]) -> float:
        """Return :func:`~tensorcfr.compilers.cards.card_sums.payoff_scale` for two hands."""
        scale, dealt_cards = self._weight(hands, self.rules.board), tuple[int, ...]()
        scale /= float(self._weights[0][hands[0]] * self._weights[1][hands[1]])
        for cards in dealt:
            odds = self._odds(hands, dealt_cards, len(cards))
            scale *= sum(odds.values()) / len(odds)
            dealt_cards = (*dealt_cards, *cards)
        return scale

    def next(self, state: Any, action: Any) -> Any:
        """Return the game state after a hand or board cards are dealt, or after an action."""
        hands, dealt, betting, line = state
        if len(hands) < 2:
            return (*hands, action), dealt, betting, line
        if isinstance(node := self.rules.node(betting), Deal):
            cards, step = read_deal(self.rules, str(action), node.cards) or (), None
            dealt = (*dealt, cards)
        else:
            step = action
        return hands, dealt, self.rules.next(betting, step), f"{line} {action}"
