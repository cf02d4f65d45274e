"""Leduc hold'em: two betting rounds, one private card each, one board card."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np

from .._util.argument_checks import Number, Several, Whole, checked
from ..rules import Chance, Decision, Payoff, PublicTreeGame
from .small_poker import (
    MAX_CARDS,
    MAX_PLAYERS,
    SUITS,
    deal_without_replacement,
    dealt_to_board,
    rank_names,
    share_pot,
)

FOLD, CALL, RAISE = "fold", "call", "raise"


class LeducState(NamedTuple):
    """Public state of the table."""

    label: str
    """Betting so far, as in infoset labels; a blank follows the board card."""
    board: int | None
    """Index of the board card; None before it is dealt."""
    to_deal: bool
    """True if the board card comes next."""
    player: int
    """Player who acts; -1 when the game is over."""
    paid: tuple[int, ...]
    """Chips that each player has put in, antes included."""
    folded: frozenset[int]
    """Players who have folded."""
    raises: int
    """Number of bets and raises in this round."""
    to_act: int
    """Number of players who must still act before the round ends."""


class LeducCards(PublicTreeGame):
    """Cards of the Leduc games: one private card for each player, and one board card.

    A card that pairs the board beats any other card.  Otherwise the higher rank wins, and equal
    ranks share the pot.
    """

    def __init__(self, name: str, ranks: int, suits: int, players: int) -> None:
        if (cards := ranks * suits) <= players:
            raise ValueError(
                f"{name}: {ranks} ranks x {suits} suits are {cards} cards, "
                f"too few for {players} players and a board card"
            )
        self.n_players, self.suits = players, suits
        self.cards = [rank + suit for rank in rank_names(ranks) for suit in SUITS[:suits]]
        self.hands = [self.cards] * players
        self.prior = deal_without_replacement(cards, players)

    @cached_property
    def board(self) -> Chance:
        """Chance node that deals the board card, one of the cards that nobody holds."""
        boards = dealt_to_board(len(self.cards), self.n_players)
        return Chance(dict(zip(self.cards, boards, strict=True)))

    def matrix(self, key: tuple[int | None, tuple[int, ...], frozenset[int]]) -> np.ndarray:
        """Compute the chips that each player wins in every deal.

        Args:
            key: Index of the board card (None if it was not dealt), chips that each player has put
                in, and players who have folded.

        Returns:
            float64 (players, cards, cards, ...): chips, with one axis of cards per player.
        """
        board, paid, folded = key
        hand_ranks = np.indices(self.prior.shape) // self.suits
        ranks = len(self.cards) // self.suits
        # A bonus of `ranks` lifts a pair above every unpaired card.
        strength = (
            hand_ranks
            if board is None
            else hand_ranks + ranks * (hand_ranks == board // self.suits)
        )
        return share_pot(strength, paid, folded)


class LeducPoker(LeducCards):
    """Leduc hold'em, a poker with two rounds of limit betting.

    Every player antes 1 and gets one card.  After a round of betting one board card is dealt, and
    a second round follows.  A card that pairs the board beats any other card.  Otherwise the higher
    rank wins, and equal ranks share the pot.

    Args:
        ranks: Number of ranks in the deck; by default ``players + 1``.
        suits: Number of suits, up to 4.
        bets: Chips of a bet and of every raise, in the first and in the second round.
        raise_cap: Bets and raises allowed per round.
        players: Number of players, 2 to 10; with four and the default deck there are 349 million
            histories.

    Infoset labels are the card and the betting (f, c, r).  In the second round, a ``/`` with the
    board card and its betting follows: ``"Js"``, ``"Js cr"``, ``"Js crc/Qh"``, ``"Js crc/Qh r"``.

    The defaults equal OpenSpiel's ``leduc_poker``: 9,457 histories, 936 infosets, value
    -0.0856064 for player 0; more players equal ``leduc_poker(players=3)``
    and so on.

    Source: F. Southey et al., "Bayes' bluff: opponent modelling in poker", UAI 2005.
    """

    @checked("leduc")
    def __init__(
        self,
        *,
        ranks: Annotated[int | None, Whole(1, MAX_CARDS // len(SUITS))] = None,
        suits: Annotated[int, Whole(1, len(SUITS))] = 2,
        bets: Annotated[tuple[int, int], Several(Number(above=0, most=1e9), length=2)] = (2, 4),
        raise_cap: Annotated[int, Whole(0, 100)] = 2,
        players: Annotated[int, Whole(2, MAX_PLAYERS)] = 2,
    ) -> None:
        super().__init__("leduc", players + 1 if ranks is None else ranks, suits, players)
        self.bets = tuple(bets)
        self.raise_cap = raise_cap

    def root(self) -> LeducState:
        """Return the state after the antes; player 0 acts."""
        players = self.n_players
        return LeducState("", None, False, 0, (1,) * players, frozenset(), 0, players)

    def node(self, state: LeducState) -> Decision | Chance | Payoff:
        """Return the decision, the deal of the board card, or the payoff.

        A player may fold only against a bet, and raise only below the cap.
        """
        if state.to_deal:
            return self.board
        if state.player < 0:
            return self._payoff(state)
        actions = [CALL]
        if state.paid[state.player] < max(state.paid):
            actions.insert(0, FOLD)
        if state.raises < self.raise_cap:
            actions.append(RAISE)
        return Decision(state.player, f" {state.label}".rstrip(), tuple(actions))

    def next(self, state: LeducState, action: str) -> LeducState:
        """Return the state after an action, or after the card ``action`` is dealt to the board."""
        if state.to_deal:
            remaining = self.n_players - len(state.folded)
            opener = min(set(range(self.n_players)) - state.folded)
            return state._replace(
                label=f"{state.label}/{action} ",
                board=self.cards.index(action),
                to_deal=False,
                player=opener,
                raises=0,
                to_act=remaining,
            )
        player, paid, folded, raises = state.player, list(state.paid), state.folded, state.raises
        to_act = state.to_act - 1
        if action == FOLD:
            folded = folded | {player}
        else:
            paid[player] = max(paid)
            if action == RAISE:
                paid[player] += self.bets[state.board is not None]
                raises += 1
                to_act = self.n_players - len(folded) - 1  # All others must answer the raise.
        all_folded = self.n_players - len(folded) == 1
        is_over = all_folded or (to_act == 0 and state.board is not None)
        turn = (player + 1) % self.n_players
        while turn in folded:
            turn = (turn + 1) % self.n_players
        return LeducState(
            label=state.label + action[0],
            board=state.board,
            to_deal=to_act == 0 and not is_over,
            player=-1 if is_over else turn,
            paid=tuple(paid),
            folded=folded,
            raises=raises,
            to_act=to_act,
        )

    def _payoff(self, state: LeducState) -> Payoff:
        """Return the payoff at the end of the game."""
        if self.n_players == 2:
            # All pots with the same board and folds are multiples of one matrix.
            at_stake = min(state.paid)
            board = None if state.folded else state.board
            return Payoff(float(at_stake), (board, (1, 1), state.folded))
        return Payoff(1.0, (state.board, state.paid, state.folded))
