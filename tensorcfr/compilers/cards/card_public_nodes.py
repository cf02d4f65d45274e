"""Public nodes of a card game in chunks: betting x boards."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from ...errors import suggest
from ...model.arrays import CHANCE, TERMINAL
from ...model.card_structure import (
    DEAL,
    DECISION,
    FOLD,
    RUNOUT,
    BettingTree,
    RoundBoards,
    Symmetry,
    orders_of,
)
from ...model.compiled_game import CompiledGame
from ...model.public_nodes import (
    START,
    TRUNK,
    Edge,
    FoundInfoset,
    NodeLayout,
    PublicNodes,
    steps_of,
)
from ...payoff.three_hands import CONSTANT, FIRST
from ...rules import CardGame, Chips, Runout, SidePots
from ..derived_rules import forwards
from .card_sums import (
    Dealing,
    HandSets,
    cards_label,
    compared,
    opponent_weight,
    outer,
    read_deal,
    shares_of_runouts,
    side_pot_payoffs,
    without,
)
from .flat_cards import Deals, HandByHand
from .three_hand_payoffs import HandsOnBoards, amounts_by_order, amounts_of, are_pots
from .triple_payoffs import ALL_TIE, runout_payoffs

BOARDS_KEPT = 16
"""Number of cached masks of possible hands, one per board and player.  Queries visit all lines of
one board together."""
ANY_CARD = ALL_HANDS = "*"
"""Wildcard: any card that can be dealt, or all hands of the player at the start of a label."""


@forwards("player_names", "unit_name", "defaults", "caveat")
@dataclass(frozen=True, eq=False)
class CardNodes(PublicNodes):
    """Public nodes of a card game.  Node ``n`` of the betting on board ``b`` of its round has
    number ``b * nodes + n``."""

    name_of_game: str
    """Name of the game in error messages."""
    rules: CardGame
    betting: BettingTree
    """Betting tree, which is the same on every board."""
    boards: tuple[RoundBoards, ...]
    """Boards of each round."""
    symmetry: Symmetry
    """Boards that are solved, and the classes of equivalent hands on them."""
    dealing: Dealing
    """Probabilities of hands and boards."""
    board_begin: list[list[np.ndarray]]
    """int64 (boards + 1,) for each player and round: offset of the classes of hands on each solved
    board."""
    node_place: np.ndarray
    """int64 (kinds, nodes, 2): position of each decision, for every kind of board.  The first
    column is its group of lines, or -1 in the trunk.  The second column is the sequence of its
    first class of hands on the first board, relative to the chunk's first sequence in a chunk."""
    node_stride: np.ndarray
    """int64 (kinds, nodes): distance between the sequences of consecutive actions."""
    chunks: Mapping[int, np.ndarray]
    """int64 (solved boards, groups of lines) for each round in chunks: the chunk of each board and
    group."""
    chunk_sequence_offset: np.ndarray
    """int64 (chunks,): :attr:`ChunkedForm.sequence_offset`."""
    is_of_cards = True

    @cached_property
    def hands(self) -> tuple[tuple[str, ...], ...]:  # type: ignore[override]
        """Labels of each player's hands."""
        return tuple(
            tuple(
                self.rules.hand_label(player, hand) for hand in range(len(self.rules.hands[player]))
            )
            for player in range(self.rules.n_players)
        )

    @classmethod
    def of(cls, game: CompiledGame) -> CardNodes:
        """Return the public nodes of a card game.

        Raises:
            TypeError: The game is not a card game.
        """
        if not isinstance(game.nodes, CardNodes):
            raise TypeError(f"{game.name} is not a card game")
        return game.nodes

    @classmethod
    def of_two(cls, game: CompiledGame) -> CardNodes:
        """Return the public nodes of a card game of two players.

        Raises:
            TypeError: The game is not a card game.
            ValueError: The game has more players.
        """
        nodes = cls.of(game)
        if game.n_players != 2:
            raise ValueError(f"{game.name} has {game.n_players} players; this needs two")
        return nodes

    # ---------------------------------------------------------------------------- hand by hand

    @cached_property
    def _by_hand(self) -> HandByHand:
        """Rules with arrays of hands x hands; passes of a solver do not need them."""
        return HandByHand(self.rules)

    def deal_probability(self, node: int) -> np.ndarray:  # noqa: D102
        if self._hides_board(node):
            return self._by_hand.prior
        board = self.cards(node)
        weights = [
            self.rules.weights_on(p, board) * self.free(node, p)
            for p in range(self.rules.n_players)
        ]
        return outer(weights) * self._pairs(node) * self.share(node)

    def chances(self, node: int) -> list[np.ndarray]:  # noqa: D102
        betting_node, _ = self.at(node)
        count = self.betting.deals[int(self.betting.round[betting_node])]
        cards = self._by_hand.cards(self.deals(node), count)
        return [cards[step.label] for step in self.children(node)]

    def outcomes(self, node: int, hands: np.ndarray) -> np.ndarray:
        """Return the probability of each outcome for given pairs of hands, float64 (pairs,
        outcomes).

        All cards that neither player holds are equally likely, or dealt by weight if weights vary
        by board.  No array of hands x hands is made.
        """
        before = len(self.cards(node))
        dealt = np.array([self.cards(step.node)[before:] for step in self.children(node)])
        is_held = np.zeros((len(hands), len(self.rules.cards)), dtype=bool)
        for player, player_hands in enumerate(hands.T):
            np.put_along_axis(is_held, self.rules.hands[player][player_hands], True, axis=1)
        free = ~is_held[:, dealt].any(axis=2)
        likelihood = free.astype(np.float64)
        if self.rules.weights_vary:
            for player, player_hands in enumerate(hands.T):
                on_boards = [
                    self.rules.weights_on(player, self.cards(step.node))[player_hands]
                    for step in self.children(node)
                ]
                likelihood *= np.where(free, np.stack(on_boards, axis=1), 0.0)
        probabilities: np.ndarray = likelihood / likelihood.sum(axis=1, keepdims=True)
        return probabilities

    def payoff(self, node: int) -> tuple[float, Hashable]:  # noqa: D102
        betting_node, _ = self.at(node)
        rows = tuple(map(tuple, self.betting.amounts[betting_node].tolist()))
        if self.betting.kind[betting_node] == RUNOUT and self.rules.n_players > 2:
            return 1.0, (*rows, self.deals(node), int(self.betting.runs[betting_node]))
        if self.betting.kind[betting_node] == RUNOUT:
            win, tie, lose = rows
            return 1.0, Runout(win, tie, lose, int(self.betting.runs[betting_node]))
        if self.betting.kind[betting_node] == FOLD and not self.rules.weights_vary:
            return 1.0, rows
        return 1.0, (*rows, self.deals(node))

    def matrix(self, key: Any) -> np.ndarray:  # noqa: D102
        return self._by_hand.matrix(key)

    def described(self, node: int) -> str:  # noqa: D102
        cards = " ".join(str(self.rules.cards[card]) for card in self.cards(node))
        words = [f"board {cards}"] if cards else []
        return ", ".join([*words, *self.rules.described(self.state(node))])

    def chips(self, node: int) -> Chips | None:
        """Return the chips at a node, or None if the game shows none."""
        return self.rules.chips(self.state(node))

    def state(self, node: int) -> Any:
        """Return the state of the rules at a node."""
        state = self.rules.root()
        for step in self.path(node):
            actions = getattr(self.rules.node(state), "actions", ())
            action = next((action for action in actions if str(action) == step.label), None)
            state = self.rules.next(state, action)
        return state

    # ------------------------------------------------------------------------------- the tree

    @property
    def has_chance(self) -> bool:  # noqa: D102
        return self.betting.rounds > 0

    @property
    def count(self) -> int:  # noqa: D102
        boards = np.array([len(of_round.parent) for of_round in self.boards])
        return int(boards[self.betting.round].sum())

    def number(self, node: int, board: int) -> int:
        """Return the number of a node of the betting on a board of its round."""
        return board * self.betting.n_nodes + node

    def at(self, number: int) -> tuple[int, int]:
        """Return the node of the betting, and the board of its round.

        Raises:
            ValueError: There is no such node.
        """
        board, node = divmod(number, self.betting.n_nodes)
        if not 0 <= board < len(self.boards[int(self.betting.round[node])].parent):
            raise ValueError(f"there is no public node {number}")
        return node, board

    def wording(self) -> bytes:  # noqa: D102
        return repr((self.betting.step, tuple(map(str, self.rules.cards)))).encode()

    def numbering(self) -> list[Any]:  # noqa: D102
        betting = self.betting._replace(amounts=np.empty(0))
        players = range(self.rules.n_players)
        weights = [self.rules.weights_on(player, self.cards(0)) for player in players]
        places = self.board_begin, self.node_place, self.node_stride
        chunks = list(self.chunks.items()), self.chunk_sequence_offset
        return [betting, weights, self.boards, self.symmetry, *places, *chunks]

    def player(self, node: int) -> int:  # noqa: D102
        betting_node, _ = self.at(node)
        kind = self.betting.kind[betting_node]
        if kind == DECISION:
            return int(self.betting.player[betting_node])
        return CHANCE if kind == DEAL else TERMINAL

    def children(self, node: int) -> list[Edge]:  # noqa: D102
        betting, (betting_node, board) = self.betting, self.at(node)
        begin, count = int(betting.first_child[betting_node]), int(betting.children[betting_node])
        if betting.kind[betting_node] == DECISION:
            after = range(begin, begin + count)
            return [Edge(self.number(child, board), betting.step[child]) for child in after]
        if betting.kind[betting_node] != DEAL:
            return []
        dealt = self.boards[int(betting.round[betting_node]) + 1]
        return [
            Edge(self.number(begin, after), cards_label(self.rules, dealt.last[after]))
            for after in np.flatnonzero(dealt.parent == board).tolist()
        ]

    def path(self, node: int) -> list[Edge]:  # noqa: D102
        betting, (betting_node, board) = self.betting, self.at(node)
        steps = []
        while betting_node:
            parent = int(betting.parent[betting_node])
            label, number = betting.step[betting_node], self.number(betting_node, board)
            if betting.kind[parent] == DEAL:
                dealt = self.boards[int(betting.round[betting_node])]
                label = cards_label(self.rules, dealt.last[board])
                board = int(dealt.parent[board])
            steps.append(Edge(number, label))
            betting_node = parent
        return steps[::-1]

    def of_part(self, part: int, *, alike: bool = True) -> Iterator[int]:  # noqa: D102
        betting, where, group = self.betting, dict[int, int](), -1
        for r, numbers in self.chunks.items():
            for board, number in np.argwhere(numbers == part - 1).tolist():
                where[r], group = board, number
        # The group of a decision is the same for all kinds of boards on which it is played.
        in_group = self.node_place[:, :, 0].max(axis=0) == group
        nodes = np.flatnonzero(in_group & (betting.kind == DECISION))
        for r in [*where] if where else np.unique(betting.round[nodes]).tolist():
            round_nodes = nodes[betting.round[nodes] == r].tolist()
            rounds = self.symmetry.rounds[r]
            for solved in [where[r]] if where else range(len(rounds.board)):
                equal_boards = np.flatnonzero(rounds.of_board == solved).tolist()
                for equal_board in equal_boards if alike else equal_boards[:1]:
                    yield from (self.number(node, equal_board) for node in round_nodes)
                if not alike and len(equal_boards) > 1:
                    yield self.number(
                        max(round_nodes, key=betting.children.__getitem__), equal_boards[-1]
                    )

    def seen(self, node: int) -> tuple[tuple[str, ...], tuple[str, ...]]:  # noqa: D102
        return tuple(str(self.rules.cards[card]) for card in self.cards(node)), super().seen(node)[
            1
        ]

    # ----------------------------------------------------------------------------- its infosets

    def layout(self, node: int) -> NodeLayout:  # noqa: D102
        betting, (betting_node, board) = self.betting, self.at(node)
        if betting.kind[betting_node] != DECISION:
            raise ValueError(f"{self.name_of_game}: nobody acts at this public node")
        player, r = int(betting.player[betting_node]), int(betting.round[betting_node])
        boards = self.symmetry.rounds[r]
        solved = int(boards.of_board[board])
        kind = int(boards.played[solved])
        group = int(self.node_place[kind, betting_node, 0])
        return NodeLayout(
            player=player,
            actions=tuple(step.label for step in self.children(node)),
            chunk=int(self.chunks[r][solved, group]) if group >= 0 else TRUNK,
            first=int(self.first_numbers(betting_node, solved)),
            stride=int(self.node_stride[kind, betting_node]),
            lane=self.symmetry.class_of(player, r, board),
            multiplicity=self.symmetry.multiplicity(player, r, board),
        )

    def first_numbers(self, node: int, solved: Any) -> Any:
        """Return the position of the first class of hands at a decision, in the arrays of a policy.

        Args:
            node: The node of the betting.
            solved: A solved board of its round, or int64 (boards,).

        Returns:
            The position on each board.
        """
        player, r = int(self.betting.player[node]), int(self.betting.round[node])
        place = self.node_place[self.symmetry.rounds[r].played[solved], node]
        group, first = place[..., 0], place[..., 1]
        if r not in self.chunks:
            return first + self.board_begin[player][r][solved]
        return first + self.chunk_sequence_offset[self.chunks[r][solved, group]]

    def label(self, node: int) -> str:  # noqa: D102
        return "".join(f" {step.label}" for step in self.path(node))

    def labels(self, node: int, hands: Iterable[int]) -> list[str]:  # noqa: D102
        names, line = self.hands[self.player(node)], self.label(node)
        return [f"{names[hand]}{line}" for hand in hands]

    def cards(self, node: int) -> tuple[int, ...]:
        """Return the cards on the board at a public node."""
        betting_node, board = self.at(node)
        dealt = self.boards[int(self.betting.round[betting_node])].cards[board]
        return (*self.rules.board, *dealt.tolist())

    def deals(self, node: int) -> Deals:
        """Return the cards of each deal on the way to a public node."""
        cards = iter(self.cards(node)[len(self.rules.board) :])
        rounds = int(self.betting.round[self.at(node)[0]])
        return tuple(tuple(islice(cards, count)) for count in self.betting.deals[:rounds])

    def free(self, node: int, player: int) -> np.ndarray:
        """Return whether each hand of a player shares no card with the board, bool (hands,)."""
        return without(self.rules.hands[player], np.array(self.cards(node)))

    def possible(self, node: int, player: int) -> np.ndarray:  # noqa: D102
        betting_node, board = self.at(node)
        key = int(self.betting.round[betting_node]), board, player
        if key not in self._possible:
            if len(self._possible) == BOARDS_KEPT:
                self._possible.clear()
            live = [self.free(node, p).astype(np.float64) for p in range(self.rules.n_players)]
            disjoint = self._disjoint_weight(node, player, live)
            self._possible[key] = disjoint * live[player] > 0
        return self._possible[key]

    @cached_property
    def _possible(self) -> dict[tuple[int, int, int], np.ndarray]:
        """Cache of the possible hands on recent boards, bool (hands,) by round, board and
        player."""
        return {}

    def remaining_weight(  # noqa: D102
        self, node: int, player: int, own_reach: Sequence[np.ndarray]
    ) -> np.ndarray:
        weights = self.rules.weights_on(player, self.cards(node))
        remaining: np.ndarray = weights * own_reach[player] * self.free(node, player)
        return remaining

    def to_deal(self, node: int) -> int:
        """Count the cards that are still to be dealt."""
        return sum(self.betting.deals[int(self.betting.round[self.at(node)[0]]) :])

    def counterfactual_reach(  # noqa: D102
        self, node: int, player: int, own_reach: Sequence[np.ndarray]
    ) -> np.ndarray:
        disjoint = self.opponent_weight(node, player, self.others_left(node, player, own_reach))
        return self.remaining_weight(node, player, self._unit_reach) * disjoint * self.share(node)

    def others_left(
        self, node: int, player: int, own_reaches: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Return :meth:`remaining_weight` for each other player; the own reaches are unchanged."""
        return [
            own_reaches[p] if p == player else self.remaining_weight(node, p, own_reaches)
            for p in range(self.rules.n_players)
        ]

    def opponent_weight(self, node: int, player: int, left: Sequence[np.ndarray]) -> np.ndarray:
        """Sum the weights of the disjoint hands of the other players, for every hand of a player.

        If weights vary by board, each pair of hands is divided by its
        :func:`~tensorcfr.compilers.cards.card_sums.payoff_scale`.  Weights then become
        probabilities of reaching the node.

        Args:
            node: The public node.
            player: The player.
            left: For each player float64 (hands,): the weights; the entry of ``player`` is not
                read.

        Returns:
            float64 (hands,): the sums.
        """
        if self._is_scaled(node):
            pairs = self._pairs(node)
            sums: np.ndarray = (pairs if player == 0 else pairs.T) @ left[1 - player]
            return sums
        return self._disjoint_weight(node, player, left)

    def _disjoint_weight(self, node: int, player: int, left: Sequence[np.ndarray]) -> np.ndarray:
        """Compute :meth:`opponent_weight` by weights, whether or not payoffs are scaled."""
        if self._hides_board(node):
            apart = self.dealing.apart
            sums: np.ndarray = (apart if player == 0 else apart.T) @ left[1 - player]
            return sums
        disjoint = opponent_weight(HandSets(self.rules.cards, self.rules.hands, left), player)
        # If all weight is on hands that share a card with a hand, the difference of sums leaves a
        # rounding error in place of 0.
        total = prod(float(weights.sum()) for p, weights in enumerate(left) if p != player)
        disjoint[disjoint <= 1e-12 * total] = 0.0
        return disjoint

    @cached_property
    def _unit_reach(self) -> list[np.ndarray]:
        """Own reaches of 1."""
        return [np.ones(len(hands)) for hands in self.rules.hands]

    def _is_scaled(self, node: int) -> bool:
        """Return whether payoffs of pairs of hands are scaled at a node: after a deal by weight."""
        return self.rules.weights_vary and np.ndim(self._by_hand.scale(self.deals(node))) > 0

    def _pairs(self, node: int) -> np.ndarray:
        """Return the factor from the weights of hands to the probability of a node, up to
        :meth:`share`; float64 (hands of player 0, hands of player 1, ...)."""
        # Positive entries of `apart` may differ from 1 where boards were drawn before the hands.
        disjoint = (self.dealing.apart > 0.0).astype(np.float64)
        if self._is_scaled(node):
            disjoint /= self._by_hand.scale(self.deals(node))
        return disjoint

    def _hides_board(self, node: int) -> bool:
        """Return whether a board that was drawn before the hands is still face down."""
        return bool(self.dealing.boards) and not self.betting.round[self.at(node)[0]]

    def share(self, node: int) -> float:
        """Return the factor that turns products of hand weights into probabilities at a node."""
        betting_node, board = self.at(node)
        r = int(self.betting.round[betting_node])
        weight = self.dealing.weights(self.boards[r].cards[board : board + 1])
        return self.dealing.share(r) * float(weight[0])

    def payoffs(self, node: int, player: int, own_reach: Sequence[np.ndarray]) -> np.ndarray:  # noqa: D102
        rules, (betting_node, _), opponent = self.rules, self.at(node), 1 - player
        if rules.n_players > 2:
            return self._payoffs_of_three(node, player, own_reach)
        win, tie, lose = self.betting.amounts[betting_node, :: 1 - 2 * player, player].tolist()
        if self.betting.kind[betting_node] == FOLD:
            own_weight = self.remaining_weight(node, player, self._unit_reach)
            left = self.others_left(node, player, own_reach)
            opponent_weight = self._disjoint_weight(node, player, left)
            return win * own_weight * opponent_weight * self.share(node)
        if self.betting.kind[betting_node] == RUNOUT:
            shares = shares_of_runouts(rules, int(self.betting.runs[betting_node]))
            pair_payoffs = np.tensordot(
                self.betting.amounts[betting_node, :, player], shares, axes=(0, 0)
            )
            pair_payoffs *= self.dealing.pairs
            weighted: np.ndarray = (pair_payoffs if player == 0 else pair_payoffs.T) @ own_reach[
                opponent
            ]
            return weighted
        board = self.cards(node)
        left_weight = self.remaining_weight(node, opponent, own_reach)
        beaten, tied, lost = compared(rules, board, player, left_weight)
        per_hand: np.ndarray = rules.weights_on(player, board) * (
            win * beaten + tie * tied + lose * lost
        )
        return per_hand * self.share(node)

    def _payoffs_of_three(
        self, node: int, player: int, own_reach: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return :meth:`payoffs` in a game of three players."""
        betting_node = self.at(node)[0]
        utilities = self.betting.amounts[betting_node]
        if self.betting.kind[betting_node] == RUNOUT:
            cards = int(self.betting.runs[betting_node])
            return self._runout_payoffs(node, player, own_reach, cards, utilities[:, player])
        left = self.others_left(node, player, own_reach)
        weight = self.remaining_weight(node, player, self._unit_reach) * self.share(node)
        amounts = (amounts_of if are_pots(utilities) else amounts_by_order)(utilities)
        if not amounts[player, FIRST:].any():  # The player wins no pot by strength.
            disjoint = self._disjoint_weight(node, player, left)
            return amounts[player, CONSTANT] * weight * disjoint
        return weight * self._hands_on(self.cards(node)).payoffs(player, amounts, left)

    def _runout_payoffs(
        self,
        node: int,
        player: int,
        own_reach: Sequence[np.ndarray],
        cards: int,
        utilities: np.ndarray,
    ) -> np.ndarray:
        """Return a player's payoffs if cards are run out at a node before the first deal.

        The utilities, float64 (orders,), are those of the player for each order of three hands.
        """
        tie = utilities[ALL_TIE] * self.counterfactual_reach(node, player, own_reach)
        payoffs: np.ndarray = tie + runout_payoffs(
            rules=self.rules,
            name=self.name_of_game,
            cards=cards,
            symmetry=self.symmetry,
            dealing=self.dealing,
            utilities=utilities,
            player=player,
            own_reach=own_reach,
        )
        return payoffs

    def runout_equities(
        self, node: int, own_reach: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, ...] | None:
        """Return the equities of three players' hands if all cards are run out at a node.

        Returns:
            For each player float64 (hands,): the share of the pot from 0 to 1. NaN for players who
            have folded, and for hands without opponents. None after the first deal, and in games
            without run-outs.
        """
        cards = int(self.betting.runs.max())
        if self.betting.round[self.at(node)[0]] or not cards:
            return None
        competing, orders = self.competing(node), orders_of(self.rules.n_players)
        nothing = (0.0,) * self.rules.n_players
        pot = SidePots(((1.0, tuple(competing)),), nothing)
        shares = side_pot_payoffs(pot, orders, self.name_of_game)
        equities = []
        for player, hands in enumerate(self.rules.hands):
            equity = np.full(len(hands), np.nan)
            reach = self.counterfactual_reach(node, player, own_reach)
            if player in competing:
                won = self._runout_payoffs(node, player, own_reach, cards, shares[:, player])
                np.divide(won, reach, out=equity, where=reach > 0.0)
            equities.append(equity)
        return tuple(equities)

    def _hands_on(self, board: tuple[int, ...]) -> HandsOnBoards:
        """Return the hands of three players on a whole board."""
        if (hands := self._on_boards.get(board)) is None:
            if len(self._on_boards) >= BOARDS_KEPT:
                self._on_boards.clear()
            hands = self._on_boards[board] = HandsOnBoards(self.rules, [board])
        return hands

    @cached_property
    def _on_boards(self) -> dict[tuple[int, ...], HandsOnBoards]:
        """Cache of the hands of three players on recent boards."""
        return {}

    def competing(self, node: int) -> list[int]:
        """Return the players who can still win a pot by the strength of their hands."""
        return np.flatnonzero(self.betting.competing[self.at(node)[0]]).tolist()

    # ----------------------------------------------------------------------------------- labels

    def find_line(self, line: str | Sequence[str]) -> int:
        """Return the public node of a line such as ``"check bet120 call 7s"``.

        Raises:
            ValueError: There is no such line, or it has a wildcard; the message names the step.
        """
        nodes = self.find_lines(line)
        if len(nodes) > 1:
            raise ValueError(f"line: {ANY_CARD!r} names any card, but one line is needed here")
        return nodes[0]

    def find_node(self, name: str | Sequence[str]) -> int | None:
        """Return the public node of a line, or None if there is none."""
        with suppress(ValueError):
            return self.find_line(name)
        return None

    def find_lines(self, line: str | Sequence[str]) -> list[int]:
        """Return the public nodes of a line that may have ``*`` for any card: ``"check check *"``.

        Raises:
            ValueError: There is no such line; the message names the step.
        """
        nodes, taken = [0], list[str]()
        for step in steps_of(line):
            where = f"after {' '.join(taken)!r}" if taken else "at the start"
            taken.append(str(step))
            betting_node, _ = self.at(nodes[0])
            if self.betting.kind[betting_node] == DEAL:
                # Select boards by array operations: a flop has 22,100 boards, too many to visit one
                # by one.
                boards = self.boards[int(self.betting.round[betting_node]) + 1]
                fit = np.isin(boards.parent, [self.at(node)[1] for node in nodes])
                if step != ANY_CARD:
                    named = read_deal(self.rules, str(step), boards.dealt)
                    fit &= named is not None and (boards.last == named).all(axis=1)
                if not fit.any():
                    raise ValueError(
                        f"line: in {self.name_of_game} {step!r} cannot be dealt {where}"
                    )
                after = int(self.betting.first_child[betting_node])
                nodes = [self.number(after, board) for board in np.flatnonzero(fit).tolist()]
                continue
            steps = [child for node in nodes for child in self.children(node)]
            fits = [child.node for child in steps if child.label == step]
            if not fits:
                labels = list(dict.fromkeys(child.label for child in steps))
                raise ValueError(
                    f"line: {self.name_of_game} has no step {step!r} {where}; "
                    f"{suggest(str(step), labels)}"
                )
            nodes = fits
        return nodes

    def find(self, label: str) -> FoundInfoset | None:
        """Find an infoset by one hand and a line, ``"AsKs check bet66"``.

        The result is None if there is no such infoset, or if the label names several.
        """
        try:
            nodes, named = self._hands_at(label)
        except ValueError:
            return None
        layout = self.layout(nodes[0])
        hands = np.flatnonzero(named & self.free(nodes[0], layout.player))
        if len(nodes) > 1 or len(hands) != 1:
            return None
        return FoundInfoset(_spelled(label), nodes[0], layout, int(hands[0]))

    def lockable(self, label: str) -> tuple[str, tuple[str, ...]]:
        """Return the hands and the line that a label locks, ``"AA-TT,AKs check bet66"``, and the
        actions.

        Raises:
            ValueError: There is no such line, nobody acts after it, or the player cannot have any
                of the hands.
        """
        steps = self.children(self._hands_at(label)[0][0])
        return _spelled(label), tuple(step.label for step in steps)

    def named(self, label: str) -> Iterable[tuple[int, np.ndarray]]:
        """Return all public nodes that a label names, each with the named hands, bool (hands,)."""
        nodes, named = self._hands_at(label)
        return [(node, named) for node in nodes]

    def _hands_at(self, label: str) -> tuple[list[int], np.ndarray]:
        """Return the public nodes and the hands, bool (hands,), that a label names.

        Raises:
            ValueError: There is no such line, nobody acts after it, or the player cannot have any
                of the hands.
        """
        game = self.name_of_game
        if not label.split():
            raise ValueError(f"{game}: a lock names hands and a line, 'AA-TT,AKs check bet66'")
        hands, *line = _words(label)
        nodes = self.find_lines(line)
        player = self.player(nodes[0])
        if player < 0:
            raise ValueError(f"{game}: nobody acts after {' '.join(line)!r}")
        try:
            named = self.rules.named_hands(player, hands)
        except ValueError as error:
            raise ValueError(f"lock of {label!r}: {error}") from None
        if not any((named & self.free(node, player)).any() for node in nodes):
            raise ValueError(f"lock of {label!r}: player {player} cannot have any of these hands")
        return nodes, named


def _words(label: str) -> list[str]:
    """Return the hands of a label, then the steps of its line; ``start`` on its own is all hands at
    the first decision."""
    hands, *line = label.split()
    return [ALL_HANDS if hands == START and not line else hands, *steps_of(line)]


def _spelled(label: str) -> str:
    """Return a label in its stored spelling: words separated by one blank, without ``start``."""
    return " ".join(_words(label))
