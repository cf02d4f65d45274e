"""No-limit Leduc hold'em: the cards of Leduc, any bet up to the stack."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .._util.argument_checks import Whole, checked
from ..rules import Chance, Decision, Payoff
from .leduc import LeducCards
from .small_poker import MAX_CARDS, SUITS

FOLD, CALL = "f", "c"


class NoLimitLeducState(NamedTuple):
    """Public state: the chips in the pot, but not the line of betting that put them there."""

    board: int | None
    """Index of the board card; None before it is dealt."""
    to_deal: bool
    """True if the board card comes next."""
    player: int
    """Player who acts; -1 when the game is over."""
    paid: tuple[int, int]
    """Chips of each player in the pot, antes included."""
    folded: frozenset[int]
    """Players who have folded."""
    acted: int
    """Number of actions taken in this round."""


class NoLimitLeduc(LeducCards):
    """No-limit Leduc: two rounds, one private card each, one board card, any whole bet.

    Every player antes and gets one card.  After a round of betting one board card is dealt, and a
    second round follows.  In each round player 0 acts first.  A player who faces no bet checks, or
    bets any whole number of chips up to the stack.  A player who faces a bet folds, calls or
    raises; a raise puts in at least twice the amount to call, or the rest of the stack.

    The last action that the cap allows in a round can only be a fold or a call.  If a bet of the
    whole stack is called in the first round, the board is dealt and the cards are shown.  A card
    that pairs the board beats any other card.  Otherwise the higher rank wins, and equal ranks
    share the pot.

    Args:
        ranks: Number of ranks in the deck.
        suits: Number of suits, up to 4.
        stack: Chips of each player, the ante included.
        ante: Chips that each player puts in before the deal.
        cap: Largest number of actions in a round.

    Infoset labels are the card and the public actions, each after a space.  ``c`` is a check or
    call, ``f`` a fold, and a number is the chips put in by a bet or raise; the board card stands
    between the rounds: ``"Js"``, ``"Js 3 9 c Qh c 4"``.

    The defaults are the game of the poker tutorial.  Without the board cards it has 493 public
    decision nodes in the first round, 27,059 in the second, and 53,609 terminals.

    Source: the cards are those of F. Southey et al., "Bayes' bluff: opponent modelling in poker",
    UAI 2005; the betting is the tutorial's.
    """

    states_repeat = True

    @checked("nl_leduc")
    def __init__(
        self,
        *,
        ranks: Annotated[int, Whole(1, MAX_CARDS // len(SUITS))] = 3,
        suits: Annotated[int, Whole(1, len(SUITS))] = 2,
        stack: Annotated[int, Whole(1, 10_000)] = 20,
        ante: Annotated[int, Whole(1, 10_000)] = 1,
        cap: Annotated[int, Whole(2, 100)] = 4,
    ) -> None:
        super().__init__("nl_leduc", ranks, suits, 2)
        if stack < ante:
            raise ValueError(f"nl_leduc: stack must be at least the ante, {ante}, not {stack!r}")
        self.stack = stack
        self.ante = ante
        self.cap = cap

    def root(self) -> NoLimitLeducState:
        """Return the state after the antes; player 0 acts."""
        return self._new_round(None, (self.ante, self.ante))

    def _new_round(self, board: int | None, paid: tuple[int, int]) -> NoLimitLeducState:
        """Return the first state of a round; player 0 opens unless all chips are in."""
        is_all_in = paid[0] == self.stack
        return NoLimitLeducState(
            board, is_all_in and board is None, -1 if is_all_in else 0, paid, frozenset(), 0
        )

    def node(self, state: NoLimitLeducState) -> Decision | Chance | Payoff:
        """Return the decision, the deal of the board card, or the payoff.

        Against a bet, fold and call are always possible; the stack and the cap limit the raises.
        """
        if state.to_deal:
            return self.board
        if state.player < 0:
            board = None if state.folded else state.board
            return Payoff(float(min(state.paid)), (board, (1, 1), state.folded))
        paid, opponent_paid = state.paid[state.player], state.paid[1 - state.player]
        remaining, call = self.stack - paid, opponent_paid - paid
        sizes = range(max(1, 2 * call), remaining + 1)
        # With fewer chips than a full raise needs, all-in is the only raise.
        if call < remaining < 2 * call:
            sizes = range(remaining, remaining + 1)
        if state.acted + 1 >= self.cap:
            sizes = range(0)
        first = (FOLD, CALL) if call else (CALL,)
        return Decision(state.player, None, (*first, *map(str, sizes)))

    def next(self, state: NoLimitLeducState, action: str) -> NoLimitLeducState:
        """Return the state after an action, or after the card ``action`` is dealt to the board."""
        if state.to_deal:
            return self._new_round(self.cards.index(action), state.paid)
        player, acted = state.player, state.acted + 1
        if action == FOLD:
            return state._replace(player=-1, folded=frozenset({player}), acted=acted)
        paid = list(state.paid)
        if action != CALL:
            paid[player] += int(action)
            return state._replace(player=1 - player, paid=(paid[0], paid[1]), acted=acted)
        paid[player] = paid[1 - player]
        matched = (paid[0], paid[1])
        # The first action of a round is a check here, since there was no bet to call.
        if acted == 1:
            return state._replace(player=1 - player, acted=acted)
        if state.board is None:
            return NoLimitLeducState(None, True, -1, matched, frozenset(), 0)
        return state._replace(player=-1, paid=matched, acted=acted)
