"""No-limit Leduc hold'em: the cards of Leduc, any bet up to the stack."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .._util.arguments import Whole, checked
from ..rules import Chance, Decision, Payoff
from .cards import MOST_CARDS, SUITS
from .leduc import LeducCards

FOLD, CALL = "f", "c"


class Table(NamedTuple):
    """The public state: the chips in the pot, however they got there."""

    board: int | None
    to_deal: bool
    """Whether the board card comes next."""
    player: int
    """Who acts; -1 when the game is over."""
    paid: tuple[int, int]
    """Chips of each player in the pot, antes included."""
    folded: frozenset[int]
    acted: int
    """Actions taken in this round."""


class NoLimitLeduc(LeducCards):
    """No-limit Leduc: two rounds, one private card each, one board card, any whole bet.

    Every player antes and gets one card; a round of betting; one board card; a second round.  In
    each round player 0 acts first.  A player who faces no bet checks or bets any whole number of
    chips up to the stack; a player who faces one folds, calls, or raises: puts in at least twice
    the amount to call, or the rest of the stack.  The last action that the cap allows in a round
    can only be a fold or a call.  After a bet of the whole stack that is called in the first
    round, the board is dealt and the cards are shown.  A card that pairs the board beats any
    other, otherwise the higher rank wins, and equals share the pot.

    Args:
        ranks: Number of ranks in the deck.
        suits: Number of suits, up to 4.
        stack: Chips of each player, the ante included.
        ante: Chips that each player puts in before the deal.
        cap: Actions in a round, at most.

    Infoset labels are the card and the public steps, each after a space: ``c`` for check or
    call, ``f`` for fold, the number of chips put in for a bet or raise, the board card:
    ``"Js"``, ``"Js 3 9 c Qh c 4"``.

    The defaults are the game of the poker tutorial: without the board 493 public decision nodes
    in the first round, 27,059 in the second, and 53,609 terminals.

    Source: the cards are those of F. Southey et al., "Bayes' bluff: opponent modelling in poker",
    UAI 2005; the betting is the tutorial's.
    """

    states_repeat = True

    @checked("nl_leduc")
    def __init__(
        self,
        *,
        ranks: Annotated[int, Whole(1, MOST_CARDS // len(SUITS))] = 3,
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

    def root(self) -> Table:
        """The ante is in, player 0 acts."""
        return self._new_round(None, (self.ante, self.ante))

    def _new_round(self, board: int | None, paid: tuple[int, int]) -> Table:
        """Player 0 opens; nobody does if all chips are in."""
        over = paid[0] == self.stack
        return Table(board, over and board is None, -1 if over else 0, paid, frozenset(), 0)

    def node(self, table: Table) -> Decision | Chance | Payoff:
        """Fold and call are always there against a bet; sizes as the stack and the cap allow."""
        if table.to_deal:
            return self.board
        if table.player < 0:
            board = None if table.folded else table.board
            return Payoff(float(min(table.paid)), (board, (1, 1), table.folded))
        own, other = table.paid[table.player], table.paid[1 - table.player]
        left, call = self.stack - own, other - own
        sizes = range(max(1, 2 * call), left + 1)
        if call < left < 2 * call:
            sizes = range(left, left + 1)
        if table.acted + 1 >= self.cap:
            sizes = range(0)
        first = (FOLD, CALL) if call else (CALL,)
        return Decision(table.player, None, (*first, *map(str, sizes)))

    def next(self, table: Table, action: str) -> Table:
        """The table after an action, or after the card ``action`` is dealt to the board."""
        if table.to_deal:
            return self._new_round(self.cards.index(action), table.paid)
        player, acted = table.player, table.acted + 1
        if action == FOLD:
            return table._replace(player=-1, folded=frozenset({player}), acted=acted)
        paid = list(table.paid)
        if action != CALL:
            paid[player] += int(action)
            return table._replace(player=1 - player, paid=(paid[0], paid[1]), acted=acted)
        paid[player] = paid[1 - player]
        settled = (paid[0], paid[1])
        if acted == 1:
            return table._replace(player=1 - player, acted=acted)
        if table.board is None:
            return Table(None, True, -1, settled, frozenset(), 0)
        return table._replace(player=-1, paid=settled, acted=acted)
