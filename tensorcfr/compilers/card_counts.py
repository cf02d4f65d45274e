"""What there is of a game of cards, counted on every board and not laid out."""

from __future__ import annotations

import numpy as np

from ..model.card_boards import Boards
from ..model.card_game import DECISION, BettingTree
from ..model.cut_game import Counts
from ..rules import CardGame
from .card_rules import Weighted, sums_by_card, weight_met, without


def counts_of(rules: CardGame, betting: BettingTree, boards: tuple[Boards, ...]) -> Counts:
    """What there is of the game."""
    ones = [np.ones(len(hands)) for hands in rules.hands]
    first = weight_met(Weighted(rules, ones), 0)
    pairs = int(first.sum())
    free = len(rules.cards) - len(rules.board)
    taken = rules.hands[0].shape[1]
    infosets = [0, 0]
    sequences = decisions = 0
    histories = 1 + int((first > 0).sum())
    public = 0
    for r in range(betting.rounds + 1):
        here = betting.round == r
        acts = here & (betting.kind == DECISION)
        public += int(here.sum()) * len(boards[r].cards)
        dealt = int(np.prod([free - 2 * taken - k for k in range(r)], dtype=np.int64))
        histories += int(here.sum()) * pairs * dealt
        decisions += int(acts.sum()) * pairs * dealt
        for player in range(2):
            mine = acts & (betting.player == player)
            if mine.any():
                hands = _possible(rules, boards[r].cards, player)
                infosets[player] += int(mine.sum()) * hands
                sequences += int(betting.children[mine].sum()) * hands
    return Counts(
        player_infosets=(infosets[0], infosets[1]),
        sequences=sequences + 2,
        histories=histories,
        decision_nodes=decisions,
        public_nodes=public,
    )


def _possible(rules: CardGame, boards: np.ndarray, player: int) -> int:
    """How many pairs of a board of a round and a hand of a player there are, where the other
    player has a hand that goes with them."""
    hands, r = rules.hands, boards.shape[1]
    met = weight_met(Weighted(rules, [np.ones(len(own)) for own in rules.hands]), player)
    ones = np.ones(len(rules.hands[1 - player]))
    if met.min(initial=np.inf) > r * sums_by_card(rules, 1 - player, ones).max():
        # Cards on the board cannot take all hands from the other player.
        free = len(rules.cards) - len(rules.board) - hands[0].shape[1]
        return len(met) * int(np.prod([free - k for k in range(r)], dtype=np.int64))
    found = 0
    for dealt in boards:
        live = [without(own, dealt).astype(np.float64) for own in hands]
        found += int(((weight_met(Weighted(rules, live), player) > 0) & (live[player] > 0)).sum())
    return found
