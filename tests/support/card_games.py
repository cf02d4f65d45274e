"""Small games of cards: Leduc, decks of up to twelve cards, random betting."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np

from tensorcfr.rules import CardGame, Deal, Decision, Fold, Showdown, SidePots

ONE_BY_ONE = (1, 1, 1, 1)
"""Cards that are dealt at once."""
RIVER_OF_THREE: dict[str, Any] = {
    "board": "Td9d6hQc2s",
    "pot": 60,
    "stacks": (100, 200, 150),
    "bets": "60%",
    "raises": "a",
}
"""Options of a spot of three players; tests add their ranges."""
NARROW_OF_FIVE = (
    "AsAh4s5h2h,KsKhJs8h7h,JcTh8h7s2c:0.5,9s9c8s8c4c",
    "AcAd4d5c2d,QsQh2s3h4h,Jh8d7d6s3s,KcKd3c3h7c,9h8c7c2d5d",
)
"""Ranges of few hands of five cards, for the board Td9d6hQcTs."""


class LeducOfCards(CardGame):
    """Leduc hold'em, written again from its rules; labels are not those of the built-in game."""

    def __init__(self) -> None:
        self.cards = ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
        self.hands = [np.arange(6)[:, None]] * 2
        self.weights = [np.ones(6)] * 2

    def root(self) -> tuple[str, str]:
        return "", ""

    def node(self, state: tuple[str, str]) -> Decision | Deal | Fold | Showdown:
        first, second = state
        over = [self._over(line) for line in state]
        if not over[0]:
            return self._decision(first)
        if first.endswith("f"):
            return self._fold(self._paid(first, 2, (1, 1)), first)
        if not over[1] and second == "":
            return Deal()
        line = second.removeprefix("|")
        if not over[1]:
            return self._decision(line)
        paid = self._paid(line, 4, self._paid(first, 2, (1, 1)))
        if line.endswith("f"):
            return self._fold(paid, line)
        won = float(paid[0])
        return Showdown((won, -won), (0.0, 0.0), (-won, won))

    def next(self, state: tuple[str, str], action: str | None) -> tuple[str, str]:
        first, second = state
        if action is None:
            return first, "|"
        if second:
            return first, second + action[0]
        return first + action[0], second

    @staticmethod
    def _over(line: str) -> bool:
        line = line.removeprefix("|")
        return line.endswith("f") or (len(line) > 1 and line.endswith("c"))

    @staticmethod
    def _decision(line: str) -> Decision:
        actions = ["call"]
        if line.endswith("r"):
            actions.insert(0, "fold")
        if line.count("r") < 2:
            actions.append("raise")
        return Decision(len(line) % 2, None, tuple(actions))

    @staticmethod
    def _paid(line: str, bet: int, paid: tuple[int, int]) -> tuple[int, int]:
        chips = list(paid)
        for at, action in enumerate(line):
            if action in "cr":
                chips[at % 2] = max(chips) + (bet if action == "r" else 0)
        return chips[0], chips[1]

    @staticmethod
    def _fold(paid: tuple[int, int], line: str) -> Fold:
        loser = (len(line) - 1) % 2
        lost = float(paid[loser])
        return Fold((-lost, lost) if loser == 0 else (lost, -lost))

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        rank = hands[:, 0] // 2
        return rank + 10 * (rank == board[0] // 2)


class RandomCards(CardGame):
    """Random betting on up to twelve cards: rounds, trees, amounts, weights and strengths.

    Args:
        seed: What the dice say.
        cards: Cards of the deck.
        width: Cards in a hand.
        rounds: How often cards are dealt, at most.
        public: Cards that lie on the board from the start.
        dead: Cards that are in no hand and never come.
        deals: How many cards are dealt at once, time after time.
        zero_sum: Whether one player gets what the other one pays.
        even: Share of the showdowns that pay for a win what a loss costs.
        varies: Whether every board makes hands more or less likely.
    """

    def __init__(
        self,
        seed: int,
        *,
        cards: int = 8,
        width: int = 2,
        rounds: int = 1,
        public: int = 1,
        dead: int = 0,
        deals: tuple[int, ...] = ONE_BY_ONE,
        zero_sum: bool = False,
        even: float = 0.0,
        varies: bool = False,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.seed, self.rounds, self.zero_sum, self.even = seed, rounds, zero_sum, even
        self.weights_vary = varies
        self.deals = deals
        self.cards = [f"{chr(ord('a') + card)}." for card in range(cards)]
        out = rng.choice(cards, public + dead, replace=False).tolist()
        self.board, self.dead = tuple(out[:public]), tuple(out[public:])
        free = [card for card in range(cards) if card not in out]
        every = np.array(list(combinations(free, width)), dtype=np.int64)
        self.hands, self.weights = [], []
        for _ in range(2):
            count = int(rng.integers(max(1, len(every) // 2), len(every) + 1))
            own = rng.permutation(len(every))[:count]
            hands = every[own]
            self.hands.append(np.where(rng.random((count, 1)) < 0.5, hands, hands[:, ::-1]))
            self.weights.append(rng.random(count) + 0.1)

    @property
    def name(self) -> str:
        return f"random cards {self.seed}"

    def weights_on(self, player: int, board: tuple[int, ...]) -> np.ndarray:
        own = self.weights[player]
        if not self.weights_vary:
            return own
        rng = np.random.default_rng([self.seed, player, *sorted(board)])
        return own * (0.5 + rng.random(len(own)))

    def root(self) -> tuple[str, ...]:
        return ()

    def node(self, state: tuple[str, ...]) -> Decision | Deal | Fold | Showdown:
        rng = np.random.default_rng([self.seed, *(ord(step[0]) for step in state), 7])
        dealt = state.count("|")
        since = len(state) - (max((k for k, s in enumerate(state) if s == "|"), default=-1) + 1)
        acts = max(0.0, 0.95 - 0.3 * since) if len(state) else 0.8
        if rng.random() < acts:
            actions = int(rng.integers(1, 4))
            return Decision(int(rng.integers(2)), None, tuple("xyz"[:actions]))
        if dealt < self.rounds and rng.random() < 0.75:
            return Deal(self.deals[dealt])
        pays = rng.normal(size=(3, 2))
        if self.zero_sum:
            pays[:, 1] = -pays[:, 0]
        if rng.random() < 0.3:
            return Fold(tuple(pays[0].tolist()))
        if self.seed % 2:
            pays[1] = 0.0
        if rng.random() < 0.2:
            pays[2] = pays[0]
        if rng.random() < self.even:
            pays[2] = -pays[0]
        return Showdown(*(tuple(row.tolist()) for row in pays))

    def next(self, state: tuple[str, ...], action: str | None) -> tuple[str, ...]:
        return (*state, "|" if action is None else action)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng([self.seed, *sorted(board)])
        # Ties that pay nothing make exact ties between actions, which rounding decides.
        rank = rng.integers(0, 10**9 if self.seed % 2 else 5, len(self.cards))
        found: np.ndarray = rank[hands].sum(axis=1)
        return found


class RandomSuits(RandomCards):
    """Random betting with cards that have ranks and suits; some suits are alike.

    Args:
        seed: What the dice say.
        ranks: Ranks of the deck.
        suits: Suits of the deck.
        width: Cards in a hand.
        rounds: How often cards are dealt, at most.
        public: The cards that lie on the board from the start.
        alone: Whether the hands of the first suit have other weights.
        deals: How many cards are dealt at once, time after time.
    """

    def __init__(
        self,
        seed: int,
        *,
        ranks: int,
        suits: int,
        width: int,
        rounds: int,
        public: tuple[int, ...] = (),
        alone: bool = False,
        deals: tuple[int, ...] = ONE_BY_ONE,
    ) -> None:
        cards = ranks * suits
        super().__init__(
            seed, cards=cards, width=width, rounds=rounds, public=0, deals=deals, zero_sum=True
        )
        self.ranks, self.suits, self.board = ranks, suits, public
        free = [card for card in range(ranks * suits) if card not in public]
        rng = np.random.default_rng([seed, 3])
        hands = rng.permutation(np.array(list(combinations(free, width)), dtype=np.int64))
        weight = rng.random((2, ranks, ranks, 2, 2)) + 0.1
        self.hands = [hands, hands]
        self.weights = []
        for own in weight:
            rank, suit = np.sort(hands // suits, axis=1), hands % suits
            suited = (suit[:, 0] == suit[:, -1]).astype(int)
            first = (suit == 0).any(axis=1).astype(int) if alone else 0 * suited
            self.weights.append(own[rank[:, 0], rank[:, -1], suited, first])

    def symmetries(self) -> np.ndarray:
        cards = np.arange(len(self.cards))
        orders = np.array(list(permutations(range(self.suits))))
        return np.array(
            [cards // self.suits * self.suits + one[cards % self.suits] for one in orders]
        )

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        """A number for the ranks, and for how many cards are of one suit."""
        seven = np.column_stack([np.tile(board, (len(hands), 1)).astype(int), hands])
        rank = np.sort(seven // self.suits, axis=1)
        code = rank @ (self.ranks ** np.arange(seven.shape[1]))
        most = np.max([(seven % self.suits == s).sum(axis=1) for s in range(self.suits)], axis=0)
        table = np.random.default_rng([self.seed, 5]).integers(0, 10**6, 10**5)
        found: np.ndarray = table[(code * 7 + most) % len(table)]
        return found


class EveryRound(RandomSuits):
    """Cards with suits that are alike, and small betting with a fold and a showdown in each round.

    In each round player 0 passes or shows, and player 1 passes or folds.  Payoffs are random.

    Args:
        seed: What the dice say.
        ranks: Ranks of the deck.
        suits: Suits of the deck.
        width: Cards in a hand.
        rounds: How often cards are dealt.
        public: The cards that lie on the board from the start.
        apart: The players to whose weights the first suit is not like the others.
        least: The lowest rank that each player holds.
        deals: How many cards are dealt at once, time after time.
    """

    def __init__(
        self,
        seed: int,
        *,
        ranks: int,
        suits: int,
        width: int,
        rounds: int,
        public: tuple[int, ...] = (),
        apart: tuple[int, ...] = (),
        least: tuple[int, int] = (0, 0),
        deals: tuple[int, ...] = ONE_BY_ONE,
    ) -> None:
        deck = {"ranks": ranks, "suits": suits, "width": width, "public": public}
        super().__init__(seed, rounds=rounds, deals=deals, **deck)
        for player, rank in enumerate(least):
            held = (self.hands[player] // suits >= rank).all(axis=1)
            self.hands[player] = self.hands[player][held]
            self.weights[player] = self.weights[player][held]
        for player in apart:
            first = (self.hands[player] % suits == 0).any(axis=1)
            self.weights[player] = np.where(first, 2.0, 1.0) * self.weights[player]

    def node(self, state: tuple[str, ...]) -> Decision | Deal | Fold | Showdown:
        rng = np.random.default_rng([self.seed, 11, *(ord(step[0]) for step in state)])
        dealt = state.count("|")
        here = "".join(step[0] for step in state).rpartition("|")[2]
        if not here:
            return Decision(0, None, ("pass", "show"))
        if here == "p":
            return Decision(1, None, ("pass", "fold"))
        if here == "pp" and dealt < self.rounds:
            return Deal(self.deals[dealt])
        won, tied, lost = rng.normal(size=3).tolist()
        if here == "pf":
            return Fold((won, -won))
        return Showdown((won, -won), (tied, -tied), (lost, -lost))


class ThreeRandom(RandomCards):
    """Random betting of three players on up to twelve cards, with side pots.

    The arguments are those of :class:`RandomCards`, and ``suits``: the number of suits, which are
    alike, of the deck; None for cards that all differ.
    """

    n_players = 3

    def __init__(self, seed: int, *, suits: int | None = None, **shape: Any) -> None:
        super().__init__(seed, **shape)
        self.suits = suits
        rng = np.random.default_rng([seed, 17])
        free = [card for card in range(len(self.cards)) if card not in (*self.board, *self.dead)]
        width = self.hands[0].shape[1]
        every = np.array(list(combinations(free, width)), dtype=np.int64)
        self.hands = [every] * 3 if suits else [*self.hands, rng.permutation(every)[:4]]
        self.weights = [rng.random(len(hands)) + 0.1 for hands in self.hands]
        if suits:
            # The weight depends on ranks only.
            per_rank = rng.random((3, len(self.cards) // suits)) + 0.1
            self.weights = [of_rank[every // suits].prod(axis=1) for of_rank in per_rank]

    def node(self, state: tuple[str, ...]) -> Any:
        rng = np.random.default_rng([self.seed, *(ord(step[0]) for step in state), 23])
        node = super().node(state)
        if isinstance(node, Decision):
            return node._replace(player=int(rng.integers(3)))
        if isinstance(node, Deal):
            return node
        paid = rng.random(3)
        if isinstance(node, Fold):
            return Fold(tuple((np.eye(3)[rng.integers(3)] - paid).tolist()))
        short, *deep = rng.permutation(3).tolist()
        return SidePots(
            (
                (float(rng.random()), (0, 1, 2)),
                (float(rng.random()), tuple(deep)),
                (float(rng.random()), (short,)),
            )[int(rng.integers(2)) :],
            tuple(paid.tolist()),
        )

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        if not self.suits:
            return super().strength(board, hands)
        rng = np.random.default_rng([self.seed, 5])
        ranks = np.column_stack([np.tile(board, (len(hands), 1)).astype(int), hands]) // self.suits
        pairs = (ranks[:, -1] == ranks[:, 0]) * 5
        found: np.ndarray = rng.integers(0, 6, len(self.cards))[ranks[:, -hands.shape[1] :]].sum(
            axis=1
        )
        return found + pairs

    def symmetries(self) -> np.ndarray:
        cards = np.arange(len(self.cards))
        if not self.suits:
            return cards[None]
        orders = np.array(list(permutations(range(self.suits))))
        return np.array(
            [cards // self.suits * self.suits + one[cards % self.suits] for one in orders]
        )


class LimitOfThree(CardGame):
    """Limit poker of three players, from the rules of Kuhn and Leduc poker.

    Each player pays an ante of 1.  Player 0 begins every round.  A fold needs a bet; a round ends
    when all players have called.

    Args:
        cards: Cards of the deck; cards of one rank are adjacent.
        suits: Cards of each rank.
        bets: Chips of a bet and of a raise, by round.
        raises: Largest number of bets and raises in a round.
    """

    n_players = 3

    def __init__(self, cards: int, suits: int, bets: tuple[int, ...], raises: int) -> None:
        self.suits, self.bets, self.raises = suits, bets, raises
        self.cards = [f"{'23456789'[card // suits]}{'shdc'[card % suits]}" for card in range(cards)]
        self.hands = [np.arange(cards)[:, None]] * 3
        self.weights = [np.ones(cards)] * 3

    def root(self) -> tuple[str, ...]:
        return ("",)

    def _replayed(self, rounds: tuple[str, ...]) -> tuple[list[int], list[int], int | None]:
        """Return the chips paid, the players who have not folded, and the player who acts."""
        paid, left, to_act = [1, 1, 1], [0, 1, 2], 0
        for number, line in enumerate(rounds):
            queue, level = list(left), max(paid)
            for action in line:
                player = queue.pop(0)
                if action == "f":
                    left.remove(player)
                elif action == "r":
                    level += self.bets[number]
                    after = left[left.index(player) + 1 :] + left[: left.index(player)]
                    queue = after
                if action != "f":
                    paid[player] = level
            to_act = queue[0] if queue and len(left) > 1 else None
        return paid, left, to_act

    def node(self, state: tuple[str, ...]) -> Decision | Deal | Fold | SidePots:
        paid, left, player = self._replayed(state)
        if player is not None:
            actions = ["call"]
            if paid[player] < max(paid):
                actions.insert(0, "fold")
            if state[-1].count("r") < self.raises:
                actions.append("raise")
            return Decision(player, None, tuple(actions))
        if len(left) > 1 and len(state) < len(self.bets):
            return Deal()
        spent = tuple(map(float, paid))
        if len(left) > 1:
            return SidePots(((sum(spent), tuple(left)),), spent)
        return Fold(tuple(sum(spent) * (p == left[0]) - spent[p] for p in range(3)))

    def next(self, state: tuple[str, ...], action: str | None) -> tuple[str, ...]:
        return (*state, "") if action is None else (*state[:-1], state[-1] + action[0])

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        rank = hands[:, 0] // self.suits
        return rank + (10 * (rank == board[0] // self.suits) if board else 0)


def kuhn_of_three() -> LimitOfThree:
    """Kuhn poker of three players."""
    return LimitOfThree(cards=4, suits=1, bets=(1,), raises=1)


def leduc_of_three() -> LimitOfThree:
    """Leduc poker of three players."""
    return LimitOfThree(cards=8, suits=2, bets=(2, 4), raises=2)


class _Twice:
    """Two rankings from one: strengths modulo 4 and modulo 3, so that hands tie in either, both
    or none; or the same ranking twice.  It comes before the class of the game."""

    rankings = 2
    moduli: tuple[int, int] = (4, 3)

    def strength(self, board: tuple[int, ...], hands: np.ndarray) -> np.ndarray:
        one = super().strength(board, hands)  # type: ignore[misc]
        return np.stack([one % modulus for modulus in self.moduli])


class TwoRankings(_Twice, RandomCards):
    """Random cards whose pots two rankings share."""


class TwoRankingsOfSuits(_Twice, EveryRound):
    """Cards with suits that are alike, whose pots two rankings share."""


class TwoRankingsOfThree(_Twice, ThreeRandom):
    """Three players whose pots two rankings share."""
