"""Kuhn poker, for any deck and two players or more, and one-card poker."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from .._util.argument_checks import Whole, checked
from ..rules import Decision, Payoff, PublicTreeGame
from .small_poker import MAX_CARDS, MAX_PLAYERS, deal_without_replacement, rank_names, share_pot


class KuhnPoker(PublicTreeGame):
    """Kuhn poker: every player antes 1 and holds one card; one bet of 1 may be made.

    In turn each player passes or bets.  After a bet the others, once each, match it ("bet")
    or fold ("pass"); if nobody bets, all show.  The highest card among those still in takes
    the pot.

    Args:
        cards: Size of the deck, with one card of each rank; by default ``players + 1``.
        players: Number of players, 2 to 10; the table of deals has ``cards ** players`` entries.

    Infoset labels are the card and the betting so far: ``"K"``, ``"Qpb"``.

    The defaults equal OpenSpiel's ``kuhn_poker``; with more players, its
    ``kuhn_poker(players=3)`` and so on.  Value of the two-player game with three cards: -1/18 for
    player 0.

    Source: H. W. Kuhn, "A simplified two-person poker", 1950; three players: N. Abou Risk and
    D. Szafron, "Using counterfactual regret minimization to create competitive multiplayer
    poker agents", AAMAS 2010.
    """

    @checked("kuhn")
    def __init__(
        self,
        *,
        cards: Annotated[int | None, Whole(2, MAX_CARDS)] = None,
        players: Annotated[int, Whole(2, MAX_PLAYERS)] = 2,
    ) -> None:
        cards = players + 1 if cards is None else cards
        if cards < players:
            raise ValueError(f"kuhn: cards must be at least players = {players}, not {cards!r}")
        self.n_players = players
        self.hands = [rank_names(cards)] * players
        self.prior = deal_without_replacement(cards, players)

    def node(self, betting: tuple[str, ...]) -> Decision | Payoff:
        """Return the decision or payoff after a betting line.

        Every player acts once until there is a bet; every other player acts once after the bet.
        """
        players = self.n_players
        first_bet = betting.index("bet") if "bet" in betting else None
        if len(betting) == (players if first_bet is None else first_bet + players):
            # A player stays if their first action or their answer to the bet was "bet".
            stays = tuple(
                first_bet is None or "bet" in betting[player::players] for player in range(players)
            )
            return Payoff(1.0, (stays, 1 if first_bet is None else 2))
        label = "".join(action[0] for action in betting)
        return Decision(len(betting) % players, label, ("pass", "bet"))

    def matrix(self, key: tuple[tuple[bool, ...], int]) -> np.ndarray:
        """Compute the payoffs of a showdown.

        Args:
            key: True for each player who stays, and the chips that each of them has put in; players
                who folded have put in 1.

        Returns:
            float64 (players, cards, cards, ...): chips won by each player in each deal.
        """
        stays, paid = key
        contributions = tuple(paid if stay else 1 for stay in stays)
        folded = frozenset(player for player, stay in enumerate(stays) if not stay)
        return share_pot(np.indices(self.prior.shape), contributions, folded)


class OneCardPoker(KuhnPoker):
    """One-card poker: two players, a 13-card deck, ante 1, one bet of 1.

    The betting is that of :class:`KuhnPoker`; only the deck is larger.

    Args:
        cards: Size of the deck.

    Source: G. J. Gordon, "One-card poker", Carnegie Mellon University (web page, 2005);
    the game of D. Koller and A. Pfeffer, "Representations and solutions for game-theoretic
    problems", 1997, in which the deck size is the parameter.
    """

    @checked("one_card_poker")
    def __init__(self, *, cards: Annotated[int, Whole(2, MAX_CARDS)] = 13) -> None:
        super().__init__(cards=cards)
