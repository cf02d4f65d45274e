"""The payoffs of a game of cards: terminals in groups, and the walks of every board."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.card_game import FOLD, SHOWDOWN, BettingTree, Boards
from ..payoff import PayoffCards
from ..payoff import cards as cards_part
from ..payoff.cards import CARD_BITS, HAND_BITS, LANES
from ..rules import CardGame
from .card_form import CardForm, Last
from .card_rules import deal_weight, same_hands, without


class _Terminals(NamedTuple):
    """Up to :data:`LANES` terminals of the betting, all of one round and kind, which end different
    sequences of both players."""

    kind: int
    nodes: list[int]
    amounts: list[np.ndarray]
    """Per node float64 (players, 3): what a win, a tie and a loss pays."""


class Payoffs:
    """Makes the payoffs of the forms of a game.

    Args:
        rules: The rules.
        betting: The betting.
        boards: The boards of each round.
        last: For each player and node, what the player has done last.
    """

    def __init__(
        self,
        rules: CardGame,
        betting: BettingTree,
        boards: tuple[Boards, ...],
        last: list[list[Last]],
    ) -> None:
        self.rules, self.betting, self.boards, self.last = rules, betting, boards, last
        self.hands = (len(rules.hands[0]), len(rules.hands[1]))
        self.deals = deal_weight(rules)
        self.same = same_hands(rules)
        shows = np.unique(betting.round[betting.kind == SHOWDOWN])
        self.shows = [r in shows for r in range(betting.rounds + 1)]

    def of(
        self, form: CardForm, inside: np.ndarray, walks: list[list[list[np.ndarray]]]
    ) -> PayoffCards:
        """The payoffs of a form.

        Args:
            form: The form.
            inside: Whether each node belongs to it.
            walks: For its rounds, those of all boards; a form on one board has the last round, and
                leaves the walks out.
        """
        rules, alone = self.rules, not form.rooted
        group, sequence, amount = [], [], []
        first_board = np.cumsum([0, *(len(own) for own in walks)])
        for r in range(self.betting.rounds + 1):
            ends = np.flatnonzero(
                inside & (self.betting.kind >= FOLD) & (self.betting.round == r)
            ).tolist()
            terminals = self._grouped(form, ends)
            boards = len(form.prefix[r][r])
            share = self._probability(r) / self.deals
            for kind, nodes, amounts in terminals:
                lanes = [*range(len(nodes)), *[0] * (LANES - len(nodes))]
                rows = np.array(
                    [
                        [form.row_of(player, self.last[player][node], r) for node in nodes]
                        for player in range(2)
                    ]
                )
                first = np.stack([form.sequence(player, rows[player]) for player in range(2)])
                pays = share * np.array(amounts).transpose(1, 2, 0)[:, :, lanes]
                for board in range(boards):
                    group.append((len(nodes), board if alone else first_board[r] + board, kind))
                    sequence.append(first[:, lanes, board])
                    amount.append(pays)
        order = sorted(range(len(group)), key=lambda k: group[k][1])
        places, walk = [], []
        used = 0
        for of_round in walks if not alone else []:
            for pair in of_round:
                places.append((used, used + len(pair[0])))
                used += len(pair[0]) + len(pair[1])
                walk += pair
        weights = [np.asarray(own, dtype=np.float64) for own in rules.weights]
        two = rules.hands[0].shape[1] == 2
        same = [
            own if two else np.full(len(own), self.hands[1 - player])
            for player, own in enumerate(self.same)
        ]
        return PayoffCards(
            sizes=np.array([*self.hands, len(rules.cards)]),
            weight=np.concatenate(weights),
            same=np.concatenate(same).astype(np.uint32),
            board=np.array(places, dtype=np.int64).reshape(-1, 2),
            walk=np.concatenate([np.empty(0, dtype=np.uint32), *walk]),
            group=np.array([group[k] for k in order], dtype=np.int64).reshape(-1, 3),
            sequence=_stacked([sequence[k] for k in order], np.int64, LANES),
            amount=_stacked([amount[k] for k in order], np.float64, 3, LANES),
        )

    def _probability(self, r: int) -> float:
        """The probability of each board of a round, given hands that it leaves out."""
        rules = self.rules
        free = len(rules.cards) - len(rules.board) - 2 * rules.hands[0].shape[1]
        return 1.0 / float(np.prod([free - k for k in range(r)]))

    def _grouped(self, form: CardForm, ends: list[int]) -> list[_Terminals]:
        """Terminals of one round in groups."""
        found: list[_Terminals] = []
        taken: list[list[set[int]]] = []
        for node in ends:
            rows = [
                int(form.row_of(p, self.last[p][node], int(self.betting.round[node]))[0])
                for p in range(2)
            ]
            for kind, pays in _kinds(self.betting.amounts[node]):
                for one, used in zip(found, taken, strict=True):
                    free = len(one.nodes) < LANES and one.kind == kind
                    if free and not any(rows[p] in used[p] for p in range(2)):
                        break
                else:
                    one, used = _Terminals(kind, [], []), [set(), set()]
                    found.append(one)
                    taken.append(used)
                one.nodes.append(node)
                one.amounts.append(pays)
                for p in range(2):
                    used[p].add(rows[p])
        return found

    def walks(self, r: int) -> list[list[np.ndarray]]:
        """For every board of a round, the walks of both players."""
        return [self._walks_on(board, r) for board in self.boards[r].cards]

    def _walks_on(self, dealt: np.ndarray, r: int) -> list[np.ndarray]:
        rules = self.rules
        board = (*rules.board, *dealt.tolist())
        codes, levels = [], []
        for player in range(2):
            live = np.flatnonzero(without(rules.hands[player], dealt))
            strength = np.zeros(len(live), dtype=np.int64)
            if self.shows[r] and len(live):
                strength = np.asarray(rules.strength(board, rules.hands[player][live]))
            order = np.argsort(strength, kind="stable")
            hand = live[order]
            cards = rules.hands[player][hand]
            code = hand | cards[:, 0] << HAND_BITS
            if cards.shape[1] == 2:
                both = code | cards[:, 1] << (HAND_BITS + CARD_BITS)
                codes.append((both, both))
            else:
                none = len(rules.cards)
                shift = HAND_BITS + CARD_BITS
                codes.append((code | none << shift, code | (none + 1) << shift))
            levels.append(strength[order])
        _, place = np.unique(np.concatenate(levels), return_inverse=True)
        count = int(place.max()) + 1 if len(place) else 0
        per_level = [np.bincount(own, minlength=count) for own in np.split(place, [len(levels[0])])]
        found = []
        for player in range(2):
            other = 1 - player
            head = np.array([count, len(levels[player]), len(levels[other])])
            pairs = np.stack([per_level[player], per_level[other]], axis=1).ravel()
            parts = [head, pairs, codes[player][0], codes[other][1]]
            found.append(np.concatenate(parts).astype(np.uint32))
        return found


def _stacked(items: list[np.ndarray], kind: type, *shape: int) -> np.ndarray:
    """Items (2, ...) as an array (2, items, ...)."""
    stacked: np.ndarray = np.array(items, dtype=kind).reshape(len(items), 2, *shape)
    return np.ascontiguousarray(stacked.swapaxes(0, 1))


def _kinds(amounts: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """A terminal as one or two of the kinds that :class:`PayoffCards` takes: each with what a win,
    a tie and a loss pays both players, float64 (players, 3)."""
    pays = np.stack([amounts[:, 0], amounts[::-1, 1]])
    if (pays == pays[:, :1]).all():
        return [(cards_part.FOLD, pays)]
    size = np.abs(pays).max()
    if (np.abs(pays[:, 0] - pays[:, 2]) > 1e-3 * size).all():
        ties = pays[:, 1].any()
        return [(cards_part.TIES_PAY if ties else cards_part.SHOWDOWN, pays)]
    # A win that pays like a loss is the mean of two that do not.
    apart = 2.0 * size * np.array([1.0, 0.0, -1.0])
    return [(cards_part.TIES_PAY, (pays + sign * apart) / 2.0) for sign in (1.0, -1.0)]
