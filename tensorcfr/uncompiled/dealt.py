"""Adapters that present all kinds of rules as a :class:`tensorcfr.Game` of histories."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np

from ..compilers.cards.card_sums import Dealing, cards_label, read_deal, shares_of_runouts
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

BOARDS_KEPT = 4096
"""Boards whose weights of hands are kept."""


def as_histories(rules: Rules) -> Game:
    """Return rules as a game of histories."""
    if isinstance(rules, Game):
        return rules
    return DealtHands(rules) if isinstance(rules, PublicTreeGame) else DealtCards(rules)


class DealtHands(Game):
    """Game of private hands as a game of histories; chance deals the hands, player 0's first.

    Deals and outcomes of probability 0 are left out.  A game state has the indices of the hands
    dealt so far, the public state, and a string of the public actions since the deal, each after a
    space.
    """

    def __init__(self, rules: PublicTreeGame) -> None:
        self.rules = rules
        self.n_players = rules.n_players
        self._prior = np.asarray(rules.prior, dtype=np.float64)
        self._matrices: dict[Any, np.ndarray] = {}
        # A compiled game of two players is traversed on its public tree, with one draw for the
        # deal.
        self.joined_draws = 2 if self.n_players == 2 else None

    @property
    def name(self) -> str:
        """Name of the game."""
        return self.rules.name

    def root(self) -> Any:
        """Return the game state before the deal."""
        return (), self.rules.root(), ""

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Return the deal of the next hand, or the node of the public tree."""
        deal, public, done = state
        if len(deal) < self.n_players:
            # Sum the joint probabilities over the hands of the players who come later.
            left = self._prior[deal]
            weights = left.reshape(len(left), -1).sum(axis=1)
            weights /= weights.sum()
            return Chance({hand: p for hand, p in enumerate(weights.tolist()) if p > 0.0})
        said = self.rules.node(public)
        if isinstance(said, Decision):
            player, seen, actions = said
            hand = self.rules.hands[player][deal[player]]
            label = self.rules.label(player, hand, done if seen is None else seen)
            return Decision(player, label, actions)
        if isinstance(said, Payoff):
            coefficient, key = said
            matrix = self._matrices.get(key)
            if matrix is None:
                matrix = self._matrices[key] = np.asarray(self.rules.matrix(key), np.float64)
            return Terminal((coefficient * matrix[(slice(None), *deal)]).tolist())
        shape = self._prior.shape
        given = {o: float(np.broadcast_to(p, shape)[deal]) for o, p in said.outcomes.items()}
        return Chance({outcome: p for outcome, p in given.items() if p > 0.0})

    def next(self, state: Any, action: Any) -> Any:
        """Return the game state after a hand is dealt or a public action is taken."""
        deal, public, done = state
        if len(deal) < self.n_players:
            return (*deal, action), public, done
        return deal, self.rules.next(public, action), f"{done} {action}"


class DealtCards(Game):
    """Card game as a game of histories: two hands, the betting, the cards of the board.

    A game state has the indices of the hands dealt so far, the cards of each deal since, and the
    state of the betting.  It ends with a string of the actions and cards since the deal, each
    after a space.
    """

    def __init__(self, rules: CardGame) -> None:
        self.rules = rules
        own, other = (np.asarray(hands) for hands in rules.hands)
        self._free = rules.free.tolist()
        self._hands, self._weights = (own, other), [np.asarray(w, float) for w in rules.weights]
        self._runouts: dict[int, np.ndarray] = {}
        self._on_boards: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    # Deals are counted in the first play, not in the constructor: many games that files name are
    # never played.

    @cached_property
    def _pairs(self) -> np.ndarray | None:
        """Weights of the pairs of hands, float64 (hands, hands), if the rules list the boards;
        otherwise None."""
        return Dealing(self.rules).pairs if self.rules.boards else None

    @cached_property
    def _first(self) -> np.ndarray:
        """Weight of each hand of player 0, float64 (hands,)."""
        if self._pairs is not None:
            return np.asarray(self._pairs.sum(axis=1))
        free = [self._weights[1][self._apart(hand)].sum() for hand in self._hands[0]]
        return self._weights[0] * np.array(free)

    @property
    def name(self) -> str:
        """Name of the game."""
        return self.rules.name

    def _apart(self, hand: np.ndarray) -> np.ndarray:
        """Return a mask of player 1's hands, bool (hands,): True if they share no card with a hand
        of player 0."""
        other = self._hands[1]
        return ~(other[:, :, None] == hand[None, None, :]).any(axis=(1, 2))

    def root(self) -> Any:
        """Return the game state before the deal."""
        return (), (), self.rules.root(), ""

    def node(self, state: Any) -> Decision | Chance | Terminal:
        """Return the deal of a hand, the next decision of the betting, the deal of board cards, or
        the terminal."""
        held, dealt, betting, done = state
        if len(held) < 2:
            weights = self._first
            if held:
                weights = self._weights[1] * self._apart(self._hands[0][held[0]])
                weights = weights if self._pairs is None else self._pairs[held[0]]
            shares = (weights / weights.sum()).tolist()
            return Chance({hand: p for hand, p in enumerate(shares) if p > 0.0})
        said = self.rules.node(betting)
        if isinstance(said, Decision):
            player = said.player
            hand = self.rules.hand_label(player, held[player])
            seen = done if said.infoset is None else said.infoset
            return Decision(player, f"{hand}{seen}", said.actions)
        if isinstance(said, Deal):
            shown = tuple(chain.from_iterable(dealt))
            if self.rules.weights_vary:
                odds = self._odds(held, shown, said.cards)
                total = sum(odds.values())
                return Chance({cards_label(self.rules, c): w / total for c, w in odds.items()})
            taken = self._taken(held, shown)
            chosen = {} if dealt else self.rules.boards or {}
            sets = list(chosen) or self._sets(taken, said.cards)
            shares = {cards: chosen.get(cards, 1.0) for cards in sets if not taken & {*cards}}
            total = sum(shares.values())
            return Chance({cards_label(self.rules, c): w / total for c, w in shares.items()})
        if isinstance(said, Runout):
            if said.cards not in self._runouts:
                self._runouts[said.cards] = np.array(shares_of_runouts(self.rules, said.cards))
            mean = np.array(said[:3]).T @ self._runouts[said.cards][:, held[0], held[1]]
            return Terminal(tuple(mean.tolist()))
        cards = (*self.rules.board, *chain.from_iterable(dealt))
        if isinstance(said, Fold):
            paid = said.utilities
        else:
            own, other = (
                int(self.rules.strength(cards, self._hands[p][held[p]][None])[0]) for p in range(2)
            )
            paid = said.win if own > other else said.lose if own < other else said.tie
        if self.rules.weights_vary:
            scale = self._scale(held, dealt)
            paid = (scale * paid[0], scale * paid[1])
        return Terminal(paid)

    def _taken(self, held: tuple[int, ...], shown: tuple[int, ...]) -> set[int]:
        """Return the cards that are in hands or were dealt."""
        taken = {*shown}
        taken.update(int(c) for p in range(2) for c in self._hands[p][held[p]])
        return taken

    def _sets(self, taken: set[int], count: int) -> Iterator[tuple[int, ...]]:
        """Yield the sets of ``count`` free cards, ascending, without some cards."""
        return combinations([card for card in self._free if card not in taken], count)

    def _odds(
        self, held: tuple[int, ...], shown: tuple[int, ...], count: int
    ) -> dict[tuple[int, ...], float]:
        """Return how much likelier the hands are on each next board than on this one, by the cards
        that are dealt."""
        board, taken = (*self.rules.board, *shown), self._taken(held, shown)
        before = self._weight(held, board)
        return {c: self._weight(held, (*board, *c)) / before for c in self._sets(taken, count)}

    def _weight(self, held: tuple[int, ...], board: tuple[int, ...]) -> float:
        """Return the weight of the hands on a board."""
        first, second = self._weights_on(board)
        return float(first[held[0]] * second[held[1]])

    def _weights_on(self, board: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        if board not in self._on_boards:
            if len(self._on_boards) == BOARDS_KEPT:
                self._on_boards.clear()
            first, second = (self.rules.weights_on(player, board) for player in range(2))
            self._on_boards[board] = first, second
        return self._on_boards[board]

    def _scale(self, held: tuple[int, ...], dealt: tuple[tuple[int, ...], ...]) -> float:
        """Return :func:`~tensorcfr.compilers.cards.card_sums.payoff_scale` for two hands."""
        scale, shown = self._weight(held, self.rules.board), tuple[int, ...]()
        scale /= float(self._weights[0][held[0]] * self._weights[1][held[1]])
        for cards in dealt:
            odds = self._odds(held, shown, len(cards))
            scale *= sum(odds.values()) / len(odds)
            shown = (*shown, *cards)
        return scale

    def next(self, state: Any, action: Any) -> Any:
        """Return the game state after a hand or board cards are dealt, or after an action."""
        held, dealt, betting, done = state
        if len(held) < 2:
            return (*held, action), dealt, betting, done
        if isinstance(node := self.rules.node(betting), Deal):
            cards, step = read_deal(self.rules, str(action), node.cards) or (), None
            dealt = (*dealt, cards)
        else:
            step = action
        return held, dealt, self.rules.next(betting, step), f"{done} {action}"
