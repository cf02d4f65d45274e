"""Infosets of card games in chunks, in the form that networks take.

A card game may have too many infosets for an array over all of them.  A player's traversals draw
their hands and boards first, and networks are evaluated for the infosets of these deals only.  An
infoset is a number from which its decision, board and hand follow; features are computed when they
are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np

from .._util.limits import INDEX_LIMIT
from ..algorithms import Deep
from ..compilers.cards.card_public_nodes import CardNodes
from ..errors import GameError, MemoryLimitError
from ..kernels.random import Script
from ..kernels.reservoir import Batches, Reservoir, draw_batches
from ..kernels.tree_access import draw_deals
from ..model.card_structure import DECISION
from ..model.compiled_game import CompiledGame
from ..rules import CardGame
from ..solvers.history_sources import NO_ARRAY, CompiledSource
from ..solvers.traversal import card_tree
from .buffers import bytes_of_buffers, filled
from .features import characters, one_hot
from .inputs import MAX_OUTPUTS
from .learners import NetworkLearner, empty_batches, probabilities

MOST_INFOSETS = 2**31 - 1
"""Maximum number of infosets, which samples number by 32 bits."""
PREDICTED = 1 << 14
"""Number of infosets for which a network is evaluated together."""


Play = Callable[[int, np.ndarray], np.ndarray]
"""Function from a player and infosets, int64 (infosets,), to their strategies, float64 (infosets,
most actions)."""


class CardInputs:
    """Infosets of a card game in the form that networks take.

    The features of an infoset encode the player and the actions before the decision; then, for the
    hand and for each deal to the board, the cards and the characters of their labels.  Equivalent
    boards and hands have one infoset.  Its features are those of the solved board and of the first
    hand of the class.

    Args:
        nodes: Public nodes of the card game.

    Raises:
        GameError: The game has too many infosets.
    """

    def __init__(self, nodes: CardNodes) -> None:
        betting, self.nodes = nodes.betting, nodes
        self.decision = np.flatnonzero((betting.kind == DECISION) & (betting.children > 1))
        """int64 (decisions,): nodes of the betting where a player has a choice."""
        self.player = betting.player[self.decision]
        """int8 (decisions,): acting player."""
        self.round = betting.round[self.decision]
        """int64 (decisions,): number of deals before the decision."""
        self.n_actions = betting.children[self.decision]
        """int64 (decisions,): number of actions."""
        places = zip(self.player.tolist(), self.round.tolist(), strict=True)
        sizes = [int(nodes.board_begin[player][r][-1]) for player, r in places]
        self.begin = np.cumsum([0, *sizes])
        """int64 (decisions + 1,): first infoset of each decision, and number of infosets."""
        if self.begin[-1] > MOST_INFOSETS:
            raise GameError(f"{nodes.name_of_game} has too many infosets: {self.begin[-1]:,}")
        self.most_actions = int(self.n_actions.max(initial=1))
        self.is_action = np.arange(self.most_actions) < self.n_actions[:, None]
        """bool (decisions, most actions): True if there is an action at this position."""
        self.output, self.legal = _outputs(nodes, self.decision, self.is_action)
        """int32 (decisions, most actions) and bool (decisions, outputs); see
        :class:`~tensorcfr.deep.inputs.Inputs`."""
        most_hands = max(map(len, nodes.rules.hands))
        self._first_hand = np.zeros((len(nodes.symmetry.played), len(nodes.hands), most_hands), int)
        for kind, of_players in enumerate(nodes.symmetry.played):
            for player, classes in enumerate(of_players):
                self._first_hand[kind, player, : classes.n_classes] = classes.first
        self._of_decision = one_hot([_facts(nodes, node) for node in self.decision.tolist()])
        of_card = _card_features(nodes.rules)
        self._of_hand = [of_card[hands].sum(axis=1) for hands in nodes.rules.hands]
        self._of_board = [_board_features(nodes, of_card, r) for r in range(len(nodes.boards))]
        widths = [table.shape[1] for table in (self._of_decision, of_card, self._of_board[-1])]
        self.width, self.widest = sum(widths), max(widths)
        """Number of features of an infoset, and of those that one table has."""
        tables = [self._first_hand, self._of_decision, *self._of_hand, *self._of_board]
        self.n_bytes = sum(table.nbytes for table in tables)
        """Bytes of the tables from which features are computed."""

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a network."""
        return self.legal.shape[1]

    @property
    def n_infosets(self) -> int:
        """Number of infosets."""
        return int(self.begin[-1])

    def infosets(self, index: int, solved: Any, lane: np.ndarray) -> np.ndarray:
        """Return the infosets of some boards and classes of hands at a decision.

        Args:
            index: Index of the decision.
            solved: The solved board, or int64 (infosets,).
            lane: int64 (infosets,): class of hands.
        """
        begin = self.nodes.board_begin[int(self.player[index])][int(self.round[index])]
        numbers: np.ndarray = self.begin[index] + begin[solved] + lane
        return numbers

    def decisions(self, infosets: np.ndarray) -> np.ndarray:
        """Return the index of the decision of each infoset, int64 (infosets,)."""
        return np.searchsorted(self.begin, infosets, side="right") - 1

    def features(self, infosets: np.ndarray) -> np.ndarray:
        """Compute the features of some infosets, float32 (infosets, width)."""
        index, symmetry = self.decisions(infosets), self.nodes.symmetry
        of_decision, of_hand = self._of_decision.shape[1], self._of_hand[0].shape[1]
        features = np.zeros((len(infosets), self.width), np.float32)
        features[:, :of_decision] = self._of_decision[index]
        inside = infosets - self.begin[index]
        for player, r in {*zip(self.player.tolist(), self.round.tolist(), strict=True)}:
            rows = np.flatnonzero((self.player[index] == player) & (self.round[index] == r))
            begin = self.nodes.board_begin[player][r]
            solved = np.searchsorted(begin, inside[rows], side="right") - 1
            kind = symmetry.rounds[r].played[solved]
            hand = self._first_hand[kind, player, inside[rows] - begin[solved]]
            features[rows, of_decision : of_decision + of_hand] = self._of_hand[player][hand]
            features[rows, of_decision + of_hand :] = self._of_board[r][solved]
        return features


class CardLearner(NetworkLearner):
    """Learner with a network for each player of a card game."""

    span = 50
    inputs: CardInputs  # type: ignore[assignment]

    def _draw(
        self, reservoir: Reservoir, player: int | None, updates: int, generator: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        batch, count = self.algorithm.batch, filled(reservoir)
        infoset = reservoir.infoset[:count]
        number = np.arange(count, dtype=np.int32)
        samples = reservoir._replace(infoset=number)
        output = self.inputs.output[self.inputs.decisions(infoset)]
        batches: Batches = empty_batches(updates, batch, self.inputs.n_outputs)
        draw_batches(samples, number, output, 0, batch, False, self.scale, generator, batches)
        drawn = infoset[batches.row.ravel()]
        rows = np.arange(updates * batch, dtype=np.int32).reshape(updates, batch)
        legal = self.inputs.legal[self.inputs.decisions(drawn)]
        return self.inputs.features(drawn), legal, *batches._replace(row=rows)

    def predict(
        self, reservoir: Reservoir, player: int | None, parameters: np.ndarray
    ) -> np.ndarray:
        """Return nothing, float64 (0, most actions): predictions are made when they are needed."""
        return np.empty((0, self.inputs.most_actions))

    def strategies(self, parameters: np.ndarray, infosets: np.ndarray, unplayed: str) -> np.ndarray:
        """Compute strategies by regret matching from predictions.

        Args:
            parameters: float32 (size,): zeros for uniform strategies.
            infosets: int64 (infosets,).
            unplayed: See :attr:`tensorcfr.algorithms.Deep.unplayed`.

        Returns:
            float64 (infosets, most actions).
        """
        index = self.inputs.decisions(infosets)
        is_action = self.inputs.is_action[index]
        predicted = np.zeros(is_action.shape)
        # Lengths are powers of two, because JAX compiles for each length.
        size = min(PREDICTED, 1 << max(len(infosets) - 1, 0).bit_length())
        for first in range(0, len(infosets) if parameters.any() else 0, size):
            some = np.resize(infosets[first : first + size], size)
            rows = self.inputs.decisions(some)
            arguments = parameters, self.inputs.features(some), self.inputs.legal[rows]
            outputs = self._network.predict(*arguments)
            by_action = np.take_along_axis(outputs, self.inputs.output[rows], axis=1)
            predicted[first : first + size] = by_action[: len(infosets) - first]
        played: np.ndarray = probabilities(predicted, is_action, unplayed)
        return played


class DrawnTable:
    """Strategies at the infosets of drawn deals, which traversals read."""

    def __init__(self, game: CompiledGame, size: int) -> None:
        self.game, self.numbers = game, np.zeros(size)

    def play_uniformly(self) -> None:
        """Leave the numbers as they are: strategies are set when deals are drawn."""

    def group(self, index: int) -> np.ndarray:
        """Return no numbers, because there are none between iterations."""
        return NO_ARRAY

    def set_group(self, index: int, values: np.ndarray) -> None:
        """Ignore the numbers, because there are none between iterations."""


class CardInfosets(CompiledSource):
    """Deals of a card game, drawn before a player's traversals, and their infosets.

    Args:
        game: The game.
        record: The algorithm.
        limit: Memory limit of the solver in bytes.

    Raises:
        ValueError: The game cannot be sampled.
        GameError: It has too many infosets.
        MemoryLimitError: The solver would exceed the limit.
    """

    has_all: ClassVar[bool] = False
    described: ClassVar[Mapping[str, np.ndarray]] = {}
    history_values = np.zeros((0, 0))
    player = np.empty(0, np.int8)
    """Empty; with two players, samples of a player's strategies are in one reservoir."""

    def __init__(self, game: CompiledGame, record: Deep, limit: float) -> None:
        nodes = cast(CardNodes, game.nodes)
        self.inputs = CardInputs(nodes)
        deals, inputs = record.traversals, self.inputs
        size = 2 * inputs.most_actions
        numbers = len(inputs.decision) * deals * size
        needed = bytes_of_buffers(record, game.n_players, inputs.most_actions) + 12 * numbers
        needed += inputs.n_bytes + _scratch_bytes(record, inputs)
        if needed > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, int(limit))
        if numbers > INDEX_LIMIT:
            raise GameError(f"{game.name}: traversals={deals} need too many indices; take fewer")
        begin = size * deals * np.cumsum(nodes.betting.children > 1) - size * deals
        blocks = [
            begin[node] + size * np.arange(deals)
            for node in np.flatnonzero(nodes.betting.kind == DECISION).tolist()
        ]
        self._drawing = card_tree(nodes, blocks, header=0, groups=0)
        self._deals = np.zeros((deals, self._drawing.drawn), np.uint64)
        self._next_deal = np.zeros(1, np.int64)
        tree = self._drawing._replace(drawn_deals=self._deals, next_deal=self._next_deal)
        super().__init__(cast(Any, DrawnTable(game, numbers)), tree)
        self.block = np.full(numbers, -1, np.int32)
        """int32 (numbers of the table,): infoset of each block; -1 elsewhere."""
        self.largest = float(np.abs(game.utilities).max(initial=0.0)) / game.unit
        """Largest absolute utility."""
        self.n_infosets = inputs.n_infosets

    def draw(
        self, play: Callable[[int, np.ndarray], np.ndarray], generator: np.ndarray | Script
    ) -> None:
        """Draw the deals of the next traversals, and set the strategies at their infosets.

        Args:
            play: Function that returns strategies.
            generator: uint64 (4,) or a script: modified in place.
        """
        inputs, players = self.inputs, self.game.n_players
        deals, size = len(self._deals), 2 * inputs.most_actions
        draw_deals(self._drawing, generator, self._deals)
        drawn = self._deals.astype(np.int64)
        infosets = np.empty((len(inputs.decision), deals), np.int64)
        for index, (player, r) in enumerate(zip(inputs.player, inputs.round, strict=True)):
            offset = players + r * (players + 2)
            solved, lane = drawn[:, offset], drawn[:, offset + 1 + player]
            infosets[index] = inputs.infosets(index, solved, lane)
        self.block[::size] = infosets.ravel()
        numbers = self.table.numbers.reshape(len(inputs.decision), deals, size)
        for player in range(players):
            decisions = np.flatnonzero(inputs.player == player)
            played = play(player, infosets[decisions].ravel()).reshape(len(decisions), deals, -1)
            for index, strategies in zip(decisions.tolist(), played, strict=True):
                # A block has as many regrets, which nothing reads, and then the strategy.
                count = int(inputs.n_actions[index])
                numbers[index, :, count : 2 * count] = strategies[:, :count]
        # The tree has a block for each decision and deal, without boards and classes of hands.
        for r in range(len(self._drawing.first_board)):
            offset = players + r * (players + 2)
            self._deals[:, offset] = np.arange(deals)
            self._deals[:, offset + 1 : offset + 1 + players] = 0
        self._next_deal[0] = 0


def _scratch_bytes(record: Deep, inputs: CardInputs) -> int:
    """Estimate the larger of the bytes of drawing deals and of fitting a network."""
    row = 4 * inputs.width + 9 * inputs.n_outputs + 24
    # Features are copied from one table after the other, by numbers of 8 bytes.
    copied = 4 * inputs.widest + 240
    infosets = int(np.bincount(inputs.player, minlength=1).max()) * record.traversals
    # Probabilities are computed in six arrays over infosets and actions.
    strategies = infosets * (16 + 50 * inputs.most_actions)
    strategies += PREDICTED * (row + copied + 8 * (inputs.n_outputs + sum(record.layers)))
    # One span is trained while the next one is drawn.
    span = CardLearner.span * record.batch
    fit = span * (2 * row + copied) + 40 * record.buffer
    return max(32 * len(inputs.decision) * record.traversals + strategies, fit)


def _outputs(
    nodes: CardNodes, decision: np.ndarray, is_action: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Assign network outputs to actions: by label, or by position if there are many labels."""
    betting, number = nodes.betting, dict[str, int]()
    output = np.where(is_action, np.arange(is_action.shape[1]), 0).astype(np.int32)
    labels = [
        betting.step[betting.first_child[node] :][: betting.children[node]] for node in decision
    ]
    for label in (label for of_node in labels for label in of_node):
        number.setdefault(label, len(number))
    n_outputs = is_action.shape[1] if len(number) > MAX_OUTPUTS else max(len(number), 1)
    if len(number) <= MAX_OUTPUTS:
        for row, of_node in zip(output, labels, strict=True):
            row[: len(of_node)] = [number[label] for label in of_node]
    legal = np.zeros((len(decision), n_outputs), bool)
    index, position = np.nonzero(is_action)
    legal[index, output[index, position]] = True
    return output, legal


def _facts(nodes: CardNodes, node: int) -> Sequence[tuple[object, ...]]:
    """Return the player, and the actions before a decision by round and position."""
    betting, steps = nodes.betting, list[tuple[int, str]]()
    player = int(betting.player[node])
    while node:
        parent = int(betting.parent[node])
        if betting.kind[parent] == DECISION:
            steps.append((int(betting.round[parent]), betting.step[node]))
        node = parent
    facts: list[tuple[object, ...]] = [("player", player)]
    for position, (r, label) in enumerate(reversed(steps)):
        before = sum(step_round < r for step_round, _ in steps)
        facts.append(("step", r, position - before, label))
    return facts


def _card_features(rules: CardGame) -> np.ndarray:
    """Encode each card of the deck, and the characters of its label; float32 (cards, columns)."""
    labels = [*map(str, rules.cards)]
    return one_hot([[("card", label), *characters("label", label)] for label in labels])


def _board_features(nodes: CardNodes, of_card: np.ndarray, r: int) -> np.ndarray:
    """Encode the cards of each deal on the solved boards of a round.

    Returns:
        float32 (solved boards, deals * columns): 0 for deals after the round.
    """
    cards = nodes.boards[r].cards[nodes.symmetry.rounds[r].board]
    features = np.zeros((len(cards), len(nodes.betting.deals), of_card.shape[1]), np.float32)
    first = 0
    for deal, count in enumerate(nodes.betting.deals[:r]):
        features[:, deal] = of_card[cards[:, first : first + count]].sum(axis=1)
        first += count
    return features.reshape(len(cards), -1)
